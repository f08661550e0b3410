"""A TiDB cluster on a fleet, deployed by ``tiup cluster`` on the client's host.

Every server is asked for its version, source and configuration over HTTP. The snapshot is physical:
the directories of every PD and TiKV server, copied and restored on their own hosts while the
cluster is stopped.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Self, TypeVar

from benchlab.engines.cluster import Act, BaseCluster, Executors, Wanted
from benchlab.engines.database import (
    USER,
    Deployed,
    Profiled,
    Regions,
    identity_fault,
    is_comparable,
    written,
)
from benchlab.engines.slowdown_job import SlowdownJob
from benchlab.engines.tidb import complaints, fitness, rules, stalls, statements, topology
from benchlab.engines.tidb.census import Census, server_name
from benchlab.engines.tidb.facts import InstanceFacts, misfits
from benchlab.engines.tidb.hosts import SideOnHosts
from benchlab.engines.tidb.statements import TiDBStatements
from benchlab.engines.tidb.tidb import TiDB
from benchlab.engines.tidb.tiup import TiUP
from benchlab.errors import (
    BenchlabError,
    CommandError,
    EngineError,
    SpecError,
    TargetError,
    UnavailableError,
)
from benchlab.hosts.counters import Source
from benchlab.hosts.fleet import Fleet, FleetHost, on_all
from benchlab.language import Message
from benchlab.plan import quantities
from benchlab.plan.fields.builds import Build, Builds, is_nightly
from benchlab.plan.fields.engines import Components, Parameters
from benchlab.plan.steps import ANALYZED_AT_ONCE, reserve_bytes
from benchlab.plan.versions import NIGHTLY
from benchlab.results import records
from benchlab.results.diagnosis import Kind

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class ClusterInstance(Deployed):
    """One side's cluster as a campaign wants it; ``host`` is the first TiDB server's address.

    Attributes:
        components: configuration items of ``pd``, ``tikv`` and ``tidb``.
        cluster_name: the name that TiUP knows it by.
        subdirectory: the part of every host's data directory that holds everything of the side.
        tiup_key: path of the private key, on the client's host, with which TiUP logs in as
            ``user``.
        builds: the builds that replace binaries of the version, by component.
        level: whether the leaders are levelled before each trial.
        slowdown_pct: for which percentage of the time TiDB servers are stopped in trials.
        package: gives the package of a component's build on this machine.
        logs: the directory on this machine for what servers complained of; None: it is not kept.
    """

    components: dict[str, Parameters]
    cluster_name: str
    subdirectory: PurePosixPath
    ports: topology.Ports
    tiup_key: Path
    user: str
    builds: Builds = field(default_factory=dict)
    level: bool = True
    slowdown_pct: float = 0.0
    package: Callable[[str], Path] = Path
    logs: Path | None = None


class Cluster(TiDB, BaseCluster):
    """One side's cluster.

    Args:
        fleet: its hosts; the client's host runs TiUP and asks the servers.
        executors: gives the executor of a host; called from several threads at once.
    """

    not_deployable = staticmethod(rules.not_deployable)
    no_dataset_snapshots = staticmethod(rules.no_br)
    bound_to_data = staticmethod(rules.bound_to_data)
    stored_as = staticmethod(rules.stored_as)
    # A table is read by all storage servers; several at once keep them busy until the last one.
    tables_at_once = ANALYZED_AT_ONCE
    needs_imdsv1 = staticmethod(rules.needs_imdsv1)
    host_fault = staticmethod(fitness.fault)

    def __init__(self, fleet: Fleet, executors: Executors, instance: ClusterInstance) -> None:
        self.executor = executors(fleet.client)
        self.instance: ClusterInstance = instance
        self.fleet, self._executors = fleet, executors
        self._configs = topology.configuration(instance.parameters, instance.components)
        self._tiup = TiUP(self.executor, instance.user, instance.tiup_key)
        self._hosts = SideOnHosts(fleet, executors, instance.subdirectory, instance.ports)
        self._census = Census(self.executor, fleet, instance.ports, self._hosts.places)
        self._half_restored = instance.directory / "half-restored"
        self._started = instance.directory / "started.json"
        self._configured = instance.directory / "configured.json"

    @classmethod
    def on_fleet(cls, fleet: Fleet, executors: Executors, wanted: Wanted) -> Self:
        """See :class:`BaseCluster`; TiUP logs in with the key ``tiup_key`` in the directory."""
        side, ports = wanted.side, topology.Ports.of_set(wanted.port_set)
        instance = ClusterInstance(
            side=side,
            version=wanted.of.version,
            parameters=wanted.of.parameters,
            components=wanted.of.components,
            cluster_name=f"{wanted.campaign}-{side}",
            directory=wanted.directory / side,
            subdirectory=PurePosixPath("benchlab") / wanted.campaign / side,
            ports=ports,
            host=fleet.with_role("tidb")[0].address,
            port=ports.tidb,
            max_connections=wanted.max_connections,
            database=wanted.database,
            password=wanted.password,
            tiup_key=wanted.directory / "tiup_key",
            user=fleet.client.user,
            hashes={component: build.expected for component, build in wanted.of.builds.items()},
            builds=wanted.of.builds,
            level=wanted.level,
            slowdown_pct=wanted.slowdown_pct,
            package=wanted.package,
            logs=wanted.logs,
        )
        return cls(fleet, executors, instance)

    # Deployed, started, stopped

    def deploy(self) -> None:
        """See :class:`Database`.

        Raises:
            UnavailableError: TiUP cannot deploy the version, or is not installed.
            SpecError: the version refuses a parameter.
            EngineError: TiUP failed, or a server refuses a parameter; names what of the deployment
                could not be removed.
            TargetError: an earlier deployment cannot be removed, or a host has units of another
                cluster that TiUP would write over.
        """
        self._check()
        self.destroy()
        self._install()
        self._launch()
        self.secure()
        self.wait_until_ready()

    def start(self) -> None:
        """See :class:`Database`.

        Raises:
            EngineError: a server does not come up, or the data are only partly restored.
        """
        if self.executor.run(["test", "-e", str(self._half_restored)], check=False).exit_code == 0:
            raise EngineError(
                f"{self._name()}: the last restore did not end, so its data are a mixture of two "
                "states; restore again before starting"
            )
        if not self.running():
            self._launch()
        self.wait_until_ready()

    def start_for_trial(self) -> None:
        """See :class:`Database`; also waits until PD has settled, and levels the leaders.

        Both have time limits; :meth:`regions` reports what they leave undone. In the end the TiDB
        servers are slowed down, if the plan wants that.

        Raises:
            EngineError: a slowdown did not begin; quotes its output.
        """
        if any(self._on_slowed(SlowdownJob.has_ended)):
            self.stop()  # a slowdown that was killed may have left its server stopped
        self.start()
        self._census.wait_until_settled(level=self.instance.level)
        if self.instance.level:
            self._census.level(self.instance.database)
        self._on_slowed(SlowdownJob.begin)

    def stop(self) -> None:
        self._on_slowed(SlowdownJob.end)
        if self._hosts.at_work():
            try:
                self._tiup.cluster("stop", self.instance.cluster_name)
            except CommandError as error:
                raise EngineError(f"{self._name()}: cannot be stopped: {error}") from error
        self.executor.run(["rm", "-f", str(self._started)])

    def running(self) -> bool:
        return not self._census.silent()

    def with_components(self, items: Components) -> Cluster:
        instance, of_tidb = self.instance, items.get("tidb", {})
        merged = {**instance.components}
        for name, own in items.items():
            merged[name] = {**merged.get(name, {}), **own}
        # Items of TiDB among the parameters would override these.
        others = {key: value for key, value in instance.parameters.items() if key not in of_tidb}
        changed = replace(instance, components=merged, parameters=others)
        return Cluster(self.fleet, self._executors, changed)

    def configured(self) -> bool:
        noted = self.executor.run(["cat", str(self._configured)], check=False).stdout
        return noted == self._to_configure()

    def configure(self) -> None:
        """See :class:`Database`; by TiUP, which has every server check its items.

        Raises:
            EngineError: TiUP or a server refuses them.
        """
        name = self.instance.cluster_name
        self.executor.run(["rm", "-f", str(self._configured)])
        try:
            shown = self._tiup.cluster("show-config", name).stdout
            self._edit(topology.with_configs(shown, self._rendered))
        except (CommandError, EngineError, SpecError) as error:
            raise EngineError(f"{self._name()}: cannot be configured: {error}") from error
        self._note_configured()

    def destroy(self) -> None:
        name, failed = self.instance.cluster_name, ""
        try:
            if name in self._tiup.clusters():
                self._tiup.cluster("destroy", name)
        except UnavailableError:
            pass  # without TiUP nothing has been deployed
        except BenchlabError as error:  # what TiUP left is removed by path
            failed = f"\nTiUP: {error}"
        if left := self._clean_up():
            raise TargetError(f"{self._name()}: cannot be destroyed as a whole{left}{failed}")

    def wait_until_ready(self, *, user: str = USER) -> None:
        """See :class:`Database`; also waits until every server answers and every store is Up.

        Raises:
            EngineError: names the servers that do not.
        """
        with self._complaints_told():
            super().wait_until_ready(user=user)
            if waiting := self._census.wait_until_up():
                raise EngineError(f"{self._name()}: not up in time: {', '.join(waiting)}")

    # Snapshot and dataset

    def backup(self) -> None:
        self.stop()
        self._hosts.back_up(uuid.uuid4().hex)
        self.executor.run(["rm", "-f", str(self._half_restored)])

    def restore(self) -> None:
        """See :class:`Database`; also drops the hosts' file caches.

        Raises:
            EngineError: a host has no snapshot, or one from another backup; nothing was changed.
        """
        self._hosts.check_snapshot()
        self.stop()
        self.executor.put(self._half_restored, "a restore began here\n")
        self._hosts.restore()
        self.executor.run(["rm", "-f", str(self._half_restored)])

    def save_dataset(self, url: str, region: str) -> None:
        """See :class:`BaseCluster`; BR refuses a place that contains part of another backup."""
        self._copy_dataset("backup", url, region)

    def load_dataset(self, url: str, region: str) -> None:
        self.sql(f"DROP DATABASE IF EXISTS {self.instance.database}")
        self._copy_dataset("restore", url, region)

    def rehearse(self, act: Act) -> None:
        name = self.instance.cluster_name
        match act:
            case "deploy":
                self._install()
                self._tiup.cluster("start", name)
                self.make_accounts()
            case "backup":
                self._tiup.cluster("stop", name)
                self._hosts.back_up("<backup>")
            case "restore":
                self._tiup.cluster("stop", name)
                self._hosts.restore()
            case "configure":
                changed = topology.with_configs("", self._rendered)
                self._edit(f"# what `tiup cluster show-config {name}` prints, with\n{changed}")
            case "start_for_trial":
                self._tiup.cluster("start", name)
                self._on_slowed(SlowdownJob.begin)

    # What it is

    def table_checksum(self, table: str) -> str:
        """TiDB's own, by the storage: ``<key-values>:<bytes>+<checksum>``.

        The part after the ``+`` differs between clusters: it covers the keys, which contain the
        table's number, and only BR rewrites that (`ADMIN CHECKSUM TABLE` sends no rewrite rule:
        pkg/executor/checksum.go in TiDB, src/coprocessor/checksum.rs in TiKV). The part before it
        is the same for the same rows stored in the same form
        (:func:`benchlab.results.records.rows_of`).
        """
        ((_, _, checksum, pairs, size),) = self.sql(
            f"ADMIN CHECKSUM TABLE {self.instance.database}.{table}"
        )
        return f"{pairs}:{size}+{checksum}"

    def git_hash(self) -> str | None:
        """The commit of the TiDB servers."""
        return self._census.tidb(self.instance.host).git_hash

    def version(self) -> str:
        """The version that the TiDB server reports on its status route."""
        return self._census.tidb(self.instance.host).version

    def facts(self) -> records.SideFacts:
        """See :class:`Database`.

        Raises:
            TargetError: a server has another version than requested, or is built or configured
                unlike its peers; names each.
            EngineError: a server does not answer, or PD does not know a store.
        """
        instances = self._census.instances()
        if faults := self._misfits(instances):
            raise TargetError("\n".join(faults))
        return records.SideFacts(
            self.version(),
            self.git_hash(),
            self._settings(instances),
            instances=tuple(
                records.InstanceFacts(
                    one.host, one.component, one.version, one.git_hash, one.digest, one.built_at
                )
                for one in instances
            ),
            about=self.about(),
        )

    def misfits(self) -> list[str]:
        """See :class:`Database`; also servers that are built or configured unlike their peers."""
        return self._misfits(self._census.instances())

    def variables(self) -> dict[str, str]:
        """Global variables, and configuration items such as ``tikv.raftstore.store-pool-size``."""
        return self._settings(self._census.instances())

    def requested(self) -> Parameters:
        """See :class:`Database`; configuration items have their component in the name."""
        variables = {
            key: value
            for key, value in self.instance.parameters.items()
            if not topology.is_config(key)
        }
        return variables | {
            f"{component}.{key}": value
            for component, items in self._configs.items()
            for key, value in items.items()
        }

    def ineffective(self, variables: dict[str, str]) -> dict[str, str]:
        """See :class:`Database`; items of components that report no configuration are omitted.

        Durations and sizes may be written differently: ``1m`` for ``60s``, ``1536MiB`` for
        ``1.5GB``.
        """
        reported, requested = {key.partition(".")[0] for key in variables}, self.requested()
        return {
            key: value
            for key, value in super().ineffective(variables).items()
            if not topology.is_config(key)
            or (key.partition(".")[0] in reported and not quantities.same(value, requested[key]))
        }

    def columns(self) -> dict[str, float | None]:
        """See :class:`Database`; also how many servers ended.

        Raises:
            EngineError: a slowdown ended during the trial, and its server did not.
        """
        if silent := self._census.silent():
            others = ("wrong_version_servers", "ineffective_parameters")
            return {"ended_servers": float(len(silent)), **dict.fromkeys(others)}
        instances, started = self._census.instances(), self._noted()
        ended = [
            one
            for one in instances
            if started.get(server_name(one.component, one.host), one.identity) != one.identity
        ]
        if not ended:
            self._on_slowed(SlowdownJob.check)
        asked = (self.instance.version, self.instance.hashes)
        wrong = [
            one
            for one in instances
            if identity_fault(one.component, *asked, one.version, one.git_hash)
        ]
        compared = all(is_comparable(o.component, asked[1], o.git_hash) for o in instances)
        return {
            "ended_servers": float(len(ended)),
            "wrong_version_servers": float(len(wrong)) if wrong or compared else None,
            "ineffective_parameters": float(len(self.ineffective(self._settings(instances)))),
        }

    def regions(self) -> Regions:
        return self._census.regions(level=self.instance.level)

    def ended_servers(self) -> Sequence[Message]:
        """See :class:`Database`; how each ended is read from its host's systemd and its log."""
        started = self._noted()
        return (
            self._hosts.how_ended(self._census.ended(started), [self.instance.password])
            if started
            else []
        )

    def go_on(self) -> None:
        self.start()
        self._note_started()

    def write_stalls(self) -> dict[str, float | None]:
        return self._census.write_stalls()

    def stall_lag_s(self) -> float:
        on = str(self._configs["tikv"].get("storage.flow-control.enable", True)).lower()
        return 0.0 if rules.flows(self.instance.version) and on != "false" else stalls.LAG_S

    def counter_sources(self) -> Sequence[Source]:
        return self._census.counter_sources()

    def profile_sources(self, kind: Kind, seconds: int) -> Profiled:
        return self._census.profile_sources(kind, seconds, self.instance.version)

    def statements(self) -> TiDBStatements:
        """See :class:`Database`."""
        url = f"http://{self.instance.host}:{self.instance.ports.tidb_status}"
        return TiDBStatements(self, url, statements.OF_CLUSTER)

    def least_free(self, host: str, capacity: float) -> float:
        """See :class:`Database`: with less than its reserve free, TiKV refuses to write."""
        least = super().least_free(host, capacity)
        if host not in [of_tikv.name for of_tikv in self.fleet.with_role("tikv")]:
            return least
        return max(least, reserve_bytes([self.instance.components], capacity))

    def log_tail(self) -> str:
        (host, *_) = [host for host in self.fleet.hosts if host.address == self.instance.host]
        log = self._hosts.places(host).log("tidb")
        return self._executors(host).run(["tail", "-n", "12", str(log)], check=False).stdout

    # Parts of the methods above

    def _on_slowed(self, work: Callable[[SlowdownJob], Result]) -> list[Result]:
        """Call this for the slowdown of each TiDB server; nothing is called where none is wanted.

        The servers run as the account that logs in, which needs no more to stop them.
        """

        def on_host(host: FleetHost) -> Result:
            places = self._hosts.places(host)
            job = SlowdownJob(
                executor=self._executors(host),
                job=f"slowdown-{self.instance.side}",
                program=places.root / "slowdown.py",
                find=f"systemctl show --property=MainPID --value {places.unit('tidb')}",
                percent=self.instance.slowdown_pct,
            )
            return work(job)

        hosts = self.fleet.with_role("tidb") if self.instance.slowdown_pct else ()
        return [*on_all(hosts, on_host).values()]

    def _check(self) -> None:
        if (why := rules.not_deployable(self.instance.version)) is not None:
            raise UnavailableError(f"{self._name()}: {why}")
        faults = rules.faults(
            self.instance.version, self.instance.parameters, self.instance.components
        )
        if faults:
            raise SpecError("\n".join(f"{self._name()}: {fault}" for fault in faults))

    def _install(self) -> None:
        """Deploy the servers on their hosts without starting them."""
        directory, name = self.instance.directory, self.instance.cluster_name
        file = directory / "topology.yaml"
        rendered = topology.render(
            self.fleet,
            user=self.instance.user,
            subdirectory=self.instance.subdirectory,
            ports=self.instance.ports,
            configs=self._rendered,
        )
        self.executor.run(["mkdir", "-p", "-m", "700", str(directory)])
        self.executor.put(self.client_config, self._client_options(), private=True)
        self.executor.put(file, rendered)
        self._note_configured()
        self._hosts.prepare()
        try:
            self._tiup.deploy(name, self._name_for_tiup, file)
            for component, build in self.instance.builds.items():
                self._patch(component, build)
            # Both sides are on the same hosts, so neither may start when a host boots.
            self._tiup.cluster("disable", name)
            self._refuse_faulty_configs()
        except BenchlabError as error:
            left = self._clean_up()
            raise EngineError(f"{self._name()}: cannot be deployed: {error}{left}") from error

    def _refuse_faulty_configs(self) -> None:
        """Raise EngineError if a server refuses its configuration."""
        faults = []
        for (component, host), said in self._hosts.refused_configs().items():
            items = self._configs[component]
            named = [key for key in items if key in said or key.rpartition(".")[2] in said]
            of_it = ", ".join(f"{key} = {written(items[key])}" for key in named or items)
            faults.append(
                f"{component} on {host} does not take its configuration "
                f"({of_it or 'the report type sets nothing'}): {said}"
            )
        if faults:
            raise EngineError("\n".join([*faults, "correct it in the report type"]))

    @property
    def _rendered(self) -> dict[topology.Component, Parameters]:
        """The requested items, and where TiDB writes, which is not among those compared."""
        root = self._hosts.places(self.fleet.client).root  # the same on all hosts
        places = rules.out_of_tmp(self.instance.version, root)
        return {**self._configs, "tidb": {**places, **self._configs["tidb"]}}

    @property
    def _name_for_tiup(self) -> str:
        """The version to deploy; of a nightly its alias.

        A nightly's real name is gone from the mirror after the next release, and under it TiUP
        refuses a package that it downloaded before the mirror overwrote it (`Download` in its
        `pkg/cluster/operation/download.go`).
        """
        return NIGHTLY if is_nightly(self.instance.version) else self.instance.version

    def _patch(self, component: str, build: Build) -> None:
        """Replace the version's own binary by a build, unless TiUP has deployed that very build."""
        if build.released and self._tiup.has_package(component, self._name_for_tiup, build.sha256):
            return
        package = self.instance.package(component)
        there = self.instance.directory / package.name
        self.executor.upload(package, there)
        self._tiup.patch(self.instance.cluster_name, component, there)
        self.executor.run(["rm", "-f", str(there)])

    def _misfits(self, instances: Sequence[InstanceFacts]) -> list[str]:
        faults = misfits(instances, self.instance.version, self.instance.hashes)
        return [f"{self._name()}: {fault}" for fault in faults]

    def _edit(self, text: str) -> None:
        # Named by content, so that a list of commands has a line for each edit.
        content = hashlib.sha256(self._to_configure().encode()).hexdigest()[:8]
        file = self.instance.directory / f"edited-{content}.yaml"
        self.executor.put(file, text)
        self._tiup.configure(self.instance.cluster_name, file)
        self._refuse_faulty_configs()

    def _note_configured(self) -> None:
        """Record what the servers were given; what is not recorded is given to them anew."""
        self.executor.put(self._configured, self._to_configure())

    def _to_configure(self) -> str:
        return json.dumps(self._configs, sort_keys=True)

    def _launch(self) -> None:
        with self._complaints_told():
            try:
                self._tiup.cluster("start", self.instance.cluster_name)
            except CommandError as error:
                raise EngineError(f"{self._name()}: cannot be started: {error}") from error
            self._note_started()

    @contextmanager
    def _complaints_told(self) -> Iterator[None]:
        """Add to an EngineError raised inside which server is to blame, and keep all complaints."""
        try:
            yield
        except EngineError as error:
            if self.instance.logs is None:
                raise
            file = complaints.file_in(self.instance.logs, self.instance.side)
            found, unread = self._hosts.complaints()
            told = complaints.told_of(found, unread, file, [self.instance.password])
            raise EngineError(f"{error}\n{told}") from error

    def _note_started(self) -> None:
        """Record the identity of every server; one with another identity later was restarted."""
        self.executor.put(
            self._started,
            json.dumps(
                {
                    server_name(one.component, one.host): one.identity
                    for one in self._census.instances()
                }
            ),
        )

    def _noted(self) -> dict[str, str | None]:
        done = self.executor.run(["cat", str(self._started)], check=False)
        noted: dict[str, str | None] = json.loads(done.stdout or "{}")
        return noted

    def _clean_up(self) -> str:
        """Remove everything by path; returns a line per host that could not be cleaned."""
        left: dict[str, str] = {}
        login = ""
        try:
            state = self._tiup.state(self.instance.cluster_name)
            login = self._tiup.login(state)
            self.executor.run(["rm", "-rf", str(self.instance.directory)], timeout_s=600)
        except BenchlabError as error:  # the other hosts are cleaned nevertheless
            left[self.fleet.client.name] = str(error)
        left |= self._hosts.clean(login)
        if not left:  # until then this holds the login that is to be removed
            self.executor.run(["rm", "-rf", state])
        return "".join(f"\n{name} could not be cleaned: {why}" for name, why in left.items())

    def _copy_dataset(self, action: str, url: str, region: str) -> None:
        if fault := self.no_dataset_snapshots(self.instance.version):
            raise TargetError(f"{self._name()}: {fault}")
        pd = f"{self.fleet.with_role('pd')[0].address}:{self.instance.ports.pd}"
        try:
            self._tiup.br(
                self._name_for_tiup,
                action,
                pd=pd,
                storage=url,
                database=self.instance.database,
                region=region,
                log=self.instance.directory / f"br-{action}.log",
            )
        except CommandError as error:
            raise EngineError(f"{self._name()}: BR's {action} failed: {error}") from error

    def _settings(self, instances: Sequence[InstanceFacts]) -> dict[str, str]:
        settings = super().variables()
        for one in instances:
            for key, value in (one.config or {}).items():
                settings.setdefault(f"{one.component}.{key}", value)
        return settings
