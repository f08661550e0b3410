"""The results store on the databases that a team shares: MySQL protocol and PostgreSQL."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from upath import UPath

from benchlab.engines.mariadb import Engine
from benchlab.engines.server import Instance
from benchlab.errors import StoreError
from benchlab.home import Home
from benchlab.hosts.executor import LocalExecutor
from benchlab.hosts.samples import HostFigures
from benchlab.results.listing import Chosen
from benchlab.results.store import Store
from benchlab.studies.comparisons import Comparisons
from tests import postgresql as server
from tests.builders import campaigns, weekly
from tests.ports import free_port

PASSWORD = "s3cret/with@signs"
OLDER = "older"


@pytest.fixture(scope="module")
def mysql(servers: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real MariaDB that holds a store; its URL."""
    directory = tmp_path_factory.mktemp("mysql")
    executor = LocalExecutor(directory, "test-store-mysql")
    port = free_port()
    instance = Instance(
        side="baseline",
        version="10.11.5",
        parameters={},
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
        yield f"mysql+mysqldb://bench:s3cret%2Fwith%40signs@127.0.0.1:{port}/store"
    finally:
        engine.stop()
        executor.end_processes()


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """A real PostgreSQL that holds a store; its URL."""
    if (programs := server.programs()) is None:
        pytest.skip("PostgreSQL's server is not installed: `make setup-dev` installs it")
    with server.running(programs) as url:
        yield url


@pytest.fixture(params=["mysql", "postgresql"])
def url(request: pytest.FixtureRequest) -> str:
    """The URL of each kind of database."""
    found: str = request.getfixturevalue(request.param)
    return found


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


def test_a_store_of_an_older_benchlab_gets_its_new_columns(url: str, tmp_path: Path) -> None:
    """On a database server as in a file: what is there stays, new trials have all."""
    made = campaigns.campaign(id=f"old-{tmp_path.name}", rounds=1, threads=[4])
    old, new = (
        dataclasses.replace(campaigns.trial_result(trial), host_figures=())
        for trial in made.plan.trials[:2]
    )
    new = dataclasses.replace(
        new, hosts="x.hosts.csv", host_figures=(HostFigures("tikv-1", reason="“lost”"),)
    )
    with Store(url, UPath(tmp_path)) as store:
        store.add_campaign(made)
        store.add_trial(made.id, old)
        with store.database.engine.begin() as connection:
            for column in ("hosts", "host_figures"):
                connection.exec_driver_sql(f"ALTER TABLE trials DROP COLUMN {column}")
            connection.exec_driver_sql("ALTER TABLE gates DROP COLUMN kind")
    with Store(url, UPath(tmp_path)) as store:
        store.add_trial(made.id, new)
        assert store.trials(made.id) == [old, new]


def test_two_that_read_an_older_store_at_once_see_the_same(url: str, tmp_path: Path) -> None:
    """Both keep what lists and the long view need; neither fails, and nothing is kept twice."""
    with Store(url, UPath(tmp_path / "objects")) as store:
        weeks = weekly.Weeks(Home(weekly.ROOT, tmp_path), store)
        for week in range(4):
            weeks.add(report=OLDER, change=0.01 * week)
            weeks.add_aa(0.001 * week, report=OLDER)
        with store.transaction() as connection:
            for table in ("summaries", "kept"):
                connection.exec_driver_sql(f"DELETE FROM {table}")
        found: list[object] = []

        def look() -> None:
            with Store(url, store.objects) as own:
                listed = own.summaries(Chosen(report=OLDER))
                (overview,) = [one for one in own.reports() if one.newest in listed]
                assert (overview.campaigns, own.count(Chosen(state="running"))) == (8, 0)
                made = Comparisons(weeks.home, own)
                compared = made.all_compared(made.outlines(OLDER))
                found.append((listed, compared))

        both = [threading.Thread(target=look) for _ in range(2)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        look()
        assert len(found) == 3
        assert found[0] == found[1] == found[2]
        assert len(found[0][0]) == 8  # type: ignore[index]


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


def test_a_database_out_of_reach_is_named_without_its_password(tmp_path: Path) -> None:
    """The error says which database, and never shows the secret."""
    port = free_port()
    with pytest.raises(StoreError) as caught:
        Store(f"mysql+mysqldb://bench:hunter2@127.0.0.1:{port}/results", UPath(tmp_path))
    assert f"127.0.0.1:{port}/results" in str(caught.value)
    assert "hunter2" not in str(caught.value)
