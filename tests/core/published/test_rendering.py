"""A published page rendered anew: same figures, computed sentences, nothing to find fault with."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchlab import language
from benchlab.published.audit.audit import audit
from benchlab.published.reading.model import (
    Block,
    Claim,
    Command,
    Metric,
    Printed,
    PublishedReport,
    Row,
    Shape,
    StatedChange,
    StatedSetting,
    StatedStep,
    Unread,
    Workload,
    from_json,
)
from benchlab.published.reading.stated import published_headline
from benchlab.published.rendering import bundle as published
from benchlab.published.rendering.page import Page
from benchlab.published.rendering.tables import percent
from tests.builders.published_page import read

SHARED = Path(__file__).parents[3].parent / "shared"
PAGES = sorted([*SHARED.glob("seeds/*.txt"), *SHARED.glob("published/pages/*.md")])
LANGUAGES = ("en", "zh")
OLD, NEW = "v3.1.0", "v3.2.0"

NOTHING = StatedSetting(
    hardware={}, software={}, git_hashes={}, parameters=(), steps=(), acts=(), commands=(),
    thread_lists=(), load_balancers=(), entry_ports=(), tables=None, table_size=None,
    warehouses=None, seconds=None, stated_seconds=None, warmup_seconds=None, measured=None,
    place=None,
)  # fmt: skip

COLUMNS: Mapping[Shape, tuple[str, ...]] = {
    "pairs": ("Threads", f"{OLD} TPS", f"{OLD} p95", f"{NEW} TPS", f"{NEW} p95", "TPS gain"),
    "metrics_then_latencies": (
        *("Threads", f"{OLD} TPS", f"{NEW} TPS", f"{OLD} p95", f"{NEW} p95"),
        "TPS gain (%)",
    ),
    "version_column": ("Version", "Threads", "TPS", "p95"),
    "table_per_version": ("Threads", "TPS", "p95"),
    "single_version": ("Threads", "TPS", "p95"),
}


def side(**figures: str | None) -> dict[Metric, Printed]:
    """Printed figures of one version by metric; None: there is none."""
    metrics: tuple[Metric, ...] = ("qps", "tps", "tpmc", "p95_ms")
    return {m: Printed(text) for m in metrics if (text := figures.get(m)) is not None}


ROWS = (
    Row(
        50,
        {OLD: side(tps="9,876.50", p95_ms="9.1"), NEW: side(tps="10864.2", p95_ms="8")},
        improvement=None,
        line=31,
    ),
    Row(
        100,
        {OLD: side(tps="12000", p95_ms="17"), NEW: side(tps="11,400", p95_ms="18.50")},
        improvement=None,
        line=32,
    ),
)


def workload(
    rows: Sequence[Row] = ROWS,
    *,
    shape: Shape | None = "pairs",
    name: str = "oltp_point_select",
    metric: Metric = "tps",
    claims: Sequence[Claim] = (),
) -> Workload:
    """The results of one workload in a page of ours."""
    return Workload(
        name=name,
        heading="Lookups",
        metric=metric if shape else None,
        shape=shape,
        columns=COLUMNS[shape] if shape else (),
        versions=(NEW,) if shape == "single_version" else (OLD, NEW) if shape else (),
        rows=tuple(rows) if shape else (),
        claims=tuple(claims),
        charts=() if shape else ("/media/a.png",),
        line=29,
    )


def report(*workloads: Workload, setting: StatedSetting = NOTHING) -> PublishedReport:
    """A page of ours with these results."""
    single = all(each.shape == "single_version" for each in workloads)
    tpcc = any(each.name == "tpcc" for each in workloads)
    return PublishedReport(
        id="x",
        source="page.md",
        sha256="0123456789abcdef" * 4,
        title="TiDB TPC-C figures" if tpcc else "TiDB Sysbench figures",
        kind="tpcc" if tpcc else "sysbench",
        language="en",
        versions=(NEW,) if single else (OLD, NEW),
        exact_versions=(),
        workloads=workloads or (workload(),),
        claims=(),
        setting=setting,
        unread=(),
    )


def markdown(found: PublishedReport, code: str = "en") -> str:
    """The page as Markdown."""
    return published.markdown(Page(found, language.load(code)))


def rows(text: str, first: str) -> list[list[str]]:
    """The cells of the table whose heading row begins with ``first``, that row included."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(f"| {first} |"))
    found = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return [found[0], *found[2:]]


# ---------------------------------------------------------------- tables


def test_a_table_of_pairs_keeps_its_columns_and_figures_as_printed() -> None:
    """Version beside version, each with throughput and latency, digit by digit."""
    assert rows(markdown(report()), "Threads") == [
        [
            "Threads", f"{OLD} TPS", f"{OLD} 95% latency (ms)", f"{NEW} TPS",
            f"{NEW} 95% latency (ms)", "TPS improvement",
        ],
        ["50", "9,876.50", "9.1", "10864.2", "8", "10.00%"],
        ["100", "12000", "17", "11,400", "18.50", "-5.00%"],
    ]  # fmt: skip


def test_metrics_stand_before_latencies_where_the_source_has_them_so() -> None:
    """And the percent sign stays in the heading."""
    found = rows(markdown(report(workload(shape="metrics_then_latencies"))), "Threads")
    assert found[0][1:3] == [f"{OLD} TPS", f"{NEW} TPS"]
    assert found[0][-1] == "TPS improvement (%)"
    assert found[1] == ["50", "9,876.50", "10864.2", "9.1", "8", "10.00"]


def test_a_version_column_begins_with_the_candidate() -> None:
    """A row is a version at a thread count; the improvement stands with the candidate."""
    found = rows(markdown(report(workload(shape="version_column"))), "Version")
    assert found == [
        ["Version", "Threads", "TPS", "95% latency (ms)", "TPS improvement"],
        [NEW, "50", "10864.2", "8", "10.00%"],
        [NEW, "100", "11,400", "18.50", "-5.00%"],
        [OLD, "50", "9,876.50", "9.1", ""],
        [OLD, "100", "12000", "17", ""],
    ]


def test_each_version_keeps_its_own_table() -> None:
    """Under a heading with the version."""
    text = markdown(report(workload(shape="table_per_version")))
    assert rows(text[text.index(f"#### {OLD}") :], "Threads")[:2] == [
        ["Threads", "TPS", "95% latency (ms)"],
        ["50", "9,876.50", "9.1"],
    ]
    assert rows(text[text.index(f"#### {NEW}") :], "Threads")[:2] == [
        ["Threads", "TPS", "95% latency (ms)", "TPS improvement"],
        ["50", "10864.2", "8", "10.00%"],
    ]


def test_a_page_about_one_version_has_no_improvement() -> None:
    """There is nothing to compare, and no outcome is told."""
    text = markdown(report(workload(shape="single_version")))
    assert rows(text, "Threads")[0] == ["Threads", "TPS", "95% latency (ms)"]
    assert "%" not in text.replace("95% latency", "")


def test_a_missing_figure_stays_missing_and_there_is_no_mean() -> None:
    """Neither zero nor left out; the thread count is named."""
    gap = replace(ROWS[1], sides={OLD: side(tps="12000"), NEW: side(p95_ms="18.50")})
    text = markdown(report(workload([ROWS[0], gap])))
    assert rows(text, "Threads")[2] == ["100", "12000", "n/a", "n/a", "18.50", "n/a"]
    assert "no mean over all thread counts, for figures are missing at 100 threads" in text
    assert "2.50%" not in text


# ---------------------------------------------------------------- sentences


def test_a_wrong_improvement_is_computed_anew() -> None:
    """From the figures beside it; what was printed is listed as a claim."""
    wrong = [replace(row, improvement=Printed("77.7")) for row in ROWS]
    text = markdown(report(workload(wrong)))
    assert [row[-1] for row in rows(text, "Threads")[1:]] == ["10.00%", "-5.00%"]
    assert text.count("77.7") == 2
    assert rows(text, "Line")[1:] == [
        ["31", "Point Select", "50", f"{OLD}, {NEW}", "77.7%", "+10.00%"],
        ["32", "Point Select", "100", f"{OLD}, {NEW}", "77.7%", "-5.00%"],
    ]


@pytest.mark.parametrize(
    ("code", "pct", "words"),
    [
        ("en", "112", f"the TPS of {NEW} is 12.00% higher than that of {OLD}"),
        ("en", "88", f"the TPS of {NEW} is 12.00% lower than that of {OLD}"),
        ("en", "100", f"the TPS of {NEW} is on a par with that of {OLD}"),
        ("zh", "112", f"{NEW} 的 TPS 相比 {OLD} 提升了 12.00%"),
        ("zh", "88", f"{NEW} 的 TPS 相比 {OLD} 下降了 12.00%"),
        ("zh", "100", f"{NEW} 的 TPS 与 {OLD} 持平"),
    ],
)
def test_the_direction_is_that_of_the_figures(code: str, pct: str, words: str) -> None:
    """In the summary, the overview and the results alike."""
    row = Row(8, {OLD: side(tps="100"), NEW: side(tps=pct)}, None, 1)
    assert markdown(report(workload([row])), code).count(words) == 3


def test_the_mean_is_that_of_the_rows_as_they_are_printed() -> None:
    """So a reader can recompute it: (33.33 + 33.33 + 33.34) / 3, not a third of a hundred."""
    pairs = (("3", "4"), ("30", "40"), ("2999.7", "3999.8"))
    found = workload(
        [Row(n, {OLD: side(tps=a), NEW: side(tps=b)}, None, 1) for n, (a, b) in enumerate(pairs, 1)]
    )
    section = Page(report(found), language.english()).sections[0]
    assert [percent(section.improvements[n]) for n in (1, 2, 3)] == ["33.33", "33.33", "33.34"]
    assert section.headline == Decimal("33.33")


def test_the_mean_is_the_one_that_an_audit_recomputes() -> None:
    """Also of a page that prints whole percentages: (10.00 + 5.55) / 2, not (10 + 6) / 2."""
    pairs = ((150, "1000", "1100", "10"), (300, "2000", "2111", "6"))
    found = report(
        workload(
            [Row(n, {OLD: side(tps=a), NEW: side(tps=b)}, Printed(p), 1) for n, a, b, p in pairs]
        )
    )
    shown = Page(found, language.english()).sections[0].headline
    exact = audit([found])[0].to_json()["workloads"][0]["headline_pct"]
    assert (str(shown), exact) == ("7.78", 7.775)


@pytest.mark.parametrize(
    ("title", "product"),
    [
        ("TiDB Cloud Sysbench report for TiDB v3.2.0", "TiDB Cloud"),
        ("tidb-cloud Sysbench report", "TiDB Cloud"),
        ("TIDB Sysbench report", "TiDB"),
        ("TiDB性能测试报告", "TiDB"),
        ("mariadb Sysbench report", "MariaDB"),
        ("MySQL Sysbench report", "MySQL"),
    ],
)
@pytest.mark.parametrize("code", LANGUAGES)
def test_a_page_is_about_the_product_of_its_title(title: str, product: str, code: str) -> None:
    """However it is written there; in title, subject and facts."""
    found = replace(report(), title=title, exact_versions=(f"{OLD}.1", f"{NEW}.1"))
    page = Page(found, language.load(code))
    assert page.title.startswith(f"{product} Sysbench ")
    assert f"{product} {NEW}" in page.subject
    assert page.facts[0][0].startswith(product)


@pytest.mark.parametrize("title", ["Sysbench report", "PostgreSQL Sysbench", "MySQL and MariaDB"])
@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("alone", [False, True])
def test_where_the_title_names_no_product_none_is_named(title: str, code: str, alone: bool) -> None:
    """Nothing is taken for granted; the sentences stand without it, and the page is read back."""
    results = workload(shape="single_version") if alone else workload()
    found = replace(report(results), title=title, exact_versions=() if alone else (OLD, NEW))
    page = Page(found, language.load(code))
    text = markdown(found, code)
    assert page.title.startswith("Sysbench ")
    assert not re.search("TiDB|MariaDB|MySQL|none| {2,}[A-Za-z]", page.title + page.subject)
    assert "TiDB version" not in text
    assert read(text, "again.md").versions == found.versions


def test_claims_are_listed_as_claims_beside_what_the_figures_give() -> None:
    """All of them, contradicting ones too; no sentence asserts one."""
    change = StatedChange("oltp_point_select", None, Printed("9.99"), -1)
    other = replace(change, pct=Printed("8.88"), threads=50, direction=1)
    claim = Claim("Lookups are worse.", 12, "section", ("v9.9.9",), (change, other))
    text = markdown(report(workload(claims=[claim])))
    assert rows(text, "Line")[1:] == [
        ["12", "Point Select", "all", "v9.9.9", "-9.99%", "+2.50%"],
        ["12", "Point Select", "50", "v9.9.9", "+8.88%", "+10.00%"],
    ]
    for once in ("v9.9.9", "9.99", "8.88"):
        assert text.count(once) == text[text.index("| Line |") :].count(once)
    assert "Lookups are worse" not in text


@pytest.mark.parametrize(
    "sentence",
    [
        f"Compared with {NEW}, lookups of {OLD} are 2.44% slower.",
        "Lookups improve by up to 10%.",
        "Lookups improve by more than 1%.",
        "Lookups per dollar improve by 30%.",
        "查询的性价比提升了 30%。",
    ],
)
def test_beside_a_claim_about_another_figure_stands_none(sentence: str) -> None:
    """The mean of the rows is not what it is about: the other way round, an end of a range."""
    change = StatedChange("oltp_point_select", None, Printed("9.99"), 1)
    claim = Claim(sentence, 12, "section", (OLD, NEW), (change,))
    found = rows(markdown(report(workload(claims=[claim]))), "Line")
    assert found[1] == ["12", "Point Select", "all", f"{OLD}, {NEW}", "+9.99%", "n/a"]


def test_a_claim_is_about_the_results_that_it_stands_beside() -> None:
    """One that names no workload; in the overview of a page with several it is about none."""
    change = StatedChange(None, 50, Printed("9.99"), 1)
    claim = Claim("It is better.", 12, "section", (), (change,))
    found = report(workload(claims=[claim]), workload(name="oltp_insert"))
    before = replace(claim, place="overview", line=3, changes=(replace(change, threads=100),))
    found = replace(found, claims=(before,))
    assert rows(markdown(found), "Line")[1:] == [
        ["3", "n/a", "100", "n/a", "+9.99%", "n/a"],
        ["12", "Point Select", "50", "n/a", "+9.99%", "+10.00%"],
    ]


def test_it_says_where_the_figures_are_from_and_that_they_have_no_interval() -> None:
    """Source, hash, one value each."""
    text = markdown(report())
    assert "Reproduced from page.md (SHA-256 0123456789abcdef" in text
    assert "no interval and no verdict can be computed" in text


def test_what_was_not_understood_is_listed() -> None:
    """With its line in the source."""
    found = replace(report(), unread=(Unread(77, "a cell | with <marks>"),))
    assert "| 77 | a cell \\| with &lt;marks&gt; |" in markdown(found)


def test_thread_counts_are_those_with_figures() -> None:
    """Workloads that differ in them are named with theirs."""
    one = workload(ROWS[:1], name="oltp_insert")
    text = markdown(report(workload(), one))
    assert "Client threads of oltp_point_select: 50, 100." in text
    assert "Client threads of oltp_insert: 50." in text


@pytest.mark.parametrize("shape", [s for s in COLUMNS if s != "single_version"])
@pytest.mark.parametrize("code", LANGUAGES)
def test_a_thread_count_without_figures_is_in_plan_and_tables_alike(
    shape: Shape, code: str
) -> None:
    """Missing of every version, and not left out of one of the two: an audit finds nothing."""
    gap = Row(200, {}, None, 33)
    found = report(workload([*ROWS, gap], shape=shape))
    text = markdown(found, code)
    assert "50, 100, 200" in text or "50、100、200" in text
    back = read(text, "again.md")
    assert figures(back) == figures(found)
    assert audit([back])[0].findings == ()


def test_a_table_without_any_figure_is_none() -> None:
    """There is no column to print and no chart to draw, nor are its threads told."""
    empty = replace(
        workload([Row(50, {}, None, 33)], name="oltp_insert"), versions=(), claims=(), charts=()
    )
    files = published.make(report(workload(), empty), language.english())
    assert "charts/oltp_insert.svg" not in files
    text = files["report.md"].decode()
    assert "prints no figures of Insert" in text
    assert "Client threads: 50, 100." in text


# ---------------------------------------------------------------- versions and doubt


@pytest.mark.parametrize("code", LANGUAGES)
def test_figures_of_another_version_than_the_title_s_stay_its_own(code: str) -> None:
    """On a page about one version; an audit of the page that is made still tells them."""
    row = Row(50, {"v6.5.0": side(tps="100", p95_ms="9000")}, None, 31)
    other = replace(workload([row], shape="single_version"), versions=("v6.5.0",))
    found = report(other)
    text = markdown(found, code)
    assert "| v6.5.0 TPS | v6.5.0 95%" in text
    back = read(text, "again.md")
    assert figures(back) == figures(found)
    kinds = [[each.kind for each in audit([page])[0].findings] for page in (found, back)]
    assert kinds == [["version_mismatch"]] * 2


def test_an_improvement_that_the_figures_allow_is_not_listed_as_wrong() -> None:
    """The bounds are the audit's: 10.1 and 10.6 are rounded, and 5.2 % may be right."""
    row = Row(8, {OLD: side(tps="10.1"), NEW: side(tps="10.6")}, Printed("5.2"), 31)
    allowed = report(workload([row]))
    assert audit([allowed])[0].findings == ()
    assert Page(allowed, language.english()).claims is None
    wrong = report(workload([replace(row, improvement=Printed("6.2"))]))
    assert [each.kind for each in audit([wrong])[0].findings] == ["row_mismatch"]
    assert rows(markdown(wrong), "Line")[1][-2:] == ["6.2%", "+4.95%"]


# ---------------------------------------------------------------- charts only


def chart_only(*claims: Claim, code: str = "en") -> str:
    """What is said in place of the figures of a workload that has none."""
    page = Page(report(workload(shape=None, claims=claims)), language.load(code))
    return page.without_figures(page.sections[0])


def change(pct: str, direction: Literal[-1, 0, 1]) -> StatedChange:
    """Over all thread counts."""
    return StatedChange("oltp_point_select", None, Printed(pct), direction)


@pytest.mark.parametrize(
    ("direction", "en", "zh"),
    [
        (1, f"of {NEW} is 2% higher than that of {OLD}.", "提升了 2%"),
        (-1, f"of {NEW} is 2% lower than that of {OLD}.", "下降了 2%"),
        (0, f"of {NEW} differs by 2% from that of {OLD}.", "相差 2%"),
    ],
)
def test_a_claim_keeps_its_direction(direction: Literal[-1, 0, 1], en: str, zh: str) -> None:
    """Where no word says which way, none is said."""
    claim = Claim("A claim.", 12, "section", (OLD, NEW), (change("2", direction),))
    assert en in chart_only(claim)
    assert zh in chart_only(claim, code="zh")


@pytest.mark.parametrize(
    ("versions", "told"),
    [((), True), ((NEW,), True), (("v3.2", OLD), True), (("v2.1", "v2.0"), False)],
)
def test_a_claim_about_other_versions_is_not_told_of_the_page_s(
    versions: tuple[str, ...], told: bool
) -> None:
    """It is listed with its versions at the end."""
    claim = Claim("It is better by 7.7%.", 12, "section", versions, (change("7.7", 1),))
    text = chart_only(claim)
    assert ("7.7%" in text) is told
    assert text.endswith("What it claims stands at the end.") is not told


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_list_of_claims_is_referred_to_only_where_there_is_one(code: str) -> None:
    """Of a workload without figures and without a claim that is said."""
    at_the_end = {"en": "at the end", "zh": "文末"}[code]
    assert at_the_end not in chart_only(code=code)
    of_another = Claim("Better.", 3, "overview", (), (StatedChange("oltp_insert", None, None, 1),))
    of_it = replace(of_another, changes=(StatedChange("oltp_point_select", 8, Printed("3"), 1),))
    for claim, listed in ((of_another, False), (of_it, True)):
        found = report(workload(shape=None), workload(name="oltp_insert"))
        text = markdown(replace(found, claims=(claim,)), code)
        assert (at_the_end in text) is listed


# ---------------------------------------------------------------- commands and settings

RECORDED = replace(
    NOTHING,
    tables=4,
    table_size=1000,
    warehouses=7,
    seconds=90,
    load_balancers=("HAProxy",),
    parameters=(Block("TiKV", "yaml", "a: <b>\n```\n", 5),),
)


def test_commands_are_written_anew_with_one_entry_point() -> None:
    """A wrong option, an address and a password of the source do not come back."""
    load = "sysbench oltp_common --threads=16 --warehouse=3 --mysql-host=10.0.0.9 prepare"
    run = "sysbench $t run --rand-type=uniform --report-interval 5 --mysql-password=hunter2"
    commands = tuple(Command("sysbench", text, 9, True) for text in (load, run))
    text = markdown(report(setting=replace(RECORDED, commands=commands)))
    blocks = re.findall(r"```bash\n(.*?)\n```", text, re.DOTALL)
    assert [block.replace(" \\\n    ", " ").split() for block in blocks] == [
        [
            *("sysbench", "oltp_common", "--db-driver=mysql", "--mysql-host=${HOST}"),
            *("--mysql-port=${PORT}", "--mysql-user=${USER}", "--mysql-password=${PASSWORD}"),
            *("--mysql-db=sbtest", "--tables=4", "--table-size=1000", "--threads=16", "prepare"),
        ],
        [
            *("sysbench", "${WORKLOAD}", "--db-driver=mysql", "--mysql-host=${HOST}"),
            *("--mysql-port=${PORT}", "--mysql-user=${USER}", "--mysql-password=${PASSWORD}"),
            *("--mysql-db=sbtest", "--tables=4", "--table-size=1000", "--threads=${THREADS}"),
            *("--rand-type=uniform", "--report-interval=5", "--time=90", "run"),
        ],
    ]


def test_options_are_read_as_everywhere() -> None:
    """With quotes, and what is to be done is no value."""
    text = "sysbench $t --rand-type='uniform' --percentile \"99\" --skip-trx run"
    commands = (Command("sysbench", text, 9, True),)
    shown = markdown(report(setting=replace(RECORDED, commands=commands)))
    for option in ("--rand-type=uniform", "--percentile=99", "--skip-trx"):
        assert f"    {option} \\\n" in shown


def test_go_tpc_has_its_own_options() -> None:
    """As TiUP starts it, where the source does so."""
    wrong = Command("tiup bench tpcc", "tiup bench tpcc run --warehouse 5 -p 4000", 9, False)
    found = report(workload(name="tpcc"), setting=replace(RECORDED, commands=(wrong,)))
    text = markdown(found)
    assert "tiup bench tpcc run \\\n    --host ${HOST} \\\n    --port ${PORT}" in text
    assert "--warehouses 7" in text
    assert "--time 90s" in text
    assert "4000" not in text


def test_the_client_is_the_one_that_was_used() -> None:
    """By its commands; by the steps where there are no commands, and so no other name beside it."""
    step = (StatedStep("BenchmarkSQL is started.", 9),)
    run = (Command("tiup bench tpcc", "tiup bench tpcc run", 9, False),)
    tpcc = workload(name="tpcc")
    named = markdown(report(tpcc, setting=replace(RECORDED, steps=step)))
    assert "The load comes from BenchmarkSQL." in named
    used = markdown(report(tpcc, setting=replace(RECORDED, steps=step, commands=run)))
    assert "The load comes from tiup bench." in used
    assert "BenchmarkSQL" not in used


def test_no_command_is_made_up() -> None:
    """Where the source prints none, or not for how long it ran, there is none."""
    assert "sysbench " not in markdown(report(setting=RECORDED))
    run = (Command("sysbench", "sysbench $t run", 9, True),)
    untimed = replace(RECORDED, seconds=None, commands=run)
    assert "sysbench $" not in markdown(report(setting=untimed))


@pytest.mark.parametrize("code", LANGUAGES)
def test_a_plan_tells_statistics_backup_and_restores_in_the_order_of_a_run(code: str) -> None:
    """In words that say the same when they are read again."""
    setting = replace(NOTHING, acts=("analyze", "back_up", "restore"), warehouses=10, seconds=60)
    text = markdown(report(workload(), setting=setting), code)
    assert read(text, "again.md").setting.acts == setting.acts
    if code == "en":
        found = [line.partition(". ")[2] for line in text.splitlines() if re.match(r"\d+\. ", line)]
        assert found[1:3] == [
            "Statistics of the tables are collected before the tests.",
            "The loaded data is backed up.",
        ]
        assert found[-1] == "Between tests the data is restored from the backup."


def test_settings_are_kept_in_a_fence_that_they_cannot_close() -> None:
    """Even when they have one within."""
    assert "````yaml\na: <b>\n```\n\n````" in markdown(report(setting=RECORDED))


def test_two_durations_are_both_named() -> None:
    """The one of the command and the one of the text."""
    text = markdown(report(setting=replace(RECORDED, stated_seconds=1200)))
    assert "90 seconds by the command of the source, 1,200 seconds by its text" in text


# ---------------------------------------------------------------- files


def test_every_format_is_there_and_the_same_data_give_the_same_bytes() -> None:
    """A chart of each workload with figures, none of one without."""
    found = report(workload(), workload(shape=None, name="oltp_insert"))
    files = published.make(found, language.english())
    assert sorted(files) == [
        *("charts/oltp_point_select.png", "charts/oltp_point_select.svg", "figures.csv"),
        *("report.html", "report.json", "report.md"),
    ]
    assert published.make(found, language.english()) == files


def test_figures_csv_has_what_is_printed_and_leaves_missing_empty() -> None:
    """A row each workload, thread count and version."""
    files = published.make(report(), language.english())
    found = list(csv.DictReader(io.StringIO(files["figures.csv"].decode())))
    assert len(found) == 4
    assert found[0] == {
        "workload": "oltp_point_select", "threads": "50", "version": OLD,
        "qps": "", "tps": "9,876.50", "tpmc": "", "p95_ms": "9.1",
    }  # fmt: skip


def test_report_json_has_the_data_and_what_was_computed() -> None:
    """And the data come back from it."""
    document = json.loads(published.make(report(), language.english())["report.json"])
    assert from_json(document["report"]) == report()
    assert document["recomputed"] == [
        {
            "workload": "oltp_point_select",
            "metric": "tps",
            "rows": [
                {"threads": 50, "improvement_pct": 10.0},
                {"threads": 100, "improvement_pct": -5.0},
            ],
            "headline_pct": 2.5,
        }
    ]


def test_html_stands_alone_and_takes_nothing_recorded_for_markup() -> None:
    """Charts are in it; nothing is fetched, nothing of the source is a tag."""
    block = Block("<script>x</script>", "yaml", "<img src=y>", 3)
    found = report(setting=replace(NOTHING, parameters=(block,), place="<b>Here</b> [a](b)"))
    text = published.make(found, language.load("zh"))["report.html"].decode()
    assert '<html lang="zh">' in text
    assert re.findall(r'(?:src|href)="(?!data:image/svg)', text) == []
    assert "<script" not in text
    assert "<img src=y" not in text
    assert "&lt;b&gt;Here&lt;/b&gt; [a](b)" in text


@pytest.mark.parametrize("shape", [*COLUMNS])
def test_every_language_has_the_same_figures(shape: Shape) -> None:
    """Number by number; sentences may put them in another order."""
    found = report(workload(shape=shape), setting=RECORDED)
    assert numbers(markdown(found, "en")) == numbers(markdown(found, "zh"))


def numbers(text: str) -> list[str]:
    """All numbers of a text, in no order."""
    return sorted(re.findall(r"\d[\d,.]*\d|\d", text))


# ---------------------------------------------------------------- read back


def figures(found: PublishedReport) -> list[object]:
    """What has to come back: workloads, versions, threads and printed figures."""
    return [
        (
            *(each.name, each.versions, each.metric, each.shape),
            [(row.threads, {v: texts(s) for v, s in row.sides.items() if s}) for row in each.rows],
        )
        for each in found.workloads
    ]


def texts(printed: Mapping[Metric, Printed]) -> dict[Metric, str]:
    """Figures as printed."""
    return {metric: each.text for metric, each in printed.items()}


def assert_reproduced(found: PublishedReport, code: str) -> None:
    """Equal when it is read back, with the computed claims, and nothing is found wrong with it."""
    page = Page(found, language.load(code))
    back = read(published.markdown(page), "again.md")
    assert figures(back) == figures(found)
    assert (back.kind, back.language, back.versions) == (found.kind, code, found.versions)
    assert back.unread == ()
    assert audit([back])[0].findings == ()
    for section, each in zip(page.sections, back.workloads, strict=True):
        if section.headline:
            claimed = published_headline(back, each)
            assert claimed is not None
            assert claimed.value == section.headline


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("shape", [*COLUMNS, None])
@pytest.mark.parametrize(
    "name", ["oltp_read_write", "oltp_update_non_index", "oltp_insert", "tpcc"]
)
def test_every_shape_is_read_back_equal(name: str, shape: Shape | None, code: str) -> None:
    """In each language, with no finding."""
    rates: Mapping[str, Metric] = {"tpcc": "tpmc"}
    metric = rates.get(name, "qps")
    made = [
        Row(
            row.threads,
            {
                version: side(**{metric: each["tps"].text}, p95_ms="4000")
                for version, each in row.sides.items()
                if shape != "single_version" or version == NEW
            },
            None,
            row.line,
        )
        for row in ROWS
    ]
    claim = Claim(
        "It got worse.", 40, "section", (OLD, NEW), (StatedChange(name, None, Printed("4"), -1),)
    )
    assert_reproduced(
        report(workload(made, shape=shape, name=name, metric=metric, claims=[claim])), code
    )


def printed(low: float, high: float) -> st.SearchStrategy[str]:
    """Numbers as pages print them: decimals or none, commas or none."""
    return st.builds(
        lambda value, places, comma: f"{value:{comma}.{places}f}",
        st.floats(low, high),
        st.integers(0, 4),
        st.sampled_from(["", ","]),
    )


@st.composite
def any_rows(draw: st.DrawFn) -> list[Row]:
    """Rows of one workload whose latencies are plausible."""
    counts = draw(st.lists(st.integers(1, 5000), min_size=1, max_size=6, unique=True))
    return [
        Row(
            threads,
            {
                version: side(tps=draw(printed(5, 2e6)), p95_ms=draw(printed(1e6, 2e6)))
                for version in (OLD, NEW)
            },
            None,
            1,
        )
        for threads in sorted(counts)
    ]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    made=any_rows(),
    shape=st.sampled_from([s for s in COLUMNS if s != "single_version"]),
    code=st.sampled_from(LANGUAGES),
)
def test_random_figures_are_read_back_equal(made: list[Row], shape: Shape, code: str) -> None:
    """Whatever they are, no finding is possible."""
    assert_reproduced(report(workload(made, shape=shape)), code)


recorded = st.text(
    st.one_of(st.sampled_from("|`*_#<>[]()!-:%~$&\\\n 1"), st.characters(exclude_categories=["C"])),
    max_size=40,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts=st.lists(recorded, min_size=7, max_size=7), code=st.sampled_from(LANGUAGES))
def test_recorded_texts_do_not_disturb_the_figures(texts: list[str], code: str) -> None:
    """Markdown, HTML and percentages in names and settings stay what they are."""
    name, cell, heading, block, place, version, what = texts
    setting = replace(
        RECORDED,
        hardware={name: {heading: cell}},
        software={name: version},
        parameters=(Block(heading, name, block, 5),),
        place=place,
    )
    found = replace(report(setting=setting), unread=(Unread(3, what),))
    assert_reproduced(found, code)


here = pytest.mark.skipif(not PAGES, reason="the published pages are not here: ../shared")


@here
@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_published_pages_are_reproduced(path: Path, code: str) -> None:
    """Every page of the seeds and of the published ones, in each language."""
    assert_reproduced(read(path.read_text(encoding="utf-8"), path.name), code)


@here
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_published_pages_have_the_same_numbers_in_every_language(path: Path) -> None:
    """Each figure of the English page is in the Chinese one, and no other."""
    found = read(path.read_text(encoding="utf-8"), path.name)
    assert numbers(markdown(found, "en")) == numbers(markdown(found, "zh"))
