"""The results store on the databases that a team shares: MySQL protocol and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from upath import UPath

from benchlab.engines.mariadb import Engine
from benchlab.engines.server import Instance
from benchlab.errors import StoreError
from benchlab.hosts.executor import LocalExecutor
from benchlab.results import revisions
from benchlab.results.database import StoreDatabase
from benchlab.results.findings import Sought
from benchlab.results.records import Remarks
from benchlab.results.rows import METADATA
from benchlab.results.store import Store
from tests import postgresql as server
from tests.builders import campaigns, findings, migrations
from tests.ports import free_port

PASSWORD = "s3cret/with@signs"


@pytest.fixture(scope="module")
def mysql(servers: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real MariaDB that holds a store; its URL."""
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


def test_a_database_out_of_reach_is_named_without_its_password(tmp_path: Path) -> None:
    """The error says which database, and never shows the secret."""
    port = free_port()
    with pytest.raises(StoreError) as caught:
        Store(f"mysql+mysqldb://bench:hunter2@127.0.0.1:{port}/results", UPath(tmp_path))
    assert f"127.0.0.1:{port}/results" in str(caught.value)
    assert "hunter2" not in str(caught.value)
