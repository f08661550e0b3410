"""A published page as data: what it prints, where it prints it, and what it says about it.

Nothing is recomputed here and nothing is filled in: what a page does not print is None or empty.
Lines are those of the page's file, from 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

import pydantic

PageKind = Literal["sysbench", "tpcc"]
Metric = Literal["qps", "tps", "tpmc", "p95_ms"]
# What a plan does with the data beside measuring.
Act = Literal["analyze", "back_up", "restore"]
Place = Literal["title", "summary", "overview", "section"]
Shape = Literal[
    "version_column",  # a row is a version at a thread count
    "table_per_version",  # each version has a table of its own, below a heading or caption
    "pairs",  # of each version throughput and latency, the versions beside each other
    "metrics_then_latencies",  # throughput of both versions, then latency of both
    "single_version",
]
THROUGHPUTS: tuple[Metric, ...] = ("tps", "tpmc", "qps")
"""Metrics of throughput; the first that a table has is the one its improvement is about."""


@dataclass(frozen=True)
class Printed:
    """A number as it is printed, without its percent sign: ``174,402.5``, ``-4.35``, ``12``."""

    text: str

    @cached_property
    def value(self) -> Decimal:
        """The number itself."""
        return Decimal(re.sub(r"[,\s]", "", self.text).replace("\u2212", "-"))

    @property
    def rounding(self) -> Decimal:
        """Half of its last printed digit: how far the number that was rounded may be away."""
        exponent = self.value.as_tuple().exponent
        if not isinstance(exponent, int):
            raise ValueError(f"{self.text!r} is no finite number")
        return Decimal(5).scaleb(exponent - 1)


@dataclass(frozen=True)
class Row:
    """The figures at one thread count.

    Attributes:
        sides: printed figures by version as the table writes it, and by metric; a figure that a
            version does not have is left out.
        improvement: in percent, candidate against baseline; None where none is printed.
        line: of its first line.
    """

    threads: int
    sides: Mapping[str, Mapping[Metric, Printed]]
    improvement: Printed | None
    line: int


@dataclass(frozen=True)
class StatedChange:
    """A change that a sentence claims.

    Attributes:
        workload: as ``oltp_point_select``; None where the sentence does not say of which.
        threads: at which it is claimed; None: over all.
        pct: printed size, without sign; None where only a direction is claimed.
        direction: 1 for an improvement, -1 for a reduction, 0 for "almost the same" or where no
            word says which.
    """

    workload: str | None
    threads: int | None
    pct: Printed | None
    direction: Literal[-1, 0, 1]


@dataclass(frozen=True)
class Claim:
    """A sentence that names a change.

    Attributes:
        versions: that it names, in its order, each once, as ``v5.1.1`` or ``2.1``.
        place: which part of the page it is in. ``section``: the results of one workload.
    """

    text: str
    line: int
    place: Place
    versions: tuple[str, ...]
    changes: tuple[StatedChange, ...]


@dataclass(frozen=True)
class Workload:
    """The results of one workload.

    Attributes:
        name: as ``oltp_point_select``; ``tpcc``.
        heading: the page's own heading of it.
        metric: of throughput, on which improvements are; None where there is no table.
        shape: of its table or tables; None where there is none (a chart only).
        columns: the headings of its table as they are printed; of several tables the first one's.
        versions: whose figures there are, the baseline first; the page's own order is the
            candidate's first in a table of the shape ``version_column``.
        claims: what the sentences beside the table say.
        charts: addresses of its pictures.
        line: of its heading.
    """

    name: str
    heading: str
    metric: Metric | None
    shape: Shape | None
    columns: tuple[str, ...]
    versions: tuple[str, ...]
    rows: tuple[Row, ...]
    claims: tuple[Claim, ...]
    charts: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class Command:
    """One command of the page.

    Attributes:
        tool: the program, without its folder and version: ``sysbench``, ``tiup bench tpcc``.
        text: the whole command, on one line, with its placeholders.
        in_code_block: else it stands within a sentence.
    """

    tool: str
    text: str
    line: int
    in_code_block: bool


@dataclass(frozen=True)
class Block:
    """Settings that stand in one code block, with the heading above it."""

    heading: str
    language: str
    text: str
    line: int


@dataclass(frozen=True)
class StatedStep:
    """One step of the test plan, or a paragraph of it, as plain text."""

    text: str
    line: int


@dataclass(frozen=True)
class ThreadList:
    """Thread counts that the plan names, for some workloads; none named: for all."""

    threads: tuple[int, ...]
    workloads: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class StatedSetting:
    """What the page says of how it was measured; None or empty where it does not say.

    Attributes:
        hardware: rows of the hardware table by their first cell: the other cells, by heading.
        software: versions by service, as printed.
        git_hashes: by version, then by component.
        parameters: blocks of parameters and variables, in the page's order.
        steps: of the test plan.
        acts: what it does with the data beside measuring, in the order of a run.
        commands: those of the plan.
        thread_lists: planned thread counts, apart from those in tables of results.
        load_balancers: those that the plan or a configuration describes: ``HAProxy``, ``NLB``.
        entry_ports: ports that a described load balancer listens on.
        tables, table_size: of sysbench.
        warehouses: of TPC-C.
        seconds: of one run, by the command; None where the command does not say.
        stated_seconds: of one run, by the sentences.
        warmup_seconds: by the sentences.
        measured: time of the measurement, as printed.
        place: of the measurement, as printed.
    """

    hardware: Mapping[str, Mapping[str, str]]
    software: Mapping[str, str]
    git_hashes: Mapping[str, Mapping[str, str]]
    parameters: tuple[Block, ...]
    steps: tuple[StatedStep, ...]
    acts: tuple[Act, ...]
    commands: tuple[Command, ...]
    thread_lists: tuple[ThreadList, ...]
    load_balancers: tuple[str, ...]
    entry_ports: tuple[int, ...]
    tables: int | None
    table_size: int | None
    warehouses: int | None
    seconds: int | None
    stated_seconds: int | None
    warmup_seconds: int | None
    measured: str | None
    place: str | None

    @property
    def sysbench_version(self) -> str | None:
        """As the software's table prints it."""
        rows = self.software.items()
        return next((version for name, version in rows if name.lower() == "sysbench"), None)


@dataclass(frozen=True)
class Unread:
    """Something that was not understood: a table, or a cell; it is listed and not guessed."""

    line: int
    what: str


@dataclass(frozen=True)
class PublishedReport:
    """One published page.

    Attributes:
        id: what it is called in the store: made from kind, versions and language, as
            ``sysbench-v5.2.0-vs-v5.1.1-en``.
        source: name of the file it was read from.
        sha256: of that file's bytes.
        language: ``en`` or ``zh``.
        versions: of the title, the baseline first; one version: a page about one version.
        exact_versions: of the software where the page names them more exactly, the baseline
            first; else empty.
        claims: of summary and overview.
    """

    id: str
    source: str
    sha256: str
    title: str
    kind: PageKind
    language: str
    versions: tuple[str, ...]
    exact_versions: tuple[str, ...]
    workloads: tuple[Workload, ...]
    claims: tuple[Claim, ...]
    setting: StatedSetting
    unread: tuple[Unread, ...]

    @property
    def is_about_cloud(self) -> bool:
        """Whether it is about TiDB Cloud: another page than of the same version on own hosts."""
        return "cloud" in self.title.lower()

    @property
    def baseline(self) -> str | None:
        """None of a page about one version."""
        return self.versions[0] if len(self.versions) > 1 else None

    @property
    def candidate(self) -> str:
        """The version that the page is about."""
        return self.versions[-1]

    def to_json(self) -> dict[str, Any]:
        """As JSON knows it; the inverse is :func:`from_json`."""
        found = _ADAPTER.dump_python(self, mode="json")
        assert isinstance(found, dict)  # noqa: S101 - a dataclass is dumped as one
        return found


def from_json(raw: Mapping[str, Any]) -> PublishedReport:
    """The inverse of :meth:`PublishedReport.to_json`."""
    return _ADAPTER.validate_python(dict(raw))


_ADAPTER = pydantic.TypeAdapter(PublishedReport)
