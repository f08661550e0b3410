"""Fails, and notifies, when something has gone quiet that nobody would notice, once an hour.

**schedules**: a report type that ran by its schedule within the last four months, and of whose last
two moments neither has a run that began: a paused DAG, a run that waits for another one, a file
that became invalid.

**reaper**: `reap_expired_fleets` is paused, although this installation has rented hosts.

**workers**: a task that was queued an hour ago, and still is: no worker takes it.

**disk**: little room is left where Benchlab keeps what it measures.

None of them can see a scheduler that is dead, because it is not run then: `bin/health all` asks
from outside.
"""

from datetime import timedelta

from airflow.sdk import DAG, task

from benchlab_airflow.messages import notify
from benchlab_airflow.operators import upkeep

with DAG(
    dag_id="check_operation",
    dag_display_name="Operation: say what has gone quiet",
    description="Fails when schedules, the reaper, workers or the disk need somebody",
    doc_md=__doc__,
    schedule=timedelta(hours=1),
    tags=["benchlab"],
    default_args={"owner": "benchlab", "retries": 0, "execution_timeout": timedelta(minutes=10)},
    **upkeep.HOUSEKEEPING,
) as dag:
    for check in (
        upkeep.check_schedules,
        upkeep.check_reaper,
        upkeep.check_workers,
        upkeep.check_disk,
    ):
        name = check.__name__.removeprefix("check_")
        task(check, task_id=name, **notify.of_check())()
