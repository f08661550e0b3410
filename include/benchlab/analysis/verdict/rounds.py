"""The figures of one workload as arrays: by round, thread count and side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from benchlab.arrays import Array, np
from benchlab.plan.metric import COUNT, Metric, kinds, of_kind
from benchlab.plan.report_type import SIDES, Side

Figure = tuple[int, int, Side, Mapping[str, float | None]]
"""One trial: its round, threads and side, and its figures by metric."""


@dataclass(frozen=True)
class Rounds:
    """The figures of one workload of a campaign.

    Attributes:
        metrics: what its client prints; one is its throughput.
        rounds: the numbers of the planned rounds.
        threads: thread counts, in the order of the plan.
        deployments: the number of the deployment that measured each round; empty: one for all.
        values: by metric, of shape (rounds, threads, 2): baseline and candidate. NaN: missing.
        printed: by metric, the value of a unit in its last digit, where that may be too coarse to
            ignore.
    """

    workload: str
    metrics: tuple[Metric, ...]
    rounds: Sequence[int]
    threads: tuple[int, ...]
    sides: tuple[Side, ...]
    values: Mapping[str, Array]
    deployments: Sequence[int] = ()
    printed: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of metric that are decided, throughput first."""
        return kinds(self.metrics)

    @property
    def metric(self) -> str:
        """The metric of its throughput, or else the first that is decided."""
        return self.metric_of(self.kinds[0])

    def metric_of(self, kind: str) -> str:
        """The metric of a family."""
        return of_kind(self.metrics, kind).name

    def log_ratios(self, kind: str) -> Array:
        """ln(candidate / baseline) of the complete rounds.

        A round is complete if every thread count that is compared has a figure on both sides. Of
        shape (complete rounds, :meth:`compared`).
        """
        ratios = self._log_ratios(kind)
        return np.asarray(ratios[np.isfinite(ratios).all(axis=1)])

    def compared(self, kind: str) -> tuple[int, ...]:
        """The thread counts that are compared: those that most rounds have on both sides.

        All of them, if that would leave none.
        """
        present = np.isfinite(self._planned_log_ratios(kind))
        kept = 2 * present.sum(axis=0) > len(self.rounds)
        if not kept.any():
            return self.threads
        return tuple(count for count, keep in zip(self.threads, kept, strict=True) if keep)

    def coarseness(self, kind: str) -> float:
        """The variance that coarsely printed figures add to the mean, alike in all rounds.

        A latency may lie anywhere in its step, with the variance of a uniform variable, step^2 /
        12. A ratio has two of them, and the mean of T ratios a T-th of their mean variance. A/A
        campaigns do not show it: there both sides have the same latency, in the same step. With few
        digits, the difference may be off by one digit either way.
        """
        pairs = zip(self.steps(kind), self.digits(kind), strict=True)
        total = sum(max(2 * step**2, (2 * digit) ** 2) for step, digit in pairs)
        return total / 12 / len(self.threads) ** 2

    def digits(self, kind: str) -> list[float]:
        """By thread count, a unit in a family's last printed digit, relative to its mean."""
        name = self.metric_of(kind)
        values = self.values.get(name)
        if values is None or name not in self.printed:
            return [0.0] * len(self.threads)
        found = (
            values[:, place][np.isfinite(values[:, place])] for place in range(len(self.threads))
        )
        return [self.printed[name] / float(own.mean()) if len(own) else 0.0 for own in found]

    def steps(self, kind: str) -> list[float]:
        """By thread count, the step in a family's figures, as a difference of logarithms."""
        metric = of_kind(self.metrics, kind)
        values = self.values.get(metric.name)
        if not metric.step_ms or values is None:
            return [metric.step] * len(self.threads)
        latencies = [metric.latency_ms(values[:, n], t) for n, t in enumerate(self.threads)]
        known = [found[np.isfinite(found)] for found in latencies]
        return [metric.step_ms / float(found.mean()) if len(found) else 0.0 for found in known]

    def by_round(self, kind: str) -> Array:
        """The mean log ratio over thread counts of every planned round; NaN if incomplete."""
        return np.asarray(self._log_ratios(kind).mean(axis=1))

    def by_deployment(self, kind: str) -> list[Array]:
        """The mean log ratio of each complete round, by deployment; those without one are left out.

        Example:
            Of 4 rounds in 2 deployments, the third incomplete: arrays of 2 values and of 1.
        """
        return self.in_deployments(self.by_round(kind))

    def ratios_by_deployment(self, kind: str) -> list[Array]:
        """The same by thread count: of shape (complete rounds, thread counts compared)."""
        return self.in_deployments(self._log_ratios(kind))

    def in_deployments(self, values: Array) -> list[Array]:
        """Values of the planned rounds, by deployment; rounds with NaN are left out."""
        numbers = np.asarray(self.deployments or [1] * len(self.rounds))
        complete = np.isfinite(values).reshape(len(numbers), -1).all(axis=1)
        present = sorted(set(numbers[complete].tolist()))
        return [np.asarray(values[complete & (numbers == number)]) for number in present]

    def until(self, deployment: int) -> Rounds:
        """The same without the rounds of later deployments."""
        kept = [place for place, number in enumerate(self.deployments) if number <= deployment]
        return replace(
            self,
            rounds=[self.rounds[place] for place in kept],
            deployments=[self.deployments[place] for place in kept],
            values={name: array[kept] for name, array in self.values.items()},
        )

    def _log_ratios(self, kind: str) -> Array:
        columns = [self.threads.index(count) for count in self.compared(kind)]
        return np.asarray(self._planned_log_ratios(kind)[:, columns])

    def _planned_log_ratios(self, kind: str) -> Array:
        values = self.values.get(self.metric_of(kind))
        if values is None:
            return np.full((len(self.rounds), len(self.threads)), np.nan)
        logs = np.log(np.where(values > 0, values, np.nan))  # a count may be zero
        return np.asarray(logs[:, :, 1] - logs[:, :, 0])

    def missing(self, kind: str, *, zeros: bool = False) -> dict[Side, int]:
        """Planned trials without a figure, by side; sides that lack none are left out.

        Args:
            zeros: whether a count of zero is none: it has no ratio.
        """
        size = len(self.rounds) * len(self.threads)
        values = self.values.get(self.metric_of(kind))
        there = None if values is None else values > 0 if zeros else np.isfinite(values)
        counts = {
            side: size - (0 if there is None else int(there[:, :, SIDES.index(side)].sum()))
            for side in self.sides
        }
        return {side: count for side, count in counts.items() if count}


def collect(
    workload: str,
    metrics: Sequence[Metric],
    rounds: Sequence[int],
    threads: Sequence[int],
    sides: tuple[Side, ...],
    figures: Iterable[Figure],
    deployments: Sequence[int] = (),
) -> Rounds:
    """Put the figures of trials into arrays, for the metrics that a report shows of a campaign.

    Metrics of the ``details`` are kept if any trial has them, and a count is decided only if a
    transaction takes enough of it. A figure that is not a positive number counts as missing; a
    count may be zero.

    Raises:
        KeyError: a figure is of a round or thread count that was not planned.
    """
    kept = [metric for metric in metrics if metric.family or metric.shown != "trial"]
    shape = (len(rounds), len(threads), len(SIDES))
    values = {metric.name: np.full(shape, np.nan) for metric in kept}
    row = {number: index for index, number in enumerate(rounds)}
    column = {count: index for index, count in enumerate(threads)}
    for number, count, side, found in figures:
        place = row[number], column[count], SIDES.index(side)
        for name, array in values.items():
            if (value := found.get(name)) is not None:
                array[place] = value
    for metric in kept:
        array = values[metric.name]
        array[~(((array > 0) | (metric.family == COUNT) & (array == 0)) & np.isfinite(array))] = (
            np.nan
        )
    scarce = {metric.name for metric in kept if _is_scarce(metric, values[metric.name])}
    for metric in kept:
        if metric.shown == "details" and not metric.family and np.isnan(values[metric.name]).all():
            del values[metric.name]
    return Rounds(
        workload=workload,
        metrics=tuple(metric for metric in metrics if metric.name not in scarce),
        rounds=rounds,
        threads=tuple(threads),
        sides=sides,
        values=values,
        deployments=deployments,
    )


def _is_scarce(metric: Metric, values: Array) -> bool:
    """Whether a transaction takes too little of a count to be compared, on either side."""
    known = values[np.isfinite(values)]
    return metric.family == COUNT and len(known) > 0 and float(known.max()) < metric.floor
