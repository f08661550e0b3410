"""When the reaper reports that it has no credentials; tests/hosts tests what it ends."""

from __future__ import annotations

import errno
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from botocore.exceptions import (
    EndpointConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
)

from benchlab.hosts.access import Access
from benchlab.targets.ec2.reaper import ReaperError, reap

NONE = NoCredentialsError()
HALF = PartialCredentialsError(provider="env", cred_var="AWS_SECRET_ACCESS_KEY")
FAR = EndpointConnectionError(endpoint_url="https://ec2.us-west-2.amazonaws.com")
UNREADABLE = PermissionError(errno.EACCES, "Permission denied", "/root/.aws/config")
SAID = {
    NONE: "there are no credentials in the environment",
    HALF: "half of the credentials is missing: AWS_SECRET_ACCESS_KEY",
    FAR: "https://sts.example does not answer",
    UNREADABLE: "/root/.aws/config: this account has no permission for it",
}


def clients(errors: dict[str, Exception]) -> Access:
    """Clients that raise the error of their region."""

    def client(service: str, region: str) -> Any:
        def ask(**_: object) -> NoReturn:
            raise errors[region]

        meta = SimpleNamespace(region_name=region, endpoint_url="https://sts.example")
        return SimpleNamespace(meta=meta, get_caller_identity=ask)

    return Access(aws=client)


@pytest.mark.parametrize(
    ("errors", "none"),
    [
        ([NONE], True), ([NONE, NONE], True), ([NONE, FAR], False), ([FAR], False),
        ([HALF], False), ([UNREADABLE, NONE], False),
    ],
)  # fmt: skip
def test_no_credentials_is_reported_only_if_no_region_could_be_asked(
    errors: list[Exception], none: bool
) -> None:
    """A region that cannot be reached, or half a pair of keys, is another fault.

    Whatever goes wrong in one region, the next one is asked, and each fault is named.
    """
    regions = {f"region-{number}": error for number, error in enumerate(errors)}
    with pytest.raises(ReaperError) as raised:
        reap(clients(regions), regions)
    assert raised.value.no_credentials is none
    assert all(SAID[error] in str(raised.value) for error in errors)
