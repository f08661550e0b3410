"""A published page as data: what it prints, on which line, and what it says about it.

Nothing is recomputed or filled in: what a page does not print is None or empty. Lines are those of
the page's file, from 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

import pydantic

from benchlab.language import Language
from benchlab.plan.document_tables import Metric, Shape

PageKind = Literal["sysbench", "tpcc"]
Place = Literal["summary", "overview", "section"]
Part = Literal["overview", "environment", "parameters", "plan", "results", "own"]
"""A part of a page; ``own``: what Benchlab's reports have, and no other page."""


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
        return Decimal(re.sub(r"[,\s]", "", self.text))

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
    """A change that a sentence states in percent.

    Attributes:
        workload: such as ``oltp_point_select``; None if the sentence names none.
        threads: the thread count that it is about; None: all.
        pct: the printed size, without sign.
        direction: 1 for an improvement, -1 for a reduction.
    """

    workload: str | None
    threads: int | None
    pct: Printed
    direction: Literal[-1, 1]

    @property
    def value(self) -> Decimal:
        """The change in percent, negative for a reduction."""
        return self.pct.value * self.direction


@dataclass(frozen=True)
class Claim:
    """A sentence that states changes.

    Attributes:
        place: the part of the page it is in; ``section``: the results of one workload.
        versions: the versions it names, in order, each once, such as ``v5.1.1`` or ``2.1``.
    """

    text: str
    line: int
    place: Place
    versions: tuple[str, ...]
    changes: tuple[StatedChange, ...]

    def where(self, section: Workload | None) -> str:
        """Line and part of the page, as findings name it."""
        part = section.heading if section and self.place == "section" else self.place
        return f"line {self.line}, {part}"


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
    line: int
    metric: Metric | None = None
    shape: Shape | None = None
    columns: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    claims: tuple[Claim, ...] = ()
    charts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """One call of a client on one line, with its placeholders and without its passwords."""

    text: str
    line: int


@dataclass(frozen=True)
class Block:
    """Settings in one code block, with the heading above it.

    Attributes:
        workloads: those that the text right above it names as code; empty: it names none.
    """

    heading: str
    language: str
    text: str
    line: int
    workloads: tuple[str, ...] = ()


@dataclass(frozen=True)
class Said:
    """A paragraph or item that is quoted as it is: nothing is concluded from it."""

    part: Part
    heading: str
    text: str
    line: int


@dataclass(frozen=True)
class Fact:
    """A line ``label: value`` of the environment, such as ``Time: June, 2019``."""

    heading: str
    label: str
    value: str
    line: int


@dataclass(frozen=True)
class StatedSetting:
    """What the page says about how it was measured; empty where it does not say.

    Attributes:
        hardware: rows of the host tables by their first cell: the other cells, by heading.
        software: versions by service, as printed.
        git_hashes: by version, then by component.
        parameters: blocks of parameters and variables, in the page's order.
        said: paragraphs and items of overview, parameters and plan, and those of the results that
            state no change, in the page's order.
    """

    hardware: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    software: Mapping[str, str] = field(default_factory=dict)
    git_hashes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    parameters: tuple[Block, ...] = ()
    said: tuple[Said, ...] = ()
    commands: tuple[Command, ...] = ()

    def said_in(self, part: Part) -> tuple[Said, ...]:
        """What is said in one part of the page."""
        return tuple(one for one in self.said if one.part == part)

    @property
    def sysbench_version(self) -> str:
        """The version of sysbench in its table or line; "" if the page names none."""
        lines = {fact.label: fact.value for fact in self.facts}
        named = {**lines, **self.software}
        labels = ("Sysbench", "Sysbench version", "Sysbench 版本")
        return next((named[label] for label in labels if label in named), "")


@dataclass(frozen=True)
class Unread:
    """Something of the page that is not understood, with its line and the heading above it.

    Attributes:
        id: of the message that says why, without ``published-unread-``; ``sentence`` is the only
            one that is not about a table.
        values: of that message, by name.
    """

    line: int
    heading: str
    id: str
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_table(self) -> bool:
        """Whether figures of a table are not read."""
        return self.id != "sentence"

    def why(self, language: Language) -> str:
        """What is not understood, and what to do, in a language."""
        return language.say(f"published-unread-{self.id}", **self.values)


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
        exact_versions: the same versions, if the page names them more exactly; or empty.
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
        return "TiDB Cloud" in self.title

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
        document: dict[str, Any] = _ADAPTER.dump_python(self, mode="json")
        return document


def from_json(raw: Mapping[str, Any]) -> PublishedReport:
    """The inverse of :meth:`PublishedReport.to_json`.

    Raises:
        pydantic.ValidationError: it has another form.
    """
    return _ADAPTER.validate_python(dict(raw))


_ADAPTER = pydantic.TypeAdapter(PublishedReport)
