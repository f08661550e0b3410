"""The published document that a report type follows: differences, and its tables of results.

A report can lay out its own tables like those of the document.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from benchlab.plan.documents import Frozen

Metric = Literal["qps", "tps", "tpmc", "qpm", "p95_ms"]
Shape = Literal[
    "version_column",  # a row is a version at a thread count
    "table_per_version",  # each version has a table of its own, below a heading or caption
    "pairs",  # throughput and latency of one version, then of the other
    "metrics_then_latencies",  # throughput of both versions, then latency of both
    "single_version",
]
Layout = Literal["own", "published"]
THROUGHPUTS: tuple[Metric, ...] = ("tps", "tpmc", "qpm", "qps")
"""Figures of throughput; a table's improvement is about the first of these that it has."""


class DocumentTables(Frozen):
    """The tables of results of one document.

    Attributes:
        figures: of each version, in the order of their columns.
        improvement: where the percent sign of the improvements is, in their cells or in their
            heading; ``none``: the document prints none.
        workloads: in the document's order; those that it lacks come last.

    Example:
        ``DocumentTables(figures=("qps", "p95_ms")).shape`` is ``pairs``.
    """

    shape: Shape = "pairs"
    figures: Annotated[tuple[Metric, ...], Field(min_length=1, strict=False)]
    improvement: Literal["cells", "heading", "none"] = "cells"
    workloads: Annotated[tuple[str, ...], Field(strict=False)] = ()


# As most pages on sysbench have them, and all on TPC-C.
USUAL = {
    "tps": DocumentTables(figures=("qps", "p95_ms")),
    "tpmc": DocumentTables(figures=("tpmc",), improvement="heading"),
    "qpm": DocumentTables(figures=("qpm", "p95_ms")),
}
"""The tables by the metric that decides, where a report type names no document's."""


Line = Literal[
    "versions",
    "hosts",
    "parameters",
    "data",
    "workloads",
    "steps",
    "client",
    "user",
    "load_balancer",
    "results",
]
LINES: tuple[Line, ...] = get_args(Line)
"""What a document says about how it was measured, line by line."""


class Published(Frozen):
    """The published document that a report type follows.

    Attributes:
        document: its title.
        client: the client it names, where Benchlab uses another version.
        differences: where this plan differs from the document, and why: sentences by the line that
            they concern.
        describes: the optional steps that the document includes.
        tables: its tables of results; None where it has none.
    """

    document: Annotated[str, Field(min_length=1)]
    client: str | None = None
    differences: dict[Line, Annotated[tuple[str, ...], Field(strict=False)]] = Field(default={})
    describes: Annotated[tuple[Literal["analyze", "restore"], ...], Field(strict=False)] = ()
    tables: DocumentTables | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """All differences, in order."""
        return tuple(sentence for about in self.differences.values() for sentence in about)
