"""A campaign on a machine that has other things to do, by the gates that are shipped."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from benchlab.campaign.progress import ProgressLog
from tests.machine import PROJECT, machine_in


def test_a_trial_beside_a_busy_neighbour_is_invalid(tmp_path: Path, servers: Path) -> None:
    """It is waited for, then measured with a warning; the trial names the gate.

    It is waited for as long as the campaign takes, so this one has one side. However many cores and
    neighbours there are, a loop on each core takes its share of them.
    """
    loop = ["sh", "-c", "for core in $(seq $(nproc)); do (while :; do :; done) & done; wait"]
    with machine_in(tmp_path, servers, PROJECT) as machine:
        neighbour = subprocess.Popen(loop, process_group=0)
        try:
            run = ("benchlab.cli.main", "run", "sysbench_local_single", "--campaign", "busy")
            machine.run(*run, *machine.settings(seconds=3, repeat_limit=0), code=1)
        finally:
            os.killpg(neighbour.pid, signal.SIGKILL)
            neighbour.wait()
        _, (trial,) = machine.outcome("busy")
        assert any(
            str(reason).startswith("gate other_work failed: ") for reason in trial.reasons
        ), trial
        steps = ProgressLog(machine.here.campaign("busy") / "progress.jsonl").read()[0]
        phases = [step.phase for step in steps if step.stage == "trial"]
        assert phases[:2] == ["wait for calm", "warning"]
