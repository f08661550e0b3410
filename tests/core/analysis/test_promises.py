"""What the decision rule promises of itself, as ``make study`` counts it, in fewer campaigns."""

from __future__ import annotations

import pytest
from scipy import stats

from tests.study import promises
from tests.study.bounds import Row
from tests.study.figures import Share

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
