"""How steady a machine computes, by what its cores compute in windows of time."""

from __future__ import annotations

import math

import pytest

from benchlab.hosts import steadiness


def test_it_is_the_variation_of_what_all_cores_compute_together() -> None:
    """What one core loses and the other gains is no variation."""
    assert steadiness.of_counts([["10", "20"], ["20", "10"]]) == 0
    assert steadiness.of_counts([["10", "20"], ["10", "20"]]) == pytest.approx(math.sqrt(200) / 30)


def test_every_core_counts_in_every_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """For real, in short windows."""
    seen: list[list[str]] = []

    def of_counts(counts: list[list[str]]) -> float:
        seen.extend(counts)
        return 0.5

    monkeypatch.setattr(steadiness, "WINDOW_S", 0.02)
    monkeypatch.setattr(steadiness, "of_counts", of_counts)
    assert steadiness.variation() == 0.5
    assert seen
    for counts in seen:
        assert len(counts) == steadiness.WINDOWS
        assert all(int(count) >= 0 for count in counts)
