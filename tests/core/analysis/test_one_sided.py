"""What only one side shows, or so much more often that chance does not explain it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.analysis.verdict.by_side import one_sided, where_seen
from benchlab.plan.report_type import SIDES


@pytest.mark.parametrize(
    ("baseline", "candidate", "least", "told"),
    [
        (0, 0, 1, None),
        (0, 1, 1, "only on the candidate side, in 1 trial"),
        (2, 0, 1, "only on the baseline side, in 2 trials"),
        (0, 5, 6, None),
        (0, 6, 6, "only on the candidate side, in 6 trials"),
        (1, 5, 1, None),
        (1, 36, 1, "much more often on the candidate side, in 36 trials against 1"),
        (20, 30, 1, None),
    ],
)
def test_one_side(baseline: int, candidate: int, least: int, told: str | None) -> None:
    """One failure on the other side does not hide thirty-six."""
    counts = {"baseline": baseline, "candidate": candidate}
    found = one_sided(counts, least)  # type: ignore[arg-type]
    assert (str(where_seen("trials", *found)) if found else None) == told


@given(st.integers(0, 500), st.integers(0, 500), st.integers(1, 10))
def test_it_is_the_same_for_either_side(one: int, other: int, least: int) -> None:
    """Sides that change places change only their names."""
    found = one_sided(dict(zip(SIDES, (one, other), strict=True)), least)
    swapped = one_sided(dict(zip(SIDES, (other, one), strict=True)), least)
    assert (found is None) == (swapped is None)
    if found and swapped:
        assert found[1:] == swapped[1:]
