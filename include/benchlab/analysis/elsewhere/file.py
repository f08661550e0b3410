"""Reads trials that were measured elsewhere: a CSV file becomes campaigns to compare.

Columns: ``workload``, ``threads``, ``round``, ``side`` (``baseline`` or ``candidate``) and any of
``tps`` (1/s), ``qps`` (1/s), ``tpmc`` (1/min), ``qpm`` (1/min), ``p95_ms`` and ``errors``; with
``campaign`` the file holds several, and with ``deployment`` (1, 2, ...) it says which rounds of a
campaign were measured after both sides had been deployed and loaded anew. Such a file does not say
what was planned. That is assumed to be every thread count of a workload in every round of its
campaign, on both sides, without first or last rounds and thread counts that only one side has.

Example, in a file::

    workload,threads,round,side,tps,p95_ms
    oltp_read_write,64,1,baseline,1520.4,61.1
    oltp_read_write,64,1,candidate,1498.0,62.2
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from itertools import chain, groupby, pairwise, zip_longest
from pathlib import Path

from benchlab import workloads
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.arrays import Array, np
from benchlab.bounded import read_bytes
from benchlab.errors import SpecError
from benchlab.plan.documents import is_utf16
from benchlab.plan.metric import LATENCY as LATENCY_FAMILY
from benchlab.plan.metric import THROUGHPUT, Metric, of_kind
from benchlab.plan.report_type import SIDES, Side

KEYS = ("workload", "threads", "round", "side")
LATENCY = "p95_ms"
ERRORS = "errors"
# A report's own trials.csv has this column: false for trials that were invalid or measured again.
USED = "used"
CAMPAIGN = "campaign"
DEPLOYMENT = "deployment"
# A throughput, latency or count outside these bounds is a mistake in the file.
LEAST, MOST = 1e-6, 1e12
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,3})?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[1-9][0-9]{0,2}(?:[,'\u2019\s][0-9]{3})+(?:\.[0-9]*)?")
_COMMA = re.compile(r"[0-9.'\u2019\s]*,[0-9.,'\u2019\s]*")
_WHOLE = {"threads": (1, 1e9), "round": (0, 1e15), DEPLOYMENT: (1, 1e9)}

Key = tuple[str, str, int, int, Side]
"""Campaign, workload, threads, round and side."""


@cache
def throughputs() -> dict[str, tuple[Metric, ...]]:
    """For each rate that a file may have, the metrics that are decided: it and the latency.

    Rates that are no client's throughput, such as ``qps``, come last. The latency of a file is its
    ``p95_ms``, whatever a client calls its own.
    """
    found: dict[str, tuple[Metric, ...]] = {}
    others: dict[str, tuple[Metric, ...]] = {}
    for workload in workloads.by_name().values():
        latency = replace(of_kind(workload.METRICS, LATENCY_FAMILY), name=LATENCY)
        for metric in workload.METRICS:
            if metric.is_rate and metric.shown == "table":
                kind = found if metric.family == THROUGHPUT else others
                decided = replace(metric, family=THROUGHPUT)
                kind.setdefault(metric.name, (decided, latency))
    return found | others


def figures() -> tuple[str, ...]:
    """The columns of figures that a file may have: rates, latency and errors."""
    return (*throughputs(), LATENCY, ERRORS)


@dataclass(frozen=True)
class Excluded:
    """A trial with a row, or a figure, that is not used."""

    trial: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Trial:
    """One row of a file.

    Attributes:
        texts: its columns of figures, as written.
        numbers: those of them that can be used.
    """

    line: int
    campaign: str
    workload: str
    threads: int
    round: int
    side: Side
    deployment: int
    is_used: bool
    texts: Mapping[str, str]
    numbers: Mapping[str, Decimal]

    @property
    def key(self) -> Key:
        """What identifies the trial; two rows may have the same."""
        return self.campaign, self.workload, self.threads, self.round, self.side

    def __str__(self) -> str:
        return f"{self.workload}, {self.threads} threads, round {self.round}, {self.side}"


def read(path: Path) -> tuple[tuple[MeasuredElsewhere, ...], bool]:
    """Read a file: its campaigns, in its order, and whether it names them.

    A figure that is not a positive number is left out and named, and so is a trial that occurs
    twice with different figures.

    Example:
        ``read(Path("trials.csv"))[0][0].workloads[0].threads``

    Raises:
        SpecError: the file cannot be read, lacks a column, or has a row whose workload, threads,
            round or side is wrong; names the line.
    """
    headings, rows = _rows(path)
    by_key: dict[Key, list[Trial]] = {}
    for line, row in rows:
        trial = _trial(path, line, row)
        by_key.setdefault(trial.key, []).append(trial)
    _refuse_rounds_of_two(path, by_key)
    found: dict[str, list[tuple[Trial, list[str]]]] = {}
    for (campaign, *_), same in by_key.items():
        found.setdefault(campaign, []).append(_one_of(same))
    known = (*KEYS, *figures(), USED, CAMPAIGN, DEPLOYMENT)
    unused = [n for n in headings if n not in known and any(row[n] for _, row in rows)]
    notes = [f"columns that are not used: {', '.join(unused)}"] if unused else []
    return tuple(_campaign(*one, notes) for one in found.items()), CAMPAIGN in headings


def _rows(path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """The headings, and each row that is not blank, with its line."""
    lines = _lines(path)
    _, first = next(lines, (1, []))
    headings = [name.lower() or f"column {number}" for number, name in enumerate(first, 1)]
    found = ", ".join(headings)
    if not any(first):
        raise SpecError(f"{path}: its first line is empty; it needs the columns {', '.join(KEYS)}")
    lacking = [name for name in KEYS if name not in headings]
    if lacking and (signs := [sign for sign in _SEPARATORS if sign in found]):
        raise SpecError(
            f"{path}: line 1: its columns are separated by {_SEPARATORS[signs[0]]}; save it as "
            "CSV with commas between the columns, and with points before the decimals"
        )
    if lacking:
        raise SpecError(f"{path}: lacks the column {', '.join(lacking)}; found {found}")
    if not any(name in headings for name in figures()):
        raise SpecError(f"{path}: has none of the columns {', '.join(figures())}; found {found}")
    if twice := [name for number, name in enumerate(headings) if name in headings[:number]]:
        raise SpecError(f"{path}: has a column twice: {', '.join(twice)}")
    rows = []
    for line, fields in lines:
        if any(fields[len(headings) :]):
            raise SpecError(
                f"{path}: line {line}: {len(fields)} fields below {len(headings)} headings; a "
                "figure with a comma, such as 1,001.5, has to be in quotes, or without the comma"
            )
        if any(fields):
            rows.append((line, dict(zip_longest(headings, fields[: len(headings)], fillvalue=""))))
    if not rows:
        raise SpecError(f"{path}: has no row below its heading")
    return headings, rows


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line, without blanks around them, and its number."""
    raw = read_bytes(path)
    text = raw.decode("utf-16" if is_utf16(raw) else "utf-8-sig", errors="replace")
    if strange := re.search("[\0\ufffd]", text):
        line = text.count("\n", 0, strange.start()) + 1
        raise SpecError(f"{path}: line {line}: is not a text in UTF-8; save it as CSV in UTF-8")
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise SpecError(
                f"{path}: line {line}: is not CSV: a quotation mark does not end, or has text "
                "between it and the next comma"
            ) from error
        yield line, [field.strip() for field in fields]


def _trial(path: Path, line: int, row: Mapping[str, str]) -> Trial:
    def refuse(name: str, wanted: str) -> SpecError:
        return SpecError(f"{path}: line {line}: {name}: must be {wanted}, found {row[name]!r}")

    whole = {}
    for name, (least, most) in _WHOLE.items():
        number = _number(row.get(name, "1"))
        if number is None or not least <= number <= most or number % 1:
            raise refuse(name, f"a whole number from {least}")
        whole[name] = int(number)
    if not row["workload"]:
        raise refuse("workload", "a name")
    sides = [side for side in SIDES if side == row["side"].lower()]
    if not sides:
        raise refuse("side", " or ".join(SIDES))
    texts = {name: row[name] for name in figures() if name in row}
    numbers = {
        name: number for name, text in texts.items() if (number := _number(text)) is not None
    }
    for name, text in texts.items():
        if name not in numbers and _COMMA.fullmatch(text):
            raise refuse(name, "a number with a point before its decimals")
    return Trial(
        line=line,
        campaign=row.get(CAMPAIGN, path.stem),
        workload=row["workload"],
        side=sides[0],
        **whole,
        is_used=row.get(USED, "").lower() not in ("false", "0", "no"),
        texts=texts,
        numbers={
            name: number
            for name, number in numbers.items()
            if (0 if name == ERRORS else LEAST) <= number <= MOST
        },
    )


def _number(text: str) -> Decimal | None:
    """The number in a field, also with separated thousands; None if it is not a number."""
    if _THOUSANDS.fullmatch(text):
        text = re.sub(r"[^0-9.]", "", text)
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _refuse_rounds_of_two(path: Path, by_key: Mapping[Key, Sequence[Trial]]) -> None:
    """Refuse a file in which two deployments measure one round."""
    measured: dict[tuple[str, int], Trial] = {}
    for trial in chain(*by_key.values()):
        first = measured.setdefault((trial.campaign, trial.round), trial)
        if trial.deployment != first.deployment:
            raise SpecError(
                f"{path}: line {trial.line}: {DEPLOYMENT}: must be the same in all rows of a "
                f"round, found {first.deployment} and {trial.deployment} in round {trial.round}"
            )


def _one_of(same: Sequence[Trial]) -> tuple[Trial, list[str]]:
    """The row that counts of one trial's, and why the others, or its figures, do not.

    If its report did not use it, or rows differ, the trial stays planned, without figures.
    """
    reasons = [f"line {one.line}: its report did not use it" for one in same if not one.is_used]
    distinct: dict[tuple[str, ...], Trial] = {}
    for one in same:
        if one.is_used and distinct.setdefault(tuple(one.texts.values()), one) is not one:
            reasons.append(f"line {one.line} repeats an earlier one")
    if len(distinct) != 1:
        if distinct:
            lines = ", ".join(str(one.line) for one in distinct.values())
            reasons.append(f"is there {len(distinct)} times with different figures (lines {lines})")
        return replace(same[0], numbers={}), reasons
    (trial,) = distinct.values()
    for name, text in trial.texts.items():
        if text and name not in trial.numbers:
            wanted = f"a number {'from 0' if name == ERRORS else 'above 0'}"
            reasons.append(f"line {trial.line}: {name} must be {wanted}, found {text!r}")
    return trial, reasons


@dataclass(frozen=True)
class MeasuredElsewhere:
    """One campaign of a file.

    Attributes:
        campaign: its name in the file, or the file's own name if there is no such column.
        missing: what the file lacks, by cell and side.
        errors: by workload, errors and throughputs of shape (rounds, 2), summed over the thread
            counts: the file does not say how long trials took, so all are assumed to take equally
            long. NaN where a trial lacks one; without workloads whose trials all lack errors.
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
        return max(len(rounds.rounds) for rounds in self.workloads)


def _campaign(
    name: str, found: Sequence[tuple[Trial, Sequence[str]]], common: Sequence[str]
) -> MeasuredElsewhere:
    trials = [trial for trial, _ in found]
    deployments = dict(sorted({trial.round: trial.deployment for trial in trials}.items()))
    workloads, missing, notes, errors = [], list[str](), list(common), {}
    if gaps := [_span(a + 1, b - 1) for a, b in pairwise(deployments) if b - a > 1]:
        notes.append(f"not in the file: {_rounds_said(gaps)}")
    missing += [f"round {gap}, everything" for gap in gaps]
    for workload in dict.fromkeys(trial.workload for trial in trials):
        own, alone = _on_both_sides([trial for trial in trials if trial.workload == workload])
        rounds = _rounds(workload, deployments, own)
        workloads.append(rounds)
        notes += (f"{workload}: {note}" for note in (*alone, *_units(rounds, own)))
        missing += _missing(rounds)
        if any(ERRORS in trial.numbers for trial in own):
            errors[workload] = _errors(rounds, own)
    excluded = (Excluded(str(trial), (why,)) for trial, reasons in found for why in reasons)
    return MeasuredElsewhere(
        name, tuple(workloads), tuple(excluded), tuple(missing), tuple(notes), errors
    )


def _on_both_sides(trials: Sequence[Trial]) -> tuple[Sequence[Trial], list[str]]:
    """A workload's trials, without those that only one side can have planned; and notes on these.

    Those are rounds before the first and after the last that both have, and thread counts of one
    side.
    """
    there = {side: [one for one in trials if one.side == side] for side in SIDES}
    both = set.intersection(*({one.round for one in own} for own in there.values()))
    common = set.intersection(*({one.threads for one in own} for own in there.values()))
    first, last = min(both, default=0), max(both, default=-1)
    kept = [one for one in trials if first <= one.round <= last and one.threads in common]
    if not kept:
        return trials, []
    notes = []
    for side, own in there.items():
        ends = ranges(sorted({one.round for one in own if not first <= one.round <= last}))
        if ends:
            notes.append(f"only {side} has {_rounds_said(ends)}, not compared")
        if counts := sorted({one.threads for one in own} - common):
            listed = ", ".join(map(str, counts))
            notes.append(f"only {side} has {listed} threads, not compared")
    return kept, notes


def _rounds(name: str, deployments: Mapping[int, int], trials: Sequence[Trial]) -> Rounds:
    """The figures of a workload.

    Args:
        deployments: the number of each round's deployment, by round in rising order.
    """
    own = {trial.round for trial in trials}
    first, last = min(own), max(own)
    numbers = [number for number in deployments if first <= number <= last]
    threads = list(dict.fromkeys(trial.threads for trial in trials))
    counts = Counter(chain.from_iterable(trial.numbers for trial in trials))
    # The rate that most trials have; the first on a tie.
    rate = max(throughputs(), key=lambda column: counts[column])
    decided = throughputs()[rate]
    shown = [column for column in (*throughputs(), LATENCY) if column in trials[0].texts]
    # A file with latencies alone has no throughput to decide.
    metrics = [one for one in decided if counts[one.name]]
    metrics = metrics or [one for one in decided if one.name in shown] or [decided[0]]
    values, printed = {}, {}
    row = {number: place for place, number in enumerate(numbers)}
    for column in dict.fromkeys((*(one.name for one in metrics), *shown)):
        values[column] = np.full((len(numbers), len(threads), len(SIDES)), np.nan)
        for trial in trials:
            if column in trial.numbers:
                place = row[trial.round], threads.index(trial.threads), SIDES.index(trial.side)
                values[column][place] = trial.numbers[column]
        # 49000 and 48000 are known to a thousand, 49.0 and 48.5 to a tenth.
        known = [one.numbers[column].normalize() for one in trials if column in one.numbers]
        printed[column] = 10.0 ** min((int(n.as_tuple().exponent) for n in known), default=0)
    return Rounds(
        workload=name,
        metrics=tuple(metrics),
        rounds=numbers,
        threads=tuple(threads),
        sides=SIDES,
        values=values,
        deployments=[deployments[number] for number in numbers],
        printed=printed,
    )


def _units(rounds: Rounds, trials: Sequence[Trial]) -> Iterator[str]:
    """What a reader should know about the units of a workload's figures."""
    metric = rounds.metric
    if not any(metric in trial.numbers for trial in trials):
        yield f"no trial has a figure ({', '.join((*throughputs(), LATENCY))})"
    for other in throughputs():
        count = sum(other in one.numbers and metric not in one.numbers for one in trials)
        if count:
            yield (
                f"mixed units: {count} trial{'s' * (count != 1)} with {other} and without "
                f"{metric}; figures of different units are not compared"
            )


def _errors(rounds: Rounds, trials: Sequence[Trial]) -> tuple[Array, Array]:
    """Errors and throughputs by round and side; a trial that lacks one makes its round NaN.

    With latencies alone, all throughputs count as equal.
    """
    shape = (len(rounds.rounds), len(SIDES))
    errors, rates = np.zeros(shape), np.zeros(shape)
    row = {number: place for place, number in enumerate(rounds.rounds)}
    for trial in trials:
        place = row[trial.round], SIDES.index(trial.side)
        errors[place] += float(trial.numbers.get(ERRORS, math.nan))
        has_rate = rounds.kinds[0] == THROUGHPUT
        rates[place] += float(trial.numbers.get(rounds.metric, math.nan)) if has_rate else 1.0
    return errors, rates


def _missing(rounds: Rounds) -> Iterator[str]:
    lacking = np.isnan(rounds.values[rounds.metric])
    for column, threads in enumerate(rounds.threads):
        for which, side in enumerate(SIDES):
            gone = [
                rounds.rounds[row] for row in np.flatnonzero(lacking[:, column, which]).tolist()
            ]
            if gone:
                yield f"{rounds.workload}, {threads} threads, {side}: {_rounds_said(ranges(gone))}"


def _rounds_said(ranges: Sequence[str]) -> str:
    return f"round{'s' * (len(ranges) > 1 or '-' in ranges[0])} {', '.join(ranges)}"


def ranges(numbers: Iterable[int]) -> list[str]:
    """Numbers in rising order, consecutive ones as a range: ``ranges([1, 3, 4, 5])``: 1, 3-5."""
    by_range = groupby(enumerate(numbers), key=lambda place: place[1] - place[0])
    ranges = [[number for _, number in members] for _, members in by_range]
    return [_span(members[0], members[-1]) for members in ranges]


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
