"""Trials that were measured elsewhere: a CSV file becomes campaigns to be compared.

Columns: ``workload``, ``threads``, ``round``, ``side`` (``baseline`` or ``candidate``) and any of
``tps`` (1/s), ``qps`` (1/s), ``tpmc`` (1/min), ``p95_ms`` and ``errors``; with ``campaign`` the
file holds several. What was planned is not in such a file: it is taken to be every thread count
of a workload in every round of its campaign, on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from benchlab.analysis.elsewhere import table as trials_table
from benchlab.analysis.elsewhere.table import ERRORS, LATENCY, THROUGHPUT, Excluded, Rows
from benchlab.analysis.verdict.one_sided import one_sided
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.language import Message, message
from benchlab.plan.report_type import SIDES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Workloads that only read, and of others how many errors on one side only are no chance any more.
READ_ONLY = ("oltp_point_select", "oltp_read_only")
LEAST_ERRORS = 6


@dataclass(frozen=True)
class MeasuredElsewhere:
    """One campaign of a file.

    Attributes:
        campaign: its name in the file; the file's where it has none.
        workloads: their figures.
        excluded: rows whose figures are not used.
        missing: what the file lacks, by cell and side.
        notes: what a reader should know, as sentences.
        doubts: by workload, why no change can be concluded from its figures.
    """

    campaign: str
    workloads: tuple[Rounds, ...]
    excluded: tuple[Excluded, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    doubts: dict[str, tuple[Message, ...]]

    @property
    def rounds(self) -> int:
        """How many rounds the file has of it."""
        return len(self.workloads[0].rounds)


@dataclass(frozen=True)
class TrialsFile:
    """The campaigns of a file, in its order; ``several``: it has a column for them."""

    campaigns: tuple[MeasuredElsewhere, ...]
    several: bool


def read(path: Path) -> TrialsFile:
    """Read a file of trials.

    A figure that is no positive number is left out and named, as is a trial that is there twice
    with different figures.

    Raises:
        SpecError: it cannot be read, lacks a column, or has a row that cannot be placed; names
            the line.
    """
    table = trials_table.read(path)
    unused = ", ".join(table.unused)
    notes = (f"columns that are not used: {unused}",) if unused else ()
    return TrialsFile(
        tuple(
            _campaign(rows, tuple(table.excluded.get(rows.campaign, ())), notes)
            for rows in table.campaigns
        ),
        table.several,
    )


def _campaign(
    rows: Rows, excluded: tuple[Excluded, ...], common: tuple[str, ...]
) -> MeasuredElsewhere:
    numbers = sorted(set(rows.rounds.tolist()))
    workloads, missing, notes, doubts = [], list[str](), list(common), {}
    if gaps := _gaps(numbers):
        plural = "s" * (len(gaps) > 1 or "-" in gaps[0])
        notes.append(f"not in the file: round{plural} {', '.join(gaps)}")
    missing += [f"round {gap}, everything" for gap in gaps]
    for workload in dict.fromkeys(rows.workloads.tolist()):
        own = rows.rows_of(workload)
        rounds, units = _workload(workload, numbers, own)
        workloads.append(rounds)
        notes += units
        missing += _missing(rounds)
        doubts[workload] = tuple(_one_sided_errors(workload, own))
    return MeasuredElsewhere(
        rows.campaign, tuple(workloads), excluded, tuple(missing), tuple(notes), doubts
    )


def _workload(name: str, numbers: Sequence[int], rows: Rows) -> tuple[Rounds, list[str]]:
    """One workload's figures, and what is to be said of their units."""
    import numpy as np

    there = {column: np.isfinite(values) for column, values in rows.figures.items()}
    counts = {metric: int(there[metric].sum()) for metric in THROUGHPUT if metric in there}
    told = {metric: count for metric, count in counts.items() if count}
    # The one that most trials have; of several the first.
    metric = max(told, key=lambda each: told[each]) if told else next(iter(counts), "tps")
    threads = list(dict.fromkeys(rows.threads.tolist()))
    column_of = {count: index for index, count in enumerate(threads)}
    place = (
        np.searchsorted(np.asarray(numbers), rows.rounds),
        np.asarray([column_of[count] for count in rows.threads.tolist()]),
        rows.sides,
    )
    shown = dict.fromkeys((metric, *(m for m in (*THROUGHPUT, LATENCY) if m in there)))
    values = {}
    for column in shown:
        values[column] = np.full((len(numbers), len(threads), len(SIDES)), np.nan)
        if column in there:
            values[column][place] = rows.figures[column]
    rounds = Rounds(name, metric, LATENCY, numbers, tuple(threads), SIDES, values)
    return rounds, list(_units(name, metric, told, there))


def _units(
    name: str, metric: str, told: Mapping[str, int], there: Mapping[str, NDArray[np.bool_]]
) -> Iterator[str]:
    if not told:
        yield f"{name}: no trial has a throughput ({', '.join(THROUGHPUT)})"
    for other in told:
        count = int((there[other] & ~there[metric]).sum())
        if count:
            yield (
                f"{name}: mixed units: {count} trial{'s' * (count != 1)} with {other} and without "
                f"{metric}; figures of different units are not compared"
            )


def _one_sided_errors(workload: str, rows: Rows) -> Iterator[Message]:
    """How long a trial took is not in the file, and so no rate: it is their number that counts.

    Of writes a few are conflicts that any side may meet.
    """
    if ERRORS not in rows.figures:
        return
    import numpy as np

    errors = np.nan_to_num(rows.figures[ERRORS])
    counts = {side: int(errors[rows.sides == which].sum()) for which, side in enumerate(SIDES)}
    least = 1 if workload in READ_ONLY else LEAST_ERRORS
    if any(counts.values()) and (found := one_sided(counts, least)):
        yield message("reason-errors", where=found.where("errors"))


def _missing(rounds: Rounds) -> Iterator[str]:
    import numpy as np

    lacking = np.isnan(rounds.values[rounds.metric])
    if not lacking.any():
        return
    for column, threads in enumerate(rounds.threads):
        for which, side in enumerate(SIDES):
            gone = np.flatnonzero(lacking[:, column, which]).tolist()
            found = [rounds.rounds[row] for row in gone]
            if found:
                yield (
                    f"{rounds.workload}, {threads} threads, {side}: "
                    f"round{'s' * (len(found) > 1)} {', '.join(_ranges(found))}"
                )


def _gaps(numbers: Sequence[int]) -> list[str]:
    """The numbers that are skipped, in ranges."""
    skipped = [(a + 1, b - 1) for a, b in pairwise(numbers) if b - a > 1]
    return [str(a) if a == b else f"{a}-{b}" for a, b in skipped]


def _ranges(numbers: Iterable[int]) -> list[str]:
    """Numbers in rising order, those that follow each other as one range: 1, 3-5."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return [str(a) if a == b else f"{a}-{b}" for a, b in ranges]
