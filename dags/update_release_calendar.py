"""Adds new releases of TiDB to the release calendar, once a day, where there is TiUP.

It asks `tiup list tidb --all` on the machine of the worker and adds to `configs/releases.csv` what
the calendar does not have, with the day on which TiUP's mirror got it. What the calendar has is
never changed. DAGs whose report type has a schedule by releases notice new ones within a minute,
and run those of the last `schedule.catchup_days`.

The log says what was added, which days differ from TiUP's, and what a person has to correct: TiUP
does not know whether a new series has long-term support, so that its first release is entered as
`GA`. Without `tiup` the run is green and its log says so. It is red if TiUP cannot ask its mirror,
or if the calendar's file, which the message names, cannot be written. By hand: `benchlab releases
update --from tiup`.
"""

from datetime import timedelta

from airflow.sdk import DAG, task

from benchlab_airflow.operators import upkeep

with DAG(
    dag_id="update_release_calendar",
    dag_display_name="Release calendar: add new releases",
    description="Adds new releases of TiDB to the release calendar",
    doc_md=__doc__,
    schedule=timedelta(days=1),
    tags=["benchlab"],
    default_args={"owner": "benchlab", "retries": 2, "execution_timeout": timedelta(minutes=10)},
    **upkeep.HOUSEKEEPING,
) as dag:
    task(upkeep.update_calendar)()
