"""Runs one campaign in Airflow: ``python -m benchlab_airflow.local.demo REPORT``.

Airflow runs the DAG in one process (``airflow dags test``) in the Airflow home of `make up`, which
cannot be started meanwhile and shows the run afterwards; where it is up already, in one of its own.
This process shows the progress, and ends everything if it is interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from benchlab import home, targets
from benchlab.campaign import overrides as overrides_module
from benchlab.campaign import report_types
from benchlab.campaign.outcome import Comparer
from benchlab.campaign.progress import ProgressLog
from benchlab.campaign.resolving import Resolver
from benchlab.campaign.stages import new_id
from benchlab.cli.options import width
from benchlab.cli.progress_view import ProgressView
from benchlab.cli.run import end_campaign
from benchlab.errors import BenchlabError, LockHeldError, SpecError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.lock import MachineLock
from benchlab.plan.plan import make
from benchlab.plan.resolved import Request, Resolved
from benchlab.report.formats import terminal
from benchlab.report.formats.plan_text import compared
from benchlab.results.store import Store, open_store, upgrade
from benchlab_airflow.local.airflow_home import (
    BASE_URL,
    SETTINGS,
    AirflowHome,
    refuse_unmappable,
)
from benchlab_airflow.local.services import Services
from benchlab_airflow.page.navigation import campaign_page

POLL_S = 0.1


@dataclass(frozen=True)
class Demo:
    """A campaign to be run by Airflow.

    Attributes:
        here: the installation.
        resolved: the report type with overrides applied, and everything its plan depends on.
        overrides: the fields that the command line changes.
        started: the run's logical date, without microseconds.
    """

    here: Home
    resolved: Resolved
    overrides: Mapping[str, Any]
    started: datetime

    @cached_property
    def campaign(self) -> str:
        """The campaign's id; the DAG is given it, so that this process can follow the campaign."""
        return new_id(self.resolved.spec.report, self.started)

    @cached_property
    def ui(self) -> str | None:
        """The address of the services of ``make up``; None if they are not running.

        They share the store, so the campaign has a page there, although its run does not.
        """
        return Services(self.here.root).address()

    @property
    def log(self) -> Path:
        """The file for Airflow's own output."""
        return self.here.campaign(self.campaign) / "airflow.log"

    @property
    def progress(self) -> ProgressLog:
        """The progress that the campaign's tasks report."""
        return ProgressLog(self.here.campaign(self.campaign) / "progress.jsonl")


def main() -> int:
    """Run a campaign and print its outcome; return the exit code."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("report", nargs="?", default="sysbench_local", help="report type")
    parser.add_argument(
        "--set", action="append", default=[], metavar="FIELD=VALUE", help="rounds=2, threads=2,8"
    )
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        return _run(_prepare(arguments.report, arguments.set))
    except BenchlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _prepare(report: str, assignments: list[str]) -> Demo:
    """Check everything before Airflow is started; return the campaign to run.

    Raises:
        SpecError: the report type is unknown, invalid, not in Airflow, or not for this machine.
        LockHeldError: another campaign holds the machine.
    """
    here = home.find()
    upgrade(here, _say)
    path = report_types.find_report(here, report)
    if path.resolve() not in [known.resolve() for known in report_types.report_files(here)]:
        raise SpecError(
            f"{path}: Airflow has a DAG for the report types in {here.configs / 'reports'} only; "
            f"put it there, or run it without Airflow: `benchlab run {path}`"
        )
    overrides = overrides_module.parse_assignments(assignments)
    started = datetime.now(UTC).replace(microsecond=0)
    report_type = overrides_module.override(report_types.load(path), overrides)
    resolved = Resolver(here).resolve(Request(report_type, started.date()))
    spec = resolved.spec
    if not targets.by_name()[spec.target].can.shares_machine:
        raise SpecError(
            f"target: {spec.target}: the demo is for this machine; start Airflow's services with "
            f"`make up` and trigger the DAG {spec.report} there, or run it without Airflow: "
            f"`benchlab run {report}`"
        )
    refuse_unmappable(spec, int(SETTINGS["core"]["max_map_length"]))
    holder = MachineLock().holder()
    if holder is not None:
        if (gone := holder.left_behind()) is None:
            raise LockHeldError(
                f"this machine is held by {holder}. Wait for it; only if it is yours and no "
                f"longer wanted, `benchlab give-back {holder.campaign}` ends it"
            )
        print(f"{holder} did not end properly ({gone}); it is cleaned up before this run starts")
    return Demo(here, resolved, overrides, started)


def _run(demo: Demo) -> int:
    planned = make(demo.resolved, demo.campaign)
    print(f"{demo.resolved.spec.report}: {planned.engine} {compared(planned)}")
    print(f"{len(planned.trials)} trials, about {planned.minutes:g} minutes; log: {demo.log}")
    with (
        Services(demo.here.root, _say).for_one_run(demo.campaign) as (airflow, locks),
        _airflow(demo, airflow, locks) as process,
        ProgressView(demo.progress, planned.minutes * 60, sys.stderr),
    ):
        while process.poll() is None:
            time.sleep(POLL_S)
    if (holder := MachineLock().holder()) is not None and holder.campaign == demo.campaign:
        print("Airflow ended without giving the machine back: ending what runs", file=sys.stderr)
        end_campaign(demo.here, demo.campaign, Access())
    return _report(demo, process.returncode)


@contextmanager
def _airflow(
    demo: Demo, airflow: AirflowHome, locks: tuple[int, ...]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run the DAG in Airflow; if this process is interrupted, end everything it started."""
    demo.log.parent.mkdir(parents=True, exist_ok=True)
    conf = json.dumps({"campaign": demo.campaign, "overrides": dict(demo.overrides)})
    with demo.log.open("wb") as log:
        process = subprocess.Popen(
            # Airflow's process drives the campaign: when it is gone, the machine's lock is free.
            [
                *("sh", "-c", 'BENCHLAB_DRIVER=$$ exec "$@"', "demo"),
                *(sys.executable, "-m", "airflow", "dags", "test"),
                *(demo.resolved.spec.report, demo.started.isoformat(), "-c", conf),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=airflow.environment() | ({BASE_URL: demo.ui} if demo.ui else {}),
            pass_fds=locks,
            start_new_session=True,
        )
    try:
        yield process
    except BaseException:
        # Nothing may interrupt the cleanup, and the terminal may be gone.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        _say("\ninterrupted: ending what runs ...")
        if process.poll() is None:  # `airflow dags test` survives SIGINT and ignores SIGTERM
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        end_campaign(demo.here, demo.campaign, Access())
        _say("everything has ended; the next run starts clean")
        raise


def _say(text: str) -> None:
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


def _report(demo: Demo, exit_code: int) -> int:
    """Print the outcome, where the report is, and what failed; return the exit code."""
    with open_store(demo.here) as store:
        if demo.campaign not in store.campaign_ids():
            why = f"{_reason(demo.log)}; its log: {demo.log}"
            _say(f"error: Airflow failed before the campaign was planned: {why}")
            return 1
        shown = _show_outcome(demo, store)
    for path in sorted((demo.here.reports / demo.campaign).glob("*.*")):
        print(path)
    print(
        f"its page, with every trial: {campaign_page(demo.ui, demo.campaign)}\n"
        "(`make up` was running: its Airflow has this page, but not the run)"
        if demo.ui
        else "`make up` starts Airflow's UI, which has this campaign under Benchlab, Campaigns, "
        f"and its run under Dags, {demo.resolved.spec.report}"
    )
    if exit_code == 0:
        return 0 if shown else 1
    for step in demo.progress.read()[0]:
        if step.stage == "failed":
            _say(f"error: task {step.phase}: {step.note}")
    _say(f"error: the campaign failed; Airflow's log: {demo.log}")
    return 1


def _show_outcome(demo: Demo, store: Store) -> bool:
    """Print the comparison, or why there is none; return whether it could be made."""
    try:
        made = Comparer(demo.here, store).outcome(store.campaign(demo.campaign))
    except BenchlabError as error:
        _say(f"error: {error}")
        return False
    if made.trials:
        built = made.report(made.causes(store))
        print(terminal.render(built, width(), sys.stdout.isatty()))
    return True


def _reason(log: Path) -> str:
    """The last error in Airflow's log."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line for line in lines if "Exception: " in line or "Error: " in line]
    return errors[-1].strip() if errors else "no reason in its log"


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
