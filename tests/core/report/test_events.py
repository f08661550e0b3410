"""What is worth a message, what is in one, and that nothing in it is taken for anything else."""

from __future__ import annotations

import dataclasses
import html.parser
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.analysis.verdict.compare import compare
from benchlab.language import Language, load
from benchlab.plan.order import PlannedTrial
from benchlab.report.model import report as model
from benchlab.report.model.report import Report
from benchlab.report.notifications import events
from benchlab.report.notifications.events import Event
from benchlab.report.notifications.notifiers import Notifier
from benchlab.report.sentences import opening
from benchlab.results.findings import Entry, Finding, FindingState
from benchlab.results.records import Campaign
from tests.builders import campaigns

POINT, INDEX, INSERT = "oltp_point_select", "oltp_update_index", "oltp_insert"
CHANGES = {POINT: -0.1, INDEX: -0.2, INSERT: 0.1}
NOW = datetime(2024, 1, 2, tzinfo=UTC)
WHERE = (("Report", "https://bench/c1/report.html?a=1&b=2"), ("Airflow run", "dag run__1"))


def campaign(**fields: Any) -> Campaign:
    """Of three workloads and four rounds."""
    return campaigns.campaign(
        **{"workloads": [POINT, INDEX, INSERT], "rounds": 4, "deployments": 4, **fields}
    )


def report(
    made: Campaign | None = None,
    changes: dict[str, float] | None = None,
    language: Language | None = None,
    **more: Any,
) -> Report:
    """Of two regressions and an improvement, or of these changes, as fractions by workload."""
    made = made or campaign()
    known = campaigns.known_change(CHANGES if changes is None else changes, 0.002)
    results = campaigns.results_of(made.plan, known, **more)
    return model.build(made, compare(made.plan, results, 2), results, language=language)


def said_of(event: Event) -> list[str]:
    """The sentences of its message."""
    return [line.removeprefix("• ") for line in event.text.splitlines() if line.startswith("• ")]


def workloads(found: Sequence[Event]) -> dict[str, list[str]]:
    """Events by kind, each kind at most once."""
    assert len({event.kind for event in found}) == len(found)
    return {event.kind: [part.title for part in event.parts] for event in found}


# ---------------------------------------------------------------- which events


def test_all_workloads_of_one_verdict_are_one_event() -> None:
    """Two regressions and an improvement are two messages, of their report type."""
    found = events.of_verdicts(report())
    assert workloads(found) == {
        "regression": ["Point Select", "Update Index"],
        "improvement": ["Insert"],
    }
    assert {event.report for event in found} == {"sysbench_test"}


def test_a_message_has_a_limit_and_says_how_much_it_leaves_out() -> None:
    """As where one release moved thirty counts; the subject names what fits."""
    parts = tuple(events.Part(f"part {n}", (str(n),), (f"sentence {n}",)) for n in range(30))
    lines = Event("change_point", "weekly", "Change point", parts, WHERE).text.splitlines()
    assert lines[1:21] == [f"• sentence {n}" for n in range(20)]
    assert lines[21:] == ["• ... (+10)", *(": ".join(link) for link in WHERE)]
    short = Event("change_point", "weekly", "Change point", parts[:20]).text
    assert "..." not in short.splitlines()[-1]


@pytest.mark.parametrize(
    ("before", "said"),
    [("known", "which is larger than when it was judged."), ("fixed", "shown again.")],
)
def test_a_finding_that_is_loud_again_says_why(before: FindingState, said: str) -> None:
    """With its number; one that stays known or wanted is left out, with what is its own alone."""
    made = report()
    history = (Entry(before, "ann", NOW), Entry("new", "", NOW, campaign=made.campaign.id))
    loud, quiet = (
        Finding(number, "sysbench_test", workload, "worse", ("c1",), None, None, history[:most])  # type: ignore[arg-type]
        for number, workload, most in ((7, POINT, 2), (8, INDEX, 1))
    )
    if before == "fixed":
        quiet = dataclasses.replace(quiet, history=(Entry("wanted", "ann", NOW),))
    found = events.of_verdicts(made, findings=[loud, quiet])
    assert workloads(found) == {"regression": ["Point Select"], "improvement": ["Insert"]}
    assert f"Point Select is finding 7, {said}" in said_of(found[0])
    better = dataclasses.replace(quiet, workload=INSERT)
    assert workloads(events.of_verdicts(made, findings=[better]))["improvement"] == ["Insert"]


def test_equivalent_workloads_are_no_event() -> None:
    """Nothing happened."""
    assert events.of_verdicts(report(changes={})) == ()


def test_a_longer_p95_latency_is_a_regression_though_throughput_is_the_same() -> None:
    """For that workload alone, and the message says that it is the latency."""

    def p95(trial: PlannedTrial) -> float:
        slow = trial.side == "candidate" and trial.workload == INDEX
        return (40.0 if slow else 20.0) * (1 + 0.002 * trial.round)

    (event,) = events.of_verdicts(report(None, {}, p95_ms=p95))
    assert workloads([event]) == {"regression": ["Update Index"]}
    said = said_of(event)
    assert said[2].startswith("The Update Index p95 latency of 10.11.5 is longer by 100.0%")
    assert "slower by p95 latency at Update Index (+100.0%)" in said[0]
    assert not any("TPS" in sentence for sentence in said)


def test_a_false_alarm_of_an_aa_campaign_is_no_regression() -> None:
    """Both sides are one version: there is nothing that could have become slower."""
    made = campaign(sides="same")
    assert made.is_aa
    assert events.of_verdicts(report(made)) == ()


def test_a_slowdown_on_purpose_is_no_regression() -> None:
    """It was asked for, to see whether Benchlab finds it."""
    made = campaign(slowdown_pct=30)
    assert events.of_verdicts(report(made, dict.fromkeys(CHANGES, -0.3))) == ()


@pytest.mark.parametrize(
    ("loss", "wanted"),
    [(-0.1, []), (-0.19, []), (0.0, ["canary_missed"]), (-0.4, ["canary_missed"])],
)
def test_a_canary_is_an_event_where_it_was_missed_alone(loss: float, wanted: list[str]) -> None:
    """Nothing is sent of one that was found, nor is a change that was planted a regression."""
    schedule = {"runs": "weekly", "cron": "0 2 * * 1", "aa_every": 0, "release_every": 0}
    made = campaign(slowdown_pct=10, workloads=[POINT], schedule={**schedule, "canary_every": 1})
    planted = dataclasses.replace(made, planned_for=datetime(2024, 1, 1, 2, tzinfo=UTC))
    found = events.of_verdicts(report(planted, {POINT: loss}))
    assert [event.kind for event in found] == wanted
    for event in found:
        assert event.subject == f"Canary missed: {planted.plan.report}: Point Select"
        assert said_of(event)[0].startswith("Canary: the slowdown of 10% on purpose was missed: ")
    # At another moment it is a person's, as without a schedule.
    by_person = dataclasses.replace(planted, planned_for=datetime(2024, 1, 1, tzinfo=UTC))
    kinds = {event.kind for event in events.of_verdicts(report(by_person, {POINT: loss}))}
    assert "canary_missed" not in kinds


def test_inconclusive_workloads_are_reported_with_their_reasons() -> None:
    """Unless the campaign is reported as failed, which is why they are inconclusive."""
    once = report(campaign(rounds=1, deployments=1), {})
    (event,) = events.of_verdicts(once)
    assert workloads([event]) == {"inconclusive": ["Point Select", "Update Index", "Insert"]}
    said = said_of(event)
    assert "Point Select is inconclusive" in said[2]
    assert "1 complete round" in said[2]
    assert events.of_verdicts(once, failed=True) == ()


def test_a_change_is_reported_though_the_campaign_failed() -> None:
    """As where the report could not be published."""
    assert len(events.of_verdicts(report(), failed=True)) == 2


# ---------------------------------------------------------------- what is known again


def test_a_failure_for_another_reason_is_another_event() -> None:
    """The same reason of the same task is the same one, whatever else failed before."""
    parts = [
        events.of_failure("verdict", reasons, NOW, report="weekly", campaign=name).parts[0]
        for reasons, name in ((["a"], "c1"), (["a", "x"], "c1"), (["b"], "c1"), (["a"], "c2"))
    ]
    first, again, *others = (set(part.marks) for part in parts)
    assert first == again
    assert not [marks for marks in others if marks & first]


def test_a_failure_outside_campaigns_is_reported_once_a_day() -> None:
    """It may have been fixed in between; within a campaign it is the same one on any day."""
    days = (NOW, NOW + timedelta(hours=23), NOW + timedelta(days=1))
    first, same_day, next_day = (events.of_failure("reap", ["a"], at).parts[0] for at in days)
    assert first == same_day
    assert not set(first.marks) & set(next_day.marks)
    of_one = {events.of_failure("plan", ["a"], at, campaign="c1") for at in days}
    assert len(of_one) == 1


# ---------------------------------------------------------------- messages


def test_a_message_names_what_changed_and_shows_every_verdict_beside_it() -> None:
    """Sentences on the workloads of the event; the first one has the others as well."""
    found, _ = events.of_verdicts(report(), WHERE)
    expected = "Regression: sysbench_test, 10.11.5 against 10.2.11: Point Select, Update Index"
    assert found.subject == expected == found.text.splitlines()[0]
    said = said_of(found)
    assert tuple(said[:2]) == opening.sentences(report())
    assert "faster at Insert (+10" in said[0]
    assert re.search(r"is reduced by 10\.0+% against 10\.2\.11", said[2])
    assert re.search(r"is reduced by 20\.0+% against 10\.2\.11", said[3])
    assert "this deployment" in said[4], "how far the verdicts reach"
    assert found.text.splitlines()[6:] == [f"{what}: {where}" for what, where in WHERE]


def test_only_the_workloads_that_are_left_to_report_are_named() -> None:
    """An event may have been reported in part before."""
    whole, _ = events.of_verdicts(report())
    found = dataclasses.replace(whole, parts=whole.parts[1:])
    assert found.subject.endswith(": Update Index")
    assert not any("Point Select" in sentence for sentence in said_of(found)[2:])


def test_a_message_is_in_the_language_of_its_report() -> None:
    """Chinese, but for what servers and Airflow said."""
    found, _ = events.of_verdicts(report(language=load("zh")), WHERE)
    assert "10.11.5 对比 10.2.11: Point Select, Update Index" in found.subject
    assert all("。" in sentence for sentence in said_of(found))


def test_reasons_are_given_in_full_but_a_long_one_is_cut() -> None:
    """And control characters are gone."""
    reasons = ["on tikv-1:\n\x1b[31mno space left\x07", "x" * 5000]
    found = events.of_failure("verdict", reasons, NOW, campaign="c1")
    assert found.subject == "Failed: verdict of c1"
    first, second = said_of(found)
    assert first == "on tikv-1: [31mno space left"
    assert len(second) == 1000


def test_what_was_ended_is_named() -> None:
    """Each with its sentence."""
    sentences = ["us-west-2: instance i-1 terminated.", "us-west-2: key pair k."]
    (event,) = events.of_reaped(sentences)
    assert event.subject == "Ended by the reaper: rented resources"
    assert said_of(event) == sentences


# ---------------------------------------------------------------- formats


class _Page(html.parser.HTMLParser):
    """What a reader of HTML sees: text, and the elements it is made of."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.text, self.elements = "", set[str]()
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


WILD = st.text(max_size=40) | st.sampled_from(
    [
        "<script>alert(1)</script>",
        "<!channel>",
        "<@U012>",
        "{{ 7 * 7 }}",
        "{text}",
        "{% raw %}",
        "&lt;",
    ]
)
PLAIN = Notifier(
    name="all",
    notifier="a.B",
    arguments={"to": ["{text}"], "title": "{subject}", "text": "{escaped}", "page": "<b>{escaped}"},
)


@given(WILD, WILD)
def test_no_text_becomes_markup_or_a_template(reason: str, where: str) -> None:
    """A mail shows it letter by letter; in Slack it can neither link nor call anyone."""
    event = events.of_failure("plan", [reason], NOW, [("Report", where)], campaign="c1")
    (said,) = said_of(event)
    filled = PLAIN.saying(event.subject, event.text)
    assert (filled["to"], filled["title"]) == (["{text}"], "Failed: plan of c1")
    page = _Page(filled["page"])
    assert page.elements == {"b"}
    assert said in page.text
    assert not {"<", ">"} & set(filled["text"])
