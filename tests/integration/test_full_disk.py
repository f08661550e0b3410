"""A disk that is full names itself and spoils nothing: once there is room, the campaign goes on."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.machine import LIMIT_S, Machine

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
RUN = ("benchlab.cli.main", "run", "sysbench_local", "--campaign", "full")


@contextlib.contextmanager
def disk(folder: Path, size: str) -> Iterator[Path]:
    """A disk of its own for a folder; the path of a file that can fill it."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    if subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        yield folder / "filler"
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(filler: Path) -> None:
    """To the last byte."""
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(65536))


def complete(machine: Machine) -> None:
    """Everything of the small campaign was measured."""
    campaign, results = machine.outcome("full")
    assert campaign.state == "complete"
    assert {result.trial.id for result in results if result.valid} == {
        trial.id for trial in campaign.plan.trials
    }
    assert machine.left_running("full") == []
    assert machine.holder() is None


@pytest.mark.fault(
    "a disk fills while a dataset is loaded",
    promise="host, path and gigabytes are named, nothing stays, and the campaign goes on once "
    "there is room",
    of="disks",
)
def test_a_disk_that_fills_while_loading_is_named(machine: Machine) -> None:
    """By path and gigabytes; nothing stays, and the campaign goes on once there is room."""
    with disk(folder := machine.here.root / "campaigns", "1g") as filler:
        settings = machine.settings(dataset__table_size=100_000)
        process = machine.start(*RUN, *settings)
        machine.wait_for("full", "load baseline")
        fill(filler)
        output, _ = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 1, output
        assert f"localhost: only 0.00 GiB are free in {folder}/full, but 0.25" in output
        assert "The table 'sbtest1' is full" in output
        assert machine.outcome("full")[0].state == "failed"
        assert machine.left_running("full") == []
        assert machine.holder() is None
        filler.unlink()
        machine.run(*RUN, *settings)
        complete(machine)


@pytest.mark.fault(
    "the disks of objects and of reports are full",
    promise="the path is named, no trial is counted as failed, and running or publishing again "
    "does the rest",
    of="disks",
)
def test_a_disk_that_is_full_of_results_costs_no_trial(machine: Machine) -> None:
    """What cannot be stored or published is named with its path; then both are done again."""
    objects, reports = machine.here.root / "objects", machine.here.reports
    with disk(objects, "1m") as full, disk(reports, "8m") as beside:
        fill(full)
        fill(beside)
        output = machine.run(*RUN, *machine.settings(), code=1)
        assert f"{objects}/full/" in output
        assert "cannot be written: the disk is full" in output
        campaign, results = machine.outcome("full")
        assert (campaign.state, results) == ("failed", [])
        full.unlink()
        output = machine.run(*RUN, *machine.settings(), code=1)
        assert f"{reports}/full: the report cannot be written: the disk is full" in output
        assert "`benchlab publish full` repeats what failed" in output
        before = machine.outcome("full")[1]
        beside.unlink()
        machine.run("benchlab.cli.main", "publish", "full")
        complete(machine)
        assert machine.outcome("full")[1] == before
        assert machine.verified("full").outcome == "holds"


@pytest.mark.fault(
    "the home has no room for results",
    promise="the campaign is refused with path and gigabytes before anything is deployed",
    of="disks",
)
def test_too_little_room_for_results_is_refused_before(machine: Machine, servers: Path) -> None:
    """With the folder and what is free in it; nothing is deployed."""
    root = machine.here.root
    with disk(root, "200m"):
        (root / "servers").symlink_to(servers)
        output = machine.run(*RUN, *machine.settings(), code=1)
        assert f"this machine: only 0.19 GiB are free in {root}, but 0.25 GiB are needed" in output
        assert not (machine.here.campaign("full") / "baseline").exists()
        assert machine.holder() is None
