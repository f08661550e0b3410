"""Statements looked at in diagnosis trials: what is stored of them, and what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.analysis.cause.statements import FILE, FORM, Compared
from benchlab.campaign.diagnosing import Diagnosing
from benchlab.campaign.statements import StatementObserver
from benchlab.campaign.stored import StoredCampaign
from benchlab.engines.tidb import statements
from benchlab.engines.tidb.statements import TiDBStatements
from benchlab.errors import CommandError
from benchlab.plan.report_type import SIDES, Side
from benchlab.results import diagnosis
from benchlab.results.diagnosis import Diagnosis
from benchlab.results.store import Store
from tests.builders.benches import Bench
from tests.builders.summaries import INSTANCE, Summary

MARKS = ("5150515051", "Marked-Row")
PLAN = (
    r"\tid\ttask\testRows\toperator info\n\tTableFullScan_3\tcop[tikv]\t1\ttable:sbtest1, eq(c, \"x"
)
Make = Callable[..., "Looked"]


class Kept(TiDBStatements):
    """The summary of a server that answers from a recording, with the files of the campaign."""

    def lacking(self, client: str) -> None:
        """Every version has one."""


class Looked(Bench):
    """A campaign whose servers keep statements with marked values in them."""

    def __init__(self, directory: Path, store: Store, **fields: Any) -> None:
        super().__init__(directory, store, **{"diagnose": "always", "rounds": 3, **fields})
        self.servers = {side: self.server(side) for side in SIDES}
        for side in SIDES:
            summary = Kept(self.servers[side], "http://127.0.0.1:10080", statements.OF_SERVER)
            self.deployment.engines[side].statements = lambda found=summary: found  # type: ignore[method-assign,misc]
        self.executor.answer = self.answer
        self.sequence.measure_all()

    def server(self, side: Side) -> Summary:
        """One side; each value of a row is marked, and the candidate's range is a full scan."""
        directory = self.deployment.engines[side].instance.directory
        found = Summary(replace(INSTANCE, side=side, directory=directory))
        sample, plan, text = map(found.columns_.index, ("query_sample_text", "plan", "digest_text"))
        for row in found.rows:
            row[sample] = row[sample].replace("1234", MARKS[0]).replace("1001", MARKS[0])
            row[plan] = row[plan].replace("1234", MARKS[0]).replace("[999,1098]", f'["{MARKS[1]}')
            if side == "candidate" and "select sum" in row[text]:
                row[plan] = rf"{PLAN} {MARKS[1]}\\n {MARKS[1]}\")"
        return found

    def answer(self, command: Sequence[str], stdin: str) -> str:
        """The files on the client's host."""
        return self.executor.files.get(Path(command[1]), "") if command[0] == "cat" else ""

    def diagnose(self) -> Diagnosis:
        """Its diagnosis by a new process."""
        of = StoredCampaign(self.home, self.store, self.store.campaign("c1"))
        return Diagnosing(of, self.state, self.opened(), [StatementObserver()]).run()

    def compared(self, found: Diagnosis) -> Compared:
        """What is concluded of its workload."""
        name = found.found["oltp_read_write"][FILE]
        return FORM.validate_json(self.store.read_bytes(name))


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes campaigns; their stores are closed at the end."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        yield lambda **fields: Looked(tmp_path, store, **fields)


def test_two_pairs_are_compared_and_the_plan_that_changed_is_shown(make: Make) -> None:
    """Per transaction of the client, by what is no part of the campaign's trials."""
    bench = make()
    found = bench.diagnose()
    assert [(one.round, one.side) for one in found.trials] == [
        *((1, "baseline"), (1, "candidate"), (2, "candidate"), (2, "baseline")),
    ]
    seen = bench.compared(found)
    assert (seen.trials, seen.has_plans, seen.otherwise) == (2, True, False)
    (changed,) = seen.plans
    assert changed.text == "select sum ( `k` ) from `sbtest?` where `id` between ? and ?"
    assert changed.plan is not None
    assert "TableFullScan" in changed.plan.new
    commit = next(one for one in seen.changes if one.text == "commit")
    executions = commit.figure("executions")
    assert executions is not None
    assert executions.sides["baseline"] == pytest.approx(200 / 2576)


def test_no_value_of_a_row_is_in_anything_that_is_stored(make: Make, tmp_path: Path) -> None:
    """Neither in an object nor in the record, whatever texts and plans had in them."""
    bench = make()
    bench.diagnose()
    kept = [path.read_bytes() for path in (tmp_path / "objects").rglob("*") if path.is_file()]
    environment = str(bench.store.campaign("c1").environment).encode()
    assert len(kept) > 5
    assert not [mark for mark in MARKS for one in (*kept, environment) if mark.encode() in one]
    assert not [mark for mark in MARKS for text in bench.executor.files.values() if mark in text]


def test_each_side_has_a_replayer_of_the_same_statements_once(make: Make) -> None:
    """Of the plan that changed; the comparison names them."""
    bench = make()
    found = bench.diagnose()
    assert [len(one.objects) > 1 for one in found.trials] == [False, True, False, True]
    changed = bench.compared(found).plans[0]
    assert [*changed.replayers] == ["candidate", "baseline"]
    for name in changed.replayers.values():
        assert name in found.objects()
        assert bench.store.read_bytes(name) == b"PK archive"
    for server in bench.servers.values():
        assert [text[:14] for text in server.replayed] == ["SELECT SUM(k) "]


def test_what_was_switched_is_put_back_also_after_a_failure(make: Make) -> None:
    """The candidate's server answers no more; the other side's figures are not called a change."""
    bench = make()
    asked = bench.servers["candidate"].sql

    def failing(statement: str, **options: Any) -> list[list[str]]:
        if "SHOW COLUMNS" in statement:
            raise CommandError("localhost", "mariadb", 1, "Lost connection")
        return asked(statement, **options)

    bench.servers["candidate"].sql = failing  # type: ignore[method-assign]
    found = bench.diagnose()
    assert [one.why_not is None for one in found.trials] == [True, False]
    assert found.found == {"oltp_read_write": {}}
    (why,) = found.why_not(["statements"])
    assert str(why).startswith("on localhost: `mariadb` ended with exit code 1")
    for server in bench.servers.values():
        assert server.variables_[statements.SWITCH] == "1"
        assert server.variables_["tidb_stmt_summary_refresh_interval"] == "1800"
    assert diagnosis.found(bench.store.campaign("c1").environment) == found
