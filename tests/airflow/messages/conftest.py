"""Slack and a mail server on loopback, and what callbacks are given."""

from __future__ import annotations

import base64
import email.policy
import json
import shutil
import socketserver
import threading
from collections.abc import Iterator
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.airflow.conftest import PROJECT

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
                text = "\r\n".join(line.removeprefix(".") for line in lines)
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
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
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
        **{
            f"AIRFLOW_CONN_{name}": json.dumps(connection)
            for name, connection in connections.items()
        },
        "AIRFLOW__API__BASE_URL": "https://airflow.example.com/",
        "BENCHLAB_PROJECT": str(tmp_path / "project"),
        "BENCHLAB_HOME": str(tmp_path / "home"),
    }


def tell_by(tmp_path: Path, *notifiers: dict[str, object]) -> None:
    """Write the file that names these notifiers."""
    file = tmp_path / "project" / "configs" / "notifications.yaml"
    file.write_text(yaml.safe_dump({"notifiers": notifiers}))


def by_slack(connection: str = "SLACK") -> dict[str, Any]:
    """Into a channel, by Slack's API."""
    return {
        "name": f"channel by {connection}",
        "notifier": "airflow.providers.slack.notifications.slack.SlackNotifier",
        "arguments": {"slack_conn_id": connection, "channel": "#perf", "text": "{escaped}"},
    }


def by_hook(connection: str = "HOOK") -> dict[str, Any]:
    """Into the channel of a webhook."""
    return {
        "name": f"hook {connection}",
        "notifier": "airflow.providers.slack.notifications.slack_webhook.SlackWebhookNotifier",
        "arguments": {"slack_webhook_conn_id": connection, "text": "{escaped}"},
    }


def by_mail(**arguments: str) -> dict[str, Any]:
    """To two people."""
    return {
        "name": "mail",
        "notifier": "airflow.providers.smtp.notifications.smtp.SmtpNotifier",
        "arguments": {
            "smtp_conn_id": "MAIL",
            "to": ["a@example.com", "b@example.com"],
            "subject": "{subject}",
            "html_content": "<pre>{escaped}</pre>",
            **arguments,
        },
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


def html_of(message: EmailMessage) -> str:
    """The body of a mail."""
    body = message.get_body(("html",))
    assert body is not None
    return str(body.get_content())
