"""Profiles of a real server in diagnosis trials, taken by perf; and one that dies of it."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest

from benchlab.engines import perf
from benchlab.hosts.executor import LocalExecutor
from benchlab.results import diagnosis
from benchlab.results.diagnosis import Diagnosis
from benchlab.results.pprof import parse
from tests.machine import Machine

WORKLOAD = "oltp_update_index"
# What sysbench writes into rows, and what their table is called.
ROWS = re.compile(rb"\d{11}-\d{11}|sbtest")
# Ends the server that it is to record; says that it could record when it is tried.
DEADLY = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = -p ] && kill -SEGV "$2" && exit 1; shift; done
"""


def diagnosed(machine: Machine, campaign: str) -> Diagnosis:
    """What a campaign's diagnosis recorded."""
    known = diagnosis.found(machine.outcome(campaign)[0].environment)
    assert known is not None
    return known


def run(machine: Machine, campaign: str) -> None:
    """A campaign that is diagnosed, whatever it finds."""
    machine.run(
        *("tests.builders.profiling_only", "run", "sysbench_local", "--campaign", campaign),
        *machine.settings(diagnose="always", deployments=1, rounds=2, seconds=5),
    )


def test_functions_of_a_real_server_are_seen_and_no_row_is(
    machine: Machine, tmp_path: Path
) -> None:
    """Four profiles of each side are compared; files hold nothing that sysbench wrote."""
    if (why := perf.fault(LocalExecutor(tmp_path, "try"))) is not None:
        pytest.skip(str(why))
    run(machine, "seen")
    known = diagnosed(machine, "seen")
    taken = known.of(WORKLOAD, "cpu")
    assert len(taken) == 8, known
    functions = set[str]()
    with machine.store() as store:
        for one in taken:
            content = store.read_bytes(one.objects["mariadb-server.folded.gz"])
            functions |= {name for stack in parse("folded", content).stacks for name in stack}
        for name in known.objects():
            content = store.read_bytes(name)
            plain = gzip.decompress(content) if name.endswith(".gz") else content
            assert not ROWS.search(plain), name
    assert any("mysql_execute_command" in name for name in functions), functions
    report = machine.here.reports / "seen"
    (found,) = json.loads((report / "report.json").read_text())["workloads"]
    mariadb = found["functions"]["cpu"]["mariadb"]
    assert (mariadb["unit"], mariadb["profiles"]) == ("us_per_query", [4, 4])
    assert (report / "charts" / f"{WORKLOAD}-flame-cpu-mariadb.svg").exists()
    assert "Which functions" in (report / "report.md").read_text()
    (why,) = known.why_not(["allocations"])
    assert str(why) == "MariaDB has no profiles of allocations"
    assert machine.verified("seen").outcome == "holds"


@pytest.mark.fault(
    "a server dies of being profiled",
    promise="verdict and report are there, and the finding says so",
    of="servers",
)
def test_a_server_that_dies_of_its_profiler_costs_the_campaign_nothing(
    machine: Machine, tmp_path: Path
) -> None:
    """Its verdict and its report are there; the finding is about the profiler."""
    program = tmp_path / "deadly" / "perf"
    program.parent.mkdir()
    program.write_text(DEADLY)
    program.chmod(0o755)
    machine.environment["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    run(machine, "deadly")
    campaign, trials = machine.outcome("deadly")
    assert campaign.state == "complete"
    assert len(trials) == 4
    assert all(one.valid for one in trials), [one.reasons for one in trials]
    known = diagnosed(machine, "deadly")
    (dead,) = known.trials
    assert dead.ended == ("mariadb",)
    assert "was ended by signal SIGSEGV" in str(known.why_not(["cpu"])[0])
    assert "was ended by signal SIGSEGV" in (
        machine.here.reports / "deadly" / "report.md"
    ).read_text().replace("\\", "")
    assert not machine.left_running("deadly")
