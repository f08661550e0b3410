"""A trial on a fleet holds no worker while its client runs, and loses nothing by it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.airflow.conftest import ONE_RUN, told

OPERATOR = """
import json, time
from types import SimpleNamespace
from airflow.sdk.exceptions import TaskDeferred
from benchlab.campaign.state import Begun
from benchlab_airflow.dags import stages
from benchlab_airflow.operators.trial_operator import UNREACHABLE_LIMIT_S, ClientTrigger
from benchlab_airflow.operators.trial_operator import TrialOperator

def begun(trial="t1", until=None, **more):
    until = time.time() + 100 if until is None else until
    return Begun(trial, 1, f"client-{trial}-a1", "2026-01-01T00:00:00+00:00", until - 90, until,
                 {"restore": 3.5}, {"dataset_differs": None}, **more)

def result(trial):
    return {"trial": trial, "title": f"the title of {trial}", "valid": True, "tps": 1.0,
            "p95_ms": 2.0}

context = {"params": {"campaign": "c1"}, "run_id": "r"}
operator = TrialOperator(task_id="trials", planned="the planned title", attempt=1, deferrable=True)
def deferral(call):
    try:
        return call()
    except TaskDeferred as deferred:
        return deferred
"""


def said(env: dict[str, str], code: str) -> list[str]:
    """What code after the preamble prints."""
    return told(OPERATOR + code, env)


def test_a_trial_waits_for_its_client_without_a_worker(airflow_env: dict[str, str]) -> None:
    """The task is deferred with what finds the client again, and goes on in `collect`."""
    lines = said(
        airflow_env,
        """
stages.begin = lambda attempt: begun()
deferred = deferral(lambda: operator.execute(context))
path, arguments = deferred.trigger.serialize()
say(path.split(".")[-1], sorted(arguments), arguments["campaign"], arguments["begun"]["job"])
say(deferred.method_name, deferred.kwargs)
say(UNREACHABLE_LIMIT_S < deferred.timeout.total_seconds() <= UNREACHABLE_LIMIT_S + 100)
""",
    )
    assert lines == [
        "ClientTrigger ['begun', 'campaign'] c1 client-t1-a1",
        "collect None",
        "True",
    ]


def test_the_deferral_outlives_worker_and_triggerer(airflow_env: dict[str, str]) -> None:
    """What Airflow keeps of it in its database makes the same trigger and the same trial again."""
    lines = said(
        airflow_env,
        """
from importlib import import_module
from airflow.sdk.serde import deserialize, serialize
before = begun()
stages.begin = lambda attempt: before
deferred = deferral(lambda: operator.execute(context))
def kept(value):
    return deserialize(json.loads(json.dumps(serialize(value))))
path, arguments = deferred.trigger.serialize()
module, _, name = path.rpartition(".")
again = getattr(import_module(module), name)(**kept(arguments))
say(again.serialize() == deferred.trigger.serialize())
stages.collect = lambda begun: say(begun == before) or result("t1")
event = kept({"begun": again.begun, "state": "complete"})
say(operator.collect(context, event=event) == result("t1"))
""",
    )
    assert lines == ["True", "True", "True"]


def test_a_client_whose_time_is_over_is_collected_the_same_way(
    airflow_env: dict[str, str],
) -> None:
    """One that a dead task left may have ended long ago: no negative time limit."""
    lines = said(
        airflow_env,
        """
stages.begin = lambda attempt: begun(until=1.0, adopted=True)
deferred = deferral(lambda: operator.execute(context))
say(deferred.timeout.total_seconds() == UNREACHABLE_LIMIT_S, deferred.trigger.begun["adopted"])
""",
    )
    assert lines == ["True True"]


def test_where_nothing_runs_nothing_is_waited_for(airflow_env: dict[str, str]) -> None:
    """Nothing left to do, or a trial that was given up: the task ends at once."""
    lines = said(
        airflow_env,
        """
for found in (None, result("t1")):
    stages.begin = lambda attempt: found
    say(deferral(lambda: operator.execute(context)), context["trial_title"])
""",
    )
    assert lines[0] == "None the planned title (nothing to do)"
    assert lines[1].endswith(" the title of t1")


def test_on_this_machine_a_trial_is_not_set_aside(airflow_env: dict[str, str]) -> None:
    """Measured in the task itself, as before."""
    lines = said(
        airflow_env,
        """
here = TrialOperator(task_id="trials", planned="p", attempt=3)
stages.measure = lambda attempt: result(f"attempt {attempt}")
say(here.execute(context)["title"], "|", context["trial_title"])
""",
    )
    assert lines == ["the title of attempt 3 | the title of attempt 3"]


def test_a_task_whose_trial_another_has_told_takes_the_next(airflow_env: dict[str, str]) -> None:
    """Else the plan would end one trial short: a repeated task adopts its successor's client."""
    lines = said(
        airflow_env,
        """
stages.collect = lambda begun: None
stages.begin = lambda attempt: begun("t2")
event = {"begun": begun("t1").to_json(), "state": "complete"}
deferred = deferral(lambda: operator.collect(context, event))
say(deferred.trigger.begun["trial"], deferred.trigger.begun["job"])
""",
    )
    assert lines == ["t2 client-t2-a1"]


def test_what_airflow_keeps_of_a_trial_holds_no_secret(airflow_env: dict[str, str]) -> None:
    """The key to the hosts stays in the campaign's directory; nothing here could hold it."""
    lines = said(
        airflow_env,
        """
stages.begin = lambda attempt: begun(until=1.0)
say(json.dumps(deferral(lambda: operator.execute(context)).trigger.serialize()[1]))
""",
    )
    kept = json.loads(lines[0])
    assert kept.pop("campaign") == "c1"
    assert sorted(kept.pop("begun")) == [
        "adopted",
        "attempt",
        "columns",
        "job",
        "phases",
        "running_since",
        "started_at",
        "trial",
        "unsampled",
        "until",
    ]
    assert kept == {}


# The names of the trials of the run, in their order.
LABELS = """
from airflow.models.taskinstance import TaskInstance
from airflow.utils.session import create_session

def labels(session):
    trials = session.query(TaskInstance).filter(
        TaskInstance.dag_id == "waiting", TaskInstance.task_id == "trials")
    return [t.rendered_map_index for t in trials.order_by(TaskInstance.map_index)]
"""
WAITING_DAG = """
# A dag for airflow with the trials of a fleet, of which nothing else is there.
import time
from datetime import timedelta
from types import SimpleNamespace
from airflow.sdk import DAG, task
from benchlab.campaign.state import Begun
from benchlab_airflow.operators import trial_operator
from benchlab_airflow.dags import flow
from benchlab_airflow.dags import stages

begun = iter(("t1", "t2"))
now = time.time()
stages.begin = lambda attempt: Begun(next(begun), 1, "job", "", now, now + 60, {}, {})
stages.collect = lambda begun: {"title": f"measured {begun.trial}"}
stages.campaign_id = lambda context: "c1"

class Client:
    def job_status(self, job):
        with create_session() as session:
            print("SAID", labels(session), flush=True)
        return SimpleNamespace(state="complete")
    def close(self):
        pass

trial_operator.open_client = lambda campaign: Client()
with DAG("waiting", default_args={"retry_delay": timedelta(0)}) as dag:
    @task
    def plan():
        return ["planned 1", "planned 2"]
    flow._trials("trials", plan(), 1, deferrable=True)
"""
RUN = """
done = one_run("waiting", os.environ["DAGS"])
print(done.stdout)
say(done.returncode)
with create_session() as session:
    say(labels(session))
"""


def test_a_trial_has_its_name_also_while_it_waits(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Through Airflow: deferred under the name that was planned, measured under its own."""
    (tmp_path / "waiting.py").write_text(LABELS + WAITING_DAG)
    lines = told(ONE_RUN + LABELS + RUN, airflow_env, DAGS=str(tmp_path))
    # `airflow dags test` takes mapped tasks in any order.
    waiting, measured, code, ended = lines
    assert waiting in ("['planned 1', '1']", "['0', 'planned 2']")
    assert measured in ("['measured t1', 'planned 2']", "['planned 1', 'measured t1']")
    assert code == "0"
    assert ended in ("['measured t1', 'measured t2']", "['measured t2', 'measured t1']")
