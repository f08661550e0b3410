"""Policies of every DAG that there is, and what only those of fleets have."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchlab import home, workloads
from benchlab import targets as targets_module
from benchlab.campaign import report_types, state
from tests.airflow.conftest import PROJECT, told
from tests.airflow.test_flow import describe, downstream, leaves

REPORTS = sorted(path.stem for path in (PROJECT / "configs" / "reports").glob("*.yaml"))
TARGETS = {
    name: targets_module.by_name()[
        report_types.load(PROJECT / "configs" / "reports" / f"{name}.yaml").target
    ]
    for name in REPORTS
}
RENTING = [name for name in REPORTS if TARGETS[name].can.rents]
# What they flag is measured again.
WATCHES = ("sysbench_ec2_watch", "sysbench_ec2_weekly")
ON_A_FLEET = [name for name in REPORTS if TARGETS[name].can.topology in ("ec2", "hosts")]
ON_EC2 = [name for name in RENTING if TARGETS[name].can.topology == "ec2"]
TIME_LIMIT_S = 120


@pytest.fixture(scope="module")
def dags(airflow_env: dict[str, str]) -> dict[str, Any]:
    """Every DAG of the report types."""
    return describe(airflow_env)


def test_every_report_type_has_its_dag(dags: dict[str, Any]) -> None:
    """None is missing, and none fails to validate."""
    assert set(dags) == set(REPORTS)
    assert {TARGETS[name].can.topology for name in REPORTS} == {None, "ec2", "hosts", "tidb_cloud"}


@pytest.mark.parametrize("report", REPORTS)
def test_a_dag_prepares_as_many_sides_as_its_report_type_measures(
    dags: dict[str, Any], report: str
) -> None:
    """The graph of one version has no second side with nothing to do, unless a published plan
    that its form offers has one.
    """
    spec = report_types.load(PROJECT / "configs" / "reports" / f"{report}.yaml")
    offered = [spec, *report_types.published_plans(home.find(), report).values()]
    prepared = {name.split(".")[0] for name in dags[report]["tasks"] if name.endswith(".back_up")}
    assert prepared == {"prepare_first"} | {
        "prepare_second" for plan in offered if plan.sides != "single"
    }


TWO_OF_ONE = """
from benchlab import home
from benchlab.campaign import report_types
from benchlab_airflow.dags import trigger_form
own = report_types.load(home.find().configs / "reports" / "sysbench_local_single.yaml")
sides = {"sides": "different", "engines.mariadb.candidate": {"version": "11.4.5"},
         "engines.tidb.candidate": {"version": "v8.5.2"}}
trigger_form.chosen(own, {"overrides": sides}, own_command=True)
"""


def test_two_versions_are_refused_where_the_dag_prepares_one(airflow_env: dict[str, str]) -> None:
    """The second would be measured without ever having been deployed."""
    with pytest.raises(AssertionError, match="sides: the DAG of sysbench_local_single prepares"):
        told(TWO_OF_ONE, airflow_env)


A_WATCH = """
from benchlab import home
from benchlab.campaign import report_types
from benchlab_airflow.dags import trigger_form
own = report_types.load(home.find().configs / "reports" / "sysbench_local.yaml")
trigger_form.chosen(own, {"overrides": {"design": "watch"}}, own_command=True)
"""


def test_a_watch_is_refused_where_the_dag_cannot_confirm(airflow_env: dict[str, str]) -> None:
    """What it flags would never be measured again."""
    with pytest.raises(AssertionError, match="design: the DAG of sysbench_local has no tasks"):
        told(A_WATCH, airflow_env)


def test_a_campaign_gives_a_trial_up_before_airflow_does(dags: dict[str, Any]) -> None:
    """Else what it has measured would not be published."""
    tries = state.TRIES * (1 + state.MOST_RECOVERIES)
    assert all(dags[name]["tasks"]["trials"]["retries"] >= tries for name in ON_EC2)


@pytest.mark.parametrize("report", REPORTS)
def test_the_hosts_are_given_back_whatever_fails(dags: dict[str, Any], report: str) -> None:
    """`give_back` is the teardown of `register`, and comes after every task that could need one."""
    tasks = dags[report]["tasks"]
    assert {name for name, task in tasks.items() if task["setup"]} == {"plan", "register"}
    after_all = {"verdict", "give_back", "long_view"}
    assert {name for name, task in tasks.items() if task["teardown"]} == after_all
    assert "give_back" in tasks["register"]["downstream"]
    between = set(tasks) - {"plan", "approve", "register"} - after_all
    assert between <= downstream(dags[report], "register")
    assert all("give_back" in downstream(dags[report], name) for name in between)
    assert tasks["give_back"]["retries"] >= 1
    assert leaves(dags[report]) == {"verdict", "give_back"}
    assert tasks["give_back"]["fails_run"] is True


@pytest.mark.parametrize("report", REPORTS)
def test_every_task_ends_some_time(dags: dict[str, Any], report: str) -> None:
    """Also the one that waits for a person; the run itself has no limit, which would skip tasks."""
    tasks = dags[report]["tasks"]
    assert all(task["timeout"] for task in tasks.values())
    assert all(task["answer_within"] for name, task in tasks.items() if name == "approve")
    assert dags[report]["dagrun_timeout"] == "None"


@pytest.mark.parametrize("report", REPORTS)
def test_trials_are_measured_one_at_a_time(dags: dict[str, Any], report: str) -> None:
    """And one campaign of a report type at a time, which nothing starts by itself."""
    trials = [t for name, t in dags[report]["tasks"].items() if name.endswith("trials")]
    assert len(trials) == (6 if report in WATCHES else 3)
    for task in trials:
        assert (task["mapped"], task["one_at_a_time"]) == (True, 1)
        assert task["retries"] >= 1
    assert dags[report]["max_active_runs"] == 1
    assert dags[report]["catchup"] is False
    # What has a schedule runs only once somebody has unpaused it.
    assert (dags[report]["schedule"] is None) == (dags[report]["paused"] is None)


@pytest.mark.parametrize("report", REPORTS)
def test_nothing_is_rented_without_approval(dags: dict[str, Any], report: str) -> None:
    """Where hosts are rented, `approve` is between the plan and everything else."""
    tasks = dags[report]["tasks"]
    if report not in RENTING:
        assert "approve" not in tasks
        return
    assert tasks["approve"]["upstream"] == ["plan"]
    assert tasks["approve"]["downstream"] == ["register"]
    assert tasks["approve"]["retries"] == 0, "a rejection is not asked about again"
    assert tasks["register"]["upstream"] == ["approve"]
    assert tasks["register"]["rule"] == "all_success"
    others = set(tasks) - {"plan", "approve"}
    assert others <= downstream(dags[report], "register") | {"register"}


@pytest.mark.parametrize("report", REPORTS)
def test_only_on_a_fleet_a_trial_waits_without_a_worker(dags: dict[str, Any], report: str) -> None:
    """Where the client runs on this machine, the worker is there anyway."""
    trials = [t for name, t in dags[report]["tasks"].items() if name.endswith("trials")]
    expected = 6 if report in WATCHES else 3
    assert [t["deferrable"] for t in trials] == [report in ON_A_FLEET] * expected


@pytest.mark.parametrize("report", ON_EC2)
def test_both_sides_are_deployed_before_one_task_loads_them(
    dags: dict[str, Any], report: str
) -> None:
    """At once, as rented hosts allow it; then each is analyzed and backed up, before any trial."""
    tasks = dags[report]["tasks"]
    order = ["provision", "deploy_first", "deploy_second", "load"]
    for place in ("first", "second"):
        order += [f"prepare_{place}.{step}" for step in ("analyze", "back_up")]
        assert f"prepare_{place}.load" not in tasks
    for earlier, later in zip(order, [*order[1:], "trials"], strict=True):
        assert later in downstream(dags[report], earlier)
        assert tasks[later]["rule"] == "all_success"


def test_on_owned_hosts_a_side_is_ready_before_the_other_one_is_deployed(
    dags: dict[str, Any],
) -> None:
    """Servers may share a host there, and each side is started once."""
    steps = ("deploy", "load", "analyze", "back_up")
    order = [f"prepare_{place}.{step}" for place in ("first", "second") for step in steps]
    for earlier, later in zip(order, [*order[1:], "trials"], strict=True):
        assert later in downstream(dags["sysbench_hosts"], earlier)


def test_a_report_type_that_cannot_be_run_shows_why(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """A topology that is not there, by name."""
    shutil.copytree(PROJECT / "configs", tmp_path / "configs")
    folder = tmp_path / "configs" / "reports"
    hosts = (folder / "sysbench_hosts.yaml").read_text()
    moved = hosts.replace("sysbench_hosts", "moved").replace("hosts_published", "nowhere")
    (folder / "moved.yaml").write_text(moved)
    dags = describe(airflow_env, BENCHLAB_PROJECT=str(tmp_path))
    assert set(dags) == {*REPORTS, "invalid_spec_moved"}
    assert "topology: nowhere: there is no" in dags["invalid_spec_moved"]["doc"]


def test_a_broken_published_plan_takes_no_dag_away(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """It is not to be chosen; all the rest is."""
    shutil.copytree(PROJECT / "configs", tmp_path / "configs")
    file = tmp_path / "configs/published/sysbench_v520_vs_v511.yaml"
    file.write_text(file.read_text().replace("rounds: 1", "rouns: 1"))
    assert set(describe(airflow_env, BENCHLAB_PROJECT=str(tmp_path))) == set(REPORTS)


FORM = """
import json
from benchlab import home
from benchlab.campaign import overrides, report_types
from benchlab_airflow.dags import trigger_form
report = report_types.load(home.find().configs / "reports" / "REPORT.yaml")
report = report.model_copy(update={"offered_connections": OFFERED})
form = trigger_form.form(report)
say(json.dumps({name: param.schema for name, param in form.items()}))
filled = {**{name: param.value for name, param in form.items()}, **FILLED}
say(trigger_form.chosen(report, filled).model_dump_json())
say(report.model_dump_json())
"""


def form(
    env: dict[str, str], report: str, offered: tuple[str, ...] = (), **filled: object
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The form's fields, what is chosen where it is filled in so, and the report type itself."""
    code = FORM.replace("REPORT", report).replace("FILLED", repr(filled))
    code = code.replace("OFFERED", repr(offered))
    fields, chosen, own = map(json.loads, told(code, env))
    return fields, chosen, own


def test_the_form_of_every_dag_can_be_sent_as_it_is(airflow_env: dict[str, str]) -> None:
    """A run by the calendar is a form that nobody has seen; Airflow does not check it ahead."""
    code = """
import version_comparison as file
from airflow.sdk import DAG
for name, dag in vars(file).items():
    if isinstance(dag, DAG):
        dag.params.validate()
        say(dag.dag_id)
"""
    assert set(told(code, airflow_env)) == set(REPORTS)


@pytest.mark.parametrize("report", REPORTS)
def test_the_form_offers_the_published_plans_of_its_report_type(
    airflow_env: dict[str, str], report: str
) -> None:
    """Exactly these, every value of a field with its text; left as it is it changes nothing."""
    here = home.find()
    published = [path.stem for path in report_types.published_plans(here, report)]
    fields, chosen, own = form(airflow_env, report)
    if published:
        assert fields["published"]["enum"] == ["none", *published]
    else:
        assert "published" not in fields
    assert chosen == own
    choices = {name: field for name, field in fields.items() if "enum" in field}
    assert "restore" in choices
    for name, field in choices.items():
        assert set(field["values_display"]) == set(field["enum"]), name


@pytest.mark.parametrize("report", ON_A_FLEET)
def test_the_form_offers_topologies_of_the_right_kind_only(
    airflow_env: dict[str, str], report: str
) -> None:
    """Hosts that are rented are no choice where one's own are meant."""
    fields, _, own = form(airflow_env, report)
    offered = fields["topology"]["enum"]
    kind = TARGETS[report].can.topology
    assert kind is not None
    assert offered == report_types.topology_names(home.find(), kind)
    assert own["topology"] in offered


def test_only_workloads_of_the_report_type_s_client_can_be_chosen(
    airflow_env: dict[str, str],
) -> None:
    """TPC-C has a client and a dataset of its own, and so report types of its own."""
    fields, _, _ = form(airflow_env, "sysbench_ec2")
    assert "tpcc" in workloads.by_name()
    assert "oltp_insert" in fields["workloads"]["then"]["items"]["enum"]
    assert "tpcc" not in fields["workloads"]["then"]["items"]["enum"]


def test_the_page_of_a_renting_dag_tells_what_an_operator_fears(dags: dict[str, Any]) -> None:
    """How it gets at an account, what it costs and what is left; no page of another DAG does."""
    for report in REPORTS:
        assert "**approve**" in dags[report]["doc"]
        for part in ("What it costs", "left over"):
            assert (part in dags[report]["doc"]) == (report in RENTING)
        for part in ("Five steps", "benchlab_aws", "iam-policy.json"):
            assert (part in dags[report]["doc"]) == (report in ON_EC2)


@pytest.mark.parametrize("report", REPORTS)
def test_hours_price_and_schedule_are_known_before_the_click(
    dags: dict[str, Any], report: str
) -> None:
    """On the DAG's page; what unpausing does is said where there is a schedule, and only there."""
    page = dags[report]["doc"]
    assert "a run takes about **" in page
    assert ("dollars**" in page) == (report in ON_EC2)
    assert ("usd_per_hour: not known" in page) == (report == "sysbench_cloud")
    assert ("arms the schedule" in page) == (dags[report]["schedule"] is not None)


FIRST_FIELD = """
import version_comparison as file
from airflow.sdk import DAG
for name, dag in vars(file).items():
    if isinstance(dag, DAG) and dag.dag_id == name:
        first = next(iter(dag.params))
        text = dag.params.get_param(first).schema["description_md"]
        leads = "[Plan](plugin/benchmarks" in text
        say(name, "arms the schedule" in text, leads, "takes about" in text)
"""


def test_the_form_begins_with_what_the_page_says(
    airflow_env: dict[str, str], dags: dict[str, Any]
) -> None:
    """Beside the box that unpauses the DAG; what a run takes is where it follows what is typed."""
    said = {name: rest for name, *rest in map(str.split, told(FIRST_FIELD, airflow_env))}
    assert said == {
        report: [str(dags[report]["schedule"] is not None), "True", "False"] for report in REPORTS
    }


@pytest.mark.parametrize("report", REPORTS)
def test_the_form_shows_the_versions_of_its_report_type(
    airflow_env: dict[str, str], report: str
) -> None:
    """Where it is known which engine is deployed; and suggests releases of the calendar."""
    fields, _, own = form(airflow_env, report)
    names = [own["engine"]] if own["engine"] != "auto" else list(own["engines"])
    known = {release.version.text for release in report_types.calendar(home.find()).releases}
    assert ("candidate" in fields) == (own["sides"] != "single")
    for side in {"baseline", "candidate"} & set(fields):
        field = fields[side]
        assert known & set(field["examples"])
        assert ("nightly" in field["examples"]) == (len(names) == 1)
        assert ("previous" in field["examples"]) == (len(names) == 1 and side == "baseline")


@pytest.mark.parametrize("report", REPORTS)
def test_a_form_has_only_what_its_target_can_do(airflow_env: dict[str, str], report: str) -> None:
    """Hosts of a fleet, an order of two sides, datasets that are kept on S3, leaders of TiKV."""
    (fields, _, own), target = form(airflow_env, report), TARGETS[report]
    is_fleet = target.can.topology is not None
    assert ("topology" in fields) == is_fleet
    assert ("placement" in fields) == (is_fleet and own["sides"] != "single")
    assert ("snapshots" in fields) == (own["snapshots"] is not None)
    assert ("leaders" in fields) == (is_fleet and target.can.deploys and target.can.chooses_version)


@pytest.mark.parametrize(
    ("report", "published"),
    [("sysbench_ec2", "sysbench_v520_vs_v511"), ("sysbench_existing", "sysbench_v21_vs_v20")],
)
def test_a_published_plan_is_taken_as_it_was(
    airflow_env: dict[str, str], report: str, published: str
) -> None:
    """Every field is the document's; one that is changed beside it is changed, and only that."""
    pinned = json.loads(
        report_types.load(report_types.find_report(home.find(), published)).model_dump_json()
    )
    _, chosen, _ = form(airflow_env, report, published=published)
    assert chosen == pinned
    _, changed, _ = form(airflow_env, report, published=published, threads=["7"], rounds=4)
    assert changed == {**pinned, "threads": [7], "rounds": 4}


def test_a_server_that_exists_is_chosen_by_its_connection(airflow_env: dict[str, str]) -> None:
    """Of the report type, or of a published plan, whose other side stays; nowhere else.

    Only one that the report type's file offers.
    """
    other = {"baseline_connection": "my_tidb"}
    offers = ("my_tidb",)
    fields, chosen, own = form(airflow_env, "sysbench_existing", offers, **other)
    assert fields["baseline_connection"]["title"] == "Connection"
    assert fields["baseline_connection"]["enum"] == ["benchlab_cluster", "my_tidb"]
    assert chosen == {**own, "connections": {"baseline": "my_tidb"}}
    plan = {"published": "sysbench_v21_vs_v20", **other}
    _, chosen, _ = form(airflow_env, "sysbench_existing", offers, **plan)
    assert chosen["connections"] == {"baseline": "my_tidb", "candidate": "tidb_v21"}
    assert "baseline_connection" not in form(airflow_env, "sysbench_local")[0]


def test_a_form_may_begin_with_a_connection(airflow_env: dict[str, str]) -> None:
    """As that of a report type without published plans; what comes before is said there."""
    code = """
from benchlab import home
from benchlab.campaign import report_types
from benchlab_airflow.dags import trigger_form
shipped = report_types.load(home.find().configs / "reports" / "sysbench_existing.yaml")
first, *_ = trigger_form.form(shipped.model_copy(update={"report": "mine"}), "Before.").items()
say(first[0], first[1].schema["description_md"].splitlines()[0])
"""
    assert told(code, airflow_env) == ["baseline_connection Before."]


def test_the_fields_of_a_fleet_reach_the_plan(airflow_env: dict[str, str]) -> None:
    """Placement, leaders."""
    asked = {"placement": "sequential", "leaders": "as_placed"}
    _, chosen, own = form(airflow_env, "sysbench_ec2", (), **asked)
    assert chosen == own | asked


PLAN = """
from types import SimpleNamespace
from benchlab import home
from benchlab_airflow.dags import stages
ti = SimpleNamespace(task_id="plan", dag_id="REPORT", run_id="r",
                     xcom_push=lambda key, value: None)
context = {"params": {"campaign": "c1", "overrides": OVERRIDES}, "run_id": "r",
           "dag": SimpleNamespace(dag_id="REPORT"), "ti": ti,
           "dag_run": SimpleNamespace(run_type="manual", logical_date=None)}
stages.get_current_context = lambda: context
try:
    say(len(stages.plan(str(home.find().configs / "reports" / "REPORT.yaml"))), "trials")
except Exception as error:
    say(type(error).__name__, error)
"""


def planned(env: dict[str, str], tmp_path: Path, report: str, *overrides: str) -> list[str]:
    """What the first task says of a form that is filled in so."""
    code = PLAN.replace("REPORT", report).replace("OVERRIDES", repr(list(overrides)))
    return told(code, env, BENCHLAB_HOME=str(tmp_path))


def test_a_form_cannot_change_where_a_report_type_runs(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """`approve` and `give_back` are the target's: a DAG without them must not rent a fleet."""
    changes = ["target=ec2", "topology=ec2_published", "budget={approve_above: 900, limit: 900}"]
    (said,) = planned(airflow_env, tmp_path, "sysbench_hosts", *changes)
    assert said.startswith("AirflowFailException target: the DAG of sysbench_hosts releases")


def test_a_plan_above_the_hard_limit_is_refused(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Nobody is even asked; the arithmetic is shown."""
    said = planned(airflow_env, tmp_path, "sysbench_ec2", "rounds=60")
    assert said[0].startswith("AirflowFailException budget.limit: the plan costs $")


STAGE = """
from contextlib import contextmanager
from types import SimpleNamespace
from benchlab.errors import FetchError, TargetError, UnavailableError, UnreachableError
from benchlab_airflow.dags import stages

def deploy(side):
    raise ERROR

@contextmanager
def campaign():
    yield SimpleNamespace(
        deployments=SimpleNamespace(in_order=("baseline",), deploy=deploy)
    )

stages._campaign = campaign
try:
    say(stages.on_side("deploy", "PLACE"))
except Exception as error:
    say(type(error).__name__, error)
"""


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        ("UnreachableError('link down')", "UnreachableError link down"),
        ("FetchError('no answer')", "FetchError no answer"),
        ("UnavailableError('not kept')", "AirflowFailException not kept"),
        ("TargetError('no sudo')", "AirflowFailException no sudo"),
    ],
)
def test_a_lost_link_is_tried_again_and_an_unfit_host_is_not(
    airflow_env: dict[str, str], error: str, raised: str
) -> None:
    """The first comes back by itself; the second would cost another try's time for nothing."""
    code = STAGE.replace("ERROR", error).replace("PLACE", "first")
    assert told(code, airflow_env) == [raised]


def test_a_campaign_of_one_version_has_nothing_to_do_for_the_other(
    airflow_env: dict[str, str],
) -> None:
    """Its tasks are there, and succeed."""
    code = STAGE.replace("ERROR", "TargetError").replace("PLACE", "second")
    assert told(code, airflow_env) == ["None"]


STOPPED = """
from contextlib import contextmanager
from types import SimpleNamespace
from benchlab_airflow.dags import stages

@contextmanager
def campaign():
    yield SimpleNamespace(sequence=SimpleNamespace(
        measure_next=lambda attempt: None, begin_next=lambda attempt: None,
        money=SimpleNamespace(stopped=lambda: "limit", spent="59.00 of 60.00 dollars"),
    ))

stages._campaign = campaign
stages.log.warning = stages.log.info = lambda text, *values: say(text % values)
say(stages.begin(1))
say(stages.measure(1))
"""


def test_the_log_of_a_trial_says_what_is_spent_and_why_it_is_not_measured(
    airflow_env: dict[str, str],
) -> None:
    """Its task succeeds at once: what has been measured is still to be published."""
    why = "not measured: another trial would pass the limit of the hosts"
    expected = ["spent on the hosts: 59.00 of 60.00 dollars", why, "None", why, "None"]
    assert told(STOPPED, airflow_env) == expected


REAP = """
import datetime, json, os, runpy
from airflow.sdk import DAG
from benchlab import home
from benchlab.hosts.access import Access
from benchlab.targets.ec2.regions import known_regions
from benchlab.targets.ec2 import reaper
from benchlab.errors import TargetError
from benchlab_airflow.operators import upkeep
from tests.builders import tidb_cloud as fake

dag = runpy.run_path(str(home.find().project / "dags" / "reap_expired_fleets.py"))["dag"]
task, clusters, deleted = dag.tasks
say(json.dumps({
    "names": [one.task_id for one in dag.tasks],
    "before": [sorted(one.upstream_task_ids) for one in dag.tasks],
    "every_s": dag.schedule.total_seconds(), "catchup": dag.catchup,
    "at_a_time": dag.max_active_runs, "doc": dag.doc_md, "retries": task.retries,
    "timeout_s": task.execution_timeout.total_seconds(),
    "starts_in_the_past": dag.start_date < datetime.datetime.now(datetime.UTC),
}))
asked = []
def reap(access, regions, *, dry_run, say=None):
    asked.append((isinstance(access, Access), list(regions), dry_run))
    one = reaper.Reaped("us-west-2", "instance", "i-1", "c1", "expired", done=True)
    say(str(one))
    return [one]
reaper.reap = reap
cut = home.find().campaign("cut") / "rental.json"
cut.parent.mkdir(parents=True)
cut.write_text("")
errors = []
upkeep.log.error = lambda text, *values: errors.append(text % values)
say(json.dumps(task.python_callable()))
say(*errors)
cut.unlink()
say(asked == [(True, list(known_regions(home.find()).names), False)])
def broken(*arguments, **more):
    raise TargetError("us-west-2: instance i-2: no permission")
reaper.reap = broken
try:
    task.python_callable()
except TargetError as error:
    say(error)
with fake.serving() as cloud:
    login = {"conn_type": "mysql", "host": "127.0.0.1", "port": cloud.port, "login": fake.PUBLIC,
             "extra": {"ssl_mode": "VERIFY_IDENTITY", "ssl": {"ca": "/etc/hostname"}}}
    cloud.add("benchlab-20240131T1200Z-3f2a9c1b7d40")
    say(clusters.python_callable(), len(cloud.requests), "requests: no cluster can be there")
    (cut.parent / "cluster.json").write_text("")
    for password in ("wrong", fake.PRIVATE):
        os.environ["AIRFLOW_CONN_TIDB_CLOUD"] = json.dumps({**login, "password": password})
        try:
            clusters.python_callable()
        except TargetError as error:
            say(str(error).replace("\\n", " "), len(cloud.living()))
"""


def test_forgotten_fleets_are_ended_every_quarter_of_an_hour(airflow_env: dict[str, str]) -> None:
    """One run at a time, none for the time that is past; in all known regions.

    Clusters of TiDB Cloud are another task's, so that neither waits for the other.
    """
    described, sentences, skipped, as_asked, failure, nobody, wrong_key, damaged = told(
        REAP, airflow_env
    )
    assert nobody == "[] 0 requests: no cluster can be there"
    assert re.search("cluster.json: cannot be read.* the API key is refused.* 1$", wrong_key)
    assert re.search("cluster.json: cannot be read.* 0$", damaged)
    dag = json.loads(described)
    assert dag.pop("names") == ["reap_fleets", "reap_clusters", "reap_deleted"]
    assert dag.pop("before") == [[], [], []]
    assert dag.pop("every_s") == 900
    assert (dag.pop("catchup"), dag.pop("at_a_time")) == (False, 1)
    assert 0 < dag.pop("timeout_s") < 3600
    assert dag.pop("retries") >= 1
    assert dag.pop("starts_in_the_past")
    assert "benchlab reap --dry-run" in dag.pop("doc")
    assert json.loads(sentences) == ["us-west-2: instance i-1 of campaign c1 terminated: expired."]
    assert re.match("not looked at: .*cut/rental.json: empty or damaged", skipped)
    assert as_asked == "True"
    assert failure == "us-west-2: instance i-2: no permission", "which makes the task red"


REAP_NOWHERE = """
import dataclasses
from botocore.retries.standard import ExponentialBackoff
from benchlab import home
from tests.builders import campaigns
from benchlab.results.store import Store
from benchlab_airflow.operators import upkeep

ExponentialBackoff.delay_amount = lambda *_: 0
if TARGETS:
    with Store(home.find().store_url, home.find().objects) as store:
        for target in TARGETS:
            campaign = campaigns.campaign(id=target)
            plan = dataclasses.replace(campaign.plan, target=target)
            store.add_campaign(dataclasses.replace(campaign, plan=plan))
try:
    say(upkeep.reap_fleets())
except Exception as error:
    say(type(error).__name__, str(error).replace("\\n", " "))
"""


@pytest.mark.parametrize(
    ("targets", "environment", "said"),
    [
        ([], {}, "AirflowSkipException nothing to end: there are no AWS credentials here, "),
        (["local", "hosts", "tidb_cloud"], {}, "AirflowSkipException nothing to end"),
        (["local", "ec2"], {}, "ReaperError .*there are no credentials"),
        (
            [],
            {"BENCHLAB_STORE_URL": "sqlite:////dev/null/no.db"},
            "ReaperError .*there are no credentials",
        ),
        # AWS is out of reach: this is not to be without credentials.
        (
            [],
            {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"},
            "ReaperError .*does not answer",
        ),
    ],
)
def test_the_reaper_is_skipped_only_where_nothing_can_have_been_rented(
    airflow_env: dict[str, str],
    tmp_path: Path,
    targets: list[str],
    environment: dict[str, str],
    said: str,
) -> None:
    """Without credentials, and with no campaign on EC2 in a store that can be read."""
    env = {key: value for key, value in airflow_env.items() if not key.startswith("AWS_")} | {
        "HOME": str(tmp_path),
        "BENCHLAB_HOME": str(tmp_path / "state"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
    }
    code = REAP_NOWHERE.replace("TARGETS", repr(targets))
    (outcome,) = told(code, env, **environment)
    assert re.match(said, outcome)


def test_the_demo_is_for_this_machine(tmp_path: Path) -> None:
    """A fleet's report type is refused before Airflow is started, with what to do instead.

    No Airflow home is made for it, neither here nor in the user's home.
    """
    elsewhere = {key: value for key, value in os.environ.items() if key != "AIRFLOW_HOME"}
    done = subprocess.run(
        [sys.executable, "-m", "benchlab_airflow.local.demo", "sysbench_ec2"],
        env={**elsewhere, "BENCHLAB_HOME": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )
    assert done.returncode == 1
    assert "target: ec2: the demo is for this machine" in done.stderr
    assert "make up" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_watch_measures_again_what_its_screening_flags(dags: dict[str, Any]) -> None:
    """In a group of its own, which is empty in most weeks, before anything is compared."""
    tasks = dags["sysbench_ec2_watch"]["tasks"]
    own = {name for name in tasks if name.startswith("confirm.")}
    assert own == {
        *("confirm.screen", "confirm.trials"),
        *(f"confirm.repeat_{n}.{task}" for n in (1, 2) for task in ("find_invalid", "trials")),
    }
    after = downstream(dags["sysbench_ec2_watch"], "repeat_2.trials")
    assert {*own, "compare", "give_back", "verdict"} <= after
    assert "compare" in downstream(dags["sysbench_ec2_watch"], "confirm.repeat_2.trials")
    fixed = dags["sysbench_ec2"]["tasks"]
    assert not any(name.startswith("confirm") for name in fixed)
