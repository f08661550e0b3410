"""Who is notified of which events: ``configs/notifications.yaml``.

>>> [notifier.name for notifier in load(home.notifications, reports=["sysbench_ec2"])]
['the performance channel']

No notifier sends the same event twice: the store keeps what each has sent. A task that is retried
or cleared sends what could not be sent before. The caller does the sending; under Airflow, it uses
Airflow's notifiers::

    tell(store, notifiers, event, send=lambda notifier, event: ..., say=print)
"""

from __future__ import annotations

import hashlib
import html
import json
import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import sqlalchemy as sa
from pydantic import BaseModel, ConfigDict, Field

from benchlab.bounded import read_text
from benchlab.errors import BenchlabError, SpecError
from benchlab.plan import documents
from benchlab.plan.documents import Name
from benchlab.results.rows import NOTICES
from benchlab.results.store import Store

if TYPE_CHECKING:
    from benchlab.report.notifications.events import Event, Part

log = logging.getLogger(__name__)

EventKind = Literal[
    "regression", "improvement", "dearer", "cheaper", "unstable", "inconclusive", "change_point",
    "drift", "canary_missed", "approval", "failed", "fleet_reaped",
]  # fmt: skip
KINDS: tuple[EventKind, ...] = get_args(EventKind)
# Sent by default: what is better calls for no action, and an inconclusive verdict is frequent.
TOLD: tuple[EventKind, ...] = tuple(
    kind for kind in KINDS if kind not in ("improvement", "cheaper", "inconclusive")
)


class Notifier(BaseModel):
    """One of Airflow's notifiers, and the events it is used for.

    Attributes:
        name: identifies it in the record of what was sent.
        notifier: the import path of its class.
        arguments: those of the class; ``{subject}``, ``{text}`` and ``{escaped}`` are replaced in
            their texts.
        reports: report types it is used for; None: all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(pattern=r"^\S.*$", max_length=80)]
    notifier: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)+$")]
    arguments: dict[str, Any]
    events: Annotated[tuple[EventKind, ...], Field(min_length=1)] = TOLD
    reports: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None

    def wants(self, event: Event) -> bool:
        """Whether it sends this event; events without a report type match any ``reports``."""
        ours = self.reports is None or event.report is None or event.report in self.reports
        return ours and event.kind in self.events

    def saying(self, subject: str, text: str) -> dict[str, Any]:
        """The arguments with a message in them; ``escaped`` is its text for HTML and Slack."""
        texts = {"subject": subject, "text": text, "escaped": html.escape(text, quote=False)}
        return {
            name: value.format_map(texts) if isinstance(value, str) else value
            for name, value in self.arguments.items()
        }

    def fault(self) -> str | None:
        """What is wrong with the arguments; None if nothing is."""
        try:
            values = self.saying("", "")
        except (LookupError, ValueError, AttributeError) as error:
            return f"no text that can be filled in: {error}; write {{{{ for a brace"
        if values == self.arguments:
            return "none has {subject}, {text} or {escaped} in it"
        return None


class Notifications(BaseModel):
    """The contents of ``configs/notifications.yaml``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    notifiers: tuple[Notifier, ...] = ()


def load(path: Path, reports: Collection[str]) -> tuple[Notifier, ...]:
    """Read the notifiers of an installation; none if there is no such file.

    Args:
        reports: the names of all report types.

    Raises:
        SpecError: the file cannot be read, is invalid, or names an unknown report type; the text
            names file and field.
    """
    if not path.exists():
        return ()
    raw = documents.from_yaml(read_text(path), str(path))
    found = documents.validated(Notifications, {} if raw is None else raw, str(path)).notifiers
    names = [notifier.name for notifier in found]
    for number, notifier in enumerate(found):
        at = f"{path}: notifiers.{number}"
        if names.index(notifier.name) < number:
            raise SpecError(f"{at}.name: {notifier.name} occurs twice")
        if fault := notifier.fault():
            raise SpecError(f"{at}.arguments: {fault}")
        if unknown := [name for name in notifier.reports or () if name not in reports]:
            raise SpecError(
                f"{at}.reports: unknown: {', '.join(unknown)}; report types: "
                f"{', '.join(sorted(reports)) or 'none'}"
            )
    return found


class NotificationError(BenchlabError):
    """A notifier could not send an event; the text names the notifier and contains no secret."""


def tell(
    store: Store | None,
    notifiers: Sequence[Notifier],
    event: Event,
    send: Callable[[Notifier, Event], None],
    say: Callable[[str, str], None],
) -> None:
    """Send an event with every notifier that wants it and has not sent it yet.

    A notifier that fails does not affect the others.

    Args:
        store: None if it cannot be reached; an event may then be sent twice.
        send: sends one message, or raises.
        say: is called for each message sent or failed, with ``told`` or ``failed`` and a note.
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
    """The parts that the notifier has not sent yet.

    A part counts as sent if one of its marks was. A mark it shares with another part does not
    count if that part was sent with all its marks: of two adjacent changes, one may be new.
    """
    keys = {part: _keys(notifier, event, part) for part in event.parts}
    sent = _sent(store, set().union(*keys.values()))
    whole = set().union(*(of_part for of_part in keys.values() if of_part <= sent))
    new = tuple(part for part, of in keys.items() if not of <= sent and not (sent - whole) & of)
    if not new:  # records the new place of a change point that moved
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
    """The marks of a part as hashes: keys short enough for an index in every database."""
    return {
        hashlib.sha256(json.dumps([notifier.name, event.kind, mark]).encode()).hexdigest()
        for mark in part.marks
    }
