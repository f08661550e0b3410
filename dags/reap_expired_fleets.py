"""Ends EC2 fleets and TiDB Cloud clusters that are past their expiry, every 15 minutes.

A campaign gives back what it rented, whatever happens in it, and its hosts shut themselves down at
their expiry. This DAG ends what is left if both have failed, whatever installation rented it:
instances whose tag `benchlab:expires_at` is past, or that have had Benchlab's tag without a valid
expiry for more than an hour; and likewise key pairs and security groups of rentals without an
instance. What has not expired is not touched.

**reap_clusters** deletes clusters of TiDB Cloud, whose names say when they expire, wherever a
campaign at work has one or a topology has its price. **reap_fleets** is for EC2. None waits for
another, and a fault in one does not stop the others.

**reap_deleted** gives back, before its expiry, what a campaign of this installation rents whose DAG
runs were deleted, if Airflow's database says so twice and nothing is at work meanwhile.

If there are no AWS credentials and no campaign in the results store rents its hosts, reap_fleets is
skipped. If there is such a campaign, missing credentials fail it.

It looks in the regions of all topologies in `configs/topologies`, of what is rented now and of all
campaigns in the results store; its log names what of these could not be read. AWS's clock decides
what has expired. Without Airflow, use `benchlab reap`; `benchlab reap --dry-run` shows what it
would end.
"""

from datetime import timedelta

from airflow.sdk import DAG, task

from benchlab_airflow.dags import queues
from benchlab_airflow.messages import notify
from benchlab_airflow.operators import upkeep

with DAG(
    dag_id="reap_expired_fleets",
    dag_display_name="Reaper: end expired fleets and clusters",
    description="Ends EC2 fleets and TiDB Cloud clusters that are past their expiry",
    doc_md=__doc__,
    schedule=timedelta(minutes=15),
    tags=["benchlab", "ec2"],
    default_args={
        "owner": "benchlab",
        "queue": queues.RELEASE,
        **queues.FIRST,
        "retries": 2,
        "execution_timeout": timedelta(minutes=30),
    },
    **upkeep.HOUSEKEEPING,
) as dag:
    for reap in (upkeep.reap_fleets, upkeep.reap_clusters, upkeep.reap_deleted):
        task(reap, **notify.of_reaper())()
