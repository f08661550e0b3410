"""Published pages as records, and what is rendered of them, for tests."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchlab import language
from benchlab.plan.fields.published import Metric
from benchlab.published import rendering
from benchlab.published.model import Claim, Printed, Procedure, PublishedReport, Row, Workload

LANGUAGES = ("en", "zh")
OLD, NEW = "v3.1.0", "v3.2.0"


def side(**figures: str | None) -> dict[Metric, Printed]:
    """Printed figures of one version by metric; None: there is none."""
    metrics: tuple[Metric, ...] = ("qps", "tps", "tpmc", "p95_ms")
    return {m: Printed(text) for m in metrics if (text := figures.get(m)) is not None}


ROWS = (
    Row(
        50,
        {OLD: side(tps="9,876.50", p95_ms="9.1"), NEW: side(tps="10864.2", p95_ms="8")},
        improvement=None,
        line=31,
    ),
    Row(
        100,
        {OLD: side(tps="12000", p95_ms="17"), NEW: side(tps="11,400", p95_ms="18.50")},
        improvement=None,
        line=32,
    ),
)


def workload(
    rows: Sequence[Row] = ROWS,
    *,
    name: str = "oltp_point_select",
    metric: Metric = "tps",
    versions: tuple[str, ...] = (OLD, NEW),
    claims: Sequence[Claim] = (),
) -> Workload:
    """The results of one workload in a page of ours; without rows it has no table."""
    return Workload(
        name=name,
        heading="Lookups",
        line=29,
        metric=metric if rows else None,
        versions=versions if rows else (),
        rows=tuple(rows),
        claims=tuple(claims),
    )


def report(*workloads: Workload, versions: tuple[str, ...] = (OLD, NEW)) -> PublishedReport:
    """A page of ours with these results."""
    return PublishedReport(
        id="x",
        source="page.md",
        sha256="0123456789abcdef" * 4,
        title="TiDB Sysbench figures",
        kind="sysbench",
        language="en",
        versions=versions,
        exact_versions=(),
        workloads=workloads or (workload(),),
        claims=(),
        procedure=Procedure(),
        unread=(),
    )


def markdown(found: PublishedReport, code: str = "en") -> str:
    """The page as Markdown."""
    return rendering.markdown(rendering.Page(found, language.load(code)))


def rows(text: str, first: str) -> list[list[str]]:
    """The cells of the table whose heading row begins with ``first``, that row included."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    found = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return [found[0], *found[2:]]


def numbers(text: str) -> list[str]:
    """All numbers of a text, in no order."""
    return sorted(re.findall(r"\d[\d,.]*\d|\d", text))
