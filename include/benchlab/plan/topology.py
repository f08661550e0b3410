"""Topologies: the hosts that a campaign runs on, each one YAML file in ``configs/topologies/``.

``kind: ec2`` is rented for the campaign, ``kind: hosts`` is owned, and ``kind: tidb_cloud`` is a
cluster that TiDB Cloud runs. Unknown keys are errors.
"""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import itertools
import os
import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Literal, Self

import pydantic
from pydantic import Field, Tag

from benchlab.bounded import read_text
from benchlab.errors import SpecError
from benchlab.hosts.fleet import MIRRORS, ROLES, Fleet, FleetHost, Role
from benchlab.plan.documents import (
    MAPPING,
    WORD,
    WORD_OR_MAPPING,
    Frozen,
    as_written,
    from_yaml,
    one_of,
    validated,
)

InstanceType = Annotated[str, Field(pattern=r"^[a-z0-9-]+\.[a-z0-9-]+$")]
Address = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9.:-]*$")]
Region = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$")]
Capacity = Literal["on_demand", "spot"]
"""How hosts are bought: spot hosts are cheaper, and EC2 may take them away at any time."""
Account = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")]
HostKey = Annotated[str, Field(pattern=r"^(ssh-ed25519|ssh-rsa|ecdsa-sha2-\S+) [A-Za-z0-9+/=]+$")]


class Machines(Frozen):
    """The rented hosts of one role, all alike.

    Attributes:
        or_types: further instance types, in order of preference, for when there is no capacity.
        root_gib: size of the root volume (gp3); it holds data and snapshots where the instance
            type has no local NVMe disks.
        capacity: None: the topology's.
    """

    instance_type: InstanceType
    or_types: Annotated[tuple[InstanceType, ...], Field(max_length=5, strict=False)] = ()
    count: Annotated[int, Field(ge=1, le=100)]
    root_gib: Annotated[int, Field(ge=8, le=16_384)] = 50
    capacity: Capacity | None = None

    @property
    def types(self) -> tuple[InstanceType, ...]:
        """Its instance types, the preferred one first; each once."""
        return tuple(dict.fromkeys((self.instance_type, *self.or_types)))


class Image(Frozen):
    """The AMI, by its id or by the SSM parameter that names a release's newest image."""

    id: Annotated[str, Field(pattern=r"^ami-[0-9a-f]+$")] | None = None
    ssm_parameter: Annotated[str, Field(pattern=r"^/[A-Za-z0-9/._-]+$")] | None = None

    @pydantic.model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.id is None) == (self.ssm_parameter is None):
            raise ValueError("write either `id` or `ssm_parameter`")
        return self


def _is_network(written: str) -> str:
    try:
        ipaddress.ip_network(written, strict=False)
    except ValueError as error:
        raise ValueError("is not an address range; write 203.0.113.7/32") from error
    return written


Network = Annotated[
    str, Field(pattern=r"^[0-9a-f.:]+/[0-9]{1,3}$"), pydantic.AfterValidator(_is_network)
]
Subnets = Annotated[
    tuple[Annotated[str, Field(pattern=r"^subnet-[0-9a-f]+$")], ...], Field(strict=False)
]


def _is_own(tags: dict[str, str]) -> dict[str, str]:
    taken = [key for key in tags if key == "Name" or key.lower().startswith(("benchlab:", "aws:"))]
    if taken:
        raise ValueError(f"{', '.join(taken)}: `Name`, `benchlab:...` and `aws:...` are taken")
    return tags


# EC2 allows 50 for each resource, of which Benchlab uses 8.
Tags = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=128)], Annotated[str, Field(max_length=256)]
    ],
    Field(max_length=40),
    pydantic.AfterValidator(_is_own),
]
"""A person's own tags, such as ``{CostCenter: "4711"}``."""

AUTO = "auto"
SshFrom = Annotated[
    Literal["auto"] | Network, one_of("must be `auto` or an address range, as 203.0.113.7/32")
]
"""The addresses (CIDR) from which SSH is allowed; ``auto``: this machine's when a campaign begins
to rent."""

# As https://docs.pingcap.com/tidb/stable/tiup-overview gives it. The script downloads TiUP itself.
TIUP_INSTALLER = "https://tiup-mirrors.pingcap.com/install.sh"
_Installer = Annotated[str, Field(pattern=r"^(image|https://[^\s'\"@]+)$")]
# Without a login, which logs would show; a directory is on the client's host.
Mirror = Annotated[str, Field(pattern=r"^(https?://[^\s'\"@]+|/[A-Za-z0-9/._-]+)$")]


class Place(Frozen):
    """A further region in which a fleet may be rented; fields that are None are the topology's.

    Attributes:
        image: needed where the topology names its image by id, which is valid in one region.
    """

    region: Region
    image: Image | None = None
    subnets: Subnets = ()
    ssh_from: SshFrom | None = None
    ssh_by: Literal["private", "public"] | None = None


class Ec2Topology(Frozen):
    """A fleet to be rented.

    Attributes:
        kind: ``client``: the client's host alone, see :attr:`CloudTopology.fleet`.
        user: the image's account with ``sudo``.
        subnets: ids, in the order in which they are tried when a zone has no capacity; the whole
            fleet is in one subnet. Empty: the default subnets of the region, by zone name.
        ssh_from: the addresses from which Benchlab logs in.
        ssh_by: which of a host's addresses Benchlab uses.
        tiup: how TiUP gets onto the client's host: the ``https`` address of its install script, or
            ``image`` where the image has it.
        tiup_sha256: the hash that the install script must have; None: any.
        tiup_mirror: the mirror that TiUP uses there; None: see :func:`mirror_of`.
        instance_profile: lets the hosts read and write dataset snapshots on S3; None: they get no
            permissions at all.
        capacity: of the roles that name none.
        elsewhere: further regions, tried in order when no zone of the earlier ones has capacity for
            any of the instance types.
        tags: on everything that is rented, beside Benchlab's own.
    """

    kind: Literal["ec2", "client"]
    region: Region
    image: Image
    user: Account
    subnets: Subnets = ()
    ssh_from: SshFrom = AUTO
    ssh_by: Literal["private", "public"] = "private"
    # `tiup: null` is what topologies said before there was a default.
    tiup: Annotated[_Installer, pydantic.BeforeValidator(lambda said: said or TIUP_INSTALLER)] = (
        TIUP_INSTALLER
    )
    tiup_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    tiup_mirror: Mirror | None = None
    instance_profile: str | None = None
    capacity: Capacity = "on_demand"
    elsewhere: Annotated[tuple[Place, ...], Field(max_length=8, strict=False)] = ()
    tags: Tags = Field(default_factory=dict)
    roles: dict[Role, Machines]

    @pydantic.model_validator(mode="after")
    def _complete(self) -> Self:
        if self.kind == "ec2":
            _check_roles({role: machines.count for role, machines in self.roles.items()})
        if self.tiup == "image" and self.tiup_sha256 is not None:
            raise ValueError("tiup_sha256: is the hash of a script, and `tiup: image` has none")
        if len(set(self.regions)) != len(self.regions):
            raise ValueError("elsewhere: a region is named twice")
        for place in self.elsewhere:
            if place.image is None and self.image.id is not None:
                raise ValueError(
                    f"elsewhere: {place.region} needs an image of its own; an image's id is "
                    "valid in one region"
                )
        return self

    @property
    def regions(self) -> tuple[Region, ...]:
        """Where it may be rented, the preferred region first."""
        return (self.region, *(place.region for place in self.elsewhere))

    def places(self) -> Iterator[Ec2Topology]:
        """The topology in each of its regions, the preferred one first."""
        yield self.model_copy(update={"elsewhere": ()})
        for place in self.elsewhere:
            said = {field: getattr(place, field) for field in Place.model_fields}
            changes = {field: value for field, value in said.items() if value is not None}
            yield self.model_copy(update={**changes, "elsewhere": ()})

    def letting_in(self, networks: Mapping[str, str]) -> Ec2Topology:
        """A copy with these networks, by region, in place of ``ssh_from: auto``."""
        decided = [
            networks.get(place.region, AUTO) if place.ssh_from == AUTO else None
            for place in self.places()
        ]
        elsewhere = tuple(
            place.model_copy(update={"ssh_from": network or place.ssh_from})
            for place, network in zip(self.elsewhere, decided[1:], strict=True)
        )
        own = decided[0] or self.ssh_from
        return self.model_copy(update={"ssh_from": own, "elsewhere": elsewhere})

    def with_types(self, types: Mapping[Role, str]) -> Ec2Topology:
        """A copy with a single instance type for each role."""
        roles = {
            role: machines.model_copy(update={"instance_type": types[role], "or_types": ()})
            for role, machines in self.roles.items()
        }
        return self.model_copy(update={"roles": roles})

    def choices(self) -> Iterator[Ec2Topology]:
        """Every fleet that it allows, in order: one region, and one instance type for each role.

        The preferred types come first, then those with the fewest steps down their lists; a
        further region only after all of them.
        """
        lists = [machines.types for machines in self.roles.values()]
        steps = sorted(itertools.product(*(range(len(kinds)) for kinds in lists)), key=sum)
        for place in self.places():
            for taken in steps:
                kinds = [types[step] for types, step in zip(lists, taken, strict=True)]
                yield place.with_types(dict(zip(self.roles, kinds, strict=True)))

    @property
    def has_choices(self) -> bool:
        """Whether a role has more than one instance type."""
        return any(len(machines.types) > 1 for machines in self.roles.values())

    def is_spot(self, role: Role) -> bool:
        """Whether the hosts of a role are spot hosts, as long as EC2 has some."""
        return (self.roles[role].capacity or self.capacity) == "spot"

    def host_types(self) -> list[tuple[str, Role, str]]:
        """Name, role and preferred instance type of every host, in the order of the roles."""
        return [
            (f"{role}-{number}", role, self.roles[role].instance_type)
            for role in ROLES
            if role in self.roles
            for number in range(1, self.roles[role].count + 1)
        ]


class OwnedHost(Frozen):
    """A host that exists already; see :class:`benchlab.hosts.fleet.FleetHost`.

    Attributes:
        address: where servers listen and the client connects; not IPv6, on which clusters can be
            deployed only since TiDB v6.5.1.
        host_key: None if not known yet; until then no campaign can log in.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    address: Address
    roles: Annotated[tuple[Role, ...], Field(min_length=1, strict=False)]
    host_key: HostKey | None = None
    ssh_address: Address | None = None
    ssh_port: Annotated[int, Field(ge=1, le=65535)] = 22

    @pydantic.field_validator("address", mode="before")
    @classmethod
    def _not_ipv6(cls, address: object) -> object:
        if isinstance(address, str) and ":" in address:
            raise ValueError(
                "must be an IPv4 address or a name, without a port (ssh_port): Benchlab deploys "
                "no cluster on IPv6 addresses (ssh_address may be one)"
            )
        return address


class HostsTopology(Frozen):
    """A fleet of owned hosts.

    Attributes:
        ssh: the Airflow Connection with the private key; the command line uses the file named in
            ``BENCHLAB_SSH_KEY``.
        user: the account that Benchlab logs in as, on every host.
        data: directory for data and snapshots on every host, on one file system.
        tiup_mirror: the mirror that TiUP uses on the client's host; None: see :func:`mirror_of`.
    """

    kind: Literal["hosts"]
    ssh: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")]
    user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]*$")]
    data: Annotated[str, Field(pattern=r"^/[A-Za-z0-9/._-]+$")]
    tiup_mirror: Mirror | None = None
    hosts: Annotated[tuple[OwnedHost, ...], Field(min_length=1, strict=False)]

    @pydantic.model_validator(mode="after")
    def _complete(self) -> Self:
        for what in ("name", "address"):
            values = [getattr(host, what) for host in self.hosts]
            if len(set(values)) != len(values):
                raise ValueError(f"hosts: two have the same {what}")
        counts = {role: sum(role in host.roles for host in self.hosts) for role in ROLES}
        _check_roles({role: count for role, count in counts.items() if count})
        return self

    def fleet(self) -> Fleet:
        """The hosts as a fleet; an unknown host key is empty text, which equals no host's key."""
        return Fleet(
            tuple(
                FleetHost(
                    name=host.name,
                    roles=host.roles,
                    address=host.address,
                    ssh_address=host.ssh_address or host.address,
                    ssh_port=host.ssh_port,
                    user=self.user,
                    host_key=host.host_key or "",
                    data=Path(self.data),
                )
                for host in self.hosts
            )
        )


class Nodes(Frozen):
    """The servers of one component in TiDB Cloud, all alike.

    Attributes:
        size: vCPUs and memory of each, as TiDB Cloud writes it: ``16C32G``.
        storage_gib: of each; None for a component that keeps no data.
    """

    size: Annotated[str, Field(pattern=r"^[0-9]+C[0-9]+G$")]
    count: Annotated[int, Field(ge=1, le=100)]
    storage_gib: Annotated[int, Field(ge=1)] | None = None


class CloudClient(Frozen):
    """A host rented on EC2 to drive the load; fields as in :class:`Machines`, `Ec2Topology`."""

    instance_type: InstanceType
    root_gib: Annotated[int, Field(ge=8, le=16_384)] = 50
    image: Image
    user: Account
    subnets: Subnets = ()
    ssh_from: SshFrom = AUTO
    ssh_by: Literal["private", "public"] = "private"
    tags: Tags = Field(default_factory=dict)


class CloudTopology(Frozen):
    """A cluster that TiDB Cloud runs, and the host that drives the load.

    Attributes:
        client: ``here``: this machine; or a host that is rented in the same region.
        project: id of the project in TiDB Cloud; None: the organization's default.
        endpoint: which of the cluster's endpoints the client connects to.
        open_to: the addresses (CIDR) to which a public endpoint is opened; None: the public address
            of a rented client.
        usd_per_hour: of the whole cluster, as TiDB Cloud's console shows it before creating one;
            None: unknown, and no cluster is created.
        priced_on: the day on which the console showed it.
    """

    kind: Literal["tidb_cloud"]
    provider: Literal["aws"]
    region: Region
    tidb: Nodes
    tikv: Nodes
    client: Annotated[
        Annotated[Literal["here"], Tag(WORD)] | Annotated[CloudClient, Tag(MAPPING)],
        WORD_OR_MAPPING,
    ]
    project: Annotated[str, Field(pattern=r"^[0-9]+$")] | None = None
    endpoint: Literal["public", "private", "peering"] = "private"
    open_to: Network | None = None
    usd_per_hour: Annotated[float, Field(gt=0, strict=False)] | None = None
    priced_on: date | None = None

    @pydantic.model_validator(mode="after")
    def _complete(self) -> Self:
        if self.tikv.storage_gib is None:
            raise ValueError("tikv.storage_gib: missing; TiDB Cloud has no default")
        by_itself = self.client != "here" and self.client.ssh_by == "public"
        if self.endpoint == "public" and self.open_to is None and not by_itself:
            raise ValueError(
                "open_to: missing; `endpoint: public` needs the addresses that may connect"
            )
        if self.endpoint != "public" and self.open_to is not None:
            raise ValueError(f"open_to: `endpoint: {self.endpoint}` is open to nobody else")
        if (self.usd_per_hour is None) != (self.priced_on is None):
            raise ValueError("usd_per_hour: needs `priced_on`, the day on which that was the price")
        return self

    @property
    def fleet(self) -> Ec2Topology | None:
        """What is rented on EC2 beside the cluster: the client's host; None: nothing."""
        client = self.client
        if client == "here":
            return None
        machines = Machines(instance_type=client.instance_type, count=1, root_gib=client.root_gib)
        return Ec2Topology(
            kind="client",
            region=self.region,
            image=client.image,
            user=client.user,
            subnets=client.subnets,
            ssh_from=client.ssh_from,
            ssh_by=client.ssh_by,
            tags=client.tags,
            tiup="image",  # nothing is deployed
            roles={"client": machines},
        )


#: A file that `tiup cluster deploy` takes: ``pd_servers``, ``tikv_servers``, ...
OF_TIUP = "topology file of TiUP"
_KEYS_OF_TIUP = frozenset(("global", "monitored", "server_configs"))
Topology = Ec2Topology | HostsTopology | CloudTopology
_KINDS: dict[str, type[Topology]] = {
    "ec2": Ec2Topology,
    "hosts": HostsTopology,
    "tidb_cloud": CloudTopology,
}


def on_ec2(topology: Topology) -> Ec2Topology | None:
    """The part of a topology that is rented on EC2: the fleet, or a cluster's client; or None."""
    if isinstance(topology, CloudTopology):
        return topology.fleet
    return topology if isinstance(topology, Ec2Topology) else None


def mirror_of(topology: Ec2Topology | HostsTopology) -> str | None:
    """The mirror that TiUP uses on the client's host; None: its own default.

    ``TIUP_MIRRORS`` of this machine counts where the topology names none, if it is an address: a
    directory is on this machine alone, and a login in an address would be shown.
    """
    here = os.environ.get(MIRRORS, "")
    of_this_machine = here if re.fullmatch(r"https?://[^\s'\"@]+", here) else None
    return topology.tiup_mirror or of_this_machine


def load(path: Path) -> Topology:
    """Read one topology: ``load(home.configs / "topologies" / "ec2_published.yaml").kind``.

    Raises:
        SpecError: it cannot be read or does not validate; names the file and each field.
    """
    return _read(path, read_text(path))


@functools.lru_cache(maxsize=256)  # every trigger form of a fleet offers all of them
def _read(path: Path, text: str) -> Topology:
    raw = from_yaml(text, str(path))
    if (what := called(raw)) == OF_TIUP:
        raise SpecError(
            f"{path}: is a {what}; Benchlab's says with `kind` and, for each host, `roles` what "
            "runs where, as configs/topologies/hosts_published.yaml does, and makes TiUP's from it"
        )
    kind = raw.get("kind") if isinstance(raw, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise SpecError(
            f"{path}: kind: must be one of {', '.join(_KINDS)}, found {as_written(kind)}"
        )
    return validated(_KINDS[kind], raw, str(path))


def called(raw: object) -> str | None:
    """The kind of topology file that a document is; None if it is not one.

    Example:
        ``called({"pd_servers": []})`` is :data:`OF_TIUP`.
    """
    if not isinstance(raw, dict) or "report" in raw:
        return None
    if not _KEYS_OF_TIUP.isdisjoint(raw) or any(str(key).endswith("_servers") for key in raw):
        return OF_TIUP
    return "topology" if not {"kind", "hosts", "roles"}.isdisjoint(raw) else None


def valid(directory: Path) -> dict[str, Topology]:
    """The topologies in a directory by name, sorted; skips invalid files.

    One bad file must not take a trigger form away; `benchlab validate` names such files.
    """
    found = {}
    for path in sorted(directory.glob("*.yaml")):
        with contextlib.suppress(SpecError):
            found[path.stem] = load(path)
    return found


def _check_roles(counts: dict[Role, int]) -> None:
    missing = [role for role in ROLES if role not in counts]
    if missing:
        raise ValueError(f"no host has the role {', '.join(missing)}; a fleet needs each")
    if counts["client"] != 1:
        raise ValueError(f"client: exactly one host drives the load, found {counts['client']}")
