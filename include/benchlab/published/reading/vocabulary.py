"""The words by which headings and columns of published pages are understood, in both languages.

Headings say what a part of the page is about, column headings what a table has. Patterns apply to
plain text (:func:`benchlab.published.reading.wording.plain`), regardless of case.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from benchlab.plan.document_tables import Metric
from benchlab.published.reading import version_names
from benchlab.published.reading.model import PageKind
from benchlab.published.reading.wording import WORKLOADS, plain

Area = Literal["results", "overview", "setting"]

_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")


def is_chinese(text: str) -> bool:
    """Whether the text has a Chinese character."""
    return _CJK.search(text) is not None


# ---------------------------------------------------------------- headings

_KINDS: dict[PageKind, str] = {"sysbench": "sysbench", "tpcc": "tpc-?c"}

# The first match counts: "test plan and results" is about results.
_AREAS: tuple[tuple[Area, str], ...] = (
    ("setting", r"result quality|结果质量|how to read|provenance|如何阅读|来源"),
    ("results", r"\bresults?\b|结果"),
    (
        "overview",
        (
            r"\b(?:overview|purpose|summary|conclusions?|introduction|abstract|objectives?|goals?)\b"
            r"|概况|概述|概览|目的|结论|总结|摘要|简介"
        ),
    ),
    (
        "setting",
        (
            r"\b(?:environment|configurations?|plan|steps|parameters?|hardware|software"
            r"|test version|version information|topology|executor|prepare|perform|load|cluster"
            r"|published document|quality)\b"
            r"|环境|文档|配置|方案|步骤|参数|硬件|软件|版本信息|测试版本|拓扑|执行|准备|集群|计划"
        ),
    ),
)

_IN_HEADINGS = {  # words that mean something else in sentences
    "oltp_insert": r"inserts?(?![a-z])",
    "oltp_delete": r"deletes?(?![a-z])|删除",
    "oltp_point_select": r"select[-_ ]*point",
}
_WORKLOADS = re.compile(
    "(?<![a-z])(?:oltp[_ ])?(?:"
    + "|".join(
        f"(?P<{name}>{'|'.join(filter(None, (pattern, _IN_HEADINGS.get(name))))})"
        for name, pattern in WORKLOADS.items()
    )
    + ")",
    re.IGNORECASE,
)


def kinds(text: str) -> set[PageKind]:
    """The kinds that the text names: sysbench, TPC-C, both or neither."""
    return {kind for kind, pattern in _KINDS.items() if re.search(pattern, text, re.IGNORECASE)}


def area(heading: str) -> Area | None:
    """The part of the page that begins here; None if the heading does not say."""
    text = plain(heading)
    return next((name for name, words in _AREAS if re.search(words, text, re.IGNORECASE)), None)


def workload(heading: str) -> str | None:
    """The one workload that a heading names, as sysbench calls it, or ``tpcc``; or None.

    >>> workload("Point Select performance")
    'oltp_point_select'
    """
    found = {match.lastgroup for match in _WORKLOADS.finditer(plain(heading))}
    return found.pop() if len(found) == 1 else None


# ---------------------------------------------------------------- columns


@dataclass(frozen=True)
class Column:
    """What a column of a table of results has.

    Attributes:
        role: ``metric``: figures of a version; ``known``: figures that are understood but not
            kept, such as another percentile.
        metric: of the figures, or the one that an improvement's heading names.
        label: the version in its heading, as written there.
        percent: whether the heading says that its cells are percentages.
    """

    role: Literal["threads", "version", "improvement", "metric", "known", "unknown"]
    metric: Metric | None = None
    label: str | None = None
    percent: bool = False


_THREADS = re.compile(
    r"(?:client\s+)?(?:threads?|concurrency|concurrent (?:threads?|connections?)|connections?)"
    r"(?: counts?| numbers?)?|(?:number|count) of (?:client )?threads"
    r"|(?:客户端)?(?:线程|并发)(?:数|数量)?",
    re.IGNORECASE,
)
_VERSION = re.compile(r"(?:(?:tidb|mariadb)\s*)?(?:versions?|版本号?)", re.IGNORECASE)
_IMPROVEMENT = re.compile(
    r"improvements?|improved|increased?|gains?|changed?|changes|differences?|diff"
    r"|提升(?:率|比例|幅度)?|提高|变化(?:率|幅度)?|增长(?:率)?|差异",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"\(\s*%\s*\)|%\s*$|百分比|percentage", re.IGNORECASE)
_RATES: dict[Metric, re.Pattern[str]] = {
    "tpmc": re.compile(r"(?<![a-z])tpm-?c(?![a-z])", re.IGNORECASE),
    "qps": re.compile(r"(?<![a-z])qps(?![a-z])", re.IGNORECASE),
    "tps": re.compile(r"(?<![a-z])tps(?![a-z])", re.IGNORECASE),
}
_LATENCY = r"(?:latency|latencies|response time|延迟|时延|响应时间)"
_UNIT = r"(?:\s*\(\s*(?P<unit>[^()%0-9]*?)\s*\))?"
_P95 = re.compile(
    rf"(?<![0-9.a-z])(?:"
    rf"p95(?:\s*{_LATENCY})?|95\s*(?:%|th)(?:\s*percentile)?\s*{_LATENCY}"
    rf"|95\s*(?:th percentile|分位)"
    rf"|{_LATENCY}\s*\(?(?:p95|95\s*(?:%|th|th percentile))\)?"
    rf")(?![0-9]){_UNIT}",
    re.IGNORECASE,
)
_OTHER_LATENCY = re.compile(
    rf"(?<![0-9.a-z])(?:p[0-9.]+(?:\s*{_LATENCY})?|[0-9.]+\s*(?:%|th)(?:\s*percentile)?\s*{_LATENCY}"
    rf"|(?:avg\.?|average|mean|max\.?|min\.?|平均|最大|最小)\s*{_LATENCY}){_UNIT}",
    re.IGNORECASE,
)
_NEW_ORDER = re.compile(r"new[ -]?order", re.IGNORECASE)
_BETWEEN = re.compile(r"(?<![0-9a-z])(?:of|for|in|the|on|vs\.?|against|over)(?![0-9a-z])|[的比:,/]")
_MILLISECONDS = frozenset({None, "ms", "毫秒", "msec"})


def column(heading: str) -> Column:
    """What a column has, by its heading; ``unknown`` if any word of it is not understood.

    >>> column("v5.2.0 QPS")
    Column(role='metric', metric='qps', label='v5.2.0', percent=False)
    """
    text = plain(heading)
    if _THREADS.fullmatch(text):
        return Column("threads")
    if _VERSION.fullmatch(text):
        return Column("version")
    if _IMPROVEMENT.search(_without_label(text)):
        return _improvement(text)
    for metric, pattern in (*_RATES.items(), ("p95_ms", _P95)):
        if match := pattern.search(text):
            unit = match.groupdict().get("unit")
            if unit is not None and unit.lower() not in _MILLISECONDS:
                return Column("unknown")
            return _labelled("metric", metric, text[: match.start()], text[match.end() :])
    if match := _OTHER_LATENCY.search(text):
        return _labelled("known", None, text[: match.start()], text[match.end() :])
    return Column("unknown")


def _without_label(text: str) -> str:
    """The heading without the remark in parentheses after a version."""
    return re.sub(rf"({version_names.VERSION})\s*\([^()]*\)", r"\1", text)


def _improvement(text: str) -> Column:
    """An improvement of one throughput or of no named metric; a change of latency is not kept."""
    metrics = [metric for metric, pattern in _RATES.items() if pattern.search(text)]
    rest = _PERCENT.sub(" ", _IMPROVEMENT.sub(" ", _without_label(text)))
    if not metrics and (latency := _P95.search(rest) or _OTHER_LATENCY.search(rest)):
        beside = _NEW_ORDER.sub(" ", rest[: latency.start()] + rest[latency.end() :])
        return Column("unknown" if beside.strip() else "known")
    for pattern in _RATES.values():
        rest = pattern.sub(" ", rest)
    rest = _BETWEEN.sub(" ", re.sub(version_names.VERSION, " ", rest))
    if len(metrics) > 1 or rest.strip():
        return Column("unknown")
    percent = _PERCENT.search(text) is not None
    return Column("improvement", metrics[0] if metrics else None, percent=percent)


def _labelled(
    role: Literal["metric", "known"], metric: Metric | None, before: str, after: str
) -> Column:
    rest = f"{before} {after}"
    short = _BETWEEN.sub(" ", rest)
    if not short.strip():
        return Column(role, metric)
    label = version_names.label(rest) or version_names.label(short)
    return Column(role, metric, label) if label else Column("unknown")
