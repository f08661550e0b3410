"""Whole TPC-C campaigns on two real MariaDB releases, through real HAProxy and sysbench."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from benchlab.plan.report_type import Side
from tests.builders import go_tpc
from tests.machine import LIMIT_S, Machine

SMALL = {
    "engine": "mariadb",
    "client.program": "embedded",
    "threads": "2",
    "rounds": "1",
    "seconds": "3",
    "warmup_seconds": "0",
    "repeat_limit": "0",
    "dataset.warehouses": "1",
}


def settings(machine: Machine, **changed: object) -> list[str]:
    """`--set` arguments of the smallest TPC-C campaign, with changes (`__` for a dot)."""
    values: dict[str, object] = {**SMALL, **{f"ports.{k}": v for k, v in machine.ports.items()}}
    values |= {key.replace("__", "."): value for key, value in changed.items()}
    return [part for key, value in values.items() for part in ("--set", f"{key}={value}")]


def run(campaign: str, *arguments: str) -> tuple[str, ...]:
    """`benchlab run` of the local report type."""
    return ("benchlab.cli.main", "run", "tpcc_local", "--campaign", campaign, *arguments)


def test_one_command_loads_checks_measures_and_reports(machine: Machine) -> None:
    """Every figure is one that the client printed, and the data were consistent throughout."""
    said = machine.run(*run("whole", *settings(machine)))
    campaign, trials = machine.outcome("whole")
    assert campaign.state == "complete"
    assert [result.valid for result in trials] == [True, True], [r.reasons for r in trials]
    assert campaign.environment["client_program"] == "embedded"
    for side in ("baseline", "candidate"):
        found = campaign.facts[side].consistency
        assert set(found) == {"load", "last trial"}
        for conditions in found.values():
            assert {f"3.3.2.{n}" for n in (1, 2, 3, 4)} <= {c.clause for c in conditions}
            assert not [c for c in conditions if c.violations]
    with machine.store() as store:
        for result in trials:
            assert result.raw is not None
            raw = store.read_bytes(result.raw).decode()
            assert f"tpmC: {result.value('tpmc')}, " in raw
            statuses = {gate.gate: gate.status for gate in result.gates}
            for gate in ("printed_rate", "tpcc_efficiency", "tpcc_mix", "consistency", "dataset"):
                assert statuses[gate] == "pass"
    (cell,) = machine.comparison("whole")["workloads"][0]["cells"]
    assert {side: cell[side]["tpmc"] for side in ("baseline", "candidate")} == pytest.approx(
        {result.trial.side: result.value("tpmc") for result in trials}
    )
    assert "tpmC" in said
    report = (machine.here.reports / "whole" / "report.md").read_text()
    assert campaign.environment["client_version"] in report
    verified = machine.verified("whole")
    assert verified.outcome == "holds", verified.lines()
    assert machine.left_running("whole") == []
    assert machine.holder() is None


@pytest.mark.fault(
    "server or client is killed in a TPC-C trial",
    promise="neither trial has a figure, and the run says what is missing",
    of="servers",
)
@pytest.mark.long  # test_campaign has the same for sysbench
def test_neither_a_killed_server_nor_a_killed_client_has_a_figure(machine: Machine) -> None:
    """Both trials are rejected, each with the reason, and the run says what is missing."""
    process = machine.start(*run("killed", *settings(machine)))
    first = machine.wait_for("killed", "run")
    side: Side = "candidate" if "candidate" in str(first.trial) else "baseline"
    os.kill(machine.pid_of("killed", f"server-{side}"), signal.SIGKILL)
    machine.wait_for("killed", "run", after=1)
    (client,) = (
        path.parent.name
        for path in machine.here.campaign("killed").glob("jobs/client-*/pid")
        if side not in path.parent.name
    )
    os.kill(machine.pid_of("killed", client), signal.SIGKILL)
    said, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1, said
    assert "2 of 2 trials have no valid result" in said
    campaign, (server, client_result) = machine.outcome("killed")
    assert campaign.state == "failed"
    assert any("ran to its end" in str(reason) for reason in server.reasons), server.reasons
    assert any("exit code" in str(reason) for reason in client_result.reasons), (
        client_result.reasons
    )
    (cell,) = machine.comparison("killed")["workloads"][0]["cells"]
    assert cell["baseline"]["tpmc"] is cell["candidate"]["tpmc"] is None
    assert machine.left_running("killed") == []


def sql(machine: Machine, campaign: str, side: str, statement: str) -> str:
    """What a side's server answers the campaign's own account."""
    config = machine.here.campaign(campaign) / side / "client.cnf"
    command = ["mariadb", f"--defaults-file={config}", "--protocol=tcp"]
    return subprocess.run(
        [*command, f"--port={machine.ports['server']}", "--batch", "--skip-column-names"],
        input=statement,
        text=True,
        capture_output=True,
        check=True,
        timeout=30,
    ).stdout


def test_data_that_are_inconsistent_in_the_end_make_a_red_run(
    machine: Machine, tmp_path: Path
) -> None:
    """The report is there, with the figures and with what does not hold; go-tpc measured them."""
    go_tpc.install(tmp_path / "bin" / "go-tpc")
    machine.environment["PATH"] = f"{tmp_path / 'bin'}:{machine.environment['PATH']}"
    process = machine.start(*run("broken", *settings(machine, client__program="go-tpc")))
    step = machine.wait_for("broken", "run")
    side: Side = "candidate" if "candidate" in str(step.trial) else "baseline"
    sql(machine, "broken", side, "UPDATE tpcc.warehouse SET w_ytd = w_ytd + 1")
    said, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 1, said
    assert "3.3.2.1" in said
    assert side in said
    campaign, trials = machine.outcome("broken")
    assert campaign.environment["client_version"] == "go-tpc v1.0.12"
    assert all(result.valid for result in trials), [result.reasons for result in trials]
    found = campaign.facts[side].consistency["last trial"]
    assert {c.clause: c.violations for c in found if c.violations} == {"3.3.2.1": 1}
    (workload,) = machine.comparison("broken")["workloads"]
    assert workload["verdict"] == "unstable"
    assert "3.3.2.1" in " ".join(workload["reasons"])
    assert "3.3.2.1" in (machine.here.reports / "broken" / "report.md").read_text()


def test_a_client_that_is_not_there_is_said_before_anything_is_loaded(machine: Machine) -> None:
    """The error names it, the host and what was tried."""
    if shutil.which("go-tpc"):
        pytest.skip("go-tpc is on this machine")
    said = machine.run(*run("none", *settings(machine, client__program="go-tpc")), code=1)
    assert "client.program: on localhost there is no go-tpc" in said
    assert machine.outcome("none")[1] == []
    assert machine.left_running("none") == []
