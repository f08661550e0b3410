"""The report of a campaign of TPC-H: each query has its own figures and verdict."""

from __future__ import annotations

import csv
import dataclasses
import io
from functools import cache

from benchlab.analysis.verdict.compare import Comparison, compare
from benchlab.report import bundle
from benchlab.results.records import Campaign, Sample, TrialResult
from tests.builders import campaigns, plans

# The baseline's seconds at one thread.
TAKES = {"tpch_q1": 12.0, "tpch_q6": 2.0}


@cache
def case() -> tuple[Campaign, Comparison, list[TrialResult]]:
    """A campaign in which Q1 is 20 % slower, and Q6 as it was."""
    spec = plans.spec(
        title="TPC-H performance comparison",
        dataset={"scale_factor": 10},
        workloads=[*TAKES],
        threads=[1, 4],
        rounds=6,
    )
    environment = {"client_program": "go-tpc", "client_version": "go-tpc v1.0.12"}
    made = campaigns.campaign(spec, environment=environment)
    known = campaigns.known_change({"tpch_q1": -0.2}, 0.002, base=60.0)
    results = []
    for trial in made.plan.trials:
        qpm = known(trial) / TAKES[trial.workload]
        avg_ms = 60_000 * trial.threads / qpm
        figures = {"qpm": qpm, "avg_ms": avg_ms, "p95_ms": avg_ms * 1.1, "errors": 0.0}
        samples = tuple(
            Sample(name, value, campaigns.UNITS[name]) for name, value in figures.items()
        )
        results.append(dataclasses.replace(campaigns.trial_result(trial), samples=samples))
    return made, compare(made.plan, results, 2.0), results


@cache
def files() -> dict[str, str]:
    """The files of text of its report."""
    found = bundle.make(*case())
    return {name: found[name].decode() for name in found}


def test_each_query_has_its_own_section_and_verdict() -> None:
    """The slower one is named; of the quick one the steps of the client leave less to be known."""
    page = files()["report.md"]
    assert "TPC-H Q1 -20" in page
    assert (
        "| Threads | 10.2.11 QPM | 10.2.11 mean latency (ms) | 10.2.11 p95 latency (ms) |" in page
    )
    verdicts = {
        row["workload"]: row for row in csv.DictReader(io.StringIO(files()["comparison.csv"]))
    }
    assert (verdicts["tpch_q1"]["verdict"], verdicts["tpch_q6"]["verdict"]) == (
        "regression",
        "inconclusive",
    )
    assert float(verdicts["tpch_q6"]["baseline_qpm"]) > 0


def test_the_page_says_what_the_figures_are() -> None:
    """Which client made them, how coarsely it counts, and that this is no TPC result."""
    page = files()["report.md"]
    assert "These figures were measured with go-tpc v1.0.12." in page
    assert "in steps of 67 ms" in page
    assert "TPC-H at scale factor 10" in page
    assert "is not a TPC result" in page
