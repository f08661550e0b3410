"""Calls AWS, and turns its refusals into readable errors.

:class:`benchlab.hosts.access.Access` makes the clients. botocore retries throttling, lost
connections and 5xx; what still fails is raised as :class:`AwsError`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

from benchlab.errors import TargetError
from benchlab.hosts.access import Access

Answer = TypeVar("Answer")

DENIED = frozenset({"UnauthorizedOperation", "AccessDenied", "AccessDeniedException"})
# Where the permissions for a service are listed; for all others in the policy.
PERMISSIONS = {"s3": "docs/guide/ec2.md (Dataset snapshots)"}
_RENEW = "the credentials have expired: log in again (`aws sso login`), or make new ones"
_WRONG = (
    "the credentials are not valid, or this region is not enabled in their account (AWS console, "
    "Account, AWS Regions)"
)
_BY_ORGANIZATION = (
    "; but here a service control policy of the organization refuses it, which no permission "
    "changes: if it demands tags, write them under `tags` in the topology (docs/guide/ec2.md, Your "
    "own tags); else ask an administrator of the organization"
)
# What to do about refusals whose message does not say it (EC2 and STS, "Common errors").
ADVICE = {
    **dict.fromkeys(("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"), _RENEW),
    **dict.fromkeys(
        ("AuthFailure", "InvalidClientTokenId", "UnrecognizedClientException", "OptInRequired"),
        _WRONG,
    ),
    **dict.fromkeys(
        ("TagPolicyViolation", "TagPolicyException"),
        "a tag policy of the organization refuses a tag: write what it wants under `tags` in the "
        "topology (docs/guide/ec2.md, Your own tags)",
    ),
    "SignatureDoesNotMatch": "the secret key is not the one of this access key",
}
# What EC2 says of something made a moment ago that not all of it knows yet (Amazon EC2 Developer
# Guide, "Eventual consistency").
NOT_KNOWN = frozenset(
    {"InvalidGroup.NotFound", "InvalidKeyPair.NotFound", "InvalidInstanceID.NotFound"}
)
# Wait before the second poll; it doubles before each further one.
FIRST_POLL_S = 0.25


@dataclass(frozen=True)
class Limits:
    """How long to wait, in seconds.

    Attributes:
        ready_s: for a fleet to boot and become ready.
        gone_s: for instances to be terminated, and for their group and volumes to be free.
        known_s: for what was made a moment ago to be known in all of EC2.
        poll_s: the longest wait between two polls.

    Example:
        ``Limits(gone_s=0)`` waits for nothing to be gone.
    """

    ready_s: float = 900.0
    gone_s: float = 600.0
    known_s: float = 120.0
    poll_s: float = 5.0

    def polls(self) -> Iterator[float]:
        """Seconds to wait before each further poll; see :func:`doubling`."""
        return doubling(self.poll_s)


def doubling(longest_s: float) -> Iterator[float]:
    """Seconds to wait before each further poll, doubling up to ``longest_s``.

    So a quick change is seen quickly, and slow ones cost few calls.

    Example:
        ``doubling(1.0)`` yields 0.25, 0.5, 1.0, 1.0, and so on.
    """
    wait_s = FIRST_POLL_S
    while True:
        yield min(wait_s, longest_s)
        wait_s = min(2 * wait_s, longest_s)


PATIENT = Limits()


class AwsError(TargetError):
    """AWS refused a call, or could not be asked.

    Attributes:
        code: AWS's error code, as ``InsufficientInstanceCapacity``; empty without an answer.
        said: AWS's own message; after a refusal, also where the permissions are listed, and how
            far this machine's clock is from AWS's if that may be the cause.
        no_credentials: AWS was not asked, because boto3 found no credentials.
    """

    def __init__(
        self, operation: str, region: str, code: str, said: str, *, no_credentials: bool = False
    ) -> None:
        self.code, self.said, self.no_credentials = code, said, no_credentials
        message = f"AWS {region}: {operation}: {code or 'no answer'}: {said}"
        super().__init__(message)


def call(client: Any, operation: str, **arguments: Any) -> dict[str, Any]:
    """Call AWS by boto3's name of the operation.

    Example:
        ``call(client, "describe_images", ImageIds=["ami-1"])["Images"]``

    Raises:
        AwsError: it was refused, or AWS could not be asked (no credentials, no connection).
    """
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
    from botocore.parsers import ResponseParserError

    region = client.meta.region_name
    try:
        answer: dict[str, Any] = getattr(client, operation)(**arguments)
    except ClientError as error:
        fault = error.response.get("Error", {})
        code, said = fault.get("Code", "unknown"), fault.get("Message", "")
        if code in DENIED:
            service = client.meta.service_model.service_name
            listed = PERMISSIONS.get(service, "docs/iam-policy.json")
            said += f"; {listed} lists the permissions that are needed"
            if "service control policy" in said:
                said += _BY_ORGANIZATION
        elif code in ADVICE:
            said += f"; {ADVICE[code]}"
        if apart := clock_fault(time_of(error.response)):
            said += f"; {apart}"  # AWS refuses such requests with various codes
        raise AwsError(operation, region, code, said) from error
    except (BotoCoreError, ResponseParserError) as error:
        unsigned = isinstance(error, NoCredentialsError)
        raise AwsError(
            operation, region, "", _not_asked(error, client), no_credentials=unsigned
        ) from error
    return answer


def _not_asked(error: Exception, client: Any) -> str:
    """Why AWS was not asked or did not answer; in plain words if the cause is known."""
    from botocore.exceptions import (
        ConnectionError,  # noqa: A004 - boto's own, of an address that does not answer
        CredentialRetrievalError,
        HTTPClientError,
        NoCredentialsError,
        PartialCredentialsError,
        SSOError,
        TokenRetrievalError,
    )
    from botocore.parsers import ResponseParserError

    match error:
        case NoCredentialsError():
            return (
                "there are no credentials in the environment, in a profile or in this machine's "
                "role; set AWS_PROFILE or AWS_ACCESS_KEY_ID (docs/guide/ec2.md)"
            )
        case PartialCredentialsError():
            return f"half of the credentials is missing: {error.kwargs.get('cred_var')}"
        case SSOError() | TokenRetrievalError():
            return _RENEW
        case CredentialRetrievalError():
            return f"{_RENEW}; their program said: {error.kwargs.get('error_msg')}"
        case HTTPClientError() | ConnectionError():
            url, region = client.meta.endpoint_url, client.meta.region_name
            if region not in _regions():
                return f"{url} does not answer, and no region {region} is known; is it misspelt?"
            return f"{url} does not answer; see whether this machine has a network (HTTPS_PROXY?)"
        case ResponseParserError():  # what came instead may be a whole page
            return f"{client.meta.endpoint_url}: what answers is not AWS; is it a proxy?"
        case _:
            return str(error)


def _regions() -> set[str]:
    """The regions that this boto3 knows."""
    import boto3

    session = boto3.Session()
    return {
        region
        for partition in session.get_available_partitions()
        for region in session.get_available_regions("ec2", partition)
    }


def until_known(limits: Limits, ask: Callable[[], Answer | None]) -> Answer | None:
    """Ask about something made a moment ago, again and again while EC2 does not know it yet.

    Args:
        limits: asks at most ``limits.known_s`` seconds.
        ask: is refused with one of :data:`NOT_KNOWN`, or returns None, while it is not known.

    Example:
        ``until_known(limits, lambda: call(client, "run_instances", **request))``

    Returns:
        What ``ask`` returned last.

    Raises:
        AwsError: it is not known in time either, or EC2 refuses for another reason.
    """
    deadline, polls = time.monotonic() + limits.known_s, limits.polls()
    while True:
        late = time.monotonic() > deadline
        try:
            if (answer := ask()) is not None or late:
                return answer
        except AwsError as error:
            if error.code not in NOT_KNOWN or late:
                raise
        time.sleep(next(polls))


def pages(client: Any, operation: str, key: str, **arguments: Any) -> Iterator[dict[str, Any]]:
    """The items under ``key`` of every page of a listing.

    Example:
        ``[one["SubnetId"] for one in pages(client, "describe_subnets", "Subnets")]``

    Raises:
        AwsError: as :func:`call`.
    """
    token: dict[str, str] = {}
    while True:
        answer = call(client, operation, **arguments, **token)
        yield from answer.get(key, [])
        if not answer.get("NextToken"):
            return
        token = {"NextToken": answer["NextToken"]}


def filters(**values: str | list[str]) -> list[dict[str, Any]]:
    """Filters of a listing; ``_`` in a name stands for ``-``.

    Example:
        ``filters(vpc_id="vpc-1")`` is ``[{"Name": "vpc-id", "Values": ["vpc-1"]}]``.
    """
    return [
        {"Name": name.replace("_", "-"), "Values": [value] if isinstance(value, str) else value}
        for name, value in values.items()
    ]


def tag_filters(values: Mapping[str, str]) -> list[dict[str, Any]]:
    """Filters for resources that carry all these tags."""
    return [{"Name": f"tag:{key}", "Values": [value]} for key, value in values.items()]


# A larger difference of clocks is reported. AWS refuses requests that were signed more than 15
# minutes from its own time (RequestExpired; Amazon EC2 API Reference, "Common errors").
TOLERATED = timedelta(minutes=3)


def time_of(answer: Mapping[str, Any]) -> datetime | None:
    """The moment at which AWS gave an answer, as boto3 returns it; None without a readable date.

    Example:
        ``time_of(client.describe_regions())``
    """
    return moment(answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date", ""))


def moment(date: str) -> datetime | None:
    """The moment in an HTTP header ``Date``; None if it cannot be read."""
    try:
        found = parsedate_to_datetime(date)
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else None


def clock_fault(at_aws: datetime | None) -> str | None:
    """How far this machine's clock is from AWS's, for people; None: within :data:`TOLERATED`."""
    if at_aws is None:
        return None
    ahead = datetime.now(UTC) - at_aws
    if abs(ahead) <= TOLERATED:
        return None
    hours, minutes = divmod(round(abs(ahead).total_seconds() / 60), 60)
    apart = f"{hours} h {minutes} min" if hours else f"{minutes} min"
    where = "ahead of" if ahead > timedelta(0) else "behind"
    return f"this machine's clock is {apart} {where} AWS's; set it (`timedatectl set-ntp true`)"


@dataclass(frozen=True)
class Caller:
    """Who asks AWS, and when.

    Attributes:
        account: the id of the credentials' account, twelve digits.
        arn: the name of the credentials' user, or of the session of their role.
        now: the time at AWS.
        clock: how far this machine's clock is from it, for people; None if that does not matter.
    """

    account: str
    arn: str
    now: datetime
    clock: str | None


def identify(access: Access, region: str) -> Caller:
    """Ask AWS whose credentials these are: ``identify(Access(), "us-west-2").account``.

    That needs no permission.

    Raises:
        AwsError: the credentials are refused or missing, or AWS cannot be reached.
    """
    answer = call(access.aws("sts", region), "get_caller_identity")
    at_aws = time_of(answer)
    now = at_aws or datetime.now(UTC).replace(microsecond=0)
    return Caller(str(answer["Account"]), str(answer["Arn"]), now, clock_fault(at_aws))


def time_at(access: Access, region: str) -> datetime:
    """The time at AWS; if AWS does not answer, this machine's, which is about the same.

    Credentials may expire while a campaign measures, which does not need them.
    """
    try:
        return identify(access, region).now
    except TargetError:  # also where no client can be made
        return datetime.now(UTC)
