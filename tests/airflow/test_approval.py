"""Nothing is rented above the report type's limit unless a person has said so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.airflow.conftest import ONE_RUN, PROJECT, told

# A campaign of sysbench_ec2 that is planned, and the task that asks for it.
ASK = """
import warnings
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from airflow.providers.standard.operators import hitl
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException, TaskAwaitingInput
from benchlab import home
from benchlab_airflow.dags import stages
from benchlab_airflow.connections import open_store

with warnings.catch_warnings():
    warnings.simplefilter("error")
    from benchlab_airflow.operators.approval import CampaignApproval
    with DAG("sysbench_ec2", default_args={"execution_timeout": timedelta(hours=1)}) as dag:
        approve = CampaignApproval(task_id="approve")

noted = {}
ti = SimpleNamespace(task_id="approve", id="ti", dag_id="sysbench_ec2", run_id="r",
    xcom_push=lambda key, value: noted.update({key: value}),
    xcom_pull=lambda task_ids, key, **more: noted.get(key))
context = {"params": {"campaign": "c1", "overrides": OVERRIDES}, "run_id": "r", "dag": dag,
           "ti": ti, "task_instance": ti,
           "dag_run": SimpleNamespace(run_type="manual", logical_date=None)}
stages.get_current_context = lambda: context
asked = {}
hitl.upsert_hitl_detail = lambda **fields: asked.update(fields)
stages.plan(str(home.find().configs / "reports" / "sysbench_ec2.yaml"))

def answer(event):
    try:
        return approve.execute_complete(context, event)
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def chosen(option):
    return {"chosen_options": [option], "params_input": {}, "responded_at": datetime.now(UTC),
            "responded_by_user": {"id": "7", "name": "ada"}}

def state():
    with open_store(home.find()) as store:
        return store.campaign("c1").state

def execute():
    try:
        return approve.execute(context)
    except TaskAwaitingInput as waiting:
        return waiting
"""


@pytest.fixture
def ask(airflow_env: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """An Airflow whose Benchlab has a home of its own."""
    project = tmp_path / "project"
    shutil.copytree(PROJECT / "configs", project / "configs")
    return {
        **airflow_env,
        "BENCHLAB_HOME": str(tmp_path / "benchlab"),
        "BENCHLAB_PROJECT": str(project),
    }


def test_what_a_topology_leaves_open_is_said_before_anybody_is_asked(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """As it is shipped, it lacks the host keys of owned hosts: the plan is refused."""
    env = {**airflow_env, "BENCHLAB_HOME": str(tmp_path / "benchlab")}
    plan = 'stages.plan(str(home.find().configs / "reports" / "sysbench_ec2.yaml"))'
    caught = f"""
try:
    {plan.replace("sysbench_ec2", "sysbench_hosts")}
except Exception as error:
    say(type(error).__name__, error)
"""
    (sentence,) = told(ASK.replace("OVERRIDES", "[]").replace(plan, "") + caught, env)
    assert sentence.startswith("AirflowFailException topology hosts_published: no host_key for")


def said(env: dict[str, str], code: str, *overrides: str) -> list[str]:
    """What code after the preamble says."""
    return told(ASK.replace("OVERRIDES", repr(list(overrides))) + code, env)


def test_a_person_is_asked_with_all_that_has_to_be_known(ask: dict[str, str]) -> None:
    """Dollars, time, hosts and quota; the task waits without a worker, for three days at most."""
    lines = said(
        ask,
        """
waiting = execute()
say(type(waiting).__name__, waiting.method_name, waiting.timeout == timedelta(days=3))
say(asked["defaults"], asked["options"])
say(repr(asked["body"]))
say(state())
""",
        "baseline=v6.1.0",
        "candidate=v6.5.0",
    )
    assert lines[0] == "TaskAwaitingInput execute_complete True"
    assert lines[1] == "None ['Approve', 'Reject']", "silence is no consent"
    for part in ("dollars**", "minutes)", "10 hosts", "144 vCPUs", "v6.1.0", "v6.5.0", "Rejected"):
        assert part in lines[2]
    assert lines[3] == "running"


def test_below_the_limit_nobody_is_asked(ask: dict[str, str]) -> None:
    """The task succeeds at once. The report type's file says how much that is."""
    report = Path(ask["BENCHLAB_PROJECT"]) / "configs/reports/sysbench_ec2.yaml"
    text = report.read_text()
    assert "approve_above: 20" in text
    report.write_text(text.replace("approve_above: 20", "approve_above: 60"))
    lines = said(ask, "say(execute(), asked)")
    assert lines == ["None {}"]


def test_approved_the_campaign_goes_on(ask: dict[str, str]) -> None:
    """Who has approved it is in the task's result."""
    lines = said(
        ask,
        """
answered = answer(chosen("Approve"))
say(answered["responded_by_user"]["name"], state())
""",
    )
    assert lines == ["ada running"]


def test_who_approved_and_when_is_kept_and_told(ask: dict[str, str]) -> None:
    """In the store from when it was asked; provisioning keeps it, and the report says it."""
    lines = said(
        ask,
        """
from benchlab.results import approval
def kept():
    with open_store(home.find()) as store:
        return approval.found(store.campaign("c1").environment)
execute()
asked = kept()
say(asked.by == "", asked.at)
answer(chosen("Approve"))
done = kept()
say(done.by, done.asked_at == asked.asked_at, done.at > done.asked_at)
""",
    )
    assert lines == ["True None", "ada True True"]


def test_the_question_says_what_the_month_has_cost_already(ask: dict[str, str]) -> None:
    """With what others may still cost, and the limit."""
    (Path(ask["BENCHLAB_PROJECT"]) / "configs/budget.yaml").write_text("month: 1000")
    lines = said(
        ask,
        """
from benchlab.results.spending import Record, month_of
now = datetime.now(UTC)
with open_store(home.find()) as store:
    for name, spent in (("a", 30.0), ("b", 12.0)):
        store.spending.begin(Record(name, "r", month_of(now), now, now, 90.0), lambda others: None)
        store.spending.keep(name, spent, None)
    store.spending.end("a")
execute()
say([line for line in asked["body"].splitlines() if "committed" in line])
""",
    )
    assert "42.00 dollars are spent, and up to 78.00 more committed by 1 campaign" in lines[0]
    assert "of 1,000.00" in lines[0]


APPROVERS = """
month: null
approvers: {ada: "7", ben: "8"}
approve_own: false
"""


def test_only_approvers_who_did_not_start_it_may_approve(ask: dict[str, str]) -> None:
    """Airflow is told whom to ask; an answer of somebody else rents nothing either."""
    (Path(ask["BENCHLAB_PROJECT"]) / "configs/budget.yaml").write_text(APPROVERS)
    lines = said(
        ask,
        """
run = context["dag_run"]
run.triggering_user_name = None
execute()
say([user["name"] for user in asked["assigned_users"]])
run.triggering_user_name = "ada"
execute()
say(asked["assigned_users"])
say(answer(chosen("Approve")))
say(state())
""",
    )
    assert lines[0] == "['ada', 'ben']"
    assert lines[1] == "[{'id': '8', 'name': 'ben'}]"
    assert lines[2].startswith("AirflowFailException: approved by ada, who may not approve it")
    assert lines[3] == "failed"


def test_what_is_only_marked_as_approved_is_not_rented(ask: dict[str, str]) -> None:
    """The task was marked as success by hand, or another campaign was approved in its place."""
    lines = said(
        ask,
        """
from benchlab.campaign.stages import CampaignRun
CampaignRun.register = lambda self: say("registered")
def register():
    try:
        say(stages.register().is_done)
    except AirflowFailException as error:
        say(error)
register()
noted["approved"] = "c0"
register()
answer(chosen("Approve"))
register()
""",
    )
    *refused, registered, done = lines
    assert [line[:52] for line in refused] == [
        "nobody has approved the cost of this campaign, so no"
    ] * 2
    assert (registered, done) == ("registered", "True")


def test_a_campaign_that_waits_for_budget_or_quota_says_for_whom(ask: dict[str, str]) -> None:
    """Once, however often its task asks, until somebody else holds it."""
    lines = said(
        ask,
        """
from benchlab.campaign.progress import ProgressLog
from benchlab.campaign.stages import CampaignRun
from benchlab.errors import LockHeldError
holders = ["c0", "c0", "c8"]
def register(self):
    raise LockHeldError(
        f"campaign {holders.pop(0)} holds 90.00 dollars until about 14:10 UTC. Wait for that")
CampaignRun.register = register
answer(chosen("Approve"))
say([stages.register().is_done for _ in range(3)])
steps, _ = ProgressLog(home.find().campaign("c1") / "progress.jsonl").read()
for step in steps:
    if step.is_wait:
        say(step.stage, step.note)
""",
    )
    assert lines == [
        "[False, False, False]",
        "register campaign c0 holds 90.00 dollars until about 14:10 UTC",
        "register campaign c8 holds 90.00 dollars until about 14:10 UTC",
    ]


def test_a_failed_run_on_rented_hosts_is_repeated(ask: dict[str, str]) -> None:
    """As the same campaign if nothing was rented; else as another, of the same versions.

    Not where only a later task is cleared: that must not rent.
    """
    lines = said(
        ask,
        """
from benchlab.targets import fleet_files
from benchlab_airflow.private_names import RuntimeTaskInstance
del context["params"]["campaign"]
states = {}
RuntimeTaskInstance.get_task_states = lambda dag_id, **asked: states
def plan(**params):
    params = {**context["params"], **params}
    stages.get_current_context = lambda: {**context, "params": params}
    try:
        stages.plan(str(home.find().configs / "reports" / "sysbench_ec2.yaml"))
    except AirflowFailException as error:
        return error
    with open_store(home.find()) as store:
        found = store.campaign(stages.campaign_id(context))
        say(found.id.partition("-r-")[2][6:], found.plan.sides["candidate"].version)
def fail(rented):
    with open_store(home.find()) as store:
        store.finish(stages.campaign_id(context), "failed")
    if rented:
        (home.find().campaign(stages.campaign_id(context)) / fleet_files.SPENT_FILE).write_text("3")
plan()
fail(rented=False)
plan()
fail(rented=True)
states = {"r": {"provision": "success"}}
say(plan())
states = {"r": {"provision": None}}
say(plan(warmup_seconds=7))
plan()
plan()
fail(rented=True)
plan()
""",
        "baseline=v6.1.0",
        "candidate=v6.5.0",
    )
    first, same, refused, otherwise, other, resumed, third = lines
    assert first == same == " v6.5.0"
    assert "has ended (failed), and hosts are not rented for it again" in refused
    assert "warmup_seconds" in otherwise
    assert other == resumed == "-again-2 v6.5.0"
    assert third == "-again-3 v6.5.0"


def test_a_run_that_is_repeated_first_gives_back_what_it_had(ask: dict[str, str]) -> None:
    """No task would find the old fleet once the run measures another campaign."""
    lines = said(
        ask,
        """
from benchlab.errors import TargetError
from benchlab.targets import by_name, fleet_files
from benchlab_airflow.private_names import RuntimeTaskInstance
del context["params"]["campaign"]
RuntimeTaskInstance.get_task_states = lambda dag_id, **asked: {"r": {"provision": None}}
def plan():
    try:
        stages.plan(str(home.find().configs / "reports" / "sysbench_ec2.yaml"))
    except AirflowFailException as error:
        say(error)
    say(stages.campaign_id(context).partition("-r-")[2][6:] or "the first")
plan()
first = stages.campaign_id(context)
state = home.find().campaign(first)
(state / fleet_files.RENTAL_FILE).write_text("{}")
with open_store(home.find()) as store:
    store.finish(first, "failed")
trouble = [TargetError("i-1 lives")]
def give_back(taken):
    if trouble:
        raise trouble.pop()
    fleet_files.forget(taken.state)
    (taken.state / fleet_files.SPENT_FILE).write_text("3")
    return taken.campaign
by_name()["ec2"].give_back = staticmethod(give_back)
plan()
say((state / fleet_files.RENTAL_FILE).exists())
plan()
say((state / fleet_files.RENTAL_FILE).exists())
""",
        "baseline=v6.1.0",
        "candidate=v6.5.0",
    )
    assert lines == ["the first", "i-1 lives", "the first", "True", "-again-2", "False"]


def test_why_it_could_not_be_given_back_is_what_failed_last(ask: dict[str, str]) -> None:
    """Before why it failed in the first place, which is left once it is given back at last.

    Where the store does not open, the run says it all the same.
    """
    lines = said(
        ask,
        """
from benchlab import targets
from benchlab.errors import NotMeasuredError, StoreError, TargetError
from benchlab_airflow import connections
ti.task_id = "give_back"
def kept():
    with open_store(home.find()) as store:
        found = store.failure("c1")
        return found and [found.stage, *found.lines]
def give_back(*_, **more):
    raise TargetError("i-1 lives")
def try_it():
    noted.clear()
    try:
        stages.give_back("ec2")
    except Exception as error:
        say(type(error).__name__, noted["failure"]["said"])
with open_store(home.find()) as store:
    from benchlab.campaign.stages import CampaignRun
    CampaignRun.open(home.find(), store, "c1").fail("provision", TargetError("no capacity"))
targets.give_back, once = give_back, targets.give_back
try_it()
try_it()
say(kept())
def lost(*_, **more):
    raise StoreError("no route to host")
connections.open_store = lost
try_it()
connections.open_store, targets.give_back = open_store, once
try_it()
say(kept())
""",
    )
    assert lines == [
        "TargetError i-1 lives",
        "TargetError i-1 lives",
        "['give back', 'i-1 lives', 'no capacity']",
        "TargetError i-1 lives",
        "['provision', 'no capacity']",
    ]


def test_rejected_the_campaign_has_failed(ask: dict[str, str]) -> None:
    """The task too, without another try; the store, the progress and the run say who it was."""
    lines = said(
        ask,
        """
say(answer(chosen("Reject")))
say(state())
say(repr((home.find().campaign("c1") / "progress.jsonl").read_text()))
with open_store(home.find()) as store:
    say(store.failure("c1").of, *store.failure("c1").said)
say(repr(noted["failure"]["said"]))
""",
    )
    assert lines[0] == "AirflowFailException: rejected by ada; nothing was rented"
    assert lines[1] == "failed"
    assert "rejected by ada" in lines[2]
    assert lines[3] == "approve rejected by ada; nothing was rented"
    assert lines[4] == "'rejected by ada; nothing was rented'"


def test_without_an_answer_in_time_the_campaign_has_failed(ask: dict[str, str]) -> None:
    """Nobody's silence rents a fleet."""
    lines = said(
        ask,
        """
say(answer({"error": "The response timeout has passed.", "error_type": "timeout"}))
say(state())
""",
    )
    assert lines == [
        "AirflowFailException: nobody approved it within 3 days; nothing was rented",
        "failed",
    ]


REJECTED_DAG = """
# A dag for airflow in which a person rejects at once.
from datetime import UTC, datetime
from benchlab_airflow.operators import approval
from benchlab_airflow import connections
from benchlab_airflow.dags import report_dags

def execute(self, context):
    return self.execute_complete(context, {
        "chosen_options": ["Reject"], "params_input": {}, "responded_at": datetime.now(UTC),
        "responded_by_user": {"id": "7", "name": "ada"}})

approval.CampaignApproval.execute = execute
for dag in report_dags.build_all(""):
    globals()[dag.dag_id] = dag
"""
RUN = """
say(one_run("sysbench_ec2", os.environ["DAGS"]).returncode)
from airflow.utils.session import create_session
from airflow.models.dagrun import DagRun
from airflow.models.taskinstance import TaskInstance
import json
with create_session() as session:
    found = session.query(TaskInstance).filter(TaskInstance.dag_id == "sysbench_ec2")
    say(json.dumps({ti.task_id: str(ti.state) for ti in found}))
    run = session.query(DagRun).filter(DagRun.dag_id == "sysbench_ec2").one()
    say(repr(run.note))
    from benchlab_airflow.page import airflow_runs
    say(airflow_runs.form_and_failure("sysbench_ec2", run.run_id)[1])
"""


def test_after_a_rejection_no_task_runs(ask: dict[str, str], tmp_path: Path) -> None:
    """Of the whole run only the plan was made; there is nothing to give back. Its note says why."""
    folder = tmp_path / "dags"
    folder.mkdir()
    (folder / "rejected.py").write_text(REJECTED_DAG)
    exit_code, states, note, tab = told(ONE_RUN + RUN, ask, DAGS=str(folder))
    assert exit_code == "1"
    assert note.startswith(r"rejected by ada; nothing was rented\n\n[The campaign's page](", 1)
    assert tab == "rejected by ada; nothing was rented"
    found = json.loads(states)
    assert found.pop("plan") == "success"
    assert found.pop("approve") == "failed"
    assert found.pop("verdict") == "failed", "so that the run is red, whoever ended it"
    assert found.pop("long_view") == "skipped", "nothing was measured that it could show"
    assert set(found.values()) == {"upstream_failed"}
    assert "register" in found
    assert "give_back" in found
