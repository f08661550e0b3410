"""Failures arrive by Slack and SMTP, and what cannot be sent is said without secrets."""

from __future__ import annotations

import json
from pathlib import Path

from tests.airflow.conftest import told
from tests.airflow.messages.conftest import (
    CAMPAIGN,
    WEBHOOK,
    Mail,
    Slack,
    by_hook,
    by_mail,
    by_slack,
    html_of,
    tell_by,
)

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
    env: dict[str, str], tmp_path: Path, slack: Slack, mail: Mail
) -> None:
    """What failed before is named, too; a regression that was measured is told beside it.

    A results store that is out of reach may be what failed: it is told all the same.
    """
    tell_by(tmp_path, by_hook(), {**by_mail(from_email="me@example.com"), "events": ["failed"]})
    assert told(CAMPAIGN + FAILED, env) == ["False"]
    assert {path for path, _ in slack.messages} == {WEBHOOK}
    texts = [message["text"] for _, message in slack.messages]
    assert [text.splitlines()[0] for text in texts] == [
        "Failed: verdict of c1",
        "Regression: sysbench_test, 10.11.5 against 10.2.11: Point Select, Update Index",
        "Failed: plan of none",
        "Failed: give_back of c1",
        "Failed: give_back of c1",
        "Failed: plan of c1",
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
    env: dict[str, str], tmp_path: Path, slack: Slack
) -> None:
    """Neither where the report is nor what failed before can be read."""
    tell_by(tmp_path, by_slack())
    told(f"{CAMPAIGN}from airflow.sdk.exceptions import AirflowFailException{LACKING}", env)
    (message,) = [message["text"] for _, message in slack.messages]
    assert message.splitlines()[:2] == ["Failed: give_back of c1", "• i-1 is still there"]


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
    env: dict[str, str], tmp_path: Path, slack: Slack
) -> None:
    """Nothing where nothing was ended; a failure every quarter of an hour is told once a day."""
    tell_by(tmp_path, {**by_slack(), "reports": ["sysbench_ec2"]})
    told(CAMPAIGN + REAPED, env)
    texts = [message["text"] for _, message in slack.messages]
    assert [text.splitlines()[:2] for text in texts] == [
        [
            "Ended by the reaper: rented resources",
            "• us-west-2: instance i-1 of campaign c9 terminated: expired.",
        ],
        [
            "Ended by the reaper: rented resources",
            "• us-west-2: instance i-2 of campaign c9 terminated: expired.",
        ],
        *[
            [
                "Failed: reap",
                "• the reaper could not deal with everything: eu-west-1: no permission",
            ]
        ]
        * 2,
    ]


UNTOLD = """
heard, opened, open_store = [], [], connections.open_store
notify.log.log = lambda level, text, *words: heard.append(text % words)
connections.open_store = lambda here: opened.append(here) or open_store(here)
call(notify.of_verdict(), "failure", "verdict")
call(notify.of_reaper(), "success", "reap", returned=["i-1 terminated"])
say(opened, progress(), "airflow.providers.slack.notifications.slack" in sys.modules)
for text in ("notifiers: [{name: slack}]", "notifiers: ["):
    (here.configs / "notifications.yaml").write_text(text)
    call(notify.of_verdict(), "success", "verdict")
for line in (*heard, *progress()):
    say(line.replace(chr(10), " "))
"""


def test_a_broken_file_is_an_error_in_the_log_and_in_the_progress(env: dict[str, str]) -> None:
    """The callback ends; nothing else of the campaign depends on it.

    As the file is shipped nobody is to be told: no store is opened, no provider imported.
    """
    shipped, *errors, missing, unreadable = told(CAMPAIGN + UNTOLD, env)
    assert shipped == "[] [] False"
    assert "notifications.yaml: notifiers.0.notifier: missing" in missing
    assert "notifications.yaml: not YAML: " in unreadable
    notes = [line.removeprefix("failed: ") for line in (missing, unreadable)]
    assert errors == [f"failed: {note}" for note in notes]


SECRETS = """
heard = []
notify.log.log = lambda level, text, *words: heard.append(text % words)
call(notify.of_verdict(), "success", "verdict")
for line in (*heard, *progress()):
    say(line)
"""


def test_no_secret_of_a_connection_is_in_what_is_said_of_it(
    env: dict[str, str], tmp_path: Path, mail: Mail
) -> None:
    """A webhook's address is one; a password that is refused is not repeated."""
    wrong = json.loads(env["AIRFLOW_CONN_MAIL"])
    env["AIRFLOW_CONN_MAIL"] = json.dumps({**wrong, "password": "hunter22"})
    tell_by(tmp_path, by_hook("BAD_HOOK"), by_mail())
    lines = told(CAMPAIGN + SECRETS, env)
    assert len(lines) == 4
    assert "regression to hook BAD_HOOK: " in lines[0]
    assert "regression to mail: SMTPAuthenticationError" in lines[1]
    assert not [line for line in lines if "not-a-secret" in line or "hunter22" in line]
    assert mail.messages == []


def test_a_changed_connection_is_used_at_once(
    env: dict[str, str], tmp_path: Path, mail: Mail
) -> None:
    """By the same process: the first mail is refused, the next has the new password."""
    right = env["AIRFLOW_CONN_MAIL"]
    env["AIRFLOW_CONN_MAIL"] = json.dumps({**json.loads(right), "password": "outdated"})
    tell_by(tmp_path, by_mail())
    refused = "say(sum('SMTPAuthenticationError' in line for line in heard))"
    again = f"""
{refused}
import os
os.environ["AIRFLOW_CONN_MAIL"] = {right!r}
call(notify.of_verdict(), "success", "verdict")
{refused}
"""
    *_, before, after = told(CAMPAIGN + SECRETS + again, env)
    assert int(before) >= 1
    assert after == before, "nothing was refused any more"
    assert mail.messages


WAITS = """
from datetime import UTC, datetime, timedelta
from benchlab.results import approval
def wait_since(hours, by=""):
    asked = datetime.now(UTC) - timedelta(hours=hours)
    found = approval.Approval(asked, by, asked if by else None)
    with connections.open_store(here) as store:
        store.add_to_environment("c1", approval.KEY, approval.as_text(found))
with connections.open_store(here) as store, store.transaction() as connection:
    from benchlab.results.rows import CAMPAIGNS
    now = datetime.now(UTC).isoformat()
    origin = "Airflow run manual__2024-01-02T03:04:05+00:00"
    connection.execute(CAMPAIGNS.update().values(started_at=now, state="running", origin=origin))
wait_since(0)
notify.of_waiting("c1")
notify.remind_of_approvals()
wait_since(25)
notify.remind_of_approvals()
notify.remind_of_approvals()
wait_since(26, by="ada")
notify.remind_of_approvals()
"""


def test_a_campaign_that_waits_for_approval_is_told_at_once_and_after_a_day(
    env: dict[str, str], tmp_path: Path, slack: Slack
) -> None:
    """Each once, with the address where it can be approved; not once somebody has."""
    tell_by(tmp_path, {**by_hook(), "events": ["approval"]})
    told(CAMPAIGN + WAITS, env)
    texts = [message["text"] for _, message in slack.messages]
    assert [text.splitlines()[0] for text in texts] == [
        "Waits for approval: c1",
        "Still waits for approval: c1",
    ]
    for text in texts:
        assert "nothing is rented before a person has approved it" in text
        assert (
            "Airflow run: https://airflow.example.com/dags/sysbench_test/runs/"
            "manual__2024-01-02T03%3A04%3A05%2B00%3A00/tasks/approve/required_actions"
        ) in text
