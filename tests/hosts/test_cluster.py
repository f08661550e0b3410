"""A cluster on a fleet: deployed through the command line of TiUP, backed up and restored.

Hosts, SSH, data and their copies are real; PD, TiKV and TiDB are the stand-in's.
"""

from __future__ import annotations

import json
import re
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from benchlab.engines import builds
from benchlab.engines.database import Regions
from benchlab.engines.tidb import tiup
from benchlab.engines.tidb.cluster import Cluster, ClusterInstance
from benchlab.engines.tidb.topology import COMPONENTS, Component, Ports
from benchlab.errors import BenchlabError, EngineError, TargetError
from benchlab.home import Home
from benchlab.hosts import metrics
from benchlab.hosts.access import Access
from benchlab.hosts.fleet import Fleet, FleetHost, Role
from benchlab.hosts.ssh.executor import SSHExecutor
from benchlab.plan.fields.builds import Build
from benchlab.plan.fields.engines import Parameters
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import rows_of
from tests.builders import plans
from tests.hosts import standin
from tests.hosts.namespaces import USER, NamespaceHost, Namespaces, own
from tests.hosts.object_storage import KEYS, bucket_on

DATA = Path("/data/benchlab")
KEY = Path(f"/home/{USER}/tiup-key")
REGION = "eu-west-1"
AUTHORIZED = f"/etc/ssh/authorized_keys/{USER}"
# One with a server of each kind, one with data only, one without any.
ROLES: dict[str, tuple[Role, ...]] = {
    "kv-1": ("pd", "tikv", "tidb"),
    "kv-2": ("tikv",),
    "tidb-1": ("tidb",),
    "client-1": ("client",),
}
# The processes of the baseline on a host.
AT_WORK = (
    f"{{ find /proc -mindepth 2 -maxdepth 2 -name cwd -lname '{DATA}/c1/baseline/*' "
    "2> /dev/null || :; } | cut -d/ -f3"
)
CACHES = "/proc/sys/vm/drop_caches"
VERSIONS: dict[Side, str] = {"baseline": "v5.1.1", "candidate": "v5.2.0"}


@dataclass
class TestFleet:
    """Hosts with the stand-in for TiUP on the one of the client."""

    namespaces: Namespaces
    key: str
    hosts: dict[str, NamespaceHost] = field(default_factory=dict)
    fleet: Fleet = field(default_factory=lambda: Fleet(()))
    executors: dict[str, SSHExecutor] = field(default_factory=dict)
    __test__ = False

    def instance(self, side: Side, **fields: Any) -> ClusterInstance:
        """One side's cluster; ``fields`` replace what is made up."""
        made: dict[str, Any] = {
            "side": side,
            "version": VERSIONS[side],
            "parameters": {"log.level": "error"},
            "components": {"tikv": {"storage.scheduler-worker-pool-size": 5}},
            "cluster_name": f"c1-{side}",
            "directory": Path(f"/home/{USER}/benchlab/{side}"),
            "subdirectory": PurePosixPath("c1") / side,
            "ports": Ports.of_set(SIDES.index(side)),
            "host": self.fleet.with_role("tidb")[0].address,
            "port": Ports.of_set(SIDES.index(side)).tidb,
            "max_connections": 100,
            "database": "sbtest",
            "password": "hunter2",
            "tiup_key": KEY,
            "user": USER,
        }
        return ClusterInstance(**(made | fields))

    def cluster(self, side: Side, **fields: Any) -> Cluster:
        """The cluster itself."""
        return Cluster(
            self.fleet, lambda host: self.executors[host.name], self.instance(side, **fields)
        )

    def left(self, side: str) -> dict[str, str]:
        """What is there of a side, by host: files, processes."""
        script = f"ls -d {DATA}/c1/{side} /home/{USER}/.tiup/storage/cluster/clusters/c1-{side}; "
        script += f"ls -l /proc/[0-9]*/cwd | grep {DATA}/c1/{side}"
        return {
            name: found
            for name, host in self.hosts.items()
            if (found := host.run(f"({script}) 2> /dev/null", check=False).stdout)
        }

    def logins(self) -> dict[str, str]:
        """Keys that may log in, by host."""
        files = f"{AUTHORIZED} $(ls /home/{USER}/.ssh/authorized_keys 2> /dev/null)"
        return {name: host.run(f"cat {files}").stdout for name, host in self.hosts.items()}


@pytest.fixture(scope="module")
def fleet(namespaces: Namespaces, ssh_key: tuple[str, str], tmp_path_factory: Any) -> TestFleet:
    """A fleet without a cluster."""
    private, public = ssh_key
    made = TestFleet(namespaces, private)
    first = namespaces.network.rsplit(".", 1)[0]
    hosts = []
    for number, (name, roles) in enumerate(ROLES.items(), start=11):
        address = f"{first}.{number}"
        inside = made.hosts[name] = namespaces.add(address, public)
        inside.run(f"mkdir -p {DATA} && chown {USER}: {DATA}")
        hosts.append(FleetHost(name, roles, address, address, USER, inside.host_key, DATA))
    made.fleet = Fleet(tuple(hosts))
    made.executors = {
        host.name: SSHExecutor(host, private, own("c1"), Path(f"/home/{USER}/benchlab"))
        for host in hosts
    }
    standin.install(made.hosts["client-1"])
    made.executors["client-1"].put(KEY, private, private=True)
    return made


@pytest.fixture(scope="module")
def sides(fleet: TestFleet) -> Iterator[dict[Side, Cluster]]:
    """Both sides deployed beside each other, none running, each with a row and a snapshot."""
    clusters: dict[Side, Cluster] = {side: fleet.cluster(side) for side in VERSIONS}
    for cluster in clusters.values():
        cluster.deploy()
        cluster.create_database()
        cluster.sql("CREATE TABLE sbtest.t (id INT PRIMARY KEY); INSERT INTO sbtest.t VALUES (1)")
        cluster.backup()
    yield clusters
    for cluster in clusters.values():
        cluster.destroy()


@pytest.fixture
def running(sides: dict[Side, Cluster]) -> Iterator[Cluster]:
    """The baseline, running with what its snapshot has."""
    cluster = sides["baseline"]
    cluster.restore()
    cluster.start()
    yield cluster
    cluster.stop()


# TiKV ends with 1 at such an item, PD with 0.
UNKNOWN = (("tikv", "storage.no-such-item"), ("pd", "schedule.no-such-item"))


def rows(cluster: Cluster) -> list[str]:
    """The rows of the table."""
    return [row[0] for row in cluster.sql("SELECT id FROM sbtest.t ORDER BY id")]


def test_each_side_is_its_own_version(fleet: TestFleet, sides: dict[Side, Cluster]) -> None:
    """On the same hosts, one running at a time; every server is counted and fits."""
    hashes = set()
    for side, cluster in sides.items():
        assert not cluster.running()
        cluster.start()
        try:
            facts = cluster.facts()
            hashes.add(facts.git_hash)
            assert facts.version == f"5.7.25-TiDB-{VERSIONS[side]}"
            assert facts.git_hash == cluster.git_hash()
            assert facts.variables["tikv.storage.scheduler-worker-pool-size"] == "5"
            assert facts.variables["tidb.log.level"] == "error"
            assert [(one.component, one.host) for one in cluster._census.instances()] == [
                *(("pd", "kv-1"), ("tikv", "kv-1"), ("tikv", "kv-2")),
                *(("tidb", "kv-1"), ("tidb", "tidb-1")),
            ]
            assert cluster.columns() == {
                "ended_servers": 0,
                "wrong_version_servers": 0,
                "ineffective_parameters": 0,
            }
            assert rows(cluster) == ["1"]
        finally:
            cluster.stop()
        assert not cluster.running()
    assert len(hashes) == 2


def test_leaders_are_levelled_for_a_trial(sides: dict[Side, Cluster]) -> None:
    """They are elected anew at every start, and PD is content with that; a gate is not."""
    cluster = sides["baseline"]
    cluster.start()
    try:
        cluster._census.wait_until_settled(level=True)
        elected = cluster.regions()
        assert elected.unsettled == 0
        assert elected.leaders == {"kv-1": 20, "kv-2": 10}
        assert elected.beyond == 4
        cluster.start_for_trial()
        assert cluster.regions() == Regions({"kv-1": 15, "kv-2": 15}, 0, 0)
        assert cluster._census._to_move("sbtest") == {}, "the dataset's tables are as well"
    finally:
        cluster.stop()


def test_leaders_stay_as_placed_where_that_is_asked(
    fleet: TestFleet, sides: dict[Side, Cluster]
) -> None:
    """As far apart as PD leaves them is no fault then, and further is."""
    cluster = fleet.cluster("baseline", level=False)
    cluster.start_for_trial()
    try:
        assert cluster.regions() == Regions({"kv-1": 20, "kv-2": 10}, 0, 0)
    finally:
        cluster.stop()


def test_every_host_of_a_side_can_be_sampled(fleet: TestFleet, running: Cluster) -> None:
    """By the account, in the campaign's directory: a deployment leaves it to that account.

    The server there, which no job started, is known as the campaign's own.
    """
    hosts = fleet.fleet.with_role(*COMPONENTS)
    there = {host.name: SSHExecutor(host, fleet.key, own("c1"), DATA / "c1") for host in hosts}
    try:
        assert metrics.start(there, "hosts-x", 1, "", []) == {}
        while any(one.job_status("hosts-x").state == "running" for one in there.values()):
            time.sleep(0.1)
        found = metrics.stop_and_collect(
            *(there, "hosts-x", "", []), unsampled={}, client_alone=False
        )
        own_servers = [
            host
            for host, one in there.items()
            if re.search(r"^\d+ \(python3\) \S 1 ", one.job_output("hosts-x"), re.MULTILINE)
        ]
    finally:
        for one in there.values():
            one.close()
    assert [host.host for host in found.hosts if "cpu_other" in host.figures] == [*there]
    assert own_servers == [*there]


def test_a_restore_undoes_what_was_written_on_every_host(
    fleet: TestFleet, running: Cluster
) -> None:
    """Every PD and TiKV directory is as it was in the snapshot, and not in the cache of files."""
    running.sql("INSERT INTO sbtest.t VALUES (2)")
    assert rows(running) == ["1", "2"]
    root = DATA / "c1/baseline"
    differ = f"diff -rq {root}/snapshot {root}/data"
    running.stop()
    for name in ("kv-1", "kv-2"):
        assert fleet.hosts[name].run(differ, check=False).returncode == 1
        fleet.hosts[name].run(f"echo 0 > {CACHES}")
    running.restore()
    for name in ("kv-1", "kv-2"):
        assert fleet.hosts[name].run(f"cat {CACHES}").stdout == "3\n"
        assert fleet.hosts[name].run(differ).stdout == ""
    running.start()
    assert rows(running) == ["1"]


def test_the_snapshot_is_without_the_space_that_tikv_reserves(
    fleet: TestFleet, running: Cluster
) -> None:
    """It is gigabytes of nothing; TiKV makes it anew."""
    find = f"find {DATA}/c1/baseline/%s -name space_placeholder_file"
    for name in ("kv-1", "kv-2"):
        assert fleet.hosts[name].run(find % "snapshot").stdout == ""
        assert fleet.hosts[name].run(find % "data").stdout != ""


def test_stopping_and_destroying_again_does_no_harm(sides: dict[Side, Cluster]) -> None:
    """A stopped side stays stopped, and the other one is untouched."""
    sides["candidate"].stop()
    sides["candidate"].stop()
    assert not sides["candidate"].running()


@pytest.mark.fault(
    "systemd starts a server that died again",
    promise="it is counted all the same, with its host and the end of its log",
    of="servers",
)
@pytest.mark.parametrize(
    ("component", "host"), [("tidb", "tidb-1"), ("tikv", "kv-2"), ("pd", "kv-1")]
)
def test_a_server_that_ended_is_counted_and_named(
    fleet: TestFleet, running: Cluster, component: Component, host: str
) -> None:
    """With its host, when it ended, whether systemd has started it again, and what its log said
    before; once the campaign has gone on with it, it has been said.
    """
    assert [*running.ended_servers()] == []
    port = Ports.of_set(0).main(component)
    deployed = DATA / f"c1/baseline/deploy/{component}-{port}"
    unit = f"/etc/systemd/system/{component}-{port}.service"
    fleet.hosts[host].run(f"kill -9 $(cat {deployed}/pid)")
    assert running.columns()["ended_servers"] == 1
    (said,) = map(str, running.ended_servers())
    moment = r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC"
    named, before = rf"{component} on {host}", r"; the last lines of its log: .*ready to serve"
    waits = f"{named} ended at {moment}; systemd had not restarted it yet when asked"
    assert re.match(waits + before, said), said
    assert not running.running()
    fleet.hosts[host].run(f"systemctl stop {unit.rpartition('/')[2]}")
    (said,) = map(str, running.ended_servers())
    assert re.match(f"{named} ended at {moment}, and systemd does not start it again", said), said
    # Not Benchlab's doing, so that the new server is not the noted one.
    running._tiup.cluster("start", running.instance.cluster_name)
    running.wait_until_ready()
    assert running.columns()["ended_servers"] == 1
    (said,) = map(str, running.ended_servers())
    again = f"{named} ended at {moment} and was started again by systemd at {moment}"
    assert re.match(again + before, said), said
    assert "Welcome" not in said.rpartition("ready to serve")[2], "the new server's"
    running.go_on()
    assert [*running.ended_servers()] == []
    running.stop()
    assert [*running.ended_servers()] == [], "it was stopped"


def tidb_states(fleet: TestFleet, host: str) -> str:
    """The states of all threads of the candidate's TiDB server: ``T`` is stopped."""
    deployed = DATA / f"c1/candidate/deploy/tidb-{Ports.of_set(1).tidb}"
    each = f"cat /proc/$(cat {deployed}/pid)/task/*/stat | sed 's/.*) //' | cut -c1"
    return "".join(sorted({*fleet.hosts[host].run(each).stdout.split()}))


def is_seen(fleet: TestFleet, host: str, wanted: Callable[[str], bool]) -> bool:
    """Whether the states of a host's TiDB server come to be as wanted, within ten seconds."""
    until = time.monotonic() + 10
    while not (seen := wanted(tidb_states(fleet, host))) and time.monotonic() < until:
        time.sleep(0.01)
    return seen


def is_stopped(states: str) -> bool:
    """Whether all threads are."""
    return states == "T"


def goes_on(states: str) -> bool:
    """Whether none is."""
    return "T" not in states


@pytest.fixture
def slowed(fleet: TestFleet, sides: dict[Side, Cluster]) -> Iterator[Cluster]:
    """The candidate, begun for a trial in which it is slowed down by 60 %."""
    cluster = fleet.cluster("candidate", slowdown_pct=60.0)
    cluster.start_for_trial()
    yield cluster
    cluster.stop()


SQL_HOSTS = ("kv-1", "tidb-1")
# The slowdown's processes on a host: its job, and the child that guards the server.
SLOWDOWN = "pgrep -f '^python3 .*/slowdown.py'"


def test_every_sql_server_of_a_side_is_slowed_down_in_its_trials(
    fleet: TestFleet, slowed: Cluster
) -> None:
    """By the account that logs in, without root; storage goes on, and so does all after it."""
    for host in SQL_HOSTS:
        assert is_seen(fleet, host, is_stopped)
        assert is_seen(fleet, host, goes_on)
        owners = fleet.hosts[host].run(f"ps -o user= -p $({SLOWDOWN} | paste -sd,)").stdout.split()
        assert {*owners} == {USER}
    assert fleet.hosts["kv-2"].run(SLOWDOWN, check=False).stdout == ""
    assert slowed.columns()["ended_servers"] == 0
    slowed.start_for_trial()  # the next trial finds it as it is
    assert slowed.running()
    slowed.stop()
    for host in SQL_HOSTS:
        assert fleet.hosts[host].run(SLOWDOWN, check=False).stdout == ""
    unslowed = fleet.cluster("candidate")
    unslowed.start_for_trial()
    assert fleet.hosts["tidb-1"].run(SLOWDOWN, check=False).stdout == ""


@pytest.mark.fault(
    "a deliberate slowdown is killed while it holds a server",
    promise="the server runs on, and the trial does not count",
    of="servers",
)
def test_a_slowdown_that_is_killed_leaves_no_server_stopped(
    fleet: TestFleet, slowed: Cluster
) -> None:
    """SIGKILL of the job on a host, in a stop: its child resumes the server. The trial does not
    count, and the next one has a slowdown again.
    """
    host = fleet.hosts["tidb-1"]
    job = f"$({SLOWDOWN} | head -n 1)"
    for _ in range(100):
        host.run(f"kill -STOP {job}")
        if is_stopped(tidb_states(fleet, "tidb-1")):
            break
        host.run(f"kill -CONT {job}; sleep 0.01")
    assert is_stopped(tidb_states(fleet, "tidb-1"))
    host.run(f"kill -KILL {job}")
    assert is_seen(fleet, "tidb-1", goes_on)
    time.sleep(0.2)
    assert goes_on(tidb_states(fleet, "tidb-1"))
    with pytest.raises(EngineError, match=r"slowdown-candidate on tidb-1 .* ended in the trial"):
        slowed.columns()
    slowed.start_for_trial()
    assert is_seen(fleet, "tidb-1", is_stopped)
    assert slowed.columns()["ended_servers"] == 0


def test_nothing_is_left_stopped_where_a_slowdown_and_its_guard_are_killed(
    fleet: TestFleet, slowed: Cluster
) -> None:
    """Both at once, as where a host runs out of memory: the next trial, like the end, stops and
    resumes the server.
    """
    host = fleet.hosts["tidb-1"]
    for _ in range(100):
        host.run(f"kill -STOP $({SLOWDOWN})")
        if is_stopped(tidb_states(fleet, "tidb-1")):
            break
        host.run(f"kill -CONT $({SLOWDOWN}); sleep 0.01")
    host.run(f"kill -KILL $({SLOWDOWN})")
    assert is_stopped(tidb_states(fleet, "tidb-1"))
    slowed.start_for_trial()
    assert is_seen(fleet, "tidb-1", goes_on)
    assert slowed.columns()["ended_servers"] == 0


def test_why_a_side_does_not_start_is_kept_before_its_logs_are_gone(
    fleet: TestFleet, running: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server to blame is quoted; what all of them complained of is on this machine."""
    running.stop()
    monkeypatch.setattr(tiup, "WAIT_S", 3)
    conf = DATA / "c1/baseline/deploy/tikv-20160/conf/standin.json"
    why = "the maximum number of open file descriptors is too small, got 20000"
    fleet.hosts["kv-2"].run(f'cp -p {conf} {conf}.good; sed -i \'1a "fatal": "{why}",\' {conf}')
    made = fleet.cluster("baseline", logs=tmp_path / "logs")
    try:
        with pytest.raises(EngineError) as caught:
            made.start()
    finally:
        fleet.hosts["kv-2"].run(f"mv {conf}.good {conf}")
        made.stop()
    (kept,) = (tmp_path / "logs").iterdir()
    said = str(caught.value)
    assert "tikv on kv-2 wrote:\n" in said
    assert f'[FATAL] [standin_server.py:1] ["{why}"]' in said
    assert said.endswith(f"the last warnings and errors of all servers are in {kept}")
    text = kept.read_text()
    assert why in text
    servers = re.findall("^== (.*)$", text, re.MULTILINE)
    assert servers == [
        *("tikv on kv-1", "tikv on kv-2", "pd on kv-1", "tidb on kv-1", "tidb on tidb-1")
    ]


@pytest.mark.fault(
    "servers die just before a snapshot is restored",
    promise="systemd does not start them in the middle of the copying",
    of="servers",
)
def test_servers_that_died_do_not_come_back_on_data_that_are_restored(
    fleet: TestFleet, sides: dict[Side, Cluster]
) -> None:
    """Their units would start them again after RestartSec, in the middle of the copying."""
    cluster = sides["baseline"]
    cluster.start()
    for name in ("kv-1", "kv-2", "tidb-1"):
        host = fleet.hosts[name]
        host.run("sed -i 's/^RestartSec=.*/RestartSec=3s/' /etc/systemd/system/*-*.service")
    for name in ("kv-1", "kv-2", "tidb-1"):
        fleet.hosts[name].run(f"kill -9 $({AT_WORK})")
    cluster.restore()
    time.sleep(5)
    assert {host.run(AT_WORK).stdout for host in fleet.hosts.values()} == {""}


def test_a_server_of_another_version_is_named(fleet: TestFleet, running: Cluster) -> None:
    """By component and host, with both versions."""
    conf = DATA / "c1/baseline/deploy/tidb-4000/conf/standin.json"
    fleet.hosts["tidb-1"].run(f'sed -i \'s/"version": "v5.1.1"/"version": "v5.1.0"/\' {conf}')
    try:
        running.stop()
        running.start()
        with pytest.raises(TargetError, match=r"tidb on tidb-1 is version .*v5\.1\.0.*v5\.1\.1"):
            running.facts()
        assert running.columns()["wrong_version_servers"] == 1
    finally:
        fleet.hosts["tidb-1"].run(f'sed -i \'s/"version": "v5.1.0"/"version": "v5.1.1"/\' {conf}')


@pytest.mark.fault(
    "a storage host's disk fills while a snapshot is taken",
    promise="the host is named, and nothing is restored from half a snapshot",
    of="disks",
)
def test_a_full_disk_while_backing_up_names_the_host_and_spoils_nothing(
    fleet: TestFleet, running: Cluster
) -> None:
    """There is then no snapshot at all, rather than one of two states."""
    root, full = DATA / "c1/baseline", fleet.hosts["kv-2"]
    running.sql("INSERT INTO sbtest.t VALUES (3)")
    full.run(f"head -c 4M /dev/urandom > {root}/data/tikv-20160/sst")
    full.run(f"chown {USER}: {root}/data/tikv-20160/sst")
    full.run(f"mount -t tmpfs -o size=1m,uid=$(id -u {USER}) small {root}/snapshot")
    with pytest.raises(BenchlabError, match=r"(?s)backing up kv-2: .*No space left"):
        running.backup()
    with pytest.raises(EngineError, match=r"no whole snapshot.*kv-1, kv-2"):
        running.restore()
    running.start()
    assert rows(running) == ["1", "3"]  # nothing was restored
    full.run(f"umount {root}/snapshot; rm {root}/data/tikv-20160/sst")
    running.sql("DELETE FROM sbtest.t WHERE id = 3")
    running.backup()
    running.restore()


def test_a_workload_s_own_items_take_effect_on_every_server_and_are_taken_back(
    fleet: TestFleet, running: Cluster
) -> None:
    """By a restart; until then they count as ineffective. What a server refuses is named, and
    nothing counts as configured until it is configured anew.
    """
    own = running.with_components({"tikv": {"server.grpc-concurrency": 7, "log-level": "error"}})
    assert running.configured()
    assert not own.configured()
    assert running.columns()["ineffective_parameters"] == 0
    assert own.columns()["ineffective_parameters"] == 2
    running.stop()
    own.configure()
    own.start()
    assert own.configured()
    assert not running.configured()
    assert own.columns()["ineffective_parameters"] == 0
    (set_,) = {
        one.config["server.grpc-concurrency"]
        for one in own._census.instances()
        if one.config and one.component == "tikv"
    }
    assert set_ == "7"
    assert own.variables()["tikv.storage.scheduler-worker-pool-size"] == "5", "all workloads' own"
    own.stop()
    for component, item in UNKNOWN:
        refused = running.with_components({component: {item: 1}})
        with pytest.raises(EngineError, match=rf"(?s)baseline.*{item}.*correct it in the report"):
            refused.configure()
        assert not any(one.configured() for one in (running, own, refused))
    running.configure()
    assert running.configured()
    conf = DATA / "c1/baseline/deploy/tikv-20160/conf/standin.json"
    assert "grpc-concurrency" not in fleet.hosts["kv-2"].run(f"cat {conf}").stdout


def test_a_topology_that_tiup_does_not_take_is_an_error(
    fleet: TestFleet, sides: dict[Side, Cluster]
) -> None:
    """TiUP ends well. Such is the one that was deployed: since then TiUP knows the hosts better."""
    cluster = sides["candidate"]
    deployed = cluster.instance.directory / "topology.yaml"
    with pytest.raises(BenchlabError, match=r"(?s)edit-config c1-candidate.*immutable field"):
        cluster._tiup.configure(cluster.instance.cluster_name, deployed)


def test_half_restored_data_are_not_started(fleet: TestFleet, running: Cluster) -> None:
    """One host has the snapshot's state, another its last one; a complete restore fixes it."""
    snapshot = DATA / "c1/baseline/snapshot"
    fleet.hosts["kv-2"].run(f"mv {snapshot} {snapshot}.away")
    with pytest.raises(BenchlabError, match="restoring kv-2"):
        running.restore()
    with pytest.raises(EngineError, match="restore again before starting"):
        running.start()
    fleet.hosts["kv-2"].run(f"mv {snapshot}.away {snapshot}")
    running.restore()
    running.start()
    assert rows(running) == ["1"]


def test_a_dataset_goes_to_object_storage_and_back(
    fleet: TestFleet, sides: dict[Side, Cluster], running: Cluster, bucket_region: str
) -> None:
    """By what the hosts are granted: Benchlab gives BR no credentials. A newer version can be
    filled with it and then holds the same rows; an older one cannot.
    """
    client = fleet.hosts["client-1"].root / "etc/standin-tiup.json"
    before = client.read_text()
    client.write_text(json.dumps({**json.loads(before), "imdsv2_only": True}))
    with pytest.raises(EngineError, match="Couldn't find AWS credentials"):
        running.save_dataset("s3://datasets/small", bucket_region)
    client.write_text(before)
    running.save_dataset("s3://datasets/small", bucket_region)
    with pytest.raises(EngineError, match="specify a correct backup directory"):
        running.save_dataset("s3://datasets/small", bucket_region)
    kept = running.checksum(["t"])
    running.sql("DELETE FROM sbtest.t")
    running.load_dataset("s3://datasets/small", bucket_region)
    assert rows(running) == ["1"]
    assert running.checksum(["t"]) == kept
    newer = sides["candidate"]
    newer.restore()
    newer.start()
    try:
        newer.load_dataset("s3://datasets/small", bucket_region)
        assert rows(newer) == ["1"]
        assert newer.checksum(["t"]) != kept, "TiDB's own covers the number of the table"
        assert rows_of(newer.checksum(["t"])) == rows_of(kept)
        newer.save_dataset("s3://datasets/newer", bucket_region)
    finally:
        newer.stop()
    with pytest.raises(EngineError, match=r"v5\.2\.0 cannot be restored at cluster of version v5"):
        running.load_dataset("s3://datasets/newer", bucket_region)
    running.restore()  # for the tests that follow: what was to be replaced has gone


@pytest.fixture
def bucket_region(fleet: TestFleet) -> Iterator[str]:
    """The region of a bucket on an S3 that the client's host may use."""
    environment = fleet.hosts["client-1"].root / "etc/environment"
    before = environment.read_text() if environment.exists() else ""
    with bucket_on(fleet.namespaces.gateway, REGION) as (endpoint, _):
        # As an instance profile grants it to a real host; a login sees it from its beginning.
        granted = {name.upper(): value for name, value in KEYS.items()}
        granted["AWS_ENDPOINT_URL_S3"] = endpoint
        environment.write_text("".join(f'{key}="{value}"\n' for key, value in granted.items()))
        fleet.executors["client-1"].close()
        yield REGION
        environment.write_text(before)
        fleet.executors["client-1"].close()


# What follows deploys clusters of its own, on ports of their own.

OTHER = Ports(pd=3379, pd_peer=3380, tikv=21160, tikv_status=21180, tidb=5000, tidb_status=11080)
EXPORTERS = ("blackbox_exporter-9115", "node_exporter-9100")


def other(fleet: TestFleet, name: str, **fields: Any) -> Cluster:
    """A further cluster on the same hosts."""
    ports = fields.pop("ports", OTHER)
    fields |= {"ports": ports, "port": ports.tidb}
    fields.setdefault("subdirectory", PurePosixPath("c1") / name)
    directory = Path(f"/home/{USER}/benchlab/{name}")
    return fleet.cluster("candidate", cluster_name=f"c1-{name}", directory=directory, **fields)


@pytest.mark.fault(
    "a cluster's configuration is refused",
    promise="the reason is reported, and no file or login stays on the hosts",
    of="servers",
)
@pytest.mark.parametrize(("component", "item"), UNKNOWN)
def test_a_refused_configuration_leaves_nothing_on_the_hosts(
    fleet: TestFleet, component: str, item: str
) -> None:
    """TiUP itself would leave files and a login on each, and know of no cluster to destroy. What PD
    says against an item TiUP does not read.
    """
    before = fleet.logins()
    cluster = other(fleet, "refused", components={component: {item: 1}})
    with pytest.raises(EngineError) as caught:
        cluster.deploy()
    for part in ("candidate", item, "correct it in the report type"):
        assert part in str(caught.value)
    assert fleet.left("refused") == {}
    assert fleet.logins() == before


def test_a_pool_larger_than_the_hosts_is_refused_by_the_server(fleet: TestFleet) -> None:
    """TiKV from v6.0.0 on, where nobody knew the hosts' cores before; nothing is left."""
    settings = fleet.hosts["client-1"].root / "etc/standin-tiup.json"
    before = settings.read_text()
    versions = [*json.loads(before)["versions"], "v6.1.0"]
    settings.write_text(json.dumps({**json.loads(before), "versions": versions}))
    pool: dict[str, Parameters] = {"tikv": {"storage.scheduler-worker-pool-size": 4096}}
    cluster = other(fleet, "pool", version="v6.1.0", components=pool)
    with pytest.raises(
        EngineError, match=r"(?s)scheduler-worker-pool-size should be.*in the report"
    ):
        cluster.deploy()
    assert fleet.left("pool") == {}
    settings.write_text(before)


def test_an_unknown_version_leaves_nothing_on_the_hosts(fleet: TestFleet) -> None:
    """And the message says where versions are listed."""
    cluster = other(fleet, "unknown", version="v5.9.9")
    with pytest.raises(EngineError, match=r"(?s)v5\.9\.9.*tiup list tidb"):
        cluster.deploy()
    assert fleet.left("unknown") == {}


def build(folder: Path, commit: str, **fields: Any) -> tuple[Build, Path]:
    """A TiDB server that says it is of a commit, and its package."""
    home = Home(folder, folder / "state")
    said = f"Release Version: v5.2.0-12-g{commit[:7]}\nGit Commit Hash: {commit}\n"
    (folder / "tidb-server").write_bytes(b"\x7fELF\n" + said.encode())
    named = {"version": "v5.2.0", "builds": {"tidb": {"source": "tidb-server"}}}
    spec = plans.fleet_spec(
        engines={"tidb": {"baseline": {"version": "v5.2.0"}, "candidate": named}}
    )
    kept = builds.pinned(home, spec, Access()).side("tidb", "candidate").builds["tidb"]
    return kept.model_copy(update=fields), builds.package(home, "tidb", kept)


def with_build(fleet: TestFleet, version: str, made: Build, package: Path) -> Cluster:
    """A cluster whose TiDB is a build."""
    return other(
        fleet,
        "built",
        version=version,
        components={},
        builds={"tidb": made},
        hashes={"tidb": made.expected},
        package=lambda component: package,
    )


@pytest.mark.parametrize("version", ["v5.2.0", "v9.0.0-beta.2.pre-nightly"])
def test_a_build_replaces_one_component_before_the_first_start(
    fleet: TestFleet, tmp_path: Path, version: str
) -> None:
    """TiUP takes the package; every TiDB says it is that commit, and the others are the version's.

    Of a nightly the others go by names of their own as well.
    """
    made, package = build(tmp_path, "5c91a2b" + "0" * 33, git_hash="5c91a2b")
    cluster = with_build(fleet, version, made, package)
    cluster.deploy()
    try:
        assert cluster.misfits() == []
        of = {(one.component, one.git_hash) for one in cluster.facts().instances}
        assert ("tidb", "5c91a2b" + "0" * 33) in of
        assert len(of) == 3
        assert cluster.columns()["wrong_version_servers"] == 0
    finally:
        cluster.destroy()
    assert fleet.left("built") == {}


def test_another_commit_than_the_planned_one_is_named(fleet: TestFleet, tmp_path: Path) -> None:
    """Every server that is of it, right after the deployment."""
    made, package = build(tmp_path, "a" * 40, git_hash="b" * 40)
    cluster = with_build(fleet, "v5.2.0", made, package)
    cluster.deploy()
    try:
        one, other_one = cluster.misfits()
    finally:
        cluster.destroy()
    assert f"tidb on kv-1 is built from {'a' * 40}, not from {'b' * 40}" in one
    assert "tidb on tidb-1" in other_one


def test_a_package_that_tiup_does_not_take_leaves_nothing(fleet: TestFleet, tmp_path: Path) -> None:
    """And it is said how it should be."""
    package = tmp_path / "tidb.tar.gz"
    with tarfile.open(package, "w:gz") as tar:
        tar.add(__file__, "bin/tidb-server")
    cluster = with_build(fleet, "v5.2.0", Build(sha256="a" * 64), package)
    with pytest.raises(EngineError, match=r"(?s)entry tidb-server not found.*server at its root"):
        cluster.deploy()
    assert fleet.left("built") == {}


@pytest.mark.fault(
    "a deployment was cut off, with directories and servers left",
    promise="the next one removes them and deploys",
    of="servers",
)
def test_what_an_interrupted_deployment_left_is_no_hindrance(fleet: TestFleet) -> None:
    """Half-made directories, a running server and TiUP's own half of a cluster are removed."""
    cluster = other(fleet, "again")
    root = DATA / "c1/again"
    fleet.hosts["kv-2"].run(
        f"mkdir -p {root}/data/tikv-21160 && touch {root}/data/tikv-21160/old && "
        f"cd {root}/data && setsid sleep 1000 > /dev/null 2>&1 < /dev/null &"
    )
    cluster.deploy()
    try:
        assert fleet.hosts["kv-2"].run(f"ls {root}/data/tikv-21160").stdout.split() == [
            "space_placeholder_file",
            "starts",
        ]
        cluster.deploy()  # and once more, over one that runs
        assert cluster.running()
    finally:
        cluster.destroy()
    assert fleet.left("again") == {}


def test_data_behind_a_link_are_stopped_and_removed_all_the_same(fleet: TestFleet) -> None:
    """Servers know their directory without links; unseen, they would run on under a copy."""
    linked = Path("/linked")
    for host in fleet.hosts.values():
        host.run(f"mkdir -p /mnt/nvme && chown {USER}: /mnt/nvme && ln -s /mnt/nvme {linked}")
    behind = Fleet(tuple(replace(host, data=linked) for host in fleet.fleet.hosts))
    instance = other(fleet, "linked").instance
    cluster = Cluster(behind, lambda host: fleet.executors[host.name], instance)

    def at_work() -> dict[str, str]:
        script = "ls -l /proc/[0-9]*/cwd 2> /dev/null | grep -o '/mnt/nvme/.*'"
        found = {name: host.run(script, check=False).stdout for name, host in fleet.hosts.items()}
        return {name: text for name, text in found.items() if text}

    cluster.deploy()
    try:
        assert sorted(at_work()) == ["kv-1", "kv-2", "tidb-1"]
        cluster.backup()
        assert at_work() == {}
        cluster.start()
        # TiUP forgets it, as when its state is lost: destroyed by path.
        state = f"/home/{USER}/.tiup/storage/cluster/clusters/c1-linked/meta.yaml"
        fleet.hosts["client-1"].run(f"rm {state}")
    finally:
        cluster.destroy()
    assert at_work() == {}
    for host in fleet.hosts.values():  # the campaign's directory goes with the campaign
        assert host.run("find /mnt/nvme -mindepth 2").stdout == ""


TIUP_KEY = "AAAAB3NzaC1yc2EAAAADAQABAAABAQC+made/up=="


@pytest.fixture
def logins(fleet: TestFleet) -> Iterator[str]:
    """The file with the logins of kv-2, a link to one on a disk of its own; TiUP's is in it."""
    host = fleet.hosts["kv-2"]
    small = f"{AUTHORIZED}.disk"
    host.run(f"mkdir {small} && mount -t tmpfs -o size=64k,mode=755 small {small}")
    host.run(f"mv {AUTHORIZED} {small}/keys && ln -s {small}/keys {AUTHORIZED}")
    host.run(f"chmod 640 {small}/keys && chown root:{USER} {small}/keys")
    host.run(f"echo 'from=\"10.0.0.0/8\" ssh-rsa {TIUP_KEY} tiup' >> {small}/keys")
    host.run(f"echo 'ssh-rsa {TIUP_KEY}longer other' >> {small}/keys")
    yield f"{small}/keys"
    host.run(f"rm -f {AUTHORIZED} && grep -v made/up {small}/keys > {AUTHORIZED}")
    host.run(f"chmod 644 {AUTHORIZED} && umount {small} && rmdir {small}")


def test_only_the_login_of_tiup_is_removed(fleet: TestFleet, logins: str) -> None:
    """Whole lines with exactly its key; link, owner and mode of the file stay."""
    host = fleet.hosts["kv-2"]
    lines = host.run(f"cat {logins}").stdout.splitlines()
    assert other(fleet, "login")._hosts.clean(TIUP_KEY) == {}
    left = host.run(f"cat {logins}").stdout.splitlines()
    assert left == [line for line in lines if TIUP_KEY not in line.split()]
    assert len(left) == len(lines) - 1
    assert host.run(f"stat -c '%U:%G %a' {logins}").stdout.strip() == f"root:{USER} 640"
    assert host.run(f"readlink {AUTHORIZED}").stdout.strip() == logins


@pytest.mark.fault(
    "a host's disk is full while its logins are changed",
    promise="its owner's logins stay, and another try removes the campaign's",
    of="disks",
)
def test_a_full_disk_does_not_lock_the_owner_out(fleet: TestFleet, logins: str) -> None:
    """The host is named, its logins stay as they are, and another try removes the one."""
    host, cluster = fleet.hosts["kv-2"], other(fleet, "login")
    before = host.run(f"cat {logins}").stdout
    folder = logins.rpartition("/")[0]
    host.run(f"head -c 1M /dev/zero > {folder}/filler 2> /dev/null", check=False)
    failed = cluster._hosts.clean(TIUP_KEY)
    assert [*failed] == ["kv-2"]
    assert "No space left" in failed["kv-2"]
    assert host.run(f"cat {logins}").stdout == before
    assert sorted(host.run(f"ls {folder}").stdout.split()) == ["filler", "keys"]
    host.run(f"rm {folder}/filler")
    assert cluster._hosts.clean(TIUP_KEY) == {}
    assert f"{TIUP_KEY} tiup" not in host.run(f"cat {logins}").stdout


@pytest.mark.fault(
    "a host is down while a cluster is removed",
    promise="the others are cleaned, and removing it again does the rest",
    of="hosts",
)
def test_a_host_that_is_down_is_named_and_the_others_are_cleaned(
    fleet: TestFleet, namespaces: Namespaces
) -> None:
    """When it is back, destroying again removes what is left."""
    before = fleet.logins()
    cluster = other(fleet, "down")
    cluster.deploy()
    (down,) = [host for host in fleet.fleet.hosts if host.name == "kv-2"]
    namespaces.set_link(down.address, up=False)
    try:
        with pytest.raises(TargetError, match="kv-2 could not be cleaned"):
            cluster.destroy()
        # On the client what TiUP knows of the cluster: the login that is still to be removed.
        assert [*fleet.left("down")] == ["kv-2", "client-1"]
    finally:
        namespaces.set_link(down.address, up=True)
    cluster.destroy()
    assert fleet.left("down") == {}
    assert fleet.logins() == before


def test_exporters_of_the_owner_stay(fleet: TestFleet) -> None:
    """TiUP removes those whose ports a cluster names, and waits until nothing listens there."""
    host, listens = fleet.hosts["kv-1"], "python3 -m http.server"
    units = [f"/etc/systemd/system/{name}.service" for name in EXPORTERS]
    host.run(f"mkdir -p /etc/systemd/system && touch {' '.join(units)}")
    for port in (9100, 9115):
        host.run(f"setsid {listens} {port} > /dev/null 2>&1 < /dev/null & echo $! > /run/{port}")
    ports = [f"ss -ltn | grep -q ':{port} '" for port in (9100, 9115)]
    host.run(f"until {' && '.join(ports)}; do sleep 0.1; done")
    cluster = other(fleet, "monitored")
    try:
        cluster.deploy()
        cluster.destroy()
        assert host.run(f"ls {' '.join(units)}").stdout.split() == units
    finally:
        host.run(f"rm -f {' '.join(units)}; kill $(cat /run/9100 /run/9115)", check=False)


def test_a_failed_deployment_leaves_the_units_of_others_alone(fleet: TestFleet) -> None:
    """Cleaning up goes by the units' names, which have nothing but a port in them."""
    host, unit = fleet.hosts["kv-2"], f"/etc/systemd/system/tikv-{OTHER.tikv}.service"
    host.run(f"echo 'ExecStart=/tidb-deploy/tikv/scripts/run_tikv.sh' > {unit}")
    assert other(fleet, "nothing")._hosts.clean("") == {}
    host.run(f"rm {unit}")


def test_a_cluster_of_the_owner_that_tiup_here_does_not_know_keeps_its_units(
    fleet: TestFleet,
) -> None:
    """TiUP names units by port alone, and would write over what another TiUP has deployed."""
    host = fleet.hosts["kv-2"]
    unit = f"/etc/systemd/system/tikv-{OTHER.tikv}.service"
    host.run(f"echo 'ExecStart=/tidb-deploy/tikv/scripts/run_tikv.sh' > {unit}")
    before = host.run(f"cat {unit}").stdout
    cluster = other(fleet, "foreign")
    try:
        with pytest.raises(BenchlabError, match=r"kv-2.*tikv-21160\.service .* another cluster"):
            cluster.deploy()
        cluster.destroy()
        assert host.run(f"cat {unit}").stdout == before
    finally:
        host.run(f"rm -f {unit}")


def test_a_port_that_another_cluster_has_is_named(
    fleet: TestFleet, sides: dict[Side, Cluster]
) -> None:
    """And that cluster stays as it is."""
    cluster = other(fleet, "conflict", ports=replace(OTHER, tidb_status=Ports().tidb_status))
    with pytest.raises(EngineError, match=r"(?s)port_conflict.*10080.*c1-baseline"):
        cluster.deploy()
    sides["baseline"].start()
    assert rows(sides["baseline"]) == ["1"]
    sides["baseline"].stop()
