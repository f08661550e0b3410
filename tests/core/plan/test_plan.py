"""A plan runs every cell on both sides in every round, fairly, and the same for the same seed."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab import workloads as catalog
from benchlab.errors import SpecError
from benchlab.home import find
from benchlab.plan import order, pricing, rates, report_type, steps, topology
from benchlab.plan import plan as planning
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.plan.topology import Topology
from tests.builders import plans as testing

WORKLOADS = (
    *("oltp_point_select", "oltp_read_write", "oltp_update_index"),
    *("oltp_update_non_index", "oltp_insert"),
)
READ_ONLY = catalog.read_only()
CONFIGS = find().configs
PRICES = pricing.load(CONFIGS / "prices.csv")
SNAPSHOTS = {"snapshots": "s3://bucket/prefix"}
KEPT = steps.Basis(dataset="kept")


def weekly(**overrides: Any) -> ReportSpec:
    """The weekly comparison on EC2, as it comes with Benchlab."""
    return report_type.load(CONFIGS / "reports" / "sysbench_ec2.yaml").with_overrides(overrides)


def on_fleet(
    spec: ReportSpec, fleet: Topology | None = None, basis: steps.Basis = steps.NOTHING_KNOWN
) -> Plan:
    """A plan on the report type's own topology, or on another one."""
    assert spec.topology is not None
    fleet = fleet or topology.load(CONFIGS / "topologies" / f"{spec.topology}.yaml")
    return planning.make(
        testing.resolved(spec, "tidb", topology=fleet, prices=PRICES, basis=basis), "c1"
    )


@st.composite
def plans(draw: st.DrawFn, /, **fixed: Any) -> Plan:
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
    return testing.plan(testing.spec(**fields), campaign)


def blocks(plan: Plan) -> list[tuple[int, str, str]]:
    """Round, workload and side of each block in the order in which they run."""
    return [key for key, _ in itertools.groupby((t.round, t.workload, t.side) for t in plan.trials)]


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


@given(plans())
def test_the_two_blocks_of_a_pair_are_adjacent(plan: Plan) -> None:
    """In a round each workload runs on one side, then the other: drift affects both alike."""
    order = blocks(plan)
    assert len(order) == len(set(order))  # a block is contiguous
    for first, second in zip(order[::2], order[1::2], strict=True):
        assert first[:2] == second[:2]
        assert {first[2], second[2]} == set(SIDES)
    assert [number for number, _, _ in order] == sorted(number for number, _, _ in order)


@given(plans())
def test_both_sides_run_the_same_blocks(plan: Plan) -> None:
    """Within a pair both sides run the same thread counts in the same order."""
    sweeps: dict[tuple[int, str], set[tuple[int, ...]]] = {}
    for key, members in itertools.groupby(plan.trials, key=lambda t: (t.pair, t.side)):
        sweeps.setdefault(key[0], set()).add(tuple(t.threads for t in members))
    assert all(len(orders) == 1 for orders in sweeps.values())


def test_every_workload_and_thread_count_may_come_first() -> None:
    """Drawn for each round and pair by the seed, so that no cell always has the same place."""
    plan = testing.plan(rounds=12, threads=[4, 8, 16])
    rounds = itertools.groupby(plan.trials, key=lambda t: t.round)
    assert {next(members).workload for _, members in rounds} == {t.workload for t in plan.trials}
    pairs = itertools.groupby(plan.trials, key=lambda t: t.pair)
    assert {next(members).threads for _, members in pairs} == {4, 8, 16}


@given(plans())
def test_a_plan_knows_the_order_of_its_report_type(plan: Plan) -> None:
    """Tables and curves have it, whatever the order in which the trials run."""
    spec = testing.spec(threads=[8, 2, 4], workloads=["oltp_insert", "oltp_point_select"])
    made = Plan.from_json(testing.plan(spec, "c1").to_json())
    assert made.workloads_in_order == spec.workloads
    assert made.threads_in_order("oltp_insert") == spec.threads
    assert set(plan.workloads_in_order) == {trial.workload for trial in plan.trials}


@given(plans())
def test_a_warm_up_comes_first_in_a_block_and_after_each_restart(plan: Plan) -> None:
    """Elsewhere the caches are as the trial before has left them."""
    seen: set[tuple[int, str, str]] = set()
    for trial in plan.trials:
        block = (trial.round, trial.workload, trial.side)
        assert trial.warm_up == (trial.restore or block not in seen)
        seen.add(block)


@given(plans())
def test_which_side_comes_first_is_balanced(plan: Plan) -> None:
    """Over the rounds of a workload each side comes first equally often, give or take one."""
    firsts = Counter((workload, side) for _, workload, side in blocks(plan)[::2])
    for workload in {t.workload for t in plan.trials}:
        assert abs(firsts[workload, "baseline"] - firsts[workload, "candidate"]) <= 1


def test_which_side_comes_first_is_left_to_chance() -> None:
    """Over many seeds the first round starts with either side, so that no order can be assumed."""
    firsts = {
        tuple(t.side for t in testing.plan(seed=seed, threads=[4]).trials[::2])
        for seed in range(60)
    }
    assert {order[0] for order in firsts} == set(SIDES)
    assert len(firsts) > 4


@given(plans(), st.integers(0, 2**32))
def test_the_seed_decides_the_order(plan: Plan, seed: int) -> None:
    """The same seed gives the same plan, whatever the campaign is called."""
    spec = testing.spec(seed=seed)
    assert testing.plan(spec, "a") == testing.plan(spec, "b")
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_without_a_seed_the_campaign_decides_the_order() -> None:
    """A campaign that is planned again is the same campaign; another one has another order."""
    unseeded = testing.spec(seed=None, rounds=20)
    orders = {name: [t.side for t in testing.plan(unseeded, name).trials] for name in ("a", "b")}
    assert orders["a"] != orders["b"]
    assert orders["a"] == [t.side for t in testing.plan(unseeded, "a").trials]


@given(plans(restore="after_writes"))
def test_no_trial_meets_data_that_was_written_to(plan: Plan) -> None:
    """`after_writes`: every trial begins with its side's snapshot; no restore is superfluous."""
    clean = dict.fromkeys(SIDES, False)
    for trial in plan.trials:
        assert trial.restore == (not clean[trial.side])
        clean[trial.side] = trial.workload in READ_ONLY


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
    promised = ["report", "engine", "target", "sides", "rounds", "seed", "trials", "hosts"]
    promised += ["minutes", "dollars", "disk_gib"]
    assert list(document)[: len(promised)] == promised
    for step in document["steps"]:
        assert list(step) == ["stage", "side", "what", "minutes"]
    assert list(document["sides"]) == ["baseline", "candidate"]
    for trial in document["trials"]:
        assert list(trial) == [
            *("index", "round", "side", "workload", "threads", "restore", "seconds")
        ]
    for host in document["hosts"]:
        assert list(host) == ["role", "instance_type", "vcpu"]


def test_a_plan_keeps_the_metrics_of_its_client() -> None:
    """A stored campaign is compared by the metrics it was planned for, even if these change."""
    of_tpcc = testing.plan(workloads=["tpcc"], dataset={"warehouses": 2})
    assert (of_tpcc.throughput.name, of_tpcc.latency.name) == ("tpmc", "new_order_p95_ms")
    assert Plan.from_json(json.loads(json.dumps(of_tpcc.to_json()))) == of_tpcc


@given(plans(placement="sequential"))
def test_in_sequence_all_of_the_baseline_comes_first(plan: Plan) -> None:
    """As published: all rounds of all workloads on the baseline, then the same on the candidate."""
    half = len(plan.trials) // 2
    assert {t.side for t in plan.trials[:half]} == {"baseline"}
    assert {t.side for t in plan.trials[half:]} == {"candidate"}
    cells = [(t.round, t.workload, t.threads, t.restore) for t in plan.trials]
    assert cells[:half] == cells[half:]
    assert [t.index for t in plan.trials] == list(range(len(plan.trials)))


def test_one_version_is_measured_without_a_second_side() -> None:
    """`sides: single` has the baseline's trials only, and half of the preparation."""
    both = testing.spec()
    one = testing.spec(
        sides="single", engines={"mariadb": {"baseline": both.engines["mariadb"].baseline}}
    )
    plan = testing.plan(one, "c1")
    assert list(plan.sides) == ["baseline"]
    assert {t.side for t in plan.trials} == {"baseline"}
    assert len(plan.trials) == one.trial_count
    assert plan.disk_gib == pytest.approx(testing.plan().disk_gib / 2, abs=0.01)


@given(plans())
def test_the_steps_add_up_to_the_estimate(plan: Plan) -> None:
    """The total contains nothing but the steps, and every trial belongs to one of them."""
    assert math.isclose(sum(s.minutes for s in plan.steps), plan.minutes, abs_tol=0.2)
    assert [s.stage for s in plan.steps][:2] == ["prepare", "prepare"]
    measured = sum(s.minutes for s in plan.steps if s.stage == "measure")
    assert measured >= sum(t.seconds for t in plan.trials) / 60 - 0.1


def test_the_weekly_comparison_is_affordable() -> None:
    """4 workloads x 3 thread counts x 6 rounds x 60 s from a snapshot: 4.5 hours, 36 dollars."""
    plan = on_fleet(weekly(**SNAPSHOTS), basis=KEPT)
    assert len({t.workload for t in plan.trials}) == 4
    assert len({t.threads for t in plan.trials}) == 3
    assert (plan.rounds, {t.seconds for t in plan.trials}) == (6, {60})
    assert plan.minutes <= 4.5 * 60
    assert plan.dollars is not None
    assert plan.dollars <= 36


def test_each_deployment_is_planned_with_its_rounds() -> None:
    """Provisioning is paid once; each side is deployed and loaded before its own rounds."""
    one, three = (on_fleet(weekly(rounds=5, deployments=number)) for number in (1, 3))
    stages = [step.stage for step in three.steps]
    prepared = ["deploy", "deploy", "load", *2 * ["analyze", "back up"]]
    assert stages == [
        "provision",
        *(*prepared, "measure", "measure"),
        *(*prepared, "measure", "measure"),
        *(*prepared, "measure"),
        *("publish", "give back"),
    ]
    of_one = steps.preparing_minutes(one.steps, 1)
    idle = 2 * steps.IDLE_S / 60  # idle servers are watched once a campaign
    later = of_one - idle
    found = [steps.preparing_minutes(three.steps, n) for n in (1, 2, 3)]
    assert found == pytest.approx([of_one, later, later])
    assert three.minutes == pytest.approx(one.minutes + 2 * later, abs=0.2)
    assert three.disk_gib == one.disk_gib
    paid = (steps.minutes_with_end(plan.steps, "load", "baseline") for plan in (one, three))
    assert len({*paid}) == 1, "one deployment's"
    assert [three.deployment_of(number) for number in range(1, 6)] == [1, 1, 2, 2, 3]
    assert Plan.from_json(json.loads(json.dumps(three.to_json()))) == three


def test_a_dataset_that_the_campaign_keeps_is_restored_from_then_on() -> None:
    """The first deployment loads it, every later one takes minutes."""
    plan = on_fleet(weekly(**SNAPSHOTS, deployments=2))
    first, second = (steps.preparing_minutes(plan.steps, number) for number in (1, 2))
    assert first > 2 * second
    assert second < steps.preparing_minutes(on_fleet(weekly()).steps, 1)


def test_no_more_deployments_are_planned_than_the_changed_fields_allow() -> None:
    """Whoever asks for fewer rounds need not know of them; what was asked for is not changed."""
    spec = testing.spec(rounds=6, deployments=6)
    assert spec.with_overrides({"rounds": 2}).deployments == 2
    assert spec.with_overrides({"placement": "sequential"}).deployments == 1
    assert spec.with_overrides({"rounds": 12}).deployments == 6
    with pytest.raises(SpecError, match="deployments: 6 of each side take a round each"):
        spec.with_overrides({"rounds": 2, "deployments": 6})


def test_either_side_may_be_prepared_first_and_each_as_often() -> None:
    """What preparing one side does to the other then falls on both."""
    spec = testing.spec(rounds=4, deployments=4, seed=None)
    firsts = [
        tuple(plan.in_order(number)[0] for number in (1, 2, 3, 4))
        for plan in (testing.plan(spec, f"c{n}") for n in range(40))
    ]
    assert {first.count("baseline") for first in firsts} == {2}
    assert {first[0] for first in firsts} == {*SIDES}
    earlier = testing.plan(testing.spec(seed=None), "c1").to_json()
    del earlier["first_prepared"]
    assert Plan.from_json(earlier).in_order() == SIDES


def test_either_side_may_have_the_better_ports_and_they_swap() -> None:
    """What a port does to a cluster falls on both sides, or in half of the campaigns on each."""
    spec = testing.spec(rounds=4, deployments=4)
    drawn = Counter(order.first_ports(spec, seed) for seed in range(40))
    baseline_first, candidate_first = (one * 2 for one in itertools.permutations(SIDES))
    assert drawn.keys() == {baseline_first, candidate_first}
    assert min(drawn.values()) > 10
    plan = on_fleet(weekly(deployments=2))
    assert all(plan.port_set("baseline", n) != plan.port_set("candidate", n) for n in (1, 2))
    assert Plan.from_json(plan.to_json()).first_ports == plan.first_ports, "as it is resumed"
    earlier = plan.to_json()
    del earlier["first_ports"]
    assert [Plan.from_json(earlier).port_set(side, 2) for side in SIDES] == [0, 1]
    assert Plan.from_json(earlier).measures_as(plan)


def test_only_sides_on_the_same_hosts_have_port_sets() -> None:
    """On this machine one server runs at a time, on one port; a sequence is as published."""
    assert "first_ports" not in testing.plan(testing.spec(), "c1").to_json()
    published = on_fleet(weekly(placement="sequential"))
    assert [published.port_set(side) for side in SIDES] == [0, 1]
    assert "first_ports" not in published.to_json()


def test_a_dataset_snapshot_saves_the_load() -> None:
    """A plan without one says what it would take with one, and with one it takes just that."""
    loaded, seeded = on_fleet(weekly()), on_fleet(weekly(**SNAPSHOTS), basis=KEPT)
    assert seeded.minutes < loaded.minutes
    assert (loaded.seeded_minutes, loaded.seeded_dollars) == (seeded.minutes, seeded.dollars)
    assert (seeded.seeded_minutes, seeded.seeded_dollars) == (None, None)


@pytest.mark.parametrize("dataset", ["missing", "unknown"])
def test_a_snapshot_that_is_not_there_saves_nothing(dataset: steps.DatasetState) -> None:
    """The dataset is loaded and backed up to S3 as a step of its own, which takes longer still."""
    first = on_fleet(weekly(**SNAPSHOTS), basis=steps.Basis(dataset=dataset))
    assert first.minutes > on_fleet(weekly()).minutes
    assert sum(str(step.what) == "keep it as a dataset snapshot, by BR" for step in first.steps)
    assert first.seeded_minutes == on_fleet(weekly(**SNAPSHOTS), basis=KEPT).minutes
    assert on_fleet(weekly(**SNAPSHOTS)).dataset == "unknown"


def test_building_the_client_is_paid_for() -> None:
    """On hosts of which it is no part yet."""
    archive = {"archive": "sysbench.tar.gz", "sha256": "a" * 64, "version": "1.1.0"}
    longer = on_fleet(weekly(client=archive)).minutes - on_fleet(weekly()).minutes
    assert longer == pytest.approx(steps.BUILD_S / 60, abs=0.11)


def test_repeats_are_beside_the_plan() -> None:
    """At most so many minutes and dollars more; the plan itself counts none of them."""
    never, twice = on_fleet(weekly(repeat_limit=0)), on_fleet(weekly(repeat_limit=2))
    assert (never.minutes, never.dollars) == (twice.minutes, twice.dollars)
    assert (never.repeat_minutes, never.repeat_dollars) == (0, 0)
    measuring = sum(step.minutes for step in twice.steps if step.stage == "measure")
    assert twice.repeat_minutes == pytest.approx(2 * measuring, abs=0.2)
    assert twice.usd_per_minute is not None
    assert twice.repeat_dollars == pytest.approx(twice.repeat_minutes * twice.usd_per_minute, 0.01)


def test_another_estimate_is_no_other_plan() -> None:
    """A campaign is resumed though its dataset, its pace or a price has become known meanwhile."""
    plan = on_fleet(weekly(**SNAPSHOTS))
    learned = steps.Basis("kept", {"trial": rates.Learned(9.0, 3)})
    assert plan.measures_as(on_fleet(weekly(**SNAPSHOTS), basis=learned))
    assert not plan.measures_as(on_fleet(weekly(**SNAPSHOTS, rounds=5)))


def test_a_fleet_is_prepared_before_it_is_measured_and_given_back_at_the_end() -> None:
    """The steps stand in the order in which they are done."""
    stages = [key for key, _ in itertools.groupby(s.stage for s in on_fleet(weekly()).steps)]
    one_side = ["analyze", "back up"]
    prepared = ["provision", "deploy", "load", *one_side, *one_side]
    assert stages == [*prepared, "measure", "publish", "give back"]


def test_the_dataset_is_checked_before_its_snapshot_and_after_the_last_trial() -> None:
    """Only for TPC-C, on each side; customer by customer where there are few warehouses."""
    few, many = (
        on_fleet(weekly(workloads=["tpcc"], dataset={"warehouses": number})) for number in (10, 11)
    )
    stages = [key for key, _ in itertools.groupby(s.stage for s in few.steps)]
    one_side = ["analyze", "check", "back up"]
    measured = ["measure", "check"]
    prepared = ["provision", "deploy", "load", *one_side, *one_side]
    assert stages == [*prepared, *measured, "publish", "give back"]
    for plan in (few, many):
        checked = [s.side for s in plan.steps if s.stage == "check"]
        assert checked == [*plan.in_order(), *SIDES]
    check = [[s.minutes for s in plan.steps if s.stage == "check"] for plan in (few, many)]
    assert check[0][0] > check[1][0] > 0
    assert check[0][2] > check[0][0], "after the last trial each side is started first"


def test_both_sides_are_loaded_at_once_on_rented_hosts_only() -> None:
    """On hosts that servers may share, one after the other; that takes longer."""
    hosts = topology.load(CONFIGS / "topologies" / "hosts_published.yaml")
    rented, owned = (
        [(s.side, s.minutes) for s in on_fleet(weekly(), fleet).steps if s.stage == "load"]
        for fleet in (None, hosts)
    )
    ((side, both),) = rented
    assert side is None
    assert [side for side, _ in owned] == [*on_fleet(weekly(), hosts).in_order()]
    assert owned[0][1] < both < owned[0][1] + owned[1][1]
    prepared = [step.side for step in on_fleet(weekly(), hosts).steps if step.side]
    assert len([*itertools.groupby(prepared)]) == 2, (
        "one side is ready before the other is deployed"
    )


def test_a_plan_shows_the_sides_in_the_order_in_which_they_are_prepared() -> None:
    """Which is drawn, so that plan and progress agree; in each deployment."""
    hosts = topology.load(CONFIGS / "topologies" / "hosts_published.yaml")
    for seed in range(8):
        for fleet in (None, hosts):
            plan = on_fleet(weekly(seed=seed, rounds=4, deployments=2), fleet)
            shown = [step.side for step in plan.steps if step.stage == "deploy"]
            assert shown == [*plan.in_order(1), *plan.in_order(2)]


def test_where_both_sides_were_loaded_at_once_each_is_analyzed_alone() -> None:
    """The first stops the other, which is started again; where nothing is backed up, both stop."""
    hosts = topology.load(CONFIGS / "topologies" / "hosts_published.yaml")

    def analyzed(fleet: Topology | None, **fields: Any) -> list[float]:
        steps_ = on_fleet(weekly(**fields), fleet).steps
        return [round(60 * step.minutes) for step in steps_ if step.stage == "analyze"]

    (first, second), (alone, again) = analyzed(None), analyzed(hosts)
    assert alone == again
    assert first - alone == pytest.approx(steps.STOP_S, abs=1)
    assert second - alone == pytest.approx(steps.START_S, abs=1)
    one, other = analyzed(None, restore="never")
    assert other - one == pytest.approx(steps.START_S, abs=1)


def test_leaders_that_are_left_as_placed_take_ten_seconds_before_every_trial() -> None:
    """Also where nothing is restarted; levelling takes its time after a restart."""
    few, many = ({"leaders": "as_placed", "threads": threads} for threads in ([8], [8, 16, 32]))
    measured = [
        sum(step.minutes for step in on_fleet(weekly(**fields)).steps if step.stage == "measure")
        for fields in (few, many, {**few, "leaders": "level"}, {**many, "leaders": "level"})
    ]
    trials = [len(on_fleet(weekly(**fields)).trials) for fields in (few, many)]
    more = 60 * ((measured[1] - measured[3]) - (measured[0] - measured[2]))
    assert more == pytest.approx(steps.SETTLED_S * (trials[1] - trials[0]), abs=3)
    trial = on_fleet(weekly()).trials[0]
    longer = steps.trial_minutes(weekly(**few), trial) - steps.trial_minutes(weekly(), trial)
    assert longer == pytest.approx((steps.SETTLED_S - steps.LEVEL_S) / 60)


def test_a_step_of_both_sides_has_to_be_payable_for_each() -> None:
    """Else a campaign would begin a load that its budget does not pay for."""
    plan = on_fleet(weekly())
    (load,) = [s.minutes for s in plan.steps if s.stage == "load"]
    end = sum(s.minutes for s in plan.steps if s.stage in ("publish", "give back"))
    for side in SIDES:
        assert math.isclose(steps.minutes_with_end(plan.steps, "load", side), load + end)


def test_dollars_are_hosts_times_hours() -> None:
    """The published fleet has 144 vCPUs and costs 7.89 dollars an hour, without root volumes."""
    plan = on_fleet(weekly(**SNAPSHOTS))
    assert plan.vcpus == sum(host.vcpu or 0 for host in plan.hosts) == 144
    assert len(plan.hosts) == 10
    hosts = plan.minutes / 60 * 7.89
    assert plan.dollars is not None
    assert hosts < plan.dollars < hosts * 1.01
    assert plan.prices_as_of == min(p.as_of for p in PRICES.prices.values()).isoformat()


def test_a_plan_above_the_limit_is_refused_with_its_arithmetic() -> None:
    """No approval is asked for: the message names limit, hours, hosts, prices and what to do."""
    budget = {"budget": {"approve_above": 5, "limit": 30}}
    with pytest.raises(SpecError) as refused:
        on_fleet(weekly(**SNAPSHOTS, **budget))
    message = str(refused.value)
    for part in ("budget.limit", "$30.00", "3 x i3.4xlarge at $1.248", "hours at", "raise the"):
        assert part in message


def test_who_is_asked_before_money_is_spent() -> None:
    """Above `approve_above` a person; at or below it, or where nothing is rented, nobody."""
    plan = on_fleet(weekly(**SNAPSHOTS))
    assert plan.dollars is not None
    for line, asked in ((plan.dollars - 0.01, True), (plan.dollars, False)):
        spec = weekly(**SNAPSHOTS, budget={"approve_above": line, "limit": 60})
        assert planning.needs_approval(on_fleet(spec), spec.budget) == asked
    assert not planning.needs_approval(testing.plan(), None)


def test_a_rented_fleet_needs_a_budget() -> None:
    """A report type that rents hosts must say how much they may cost."""
    with pytest.raises(SpecError, match="budget: missing"):
        on_fleet(weekly(budget=None))


def test_disk_is_what_each_storage_host_needs() -> None:
    """With as many replicas as hosts each holds all data; twice the hosts hold half each."""
    few = topology.load(CONFIGS / "topologies" / "ec2_published.yaml")
    assert isinstance(few, topology.Ec2Topology)
    tikv = few.roles["tikv"].model_copy(update={"count": 6})
    many = few.model_copy(update={"roles": {**few.roles, "tikv": tikv}})
    spec = weekly(rounds=3)
    apart = on_fleet(spec, few).disk_gib - on_fleet(spec, many).disk_gib
    # Data and snapshot of both sides; an empty store and what TiKV keeps free are on each.
    assert apart == pytest.approx(4 * steps.data_bytes(spec, many) / steps.GIB, abs=0.1)
    assert steps.data_bytes(spec, few) > spec.dataset.rows * 100


def test_a_host_holds_no_more_than_one_copy_of_the_data() -> None:
    """A region has no two replicas on one TiKV, so fewer hosts than replicas hold all data each."""
    three = topology.load(CONFIGS / "topologies" / "ec2_published.yaml")
    assert isinstance(three, topology.Ec2Topology)
    tikv = three.roles["tikv"].model_copy(update={"count": 1})
    one = three.model_copy(update={"roles": {**three.roles, "tikv": tikv}})
    spec = weekly(**SNAPSHOTS)
    assert steps.data_bytes(spec, one) == steps.data_bytes(spec, three)


def test_owned_hosts_cost_nothing() -> None:
    """No dollars, no quota, every machine with all of its roles."""
    plan = on_fleet(report_type.load(CONFIGS / "reports" / "sysbench_hosts.yaml"))
    assert (plan.dollars, plan.vcpus, plan.prices_as_of) == (None, None, None)
    assert [host.role for host in plan.hosts] == [
        "client",
        "tidb+pd+tikv",
        "tidb+tikv",
        "tidb+tikv",
    ]


WATCHED = {"design": "watch", "rounds": 6, "deployments": 6, **SNAPSHOTS}


def test_a_watch_is_planned_as_a_week_that_passes_and_what_a_flag_adds() -> None:
    """Its estimate is the screening alone; the steps that confirm are there, and marked."""
    plan, fixed = (on_fleet(weekly(**fields), basis=KEPT) for fields in (
        WATCHED, {**WATCHED, "design": "fixed", "rounds": 2, "deployments": 2}
    ))  # fmt: skip
    assert plan.minutes == pytest.approx(fixed.minutes, abs=0.1)
    assert (plan.screening_rounds, plan.confirming_rounds) == (2, 4)
    assert [step.confirms for step in plan.steps].count(True) == 4 * (
        sum(step.stage in ("deploy", "load", "analyze", "back up") for step in fixed.steps) // 2 + 1
    )
    assert not plan.steps[-1].confirms
    assert not plan.steps[0].confirms
    names = plan.workloads
    one, both = plan.minutes_to_confirm(names[:1]), plan.minutes_to_confirm(names[:2])
    assert 0 == plan.minutes_to_confirm(()) < one < both < plan.most_minutes - plan.minutes
    whole = sum(step.minutes for step in plan.steps)
    assert plan.most_minutes == pytest.approx(whole, abs=0.2)
    assert plan.minutes < planning.mean_quiet_minutes(plan) < plan.minutes + one
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


def test_approval_is_asked_for_what_a_watch_may_cost_at_most() -> None:
    """Not for the week that passes: nobody is there when something is flagged."""
    budget = {"approve_above": 30, "limit": 45}
    spec = weekly(**WATCHED, budget=budget)
    plan = on_fleet(spec, basis=KEPT)
    assert plan.dollars is not None
    assert plan.dollars < 30
    assert planning.needs_approval(plan, spec.budget)
    modest = weekly(**WATCHED, budget={"approve_above": 45, "limit": 45})
    assert not planning.needs_approval(plan, modest.budget), "the limit ends it there"


def test_a_limit_that_pays_for_no_confirmation_is_refused() -> None:
    """Every flag would be in vain."""
    with pytest.raises(SpecError, match="does not pay for confirming a single workload"):
        on_fleet(weekly(**WATCHED, budget={"approve_above": 20, "limit": 20}), basis=KEPT)


LOOKED = {"design": "release", "rounds": 6, "deployments": 6, **SNAPSHOTS}


def test_a_release_design_is_planned_whole_and_says_when_it_may_end() -> None:
    """Its estimate and its limit are those of all deployments; each spared one is worth its own."""
    budget = {"approve_above": 90, "limit": 90}
    plan, fixed, four = (
        on_fleet(weekly(**{**LOOKED, "budget": budget, **fields}), basis=KEPT)
        for fields in ({}, {"design": "fixed"}, {"design": "fixed", "rounds": 4, "deployments": 4})
    )
    assert plan.looks == (3, 4, 5, 6)
    assert (plan.minutes, plan.dollars) == (fixed.minutes, fixed.dollars)
    assert plan.minutes_until(6) == plan.minutes
    assert plan.minutes_until(4) == pytest.approx(four.minutes, abs=0.3)
    left = plan.without({plan.workloads[0]: 3})
    assert {t.round for t in left.trials if t.workload == plan.workloads[0]} == {1, 2, 3}
    assert {t.round for t in left.trials if t.workload == plan.workloads[1]} == set(range(1, 7))
    assert Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"rounds": 3, "deployments": 3}, "3 leave nothing to save; write at least 4"),
        ({"rounds": 8}, "rounds is 8 and deployments 6; write a multiple"),
        ({"sides": "same"}, "takes `sides: different`"),
        ({"restore": "after_writes"}, "design: release nobody knows beforehand"),
    ],
)
def test_a_release_design_that_cannot_look_is_refused(fields: dict[str, Any], refused: str) -> None:
    """Before anything starts."""
    with pytest.raises(ValueError, match=refused):
        testing.spec(**{**LOOKED, "snapshots": None, **fields})


@pytest.mark.parametrize("seed", range(8))
def test_each_stage_of_a_watch_is_balanced_by_itself(seed: int) -> None:
    """Most weeks have the first stage alone, and a verdict rests on the second alone."""
    plan = testing.plan(testing.spec(**{**WATCHED, "snapshots": None}, seed=seed))
    for rounds in (range(1, 3), range(3, 7)):
        for workload in plan.workloads:
            firsts = [
                next(t.side for t in plan.trials if t.pair == (number, workload))
                for number in rounds
            ]
            assert firsts.count("baseline") == len(rounds) / 2
        prepared = [plan.in_order(number)[0] for number in rounds]
        assert prepared.count("baseline") == len(rounds) / 2


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"rounds": 4, "deployments": 4}, "leave too few after the 2 that screen"),
        ({"deployments": 3}, "rounds is 6 and deployments 3"),
        ({"sides": "same"}, "takes `sides: different`"),
        ({"restore": "after_writes"}, "nobody knows beforehand"),
        ({"screening_rounds": 4}, "at least 3 are needed"),
        ({"schedule": {"runs": "weekly", "cron": "0 2 * * 1"}}, "release_every: 4: with design"),
    ],
)
def test_a_watch_that_cannot_decide_is_refused(fields: dict[str, Any], refused: str) -> None:
    """Before anything starts."""
    with pytest.raises(ValueError, match=refused):
        testing.spec(**{**WATCHED, "snapshots": None, **fields})
