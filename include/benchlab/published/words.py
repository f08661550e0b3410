"""The words of a page that are understood, whole and in both languages: headings and columns.

A heading or column that has any other word is not understood; nothing is looked for within it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from benchlab.language import codes, load
from benchlab.plan.document_tables import Metric
from benchlab.published.model import Part
from benchlab.published.version_names import label

# Not Unicode's NFKC: that makes 150² to 1502.
_PLAIN = str.maketrans(
    {chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63", "-")
)


def plain(text: str) -> str:
    """One line of plain characters: no full width, one kind of minus and of space."""
    return " ".join(text.translate(_PLAIN).split())


def chinese(text: str) -> bool:
    """Whether the text has a Chinese character."""
    return re.search(r"[\u3400-\u4dbf\u4e00-\u9fff]", text) is not None


def foreign(text: str) -> bool:
    """Whether it has letters of neither English nor Chinese: kana, Hangul, Cyrillic, ..."""
    return re.search(r"[\u0370-\u1fff\u3041-\u30ff\u3131-\u318e\uac00-\ud7a3]", text) is not None


# ---------------------------------------------------------------- headings

_WORKLOADS: Mapping[str, str] = {
    "oltp_point_select": "point[ -]select|点查",
    "oltp_read_write": "read[ -]write|读写",
    "oltp_update_index": "update[ -]index|更新索引",
    "oltp_update_non_index": "update[ -]non-?index|更新非索引",
    "oltp_insert": "insert|插入",
    "oltp_delete": "delete|删除",
    "oltp_read_only": "read[ -]only|只读",
    "oltp_write_only": "write[ -]only|只写",
    "tpcc": "tpc-c",
}
WORKLOAD = "(?:" + "|".join((*_WORKLOADS, *_WORKLOADS.values())) + ")"
"""Pattern of a workload's name, matched regardless of case; :func:`named` says which it is."""
_CHAPTER = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,2})*\.?\s+")
_OF_WORKLOAD = re.compile(rf"({WORKLOAD})\s*(?:performance|test|性能|测试)?", re.IGNORECASE)
_PARTS: Mapping[Part, str] = {
    "results": "(?:test )?results?|(?:测试)?结果",
    "overview": "test (?:overview|purpose)|测试(?:概况|概述|目的)",
    "environment": (
        r"test environment(?: \(aws ec2\))?|hardware configuration|software version"
        r"|test version, time, and place|tidb version information|tidb cluster"
        r"|cluster topology|benchmark executor"
        r"|测试环境(?: \(aws ec2\))?|硬件配置|软件版本|测试版本、时间、地点|tidb 版本信息"
        r"|tidb 集群|集群拓扑|基准测试执行器"
    ),
    "parameters": (
        r"(?:(?:tidb|tikv|pd)(?: v[0-9.]+)? |global )?(?:parameter |(?:global )?variable )?"
        r"configuration|haproxy configuration - haproxy\.cfg"
        r"|(?:(?:tidb|tikv|pd) (?:v[0-9.]+ )?)?(?:参数配置|配置参数|(?:全局)?变量配置)"
        r"|haproxy 配置 - haproxy\.cfg 文件"
    ),
    "plan": (
        "test (?:plan|steps)|prepare test data|perform the test"
        "|测试(?:方案|步骤)|准备测试数据|执行测试命令"
    ),
}
# Sections of Benchlab's own reports without any table that is read, and tables beside them.
_OWN = (
    "head-published", "head-both-sides", "head-both-sides-single", "head-declared",
    "head-undeclared", "head-quality", "head-how-to-read", "head-provenance",
    "figures-new-order-latency",
)  # fmt: skip
_OWN_COLUMNS = (
    ("workload", "metric", "change", "interval", "p", "verdict"),
    ("workload", "metric", "highest", "at-threads", "p95"),
    ("parameter", "value"),
)
_OWN_HARDWARE = (
    "instance-type", "hosts", "number", "cores", "memory", "cpu", "system", "data-on",
)  # fmt: skip


def named(text: str) -> str | None:
    """The workload of this name, as sysbench calls it, or ``tpcc``; or None."""
    return next(
        (
            name
            for name, spelt in _WORKLOADS.items()
            if re.fullmatch(f"{name}|{spelt}", text, re.IGNORECASE)
        ),
        None,
    )


def workload(heading: str) -> str | None:
    """The workload that a heading is: its name with or without "performance" or "test"; or None.

    >>> workload("Point Select performance"), workload("Bulk insert")
    ('oltp_point_select', None)
    """
    match = _OF_WORKLOAD.fullmatch(_without_chapter(heading))
    return named(match[1]) if match else None


def part(heading: str) -> Part | None:
    """The part of a page that a heading begins, or None."""
    text = _without_chapter(heading)
    if text in _said(*_OWN):
        return "own"
    return next(
        (part for part, words in _PARTS.items() if re.fullmatch(words, text, re.IGNORECASE)), None
    )


def _without_chapter(heading: str) -> str:
    return _CHAPTER.sub("", plain(heading), count=1)


@cache
def _said(*ids: str) -> frozenset[str]:
    """What Benchlab's reports say by these ids, in each language."""
    return frozenset(plain(load(code).say(one)) for code in codes() for one in ids)


def by_benchlab(headings: Iterable[str]) -> bool:
    """Whether a page is Benchlab's own: it says where it is from, and how to read it.

    Only there a table below the headings above, or with such columns, is known to have no results.
    """
    texts = {plain(heading) for heading in headings}
    beside = ("head-how-to-read", "published-claims", "published-beside", "published-unread")
    return not texts.isdisjoint(_said("head-provenance")) and not texts.isdisjoint(_said(*beside))


def folded_by_benchlab(summary: str) -> bool:
    """Whether a report of Benchlab folds its own table of the same figures below this summary."""
    return plain(summary) in _said("layout-own")


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

    role: Literal["threads", "version", "improvement", "metric", "known"]
    metric: Metric | None = None
    label: str | None = None
    percent: bool = False


_LATENCY = "(?:latency|延迟)"
_METRICS: Mapping[Metric, str] = {
    "qps": "qps",
    "tps": "tps",
    "tpmc": "tpmc",
    "p95_ms": rf"(?:95% ?{_LATENCY}|p95(?: {_LATENCY})?) ?\(ms\)",
}
_METRIC = "|".join(f"(?P<{name}>{spelt})" for name, spelt in _METRICS.items())
_OTHER = (
    rf"tpmtotal|p[0-9.]+(?: {_LATENCY})? ?\(ms\)|[0-9.]+% ?{_LATENCY} ?\(ms\)"
    rf"|(?:avg|average|平均) ?{_LATENCY} ?\(ms\)"
)
_THREADS = re.compile("threads|线程数|并发数", re.IGNORECASE)
_VERSION = re.compile("version|版本", re.IGNORECASE)
_IMPROVEMENT = re.compile(
    r"(?:(?P<metric>qps|tps|tpmc) ?)?(?:improvement|change|difference|提升|变化)"
    r"(?P<percent> ?\( ?% ?\))?",
    re.IGNORECASE,
)
_OF_LATENCY = re.compile(
    r"(?:new order )?p95 (?:change|变化)(?: \(%\))?|new order p95 的变化(?: \(%\))?"
    r"|p95 的变化(?: \(%\))?",
    re.IGNORECASE,
)
_FIGURES = re.compile(rf"(?:(?P<label>.+?) )?(?:{_METRIC}|(?P<other>{_OTHER}))", re.IGNORECASE)


def column(heading: str) -> Column | None:
    """What a column of results has, by its heading; None if any word of it is not understood.

    >>> column("v5.2.0 QPS")
    Column(role='metric', metric='qps', label='v5.2.0', percent=False)
    >>> column("v5.2.0 QPS (K)") is None
    True
    """
    text = plain(heading)
    if _THREADS.fullmatch(text):
        return Column("threads")
    if _VERSION.fullmatch(text):
        return Column("version")
    if match := _IMPROVEMENT.fullmatch(text):
        return Column("improvement", _metric(match["metric"]), percent=bool(match["percent"]))
    if _OF_LATENCY.fullmatch(text):
        return Column("known")
    match = _FIGURES.fullmatch(text)
    version = label(match["label"]) if match and match["label"] else None
    if match is None or (match["label"] and version is None):
        return None
    if match["other"]:
        return Column("known", label=version)
    metric = next(name for name in _METRICS if match[name])
    return Column("metric", metric, version)


def _metric(text: str | None) -> Metric | None:
    return next((name for name in _METRICS if text and name == text.lower()), None)


# ---------------------------------------------------------------- other tables

_HOSTS = (
    "service type|服务类型|node type|节点类型|type|类别|machine ip|机器 ip|item|项目|service|服务"
)
_OF_HOSTS = (
    "ec2 type|ec2 类型|instance count|实例数|node size|节点规格|node quantity|节点数量"
    "|node storage|节点存储|name|名称|deployment instance|部署实例|value|值|type|类型|count|数量"
)
Topic = Literal["results", "hosts", "versions", "hashes", "own"]
# The first column, and each other one.
_TOPICS: Mapping[Topic, tuple[str, str]] = {
    "versions": ("service type|服务类型", "software version|软件版本|git ?hash"),
    "hashes": ("component|组件", "git ?hash"),
    "hosts": (_HOSTS, _OF_HOSTS),
}


def topic(headings: Iterable[str]) -> Topic | None:
    """What a table is about, by all its headings; None if they are not understood.

    >>> topic(["Service type", "EC2 type", "Instance count"]), topic(["Threads", "Mood"])
    ('hosts', None)
    """
    first, *others = texts = [plain(heading) for heading in headings]
    if tuple(texts) in _own_columns():
        return "own"
    if any(map(_THREADS.fullmatch, texts)):
        return "results" if all(map(column, texts)) else None
    hardware = _said(*(f"hardware-{name}" for name in _OWN_HARDWARE))
    for name, (of_first, of_others) in _TOPICS.items():
        if others and re.fullmatch(of_first, first, re.IGNORECASE):
            fits = (re.fullmatch(of_others, text, re.IGNORECASE) for text in others)
            own = hardware if name == "hosts" else frozenset()
            if all(fit or text in own for fit, text in zip(fits, others, strict=True)):
                return name
    return None


@cache
def _own_columns() -> frozenset[tuple[str, ...]]:
    return frozenset(
        tuple(plain(load(code).say(f"column-{name}")) for name in names)
        for code in codes()
        for names in _OWN_COLUMNS
    )
