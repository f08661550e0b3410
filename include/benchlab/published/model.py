"""A published page as data: its figures and claims, each with its line.

Nothing is recomputed or filled in: what a page does not print is None or empty. Lines are those of
the page's file, from 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

import pydantic

from benchlab.language import Language
from benchlab.plan.fields.published import Metric

PageKind = Literal["sysbench", "tpcc"]
Place = Literal["summary", "overview", "section"]


@dataclass(frozen=True)
class Printed:
    """A number as it is printed, without a percent sign: ``174,402.5``, ``-4.35``, ``12``.

    >>> Printed("174,402.5").value, Printed("174,402.5").rounding
    (Decimal('174402.5'), Decimal('0.05'))
    """

    text: str

    @cached_property
    def value(self) -> Decimal:
        """The number, without separators."""
        return Decimal(re.sub(r"[,\s]", "", self.text))

    @property
    def decimals(self) -> int:
        """The number of digits after the decimal point."""
        return len(self.text.partition(".")[2])

    @property
    def rounding(self) -> Decimal:
        """Half a unit of the last printed digit: the largest rounding error."""
        return Decimal(5).scaleb(-1 - self.decimals)


@dataclass(frozen=True)
class Row:
    """The figures at one thread count.

    Attributes:
        sides: printed figures by version, as the table spells it, and by metric; without missing
            figures.
        improvement: candidate against baseline, in percent; None if none is printed.
        line: of the first row, if each version has its own.
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
        pct: its printed size, without sign.
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
        place: its part of the page; ``section``: the results of one workload.
        versions: the versions that it names, in order, each once, such as ``v5.1.1`` or ``2.1``.
    """

    text: str
    line: int
    place: Place
    versions: tuple[str, ...]
    changes: tuple[StatedChange, ...]

    def where(self, section: Workload | None) -> str:
        """Line and part of the page, for discrepancies: ``line 12, Point Select``."""
        return f"line {self.line}, {section.heading if section else self.place}"


@dataclass(frozen=True)
class Workload:
    """The results of one workload.

    Attributes:
        name: such as ``oltp_point_select`` or ``tpcc``; ``heading`` is the page's own.
        metric: the throughput that improvements are about; None without a table.
        versions: the versions that have figures, the older first regardless of the page's order.
        claims: the sentences in its section.
    """

    name: str
    heading: str
    line: int
    metric: Metric | None = None
    versions: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True)
class Command:
    """One call of a client.

    Attributes:
        client: ``sysbench``, ``go-tpc tpcc`` or ``tiup bench tpcc``.
        action: such as ``prepare`` or ``run``; "" if there is none.
        host, port: what it connects to; "" if uncertain.
        unknown: options that the client certainly does not have, as written.
        port_as_password: a port that go-tpc is given as ``-p``, its password option; or "".
    """

    line: int
    client: str
    action: str
    host: str = ""
    port: str = ""
    unknown: tuple[str, ...] = ()
    port_as_password: str = ""

    @property
    def measures(self) -> bool:
        """Whether it can produce figures: it does not load, check or remove data."""
        return self.action in ("", "run")


@dataclass(frozen=True)
class Procedure:
    """What the page says about its test procedure, as far as it can contradict itself.

    Attributes:
        balancers: the load balancers that it claims to measure through.
        entry_ports: the ports that a printed configuration of HAProxy binds.
        threads: each planned list of thread counts, with its line.
        other_tools: clients that sentences name next to a command, with their lines.
    """

    commands: tuple[Command, ...] = ()
    balancers: tuple[str, ...] = ()
    entry_ports: tuple[int, ...] = ()
    threads: tuple[tuple[int, tuple[int, ...]], ...] = ()
    other_tools: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Unread:
    """A part of the page that is not understood, with its line and the heading above it.

    Attributes:
        id: of the message that says why, without its prefix ``published-unread-``; ``sentence`` is
            the only one that is not about a table.
        values: the values of that message, by name.
    """

    line: int
    heading: str
    id: str
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_table(self) -> bool:
        """Whether it is a table, so that figures are missing."""
        return self.id != "sentence"

    def why(self, language: Language) -> str:
        """What is not understood, and what to do, in a language."""
        return language.say(f"published-unread-{self.id}", **self.values)


@dataclass(frozen=True)
class Stated:
    """One change that a sentence states about a workload of the page.

    Attributes:
        section: the workload whose section the sentence is in; None in summary and overview.
    """

    workload: Workload
    section: Workload | None
    claim: Claim
    change: StatedChange

    @property
    def value(self) -> Decimal:
        """The change in percent, negative for a reduction."""
        return self.change.value

    @property
    def where(self) -> str:
        """Line and part of the page."""
        return self.claim.where(self.section)


@dataclass(frozen=True)
class PublishedReport:
    """One published page.

    Attributes:
        id: its id in the store, made from kind, versions and language, such as
            ``sysbench-v5.2.0-vs-v5.1.1-en``.
        source: name of the file it was read from.
        sha256: of the file's bytes.
        language: ``en`` or ``zh``.
        versions: the title's versions, the older first; only one if the page compares none.
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
    procedure: Procedure
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

    def stated(self) -> Iterator[Stated]:
        """The stated changes of workloads on the page, summary and overview first."""
        by_name = {workload.name: workload for workload in self.workloads}
        said: list[tuple[Claim, Workload | None]] = [(claim, None) for claim in self.claims]
        said += [(claim, section) for section in self.workloads for claim in section.claims]
        for claim, section in said:
            for change in claim.changes:
                about = by_name.get(change.workload) if change.workload else section
                if about is not None:
                    yield Stated(about, section, claim, change)

    def headline(self, workload: Workload) -> Stated | None:
        """The page's own change for all rows: from the workload's section, else from the overview.

        >>> report.headline(report.workloads[0]).value  # doctest: +SKIP
        Decimal('-4.27')
        """
        return headline(one for one in self.stated() if one.workload is workload)

    def to_json(self) -> dict[str, Any]:
        """The report for JSON; the inverse is :func:`from_json`."""
        document: dict[str, Any] = _ADAPTER.dump_python(self, mode="json")
        return document


def headline(said: Iterable[Stated]) -> Stated | None:
    """The change for all rows among the changes stated about one workload.

    One in the workload's own section comes first, then overview, summary and other sections.
    """
    places = ("overview", "summary", "section")

    def rank(one: Stated) -> int:
        return 0 if one.section is one.workload else 1 + places.index(one.claim.place)

    return min((one for one in said if one.change.threads is None), key=rank, default=None)


def from_json(raw: Mapping[str, Any]) -> PublishedReport:
    """The inverse of :meth:`PublishedReport.to_json`.

    Raises:
        pydantic.ValidationError: the document does not have that form.
    """
    return _ADAPTER.validate_python(dict(raw))


_ADAPTER = pydantic.TypeAdapter(PublishedReport)
