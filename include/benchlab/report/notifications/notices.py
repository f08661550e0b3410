"""No notifier sends the same twice: what each has sent is kept in the results store.

A task that is tried again or cleared sends what could not be sent before. The caller does the
sending: under Airflow, with Airflow's notifiers::

    tell(store, notifiers, event, send=lambda notifier, event: ..., say=print)
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import sqlalchemy as sa

from benchlab.errors import BenchlabError
from benchlab.report.notifications.events import Event, Part
from benchlab.report.notifications.notifiers import Notifier
from benchlab.results.rows import NOTICES
from benchlab.results.store import Store

log = logging.getLogger(__name__)


class NotificationError(BenchlabError):
    """A notifier could not report an event; the text names it, and has no secret in it."""


def tell(
    store: Store | None,
    notifiers: Sequence[Notifier],
    event: Event,
    send: Callable[[Notifier, Event], None],
    say: Callable[[str, str], None],
) -> None:
    """Send an event by every notifier that wants it and has not sent it; none affects another.

    Args:
        store: None if it cannot be reached; then an event may be sent twice.
        send: sends one message; raises if it cannot.
        say: called with the outcome of each message: ``told`` or ``failed``, and a note.
    """
    for notifier in notifiers:
        what = f"{event.kind} to {notifier.name}"
        try:
            new = _unsent(store, notifier, event) if notifier.wants(event) else ()
            if new:
                send(notifier, replace(event, parts=new))
                _keep(store, notifier, event)
                say("told", what)
        except BenchlabError as error:
            say("failed", f"{what}: {error}")
        except Exception as error:
            log.exception("%s", what)
            say("failed", f"{what}: {type(error).__name__}; the log has the rest")


def _unsent(store: Store | None, notifier: Notifier, event: Event) -> tuple[Part, ...]:
    """The parts that the notifier has yet to send.

    A part was sent if one of its marks was, unless that mark belongs to another part of the event
    all of whose marks were sent: of two changes side by side, one may be new.
    """
    keys = {part: _keys(notifier, event, part) for part in event.parts}
    sent = _sent(store, set().union(*keys.values()))
    whole = set().union(*(of_part for of_part in keys.values() if of_part <= sent))
    new = tuple(part for part, of in keys.items() if not of <= sent and not (sent - whole) & of)
    if not new:  # a change point that has moved is recognized where it is now, too
        _keep(store, notifier, event)
    return new


def _keep(store: Store | None, notifier: Notifier, event: Event) -> None:
    keys = set().union(*(_keys(notifier, event, part) for part in event.parts))
    row = {"notifier": notifier.name, "event": event.kind, "told_at": datetime.now(UTC).isoformat()}
    if store and (new := keys - _sent(store, keys)):
        with store.transaction() as connection:
            connection.execute(NOTICES.insert(), [{"key": key, **row} for key in sorted(new)])


def _sent(store: Store | None, keys: set[str]) -> set[str]:
    if store is None:
        return set()
    with store.transaction() as connection:
        asked = sa.select(NOTICES.c.key).where(NOTICES.c.key.in_(keys))
        return set(connection.execute(asked).scalars())


def _keys(notifier: Notifier, event: Event, part: Part) -> set[str]:
    """Marks of any length, as keys that every database can index."""
    return {
        hashlib.sha256(json.dumps([notifier.name, event.kind, mark]).encode()).hexdigest()
        for mark in part.marks
    }
