"""A backup of store, objects and reports, made while a campaign runs, is put back whole."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchlab.results.backup import MANIFEST
from benchlab.results.store import Store
from tests.builders import campaigns, migrations
from tests.builders.installation import Here

TRIALS = 40


@pytest.fixture
def kept(stored: Here) -> Here:
    """An installation with a campaign, a report, a kept build and Airflow's secrets."""
    for name, text in (
        ("reports/c1/report.html", "<p>"),
        ("reports/.c2.a1b2/report.html", "half"),
        ("builds/5c91/tidb-server", "program"),
        ("airflow/password", "hunter22"),
        ("objects/c1/r1.txt", "raw"),
    ):
        path = stored.home.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (stored.home.root / "airflow" / "password").chmod(0o600)
    return stored


@pytest.fixture
def empty(tmp_path: Path) -> dict[str, str]:
    """The environment of an empty home."""
    return {"BENCHLAB_HOME": str(tmp_path / "new")}


@contextlib.contextmanager
def writing(here: Here) -> Iterator[threading.Event]:
    """A campaign stores trials, each after its object; the event: half of them are stored."""
    made = campaigns.campaign(id="live", rounds=TRIALS // 8, threads=[8, 16])
    half, stop = threading.Event(), threading.Event()

    def write() -> None:
        with Store(here.home.store_url, here.home.objects) as store:
            store.add_campaign(made)
            for number in range(100_000):
                if stop.is_set():
                    return
                trial = made.plan.trials[number % len(made.plan.trials)]
                attempt = 1 + number // len(made.plan.trials)
                name = store.write_bytes(f"live/{trial.id}-a{attempt}.txt", b"raw")
                result = campaigns.trial_result(trial, attempt=attempt)
                store.add_trial("live", dataclasses.replace(result, raw=name))
                if number == len(made.plan.trials):
                    half.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield half
    finally:
        stop.set()
        writer.join()


@pytest.mark.fault(
    "a backup is made while a campaign writes",
    promise="its rows are those of one moment, each with its object",
    of="results",
)
def test_a_backup_beside_a_campaign_that_runs_is_whole(
    kept: Here, tmp_path: Path, empty: dict[str, str]
) -> None:
    """The rows are those of one moment, and each has its object, whatever is written meanwhile."""
    with writing(kept) as half:
        assert half.wait(60)
        done = kept.run("backup", tmp_path / "backup")
        with Store(kept.home.store_url, kept.home.objects) as store:
            after = store.trials("live")
    assert done.returncode == 0, done.stderr
    said = kept.run("restore", tmp_path / "backup", **empty)
    assert said.returncode == 0, said.stderr
    home = tmp_path / "new"
    with contextlib.closing(sqlite3.connect(home / "results.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        named = connection.execute("SELECT raw FROM trials WHERE campaign = 'live'").fetchall()
        whole = (
            "SELECT COUNT(*) FROM trials JOIN definitions USING (campaign) WHERE campaign = 'live'"
        )
        assert connection.execute(whole).fetchone() == (len(named),)
    assert 0 < len(named) <= len(after)
    assert all((home / "objects" / name).read_bytes() == b"raw" for (name,) in named)
    assert (home / "reports" / "c1" / "report.html").read_text() == "<p>"


def test_a_restored_home_has_the_same_campaigns(
    kept: Here, tmp_path: Path, empty: dict[str, str]
) -> None:
    """What the command line says of them is the same; a backup can be read by its owner only."""
    assert kept.run("backup", tmp_path / "backup").returncode == 0
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o700
    assert kept.run("restore", tmp_path / "backup", **empty).returncode == 0
    assert kept.run("compare", "c1", **empty).stdout == kept.run("compare", "c1").stdout
    assert (tmp_path / "new" / "objects" / "c1" / "r1.txt").read_text() == "raw"
    assert not list((tmp_path / "new" / "reports").glob(".*"))


def test_a_campaign_that_is_sealed_is_backed_up_whole(
    kept: Here, tmp_path: Path, empty: dict[str, str]
) -> None:
    """Its objects are in its archive, and nothing is called missing."""
    made = campaigns.campaign(id="sealed")
    with Store(kept.home.store_url, kept.home.objects) as store:
        store.add_campaign(made)
        for trial in made.plan.trials:
            name = store.write_bytes(f"sealed/{trial.id}-a1.txt", b"raw")
            result = campaigns.trial_result(trial)
            store.add_trial("sealed", dataclasses.replace(result, raw=name))
        store.seal("sealed")
        lost = 2 * len(store.trials("c1"))
    (archive,) = (kept.home.root / "objects" / "sealed").iterdir()
    said = kept.run("backup", tmp_path / "backup").stdout
    assert f"missing before the backup: {lost} objects" in said, "those of the other campaign"
    assert kept.run("restore", tmp_path / "backup", **empty).returncode == 0
    (tmp_path / "backup" / "objects" / "sealed" / archive.name).unlink()
    (tmp_path / "other").mkdir()
    refused = kept.refused("restore", tmp_path / "backup", BENCHLAB_HOME=str(tmp_path / "other"))
    assert "is damaged" in refused


def test_builds_and_secrets_are_listed_and_copied_if_asked_for(
    kept: Here, tmp_path: Path, empty: dict[str, str]
) -> None:
    """With their permissions, and databases among them as of one moment."""
    metadata = kept.home.root / "airflow" / "airflow.db"
    with contextlib.closing(sqlite3.connect(metadata)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE dag (id TEXT)")
        connection.commit()
        said = kept.run("backup", tmp_path / "plain").stdout
        asked = ("--with", "airflow", "--with", "builds")
        assert kept.run("backup", tmp_path / "more", *asked).returncode == 0
    assert "not copied: airflow (0 MB; files that only this account can read: 1)" in said
    assert "not copied: builds (0 MB); --with builds copies it too" in said
    assert not (tmp_path / "plain" / "home" / "airflow").exists()
    assert kept.run("restore", tmp_path / "more", **empty).returncode == 0
    secret = tmp_path / "new" / "airflow" / "password"
    assert (secret.read_text(), stat.S_IMODE(secret.stat().st_mode)) == ("hunter22", 0o600)
    assert (tmp_path / "new" / "builds" / "5c91" / "tidb-server").read_text() == "program"
    with contextlib.closing(sqlite3.connect(tmp_path / "new" / "airflow" / "airflow.db")) as copy:
        assert copy.execute("SELECT name FROM sqlite_master").fetchall() == [("dag",)]
    assert "no directory 'bulids'" in kept.refused("backup", tmp_path / "b", "--with", "bulids")


def test_nothing_is_overwritten(kept: Here, tmp_path: Path, empty: dict[str, str]) -> None:
    """Neither an earlier backup nor a home that is in use, not even in part."""
    backup = tmp_path / "backup"
    assert kept.run("backup", backup).returncode == 0
    assert "is not empty: name a new directory" in kept.refused("backup", backup)
    assert "is inside" in kept.refused("backup", kept.home.root / "backup")
    before = sorted(kept.home.root.rglob("*"))
    assert "is there already" in kept.refused("restore", backup)
    assert sorted(kept.home.root.rglob("*")) == before
    (tmp_path / "new" / "reports" / "mine").mkdir(parents=True)
    refused = kept.refused("restore", backup, **empty)
    assert f"{tmp_path}/new/reports is there already" in refused
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["reports"]


def _without_an_object(backup: Path) -> None:
    (backup / "objects" / "c1" / "r1.txt").unlink()


def _without_a_trial(backup: Path) -> None:
    with contextlib.closing(sqlite3.connect(backup / "results.db")) as connection:
        connection.execute("DELETE FROM trials WHERE rowid = 1")
        connection.commit()


def _incomplete(backup: Path) -> None:
    (backup / MANIFEST).unlink()


def _with_another_manifest(backup: Path) -> None:
    (backup / MANIFEST).write_text(json.dumps({"benchlab": 1}))


def _without_its_database(backup: Path) -> None:
    (backup / "results.db").unlink()


DAMAGED = {
    "an object is missing": (_without_an_object, "damaged, and nothing was put back: objects: "),
    "a row is missing": (_without_a_trial, "damaged, and nothing was put back: trials: "),
    "it was interrupted": (_incomplete, "is not a complete backup"),
    "its manifest is wrong": (_with_another_manifest, "backup.json cannot be read: benchlab"),
    "its database is missing": (_without_its_database, "results.db is missing"),
}


@pytest.mark.fault(
    "a backup is damaged",
    promise="it is refused, and the home stays empty",
    of="results",
)
@pytest.mark.parametrize(("damage", "sentence"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_backup_is_refused_and_leaves_the_home_empty(
    kept: Here, tmp_path: Path, empty: dict[str, str], damage: Callable[[Path], None], sentence: str
) -> None:
    """So that the next backup can be put there."""
    assert kept.run("backup", tmp_path / "backup").returncode == 0
    damage(tmp_path / "backup")
    assert sentence in kept.refused("restore", tmp_path / "backup", **empty)
    assert [path for path in (tmp_path / "new").rglob("*") if path.is_file()] == []


def test_a_backup_of_another_revision_is_upgraded_or_refused(
    kept: Here, tmp_path: Path, empty: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older one is put back, and says what comes next; a newer one names its Benchlab."""
    assert kept.run("backup", tmp_path / "old").returncode == 0
    with monkeypatch.context() as later:
        migrations.let_there_be_a_second(later, tmp_path)
        assert "`benchlab store upgrade`" in kept.run("restore", tmp_path / "old", **empty).stdout
        assert kept.run("store", "upgrade", **empty).returncode == 0
        assert kept.run("backup", tmp_path / "new-one", **empty).returncode == 0
    shutil.rmtree(tmp_path / "new")
    assert "has revision 0002 of Benchlab" in kept.refused("restore", tmp_path / "new-one", **empty)
    assert not (tmp_path / "new" / "results.db").exists()


SERVERS = {
    "postgresql+psycopg2": "pg_dump --host=db --port=5432 --username=ann --format=custom "
    "--file={}/results.dump bench",
    "mysql+pymysql": "mysqldump --host=db --port=5432 --user=ann --password --single-transaction "
    "--result-file={}/results.dump bench",
}


@pytest.mark.parametrize(("driver", "command"), SERVERS.items(), ids=SERVERS)
def test_of_a_store_on_a_server_the_command_is_named_first(
    kept: Here, tmp_path: Path, driver: str, command: str
) -> None:
    """Without its password, and nothing is copied before the dump, which would miss its objects."""
    url = f"{driver}://ann:hunter22@db:5432/bench"
    refused = kept.refused("backup", tmp_path / "backup", BENCHLAB_STORE_URL=url)
    assert command.format(tmp_path / "backup") in refused
    assert "hunter22" not in refused
    assert list((tmp_path / "backup").iterdir()) == []


@pytest.mark.parametrize("name", ["home/..", "/etc", "home/../../x", "home", "", "objects/c1"])
def test_a_backup_that_names_what_is_not_its_own_is_refused(
    kept: Here, tmp_path: Path, empty: dict[str, str], name: str
) -> None:
    """Somebody else may have made it."""
    assert kept.run("backup", tmp_path / "backup").returncode == 0
    manifest = tmp_path / "backup" / MANIFEST
    said = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**said, "files": {**said["files"], name: 0}}))
    assert "is expected" in kept.refused("restore", tmp_path / "backup", **empty)
    assert not (tmp_path / "new").exists()


def test_links_that_lead_out_of_a_backup_are_not_put_back(
    kept: Here, tmp_path: Path, empty: dict[str, str]
) -> None:
    """A later report would be written to where they lead."""
    assert kept.run("backup", tmp_path / "backup").returncode == 0
    (tmp_path / "elsewhere").mkdir()
    reports = tmp_path / "backup" / "home" / "reports"
    (reports / "c2").symlink_to(tmp_path / "elsewhere")
    (reports / "c3").symlink_to("c1")
    assert kept.run("restore", tmp_path / "backup", **empty).returncode == 0
    there = {path.name for path in (tmp_path / "new" / "reports").iterdir()}
    assert there == {"c1", "c3"}
    shutil.rmtree(reports)
    reports.symlink_to(tmp_path / "elsewhere")
    again = {"BENCHLAB_HOME": str(tmp_path / "newer")}
    assert "leads out of the backup" in kept.refused("restore", tmp_path / "backup", **again)
