"""Columns for the gates of symptom: what a run shows that may be the candidate's own doing.

A trial's columns come from what the client printed and its series, a cell's from the figures of its
rounds on one side. A column is None where the data do not show it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, stdev

from benchlab.arrays import Array, np, special
from benchlab.workloads.output import Interval, Output

# By chance, one series in a thousand exceeds this many standard errors (normal, two-sided).
STANDARD_ERRORS = 3.3
# Drift is judged on thirds and ninths of a series, so each ninth needs an interval.
NINTHS = 9
# With fewer transactions in an interval, one without any may be chance: exp(-10) is 1 in 22,000.
LEAST_PER_INTERVAL = 10.0
# An interval shorter than this share of the requested length was cut off by the end of the run.
LEAST_OF_INTERVAL = 0.5
LEAST_INTERVALS = 3
LEAST_ROUNDS = 3
CONFIDENCE = 0.99
# Confidence of the lower limit on an error count.
RARE = 0.999


def trial_columns(
    output: Output, *, seconds: float, interval_s: float, read_only: bool
) -> dict[str, float | None]:
    """Columns of one trial; all None where the client's output is not whole.

    Args:
        interval_s: length of an interval of the series, as it was asked for.
    """
    names = (
        *("error_ratio", "reconnects", "zero_intervals", "missing_intervals"),
        *("drift_excess", "throughput_cv"),
    )
    if output.status != "complete":
        return dict.fromkeys(names)
    rates = _whole_intervals(output.series, interval_s)
    return {
        "error_ratio": error_ratio(output.errors, output.transactions, read_only=read_only),
        "reconnects": None if output.reconnects is None else float(output.reconnects),
        "zero_intervals": zero_intervals(rates, interval_s),
        "missing_intervals": (
            _missing(len(output.series), seconds, interval_s) if output.PERIODIC else None
        ),
        "drift_excess": drift_excess(rates),
        "throughput_cv": _variation(rates),
    }


def error_ratio(
    errors: float | None, transactions: float | None, *, read_only: bool
) -> float | None:
    """Errors that the client survived, per transaction, beyond what chance explains.

    Example:
        ``error_ratio(100, 10_000, read_only=False)`` is about 0.0072.

    Writes meet a conflict now and then: the count is replaced by the lower 99.9 % limit of a
    Poisson variable with this many events (Garwood 1936), so that one deadlock in a short trial is
    not a high rate. Reads meet none, so a single error of a read-only workload is one too many,
    however many transactions there were: the ratio is then the number of errors itself.
    """
    if errors is None or not transactions:
        return None
    if read_only or not errors:
        return float(errors)
    return float(special.gammaincinv(errors, 1 - RARE)) / transactions


def zero_intervals(rates: Sequence[float], interval_s: float) -> float | None:
    """The number of intervals in which no transaction ended.

    None where there are so few transactions that chance alone makes such intervals: fewer than ten
    an interval. Only intervals that have any count for that, so that a long stall hides nothing.
    """
    busy = [rate for rate in rates if rate > 0]
    if not busy or math.fsum(busy) / len(busy) * interval_s < LEAST_PER_INTERVAL:
        return None
    return float(len(rates) - len(busy))


def drift_excess(rates: Sequence[float]) -> float | None:
    """How far the first and last third differ beyond what the series' own noise explains.

    With L = |ln(mean of the last third / mean of the first)|, it is max(0, L - 3.3 SE(L)). By the
    delta method SE(L) = s sqrt((1/m1^2 + 1/m3^2) / k), for thirds of k intervals with means m1
    and m3, and s the standard deviation of an interval.

    s comes from second differences, which no slope inflates (Gasser, Sroka and Jennen-Steinmetz,
    Residual variance and residual pattern in nonlinear regression, Biometrika 73, 1986; von
    Neumann's ratio takes first ones). They measure noise that is independent from one value to
    the next. Noise of neighbouring intervals is not (checkpoints, flushes, compactions), and would
    be underestimated. So the standard error is also computed from the means of ninths of the
    series, which are assumed to be independent, and the larger one is taken. Noise slower than a
    ninth of the trial cannot be distinguished from a drift.

    Args:
        rates: throughput of each whole interval, in order.

    Returns:
        As a log ratio: 0.05 is about 5 %. None with fewer than nine intervals, or if no transaction
        ended at all; infinite if none ended in one of the two thirds.
    """
    if len(rates) < NINTHS or not any(rates):
        return None
    third = len(rates) // 3
    first, last = (math.fsum(part) / third for part in (rates[:third], rates[-third:]))
    if not first and not last:
        return None
    if not first or not last:
        return math.inf
    ninth = len(rates) // NINTHS
    # Counted from the end, like the last third; what is left over lies at the beginning.
    start = len(rates) - ninth * NINTHS
    means = [math.fsum(rates[at : at + ninth]) / ninth for at in range(start, len(rates), ninth)]
    of_mean = max(_noise(rates) / math.sqrt(third), _noise(means) / math.sqrt(NINTHS / 3))
    error = of_mean * math.hypot(1 / first, 1 / last)
    return max(0.0, abs(math.log(last / first)) - STANDARD_ERRORS * error)


def cell_columns(
    threads: Sequence[int], throughput: Array, p95: Array | None
) -> list[dict[str, float | None]]:
    """Columns of the cells of one workload on one side; a dict per thread count.

    Args:
        threads: the thread counts, each once, in any order.
        throughput: of shape (rounds, threads), any unit; NaN where it is missing. Zero and below
            also count as missing.
        p95: latencies, of the same shape; None where the client prints none.

    Returns:
        ``round_cv``: standard deviation / mean of the throughput over the rounds.
        ``p95_fall_pct``: how far the p95 latency lies below the one at the next smaller thread
        count; ``curve_dip_pct``: how far the throughput lies below the straight line through its
        two neighbours in log throughput over log threads. Both in percent, and only beyond noise:
        the lower one-sided 99 % limit, by Student's t, of the mean of the rounds' log ratios; 0
        where that limit is below zero. None with fewer than three rounds, or without such
        neighbours.
    """
    figures = np.asarray(throughput, dtype=float)
    latencies = np.full_like(figures, math.nan) if p95 is None else np.asarray(p95, dtype=float)
    order = np.argsort(threads)
    rates, waits = _logarithms(figures[:, order]), _logarithms(latencies[:, order])
    at = np.log(np.asarray(threads, dtype=float)[order])
    there = np.isfinite(figures) & (figures > 0)
    columns: list[dict[str, float | None]] = [{} for _ in threads]
    for place, column in enumerate(order):
        fall = dip = None
        if place > 0:
            fall = _beyond_noise(waits[:, place - 1] - waits[:, place])
        if 0 < place < len(threads) - 1:
            share = (at[place] - at[place - 1]) / (at[place + 1] - at[place - 1])
            line = (1 - share) * rates[:, place - 1] + share * rates[:, place + 1]
            dip = _beyond_noise(line - rates[:, place])
        columns[int(column)] = {
            "round_cv": _variation(figures[there[:, column], column].tolist()),
            "p95_fall_pct": fall,
            "curve_dip_pct": dip,
        }
    return columns


def _logarithms(values: Array) -> Array:
    """Logarithms; NaN where a value is missing: NaN, infinite, zero or below."""
    there = np.isfinite(values) & (values > 0)
    return np.log(np.where(there, values, math.nan))


def _beyond_noise(logs: Array) -> float | None:
    """The lower 99 % limit of a mean of log ratios as a reduction in percent, at least 0."""
    there = logs[np.isfinite(logs)]
    if len(there) < LEAST_ROUNDS:
        return None
    error = float(np.std(there, ddof=1)) / math.sqrt(len(there))
    limit = float(np.mean(there)) - float(special.stdtrit(len(there) - 1, CONFIDENCE)) * error
    return -100 * math.expm1(-max(limit, 0.0))


def _whole_intervals(series: Sequence[Interval], interval_s: float) -> list[float]:
    """Transactions per second of each interval but those that the run's end cut short."""
    ends = pairwise([0.0, *(interval.t for interval in series)])
    return [
        interval.tps
        for interval, (start, end) in zip(series, ends, strict=True)
        if end - start >= LEAST_OF_INTERVAL * interval_s
    ]


def _missing(printed: int, seconds: float, interval_s: float) -> float | None:
    """Intervals that were not printed; None if no more than one was expected."""
    expected = math.floor(seconds / interval_s)
    return float(max(0, expected - printed)) if expected > 1 else None


def _variation(values: Sequence[float]) -> float | None:
    """The coefficient of variation; None with fewer than three values, or where all are zero."""
    if len(values) < LEAST_INTERVALS or not any(values):
        return None
    largest = max(values)  # relative to it no sum overflows
    shares = [value / largest for value in values]
    return stdev(shares) / fmean(shares)


def _noise(values: Sequence[float]) -> float:
    """The standard deviation of independent noise around a smooth course: sqrt(mean(d^2) / 6).

    For three such values, a - 2 b + c has six times the variance of one.
    """
    seconds = [
        (after - here) - (here - before)
        for before, here, after in zip(values, values[1:], values[2:], strict=False)
    ]
    return math.sqrt(math.fsum(second**2 for second in seconds) / len(seconds) / 6)
