"""Says again, after a day, that a campaign waits for a person to approve its cost.

When it begins to wait, its own task `approve` says so. Both need a notifier for the event
`approval` in `configs/notifications.yaml`.
"""

from datetime import timedelta

from airflow.sdk import DAG, task

from benchlab_airflow.messages import notify
from benchlab_airflow.operators import upkeep

with DAG(
    dag_id="remind_approvals",
    dag_display_name="Approvals: say again what waits for one",
    description="Notifies of campaigns that have waited for approval for a day",
    doc_md=__doc__,
    schedule=timedelta(hours=1),
    tags=["benchlab"],
    default_args={"owner": "benchlab", "retries": 0, "execution_timeout": timedelta(minutes=10)},
    **upkeep.HOUSEKEEPING,
) as dag:
    task(notify.remind_of_approvals)()
