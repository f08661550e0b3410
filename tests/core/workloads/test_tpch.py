"""go-tpc's commands for TPC-H are whole and hold no secret; what it prints is read exactly."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab import workloads
from benchlab.analysis.gates.columns import Columns, client_columns, output_columns
from benchlab.campaign import fit
from benchlab.errors import SpecError
from benchlab.plan import steps
from benchlab.plan.fields.client import Client
from benchlab.workloads import tpch
from benchlab.workloads.client import Endpoint, Session, program_of
from benchlab.workloads.tpch import ScaleFactor
from benchlab.workloads.tpch_output import TpchOutput, parse
from tests.builders import campaigns, plans

GOLDEN = Path(__file__).parents[2] / "golden" / "tpch"
OUTPUTS = sorted(GOLDEN.glob("*.txt"))
COMPLETE = ("q1_one_thread", "q6", "q6_v1.0.12")
ENDPOINT = Endpoint("127.0.0.1", 3390, "bench_open", "", "tpch")
GO_TPC = Client(program="go-tpc")
SESSION = Session(ENDPOINT, "c", ScaleFactor(scale_factor=10), 4, GO_TPC)


def recorded(name: str) -> str:
    """What go-tpc printed on MariaDB 10.11.5: of its main branch in 2025, or v1.0.12."""
    return (GOLDEN / f"{name}.txt").read_text()


def spec(**fields: Any) -> Any:
    """A report type with two queries of TPC-H."""
    chosen = {"dataset": {"scale_factor": 10}, "workloads": ["tpch_q1", "tpch_q6"], **fields}
    return plans.spec(**chosen)


# ---------------------------------------------------------------- commands


def test_a_run_is_spelled_out() -> None:
    """Its command comes first in the output; no variable is set behind the report type's back."""
    assert tpch.run_command("tpch_q15", SESSION, seconds=60) == [
        *("sh", "-c", 'printf "%s\\n" "$*"; exec "$@"', "sh"),
        *("go-tpc", "tpch", "run", "--host=127.0.0.1", "--port=3390", "--user=bench_open"),
        *("--db=tpch", "--sf=10", "--threads=4", "--queries=q15", "--time=60s", "--interval=2ms"),
        "--enable-query-tuning=false",
    ]


def test_a_load_says_how_large_and_by_how_many_connections() -> None:
    """Nothing is analyzed: every dataset is, by Benchlab, in the same way."""
    assert tpch.prepare_command(SESSION) == [
        *("go-tpc", "tpch", "prepare", "--host=127.0.0.1", "--port=3390", "--user=bench_open"),
        *("--db=tpch", "--sf=10", "--threads=4"),
    ]


def test_a_program_that_tiup_installed_is_started_by_its_path() -> None:
    """Whatever stands before the program's words."""
    session = replace(SESSION, client=Client(program="tiup"))
    tiup = program_of("tiup", tpch.PROGRAMS)
    run = tiup.started(tpch.run_command("tpch_q1", session, seconds=60), "/b/go-tpc")
    assert run[3:6] == ["sh", "/b/go-tpc", "tpch"]
    assert tiup.started(tpch.prepare_command(session), "/b/go-tpc")[:2] == ["/b/go-tpc", "tpch"]


def test_the_tables_are_counted_where_the_standard_says_how_many_rows_they_have() -> None:
    """go-tpc leaves rows out without a word; order lines have a count for some factors only."""
    assert ScaleFactor(scale_factor=1).rows_by_table["lineitem"] == 6_001_215
    found = ScaleFactor(scale_factor=7).rows_by_table
    assert (found["lineitem"], found["orders"], found["nation"]) == (None, 10_500_000, 25)


# ---------------------------------------------------------------- report types


def test_queries_of_tpch_are_planned_by_the_size_of_their_tables() -> None:
    """No trial changes them, so that none is restored before another."""
    chosen = fit.check(spec(restore="after_writes"), "x")
    assert str(chosen.dataset) == "TPC-H at scale factor 10"
    assert set(chosen.workloads) < workloads.read_only()
    assert steps.data_bytes(chosen, None) == pytest.approx(22.7e9, rel=0.01)
    (prepare, *_) = steps.plan_steps(chosen, [], None)
    assert prepare.minutes == pytest.approx(86.6e6 / ScaleFactor.LOAD_ROWS_PER_S / 60, rel=0.01)
    assert "TPC-H at scale factor 10" in str(prepare.what)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"dataset": {"warehouses": 4}}, r"dataset: tpch_q1 needs scale_factor, found 4 warehous"),
        ({"workloads": ["tpch_q1", "tpch_q23"]}, r"workloads: unknown: tpch_q23; known: "),
        ({"workloads": ["tpch_q1", "oltp_insert"]}, r"oltp_insert and tpch_q1 use different cl"),
        (
            {"client": {"program": "embedded"}},
            r"client\.program: 'embedded' is not one of tiup, go",
        ),
    ],
)
def test_what_go_tpc_cannot_run_is_refused_before_it_is_loaded(
    fields: dict[str, Any], said: str
) -> None:
    """In the field's own words."""
    with pytest.raises(SpecError, match=said):
        fit.check(spec(**fields), "x")


def test_a_version_is_of_the_program_that_was_named() -> None:
    """go-tpc's v1.0.12 is new enough, and no `tiup bench` that is too old."""
    with pytest.raises(SpecError) as refused:
        fit.check(spec(client={"version": "v1.0.12"}), "x")
    assert "client.program: missing" in str(refused.value)
    assert "tiup bench" not in str(refused.value)
    fit.check(spec(client={"program": "go-tpc", "version": "v1.0.12"}), "x")


def test_a_scale_factor_is_a_whole_number() -> None:
    """go-tpc takes no other, and would load empty tables for 0."""
    with pytest.raises(SpecError, match=r"dataset\.scale_factor: must be at least 1, found 0"):
        spec().with_overrides({"dataset.scale_factor": 0})
    with pytest.raises(
        SpecError, match=r"dataset\.scale_factor: must be a whole number, found 0\.1"
    ):
        spec().with_overrides({"dataset.scale_factor": 0.1})


# ---------------------------------------------------------------- outputs


@pytest.mark.parametrize("path", OUTPUTS, ids=lambda path: path.stem)
def test_recorded_outputs_are_read_as_reviewed(path: Path) -> None:
    """Every recorded output, good or bad, gives the JSON that was reviewed by hand."""
    assert parse(path.read_text()).to_json() == json.loads(path.with_suffix(".json").read_text())


def test_only_whole_runs_are_complete() -> None:
    """Among the others are a client that was killed and a server that died."""
    found = tuple(p.stem for p in OUTPUTS if parse(p.read_text()).status == "complete")
    assert found == tuple(sorted(COMPLETE))


@pytest.mark.parametrize("name", COMPLETE)
def test_no_prefix_of_a_good_output_is_complete(name: str) -> None:
    """A client killed at any moment, whatever it had printed, never counts as measured."""
    text = recorded(name)
    for end in range(len(text.rstrip())):
        assert parse(text[:end]).status != "complete", text[:end][-200:]


@pytest.mark.parametrize("name", COMPLETE)
def test_throughput_is_what_the_threads_do_at_the_printed_mean(name: str) -> None:
    """In the units of the store; a query that the end of the run cut off is no error."""
    read = parse(recorded(name))
    samples = read.samples()
    assert set(samples) == {metric.name for metric in tpch.METRICS}
    (mean,) = re.findall(r"\[Summary\] Q[0-9]+: (.*)s", recorded(name))
    assert samples["avg_ms"] == 1000 * float(mean)
    assert samples["qpm"] == pytest.approx(60 * (read.threads or 0) / float(mean), abs=0.001)
    assert samples["errors"] == 0
    assert len(read.series) == read.transactions


def _columns(output: TpchOutput) -> Columns:
    return client_columns(output, 2, 9, SESSION.dataset)


def test_a_query_that_go_tpc_cannot_resolve_has_no_figure() -> None:
    """The reason names the query, how far the mean may be off, and what helps."""
    read = parse(recorded("too_quick"))
    assert (read.status, read.qpm) == ("failed", None)
    (said,) = read.reasons
    assert "which may be 0.04 s more or less: go-tpc counts in steps of 67 ms" in said
    assert "leave tpch_q6 out" in said
    assert _columns(read)["summary_present"] == 1, "it was printed"
    assert _columns(read)["known_query_time"] == 0
    assert _columns(parse(recorded("too_slow")))["known_query_time"] is None, "for want of one"
    limit = "go-tpc tpch run --threads=1 --queries=q6 --time=9s\n[Current] Q6: {0}s\nFinished\n"
    limit += "[Summary] Q6: {0}s\n"
    assert parse(limit.format("0.77")).status == "complete"
    assert parse(limit.format("0.76")).status == "failed"


def test_a_trial_that_is_too_short_for_its_query_says_so() -> None:
    """Where only the quick ones ended, their mean is no figure either."""
    (said,) = parse(recorded("too_slow")).reasons
    assert said.startswith("No Q1 ended while the run lasted")
    few = recorded("q6").replace("--threads=2", "--threads=20")
    assert "20 threads ended" in " ".join(parse(few).reasons)
    assert _columns(parse(few))["known_query_time"] == 0


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("--queries=q6 ", "--queries=q2 ", "Lines of another query than Q2: "),
        ("go-tpc tpch run", "go-tpc tpcc run", "no command of a run of `go-tpc tpch` in the text"),
        (
            "Finished\n",
            "Got signal [terminated] to exit.\nFinished\n",
            "ended from outside: Got sig",
        ),
        ("[Summary] Q6_ERR", "[Summary] Q6 ERR", "line on queries that were cut off is missing"),
    ],
)
def test_a_damaged_output_is_not_complete(old: str, new: str, said: str) -> None:
    """It says what is wrong with it."""
    assert old in recorded("q6")
    read = parse(recorded("q6").replace(old, new))
    assert read.status != "complete"
    assert said in " ".join(read.reasons)


def test_two_runs_in_one_text_are_none() -> None:
    """Their figures would be mixed."""
    read = parse(recorded("q6") * 2)
    assert (read.status, read.qpm) == ("failed", None)
    assert "The output holds more than one run." in read.reasons


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("refused", "connection refused"),
        ("denied", "Access denied for user"),
        ("option", "unknown flag: --intervall"),
        ("no_table", "Table 'tpch.orders' doesn't exist"),
        ("server_died", "connection that was lost or refused"),
    ],
)
def test_a_run_that_failed_says_why(name: str, said: str) -> None:
    """go-tpc exits with 0 after some of these."""
    read = parse(recorded(name))
    assert read.status != "complete"
    assert said in " ".join(read.reasons)


def test_a_load_that_failed_says_why() -> None:
    """go-tpc has no other sign of it than its message."""
    assert tpch.load_faults(recorded("load")) == []
    assert "connection refused" in " ".join(tpch.load_faults(recorded("refused")))


def test_intervals_that_have_no_length_are_not_missed() -> None:
    """A query may take longer than an interval, or there are several in one."""
    trial = campaigns.campaign(spec()).plan.trials[0]
    output = parse(recorded("q1_one_thread"))
    columns = output_columns(
        workloads.by_name()["tpch_q1"],
        trial,
        output,
        dataset=SESSION.dataset,
        interval_s=1,
        expected_errors=(),
    )
    assert columns["missing_intervals"] is None
    assert (columns["summary_present"], columns["error_ratio"]) == (1, 0)


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Nothing is raised, whatever a client or a server printed."""
    assert isinstance(parse(recorded("q6") + text), TpchOutput)
    assert isinstance(parse(text), TpchOutput)
