"""Owned hosts are refused before anything is deployed where their disks are too small."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchlab.campaign import report_types
from benchlab.errors import LockHeldError, TargetError
from benchlab.home import Home, find
from benchlab.hosts.access import Access
from benchlab.hosts.executor import LocalExecutor
from benchlab.hosts.fleet import Fleet, FleetHost, Role
from benchlab.hosts.lock import MachineLock
from benchlab.targets import fleet_files, owned
from benchlab.targets.owned import LOCK, Target, lock_of
from tests.builders import fakes, plans

GIB = 2**30
TINY = {"dataset": {"tables": 1, "table_size": 1000}}


def checked(
    folder: Path,
    role: Role,
    capacity: float,
    free: float,
    own: float = 0,
    reserve: str = "5GiB",
    sides: str = "different",
) -> None:
    """The preflight of one host whose disk has so many GiB."""
    spec = report_types.load(find().configs / "reports" / "sysbench_hosts.yaml")
    engines = spec.model_dump()["engines"]
    if sides == "single":
        engines["tidb"]["candidate"] = None
    engines["tidb"]["components"] = {"tikv": {"storage.reserve-space": reserve}}
    spec = spec.with_overrides({**TINY, "engines": engines, "sides": sides})
    home = Home(find().project, folder)
    plan = plans.plan_in(home, spec, "tidb", "c1")
    target = Target(home, "c1", plan, spec, Access())

    def answer(command: Sequence[str], stdin: str) -> str:
        told = " ".join(str(int(gib * GIB)) for gib in (capacity, free, own))
        asked = " ".join(command)
        return told if "df --output" in asked else "1000000" if "ulimit" in asked else ""

    host = FleetHost("h1", (role,), "10.0.0.1", "", "admin", "", Path("/data"))
    target.fleet = Fleet((host,))
    target._executors = {"h1": fakes.FakeExecutor(answer)}
    target.preflight()


def test_a_disk_has_room_for_what_tikv_keeps_free(tmp_path: Path) -> None:
    """Else TiKV starts and refuses to write, and TiDB on another host never answers."""
    with pytest.raises(TargetError, match=r"/data: .* need about 11\.\d GiB, 1\.2 GiB are free"):
        checked(tmp_path, "tikv", capacity=40, free=1.2)
    checked(tmp_path, "tikv", capacity=40, free=12)
    with pytest.raises(TargetError, match=r"at least 5% of the disk\) .* about 74\.\d GiB"):
        checked(tmp_path, "tikv", capacity=1000, free=12)
    checked(tmp_path, "tikv", capacity=1000, free=75)


def test_a_smaller_reserve_counts(tmp_path: Path) -> None:
    """As configured, but never less than 5 % of the disk, as TiKV has it; without one, nothing."""
    checked(tmp_path, "tikv", 10, 5, reserve="64MiB")
    with pytest.raises(TargetError, match="need about 4"):
        checked(tmp_path, "tikv", 10, 4.5, reserve="64MiB")
    checked(tmp_path, "tikv", 1000, 5, reserve="0KB")


def test_every_server_has_room_for_programs_and_a_resumed_campaign_has_its_own(
    tmp_path: Path,
) -> None:
    """What the campaign has on the disk already is not asked for again."""
    with pytest.raises(
        TargetError, match=r"programs and logs of both clusters need about 2\.0 GiB, 1\.0 GiB are"
    ):
        checked(tmp_path, "tidb", 10, 1)
    with pytest.raises(TargetError, match="logs of the cluster need about 1"):
        checked(tmp_path, "tidb", 10, 0.5, sides="single")
    checked(tmp_path, "tidb", 10, 2)
    checked(tmp_path, "client", 10, 0.5)  # nothing of a cluster is kept there
    checked(tmp_path, "tikv", capacity=40, free=8, own=4)


def test_a_campaign_of_this_machine_whose_process_lives_keeps_its_hosts(tmp_path: Path) -> None:
    """Its lease runs out while the machine is suspended; once its process is gone, it counts."""
    host = FleetHost("h1", ("client",), "10.0.0.1", "", "admin", "", tmp_path)
    (tmp_path / LOCK).parent.mkdir()
    home = Home(tmp_path, tmp_path / "home")
    lock = lock_of(LocalExecutor(tmp_path, "c2"), Fleet((host,)), home.campaign("c2"))
    home.campaign("c1").mkdir(parents=True)
    driver = MachineLock(home.campaign("c1") / fleet_files.DRIVER_LOCK)
    driver.acquire("c1", "benchlab run", home.root, os.getpid())
    lock.acquire("c1", "benchlab run", -1)
    with pytest.raises(LockHeldError, match="held by campaign c1"):
        lock.check("c2")
    with pytest.raises(LockHeldError, match="held by campaign c1"):
        lock.acquire("c2", "benchlab run")
    driver.release("c1")
    displaced = lock.acquire("c2", "benchlab run")
    assert displaced is not None
    assert displaced.campaign == "c1"


@pytest.mark.parametrize("held", [False, True])
def test_nothing_is_removed_where_it_is_not_known_whose_the_hosts_are(
    held: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another home's campaign of the same id may hold them, unless this one has held their lock."""
    host = FleetHost("h1", ("client",), "10.0.0.1", "", "admin", "", tmp_path)
    home = Home(tmp_path, tmp_path / "home")
    state = home.campaign("c1")
    fleet_files.private_key(state)
    fleet_files.write(state / fleet_files.FLEET_FILE, json.dumps(Fleet((host,)).to_json()))
    fleet_files.opened(state).touch()
    cleaned: list[str] = []

    def silent(*_: object) -> None:
        raise TargetError("h1: no answer")

    def clean(fleet: Fleet, key: str, campaign: str) -> list[str]:
        cleaned.append(campaign)
        return []

    monkeypatch.setattr(fleet_files, "open_host", silent)
    monkeypatch.setattr(owned, "clean", clean)
    if held:
        target = Target(home, "c1", plans.plan(), plans.spec(), Access())
        target.fleet = Fleet((host,))
        target._executors = {"h1": LocalExecutor(tmp_path, "c1")}
        (tmp_path / LOCK).parent.mkdir()
        target._take("test")
    said = "give the lock back: h1: no answer" if held else "another home's .* h1: no answer"
    with pytest.raises(TargetError, match=said):
        owned.give_back(state, Access())
    assert cleaned == ["c1"] * held
