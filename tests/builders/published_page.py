"""Published pages made for tests, in our own words: any table, either language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchlab.published import page as published_page
from benchlab.published.model import PublishedReport

HEADINGS = {
    "en": ("Test overview", "Test results", "TiDB {kind} performance report -- {versions}"),
    "zh": ("测试概况", "测试结果", "TiDB {kind} 性能报告 - {versions}"),
}
VERSUS = {"en": " vs. ", "zh": " 对比 "}
PAIRS = """\
| Threads | v5.0 QPS | v5.0 95% latency (ms) | v5.1 QPS | v5.1 95% latency (ms) | QPS improvement |
|:-:|:-:|:-:|:-:|:-:|:-:|
| 8 | 1,000.5 | 8.10 | 1,100.55 | 7.30 | 10.00% |
| 16 | 1600 | 10.2 | 1520 | 11 | -5.00% |"""
METRICS = """\
| Threads | v5.0 TPS | v5.1 TPS | v5.0 p95 latency (ms) | v5.1 p95 latency (ms) | TPS change (%) |
|---|---|---|---|---|---|
| 8 | 50 | 55 | 160 | 150 | 10.00 |
| 16 | 80 | 76 | 200 | 210 | -5.00 |"""
VERSIONS = """\
| Version | Threads | QPS | 95% Latency (ms) |
|---|---|---|---|
| v5.1 | 8 | 1100 | 7.3 |
| v5.1 | 16 | 1520 | 11 |
| v5.0 | 8 | 1000 | 8.1 |
| v5.0 | 16 | 1600 | 10.2 |"""
ALONE = """\
| Threads | TPS | 95% latency (ms) |
|---|---|---|
| 8 | 50 | 160 |
| 16 | 80 | 200 |"""
CHINESE = """\
| 线程数 | v5.0 QPS | v5.0 95% 延迟 (ms) | v5.1 QPS | v5.1 95% 延迟 (ms) | QPS 提升 |
|---|---|---|---|---|---|
| 8 | 1000 | 8.10 | 1100 | 7.30 | 10.00% |
| 16 | 1600 | 10.2 | 1520 | 11 | -5.00% |"""


def table(headings: Sequence[str], *rows: Sequence[str]) -> str:
    """A table in Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def page(
    *parts: tuple[str, str],
    kind: str = "Sysbench",
    versions: Sequence[str] = ("v5.1", "v5.0"),
    language: str = "en",
    overview: str = "",
    title: str | None = None,
) -> str:
    """A page.

    Args:
        parts: of the results: a heading, "" for none, and what stands below it.
        kind: as the title writes it.
        versions: of the title, the candidate first.
        overview: text of the overview.
        title: instead of the usual one.
    """
    first, results, usual = HEADINGS[language]
    if title is None:
        title = usual.format(kind=kind, versions=VERSUS[language].join(versions))
    return "\n\n".join(
        ["---", f"title: {title}\n---", f"# {title}", f"## {first}", overview, f"## {results}"]
        + [text for heading, body in parts for text in _part(heading, body)]
    ).replace("---\n\ntitle", "---\ntitle")


def _part(heading: str, body: str) -> Iterable[str]:
    return ([f"### {heading}"] if heading else []) + [body]


def read(text: str, source: str) -> PublishedReport:
    """What is read of a page; half of a character stays one, which is not UTF-8."""
    return published_page.read(text.encode("utf-8", "surrogatepass"), source)


# ---------------------------------------------------------------- pages of recorded facts

TITLES = {
    "oltp_point_select": "Point Select",
    "oltp_read_write": "Read Write",
    "oltp_update_index": "Update Index",
    "oltp_update_non_index": "Update Non-index",
    "oltp_insert": "Insert",
    "tpcc": "TPC-C",
}
WORDS = {
    "en": {
        "threads": "Threads",
        "version": "Version",
        "latency": "95% latency (ms)",
        "gain": "improvement",
        "slower": "Compared with {old}, the {title} performance of {new} is reduced by {pct}%.",
        "faster": "Compared with {old}, the {title} performance of {new} is improved by {pct}%.",
        "exact": "## Test environment\n\nTiDB version: {} vs. {}",
        "hosts": "### Hardware configuration\n\n"
        "| Service type | EC2 type | Instance count |\n|---|---|---|",
        "plan": "## Test plan",
        "load": "Load the data{loader}: `{load}`.",
        "tables": "There are {tables} tables of {table_size} rows each.",
        "warehouses": "There are {warehouses} warehouses.",
        "with": " with {}",
        "balancer": "Test TiDB via {balancer}.",
        "minutes": "Each test takes {minutes} minutes.",
        "warmup_minutes": "The warm-up takes {warmup_minutes} minute.",
        "threads_planned": "Test with the ${{THREAD}} value of {threads}.",
    },
    "zh": {
        "threads": "线程数",
        "version": "版本",
        "latency": "95% 延迟 (ms)",
        "gain": "提升",
        "slower": "{new} 对比 {old}，{title} 性能下降了 {pct}%。",
        "faster": "{new} 对比 {old}，{title} 性能提升了 {pct}%。",
        "exact": "## 测试环境\n\nTiDB 版本：{} 对比 {}",
        "hosts": "### 硬件配置\n\n| 服务类型 | EC2 类型 | 实例数 |\n|---|---|---|",
        "plan": "## 测试方案",
        "load": "导入数据{loader}：`{load}`。",
        "tables": "共 {tables} 张表，每张表 {table_size} 行数据。",
        "warehouses": "共 {warehouses} 个仓库。",
        "with": "（{}）",
        "balancer": "通过 {balancer} 加压。",
        "minutes": "单次测试 {minutes} 分钟。",
        "warmup_minutes": "预热 {warmup_minutes} 分钟。",
        "threads_planned": "使用 ${{THREAD}} 值为 {threads}。",
    },
}
CHART = "![](/media/chart.png)"
# The columns of a table beside the threads, by its shape: {0} is the metric, {p95} the latency.
SIDE_BY_SIDE = {
    "pairs": "{old} {0}|{old} {p95}|{new} {0}|{new} {p95}|{0} {gain}",
    "metrics_then_latencies": "{old} {0}|{new} {0}|{old} {p95}|{new} {p95}|{0} {gain}",
}


def facts_in(facts: Mapping[str, Any], language: str) -> dict[str, Any]:
    """The facts of a page in one language, which may have some of its own."""
    return {**facts, **facts.get(language, {})}


def of_facts(recorded: Mapping[str, Any], language: str) -> str:
    """A page with the tables, figures and contradictions of a recorded one, in our own words.

    Args:
        recorded: a file of ``tests/golden/published_pages``.
    """
    facts, words = facts_in(recorded, language), WORDS[language]
    others = facts.get("other_versions", {})

    def sentence(name: str, change: str, versions: Sequence[str]) -> str:
        way = words["slower" if change.startswith("-") else "faster"]
        new, old = versions
        return way.format(new=new, old=old, pct=change.removeprefix("-"), title=TITLES[name])

    overview = [
        sentence(name, change, facts["versions"])
        for name, change in facts.get("overview", {}).items()
    ]
    parts = []
    for name, found in facts["results"].items():
        body = _results(facts, found["rows"], words) if found["rows"] else CHART
        if "change" in found:
            named = others.get(name, facts["versions"])
            body += "\n\n" + sentence(name, found["change"], named)
        parts.append((TITLES[name], body))
    return page(
        *parts,
        kind={"tpcc": "TPC-C", "sysbench": "Sysbench"}[facts["kind"]],
        versions=facts["versions"],
        language=language,
        overview="\n\n".join([*overview, *_setting(facts, words)]),
    )


def _setting(facts: Mapping[str, Any], words: Mapping[str, str]) -> Iterable[str]:
    """Hosts, versions, load balancer and plan."""
    if exact := facts.get("exact"):
        yield words["exact"].format(*exact)
    if hosts := facts.get("hosts"):
        rows = (f"| {name} | {' | '.join(kind.split(' x '))} |" for name, kind in hosts.items())
        yield "\n".join([words["hosts"], *rows])
    for version in exact or ():
        yield f"### {version}\n\n" + table(["Component", "GitHash"], ["TiDB", version[1:3] * 20])
    if port := facts.get("entry_port"):
        heading = "### HAProxy configuration - haproxy.cfg"
        yield f"{heading}\n\n```\nlisten db\n   bind 0.0.0.0:{port}\n```"
    yield words["plan"]
    facts = {**facts, "loader": words["with"].format(facts["loader"]) if "loader" in facts else ""}
    stated = ("load", "tables", "warehouses", "balancer", "warmup_minutes", "minutes")
    steps = [words[name].format_map(facts) for name in stated if name in facts]
    if "threads" in facts:
        steps.append(
            words["threads_planned"].format(
                threads=", ".join(map(str, facts["threads"][:-1])) + f" and {facts['threads'][-1]}"
            )
        )
    yield "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
    if "run" in facts:
        yield f"```bash\n{facts['run']}\n```"


def _results(facts: Mapping[str, Any], figures: str, words: Mapping[str, str]) -> str:
    """A table of the shape and with the figures of the recorded one."""
    rows = [line.split() for line in figures.splitlines()]
    shape, metric, p95 = facts["shape"], facts["metric"], words["latency"]
    if shape in SIDE_BY_SIDE:
        new, old = facts["versions"]
        columns = SIDE_BY_SIDE[shape].format(metric, old=old, new=new, p95=p95, gain=words["gain"])
        percent = "" if rows[0][-1].endswith("%") else " (%)"
        headings = [words["threads"], *(columns + percent).split("|")]
        if metric == "tpmC":  # of which these pages print no latencies
            headings = [heading for heading in headings if p95 not in heading]
    else:
        first = [words["version"]] * (shape == "version_column")
        headings = [*first, words["threads"], metric, p95][: len(rows[0])]
    return table(headings, *rows)
