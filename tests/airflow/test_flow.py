"""Policies of the campaign DAG: what an operator relies on whatever the report type says."""

from __future__ import annotations

import ast
import json
import math
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchlab.campaign import state
from benchlab.home import ID
from tests.airflow.conftest import PROJECT, run_python, told

DESCRIBE = """
import json
import version_comparison as file
from airflow.sdk import DAG
from benchlab.errors import EngineError, UnreachableError
def delays(task, error, cleared=10):
    policy = task.partial_kwargs["retry_policy"] if task.is_mapped else task.retry_policy
    found = []
    for number in range(1, task.retries + 1):
        decision = policy.evaluate(error, cleared + number, cleared + task.retries)
        if decision.action.value == "fail":
            break
        found.append(decision.retry_delay.total_seconds())
    return found
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
                    "retries": task.retries,
                    "link_s": delays(task, UnreachableError("down")),
                    "server_s": delays(task, EngineError("a parameter is refused")),
                    "fields": sorted(task.params),
                    "downstream": sorted(task.downstream_task_ids),
                    "upstream": sorted(task.upstream_task_ids),
                    "mapped": task.is_mapped,
                    "queue": task.queue, "weight": task.priority_weight,
                    "absolute": str(task.weight_rule) == "absolute",
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


def leaves(dag: dict[str, Any]) -> set[str]:
    """The tasks that decide the run's state, by Airflow's own rule."""
    tasks = dag["tasks"]
    counts = {n for n, task in tasks.items() if not task["teardown"] or task["fails_run"]}
    return {name for name in counts if not counts & set(tasks[name]["downstream"])}


def test_the_machine_is_given_back_whatever_fails(dag: dict[str, Any]) -> None:
    """`give_back` is the teardown of `register` and comes after every task in between."""
    tasks = dag["tasks"]
    assert {name for name, task in tasks.items() if task["setup"]} == {"plan", "register"}
    after_all = {"verdict", "give_back", "long_view"}
    assert {name for name, task in tasks.items() if task["teardown"]} == after_all
    assert "give_back" in tasks["register"]["downstream"], "a teardown hangs on its setup directly"
    between = set(tasks) - {"plan", "register"} - after_all
    assert between <= downstream(dag, "register")
    assert all("give_back" in downstream(dag, name) for name in between)


def test_a_run_is_red_when_something_was_not_measured(dag: dict[str, Any]) -> None:
    """`verdict` is a leaf, and runs whatever came before, also where a run is marked failed.

    A teardown after it that cannot fail the run is ignored where Airflow looks for leaves.
    """
    tasks = dag["tasks"]
    assert tasks["give_back"]["fails_run"] is True, "a leaked process makes the run red too"
    assert tasks["long_view"]["fails_run"] is False
    assert set(tasks["long_view"]["upstream"]) == {"plan", "verdict"}
    assert leaves(dag) == {"verdict", "give_back"}
    assert tasks["verdict"]["fails_run"] is True
    assert tasks["verdict"]["rule"] == "all_done_setup_success", "a run that is marked failed too"
    assert {"publish", "plan"} == set(tasks["verdict"]["upstream"])


LOCAL = ("local:default", "release:default")
FLEET = ("fleet", "release")


@pytest.mark.parametrize(
    ("report", "queues"),
    [
        ("sysbench_local", LOCAL),
        ("tpcc_local", ("local:rack-7", "release:rack-7")),
        ("sysbench_existing", LOCAL),
        ("sysbench_hosts", FLEET),
        ("sysbench_ec2", FLEET),
    ],
)
def test_what_gives_back_waits_behind_nothing(
    airflow_env: dict[str, str], tmp_path: Path, report: str, queues: tuple[str, str]
) -> None:
    """It has a queue of its own, and comes before all other tasks of every run.

    A local campaign stays on the machine that its report type names.
    """
    configs = tmp_path / "configs"
    shutil.copytree(PROJECT / "configs", configs)
    with (configs / "reports" / "tpcc_local.yaml").open("a") as file:
        file.write("\nmachine: rack-7\n")
    more = {"BENCHLAB_PROJECT": str(tmp_path), "_AIRFLOW_PARSING_CONTEXT_DAG_ID": report}
    tasks = describe(airflow_env, **more)[report]["tasks"]
    work, release = queues
    last = tasks.pop("give_back")
    assert (last["queue"], last["absolute"]) == (release, True)
    assert {task["queue"] for task in tasks.values()} == {work}
    # A task's weight is by default its own with those of all tasks after it.
    assert last["weight"] > sum(task["weight"] for task in tasks.values())


def test_no_task_is_given_to_a_second_worker_or_shut_out_while_it_runs(
    airflow_env: dict[str, str],
) -> None:
    """Redis gives it away, and the API server's tokens end, after the longest task only."""
    (said,) = told(
        """
from benchlab_airflow.dags import flow, queues
from benchlab_airflow.local.airflow_home import SETTINGS
from tests.compose import celery_settings
longest = max(flow.STAGE_LIMIT, flow.TRIAL_LIMIT).total_seconds()
longest += float(SETTINGS["core"]["task_success_overtime"])
found = celery_settings()
limits = [float(value) for name, value in found.items() if name.endswith(
    ("__VISIBILITY_TIMEOUT", "__TASK_QUEUED_TIMEOUT", "__JWT_EXPIRATION_TIME"))]
say(len(limits), min(limits) > longest,
    found["AIRFLOW__OPERATORS__DEFAULT_QUEUE"] == queues.FLEET)
""",
        airflow_env,
    )
    assert said == "3 True True"


def test_nothing_before_the_trials_is_skipped_over(dag: dict[str, Any]) -> None:
    """Deploy, load, analyze and back up of each side, in this order, before any trial."""
    order = [
        f"prepare_{place}.{step}"
        for place in ("first", "second")
        for step in ("deploy", "load", "analyze", "back_up")
    ]
    for earlier, later in zip(order, [*order[1:], "trials"], strict=True):
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
    for place in ("first", "second"):
        check = tasks[f"prepare_{place}.check"]
        assert check["upstream"] == [f"prepare_{place}.analyze"]
        assert check["downstream"] == [f"prepare_{place}.back_up"]
        assert (check["rule"], check["timeout"]) == ("all_success", True)
    again = tasks["check_consistency"]
    assert again["upstream"] == ["repeat_2.trials"]
    assert again["downstream"] == ["diagnose"]
    assert (again["rule"], again["timeout"]) == ("none_failed", True)
    assert again["retries"] == tasks["compare"]["retries"] >= 1


def test_trials_run_one_at_a_time_and_are_tried_again(dag: dict[str, Any]) -> None:
    """Two trials at once would measure each other; a killed task is no lost campaign."""
    trials = {n: t for n, t in dag["tasks"].items() if n.endswith("trials")}
    assert set(trials) == {"trials", "repeat_1.trials", "repeat_2.trials"}
    for task in trials.values():
        assert task["mapped"]
        assert task["one_at_a_time"] == 1
        # A trial and the deployment before it may each fail as often as the campaign tries them.
        assert len(task["server_s"]) >= 2 * (state.TRIES - 1)


@pytest.mark.fault(
    "a host or a mirror does not answer for ten minutes",
    promise="every task asks again, after longer and longer pauses",
    of="airflow",
)
def test_what_comes_back_is_waited_for_by_every_task(airflow_env: dict[str, str]) -> None:
    """Links and mirrors for ten minutes at least, sooner at first; also after a task was cleared.

    What another try would hardly mend costs one, and of a trial as many as the campaign counts;
    giving hosts back is tried as long whatever fails.
    """
    for name, dag in describe(airflow_env).items():
        for task_id, task in dag["tasks"].items():
            if task_id == "approve":
                continue
            waits = task["link_s"]
            assert sum(waits) >= 600, (name, task_id)
            assert waits[0] <= 30
            assert all(before <= after <= 300 for before, after in pairwise(waits))
            if task_id == "give_back":
                assert task["server_s"] == waits
            elif not task_id.endswith("trials"):
                assert len(task["server_s"]) == 1


def test_a_repetition_with_nothing_to_do_skips_nothing_after_it(dag: dict[str, Any]) -> None:
    """A mapped task over an empty list is skipped; the report must be written all the same."""
    assert dag["tasks"]["repeat_2.find_invalid"]["rule"] == "none_failed"
    assert dag["tasks"]["compare"]["rule"] == "none_failed"


def test_what_changed_is_looked_at_before_the_report_and_after_the_last_check(
    airflow_env: dict[str, str],
) -> None:
    """Its trials change the data; where one version is measured, there is nothing to look at."""
    dags = describe(airflow_env)
    for name, before in (
        ("sysbench_local", "repeat_2.trials"),
        ("tpcc_local", "check_consistency"),
    ):
        diagnosed = dags[name]["tasks"]["diagnose"]
        assert (diagnosed["upstream"], diagnosed["downstream"]) == ([before], ["compare"])
        assert (diagnosed["rule"], diagnosed["timeout"]) == ("none_failed", True)


def test_nothing_is_published_that_was_not_validated(dag: dict[str, Any]) -> None:
    """What was compared is validated first; the verdict is red, whichever of them failed."""
    assert dag["tasks"]["validate"]["upstream"] == ["compare"]
    assert dag["tasks"]["publish"]["upstream"] == ["validate"]
    assert dag["tasks"]["publish"]["rule"] == "all_success"


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


@pytest.mark.fault(
    "a report type is broken",
    promise="its DAG shows why, and the others are there",
    of="airflow",
)
def test_a_broken_report_type_does_not_take_the_others_with_it(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Among good specs a broken one becomes a DAG that shows the error; a broken topology, none."""
    shutil.copytree(PROJECT / "configs", tmp_path / "configs")
    good = (tmp_path / "configs/reports/sysbench_local.yaml").read_text()
    broken = good.replace("rounds: 6", "rouns: 6").replace("sysbench_local", "broken one")
    (tmp_path / "configs/reports/broken one.yaml").write_text(broken)
    (tmp_path / "configs/reports/huge.yaml").write_text(f"rounds: 0x{'f' * 9000}\n")
    (tmp_path / "configs/topologies/huge.yaml").write_text(f"kind: 0x{'f' * 9000}\n")
    dags = describe(airflow_env, BENCHLAB_PROJECT=str(tmp_path))
    names = {path.stem for path in (PROJECT / "configs" / "reports").glob("*.yaml")}
    assert set(dags) == {*names, "invalid_spec_broken_one", "invalid_spec_huge"}
    assert "line 1" in dags["invalid_spec_huge"]["doc"]
    assert "rouns: unknown key" in dags["invalid_spec_broken_one"]["doc"]
    assert list(dags["invalid_spec_broken_one"]["tasks"]) == ["show_error"]


@pytest.mark.fault(
    "a report type is broken while its campaign runs",
    promise="the run still gives everything back",
    of="airflow",
)
@pytest.mark.parametrize(
    ("name", "text"),
    [("reports/sysbench_ec2", "note: 2024-13-45\n"), ("topologies/ec2_published", "[" * 1000)],
)
def test_a_run_whose_own_file_broke_still_gives_back(
    airflow_env: dict[str, str], tmp_path: Path, name: str, text: str
) -> None:
    """Its DAG stays with all its tasks, says what broke, and begins nothing by a schedule."""
    shutil.copytree(PROJECT / "configs", tmp_path / "configs")
    home = {"BENCHLAB_PROJECT": str(tmp_path), "BENCHLAB_HOME": str(tmp_path / "home")}
    file, report = tmp_path / "configs" / f"{name}.yaml", "sysbench_ec2"
    before = describe(airflow_env, **home)[report]
    run_python(KEEP, airflow_env, REPORT=report, **home)
    file.write_text(text)
    dags = describe(airflow_env, **home)
    assert f"{file.name}" in dags[f"invalid_spec_{report}"]["doc"]
    assert f"{file.name}" in dags[report]["doc"]
    assert dags[report]["tasks"].keys() == before["tasks"].keys()
    assert dags[report]["tasks"]["give_back"] == before["tasks"]["give_back"]
    assert not dags[report]["schedule"]
    asked = describe(airflow_env, _AIRFLOW_PARSING_CONTEXT_DAG_ID=report, **home)
    assert "give_back" in asked[report]["tasks"]


KEEP = """
import os
from benchlab import home
from benchlab.campaign import report_types
here = home.find()
report_types.keep_planned(here, report_types.find_report(here, os.environ["REPORT"]))
"""

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
        "rate": " 60 %",
        "rounds": 5,
        "deployments": 2,
        "seconds": 7,
        "tables": 2,
        "restore": "per_workload",
        "interleave": "trials",
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
    assert spec["rate"] == "60 %"
    assert (spec["rounds"], spec["deployments"], spec["seconds"]) == (5, 2, 7)
    assert spec["dataset"]["tables"] == 2
    assert (spec["restore"], spec["ports"]["entry"]) == ("per_workload", 23390)
    assert spec["interleave"] == "trials"
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
    """On this machine and on fleets; an A/A campaign is a tick everywhere."""
    assert run_python(FIELDS, airflow_env).splitlines()[-3:] == [
        "sysbench_local boolean True",
        "sysbench_ec2 boolean True",
        "sysbench_hosts boolean True",
    ]


BY_API = """
from benchlab import home
from benchlab.campaign import report_types
from benchlab_airflow.dags import trigger_form
spec = report_types.load(home.find().configs / "reports" / "REPORT.yaml")
for sent in SENT:
    try:
        made = trigger_form.chosen(spec, sent, own_command=OWN).model_dump()
        say(*(made[name] for name in ("sides", "title", "budget", "publish")))
    except Exception as error:
        say(f"{type(error).__name__}: {error}")
"""


def by_api(
    env: dict[str, str], *sent: dict[str, Any], report: str = "sysbench_local", own: bool = False
) -> list[str]:
    """What the first task makes of each of these forms, which nobody has checked."""
    code = BY_API.replace("REPORT", report).replace("SENT", repr(sent)).replace("OWN", repr(own))
    return told(f"from math import inf, nan\n{code}", env)


def test_the_rest_api_may_send_what_measures_and_not_where_it_goes(
    airflow_env: dict[str, str],
) -> None:
    """A field that the form does not have is taken if it is about measuring; who may start a
    campaign does not decide where its report is published, and a field that nobody has is named.
    """
    taken: list[dict[str, Any]] = [
        {"overrides": {"sides": "same"}},
        {"sides": "same"},
        {"aa": True},
    ]
    assert all(said.startswith("same ") for said in by_api(airflow_env, *taken))
    places = [{"to": "s3", "bucket": "theirs", "region": "us-west-2"}]
    refused: dict[str, dict[str, Any]] = {
        "side": {"side": "same"},
        "publish": {"overrides": {"publish": places}},
        "report": {"overrides": ["report=x"]},
        "schedule.at": {"schedule.at": "06:00"},
        "published.document": {"overrides": ["published.document=x"]},
        "topology": {"topology": "ec2_published"},
        "snapshots": {"snapshots": "s3://theirs/x"},
        "engines.mariadb": {"overrides": {"engines.mariadb": {}}},
        "client.path": {"overrides": ["client={path: /tmp/evil.sh, version: 1.0.20}"]},
        "client.archive": {
            "overrides": {
                "client": {"archive": "x.tar.gz", "sha256": "0" * 64, "version": "1.0.20"}
            }
        },
        "client.script": {"overrides": {"client.script": {"path": "/tmp/evil.lua"}}},
        "client.options.mysql-storage-engine": {
            "overrides": {"client": {"options": {"mysql-storage-engine": "InnoDB */ SELECT 1 /*"}}}
        },
        "client.options.mysql-ssl-ca": {
            "overrides": ["client={version: 1.1.0, options: {mysql-ssl-ca: /etc/passwd}}"]
        },
        "title": {"overrides": {"title": "two\nlines"}},
    }
    for name, said in zip(refused, by_api(airflow_env, *refused.values()), strict=True):
        assert said.startswith(f"SpecError: {name}: "), said
    (said,) = by_api(
        airflow_env, {"overrides": {"published": {"document": "x"}}}, report="sysbench_ec2"
    )
    assert said.startswith("SpecError: published: unknown key"), said


def test_ones_own_command_line_may_change_every_field(airflow_env: dict[str, str]) -> None:
    """As `benchlab run` does; who types it on this machine can write the file as well."""
    overrides = {"publish": [{"to": "s3", "bucket": "mine", "region": "us-west-2"}], "title": "x"}
    (said,) = by_api(airflow_env, {"overrides": overrides}, own=True)
    assert "'mine'" in said


@pytest.mark.parametrize("name", ["limit", "approve_above"])
def test_a_form_cannot_raise_a_budget(airflow_env: dict[str, str], name: str) -> None:
    """Not by an amount, without end, by what is no number, nor by having none."""
    raised: list[dict[str, Any]] = [
        *({"overrides": [f"budget.{name}={value}"]} for value in ("1e6", ".inf", ".nan")),
        *({f"budget.{name}": value} for value in ("inf", "Infinity", "nan", "1e999", None)),
        {"budget": {"approve_above": 1e6, "limit": 1e6}},
        {"overrides": ["budget={approve_above: .inf, limit: .inf}"]},
        {"budget": {"approve_above": 1.0, "limit": 2.0, name: math.inf}},
        *({"overrides": {"budget": value}} for value in (None, {}, {name: 1})),
        {"budget": None},
    ]
    said = by_api(airflow_env, *raised, report="sysbench_ec2")
    assert len(said) == len(raised)
    for sent, answer in zip(raised, said, strict=True):
        assert answer.startswith("SpecError: "), (sent, answer)
        assert "budget" in answer, (sent, answer)


def test_a_form_can_lower_a_budget(airflow_env: dict[str, str]) -> None:
    """Both amounts, together or alone; the same amount changes nothing."""
    lower: list[dict[str, Any]] = [
        {"budget": {"approve_above": 0, "limit": 1}},
        {"overrides": ["budget.approve_above=0"]},
        {"overrides": {"budget": {"approve_above": 0, "limit": 1.5}}},
    ]
    said = by_api(airflow_env, *lower, report="sysbench_ec2")
    assert all("{'approve_above': 0.0, 'limit': " in answer for answer in said), said


def test_the_choices_of_a_form_are_checked_again(airflow_env: dict[str, str]) -> None:
    """Airflow checks a form that is sent to its page; not what a backfill or a command sends."""
    wrong: list[dict[str, Any]] = [
        {"published": "/etc/hosts"},
        {"published": "../reports/sysbench_ec2"},
        {"published": 7},
        {"restore": "sometimes"},
        {"placement": "x"},
        {"topology": "../../etc/passwd"},
        {"workloads": ["rm"]},
        {"languages": ["xx"]},
        {"threads": ["many"]},
        {"threads": [0]},
        {"rounds": "3"},
        {"campaign": "../x"},
        {"overrides": "a=b"},
        {"overrides": ["a"]},
    ]
    said = by_api(airflow_env, *wrong, report="sysbench_ec2")
    for sent, answer in zip(wrong, said, strict=True):
        assert re.match(rf"SpecError: [A-Z][A-Za-z ]+ \({next(iter(sent))}\): ", answer), (
            sent,
            answer,
        )
    (nothing_to_choose,) = by_api(airflow_env, {"published": "/etc/hosts"}, report="tpcc_local")
    assert nothing_to_choose.startswith("SpecError: published: ")


def test_every_faulty_field_of_a_form_is_named_at_once(airflow_env: dict[str, str]) -> None:
    """By the title that the form shows, with what was found and what is allowed."""
    code = BY_API.replace("REPORT", "sysbench_local").replace("OWN", "False")
    sent = {
        "rounds": 0,
        "seconds": -5,
        "threads": ["abc", "4", ""],
        "workloads": [],
        "baseline": "kiwi",
        "candidate": " banana ",
        "threshold_pct": 0,
        "overrides": ["rouns=2"],
    }
    said = run_python(
        f"say = print\n{code.replace('SENT', repr([sent]))}", airflow_env
    ).splitlines()
    found = said[next(n for n, line in enumerate(said) if line.startswith("SpecError: ")) :]
    assert [line[:75] for line in found] == [
        line[:75]
        for line in (
            "SpecError: Workloads (workloads): nothing is chosen; at least one is needed",
            "Client threads (threads): found 'abc'; allowed: a whole number from 1 to 10,000",
            "Rounds (rounds): found 0; allowed: a whole number from 1 to 1,000",
            "Seconds per trial (seconds): found -5; allowed: a whole number from 1 to 86,400",
            "Threshold (%) (threshold_pct): found 0; allowed: a number above 0 to 50",
            "rouns: unknown key, or one that cannot be changed in the form; change it in ",
            "Baseline version (baseline): 'kiwi' is not a version of any engine of this ",
            "Candidate version (candidate): 'banana' is not a version of any engine of this ",
        )
    ]


def test_no_number_of_the_form_is_put_right_without_a_word(airflow_env: dict[str, str]) -> None:
    """Airflow's form moves a number within the limits that it sees, and the run would begin."""
    code = """
import version_comparison as file
from airflow.sdk import DAG
for name, dag in vars(file).items():
    if isinstance(dag, DAG):
        for field in dag.params:
            say(name, field, {"minimum", "maximum"} & set(dag.params.get_param(field).schema))
"""
    said = told(code, airflow_env)
    assert "sysbench_local rounds set()" in said
    assert [line for line in said if not line.endswith(" set()")] == []


REFUSED = """
import json
from benchlab_airflow.dags import form_refusal
for dag_id, body in SENT:
    say(repr(form_refusal.refusal(dag_id, body)))
"""


def test_a_faulty_form_is_refused_before_airflow_makes_a_run_of_it(
    airflow_env: dict[str, str],
) -> None:
    """What only a run can tell, and what is no form of ours, is left to Airflow."""
    sent = [
        ("sysbench_local", b'{"conf": {"rounds": 0}}'),
        ("sysbench_hosts", b'{"conf": {}}'),
        ("sysbench_local", b'{"conf": {"rounds": 2}}'),
        ("sysbench_local", b'{"logical_date": null}'),
        ("sysbench_local", b"[1"),
        ("reap_expired_fleets", b'{"conf": {"rounds": 0}}'),
        ("sysbench_existing", b'{"conf": {"seconds": 5}}'),
        ("sysbench_existing", b'{"conf": {"baseline_connection": "benchlab_results"}}'),
        ("sysbench_existing", b'{"conf": {"overrides": ["connections.baseline=nowhere"]}}'),
    ]
    there = {"AIRFLOW_CONN_BENCHLAB_CLUSTER": "mysql://bench:secret@db.example.com:4000"}
    said = told(REFUSED.replace("SENT", repr(sent)), airflow_env, **there)
    assert "Rounds (rounds): found 0" in said[0]
    assert "no host_key" in said[1]
    assert said[2:7] == ["None"] * 5
    assert "(baseline_connection): found 'benchlab_results'; allowed: `benchlab_cluster`" in said[7]
    assert (
        "Connection (connections.baseline): nowhere: the report type's file offers benchlab_clus"
        in said[8]
    )


# Airflow's whole app, asked by an admin.
TRIGGER = """
import json
from pathlib import Path
from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.main import app
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
from fastapi.testclient import TestClient
DagBundlesManager().sync_bundles_to_db()
found = BundleDagBag(FOLDER, bundle_path=Path(FOLDER), bundle_name="dags-folder")
sync_bag_to_db(found, "dags-folder", None)
ann = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="ann", role="ADMIN"))
headers = {"Authorization": f"Bearer {ann}", "Content-Type": "application/json"}
client = TestClient(app, headers=headers)
form = lambda name, of: json.dumps({"logical_date": None, "conf": {name: of}})
objects = lambda many: [{"a": number} for number in range(many)]
BODIES = [
    lambda: form("threads", objects(100_000)),
    lambda: form("overrides", objects(100_000)),
    lambda: iter([b" " * 50_000, form("workloads", objects(100_000)).encode()]),
    lambda: form("threads", objects(4_000)),
    lambda: form("threads", ["x"] * 150),
    lambda: form("overrides", {"dataset": {f"x{n}": n for n in range(3_000)}}),
    lambda: '{"conf": {"overrides": ' + '{"a":' * 9_000 + "1" + "}" * 9_000 + "}}",
    lambda: '{"conf": {"overrides": ["x=' + "[" * 20_000 + '"]}}',
    lambda: '{"conf": {"overrides": {"dataset": ' + '{"a":' * 900 + "1" + "}" * 900 + "}}}",
]
for body in BODIES:
    answer = client.post("/api/v2/dags/sysbench_local/dagRuns", content=body())
    say(answer.status_code, repr(answer.text[-150:]))
"""


def test_a_form_of_a_megabyte_or_of_thousands_of_entries_is_refused(
    airflow_env: dict[str, str],
) -> None:
    """Compared each with each, its entries would take hours; one above 64 KB is Airflow's."""
    said = told(TRIGGER.replace("FOLDER", repr(str(PROJECT / "dags"))), airflow_env)
    assert [line[:3] for line in said] == ["400"] * 9, said
    assert "has 4,000 entries; at most 200 are taken" in said[3]
    assert "and 130 more; allowed: a whole number from 1 to 10,000" in said[4]
    assert "and 2,982 more faults" in said[5]


def test_a_form_that_is_being_read_holds_up_nobody_who_writes(airflow_env: dict[str, str]) -> None:
    """It waits for its turn to write after it was read, not before."""
    code = """
import asyncio, threading
from benchlab_airflow.dags import form_refusal
from benchlab_plugin import BenchlabPlugin
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse

written = threading.Event()
def refusal(dag_id, body):
    return None if written.wait(30) else "it was waited for"
async def may(request, dag_id):
    return True
form_refusal.refusal, form_refusal._may_trigger = refusal, may

async def airflow(scope, receive, send):
    if scope["type"] == "http":
        written.set()
        await PlainTextResponse((await receive())["body"])(scope, receive, send)

app = Starlette()
app.mount("/", airflow)
for one in BenchlabPlugin.fastapi_root_middlewares:  # as Airflow adds them
    app.add_middleware(one["middleware"])

async def post(path):
    answer = []
    async def receive():
        return {"type": "http.request", "body": path.encode()}
    async def send(message):
        answer.append(message.get("body") or message["status"])
    scope = {"type": "http", "method": "POST", "path": path, "headers": [], "query_string": b""}
    await app(scope, receive, send)
    return answer

async def both():
    form = asyncio.create_task(post("/api/v2/dags/sysbench_local/dagRuns"))
    await asyncio.sleep(0)
    return await post("/api/v2/pools"), await form
say(*asyncio.run(both()))
"""
    sent = ["b'/api/v2/pools'", "b'/api/v2/dags/sysbench_local/dagRuns'"]
    assert told(code, airflow_env) == [f"[200, {sent[0]}] [200, {sent[1]}]"]


TEXTS = ("{{ 7 * 7 }}", "{% raw %}", "{# x #}", "[1, 2]", "{'a': 1}", "None", "1e3", "x.sh")
RENDERED = """
import version_comparison as file
from airflow.sdk import DAG
from benchlab_airflow.operators.trial_operator import TrialOperator
from benchlab_airflow.operators.plan_operator import PlanOperator
dags = [found for found in vars(file).values() if isinstance(found, DAG)]
for dag in {found.dag_id: found for found in dags}.values():
    assert not dag.render_template_as_native_obj, dag.dag_id
    for number, text in enumerate(TEXTS):
        with dag:
            trial = TrialOperator(task_id=f"t{number}", planned=text)
            plan = PlanOperator(task_id=f"p{number}", report_file=text)
        for task in (trial, plan):
            task.render_template_fields({"params": {}})
        say(repr((trial.planned, plan.report_file)))
"""


def test_no_text_that_a_task_is_given_is_a_template(airflow_env: dict[str, str]) -> None:
    """Neither is it read as Python; the title of a trial and the path of a report type."""
    said = told(RENDERED.replace("TEXTS", repr(TEXTS)), airflow_env)
    assert said
    assert set(said) == {repr((text, text)) for text in TEXTS}


SENT = """
from benchlab import home
from benchlab.campaign import report_types
from benchlab_airflow.dags import trigger_form
from benchlab_airflow.dags.stages import campaign_id
from types import SimpleNamespace
spec = report_types.load(home.find().configs / "reports" / "sysbench_ec2.yaml")
entry = "engines.tidb.parameters"
ways = {
    "title": lambda text: (chosen({"title": text}).title),
    "title typed": lambda text: chosen({"overrides": [f"title='{text}'"]}).title,
    "parameter": lambda text: chosen({entry: {"tidb_txn_mode": text}})
        .engines["tidb"].parameters["tidb_txn_mode"],
    "parameter of a side": lambda text: chosen({"overrides": {
        "engines.tidb.candidate.parameters": {"tidb_txn_mode": text}}})
        .engines["tidb"].candidate.parameters["tidb_txn_mode"],
    "candidate": lambda text: chosen({"candidate": text}).engines["tidb"].candidate.version,
    "baseline": lambda text: chosen({"baseline": text}).engines["tidb"].baseline.version,
    "snapshots": lambda text: chosen({"snapshots": text}).snapshots,
    "topology": lambda text: chosen({"topology": text}).topology,
    "published": lambda text: chosen({"published": text}).report,
    "workloads": lambda text: chosen({"workloads": [text]}).workloads,
    "threads": lambda text: chosen({"threads": [text]}).threads,
    "languages": lambda text: chosen({"languages": [text]}).languages,
    "client": lambda text: chosen({"client": text}).client.program,
    "restore": lambda text: chosen({"restore": text}).restore,
    "campaign": lambda text: campaign_id({"params": {"campaign": text}}),
}
def chosen(sent):
    return trigger_form.chosen(spec, sent)
for name, way in ways.items():
    for text in TEXTS:
        try:
            said = way(text)
        except Exception as error:
            said = type(error).__name__
        say(repr((name, text, said)))
"""


def test_braces_and_literals_in_the_form_arrive_as_they_are_or_are_refused(
    airflow_env: dict[str, str],
) -> None:
    """In every field that takes text."""
    texts = tuple(text.replace("'", '"') for text in TEXTS)
    for line in told(SENT.replace("TEXTS", repr(texts)), airflow_env):
        name, text, said = ast.literal_eval(line)
        free = name.startswith(("title", "parameter"))
        refused = ("SpecError", "AirflowFailException")
        assert said == text or (not free and said in refused), line


IDS = """
import os
from types import SimpleNamespace
from benchlab_airflow.dags.stages import campaign_id
for home in ("a", "b"):
    os.environ["BENCHLAB_HOME"] = f"FOLDER/{home}"
    for run in RUNS:
        dag = SimpleNamespace(dag_id="sysbench_ec2")
        say(campaign_id({"params": {}, "run_id": run, "dag": dag}))
"""


def test_a_run_has_one_campaign_in_its_home_and_no_other_home_has_it(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Also where run ids differ only in what no name of a file has, or far behind."""
    runs = [f"scheduled__2026-01-05T00:00:00{end}" for end in ("+00:00", "-00:00", "@00:00")]
    runs += [f"{'x' * 200}{end}" for end in "yz"]
    code = IDS.replace("RUNS", repr(runs)).replace("FOLDER", str(tmp_path))
    first = told(code, airflow_env)
    assert len(set(first)) == 2 * len(runs)
    assert all(re.fullmatch(ID, name) for name in first)
    assert first[0].startswith("sysbench_ec2-scheduled__2026-01-05T00-00-00-00-00-")
    assert told(code, airflow_env) == first, "a repeated run resumes"


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
ti = SimpleNamespace(dag_id="sysbench_local", run_id="manual__1",
                     xcom_push=lambda key, value: None)
context = {"params": {}, "run_id": "manual__1", "dag": SimpleNamespace(dag_id="sysbench_local"),
           "ti": ti, "dag_run": SimpleNamespace(run_type="manual", logical_date=None)}
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
    assert "use fewer rounds" in said
