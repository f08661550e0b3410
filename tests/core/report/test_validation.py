"""What is about to be published is validated: a fault of our own is found, and nothing else."""

from __future__ import annotations

import csv
import dataclasses
import functools
import io
import json
import math
import random
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from benchlab.analysis.verdict.compare import Comparison, compare
from benchlab.language import Language, load
from benchlab.plan.order import PlannedTrial
from benchlab.report import bundle
from benchlab.report.evidence import contents
from benchlab.report.model import figures
from benchlab.report.model import report as model
from benchlab.report.model.report import Section
from benchlab.report.model.validation import Validation
from benchlab.report.validation import run, tables
from benchlab.report.validation.tables import Table
from benchlab.results.records import Campaign, Sample, TrialResult
from tests.builders import campaigns
from tests.core.report import (
    test_formats,
    test_model_fleet,
    test_model_tpcc,
    test_model_tpch,
    test_one_version,
)

STORED = Path(__file__).parents[2] / "golden" / "stored" / "1.0.0"
Files = dict[str, bytes]
Case = tuple[Campaign, Comparison, list[TrialResult]]


def full(trial: PlannedTrial, tps: float | None, **fields: Any) -> TrialResult:
    """A trial with every figure of sysbench's."""
    mean = None if tps is None else 1000 * trial.threads / tps
    of_mean = {"p95_ms": 1.6, "avg_ms": 1.0, "min_ms": 0.4, "max_ms": 9.0}
    latencies: dict[str, Any] = {
        name: None if mean is None else mean * times for name, times in of_mean.items()
    }
    return campaigns.trial_result(trial, tps=tps, **latencies, **fields)


def tables_of(
    made: Campaign,
    results: list[TrialResult],
    fault: Callable[[Files], None] = lambda files: None,
) -> tuple[Table, ...]:
    """The tables of a report in whose files there is a fault."""
    outcome = compare(made.plan, results, made.report_type.threshold_pct)
    files = bundle.figures(made, outcome, results)
    fault(files)
    return tables.of_report(model.build(made, outcome, results), files)


def failures(found: tuple[Table, ...]) -> set[tuple[str, str, str]]:
    """Tables, rows and columns that do not hold."""
    return {(one.table, one.row, one.column) for one in run.check(found).failures}


@cache
def sound() -> tuple[Campaign, list[TrialResult]]:
    """A campaign with a loss of 10 %, all figures of its trials, and a pair measured again."""
    made = campaigns.campaign(
        workloads=["oltp_point_select", "oltp_read_write"], rounds=4, threads=[4, 8]
    )
    tps = campaigns.known_change({"oltp_read_write": -0.1}, 0.004)
    results = [full(trial, tps(trial)) for trial in made.plan.trials]
    first = made.plan.trials[0]
    results[0] = dataclasses.replace(
        results[0], valid=False, reasons=("it drifted",), gates=(campaigns.gate("drift", "fail"),)
    )
    again = [trial for trial in made.plan.trials if trial.pair == first.pair]
    return made, [*results, *(full(trial, tps(trial), attempt=2) for trial in again)]


def in_document(change: Callable[[Any], None]) -> Callable[[Files], None]:
    """A fault in ``report.json``."""

    def fault(files: Files) -> None:
        document = json.loads(files["report.json"])
        change(document)
        files["report.json"] = json.dumps(document).encode()

    return fault


def in_table(name: str, change: Callable[[list[dict[str, str]]], None]) -> Callable[[Files], None]:
    """A fault in the rows of a CSV file."""

    def fault(files: Files) -> None:
        rows = list(csv.DictReader(io.StringIO(files[name].decode())))
        change(rows)
        out = io.StringIO()
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)
        files[name] = out.getvalue().encode()

    return fault


def workload(document: Any) -> Any:
    """What ``report.json`` says of the workload that lost."""
    return next(one for one in document["workloads"] if one["name"] == "oltp_read_write")


def in_decision(column: str, change: Callable[[Any], Any]) -> Callable[[Files], None]:
    """A fault in what was decided on that workload."""

    def fault(document: Any) -> None:
        workload(document)[column] = change(workload(document)[column])

    return in_document(fault)


def in_trial(column: str, change: Callable[[str], str]) -> Callable[[Files], None]:
    """A fault in the row of one trial."""

    def fault(rows: list[dict[str, str]]) -> None:
        one(rows)[column] = change(one(rows)[column])

    return in_table("trials.csv", fault)


def one(rows: list[dict[str, str]]) -> dict[str, str]:
    """The row of that trial."""
    return next(row for row in rows if row["trial"] == TRIAL)


def swapped(document: Any) -> None:
    """The figures of a cell are those of the other side."""
    cell = workload(document)["cells"][0]
    cell["baseline"], cell["candidate"] = cell["candidate"], cell["baseline"]


def turned(document: Any) -> None:
    """The latency became shorter, it says."""
    workload(document)["latency"]["estimate_pct"] *= -1


def narrowed(ends: list[float]) -> list[float]:
    """A thousandth of an interval, about the same middle."""
    low, high = (math.log1p(end / 100) for end in ends)
    middle, half = (low + high) / 2, (high - low) / 2000
    return [100 * math.expm1(middle - half), 100 * math.expm1(middle + half)]


TRIAL = "r2-baseline-oltp_read_write-t8"
OF_TRIAL = ("trials", f"{TRIAL} attempt 1")
OF_TPS = ("decisions", "oltp_read_write, tps")
OF_CELL = ("figures", "oltp_read_write at 8")
Where = tuple[str, str, str]
# What is wrong in a file, and where it is found.
IN_FILES: dict[str, tuple[Callable[[Files], None], Where]] = {
    "the sign of a change": (
        in_decision("estimate_pct", lambda value: -value),
        (*OF_TPS, "estimate_pct"),
    ),
    "the sign of a latency's change": (
        in_document(turned),
        ("decisions", "oltp_read_write, p95_ms", "estimate_pct"),
    ),
    "a verdict that contradicts the change": (
        in_decision("verdict", lambda _: "improvement"),
        (*OF_TPS, "verdict improvement"),
    ),
    "no verdict at all": (in_decision("verdict", lambda _: "faster"), (*OF_TPS, "verdict faster")),
    "an interval as a fraction": (
        in_decision("ci95_pct", lambda ends: [end / 100 for end in ends]),
        (*OF_TPS, "middle of ci95_pct"),
    ),
    "an interval narrower than its rounds": (
        in_decision("rounds_ci95_pct", narrowed),
        (*OF_TPS, "half of rounds_ci95_pct"),
    ),
    "another mean": (
        in_decision("arithmetic_mean_pct", lambda _: -9.0),
        (*OF_TPS, "arithmetic_mean_pct"),
    ),
    "a lost round": (in_decision("rounds_used", lambda _: 3), (*OF_TPS, "rounds_used")),
    "a missing workload": (
        in_document(lambda document: document["workloads"].pop()),
        ("decisions", "all", "workloads"),
    ),
    "sides that are swapped": (
        in_document(swapped),
        ("figures", "oltp_read_write at 4", "report.json: baseline_tps"),
    ),
    "a rejected trial without a reason": (
        in_document(lambda document: document["excluded"].pop()),
        ("trials", "r1-baseline-oltp_point_select-t8 attempt 1", "reasons"),
    ),
    "failures that are not counted": (
        in_document(lambda document: document["gates"].clear()),
        ("gates", "drift", "failed"),
    ),
    "seconds for milliseconds": (
        in_trial("p95_ms", lambda text: str(float(text) / 1000)),
        (*OF_TRIAL, "p95_ms"),
    ),
    "a trial of the other side": (in_trial("side", lambda _: "candidate"), (*OF_TRIAL, "side")),
    "a trial that does not count": (in_trial("used", lambda _: "false"), (*OF_TRIAL, "used")),
    "a figure that is null": (in_trial("tps", lambda _: ""), (*OF_TRIAL, "tps")),
    "a text for a number": (in_trial("threads", lambda _: "eight"), (*OF_TRIAL, "threads")),
    "a trial that nobody planned": (
        in_trial("trial", lambda _: "r9-baseline-tpcc-t1"),
        ("trials", "r9-baseline-tpcc-t1 attempt 1", "trial"),
    ),
    "a missing trial": (
        in_table("trials.csv", lambda rows: rows.remove(one(rows))),
        ("plan", TRIAL, "used"),
    ),
    "a trial that is there twice": (
        in_table("trials.csv", lambda rows: rows.append(one(rows))),
        (*OF_TRIAL, "side"),
    ),
    "a cell that is there twice": (
        in_table("comparison.csv", lambda rows: rows.append(rows[-1])),
        (*OF_CELL, "rows of comparison.csv"),
    ),
    "a cell's change as a fraction": (
        in_table("comparison.csv", lambda rows: rows[-1].update(improvement_pct="-0.1")),
        (*OF_CELL, "comparison.csv: improvement_pct"),
    ),
}
# The same of what the store has of that trial.
IN_STORE: dict[str, tuple[Sample, Where]] = {
    "a unit": (Sample("p95_ms", 13.0, "s"), ("samples", OF_TRIAL[1], "unit of p95_ms")),
    "a negative rate": (Sample("tps", -3.0, "1/s"), ("samples", OF_TRIAL[1], "tps")),
    "a p95 above the largest latency": (Sample("p95_ms", 99.0, "ms"), (*OF_TRIAL, "p95_ms")),
    "a p95 in seconds": (Sample("p95_ms", 0.004, "ms"), (*OF_TRIAL, "p95_ms")),
    "a mean in seconds": (Sample("avg_ms", 0.003, "ms"), (*OF_TRIAL, "avg_ms")),
    "QPS of another workload": (Sample("qps", 2800.0, "1/s"), (*OF_TRIAL, "qps")),
}


def test_a_sound_report_has_no_fault() -> None:
    """Nor a pair that was measured again, nor a rejected trial; nothing is warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = run.check(tables_of(*sound()))
    assert found.failures == ()
    assert [table.table for table in found.tables] == [
        *("plan", "trials", "samples", "figures", "decisions", "shown", "gates")
    ]


@pytest.mark.parametrize("noise", [0.01, 0.3, 3.0, 8.0])
@pytest.mark.parametrize(("rounds", "deployments"), [(3, 1), (3, 3), (4, 3)])
def test_a_noisy_campaign_has_no_fault(noise: float, rounds: int, deployments: int) -> None:
    """However wide its intervals are: the lower end of one may be -100 % to the last digit."""
    drawn = random.Random(9)
    made = campaigns.campaign(rounds=rounds, deployments=deployments, threads=[4, 8])
    results = [
        full(trial, 1000 * math.exp(max(-12.0, min(drawn.gauss(0, noise), 12.0))))
        for trial in made.plan.trials
    ]
    assert failures(tables_of(made, results)) == set()


def test_an_end_of_a_wide_interval_that_is_wrong_is_found() -> None:
    """There its middle is not known, so that the end itself is compared."""
    made = campaigns.campaign(rounds=3, deployments=3, threads=[4])
    slow = {(1, "baseline"): 1.0, (2, "candidate"): 0.1}
    results = [
        full(trial, 1000 * slow.get((trial.round, trial.side), 0.001)) for trial in made.plan.trials
    ]
    assert failures(tables_of(made, results)) == set()
    name = made.plan.workloads_in_order[0]

    def shift(document: Any) -> None:
        ends = document["workloads"][0]["ci95_pct"]
        assert ends[0] < -99.9
        ends[0] += 1e-3

    found = failures(tables_of(made, results, in_document(shift)))
    assert found == {("decisions", f"{name}, tps", "lower end of ci95_pct")}


@pytest.mark.parametrize("fault", IN_FILES)
def test_a_fault_in_a_file_is_found(fault: str) -> None:
    """By table, row and column."""
    plant, where = IN_FILES[fault]
    assert where in failures(tables_of(*sound(), plant))


@pytest.mark.parametrize("fault", IN_STORE)
def test_a_fault_in_the_store_is_found(fault: str) -> None:
    """Where no second figure says what is right, units, ranges and other figures do."""
    sample, where = IN_STORE[fault]
    made, results = sound()
    of_fault = [
        dataclasses.replace(
            result,
            samples=tuple(sample if sample.metric == one.metric else one for one in result.samples),
        )
        if result.trial.id == TRIAL
        else result
        for result in results
    ]
    assert where in failures(tables_of(made, of_fault))


def test_a_figure_changed_on_the_page_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the pages' tables show is compared, to the last decimal that they show."""
    honest = figures.rows

    def in_seconds(section: Section, language: Language) -> list[list[str]]:
        return [[*row[:3], "0.01", *row[4:]] for row in honest(section, language)]

    monkeypatch.setattr(figures, "rows", in_seconds)
    assert ("shown", "oltp_read_write at 8", "baseline p95 latency (ms)") in failures(
        tables_of(*sound())
    )


def test_what_is_wrong_is_said_with_figures_and_place() -> None:
    """For people, and in their language; the table of the report has how many."""
    plant, _ = IN_FILES["a figure that is null"]
    found = run.check(tables_of(*sound(), plant))
    (failure,) = found.failures
    assert str(failure.said).startswith(
        f"table trials, row {TRIAL} attempt 1, column tps: n/a found, = 28"
    )
    assert load("zh").text(failure.said).startswith("表 trials，行")
    assert "1 of 42 expectations of 7 tables do not hold" in str(found.summary)


def test_the_validation_is_part_of_report_and_page() -> None:
    """Folded in all languages, and as JSON, which reads as it was."""
    made, results = sound()
    outcome = compare(made.plan, results, 2.0)
    found = run.check(tables_of(made, results))
    files = bundle.make(made, outcome, results, ("en", "zh"), validation=found)
    assert "42 expectations of 7 tables hold" in files["report.md"].decode()
    assert "<summary>42 expectations of 7 tables hold" in files["report.html"].decode()
    assert "7 张表的 42 项期望" in files["zh/report.md"].decode()
    assert TypeAdapter(Validation).validate_json(files["validation.json"]) == found


def of_evidence(name: str) -> Case:
    """A campaign that was really measured, from its golden evidence."""
    with zipfile.ZipFile(STORED / f"golden-{name}.evidence.zip") as archive:
        bundle_of = contents.Bundle(archive)
        measured, gates = bundle_of.measured(), bundle_of.gates()
    results = list(measured.trials)
    return measured.campaign, compare(measured.campaign.plan, results, 2.0, gates=gates), results


SOUND: dict[str, Callable[[], Case]] = {
    "golden": test_formats.golden_case,
    "golden TPC-C": test_model_tpcc.golden_case,
    "golden fleet": test_model_fleet.published_case,
    "TPC-H": test_model_tpch.case,
    "one round": lambda: of(campaigns.campaign(rounds=1)),
    **{f"stored {name}": functools.partial(of_evidence, name) for name in ("sysbench", "tpcc")},
    **{
        f"one version, {name}": functools.partial(test_one_version.case, name)
        for name in test_one_version.CASES
    },
    "deployments": lambda: of(campaigns.campaign(rounds=4, deployments=2)),
    "nothing measured": lambda: of(campaigns.campaign(rounds=2), lambda results: []),
    "one side lost": lambda: of(campaigns.campaign(rounds=4), without_candidate),
    "deadlocks": lambda: of(campaigns.campaign(workloads=["oltp_read_write"]), with_deadlocks),
    "options of sysbench": lambda: of(
        campaigns.campaign(workloads=["oltp_read_write"], client={"options": {"point-selects": 1}}),
        with_deadlocks,
    ),
}


def of(made: Campaign, change: Callable[[list[TrialResult]], list[TrialResult]] = list) -> Case:
    """A campaign with its comparison."""
    results = change([full(trial, 500.0 + trial.round) for trial in made.plan.trials])
    return made, compare(made.plan, results, 2.0), results


def without_candidate(results: list[TrialResult]) -> list[TrialResult]:
    """As where a server could not be started."""
    return [
        dataclasses.replace(
            one, valid=False, reasons=("no server",), samples=(), gates=(), raw=None
        )
        if one.trial.side == "candidate"
        else one
        for one in results
    ]


def with_deadlocks(results: list[TrialResult]) -> list[TrialResult]:
    """Each ends a transaction whose queries count."""
    return [full(one.trial, 100.0, qps=2019.0, errors=60.0) for one in results]


@pytest.mark.parametrize("name", SOUND)
def test_whatever_a_campaign_is_nothing_is_wrong_with_it(name: str) -> None:
    """An expectation that does not always hold would keep a sound report back."""
    made, outcome, results = SOUND[name]()
    found = tables.of_report(
        model.build(made, outcome, results), bundle.figures(made, outcome, results)
    )
    assert run.check(found).failures == ()
