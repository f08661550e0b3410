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
from benchlab.targets.ec2.caller import Caller, identify
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
class Finding:
    """What a question to AWS has found.

    Attributes:
        what: what was asked about, such as ``image``.
        good: False: a fleet cannot be rented like this; None: it could not be asked, or is worth
            knowing.
        detail: what is there, or what is wrong and what to do.
    """

    what: str
    good: bool | None
    detail: str


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
    accepted(access, topology.region)  # without credentials every other check would say the same
    found = look(access, topology, campaign=campaign)
    if faults := [finding.detail for finding in found if finding.good is False]:
        named = "\n".join(f"- {fault}" for fault in faults)
        raise TargetError(f"the fleet cannot be rented in {topology.region}:\n{named}")
    return [finding.detail for finding in found if finding.good is None]


def accepted(access: Access, region: str) -> Caller:
    """Whose credentials these are.

    Raises:
        TargetError: AWS does not accept them, or they are named wrongly.
    """
    try:
        return identify(access, region)
    except AwsError as error:
        raise TargetError(f"AWS credentials are not accepted: {error}") from error


def look(access: Access, topology: Ec2Topology, *, campaign: str = "") -> list[Finding]:
    """What :func:`check` asks after the credentials, whatever the answers are."""
    client, found = access.aws("ec2", topology.region), list[Finding]()
    image = _ask(
        found, "image", lambda: find_image(access, client, topology.image), _described_image
    )
    subnets = _ask(found, "subnets", lambda: find_subnets(client, topology), _described_subnets)
    kinds = _ask(found, "instance types", lambda: _kinds(client, topology), ", ".join)
    if image is not None and kinds is not None:
        wrong = _wrong_architecture(image, kinds) + _too_small(image, topology)
        found += [Finding("image", False, fault) for fault in wrong]
    if kinds is not None and subnets is not None:
        found += findings_or_fault("zones", lambda: _offers(client, subnets, set(kinds)))
    if kinds is not None:
        found += findings_or_fault(
            "quota", lambda: _quotas(access, client, topology, kinds, campaign)
        )
    return found


def findings_or_fault(what: str, look: Callable[[], list[Finding]]) -> list[Finding]:
    """The findings of a look at AWS; if it fails, why."""
    try:
        return look()
    except TargetError as error:
        return [Finding(what, False, str(error))]


def _ask(
    findings: list[Finding], what: str, look: Callable[[], Found], describe: Callable[[Found], str]
) -> Found | None:
    """What ``look`` finds, None if it fails; either is added to ``findings``."""
    try:
        found = look()
    except TargetError as error:
        findings.append(Finding(what, False, str(error)))
        return None
    findings.append(Finding(what, True, describe(found)))
    return found


def _described_image(image: FoundImage) -> str:
    return f"{image.id}, {image.architecture}, root volume of at least {image.root_gib} GiB"


def _described_subnets(subnets: tuple[Subnet, ...]) -> str:
    return f"{', '.join(map(str, subnets))} of {subnets[0].vpc}"


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


def _offers(client: Any, subnets: tuple[Subnet, ...], kinds: set[str]) -> list[Finding]:
    """Whether some subnet's zone offers every type; zones that do not are notes."""
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
        fault = f"no subnet's zone offers every instance type: {'; '.join(refusals)}"
        return [Finding("zones", False, fault)]
    able = [subnet.zone for subnet in subnets if subnet not in lacking]
    good = Finding("zones", True, f"{', '.join(able)} offer every instance type")
    return [good, *(Finding("zones", None, refusal) for refusal in refusals)]


def _quotas(
    access: Access,
    client: Any,
    topology: Ec2Topology,
    kinds: dict[str, _Kind],
    campaign: str,
) -> list[Finding]:
    wanted = Counter[str | None]()
    for _, _, kind in topology.host_types():
        wanted[quota_of(kind)] += kinds[kind].vcpus
    used = _used(client, campaign)
    quotas = access.aws("service-quotas", topology.region)
    return [_quota(quotas, code, needed, used[code]) for code, needed in wanted.items()]


def _quota(quotas: Any, code: str | None, needed: int, used: int) -> Finding:
    if code is None:
        why = "vCPU quota not checked: the class of an instance type is not known"
        return Finding("quota", None, why)
    try:
        quota = call(quotas, "get_service_quota", ServiceCode="ec2", QuotaCode=code)["Quota"]
    except AwsError as error:
        return Finding("quota", None, f"vCPU quota {code} not checked: {error}")
    limit = float(quota["Value"])
    told = (
        f"vCPU quota {code} ({quota.get('QuotaName', 'on demand')}): the fleet needs {needed}, "
        f"{used} of {limit:g} are in use"
    )
    if needed + used > limit:
        told += "; ask for a higher one under Service Quotas, Amazon EC2"
    return Finding("quota", needed + used <= limit, told)


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
