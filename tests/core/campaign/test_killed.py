"""A campaign is killed at every transition of its state, and comes to the same end."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab import workloads
from benchlab.campaign.sequence import TrialSequence
from benchlab.campaign.stages import CampaignRun
from benchlab.campaign.state import TRANSITIONS, TRIES, Begun, RunState, StateFile
from benchlab.errors import (
    AwayError,
    NotMeasuredError,
    SpecError,
    StoreError,
    TryFailedError,
    UnreachableError,
)
from benchlab.home import Home
from benchlab.hosts.executor import JobStatus
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import Side
from benchlab.plan.spending import Quota
from benchlab.results.store import Store
from benchlab.workloads import sysbench
from tests.builders import campaigns, fakes, plans

PROJECT = Path(__file__).parents[3]
GOOD = (PROJECT / "tests/golden/sysbench/sysbench_read_write_t4.txt").read_text()
PREPARED = ["deploy", "load", "analyze", "back up"]


class Killed(BaseException):
    """What SIGKILL is to a process."""


class KilledFile(StateFile):
    """A state file whose process is killed at one transition: before it is written, then after."""

    def __init__(self, directory: Path, transition: str) -> None:
        super().__init__(directory)
        self.kills = [(transition, "before"), (transition, "after")]
        self.written: list[str] = []

    def write(self, state: RunState, transition: str) -> None:
        """Noted, unless its process is killed before."""
        self.die(transition, "before")
        super().write(state, transition)
        self.written.append(transition)
        self.die(transition, "after")

    def die(self, transition: str, moment: str) -> None:
        """Die once at each of the moments, in order."""
        if self.kills[:1] == [(transition, moment)]:
            self.kills.pop(0)
            raise Killed(f"{moment} {transition}")


class World(fakes.FakeDeployment):
    """Rented hosts that outlive every process, with all that may go wrong: links that are down at
    first, a server that ends in a load, a host that is lost in a trial, deployments that fail.

    Attributes:
        done: what was done with each side since it was deployed.
        number: of the deployment for which there is room.
        untimely: clients that were started on sides that were not prepared for them.
    """

    can = Capabilities(rents=True)
    load_threads = 16
    client_program, client_path = "sysbench", None

    def __init__(self, plan: Plan) -> None:
        executor = fakes.FakeExecutor(lambda command, stdin: "sysbench 1.0.20", self.program)
        super().__init__(plan, executor)
        self.plan, self.number = plan, 0
        self.done: dict[Side, list[str]] = {}
        self.untimely: list[str] = []
        self.ended, self.to_lose = ["tikv-1 ended"], {"tikv-1": "EC2 took it"}
        self.to_fail = {"preflight": 2, "deploy": 2}
        for side, engine in self.engines.items():
            vars(engine).update(
                deploy=partial(self.deployed, side, engine.deploy),
                create_database=partial(self.did, side, "load"),
                analyze=lambda tables, side=side: self.did(side, "analyze"),
                backup=partial(self.backed_up, side, engine.stop),
                row_count=lambda table: 10_000,
                ended_servers=lambda: [*self.ended],
                go_on=self.ended.clear,
            )

    def did(self, side: Side, what: str) -> None:
        """The engine was asked to."""
        self.done[side].append(what)

    def deployed(self, side: Side, deploy: Callable[[], None]) -> None:
        """Empty, and running."""
        deploy()
        self.done[side] = ["deploy"]

    def backed_up(self, side: Side, stop: Callable[[], None]) -> None:
        """Stopped, with a snapshot."""
        stop()
        self.did(side, "back up")

    def program(self, job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
        """Servers run; a client finds the data that its trial is planned for, and is alone."""
        if not job.startswith("client"):
            return JobStatus("running"), ""
        (trial,) = (trial for trial in self.plan.trials if f"client-{trial.id}-a" in job)
        done = [k for k, _ in itertools.groupby(self.done[trial.side])]
        if done != PREPARED or self.number != self.plan.deployment_of(trial.round):
            self.untimely.append(f"{job}: {done} in deployment {self.number}")
        if trial.round == 1 and trial.side == "candidate":
            self.lost_hosts, self.to_lose = self.to_lose, {}
        return JobStatus("complete", 0), GOOD

    def begin_deployment(self, number: int) -> None:
        """What another one left is removed."""
        if number != self.number:
            self.done.clear()
            self.number = number
        if number == 2:
            self.fail("deploy")

    def quotas(self) -> tuple[Quota, ...]:
        """Its account has none."""
        return ()

    def preflight(self) -> None:
        """The first tries fail."""
        self.fail("preflight")

    def fail(self, what: str) -> None:
        """As often as it is to."""
        if self.to_fail[what]:
            self.to_fail[what] -= 1
            raise UnreachableError("tikv-1", "the link is down")

    def provision(self, say: Callable[[str], None]) -> None:
        """Hosts that are lost are replaced by empty ones."""
        if self.lost_hosts:
            self.done.clear()
        self.lost_hosts = {}

    def environment(self) -> dict[str, str]:
        """Of hosts that may be lost at any time."""
        return {"spot_hosts": "tikv-1"}

    def give_back(self, taken: object) -> str:
        """Nothing runs any more."""
        self.executor.end_processes()
        self.done.clear()
        return "1 host"

    close = fakes.FakeDeployment.nothing


class Campaign:
    """A campaign whose every stage has a process of its own, which may be killed and repeated."""

    def __init__(self, directory: Path, store: Store, transition: str) -> None:
        self.spec = plans.spec(
            dataset={"tables": 1, "table_size": 10_000},
            workloads=["oltp_read_write"],
            threads=[4],
            seconds=5,
            rounds=2,
            deployments=2,
        )
        record = campaigns.campaign(self.spec, facts={}, environment={})
        store.add_campaign(dataclasses.replace(record, state="running", ended_at=None))
        self.home, self.store, self.plan = Home(PROJECT, directory), store, record.plan
        self.state = KilledFile(self.home.campaign("c1"), transition)
        self.world = World(record.plan)
        self.lost: Iterator[int] | None = None
        self.losses = 0

    def lose_the_store(self) -> None:
        """Let it be away for the first transaction of a stage's first try, the second of its
        second, and so on, until a try needs no more of them.
        """
        connected = self.store.database._connected

        def once() -> Any:
            if self.lost is not None and next(self.lost) == 0:
                self.losses += 1
                raise AwayError("the results store is away")
            return connected()

        vars(self.store.database)["_connected"] = once

    def opened(self) -> CampaignRun:
        """In another process."""
        target: Any = self.world
        return CampaignRun(
            self.home, self.store, self.store.campaign("c1"), target=target, state=self.state
        )

    def repeat(self, stage: Callable[[CampaignRun], object]) -> object:
        """A stage as a task that is tried again."""
        for number in itertools.count():
            self.lost = itertools.count(-number)
            try:
                return stage(self.opened())
            except (AwayError, Killed, TryFailedError, UnreachableError):
                continue
        raise AssertionError

    def stages(self) -> Iterator[Callable[[CampaignRun], object]]:
        """Those of the DAG."""
        yield CampaignRun.register
        yield CampaignRun.provision
        for side in self.plan.in_order(1):
            yield partial(_on_side, "deploy", side)
            yield partial(_on_side, "load", side)
            yield partial(_on_side, "analyze", side)
            yield partial(_on_side, "check", side, "load")
            yield partial(_on_side, "back_up", side)
        for attempt in (1, 2, 3):
            yield partial(_all, attempt)
        yield CampaignRun.check_after_trials
        yield CampaignRun.finish
        yield CampaignRun.give_back

    def run(self) -> dict[str, object]:
        """All stages; how it ends."""
        for stage in self.stages():
            self.repeat(stage)
        self.lost = None
        results = self.store.trials("c1")
        valid = {r.trial.id: r.samples for r in results if r.valid}
        record, state = self.store.campaign("c1"), self.state.read()
        return {
            "state": (record.state, state.stage),
            "sides": state.sides,
            "facts": record.facts,
            "valid": valid,
            "missing": [t.id for t in self.plan.trials if t.id not in valid],
            "pairs": {r.trial.pair: r.attempt for r in results if r.valid and r.trial.round == 2},
            "untimely": self.world.untimely,
            "running": [
                j for j, (s, _) in self.world.executor.jobs.items() if s.state == "running"
            ],
        }


def _on_side(stage: str, *of: Any) -> object:
    *arguments, work = of
    return getattr(work.deployments, stage)(*arguments)


def _all(attempt: int, work: CampaignRun) -> None:
    while work.sequence.measure_next(attempt) is not None:
        pass


@pytest.fixture(autouse=True, scope="module")
def conditions() -> Iterator[None]:
    """The workload has conditions to be checked, none in particular."""
    workloads.by_name()  # gives it what it leaves to the defaults
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sysbench, "CONSISTENCY", lambda query: ())
        yield


@contextlib.contextmanager
def killed_at(transition: str, directory: Path) -> Iterator[Campaign]:
    """A campaign that is killed at a transition, with a store of its own."""
    with Store(f"sqlite:///{directory}/results.db", UPath(directory / "objects")) as store:
        yield Campaign(directory, store, transition)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[str], Campaign]]:
    """Makes a campaign that is killed at a transition; its store is closed at the end."""
    with contextlib.ExitStack() as stack:
        yield lambda transition: stack.enter_context(killed_at(transition, tmp_path))


@pytest.fixture(scope="module")
def unkilled(
    conditions: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, object], set[str]]:
    """How the campaign ends that nothing kills, and the transitions that it made."""
    with killed_at("none", tmp_path_factory.mktemp("unkilled")) as campaign:
        return campaign.run(), {*campaign.state.written}


def test_a_campaign_makes_every_transition_of_the_table(
    unkilled: tuple[dict[str, object], set[str]],
) -> None:
    """So that each of them can be killed; it is complete, and every trial found its data."""
    end, transitions = unkilled
    assert transitions == set(TRANSITIONS)
    assert end["state"] == ("complete", "complete")
    assert end["missing"] == end["untimely"] == end["running"] == []


@pytest.mark.fault(
    "SIGKILL at any change of a campaign's state, before it is written or after",
    promise="the stage is repeated, and the campaign ends as if nothing had happened",
    of="processes",
)
@pytest.mark.parametrize("transition", TRANSITIONS)
def test_a_campaign_that_is_killed_comes_to_the_same_end(
    make: Callable[[str], Campaign],
    unkilled: tuple[dict[str, object], set[str]],
    transition: str,
) -> None:
    """Before its state is written, and once more after; what is repeated is the stage alone."""
    campaign = make(transition)
    assert campaign.run() == unkilled[0]
    assert campaign.state.kills == []


@pytest.mark.fault(
    "the results store is away for any one transaction of any stage",
    promise="the stage is repeated, and the campaign ends as if nothing had happened",
    of="results",
)
def test_a_store_that_is_away_at_any_moment_costs_nothing(
    make: Callable[[str], Campaign], unkilled: tuple[dict[str, object], set[str]]
) -> None:
    """Every transaction of every stage fails once."""
    campaign = make("none")
    campaign.lose_the_store()
    assert campaign.run() == unkilled[0]
    assert campaign.losses > 100


def _at_once(sequence: TrialSequence) -> None:
    sequence.measure_next()


def _in_halves(sequence: TrialSequence) -> None:
    if isinstance(begun := sequence.begin_next(), Begun):
        sequence.collect(begun)


@pytest.mark.parametrize("measure", [_at_once, _in_halves])
def test_a_store_that_is_away_again_and_again_costs_a_trial_no_try(
    make: Callable[[str], Campaign], measure: Callable[[TrialSequence], None]
) -> None:
    """However often: the trial goes on with the client that it has, and is not invalid."""
    campaign = make("none")
    for stage in itertools.islice(campaign.stages(), 12):
        campaign.repeat(stage)
    campaign.lose_the_store()
    tries = []
    for number in itertools.count():
        campaign.lost = itertools.count(-number)
        try:
            measure(campaign.opened().sequence)
            break
        except AwayError:
            if (trial := campaign.state.read().trial) is not None:
                tries.append(trial.tries)
    campaign.lost = None
    assert len(tries) > TRIES
    assert {*tries} == {0}
    (result,) = campaign.store.trials("c1")
    assert result.valid
    assert campaign.world.untimely == []


def test_a_complete_campaign_is_not_measured_again(make: Callable[[str], Campaign]) -> None:
    """Nor deployed, whatever calls; nothing leads out of that state."""
    campaign = make("none")
    campaign.state.to("complete")
    with pytest.raises(SpecError, match=r"nothing to measure: campaign c1 is complete"):
        campaign.opened().register()
    for transition, row in TRANSITIONS.items():
        if transition != "complete" and row.of == "campaign":
            with pytest.raises(NotMeasuredError):
                campaign.state.to(transition)
    with pytest.raises(NotMeasuredError, match="stage is 'complete' and not 'provisioned'"):
        campaign.state.begin("deploy", "baseline", deployment=1)


def test_a_stage_is_refused_whose_stage_before_is_missing(make: Callable[[str], Campaign]) -> None:
    """As where somebody clears one task of a run whose hosts were given back."""
    campaign = make("none")
    stages = [*itertools.islice(campaign.stages(), 3)]
    for stage in stages:
        campaign.repeat(stage)
    first, _ = campaign.plan.in_order(1)
    with pytest.raises(NotMeasuredError, match=f"begin analyze {first}: .* 'deployed' and not"):
        campaign.opened().deployments.analyze(first)
    campaign.opened().give_back()
    with pytest.raises(NotMeasuredError, match=r"'idle' and not 'provisioned'.*register again"):
        campaign.opened().deployments.load(first)


def test_a_file_that_is_no_state_is_named(make: Callable[[str], Campaign]) -> None:
    """With what to do; nothing that it held is guessed."""
    campaign = make("none")
    campaign.state.register()
    campaign.state.path.write_text("{")
    with pytest.raises(StoreError, match=r"state\.json: cannot be read as the state .* remove it"):
        campaign.state.read()
