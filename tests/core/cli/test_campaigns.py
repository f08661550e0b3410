"""`benchlab campaigns`: what was measured, with its verdicts, without computing them again."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from benchlab.campaign.stored import StoredCampaign
from benchlab.report.publish.destinations import PublicationRecord
from benchlab.results.rows import CAMPAIGNS, METADATA
from benchlab.results.store import Store
from benchlab.targets.fleet_files import CLUSTER_FILE, RENTAL_FILE
from tests.builders import campaigns, plans
from tests.builders.installation import Here

POINT, INDEX = "oltp_point_select", "oltp_update_index"


@pytest.fixture
def store(here: Here) -> Iterator[Store]:
    """Its store."""
    with Store(here.home.store_url, here.home.objects) as opened:
        yield opened


def measured(here: Here, store: Store, name: str, index_change: float, **fields: Any) -> None:
    """A campaign whose report was published."""
    spec = plans.spec(workloads=[POINT, INDEX], rounds=4, deployments=4, **fields)
    made = campaigns.campaign(spec, id=name)
    store.add_campaign(made)
    for result in campaigns.results_of(
        made.plan, campaigns.known_change({INDEX: index_change}, 0.002)
    ):
        store.add_trial(name, result)
    StoredCampaign(here.home, store, store.campaign(name)).publish()


def test_verdicts_are_those_of_the_report(here: Here, store: Store) -> None:
    """What changed is named with its size; a campaign without a report has its state."""
    measured(here, store, "slower", -0.2)
    store.add_campaign(campaigns.campaign(id="begun"))
    said = here.run("campaigns", COLUMNS="200").stdout
    header, _, *rows = said.splitlines()
    assert header.split()[0] == "campaign"
    by_id = {row.split()[0]: row for row in rows}
    assert "1 regression (Update Index -20.00%), 1 equivalent" in " ".join(by_id["slower"].split())
    assert "10.11.5 vs. 10.2.11" in by_id["slower"]
    assert "n/a" in by_id["begun"]
    listed = json.loads(here.run("campaigns", "--json").stdout)["campaigns"]
    (document,) = [one for one in listed if one["id"] == "slower"]
    compared = json.loads(here.run("compare", "slower", "--json").stdout)["report"]["workloads"]
    assert [
        (one["verdict"], one["estimate_pct"], one["ci95_pct"], one["p_adjusted"])
        for one in document["verdicts"]
    ] == [
        (found["verdict"], found["estimate_pct"], found["ci95_pct"], found["p_adjusted"])
        for workload in compared
        for found in (workload, workload["latency"])
    ]


def test_counts_have_a_column_where_a_campaign_has_any(here: Here, store: Store) -> None:
    """Whose throughput did not change may be dearer, and is found as such."""
    measured(here, store, "plain", 0.0)
    assert "counts" not in here.run("campaigns", COLUMNS="200").stdout
    made = campaigns.counting(campaigns.campaign(id="dearer", rounds=4), "redo_bytes")
    store.add_campaign(made)
    steady = campaigns.results_of(made.plan, campaigns.known_change({}, 0.002))
    for result in campaigns.taking(
        steady, redo_bytes=lambda trial: 1120.0 if trial.side == "candidate" else 1000.0
    ):
        store.add_trial("dearer", result)
    StoredCampaign(here.home, store, store.campaign("dearer")).publish()
    said = " ".join(here.run("campaigns", "--verdict", "regression", COLUMNS="220").stdout.split())
    assert " counts " in said
    assert re.search(r"dearer .* 2 dearer \(\S+ \S+ redo log \+12\.0+% and 1 more\)", said)
    folded = here.run("campaigns", "--verdict", "regression", COLUMNS="80").stdout
    assert re.search(r"\bcounts 2 dearer", folded)


def test_a_report_that_is_published_again_replaces_its_verdicts(here: Here, store: Store) -> None:
    """As where A/A campaigns have been added; nothing is kept twice."""
    measured(here, store, "again", -0.2)
    StoredCampaign(here.home, store, store.campaign("again")).publish()
    (found,) = store.listing.summaries()
    assert len(found.verdicts) == 4


def test_a_change_of_an_aa_campaign_is_a_false_alarm(here: Here, store: Store) -> None:
    """In the list as in the report."""
    measured(here, store, "noise", -0.2, sides="same")
    assert "1 false alarm (Update Index -20.00%)" in " ".join(here.run("campaigns").stdout.split())


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ((), ["slower", "equal"]),
        (("--verdict", "regression"), ["slower"]),
        (("--verdict", "unstable"), []),
        (("--version", "11.4.5"), ["slower"]),
        (("--report", "other"), ["slower"]),
        (("--since", "2024-01-02"), ["slower", "equal"]),
        (("--since", "2999-01-01"), []),
        (("--limit", "1"), ["slower"]),
    ],
)
def test_the_list_can_be_filtered(
    here: Here, store: Store, arguments: tuple[str, ...], left: list[str]
) -> None:
    """By report type, version, verdict and day; the latest first, and no more than wanted."""
    engines = {"baseline": {"version": "10.11.5"}, "candidate": {"version": "11.4.5"}}
    measured(here, store, "equal", 0.0)
    measured(here, store, "slower", -0.2, report="other", engines={"mariadb": engines})
    found = json.loads(here.run("campaigns", *arguments, "--json").stdout)["campaigns"]
    assert [one["id"] for one in found] == left
    if not left:
        assert "lists all 2" in here.run("campaigns", *arguments).stdout


def test_an_empty_store_says_what_to_do_next(here: Here) -> None:
    """Not nothing at all."""
    done = here.run("campaigns")
    assert "`benchlab run sysbench_local`" in done.stdout
    assert "there is no such verdict" in here.refused("campaigns", "--verdict", "slow")


def test_a_narrow_terminal_has_no_table(here: Here, store: Store) -> None:
    """Whose columns would not fit: a campaign has lines of its own, and no line is too long."""
    measured(here, store, "slower", -0.2)
    here.run("campaigns", "note", "slower", "a new disk since then")
    lines = here.run("campaigns", COLUMNS="60").stdout.splitlines()
    assert lines[0] == "slower"
    assert any("compared 10.11.5 vs. 10.2.11" in line for line in lines)
    assert any("remarks a new disk since then" in line for line in lines)
    assert max(map(len, lines)) <= 60


# ---------------------------------------------------------------- note, tag, delete


def test_a_campaign_has_a_note_and_tags(here: Here, store: Store) -> None:
    """The list shows them, finds by them, and loses them when they are taken away."""
    for name in ("one", "two"):
        store.add_campaign(campaigns.campaign(id=name))
    assert here.run("campaigns", "note", "one", "before the\n  upgrade").returncode == 0
    assert here.run("campaigns", "tag", "one", "upgrade", "ssd").returncode == 0
    (found,) = json.loads(here.run("campaigns", "--tag", "ssd", "--json").stdout)["campaigns"]
    assert (found["id"], found["note"], found["tags"]) == (
        *("one", "before the upgrade"),
        ["ssd", "upgrade"],
    )
    assert "ssd upgrade; before the upgrade" in here.run("campaigns", COLUMNS="200").stdout
    here.run("campaigns", "tag", "one", "upgrade", "ssd", "--remove")
    here.run("campaigns", "note", "one", "")
    assert "remarks" not in here.run("campaigns", COLUMNS="200").stdout
    assert store.remarks() == {}
    assert "a tag is a word" in here.refused("campaigns", "tag", "one", "a b")
    assert "no campaign 'three'" in here.refused("campaigns", "note", "three", "text")
    assert "are for the list only" in here.refused("campaigns", "--json", "note", "one", "text")


def test_a_deleted_campaign_leaves_nothing_but_what_lies_elsewhere(
    here: Here, store: Store
) -> None:
    """Rows, objects, directory and report are gone; others stay, and copies elsewhere are named."""
    measured(here, store, "gone", -0.2)
    measured(here, store, "stays", 0.0)
    for name in ("gone", "stays"):
        store.write_bytes(f"{name}/r1.txt", b"raw")
    here.run("campaigns", "tag", "gone", "old")
    address = "s3://reports/gone/report.html"
    PublicationRecord(here.home.campaign("gone") / "published").add("s3", address)
    refused = here.refused("campaigns", "delete", "gone")
    assert "give --yes" in refused
    done = here.run("campaigns", "delete", "gone", "--yes")
    assert done.returncode == 0, done.stderr
    assert f"stays, as it was published there: {address}" in done.stdout
    assert [one.id for one in store.listing.summaries()] == ["stays"]
    with store.transaction() as connection:
        for table in METADATA.sorted_tables:
            if "campaign" in table.c:
                left = connection.scalars(sa.select(table.c.campaign)).all()
                assert "gone" not in left, table.name
    assert not (here.home.objects / "gone").exists()
    assert not (here.home.reports / "gone").exists()
    assert not here.home.campaign("gone").exists()
    assert store.read_bytes("stays/r1.txt") == b"raw"
    assert (here.home.reports / "stays" / "report.md").exists()
    assert "no campaign 'gone'" in here.refused("campaigns", "delete", "gone", "--yes")


def test_a_campaign_of_another_version_is_deleted_as_well(here: Here, store: Store) -> None:
    """Its plan cannot be read, its rows can be counted."""
    measured(here, store, "old", 0.0)
    with store.transaction() as connection:
        connection.execute(CAMPAIGNS.update().values(spec='{"report": "old", "colour": 1}'))
    assert here.run("campaigns", "delete", "old", "--yes").returncode == 0
    assert store.campaign_ids() == []
    assert not here.home.campaign("old").exists()


def test_a_deletion_that_the_database_refuses_removes_nothing(here: Here, store: Store) -> None:
    """Not a row, not a file: a table of somebody else refers to the campaign."""
    measured(here, store, "kept", 0.0)
    store.write_bytes("kept/r1.txt", b"raw")
    with store.transaction() as connection:
        connection.exec_driver_sql("CREATE TABLE own (of VARCHAR(160) REFERENCES campaigns (id))")
        connection.exec_driver_sql("INSERT INTO own VALUES ('kept')")
    before = here.run("compare", "kept").stdout
    refused = here.refused("campaigns", "delete", "kept", "--yes")
    assert "nothing was removed, as a table that this Benchlab does not know" in refused
    assert here.run("compare", "kept").stdout == before
    assert store.read_bytes("kept/r1.txt") == b"raw"
    assert (here.home.reports / "kept" / "report.md").exists()
    assert here.home.campaign("kept").exists()


def test_files_that_cannot_be_deleted_are_named(here: Here, store: Store) -> None:
    """The campaign is out of the store by then, and the other files are gone."""
    measured(here, store, "gone", 0.0)
    shutil.rmtree(here.home.reports / "gone")
    (here.home.reports / "gone").write_text("in the way")
    refused = here.refused("campaigns", "delete", "gone", "--yes")
    assert "gone is no longer in the store, but files of it are left" in refused
    assert str(here.home.reports / "gone") in refused
    assert store.campaign_ids() == []
    assert not here.home.campaign("gone").exists()


def test_a_campaign_at_work_is_not_deleted(here: Here, store: Store) -> None:
    """Nor one that may still hold hosts; the message says what ends it."""
    made = campaigns.campaign(id="busy")
    store.add_campaign(dataclasses.replace(made, state="running"))
    refused = here.refused("campaigns", "delete", "busy", "--yes")
    assert "it is running" in refused
    assert "`benchlab give-back busy` first" in refused
    store.finish("busy", "failed")
    (here.home.campaign("busy")).mkdir(parents=True)
    for name in (RENTAL_FILE, CLUSTER_FILE):
        (held := here.home.campaign("busy") / name).write_text("{}")
        assert "may still hold hosts" in here.refused("campaigns", "delete", "busy", "--yes")
        held.unlink()
    assert store.campaign("busy").state == "failed"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("run sysbench_lo", ["sysbench_local", "sysbench_local_releases", "sysbench_local_single"]),
        ("compare c", ["c2", "c1"]),
        ("history oltp_u", [INDEX]),
        ("campaigns --version 10.2", ["10.2.11"]),
        ("findings --report nothing", []),
    ],
    ids=["report type", "campaign", "workload", "version", "none"],
)
def test_a_shell_completes_what_there_is(
    here: Here, store: Store, typed: str, offered: list[str]
) -> None:
    """Names of report types, campaigns, workloads and versions; the latest campaign first."""
    for name in ("c1", "c2"):
        store.add_campaign(campaigns.campaign(id=name, workloads=[POINT, INDEX]))
    words = f"benchlab {typed}"
    done = here.run(
        COMP_WORDS=words, COMP_CWORD=str(len(words.split()) - 1), _BENCHLAB_COMPLETE="complete_bash"
    )
    assert done.stdout.split() == offered


def test_a_shell_is_offered_nothing_where_the_store_cannot_be_read(here: Here) -> None:
    """And no error appears in the middle of a line that is being typed."""
    done = here.run(
        COMP_WORDS="benchlab compare ",
        COMP_CWORD="2",
        _BENCHLAB_COMPLETE="complete_bash",
        BENCHLAB_STORE_URL="mysql+mysqldb://nobody@127.0.0.1:1/none",
    )
    assert (done.stdout.strip(), done.stderr) == ("", "")
