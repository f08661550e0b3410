"""A pair of a real campaign measured again: killed, gone on with, and asked for once more."""

from __future__ import annotations

import zipfile

import pytest

from benchlab.results.records import REPRODUCES
from tests.machine import Machine

CLI = "benchlab.cli.main"


@pytest.mark.fault(
    "`benchlab reproduce` is killed",
    promise="the same command goes on with it",
    of="processes",
)
def test_a_pair_of_a_campaign_is_measured_again(machine: Machine) -> None:
    """One workload of two, on both versions; after a kill the same command goes on with it."""
    both = machine.settings(rounds=2, workloads="oltp_point_select,oltp_update_index")
    machine.run(CLI, "run", "sysbench_local", "--campaign", "first", *both)
    original, _ = machine.outcome("first")
    again = (CLI, "reproduce", "first", "--workload", "update_index", "--campaign", "again")
    run = machine.start(*again)
    machine.wait_for("again", "run", after=1)
    run.kill()
    run.communicate()
    machine.processes.remove(run)
    said = machine.run(*again)
    campaign, trials = machine.outcome("again")
    assert campaign.state == "complete"
    assert campaign.origin == f"{REPRODUCES}first"
    assert campaign.plan.sides == original.plan.sides
    assert [planned.workload for planned in campaign.plan.trials] == ["oltp_update_index"] * 2
    assert {one.trial.side for one in trials if one.valid} == {"baseline", "candidate"}
    assert "said by first; now by again:" in said
    assert "1 pair on one deployment: no verdict follows" in said
    assert "Measured otherwise" not in said, said
    assert "is complete" in machine.run(*again), "it is not measured a third time"
    for name in ("first", "again"):
        assert not machine.verified(name).differences, machine.verified(name).lines()
    with zipfile.ZipFile(machine.here.reports / "first" / "evidence.zip") as archive:
        page = archive.read("reproduce/README.md").decode()
        counts = archive.read("reproduce/counts.csv").decode()
    assert ", 2 threads\n" in page
    assert "--threads=2" in page
    assert "rows_read" in counts
    with machine.store() as store:
        assert {one.report for one in store.listing.reports() if one.decided} == {"sysbench_local"}
    assert machine.left_running("again") == []
    assert machine.holder() is None
