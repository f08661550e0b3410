"""Lists are chosen, sorted and cut by the database."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.results.listing import Chosen
from benchlab.results.records import CampaignSummary, StoredVerdict
from benchlab.results.store import Store
from tests.builders import campaigns, plans

POINT, INDEX = "oltp_point_select", "oltp_update_index"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Twelve days with a campaign each, of two report types; every fourth is an A/A campaign."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as opened:
        for day in range(12):
            add(
                opened,
                f"c{day:02}",
                day,
                "regression" if day in (3, 7, 9) else "equivalent",
                report="nightly" if day % 3 else "weekly",
                workloads=[POINT] if day < 4 else [POINT, INDEX],
                sides="same" if day % 4 == 3 else "different",
                engines=sides("10.2.11", "11.4.5" if day % 2 else "10.11.5"),
            )
        add(opened, "begun", 12, None, report="weekly", workloads=[INDEX])
        yield opened


def sides(baseline: str, candidate: str) -> dict[str, Any]:
    """The engine of a report type with these versions."""
    return {"mariadb": {"baseline": {"version": baseline}, "candidate": {"version": candidate}}}


def add(store: Store, name: str, day: int, verdict: str | None, **fields: Any) -> None:
    """A campaign of a day, with this verdict on each of its workloads; None: with none."""
    made = campaigns.campaign(id=name, **fields)
    started = plans.START + timedelta(days=day)
    store.add_campaign(dataclasses.replace(made, started_at=started))
    if verdict is not None:
        store.set_verdicts(
            name,
            [
                StoredVerdict(workload, metric, verdict, -9.0, -11.0, -7.0, 0.001, rule=2)
                for workload in made.plan.workloads_in_order
                for metric in ("tps", "p95_ms")
            ],
        )


def ids(found: list[CampaignSummary]) -> list[str]:
    """Their ids, in order."""
    return [one.id for one in found]


CHOICES = [
    (Chosen(), lambda one: True),
    (Chosen(report="weekly"), lambda one: one.report == "weekly"),
    (Chosen(workload=INDEX), lambda one: INDEX in one.workloads),
    (Chosen(workload="oltp_update"), lambda one: False),
    (Chosen(versions=("11.4.5",)), lambda one: "11.4.5" in one.versions.values()),
    (Chosen(versions=("11.4.5", "10.11.5")), lambda one: False),
    (Chosen(verdict="regression"), lambda one: "regression" in [v.verdict for v in one.verdicts]),
    (Chosen(state="complete"), lambda one: one.state == "complete"),
    (Chosen(since=date(2024, 1, 5), until=date(2024, 1, 7)), lambda one: one.id[1:] in "030405"),
]


@pytest.mark.parametrize(("chosen", "is_in"), CHOICES)
def test_a_list_has_exactly_the_chosen_campaigns(store: Store, chosen: Chosen, is_in: Any) -> None:
    """The latest first, and counted."""
    expected = [one for one in store.listing.summaries() if is_in(one)]
    assert store.listing.summaries(chosen) == expected
    assert store.listing.count(chosen) == len(expected)
    assert store.listing.summaries(chosen, limit=2, offset=1) == expected[1:3]
    assert store.listing.summaries(chosen, descending=False) == expected[::-1]


def test_a_list_is_sorted_before_it_is_cut(store: Store) -> None:
    """A page is a part of the whole list, in its order."""
    everything = store.listing.summaries()
    by_report = sorted(everything, key=lambda one: (one.report, one.started_at, one.id))
    assert store.listing.summaries(order="report", descending=False, offset=5) == by_report[5:]
    assert ids(store.listing.summaries(order="id", descending=False, limit=2)) == ["begun", "c00"]


def test_what_a_list_shows_follows_from_plan_and_report_type(store: Store) -> None:
    """Workloads in their order, labels with what tells builds apart, and whether it is A/A."""
    by_id = {one.id: one for one in store.listing.summaries()}
    for name, one in by_id.items():
        made = store.campaign(name)
        assert one.versions == {side: spec.label for side, spec in made.plan.sides.items()}
        assert one.workloads == made.plan.workloads_in_order
        assert (one.measures_noise, one.engine) == (made.is_aa, made.plan.engine)
    assert by_id["c03"].measures_noise
    engines = {"mariadb": {"baseline": {"version": "10.2.11"}}}
    add(store, "alone", 13, None, sides="single", engines=engines)
    assert store.listing.summaries(limit=1)[0].versions == {"baseline": "10.2.11"}


def test_an_overview_has_the_newest_verdict_of_each_workload(store: Store) -> None:
    """A/A campaigns have none to show, and one that has just begun has none yet."""
    nightly, weekly = store.listing.reports()
    assert (nightly.report, nightly.campaigns, nightly.newest.id) == ("nightly", 8, "c11")
    # c11 is an A/A campaign.
    assert {w: one.id for w, one in nightly.decided.items()} == {POINT: "c10", INDEX: "c10"}
    assert (weekly.report, weekly.newest.id, weekly.workloads) == (
        "weekly",
        "begun",
        (INDEX, POINT),
    )
    assert {w: one.id for w, one in weekly.decided.items()} == {POINT: "c09", INDEX: "c09"}
    assert weekly.decided[INDEX].verdicts[0].verdict == "regression"


def test_an_overview_of_an_empty_store_is_empty(tmp_path: Path) -> None:
    """Not an error."""
    with Store(f"sqlite:///{tmp_path}/empty.db", UPath(tmp_path)) as empty:
        assert empty.listing.reports() == []
        assert (empty.listing.summaries(), empty.listing.count()) == ([], 0)
