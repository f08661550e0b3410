"""Trials that were measured elsewhere: a CSV file becomes campaigns to be compared.

Columns: ``workload``, ``threads``, ``round``, ``side`` (``baseline`` or ``candidate``) and any of
``tps`` (1/s), ``qps`` (1/s), ``tpmc`` (1/min), ``qpm`` (1/min), ``p95_ms`` and ``errors``; with
``campaign`` the file holds several, and with ``deployment`` (1, 2, ...) it says which rounds of a
campaign were measured after both sides had been deployed and loaded anew. What was planned is not
in such a file: it is taken to be every thread count of a workload in every round of its campaign,
on both sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise

from benchlab.analysis.elsewhere.table import (
    CAMPAIGN,
    DEPLOYMENT,
    ERRORS,
    LATENCY,
    Excluded,
    TrialsTable,
    throughputs,
)
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.arrays import Array, NDArray, np, pd
from benchlab.plan.report_type import SIDES


@dataclass(frozen=True)
class MeasuredElsewhere:
    """One campaign of a file.

    Attributes:
        campaign: its name in the file, or the file's own name if there is no such column.
        workloads: their figures.
        excluded: rows whose figures are not used.
        missing: what the file lacks, by cell and side.
        notes: what a reader should know, as sentences.
        errors: by workload, errors and throughputs of shape (rounds, 2), summed over the thread
            counts: the file does not say how long a trial took, and all took as long. NaN where a
            trial lacks one; without the workloads whose trials all lack them.
    """

    campaign: str
    workloads: tuple[Rounds, ...]
    excluded: tuple[Excluded, ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    errors: dict[str, tuple[Array, Array]]

    @property
    def rounds(self) -> int:
        """How many rounds the campaign has in the file."""
        return len(self.workloads[0].rounds)


def campaigns(table: TrialsTable) -> tuple[MeasuredElsewhere, ...]:
    """The campaigns of a file, in its order.

    Example:
        ``campaigns(table.read(Path("trials.csv")))[0].workloads[0].threads``
    """
    unused = ", ".join(table.unused)
    notes = (f"columns that are not used: {unused}",) if unused else ()
    return tuple(
        _campaign(str(name), rows, tuple(table.excluded.get(str(name), ())), notes)
        for name, rows in table.rows.groupby(CAMPAIGN, sort=False)
    )


def _campaign(
    name: str, rows: pd.DataFrame, excluded: tuple[Excluded, ...], common: tuple[str, ...]
) -> MeasuredElsewhere:
    deployments = dict(sorted(zip(rows["round"].tolist(), rows[DEPLOYMENT].tolist(), strict=True)))
    workloads, missing, notes, errors = [], list[str](), list(common), {}
    if gaps := [_span(a + 1, b - 1) for a, b in pairwise(deployments) if b - a > 1]:
        plural = "s" * (len(gaps) > 1 or "-" in gaps[0])
        notes.append(f"not in the file: round{plural} {', '.join(gaps)}")
    missing += [f"round {gap}, everything" for gap in gaps]
    for key, own in rows.groupby("workload", sort=False):
        workload = str(key)
        counts = {column: int(own[column].count()) for column in throughputs() if column in own}
        # The metric that most trials have; the first on a tie.
        metric = max(counts, key=lambda name: counts[name]) if counts else "tps"
        workloads.append(_rounds(workload, metric, deployments, own))
        notes += _units(workload, metric, own)
        missing += _missing(workloads[-1])
        if ERRORS in own and own[ERRORS].notna().any():
            errors[workload] = _errors(workloads[-1], own)
    return MeasuredElsewhere(name, tuple(workloads), excluded, tuple(missing), tuple(notes), errors)


def _rounds(name: str, metric: str, deployments: Mapping[int, int], rows: pd.DataFrame) -> Rounds:
    """The figures of a workload.

    Args:
        deployments: by round, in rising order, the one that measured it.
    """
    numbers = list(deployments)
    threads = rows["threads"].unique().tolist()
    place = (
        np.searchsorted(np.asarray(numbers), rows["round"]),
        pd.Index(threads).get_indexer(pd.Index(rows["threads"])),
        _sides(rows),
    )
    shown = dict.fromkeys((metric, *(m for m in (*throughputs(), LATENCY) if m in rows)))
    values = {}
    for column in shown:
        values[column] = np.full((len(numbers), len(threads), len(SIDES)), np.nan)
        if column in rows:
            values[column][place] = rows[column]
    return Rounds(
        *(name, throughputs()[metric], numbers, tuple(threads), SIDES, values),
        deployments=[deployments[number] for number in numbers],
    )


def _units(name: str, metric: str, rows: pd.DataFrame) -> Iterator[str]:
    """What a reader should know about the units of a workload's throughputs."""
    printed = [other for other in throughputs() if other in rows and rows[other].count()]
    if not printed:
        yield f"{name}: no trial has a throughput ({', '.join(throughputs())})"
    for other in printed:
        if count := int((rows[other].notna() & rows[metric].isna()).sum()):
            yield (
                f"{name}: mixed units: {count} trial{'s' * (count != 1)} with {other} and without "
                f"{metric}; figures of different units are not compared"
            )


def _errors(rounds: Rounds, rows: pd.DataFrame) -> tuple[Array, Array]:
    """Errors and throughputs by round and side; a row that lacks one makes its round NaN."""
    place = np.searchsorted(np.asarray(rounds.rounds), rows["round"]), _sides(rows)
    shape = (len(rounds.rounds), len(SIDES))
    errors, throughputs = np.zeros(shape), np.zeros(shape)
    np.add.at(errors, place, rows[ERRORS])
    np.add.at(throughputs, place, rows.get(rounds.metric, np.nan))
    return errors, throughputs


def _sides(rows: pd.DataFrame) -> NDArray[np.intp]:
    return pd.Index(SIDES).get_indexer(pd.Index(rows["side"]))


def _missing(rounds: Rounds) -> Iterator[str]:
    lacking = np.isnan(rounds.values[rounds.metric])
    for column, threads in enumerate(rounds.threads):
        for which, side in enumerate(SIDES):
            gone = np.flatnonzero(lacking[:, column, which]).tolist()
            found = [rounds.rounds[row] for row in gone]
            if found:
                yield (
                    f"{rounds.workload}, {threads} threads, {side}: "
                    f"round{'s' * (len(found) > 1)} {', '.join(_ranges(found))}"
                )


def _ranges(numbers: Iterable[int]) -> list[str]:
    """Numbers in rising order, consecutive ones as one range: 1, 3-5."""
    by_range = groupby(enumerate(numbers), key=lambda place: place[1] - place[0])
    ranges = [[number for _, number in members] for _, members in by_range]
    return [_span(members[0], members[-1]) for members in ranges]


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
