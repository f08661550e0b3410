"""Campaigns and evidence of a release are read by every later one, and say what they said.

``stored/1.0.0/`` has real campaigns of two MariaDB releases (sysbench, an A/A campaign, one that
was slowed down on purpose, TPC-C), a fleet's and fourteen weeks of simulated ones. Only figures are
compared: sentences may become better. What 1.0.0 made stays as it is; until it is released,
``python -m tests.golden.remake`` writes it anew.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import os
import re
import shutil
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from upath import UPath

from benchlab.analysis.verdict.compare import verdicts_of
from benchlab.campaign.outcome import Comparer
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import BenchlabError
from benchlab.language import load
from benchlab.plan.rates import Size, StepTime
from benchlab.report.evidence import contents
from benchlab.report.evidence.verify import verify
from benchlab.results.records import Failure, Remarks
from benchlab.results.rows import FINDING_CAMPAIGNS, FINDING_ENTRIES, FINDINGS
from benchlab.results.spending import Record
from benchlab.results.store import Store
from benchlab.site import campaign as campaign_page
from benchlab.site import campaigns, findings, history, overview, side_by_side, trial
from benchlab.site.page import Site, render
from tests.builders import campaigns as made_by
from tests.builders import plans
from tests.builders.installation import Here
from tests.builders.migrations import from_nothing, tables

STORED = Path(__file__).parent / "stored/1.0.0"
CAMPAIGNS = sorted(path.stem for path in (STORED / "compare").glob("*.json"))
BUNDLES = sorted(path.name for path in STORED.glob("*.evidence.zip"))
# Keys whose values are sentences, or lists of them.
SENTENCES = {"reasons", "sentence", "notes", "title", "caveat", "text", "why", "engine_reason"}


@contextmanager
def engine_of(path: Path) -> Iterator[sa.Engine]:
    """SQLite's file as a database that tests look into."""
    engine = sa.create_engine(f"sqlite:///{path}")
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Here:
    """An installation with the store of the release, upgraded to this Benchlab's revision."""
    installation = Here(tmp_path_factory.mktemp("stored"))
    root = installation.home.root
    with tarfile.open(STORED / "store.tar.xz") as archive:
        archive.extractall(root, filter="data")
    with sqlite3.connect(root / "results.db") as database:
        database.executescript((root / "results.sql").read_text(encoding="utf-8"))
    database.close()
    done = installation.run("store", "upgrade")
    assert done.returncode == 0, done.stderr
    return installation


def test_a_store_of_the_release_becomes_what_a_new_one_is(here: Here, tmp_path: Path) -> None:
    """Its first revision is frozen: a change of the schema is a further revision."""
    with engine_of(here.home.root / "results.db") as kept:
        upgraded = tables(kept)
    with engine_of(tmp_path / "new.db") as new:
        with new.begin() as connection:
            from_nothing(connection)
        assert upgraded == tables(new)


def figures(document: Any, at: str = "") -> dict[str, Any]:
    """All values of a JSON document by their place, without sentences."""
    if isinstance(document, dict):
        inner = {f"{at}.{key}": value for key, value in document.items() if key not in SENTENCES}
    elif isinstance(document, list):
        inner = {f"{at}[{number}]": value for number, value in enumerate(document)}
    else:
        return {at: document}
    return {
        place: leaf for key, value in inner.items() for place, leaf in figures(value, key).items()
    }


def assert_same(found: dict[str, Any], agreed: dict[str, Any]) -> None:
    """Every figure that was there is there, with the same value to nine digits."""
    assert not agreed.keys() - found.keys()
    for place, value in agreed.items():
        if isinstance(value, float):
            assert math.isclose(found[place], value, rel_tol=1e-9, abs_tol=1e-12), place
        elif not (isinstance(value, str) and " " in value):
            assert found[place] == value, place


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_a_stored_campaign_compares_as_it_did(here: Here, campaign: str) -> None:
    """Estimates, intervals, p values, verdicts and gates."""
    done = here.run("compare", campaign, "--json")
    assert done.returncode == 0, done.stderr
    path, found = STORED / "compare" / f"{campaign}.json", json.loads(done.stdout)["report"]
    if os.environ.get("BENCHLAB_UPDATE_GOLDEN"):
        path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    agreed = json.loads(path.read_text(encoding="utf-8"))
    assert_same(figures(found), figures(agreed))


@pytest.mark.parametrize("campaign", CAMPAIGNS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_stored_campaign_renders(here: Here, campaign: str, language: str) -> None:
    """Its report names both versions, and its CSV has every thread count of every workload."""
    agreed = json.loads((STORED / "compare" / f"{campaign}.json").read_text(encoding="utf-8"))
    page = here.run("render", campaign, "--lang", language)
    assert page.returncode == 0, page.stderr
    for side in agreed["sides"].values():
        assert side["version"] in page.stdout
    table = here.run("render", campaign, "--format", "csv")
    assert table.returncode == 0, table.stderr
    found = {(row["workload"], row["threads"]) for row in csv.DictReader(io.StringIO(table.stdout))}
    assert found == {
        (workload["name"], str(cell["threads"]))
        for workload in agreed["workloads"]
        for cell in workload["cells"]
    }


@pytest.mark.parametrize("name", BUNDLES)
def test_kept_evidence_verifies(here: Here, name: str) -> None:
    """Every figure is recomputed and nothing differs; pages are of the Benchlab that wrote them.

    Gates that were defined since the trials were measured did not judge them.
    """
    if os.environ.get("BENCHLAB_UPDATE_GOLDEN"):
        campaign = name.removesuffix(".evidence.zip")
        assert here.run("publish", campaign).returncode == 0
        shutil.copy(here.home.reports / campaign / "evidence.zip", STORED / name)
    found = verify(STORED / name)
    assert not found.differences, found.lines()
    assert found.checked["samples"] >= found.checked["trials"] > 0
    assert found.checked["gates"] > 0
    told = ("another Benchlab", "as gates/ defines it")
    assert all(any(why in gap for why in told) for gap in found.unverified), found.unverified


@pytest.mark.parametrize("campaign", ["golden-sysbench", "golden-tpcc"])
def test_evidence_of_a_stored_campaign_has_a_kit_of_one_pair(here: Here, campaign: str) -> None:
    """With versions, data and the command of its real client; and the bundle holds."""
    assert here.run("publish", campaign).returncode == 0
    path = here.home.reports / campaign / "evidence.zip"
    with zipfile.ZipFile(path) as archive:
        page = archive.read("reproduce/README.md").decode()
        made = json.loads(archive.read("campaign.json"))
    for side in made["plan"]["sides"].values():
        assert side["version"] in page
    assert "sysbench" in page
    assert "--mysql-host=$host" in page
    assert made["facts"]["baseline"]["dataset_checksum"] in page
    found = verify(path)
    assert not found.differences, found.lines()


def test_the_long_view_of_stored_campaigns_is_as_it_was(here: Here) -> None:
    """The chain of fourteen weeks has its levels, and its one change point at the eighth."""
    done = here.run("history", "oltp_point_select", "--report", "sysbench_test", "--json")
    assert done.returncode == 0, done.stderr
    path = STORED / "history.json"
    if os.environ.get("BENCHLAB_UPDATE_GOLDEN"):
        path.write_text(done.stdout, encoding="utf-8")
    texts = done.stdout, path.read_text(encoding="utf-8")
    found, agreed = (figures(json.loads(text)) for text in texts)
    gone = {place for place in agreed if "acknowledg" in place}
    assert_same(found, {place: value for place, value in agreed.items() if place not in gone})


def test_a_sealed_campaign_reads_as_before(here: Here, tmp_path: Path) -> None:
    """One file is left of 24, and a smaller one; a trial's page and its evidence are the same."""
    shutil.copytree(here.home.root / "objects" / OTHER, tmp_path / OTHER)
    path, gates = here.home.root / "results.db", here.home.configs / "quality"

    def shown(store: Store) -> tuple[str, bytes]:
        site = Site(here.home, store, load("en"), datetime(2026, 1, 1, tzinfo=UTC))
        page = render(site, trial.trial(site, OTHER, TRIAL, 1))
        return page, contents.make(store, OTHER, {}, gates=gates)

    with Store(f"sqlite:///{path}", UPath(tmp_path)) as store:
        before, files = shown(store), list((tmp_path / OTHER).iterdir())
        size = sum(file.stat().st_size for file in files)
        store.seal(OTHER)
        (archive,) = (tmp_path / OTHER).iterdir()
        assert len(files) == 24
        assert archive.stat().st_size < size
        assert shown(store) == before


DAMAGED, OTHER = "golden-slowed", "golden-sysbench"
TRIAL = "r1-candidate-oltp_point_select-t2"
# No JSON and no time; JSON of other kinds; a time that cannot be compared.
DAMAGES = ("x", "", "[]", '{"a": 1}', "[" * 20_000, "2024-01-01T00:00:00")
# By table, the columns of which not everything can be believed.
TABLES = {
    "campaigns": {"spec", "plan", "facts", "environment", "state", "started_at", "failure"},
    "summaries": {"workloads"},
    "verdicts": {"verdict", "estimate_pct", "low_pct", "high_pct", "rule"},
    "remarks": {"tags"},
    "findings": {"direction", "design"},
    "finding_campaigns": set(),
    "finding_entries": {"state", "at"},
    "spending": {"begun_at", "until", "ended_at", "committed", "spent", "vcpus", "quotas"},
    "step_times": {"step", "seconds", "size", "unit"},
    "definitions": {"document"},
    "trials": {
        *("planned", "reasons", "started_at", "ended_at", "definitions", "samples", "packed"),
    },
}


@pytest.fixture(scope="module")
def store(here: Here, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Two campaigns of the store, and all that may be said of one."""
    path = tmp_path_factory.mktemp("damaged")
    shutil.copy(here.home.root / "results.db", path)
    with Store(f"sqlite:///{path}/results.db", UPath(here.home.root / "objects")) as opened:
        for name in opened.campaign_ids():
            if name not in (DAMAGED, OTHER):
                opened.delete_campaign(name)
        outcome = Comparer(here.home, opened).outcome(opened.campaign(DAMAGED))
        first, *others = verdicts_of(outcome.comparison)
        slower = dataclasses.replace(first, verdict="regression")
        verdicts = [slower, *others]
        opened.set_verdicts(DAMAGED, verdicts)
        opened.set_remarks(DAMAGED, Remarks("slow", ("a", "b")))
        with opened.transaction() as connection:  # what was slowed down has none by itself
            change = {"report": "sysbench_local", "workload": slower.workload,
                      "direction": "worse", "design": "fixed", "key": "k"}  # fmt: skip
            connection.execute(FINDINGS.insert().values(id=1, **change))
            shown = {"finding": 1, "campaign": DAMAGED, "baseline": "a", "candidate": "b"}
            connection.execute(FINDING_CAMPAIGNS.insert().values(**shown))
            again = {"state": "new", "by": "", "at": "2026-01-01T00:00:00+00:00"}
            entry = FINDING_ENTRIES.insert().values(finding=1, **again, note="", link="")
            connection.execute(entry.values(campaign=DAMAGED))
        opened.fail(DAMAGED, Failure("register", ("port 13306 is taken",)))
        step = StepTime("load", "baseline", 1.0, Size(1.0, "rows"))
        opened.set_step_time(DAMAGED, "local", "mariadb", step)
        at = datetime(2026, 1, 1, tzinfo=UTC)
        held = Record(DAMAGED, "sysbench_ec2", "2026-01", at, at, 60.0)
        opened.spending.begin(held, lambda others: None)
        yield opened


def refusals(here: Here, store: Store) -> list[str]:
    """What is refused in words where all pages that show the campaign are asked for, and it is
    compared.
    """
    site = Site(here.home, store, load("en"), datetime(2026, 1, 1, tzinfo=UTC))
    questions: list[Callable[[], object]] = [
        lambda: render(site, overview.overview(site)),
        lambda: render(site, findings.findings(site)),
        lambda: render(site, campaigns.campaigns(site, campaigns.Filter())),
        lambda: render(site, campaign_page.campaign(site, DAMAGED)),
        lambda: render(site, trial.trial(site, DAMAGED, TRIAL, 1)),
        lambda: render(site, side_by_side.side_by_side(site, DAMAGED, OTHER)),
        lambda: render(site, history.workloads(site)),
        lambda: render(site, history.history(site, "sysbench_local", "oltp_point_select")),
        lambda: Comparer(here.home, store).outcome(store.campaign(DAMAGED)),
        lambda: store.target_and_state(DAMAGED),
        store.regions,
        lambda: store.figures(DAMAGED, ["tps"]),
        lambda: store.step_times("local", "mariadb"),
    ]
    said = []
    for question in questions:
        try:
            question()
        except BenchlabError as error:
            said.append(str(error))
    return said


@pytest.mark.parametrize("table", TABLES)
def test_a_damaged_cell_brings_nothing_down(here: Here, store: Store, table: str) -> None:
    """Whichever it is, and whatever is in it: who asks for it is told what cannot be read."""
    assert refusals(here, store) == []
    url = store.database.shown_url
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as cells:
        key = "id" if table in ("campaigns", "findings", "spending") else "campaign"
        value = 1 if table == "findings" else DAMAGED
        found = cells.execute(f"SELECT rowid AS place, * FROM {table} WHERE {key} = ?", [value])
        names = [column[0] for column in found.description]
        row = dict(zip(names, found.fetchall()[0], strict=True))
        numbered = {"place", "id"} if row.get("id") == 1 else {"place"}  # SQLite's own
        damaged = [cell for cell in row.items() if cell[0] not in numbered]
        for place, (column, was) in enumerate(damaged):
            for damage in ("x", DAMAGES[place % len(DAMAGES)]):
                change = f"UPDATE {table} SET {column} = ? WHERE rowid = {row['place']}"
                cells.execute(change, [damage])
                try:
                    said = refusals(here, store)
                except Exception as error:
                    error.add_note(f"{table}.{column} = {damage[:30]!r}")
                    raise
                finally:
                    cells.execute(change, [was])
                if damage == "x" and column in TABLES[table]:
                    of = "finding" if table.startswith("finding") else f"{DAMAGED}: "
                    assert any(of in one for one in said), (column, said)


LONG = "sysbench_ec2_weekly-20261122T104955"


@pytest.fixture(scope="module")
def narrow(here: Here, tmp_path_factory: pytest.TempPathFactory) -> Here:
    """The store with a campaign more, whose id and versions are as long as they may become."""
    copy = Here(tmp_path_factory.mktemp("narrow"))
    shutil.copytree(here.home.root, copy.home.root, dirs_exist_ok=True)
    builds = {side: f"v9.0.0-alpha-{side[:4]}-20261122" for side in ("baseline", "candidate")}
    sides = {side: {"version": version} for side, version in builds.items()}
    spec = plans.spec(
        report="sysbench_ec2_weekly", engine="tidb", engines={"tidb": sides}, rounds=4,
        workloads=["oltp_update_non_index"],
    )  # fmt: skip
    with Store(copy.home.store_url, copy.home.objects) as store:
        made = made_by.campaign(spec, id=LONG)
        store.add_campaign(made)
        slower = made_by.known_change({"oltp_update_non_index": -0.2}, 0.002)
        for result in made_by.results_of(made.plan, slower):
            store.add_trial(LONG, result)
        StoredCampaign(copy.home, store, store.campaign(LONG)).publish()
        store.set_remarks(LONG, Remarks("after the disks were replaced", ("a-long-tag",)))
    return copy


@pytest.mark.parametrize(
    "command",
    [
        ("campaigns",),
        ("findings", "--all"),
        ("compare", LONG),
        ("compare", "golden-tpcc"),
        ("history", "oltp_update_non_index"),
        ("history", "oltp_point_select"),
        ("spending",),
        ("reports",),
    ],
    ids=" ".join,
)
def test_a_list_fits_a_terminal_of_80_columns(narrow: Here, command: tuple[str, ...]) -> None:
    """No line is wider, and no id, version or verdict is broken or cut."""
    done = narrow.run(*command, COLUMNS="80")
    assert done.returncode == 0, done.stderr
    wide = [line for line in done.stdout.splitlines() if len(line) > 80]
    assert not wide
    assert "…" not in done.stdout
    named = set(re.findall(r"\S*(?:golden-|week-|20261122T|alpha-)\S*", done.stdout))
    ids = {*Store(narrow.home.store_url, narrow.home.objects).campaign_ids()}
    assert {name.strip("`:,;.()") for name in named} <= ids | {
        f"v9.0.0-alpha-{side}-20261122" for side in ("base", "cand")
    }
