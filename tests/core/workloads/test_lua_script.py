"""A script of the user's own is a workload that is known by its content."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchlab.errors import SpecError
from benchlab.plan.report_type import ReportSpec
from benchlab.workloads import by_name, lua_script
from benchlab.workloads.client import Endpoint, Session
from benchlab.workloads.sysbench import Tables
from benchlab.workloads.sysbench_faults import faults
from tests.builders import plans


def spec(path: str = "mine.lua", *workloads: str) -> ReportSpec:
    """A report type that runs a script."""
    client = {"script": {"path": path}, "options": {"width": 50, "rand-spec-pct": 20}}
    return plans.spec(workloads=workloads or ("lua_writes",), client=client)


def test_a_changed_script_is_another_workload(tmp_path: Path) -> None:
    """The plan has its hash; with another content it is refused, and says why."""
    (tmp_path / "mine.lua").write_text("-- one")
    planned = lua_script.pinned(tmp_path, spec())
    assert lua_script.pinned(tmp_path, planned) == planned
    (tmp_path / "mine.lua").write_text("-- two")
    assert lua_script.pinned(tmp_path, spec()) != planned
    with pytest.raises(SpecError, match=r"client\.script\.sha256: mine\.lua has .+ was changed"):
        lua_script.pinned(tmp_path, planned)


def test_a_campaign_keeps_its_script(tmp_path: Path) -> None:
    """It can be resumed after the file was changed or deleted."""
    (tmp_path / "mine.lua").write_text("-- one")
    planned, campaign = lua_script.pinned(tmp_path, spec()), tmp_path / "c1"
    campaign.mkdir()
    lua_script.keep(tmp_path, planned, campaign)
    (tmp_path / "mine.lua").unlink()
    lua_script.keep(tmp_path, planned, campaign)
    assert lua_script.kept(planned, campaign)["script.lua"].read_text() == "-- one"
    assert lua_script.kept(plans.spec(), campaign) == {}


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("/nowhere", "it does not exist"),
        ("/dev/zero", "it is larger than 64 MB"),
        ("/", "it is a directory"),
    ],
)
def test_a_script_that_cannot_be_read_is_named(tmp_path: Path, target: str, why: str) -> None:
    """Before anything is deployed."""
    (tmp_path / "mine.lua").symlink_to(target)
    with pytest.raises(SpecError, match=rf"^client\.script\.path: \S*/mine\.lua: .* {why}"):
        lua_script.pinned(tmp_path, spec())


def test_it_runs_on_sysbench_s_tables_with_its_own_options() -> None:
    """The script lies beside the option file; tables are loaded by sysbench's own script."""
    to = Endpoint("127.0.0.1", 1, "bench", "secret", "sbtest")
    session = Session(to, "/c1/workload.cnf", Tables(tables=2, table_size=9), 4, spec().client)
    run = lua_script.run_command("lua_writes", session, seconds=5)
    assert run[:2] == ["sysbench", "/c1/script.lua"]
    for option in ("--tables=2", "--table-size=9", "--width=50", "--rand-spec-pct=20", "--time=5"):
        assert option in run
    load = lua_script.prepare_command(session)
    assert load[1] == "oltp_common"
    assert "--width=50" not in load


def test_whether_it_writes_is_said_by_its_name() -> None:
    """It decides when a snapshot is restored; one script cannot do both."""
    assert {"lua_reads"} == by_name()["lua_reads"].READ_ONLY
    assert not [*faults(spec())]
    (fault,) = faults(spec("mine.lua", "lua_reads", "lua_writes"))
    assert "the same script" in fault
    (fault,) = faults(plans.spec(workloads=["lua_reads"]))
    assert fault.startswith("client.script: missing; lua_reads runs the file")
