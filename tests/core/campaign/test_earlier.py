"""What campaigns that compared two versions teach later ones about deployments."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab import home, language
from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison
from benchlab.analysis.verdict.estimates import LATEST_EARLIER
from benchlab.campaign.outcome import Comparer
from benchlab.plan.order import PlannedTrial
from benchlab.report.formats import json_text
from benchlab.report.model import report as model
from benchlab.report.sentences import opening, wording
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from tests.builders import campaigns

POINT = "oltp_point_select"
DAY = timedelta(days=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store in a home of its own."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as made:
        yield made


def campaign(number: int, **fields: Any) -> Campaign:
    """Two deployments of three rounds, on the day with this number."""
    shape = {"workloads": [POINT], "threads": [4, 8], "rounds": 6, "deployments": 2}
    made = campaigns.campaign(id=f"c{number:02}", **{**shape, **fields})
    began = made.started_at + number * DAY
    return dataclasses.replace(made, started_at=began, ended_at=began + DAY / 4)


def add(store: Store, made: Campaign, change: float) -> Campaign:
    """Store it with a candidate so much (a fraction) faster; deployments differ by 0.5 %."""
    dice = random.Random(made.id)
    sides = {
        (side, number): math.exp(dice.gauss(0, 0.005))
        for side in ("baseline", "candidate")
        for number in (1, 2)
    }

    def tps(trial: PlannedTrial) -> float:
        number = made.plan.deployment_of(trial.round)
        own = sides[trial.side, number] * math.exp(dice.gauss(0, 0.004))
        return 1000 * trial.threads * own * (1 + change * (trial.side == "candidate"))

    store.add_campaign(made)
    for result in campaigns.results_of(made.plan, tps):
        store.add_trial(made.id, result)
    return made


def history(store: Store, count: int = 8, **fields: Any) -> list[Campaign]:
    """Every other one compared versions of which one is 20 % faster."""
    return [add(store, campaign(number, **fields), 0.2 * (number % 2)) for number in range(count)]


def outcome(store: Store, made: Campaign) -> Comparison:
    """The comparison of a campaign, as a report has it."""
    return Comparer(home.find(), store).outcome(made).comparison


def width(found: WorkloadComparison) -> float:
    """Of the 95 % interval, in percent."""
    assert found.ci95_pct is not None
    return found.ci95_pct[1] - found.ci95_pct[0]


def test_what_earlier_campaigns_show_narrows_an_interval_whatever_they_found(store: Store) -> None:
    """Their versions differ by as much in all deployments; the report says how many taught it."""
    made = add(store, campaign(30), -0.03)
    (alone,) = outcome(store, made).workloads
    assert alone.basis == "deployments"
    before = history(store)
    found = outcome(store, made)
    (known,) = found.workloads
    assert known.basis == "earlier campaigns"
    assert width(known) < 0.7 * width(alone)
    assert found.calibration.ids == tuple(one.id for one in before)
    assert known.estimate_pct == alone.estimate_pct, "they say nothing about its versions"
    report = model.build(made, found, store.trials(made.id))
    assert "in the deployments of 8 earlier campaigns" in wording.deployments(report)
    assert "from 8 earlier campaigns" in opening.trust(report)
    document = json_text.to_json(made, found, store.trials(made.id))
    assert document["calibration"]["earlier"] == [one.id for one in before]
    chinese = model.build(made, found, store.trials(made.id), language=language.load("zh"))
    assert "之前的 8 次测试活动" in wording.deployments(chinese)


@pytest.mark.parametrize(
    "change",
    [
        lambda one: dataclasses.replace(one, state="failed"),
        lambda one: dataclasses.replace(one, ended_at=one.started_at + 60 * DAY),
        lambda one: dataclasses.replace(one, environment={"dataset": "new snapshot"}),
        lambda one: dataclasses.replace(one, environment={"client_program": "tiup"}),
        lambda one: campaign(9, slowdown_pct=30),
        lambda one: campaign(9, deployments=1),
        lambda one: campaign(9, report="another"),
        lambda one: campaign(9, dataset={"tables": 1, "table_size": 10}),
    ],
    ids=["failed", "later", "restored", "client", "slowed", "one", "report type", "dataset"],
)
def test_only_campaigns_deployed_alike_before_it_teach_a_campaign(
    store: Store, change: Callable[[Campaign], Campaign]
) -> None:
    """Another setting or a slowdown on purpose shows other differences; the future shows none."""
    add(store, change(campaign(9)), 0.0)
    made = add(store, campaign(30), -0.03)
    assert outcome(store, made).calibration.earlier == {}


def test_only_the_latest_count(store: Store) -> None:
    """So that a fleet which has become noisier is noticed within months."""
    history(store, LATEST_EARLIER + 3)
    made = add(store, campaign(30), 0.0)
    known = outcome(store, made).calibration.ids
    assert known == tuple(f"c{number:02}" for number in range(3, LATEST_EARLIER + 3))


def test_what_was_published_rests_on_what_there_was(store: Store) -> None:
    """A campaign that ended after another one began never changes its verdicts."""
    made = add(store, campaign(3), -0.03)
    before = outcome(store, made).workloads
    for number in range(4, 12):
        add(store, campaign(number), 0.0)
    assert outcome(store, made).workloads == before


def test_noisier_deployments_than_those_before_are_said_and_widen_the_interval(
    store: Store,
) -> None:
    """What quieter campaigns show counts as much as this campaign's own scatter says."""
    history(store)
    made = campaign(30)
    dice = random.Random(3)
    store.add_campaign(made)
    for result in campaigns.results_of(
        made.plan, lambda trial: 1000 * trial.threads * math.exp(dice.gauss(0, 0.06))
    ):
        store.add_trial(made.id, result)
    (found,) = outcome(store, made).workloads
    assert any("vary more than those of the campaigns before" in str(r) for r in found.reasons)
    assert width(found) > 6
