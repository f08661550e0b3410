"""Every notifier sends an event once, and none twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from upath import UPath

from benchlab.report.notifications import notices as notifications
from benchlab.report.notifications.events import Event, EventKind, Part
from benchlab.report.notifications.notices import (
    ABANDONED,
    MOST_PARTS,
    Notices,
    NotificationError,
)
from benchlab.report.notifications.notifiers import Notifier, Slack, Smtp
from benchlab.results.store import Store

NOW = datetime(2024, 3, 1, tzinfo=UTC)
SLACK = Slack(by="slack", connection="slack_api_default", channel="#perf")
MAIL = Smtp(by="smtp", connection="smtp_default", to=("a@example.com",))


def event(kind: EventKind = "regression", *marks: str, report: str | None = "weekly") -> Event:
    """An event with a part of one mark each."""
    parts = tuple(Part(mark, (mark,)) for mark in marks or ("c1/oltp_insert",))
    return Event(kind, report, "c1", parts)


@pytest.fixture
def notices(tmp_path: Path) -> Iterator[Notices]:
    """Of a store of the test's own."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path)) as store:
        yield Notices(store)


class Told:
    """What went out, by notifier, and what was said about it.

    Attributes:
        broken: places of notifiers that fail.
    """

    def __init__(self, notices: Notices, *broken: str) -> None:
        self.notices, self.broken = notices, broken
        self.sent: list[tuple[str, list[str]]] = []
        self.said: list[tuple[str, str]] = []

    def send(self, notifier: Notifier, found: Event) -> None:
        """As a real one does: it raises where it cannot."""
        if notifier.place in self.broken:
            raise NotificationError("no route to host")
        self.sent.append((notifier.by, [part.name for part in found.parts]))

    def tell(self, all_of_them: tuple[Notifier, ...], found: Event) -> None:
        """See :func:`benchlab.report.notifications.notices.tell`."""
        notifications.tell(
            self.notices, all_of_them, found, self.send, lambda *words: self.said.append(words)
        )


def test_a_task_that_runs_again_sends_nothing_again(notices: Notices) -> None:
    """Each notifier sends once; the campaign's progress says what was sent."""
    both, told = (SLACK, MAIL), Told(notices)
    for _ in range(3):
        told.tell(both, event())
    assert told.sent == [("slack", ["c1/oltp_insert"]), ("smtp", ["c1/oltp_insert"])]
    assert told.said == [
        ("told", "regression to slack slack_api_default #perf"),
        ("told", "regression to smtp smtp_default a@example.com"),
    ]


def test_one_that_fails_stops_no_other_and_tries_again(notices: Notices) -> None:
    """When the task runs again, the one that had failed sends it, and it alone."""
    both = (SLACK, MAIL)
    told = Told(notices, both[0].place)
    told.tell(both, event())
    assert told.sent == [("smtp", ["c1/oltp_insert"])]
    failed = "regression to slack slack_api_default #perf: no route to host"
    assert told.said[0] == ("failed", failed)
    told.broken = ()
    told.tell(both, event())
    assert told.sent[1:] == [("slack", ["c1/oltp_insert"])]


def test_an_unforeseen_error_stops_no_other(
    notices: Notices, caplog: pytest.LogCaptureFixture
) -> None:
    """It is named without its text, which may contain anything, and the next try sends."""
    both, told = (SLACK, MAIL), Told(notices)

    def send(notifier: Notifier, found: Event) -> None:
        if notifier.by == "slack":
            raise ZeroDivisionError("hunter22")
        told.send(notifier, found)

    notifications.tell(notices, both, event(), send, lambda *words: told.said.append(words))
    assert told.sent == [("smtp", ["c1/oltp_insert"])]
    failed = "regression to slack slack_api_default #perf: ZeroDivisionError; the log has the rest"
    assert told.said[0] == ("failed", failed)
    assert "Traceback" in caplog.text
    assert notices.claim(both[0], event()) == event()


def test_a_process_that_is_ended_leaves_nothing_claimed(notices: Notices) -> None:
    """As by Airflow, when a callback takes too long."""

    def ended(_: Notifier, __: Event) -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        notifications.tell(notices, [SLACK], event(), ended, lambda *_: None)
    assert notices.claim(SLACK, event()) == event()


def test_of_many_parts_each_is_in_a_message(notices: Notices) -> None:
    """One that fails is sent later, with its own parts only."""
    one, told = (SLACK,), Told(notices)
    many = event("fleet_reaped", *(f"i-{n}" for n in range(MOST_PARTS + 1)))

    def send(notifier: Notifier, found: Event) -> None:
        if len(found.parts) == MOST_PARTS:
            raise NotificationError("no route to host")
        told.send(notifier, found)

    notifications.tell(notices, one, many, send, lambda *_: None)
    assert told.sent == [("slack", [f"i-{MOST_PARTS}"])]
    told.tell(one, many)
    assert told.sent[1:] == [("slack", [f"i-{n}" for n in range(MOST_PARTS)])]


def test_only_what_is_new_is_sent(notices: Notices) -> None:
    """A campaign that is carried on finds another workload with the same verdict."""
    one, told = (SLACK,), Told(notices)
    told.tell(one, event("regression", "c1/a"))
    told.tell(one, event("regression", "c1/a", "c1/b"))
    told.tell(one, event("unstable", "c1/a"))
    assert told.sent == [("slack", ["c1/a"]), ("slack", ["c1/b"]), ("slack", ["c1/a"])]


def test_a_part_is_known_again_by_any_of_its_marks(notices: Notices) -> None:
    """As a change point whose place has moved by one campaign."""
    there, moved, elsewhere = (
        Event("change_point", "weekly", "c9", (Part("a", places),))
        for places in (("c4", "c5"), ("c5", "c6"), ("c7", "c8"))
    )
    assert notices.claim(SLACK, there) == there
    assert notices.claim(SLACK, moved) is None
    assert notices.claim(SLACK, elsewhere) == elsewhere


def places(*beside: tuple[str, str]) -> Event:
    """Change points, each between two campaigns."""
    parts = tuple(Part("a", marks) for marks in beside)
    return Event("change_point", "weekly", "c12", parts)


def test_changes_side_by_side_are_both_sent(notices: Notices) -> None:
    """Found at once or one after the other, though they have a campaign in common."""
    first, second = ("c9", "c10"), ("c10", "c11")
    assert notices.claim(SLACK, places(first, second)) == places(first, second)
    assert notices.claim(SLACK, places(first, second)) is None
    assert notices.claim(MAIL, places(first)) == places(first)
    assert notices.claim(MAIL, places(first, second)) == places(second)


def test_what_could_not_be_sent_takes_nothing_back_that_was(notices: Notices) -> None:
    """A mark of both stays with the change that was sent."""
    first, both = places(("c9", "c10")), places(("c9", "c10"), ("c10", "c11"))
    assert notices.claim(SLACK, first) == first
    notices.keep(SLACK, first)
    second = notices.claim(SLACK, both)
    assert second == places(("c10", "c11"))
    notices.unclaim(SLACK, second)
    assert notices.claim(SLACK, both) == second


def test_a_place_may_move_on_and_on(notices: Notices) -> None:
    """Each time by one campaign; but what was not sent yet is not recognized by where it was."""
    first, moved, again = places(("c4", "c5")), places(("c5", "c6")), places(("c6", "c7"))
    assert notices.claim(SLACK, first) == first
    assert notices.claim(SLACK, moved) is None
    notices.unclaim(SLACK, first)
    assert notices.claim(SLACK, first) == first
    notices.keep(SLACK, first)
    assert notices.claim(SLACK, moved) is None
    assert notices.claim(SLACK, again) is None


def test_another_place_is_sent_everything_anew(notices: Notices) -> None:
    """What went into the wrong channel has not been sent to the right one."""
    wrong, right = SLACK.model_copy(update={"channel": "#prf"}), SLACK
    assert notices.claim(wrong, event()) == event()
    assert notices.claim(right, event()) == event()


def test_if_two_run_at_once_one_sends(notices: Notices) -> None:
    """The second finds it claimed, also before the first one is done."""
    assert notices.claim(SLACK, event(), NOW) == event()
    assert notices.claim(SLACK, event(), NOW) is None


def test_a_claim_whose_process_died_is_taken_over(notices: Notices) -> None:
    """After a while, and only if it was never sent."""
    later = NOW + ABANDONED + timedelta(seconds=1)
    assert notices.claim(SLACK, event(), NOW) == event()
    assert notices.claim(SLACK, event(), NOW + ABANDONED) is None
    assert notices.claim(SLACK, event(), later) == event()
    notices.keep(SLACK, event())
    assert notices.claim(SLACK, event(), later + 10 * ABANDONED) is None


def test_marks_may_be_longer_than_any_database_can_index(notices: Notices) -> None:
    """Reasons of a failure are marks as well, and their ends count."""
    one, other = event("failed", "x" * 100_000 + "1"), event("failed", "x" * 100_000 + "2")
    assert notices.claim(SLACK, one) == one
    assert notices.claim(SLACK, other) == other
    assert notices.claim(SLACK, one) is None
