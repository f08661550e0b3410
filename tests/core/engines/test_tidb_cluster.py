"""What a cluster does to its hosts, in which order, and what it never does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from benchlab.engines.database import LEAST_FREE
from benchlab.engines.tidb import Engine
from benchlab.engines.tidb.cluster import Cluster, ClusterInstance
from benchlab.engines.tidb.status import WRITE_OUT
from benchlab.engines.tidb.tiup import TiUP
from benchlab.engines.tidb.topology import Ports
from benchlab.errors import CommandError, EngineError, SpecError, TargetError, UnavailableError
from benchlab.hosts.executor import Completed
from benchlab.hosts.fleet import Fleet, FleetHost, Role
from benchlab.plan.fields.builds import Build
from tests.builders import fakes

GOLDEN = Path(__file__).parents[2] / "golden" / "tiup"
PASSWORD = "hunter2"
GOOD = (0, "config check successful\n")
# The answer of a server that answers with an error.
SICK = "no leader"


@dataclass
class Log:
    """Everything that was run on any host, in order."""

    lines: list[str] = field(default_factory=list)
    commands: list[list[str]] = field(default_factory=list)

    def tiup(self) -> list[str]:
        """What TiUP was asked to do, in order."""
        return [line.split()[1] for line in self.lines if line.startswith("tiup ")]


class Host(fakes.FakeExecutor):
    """A host of a healthy cluster; ``answers`` replace what its servers say, by path, ``checks``
    what they say of their configuration, by component.
    """

    checks: Mapping[str, tuple[int, str]] = {}

    def __init__(self, name: str, log: Log, answers: Mapping[str, Any], broken: bool) -> None:
        super().__init__()
        self.host, self.all, self.answers, self.broken = name, log, answers, broken

    def run(
        self, command: Sequence[str], *, check: bool = True, stdin: str = "", **options: Any
    ) -> Completed:
        """See :class:`benchlab.hosts.executor.Executor`."""
        self.all.commands.append(list(command))
        if self.broken:
            raise CommandError(self.host, command[0], 255, "no route to host")
        exit_code, output = self._ended(list(command), stdin)
        if check and exit_code:
            raise CommandError(self.host, command[0], exit_code, output)
        return Completed(exit_code, output, "")

    def _ended(self, command: list[str], stdin: str) -> tuple[int, str]:
        if command[:2] == ["sh", "-s"]:
            assert "--config-check" in stdin
            self.all.lines.append(f"check {' '.join(command[3:])}")
            code, text = self.checks.get(command[4], GOOD)
            return 0, f"{text}\nexit code {code}" if code else text
        if command[0] == "sh":
            return 0, "/usr/bin/tiup\n" if "command -v" in command[2] else "/home/admin/.tiup\n"
        if command[0] == "/usr/bin/tiup":
            self.all.lines.append(f"tiup {command[2]}")
            return 0, '{"clusters": []}'
        if command[0] == "curl":
            urls = [word for word in command if word.startswith("http://")]
            return 0, "".join(self._answer(url) for url in urls)
        if command[0] == "mariadb":
            self.all.lines.append(f"sql {stdin}")
        if command[0] == "sudo":
            self.all.lines.append(f"root on {self.host}")
        return int(command[0] in ("test", "cat")), ""

    def _answer(self, url: str) -> str:
        path = "/" + url.removeprefix("http://").partition("/")[2]
        key = next(key for key in self.answers if path.endswith(key))
        mark = WRITE_OUT.replace("\\n", "\n")
        said = self.answers[key]
        code = "404" if said is None else "503" if said == SICK else "200"
        return json.dumps(said) + mark.replace("%{http_code}", code)


ANSWERS: dict[str, Any] = {
    "pd/api/v1/status": {"version": "v5.2.0", "git_hash": "bbb", "start_timestamp": 1},
    "/status": {"version": "5.7.25-TiDB-v5.2.0", "git_hash": "ccc"},
    "/info": {"ddl_id": "d"},
    "/health": [{"name": "pd-1", "health": True}],
    "/stores": {
        "stores": [
            {
                "store": {
                    "id": 1,
                    "address": "10.0.0.1:20160",
                    "version": "5.2.0",
                    "state_name": "Up",
                },
                "status": {"leader_count": 3},
            }
        ]
    },
    "/config": {"log": {"level": "error"}},
}


def fleet() -> Fleet:
    """One host with every server, one client."""
    roles: dict[str, tuple[Role, ...]] = {"kv-1": ("pd", "tikv", "tidb"), "client-1": ("client",)}
    return Fleet(
        tuple(
            FleetHost(name, of, f"10.0.0.{n}", f"10.0.0.{n}", "admin", "ssh-ed25519 A", Path("/d"))
            for n, (name, of) in enumerate(roles.items(), start=1)
        )
    )


def cluster(
    log: Log, *, answers: Mapping[str, Any] = ANSWERS, broken: Sequence[str] = (), **fields: Any
) -> Cluster:
    """A cluster on fake hosts; ``fields`` replace what is made up of it."""
    made: dict[str, Any] = {
        "side": "baseline",
        "version": "v5.2.0",
        "parameters": {"log.level": "error", "tidb_enable_1pc": 1},
        "components": {},
        "cluster_name": "c1-baseline",
        "directory": Path("/home/admin/c1/baseline"),
        "subdirectory": PurePosixPath("c1/baseline"),
        "ports": Ports(),
        "host": "10.0.0.1",
        "port": 4000,
        "max_connections": 100,
        "database": "sbtest",
        "password": PASSWORD,
        "tiup_key": Path("/home/admin/key"),
        "user": "admin",
    }
    hosts = {
        host.name: Host(host.name, log, answers, host.name in broken) for host in fleet().hosts
    }
    executor: Callable[[FleetHost], Host] = lambda host: hosts[host.name]  # noqa: E731
    return Cluster(fleet(), executor, ClusterInstance(**(made | fields)))


def test_a_deployment_begins_with_nothing_and_ends_with_an_account() -> None:
    """What was there is removed; servers do not come up with their hosts; root gets a password."""
    log = Log()
    cluster(log).deploy()
    assert log.tiup() == ["list", "deploy", "disable", "start"]
    sql = [line for line in log.lines if line.startswith("sql ") and "SELECT 1" not in line]
    (statements,) = sql
    assert "CREATE USER 'bench'@'%' IDENTIFIED BY 'hunter2'" in statements
    assert "SET GLOBAL tidb_enable_1pc = 1;" in statements
    assert statements.endswith("ALTER USER 'root'@'%' IDENTIFIED BY 'hunter2';")
    assert "log.level" not in statements
    assert log.lines.index("root on kv-1") < log.lines.index("tiup deploy")


def checks() -> dict[str, tuple[str, str, tuple[int, str]]]:
    """What real servers said of one item, by that item: component, key, exit code and text."""
    found = {}
    for part in (GOLDEN / "config_check.txt").read_text().strip().split("\n\n# "):
        head, *said, last = part.removeprefix("# ").splitlines()
        component = "tikv" if said[0].startswith("$ tikv-server") else head.split()[0].lower()
        table, key = re.findall(r"\[(\w+)\] (\S+)", head)[0]
        text = "\n".join(line for line in said if not line.startswith("$ "))
        code = int(last.rpartition(" ")[2])
        found[head.strip()] = (component, f"{table}.{key}", (code, text))
    return found


CHECKS = checks()
# Which of them say nothing: the item is right, or below `raftstore`, where TiKV passes over it.
SILENT = {"[raftstore] nonsense = 3", "[raftstore] store-pool-size = 3"}


@pytest.mark.parametrize("case", CHECKS)
def test_what_a_server_says_of_its_configuration_is_read(
    monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """PD and TiDB end with 0 whatever they find. The item, the component and its host are named,
    nothing is started, and what was deployed is removed.
    """
    component, key, said = CHECKS[case]
    monkeypatch.setattr(Host, "checks", {component: said})
    log = Log()
    made = cluster(log, components={component: {key: 3}}, parameters={})
    if case in SILENT:
        made.deploy()
        return
    with pytest.raises(EngineError) as caught:
        made.deploy()
    text = str(caught.value)
    assert f"{component} on kv-1 does not take its configuration ({key} = 3): " in text
    assert text.endswith("correct it in the report type")
    for part_of_a_program in ("config check successful", "panicked", "backtrace", "some_details"):
        assert part_of_a_program not in text
    assert "start" not in log.tiup()
    assert log.lines[-1] == "root on kv-1"


def test_every_server_checks_with_its_own_binary_what_it_will_start_with() -> None:
    """After a build is in its place; TiKV as TiUP lets it, with its data directory."""
    log = Log()
    built(log).deploy()
    root = "/d/c1/baseline"
    checked = [line for line in log.lines if line.startswith("check ")]
    assert checked == [
        f"check {root}/deploy/pd-2379 pd",
        f"check {root}/deploy/tikv-20160 tikv --pd  --data-dir {root}/data/tikv-20160",
        f"check {root}/deploy/tidb-4000 tidb",
    ]
    assert log.lines.index("tiup patch") < log.lines.index(checked[0])


@pytest.mark.parametrize(
    "said",
    ["", "[2026/11/26 18:55:41.126 +00:00] [INFO] [config.go:1] [read]\n", "<jemalloc>: x\n"],
)
def test_what_is_no_finding_stops_nothing(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """A version without that option says nothing; others say more than what they find."""
    monkeypatch.setattr(Host, "checks", {"tidb": (0, said)})
    cluster(Log()).deploy()


def test_a_check_that_fails_without_a_word_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its exit code, and all items that may be at fault."""
    monkeypatch.setattr(Host, "checks", {"tidb": (139, "")})
    refused = r"tidb on kv-1 .*\(log.level = error\): exit code 139"
    with pytest.raises(EngineError, match=refused):
        cluster(Log()).deploy()


def test_an_item_that_no_check_reports_is_found_in_what_the_server_has() -> None:
    """TiKV passes over what it does not know below `raftstore`: it is not in its `/config`."""
    made = cluster(Log(), components={"tikv": {"raftstore.nonsense": 3}}, parameters={})
    assert made.ineffective(made.variables()) == {"tikv.raftstore.nonsense": "no such setting"}


def test_what_tidb_writes_beside_its_log_lies_in_its_side_s_directory() -> None:
    """Nothing stays in /tmp; it is no setting that was asked for, and a changed one keeps it."""
    made = cluster(Log(), version="v6.5.0")
    made.deploy()
    made.with_components({"tikv": {"log.level": "debug"}}).configure()
    files = made.executor.files  # type: ignore[attr-defined]  # a fake
    written = [yaml.safe_load(files[path]) for path in files if path.suffix == ".yaml"]
    assert len(written) == 2
    for document in written:
        tidb = document["server_configs"]["tidb"]
        assert tidb["log.level"] == "error"
        assert tidb["temp-dir"].startswith("/d/c1/baseline/")
        assert tidb["tmp-storage-path"].startswith("/d/c1/baseline/")
        assert tidb["socket"] == ""
    assert not {key for key in made.requested() if "tmp" in key or "temp" in key}


OTHER = "8.0.11-TiDB-v9.0.0-beta.2.pre-1895-g5c91a2b"


def built(log: Log, *, answers: Mapping[str, Any] = ANSWERS, **build: Any) -> Cluster:
    """A cluster whose TiDB is a build."""
    made = Build(**{"sha256": "a" * 64, **build})
    return cluster(
        log,
        answers=answers,
        builds={"tidb": made},
        hashes={"tidb": made.expected},
        package=lambda component: Path(f"/here/{component}-{made.sha256}.tar.gz"),
    )


def test_a_build_is_in_place_before_the_cluster_first_starts() -> None:
    """Only its component is replaced, offline: nothing is started with the version's own."""
    log = Log()
    built(log).deploy()
    assert log.tiup() == ["list", "deploy", "patch", "disable", "start"]
    (patch,) = [command for command in log.commands if "patch" in command]
    package = f"/home/admin/c1/baseline/tidb-{'a' * 64}.tar.gz"
    assert patch[3:8] == ["c1-baseline", package, "-R", "tidb", "--offline"]


def test_what_the_servers_say_decides_whether_it_is_what_was_asked_for() -> None:
    """By its commit: its own name is another one. Another commit is named."""
    answers = {**ANSWERS, "/status": {"version": OTHER, "git_hash": "5c91a2b" + "0" * 33}}
    assert built(Log(), answers=answers, git_hash="5c91a2b").misfits() == []
    (fault,) = built(Log(), answers=answers, git_hash="f" * 40).misfits()
    assert fault.endswith(f"tidb on kv-1 is built from 5c91a2b{'0' * 33}, not from {'f' * 40}")
    assert built(Log(), answers=answers, git_hash="f" * 40).columns()["wrong_version_servers"] == 1
    (fault,) = cluster(Log(), answers=answers).misfits()
    assert fault.endswith(f"tidb on kv-1 is version {OTHER}, not v5.2.0")


@pytest.mark.parametrize(
    ("expected", "reported", "wrong"),
    [
        ("5c91a2b", "5c91a2b" + "0" * 33, 0.0),
        (None, "5c91a2b" + "0" * 33, None),
        ("5c91a2b", "Unknown git hash", None),
        (None, "None", None),
    ],
)
def test_a_build_without_a_commit_is_not_said_to_be_the_right_one(
    expected: str | None, reported: str, wrong: float | None
) -> None:
    """Nothing was compared, and the gate says so; whatever is wrong beside it still counts."""
    answers = {**ANSWERS, "/status": {"version": OTHER, "git_hash": reported}}
    made = built(Log(), answers=answers, git_hash=expected)
    assert made.columns()["wrong_version_servers"] == wrong
    answers["pd/api/v1/status"] = {"version": "v5.1.0"}
    assert (
        built(Log(), answers={k: answers[k] for k in ANSWERS}, git_hash=expected).columns()[
            "wrong_version_servers"
        ]
        == 1
    )


@pytest.mark.parametrize("same", [True, False])
def test_a_nightly_is_patched_only_where_tiup_has_another_one(
    monkeypatch: pytest.MonkeyPatch, same: bool
) -> None:
    """It is deployed by its alias, whose package may be an earlier one that TiUP has kept."""
    asked: list[tuple[str, str]] = []

    def has_package(self: TiUP, component: str, version: str, sha256: str | None) -> bool:
        asked.append((component, version))
        return same

    monkeypatch.setattr(TiUP, "has_package", has_package)
    log = Log()
    made = cluster(
        log,
        answers={**ANSWERS, "/status": {"version": OTHER, "git_hash": "5c91a2b"}},
        version="v9.0.0-beta.2.pre-nightly",
        builds={"tidb": Build(sha256="a" * 64, released="2026-11-20")},
        package=lambda component: Path("/here/tidb.tar.gz"),
        parameters={},
    )
    made.deploy()
    assert asked == [("tidb", "nightly")]
    assert ("patch" in log.tiup()) != same
    (deploy,) = [command for command in log.commands if "deploy" in command[2:3]]
    assert deploy[4] == "nightly"


def test_the_password_is_on_no_command_line() -> None:
    """Nor in what is shown of a cluster."""
    log = Log()
    made = cluster(log)
    made.deploy()
    assert PASSWORD not in json.dumps(log.commands)
    assert PASSWORD not in repr(made.instance)


def test_a_version_that_tiup_cannot_deploy_touches_no_host() -> None:
    """It is refused with the reason."""
    log = Log()
    with pytest.raises(UnavailableError, match=r"v2\.1\.0 cannot be deployed: TiUP's mirror"):
        cluster(log, version="v2.1.0").deploy()
    assert log.commands == []


def test_a_parameter_that_the_version_refuses_touches_no_host() -> None:
    """It is named with the side."""
    log = Log()
    with pytest.raises(SpecError, match=r"baseline .*raftstore\.sync-log.*gone from v5\.0\.0"):
        cluster(log, components={"tikv": {"raftstore.sync-log": False}}).deploy()
    assert log.commands == []


def test_a_running_cluster_is_not_started_again() -> None:
    """Nor is one that does not run stopped: TiUP takes seconds to say so."""
    log = Log()
    made = cluster(log)
    made.start()
    made.stop()
    assert log.tiup() == []


def test_the_other_hosts_are_cleaned_when_the_client_is_gone() -> None:
    """It is named, and what went wrong there."""
    log = Log()
    with pytest.raises(TargetError, match=r"(?s)client-1 could not be cleaned.*no route to host"):
        cluster(log, broken=["client-1"]).destroy()
    assert "root on kv-1" in log.lines


def test_a_parameter_is_compared_with_what_its_own_component_says() -> None:
    """An item of TiDB with TiDB's, one of TiKV with TiKV's."""
    made = cluster(Log(), components={"tikv": {"log.level": "debug"}, "pd": {"log.level": "error"}})
    assert made.ineffective(made.variables() | {"tidb_enable_1pc": "ON"}) == {
        "tikv.log.level": "error"
    }


def test_what_has_to_stay_free_on_a_disk_is_what_tikv_says() -> None:
    """Its reserve on its own hosts, as configured, but at least 5 % of the disk."""
    usual = cluster(Log())
    assert usual.least_free("kv-1", 40 * 2**30) == 5 * 2**30
    assert usual.least_free("kv-1", 1000 * 2**30) == 50 * 2**30
    assert usual.least_free("client-1", 1000 * 2**30) == LEAST_FREE
    off = cluster(Log(), components={"tikv": {"storage.reserve-space": "0KB"}})
    assert off.least_free("kv-1", 1000 * 2**30) == LEAST_FREE


def test_nothing_is_said_about_a_server_that_reports_no_configuration() -> None:
    """TiKV of v3.0 has no such route."""
    answers = {**ANSWERS, "/config": None}
    made = cluster(Log(), answers=answers, components={"tikv": {"log.level": "debug"}})
    assert made.ineffective(made.variables()) == {"tidb_enable_1pc": "no such setting"}


@pytest.mark.parametrize(
    ("component", "asked", "reported"),
    [
        ("tikv", "60s", "1m"),
        ("tikv", "90m", "1h30m"),
        ("tikv", "1500ms", "1s500ms"),
        ("tikv", "0.5ms", "500us"),
        ("tikv", "2d", "48h"),
        ("pd", "30m", "30m0s"),
        ("pd", "1h", "1h0m0s"),
        ("tidb", "1.5h", "1h30m0s"),
        ("tikv", "1.5GB", "1536MiB"),
        ("tikv", "2TB", "2TiB"),
        ("tikv", "1KB", "1KiB"),
        ("tikv", "1.1GB", "1181116006B"),
        ("tikv", 1048576, "1MiB"),
        ("pd", "8gb", "8GiB"),
    ],
)
def test_a_duration_or_size_is_the_same_however_a_server_writes_it(
    component: str, asked: object, reported: str
) -> None:
    """A correct parameter must not end a deployment that is being paid for."""
    answers = {**ANSWERS, "/config": {"log": {"level": "error"}, "some": {"item": reported}}}
    made = cluster(Log(), answers=answers, components={component: {"some.item": asked}})
    assert made.ineffective(made.variables() | {"tidb_enable_1pc": "1"}) == {}


@pytest.mark.parametrize(
    ("asked", "reported"),
    [
        ("60s", "60m"),
        ("1m", "1s"),
        ("1h", "1h0m1s"),
        ("1m", "1MiB0"),
        ("1.5GB", "1GiB"),
        ("2TB", "2GiB"),
        ("60s", "60"),
        ("s", "60s"),
        ("", "0s"),
    ],
)
def test_another_duration_or_size_is_without_effect(asked: str, reported: str) -> None:
    """It is named with what the server has."""
    answers = {**ANSWERS, "/config": {"log": {"level": "error"}, "some": {"item": reported}}}
    made = cluster(Log(), answers=answers, components={"tikv": {"some.item": asked}})
    found = made.ineffective(made.variables() | {"tidb_enable_1pc": "1"})
    assert found == {"tikv.some.item": reported}


def test_an_m_in_a_variable_is_not_a_minute() -> None:
    """Only configuration items have durations with units."""
    made = cluster(Log(), parameters={"tidb_mem_quota_query": "60s"})
    assert made.ineffective({"tidb_mem_quota_query": "1m"}) == {"tidb_mem_quota_query": "1m"}


def test_a_side_that_is_stopped_has_not_ended_even_where_nothing_of_it_was_at_work() -> None:
    """What was started is forgotten, so that its servers are not said to have ended later."""
    log = Log()
    cluster(log).stop()
    assert log.tiup() == []
    assert ["rm", "-f", "/home/admin/c1/baseline/started.json"] in log.commands


def test_a_host_that_does_not_answer_is_not_said_to_have_complained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its side does not start, why it does not answer is said beside."""

    def refused(tiup: TiUP, *arguments: str) -> None:
        raise CommandError("client-1", "tiup", 1, "timed out")

    monkeypatch.setattr(TiUP, "cluster", refused)
    answers = {**ANSWERS, "/health": SICK}
    with pytest.raises(EngineError, match="timed out") as caught:
        cluster(Log(), broken=["kv-1"], logs=tmp_path, answers=answers).start()
    assert "\nno server that could be read wrote a warning or an error\n" in str(caught.value)
    assert "\ntikv on kv-1 could not be read: " in str(caught.value)


@pytest.mark.parametrize("route", ["/health", "/config"])
def test_a_server_that_answers_with_an_error_has_ended(route: str) -> None:
    """It counts as gone: the trial must not count."""
    made = cluster(Log(), answers={**ANSWERS, route: SICK})
    assert not made.running()
    assert (made.columns()["ended_servers"] or 0) >= 1


@pytest.mark.parametrize(
    ("version", "items", "lag"),
    [
        ("v5.1.1", {}, 10.0),
        ("v5.2.0", {}, 0.0),
        ("v5.2.0", {"storage.flow-control.enable": False}, 10.0),
        ("v5.2.0", {"storage.flow-control.enable": True}, 0.0),
        ("v9.0.0-beta.2.pre-nightly", {}, 0.0),
    ],
)
def test_stalls_are_late_where_rocksdb_counts_them(
    version: str, items: dict[str, bool], lag: float
) -> None:
    """Flow control, in its place from v5.2.0 on, counts at once."""
    assert cluster(Log(), version=version, components={"tikv": items}).stall_lag_s() == lag


def test_what_cannot_be_read_of_a_cluster_is_an_error() -> None:
    """PD is there and does not report the stores: neither a good nor a missing figure."""
    made = cluster(Log(), answers={**ANSWERS, "/stores": SICK})
    assert made.running()
    with pytest.raises(EngineError, match=r"nothing answers .*/stores: .*HTTP 503"):
        made.columns()


@pytest.mark.parametrize(
    ("route", "answer", "said"),
    [
        ("pd/api/v1/status", {}, "status: the field version has to be a text, and is missing"),
        ("/config", [], r"config: the answer has to be an object, and is \[\]"),
        ("/stores", {"stores": [{}]}, "stores: the field store has to be an object"),
    ],
)
def test_the_server_whose_answer_cannot_be_read_is_named(
    route: str, answer: Any, said: str
) -> None:
    """By its host and the address that was asked."""
    made = cluster(Log(), answers={route: answer, **ANSWERS} | {route: answer})
    with pytest.raises(EngineError, match=rf"kv-1: http://10\.0\.0\.1:2379/pd/api/v1/{said}"):
        made.misfits()


def test_a_path_without_links_is_no_setting() -> None:
    """A server may report a resolved path; that the sides differ there means nothing."""
    reported = {"log": {"level": "error"}, "data-dir": "/mnt/nvme/c1/baseline/data/tikv-20160"}
    made = cluster(Log(), answers={**ANSWERS, "/config": reported})
    assert [one.config for one in made._census.instances()] == [{"log.level": "error"}] * 3


def test_an_engine_says_which_class_its_clusters_are_of() -> None:
    """They share name and errors that a client may meet; a cluster needs no caveat."""
    assert Engine.cluster is Cluster
    assert (Engine.name, Engine.retryable_errors) == (Cluster.name, Cluster.retryable_errors)
    assert Cluster.caveat is None
    assert Engine.caveat is not None
