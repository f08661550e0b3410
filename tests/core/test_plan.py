"""A plan runs every cell on both sides in every round, fairly, and the same for the same seed."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab import catalog, testing
from benchlab import plan as planning
from benchlab.plan import Plan
from benchlab.spec import SIDES

WORKLOADS = (
    *("oltp_point_select", "oltp_read_write", "oltp_update_index"),
    *("oltp_update_non_index", "oltp_insert"),
)
READ_ONLY = catalog.read_only_workloads()


@st.composite
def plans(draw: st.DrawFn, **fixed: Any) -> Plan:
    """Plans of any report type that is small enough to look at."""
    fields = {
        "workloads": draw(st.lists(st.sampled_from(WORKLOADS), min_size=1, unique=True)),
        "threads": draw(st.lists(st.integers(1, 10_000), min_size=1, max_size=4, unique=True)),
        "rounds": draw(st.integers(1, 7)),
        "restore": draw(st.sampled_from(["every_trial", "after_writes", "per_workload", "never"])),
        "seed": draw(st.none() | st.integers(0, 2**40)),
        **fixed,
    }
    campaign = draw(st.text(max_size=10))
    return planning.make(testing.spec(**fields), "mariadb", campaign, READ_ONLY)


def blocks(plan: Plan) -> list[tuple[int, str, str]]:
    """Round, workload and side of each block in the order in which they run."""
    return [key for key, _ in itertools.groupby((t.round, t.workload, t.side) for t in plan.trials)]


@settings(deadline=None)
@given(plans())
def test_every_trial_is_planned_exactly_once(plan: Plan) -> None:
    """Round x side x workload x threads, each once, numbered in order, with an id of its own."""
    cells = Counter((t.round, t.side, t.workload, t.threads) for t in plan.trials)
    workloads = {t.workload for t in plan.trials}
    threads = {t.threads for t in plan.trials}
    wanted = itertools.product(range(1, plan.rounds + 1), SIDES, workloads, threads)
    assert cells == Counter(wanted)
    assert [t.index for t in plan.trials] == list(range(len(plan.trials)))
    assert len({t.id for t in plan.trials}) == len(plan.trials)


@settings(deadline=None)
@given(plans())
def test_the_two_blocks_of_a_pair_are_adjacent(plan: Plan) -> None:
    """In a round each workload runs on one side and at once on the other: drift hits both alike."""
    order = blocks(plan)
    assert len(order) == len(set(order))  # a block is contiguous
    for first, second in zip(order[::2], order[1::2], strict=True):
        assert first[:2] == second[:2]
        assert {first[2], second[2]} == set(SIDES)
    assert [number for number, _, _ in order] == sorted(number for number, _, _ in order)


@settings(deadline=None)
@given(plans())
def test_both_sides_run_the_same_blocks(plan: Plan) -> None:
    """Within a pair both sides run the same thread counts in the same order."""
    sweeps = {
        key: [t.threads for t in members]
        for key, members in itertools.groupby(
            plan.trials, key=lambda t: (t.round, t.workload, t.side)
        )
    }
    assert len({tuple(sweep) for sweep in sweeps.values()}) == 1


@settings(deadline=None)
@given(plans())
def test_which_side_comes_first_is_balanced(plan: Plan) -> None:
    """Over the rounds of a workload each side comes first equally often, give or take one."""
    firsts = Counter((workload, side) for _, workload, side in blocks(plan)[::2])
    for workload in {t.workload for t in plan.trials}:
        assert abs(firsts[workload, "baseline"] - firsts[workload, "candidate"]) <= 1


def test_which_side_comes_first_is_left_to_chance() -> None:
    """Over many seeds every first round starts with either side: nobody can lean on an order."""
    firsts = {
        tuple(t.side for t in testing.plan(seed=seed, threads=[4]).trials[::2])
        for seed in range(60)
    }
    assert {order[0] for order in firsts} == set(SIDES)
    assert len(firsts) > 4


@settings(deadline=None)
@given(plans(), st.integers(0, 2**32))
def test_the_seed_decides_the_order(plan: Plan, seed: int) -> None:
    """The same seed gives the same plan, whatever the campaign is called."""
    spec = testing.spec(seed=seed)
    assert planning.make(spec, "mariadb", "a", READ_ONLY) == planning.make(
        spec, "mariadb", "b", READ_ONLY
    )
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_without_a_seed_the_campaign_decides_the_order() -> None:
    """A campaign that is planned again is the same campaign; another one has another order."""
    unseeded = testing.spec(seed=None, rounds=20)
    orders = {
        name: [t.side for t in planning.make(unseeded, "mariadb", name, READ_ONLY).trials]
        for name in ("a", "b")
    }
    assert orders["a"] != orders["b"]
    assert orders["a"] == [
        t.side for t in planning.make(unseeded, "mariadb", "a", READ_ONLY).trials
    ]


@settings(deadline=None)
@given(plans(restore="after_writes"))
def test_no_trial_meets_data_that_was_written_to(plan: Plan) -> None:
    """`after_writes`: every trial finds its side's snapshot, and no restore is for nothing."""
    clean = dict.fromkeys(SIDES, False)
    for trial in plan.trials:
        assert trial.restore == (not clean[trial.side])
        clean[trial.side] = trial.workload in READ_ONLY


@settings(deadline=None)
@given(plans(restore="every_trial"), plans(restore="never"), plans(restore="per_workload"))
def test_the_other_restore_policies(every: Plan, never: Plan, per_workload: Plan) -> None:
    """`every_trial` restores before each, `never` before none, `per_workload` before each block."""
    assert all(t.restore for t in every.trials)
    assert not any(t.restore for t in never.trials)
    seen: set[tuple[int, str, str]] = set()
    for trial in per_workload.trials:
        block = (trial.round, trial.workload, trial.side)
        assert trial.restore == (block not in seen)
        seen.add(block)


def test_a_longer_campaign_is_estimated_as_longer() -> None:
    """Minutes grow with rounds and seconds, disk with the dataset; nothing here costs money."""
    small = testing.plan()
    assert testing.plan(rounds=6).minutes > small.minutes
    assert testing.plan(seconds=40).minutes > small.minutes
    assert testing.plan(restore="never").minutes < small.minutes
    assert (
        testing.plan(dataset={"tables": 16, "table_size": 10_000_000}).disk_gib > small.disk_gib > 0
    )
    assert small.dollars is None


@pytest.mark.parametrize("sides", ["same", "different"])
def test_the_json_has_the_promised_shape(sides: str) -> None:
    """The fields that `plan --json` promises are there, by these names, in every trial."""
    document = testing.plan(sides=sides).to_json()
    promised = ["report", "engine", "target", "sides", "rounds", "trials", "hosts"]
    promised += ["minutes", "dollars", "disk_gib"]
    assert [key for key in document if key != "seed"] == promised
    assert list(document["sides"]) == ["baseline", "candidate"]
    for trial in document["trials"]:
        assert list(trial) == [
            *("index", "round", "side", "workload", "threads", "restore", "seconds")
        ]
    for host in document["hosts"]:
        assert list(host) == ["role", "instance_type", "vcpu"]
