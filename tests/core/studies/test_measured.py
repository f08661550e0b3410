"""A campaign that has measured a plan is found, and only that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from benchlab.campaign import planning
from benchlab.plan.plan import Host
from benchlab.plan.report_type import ReportSpec
from benchlab.results.store import Store
from benchlab.studies import comparisons
from benchlab.targets import local
from tests.builders import campaigns, plans
from tests.builders.installation import Here

POINT_SELECT, UPDATE_INDEX = "oltp_point_select", "oltp_update_index"


@pytest.fixture
def store(here: Here) -> Iterator[Store]:
    """A store with one campaign of the plan that is asked for."""
    with Store(here.home.store_url, here.home.objects) as opened:
        opened.add_campaign(campaigns.campaign(id="first", environment={}))
        yield opened


Find = Callable[..., str | None]


@pytest.fixture
def found(here: Here, store: Store) -> Find:
    """The id of the campaign that is found."""

    def find(report_type: ReportSpec, workload: str | None = None) -> str | None:
        campaign = comparisons.find(here.home, store, report_type, "mariadb", workload)
        return campaign.id if campaign else None

    return find


def test_the_same_plan_is_found_whatever_it_is_called(store: Store, found: Find) -> None:
    """Title, seed and where the report goes are not measured."""
    other = plans.spec(title="Another title", seed=7, languages=["zh"], schedule=None)
    assert found(plans.spec()) == found(other) == "first"


@pytest.mark.parametrize(
    "change",
    [
        {"engines.mariadb.candidate.version": "11.4.5"},
        {"engines.mariadb.baseline.version": "10.3.39"},
        {"engines.mariadb.parameters": {"innodb_io_capacity": 900}},
        {"engines.mariadb.candidate.parameters": {"innodb_io_capacity": 900}},
        {"threads": [4]},
        {"rounds": 4},
        {"seconds": 5},
        {"dataset.table_size": 20_000},
        {"workloads": [POINT_SELECT]},
        {"engines.mariadb.by_workload": {UPDATE_INDEX: {"server": {"log_level": "error"}}}},
        {"sides": "same"},
        {"slowdown_pct": 10},
        {"restore": "never"},
    ],
    ids=str,
)
def test_another_plan_is_not_found(found: Find, change: dict[str, Any]) -> None:
    """Whatever makes the figures other figures."""
    assert found(plans.spec().with_overrides(change)) is None


def test_a_parameter_counts_as_it_is_deployed(store: Store, found: Find) -> None:
    """Whether it is written for both sides or for each makes no difference."""
    value = {"innodb_io_capacity": 900}
    for_both = plans.spec().with_overrides({"engines.mariadb.parameters": value})
    for_each = plans.spec().with_overrides(
        {f"engines.mariadb.{side}.parameters": value for side in ("baseline", "candidate")}
    )
    store.add_campaign(campaigns.campaign(for_both, id="both", environment={}))
    assert found(for_each) == "both"


def test_one_workload_may_be_a_part_of_a_campaign(store: Store, found: Find) -> None:
    """What measured it beside others has measured it."""
    alone = plans.spec(workloads=[UPDATE_INDEX])
    assert found(alone) is None
    assert found(alone, UPDATE_INDEX) == "first"
    assert found(plans.spec(), "oltp_insert") is None
    of_the_other = {"engines.mariadb.by_workload": {POINT_SELECT: {"server": {"level": "error"}}}}
    assert found(plans.spec().with_overrides(of_the_other), UPDATE_INDEX) == "first"


def test_other_hosts_or_another_machine_have_not_measured_it(
    store: Store, found: Find, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where both are known: what a campaign did not record is no difference."""
    base = campaigns.campaign(id="second", environment={"cores": "2"})
    store.add_campaign(base)
    monkeypatch.setattr(local, "machine", lambda: {"cpu": "unknown to it", "cores": "2"})
    assert found(plans.spec()) == "second"
    monkeypatch.setattr(local, "machine", lambda: {"cores": "4"})
    assert found(plans.spec()) == "first"
    monkeypatch.setattr(planning, "hosts", lambda *_: (Host("tidb", "c5.4xlarge", 16),))
    assert found(plans.spec()) is None


def test_only_what_is_complete_counts_and_the_latest_of_it(store: Store, found: Find) -> None:
    """A campaign that failed or is at work has measured nothing yet."""
    base = campaigns.campaign(id="first", environment={})
    for number, state in enumerate(("complete", "failed", "running"), 1):
        later = replace(base, id=f"later-{state}", started_at=base.started_at + timedelta(number))
        store.add_campaign(replace(later, state=state))  # type: ignore[arg-type]
    assert found(plans.spec()) == "later-complete"


def test_two_builds_of_one_name_are_not_one_measurement(store: Store, found: Find) -> None:
    """The same build has measured it, wherever it was fetched from and whether it was yet."""

    def of(**build: str) -> ReportSpec:
        side = {"version": "10.11.5", "builds": {"mariadb": build}}
        return plans.spec().with_overrides({"engines.mariadb.candidate": side})

    measured_with = of(source="a.tar.gz", sha256="a" * 64, git_hash="1234567")
    store.add_campaign(campaigns.campaign(measured_with, id="built", environment={}))
    assert found(of(sha256="a" * 64)) == "built"
    assert found(of(source="a.tar.gz", sha256="b" * 64)) is None
    assert found(plans.spec()) == "first"
