"""sysbench's output is read exactly, and only a whole run is complete."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchlab.workloads.output import Interval
from benchlab.workloads.sysbench_output import Series, SysbenchOutput, parse

GOLDEN = Path(__file__).parents[2] / "golden" / "sysbench"
OUTPUTS = sorted(GOLDEN.glob("*.txt"))
COMPLETE = [p for p in OUTPUTS if json.loads(p.with_suffix(".json").read_text())["reasons"] == []]
GOOD = (GOLDEN / "sysbench_read_write_t4.txt").read_text()
CHECKPOINTS = (GOLDEN / "sysbench_checkpoints.txt").read_text()
VERSION_1_1 = GOOD.replace("sysbench 1.0.20 (using system", "sysbench 1.1.0-3ceba0b (using bundled")
VERSION_1_1 = VERSION_1_1.replace(
    "General statistics:\n    total time:                          5.0079s",
    "Throughput:\n    events/s (eps):                      514.3300\n"
    "    time elapsed:                        5.0079s",
)


def golden(name: str) -> SysbenchOutput:
    """A parsed recorded output."""
    return parse((GOLDEN / f"{name}.txt").read_text())


def changed(old: str, new: str) -> SysbenchOutput:
    """The good output with one change, parsed."""
    assert GOOD.count(old) == 1
    return parse(GOOD.replace(old, new))


# ---------------------------------------------------------------- recorded outputs


@pytest.mark.parametrize("path", OUTPUTS, ids=lambda path: path.stem)
def test_recorded_outputs_are_read_as_reviewed(path: Path) -> None:
    """Every recorded output, good or bad, gives the JSON that was reviewed by hand."""
    expected = json.loads(path.with_suffix(".json").read_text())
    read = parse(path.read_text()).to_json()
    assert read == expected
    assert list(read) == list(expected)


@pytest.mark.parametrize("path", COMPLETE, ids=lambda path: path.stem)
def test_no_prefix_of_a_good_output_is_complete(path: Path) -> None:
    """A client killed at any moment, whatever it had printed, never counts as measured."""
    text = path.read_text()
    whole = len(text.rstrip())
    assert parse(text[:whole]).status == "complete"
    # Near the summary every cut is tried; before it, every fifth will do.
    summary = text.rindex("SQL statistics:")
    cuts = [*range(0, summary, 5), *range(summary, whole)]
    assert {parse(text[:cut]).status for cut in cuts} == {"failed", "incomplete"}


def test_counts_are_read_along_with_the_rates() -> None:
    """A gate can compare the printed rates with the printed counts and duration."""
    read = golden("sysbench_read_write_t4")
    assert read.transactions == 2576
    assert read.tps is not None
    assert read.duration_s is not None
    assert read.tps * read.duration_s == pytest.approx(2576, rel=0.01)


def test_sysbench_1_1_is_read() -> None:
    """The summary of sysbench 1.1.0 gives the same numbers as the one of 1.0.20."""
    assert parse(VERSION_1_1).to_json() == parse(GOOD).to_json()


def assert_same(one: SysbenchOutput, other: SysbenchOutput) -> None:
    """Every figure, and every interval of the series."""
    assert list(one.series) == list(other.series)
    none = Series()
    assert replace(one, series=none) == replace(other, series=none)


def test_windows_line_ends_change_nothing() -> None:
    """An output that came through a terminal reads the same."""
    assert_same(parse(GOOD.replace("\n", "\r\n")), parse(GOOD))


def test_a_run_without_report_interval_has_no_series() -> None:
    """Without intermediate reports a run can be complete; its series is empty."""
    read = golden("sysbench_noreport_events")
    assert read.status == "complete"
    assert len(read.series) == 0


# ---------------------------------------------------------------- causes


def test_an_operator_reads_the_cause() -> None:
    """The server's error is among the reasons, once, however many threads met it."""
    reasons = golden("sysbench_err_access_denied").reasons
    assert sum("error 1045: Access denied for user 'bench'" in reason for reason in reasons) == 1
    assert reasons[-1] == "The client never started its threads."


def test_many_fatal_lines_stay_readable() -> None:
    """Thousands of distinct errors become a few lines and a count."""
    fatal = "".join(f"FATAL: error {n} {'x' * 1000}\n" for n in range(2000))
    reasons = parse(GOOD.replace("SQL statistics", fatal + "SQL statistics")).reasons
    assert len(reasons) == 6
    assert "1995" in reasons[-1]
    assert max(map(len, reasons)) < 400


def test_a_crash_without_a_message_is_incomplete() -> None:
    """A client that crashed or was killed is recognised by what is missing."""
    for name in ("sysbench_killed_ignore_list", "sysbench_sigterm"):
        read = golden(name)
        assert (read.status, read.tps) == ("incomplete", None)
        assert "without a summary" in read.reasons[0]


def test_a_refused_option_is_reported() -> None:
    """With both streams in one file, what sysbench wrote to stderr is among the reasons."""
    read = parse("sysbench 1.0.20 (using system LuaJIT)\n\ninvalid option: --nonsense=1\n")
    assert read.status == "failed"
    assert "invalid option: --nonsense=1" in read.reasons[-1]


def test_a_forced_shutdown_is_not_a_measurement() -> None:
    """A summary printed after a fatal message does not make the run complete."""
    read = golden("sysbench_forced_shutdown")
    assert (read.status, read.tps) == ("failed", 168.47)


@pytest.mark.parametrize("end", ["0.00", "100000.00"])
def test_an_end_of_the_histogram_is_no_latency(end: str) -> None:
    """sysbench prints it where its histogram counted nothing, or what is beyond it."""
    read = changed("95th percentile:                       19.29", f"95th percentile: {end:>27}")
    assert (read.status, read.tps, read.latency_ms.p95) == ("complete", 514.33, None)


@pytest.mark.parametrize("prefix", ["2026-07-21T10:00:00Z ", "client-0  | ", "\t", "    "])
def test_what_stands_before_each_line_is_named(prefix: str) -> None:
    """By `kubectl logs --timestamps`, `docker compose logs`, or a quotation."""
    read = parse("".join(prefix + line for line in GOOD.splitlines(keepends=True)))
    assert read.status == "failed"
    assert [repr(prefix) in reason for reason in read.reasons] == [True]


@pytest.mark.parametrize("before", ["sysbench 1.0.20\n", "sysbench 1.1.0-3ceba0b (using LuaJIT)\n"])
def test_a_version_before_a_run_is_not_a_run(before: str) -> None:
    """`sysbench --version` and `run` go into one log; so do `prepare` and `cleanup`."""
    assert parse(before + GOOD).to_json() == parse(GOOD).to_json()
    after = f"{before}\nDropping table 'sbtest1'...\n"
    assert parse(GOOD + after).to_json() == parse(GOOD).to_json()


def test_an_old_sysbench_is_known_without_its_first_line() -> None:
    """A log may have lost it; the run was of a database all the same."""
    old = (GOLDEN / "sysbench_0_5.txt").read_text().partition("\n")[2]
    (reason,) = parse(old).reasons
    assert "of sysbench before 1.0, which prints other lines" in reason


@pytest.mark.parametrize("text", ["", "\n \n", "hello\nworld\n", "[ 1s ] something", "\0\ud800"])
def test_other_text_is_recognised(text: str) -> None:
    """An empty or foreign file is a failed run, and the reason says which."""
    read = parse(text)
    assert read.status == "failed"
    expected = "not the output of sysbench" if text.strip() else "is empty"
    assert expected in read.reasons[0]


def test_another_test_of_sysbench_is_not_a_database_run() -> None:
    """The output of `sysbench cpu run` is refused, not read as an empty run."""
    general = GOOD.index("General statistics:")
    read = parse(GOOD[: GOOD.index("SQL statistics:")] + GOOD[general:])
    assert read.status == "failed"
    assert "not of a database workload" in read.reasons[0]


# ---------------------------------------------------------------- summaries that do not count


def test_a_checkpoint_is_not_the_summary() -> None:
    """Only the summary after the last checkpoint report is the run's."""
    read = parse(CHECKPOINTS)
    assert (read.status, read.transactions, read.duration_s) == ("complete", 38807, 4.0025)
    last = CHECKPOINTS.rindex("SQL statistics:")
    killed = parse(CHECKPOINTS[:last])
    assert (killed.status, killed.tps, killed.transactions) == ("incomplete", None, None)
    assert golden("sysbench_killed_after_checkpoint").status == "incomplete"


@pytest.mark.parametrize("glue", ["", "\n", "(last message repeated 3 times)\n"])
def test_two_runs_in_one_file_are_refused(glue: str) -> None:
    """A warm-up and a run in one file are not mixed into one result."""
    read = parse(GOOD + glue + GOOD)
    assert (read.status, read.tps, len(read.series)) == ("failed", None, 0)


def test_a_second_summary_is_refused() -> None:
    """Two summaries of one run leave no way to know which one counts."""
    summary = GOOD[GOOD.index("SQL statistics:") :]
    assert parse(GOOD + summary).status == "failed"


def test_a_tail_is_incomplete() -> None:
    """An output whose beginning is lost is not complete, even with a summary."""
    assert parse(GOOD[GOOD.index("[ 3s ]") :]).status == "incomplete"
    assert parse(GOOD[GOOD.index("Threads started!") :]).status == "incomplete"


@pytest.mark.parametrize("line", GOOD[GOOD.index("SQL statistics:") :].splitlines())
def test_each_line_of_the_summary_is_needed(line: str) -> None:
    """A summary without one of the lines that are read gives no figures."""
    read = parse(GOOD.replace(line + "\n", "", 1))
    unused = {"", "queries performed", "read", "write", "other", "total", "events"}
    unused |= {"General statistics", "total number of events", "Latency", "Threads fairness"}
    if line.strip().split(":")[0].split(" (")[0] in unused:
        return
    assert read.status != "complete"
    assert (read.tps, read.qps, read.latency_ms.avg, read.errors) == (None, None, None, None)


@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "-inf", "-514.33"])
@pytest.mark.parametrize("spot", ["514.33", "7.77", "19.29"])
def test_impossible_values_are_refused(spot: str, value: str) -> None:
    """NaN, infinite and negative values never reach a report, nor break its JSON."""
    if spot == "7.77":
        read = changed("                   7.77\n", f"                   {value}\n")
    else:
        read = changed(spot, value)
    assert read.status == "failed"
    assert any("cannot be" in reason for reason in read.reasons)
    json.dumps(read.to_json(), allow_nan=False)
    assert None in (read.tps, read.latency_ms.avg, read.latency_ms.p95)


def test_a_negative_count_is_refused() -> None:
    """A count below zero is impossible."""
    read = changed("ignored errors:                      0 ", "ignored errors:    -3 ")
    assert (read.status, read.errors) == ("failed", None)


def test_a_run_without_transactions_has_no_latency() -> None:
    """Latencies that were not measured are absent, not 0.00; the run is not complete."""
    read = changed("2576   (514.33 per sec.)", "0      (0.00 per sec.)")
    assert (read.status, read.transactions, read.tps) == ("failed", 0, 0.0)
    assert read.latency_ms.avg is None


# ---------------------------------------------------------------- percentiles


def test_only_the_95th_percentile_is_p95() -> None:
    """If it is disabled or another one, p95 is absent in summary and series."""
    for name in ("sysbench_percentile0", "sysbench_percentile99_rate"):
        read = golden(name)
        assert (read.status, read.latency_ms.p95) == ("complete", None)
        assert [i.p95_ms for i in read.series] == [None] * 3


def test_a_second_of_silence_has_no_percentile() -> None:
    """An interval in which no transaction ended has 0 transactions and no latency."""
    stalled = golden("sysbench_stalled").series[2]
    assert (stalled.tps, stalled.p95_ms) == (0.0, None)


def test_several_percentiles_are_distinguished() -> None:
    """A build that prints more percentiles still gives the 95th."""
    p95 = "         95th percentile:                       19.29\n"
    p99 = p95.replace("95th", "99th").replace("19.29", "40.37")
    assert changed(p95, p95 + p99).latency_ms.p95 == 19.29
    assert changed(p95, p99).latency_ms.p95 is None


# ---------------------------------------------------------------- the series


def test_fatal_lines_among_the_intervals_change_no_interval() -> None:
    """Errors printed between the intervals neither hide nor alter them."""
    series = golden("sysbench_killed_midrun").series
    assert [(i.t, i.threads, i.tps) for i in series] == [
        (1.0, 4, 636.18),
        (2.0, 4, 352.09),
        (3.0, 3, 412.62),
    ]


@pytest.mark.parametrize(
    ("spot", "text", "status"),
    [
        ("tps: 529.73", "tps:  nan", "failed"),
        ("err/s: 0.00 reconn/s: 0.00\n[ 4s ]", "err/s: -1.00 reconn/s: 0.00\n[ 4s ]", "failed"),
        ("tps: 529.73", "tps: 529.7FATAL: x", "failed"),
        ("tps: 529.73", "tps: 529.", "incomplete"),
        ("qps: 10614.60 ", "", "incomplete"),
        ("\n[ 3s ]", "\ngarbage[ 3s ]", "incomplete"),
        ("[ 3s ] thds: 4 tps: 529.73", "#", "incomplete"),
    ],
)
def test_a_damaged_interval_is_left_out_and_reported(spot: str, text: str, status: str) -> None:
    """An unreadable line of the series is left out, and the run is not complete."""
    read = changed(spot, text)
    assert read.status == status
    assert any("series" in reason for reason in read.reasons)
    assert {3.0} == {i.t for i in parse(GOOD).series} - {i.t for i in read.series}
    assert all(i in list(parse(GOOD).series) for i in read.series)


def test_intervals_inside_the_summary_are_still_intervals() -> None:
    """Lines that another thread prints into a summary disturb neither."""
    lines = GOOD.splitlines(keepends=True)
    interval = next(line for line in lines if line.startswith("[ 5s ]"))
    lines.remove(interval)
    lines.insert(lines.index("Latency (ms):\n") + 1, interval)
    assert_same(parse("".join(lines)), parse(GOOD))


def test_series_is_a_sequence_of_intervals() -> None:
    """A series can be indexed like a list of intervals."""
    series = parse(GOOD).series
    assert len(series) == 5
    assert series[-1] == list(series)[-1]
    with pytest.raises(IndexError):
        series[5]


# ---------------------------------------------------------------- any text

TWO_DECIMALS = st.integers(0, 10**9).map(lambda n: n / 100)
INTERVALS = st.builds(
    Interval,
    t=st.integers(0, 10**6).map(float),
    threads=st.integers(0, 10**5),
    tps=TWO_DECIMALS,
    qps=TWO_DECIMALS,
    p95_ms=st.none() | TWO_DECIMALS.filter(bool),
    errors_per_s=TWO_DECIMALS,
    reconnects_per_s=TWO_DECIMALS,
)


def printed(i: Interval) -> str:
    """sysbench 1.0.20's line for an interval (`db_report_intermediate`)."""
    return (
        f"[ {i.t:.0f}s ] thds: {i.threads} tps: {i.tps:4.2f} qps: {i.qps:4.2f} "
        f"(r/w/o: 1.00/22.00/333.00) lat (ms,95%): {i.p95_ms or 0:4.2f} "
        f"err/s: {i.errors_per_s:4.2f} reconn/s: {i.reconnects_per_s:4.2f}\n"
    )


@given(
    st.text() | st.lists(st.sampled_from(GOOD.splitlines()) | st.text(max_size=9)).map("\n".join)
)
@example(GOOD.replace("2576 ", "9" * 5000))
@example(GOOD.replace("514.33", "9" * 5000 + ".00"))
@example("[ " * 1000)
def test_any_text_is_read_without_an_error(text: str) -> None:
    """Any text gives a status and reasons that can be written as JSON."""
    read = parse(text)
    json.dumps(read.to_json(), allow_nan=False)
    assert (read.status == "complete") == (not read.reasons)
    if read.tps is None:
        assert read.status != "complete"


@given(st.sampled_from([GOOD, CHECKPOINTS, VERSION_1_1]), st.data())
def test_any_damage_to_numbers_is_seen_or_harmless(text: str, data: st.DataObject) -> None:
    """Letters written over a good output never turn into other numbers."""
    start = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(1, 40))
    read = parse(text[:start] + "#" * length + text[start + length :])
    good = parse(text)
    for name in ("duration_s", "tps", "qps", "transactions", "errors", "reconnects"):
        assert getattr(read, name) in (None, getattr(good, name))
    assert set(read.series) <= set(good.series)
    if read.status == "complete":
        assert read.to_json()["series"] == good.to_json()["series"]


@given(
    series=st.lists(INTERVALS, max_size=30),
    threads=st.integers(1, 10**6),
    transactions=st.integers(1, 2**64 - 1),
    rates=st.tuples(TWO_DECIMALS, TWO_DECIMALS),
    errors=st.integers(0, 2**64 - 1),
    latencies=st.tuples(*[TWO_DECIMALS] * 5),
    noise=st.sampled_from(["", "[ 1s ] queue length: 3, concurrency: 4\n", "WARNING: slow\n"]),
)
def test_well_formed_outputs_come_back_exactly(
    series: list[Interval],
    threads: int,
    transactions: int,
    rates: tuple[float, float],
    errors: int,
    latencies: tuple[float, ...],
    noise: str,
) -> None:
    """Every printed number is read to its last digit, in intervals and summary."""
    low, avg, high, p95, total = latencies
    text = f"""sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Number of threads: {threads}

Threads started!

{noise.join(map(printed, series))}{noise}SQL statistics:
    transactions:                        {transactions:<6} ({rates[0]:.2f} per sec.)
    queries:                             {transactions:<6} ({rates[1]:.2f} per sec.)
    ignored errors:                      {errors:<6} (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          12.3456s

Latency (ms):
         min: {low:39.2f}
         avg: {avg:39.2f}
         max: {high:39.2f}
        {95:3}th percentile: {p95:27.2f}
         sum: {total:39.2f}

Threads fairness:
    execution time (avg/stddev):   4.9928/0.00
"""
    read = parse(text)
    assert (read.status, read.reasons) == ("complete", ())
    assert (read.threads, read.duration_s) == (threads, 12.3456)
    assert (read.transactions, read.tps, read.qps, read.errors) == (transactions, *rates, errors)
    latency = read.latency_ms
    shown_p95 = None if p95 in (0.0, 100_000.0) else p95
    assert (latency.min, latency.avg, latency.max, latency.sum) == (low, avg, high, total)
    assert latency.p95 == shown_p95, "an end of the histogram is no latency"
    assert list(read.series) == series


# ---------------------------------------------------------------- size


def test_a_long_output_is_read_whole() -> None:
    """A day of one-second intervals, without a loss; in quadratic time it would not end."""
    lines = "".join(
        printed(Interval(float(t), t / 4, 0.0, 64, t / 2, 1.25, 0.0)) for t in range(86400)
    )
    text = GOOD[: GOOD.index("[ 1s ]")] + lines + GOOD[GOOD.index("SQL statistics:") :]
    read = parse(text)
    assert read.status == "complete"
    assert isinstance(read.series, Series)
    assert list(read.series.columns["t"]) == [float(t) for t in range(86400)]
    assert read.series[86399].tps == pytest.approx(86399 / 4, abs=0.005)


def test_absent_values_are_nan_in_columns_and_none_in_intervals() -> None:
    """A column has NaN, an interval None, and never 0."""
    series = golden("sysbench_percentile0").series
    assert isinstance(series, Series)
    assert all(math.isnan(p95) for p95 in series.columns["p95_ms"])


def test_reading_an_output_needs_no_numpy() -> None:
    """The parser is quick to import."""
    code = (
        "import sys; from benchlab.workloads.sysbench_output import parse; parse('');"
        "sys.exit('numpy' in sys.modules or 'pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    ("name", "rate", "behind"), [("sysbench_rate", 40, 0.004), ("sysbench_rate_behind", 4000, 0.88)]
)
def test_what_waited_at_a_rate_is_read(name: str, rate: int, behind: float) -> None:
    """As a part of what was sent, so that it is the same for short and long runs."""
    output = parse((GOLDEN / f"{name}.txt").read_text())
    assert output.rate == rate
    assert output.columns(4, None)["behind"] == pytest.approx(behind, abs=0.002)


def test_percentiles_of_a_histogram_that_lacks_a_line_are_missing() -> None:
    """Cut or garbled, it is of fewer transactions than ran."""
    text = (GOLDEN / "sysbench_rate.txt").read_text()
    assert parse(text).p99_ms == 41.104
    line = next(line for line in text.splitlines() if line.startswith("      41.851"))
    assert parse(text.replace(f"{line}\n", "")).p99_ms is None
