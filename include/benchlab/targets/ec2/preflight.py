"""What can be checked before anything is rented and costs money: reports all faults at once.

Each class of instance types has a quota of vCPUs that run on demand (Service Quotas, service
``ec2``; Amazon EC2 User Guide, "On-Demand Instance quotas").
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.plan.topology import Ec2Topology
from benchlab.targets.ec2 import inventory
from benchlab.targets.ec2.calls import AwsError, call, filters, pages
from benchlab.targets.ec2.places import FoundImage, Subnet, find_image, find_subnets

STANDARD = "L-1216C47A"
# Code of the quota, by the letters with which an instance type begins.
QUOTAS = {
    **dict.fromkeys(("a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z"), STANDARD),
    "f": "L-74FC7D96",
    "g": "L-DB2E81BA",
    "vt": "L-DB2E81BA",
    "p": "L-417A185B",
    "x": "L-7295265B",
    "inf": "L-1945791B",
}

Found = TypeVar("Found")


@dataclass(frozen=True)
class _Kind:
    """An instance type."""

    vcpus: int
    architectures: tuple[str, ...]


def check(access: Access, topology: Ec2Topology, *, campaign: str = "") -> list[str]:
    """Check credentials, image, subnets, instance types and quotas; nothing is rented.

    Args:
        campaign: its own instances do not count as used: they are part of the fleet.

    Returns:
        Notes: what could not be checked, and zones that lack an instance type.

    Raises:
        TargetError: names every fault, not only the first.
    """
    region = topology.region
    try:
        call(access.aws("sts", region), "get_caller_identity")
        client = access.aws("ec2", region)
    except AwsError as error:  # without credentials every other check would say the same
        raise TargetError(f"AWS credentials are not accepted: {error}") from error
    faults: list[str] = []
    notes: list[str] = []
    image = _found(faults, lambda: find_image(access, client, topology.image))
    subnets = _found(faults, lambda: find_subnets(client, topology)) or ()
    kinds = _found(faults, lambda: _kinds(client, topology)) or {}
    if image is not None:
        faults += _wrong_architecture(image, kinds) + _too_small(image, topology)
    if kinds and subnets:
        _found(faults, lambda: _check_offers(client, subnets, set(kinds), notes))
    if kinds:
        _found(faults, lambda: _check_quotas(access, client, topology, kinds, campaign, notes))
    if faults:
        named = "\n".join(f"- {fault}" for fault in faults)
        raise TargetError(f"the fleet cannot be rented in {region}:\n{named}")
    return notes


def _found(faults: list[str], look: Callable[[], Found]) -> Found | None:
    """What ``look`` finds; None if it fails, which is added to ``faults``."""
    try:
        return look()
    except TargetError as error:
        faults.append(str(error))
        return None


def _kinds(client: Any, topology: Ec2Topology) -> dict[str, _Kind]:
    """The topology's instance types."""
    wanted = {kind for _, _, kind in topology.host_types()}
    found = _described(client, wanted)
    if missing := sorted(wanted - found.keys()):
        raise TargetError(f"roles: instance type {', '.join(missing)} is not known there")
    return found


def _described(client: Any, wanted: Iterable[str]) -> dict[str, _Kind]:
    listed = pages(
        client,
        "describe_instance_types",
        "InstanceTypes",
        Filters=filters(instance_type=sorted(wanted)),
    )
    return {
        kind["InstanceType"]: _Kind(
            int(kind["VCpuInfo"]["DefaultVCpus"]),
            tuple(kind.get("ProcessorInfo", {}).get("SupportedArchitectures", ())),
        )
        for kind in listed
    }


def _wrong_architecture(image: FoundImage, kinds: dict[str, _Kind]) -> list[str]:
    return [
        f"image {image.id} is for {image.architecture}, {name} is {' or '.join(kind.architectures)}"
        for name, kind in sorted(kinds.items())
        if kind.architectures and image.architecture not in kind.architectures
    ]


def _too_small(image: FoundImage, topology: Ec2Topology) -> list[str]:
    """EC2 refuses a root volume smaller than the image's (`InvalidBlockDeviceMapping`)."""
    return [
        f"roles.{role}.root_gib: {machines.root_gib}; the root volume of image {image.id} has "
        f"{image.root_gib} GiB: write at least that"
        for role, machines in topology.roles.items()
        if machines.root_gib < image.root_gib
    ]


def _check_offers(
    client: Any, subnets: tuple[Subnet, ...], kinds: set[str], notes: list[str]
) -> None:
    """Refuse if no subnet's zone offers every type; note the zones that do not."""
    offered: defaultdict[str, set[str]] = defaultdict(set)
    listed = pages(
        client,
        "describe_instance_type_offerings",
        "InstanceTypeOfferings",
        LocationType="availability-zone",
        Filters=filters(
            instance_type=sorted(kinds), location=sorted({subnet.zone for subnet in subnets})
        ),
    )
    for offer in listed:
        offered[offer["Location"]].add(offer["InstanceType"])
    lacking = {
        subnet: sorted(kinds - offered[subnet.zone])
        for subnet in subnets
        if kinds - offered[subnet.zone]
    }
    refusals = [f"{subnet} does not offer {', '.join(types)}" for subnet, types in lacking.items()]
    if len(lacking) == len(subnets):
        raise TargetError(f"no subnet's zone offers every instance type: {'; '.join(refusals)}")
    notes += refusals


def _check_quotas(
    access: Access,
    client: Any,
    topology: Ec2Topology,
    kinds: dict[str, _Kind],
    campaign: str,
    notes: list[str],
) -> None:
    wanted = Counter[str | None]()
    for _, _, kind in topology.host_types():
        wanted[quota_of(kind)] += kinds[kind].vcpus
    used = _used(client, campaign)
    quotas = access.aws("service-quotas", topology.region)
    short = []
    for code, needed in wanted.items():
        if code is None:
            notes.append("vCPU quota not checked: the class of an instance type is not known")
            continue
        try:
            answer = call(quotas, "get_service_quota", ServiceCode="ec2", QuotaCode=code)
        except AwsError as error:
            notes.append(f"vCPU quota {code} not checked: {error}")
            continue
        limit = float(answer["Quota"]["Value"])
        if needed + used[code] > limit:
            short.append(
                f"vCPU quota {code} ({answer['Quota'].get('QuotaName', 'on demand')}): the fleet "
                f"needs {needed}, {used[code]} of {limit:g} are in use; ask for a higher one "
                "under Service Quotas, Amazon EC2"
            )
    if short:
        raise TargetError("; ".join(short))


def _used(client: Any, campaign: str) -> Counter[str | None]:
    """vCPUs that run on demand now, by quota, without the campaign's own."""
    reservations = pages(
        client,
        "describe_instances",
        "Reservations",
        Filters=filters(instance_state_name=["pending", "running"]),
    )
    running = Counter(
        str(raw["InstanceType"])
        for reservation in reservations
        for raw in reservation["Instances"]
        # Spot instances have quotas of their own.
        if raw.get("InstanceLifecycle") is None
        and not (campaign and inventory.described(raw).campaign == campaign)
    )
    kinds = _described(client, running) if running else {}
    used = Counter[str | None]()
    for kind, count in running.items():
        used[quota_of(kind)] += count * (kinds[kind].vcpus if kind in kinds else 0)
    return used


def quota_of(instance_type: str) -> str | None:
    """The code of the quota that an instance type counts against; None for unknown classes.

    Example:
        ``quota_of("m5.large")`` is ``"L-1216C47A"``.
    """
    family = instance_type.split(".")[0]
    letters = "".join(itertools.takewhile(str.isalpha, family))
    return QUOTAS.get(letters)
