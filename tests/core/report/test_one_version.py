"""The report of a campaign of one version: figures everywhere, and nowhere a verdict."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import pytest

from benchlab.analysis.verdict.compare import Comparison, compare, verdicts_of
from benchlab.language import load
from benchlab.report import bundle
from benchlab.report.formats import pages, terminal
from benchlab.report.model import report as model
from benchlab.report.sentences import answer, opening
from benchlab.results.records import Campaign, TrialResult
from tests.builders import campaigns
from tests.builders.plans import fleet_spec, spec

Case = tuple[Campaign, Comparison, list[TrialResult]]
CASES = ("one machine", "fleet", "TPC-C")
VERDICTS = ("regression", "improvement", "equivalent", "inconclusive", "unstable")
# What nobody reads as a word: styles, names of classes, colours and files, ids of trials.
MARKUP = re.compile(
    r"<style>.*</style>|(class|href|src)=\"[^\"]*\"|var\(--[\w-]+\)|r\d+-baseline-", re.DOTALL
)


@cache
def case(name: str) -> Case:
    """A campaign of one version, one trial of it missing."""
    both = spec() if name == "one machine" else fleet_spec()
    engines: dict[str, Any] = {
        engine: {**entry.model_dump(exclude={"candidate"}), "candidate": None}
        for engine, entry in both.engines.items()
    }
    fields: dict[str, Any] = {"sides": "single", "engines": engines, "deployments": 1}
    if name == "TPC-C":
        made = campaigns.tpcc_campaign(placement="interleaved", **fields)
        results = [campaigns.tpcc_result(one, 1000.0 * one.threads) for one in made.plan.trials]
    else:
        make = campaigns.fleet_campaign if name == "fleet" else campaigns.campaign
        made = make(placement="interleaved", rounds=3, threads=[4, 8], **fields)
        tps = campaigns.known_change({}, noise=0.001)
        results = campaigns.results_of(made.plan, tps)[:-1]
    return made, compare(made.plan, results, 2.0), results


@pytest.mark.parametrize("name", CASES)
def test_no_page_speaks_of_a_second_side_or_of_a_verdict(name: str) -> None:
    """In every language and format."""
    made = bundle.make(*case(name), languages=("en", "zh"))
    assert "charts/overview.svg" not in made
    for file in ("report.md", "report.html", "zh/report.md", "zh/report.html"):
        seen = MARKUP.sub("", made[file].decode())
        words = ("candidate", "baseline", "both sides", "two sides", "候选", "基线", "两方")
        assert [word for word in (*words, *VERDICTS) if word in seen] == [], file


@pytest.mark.parametrize("name", CASES)
def test_its_tables_have_its_figures(name: str) -> None:
    """A row for each thread count, with the version's columns alone."""
    campaign, comparison, results = case(name)
    report = model.build(campaign, comparison, results)
    label = campaign.plan.sides["baseline"].label
    page = bundle.make(campaign, comparison, results)["report.md"].decode()
    for section in report.sections:
        assert f"charts/{section.figures.name}.svg" in page
        for cell in section.figures.cells:
            assert re.search(rf"^\| {cell.threads} \| [\d,.]+ \|", page, re.MULTILINE)
    metric = "tpmC" if name == "TPC-C" else "QPS"
    assert f"| Threads | {label} {metric} |" in page
    assert label in terminal.render(report, 120, colour=False)


def test_the_answer_is_the_highest_throughput_and_that_there_is_no_verdict() -> None:
    """Its table says at which thread count, and with which latency."""
    report = model.build(*case("TPC-C"))
    assert opening.sentence(report) == (
        "v5.1.1 reaches 400,000 tpmC at TPC-C (400 threads); it was measured alone, so there is "
        "no verdict."
    )
    assert "noise" not in opening.trust(report)
    assert [row[:4] for row in answer.highest(report)] == [("TPC-C", "tpmC", "400,000", "400")]


def test_a_comment_on_github_has_the_same_table() -> None:
    """And no reason of a verdict below it."""
    said = pages.comment(model.build(*case("fleet")))
    assert "| Update Index | TPS | 2,828.4 | 8 | 2.00 |" in said
    assert [word for word in ("candidate", *VERDICTS) if word in said] == []


def test_machines_get_figures_and_nothing_that_was_decided() -> None:
    """Neither JSON nor CSV nor the store has a verdict, or a side that was not measured."""
    made = bundle.make(*case("one machine"))
    (workload, *_) = json.loads(made["report.json"])["workloads"]
    assert set(workload) == {"name", "metric", "cells"}
    assert set(workload["cells"][0]) == {"threads", "baseline"}
    heading = made["comparison.csv"].decode().splitlines()[0]
    assert [word for word in ("candidate", "verdict") if word in heading] == []
    assert verdicts_of(case("one machine")[1]) == []


def test_a_missing_trial_is_missing() -> None:
    """The cell has its other rounds, and the report counts the complete ones."""
    campaign, comparison, results = case("one machine")
    report = model.build(campaign, comparison, results)
    used = {section.figures.name: section.rounds_used for section in report.sections}
    lost = campaign.plan.trials[-1]
    assert comparison.missing == (lost.id,)
    assert used.pop(lost.workload) == 2
    assert set(used.values()) == {3}


def test_without_any_trial_nothing_is_made_up() -> None:
    """A campaign that failed before its first trial has a report without figures."""
    campaign = case("one machine")[0]
    report = model.build(campaign, compare(campaign.plan, [], 2.0), [])
    assert opening.sentence(report).startswith("No workload was measured.")
    assert {row.highest for row in answer.highest(report)} == {"n/a"}
    assert load("zh").say("answer-nothing") in opening.sentence(
        model.build(campaign, report.comparison, [], language=load("zh"))
    )
