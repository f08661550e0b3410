"""Renders a published page again from its data, in any language.

The figures are the page's, digit by digit. Improvements, means and sentences are computed from
them, so the new page cannot contradict itself. The original's claims stand next to the computed
values.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, get_args

from benchlab.language import Language
from benchlab.language.names import items, title_of
from benchlab.language.numbers import MISSING
from benchlab.plan.fields.published import Metric
from benchlab.published import recompute
from benchlab.published.model import PublishedReport, Workload
from benchlab.published.recompute import DECIMALS, rounded_to
from benchlab.report.formats.pages import environment
from benchlab.report.model.document_tables import NAMES, Layout, Table, heading_of_improvement

_METRICS: tuple[Metric, ...] = get_args(Metric)
_TOOLS = {"sysbench": "Sysbench", "tpcc": "TPC-C"}


def make(report: PublishedReport, language: Language) -> dict[str, bytes]:
    """Render a page in every format. The same arguments give the same bytes.

    Returns:
        Files by name: ``report.md``; ``report.json``, the page's data and the computed values;
        ``figures.csv``, the figures as printed, with one row per workload, thread count and
        version.

    >>> sorted(make(report, english()))  # doctest: +SKIP
    ['figures.csv', 'report.json', 'report.md']
    """
    page = Page(report, language)
    document = json.dumps(_document(page), indent=2, ensure_ascii=False, default=float) + "\n"
    texts = {"report.md": markdown(page), "report.json": document, "figures.csv": _figures(report)}
    return {name: text.encode() for name, text in texts.items()}


def markdown(page: Page) -> str:
    """The page as Markdown, with front matter."""
    template = environment("md", "benchlab.published").get_template("published.md.j2")
    return template.render(page=page, language=page.language).rstrip("\n") + "\n"


def _document(page: Page) -> dict[str, Any]:
    return {
        "language": page.language.code,
        "title": page.report.title,
        "report": page.report.to_json(),
        "recomputed": [
            {
                "workload": section.workload.name,
                "metric": section.workload.metric,
                "rows": [
                    {"threads": threads, "improvement_pct": value}
                    for threads, value in section.improvements.items()
                ],
                "headline_pct": section.headline,
            }
            for section in page.sections
        ],
    }


def _figures(report: PublishedReport) -> str:
    """The figures as printed; a missing one is an empty field."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("workload", "threads", "version", *_METRICS))
    for workload in report.workloads:
        for row in workload.rows:
            for version in workload.versions:
                figures = row.sides.get(version, {})
                texts = [figures[m].text if m in figures else None for m in _METRICS]
                writer.writerow((workload.name, row.threads, version, *texts))
    return out.getvalue()


# ---------------------------------------------------------------- the page


@dataclass(frozen=True)
class Section:
    """The results of one workload, in one language."""

    workload: Workload
    language: Language

    @property
    def title(self) -> str:
        """The workload's title."""
        return title_of(self.workload.name)

    @cached_property
    def improvements(self) -> Mapping[int, Decimal | None]:
        """The recomputed improvements by thread count, in percent with two decimals.

        None if a figure is missing.
        """
        found = recompute.improvements(self.workload)
        return {threads: _rounded(value) for threads, value in found.items()}

    @cached_property
    def headline(self) -> Decimal | None:
        """The arithmetic mean of the improvements as shown, so that a reader can recompute it.

        It has two decimals; None if an improvement is missing.
        """
        mean = recompute.headline(self.workload)
        return _rounded(mean.exact if mean else None)

    def recomputed(self, threads: int | None) -> str:
        """The improvement at a thread count (None: the mean of all), signed: ``+12.34%``."""
        value = self.headline if threads is None else self.improvements.get(threads)
        return MISSING if value is None else f"{value:+.{DECIMALS}f}%"

    @property
    def table(self) -> Table | None:
        """The figures as printed, with the recomputed improvements; None without figures."""
        workload, metric = self.workload, self.workload.metric
        shown = [metric for row in workload.rows for side in row.sides.values() for metric in side]
        if metric is None or not shown:
            return None
        compares = len(workload.versions) == 2
        heading = heading_of_improvement(metric, self.language, percent=False)
        layout = Layout(
            shape="pairs",
            figures=tuple(dict.fromkeys(shown)),
            versions=workload.versions,
            named=True,
            rows={
                row.threads: {
                    version: {metric: printed.text for metric, printed in figures.items()}
                    for version, figures in row.sides.items()
                }
                for row in workload.rows
            },
            headings=(heading,) if compares else (),
            improvements={
                threads: (MISSING if value is None else f"{value:.{DECIMALS}f}%",)
                for threads, value in self.improvements.items()
                if compares
            },
        )
        (table,) = layout.tables(self.language)
        return table

    @property
    def outcome(self) -> str:
        """The mean change as one sentence; "" if nothing is compared."""
        workload, value = self.workload, self.headline
        if workload.metric is None or len(workload.versions) != 2:
            return ""
        if value is None:
            missing = [str(threads) for threads, pct in self.improvements.items() if pct is None]
            threads = items(missing, self.language)
            return self.language.say("published-no-mean", workload=self.title, threads=threads)
        baseline, candidate = workload.versions
        return self.language.say(
            "published-outcome",
            direction="up" if value > 0 else "down" if value < 0 else "same",
            workload=self.title,
            metric=NAMES[workload.metric],
            pct=f"{abs(value):.{DECIMALS}f}",
            candidate=candidate,
            baseline=baseline,
            count=len(self.improvements),
        )


def _rounded(value: Decimal | None) -> Decimal | None:
    # abs: Decimal has a negative zero
    return None if value is None else rounded_to(value, DECIMALS) or Decimal("0.00")


@dataclass(frozen=True)
class Page:
    """A published page in one language: ``Page(report, language.load("zh")).subject``."""

    report: PublishedReport
    language: Language

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The results, workload by workload."""
        return tuple(Section(workload, self.language) for workload in self.report.workloads)

    def say(self, id: str, /, **values: str | int) -> str:  # noqa: A002
        """A sentence in the language of the page."""
        return self.language.say(id, **values)

    @property
    def subject(self) -> str:
        """A sentence that says what the page shows."""
        tool, candidate = _TOOLS[self.report.kind], self.report.candidate
        if (baseline := self.report.baseline) is None:
            return self.say("published-subject-one", tool=tool, candidate=candidate)
        return self.say("published-subject", tool=tool, candidate=candidate, baseline=baseline)

    @property
    def overview(self) -> tuple[str, ...]:
        """The outcome of every workload that has one."""
        return tuple(section.outcome for section in self.sections if section.outcome)

    @property
    def claims(self) -> Table | None:
        """The stated changes, and the printed improvements that contradict the figures, by line.

        Each stands next to the recomputed value. None if the page claims nothing.
        """
        rows = tuple(sorted((*self._stated(), *self._printed()), key=lambda cells: int(cells[0])))
        names = ("line", "workload", "threads", "versions", "claimed", "recomputed")
        header = tuple(
            self.say("column-workload" if name == "workload" else f"published-{name}")
            for name in names
        )
        return Table("", header, rows) if rows else None

    def _stated(self) -> Iterator[tuple[str, ...]]:
        """The changes that sentences state, even of a workload that is not on the page."""
        sections = {section.workload.name: section for section in self.sections}
        said = [("", claim) for claim in self.report.claims]
        said += [(name, claim) for name, one in sections.items() for claim in one.workload.claims]
        for place, claim in said:
            for change in claim.changes:
                name = change.workload or place
                section = sections.get(name)
                yield (
                    str(claim.line),
                    title_of(name) or MISSING,
                    str(change.threads) if change.threads else self.say("published-all"),
                    ", ".join(claim.versions) or MISSING,
                    f"{'+' if change.direction > 0 else '-'}{change.pct.text}%",
                    section.recomputed(change.threads) if section else MISSING,
                )

    def _printed(self) -> Iterator[tuple[str, ...]]:
        """The printed improvements that contradict the figures next to them."""
        for section in self.sections:
            for row in section.workload.rows:
                if row.improvement and recompute.is_wrong(row, section.workload):
                    yield (
                        str(row.line),
                        section.title,
                        str(row.threads),
                        ", ".join(section.workload.versions),
                        f"{row.improvement.text}%",
                        section.recomputed(row.threads),
                    )

    @property
    def unread(self) -> Table | None:
        """The parts of the page that were not understood; None if there are none."""
        rows = tuple((str(unread.line), unread.why(self.language)) for unread in self.report.unread)
        header = (self.say("published-line"), self.say("published-what"))
        return Table("", header, rows) if rows else None
