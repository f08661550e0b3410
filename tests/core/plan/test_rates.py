"""A plan learns from what earlier campaigns took, as soon as there are enough of them."""

from __future__ import annotations

from typing import Any

import pytest

from benchlab.plan.rates import LATEST_CAMPAIGNS, Learned, Size, StepTime, TimedStep, learned
from benchlab.plan.report_type import Side
from benchlab.plan.steps import Basis, plan_steps, sizes
from tests.builders import plans

ROWS = Size(1_000_000, "rows")


def took(campaign: str, seconds: float, size: Size = ROWS, **fields: Any) -> tuple[str, StepTime]:
    """What loading the baseline took in a campaign."""
    return campaign, StepTime(fields.get("step", "load"), "baseline", seconds, size)


def test_two_campaigns_are_not_enough() -> None:
    """A strange one would count as much as the other."""
    assert learned([took("a", 10), took("b", 90)], {"load": ROWS}) == {}


def test_a_single_strange_campaign_does_not_decide() -> None:
    """The median of three is one of the two that agree."""
    found = learned([took("a", 10), took("b", 900), took("c", 12)], {"load": ROWS})
    assert found == {"load": Learned(12, 3)}


def test_a_rate_is_for_the_size_of_the_plan() -> None:
    """Half as many rows take half as long; a tenth of them is too little to say anything."""
    times = [took(name, 10) for name in "abc"]
    assert learned(times, {"load": Size(500_000, "rows")}) == {"load": Learned(5, 3)}
    assert learned(times, {"load": Size(100_000, "rows")}) == {}
    assert learned(times, {"load": Size(1_000_000, "hosts")}) == {}


def test_both_sides_of_a_campaign_are_one_figure() -> None:
    """It counts once in the median, however many sides it has."""
    of_sides: tuple[tuple[Side, float], ...] = (("baseline", 10.0), ("candidate", 14.0))
    times = [
        (name, StepTime("load", side, seconds, ROWS))
        for name in "abc"
        for side, seconds in of_sides
    ]
    assert learned(times, {"load": ROWS}) == {"load": Learned(12, 3)}


def test_the_latest_campaigns_count() -> None:
    """So that faster disks are believed after weeks, not after years."""
    slow = [took(f"old-{n}", 100) for n in range(50)]
    fast = [took(f"new-{n}", 10) for n in range(LATEST_CAMPAIGNS)]
    assert learned([*fast, *slow], {"load": ROWS})["load"] == Learned(10, LATEST_CAMPAIGNS)


@pytest.mark.parametrize("step", ["provision", "deploy", "load", "analyze", "back up"])
def test_a_stage_of_a_fleet_takes_as_long_as_is_learned(step: TimedStep) -> None:
    """On each side; whatever is not learned stays as it is assumed."""
    spec, fleet = plans.fleet_spec(), plans.ec2_topology()
    basis = Basis(learned={step: Learned(66, 3)})
    for made, assumed in zip(
        plan_steps(spec, (), fleet, basis), plan_steps(spec, (), fleet), strict=True
    ):
        is_learned = made.stage == step
        assert made.minutes == (1.1 if is_learned else assumed.minutes)


def test_what_br_restores_is_not_estimated_by_what_a_client_loads() -> None:
    """With the dataset on S3 the stage `load` is another step."""
    fleet = plans.ec2_topology()
    known: dict[str, Learned] = {"load": Learned(6000, 3), "restore dataset": Learned(60, 3)}
    for dataset, minutes in (("kept", 1), (None, 100)):
        spec = plans.fleet_spec(snapshots=dataset and "s3://bucket/prefix")
        steps = plan_steps(spec, (), fleet, Basis(dataset, known))  # type: ignore[arg-type]
        assert {step.minutes for step in steps if step.stage == "load"} == {minutes}


def test_trials_take_as_long_as_is_learned() -> None:
    """Restored or only restarted, and beside their run."""
    spec = plans.spec(restore="per_workload", placement="sequential", rounds=1, warmup_seconds=0)
    trials = plans.plan(spec).trials
    known = {"restore": Learned(100, 3), "trial": Learned(7, 3)}
    measure = [
        s for s in plan_steps(spec, trials, None, Basis(learned=known)) if s.stage == "measure"
    ]
    restored = sum(trial.restore for trial in trials)
    wanted = sum(trial.seconds + 7 for trial in trials) + 100 * restored
    assert sum(step.minutes for step in measure) * 60 == pytest.approx(wanted)


def test_every_step_has_a_size_on_every_kind_of_target() -> None:
    """Rows for what reads or writes them, bytes for copies, hosts for all else."""
    of_one = sizes(plans.spec(), None)
    of_fleet = sizes(plans.fleet_spec(), plans.ec2_topology())
    assert of_one.keys() == of_fleet.keys()
    assert (of_fleet["load"], of_fleet["deploy"]) == (Size(160_000_000, "rows"), Size(10, "hosts"))
