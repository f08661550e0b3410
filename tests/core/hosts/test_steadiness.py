"""How steady a machine computes, by what its cores compute in windows of time."""

from __future__ import annotations

import hashlib
import statistics

import pytest

from benchlab.hosts import steadiness


@pytest.mark.parametrize("shares", [[1.0] * 10, [1.0, 0.5] * 5])
def test_it_is_the_variation_of_what_is_computed(
    monkeypatch: pytest.MonkeyPatch, shares: list[float]
) -> None:
    """A clock of the test's, on which a block takes longer in some windows."""
    now = 0.0

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return now

    def hash_a_block(_: bytes) -> None:
        nonlocal now
        window = min(int(now / steadiness.WINDOW_S + 1e-9), len(shares) - 1)
        now += steadiness.WINDOW_S / 64 / shares[window]

    monkeypatch.setattr(steadiness, "time", Clock)
    monkeypatch.setattr(hashlib, "sha256", hash_a_block)
    expected = statistics.stdev(shares) / statistics.fmean(shares)
    assert steadiness.variation(1) == pytest.approx(expected, abs=0.02)
