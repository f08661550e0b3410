"""Verdicts and changes arrive by Slack and SMTP, each once."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.airflow import warm
from tests.airflow.conftest import told
from tests.airflow.messages.conftest import (
    CAMPAIGN,
    PASSWORD,
    TOKEN,
    Mail,
    Slack,
    by_mail,
    by_slack,
    html_of,
    tell_by,
)

DAG = """
from airflow.sdk import DAG, task
from benchlab_airflow.messages import notify
from benchlab_airflow.dags import stages
with DAG("judging", params={"campaign": "c1"}) as dag:
    begun = task(lambda: None, task_id="plan")()
    judged = task(stages.verdict, **notify.of_verdict())().as_teardown(
        setups=begun, on_failure_fail_dagrun=True
    )
    judged >> task(notify.long_view)().as_teardown(setups=begun)
"""

RUN = """
import sys
from airflow import settings
settings.DAGS_FOLDER = "{dags}"
sys.path.insert(0, settings.DAGS_FOLDER)
import judging
print("judging ended:", judging.dag.test().state)
"""

ENDS = """
from airflow.sdk import DAG, task
def fails():
    raise RuntimeError("on purpose")
def ends():
    pass
def judging(verdict, long_view):
    with DAG(f"{verdict.__name__}_{long_view.__name__}") as dag:
        begun = task(ends, task_id="plan")()
        judged = task(verdict, task_id="verdict")()
        judged.as_teardown(setups=begun, on_failure_fail_dagrun=True)
        judged >> task(long_view, task_id="long_view")().as_teardown(setups=begun)
    return dag
first, second = judging(fails, ends), judging(ends, fails)
"""

ENDED = """
import sys
from airflow import settings
settings.DAGS_FOLDER = "{dags}"
sys.path.insert(0, settings.DAGS_FOLDER)
import ending
for dag in (ending.first, ending.second):
    run = dag.test()
    states = sorted((ti.task_id, str(ti.state)) for ti in run.get_task_instances())
    print(dag.dag_id, "ended:", run.state, dict(states))
"""

ATTACHED = """
import reap_expired_fleets, version_comparison
from airflow.sdk import DAG
from benchlab_airflow.messages.notify import CampaignNotifier, ReaperNotifier

def of(task, kind):
    found = []
    for when in ("success", "retry", "failure"):
        callbacks = getattr(task, f"on_{when}_callback")
        found += [when for callback in callbacks if isinstance(callback, kind)]
    return " ".join(found)

for name, dag in vars(version_comparison).items():
    if isinstance(dag, DAG) and name == dag.dag_id:
        tasks = {task.task_id: of(task, CampaignNotifier) for task in dag.tasks}
        say(name, {task: when for task, when in tasks.items() if when})
say("reaper", {task.task_id: of(task, ReaperNotifier) for task in reap_expired_fleets.dag.tasks})
"""


def test_every_campaign_tells_of_itself_and_so_does_the_reaper(airflow_env: dict[str, str]) -> None:
    """Of its verdicts, and of a failure wherever no later task could tell it."""
    *campaigns, reaper = told(ATTACHED, airflow_env)
    expected = {"plan": "failure", "verdict": "success failure", "give_back": "failure"}
    assert {campaign.partition(" ")[0] for campaign in campaigns} >= {"sysbench_ec2", "tpcc_local"}
    for campaign in campaigns:
        assert ast.literal_eval(campaign.partition(" ")[2]) == expected, campaign
    reapers = dict.fromkeys(("fleets", "clusters", "deleted"), "success retry failure")
    expected = {f"reap_{what}": when for what, when in reapers.items()}
    assert ast.literal_eval(reaper.partition(" ")[2]) == expected


@pytest.mark.fault(
    "a notifier fails",
    promise="the run is green, and the other notifiers get the message",
    of="airflow",
)
def test_a_run_tells_of_its_verdicts_and_is_green_though_a_notifier_fails(
    env: dict[str, str], tmp_path: Path, slack: Slack, mail: Mail
) -> None:
    """Under Airflow's own task runner: a message for each event to each notifier that can."""
    every = {"events": ["regression", "improvement"]}
    tell_by(tmp_path, by_slack("MISSING"), {**by_slack(), **every}, {**by_mail(), **every})
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "judging.py").write_text(DAG)
    ended = warm.run(f"{CAMPAIGN}{RUN.format(dags=dags)}", env)
    output = ended.stdout + ended.stderr
    assert "judging ended: success" in output
    assert "regression to channel by MISSING: AirflowNotFoundException" in output

    subjects = [
        "Regression: sysbench_test, 10.11.5 against 10.2.11: Point Select, Update Index",
        "Improvement: sysbench_test, 10.11.5 against 10.2.11: Insert",
    ]
    assert [message["text"].splitlines()[0] for _, message in slack.messages] == subjects
    assert {(path, m["channel"]) for path, m in slack.messages} == {
        ("/api/chat.postMessage", "#perf")
    }
    text = slack.messages[0][1]["text"]
    assert "The Update Index TPS of 10.11.5 is reduced by 20.0% against 10.2.11" in text
    assert "faster at Insert" in text, text
    assert "Report: s3://reports/weekly/c1/report.html" in text
    assert "Airflow run: https://airflow.example.com/dags/judging/runs/" in text
    assert "Campaign: https://airflow.example.com/benchmarks/campaigns/c1/" in text

    assert [message["Subject"] for _, _, message in mail.messages] == subjects
    sender, recipients, message = mail.messages[0]
    assert sender == "<airflow@example.com>"
    assert recipients == ["<a@example.com>", "<b@example.com>"]
    assert message["To"] == "a@example.com, b@example.com"
    assert "The Update Index TPS of 10.11.5 is reduced by 20.0%" in html_of(message)
    for secret in (TOKEN, PASSWORD):
        assert secret not in output


JUDGED = """
from benchlab.results.findings import Sought
from benchlab.results.store import StoredVerdict
def verdicts(factor):
    return [StoredVerdict(name, "tps", "regression" if change < 0 else "improvement",
            100 * factor * change, 100 * factor * change - 1, 100 * factor * change + 1, 0.001, 6)
            for name, change in changes.items()]
import dataclasses
from datetime import datetime, UTC
early = dataclasses.replace(record, id="c0", started_at=datetime(2020, 1, 1, tzinfo=UTC))
with connections.open_store(here) as store:
    store.add_campaign(early)
    store.set_verdicts("c0", verdicts(1))
    numbers = {one.workload: one.id for one in store.findings.found()}
    for one in store.findings.found():
        store.findings.mark(one.id, "known" if one.direction == "worse" else "wanted", "ann")
    store.set_verdicts("c1", verdicts(1))
call(notify.of_verdict(), "success", "verdict")
say("sent")
with connections.open_store(here) as store:
    store.findings.mark(numbers["oltp_update_index"], "fixed", "ann")
call(notify.of_verdict(), "success", "verdict")
say(numbers["oltp_update_index"])
"""


def test_known_and_wanted_findings_send_nothing(
    env: dict[str, str], tmp_path: Path, slack: Slack
) -> None:
    """What is left names its finding; where nothing is left there is no message."""
    tell_by(tmp_path, {**by_slack(), "events": ["regression", "improvement"]})
    _, number = told(CAMPAIGN + JUDGED, env)
    (text,) = [message["text"] for _, message in slack.messages]
    assert text.splitlines()[0].endswith(": Update Index")
    assert f"Update Index is finding {number}." in text
    assert "Point Select TPS" not in text


def test_the_verdict_decides_the_run_whatever_becomes_of_the_long_view(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """By Airflow's own rule: it runs after a verdict that failed, and its failure is its own."""
    (tmp_path / "ending.py").write_text(ENDS)
    output = warm.run(ENDED.format(dags=tmp_path), airflow_env).stdout
    red = "{'long_view': 'success', 'plan': 'success', 'verdict': 'failed'}"
    assert f"fails_ends ended: failed {red}" in output
    green = "{'long_view': 'failed', 'plan': 'success', 'verdict': 'success'}"
    assert f"ends_fails ended: success {green}" in output


AGAIN = """
from benchlab.report.notifications.events import Event, Part
from benchlab.studies.long_view import news
def find(report, views, language, links):
    marks = (f"{report}/c7", f"{report}/c8")
    part = Part("Insert", marks, ("v7.1.0 made Insert slower",), (("Report", "https://bench/c7"),))
    return (Event("change_point", report, f"Change point: {report}", (part,), links),)
news.events = find

notify.get_current_context = lambda: context("long_view")
for _ in range(3):
    call(notify.of_verdict(), "success", "verdict")
    notify.long_view()
    say(len(progress()))
say(progress()[0])
"""


def test_a_task_that_is_cleared_tells_only_what_had_failed(
    env: dict[str, str], tmp_path: Path, slack: Slack, mail: Mail
) -> None:
    """The one whose server was out of order is told when it works again, nothing is told twice.

    A change point neither, though every later campaign finds it, too.
    """
    tell_by(tmp_path, by_slack(), by_mail())
    slack.refusals = 1
    *notes, first = told(CAMPAIGN + AGAIN, env)
    assert notes == ["4", "5", "5"], "a failure is noted, and so is each message"
    assert first.startswith("failed: regression to channel by SLACK: SlackApiError: ")
    assert "ratelimited" in first
    titles = [message["text"].splitlines()[0] for _, message in slack.messages]
    regression = "Regression: sysbench_test, 10.11.5 against 10.2.11: Point Select, Update Index"
    change = "Change point: sysbench_test: Insert"
    assert titles == [change, regression]
    assert [message["Subject"] for _, _, message in mail.messages] == [regression, change]
    body = html_of(mail.messages[1][2])
    assert "v7.1.0 made Insert slower" in body
    assert "Report: https://bench/c7" in body
