"""Why workloads changed, in the lines below the answer: in reports, notes, messages, terminals."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from benchlab.analysis.verdict.compare import compare
from benchlab.language import load
from benchlab.report.formats import pages, terminal
from benchlab.report.model import causes
from benchlab.report.model import report as model
from benchlab.report.model.report import Report
from benchlab.report.notifications import events
from benchlab.report.sentences import why
from benchlab.results.records import Campaign
from tests.builders import campaigns, splits
from tests.builders.splits import BUSY, CLUSTER, noise

NAMES = ["oltp_insert", "oltp_point_select", "oltp_read_write", "oltp_delete", "oltp_update_index"]
LOSSES = dict(zip(NAMES, (0.8, 0.7, 1.0, 0.9, 0.6), strict=True))
DEFAULTS = {"baseline": {"tidb_enable_1pc": "OFF"}, "candidate": {"tidb_enable_1pc": "ON"}}


def campaign(**fields: Any) -> Campaign:
    """Five workloads; a default of the servers changed between the versions."""
    made = campaigns.campaign(workloads=NAMES, threads=[4], rounds=6, **fields)
    facts = {
        side: dataclasses.replace(one, variables=DEFAULTS[side]) for side, one in made.facts.items()
    }
    return dataclasses.replace(made, facts=facts)


def reported(made: Campaign, language: str = "en", lost: float = 1.0) -> Report:
    """Candidates whose servers wait longer in four of the workloads."""
    results, kept = splits.busy_with(
        made.plan,
        lambda trial: {name: value * noise(trial) for name, value in CLUSTER.items()},
        lambda trial: (
            BUSY
            * (LOSSES[trial.workload] ** lost if trial.side == "candidate" else 1.0)
            * noise(trial, 0.001)
        ),
    )
    comparison = compare(made.plan, results, 2.0)
    known = causes.read(made, comparison, results, splits.reading(kept))
    return model.build(made, comparison, results, language=load(language), causes=known)


def test_the_largest_changes_are_explained_in_a_line_each_and_defaults_are_named() -> None:
    """Three of four, the largest first; a default that nobody set stands beside them."""
    said = why.lines(reported(campaign()))
    assert [line.partition(" (")[0] for line in said[:3]] == [
        *("Update Index", "Point Select", "Insert"),
    ]
    assert "(-40.0%): more waiting, the servers' CPUs were 40.0% less busy" in said[0]
    assert said[3:] == ["Settings that differ though nobody set them: tidb_enable_1pc."]
    chinese = why.lines(reported(campaign(), "zh"))
    assert chinese[-1] == "无人设置却不同的配置：tidb_enable_1pc。"


def test_they_are_wherever_the_answer_is() -> None:
    """Report, comment, note, terminal and message."""
    report = reported(campaign())
    line = why.lines(report)[0].partition(":")[0]
    told = [event for event in events.of_verdicts(report) if event.kind == "regression"]
    for text in (
        pages.markdown(report).replace("\\", ""),
        pages.html(report),
        pages.comment(report).replace("\\", ""),
        pages.note(report, 5000).replace("\\", ""),
        terminal.render(report, 200, colour=False),
        "\n".join(told[0].lead),
    ):
        assert line in text


@pytest.mark.parametrize("fields", [{"sides": "same"}, {"slowdown_pct": 30}])
def test_a_change_that_is_noise_or_planted_is_not_explained(fields: dict[str, Any]) -> None:
    """Of an A/A campaign it is chance, and of a slowdown on purpose the reason is known."""
    assert why.lines(reported(campaign(**fields))) == []


def test_without_a_change_nothing_is_explained() -> None:
    """Nor are settings named."""
    assert why.lines(reported(campaign(), lost=0.0)) == []
