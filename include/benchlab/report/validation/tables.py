"""A report as tables of facts: what its files say, and what they are expected to say.

The former is read from the report's files, the latter from plan and store, or recomputed from the
trials. :mod:`benchlab.report.validation.run` checks the tables.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from statistics import fmean
from typing import Any, NamedTuple

from benchlab import workloads
from benchlab.plan.metric import COUNT, LATENCY
from benchlab.plan.open_loop import metrics_of, rate_of
from benchlab.report.formats.csv_text import read
from benchlab.report.model import cost, figures
from benchlab.report.model.report import Report
from benchlab.report.validation.recomputed import Change, Recomputed
from benchlab.results.records import TrialResult

Row = Mapping[str, Any]
Limits = tuple[float | None, float | None]
ANY = "any value within its limits"
# The tolerance for figures at full precision, which were computed in another order.
NEAR = 1e-9
# Percentiles come from histogram buckets 1.8 % apart; figures are printed with two decimals.
_BUCKET, _PRINTED = 0.02, 0.01
# In percent: below this, the end of an interval has too few digits to recover its logarithm.
_HARDLY_ANY_LEFT = -99.0
# The factor allowed around Little's law: catches a mean in seconds instead of milliseconds.
_OTHER_UNIT = 30.0


class Fact(NamedTuple):
    """A value found in one place, the value expected there, and its limits.

    Example:
        ``Fact("oltp_insert, tps", "p_adjusted", 0.03, ANY, 0.0, 1.0)``
    """

    row: str
    column: str
    found: Any
    expected: Any = ANY
    least: float | None = None
    most: float | None = None


@dataclass(frozen=True)
class Table:
    """Facts of one kind, at most one per row and column; ``count``: how many are expected."""

    name: str
    count: int
    facts: tuple[Fact, ...]


def key_of(tables: Iterable[Table]) -> str:
    """The SHA-256 of all facts, in hexadecimal."""
    return hashlib.sha256(json.dumps([*map(astuple, tables)]).encode()).hexdigest()


def of_report(report: Report, files: Mapping[str, bytes]) -> tuple[Table, ...]:
    """Collect the facts of a report, table by table; tables that have and need none are left out.

    Args:
        report: in English.
        files: ``report.json``, ``comparison.csv`` and ``trials.csv`` as they are published.

    Example:
        ``of_report(report, bundle.figures(...))[0].name`` is ``plan``.
    """
    document = json.loads(files["report.json"])
    own = Recomputed(report.plan, report.results, report.campaign.screening)
    trials = read(files["trials.csv"])
    made = {
        "plan": _planned(own, trials, document),
        "trials": _trials(report, own, trials, document),
        "samples": _samples(report),
        "figures": _figures(own, read(files["comparison.csv"]), document),
        "decisions": _decisions(report, own, document),
        "shown": _shown(report, own),
        "gates": _gates(report.results, document),
        "prices": _prices(report, own, document),
    }
    found = {name: tuple(facts) for name, facts in made.items()}
    # The rows of this table come from a file; those of others from plan and store.
    of_trial = len(_PLANNED) + len(_STORED) + len(report.plan.metrics)
    counts = {"trials": len(report.results) * of_trial}
    return tuple(
        Table(name, counts.get(name, len(facts)), facts)
        for name, facts in found.items()
        if facts or counts.get(name)
    )


def _planned(own: Recomputed, trials: Sequence[Row], document: Row) -> Iterator[Fact]:
    """Every planned trial is used once, or listed as missing."""
    used = Counter(row["trial"] for row in trials if row["used"] is True)
    missing: Counter[str] = Counter(document["missing"])
    for trial in own.plan.trials:
        yield Fact(trial.id, "used", used[trial.id], 1 - missing[trial.id])


_PLANNED = ("round", "side", "workload", "threads")
_STORED = ("attempt", "deployment", "valid", "used", "reasons")


def _trials(
    report: Report, own: Recomputed, trials: Sequence[Row], document: Row
) -> Iterator[Fact]:
    """Every row of ``trials.csv`` agrees with plan and store."""
    stored = {(one.trial.id, one.attempt): one for one in report.results}
    planned = {one.id: one for one in own.plan.trials}
    reasons = {(one["trial"], one["attempt"]): one["reasons"] for one in document["excluded"]}
    for row in trials:
        key, name = (row["trial"], row["attempt"]), _trial(row["trial"], row["attempt"])
        result, trial = stored.get(key), planned.get(row["trial"])
        if result is None or trial is None:
            yield Fact(name, "trial", row["trial"], None)
            continue
        used = key in own.used
        limits = _limits(report, result) if used else {}
        failed = sum(one.kind == "validity" and one.status == "fail" for one in result.gates)
        yield Fact(name, "attempt", row["attempt"], ANY, 1, 1 + report.spec.repeat_limit)
        for column in _PLANNED:
            yield Fact(name, column, row[column], getattr(trial, column))
        yield Fact(name, "deployment", row["deployment"], own.plan.deployment_of(trial.round))
        yield Fact(name, "valid", row["valid"], result.valid)
        yield Fact(name, "used", row["used"], used)
        # A valid trial that does not count was measured again, which is a reason.
        why = 0 if used else max(len(result.reasons), 1)
        yield Fact(name, "reasons", len(reasons.get(key, ())), why, failed)
        for metric in own.plan.metrics:
            value = result.value(metric.name)
            yield Fact(name, metric.name, row[metric.name], value, *limits.get(metric.name, ()))


def _limits(report: Report, result: TrialResult) -> dict[str, Limits]:
    """Limits on a trial's figures that follow from its other figures.

    A percentile lies between the lowest and the highest latency. QPS is the number of queries of a
    transaction times TPS, plus what transactions that failed may have sent. A mean latency roughly
    follows Little's law where clients do not pause or wait for work, which is enough to detect a
    wrong unit.
    """
    throughput, latency, found = report.plan.throughput, report.plan.latency, result.figures
    queries = workloads.queries_of(result.trial.workload, report.spec.client)
    rate, seconds, errors = (found.get(one) for one in (throughput.name, "duration_s", "errors"))
    limits: dict[str, Limits] = {}
    if latency.name.endswith("p95_ms"):
        least, most = found.get("min_ms"), found.get("max_ms")
        limits[latency.name] = (
            None if least is None else least * (1 - _BUCKET) - _PRINTED - latency.step_ms,
            None if most is None else most * (1 + _BUCKET) + _PRINTED + latency.step_ms,
        )
    if queries and rate:
        apart = _PRINTED * (queries * rate + queries + 1)
        limits["qps"] = (queries * rate - apart, None)
        if seconds and errors is not None:
            ended = (errors + (found.get("reconnects") or 0)) / seconds
            limits["qps"] = (queries * rate - apart, queries * (rate + ended) + apart)
    at_rate = rate_of(result.trial.workload) is not None
    if rate and (queries or throughput.step_ms) and not at_rate:
        mean = throughput.latency_ms(rate, result.trial.threads)
        limits["avg_ms"] = (mean / _OTHER_UNIT, mean * _OTHER_UNIT)
    return limits


def _samples(report: Report) -> Iterator[Fact]:
    """Stored samples belong to metrics of the plan, have their units, and are in range."""
    metrics = {metric.name: metric for metric in report.plan.metrics}
    for result in report.results:
        name = _trial(result.trial.id, result.attempt)
        for sample in result.samples:
            metric, value = metrics.get(sample.metric), sample.value
            unit = metric.unit if metric else None
            least = 0.0 if unit in ("1/s", "1/min", "ms", "s", "B", "us") else None
            finite = value is None or math.isfinite(value)
            yield Fact(name, sample.metric, value, ANY if finite else None, least)
            yield Fact(name, f"unit of {sample.metric}", sample.unit, unit)


def _figures(own: Recomputed, compared: Sequence[Row], document: Row) -> Iterator[Fact]:
    """Every figure of a cell, in CSV and JSON, is what its trials give."""
    said = {
        (workload["name"], cell["threads"]): cell
        for workload in document["workloads"]
        for cell in workload["cells"]
    }
    for at, name in _cells(own):
        rows = [row for row in compared if (row["workload"], row["threads"]) == at]
        yield Fact(name, "rows of comparison.csv", len(rows), 1)
        for column in rows[0] if rows else ():
            side = next((side for side in own.sides if column.startswith(f"{side}_")), None)
            cell = said.get(at, {})
            if side is not None:
                metric = column.removeprefix(f"{side}_")
                expected, of_json = own.mean(*at, side, metric), cell.get(side, {}).get(metric)
            elif column.endswith("improvement_pct"):
                metric = column.removesuffix("improvement_pct").rstrip("_")
                expected = own.change_pct(*at, metric or own.plan.throughput.name)
                if rate_of(at[0]) is not None:  # what both sides were sent
                    expected = None
                of_json = cell.get(column)
            else:
                continue
            yield Fact(name, f"comparison.csv: {column}", rows[0][column], expected)
            yield Fact(name, f"report.json: {column}", of_json, expected)


def _decisions(report: Report, own: Recomputed, document: Row) -> Iterator[Fact]:
    """Changes and intervals follow from the trials, and verdicts from the changes."""
    if not report.has_verdicts:
        return
    said = {workload["name"]: workload for workload in document["workloads"]}
    yield Fact("all", "workloads", len(document["workloads"]), len(own.plan.workloads_in_order))
    for workload in own.plan.workloads_in_order:
        for metric in metrics_of(workload, own.plan.metrics):
            if not (metric.family and metric.decided):
                continue
            name, found = f"{workload}, {metric.name}", said.get(workload, {})
            change = own.change(workload, metric.name)
            if metric.family == COUNT and (metric.kind not in found or change.mean is None):
                continue  # too little of it to be compared, or none on a side
            # At a rate the first latency takes the throughput's place.
            first = metric.kind == LATENCY and rate_of(workload) is not None
            if not (first or metric == own.plan.throughput):
                found = found.get(metric.kind, {})
            if (before := found.get("known_pct")) and change.mean is not None:
                change = replace(change, mean=change.mean - math.log1p(before / 100))
            if metric == own.plan.throughput:
                cells = [own.change_pct(*at, metric.name) for at, _ in _cells(own, workload)]
                known = [change for change in cells if change is not None]
                mean = fmean(known) if len(known) == len(cells) else None
                yield Fact(name, "arithmetic_mean_pct", found.get("arithmetic_mean_pct"), mean)
                geometric = found.get("geometric_mean_pct")
                yield Fact(name, "geometric_mean_pct", geometric, _percent(change.mean))
            yield Fact(name, "metric", found.get("metric"), metric.name)
            yield Fact(name, "rounds_used", found.get("rounds_used"), change.rounds)
            yield Fact(name, "estimate_pct", found.get("estimate_pct"), _percent(change.mean))
            yield Fact(name, "p_adjusted", found.get("p_adjusted"), ANY, 0.0, 1.0)
            gain = _percent(change.mean)
            gain = -gain if gain and metric.less_is_better else gain
            threshold = metric.threshold_pct or report.spec.threshold_pct
            yield _verdict(name, found.get("verdict"), gain, threshold)
            # Calibration may make an interval narrower than the campaign's own variance does.
            own_least = max(change.of_rounds, change.of_deployments)
            least = 0.0 if document["calibration"] or "known_pct" in found else own_least
            yield from _interval(name, "ci95_pct", found, change, least)
            yield from _interval(name, "rounds_ci95_pct", found, change, change.of_rounds)


def _verdict(name: str, verdict: object, gain: float | None, threshold: float) -> Fact:
    bounds: dict[object, Limits] = {
        "improvement": (threshold - NEAR, None),
        "regression": (None, NEAR - threshold),
        "equivalent": (-threshold, threshold),
        "inconclusive": (None, None),
        "unstable": (None, None),
    }
    expected = ANY if verdict in bounds else None
    return Fact(name, f"verdict {verdict}", gain, expected, *bounds.get(verdict, ()))


def _interval(name: str, column: str, found: Row, change: Change, least: float) -> Iterator[Fact]:
    """An interval is symmetric around the change on the log scale, and not too narrow.

    Near -100 % the lower end lacks the digits for a logarithm, so the end itself is compared.
    """
    if not (ends := found.get(column)):
        return
    low, high = (math.log1p(max(end / 100, NEAR - 1)) for end in ends)
    half, middle = (high - low) / 2, (high + low) / 2
    if change.mean is not None and ends[0] < _HARDLY_ANY_LEFT:
        half = high - change.mean
        yield Fact(name, f"lower end of {column}", ends[0], _percent(change.mean - half))
    else:
        yield Fact(name, f"middle of {column}", _percent(middle), _percent(change.mean))
    yield Fact(name, f"half of {column}", _percent(half), ANY, 100 * math.expm1(least) - NEAR)


def _shown(report: Report, own: Recomputed) -> Iterator[Fact]:
    """The tables on the pages show what was recomputed, rounded."""
    for section in report.sections:
        display, workload = figures.display(section, report.language), section.figures.name
        both = (display.throughput, display.latency) if report.has_verdicts else ()
        changed = [metric.name for metric in both if metric.decided]
        for texts in figures.rows(section, report.language):
            at = (workload, int(texts[0]))
            expected = {
                **{
                    f"{side} {column.heading}": own.mean(*at, side, column.metric.name)
                    for side in own.sides
                    for column in display.columns
                },
                **{f"change of {metric}": own.change_pct(*at, metric) for metric in changed},
            }
            for (column, value), text in zip(expected.items(), texts[1:], strict=True):
                shown, step = _number(text)
                fact = Fact(f"{workload} at {at[1]}", column, shown, value)
                if shown is not None and value is not None:
                    fact = fact._replace(expected=ANY, least=value - step, most=value + step)
                yield fact


def _prices(report: Report, own: Recomputed, document: Row) -> Iterator[Fact]:
    """What a million transactions cost follows from the plan's price and the trials."""
    hourly, said = cost.usd_per_hour(report.campaign), document.get("usd_per_million", {})
    names = [one for one in own.plan.workloads_in_order if hourly and rate_of(one) is None]
    totals = {name: found for name in names if (found := own.totals(name))}
    of = {one["name"]: one for one in said.get("workloads", ())}
    if said or totals:
        day = own.plan.prices_as_of if totals else None
        yield Fact("all", "usd_per_hour", said.get("usd_per_hour"), hourly if totals else None)
        yield Fact("all", "prices_as_of", said.get("prices_as_of"), day)
        yield Fact("all", "workloads", len(of), len(totals))
    for name, total in totals.items():
        found, threads = of.get(name, {}), max(total, key=total.__getitem__)
        yield Fact(name, "threads", found.get("threads"), threads)
        yield Fact(name, "at_most", found.get("at_most"), threads == max(total))
        usd = {side: own.usd(name, threads, side, hourly or math.nan) for side in own.sides}
        for side, expected in usd.items():
            price = found.get("prices", {}).get(side, {})
            for end, value in zip(("usd", "low", "high"), expected, strict=True):
                yield Fact(name, f"{side}_{end}", price.get(end), value)
        before, *after = (one[0] or math.nan for one in usd.values())
        change = 100 * (after[0] / before - 1) if after else None
        yield Fact(name, "change_pct", found.get("change_pct"), change)


def _gates(results: Sequence[TrialResult], document: Row) -> Iterator[Fact]:
    """The outcomes counted for each gate of trials agree with the trials' rows."""
    stored = Counter((gate.gate, gate.status) for one in results for gate in one.gates)
    said = {tally["gate"]: tally for tally in document["gates"]}
    for (gate, status), count in sorted(stored.items()):
        column = {"pass": "passed", "fail": "failed"}.get(status, "not_evaluated")
        yield Fact(gate, column, said.get(gate, {}).get(column), count)


def _cells(own: Recomputed, workload: str = "") -> Iterator[tuple[tuple[str, int], str]]:
    """Each planned cell, of ``workload`` or of all: workload and thread count, and its name."""
    for one in [workload] if workload else own.plan.workloads_in_order:
        for threads in own.plan.threads_in_order(one):
            yield (one, threads), f"{one} at {threads}"


def _trial(trial: object, attempt: object) -> str:
    return f"{trial} attempt {attempt}"


def _percent(log_ratio: float | None) -> float | None:
    return None if log_ratio is None else 100 * math.expm1(log_ratio)


def _number(text: str) -> tuple[float | None, float]:
    """The number in a table cell in English, and half a unit of its last decimal place."""
    digits = "".join(one for one in text if one in "0123456789.-")
    try:
        return float(digits), 0.5000001 * 10.0 ** -len(digits.partition(".")[2])
    except ValueError:
        return None, 0.0
