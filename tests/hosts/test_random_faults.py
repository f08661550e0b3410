"""Campaigns on rented fleets through faults, kills and repeats that hypothesis chooses.

What has to hold after every step, and at the end, is in :class:`Machine`. What fails is printed as
the steps that led there; ``make test-long`` takes 2,000 other ones each time.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.errors import BenchlabError, NotMeasuredError, SpecError
from benchlab.hosts import lock
from benchlab.results.records import TrialResult
from tests.hosts.cloud import NOTHING, Cloud
from tests.hosts.simulated_fleet import Killed, Process, SimulatedCampaign, World

NAMES = ("c1", "c2")
TRIES = 4
# More than any campaign needs once nothing fails any more.
ENOUGH = 200
REFUSALS = (
    "RequestLimitExceeded",
    "InternalError",
    "UnauthorizedOperation",
    "InsufficientInstanceCapacity",
    "lost",
    "html",
)
CALLS = (
    "RunInstances",
    "DescribeInstances",
    "TerminateInstances",
    "CreateSecurityGroup",
    "AuthorizeSecurityGroupIngress",
    "DeleteSecurityGroup",
    "ImportKeyPair",
    "DeleteKeyPair",
    "GetConsoleOutput",
)
which = st.sampled_from(NAMES)
few = st.integers(1, 6)
acts = st.integers(0, 120)
Key = tuple[str, int]
Pair = tuple[tuple[int, str], int]


class Machine(RuleBasedStateMachine):
    """Two campaigns of one home, whose stages are tasks that are tried again."""

    cloud: ClassVar[Cloud]

    def __init__(self) -> None:
        super().__init__()
        self.cloud.reset()
        self.folder = tempfile.TemporaryDirectory()
        self.world = World(Path(self.folder.name), self.cloud).__enter__()
        self.campaigns = {name: self.world.campaign(name) for name in NAMES}
        self.at = dict.fromkeys(NAMES, 0)
        self.failed = Counter[str]()
        self.valid: dict[str, dict[Key, float]] = {name: {} for name in NAMES}
        self.whole: dict[str, set[Pair]] = {name: set() for name in NAMES}

    # ------------------------------------------------------------ what is done

    @initialize(stages=st.sampled_from((0, 2, 11, 12, 13)))
    def begin(self, stages: int) -> None:
        """Somewhere before the first trials, or between two of them."""
        for name in NAMES:
            self.go_on(name, stages)

    @rule(name=which, stages=st.integers(1, 8))
    def go_on(self, name: str, stages: int) -> None:
        """The next tasks."""
        for _ in range(stages):
            self.task(name, Process())

    @rule(name=which, act=acts)
    def is_killed(self, name: str, act: int) -> None:
        """The next task's process is killed."""
        self.task(name, Process(dies_at=act))

    @rule(name=which, act=acts)
    def is_repeated_too_early(self, name: str, act: int) -> None:
        """The next task is tried again while its process is still at work."""
        campaign, at = self.campaigns[name], self.at[name]

        def again() -> None:
            self.attempt(campaign, at, Process())

        self.task(name, Process(meanwhile={act: again}))

    @rule(name=which, act=acts, stages=st.integers(1, 4))
    def the_other_works_meanwhile(self, name: str, act: int, stages: int) -> None:
        """Tasks of the other campaign come in between."""
        (other,) = {*NAMES} - {name}
        self.task(name, Process(meanwhile={act: lambda: self.go_on(other, stages)}))

    @rule(name=which, back=st.integers(1, 6))
    def is_cleared(self, name: str, back: int) -> None:
        """A person clears a task and all after it."""
        self.at[name] = max(self.at[name] - back, 0)

    @rule(name=which, act=st.none() | acts)
    def is_given_back(self, name: str, act: int | None) -> None:
        """A person does so, and may be interrupted."""
        try:
            self.campaigns[name].do(lambda work: work.give_back(), Process(dies_at=act))
        except (BenchlabError, Killed):
            return

    # ------------------------------------------------------------ what goes wrong

    @rule(
        call=st.sampled_from(CALLS), code=st.sampled_from(REFUSALS), times=few, late=st.booleans()
    )
    def aws_refuses(self, call: str, code: str, times: int, late: bool) -> None:
        """A few times; the call may have had its effect."""
        if code == "InsufficientInstanceCapacity":
            call, late = "RunInstances", False
        self.cloud.fault(call, code, times=times, after_success=late)

    @rule(times=few)
    def aws_lists_nothing(self, times: int) -> None:
        """Its listing lags behind."""
        self.cloud.fault("DescribeInstances", "empty", times=times)

    @rule(name=which, number=st.integers(0, 3))
    def a_host_is_lost(self, name: str, number: int) -> None:
        """AWS takes it."""
        living = sorted(one for ids in self.world.living(name).values() for one in ids)
        if living:
            self.world.lose(living[number % len(living)])

    @rule(what=st.sampled_from(["down", "broken_clients", "broken_servers", "away"]), times=few)
    def something_fails(self, what: str, times: int) -> None:
        """Connections, clients, starts of servers, or statements of the store."""
        self.world.failing[what] = times

    @rule()
    def all_is_well_again(self) -> None:
        """No more faults."""
        self.world.heal()

    # ------------------------------------------------------------ tasks

    def task(self, name: str, process: Process) -> None:
        """The next task of a campaign, and what a scheduler makes of how it ends."""
        campaign, at = self.campaigns[name], self.at[name]
        if at == len(campaign.stages):
            at = self.at[name] = 0  # somebody resumes it
        ended = self.attempt(campaign, at, process)
        if self.at[name] != at:  # cleared meanwhile
            return
        last = len(campaign.stages) - 1
        if ended == "done":
            self.at[name] = at + 1
        elif ended == "again":
            self.at[name] = 0
        elif ended == "over" or self.failed[name] >= TRIES:
            self.at[name] = last
        self.failed[name] = self.failed[name] + 1 if ended == "failed" and at < last else 0

    def attempt(self, campaign: SimulatedCampaign, at: int, process: Process) -> str:
        """One try of a task; anything but Benchlab's own errors fails the test."""
        try:
            campaign.do(campaign.stages[at][1], process)
        except Killed:
            return "killed"
        except NotMeasuredError as error:
            return "again" if "register" in str(error) else "over"
        except SpecError:
            return "over"
        except BenchlabError:
            return "failed"
        return "done"

    # ------------------------------------------------------------ what must hold

    @invariant()
    def no_host_too_many(self) -> None:
        """One of each name at most."""
        for campaign in self.campaigns.values():
            campaign.check_hosts()

    @invariant()
    def every_client_found_its_data(self) -> None:
        """A client runs on sides that were prepared for its round, or not at all."""
        assert self.world.untimely == []

    @invariant()
    def no_trial_is_lost_or_counts_twice(self) -> None:
        """What was measured stays; what counts was measured once, and a pair in one deployment."""
        for campaign in self.campaigns.values():
            self.look_at(campaign, campaign.results())

    def look_at(self, campaign: SimulatedCampaign, results: list[TrialResult]) -> None:
        """Results of a campaign as they are stored now."""
        name, valid = campaign.id, {key(r): r for r in results if r.valid}
        rates = {key: campaign.rate(result) for key, result in valid.items()}
        size = Counter(planned.pair for planned in campaign.plan.trials)
        members: dict[Pair, list[TrialResult]] = {}
        for result in valid.values():
            members.setdefault((result.trial.pair, result.attempt), []).append(result)
        whole = {pair for pair, of in members.items() if len(of) == size[pair[0]]}
        # Invalidated is only what was left of a pair that was cut.
        assert whole >= self.whole[name], "a whole pair was lost"
        stored = {*map(key, results)}
        assert stored >= self.valid[name].keys(), "a trial was lost"
        assert all(self.valid[name].get(key, rate) == rate for key, rate in rates.items())
        assert len({*rates.values()}) == len(rates), "one run of a client counts twice"
        self.whole[name] = whole
        self.valid[name] |= rates
        used, _ = usable_trials(campaign.plan, results)
        assert len({result.trial.id for result in used}) == len(used), "a trial counts twice"
        for pair in whole:
            found = [campaign.measured(result) for result in members[pair]]
            assert len({(one.deployed, one.hosts) for one in found}) == 1, f"{pair} is cut: {found}"

    def check_verdict(self, campaign: SimulatedCampaign) -> None:
        """It is computed from complete pairs, and from nothing else."""
        chosen: dict[tuple[int, str], int] = {}
        for pair, attempt in sorted(self.whole[campaign.id]):
            chosen.setdefault(pair, attempt)
        ratios = []
        for pair, attempt in chosen.items():
            rates = {
                result.trial.side: campaign.rate(result)
                for result in campaign.results()
                if (result.trial.pair, result.attempt) == (pair, attempt)
            }
            ratios.append(math.log(rates["candidate"] / rates["baseline"]))
        (found,) = campaign.opened().outcome().comparison.workloads
        assert found.rounds_used == len(ratios)
        if found.estimate_pct is not None:
            mean = 100 * math.expm1(sum(ratios) / len(ratios))
            assert found.estimate_pct == pytest.approx(mean, abs=0.01)

    def teardown(self) -> None:
        """Once nothing fails any more, every campaign ends, and leaves nothing."""
        try:
            self.world.heal()
            for name, campaign in self.campaigns.items():
                self.end(name, campaign)
            assert self.cloud.holdings() == NOTHING
        finally:
            self.world.__exit__(None, None, None)
            self.folder.cleanup()

    def end(self, name: str, campaign: SimulatedCampaign) -> None:
        """Its remaining tasks."""
        for _ in range(ENOUGH):
            if self.at[name] == len(campaign.stages):
                break
            self.task(name, Process())
        else:
            stage, _ = campaign.stages[self.at[name]]
            raise AssertionError(f"{name} does not end: {stage}")
        assert campaign.nothing_left() == []
        with lock.fence(campaign.directory / "trial.fence", 0.0):
            pass
        self.no_trial_is_lost_or_counts_twice()
        self.check_verdict(campaign)


def key(result: TrialResult) -> Key:
    """Under which a result is stored."""
    return result.trial.id, result.attempt


def run(cloud: Cloud, examples: int, steps: int, *, same: bool) -> None:
    """So many sequences of so many steps."""
    Machine.cloud = cloud
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            derandomize=same,
            database=None,
            deadline=None,
            # To find shorter steps that fail takes as long as many other ones.
            phases=[Phase.generate],
            suppress_health_check=[*HealthCheck],
        ),
    )


def test_campaigns_go_through_some_faults(cloud: Cloud) -> None:
    """Never a host too many, nor a trial twice, nor a valid one lost; nothing is left rented."""
    run(cloud, 4, 16, same=True)


@pytest.mark.long  # the same with fewer steps is above
@pytest.mark.timeout(7200)
def test_campaigns_go_through_many_faults(cloud: Cloud) -> None:
    """As above, in 2,000 steps of which no two runs take the same."""
    run(cloud, 50, 40, same=False)
