"""What the seconds of a trial buy: the study finds what simulated series are made of."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from tools.study import seconds
from tools.study.seconds import Run

LENGTH, LEVEL, EACH = 240, 1000.0, 0.06
"""Seconds of a trial, its throughput, and by how much one second varies."""


def runs(
    *,
    correlation: float = 0.0,
    of_trials: float = 0.0,
    of_deployments: float = 0.0,
    cold: float = 0.0,
    deployments: int = 40,
    rounds: int = 3,
) -> Iterator[Run]:
    """Trials of both sides at two thread counts; standard deviations are relative.

    Args:
        correlation: of neighbouring seconds.
        of_trials, of_deployments: of a trial as a whole, and of the candidate's deployment.
        cold: by how much the first second is slower; a third of it is left every second.
    """
    random = np.random.default_rng(20280101)
    for deployment in range(deployments):
        own = random.normal(0, of_deployments)
        for number in range(rounds):
            for threads in (2, 8):
                for side in ("baseline", "candidate"):
                    noise = random.normal(0, EACH * math.sqrt(1 - correlation**2), LENGTH)
                    noise[0] = random.normal(0, EACH)
                    for at in range(1, LENGTH):
                        noise[at] += correlation * noise[at - 1]
                    level = LEVEL * math.exp(
                        random.normal(0, of_trials) + own * (side != "baseline")
                    )
                    values = level * (1 + noise - cold / 3.0 ** np.arange(LENGTH))
                    place = (side, deployment * rounds + number + 1, deployment + 1)
                    yield Run("tpcc", threads, *place, np.arange(1.0, LENGTH + 1), values)


def test_a_mean_over_more_seconds_varies_less_by_what_series_say() -> None:
    """By the root of the seconds, more where neighbouring ones go together."""
    alone = [*runs()]
    assert seconds.within(alone, 4) == pytest.approx(EACH / 2, rel=0.05)
    assert seconds.explained(alone, 36) == pytest.approx(EACH / 6, rel=0.1)
    assert seconds.together(alone) == pytest.approx(0, abs=0.05)
    alike = [*runs(correlation=0.5)]
    assert seconds.explained(alike, 36) == pytest.approx(EACH / 6 * math.sqrt(3), rel=0.15)
    assert seconds.together(alike) == pytest.approx(0.5, abs=0.05)
    assert seconds.within(alone, LENGTH) is None, "one mean does not vary"


def test_what_the_first_seconds_lack_is_found_with_its_error() -> None:
    """A trial that begins cold is slower by that, and not any more later."""
    found = [*runs(cold=0.3)]
    slower, error = seconds.transient(found, 0, 1)
    assert slower == pytest.approx(-0.3, abs=4 * error)
    assert error < 0.01
    later, error = seconds.transient(found, 8, 12)
    assert later == pytest.approx(0, abs=4 * error)


def test_rounds_and_deployments_are_told_apart() -> None:
    """Of a log ratio, over two thread counts; the seconds that are left out count for neither."""
    found = [*runs(of_trials=0.01, of_deployments=0.02, cold=0.5)]
    squares = seconds.scatter(found, 60, left_out=12)
    assert squares is not None
    of_rounds, of_deployments = seconds.deviations(squares)
    own = math.sqrt(0.01**2 + EACH**2 / 60)
    assert of_rounds == pytest.approx(own, rel=0.2), "two sides, two thread counts"
    assert of_deployments == pytest.approx(0.02, rel=0.3)
    assert seconds.scatter(found, LENGTH, left_out=12) is None, "no trial is as long"
