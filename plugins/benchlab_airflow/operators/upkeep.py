"""Tasks outside of campaigns: they end, add, check and remove what nobody would think of.

Each provider has its own reaper, so that a fault in one does not stop the other; a third one is for
deleted runs. Heavy imports are inside the functions, so that parsing the DAG files stays fast.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import get_current_context
from airflow.sdk.exceptions import AirflowSkipException

log = logging.getLogger(__name__)

#: What the DAGs of these tasks have in common: no past run is made up for, and none beside another.
HOUSEKEEPING: Mapping[str, Any] = {
    "start_date": datetime(2024, 1, 1),  # noqa: DTZ001 - any day that is past
    "catchup": False,
    "max_active_runs": 1,
}
REAPER = "reap_expired_fleets"


def reap_fleets() -> list[str]:
    """End the fleets on EC2 that are past their expiry; return what was ended, as sentences.

    Raises:
        AirflowSkipException: nothing can have been rented: there are no AWS credentials, and no
            campaign in the results store rents its hosts.
        ReaperError: something could not be ended, or the credentials are missing.
    """
    from benchlab import home
    from benchlab.targets.ec2 import reaper
    from benchlab.targets.ec2.regions import known_regions, never_rented
    from benchlab_airflow.connections import access, open_store

    here = home.find()
    regions = known_regions(here, open_store)
    for why in regions.skipped:
        log.error("not looked at: %s", why)
    try:
        reaped = reaper.reap(access(), regions.names, dry_run=False, say=log.warning)
    except reaper.ReaperError as error:
        if error.no_credentials and never_rented(here, open_store):
            raise AirflowSkipException(
                "nothing to end: there are no AWS credentials here, and no campaign in the results "
                "store has rented hosts"
            ) from error
        raise
    return [str(found) for found in reaped]


def reap_clusters() -> list[str]:
    """Delete the clusters of TiDB Cloud that are past their expiry; return which, as sentences.

    Raises:
        TargetError: one could not be deleted, or the API key is missing though there may be one.
    """
    from benchlab import home
    from benchlab.targets.cloud import reaper
    from benchlab_airflow.connections import access

    return reaper.reap(home.find(), access(), say=log.warning)


def reap_deleted() -> list[str]:
    """Give back what campaigns of this home rent whose DAG runs were deleted, as sentences.

    Raises:
        TargetError: Airflow's database does not even know this run, so that its word is not taken.
        ReaperError: something could not be given back.
    """
    from benchlab import home
    from benchlab.errors import TargetError
    from benchlab_airflow.connections import access, open_store
    from benchlab_airflow.operators import deleted_runs

    context = get_current_context()
    this, count = context["dag_run"], context["ti"].get_dr_count

    def exists(dag: str, run: str) -> bool:
        return count(dag_id=dag, run_ids=[run]) > 0

    if not exists(this.dag_id, this.run_id):
        raise TargetError(
            f"Airflow's database does not have this very run, {this.run_id}: what it says of "
            "others is not believed, and nothing was ended; see the API server's log"
        )
    return deleted_runs.end(home.find(), access(), open_store, exists, log.warning)


def update_calendar() -> list[str]:
    """Add what TiUP's mirror has; return what was done, as sentences, or that there is no TiUP.

    Raises:
        UnavailableError: TiUP cannot ask its mirror.
        SpecError: the calendar does not validate, or its file cannot be written.
    """
    from benchlab import home
    from benchlab.campaign import calendar_update

    found = calendar_update.from_tiup(home.find())
    said = [calendar_update.NO_TIUP] if found is None else found
    for sentence in said:
        log.info("%s", sentence)
    return said


def check_schedules() -> None:
    """Fail if a report type has stopped being run by its schedule; the error names all of them.

    Raises:
        NotMeasuredError: one has.
    """
    from benchlab import home
    from benchlab.errors import NotMeasuredError
    from benchlab_airflow.operators.silent import silent

    count = get_current_context()["ti"].get_dr_count
    if found := silent(home.find(), count, datetime.now(UTC)):
        raise NotMeasuredError("\n".join(found))


def check_reaper() -> None:
    """Fail if the reaper is paused where hosts may be rented.

    Raises:
        NotMeasuredError: it is.
    """
    from benchlab import home
    from benchlab.errors import NotMeasuredError
    from benchlab.targets.ec2.regions import never_rented
    from benchlab_airflow.connections import open_store

    paused = get_current_context()["ti"].get_dag(REAPER).is_paused
    if paused and not never_rented(home.find(), open_store):
        raise NotMeasuredError(
            f"the DAG {REAPER} is paused, and hosts have been rented here: what a campaign cannot "
            "give back is ended by its own shutdown only; unpause it"
        )


def check_workers() -> None:
    """Fail if tasks that were queued at the last check still are, and no worker of theirs is busy.

    The error names all of them. A task may wait for hours behind another one of its queue, but not
    one that gives back.

    Raises:
        NotMeasuredError: no worker has taken a task.
    """
    from benchlab import home
    from benchlab.campaign import report_types
    from benchlab.errors import NotMeasuredError, SpecError
    from benchlab_airflow.dags.queues import RELEASE, queues_of

    ti, of = get_current_context()["ti"], {REAPER: RELEASE}
    for path in report_types.report_files(home.find()):
        with contextlib.suppress(SpecError):  # check_schedules names it, and it has no tasks
            of[path.stem], _ = queues_of(report_types.load(path))
    busy = {queue for dag, queue in of.items() if ti.get_ti_count(dag_id=dag, states=["running"])}
    queued = [
        f"{task} of {dag}, {run}"
        for dag, queue in of.items()
        if ti.get_ti_count(dag_id=dag, states=["queued"])
        for run, states in ti.get_task_states(dag_id=dag).items()
        for task, state in states.items()
        if state == "queued" and (task == "give_back" or queue not in busy)
    ]
    before = ti.xcom_pull(task_ids=ti.task_id, key="queued", include_prior_dates=True) or ()
    ti.xcom_push("queued", queued)
    if waiting := [one for one in queued if one in before]:
        raise NotMeasuredError(
            f"no worker has taken {'; '.join(waiting)} since the check before this one: see "
            "whether a worker for its queue runs, and what the others are at"
        )


def check_disk() -> None:
    """Fail if little room is left in Benchlab's home.

    Raises:
        StoreError: the text names the path and what to do.
    """
    from benchlab import home
    from benchlab.errors import StoreError

    if little := home.find().little_room():
        raise StoreError(little)


def prune() -> list[str]:
    """Remove what is older than ``keep_days``; return what was removed, as sentences.

    Raises:
        StoreError: something could not be removed; the text says what, and why.
    """
    from benchlab import home
    from benchlab.campaign.pruning import KINDS, Pruning
    from benchlab.errors import StoreError, noting
    from benchlab_airflow.connections import open_store

    here, faults, removed = home.find(), list[str](), list[str]()
    with open_store(here) as store:
        pruning = Pruning(here, store, _kept_since())
        for one in pruning.found(KINDS):
            with noting(faults):
                pruning.remove(one)
                removed.append(f"{one.kind} of {one.of}: {one.files:,} files, {one.size:,} bytes")
                log.info("removed: %s", removed[-1])
    if faults:
        raise StoreError("\n".join(faults))
    return removed


def clean_airflow() -> None:
    """Remove what is older than ``keep_days`` from Airflow's database.

    A task has no access to that database, but the program of Airflow in its environment has.

    Raises:
        StoreError: it could not be cleaned; the log has what Airflow said.
    """
    from benchlab.errors import StoreError

    # Airflow sets these in a task's environment, to an address that does not exist.
    hidden = ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "AIRFLOW__CORE__SQL_ALCHEMY_CONN")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    command = [
        str(Path(sys.executable).with_name("airflow")),
        "db",
        "clean",
        "--yes",
        "--skip-archive",
    ]
    command += ["--error-on-cleanup-failure", "--clean-before-timestamp", _kept_since().isoformat()]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    for line in said.stdout.splitlines():
        log.info("%s", line)
    if said.returncode:
        for line in said.stderr.splitlines():
            log.error("%s", line)
        raise StoreError(
            "Airflow's database was not cleaned, or not wholly: see above. Where its address is in "
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN itself, which tasks do not see, give a command in "
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD that prints it"
        )


def _kept_since() -> datetime:
    context = get_current_context()
    return datetime.now(UTC) - timedelta(days=int(context["params"]["keep_days"]))


def prices() -> list[str]:
    """Ask AWS for list prices if some are old; return what was done, as sentences.

    Raises:
        AwsError: AWS refuses; missing credentials are only said.
        SpecError: the list does not validate, or its file cannot be written.
    """
    from benchlab import home
    from benchlab.targets.ec2 import price_list
    from benchlab_airflow.connections import access

    said = price_list.refresh_if_old(access(), home.find(), datetime.now(UTC).date())
    for sentence in said:
        log.info("%s", sentence)
    return said
