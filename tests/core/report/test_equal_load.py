"""A report with workloads at equal load: decided by latencies, apart from those without a rate."""

from __future__ import annotations

import random
from typing import Any

import pytest

from benchlab.analysis.verdict.compare import compare
from benchlab.language import load
from benchlab.plan.order import PlannedTrial
from benchlab.report.formats import pages, terminal
from benchlab.report.model import figures, software
from benchlab.report.model import report as model
from benchlab.report.model.report import Report
from benchlab.report.notifications import events
from benchlab.report.sentences import answer, opening, wording
from benchlab.report.validation import run
from benchlab.results.records import TrialResult
from tests.builders import campaigns
from tests.core.report.test_validation import tables_of

MADE = campaigns.campaign(workloads=["oltp_read_write"], threads=[4, 16], rounds=6, rate="60 %")
AT = "oltp_read_write_at_60pct"


def result(trial: PlannedTrial) -> TrialResult:
    """Equal without a rate; at one, the candidate's p99 is 30 % longer."""
    noise = random.Random(trial.id).uniform(0.999, 1.001)
    slow = 1.3 if trial.side == "candidate" and trial.workload == AT else 1.0
    tps = 600.0 if trial.workload == AT else 1000.0
    own: dict[str, Any] = {"rate": 600.0} if trial.workload == AT else {}
    latencies = {"p50_ms": 2.0, "p95_ms": 4.0, "p99_ms": 8.0 * slow, "avg_ms": 3.0}
    latencies |= {"min_ms": 1.0, "max_ms": 20.0}
    found: dict[str, Any] = {name: value * noise for name, value in latencies.items()}
    return campaigns.trial_result(trial, tps=tps * noise, qps=20 * tps * noise, **found, **own)


RESULTS = [result(trial) for trial in MADE.plan.trials]
COMPARISON = compare(MADE.plan, RESULTS, 2.0)


def report(code: str = "en") -> Report:
    """The report of that campaign."""
    return model.build(MADE, COMPARISON, RESULTS, language=load(code))


def test_the_answer_says_apart_what_equal_load_shows() -> None:
    """A throughput that was given is no verdict on it."""
    assert opening.sentence(report()) == (
        "10.11.5 is slower by p99 latency at Read Write at 60 % (+30.0%); no answer for Read Write."
    )


def test_the_table_of_the_answer_has_three_latencies_and_no_throughput() -> None:
    """Of the workload at a rate; the other one's stay as they are."""
    rows = [(line.metric, line.found) for line in answer.lines(report()) if "60 %" in line.workload]
    assert rows == [
        ("p95 latency", "inconclusive"),
        ("p50 latency", "inconclusive"),
        ("p99 latency", "regression"),
    ]


@pytest.mark.parametrize("code", ["en", "zh"])
def test_a_section_at_a_rate_says_what_was_sent(code: str) -> None:
    """And has no column for a change of what both sides were sent."""
    made = report(code)
    section = next(one for one in made.sections if one.at_rate)
    assert "600" in wording.outcome(made, section)
    assert "30.0%" in wording.latency(made, section)
    assert len(figures.display(section, made.language).changes) == 1
    assert section.leading.verdict == "regression", "what changed heads it, though it comes last"
    for text in (pages.html(made), pages.markdown(made)):
        assert "Read Write at 60 %" in text
    assert "n/a" not in str(figures.rows(section, made.language))


def test_the_terminal_shows_what_was_sent_as_throughput() -> None:
    """Not a latency in its column."""
    _, _, text = terminal.render(report(), 200, colour=False).partition("Read Write at 60 %:")
    row = next(line for line in text.splitlines() if line.split()[:1] == ["16"])
    assert row.split()[1].startswith(("600", "599"))


def test_what_is_published_agrees_with_a_second_computation() -> None:
    """Every figure of a workload at a rate, as of any other."""
    found = run.check(tables_of(MADE, RESULTS))
    assert found.failures == ()


def test_commands_show_the_rate_as_a_word() -> None:
    """It was found when it ran; its trials have it."""
    shown = [one.text for one in software.commands_of(MADE, load("en"))]
    assert [" --rate=$rate " in text for text in shown] == [False, False, True]


def test_a_longer_latency_at_a_rate_is_told() -> None:
    """Though the first of its latencies is not longer."""
    (event,) = [one for one in events.of_verdicts(report()) if one.kind == "regression"]
    assert "p99" in str(event)
