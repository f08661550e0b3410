"""Runs by the calendar under a real scheduler, as `make up` runs it, with real servers: a backfill,
and a weekly run with tasks killed in its trials.
"""

from __future__ import annotations

import csv
import itertools
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchlab import engines, home
from benchlab.results.records import Campaign
from benchlab_airflow.local.services import Services
from tests.machine import PROJECT, Machine, let_neighbours_be, machine_in, ports_of_target
from tests.ports import free_port
from tests.scheduler import Api, dag_ids, parent_of, process_in_trial, wait

RELEASES, WEEKLY, RENTED = "sysbench_local_releases", "sysbench_local_weekly", "sysbench_ec2"
OLDEST, CHANGED, NEWEST = "10.2.11", "10.11.5", "11.4.5"
RANGE = ("--from-date", "2017-11-01", "--to-date", "2025-03-01")
# So much of the report type as shows a change of index updates between the first two. Their own
# depends on the machine's disk; so releases before the second wait 20 ms at each commit.
SMALL: dict[str, Any] = {
    "workloads": ["oltp_update_index"],
    "rounds": 3,
    "seconds": 3,
    "warmup_seconds": 0,
    "dataset": {"tables": 1, "table_size": 1000},
    "restore": "never",
}
SLOW = {
    "until": CHANGED,
    "parameters": {
        "log_bin": "ON",
        "binlog_commit_wait_count": 100,
        "binlog_commit_wait_usec": 20_000,
    },
}
TODAY = datetime.now(UTC).date()
SLOT = datetime.combine(TODAY - timedelta(days=3), time(2), tzinfo=UTC)


@dataclass
class Calendar:
    """A scheduler whose DAGs have runs by the calendar."""

    machine: Machine
    api: Api

    def _airflow(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [PROJECT / "bin" / "airflow", *arguments],
            env=self.machine.environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def backfill(self) -> None:
        """Create the backfill, and wait until Airflow calls it complete.

        SQLite refuses to write for a reader whom somebody overtook. Airflow closes what it had
        begun after two minutes; then it is asked again.
        """

        def created() -> bool:
            done = self._airflow("backfill", "create", "--dag-id", RELEASES, *RANGE)
            said = done.stdout + done.stderr
            if "database is locked" in said or "Another backfill is running" in said:
                return False
            assert done.returncode == 0, said
            return True

        wait("a backfill", created)

        def is_over() -> bool:
            found = self.api.call("GET", f"/api/v2/backfills?dag_id={RELEASES}")["backfills"]
            return all(backfill["completed_at"] is not None for backfill in found)

        wait("the end of the backfill", is_over)

    def _ended(self, dag: str, run: str) -> dict[str, Any]:
        """A run once it has ended."""

        def ended() -> dict[str, Any] | None:
            found: dict[str, Any] = self.api.call("GET", f"/api/v2/dags/{dag}/dagRuns/{run}")
            return found if found["state"] in ("success", "failed") else None

        return dict(wait("the end of the run", ended))

    def cleared(self, dag: str, run: str, *tasks: Any) -> dict[str, Any]:
        """Clear tasks of a run, or all, as the UI does; the run once it has ended."""
        asked = {"dry_run": False, "dag_run_id": run, "only_failed": False}
        path = f"/api/v2/dags/{dag}/clearTaskInstances"
        self.api.call("POST", path, {**asked, **({"task_ids": tasks} if tasks else {})})
        return self._ended(dag, run)

    def triggered(self, dag: str, **conf: Any) -> dict[str, Any]:
        """A run that a person starts with these fields of the form, once it has ended."""
        asked = {"logical_date": None, "conf": conf}
        run = self.api.call("POST", f"/api/v2/dags/{dag}/dagRuns", asked)["dag_run_id"]
        return self._ended(dag, run)

    def unpause(self, dag: str) -> None:
        """As the switch in the UI does."""
        self.api.call("PATCH", f"/api/v2/dags/{dag}", {"is_paused": False})

    def runs(self, dag: str) -> list[dict[str, Any]]:
        """The DAG's runs by logical date."""
        found: list[dict[str, Any]] = self.api.call(
            "GET", f"/api/v2/dags/{dag}/dagRuns?order_by=logical_date"
        )["dag_runs"]
        return found

    def ended(self, dag: str) -> list[dict[str, Any]]:
        """The DAG's runs that have ended."""
        return [run for run in self.runs(dag) if run["state"] in ("success", "failed")]

    def campaigns(self, report: str) -> list[Campaign]:
        """Of a report type, in the order of their starts."""
        with self.machine.store() as store:
            return sorted(store.campaigns(report), key=lambda campaign: campaign.started_at)

    def tasks(self, dag: str, run: str) -> list[dict[str, Any]]:
        """The run's tasks; of a mapped one each by itself."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run}/taskInstances?limit=100"
        found: list[dict[str, Any]] = self.api.call("GET", path)["task_instances"]
        return found

    def why_skipped(self, dag: str, run: str) -> str:
        """What its plan says, and the run's note."""
        path = f"/api/v2/dags/{dag}/dagRuns/{run}"
        said = str(
            self.api.call("GET", f"{path}/taskInstances/plan/xcomEntries/no_campaign")["value"]
        )
        assert self.api.call("GET", path)["note"] == said
        return said


@pytest.fixture(scope="module")
def calendar(tmp_path_factory: pytest.TempPathFactory, servers: Path) -> Iterator[Calendar]:
    """One scheduler for all runs of this file, with report types that are measured in seconds."""
    engines.install("mariadb", NEWEST, home.find())
    folder = tmp_path_factory.mktemp("calendar")
    ports = ports_of_target()
    project = _project(folder / "project", ports)
    with machine_in(folder, servers, project) as machine:
        services = Services(machine.here.root)
        port = free_port()
        services.up(port)
        try:
            api = Api(port, services.airflow.password())
            wait("the DAGs", lambda: {RELEASES, WEEKLY, RENTED} <= dag_ids(api), 120)
            yield Calendar(machine, api)
        finally:
            services.down()


def _project(project: Path, ports: dict[str, int]) -> Path:
    """The repository's DAGs with report types and a calendar of their own."""
    (project / "configs" / "reports").mkdir(parents=True)
    (project / "dags").mkdir()
    for name in ("dags/version_comparison.py", "plugins"):
        (project / name).symlink_to(PROJECT / name)
    for path in (PROJECT / "configs").iterdir():
        if path.name not in ("reports", "releases.csv", "quality"):
            (project / "configs" / path.name).symlink_to(path)
    shutil.copytree(PROJECT / "configs" / "quality", project / "configs" / "quality")
    let_neighbours_be(project / "configs")
    _calendar(project / "configs" / "releases.csv")
    shipped = yaml.safe_load((PROJECT / f"configs/reports/{RELEASES}.yaml").read_text())
    engine = {**shipped["engines"]["mariadb"], "by_version": [SLOW]}
    small = {**shipped, **SMALL, "engines": {"mariadb": engine}, "ports": ports}
    newest = {"version": "newest"}
    weekly = {
        **small,
        "report": WEEKLY,
        "rounds": 1,
        "engines": {"mariadb": {**engine, "candidate": newest}},
        "schedule": {
            "runs": "weekly",
            "cron": f"0 2 * * {SLOT.isoweekday() % 7}",
            "aa_every": 0,
            "catchup_days": 7,
        },
    }
    rented = yaml.safe_load((PROJECT / f"configs/reports/{RENTED}.yaml").read_text())
    for report in (small, weekly, rented):
        path = project / "configs" / "reports" / f"{report['report']}.yaml"
        path.write_text(yaml.safe_dump(report))
    return project


def _calendar(path: Path) -> None:
    """What is shipped, without the last weeks; and one that came out after the last slot."""
    with (PROJECT / "configs" / "releases.csv").open(newline="") as file:
        columns, *rows = csv.reader(file)
    old = [row for row in rows if date.fromisoformat(row[1]) < TODAY - timedelta(days=30)]
    after_the_slot = ["11.4.99", TODAY.isoformat(), "GA"]
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *old, after_the_slot])


def test_a_backfill_measures_each_release_once_in_order(calendar: Calendar) -> None:
    """The first has no predecessor; and the same backfill again makes no run."""
    calendar.unpause(RENTED)
    calendar.unpause(RELEASES)
    calendar.backfill()
    runs = calendar.runs(RELEASES)
    assert [(run["logical_date"][:10], run["state"]) for run in runs] == [
        ("2017-11-28", "success"),
        ("2023-08-14", "success"),
        ("2025-02-04", "success"),
    ]
    assert "previous series of 10.2.11" in calendar.why_skipped(RELEASES, runs[0]["dag_run_id"])
    first, second = calendar.campaigns(RELEASES)
    assert [_versions(first), _versions(second)] == [(OLDEST, CHANGED), (CHANGED, NEWEST)]
    assert [campaign.planned_for for campaign in (first, second)] == [
        datetime.fromisoformat(run["logical_date"]) for run in runs[1:]
    ], "their places in the long view"
    assert first.state == second.state == "complete"
    assert first.ended_at is not None
    assert first.ended_at < second.started_at, "one after the other"

    calendar.backfill()
    assert calendar.runs(RELEASES) == runs
    assert calendar.runs(RENTED) == [], "of the past nothing is rented by itself"
    _the_change_is_found_again(calendar.machine)
    assert len(calendar.campaigns(RELEASES)) == 2, "from what is stored"


def _the_change_is_found_again(machine: Machine) -> None:
    (workload,) = SMALL["workloads"]
    history = machine.run("benchlab.cli.main", "history", workload, "--report", RELEASES)
    assert all(version in history for version in (OLDEST, CHANGED, NEWEST))
    where = ("--report", RELEASES, "--workload", workload)
    found = json.loads(machine.run("benchlab.cli.main", "bisect", OLDEST, NEWEST, *where, "--json"))
    assert found["outcome"] == "named", found["sentence"]
    assert CHANGED in found["sentence"]


@pytest.mark.fault(
    "tasks of a finished run are cleared",
    promise="nothing is measured, the report is published where it is missing, and the run stays "
    "green",
    of="airflow",
)
def test_what_is_cleared_of_a_complete_run_publishes_and_measures_nothing(
    calendar: Calendar,
) -> None:
    """`publish` alone, whose destination is mended by now; `provision`; a trial; all; and the
    campaign's id in the form of another run. Airflow clears `plan` and `register` with each.
    """
    calendar.unpause(RELEASES)
    calendar.backfill()
    run, campaign = calendar.runs(RELEASES)[-1]["dag_run_id"], calendar.campaigns(RELEASES)[-1]
    here = calendar.machine.here
    report = here.reports / campaign.id / "report.html"
    text, progress = report.read_bytes(), here.campaign(campaign.id) / "progress.jsonl"
    report.unlink()
    (here.campaign(campaign.id) / "published").unlink()
    assert calendar.cleared(RELEASES, run, "publish")["state"] == "success"
    assert report.read_bytes() == text
    at, steps = report.stat().st_mtime_ns, progress.read_bytes()
    for tasks in (["provision"], [["trials", 0]], ["validate"], None):
        assert calendar.cleared(RELEASES, run, *(tasks or []))["state"] == "success"
    again = calendar.triggered(RELEASES, campaign=campaign.id)
    assert again["state"] == "success"
    assert "nothing to measure: campaign" in calendar.why_skipped(RELEASES, again["dag_run_id"])
    assert calendar.campaigns(RELEASES)[-1] == campaign
    assert (report.stat().st_mtime_ns, progress.read_bytes()) == (at, steps)
    assert calendar.machine.holder() is None


@pytest.mark.fault(
    "a task and a worker are killed in trials",
    promise="the run completes, no trial is measured twice, and no two clients run at once",
    of="airflow",
)
def test_a_weekly_run_starts_by_itself_and_survives_killed_tasks(calendar: Calendar) -> None:
    """Of the moments that are past exactly the last, with the versions of its day.

    SIGKILL in both trials, once of the task's process, once of its worker: the retries complete the
    campaign, no trial twice, no two clients at once.
    """
    calendar.unpause(WEEKLY)
    (begun,) = wait("the campaign", lambda: calendar.campaigns(WEEKLY))
    _kill_tasks(calendar.machine, begun.id)
    (run,) = wait("the run", lambda: calendar.ended(WEEKLY))
    tasks = calendar.tasks(WEEKLY, run["dag_run_id"])
    assert run["state"] == "success", [(t["task_id"], t["state"]) for t in tasks]
    assert run["run_type"] == "scheduled"
    assert datetime.fromisoformat(run["logical_date"]) == SLOT
    (campaign,) = calendar.campaigns(WEEKLY)
    assert _versions(campaign) == ("10.11.5", NEWEST)
    after = calendar.api.call("GET", f"/api/v2/dags/{WEEKLY}")["next_dagrun_logical_date"]
    assert datetime.fromisoformat(after) == SLOT + timedelta(days=7)
    assert len(calendar.runs(WEEKLY)) == 1
    tries = [t["try_number"] for t in tasks if t["task_id"] == "trials"]
    assert sum(tries) == len(tries) + 2, "each kill cost one try"
    _was_measured_once(calendar.machine, campaign)


def _kill_tasks(machine: Machine, campaign: str) -> None:
    fence = machine.here.campaign(campaign) / "trial.fence"
    machine.wait_for(campaign, "run")
    os.kill(process_in_trial(fence), signal.SIGKILL)
    machine.wait_for(campaign, "run", after=1)
    # Its worker: the task process outlives it and measures on beside the retry.
    os.kill(parent_of(process_in_trial(fence)), signal.SIGKILL)


def _was_measured_once(machine: Machine, campaign: Campaign) -> None:
    """Whole, one trial at a time, with its report, and nothing is left of it."""
    _, trials = machine.outcome(campaign.id)
    assert campaign.state == "complete"
    assert sorted(r.trial.id for r in trials) == sorted(t.id for t in campaign.plan.trials)
    assert not any("restore" in r.phases for r in trials), "the servers run on"
    for earlier, later in itertools.pairwise(trials):
        assert earlier.ended_at <= later.started_at, "one at a time, in the plan's order"
    reports = machine.here.reports / campaign.id
    assert (reports / "report.html").exists()
    assert machine.left_running(campaign.id) == []
    assert machine.holder() is None


def _versions(campaign: Campaign) -> tuple[str, str]:
    sides = campaign.plan.sides
    return sides["baseline"].version, sides["candidate"].version
