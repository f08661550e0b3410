"""What is offered after a campaign makes sense, and is planned as everything else is."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterator
from datetime import UTC, date, datetime
from html import escape, unescape
from typing import Any
from urllib.parse import parse_qs

import pytest
import yaml

from benchlab.campaign import report_types
from benchlab.campaign.overrides import as_measured, override, parse_assignments
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.language import load
from benchlab.plan.plan import make
from benchlab.plan.resolved import Request
from benchlab.plan.steps import diagnosis_minutes
from benchlab.results import redaction
from benchlab.results.store import Store
from benchlab.site import next_steps as site_steps
from benchlab.site import plan
from benchlab.site.page import Site, render
from benchlab.studies.comparisons import Comparisons
from benchlab.studies.next_steps import NextStep, next_steps
from tests.builders import campaigns
from tests.builders.installation import Here

TODAY = date(2024, 6, 1)
VERSIONS = {"baseline": "10.2.11", "candidate": "10.11.5"}
SLOWER = {"oltp_update_index": -0.3}


class Measured:
    """An installation in which campaigns of `sysbench_local` are complete."""

    def __init__(self, here: Here, store: Store) -> None:
        self.here, self.store = here, store
        self.use("sysbench_local")

    def use(self, report: str) -> None:
        """Measure with this report type from now on."""
        self.file = report_types.load(report_types.find_report(self.here.home, report))

    def after(
        self, change: dict[str, float] | None = None, noise: float = 0.001, **fields: Any
    ) -> dict[str, NextStep]:
        """The steps after a campaign that finds a change, by kind."""
        versions: dict[str, Any] = {one: VERSIONS[one] for one in self.file.measured_sides}
        spec = override(self.file, {**versions, **fields})
        made = campaigns.begin(self.here.home, self.store, spec).campaign
        for result in campaigns.results_of(made.plan, campaigns.known_change(change or {}, noise)):
            self.store.add_trial(made.id, result)
        self.store.finish(made.id, "complete")
        comparisons = Comparisons(self.here.home, self.store)
        record = self.store.campaign(made.id)
        comparison = comparisons.outcome(record).comparison
        return {one.kind: one for one in next_steps(comparisons, record, comparison, TODAY)}

    def minutes(self, command: str) -> float:
        """How long what a command runs takes, planned as `benchlab plan` plans it."""
        words = shlex.split(command)
        assert words[:3] == ["benchlab", "run", "sysbench_local"]
        spec = override(self.file, parse_assignments(words[4::2]))
        resolver = Resolver(self.here.home, self.store, asks=Asks.NOBODY)
        return make(resolver.resolve(Request(spec, TODAY)), spec.report).minutes


@pytest.fixture
def measured(here: Here, monkeypatch: pytest.MonkeyPatch) -> Iterator[Measured]:
    """An empty store beside the house's report types."""
    monkeypatch.setenv("BENCHLAB_LOCK", str(here.path / "lock"))
    with Store(here.home.store_url, here.home.objects) as store:
        yield Measured(here, store)


def test_after_a_regression_it_is_measured_again_diagnosed_and_bisected(
    measured: Measured,
) -> None:
    """Each with the minutes of the plan that its command has; nothing is rented."""
    program = measured.here.home.servers / "mariadb" / "11.4.5" / "bin" / "mariadbd"
    program.parent.mkdir(parents=True)
    program.write_text("")
    found = measured.after(SLOWER, threads=[2, 8], candidate="11.4.5")
    assert list(found) == ["again", "diagnose", "bisect"]
    again, diagnose, bisect = found.values()
    assert again.minutes == measured.minutes(again.command)
    alone = measured.minutes(diagnose.command)
    assert diagnose.minutes == alone + diagnosis_minutes(alone)
    assert diagnose.workloads == ("oltp_update_index",)
    assert "--set workloads=oltp_update_index --set diagnose=always" in diagnose.command
    assert bisect.command.startswith("benchlab bisect 10.2.11 11.4.5 --report sysbench_local")
    assert "--workload oltp_update_index" in bisect.command
    assert "--set threads=2,8" in bisect.command
    assert (bisect.most_campaigns or 0) > 1
    assert (bisect.minutes or 0) > alone
    assert {(one.rents, one.dollars) for one in found.values()} == {(False, None)}


def test_what_is_measured_again_is_what_the_campaign_measured(measured: Measured) -> None:
    """Versions, sides and fields, where the report type's file has others."""
    again = measured.after(sides="same", rounds=4, deployments=2, seconds=7)["again"]
    spec = override(measured.file, parse_assignments(shlex.split(again.command)[4::2]))
    assert (spec.sides, spec.rounds, spec.deployments, spec.seconds) == ("same", 4, 2, 7)
    assert spec.side("mariadb", "baseline").version == "10.2.11"


def test_between_two_neighbours_there_is_nothing_to_bisect(measured: Measured) -> None:
    """The campaign itself names the release that brought the change."""
    assert [*measured.after(SLOWER)] == ["again", "diagnose"]


def test_where_nothing_changed_nothing_is_diagnosed_or_bisected(measured: Measured) -> None:
    """And where everything is decided, there is no need for more rounds."""
    assert [*measured.after(rounds=12, deployments=6)] == ["again"]


def test_more_rounds_are_offered_where_it_is_undecided(measured: Measured) -> None:
    """More than there were, of what is undecided alone; the same plan as its command has."""
    noisy = measured.after(SLOWER, noise=0.03, rounds=6, deployments=3)
    more = noisy["rounds"]
    assert more.fields is not None
    assert more.fields["rounds"] > 6
    assert more.fields["deployments"] > 3
    assert more.fields["rounds"] % more.fields["deployments"] == 0
    if not more.why_not:
        assert more.minutes == measured.minutes(more.command)


def test_one_version_is_only_measured_again(measured: Measured) -> None:
    """There is nothing to decide, to explain or to search for."""
    measured.use("sysbench_local_single")
    assert [*measured.after(noise=0.05)] == ["again"]


def test_nothing_is_offered_that_no_file_measures(measured: Measured) -> None:
    """Its report type's file is gone."""
    file = report_types.find_report(measured.here.home, "sysbench_local")
    file.unlink()
    assert measured.after(SLOWER) == {}


@pytest.mark.parametrize("code", ["en", "zh"])
def test_the_page_says_each_step_and_opens_the_plan_filled_in(
    measured: Measured, code: str
) -> None:
    """The plan that opens takes as long as was said, and runs the same command."""
    again, diagnose = measured.after(SLOWER, threads=[2, 8], seconds=7).values()
    now = datetime(TODAY.year, TODAY.month, TODAY.day, tzinfo=UTC)
    site = Site(measured.here.home, measured.store, load(code), now)
    page = site_steps.next_steps(site, "c1")
    html = render(site, page, fragment=True)
    for step, row in zip((again, diagnose), page.values["steps"], strict=True):
        assert f'href="../../plan/?{escape(row["query"])}"' in html
        assert row["cost"] in unescape(html)
        assert step.command in unescape(html)
        opened = plan.plan(site, parse_qs(row["query"]))
        assert opened.values["figures"].command == step.command
        assert opened.values["form"]["like"] == "c1"
    facts = dict(plan.figures(site, parse_qs(row["query"])).values["figures"].facts)
    assert "diagnosis" in facts
    assert site.language.say("next-may-not", dag="sysbench_local") not in html


def test_who_may_not_start_anything_is_told_why(measured: Measured) -> None:
    """On the page of the campaign and on that of the plan; the figures are for everybody."""
    measured.after(SLOWER)
    now = datetime(TODAY.year, TODAY.month, TODAY.day, tzinfo=UTC)
    site = Site(measured.here.home, measured.store, load("en"), now, starts_at="{report}/dagRuns")
    may = dataclasses.replace(site, may_change=True)
    for of, told in ((site, True), (may, False)):
        for page in (site_steps.next_steps(of, "c1"), plan.figures(of, {"like": ["c1"]})):
            html = render(of, page, fragment=True)
            assert ("you need the right to trigger the DAG sysbench_local" in html) == told


def test_a_plan_does_not_begin_with_a_campaign_that_it_cannot_repeat(measured: Measured) -> None:
    """One of another report type, or none that the reader may see: the fault is said."""
    measured.after(SLOWER)
    site = Site(measured.here.home, measured.store, load("en"), datetime(2024, 6, 1, tzinfo=UTC))
    for asked, said in (
        ({"report": ["tpcc_local"], "like": ["c1"]}, "it is no campaign of tpcc_local"),
        ({"report": ["sysbench_local"], "like": ["c9"]}, "c9"),
    ):
        (fault,) = plan.figures(site, asked).values["figures"].faults
        assert said in fault


def test_a_published_plan_has_its_own_fields_and_no_campaigns(
    measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a campaign of its DAG are not laid over it."""
    measured.after(SLOWER)
    published = {"tpcc_as_published": measured.file}
    known = plan._offered
    monkeypatch.setattr(plan, "_offered", lambda site: {**known(site), **published})
    site = Site(measured.here.home, measured.store, load("en"), datetime(2024, 6, 1, tzinfo=UTC))
    asked = {"report": ["tpcc_as_published"], "like": ["c1"]}
    (fault,) = plan.figures(site, asked).values["figures"].faults
    assert "c1: its fields and versions cannot be taken over" in fault


def test_a_rate_that_is_taken_over_is_one_that_the_dag_accepts(measured: Measured) -> None:
    """As text: its form has shares as well."""
    measured.after(SLOWER, rate=500)
    now = datetime(TODAY.year, TODAY.month, TODAY.day, tzinfo=UTC)
    site = Site(measured.here.home, measured.store, load("en"), now, starts_at="{report}/dagRuns")
    may = dataclasses.replace(site, may_change=True)
    found = plan.figures(may, {"like": ["c1"]}).values["figures"]
    assert json.loads(found.conf)["rate"] == "500"


def test_the_plan_opens_on_the_report_type_measured_last(measured: Measured) -> None:
    """Not on the first by its name."""
    site = Site(measured.here.home, measured.store, load("en"), datetime(2024, 6, 1, tzinfo=UTC))
    assert plan.report_of(site, {}) != "sysbench_local_single"
    measured.use("sysbench_local_single")
    measured.after()
    assert plan.report_of(site, {}) == "sysbench_local_single"


def test_a_secret_is_never_a_field_that_is_taken_over(measured: Measured) -> None:
    """What stands for it on pages would be set on the servers."""
    secret = {"engines.mariadb.parameters.my_token": "hunter22"}
    spec = override(measured.file, {**VERSIONS, **secret})
    begun = campaigns.begin(measured.here.home, measured.store, spec).campaign
    assert as_measured(measured.here.home, begun) is not None
    assert as_measured(measured.here.home, redaction.of_campaign(begun)) is None
    write_parameters(measured, my_token="hunter22")
    assert as_measured(measured.here.home, redaction.of_campaign(begun)) is not None


def test_what_the_file_sets_since_is_not_measured_as_before(measured: Measured) -> None:
    """A parameter that no field of the command line takes away again."""
    begun = campaigns.begin(measured.here.home, measured.store, override(measured.file, VERSIONS))
    assert as_measured(measured.here.home, begun.campaign) is not None
    write_parameters(measured, sync_binlog="0")
    assert as_measured(measured.here.home, begun.campaign) is None


def write_parameters(measured: Measured, **parameters: str) -> None:
    """Set parameters of the servers in the report type's file."""
    file = report_types.find_report(measured.here.home, "sysbench_local")
    document = yaml.safe_load(file.read_text())
    document["engines"]["mariadb"].setdefault("parameters", {}).update(parameters)
    file.write_text(yaml.safe_dump(document))
