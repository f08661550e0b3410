"""`benchlab campaigns`: what was measured, with its verdicts, without computing them again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from benchlab.campaign.stored import StoredCampaign
from benchlab.results.store import Store
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
    assert "10.2.11 vs. 10.11.5" in by_id["slower"]
    assert "n/a" in by_id["begun"]
    (document,) = [
        one for one in json.loads(here.run("campaigns", "--json").stdout) if one["id"] == "slower"
    ]
    compared = json.loads(here.run("compare", "slower", "--json").stdout)["workloads"]
    assert [
        (one["verdict"], one["estimate_pct"], [one["low_pct"], one["high_pct"]], one["p_adjusted"])
        for one in document["verdicts"]
    ] == [
        (found["verdict"], found["estimate_pct"], found["ci95_pct"], found["p_adjusted"])
        for workload in compared
        for found in (workload, workload["p95"])
    ]


def test_a_report_that_is_published_again_replaces_its_verdicts(here: Here, store: Store) -> None:
    """As where A/A campaigns have been added; nothing is kept twice."""
    measured(here, store, "again", -0.2)
    StoredCampaign(here.home, store, store.campaign("again")).publish()
    (found,) = store.summaries()
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
    found = json.loads(here.run("campaigns", *arguments, "--json").stdout)
    assert [one["id"] for one in found] == left
    if not left:
        assert "None of the 2 campaigns" in here.run("campaigns", *arguments).stdout


def test_an_empty_store_says_what_to_do_next(here: Here) -> None:
    """Not nothing at all."""
    done = here.run("campaigns")
    assert "`benchlab run sysbench_local`" in done.stdout
    assert "there is no such verdict" in here.refused("campaigns", "--verdict", "slow")
