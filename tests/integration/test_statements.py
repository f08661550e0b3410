"""Statements that real servers keep: what they take, and diagnosis trials that look at them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchlab.analysis.cause.statements import Observed, compared
from benchlab.engines.mariadb import Engine
from benchlab.engines.statements import Statements
from benchlab.plan.report_type import SIDES
from benchlab.results import diagnosis
from tests import warehouses
from tests.machine import VERSIONS, Machine

MARK = "5150515051"
ROWS = 400


@pytest.fixture(scope="module", params=VERSIONS)
def server(
    request: pytest.FixtureRequest, servers: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Engine]:
    """A server of each release that keeps statements, with a table in the dataset's schema."""
    folder = tmp_path_factory.mktemp("server")
    with warehouses.running(request.param, servers, folder) as deployed:
        server = deployed.with_components(deployed.statements().items)
        assert not server.configured()
        server.stop()
        server.configure()
        server.start()
        schema = server.instance.database
        rows = ", ".join(f"({k}, {MARK})" for k in range(ROWS))
        server.sql(
            f"CREATE DATABASE IF NOT EXISTS {schema}; USE {schema};"
            "CREATE TABLE t7 (id INT AUTO_INCREMENT PRIMARY KEY, k INT, pad TEXT, KEY k_1 (k));"
            f"INSERT INTO t7 (k, pad) VALUES {rows}"
        )
        yield server


def looked_at(server: Engine) -> Statements:
    """What a small client's statements took."""
    summary = server.statements()
    summary.begin()
    asked = "".join(
        f"SELECT pad FROM t7 WHERE k = {k} AND pad = '{MARK}';"
        f"UPDATE t7 SET pad = pad WHERE id = {k};"
        for k in range(1, 21)
    )
    server.sql(f"USE {server.instance.database}; {asked}")
    found = summary.read()
    summary.end()
    return found


def test_a_dropped_index_is_seen_in_the_rows_that_its_statement_examines(server: Engine) -> None:
    """In both pairs, and in no other statement; no value of a row is in what is kept."""
    before = [looked_at(server) for _ in range(2)]
    server.sql(f"ALTER TABLE {server.instance.database}.t7 DROP INDEX k_1")
    after = [looked_at(server) for _ in range(2)]
    found = compared(
        [Observed("baseline", one, 20) for one in before]
        + [Observed("candidate", one, 20) for one in after],
        has_plans=False,
    )
    assert found is not None
    assert MARK not in repr(found)
    select, update = (
        next(one for one in found.changes if one.text.startswith(verb))
        for verb in ("SELECT", "UPDATE")
    )
    assert "`t?`" in select.text
    taken = {one.name: one for one in select.figures}
    assert taken["without_index"].sides == {"baseline": 0.0, "candidate": 1.0}
    assert taken["without_index"].stands_out
    assert taken["executions"].sides == {"baseline": 1.0, "candidate": 1.0}
    assert not any(one.stands_out for one in update.figures if one.name != "seconds")
    if server.instance.version == "10.2.11":  # there it stands still
        assert "rows_examined" not in taken
        return
    assert taken["rows_examined"].sides == {"baseline": 1.0, "candidate": ROWS}
    assert taken["rows_examined"].stands_out


def test_statements_are_looked_at_after_a_campaign_and_told_in_its_report(
    machine: Machine,
) -> None:
    """The campaign's own trials run without the performance schema; the bundle can be verified."""
    machine.run(
        *("benchlab.cli.main", "run", "sysbench_local", "--campaign", "looked"),
        *machine.settings(diagnose="always", deployments=1, seconds=2, rounds=2),
    )
    report = machine.here.reports / "looked"
    (workload,) = json.loads((report / "report.json").read_text())["workloads"]
    found = workload["statements"]
    assert found["trials"] >= 1
    assert found["measured_otherwise"]
    assert not found["has_plans"]
    assert found["changes"][0]["statement"].startswith("UPDATE `sbtest?` SET `k` = `k` + ?")
    text = (report / "report.md").read_text()
    assert "MariaDB keeps no plans" in text
    assert "performance_schema" in text
    campaign, trials = machine.outcome("looked")
    assert len(trials) == 4
    assert campaign.facts["candidate"].variables["performance_schema"] == "OFF"
    known = diagnosis.found(campaign.environment)
    assert known is not None
    assert known.ended
    assert {one.side for one in known.of("oltp_update_index", "statements")} == set(SIDES)
    verified = machine.verified("looked")
    assert verified.outcome == "holds", verified.lines()
