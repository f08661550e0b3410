"""Gives back fleets and clusters whose DAG runs were deleted, so that no task is left to do it.

A campaign's directory lists every run that planned it. Its resources are given back only if
Airflow's database has none of these runs any more and nothing has been at work since: tasks of a
deleted run end at their next heartbeat.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from benchlab import targets
from benchlab.campaign.stages import CampaignRun
from benchlab.errors import ElsewhereError, TargetError, noting
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.language import message
from benchlab.results.records import GIVE_BACK
from benchlab.targets import fleet_files, tidb_cloud
from benchlab.targets.ec2.reaper import ReaperError
from benchlab.targets.target import Taken

if TYPE_CHECKING:
    from benchlab.results.store import Store

RUNS, DELETED = "airflow-runs.json", "run-deleted"
# Longer than a task can outlive its deleted run, and shorter than the interval between checks.
QUIET_S = 600.0


def note(state: Path, dag: str, run: str) -> None:
    """Add a run to those that planned or resumed the campaign with directory ``state``."""
    runs = runs_of(state)
    if (dag, run) not in runs:
        fleet_files.write(state / RUNS, json.dumps([*runs, (dag, run)]))


def end(
    home: Home,
    access: Access,
    open_store: Callable[[Home], Store],
    exists: Callable[[str, str], bool],
    say: Callable[[str], None],
) -> list[str]:
    """Give back the rented resources of this home's campaigns whose runs were all deleted.

    Args:
        exists: whether Airflow's database has a run, given as DAG and run id; has to raise if the
            database does not answer, so that nothing is ended.
        say: is called with a sentence for each campaign, as soon as it is given back.

    Returns:
        These sentences.

    Raises:
        ReaperError: not everything could be given back; names every such campaign.
    """
    # DELETED as well: it is left if recording what was given back was interrupted.
    files = (fleet_files.RENTAL_FILE, fleet_files.CLUSTER_FILE, DELETED)
    folder = home.campaign("*").parent
    states = {file.parent for name in files for file in folder.glob(f"*/{name}")}
    left = [state for state in sorted(states) if _is_left(state, exists)]
    said, faults = list[str](), list[str]()
    for state in left:
        with noting(faults, f"campaign {state.name}, whose DAG run was deleted: "):
            if fleet_files.driven(state):
                continue
            done = _give_back(home, state, access)
            said.append(f"Campaign {state.name}, whose DAG run was deleted, is given back: {done}.")
            say(said[-1])
            _record(home, open_store, state.name, done)
            (state / DELETED).unlink(missing_ok=True)
    if faults:
        raise ReaperError(faults, said)
    return said


def _give_back(home: Home, state: Path, access: Access) -> str:
    try:
        return targets.give_back(home, state.name, access)
    except ElsewhereError:
        if not (state / fleet_files.CLUSTER_FILE).exists():
            raise
    # What costs money can be ended from here; without its cluster a client soon ends by itself.
    returned = tidb_cloud.Target.return_others(Taken(home, state.name, access))
    return ", ".join(
        [*returned, f"on its client's machine `benchlab give-back {state.name}` does the rest"]
    )


def _is_left(state: Path, exists: Callable[[str, str], bool]) -> bool:
    """Whether nothing can be at work on a campaign: all its runs were deleted, and it is quiet."""
    runs, deleted = runs_of(state), state / DELETED
    if not runs or any(exists(*run) for run in runs):
        deleted.unlink(missing_ok=True)
        return False
    if not deleted.exists():
        deleted.touch()
    at_work = (file for file in (deleted, state / "progress.jsonl") if file.exists())
    return time.time() - max(file.stat().st_mtime for file in at_work) > QUIET_S


def _record(home: Home, open_store: Callable[[Home], Store], campaign: str, done: str) -> None:
    with open_store(home) as store:
        if campaign not in store.campaign_ids():
            return
        work = CampaignRun.open(home, store, campaign)
        work.note_given_back(done)
        work.overcome(*GIVE_BACK)
        if work.campaign.state == "running":
            work.fail("", TargetError(message("failure-run-deleted")))
            store.finish(campaign, "failed")


def runs_of(state: Path) -> list[tuple[str, str]]:
    """The runs listed in a campaign's directory; empty if the file is missing or damaged."""
    try:
        return [(str(dag), str(run)) for dag, run in json.loads((state / RUNS).read_text("utf-8"))]
    except (OSError, ValueError, TypeError):
        return []
