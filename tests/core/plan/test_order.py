"""Neither a trend nor noise that comes and goes is mistaken for a side; turns are as they say."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from benchlab.plan import order
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES
from tests.builders import plans as testing

POINT, INSERT = "oltp_point_select", "oltp_insert"


def trials(seed: int = 1, **fields: Any) -> list[PlannedTrial]:
    """In order; only point selects leave the data as they are."""
    return list(order.trials(testing.spec(**fields), seed, {POINT}))


def signs(planned: list[PlannedTrial], workload: str = POINT) -> tuple[int, ...]:
    """Of each round: 1 where the baseline comes first, else -1."""
    of_rounds = itertools.groupby(
        (trial for trial in planned if trial.workload == workload), key=lambda trial: trial.round
    )
    return tuple(1 if next(members).side == "baseline" else -1 for _, members in of_rounds)


def trend(signs: tuple[int, ...]) -> float:
    """Of its signs with the number of the round; of any order at random its square is 1."""
    middle = (len(signs) - 1) / 2
    squares = sum((number - middle) ** 2 for number in range(len(signs)))
    return sum(sign * (number - middle) for number, sign in enumerate(signs)) / math.sqrt(squares)


def alternation(signs: tuple[int, ...]) -> float:
    """The same with every second round."""
    turns = (sign if number % 2 else -sign for number, sign in enumerate(signs))
    return sum(turns) / math.sqrt(len(signs))


def test_of_six_rounds_half_the_balanced_orders_are_drawn() -> None:
    """Ten of twenty: those left out alternate, or have a trend."""
    drawn = {signs(trials(seed, workloads=[POINT], threads=[4], rounds=6)) for seed in range(120)}
    assert len(drawn) == 10
    assert (1, -1, 1, -1, 1, -1) not in drawn
    assert (1, 1, 1, -1, -1, -1) not in drawn


@pytest.mark.parametrize("rounds", [4, 5, 7, 10, 100, 1000])
def test_no_order_is_like_a_trend_or_an_alternation(rounds: int) -> None:
    """By no more than an order without any rule is on average, however many rounds there are."""
    for seed in range(3):
        found = signs(trials(seed, workloads=[POINT], threads=[4], rounds=rounds))
        assert abs(sum(found)) <= 1
        assert abs(trend(found)) <= 1
        assert abs(alternation(found)) <= 1


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_few_rounds_have_an_order_too(rounds: int) -> None:
    """Balanced, and with either side first by some seed."""
    drawn = {
        signs(trials(seed, workloads=[POINT], threads=[4], rounds=rounds)) for seed in range(30)
    }
    assert {found[0] for found in drawn} == {1, -1}
    assert all(abs(sum(found)) <= 1 for found in drawn)


@pytest.mark.parametrize("deployments", [2, 3, 6])
def test_each_deployment_is_balanced(deployments: int) -> None:
    """With one round in each, the order over them is."""
    for seed in range(20):
        found = signs(trials(seed, rounds=6, deployments=deployments))
        size = 6 // deployments
        own = [sum(found[begin : begin + size]) for begin in range(0, 6, size)]
        assert sum(found) == 0
        assert all(abs(total) == size % 2 for total in own)
        assert abs(alternation(found)) < 2


def test_pairs_that_alternate_do_not_always_have_the_same_side_first() -> None:
    """Noise twice as long as a pair of blocks meets each workload at places all over a round."""
    names = [POINT, INSERT, "oltp_read_write"]
    for seed in range(30):
        planned = trials(seed, workloads=names, threads=[4], rounds=6)
        pairs = list(dict.fromkeys(trial.pair for trial in planned))
        for workload in names:
            found = signs(planned, workload)
            places = [pairs.index((number, workload)) for number in range(1, 7)]
            alternating = [sign * (-1) ** place for sign, place in zip(found, places, strict=True)]
            assert abs(sum(alternating)) <= 4


def turns(planned: list[PlannedTrial]) -> list[tuple[str, int]]:
    """Side and thread count of the first pair of blocks, with the side that is first as A."""
    own = [trial for trial in planned if trial.pair == planned[0].pair]
    names = {own[0].side: "A"}
    return [(names.get(trial.side, "B"), trial.threads) for trial in own]


def test_sides_take_turns_trial_by_trial() -> None:
    """A B, B A, A B: each thread count on both sides at once, and each side first by turns."""
    found = turns(trials(interleave="trials", threads=[2, 4, 8]))
    assert [side for side, _ in found] == list("ABBAAB")
    assert [threads for _, threads in found][::2] == [threads for _, threads in found][1::2]


@pytest.mark.parametrize("restore", ["every_trial", "after_writes", "per_workload", "never"])
def test_turns_change_the_order_and_nothing_else(restore: str) -> None:
    """The same trials with as many restores; a warm-up wherever a server is started."""
    fields: dict[str, Any] = {"workloads": [POINT, INSERT], "threads": [2, 4, 8], "rounds": 4}
    blocks = trials(restore=restore, **fields)
    by_turns = trials(restore=restore, interleave="trials", **fields)
    assert {trial.id for trial in blocks} == {trial.id for trial in by_turns}
    assert [trial.index for trial in by_turns] == list(range(len(blocks)))
    assert [trial.pair for trial in blocks] == [trial.pair for trial in by_turns]
    for side in SIDES:
        restored = [sum(t.restore for t in of if t.side == side) for of in (blocks, by_turns)]
        assert restored[0] == restored[1]
    for before, trial in itertools.pairwise(by_turns):
        begins = before.side != trial.side or before.pair != trial.pair
        assert trial.warm_up == (trial.restore or begins)


def test_a_plan_says_what_turns_cost() -> None:
    """Against the same plan by blocks; what is measured stays the same."""
    fields: dict[str, Any] = {"threads": [2, 4, 8], "restore": "never", "warmup_seconds": 1}
    blocks = testing.plan(testing.spec(**fields))
    by_turns = testing.plan(testing.spec(interleave="trials", **fields))
    assert blocks.interleave_minutes is None
    assert by_turns.interleave_minutes is not None
    assert by_turns.interleave_minutes == pytest.approx(by_turns.minutes - blocks.minutes, abs=0.01)
    assert by_turns.interleave_minutes > 0
    assert by_turns.server_starts > blocks.server_starts
    assert by_turns.measures_as(blocks)


def test_turns_need_two_sides_that_take_them() -> None:
    """In sequence, or with a single side, there are none."""
    with pytest.raises(ValueError, match="interleave: trials"):
        testing.spec(interleave="trials", placement="sequential")


@pytest.mark.parametrize("fields", [{}, {"deployments": 2}, {"placement": "sequential"}])
def test_servers_are_configured_where_the_workload_has_other_items(fields: dict[str, Any]) -> None:
    """Alike on both sides, once at the first trial of a block; a deployment begins without any."""
    engines = testing.spec().model_dump()["engines"]
    engines["mariadb"]["by_workload"] = {POINT: {"server": {"level": 1}}}
    spec = testing.spec(engines=engines, restore="never", **fields)
    planned = testing.plan(spec)
    for side in SIDES:
        last, deployment = "", 1
        for trial in (trial for trial in planned.trials if trial.side == side):
            if planned.deployment_of(trial.round) != deployment:
                last, deployment = "", deployment + 1
            assert trial.configure == ((trial.workload == POINT) != (last == POINT))
            assert trial.warm_up or not trial.configure
            last = trial.workload
    assert Plan.from_json(planned.to_json()) == planned
    assert planned.server_starts >= sum(trial.configure for trial in planned.trials)
    assert not any(trial.configure for trial in testing.plan(testing.spec(**fields)).trials)
    theirs = spec.model_copy(update={"target": "existing"})
    assert not any(trial.configure for trial in testing.plan(theirs).trials), "not ours to change"


@pytest.mark.parametrize("placement", ["interleaved", "sequential"])
def test_a_workload_is_measured_with_its_own_threads(placement: str) -> None:
    """As in documents whose tables have not all the same thread counts."""
    report_type = testing.spec(
        workloads=[POINT, INSERT],
        threads_by_workload={POINT: [2, 4]},
        threads=[4, 8, 16],
        rounds=2,
        placement=placement,
    )
    planned = testing.plan(report_type)
    assert len(planned.trials) == report_type.trial_count == 2 * 2 * (2 + 3)
    found = {(trial.workload, trial.threads) for trial in planned.trials}
    assert found == {(POINT, 2), (POINT, 4), (INSERT, 4), (INSERT, 8), (INSERT, 16)}
    assert planned.threads_in_order(POINT) == (2, 4)
    assert planned.threads_in_order(INSERT) == (4, 8, 16)
