"""What a campaign that has begun takes over of what is asked for, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from benchlab.campaign import overrides, report_types
from benchlab.campaign.resolving import Resolver
from benchlab.campaign.stages import CampaignRun
from benchlab.errors import AnotherPlanError, NothingToMeasureError
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from tests.builders import campaigns
from tests.builders.installation import Here

DEPLOYED = "engines.mariadb"


@pytest.fixture
def store(here: Here) -> Iterator[Store]:
    """With a campaign of sysbench_local that has begun, and failed."""
    with Store(here.home.store_url, here.home.objects) as opened:
        campaigns.begin(here.home, opened, spec(here))
        opened.finish("c1", "failed")
        yield opened


def spec(here: Here, *assignments: str) -> ReportSpec:
    """The report type as a person asks for it."""
    found = report_types.load(report_types.find_report(here.home, "sysbench_local"))
    values = overrides.parse_assignments([*assignments])
    return overrides.override(found, values) if values else found


def begin_again(here: Here, store: Store, asked: ReportSpec) -> Campaign:
    """The campaign once it has been begun with this report type."""
    found = Resolver(here.home, store).as_begun(asked, store.campaign("c1"))
    return campaigns.begin(here.home, store, found.spec).campaign


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ("warmup_seconds=60", "warmup_seconds 1, not 60"),
        ("dataset.table_size=100000", "dataset.table_size 10000, not 100000"),
        ("workloads=oltp_insert", "not ['oltp_insert']"),
        ("threads=8", "threads [4], not [8]"),
        ("threads_by_workload={oltp_point_select: [8]}", "threads_by_workload.oltp_point_select"),
        ("rounds=7", "rounds 6, not 7"),
        ("deployments=3", "deployments 6, not 3"),
        ("seconds=4", "seconds 3, not 4"),
        ("restore=never", "restore every_trial, not never"),
        ("interleave=trials", "interleave blocks, not trials"),
        ("slowdown_pct=20", "slowdown_pct 0.0, not 20.0"),
        ("load_balancer=haproxy", "load_balancer none, not haproxy"),
        ("client={rand_type: uniform}", "client.rand_type unset, not uniform"),
        ("seed=7", "seed unset, not 7"),
        ("sides=same", "sides different, not same"),
        ("engine=tidb", "engine mariadb, not tidb"),
        ("candidate=11.4.5", "candidate 10.11.5, not 11.4.5"),
        (
            f"{DEPLOYED}.parameters.innodb_buffer_pool_size=1000",
            f"{DEPLOYED}.parameters.innodb_buffer_pool_size 268435456, not 1000",
        ),
        (
            f"{DEPLOYED}.candidate.parameters.max_heap_table_size=50",
            f"{DEPLOYED}.candidate.parameters.max_heap_table_size unset, not 50",
        ),
    ],
)
def test_what_is_measured_otherwise_is_refused_and_named(
    here: Here, store: Store, asked: str, named: str
) -> None:
    """Whatever field it is: nothing is measured by other fields than those that were asked for."""
    before = store.campaign("c1")
    with pytest.raises(AnotherPlanError) as refused:
        begin_again(here, store, spec(here, asked))
    assert named in str(refused.value)
    assert store.campaign("c1") == before
    store.finish("c1", "complete")
    with pytest.raises(AnotherPlanError, match="another plan"):
        Resolver(here.home, store).as_begun(spec(here, asked), store.campaign("c1"))


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        ({"title": "Again"}, "Again"),
        ({"threshold_pct": 5.0}, 5.0),
        ({"repeat_limit": 0}, 0),
        ({"languages": ["zh"]}, ("zh",)),
        ({"budget": {"approve_above": 1, "limit": 2}}, None),
        ({"publish": [{"to": "s3", "bucket": "reports", "region": "eu-west-1"}]}, None),
    ],
)
def test_what_changes_nothing_that_was_measured_is_taken_over(
    here: Here, store: Store, asked: dict[str, Any], value: object
) -> None:
    """Judged, published and paid for is what is asked for last; the progress says so."""
    (field,) = asked
    wanted = spec(here).with_overrides(asked)
    begun = begin_again(here, store, wanted)
    kept = store.campaign("c1").report_type
    assert getattr(kept, field) == getattr(wanted, field)
    assert value in (None, getattr(kept, field))
    assert begun.report_type == kept
    notes, _ = CampaignRun.open(here.home, store, "c1").progress.read()
    (warning,) = [note.note for note in notes if note.phase == "warning"]
    assert warning.startswith(f"taken over: {field}")


def test_a_campaign_is_begun_again_as_it_was(here: Here, store: Store) -> None:
    """Nothing is taken for a difference that is none, whatever its sides and its rules are."""
    made = {
        "aa": spec(here, "sides=same"),
        "by-rule": spec(here, "engine=mariadb", "baseline=previous series"),
        "one": report_types.load(report_types.find_report(here.home, "sysbench_local_single")),
    }
    resolver = Resolver(here.home, store)
    for name, asked in made.items():
        first = resolver.versions(Request(asked, date(2023, 9, 1)))
        campaigns.begin(here.home, store, first.spec, name)
        again = resolver.as_begun(asked, store.campaign(name))
        assert not campaigns.begin(here.home, store, again.spec, name).is_new


def test_a_complete_campaign_is_left_as_it_is(here: Here, store: Store) -> None:
    """By its id in `run --campaign`: nothing is measured, and neither store nor files change.

    Its report was never published: that stays a failure.
    """
    store.finish("c1", "complete")
    before = store.campaign("c1")
    files = {path: path.stat() for path in here.home.campaign("c1").rglob("*")}
    done = here.run("run", "sysbench_local", "--campaign", "c1", "--set", "threshold_pct=5")
    assert done.returncode == 1
    said = done.stderr
    assert "nothing to measure: campaign c1 is complete" in said
    assert "it keeps threshold_pct 2.0, not 5.0" in said
    assert "benchlab publish c1" in said
    assert store.campaign("c1") == before
    assert {path: path.stat() for path in here.home.campaign("c1").rglob("*")} == files
    with pytest.raises(NothingToMeasureError):
        campaigns.begin(here.home, store, spec(here))
