"""`benchlab prune`: what is old goes, once it is wanted; what somebody may need stays."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchlab.campaign.pruning import KINDS, Pruning
from benchlab.errors import TargetError
from benchlab.results.records import State
from benchlab.results.store import Store
from tests.builders import campaigns
from tests.builders.findings import WORSE, publish
from tests.builders.installation import Here

OLD = timedelta(days=200)
SHA = "a" * 64
# Settings of which each shows by itself how deployments differ, so that no other calibrates it.
ALONE = {"deployments": 1}


@pytest.fixture
def store(here: Here) -> Iterator[Store]:
    """Its store."""
    with Store(here.home.store_url, here.home.objects) as opened:
        yield opened


def add(
    here: Here,
    store: Store,
    name: str,
    age: timedelta = OLD,
    state: State = "complete",
    **fields: Any,
) -> None:
    """A campaign that ended so long ago, with a profile, a statement and what a job left."""
    ended = datetime.now(UTC) - age
    made = campaigns.campaign(id=name, **{**ALONE, **fields})
    begun = ended - timedelta(hours=1)
    store.add_campaign(dataclasses.replace(made, started_at=begun, ended_at=ended, state=state))
    store.write_bytes(f"{name}/diagnosis/tidb-1.pb.gz", b"profile")
    store.write_bytes(f"{name}/diagnosis/statements.json", b"[]")
    store.write_bytes(f"{name}/r1.txt", b"raw")
    job = here.home.campaign(name) / "jobs" / "client-r1"
    job.mkdir(parents=True)
    (job / "output").write_text("x" * 1000)
    (job.parents[1] / "state.json").write_text("{}")


def left(here: Here, name: str) -> list[str]:
    """The files of a campaign, in its directory and among its objects."""
    places = (here.home.campaign(name), Path(str(here.home.objects)) / name)
    return sorted(path.name for of in places for path in of.rglob("*") if path.is_file())


ALL = ["output", "r1.txt", "state.json", "statements.json", "tidb-1.pb.gz"]
KEPT = ["r1.txt", "state.json", "statements.json"]


def build(here: Here, sha256: str = SHA, age: timedelta = OLD) -> Path:
    """A kept build."""
    path = here.home.builds / sha256
    (path / "files").mkdir(parents=True)
    (path / "files" / "mariadbd").write_bytes(b"x" * 500)
    kept_at = (datetime.now(UTC) - age).isoformat()
    note = {"sha256": sha256, "engine": "mariadb", "component": "mariadb", "version": "10.11.5"}
    note |= {"source": "here", "git_hash": "", "kept_at": kept_at}
    (path / "note.json").write_text(json.dumps(note))
    (here.home.builds / "0123.built").write_text(sha256)
    return path


def test_nothing_goes_before_it_is_wanted(here: Here, store: Store) -> None:
    """The table has kinds, campaigns, files and sizes; `--yes` removes just that."""
    add(here, store, "old")
    add(here, store, "young", timedelta(days=10))
    shown = here.run("prune", "--older-than", "90d")
    assert shown.returncode == 0, shown.stderr
    rows = [line.split() for line in shown.stdout.splitlines() if "old " in line]
    assert ["jobs", "old", "1", "0.0"] in rows
    assert ["profiles", "old", "1", "0.0"] in rows
    assert "nothing was removed; --yes removes it" in shown.stdout
    assert left(here, "old") == ALL
    done = here.run("prune", "--older-than", "90d", "--yes", "--json")
    document = json.loads(done.stdout)
    assert document["removed"]
    assert {(one["kind"], one["of"], one["files"], one["size"]) for one in document["found"]} == {
        ("profiles", "old", 1, 7),
        ("jobs", "old", 1, 1000),
    }
    assert left(here, "old") == KEPT
    assert left(here, "young") == ALL
    assert "nothing is that old" in here.run("prune", "--older-than", "90d").stdout


def test_evidence_of_an_open_finding_stays_until_it_is_settled(here: Here, store: Store) -> None:
    """New or known: somebody may still look for the reason."""
    add(here, store, "slower")
    publish(store, "slower", WORSE)
    for state, expected in (("new", ALL), ("known", ALL), ("wanted", KEPT)):
        if state != "new":
            store.findings.mark(1, state, "ann")  # type: ignore[arg-type]
        done = here.run("prune", "--older-than", "90d", "--yes")
        assert done.returncode == 0, done.stderr
        assert left(here, "slower") == expected, state
        assert ("1 campaign for an open finding" in done.stdout) == (expected == ALL)


def test_what_calibrates_stays(here: Here, store: Store) -> None:
    """A/A campaigns, and of each setting the latest twelve that show deployments."""
    add(here, store, "aa", sides="same")
    several: Any = {"rounds": 2, "deployments": 2}
    for number in range(14):
        add(here, store, f"c{number:02}", OLD - timedelta(days=number), **several)
    add(here, store, "other", OLD, **several, report="another")
    assert here.run("prune", "--older-than", "90d", "--yes").returncode == 0
    assert left(here, "aa") == left(here, "other") == ALL
    pruned = [f"c{number:02}" for number in range(14) if left(here, f"c{number:02}") == KEPT]
    assert pruned == ["c00", "c01"]


def test_a_campaign_at_work_is_left_alone(here: Here, store: Store) -> None:
    """One that runs, one that may hold hosts, and one that came to hold them meanwhile."""
    add(here, store, "runs", state="running")
    add(here, store, "holds")
    (here.home.campaign("holds") / "fleet.json").write_text("{}")
    add(here, store, "taken")
    pruning = Pruning(here.home, store, datetime.now(UTC) - timedelta(days=90))
    found = pruning.found(KINDS)
    assert {one.of for one in found} == {"taken"}
    (here.home.campaign("taken") / "rental.json").write_text("{}")
    for one in found:
        with pytest.raises(TargetError, match="taken: it may still hold hosts"):
            pruning.remove(one)
    for name in ("runs", "holds", "taken"):
        assert (here.home.campaign(name) / "jobs" / "client-r1" / "output").exists()


def test_a_build_goes_once_no_newer_campaign_and_no_report_type_uses_it(
    here: Here, store: Store
) -> None:
    """Nor a campaign that is kept; the record of what it was made of goes with it."""
    path = build(here)
    side = {"version": "10.11.5", "builds": {"mariadb": {"sha256": SHA}}}
    engines = {"mariadb": {"baseline": {"version": "10.2.11"}, "candidate": side}}
    add(here, store, "young", timedelta(days=10), engines=engines)
    add(here, store, "slower", engines=engines)
    publish(store, "slower", WORSE)
    prune = ("prune", "--older-than", "90d", "--yes", "builds")
    assert "nothing is that old" in here.run(*prune).stdout
    store.delete_campaign("young")
    assert "nothing is that old" in here.run(*prune).stdout, "of an open finding"
    store.findings.mark(1, "wanted", "ann")
    mine = here.home.configs / "reports" / "mine.yaml"
    mine.write_text(f"# sha256: {SHA}\n")
    assert "nothing is that old" in here.run(*prune).stdout, "of a report type"
    mine.unlink()
    young = build(here, "b" * 64, timedelta(days=1))
    said = here.run(*prune).stdout
    assert SHA in said
    assert not path.exists()
    assert young.exists()


def test_a_build_that_is_used_by_now_stays(here: Here, store: Store) -> None:
    """A campaign may begin with it after it was listed."""
    path = build(here)
    pruning = Pruning(here.home, store, datetime.now(UTC) - timedelta(days=90))
    (found,) = pruning.found(["builds"])
    side = {"version": "10.11.5", "builds": {"mariadb": {"sha256": SHA}}}
    engines = {"mariadb": {"baseline": {"version": "10.2.11"}, "candidate": side}}
    add(here, store, "begun", timedelta(), state="running", engines=engines)
    with pytest.raises(TargetError, match="uses it by now"):
        pruning.remove(found)
    assert (path / "note.json").exists()


def test_old_logs_go_with_the_folders_that_are_empty_then(here: Here) -> None:
    """Of services and of Airflow's tasks; what was written lately stays."""
    logs, airflow = here.home.root / "logs", here.home.root / "airflow" / "logs"
    old, new = airflow / "dag_id=x" / "run_id=1" / "attempt=1.log", logs / "setup.log"
    for path in (old, new, logs / "up.log"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    then = (datetime.now(UTC) - OLD).timestamp()
    for path in (old, logs / "up.log"):
        os.utime(path, (then, then))
    done = here.run("prune", "--older-than", "90d", "--yes", "logs")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in here.home.root.rglob("*.log")) == ["setup.log"]
    assert airflow.exists()
    assert not (airflow / "dag_id=x").exists()


def test_two_at_once_do_not_harm_each_other(here: Here, store: Store) -> None:
    """Each removes what it still finds, and neither fails because of the other."""
    for number in range(8):
        add(here, store, f"c{number}")
    build(here)
    before = datetime.now(UTC) - timedelta(days=90)
    prunings = [Pruning(here.home, store, before) for _ in range(4)]
    listed = [pruning.found(KINDS) for pruning in prunings]

    def remove(number: int) -> None:
        for one in listed[number]:
            prunings[number].remove(one)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(remove, range(4)))
    assert [left(here, f"c{number}") for number in range(8)] == [KEPT] * 8
    assert not (here.home.builds / SHA).exists()


def test_what_a_kill_left_is_removed_by_the_next(
    here: Here, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory is renamed first, so that nobody finds a half of it under its name."""
    add(here, store, "old")
    before = datetime.now(UTC) - timedelta(days=90)
    pruning = Pruning(here.home, store, before)
    (found,) = pruning.found(["jobs"])

    def killed(path: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            pruning.remove(found)
    assert not (here.home.campaign("old") / "jobs").exists()
    assert "output" in left(here, "old")
    done = here.run("prune", "--older-than", "90d", "--yes", "jobs")
    assert done.returncode == 0, done.stderr
    assert "output" not in left(here, "old")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--older-than", "3 months"), "write a number of days, such as 90d"),
        (("--older-than", "0d"), "write a number of days, such as 90d"),
        ((), "--older-than"),
        (("--older-than", "9d", "reports"), "reports"),
        (("--older-than", "9d", "--report", "good", "logs"), "logs belong to no report type"),
        (("--older-than", "9d", "--report", "good"), "no campaign of it"),
    ],
    ids=["months", "zero", "no-age", "no-kind", "logs-of-a-report-type", "unknown-report-type"],
)
def test_what_cannot_be_pruned_is_refused(
    here: Here, arguments: tuple[str, ...], said: str
) -> None:
    """In words, before anything is looked at."""
    done = here.run("prune", *arguments)
    assert done.returncode in (1, 2)
    assert said in " ".join(done.stderr.replace("│", " ").split())
