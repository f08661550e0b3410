"""Who is notified of what: configs/notifications.yaml."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import yaml

from benchlab import home
from benchlab.campaign import report_types
from benchlab.errors import SpecError
from benchlab.report.notifications import notifiers
from benchlab.report.notifications.events import Event, Part
from benchlab.report.notifications.notifiers import KINDS, EventKind, Notifier

REPORTS = ("nightly", "weekly")
SLACK = {"name": "channel", "notifier": "a.SlackNotifier", "arguments": {"text": "{escaped}"}}
MAIL = {"name": "mail", "notifier": "a.SmtpNotifier", "arguments": {"subject": "{subject}"}}


def written(path: Path, *entries: object) -> Path:
    """A file with these notifiers."""
    path.write_text(yaml.safe_dump({"notifiers": list(entries)}))
    return path


def loaded(path: Path, *entries: object) -> tuple[Notifier, ...]:
    """Those of a file with these entries."""
    return notifiers.load(written(path / "notifications.yaml", *entries), REPORTS)


def event(kind: EventKind = "regression", *, report: str | None = "weekly") -> Event:
    """An event of a campaign."""
    return Event(kind, report, "Found", (Part("Insert", ("c1/oltp_insert",), ()),))


def test_the_file_that_comes_with_benchlab_notifies_nobody() -> None:
    """Nothing is sent before somebody asks for it."""
    assert notifiers.load(home.find().notifications, ()) == ()


def test_its_example_is_one_that_can_be_used(tmp_path: Path) -> None:
    """Without the comment signs from ``notifiers:`` on; Airflow has each of its notifiers."""
    lines = home.find().notifications.read_text().splitlines()
    begin = lines.index("# notifiers:")
    path = tmp_path / "example.yaml"
    uncommented = [line.removeprefix("#").removeprefix(" ") for line in lines[begin:]]
    path.write_text("\n".join([*lines[:begin], *uncommented]))
    there = {file.stem for file in report_types.report_files(home.find())}
    found = notifiers.load(path, there)
    assert len(found) == 4
    for notifier in found:
        module, _, name = notifier.notifier.rpartition(".")
        source = importlib.util.find_spec(module.partition(".")[0])
        assert source
        assert source.submodule_search_locations
        file = Path(source.submodule_search_locations[0], *module.split(".")[1:])
        text = file.with_suffix(".py").read_text()
        assert f"class {name}(BaseNotifier)" in text
        assert all(f"        {argument}: " in text for argument in notifier.arguments)


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """The second one would silently be the only one."""
    path = written(tmp_path / "notifications.yaml", SLACK)
    path.write_text(path.read_text() + "notifiers: []\n")
    with pytest.raises(SpecError, match="'notifiers' occurs twice"):
        notifiers.load(path, REPORTS)


def test_every_event_is_described_in_the_file() -> None:
    """Whoever writes an entry sees what there is."""
    text = home.find().notifications.read_text()
    comment = text.partition("An entry without")[0]
    assert not [kind for kind in KINDS if kind not in comment]


def test_no_file_is_no_notifier(tmp_path: Path) -> None:
    """As in an installation that was made before there was one."""
    assert notifiers.load(tmp_path / "missing.yaml", ()) == ()


def test_by_default_a_notifier_sends_what_calls_for_action(tmp_path: Path) -> None:
    """All events but improvement, cheaper and inconclusive, of every report type."""
    plain, chosen = loaded(
        tmp_path, SLACK, {**MAIL, "events": ["improvement"], "reports": ["weekly"]}
    )
    assert {kind for kind in KINDS if plain.wants(event(kind))} == (
        set(KINDS) - {"improvement", "cheaper", "inconclusive"}
    )
    assert chosen.wants(event("improvement"))
    assert not chosen.wants(event("regression"))
    assert not chosen.wants(event("improvement", report="nightly"))


def test_what_is_of_no_report_type_is_of_interest_to_all(tmp_path: Path) -> None:
    """An ended fleet costs money whatever report types a notifier is for."""
    (only,) = loaded(tmp_path, {**SLACK, "reports": ["weekly"]})
    assert only.wants(event("fleet_reaped", report=None))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({**SLACK, "chanel": "#perf"}, "chanel: unknown key"),
        ({**SLACK, "events": ["regresion"]}, "events.0: must be 'regression'"),
        ({**SLACK, "events": []}, "events: needs at least 1"),
        ({**SLACK, "reports": ["Weekly report"]}, "reports.0: does not match the pattern"),
        (
            {**SLACK, "reports": ["weakly"]},
            "reports: unknown: weakly; report types: nightly, weekly",
        ),
        ({"name": "x", "notifier": "a.B"}, "arguments: missing; it must be set"),
        ({**SLACK, "notifier": "Slack"}, "notifier: does not match the pattern"),
        ({**SLACK, "arguments": {"text": "{txt}"}}, "arguments: no text that can be filled in"),
        ({**SLACK, "arguments": {"text": "{"}}, "arguments: no text that can be filled in"),
        ({**SLACK, "arguments": {"text": "hello"}}, "arguments: none has {subject}, {text} or"),
        ("slack", "notifiers.0: "),
    ],
)
def test_what_is_wrong_in_the_file_is_refused_by_name(
    tmp_path: Path, entry: object, said: str
) -> None:
    """The file, the entry and its field; a typing error does not silence a notifier."""
    path = tmp_path / "notifications.yaml"
    with pytest.raises(SpecError) as refused:
        loaded(tmp_path, entry)
    assert str(refused.value).startswith(f"{path}: notifiers.0")
    assert said in str(refused.value)


def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """By it is known what was sent: one of them would never send anything."""
    with pytest.raises(SpecError, match=r"notifiers\.1\.name: channel occurs twice"):
        loaded(tmp_path, SLACK, {**MAIL, "name": "channel"})


@pytest.mark.parametrize("text", ["notifiers: [", "- by: slack", "notifer: []", "\x00"])
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, text: str) -> None:
    """Not YAML, not a mapping, another key."""
    path = tmp_path / "notifications.yaml"
    path.write_text(text)
    with pytest.raises(SpecError, match=str(path)):
        notifiers.load(path, REPORTS)
