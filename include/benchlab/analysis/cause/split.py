"""Splits a change of throughput into waiting and CPU time, exactly.

In a second, the servers' CPUs are busy for B seconds. Where a query takes C of them, X = B / C
queries are done, so that for two sides

    ln(X'/X) = ln(B'/B) - ln(C'/C)

The first term is *waiting*: CPUs that are busy for less of the time. The second one splits by
servers and thread pools, with weights that are logarithmic means (LMDI-I: Ang 2005, Energy Policy
33). With L(a, b) = (a - b) / (ln a - ln b), the part i of C = sum of c_i has

    L(c'_i, c_i) / L(C', C) * ln(c'_i / c_i) = (c'_i - c_i) / L(C', C)

As written on the right, a part that is zero on a side needs no limit. Transactions have a fixed
number of queries, so that what holds for a query holds for them.

X is not what a client prints: it is counted by the servers in the same time as their CPU, from a
fifth of the run to its end. Only so is the identity exact.

Each term is computed for a cell of a round, and averaged as the verdict's ratios are: over thread
counts, rounds, deployments. Its variance is estimated like theirs (:mod:`.verdict.variances`), so
that one deployment does not pass for the version: deploying a side is taken to shift waiting and
CPU time by 1 % each, and the parts independently so that they add up to that (a part's variance is
in proportion to its share), which the campaign's own deployments correct. A/A campaigns take no
part: of those, counts would have to be read in hundreds of files. The terms of a split are
correlated, and their intervals are of each alone.

Example:
    ``split(rounds, counts).waits.effect.interval(0.95)``
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from benchlab.analysis.verdict.estimates import LEAST_ROUNDS
from benchlab.analysis.verdict.rounds import Figure, Rounds, collect
from benchlab.analysis.verdict.variances import (
    PRIOR_VARIANCE,
    Estimate,
    by_workload,
    estimated,
    squares,
    together,
)
from benchlab.arrays import Array, NDArray, np
from benchlab.engines.tidb.counts import POOLS
from benchlab.language import Message, message
from benchlab.plan.metric import COUNT, THROUGHPUT, Metric

QUERIES = "queries"
"""The queries in a second; all other counts are of a query, in microseconds of CPU."""
REST = "_rest"
"""What ends the name of what a whole has beside its named parts."""
# The CPU of each role, and the parts of it that are counted by themselves.
_WHOLES: Mapping[str, tuple[str, ...]] = {
    "tidb_cpu": ("tidb_gc_cpu",),
    "tikv_cpu": tuple(f"tikv_cpu_{pool}" for pool in POOLS),
    "pd_cpu": (),
    "server_cpu": ("server_cpu_system",),
}
COUNTS = (QUERIES, *(name for whole, parts in _WHOLES.items() for name in (whole, *parts)))
"""The counts that a split is made of."""


@dataclass(frozen=True)
class Part:
    """One term of a split.

    Attributes:
        name: of a count, with :data:`REST` of what no other part of it has.
        effect: what it does to throughput, as a logarithm: negative is slower.
        baseline, candidate: microseconds of CPU that a query takes; of waiting, how many CPUs are
            busy. Means over the cells used.
    """

    name: str
    effect: Estimate
    baseline: float
    candidate: float


@dataclass(frozen=True)
class Split:
    """A change of throughput, split: ``throughput`` = ``waits`` + ``cpu``, ``cpu`` = all ``parts``.

    Attributes:
        rounds, threads: how many complete rounds, and which thread counts, it rests on.
        verdict_rounds, verdict_threads: those of the verdict.
    """

    throughput: Estimate
    waits: Part
    cpu: Part
    parts: tuple[Part, ...]
    rounds: int
    threads: tuple[int, ...]
    verdict_rounds: int
    verdict_threads: tuple[int, ...]


def counted(rounds: Rounds, figures: Iterable[Figure]) -> Mapping[str, Array]:
    """The counts of a workload's trials as arrays like those of its figures; NaN: missing.

    Args:
        figures: of each trial, those of :data:`COUNTS` that its servers have.
    """
    known = list(figures)
    names = {name for *_, found in known for name in found}
    metrics = [Metric(name, "1", family=COUNT) for name in COUNTS if name in names]
    shape = rounds.workload, metrics, rounds.rounds, rounds.threads, rounds.sides
    return collect(*shape, known).values


def split(rounds: Rounds, counts: Mapping[str, Array]) -> Split | Message:
    """Split a workload's change of throughput; or why that cannot be done.

    Args:
        rounds: the figures that its verdict rests on.
        counts: see :func:`counted`; a count that the engine's servers do not have is absent.
    """
    wholes = [whole for whole in _WHOLES if whole in counts]
    if not wholes or QUERIES not in counts:
        return message("split-unread")
    for whole in wholes:
        if not np.isfinite(counts[whole]).any(axis=(0, 1)).all():
            return message("split-without", what=message(f"part-{whole.replace('_', '-')}"))
    known = np.asarray(np.isfinite([counts[whole] for whole in wholes]).all(axis=0))
    parts = dict(_parts(counts, wholes, known))
    total = np.sum(list(parts.values()), axis=0)
    usable = known & (total > 0) & np.isfinite(rounds.values[rounds.metric_of(THROUGHPUT)])
    rates = np.where(usable, counts[QUERIES], np.nan)
    window = replace(rounds, values={rounds.metric_of(THROUGHPUT): rates})
    throughput, threads = window.by_round(THROUGHPUT), window.compared(THROUGHPUT)
    complete = np.isfinite(throughput)
    if complete.sum() < LEAST_ROUNDS:
        return message("split-few", rounds=int(complete.sum()), least=LEAST_ROUNDS)
    columns = [rounds.threads.index(count) for count in threads]

    def taken(values: Array) -> Array:
        """The cells that count, of complete rounds."""
        return np.asarray(values[complete][:, columns])

    def part(name: str, effect: Array, values: Array, share: float = 1.0) -> Part:
        means = np.full(len(complete), np.nan)
        means[complete] = effect.mean(axis=1)
        estimate = _estimate(window, means, share * PRIOR_VARIANCE)
        baseline, candidate = taken(values).mean(axis=(0, 1)).tolist()
        return Part(name, estimate, baseline, candidate)

    cpu, busy = taken(total), taken(total * rates)
    divisor = logarithmic_mean(cpu[..., 1], cpu[..., 0])
    return Split(
        throughput=_estimate(window, throughput, PRIOR_VARIANCE),
        waits=part("waits", _log_ratio(busy), total * rates / 1e6),
        cpu=part("cpu", -_log_ratio(cpu), total),
        parts=tuple(
            part(
                name,
                -(own[..., 1] - own[..., 0]) / divisor,
                values,
                float(own.sum() / cpu.sum()),
            )
            for name, values in parts.items()
            if (own := taken(values)).any()
        ),
        rounds=int(complete.sum()),
        threads=threads,
        verdict_rounds=int(np.isfinite(rounds.by_round(THROUGHPUT)).sum()),
        verdict_threads=rounds.compared(THROUGHPUT),
    )


def logarithmic_mean(a: Array, b: Array) -> Array:
    """L(a, b) = (a - b) / (ln a - ln b) of positive numbers; L(a, a) = a."""
    log = np.log(a) - np.log(b)
    same = log == 0
    return np.asarray(b * np.where(same, 1.0, np.expm1(log) / np.where(same, 1.0, log)))


def _parts(
    counts: Mapping[str, Array], wholes: Iterable[str], known: NDArray[np.bool_]
) -> Iterator[tuple[str, Array]]:
    """What a query takes, by part; a part that some trials lack stays in the rest of its whole.

    A rest is what its whole has more than its parts, and at least none: a sum of parts that is
    greater, as counters are not read at one instant, is the whole.
    """
    for whole in wholes:
        named = {
            name: counts[name]
            for name in _WHOLES[whole]
            if name in counts and np.isfinite(counts[name][known]).all()
        }
        rest = counts[whole] - np.sum([np.zeros_like(counts[whole]), *named.values()], axis=0)
        yield (f"{whole}{REST}" if named else whole), np.maximum(rest, 0)
        yield from named.items()


def _log_ratio(values: Array) -> Array:
    return np.asarray(np.log(values[..., 1]) - np.log(values[..., 0]))


def _estimate(rounds: Rounds, means: Array, prior: float) -> Estimate:
    """From the means of rounds, NaN where incomplete."""
    found = rounds.in_deployments(means)
    own, others = by_workload([squares(found)]), by_workload([together(())])
    shown = estimated(own, others, np.array([len(found)]), prior=prior)
    return shown.about_versions(0, found)
