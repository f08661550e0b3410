"""The sensitivity of campaigns with other rounds and trial lengths than those that were measured.

The variance of a round's log ratio, within one deployment and with trials of T seconds, is modelled
as

    var(d_r) = part / T + rest

* `part` is noise within the trials, which averages out in longer ones. The series of the trials
  show it: the mean over T seconds of a stationary series has variance L / T for large T, where L is
  its long-run variance, which allows for the correlation of neighbouring intervals. L is estimated
  by batch means (Law and Kelton, Simulation Modeling and Analysis, 9.5.3) with batches of sqrt(n)
  of the n intervals. As the metric enters by its logarithm, L is divided by the squared mean of the
  series. d_r is the mean over thread counts of a difference of two such logarithms, so that
  part = sum of L over thread counts and sides / (number of thread counts)^2.
* `rest` is what differs between trials but not within them: restored data, warm caches, what else
  the machine does. Longer trials do not reduce it. Where the series happen to explain more than the
  rounds show, `rest` is zero.

Where series are missing, all of the variance counts as `rest`: longer trials are assumed not to
help.

The mean over R rounds has variance var(d_r) / R. The deployment variance shrinks with neither R
nor T.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean

from benchlab.analysis.error_rates.rates import found_from, smallest
from benchlab.analysis.error_rates.resampling import NoiseModel, resample
from benchlab.arrays import np

FEWEST_INTERVALS = 4
ROUNDS = (*range(2, 11), 12, 14, 16, 20, 24, 28, 32, 40, 50, 64, 80, 100)
"""The numbers of rounds that are tried."""
_LENGTHS = (0.25, 0.5, 1, 2, 4, 8)
_RESAMPLES = 2_000

Cell = tuple[int, str]
"""Thread count and side."""


@dataclass(frozen=True)
class RoundVariance:
    """The variance of one workload's log ratio in a round, by the length of its trials.

    Attributes:
        seconds: length of the trials that were measured.
        total: the variance with them.
        series: what the noise within them explains of it; None where series are missing.
    """

    seconds: int
    total: float
    series: float | None

    def at(self, seconds: int) -> float:
        """The variance with trials of another length."""
        part = min(self.series or 0.0, self.total)
        return part * self.seconds / seconds + self.total - part


def long_run_variance(times: Sequence[float], values: Sequence[float]) -> float | None:
    """The long-run variance of a series over its squared mean, by batch means.

    Divided by T, it is the relative variance of a mean over T seconds.

    Args:
        times: ends of the intervals of a series, in seconds.
        values: the throughput in each, in any unit.

    Returns:
        In seconds; None where the series is too short, or all zero.
    """
    count = len(values)
    if count < FEWEST_INTERVALS or not (mean := fmean(values)) > 0:
        return None
    interval = (times[-1] - times[0]) / (count - 1)
    length = int(count**0.5)
    # What does not fill a batch is left out at the head, where a series may still settle.
    batches = np.reshape(values[count % length :], (-1, length)).mean(axis=1)
    return float(batches.var(ddof=1)) * length * interval / mean**2


def explained(
    found: Mapping[Cell, Sequence[float]], threads: Sequence[int], seconds: int
) -> float | None:
    """What the noise within trials explains of a round's variance.

    Args:
        found: long-run variances of the trials of a workload, by thread count and side.
        threads: the workload's thread counts.
        seconds: length of the trials.

    Returns:
        None where one of them has no series on a side.
    """
    cells = [found.get((count, side)) for count in threads for side in ("baseline", "candidate")]
    if not all(cells):
        return None
    return sum(fmean(variances) for variances in cells if variances) / len(threads) ** 2 / seconds


class Sensitivity:
    """How small a slowdown campaigns find, by their rounds and trial length.

    Args:
        noise: of the throughput, with at least one workload.
        variances: of the workloads, in the same order.
        threshold_pct: the smallest change that is called one, in percent.

    Example:
        ``Sensitivity(noise, variances, 2.0).detects(rounds=6, seconds=60)`` is 3.1 where a slowdown
        of 3.1 % is found in 80 % of campaigns, in every workload.
    """

    def __init__(
        self, noise: NoiseModel, variances: Sequence[RoundVariance], threshold_pct: float
    ) -> None:
        self._noise = noise
        self._variances = variances
        self._threshold_pct = threshold_pct
        self._resampled = cache(lambda rounds: resample(noise, rounds, _RESAMPLES))

    def detects(self, rounds: int, seconds: int) -> float | None:
        """The smallest slowdown that is found in every workload, in percent; None: above 50 %."""
        if rounds < 2:
            return None
        factors = [
            (variance.at(seconds) / variance.total) ** 0.5 if variance.total else 1.0
            for variance in self._variances
        ]
        campaigns = self._resampled(rounds).scaled(factors)
        found = smallest(found_from(campaigns, self._noise, self._threshold_pct))
        known = [pct for pct in found if pct is not None]
        return max(known) if len(known) == len(found) else None

    def settings(self, wanted_pct: float) -> list[tuple[int, int]]:
        """For each trial length the fewest rounds that find a slowdown, as (rounds, seconds).

        A length that takes as many rounds as a shorter one is left out.
        """
        found: list[tuple[int, int]] = []
        for seconds in self._lengths():
            for rounds in ROUNDS:
                if found and rounds >= found[-1][0]:
                    break
                detects = self.detects(rounds, seconds)
                if detects is not None and detects <= wanted_pct:
                    found.append((rounds, seconds))
                    break
        return found

    def best(self) -> tuple[int, int] | None:
        """The rounds and seconds with the best sensitivity of all; None where none finds any."""
        seconds = self._lengths()[-1]
        found = [
            (detects, rounds)
            for rounds in ROUNDS
            if (detects := self.detects(rounds, seconds)) is not None
        ]
        return (min(found)[1], seconds) if found else None

    def _lengths(self) -> list[int]:
        measured = self._variances[0].seconds
        if any(variance.series is None for variance in self._variances):
            return [measured]
        return sorted({max(1, round(measured * factor)) for factor in _LENGTHS})
