"""Every notifier tells of an event once.

What each of them has told is kept in the results store, so that a task that is tried again or
cleared tells nothing twice. Sending is the caller's: under Airflow its own notifiers do it.
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
from benchlab.report.notifications.events import MOST_PARTS, Event, EventKind, Part
from benchlab.report.notifications.notifiers import Notifier
from benchlab.results.rows import NOTICES
from benchlab.results.store import Store

log = logging.getLogger(__name__)

# So often a claim is tried where others claim the same at the same time.
_CLAIMS = 3
# A claim whose process died before it could say whether the message went out.
ABANDONED = timedelta(minutes=10)

_COLUMNS = NOTICES.c


class NotificationError(BenchlabError):
    """A notifier could not tell of an event; the text names it, and has no secret in it."""


@dataclass(frozen=True)
class Notices:
    """What has been told, in the results store."""

    store: Store

    def claim(self, notifier: Notifier, event: Event, now: datetime | None = None) -> Event | None:
        """The event with those parts that the notifier has yet to tell of; None: with none.

        They are the caller's to tell, and nobody else's, until it keeps or unclaims them.

        A part was told where one of its marks was, unless that is the mark of another part of the
        event that was told with all of its own: of two changes side by side, one may be new. Of a
        part that was told all marks are kept, so that a place may move on and be known.

        Args:
            now: with a time zone; None: the present.

        Raises:
            StoreError: the store is out of reach, or others claim the same again and again.
        """
        at = (now or datetime.now(UTC)).astimezone(UTC)
        for _ in range(_CLAIMS):
            try:
                parts = self._claimed(notifier, event, at)
            except sa.exc.IntegrityError:
                continue  # somebody claims the same just now; what they have is there now
            return replace(event, parts=parts) if parts else None
        raise StoreError(
            f"{event.kind} to {notifier.place}: {_CLAIMS} times others claimed it meanwhile; clear "
            "the task to try it again"
        )

    def keep(self, notifier: Notifier, event: Event) -> None:
        """What was claimed has been told."""
        with self.store.transaction() as connection:
            connection.execute(
                NOTICES.update()
                .where(_COLUMNS.key.in_(_keys(notifier, event)), _COLUMNS.told_at.is_(None))
                .values(told_at=datetime.now(UTC).isoformat())
            )

    def unclaim(self, notifier: Notifier, event: Event) -> None:
        """What was claimed could not be told; whoever claims it next tells it."""
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
            for each, is_new in zip(keys, new, strict=True):
                if is_new:
                    added.update(dict.fromkeys(each))
                elif any(map(told_at.get, each)):  # else it may yet be unclaimed, and these not
                    added = {**dict.fromkeys(each, at.isoformat()), **added}
            row = {
                "notifier": notifier.place[:255],
                "event": event.kind,
                "claimed_at": at.isoformat(),
            }
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
    """Let every notifier that wants an event tell of it; one that fails keeps no other from it.

    An event of more than :data:`~benchlab.report.notifications.events.MOST_PARTS` parts is several
    messages.

    Args:
        notices: None where the store is out of reach; then an event may be told twice.
        send: makes and sends one message; raises where it cannot.
        say: is told of each message: ``told`` or ``failed``, and a note.
    """
    for notifier in notifiers:
        if not notifier.wants(event):
            continue
        what = f"{event.kind} to {notifier.place}"
        with _guarded(what, say):
            claimed = notices.claim(notifier, event) if notices else event
            for some in _messages(claimed) if claimed else ():
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


def _messages(event: Event) -> Iterator[Event]:
    for begin in range(0, len(event.parts), MOST_PARTS):
        yield replace(event, parts=event.parts[begin : begin + MOST_PARTS])


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
    finally:  # also where the process is asked to end
        if notices:
            (notices.keep if sent else notices.unclaim)(notifier, event)


def _unknown(parts: Sequence[Collection[str]], there: Collection[str]) -> list[bool]:
    """Which parts were not told, by the keys of their marks; see :meth:`Notices.claim`."""
    known = set(there)
    taken = {key for each in parts if known.issuperset(each) for key in each}
    return [not known.issuperset(each) and not (known - taken) & set(each) for each in parts]


def _keys(notifier: Notifier, event: Event) -> list[str]:
    return [_key(notifier, event.kind, mark) for part in event.parts for mark in part.marks]


def _key(notifier: Notifier, kind: EventKind, mark: str) -> str:
    """Of any length a mark is a key that every database can index."""
    return hashlib.sha256(json.dumps([notifier.place, kind, mark]).encode()).hexdigest()
