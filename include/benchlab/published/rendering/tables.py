"""Result tables of a published page: its own figures as printed, in its own layout.

The improvements are not the page's own: each is recomputed from the figures next to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from benchlab.language import Language
from benchlab.language.names import title_of
from benchlab.language.numbers import MISSING
from benchlab.plan.document_tables import Metric
from benchlab.published.model import Workload
from benchlab.published.recompute import DECIMALS, headline, improvements, rounded_to
from benchlab.report.model.document_tables import Layout, Table, heading_of_improvement

_PERCENT_IN_HEADING = re.compile(r"[(（]\s*[%％]\s*[)）]")


@dataclass(frozen=True)
class Section:
    """The results of one workload, with recomputed improvements.

    Attributes:
        improvements: in percent with two decimals, by thread count; None if a figure is missing.
        headline: their arithmetic mean with two decimals; None if one of them is missing.
        tables: empty if the page prints no figures.
    """

    title: str
    workload: Workload
    improvements: Mapping[int, Decimal | None]
    headline: Decimal | None
    tables: tuple[Table, ...]

    def recomputed(self, threads: int | None) -> str:
        """The improvement at a thread count, or with None the mean of all, signed: ``+12.34%``."""
        value = self.headline if threads is None else self.improvements.get(threads)
        return MISSING if value is None else f"{value:+.{DECIMALS}f}%"


def section(workload: Workload, language: Language, *, alone: bool) -> Section:
    """The results of one workload, in the shape that the page has.

    The mean is over the improvements as shown, so that a reader can recompute it. If page and
    results are about one version alone, columns need not name it.

    >>> section(report.workloads[0], english(), alone=False).recomputed(None)  # doctest: +SKIP
    '+12.34%'
    """
    found = {threads: _rounded(value) for threads, value in improvements(workload).items()}
    tables = tuple(_tables(workload, found, language, alone=alone))
    mean = headline(workload)
    shown = _rounded(mean.exact if mean else None)
    return Section(title_of(workload.name), workload, found, shown, tables)


def percent(value: Decimal | None) -> str:
    """A change in percent, as on published pages: two decimals, a sign only if negative."""
    return MISSING if value is None else f"{value:.{DECIMALS}f}"


def direction(change: Decimal | int) -> str:
    """The direction of a change as locale files name it: ``up``, ``down`` or ``same``."""
    return "up" if change > 0 else "down" if change < 0 else "same"


def metrics(workload: Workload) -> tuple[Metric, ...]:
    """The metrics of the workload's rows, in order."""
    found = (metric for row in workload.rows for side in row.sides.values() for metric in side)
    return tuple(dict.fromkeys(found))


def compares(workload: Workload) -> bool:
    """Whether the workload has throughput of two versions."""
    return len(workload.versions) == 2 and workload.metric is not None


def _tables(
    workload: Workload,
    improvements: Mapping[int, Decimal | None],
    language: Language,
    *,
    alone: bool,
) -> Iterator[Table]:
    """The tables in the page's shape; none if the workload has no figures."""
    shown = metrics(workload)
    if not shown or workload.shape is None:
        return
    heading, cells = _improvement_column(workload, improvements, language)
    layout = Layout(
        shape=workload.shape,
        figures=shown,
        versions=workload.versions,
        beside=_order(workload),
        # If page and results are about one version alone, columns need not name it.
        named=not (alone and workload.shape in ("pairs", "single_version"))
        or _names_version(workload),
        rows={
            row.threads: {
                version: {metric: printed.text for metric, printed in figures.items()}
                for version, figures in row.sides.items()
            }
            for row in workload.rows
        },
        headings=heading,
        improvements=cells,
    )
    yield from layout.tables(language)


def _improvement_column(
    workload: Workload, improvements: Mapping[int, Decimal | None], language: Language
) -> tuple[tuple[str, ...], Mapping[int, tuple[str, ...]]]:
    """Its heading, and its cell at each thread count; empty if nothing is compared.

    The percent sign is where the page has it: in the heading or in the cells.
    """
    if workload.metric is None or not compares(workload):
        return (), {}
    in_heading = any(_PERCENT_IN_HEADING.search(column) for column in workload.columns)
    heading = heading_of_improvement(workload.metric, language, percent=in_heading)
    sign = "" if in_heading else "%"
    cells = {
        threads: (percent(value) + sign * (value is not None),)
        for threads, value in improvements.items()
    }
    return (heading,), cells


def _names_version(workload: Workload) -> bool:
    return any(version in column for version in workload.versions for column in workload.columns)


def _order(workload: Workload) -> tuple[str, ...]:
    """The versions in the order of the page's columns."""

    def place(version: str) -> int:
        named = [at for at, column in enumerate(workload.columns) if version in column.split()]
        return named[0] if named else len(workload.columns)

    return tuple(sorted(workload.versions, key=place))


def _rounded(value: Decimal | None) -> Decimal | None:
    # abs: Decimal has a negative zero
    return None if value is None else rounded_to(value, DECIMALS) or Decimal("0.00")
