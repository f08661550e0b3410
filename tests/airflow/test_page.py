"""The benchmark site in Airflow's API server: who may see what, and what nobody can do."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from upath import UPath

from benchlab.analysis.verdict.compare import verdicts_of
from benchlab.campaign.outcome import Comparer
from benchlab.results.records import Failure
from benchlab.results.rows import CAMPAIGNS
from benchlab.results.store import Store
from tests import postgresql
from tests.airflow.conftest import told
from tests.builders import campaigns, weekly
from tests.builders.weekly import POINT, REPORT
from tests.machine import PROJECT

CAMPAIGN, RUNNING = "week-007", "now"
TRIAL = f"r1-candidate-{POINT}-t4"
# A run of Airflow whose form named the campaign that it resumed.
RESUMED = "manual__again"
BEGUN = "manual__2026-01-05T03:04:05+00:00"
HISTORY = f"history/{REPORT}/{POINT}/"
LISTED = "findings/?state=known&report=sysbench_test"
JUDGE = {"finding": "1", "state": "known", "note": "a new default", "place": HISTORY,
         "link": "https://example.org/7"}  # fmt: skip
BACK = {"finding": "1", "state": ["", "back"], "place": LISTED}  # as a browser sends it
ELSEWHERE = {**JUDGE, "state": "wanted", "note": "", "place": "//evil.example/"}

# Asks Airflow's whole app, with the plugin in it and below a path, one request after the other.
ASK = """
import json, sys
from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.main import app  # as `airflow api-server` makes it
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
from fastapi.testclient import TestClient
from sqlalchemy import Engine, event

# Of Airflow's database and of the store: what one request asks.
queries = []
event.listen(Engine, "before_cursor_execute", lambda *told: queries.append(told[2]))

# As another auth manager might: a person who may not read one DAG.
allowed = SimpleAuthManager.is_authorized_dag
def is_authorized_dag(self, *, details=None, user, **more):
    if user.get_name() == "stranger" and details is not None and details.id == REPORT:
        return False
    return allowed(self, details=details, user=user, **more)
SimpleAuthManager.is_authorized_dag = is_authorized_dag

with create_session() as session:
    session.add(DagRun(
        dag_id=REPORT, run_id=RESUMED, run_type="manual", conf={"campaign": CAMPAIGN}))
    session.add(DagRun(dag_id=REPORT, run_id=BEGUN, run_type="manual", state="failed"))
    lost = DagRun(dag_id=REPORT, run_id="lost", run_type="scheduled", state="failed")
    lost.note = "the mirror is down\\n\\n[campaign](x)"
    session.add(lost)
    session.add(DagRun(dag_id=REPORT, run_id="queued", run_type="manual", state="queued"))
    session.add(DagRun(dag_id=REPORT, run_id="deleted", run_type="manual", state="success"))
client = TestClient(app, base_url="http://testserver", follow_redirects=False)
tokens = {}
for name, role in (("ann", "ADMIN"), ("uma", "USER"), ("vic", "VIEWER"), ("stranger", "USER")):
    tokens[name] = get_auth_manager().generate_jwt(
        SimpleAuthManagerUser(username=name, role=role))
found = {}
for key, ask in ASKED.items():
    headers = dict(ask.get("headers", {}))
    if ask.get("who"):
        headers["Authorization"] = "Bearer " + tokens[ask["who"]]
    form = ask.get("form")
    if form is not None and "guard" not in form:
        page = client.get("/air/benchmarks/" + ask["from"], headers=headers).text
        guards = page.split('name="guard" value="')[1:]
        form = {**form, "guard": guards[0].split('"')[0] if guards else ""}
    client.cookies.clear()
    queries.clear()
    answer = client.request(
        ask.get("method", "GET"), "/air/benchmarks/" + ask["place"], headers=headers, data=form)
    found[key] = {
        "status": answer.status_code, "headers": dict(answer.headers), "text": answer.text,
        "queries": list(queries)}
# The same with the store that a Connection in Airflow's database names.
if POSTGRESQL:
    from airflow.models.connection import Connection
    from benchlab_airflow.page import rights
    from sqlalchemy import make_url
    url = make_url(POSTGRESQL)
    with create_session() as session:
        session.add(Connection(
            conn_id="benchlab_results", conn_type="postgres", host=url.host, port=url.port,
            login=url.username, schema=url.database))
    try:
        rights.shared.forget()
        for place in ("", "only-there/"):
            answer = client.get("/air/benchmarks/campaigns/" + place,
                headers={"Authorization": "Bearer " + tokens["vic"]})
            found["PostgreSQL " + place] = {"status": answer.status_code, "text": answer.text}
    finally:
        rights.shared.forget()
        with create_session() as session:
            session.query(Connection).filter_by(conn_id="benchlab_results").delete()
from benchlab_airflow.page.app import make
from benchlab_airflow.page.rights import person, reader
from fastapi.routing import APIRoute

def asks(dependant, what):
    return dependant.call is what or any(asks(one, what) for one in dependant.dependencies)
found["routes"] = [
    [r.path, asks(r.dependant, person), asks(r.dependant, reader)]
    for r in make().routes if isinstance(r, APIRoute)]
found["others"] = [r.path for r in make().routes if not isinstance(r, APIRoute)]
say(json.dumps(found))
"""


def _asked() -> dict[str, dict[str, Any]]:
    hostile = {"origin": "http://evil.example", "sec-fetch-site": "cross-site"}
    form = {"method": "POST", "place": "actions/judge", "from": HISTORY}
    asked: dict[str, dict[str, Any]] = {
        "nobody": {"place": ""},
        "nobody's browser": {"place": HISTORY, "headers": {"sec-fetch-mode": "navigate"}},
        "nobody's browser over HTTP": {"place": HISTORY, "headers": {"accept": "text/html,*/*"}},
        "forged": {"place": "", "headers": {"Authorization": "Bearer forged"}},
        "overview": {"place": "", "who": "vic"},
        "overview of an admin": {"place": "", "who": "ann"},
        "history": {"place": HISTORY, "who": "vic"},
        "history zh": {"place": f"{HISTORY}?language=zh", "who": "vic"},
        "zh chosen": {
            "place": "", "who": "vic", "headers": {"cookie": "benchlab_language=zh"}},
        "nonsense chosen": {
            "place": "", "who": "vic", "headers": {"cookie": "benchlab_language=../x"}},
        "history of an admin": {"place": HISTORY, "who": "ann"},
        "workloads": {"place": "history/", "who": "vic"},
        "campaigns": {"place": "campaigns/", "who": "vic"},
        "campaigns of a stranger": {"place": "campaigns/", "who": "stranger"},
        "at work": {"place": "at-work", "who": "vic"},
        "workloads of a stranger": {"place": "history/", "who": "stranger"},
        "history of a stranger": {"place": HISTORY, "who": "stranger"},
        "overview of a stranger": {"place": "", "who": "stranger"},
        "file of a stranger": {
            "place": f"campaigns/{CAMPAIGN}/files/report.html", "who": "stranger"},
        "campaign": {"place": f"campaigns/{CAMPAIGN}/", "who": "vic"},
        "campaign of a stranger": {"place": f"campaigns/{CAMPAIGN}/", "who": "stranger"},
        "progress at work": {"place": f"campaigns/{RUNNING}/progress", "who": "vic"},
        "progress": {"place": f"campaigns/{CAMPAIGN}/progress", "who": "vic"},
        "next part": {"place": f"campaigns/{CAMPAIGN}/next?part=1", "who": "vic"},
        "next": {"place": f"campaigns/{CAMPAIGN}/next", "who": "vic"},
        "next as JSON": {"place": f"campaigns/{CAMPAIGN}/next?format=json", "who": "vic"},
        "trial": {"place": f"campaigns/{CAMPAIGN}/trials/{TRIAL}/", "who": "vic"},
        "trial of a stranger": {
            "place": f"campaigns/{CAMPAIGN}/trials/{TRIAL}/", "who": "stranger"},
        "bad attempt": {"place": f"campaigns/{CAMPAIGN}/trials/{TRIAL}/?attempt=x", "who": "vic"},
        "two": {"place": f"compare/?first={CAMPAIGN}&second=week-001", "who": "vic"},
        "feed": {"place": "findings/feed.atom", "who": "vic"},
        "feed of a stranger": {"place": "findings/feed.json", "who": "stranger"},
        "as JSON": {"place": "findings/?format=json", "who": "vic"},
        "as JSON of a stranger": {"place": f"campaigns/{CAMPAIGN}/?format=json", "who": "stranger"},
        "two ticked": {"place": f"compare/?campaign={CAMPAIGN}&campaign=week-001", "who": "vic"},
        "two versions": {"place": f"compare/versions/?report={REPORT}", "who": "vic"},
        "two versions of a stranger": {
            "place": f"compare/versions/?report={REPORT}", "who": "stranger",
        },
        "two of a stranger": {"place": f"compare/?first={CAMPAIGN}", "who": "stranger"},
        "report": {"place": f"campaigns/{CAMPAIGN}/files/report.html", "who": "vic"},
        "archive": {"place": f"campaigns/{CAMPAIGN}/files/evidence.zip", "who": "vic"},
        "up": {"place": f"campaigns/{CAMPAIGN}/files/..%2f..%2fresults.db", "who": "vic"},
        "up twice": {"place": f"campaigns/{CAMPAIGN}/files/%2e%2e/%2e%2e/results.db", "who": "vic"},
        "link": {"place": f"campaigns/{CAMPAIGN}/files/link.txt", "who": "vic"},
        "nowhere": {"place": "nowhere/", "who": "vic"},
        "nowhere for nobody": {"place": "nowhere/"},
        "no workload": {"place": f"history/{REPORT}/<script>/", "who": "vic"},
        "plan": {"place": "plan/?report=tpcc_ec2&rounds=x", "who": "vic"},
        "plan of an admin": {"place": "plan/?report=tpcc_local", "who": "ann"},
        "nowhere zh": {"place": "nowhere/?language=zh", "who": "vic"},
        "run": {"place": f"runs/{REPORT}/manual__2026/", "who": "vic"},
        "run that resumed it": {"place": f"runs/{REPORT}/{RESUMED}/", "who": "vic"},
        "run of a stranger": {"place": f"runs/{REPORT}/{RESUMED}/", "who": "stranger"},
        "tab of a DAG": {"place": f"dags/{REPORT}/", "who": "vic"},
        "style": {"place": "assets/site.css", "who": "vic"},
        "other site": {**form, "form": JUDGE, "who": "ann", "headers": hostile},
        "no guard": {**form, "form": {**JUDGE, "guard": ""}, "who": "ann"},
        "viewer": {**form, "form": JUDGE, "who": "vic"},
        "viewer with a guess": {**form, "form": {**JUDGE, "guard": "x"}, "who": "vic"},
        "to elsewhere": {**form, "form": ELSEWHERE, "who": "ann"},
        "a script": {**form, "form": {**JUDGE, "link": "javascript:alert(1)"}, "who": "ann"},
        "no such state": {**form, "form": {**JUDGE, "state": "odd"}, "who": "ann"},
        "no such finding": {**form, "form": {**JUDGE, "finding": "99"}, "who": "ann"},
        "judged": {**form, "form": JUDGE, "who": "ann", "headers": {"origin": "http://testserver"}},
        "after it": {"place": HISTORY, "who": "vic"},
        "list": {"place": LISTED, "who": "vic"},
        "list of an admin": {"place": LISTED, "who": "ann"},
        "list of a stranger": {"place": "findings/", "who": "stranger"},
        "viewer takes back": {**form, "form": BACK, "who": "vic"},
        "taken back": {**form, "form": BACK, "who": "ann"},
        "after that": {"place": HISTORY, "who": "vic"},
    }  # fmt: skip
    return asked


@dataclass(frozen=True)
class Answers:
    """What the app answered, by the name of the request."""

    found: dict[str, Any]

    def status(self, name: str) -> int:
        """The HTTP status."""
        return int(self.found[name]["status"])

    def text(self, name: str) -> str:
        """The body."""
        return str(self.found[name]["text"])

    def header(self, name: str, header: str) -> str:
        """A header; empty where there is none."""
        return str(self.found[name]["headers"].get(header, ""))


@contextlib.contextmanager
def _other_store(home: Path) -> Iterator[str | None]:
    """A store in PostgreSQL with one campaign; None where no PostgreSQL is installed."""
    if (programs := postgresql.programs()) is None:
        yield None
        return
    with postgresql.running(programs) as url:
        with Store(url, UPath(home / "objects")) as store:
            store.add_campaign(campaigns.campaign(id="only-there"))
        yield url


@pytest.fixture(scope="module")
def answers(airflow_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """All requests, in one process."""
    home = tmp_path_factory.mktemp("page")
    with weekly.installation(home) as weeks:
        weekly.regression(weeks)
        slower = Comparer(weeks.home, weeks.store).outcome(weeks.store.campaign(CAMPAIGN))
        running = campaigns.campaign(id=RUNNING, report=REPORT)
        weeks.store.add_campaign(dataclasses.replace(running, state="running"))
        weeks.store.set_verdicts(CAMPAIGN, verdicts_of(slower.comparison))
        with weeks.store.transaction() as connection:
            connection.execute(
                CAMPAIGNS.update().filter_by(id=CAMPAIGN).values(origin=f"Airflow run {BEGUN}")
            )
    report = home / "reports" / CAMPAIGN
    report.mkdir(parents=True)
    (report / "report.html").write_text("<script>alert(1)</script>")
    (report / "evidence.zip").write_bytes(b"PK")
    (report / "link.txt").symlink_to(Path("/etc/hostname"))
    names = f"REPORT, RESUMED, BEGUN, CAMPAIGN = {(REPORT, RESUMED, BEGUN, CAMPAIGN)!r}"
    code = f"{names}\nASKED = json.loads({json.dumps(_asked())!r})\n{ASK}"
    store = f"sqlite:///{home}/results.db"
    env = {**airflow_env, "BENCHLAB_HOME": str(home), "BENCHLAB_STORE_URL": store}
    env["AIRFLOW__API__BASE_URL"] = "http://testserver/air"
    env["AIRFLOW_API_APPS"] = "core"
    with _other_store(home) as there:
        (said,) = told(f"import json\nPOSTGRESQL = {there!r}\n{code}", env)
    return Answers(json.loads(said))


def test_nobody_sees_anything_without_a_login(answers: Answers) -> None:
    """A program gets 401; a browser is sent to the login and comes back to the page."""
    assert answers.status("nobody") == 401
    assert answers.status("forged") in (401, 403)
    assert answers.status("nobody's browser") == 302
    assert answers.status("nobody's browser over HTTP") == 302
    assert answers.status("nowhere for nobody") == 401
    login = answers.header("nobody's browser", "location")
    assert login.startswith(
        "/air/api/v2/auth/login?next=http%3A%2F%2Ftestserver%2Fair%2Fbenchmarks%2Fhistory"
    )


def test_every_route_asks_who_it_is(answers: Answers) -> None:
    """There is none without, assets included, and nothing beside the routes, such as /docs."""
    routes = answers.found["routes"]
    assert len(routes) >= 8
    assert [path for path, asks_person, _ in routes if not asks_person] == []
    assert [path for path, _, asks_rights in routes if not asks_rights] == ["/assets/{name}"]
    assert answers.found["others"] == []


def test_who_may_read_the_dag_sees_its_campaigns(answers: Answers) -> None:
    """The answer first, in either language: the one that they chose last, on this site only."""
    assert answers.status("overview") == answers.status("workloads") == 200
    assert "made Point Select slower" in answers.text("history")
    assert 'lang="zh"' in answers.text("history zh")
    chosen = answers.header("history zh", "set-cookie")
    assert chosen.startswith("benchlab_language=zh; HttpOnly; Max-Age=")
    assert chosen.endswith("; Path=/air/benchmarks; SameSite=lax")
    assert 'lang="zh"' in answers.text("zh chosen")
    assert 'lang="en"' in answers.text("nonsense chosen")


@pytest.mark.skipif(postgresql.programs() is None, reason="PostgreSQL is not installed")
def test_the_store_may_be_the_one_that_a_connection_names(answers: Answers) -> None:
    """The API server finds the Connection in Airflow's database, and reads only what is there."""
    for place in ("PostgreSQL ", "PostgreSQL only-there/"):
        assert answers.status(place) == 200
        assert "only-there" in answers.text(place)
    assert CAMPAIGN in answers.text("campaigns")
    assert CAMPAIGN not in answers.text("PostgreSQL ")


def test_a_campaign_leads_to_its_trials_and_to_others(answers: Answers) -> None:
    """Its page, a trial's, and two beside each other; a fragment has no frame."""
    assert f'href="../../campaigns/{CAMPAIGN}/trials/{TRIAL}/?attempt=1"' in answers.text(
        "campaign"
    )
    assert "Valid: the figures of this trial are used." in answers.text("trial")
    for two in ("two", "two ticked"):
        assert "These are two campaigns" in answers.text(two)
    assert answers.status("two versions") == 200
    assert "Point Select" in answers.text("feed")
    assert json.loads(answers.text("as JSON"))["count"] == 1
    assert answers.header("as JSON", "content-type") == "application/json"
    assert answers.status("as JSON of a stranger") == 404
    assert CAMPAIGN in json.loads(answers.text("as JSON of a stranger"))["text"]
    assert json.loads(answers.text("feed of a stranger"))["items"] == []
    assert answers.status("two versions of a stranger") == 404
    assert answers.status("progress") == 200
    for part in ("progress", "next part"):
        assert "<html" not in answers.text(part)
    assert "<html" in answers.text("next"), "opened by its link, also where there is no TLS"
    assert json.loads(answers.text("next as JSON"))["id"] == CAMPAIGN
    assert answers.status("bad attempt") == 422
    assert "attempt: it cannot be read" in answers.text("bad attempt")


@pytest.mark.parametrize(("name", "most"), [("progress at work", 3), ("at work", 2), ("run", 3)])
def test_an_open_page_costs_at_most_one_query_every_five_seconds(
    answers: Answers, name: str, most: int
) -> None:
    """It asks every 15 s; one query is Airflow's own, whether the person has logged out."""
    asked = answers.found[name]["queries"]
    assert answers.status(name) == 200
    assert 'data-seconds="15"' in answers.text(name)
    assert len(asked) == most, asked
    assert sum("revoked_token" in query for query in asked) == 1


def test_who_may_not_read_a_dag_does_not_learn_that_it_is_there(answers: Answers) -> None:
    """Neither by a list nor by an address nor by a file."""
    for name in ("workloads of a stranger", "overview of a stranger", "campaigns of a stranger"):
        assert answers.status(name) == 200
        assert CAMPAIGN not in answers.text(name)
    for what in ("history", "file", "campaign", "trial", "two"):
        assert answers.status(f"{what} of a stranger") == 404, what


def test_pages_load_nothing_from_elsewhere_and_run_no_script_of_their_own(
    answers: Answers,
) -> None:
    """By their policy; and no page has an inline script, a style attribute or another host."""
    policy = answers.header("history", "content-security-policy")
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    for name in ("overview", "campaign", "trial", "two", "history", "workloads", "plan"):
        page = answers.text(name)
        assert "<script>" not in page
        assert " style=" not in page
        assert "http://" not in page
        assert "https://" not in page
        assert " on" + "click" not in page


def test_a_stored_file_cannot_act_in_airflows_name(answers: Answers) -> None:
    """It has an origin of its own and runs nothing; what is not read in a browser is downloaded."""
    policy = answers.header("report", "content-security-policy")
    assert policy.startswith("sandbox")
    assert "script-src" not in policy
    assert "allow-scripts" not in policy
    assert answers.header("archive", "content-disposition").startswith("attachment")
    assert answers.header("report", "x-content-type-options") == "nosniff"


def test_no_other_file_can_be_read(answers: Answers) -> None:
    """Neither by a path upwards nor by a link inside the report's folder."""
    for name in ("up", "up twice", "link"):
        assert answers.status(name) == 404, name


def test_what_is_wrong_is_said_in_the_frame_of_the_site(answers: Answers) -> None:
    """With the status of its kind, and hostile text as text."""
    assert answers.status("nowhere") == answers.status("nowhere zh") == 404
    assert "nowhere/：没有此页面" in answers.text("nowhere zh")
    assert answers.status("no workload") == 404
    assert "<script>" not in answers.text("no workload")
    assert "Rounds (rounds): &#39;x&#39; is not a whole number" in answers.text("plan")
    assert answers.status("run") == 200
    assert "has no campaign" in answers.text("run")
    assert answers.header("style", "content-type").startswith("text/css")


def test_the_tabs_of_airflow_lead_to_what_they_are_about(answers: Answers) -> None:
    """A DAG's to its campaigns, a run's to the campaign that it began or resumed."""
    assert answers.status("tab of a DAG") == answers.status("run that resumed it") == 302
    assert answers.header("tab of a DAG", "location") == (
        f"/air/benchmarks/campaigns/?report={REPORT}"
    )
    run = answers.header("run that resumed it", "location")
    assert run == f"/air/benchmarks/campaigns/{CAMPAIGN}/"
    assert answers.status("run of a stranger") == 200
    assert CAMPAIGN not in answers.text("run of a stranger")


def test_the_overview_has_runs_that_began_no_campaign(answers: Answers) -> None:
    """Failed ones with the reason in their note, for who may read the DAG."""
    read = answers.text("overview")
    assert f'href="runs/{REPORT}/lost/"' in read
    assert "failed before a campaign began: the mirror is down" in read
    assert f'href="runs/{REPORT}/queued/"' in read
    for other in (RESUMED, BEGUN, "deleted"):
        assert f"runs/{REPORT}/{quote(other)}/" not in read
    assert "lost" not in answers.text("overview of a stranger")
    asked = [one for one in answers.found["overview"]["queries"] if "dag_run_note" in one]
    assert len(asked) == 1


def test_a_campaign_leads_back_to_its_run(answers: Answers) -> None:
    """Its page has the address of the run in Airflow's UI, each part quoted once."""
    run = f"../../../dags/{REPORT}/runs/manual__2026-01-05T03%3A04%3A05%2B00%3A00"
    assert f'<a href="{run}" target="_top">' in answers.text("campaign")


def test_only_who_may_trigger_is_offered_to_change_something(answers: Answers) -> None:
    """A viewer has neither the form nor the button."""
    for page in ("history", "overview", "list"):
        assert "Judge as" not in answers.text(page), page
        assert "Judge as" in answers.text(f"{page} of an admin"), page
    assert "data-start" not in answers.text("plan")
    start = 'data-start="../../api/v2/dags/tpcc_local/dagRuns"'
    assert start in answers.text("plan of an admin")


def test_nothing_is_changed_for_another_site_or_a_viewer(answers: Answers) -> None:
    """Not even with the person's cookie: the guard of a page of theirs is needed."""
    for name in ("other site", "no guard", "viewer", "viewer with a guess", "viewer takes back"):
        assert answers.status(name) == 403, name
    assert "This form was sent by another site." in answers.text("other site")


def test_a_change_is_recorded_in_the_persons_name(answers: Answers) -> None:
    """And the page is shown again; never one of another site."""
    assert answers.status("judged") == 303
    assert answers.header("judged", "location") == f"../{HISTORY}"
    assert answers.header("to elsewhere", "location") == "../evil.example/"
    for page in ("after it", "list"):
        for said in ("by ann", "a new default", 'href="https://example.org/7"'):
            assert said in answers.text(page)
    assert POINT not in answers.text("list of a stranger")
    assert [answers.status(f"no such {what}") for what in ("state", "finding")] == [422, 404]
    assert answers.status("a script") == 422


def test_what_was_said_is_taken_back(answers: Answers) -> None:
    """And the list is shown again as it was filtered."""
    assert answers.status("taken back") == 303
    assert answers.header("taken back", "location") == f"../{LISTED}"
    assert "a new default" not in answers.text("after that")
    assert "wanted</span>" in answers.text("after that")


# Airflow's whole app; many plans are asked for at once, and its own API after them.
PLANS = """
import asyncio, httpx
from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.main import app
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

vic = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="vic", role="VIEWER"))
answered = []

async def ask(client, place):
    answer = await client.get(place)
    answered.append(place)
    return answer

async def main():
    plans = [
        f"/benchmarks/plan/figures?report={report}&candidate={version}.{number}"
        for number in range(15)
        for report, version in (
            ("sysbench_local", "99.0"), ("sysbench_local", "v99.0"), ("sysbench_ec2", "v99.0"))
    ]
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://testserver", timeout=None,
        headers={"Authorization": f"Bearer {vic}"},
    ) as client:
        found = await asyncio.gather(*(ask(client, place) for place in (*plans, "/api/v2/pools")))
    *pages, pools = found
    say({answer.status_code for answer in pages}, pools.status_code)
    say(all("was not checked whether it exists" in answer.text for answer in pages))
    say(answered.index("/api/v2/pools") < len(plans))
asyncio.run(main())
"""


def test_many_plans_of_a_viewer_hold_up_nobody_and_start_nothing(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Neither Maven nor TiUP, which would take a thread of Airflow's each, for up to a minute."""
    begun = tmp_path / "begun"
    for program in ("mvn", "tiup"):
        script = tmp_path / program
        script.write_text(f"#!/bin/sh\ntouch {begun}\nexec sleep 600\n")
        script.chmod(0o755)
    path = f"{tmp_path}:{airflow_env['PATH']}"
    assert told(PLANS, airflow_env, PATH=path) == ["{200} 200", "True", "True"]
    assert not begun.exists()


# Follows every link of the site as a viewer, and says where it finds what a viewer must not see.
WALK = """
import html, re
from urllib.parse import urljoin
from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
from airflow.api_fastapi.main import app
from fastapi.testclient import TestClient

token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="vic", role="VIEWER"))
client = TestClient(app, base_url="http://testserver", follow_redirects=False)
site = "http://testserver/air/benchmarks/"
left, seen, kinds = [site + place for place in PLACES], set(), {}
while left:
    page = left.pop(0)
    # A few of each kind of page: all trials of all campaigns would take minutes.
    kind = re.sub(r"week-[0-9]+|r[0-9]+-[a-z]+-|=[^&]*", "*", page)
    if page in seen or kinds.setdefault(kind, 0) == 4:
        continue
    seen.add(page)
    kinds[kind] += 1
    answer = client.get(page, headers={"Authorization": "Bearer " + token})
    text = html.unescape(answer.text) + str(answer.headers)
    for secret in SECRETS:
        if (at := text.find(secret)) >= 0:
            say("leak", page, repr(text[max(0, at - 90):at + 90]))
    say(answer.status_code, page.removeprefix(site))
    links = re.findall('(?:href|src|action|data-(?:refresh|figures))="([^"#]+)', answer.text)
    for link in [*links, answer.headers.get("location", "")]:
        found = urljoin(page, html.unescape(link)).partition("#")[0]
        if found.startswith(site) and "/assets/" not in found:
            left.append(found)
"""


@pytest.mark.parametrize("reached", [True, False])
def test_a_viewer_sees_no_url_of_the_store_and_no_path_of_the_server(
    airflow_env: dict[str, str], tmp_path: Path, reached: bool
) -> None:
    """On no page; also where store, campaigns and files are faulty, and where errors name them."""
    home, project = tmp_path / "state", tmp_path / "project"
    home.mkdir()
    shutil.copytree(PROJECT / "configs", project / "configs")
    (project / "configs/reports/broken.yaml").write_text("rounds: [")
    (project / "configs/topologies/ec2_small.yaml").write_text("kind: [")
    url = "postgresql+psycopg2://127.0.0.1:1/results?user=bench&password=hunter2"
    with weekly.installation(home) as weeks:
        weekly.regression(weeks)
        why = (f"results store {url}: gone", f"{home}/reports: no space left", str(project))
        weeks.store.fail("week-002", Failure("publish", why, (f"{home}/rental.json: damaged",)))
        weeks.store.finish("week-002", "failed")
        running = campaigns.campaign(id=RUNNING, report=REPORT)
        weeks.store.add_campaign(dataclasses.replace(running, state="running"))
        with weeks.store.transaction() as connection:
            for name, damaged in {"week-003": {"plan": "{"}, "week-004": {"facts": "["}}.items():
                connection.execute(CAMPAIGNS.update().filter_by(id=name).values(**damaged))
    store = f"sqlite:///{home}/results.db" if reached else url
    places = [
        "", "campaigns/", "history/", "compare/?first=week-001&second=week-002", "nowhere/",
        *(f"campaigns/{name}/" for name in ("week-002", "week-003", "week-004", RUNNING, "none")),
        f"campaigns/week-001/trials/{TRIAL}/?attempt=9", "campaigns/week-001/files/none.html",
        *(f"plan/?report={report}" for report in ("broken", "sysbench_ec2", REPORT, "none")),
        f"history/{REPORT}/none/", f"runs/{REPORT}/none/",
    ]  # fmt: skip
    secrets = ["hunter2", "postgresql", "sqlite://", "127.0.0.1:1", str(tmp_path), str(PROJECT)]
    env = {
        **airflow_env,
        "BENCHLAB_HOME": str(home),
        "BENCHLAB_PROJECT": str(project),
        "BENCHLAB_STORE_URL": store,
        "AIRFLOW__API__BASE_URL": "http://testserver/air",
        "AIRFLOW_API_APPS": "core",
    }
    said = told(f"PLACES, SECRETS = {places!r}, {secrets!r}\n{WALK}", env)
    assert [line for line in said if line.startswith("leak")] == []
    assert f"{200 if reached else 503} campaigns/week-002/" in said
    assert len(said) > (60 if reached else 15)


REOPENED = """
import os
from pathlib import Path
from upath import UPath
from benchlab.results.store import Store
from benchlab.errors import StoreError
from benchlab_airflow.page import rights
from tests.builders import campaigns

file = Path(os.environ["BENCHLAB_STORE_URL_FILE"])
for name in ("before", "after"):
    url = f"sqlite:///{file.parent}/{name}.db"
    with Store(url, UPath(file.parent / "objects")) as store:
        store.add_campaign(campaigns.campaign(id=name))
    file.write_text(url)
    say(rights.shared.store().campaign_ids())
rights.store_failed(StoreError("access denied"))
say(rights.shared.store().campaign_ids())
"""


def test_a_store_whose_address_changed_is_opened_anew(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """The API server keeps it open until it fails once, as with a password that has ended."""
    env = {**airflow_env, "BENCHLAB_STORE_URL_FILE": str(tmp_path / "store_url")}
    assert told(REOPENED, env) == ["['before']", "['before']", "['after']"]
