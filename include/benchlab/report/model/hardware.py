"""The hosts of a fleet, as in a report's hardware table: one row per role.

Example:
    ``fleet_hardware(campaign).number("tikv")`` is 3 on three TiKV hosts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from benchlab.hosts.fleet import ROLES
from benchlab.language import Language
from benchlab.language.names import clauses, items, plain, service_of
from benchlab.language.numbers import MISSING
from benchlab.plan.plan import Host
from benchlab.results.records import REPLACED, SPOT_HOSTS, Campaign

# A host as FleetTarget.environment describes it; the type only where it is rented.
_HOST = re.compile(
    r"(?:(?P<kind>\S+): )?(?P<cores>[0-9]+) cores, (?P<memory>[0-9.]+) GiB, (?P<cpu>.*?), ?"
    r"(?P<system>[^,]*), kernel (?P<kernel>\S+), data on (?P<files>.+)"
)
_REPLACED = re.compile(r"([0-9]{1,6}): ([^;]+)")


@dataclass(frozen=True)
class RoleHosts:
    """The hosts of one role; where they differ, a value lists all: ``8 / 16``.

    Attributes:
        hosts: their names; empty where the plan names none.
        told: the recorded descriptions as a whole, if they could not be parsed.
        wanted: the plan's instance type, where another one was rented.
    """

    role: str
    number: int
    hosts: tuple[str, ...]
    instance_type: str | None
    cores: str | None = None
    memory: str | None = None
    cpu: str | None = None
    system: str | None = None
    data_on: str | None = None
    told: str | None = None
    wanted: str | None = None


@dataclass(frozen=True)
class FleetHardware:
    """The hosts of a fleet.

    Attributes:
        rented: whether they are rented from EC2.
        typed: whether the plan names instance types or, for TiDB Cloud, sizes of nodes.
        shared: the roles of each host that has several.
        zone: the zone of a rented fleet; None if it was not recorded.
        role_of: the role of each host by its name, ``tidb+pd`` if it has several.
        wanted_region: the plan's region, where the fleet was rented in another one.
        replaced: pairs: after how many trials hosts were lost and replaced, and their names.
        balanced: whether a load balancer runs on the client's host.
    """

    rented: bool
    total: int
    roles: tuple[RoleHosts, ...]
    shared: dict[str, tuple[str, ...]]
    zone: str | None
    role_of: dict[str, str]
    wanted_region: str | None = None
    spot: tuple[str, ...] = ()
    replaced: tuple[tuple[int, tuple[str, ...]], ...] = ()
    balanced: bool = True
    typed: bool = False

    def number(self, role: str) -> int:
        """How many hosts have a role."""
        return next((found.number for found in self.roles if found.role == role), 0)


def fleet_hardware(campaign: Campaign) -> FleetHardware | None:
    """The fleet of a campaign; None where it ran on one machine."""
    hosts = campaign.plan.hosts
    if not hosts or any(host.role == "all" for host in hosts):
        return None
    zone, region = campaign.environment.get("zone"), campaign.plan.region
    replaced = _REPLACED.findall(campaign.environment.get(REPLACED, ""))
    return FleetHardware(
        rented=campaign.plan.can.rents and campaign.plan.can.administers,
        total=len(hosts),
        roles=tuple(
            _role(role, members, campaign.environment.get(f"{role}_hosts"))
            for role in ROLES
            if (members := [host for host in hosts if role in host.role.split("+")])
        ),
        shared={plain(h.name): tuple(h.role.split("+")) for h in hosts if "+" in h.role},
        zone=plain(zone) if zone else None,
        role_of={plain(host.name): plain(host.role) for host in hosts if host.name},
        wanted_region=plain(region) if zone and region and not zone.startswith(region) else None,
        spot=tuple(map(plain, filter(None, campaign.environment.get(SPOT_HOSTS, "").split(", ")))),
        replaced=tuple((int(after), tuple(map(plain, who.split(", ")))) for after, who in replaced),
        balanced=campaign.report_type.load_balancer != "none",
        typed=campaign.plan.can.rents,
    )


def header(found: FleetHardware, language: Language) -> list[str]:
    """The column headings of :func:`rows`."""
    second = "instance-type" if found.typed else "hosts"
    system = () if shared_system(found) else ("system",)
    columns = ("service", second, "number", "cores", "memory", "cpu", *system, "data-on")
    return [language.say(f"hardware-{column}") for column in columns]


def rows(found: FleetHardware, client: str | None, language: Language) -> list[list[str]]:
    """A row per role; ``client`` names the client's host, as on published pages."""
    return [
        [
            _service(found, role.role, client, language),
            (role.instance_type if found.typed else items(role.hosts, language)) or MISSING,
            str(role.number),
            *(value or MISSING for value in (role.cores, role.memory, role.cpu)),
            *(() if shared_system(found) else (role.told or role.system or MISSING,)),
            role.data_on or MISSING,
        ]
        for role in found.roles
    ]


def shared_system(found: FleetHardware) -> str | None:
    """The operating system and kernel of all hosts; None where roles differ or it is not known."""
    systems = {role.system for role in found.roles}
    return systems.pop() if len(systems) == 1 else None


def sentences(found: FleetHardware, language: Language) -> list[str]:
    """What the table does not show: zone, shared system, and hosts with several roles."""
    said = []
    if found.rented:
        where = found.zone or language.say("hardware-unknown-zone")
        said.append(language.say("hardware-rented", total=found.total, zone=where))
    wanted = {role.wanted: role.instance_type for role in found.roles if role.wanted}
    if instead := [f"{got} ({kind})" for kind, got in wanted.items()]:
        said.append(language.say("hardware-other-types", types=items(instead, language)))
    if found.wanted_region:
        said.append(language.say("hardware-other-region", region=found.wanted_region))
    if found.spot:
        hosts = items(found.spot, language)
        said.append(language.say("hardware-spot", count=len(found.spot), hosts=hosts))
    for after, names in found.replaced:
        hosts = items(names, language)
        said.append(language.say("hardware-replaced", count=len(names), hosts=hosts, after=after))
    if system := shared_system(found):
        said.append(language.say("hardware-shared-system", system=system))
    if found.shared:
        shared = [
            language.say("hardware-roles", host=name, roles=items(roles, language))
            for name, roles in found.shared.items()
        ]
        said.append(
            language.say("hardware-shared", total=found.total, each=clauses(shared, language))
        )
    return said


def _service(found: FleetHardware, role: str, client: str | None, language: Language) -> str:
    if role != "client":
        return service_of(role)
    name = client or language.say("hardware-some-client")
    return language.say("hardware-client", client=name) if found.balanced else name


def _role(role: str, members: list[Host], line: str | None) -> RoleHosts:
    kinds = dict.fromkeys(host.instance_type for host in members if host.instance_type)
    names = tuple(plain(host.name) for host in members if host.name)
    found = RoleHosts(role, len(members), names, " / ".join(kinds) or None)
    if line is None:
        return found
    told = plain(line).partition(" x ")[2] or plain(line)
    read = [_HOST.fullmatch(host) for host in told.split(" / ")]
    matches = [match for match in read if match is not None]
    if len(matches) != len(read):
        return replace(found, told=told)

    def values(text: str) -> str | None:
        return " / ".join(dict.fromkeys(match.expand(text) for match in matches)) or None

    rented = values(r"\g<kind>") if all(match["kind"] for match in matches) else None
    return replace(
        found,
        instance_type=rented or found.instance_type,
        wanted=found.instance_type if rented not in (None, found.instance_type) else None,
        cores=values(r"\g<cores>"),
        memory=values(r"\g<memory>"),
        cpu=values(r"\g<cpu>"),
        system=values(r"\g<system>, kernel \g<kernel>"),
        data_on=values(r"\g<files>"),
    )
