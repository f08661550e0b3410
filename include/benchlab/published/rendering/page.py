"""What a published page says when it is rendered again: every sentence is made from its data.

Its claims are listed next to what its figures give. Only what it says of purpose, configuration and
causes is repeated, as quotations with their lines: no figure can contradict these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from benchlab.language import Language
from benchlab.language.names import items
from benchlab.published.model import Block, Claim, Part, PublishedReport, Said
from benchlab.published.rendering import claims as claims_module
from benchlab.published.rendering import plan as plan_module
from benchlab.published.rendering.tables import (
    Section,
    compares,
    direction,
    percent,
    section,
)
from benchlab.published.stated import published_headline
from benchlab.published.version_names import all_among
from benchlab.report.model.document_tables import NAMES, Table

# Products by their lower-case names.
_PRODUCTS = {
    "tidb cloud": "TiDB Cloud", "tidb": "TiDB", "mariadb": "MariaDB", "mysql": "MySQL",
}  # fmt: skip
_PRODUCT = re.compile(
    r"(?<![a-z0-9])(tidb[ -]+cloud|tidb|mariadb|mysql)(?![a-z0-9])", re.IGNORECASE
)
_SERVICES = frozenset({"PD", "TiKV", "TiDB"})
_TOOLS = {"sysbench": "Sysbench", "tpcc": "TPC-C"}


@dataclass(frozen=True)
class Page:
    """A published page in one language: ``Page(report, language.load("zh")).title``."""

    report: PublishedReport
    language: Language

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The results, workload by workload."""
        alone = (self.report.candidate,) if self.report.baseline is None else None
        return tuple(
            section(workload, self.language, alone=workload.versions == alone)
            for workload in self.report.workloads
        )

    def say(self, id: str, /, **values: str | int) -> str:  # noqa: A002
        """A sentence in the language of the page."""
        return self.language.say(id, **values)

    # ---------------------------------------------------------------- title and overview

    @cached_property
    def title(self) -> str:
        """The title, in the form of published pages."""
        system = f"{self.product} {_TOOLS[self.report.kind]}".strip()
        candidate, baseline = self.report.candidate, self.report.baseline
        if baseline is None:
            return self.say("published-title-one", system=system, candidate=candidate)
        return self.say("title", system=system, candidate=candidate, baseline=baseline)

    @cached_property
    def subject(self) -> str:
        """A sentence that says what the page shows."""
        tool, baseline = _TOOLS[self.report.kind], self.report.baseline
        candidate = f"{self.product} {self.report.candidate}".strip()
        if baseline is None:
            return self.say("published-subject-one", tool=tool, candidate=candidate)
        return self.say("published-subject", tool=tool, candidate=candidate, baseline=baseline)

    @cached_property
    def product(self) -> str:
        """The product that the page's title names; empty if it names none, or two."""
        found = _PRODUCT.findall(self.report.title)
        named = {" ".join(re.split("[ -]+", name.lower())) for name in found}
        if "tidb cloud" in named:
            named.discard("tidb")
        return _PRODUCTS[named.pop()] if len(named) == 1 else ""

    @property
    def overview(self) -> tuple[str, ...]:
        """The outcome of every workload that has one."""
        return tuple(text for section in self.sections if (text := self.outcome(section)))

    @property
    def summary(self) -> str:
        """Subject and outcomes in one paragraph, for the front matter."""
        return " ".join((self.subject, *self.overview))

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the figures come from, and what they can and cannot show."""
        report = self.report
        found = [
            self.say("published-origin", source=report.source, sha256=report.sha256),
            self.say("published-once"),
        ]
        if report.language != self.language.code:
            found.append(self.say("published-recorded"))
        return tuple(found)

    # ---------------------------------------------------------------- environment and plan

    @property
    def environment(self) -> str:
        """The heading of the environment, which on the published pages names the cloud."""
        columns = {name for cells in self.report.setting.hardware.values() for name in cells}
        cloud = any("EC2" in name for name in columns)
        return self.say("environment-ec2" if cloud else "environment")

    @property
    def facts(self) -> tuple[str, ...]:
        """The labelled lines of the environment."""
        return tuple(
            self.say("published-fact", name=fact.label, value=fact.value)
            for fact in self.report.setting.facts
        )

    @property
    def hardware(self) -> tuple[Table, ...]:
        """The hardware as recorded; rows with the same columns share a table."""
        groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
        for name, cells in self.report.setting.hardware.items():
            groups.setdefault(tuple(cells), []).append((name, *cells.values()))
        found = []
        for columns, rows in groups.items():
            # Mostly services, as on published pages; otherwise anything.
            other = _SERVICES.isdisjoint(row[0] for row in rows)
            first = self.say("column-item" if other else "column-service")
            found.append(Table("", (first, *columns), tuple(rows)))
        return tuple(found)

    @property
    def software(self) -> Table | None:
        """The software as recorded; None if the page has none."""
        rows = tuple(self.report.setting.software.items())
        header = (self.say("column-service"), self.say("column-version"))
        return Table("", header, rows) if rows else None

    @property
    def hashes(self) -> tuple[Table, ...]:
        """The Git hashes of each version's components."""
        header = (self.say("published-component"), self.say("column-hash"))
        found = self.report.setting.git_hashes
        return tuple(Table(name, header, tuple(hashes.items())) for name, hashes in found.items())

    @property
    def threads(self) -> tuple[str, ...]:
        """The thread counts, which are those of the tables."""
        return tuple(plan_module.threads(self.sections, self.language))

    @property
    def parameters(self) -> tuple[tuple[str, tuple[Block | Said, ...]], ...]:
        """Blocks of parameters and what the page says about them, in its order, by heading."""
        setting = self.report.setting
        found: list[Block | Said] = [*setting.parameters, *setting.said_in("parameters")]
        found.sort(key=lambda one: one.line)
        return tuple((key, tuple(of)) for key, of in groupby(found, lambda one: one.heading))

    def place_of(self, block: Block) -> str:
        """For which workloads a block is, and its line; if others have the same heading, the line
        alone; else "".
        """
        line = str(block.line)
        if block.workloads:
            names = items(block.workloads, self.language)
            return self.say("published-block-of", workloads=names, line=line)
        headings = [other.heading for other in self.report.setting.parameters]
        several = headings.count(block.heading) > 1
        return self.say("published-block", line=line) if several else ""

    def quoted(self, part: Part) -> tuple[str, ...]:
        """What the page says in one of its parts, each with its line."""
        return tuple(self.quote(one) for one in self.report.setting.said_in(part))

    def quote(self, said: Said) -> str:
        """A paragraph of the page, with its line."""
        return self.say("published-quote", text=said.text, line=str(said.line))

    @property
    def commands(self) -> tuple[plan_module.Rewritten, ...]:
        """The commands of the page, written so that they work."""
        return plan_module.rewritten(self.report.setting)

    def left_out(self, options: Iterable[str]) -> str:
        """A sentence that names the options which a rebuilt command does not have."""
        return self.say("published-left-out", options=items(options, self.language))

    # ---------------------------------------------------------------- results

    def outcome(self, found: Section) -> str:
        """What the figures of a workload give, as one sentence; "" if nothing is compared."""
        metric = found.workload.metric
        if metric is None or not compares(found.workload):
            return ""
        if found.headline is None:
            missing = [str(threads) for threads, pct in found.improvements.items() if pct is None]
            threads = items(missing, self.language)
            return self.say("published-no-mean", workload=found.title, threads=threads)
        baseline, candidate = found.workload.versions
        return self.say(
            "published-outcome",
            direction=direction(found.headline),
            workload=found.title,
            metric=NAMES[metric],
            pct=percent(abs(found.headline)),
            candidate=candidate,
            baseline=baseline,
            count=len(found.improvements),
        )

    def without_figures(self, found: Section) -> str:
        """A sentence that the page prints no figures of a workload, and what it claims.

        A claim about other versions than the page's appears only in the list of claims.
        """
        report, workload = self.report, found.workload
        claimed = published_headline(report, workload)
        if claimed is None or report.baseline is None or not self._of_its_versions(claimed.claim):
            listed = claims_module.are_about(workload, report)
            return self.say(
                "published-no-figures" if listed else "published-nothing", workload=found.title
            )
        return self.say(
            "published-claim-only",
            workload=found.title,
            direction=direction(claimed.change.direction),
            pct=claimed.change.pct.text,
            candidate=report.candidate,
            baseline=report.baseline,
            line=str(claimed.claim.line),
        )

    # ---------------------------------------------------------------- source

    @property
    def claims(self) -> Table | None:
        """What the page claims, next to what its figures give; None if it claims nothing."""
        return claims_module.table(self.report, self.sections, self.language)

    @property
    def unread(self) -> Table | None:
        """The parts of the page that were not understood; None if there are none."""
        rows = tuple((str(unread.line), unread.why(self.language)) for unread in self.report.unread)
        header = (self.say("published-line"), self.say("published-what"))
        return Table("", header, rows) if rows else None

    def _of_its_versions(self, claim: Claim) -> bool:
        """Whether a sentence names no version but the page's."""
        return all_among(claim.versions, (*self.report.versions, *self.report.exact_versions))
