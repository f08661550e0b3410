"""Servers that exist: measured before and after an upgrade, refused where they must be."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from benchlab.campaign import overrides, report_types, stages
from benchlab.campaign.stages import CampaignRun
from benchlab.engines.given import Given, GivenTiDB
from benchlab.errors import BenchlabError, CommandError, TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.executor import LocalExecutor
from benchlab.hosts.server_login import ServerLogin, Tls
from benchlab.plan.fields.client import Client
from benchlab.targets.existing import Target
from benchlab.targets.haproxy import HAProxy
from benchlab.targets.target import Taken
from benchlab.workloads.client import Endpoint, Session
from benchlab.workloads.sysbench import Tables
from benchlab.workloads.sysbench_options import config_file_text, connection
from benchlab_airflow.local.airflow_home import AirflowHome
from tests.builders import given_server, plans
from tests.builders.given_server import GivenServer
from tests.builders.hostile_server import NATIVE, HostileServer
from tests.machine import LIMIT_S, PROJECT, Machine
from tests.ports import free_port

# Quotes of both kinds, and what is special in URIs, option files, connection strings and shells.
PASSWORD = "p;#%@\"'\\ü=/?$"
# Airflow's own package of secrets backends.
SECRETS = "airflow.secrets.local_filesystem"
SMALL = {
    "workloads": "oltp_update_index",
    "threads": "2",
    "rounds": "2",
    "seconds": "1",
    "warmup_seconds": "0",
    "dataset.tables": "1",
    "dataset.table_size": "500",
}


def settings(**changed: str) -> list[str]:
    """`--set` arguments of a small campaign, with changes."""
    values = {**SMALL, **changed}
    return [part for key, value in values.items() for part in ("--set", f"{key}={value}")]


def connect(machine: Machine, server: GivenServer, password: str = PASSWORD) -> None:
    """Define the Connection of the shipped report type as people do on the command line."""
    uri = f"mysql://bench:{quote(password, safe='')}@127.0.0.1:{server.port}"
    machine.environment["AIRFLOW_CONN_BENCHLAB_CLUSTER"] = uri


def run_dag(machine: Machine, campaign: str, port: int, folder: Path) -> None:
    """Run the shipped report type's DAG, with a Connection that only Airflow has."""
    airflow = AirflowHome(machine.here.root)
    airflow.ensure()
    own, poison = folder / "own-sysbench", folder / "bin/sysbench"
    poison.parent.mkdir(exist_ok=True)
    for path, text in ((own, f'exec {shutil.which("sysbench")} "$@"'), (poison, "exit 9")):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    connections = folder / "connections.json"
    server = {"conn_type": "mysql", "host": "127.0.0.1", "port": port}
    server |= {"login": "bench", "password": PASSWORD}
    connections.write_text(json.dumps({"benchlab_cluster": server}))
    report = machine.here.configs / "reports" / "sysbench_existing.yaml"
    if "client:" not in (text := report.read_text()):  # a form cannot choose a program
        report.write_text(f"{text}client: {{path: {own}, version: 1.0.20}}\n")
    typed = [f"{field}={value}" for field, value in SMALL.items()]
    log = airflow.root / f"{campaign}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [
                *(sys.executable, "-X", "faulthandler"),
                *("-m", "airflow", "dags", "test", "sysbench_existing"),
                *(datetime.now(UTC).isoformat(), "-c"),
                json.dumps({"campaign": campaign, "overrides": typed}),
            ],
            env={
                **airflow.environment(),
                "PATH": f"{poison.parent}:{os.environ['PATH']}",
                "AIRFLOW__SECRETS__BACKEND": f"{SECRETS}.LocalFilesystemBackend",
                "AIRFLOW__SECRETS__BACKEND_KWARGS": json.dumps(
                    {"connections_file_path": str(connections)}
                ),
            },
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:  # so that its log ends in what each thread waits for
            process.send_signal(signal.SIGABRT)
            process.wait()
    assert process.returncode == 0, log.read_text(errors="replace")[-6000:]


def test_a_cluster_is_measured_by_airflow_before_and_after_its_upgrade(
    machine: Machine, servers: Path, tmp_path: Path
) -> None:
    """Two DAG runs and a verdict; the server keeps nothing of them, and its owner's data.

    The client is the one that the report type names by its path, in loads and restores as well:
    the one on the PATH is broken.
    """
    (folder := tmp_path / "given").mkdir()
    with given_server.running(servers, folder, "10.2.11") as server:
        server.account("bench", PASSWORD)
        server.sql(
            "CREATE DATABASE shop; CREATE TABLE shop.orders (a INT);"
            "INSERT INTO shop.orders VALUES (7)"
        )
        schemas = server.sql("SHOW DATABASES")
        run_dag(machine, "before", server.port, tmp_path)
        server.upgrade("10.11.5")
        run_dag(machine, "after", server.port, tmp_path)
        assert server.sql("SHOW DATABASES") == schemas
        assert server.sql("SELECT a FROM shop.orders") == "7"
    for campaign, version in (("before", "10.2.11"), ("after", "10.11.5")):
        found, trials = machine.outcome(campaign)
        assert found.state == "complete"
        assert found.origin.startswith("Airflow run ")
        assert found.plan.sides["baseline"].version == version, "what the server says"
        assert [result.valid for result in trials] == [True, True]
        assert (machine.here.reports / campaign / "report.html").exists()
        assert machine.left_running(campaign) == []
    assert machine.holder() is None
    with closing(sqlite3.connect(machine.here.root / "airflow" / "airflow.db")) as airflow:
        notes = [note for (note,) in airflow.execute("SELECT content FROM dag_run_note")]
    assert ["measured alone, so there is no verdict" in note for note in notes] == [True, True]
    shown = " ".join(
        machine.run(
            "benchlab.cli.main", "compare", "--before", "before", "--after", "after"
        ).split()
    )
    assert "10.2.11" in shown
    assert "10.11.5" in shown
    assert "campaigns measured at different times, before and after, with nothing" in shown
    written = (path for path in machine.here.root.rglob("*") if path.is_file())
    assert not [path for path in written if PASSWORD.encode() in path.read_bytes()]


@pytest.mark.fault(
    "an existing server is upgraded in the middle of a campaign",
    promise="no trial mixes versions, and the campaign ends",
    of="servers",
)
def test_an_upgrade_in_the_middle_ends_the_campaign(
    machine: Machine, servers: Path, tmp_path: Path
) -> None:
    """A lost connection costs a trial, which is measured again; another version ends them all."""
    (folder := tmp_path / "given").mkdir()
    with given_server.running(servers, folder, "10.2.11") as server:
        server.account("bench", PASSWORD)
        connect(machine, server)
        longer = settings(seconds="4", rounds="3")
        process = machine.start(
            "benchlab.cli.main", "run", "sysbench_existing", "--campaign", "cut", *longer
        )
        machine.wait_for("cut", "run")
        cut_off(server)
        machine.wait_for("cut", "run", after=1)
        server.upgrade("10.11.5")
        printed, _ = process.communicate(timeout=120)
        assert process.returncode == 1, printed
        assert "sbtest" not in server.sql("SHOW DATABASES")
    campaign, trials = machine.outcome("cut")
    assert campaign.environment["stopped_by"] == "changed"
    assert not trials[0].valid
    assert len({result.trial.id for result in trials}) < len(campaign.plan.trials)


def test_the_plan_of_v21_against_v20_runs_on_clusters_that_exist(
    machine: Machine, servers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each server calls itself what the document measured, and is reached by its owner's HAProxy.

    Everything is the published plan's but how much is loaded, and how long it is measured.
    """
    # From TiDB's own function, which MariaDB has not.
    monkeypatch.setattr(GivenTiDB, "git_hash", lambda self: "0" * 40)
    logins = {}
    with ExitStack() as stack:
        for name, version in (("tidb_v20", "v2.0.6"), ("tidb_v21", "v2.1.0-rc.2")):
            (folder := tmp_path / name).mkdir()
            says = f"5.7.10-TiDB-{version}"
            server = stack.enter_context(
                given_server.running(servers, folder, "10.2.11", reports=says)
            )
            server.account("bench", PASSWORD)
            entry = stack.enter_context(haproxy(folder, server.port))
            logins[name] = ServerLogin(name, "127.0.0.1", entry, "bench", PASSWORD)
        path = machine.here.configs / "published" / "sysbench_v21_vs_v20.yaml"
        small = {"dataset.table_size": 100, "threads": [2], "seconds": 1}
        spec = overrides.override(report_types.load(path), small)
        with machine.store() as store:
            access = Access(server=logins.__getitem__)
            work = CampaignRun.create(
                machine.here,
                store,
                plans.to_run(machine.here, store, spec, access),
                "published",
                "a test",
                access,
            )
            paths = stages.run(work)
    campaign, trials = machine.outcome("published")
    assert campaign.state == "complete"
    assert [result.trial.side for result in trials] == ["baseline"] * 3 + ["candidate"] * 3
    assert all(result.valid for result in trials), [result.reasons for result in trials]
    found = {side: facts.version for side, facts in campaign.facts.items()}
    assert found == {
        "baseline": "5.7.10-TiDB-v2.0.6",
        "candidate": "5.7.10-TiDB-v2.1.0-rc.2",
    }
    text = paths[0].read_text(encoding="utf-8")
    assert "v2.0.6" in text
    assert "v2.1.0-rc.2" in text
    assert "HAProxy is yours" in text, "the report says what is not as in the document"


@contextmanager
def haproxy(folder: Path, port: int) -> Iterator[int]:
    """A cluster's HAProxy, which is its owner's; where it listens."""
    entry, executor = free_port(), LocalExecutor(folder, folder.name)
    backends = {"tidb1": f"127.0.0.1:{port}"}
    balancer = HAProxy(executor, folder, "127.0.0.1", entry, free_port(), backends, 100, 1)
    balancer.configure()
    balancer.start()
    try:
        yield entry
    finally:
        balancer.stop()


def cut_off(server: GivenServer) -> None:
    """Cut all connections of the client, once it has them: a process that starts has none yet."""
    threads = "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'bench' AND db > ''"
    deadline = time.monotonic() + LIMIT_S
    while int(server.sql(threads)) < int(SMALL["threads"]):
        assert time.monotonic() < deadline, "the client never connected"
    server.sql("KILL USER bench")


@pytest.fixture(scope="module")
def server(servers: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GivenServer]:
    """A server with TLS and somebody's schema."""
    folder = tmp_path_factory.mktemp("given")
    with given_server.running(servers, folder, "10.11.5", tls=True) as found:
        yield found


@pytest.fixture
def login(server: GivenServer) -> ServerLogin:
    """An account that may do everything."""
    server.account("bench", PASSWORD)
    return ServerLogin("my_db", "127.0.0.1", server.port, "bench", PASSWORD)


def target(tmp_path: Path, login: ServerLogin, campaign: str = "c1") -> Target:
    """A campaign's target on the server."""
    path = PROJECT / "configs" / "reports" / "sysbench_existing.yaml"
    here = Home(PROJECT, tmp_path)
    spec = report_types.load(path).with_overrides(
        {"engine": "mariadb", "engines.mariadb.baseline.version": "10.11.5"}
    )
    plan = plans.plan_in(here, spec, "mariadb", campaign)
    found = Target(here, campaign, plan, spec, Access(server=lambda name: login))
    found.client_program = "sysbench"
    return found


def preflight(tmp_path: Path, login: ServerLogin) -> None:
    """Check the server as a campaign does before it writes anything."""
    target(tmp_path, login).preflight()


@pytest.mark.parametrize(
    "password", [PASSWORD, "a'b c", 'a"b, c', "#x", " blank ", "漢字é", "\\n%40"]
)
def test_a_password_arrives_whatever_is_in_it(
    password: str, server: GivenServer, login: ServerLogin, tmp_path: Path
) -> None:
    """Both clients read it from files of their own, each with other rules."""
    server.account("bench", password)
    preflight(tmp_path, replace(login, password=password))


@pytest.mark.parametrize(
    "name", ["a#b", "c\\d", " e f ", 'g"h', "i;j=k", "l\\n", "#m", "[n]", "o$(p)", "漢é"]
)
@pytest.mark.parametrize("tls", [None, Tls()])
def test_an_account_is_who_its_name_says(
    name: str, tls: Tls | None, server: GivenServer, login: ServerLogin, tmp_path: Path
) -> None:
    """Whatever an option file would read into it; by the client of the trials as well."""
    server.sql(f"DROP USER 'bench'@'%'; CREATE USER bench_{os.getpid()}@'%'")
    server.account(name.replace("\\", "\\\\").replace("'", "''"), PASSWORD)
    try:
        preflight(tmp_path, replace(login, user=name, tls=tls))
    finally:
        server.sql("DELETE FROM mysql.global_priv WHERE host = '%'; FLUSH PRIVILEGES")


def test_no_password_goes_to_a_server_without_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not even told who logs in; and to one that offers none later, nobody sends it."""
    tls = Tls()
    with HostileServer([[b"x"]]) as hostile:
        login = ServerLogin("my_db", "127.0.0.1", hostile.port, "bench", "S3cret", tls)
        with pytest.raises(TargetError, match="the server offers no encrypted connection"):
            preflight(tmp_path, login)
        assert hostile.heard == []
        monkeypatch.setattr(Given, "_refuse_plain", lambda self: None)
        with pytest.raises(TargetError, match="logs in by sending its password"):
            preflight(tmp_path, login)
        endpoint = Endpoint("127.0.0.1", hostile.port, "bench", "S3cret", "sbtest", tls)
        (config := tmp_path / "sysbench.cnf").write_text(config_file_text(endpoint))
        session = Session(endpoint, str(config), Tables(tables=1, table_size=1), 1, Client())
        command = ["sysbench", "oltp_point_select", *connection(session), "--time=1", "run"]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        assert "error 5010" in done.stdout
        assert len(hostile.heard) >= 2
        assert [packet for packet in hostile.heard if b"S3cret" in packet] == []


def test_a_server_that_sends_without_end_is_refused(tmp_path: Path) -> None:
    """Neither the client nor Benchlab waits for the end, nor keeps what comes before it."""
    with HostileServer(itertools.repeat([b"x" * 100_000]), asks=NATIVE) as hostile:
        login = ServerLogin("my_db", "127.0.0.1", hostile.port, "bench", "S3cret", None)
        with pytest.raises(TargetError, match=r"on localhost: `mariadb .* more than 64 MB"):
            preflight(tmp_path, login)


def test_a_server_that_sends_millions_of_rows_is_refused(tmp_path: Path) -> None:
    """In memory each is a hundred times as long as it was sent."""
    with HostileServer(itertools.repeat([b""], 1_100_000), asks=NATIVE) as hostile:
        login = ServerLogin("my_db", "127.0.0.1", hostile.port, "bench", "S3cret", None)
        with pytest.raises(BenchlabError, match="more than 1,000,000 rows"):
            preflight(tmp_path, login)


def test_missing_rights_are_named(server: GivenServer, login: ServerLogin, tmp_path: Path) -> None:
    """The statement that grants them can be copied."""
    server.account("bench", PASSWORD, grant="SELECT, INSERT, UPDATE, DELETE, CREATE ON sbtest.*")
    with pytest.raises(TargetError, match=r"GRANT DROP, INDEX ON sbtest\.\* TO 'bench'@'%'"):
        preflight(tmp_path, login)


def test_rights_of_roles_count_if_a_trial_has_them(
    server: GivenServer, login: ServerLogin, tmp_path: Path
) -> None:
    """Those of default roles, whatever the account has by itself; no others."""
    server.account("bench", PASSWORD, grant="SELECT ON sbtest.*")
    server.sql(
        "CREATE OR REPLACE ROLE load_data; CREATE OR REPLACE ROLE measure;"
        "GRANT ALL ON `sb%`.* TO load_data; GRANT load_data TO measure; GRANT measure TO bench"
    )
    with pytest.raises(TargetError, match=r"lacks INSERT.*if it is one of the account's default"):
        preflight(tmp_path, login)
    server.sql("SET DEFAULT ROLE measure FOR bench")
    preflight(tmp_path, login)


@pytest.mark.fault(
    "a campaign is killed between making its schema on a server and marking it",
    promise="it goes on or gives back by itself; another campaign says what the owner can do",
    of="processes",
)
def test_an_interruption_before_the_mark_is_mended(
    server: GivenServer, login: ServerLogin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the campaign itself: it goes on, or gives back. Another one says what its owner can do."""
    own, other = target(tmp_path, login), target(tmp_path, login, "c2")

    def interrupted() -> None:
        def sql(statement: str, **options: Any) -> list[list[str]]:
            if statement.startswith("CREATE TABLE"):
                raise KeyboardInterrupt
            return Given.sql(engine, statement, **options)

        engine = own.engine("baseline")
        monkeypatch.setattr(engine, "sql", sql)
        own.preflight()
        with pytest.raises(KeyboardInterrupt):
            engine.create_database()

    interrupted()
    with pytest.raises(TargetError, match="if nobody needs it, DROP DATABASE sbtest"):
        other.preflight()
    own.preflight()
    own.engine("baseline").create_database()
    assert server.sql("SELECT campaign FROM sbtest.benchlab_campaign") == (
        f"c1/baseline/{own.home.mark}"
    )
    assert own.engine("baseline").remove()
    interrupted()
    assert own.give_back(Taken(own.home, "c1", Access())).endswith("1 schema dropped")
    assert "sbtest" not in server.sql("SHOW DATABASES")


def test_the_same_campaign_of_another_home_is_another_campaign(
    server: GivenServer, login: ServerLogin, tmp_path: Path
) -> None:
    """On another machine, say: it neither empties nor drops the schema that is being measured."""
    own, other = target(tmp_path / "a", login), target(tmp_path / "b", login)
    other.preflight()
    own.preflight()
    own.engine("baseline").create_database()
    server.sql("CREATE TABLE sbtest.sbtest1 (a INT)")
    how = rf"of campaign c1 of another home: .* home whose file `mark` says {own.home.mark},"
    with pytest.raises(TargetError, match=how):
        other.preflight()
    with pytest.raises(TargetError, match=how):
        other.engine("baseline").create_database()
    assert other.give_back(Taken(other.home, "c1", Access())).endswith("0 schemas dropped")
    assert server.sql("SHOW TABLES FROM sbtest LIKE 'sbtest1'") == "sbtest1"
    assert own.give_back(Taken(own.home, "c1", Access())).endswith("1 schema dropped")


@pytest.mark.parametrize(
    "content",
    ["CREATE TABLE sbtest.mine (a INT)", "CREATE FUNCTION sbtest.f() RETURNS INT RETURN 1"],
)
def test_what_came_into_an_unmarked_schema_is_left_alone(
    content: str, server: GivenServer, login: ServerLogin, tmp_path: Path
) -> None:
    """Whoever put it there, though the campaign had noted that it was about to make the schema."""
    own = target(tmp_path, login)
    own.preflight()
    engine = own.engine("baseline")
    note = engine.instance.directory / "making-schema"
    server.sql(f"CREATE DATABASE sbtest; {content}")
    try:
        note.touch()
        with pytest.raises(TargetError, match="was not created by Benchlab"):
            engine.create_database()
        assert not engine.remove()
        assert "sbtest" in server.sql("SHOW DATABASES")
    finally:
        server.sql("DROP DATABASE sbtest")


def test_a_schema_that_somebody_else_makes_first_is_not_the_campaigns(
    server: GivenServer, login: ServerLogin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even an empty one, at the very moment at which the campaign makes its own."""
    engine = (own := target(tmp_path, login)).engine("baseline")
    own.preflight()

    def sql(statement: str, **options: Any) -> list[list[str]]:
        if statement.startswith("CREATE DATABASE"):
            server.sql("CREATE DATABASE sbtest")
        return Given.sql(engine, statement, **options)

    monkeypatch.setattr(engine, "sql", sql)
    try:
        with pytest.raises(TargetError, match="somebody else has just created the schema"):
            engine.create_database()
        assert own.give_back(Taken(own.home, "c1", Access())).endswith("0 schemas dropped")
        assert "sbtest" in server.sql("SHOW DATABASES")
    finally:
        server.sql("DROP DATABASE sbtest")


def test_a_schema_of_which_only_the_answer_was_lost_is_dropped(
    server: GivenServer, login: ServerLogin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server had made it when the connection broke, and it is still empty."""
    engine = (own := target(tmp_path, login)).engine("baseline")
    own.preflight()

    def sql(statement: str, **options: Any) -> list[list[str]]:
        found = Given.sql(engine, statement, **options)
        if statement.startswith("CREATE DATABASE"):
            raise CommandError("here", "mariadb", 1, "ERROR 2013 (HY000): Lost connection")
        return found

    monkeypatch.setattr(engine, "sql", sql)
    with pytest.raises(TargetError, match="the connection was lost"):
        engine.create_database()
    assert "sbtest" in server.sql("SHOW DATABASES")
    assert own.give_back(Taken(own.home, "c1", Access())).endswith("1 schema dropped")
    assert "sbtest" not in server.sql("SHOW DATABASES")


def test_somebody_elses_schema_is_refused_and_stays(
    server: GivenServer, login: ServerLogin, tmp_path: Path
) -> None:
    """It has the same name and not the mark."""
    server.sql("CREATE DATABASE sbtest; CREATE TABLE sbtest.sbtest1 (mine INT)")
    try:
        with pytest.raises(
            TargetError, match="schema sbtest exists and was not created by Benchlab"
        ):
            preflight(tmp_path, login)
        Target.give_back(Taken(Home(PROJECT, tmp_path), "c1", Access()))
        assert server.sql("SHOW TABLES FROM sbtest") == "sbtest1"
    finally:
        server.sql("DROP DATABASE sbtest")


def test_an_encrypted_connection_is_made_or_refused(
    server: GivenServer, login: ServerLogin, tmp_path: Path
) -> None:
    """By the client of the trials as well; a certificate of another authority is not accepted."""
    server.sql("ALTER USER 'bench'@'%' REQUIRE SSL")
    with pytest.raises(TargetError, match="wants an encrypted connection"):
        preflight(tmp_path, login)
    own = server.folder / "server.cert"
    for tls in (Tls(), Tls(own)):
        preflight(tmp_path, replace(login, tls=tls))
    given_server.certificate(tmp_path / "other", "127.0.0.1")
    with pytest.raises(TargetError, match=r"certificate is not signed by extra\.ssl\.ca"):
        preflight(tmp_path, replace(login, tls=Tls(tmp_path / "other.cert")))
    given_server.certificate(server.folder / "server", "127.0.0.9")
    server.sql("FLUSH SSL")
    with pytest.raises(TargetError, match="certificate is of another host name"):
        preflight(tmp_path, replace(login, tls=Tls(own)))


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"host": "nowhere.invalid"}, "its host name does not resolve"),
        ({"port": 1}, "nothing answers at its host and port"),
        ({"password": "wrong"}, "the server refuses the account or its password"),
    ],
)
def test_a_server_that_cannot_be_reached_is_named_by_its_connection(
    change: dict[str, object], refused: str, login: ServerLogin, tmp_path: Path
) -> None:
    """In plain words, without the library's, and without the password."""
    with pytest.raises(TargetError) as error:
        preflight(tmp_path, replace(login, **change))  # type: ignore[arg-type]
    assert f"connection my_db): {refused}" in str(error.value)
    assert PASSWORD not in str(error.value)
