"""The vocabulary of headings and columns that are understood, in both languages.

A heading must match as a whole: with any other word in it, it is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchlab.plan.fields.published import Metric
from benchlab.published.model import PageKind
from benchlab.published.version_names import label

# Not Unicode's NFKC, which turns 150² into 1502.
_PLAIN = str.maketrans(
    {chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63", "-")
)


def plain(text: str) -> str:
    """Normalize a text: one line, no full-width characters, one kind of minus and space.

    >>> plain("ＱＰＳ（Ｋ）")
    'QPS(K)'
    """
    return " ".join(text.translate(_PLAIN).split())


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
"""Pattern of a workload's name, matched regardless of case; :func:`named` tells which."""
_CHAPTER = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,2})*\.?\s+")
_OF_WORKLOAD = re.compile(rf"({WORKLOAD})\s*(?:performance|test|性能|测试)?", re.IGNORECASE)
_RESULTS = re.compile("(?:test )?results?|(?:测试)?结果", re.IGNORECASE)


def named(text: str) -> str | None:
    """The workload that a text names: sysbench's name for it, or ``tpcc``; else None.

    >>> named("Point Select")
    'oltp_point_select'
    """
    return next(
        (
            name
            for name, spelt in _WORKLOADS.items()
            if re.fullmatch(f"{name}|{spelt}", text, re.IGNORECASE)
        ),
        None,
    )


def workload(heading: str) -> str | None:
    """The workload that a heading names, with or without "performance" or "test"; else None.

    >>> workload("Point Select performance"), workload("Bulk insert")
    ('oltp_point_select', None)
    """
    match = _OF_WORKLOAD.fullmatch(_without_chapter(heading))
    return named(match[1]) if match else None


def begins_results(heading: str) -> bool:
    """Whether a heading begins the page's results: ``3. Test results``, ``测试结果``."""
    return _RESULTS.fullmatch(_without_chapter(heading)) is not None


def _without_chapter(heading: str) -> str:
    return _CHAPTER.sub("", plain(heading), count=1)


# ---------------------------------------------------------------- columns


@dataclass(frozen=True)
class Column:
    """The meaning of a column in a table of results.

    Attributes:
        role: ``metric``: figures of a version; ``unused``: figures that are understood but not
            kept, such as another percentile.
        metric: of the figures, or the one that an improvement's heading names.
        label: the version in the heading, as written there.
        percent: whether the heading says that its cells are percentages.
    """

    role: Literal["threads", "version", "improvement", "metric", "unused"]
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
_FIGURES = re.compile(rf"(?:(?P<label>.+?) )?(?:{_METRIC}|(?P<other>{_OTHER}))", re.IGNORECASE)


def column(heading: str) -> Column | None:
    """The meaning of a column by its heading; None if a word in it is not understood.

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
    match = _FIGURES.fullmatch(text)
    version = label(match["label"]) if match and match["label"] else None
    if match is None or (match["label"] and version is None):
        return None
    if match["other"]:
        return Column("unused", label=version)
    metric = next(name for name in _METRICS if match[name])
    return Column("metric", metric, version)


def _metric(text: str | None) -> Metric | None:
    return next((name for name in _METRICS if text and name == text.lower()), None)


_OF_SETTING = re.compile(
    "(?:service|node|ec2) type|服务类型|节点类型|ec2 类型|type|类型|类别|machine ip|机器 ip"
    "|item|项目|service|服务|instance count|实例数|node (?:size|quantity|storage)"
    "|节点(?:规格|数量|存储)|name|名称|deployment instance|部署实例|value|值|count|数量"
    "|software(?: name)?|软件(?:名称)?|(?:software )?version|(?:软件)?版本|component|组件"
    "|git ?hash",
    re.IGNORECASE,
)


_RESULT = re.compile(
    rf"qps|tps|tpmc|tpmtotal|p[0-9]{{2}}|{_LATENCY}|throughput|吞吐", re.IGNORECASE
)


def is_of_setting(table: Sequence[Sequence[str]]) -> bool:
    """Whether a table describes the test environment (hosts, software, hashes), not results.

    >>> is_of_setting([["Item", "Value"], ["CPU", "16"]]), is_of_setting([["Item"], ["QPS"]])
    (True, False)
    """
    headings, *rows = table
    return all(_OF_SETTING.fullmatch(plain(heading)) for heading in headings) and not any(
        names_result(cell) for row in rows for cell in row
    )


def names_result(text: str) -> bool:
    """Whether a text contains the name of a metric: ``QPS``, ``95% latency``."""
    return _RESULT.search(text) is not None


# ---------------------------------------------------------------- other words

_BENCHMARK = re.compile(
    "(?P<sysbench>sysbench)|(?P<tpcc>tpc-?c)|ch-?bench|tpc-?[a-z]|ycsb", re.IGNORECASE
)
_UNIT = re.compile(
    r"\bin (?:units of |tens of |hundreds of )*(?:thousand|million|[km]\b)|\bunits?\b|单位"
    r"|(?:×|x|\*) ?1,?000"
    r"|(?:qps|tps|tpmc)[ (:,]{0,3}(?:[km]\b|[百千万亿])|\b[km]-?(?:qps|tps|tpmc)",
    re.IGNORECASE,
)
_OTHER_LETTERS = (
    "[\u0400-\u052f\u0590-\u06ff\u0900-\u0e7f\u1100-\u11ff\u3041-\u30ff\u3131-\u318e"
    "\uac00-\ud7a3\uff66-\uff9f]"
)
_MOST_OTHER_LETTERS = 0.05  # share in a text in English or Chinese, which may quote a name


def is_other_benchmark(heading: str, kind: PageKind) -> bool:
    """Whether a heading names another benchmark than its page's.

    >>> is_other_benchmark("CH-benCHmark", "tpcc"), is_other_benchmark("Second setting", "tpcc")
    (True, False)
    """
    return any(not match[kind] for match in _BENCHMARK.finditer(heading))


def says_unit(text: str) -> bool:
    """Whether a text names the unit of printed figures: ``QPS in thousands``, ``单位：万``."""
    return _UNIT.search(plain(text)) is not None


def is_other_language(text: str) -> bool:
    """Whether a text is in a script other than those of English and Chinese.

    >>> is_other_language("ポイントセレクト"), is_other_language("点查")
    (True, False)
    """
    letters = sum(map(str.isalpha, text))
    return len(re.findall(_OTHER_LETTERS, text)) > _MOST_OTHER_LETTERS * letters
