"""Fails, and notifies, when a report type has stopped being run by its schedule, once a day.

A paused DAG, a run that waits for a worker and a report type whose file became invalid all end a
schedule without a failure that anybody would see. A report type counts as stopped if it ran by its
schedule within the last four months and neither of its last two moments has a run that began.

It cannot see a scheduler that is dead, because it is not run then: `bin/health` asks from outside.
"""

from datetime import timedelta

from airflow.sdk import DAG, task

from benchlab_airflow.messages import notify
from benchlab_airflow.operators import upkeep

with DAG(
    dag_id="check_schedules",
    dag_display_name="Schedules: say which report types are no longer run",
    description="Fails when a report type has stopped being run by its schedule",
    doc_md=__doc__,
    schedule=timedelta(days=1),
    tags=["benchlab"],
    default_args={"owner": "benchlab", "retries": 0, "execution_timeout": timedelta(minutes=10)},
    **upkeep.HOUSEKEEPING,
) as dag:
    task(upkeep.check_schedules, **notify.of_reaper())()
