"""SQL through the mysql provider's hook: what the mariadb client finds, and no password shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchlab.engines.mariadb import Engine
from tests import warehouses
from tests.airflow.conftest import run_python, told
from tests.machine import VERSIONS, servers

__all__ = ["servers"]

CODE = """
import json, logging, sys
from pathlib import Path

import airflow.providers.mysql.hooks.mysql
from benchlab.workloads import tpcc_consistency
from benchlab_airflow.database_hook import query_on
from tests import warehouses

# After the imports, with which Airflow sets up its own. Everything goes to where the test looks.
sys.stderr = sys.stdout
logging.basicConfig(stream=sys.stdout, level=logging.DEBUG, force=True)

say = lambda *words: print("SAID", *words)
version, servers, folder, port = json.loads(ARGUMENTS)
server = warehouses.database(version, Path(servers), Path(folder), port, PASSWORD)
through_hook = query_on(server)
"""

COMPARE = """
for how, (statement, _) in {"": ("SELECT 1", ()), **warehouses.BROKEN}.items():
    server.sql(warehouses.CREATE)
    server.sql(f"USE {warehouses.DATABASE}; {statement}")
    found = tpcc_consistency.check(through_hook)
    same = found == tpcc_consistency.check(warehouses.through_client(server))
    indexes = sorted(warehouses.indexes(server))
    say(json.dumps([how, [condition.violations for condition in found], same, indexes]))
"""

FAIL = """
try:
    server.sql(warehouses.CREATE)
    server.sql("ALTER TABLE tpcc.customer CHANGE c_balance renamed DECIMAL(12,2)")
    tpcc_consistency.check(through_hook)
except Exception as error:
    say(type(error).__name__, repr(error))
say(sorted(warehouses.indexes(server)))
for broken in ({"password": "another"}, {"port": 1}):
    import dataclasses
    other = warehouses.database(version, Path(servers), Path(folder), port, PASSWORD)
    other.instance = dataclasses.replace(other.instance, **broken)
    try:
        query_on(other)("SELECT 1")
    except Exception as error:
        say(type(error).__name__, repr(error))
"""


@pytest.fixture(scope="module", params=VERSIONS)
def server(
    request: pytest.FixtureRequest, servers: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """A server of each release."""
    folder = tmp_path_factory.mktemp("server")
    with warehouses.running(request.param, servers, folder) as found:
        yield found


def said(code: str, server: Engine, env: dict[str, str]) -> list[str]:
    """What a process that has Airflow says; its log has no password in it."""
    instance = server.instance
    where = [instance.version, str(server.servers), str(instance.directory.parent), instance.port]
    arguments = f"PASSWORD = {instance.password!r}\nARGUMENTS = {json.dumps(where)!r}\n"
    text = run_python(arguments + CODE + code, env)
    assert "Running statement: " in text, "the hook's own log is there to be looked at"
    assert instance.password not in text
    return [line.removeprefix("SAID ") for line in text.splitlines() if line.startswith("SAID ")]


def test_the_hook_finds_what_the_client_finds(server: Engine, airflow_env: dict[str, str]) -> None:
    """Each condition that holds or is broken, as often as it is; and the index is gone again."""
    found = [json.loads(line) for line in said(COMPARE, server, airflow_env)]
    wanted = {"": warehouses.CONSISTENT} | {
        how: violations for how, (_, violations) in warehouses.BROKEN.items()
    }
    assert {how: tuple(violations) for how, violations, _, _ in found} == wanted
    assert all(same for _, _, same, _ in found)
    assert {tuple(indexes) for _, _, _, indexes in found} == {("idx_h_c_w_id", "idx_h_w_id")}


def test_what_fails_names_side_and_server_and_leaves_no_index(
    server: Engine, airflow_env: dict[str, str]
) -> None:
    """A statement that is refused, an account that is, and a server that is not there."""
    statement, indexes, account, silent = said(FAIL, server, airflow_env)
    instance = server.instance
    assert statement.startswith("EngineError ")
    assert f"baseline (mariadb {instance.version})" in statement
    assert "c_balance" in statement
    assert indexes == "['idx_h_c_w_id', 'idx_h_w_id']"
    assert account.startswith("EngineError ")
    assert "Access denied" in account
    assert "another" not in account
    assert silent.startswith("EngineError ")
    assert "127.0.0.1 port 1:" in silent


GIVEN = """
from benchlab.engines.given import CLASSES
from benchlab_airflow.database_hook import query_on
say(*(query_on(of.__new__(of)) for of in CLASSES.values()))
"""


def test_a_server_that_exists_is_asked_by_the_client(airflow_env: dict[str, str]) -> None:
    """The hook knows neither its account nor its TLS."""
    assert told(GIVEN, airflow_env) == ["None None"]
