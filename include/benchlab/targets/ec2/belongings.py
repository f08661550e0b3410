"""What a fleet has besides its instances: a key pair, a security group, and volumes.

The key pair is made on this machine; EC2 receives only its public half. The group lets in SSH from
the topology's ``ssh_from``, and all traffic within the fleet. Volumes end with their instances;
those that do not, whatever the reason, are found by their tags.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal

from benchlab.errors import TargetError
from benchlab.targets import fleet_files
from benchlab.targets.ec2 import tags
from benchlab.targets.ec2.calls import (
    PATIENT,
    AwsError,
    Limits,
    call,
    filters,
    pages,
    tag_filters,
    until_known,
)
from benchlab.targets.ec2.tags import Rental

Kind = Literal["key pair", "security group", "volume"]
# Refusals of what is still in use, and of what does not exist any more.
IN_USE = frozenset({"DependencyViolation", "InvalidGroup.InUse", "VolumeInUse", "IncorrectState"})
GONE = frozenset({"InvalidGroup.NotFound", "InvalidVolume.NotFound"})


def _nothing() -> None:
    """Do nothing while waiting."""


@dataclass(frozen=True)
class Belonging:
    """A key pair, security group or volume as EC2 lists it.

    Attributes:
        id: its id, or the name of a key pair.
        campaign, mark: from its tags; empty if it has no such tag.
        created_at, expires_at: from its tags, since EC2 keeps no creation date for groups; None if
            the tag is missing or unreadable.
    """

    kind: Kind
    id: str
    campaign: str
    mark: str
    created_at: datetime | None
    expires_at: datetime | None

    def delete(self, client: Any, limits: Limits, meanwhile: Callable[[], None] = _nothing) -> None:
        """Delete it; if it does not exist, that counts as deleted.

        Args:
            meanwhile: called again and again while a group or volume is in use.

        Raises:
            TargetError: a group or volume is still in use after ``limits.gone_s`` seconds.
            AwsError: EC2 refuses.
        """
        if self.kind == "key pair":
            _delete_key_pair(client, self.id)
        elif self.kind == "volume":
            _delete_when_free(
                self, partial(call, client, "delete_volume", VolumeId=self.id), limits, meanwhile
            )
        else:
            _delete_when_free(self, partial(_delete_group, client, self.id), limits, meanwhile)


def key_pairs(client: Any, labels: Mapping[str, str]) -> list[Belonging]:
    """The key pairs with all these tags: ``key_pairs(client, tags.of_campaign("c1"))``."""
    listed = call(client, "describe_key_pairs", Filters=tag_filters(labels))["KeyPairs"]
    return [_belonging("key pair", pair["KeyName"], pair) for pair in listed]


def groups(client: Any, labels: Mapping[str, str]) -> list[Belonging]:
    """The security groups with all these tags."""
    chosen = tag_filters(labels)
    listed = pages(client, "describe_security_groups", "SecurityGroups", Filters=chosen)
    return [_belonging("security group", group["GroupId"], group) for group in listed]


def volumes(client: Any, labels: Mapping[str, str]) -> list[Belonging]:
    """The EBS volumes with all these tags that are not attached to an instance."""
    chosen = [*tag_filters(labels), *filters(status="available")]
    listed = pages(client, "describe_volumes", "Volumes", Filters=chosen)
    return [_belonging("volume", volume["VolumeId"], volume) for volume in listed]


def ensure_key_pair(client: Any, rental: Rental, limits: Limits = PATIENT) -> str:
    """Import the campaign's public key into EC2, once; returns the key pair's name.

    Raises:
        TargetError: EC2 knows another key under this name.
        AwsError: EC2 refuses.
    """
    name = rental.name
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
        look = partial(call, client, "describe_key_pairs", KeyNames=[name], IncludePublicKey=True)
        known = until_known(limits, lambda: look()["KeyPairs"] or None) or [{}]
        held = str(known[0].get("PublicKey", "")).split()[:2]
        if held != public.split():
            ours = rental.directory / fleet_files.KEY_FILE
            raise TargetError(
                f"key pair {name}: EC2 knows another key than {ours}; give the campaign back and "
                "start again"
            ) from error
    return name


def ensure_group(client: Any, rental: Rental, vpc: str, limits: Limits = PATIENT) -> str:
    """Create the security group with its rules, once; returns its id.

    Raises:
        TargetError: a group of this name is there that is not the campaign's.
        AwsError: EC2 refuses.
    """
    group = _find_group(client, rental, vpc) or _create_group(client, rental, vpc, limits)
    within = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
    for rule in (_ssh_rule(rental.topology.ssh_from), within):
        until_known(limits, partial(_allow, client, group, rule))
    return group


def _belonging(kind: Kind, name: str, described: Mapping[str, Any]) -> Belonging:
    labels = tags.read(described)
    whose = (labels.get(tags.CAMPAIGN, ""), labels.get(tags.MARK, ""))
    moments = (tags.moment(labels.get(one)) for one in (tags.CREATED_AT, tags.EXPIRES_AT))
    return Belonging(kind, str(name), *whose, *moments)


def _delete_key_pair(client: Any, name: str) -> None:
    try:
        call(client, "delete_key_pair", KeyName=name)
    except AwsError as error:
        if error.code != "InvalidKeyPair.NotFound":
            raise


def _delete_when_free(
    belonging: Belonging,
    delete: Callable[[], object],
    limits: Limits,
    meanwhile: Callable[[], None],
) -> None:
    """Delete once nothing uses it: a terminated instance holds group and volumes for some time."""
    deadline, polls = time.monotonic() + limits.gone_s, limits.polls()
    while True:
        try:
            delete()
            return
        except AwsError as error:
            if error.code in GONE:
                return
            if error.code not in IN_USE:
                raise
            if time.monotonic() > deadline:
                raise TargetError(
                    f"{belonging.kind} {belonging.id}: still in use after {limits.gone_s:g} s; "
                    f"EC2 says: {error.said}"
                ) from error
        meanwhile()
        time.sleep(next(polls))


def _delete_group(client: Any, group: str) -> None:
    """Delete a group; first its rules, since one that names its own group counts as a use."""
    _revoke_all(client, group)
    call(client, "delete_security_group", GroupId=group)


def _find_group(client: Any, rental: Rental, vpc: str) -> str | None:
    chosen = [*tag_filters(rental.own), *filters(vpc_id=vpc)]
    listed = pages(client, "describe_security_groups", "SecurityGroups", Filters=chosen)
    return next((str(group["GroupId"]) for group in listed), None)


def _create_group(client: Any, rental: Rental, vpc: str, limits: Limits) -> str:
    name = rental.name
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
        made = _group_named(client, name, vpc, limits)
        if not rental.own.items() <= tags.read(made).items():
            raise TargetError(
                f"security group {name} ({made['GroupId']}) is in {vpc} without the tags of "
                f"campaign {rental.campaign}, so it is not Benchlab's: it is neither used nor "
                "opened. Delete or rename it, or use another campaign id"
            ) from error
    return str(made["GroupId"])


def _group_named(client: Any, name: str, vpc: str, limits: Limits) -> dict[str, Any]:
    """A group that EC2 says is there: made a moment ago, it may not be listed yet."""
    chosen = filters(group_name=name, vpc_id=vpc)

    def look() -> dict[str, Any] | None:
        return next(
            pages(client, "describe_security_groups", "SecurityGroups", Filters=chosen), None
        )

    if (found := until_known(limits, look)) is None:
        raise TargetError(
            f"security group {name} in {vpc}: EC2 says that it exists, but has not listed it for "
            f"{limits.known_s:g} s; try again later"
        )
    return found


def _ssh_rule(source: str) -> dict[str, Any]:
    ranges = (
        {"Ipv6Ranges": [{"CidrIpv6": source}]}
        if ":" in source
        else {"IpRanges": [{"CidrIp": source}]}
    )
    return {"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, **ranges}


def _allow(client: Any, group: str, rule: dict[str, Any]) -> bool:
    try:
        call(client, "authorize_security_group_ingress", GroupId=group, IpPermissions=[rule])
    except AwsError as error:
        if error.code != "InvalidPermission.Duplicate":
            raise
    return True


def _revoke_all(client: Any, group: str) -> None:
    described = call(client, "describe_security_groups", GroupIds=[group])["SecurityGroups"]
    rules = described[0]["IpPermissions"] if described else []
    if not rules:
        return
    try:
        call(client, "revoke_security_group_ingress", GroupId=group, IpPermissions=rules)
    except AwsError as error:  # revoked a moment ago, and still listed
        if error.code != "InvalidPermission.NotFound":
            raise
