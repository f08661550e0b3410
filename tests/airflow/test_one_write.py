"""Requests that write to Airflow's API, where its database is SQLite."""

from __future__ import annotations

import pytest

from tests.airflow.conftest import told

# An application that says when a request comes and goes, and takes a while for it.
ASK = """
import asyncio
from benchlab_airflow.local.one_write import OneWriteAtATime

async def slow(scope, receive, send):
    say("in", scope["path"])
    await asyncio.sleep(0.05)
    say("out", scope["path"])
    if scope["path"] == "broken":
        raise ValueError("it broke")

app = OneWriteAtATime(slow)

def request(method, path):
    return app({"type": "http", "method": method, "path": path}, None, None)

async def together(*requests):
    return await asyncio.gather(*requests, return_exceptions=True)

def answered(*requests):
    say(*asyncio.run(together(*[request(*one) for one in requests])))
"""


def test_of_two_requests_that_write_one_waits_for_the_other(airflow_env: dict[str, str]) -> None:
    """In the order in which they came."""
    found = told(ASK + 'answered(("POST", "a"), ("PATCH", "b"), ("PUT", "c"))', airflow_env)
    assert found == ["in a", "out a", "in b", "out b", "in c", "out c", "None None None"]


def test_reading_waits_for_nobody(airflow_env: dict[str, str]) -> None:
    """A page is shown while something is written."""
    found = told(ASK + 'answered(("DELETE", "a"), ("GET", "b"), ("GET", "c"))', airflow_env)
    assert found[:3] == ["in a", "in b", "in c"]


def test_a_request_that_fails_keeps_no_other_waiting(airflow_env: dict[str, str]) -> None:
    """Its error goes on to whoever answers it."""
    found = told(ASK + 'answered(("POST", "broken"), ("POST", "b"))', airflow_env)
    assert found == ["in broken", "out broken", "in b", "out b", "it broke None"]


def test_what_is_no_request_goes_on(airflow_env: dict[str, str]) -> None:
    """The application's own start and end have no method."""
    code = 'say(asyncio.run(app({"type": "lifespan", "path": "start"}, None, None)))'
    assert told(ASK + code, airflow_env) == ["in start", "out start", "None"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:////tmp/airflow.db?timeout=60", "['OneWriteAtATime']"),
        ("postgresql+psycopg2://airflow@db/airflow", "[]"),
        ("mysql+mysqldb://airflow@db/airflow", "[]"),
    ],
)
def test_only_with_sqlite(url: str, expected: str, airflow_env: dict[str, str]) -> None:
    """Other databases have many writers."""
    code = """
from benchlab_airflow.local import one_write
say([entry["middleware"].__name__ for entry in one_write.middlewares()])
"""
    env = airflow_env | {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": url}
    assert told(code, env) == [expected]
