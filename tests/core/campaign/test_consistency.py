"""Whether a dataset is consistent: when it is checked, what is stored, how the run ends."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.campaign.stages import CampaignRun
from benchlab.errors import EngineError, NotMeasuredError, TargetError
from benchlab.home import Home
from benchlab.plan.report_type import SIDES, Side
from benchlab.report.publish.destinations import PublicationRecord
from benchlab.results.records import Condition, Moment
from benchlab.results.store import Store
from benchlab.workloads.tpcc_consistency import (
    AT_ONCE,
    CREATE_INDEX,
    CUSTOMERS_CHECKED_UP_TO,
    DROP_INDEX,
    check,
    ranges,
)
from tests.builders import campaigns, fakes, plans, states

PROJECT = Path(__file__).parents[3]
TPCC: dict[str, Any] = {"workloads": ["tpcc"], "dataset": {"warehouses": 2}}
CLAUSES = ("3.3.2.1", "3.3.2.2", "3.3.2.3", "3.3.2.4")


class Server:
    """Answers the statements of a check with a number of warehouses, and violations by keyword.

    Attributes:
        asked: the statements, in order.
    """

    def __init__(self, warehouses: int = 2, **violations: int) -> None:
        self.warehouses, self.violations = warehouses, violations
        self.asked: list[str] = []
        self.broken_at: str | None = None

    def query(self, statement: str) -> Sequence[Sequence[object]]:
        """Answer one statement."""
        self.asked.append(statement)
        if self.broken_at is not None and self.broken_at in statement:
            raise EngineError("the server is gone")
        if statement.startswith(("CREATE", "ALTER")):
            return []
        if statement == "SELECT COUNT(*) FROM warehouse":
            return [[self.warehouses]]
        return [[sum(n for word, n in self.violations.items() if word in statement)]]


# ---------------------------------------------------------------- the conditions


def test_customers_are_checked_with_an_index_and_only_in_small_datasets() -> None:
    """For thousands of warehouses it would take hours; then no index is created."""
    small, large = (Server(CUSTOMERS_CHECKED_UP_TO + more) for more in (0, 1))
    assert [found.clause for found in check(small.query)] == [*CLAUSES, "3.3.2.10"]
    (asked,) = [sql for sql in small.asked if "c_balance" in sql]
    at = small.asked.index(asked)
    assert small.asked[at - 2 : at + 2] == [DROP_INDEX, CREATE_INDEX, asked, DROP_INDEX]
    assert tuple(found.clause for found in check(large.query)) == CLAUSES
    assert not [sql for sql in large.asked if "history" in sql]


def test_many_warehouses_are_checked_in_ranges_and_none_is_left_out() -> None:
    """Several statements at once; violations in any range count, also of warehouses beyond."""
    parts = ranges(5000, AT_ONCE)
    bounds = [tuple(map(int, re.findall(r"-?\d+", part))) for part in parts]
    assert (bounds[0][0], bounds[-1][1]) == (-(2**31), 2**31 - 1)
    assert all(last + 1 == first for (_, last), (first, _) in pairwise(bounds))
    met = threading.Barrier(AT_ONCE)

    def query(statement: str) -> Sequence[Sequence[object]]:
        if statement == "SELECT COUNT(*) FROM warehouse":
            return [[5000]]
        met.wait(20)  # broken if fewer statements run at once
        return [[1 if "BETWEEN 4376" in statement and "order_line" in statement else 0]]

    found = {condition.clause: condition.violations for condition in check(query)}
    assert found == {"3.3.2.1": 0, "3.3.2.2": 0, "3.3.2.3": 0, "3.3.2.4": 1}


def test_the_index_is_dropped_even_if_the_check_fails() -> None:
    """The first failure is raised, whatever happens to the index."""
    server = Server()
    server.broken_at = "c_balance"
    with pytest.raises(EngineError, match="the server is gone"):
        check(server.query)
    assert server.asked[-1] == DROP_INDEX


def test_a_fault_names_clause_sentence_and_number() -> None:
    """A condition that holds has no fault."""
    found = check(Server(w_ytd=3).query)
    (fault,) = [str(met.fault) for met in found if met.violations]
    assert fault.startswith("condition 3.3.2.1 of TPC-C does not hold: in every warehouse W_YTD")
    assert fault.endswith("(3 violations)")
    (once,) = [str(met.fault) for met in check(Server(w_ytd=1).query) if met.violations]
    assert once.endswith("(1 violation)")
    assert not [met for met in check(Server().query) if met.violations]


# ---------------------------------------------------------------- a campaign's checks


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(f"sqlite:///{tmp_path / 'results.db'}", UPath(tmp_path / "objects")) as found:
        yield found


def campaign(store: Store, tmp_path: Path, **fields: Any) -> CampaignRun:
    """A campaign with deployed, loaded and analyzed sides, and only valid trials."""
    record = campaigns.campaign(plans.spec(**{**TPCC, **fields}))
    store.add_campaign(record)
    for result in campaigns.results_of(record.plan, lambda _: 100.0):
        store.add_trial(record.id, result)
    deployment: Any = fakes.FakeDeployment(record.plan, fakes.FakeExecutor())
    work = CampaignRun(Home(PROJECT, tmp_path), store, record, target=deployment)
    work.directory.mkdir(parents=True)
    published = PublicationRecord(work.directory / "published")
    published.begin("an edition", ["files"])
    published.add("files", "report.html")
    states.provisioned(work.state)
    states.prepared(work.state)
    for side in SIDES:
        states.measured(work.state, side)
    return work


def asks(work: CampaignRun, side: Side, server: Server) -> None:
    """From now on a side's database answers as this server does."""
    vars(work.target.engine(side))["query"] = server.query


def checked(work: CampaignRun, side: Side, moment: Moment, server: Server) -> tuple[Condition, ...]:
    """What is found of a side whose database answers as this server does."""
    asks(work, side, server)
    return work.deployments.check(side, moment)


def log_of(work: CampaignRun) -> list[str]:
    """What the host was asked to do."""
    assert isinstance(work.target.executor, fakes.FakeExecutor)
    return work.target.executor.log


def test_both_moments_are_stored_with_the_other_facts_of_a_side(
    store: Store, tmp_path: Path
) -> None:
    """The result after the load is still there after the last trial."""
    work = campaign(store, tmp_path)
    before = store.campaign("c1").facts
    for side in SIDES:
        loaded = checked(work, side, "load", Server())
        states.prepared(work.state, [side], stages=["back up"])
        states.measured(work.state, side)
        ended = checked(work, side, "last trial", Server(no_o_id=1))
        wanted = dataclasses.replace(
            before[side], consistency={"load": loaded, "last trial": ended}
        )
        assert store.campaign("c1").facts[side] == wanted
    assert [found.violations for found in ended] == [0, 1, 1, 0, 0]


def test_a_side_is_checked_alone_and_on_the_data_that_it_has(store: Store, tmp_path: Path) -> None:
    """Its server is started and the other one stopped; nothing is restored."""
    work = campaign(store, tmp_path)
    work.target.engine("baseline").start()
    checked(work, "candidate", "last trial", Server())
    log = [entry for entry in log_of(work) if not entry.startswith("run")]
    assert log == ["start server-baseline", "stop server-baseline", "start server-candidate"]


def test_a_load_that_is_not_consistent_ends_the_campaign(store: Store, tmp_path: Path) -> None:
    """The error names side, clause and number, and the result is stored."""
    work = campaign(store, tmp_path)
    with pytest.raises(TargetError, match=r"candidate: .* 3\.3\.2\.4 .*\(7 viol.*load it ag"):
        checked(work, "candidate", "load", Server(order_line=7))
    (broken,) = [c for c in kept(store, "candidate", "load") if c.clause == "3.3.2.4"]
    assert broken.violations == 7


def kept(store: Store, side: Any, moment: Any) -> tuple[Condition, ...]:
    """The conditions that the store has of a side."""
    found: tuple[Condition, ...] = store.campaign("c1").facts[side].consistency[moment]
    return found


def test_a_database_that_lost_its_consistency_fails_the_run(store: Store, tmp_path: Path) -> None:
    """After the report is published; the verdict names side, clause and number."""
    work = campaign(store, tmp_path)
    checked(work, "baseline", "last trial", Server())
    checked(work, "candidate", "last trial", Server(w_ytd=2))
    with pytest.raises(NotMeasuredError) as caught:
        work.verdict()
    (said,) = [line for line in str(caught.value).splitlines() if "3.3.2" in line]
    assert said.startswith("candidate: after the last trial condition 3.3.2.1 of TPC-C does not")
    assert "baseline" not in str(caught.value)
    work.finish()
    assert store.campaign("c1").state == "failed"


def test_consistent_sides_let_the_run_succeed(store: Store, tmp_path: Path) -> None:
    """A campaign whose workload has no conditions needs none."""
    work = campaign(store, tmp_path)
    for side in SIDES:
        checked(work, side, "last trial", Server())
    work.verdict()
    work.finish()
    assert store.campaign("c1").state == "complete"


def test_a_workload_without_conditions_is_not_checked(store: Store, tmp_path: Path) -> None:
    """Nothing is asked, started or stored, and the verdict does not require it."""
    server = Server()
    sysbench: dict[str, Any] = {
        "workloads": ["oltp_update_index"],
        "dataset": {"tables": 1, "table_size": 10},
    }
    work = campaign(store, tmp_path, **sysbench)
    assert checked(work, "baseline", "load", server) == ()
    assert (server.asked, log_of(work)) == ([], [])
    assert store.campaign("c1").facts["baseline"].consistency == {}
    work.verdict()


def test_nothing_is_stored_of_a_side_that_cannot_be_asked(store: Store, tmp_path: Path) -> None:
    """The error is passed on, and without an answer the run fails."""
    work, server = campaign(store, tmp_path), Server()
    server.broken_at = "FROM new_order"
    with pytest.raises(EngineError, match="the server is gone"):
        checked(work, "baseline", "last trial", server)
    assert store.campaign("c1").facts["baseline"].consistency == {}
    with pytest.raises(NotMeasuredError, match=r"baseline: its consistency .* is not known"):
        work.verdict()


def test_the_mariadb_client_asks_in_the_schema_of_the_dataset(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs every statement in the schema of the dataset."""
    work, server = campaign(store, tmp_path), Server()
    engine = work.target.engine("baseline")
    use = f"USE {engine.instance.database}; "

    def sql(statement: str, *, timeout_s: float = 0, user: str = "") -> list[list[str]]:
        if statement == "SELECT 1":
            return [["1"]]
        assert statement.startswith(use)
        return [[str(cell) for cell in row] for row in server.query(statement.removeprefix(use))]

    monkeypatch.setattr(engine, "sql", sql)
    assert len(work.deployments.check("baseline", "load")) == 5
    assert server.asked[-1] == DROP_INDEX


def test_a_resumed_campaign_keeps_what_was_found(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sides that are deployed again have no trial's data, and say nothing about earlier ones."""
    work = campaign(store, tmp_path)
    monkeypatch.setattr(fakes.FakeEngine, "row_count", lambda self, table: 1)
    monkeypatch.setattr(fakes.FakeEngine, "checksum", lambda self, tables: "sum")
    monkeypatch.setattr(fakes.FakeEngine, "analyze", lambda self, tables: None)
    monkeypatch.setattr(fakes.FakeEngine, "facts", lambda self: campaigns.side_facts("10.11.5"))
    checked(work, "baseline", "last trial", Server())
    checked(work, "candidate", "last trial", Server(w_ytd=2))
    for side in SIDES:
        states.prepared(work.state, [side], stages=["deploy", "load"])
        work.deployments.analyze(side)
        assert checked(work, side, "last trial", Server()) == ()
    (found, *_) = kept(store, "candidate", "last trial")
    assert found.violations == 2
    with pytest.raises(NotMeasuredError, match=r"candidate: after the last trial condition 3\.3"):
        work.verdict()


def test_a_side_that_cannot_be_asked_at_the_end_does_not_stop_the_others(
    store: Store, tmp_path: Path
) -> None:
    """Nor the report; the verdict says that its consistency is not known."""
    work = campaign(store, tmp_path)

    for side in SIDES:
        server = Server()
        server.broken_at = "FROM new_order" if side == "baseline" else None
        asks(work, side, server)
    assert set(work.check_after_trials()) == {"candidate"}
    assert [c.violations for c in kept(store, "candidate", "last trial")] == [0, 0, 0, 0, 0]
    assert "last trial" not in store.campaign("c1").facts["baseline"].consistency
    with pytest.raises(NotMeasuredError) as caught:
        work.verdict()
    assert "baseline: its consistency after the last trial is not known" in str(caught.value)
    assert "candidate" not in str(caught.value)


def test_after_an_interrupted_trial_nothing_is_checked(store: Store, tmp_path: Path) -> None:
    """The data may be half a restore, which is not the server's fault."""
    work = campaign(store, tmp_path)
    work.state.to("try", "baseline", trial="next", attempt=1)
    assert checked(work, "baseline", "last trial", Server()) == ()
    assert log_of(work) == []
