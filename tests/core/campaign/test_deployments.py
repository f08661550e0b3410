"""Several deployments of each side within a campaign: which is there when a trial is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.campaign.state import TRIES
from benchlab.errors import EngineError, LockHeldError, TryFailedError
from benchlab.hosts.executor import JobStatus
from benchlab.plan.spending import Spending
from benchlab.results.store import Store
from tests.builders import states
from tests.builders.benches import Bench


class Deployments(Bench):
    """A campaign of 3 rounds in 2 deployments: rounds 1 and 2, and round 3.

    Attributes:
        events: in order, each deployment and the name of each client that was started.
        fails: raised by the next deployments once one side is ready.
    """

    def __init__(self, directory: Path, store: Store, **fields: Any) -> None:
        super().__init__(directory, store, **{"rounds": 3, "deployments": 2, **fields})
        self.events: list[str] = []
        self.fails: list[BaseException] = []
        states.provisioned(self.state)

    def lay_out(self) -> None:
        """As the campaign's stages do it, side by side."""
        number = self.sequence.remaining.current()
        self.events.append(f"deployment {number}")
        self.sequence.remaining.abandon_cut_pairs()
        sides, state = self.plan.in_order(number), self.state
        states.prepared(state, sides, number, ["deploy", "load"])
        for side in sides:
            states.prepared(state, [side], number, ["analyze", "back up"])
            if self.fails:
                raise self.fails.pop(0)

    def program(self, job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
        """Clients are noted: ``r3 a1 on 2`` is the first attempt of a trial of round 3."""
        if job.startswith("client-"):
            name = job.removeprefix("client-")
            self.events.append(f"{name.partition('-')[0]} {name.rpartition('-')[2]}")
        return super().program(job, command)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Deployments]]:
    """Makes campaigns; their stores are closed at the end."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        yield lambda **fields: Deployments(tmp_path, store, **fields)


FIRST = ["r1 a1", "r1 a1", "r2 a1", "r2 a1"]
SECOND = ["r3 a1", "r3 a1"]


def test_every_round_is_measured_in_its_own_deployment(make: Callable[..., Deployments]) -> None:
    """Sides are deployed once for each, and its trials begin from its data, which are checked."""
    bench = make(restore="after_writes", workloads=["oltp_point_select"])
    bench.sequence.measure_all()
    assert bench.events == ["deployment 1", *FIRST, "deployment 2", *SECOND]
    assert all(result.valid for result in bench.results())
    checked = [r.trial.round for r in bench.results() if "check dataset" in r.phases]
    assert checked == [1, 1, 3, 3]
    assert bench.restores() == 4, "each deployment is restored before its first trials"


def test_invalid_pairs_are_repeated_while_their_deployment_is_there(
    make: Callable[..., Deployments],
) -> None:
    """As often as allowed; a pair that is still invalid then stays missing."""
    bench = make()
    bench.broken_clients = {"r2-candidate", "r3-candidate-oltp_read_write-t4-a1"}
    bench.sequence.measure_all()
    again = ["r2 a2", "r2 a2", "r2 a3", "r2 a3"]
    repeated = ["r3 a2", "r3 a2"]
    assert bench.events == [
        *("deployment 1", *FIRST, *again),
        *("deployment 2", *SECOND, *repeated),
    ]
    assert bench.sequence.repeats(2) == [t for t in bench.plan.trials if t.round == 3]


def test_tasks_that_wait_elsewhere_find_the_same(make: Callable[..., Deployments]) -> None:
    """The first half of a trial repeats and deploys; its own client is waited for elsewhere."""
    bench = make()
    bench.broken_clients = {"r2-candidate-oltp_read_write-t4-a1"}
    for _ in bench.plan.trials:
        begun = bench.sequence.begin_next()
        assert begun is not None
        bench.sequence.collect(begun)  # type: ignore[arg-type]  # none is given up
    again = ["r2 a2", "r2 a2"]
    assert bench.events == ["deployment 1", *FIRST, *again, "deployment 2", *SECOND]
    assert bench.sequence.begin_next() is None


def test_a_deployment_that_was_cut_off_is_made_anew(make: Callable[..., Deployments]) -> None:
    """Whether its process died in the middle of it or between two trials."""
    bench = make()
    for _ in FIRST:
        bench.sequence.measure_next()
    bench.fails = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        bench.sequence.measure_next()
    assert bench.opened().remaining.current() == 2
    bench.sequence.measure_next()
    assert bench.opened().remaining.current() == 2
    bench.sequence.measure_all()
    assert bench.events[5:] == ["deployment 2", "deployment 2", *SECOND]
    assert all(result.valid for result in bench.results())


def test_a_pair_that_was_cut_is_measured_again_in_its_deployment(
    make: Callable[..., Deployments],
) -> None:
    """A campaign that is resumed prepares the deployment that it was in."""
    bench = make()
    bench.sequence.measure_next()
    sequence = bench.opened()
    states.prepared(bench.state, stages=["deploy"])
    sequence.measure_all()
    assert bench.events == [
        *("deployment 1", FIRST[0], "deployment 1", *FIRST[1:], "r1 a2", "r1 a2"),
        *("deployment 2", *SECOND),
    ]


def test_what_was_measured_is_kept_where_sides_cannot_be_deployed_anew(
    make: Callable[..., Deployments],
) -> None:
    """After as many tries as a trial has; the reason is noted, and nothing is repeated."""
    bench = make()
    for _ in FIRST:
        bench.sequence.measure_next()
    bench.fails = [EngineError(f"no disk {number}") for number in range(TRIES)]
    for _ in range(TRIES - 1):
        with pytest.raises(TryFailedError, match="deployment 2 of 2, try"):
            bench.sequence.measure_next()
    assert bench.sequence.measure_next() is None
    assert bench.sequence.money.stopped() == "deployment"
    bench.sequence.measure_all()
    assert [r.trial.round for r in bench.results()] == [1, 1, 2, 2]
    (why,) = [step.note for step in bench.sequence.progress.read()[0] if step.phase == "stopped"]
    assert why == "deployment 2 of 2 failed 3 times: no disk 2"


def test_a_lock_that_is_held_is_no_failed_deployment(make: Callable[..., Deployments]) -> None:
    """Another process is at work: nothing is counted."""
    bench = make()
    bench.fails = [LockHeldError("held")] * (TRIES + 1)
    for _ in range(TRIES + 1):
        with pytest.raises(LockHeldError):
            bench.sequence.measure_next()
    assert bench.sequence.money.stopped() is None


@pytest.mark.fault(
    "a host is lost while a later deployment is prepared",
    promise="it is replaced, and the deployment is made once",
    of="hosts",
)
def test_hosts_that_are_lost_meanwhile_are_replaced_for_the_same_deployment(
    make: Callable[..., Deployments],
) -> None:
    """Their recovery prepares both sides, so that they are not deployed a second time."""
    bench = make()
    for _ in FIRST:
        bench.sequence.measure_next()

    def replaced() -> set[str]:
        bench.deployment.lost_hosts = {}
        bench.lay_out()
        return {"tikv-1"}

    bench.opened(replaced)
    bench.deployment.lost_hosts = {"tikv-1": "EC2 took it"}
    bench.fails = [EngineError("no answer")]
    with pytest.raises(TryFailedError):
        bench.sequence.measure_next()
    bench.sequence.measure_all()
    assert bench.events[5:] == ["deployment 2", "deployment 2", *SECOND]
    assert [one.done for one in bench.state.read().losses] == [True]


def test_a_deployment_that_cannot_be_paid_is_not_begun(make: Callable[..., Deployments]) -> None:
    """The campaign ends at the limit, with what it has."""
    bench = make()
    for _ in FIRST:
        bench.sequence.measure_next()
    bench.deployment.spendings = [Spending(59.9, 60.0, 0.5, 0.2)]
    assert bench.sequence.measure_next() is None
    assert bench.sequence.money.stopped() == "limit"
    assert "deployment 2" not in bench.events
