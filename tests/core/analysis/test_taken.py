"""How many deployments a plan with looks takes, before it is measured."""

from __future__ import annotations

import numpy as np
import pytest

from benchlab.analysis.error_rates.deployments import Noise, assumed
from benchlab.analysis.error_rates.taken import taken

LOOKS = range(3, 9)


def test_the_mean_is_that_of_simulated_campaigns() -> None:
    """`make study` ends 1,000 campaigns of five workloads by the whole rule: 4.8 of 8."""
    found = taken(assumed([3] * 5), LOOKS, rounds=8, threshold_pct=2)
    assert found.shape[1] == 5
    assert set(np.unique(found)) <= set(LOOKS)
    assert found.mean() == pytest.approx(4.8, abs=0.4)
    assert found.max(axis=1).mean() == pytest.approx(7.0, abs=0.4)


def test_what_noise_hides_from_any_number_of_deployments_ends_early() -> None:
    """Where five times the noise is known, three deployments show that eight decide nothing."""
    noisy = assumed([3] * 5)
    noisy = Noise([25 * found for found in noisy.rounds], noisy.shown, noisy.known)
    assert taken(noisy, LOOKS, rounds=8, threshold_pct=2).mean() < 4
    quiet = Noise([found / 25 for found in noisy.rounds], noisy.shown, noisy.known)
    assert taken(quiet, LOOKS, rounds=16, threshold_pct=2).shape == (400, 5)
