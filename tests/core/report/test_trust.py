"""How far a verdict is trusted: symptoms on one side, deployments, moved thread counts, p95."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab import home, language
from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.verdict.compare import (
    Comparison,
    WorkloadComparison,
    compare,
    rounds_of,
)
from benchlab.analysis.verdict.doubts import cell_gates
from benchlab.analysis.verdict.estimates import Calibration
from benchlab.campaign.outcome import Comparer
from benchlab.home import Home
from benchlab.plan.order import PlannedTrial
from benchlab.report import gate_files
from benchlab.report.formats import json_text, pages, terminal
from benchlab.report.model import report as model
from benchlab.report.sentences import wording
from benchlab.results.records import Campaign, GateResult, TrialResult
from benchlab.results.store import Store
from tests.builders import campaigns

POINT = "oltp_point_select"
STALLS = Gate.model_validate(
    {
        "id": "stalls",
        "class": "symptom",
        "sentence": "no interval is empty",
        "column": "zero_intervals",
        "max": 0,
        "unstable_from": 1,
    }
)
STALLED = GateResult("stalls", "fail", 2.0, STALLS.sentence, "symptom")


def results(
    made: Campaign,
    stalled: Callable[[PlannedTrial], bool] = lambda trial: False,
    change: float = -0.1,
) -> list[TrialResult]:
    """A candidate that is this much (a fraction) faster; some trials show a symptom."""
    measured = campaigns.results_of(made.plan, campaigns.known_change({POINT: change}, 0.001))
    return [
        dataclasses.replace(result, gates=(*result.gates, STALLED))
        if stalled(result.trial)
        else result
        for result in measured
    ]


def campaign(rounds: int = 6, **fields: Any) -> Campaign:
    """One workload at three thread counts."""
    return campaigns.campaign(
        **{"workloads": [POINT], "threads": [4, 8, 16], "rounds": rounds, **fields}
    )


def outcome(made: Campaign, found: Sequence[TrialResult], *gates: Gate) -> WorkloadComparison:
    """The one workload's outcome."""
    return compare(made.plan, found, 2.0, gates=gates).workloads[0]


# ---------------------------------------------------------------- symptoms


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_a_symptom_on_one_side_only_leaves_no_conclusion(side: str) -> None:
    """One trial is enough where a good one never shows it; the figures stay."""
    made = campaign()
    first = next(trial for trial in made.plan.trials if trial.side == side)
    found = outcome(made, results(made, lambda trial: trial is first), STALLS)
    assert found.verdict == found.latency.verdict == "unstable"
    assert found.estimate_pct == pytest.approx(-10, abs=0.2)
    assert tuple(map(str, found.reasons)) == (
        (
            f"symptom stalls appears only on the {side} side, in 1 trial (expected: no "
            "interval is empty)"
        ),
    )


def test_a_symptom_on_both_sides_takes_no_conclusion_away() -> None:
    """What disturbs both alike cancels."""
    made = campaign()
    found = outcome(made, results(made, lambda trial: trial.round == 2), STALLS)
    assert (found.verdict, found.reasons) == ("regression", ())


@pytest.mark.parametrize(("failures", "verdict"), [(5, "regression"), (6, "unstable")])
def test_what_a_good_trial_may_show_by_chance_has_to_pile_up(failures: int, verdict: str) -> None:
    """Six on one side are 3 % of chance, five are not enough."""
    made = campaign()
    stalled = [t for t in made.plan.trials if t.side == "candidate"][:failures]
    often = STALLS.model_copy(update={"unstable_from": 6})
    assert outcome(made, results(made, lambda t: t in stalled), often).verdict == verdict


def test_an_excluded_trial_shows_no_symptom() -> None:
    """Its pair was measured again, and that attempt is the one that counts."""
    made = campaign()
    found = results(made)
    first = made.plan.trials[0]
    again = [
        campaigns.trial_result(t, attempt=2, tps=found[t.index].value("tps"))
        for t in made.plan.trials
        if t.pair == first.pair
    ]
    bad = [
        campaigns.trial_result(first, reasons=["invalid"], gates=[STALLED])
        if r.trial is first
        else r
        for r in found
    ]
    assert outcome(made, [*bad, *again], STALLS).verdict == "regression"


def test_gates_of_cells_are_shown_and_decide_nothing() -> None:
    """A candidate that loses 40 % at one thread count: named, and no reason to trust nothing."""
    made = campaign()
    dice = random.Random(1)

    def tps(trial: PlannedTrial) -> float:
        dip = 0.6 if (trial.side, trial.threads) == ("candidate", 8) else 1.0
        return 1000 * math.sqrt(trial.threads) * dip * math.exp(dice.gauss(0, 0.003))

    gates = gate_files.load_all(home.find().configs / "quality")
    measured = campaigns.results_of(made.plan, tps, lambda t: float(t.threads))
    found = compare(made.plan, measured, 2.0, gates=gates)
    (workload,) = found.workloads
    assert [each.threads for each in workload.heterogeneous] == [8]
    assert workload.verdict == "regression"
    failed = [
        (cell.side, cell.threads, gate.gate)
        for cell in found.cells
        for gate in cell.gates
        if gate.status == "fail"
    ]
    assert failed == [("candidate", 8, "throughput_curve")]
    report = model.build(made, found, measured)
    assert wording.symptoms(report) == [
        (
            "Symptom throughput_curve (expected: throughput is at most 5 % below the "
            "line through the neighbouring thread counts): 1 on the candidate side (Point Select "
            "at 8)."
        ),
    ]


def test_without_gates_of_cells_none_is_evaluated() -> None:
    """As for a store that only knows gates of trials."""
    made = campaign()
    assert cell_gates(rounds_of(made.plan, results(made))[0], [STALLS]) == []


# ---------------------------------------------------------------- A/A campaigns of the store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(f"sqlite:///{tmp_path / 'results.db'}", UPath(tmp_path / "objects")) as opened:
        yield opened


def add(store: Store, made: Campaign, change: float) -> Campaign:
    """A campaign with its trials."""
    store.add_campaign(made)
    for result in results(made, change=change):
        store.add_trial(made.id, result)
    return made


def calibration_for(store: Store, made: Campaign) -> Calibration:
    """What the store's A/A campaigns show; the gates of the installation are not read."""
    return Comparer(Home(Path(), Path()), store).calibration(made)


def aa(number: int, **fields: Any) -> Campaign:
    """An A/A campaign."""
    return campaign(id=f"aa{number}", **{"sides": "same", **fields})


CHANGES = (-0.03, -0.02, 0.0, 0.02, 0.03)


def test_five_aa_campaigns_of_the_store_calibrate_a_campaign(store: Store) -> None:
    """Without any a variance is assumed; the report says what each interval knows, and by whom."""
    made = add(store, campaign(), -0.04)
    alone = compare(made.plan, store.trials(made.id), 2.0, calibration=calibration_for(store, made))
    assert alone.workloads[0].basis == "prior"
    assert "±1% a side is assumed" in said(made, alone, store)
    assert "The rounds of this deployment alone" in said(made, alone, store)
    for number, change in enumerate(CHANGES):
        add(store, aa(number), change)
    known = calibration_for(store, made)
    found = compare(made.plan, store.trials(made.id), 2.0, calibration=known)
    assert found.workloads[0].basis == "A/A campaigns"
    assert found.workloads[0].verdict == "inconclusive"
    assert "measured in 5 A/A campaigns" in said(made, found, store)
    assert known.campaigns == tuple(f"aa{n}" for n in range(5))
    page = pages.markdown(model.build(made, found, store.trials(made.id)))
    assert "aa0, aa1, aa2, aa3, aa4" in page


def said(made: Campaign, found: Comparison, store: Store) -> str:
    """What the report says of deployments."""
    return wording.deployments(model.build(made, found, store.trials(made.id)))


@pytest.mark.parametrize(
    "other",
    [
        campaign(id="x"),
        aa(9, slowdown_pct=30),
        dataclasses.replace(aa(9), state="failed"),
        dataclasses.replace(aa(9), state="running"),
        dataclasses.replace(aa(9), environment={"dataset": "new snapshot"}),
        dataclasses.replace(aa(9), environment={"client_program": "tiup"}),
        aa(9, report="another"),
        aa(9, dataset={"tables": 1, "table_size": 10}),
    ],
    ids=["A/B", "slowed", "failed", "running", "restored", "client", "report type", "dataset"],
)
def test_only_aa_campaigns_that_show_deployments_count(store: Store, other: Campaign) -> None:
    """Four and one of another kind are four."""
    for number, change in enumerate(CHANGES[:4]):
        add(store, aa(number), change)
    add(store, other, 0.5)
    known = calibration_for(store, campaign(id="new"))
    assert known.campaigns == ("aa0", "aa1", "aa2", "aa3")


def test_an_aa_campaign_does_not_calibrate_itself(store: Store) -> None:
    """It would widen its own interval by its own estimate."""
    made = [add(store, aa(number), change) for number, change in enumerate(CHANGES)]
    assert calibration_for(store, made[0]).campaigns == ("aa1", "aa2", "aa3", "aa4")


def test_every_format_shows_the_gates_of_the_campaign_and_the_age_of_its_calibration(
    store: Store,
) -> None:
    """Those of trials are not all: an order as published, and A/A campaigns of last season."""
    made = add(store, campaign(placement="sequential"), -0.04)
    for number, change in enumerate(CHANGES):
        known = aa(number, placement="sequential")
        began = made.started_at - timedelta(days=120 + number)
        add(store, dataclasses.replace(known, started_at=began), change)
    found = Comparer(home.find(), store).outcome(made)
    tallies = {
        gate["gate"]: gate
        for gate in json_text.to_json(made, found.comparison, found.trials)["gates"]
    }
    counts = ("passed", "failed", "not_evaluated")
    assert [tallies["balanced_order"][count] for count in counts] == [0, 1, 0]
    assert [tallies["aa_recent"][count] for count in counts] == [0, 2, 0], "throughput and p95"
    assert tallies["headroom"]["not_evaluated"] == 1
    for code, age, order in (
        (
            "en",
            "The newest A/A campaign is 120 days away from this one.",
            "to within one round): Point",
        ),
        ("zh", "最近一次 A/A 测试与本次测试相距 120 天。", "最多相差一轮）：Point Select"),
    ):
        report = model.build(made, found.comparison, found.trials, language=language.load(code))
        for page in (pages.markdown(report), pages.html(report)):
            assert age in page
            assert order in page
            assert "aa_recent" in page.replace("\\", "")


# ---------------------------------------------------------------- the report


def test_every_format_says_p95_and_what_moved() -> None:
    """A longer latency is a regression, and -10 % at one thread count stands beside the verdict."""
    made = campaign(threads=[1, 2, 4, 8, 16, 32])
    dice = random.Random(2)

    def tps(trial: PlannedTrial) -> float:
        dip = 0.9 if (trial.side, trial.threads) == ("candidate", 8) else 1.0
        return 1000 * math.sqrt(trial.threads) * dip * math.exp(dice.gauss(0, 0.002))

    measured = campaigns.results_of(
        made.plan, tps, lambda t: t.threads * (1.2 if t.side == "candidate" else 1.0)
    )
    report = model.build(made, compare(made.plan, measured, 2.0), measured)
    latency = "p95 latency of 10.11.5 is longer by 20.0% than that of 10.2.11 (regression;"
    moved = "At 8 threads, throughput changed by -"
    texts = (
        pages.markdown(report),
        pages.html(report),
        " ".join(terminal.render(report, 400, False).split()),
    )
    for page in texts:
        assert latency in page
        assert moved in page


def test_no_p95_latency_is_made_up_that_was_never_measured() -> None:
    """It is missing."""
    made = campaign(rounds=2)
    measured = campaigns.results_of(made.plan, lambda t: 1000.0, lambda t: None)
    report = model.build(made, compare(made.plan, measured, 2.0), measured)
    page = pages.markdown(report)
    assert "| p95 latency | n/a | n/a | n/a | inconclusive |" in page
