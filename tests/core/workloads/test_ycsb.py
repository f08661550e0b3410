"""go-ycsb's commands are whole and hold no secret; what it prints is read exactly."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchlab.analysis.gates.columns import client_columns
from benchlab.campaign import fit
from benchlab.errors import CommandError, SpecError, UnavailableError
from benchlab.hosts.executor import LocalExecutor
from benchlab.plan.fields.client import Client
from benchlab.workloads import by_name, program, ycsb
from benchlab.workloads.client import Endpoint, Session
from benchlab.workloads.ycsb import Records
from benchlab.workloads.ycsb_output import YcsbOutput, load_faults, parse
from tests.builders import fakes, plans

GOLDEN = Path(__file__).parents[2] / "golden" / "ycsb"
OUTPUTS = sorted(GOLDEN.glob("*.txt"))
COMPLETE = ("lock_waits", "operationcount", "ycsb_a", "ycsb_c", "ycsb_e", "ycsb_f")
ENDPOINT = Endpoint("127.0.0.1", 3390, "bench_open", "", "ycsb")


def recorded(name: str) -> str:
    """What go-ycsb 1.0.3 printed on MariaDB 10.11.5."""
    return (GOLDEN / f"{name}.txt").read_text()


def run_command(workload: str, records: int = 1_000_000) -> list[str]:
    """The command of a run of a minute."""
    session = Session(ENDPOINT, "c", Records(records=records), 16, Client())
    return ycsb.run_command(workload, session, seconds=60)


def spec(**fields: Any) -> Any:
    """A report type with YCSB."""
    chosen = {"dataset": {"records": 1000}, "workloads": ["ycsb_a"], "warmup_seconds": 0, **fields}
    return plans.spec(**chosen)


# ---------------------------------------------------------------- commands


def test_a_run_is_spelled_out() -> None:
    """Whatever decides what is measured; it is interrupted once, and its profile stays here."""
    assert run_command("ycsb_a") == [
        *("timeout", "--foreground", "--preserve-status", "--signal=INT", "--kill-after=30", "60"),
        *("go-ycsb", "run", "mysql", "--prop=mysql.host=127.0.0.1", "--prop=mysql.port=3390"),
        *("--prop=mysql.user=bench_open", "--prop=mysql.db=ycsb", "--prop=recordcount=1000000"),
        *("--prop=fieldcount=10", "--prop=fieldlength=100", "--prop=readallfields=true"),
        *("--prop=insertorder=hashed", "--prop=silence=false", "--prop=debug.pprof=127.0.0.1:0"),
        *("--threads=16", "--interval=1"),
        *("--prop=readproportion=0.5", "--prop=updateproportion=0.5", "--prop=insertproportion=0"),
        *("--prop=scanproportion=0", "--prop=readmodifywriteproportion=0"),
        *("--prop=requestdistribution=zipfian", "--prop=maxscanlength=100"),
        "--prop=operationcount=1000000000",
    ]


@pytest.mark.parametrize("workload", ycsb.NAMES)
def test_each_workload_does_all_of_its_operations(workload: str) -> None:
    """Shares add up to one; only D reads the latest rows most, and only C changes none."""
    properties = dict(
        word.removeprefix("--prop=").split("=", 1) for word in run_command(workload) if "=" in word
    )
    shares = {name: float(n) for name, n in properties.items() if name.endswith("proportion")}
    assert sum(shares.values()) == pytest.approx(1)
    assert (properties["requestdistribution"] == "latest") == (workload == "ycsb_d")
    changes = {"updateproportion", "insertproportion", "readmodifywriteproportion"}
    assert (workload in ycsb.READ_ONLY) == (not any(shares[name] for name in changes))


@given(st.integers(1, 50_000), st.integers(1, 64))
def test_a_load_inserts_as_many_rows_as_were_asked_for(hundreds: int, threads: int) -> None:
    """go-ycsb gives each thread its share, and rounds a share up to a whole batch."""
    session = Session(ENDPOINT, "c", Records(records=hundreds * 100), threads, Client())
    command = ycsb.prepare_command(session)
    used = next(int(w.split("=")[1]) for w in command if w.startswith("--threads="))
    assert "--prop=batch.size=100" in command
    assert 1 <= used <= threads
    assert hundreds % used == 0


def test_the_client_is_known_by_its_file() -> None:
    """It has no version to ask for; where it is missing, the message says what is."""

    def answer(command: Sequence[str], stdin: str) -> str:
        assert (command[0], command[-1]) == ("sh", "go-ycsb")
        return f"{'0123456789ab' * 5}cdef  /usr/bin/go-ycsb\n"

    _, facts = program.choose(fakes.FakeExecutor(answer), by_name()["ycsb_a"], None)
    assert facts["client_version"] == "go-ycsb with the sha256 0123456789ab"

    def none(command: Sequence[str], stdin: str) -> str:
        raise CommandError("client-1", " ".join(command), 127, "")

    with pytest.raises(UnavailableError, match="there is no go-ycsb to run ycsb_a"):
        program.choose(fakes.FakeExecutor(none), by_name()["ycsb_a"], None)


def test_a_client_at_a_path_is_the_one_that_is_asked_and_run(tmp_path: Path) -> None:
    """Whatever is on the PATH; `timeout` still interrupts it."""
    path, module = tmp_path / "go-ycsb", by_name()["ycsb_a"]
    here = LocalExecutor(tmp_path, "c")
    with pytest.raises(UnavailableError, match=f"there is no {path} to run ycsb_a"):
        program.choose(here, module, None, path=str(path))
    path.write_text("a build of one's own")
    path.chmod(0o755)
    chosen, facts = program.choose(here, module, None, path=str(path))
    assert facts["client_version"].endswith(sha256(path.read_bytes()).hexdigest()[:12])
    assert facts["client_path"] == str(path)
    started = chosen.started(run_command("ycsb_a"), str(path))
    assert started == [str(path) if w == "go-ycsb" else w for w in run_command("ycsb_a")]
    assert started[0] == "timeout"


# ---------------------------------------------------------------- report types


def test_rows_of_a_report_type_are_whole_batches() -> None:
    """The plan names them; a part of a batch is refused with the field."""
    assert fit.check(spec(), "x").dataset == Records(records=1000)
    assert str(Records(records=1_000_000)) == "1,000,000 records of YCSB"
    with pytest.raises(SpecError, match=r"dataset\.records: must be a multiple of 100, found 150"):
        spec().with_overrides({"dataset.records": 150})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"restore": "per_workload"}, r"^x: restore: per_workload: ycsb_d would find rows that"),
        ({"warmup_seconds": 2}, r"^x: warmup_seconds: 2: ycsb_d would find .*; write 0, and"),
    ],
)
def test_a_workload_that_inserts_finds_the_dataset_as_it_was_loaded(
    fields: dict[str, Any], said: str
) -> None:
    """Its keys begin where the load ended: a second run would insert rows that are there."""
    fresh = {"restore": "after_writes", "workloads": ["ycsb_a", "ycsb_d"]}
    fit.check(spec(**fresh), "x")
    with pytest.raises(SpecError, match=said):
        fit.check(spec(**{**fresh, **fields}), "x")
    fit.check(spec(**{**fresh, **fields, "workloads": ["ycsb_a"]}), "x")


def test_a_dataset_for_which_a_run_begins_late_is_warned_of() -> None:
    """Before it is loaded for nothing."""
    assert ycsb.warnings(Records(records=5_000_000), [16]) == []
    (said,) = ycsb.warnings(Records(records=10_000_000), [16])
    assert str(said).startswith("dataset.records: 10,000,000: before its first operation ycsb_d")


# ---------------------------------------------------------------- outputs


@pytest.mark.parametrize("path", OUTPUTS, ids=lambda path: path.stem)
def test_recorded_outputs_are_read_as_reviewed(path: Path) -> None:
    """Every recorded output, good or bad, gives the JSON that was reviewed by hand."""
    assert parse(path.read_text()).to_json() == json.loads(path.with_suffix(".json").read_text())


def test_only_whole_runs_are_complete() -> None:
    """Among the others are a client that was killed and a server that died."""
    assert tuple(p.stem for p in OUTPUTS if parse(p.read_text()).status == "complete") == COMPLETE


@pytest.mark.parametrize("name", ["ycsb_a", "ycsb_f", "lock_waits"])
def test_no_prefix_of_a_good_output_is_complete(name: str) -> None:
    """A client killed at any moment, whatever it had printed, never counts as measured."""
    text = recorded(name)
    # The last line may be that of the interrupted operations, which are counted beside it.
    for end in range(0, len(text.rstrip()), 7):
        assert parse(text[:end]).status != "complete", text[:end][-200:]


def test_a_run_has_the_figures_that_were_printed() -> None:
    """In the units of the store; the operations that the interrupt cut off are no errors."""
    read = parse(recorded("ycsb_a"))
    samples = read.samples()
    assert set(samples) == {metric.name for metric in ycsb.METRICS}
    assert (samples["tps"], samples["p95_ms"], samples["max_ms"]) == (19538.687, 0.466, 27.055)
    assert (samples["p50_ms"], samples["p99_ms"]) == (0.123, 1.679)
    assert samples["duration_s"] == 4.922
    assert (samples["errors"], read.transactions) == (0, 96167)
    assert [interval.t for interval in read.series] == [1.0, 2.0, 3.0, 4.0, 4.9]
    assert read.series[-1].errors_per_s == 0
    done = sum(i.tps * (i.t - t) for i, t in zip(read.series, (0, 1, 2, 3, 4), strict=True))
    assert done == pytest.approx(96167, rel=0.01), "intervals are not counted twice"


def test_a_stall_at_the_start_counts() -> None:
    """go-ycsb's own rate begins with the first operation that ended, here a second late."""
    read = parse(recorded("lock_waits"))
    assert read.operations["TOTAL"].ops == 9253.8
    assert read.tps == pytest.approx(27712 / 3.996, rel=1e-4)


def test_a_read_modify_write_counts_as_its_two_statements() -> None:
    """And not a third time."""
    read = parse(recorded("ycsb_f"))
    counts = {name: found.count for name, found in read.operations.items()}
    assert read.transactions == counts["READ"] + counts["UPDATE"] == counts["TOTAL"]


def test_errors_that_a_run_survives_are_counted_by_number() -> None:
    """A lock wait is expected, as far as the engine lists it."""
    read = parse(recorded("lock_waits"))
    assert (read.errors, read.unexpected_errors([1205]), read.unexpected_errors([])) == (4, 0, 4)


@pytest.mark.parametrize(("name", "threads"), [("ycsb_a", 4), ("ycsb_c", 2), ("lock_waits", 4)])
def test_the_gates_see_whole_runs_as_whole(name: str, threads: int) -> None:
    """Threads at work all the time, rates that fit the counts, latencies in order."""
    columns = client_columns(parse(recorded(name)), threads, 4, None, [1205])
    assert columns["effective_threads_ratio"] == pytest.approx(1.03, abs=0.06)
    assert (columns["rate_excess"], columns["latency_disorder"]) == (0, 0)
    assert (columns["summary_present"], columns["unexpected_errors"]) == (1, 0)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[interrupt]", "[terminated]", "ended from outside: by terminated"),
        ("\nGot signal [interrupt] to exit.\n", "\n", "ended by itself, before its time was up"),
        ("UPDATE - Takes(s): 4.9, Count: 48037,", "UPDATE - Count: 48037,", "could not be read: 1"),
        ("Count: 48130, OPS: 9781.7", "Count: 48129, OPS: 9781.7", "a line is missing"),
        ("operation err: context canceled\n", "", "The summary has 4 errors, and 0 were printed"),
    ],
)
def test_a_damaged_output_is_not_complete(old: str, new: str, said: str) -> None:
    """It says what is wrong with it."""
    assert old in recorded("ycsb_a")
    read = parse(recorded("ycsb_a").replace(old, new))
    assert read.status != "complete"
    assert said in " ".join(read.reasons)


@pytest.mark.parametrize(
    ("pattern", "new", "said"),
    [
        (r", 50th\(us\).*?95th\(us\): \d+", "", "of an older go-ycsb"),
        (r"(?m)^", "  ", "Before what go-ycsb printed, its lines have '  '"),
        (r"[A-Z_]+ *- Takes.*", "| OPERATION | TAKES(S) |", "`outputstyle=plain`"),
        (r"[A-Z_]+ *- Takes.*", '[{"Operation":"READ"}]', "`outputstyle=plain`"),
    ],
)
def test_what_is_printed_in_another_way_is_told_by_its_name(
    pattern: str, new: str, said: str
) -> None:
    """Nothing is missing in it."""
    read = parse(re.sub(pattern, new, recorded("ycsb_a")))
    assert read.status == "failed"
    (reason,) = read.reasons
    assert said in reason


def test_two_runs_in_one_text_are_none() -> None:
    """Their figures would be mixed."""
    read = parse(recorded("ycsb_a") * 2)
    assert read.status == "failed"
    assert "The output holds more than one run." in read.reasons
    assert read.tps is None


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("refused", "connection refused"),
        ("denied", "Access denied for user"),
        ("option", "unknown flag: --nosuch"),
        ("load_server_died", "Messages about a connection that was lost or refused: 10."),
    ],
)
def test_a_load_that_failed_says_why(name: str, said: str) -> None:
    """go-ycsb exits with 0 after some of these."""
    assert said in " ".join(load_faults(recorded(name)))


def test_rows_that_a_server_refused_are_a_fault_of_the_load() -> None:
    """go-ycsb goes on without them, finishes, and exits with 0."""
    whole = recorded("load")
    assert load_faults(whole) == []
    refused = "operation err: Error 1114: The table 'usertable' is full\n"
    assert load_faults(whole.replace("Run finished", f"{refused * 2}Run finished")) == [
        "Inserts failed by errors of the server: 2 of number 1114."
    ]


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    """Nothing is raised, whatever a client or a server printed."""
    assert isinstance(parse(recorded("ycsb_c") + text), YcsbOutput)
    assert isinstance(load_faults(text), list)
