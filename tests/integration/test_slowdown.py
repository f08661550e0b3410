"""Does Benchlab find what is there, and nothing where nothing is? With real servers, and sides that
are equal but for a slowdown on purpose.
"""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.machine import LIMIT_S, Machine

# Of the release whose server stops faster, with the workload that waits for no disk.
EQUAL = {
    "sides": "same",
    "baseline": "10.11.5",
    "workloads": "oltp_point_select",
    "restore": "after_writes",
}


@pytest.mark.alone
@pytest.mark.parametrize(
    ("slowdown_pct", "rounds"), [(60, 4), pytest.param(30, 12, marks=pytest.mark.long)]
)
def test_a_slowdown_is_called_a_regression(
    machine: Machine, slowdown_pct: int, rounds: int
) -> None:
    """It is found, with valid trials, and the report says what was done on purpose.

    30 % cost that much or more: with two cores 40 % were seen, and rounds with a standard deviation
    of 20 %. Twelve of them miss it by chance less than once in 1,000 campaigns; so do four that
    miss 60 %. A trial is long enough to outlive a machine that stands still for a second; one
    second's trial would be an outlier that the rule takes for noise.
    """
    name = f"slowed-by-{slowdown_pct}"
    settings = machine.settings(**EQUAL, slowdown_pct=slowdown_pct, rounds=rounds, seconds=3)
    output = machine.run(
        "benchlab.cli.main", "run", "sysbench_local", "--campaign", name, *settings
    )
    campaign, _ = machine.outcome(name)
    assert campaign.state == "complete"
    assert not campaign.is_aa
    comparison = machine.comparison(name)
    assert comparison["missing"] == []
    (workload,) = comparison["workloads"]
    assert workload["verdict"] == "regression", json.dumps(workload)
    assert f"slowed down by {slowdown_pct}% on purpose" in " ".join(output.split())
    assert "Where the time went: more waiting, " in machine.run("benchlab.cli.main", "render", name)
    assert machine.left_running(name) == []


@pytest.mark.alone
def test_without_a_slowdown_equal_sides_are_no_change(machine: Machine) -> None:
    """An A/A campaign: `equivalent`, `inconclusive` or `unstable`.

    With a threshold of 2 % the rule itself allows a false alarm in one of 20 campaigns. With 40 %
    there is one in 1,000 if the rounds' ratios have a standard deviation of 25 %.
    """
    settings = machine.settings(**EQUAL, threshold_pct=40, rounds=6)
    machine.run("benchlab.cli.main", "run", "sysbench_local", "--campaign", "equal", *settings)
    campaign, _ = machine.outcome("equal")
    assert campaign.state == "complete"
    assert campaign.is_aa
    (workload,) = machine.comparison("equal")["workloads"]
    assert workload["verdict"] in ("equivalent", "inconclusive", "unstable"), json.dumps(workload)


def test_a_slowdown_that_was_killed_makes_its_trial_invalid(machine: Machine) -> None:
    """The server goes on; a candidate that was not slowed down all the time is measured again."""
    run = machine.start(
        *("benchlab.cli.main", "run", "sysbench_local", "--campaign", "killed-slowdown"),
        *machine.settings(**EQUAL, slowdown_pct=50, seconds=3),
    )
    if "candidate" not in str(machine.wait_for("killed-slowdown", "run").trial):
        machine.wait_for("killed-slowdown", "run", after=1)
    os.kill(machine.pid_of("killed-slowdown", "slowdown-candidate"), signal.SIGKILL)
    output, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0, output
    campaign, trials = machine.outcome("killed-slowdown")
    assert campaign.state == "complete"
    (broken,) = [result for result in trials if not result.valid]
    assert (broken.trial.side, broken.attempt) == ("candidate", 1)
    assert {result.attempt for result in trials if result.valid} == {1, 2}
    assert machine.left_running("killed-slowdown") == []
