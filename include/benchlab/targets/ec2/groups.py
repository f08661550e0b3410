"""A campaign's security group: SSH from where Benchlab is, everything within the fleet."""

from __future__ import annotations

import time
from typing import Any

from benchlab.errors import TargetError
from benchlab.targets.ec2 import tags
from benchlab.targets.ec2.calls import AwsError, Limits, call, filters, pages, tag_filters
from benchlab.targets.ec2.tags import Rental

GONE = "InvalidGroup.NotFound"


def ensure(client: Any, rental: Rental, vpc: str) -> str:
    """Have the group with its rules; returns its id.

    Raises:
        AwsError: EC2 refuses.
    """
    group = _find(client, rental.campaign, vpc) or _create(client, rental, vpc)
    _allow(client, group, _ssh_rule(rental.topology.ssh_from))
    _allow(client, group, {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]})
    return group


def of_campaign(client: Any, campaign: str) -> list[str]:
    """The ids of a campaign's groups."""
    listed = pages(
        client,
        "describe_security_groups",
        "SecurityGroups",
        Filters=tag_filters(tags.of_campaign(campaign)),
    )
    return [group["GroupId"] for group in listed]


def delete(client: Any, group: str, limits: Limits) -> None:
    """Delete a group, waiting until nothing uses it; one that is not there counts as deleted.

    A terminated instance lets go of its group only some time after it is gone, and a group that
    allows itself is in use by itself: its rules are revoked first.

    Raises:
        TargetError: still in use after ``limits.gone_s`` seconds.
        AwsError: EC2 refuses.
    """
    deadline, polls = time.monotonic() + limits.gone_s, limits.polls()
    while True:
        try:
            _revoke_all(client, group)
            call(client, "delete_security_group", GroupId=group)
            return
        except AwsError as error:
            if error.code == GONE:
                return
            if error.code not in ("DependencyViolation", "InvalidGroup.InUse"):
                raise
            if time.monotonic() > deadline:
                raise TargetError(
                    f"security group {group}: still in use after {limits.gone_s:g} s; "
                    f"EC2 says: {error.said}"
                ) from error
        limits.pause(next(polls))


def _find(client: Any, campaign: str, vpc: str) -> str | None:
    listed = call(
        client,
        "describe_security_groups",
        Filters=[*tag_filters(tags.of_campaign(campaign)), *filters(vpc_id=vpc)],
    )
    return next((str(group["GroupId"]) for group in listed["SecurityGroups"]), None)


def _create(client: Any, rental: Rental, vpc: str) -> str:
    name = f"benchlab-{rental.campaign}"
    try:
        made = call(
            client,
            "create_security_group",
            GroupName=name,
            Description=f"Benchlab campaign {rental.campaign}",
            VpcId=vpc,
            TagSpecifications=tags.specifications(rental.tags, "security-group"),
        )
    except AwsError as error:
        if error.code != "InvalidGroup.Duplicate":
            raise
        # Made a moment ago, and not yet in the listing by tag.
        made = call(
            client, "describe_security_groups", Filters=filters(group_name=name, vpc_id=vpc)
        )["SecurityGroups"][0]
    return str(made["GroupId"])


def _ssh_rule(source: str) -> dict[str, Any]:
    ranges = (
        {"Ipv6Ranges": [{"CidrIpv6": source}]}
        if ":" in source
        else {"IpRanges": [{"CidrIp": source}]}
    )
    return {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, **ranges}


def _allow(client: Any, group: str, rule: dict[str, Any]) -> None:
    try:
        call(client, "authorize_security_group_ingress", GroupId=group, IpPermissions=[rule])
    except AwsError as error:
        if error.code != "InvalidPermission.Duplicate":
            raise


def _revoke_all(client: Any, group: str) -> None:
    described = call(client, "describe_security_groups", GroupIds=[group])["SecurityGroups"]
    rules = described[0]["IpPermissions"] if described else []
    if rules:
        call(client, "revoke_security_group_ingress", GroupId=group, IpPermissions=rules)
