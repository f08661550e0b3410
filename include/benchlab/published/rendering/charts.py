"""The charts of a published page that is rendered again."""

from __future__ import annotations

from benchlab.charts.charts import Curve, curves
from benchlab.charts.picture import Picture, sheet
from benchlab.language import Language
from benchlab.language.numbers import Numbers
from benchlab.plan.document_tables import THROUGHPUTS, Metric
from benchlab.published.model import Workload
from benchlab.published.rendering.page import Page
from benchlab.published.rendering.tables import Section, metrics
from benchlab.report.model.document_tables import NAMES


def draw(page: Page) -> dict[str, Picture]:
    """A chart for each workload with figures, by its name.

    >>> sorted(draw(Page(report, english())))  # doctest: +SKIP
    ['oltp_point_select']
    """
    return {
        section.workload.name: _sheet(section, page.language)
        for section in page.sections
        if section.tables
    }


def _sheet(section: Section, language: Language) -> Picture:
    """Throughput and, if there are latencies, p95."""
    workload = section.workload
    # Only the throughput that improvements are about, and latencies.
    shown = [m for m in metrics(workload) if m == workload.metric or m not in THROUGHPUTS]
    # The last version is what elsewhere is the candidate.
    lines = [*zip(("candidate", "baseline"), reversed(workload.versions), strict=False)][::-1]
    panels = [
        (_title(metric, language), _curves(workload, metric, lines, language)) for metric in shown
    ]
    return sheet(section.title, [panels], legend=lines)


def _title(metric: Metric, language: Language) -> str:
    if metric in THROUGHPUTS:
        return language.say("published-chart-throughput", metric=NAMES[metric])
    return language.say("chart-latency", latency=language.say("figures-p95"))


def _curves(
    workload: Workload, metric: Metric, lines: list[tuple[str, str]], language: Language
) -> Picture:
    printed = [
        (series, [row.sides.get(version, {}).get(metric) for row in workload.rows])
        for series, version in lines
    ]
    return curves(
        [
            Curve(series, [None if value is None else float(value.value) for value in values], ())
            for series, values in printed
        ],
        [str(row.threads) for row in workload.rows],
        Numbers(language),
        language.say("chart-threads"),
        language.say("chart-no-trial"),
    )
