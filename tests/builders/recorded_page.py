"""Published pages as records, and what is rendered of them, for tests."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from benchlab import language
from benchlab.plan.document_tables import Metric, Shape
from benchlab.published.audit.audit import audit
from benchlab.published.model import (
    Block,
    Claim,
    Fact,
    Printed,
    PublishedReport,
    Row,
    StatedSetting,
    Workload,
)
from benchlab.published.rendering import bundle as published
from benchlab.published.rendering.page import Page
from benchlab.published.stated import published_headline
from tests.builders.published_page import read

LANGUAGES = ("en", "zh")


OLD, NEW = "v3.1.0", "v3.2.0"


NOTHING = StatedSetting()


COLUMNS: Mapping[Shape, tuple[str, ...]] = {
    "pairs": ("Threads", f"{OLD} TPS", f"{OLD} p95", f"{NEW} TPS", f"{NEW} p95", "TPS change"),
    "metrics_then_latencies": (
        *("Threads", f"{OLD} TPS", f"{NEW} TPS", f"{OLD} p95", f"{NEW} p95"),
        "TPS change (%)",
    ),
    "version_column": ("Version", "Threads", "TPS", "p95"),
    "table_per_version": ("Threads", "TPS", "p95"),
    "single_version": ("Threads", "TPS", "p95"),
}


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
    shape: Shape | None = "pairs",
    name: str = "oltp_point_select",
    metric: Metric = "tps",
    claims: Sequence[Claim] = (),
) -> Workload:
    """The results of one workload in a page of ours."""
    return Workload(
        name=name,
        heading="Lookups",
        metric=metric if shape else None,
        shape=shape,
        columns=COLUMNS[shape] if shape else (),
        versions=(NEW,) if shape == "single_version" else (OLD, NEW) if shape else (),
        rows=tuple(rows) if shape else (),
        claims=tuple(claims),
        charts=() if shape else ("/media/a.png",),
        line=29,
    )


def report(*workloads: Workload, setting: StatedSetting = NOTHING) -> PublishedReport:
    """A page of ours with these results."""
    single = all(workload.shape == "single_version" for workload in workloads)
    tpcc = any(workload.name == "tpcc" for workload in workloads)
    return PublishedReport(
        id="x",
        source="page.md",
        sha256="0123456789abcdef" * 4,
        title="TiDB TPC-C figures" if tpcc else "TiDB Sysbench figures",
        kind="tpcc" if tpcc else "sysbench",
        language="en",
        versions=(NEW,) if single else (OLD, NEW),
        exact_versions=(),
        workloads=workloads or (workload(),),
        claims=(),
        setting=setting,
        unread=(),
    )


def markdown(found: PublishedReport, code: str = "en") -> str:
    """The page as Markdown."""
    return published.markdown(Page(found, language.load(code)))


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


RECORDED = replace(
    NOTHING,
    parameters=(Block("TiKV parameter configuration", "yaml", "a: <b>\n```\n", 5),),
    facts=(Fact("Test environment", "Time", "June, 2019", 7),),
)


def numbers(text: str) -> list[str]:
    """All numbers of a text, in no order."""
    return sorted(re.findall(r"\d[\d,.]*\d|\d", text))


def figures(found: PublishedReport) -> list[object]:
    """What has to come back: workloads, versions, threads and printed figures."""
    return [
        (
            *(workload.name, workload.versions, workload.metric, workload.shape),
            [
                (row.threads, {v: texts(s) for v, s in row.sides.items() if s})
                for row in workload.rows
            ],
        )
        for workload in found.workloads
    ]


def assert_reproduced(found: PublishedReport, code: str) -> None:
    """Equal when it is read back, with the computed claims, and nothing is found wrong with it."""
    page = Page(found, language.load(code))
    back = read(published.markdown(page), "again.md")
    assert figures(back) == figures(found)
    assert (back.kind, back.language, back.versions) == (found.kind, code, found.versions)
    assert back.unread == ()
    assert audit([back])[0].findings == ()
    for section, reread in zip(page.sections, back.workloads, strict=True):
        if section.headline:
            claimed = published_headline(back, reread)
            assert claimed is not None
            assert claimed.value == section.headline


def texts(printed: Mapping[Metric, Printed]) -> dict[Metric, str]:
    """Figures as printed."""
    return {metric: figure.text for metric, figure in printed.items()}


def printed(low: float, high: float) -> st.SearchStrategy[str]:
    """Numbers as pages print them: decimals or none, commas or none."""
    return st.builds(
        lambda value, places, comma: f"{value:{comma}.{places}f}",
        st.floats(low, high),
        st.integers(0, 4),
        st.sampled_from(["", ","]),
    )
