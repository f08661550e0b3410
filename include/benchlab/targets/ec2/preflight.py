"""Checks what can be checked before anything costs money, and reports all faults at once.

Each class of instance types has a quota of vCPUs that run on demand, and one of vCPUs of spot
instances (Service Quotas, service ``ec2``; Amazon EC2 User Guide, "On-Demand Instance quotas" and
"Spot Instance quotas"). All regions and instance types of a topology are checked.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.plan.spending import Quota
from benchlab.plan.topology import Ec2Topology
from benchlab.targets.ec2 import inventory
from benchlab.targets.ec2.calls import AwsError, Caller, call, filters, identify, pages
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
# The quota of spot instances, by that of the same class on demand.
SPOT_QUOTAS = {
    STANDARD: "L-34B43A08",
    "L-74FC7D96": "L-88CF9481",
    "L-DB2E81BA": "L-3819A6DF",
    "L-417A185B": "L-7212CCBC",
    "L-7295265B": "L-E3A00192",
    "L-1945791B": "L-B5D1601B",
}

Found = TypeVar("Found")


@dataclass(frozen=True)
class Finding:
    """The result of one question to AWS.

    Attributes:
        what: what was asked about, such as ``image``.
        good: False: a fleet cannot be rented like this; None: a note, or it could not be asked.
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


def check(
    access: Access, topology: Ec2Topology, *, campaign: str = "", mark: str | None = None
) -> list[str]:
    """Check credentials, image, subnets, instance types and quotas; nothing is rented.

    Args:
        campaign: the id under which no other home may rent.
        mark: that of its own rental, which does not count as use of quotas; None: none yet.

    Returns:
        Notes: what could not be checked, and zones that lack an instance type.

    Raises:
        TargetError: names every fault, not only the first.
    """
    accepted(access, topology.region)  # without credentials every other check would say the same
    found = look_everywhere(access, topology, campaign, mark)
    if faults := [finding.detail for finding in _faults(found)]:
        named = "\n".join(f"- {fault}" for fault in faults)
        where = " or ".join(topology.regions)
        raise TargetError(f"the fleet cannot be rented in {where}:\n{named}")
    return [finding.detail for finding in found if finding.good is None]


def accepted(access: Access, region: str) -> Caller:
    """Ask AWS whose credentials these are.

    Raises:
        TargetError: AWS does not accept them, or they are named wrongly.
    """
    try:
        return identify(access, region)
    except AwsError as error:
        raise TargetError(f"AWS credentials are not accepted: {error}") from error


def look_everywhere(
    access: Access, topology: Ec2Topology, campaign: str = "", mark: str | None = None
) -> list[Finding]:
    """:func:`look` in each of a topology's regions; after the first, quota faults are notes."""
    found: list[Finding] = []
    for place in topology.places():
        found += in_region(place, topology, look(access, place, campaign, mark))
    return found


def in_region(
    place: Ec2Topology, topology: Ec2Topology, findings: Iterable[Finding]
) -> list[Finding]:
    """Findings in one region; after a topology's first, they name it and quota faults are notes."""
    if place.region == topology.region:
        return list(findings)
    return [
        replace(
            one,
            # A region without capacity is passed over.
            good=None if one.what == "quota" and not one.good else one.good,
            detail=f"{place.region}: {one.detail}",
        )
        for one in findings
    ]


def look(
    access: Access, topology: Ec2Topology, campaign: str = "", mark: str | None = None
) -> list[Finding]:
    """Ask in one region all that :func:`check` asks after the credentials; faults are findings."""
    client, found = access.aws("ec2", topology.region), list[Finding]()
    if campaign:
        found += findings_or_fault("id", lambda: _others(client, campaign, mark))
    image = _ask(
        found, "image", lambda: find_image(access, client, topology.image), _described_image
    )
    subnets = _ask(found, "subnets", lambda: find_subnets(client, topology), _described_subnets)
    kinds = _ask(found, "instance types", lambda: _kinds(client, topology), ", ".join)
    if image is not None and kinds is not None:
        wrong = _wrong_architecture(image, kinds) + _too_small(image, topology)
        found += [Finding("image", False, fault) for fault in wrong]
    if kinds is not None and subnets is not None:
        found += findings_or_fault("zones", lambda: _offers(client, subnets, topology))
    if kinds is not None:
        found += findings_or_fault("quota", lambda: _quotas(access, client, topology, kinds, mark))
    return found


def _others(client: Any, campaign: str, mark: str | None) -> list[Finding]:
    listed = inventory.of_campaign(client, campaign)
    inventory.refuse_others(client.meta.region_name, listed, mark)
    return []


def findings_or_fault(what: str, look: Callable[[], list[Finding]]) -> list[Finding]:
    """The findings of ``look``; if it fails, one finding that says why."""
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
    wanted = {kind for machines in topology.roles.values() for kind in machines.types}
    found = _described(client, wanted)
    if missing := sorted(wanted - found.keys()):
        where = f"is not known there ({topology.region})"
        raise TargetError(f"roles: instance type {', '.join(missing)} {where}")
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


def _offers(client: Any, subnets: tuple[Subnet, ...], topology: Ec2Topology) -> list[Finding]:
    """Whether some subnet's zone offers a type for every role; what zones lack are notes."""
    kinds = {kind for machines in topology.roles.values() for kind in machines.types}
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
    able = [
        subnet.zone
        for subnet in subnets
        if all(set(one.types) & offered[subnet.zone] for one in topology.roles.values())
    ]
    if not able:
        fault = f"no subnet's zone offers every instance type: {'; '.join(refusals)}"
        return [Finding("zones", False, fault)]
    whole = "every instance type" if not topology.has_choices else "a type for every role"
    good = Finding("zones", True, f"{', '.join(able)} offer {whole}")
    return [good, *(Finding("zones", None, refusal) for refusal in refusals)]


def _quotas(
    access: Access,
    client: Any,
    topology: Ec2Topology,
    kinds: dict[str, _Kind],
    mark: str | None,
) -> list[Finding]:
    """Whether the preferred types may run; other quotas that are too small are notes.

    A spot host that is not available is rented on demand, and another type instead of one that is
    not available.
    """
    used = Counter[str | None]()
    for (code, _, owner), vcpus in _used(client).items():
        if not mark or owner != mark:
            used[code] += vcpus
    asked = access.aws("service-quotas", topology.region)

    def ask(fleet: Ec2Topology, *, spot: bool) -> list[Finding]:
        wanted = _wanted(fleet, kinds, spot=spot)
        return [_quota(asked, code, needed, used[code]) for code, needed in wanted.items()]

    found = ask(topology, spot=True)
    others = ask(topology, spot=False) if any(map(topology.is_spot, topology.roles)) else []
    if others and _faults(found) and not _faults(others):
        found, others = others, found
    if topology.has_choices:
        largest = {
            role: max(one.types, key=lambda kind: kinds[kind].vcpus)
            for role, one in topology.roles.items()
        }
        others += ask(topology.with_types(largest), spot=False)
    known = {one.detail for one in found}
    return found + [replace(one, good=None) for one in _faults(others) if one.detail not in known]


def quotas(access: Access, topology: Ec2Topology) -> tuple[Quota, ...]:
    """The quotas that the preferred hosts count against, and which campaigns use them now.

    Raises:
        TargetError: AWS does not say.
    """
    client = access.aws("ec2", topology.region)
    wanted = _wanted(topology, _kinds(client, topology), spot=True)
    running, found = _used(client), list[Quota]()
    asked = access.aws("service-quotas", topology.region)
    for code in wanted.keys() - {None}:
        used = Counter[str]()
        for (of, campaign, _), vcpus in running.items():
            if of == code:
                used[campaign] += vcpus
        answer = call(asked, "get_service_quota", ServiceCode="ec2", QuotaCode=code)
        allowed = float(answer["Quota"]["Value"])
        found.append(Quota(str(code), topology.region, wanted[code], allowed, used))
    return tuple(found)


def _wanted(fleet: Ec2Topology, kinds: dict[str, _Kind], *, spot: bool) -> Counter[str | None]:
    """The vCPUs of a fleet's preferred types by quota; ``spot``: as far as EC2 has spot hosts."""
    wanted = Counter[str | None]()
    for _, role, kind in fleet.host_types():
        code = quota_of(kind)
        if spot and code is not None and fleet.is_spot(role):
            code = SPOT_QUOTAS[code]
        wanted[code] += kinds[kind].vcpus
    return wanted


def _faults(findings: Iterable[Finding]) -> list[Finding]:
    return [finding for finding in findings if finding.good is False]


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


def _used(client: Any) -> Counter[tuple[str | None, str, str]]:
    """vCPUs that run now, by quota, and campaign and mark in their tags (empty without)."""
    reservations = pages(
        client,
        "describe_instances",
        "Reservations",
        Filters=filters(instance_state_name=["pending", "running"]),
    )
    running = [
        (inventory.described(raw), raw.get("InstanceLifecycle"))
        for reservation in reservations
        for raw in reservation["Instances"]
    ]
    kinds = _described(client, {one.type for one, _ in running}) if running else {}
    used = Counter[tuple[str | None, str, str]]()
    for one, lifecycle in running:
        code = quota_of(one.type)
        if lifecycle == "spot" and code is not None:
            code = SPOT_QUOTAS[code]
        # Capacity blocks count against neither.
        if lifecycle in (None, "spot"):
            vcpus = kinds[one.type].vcpus if one.type in kinds else 0
            used[code, one.campaign, one.mark] += vcpus
    return used


def quota_of(instance_type: str) -> str | None:
    """The code of the quota that an instance type counts against; None for unknown classes.

    Example:
        ``quota_of("m5.large")`` is ``"L-1216C47A"``.
    """
    family = instance_type.split(".")[0]
    letters = "".join(itertools.takewhile(str.isalpha, family))
    return QUOTAS.get(letters)
