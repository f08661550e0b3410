"""What a fleet has besides its instances: an SSH key pair and a security group.

The key pair is made on this machine; EC2 receives only its public half. The group lets in SSH from
the topology's ``ssh_from``, and all traffic within the fleet.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from benchlab.errors import TargetError
from benchlab.targets import fleet_files
from benchlab.targets.ec2 import tags
from benchlab.targets.ec2.calls import AwsError, Limits, call, filters, pages, tag_filters
from benchlab.targets.ec2.tags import Rental

Kind = Literal["key pair", "security group"]


@dataclass(frozen=True)
class Belonging:
    """A key pair or security group as EC2 lists it.

    Attributes:
        id: the id of a group, or the name of a key pair.
        campaign: from its tags; empty if it has no such tag.
        created_at: from its tags, since EC2 keeps no creation date for groups; None if the tag is
            missing or unreadable.
    """

    kind: Kind
    id: str
    campaign: str
    created_at: datetime | None

    def delete(self, client: Any, limits: Limits) -> None:
        """Delete it; if it does not exist, that counts as deleted.

        Raises:
            TargetError: a group is still in use after ``limits.gone_s`` seconds.
            AwsError: EC2 refuses.
        """
        if self.kind == "key pair":
            _delete_key_pair(client, self.id)
        else:
            _delete_group(client, self.id, limits)


def key_pairs(client: Any, labels: Mapping[str, str]) -> list[Belonging]:
    """The key pairs with all these tags: ``key_pairs(client, tags.of_campaign("c1"))``."""
    listed = call(client, "describe_key_pairs", Filters=tag_filters(labels))["KeyPairs"]
    return [_belonging("key pair", pair["KeyName"], pair) for pair in listed]


def groups(client: Any, labels: Mapping[str, str]) -> list[Belonging]:
    """The security groups with all these tags."""
    chosen = tag_filters(labels)
    listed = pages(client, "describe_security_groups", "SecurityGroups", Filters=chosen)
    return [_belonging("security group", group["GroupId"], group) for group in listed]


def ensure_key_pair(client: Any, rental: Rental) -> str:
    """Import the campaign's public key into EC2, once; returns the key pair's name.

    Raises:
        TargetError: EC2 knows another key under this name.
        AwsError: EC2 refuses.
    """
    name = f"benchlab-{rental.campaign}"
    public = fleet_files.public_key(rental.directory)
    try:
        call(
            client,
            "import_key_pair",
            KeyName=name,
            PublicKeyMaterial=public.encode("ascii"),
            TagSpecifications=tags.specifications(rental.tags, "key-pair"),
        )
    except AwsError as error:
        if error.code != "InvalidKeyPair.Duplicate":
            raise
        known = call(client, "describe_key_pairs", KeyNames=[name], IncludePublicKey=True)
        held = str(known["KeyPairs"][0].get("PublicKey", "")).split()[:2]
        if held != public.split():
            ours = rental.directory / fleet_files.KEY_FILE
            raise TargetError(
                f"key pair {name}: EC2 knows another key than {ours}; "
                "give the campaign back and begin anew"
            ) from error
    return name


def ensure_group(client: Any, rental: Rental, vpc: str) -> str:
    """Create the security group with its rules, once; returns its id.

    Raises:
        AwsError: EC2 refuses.
    """
    group = _find_group(client, rental.campaign, vpc) or _create_group(client, rental, vpc)
    _allow(client, group, _ssh_rule(rental.topology.ssh_from))
    _allow(client, group, {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]})
    return group


def _belonging(kind: Kind, name: str, described: Mapping[str, Any]) -> Belonging:
    labels = tags.read(described)
    created = tags.moment(labels.get(tags.CREATED_AT))
    return Belonging(kind, str(name), labels.get(tags.CAMPAIGN, ""), created)


def _delete_key_pair(client: Any, name: str) -> None:
    try:
        call(client, "delete_key_pair", KeyName=name)
    except AwsError as error:
        if error.code != "InvalidKeyPair.NotFound":
            raise


def _delete_group(client: Any, group: str, limits: Limits) -> None:
    """Delete a group once nothing uses it: a terminated instance holds its group for some time.

    A rule that names its own group counts as a use, so the rules are revoked first.
    """
    deadline, polls = time.monotonic() + limits.gone_s, limits.polls()
    while True:
        try:
            _revoke_all(client, group)
            call(client, "delete_security_group", GroupId=group)
            return
        except AwsError as error:
            if error.code == "InvalidGroup.NotFound":
                return
            if error.code not in ("DependencyViolation", "InvalidGroup.InUse"):
                raise
            if time.monotonic() > deadline:
                raise TargetError(
                    f"security group {group}: still in use after {limits.gone_s:g} s; "
                    f"EC2 says: {error.said}"
                ) from error
        time.sleep(next(polls))


def _find_group(client: Any, campaign: str, vpc: str) -> str | None:
    listed = call(
        client,
        "describe_security_groups",
        Filters=[*tag_filters(tags.of_campaign(campaign)), *filters(vpc_id=vpc)],
    )
    return next((str(group["GroupId"]) for group in listed["SecurityGroups"]), None)


def _create_group(client: Any, rental: Rental, vpc: str) -> str:
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
        # Created a moment ago, and not yet listed by tag.
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
