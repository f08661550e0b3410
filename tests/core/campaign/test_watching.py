"""Report types with `design: watch`: weeks are evidence, and fresh rounds decide."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchlab.analysis.verdict.compare import WorkloadComparison
from benchlab.campaign.measured_versions import measured_by
from benchlab.campaign.outcome import Comparer, Outcome
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import NothingToMeasureError, NotMeasuredError
from benchlab.language import english
from benchlab.plan.fields.schedule import moments as moments_between
from benchlab.plan.fields.schedule import turn
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request, Versioned
from benchlab.report import bundle as report_bundle
from benchlab.report.evidence import contents
from benchlab.report.evidence.verify import verify
from benchlab.report.model import report as model
from benchlab.report.sentences import answer, opening
from benchlab.results import screening
from benchlab.results.listing import Chosen
from benchlab.results.records import Campaign, GateResult
from benchlab.results.screening import Screening
from benchlab.studies.backfill import already_measured
from benchlab.studies.comparisons import Comparisons
from benchlab.studies.long_view.view import long_view
from benchlab.studies.sensitivity.proposals import PlanSensitivity, plan_sensitivity
from benchlab.studies.sensitivity.text import plan_lines
from tests.builders import campaigns, evidence, plans, weekly
from tests.builders.installation import Here

INDEX, POINT = "oltp_update_index", "oltp_point_select"
# Of the log ratio of a round, as it was seen on published reports.
SD = 0.02
ANCHOR = "10.2.11"


class Mondays:
    """A report type that is run every week, whose figures are made up and all else is real."""

    def __init__(self, of: weekly.Weeks) -> None:
        self.home, self.store, self.number = of.home, of.store, 0
        self._random = random.Random(7)

    def week(
        self,
        losses: Mapping[str, float] | None = None,
        *,
        fresh: Mapping[str, float] | None = None,
        anchor: str = ANCHOR,
        build: str = "",
        pays_for: int = 9,
        unstable: bool = False,
        real: bool = False,
        fresh_rounds: int = 9,
        fresh_unstable: bool = False,
        **fields: Any,
    ) -> Campaign:
        """Measure a week.

        Args:
            losses: by how much a workload is truly worse than the anchor, in percent.
            fresh: what only the rounds that confirm find; None: the same.
            pays_for: so many workloads can be confirmed.
            fresh_rounds: so many that confirm are measured, and no more.
            fresh_unstable: these cannot be trusted.
            real: trials have recorded outputs, by which the candidate is 11 % faster.
        """
        self.number += 1
        build = build or f"11.4.{self.number}"
        sides = {"baseline": {"version": anchor}, "candidate": {"version": build}}
        usual = {"rounds": 6, "deployments": 6, "design": "watch", "restore": "per_workload"}
        made = campaigns.campaign(
            id=f"week-{self.number:02}",
            **{"engines": {"mariadb": sides}, "seed": self.number, **usual, **fields},
        )
        started = plans.START + timedelta(weeks=self.number)
        made = dataclasses.replace(
            made,
            started_at=started,
            ended_at=started + timedelta(hours=2),
            planned_for=started.replace(second=0),
        )
        self.store.add_campaign(made)
        first = [trial for trial in made.plan.trials if not made.plan.confirms(trial.round)]
        self._measure(made, first, losses or {}, unstable=unstable, real=real)
        if made.plan.screening_rounds is None:
            return made
        found = Comparer(self.home, self.store).watching.decide(
            made, self.store.trials(made.id), lambda names: len(names) <= pays_for
        )
        self.store.add_to_environment(made.id, screening.KEY, screening.as_text(found))
        made = self.store.campaign(made.id)
        last = fresh_rounds + (made.plan.screening_rounds or 0)
        again = [t for t in made.wanted.trials if made.plan.confirms(t.round) and t.round <= last]
        true = losses if fresh is None else fresh
        self._measure(made, again, true, unstable=fresh_unstable, real=real)
        return self.store.campaign(made.id)

    def _measure(
        self,
        made: Campaign,
        trials: Sequence[PlannedTrial],
        losses: Mapping[str, float] | None,
        *,
        unstable: bool = False,
        real: bool = False,
    ) -> None:
        ratios: dict[tuple[str, int], float] = {}
        for trial in trials:
            if real:
                evidence.keep(self.store, made.id, evidence.measured(made, trial))
                continue
            true = math.log1p(-(losses or {}).get(trial.workload, 0.0) / 100)
            ratio = ratios.setdefault(trial.pair[::-1], true + self._random.gauss(0, SD))
            tps = 1000.0 * math.exp(ratio if trial.side == "candidate" else 0.0)
            symptom = GateResult("stalls", "fail", 1.0, "no interval is empty", "symptom")
            shown = (symptom,) if unstable and trial.side == "candidate" else None
            at = campaigns.trial_result(trial, tps=tps, p95_ms=2000 / tps, gates=shown)
            self.store.add_trial(made.id, at)

    def stored(self, campaign: Campaign) -> StoredCampaign:
        """The campaign with what publishes it."""
        return StoredCampaign(self.home, self.store, self.store.campaign(campaign.id))

    def outcome(self, campaign: Campaign) -> Outcome:
        """Its verdicts, as any process computes them."""
        return Comparer(self.home, self.store).outcome(self.store.campaign(campaign.id))

    def verdict(self, campaign: Campaign, workload: str = INDEX) -> str:
        """Of the throughput of a workload."""
        return _of(self.outcome(campaign), workload).verdict

    def quiet(self, weeks: int, **fields: Any) -> None:
        """Measure weeks in which nothing changes."""
        for _ in range(weeks):
            self.week(**fields)


def _of(outcome: Outcome, workload: str = INDEX) -> WorkloadComparison:
    return next(one for one in outcome.comparison.workloads if one.name == workload)


def _flagged(campaign: Campaign) -> set[str]:
    found = campaign.screening
    assert found is not None
    return {one.workload for one in found.flagged}


@pytest.fixture
def mondays(tmp_path: Path) -> Iterator[Mondays]:
    """A report type that was never run."""
    with weekly.installation(tmp_path) as of:
        yield Mondays(of)


def test_a_quiet_week_measures_its_screening_alone_and_calls_nothing_equal(
    mondays: Mondays,
) -> None:
    """Nothing is missing, and it is said how likely a loss would have been told."""
    mondays.quiet(6)
    week = mondays.week()
    assert week.screening == Screening()
    outcome = mondays.outcome(week)
    assert outcome.comparison.missing == ()
    assert {trial.trial.round for trial in outcome.trials} == {1, 2}
    for workload in outcome.comparison.workloads:
        assert workload.verdict == "inconclusive"
        assert "is detected by the campaign in which it begins" in str(workload.reasons[0])
    stored = mondays.stored(week)
    assert stored.validate() == []
    page = stored.publish()[0].read_text()
    assert "No change was seen at the two workloads." in page
    assert "inconclusive" not in page
    (listed,) = mondays.store.listing.summaries(Chosen(state="complete"), limit=1)
    assert answer.counted(listed, answer.throughput(listed), english())[0].text == (
        "2 without a change seen"
    )


def test_a_large_loss_is_confirmed_in_its_first_week(mondays: Mondays) -> None:
    """On fresh deployments, of the one workload that lost; the bundle's figures can be checked."""
    mondays.quiet(8)
    week = mondays.week({INDEX: 8.0})
    assert week.screening is not None
    assert week.screening.confirming == (INDEX,)
    outcome = mondays.outcome(week)
    measured = {(one.trial.workload, one.trial.round) for one in outcome.trials}
    assert measured == {
        *((INDEX, number) for number in range(1, 7)),
        *((POINT, number) for number in (1, 2)),
    }
    found = _of(outcome)
    assert found.verdict == "regression"
    assert found.rounds_used == 4
    assert found.ci95_pct is not None
    low, high = found.ci95_pct
    assert low < -8.0 < high < 0
    assert "in this build" in str(found.reasons[0])
    assert _of(outcome, POINT).verdict == "inconclusive"
    stored = mondays.stored(week)
    assert stored.validate() == []
    paths = stored.publish()
    assert "is slower at Update Index" in paths[0].read_text()


def test_a_loss_that_fresh_deployments_do_not_show_is_not_told(mondays: Mondays) -> None:
    """It is said that it was flagged, and its weeks are no evidence any more."""
    mondays.quiet(8)
    week = mondays.week({INDEX: 8.0}, fresh={})
    assert _flagged(week) == {INDEX}
    found = _of(mondays.outcome(week))
    assert found.verdict == "inconclusive"
    assert "do not confirm it" in str(found.reasons[0])
    assert mondays.stored(week).validate() == []
    assert _flagged(mondays.week()) == set()


def test_eight_weeks_find_a_creep_that_no_week_shows(mondays: Mondays) -> None:
    """Half a per cent a week is within the noise of each campaign; the anchor stays."""
    mondays.quiet(20)
    told = None
    for week in range(1, 10):
        campaign = mondays.week({INDEX: 0.5 * week})
        if mondays.verdict(campaign) == "regression":
            told = week
            break
    assert told is not None
    assert told > 1


def test_a_known_change_is_told_once_and_said_to_last(mondays: Mondays) -> None:
    """The weeks after it are counted from there; a further loss is seen beside it."""
    mondays.quiet(8)
    assert mondays.verdict(mondays.week({INDEX: 8.0})) == "regression"
    for _ in range(3):
        week = mondays.week({INDEX: 8.0})
        assert _flagged(week) == set()
    found = _of(mondays.outcome(week))
    assert found.verdict == "inconclusive"
    assert found.estimate_pct == pytest.approx(0.0, abs=4.0)
    assert found.known_pct == pytest.approx(-8.0, abs=3.0)
    assert "later builds show as well" in str(found.reasons[1])
    stored = mondays.stored(week)
    assert stored.validate() == [], "figures computed a second time agree"
    assert mondays.verdict(mondays.week({INDEX: 16.0})) == "regression"


def test_what_the_budget_does_not_pay_for_is_named_and_not_measured(mondays: Mondays) -> None:
    """The strongest evidence is confirmed; the other workload is flagged, and the report says so"""
    mondays.quiet(8)
    week = mondays.week({INDEX: 30.0, POINT: 9.0}, pays_for=1)
    assert week.screening is not None
    assert week.screening.confirming == (INDEX,)
    assert week.screening.left_out == (POINT,)
    outcome = mondays.outcome(week)
    assert outcome.comparison.missing == ()
    assert _of(outcome, POINT).verdict == "inconclusive"
    assert "the budget did not suffice" in str(_of(outcome, POINT).reasons[0])
    assert _of(outcome).verdict == "regression"


def test_a_week_that_cannot_be_trusted_is_no_evidence(mondays: Mondays) -> None:
    """Its loss is neither flagged nor remembered."""
    mondays.quiet(8)
    week = mondays.week({INDEX: 8.0, POINT: 8.0}, unstable=True)
    assert week.screening is not None
    assert week.screening.doubted
    assert _flagged(week) == set()
    assert mondays.verdict(week) == "unstable"
    assert _flagged(mondays.week()) == set()


def test_later_weeks_do_not_change_an_earlier_report(mondays: Mondays) -> None:
    """A week that is measured afterwards for an earlier day is no evidence of it either."""
    mondays.quiet(8)
    week = mondays.week({INDEX: 8.0})
    before = mondays.outcome(week).comparison
    mondays.quiet(3)
    assert mondays.outcome(week).comparison == before


def test_other_settings_and_other_anchors_are_no_evidence(mondays: Mondays) -> None:
    """Their ratios are to something else."""
    mondays.quiet(4)
    mondays.quiet(2, seconds=5)
    mondays.quiet(2, anchor="10.3.1")
    week = mondays.week()
    assert mondays.outcome(week).comparison.weeks == tuple(f"week-0{n}" for n in range(1, 5))


def test_a_bridge_joins_two_anchors(mondays: Mondays) -> None:
    """The new anchor is 8 % slower than the old one, and the builds are as they were."""
    mondays.quiet(8)
    mondays.week(dict.fromkeys((INDEX, POINT), 8.0), build="10.11.5", design="fixed")
    gain = dict.fromkeys((INDEX, POINT), -100 * (1 / 0.92 - 1))
    for _ in range(4):
        week = mondays.week(gain, anchor="10.11.5")
        assert _flagged(week) == set()
    assert len(mondays.outcome(week).comparison.weeks) == 8 + 1 + 3
    # What is lost after the seam is seen across it.
    assert _flagged(mondays.week({INDEX: 0.0, POINT: -8.7}, anchor="10.11.5")) == {INDEX}


def test_without_a_bridge_a_new_anchor_is_a_new_beginning(mondays: Mondays) -> None:
    """Nothing is known of it, so that a difference to it is told."""
    mondays.quiet(8)
    week = mondays.week({INDEX: -9.0, POINT: -9.0}, anchor="10.11.5")
    assert mondays.outcome(week).comparison.weeks == ()


def test_parameters_that_belong_to_versions_are_no_other_setting(mondays: Mondays) -> None:
    """The new anchor gets what the report type gives such versions; weeks before stay evidence.

    A version that gets something else now does not.
    """

    def fields(anchor: str, build: str, size: int = 9) -> dict[str, Any]:
        sides = {"baseline": {"version": anchor}, "candidate": {"version": build}}
        old = {"until": "10.3.0", "parameters": {"max_heap_table_size": size}}
        return {"engines": {"mariadb": {**sides, "by_version": [old]}}}

    for number in range(2):
        mondays.week(**fields(ANCHOR, f"11.4.{number}"))
    mondays.week(**fields(ANCHOR, "11.4.7", size=7))
    mondays.week(**fields(ANCHOR, "10.11.5"), design="fixed")
    week = mondays.week(**fields("10.11.5", "11.4.8"))
    assert mondays.outcome(week).comparison.weeks == ("week-01", "week-02", "week-04")


REAL: dict[str, Any] = {"workloads": ["oltp_read_write"], "threads": [4], "seconds": 5}


def test_the_bundle_has_the_weeks_by_which_it_is_verified(mondays: Mondays, tmp_path: Path) -> None:
    """Whoever has only the bundle computes the same verdict, and sees a week that was forged."""
    mondays.quiet(6, **REAL)
    week = mondays.week(real=True, **REAL)
    assert mondays.verdict(week, "oltp_read_write") == "improvement"
    outcome = mondays.outcome(week)
    published = report_bundle.make(
        *(outcome.campaign, outcome.comparison, outcome.trials, ("en",)),
        read_object=mondays.store.read_bytes,
    )
    bundle = tmp_path / "evidence.zip"
    of: Any = {"gates": evidence.GATES, "comparison": outcome.comparison}
    bundle.write_bytes(contents.make(mondays.store, week.id, published, **of))
    found = verify(bundle)
    assert found.differences == []
    assert found.checked["campaigns before"] == 6
    files = evidence.files_of(bundle.read_bytes())
    other = json.loads(files["calibration/week-03.json"])
    other["campaign"]["ended_at"] = "2031-01-01T00:00:00Z"
    forged = evidence.forged(
        bundle.read_bytes(), {"calibration/week-03.json": evidence.as_json(other)}
    )
    bundle.write_bytes(forged)
    assert "calibration/week-03.json" in {one.file for one in verify(bundle).differences}


@pytest.mark.parametrize("is_bridged", [False, True])
def test_a_week_of_another_anchor_is_no_evidence_of_a_bundle(
    mondays: Mondays, tmp_path: Path, is_bridged: bool
) -> None:
    """A forged anchor is named with the campaign and the anchor that it has to be, before a bridge
    as well.
    """
    mondays.quiet(3, **REAL)
    anchor = "10.11.5" if is_bridged else ANCHOR
    if is_bridged:
        mondays.week(build=anchor, design="fixed", **REAL)
    week = mondays.week(anchor=anchor, real=True, **REAL)
    outcome = mondays.outcome(week)
    published = report_bundle.make(
        *(outcome.campaign, outcome.comparison, outcome.trials, ("en",)),
        read_object=mondays.store.read_bytes,
    )
    of: Any = {"gates": evidence.GATES, "comparison": outcome.comparison}
    made = contents.make(mondays.store, week.id, published, **of)
    bundle = tmp_path / "evidence.zip"
    bundle.write_bytes(made)
    assert verify(bundle).differences == []

    def faults(name: str, side: str) -> list[str]:
        file = f"calibration/{name}.json"
        other = json.loads(evidence.files_of(made)[file])
        other["campaign"]["plan"]["sides"][side]["version"] = "10.3.1"
        bundle.write_bytes(evidence.forged(made, {file: evidence.as_json(other)}))
        found = verify(bundle).differences
        return [str(one) for one in found if one.file == file]

    (said,) = faults("week-02", "baseline")
    assert "week-02 was measured against the anchor 10.3.1" in said
    assert f"what {week.id} rests on had the anchor 10.2.11 then" in said
    if is_bridged:
        (said,) = faults("week-04", "candidate")
        assert "week-04 is a bridge from 10.2.11 to the anchor 10.3.1" in said
        assert "had the anchor 10.11.5 then" in said


def test_a_new_anchor_is_first_compared_with_the_one_before(mondays: Mondays, here: Here) -> None:
    """In a campaign of its own, once; a run of it is resumed as it began."""
    mondays.quiet(2)
    spec = mondays.store.campaign("week-01").report_type
    calendar = "version,release_date,type\n10.2.11,2017-11-28,GA\n10.11.5,2023-08-14,GA\n"
    (here.home.configs / "releases.csv").write_text(calendar)
    resolver = Resolver(here.home, mondays.store, asks=Asks.NOBODY)

    def asked(anchor: str, **fields: Any) -> ReportSpec:
        return spec.with_overrides({"engines.mariadb.baseline": {"version": anchor}, **fields})

    def versions(anchor: str, **fields: Any) -> Versioned:
        on = plans.START.date() + timedelta(weeks=30)
        return resolver.versions(Request(asked(anchor, **fields), on))

    same, new = versions("newest 10.2"), versions("newest 10.11")
    assert same.spec.design == "watch"
    # What a person names, or slows down on purpose, is measured as it was asked for.
    assert versions("10.11.5").spec.design == "watch"
    assert versions("newest 10.11", slowdown_pct=20).spec.design == "watch"
    sides = new.spec.engines["mariadb"]
    assert sides.candidate is not None
    assert (sides.baseline.version, sides.candidate.version) == (ANCHOR, "10.11.5")
    assert new.spec.design == "fixed"
    assert "compared with each other first" in str(new.notes[-1])
    mondays.week(build="10.11.5", design="fixed")
    begun = mondays.store.campaign("week-03")
    own = asked("newest 10.11", seed=begun.plan.seed)
    with pytest.raises(NothingToMeasureError):
        resolver.as_begun(own, begun)
    other = own.with_overrides({"engines.mariadb.candidate.parameters": {"max_heap_table_size": 9}})
    with pytest.raises(NothingToMeasureError):
        resolver.as_begun(other, begun)
    assert versions("newest 10.11").spec.design == "watch"


CANARIES = {"runs": "weekly", "cron": "4 3 * * 2", "aa_every": 0, "release_every": 0}


def test_a_canary_is_found_and_is_no_evidence(mondays: Mondays, here: Here) -> None:
    """It is screened by the weeks before, confirmed, and told; the weeks after do not know it."""
    mondays.quiet(6)
    canary = mondays.week({INDEX: 10}, slowdown_pct=10, workloads=[INDEX])
    assert _flagged(canary) == {INDEX}
    assert mondays.verdict(canary) == "regression"
    assert len(mondays.outcome(canary).comparison.weeks) == 6
    after = mondays.week()
    assert mondays.verdict(after) == "inconclusive"
    weeks = mondays.outcome(after).comparison.weeks
    assert len(weeks) == 6
    assert canary.id not in weeks
    # Nor is it a version that was measured, nor one whose anchor needs a bridge.
    found = measured_by(here.home, mondays.store, canary.plan.report)("mariadb")
    assert canary.id not in [one.by for one in found]
    alone = mondays.store.campaign(canary.id).report_type.with_overrides({"slowdown_pct": 0})
    watched = mondays.week(workloads=[INDEX])
    used, _ = Comparer(here.home, mondays.store).watching.chances(watched.plan, alone)
    assert used
    assert canary.id not in used, "its noise is a slowdown"


def test_a_canary_of_a_schedule_says_whether_it_was_found(mondays: Mondays) -> None:
    """First of all, in its report; a person's slowdown is no canary, whatever it shows."""
    schedule = {**CANARIES, "canary_every": 1}
    mondays.quiet(6, schedule=schedule)

    def said(campaign: Campaign) -> str:
        found = mondays.outcome(campaign)
        shown = model.build(found.campaign, found.comparison, found.trials, language=english())
        return opening.text(shown)

    begins = "Canary: the slowdown of 10% on purpose was"
    for planted, loss, wanted in (
        (10, 10, f"{begins} found: Update Index -"),
        (10, 0, f"{begins} missed: Update Index "),
        (15, 15, "11.4.9 (slowed down by 15% on purpose) is slower at Update Index"),
    ):
        fields: dict[str, Any] = {
            "slowdown_pct": planted,
            "workloads": [INDEX],
            "schedule": schedule,
        }
        assert said(mondays.week({INDEX: loss}, **fields)).startswith(wanted)


def test_a_canary_waits_for_a_bridge_and_is_begun_again_as_it_was(
    mondays: Mondays, here: Here
) -> None:
    """Its workloads take turns; a new anchor is compared first, and nothing is planted then."""
    mondays.quiet(2)
    spec = mondays.store.campaign("week-01").report_type.with_overrides(
        {"schedule": {**CANARIES, "canary_every": 4, "canary_pct": 20}}
    )
    calendar = "version,release_date,type\n10.2.11,2017-11-28,GA\n10.11.5,2023-08-14,GA\n"
    (here.home.configs / "releases.csv").write_text(calendar)
    resolver = Resolver(here.home, mondays.store, asks=Asks.NOBODY)
    assert spec.schedule is not None
    begin = plans.START + timedelta(weeks=30)
    moments = [
        at
        for at in moments_between(spec.schedule, (), begin, begin + timedelta(weeks=12))
        if turn(spec.schedule, at).canary
    ]
    assert len(moments) == 3

    def versions(anchor: str, at: datetime) -> Versioned:
        asked = spec.with_overrides({"engines.mariadb.baseline": {"version": anchor}})
        return resolver.versions(Request(asked, at.date(), turn(spec.schedule, at)))

    made = [versions("newest 10.2", at).spec for at in moments]
    assert {one.slowdown_pct for one in made} == {20}
    assert {one.design for one in made} == {"watch"}
    assert [len(one.workloads) for one in made] == [1, 1, 1]
    assert made[0].workloads != made[1].workloads
    bridge = versions("newest 10.11", moments[0])
    assert (bridge.spec.design, bridge.spec.slowdown_pct) == ("fixed", 0)
    assert bridge.spec.workloads == spec.workloads
    planted = versions("newest 10.2", moments[0])
    assert "alone, its candidate slowed down by 20% on purpose" in str(planted.notes[-1])
    begun = campaigns.campaign(planted.spec, id="canary")
    begun = dataclasses.replace(begun, planned_for=moments[0], state="running")
    mondays.store.add_campaign(begun)
    assert begun.is_canary
    again = resolver.as_begun(
        spec.with_overrides({"seed": planted.spec.seed, "engine": "mariadb"}), begun
    )
    assert again.spec.workloads == planted.spec.workloads
    assert again.spec.slowdown_pct == 20
    # Measured with the same plan or not, the next one is measured, too.
    assert already_measured(here.home, mondays.store, planted.spec, "mariadb") is None


def test_a_bridge_of_a_later_day_leads_nowhere(mondays: Mondays, here: Here) -> None:
    """A backfill comes to a new anchor in the past: weeks of then know no bridge of today."""
    mondays.quiet(2)
    spec = mondays.store.campaign("week-01").report_type
    calendar = "version,release_date,type\n10.2.11,2017-11-28,GA\n10.11.5,2023-08-14,GA\n"
    (here.home.configs / "releases.csv").write_text(calendar)
    for _ in range(3):
        mondays.week(build="10.11.5", design="fixed")
    asked = spec.with_overrides({"engines.mariadb.baseline": {"version": "newest 10.11"}})
    resolver = Resolver(here.home, mondays.store, asks=Asks.NOBODY)
    designs = [
        resolver.versions(Request(asked, plans.START.date() + timedelta(weeks=weeks))).spec.design
        for weeks in (2, 30)
    ]
    assert designs == ["fixed", "watch"]


def test_a_plan_says_how_likely_it_tells_a_loss(mondays: Mondays, here: Here) -> None:
    """By assumption at first; by the noise of its own campaigns once there are some."""
    spec = mondays.week().report_type

    def told() -> PlanSensitivity:
        resolved = plans.resolved(spec, "mariadb")
        planned = mondays.store.campaign("week-01").plan
        found = plan_sensitivity(here.home, resolved, planned, mondays.store)
        assert found is not None
        return found

    first = told()
    mondays.quiet(12)
    later = told()
    assert first.told is not None
    assert later.told is not None
    assert (len(first.campaigns), len(later.campaigns)) == (1, 13)
    assert 0 < first.told.now < later.told.now < later.told.soon <= 100
    (line,) = plan_lines(later, mondays.store.campaign("week-01").plan)
    assert line.startswith("sensitivity, by the noise of 13 campaigns: a loss of 5% is detected")


def test_the_long_view_goes_through_the_weeks(mondays: Mondays) -> None:
    """Every build is at its distance from the anchor, also after a change has become known."""
    mondays.quiet(8)
    for _ in range(4):
        mondays.week({INDEX: 12.0})
    view = long_view(Comparisons(mondays.home, mondays.store), weekly.REPORT, INDEX)
    (chain,) = view.chains
    assert len(chain.links) == 12
    assert not view.left_out
    levels = [100 * math.expm1(link.point.level) for link in chain.links]
    assert levels[:8] == pytest.approx([0.0] * 8, abs=5.0)
    assert levels[8:] == pytest.approx([-12.0] * 4, abs=5.0)


def test_a_change_that_was_never_told_is_not_known_later(mondays: Mondays) -> None:
    """The rounds that confirm it cannot be trusted, or are too few: it is flagged again."""
    mondays.quiet(8)
    unstable = mondays.week({INDEX: 8.0}, fresh_unstable=True)
    assert mondays.verdict(unstable) == "unstable"
    assert mondays.stored(unstable).validate() == []
    few = mondays.week({INDEX: 8.0}, fresh_rounds=2)
    found = _of(mondays.outcome(few))
    assert found.verdict == "inconclusive"
    assert "no fresh deployment has a valid figure" in str(found.reasons[0])
    assert mondays.outcome(few).comparison.missing
    week = mondays.week({INDEX: 8.0})
    assert _flagged(week) == {INDEX}
    assert mondays.verdict(week) == "regression"


def test_a_campaign_whose_screening_was_not_decided_is_not_complete(mondays: Mondays) -> None:
    """Nobody takes it for a quiet one; a run of it again decides."""
    week = mondays.week()
    environment = {k: v for k, v in week.environment.items() if k != screening.KEY}
    mondays.store.set_environment(week.id, environment)
    stored = mondays.stored(week)
    assert stored.finish().campaign.state == "failed"
    with pytest.raises(NotMeasuredError, match="not decided which of them are confirmed"):
        stored.verdict()
