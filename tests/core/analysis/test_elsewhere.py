"""Trials that were measured elsewhere: good files are compared, bad ones say what is wrong."""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchlab import home
from benchlab.analysis.elsewhere import compare
from benchlab.analysis.gates.gates import Gate
from benchlab.cli import main
from benchlab.errors import BenchlabError, SpecError
from benchlab.report import gate_files
from benchlab.report.formats import json_text, terminal

READ, WRITE = "oltp_point_select", "oltp_update_index"
CHANGES = ("regression", "improvement")
Row = dict[str, Any]

# TiDB's published sysbench page, v5.2.0 against v5.1.1, point select: one round.
PUBLISHED = {
    "baseline": (
        (143014.13, 199133.06, 389391.65, 468338.82, 448348.52, 454376.79),
        (2.35, 3.68, 2.18, 2.97, 5.18, 7.04),
    ),
    "candidate": (
        (174402.5, 272018.0, 393536.4, 447981.98, 468241.29, 483888.42),
        (1.23, 1.64, 2.11, 3.3, 4.65, 6.09),
    ),
}
PUBLISHED_THREADS = (150, 300, 600, 900, 1200, 1500)


@pytest.fixture
def gates() -> Sequence[Gate]:
    """The installation's."""
    return gate_files.load_all(home.find().configs / "quality")


def rows(
    change: float = -0.1,
    *,
    rounds: Sequence[int] = (1, 2, 3, 4, 5, 6),
    threads: Sequence[int] = (4, 8),
    workloads: Sequence[str] = (READ, WRITE),
    noise: float = 0.005,
    seed: int = 1,
    **more: Any,
) -> list[Row]:
    """Trials whose candidate is this much (a fraction) faster, its latency this much shorter."""
    dice = random.Random(seed)
    made = []
    for workload in workloads:
        for number in rounds:
            for side in ("baseline", "candidate"):
                for count in threads:
                    factor = 1 + change if side == "candidate" else 1.0
                    rate = 1000 * count**0.5 * factor * math.exp(dice.gauss(0, noise))
                    made.append(
                        {
                            "workload": workload,
                            "threads": count,
                            "round": number,
                            "side": side,
                            "tps": f"{rate:.3f}",
                            "p95_ms": f"{1000 * count / rate:.4f}",
                            "errors": 0,
                            **more,
                        }
                    )
    return made


def written(path: Path, trials: Sequence[Row], name: str = "trials.csv") -> Path:
    """The trials as a file."""
    columns = list(dict.fromkeys(key for row in trials for key in row))
    with (path / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(trials)
    return path / name


@pytest.fixture
def compared(gates: Sequence[Gate], tmp_path: Path) -> Callable[..., Any]:
    """Compares trials as the command line does; the JSON."""

    def run(trials: Sequence[Row], calibration: Path | None = None) -> Any:
        outcome = compare.compare(gates, written(tmp_path, trials), calibration)
        assert terminal.render_outcome(outcome, 100, False)
        return json.loads(json.dumps(json_text.trials_to_json(outcome), allow_nan=False))

    return run


def verdicts(document: Any) -> list[str]:
    """The verdicts on all workloads, throughput first."""
    return [w["verdict"] for w in document["workloads"]] + [
        w["latency"]["verdict"] for w in document["workloads"]
    ]


def numbers(value: Any) -> Iterator[float]:
    """Every number in a document."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from numbers(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, float):
        yield value


# ---------------------------------------------------------------- good files


def test_the_json_has_the_promised_shape(compared: Callable[..., Any]) -> None:
    """One object for a file without campaigns, with the keys that other programs read."""
    found = compared(rows(-0.1))
    assert {"campaign", "sides", "rounds", "workloads", "gates", "excluded"} <= set(found)
    assert (found["campaign"], found["rounds"]) == ("trials", 6)
    assert {w["basis"] for w in found["workloads"]} == {"prior"}
    assert set(found["sides"]) == {"baseline", "candidate"}
    (read, _) = found["workloads"]
    assert read["name"] == READ
    assert read["metric"] == "tps"
    assert read["estimate_pct"] == read["geometric_mean_pct"] == pytest.approx(-10, abs=0.5)
    assert read["arithmetic_mean_pct"] == pytest.approx(-10, abs=0.5)
    assert read["ci95_pct"][0] < read["estimate_pct"] < read["ci95_pct"][1]
    assert read["verdict"] == "regression"
    assert read["heterogeneous_threads"] == []
    assert read["latency"]["estimate_pct"] == pytest.approx(11.1, abs=0.6)
    assert read["latency"]["verdict"] == "regression", "a longer latency is worse"
    assert [cell["threads"] for cell in read["cells"]] == [4, 8]
    assert read["cells"][0]["baseline"]["tps"] == pytest.approx(2000, rel=0.02)
    assert read["cells"][0]["improvement_pct"] == pytest.approx(-10, abs=1)


def test_a_file_with_campaigns_gives_one_object_each(compared: Callable[..., Any]) -> None:
    """In the file's order, each judged by itself."""
    found = compared([*rows(-0.1, campaign="b"), *rows(0.1, campaign="a")])
    assert [campaign["campaign"] for campaign in found] == ["b", "a"]
    assert verdicts(found[0]) == ["regression"] * 4
    assert verdicts(found[1]) == ["improvement"] * 4


def test_aa_campaigns_of_a_file_are_in_the_intervals(
    compared: Callable[..., Any], tmp_path: Path
) -> None:
    """Five A/A campaigns whose deployments differ by percents make -8 % inconclusive."""
    aa = [
        row
        for number, change in enumerate((-0.06, -0.03, 0.0, 0.03, 0.06))
        for row in rows(change, campaign=f"aa{number}", seed=number)
    ]
    found = compared(rows(-0.08), written(tmp_path, aa, "aa.csv"))
    assert {w["basis"] for w in found["workloads"]} == {"A/A campaigns"}
    assert set(verdicts(found)) == {"inconclusive"}
    assert found["calibration"]["campaigns"] == [f"aa{n}" for n in range(5)]
    assert set(verdicts(compared(rows(-0.08)))) == {"regression"}


def test_a_file_may_name_deployments(compared: Callable[..., Any]) -> None:
    """Rounds of one say less of the versions than rounds of several; one is the default."""
    trials = rows(-0.1, workloads=[READ])

    def found(deployment_of: Callable[[int], int]) -> Any:
        named = [{**row, "deployment": deployment_of(row["round"])} for row in trials]
        return compared(named)["workloads"][0]

    widths = [
        high - low
        for low, high in (found(of)["ci95_pct"] for of in (lambda _: 7, lambda n: n // 4 + 1, int))
    ]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 1.5 * widths[-1]
    assert found(lambda _: 7) == compared(trials)["workloads"][0]
    assert found(int)["basis"] == "deployments"


def test_a_thread_count_that_moved_is_named(compared: Callable[..., Any]) -> None:
    """-10 % at one of six is not lost in the mean: equal on average is not `equivalent`."""
    trials = rows(0.0, threads=(1, 2, 4, 8, 16, 32), workloads=[READ])
    for row in trials:
        row["deployment"] = row["round"]
        if row["threads"] == 8 and row["side"] == "candidate":
            row["tps"] = float(row["tps"]) * 0.9
    (found,) = compared(trials)["workloads"]
    assert found["heterogeneous_threads"] == [8]
    assert found["verdict"] == "inconclusive"
    assert "at 8 threads throughput changed by" in found["reasons"][0]


@pytest.mark.parametrize("metric", ["qps", "tpmc"])
def test_other_throughputs_are_compared_as_well(compared: Callable[..., Any], metric: str) -> None:
    """QPS of pages before v5.3, tpmC of TPC-C."""
    trials = [{metric: row.pop("tps"), **row} for row in rows(0.1)]
    found = compared(trials)
    assert {w["metric"] for w in found["workloads"]} == {metric}
    assert set(verdicts(found)) == {"improvement"}


def test_a_reports_own_trials_can_be_read(compared: Callable[..., Any]) -> None:
    """What its report did not use is not used, and the attempt that counts is."""
    trials = [{**row, "used": "true"} for row in rows(-0.1)]
    trials.insert(0, {**trials[0], "tps": 1, "used": "false"})
    found = compared(trials)
    assert set(verdicts(found)) == {"regression"}
    assert found["missing"] == []
    assert "its report did not use it" in found["excluded"][0]["reasons"][0]


def test_of_several_attempts_the_one_that_was_used_counts(compared: Callable[..., Any]) -> None:
    """Unused ones are no repetition; a trial of which none was used is missing."""
    trials = [{**row, "used": "true", "attempt": 3} for row in rows(-0.1, workloads=[READ])]
    earlier = [{**trials[0], "used": "false", "attempt": n, "tps": n} for n in (1, 2)]
    found = compared([*earlier, *trials])
    assert found["workloads"][0]["rounds_used"] == 6
    assert [row["reasons"] for row in found["excluded"]] == [
        [f"line {line}: its report did not use it"] for line in (2, 3)
    ]
    lost = compared([*earlier, *trials[1:]])
    assert lost["missing"] == [f"{READ}, 4 threads, baseline: round 1"]


def test_what_a_calibration_lacks_is_said(compared: Callable[..., Any], tmp_path: Path) -> None:
    """A file with one A/A campaign, or with another metric, calibrates nothing, and says so."""
    one = written(tmp_path, rows(0.0), "one.csv")
    assert "0 A/A campaigns" not in str(compared(rows(-0.1))["notes"])
    assert "1 A/A campaigns" in compared(rows(-0.1), one)["notes"][0]
    qps = [
        {"qps": row.pop("tps"), **row}
        for number in range(6)
        for row in rows(0.01 * number, campaign=f"aa{number}")
    ]
    found = compared(rows(-0.1), written(tmp_path, qps, "qps.csv"))
    assert ({w["basis"] for w in found["workloads"]}, found["calibration"] is None) == (
        {"prior"},
        False,
    )
    assert "0 A/A campaigns" in found["notes"][0]


def test_the_same_campaign_with_blanks_around_it_is_one(compared: Callable[..., Any]) -> None:
    """As with every other key."""
    trials = [*rows(-0.1, campaign="a", rounds=[1, 2]), *rows(-0.1, campaign=" a ", rounds=[3])]
    assert [campaign["rounds"] for campaign in compared(trials)] == [3]


def test_a_read_that_fails_on_one_side_only_leaves_no_conclusion(
    compared: Callable[..., Any],
) -> None:
    """On both sides alike it does."""
    trials = rows(-0.1)
    trials[2]["errors"] = 3
    found = compared(trials)
    assert verdicts(found) == ["unstable", "regression"] * 2
    assert "errors only on the candidate side" in found["workloads"][0]["reasons"][0]
    trials[0]["errors"] = 3
    assert set(verdicts(compared(trials))) == {"regression"}


def test_conflicts_of_writes_leave_no_conclusion_where_one_side_has_more_in_every_round(
    compared: Callable[..., Any],
) -> None:
    """A storm of deadlocks in one round may be chance, however many there are in it."""
    trials = rows(-0.1, workloads=[WRITE])
    trials[2]["errors"] = 3000
    assert set(verdicts(compared(trials))) == {"regression"}
    for number, row in enumerate(trials):
        row["errors"] = (500 if row["side"] == "candidate" else 3) + number % 3
    (told,) = compared(trials)["workloads"]
    assert told["verdict"] == "unstable"
    assert "much more often on the candidate side, 6,012 errors against 48" in told["reasons"][0]


def text_of(trials: Sequence[Row], quote: Callable[[str], str] = str) -> str:
    """The trials as a spreadsheet writes them, each throughput as ``quote`` has it."""
    columns = ("workload", "threads", "round", "side", "tps")
    lines = [[*(str(row[name]) for name in columns[:-1]), quote(row["tps"])] for row in trials]
    return "\n".join(",".join(line) for line in ([*columns], *lines)) + "\n"


@pytest.mark.parametrize("apart", [",", "\u00a0", "\u202f", "\u2009", " ", "'"])
def test_thousands_may_be_apart(gates: Sequence[Gate], tmp_path: Path, apart: str) -> None:
    """As spreadsheets and pages write them, also with blanks around."""
    trials = rows(0.3, workloads=["tpcc"])
    for row in trials:
        row["tps"] = float(row["tps"])
    plain, excel = tmp_path / "plain.csv", tmp_path / "excel.csv"
    plain.write_text(text_of(trials, lambda tps: f"{1000 * tps:.1f}"))
    excel.write_text(text_of(trials, lambda tps: f'" {1000 * tps:,.1f} "'.replace(",", apart)))
    found = [compare.compare(gates, path, None).campaigns[0] for path in (plain, excel)]
    assert found[0].workloads[0].verdict == found[1].workloads[0].verdict == "improvement"
    assert found[0].workloads[0].ci95_pct == found[1].workloads[0].ci95_pct
    assert found[1].measured.excluded == ()


@pytest.mark.parametrize(
    "written_as",
    [
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.encode("utf-16"),
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.replace("\n", ",,\n").encode() + b",,,,,,\n",
        lambda text: text.replace(",baseline", ', "Baseline"').encode(),
    ],
    ids=["mark", "utf-16", "crlf", "cr", "empty columns", "quoted"],
)
def test_a_file_is_read_as_spreadsheets_save_it(
    gates: Sequence[Gate], tmp_path: Path, written_as: Callable[[str], bytes]
) -> None:
    """Byte order marks, ends of lines, and columns without heading or content."""
    path = tmp_path / "trials.csv"
    path.write_bytes(written_as(text_of(rows(-0.1))))
    (found,) = compare.compare(gates, path, None).campaigns
    assert {workload.verdict for workload in found.workloads} == {"regression"}
    assert (found.measured.notes, found.measured.excluded) == ((), ())


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_runs_that_only_one_side_has_at_an_end_were_not_planned(
    compared: Callable[..., Any], side: str
) -> None:
    """Eight runs of one version and four of the other: none was lost, and it is said."""
    for last in (True, False):
        gone = range(5, 9) if last else range(1, 5)
        trials = [
            row
            for row in rows(-0.1, rounds=range(1, 9), workloads=[READ])
            if row["side"] != side or row["round"] not in gone
        ]
        found = compared(trials)
        other = "candidate" if side == "baseline" else "baseline"
        span = f"{gone[0]}-{gone[-1]}"
        assert found["notes"] == [f"{READ}: only {other} has rounds {span}, not compared"]
        assert (found["missing"], found["workloads"][0]["rounds_used"]) == ([], 4)
        assert verdicts(found) == ["regression"] * 2


def test_a_thread_count_of_one_side_was_not_planned(compared: Callable[..., Any]) -> None:
    """The others are compared; each workload has rounds of its own."""
    trials = [row for row in rows(-0.1) if (row["threads"], row["side"]) != (8, "candidate")]
    trials = [row for row in trials if row["workload"] == READ or row["round"] < 5]
    found = compared(trials)
    assert found["notes"] == [
        f"{w}: only baseline has 8 threads, not compared" for w in (READ, WRITE)
    ]
    assert [w["rounds_used"] for w in found["workloads"]] == [6, 4]
    assert (found["missing"], set(verdicts(found))) == ([], {"regression"})


def test_sides_that_share_rounds_and_threads_but_no_cell_are_compared_nowhere(
    compared: Callable[..., Any],
) -> None:
    """Nothing is left out then, and nothing breaks."""
    places = (("baseline", 1, 4), ("baseline", 2, 8), ("candidate", 3, 4), ("candidate", 2, 16))
    trials = [
        row
        for row in rows(workloads=[READ], threads=(4, 8, 16))
        if (row["side"], row["round"], row["threads"]) in places
    ]
    assert set(verdicts(compared(trials))) == {"unstable"}


def test_sides_that_were_numbered_on_are_no_rounds(compared: Callable[..., Any]) -> None:
    """The baseline's runs 1 to 3 and the candidate's 4 to 6: nothing stands beside anything."""
    trials = rows(-0.1, workloads=[READ])
    found = compared([row for row in trials if (row["side"] == "baseline") == (row["round"] < 4)])
    assert set(verdicts(found)) == {"unstable"}
    assert "no round has a result on both sides" in found["workloads"][0]["reasons"]


def test_figures_that_were_pasted_twice_are_said_and_not_judged(
    compared: Callable[..., Any],
) -> None:
    """One side as the other, wholly or in part; a round, or one side's run, as further rounds."""

    def told(from_: Callable[[int, str], tuple[int, str]], change: float = -0.1) -> str:
        trials = rows(change, workloads=[READ], threads=[4])
        figure = {(row["round"], row["side"]): row["tps"] for row in trials}
        for row in trials:
            row["tps"] = figure[from_(row["round"], row["side"])]
        (found,) = compared(trials)["workloads"]
        return "; ".join([found["verdict"], *found["reasons"]])

    assert told(lambda number, _: (number, "baseline")).startswith(
        "unstable; in 6 of 6 rounds both"
    )
    half = told(lambda number, side: (number, "baseline" if number < 4 else side))
    assert half.startswith("unstable; in 3 of 6 rounds both sides have the same figures")
    assert told(lambda _, side: (1, side)).endswith("pasted twice: 2-6")
    assert told(lambda number, side: ((number - 1) % 3 + 1, side)).endswith("pasted twice: 4-6")
    assert told(lambda n, side: (1 if side == "baseline" else n, side)).endswith("twice: 2-6")
    assert told(lambda *one: one).startswith("regression")


def test_figures_of_few_digits_agree_by_chance(compared: Callable[..., Any]) -> None:
    """Latencies in steps, and throughputs of two digits: nobody pasted anything."""
    trials = rows(0.0, workloads=[READ], threads=[4], noise=0.01)
    for row in trials:
        row["tps"], row["p95_ms"] = round(float(row["tps"]) / 40), 12.3
    assert set(verdicts(compared(trials))) == {"inconclusive"}


@pytest.mark.parametrize(
    ("baseline", "candidate", "step"),
    [
        ("49", "48", 2.06),
        ("49000", "48000", 2.06),
        ("4.9E+04", "4.8E+04", 2.06),
        ("490.0", "480.0", 2.06),
    ],
)
def test_an_interval_is_no_narrower_than_the_last_digit(
    compared: Callable[..., Any], baseline: str, candidate: str, step: float
) -> None:
    """49 stands for 48.5 to 49.5; zeros at the end of all figures are no digits."""
    trials = rows(rounds=range(1, 9), workloads=["tpch"], threads=[4], deployment=1)
    for row in trials:
        row["deployment"] = row["round"]
        row["tps"] = baseline if row["side"] == "baseline" else candidate
    (found,) = compared(trials)["workloads"]
    low, high = found["ci95_pct"]
    assert (found["verdict"], high - low > 2 * step) == ("inconclusive", True)
    assert (
        "the figures are printed too coarsely to show or rule out a change of 2%"
        in found["reasons"]
    )


def test_latencies_alone_are_spoken_of_alone(compared: Callable[..., Any]) -> None:
    """No throughput is missing where none was measured; and the other way round."""
    trials = rows(-0.1)
    found = compared([{k: v for k, v in row.items() if k != "tps"} for row in trials])
    assert "tps" not in json.dumps(found)
    assert "throughput" not in json.dumps([found["workloads"], found["notes"]])
    for workload in found["workloads"]:
        assert (workload["metric"], workload["verdict"]) == ("p95_ms", "regression")
        assert workload["estimate_pct"] == pytest.approx(11.1, abs=0.6)
        assert workload["cells"][0]["improvement_pct"] is None
    alone = compared([{k: v for k, v in row.items() if k != "p95_ms"} for row in trials])
    assert "p95" not in json.dumps([alone["workloads"], alone["notes"]])
    mixed = [{**row, ("p95_ms" if row["workload"] == READ else "tps"): ""} for row in trials]
    assert [w["metric"] for w in compared(mixed)["workloads"]] == ["tps", "p95_ms"]


def test_errors_beside_latencies_alone_count(compared: Callable[..., Any]) -> None:
    """As beside throughputs."""
    trials = [{k: v for k, v in row.items() if k != "tps"} for row in rows(-0.1, workloads=[READ])]
    trials[2]["errors"] = 3
    (found,) = compared(trials)["workloads"]
    assert found["verdict"] == "unstable"


def test_a_certain_change_below_the_threshold_is_said_where_it_is_equivalent(
    compared: Callable[..., Any],
) -> None:
    """Slower for certain: too little to matter, and no chance."""
    many: dict[str, Any] = {"rounds": range(1, 13), "threads": [2**n for n in range(2, 8)]}
    trials = rows(-0.012, noise=0.001, workloads=[READ], **many)
    for row in trials:
        row["deployment"] = row["round"]
    (found,) = compared(trials)["workloads"]
    assert (found["verdict"], found["latency"]["verdict"]) == ("equivalent", "equivalent")
    for reasons in (found["reasons"], found["latency"]["reasons"]):
        assert "slower for certain" in reasons[0]
        assert "by less than 2%" in reasons[0]


# ---------------------------------------------------------------- bad input


def test_the_published_page_of_one_round_is_never_an_improvement(
    compared: Callable[..., Any],
) -> None:
    """+11.03 % was printed: two of six cells make it, and nothing was repeated."""
    trials = [
        {
            "workload": READ,
            "threads": threads,
            "round": 1,
            "side": side,
            "qps": rate,
            "p95_ms": p95,
        }
        for side, figures in PUBLISHED.items()
        for threads, rate, p95 in zip(PUBLISHED_THREADS, *figures, strict=True)
    ]
    (found,) = compared(trials)["workloads"]
    assert found["arithmetic_mean_pct"] == pytest.approx(11.03, abs=0.005)
    assert (found["verdict"], found["latency"]["verdict"]) == ("inconclusive", "inconclusive")
    assert found["ci95_pct"] is None
    assert "at least three are needed" in found["reasons"][0]


def test_a_missing_cell_is_named_and_its_round_not_used(compared: Callable[..., Any]) -> None:
    """A single one is no doubt; in half of the rounds, all on one side, no conclusion is drawn."""
    trials = rows(-0.1)
    gone = trials.pop(2)
    found = compared(trials)
    assert (gone["side"], gone["threads"], gone["round"]) == ("candidate", 4, 1)
    assert found["missing"] == [f"{READ}, 4 threads, candidate: round 1"]
    assert found["workloads"][0]["rounds_used"] == 5
    assert verdicts(found) == ["regression"] * 4
    assert "only on the candidate side" in found["workloads"][0]["reasons"][0]
    half = [row for row in trials if not lacks(row, rounds=(1, 2, 3))]
    assert verdicts(compared(half)) == ["unstable", "regression"] * 2


def lacks(row: Row, rounds: Sequence[int]) -> bool:
    """Whether it is the candidate's read at four threads in one of these rounds."""
    cell = row["workload"], row["side"], row["threads"]
    return cell == (READ, "candidate", 4) and row["round"] in rounds


def test_a_missing_round_is_named(compared: Callable[..., Any]) -> None:
    """On both sides alike it costs a round and no conclusion."""
    found = compared(rows(-0.1, rounds=(1, 2, 4, 7)))
    assert found["notes"] == ["not in the file: rounds 3, 5-6"]
    assert found["rounds"] == 4
    assert set(verdicts(found)) == {"regression"}


def test_one_side_only_is_no_comparison(compared: Callable[..., Any]) -> None:
    """Its figures are shown, and nothing is concluded."""
    found = compared([row for row in rows() if row["side"] == "baseline"])
    assert set(verdicts(found)) == {"unstable"}
    for workload in found["workloads"]:
        assert workload["estimate_pct"] is None
        assert workload["ci95_pct"] is None
        assert workload["cells"][0]["candidate"]["tps"] is None


@pytest.mark.parametrize(
    "figure", ["0", "nan", "NaN", "-5", "inf", "", "1.2k", "12%", "$ 5", "n/a"]
)
def test_a_figure_that_is_none_is_missing(compared: Callable[..., Any], figure: str) -> None:
    """Zero, NaN, text: left out and named, with the line."""
    trials = rows(-0.1, workloads=[READ])
    trials[2]["tps"] = figure
    found = compared(trials)
    assert found["missing"] == [f"{READ}, 4 threads, candidate: round 1"]
    assert found["workloads"][0]["rounds_used"] == 5
    assert bool(found["excluded"]) == bool(figure)
    if figure:
        assert "line 4: tps" in found["excluded"][0]["reasons"][0]
    assert all(math.isfinite(number) for number in numbers(found))


def test_a_trial_that_is_there_twice_is_not_chosen_from(compared: Callable[..., Any]) -> None:
    """With equal figures it counts once, with others not at all."""
    trials = rows(-0.1, workloads=[READ])
    same = compared([*trials, dict(trials[2])])
    assert same["workloads"][0]["rounds_used"] == 6
    assert "repeats an earlier one" in same["excluded"][0]["reasons"][0]
    other = compared([*trials, {**trials[2], "tps": 1}])
    assert other["workloads"][0]["rounds_used"] == 5
    assert "with different figures" in other["excluded"][0]["reasons"][0]


def test_mixed_units_are_not_compared(compared: Callable[..., Any]) -> None:
    """TPS of one side say nothing about QPS of the other."""
    trials = rows(-0.1, workloads=[READ])
    for row in trials:
        if row["side"] == "candidate":
            row["qps"] = row.pop("tps")
    found = compared(trials)
    assert not set(verdicts(found)[:1]) & set(CHANGES)
    assert found["workloads"][0]["estimate_pct"] is None
    assert "mixed units: 12 trials with qps and without tps" in found["notes"][0]


def test_a_workload_without_any_figure_says_so(compared: Callable[..., Any]) -> None:
    """The other one is judged as if it were alone."""
    trials = rows(-0.1)
    for row in trials:
        if row["workload"] == WRITE:
            row["tps"] = row["p95_ms"] = "nan"
    found = compared(trials)
    assert verdicts(found) == ["regression", "inconclusive"] * 2
    assert found["workloads"][1]["estimate_pct"] is None
    assert any(WRITE in note for note in found["notes"])


@pytest.mark.parametrize("rounds", [[1], [1, 2]])
def test_one_or_two_rounds_are_too_few(compared: Callable[..., Any], rounds: list[int]) -> None:
    """However large the difference; and no interval that reaches to the moon."""
    found = compared(rows(-0.9, rounds=rounds))
    assert set(verdicts(found)) == {"inconclusive"}
    for workload in found["workloads"]:
        assert workload["ci95_pct"] is workload["rounds_ci95_pct"] is None
        assert "too few: at least three are needed" in workload["reasons"][0]


def test_many_rounds_are_only_more(compared: Callable[..., Any]) -> None:
    """Twenty thousand, and a number of a million with nothing before it."""
    found = compared(rows(-0.06, rounds=range(1, 20_001), threads=[4], workloads=[READ]))
    assert (found["rounds"], found["workloads"][0]["verdict"]) == (20_000, "regression")
    far = compared(rows(-0.1, rounds=[1, 2, 3, 1_000_000], workloads=[READ]))
    assert far["notes"] == ["not in the file: rounds 4-999999"]
    assert far["workloads"][0]["rounds_used"] == 4


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("workload,threads,round,side,tps\n", "no row"),
        ("workload,threads,round,tps\na,1,1,5\n", "lacks the column side"),
        ("workload,threads,round,side\na,1,1,baseline\n", "has none of the columns"),
        ("workload,threads,round,side,tps\na,1,1,left,5\n", "line 2: side"),
        ("workload,threads,round,side,tps\na,1.5,1,baseline,5\n", "line 2: threads"),
        ("workload,threads,round,side,tps\na,0,1,baseline,5\n", "line 2: threads"),
        ("workload,threads,round,side,tps\na,1,one,baseline,5\n", "line 2: round"),
        ("workload,threads,round,side,tps\n,1,1,baseline,5\n", "line 2: workload"),
        ("workload,threads,round,side,tps,tps\na,1,1,baseline,5,6\n", "column twice"),
        (
            "workload,threads,round,side,tps\na,1,1,baseline,1,000.5\n",
            "line 2: 6 fields below 5 headings",
        ),
        ("\nworkload,threads,round,side,tps\na,1,1,baseline,5\n", "first line is empty"),
        (
            "workload,threads,round,side,deployment,tps\na,1,1,baseline,1,5\na,1,1,candidate,2,5\n",
            "line 3: deployment: must be the same in all rows of a round, found 1 and 2 in round 1",
        ),
        ("workload,threads,round,side,tps\n\na,1,1,left,5\n", "line 3: side"),
        ("workload;threads;round;side;tps\na;1;1;baseline;5,5\n", "line 1: .* by semicolons"),
        ("workload\tthreads\tround\tside\ttps\na\t1\t1\tbaseline\t5\n", "line 1: .* by tabs"),
        ('workload,threads,round,side,tps\na,1,1,baseline,"950,4"\n', "line 2: tps: .* a point"),
        ('workload,threads,round,side,tps\na,1,1,baseline,"1.001,5"\n', "line 2: tps: .* a point"),
        ('workload,threads,round,side,p95_ms\na,1,1,baseline,"0,987"\n', "line 2: p95_ms: .*point"),
        ('workload,threads,round,side,tps\na,1,1,baseline,5\na,1,2,"base\n', "line 3: is not CSV"),
        ("workload,threads,round,side,tps\na,1,1,baseline,5\na,1,2,base\0\n", "line 3: is not a t"),
    ],
)
def test_what_cannot_be_placed_is_refused(
    gates: Sequence[Gate], tmp_path: Path, text: str, told: str
) -> None:
    """Naming file, line and column."""
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(SpecError, match=told) as refused:
        compare.compare(gates, path, None)
    assert str(path) in str(refused.value)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "workload": st.sampled_from([READ, WRITE, "tpcc"]),
                "threads": st.sampled_from([1, 8, 300]),
                "round": st.integers(0, 4),
                "side": st.sampled_from(["baseline", "candidate", " Candidate "]),
                "tps": st.one_of(
                    st.floats(allow_nan=True, allow_infinity=True),
                    st.sampled_from(["", "x", "1e400", "5e-324", "1e12"]),
                ),
                "tpmc": st.one_of(st.floats(0, 1e9), st.just("")),
                "p95_ms": st.one_of(st.floats(), st.just("")),
                "errors": st.one_of(st.integers(-1, 5), st.just("")),
            }
        ),
        min_size=1,
        max_size=40,
    )
)
def test_whatever_is_in_the_file_it_is_answered(
    gates: Sequence[Gate], tmp_path: Path, trials: list[Row]
) -> None:
    """An outcome in which every number is one, or a refusal; never a traceback."""
    try:
        outcome = compare.compare(gates, written(tmp_path, trials), None)
    except BenchlabError:
        return
    document = json.loads(json.dumps(json_text.trials_to_json(outcome), allow_nan=False))
    assert all(math.isfinite(number) for number in numbers(document))
    for workload in document["workloads"]:
        if workload["rounds_used"] < 3:
            assert workload["verdict"] in ("inconclusive", "unstable")
            assert workload["ci95_pct"] is None


# ---------------------------------------------------------------- the command line


def test_the_command_line_prints_it(tmp_path: Path) -> None:
    """As a table, and as JSON; a campaign and a file together are refused."""
    path = written(tmp_path, rows(-0.1))
    text = CliRunner().invoke(main.app, ["compare", "--trials", str(path)])
    assert text.exit_code == 0
    assert "regression" in text.stdout
    document = CliRunner().invoke(main.app, ["compare", "--trials", str(path), "--json"])
    assert json.loads(document.stdout)["workloads"][0]["verdict"] == "regression"
    loose = ["compare", "--trials", str(path), "--threshold", "20", "--json"]
    assert '"verdict": "equivalent"' in CliRunner().invoke(main.app, loose).stdout
    for arguments in (["c1", "--trials", str(path)], [], ["c1", "--calibration", str(path)]):
        refused = CliRunner().invoke(main.app, ["compare", *arguments])
        assert isinstance(refused.exception, SpecError)
