"""Who may do what: every route of the page and what Airflow's API does, for each role."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from benchlab.analysis.verdict.compare import verdicts_of
from benchlab.campaign.outcome import Comparer
from tests.airflow.conftest import told
from tests.builders import weekly
from tests.builders.weekly import POINT, REPORT
from tests.machine import PROJECT

CAMPAIGN, TRIAL = "week-007", f"r1-candidate-{POINT}-t4"
VIEWER, APPROVER, USER, OP, ADMIN = ROLES = ("Viewer", "Approver", "User", "Op", "Admin")
WORKS = (USER, OP, ADMIN)
# What a person does, as docs/SECURITY.md says it, and who may.
MAY = {
    "see results, reports, plans, approvals": ROLES,
    "pause a report type's DAG": (APPROVER, *WORKS),
    "answer an approval": (APPROVER, *WORKS),
    "start a campaign": WORKS,
    "judge a finding": WORKS,
    "clear tasks, delete runs": WORKS,
    "see and change Connections, Variables, pools": (OP, ADMIN),
    "read Airflow's audit log": (ADMIN,),
    "see and change people and roles": (ADMIN,),
}
_PEOPLE = "see and change people and roles"
# Airflow's simple auth manager has no Approver, no people to change, and lets all read the log.
SIMPLE = {**MAY, "read Airflow's audit log": ROLES, _PEOPLE: None}
_RUN = f"/api/v2/dags/{REPORT}/dagRuns/manual__1"
_TASK = f"{_RUN}/taskInstances/approve/-1/hitlDetails"
_AUTH = "/auth/fab/v1"
# What is asked: of a DAG that Airflow does not know, so who may is answered 404 and nothing begins.
API: dict[str, list[tuple[str, str, Any]]] = {
    "see results, reports, plans, approvals": [
        ("GET", "/api/v2/dags", None),
        ("GET", "/api/v2/dags/~/dagRuns/~/hitlDetails", None),
        ("GET", _TASK, None),
    ],
    "pause a report type's DAG": [("PATCH", f"/api/v2/dags/{REPORT}", {"is_paused": True})],
    "answer an approval": [("PATCH", _TASK, {"chosen_options": ["Approve"], "params_input": {}})],
    "start a campaign": [("POST", f"/api/v2/dags/{REPORT}/dagRuns", {"logical_date": None})],
    "clear tasks, delete runs": [
        ("POST", f"/api/v2/dags/{REPORT}/clearTaskInstances", {"dry_run": True}),
        ("DELETE", _RUN, None),
    ],
    "see and change Connections, Variables, pools": [
        ("GET", "/api/v2/connections", None),
        ("POST", "/api/v2/connections", {"connection_id": "one", "conn_type": "http"}),
        ("POST", "/api/v2/variables", {"key": "one", "value": "1"}),
        ("POST", "/api/v2/pools", {"name": "one", "slots": 1}),
    ],
    "read Airflow's audit log": [("GET", "/api/v2/eventLogs", None)],
    "see and change people and roles": [
        ("GET", f"{_AUTH}/users", None),
        ("POST", f"{_AUTH}/roles", {"name": "one", "actions": []}),
    ],
}
# An address for each route of the page; the last route is any other address.
PAGE = {
    "/assets/{name}": "assets/site.css",
    "/": "",
    "/at-work": "at-work",
    "/findings/": "findings/",
    "/campaigns/": "campaigns/",
    "/campaigns/{campaign}/": f"campaigns/{CAMPAIGN}/",
    "/campaigns/{campaign}/progress": f"campaigns/{CAMPAIGN}/progress",
    "/campaigns/{campaign}/next": f"campaigns/{CAMPAIGN}/next",
    "/campaigns/{campaign}/trials/{trial}/": f"campaigns/{CAMPAIGN}/trials/{TRIAL}/",
    "/compare/": "compare/",
    "/compare/versions/": "compare/versions/",
    "/findings/feed.{form}": "findings/feed.atom",
    "/history/": "history/",
    "/history/{report}/{workload}/": f"history/{REPORT}/{POINT}/",
    "/plan/": "plan/",
    "/plan/figures": "plan/figures?report=sysbench_local",
    "/dags/{report}/": f"dags/{REPORT}/",
    "/runs/{report}/{run}/": f"runs/{REPORT}/manual__1/",
    "/campaigns/{campaign}/files/{name:path}": f"campaigns/{CAMPAIGN}/files/report.json",
    "/{place:path}": "campaigns",
}
JUDGE = "/actions/judge"

# Logs people in, asks, and says the statuses: {role: {what: [status]}}.
ASK = """
import contextlib, json, os
from oidc_provider_mock import User, run_server_in_thread
PEOPLE = {role: role.lower() for role in ROLES}
FAB = "airflow.providers.fab.auth_manager.fab_auth_manager.FabAuthManager"

def log_in(client, who):
    import httpx
    client.cookies.clear()
    page = client.get("/air/benchmarks/history/", headers={"sec-fetch-mode": "navigate"})
    form = client.get(client.get(page.headers["location"]).headers["location"])
    assert form.status_code == 200 and "sso" in form.text
    query = form.request.url.query.decode()
    begun = client.get("/air/auth/login/sso?" + query, headers=FORWARDED)
    back = httpx.post(begun.headers["location"], data={"sub": who}).headers["location"]
    return begun, client.get(back.replace("https:", "http:"), headers=FORWARDED)

FORWARDED = {}

@contextlib.contextmanager
def provider():
    people = [User(sub=name, claims={"preferred_username": name, "teams": [role + "s"]})
        for role, name in {**PEOPLE, "Stranger": "stranger"}.items()]
    with run_server_in_thread(user_claims=people) as server:
        os.environ.update({
            "AIRFLOW__CORE__AUTH_MANAGER": FAB,
            "AIRFLOW__FAB__CONFIG_FILE": LOGINS,
            "AIRFLOW__FAB__ENABLE_PROXY_FIX": "True",
            "AIRFLOW__FAB__AUTH_RATE_LIMITED": "False",
            "AIRFLOW__FAB__CACHE_TTL": "0",
            "BENCHLAB_LOGIN_ISSUER": f"http://localhost:{server.server_port}",
            "BENCHLAB_LOGIN_CLIENT_ID": "benchlab",
            "BENCHLAB_LOGIN_CLIENT_SECRET": "secret",
            "BENCHLAB_LOGIN_GROUPS_CLAIM": "teams",
            "BENCHLAB_LOGIN_ROLES": json.dumps({role + "s": [role] for role in ROLES}),
        })
        yield server

def client_of_app():
    from airflow.api_fastapi.main import app
    from fastapi.testclient import TestClient
    return TestClient(app, base_url="http://testserver", follow_redirects=False)
"""
MATRIX = """
def asked(client, headers):
    found = {what: [client.request(method, "/air" + place, json=body, headers=headers).status_code
        for method, place, body in asked] for what, asked in API.items()}
    pages = {route: client.get("/air/benchmarks/" + place, headers=headers)
        for route, place in PAGE.items()}
    guard = pages["/history/{report}/{workload}/"].text.partition('name="guard" value="')[2]
    form = {"finding": "1", "state": "known", "guard": guard.partition('"')[0]}
    judged = client.post("/air/benchmarks/actions/judge", data=form, headers=headers)
    return {**found, "page": {route: one.status_code for route, one in pages.items()},
        "judge a finding": [judged.status_code]}

found = {}
with provider() if BY_FAB else contextlib.nullcontext():
    client = client_of_app()
    for role, name in PEOPLE.items():
        headers = {}
        if BY_FAB:
            log_in(client, name)
        elif role != "Approver":
            from airflow.api_fastapi.app import get_auth_manager
            from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
            user = SimpleAuthManagerUser(username=name, role=role.upper())
            headers = {"Authorization": "Bearer " + get_auth_manager().generate_jwt(user)}
        else:
            continue
        found[role] = asked(client, headers)
    client.cookies.clear()
    found["nobody"] = asked(client, {})
from benchlab_airflow.page.app import make
found["routes"] = [[sorted(route.methods), route.path] for route in make().routes]
say(json.dumps(found))
"""


@dataclass(frozen=True)
class Asked:
    """What was answered, by role and by what was asked."""

    found: dict[str, Any]
    may: Mapping[str, tuple[str, ...] | None]

    @property
    def roles(self) -> list[str]:
        """The roles that this auth manager has, and nobody."""
        return [role for role in (*ROLES, "nobody") if role in self.found]

    def differing(self, what: str) -> dict[str, Any]:
        """The roles whose answer is not as the matrix says."""
        if (allowed := self.may[what]) is None:
            return {}
        answers = {role: self.found[role][what] for role in self.roles}
        return {
            role: answer
            for role, answer in answers.items()
            if any((status not in (401, 403)) != (role in allowed) for status in answer)
        }


def code_of(home: Path, code: str) -> tuple[str, dict[str, str]]:
    """The code after its preamble, and its environment: a store with weeks of campaigns."""
    with weekly.installation(home) as weeks:
        weekly.regression(weeks)
        slower = Comparer(weeks.home, weeks.store).outcome(weeks.store.campaign(CAMPAIGN))
        weeks.store.set_verdicts(CAMPAIGN, verdicts_of(slower.comparison))
    report = home / "reports" / CAMPAIGN
    report.mkdir(parents=True)
    (report / "report.json").write_text("{}")
    logins = str(PROJECT / "plugins" / "benchlab_airflow" / "logins.py")
    preamble = f"ROLES, LOGINS, API, PAGE = {(ROLES, logins, API, PAGE)!r}\n{ASK}"
    env = {
        "BENCHLAB_HOME": str(home),
        "BENCHLAB_STORE_URL": f"sqlite:///{home}/results.db",
        "AIRFLOW__API__BASE_URL": "http://testserver/air",
        "AIRFLOW_API_APPS": "core",
    }
    return f"{preamble}\n{code}", env


@pytest.fixture(scope="module", params=["simple", "fab"])
def asked(
    airflow_env: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Asked:
    """All requests of all roles, in one process."""
    by_fab = request.param == "fab"
    code, env = code_of(tmp_path_factory.mktemp("rights"), MATRIX)
    (said,) = told(f"BY_FAB = {by_fab}\n{code}", {**airflow_env, **env})
    return Asked(json.loads(said), MAY if by_fab else SIMPLE)


@pytest.mark.parametrize("what", [what for what in MAY if what in API or what == "judge a finding"])
def test_each_role_may_do_what_the_matrix_says_and_nothing_else(asked: Asked, what: str) -> None:
    """By Airflow's API and by the page's one form; nobody may do anything without a login."""
    assert asked.differing(what) == {}


def test_every_route_of_the_page_is_for_who_may_see_results(asked: Asked) -> None:
    """Each with an address here, so that a new one has to be added; nobody sees any."""
    routes = {path for methods, path in asked.found["routes"] if "GET" in methods}
    assert routes == PAGE.keys()
    assert [path for methods, path in asked.found["routes"] if "GET" not in methods] == [JUDGE]
    for role in asked.roles:
        wanted = {401} if role == "nobody" else {200, 302}
        answers = asked.found[role]["page"]
        assert {route: one for route, one in answers.items() if one not in wanted} == {}, role


def test_the_matrix_of_the_page_on_security_is_the_one_that_is_tested() -> None:
    """Row by row, in its order."""
    page = (PROJECT / "docs" / "SECURITY.md").read_text(encoding="utf-8")
    rows = [
        f"| {what} | " + " | ".join("yes" if role in may else "" for role in ROLES) + " |"
        for what, may in MAY.items()
    ]
    assert "\n".join(rows).replace("  |", " |") in page.replace("  |", " |")
