"""How many rounds of which trial length find a wanted slowdown.

The variance of a round's log ratio, within one deployment and with trials of T seconds, is taken
to be

    var(d_r) = part / T + rest

* The first is noise within the trials, that averages out in longer ones. A trial's series tells it:
  the mean over T seconds of a stationary series has variance L / T for large T, where L is its
  long-run variance, which counts that neighbouring intervals are alike. L is estimated by batch
  means (Law and Kelton, Simulation Modeling and Analysis, 9.5.3) with batches of sqrt(n) of the n
  intervals. As the metric enters by its logarithm, L is divided by the squared mean of the series.
  d_r is the mean over thread counts of a difference of two such logarithms, so that
  part = sum of L over thread counts and sides / (number of thread counts)^2.
* The rest, what the rounds show beyond that, differs between trials but not within them: restored
  data, warm caches, what else the machine does. It stays with longer trials. The series of short
  trials say more than the rounds by chance, and then nothing is left for it.

Where series are missing, all counts as rest: no longer trial is then thought to help.

Each mean over R rounds has var(d_r) / R. What one deployment happens to be shrinks with neither;
it does when the mean is taken over campaigns that were each deployed on their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean

from benchlab.decision import ALPHA
from benchlab.resampling import Noise, resample
from benchlab.sensitivity import POWER, found_from, smallest

FEWEST_INTERVALS = 4
ROUNDS = (*range(2, 11), 12, 14, 16, 20, 24, 28, 32, 40, 50, 64, 80, 100)
"""What is tried."""
_LENGTHS = (0.25, 0.5, 1, 2, 4, 8)
_RESAMPLES = 2_000
_MOST_CAMPAIGNS = 200

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


@dataclass(frozen=True)
class Setting:
    """Rounds and trial length, and what they find.

    Attributes:
        detects_pct: the smallest slowdown that is found in 80 % of campaigns, in every workload.
    """

    rounds: int
    seconds: int
    detects_pct: float


def long_run_variance(times: Sequence[float], values: Sequence[float]) -> float | None:
    """What divided by T is the relative variance of the mean over T seconds; by batch means.

    Args:
        times: ends of the intervals of a series, in seconds.
        values: the throughput in each, in any unit.

    Returns:
        In seconds; None where the series is too short, or all zero.
    """
    import numpy as np

    count = len(values)
    if count < FEWEST_INTERVALS or not (mean := fmean(values)) > 0:
        return None
    interval = (times[-1] - times[0]) / (count - 1)
    length = int(count**0.5)
    # What does not fill a batch is left out where a series still settles: at its head.
    batches = np.reshape(values[count % length :], (-1, length)).mean(axis=1)
    return float(batches.var(ddof=1)) * length * interval / mean**2


def explained(
    found: Mapping[Cell, Sequence[float]], threads: Sequence[int], seconds: int
) -> float | None:
    """What the noise within trials explains of a round's variance.

    Args:
        found: long-run variances of the trials of a workload, by cell and side.
        threads: the workload's thread counts.
        seconds: length of the trials.

    Returns:
        None where one of them has no series on a side.
    """
    cells = [found.get((count, side)) for count in threads for side in ("baseline", "candidate")]
    if not all(cells):
        return None
    return sum(fmean(each) for each in cells if each) / len(threads) ** 2 / seconds


class Search:
    """Looks for settings that find a slowdown.

    Args:
        noise: of the throughput, of at least one workload.
        variances: of its workloads, in the same order.
        threshold_pct: the smallest change that is called one, in percent.
    """

    def __init__(
        self, noise: Noise, variances: Sequence[RoundVariance], threshold_pct: float
    ) -> None:
        self._noise = noise
        self._variances = variances
        self._threshold_pct = threshold_pct
        self._made = cache(lambda rounds: resample(noise, rounds, _RESAMPLES))

    def detects(self, rounds: int, seconds: int) -> float | None:
        """The smallest slowdown that a setting finds in every workload; None: above 50 %."""
        if rounds < 2:
            return None
        factors = [
            (each.at(seconds) / each.total) ** 0.5 if each.total else 1.0
            for each in self._variances
        ]
        made = self._made(rounds).scaled(factors)
        found = found_from(made, self._noise, self._threshold_pct)
        by_workload = smallest(found)
        known = [each for each in by_workload if each is not None]
        return max(known) if len(known) == len(by_workload) else None

    def settings(self, wanted_pct: float) -> list[Setting]:
        """For each trial length the fewest rounds that find a slowdown, where any do.

        Every number of rounds is tried: where the deployment variance is badly known, more rounds
        may find less, as the interval then rests on it alone.
        """
        found: list[Setting] = []
        for seconds in self._lengths():
            for rounds in ROUNDS:
                if found and rounds >= found[-1].rounds:
                    break  # shorter trials do as well
                detects = self.detects(rounds, seconds)
                if detects is not None and detects <= wanted_pct:
                    found.append(Setting(rounds, seconds, detects))
                    break
        return found

    def best(self) -> Setting | None:
        """The setting that finds the smallest slowdown of all; None where none finds any."""
        seconds = self._lengths()[-1]
        tried = [(self.detects(rounds, seconds), rounds) for rounds in ROUNDS]
        known = [(detects, rounds) for detects, rounds in tried if detects is not None]
        return Setting(min(known)[1], seconds, min(known)[0]) if known else None

    def within_deployment(self) -> Search:
        """The same for verdicts that hold for one deployment only."""
        unknown = (None,) * len(self._variances)
        noise = replace(self._noise, variances=unknown)
        return Search(noise, self._variances, self._threshold_pct)

    def campaigns_needed(self, wanted_pct: float, rounds: int, seconds: int) -> int | None:
        """How many campaigns, each deployed on its own, find a slowdown by the mean of theirs.

        A t test over the campaigns' estimates, at the level that Holm's first step leaves to a
        workload; its power by the sum of two quantiles of t, which is close enough for a number to
        plan with (Cohen 1988, section 2.4).

        Returns:
            None where 200 do not.
        """
        import numpy as np
        from scipy.special import stdtrit

        deployments = [each.value if each else 0.0 for each in self._noise.variances]
        rest = [each.at(seconds) / rounds for each in self._variances]
        worst = max(a + b for a, b in zip(deployments, rest, strict=True)) ** 0.5
        effect = -float(np.log1p(-wanted_pct / 100))
        beyond = effect + float(np.log1p(-self._threshold_pct / 100))
        level = 1 - ALPHA / (2 * len(self._variances))
        for count in range(2, _MOST_CAMPAIGNS + 1):
            error = worst / count**0.5
            for_power = stdtrit(count - 1, POWER) * error
            if stdtrit(count - 1, level) * error + for_power <= effect and for_power <= beyond:
                return count
        return None

    def _lengths(self) -> list[int]:
        measured = self._variances[0].seconds
        if any(each.series is None for each in self._variances):
            return [measured]
        return sorted({max(1, round(measured * factor)) for factor in _LENGTHS})
