"""The trials of a campaign in their order: tries, repetitions, adoption of clients."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from upath import UPath

from benchlab.campaign import calm, trial_columns
from benchlab.campaign.state import TRIES, Begun
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import (
    EngineError,
    LockHeldError,
    NotMeasuredError,
    TargetError,
    TryFailedError,
)
from benchlab.hosts import metrics
from benchlab.hosts.executor import JobStatus
from benchlab.plan.spending import Spending
from benchlab.plan.steps import minutes_after_trials, trial_minutes
from benchlab.results.looks import Look
from benchlab.results.records import Campaign, TrialResult
from benchlab.results.screening import Flagged, Screening
from benchlab.results.store import Store
from tests.builders import campaigns, states
from tests.builders.benches import Bench
from tests.builders.fakes import FakeExecutor


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """Makes benches; their stores are closed at the end."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        yield lambda **fields: Bench(tmp_path, store, **fields)


def test_every_trial_is_executed_once_in_the_plans_order(make: Callable[..., Bench]) -> None:
    """However often and by whom it is called; then nothing is left."""
    bench = make()
    bench.sequence.measure_all()
    assert [r.trial for r in bench.results()] == list(bench.plan.trials)
    assert bench.sequence.measure_next() is None


def test_a_busy_machine_is_waited_for_before_the_first_trial_alone(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the campaign's own servers; it goes on with a warning, and is not asked again."""
    bench = make()
    seen: list[list[str]] = []

    def busy(executors: dict[str, FakeExecutor]) -> dict[str, float]:
        seen.append([line for line in bench.executor.log if line.startswith("start")])
        return dict.fromkeys(executors, 0.5)

    monkeypatch.setattr(metrics, "other_work", busy)
    monkeypatch.setattr(calm, "LONGEST_S", 0.0)
    bench.sequence.measure_all()
    assert seen == [[]], "before any server or client was started"
    steps = bench.sequence.progress.read()[0]
    (warning,) = [step for step in steps if step.phase == "warning"]
    assert "other programs use 50% of the CPU of fake" in warning.note
    assert all(result.executed for result in bench.results())


@pytest.mark.parametrize("restore", ["every_trial", "never"])
def test_a_server_is_asked_to_end_only_before_a_trial_that_stops_it(
    make: Callable[..., Bench], restore: str
) -> None:
    """Once the trial is stored; a trial that goes on with the same server finds it running."""
    bench = make(restore=restore, threads=[4, 8], rounds=1)
    bench.sequence.measure_all()
    trials = bench.plan.trials
    stopped = [
        f"ask server-{earlier.side}"
        for earlier, later in itertools.pairwise(trials)
        if later.restore or later.side != earlier.side
    ]
    assert [line for line in bench.executor.log if line.startswith("ask")] == stopped
    assert len(stopped) == {"every_trial": len(trials) - 1, "never": 1}[restore]


def test_an_invalid_trial_has_its_whole_pair_measured_again(make: Callable[..., Bench]) -> None:
    """Both blocks of that round only; the valid first attempt of the other round stays."""
    bench = make()
    bench.broken_clients = {"r1-candidate-oltp_read_write-t4-a1"}
    bench.sequence.measure_all()
    again = [(r.trial.round, r.trial.side) for r in bench.results() if r.attempt == 2]
    assert sorted(again) == [(1, "baseline"), (1, "candidate")]
    assert all(r.attempt < 3 for r in bench.results())


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_pairs_are_measured_again_up_to_the_limit(make: Callable[..., Bench], limit: int) -> None:
    """Not more often than `repeat_limit`, even if another attempt is requested."""
    bench = make(repeat_limit=limit, rounds=1)
    bench.broken_clients = {"r1-candidate"}
    bench.sequence.measure_all()
    assert max(r.attempt for r in bench.results()) == limit + 1
    assert bench.sequence.repeats(limit + 2) == []
    assert bench.sequence.measure_next(limit + 2) is None


def test_a_pair_that_is_measured_again_is_restored_first(make: Callable[..., Bench]) -> None:
    """It never runs on data that later trials wrote, whatever the plan's restores."""
    workloads = ["oltp_point_select", "oltp_read_write"]
    bench = make(restore="after_writes", workloads=workloads, rounds=1)
    bench.broken_clients = {"r1-candidate-oltp_point_select-t4-a1"}
    bench.sequence.measure_all()
    again = [r for r in bench.results() if r.attempt == 2]
    assert len(again) == 2
    assert all("restore" in r.phases for r in again)


@pytest.mark.parametrize(("policy", "restores"), [("after_writes", True), ("never", False)])
def test_after_a_trial_that_was_not_executed_the_data_are_restored(
    make: Callable[..., Bench], policy: str, restores: bool
) -> None:
    """Nobody knows what it did to them, though the plan relies on its having changed nothing.

    Only the side's next trial, and not if the report type never restores.
    """
    bench = make(
        restore=policy,
        workloads=["oltp_point_select"],
        rounds=3,
        repeat_limit=0,
    )
    side = bench.plan.trials[0].side
    first, second, third = (trial for trial in bench.plan.trials if trial.side == side)
    other = [trial for trial in bench.plan.trials if trial.side != side]
    assert [second.restore, third.restore] == [False, False]
    bench.broken_servers = {f"server-{side}"}
    for _ in range(TRIES - 1):
        with pytest.raises(TryFailedError):
            bench.sequence.measure_next()
    assert bench.sequence.measure_next() is not None
    bench.broken_servers = set()
    bench.sequence.measure_all()
    restored = {r.trial.id: "restore" in r.phases for r in bench.results()}
    assert restored == {
        first.id: False,
        second.id: restores,
        third.id: False,
        **{trial.id: trial.restore for trial in other},
    }


@pytest.mark.fault(
    "a trial cannot be executed",
    promise="it is tried three times, then stored as invalid, and the campaign goes on",
    of="servers",
)
def test_a_trial_that_cannot_be_executed_is_tried_again_and_then_invalid(
    make: Callable[..., Bench],
) -> None:
    """After three tries it is stored with the error as its reason; the campaign continues."""
    bench = make(rounds=1, repeat_limit=0)
    first = bench.plan.trials[0]
    bench.broken_servers = {f"server-{first.side}"}
    for _ in range(TRIES - 1):
        with pytest.raises(TryFailedError, match=f"{first.title}, try .*does not start"):
            bench.sequence.measure_next()
    given_up = bench.sequence.measure_next()
    assert given_up is not None
    assert (given_up.valid, given_up.executed) == (False, False)
    assert f"not executed in {TRIES} tries" in str(given_up.reasons[0])
    other = bench.sequence.measure_next()
    assert other is not None
    assert other.valid


def test_after_a_try_that_succeeds_there_are_no_more(make: Callable[..., Bench]) -> None:
    """A server that starts at the second try costs one more try only."""
    bench = make(rounds=1)
    bench.broken_servers = {"server-baseline", "server-candidate"}
    with pytest.raises(TryFailedError):
        bench.sequence.measure_next()
    bench.broken_servers = set()
    bench.sequence.measure_all()
    assert all(r.valid for r in bench.results())
    assert len(bench.results()) == 2


def test_another_try_never_runs_on_what_the_last_one_left(make: Callable[..., Bench]) -> None:
    """It is restored first, even if the report type never restores."""
    bench = make(restore="never", rounds=1)
    first, other = bench.plan.trials
    bench.broken_servers = {f"server-{first.side}"}
    with pytest.raises(TryFailedError):
        bench.sequence.measure_next()
    bench.broken_servers = set()
    bench.sequence.measure_all()
    restored = {r.trial.id: "restore" in r.phases for r in bench.results()}
    assert restored == {first.id: True, other.id: False}


def test_a_campaign_in_which_nothing_starts_is_given_up(make: Callable[..., Bench]) -> None:
    """After three trials in a row it ends, and says what to fix."""
    bench = make(rounds=5)
    bench.broken_servers = {"server-baseline", "server-candidate"}
    with pytest.raises(NotMeasuredError, match=r"fix what the last error names, .*does not start"):
        bench.sequence.measure_all()
    assert len(bench.results()) == TRIES


def test_a_given_up_campaign_can_be_resumed_after_a_fix(make: Callable[..., Bench]) -> None:
    """Failures from before the machine was taken again no longer count."""
    bench = make(rounds=3)
    bench.broken_servers = {"server-baseline", "server-candidate"}
    with pytest.raises(NotMeasuredError):
        bench.sequence.measure_all()
    bench.broken_servers = set()
    states.provisioned(bench.state)
    states.prepared(bench.state)
    bench.sequence.measure_all()
    assert not bench.sequence.repeats(2) or all(r.valid for r in bench.results() if r.attempt == 2)


def test_an_error_that_another_try_would_not_fix_is_raised_at_once(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another campaign holds the machine, the loop ends; nothing is tried or counted."""
    bench = make()

    def lost(origin: str) -> None:
        raise LockHeldError("held by another campaign")

    monkeypatch.setattr(bench.deployment, "acquire", lost)
    with pytest.raises(LockHeldError):
        bench.sequence.measure_all()
    assert bench.results() == []
    assert bench.executor.log == []


def test_the_dataset_is_checked_after_every_deployment(make: Callable[..., Bench]) -> None:
    """Once per side and deployment; a resumed campaign checks again."""
    bench = make(rounds=2)
    for deployments in (1, 2):
        states.prepared(bench.state)
        for _ in range(2):
            bench.sequence.measure_next()
        checked = [
            r
            for r in bench.results()
            if any(g.gate == "dataset" and g.status != "not evaluated" for g in r.gates)
        ]
        assert len(checked) == 2 * deployments


def test_only_an_interrupted_pair_is_abandoned(make: Callable[..., Bench]) -> None:
    """A complete pair stays, and one with an invalid trial keeps its own reason."""
    bench = make(rounds=3)
    bench.broken_clients = {f"r2-{side}-oltp_read_write-t4-a1" for side in ("baseline",)}
    for _ in range(5):
        bench.sequence.measure_next()
    bench.sequence.remaining.abandon_cut_pairs()
    cut = [r.trial.round for r in bench.results() if "cut by" in " ".join(map(str, r.reasons))]
    assert cut == [3]
    assert sum(not r.valid for r in bench.results()) == 2


def test_a_trial_can_be_begun_by_one_process_and_collected_by_another(
    make: Callable[..., Bench],
) -> None:
    """Nobody waits in between; the result has what the first half found."""
    bench = make()
    begun = bench.sequence.begin_next()
    assert isinstance(begun, Begun)
    assert bench.results() == []
    result = bench.sequence.collect(Begun(**begun.to_json()))
    assert bench.results() == [result]
    assert result.valid
    assert {"restore", "start", "ready", "warm-up", "run", "collect"} <= set(result.phases)
    assert result.trial.id == begun.trial == bench.plan.trials[0].id


def test_a_trial_that_was_begun_is_adopted_by_the_next_process(
    make: Callable[..., Bench],
) -> None:
    """After its task died, its client is not started again and its phases are not lost."""
    bench = make()
    first = bench.sequence.begin_next()
    second = bench.sequence.begin_next()
    assert isinstance(first, Begun)
    assert isinstance(second, Begun)
    assert (second.job, second.phases, second.adopted) == (first.job, first.phases, True)
    result = bench.sequence.collect(second)
    assert result.adopted
    assert bench.executor.log.count(f"start {first.job}") == 1


def test_a_client_that_has_begun_is_paid_for_already(make: Callable[..., Bench]) -> None:
    """Its result is collected although another whole trial could not be paid any more."""
    bench = make(rounds=3, budget=BUDGET)
    bench.deployment.spendings = [spending(100), spending(1)]
    begun = bench.sequence.begin_next()
    assert isinstance(begun, Begun)
    adopted = bench.sequence.begin_next()
    assert isinstance(adopted, Begun)
    assert adopted.adopted
    bench.sequence.collect(adopted)
    assert bench.sequence.begin_next() is None
    assert len(bench.results()) == 1


def test_a_trial_is_stored_once_however_often_it_is_collected(make: Callable[..., Bench]) -> None:
    """A process that was thought dead comes back and finds it collected."""
    bench = make()
    begun = bench.sequence.begin_next()
    assert isinstance(begun, Begun)
    assert bench.sequence.collect(begun) == bench.sequence.collect(begun)
    assert len(bench.results()) == 1


def test_notes_on_a_lost_client_do_not_apply_to_the_next(make: Callable[..., Bench]) -> None:
    """A client that is started again has a time limit of its own."""
    bench = make()
    first = bench.sequence.begin_next()
    assert isinstance(first, Begun)
    bench.executor.end_job(first.job, None)  # lost, its exit code unknown
    bench.executor.jobs.pop(first.job)
    second = bench.sequence.begin_next()
    assert isinstance(second, Begun)
    assert not second.adopted
    assert second.until > first.until
    assert bench.state.read().tried(first.trial, 1).client == second


def test_a_trial_that_cannot_be_collected_is_given_up(
    make: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client succeeded, but its output cannot be read: three tries, then the next trial."""
    bench = make()

    def refuse(*_: object) -> None:
        raise EngineError("no answer that can be read")

    monkeypatch.setattr(trial_columns, "of_servers", refuse)
    for _ in range(TRIES - 1):
        begun = bench.sequence.begin_next()
        assert isinstance(begun, Begun)
        with pytest.raises(TryFailedError, match="no answer that can be read"):
            bench.sequence.collect(begun)
    begun = bench.sequence.begin_next()
    assert isinstance(begun, Begun)
    given_up = bench.sequence.collect(begun)
    assert not given_up.valid
    assert "not executed in 3 tries" in str(given_up.reasons[0])
    monkeypatch.undo()
    following = bench.sequence.begin_next()
    assert isinstance(following, Begun)
    assert following.trial != begun.trial


# ---------------------------------------------------------------- what rented hosts may cost

BUDGET = {"approve_above": 20, "limit": 60}


def spending(minutes_left: float, dollars: float = 50.0) -> Spending:
    """Of hosts for half a dollar a minute."""
    return Spending(dollars, 60.0, 0.5, minutes_left)


@pytest.mark.parametrize(
    ("dollars", "why"),
    [
        (59.5, "the hosts would have cost more than the budget's limit of $60.00"),
        (20.0, "the hosts were not rented for long enough"),
    ],
)
def test_measuring_stops_before_the_hosts_cost_more_than_they_may(
    make: Callable[..., Bench], dollars: float, why: str
) -> None:
    """What is valid is published and says why the rest is missing; nothing else is measured."""
    bench = make(rounds=3, budget=BUDGET, languages=["en", "zh"])
    bench.deployment.spendings = [spending(100), spending(99), spending(1, dollars)]
    bench.sequence.measure_all()
    assert [r.trial for r in bench.results()] == list(bench.plan.trials[:2])
    assert bench.sequence.repeats(2) == []
    assert bench.sequence.measure_next() is None, "though nothing says again what is spent"
    stored = StoredCampaign(bench.home, bench.store, bench.store.campaign("c1"))
    report, *files = stored.publish()
    assert why in report.read_text().replace("\\", "")
    assert any("测试提前结束" in file.read_text() for file in files if file.suffix == ".md")
    assert bench.store.campaign("c1").state == "failed"
    with pytest.raises(NotMeasuredError) as caught:
        stored.verdict()
    assert "4 of 6 trials have no valid result" in str(caught.value)
    assert why in str(caught.value)


def test_a_trial_counts_with_restore_and_all_that_follows_it(make: Callable[..., Bench]) -> None:
    """To the second: its own time, the report, the give-back, the idle tasks of the others."""
    bench = make(rounds=2, budget=BUDGET)
    trial_s = 35 + 5 + 20 + 20 + 3 + 3 + bench.spec.warmup_seconds + 5
    after = sum(step.minutes for step in bench.plan.steps if step.stage == "publish")
    needed = trial_s / 60 + after + 4 * 2 / 60
    bench.deployment.spendings = [spending(needed + 0.001)]
    assert bench.sequence.measure_next() is not None
    bench.deployment.spendings = [spending(needed - 2 / 60 - 0.001)]
    assert bench.sequence.measure_next() is None
    assert bench.sequence.money.stopped() == "lifetime"


def test_a_campaign_that_is_slower_than_planned_stops_earlier(make: Callable[..., Bench]) -> None:
    """Half of its trials took ten minutes and more, so the next one is not begun with nine."""
    bench = make(rounds=2, budget=BUDGET)
    for planned, minutes in zip(bench.plan.trials, (1, 10, 30), strict=False):
        result = campaigns.trial_result(planned)
        late = result.started_at + timedelta(minutes=minutes)
        bench.store.add_trial("c1", dataclasses.replace(result, ended_at=late))
    bench.deployment.spendings = [spending(9)]
    assert bench.sequence.measure_next() is None
    assert len(bench.results()) == 3


def test_a_resumed_campaign_looks_again_at_what_is_spent(make: Callable[..., Bench]) -> None:
    """The facts of its hosts were stored anew; it stops again, or measures if it can be paid."""
    bench = make(budget=BUDGET)
    for left, stopped in ((1, "lifetime"), (100, None)):
        bench.store.set_environment("c1", {"cores": "2"})
        bench.deployment.spendings = [spending(left)]
        assert (bench.sequence.measure_next() is None) == (stopped is not None)
        assert bench.sequence.money.stopped() == stopped
        assert bench.store.campaign("c1").environment["cores"] == "2"


def test_the_progress_shows_what_is_spent(make: Callable[..., Bench]) -> None:
    """In the line of every trial, repeated ones too, and where measuring stops."""
    bench = make(rounds=1, budget=BUDGET, repeat_limit=1)
    bench.broken_clients = {"r1-candidate"}
    bench.deployment.spendings = [spending(100, dollars) for dollars in (1.0, 2.5, 4.0)]
    bench.deployment.spendings.append(spending(1, 59.9))
    bench.sequence.measure_all()
    notes = [step.note for step in bench.sequence.progress.read()[0]]
    shown = list(dict.fromkeys(note for note in notes if "dollars" in note))
    assert shown[:3] == [
        "1.00 of 60.00 dollars",
        "2.50 of 60.00 dollars",
        "measured again, 1; 4.00 of 60.00 dollars",
    ]
    assert shown[3].startswith("59.90 of 60.00 dollars spent; another trial, with giving the")


# ---------------------------------------------------------------- hosts that are lost

LOST = {"tikv-2": "Server.SpotInstanceTermination: Spot instance termination"}


def loses(bench: Bench, in_trial: str, *, times: int = 1) -> list[int]:
    """A host is lost in a trial, so often; the list gets the number of results at each recovery."""
    redone: list[int] = []
    left = [times]
    bench.store.add_to_environment("c1", "spot_hosts", "tikv-1, tikv-2")

    def program(job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
        if in_trial in job and job.startswith("client") and left[0]:
            left[0] -= 1
            bench.deployment.lost_hosts = dict(LOST)
        return bench.program(job, command)

    def redo() -> set[str]:
        bench.deployment.lost_hosts = {}
        redone.append(len(bench.results()))
        bench.sequence.remaining.abandon_cut_pairs()  # as every deployment does
        return {"tikv-2", "client-1"}

    bench.executor.program = program
    bench.redo = redo
    bench.opened(redo)
    return redone


def test_a_trial_in_which_a_host_is_lost_is_measured_again_on_a_whole_fleet(
    make: Callable[..., Bench],
) -> None:
    """Its pair comes from one deployment; pairs measured before count; the report says it."""
    bench = make(rounds=2, budget=BUDGET)
    lost = bench.plan.trials[2]
    redone = loses(bench, f"r{lost.round}-{lost.side}")
    bench.sequence.measure_all()
    assert redone == [3], "at once, before the next trial"
    results = bench.results()
    (interrupted,) = [r for r in results if r.trial == lost and r.attempt == 1]
    assert not interrupted.valid
    (reason,) = interrupted.reasons
    assert str(reason) == f"tikv-2 was lost during it: {LOST['tikv-2']}"
    assert all(r.valid for r in results if r.trial.round != lost.round)
    again = [r for r in results if r.attempt == 2]
    assert {r.trial.pair for r in again} == {lost.pair}
    assert all(r.valid for r in again)
    assert bench.sequence.money.stopped() is None
    assert bench.store.campaign("c1").environment["replaced_hosts"] == "2: client-1, tikv-2"


def test_hosts_are_replaced_twice_and_then_measuring_ends(make: Callable[..., Bench]) -> None:
    """A third loss is one too many: what there is is published, and says why it is all."""
    bench = make(rounds=6, budget=BUDGET)
    redone = loses(bench, "candidate", times=3)
    bench.sequence.measure_all()
    assert len(redone) == 2
    assert bench.sequence.money.stopped() == "lost"
    stored = StoredCampaign(bench.home, bench.store, bench.store.campaign("c1"))
    page = stored.publish()[0].read_text().replace("\\", "")
    assert "hosts were lost and could not be replaced" in page
    with pytest.raises(NotMeasuredError, match="could not be replaced"):
        stored.verdict()


def test_a_recovery_that_fails_is_tried_again_and_not_for_ever(
    make: Callable[..., Bench],
) -> None:
    """Each try is a task's; another process goes on with it, though EC2 lists nothing as lost."""
    bench = make(rounds=2, budget=BUDGET)
    redone = loses(bench, "r1-")
    assert bench.sequence.measure_next() is not None
    bench.deployment.lost_hosts = {}

    def fails() -> set[str]:
        raise TargetError("no zone has the capacity")

    bench.opened(fails)
    for number in (1, 2):
        with pytest.raises(TryFailedError, match=rf"tikv-2: .* try {number} of 3: no zone has"):
            bench.sequence.measure_next()
    assert bench.opened(bench.redo).measure_next() is not None
    assert redone == [1]
    bench.opened(fails).recovery.lose(LOST, 2)
    for _ in range(3):
        with pytest.raises(TryFailedError):
            bench.sequence.measure_next()
    assert bench.sequence.measure_next() is None
    assert bench.sequence.money.stopped() == "lost"


@pytest.mark.parametrize(("dollars", "stop"), [(59.5, "limit"), (20.0, "lifetime")])
def test_hosts_are_not_replaced_where_that_cannot_be_paid(
    make: Callable[..., Bench], dollars: float, stop: str
) -> None:
    """Both sides have to be prepared again, and a trial measured, before the hosts' end."""
    bench = make(rounds=2, budget=BUDGET)
    redone = loses(bench, "r1-")
    before = sum(step.minutes for step in bench.plan.steps if step.stage == "prepare")
    assert before > 0
    needed = before + trial_minutes(bench.spec, bench.plan.trials[1])
    needed += minutes_after_trials(bench.plan.steps)
    bench.deployment.spendings = [spending(100), spending(needed - 0.001, dollars)]
    bench.sequence.measure_all()
    assert redone == []
    assert bench.sequence.money.stopped() == stop
    assert len(bench.results()) == 1


def test_a_client_of_a_fleet_that_lost_a_host_is_not_adopted(make: Callable[..., Bench]) -> None:
    """Its trial begins anew on the new fleet, and its failed tries are forgotten with it."""
    bench = make(rounds=1, budget=BUDGET)
    redone = loses(bench, "none")
    begun = bench.sequence.begin_next()
    assert isinstance(begun, Begun)
    bench.deployment.lost_hosts = dict(LOST)
    again = bench.sequence.begin_next()
    assert isinstance(again, Begun)
    assert redone == [0]
    assert not again.adopted
    assert (again.trial, again.attempt) == (begun.trial, begun.attempt)


def test_the_death_of_a_host_on_demand_is_found_by_what_it_breaks(
    make: Callable[..., Bench],
) -> None:
    """A trial that went well is not doubted, so that EC2 is not asked after each of them."""
    bench = make(rounds=2, budget=BUDGET)
    redone = loses(bench, "r1-")
    bench.store.set_environment("c1", {})
    bench.broken_clients = {f"r{bench.plan.trials[1].round}-{bench.plan.trials[1].side}"}
    assert bench.sequence.measure_next() is not None
    assert bench.results()[0].valid
    broken = bench.sequence.measure_next()
    assert broken is not None
    assert not broken.valid
    assert "was lost" not in str(broken.reasons[0]), "its gates say what is wrong with it"
    assert redone == []
    assert bench.sequence.measure_next() is not None
    assert redone == [2]


def test_a_target_that_cannot_replace_hosts_is_not_asked_for_them(
    make: Callable[..., Bench],
) -> None:
    """On this machine nothing changes: a trial fails as it did."""
    bench = make(rounds=1)
    bench.deployment.lost_hosts = dict(LOST)
    bench.sequence.measure_all()
    assert all(r.valid for r in bench.results())


def test_a_campaign_that_is_begun_anew_replaces_nothing_twice(make: Callable[..., Bench]) -> None:
    """Killed while a host was replaced, it has a whole fleet again when it measures."""
    bench = make(rounds=2, budget=BUDGET)
    redone = loses(bench, "nothing")
    bench.sequence.recovery.lose(LOST, 0)
    states.provisioned(bench.state)
    states.prepared(bench.state)
    assert bench.sequence.measure_next() is not None
    assert redone == []
    assert bench.sequence.money.stopped() is None


def flagging(*confirming: str) -> Callable[..., Screening]:
    """A decision that flags these workloads."""
    flagged = tuple(Flagged(name, "throughput", "worse", 2, -4.0, 0.001) for name in confirming)
    return lambda *_: Screening(flagged, confirming)


def test_a_watch_ends_with_its_screening_where_nothing_is_flagged(
    make: Callable[..., Bench],
) -> None:
    """Six rounds are planned, two are measured, and nothing is missing."""
    bench = make(design="watch", rounds=6, deployments=6)
    bench.sequence.measure_all()
    assert {result.trial.round for result in bench.results()} == {1, 2}
    campaign = bench.store.campaign("c1")
    assert campaign.screening == Screening()
    assert len(campaign.wanted.trials) == len(bench.results())
    assert bench.sequence.measure_next() is None
    (note,) = [step for step in bench.sequence.progress.read()[0] if step.phase == "screen"]
    assert note.note == "nothing is flagged, so that nothing is measured again"


def test_a_watch_measures_again_what_is_flagged_alone(make: Callable[..., Bench]) -> None:
    """In every later round, and in no other workload."""
    names = ["oltp_read_write", "oltp_read_only"]
    bench = make(design="watch", rounds=6, deployments=6, workloads=names)
    bench.sequence._decide = flagging("oltp_read_only")
    bench.sequence.measure_all()
    measured = {(r.trial.workload, r.trial.round) for r in bench.results()}
    assert measured == {
        *(("oltp_read_write", number) for number in (1, 2)),
        *(("oltp_read_only", number) for number in range(1, 7)),
    }


def test_what_was_flagged_is_decided_once(make: Callable[..., Bench]) -> None:
    """Another process goes on with what the first one decided."""
    bench = make(design="watch", rounds=6, deployments=6)
    while len(bench.results()) < 4:
        bench.sequence.measure_next()
    bench.sequence._decide = flagging("oltp_read_write")
    assert [trial.round for trial in bench.sequence.screen()] == [3, 3, 4, 4, 5, 5, 6, 6]
    again = bench.opened()
    again._decide = flagging()
    again.measure_all()
    assert {result.trial.round for result in bench.results()} == set(range(1, 7))


def test_invalid_blocks_of_the_screening_are_repeated_before_it_decides(
    make: Callable[..., Bench],
) -> None:
    """While their deployment exists."""
    bench = make(design="watch", rounds=6, deployments=6)
    bench.broken_clients = {"r2-candidate-oltp_read_write-t4-a1"}
    bench.sequence.measure_all()
    second = [(r.attempt, r.valid) for r in bench.results() if r.trial.round == 2]
    assert sorted(second) == [(1, False), (1, True), (2, True), (2, True)]
    assert bench.store.campaign("c1").screening == Screening()


RELEASE = {"design": "release", "rounds": 5, "deployments": 5}


def leaving(**after: int) -> Callable[..., Look]:
    """A decision that leaves workloads out after these deployments, as equivalent."""

    def look(campaign: Campaign, results: Sequence[TrialResult], number: int) -> Look:
        return Look(number, {name: "equivalent" for name, last in after.items() if last == number})

    return look


def test_a_workload_that_is_decided_is_measured_no_further(make: Callable[..., Bench]) -> None:
    """The others are; what is no longer measured is not missing, and progress counts what is."""
    names = ["oltp_read_write", "oltp_read_only"]
    bench = make(**RELEASE, workloads=names)
    bench.sequence._look_at = leaving(oltp_read_only=3)
    bench.sequence.measure_all()
    measured = {(r.trial.workload, r.trial.round) for r in bench.results()}
    assert measured == {
        *(("oltp_read_write", number) for number in range(1, 6)),
        *(("oltp_read_only", number) for number in (1, 2, 3)),
    }
    campaign = bench.store.campaign("c1")
    assert [one.after for one in campaign.looks] == [3, 4]
    assert len(campaign.wanted.trials) == len(bench.results())
    steps = bench.sequence.progress.read()[0]
    said = [step.note for step in steps if step.phase == "look"]
    assert said[0] == "after deployment 3: measured no further: oltp_read_only"
    assert said[1].startswith("after deployment 4: nothing is decided")
    assert {step.total for step in steps if step.stage == "trial"} == {20, 16}


def test_a_release_ends_when_everything_is_decided(make: Callable[..., Bench]) -> None:
    """Nothing is measured on a later deployment, and calling it again measures nothing."""
    bench = make(**RELEASE)
    bench.sequence._look_at = leaving(oltp_read_write=3)
    bench.sequence.measure_all()
    assert {result.trial.round for result in bench.results()} == {1, 2, 3}
    assert bench.sequence.measure_next() is None


def test_what_a_look_decided_is_decided_once(make: Callable[..., Bench]) -> None:
    """A process that goes on after a kill does not look again at the same deployments."""
    bench = make(**RELEASE)
    bench.sequence._look_at = leaving()
    while len(bench.results()) < 7:
        bench.sequence.measure_next()
    again = bench.opened()
    again._look_at = leaving(oltp_read_write=3)
    again.measure_all()
    assert {result.trial.round for result in bench.results()} == set(range(1, 6))
    assert [one.after for one in bench.store.campaign("c1").looks] == [3, 4]


@pytest.mark.parametrize(("design", "until"), [("watch", 2), ("release", 3)])
def test_an_interrupted_campaign_asks_what_is_left_before_it_prepares_more(
    make: Callable[..., Bench], design: str, until: int
) -> None:
    """Killed after the deployment that decides; before that, its own trials are left."""
    bench = make(design=design, rounds=6, deployments=6)
    bench.sequence._decide, bench.sequence._look_at = flagging(), leaving(oltp_read_write=3)
    while len(bench.results()) < 2 * until - 1:
        bench.sequence.measure_next()
        assert bench.sequence.is_left()
    campaign = bench.store.campaign("c1")
    assert (campaign.screening, campaign.looks) == (None, ())
    bench.sequence.measure_next()
    assert not bench.sequence.is_left()
    assert bench.sequence.measure_next() is None
    campaign = bench.store.campaign("c1")
    assert len(campaign.wanted.trials) == len(bench.results()) == 2 * until


def test_invalid_blocks_are_repeated_before_a_look(make: Callable[..., Bench]) -> None:
    """It sees a whole deployment, whose data would be gone afterwards."""
    bench = make(**RELEASE)
    bench.broken_clients = {"r3-candidate-oltp_read_write-t4-a1"}
    seen: list[int] = []

    def look(campaign: Campaign, results: Sequence[TrialResult], number: int) -> Look:
        seen.append(sum(result.trial.round == 3 and result.valid for result in results))
        return Look(number, {"oltp_read_write": "regression"})

    bench.sequence._look_at = look
    bench.sequence.measure_all()
    assert seen == [3], "the valid half of the first attempt, and both of the second"
