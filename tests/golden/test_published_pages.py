"""Published pages are read, recomputed, audited, rendered and listed in a history as they were.

The facts of each page lie in ``published_pages/``: versions, hosts, plan, commands and the figures
of its tables as they are printed, and the discrepancies that a person has checked. The pages
themselves are made of these facts, in our own words (:mod:`tests.builders.published_page`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlab.cli.history_text import history_of
from benchlab.published import recompute
from benchlab.published.audit.audit import audit
from benchlab.published.model import PublishedReport
from benchlab.published.procedure import parse
from tests.builders.pages_read import improvements, printed
from tests.builders.published_page import facts_in, of_facts, read
from tests.builders.recorded_page import LANGUAGES, markdown, numbers

FOLDER = Path(__file__).parent / "published_pages"
RECORDED: dict[str, dict[str, Any]] = {
    path.stem: yaml.safe_load(path.read_text()) for path in sorted(FOLDER.glob("*.yaml"))
}
PAGES = [
    pytest.param(name, language, id=f"{language}-{name}")
    for name, facts in RECORDED.items()
    for language in facts.get("languages", LANGUAGES)
]
METRICS = {"QPS": "qps", "TPS": "tps", "tpmC": "tpmc"}

each_page = pytest.mark.parametrize(("name", "language"), PAGES)


@cache
def page(name: str, language: str) -> PublishedReport:
    """What is read of a page."""
    return read(of_facts(RECORDED[name], language), f"{language}-{name}.md")


def table(facts: dict[str, Any], rows: str) -> tuple[dict[str, Any], list[str | None]]:
    """The figures of a table by version and metric, with their threads; and its improvements."""
    versions = facts["versions"][::-1]
    figures: dict[str, dict[str, list[tuple[int, str]]]] = {}
    gains: list[str | None] = []
    for line in rows.splitlines():
        cells = line.split()
        sides = [cells.pop(0)] if facts["shape"] == "version_column" else versions
        threads = int(cells.pop(0))
        gain = cells.pop().removesuffix("%") if len(sides) == 2 else None
        metrics = [METRICS[facts["metric"]], "p95_ms"][: len(cells) // len(sides)]
        places = [(side, metric) for side in sides for metric in metrics]
        if facts["shape"] == "metrics_then_latencies":
            places = [(side, metric) for metric in metrics for side in sides]
        for (side, metric), cell in zip(places, cells, strict=True):
            figures.setdefault(side, {}).setdefault(metric, []).append((threads, cell))
        gains.append(gain)
    return figures, gains


@each_page
def test_every_figure_is_read_as_it_is_printed(name: str, language: str) -> None:
    """With its version, threads and metric, from any shape of table; nothing is left over."""
    facts, report = facts_in(RECORDED[name], language), page(name, language)
    assert (report.kind, report.language, report.unread) == (facts["kind"], language, ())
    assert report.versions == tuple(facts["versions"][::-1])
    assert report.exact_versions == tuple(facts.get("exact", ())[::-1])
    assert [workload.name for workload in report.workloads] == list(facts["results"])
    for workload, found in zip(report.workloads, facts["results"].values(), strict=True):
        figures, gains = table(facts, found["rows"]) if found["rows"] else ({}, [])
        assert printed(workload) == figures
        if facts.get("shape") != "version_column":
            assert improvements(workload) == gains
        headline = report.headline(workload)
        assert (headline and headline.value) == (
            Decimal(found["change"]) if "change" in found else None
        )


@each_page
def test_the_procedure_is_read_as_it_is_printed(name: str, language: str) -> None:
    """Commands, thread counts, load balancer and its port, and a client that none of them calls."""
    facts, found = facts_in(RECORDED[name], language), page(name, language).procedure
    commands = [facts[key] for key in ("load", "run") if key in facts]
    assert [replace(one, line=1) for one in found.commands] == [parse(text, 1) for text in commands]
    assert [list(counts) for _, counts in found.threads] == [
        facts[key] for key in ("threads",) if key in facts
    ]
    assert list(found.balancers) == [facts[key] for key in ("balancer",) if key in facts]
    assert list(found.entry_ports) == [facts[key] for key in ("entry_port",) if key in facts]
    assert [tool for _, tool in found.other_tools] == [
        facts[key] for key in ("loader",) if key in facts
    ]


@each_page
def test_improvements_recompute(name: str, language: str) -> None:
    """Each is candidate over baseline, of the figures that are printed."""
    facts, report = RECORDED[name], page(name, language)
    for workload, found in zip(report.workloads, facts["results"].values(), strict=True):
        if len(facts["versions"]) < 2 or not found["rows"]:
            continue
        (new, old), metric = facts["versions"], METRICS[facts["metric"]]
        figures, _ = table(facts, found["rows"])
        expected = {
            threads: (float(after) / float(before) - 1) * 100
            for (threads, before), (_, after) in zip(
                figures[old][metric], figures[new][metric], strict=True
            )
        }
        recomputed = recompute.improvements(workload)
        assert {n: float(pct or 0) for n, pct in recomputed.items()} == pytest.approx(expected)


@each_page
def test_the_findings_are_those_that_were_checked(name: str, language: str) -> None:
    """These and no others: every row recomputes, and every latency is possible at its threads."""
    found = audit([page(name, language)])[0].discrepancies
    assert Counter(one.kind for one in found) == facts_in(RECORDED[name], language)["discrepancies"]
    assert all(one.where and one.line for one in found)


def test_the_release_that_was_measured_twice_has_drifted() -> None:
    """v4.0, in four workloads, 2 to 12 % apart."""
    audits = audit(
        [page(name, "en") for name, facts in RECORDED.items() if "languages" not in facts]
    )
    drifts = {
        one.report.source: [
            discrepancy.recomputed
            for discrepancy in one.discrepancies
            if discrepancy.kind == "same_version_drift"
        ]
        for one in audits
    }
    assert {source: found for source, found in drifts.items() if found} == {
        "en-sysbench-v5.0-vs-v4.0.md": list(map(Decimal, ("4.77", "5.71", "2.06", "11.90")))
    }


@each_page
def test_a_rendered_page_has_every_figure_as_it_is_printed(name: str, language: str) -> None:
    """And the same numbers in every language."""
    found = page(name, language)
    texts = [markdown(found, code) for code in LANGUAGES]
    assert numbers(texts[0]) == numbers(texts[1])
    figures = [
        figure.text
        for workload in found.workloads
        for row in workload.rows
        for side in row.sides.values()
        for figure in side.values()
    ]
    assert [figure for figure in figures if f"| {figure} |" not in texts[0]] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_history_has_every_page_of_its_workload(language: str) -> None:
    """By version, with what each page prints and what its figures give."""
    pages = [page(name, language) for name, f in RECORDED.items() if "languages" not in f]
    found = history_of("oltp_point_select", pages, [])
    wanted = {
        f["versions"][0]: f["results"]["oltp_point_select"]["change"]
        for f in RECORDED.values()
        if f["kind"] == "sysbench" and len(f["versions"]) == 2
    }
    compared = [change for change in found.published if change.baseline]
    assert {change.candidate: change.printed_pct for change in compared} == {
        version: float(change) for version, change in wanted.items()
    }
    assert [change.candidate for change in compared] == sorted(wanted), "by version"
