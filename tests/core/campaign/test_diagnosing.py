"""Diagnosis trials: which are made, that they decide nothing, and that nothing of them is lost."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.campaign.deployment import TrialSetup
from benchlab.campaign.diagnosing import MOST_TRIALS, Diagnosing
from benchlab.campaign.stages import CampaignRun
from benchlab.campaign.state import TRIES
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import EngineError
from benchlab.hosts.executor import JobStatus
from benchlab.language import Said
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import Side
from benchlab.plan.spending import Spending
from benchlab.results import diagnosis, looks
from benchlab.results.diagnosis import Diagnosis, Kind, Taken
from benchlab.results.looks import Look
from benchlab.results.store import Store
from tests.builders import states
from tests.builders.benches import Bench

Make = Callable[..., "Diagnosed"]


class Killed(BaseException):
    """What SIGKILL is to a process."""


class Looking:
    """An observer whose look is the name of the trial; ``failing`` sides make it fail."""

    def __init__(self, kind: Kind, rounds: int, dies_at: int = 0) -> None:
        self.kind, self.rounds, self.dies_at = kind, rounds, dies_at
        self.seen: list[str] = []
        self.put_backs = 0
        self.failing: set[Side] = set()
        self.why_not: Said | None = None

    def lacking(self, setup: TrialSetup, side: Side) -> Said | None:
        """What the test says."""
        return self.why_not

    def setup(self, setup: TrialSetup) -> TrialSetup:
        """The usual one."""
        return setup

    def watch(self, setup: TrialSetup, trial: PlannedTrial, job: str) -> None:
        """Remember the trial, or fail, or let the process die."""
        self.seen.append(f"{trial.workload} {trial.side}")
        if len(self.seen) == self.dies_at:
            raise Killed
        if trial.side in self.failing:
            raise EngineError("the server does not answer")

    def collect(self, setup: TrialSetup, trial: PlannedTrial, job: str) -> Mapping[str, bytes]:
        """A file with the side."""
        return {"look.txt": trial.side.encode()}

    def put_back(self, setup: TrialSetup, trial: PlannedTrial) -> None:
        """Counted."""
        self.put_backs += 1

    def conclude(
        self, workload: str, taken: Sequence[Taken], read: Callable[[str], bytes]
    ) -> Mapping[str, bytes]:
        """All looks after one another."""
        return {f"{self.kind}.txt": b" ".join(read(one.objects["look.txt"]) for one in taken)}


class Diagnosed(Bench):
    """A measured campaign that is diagnosed."""

    def __init__(self, directory: Path, store: Store, **fields: Any) -> None:
        usual = {"diagnose": "always", "rounds": 3}
        super().__init__(directory, store, **{**usual, **fields})
        self.observers = [Looking("statements", 1), Looking("cpu", 2)]
        if self.plan.looks:  # all is decided after the first of them
            decided = Look(self.plan.looks[0], dict.fromkeys(self.plan.workloads, "equivalent"))
            store.add_to_environment("c1", looks.KEY, looks.as_text([decided]))
        self.sequence.measure_all()

    def lay_out(self) -> None:
        """Prepare both sides for the next deployment."""
        now = self.state.read().side("baseline").deployment
        states.prepared(self.state, deployment=now + 1)

    def program(self, job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
        """The candidate is half as fast at what it writes with an index."""
        status, output = super().program(job, command)
        if "candidate-oltp_update_index" in job:
            output = output.replace("2576   (514.33", "1288   (257.16")
        return status, output

    def diagnose(self) -> Diagnosis:
        """Its diagnosis by a new process."""
        of = StoredCampaign(self.home, self.store, self.store.campaign("c1"))
        return Diagnosing(of, self.state, self.opened(), self.observers).run()

    def kept(self) -> Diagnosis:
        """The record in the store."""
        known = diagnosis.found(self.store.campaign("c1").environment)
        assert known is not None
        return known


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes campaigns; their stores are closed at the end."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        yield lambda **fields: Diagnosed(tmp_path, store, **fields)


def test_each_look_has_both_sides_in_turn_and_decides_nothing(make: Make) -> None:
    """Every trial is recorded with what it found; the campaign's own trials stay as they were."""
    bench = make()
    before = bench.results()
    found = bench.diagnose()
    assert [(one.kind, one.round, one.side) for one in found.trials] == [
        ("statements", 1, "baseline"),
        ("statements", 1, "candidate"),
        ("cpu", 1, "baseline"),
        ("cpu", 1, "candidate"),
        ("cpu", 2, "candidate"),
        ("cpu", 2, "baseline"),
    ]
    assert found.ended
    assert found == bench.kept()
    assert bench.results() == before
    look = found.of("oltp_read_write", "cpu")[2]
    assert bench.store.read_bytes(look.objects["look.txt"]) == b"candidate"
    assert look.tps == pytest.approx(514.33)
    concluded = found.found["oltp_read_write"]["cpu.txt"]
    assert bench.store.read_bytes(concluded) == b"baseline candidate candidate baseline"


def test_data_are_restored_before_each_look(make: Make) -> None:
    """What the look before it wrote is not there any more."""
    bench = make(restore="every_trial")
    before = bench.restores()
    made = len(bench.diagnose().trials)
    assert bench.restores() == before + made == before + 6


@pytest.mark.fault(
    "a process is killed while it looks closer at what changed",
    promise="at most one look is lost, and none is made twice",
    of="processes",
)
@pytest.mark.parametrize("moment", range(1, 5))
def test_a_killed_process_loses_one_look_at_most(make: Make, moment: int) -> None:
    """The next call goes on after the last one that ended, and makes none of them again."""
    bench = make()
    bench.observers = [Looking("cpu", 2, dies_at=moment)]
    with pytest.raises(Killed):
        bench.diagnose()
    found = bench.diagnose()
    assert [(one.round, one.side) for one in found.trials] == [
        (1, "baseline"),
        (1, "candidate"),
        (2, "candidate"),
        (2, "baseline"),
    ]
    assert len(bench.observers[0].seen) == 5
    assert bench.observers[0].put_backs == 5
    assert bench.diagnose() == found
    assert len(bench.observers[0].seen) == 5, "it has ended"


def test_only_what_changed_is_looked_at(make: Make) -> None:
    """Unless the report type asks for all."""
    workloads = ["oltp_point_select", "oltp_update_index"]
    bench = make(diagnose="on_change", workloads=workloads, rounds=6)
    assert {one.workload for one in bench.diagnose().trials} == {"oltp_update_index"}


@pytest.mark.parametrize(
    "fields",
    [
        {"diagnose": "never"},
        {"diagnose": "on_change", "workloads": ["oltp_point_select"]},
        {"diagnose": "on_change", "sides": "same", "workloads": ["oltp_update_index"]},
        {"diagnose": "on_change", "slowdown_pct": 30.0, "workloads": ["oltp_update_index"]},
    ],
    ids=["never", "nothing changed", "A/A", "slowed down on purpose"],
)
def test_nothing_is_looked_at_without_need(make: Make, fields: dict[str, Any]) -> None:
    """Nothing is lacking then."""
    bench = make(rounds=6, **fields)
    found = bench.diagnose()
    assert (found.trials, found.lacking) == ((), ())


def test_the_budget_is_never_exceeded_and_measuring_has_not_stopped(make: Make) -> None:
    """What it did not pay for is named."""
    bench = make()
    paying = Spending(dollars=1.0, limit=9.0, usd_per_minute=0.1, minutes_left=600.0)
    bench.deployment.spendings = [paying, dataclasses.replace(paying, minutes_left=0.1)] * 3
    found = bench.diagnose()
    assert 1 <= len(found.trials) < 6
    assert "budget did not pay" in str(found.lacking[0].why)
    assert bench.sequence.money.stopped() is None


def test_it_takes_a_quarter_of_the_planned_time_at_most(make: Make) -> None:
    """What there was no time for is named."""
    bench = make()
    took, looks = 60 * bench.plan.minutes, {"look.txt": bench.store.write_bytes("look", b"x")}
    long = Taken("oltp_read_write", "statements", 1, "baseline", 4, took, 1.0, looks)
    known = diagnosis.as_text(Diagnosis((long,)))
    bench.store.add_to_environment("c1", diagnosis.KEY, known)
    found = bench.diagnose()
    assert found.trials == (long,)
    assert [str(one.why) for one in found.lacking] == [
        f"oltp_read_write: {kind} are missing or incomplete, as diagnosis takes at most a quarter "
        "of the planned time"
        for kind in ("statements and plans", "CPU profiles")
    ]


def test_a_look_that_fails_is_tried_again_and_then_not_repeated(make: Make) -> None:
    """The reason is kept; other looks go on, and whatever was switched on is put back."""
    bench = make()
    bench.observers[0].failing = {"baseline"}
    found = bench.diagnose()
    assert bench.observers[0].seen == ["oltp_read_write baseline"] * TRIES
    assert bench.observers[0].put_backs == TRIES
    assert "does not answer" in str(found.trials[0].why_not)
    assert [str(one.why) for one in found.lacking] == ["the server does not answer"]
    assert len(found.of("oltp_read_write", "cpu")) == 4
    assert found.ended


def test_a_fault_of_benchlab_in_it_does_not_cost_the_report(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is noted in the campaign's progress, and the campaign goes on."""
    bench = make()

    def faulty(self: Diagnosing) -> Diagnosis:
        raise KeyError("nobody thought of it")

    monkeypatch.setattr(Diagnosing, "run", faulty)
    work = CampaignRun.open(bench.home, bench.store, "c1")
    assert work.diagnose() is None
    (failed,) = [step for step in work.progress.read()[0] if step.stage == "failed"]
    assert (failed.phase, "KeyError" in failed.note) == ("diagnose", True)


def test_what_cannot_be_looked_at_is_named_once(make: Make) -> None:
    """Not once for each trial."""
    bench = make(workloads=["oltp_point_select", "oltp_read_write"])
    bench.observers[0].why_not = "this version has no such summary"
    found = bench.diagnose()
    why = "this version has no such summary"
    assert found.why_not(["statements"]) == [why]
    assert found.why_not(["statements"], "oltp_point_select") == [why]
    assert found.why_not(["cpu"]) == []
    assert {one.kind for one in found.trials} == {"cpu"}


def test_a_workload_has_24_trials_at_most(make: Make) -> None:
    """Whatever the looks would like."""
    bench = make()
    bench.observers = [Looking("statements", 3), Looking("cpu", 20)]
    assert len(bench.diagnose().trials) <= MOST_TRIALS


def test_a_campaign_that_ended_early_is_looked_at_on_its_last_deployment(make: Make) -> None:
    """With `design: release`, workloads that are decided leave before the last planned one."""
    bench = make(design="release", deployments=5, rounds=5)
    assert max(one.trial.round for one in bench.results()) == 3
    assert len(bench.diagnose().trials) == 6


def test_a_look_at_a_client_that_failed_is_none(make: Make) -> None:
    """What servers do without their client is not compared."""
    bench = make()
    bench.broken_clients = {f"r{bench.plan.rounds + 1}-candidate"}
    found = bench.diagnose()
    assert [one.side for one in found.of("oltp_read_write", "statements")] == ["baseline"]
    (failed,) = [one for one in found.trials if one.why_not is not None]
    assert (failed.side, failed.objects) == ("candidate", {})


def test_sides_that_are_not_there_any_more_are_not_deployed_again(make: Make) -> None:
    """A campaign that is resumed after its last trial says why it looked at nothing."""
    bench = make()
    bench.state.register()
    found = bench.diagnose()
    assert not found.trials
    assert [str(one.why) for one in found.lacking] == [
        "Nothing was diagnosed, as the sides were no longer deployed"
    ]
