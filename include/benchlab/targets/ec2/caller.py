"""Which account the credentials are of, and what time it is at AWS; one call says both."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.targets.ec2.calls import call, clock_fault, time_of


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
    """Ask AWS who asks: ``identify(Access(), "us-west-2").account``. It needs no permission.

    Raises:
        AwsError: the credentials are refused or missing, or AWS cannot be reached.
    """
    answer = call(access.aws("sts", region), "get_caller_identity")
    at_aws = time_of(answer)
    now = at_aws or datetime.now(UTC).replace(microsecond=0)
    return Caller(str(answer["Account"]), str(answer["Arn"]), now, clock_fault(at_aws))


def time_at(access: Access, region: str) -> datetime:
    """The time at AWS; this machine's, which is about the same, where AWS does not say it.

    Credentials may expire while a campaign measures, which does not need them.
    """
    try:
        return identify(access, region).now
    except TargetError:  # also where no client can be made
        return datetime.now(UTC)
