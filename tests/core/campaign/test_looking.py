"""Report types with `design: release`: looks after deployments, and workloads that leave."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchlab.analysis.verdict.compare import WorkloadComparison
from benchlab.campaign.looking import look
from benchlab.campaign.outcome import Comparer, Outcome
from benchlab.campaign.stored import StoredCampaign
from benchlab.report import bundle as report_bundle
from benchlab.report.evidence import contents
from benchlab.report.evidence.verify import verify
from benchlab.results import looks
from benchlab.results.records import Campaign
from benchlab.studies.comparisons import Comparisons
from tests.builders import campaigns, evidence, weekly

INDEX, POINT, REAL = "oltp_update_index", "oltp_point_select", "oltp_read_write"
DEPLOYMENTS = 8


class Releases:
    """Measures campaigns whose figures are made up, deployment by deployment, and looks."""

    def __init__(self, of: weekly.Weeks) -> None:
        self.home, self.store, self.number = of.home, of.store, 0

    def campaign(
        self,
        losses: Mapping[str, float] | None = None,
        *,
        noise: Mapping[str, float] | None = None,
        until: int = DEPLOYMENTS,
        real: bool = False,
        turns: int = DEPLOYMENTS,
        lacks: Collection[tuple[int, int]] = (),
        **fields: Any,
    ) -> Campaign:
        """Measure one.

        Args:
            losses: by how much a workload's candidate is truly slower, in percent.
            noise: the standard deviation of a round of a workload, as a logarithm.
            until: its last deployment; then it is interrupted.
            real: trials have recorded outputs, by which the candidate is 11 % faster.
            turns: after so many deployments the losses are gains of the same size.
            lacks: the rounds and thread counts whose candidate has no valid trial.
        """
        self.number += 1
        usual = {"rounds": DEPLOYMENTS, "deployments": DEPLOYMENTS, "design": "release"}
        made = campaigns.campaign(
            **{"id": f"release-{self.number}", **usual, "restore": "per_workload", **fields}
        )
        self.store.add_campaign(made)
        draws = random.Random(self.number)
        ratios: dict[tuple[str, int], float] = {}
        for deployment in range(1, until + 1):
            wanted = self.store.campaign(made.id).wanted.trials
            own = [t for t in wanted if made.plan.deployment_of(t.round) == deployment]
            for trial in own:
                if real:
                    evidence.keep(self.store, made.id, evidence.measured(made, trial))
                    continue
                sd = (noise or {}).get(trial.workload, 0.01)
                true = math.log1p(-(losses or {}).get(trial.workload, 0.0) / 100)
                true *= 1 if deployment <= turns else -1
                ratio = ratios.setdefault(trial.pair[::-1], true + draws.gauss(0, sd))
                tps = 1000.0 * math.exp(ratio if trial.side == "candidate" else 0.0)
                gone = (trial.round, trial.threads) in lacks and trial.side == "candidate"
                kept = campaigns.trial_result(
                    trial, tps=tps, p95_ms=2000 / tps, reasons=("made up",) * gone
                )
                self.store.add_trial(made.id, kept)
            if own and deployment in made.plan.looks[:-1]:
                self.look(made.id, deployment)
        return self.store.campaign(made.id)

    def look(self, name: str, after: int) -> looks.Look:
        """Look at a campaign, as its own process does after a deployment."""
        campaign = self.store.campaign(name)
        found = look(Comparer(self.home, self.store), campaign, self.store.trials(name), after)
        text = looks.as_text((*campaign.looks, found))
        self.store.add_to_environment(name, looks.KEY, text)
        return found

    def outcome(self, campaign: Campaign) -> Outcome:
        """Its verdicts, as any process computes them."""
        return Comparer(self.home, self.store).outcome(campaign)

    def stored(self, campaign: Campaign) -> StoredCampaign:
        """The campaign with what publishes it."""
        return StoredCampaign(self.home, self.store, campaign)


def of(outcome: Outcome, workload: str = INDEX) -> WorkloadComparison:
    """What was found of one workload."""
    return next(one for one in outcome.comparison.workloads if one.name == workload)


@pytest.fixture
def releases(tmp_path: Path) -> Iterator[Releases]:
    """A report type that was never run."""
    with weekly.installation(tmp_path) as installed:
        yield Releases(installed)


def test_a_large_loss_is_told_after_three_deployments(releases: Releases) -> None:
    """Others are measured on; the published report says which took how many, and nothing lacks."""
    campaign = releases.campaign({INDEX: 20.0}, noise={POINT: 0.02})
    assert campaign.looks[0] == looks.Look(3, {INDEX: "regression"})
    outcome = releases.outcome(campaign)
    found = of(outcome)
    assert (found.verdict, found.rounds_used) == ("regression", 3)
    assert found.ci95_pct is not None
    assert found.ci95_pct[0] < -20 < found.ci95_pct[1] < -2
    assert of(outcome, POINT).rounds_used > 3
    assert outcome.comparison.missing == ()
    stored = releases.stored(campaign)
    assert stored.validate() == [], "figures computed a second time agree"
    page = stored.publish()[0].read_text()
    assert "Update Index took 3 (slower)" in page
    assert "After 3 deployments, and after each further one" in page


def test_what_was_decided_stays_whatever_others_measure_later(releases: Releases) -> None:
    """The estimate of a workload rests on what there was when it was measured last."""
    early = releases.campaign({INDEX: 20.0}, noise={POINT: 0.02}, until=3)
    later = releases.campaign({INDEX: 20.0}, noise={POINT: 0.02})
    trials = [
        dataclasses.replace(one, trial=next(t for t in later.plan.trials if t.id == one.trial.id))
        for one in releases.store.trials(early.id)
    ]
    others = [one for one in releases.store.trials(later.id) if one.trial.round > 3]
    compared = Comparer(releases.home, releases.store)
    whole = of(compared.outcome(later, [*trials, *others]))
    first = of(compared.outcome(dataclasses.replace(later, plan=early.plan), trials))
    assert (whole.verdict, whole.estimate_pct, whole.ci95_pct) == (
        *("regression", first.estimate_pct, first.ci95_pct),
    )


def test_what_hardly_anything_would_decide_is_measured_no_further(releases: Releases) -> None:
    """Noise of 15 % a round neither shows a change of 2 % nor that there is none."""
    campaign = releases.campaign(noise={INDEX: 0.15, POINT: 0.15})
    why = {name: why for one in campaign.looks for name, why in one.left.items()}
    assert why == dict.fromkeys((INDEX, POINT), "out of reach")
    assert campaign.looks[-1].after < DEPLOYMENTS - 1
    assert of(releases.outcome(campaign)).verdict == "inconclusive"
    assert (
        "out of reach: the others would hardly"
        in releases.stored(campaign).publish()[0].read_text()
    )


def test_an_interval_is_wider_the_earlier_the_look(releases: Releases) -> None:
    """It holds whichever look ended measuring: a fixed plan of three rounds claims more."""
    early = of(releases.outcome(releases.campaign({INDEX: 5.0}, until=3)))
    whole = campaigns.campaign(
        id="fixed", design="fixed", rounds=3, deployments=3, restore="per_workload"
    )
    releases.store.add_campaign(whole)
    for one in releases.store.trials("release-1"):
        (trial,) = (
            t
            for t in whole.plan.trials
            if (t.round, t.workload, t.threads, t.side)
            == (one.trial.round, one.trial.workload, one.trial.threads, one.trial.side)
        )
        releases.store.add_trial("fixed", dataclasses.replace(one, trial=trial))
    other = of(releases.outcome(releases.store.campaign("fixed")))
    assert early.estimate_pct == pytest.approx(other.estimate_pct)
    assert early.ci95_pct is not None
    assert other.ci95_pct is not None
    assert early.ci95_pct[0] < other.ci95_pct[0]
    assert early.ci95_pct[1] > other.ci95_pct[1]
    assert (early.p_adjusted or 0) > (other.p_adjusted or 1)


def test_the_bundle_of_a_release_can_be_verified(releases: Releases, tmp_path: Path) -> None:
    """Its verdicts follow from its trials and looks, and nothing lacks.

    Trials after a look that was moved to an earlier deployment are named.
    """
    campaign = releases.campaign(real=True, workloads=[REAL], threads=[4], seconds=5)
    assert campaign.looks[0].left == {REAL: "improvement"}
    outcome = releases.outcome(campaign)
    published = report_bundle.make(
        *(outcome.campaign, outcome.comparison, outcome.trials, ("en",)),
        read_object=releases.store.read_bytes,
    )
    bundle = tmp_path / "evidence.zip"
    made = contents.make(
        *(releases.store, campaign.id, published),
        gates=evidence.GATES,
        comparison=outcome.comparison,
    )
    bundle.write_bytes(made)
    assert verify(bundle).differences == []
    assert outcome.comparison.missing == ()
    document = json.loads(evidence.files_of(made)["campaign.json"])
    earlier = looks.as_text([looks.Look(2, {REAL: "improvement"})])
    document["environment"][looks.KEY] = earlier
    forged = evidence.forged(made, {"campaign.json": evidence.as_json(document)})
    bundle.write_bytes(forged)
    assert "trials.json" in {one.file for one in verify(bundle).differences}


def test_the_long_view_has_the_verdicts_of_the_report(releases: Releases) -> None:
    """It computes them from kept figures, without the trials."""
    campaign = releases.campaign({INDEX: 20.0}, noise={POINT: 0.02})
    shown = Comparisons(releases.home, releases.store).compared(campaign)
    for one in releases.outcome(campaign).comparison.workloads:
        assert shown.verdicts[one.name].verdict == one.verdict
        assert shown.verdicts[one.name].ci95_pct == one.ci95_pct


def test_a_thread_count_that_was_left_out_at_first_counts_in_the_end(releases: Releases) -> None:
    """The verdict rests on all figures, and they are computed a second time alike."""
    campaign = releases.campaign(
        {INDEX: 3.0},
        noise={INDEX: 0.02, POINT: 0.02},
        lacks=[(1, 8), (2, 8)],
        rounds=5,
        deployments=5,
        repeat_limit=0,
    )
    found = of(releases.outcome(campaign))
    assert found.estimate_pct is not None
    assert found.ci95_pct is not None
    assert found.ci95_pct[0] < found.estimate_pct < found.ci95_pct[1]
    (incomplete, *_) = releases.stored(campaign).validate()
    assert "gate complete_rounds failed: found 2" in incomplete


def test_what_turned_round_after_an_early_look_is_no_change(releases: Releases) -> None:
    """Early p values count only for a change of the same direction."""
    campaign = releases.campaign({INDEX: 4.0}, noise={INDEX: 0.001, POINT: 0.02}, turns=3, until=3)
    early = of(releases.outcome(campaign))
    assert early.p_adjusted is not None
    assert early.p_adjusted < 0.05
    releases.number = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Releases, "look", lambda *_: None)  # it is measured whole all the same
        whole = releases.campaign({INDEX: 4.0}, noise={INDEX: 0.001}, turns=3, id="turned")
    found = of(releases.outcome(whole))
    assert found.verdict == "inconclusive"
    assert found.p_adjusted is not None
    assert found.p_adjusted > 0.05


def test_a_campaign_that_was_stopped_says_so_and_not_that_it_cannot_decide(
    releases: Releases,
) -> None:
    """After three of eight deployments without a verdict the rest might have decided it."""
    campaign = releases.campaign({INDEX: 3.0}, noise={INDEX: 0.02, POINT: 0.02}, until=3)
    (page, *_) = releases.stored(campaign).publish()
    text = page.read_text()
    assert "was measured in 3, after which measuring stopped" in text
    assert "it was not decided after 3 of 8 deployments" in text
    assert "deployments per side would be needed" not in text
    early = releases.campaign({INDEX: 3.0}, until=2)
    assert "the first look is after 3" in str(of(releases.outcome(early)).reasons[-1])


def test_any_prefix_of_a_release_design_has_balanced_sides(releases: Releases) -> None:
    """Each deployment may be the last, and which side is first has an effect of its own."""
    plan = releases.campaign(until=0, seed=3).plan
    for count in range(1, DEPLOYMENTS + 1):
        prepared = [plan.in_order(number)[0] for number in range(1, count + 1)]
        assert abs(2 * prepared.count("baseline") - count) <= 1
        firsts = [
            next(t.side for t in plan.trials if t.pair == (n, INDEX)) for n in range(1, count + 1)
        ]
        assert abs(2 * firsts.count("baseline") - count) <= 1
