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

from benchlab.analysis.trend.change_points import ChangePoint
from benchlab.analysis.trend.drift import Drift
from benchlab.analysis.trend.suspects import Suspect
from benchlab.analysis.verdict.compare import Comparison, compare
from benchlab.plan.order import PlannedTrial
from benchlab.report.model import report as model
from benchlab.report.model.report import Report
from benchlab.report.notifications import events, text
from benchlab.report.notifications.events import Event, WorkloadChange
from benchlab.report.notifications.text import Message
from benchlab.report.sentences import answer
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


def compared(made: Campaign, changes: dict[str, float], noise: float = 0.002) -> Comparison:
    """Its outcome with these changes, as fractions by workload."""
    return compare(
        made.plan, campaigns.results_of(made.plan, campaigns.known_change(changes, noise)), 2
    )


def report() -> Report:
    """Of two regressions and an improvement."""
    made = campaign()
    results = campaigns.results_of(made.plan, campaigns.known_change(CHANGES, 0.002))
    return model.build(made, compare(made.plan, results, 2), results)


def workloads(found: Sequence[Event]) -> dict[str, list[str]]:
    """Events by kind, each kind at most once."""
    assert len({event.kind for event in found}) == len(found)
    return {event.kind: [part.name for part in event.parts] for event in found}


def change(before: str, after: str, size: float = -0.05, **more: Any) -> WorkloadChange:
    """A change between two campaigns, as a logarithm."""
    interval = (size - 0.01, size + 0.01)
    place = ChangePoint(10, size, interval, 0.001, after, before, f"v-{after}", f"v-{before}")
    return WorkloadChange(place, **more)


def drift(oldest: str, newest: str, size: float = -0.05) -> WorkloadChange:
    """A drift over six releases, as a logarithm."""
    return WorkloadChange(Drift(0, 11, oldest, newest, size, (size - 0.01, size + 0.01), 6, 0.001))


# ---------------------------------------------------------------- which events


def test_all_workloads_of_one_verdict_are_one_event() -> None:
    """Two regressions and an improvement are two messages, of their campaign and report type."""
    made = campaign()
    found = events.of_comparison(made, compared(made, CHANGES))
    assert workloads(found) == {"regression": [POINT, INDEX], "improvement": [INSERT]}
    assert {(event.report, event.campaign) for event in found} == {("sysbench_test", "c1")}


def test_equivalent_workloads_are_no_event() -> None:
    """Nothing happened."""
    made = campaign()
    assert events.of_comparison(made, compared(made, {})) == ()


def test_a_longer_p95_latency_is_a_regression_though_throughput_is_the_same() -> None:
    """For that workload alone, and the message says that it is the latency."""
    made = campaign()

    def p95(trial: PlannedTrial) -> float:
        slow = trial.side == "candidate" and trial.workload == INDEX
        return (40.0 if slow else 20.0) * (1 + 0.002 * trial.round)

    results = campaigns.results_of(made.plan, campaigns.known_change({}, 0.002), p95)
    outcome = compare(made.plan, results, 2)
    (event,) = events.of_comparison(made, outcome)
    assert workloads([event]) == {"regression": [INDEX]}
    said = text.of_verdicts(event, model.build(made, outcome, results), WHERE).sentences
    assert said[1].startswith("The Update Index p95 latency of 10.11.5 is longer by 100.0%")
    assert not any("TPS" in sentence for sentence in said)


def test_a_false_alarm_of_an_aa_campaign_is_no_regression() -> None:
    """Both sides are one version: there is nothing that could have become slower."""
    made = campaign(sides="same")
    assert made.is_aa
    assert events.of_comparison(made, compared(made, CHANGES)) == ()


def test_a_slowdown_on_purpose_is_no_regression() -> None:
    """It was asked for, to see whether Benchlab finds it."""
    made = campaign(slowdown_pct=30)
    assert events.of_comparison(made, compared(made, dict.fromkeys(CHANGES, -0.3))) == ()


def test_inconclusive_workloads_are_reported_with_their_reasons() -> None:
    """Unless the campaign is reported as failed, which is why they are inconclusive."""
    made = campaign(rounds=1, deployments=1)
    outcome = compared(made, {})
    (event,) = events.of_comparison(made, outcome)
    assert workloads([event]) == {"inconclusive": [POINT, INDEX, INSERT]}
    results = campaigns.results_of(made.plan)
    said = text.of_verdicts(event, model.build(made, outcome, results), ()).sentences
    assert "Point Select is inconclusive" in said[1]
    assert "1 complete round" in said[1]
    assert events.of_comparison(made, outcome, failed=True) == ()


def test_a_change_is_reported_though_the_campaign_failed() -> None:
    """As where the report could not be published."""
    made = campaign()
    found = events.of_comparison(made, compared(made, CHANGES), failed=True)
    assert workloads(found) == {"regression": [POINT, INDEX], "improvement": [INSERT]}


# ---------------------------------------------------------------- what is known again


def marks(found: WorkloadChange, workload: str = POINT, report_type: str = "weekly") -> set[str]:
    """By which this change of a workload is known again."""
    (event,) = events.of_changes(report_type, "latest", {workload: [found]})
    return {mark for part in event.parts for mark in part.marks}


def test_a_change_point_is_known_again_between_the_neighbouring_campaigns() -> None:
    """More campaigns move its place a little; another direction or workload is another change."""
    first = marks(change("c4", "c5"))
    assert first & marks(change("c5", "c6", -0.04))
    assert first & marks(change("c3", "c4", -0.06))
    assert not first & marks(change("c8", "c9"))
    assert not first & marks(change("c4", "c5", +0.05))
    assert not first & marks(change("c4", "c5"), INDEX)
    assert not first & marks(change("c4", "c5"), report_type="nightly")


def test_a_drift_is_known_again_by_the_version_that_it_began_with() -> None:
    """It grows with every release; after the next change point another one begins."""
    first = marks(drift("v1", "v6"))
    assert first == marks(drift("v1", "v7", -0.06))
    assert not first & marks(drift("v2", "v7"))
    assert not first & marks(drift("v1", "v6", +0.05))


def test_change_points_and_drifts_are_two_events() -> None:
    """Each with all its workloads."""
    found = {POINT: [change("c4", "c5"), drift("v5", "v9")], INDEX: [change("c4", "c5")]}
    both = events.of_changes("weekly", "c9", found)
    assert workloads(both) == {"change_point": [POINT, INDEX], "drift": [POINT]}


def test_no_change_point_is_no_event() -> None:
    """Though workloads were looked at."""
    assert events.of_changes("weekly", "latest", {POINT: []}) == ()
    assert events.of_reaped([]) is None


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


def regression() -> Event:
    """The event of the two regressions of :func:`report`."""
    made = campaign()
    return events.of_comparison(made, compared(made, CHANGES))[0]


def test_a_message_names_what_changed_and_shows_every_verdict_beside_it() -> None:
    """Sentences on the workloads of the event; the table has all of them, and both metrics."""
    found = text.of_verdicts(regression(), report(), WHERE)
    expected = "Regression: sysbench_test, 10.11.5 against 10.2.11: Point Select, Update Index"
    assert found.subject == expected
    assert found.sentences[0] == answer.sentence(report())
    assert re.search(r"is reduced by 10\.0+% against 10\.2\.11", found.sentences[1])
    assert re.search(r"is reduced by 20\.0+% against 10\.2\.11", found.sentences[2])
    assert "this deployment" in found.sentences[3], "how far the verdicts reach"
    assert [row[:2] + row[5:] for row in found.table[1:]] == [
        ("Point Select", "TPS", "regression"),
        ("Point Select", "p95 latency", "equivalent"),
        ("Update Index", "TPS", "regression"),
        ("Update Index", "p95 latency", "equivalent"),
        ("Insert", "TPS", "improvement"),
        ("Insert", "p95 latency", "equivalent"),
    ]
    assert found.links == WHERE


def test_only_the_workloads_that_are_left_to_report_are_named() -> None:
    """An event may have been reported in part before."""
    whole = regression()
    found = text.of_verdicts(dataclasses.replace(whole, parts=whole.parts[1:]), report(), ())
    assert found.subject.endswith(": Update Index")
    assert not any("Point Select" in sentence for sentence in found.sentences[1:])


def test_a_change_point_names_both_campaigns_with_their_versions() -> None:
    """With its size in percent, not as a logarithm; and with where their reports are."""
    places = {"c4": ("/reports/c4.html", "s3://reports/c4.html"), "c5": ("/reports/c5.html",)}
    (event,) = events.of_changes("weekly", "c9", {INDEX: [change("c4", "c5", addresses=places)]})
    found = text.of_changes(event, report(), WHERE)
    assert found.subject == "Change point: sysbench_test: Update Index"
    (said,) = found.sentences
    assert said.startswith("Update Index: throughput changed by -4.88% (95% interval -5.82% to ")
    assert said.endswith("from v-c4 in campaign c4 to v-c5 in campaign c5, and stayed there.")
    assert found.table[1:] == (
        ("Update Index", "v-c4", "v-c5", "-4.88%", "95% interval -5.82% to -3.92%"),
    )
    reports = (("Report of c4", "s3://reports/c4.html"), ("Report of c5", "/reports/c5.html"))
    assert found.links == (*WHERE, *reports)


def test_a_suspect_names_the_campaign_that_tells_it_apart() -> None:
    """Nobody can tell yet whose change it is; once somebody can, that is news again."""
    suspect = Suspect(10, -0.05, (-0.06, -0.04), "c5", "v6", "c4", "v5", "v5.9", "v5", "v5")
    command = "benchlab run weekly --set baseline=v5 --set candidate=v6"
    found = WorkloadChange(suspect, told_apart_by=command)
    assert marks(found) == marks(found)
    assert not marks(found) & marks(change("c4", "c5"))
    (event,) = events.of_changes("weekly", "c5", {INDEX: [found]})
    message = text.of_changes(event, report(), ())
    assert message.subject == "Suspected change: sysbench_test: Update Index"
    (said,) = message.sentences
    assert "from v5 in campaign c4 to v6 in campaign c5 if its new baseline v5.9 is as" in said
    assert said.endswith(f"not separable until this campaign has run: {command}")


def test_a_change_that_was_taken_back_is_not_said_to_have_stayed() -> None:
    """And what its levels rest on is named, once for a workload."""
    outliers_of = tuple(f"o{n}" for n in range(9))
    known: dict[str, Any] = {"bridged": (("v6.5.9", "v6.5.0"),), "outliers": outliers_of}
    changes = [change("c4", "c5", until="c9", **known), change("c8", "c9", +0.05, **known)]
    (event,) = events.of_changes("weekly", "c12", {INDEX: changes})
    down, up, bridged, outliers = text.of_changes(event, report(), ()).sentences
    assert down.endswith("to v-c5 in campaign c5, until campaign c9.")
    assert up.endswith("to v-c9 in campaign c9, and stayed there.")
    assert bridged.endswith("as if nothing had changed in between: v6.5.9 from v6.5.0.")
    assert outliers == (
        "Update Index: outliers, which did not count: o0, o1, o2, o3, o4, o5 and 3 more."
    )


def test_a_drift_names_the_releases_that_it_goes_over() -> None:
    """No pair of campaigns has it."""
    (event,) = events.of_changes("weekly", "c9", {INDEX: [drift("v1", "v6")]})
    found = text.of_changes(event, report(), ())
    assert found.subject == "Slow drift: sysbench_test: Update Index"
    (said,) = found.sentences
    assert said == (
        "Update Index: throughput changed by -4.88% (99% interval -5.82% to -3.92%) over 6 "
        "releases, from v1 to v6; no change point explains it."
    )
    assert found.table[1][:4] == ("Update Index", "v1", "v6", "-4.88%")


def test_reasons_are_given_in_full_but_a_long_one_is_cut() -> None:
    """And control characters are gone."""
    reasons = ["on tikv-1:\n\x1b[31mno space left\x07", "x" * 5000]
    found = text.of_reasons(events.of_failure("verdict", reasons, NOW, campaign="c1"), ())
    assert found.subject == "Failed: verdict of c1"
    assert found.sentences[0] == "on tikv-1: [31mno space left"
    assert len(found.sentences[1]) == 1000


def test_what_was_ended_is_counted_and_named() -> None:
    """Each with its sentence."""
    event = events.of_reaped(["us-west-2: instance i-1 terminated.", "us-west-2: key pair k."])
    assert event is not None
    found = text.of_reasons(event, ())
    assert found.subject == "Ended past its expiry: 2 rented resources"
    assert found.sentences == ("us-west-2: instance i-1 terminated.", "us-west-2: key pair k.")


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
        "{% raw %}",
        "```",
        "&lt;",
    ]
)


@given(WILD, WILD)
def test_no_text_becomes_markup_or_a_template(reason: str, where: str) -> None:
    """A mail shows it letter by letter; in Slack it can neither link nor call anyone."""
    event = events.of_failure("plan", [reason], NOW, campaign="c1")
    found = text.of_reasons(event, [("Report", where)])
    page = _Page(text.html(found))
    assert page.elements <= {"h2", "p", "a"}
    assert found.sentences[0] in page.text
    slack = text.mrkdwn(found)
    assert "<" not in slack
    assert ">" not in slack
    plain = slack.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert found.sentences[0] in plain


def test_a_table_keeps_its_columns_in_slack_and_in_a_mail() -> None:
    """Under each other in letters of one width; and as a table."""
    message = Message("s", (), (("workload", "p"), ("a`b", "< 0.001"), ("longest one", "= 1")), ())
    lines = text.mrkdwn(message).splitlines()
    assert lines[1:] == [
        "```",
        "workload     p",
        "a'b          &lt; 0.001",
        "longest one  = 1",
        "```",
    ]
    assert "<td>longest one</td><td>= 1</td>" in text.html(message)


@pytest.mark.parametrize(
    ("address", "linked"),
    [("https://a/b?c&d", True), ("s3://a/b", False), ("javascript:alert(1)", False)],
)
def test_only_an_address_of_the_web_is_a_link(address: str, linked: bool) -> None:
    """Anything else is text that says where."""
    page = _Page(text.html(Message("s", (), (), (("Report", address),))))
    assert ("a" in page.elements) == linked
    assert f"Report: {address}" in page.text
