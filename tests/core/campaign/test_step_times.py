"""A campaign keeps what its steps took, and later plans rest on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import MagicMock

import pytest

from benchlab.campaign import report_types
from benchlab.campaign.stages import CampaignRun
from benchlab.campaign.step_times import of_trials
from benchlab.errors import EngineError
from benchlab.plan.plan import make
from benchlab.plan.rates import Size, StepTime
from benchlab.plan.steps import sizes
from benchlab.results.store import Store
from tests.builders import campaigns, plans, states
from tests.builders.installation import Here


@pytest.fixture
def store(here: Here) -> Iterator[Store]:
    """The store of an installation."""
    with Store(here.home.store_url, here.home.objects) as opened:
        yield opened


def begun(here: Here, store: Store, name: str = "c1") -> CampaignRun:
    """A campaign on this machine whose target does nothing."""
    spec = report_types.load(report_types.find_report(here.home, "sysbench_local"))
    run = campaigns.begin(here.home, store, spec, name)
    engine = MagicMock(**{"ineffective.return_value": {}, "misfits.return_value": []})
    for act in ("acquire", "interrupt", "preflight"):
        vars(run.target)[act] = MagicMock(return_value=None)
    vars(run.target)["engine"] = vars(run.target)["balancer"] = lambda side: engine
    return run


def kept(store: Store) -> list[tuple[str, str, str | None]]:
    """Campaign, step and side of all that is known."""
    times = store.step_times("local", "mariadb")
    return [(campaign, time.step, time.side) for campaign, time in times]


def test_a_stage_that_ends_keeps_what_it_took(here: Here, store: Store) -> None:
    """With its side and its size."""
    run = begun(here, store)
    run.register()
    states.provisioned(run.state)
    run.deployments.deploy("baseline")
    assert kept(store) == [("c1", "deploy", "baseline")]
    ((_, time),) = store.step_times("local", "mariadb")
    assert time.size == Size(1, "hosts")
    assert time.seconds >= 0


def test_a_deployment_is_tried_again_whatever_the_try_before_left(here: Here, store: Store) -> None:
    """What ended then is not started: it is removed."""
    run = begun(here, store)
    run.register()
    states.provisioned(run.state)
    run.deployments.deploy("baseline")
    asked = [call[0] for call in run.target.engine("baseline").mock_calls]  # type: ignore[attr-defined]
    assert asked.index("deploy") < asked.index("ended_servers")


def test_a_stage_that_failed_or_was_begun_twice_does_not_count(here: Here, store: Store) -> None:
    """Nor does any after a campaign was resumed: it meets what an earlier try has left."""
    run = begun(here, store)
    run.register()
    states.provisioned(run.state)
    engine: Any = run.target.engine("baseline")
    engine.configure_mock(**{"deploy.side_effect": EngineError("no")})
    with pytest.raises(EngineError):
        run.deployments.deploy("baseline")
    engine.configure_mock(**{"deploy.side_effect": None})
    run.deployments.deploy("baseline")
    assert kept(store) == []
    run.register()
    states.provisioned(run.state)
    run.deployments.deploy("candidate")
    assert kept(store) == []


def test_trials_are_counted_by_their_median() -> None:
    """What precedes a run by what was done, all else but warm-up and run beside it."""
    spec = plans.spec(restore="per_workload", rounds=1)
    results = [
        dataclasses.replace(
            campaigns.trial_result(trial),
            started_at=plans.START + timedelta(seconds=20 * trial.index),
            phases={"stop": 1.0, "start": 2.0, "warm-up": 1.0, "run": 4.1}
            | ({"restore": 3.0} if trial.restore else {}),
        )
        for trial in plans.plan(spec).trials
    ]
    found = {step: seconds for step, _, seconds in of_trials(results)}
    restored = [r for r in results[:-1] if r.trial.restore]
    beside = 20 - 3 - 1 - 4 - (3 if 2 * len(restored) > len(results) - 1 else 0)
    assert found["restore"] == 6.0
    assert found["trial"] == pytest.approx(beside)
    assert "restart" not in found


def test_the_time_around_an_invalid_trial_does_not_count() -> None:
    """Its task may have waited for a person, or for hosts that were gone."""
    results = [campaigns.trial_result(trial) for trial in plans.plan(rounds=1).trials]
    strange = [
        dataclasses.replace(result, valid=False, started_at=result.started_at + timedelta(hours=1))
        if result.trial.index % 2
        else result
        for result in results
    ]
    assert list(of_trials(strange)) == []


def test_a_plan_rests_on_three_campaigns_and_says_so(here: Here, store: Store) -> None:
    """`plan --json` has it; the campaign that runs already keeps its own plan."""
    resumed = begun(here, store, "first")
    for name in ("c1", "c2", "c3"):
        store.add_campaign(campaigns.campaign(id=name))
        took = StepTime("restore", None, 100.0, sizes(resumed.spec, None)["restore"])
        store.set_step_time(name, "local", "mariadb", took)
    spec = resumed.spec
    planned = make(plans.to_run(here.home, store, spec), "c4")
    assert planned.learned["restore"].campaigns == 3
    assert planned.to_json()["learned"]["restore"]["campaigns"] == 3
    assert planned.minutes > resumed.plan.minutes
    shown = here.run("plan", "sysbench_local", "--set", "engine=mariadb").stdout
    assert "the median of what they took: restore (of 3)" in shown
    again = campaigns.begin(here.home, store, spec, "first")
    assert not again.is_new
    assert again.plan.minutes == resumed.plan.minutes
