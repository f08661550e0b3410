"""How a round varies with other trial lengths than those that were measured.

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

The deployment variance does not shrink with T.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchlab.arrays import np

FEWEST_INTERVALS = 4
_LENGTHS = (0.25, 0.5, 1, 2, 4, 8)

Cell = tuple[int, str]
"""Thread count and side."""


@dataclass(frozen=True)
class RoundVariance:
    """The variance of one workload's log ratio in a round, by the length of its trials.

    Attributes:
        seconds: length of the trials that were measured.
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

    Returns:
        None where one of them has no series on a side.
    """
    cells = [found.get((count, side)) for count in threads for side in ("baseline", "candidate")]
    if not all(cells):
        return None
    return sum(fmean(variances) for variances in cells if variances) / len(threads) ** 2 / seconds


def lengths(variances: Sequence[RoundVariance]) -> list[int]:
    """The trial lengths to propose: without a series only the measured one, as none may help."""
    measured = variances[0].seconds
    if any(variance.series is None for variance in variances):
        return [measured]
    return sorted({max(1, round(measured * factor)) for factor in _LENGTHS})
