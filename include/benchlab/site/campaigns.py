"""The list of campaigns, filtered and sorted by the query of its address, in pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, TypeVar, get_args

from benchlab.analysis.verdict.decision import Verdict
from benchlab.language.numbers import Numbers
from benchlab.report.sentences import answer
from benchlab.results.listing import Chosen, Order
from benchlab.results.records import CampaignSummary, Remarks
from benchlab.site.overview import costs_of
from benchlab.site.page import Page, Row, Site

PLACE = "campaigns/"
STATES = ("running", "complete", "failed")
# Campaigns per page; a site of files has longer pages, which the browser searches.
_LENGTH, _LENGTH_AS_FILE = 50, 1000
_LATEST = "-started_at"
Found = TypeVar("Found")


@dataclass(frozen=True)
class Filter:
    """Which campaigns to list, and in what order.

    Attributes:
        order: a column, with a leading ``-`` for descending: ``-started_at``.
        page: from 1.
        faults: invalid values, by field.

    Example:
        ``Filter.asked({"verdict": "regression", "since": "2026-11-01"})``
    """

    report: str = ""
    version: str = ""
    verdict: str = ""
    state: str = ""
    tag: str = ""
    since: date | None = None
    until: date | None = None
    order: str = _LATEST
    page: int = 1
    faults: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def asked(cls, query: Mapping[str, str]) -> Filter:
        """Read a filter from a query; invalid values are ignored and listed in ``faults``."""
        faults: dict[str, str] = {}

        def read(name: str, convert: Callable[[str], Found], default: Found) -> Found:
            text = query.get(name, "").strip()
            try:
                return convert(text) if text else default
            except ValueError:
                faults[name] = text
                return default

        made = cls(
            report=read("report", str, ""),
            version=read("version", str, ""),
            verdict=read("verdict", _one_of(get_args(Verdict)), ""),
            state=read("state", _one_of(STATES), ""),
            tag=read("tag", str, ""),
            since=read("since", date.fromisoformat, None),
            until=read("until", date.fromisoformat, None),
            order=read("order", _one_of(_orders()), _LATEST),
            page=read("page", _page, 1),
        )
        return replace(made, faults=faults)

    @property
    def query(self) -> dict[str, str]:
        """The filter as a query, without defaults."""
        said = {
            "report": self.report,
            "version": self.version,
            "verdict": self.verdict,
            "state": self.state,
            "tag": self.tag,
            "since": self.since.isoformat() if self.since else "",
            "until": self.until.isoformat() if self.until else "",
            "order": self.order if self.order != _LATEST else "",
            "page": str(self.page) if self.page > 1 else "",
        }
        return {name: value for name, value in said.items() if value}

    @property
    def is_chosen(self) -> bool:
        """Whether it restricts the campaigns at all."""
        return bool(self.query.keys() - {"order", "page"})

    def chosen(self, site: Site) -> Chosen:
        """The filter as the store takes it, restricted to what the reader may see."""
        return Chosen(
            report=self.report or None,
            reports=site.reports,
            versions=(self.version,) if self.version else (),
            verdict=self.verdict or None,
            state=self.state or None,
            tag=self.tag or None,
            since=self.since,
            until=self.until,
        )

    def sorted_by(self, column: Order) -> dict[str, str]:
        """The query of the list sorted by a column, reversed if it is sorted by it already."""
        other = f"-{column}" if self.order == column else column
        return {**replace(self, page=1).query, "order": other}

    def on(self, page: int) -> dict[str, str]:
        """The query of another page of the list."""
        return replace(self, page=page).query

    def direction(self, column: Order) -> str:
        """The value of a column's ``aria-sort``: ``ascending``, ``descending`` or ``none``."""
        directions = {column: "ascending", f"-{column}": "descending"}
        return directions.get(self.order, "none")


def _one_of(known: Sequence[str]) -> Callable[[str], str]:
    def convert(text: str) -> str:
        if text not in known:
            raise ValueError(text)
        return text

    return convert


def _orders() -> tuple[str, ...]:
    return tuple(sign + column for column in get_args(Order) for sign in ("", "-"))


def _page(text: str) -> int:
    page = int(text)
    if not 1 <= page <= 1_000_000:
        raise ValueError(text)
    return page


def campaigns(site: Site, asked: Filter, length: int = 0) -> Page:
    """The page of the list that was asked for, or the last one if there are fewer.

    Args:
        length: of a page, in campaigns; 0: the site's own.
    """
    length = length or (_LENGTH_AS_FILE if site.as_files else _LENGTH)
    chosen = asked.chosen(site)
    count = site.store.listing.count(chosen)
    pages = max(1, -(-count // length))
    asked = replace(asked, page=min(asked.page, pages))
    begin = (asked.page - 1) * length
    listed = site.store.listing.summaries(
        chosen,
        order=_column(asked.order),
        descending=asked.order.startswith("-"),
        limit=length,
        offset=begin,
    )
    all_there = Chosen(reports=site.reports)
    costs, remarks = costs_of(site, [one.id for one in listed]), site.store.remarks()
    values: dict[str, Any] = {
        "asked": asked,
        "rows": [
            {**_row(site, one, remarks.get(one.id, Remarks())), "cost": costs.get(one.id)}
            for one in listed
        ],
        "costs": costs,
        "has_notes": any(one.id in remarks for one in listed),
        "begin": begin + 1,
        "count": count,
        "pages": pages,
        "known": count if not asked.is_chosen else site.store.listing.count(all_there),
        "place_on": place_on,
        "reports": [one.report for one in site.store.listing.reports() if site.shows(one.report)],
        "versions_known": site.store.listing.versions(all_there) if not site.as_files else [],
        "verdict_names": answer.ORDER,
        "state_names": STATES,
    }
    place = place_on(asked.page) if site.as_files else PLACE
    title = site.language.say("site-part-campaigns")
    return Page(place, PLACE, title, "campaigns.html.j2", values, asked.query)


def place_on(page: int) -> str:
    """The place of a page of the list, in a site of files: ``campaigns/_2/``.

    No campaign's id begins with ``_``.
    """
    return PLACE if page == 1 else f"{PLACE}_{page}/"


def _column(order: str) -> Order:
    return next(column for column in get_args(Order) if column == order.removeprefix("-"))


def _row(site: Site, one: CampaignSummary, remarks: Remarks) -> Row:
    return {
        "campaign": one,
        "remarks": remarks,
        "took": Numbers(site.language).duration(one.took),
        "throughput": answer.counted(one, answer.throughput(one), site.language),
        "latency": answer.counted(one, answer.latency(one), site.language),
        "counts": answer.counted_counts(one, site.language),
    }
