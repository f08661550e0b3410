"""Findings: each change of one workload of one report type, once, and what people say of it.

A change that lasts is shown by one campaign after the other, in several metrics. It is one finding
all the same: campaigns that compare the same two versions belong to it, and so do those that
compare another candidate with the same baseline. With ``design: watch`` a confirmed change becomes
the known level, so that a further verdict is a further change, and only the same pair of versions
belongs together.

Findings follow from stored verdicts; what people say is appended to their history. Nothing is ever
removed from either but with a campaign: a finding that no campaign shows any more is not listed,
and has its number and its history again once one does.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple, get_args
from urllib.parse import urlsplit

import sqlalchemy as sa
from pydantic import TypeAdapter
from sqlalchemy.engine import Connection

from benchlab.errors import SpecError, StoreError
from benchlab.results.listing import batches, by_id
from benchlab.results.records import Campaign, CampaignSummary, StoredVerdict
from benchlab.results.rows import (
    CAMPAIGNS,
    FINDING_CAMPAIGNS,
    FINDING_ENTRIES,
    FINDINGS,
    SUMMARIES,
    as_json,
    moment,
    reading,
)

FindingState = Literal["new", "known", "wanted", "fixed", "noise"]
"""``new``: nobody has judged it; ``known``: real and explained; ``wanted``: intended or accepted;
``fixed``: reverted or mended; ``noise``: wrong."""
STATES: tuple[FindingState, ...] = get_args(FindingState)
JUDGED: tuple[FindingState, ...] = STATES[1:]
LONGEST_NOTE, LONGEST_LINK = 500, 500
Direction = Literal["worse", "better"]
Design = Literal["fixed", "watch", "release"]
DIRECTIONS: Mapping[str, Direction] = {"regression": "worse", "improvement": "better"}


@dataclass(frozen=True)
class Entry:
    """What was said of a finding at one time.

    Attributes:
        by: a person's login name; empty where a campaign showed the change again.
        note: may be empty.
        link: an issue of a tracker; may be empty.
        campaign: the one that showed the change again; None: a person said it.
    """

    state: FindingState
    by: str
    at: datetime
    note: str = ""
    link: str = ""
    campaign: str | None = None


@dataclass(frozen=True)
class Finding:
    """A change, the campaigns that show it, and its history.

    Attributes:
        id: a number that stays.
        direction: that of the throughput where it changed, else of latency, else of counts.
        design: the report type's; by it a false finding is more likely in one direction.
        campaigns: the ids of those that show it, the earliest first.
        first, newest: the first and the last of them.
        history: the earliest entry first.
    """

    id: int
    report: str
    workload: str
    direction: Direction
    design: Design
    campaigns: tuple[str, ...]
    first: CampaignSummary
    newest: CampaignSummary
    history: tuple[Entry, ...]

    @property
    def state(self) -> FindingState:
        """What its last entry says."""
        return self.history[-1].state if self.history else "new"

    @property
    def changes(self) -> list[StoredVerdict]:
        """The verdicts of its newest campaign that are changes, throughput first."""
        return [
            found
            for found in self.newest.verdicts
            if found.workload == self.workload and found.verdict in DIRECTIONS
        ]


class Judgement(NamedTuple):
    """A finding, as far as it counts for trust."""

    state: FindingState
    direction: Direction
    design: Design


@dataclass(frozen=True)
class Sought:
    """A filter: findings that match every field; None and ``()`` match all.

    Example:
        ``Sought(workload="tpcc", states=("new",))``

    Attributes:
        reports: the report types allowed, for a reader who may not see the others.
    """

    report: str | None = None
    reports: Collection[str] | None = None
    workload: str | None = None
    states: tuple[FindingState, ...] = ()
    direction: Direction | None = None

    def conditions(self) -> Iterator[sa.ColumnElement[bool]]:
        """SQL conditions on findings."""
        if self.report is not None:
            yield FINDINGS.c.report == self.report
        if self.reports is not None:
            yield FINDINGS.c.report.in_(sorted(self.reports))
        if self.workload is not None:
            yield FINDINGS.c.workload == self.workload
        if self.direction is not None:
            yield FINDINGS.c.direction == self.direction
        if self.states:
            yield _STATE.in_(self.states)


ALL = Sought()
_ENTRY, _FINDING = TypeAdapter(Entry), TypeAdapter(Finding)
_JUDGEMENTS = TypeAdapter(list[Judgement])
# The state of a finding: that of its last entry.
_LAST = sa.select(FINDING_ENTRIES.c.state).where(FINDING_ENTRIES.c.finding == FINDINGS.c.id)
_LAST = _LAST.order_by(FINDING_ENTRIES.c.id.desc()).limit(1).correlate(FINDINGS)
_STATE = sa.func.coalesce(_LAST.scalar_subquery(), "new")
_SHOWN = FINDINGS.join(FINDING_CAMPAIGNS, FINDING_CAMPAIGNS.c.finding == FINDINGS.c.id).join(
    CAMPAIGNS, CAMPAIGNS.c.id == FINDING_CAMPAIGNS.c.campaign
)


class Findings:
    """The findings of a store: ``store.findings.found(Sought(states=("new",)))[0].changes``.

    Args:
        transaction: opens a connection to the store whose statements take effect together.
    """

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    # Reading

    def found(
        self, sought: Sought = ALL, *, limit: int | None = None, offset: int = 0
    ) -> list[Finding]:
        """The findings, those that a campaign showed last first.

        Raises:
            StoreError: one cannot be read.
        """
        newest = sa.func.max(CAMPAIGNS.c.started_at)
        page = (
            sa.select(FINDINGS.c.id)
            .select_from(_SHOWN)
            .where(*sought.conditions())
            .group_by(FINDINGS.c.id)
            .order_by(newest.desc(), FINDINGS.c.id.desc())
        )
        if limit is not None:
            page = page.limit(limit).offset(offset)
        with self._transaction() as connection:
            ids = list(connection.scalars(page))
            return [one for some in batches(ids) for one in _read(connection, some)]

    def count(self, sought: Sought = ALL) -> int:
        """How many :meth:`found` lists without a limit."""
        counted = sa.select(sa.func.count(FINDINGS.c.id.distinct())).select_from(_SHOWN)
        with self._transaction() as connection:
            return int(connection.scalar(counted.where(*sought.conditions())) or 0)

    def names(self, of: Literal["report", "workload"], sought: Sought = ALL) -> list[str]:
        """The report types or workloads of these findings, each once, sorted."""
        asked = sa.select(FINDINGS.c[of]).select_from(_SHOWN).where(*sought.conditions())
        with self._transaction() as connection:
            return sorted(connection.scalars(asked.distinct()))

    def judgements(self, sought: Sought = ALL) -> list[Judgement]:
        """What people say of each of these findings, without reading campaigns."""
        of = (FINDINGS.c.id, _STATE.label("state"), FINDINGS.c.direction, FINDINGS.c.design)
        asked = sa.select(*of).select_from(_SHOWN).where(*sought.conditions()).distinct()
        with self._transaction() as connection:
            rows = connection.execute(asked.order_by(FINDINGS.c.id)).all()
        with reading("findings"):
            return _JUDGEMENTS.validate_python([row[1:] for row in rows])

    def finding(self, number: int) -> Finding:
        """One finding.

        Raises:
            StoreError: no campaign shows one with this number, or it cannot be read.
        """
        with self._transaction() as connection:
            return _one(connection, number)

    # What people say

    def mark(
        self, number: int, state: FindingState, by: str, note: str = "", link: str = ""
    ) -> Finding:
        """Say what a finding is.

        Example:
            ``store.findings.mark(7, "known", "ann", "a new default", "https://example.org/7")``

        Raises:
            SpecError: ``note`` or ``link`` cannot be taken.
            StoreError: as :meth:`finding`.
        """
        _check(note, link)
        with self._transaction() as connection:
            _one(connection, number)
            _append(connection, number, Entry(state, by, datetime.now(UTC), note, link))
            return _one(connection, number)

    def take_back(self, number: int, by: str) -> Finding:
        """Take back the last change of a finding's state; its history keeps both.

        Raises:
            SpecError: nothing has been said of it.
            StoreError: as :meth:`finding`.
        """
        with self._transaction() as connection:
            found = _one(connection, number)
            if not found.history:
                raise SpecError(f"finding {number}: nobody has judged it; nothing to take back")
            now = datetime.now(UTC)
            before = found.history[-2] if len(found.history) > 1 else Entry("new", "", now)
            _append(connection, number, Entry(before.state, by, now, before.note, before.link))
            return _one(connection, number)

    # Recording what campaigns show

    @contextmanager
    def in_turn(self, report: str) -> Iterator[Connection]:
        """A transaction in which no other process records findings of a report type."""
        first = sa.select(sa.func.min(CAMPAIGNS.c.id)).where(CAMPAIGNS.c.report == report)
        with self._transaction() as connection:
            named = connection.scalar(first)
        with self._transaction() as connection:
            # Any row that all of them write first; nothing is read before, so that what another
            # process has just recorded is seen.
            connection.execute(CAMPAIGNS.update().filter_by(id=named).values(id=named))
            yield connection

    def record(
        self, connection: Connection, campaign: Campaign, verdicts: Sequence[StoredVerdict]
    ) -> None:
        """Record what a campaign's verdicts find, in place of what it found before.

        Args:
            connection: of :meth:`in_turn`.
        """
        changed = _changed(campaign, verdicts)
        shown = sa.select(FINDINGS).select_from(_SHOWN).where(CAMPAIGNS.c.id == campaign.id)
        for row in connection.execute(shown).all():
            if changed.get(row.workload) == row.direction:
                del changed[row.workload]
            else:
                for table in (FINDING_CAMPAIGNS, FINDING_ENTRIES):
                    own = {"finding": row.id, "campaign": campaign.id}
                    connection.execute(table.delete().filter_by(**own))
        for workload, direction in changed.items():
            number = _joined(connection, campaign, workload, direction)
            connection.execute(
                FINDING_CAMPAIGNS.insert().values(finding=number, campaign=campaign.id)
            )
            last = _history(connection, [number])[number][-1:]
            # Of a campaign from before that was said nothing has been shown again.
            if last and last[0].state in ("fixed", "noise") and campaign.at > last[0].at:
                again = Entry("new", "", datetime.now(UTC), campaign=campaign.id)
                _append(connection, number, again)


def _changed(campaign: Campaign, verdicts: Sequence[StoredVerdict]) -> dict[str, Direction]:
    """The workloads that changed, each with the direction of the first metric that did."""
    changed: dict[str, Direction] = {}
    if not (campaign.is_aa or campaign.plan.slowdown_pct):
        for one in verdicts:
            if one.verdict in DIRECTIONS:
                changed.setdefault(one.workload, DIRECTIONS[one.verdict])
    return changed


def _joined(connection: Connection, campaign: Campaign, workload: str, direction: Direction) -> int:
    """The number of the finding that a campaign's change belongs to; of a new one where none is."""
    report, design = campaign.plan.report, campaign.report_type.design
    pair = tuple(side.label for side in campaign.plan.sides.values())
    fields = {"report": report, "workload": workload, "direction": direction}
    key = hashlib.sha256(as_json([*fields.values(), *pair]).encode()).hexdigest()
    there = (
        sa.select(FINDINGS.c.id, FINDINGS.c.key, _STATE.label("state"))
        .add_columns(SUMMARIES.c.baseline, SUMMARIES.c.candidate)
        .select_from(
            FINDINGS.outerjoin(
                FINDING_CAMPAIGNS, FINDING_CAMPAIGNS.c.finding == FINDINGS.c.id
            ).outerjoin(SUMMARIES, SUMMARIES.c.campaign == FINDING_CAMPAIGNS.c.campaign)
        )
        .filter_by(**fields)
        .order_by(FINDINGS.c.id.desc())
    )
    rows = connection.execute(there).all()
    same = [row.id for row in rows if row.key == key or (row.baseline, row.candidate) == pair]
    if not same and design != "watch":
        # What was noise with one candidate need not be so with the next.
        same = [row.id for row in rows if row.baseline == pair[0] and row.state != "noise"]
    if same:
        return int(same[0])
    connection.execute(FINDINGS.insert().values(**fields, design=design, key=key))
    return int(connection.execute(sa.select(FINDINGS.c.id).filter_by(key=key)).scalar_one())


def _append(connection: Connection, number: int, entry: Entry) -> None:
    row = {**vars(entry), "at": entry.at.isoformat(), "finding": number}
    connection.execute(FINDING_ENTRIES.insert().values(**row))


def _one(connection: Connection, number: int) -> Finding:
    for found in _read(connection, [number]):
        return found
    raise StoreError(f"no campaign shows a finding {number}; `benchlab findings --all` lists all")


def _read(connection: Connection, numbers: Sequence[int]) -> list[Finding]:
    """These findings, in the same order; without those that no campaign shows."""
    rows = connection.execute(sa.select(FINDINGS).where(FINDINGS.c.id.in_(numbers))).all()
    links = (
        sa.select(FINDING_CAMPAIGNS)
        .join(CAMPAIGNS, CAMPAIGNS.c.id == FINDING_CAMPAIGNS.c.campaign)
        .where(FINDING_CAMPAIGNS.c.finding.in_(numbers))
        .order_by(CAMPAIGNS.c.started_at, CAMPAIGNS.c.id)
    )
    campaigns: defaultdict[int, list[str]] = defaultdict(list)
    for link in connection.execute(links):
        campaigns[link.finding].append(link.campaign)
    ends = sorted({end for shown in campaigns.values() for end in (shown[0], shown[-1])})
    history, summaries = _history(connection, numbers), by_id(connection, ends)
    made = {}
    for row in rows:
        if shown := campaigns[row.id]:
            with reading(f"finding {row.id}"):
                made[row.id] = _FINDING.validate_python(
                    {
                        **row._mapping,
                        "campaigns": shown,
                        "first": summaries[shown[0]],
                        "newest": summaries[shown[-1]],
                        "history": history[row.id],
                    }
                )
    return [made[number] for number in numbers if number in made]


def _history(connection: Connection, numbers: Sequence[int]) -> Mapping[int, list[Entry]]:
    entries = FINDING_ENTRIES.select().where(FINDING_ENTRIES.c.finding.in_(numbers))
    found: defaultdict[int, list[Entry]] = defaultdict(list)
    for row in connection.execute(entries.order_by(FINDING_ENTRIES.c.id)):
        with reading(f"finding {row.finding}: its history"):
            told = {**row._mapping, "at": moment(row.at)}
            found[row.finding].append(_ENTRY.validate_python(told))
    return found


def _check(note: str, link: str) -> None:
    """Refuse what would not be shown, or lead elsewhere than to a page of the web."""
    if len(note) > LONGEST_NOTE:
        raise SpecError(f"note: {len(note)} characters; write at most {LONGEST_NOTE}")
    try:
        parts = urlsplit(link)
    except ValueError:
        parts = urlsplit("")
    is_page = parts.scheme in ("http", "https") and bool(parts.netloc)
    if link and (not is_page or len(link) > LONGEST_LINK or not link.isprintable() or " " in link):
        raise SpecError(
            f"link {link[:80]!r}: write the address of an issue, with http:// or https://, of at "
            f"most {LONGEST_LINK} characters"
        )
    if "@" in parts.netloc:
        raise SpecError("link: write it without a login, which everybody could read")
