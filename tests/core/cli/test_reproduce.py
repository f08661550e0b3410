"""`benchlab reproduce`: it measures what was measured, and counts for nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from benchlab.analysis.verdict import aa_campaigns
from benchlab.campaign import reproducing
from benchlab.campaign.outcome import Comparer
from benchlab.campaign.report_types import find_report, load
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import SpecError
from benchlab.results.records import REPRODUCES, Campaign
from benchlab.results.store import Store
from benchlab.studies.sensitivity.selection import aa_groups
from tests.builders import campaigns, plans
from tests.builders.findings import WORSE, publish
from tests.builders.installation import Here

POINT, INDEX = "oltp_point_select", "oltp_update_index"


@pytest.fixture
def store(here: Here) -> Iterator[Store]:
    """Its store."""
    with Store(here.home.store_url, here.home.objects) as opened:
        yield opened


def add(store: Store, made: Campaign, **changes: float) -> Campaign:
    """A campaign whose candidate changed by so much, by workload."""
    store.add_campaign(made)
    for result in campaigns.results_of(made.plan, campaigns.known_change(changes, 0.002)):
        store.add_trial(made.id, result)
    return made


def reproduction(of: Campaign, name: str, **fields: Any) -> Campaign:
    """A campaign that measured a pair of another one again."""
    spec = reproducing.report_type(of, INDEX, 4, **fields)
    plan = plans.plan(spec, name)
    made = campaigns.campaign(spec, id=name, plan_=plan)
    return dataclasses.replace(made, origin=f"{REPRODUCES}{of.id}")


def test_only_the_cell_is_measured_and_both_sides_are_as_they_were() -> None:
    """Versions, builds, parameters, dataset, seconds, restores; one round on one deployment."""
    build = {"sha256": "a" * 64, "git_hash": "5c91a2b"}
    side = {"version": "10.11.5", "parameters": {"sync_binlog": 0}, "builds": {"mariadb": build}}
    of = campaigns.campaign(
        engines={"mariadb": {"baseline": {"version": "10.2.11"}, "candidate": side}},
        rounds=6,
        deployments=6,
        rate="60 %",
        languages=["zh", "en"],
        publish=[{"to": "s3", "bucket": "reports", "region": "us-west-2"}],
    )
    spec = reproducing.report_type(of, INDEX, 8)
    assert (spec.workloads, spec.threads, spec.rounds, spec.deployments) == ((INDEX,), (8,), 1, 1)
    assert spec.engines == of.report_type.engines
    plan = plans.plan(spec, "again")
    assert plan.sides == of.plan.sides
    assert len(plan.trials) == 2
    for field in ("target", "dataset", "seconds", "warmup_seconds", "restore", "languages"):
        assert getattr(spec, field) == getattr(of.report_type, field)
    assert spec.report != of.plan.report
    assert (spec.schedule, spec.publish, spec.rate) == (None, (), None)
    rated = reproducing.report_type(of, f"{INDEX}_at_60pct", 8, rounds=3)
    assert rated.workloads == (INDEX, f"{INDEX}_at_60pct")
    assert rated.rounds == 3


def test_another_report_type_lends_its_target(here: Here) -> None:
    """Where it runs and what that may cost; what is measured stays the campaign's."""
    of = campaigns.fleet_campaign()
    lent = load(find_report(here.home, "sysbench_hosts"))
    spec = reproducing.report_type(of, INDEX, 64, on=lent)
    assert (spec.target, spec.topology, spec.budget) == ("hosts", "hosts_published", None)
    assert spec.dataset == of.report_type.dataset
    assert spec.engines["tidb"].baseline == of.report_type.engines["tidb"].baseline
    local = load(find_report(here.home, "sysbench_local"))
    on_mariadb = campaigns.campaign()
    with pytest.raises(SpecError, match="runs on one machine only"):
        reproducing.report_type(on_mariadb, INDEX, 4, on=lent)
    assert reproducing.report_type(on_mariadb, INDEX, 4, on=local).target == "local"


def test_reproductions_count_for_nothing(here: Here, store: Store) -> None:
    """Neither the first nor the second: no history, finding, calibration or newest verdict."""
    of = add(store, campaigns.campaign(rounds=4, deployments=4), **{INDEX: -0.2})
    aa = add(store, campaigns.campaign(id="aa", sides="same", rounds=4, report="same"))
    StoredCampaign(here.home, store, of).publish()
    findings = len(store.findings.found())
    decided = {one.report: one.decided for one in store.listing.reports()}
    assert findings
    for number in range(2):
        for original in (of, aa):
            name = f"{original.id}-{number}"
            made = add(store, reproduction(original, name, rounds=4), **{INDEX: -0.2})
            StoredCampaign(here.home, store, made).publish()
            publish(store, name, WORSE)
    comparer = Comparer(here.home, store)
    last = store.campaign("aa-1")
    assert aa_campaigns.is_alike(store.campaign("aa-0"), last)
    assert comparer.calibrating(last, later=True) == comparer.earlier(last) == []
    assert [one.id for one in comparer.outlines(of.plan.report)] == [of.id]
    assert comparer.outlines(last.plan.report) == []
    assert len(store.findings.found()) == findings
    now = {one.report: one.decided for one in store.listing.reports() if one.decided}
    assert now == {report: own for report, own in decided.items() if own}
    assert [group.campaigns for group in aa_groups(store)] == [("aa",)]
    assert store.listing.count() == 6, "lists of campaigns have them"
    assert f"{of.id}-0" not in (shown := here.run("history", INDEX).stdout)
    assert of.id in shown


def test_a_build_that_is_gone_is_named_before_anything_starts(here: Here, store: Store) -> None:
    """By its hash; and a file that is another one by now."""
    other = here.path / "server.tar.gz"
    other.write_text("another")
    for number, build in enumerate(({}, {"source": str(other)})):
        side = {"version": "10.11.5", "builds": {"mariadb": {**build, "sha256": "a" * 64}}}
        engines = {"mariadb": {"baseline": {"version": "10.2.11"}, "candidate": side}}
        add(store, campaigns.campaign(id=f"c{number}", engines=engines))
    said = here.refused("reproduce", "c0", "--workload", "point_select", "--threads", "4")
    assert "candidate.builds.mariadb: build sha256-aaaaaaa is not kept" in said
    assert "has the sha256" in (said := here.refused("reproduce", "c1"))
    assert f"not {'a' * 64}" in said
    assert store.campaign_ids() == ["c0", "c1"]


def test_dollars_are_asked_for_first(here: Here, store: Store) -> None:
    """As for `benchlab run`; nothing is written to the store."""
    of = campaigns.fleet_campaign(budget={"approve_above": 0.01, "limit": 100})
    add(store, of)
    said = here.refused("reproduce", of.id)
    assert "more than is allowed without approval (0.01)" in said
    assert "give --approve" in said
    assert store.campaign_ids() == [of.id]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nosuch",), "no campaign 'nosuch'"),
        (("c1", "--workload", "tpcc"), f"--workload tpcc: c1 measured {POINT}, {INDEX}"),
        (("c1", "--threads", "5"), "--threads 5: c1 measured 4, 8 threads"),
        (("c1", "--on", "nosuch"), "no such report type"),
        (("c1", "--on", "sysbench_ec2_first"), "engines.mariadb: runs on one machine only"),
        (("one",), "one: it measured one version (sides: single)"),
        (("none",), "none: no workload has figures of both sides"),
    ],
    ids=[
        "no-campaign",
        "workload",
        "threads",
        "report-type",
        "target",
        "one-version",
        "no-figures",
    ],
)
def test_what_cannot_be_reproduced_is_refused(
    here: Here, store: Store, arguments: tuple[str, ...], said: str
) -> None:
    """In one message that says what there is."""
    add(store, campaigns.campaign())
    single = {"mariadb": {"baseline": {"version": "10.2.11"}}}
    add(store, campaigns.campaign(id="one", sides="single", engines=single))
    store.add_campaign(campaigns.campaign(id="none"))
    assert said in here.refused("reproduce", *arguments)
