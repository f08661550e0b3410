"""The charts of a published page that is rendered again, as SVG and PNG.

The same data give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchlab.language import Language
from benchlab.plan.document_tables import THROUGHPUTS, Metric
from benchlab.published.reading.model import Workload
from benchlab.published.rendering.page import Page
from benchlab.published.rendering.tables import Section, metrics
from benchlab.report.charts import fonts
from benchlab.report.charts.plotting import (
    BLUE,
    ORANGE,
    STYLE,
    by_threads,
    quiet_matplotlib,
    saved,
    titled,
)
from benchlab.report.model.document_tables import NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The last version, then the one before, in the colours of candidate and baseline elsewhere.
_LINES = ((BLUE, "-", "s"), (ORANGE, "--", "o"))


def draw(page: Page) -> dict[str, bytes]:
    """A chart for each workload with figures, as ``.svg`` and ``.png``, by file name.

    They are in the page's language, or in English if no installed font has its characters.

    >>> sorted(draw(Page(report, english())))  # doctest: +SKIP
    ['oltp_point_select.png', 'oltp_point_select.svg']
    """
    charts = {}
    language = fonts.language_of_charts(page.language)
    with quiet_matplotlib({**STYLE, "font.family": fonts.families(language)}):
        for section in page.sections:
            if section.tables:
                figure = _figure(section, language)
                for form in ("svg", "png"):
                    charts[f"{section.workload.name}.{form}"] = saved(figure, form)
    return charts


def _figure(section: Section, language: Language) -> Figure:
    """A panel of throughput and, if there are latencies, one of p95."""
    from matplotlib.figure import Figure

    workload = section.workload
    # Only the throughput that improvements are about, and latencies.
    shown = [m for m in metrics(workload) if m == workload.metric or m not in THROUGHPUTS]
    figure = Figure(figsize=(4.8 * len(shown), 3.5))
    for axes, metric in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        _panel(axes, workload, metric, language)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="upper right", ncols=2, frameon=False, bbox_to_anchor=(0.99, 1.01),
        reverse=True,
    )  # fmt: skip
    titled(figure, section.title, top_in=0.1575)
    left = 0.07 if len(shown) > 1 else 0.14
    figure.subplots_adjust(left=left, right=0.98, top=0.80, bottom=0.145, wspace=0.25)
    return figure


def _panel(axes: Axes, workload: Workload, metric: Metric, language: Language) -> None:
    places = range(len(workload.rows))
    for version, (colour, line, marker) in zip(reversed(workload.versions), _LINES, strict=False):
        axes.plot(
            places, _values(workload, version, metric), line, marker=marker, color=colour,
            linewidth=2, markersize=6, markeredgecolor="white", label=version, clip_on=False,
        )  # fmt: skip
    axes.set_title(
        language.say("published-chart-throughput", metric=NAMES[metric])
        if metric in THROUGHPUTS
        else language.say("chart-latency", latency=language.say("figures-p95"))
    )
    by_threads(axes, [row.threads for row in workload.rows], language.say("chart-threads"))
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")


def _values(workload: Workload, version: str, metric: Metric) -> Sequence[float]:
    figures = (row.sides.get(version, {}).get(metric) for row in workload.rows)
    return [float("nan") if printed is None else float(printed.value) for printed in figures]
