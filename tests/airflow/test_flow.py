"""Policies of the campaign DAG: what an operator relies on whatever the report type says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.conftest import PROJECT, run_python

DESCRIBE = """
import json
import version_comparison as file
from airflow.sdk import DAG
dags = {}
for name, dag in vars(file).items():
    if isinstance(dag, DAG) and dag.dag_id == name:
        dags[name] = {
            "schedule": dag.schedule and dag.schedule.serialize(),
            "max_active_runs": dag.max_active_runs, "paused": dag.is_paused_upon_creation,
            "tags": sorted(dag.tags),
            "dagrun_timeout": str(dag.dagrun_timeout), "doc": dag.doc_md, "catchup": dag.catchup,
            "fields": sorted(dag.params),
            "tasks": {
                task.task_id: {
                    "setup": task.is_setup, "teardown": task.is_teardown,
                    "fails_run": getattr(task, "on_failure_fail_dagrun", None),
                    "rule": str(task.trigger_rule.value),
                    "timeout": task.execution_timeout is not None,
                    "answer_within": getattr(task, "response_timeout", None) is not None,
                    "retries": task.retries, "fields": sorted(task.params),
                    "downstream": sorted(task.downstream_task_ids),
                    "upstream": sorted(task.upstream_task_ids),
                    "mapped": task.is_mapped,
                    "deferrable": (
                        task.partial_kwargs.get("deferrable") if task.is_mapped else None
                    ),
                    "one_at_a_time": getattr(task, "max_active_tis_per_dagrun", None),
                } for task in dag.tasks
            },
        }
print(json.dumps(dags))
"""


def describe(env: dict[str, str], **more: str) -> dict[str, Any]:
    """Every DAG of the file, as plain data."""
    last = run_python(DESCRIBE, env, **more).splitlines()[-1]
    found: dict[str, Any] = json.loads(last)
    return found


@pytest.fixture(scope="module")
def dag(airflow_env: dict[str, str]) -> dict[str, Any]:
    """The DAG of `sysbench_local`."""
    found: dict[str, Any] = describe(airflow_env)["sysbench_local"]
    return found


def downstream(dag: dict[str, Any], task: str) -> set[str]:
    """Every task that comes after one."""
    found: set[str] = set()
    waiting = [task]
    while waiting:
        for after in dag["tasks"][waiting.pop()]["downstream"]:
            if after not in found:
                found.add(after)
                waiting.append(after)
    return found


def test_the_machine_is_given_back_whatever_fails(dag: dict[str, Any]) -> None:
    """`give_back` is the teardown of `register` and comes after every task in between."""
    tasks = dag["tasks"]
    assert {name for name, task in tasks.items() if task["setup"]} == {"plan", "register"}
    assert {name for name, task in tasks.items() if task["teardown"]} == {"verdict", "give_back"}
    assert "give_back" in tasks["register"]["downstream"], "a teardown hangs on its setup directly"
    between = set(tasks) - {"plan", "register", "give_back", "verdict"}
    assert between <= downstream(dag, "register")
    assert all("give_back" in downstream(dag, name) for name in between)


def test_a_run_is_red_when_something_was_not_measured(dag: dict[str, Any]) -> None:
    """`verdict` is a leaf, and runs whatever came before, also where a run is marked failed."""
    tasks = dag["tasks"]
    assert tasks["give_back"]["fails_run"] is True, "a leaked process makes the run red too"
    leaves = {name for name, task in tasks.items() if not task["downstream"]}
    assert leaves == {"verdict", "give_back"}
    assert tasks["verdict"]["fails_run"] is True
    assert tasks["verdict"]["rule"] == "all_done_setup_success", "a run that is marked failed too"
    assert {"publish", "plan"} == set(tasks["verdict"]["upstream"])


def test_nothing_before_the_trials_is_skipped_over(dag: dict[str, Any]) -> None:
    """Deploy, load, analyze and back up of each side, in this order, before any trial."""
    for side in ("baseline", "candidate"):
        steps = [f"prepare_{side}.{step}" for step in ("deploy", "load", "analyze", "back_up")]
        for earlier, later in zip(steps, [*steps[1:], "trials"], strict=True):
            assert later in downstream(dag, earlier)
            assert dag["tasks"][later]["rule"] == "all_success"


def test_the_form_is_kept_once_and_not_with_every_task(dag: dict[str, Any]) -> None:
    """Airflow validates each copy whenever it stores the DAG: seconds of CPU beside the trials."""
    assert {"rounds", "overrides"} <= set(dag["fields"])
    assert {name: task["fields"] for name, task in dag["tasks"].items() if task["fields"]} == {}


def test_a_process_that_runs_a_task_builds_the_dag_of_that_task_only(
    airflow_env: dict[str, str],
) -> None:
    """Every task parses the file again, also between two trials."""
    assert list(describe(airflow_env, _AIRFLOW_PARSING_CONTEXT_DAG_ID="tpcc_local")) == [
        "tpcc_local"
    ]


def test_a_dataset_with_conditions_is_checked_twice_and_any_other_is_not(
    airflow_env: dict[str, str],
) -> None:
    """Before each side's snapshot and before the report, also where a repetition was skipped."""
    dags = describe(airflow_env)
    without = dags["sysbench_local"]["tasks"]
    assert not [name for name in without if "check" in name]
    tasks = dags["tpcc_local"]["tasks"]
    for side in ("baseline", "candidate"):
        check = tasks[f"prepare_{side}.check"]
        assert check["upstream"] == [f"prepare_{side}.analyze"]
        assert check["downstream"] == [f"prepare_{side}.back_up"]
        assert (check["rule"], check["timeout"]) == ("all_success", True)
    again = tasks["check_consistency"]
    assert again["upstream"] == ["repeat_2.trials"]
    assert "validate" in again["downstream"]
    assert (again["rule"], again["timeout"]) == ("none_failed", True)
    assert again["retries"] == tasks["validate"]["retries"] >= 1


def test_trials_run_one_at_a_time_and_are_tried_again(dag: dict[str, Any]) -> None:
    """Two trials at once would measure each other; a killed task is no lost campaign."""
    trials = {n: t for n, t in dag["tasks"].items() if n.endswith("trials")}
    assert set(trials) == {"trials", "repeat_1.trials", "repeat_2.trials"}
    for task in trials.values():
        assert task["mapped"]
        assert task["one_at_a_time"] == 1
        assert task["retries"] >= 1


def test_a_repetition_with_nothing_to_do_skips_nothing_after_it(dag: dict[str, Any]) -> None:
    """A mapped task over an empty list is skipped; the report must be written all the same."""
    assert dag["tasks"]["repeat_2.find_invalid"]["rule"] == "none_failed"
    assert dag["tasks"]["validate"]["rule"] == "none_failed"


def test_nothing_hangs_for_ever_and_nothing_skips_the_teardown(dag: dict[str, Any]) -> None:
    """Every task has a time limit; the run has none, because that would skip the teardown."""
    assert all(task["timeout"] for task in dag["tasks"].values())
    assert dag["dagrun_timeout"] == "None"


def test_one_campaign_of_a_report_type_at_a_time(dag: dict[str, Any]) -> None:
    """A second run of the same DAG waits; nothing starts by itself."""
    assert dag["max_active_runs"] == 1
    assert dag["schedule"] is None
    assert dag["catchup"] is False


def test_the_page_of_the_dag_explains_it(dag: dict[str, Any]) -> None:
    """The docstring is what an operator reads in the UI; it names every stage."""
    for stage in ("plan", "register", "prepare", "trials", "validate", "publish", "verdict"):
        assert f"**{stage}**" in dag["doc"]


def test_a_broken_report_type_does_not_take_the_others_with_it(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Among good specs a broken one becomes a DAG that shows the error; a broken topology, none."""
    shutil.copytree(PROJECT / "configs", tmp_path / "configs")
    good = (tmp_path / "configs/reports/sysbench_local.yaml").read_text()
    broken = good.replace("rounds: 3", "rouns: 3").replace("sysbench_local", "broken one")
    (tmp_path / "configs/reports/broken one.yaml").write_text(broken)
    (tmp_path / "configs/reports/huge.yaml").write_text(f"rounds: 0x{'f' * 9000}\n")
    (tmp_path / "configs/topologies/huge.yaml").write_text(f"kind: 0x{'f' * 9000}\n")
    dags = describe(airflow_env, BENCHLAB_PROJECT=str(tmp_path))
    names = {path.stem for path in (PROJECT / "configs" / "reports").glob("*.yaml")}
    assert set(dags) == {*names, "invalid_spec_broken_one", "invalid_spec_huge"}
    assert "line 1" in dags["invalid_spec_huge"]["doc"]
    assert "rouns: unknown key" in dags["invalid_spec_broken_one"]["doc"]
    assert list(dags["invalid_spec_broken_one"]["tasks"]) == ["show_error"]


OVERRIDES = """
import json
from benchlab import home
from benchlab.campaign import overrides, report_types
from benchlab_airflow.dags import trigger_form
spec = report_types.load(home.find().configs / "reports" / "sysbench_local.yaml")
defaults = {key: param.value for key, param in trigger_form.form(spec).items()}
filled = {**defaults, **FILLED}
changed = trigger_form.overrides(spec, filled)
print(json.dumps(changed))
print(overrides.override(spec, changed).model_dump_json())
"""


def test_a_form_left_as_it_is_changes_nothing(airflow_env: dict[str, str]) -> None:
    """The form's defaults are the report type's own values."""
    changed, _ = run_python(OVERRIDES.replace("FILLED", "{}"), airflow_env).splitlines()[-2:]
    assert json.loads(changed) == {}


def test_every_field_of_the_form_reaches_the_plan(airflow_env: dict[str, str]) -> None:
    """Threads, workloads, rounds, versions and the rest are taken from the form."""
    filled = {
        "baseline": " 10.11.5 ",
        "candidate": "11.4.5",
        "workloads": ["oltp_insert"],
        "threads": [1, 16],
        "rounds": 5,
        "seconds": 7,
        "tables": 2,
        "restore": "per_workload",
        "aa": True,
        "slowdown_pct": 30,
        "languages": ["zh", "en"],
        "overrides": {"ports.entry": 23390},
    }
    code = OVERRIDES.replace("FILLED", repr(filled))
    spec = json.loads(run_python(code, airflow_env).splitlines()[-1])
    assert spec["engine"] == "mariadb", "the versions say which engine is meant"
    assert spec["engines"]["mariadb"]["baseline"]["version"] == "10.11.5"
    assert spec["engines"]["mariadb"]["candidate"]["version"] == "11.4.5"
    assert (spec["workloads"], spec["threads"]) == (["oltp_insert"], [1, 16])
    assert (spec["rounds"], spec["seconds"], spec["dataset"]["tables"]) == (5, 7, 2)
    assert (spec["restore"], spec["ports"]["entry"]) == ("per_workload", 23390)
    assert (spec["sides"], spec["slowdown_pct"]) == ("same", 30)
    assert spec["languages"] == ["zh", "en"]


def test_lists_are_typed_one_item_a_line(airflow_env: dict[str, str]) -> None:
    """The form's text areas give strings, with an empty one for the last line's end."""
    filled = {
        "threads": ["1", "16", ""],
        "overrides": ["ports.entry=23390", "repeat_limit=1", ""],
    }
    code = OVERRIDES.replace("FILLED", repr(filled))
    spec = json.loads(run_python(code, airflow_env).splitlines()[-1])
    assert spec["threads"] == [1, 16]
    assert (spec["ports"]["entry"], spec["repeat_limit"]) == (23390, 1)


FIELDS = """
from benchlab import home
from benchlab.campaign import report_types
from benchlab_airflow.dags import trigger_form
for name in ("sysbench_local", "sysbench_ec2", "sysbench_hosts"):
    spec = report_types.load(home.find().configs / "reports" / f"{name}.yaml")
    fields = trigger_form.form(spec)
    print(name, fields["aa"].schema["type"], "slowdown_pct" in fields)
"""


def test_a_slowdown_is_offered_where_the_target_can(airflow_env: dict[str, str]) -> None:
    """On this machine and not on a fleet; an A/A campaign is a tick everywhere."""
    assert run_python(FIELDS, airflow_env).splitlines()[-3:] == [
        "sysbench_local boolean True",
        "sysbench_ec2 boolean False",
        "sysbench_hosts boolean False",
    ]


BY_API = """
from benchlab import home
from benchlab.campaign import report_types
from benchlab_airflow.dags import trigger_form
spec = report_types.load(home.find().configs / "reports" / "sysbench_local.yaml")
for sent in ({"overrides": {"sides": "same"}}, {"sides": "same"}, {"aa": True}):
    print(trigger_form.chosen(spec, sent).sides)
try:
    trigger_form.chosen(spec, {"side": "same"})
except Exception as error:
    print(type(error).__name__, error)
"""


def test_the_rest_api_may_send_any_field_of_the_report_type(airflow_env: dict[str, str]) -> None:
    """One that the form does not have is taken, and one that nobody has is refused by name."""
    *taken, refused = run_python(BY_API, airflow_env).splitlines()[-4:]
    assert taken == ["same"] * 3
    assert refused.startswith("SpecError")
    assert "side: unknown key" in refused


STORE_URL = """
from airflow.sdk import Connection
from benchlab_airflow.connections import database_url
print(database_url(Connection(conn_id="benchlab_results", conn_type="mysql", host="db", login="u",
    password="p@ss/word", schema="results", port=3307)))
print(database_url(Connection(conn_id="benchlab_results", conn_type="postgres", host="db",
    login="u", password="p", schema="results")))
try:
    database_url(Connection(conn_id="benchlab_results", conn_type="http", host="x"))
except Exception as error:
    print(type(error).__name__, error)
"""


def test_an_airflow_connection_names_the_results_store(airflow_env: dict[str, str]) -> None:
    """MySQL and PostgreSQL Connections become database URLs; another type is refused by name."""
    mysql, postgres, refused = run_python(STORE_URL, airflow_env).splitlines()[-3:]
    assert mysql == "mysql+mysqldb://u:p%40ss%2Fword@db:3307/results"
    assert postgres == "postgresql+psycopg2://u:p@db/results"
    assert refused.startswith("StoreError Connection benchlab_results: conn_type 'http'")


LONG_PLAN = """
from types import SimpleNamespace
from benchlab import home
from benchlab_airflow.dags import stages
context = {"params": {}, "run_id": "manual__1", "dag": SimpleNamespace(dag_id="sysbench_local"),
           "dag_run": SimpleNamespace(run_type="manual", logical_date=None)}
stages.get_current_context = lambda: context
try:
    stages.plan(str(home.find().configs / "reports" / "sysbench_local.yaml"))
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_plan_longer_than_airflow_maps_is_refused(airflow_env: dict[str, str]) -> None:
    """The first task says how long the plan is, what the limit is and what to change."""
    said = run_python(LONG_PLAN, airflow_env, AIRFLOW__CORE__MAX_MAP_LENGTH="47").splitlines()[-1]
    assert said.startswith("AirflowFailException the plan has 48 trials, Airflow maps at most 47")
    assert "take fewer rounds" in said
