"""Every notifier sends an event once, and none twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from upath import UPath

from benchlab.report.notifications import notifiers
from benchlab.report.notifications.events import Event, Part
from benchlab.report.notifications.notifiers import EventKind, NotificationError, Notifier
from benchlab.results.store import Store

SLACK, MAIL = (
    Notifier(name=name, notifier="a.Notifier", arguments={"text": "{text}"})
    for name in ("slack", "mail")
)


def event(kind: EventKind = "regression", *marks: str, report: str | None = "weekly") -> Event:
    """An event with a part of one mark each."""
    parts = tuple(Part(mark, (mark,), ()) for mark in marks or ("c1/oltp_insert",))
    return Event(kind, report, "Found", parts)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Of the test's own."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path)) as opened:
        yield opened


class Told:
    """What went out, by notifier, and what was said about it.

    Attributes:
        broken: names of notifiers that fail, and how.
    """

    def __init__(self, store: Store | None, **broken: BaseException) -> None:
        self.store, self.broken = store, broken
        self.sent: list[tuple[str, list[str]]] = []
        self.said: list[tuple[str, str]] = []

    def send(self, notifier: Notifier, found: Event) -> None:
        """As a real one does: it raises where it cannot."""
        if notifier.name in self.broken:
            raise self.broken[notifier.name]
        self.sent.append((notifier.name, [part.title for part in found.parts]))

    def tell(self, found: Event, *by: Notifier) -> list[str]:
        """See :func:`benchlab.report.notifications.notifiers.tell`; returns the parts just sent."""
        before = len(self.sent)
        notifiers.tell(
            self.store, by or (SLACK,), found, self.send, lambda *words: self.said.append(words)
        )
        return [title for _, titles in self.sent[before:] for title in titles]


def test_a_task_that_runs_again_sends_nothing_again(store: Store) -> None:
    """Each notifier sends once; the campaign's progress says what was sent."""
    told = Told(store)
    for _ in range(3):
        told.tell(event(), SLACK, MAIL)
    assert told.sent == [("slack", ["c1/oltp_insert"]), ("mail", ["c1/oltp_insert"])]
    assert told.said == [("told", "regression to slack"), ("told", "regression to mail")]


def test_one_that_fails_stops_no_other_and_tries_again(store: Store) -> None:
    """When the task runs again, the one that had failed sends it, and it alone."""
    told = Told(store, slack=NotificationError("no route to host"))
    told.tell(event(), SLACK, MAIL)
    assert told.sent == [("mail", ["c1/oltp_insert"])]
    assert told.said[0] == ("failed", "regression to slack: no route to host")
    told.broken = {}
    told.tell(event(), SLACK, MAIL)
    assert told.sent[1:] == [("slack", ["c1/oltp_insert"])]


def test_an_unforeseen_error_stops_no_other(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """It is named without its text, which may contain anything, and the next try sends."""
    told = Told(store, slack=ZeroDivisionError("hunter22"))
    assert told.tell(event(), SLACK, MAIL) == ["c1/oltp_insert"]
    failed = "regression to slack: ZeroDivisionError; the log has the rest"
    assert told.said[0] == ("failed", failed)
    assert "Traceback" in caplog.text
    told.broken = {}
    assert told.tell(event()) == ["c1/oltp_insert"]


def test_a_process_that_is_ended_has_not_sent_it(store: Store) -> None:
    """As by Airflow, when a callback takes too long."""
    told = Told(store, slack=SystemExit())
    with pytest.raises(SystemExit):
        told.tell(event())
    told.broken = {}
    assert told.tell(event()) == ["c1/oltp_insert"]


def test_without_a_store_it_is_sent() -> None:
    """That it is out of reach may be what is to be told."""
    assert Told(None).tell(event("failed")) == ["c1/oltp_insert"]


def test_only_what_is_new_is_sent(store: Store) -> None:
    """A campaign that is carried on finds another workload with the same verdict."""
    told = Told(store)
    assert told.tell(event("regression", "c1/a")) == ["c1/a"]
    assert told.tell(event("regression", "c1/a", "c1/b")) == ["c1/b"]
    assert told.tell(event("unstable", "c1/a")) == ["c1/a"]


def places(*beside: tuple[str, str]) -> Event:
    """Change points, each between two campaigns."""
    parts = tuple(Part(marks[1], marks, ()) for marks in beside)
    return Event("change_point", "weekly", "Change point", parts)


def test_a_place_may_move_on_and_on(store: Store) -> None:
    """Each time by one campaign; but what was not sent yet is not recognized by where it was."""
    told = Told(store, slack=NotificationError("no route to host"))
    assert told.tell(places(("c4", "c5"))) == []
    told.broken = {}
    assert told.tell(places(("c5", "c6"))) == ["c6"]
    assert told.tell(places(("c6", "c7"))) == []
    assert told.tell(places(("c7", "c8"))) == []
    assert told.tell(places(("c9", "c10"))) == ["c10"]


def test_changes_side_by_side_are_both_sent(store: Store) -> None:
    """Found at once or one after the other, though they have a campaign in common."""
    told, first, second = Told(store), ("c9", "c10"), ("c10", "c11")
    assert told.tell(places(first, second)) == ["c10", "c11"]
    assert told.tell(places(first, second)) == []
    assert told.tell(places(first), MAIL) == ["c10"]
    told.broken = {"mail": NotificationError("no route to host")}
    assert told.tell(places(first, second), MAIL) == []
    told.broken = {}
    assert told.tell(places(first, second), MAIL) == ["c11"]


def test_marks_may_be_longer_than_any_database_can_index(store: Store) -> None:
    """Reasons of a failure are marks as well, and their ends count."""
    told = Told(store)
    for end in ("1", "2"):
        assert told.tell(event("failed", "x" * 100_000 + end))
        assert told.tell(event("failed", "x" * 100_000 + end)) == []
