"""A store is upgraded from one revision to the next, or refused with what to do."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa
from upath import UPath

from benchlab.errors import StoreError
from benchlab.results import revisions
from benchlab.results.store import Store
from tests.builders import campaigns, migrations
from tests.builders.installation import Here

CAMPAIGN = campaigns.campaign(rounds=1, threads=[4])


@pytest.fixture
def stored(here: Here) -> Here:
    """An installation with a store of the first revision, with one campaign."""
    with store_of(here) as store:
        store.add_campaign(CAMPAIGN)
        store.add_trial("c1", campaigns.trial_result(CAMPAIGN.plan.trials[0]))
    return here


def store_of(here: Here) -> Store:
    """The store of an installation."""
    return Store(here.home.store_url, here.home.objects)


def columns(file: Path, table: str) -> list[str]:
    """The columns of a table."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def test_the_revisions_make_the_tables_of_this_benchlab(tmp_path: Path) -> None:
    """Each on the one before, from nothing: with all columns, keys and indices of a new store."""
    migrated, new = (sa.create_engine(f"sqlite:///{tmp_path}/{name}.db") for name in ("a", "b"))
    Store(str(new.url), UPath(tmp_path)).close()
    with migrated.begin() as connection:
        migrations.from_nothing(connection)
    assert migrations.tables(migrated) == migrations.tables(new)
    migrated.dispose()
    new.dispose()


def test_an_older_store_is_refused_until_it_is_upgraded(
    stored: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command copies it first; what was in it is in both, and who upgraded it is noted."""
    migrations.let_there_be_a_second(monkeypatch, tmp_path)
    file = stored.home.root / "results.db"
    with pytest.raises(StoreError, match=r"has revision 0001, .* needs 0002: .*store upgrade"):
        store_of(stored)
    done = stored.run("store", "upgrade")
    assert done.returncode == 0, done.stderr
    copy = file.with_name("results.db.revision-0001")
    assert f"copied to {copy}" in done.stdout
    assert "upgraded from revision 0001 to 0002" in done.stdout
    assert "mood" in columns(file, "campaigns")
    assert "mood" not in columns(copy, "campaigns")
    with store_of(stored) as store, store.transaction() as connection:
        assert store.campaign("c1") == CAMPAIGN
        assert len(store.trials("c1")) == 1
        noted = connection.exec_driver_sql("SELECT revision, benchlab FROM revisions").all()
    assert noted == [("0001", revisions.own_version()), ("0002", revisions.own_version())]
    with contextlib.closing(sqlite3.connect(copy)) as before:
        assert before.execute("SELECT id FROM campaigns").fetchall() == [("c1",)]
    assert stored.run("store", "upgrade").stdout == "nothing to upgrade\n"


def test_an_upgrade_that_fails_changes_nothing(
    stored: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it happens, or nothing."""
    failing = f"{migrations.SECOND}    op.execute('no such statement')\n"
    migrations.let_there_be_a_second(monkeypatch, tmp_path, failing)
    done = stored.run("store", "upgrade")
    assert done.returncode == 1
    assert 'near "no": syntax error' in done.stderr
    assert "mood" not in columns(stored.home.root / "results.db", "campaigns")


def test_a_store_that_is_not_there_is_not_made_by_an_upgrade(here: Here) -> None:
    """A plan or `make demo` makes it, of the newest revision."""
    assert here.run("store", "upgrade").stdout == "nothing to upgrade\n"
    assert not (here.home.root / "results.db").exists()


def test_a_newer_store_is_refused_with_the_version_that_made_it(stored: Here) -> None:
    """It is neither read nor upgraded nor held open."""
    file = stored.home.root / "results.db"
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("INSERT INTO revisions VALUES ('0007', '3.4.5', 'later')")
        connection.execute("UPDATE benchlab_revision SET version_num = '0007'")
    said = r"has revision 0007 of Benchlab 3\.4\.5; .* use Benchlab 3\.4\.5 or a newer one"
    with pytest.raises(StoreError, match=said):
        store_of(stored)
    assert str(file) not in [opened.path for opened in psutil.Process().open_files()]
    done = stored.run("store", "upgrade")
    assert (done.returncode, "Benchlab 3.4.5" in done.stderr) == (1, True)


def test_another_programs_table_is_not_written_into(here: Here) -> None:
    """A database in which something else has its trials."""
    file = here.home.root / "results.db"
    file.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE trials (lawyer TEXT)")
    with pytest.raises(StoreError, match="has a table trials that no release of Benchlab made"):
        store_of(here)
    assert columns(file, "trials") == ["lawyer"]
