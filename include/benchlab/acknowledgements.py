"""Change points that somebody has looked into, each with a note.

A place of change can move by a point or two when campaigns are added. So an acknowledgement is kept
for a campaign and a direction, and covers one change point of that direction nearby.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import sqlalchemy as sa

from benchlab.chain import Chain
from benchlab.change_points import ChangePoint
from benchlab.errors import StoreError
from benchlab.store import Store
from benchlab.store_rows import ACKNOWLEDGEMENTS

REACH = 2
"""How many points a change point may be away from its acknowledgement's campaign."""
_COLUMNS = ACKNOWLEDGEMENTS.c

Direction = Literal["up", "down"]


@dataclass(frozen=True)
class Acknowledgement:
    """That somebody has looked into a change point.

    Attributes:
        campaign: the first one after the change, when it was acknowledged.
        direction: of the throughput.
        note: what was found, as they wrote it.
        who: their account on the machine where they wrote it.
        at: when, UTC.
    """

    campaign: str
    workload: str
    direction: Direction
    note: str
    who: str
    at: datetime


def direction_of(found: ChangePoint) -> Direction:
    """Which way the throughput went."""
    return "up" if found.change > 0 else "down"


def covering(
    known: Iterable[Acknowledgement], chain: Chain, changes: Sequence[ChangePoint]
) -> list[Acknowledgement | None]:
    """The acknowledgement of each change point; None: it has none.

    Each covers one change point at most: that at its campaign, or else the nearest one that no
    nearer acknowledgement covers. What was said of a loss is not said of the next one.
    """
    place = {point.ratio.campaign: index for index, point in enumerate(chain.points)}
    pairs = sorted(
        (
            (abs(place[each.campaign] - found.index), number, each)
            for each in known
            for number, found in enumerate(changes)
            if each.campaign in place and each.direction == direction_of(found)
        ),
        key=lambda pair: (*pair[:2], pair[2].campaign),
    )
    covered: dict[int, Acknowledgement] = {}
    for distance, number, each in pairs:
        if distance <= REACH and number not in covered and each not in covered.values():
            covered[number] = each
    return [covered.get(number) for number in range(len(changes))]


@dataclass(frozen=True)
class Acknowledgements:
    """Those of one results store."""

    store: Store

    def add(self, campaign: str, workload: str, direction: Direction, note: str) -> Acknowledgement:
        """Keep one, in the place of what there was for this campaign and workload.

        Raises:
            StoreError: the store cannot be written, or has no such campaign.
        """
        made = Acknowledgement(campaign, workload, direction, note, _account(), datetime.now(UTC))
        row = {**vars(made), "at": made.at.isoformat()}
        try:
            with self.store.transaction() as connection:
                connection.execute(
                    ACKNOWLEDGEMENTS.delete().filter_by(campaign=campaign, workload=workload)
                )
                connection.execute(ACKNOWLEDGEMENTS.insert().values(**row))
        except sa.exc.IntegrityError as error:
            self.store.campaign(campaign)  # it is there, or the error is about it
            raise StoreError(
                f"{campaign}: somebody else acknowledges it just now; look at the history again"
            ) from error
        return made

    def take_back(self, campaign: str, workload: str) -> bool:
        """Forget one; returns whether there was one."""
        with self.store.transaction() as connection:
            gone = connection.execute(
                ACKNOWLEDGEMENTS.delete().filter_by(campaign=campaign, workload=workload)
            )
        return bool(gone.rowcount)

    def of(self, workload: str) -> tuple[Acknowledgement, ...]:
        """All of a workload, the earliest first."""
        with self.store.transaction() as connection:
            rows = connection.execute(
                sa.select(ACKNOWLEDGEMENTS).filter_by(workload=workload).order_by(_COLUMNS.at)
            ).all()
        return tuple(map(_of_row, rows))


def _of_row(row: Any) -> Acknowledgement:
    return Acknowledgement(**{**row._mapping, "at": datetime.fromisoformat(row.at)})


def _account() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # it has no name here, as in a container
        return f"user {os.getuid()}"
