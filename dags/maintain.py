"""Removes what need not be kept any longer, once a week, and asks AWS for prices.

**prune** removes what `benchlab prune --older-than 180d` shows: profiles, jobs, builds and logs of
campaigns that are over; never results, series and reports, nor anything of a campaign that shows a
finding which nobody has settled, or by which others are calibrated.

**clean_airflow** removes DAG runs, task instances and what belongs to them from Airflow's database
(`airflow db clean`). The last run of each DAG stays. Campaigns and their reports stay, without a
link to their runs.

**prices** asks AWS for the list prices of rented hosts if some are older than 90 days, where there
are credentials; without, its log says how old they are.

The DAG begins paused, as it removes things: trigger it with other days, or unpause it. By default
it keeps 180 days, or what `BENCHLAB_KEEP_DAYS` says. `check_operation` needs 125 of them.
"""

import os
from datetime import timedelta

from airflow.sdk import DAG, Param, task

from benchlab_airflow.messages import notify
from benchlab_airflow.operators import upkeep

with DAG(
    dag_id="maintain",
    dag_display_name="Maintenance: remove what is old",
    description="Removes old profiles, jobs, builds, logs and DAG runs; asks AWS for prices",
    doc_md=__doc__,
    schedule=timedelta(weeks=1),
    tags=["benchlab"],
    is_paused_upon_creation=True,
    params={
        "keep_days": Param(
            int(os.environ.get("BENCHLAB_KEEP_DAYS", "180")),
            type="integer",
            minimum=125,
            maximum=3650,
            title="Keep the last days",
        )
    },
    default_args={"owner": "benchlab", "retries": 1, "execution_timeout": timedelta(hours=2)},
    **upkeep.HOUSEKEEPING,
) as dag:
    for work in (upkeep.prune, upkeep.clean_airflow, upkeep.prices):
        task(work, **notify.of_check())()
