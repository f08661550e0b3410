"""The formats of a report: what they print, what they escape, and what they look like as a whole.

Golden files lie in tests/golden/report; BENCHLAB_UPDATE_GOLDEN=1 writes them anew.
"""

from __future__ import annotations

import csv
import dataclasses
import html
import io
import os
import re
import stat
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path

import pytest
import yaml

from benchlab.analysis.verdict.compare import Comparison, compare
from benchlab.errors import StoreError
from benchlab.hosts.samples import Figure, HostFigures
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import SIDES
from benchlab.report import bundle
from benchlab.report.formats import csv_text, pages, terminal
from benchlab.report.model import report as model
from benchlab.report.publish import files
from benchlab.report.sentences import answer, opening, why, wording
from benchlab.results.records import PAGE, Campaign, TrialResult
from tests.builders import campaigns

GOLDEN = Path(__file__).parents[2] / "golden" / "report"
MISSING = ("r3-candidate-oltp_insert-t8", "r4-candidate-oltp_insert-t8")
WORKLOADS = {
    "oltp_point_select": 0.0,  # equivalent
    "oltp_read_write": -0.03,  # inconclusive: its rounds scatter
    "oltp_update_index": -0.12,  # regression
    "oltp_update_non_index": 0.09,  # improvement; a pair is measured again
    "oltp_insert": 0.0,  # unstable: trials of one side are missing in half of the rounds
}
Case = tuple[Campaign, Comparison, list[TrialResult]]


def host_figures(trial: PlannedTrial) -> tuple[HostFigures, ...]:
    """One host's, other on every trial; a second host cannot be asked in one of them."""
    load = trial.threads / 20 + 0.01 * trial.round
    lost = trial.id == "r1-baseline-oltp_point_select-t4"
    return (
        HostFigures(
            "localhost",
            cores=2,
            figures={
                "cpu_busy": Figure(load, min(load + 0.05, 1.0)),
                "cpu_steal": Figure(0.001, 0.005),
                "memory_used_bytes": Figure(3.0 * 2**30, 3.5 * 2**30),
                "disk_write_bytes_per_s": Figure(1_234_567.0, 98_765_432.0),
            },
            processes={"client": load / 3, "load balancer": load / 2},
        ),
        *([HostFigures("tikv-1", reason="no answer | within 60 s")] if lost else []),
    )


@cache
def golden_case() -> Case:
    """A campaign with nearly every verdict, a repeated pair and missing trials."""
    variables = {
        "baseline": {"version": "10.2.11-MariaDB", "tls": "OFF", "old_flag": "1", "cache": "1000"},
        "candidate": {"version": "10.11.5-MariaDB", "tls": "ON", "cache": "2000", "new_flag": ""},
    }
    made = campaigns.campaign(
        id="sysbench_test-20240102T030405",
        workloads=list(WORKLOADS),
        rounds=4,
        threads=[4, 8, 16],
        engines={
            "mariadb": {
                "baseline": {"version": "10.2.11"},
                "candidate": {"version": "10.11.5", "parameters": {"optimizer_switch": "a=on|b"}},
                "parameters": {"innodb_buffer_pool_size": 268435456},
            }
        },
        facts={
            "baseline": campaigns.side_facts("10.2.11-MariaDB", variables=variables["baseline"]),
            "candidate": campaigns.side_facts(
                "10.11.5-MariaDB", variables=variables["candidate"], git_hash="7875294b6b74b53dd3a"
            ),
        },
    )
    calm = campaigns.known_change(WORKLOADS, noise=0.004)
    loud = campaigns.known_change(WORKLOADS, noise=0.09)

    def tps(trial: PlannedTrial) -> float:
        return (loud if trial.workload == "oltp_read_write" else calm)(trial)

    def p95(trial: PlannedTrial) -> float:
        return 1.5 + trial.threads / 7 + 0.01 * trial.round + (trial.side == "candidate") / 9

    gates = (
        campaigns.gate("summary", sentence="the client printed a summary"),
        campaigns.gate("steal", "not evaluated", "at most 1 % of the CPU was stolen"),
    )
    results = [
        dataclasses.replace(
            result,
            gates=gates,
            hosts=f"c1/{result.trial.id}-a1.hosts.csv",
            host_figures=host_figures(result.trial),
        )
        for result in campaigns.results_of(made.plan, tps, p95)
        if result.trial.id not in MISSING
    ]
    killed = next(r.trial for r in results if r.trial.pair == (2, "oltp_update_non_index"))
    repeated = [
        campaigns.trial_result(
            r.trial, attempt=2, tps=tps(r.trial), p95_ms=p95(r.trial), gates=gates
        )
        for r in results
        if r.trial.pair == killed.pair
    ]
    failed = campaigns.trial_result(
        killed,
        reasons=["the client ended with exit code 1"],
        gates=(dataclasses.replace(gates[0], status="fail", observed=0.0), gates[1]),
        tps=None,
        qps=None,
        p95_ms=None,
    )
    results = [failed if r.trial == killed else r for r in results] + repeated
    return made, compare(made.plan, results, 2.0), results


@cache
def golden_bundle() -> dict[str, bytes]:
    """All files of the golden campaign."""
    return bundle.make(*golden_case())


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a Markdown page, header and rows, without the line between."""
    found: list[list[list[str]]] = []
    before = ""
    for line in text.splitlines():
        if line.startswith("|"):
            if not before.startswith("|"):
                found.append([])
            if not re.fullmatch(r"[|:-]+", line):
                found[-1].append([c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]])
        before = line
    return found


def result_tables(case: Case) -> list[list[list[str]]]:
    """The tables of figures in the Markdown of a campaign."""
    text = pages.markdown(model.build(*case))
    return [t for t in tables(text) if t[0][0] == "Threads"]


def test_a_report_leads_to_the_campaigns_page_where_its_address_is_known() -> None:
    """In either format and language; a recorded text that is no address is no link."""
    made, outcome, results = golden_case()
    address = "https://bench.example/air/benchmarks/campaigns/c1/"

    def linked(page: str) -> dict[str, bytes]:
        told = dataclasses.replace(made, environment={**made.environment, PAGE: page})
        return bundle.make(told, outcome, results, languages=("en", "zh"))

    files = linked(address)
    assert f"]({address})" in files["report.md"].decode()
    assert f"]({address})" in files["zh/report.md"].decode()
    assert f'<a href="{address}">' in files["report.html"].decode()
    for hostile in ("javascript:alert(1)", 'https://x/"><script>', "https://x/) [y](https://z"):
        assert linked(hostile)["report.md"] == linked("")["report.md"]


@pytest.mark.parametrize("name", ["report.md", "report.json", "comparison.csv", "trials.csv"])
def test_the_report_is_as_agreed(name: str) -> None:
    """The golden files are the agreed layout, figure by figure."""
    if os.environ.get("BENCHLAB_UPDATE_GOLDEN"):
        GOLDEN.mkdir(parents=True, exist_ok=True)
        (GOLDEN / name).write_bytes(golden_bundle()[name])
    made, agreed = golden_bundle()[name].decode(), (GOLDEN / name).read_text(encoding="utf-8")
    assert without_last_digits(made) == without_last_digits(agreed)


def without_last_digits(text: str) -> str:
    """Figures to twelve digits: processors differ in the last ones of a logarithm."""
    return re.sub(r"\d+\.\d{8,}(?:e-?\d+)?", lambda number: f"{float(number[0]):.12g}", text)


def test_the_golden_campaign_has_nearly_every_verdict() -> None:
    """But equivalence, which takes A/A campaigns or more deployments."""
    _, outcome, _ = golden_case()
    assert [w.verdict for w in outcome.workloads] == [
        *("inconclusive", "inconclusive", "regression", "improvement", "unstable")
    ]
    assert outcome.repeated_pairs == 1
    assert sorted(outcome.missing) == sorted(MISSING)


def test_every_number_in_the_tables_is_the_comparison_s() -> None:
    """No figure is recomputed, mixed up or rounded further than it is printed."""
    _, outcome, _ = golden_case()
    printed = result_tables(golden_case())
    assert len(printed) == len(outcome.workloads)
    for table, workload in zip(printed, outcome.workloads, strict=True):
        for row, cell in zip(table[1:], workload.cells, strict=True):
            columns = ("qps", "tps", "p95_ms")
            values = [cell.sides[side].means[column] for side in SIDES for column in columns]
            before, after = values[2], values[5]
            assert before is not None
            assert after is not None
            longer = 100 * (after / before - 1)
            assert row[0] == str(cell.threads)
            for text, value in zip(row[1:], [*values, cell.improvement_pct, longer], strict=True):
                assert value is not None
                decimals = len(text.rstrip("%").partition(".")[2])
                assert float(text.replace(",", "").rstrip("%")) == pytest.approx(
                    value, abs=0.5001 * 10**-decimals
                )


@pytest.mark.parametrize("base", [0.7, 12.0, 345.0, 6789.0, 123456.0])
def test_the_improvement_follows_from_the_printed_throughputs(base: float) -> None:
    """A reader who recomputes a percentage from the table gets it, to its rounding."""
    made = campaigns.campaign(threads=[1, 7, 64])
    changes = {"oltp_point_select": -0.1234, "oltp_update_index": 1.0567}
    results = campaigns.results_of(made.plan, campaigns.known_change(changes, 0.05, base=base))
    case = (made, compare(made.plan, results, 2.0), results)
    for table in result_tables(case):
        for row in table[1:]:
            baseline, candidate = (float(row[n].replace(",", "")) for n in (2, 5))
            decimals = len(row[2].partition(".")[2])
            # Half a unit in the last place of either throughput, and of the percentage.
            slack = 100 * 0.5 * 10**-decimals * (1 + candidate / baseline) / baseline + 0.006
            assert float(row[7].rstrip("%")) == pytest.approx(
                100 * (candidate / baseline - 1), abs=slack
            )


def test_missing_cells_are_printed_as_missing() -> None:
    """n/a in tables, an empty field in CSV, and a zero nowhere."""
    made = campaigns.campaign(rounds=2, workloads=["oltp_insert"], threads=[4, 8])
    results = [
        campaigns.trial_result(t, tps=None, p95_ms=None)
        if t.threads == 8
        else campaigns.trial_result(t)
        for t in made.plan.trials
    ]
    case = (made, compare(made.plan, results, 2.0), results)
    assert result_tables(case)[0][2] == ["8", *["n/a"] * 8]
    files_made = bundle.make(*case)
    last = files_made["comparison.csv"].decode().splitlines()[-1]
    assert last == "oltp_insert,8,,,,,,,,,inconclusive,inconclusive"
    assert files_made["report.html"].decode().count("<td>n/a</td>") > 0


def test_the_versions_stand_in_the_headers_as_published() -> None:
    """Columns are named by version; in an A/A campaign by side too."""
    header = result_tables(golden_case())[0][0]
    assert header == [
        *("Threads", "10.2.11 QPS", "10.2.11 TPS", "10.2.11 p95 latency (ms)"),
        *("10.11.5 QPS", "10.11.5 TPS", "10.11.5 p95 latency (ms)", "TPS change"),
        "p95 latency change",
    ]
    made = campaigns.campaign(sides="same")
    results = campaigns.results_of(made.plan)
    header = result_tables((made, compare(made.plan, results, 2.0), results))[0][0]
    assert header[1] == "10.2.11 (baseline) QPS"
    assert header[4] == "10.2.11 (candidate) QPS"


def test_the_front_matter_is_yaml_and_says_the_verdicts() -> None:
    """Site generators read title and summary."""
    text = golden_bundle()["report.md"].decode()
    front = yaml.safe_load(text.split("---\n")[1])
    assert front["title"] == "MariaDB Sysbench Performance Test Report – 10.11.5 vs. 10.2.11"
    assert "slower at Update Index (-12.0%)" in front["summary"]


def test_every_image_of_the_page_is_in_the_bundle() -> None:
    """Links are relative, and lead somewhere."""
    text = golden_bundle()["report.md"].decode()
    links = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert len(links) == 1 + len(WORKLOADS)
    assert set(links) <= set(golden_bundle())


def test_what_the_intervals_know_is_said_exactly_once() -> None:
    """That they are about versions, and what the rounds alone say, is in each page, and once."""
    for name in ("report.md", "report.html"):
        assert golden_bundle()[name].decode().count("not only for this deployment") == 1


def test_the_same_campaign_gives_the_same_bytes() -> None:
    """Charts and pages carry no date, random id or order of a hash."""
    assert bundle.make(*golden_case()) == golden_bundle()


def test_every_chart_is_xml_that_refers_to_nothing_outside() -> None:
    """It can be opened by anything that reads SVG, and has its own colours, light and dark."""
    names = [name for name in golden_bundle() if name.startswith("charts/")]
    assert len(names) == 1 + len(WORKLOADS)
    for name in names:
        content = golden_bundle()[name]
        root = ET.fromstring(content)  # noqa: S314 - our own drawing
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert b"<!DOCTYPE" not in content
        assert b"<!--" not in content
        assert b"var(" not in content
        assert b"prefers-color-scheme: dark" in content


@pytest.mark.parametrize("rounds", [1, 2])
def test_charts_are_drawn_where_figures_are_missing(rounds: int) -> None:
    """One round, no valid trial on a side or at all: a chart, not a crash; of one thread count,
    which is no curve, none.
    """
    for keep in ((), ("baseline",), SIDES):
        for threads in ([4], [4, 8]):
            made = campaigns.campaign(rounds=rounds, workloads=["oltp_insert"], threads=threads)
            results = [r for r in campaigns.results_of(made.plan) if r.trial.side in keep]
            case = (made, compare(made.plan, results, 2.0), results)
            drawn = [name for name in bundle.make(*case) if name.endswith(".svg")]
            assert len(drawn) == len(threads)


def test_the_trials_csv_has_every_executed_trial_and_says_which_are_used() -> None:
    """Each printed figure can be traced: its used rows give it as their geometric mean."""
    _, outcome, results = golden_case()
    rows = list(csv.DictReader(io.StringIO(golden_bundle()["trials.csv"].decode())))
    assert len(rows) == len(results)
    assert sum(row["used"] == "false" for row in rows) == len(outcome.excluded)
    for workload in outcome.workloads:
        for cell in workload.cells:
            for side in SIDES:
                values = [
                    float(row["tps"])
                    for row in rows
                    if row["used"] == "true"
                    and (row["workload"], row["side"]) == (workload.name, side)
                    and int(row["threads"]) == cell.threads
                ]
                product = 1.0
                for value in values:
                    product *= value ** (1 / len(values))
                assert cell.sides[side].means["tps"] == pytest.approx(product)
    failed = next(row for row in rows if row["valid"] == "false")
    assert failed["tps"] == ""
    assert failed["reasons"] == "the client ended with exit code 1"


def test_the_trials_csv_says_what_was_restored_and_not_what_was_planned() -> None:
    """An adopted trial's phases died with the task that ran them: whether it was is unknown."""
    made = campaigns.campaign(rounds=2, workloads=["oltp_insert"], threads=[4])
    assert all(trial.restore for trial in made.plan.trials)
    first, second, third, fourth = campaigns.results_of(made.plan)
    results = [
        first,
        dataclasses.replace(second, phases={"run": 4.0}),
        dataclasses.replace(third, phases={"run": 4.0}, adopted=True),
        dataclasses.replace(fourth, phases={}),
    ]
    text = csv_text.trials_csv(made.plan, results, compare(made.plan, results, 2.0))
    rows = csv.DictReader(io.StringIO(text))
    assert [row["restored"] for row in rows] == ["true", "false", "", ""]


def test_a_failed_gate_is_reported_though_its_trial_is_not_used() -> None:
    """A trial whose gate failed never counts; the tally says so nevertheless, in every format."""
    report = model.build(*golden_case())
    summary = next(gate for gate in report.quality.gates if gate.gate == "summary")
    assert (summary.passed, summary.failed) == (report.quality.executed - 1, 1)
    assert wording.gates(report, "validity") == "0 passed, 1 failed, 1 never evaluated"
    for name in ("report.md", "report.html"):
        assert "ver all executed trials" in golden_bundle()[name].decode()


def test_the_answer_is_the_same_in_every_format() -> None:
    """Two sentences, and a row for each metric of a workload, as the model decided."""
    report = model.build(*golden_case())
    page = html.unescape(golden_bundle()["report.html"].decode())
    text = html.unescape(golden_bundle()["report.md"].decode())
    printed = terminal.render(report, 200, colour=False)
    lines = answer.lines(report)
    assert [line.found for line in lines[::2]] == [s.figures.verdict for s in report.sections]
    assert [line.found for line in lines[1::2]] == [
        s.figures.latency.verdict for s in report.sections
    ]
    for line in lines:
        *cells, _ = line
        assert f"| {' | '.join(cells)} |" in text
        assert re.search(r"\s+".join(map(re.escape, cells)), printed)
        assert line.interval in page
        assert line.change in page


def test_a_short_answer_says_how_much_it_leaves_out() -> None:
    """Whole rows, and how many more there are; never more characters than there is room for."""
    report = model.build(*golden_case())
    whole = pages.note(report, 100_000)
    rows = answer.lines(report)
    told, _, reason, _, head, rule, *shown = whole.splitlines()
    assert told == pages.escape(opening.text(report))
    assert [reason] == [pages.escape(line) for line in why.lines(report)]
    assert (head.count("|"), len(rule.split("---")), len(shown)) == (7, 7, len(rows))
    first = len("\n".join([told, "", head, rule, shown[0]]))
    for room in range(first + 60, len(whole), 97):
        short = pages.note(report, room)
        *_, last = short.splitlines()
        left = len([line for line in short.splitlines() if line in shown])
        assert len(short) <= room
        assert left >= 1
        assert last.startswith(f"{len(rows) - left} more row")
    assert pages.note(report, 40) == whole[:40]


def test_an_inconclusive_card_leads_with_what_could_have_been_seen() -> None:
    """A figure in bold would be remembered, though nothing was shown."""
    report = model.build(*golden_case())
    page = golden_bundle()["report.html"].decode()
    bold = re.findall(r'class="estimate">([^<]*)<', page)
    changed = [s for s in report.sections if s.figures.verdict in ("regression", "improvement")]
    assert bold == [wording.estimate(report, s.figures) for s in changed]
    unseen = re.findall(r'class="reach">([^<]*)<', page)
    inconclusive = [s for s in report.sections if s.figures.verdict == "inconclusive"]
    assert len(inconclusive) == 2
    assert unseen == [wording.reach(report, s.figures) for s in inconclusive]


OF_SEVERAL = (
    "taken alone, this workload's estimate is outside the noise (-24% to +31%), but not after "
    "correcting for all that the report tests"
)


@pytest.mark.parametrize(
    ("estimate", "interval", "p", "said"),
    [
        (6.2, (-0.4, 13.3), 0.12, "any change between -6.2% and +6.7% is within the noise"),
        (1.5, (0.5, 2.51), 0.01, "any change between -0.99% and +1.00% is within the noise"),
        (-33.0, (-49.0, -12.0), 0.08, OF_SEVERAL),
    ],
)
def test_an_inconclusive_estimate_never_contradicts_the_noise_beside_it(
    estimate: float, interval: tuple[float, float], p: float, said: str
) -> None:
    """An estimate of -33% is not called noise of at most -24%: it is one of several workloads."""
    report = model.build(*golden_case())
    found = dataclasses.replace(
        report.sections[0].figures,
        verdict="inconclusive",
        estimate_pct=estimate,
        ci95_pct=interval,
        p_adjusted=p,
    )
    assert wording.reach(report, found) == said


def test_publishing_twice_leaves_the_same_files_and_nothing_beside(tmp_path: Path) -> None:
    """Publishing is idempotent, readable by others, and keeps what else is in the directory."""
    small = {"report.md": b"one", "charts/a.svg": b"two"}
    directory = tmp_path / "new" / "report"
    paths = files.write(small, directory)
    assert paths == [directory / "report.md", directory / "charts" / "a.svg"]
    (directory / "notes.txt").write_text("kept")
    assert files.write({**small, "report.md": b"three"}, directory) == paths
    assert paths[0].read_bytes() == b"three"
    assert (directory / "notes.txt").read_text() == "kept"
    assert [path.name for path in directory.parent.iterdir()] == ["report"]
    assert directory.stat().st_mode & stat.S_IRUSR


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", ""])
def test_publishing_never_leaves_its_directory(tmp_path: Path, name: str) -> None:
    """A name that leads out is refused, and nothing is written."""
    with pytest.raises(StoreError, match="not a path within"):
        files.write({"ok": b"", name: b""}, tmp_path / "report")
    assert list(tmp_path.iterdir()) == []


def test_publishing_where_a_file_stands_names_it(tmp_path: Path) -> None:
    """A path that cannot become a directory is an error that names it."""
    (tmp_path / "report").write_text("a file")
    with pytest.raises(StoreError, match="report: the report cannot be written"):
        files.write({"report.md": b""}, tmp_path / "report")
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_percentiles_beside_p95_have_a_table_where_the_client_prints_them() -> None:
    """go-ycsb does; sysbench prints p95 alone, and has neither table nor empty columns."""
    made = campaigns.campaign(workloads=["ycsb_a"], dataset={"records": 1000}, warmup_seconds=0)
    for p50, p99 in ((1.25, 9.5), (None, None)):
        results = [campaigns.trial_result(t, p50_ms=p50, p99_ms=p99) for t in made.plan.trials]
        outcome = compare(made.plan, results, 2.0)
        page = pages.markdown(model.build(made, outcome, results))
        assert ("10.11.5 p50 latency (ms)" in page) == bool(p99)
        assert ("| 1.25 | 9.50 |" in page) == bool(p99)
        header, *_ = csv_text.comparison_csv(outcome).splitlines()
        assert ("candidate_p99_ms" in header) == bool(p99)
