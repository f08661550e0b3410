"""The gates of validity judge runs of TPC-C: its rates, its mix and the data it was run on."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.analysis.gates import columns as columns_module
from benchlab.analysis.gates import gates as gates_module
from benchlab.report import gate_files
from benchlab.results.records import Condition, GateResult
from benchlab.workloads import tpcc_output
from benchlab.workloads.tpcc import Warehouses
from benchlab.workloads.tpcc_output import TpccOutput

ROOT = Path(__file__).parents[3]
ALL_GATES = gate_files.load(ROOT / "configs" / "quality" / "validity.yaml")
TPCC = ROOT / "tests" / "golden" / "tpcc"
TPCC_GATES = gates_module.of_metric(ALL_GATES, "tpmc")
# Threads and seconds that were asked for; one warehouse each.
GOOD_TPCC = {"gotpc_run_plain": (4, 30), "gotpc_run_json": (2, 20), "gotpc_1.0.12_run": (4, 6)}
OF_A_CLIENT = {
    *("summary", "duration", "effective_threads", "printed_rate", "latency_order"),
    *("unexpected_errors", "tpcc_efficiency", "tpcc_mix"),
}


def failed(results: dict[str, GateResult]) -> set[str]:
    """The gates that failed."""
    return {name for name, result in results.items() if result.status == "fail"}


def tpcc(name: str) -> TpccOutput:
    """A recorded output of go-tpc, read."""
    return tpcc_output.parse((TPCC / f"{name}.txt").read_text())


def judged_tpcc(
    output: TpccOutput, threads: int = 4, seconds: int = 30, warehouses: int = 1
) -> dict[str, GateResult]:
    """The results of TPC-C's gates on an output."""
    dataset = Warehouses(warehouses=warehouses)
    columns = columns_module.client_columns(output, threads, seconds, dataset)
    return {result.gate: result for result in gates_module.evaluate(TPCC_GATES, columns)}


def with_counts(output: TpccOutput, factor: float, names: tuple[str, ...]) -> TpccOutput:
    """The output with other counts of some operations, and the rates that belong to them."""
    operations = {
        name: dataclasses.replace(
            operation, count=round(operation.count * factor), tpm=operation.tpm * factor
        )
        if name in names
        else operation
        for name, operation in output.operations.items()
    }
    return dataclasses.replace(output, operations=operations)


@pytest.mark.parametrize("name", GOOD_TPCC)
def test_no_gate_rejects_a_good_recorded_run_of_tpcc(name: str) -> None:
    """Real runs pass every gate that looks at what the client printed, and each is evaluated."""
    results = judged_tpcc(tpcc(name), *GOOD_TPCC[name])
    assert failed(results) == set()
    assert {n for n, result in results.items() if result.status == "pass"} == OF_A_CLIENT


@pytest.mark.parametrize("path", sorted(TPCC.glob("*.txt")), ids=lambda path: path.stem)
def test_every_other_recorded_output_of_go_tpc_is_rejected(path: Path) -> None:
    """Killed, refused, signalled, of another action, or with a worker lost: it is no trial."""
    rejected = "summary" in failed(judged_tpcc(tpcc(path.stem)))
    assert rejected == (path.stem not in GOOD_TPCC)


@pytest.mark.parametrize(
    ("warehouses", "tpmc", "printed", "passes"),
    [
        (1, 18736.6, 145697.0, True),
        (2, 18736.6, 145697.0, False),
        (5000, 44204.4, 68.7, True),
        (5000, 44204.4, 68.9, False),  # 4990 warehouses
        (10, 3.2, 2.5, True),
        (11, 3.2, 2.5, False),
        (5000, 0.4, 0.0, True),
    ],
)
def test_a_run_on_another_number_of_warehouses_is_rejected(
    warehouses: int, tpmc: float, printed: float, passes: bool
) -> None:
    """The printed efficiency shows which number the client was given, as far as it is printed."""
    output = dataclasses.replace(tpcc("gotpc_run_plain"), tpmc=tpmc, efficiency_pct=printed)
    gate = judged_tpcc(output, warehouses=warehouses)["tpcc_efficiency"]
    assert (gate.status == "pass") == passes


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_another_mix_of_transactions_is_rejected(factor: float) -> None:
    """Of 20,000 transactions 42.5 or 47.4 % New Orders are no chance, and tpmC is not TPC-C's."""
    other = with_counts(tpcc("gotpc_run_plain"), factor, ("NEW_ORDER",))
    assert failed(judged_tpcc(other)) == {"tpcc_mix"}


def test_failed_new_orders_are_part_of_the_mix() -> None:
    """Where New Orders conflict more than others, the mix is what was tried."""
    good = tpcc("gotpc_run_plain")
    done, lost = good.operations["NEW_ORDER"], good.operations["NEW_ORDER_ERR"]
    operations = {
        **good.operations,
        "NEW_ORDER": dataclasses.replace(done, count=8363, tpm=8363 * 2),
        "NEW_ORDER_ERR": dataclasses.replace(lost, count=1002, tpm=1002 * 2),
    }
    conflicting = dataclasses.replace(good, operations=operations)
    assert judged_tpcc(conflicting)["tpcc_mix"].status == "pass"


@given(st.integers(1, 64), st.integers(0, 64))
def test_a_short_run_is_not_rejected_for_the_transactions_that_its_end_cut_off(
    threads: int, cut: int
) -> None:
    """Each thread may have been stopped within a New Order that is then not counted."""
    good = tpcc("gotpc_run_plain")
    counts = {"NEW_ORDER": 45 - min(cut, threads, 45), "PAYMENT": 55}
    operations = {
        name: dataclasses.replace(good.operations[name], count=count)
        for name, count in counts.items()
    }
    output = dataclasses.replace(good, operations=operations)
    deviation = output.columns(threads, Warehouses(warehouses=1))["tpcc_mix_deviation"]
    assert deviation == 0.0


@given(st.integers(1, 5000), st.floats(0.3, 60))
def test_rounding_to_one_decimal_never_makes_a_rate_wrong(count: int, seconds: float) -> None:
    """A run of a second is printed with two digits only: what they allow is let off."""
    good = tpcc("gotpc_run_plain")
    tpm = count / seconds * 60
    printed = dataclasses.replace(
        good.operations["NEW_ORDER"], seconds=round(seconds, 1), count=count, tpm=round(tpm, 1)
    )
    output = dataclasses.replace(good, operations={"NEW_ORDER": printed})
    error = output.columns(4, Warehouses(warehouses=1))["rate_error"]
    assert error == pytest.approx(0, abs=1e-9)


def test_a_count_that_its_rate_contradicts_is_rejected() -> None:
    """Rounding explains a tenth of a second in thirty, not one figure in twenty."""
    good = tpcc("gotpc_run_plain")
    payment = dataclasses.replace(good.operations["PAYMENT"], count=9434)
    wrong = dataclasses.replace(good, operations={**good.operations, "PAYMENT": payment})
    assert "printed_rate" in failed(judged_tpcc(wrong))


def test_percentiles_of_tpcc_out_of_order_are_rejected() -> None:
    """A p99 above the maximum, or a median above the p90: the client is confused."""
    good = tpcc("gotpc_run_plain")
    orders = good.operations["NEW_ORDER"]
    for changed in (
        dataclasses.replace(orders, p99_ms=60.0),
        dataclasses.replace(orders, p50_ms=13.0),
        dataclasses.replace(orders, avg_ms=49.5),
    ):
        wrong = dataclasses.replace(good, operations={**good.operations, "NEW_ORDER": changed})
        assert failed(judged_tpcc(wrong)) == {"latency_order"}


def test_a_dataset_that_was_loaded_inconsistent_is_never_measured() -> None:
    """Each violated condition counts; where none was checked nothing is claimed."""
    holds = Condition("3.3.2.1", "w_ytd is the sum of d_ytd", 0)
    violated = Condition("3.3.2.2", "d_next_o_id is one more than the last order", 3)
    outcomes = {
        (holds, holds): "pass",
        (holds, violated): "fail",
        (): "not evaluated",
        None: "not evaluated",
    }
    for conditions, status in outcomes.items():
        results = gates_module.evaluate(TPCC_GATES, columns_module.dataset_columns(conditions))
        assert next(r.status for r in results if r.gate == "consistency") == status


def test_gates_of_one_metric_are_not_there_for_another() -> None:
    """A sysbench trial has no gate of TPC-C, not even one that is not evaluated."""
    ids = {
        metric: {g.id for g in gates_module.of_metric(ALL_GATES, metric)}
        for metric in ("tps", "tpmc")
    }
    assert ids["tpmc"] - ids["tps"] == {
        *("unexpected_errors", "tpcc_efficiency", "tpcc_mix", "consistency"),
    }
    assert ids["tps"] <= ids["tpmc"]
    for metric, fleet in itertools.product(ids, (True, False)):
        chosen = [g.id for g in gates_module.of_campaign(ALL_GATES, metric, fleet=fleet)]
        assert sorted(chosen) == sorted(ids[metric]), "each once, wherever it was measured"


def test_an_error_that_is_not_expected_rejects_a_run_that_looks_good() -> None:
    """go-tpc survives any error: a table that refuses its rows leaves time for New Orders."""
    good = tpcc("gotpc_run_plain")
    output = dataclasses.replace(good, error_numbers={"1213": 4, "1062": 2000})
    assert output.unexpected_errors((1213, 1205)) == 2000
    assert output.unexpected_errors((1213, 1062)) == 0
    assert "unexpected_errors" in failed(judged_tpcc(output))
    assert dataclasses.replace(good, errors=None).unexpected_errors(()) is None
