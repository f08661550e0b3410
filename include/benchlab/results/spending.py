"""What campaigns that rent hosts may cost and have cost, by month, and the vCPUs that they hold.

A campaign has one record from its registration on. Until it is given back, it holds the most that
it may cost; from then on, what it has cost. All of it counts in the month in which it registered.

Example:
    ``Month("2026-11", store.spending.of_month("2026-11")).spent`` is 412.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

import sqlalchemy as sa
from pydantic import TypeAdapter
from sqlalchemy.engine import Connection

from benchlab.results.rows import REVISIONS, SPENDING, as_json, moment, reading

_QUOTAS = TypeAdapter(dict[str, int])


@dataclass(frozen=True)
class Record:
    """What one campaign may cost and has cost, in dollars, and the vCPUs that it holds.

    Attributes:
        id: the campaign's; it may have been deleted since.
        month: in which it registered (UTC), such as ``2026-11``.
        until: when it ends by its plan.
        ended_at: when everything was given back; None: it may still rent.
        committed: the most that it may cost.
        spent: as of its last trial, or in the end.
        vcpus: of its planned hosts; None where they are not known.
        quotas: vCPUs by code of the account's quota that they count against in the region.
    """

    id: str
    report: str
    month: str
    begun_at: datetime
    until: datetime
    committed: float
    spent: float = 0.0
    region: str | None = None
    vcpus: int | None = None
    quotas: Mapping[str, int] = field(default_factory=dict)
    ended_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        """Whether it may still rent, or has not been given back."""
        return self.ended_at is None

    @property
    def held(self) -> float:
        """What it takes of its month's budget: at most while it is open, and then its cost."""
        return max(self.committed, self.spent) if self.is_open else self.spent

    @property
    def still_committed(self) -> float:
        """What it may cost beside what it has cost."""
        return self.held - self.spent


@dataclass(frozen=True)
class Month:
    """The records of a month, or some of them: ``Month("2026-11", records).spent``."""

    month: str
    records: tuple[Record, ...]

    @property
    def spent(self) -> float:
        """Dollars that its campaigns have cost."""
        return sum(one.spent for one in self.records)

    @property
    def committed(self) -> float:
        """Dollars that those still open may cost beside that."""
        return sum(one.still_committed for one in self.records)

    @property
    def open(self) -> tuple[Record, ...]:
        """Those that may still rent."""
        return tuple(one for one in self.records if one.is_open)


_RECORD = TypeAdapter(Record)


def month_of(at: datetime) -> str:
    """The month of a moment (UTC): ``2026-11``."""
    return f"{at.astimezone(UTC):%Y-%m}"


def vcpus_by_region(records: Iterable[Record]) -> dict[str, int]:
    """The vCPUs that open campaigns hold, by region; those of unknown hosts are left out."""
    held = Counter[str]()
    for one in records:
        if one.is_open and one.region is not None and one.vcpus is not None:
            held[one.region] += one.vcpus
    return dict(sorted(held.items()))


class Spendings:
    """The records of a store: ``store.spending.of_month("2026-11")``.

    Args:
        transaction: opens a connection to the store whose statements take effect together.
    """

    def __init__(self, transaction: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._transaction = transaction

    def begin(self, asked: Record, check: Callable[[Sequence[Record]], None]) -> None:
        """Record what a campaign holds from now on, if ``check`` lets it; one at a time.

        A campaign that is still open keeps its month and what it has spent.

        Args:
            check: is given the records of all others that are open or of the same month, and
                raises if the campaign may not begin beside them.
        """
        with self._transaction() as connection:
            # A row that all of them write first; nothing is read before, so that what another
            # process has just recorded is seen.
            connection.execute(REVISIONS.update().values(benchlab=REVISIONS.c.benchlab))
            counted = SPENDING.c.ended_at.is_(None) | (SPENDING.c.month == asked.month)
            known = _read(connection, counted | (SPENDING.c.id == asked.id), newest=True)
            before = next((one for one in known if one.id == asked.id), None)
            # What it holds already is not taken from it.
            if before is None or not before.is_open or before.committed < asked.committed:
                check([one for one in known if one.id != asked.id])
            values = {**asdict(asked), "spent": before.spent if before else 0.0}
            if before is not None and before.is_open:
                values |= {"month": before.month, "begun_at": before.begun_at}
            values |= {name: values[name].isoformat() for name in ("begun_at", "until")}
            values["quotas"] = as_json(asked.quotas)
            connection.execute(SPENDING.delete().filter_by(id=asked.id))
            connection.execute(SPENDING.insert().values(**values))

    def keep(self, campaign: str, dollars: float, region: str | None) -> None:
        """Note what a campaign has cost so far, and where; harmless where it has no record."""
        self._set(campaign, spent=dollars, region=region or SPENDING.c.region)

    def end(self, campaign: str, dollars: float | None = None) -> None:
        """Note that a campaign holds nothing any more; repeatable.

        Args:
            dollars: what it has cost; None: what was noted last.
        """
        cost = SPENDING.c.spent if dollars is None else dollars
        self._set(campaign, spent=cost, ended_at=datetime.now(UTC).isoformat())

    def of_month(self, month: str) -> tuple[Record, ...]:
        """The records of a month, the earliest first."""
        return self._found(SPENDING.c.month == month)

    def open(self) -> tuple[Record, ...]:
        """Those of all campaigns that may still rent, the earliest first."""
        return self._found(SPENDING.c.ended_at.is_(None))

    def _found(self, chosen: sa.ColumnElement[bool]) -> tuple[Record, ...]:
        with self._transaction() as connection:
            return tuple(_read(connection, chosen))

    def _set(self, campaign: str, **values: object) -> None:
        open_ = SPENDING.update().filter_by(id=campaign, ended_at=None)
        with self._transaction() as connection:
            connection.execute(open_.values(**values))


def _read(
    connection: Connection, chosen: sa.ColumnElement[bool], *, newest: bool = False
) -> list[Record]:
    """Records; ``newest``: as they are now, although the transaction began before."""
    in_order = sa.select(SPENDING).where(chosen).order_by(SPENDING.c.begun_at, SPENDING.c.id)
    if newest:  # TiDB's snapshot is of the first statement, before it waited for its turn
        in_order = in_order.with_for_update()
    found = []
    for row in connection.execute(in_order).mappings():
        with reading(f"campaign {row['id']}: its spending"):
            ended = None if row["ended_at"] is None else moment(row["ended_at"])
            times = {name: moment(row[name]) for name in ("begun_at", "until")}
            quotas = _QUOTAS.validate_json(row["quotas"])
            of = {**row, **times, "ended_at": ended, "quotas": quotas}
            found.append(_RECORD.validate_python(of))
    return found
