"""What arrives where people are told, over the protocols of Slack and SMTP."""

from __future__ import annotations

import ast
import base64
import email.policy
import json
import os
import shutil
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.airflow.conftest import PATH, PROJECT

TOKEN = "xoxb-not-a-secret"
PASSWORD = "not-a-secret-either"
WEBHOOK = "/services/T0/B0/not-a-secret-at-all"


class Slack(ThreadingHTTPServer):
    """Slack's API and its incoming webhooks, as far as they take messages.

    Attributes:
        messages: as they were posted, with the path.
        refusals: how many it answers with an error before it takes any.
    """

    def __init__(self) -> None:
        self.messages: list[tuple[str, dict[str, Any]]] = []
        self.refusals = 0
        super().__init__(("127.0.0.1", 0), _SlackRequest)


class _SlackRequest(BaseHTTPRequestHandler):
    server: Slack

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        hook = self.path == WEBHOOK
        known = hook or self.headers["Authorization"] == f"Bearer {TOKEN}"
        error = None if known else "invalid_auth"
        if self.server.refusals:
            self.server.refusals, error = self.server.refusals - 1, "ratelimited"
        if error is None:
            self.server.messages.append((self.path, json.loads(body)))
        answer = {"ok": error is None, **({"error": error} if error else {})}
        text = (error or "ok") if hook else json.dumps(answer)
        self.send_response(403 if hook and error else 200)
        self.send_header("Content-Type", "text/plain" if hook else "application/json")
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


class Mail(socketserver.ThreadingTCPServer):
    """An SMTP server (RFC 5321) that wants a password and keeps what it gets.

    Attributes:
        messages: with the envelope's sender and recipients.
    """

    daemon_threads = True

    def __init__(self) -> None:
        self.messages: list[tuple[str, list[str], EmailMessage]] = []
        super().__init__(("127.0.0.1", 0), _MailSession)


class _MailSession(socketserver.StreamRequestHandler):
    server: Mail

    def handle(self) -> None:
        sender, recipients, known = "", list[str](), False
        self._say("220 mail")
        for line in iter(self._line, ""):
            verb, _, rest = line.partition(" ")
            if verb == "ehlo":
                self._say("250-mail\r\n250 AUTH PLAIN")
            elif verb == "AUTH":
                known = base64.b64decode(rest.split()[1]).decode().endswith(f"\0{PASSWORD}")
                self._say("235 welcome" if known else "535 5.7.8 wrong password")
            elif verb == "mail" and not known:
                self._say("530 5.7.0 authentication required")
            elif verb == "mail":
                sender = rest.partition(":")[2].split()[0]
                self._say("250 sender")
            elif verb == "rcpt":
                recipients.append(rest.partition(":")[2])
                self._say("250 recipient")
            elif verb == "data":
                self._say("354 go on")
                lines = iter(self._line, ".")
                text = "\r\n".join(each.removeprefix(".") for each in lines)
                message = email.message_from_string(text, policy=email.policy.default)
                assert isinstance(message, EmailMessage)
                self.server.messages.append((sender, recipients, message))
                self._say("250 kept")
            else:
                self._say("221 bye" if verb == "quit" else "250 as you like")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())

    def _line(self) -> str:
        return self.rfile.readline().decode().rstrip("\r\n")


def _serving(server: socketserver.BaseServer) -> Iterator[Any]:
    with server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def slack() -> Iterator[Slack]:
    """On loopback."""
    yield from _serving(Slack())


@pytest.fixture
def mail() -> Iterator[Mail]:
    """On loopback."""
    yield from _serving(Mail())


@pytest.fixture
def env(airflow_env: dict[str, str], tmp_path: Path, slack: Slack, mail: Mail) -> dict[str, str]:
    """An Airflow with Connections to both, and a Benchlab with a project and home of its own."""
    shutil.copytree(PROJECT / "configs", tmp_path / "project" / "configs")
    api, smtp = slack.server_address[1], mail.server_address[1]
    connections = {
        "SLACK": {
            "conn_type": "slack",
            "password": TOKEN,
            "extra": {"base_url": f"http://127.0.0.1:{api}/api/"},
        },
        "HOOK": {"conn_type": "slackwebhook", "password": f"http://127.0.0.1:{api}{WEBHOOK}"},
        "BAD_HOOK": {"conn_type": "slackwebhook", "password": f"mailto://{WEBHOOK}"},
        "MAIL": {
            "conn_type": "smtp",
            "host": "127.0.0.1",
            "port": smtp,
            "login": "benchlab",
            "password": PASSWORD,
            "extra": {
                "disable_tls": True,
                "disable_ssl": True,
                "from_email": "airflow@example.com",
                "retry_limit": 0,
            },
        },
    }
    return {
        **airflow_env,
        **{f"AIRFLOW_CONN_{name}": json.dumps(each) for name, each in connections.items()},
        "AIRFLOW__API__BASE_URL": "https://airflow.example.com/",
        "BENCHLAB_PROJECT": str(tmp_path / "project"),
        "BENCHLAB_HOME": str(tmp_path / "home"),
    }


# Imports what callbacks import, then runs each piece of code in a process forked from itself: the
# imports take ten times as long as the callbacks.
FORKING = """
import json, os, sys, traceback
import pandas, scipy.stats
import airflow.providers.slack.notifications.slack_webhook, airflow.providers.smtp.hooks.smtp
import benchlab.studies.long_view.view, benchlab.report.notifications.text
import benchlab.campaign.stored, tests.builders.campaigns
import benchlab_airflow.connections, benchlab_airflow.messages.notify
for line in sys.stdin:
    code, env, output = json.loads(line)
    child = os.fork()
    if not child:
        os.environ.update(env)
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT), 1)
        os.dup2(1, 2)
        status = 1
        try:
            exec(code, {"__name__": "__main__"})
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Python:
    """Runs code where Airflow is imported already, each piece in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, code: str, env: dict[str, str], output: Path) -> str:
        """What it prints; fails with its errors."""
        assert self._process.stdin
        assert self._process.stdout
        say = 'say = lambda *words: print("SAID", *words)'
        print(
            json.dumps([f"{say}\n{code}", env, str(output)]), file=self._process.stdin, flush=True
        )
        # Lines before it are from the imports.
        ended = next(line for line in self._process.stdout if line.startswith("ended"))
        text = output.read_text()
        assert ended == "ended 0\n", text[-4000:]
        return text


@pytest.fixture(scope="module")
def python(airflow_env: dict[str, str]) -> Iterator[Python]:
    """With the DAG files of the project on its path."""
    path = os.pathsep.join(map(str, PATH))
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", FORKING],
        env={**airflow_env, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Python(process)


Run = Callable[[str, dict[str, str]], list[str]]


@pytest.fixture
def told(python: Python, tmp_path: Path) -> Run:
    """The lines that code says with `say`."""

    def run(code: str, env: dict[str, str]) -> list[str]:
        lines = python.run(code, env, tmp_path / "output").splitlines()
        return [line.removeprefix("SAID ") for line in lines if line.startswith("SAID ")]

    return run


def tell_by(tmp_path: Path, *notifiers: dict[str, object]) -> None:
    """Write the file that names these notifiers."""
    file = tmp_path / "project" / "configs" / "notifications.yaml"
    file.write_text(yaml.safe_dump({"notifiers": notifiers}))


TO_SLACK: dict[str, object] = {"by": "slack", "connection": "SLACK", "channel": "#perf"}
TO_HOOK: dict[str, object] = {"by": "slack_webhook", "connection": "HOOK"}
TO_MAIL: dict[str, object] = {
    "by": "smtp",
    "connection": "MAIL",
    "to": ["a@example.com", "b@example.com"],
}

# A campaign with two regressions and an improvement, whose report is published; and the contexts
# that Airflow gives callbacks.
CAMPAIGN = """
import sys
from types import SimpleNamespace
from benchlab import home
from benchlab.report.publish.destinations import PublicationRecord
from tests.builders import campaigns, plans
from benchlab_airflow import connections
from benchlab_airflow.messages import notify

places = [{"to": "s3", "bucket": "reports", "prefix": "weekly", "region": "eu-west-1"}]
record = campaigns.campaign(plans.spec(
    workloads=["oltp_point_select", "oltp_update_index", "oltp_insert"], rounds=4, publish=places,
    title="{{ 7 * 7 }} <!channel>",
))
changes = {"oltp_point_select": -0.1, "oltp_update_index": -0.2, "oltp_insert": 0.1}
here = home.find()
with connections.open_store(here) as store:
    if store.add_campaign(record):
        for result in campaigns.results_of(record.plan, campaigns.known_change(changes, 0.002)):
            store.add_trial("c1", result)
here.campaign("c1").mkdir(parents=True, exist_ok=True)
published = PublicationRecord(here.campaign("c1") / "published")
published.begin("edition", ["files", "s3://reports/weekly"])
published.add("files", "/reports/c1/report.html")
published.add("s3://reports/weekly", "s3://reports/weekly/c1/report.html")

def context(task, error=None, campaign="c1", returned=None):
    ti = SimpleNamespace(task_id=task, xcom_pull=lambda task_ids: returned)
    return {"params": {"campaign": campaign}, "run_id": "manual__2024-01-02T03:04:05+00:00",
            "dag": SimpleNamespace(dag_id="sysbench_test"), "ti": ti,
            **({"exception": error} if error else {})}

def call(callbacks, when, *arguments, **more):
    callbacks[f"on_{when}_callback"].notify(context(*arguments, **more))

def progress():
    from benchlab.campaign.progress import ProgressLog
    steps, _ = ProgressLog(here.campaign("c1") / "progress.jsonl").read()
    return [f"{step.phase}: {step.note}" for step in steps if step.stage == "notify"]
"""

DAG = """
from airflow.sdk import DAG, task
from benchlab_airflow.messages import notify
from benchlab_airflow.dags import stages
with DAG("judging", params={"campaign": "c1"}) as dag:
    task(stages.verdict, **notify.of_verdict())()
"""

RUN = """
from airflow import settings
settings.DAGS_FOLDER = "{dags}"
sys.path.insert(0, settings.DAGS_FOLDER)
import judging
say(judging.dag.test().state)
"""

ATTACHED = """
import reap_expired_fleets, version_comparison
from airflow.sdk import DAG
from benchlab_airflow.messages.notify import CampaignNotifier, ReaperNotifier

def of(task, kind):
    found = []
    for when in ("success", "retry", "failure"):
        found += [when for each in getattr(task, f"on_{when}_callback") if isinstance(each, kind)]
    return " ".join(found)

for name, dag in vars(version_comparison).items():
    if isinstance(dag, DAG) and name == dag.dag_id:
        tasks = {task.task_id: of(task, CampaignNotifier) for task in dag.tasks}
        say(name, {task: when for task, when in tasks.items() if when})
say("reaper", {task.task_id: of(task, ReaperNotifier) for task in reap_expired_fleets.dag.tasks})
"""


def test_every_campaign_tells_of_itself_and_so_does_the_reaper(
    airflow_env: dict[str, str], told: Run
) -> None:
    """Of its verdicts, and of a failure wherever no later task could tell it."""
    *campaigns, reaper = told(ATTACHED, airflow_env)
    expected = {"plan": "failure", "verdict": "success failure", "give_back": "failure"}
    assert {each.partition(" ")[0] for each in campaigns} >= {"sysbench_ec2", "tpcc_local"}
    for each in campaigns:
        assert ast.literal_eval(each.partition(" ")[2]) == expected, each
    assert reaper == "reaper {'reap': 'success retry failure'}"


def html_of(message: EmailMessage) -> str:
    """The body of a mail."""
    body = message.get_body(("html",))
    assert body is not None
    return str(body.get_content())


def test_a_run_tells_of_its_verdicts_and_is_green_though_a_notifier_fails(
    env: dict[str, str], tmp_path: Path, slack: Slack, mail: Mail, python: Python
) -> None:
    """Under Airflow's own task runner: a message for each event to each notifier that can."""
    every = {"events": ["regression", "improvement"]}
    broken: dict[str, object] = {**TO_SLACK, "connection": "MISSING"}
    tell_by(tmp_path, broken, {**TO_SLACK, **every}, {**TO_MAIL, **every})
    dags = tmp_path / "dags"
    dags.mkdir()
    (dags / "judging.py").write_text(DAG)
    output = python.run(f"{CAMPAIGN}{RUN.format(dags=dags)}", env, tmp_path / "output")
    assert "SAID success" in output
    assert "regression to slack MISSING #perf: AirflowNotFoundException" in output

    subjects = [
        "Regression: sysbench_test, 10.11.5 against 10.2.11: Point Select, Update Index",
        "Improvement: sysbench_test, 10.11.5 against 10.2.11: Insert",
    ]
    assert [message["text"].splitlines()[0] for _, message in slack.messages] == [
        f"*{subject}*" for subject in subjects
    ]
    assert {(path, m["channel"]) for path, m in slack.messages} == {
        ("/api/chat.postMessage", "#perf")
    }
    text = slack.messages[0][1]["text"]
    assert "The Update Index TPS of 10.11.5 is reduced by 20.00% against 10.2.11" in text
    assert "Insert        TPS     +10.00%" in text, "beside what did not get slower"
    assert "Report: s3://reports/weekly/c1/report.html" in text
    assert "Airflow run: https://airflow.example.com/dags/judging/runs/" in text

    assert [message["Subject"] for _, _, message in mail.messages] == subjects
    sender, recipients, message = mail.messages[0]
    assert sender == "<airflow@example.com>"
    assert recipients == ["<a@example.com>", "<b@example.com>"]
    assert message["To"] == "a@example.com, b@example.com"
    assert "<td>Update Index</td><td>TPS</td><td>-20.00%</td>" in html_of(message)
    for secret in (TOKEN, PASSWORD):
        assert secret not in output


AGAIN = """
from benchlab.report.notifications import events
from benchlab.studies.long_view import view
from benchlab.analysis.trend.change_points import ChangePoint
def find(report, campaign, views):
    place = ChangePoint(10, -0.05, (-0.06, -0.04), 0.001, "c8", "c7", "v7.1.0", "v6.5.0")
    change = events.WorkloadChange(place, addresses={"c7": ("https://bench/c7",)})
    return events.of_changes(report, campaign, {next(reversed(views)): [change]})
view.change_events = find

for _ in range(3):
    call(notify.of_verdict(), "success", "verdict")
    say(len(progress()))
say(progress()[0])
"""


def test_a_task_that_is_cleared_tells_only_what_had_failed(
    env: dict[str, str], tmp_path: Path, slack: Slack, mail: Mail, told: Run
) -> None:
    """The one whose server was out of order is told when it works again, nothing is told twice.

    A change point neither, though every later campaign finds it, too.
    """
    tell_by(tmp_path, TO_SLACK, TO_MAIL)
    slack.refusals = 1
    *notes, first = told(CAMPAIGN + AGAIN, env)
    assert notes == ["4", "5", "5"], "a failure is noted, and so is each message"
    assert first.startswith("failed: regression to slack SLACK #perf: SlackApiError: ")
    assert "ratelimited" in first
    titles = [message["text"].splitlines()[0] for _, message in slack.messages]
    regression = "Regression: sysbench_test, 10.11.5 against 10.2.11: Point Select, Update Index"
    change = "Change point: sysbench_test: Insert"
    assert titles == [f"*{change}*", f"*{regression}*"]
    assert [message["Subject"] for _, _, message in mail.messages] == [regression, change]
    body = html_of(mail.messages[1][2])
    assert "Insert: throughput changed by -4.88% (95% interval " in body
    assert "from v6.5.0 in campaign c7 to v7.1.0 in campaign c8" in body
    assert "<td>v6.5.0</td><td>v7.1.0</td><td>-4.88%</td>" in body
    assert 'Report of c7: <a href="https://bench/c7">' in body


FAILED = """
from airflow.sdk.exceptions import AirflowFailException
from benchlab.campaign.progress import ProgressLog, ProgressNote
ProgressLog(here.campaign("c1") / "progress.jsonl").write(
    ProgressNote(1.0, "failed", "provision", note="no <capacity> in us-west-2a"))
wrong = AirflowFailException("12 of 48 trials have no valid result: {{ 7 * 7 }} <!channel>")
call(notify.of_verdict(), "failure", "verdict", wrong)
call(notify.of_failure(), "failure", "plan", AirflowFailException("threads: [0]"), campaign="none")
call(notify.of_failure(), "failure", "give_back", ValueError("mysql://user:hunter22@db/x"))
call(notify.of_failure(), "failure", "give_back")
say((here.root / "campaigns" / "none").exists())

from benchlab.errors import StoreError
def out_of_reach(_):
    raise StoreError("results store: no route to host")
connections.open_store = out_of_reach
call(notify.of_failure(), "failure", "plan", StoreError("results store: no route to host"))
"""


def test_a_failure_is_told_with_its_reasons_and_nothing_in_them_is_interpreted(
    env: dict[str, str], tmp_path: Path, slack: Slack, mail: Mail, told: Run
) -> None:
    """What failed before is named, too; a regression that was measured is told beside it.

    A results store that is out of reach may be what failed: it is told all the same.
    """
    tell_by(tmp_path, TO_HOOK, {**TO_MAIL, "from": "me@example.com", "events": ["failed"]})
    assert told(CAMPAIGN + FAILED, env) == ["False"]
    assert {path for path, _ in slack.messages} == {WEBHOOK}
    texts = [message["text"] for _, message in slack.messages]
    assert [text.splitlines()[0] for text in texts] == [
        "*Failed: verdict of c1*",
        "*Regression: sysbench_test, 10.11.5 against 10.2.11: Point Select, Update Index*",
        "*Failed: plan of none*",
        "*Failed: give_back of c1*",
        "*Failed: give_back of c1*",
        "*Failed: plan of c1*",
    ]
    assert "12 of 48 trials have no valid result: {{ 7 * 7 }} &lt;!channel&gt;" in texts[0]
    assert "provision: no &lt;capacity&gt; in us-west-2a" in texts[0]
    assert "• threads: [0]" in texts[2]
    assert "• ValueError; the log of the task has the rest" in texts[3]
    assert "• its process was ended from outside" in texts[4]
    assert "• results store: no route to host" in texts[5]
    assert "hunter22" not in str(slack.messages)

    assert len(mail.messages) == 5
    sender, _, message = mail.messages[0]
    assert sender == "<me@example.com>"
    assert "{{ 7 * 7 }} &lt;!channel&gt;" in html_of(message)


LACKING = """
(here.campaign("c1") / "published").write_text("no JSON")
(here.campaign("c1") / "progress.jsonl").mkdir()
call(notify.of_failure(), "failure", "give_back", AirflowFailException("i-1 is still there"))
"""


def test_a_failure_is_told_though_nothing_can_be_added_to_it(
    env: dict[str, str], tmp_path: Path, slack: Slack, told: Run
) -> None:
    """Neither where the report is nor what failed before can be read."""
    tell_by(tmp_path, TO_SLACK)
    told(f"{CAMPAIGN}from airflow.sdk.exceptions import AirflowFailException{LACKING}", env)
    (message,) = [message["text"] for _, message in slack.messages]
    assert message.splitlines()[:2] == ["*Failed: give_back of c1*", "• i-1 is still there"]


REAPED = """
from benchlab.targets.ec2.reaper import Reaped, ReaperError
one, two = (Reaped("us-west-2", "instance", f"i-{n}", "c9", "expired", done=True) for n in (1, 2))
call(notify.of_reaper(), "success", "reap", returned=[])
call(notify.of_reaper(), "success", "reap", returned=[str(one)])
wrong = ReaperError(["eu-west-1: no permission"], [two])
call(notify.of_reaper(), "retry", "reap", wrong)
call(notify.of_reaper(), "failure", "reap", wrong)

from datetime import UTC, datetime, timedelta
class Tomorrow(datetime):
    @classmethod
    def now(cls, tz):
        return datetime.now(tz) + timedelta(days=1)
notify.datetime = Tomorrow
call(notify.of_reaper(), "failure", "reap", wrong)
"""


def test_ended_fleets_are_told_once_also_where_the_reaper_failed_elsewhere(
    env: dict[str, str], tmp_path: Path, slack: Slack, told: Run
) -> None:
    """Nothing where nothing was ended; a failure every quarter of an hour is told once a day."""
    tell_by(tmp_path, {**TO_SLACK, "reports": ["sysbench_ec2"]})
    told(CAMPAIGN + REAPED, env)
    texts = [message["text"] for _, message in slack.messages]
    assert [text.splitlines()[:2] for text in texts] == [
        [
            "*Ended past its expiry: 1 rented resource*",
            "• us-west-2: instance i-1 of campaign c9 terminated: expired.",
        ],
        [
            "*Ended past its expiry: 1 rented resource*",
            "• us-west-2: instance i-2 of campaign c9 terminated: expired.",
        ],
        *[
            [
                "*Failed: reap*",
                "• the reaper could not deal with everything: eu-west-1: no permission",
            ]
        ]
        * 2,
    ]


UNTOLD = """
heard, opened, open_store = [], [], connections.open_store
notify.log.error = lambda text, *words: heard.append(text % words)
connections.open_store = lambda here: opened.append(here) or open_store(here)
call(notify.of_verdict(), "failure", "verdict")
call(notify.of_reaper(), "success", "reap", returned=["i-1 terminated"])
say(opened, progress(), "airflow.providers.slack.notifications.slack" in sys.modules)
for text in ("notifiers: [{by: slack}]", "notifiers: ["):
    (here.configs / "notifications.yaml").write_text(text)
    call(notify.of_verdict(), "success", "verdict")
for line in (*heard, *progress()):
    say(line.replace(chr(10), " "))
"""


def test_a_broken_file_is_an_error_in_the_log_and_in_the_progress(
    env: dict[str, str], told: Run
) -> None:
    """The callback ends; nothing else of the campaign depends on it.

    As the file is shipped nobody is to be told: no store is opened, no provider imported.
    """
    shipped, *errors, missing, unreadable = told(CAMPAIGN + UNTOLD, env)
    assert shipped == "[] [] False"
    assert "notifications.yaml: notifiers.0.slack.connection: missing" in missing
    assert "notifications.yaml: not YAML: " in unreadable
    notes = [each.removeprefix("failed: ") for each in (missing, unreadable)]
    assert errors == [f"not told: {note}" for note in notes]


SECRETS = """
heard = []
notify.log.error = lambda text, *words: heard.append(text % words)
call(notify.of_verdict(), "success", "verdict")
for line in (*heard, *progress()):
    say(line)
"""


def test_no_secret_of_a_connection_is_in_what_is_said_of_it(
    env: dict[str, str], tmp_path: Path, mail: Mail, told: Run
) -> None:
    """A webhook's address is one; a password that is refused is not repeated."""
    wrong = json.loads(env["AIRFLOW_CONN_MAIL"])
    env["AIRFLOW_CONN_MAIL"] = json.dumps({**wrong, "password": "hunter22"})
    tell_by(tmp_path, {"by": "slack_webhook", "connection": "BAD_HOOK"}, TO_MAIL)
    lines = told(CAMPAIGN + SECRETS, env)
    assert len(lines) == 4
    assert "regression to slack_webhook BAD_HOOK: " in lines[0]
    assert (
        "regression to smtp MAIL a@example.com, b@example.com: SMTPAuthenticationError" in lines[1]
    )
    assert not [line for line in lines if "not-a-secret" in line or "hunter22" in line]
    assert mail.messages == []
