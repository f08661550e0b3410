"""Symptoms: what a series and the rounds show is found, and what is chance is let be."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from benchlab.analysis.gates import columns as columns_module
from benchlab.analysis.gates import gates, symptoms
from benchlab.engines.tidb.counts import CHANGES
from benchlab.report import gate_files
from benchlab.workloads import sysbench_output, tpcc_output
from benchlab.workloads.output import Interval
from benchlab.workloads.sysbench_output import SysbenchOutput

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden"
GATES = gate_files.load(ROOT / "configs" / "quality" / "symptoms.yaml")
# Recorded good runs: seconds, length of an interval, and the symptoms that they show.
GOOD: dict[str, tuple[int, int, set[str]]] = {
    "sysbench_point_select_t4": (5, 1, set()),
    "sysbench_read_write_t4": (5, 1, set()),
    "sysbench_update_index_t8": (5, 1, set()),
    "sysbench_deadlocks_ignored": (5, 1, {"errors"}),
    "tidb_v6.5.0_read_write_t4": (5, 1, {"variation"}),  # it warms up: 125 to 301 TPS
    "sysbench_percentile0": (3, 1, set()),
    "sysbench_stalled": (4, 1, {"stalls", "variation"}),
    "gotpc_run_plain": (30, 10, set()),
    "gotpc_run_json": (20, 5, set()),
    "gotpc_1.0.12_run": (6, 1, set()),
}


def recorded(name: str) -> Any:
    """A recorded output, read."""
    folder, parse = (
        ("tpcc", tpcc_output.parse) if "gotpc" in name else ("sysbench", sysbench_output.parse)
    )
    return parse((GOLDEN / folder / f"{name}.txt").read_text())


def run_of(*tps: float, interval_s: float = 1, **fields: Any) -> SysbenchOutput:
    """A good run with this series."""
    series = [
        Interval(n * interval_s, rate, 0.0, 4, rate, 1.0, 0.0) for n, rate in enumerate(tps, 1)
    ]
    good: SysbenchOutput = recorded("sysbench_read_write_t4")
    return dataclasses.replace(good, series=series, **fields)


def columns_of(
    output: Any, seconds: float = 5, interval_s: float = 1, *, read_only: bool = False
) -> dict[str, float | None]:
    """The columns of one trial."""
    return symptoms.trial_columns(
        output, seconds=seconds, interval_s=interval_s, read_only=read_only
    )


@pytest.mark.parametrize("name", GOOD)
def test_a_recorded_run_shows_the_symptoms_that_are_in_it(name: str) -> None:
    """Deadlocks, a stall and a warm-up are seen; nothing is seen that is not there."""
    seconds, interval_s, shown = GOOD[name]
    columns = columns_of(recorded(name), seconds, interval_s, read_only="select" in name)
    of_metric = gates.of_metric(GATES, "tpmc" if "gotpc" in name else "tps")
    results = gates.evaluate(of_metric, columns)
    assert {r.gate for r in results if r.status == "fail"} == shown
    assert gates.is_valid(results)


def test_a_run_that_is_not_whole_shows_nothing() -> None:
    """Its gates of validity say what is wrong; half of a series is no symptom."""
    assert set(columns_of(recorded("sysbench_killed_midrun")).values()) == {None}


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("errors", "transactions", "read_only", "passes"),
    [
        *((0, 100_000, False, True), (1, 600, False, True), (11, 100_000, False, True)),
        *((40, 100_000, False, False), (3, 600, False, False)),
        *((0, 100_000, True, True), (1, 100_000, True, False)),
    ],
)
def test_a_read_may_not_fail_and_a_write_rarely(
    errors: int, transactions: int, read_only: bool, passes: bool
) -> None:
    """One deadlock in a short trial is chance among writes, and an error too many among reads."""
    columns = columns_of(run_of(errors=errors, transactions=transactions), read_only=read_only)
    (gate,) = (g for g in GATES if g.id == "errors")
    assert (gate.evaluate(columns).status == "pass") == passes


@pytest.mark.parametrize(("errors", "limit"), [(1, 0.0010005), (10, 2.9605)])
def test_the_errors_that_count_are_more_than_chance(errors: int, limit: float) -> None:
    """The lower 99.9 % limit of a Poisson variable, by tables."""
    columns = columns_of(run_of(errors=errors, transactions=1000))
    assert columns["error_ratio"] == pytest.approx(limit / 1000, rel=1e-3)


def test_errors_that_are_not_known_are_not_zero() -> None:
    """Nor is there a ratio to no transaction."""
    assert columns_of(run_of(errors=None))["error_ratio"] is None
    assert columns_of(run_of(errors=3, transactions=0))["error_ratio"] is None
    assert columns_of(run_of(reconnects=None))["reconnects"] is None


# ---------------------------------------------------------------- the series


def test_an_interval_without_a_transaction_is_counted() -> None:
    """Wherever it lies: first, within, last."""
    assert columns_of(run_of(0, 100, 0, 100, 0))["zero_intervals"] == 3
    assert columns_of(run_of(*[100] * 5))["zero_intervals"] == 0


def test_a_long_stall_does_not_hide_itself() -> None:
    """One good second in three hundred: the other 299 are counted."""
    assert columns_of(run_of(1000, *[0] * 299), 300)["zero_intervals"] == 299


def test_a_slow_workload_is_not_called_stalled() -> None:
    """With 2 transactions a second one second in seven has none, by chance."""
    assert columns_of(run_of(2, 3, 0, 1, 2))["zero_intervals"] is None
    assert columns_of(run_of(2, 3, 0, 1, 2, interval_s=10), 50, 10)["zero_intervals"] == 1


def test_what_the_end_of_the_run_cut_short_is_no_interval() -> None:
    """The rate of its few milliseconds is noise."""
    whole = run_of(*[100] * 5)
    rest = Interval(5.02, 0.0, 0.0, 4, 0.0, None, 0.0)
    cut = dataclasses.replace(whole, series=[*whole.series, rest])
    assert columns_of(cut) == columns_of(whole)


@pytest.mark.parametrize(
    ("printed", "seconds", "interval_s", "missing"),
    [(5, 5, 1, 0), (4, 5, 1, 1), (3, 5, 1, 2), (6, 5, 1, 0), (2, 25, 10, 0), (0, 300, 60, 5)],
)
def test_intervals_that_were_not_printed_are_counted(
    printed: int, seconds: int, interval_s: int, missing: int
) -> None:
    """As many are expected as fit in the time."""
    output = run_of(*[100] * printed, interval_s=interval_s)
    assert columns_of(output, seconds, interval_s)["missing_intervals"] == missing


def test_no_interval_is_missed_where_at_most_one_is_expected() -> None:
    """That one may lack."""
    assert columns_of(run_of(), 5, 5)["missing_intervals"] is None
    assert columns_of(run_of(), 5, 60)["missing_intervals"] is None


def test_the_variation_of_a_known_series() -> None:
    """Standard deviation over mean, of three intervals at least."""
    assert columns_of(run_of(90, 100, 110))["throughput_cv"] == pytest.approx(0.1)
    assert columns_of(run_of(90, 110))["throughput_cv"] is None
    assert columns_of(run_of(0, 0, 0))["throughput_cv"] is None


# ---------------------------------------------------------------- drift


def false_alarms(noise: float, correlation: float, intervals: int, runs: int = 400) -> float:
    """The share of level but noisy series in which the gate sees a drift; correlated noise."""
    random = np.random.default_rng(7)
    steps = random.standard_normal((runs, intervals)) * math.sqrt(1 - correlation**2)
    steps[:, 0] = random.standard_normal(runs)
    for before, now in itertools.pairwise(range(intervals)):
        steps[:, now] += correlation * steps[:, before]
    series = 1000 * np.clip(1 + noise * steps, 0.01, None)
    found = [symptoms.drift_excess(list(rates)) for rates in series]
    return sum(excess > 0.05 for excess in found if excess is not None) / runs


@pytest.mark.parametrize("intervals", [9, 30, 300])
def test_independent_noise_is_hardly_ever_called_a_drift(intervals: int) -> None:
    """Nine short intervals with 15 % of noise: one in a hundred at most."""
    assert false_alarms(0.15, 0.0, intervals) <= 0.01


@pytest.mark.parametrize("correlation", [0.5, 0.8])
def test_noise_that_lasts_for_some_intervals_is_not_called_a_drift(correlation: float) -> None:
    """Flushes and checkpoints outlast an interval; over 300 of them they even out."""
    assert false_alarms(0.15, correlation, 300) <= 0.01


@pytest.mark.parametrize(
    "course", [np.linspace(1.15, 0.85, 300), np.repeat([1.0, 0.8], 150), np.linspace(0.8, 1.2, 300)]
)
def test_a_drift_through_noise_is_found(course: np.ndarray) -> None:
    """A slope or a step of 20 to 40 % under 10 % of noise, in either direction."""
    random = np.random.default_rng(3)
    for _ in range(20):
        rates = 1000 * course * (1 + 0.1 * random.standard_normal(300))
        excess = symptoms.drift_excess(list(rates))
        assert excess is not None
        assert excess > 0.05


def test_the_drift_of_a_series_without_noise_is_the_ratio_itself() -> None:
    """A straight line has no second differences, and so no noise."""
    rates = [100 - second for second in range(30)]
    first, last = sum(rates[:10]), sum(rates[-10:])
    assert symptoms.drift_excess(rates) == pytest.approx(math.log(first / last))


def test_few_intervals_show_no_drift() -> None:
    """Eight are too few, whatever they say; and so is nothing at all."""
    assert symptoms.drift_excess([100.0] * 4 + [1.0] * 4) is None
    assert symptoms.drift_excess([0.0] * 30) is None
    assert symptoms.drift_excess([0.0] * 10 + [5.0] * 10 + [0.0] * 10) is None


def test_a_third_without_any_transaction_is_more_than_a_drift() -> None:
    """It fails whatever the bound."""
    assert symptoms.drift_excess([100.0] * 10 + [0.0] * 5) == math.inf


@given(st.lists(st.floats(0, 1e9), max_size=60), st.integers(1, 60))
def test_any_series_is_judged(tps: list[float], interval_s: int) -> None:
    """Whatever was printed: numbers or None, none below zero and no crash."""
    columns = columns_of(run_of(*tps, interval_s=interval_s), 60, interval_s)
    assert all(value is None or value >= 0 for value in columns.values())


# ---------------------------------------------------------------- cells


def table(rounds: int, *cells: float, noise: float = 0.01, seed: int = 5) -> np.ndarray:
    """Rounds of figures, of shape (rounds, cells), with a noise of 1 %."""
    random = np.random.default_rng(seed)
    return np.array(cells) * (1 + noise * random.standard_normal((rounds, len(cells))))


def test_a_sound_curve_shows_nothing() -> None:
    """Throughput that saturates and latency that grows are as they should be."""
    rates, waits = table(6, 1000, 1800, 2500, 2600), table(6, 1, 1.2, 2, 4)
    for columns in symptoms.cell_columns([1, 2, 4, 8], rates, waits):
        assert columns["p95_fall_pct"] in (None, 0.0)
        assert columns["curve_dip_pct"] in (None, 0.0)


def test_a_cell_off_its_neighbours_is_found_and_measured() -> None:
    """16 of 8, 16 and 32 threads lies 20 % below the line: the 99 % limit is a little less."""
    rates = table(6, 1000, 0.8 * math.sqrt(1000 * 1400), 1400)
    _, middle, _ = symptoms.cell_columns([8, 16, 32], rates, None)
    assert middle["curve_dip_pct"] == pytest.approx(18.5, abs=1.4)


def test_a_latency_that_falls_as_threads_grow_is_found() -> None:
    """p95 of 8 ms at 16 threads after 10 ms at 8 threads: 20 % less."""
    rates, waits = table(6, 1000, 1500), table(6, 10, 8)
    smallest, next_one = symptoms.cell_columns([8, 16], rates, waits)
    assert smallest["p95_fall_pct"] is None
    assert next_one["p95_fall_pct"] == pytest.approx(18.5, abs=1.4)


@pytest.mark.parametrize(("rounds", "quantile"), [(3, 6.9646), (4, 4.5407), (6, 3.3649)])
def test_what_is_beyond_noise_is_students_lower_limit(rounds: int, quantile: float) -> None:
    """Mean less t(0.99, n - 1) times s / sqrt(n), with t from the tables of Student's t."""
    logs = [0.30, 0.31, 0.29, 0.32, 0.30, 0.28][:rounds]
    limit = fmean(logs) - quantile * stdev(logs) / math.sqrt(rounds)
    expected = pytest.approx(100 * (1 - math.exp(-limit)), rel=1e-4)
    waits = np.array([[10.0, 10.0 * math.exp(-log)] for log in logs])
    _, fallen = symptoms.cell_columns([8, 16], np.ones((rounds, 2)), waits)
    assert fallen["p95_fall_pct"] == expected
    # 64 is twice as far from 16 as 16 is from 8: the line is a third of the way down to 8's.
    rates = np.array([[8e3, 4e3 * math.exp(-log), 1e3] for log in logs])
    _, dipped, _ = symptoms.cell_columns([8, 16, 64], rates, None)
    assert dipped["curve_dip_pct"] == expected


def test_what_noise_explains_is_no_symptom() -> None:
    """The same dips under 30 % of noise in three rounds are not beyond it."""
    rates, waits = table(3, 1000, 950, 1400, noise=0.3), table(3, 10, 9, 12, noise=0.3)
    _, middle, _ = symptoms.cell_columns([8, 16, 32], rates, waits)
    assert (middle["curve_dip_pct"], middle["p95_fall_pct"]) == (0.0, 0.0)


def test_the_order_of_the_thread_counts_does_not_matter() -> None:
    """Columns belong to their thread count, wherever it stands."""
    threads, rates, waits = [1, 2, 4, 8], table(4, 9, 5, 9, 8), table(4, 5, 4, 6, 5)
    usual = dict(zip(threads, symptoms.cell_columns(threads, rates, waits), strict=True))
    for order in itertools.permutations(range(4)):
        shuffled = [threads[n] for n in order]
        found = symptoms.cell_columns(shuffled, rates[:, order], waits[:, order])
        assert dict(zip(shuffled, found, strict=True)) == usual


def test_the_variation_between_rounds() -> None:
    """Standard deviation over mean of three rounds or more; a missing one is left out."""
    rates = np.array([[90.0], [100.0], [110.0], [math.nan]])
    (columns,) = symptoms.cell_columns([8], rates, None)
    assert columns["round_cv"] == pytest.approx(0.1)
    assert columns["p95_fall_pct"] is columns["curve_dip_pct"] is None
    (two,) = symptoms.cell_columns([8], rates[:2], None)
    assert two["round_cv"] is None


def test_a_missing_neighbour_leaves_a_cell_not_evaluated() -> None:
    """Pairs are of one round: with two of them left nothing is said."""
    rates = table(4, 1000, 500, 1400)
    rates[:2, 0] = math.nan
    _, middle, _ = symptoms.cell_columns([8, 16, 32], rates, None)
    assert middle["curve_dip_pct"] is None
    assert middle["round_cv"] is not None


@given(
    arrays.arrays(float, (4, 3), elements=st.floats(allow_nan=True, allow_infinity=True)),
    arrays.arrays(float, (4, 3), elements=st.floats(allow_nan=True, allow_infinity=True)),
)
def test_no_figures_bring_the_cells_down(rates: np.ndarray, waits: np.ndarray) -> None:
    """NaN, infinity, zero and below are missing, and a column is a number from 0 on, or None."""
    for columns in symptoms.cell_columns([4, 8, 2], rates, waits):
        assert all(value is None or value >= 0 for value in columns.values())
        assert all((columns[n] or 0) <= 100 for n in ("p95_fall_pct", "curve_dip_pct"))


def test_every_column_of_the_symptoms_is_delivered() -> None:
    """A misspelt column would leave its gate not evaluated for ever; the hosts' are elsewhere."""
    delivered = {
        "trials": set(columns_of(run_of(1, 2, 3))),
        "cells": set(symptoms.cell_columns([4], table(3, 1), None)[0]),
    }
    wanted = {name: {g.column for g in GATES if g.table == name} for name in delivered}
    hosts = set(columns_module.fleet_columns({}))
    servers = {"write_stalls", *(change.name for change in CHANGES)}
    client = set(sysbench_output.parse("").columns(4, None))
    assert wanted["trials"] - delivered["trials"] - hosts - client == servers
    assert wanted["cells"] == delivered["cells"]


def test_the_columns_that_gates_look_at_are_those_that_are_described() -> None:
    """One table says of each what it is, its unit, and when it is None."""
    described = re.findall(r"^``(\w+)``", columns_module.__doc__ or "", flags=re.MULTILINE)
    described.remove("rate_error")  # of the gates of earlier bundles, which are verified with it
    known = gate_files.load_all(ROOT / "configs" / "quality")
    judged = {gate.column for gate in known if gate.table not in gates.OF_CAMPAIGN}
    assert sorted(described) == sorted(judged)
