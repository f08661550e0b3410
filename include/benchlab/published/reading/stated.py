"""The changes that the sentences of a page state, each with the workload it is about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from benchlab.published.reading.model import Claim, PublishedReport, StatedChange, Workload
from benchlab.published.reading.sentences import names_extreme
from benchlab.published.reading.version_names import VERSION, same_version
from benchlab.published.reading.wording import with_percent_signs, workloads

# A sentence that only bounds a change from above or below.
_LIMIT = re.compile(
    r"(?:\b(?:at least|more than|less than|over|above|under|below)|至少|超过|不到|不足)"
    r"\s*[\d.]+\s*%"
    r"|%\s*(?:以上|以下)",
    re.IGNORECASE,
)
# An estimate with an interval weights the rows; their mean is a different figure. So do the figures
# beside a count of verdicts, as in the answer of a report of Benchlab: "1 regression (Insert -3%)".
_ESTIMATE = re.compile(
    r"\b(?:estimated?|intervals?)\b|\b\d+ (?:regression|improvement|false alarm)s? \("
    r"|置信区间|估计值|\d+ 个(?:退化|提升|误报)（",
    re.IGNORECASE,
)
# What changed in both versions is not a change from one to the other.
_IN_BOTH = re.compile(
    r"\b(?:in|on|for|with|under)\s+(?:both|either|each)\s+(?:of\s+the\s+)?(?:versions?|releases?)\b"
    r"|(?:两个|各|每个)版本(?:上|中|下)?(?:都|均)",
    re.IGNORECASE,
)
# A sentence whose subject is the throughput itself.
_NOTHING_ELSE = re.compile(
    r"\W*(?:(?:overall|on average|in total|in summary|as a result|in general|(?:the|our|test)?\s*"
    r"results?\s+(?:show|shows|indicate)(?:\s+that)?|we\s+(?:see|measured|observed))\W+)*"
    r"(?:(?:the|its|this|that|an?|overall|average|mean|total|measured|query|write|read|resulting)\s+)*"
    r"(?:(?:performance|throughput|qps|tps|tpm-?c|improvement|change|gain|it|this|that)\s+)?"
    r"(?:(?:is|was|are|has|have|had|been|be|by|of|of about|about|approximately|\w+ly)\s+)*"
    r"(?:[-+−]?\d|improv|increas|reduc|decreas|drop|fell|fall|rose|ris|declin|degrad|regress|grew|grow"
    r"|chang|lower|higher|better|worse|slow|fast|almost|unchanged|the same|comparable)"
    r"|\W*(?:(?:测试)?结果(?:显示|表明)|总体|整体|平均|综合|而言|来看|[，,：:\s])*"
    r"(?:性能|吞吐量?|QPS|TPS|tpmC)?(?:上|有所|有|均|都|大幅|明显|显著|小幅|略有|略|基本|约|了|\s)*"
    r"(?:[-+−]?\d|提升|提高|上升|增加|增长|改善|下降|降低|减少|下滑|回退|退化|变化|持平|一致|差异|高|低|快|慢)",
    re.IGNORECASE,
)
_VERSION = rf"(?:TiDB\s*)?({VERSION})"
# The version that a sentence compares with.
_REFERENCES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:compared (?:with|to)|\bthan|\bover|\bagainst|relative to)\s+(?:th(?:at|ose) (?:of|in) )?{_VERSION}",  # noqa: E501
        rf"[与和跟较]\s*{_VERSION}\s*(?:版本)?\s*(?:相比|比较)",
        rf"(?:相比于?|相较于?|相对于?|对比|比|较)\s*{_VERSION}",
    )
)


@dataclass(frozen=True)
class Stated:
    """One change that a sentence states about a workload of the page.

    Attributes:
        section: the workload whose section the sentence is in; for title, summary and overview the
            page's workload if it has only one, else None.
        of_all_rows: whether it is one number or direction for all thread counts that can be checked
            against the rows: not the end of a range, not an estimate with an interval, and about
            nothing but the workload's versions.
    """

    workload: Workload
    section: Workload | None
    claim: Claim
    change: StatedChange
    of_all_rows: bool

    @property
    def value(self) -> Decimal | None:
        """The change in percent, negative for a reduction; None if only a direction is stated."""
        if self.change.pct is None:
            return None
        return self.change.pct.value * (-1 if self.change.direction < 0 else 1)

    @property
    def where(self) -> str:
        """Line and part of the page."""
        return place(self.claim, self.section)


def stated(report: PublishedReport) -> Iterator[Stated]:
    """All changes whose workload is known, in the page's order, title and overview first.

    A sentence that names no workload is about that of its section, or the only one of the page.
    Sentences that compare the baseline with the candidate are left out, because their percentages
    have another base, and so are those that compare something else within both versions.

    >>> [(change.where, change.value) for change in stated(report)]  # doctest: +SKIP
    [('line 12, overview', Decimal('-4.27'))]
    """
    only = report.workloads[0] if len(report.workloads) == 1 else None
    said = [(claim, only) for claim in report.claims]
    said += [(claim, section) for section in report.workloads for claim in section.claims]
    for claim, around in said:
        if not _IN_BOTH.search(claim.text):
            yield from _stated(claim, around, report)


def _stated(claim: Claim, around: Workload | None, report: PublishedReport) -> Iterator[Stated]:
    beside = Counter(_kind(change) for change in claim.changes)
    text = with_percent_signs(claim.text)
    is_whole = not (_LIMIT.search(text) or _ESTIMATE.search(text) or names_extreme(claim.text))
    backwards: dict[str, bool] = {}  # by workload, for a sentence may name many
    for change in claim.changes:
        workload = _workload_of(change, around, report)
        if workload is None:
            continue
        if workload.name not in backwards:
            backwards[workload.name] = _reversed(claim, workload, report)
        if not backwards[workload.name]:
            single = change.threads is None and beside[_kind(change)] == 1
            whole = is_whole and single and _is_about(workload, claim)
            yield Stated(workload, around, claim, change, whole)


def _kind(change: StatedChange) -> tuple[str | None, int | None, bool]:
    return change.workload, change.threads, change.pct is None


def _is_about(workload: Workload, claim: Claim) -> bool:
    """Whether the sentence names the workload or a version, or nothing else that changed."""
    return (
        bool(claim.versions)
        or any(named.name == workload.name for named in workloads(claim.text))
        or _NOTHING_ELSE.match(with_percent_signs(claim.text)) is not None
    )


def _workload_of(
    change: StatedChange, around: Workload | None, report: PublishedReport
) -> Workload | None:
    """The change's workload; None if none is named or near, or if the name is ambiguous."""
    if around and change.workload in (None, around.name):
        return around
    named = [workload for workload in report.workloads if workload.name == change.workload]
    return named[0] if len(named) == 1 else None


def published_headline(report: PublishedReport, workload: Workload) -> Stated | None:
    """The page's own number for all rows: from the workload's section, else from the overview."""
    return headline(one for one in stated(report) if one.workload is workload)


def headline(said: Iterable[Stated]) -> Stated | None:
    """The number for all rows among everything that is stated about one workload."""
    found = [one for one in said if one.of_all_rows and one.value is not None]
    return min(found, key=_rank, default=None)


def place(claim: Claim, workload: Workload | None = None) -> str:
    """Line and part of the page, as findings name it."""
    part = workload.heading if workload and claim.place == "section" else claim.place
    return f"line {claim.line}, {part}"


def _rank(one: Stated) -> int:
    if one.claim.place == "section" and one.section is one.workload:
        return 0
    return 1 + ("overview", "summary", "title", "section").index(one.claim.place)


def _reversed(claim: Claim, workload: Workload, report: PublishedReport) -> bool:
    candidates = {report.candidate, *workload.versions[1:]}
    baselines = {*report.versions[:-1], *workload.versions[:1]}
    references = [found[1] for pattern in _REFERENCES for found in pattern.finditer(claim.text)]
    return any(
        any(same_version(reference, version) for version in candidates)
        and not any(same_version(reference, version) for version in baselines)
        for reference in references
    )
