"""What the decision rule promises of itself, as ``make study`` counts it, in fewer campaigns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchlab.analysis.verdict.decision import shares
from benchlab.analysis.verdict.estimates import calibrate
from benchlab.plan.metric import LATENCY, THROUGHPUT
from tools.study import at_once, promises, rules
from tools.study.bounds import Row, Share
from tools.study.worlds import DEPLOYMENT, Array, as_aa_campaigns, draw, in_one_column

# So rarely a promise that holds seems broken here; there are many of them.
CHANCE = 0.001
FEW, MANY = 50, 500


def chance_of(row: Row, campaigns: int) -> float:
    """How likely so many hits are, or more that speak against it, where the bound is just kept."""
    share = promises.simulated(row, campaigns)
    at_bound = stats.binom(share.count, row.bound / 100)
    return float(at_bound.sf(share.hits - 1) if row.at_most else at_bound.cdf(share.hits))


@pytest.mark.parametrize("row", promises.rows(), ids=promises.name_of)
def test_what_is_promised_holds(row: Row) -> None:
    """Within what chance explains in few campaigns."""
    assert chance_of(row, FEW) > CHANCE


@pytest.mark.long
@pytest.mark.parametrize("row", promises.rows(), ids=promises.name_of)
def test_what_is_promised_holds_in_many_campaigns(row: Row) -> None:
    """The same, more sharply."""
    assert chance_of(row, MANY) > CHANCE


@pytest.mark.parametrize(("deployments", "aa_campaigns"), [(1, 0), (1, 5), (3, 5), (6, 0), (6, 3)])
def test_campaigns_are_judged_at_once_as_the_rule_judges_each(
    deployments: int, aa_campaigns: int
) -> None:
    """Else the study would make promises of another rule."""
    campaigns, random = 20, np.random.default_rng(4)
    loss = np.log([[0.9], [0.95], [1.0], [1.0], [1.03]])
    drawn = draw(DEPLOYMENT, campaigns, random, deployments=deployments, change=loss)
    own = in_one_column(drawn)
    aa = in_one_column(draw(DEPLOYMENT, max(aa_campaigns, 1), random))
    known = calibrate(as_aa_campaigns(aa)) if aa_campaigns else None
    one_by_one = rules.ours(own, [known] * campaigns, deployments)

    def ratios(throughputs: Array, each: int) -> Array:
        found = np.log(throughputs[..., 1] / throughputs[..., 0])
        return np.asarray(found.reshape(*found.shape[:2], each, -1))

    shown = np.repeat(ratios(aa, 1).swapaxes(0, 2), campaigns, axis=0)
    together = replace(
        at_once.judged(ratios(own, deployments), shown if aa_campaigns else None),
        share=shares((THROUGHPUT, LATENCY))[THROUGHPUT],
    )
    assert (together.called == one_by_one.called).all()
    assert (together.equivalent == one_by_one.equivalent).all()
    assert (together.covered == ((one_by_one.low <= 0) & (one_by_one.high >= 0))).all()
    assert (together.called != 0).any()


def test_a_broken_promise_is_told() -> None:
    """A share beyond its bound, by more than the simulation's own error; a near miss is none."""
    (row, *_) = promises.rows()
    bound, hundred = round(row.bound), 100
    worst, near = (
        promises.Kept(row, Share(hits, hundred))
        for hits in (hundred if row.at_most else 0, bound + 1 if row.at_most else bound - 1)
    )
    assert promises.broken([near, worst]) == [worst]
    assert str(worst).startswith(f"{row.world}: {row.counted} in ")
