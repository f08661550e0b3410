"""The findings: each change once, with what people say of it and the form to say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from benchlab.language import Language
from benchlab.report.sentences import findings as sentences
from benchlab.results.findings import STATES, Finding, FindingState, Sought
from benchlab.site.page import Page, Site
from benchlab.site.query import Query, one_of

PLACE = "findings/"
# Findings per page; a site of files has them all on one.
_LENGTH = 50


@dataclass(frozen=True)
class Filter:
    """Which findings to list.

    Attributes:
        page: from 1.
        faults: invalid values, by field.

    Example:
        ``Filter.asked({"state": "new", "workload": "tpcc"})``
    """

    report: str = ""
    workload: str = ""
    state: FindingState | None = None
    page: int = 1
    faults: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def asked(cls, query: Mapping[str, str]) -> Filter:
        """Read a filter from a query; invalid values are ignored and listed in ``faults``."""
        read, nothing = Query(query), None
        made = cls(
            report=read.text("report"),
            workload=read.text("workload"),
            state=read.field("state", one_of(STATES), nothing),
            page=read.page(),
        )
        return replace(made, faults=read.faults)

    @property
    def query(self) -> dict[str, str]:
        """The filter as a query, without defaults."""
        said = {"report": self.report, "workload": self.workload, "state": self.state or ""}
        said["page"] = str(self.page) if self.page > 1 else ""
        return {name: value for name, value in said.items() if value}

    @property
    def is_chosen(self) -> bool:
        """Whether it restricts the findings at all."""
        return bool(self.query.keys() - {"page"})

    def on(self, page: int) -> dict[str, str]:
        """The query of another page of the list."""
        return replace(self, page=page).query

    def sought(self, site: Site) -> Sought:
        """The filter as the store takes it, restricted to what the reader may see."""
        return Sought(
            report=self.report or None,
            reports=site.reports,
            workload=self.workload or None,
            states=(self.state,) if self.state else (),
        )


@dataclass(frozen=True)
class Shown:
    """A finding with its changes as text."""

    finding: Finding
    changes: list[sentences.Changed]

    @classmethod
    def of(cls, finding: Finding, language: Language) -> Shown:
        """A finding for the reader."""
        return cls(finding, sentences.changes(finding, language))


def findings(site: Site, asked: Filter) -> Page:
    """The page of the list that was asked for, or the last one if there are fewer."""
    sought, all_there = asked.sought(site), Sought(reports=site.reports)
    count, kept = site.store.findings.count(sought), site.store.findings
    length = max(1, count) if site.as_files else _LENGTH
    pages = max(1, -(-count // length))
    asked = replace(asked, page=min(asked.page, pages))
    begin = (asked.page - 1) * length
    judged = Sought(report=asked.report or None, reports=site.reports)
    values = {
        "asked": asked,
        "rows": [
            Shown.of(one, site.language) for one in kept.found(sought, limit=length, offset=begin)
        ],
        "begin": begin + 1,
        "count": count,
        "pages": pages,
        "known": count if not asked.is_chosen else kept.count(all_there),
        "reports": kept.names("report", all_there),
        "workloads": kept.names("workload", all_there),
        "state_names": STATES,
        "trust": sentences.trusted(kept.judgements(judged), site.language),
    }
    title = site.language.say("site-part-findings")
    return Page(PLACE, PLACE, title, "findings.html.j2", values, asked.query)


def waiting(
    site: Site, *, report: str | None = None, workload: str | None = None, limit: int | None = None
) -> list[Shown]:
    """The regressions that nobody has judged, those that a campaign showed last first.

    Args:
        report, workload: only of this report type, only of this workload; None: all.
        limit: at most this many; None: all.
    """
    sought = Sought(report, site.reports, workload, ("new",), "worse")
    return [Shown.of(one, site.language) for one in site.store.findings.found(sought, limit=limit)]
