"""Published pages made for tests, in our own words: any table, either language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchlab.published import page as published_page
from benchlab.published.reading.model import PublishedReport

HEADINGS = {
    "en": ("What was done", "Test results", "TiDB {kind} performance report -- {versions}"),
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
