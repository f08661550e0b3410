"""How a campaign fills its sides: at once, one after another, or from what one side loaded."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.campaign.stages import CampaignRun
from benchlab.errors import CommandError, EngineError, TargetError, UnreachableError
from benchlab.home import Home
from benchlab.language import Message, message
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.report_type import SIDES, Side
from benchlab.results import ended_servers
from benchlab.results.store import Store
from benchlab.targets.dataset_snapshots import Source
from tests.builders import campaigns, fakes, plans, states

PROJECT = Path(__file__).parents[3]
PORTS = {"13390": "baseline", "13490": "candidate"}
LIMIT_S = 20


class Fleet(fakes.FakeDeployment):
    """Two deployed sides, and what can be done with their datasets.

    Attributes:
        decided: where datasets come from.
        to_load: what the client has to load.
        broken: raised instead of saving a dataset.
    """

    load_threads = 64
    decided: Source = "load"
    to_load: tuple[Side, ...] = SIDES
    broken: Exception | None = None
    interrupted = False

    @property
    def datasets(self) -> Fleet:
        """See :class:`benchlab.targets.dataset_snapshots.KeptDatasets`."""
        return self

    def source(self) -> Source:
        """As the test says."""
        return self.decided

    def sides_to_load(self) -> Sequence[Side]:
        """As the test says."""
        return self.to_load

    def save(self, side: Side) -> None:
        """Logged."""
        if self.broken is not None:
            raise self.broken
        self.executor.log.append(f"save {side}")

    def load_instead(self) -> None:
        """The client loads."""
        self.decided = "load"

    def restore(self, side: Side) -> None:
        """Logged; a side that the client loaded is deployed anew."""
        if f"save {side}" in self.executor.log:
            self.engines[side].deploy()
        self.executor.log.append(f"restore from S3 {side}")

    def keep(self, side: Side, checksum: str) -> str | None:
        """Not in the way."""

    def interrupt(self) -> None:
        """Noted."""
        self.interrupted = True


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(f"sqlite:///{tmp_path / 'results.db'}", UPath(tmp_path / "objects")) as found:
        yield found


def campaign(
    store: Store,
    folder: Path,
    answer: Callable[[Sequence[str], str], str],
    *,
    together: bool = True,
) -> tuple[CampaignRun, Fleet]:
    """A campaign whose sides are deployed, and its fleet; ``answer`` is what a load prints."""
    record = campaigns.campaign(plans.spec(dataset={"tables": 1, "table_size": 1}))
    can = Capabilities(topology="ec2", rents=together)
    record = replace(record, plan=replace(record.plan, can=can))
    store.add_campaign(record)
    fleet = Fleet(record.plan, fakes.FakeExecutor(answer))
    target: Any = fleet  # has what a load asks a target for
    work = CampaignRun(Home(PROJECT, folder), store, record, target=target)
    states.provisioned(work.state)
    states.prepared(work.state, stages=["deploy"])
    for engine in fleet.engines.values():
        vars(engine)["row_count"] = lambda table: 1
        vars(engine)["backup"] = engine.stop
    return work, fleet


def loads(fleet: Fleet) -> list[dict[str, str]]:
    """The options of every client that loaded."""
    return [
        dict(word[2:].split("=", 1) for word in command if word.startswith("--") and "=" in word)
        for command in fleet.executor.commands
        if command[-1] == "prepare"
    ]


def test_both_sides_are_loaded_at_the_same_time(store: Store, tmp_path: Path) -> None:
    """Each through a load balancer of its own, and with its share of the threads."""
    met = threading.Barrier(2)

    def answer(command: Sequence[str], stdin: str) -> str:
        met.wait(LIMIT_S)  # broken if the other side is not being loaded
        return ""

    work, fleet = campaign(store, tmp_path, answer)
    work.deployments.load(*SIDES)
    assert {PORTS[options["mysql-port"]] for options in loads(fleet)} == {*SIDES}
    assert not fleet.interrupted


def test_where_hosts_are_shared_one_side_is_loaded_after_the_other(
    store: Store, tmp_path: Path
) -> None:
    """The first one is stopped before: two running clusters may need more than there is."""
    work, fleet = campaign(store, tmp_path, lambda command, stdin: "", together=False)
    work.deployments.load(*SIDES)
    acts = [entry for entry in fleet.executor.log if "sql" not in entry and "put" not in entry]
    first = acts.index("run sysbench")
    assert acts.index("stop server-baseline") > first
    assert acts.index("start server-candidate") > acts.index("stop server-baseline")
    assert [options["mysql-port"] for options in loads(fleet)] == ["13390", "13390"]


def test_a_load_that_fails_ends_the_other_one(store: Store, tmp_path: Path) -> None:
    """Its error is the one that is reported, not that of the client that was ended."""
    ended = threading.Event()

    def answer(command: Sequence[str], stdin: str) -> str:
        if "--mysql-port=13390" in command:
            raise CommandError("fake", "sysbench", 1, "table is full")
        assert ended.wait(LIMIT_S)
        raise CommandError("fake", "sysbench", 143, "ended")

    work, fleet = campaign(store, tmp_path, answer)
    vars(fleet)["interrupt"] = ended.set
    with pytest.raises(CommandError, match="table is full"):
        work.deployments.load(*SIDES)


@pytest.mark.fault(
    "a load ends without an error and without all its rows",
    promise="side, table and both numbers are named, and nothing is measured",
    of="servers",
)
def test_rows_that_are_missing_after_a_load_are_named(store: Store, tmp_path: Path) -> None:
    """By side, table and both numbers."""
    work, fleet = campaign(store, tmp_path, lambda command, stdin: "")
    vars(fleet.engines["candidate"])["row_count"] = lambda table: 0
    with pytest.raises(TargetError, match=r"candidate: sbtest1 holds 0 rows .*, expected 1"):
        work.deployments.load(*SIDES)


def test_a_dataset_that_is_not_kept_yet_is_loaded_once_and_restored_twice(
    store: Store, tmp_path: Path
) -> None:
    """Both sides then have the same rows in the same layout. A side that is deployed anew lost its
    load balancer's configuration.
    """
    work, fleet = campaign(store, tmp_path, lambda command, stdin: "")
    fleet.decided, fleet.to_load = "new snapshot", ("baseline",)
    work.deployments.load(*SIDES)
    acts = [
        entry for entry in fleet.executor.log if entry.startswith(("run sys", "save", "rest", "co"))
    ]
    restored = [
        act for side in SIDES for act in (f"restore from S3 {side}", f"configure balancer {side}")
    ]
    assert acts == ["run sysbench", "save baseline", *restored]


def test_a_dataset_that_cannot_be_kept_is_loaded_on_the_other_side_as_well(
    store: Store, tmp_path: Path
) -> None:
    """Not one side restored and the other one loaded; the report says what was done."""
    work, fleet = campaign(store, tmp_path, lambda command, stdin: "")
    fleet.decided, fleet.to_load = "new snapshot", ("baseline",)
    fleet.broken = EngineError("no such bucket")
    work.deployments.load(*SIDES)
    assert len(loads(fleet)) == 2
    assert "restore from S3" not in " ".join(fleet.executor.log)
    assert store.campaign(work.campaign.id).environment["dataset"] == "load"
    notes = [step.note for step in work.progress.read()[0]]
    assert "the dataset cannot be kept: no such bucket" in notes


def dies(fleet: Fleet, side: Side) -> list[str]:
    """A server of a side ends in its load and runs again; returns what the side is asked to do."""
    how = message("ended-again", at="2026-11-26 18:53:04 UTC", again="2026-11-26 18:53:19 UTC")
    said, acts = list[Message](), list[str]()
    answer, port = fleet.executor.answer, {side: port for port, side in PORTS.items()}[side]

    def load(command: Sequence[str], stdin: str) -> str:
        if f"--mysql-port={port}" in command:
            said.append(ended_servers.ended("tikv", "kv-1", how, ["[INFO] last"]))
        return answer(command, stdin)

    def go_on() -> None:
        acts.append("went on")
        said.clear()

    fleet.executor.answer = load
    vars(fleet.engines[side]).update(ended_servers=lambda: [*said], go_on=go_on)
    return acts


def test_a_server_that_ended_in_the_load_is_said_and_the_time_not_learned(
    store: Store, tmp_path: Path
) -> None:
    """Where all rows are there the campaign goes on; its progress and report say which server."""
    work, fleet = campaign(store, tmp_path, lambda command, stdin: "")
    acts = dies(fleet, "candidate")
    work.deployments.load(*SIDES)
    assert acts == ["went on"]
    assert store.step_times("local", "mariadb") == []
    (noted,) = (step for step in work.progress.read()[0] if step.note.startswith("tikv"))
    assert noted.phase == "load candidate"
    told = (
        "load (candidate): tikv on kv-1 ended at 2026-11-26 18:53:04 UTC and was started again by "
        "systemd at 2026-11-26 18:53:19 UTC; the last lines of its log: [INFO] last"
    )
    environment = store.campaign(work.campaign.id).environment
    assert list(map(str, ended_servers.noted(environment))) == [told]
    work.deployments.analyze("candidate")
    assert store.campaign(work.campaign.id).environment == environment, "said once"
    assert [time.step for _, time in store.step_times("local", "mariadb")] == ["analyze"]


@pytest.mark.fault(
    "a server ends while the client loads",
    promise="the server is named beside the client's error",
    of="servers",
)
def test_a_load_that_fails_names_the_server_that_ended(store: Store, tmp_path: Path) -> None:
    """Beside the client's error, which is only what follows from it."""

    def answer(command: Sequence[str], stdin: str) -> str:
        raise CommandError("fake", "sysbench", 1, "Region is unavailable")

    work, fleet = campaign(store, tmp_path, answer)
    dies(fleet, "baseline")
    with pytest.raises(CommandError, match="Region is unavailable") as caught:
        work.deployments.load(*SIDES)
    (note,) = caught.value.__notes__
    assert note.startswith(
        "baseline: tikv on kv-1 ended at 2026-11-26 18:53:04 UTC and was started"
    )


def test_servers_that_ended_and_do_not_run_again_are_named(store: Store, tmp_path: Path) -> None:
    """As notes of why they do not, which alone would not say that they had ended before."""
    work, fleet = campaign(store, tmp_path, lambda command, stdin: "")
    dies(fleet, "candidate")

    def stays() -> None:
        raise EngineError("not up in time: tikv on kv-1")

    vars(fleet.engines["candidate"])["go_on"] = stays
    with pytest.raises(EngineError, match="not up in time") as caught:
        work.deployments.load(*SIDES)
    (note,) = caught.value.__notes__
    assert note.startswith("candidate: tikv on kv-1 ended at 2026-11-26 18:53:04 UTC")


def test_a_lost_link_does_not_change_how_datasets_are_made(store: Store, tmp_path: Path) -> None:
    """The stage is tried again."""
    work, fleet = campaign(store, tmp_path, lambda command, stdin: "")
    fleet.decided, fleet.to_load = "new snapshot", ("baseline",)
    fleet.broken = UnreachableError("fake", "link down")
    with pytest.raises(UnreachableError):
        work.deployments.load(*SIDES)
    assert fleet.decided == "new snapshot"


@pytest.mark.parametrize(
    ("together", "source", "starts"),
    [(False, "load", 2), (True, "load", 4), (True, "new snapshot", 5), (True, "snapshot", 4)],
)
def test_a_side_is_started_no_more_often_than_it_has_to_be(
    store: Store, tmp_path: Path, together: bool, source: Source, starts: int
) -> None:
    """Once where only one may run. Rented hosts: once when both are deployed, before an hour of
    loading, and once more for what follows; a side that saved its dataset is deployed anew.
    """
    work, fleet = campaign(store, tmp_path, lambda command, stdin: "", together=together)
    fleet.decided, fleet.to_load = source, (*SIDES,) if source == "load" else ()
    if source == "new snapshot":
        fleet.to_load = ("baseline",)
    work.deployments.prepare()
    started = [entry for entry in fleet.executor.log if entry.startswith("start server-")]
    assert len(started) == starts


@pytest.mark.parametrize("together", [True, False])
def test_only_one_side_runs_at_a_time_except_while_both_are_loaded(
    store: Store, tmp_path: Path, together: bool
) -> None:
    """Two storage servers on a host, each with a cache of 45 % of it, need more than it has."""
    running: set[str] = set()

    def answer(command: Sequence[str], stdin: str) -> str:
        running.add(",".join(sorted(side for side in SIDES if fleet.engines[side].running())))
        return ""

    work, fleet = campaign(store, tmp_path, answer, together=together)
    for side in SIDES:
        work.deployments.deploy(side)
    running.clear()
    work.deployments.load(*SIDES)
    assert ("baseline,candidate" in running) == together
    running.clear()
    for side in SIDES:
        work.deployments.analyze(side)
        work.deployments.check(side, "load")
        work.deployments.back_up(side)
    assert running <= {"", *SIDES}
