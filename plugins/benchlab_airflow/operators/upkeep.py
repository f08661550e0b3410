"""Tasks outside of campaigns: they end what is past its expiry, add releases, watch schedules.

Each provider has its own reaper, so that a fault in one does not stop the other; a third one is for
deleted runs. Heavy imports are inside the functions, so that parsing the DAG files stays fast.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
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
