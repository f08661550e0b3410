"""Logins by an OpenID provider: groups become roles, who has none stays out, and logging out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.conftest import told
from tests.airflow.test_rights import code_of

LOGINS = """
import httpx
from airflow.utils.session import create_session
found = {}

def roles_of(name):
    from airflow.providers.fab.auth_manager.models import User as Kept
    with create_session() as session:
        kept = session.query(Kept).filter_by(username=name).one_or_none()
        return kept and sorted(role.name for role in kept.roles)

def answered(answer):
    return {"status": answer.status_code, "to": answer.headers.get("location"),
        "cookies": answer.headers.get_list("set-cookie")}

with provider() as server:
    client = client_of_app()
    def overview():
        return client.get("/air/benchmarks/").status_code
    begun, back = log_in(client, "user")
    found["begun"], found["back"] = answered(begun), answered(back)
    found["in"], found["roles"] = overview(), roles_of("user")
    taken = dict(client.cookies)
    out = client.get("/air/api/v2/auth/logout")
    found["out"] = answered(client.get(out.headers["location"]))
    found["after"] = overview()
    found["after with the old token"] = client.get(
        "/air/benchmarks/", headers={"Authorization": "Bearer " + taken["_token"]}).status_code

    _, back = log_in(client, "stranger")
    found["stranger"], found["kept of a stranger"] = answered(back), roles_of("stranger")
    found["a stranger's page"] = overview()

    # Their groups change at the provider; then they have none of those that count.
    def moves(groups):
        claims = {"preferred_username": "user", "teams": groups}
        issuer = f"http://localhost:{server.server_port}"
        httpx.put(issuer + "/users/user", json=claims).raise_for_status()
        return log_in(client, "user")[1]
    moves(["Viewers", "Approvers", "others"])
    found["moved"] = roles_of("user")
    found["left"] = answered(moves(["others"]))
    found["a leaver's page"] = overview()
    found["one text"] = answered(moves("Admins"))

    moves(["Users"])
    from airflow.providers.fab.auth_manager.models import User as Kept
    found["active"] = overview()
    for active in (False, True):
        with create_session() as session:
            session.query(Kept).filter_by(username="user").one().active = active
        found.setdefault("deactivated", overview())

    # Somebody who has a password of Airflow's own, and who guesses one.
    client.cookies.clear()
    for name, password in (("user", "guess"), ("user", "")):
        token = client.post("/air/auth/token", json={"username": name, "password": password})
        found["password " + password] = token.status_code

    # Behind a proxy that speaks TLS.
    FORWARDED.update({"x-forwarded-proto": "https"})
    moves(["Users"])
    client.cookies.clear()
    begun, back = log_in(client, "user")
    found["begun by TLS"], found["back by TLS"] = answered(begun), answered(back)
say(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(airflow_env: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was answered to a person who logs in and out, and to others."""
    code, env = code_of(tmp_path_factory.mktemp("logins"), LOGINS)
    (said,) = told(code, {**airflow_env, **env})
    return dict(json.loads(said))


def test_a_person_logs_in_and_comes_back_to_the_page(found: dict[str, Any]) -> None:
    """With a code, PKCE, state and nonce; the cookies are for Airflow's path alone."""
    asked = found["begun"]["to"]
    for part in ("response_type=code", "code_challenge_method=S256", "&state=", "&nonce="):
        assert part in asked
    assert found["back"]["to"] == "http://testserver/air/benchmarks/history/"
    assert found["in"] == 200
    assert found["roles"] == ["Public", "User"]
    for cookie in found["back"]["cookies"]:
        assert "HttpOnly" in cookie
        assert "Path=/air/" in cookie


def test_logging_out_ends_the_login(found: dict[str, Any]) -> None:
    """The cookies go, and a token that somebody copied is refused."""
    assert found["out"]["to"] == "http://testserver/air/auth/login/"
    assert found["after"] == 401
    assert found["after with the old token"] in (401, 403)


def test_who_has_no_group_with_a_role_does_not_get_in(found: dict[str, Any]) -> None:
    """No record is made of them."""
    assert found["stranger"]["to"] == "http://testserver/air/auth/login/"
    assert not any("_token=ey" in cookie for cookie in found["stranger"]["cookies"])
    assert found["kept of a stranger"] is None
    assert found["a stranger's page"] == 401


def test_roles_are_those_of_the_groups_at_each_login(found: dict[str, Any]) -> None:
    """Who has left all groups does not get in again; a claim that is no list gives nothing."""
    assert found["moved"] == ["Approver", "Public", "Viewer"]
    for who in ("left", "one text"):
        assert found[who]["to"] == "http://testserver/air/auth/login/"
    assert found["a leaver's page"] == 401


def test_who_is_deactivated_is_out(found: dict[str, Any]) -> None:
    """With the login that they have; here without the 30 seconds for which FAB knows a person."""
    assert found["active"] == 200
    assert found["deactivated"] in (401, 403)


def test_a_person_of_the_provider_has_no_password_here(found: dict[str, Any]) -> None:
    """Neither a guess nor an empty one gives a token."""
    assert found["password guess"] in (400, 401)
    assert found["password "] in (400, 401)


def test_behind_a_proxy_with_tls_addresses_and_cookies_are_for_https(
    found: dict[str, Any],
) -> None:
    """Where FAB is told to believe the proxy."""
    assert (
        "redirect_uri=https%3A%2F%2Ftestserver%2Fair%2Fauth%2Foauth-authorized%2Fsso"
        in (found["begun by TLS"]["to"])
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"ROLES": "{}", "CLIENT_SECRET": "x"}, "BENCHLAB_LOGIN_CLIENT_ID is not set"),
        (
            {"ROLES": "{}", "CLIENT_ID": "x", "CLIENT_SECRET_FILE": "/nowhere"},
            "BENCHLAB_LOGIN_CLIENT_SECRET_FILE: /nowhere: cannot be read",
        ),
        ({"CLIENT_ID": "x", "CLIENT_SECRET": "x"}, "BENCHLAB_LOGIN_ROLES is not set"),
        ({"ROLES": '{"leads": "Admin"}'}, "BENCHLAB_LOGIN_ROLES is"),
        ({"ROLES": "leads=Admin"}, "BENCHLAB_LOGIN_ROLES is"),
    ],
    ids=["no client", "no file", "no roles", "roles are no list", "not JSON"],
)
def test_settings_that_are_wrong_stop_the_server_with_a_sentence(
    airflow_env: dict[str, str], settings: dict[str, str], said: str
) -> None:
    """It names the setting; nobody is let in by half a configuration."""
    env = {f"BENCHLAB_LOGIN_{name}": value for name, value in settings.items()}
    code = """
from benchlab.errors import SpecError
try:
    import benchlab_airflow.logins
except SpecError as error:
    say(error)
"""
    (sentence,) = told(code, {**airflow_env, "BENCHLAB_LOGIN_ISSUER": "http://localhost", **env})
    assert sentence.startswith(said)


def test_the_secret_of_the_client_may_be_a_file(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Without the newline at its end; the other variable is not needed then."""
    file = tmp_path / "secret"
    file.write_text("s3cret\n")
    code = "from benchlab_airflow import logins\nsay(repr(logins.setting('CLIENT_SECRET')))"
    env = {**airflow_env, "BENCHLAB_LOGIN_CLIENT_SECRET_FILE": str(file)}
    assert told(code, env) == ["'s3cret'"]
