"""The engines write for their servers what was asked for, and nothing else."""

from __future__ import annotations

import functools
import os
import re
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.engines import mariadb, tidb
from benchlab.engines.database import is_version
from benchlab.engines.server import BaseEngine, Instance
from benchlab.engines.tidb import server as tidb_server
from benchlab.errors import CommandError, EngineError, UnavailableError
from benchlab.hosts.executor import TAG, JobStatus, LocalExecutor, end_tagged
from benchlab.language import Said
from benchlab.plan.fields.engines import Parameters, SideSpec
from benchlab.plan.report_type import Side
from tests.builders import fakes, plans

NO_SUCH, SILENT = "there is no MariaDB 99.9.9 on Maven Central", "Maven Central does not answer"
DIAL = "`tiup list tidb` failed: Error: dial tcp: lookup mirror: no such host"
SAMPLES: dict[str, type[BaseEngine]] = {"10.11.5": mariadb.Engine, "v6.5.0": tidb.Engine}
names = st.from_regex(r"[a-z][a-z0-9_]{0,5}([.-][a-z][a-z0-9_]{0,5}){0,2}", fullmatch=True)
values = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)


def instance(version: str, directory: Path, **fields: Any) -> Instance:
    """One side's server; ``fields`` replace what is made up."""
    made: dict[str, Any] = {
        "side": "candidate",
        "version": version,
        "parameters": {},
        "directory": directory / "candidate",
        "host": "127.0.0.1",
        "port": 13420,
        "status_port": 13430,
        "max_connections": 350,
        "database": "sbtest",
        "password": "hunter2",
        **fields,
    }
    return Instance(**made)


def answer_of(
    not_published: Callable[[str, Path], Said | None], version: str, servers: Path
) -> str | None:
    """What an engine says of a version, or why it could not be asked for."""
    try:
        said = not_published(version, servers)
        return None if said is None else str(said)
    except UnavailableError as error:
        return str(error)


def program(path: Path, script: str = "") -> Path:
    """A program; by default it does nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[str]:
    """A campaign whose processes are ended afterwards."""
    name = f"test-{os.getpid()}-{tmp_path.name}"
    yield name
    end_tagged(f"{TAG}={name}", grace_s=0)


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where every sample version is installed, as far as an engine looks."""
    for name in ("bin/mariadbd", "scripts/mariadb-install-db"):
        program(tmp_path / "servers" / "mariadb" / "10.11.5" / name)
    (tmp_path / "servers" / "mariadb" / "10.11.5" / mariadb.EMPTY).mkdir()
    for version in ("v6.5.0", "v6.1.0"):
        program(tmp_path / "tidb" / version / "tidb-server")
    monkeypatch.setenv("BENCHLAB_TIDB_HOME", str(tmp_path / "tidb"))
    monkeypatch.setenv("TIUP_HOME", str(tmp_path / "tiup"))
    return tmp_path / "servers"


def initialised(
    version: str, servers: Path, parameters: Parameters | None = None
) -> tuple[BaseEngine, str]:
    """An engine that has written its configuration, and the configuration."""
    executor = fakes.FakeExecutor(lambda command, stdin: "0" if command[0] == "id" else "")
    kind = mariadb.Engine if mariadb.Engine.owns(version) else tidb.Engine
    made = instance(version, servers.parent, parameters=parameters or {})
    engine: BaseEngine = kind(executor, made, servers)
    engine.initialise()
    (path,) = (p for p in executor.files if p.name in ("my.cnf", "tidb.toml"))
    return engine, executor.files[path]


# ---------------------------------------------------------------- both sides in one place


class Placed(fakes.FakeEngine):
    """A server that needs its side's directory."""

    _take_place = BaseEngine._take_place


def started(side: Side, directory: Path, campaign: str) -> BaseEngine:
    """A side's server, whose program writes into the directory that it was given."""
    kind = "server" if side == "baseline" else "server-of-another-length"
    script = f"echo {side} >> $1/data/{side}; exec sleep 600"
    path = program(directory / "bin" / kind, script)
    executor = LocalExecutor(directory, campaign)
    made = replace(instance("10.11.5", directory), side=side, directory=directory / side)
    engine = Placed(executor, made)  # type: ignore[arg-type]
    command = [str(path), str(engine.place)]
    vars(engine).update(server_command=lambda: (command, {}), wait_until_ready=lambda: None)
    engine.data.mkdir(parents=True, exist_ok=True)
    engine.start()
    while not any(engine.data.iterdir()):  # before anybody ends it
        time.sleep(0.005)
    return engine


@pytest.mark.parametrize("interrupted", ["before the link", "after the link"])
def test_a_sides_data_are_its_own_whatever_was_interrupted(
    tmp_path: Path, campaign: str, interrupted: str
) -> None:
    """Both reach their data by one path; what decides is the name of the side's own directory."""
    first = started("baseline", tmp_path, campaign)
    with pytest.raises(EngineError, match="the server of baseline still runs"):
        started("candidate", tmp_path, campaign)
    first.stop()
    first.place.unlink()
    if interrupted == "after the link":
        first.place.symlink_to("baseline")
    second = started("candidate", tmp_path, campaign)
    assert second.place == first.place
    for engine in (first, second):
        assert [path.name for path in engine.data.iterdir()] == [engine.instance.side]
    second.stop()


def test_the_last_output_of_a_server_that_ended_is_quoted_without_its_password(
    tmp_path: Path, campaign: str
) -> None:
    """It is in reasons and in the report."""
    executor, made = LocalExecutor(tmp_path, campaign), instance("10.11.5", tmp_path)
    engine = Placed(executor, made)  # type: ignore[arg-type]
    executor.start_job(engine.job, ["sh", "-c", f"echo refused {made.password}; exit 1"])
    while engine.running():
        time.sleep(0.005)
    (said,) = map(str, engine.ended_servers())
    told = "ended with exit code 1; the last lines of its log: refused (redacted)"
    assert said == f"fake on localhost {told}"


# ---------------------------------------------------------------- configuration


def test_mariadbs_configuration_says_what_was_asked_for(servers: Path) -> None:
    """Loopback, its own port, directory and socket, room for every client, every parameter."""
    _, text = initialised(
        "10.11.5", servers, {"innodb_buffer_pool_size": 268435456, "sync_binlog": False}
    )
    lines = text.splitlines()
    assert lines[0] == "[mysqld]"
    for line in (
        *("bind-address=127.0.0.1", "port=13420", "max_connections=350", "skip-ssl"),
        *("innodb_buffer_pool_size=268435456", "sync_binlog=OFF"),
        f"datadir={servers.parent}/server/data",
    ):
        assert line in lines
    assert "hunter2" not in text


@pytest.mark.parametrize("version", ["v6.1.0", "v6.5.0"])
def test_tidbs_configuration_says_what_was_asked_for(servers: Path, version: str) -> None:
    """Items become TOML, variables do not; telemetry is off; nothing lies outside its directory."""
    parameters: Parameters = {
        "performance.max-procs": 4,
        "log.level": "error",
        "pessimistic-txn.max-retry-count": 9,
        "mem-quota-query": 1 << 30,
        "tidb_enable_1pc": True,
    }
    _, text = initialised(version, servers, parameters)
    read = tomllib.loads(text)
    assert read["performance"] == {"max-procs": 4}
    assert read["log"]["level"] == "error"
    assert read["pessimistic-txn"] == {"max-retry-count": 9}
    assert read["mem-quota-query"] == 1 << 30
    assert read["enable-telemetry"] is False
    assert read["socket"] == ""
    assert "tidb_enable_1pc" not in text
    assert ("temp-dir" in read) == (version == "v6.5.0")  # v6.1 refuses the item
    for key in ("tmp-storage-path", "temp-dir"):
        assert str(read.get(key, servers.parent)).startswith(str(servers.parent))


@given(st.dictionaries(names.filter(lambda name: "." in name or "-" in name), values))
def test_any_parameter_that_is_accepted_reaches_tidb_as_it_is(parameters: Parameters) -> None:
    """Quotes, backslashes, blanks, other scripts, large and small numbers."""
    try:
        accepted = SideSpec(version="v6.5.0", parameters=parameters).parameters
    except ValueError:  # of two lines, for instance
        return
    tables = {key.rpartition(".")[0] for key in accepted}
    if tables & set(accepted):  # a name that is both a table and an item: TiDB's to refuse
        return
    executor = fakes.FakeExecutor()
    made = instance("v6.5.0", Path("/made/up"), parameters=accepted)
    tidb.Engine(executor, made, Path("/servers")).initialise()
    read = tomllib.loads(executor.files[Path("/made/up/candidate/tidb.toml")])
    for key, value in accepted.items():
        found: Any = read
        for part in key.split("."):
            found = found[part]
        assert found == value
        assert type(found) is type(value)


@given(st.dictionaries(names.filter(lambda name: "." not in name), values))
def test_no_parameter_breaks_out_of_mariadbs_configuration(parameters: Parameters) -> None:
    """One line each: no value adds an option or a section of its own."""
    try:
        accepted = SideSpec(version="10.11.5", parameters=parameters).parameters
    except ValueError:
        return
    made = instance("10.11.5", Path("/made/up"), parameters=accepted)
    engine = mariadb.Engine(fakes.FakeExecutor(), made, Path("/servers"))
    lines = engine._options(Path("/base")).split("\n")
    own = {"port", "socket", "datadir", "basedir", "tmpdir"}
    assert len(lines) == 3 + 8 + len(set(accepted) - own) + 1
    assert [line for line in lines if line.startswith("[")] == ["[mysqld]"]


@pytest.mark.parametrize("version", SAMPLES)
def test_no_password_is_on_the_servers_command_line(version: str, servers: Path) -> None:
    """Nor in its configuration, its environment or its name."""
    engine, text = initialised(version, servers)
    command, env = engine.server_command()
    assert "hunter2" not in " ".join([*command, *env.values(), text, repr(engine.instance)])
    assert str(engine.place) in " ".join(command)


@pytest.mark.parametrize("version", SAMPLES)
def test_deploying_keeps_the_password_private(version: str, servers: Path) -> None:
    """The client's option file is its owner's only, and SQL travels through standard input."""
    seen: list[str] = []

    def answer(command: Any, stdin: str) -> str:
        seen.append(stdin)
        return "0" if command[0] == "id" else ""

    executor = fakes.FakeExecutor(answer)
    engine = SAMPLES[version](executor, instance(version, servers.parent), servers)
    engine.deploy()
    assert engine.client_config in executor.private
    assert 'password="hunter2"' in executor.files[engine.client_config]
    assert not [line for line in executor.commands if "hunter2" in " ".join(line)]
    assert any("hunter2" in stdin for stdin in seen)


# ---------------------------------------------------------------- versions


@pytest.mark.parametrize(
    ("wanted", "reported", "same"),
    [
        ("10.2.11", "10.2.11-MariaDB", True),
        ("10.2.11", "10.2.11-MariaDB-log", True),
        ("10.2.1", "10.2.11-MariaDB", False),
        ("0.2.11", "10.2.11-MariaDB", False),
        ("10.2.11", "10.2.11.1-MariaDB", False),
        ("10.11.5", "5.5.5-10.11.5-MariaDB", True),
        ("v6.5.0", "5.7.25-TiDB-v6.5.0", True),
        ("v6.5.0", "5.7.25-TiDB-v6.5.01", False),
        ("v6.5.0", "5.7.25-TiDB-v16.5.0", False),
        ("v6.5.0", "8.0.11-TiDB-v6.5.1", False),
        ("v5.7.25", "5.7.25-TiDB-v6.5.0", False),
        ("v2.1.0-rc.2", "5.7.10-TiDB-v2.1.0-rc.2", True),
        ("v2.1.0-rc.2", "5.7.10-TiDB-v2.1.0-rc.21", False),
        ("v2.1.0", "5.7.10-TiDB-v2.1.0-rc.2", False),
        ("v9.0.0", "8.0.11-TiDB-v9.0.0-beta.1", False),
        ("v6.5.0", "5.7.25-TiDB-None", False),
        ("v6.5.0", "5.7.25-TiDB-v6.5.0-dirty", True),
        ("v6.5.0", "8.0.11-TiDB-v6.5.0-serverless", False),
        ("v6.5.0-serverless", "8.0.11-TiDB-v6.5.0-serverless", True),
    ],
)
def test_a_server_is_the_version_that_was_asked_for(wanted: str, reported: str, same: bool) -> None:
    """Another patch, a pre-release, or a number that merely begins alike is another version."""
    assert is_version(wanted, reported) == same


@pytest.mark.parametrize(
    ("asked", "effective", "same"),
    [
        (268435456, "268435456", True),
        ("256M", "268435456", True),
        ("1G", "1073741824", True),
        ("256M", "268435457", False),
        (True, "ON", True),
        (True, "1", True),
        (False, "OFF", True),
        ("off", "OFF", True),
        (True, "OFF", False),
        (1, "ON", True),
        (90.5, "90.500000", True),
        (90, "90.000000", True),
        (90.5, "90.510000", False),
        (0.8, "0.8", True),
        (100, "100", True),
        (100, "1", False),
        (10, "1", False),
        ("pessimistic", "pessimistic", True),
        ("1.10", "1.1", True),
        ("v1.10", "v1.1", False),
    ],
)
def test_a_parameter_is_in_effect_whatever_way_it_is_written(
    asked: Any, effective: str, same: bool
) -> None:
    """Servers print sizes in bytes, switches as ON, and numbers with trailing zeros."""
    made = instance("10.11.5", Path("/made/up"), parameters={"a_b": asked})
    engine = mariadb.Engine(fakes.FakeExecutor(), made, Path("/servers"))
    assert engine.ineffective({"a_b": effective}) == ({} if same else {"a_b": effective})


def test_a_parameter_that_a_server_does_not_have_is_named() -> None:
    """Misspelt, or gone in that version."""
    parameters: Parameters = {"no-such-thing": 1, "max-connections": 10}
    made = instance("10.11.5", Path("/made/up"), parameters=parameters)
    engine = mariadb.Engine(fakes.FakeExecutor(), made, Path("/servers"))
    assert engine.ineffective({"max_connections": "10"}) == {"no-such-thing": "no such setting"}


@pytest.mark.parametrize(("hashes", "wrong"), [({}, 0.0), ({"fake": None}, None)])
def test_a_build_of_one_server_that_says_no_commit_is_not_said_to_be_right(
    hashes: dict[str, str | None], wrong: float | None
) -> None:
    """A release is known by its version; the build by nothing that could be compared."""
    executor = fakes.FakeExecutor()
    made = instance("10.11.5", Path("/made/up"), hashes=hashes)
    engine = fakes.FakeEngine(executor, made)
    engine.start()
    assert engine.columns()["wrong_version_servers"] == wrong


# ---------------------------------------------------------------- having a version


def test_an_installed_server_is_said_to_be_and_where(servers: Path) -> None:
    """Nothing is fetched for it."""
    for version, kind in SAMPLES.items():
        found = kind.availability(version, servers)
        assert found.available
        assert "installed" in str(found.how)
        assert version in str(found.how)
        executor = fakes.FakeExecutor(
            lambda command, stdin, v=version: f"Release Version: {v}\n"  # type: ignore[misc]
        )
        kind.install(executor, version, servers)
        assert not [command for command in executor.commands if command[-1] != "-V"]


def test_system_tables_that_cannot_be_made_are_named_with_their_place(servers: Path) -> None:
    """An installation that is another account's; nothing half-made stays."""
    (servers / "mariadb" / "10.11.5" / mariadb.EMPTY).rmdir()

    def refuse(command: Sequence[str], stdin: str) -> str:
        if command[0] == "mkdir":
            raise CommandError("localhost", "mkdir", 1, "Permission denied")
        return ""

    executor = fakes.FakeExecutor(refuse)
    with pytest.raises(UnavailableError, match=r"10\.11\.5: its system tables.*account"):
        mariadb.Engine.install(executor, "10.11.5", servers)
    assert executor.commands[-1][:2] == ["rm", "-rf"]


def test_a_server_that_can_be_fetched_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With Maven for MariaDB and TiUP for TiDB."""
    program(tmp_path / "bin" / "mvn")
    program(tmp_path / "bin" / "tiup", "echo 'v6.5.0    2022-12-29  linux/amd64'")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("TIUP_HOME", str(tmp_path))
    monkeypatch.delenv("BENCHLAB_TIDB_HOME", raising=False)
    assert "Maven" in str(mariadb.Engine.availability("10.11.5", tmp_path).how)
    found = tidb.Engine.availability("v6.5.0", tmp_path)
    assert found.available
    assert "TiUP" in str(found.how)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'Error: dial tcp: lookup mirror: no such host' >&2; exit 1", "no such host"),
        ("echo 'v6.1.0    2022-06-13  linux/amd64'", "mirror does not have it"),
        ("sleep 60", "did not answer"),
    ],
)
def test_a_tiup_whose_mirror_does_not_offer_the_version_cannot_fetch_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str
) -> None:
    """Then `engine: auto` takes the next engine, and says why."""
    program(tmp_path / "bin" / "tiup", script)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("TIUP_HOME", str(tmp_path))
    monkeypatch.delenv("BENCHLAB_TIDB_HOME", raising=False)
    monkeypatch.setattr(tidb_server, "ASK_MIRROR_LIMIT_S", 1.0)
    found = tidb.Engine.availability("v6.5.0", tmp_path)
    assert not found.available
    assert "TiDB v6.5.0" in str(found.how)
    assert why in str(found.how)


def test_how_to_get_what_is_missing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each message names the version, the missing tool and the way out."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TIUP_HOME", str(tmp_path))
    monkeypatch.setenv("BENCHLAB_TIDB_HOME", str(tmp_path))
    how = str(mariadb.Engine.availability("10.11.5", tmp_path).how)
    assert re.search("10.11.5.*mvn.*make setup", how)
    how = str(tidb.Engine.availability("v6.5.0", tmp_path).how)
    assert re.search("v6.5.0.*BENCHLAB_TIDB_HOME/v6.5.0/tidb-server.*tiup", how)


def test_a_tidb_that_cannot_be_executed_is_not_taken(servers: Path) -> None:
    """A file without its permission is no server; TiUP's own copy is found instead."""
    (servers.parent / "tidb" / "v6.5.0" / "tidb-server").chmod(0o644)
    path = program(servers.parent / "tiup" / "components" / "tidb" / "v6.5.0" / "tidb-server")
    assert str(path) in str(tidb.Engine.availability("v6.5.0", servers).how)


def test_a_version_that_maven_does_not_have_is_an_error_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the versions that were tried, and the line in which Maven says why, in plain text."""

    def answer(command: Any, stdin: str) -> str:
        if command[0] == "mvn":
            said = "\x1b[0m[ERROR] Could not find artifact\n[ERROR] Re-run Maven with -e"
            raise CommandError("fake", "mvn", 1, said)
        return ""

    program(tmp_path / "mvn")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnavailableError) as caught:
        mariadb.Engine.install(fakes.FakeExecutor(answer), "10.99.0", tmp_path / "servers")
    for part in ("10.99.0", "10.2.11, 10.11.5, 11.4.5", "Could not find artifact"):
        assert part in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert "Re-run" not in str(caught.value)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo '[ERROR] Could not find artifact a:b:pom:99.9.9 in central'; exit 1", NO_SUCH),
        ("echo '[ERROR] a:b:pom:99.9.9 was not found in central before'; exit 1", NO_SUCH),
        ("echo '[ERROR] Could not transfer artifact: Unknown host'; exit 1", SILENT),
        ("exec sleep 600", SILENT),
        ("true", None),
    ],
)
def test_only_a_repository_that_answers_says_that_a_version_does_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str | None
) -> None:
    """Without a network nobody knows, which is said; what is installed is there whatever Maven
    says.
    """
    if "sleep" in script:
        monkeypatch.setattr(mariadb, "ASK_LIMIT_S", 0.1)
    program(tmp_path / "bin" / "mvn", script)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    servers = tmp_path / "servers"
    assert answer_of(mariadb.Engine.not_published, "99.9.9", servers) == says
    program(servers / "mariadb" / "99.9.9" / "bin" / "mariadbd")
    assert mariadb.Engine.not_published("99.9.9", servers) is None


@pytest.mark.parametrize(
    "answer", ["true", "echo Could not find artifact; exit 1", "echo Unknown host; exit 1"]
)
def test_maven_is_asked_once_while_a_page_is_filled_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    """Which asks at every change, also before there is an answer; a good while later once more."""
    asked = tmp_path / "asked"
    program(tmp_path / "bin" / "mvn", f"echo again >> {asked}; sleep 0.1; {answer}")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setattr(mariadb, "ANSWER_S", float("inf"))
    with ThreadPoolExecutor(3) as pool:
        ask = functools.partial(answer_of, mariadb.Engine.not_published, "11.8.2", tmp_path)
        said = set(pool.map(lambda _: ask(), range(3)))
    assert (len(said), asked.read_text()) == (1, "again\n")
    monkeypatch.setattr(mariadb, "ANSWER_S", 1e-9)
    assert ask() in said
    assert asked.read_text() == "again\n" * 2


@pytest.mark.parametrize(
    ("script", "is_refused"),
    [
        ("echo 'v6.5.0    2022-12-29  linux/amd64'", True),
        ("echo 'Error: dial tcp: lookup mirror: no such host' >&2; exit 1", False),
    ],
)
def test_only_a_mirror_that_answers_says_that_a_version_does_not_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, is_refused: bool
) -> None:
    """A nightly is not in its list, and is no version that does not exist."""
    program(tmp_path / "bin" / "tiup", script)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("TIUP_HOME", str(tmp_path))
    monkeypatch.delenv("BENCHLAB_TIDB_HOME", raising=False)
    said = answer_of(tidb.Engine.not_published, "v99.9.9", tmp_path)
    assert said == ("TiUP's mirror has no TiDB v99.9.9" if is_refused else DIAL)
    assert answer_of(tidb.Engine.not_published, "v6.5.0", tmp_path) == (
        None if is_refused else DIAL
    )
    assert tidb.Engine.not_published("v9.0.0-alpha-nightly", tmp_path) is None


# ---------------------------------------------------------------- what all share


def test_a_server_that_ends_while_starting_is_quoted() -> None:
    """Its exit code and its last output are in the error."""
    executor = fakes.FakeExecutor(
        program=lambda job, command: (JobStatus("complete", 1), "InnoDB: cannot lock ibdata1\n")
    )
    plan = plans.plan()
    engine = fakes.FakeDeployment(plan, executor).engine("baseline")
    with pytest.raises(EngineError, match=r"(?s)baseline .*exit code 1.*cannot lock ibdata1"):
        engine.start()


def test_an_analysis_that_failed_is_an_error() -> None:
    """A side would plan its queries without statistics."""
    answers = {"a": "sbtest.a\tanalyze\tstatus\tOK", "b": "sbtest.b\tanalyze\tError\tno such table"}
    executor = fakes.FakeExecutor(lambda command, stdin: answers[stdin.rpartition(".")[2]])
    made = instance("10.11.5", Path("/made/up"))
    engine = mariadb.Engine(executor, made, Path("/servers"))
    engine.analyze(["a"])
    with pytest.raises(EngineError, match="ANALYZE TABLE b: no such table"):
        engine.analyze(["a", "b"])


def test_a_checksum_distinguishes_datasets() -> None:
    """Rows and hashes of every table are in it, by table."""
    executor = fakes.FakeExecutor(lambda command, stdin: f"10\t{len(stdin)}")
    made = instance("10.11.5", Path("/made/up"))
    engine = mariadb.Engine(executor, made, Path("/servers"))
    first, second = engine.checksum(["sbtest1"]), engine.checksum(["sbtest1", "sbtest10"])
    assert first.startswith("sbtest1:10:")
    assert second != first
    assert len(second.split()) == 2


@pytest.mark.parametrize("version", SAMPLES)
def test_a_server_that_is_gone_is_an_error_with_a_way_out(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removed between planning and running: `benchlab install` brings it back."""
    monkeypatch.setenv("TIUP_HOME", str(tmp_path))
    monkeypatch.setenv("BENCHLAB_TIDB_HOME", str(tmp_path))
    engine = SAMPLES[version](fakes.FakeExecutor(), instance(version, tmp_path), tmp_path / "none")
    with pytest.raises(UnavailableError, match="benchlab install"):
        engine.server_command()


def test_only_one_line_parameters_are_accepted() -> None:
    """The report type refuses what could not be written into a configuration."""
    with pytest.raises(ValueError, match=r"parameters\.a"):
        SideSpec(version="10.11.5", parameters={"a": "1\n[client]"})
