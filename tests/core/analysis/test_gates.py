"""Gates: no good trial is rejected, no broken one accepted, nothing passes unseen."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchlab.analysis.gates import columns as columns_module
from benchlab.analysis.gates import gates as gates_module
from benchlab.analysis.gates.gates import Gate
from benchlab.errors import SpecError
from benchlab.language import load, message
from benchlab.report import gate_files
from benchlab.results import ended_servers
from benchlab.results.records import GateResult
from benchlab.workloads.output import Latency, Status
from benchlab.workloads.sysbench import Tables
from benchlab.workloads.sysbench_output import parse

ROOT = Path(__file__).parents[3]
GOLDEN = ROOT / "tests" / "golden" / "sysbench"
ALL_GATES = gate_files.load(ROOT / "configs" / "quality" / "validity.yaml")
GATES = gates_module.of_metric(ALL_GATES, "tps")
TABLES = Tables(tables=4, table_size=10_000)
# The beginning of a gate in a file.
VALID = "id: a, class: validity, sentence: s, column: c"
SYMPTOM = "id: a, class: symptom, sentence: s, column: c, max: 1"

# Recorded runs as Benchlab starts them: threads and seconds that were asked for.
GOOD = {
    "sysbench_point_select_t4": (4, 5),
    "sysbench_read_write_t4": (4, 5),
    "sysbench_update_index_t8": (8, 5),
    "sysbench_deadlocks_ignored": (None, None),
    "sysbench_noreport_events": (None, None),
    "sysbench_percentile0": (None, None),
    "sysbench_percentile_zero_arm64": (4, 5),
    "sysbench_percentile99_rate": (4, None),
    "sysbench_prepare_then_run": (4, 5),
    "sysbench_rate": (4, 6),
    # That its servers did not keep up is a symptom.
    "sysbench_rate_behind": (2, 4),
    "sysbench_report_default_hook": (None, None),
    "tidb_v6.5.0_read_write_t4": (4, None),
}
BROKEN = (
    "sysbench_0_5",
    "sysbench_err_access_denied",
    "sysbench_err_haproxy_backend_down",
    "sysbench_err_unknown_db",
    "sysbench_forced_shutdown",
    "sysbench_kubectl_timestamps",
    "sysbench_killed_after_checkpoint",
    "sysbench_killed_ignore_list",
    "sysbench_killed_midrun",
    "sysbench_prepare_4x10k",
    "sysbench_rate_queue_full",
    "sysbench_sigterm",
)
# A run that Benchlab never starts: figures of the last checkpoint only.
FOREIGN = {"sysbench_checkpoints": "printed_rate"}


def judged(text: str, threads: int | None, seconds: float | None) -> dict[str, GateResult]:
    """The gates' results on a client's output; by default it did what it was asked to."""
    output = parse(text)
    asked = seconds or (round(output.duration_s) if output.duration_s else 5)
    columns = columns_module.client_columns(output, threads or output.threads or 4, asked, TABLES)
    return {result.gate: result for result in gates_module.evaluate(GATES, columns)}


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


@pytest.mark.parametrize(("late_s", "fails"), [(0.058, False), (0.11, True)])
def test_a_rate_that_was_printed_a_little_late_is_no_fault(late_s: float, fails: bool) -> None:
    """A busy machine prints 50 ms late, which is more than 1 % of a short trial."""
    good = parse(recorded("sysbench_read_write_t4"))
    assert good.transactions is not None
    assert good.duration_s is not None
    late = dataclasses.replace(good, tps=good.transactions / (good.duration_s + late_s))
    columns = columns_module.client_columns(late, 4, 5, TABLES)
    results = {r.gate: r.status for r in gates_module.evaluate(GATES, columns)}
    assert (results["printed_rate"] == "fail") is fails


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
    good = parse(recorded("sysbench_read_write_t4"))
    confused = dataclasses.replace(good, latency_ms=dataclasses.replace(good.latency_ms, **latency))
    columns = columns_module.client_columns(confused, 4, 5, TABLES)
    results = gates_module.evaluate(GATES, columns)
    assert "latency_order" in {r.gate for r in results if r.status == "fail"}


def test_what_cannot_be_seen_is_not_evaluated_and_never_passes() -> None:
    """Without any column every gate says so; none passes and none fails for want of data."""
    assert {r.status for r in gates_module.evaluate(GATES, {})} == {"not evaluated"}
    assert {r.status for r in gates_module.evaluate(GATES, {g.column: None for g in GATES})} == {
        "not evaluated"
    }


@given(st.floats(), st.none() | st.floats(-1e6, 1e6), st.none() | st.floats(-1e6, 1e6))
def test_a_gate_passes_exactly_between_its_bounds(
    observed: float, low: float | None, high: float | None
) -> None:
    """Bounds are included, NaN is in no bounds, and what was observed can be stored as JSON."""
    gate = Gate(id="g", sentence="s", column="c", kind="validity", min=low, max=high)
    result = gate.evaluate({"c": observed})
    inside = (low is None or low <= observed) and (high is None or observed <= high)
    assert (result.status == "pass") == (inside and not math.isnan(observed))
    json.dumps(result.observed, allow_nan=False)


def test_a_failed_gate_is_explained() -> None:
    """The reason names the gate, what holds when it passes, what was found and what is allowed."""
    results = gates_module.evaluate(
        GATES, {"effective_threads_ratio": 0.5, "tpcc_mix_deviation": 11, "duration_excess_s": 2}
    )
    duration, threads = map(str, gates_module.reasons(results))
    for part in ("effective_threads", "at work 97 %", "found 50 %", "at least 97 %"):
        assert part in threads
    assert "found 2 s, allowed -1 s to 1 s" in duration


def test_a_figure_of_a_reason_has_its_unit() -> None:
    """Seconds, milliseconds, per cent."""
    columns = {"clock_offset_ms": 12, "rate_excess": 0.03, "leaders_beyond": 3.6}
    failed = gates_module.evaluate(GATES, columns)
    said = list(map(str, gates_module.reasons(failed)))
    for figure in ("found 12 ms, allowed at most 10 ms", "found 3 %, allowed at most 1 %"):
        assert any(figure in reason for reason in said)
    assert any("found 3.6, allowed at most 0 (no TiKV server" in reason for reason in said)


def test_a_stored_gate_without_bounds_allows_nothing_in_particular() -> None:
    """A file of gates has none without; a damaged store may."""
    why = GateResult("own", "fail", 137.0, "the client succeeded").why
    assert "found 137, allowed unknown (the client" in str(why)
    assert "允许范围：未知（" in load("zh").text(why)


def test_how_a_server_ended_is_said_in_chinese_too() -> None:
    """Component, host and times stand as they were recorded."""
    at, again = "2026-11-26 18:53:04 UTC", "2026-11-26 18:53:19 UTC"
    how = message("ended-again", at=at, again=again)
    ended = ended_servers.ended("tikv", "kv-2", how, ["[INFO] last", "x" * 300])
    said = str(ended)
    assert said.startswith(
        f"tikv on kv-2 ended at {at} and was started again by systemd at {again}"
    )
    assert said.endswith(f"log: [INFO] last | {'x' * 200}...")
    chinese = load("zh").text(ended)
    assert chinese.startswith(f"kv-2 上的 tikv 于 {at} 终止，systemd 于 {again} 将其重新启动")
    gone = ended_servers.ended("mariadb", "localhost", ended_servers.by_exit_code(137), [])
    assert str(gone) == (
        "mariadb on localhost was ended by signal SIGKILL; the last lines of its log: none "
        "could be read"
    )
    assert "被信号 SIGKILL 终止；日志的最后几行：没有可以读取的内容" in load("zh").text(gone)


def test_what_a_server_wrote_before_it_ended_is_quoted_without_secrets() -> None:
    """Its last lines are in reasons and reports; a secret that is cut is left out as well."""
    lines = ["x" * 195 + "hunter2-hunter2", "at mysql://bench:another-one@10.0.0.1"]
    how = ended_servers.by_exit_code(1)
    said = str(ended_servers.ended("mariadb", "localhost", how, lines, ["hunter2-hunter2"]))
    assert "hunt" not in said
    assert "another-one" not in said
    assert said.endswith("at mysql://bench:(redacted)@10.0.0.1")


@pytest.mark.parametrize("found", [0.5, -3, float("nan"), 1e9])
def test_a_reason_is_said_in_every_language(found: float) -> None:
    """In Chinese with the gate's own sentence and bounds."""
    reasons = gates_module.reasons([gate.evaluate({gate.column: found}) for gate in GATES])
    assert reasons
    for said in reasons:
        chinese = load("zh").text(said)
        assert "检查项" in chinese
        assert not re.search(r"failed|found|allowed|at (most|least)|no number", chinese)


def test_no_reason_is_given_for_what_passed() -> None:
    """A valid trial has no reasons."""
    results = gates_module.evaluate(GATES, {"effective_threads_ratio": 1.0})
    assert gates_module.reasons(results) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a list of gates"),
        ("a: 1", "not a list of gates"),
        ("- 1", "not a list of gates"),
        ("[", "not YAML"),
        ("[" * 3000, "nested too deeply"),
        ("- {id: a, sentence: s, column: c, max: 1}", "class"),
        (f"- {{{VALID}}}", "gate a: has neither min nor max, so it cannot fail"),
        (f"- {{{VALID}, maximum: 1}}", "maximum"),
        ("- {id: a, class: validity, sentence: s, max: 1}", "column"),
        (f"- {{{VALID}, max: 1}}\n- {{{VALID}, max: 1}}", "two gates have the same id"),
        (
            f"- {{{VALID}, max: 1}}\n- {{{VALID}, metric: tpmc, max: 2}}",
            "two gates have the same id: a",
        ),
        (f"- {{{VALID}, min: 2, max: 1}}", "gate a: min is above max"),
        (f"- {{{VALID}, max: .nan}}", "finite number"),
        (f"- {{{VALID}, max: 1, unstable_from: 1}}", "gate a: unstable_from is for symptoms"),
        (f"- {{{VALID}, max: 1, of_counts: true}}", "gate a: of_counts is for symptoms"),
        (f"- {{{VALID}, max: 1, table: cells}}", "gate a: table cells is for symptoms"),
        (f"- {{{SYMPTOM}, fleet: yes}}", "gate a: fleet is for gates of validity"),
        (f"- {{{VALID}, max: 1, table: rounds}}", "table"),
        ("- {id: a, class: symptom, sentence: s, column: c, max: 1, unstable_from: 0}", "unstable"),
    ],
)
def test_a_broken_gate_file_is_refused_by_its_name(tmp_path: Path, text: str, message: str) -> None:
    """A gate that cannot be read, or could never do its work, is named before anything starts."""
    path = tmp_path / "gates.yaml"
    path.write_text(text)
    with pytest.raises(SpecError) as caught:
        gate_files.load(path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_gate_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    """A missing or binary file is a SpecError."""
    path = tmp_path / "gates.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SpecError, match=r"gates\.yaml"):
        gate_files.load(path)


# ---------------------------------------------------------------- all files


def files_in(folder: Path, **texts: str) -> Path:
    """A directory with files of gates."""
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def test_the_gates_of_all_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    """A new file is there without a list to edit; other files are none of gates."""
    folder = files_in(
        tmp_path,
        b=f"- {{{SYMPTOM}, metric: tps}}\n- {{{SYMPTOM}, metric: tpmc}}",
        a=f"- {{{VALID.replace('id: a', 'id: z')}, max: 1}}",
    )
    (folder / "README.md").write_text("no gates")
    assert [gate.id for gate in gate_files.load_all(folder)] == ["z", "a", "a"]


@pytest.mark.parametrize("metric", ["", ", metric: tps"])
def test_one_id_in_two_files_is_refused(tmp_path: Path, metric: str) -> None:
    """Which of the two definitions holds would be chance; both files are named."""
    folder = files_in(tmp_path, one=f"- {{{VALID}, max: 1}}", two=f"- {{{SYMPTOM}{metric}}}")
    with pytest.raises(SpecError, match=r"two\.yaml: gate a is also in .*one\.yaml"):
        gate_files.load_all(folder)


def test_one_id_for_two_metrics_may_be_in_two_files(tmp_path: Path) -> None:
    """As within a file: a trial never meets both."""
    texts = {m: f"- {{{SYMPTOM}, metric: {m}}}" for m in ("tps", "tpmc")}
    assert len(gate_files.load_all(files_in(tmp_path, **texts))) == 2


def test_one_id_may_be_there_for_a_fleet_and_for_this_machine() -> None:
    """With bounds that fit each; not beside one that is for both."""
    both = [
        f"- {{{VALID}, max: {most}, fleet: {fleet}}}" for most, fleet in ((1, "yes"), (9, "no"))
    ]
    found = gates_module.parse(yaml.safe_load("\n".join(both)), "gates.yaml")
    for fleet, most in ((True, 1), (False, 9)):
        (gate,) = gates_module.of_campaign(found, "tps", fleet=fleet)
        assert gate.max == most
    with pytest.raises(SpecError, match="two gates have the same id"):
        gates_module.parse(yaml.safe_load(f"{both[0]}\n- {{{VALID}, max: 2}}"), "gates.yaml")


@pytest.mark.parametrize(
    ("gate", "column", "fleet", "passes", "fails"),
    [
        ("cpu_steal", "cpu_steal_ratio", False, 0.03, 0.11),
        ("cpu_steal", "cpu_steal_ratio", True, 0.009, 0.03),
        ("other_work", "other_work_ratio", False, 0.04, 0.15),
        ("other_work", "other_work_ratio", True, 0.02, 0.06),
    ],
)
def test_a_neighbour_makes_a_trial_invalid_and_a_small_machine_s_noise_does_not(
    gate: str, column: str, fleet: bool, passes: float, fails: float
) -> None:
    """One busy loop takes 10 to 37 % of two cores; hosts of a fleet are there for one campaign."""
    gates = gates_module.of_campaign(ALL_GATES, "tps", fleet=fleet)
    for share, status in ((passes, "pass"), (fails, "fail"), (None, "not evaluated")):
        results = gates_module.evaluate(gates, {column: share})
        assert {r.gate: r.status for r in results}[gate] == status
    assert passes < (gates_module.most(gates, column, fleet=fleet) or 0) < fails


def test_a_directory_without_gates_is_refused(tmp_path: Path) -> None:
    """Trials that nobody judges would all be valid."""
    with pytest.raises(SpecError, match=r"no \*\.yaml with gates"):
        gate_files.load_all(tmp_path)


def test_the_gates_of_benchlab_can_all_be_read_together() -> None:
    """Validity and symptoms; only gates of trials can make one invalid."""
    gates = gate_files.load_all(ROOT / "configs" / "quality")
    assert {gate.kind for gate in gates} == {"validity", "symptom"}
    assert {gate.table for gate in gates if gate.kind == "validity"} == {"trials"}
    assert {gate.table for gate in gates} == {"trials", "cells", "workloads", "calibration"}


def test_a_symptom_makes_no_trial_invalid_and_gives_no_reason() -> None:
    """It may be the candidate's own doing: it is kept, and nothing is measured again."""
    symptom = Gate(id="s", sentence="s", column="c", kind="symptom", max=1)
    fault = symptom.model_copy(update={"id": "v", "kind": "validity"})
    results = gates_module.evaluate([symptom, fault], {"c": 2})
    assert [(r.status, r.kind) for r in results] == [("fail", "symptom"), ("fail", "validity")]
    assert gates_module.is_valid(results[:1])
    assert not gates_module.is_valid(results)
    (reason,) = gates_module.reasons(results)
    assert str(reason).startswith("gate v failed:")


# ---------------------------------------------------------------- hosts


@pytest.mark.parametrize(
    ("lines", "unlike"),
    [
        ({}, None),
        ({"cores": "2", "kernel": "6.1"}, None),
        ({"tikv_hosts": "3 x i3.4xlarge: 16 cores, 120.0 GiB, Xeon, Debian, kernel 6.1"}, 0),
        ({"tikv_hosts": "3 x 16 cores, 120.0 GiB, Xeon / 16 cores, 121.1 GiB, Xeon"}, 0),
        ({"tikv_hosts": "3 x 16 cores, 120.0 GiB, Xeon / 16 cores, 122.0 GiB, Xeon"}, 1),
        ({"tikv_hosts": "3 x 16 cores, 120.0 GiB, Xeon / 8 cores, 120.0 GiB, Xeon"}, 1),
        ({"tikv_hosts": "3 x a, kernel 1 / a, kernel 2 / a, kernel 3", "pd_hosts": "2 x a / b"}, 3),
        ({"tikv_hosts": "3 x 16 cores", "tidb_hosts": "2 x 8 cores"}, 0),
    ],
)
def test_hosts_of_one_role_that_are_unlike_are_counted(
    lines: dict[str, str], unlike: int | None
) -> None:
    """Cores, CPU, system, kernel; memory by more than 1 %. Roles need not be alike."""
    assert columns_module.fleet_columns(lines)["unlike_hosts"] == unlike


def test_clocks_are_judged_as_they_were_found() -> None:
    """Once for a campaign; not known is not evaluated."""
    (gate,) = (gate for gate in ALL_GATES if gate.id == "clock")
    for offset, status in (({}, "not evaluated"), ({"clock_offset_ms": "9.500"}, "pass")):
        assert gate.evaluate(columns_module.fleet_columns(offset)).status == status
    assert gate.evaluate(columns_module.fleet_columns({"clock_offset_ms": "10.5"})).status == "fail"


numbers = st.none() | st.floats()


@given(
    st.sampled_from(["complete", "incomplete", "failed"]),
    numbers,
    numbers,
    st.tuples(*[numbers] * 5),
    st.none() | st.integers(0, 10**12),
)
def test_no_figures_bring_a_gate_down(
    status: Status,
    duration_s: float | None,
    tps: float | None,
    latency: tuple[float | None, ...],
    transactions: int | None,
) -> None:
    """Whatever a client printed is judged; without a summary it is always rejected."""
    output = dataclasses.replace(
        parse(""),
        status=status,
        duration_s=duration_s,
        tps=tps,
        latency_ms=Latency(*latency),
        transactions=transactions,
    )
    columns = columns_module.client_columns(output, 4, 5, TABLES)
    results = {r.gate: r for r in gates_module.evaluate(GATES, columns)}
    assert (results["summary"].status == "pass") == (status == "complete")
