"""Servers that exist: measured before and after an upgrade, refused where they must be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from benchlab.campaign import planning, report_types
from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.server_login import ServerLogin, Tls
from benchlab.targets.existing import Target
from tests.builders import given_server
from tests.builders.given_server import GivenServer
from tests.machine import PROJECT, Machine

# Quotes of both kinds, and what is special in URIs, option files, connection strings and shells.
PASSWORD = "p;#%@\"'\\ü=/?$"
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


def measure(machine: Machine, campaign: str) -> str:
    """Run a small campaign of the shipped report type."""
    return machine.run(
        "benchlab.cli.main", "run", "sysbench_existing", "--campaign", campaign, *settings()
    )


def test_a_cluster_is_measured_before_and_after_its_upgrade(
    machine: Machine, servers: Path, tmp_path: Path
) -> None:
    """Two campaigns and a verdict; the server keeps nothing of them, and its owner's data."""
    (folder := tmp_path / "given").mkdir()
    with given_server.running(servers, folder, "10.2.11") as server:
        server.account("bench", PASSWORD)
        server.sql(
            "CREATE DATABASE shop; CREATE TABLE shop.orders (a INT);"
            "INSERT INTO shop.orders VALUES (7)"
        )
        schemas = server.sql("SHOW DATABASES")
        connect(machine, server)
        measure(machine, "before")
        server.upgrade("10.11.5")
        measure(machine, "after")
        assert server.sql("SHOW DATABASES") == schemas
        assert server.sql("SELECT a FROM shop.orders") == "7"
    for campaign, version in (("before", "10.2.11"), ("after", "10.11.5")):
        found, trials = machine.outcome(campaign)
        assert found.state == "complete"
        assert found.plan.sides["baseline"].version == version, "what the server says"
        assert [result.valid for result in trials] == [True, True]
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
        server.sql("KILL USER bench")
        machine.wait_for("cut", "run", after=1)
        server.upgrade("10.11.5")
        printed, _ = process.communicate(timeout=120)
        assert process.returncode == 1, printed
        assert "sbtest" not in server.sql("SHOW DATABASES")
    campaign, trials = machine.outcome("cut")
    assert campaign.environment["stopped_by"] == "changed"
    assert not trials[0].valid
    assert len({result.trial.id for result in trials}) < len(campaign.plan.trials)


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


def preflight(tmp_path: Path, login: ServerLogin) -> None:
    """Check the server as a campaign does before it writes anything."""
    path = PROJECT / "configs" / "reports" / "sysbench_existing.yaml"
    here = Home(PROJECT, tmp_path)
    spec = report_types.load(path).with_overrides(
        {"engine": "mariadb", "engines.mariadb.baseline.version": "10.11.5"}
    )
    plan = planning.plan(here, spec, "mariadb", "c1")
    target = Target(here, "c1", plan, spec, Access(server=lambda name: login))
    target.client_program = "sysbench"
    target.preflight()


@pytest.mark.parametrize(
    "password", [PASSWORD, "a'b c", 'a"b, c', "#x", " blank ", "漢字é", "\\n%40"]
)
def test_a_password_arrives_whatever_is_in_it(
    password: str, server: GivenServer, login: ServerLogin, tmp_path: Path
) -> None:
    """Both clients read it from files of their own, each with other rules."""
    server.account("bench", password)
    preflight(tmp_path, replace(login, password=password))


def test_missing_rights_are_named(server: GivenServer, login: ServerLogin, tmp_path: Path) -> None:
    """The statement that grants them can be copied."""
    server.account("bench", PASSWORD, grant="SELECT, INSERT, UPDATE, DELETE, CREATE ON sbtest.*")
    with pytest.raises(TargetError, match=r"GRANT DROP, INDEX ON sbtest\.\* TO 'bench'@'%'"):
        preflight(tmp_path, login)


def test_somebody_elses_schema_is_refused_and_stays(
    server: GivenServer, login: ServerLogin, tmp_path: Path
) -> None:
    """It has the same name and not the mark."""
    server.sql("CREATE DATABASE sbtest; CREATE TABLE sbtest.sbtest1 (mine INT)")
    try:
        with pytest.raises(
            TargetError, match="schema sbtest is there and was not made by Benchlab"
        ):
            preflight(tmp_path, login)
        Target.give_back(Home(PROJECT, tmp_path), "c1", Access())
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
