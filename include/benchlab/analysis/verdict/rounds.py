"""The figures of one workload as arrays: by round, thread count and side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchlab.analysis.verdict.decision import MetricKind
from benchlab.analysis.verdict.paired import Variance
from benchlab.plan.report_type import SIDES, Side
from benchlab.workloads import tpch_output

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

# The figures that are shown for a side in a cell, by the metric of the workload.
FIGURES: Mapping[str, tuple[str, ...]] = {
    "tps": ("tps", "qps", "p95_ms"),
    "tpmc": (
        *("tpmc", "tpm_total"),
        *("new_order_p50_ms", "new_order_p90_ms", "new_order_p95_ms", "new_order_p99_ms"),
    ),
    "qpm": ("qpm", "avg_ms", "p95_ms"),
}
# Beside them, where the client prints them: go-ycsb does, sysbench does not.
PERCENTILES: Mapping[str, tuple[str, ...]] = {"tps": ("p50_ms", "p99_ms")}
# The p95 latency beside a throughput.
LATENCY: Mapping[str, str] = {"tps": "p95_ms", "tpmc": "new_order_p95_ms", "qpm": "p95_ms"}
# sysbench counts latencies in 1,024 steps from 0.001 ms to 100 s (sb_histogram): ln(1e8) / 1024.
# go-tpc's steps are 3 to 6 % wide above 17 ms, and wider below; the embedded client's 2 %.
LATENCY_STEP: Mapping[str, float] = {"tps": 0.018, "tpmc": 0.045}
# Of TPC-H go-tpc counts all latencies in steps of so many milliseconds, and the throughput follows
# from their mean (benchlab.workloads.tpch_output).
STEP_MS: Mapping[str, float] = {"qpm": tpch_output.STEP_MS}

Figure = tuple[int, int, Side, Mapping[str, float | None]]
"""One trial: its round, threads and side, and its figures by metric."""


@dataclass(frozen=True)
class Rounds:
    """One workload of a campaign.

    Attributes:
        metric: of its throughput.
        latency: metric of its p95 latency.
        rounds: the numbers of those that were planned.
        threads: thread counts, in the order of the plan.
        sides: those that were planned.
        deployments: the number of the deployment that measured each round; empty: all are of one.
        values: by metric, of shape (rounds, threads, 2): baseline and candidate. NaN: missing.
        latency_step: between two p95 latencies that its client can print, as a difference of
            logarithms.
    """

    workload: str
    metric: str
    latency: str
    rounds: Sequence[int]
    threads: tuple[int, ...]
    sides: tuple[Side, ...]
    values: Mapping[str, Array]
    latency_step: float = 0.0
    deployments: Sequence[int] = ()

    def metric_of(self, kind: MetricKind) -> str:
        """The metric that is decided on."""
        return self.metric if kind == "throughput" else self.latency

    def log_ratios(self, kind: MetricKind) -> Array:
        """ln(candidate / baseline) of the complete rounds.

        A round is complete where every thread count that is compared has a figure on both sides.
        Of shape (complete rounds, :meth:`compared`).
        """
        import numpy as np

        ratios = self._log_ratios(kind)
        return np.asarray(ratios[np.isfinite(ratios).all(axis=1)])

    def compared(self, kind: MetricKind) -> tuple[int, ...]:
        """The thread counts that are compared: those that most rounds have on both sides.

        All of them, where most rounds have none.
        """
        import numpy as np

        present = np.isfinite(self._planned_log_ratios(kind))
        kept = 2 * present.sum(axis=0) > len(self.rounds)
        if not kept.any():
            return self.threads
        return tuple(count for count, keep in zip(self.threads, kept, strict=True) if keep)

    def coarseness(self, kind: MetricKind) -> Variance:
        """What coarsely printed latencies add to the variance of the mean, in all rounds alike.

        A latency may lie anywhere in its step: step^2 / 12, a uniform variable's. A ratio is of
        two, and the mean of T ratios has a T-th of their mean variance. A/A campaigns do not show
        it: both sides have the same latency there, in the same step.
        """
        steps = self._steps(kind)
        return Variance(2 * sum(step**2 for step in steps) / 12 / len(steps) ** 2, math.inf)

    def _steps(self, kind: MetricKind) -> list[float]:
        """By thread count, the step of what a kind rests on, as a difference of logarithms."""
        import numpy as np

        values = self.values.get(self.metric_of(kind))
        if (step_ms := STEP_MS.get(self.metric)) is None or values is None:
            return [self.latency_step if kind == "p95" else 0.0] * len(self.threads)
        # One thread at one query a minute takes 60,000 ms for it.
        latency_ms = values if kind == "p95" else 60_000 * np.array(self.threads)[:, None] / values
        known = [latency_ms[:, n][np.isfinite(latency_ms[:, n])] for n in range(len(self.threads))]
        return [step_ms / float(found.mean()) if len(found) else 0.0 for found in known]

    def by_round(self, kind: MetricKind) -> Array:
        """The mean log ratio over thread counts of every planned round; NaN if incomplete."""
        import numpy as np

        return np.asarray(self._log_ratios(kind).mean(axis=1))

    def by_deployment(self, kind: MetricKind) -> list[Array]:
        """The mean log ratio of each complete round, by deployment; those without one are left out.

        Example:
            Of 4 rounds in 2 deployments, the third incomplete: arrays of 2 values and of 1.
        """
        import numpy as np

        means = self.by_round(kind)
        numbers = np.asarray(self.deployments or [1] * len(self.rounds))
        complete = np.isfinite(means)
        present = sorted(set(numbers[complete].tolist()))
        return [np.asarray(means[complete & (numbers == number)]) for number in present]

    def _log_ratios(self, kind: MetricKind) -> Array:
        import numpy as np

        columns = [self.threads.index(count) for count in self.compared(kind)]
        return np.asarray(self._planned_log_ratios(kind)[:, columns])

    def _planned_log_ratios(self, kind: MetricKind) -> Array:
        import numpy as np

        values = self.values.get(self.metric_of(kind))
        if values is None:
            return np.full((len(self.rounds), len(self.threads)), np.nan)
        return np.asarray(np.log(values[:, :, 1]) - np.log(values[:, :, 0]))

    def missing(self, kind: MetricKind) -> dict[Side, int]:
        """Planned trials without a figure, by side; sides that lack none are left out."""
        import numpy as np

        size = len(self.rounds) * len(self.threads)
        values = self.values.get(self.metric_of(kind))
        counts = {
            side: size if values is None else int(np.isnan(values[:, :, SIDES.index(side)]).sum())
            for side in self.sides
        }
        return {side: count for side, count in counts.items() if count}


def collect(
    workload: str,
    metric: str,
    rounds: Sequence[int],
    threads: Sequence[int],
    sides: tuple[Side, ...],
    figures: Iterable[Figure],
    deployments: Sequence[int] = (),
) -> Rounds:
    """Put figures into arrays: those that :data:`FIGURES` has for ``metric``.

    Beside them those of :data:`PERCENTILES` that any trial has. A figure that is not a positive
    number is missing.

    Raises:
        KeyError: a figure is of a round or thread count that was not planned.
    """
    import numpy as np

    percentiles = PERCENTILES.get(metric, ())
    kept = (*FIGURES[metric], *percentiles)
    shape = (len(rounds), len(threads), len(SIDES))
    values = {name: np.full(shape, np.nan) for name in kept}
    row = {number: index for index, number in enumerate(rounds)}
    column = {count: index for index, count in enumerate(threads)}
    for number, count, side, found in figures:
        place = row[number], column[count], SIDES.index(side)
        for name in kept:
            if (value := found.get(name)) is not None:
                values[name][place] = value
    for array in values.values():
        array[~((array > 0) & np.isfinite(array))] = np.nan
    for name in percentiles:
        if np.isnan(values[name]).all():
            del values[name]
    return Rounds(
        workload=workload,
        metric=metric,
        latency=LATENCY[metric],
        rounds=rounds,
        threads=tuple(threads),
        sides=sides,
        values=values,
        latency_step=LATENCY_STEP.get(metric, 0.0),
        deployments=deployments,
    )
