"""Who is told of what; that everybody is told once, and nobody twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from upath import UPath

from benchlab import catalog, home, notifications
from benchlab.errors import SpecError
from benchlab.events import KINDS, MOST_PARTS, Event, Kind, Part
from benchlab.notifications import ABANDONED, Notices, NotificationError, Notifier, Smtp
from benchlab.store import Store

REPORTS = ("nightly", "weekly")
NOW = datetime(2024, 3, 1, tzinfo=UTC)
SLACK = {"by": "slack", "connection": "slack_api_default", "channel": "#perf"}
MAIL = {"by": "smtp", "connection": "smtp_default", "to": ["a@example.com"]}


def written(path: Path, *entries: object) -> Path:
    """A file with these notifiers."""
    path.write_text(yaml.safe_dump({"notifiers": list(entries)}))
    return path


def notifiers(path: Path, *entries: object) -> tuple[Notifier, ...]:
    """Those of a file with these entries."""
    return notifications.load(written(path / "notifications.yaml", *entries), REPORTS)


def event(kind: Kind = "regression", *marks: str, report: str | None = "weekly") -> Event:
    """An event with a part of one mark each."""
    parts = tuple(Part(mark, (mark,)) for mark in marks or ("c1/oltp_insert",))
    return Event(kind, report, "c1", parts)


@pytest.fixture
def notices(tmp_path: Path) -> Iterator[Notices]:
    """Of a store of the test's own."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path)) as store:
        yield Notices(store)


# ---------------------------------------------------------------- the file


def test_the_file_that_comes_with_benchlab_tells_nobody() -> None:
    """Nothing is sent before somebody asks for it."""
    assert notifications.load(home.find().configs / notifications.FILE, ()) == ()


def test_its_example_is_one_that_can_be_used(tmp_path: Path) -> None:
    """Without the comment signs from ``notifiers:`` on it has each kind of notifier."""
    lines = (home.find().configs / notifications.FILE).read_text().splitlines()
    begin = lines.index("# notifiers:")
    path = tmp_path / "example.yaml"
    uncommented = [line.removeprefix("#").removeprefix(" ") for line in lines[begin:]]
    path.write_text("\n".join([*lines[:begin], *uncommented]))
    there = {file.stem for file in catalog.report_files(home.find())}
    assert [each.by for each in notifications.load(path, there)] == [
        "slack",
        "slack_webhook",
        "smtp",
    ]


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """The second one would silently be the only one."""
    path = written(tmp_path / "notifications.yaml", SLACK)
    path.write_text(path.read_text() + "notifiers: []\n")
    with pytest.raises(SpecError, match="'notifiers' is there twice"):
        notifications.load(path, REPORTS)


def test_every_event_is_described_in_the_file() -> None:
    """Whoever writes an entry sees what there is."""
    text = (home.find().configs / notifications.FILE).read_text()
    comment = text.partition("An entry without")[0]
    assert not [kind for kind in KINDS if kind not in comment]


def test_no_file_is_no_notifier(tmp_path: Path) -> None:
    """As in an installation that was made before there was one."""
    assert notifications.load(tmp_path / "missing.yaml", ()) == ()


def test_a_notifier_tells_of_what_calls_for_action_unless_it_says_otherwise(tmp_path: Path) -> None:
    """All events but improvement and inconclusive, of every report type."""
    plain, chosen = notifiers(
        tmp_path, SLACK, {**MAIL, "events": ["improvement"], "reports": ["weekly"]}
    )
    assert {kind for kind in KINDS if plain.wants(event(kind))} == (
        set(KINDS) - {"improvement", "inconclusive"}
    )
    assert chosen.wants(event("improvement"))
    assert not chosen.wants(event("regression"))
    assert not chosen.wants(event("improvement", report="nightly"))


def test_what_is_of_no_report_type_is_of_interest_to_all(tmp_path: Path) -> None:
    """An ended fleet costs money whatever report types a notifier is for."""
    (only,) = notifiers(tmp_path, {**SLACK, "reports": ["weekly"]})
    assert only.wants(event("fleet_reaped", report=None))


def test_the_sender_of_a_mail_may_be_named(tmp_path: Path) -> None:
    """As `from`, or the Connection has it."""
    named, unnamed = notifiers(tmp_path, {**MAIL, "from": "b@example.com"}, MAIL)
    assert isinstance(named, Smtp)
    assert isinstance(unnamed, Smtp)
    assert (named.sender, unnamed.sender) == ("b@example.com", None)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({**SLACK, "chanel": "#perf"}, "chanel: unknown key"),
        ({**SLACK, "events": ["regresion"]}, "events.0: Input should be 'regression'"),
        ({**SLACK, "events": []}, "events: Tuple should have at least 1 item"),
        ({**SLACK, "reports": ["Weekly report"]}, "reports.0: String should match pattern"),
        (
            {**SLACK, "reports": ["weakly"]},
            "reports: unknown: weakly; report types: nightly, weekly",
        ),
        ({"by": "slack", "connection": "x"}, "channel: missing; it must be set"),
        ({"by": "slack", "channel": "#perf"}, "connection: missing; it must be set"),
        ({**MAIL, "to": ["a@example.com\nBcc: b@example.com"]}, "to.0: String should match"),
        ({**MAIL, "to": []}, "to: Tuple should have at least 1 item"),
        ({**MAIL, "channel": "#perf"}, "channel: unknown key"),
        ({"by": "pager", "connection": "x"}, "notifiers.0: Input tag 'pager' found using 'by'"),
        ("slack", "notifiers.0: "),
    ],
)
def test_what_is_wrong_in_the_file_is_refused_by_name(
    tmp_path: Path, entry: object, said: str
) -> None:
    """The file, the entry and its field; a typing error is no notifier that never tells."""
    path = tmp_path / "notifications.yaml"
    with pytest.raises(SpecError) as refused:
        notifiers(tmp_path, entry)
    assert str(refused.value).startswith(f"{path}: notifiers.0")
    assert said in str(refused.value)


@pytest.mark.parametrize("text", ["notifiers: [", "- by: slack", "notifer: []", "\x00"])
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, text: str) -> None:
    """Not YAML, not a mapping, another key."""
    path = tmp_path / "notifications.yaml"
    path.write_text(text)
    with pytest.raises(SpecError, match=str(path)):
        notifications.load(path, REPORTS)


# ---------------------------------------------------------------- told once


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
        """See :func:`benchlab.notifications.tell`."""
        notifications.tell(
            self.notices, all_of_them, found, self.send, lambda *words: self.said.append(words)
        )


def test_a_task_that_runs_again_tells_nothing_again(notices: Notices, tmp_path: Path) -> None:
    """Each notifier tells once; what was told is said for the campaign's progress."""
    both, told = notifiers(tmp_path, SLACK, MAIL), Told(notices)
    for _ in range(3):
        told.tell(both, event())
    assert told.sent == [("slack", ["c1/oltp_insert"]), ("smtp", ["c1/oltp_insert"])]
    assert told.said == [
        ("told", "regression to slack slack_api_default #perf"),
        ("told", "regression to smtp smtp_default a@example.com"),
    ]


def test_one_that_fails_keeps_no_other_from_being_told_and_tries_again(
    notices: Notices, tmp_path: Path
) -> None:
    """When the task runs again, the one that had failed tells it, and it alone."""
    both = notifiers(tmp_path, SLACK, MAIL)
    told = Told(notices, both[0].place)
    told.tell(both, event())
    assert told.sent == [("smtp", ["c1/oltp_insert"])]
    failed = "regression to slack slack_api_default #perf: no route to host"
    assert told.said[0] == ("failed", failed)
    told.broken = ()
    told.tell(both, event())
    assert told.sent[1:] == [("slack", ["c1/oltp_insert"])]


def test_an_error_that_nobody_foresaw_keeps_no_other_from_being_told(
    notices: Notices, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said without its text, which may have anything in it, and the next try tells."""
    both, told = notifiers(tmp_path, SLACK, MAIL), Told(notices)

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


def test_a_process_that_is_ended_leaves_nothing_claimed(notices: Notices, tmp_path: Path) -> None:
    """As by Airflow, when a callback takes too long."""
    (slack,) = notifiers(tmp_path, SLACK)

    def ended(_: Notifier, __: Event) -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        notifications.tell(notices, [slack], event(), ended, lambda *_: None)
    assert notices.claim(slack, event()) == event()


def test_of_many_parts_each_is_in_a_message(notices: Notices, tmp_path: Path) -> None:
    """One that fails is told later, with its own parts only."""
    one, told = notifiers(tmp_path, SLACK), Told(notices)
    many = event("fleet_reaped", *(f"i-{n}" for n in range(MOST_PARTS + 1)))

    def send(notifier: Notifier, found: Event) -> None:
        if len(found.parts) == MOST_PARTS:
            raise NotificationError("no route to host")
        told.send(notifier, found)

    notifications.tell(notices, one, many, send, lambda *_: None)
    assert told.sent == [("slack", [f"i-{MOST_PARTS}"])]
    told.tell(one, many)
    assert told.sent[1:] == [("slack", [f"i-{n}" for n in range(MOST_PARTS)])]


def test_only_what_is_new_is_told(notices: Notices, tmp_path: Path) -> None:
    """A campaign that is carried on finds another workload with the same verdict."""
    one, told = notifiers(tmp_path, SLACK), Told(notices)
    told.tell(one, event("regression", "c1/a"))
    told.tell(one, event("regression", "c1/a", "c1/b"))
    told.tell(one, event("unstable", "c1/a"))
    assert told.sent == [("slack", ["c1/a"]), ("slack", ["c1/b"]), ("slack", ["c1/a"])]


def test_a_part_is_known_again_by_any_of_its_marks(notices: Notices, tmp_path: Path) -> None:
    """As a change point whose place has moved by one campaign."""
    (slack,) = notifiers(tmp_path, SLACK)
    there, moved, elsewhere = (
        Event("change_point", "weekly", "c9", (Part("a", places),))
        for places in (("c4", "c5"), ("c5", "c6"), ("c7", "c8"))
    )
    assert notices.claim(slack, there) == there
    assert notices.claim(slack, moved) is None
    assert notices.claim(slack, elsewhere) == elsewhere


def places(*beside: tuple[str, str]) -> Event:
    """Change points, each between two campaigns."""
    parts = tuple(Part("a", each) for each in beside)
    return Event("change_point", "weekly", "c12", parts)


def test_changes_side_by_side_are_both_told(notices: Notices, tmp_path: Path) -> None:
    """Found at once or one after the other, though they have a campaign in common."""
    slack, mail = notifiers(tmp_path, SLACK, MAIL)
    first, second = ("c9", "c10"), ("c10", "c11")
    assert notices.claim(slack, places(first, second)) == places(first, second)
    assert notices.claim(slack, places(first, second)) is None
    assert notices.claim(mail, places(first)) == places(first)
    assert notices.claim(mail, places(first, second)) == places(second)


def test_what_could_not_be_told_takes_nothing_back_that_was(
    notices: Notices, tmp_path: Path
) -> None:
    """A mark of both stays with the change that was told."""
    (slack,) = notifiers(tmp_path, SLACK)
    first, both = places(("c9", "c10")), places(("c9", "c10"), ("c10", "c11"))
    assert notices.claim(slack, first) == first
    notices.keep(slack, first)
    second = notices.claim(slack, both)
    assert second == places(("c10", "c11"))
    notices.release(slack, second)
    assert notices.claim(slack, both) == second


def test_a_place_may_move_on_and_on(notices: Notices, tmp_path: Path) -> None:
    """Each time by one campaign; but what was not told yet is not known by where it was."""
    (slack,) = notifiers(tmp_path, SLACK)
    first, moved, again = places(("c4", "c5")), places(("c5", "c6")), places(("c6", "c7"))
    assert notices.claim(slack, first) == first
    assert notices.claim(slack, moved) is None
    notices.release(slack, first)
    assert notices.claim(slack, first) == first
    notices.keep(slack, first)
    assert notices.claim(slack, moved) is None
    assert notices.claim(slack, again) is None


def test_another_place_is_told_anew(notices: Notices, tmp_path: Path) -> None:
    """What went into the wrong channel has not been told in the right one."""
    wrong, right = notifiers(tmp_path, {**SLACK, "channel": "#prf"}, SLACK)
    assert notices.claim(wrong, event()) == event()
    assert notices.claim(right, event()) == event()


def test_of_two_at_once_one_tells(notices: Notices, tmp_path: Path) -> None:
    """The second finds it claimed, also before the first one is done."""
    (slack,) = notifiers(tmp_path, SLACK)
    assert notices.claim(slack, event(), NOW) == event()
    assert notices.claim(slack, event(), NOW) is None


def test_a_claim_whose_process_died_is_taken_over(notices: Notices, tmp_path: Path) -> None:
    """After a while, and only where it was never told."""
    (slack,) = notifiers(tmp_path, SLACK)
    later = NOW + ABANDONED + timedelta(seconds=1)
    assert notices.claim(slack, event(), NOW) == event()
    assert notices.claim(slack, event(), NOW + ABANDONED) is None
    assert notices.claim(slack, event(), later) == event()
    notices.keep(slack, event())
    assert notices.claim(slack, event(), later + 10 * ABANDONED) is None


def test_marks_may_be_longer_than_any_database_can_index(notices: Notices, tmp_path: Path) -> None:
    """Reasons of a failure are marks, too, and their ends count."""
    (slack,) = notifiers(tmp_path, SLACK)
    one, other = event("failed", "x" * 100_000 + "1"), event("failed", "x" * 100_000 + "2")
    assert notices.claim(slack, one) == one
    assert notices.claim(slack, other) == other
    assert notices.claim(slack, one) is None
