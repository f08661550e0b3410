"""Every notifier reports an event once.

What each of them has sent is kept in the results store, so that a task that is tried again or
cleared sends nothing twice. The caller does the sending: under Airflow, with Airflow's notifiers::

    tell(Notices(store), notifiers, event, send=lambda notifier, event: ..., say=print)
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from benchlab.errors import BenchlabError, StoreError
from benchlab.report.notifications.events import Event, EventKind, Part
from benchlab.report.notifications.notifiers import Notifier
from benchlab.results.rows import NOTICES
from benchlab.results.store import Store

log = logging.getLogger(__name__)

MOST_PARTS = 20
"""A message has at most so many parts; more of them go into several messages."""
# A claim is tried so often while others claim the same.
_CLAIMS = 3
# After so long a claim is void: its process died before it recorded whether the message was sent.
ABANDONED = timedelta(minutes=10)

_COLUMNS = NOTICES.c


class NotificationError(BenchlabError):
    """A notifier could not report an event; the text names it, and has no secret in it."""


@dataclass(frozen=True)
class Notices:
    """What has been sent, in the results store."""

    store: Store

    def claim(self, notifier: Notifier, event: Event, now: datetime | None = None) -> Event | None:
        """The event with those parts that the notifier has yet to send; None: there are none.

        They are the caller's to send, and nobody else's, until it keeps or unclaims them.

        A part was sent if one of its marks was, unless that mark belongs to another part of the
        event all of whose marks were sent: of two changes side by side, one may be new. All marks
        of a part that was sent are kept, so that a change point may move and still be recognized.

        Args:
            now: with a time zone; None: the present.

        Raises:
            StoreError: the store cannot be reached, or others claim the same again and again.
        """
        at = (now or datetime.now(UTC)).astimezone(UTC)
        for _ in range(_CLAIMS):
            try:
                parts = self._claimed(notifier, event, at)
            except sa.exc.IntegrityError:
                continue  # somebody has just claimed the same: look again
            return replace(event, parts=parts) if parts else None
        raise StoreError(
            f"{event.kind} to {notifier.place}: {_CLAIMS} times others claimed it meanwhile; clear "
            "the task to try it again"
        )

    def keep(self, notifier: Notifier, event: Event) -> None:
        """Record that what was claimed has been sent."""
        with self.store.transaction() as connection:
            connection.execute(
                NOTICES.update()
                .where(_COLUMNS.key.in_(_keys(notifier, event)), _COLUMNS.told_at.is_(None))
                .values(told_at=datetime.now(UTC).isoformat())
            )

    def unclaim(self, notifier: Notifier, event: Event) -> None:
        """Record that what was claimed could not be sent; the next to claim it sends it."""
        with self.store.transaction() as connection:
            connection.execute(
                NOTICES.delete().where(
                    _COLUMNS.key.in_(_keys(notifier, event)), _COLUMNS.told_at.is_(None)
                )
            )

    def _claimed(self, notifier: Notifier, event: Event, at: datetime) -> tuple[Part, ...]:
        keys = [[_key(notifier, event.kind, mark) for mark in part.marks] for part in event.parts]
        ours = _COLUMNS.key.in_(_keys(notifier, event))
        abandoned = _COLUMNS.claimed_at < (at - ABANDONED).isoformat()
        with self.store.transaction() as connection:
            connection.execute(NOTICES.delete().where(ours, _COLUMNS.told_at.is_(None), abandoned))
            rows = connection.execute(sa.select(_COLUMNS.key, _COLUMNS.told_at).where(ours)).all()
            told_at: dict[str, str | None] = {row.key: row.told_at for row in rows}
            new = _unknown(keys, told_at.keys())
            added: dict[str, str | None] = {}
            for of_part, is_new in zip(keys, new, strict=True):
                if is_new:
                    added.update(dict.fromkeys(of_part))
                elif any(map(told_at.get, of_part)):  # not if only claimed: it may yet be unclaimed
                    added = {**dict.fromkeys(of_part, at.isoformat()), **added}
            now = at.isoformat()
            row = {"notifier": notifier.place[:255], "event": event.kind, "claimed_at": now}
            made = [
                {"key": key, "told_at": told, **row}
                for key, told in added.items()
                if key not in told_at
            ]
            if made:
                connection.execute(NOTICES.insert(), made)
        return tuple(part for part, is_new in zip(event.parts, new, strict=True) if is_new)


def tell(
    notices: Notices | None,
    notifiers: Sequence[Notifier],
    event: Event,
    send: Callable[[Notifier, Event], None],
    say: Callable[[str, str], None],
) -> None:
    """Send an event by every notifier that wants it, in messages of :data:`MOST_PARTS` parts.

    One that fails does not affect the others.

    Args:
        notices: None if the store cannot be reached; then an event may be sent twice.
        send: makes and sends one message; raises if it cannot.
        say: called with the outcome of each message: ``told`` or ``failed``, and a note.
    """
    for notifier in notifiers:
        if not notifier.wants(event):
            continue
        what = f"{event.kind} to {notifier.place}"
        with _guarded(what, say):
            claimed = notices.claim(notifier, event) if notices else event
            parts = claimed.parts if claimed else ()
            for first in range(0, len(parts), MOST_PARTS):
                some = replace(event, parts=parts[first : first + MOST_PARTS])
                with _guarded(what, say):
                    _send(notices, notifier, some, send)
                    say("told", what)


@contextlib.contextmanager
def _guarded(what: str, say: Callable[[str, str], None]) -> Iterator[None]:
    try:
        yield
    except BenchlabError as error:
        say("failed", f"{what}: {error}")
    except Exception as error:
        log.exception("%s", what)
        say("failed", f"{what}: {type(error).__name__}; the log has the rest")


def _send(
    notices: Notices | None,
    notifier: Notifier,
    event: Event,
    send: Callable[[Notifier, Event], None],
) -> None:
    sent = False
    try:
        send(notifier, event)
        sent = True
    finally:  # also if the process is told to end
        if notices:
            (notices.keep if sent else notices.unclaim)(notifier, event)


def _unknown(parts: Sequence[Collection[str]], there: Collection[str]) -> list[bool]:
    """Which parts nobody sent or claimed, by the keys of marks; see :meth:`Notices.claim`."""
    known = set(there)
    taken = {key for part in parts if known.issuperset(part) for key in part}
    return [not known.issuperset(part) and not (known - taken) & set(part) for part in parts]


def _keys(notifier: Notifier, event: Event) -> list[str]:
    return [_key(notifier, event.kind, mark) for part in event.parts for mark in part.marks]


def _key(notifier: Notifier, kind: EventKind, mark: str) -> str:
    """A mark of any length as a key that every database can index."""
    return hashlib.sha256(json.dumps([notifier.place, kind, mark]).encode()).hexdigest()
