"""The decision rule's error rates, by simulation: how often it claims a change that is not there.

The seeds are fixed. What is simulated says :mod:`tools.study.worlds`. Where no single thread count
is looked for, the rule gets their mean, which is all that it sees of them.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchlab import home
from benchlab.analysis.elsewhere import compare
from benchlab.analysis.verdict.estimates import calibrate
from benchlab.plan.report_type import SIDES
from benchlab.report import gate_files
from tools.study import rules, worlds
from tools.study.rules import Ours
from tools.study.worlds import DEPLOYMENT, DRIFT, NOISE, TAILS, Array, World

CAMPAIGNS = 600
# Of a nominal 5 %, with the simulation's own error.
ALLOWED = 0.06
FAR = replace(DEPLOYMENT, name="deployments of 3 %", deployment_sd=0.03)
ALIKE = replace(DEPLOYMENT, name="deployment, alike for all workloads", alike=True)


def name(world: World) -> str:
    """A world as pytest shows it."""
    return world.name


def judged(world: World, aa_campaigns: int, seed: int, campaigns: int, loss: float = 0.0) -> Ours:
    """What the rule finds in campaigns whose first workload has lost so many percent.

    Calibrations are drawn afresh all the time (one for two campaigns from five A/A campaigns, for
    ten from twenty). So a rate is that over all calibrations; one alone may be better or worse.
    """
    rng = np.random.default_rng(seed)
    throughputs = worlds.draw(world, campaigns, rng, change=worlds.one_workload(-loss))
    known = rules.calibrations(world, aa_campaigns, campaigns, rng)
    return rules.ours(worlds.in_one_column(throughputs), known)


def false_alarms(world: World, aa_campaigns: int, seed: int, campaigns: int = CAMPAIGNS) -> float:
    """The share of campaigns without any change in which adjusted p is below 0.05 somewhere.

    The threshold does not count, so that this is more than is called a change.
    """
    counted = judged(world, aa_campaigns, seed, campaigns).counted
    assert counted is not None
    return float(counted.any(axis=1).mean())


@pytest.mark.parametrize("world", [DRIFT, TAILS], ids=name)
def test_what_varies_from_round_to_round_makes_no_more_false_alarms_than_allowed(
    world: World,
) -> None:
    """Noise is in the interval, outliers widen it, and drift of both sides cancels."""
    assert false_alarms(world, 0, seed=1) <= ALLOWED


def test_deployments_that_differ_more_than_anything_shows_make_false_alarms() -> None:
    """Without A/A campaigns there are several times as many: the other tests can fail."""
    assert false_alarms(FAR, 0, seed=2, campaigns=300) > 2 * ALLOWED


@pytest.mark.parametrize(
    ("world", "aa_campaigns"),
    [(DEPLOYMENT, 5), (DEPLOYMENT, 20), (ALIKE, 5)],
    ids=lambda value: str(getattr(value, "name", value)),
)
def test_a_calibrated_rule_makes_no_more_false_alarms_than_allowed(
    world: World, aa_campaigns: int
) -> None:
    """A/A campaigns, even five, show how deployments differ."""
    assert false_alarms(world, aa_campaigns, seed=3) <= ALLOWED


@pytest.mark.parametrize("aa_campaigns", [0, 20])
def test_a_tenth_less_is_found(aa_campaigns: int) -> None:
    """One workload lost 10 %: nearly always a regression, with a calibration too."""
    called = judged(DEPLOYMENT, aa_campaigns, seed=4, campaigns=200, loss=10).called
    assert (called[:, 0] == -1).mean() >= 0.95


def test_a_tenth_less_is_found_mostly_with_five_aa_campaigns() -> None:
    """Five show a variance badly: the interval is wider, and two of three are found at least."""
    called = judged(DEPLOYMENT, 5, seed=5, campaigns=200, loss=10).called
    assert (called[:, 0] == -1).mean() >= 2 / 3


@pytest.mark.parametrize("column", [0, 5])
def test_a_thread_count_that_lost_a_tenth_is_named_and_no_other(column: int) -> None:
    """In a mean over six it is 1.7 %, below the threshold: it must not hide there."""
    rng = np.random.default_rng(6)
    throughputs = worlds.draw(NOISE, 200, rng, change=worlds.one_cell(-10, column))
    found = rules.ours(throughputs, [None] * 200)
    exactly = [
        columns[0] == (worlds.THREADS[column],) and not any(columns[1:]) for columns in found.named
    ]
    assert np.mean(exactly) >= 0.85


def test_no_thread_count_is_named_where_none_moved() -> None:
    """A campaign names one in 5 % of cases at most."""
    throughputs = worlds.draw(NOISE, 300, np.random.default_rng(7))
    named = rules.ours(throughputs, [None] * 300).named
    assert np.mean([any(columns) for columns in named]) <= ALLOWED


def test_the_interval_contains_the_truth_as_often_as_it_says() -> None:
    """95 of 100 intervals contain the change that is there, whatever its size.

    With a deployment a round, nothing that varies is left to be guessed.
    """
    rng = np.random.default_rng(8)
    truth = np.log1p(np.array([[0.0], [-0.02], [0.05], [-0.3], [1.0]]))
    throughputs = worlds.draw(NOISE, CAMPAIGNS, rng, deployments=worlds.ROUNDS, change=truth)
    known = rules.calibrations(NOISE, 0, CAMPAIGNS, rng)
    found = rules.ours(worlds.in_one_column(throughputs), known, worlds.ROUNDS)
    inside = (found.low <= 100 * np.expm1(truth[:, 0])) & (
        found.high >= 100 * np.expm1(truth[:, 0])
    )
    assert 0.94 <= inside.mean() <= 0.96


def test_the_command_line_decides_as_the_rule_does(tmp_path: Path) -> None:
    """Trials in a file, A/A campaigns in another: the same verdicts, no more false alarms."""
    rng = np.random.default_rng(9)
    trials = worlds.draw(DEPLOYMENT, 100, rng, threads=2)
    aa_campaigns = worlds.draw(DEPLOYMENT, 20, rng, threads=2)
    outcome = compare.compare(
        gate_files.load_all(home.find().configs / "quality"),
        written(tmp_path / "trials.csv", trials),
        written(tmp_path / "aa.csv", aa_campaigns),
        rules.THRESHOLD_PCT,
    )
    known = calibrate(worlds.as_aa_campaigns(aa_campaigns))
    expected = rules.ours(trials, [known] * 100)
    verdicts = [[found.verdict for found in campaign.workloads] for campaign in outcome.campaigns]
    sign = {"improvement": 1, "regression": -1}
    assert [[sign.get(v, 0) for v in row] for row in verdicts] == expected.called.tolist()
    adjusted = np.array(
        [[found.p_adjusted for found in campaign.workloads] for campaign in outcome.campaigns],
        dtype=float,
    )
    assert (adjusted < 0.05).any(axis=1).mean() <= ALLOWED
    bases = {found.basis for campaign in outcome.campaigns for found in campaign.workloads}
    assert bases == {"A/A campaigns"}


def written(path: Path, throughputs: Array) -> Path:
    """Throughputs as a file of trials, of full precision."""
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(("campaign", "workload", "threads", "round", "side", "tps"))
        for (campaign, workload, number, column, side), value in np.ndenumerate(throughputs):
            lines.writerow(
                (
                    *(f"c{campaign}", worlds.WORKLOADS[workload], worlds.THREADS[column]),
                    *(number + 1, SIDES[side], repr(float(value))),
                )
            )
    return path
