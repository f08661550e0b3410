"""Gates of validity: no good trial is rejected, no broken one accepted, nothing passes unseen."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab import quality
from benchlab.errors import SpecError
from benchlab.quality import Gate
from benchlab.results import GateResult
from benchlab.workloads.sysbench_output import parse

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "sysbench"
GATES = quality.load(ROOT / "configs" / "quality" / "validity.yaml")

# Recorded runs as Benchlab starts them: threads and seconds that were asked for.
GOOD = {
    "sysbench_point_select_t4": (4, 5),
    "sysbench_read_write_t4": (4, 5),
    "sysbench_update_index_t8": (8, 5),
    "sysbench_deadlocks_ignored": (None, None),
    "sysbench_noreport_events": (None, None),
    "sysbench_percentile0": (None, None),
    "tidb_v6.5.0_read_write_t4": (4, None),
}
BROKEN = (
    "sysbench_err_access_denied",
    "sysbench_err_haproxy_backend_down",
    "sysbench_err_unknown_db",
    "sysbench_forced_shutdown",
    "sysbench_killed_after_checkpoint",
    "sysbench_killed_ignore_list",
    "sysbench_killed_midrun",
    "sysbench_prepare_4x10k",
    "sysbench_sigterm",
)
# Runs that Benchlab never starts: figures of the last checkpoint only; a rate limit under which
# the threads wait by design.
FOREIGN = {
    "sysbench_checkpoints": "printed_rate",
    "sysbench_percentile99_rate": "effective_threads",
}


def judged(text: str, threads: int | None, seconds: float | None) -> dict[str, GateResult]:
    """The gates' results on a client's output; by default it did what it was asked to."""
    output = parse(text)
    document = output.to_json()
    asked = seconds or (round(output.duration_s) if output.duration_s else 5)
    columns = quality.client_columns(
        document, {"transactions": output.transactions}, threads or output.threads or 4, asked
    )
    return {result.gate: result for result in quality.evaluate(GATES, columns)}


def recorded(name: str) -> str:
    """A recorded output."""
    return (GOLDEN / f"{name}.txt").read_text()


def failed(results: dict[str, GateResult]) -> set[str]:
    """The gates that failed."""
    return {name for name, result in results.items() if result.status == "fail"}


@pytest.mark.parametrize("name", GOOD)
def test_no_gate_rejects_a_good_recorded_run(name: str) -> None:
    """A gate that rejects real, good runs would make every campaign repeat itself."""
    assert failed(judged(recorded(name), *GOOD[name])) == set()


@pytest.mark.parametrize("name", BROKEN)
def test_every_broken_recorded_run_is_rejected(name: str) -> None:
    """Killed, refused or interrupted: its figures never enter a report."""
    assert "summary" in failed(judged(recorded(name), None, None))


@pytest.mark.parametrize("name", FOREIGN)
def test_a_run_with_other_settings_is_rejected(name: str) -> None:
    """A run whose summary is not about all of its threads and all of its time is not a trial."""
    assert FOREIGN[name] in failed(judged(recorded(name), None, None))


def test_every_recorded_output_is_judged_here() -> None:
    """A new recorded output has to be called good or broken."""
    known = {*GOOD, *BROKEN, *FOREIGN, "sysbench_stalled"}
    assert known == {path.stem for path in GOLDEN.glob("*.txt")}


@pytest.mark.parametrize(
    ("old", "new", "gate"),
    [
        (
            "total time:                          5.0079s",
            "total time:                          3.9079s",
            "duration",
        ),
        (
            "transactions:                        2576",
            "transactions:                        2776",
            "printed_rate",
        ),
    ],
)
def test_a_summary_that_contradicts_itself_is_rejected(old: str, new: str, gate: str) -> None:
    """One wrong figure in a good summary is found by the gate that is there for it."""
    text = recorded("sysbench_read_write_t4")
    assert old in text, "the sample has other figures"
    assert gate in failed(judged(text.replace(old, new), 4, 5))


def test_a_client_with_fewer_threads_than_asked_for_is_rejected() -> None:
    """Four threads at work where eight were asked for are not a trial of eight threads."""
    assert "effective_threads" in failed(judged(recorded("sysbench_read_write_t4"), 8, 5))


@pytest.mark.parametrize("seconds", [3, 7, 60])
def test_a_client_that_ran_another_time_than_asked_is_rejected(seconds: int) -> None:
    """A run cut short, or one that hung on, is not a trial of its length."""
    assert "duration" in failed(judged(recorded("sysbench_read_write_t4"), 4, seconds))


@pytest.mark.parametrize(
    "latency",
    [
        {"min": 1.0, "avg": 9.0, "p95": 3.0, "max": 8.0},
        {"min": 2.0, "avg": 1.0, "p95": 3.0, "max": 8.0},
        {"min": 1.0, "avg": 2.0, "p95": 8.5, "max": 8.0},
        {"min": -1.0, "avg": 2.0, "p95": 3.0, "max": 8.0},
        {"min": 1.0, "avg": math.nan, "p95": 3.0, "max": 8.0},
    ],
)
def test_latencies_out_of_order_are_rejected(latency: dict[str, float]) -> None:
    """Average above maximum, p95 above maximum, negative or no number: the client is confused."""
    document = parse(recorded("sysbench_read_write_t4")).to_json()
    document["latency_ms"] = {**document["latency_ms"], **latency}
    columns = quality.client_columns(document, {}, 4, 5)
    results = quality.evaluate(GATES, columns)
    assert "latency_order" in {r.gate for r in results if r.status == "fail"}


def test_what_cannot_be_seen_is_not_evaluated_and_never_passes() -> None:
    """Without any column every gate says so; none passes and none fails for want of data."""
    assert {r.status for r in quality.evaluate(GATES, {})} == {"not evaluated"}
    assert {r.status for r in quality.evaluate(GATES, {g.column: None for g in GATES})} == {
        "not evaluated"
    }


@given(st.floats(), st.none() | st.floats(-1e6, 1e6), st.none() | st.floats(-1e6, 1e6))
def test_a_gate_passes_exactly_between_its_bounds(
    observed: float, low: float | None, high: float | None
) -> None:
    """Bounds are included, NaN is in no bounds, and what was observed can be stored as JSON."""
    gate = Gate(id="g", sentence="s", column="c", min=low, max=high)
    result = gate.evaluate({"c": observed})
    inside = (low is None or low <= observed) and (high is None or observed <= high)
    assert (result.status == "pass") == (inside and not math.isnan(observed))
    json.dumps(result.observed, allow_nan=False)


def test_a_failed_gate_is_explained() -> None:
    """The reason names the gate, what holds when it passes, what was found and what is allowed."""
    results = quality.evaluate(GATES, {"effective_threads_ratio": 0.5, "clock_offset_ms": 11})
    threads, clock = quality.reasons(GATES, results)
    for part in ("effective_threads", "at work 97 %", "found 0.5", "at least 0.97"):
        assert part in threads
    assert "found 11, allowed -10 to 10" in clock


def test_no_reason_is_given_for_what_passed() -> None:
    """A valid trial has no reasons."""
    results = quality.evaluate(GATES, {"effective_threads_ratio": 1.0})
    assert quality.reasons(GATES, results) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a list of gates"),
        ("a: 1", "not a list of gates"),
        ("- 1", "not a list of gates"),
        ("[", "not a list of gates"),
        ("- {id: a, sentence: s, column: c}", "gate a: has neither min nor max and cannot fail"),
        ("- {id: a, sentence: s, column: c, maximum: 1}", "maximum"),
        ("- {id: a, sentence: s, max: 1}", "column"),
        (
            "- {id: a, sentence: s, column: c, max: 1}\n- {id: a, sentence: s, column: d, max: 1}",
            "two gates have the same id",
        ),
        ("- {id: a, sentence: s, column: c, min: 2, max: 1}", "gate a: min is above max"),
        ("- {id: a, sentence: s, column: c, max: .nan}", "finite number"),
    ],
)
def test_a_broken_gate_file_is_refused_by_its_name(tmp_path: Path, text: str, message: str) -> None:
    """A gate that cannot be read, or could never do its work, is named before anything starts."""
    path = tmp_path / "gates.yaml"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        quality.load(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_gate_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    """A missing or binary file is a SpecError."""
    path = tmp_path / "gates.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SpecError, match=r"gates\.yaml"):
        quality.load(path)


numbers = st.none() | st.floats()


@given(
    st.fixed_dictionaries(
        {
            "status": st.sampled_from(["complete", "incomplete", "failed"]),
            "duration_s": numbers,
            "tps": numbers,
            "latency_ms": st.fixed_dictionaries(
                dict.fromkeys(("min", "avg", "p95", "max", "sum"), numbers)
            ),
        }
    ),
    st.none() | st.integers(0, 10**12),
)
def test_no_figures_bring_a_gate_down(document: dict[str, Any], transactions: int | None) -> None:
    """Whatever a client printed is judged; without a summary it is always rejected."""
    columns = quality.client_columns(document, {"transactions": transactions}, 4, 5)
    results = {r.gate: r for r in quality.evaluate(GATES, columns)}
    assert (results["summary"].status == "pass") == (document["status"] == "complete")
