"""The results store on the databases that a team shares: MySQL protocol and PostgreSQL."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest
import sqlalchemy as sa
from upath import UPath

from benchlab.engines.mariadb import Engine
from benchlab.engines.server import Instance
from benchlab.errors import AwayError, LockHeldError, StoreError
from benchlab.hosts.executor import LocalExecutor
from benchlab.patience import LIMIT_S, Patience
from benchlab.results import revisions
from benchlab.results.database import StoreDatabase
from benchlab.results.findings import Sought
from benchlab.results.records import Remarks
from benchlab.results.rows import CAMPAIGNS, METADATA
from benchlab.results.spending import Record
from benchlab.results.store import Store
from tests import postgresql as postgresql_server
from tests.builders import campaigns, findings, migrations
from tests.builders.installation import Here
from tests.ports import free_port

PASSWORD = "s3cret/with@signs"


class Server(Protocol):
    """A database server that can be stopped and started again."""

    def start(self) -> None:
        """Start it, and wait until it answers."""

    def stop(self) -> None:
        """End it with all its connections."""


@pytest.fixture(scope="module")
def mysql(servers: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Server]]:
    """A real MariaDB that holds a store, with its URL."""
    directory = tmp_path_factory.mktemp("mysql")
    executor = LocalExecutor(directory, "test-store-mysql")
    port = free_port()
    instance = Instance(
        side="baseline",
        version="10.11.5",
        parameters={"character-set-server": "latin1"},
        directory=directory / "results",
        host="127.0.0.1",
        port=port,
        status_port=0,
        max_connections=50,
        database="store",
        password=PASSWORD,
    )
    engine = Engine(executor, instance, servers)
    try:
        engine.deploy()
        engine.create_database()
        yield f"mysql+mysqldb://bench:s3cret%2Fwith%40signs@127.0.0.1:{port}/store", engine
    finally:
        engine.stop()
        executor.end_processes()


@pytest.fixture(scope="module")
def postgresql() -> Iterator[tuple[str, Server]]:
    """A real PostgreSQL that holds a store, with its URL."""
    if (programs := postgresql_server.programs()) is None:
        pytest.skip("PostgreSQL's server is not installed: `make setup-dev` installs it")
    with postgresql_server.server(programs) as run:
        yield run.url, run


@pytest.fixture(params=["mysql", "postgresql"])
def database(request: pytest.FixtureRequest) -> tuple[str, Server]:
    """Each kind of database, with its URL."""
    found: tuple[str, Server] = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def here(tmp_path: Path) -> Here:
    """An installation of the test's own."""
    return Here(tmp_path / "installation")


@pytest.fixture
def url(database: tuple[str, Server]) -> str:
    """The URL of each kind of database."""
    return database[0]


def test_a_campaign_comes_back_as_it_was_written(url: str, tmp_path: Path) -> None:
    """Plan, facts, samples and gates survive the database, to the last digit."""
    campaign = campaigns.campaign()
    results = campaigns.results_of(campaign.plan, tps=lambda trial: 1234.5678901234567)
    with Store(url, UPath(tmp_path)) as store:
        store.add_campaign(campaign)
        for result in results:
            store.add_trial(campaign.id, result)
    with Store(url, UPath(tmp_path)) as again:
        found = again.campaign(campaign.id)
        assert found == campaign
        assert again.trials(campaign.id) == results
        with pytest.raises(StoreError, match="is in the store already"):
            again.add_trial(campaign.id, results[0])


def test_ids_have_case_and_texts_any_letter(url: str, tmp_path: Path) -> None:
    """Whatever the server's defaults are."""
    note = Remarks("Größe 漢字 😀", ("Tag",))
    with Store(url, UPath(tmp_path)) as store:
        for name in ("case", "CASE"):
            store.add_campaign(campaigns.campaign(id=name))
        store.set_remarks("CASE", note)
    with Store(url, UPath(tmp_path)) as again:
        assert again.campaign("case").id == "case"
        assert again.remarks() == {"CASE": note}
        for name in ("case", "CASE"):
            again.delete_campaign(name)


def test_a_store_is_upgraded_from_revision_to_revision(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From nothing to this Benchlab's tables, and to a later one's, which this one then refuses.

    Nothing on a server is copied, which the person is told.
    """
    engine = sa.create_engine(url)
    Store(url, UPath(tmp_path)).close()
    new = migrations.tables(engine)
    with engine.begin() as connection:
        METADATA.drop_all(connection)
        revisions.CURRENT.drop(connection)
        migrations.from_nothing(connection)
    assert migrations.tables(engine) == new
    campaign, said = campaigns.campaign(id="upgraded"), list[str]()
    with Store(url, UPath(tmp_path)) as store:
        store.add_campaign(campaign)
    with monkeypatch.context() as later:
        migrations.let_there_be_a_second(later, tmp_path)
        with pytest.raises(StoreError, match="store upgrade"):
            Store(url, UPath(tmp_path))
        StoreDatabase(url, said.append).close()
        with Store(url, UPath(tmp_path)) as store:
            assert store.campaign("upgraded") == campaign
    assert [line.rpartition(": ")[2] for line in said] == [
        "make a backup of it first; a store on a server is not copied",
        "upgraded from revision 0001 to 0002",
    ]
    assert "with@signs" not in str(said)
    with pytest.raises(StoreError, match=f"0002 of Benchlab {revisions.own_version()}"):
        Store(url, UPath(tmp_path))
    with engine.begin() as connection:  # for the other tests
        METADATA.drop_all(connection)
        revisions.CURRENT.drop(connection)
    engine.dispose()


def test_two_who_publish_at_once_record_one_finding(url: str, tmp_path: Path) -> None:
    """Campaigns of one pair and of one baseline; what people say comes back as they said it."""
    names = [f"at-once-{number}" for number in range(4)]
    with Store(url, UPath(tmp_path)) as store:
        for name in names:
            versions = ("10.2.11", f"11.4.{int(name[-1]) // 2}")
            findings.add(store, name, {}, versions, report="at_once")
        findings.publish_at_once(url, names, findings.WORSE)
        (found,) = store.findings.found(Sought("at_once"))
        assert set(found.campaigns) == set(names)
        store.findings.mark(found.id, "noise", "Größe 漢字", "😀")
        store.findings.take_back(found.id, "ann")
        (again,) = store.findings.found(Sought("at_once", states=("new",)), 1)
        assert [(one.state, one.by, one.note) for one in again.history] == [
            ("noise", "Größe 漢字", "😀"), ("new", "ann", ""),
        ]  # fmt: skip
        assert store.findings.judgements(Sought("at_once", states=("noise",))) == []
        assert [one.state for one in store.findings.judgements(Sought("at_once"))] == ["new"]
        for name in names:
            store.delete_campaign(name)
        assert store.findings.found(Sought("at_once")) == []


def test_long_documents_are_not_cut(url: str, tmp_path: Path) -> None:
    """Several hundred variables are more than MySQL's TEXT holds."""
    facts = campaigns.side_facts(
        "10.2.11", variables={f"variable_{n}": "x" * 500 for n in range(400)}
    )
    campaign = campaigns.campaign(id="long")
    with Store(url, UPath(tmp_path)) as store:
        store.add_campaign(campaign)
        store.set_facts("long", "baseline", facts)
        assert store.campaign("long").facts["baseline"] == facts


def lose_it_in_a_transaction(store: Store, process: Server) -> None:
    """Stop a database between two statements."""
    with store.transaction() as connection:
        connection.execute(sa.select(CAMPAIGNS.c.id))
        process.stop()
        connection.execute(sa.select(CAMPAIGNS.c.id))


@pytest.mark.fault(
    "the database of results is stopped under a campaign",
    promise="it is waited for, up to 15 minutes, and no trial is lost",
    of="results",
)
def test_a_database_that_is_restarted_costs_a_campaign_nothing(
    database: tuple[str, Server], tmp_path: Path
) -> None:
    """Stopped under a campaign, between two tasks and in a transaction, it is waited for."""
    url, process = database
    pauses, back_after = list[float](), [2]

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == back_after[0]:
            process.start()

    campaign = campaigns.campaign(id="restarted", rounds=1, threads=[4])
    first, *others = campaigns.results_of(campaign.plan)
    try:
        with Store(url, UPath(tmp_path), Patience(LIMIT_S, sleep)) as store:
            store.add_campaign(campaign)
            process.stop()
            store.add_trial("restarted", first)
            assert pauses == [1, 2]
            with pytest.raises(AwayError):
                lose_it_in_a_transaction(store, process)
            back_after[0] = 3
            for result in others:
                store.add_trial("restarted", result)
            assert store.trials("restarted") == [first, *others]
        process.stop()
        with pytest.raises(AwayError):  # a person who asks for a list is told at once
            Store(url, UPath(tmp_path))
        back_after[0] = 4
        with Store(url, UPath(tmp_path), Patience(LIMIT_S, sleep)) as again:
            assert again.trials("restarted") == [first, *others]
            again.delete_campaign("restarted")
    finally:
        process.stop()
        process.start()  # for the other tests


def test_questions_in_sql_change_nothing_on_a_server(
    url: str, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the server would allow; numbers are numbers."""
    monkeypatch.setitem(here.environment, "BENCHLAB_STORE_URL", url)
    with Store(url, here.home.objects) as store:
        store.add_campaign(campaigns.campaign(id="asked"))
        query = "SELECT COUNT(*) AS n, AVG(1.5) AS mean FROM campaigns WHERE id LIKE 'ask%'"
        assert here.run("sql", query, "--csv").stdout == "n,mean\n1,1.5\n"
        for changing in (
            "WITH gone AS (DELETE FROM campaigns RETURNING id) SELECT id FROM gone",
            "SELECT id INTO mine FROM campaigns",
            "SELECT id FROM campaigns FOR UPDATE; COMMIT; DELETE FROM campaigns",
        ):
            assert here.refused("sql", changing)
        assert "asked" in store.campaign_ids()
        store.delete_campaign("asked")


def follow(said: str) -> None:
    """Do what a message says to do, with the password that the program would ask for."""
    found = re.search("`([a-z_]+ .+)`", said)
    assert found is not None, said
    if shutil.which(found[1].split()[0]) is None:
        pytest.skip(f"{found[1].split()[0]} is not installed")
    command, environment = found[1].replace("--password ", ""), {"MYSQL_PWD": PASSWORD}
    subprocess.run(["sh", "-c", command], check=True, env={**os.environ, **environment})


def test_a_store_on_a_server_is_backed_up_with_its_own_tools(
    url: str, here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands that are named dump and load it; the rest is copied and put back beside it."""
    monkeypatch.setitem(here.environment, "BENCHLAB_STORE_URL", url)
    to, empty = tmp_path / "backup", {"BENCHLAB_HOME": str(tmp_path / "new")}
    campaign = campaigns.campaign(id="dumped", rounds=1, threads=[4])
    with Store(url, here.home.objects) as store:
        store.add_campaign(campaign)
        name = store.write_bytes("dumped/r1.txt", b"raw")
        result = campaigns.trial_result(campaign.plan.trials[0])
        store.add_trial("dumped", dataclasses.replace(result, raw=name))
    follow(here.refused("backup", to))
    assert here.run("backup", to).returncode == 0
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        METADATA.drop_all(connection)
        revisions.CURRENT.drop(connection)
    engine.dispose()
    follow(here.refused("restore", to, **empty))
    done = here.run("restore", to, **empty)
    assert done.returncode == 0, done.stderr
    with Store(url, UPath(tmp_path / "new" / "objects")) as store:
        assert store.campaign("dumped") == campaign
        assert [store.read_bytes(trial.raw or "") for trial in store.trials("dumped")] == [b"raw"]
        store.delete_campaign("dumped")
    (to / "objects" / "dumped" / "r1.txt").unlink()
    assert "is damaged" in here.refused("restore", to, BENCHLAB_HOME=str(tmp_path / "other"))


def test_a_database_out_of_reach_is_named_without_its_password(tmp_path: Path) -> None:
    """The error says which database, and never shows the secret."""
    port = free_port()
    with pytest.raises(StoreError) as caught:
        Store(f"mysql+mysqldb://bench:hunter2@127.0.0.1:{port}/results", UPath(tmp_path))
    assert f"127.0.0.1:{port}/results" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_of_many_that_begin_at_once_as_many_do_as_the_month_pays_for(
    url: str, tmp_path: Path
) -> None:
    """On servers that let several write at the same time."""
    now, barrier = datetime(2026, 11, 28, tzinfo=UTC), threading.Barrier(4)

    def begin(name: str) -> bool:
        def fits(others: Sequence[Record]) -> None:
            if sum(one.held for one in others) + 60 > 150:
                raise LockHeldError("full")

        with Store(url, UPath(tmp_path)) as own:
            barrier.wait()
            try:
                own.spending.begin(Record(name, "weekly", "2026-11", now, now, 60.0), fits)
            except LockHeldError:
                return False
        return True

    Store(url, UPath(tmp_path)).close()
    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(begin, "abcd")) == 2
    with Store(url, UPath(tmp_path)) as store:
        assert sum(one.held for one in store.spending.of_month("2026-11")) == 120
