"""What a transaction takes, where a report is told: its words, its chart, its messages."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest
import typer

from benchlab.analysis.verdict.compare import compare
from benchlab.campaign.outcome import Outcome
from benchlab.cli.options import fail_on
from benchlab.language import load
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import Side
from benchlab.report import charts
from benchlab.report.formats import pages
from benchlab.report.model import report as model
from benchlab.report.model.report import Report
from benchlab.report.notifications import events
from benchlab.report.sentences import answer, opening
from benchlab.results.records import Campaign, TrialResult
from tests.builders import campaigns

WORKLOADS = ["oltp_insert", "oltp_point_select", "oltp_read_write"]
NAMES = ("rows_read", "rows_written", "redo_bytes", "server_cpu")
Taken = Callable[[PlannedTrial], float]


def more(pct: float, base: float = 1000.0) -> Taken:
    """A count that takes so much more on the candidate, and scatters a little."""

    def value(trial: PlannedTrial) -> float:
        scatter = 1 + 0.002 * ((3 * trial.index) % 4)
        return base * scatter * (1 + pct / 100 if trial.side == "candidate" else 1)

    return value


def only(side: Side) -> Taken:
    """A count of which the other side has none."""
    return lambda trial: 10.0 if trial.side == side else 0.0


def case(counts: dict[str, Taken], **fields: object) -> tuple[Campaign, list[TrialResult]]:
    """A campaign whose throughput and latency stay, with these counts in every workload."""
    of = {"workloads": WORKLOADS, "rounds": 4, "threads": [4, 8], "deployments": 4, **fields}
    made = campaigns.counting(campaigns.campaign(**of), *counts)  # type: ignore[arg-type]
    steady = campaigns.results_of(made.plan, campaigns.known_change({}, 0.002))
    return made, campaigns.taking(steady, **counts)


def report(counts: dict[str, Taken], code: str = "en", **fields: object) -> Report:
    """Its report."""
    made, results = case(counts, **fields)
    return model.build(made, compare(made.plan, results, 2.0), results, language=load(code))


ALL_DEARER = {name: more(pct) for name, pct in zip(NAMES, (30.0, 20.0, 50.0, 40.0), strict=True)}


# ---------------------------------------------------------------- the answer


def test_the_answer_names_the_largest_changes_and_counts_the_others() -> None:
    """Twelve dearer counts are one sentence; the table has them all."""
    found = report(ALL_DEARER)
    said = opening.sentence(found)
    assert re.search(r"dearer per transaction: \w+ redo log \(\+50\.\S+\) and 11 more", said)
    assert said.count("dearer") == 1
    assert "regression" not in said
    assert [row[1] for row in answer.taken(found)][:4] == [
        *("rows read", "rows written", "server CPU", "redo log"),
    ]


def test_a_count_that_a_side_has_none_of_is_the_largest_change() -> None:
    """It has no ratio, so it is said in words, and has no interval."""
    found = report({"rows_read": only("candidate"), "rows_written": only("baseline")})
    first, second = answer.lines(found, of_counts=True)[:2]
    assert (first.metric, first.change, first.verdict) == ("rows read", "from none", "dearer")
    assert (second.metric, second.change, second.verdict) == ("rows written", "to none", "cheaper")
    assert (first.interval, first.found) == ("n/a", "regression")
    assert answer.taken(found)[0][-3:] == ["from none", "n/a", "▼ dearer"]


def test_a_note_of_a_run_tells_of_counts_though_the_throughput_did_not_change() -> None:
    """Within the room that Airflow gives it; only the rows of the table make way."""
    found = report(ALL_DEARER)
    for room in (1000, 700):
        said = pages.note(found, room)
        assert len(said) <= room
        assert "dearer per transaction: Insert redo log (+50" in said.splitlines()[0]
        assert "and 11 more" in said.splitlines()[0]


def test_fail_on_says_what_a_change_of_a_count_is_called(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its verdict is asked for as any other one; slower it need not be."""
    made, results = case({"redo_bytes": more(9)}, workloads=["oltp_insert"])
    with pytest.raises(typer.Exit):
        fail_on(Outcome(made, results, compare(made.plan, results, 2.0)), ["regression"])
    assert capsys.readouterr().err == "--fail-on: oltp_insert, redo_bytes: regression, dearer\n"


# ---------------------------------------------------------------- the chart


def drawn(found: Report) -> ET.Element:
    """The chart of all workloads, as a file."""
    return ET.fromstring(charts.files(found)["charts/overview.svg"])  # noqa: S314


def texts(root: ET.Element) -> list[str]:
    """Its texts, in order."""
    return ["".join(text.itertext()) for text in root.findall(".//{*}text")]


def rows_of(root: ET.Element) -> dict[str, ET.Element]:
    """Each row's marks, by its label."""
    groups = root.findall(".//{*}g")
    return {named[0]: group for group in groups if (named := texts(group))}


def test_the_chart_of_changes_has_counts_below_the_throughput() -> None:
    """With their own limit, words and scale; a report without counts has no such chart."""
    root = drawn(report({"redo_bytes": more(9), "server_cpu": more(-4)}))
    said = texts(root)
    throughput = said.index("Change of throughput with its 95% interval; shaded: within ±2%")
    taken = said.index(
        "Change of what a transaction takes with its 95% interval; shaded: within ±1%; "
        "arrows: beyond the scale"
    )
    assert throughput < said.index("candidate faster →") < taken < said.index("← cheaper")
    rows = rows_of(root)
    assert re.fullmatch(r"▼ dearer \+9\.\d+% \(.+ to .+\)", texts(rows["Insert: redo log"])[1])
    assert re.fullmatch(r"▲ cheaper -4\.\d+% \(.+ to .+\)", texts(rows["Insert: server CPU"])[1])
    assert rows["Insert: redo log"].get("class") == "regression"
    assert not [text for text in texts(drawn(report({}))) if "transaction" in text]


def test_a_count_that_multiplied_does_not_press_the_others_flat() -> None:
    """The scale ends at ten times the limit; beyond it, an arrow and the figure."""
    root = drawn(report({"rows_written": more(200), "redo_bytes": more(9)}))
    ticks = [text.removesuffix("%") for text in texts(root) if re.fullmatch(r"[+-]\d+%", text)]
    assert max(map(int, ticks)) <= 10
    marks = [path.get("d", "") for path in rows_of(root)["Insert: rows written"].findall("{*}path")]
    assert len(marks) == 1, "its interval is beyond the scale as well"
    assert "l10 6l-10 6z" in marks[0]


@pytest.mark.parametrize(
    ("side", "arrow"), [("candidate", "l10 6l-10 6z"), ("baseline", "l-10 6l10 6z")]
)
def test_from_none_and_to_none_point_beyond_the_scale(side: Side, arrow: str) -> None:
    """There is no ratio to draw: which way it went is all that is known."""
    row = rows_of(drawn(report({"rows_read": only(side)})))["Insert: rows read"]
    (mark,) = row.findall("{*}path")
    assert arrow in mark.get("d", "")
    assert texts(row)[1] in ("▼ dearer from none", "▲ cheaper to none")


def test_counts_are_in_a_reports_page_with_the_chart_of_throughput() -> None:
    """The same chart as in the file, without a script."""
    page = pages.html(report({"redo_bytes": more(9)}))
    assert page.count('class="chart forest fine"') == 1
    assert page.index("Change of throughput") < page.index("Change of what a transaction takes")
    assert 'class="chart forest fine"' not in pages.html(report({}))


# ---------------------------------------------------------------- messages


def test_dearer_counts_are_one_short_message_and_no_regression() -> None:
    """A sentence for each workload, which names the largest; throughput is equivalent."""
    found = events.of_verdicts(report(ALL_DEARER))
    (event,) = [one for one in found if one.kind == "dearer"]
    assert not {"regression", "cheaper"} & {one.kind for one in found}
    assert event.subject == (
        "Dearer: sysbench_test, 10.11.5 against 10.2.11: Insert, Point Select, Read Write"
    )
    lines = event.text.splitlines()
    assert len(lines) == 3 + len(WORKLOADS), "subject, answer, trust, a line for each workload"
    assert re.match(
        r"• Insert is dearer with 10\.11\.5 than with 10\.2\.11, per transaction: "
        r"redo log \+50\.\d+% \([^)]+\), server CPU ",
        lines[3],
    )
    assert len(event.text) < 1500


def test_a_count_without_a_ratio_is_told_without_an_interval() -> None:
    """In both directions, each an event of its own; another workload's counts are not in it."""
    found = events.of_verdicts(report({"rows_read": only("candidate"), "rows_written": more(-5)}))
    by_kind = {event.kind: [said for part in event.parts for said in part.said] for event in found}
    assert by_kind["dearer"][0].endswith("per transaction: rows read from none.")
    assert "rows written -5." in by_kind["cheaper"][0]
    assert "rows read" not in by_kind["cheaper"][0]


def test_the_message_is_in_the_language_of_the_report() -> None:
    """With the glossary's word, not that for slower."""
    (event,) = [
        one
        for one in events.of_verdicts(report({"redo_bytes": more(9)}, "zh"))
        if one.kind == "dearer"
    ]
    assert event.subject.startswith("更费：sysbench_test")
    assert "Insert 的每个事务，10.11.5 比 10.2.11 更费：redo 日志 +9." in event.text


def test_counts_of_an_aa_campaign_and_of_a_slowdown_are_no_events() -> None:
    """A false alarm, and what somebody did on purpose."""
    for fields in ({"sides": "same"}, {"slowdown_pct": 10.0}):
        kinds = {one.kind for one in events.of_verdicts(report(ALL_DEARER, **fields))}
        assert not kinds & {"dearer", "cheaper"}


def test_the_same_change_of_another_campaign_is_another_message() -> None:
    """By its campaign and workload; the same one is known again."""
    made, results = case({"redo_bytes": more(9)})
    other = dataclasses.replace(made, id="c2")
    marks = []
    for one in (made, made, other):
        found = events.of_verdicts(model.build(one, compare(one.plan, results, 2.0), results))
        marks.append({m for e in found if e.kind == "dearer" for p in e.parts for m in p.marks})
    assert marks[0] == marks[1] == {f"c1/{name}" for name in WORKLOADS}
    assert not marks[0] & marks[2]


# ---------------------------------------------------------------- at equal load


def test_a_workload_at_a_rate_has_no_throughput_in_the_chart() -> None:
    """Its latencies are drawn as latencies, each by its name; its counts as those of any other."""
    made = campaigns.counting(
        campaigns.campaign(workloads=["oltp_insert"], rounds=4, deployments=4, rate="60 %"),
        "redo_bytes",
    )
    results = campaigns.taking(
        [
            campaigns.trial_result(trial, p50_ms=1.0, p99_ms=3.0 + (trial.side == "candidate"))
            for trial in made.plan.trials
        ],
        redo_bytes=more(9),
    )
    drawn_ = charts.changes(model.build(made, compare(made.plan, results, 2.0), results))
    rows = {
        kind: list(rows_of(ET.fromstring(picture.file())))  # noqa: S314
        for kind, (_, picture) in drawn_.items()
    }
    assert rows["throughput"] == ["Insert"]
    assert len(rows["latency"]) == 4
    assert sum(": p99" in label for label in rows["latency"]) == 1
    assert [label.endswith("redo log") for label in rows["count"]] == [True, True]
