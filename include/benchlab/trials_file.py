"""Trials that were measured elsewhere: a CSV file becomes campaigns to be compared.

Columns: ``workload``, ``threads``, ``round``, ``side`` (``baseline`` or ``candidate``) and any of
``tps`` (1/s), ``qps`` (1/s), ``tpmc`` (1/min), ``p95_ms`` and ``errors``; with ``campaign`` the
file holds several. What was planned is not in such a file: it is taken to be every thread count
of a workload in every round of its campaign, on both sides.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchlab.errors import SpecError
from benchlab.rounds import Rounds
from benchlab.spec import SIDES

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

KEYS = ("workload", "threads", "round", "side")
THROUGHPUT = ("tps", "tpmc", "qps")
LATENCY = "p95_ms"
ERRORS = "errors"
# As a report's own trials.csv has it: the trials that were invalid, or measured again, have false.
USED = "used"
FIGURES = ("tps", "qps", "tpmc", LATENCY, ERRORS)
CAMPAIGN = "campaign"
LINE = "line"
# What lies outside is no throughput, latency or count of anything.
LEAST, MOST = 1e-6, 1e12
# Of the same fault, as many are named one by one.
NAMED = 1000

_Excluded = dict[str, list["Excluded"]]


@dataclass(frozen=True)
class Excluded:
    """A row, or rows, whose figures are not used."""

    trial: str
    reasons: tuple[str, ...]


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
    doubts: dict[str, tuple[str, ...]]

    @property
    def rounds(self) -> int:
        """How many rounds the file has of it."""
        return len(self.workloads[0].rounds)


@dataclass(frozen=True)
class _Rows:
    """A campaign's rows, or those of one of its workloads, as arrays of equal length.

    Attributes:
        sides: 0 for the baseline, 1 for the candidate.
        figures: by column; NaN where missing.
    """

    campaign: str
    workloads: NDArray[np.object_]
    rounds: NDArray[np.int64]
    threads: NDArray[np.int64]
    sides: NDArray[np.int64]
    figures: Mapping[str, NDArray[np.float64]]

    def of(self, workload: str) -> _Rows:
        """Those of one workload."""
        own = self.workloads == workload
        arrays = (self.workloads, self.rounds, self.threads, self.sides)
        figures = {column: values[own] for column, values in self.figures.items()}
        return _Rows(self.campaign, *(array[own] for array in arrays), figures)


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
    table = _table(path)
    known = (*KEYS, *FIGURES, USED, CAMPAIGN, LINE)
    unused = [name for name in table.columns if name not in known]
    notes = (f"columns that are not used: {', '.join(unused)}",) if unused else ()
    several = CAMPAIGN in table.columns
    if not several:
        table = table.assign(**{CAMPAIGN: path.stem})
    excluded: _Excluded = {}
    table = _each_once(_used(table, excluded), excluded)
    for column in FIGURES:
        if column in table:
            table[column] = _numbers(table, column, excluded)
    return TrialsFile(
        tuple(
            _campaign(rows, tuple(excluded.get(rows.campaign, ())), notes)
            for rows in _by_campaign(table)
        ),
        several,
    )


def _table(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        table = pd.read_csv(
            path,
            dtype=str,
            keep_default_na=False,
            skipinitialspace=True,
            index_col=False,
            encoding="utf-8-sig",
        )
    except (OSError, UnicodeDecodeError, pd.errors.ParserError) as error:
        raise SpecError(f"{path}: cannot be read as CSV: {error}") from error
    except pd.errors.EmptyDataError as error:
        raise SpecError(f"{path}: is empty; it needs the columns {', '.join(KEYS)}") from error
    table.columns = pd.Index(_headings(path))
    if lacking := [name for name in KEYS if name not in table.columns]:
        raise SpecError(f"{path}: lacks the column {', '.join(lacking)}; found {_list(table)}")
    if not any(name in table.columns for name in FIGURES):
        raise SpecError(
            f"{path}: has none of the columns {', '.join(FIGURES)}; found {_list(table)}"
        )
    if table.empty:
        raise SpecError(f"{path}: has no row below its heading")
    table[LINE] = range(2, len(table) + 2)
    return _placed(path, table)


def _headings(path: Path) -> list[str]:
    """The columns as they are written: pandas gives those that are there twice other names."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        headings = [name.strip().lower() for name in next(csv.reader(file), [])]
    if twice := [name for number, name in enumerate(headings) if name in headings[:number]]:
        raise SpecError(f"{path}: has a column twice: {', '.join(twice)}")
    return headings


def _list(table: pd.DataFrame) -> str:
    return ", ".join(map(str, table.columns))


def _placed(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    """The table with its keys as what they are."""
    import pandas as pd

    for name in KEYS:
        table[name] = table[name].str.strip()
    table["side"] = table["side"].str.lower()
    numbers = {name: pd.to_numeric(table[name], errors="coerce") for name in ("threads", "round")}
    wrong = {
        "workload": (table["workload"] == "", "a name"),
        "side": (~table["side"].isin(SIDES), "baseline or candidate"),
        "threads": (~(numbers["threads"].mod(1).eq(0) & numbers["threads"].between(1, 1e9)),
                    "a whole number from 1"),
        "round": (~(numbers["round"].mod(1).eq(0) & numbers["round"].between(0, 1e15)),
                  "a whole number from 0"),
    }  # fmt: skip
    for name, (mask, wanted) in wrong.items():
        if mask.any():
            first = table[mask].iloc[0]
            raise SpecError(
                f"{path}: line {first['line']}: {name}: must be {wanted}, found {first[name]!r} "
                f"({int(mask.sum())} such row{'s' * (int(mask.sum()) != 1)})"
            )
    return table.assign(**{name: values.astype("int64") for name, values in numbers.items()})


def _by_campaign(table: pd.DataFrame) -> Iterator[_Rows]:
    """The rows of each campaign, in the order in which the file begins them."""
    import numpy as np
    import pandas as pd

    codes, names = pd.factorize(table[CAMPAIGN])
    workloads = table["workload"].to_numpy()
    rounds, threads = table["round"].to_numpy(), table["threads"].to_numpy()
    sides = (table["side"] == SIDES[1]).to_numpy().astype(int)
    figures = {column: table[column].to_numpy() for column in FIGURES if column in table}
    order = np.argsort(codes, kind="stable")
    for own in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        yield _Rows(
            str(names[codes[own[0]]]),
            *(array[own] for array in (workloads, rounds, threads, sides)),
            {column: values[own] for column, values in figures.items()},
        )


def _campaign(
    rows: _Rows, excluded: tuple[Excluded, ...], common: tuple[str, ...]
) -> MeasuredElsewhere:
    numbers = sorted(set(rows.rounds.tolist()))
    workloads, missing, notes, doubts = [], list[str](), list(common), {}
    if gaps := _gaps(numbers):
        plural = "s" * (len(gaps) > 1 or "-" in gaps[0])
        notes.append(f"not in the file: round{plural} {', '.join(gaps)}")
    missing += [f"round {gap}, everything" for gap in gaps]
    for workload in dict.fromkeys(rows.workloads.tolist()):
        own = rows.of(workload)
        rounds, units = _workload(workload, numbers, own)
        workloads.append(rounds)
        notes += units
        missing += _missing(rounds)
        doubts[workload] = tuple(_one_sided_errors(own))
    return MeasuredElsewhere(
        rows.campaign, tuple(workloads), excluded, tuple(missing), tuple(notes), doubts
    )


def _used(table: pd.DataFrame, excluded: _Excluded) -> pd.DataFrame:
    """The rows without the figures that their own report did not use; the cells stay planned."""
    if USED not in table:
        return table
    left_out = table[USED].str.strip().str.lower().isin(("false", "0", "no"))
    for row in table[left_out].head(NAMED).itertuples():
        _exclude(excluded, row, f"line {row.line}: its report did not use it")
    keys = [CAMPAIGN, *KEYS]
    elsewhere = table[left_out].merge(table.loc[~left_out, keys], on=keys)[LINE]
    table = table[~table[LINE].isin(elsewhere)].copy()
    table.loc[left_out, [name for name in FIGURES if name in table]] = ""
    return table


def _each_once(table: pd.DataFrame, excluded: _Excluded) -> pd.DataFrame:
    """The rows without trials that are there twice: of equal ones the first, of others none."""
    keys = [CAMPAIGN, *KEYS]
    if not table.duplicated(keys).any():
        return table
    again = table.duplicated([name for name in table.columns if name != LINE])
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
    kept.loc[unlike, [name for name in FIGURES if name in kept]] = ""
    return kept.drop_duplicates(keys)


def _numbers(table: pd.DataFrame, column: str, excluded: _Excluded) -> pd.Series[float]:
    """A column's figures; what is no positive number (of errors: none from zero) is NaN."""
    import pandas as pd

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


def _workload(name: str, numbers: Sequence[int], rows: _Rows) -> tuple[Rounds, list[str]]:
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


def _one_sided_errors(rows: _Rows) -> Iterator[str]:
    """How long a trial took is not in the file, so that any error counts, and not its rate."""
    if ERRORS not in rows.figures:
        return
    sides = rows.sides[rows.figures[ERRORS] > 0].tolist()
    if len(set(sides)) == 1:
        yield (
            f"the client met errors only on the {SIDES[sides[0]]} side, in {len(sides)} "
            f"trial{'s' * (len(sides) != 1)}"
        )


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
