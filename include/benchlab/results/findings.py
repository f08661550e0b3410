"""Findings: each change of one workload of one report type, once, and what people say of it.

A change that lasts is shown by one campaign after the other, in several metrics. It is one finding
all the same: campaigns that compare the same two versions belong to it, and so do those that
compare another candidate with the same baseline. With ``design: watch`` a confirmed change becomes
the known level, so that a further verdict is a further change, and only the same two versions
belong together.

Findings follow from stored verdicts; what people say is appended to their history. A finding that
no campaign shows any more is not listed; it is again, with its history, once one compares what its
first campaign did. One that is new or known is closed by a later campaign that shows it gone.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, get_args

import sqlalchemy as sa
from pydantic import TypeAdapter
from sqlalchemy.engine import Connection

from benchlab.errors import SpecError, StoreError
from benchlab.plan import versions
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.kept import key_of
from benchlab.results.listing import batches, by_id
from benchlab.results.records import Campaign, CampaignSummary, StoredVerdict
from benchlab.results.rows import (
    CAMPAIGNS,
    FINDING_CAMPAIGNS,
    FINDING_ENTRIES,
    FINDINGS,
    VERDICTS,
    moment,
    reading,
)

FindingState = Literal["new", "known", "wanted", "fixed", "noise"]
"""``new``: nobody has judged it; ``known``: real and explained; ``wanted``: intended or accepted;
``fixed``: reverted or mended; ``noise``: wrong."""
STATES: tuple[FindingState, ...] = get_args(FindingState)
JUDGED = STATES[1:]
QUIET: tuple[FindingState, ...] = ("known", "wanted")
"""Further campaigns with such a finding are no news, unless it became larger."""
LONGEST_NOTE, LONGEST_LINK = 500, 500
Direction = Literal["worse", "better"]
Design = Literal["fixed", "watch", "release"]
DIRECTIONS: Mapping[str, Direction] = {"regression": "worse", "improvement": "better"}
# A page of the web, without a login in its address.
_LINK = re.compile(r"https?://[\w.-]+(:\d+)?([/?#]\S*)?")


@dataclass(frozen=True)
class Entry:
    """What was said of a finding at one time; note and link may be empty.

    Attributes:
        by: a person's login name; empty where a campaign showed the change again, or gone.
        campaign: that campaign, which closed it if the state is ``fixed``; None: a person said it.
    """

    state: FindingState
    by: str
    at: datetime
    note: str = ""
    link: str = ""
    campaign: str | None = None


@dataclass(frozen=True)
class Finding:
    """A change, the campaigns that show it, and its history, each the earliest first.

    Attributes:
        id: a number that stays.
        direction: that of the throughput where it changed, else of latency, else of counts.
        first, newest: the first and the last of the campaigns.
    """

    id: int
    report: str
    workload: str
    direction: Direction
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
        own = (one for one in self.newest.verdicts if one.workload == self.workload)
        return [one for one in own if one.verdict in DIRECTIONS]


class Judgement(NamedTuple):
    """A finding without its campaigns, for counting; ``state``: before a campaign closed it."""

    report: str
    workload: str
    direction: Direction
    design: Design
    state: FindingState


@dataclass(frozen=True)
class Sought:
    """A filter: findings that match every field; None and ``()`` match all.

    Example: ``Sought(workload="tpcc", states=("new",))``

    Attributes:
        reports: the report types allowed, for a reader who may not see the others.
        campaign: one that shows them.
    """

    report: str | None = None
    reports: Collection[str] | None = None
    workload: str | None = None
    states: tuple[FindingState, ...] = ()
    direction: Direction | None = None
    campaign: str | None = None

    def conditions(self) -> Iterator[sa.ColumnElement[bool]]:
        """SQL conditions on findings."""
        for name in ("report", "workload", "direction"):
            if (value := getattr(self, name)) is not None:
                yield FINDINGS.c[name] == value
        if self.campaign is not None:
            yield FINDING_CAMPAIGNS.c.campaign == self.campaign
        if self.reports is not None:
            yield FINDINGS.c.report.in_(sorted(self.reports))
        if self.states:
            yield _STATE.in_(self.states)


ALL = Sought()
_ENTRY, _FINDING = TypeAdapter(Entry), TypeAdapter(Finding)
_JUDGEMENTS = TypeAdapter(list[Judgement])
_LINKED = FINDINGS.join(FINDING_CAMPAIGNS, FINDING_CAMPAIGNS.c.finding == FINDINGS.c.id)
_SHOWN = _LINKED.join(CAMPAIGNS, CAMPAIGNS.c.id == FINDING_CAMPAIGNS.c.campaign)
# The state of a finding: that of its last entry.
_LAST = sa.select(FINDING_ENTRIES.c.state).where(FINDING_ENTRIES.c.finding == FINDINGS.c.id)
_LAST = _LAST.order_by(FINDING_ENTRIES.c.id.desc()).limit(1).correlate(FINDINGS)
_STATE = sa.func.coalesce(_LAST.scalar_subquery(), "new")
# That a change is gone does not say whether it was right.
_CLOSES = (FINDING_ENTRIES.c.state == "fixed") & FINDING_ENTRIES.c.campaign.is_not(None)
_JUDGED = sa.func.coalesce(_LAST.where(~_CLOSES).scalar_subquery(), "new")


class Findings:
    """The findings of a store: ``store.findings.found(Sought(states=("new",)))[0].changes``.

    Args:
        transaction: opens a connection to the store whose statements take effect together.
    """

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def found(self, sought: Sought = ALL, limit: int | None = None) -> list[Finding]:
        """The findings, those that a campaign showed last first; at most ``limit``.

        Raises:
            StoreError: one cannot be read.
        """
        newest = sa.func.max(CAMPAIGNS.c.started_at)
        asked = sa.select(FINDINGS.c.id).select_from(_SHOWN).where(*sought.conditions())
        in_order = asked.group_by(FINDINGS.c.id).order_by(newest.desc(), FINDINGS.c.id.desc())
        with self._transaction() as connection:
            ids = list(connection.scalars(in_order.limit(limit)))
            return [one for some in batches(ids) for one in _read(connection, some)]

    def finding(self, number: int) -> Finding:
        """One finding.

        Raises:
            StoreError: no campaign shows one with this number, or it cannot be read.
        """
        with self._transaction() as connection:
            for found in _read(connection, [number]):
                return found
        raise StoreError(f"no campaign shows a finding {number}; see `benchlab findings --all`")

    def judgements(self, sought: Sought = ALL) -> list[Judgement]:
        """What people say of each of these findings, without reading its campaigns."""
        of = (FINDINGS.c[name] for name in Judgement._fields[:-1])
        asked = sa.select(FINDINGS.c.id, *of, _JUDGED.label("state")).select_from(_LINKED)
        with self._transaction() as connection:
            rows = connection.execute(asked.where(*sought.conditions()).distinct()).all()
        with reading("findings"):
            return _JUDGEMENTS.validate_python([row[1:] for row in rows])

    def mark(
        self, number: int, state: FindingState, by: str, note: str = "", link: str = ""
    ) -> Finding:
        """Say what a finding is: ``store.findings.mark(7, "known", "ann", "a new default")``.

        Raises:
            SpecError: ``link`` is no address of a page.
            StoreError: as :meth:`finding`.
        """
        if link and (len(link) > LONGEST_LINK or not _LINK.fullmatch(link)):
            how = f"an address with http:// or https:// and without a login, of {LONGEST_LINK}"
            raise SpecError(f"link {link[:9]!r}...: write {how} characters at most")
        self.finding(number)
        return self._say(number, Entry(state, by, datetime.now(UTC), note, link))

    def take_back(self, number: int, by: str) -> Finding:
        """Take back the last change of a finding's state; its history keeps both.

        Raises:
            SpecError: nothing has been said of it.
            StoreError: as :meth:`finding`.
        """
        history = self.finding(number).history
        if not history:
            raise SpecError(f"finding {number}: nobody has judged it; nothing to take back")
        now = datetime.now(UTC)
        before = history[-2] if len(history) > 1 else Entry("new", "", now)
        return self._say(number, Entry(before.state, by, now, before.note, before.link))

    def _say(self, number: int, entry: Entry) -> Finding:
        with self._transaction() as connection:
            _append(connection, number, entry)
        return self.finding(number)

    @contextmanager
    def in_turn(self, report: str) -> Iterator[Connection]:
        """A transaction in which no other process records findings of a report type."""
        first = sa.select(sa.func.min(CAMPAIGNS.c.id)).where(CAMPAIGNS.c.report == report)
        with self._transaction() as connection:
            named = connection.scalar(first)
        with self._transaction() as connection:
            # A row that all of them write first; nothing is read before, so that what another
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
        # By workload, the first metric that changed.
        changed: dict[str, StoredVerdict] = {}
        shows_none = campaign.is_aa or campaign.plan.slowdown_pct or campaign.is_reproduction
        for one in () if shows_none else verdicts:
            if one.verdict in DIRECTIONS:
                changed.setdefault(one.workload, one)
        before = sa.select(FINDINGS).select_from(_SHOWN).where(CAMPAIGNS.c.id == campaign.id)
        for row in connection.execute(before).all():
            own = {"finding": row.id, "campaign": campaign.id}
            now = changed.get(row.workload)
            if now and DIRECTIONS[now.verdict] == row.direction:
                del changed[row.workload]
            else:
                connection.execute(FINDING_CAMPAIGNS.delete().filter_by(**own))
                connection.execute(FINDING_ENTRIES.delete().filter_by(**own).where(~_CLOSES))
        if len(campaign.plan.sides) < len(SIDES):
            return
        pair = _compared(campaign)
        _close(connection, campaign, () if shows_none else verdicts, pair["baseline"])
        for one in changed.values():
            number = _joined(connection, campaign, one, pair)
            last = _history(connection, [number])[number][-1:]
            # A campaign from before that was said shows nothing again.
            if last and campaign.at > _as_of(connection, last[0]):
                is_shown_again = last[0].state in ("fixed", "noise")
                is_larger = last[0].state != "new" and _is_larger(connection, number, one)
                if is_shown_again or is_larger:
                    again = Entry("new", "", datetime.now(UTC), campaign=campaign.id)
                    _append(connection, number, again)
            connection.execute(
                FINDING_CAMPAIGNS.insert().values(finding=number, campaign=campaign.id, **pair)
            )


def _joined(
    connection: Connection, campaign: Campaign, change: StoredVerdict, pair: Mapping[Side, str]
) -> int:
    """The number of the finding that a campaign's change belongs to; of a new one where none is."""
    report, design = campaign.plan.report, campaign.report_type.design
    direction = DIRECTIONS[change.verdict]
    fields = {"report": report, "workload": change.workload, "direction": direction}
    key = key_of(*fields.values(), *pair.values())
    links = FINDINGS.outerjoin(FINDING_CAMPAIGNS, FINDING_CAMPAIGNS.c.finding == FINDINGS.c.id)
    of = (FINDINGS.c.id, FINDINGS.c.key, *(FINDING_CAMPAIGNS.c[side] for side in SIDES))
    there = sa.select(*of, _STATE.label("state")).select_from(links).filter_by(**fields)
    rows = connection.execute(there.order_by(FINDINGS.c.id.desc())).all()
    both = tuple(pair.values())
    same = [row.id for row in rows if row.key == key or (row.baseline, row.candidate) == both]
    if not same and design != "watch":
        # What was noise with one candidate need not be so with the next.
        own = pair["baseline"]
        same = [row.id for row in rows if row.baseline == own and row.state != "noise"]
    if same:
        return int(same[0])
    connection.execute(FINDINGS.insert().values(**fields, design=design, key=key))
    return int(connection.execute(sa.select(FINDINGS.c.id).filter_by(key=key)).scalar_one())


def _close(
    connection: Connection, campaign: Campaign, verdicts: Sequence[StoredVerdict], baseline: str
) -> None:
    """Close the findings that a campaign shows gone, of a later candidate with the same baseline,
    and open again what it closed and no longer shows gone.
    """
    closing = (FINDING_ENTRIES.c.campaign == campaign.id) & _CLOSES
    closed = set(connection.scalars(sa.select(FINDING_ENTRIES.c.finding).where(closing)))
    is_open = _STATE.in_(("new", "known")) | FINDINGS.c.id.in_(closed)
    of = (CAMPAIGNS.c.id.label("campaign"), CAMPAIGNS.c.started_at, CAMPAIGNS.c.planned_for)
    asked = sa.select(FINDINGS, *of).select_from(_SHOWN).where(is_open)
    asked = asked.where(FINDING_CAMPAIGNS.c.baseline == baseline)
    # A bridge between two anchors has another design than its watch.
    alike = {"report": campaign.plan.report, "design": campaign.report_type.design}
    same = (FINDINGS.c[name] == value for name, value in alike.items())
    rows = connection.execute(asked.where(*same)).all()
    later = {row.id for row in rows if _at(row) >= campaign.at}
    before = [row for row in rows if _at(row) < campaign.at]
    shown = dict[int, sa.Row[Any]]()
    for row in sorted(before, key=_at, reverse=True):
        shown.setdefault(row.id, row)
    if alike["design"] == "watch":
        # What changed back is what changed last; earlier changes stay.
        last_of = {(row.workload, row.direction): row for row in reversed(shown.values())}
        shown = {row.id: row for row in last_of.values()}
    gone = {
        number
        for number, row in shown.items()
        if _is_gone(connection, row, verdicts) and _is_after(connection, campaign, row.campaign)
    }
    for number in closed & {row.id for row in before} - gone:
        mine = FINDING_ENTRIES.c.finding == number
        connection.execute(FINDING_ENTRIES.delete().where(closing & mine))
    for number in sorted(gone - closed - later):
        last = _history(connection, [number])[number][-1:]
        if not last or campaign.at > _as_of(connection, last[0]):
            entry = Entry("fixed", "", datetime.now(UTC), campaign=campaign.id)
            _append(connection, number, entry)


def _is_gone(connection: Connection, shown: sa.Row[Any], verdicts: Sequence[StoredVerdict]) -> bool:
    """Whether nothing of a workload changed the finding's way, and what did is back.

    Args:
        shown: the finding's row, with the last campaign that shows it.
        verdicts: of a later campaign.
    """
    now = {one.metric: one for one in verdicts if one.workload == shown.workload}
    if any(DIRECTIONS.get(one.verdict) == shown.direction for one in now.values()):
        return False
    own = sa.select(VERDICTS).filter_by(campaign=shown.campaign, workload=shown.workload)
    changes = [
        (row, now.get(row.metric))
        for row in connection.execute(own)
        if DIRECTIONS.get(row.verdict) == shown.direction
    ]
    # With a watch, equivalent to the level that the change led to.
    enough = () if shown.design == "watch" else ("equivalent", *DIRECTIONS)
    return bool(changes) and all(
        one is not None and (one.verdict in enough or _is_undone(row, one)) for row, one in changes
    )


def _is_after(connection: Connection, campaign: Campaign, other: str) -> bool:
    """Whether a campaign's candidate is a later one than another campaign's, set up alike."""
    asked = sa.select(CAMPAIGNS.c.plan).filter_by(id=other)
    with reading("the plan of a campaign"):
        before = json.loads(connection.execute(asked).scalar_one())["sides"]["candidate"]
    now = campaign.plan.sides["candidate"].model_dump(mode="json")
    set_up = now.keys() - {"version", "builds"}
    later = versions.order(before["version"])[:2] <= versions.order(now["version"])[:2]
    return later and before != now and all(before.get(name) == now[name] for name in set_up)


def _is_undone(change: sa.Row[Any], now: StoredVerdict) -> bool:
    """Whether a change from the level that an earlier one led to may be all the way back."""
    if now.verdict not in DIRECTIONS or now.ci95_pct is None or change.estimate_pct is None:
        return False
    if change.estimate_pct <= -100:
        return False
    whole, (low, high) = 100 * (100 / (100 + change.estimate_pct) - 1), now.ci95_pct
    return bool(high >= whole if whole > 0 else low <= whole)


def _at(row: sa.Row[Any]) -> datetime:
    """:attr:`benchlab.results.records.Campaign.at` of a row of campaigns."""
    with reading("the time of a campaign"):
        return moment(row.planned_for or row.started_at)


def _as_of(connection: Connection, said: Entry) -> datetime:
    """When something was said; where a campaign said it, the time of the campaign."""
    if said.campaign is None:
        return said.at
    return _at(connection.execute(sa.select(CAMPAIGNS).filter_by(id=said.campaign)).one())


def _compared(campaign: Campaign) -> dict[Side, str]:
    """What a campaign compares: a hash of each side, its version, builds and parameters."""
    planned = {side: campaign.plan.sides[side].model_dump(mode="json") for side in SIDES}
    return {side: key_of(json.dumps(one, sort_keys=True)) for side, one in planned.items()}


def _is_larger(connection: Connection, number: int, now: StoredVerdict) -> bool:
    """Whether a change is larger than the newest campaign of its finding showed, beyond doubt."""
    same = {name: getattr(now, name) for name in ("workload", "metric", "verdict")}
    of = FINDING_CAMPAIGNS.c.campaign == VERDICTS.c.campaign
    shown = VERDICTS.join(FINDING_CAMPAIGNS, of).join(CAMPAIGNS)
    asked = sa.select(VERDICTS.c.low_pct, VERDICTS.c.high_pct).select_from(shown)
    asked = asked.where(FINDING_CAMPAIGNS.c.finding == number).filter_by(**same)
    in_order = asked.order_by(CAMPAIGNS.c.started_at.desc()).limit(1)
    before = connection.execute(in_order).first()
    if before is None or before.low_pct is None or now.low_pct is None or now.high_pct is None:
        return False
    if now.low_pct > 0:
        return bool(now.low_pct > before.high_pct)
    return bool(now.high_pct < before.low_pct)


def _append(connection: Connection, number: int, entry: Entry) -> None:
    row = {**vars(entry), "at": entry.at.isoformat(), "finding": number}
    connection.execute(FINDING_ENTRIES.insert().values(**row))


def _read(connection: Connection, numbers: Sequence[int]) -> Iterator[Finding]:
    """These findings, in the same order; without those that no campaign shows."""
    asked = sa.select(FINDINGS).where(FINDINGS.c.id.in_(numbers))
    rows = {row.id: row for row in connection.execute(asked)}
    of = (FINDING_CAMPAIGNS.c.finding, CAMPAIGNS.c.id)
    links = sa.select(*of).select_from(_SHOWN).where(FINDINGS.c.id.in_(numbers))
    campaigns: defaultdict[int, list[str]] = defaultdict(list)
    for link in connection.execute(links.order_by(CAMPAIGNS.c.started_at, CAMPAIGNS.c.id)):
        campaigns[link.finding].append(link.id)
    ends = {end for shown in campaigns.values() for end in (shown[0], shown[-1])}
    summaries, history = by_id(connection, sorted(ends)), _history(connection, numbers)
    for number in (one for one in numbers if campaigns[one]):
        shown, told = campaigns[number], {"history": history[number]}
        with reading(f"finding {number}"):
            ends_of = {"first": summaries[shown[0]], "newest": summaries[shown[-1]]}
            found = {**rows[number]._mapping, **ends_of, **told, "campaigns": shown}
            made = _FINDING.validate_python(found)
        yield made


def _history(connection: Connection, numbers: Sequence[int]) -> Mapping[int, list[Entry]]:
    entries = FINDING_ENTRIES.select().where(FINDING_ENTRIES.c.finding.in_(numbers))
    found: defaultdict[int, list[Entry]] = defaultdict(list)
    for row in connection.execute(entries.order_by(FINDING_ENTRIES.c.id)):
        with reading(f"finding {row.finding}: its history"):
            told = {**row._mapping, "at": moment(row.at)}
            found[row.finding].append(_ENTRY.validate_python(told))
    return found
