"""Splits a sentence of a published page into clauses: percentages and the words around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal, NamedTuple

from benchlab.published.reading.wording import FLAGS, workloads

Direction = Literal[-1, 0, 1]

# ---------------------------------------------------------------- tokens


class Token(NamedTuple):
    """A word or figure that decides how a clause is read, and its position.

    The kind is a key of ``_PATTERNS``, or ``workload``, which for ``all`` and ``some`` names none.
    """

    kind: str
    text: str
    start: int
    end: int
    workload: str | None = None


NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
FIGURE = rf"(?:(?P<low>{NUMBER})\s*(?:[-–—~～]|to|至|到)\s*)?%s(?P<high>{NUMBER})\s*[%%％]"
"""Pattern of a percentage or a range of two; ``%s`` stands for the pattern of the sign."""

# A percentage or a range, without named groups.
_ANY = rf"[-+−±]?\s*(?:{NUMBER}\s*(?:[-–—~～]|to|至|到)\s*)?{NUMBER}\s*[%％]"
_BEGINS = r"(?<![\w.])(?<!\d,)"
_LIMITS = (  # figures that bound a change or were not measured
    rf"(?:±|\+/-)\s*{NUMBER}\s*[%％](?:\s*[之以]内)?",
    rf"\bwithin\s+(?:a\s+range\s+of\s+)?{_ANY}",
    rf"(?:\bthresholds?|\bmargin\s+of\s+error|阈值)\s*(?:of|is|was|at|设?为|是|[=:：(（])?\s*{_ANY}",
    # "no change of 2% or more", "tell a change of 2% from none"
    (
        rf"\b(?:no|tell\s+an?|detect\s+an?|rule\s+out\s+an?)\s+(?:\w+\s+){{1,3}}"
        rf"(?:of|above|over|beyond|(?:more|larger|greater)\s+than)\s+{_ANY}(?:\s+or\s+\w+)?"
    ),
    rf"(?:[把将]|排除|证实|区分|检出)\s*{_ANY}(?=\s*(?:或更[大多高])?的?(?:变化|差异|提升|下降|退化))",
    (
        rf"(?:\bintervals?\b|\bCI\b|置信区间)\s*(?:of|is|[为=:：])?\s*[\[(（]?"
        rf"{_ANY}\s*(?:to|and|至|到|[,，~～–-])\s*{_ANY}"
    ),
    # one thread count against the others
    rf"{_BEGINS}{_ANY}\s+(?:against|relative\s+to)\s+the\s+other\b",
    rf"相对(?:于)?(?:其余|其他|其它)[^，,。；;%％\d]{{0,20}}{_ANY}",
    rf"\bslow(?:ed|s)?\s+down\s+(?:by\s+)?{_ANY}\s+on\s+purpose",
    (
        rf"{_BEGINS}{_ANY}[\s-]*(?:thresholds?\b|or\s+(?:more|less|above|below)\b"
        r"|or\s+(?:larg|small|great|high|low)er\b|[之以]内|的?阈值|或更[大小多少高低])"
    ),
)

_SIGN = r"(?P<sign>(?<![^\s(（:：为达约了])[-+−])?"  # elsewhere it is a dash
_OF_SOMETHING_ELSE = (  # "95% latency", "99% of the requests": the figure is no change
    r"(?!\s*(?:p?\d*\s*latency|延迟|时延|percentile|分位|confidence|置信|interval|CI\b"
    r"|of\s+(?:all\s+|the\s+)*(?:requests|queries|transactions|cases|rows|data|time|CPU|memory)))"
)
_PATTERNS: dict[str, tuple[str, ...]] = {
    "load": (  # what rises here is the load, not the performance
        (
            r"(?:higher|lower|greater|increas\w+|decreas\w+|growing|rising)\s+(?:the\s+)?"
            r"(?:number\s+of\s+|levels?\s+of\s+)?(?:concurren|threads?|loads?\b)\w*"
        ),
        (
            r"(?:concurrency|concurrent number|threads?|thread counts?|number of threads)\s+"
            r"(?:increases?|grows?|rises?|decreases?)"
        ),
        r"(?:并发数?|线程数?|负载)的?(?:增加|上升|提高|提升|升高|增长|降低|减少)",
    ),
    "limit": _LIMITS,
    "percent": (rf"{_BEGINS}{FIGURE % _SIGN}{_OF_SOMETHING_ELSE}",),
    "threads": (
        (
            r"(?<![\w.])\d[\d,]*(?:\s*(?:,|、|and|to|or|[-–~]|和|至|到)\s*\d[\d,]*)*\s*"
            r"(?:concurrent\s+)?(?:threads?\b|connections?\b|concurrenc\w+|个?线程|个?并发)"
        ),
        r"(?:concurrency|thread count|并发数?|线程数?)\s*(?:of|is|=|为|是)?\s*\d[\d,]*(?![\d.%])",
    ),
    "all": (
        r"\boverall\b|\ball\s+(?:of\s+the\s+)?(?:workloads|scenarios|tests)",
        r"整体|总体|所有(?:场景|负载|测试)",
    ),
    "some": (
        r"\b(?:other|the\s+rest|remaining)\b|write-heavy|read-heavy",
        r"其余|其他|其它|写负载|读负载",
    ),
    "same": (
        (
            r"(?:almost|basically|nearly|roughly|essentially|about|much|virtually)\s+(?:the\s+)?"
            r"(?:same|identical|equal|unchanged|equivalent|flat)"
        ),
        r"on\s+(?:a\s+)?par\b|comparable|remain(?:s|ed)?\s+(?:stable|unchanged|flat|the\s+same)",
        r"\bno\s+(?:\w+\s+)?(?:change|difference)s?\b",
        r"(?:基本|几乎|大致|大体)上?(?:一致|持平|相同|一样|不变|相当)|持平|相差无几|不相上下",
        r"(?:没有|无)(?:明显|显著)?的?(?:变化|差异|差别)",
    ),
    "strong_down": (r"\bunderperform\w*|劣于|不如|差于",),
    "strong_up": (r"\boutperform\w*|\bsurpass\w*|优于|领先|超过(?!后|\s*\d)",),
    "up": (
        r"\b(?:improv|increas|boost|enhanc|gain|grow|exceed)\w*",
        r"\b(?:better|higher|faster|superior|rose|rises?|risen|rising|grew)\b",
        r"提升|提高|上升|增加|增长|增强|改善|改进|高于|更好|更快|更高|快于|加快",
        r"(?:高|快|好)(?=[了出约]*\s*\d)",
    ),
    "down": (
        r"\b(?:reduc|decreas|declin|degrad|regress|deteriorat|diminish|worsen)\w*",
        r"\b(?:drop(?:s|ped|ping)?|lower\w*|slow(?:s|er|ed|down)|worse|fell|falls?|fallen)\b",
        r"\b(?:loss|losses|loses?|lost|inferior)\b",
        r"下降|降低|减少|下滑|回退|衰退|退化|变慢|更慢|更差|低于|慢于|减慢|损失|降幅",
        r"(?:低|慢|差|降)(?=[了出约]*\s*\d)",
    ),
    "differ": (
        r"\bdiffer(?:s|ed|ences?)?\b|\bchanges?\b|\bchanged\b|\bgaps?\b",
        r"差异|差距|变化|相差",
    ),
    "throughput": (r"\b(?:performance|throughput|qps|tps|tpmc)\b|性能|吞吐",),
    "elsewhat": (
        r"\blatenc\w+|\bp9\d\b|\b(?:response times?|cpu|memory|disk|errors?|usage)\b",
        r"\butili[sz]ation\b|\b(?:configurations?|parameters?)\b",
        r"\bper\s+(?:dollar|core|v?cpu|node|host)\b|\bcosts?\b|\bpric(?:e|es|ing)\b",
        r"每美元|性价比|成本|延迟|时延|响应时间|使用率|利用率|占用|内存|磁盘|配置|参数|错误",
    ),
    "break": (
        r"(?<!\d),|,(?!\d)|[，;；]|[:：](?!\d)",
        r"\b(?:but|while|whereas|however|although|though)\b|而|但是?|虽然",
    ),
    "and": (r"\band\b|且|和|与",),
}
_DIVIDERS = ("break", "and")
DIRECTIONS: dict[str, Direction] = {
    "up": 1, "strong_up": 1, "down": -1, "strong_down": -1, "same": 0, "differ": 0,
}  # fmt: skip
SUBJECTS = frozenset({"throughput", "strong_up", "strong_down", "elsewhat"})
"""Kinds of words that say what a figure is about: throughput, except for ``elsewhat``."""

_TOKEN = re.compile(
    "|".join(f"(?P<{kind}>{'|'.join(patterns)})" for kind, patterns in _PATTERNS.items()), FLAGS
)
_LIST_GAP = re.compile(r"(?:[\s,、，&和与及以~～–—-]|\b(?:and|or|to|the)\b|至|到)*", FLAGS)


def tokens(text: str) -> list[Token]:
    """The words and figures of a sentence that matter, in order."""
    named = [
        Token("workload", text[n.start : n.end], n.start, n.end, n.name) for n in workloads(text)
    ]
    taken = {position for token in named for position in range(token.start, token.end)}
    others = [
        Token(_kind(match), match[0], match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if match.start() not in taken
    ]
    return sorted((*named, *others), key=lambda token: token.start)


def _kind(match: re.Match[str]) -> str:
    return "workload" if match.lastgroup in ("all", "some") else str(match.lastgroup)


# ---------------------------------------------------------------- clauses


@dataclass
class Clause:
    """One clause: its percentages and what they are about.

    Attributes:
        figures: percentages, those of one list together.
        directions: words such as "improved" or "slower".
        subjects: words that say what is meant: throughput, or something else.
        label: whether it ends with a colon.
        kinds: the kinds of all its tokens.
    """

    figures: list[list[Token]] = field(default_factory=list)
    workloads: list[Token] = field(default_factory=list)
    directions: list[Token] = field(default_factory=list)
    subjects: list[Token] = field(default_factory=list)
    label: bool = False
    kinds: set[str] = field(default_factory=set)

    def add(self, token: Token, text: str) -> None:
        """Add one token of the sentence ``text``."""
        self.kinds.add(token.kind)
        if token.kind in SUBJECTS:
            self.subjects.append(token)
        if token.kind == "percent":
            last = self.figures[-1][-1] if self.figures else None
            if last and _LIST_GAP.fullmatch(text, last.end, token.start):
                self.figures[-1].append(token)
            else:
                self.figures.append([token])
        elif token.kind == "workload":
            self.workloads.append(token)
        elif token.kind in DIRECTIONS:
            self.directions.append(token)


def clauses(text: str, words: Sequence[Token]) -> list[Clause]:
    """Split a sentence into clauses.

    A comma or "and" inside a list of figures or workloads does not divide. Any other comma does,
    and "and" does if there is a figure or a direction on both sides of it.
    """
    found = [Clause()]
    for at, token in enumerate(words):
        if token.kind not in _DIVIDERS:
            found[-1].add(token, text)
        elif not _within_list(text, words, at) and (
            token.kind == "break" or (_is_said(found[-1].kinds) and _is_said(_rest(words, at)))
        ):
            found[-1].label = token.text in (":", "：")
            found.append(Clause())
    return found


def _within_list(text: str, words: Sequence[Token], at: int) -> bool:
    before = next((t for t in reversed(words[:at]) if t.kind not in _DIVIDERS), None)
    behind = next((t for t in words[at + 1 :] if t.kind not in _DIVIDERS), None)
    return (
        before is not None
        and behind is not None
        and before.kind == behind.kind
        and before.kind in ("percent", "workload")
        and _LIST_GAP.fullmatch(text, before.end, behind.start) is not None
    )


def _rest(words: Sequence[Token], at: int) -> set[str]:
    """The kinds of the tokens after one, up to the next break."""
    return {token.kind for token in takewhile(lambda t: t.kind != "break", words[at + 1 :])}


def _is_said(kinds: set[str]) -> bool:
    return bool(kinds & {"percent", *DIRECTIONS})
