"""Real servers in a home of their own: downloads are shared, everything else is thrown away.

The fixtures :func:`servers` and :func:`machine` are for the layers that start real servers; a
layer's conftest.py imports them.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlab import engines, home
from benchlab.campaign.progress import ProgressLog, ProgressNote
from benchlab.home import Home
from benchlab.hosts.executor import TAG, end_tagged, tagged
from benchlab.hosts.lock import MachineLock
from benchlab.report import evidence
from benchlab.report.evidence import Verification
from benchlab.results.records import Campaign, TrialResult
from benchlab.results.store import Store
from tests.ports import free_port

PROJECT = Path(__file__).parents[1]
VERSIONS = ("10.2.11", "10.11.5")
LIMIT_S = 600.0
LOOK_AGAIN_S = 0.1
# What a project is made of beside its configurations.
LINKED = ("dags", "plugins", "include", "bin", "pyproject.toml", "docs", "tests")
# Gates that another test, at work on the same two cores, would fail.
OF_NEIGHBOURS = ("cpu_steal", "other_work")
# The smallest campaign that still has everything: two sides, one workload, one thread count.
SMALL = {
    "engine": "mariadb",
    "workloads": "oltp_update_index",
    "threads": "2",
    "rounds": "1",
    "seconds": "1",
    "warmup_seconds": "0",
    "dataset.tables": "1",
    "dataset.table_size": "1000",
}


@pytest.fixture(scope="session")
def servers() -> Path:
    """Both MariaDB releases, fetched once; `make setup` has done it already."""
    here = home.find()
    for version in VERSIONS:
        engines.install("mariadb", version, here)
    return here.servers


@dataclass
class Machine:
    """A home of its own on this machine, with free ports and its own machine lock."""

    here: Home
    environment: dict[str, str]
    ports: dict[str, int]
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    def settings(self, **changed: object) -> list[str]:
        """`--set` arguments of the small campaign, with changes (`__` for a dot)."""
        values: dict[str, object] = {**SMALL, **{f"ports.{k}": v for k, v in self.ports.items()}}
        values |= {key.replace("__", "."): value for key, value in changed.items()}
        return [part for key, value in values.items() for part in ("--set", f"{key}={value}")]

    def start(self, *command: str) -> subprocess.Popen[str]:
        """A process of this home, in a process group of its own."""
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.processes.append(process)
        return process

    def run(self, *command: str, code: int = 0) -> str:
        """What a process prints that ends with ``code``."""
        process = self.start(*command)
        output, _ = process.communicate(timeout=LIMIT_S)
        self.processes.remove(process)
        assert process.returncode == code, output
        return output

    def store(self) -> Store:
        """The home's results store."""
        return Store(f"sqlite:///{self.here.root}/results.db", self.here.objects)

    def verified(self, campaign: str) -> Verification:
        """What its evidence bundle holds, without the store."""
        return evidence.verify(self.here.reports / campaign / "evidence.zip")

    def outcome(self, campaign: str) -> tuple[Campaign, list[TrialResult]]:
        """A campaign and its trials."""
        with self.store() as store:
            return store.campaign(campaign), store.trials(campaign)

    def comparison(self, campaign: str) -> dict[str, Any]:
        """`benchlab compare --json`."""
        found: dict[str, Any] = json.loads(
            self.run("benchlab.cli.main", "compare", campaign, "--json")
        )["report"]
        return found

    def wait_for(self, campaign: str, phase: str, *, after: int = 0) -> ProgressNote:
        """The first step of this phase once ``after`` trials are behind; fails if none comes."""
        log = ProgressLog(self.here.campaign(campaign) / "progress.jsonl")
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            ended = bool(self.processes) and all(p.poll() is not None for p in self.processes)
            for step in log.read()[0]:
                if step.phase == phase and (step.done or 0) >= after:
                    return step
            if ended:
                raise AssertionError(f"{campaign} ended first: {self.processes[-1].communicate()}")
            time.sleep(LOOK_AGAIN_S)
        raise AssertionError(f"{campaign} never came to {phase}: {log.read()[0][-3:]}")

    def pid_of(self, campaign: str, job: str) -> int:
        """The process of a job."""
        deadline = time.monotonic() + LIMIT_S
        path = self.here.campaign(campaign) / "jobs" / job / "pid"
        while not path.exists():
            assert time.monotonic() < deadline, f"{job} was never started"
            time.sleep(LOOK_AGAIN_S)
        return int(path.read_text())

    def left_running(self, campaign: str) -> list[int]:
        """Processes with the campaign's tag."""
        return list(tagged(f"{TAG}={campaign}"))

    def holder(self) -> object:
        """Who holds the machine."""
        return MachineLock(Path(self.environment["BENCHLAB_LOCK"])).holder()

    def clean_up(self) -> None:
        """End whatever a failed test left."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            if process.stdout is not None and not process.stdout.closed:
                process.communicate()
        campaigns = self.here.root / "campaigns"
        for directory in campaigns.iterdir() if campaigns.is_dir() else ():
            end_tagged(f"{TAG}={directory.name}", grace_s=2)


@pytest.fixture
def machine(tmp_path: Path, servers: Path) -> Iterator[Machine]:
    """A home in which a campaign can run, and from which nothing stays."""
    with machine_in(tmp_path, servers) as found:
        yield found


def project_in(folder: Path, *gates: str) -> Path:
    """A project whose configurations can be changed, and whose trials may have neighbours.

    Args:
        gates: more of those that neighbours would fail.
    """
    project = folder / "project"
    shutil.copytree(PROJECT / "configs", project / "configs")
    let_neighbours_be(project / "configs", *gates)
    for name in LINKED:
        (project / name).symlink_to(PROJECT / name)
    return project


def let_neighbours_be(configs: Path, *gates: str) -> None:
    """Raise what neighbours may take above what there is, so that it is not waited for either."""
    for path in (configs / "quality").glob("*.yaml"):
        entries = yaml.safe_load(path.read_text())
        raised = [one for one in entries if one["id"] in (*OF_NEIGHBOURS, *gates)]
        for entry in raised:
            entry["max"] = 2.0
        if raised:
            path.write_text(yaml.safe_dump(entries))


@contextmanager
def machine_in(
    folder: Path, servers: Path, project: Path | None = None, **environment: str
) -> Iterator[Machine]:
    """The same in a folder of the caller's, for as long as the caller needs it.

    Args:
        project: whose configurations and DAGs; None: those of :func:`project_in`.
        environment: more of it.
    """
    project = project or project_in(folder)
    root = folder / "home"
    root.mkdir()
    for shared in ("servers", "airflow-empty"):  # what takes long to make and is never changed
        (servers.parent / shared).mkdir(mode=0o700, exist_ok=True)
        (root / shared).symlink_to(servers.parent / shared)
    named = {
        "BENCHLAB_HOME": str(root),
        "BENCHLAB_PROJECT": str(project),
        "BENCHLAB_LOCK": str(folder / "machine.lock"),
        # Five seconds of CPU for each campaign; tests that look at them want them.
        **environment,
    }
    with pytest.MonkeyPatch.context() as patch:
        for key, value in named.items():
            patch.setenv(key, value)
        for key in ("BENCHLAB_STORE_URL", "BENCHLAB_OBJECTS", "BENCHLAB_DRIVER"):
            patch.delenv(key, raising=False)
        found = Machine(Home(project, root), dict(os.environ), ports_of_target())
        try:
            yield found
        finally:
            found.clean_up()


def ports_of_target() -> dict[str, int]:
    """A free port for each of a local target's."""
    return {name: free_port() for name in ("entry", "stats", "server", "status")}
