"""The target ``ec2``: a fleet rented for one campaign, in one zone, and always given back.

Each of three safeguards alone keeps a host from being forgotten: :meth:`Target.give_back` finds
everything by the mark in its tags; the reaper ends what is past its expiry; and every host shuts
itself down, which terminates it, when its lifetime is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

from benchlab import engines
from benchlab.errors import CommandError, CommandTimeout, TargetError, UnreachableError
from benchlab.home import Home
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.language import Said
from benchlab.plan import pricing
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.spending import Quota, Spending
from benchlab.plan.topology import AUTO, Ec2Topology
from benchlab.results.records import SPOT_HOSTS
from benchlab.targets import fleet_files
from benchlab.targets.dataset_snapshots import KeptDatasets
from benchlab.targets.ec2 import boot, ending, installer, inventory, reach, rental_file
from benchlab.targets.ec2 import preflight as preflight_module
from benchlab.targets.ec2.calls import Caller, identify, time_at
from benchlab.targets.ec2.console import STATUS_FILE
from benchlab.targets.ec2.instances import Course
from benchlab.targets.ec2.places import find_subnets
from benchlab.targets.ec2.regions import known_regions
from benchlab.targets.ec2.rental_file import RentalFile
from benchlab.targets.ec2.tags import Rental
from benchlab.targets.fleet import CLIENT_TOOLS, SERVER_TOOLS, STORAGE_TOOLS, FleetTarget
from benchlab.targets.target import Say, Taken
from benchlab.workloads.sysbench_archive import TOOLS as BUILDS

PROBE_LIMIT_S = 20.0
INSTALL_LIMIT_S = 600.0
HAS_TIUP = "test -x ~/.tiup/bin/tiup"
NO_ACCESS = (
    "see the way out of its subnet (`benchlab doctor --aws`), or take an image that has TiUP and "
    "write `tiup: image`"
)


class Target(FleetTarget):
    """A rented fleet, for one campaign."""

    name = "ec2"
    place = "rented EC2 hosts"
    can = Capabilities(topology="ec2", rents=True, slows_down=True, keeps_datasets=True)

    @classmethod
    def undecided(cls, spec: ReportSpec, topology: Any) -> list[Said]:
        """See :class:`OnTopology`: what lets hosts use snapshots on S3."""
        found = list[Said]()
        if spec.snapshots is not None and topology.instance_profile is None:
            found.append(
                "instance_profile: missing; without one its hosts may not use S3, where the "
                "report type wants dataset snapshots; write one, or leave `snapshots` out"
            )
        return found

    @classmethod
    def arrangements(cls, home: Home, topology: Any) -> list[str]:
        """See :class:`OnTopology`."""
        whose = "public address" if topology.ssh_by == "public" else "address in the hosts' network"
        said = f"{topology.ssh_from}, as the topology says"
        asked = f"this machine's {whose}, asked at the start"
        lines = [f"ssh from: {asked if topology.ssh_from == AUTO else said}"]
        if topology.kind == "ec2":  # nothing is deployed on a client alone
            lines.append(f"TiUP: {installer.planned(home, topology)}")
        return [*lines, *super().arrangements(home, topology)]

    def preflight(self) -> None:
        """See :class:`BaseTarget`: credentials, quotas, image, subnets, instance types, address."""
        if self.datasets is not None:
            # Only checks that they can be read: which ones are used depends on the client.
            self.datasets.are_kept()
        self._refuse_edits()
        kept = rental_file.read_to_rent(self.state)
        preflight_module.check(
            self.access, self._topology, campaign=self.campaign, mark=kept.mark if kept else None
        )
        # What would fail when hosts are rented already.
        reach.decided(self.access, self._topology)
        installer.last_seen(self.home, self._topology.tiup)

    @property
    def datasets(self) -> KeptDatasets | None:
        if self.spec.snapshots is None:
            return None
        return KeptDatasets(
            self.spec,
            self.plan,
            self.state,
            self.access,
            self._topology.region,
            self.client_program,
            self._cluster,
        )

    def hosts(self, say: Say) -> Fleet:
        """Rent what is missing, and wait until every host is ready and known by its key.

        Raises:
            TargetError: no zone has the capacity; a host died or did not become ready; or topology
                or account have changed since the campaign began to rent.
        """
        self._refuse_edits()
        rental = self._rental(say)
        fleet_files.private_key(self.state)
        kept = self._kept()
        fleet = boot.provision(
            self.access,
            rental,
            probe=self._probe,
            say=say,
            keep=lambda launched: rental_file.add_instances(
                self.state, [host.instance for host in launched]
            ),
            course=Course(kept.rented, frozenset(kept.on_demand), self._keep_course),
        )
        written = {place.region: place.ssh_from for place in self._written.places()}
        if written.get(self._kept().region) == AUTO:
            return fleet
        # Whoever wrote addresses knows a way, such as NAT, that this machine cannot see.
        return Fleet(tuple(replace(host, let_in=None) for host in fleet.hosts))

    def lost(self) -> dict[str, str]:
        """See :class:`ReplacesHosts`: hosts that EC2 reports as no longer running."""
        if not self.has_fleet():
            return {}
        instances = {host.name: host.instance for host in self.fleet.hosts if host.instance}
        try:
            client = self.access.aws("ec2", self._kept().region)
            listed = inventory.by_id(client, instances.values())
        except TargetError:  # credentials may expire while a campaign measures
            return {}
        gone = "EC2 has forgotten it"  # an hour after its end; not if it lists nothing at all
        return {
            name: listed[one].reason if one in listed else gone
            for name, one in instances.items()
            # A host that AWS stops, for its own maintenance, does not come back by itself.
            if listed and (one not in listed or listed[one].state not in ("pending", "running"))
        }

    def instances(self) -> dict[str, str]:
        """See :class:`ReplacesHosts`."""
        return {host.name: host.instance or "" for host in self.fleet.hosts}

    def before_replacing(self) -> None:
        """See :class:`ReplacesHosts`; from the second time on, lost hosts are rented on demand."""
        if lost := self.lost():
            kept = self._kept()
            again = (*kept.on_demand, *lost) if kept.replacements else kept.on_demand
            changes = {"replacements": kept.replacements + 1, "on_demand": again}
            rental_file.write(self.state, kept.model_copy(update=changes))
            client = self.access.aws("ec2", kept.region)
            there = self.instances()
            # One that is only stopped would count as there.
            inventory.terminate(client, [there[name] for name in lost])
        self.close()

    def provision(self, say: Say) -> None:
        """See :class:`FleetTarget`; then installs TiUP on the client's host, if it is missing.

        Raises:
            TargetError: also if the install script is not the one that the topology wants.
            CommandError: it cannot be downloaded, or fails.
        """
        super().provision(say)
        if self._topology.tiup == "image":
            return
        if self.executor.run(["sh", "-c", HAS_TIUP], check=False).exit_code != 0:
            self._install_tiup(self._topology.tiup, say)

    def environment(self) -> dict[str, str]:
        """See :class:`FleetTarget`; adds the fleet's availability zone and its spot hosts."""
        kept = self._kept()
        rented = kept.rented or self._topology
        client = self.access.aws("ec2", rented.region)
        zones = {subnet.id: subnet.zone for subnet in find_subnets(client, rented)}
        own = inventory.of_rental(client, self.campaign, kept.mark)
        living = [one for one in own if one.living]
        found = sorted({zones.get(one.subnet, one.subnet) for one in living})
        spot = sorted(one.name for one in living if one.spot)
        return (
            super().environment()
            | {"zone": ", ".join(found)}
            | kept.installer
            | ({SPOT_HOSTS: ", ".join(spot)} if any(map(rented.is_spot, rented.roles)) else {})
        )

    def instance_type(self, host: FleetHost) -> str | None:
        """See :class:`FleetTarget`: the type rented, which may not be the preferred one."""
        (role,) = host.roles
        return (self._kept().rented or self._topology).roles[role].instance_type

    @classmethod
    def return_hosts(cls, taken: Taken) -> str:
        """Terminate the instances, delete key pair and group; see :class:`FleetTarget`."""
        kept, places = rental_file.read(taken.state), taken.regions
        if kept is None:
            # Without its file nobody knows in which of them the campaign looked for capacity.
            places = sorted({*places, *known_regions(taken.home).names})
        said = ending.give_back(
            taken.access, taken.home, taken.campaign, places, by_person=taken.by_person
        )
        if kept is None or (spent := kept.spending(time_at(taken.access, kept.region))) is None:
            return said
        rental_file.keep_spent(taken.state, spent)
        return f"{said}; it has spent about {spent} at list prices"

    def spending(self) -> Spending | None:
        kept = rental_file.read(self.state)
        return kept.spending(time_at(self.access, kept.region)) if kept is not None else None

    def quotas(self) -> tuple[Quota, ...]:
        """See :class:`BaseTarget`; what cannot be asked is left to :meth:`preflight` to say."""
        try:
            return preflight_module.quotas(self.access, self._topology)
        except TargetError:
            return ()

    def _install_tiup(self, address: str, say: Say) -> None:
        """Run TiUP's install script, and note for the report which one that was."""
        say("TiUP")
        script = str(self.directory / "install-tiup.sh")
        fetch = ["curl", "--proto", "=https", "-fsSL", "--retry", "3", "-o", script, address]
        self._run_to_install(fetch, f"the client's host has to reach {address}: {NO_ACCESS}")
        sha256 = self.executor.run(["sha256sum", script]).stdout.split()[0]
        installer.check(self._topology, sha256)
        before = installer.see(self.home, address, sha256)
        if before is not None:
            say(installer.changed(address, before))
        found = installer.facts(address, sha256, before)
        rental_file.write(self.state, self._kept().model_copy(update={"installer": found}))
        self._run_to_install(["sh", script], f"the script downloads TiUP's program: {NO_ACCESS}")

    def _run_to_install(self, command: list[str], hint: str) -> None:
        try:
            self.executor.run(command, timeout_s=INSTALL_LIMIT_S)
        except CommandTimeout:
            raise
        except CommandError as error:
            where, said = (error.host, error.command), error.output
            raise CommandError(*where, error.exit_code, said, hint) from error

    @cached_property
    def _topology(self) -> Ec2Topology:
        """The topology by which it rents; once it has begun to, edits of the file do not count."""
        kept = rental_file.read(self.state)
        if kept is not None and kept.topology is not None:
            return kept.topology
        return self._written

    @property
    def _written(self) -> Ec2Topology:
        return cast(Ec2Topology, self.named_topology)

    def _refuse_edits(self) -> None:
        """Refuse a topology that was edited since the campaign was planned or began to rent."""
        now = self._written
        kept = rental_file.read_to_rent(self.state)
        if kept is not None and kept.topology is not None:
            let_in = {place.region: place.ssh_from for place in kept.topology.places()}
            edits = rental_file.differences(kept.topology, now.letting_in(let_in))
        else:
            region = kept.region if kept is not None else self.plan.region
            planned = {host.name: host.instance_type for host in self.plan.hosts}
            wanted = {name: kind for name, _, kind in now.host_types()}
            edits = rental_file.changes(
                {"region": region or now.region, **planned}, {"region": now.region, **wanted}
            )
        if edits:
            raise TargetError(
                f"topology {self.spec.topology} was edited after campaign {self.campaign} was "
                f"planned by it: {'; '.join(edits)}. Undo that, or give the campaign back and "
                "start again: a fleet is never moved"
            )

    def _rental(self, say: Say) -> Rental:
        """What to rent; stored at the first call, because a repeated one must not differ."""
        caller = identify(self.access, self._topology.region)
        if caller.clock is not None:
            say(f"{caller.clock}; the fleet's expiry is by AWS's")
        kept = rental_file.read_to_rent(self.state)
        ending.check_account(self.campaign, kept, caller)
        if kept is not None and caller.now >= kept.created_at + kept.lifetime:
            # Hosts launched now would never end themselves: their time is past already.
            raise TargetError(
                f"campaign {self.campaign}: the time for which it rents ended at "
                f"{kept.created_at + kept.lifetime:%Y-%m-%d %H:%M} UTC: `benchlab give-back "
                f"{self.campaign}` ends what is left of it; then start another one"
            )
        if kept is None:
            kept = self._new_rental(caller)
            rental_file.write(self.state, kept)
            vars(self).pop("_topology", None)  # now it is the one that was kept
        return Rental(
            campaign=self.campaign,
            mark=kept.mark,
            topology=self._topology,
            directory=self.state,
            created_at=kept.created_at,
            lifetime=kept.lifetime,
            packages={
                "client": _packages(CLIENT_TOOLS | (BUILDS if self.spec.client.archive else {})),
                "pd": _packages(SERVER_TOOLS | STORAGE_TOOLS),
                "tikv": _packages(SERVER_TOOLS | STORAGE_TOOLS),
                "tidb": _packages(SERVER_TOOLS),
            },
            old_metadata=frozenset({"tikv"}) if self._needs_imdsv1() else frozenset(),
        )

    def _kept(self) -> RentalFile:
        """The rental file of a campaign that rents."""
        if (kept := rental_file.read_to_rent(self.state)) is None:
            raise TargetError(f"campaign {self.campaign} has rented nothing")
        return kept

    def _keep_course(self, course: Course) -> None:
        """Note what is about to be rented, and its price from now on."""
        kept, choice = self._kept(), course.choice
        assert choice is not None  # noqa: S101 - there is one before there is anything to keep
        rented = kept.model_copy(
            update={
                "region": choice.region,
                "regions": tuple(dict.fromkeys((*kept.regions, choice.region))),
                "rented": choice,
                "on_demand": tuple(sorted(course.on_demand)),
            }
        )
        now = time_at(self.access, choice.region)
        rental_file.write(self.state, rented.priced(self._usd_per_minute(choice), now))

    def _usd_per_minute(self, choice: Ec2Topology) -> float:
        """The price of one choice; at most the dearest, by which the lifetime was planned."""
        preferred, most = self.plan.usd_per_minute, self.plan.most_usd_per_minute
        assert preferred is not None  # noqa: S101 - without a price nothing is rented
        assert most is not None  # noqa: S101
        if choice == next(self._topology.choices()):
            return preferred
        prices = pricing.load(self.home.configs / "prices.csv")
        found = float(prices.rent(choice).usd_per_hour) / 60
        if found > most * 1.001:  # the plan's is rounded
            raise TargetError(
                f"{prices.path}: hosts of {choice.region} cost more than when campaign "
                f"{self.campaign} was planned; give it back and start again"
            )
        return min(found, most)

    def _new_rental(self, caller: Caller) -> RentalFile:
        region = self._topology.region
        new = rental_file.new(
            self.home, self.campaign, self.plan, self.spec, region=region, now=caller.now
        )
        return new.model_copy(update=self._in_account(caller))

    def _in_account(self, caller: Caller) -> dict[str, Any]:
        topology = reach.decided(self.access, self._topology)
        return {"account": caller.account, "topology": topology}

    def _needs_imdsv1(self) -> bool:
        """Whether a side's TiKV, which reads and writes datasets, cannot ask by IMDSv2."""
        cluster = engines.cluster_of(self.plan.engine)
        return self.datasets is not None and any(
            self.datasets.keeps(side) and cluster.needs_imdsv1(self.plan.sides[side].version)
            for side in self.sides
        )

    def _probe(self, host: FleetHost) -> str | None:
        # Hosts that boot are asked again and again, and do not answer at first.
        with fleet_files.open_host(self.state, replace(host, let_in=None)) as executor:
            try:
                done = executor.run(["cat", STATUS_FILE], check=False, timeout_s=PROBE_LIMIT_S)
            except UnreachableError:
                return None
        return done.stdout


def _packages(tools: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(set(tools.values())))
