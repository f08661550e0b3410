"""Trials that were measured elsewhere: a CSV file becomes campaigns to be compared.

Columns: ``workload``, ``threads``, ``round``, ``side`` (``baseline`` or ``candidate``) and any of
``tps`` (1/s), ``qps`` (1/s), ``tpmc`` (1/min), ``qpm`` (1/min), ``p95_ms`` and ``errors``; with
``campaign`` the file holds several, and with ``deployment`` (1, 2, ...) it says which rounds of a
campaign were measured after both sides had been deployed and loaded anew. What was planned is not
in such a file: it is taken to be every thread count of a workload in every round of its campaign,
on both sides.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from benchlab import workloads
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.arrays import Array, NDArray, np, pd
from benchlab.errors import SpecError, meaning_of
from benchlab.plan.metric import LATENCY as LATENCY_FAMILY
from benchlab.plan.metric import THROUGHPUT, Metric, of_family
from benchlab.plan.report_type import SIDES

KEYS = ("workload", "threads", "round", "side")
LATENCY = "p95_ms"
ERRORS = "errors"
# A report's own trials.csv has this column: false for trials that were invalid or measured again.
USED = "used"
CAMPAIGN = "campaign"
DEPLOYMENT = "deployment"
LINE = "line"
# A throughput, latency or count outside these bounds is a mistake in the file.
LEAST, MOST = 1e-6, 1e12
# Up to so many occurrences of one fault are named one by one.
NAMED = 1000


@cache
def throughputs() -> dict[str, tuple[Metric, ...]]:
    """What is decided by each rate that a file may have; of a client's other rates by the last.

    The latency of a file is its ``p95_ms``, whatever a client calls its own.
    """
    found: dict[str, tuple[Metric, ...]] = {}
    others: dict[str, tuple[Metric, ...]] = {}
    for workload in workloads.by_name().values():
        latency = replace(of_family(workload.METRICS, LATENCY_FAMILY), name=LATENCY)
        for metric in workload.METRICS:
            if metric.is_rate and metric.shown == "table":
                kind = found if metric.family == THROUGHPUT else others
                decided = replace(metric, family=THROUGHPUT)
                kind.setdefault(metric.name, (decided, latency))
    return found | others


def figures() -> tuple[str, ...]:
    """The columns of figures that a file may have."""
    return (*throughputs(), LATENCY, ERRORS)


_Excluded = dict[str, list["Excluded"]]


@dataclass(frozen=True)
class Excluded:
    """A row, or rows, whose figures are not used."""

    trial: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class TrialsTable:
    """A cleaned file.

    Attributes:
        rows: with the columns of ``KEYS``, ``campaign``, ``deployment`` (1 where the file has no
            such column) and those of :func:`figures` that the file has, NaN where one is missing;
            each trial once.
        unused: columns that mean nothing here.
        excluded: by campaign, the rows whose figures are not used.
    """

    rows: pd.DataFrame
    several: bool
    unused: tuple[str, ...]
    excluded: Mapping[str, list[Excluded]]


def read(path: Path) -> TrialsTable:
    """Read and clean a file.

    A figure that is not a positive number is left out and named, and so is a trial that occurs
    twice with different figures.

    Raises:
        SpecError: the file cannot be read, lacks a column, or has a row whose workload, threads,
            round or side is wrong; names the line.
    """
    table = _table(path)
    known = (*KEYS, *figures(), USED, CAMPAIGN, DEPLOYMENT, LINE)
    unused = tuple(name for name in table.columns if name not in known)
    several = CAMPAIGN in table.columns
    if not several:
        table = table.assign(**{CAMPAIGN: path.stem})
    excluded: _Excluded = {}
    table = _each_once(_used(table, excluded), excluded)
    for column in figures():
        if column in table:
            table[column] = _numbers(table, column, excluded)
    return TrialsTable(table, several, unused, excluded)


def _table(path: Path) -> pd.DataFrame:
    headings = _headings(path)
    try:
        with warnings.catch_warnings():
            # A line with more fields than the heading has: pandas would cut it.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            table = pd.read_csv(
                path,
                dtype=str,
                keep_default_na=False,
                skipinitialspace=True,
                index_col=False,
                header=None,
                skiprows=1,
                names=headings,
                skip_blank_lines=False,
                encoding="utf-8-sig",
            )
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.ParserWarning) as error:
        raise SpecError(
            f"{path}: cannot be read as CSV with {len(headings)} columns: {meaning_of(error)}"
        ) from error
    table[LINE] = range(2, len(table) + 2)
    table = table[(table[headings] != "").any(axis=1)].copy()  # blank lines
    if lacking := [name for name in KEYS if name not in table.columns]:
        raise SpecError(f"{path}: lacks the column {', '.join(lacking)}; found {_list(table)}")
    if not any(name in table.columns for name in figures()):
        raise SpecError(
            f"{path}: has none of the columns {', '.join(figures())}; found {_list(table)}"
        )
    if table.empty:
        raise SpecError(f"{path}: has no row below its heading")
    return _placed(path, table)


def _headings(path: Path) -> list[str]:
    """The names of the columns as written; pandas would rename duplicates."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            headings = [name.strip().lower() for name in next(csv.reader(file), [])]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SpecError(f"{path}: cannot be read as CSV: {meaning_of(error)}") from error
    if not headings:
        raise SpecError(f"{path}: its first line is empty; it needs the columns {', '.join(KEYS)}")
    if twice := [name for number, name in enumerate(headings) if name in headings[:number]]:
        raise SpecError(f"{path}: has a column twice: {', '.join(twice)}")
    return headings


def _list(table: pd.DataFrame) -> str:
    return ", ".join(map(str, table.columns))


def _placed(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    """The table with its keys checked, threads and rounds as integers."""
    for name in (*KEYS, *([CAMPAIGN] if CAMPAIGN in table else [])):
        table[name] = table[name].str.strip()
    table["side"] = table["side"].str.lower()
    if DEPLOYMENT not in table:
        table[DEPLOYMENT] = "1"
    numbers = {
        name: pd.to_numeric(table[name], errors="coerce")
        for name in ("threads", "round", DEPLOYMENT)
    }
    wrong = {
        "workload": (table["workload"] == "", "a name"),
        "side": (~table["side"].isin(SIDES), "baseline or candidate"),
        "threads": (~(numbers["threads"].mod(1).eq(0) & numbers["threads"].between(1, 1e9)),
                    "a whole number from 1"),
        "round": (~(numbers["round"].mod(1).eq(0) & numbers["round"].between(0, 1e15)),
                  "a whole number from 0"),
        DEPLOYMENT: (~(numbers[DEPLOYMENT].mod(1).eq(0) & numbers[DEPLOYMENT].between(1, 1e9)),
                     "a whole number from 1"),
    }  # fmt: skip
    for name, (mask, wanted) in wrong.items():
        if mask.any():
            first = table[mask].iloc[0]
            raise SpecError(
                f"{path}: line {first['line']}: {name}: must be {wanted}, found {first[name]!r} "
                f"({int(mask.sum())} such row{'s' * (int(mask.sum()) != 1)})"
            )
    table = table.assign(**{name: values.astype("int64") for name, values in numbers.items()})
    _refuse_rounds_of_two(path, table)
    return table


def _refuse_rounds_of_two(path: Path, table: pd.DataFrame) -> None:
    """Refuse a file in which two deployments measure one round."""
    rounds = [*([CAMPAIGN] if CAMPAIGN in table else []), "round"]
    of_two = table.groupby(rounds)[DEPLOYMENT].transform("nunique") > 1
    if of_two.any():
        first = table[of_two].iloc[0]
        found = sorted(table[of_two & (table["round"] == first["round"])][DEPLOYMENT].unique())
        raise SpecError(
            f"{path}: line {first['line']}: {DEPLOYMENT}: must be the same in all rows of a round, "
            f"found {' and '.join(map(str, found))} in round {first['round']}"
        )


def _used(table: pd.DataFrame, excluded: _Excluded) -> pd.DataFrame:
    """The rows without the figures that their own report did not use; the cells stay planned."""
    if USED not in table:
        return table
    left_out = table[USED].str.strip().str.lower().isin(("false", "0", "no"))
    for row in table[left_out].head(NAMED).itertuples():
        _exclude(excluded, row, f"line {row.line}: its report did not use it")
    keys = [CAMPAIGN, *KEYS]
    trials = pd.MultiIndex.from_frame(table[keys])
    measured = trials.isin(trials[~left_out.to_numpy()])
    kept: pd.DataFrame = table[~left_out | ~(measured | table.duplicated(keys))].copy()
    kept.loc[left_out, [name for name in figures() if name in kept]] = ""
    return kept


def _each_once(table: pd.DataFrame, excluded: _Excluded) -> pd.DataFrame:
    """Each trial once: the first of equal rows; without figures where the rows differ."""
    keys = [CAMPAIGN, *KEYS]
    if not table.duplicated(keys).any():
        return table
    again = table.duplicated([*keys, *(name for name in figures() if name in table)])
    for row in table[again].head(NAMED).itertuples():
        _exclude(excluded, row, f"line {row.line} repeats an earlier one")
    table = table[~again]
    unlike = table.duplicated(keys, keep=False)
    for _, twice in table[unlike].groupby(keys, sort=False):
        lines = ", ".join(map(str, twice[LINE].tolist()))
        reason = f"is there {len(twice)} times with different figures (lines {lines})"
        _exclude(excluded, next(twice.itertuples()), reason)
    # The cell stays planned: its rows remain, without figures.
    kept = table.copy()
    kept.loc[unlike, [name for name in figures() if name in kept]] = ""
    return kept.drop_duplicates(keys)


def _numbers(table: pd.DataFrame, column: str, excluded: _Excluded) -> pd.Series[float]:
    """A column's figures; NaN for one that is not a number above 0 (errors: from 0)."""
    text = table[column].str.strip()
    values = pd.to_numeric(text, errors="coerce").astype(float)
    least = 0.0 if column == ERRORS else LEAST
    good = values.between(least, MOST)
    bad = table[~good & (text != "")]
    wanted = f"a number {'from 0' if column == ERRORS else 'above 0'}"
    for row, found in zip(bad.head(NAMED).itertuples(), text[bad.index], strict=False):
        _exclude(excluded, row, f"line {row.line}: {column} must be {wanted}, found {found!r}")
    for campaign, more in bad.iloc[NAMED:].groupby(CAMPAIGN, sort=False):
        reason = f"{column} must be {wanted}"
        excluded.setdefault(str(campaign), []).append(Excluded(f"{len(more)} more", (reason,)))
    return values.where(good)


def _exclude(excluded: _Excluded, row: Any, reason: str) -> None:
    trial = f"{row.workload}, {row.threads} threads, round {row.round}, {row.side}"
    excluded.setdefault(str(row.campaign), []).append(Excluded(trial, (reason,)))


@dataclass(frozen=True)
class MeasuredElsewhere:
    """One campaign of a file.

    Attributes:
        campaign: its name in the file, or the file's own name if there is no such column.
        missing: what the file lacks, by cell and side.
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
        ``campaigns(read(Path("trials.csv")))[0].workloads[0].threads``
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
