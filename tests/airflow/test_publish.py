"""The task `publish`: through the Connection to S3, and again where it failed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.server import ThreadedMotoServer

from tests.airflow.conftest import told

KEYS = {"aws_access_key_id": "AKIACONNECTION", "aws_secret_access_key": "not-a-secret"}
REGION = "eu-west-1"

# A campaign that has been measured, in a home of its own; then the tasks, as Airflow calls them.
TASKS = """
from types import SimpleNamespace

from airflow.sdk.exceptions import AirflowFailException
from benchlab import home
from tests.builders import campaigns, plans
from benchlab.errors import PublishError
from benchlab.report import bundle
from benchlab_airflow import connections
from benchlab_airflow.dags import stages

where = {"to": "s3", "bucket": "reports", "prefix": "weekly", "region": "eu-west-1"}
record = campaigns.campaign(plans.spec(rounds=2, publish=[where]))
here = home.find()
with connections.open_store(here) as store:
    if "c1" not in store.campaign_ids():
        store.add_campaign(record)
        for result in campaigns.results_of(record.plan, lambda _: 100.0):
            store.add_trial("c1", result)

bundle.make = lambda *_, **__: {"report.md": b"text", "report.html": b"page"}
ti = SimpleNamespace(task_id="publish", dag_id="sysbench_test", run_id="r",
                     xcom_pull=lambda task_ids, key, **more: (
                         None if task_ids == "plan" else f"{task_ids} {key}"),
                     xcom_push=lambda key, value: None)
stages.get_current_context = lambda: {"params": {"campaign": "c1"}, "ti": ti}
try:
    for address in stages.publish():
        say("AT", address)
except PublishError as error:
    say("AGAIN", str(error).replace(chr(10), " "))
try:
    say("GREEN", stages.verdict())
except AirflowFailException as error:
    say("RED", str(error).replace(chr(10), " "))
"""


@pytest.fixture
def endpoint() -> Iterator[str]:
    """S3 without a bucket."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()
    get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].reset()


@pytest.mark.fault(
    "the task publish fails",
    promise="it is tried again, and the run is red until all destinations have the report",
    of="airflow",
)
def test_the_task_is_tried_again_and_the_run_is_red_until_all_have_the_report(
    airflow_env: dict[str, str], endpoint: str, tmp_path: Path
) -> None:
    """The bucket comes later; what is in files is there all the time, and nothing shows a key."""
    connection = {
        "conn_type": "aws",
        "login": KEYS["aws_access_key_id"],
        "password": KEYS["aws_secret_access_key"],
        "extra": {"endpoint_url": endpoint},
    }
    more = {
        "AIRFLOW_CONN_BENCHLAB_AWS": json.dumps(connection),
        "BENCHLAB_HOME": str(tmp_path),
    }
    page = tmp_path / "reports" / "c1" / "report.html"
    again, red = told(TASKS, airflow_env, **more)
    assert again.startswith("AGAIN the report is not published to s3://reports/weekly: listing ")
    assert "NoSuchBucket" in again
    assert red.startswith("RED the report is not published to s3://reports/weekly: listing ")
    for said in (again, red):
        assert f"it is at {page}; `benchlab publish c1` repeats what failed" in said
        assert not [key for key in KEYS.values() if key in said]
    assert page.read_bytes() == b"page"

    client = boto3.client("s3", endpoint_url=endpoint, region_name=REGION, **KEYS)
    client.create_bucket(Bucket="reports", CreateBucketConfiguration={"LocationConstraint": REGION})
    *addresses, green = told(TASKS, airflow_env, **more)
    evidence = page.with_name("evidence.zip")
    assert addresses[:3] == [f"AT {path}" for path in (page.with_suffix(".md"), page, evidence)]
    key = addresses[3].removeprefix("AT s3://reports/")
    assert client.get_object(Bucket="reports", Key=key)["Body"].read() == b"page"
    assert green == "GREEN compare answer", "what the XCom of compare says"
    client.close()
