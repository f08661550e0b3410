"""go-tpc's output is read exactly, and only a whole run is complete."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchlab.workloads import tpcc
from benchlab.workloads.tpcc_output import OPERATIONS, TpccOutput, parse

GOLDEN = Path(__file__).parents[2] / "golden" / "tpcc"
OUTPUTS = sorted(GOLDEN.glob("*.txt"))
COMPLETE = [p for p in OUTPUTS if json.loads(p.with_suffix(".json").read_text())["reasons"] == []]
GOOD = (GOLDEN / "gotpc_run_plain.txt").read_text()
STAMP = "[2026-11-20 17:10:01] "


def golden(name: str) -> TpccOutput:
    """A parsed recorded output."""
    return parse((GOLDEN / f"{name}.txt").read_text())


def changed(old: str, new: str) -> TpccOutput:
    """The good output with one change, parsed."""
    assert GOOD.count(old) == 1
    return parse(GOOD.replace(old, new))


def with_line(line: str) -> TpccOutput:
    """The good output with one more line before the end of the run."""
    return changed("\nFinished\n", f"\n{line}\nFinished\n")


# ---------------------------------------------------------------- recorded outputs


@pytest.mark.parametrize("path", OUTPUTS, ids=lambda path: path.stem)
def test_recorded_outputs_are_read_as_reviewed(path: Path) -> None:
    """Every recorded output, good or bad, gives the JSON that was reviewed by hand."""
    expected = json.loads(path.with_suffix(".json").read_text())
    read = parse(path.read_text()).to_json()
    assert read == expected
    assert list(read) == list(expected)


def test_good_runs_are_among_the_recorded_ones() -> None:
    """As text and JSON, from the newest release and the development branch."""
    assert {p.stem for p in COMPLETE} == {"gotpc_1.0.12_run", "gotpc_run_json", "gotpc_run_plain"}


@pytest.mark.parametrize("path", COMPLETE, ids=lambda path: path.stem)
def test_no_prefix_of_a_good_output_is_complete(path: Path) -> None:
    """A client killed at any moment, whatever it had printed, never counts as measured."""
    text = path.read_text()
    whole = len(text.rstrip())
    assert parse(text[:whole]).status == "complete"
    summary = text.rindex("Finished")
    cuts = [*range(0, summary, 13), *range(summary, whole)]
    assert {parse(text[:cut]).status for cut in cuts} == {"failed", "incomplete"}


@pytest.mark.parametrize("path", COMPLETE, ids=lambda path: path.stem)
def test_no_summary_with_a_line_lost_is_complete(path: Path) -> None:
    """A summary that lacks one of the five transactions contradicts its own total."""
    lines = path.read_text().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if line.startswith("Finished"))
    for index in range(first, len(lines)):
        if "_ERR - " in lines[index]:
            continue
        assert parse("".join(lines[:index] + lines[index + 1 :])).status != "complete"


# ---------------------------------------------------------------- figures


def test_the_headline_is_new_orders_per_minute() -> None:
    """The figures a published report shows are those that go-tpc printed."""
    read = golden("gotpc_run_plain")
    assert (read.tpmc, read.tpm_total, read.efficiency_pct) == (18736.6, 41738.3, 145697.0)
    assert read.duration_s == 30.0
    assert read.operations["NEW_ORDER"].count == 9363
    assert read.operations["NEW_ORDER"].p99_ms == 22.0
    assert read.transactions == 841 + 9363 + 803 + 8985 + 861
    assert read.tps == pytest.approx(read.transactions / read.duration_s, rel=0.01)
    assert read.latency_ms.avg == pytest.approx(5.55, abs=0.01)
    assert read.latency_ms.max == 48.2
    assert read.latency_ms.p95 is None


def test_the_document_has_what_its_readers_rely_on() -> None:
    """The five transactions are always there; unknown values are null."""
    keys = [*("status", "reasons", "tpmc", "tpm_total", "efficiency_pct", "duration_s")]
    figures = ("count", "errors", "tpm", "avg_ms", "p50_ms", "p90_ms", "p95_ms", "p99_ms")
    for path in OUTPUTS:
        document = parse(path.read_text()).to_json()
        assert list(document) == [*keys, "transactions", "series"]
        assert set(document["transactions"]) == set(OPERATIONS)
        for operation in document["transactions"].values():
            assert list(operation) == [*figures, "p999_ms", "max_ms"]
            if document["tpmc"] is None:
                assert set(operation.values()) == {None}


def test_errors_of_a_transaction_are_zero_only_if_the_summary_is_whole() -> None:
    """A line of errors is printed only if there are errors, so its absence means none."""
    good = golden("gotpc_run_plain").to_json()["transactions"]
    assert (good["NEW_ORDER"]["errors"], good["PAYMENT"]["errors"]) == (2, 0)
    cut = parse(GOOD[: GOOD.rindex("tpmC: ")]).to_json()["transactions"]
    assert {operation["errors"] for operation in cut.values()} == {None}
    line = next(line for line in GOOD.splitlines() if line.startswith("[Summary] NEW_ORDER_ERR"))
    spoilt = changed(line, line.replace("Avg(ms): 4.7", "Avg(ms): NaN"))
    assert spoilt.to_json()["transactions"]["NEW_ORDER"]["errors"] is None


def test_a_transaction_that_never_succeeded_has_errors_and_no_figures() -> None:
    """Its line of figures is not printed, and zeros are not made up for it."""
    read = parse(
        "Finished\n"
        "[Summary] NEW_ORDER - Takes(s): 9.9, Count: 33, TPM: 200.0, Sum(ms): 5.0, Avg(ms): 5.0, "
        "50th(ms): 5.0, 90th(ms): 5.0, 95th(ms): 5.0, 99th(ms): 5.0, 99.9th(ms): 5.0, "
        "Max(ms): 5.0\n"
        "[Summary] PAYMENT_ERR - Takes(s): 9.9, Count: 7, TPM: 42.4, Sum(ms): 5.0, Avg(ms): 5.0, "
        "50th(ms): 5.0, 90th(ms): 5.0, 95th(ms): 5.0, 99th(ms): 5.0, 99.9th(ms): 5.0, "
        "Max(ms): 5.0\n"
        "tpmC: 200.0, tpmTotal: 200.0, efficiency: 1555.2%\n"
    )
    assert read.status == "complete"
    payment = read.to_json()["transactions"]["PAYMENT"]
    assert payment.pop("errors") == 7
    assert set(payment.values()) == {None}


def test_the_samples_of_a_trial_are_new_orders_and_their_latency() -> None:
    """Metrics have units, and the percentiles are New Order's."""
    samples = golden("gotpc_run_plain").samples()
    assert set(samples) == {metric.name for metric in tpcc.METRICS}
    assert [samples[name] for name in ("tpmc", "tpm_total", "efficiency_pct", "errors")] == [
        *(18736.6, 41738.3, 145697.0, 0)
    ]
    assert [samples[f"new_order_p{n}_ms"] for n in (50, 90, 95, 99)] == [6.3, 12.1, 14.7, 22.0]
    assert set(parse("").samples().values()) == {None}


def test_threads_at_work_follow_from_the_latencies() -> None:
    """The sum over all transactions, including failed ones, is the four workers' time."""
    read = golden("gotpc_run_plain")
    assert read.latency_ms.sum is not None
    assert read.duration_s is not None
    assert read.latency_ms.sum / 1000 / read.duration_s == pytest.approx(4, rel=0.05)


def test_the_series_shows_the_course_of_the_run() -> None:
    """An interval has the rates of its own lines, and its end as its time."""
    series = golden("gotpc_run_plain").series
    assert [i.t for i in series] == [10.0, 20.0, 30.0]
    assert [i.tpmc for i in series] == [17003.5, 16812.8, 22397.0]
    assert series[0].tps == pytest.approx((1495.5 + 17003.5 + 1391.8 + 15950.7 + 1475.9) / 60)


def test_transactions_cut_off_by_the_end_of_the_run_are_not_errors() -> None:
    """The transactions in flight at the end fail by design, on every server."""
    read = golden("gotpc_run_plain")
    assert (read.errors, read.cancelled) == (0, 3)
    assert {n: o.count for n, o in read.operations.items() if n.endswith("_ERR")} == {
        "NEW_ORDER_ERR": 2,
        "STOCK_LEVEL_ERR": 1,
    }


def test_an_ignored_error_is_counted_by_number() -> None:
    """A write conflict does not fail a run that ignores errors, but is counted."""
    read = with_line(f"{STAMP}execute run failed, err Error 9007 (HY000): Write conflict, x")
    assert read.status == "complete"
    assert read.error_numbers == {"9007": 1}


# ---------------------------------------------------------------- causes


def test_a_full_summary_of_a_dead_server_is_not_a_measurement() -> None:
    """The server was killed half-way; go-tpc printed a plausible tpmC and exit status 0."""
    read = golden("gotpc_killed_midrun")
    assert (read.status, read.tpmc, read.duration_s) == ("failed", 19675.9, 4.0)
    assert read.reasons[0] == "Workers that ended before the run did, by an error: 4."


def test_a_run_that_lost_one_worker_has_failed() -> None:
    """The other workers continued, with fewer threads than requested."""
    read = golden("tidb_v6.1.0_gotpc_run")
    assert read.status == "failed"
    assert "Write conflict" in " ".join(read.reasons)
    assert read.error_numbers == {"9007": 1}


@pytest.mark.parametrize(
    "message",
    ["invalid connection", "driver: bad connection", "dial tcp 127.0.0.1:1: connection refused"],
)
def test_a_lost_connection_fails_a_run_that_ignores_errors(message: str) -> None:
    """A server that went away and came back was not measured in between."""
    read = with_line(f"{STAMP}execute run failed, err exec SELECT 1 failed {message}")
    assert read.status == "failed"
    assert message in " ".join(read.reasons)


CANCELLED = f"{STAMP}run worker 0 stopped due to timeout: "
LOG = "[mysql] 2026/11/20 {} statement.go:54: invalid connection"


def test_connections_closed_by_the_end_of_a_run_are_not_lost() -> None:
    """The driver closes the connection of a transaction that it cancels, and prints that."""
    for when in ("17:10:00", "17:10:01", "17:10:02"):
        read = with_line(
            f"{LOG.format(when)}\n{CANCELLED}exec UPDATE district SET d_ytd = ? failed sql: "
            "connection is already closed"
        )
        assert (read.status, read.reasons) == ("complete", ())
    closed = with_line(f"{CANCELLED}driver: bad connection")
    assert (closed.status, closed.cancelled) == ("complete", 4)


def test_a_connection_lost_before_the_end_fails_the_run() -> None:
    """In the middle of a run, the same message means that the server went away."""
    before = with_line(f"{LOG.format('17:09:59')}\n{CANCELLED}context deadline exceeded")
    assert before.status == "failed"
    assert "invalid connection" in before.reasons[1]
    without_end = "".join(
        line for line in GOOD.splitlines(keepends=True) if "stopped due to timeout" not in line
    )
    log = LOG.format("17:10:09")
    assert parse(without_end).status == "complete"
    assert parse(without_end.replace("Finished", f"{log}\nFinished")).status == "failed"
    impossible = with_line(f"{LOG.format('99:99:99')}\n{CANCELLED}context deadline exceeded")
    assert impossible.status == "failed"


def test_an_error_in_a_statement_of_several_lines_is_one_error() -> None:
    """The error is at the end of the statement's last line."""
    statement = "exec UPDATE customer SET c_balance = ?,\nc_payment_cnt = ? WHERE c_id = ? failed "
    read = with_line(f"{STAMP}execute run failed, err {statement}Error 1213 (40001): Deadlock")
    assert (read.status, read.error_numbers) == ("complete", {"1213": 1})
    read = with_line(f"{CANCELLED}{statement}driver: bad connection")
    assert (read.status, read.cancelled) == ("complete", 4)
    read = with_line(f"{STAMP}execute run failed, err {statement}invalid connection")
    assert read.status == "failed"


def test_a_statement_that_was_cut_off_hides_no_line_after_it() -> None:
    """Figures and other errors after it are still read."""
    for cut in ("exec UPDATE customer SET", "exec UPDATE customer\nSET c_balance"):
        read = with_line(f"{CANCELLED}{cut}")
        assert (read.status, read.tpmc) == ("complete", 18736.6)
        read = with_line(f"{CANCELLED}{cut}\nexecute run failed, err Error 2013: gone")
        assert read.reasons[0] == "Workers that ended before the run did, by an error: 1."


def test_a_fatal_error_of_the_embedded_client_is_a_reason() -> None:
    """It is called by its own name, and its FATAL line fails a run even with a summary."""
    told = "FATAL: --warehouses is 3 and the database holds 2"
    read = parse(f"benchlab tpcc.lua 1\n{told}\n")
    assert read.status == "failed"
    assert read.reasons[0] == f"tpcc.lua printed: {told}"
    assert with_line(told).status == "failed"
    assert parse(f"sysbench 1.0.20\n\nbenchlab tpcc.lua 1\n{GOOD}").status == "complete"


def test_a_run_ended_by_a_signal_is_incomplete() -> None:
    """It prints a whole summary of the time until then."""
    read = with_line("Got signal [terminated] to exit.")
    assert read.status == "incomplete"
    assert read.reasons == ("The run was ended from outside: Got signal [terminated].",)


def test_a_refused_connection_and_option_are_reported() -> None:
    """go-tpc's message is among the reasons, although its exit status was 0."""
    refused = parse("failed to ping db, err dial tcp 127.0.0.1:1: connect: connection refused\n")
    assert refused.status == "failed"
    assert "failed to ping db" in " ".join(refused.reasons)
    option = parse("Error: unknown flag: --warehouse\nUsage:\n  go-tpc tpcc run [flags]\n")
    assert option.status != "complete"
    assert "unknown flag: --warehouse" in " ".join(option.reasons)


def test_the_output_of_another_action_is_recognised() -> None:
    """`check` prints no figures; if a condition does not hold, the reason says which."""
    read = golden("gotpc_check_fail")
    assert read.reasons[0] == "The text is of `prepare` or `check`, not of a run."
    assert "3.3.2.8" in read.reasons[1]


def test_impossible_values_fail_the_run() -> None:
    """NaN and negative figures never become numbers."""
    for value in ("NaN", "-1.0", "+Inf"):
        read = changed("tpmC: 18736.6,", f"tpmC: {value},")
        assert (read.status, read.tpmc) == ("failed", None)


def test_a_total_of_another_run_is_noticed() -> None:
    """The last line must agree with the new orders of the summary above it."""
    read = changed("tpmC: 18736.6,", "tpmC: 28736.6,")
    assert read.status == "failed"
    assert "28736.6" in read.reasons[0]


def test_two_runs_in_one_text_are_refused() -> None:
    """There is no way to know which one counts."""
    assert "more than one run" in parse(GOOD + GOOD).reasons[0]


def test_windows_line_ends_change_nothing() -> None:
    """An output that came through a terminal reads the same."""
    assert parse(GOOD.replace("\n", "\r\n")) == parse(GOOD)


def test_many_dead_workers_stay_readable() -> None:
    """Thousands of distinct errors become a few lines and a count."""
    died = "".join(f"execute run failed, err {n} {'x' * 1000}\n" for n in range(2000))
    reasons = parse(GOOD.replace("Finished\n", f"{died}Finished\n")).reasons
    assert reasons[0].endswith(": 2000.")
    assert len(reasons) == 6
    assert max(map(len, reasons)) < 400


# ---------------------------------------------------------------- any text


@given(st.text(max_size=400))
@example("\0\ud800")
@example("[{" * 50_000)
@example('[{"Prefix": "[Summary] ", "Operation": 1}]')
@example("[{}]")
def test_any_text_is_read_without_an_exception(text: str) -> None:
    """A foreign file gives no figures and a reason."""
    read = parse(text)
    assert read.status != "complete"
    assert read.reasons
    json.dumps(read.to_json(), allow_nan=False)


PIECES = re.split(r"(\n|: |, | - )", GOOD)


@settings(max_examples=300)
@given(
    st.integers(0, len(PIECES) - 1),
    st.integers(1, 6),
    st.sampled_from(["", "nan", "-", "\n", "[Current] ", "9" * 30, "[Summary] NEW_ORDER - "]),
)
def test_a_garbled_output_is_never_another_measurement(at: int, length: int, put: str) -> None:
    """Whatever is lost or inserted, a run that is still complete has its original figures."""
    text = "".join([*PIECES[:at], put, *PIECES[at + length :]])
    read = parse(text)
    json.dumps(read.to_json(), allow_nan=False)
    if read.status == "complete":
        assert (read.tpmc, read.tpm_total) == (18736.6, 41738.3)
    else:
        assert read.reasons


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            (
                "tpmC: 93826.9, efficiency: 729.6%\n"
                "[Summary] Q1     - Count: 11, Sum(ms): 42738.2, Avg(ms): 3885.3\n"
            ),
            "The output is of CH-benCHmark",
        ),
        (
            (
                "Finished\n|  PREFIX   |  OPERATION   | TAKES(S) | COUNT |\n"
                "tpmC: 600.0, tpmTotal: 1200.0, efficiency: 100.0%\n"
            ),
            "The output is a table (`--output table`)",
        ),
    ],
)
def test_what_is_printed_in_another_way_is_told_by_its_name(text: str, said: str) -> None:
    """Neither is cut, and the first is no older go-tpc, though one of its lines is as there."""
    (reason,) = parse(text).reasons
    assert reason.startswith(said)
