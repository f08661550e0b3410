"""Lists of campaigns, which the database filters, sorts and pages.

A list reads no plans and no trials, but :data:`benchlab.results.rows.SUMMARIES`, which is written
with each campaign.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date
from operator import attrgetter
from typing import Any, Literal, TypeVar

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from benchlab.results.records import REPRODUCES, CampaignSummary, ReportSummary
from benchlab.results.rows import (
    CAMPAIGNS,
    NAMES,
    REMARKS,
    SUMMARIES,
    VERDICTS,
    reading,
    summary_of,
)

Order = Literal["started_at", "id", "report", "state"]
"""What a list can be sorted by; ties are sorted by start."""

# Fewer than any database allows as parameters of one statement.
_AT_ONCE = 500
Id = TypeVar("Id", str, int)
_LISTED = tuple(
    CAMPAIGNS.c[name]
    for name in ("id", "report", "state", "origin", "started_at", "ended_at", "failure")
)
_JOINED = sa.join(CAMPAIGNS, SUMMARIES, CAMPAIGNS.c.id == SUMMARIES.c.campaign)


@dataclass(frozen=True)
class Chosen:
    """A filter: campaigns that match every field; None and ``()`` match all.

    Example:
        ``Chosen(workload="tpcc", verdict="regression", since=date(2026, 11, 1))``

    Attributes:
        reports: the report types allowed, for a reader who may not see the others.
        versions: labels that must each be on a side of the campaign.
        verdict: one of the campaign's last published verdicts, on whatever workload.
        measures_noise: whether it is an A/A campaign.
        canary: whether its schedule slowed the candidate down.
        since, until: the first and the last day of its start, in UTC.
        tag: one of the tags that people gave it.
    """

    report: str | None = None
    reports: Collection[str] | None = None
    workload: str | None = None
    versions: tuple[str, ...] = ()
    verdict: str | None = None
    state: str | None = None
    measures_noise: bool | None = None
    canary: bool | None = None
    since: date | None = None
    until: date | None = None
    tag: str | None = None

    def conditions(self) -> Iterator[sa.ColumnElement[bool]]:
        """SQL conditions on campaigns joined with their summaries."""
        for version in self.versions:
            yield sa.or_(SUMMARIES.c.baseline == version, SUMMARIES.c.candidate == version)
        for value, condition in self._by_field():
            if value is not None:
                yield condition(value)

    def _by_field(self) -> Iterator[tuple[Any, Callable[[Any], sa.ColumnElement[bool]]]]:
        """The value of each field, and the condition it stands for."""
        begun = CAMPAIGNS.c.started_at
        yield self.report, lambda report: CAMPAIGNS.c.report == report
        yield self.reports, lambda reports: CAMPAIGNS.c.report.in_(sorted(reports))
        yield self.state, lambda state: CAMPAIGNS.c.state == state
        yield (
            self.measures_noise,
            lambda noise: SUMMARIES.c.measures_noise.is_(sa.true() if noise else sa.false()),
        )
        yield (
            self.canary,
            lambda is_one: (
                SUMMARIES.c.canary_pct.is_not(None) if is_one else SUMMARIES.c.canary_pct.is_(None)
            ),
        )
        yield self.workload, lambda name: _names(SUMMARIES.c.workloads, name)
        yield self.verdict, lambda verdict: _has(VERDICTS, VERDICTS.c.verdict == verdict)
        yield self.tag, lambda tag: _has(REMARKS, _names(REMARKS.c.tags, tag))
        # Stored times are UTC in ISO 8601, so text order is time order.
        yield self.since, lambda day: begun >= day.isoformat()
        # `U` follows the `T` of a time; the next day cannot be used, as date.max has none.
        yield self.until, lambda day: begun < f"{day}U"


def _has(table: sa.Table, condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Whether a campaign has a row in another table that meets a condition."""
    return sa.exists().where(table.c.campaign == CAMPAIGNS.c.id, condition)


def _names(column: sa.Column[Any], name: str) -> sa.ColumnElement[bool]:
    """Whether a column's JSON list contains this name."""
    return column.contains(json.dumps(name), autoescape=True)


EVERYTHING = Chosen()


class Listing:
    """The lists of a store's campaigns: ``store.listing.count(Chosen(verdict="regression"))``.

    Args:
        transaction: opens a connection to the store.
    """

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def summaries(
        self,
        chosen: Chosen = EVERYTHING,
        *,
        order: Order = "started_at",
        descending: bool = True,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[CampaignSummary]:
        """One page of the list: at most ``limit`` campaigns (None for all), after ``offset``.

        Example:
            ``store.listing.summaries(Chosen(verdict="regression"), limit=20)[0].verdicts``
        """
        columns = dict.fromkeys((CAMPAIGNS.c[order], CAMPAIGNS.c.started_at, CAMPAIGNS.c.id))
        page = (
            _select()
            .where(*chosen.conditions())
            .order_by(*(column.desc() if descending else column for column in columns))
        )
        if limit is not None or offset:
            page = page.limit(2**62 if limit is None else limit).offset(offset)
        with self._transaction() as connection:
            return _with_verdicts(connection, connection.execute(page).all())

    def count(self, chosen: Chosen = EVERYTHING) -> int:
        """How many campaigns :meth:`summaries` lists without a limit."""
        counted = sa.select(sa.func.count()).select_from(_JOINED).where(*chosen.conditions())
        with self._transaction() as connection:
            return int(connection.scalar(counted) or 0)

    def versions(self, chosen: Chosen = EVERYTHING) -> list[str]:
        """The labels of all sides of these campaigns, each once, sorted."""
        with self._transaction() as connection:
            found = {
                label
                for side in (SUMMARIES.c.baseline, SUMMARIES.c.candidate)
                for label in connection.scalars(
                    sa.select(side).select_from(_JOINED).where(*chosen.conditions()).distinct()
                )
            }
        return sorted(label for label in found if label is not None)

    def reports(self) -> list[ReportSummary]:
        """The report types that have campaigns, by name, with their newest verdicts.

        Example:
            ``store.listing.reports()[0].decided["oltp_insert"].verdicts``
        """
        of_campaigns = sa.select(CAMPAIGNS.c.report, CAMPAIGNS.c.id).select_from(_JOINED)
        of_verdicts = (
            sa.select(CAMPAIGNS.c.report, VERDICTS.c.workload, CAMPAIGNS.c.id)
            .select_from(_JOINED.join(VERDICTS, VERDICTS.c.campaign == CAMPAIGNS.c.id))
            .where(SUMMARIES.c.measures_noise.is_(sa.false()), SUMMARIES.c.canary_pct.is_(None))
            .where(CAMPAIGNS.c.origin.not_like(f"{REPRODUCES}%"))
        )
        planned_rows = (
            sa.select(
                CAMPAIGNS.c.report,
                SUMMARIES.c.workloads,
                sa.func.count().label("campaigns"),
                sa.func.max(CAMPAIGNS.c.started_at).label("newest"),
            )
            .select_from(_JOINED)
            .group_by(CAMPAIGNS.c.report, SUMMARIES.c.workloads)
        )
        by_workload = _latest(of_verdicts, CAMPAIGNS.c.report, VERDICTS.c.workload)
        with self._transaction() as connection:
            planned = connection.execute(planned_rows).all()
            newest = connection.execute(_latest(of_campaigns, CAMPAIGNS.c.report)).all()
            decided = connection.execute(by_workload).all()
            found = by_id(connection, sorted({row.id for row in (*newest, *decided)}))
        return [
            _report(
                found[last.id],
                [row for row in planned if row.report == last.report],
                {row.workload: found[row.id] for row in decided if row.report == last.report},
            )
            for last in newest
        ]


def _report(
    newest: CampaignSummary, planned: Sequence[Any], decided: Mapping[str, CampaignSummary]
) -> ReportSummary:
    in_order = sorted(planned, key=attrgetter("newest", "workloads"), reverse=True)
    with reading(f"report type {newest.report}: the workloads of a campaign"):
        workloads = [name for row in in_order for name in NAMES.validate_json(row.workloads)]
    return ReportSummary(
        report=newest.report,
        workloads=tuple(dict.fromkeys((*newest.workloads, *workloads))),
        campaigns=sum(row.campaigns for row in planned),
        newest=newest,
        decided=decided,
    )


def _select() -> sa.Select[Any]:
    of_summary = (column for column in SUMMARIES.columns if column.name != "campaign")
    return sa.select(*_LISTED, *of_summary).select_from(_JOINED)


def _latest(chosen: sa.Select[Any], *parts: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """For each value of these columns, the row of the newest campaign."""
    newest_first = (CAMPAIGNS.c.started_at.desc(), CAMPAIGNS.c.id.desc())
    place = sa.func.row_number().over(partition_by=parts, order_by=newest_first).label("place")
    placed = chosen.add_columns(place).subquery()
    return sa.select(placed).where(placed.c.place == 1).order_by(*placed.c[: len(parts)])


def by_id(connection: Connection, ids: Sequence[str]) -> dict[str, CampaignSummary]:
    """The summaries of these campaigns, by id."""
    rows = [
        row
        for some in batches(ids)
        for row in connection.execute(_select().where(CAMPAIGNS.c.id.in_(some)))
    ]
    return {one.id: one for one in _with_verdicts(connection, rows)}


def _with_verdicts(connection: Connection, rows: Sequence[Any]) -> list[CampaignSummary]:
    verdicts = defaultdict(list)
    for ids in batches([row.id for row in rows]):
        decided = sa.select(VERDICTS).where(VERDICTS.c.campaign.in_(ids))
        for row in connection.execute(decided.order_by(VERDICTS.c.campaign, VERDICTS.c.position)):
            verdicts[row.campaign].append(row)
    return [summary_of(row, verdicts[row.id]) for row in rows]


def batches(ids: Sequence[Id], size: int = _AT_ONCE) -> Iterator[Sequence[Id]]:
    """Parts of a list, each small enough for one statement."""
    return (ids[begin : begin + size] for begin in range(0, len(ids), size))
