"""A published page as data: what it prints, on which line, and what it says about it.

Nothing is recomputed or filled in: what a page does not print is None or empty. Lines are those of
the page's file, from 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

import pydantic

from benchlab.plan.document_tables import Metric, Shape

PageKind = Literal["sysbench", "tpcc"]
# What a plan does with the data apart from measuring.
Act = Literal["analyze", "back_up", "restore"]
Place = Literal["title", "summary", "overview", "section"]


@dataclass(frozen=True)
class Printed:
    """A number as it is printed, without a percent sign: ``174,402.5``, ``-4.35``, ``12``.

    >>> Printed("174,402.5").value, Printed("174,402.5").rounding
    (Decimal('174402.5'), Decimal('0.05'))
    """

    text: str

    @cached_property
    def value(self) -> Decimal:
        """The number itself."""
        return Decimal(re.sub(r"[,\s]", "", self.text).replace("\u2212", "-"))

    @property
    def decimals(self) -> int:
        """How many digits are printed after the point."""
        return len(self.text.partition(".")[2])

    @property
    def rounding(self) -> Decimal:
        """Half of its last printed digit: the largest rounding error."""
        return Decimal(5).scaleb(-1 - self.decimals)


@dataclass(frozen=True)
class Row:
    """The figures at one thread count.

    Attributes:
        sides: printed figures by version, as the table spells it, and by metric; missing figures
            are left out.
        improvement: candidate against baseline, in percent; None if none is printed.
        line: its first one, where the figures are in several tables.
    """

    threads: int
    sides: Mapping[str, Mapping[Metric, Printed]]
    improvement: Printed | None
    line: int


@dataclass(frozen=True)
class StatedChange:
    """A change that a sentence claims.

    Attributes:
        workload: such as ``oltp_point_select``; None if the sentence does not name one.
        threads: the thread count that it is about; None: all.
        pct: the printed size, without sign; None if only a direction is claimed.
        direction: 1 for an improvement, -1 for a reduction, 0 for "almost the same" or if no word
            says which.
    """

    workload: str | None
    threads: int | None
    pct: Printed | None
    direction: Literal[-1, 0, 1]


@dataclass(frozen=True)
class Claim:
    """A sentence that names a change.

    Attributes:
        text: the whole sentence.
        place: the part of the page it is in; ``section``: the results of one workload.
        versions: the versions it names, in order, each once, such as ``v5.1.1`` or ``2.1``.
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
        name: such as ``oltp_point_select`` or ``tpcc``; ``heading`` is the page's own.
        metric: the throughput that improvements are about; None without a table.
        shape: the shape of its table or tables; None if there is only a chart.
        columns: the column headings of its (first) table, as printed.
        versions: the versions that have figures, the baseline first, whatever the page's order.
        claims: the sentences in its section.
        charts: addresses of its pictures.
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
        in_code_block: if not, it is in a sentence.
    """

    tool: str
    text: str
    line: int
    in_code_block: bool


@dataclass(frozen=True)
class Block:
    """Settings in one code block, with the heading above it.

    Attributes:
        workloads: for which the text above it says that they are; empty: it names none.
    """

    heading: str
    language: str
    text: str
    line: int
    workloads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Said:
    """A sentence of the page about no figure, with the heading above it.

    Attributes:
        about: ``purpose`` of the test, ``cause`` of a change, or ``configuration`` of the servers.
    """

    about: Literal["purpose", "cause", "configuration"]
    heading: str
    text: str
    line: int


@dataclass(frozen=True)
class StatedStep:
    """One step of the test plan, or a paragraph of it, as plain text."""

    text: str
    line: int


@dataclass(frozen=True)
class ThreadList:
    """Thread counts that the plan names for ``workloads``; if that is empty, for all."""

    threads: tuple[int, ...]
    workloads: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class StatedSetting:
    """What the page says about how it was measured; None or empty where it does not say.

    Attributes:
        hardware: rows of the hardware table by their first cell: the other cells, by heading.
        software: versions by service, as printed.
        git_hashes: by version, then by component.
        parameters: blocks of parameters and variables, in the page's order.
        said: sentences on purpose, causes and configuration, in the page's order.
        acts: what it does with the data apart from measuring, in the order of a run.
        thread_lists: planned thread counts; those in result tables are not among them.
        load_balancers: those that the plan or a configuration describes: ``HAProxy``, ``NLB``.
        entry_ports: ports on which a described load balancer listens.
        tables, table_size: sysbench's number of tables, and rows in each.
        seconds: length of one run according to the commands.
        stated_seconds, warmup_seconds: of one run and its warm-up according to the sentences.
        measured, place: when and where it was measured, as printed.
    """

    hardware: Mapping[str, Mapping[str, str]]
    software: Mapping[str, str]
    git_hashes: Mapping[str, Mapping[str, str]]
    parameters: tuple[Block, ...]
    said: tuple[Said, ...]
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
        """The version of sysbench as the software table prints it; None if it has none."""
        rows = self.software.items()
        return next((version for name, version in rows if name.lower() == "sysbench"), None)


@dataclass(frozen=True)
class Unread:
    """Something that was not understood, such as a table or a cell, and its line."""

    line: int
    what: str


@dataclass(frozen=True)
class PublishedReport:
    """One published page.

    Attributes:
        id: its id in the store, made from kind, versions and language, such as
            ``sysbench-v5.2.0-vs-v5.1.1-en``.
        source: name of the file it was read from.
        sha256: of the file's bytes.
        language: ``en`` or ``zh``.
        versions: the title's versions, the baseline first; only one if the page compares none.
        exact_versions: the same versions, if the page names them more exactly somewhere; or empty.
        claims: those of title, summary and overview.
        unread: what was not understood, by line.
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
        """Whether it is about TiDB Cloud, and so not comparable with the same version elsewhere."""
        return "cloud" in self.title.lower()

    @property
    def baseline(self) -> str | None:
        """The baseline's version; None if the page is about one version."""
        return self.versions[0] if len(self.versions) > 1 else None

    @property
    def candidate(self) -> str:
        """The version that the page is about."""
        return self.versions[-1]

    def to_json(self) -> dict[str, Any]:
        """The report for JSON; the inverse is :func:`from_json`."""
        found: dict[str, Any] = _ADAPTER.dump_python(self, mode="json")
        return found


def from_json(raw: Mapping[str, Any]) -> PublishedReport:
    """The inverse of :meth:`PublishedReport.to_json`.

    Raises:
        pydantic.ValidationError: it has another form.
    """
    return _ADAPTER.validate_python(dict(raw))


_ADAPTER = pydantic.TypeAdapter(PublishedReport)
