"""`benchlab calibrate` and the sensitivity of a plan: from the store to what a person reads."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner, Result

from benchlab.campaign.outcome import Comparer
from benchlab.cli import main
from benchlab.engines.mariadb_counts import COUNTS
from benchlab.errors import BenchlabError
from benchlab.home import Home, find
from benchlab.language import Message
from benchlab.plan.report_type import MAX_DEPLOYMENTS
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from benchlab.targets import local
from tests.builders import campaigns, plans

ROOT = Path(__file__).parents[3]
WORKLOADS = ["oltp_point_select", "oltp_update_index"]
NUMBERS = {
    "false_positive_rate",
    "false_positive_ci95",
    "deployment_sd_pct",
    "deployment_missing",
    "smallest_change_pct",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The house's configuration, an empty state in which MariaDB is installed."""
    for name in ("BENCHLAB_STORE_URL", "BENCHLAB_OBJECTS", "BENCHLAB_TIDB_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BENCHLAB_PROJECT", str(ROOT))
    monkeypatch.setenv("BENCHLAB_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "120")
    found = find()
    for version in ("10.2.11", "10.11.5"):  # as far as planning looks
        program = found.servers / "mariadb" / version / "bin" / "mariadbd"
        program.parent.mkdir(parents=True)
        program.write_text("")
    return found


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """The report type of the campaigns, as a file."""
    raw = plans.spec(workloads=WORKLOADS).model_dump(mode="json", exclude={"schedule"})
    path = tmp_path / "sysbench_test.yaml"
    path.write_text(yaml.safe_dump(raw))
    return path


def save(
    home: Home,
    campaign_id: str,
    *,
    noise: float = 0.01,
    deployment: float = 0.0,
    intervals: int = 0,
    draws: str = "",
    writes: float | None = None,
    change: Callable[[Campaign], Campaign] = lambda campaign: campaign,
    **fields: Any,
) -> Campaign:
    """A campaign in the store, A/A unless ``fields`` say otherwise, with normal noise.

    Args:
        noise, deployment: standard deviations of a round's log ratio, and of a deployment's.
        intervals: how long the series are; 0: there are none.
        draws: what decides the noise; the campaign's id unless given.
        writes: noise of the rows that a transaction writes, of trials whose counts were read.
    """
    spec = plans.spec(
        **{"sides": "same", "workloads": WORKLOADS, "rounds": 6, "seconds": 30, **fields}
    )
    made = campaigns.campaign(spec, id=campaign_id)
    here = {**made.environment, **local.machine()}
    stored = change(dataclasses.replace(made, plan=plans.plan(spec, campaign_id), environment=here))
    if writes is not None:
        names = ("rows_read", "rows_written")
        read = tuple(one.metric() for one in COUNTS if one.name in names)
        own = dataclasses.replace(stored.plan, metrics=(*stored.plan.metrics, *read))
        stored = dataclasses.replace(stored, plan=own)
    random = np.random.default_rng(sum((draws or campaign_id).encode()))
    off = {
        (name, number): random.normal(0, deployment) if deployment else 0.0
        for number in range(1, spec.deployments + 1)
        for name in spec.workloads
    }
    blocks: dict[tuple[str, int], float] = {}
    with Store(home.store_url, home.objects) as store:
        store.add_campaign(stored)
        # Not in the drawn order of the trials, so that the same name has the same noise.
        for trial in sorted(stored.plan.trials, key=lambda t: (t.round, t.workload, t.threads)):
            d = blocks.setdefault((trial.workload, trial.round), random.normal(0, noise))
            d += off[trial.workload, stored.plan.deployment_of(trial.round)]
            factor = np.exp(d) if trial.side == "candidate" else 1.0
            name = f"{campaign_id}/{trial.id}-a1.csv"
            takes: dict[str, Any] = {}
            if writes is not None:
                takes = {"rows_read": 1.0, "rows_written": 4 * math.exp(random.normal(0, writes))}
            result = campaigns.trial_result(
                trial, tps=float(1000 * factor), p95_ms=float(2 / factor), **takes
            )
            store.add_trial(campaign_id, dataclasses.replace(result, series=name))
            if intervals:
                values = 1000 * factor * (1 + random.normal(0, 0.02, intervals))
                lines = [f"{n}.0,{value:.2f}" for n, value in enumerate(values, 1)]
                store.write_bytes(name, "\n".join(["t,tps", *lines, ""]).encode())
    return stored


def run(*arguments: object) -> Result:
    """`benchlab ARGUMENTS`, which ends well."""
    done = CliRunner().invoke(main.app, [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def refused(*arguments: object) -> str:
    """The message of a command that is refused."""
    with pytest.raises(BenchlabError) as error:
        CliRunner().invoke(main.app, [*map(str, arguments)], catch_exceptions=False)
    return str(error.value)


def calibrated(*arguments: object) -> dict[str, Any]:
    """What `benchlab calibrate --json` prints."""
    document: dict[str, Any] = json.loads(run("calibrate", *arguments, "--json").stdout)
    return document


# ---------------------------------------------------------------- what it says


def test_the_json_has_the_promised_shape(home: Home) -> None:
    """For throughput and p95 alike; rates are shares, with their interval around them."""
    ids = [save(home, f"aa{n}", intervals=30).id for n in range(5)]
    document = calibrated(*ids)
    assert set(document) >= {
        *("campaigns", "report", "rounds", "workloads", "family_wise_false_positive_rate"),
        *("proposals", "notes"),
    }
    assert (document["campaigns"], document["report"]) == (ids, "sysbench_test")
    assert document["rounds"] == 6
    assert [workload["name"] for workload in document["workloads"]] == WORKLOADS
    for workload in document["workloads"]:
        assert (workload["metric"], workload["latency"]["metric"]) == ("tps", "p95_ms")
        for found in (workload, workload["latency"]):
            assert set(found) >= NUMBERS
            low, high = found["false_positive_ci95"]
            assert 0 <= low <= found["false_positive_rate"] <= high <= 0.06
            assert found["smallest_change_pct"] > 2
            assert found["deployment_sd_pct"] >= 0
            assert found["deployment_missing"] is None
    assert 0 <= document["family_wise_false_positive_rate"] <= 0.06


def test_with_two_campaigns_the_intervals_are_said_to_rest_on_an_assumption(home: Home) -> None:
    """How many there are, and what is assumed."""
    document = calibrated(save(home, "aa1").id, save(home, "aa2").id)
    for workload in document["workloads"]:
        assert workload["deployment_sd_pct"] > 0
        assert "2 A/A campaigns" in workload["deployment_missing"]
        assert "±1% a side" in workload["deployment_missing"]


def test_the_deployment_variance_is_the_one_that_is_there(home: Home) -> None:
    """Twelve deployments that differ by 3 %, measured with little noise."""
    ids = [save(home, f"aa{n}", noise=0.002, deployment=0.03).id for n in range(12)]
    for workload in calibrated(*ids)["workloads"]:
        assert 1.5 < workload["deployment_sd_pct"] < 5


def test_the_same_campaigns_give_the_same_figures(home: Home) -> None:
    """Byte for byte, in whatever order they are named."""
    ids = [save(home, f"aa{n}").id for n in range(3)]
    first = run("calibrate", *ids, "--json").stdout
    assert first == run("calibrate", *ids, "--json").stdout
    assert first == run("calibrate", *reversed(ids), "--json").stdout


def test_a_dataset_snapshot_counts_for_the_noise_and_not_for_deployments(home: Home) -> None:
    """Both of its sides have one data layout; a note names the campaign."""
    ids = [save(home, f"aa{n}").id for n in range(2)]
    restored = save(
        home,
        "aa4",
        change=lambda c: dataclasses.replace(
            c, environment={**c.environment, "dataset": "restored from a dataset snapshot"}
        ),
    )
    document = calibrated(*ids, restored.id)
    assert all(
        "2 A/A campaigns" in workload["deployment_missing"] for workload in document["workloads"]
    )
    assert any(restored.id in note and "snapshot" in note for note in document["notes"])


def test_trials_of_another_length_count_for_deployments_and_not_for_the_noise(home: Home) -> None:
    """A round of theirs scatters otherwise; a note names the campaign."""
    ids = [save(home, f"aa{n}").id for n in range(2)]
    alone = calibrated(*ids)
    document = calibrated(*ids, save(home, "long", seconds=300, noise=0.3).id)
    assert any(note.startswith("long:") for note in document["notes"])
    for workload, before in zip(document["workloads"], alone["workloads"], strict=True):
        assert workload["deployment_missing"] is None
        assert before["deployment_missing"] is not None


def test_campaigns_without_complete_rounds_say_so_and_give_no_figures(home: Home) -> None:
    """One round cannot show how rounds differ."""
    document = calibrated(save(home, "aa1", rounds=1).id)
    for workload in document["workloads"]:
        assert workload["false_positive_rate"] is None
        assert workload["smallest_change_pct"] is None
    assert document["family_wise_false_positive_rate"] is None
    assert document["proposals"] == []
    assert any("more rounds" in note for note in document["notes"])
    assert "n/a" in run("calibrate", "aa1").stdout


def test_a_false_alarm_of_the_campaigns_themselves_is_named(home: Home) -> None:
    """What really happened stands beside what was resampled."""
    ids = [save(home, "quiet").id, save(home, "loud", noise=0.001, deployment=0.2).id]
    said = run("calibrate", *ids).stdout
    assert "these were false alarms: loud (" in " ".join(said.split())


# ---------------------------------------------------------------- proposals


def test_proposals_find_what_is_wanted_the_cheapest_first(home: Home) -> None:
    """With their hours; nothing is rented, so that there are no dollars."""
    ids = [save(home, f"aa{n}", intervals=30).id for n in range(4)]
    proposals = calibrated(*ids, "--detect", "4")["proposals"]
    assert proposals
    assert [proposal["hours"] for proposal in proposals] == sorted(
        proposal["hours"] for proposal in proposals
    )
    for proposal in proposals:
        assert set(proposal) == {
            *("deployments", "rounds", "seconds", "hours", "dollars", "detects_pct")
        }
        assert 2 < proposal["detects_pct"] <= 4
        assert proposal["dollars"] is None


def test_longer_trials_are_proposed_only_where_series_say_that_they_help(home: Home) -> None:
    """Without series the length stays, and a note says so."""
    without = calibrated(*[save(home, f"aa{n}").id for n in range(3)])
    assert {proposal["seconds"] for proposal in without["proposals"]} == {30}
    assert any("no series" in note for note in without["notes"])
    series = calibrated(*[save(home, f"with{n}", intervals=30).id for n in range(3)])
    assert len({proposal["seconds"] for proposal in series["proposals"]}) > 1
    assert not any("no series" in note for note in series["notes"])


def test_a_fleet_s_proposals_have_dollars_and_stay_within_the_budget(home: Home) -> None:
    """What would cost more than the limit is a sentence, not an error."""
    fleet = plans.fleet_spec(rounds=6, seconds=30, workloads=WORKLOADS)
    fields = fleet.model_dump(mode="json", exclude={"schedule", "sides", "seed"})

    def proposed(limit: float) -> dict[str, Any]:
        budget = {"approve_above": 0, "limit": limit}
        name, changed = f"within-{limit:.0f}", {**fields, "budget": budget}
        made = save(home, name, intervals=30, draws="same", **changed)
        return calibrated(made.id, "--detect", "5")

    dollars = [proposal["dollars"] for proposal in proposed(1000)["proposals"]]
    assert len(dollars) > 1
    assert dollars == sorted(dollars)
    document = proposed((dollars[0] + dollars[1]) / 2)
    assert [proposal["dollars"] for proposal in document["proposals"]] == dollars[:1]
    assert any("more than the limit of $" in note for note in document["notes"])


@pytest.mark.parametrize(("wanted", "said"), [(2, "threshold is 2%"), (2.01, "slowdown of 2.01%")])
def test_what_cannot_be_found_is_a_sentence(home: Home, wanted: float, said: str) -> None:
    """The threshold itself never is, and a hair above it takes too many rounds."""
    document = calibrated(*[save(home, f"aa{n}").id for n in range(3)], "--detect", wanted)
    assert document["proposals"] == []
    assert any(said in note for note in document["notes"])


# ---------------------------------------------------------------- for people


def test_a_person_reads_what_the_figures_mean(home: Home) -> None:
    """Each workload by its title, both metrics, and what to do next."""
    ids = [save(home, f"aa{n}", intervals=30).id for n in range(3)]
    said = run("calibrate", *ids, "--detect", "4").stdout
    for part in ("Point Select", "Update Index", "tps", "p95", "false alarms", "3 A/A campaigns"):
        assert part in said
    assert "detect 3." in said
    assert "rounds of" in said
    assert "3 campaigns show the deployment variance only roughly" in " ".join(said.split())


def test_the_same_campaigns_give_the_same_picture(home: Home, tmp_path: Path) -> None:
    """It names every workload with the slowdown that is found."""
    save(home, "aa0")
    for name in ("one.svg", "other.svg"):
        run("calibrate", "aa0", "--picture", tmp_path / name)
    drawn = (tmp_path / "one.svg").read_text()
    assert drawn == (tmp_path / "other.svg").read_text()
    assert re.search(r">[A-Z][A-Za-z -]+: (from [\d.]+%|above 50%)<", drawn)


def test_without_campaigns_the_store_s_are_listed_with_what_is_missing(home: Home) -> None:
    """In groups that go together, with the command; how to make one where there is none."""
    assert "--set sides=same" in run("calibrate").stdout
    save(home, "aa0")
    save(home, "other", dataset={"tables": 2, "table_size": 10})
    save(home, "slow", slowdown_pct=30)
    save(home, "ab", sides="different")
    said = run("calibrate").stdout
    assert "benchlab calibrate aa0\n" in said
    assert "benchlab calibrate other\n" in said
    assert "2 more are needed" in said
    assert "slow: its candidate was slowed down by 30% on purpose" in said
    assert "ab" not in said.split()


# ---------------------------------------------------------------- what is refused


def test_each_campaign_that_does_not_fit_is_named_with_the_reason(home: Home) -> None:
    """All of them at once, whichever is named first."""
    save(home, "aa0")
    save(home, "ab", sides="different")
    save(home, "slow", slowdown_pct=30)
    save(home, "other", dataset={"tables": 2, "table_size": 10})
    save(home, "failed", change=lambda c: dataclasses.replace(c, state="failed"))
    said = refused("calibrate", "ab", "aa0", "slow", "other", "failed").splitlines()
    assert len(said) == 4
    for line, (name, why) in zip(
        said,
        [
            ("ab", "not an A/A campaign"),
            ("slow", "slowed down by 30%"),
            ("other", "not like aa0: dataset"),
            ("failed", "failed, not complete"),
        ],
        strict=True,
    ):
        assert line.startswith(f"{name}: ")
        assert why in line


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["aa0", "aa0"], "named twice: aa0"),
        (["nothing"], "no campaign 'nothing'"),
        (["aa0", "--detect", "0"], "--detect: must be above 0"),
        (["aa0", "--detect", "nan"], "--detect: must be above 0"),
        (["aa0", "--picture", "power.pdf"], "must end in .svg"),
        (["aa0", "--picture", "no/such/folder/power.svg"], "cannot be written"),
        (["--json"], "goes with campaigns"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(home: Home, arguments: list[str], said: str) -> None:
    """It names the option or the campaign, and what it should be."""
    save(home, "aa0")
    assert said in refused("calibrate", *arguments)


# ---------------------------------------------------------------- the plan


def planned(*arguments: object) -> dict[str, Any]:
    """What `benchlab plan --json` prints."""
    document: dict[str, Any] = json.loads(run("plan", *arguments, "--json").stdout)
    return document


def test_a_plan_says_what_it_finds_and_what_more_rounds_would(home: Home, report: Path) -> None:
    """From the campaigns of its report type and setting, with hours."""
    for n in range(5):
        save(home, f"aa{n}")
    arguments = (report, "--set", "rounds=6", "--set", "seconds=30")
    found = planned(*arguments)["sensitivity"]
    assert found["campaigns"] == [f"aa{n}" for n in range(5)]
    assert found["deployments"] == 5
    assert found["detects_pct"] > 2
    assert [offer["rounds"] for offer in found["offers"]] == [6, 12, 24]
    assert found["cheapest"]["detects_pct"] <= found["wanted_pct"] == 3
    said = run("plan", *arguments).stdout
    rests_on = "the rounds of 5 campaigns (the latest aa4) and their 5 deployments of each side"
    assert f"sensitivity, by {rests_on}: " in said
    assert f"a slowdown of {found['detects_pct']:.1f}% is found in 4 of 5 campaigns" in said
    assert f"detect {found['detects_pct']:.1f}% in " in said
    assert "dollars" not in said


def test_a_plan_proposes_what_finds_a_wanted_change_at_least_cost(home: Home, report: Path) -> None:
    """Deployments and rounds, with hours: a smaller change takes more of both."""
    small, large = (planned(report, "--detect", pct)["sensitivity"] for pct in (3, 9))
    for_small, for_large = small["cheapest"], large["cheapest"]
    assert for_small["detects_pct"] <= 3 < for_large["detects_pct"] <= 9
    assert for_small["deployments"] > for_large["deployments"]
    assert for_small["hours"] > for_large["hours"]
    said = run("plan", report, "--detect", "9").stdout
    assert f"to find 9% at least cost: detect {for_large['detects_pct']:.1f}% in " in said
    below = planned(report, "--detect", 2)["sensitivity"]
    assert (below["cheapest"], "threshold is 2%" in below["why_none"]) == (None, True)
    sequential = planned(report, "--set", "placement=sequential")["sensitivity"]
    assert (sequential["cheapest"], "of up to 100 rounds" in sequential["why_none"]) == (None, True)
    assert "--detect: must be above 0" in refused("plan", report, "--detect", "-1")


def test_a_plan_says_what_finds_a_wanted_change_where_it_may_end_early(
    home: Home, report: Path
) -> None:
    """With `design: release`: at most longer than the fixed plan, on average shorter; one that has
    the design says its own mean, and one that takes it is planned as it was said.
    """
    found = planned(report, "--detect", 4)["sensitivity"]
    offer, mean_minutes = found["by_looks"]
    assert offer["detects_pct"] <= 4
    assert mean_minutes / 60 < found["cheapest"]["hours"] < offer["hours"]
    shape = [f"{name}={offer[name]}" for name in ("deployments", "rounds")]
    taken = [part for one in ("design=release", *shape) for part in ("--set", one)]
    chosen = planned(report, *taken)
    assert chosen["minutes"] / 60 == pytest.approx(offer["hours"], rel=0.01)
    own = chosen["sensitivity"]
    assert own["mean_minutes"] == pytest.approx(mean_minutes, rel=0.01)
    assert own["by_looks"] is None
    assert own["detects_pct"] == pytest.approx(offer["detects_pct"])
    assert "on average while nothing differs" in run("plan", report, "--detect", "4").stdout
    assert "while nothing differs it takes" in run("plan", report, *taken).stdout


def test_a_plan_without_campaigns_says_how_to_get_there(home: Home, report: Path) -> None:
    """No campaigns in JSON; what is assumed for people; and no store is made by asking."""
    assert planned(report)["sensitivity"]["campaigns"] == []
    assert "benchlab run sysbench_test --set sides=same" in run("plan", report).stdout
    assert not (home.root / "results.db").exists()


def test_a_plan_needs_no_store(home: Home, report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that cannot be read is said on stderr, and the plan is shown."""
    for url in ("nonsense", "sqlite:////proc/no/results.db"):
        monkeypatch.setenv("BENCHLAB_STORE_URL", url)
        done = run("plan", report, "--json")
        assert (json.loads(done.stdout)["sensitivity"] is None) == (url == "nonsense")
        assert ("results store" in done.stderr) == (url == "nonsense")


@pytest.mark.parametrize(
    "override",
    ["threads=2", "dataset.tables=1", "workloads=oltp_point_select,oltp_insert"],
)
def test_campaigns_of_another_setting_show_nothing_about_a_plan(
    home: Home, report: Path, override: str
) -> None:
    """Other threads, another dataset, a workload that they have not measured."""
    save(home, "aa0")
    assert planned(report)["sensitivity"]["campaigns"]
    assert planned(report, "--set", override)["sensitivity"]["campaigns"] == []


def test_trials_shorter_than_in_the_aa_campaigns_find_less(home: Home, report: Path) -> None:
    """And longer ones are not taken to find more where no series is stored."""
    save(home, "aa0")
    short, same, long = (
        planned(report, "--set", "rounds=6", "--set", f"seconds={seconds}")["sensitivity"]
        for seconds in (5, 30, 300)
    )
    assert short["detects_pct"] > same["detects_pct"]
    assert long["detects_pct"] == same["detects_pct"]


def test_a_plan_proposes_seconds_by_what_series_say_of_them(home: Home, report: Path) -> None:
    """What varies within a trial only at random is had by seconds, and nothing else by more of
    them; without series, the proposal keeps the plan's own.
    """
    arguments = (report, "--set", "rounds=6", "--set", "seconds=30", "--detect", 4)
    save(home, "without", noise=0.02)
    assert planned(*arguments)["sensitivity"]["cheapest"]["seconds"] == 30
    save(home, "with", noise=0.02, intervals=30)
    shorter = planned(*arguments)["sensitivity"]["cheapest"]
    assert shorter["seconds"] < 30, "the rounds differ by more than their seconds do"
    taken = [f"{name}={shorter[name]}" for name in ("seconds", "rounds", "deployments")]
    as_said = planned(report, *(part for one in taken for part in ("--set", one)))
    assert as_said["minutes"] / 60 == pytest.approx(shorter["hours"], rel=0.01)


def test_trials_of_the_plan_s_own_length_show_its_noise(home: Home, report: Path) -> None:
    """Where there are any; what others were measured since says less of it."""
    save(home, "same", seconds=30, draws="one")
    alone = planned(report, "--set", "rounds=6", "--set", "seconds=30")["sensitivity"]
    save(home, "short", seconds=5, noise=0.3, sides="different")
    both = planned(report, "--set", "rounds=6", "--set", "seconds=30")["sensitivity"]
    assert both["campaigns"] == ["same", "short"]
    assert both["detects_pct"] == alone["detects_pct"]


def elsewhere(campaign: Campaign) -> Campaign:
    """The same on another machine."""
    return dataclasses.replace(campaign, environment={**campaign.environment, "cpu": "another"})


@pytest.mark.parametrize(
    "fields",
    [
        {"change": elsewhere},
        {"change": lambda campaign: dataclasses.replace(campaign, state="failed")},
        {"slowdown_pct": 30},
        {"sides": "single", "engines": {"mariadb": {"baseline": {"version": "10.2.11"}}}},
    ],
)
def test_what_shows_no_noise_of_this_machine_is_left_out_of_its_plans(
    home: Home, report: Path, fields: dict[str, Any]
) -> None:
    """Another machine, no end, a candidate that was slowed down, one side."""
    save(home, "c1", noise=0.3, **fields)
    found = planned(report)["sensitivity"]
    assert (found["campaigns"], found["deployments"]) == ([], 0)


def test_a_plan_says_which_change_of_a_count_it_finds(home: Home, report: Path) -> None:
    """Of one that does not vary the threshold; of another by its noise; of others it is silent."""
    save(home, "quiet", writes=0.02, deployments=6)
    plan = ("--set", "rounds=6", "--set", "deployments=6")
    found = planned(report, *plan)["sensitivity"]["counts"]
    assert found.keys() == {"rows_read", "rows_written"}
    assert 1.0 <= found["rows_read"] < 1.5
    assert 2 < found["rows_written"] < 20
    said = run("plan", report, *plan).stdout
    assert f"what a transaction takes: rows read {found['rows_read']:.1f}%, " in said


def test_a_plan_says_on_what_it_rests(home: Home, report: Path) -> None:
    """Rounds of any campaign; of deployments what was measured of them, else what is assumed."""
    save(home, "c1", sides="different")
    said = run("plan", report).stdout
    assert (
        "sensitivity, by the rounds of 1 campaign (the latest c1), with deployments as assumed, 1% "
        "a side (an A/A campaign shows it: `benchlab run sysbench_test --set sides=same`): "
    ) in said
    save(home, "c2", sides="different", deployments=3)
    rests_on = "by the rounds of 2 campaigns (the latest c2) and their 3 deployments of each side"
    assert f"sensitivity, {rests_on}: " in run("plan", report).stdout


@pytest.mark.parametrize("sides", ["different", "same"])
@pytest.mark.parametrize(
    ("deployments", "rounds", "noise", "deployment"),
    [
        (1, 3, 0.002, 0.0),
        (1, 3, 0.05, 0.0),
        (1, 6, 0.01, 0.0),
        (1, 6, 0.3, 0.0),
        (3, 3, 0.05, 0.0),
        (3, 6, 0.02, 0.0),
        (3, 12, 0.002, 0.05),
        (6, 6, 0.03, 0.0),
        (6, 6, 0.15, 0.0),
        (6, 12, 0.002, 0.2),
    ],
)
def test_a_plan_finds_what_the_report_of_the_same_plan_says(
    home: Home, report: Path, sides: str, deployments: int, rounds: int, noise: float,
    deployment: float,
) -> None:  # fmt: skip
    """The report's interval grows and shrinks with the plan's smallest change, quiet or noisy.

    That is t(1 - 0.04 / 4) + 0.84 standard errors for two workloads, half of the 90 % interval is
    t(0.95): 1.8 to 2.7 times as much, by degrees of freedom, and a little less where an A/A
    campaign calibrates what is planned after it. To have the interval within the threshold takes as
    many times the deployments or rounds as the square of how much wider it is.
    """
    fields: dict[str, Any] = {"sides": sides, "deployments": deployments, "rounds": rounds}
    stored = save(home, "c1", noise=noise, deployment=deployment, **fields)
    with Store(home.store_url, home.objects) as store:
        compared = Comparer(home, store).outcome(stored).comparison
    needed = [
        dict(reason.values)
        for workload in compared.workloads
        for reason in workload.reasons
        if isinstance(reason, Message) and reason.id == "reason-undecidable"
    ]
    most = max(needed, key=lambda said: int(str(said["count"])))
    unit, count = str(most["unit"]), int(str(most["count"]))

    def thresholds(**changed: object) -> float:
        """What the plan finds, in thresholds of 2 %, as logarithms."""
        values = [f"--set={name}={value}" for name, value in {**fields, **changed}.items()]
        found = planned(report, "--set=seconds=30", *values)["sensitivity"]
        assert found["campaigns"] == ["c1"]
        return float(np.log1p(-(found["detects_pct"] or 50) / 100) / np.log1p(-2 / 100))

    now = fields[unit]
    least, largest = (1.2 * ((count - 2) / now) ** 0.5, 3.1 * ((count - 1) / now) ** 0.5)
    assert least < thresholds()
    if most["most"] == "no":
        assert thresholds() < largest
    # One A/A campaign whose sides hardly differed by chance widens what several deployments show.
    if sides == "different" and count <= MAX_DEPLOYMENTS:
        enough = {"rounds": count}
        if unit == "deployments":
            enough = {"deployments": count, "rounds": count * rounds // deployments}
        assert 1 < thresholds(**enough) < 2.8
