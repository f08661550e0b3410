"""What is kept of campaigns is what would be computed again, whatever happened to them since."""

from __future__ import annotations

import dataclasses
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchlab.analysis.verdict.compare import WorkloadVerdict
from benchlab.analysis.verdict.decision import RULE
from benchlab.campaign.outcome import OUTLINE, Comparer
from benchlab.campaign.outline import outline_of
from benchlab.home import Home
from benchlab.results.records import Condition, Moment, SideFacts, TrialResult
from benchlab.results.store import Store
from benchlab.studies import comparisons
from benchlab.studies.comparisons import Comparisons
from benchlab.studies.long_view import text
from benchlab.studies.long_view.view import long_views
from tests.builders import campaigns, weekly
from tests.builders.weekly import POINT, REPORT, Weeks

INDEX = "oltp_update_index"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of twelve weeks and four A/A campaigns, of which everything is kept."""
    path = tmp_path_factory.mktemp("measured")
    with weekly.installation(path) as weeks:
        for week in range(12):
            candidate, change = ("11.4.5", -0.1) if week > 5 else ("10.11.5", 0.0)
            weeks.add(candidate=candidate, change=change, workloads=[POINT, INDEX], rounds=3)
            if week % 3 == 0:
                weeks.add_aa(0.001 * week, workloads=[POINT, INDEX], rounds=3)
        weeks.add(workloads=[POINT, INDEX], unstable=True)
        weeks.add(state="failed")
        everything(weeks)
    return path


@pytest.fixture
def weeks(measured: Path, tmp_path: Path) -> Iterator[Weeks]:
    """A copy of that store, with gates of its own that may be edited."""
    shutil.copytree(measured, tmp_path / "state")
    shutil.copytree(weekly.ROOT / "configs", tmp_path / "configs")
    with weekly.installation(tmp_path / "state") as opened:
        yield Weeks(Home(tmp_path, tmp_path / "state"), opened.store)


def everything(weeks: Weeks) -> dict[str, Any]:
    """What the store says of all campaigns and over them, to the last digit."""
    made = Comparisons(weeks.home, weeks.store)
    compared = made.all_compared(made.outlines(REPORT))
    views = long_views(Comparisons(weeks.home, weeks.store), REPORT)
    return {
        "outlines": [dataclasses.asdict(one) for one in made.outlines(REPORT)],
        "compared": {name: repr(dict(one.verdicts)) for name, one in compared.items()},
        "errors": {
            name: {workload: repr(found) for workload, found in one.estimates.items()}
            for name, one in compared.items()
        },
        "views": {
            # Pydantic's UTC has a name of its own.
            name: (repr(view.chains).replace("TzInfo(0)", repr(UTC)), text.to_json(view))
            for name, view in views.items()
        },
    }


def itself(weeks: Weeks) -> dict[str, dict[str, WorkloadVerdict]]:
    """The verdicts of all campaigns, each compared from its own trials."""
    return {
        one.id: {
            found.name: found.alone
            for found in Comparer(weeks.home, weeks.store).outcome(one).comparison.workloads
        }
        for one in weeks.store.campaigns(REPORT)
    }


def forget(store: Store) -> None:
    """Let nothing be kept."""
    with store.transaction() as connection:
        connection.exec_driver_sql("DELETE FROM kept")


def a_trial_becomes_invalid(weeks: Weeks) -> None:
    """The slowest of a week."""
    trial = weeks.store.trials("week-002")[0]
    weeks.store.invalidate("week-002", trial.trial.id, trial.attempt, "the disk was full")


def a_trial_of_an_aa_campaign_becomes_invalid(weeks: Weeks) -> None:
    """Which changes what it says of deployments."""
    (aa,) = [one.id for one in weeks.store.campaigns(REPORT) if one.is_aa][:1]
    for trial in weeks.store.trials(aa)[:2]:
        weeks.store.invalidate(aa, trial.trial.id, trial.attempt, "the disk was full")


def a_campaign_is_resumed(weeks: Weeks) -> None:
    """Its failed trial is measured again, with another figure."""
    a_trial_becomes_invalid(weeks)
    everything(weeks)  # as it was while a trial lacked
    weeks.store.reopen("week-002")
    trial = weeks.store.trials("week-002")[0].trial
    pair = [one for one in weeks.store.campaign("week-002").plan.trials if one.pair == trial.pair]
    for one in pair:
        weeks.store.add_trial("week-002", campaigns.trial_result(one, attempt=2, tps=1111.0))
    weeks.store.finish("week-002", "complete")


def a_campaign_is_open_again(weeks: Weeks) -> None:
    """And not in the long view, where only complete ones are."""
    weeks.store.reopen("week-003")


def another_aa_campaign(weeks: Weeks) -> None:
    """Which shows that deployments differ more than was thought."""
    made = campaigns.campaign(
        id="aa-new", sides="same", workloads=[POINT, INDEX], threads=[4], rounds=3,
        engines={"mariadb": {"baseline": {"version": "10.2.11"},
                             "candidate": {"version": "10.11.5"}}},
    )  # fmt: skip
    started = weeks.store.campaigns(REPORT)[-1].started_at + timedelta(weeks=1)
    weeks.store.add_campaign(dataclasses.replace(made, started_at=started))
    for trial in made.plan.trials:
        tps = 1000.0 if trial.side == "baseline" else 1060.0 + trial.round
        weeks.store.add_trial(made.id, campaigns.trial_result(trial, tps=tps))


def another_week(weeks: Weeks) -> None:
    """One more campaign in the chain."""
    made = weeks.store.campaign("week-010")
    again = dataclasses.replace(
        made, id="one-more", started_at=made.started_at + timedelta(weeks=9),
        planned_for=made.started_at + timedelta(weeks=9),
    )  # fmt: skip
    weeks.store.add_campaign(again)
    for result in weeks.store.trials("week-010"):
        weeks.store.add_trial("one-more", result)


def a_dataset_lost_its_consistency(weeks: Weeks) -> None:
    """As is found after the last trial of a campaign that was resumed."""
    facts: SideFacts = weeks.store.campaign("week-004").facts["candidate"]
    condition = Condition("3.3.2.1", "amounts add up", 2)
    lost: dict[Moment, tuple[Condition, ...]] = {"last trial": (condition,)}
    weeks.store.set_facts("week-004", "candidate", dataclasses.replace(facts, consistency=lost))


def an_aa_campaign_was_on_another_machine(weeks: Weeks) -> None:
    """So that it no longer calibrates the others."""
    (aa,) = [one for one in weeks.store.campaigns(REPORT) if one.is_aa][:1]
    weeks.store.set_environment(aa.id, {**aa.environment, "cores": "64"})


def a_gate_is_edited(weeks: Weeks) -> None:
    """A symptom that one side alone shows no longer makes a verdict unstable."""
    for path in (weeks.home.configs / "quality").glob("*.yaml"):
        path.write_text(path.read_text().replace("unstable_from: 1\n", "unstable_from: null\n"))


EVENTS: list[Callable[[Weeks], None]] = [
    a_trial_becomes_invalid,
    a_trial_of_an_aa_campaign_becomes_invalid,
    a_campaign_is_resumed,
    a_campaign_is_open_again,
    another_aa_campaign,
    another_week,
    a_dataset_lost_its_consistency,
    an_aa_campaign_was_on_another_machine,
    a_gate_is_edited,
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.__name__)
def test_what_is_kept_is_what_would_be_computed_again(
    weeks: Weeks, event: Callable[[Weeks], None]
) -> None:
    """To the last digit, after everything that can change it; and each of these changes it."""
    before = everything(weeks)
    event(weeks)
    kept = everything(weeks)
    assert kept != before
    forget(weeks.store)
    assert everything(weeks) == kept
    assert everything(weeks) == kept, "now it is kept again"
    made = Comparisons(weeks.home, weeks.store)
    compared = made.all_compared(made.outlines(REPORT))
    verdicts = {name: dict(found.verdicts) for name, found in compared.items()}
    assert verdicts == itself(weeks), "and it is what each campaign says of itself"


def test_nothing_is_computed_twice(weeks: Weeks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even the trials of one campaign are read where everything is kept."""
    everything(weeks)
    read: list[str] = []
    trials = Store.trials

    def noted(store: Store, name: str) -> list[TrialResult]:
        read.append(name)
        return trials(store, name)

    monkeypatch.setattr(Store, "trials", noted)
    everything(weeks)
    assert read == []
    another_week(weeks)
    read.clear()
    everything(weeks)
    assert read == ["one-more"], "the only new one"


def test_a_campaign_s_page_reads_trials_of_none_that_does_not_calibrate_it(
    weeks: Weeks, caplog: pytest.LogCaptureFixture
) -> None:
    """It takes no longer for a year of other weeks; one that cannot be read is left out."""
    forget(weeks.store)
    with weeks.store.transaction() as connection:
        connection.exec_driver_sql("UPDATE trials SET planned = '' WHERE campaign = 'week-003'")
        connection.exec_driver_sql("UPDATE campaigns SET facts = '' WHERE id = 'week-004'")
    made = Comparisons(weeks.home, weeks.store)
    assert made.outcome(weeks.store.campaign("week-002")).comparison.calibration.campaigns
    (record,) = caplog.records
    assert "left out: campaign week-004" in record.getMessage()


def test_another_rule_decides_all_campaigns_anew(
    weeks: Weeks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an earlier Benchlab decided is not shown as if today's had."""
    monkeypatch.setattr(comparisons, "RULE", RULE + 1)
    monkeypatch.setattr(comparisons, "judge", lambda *_, **__: ())
    made = Comparisons(weeks.home, weeks.store)
    assert made.compared(weeks.store.campaign("week-000")).verdicts == {}


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE kept SET document = substr(document, 1, length(document) - 1)",
        "UPDATE kept SET document = replace(document, '1', '2')",
        "UPDATE kept SET seal = ''",
        "DROP TABLE kept",
    ],
)
def test_damaged_documents_are_computed_again(weeks: Weeks, damage: str) -> None:
    """They are never believed, and never an error."""
    before = everything(weeks)
    with weeks.store.transaction() as connection:
        connection.exec_driver_sql(damage)
    assert everything(weeks) == before


@pytest.mark.parametrize("statement", ["INSERT", "DELETE"])
def test_a_store_that_cannot_be_written_answers(weeks: Weeks, statement: str) -> None:
    """Slowly, and with the same."""
    before = everything(weeks)
    forget(weeks.store)
    with weeks.store.transaction() as connection:
        connection.exec_driver_sql(
            f"CREATE TRIGGER full BEFORE {statement} ON kept "
            "BEGIN SELECT RAISE(FAIL, 'the disk is full') FROM (SELECT 1); END"
        )
    assert everything(weeks) == before


def test_two_that_compute_at_once_agree(weeks: Weeks) -> None:
    """Neither fails, and what is left is whole."""
    before = everything(weeks)
    forget(weeks.store)
    found: list[dict[str, Any]] = []

    def compute() -> None:
        with Store(str(weeks.store.database.shown_url), weeks.store.objects) as own:
            found.append(everything(Weeks(weeks.home, own)))

    both = [threading.Thread(target=compute) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert found == [before, before]
    assert everything(weeks) == before


def test_an_outline_comes_back_as_it_was(weeks: Weeks) -> None:
    """Through JSON, with every number and time."""
    for campaign in [*weeks.store.campaigns(REPORT), campaigns.fleet_campaign()]:
        made = outline_of(campaign)
        assert OUTLINE.from_json(json.loads(json.dumps(OUTLINE.to_json(made)))) == made
