"""Finds sentences, workloads, numbers and times in published pages, in English and Chinese.

A page in one language uses words of the other (``Update Index 性能``), so every rule knows both.
Patterns are ASCII, so that an English word ends next to a Chinese character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

FLAGS = re.IGNORECASE | re.ASCII
# Not Unicode's NFKC: that makes 150² to 1502.
_PLAIN = str.maketrans(
    {chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212\ufe63", "-")
)
_QUOTES = "\"'\u2018\u2019\u201c\u201d"


def plain(text: str) -> str:
    """One line of plain characters: no full width, one kind of minus and space, no outer quotes.

    A figure can be found again in its line of the page if that line is made plain as well.
    """
    return " ".join(text.translate(_PLAIN).split()).strip(_QUOTES).strip()


# ---------------------------------------------------------------- sentences

# A full stop ends a sentence only before a space or Chinese, not in "v5.1.1". A row of them is
# tried once, as a whole: from each of them again it would take the square of its length.
_END = re.compile(r"[。！？；]+[”’」』）)]*|(?<![.!?])[.!?]++[\"”’)）]*+(?=\s|\Z|[\u4e00-\u9fff])")
_ABBREVIATION = re.compile(
    r"(?:\A|[\s(（])(?:vs|e\.g|i\.e|approx|fig|cf|ver|incl|resp|ca)\Z", FLAGS
)


_MOST_CHARACTERS = 2000  # of a sentence; longer text is not a sentence, and slow to read


def sentences(text: str) -> Iterator[str]:
    """The sentences of a paragraph in order, each with its final punctuation.

    >>> list(sentences("It compares v5.1.1 vs. v5.0. Both are new."))
    ['It compares v5.1.1 vs. v5.0.', 'Both are new.']
    """
    begins = [0]
    for end in _END.finditer(text):
        before = text[max(end.start() - 8, 0) : end.start()]
        if not (end[0].startswith(".") and _ABBREVIATION.search(before)):
            begins.append(end.end())
    pieces = (text[begin:end].strip() for begin, end in pairwise([*begins, len(text)]))
    return (piece for piece in pieces if 0 < len(piece) <= _MOST_CHARACTERS)


# ---------------------------------------------------------------- workloads

_GAP = r"[ _-]*"
_NON_INDEX = rf"(?:non{_GAP}(?:index(?:ed)?|indices)|无索引|非索引)"
_BESIDE = r"(?=\s*(?:performance|workload|test|scenario|qps|tps|性能|场景|测试|负载))"
WORKLOADS: Mapping[str, str] = {
    "oltp_update_non_index": rf"updates?{_GAP}{_NON_INDEX}|更新\s*{_NON_INDEX}"
    rf"|{_NON_INDEX}{_GAP}(?:updates?|更新)",
    "oltp_update_index": rf"updates?{_GAP}index(?:ed)?|index(?:ed)?{_GAP}updates?"
    r"|更新\s*有?索引|有?索引\s*更新",
    "oltp_point_select": rf"point{_GAP}selects?|点查(?:询)?|点选",
    "oltp_read_only": rf"read{_GAP}only|只读",
    "oltp_write_only": rf"write{_GAP}only|只写",
    "oltp_read_write": r"read[ _/-]*(?:and[ _])?write|读写",
    "oltp_insert": rf"oltp_insert|inserts?{_BESIDE}|插入",
    "oltp_delete": rf"oltp_delete|(?:deletes?|删除){_BESIDE}",
    "tpcc": r"tpc-?c",
}
"""Pattern of each workload in sentences and headings, by name; the first that matches counts."""

_NO_LETTER_BEFORE = r"(?<![a-z0-9_-])(?:oltp[_ ])?"
_NO_LETTER_BEHIND = r"(?![a-z0-9_])"
_WORKLOAD = re.compile(
    f"{_NO_LETTER_BEFORE}(?:"
    + "|".join(f"(?P<{name}>{pattern})" for name, pattern in WORKLOADS.items())
    + f"){_NO_LETTER_BEHIND}",
    FLAGS,
)


class Named(NamedTuple):
    """A workload that a text names, and its position."""

    name: str
    start: int
    end: int


def workloads(text: str) -> tuple[Named, ...]:
    """The workloads that a text names, in order."""
    return tuple(
        Named(str(match.lastgroup), match.start(), match.end())
        for match in _WORKLOAD.finditer(text)
    )


# ---------------------------------------------------------------- numbers

_WORDS: Mapping[str, int] = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30,
    "sixty": 60, "一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8,
    "九": 9, "十": 10, "二十": 20, "三十": 30, "六十": 60,
}  # fmt: skip
_SCALES: Mapping[str, int] = {
    "": 1, "k": 10**3, "thousand": 10**3, "m": 10**6, "million": 10**6, "billion": 10**9,
    "千": 10**3, "万": 10**4, "百万": 10**6, "千万": 10**7, "亿": 10**8,
}  # fmt: skip
_INTEGER = r"\d{1,3}(?:,\d{3})+|\d+"
COUNT = (
    rf"(?<![\w.,-])(?P<count>{_INTEGER})(?P<fraction>\.\d+)?\s*"
    r"(?P<scale>千万|百万|[千万亿]|(?:thousand|million|billion|[km])\b)?"
)
"""Pattern of a count with its scale, such as ``10 million``; :func:`counted` converts its match."""


def counted(match: re.Match[str]) -> int | None:
    """The number that :data:`COUNT` matched, as in ``1000 万``; None if it is not an integer."""
    scale = _SCALES[(match["scale"] or "").lower()]
    whole = int(match["count"].replace(",", "")[:18]) * scale
    fraction = match["fraction"]
    if not fraction:
        return whole
    digits = fraction[1:19]
    more, rest = divmod(int(digits) * scale, 10 ** len(digits))
    return whole + more if rest == 0 else None


# Only characters of numbers: a full-width comma separates clauses.
_FULL_WIDTH = str.maketrans("０１２３４５６７８９％．＋－", "0123456789%.+-")
_PERCENT = re.compile(r"(?<=\d)[\s-]*(?:percent|per\s+cent|pct)\b", FLAGS)
_HUNDREDTHS = re.compile(
    r"百分之\s*(?P<sign>[-+−]?)\s*"
    rf"(?:(?P<digits>(?:{_INTEGER})(?:\.\d+)?)|(?P<words>[零〇一二两三四五六七八九十百点]+))",
    re.ASCII,
)
_DIGITS: Mapping[str, int] = {"零": 0, "〇": 0} | {
    word: _WORDS[word] for word in "一二两三四五六七八九"
}
_CHINESE = re.compile(
    r"(?:(?P<hundreds>[一二两三四五六七八九]?)百[零〇]?)?(?:(?P<tens>[一二三四五六七八九]?)十)?"
    r"(?P<ones>[零〇一二两三四五六七八九]?)(?:点(?P<fraction>[零〇一二三四五六七八九]+))?"
)


def with_percent_signs(text: str) -> str:
    """The text with every percentage written as ``50%``.

    >>> with_percent_signs("50 percent, ５０％, 百分之五十")
    '50%, 50%, 50%'
    """
    text = _PERCENT.sub("%", text.translate(_FULL_WIDTH))
    return _HUNDREDTHS.sub(_with_sign, text)


def _with_sign(found: re.Match[str]) -> str:
    number = found["digits"] or _chinese_number(found["words"])
    return found[0] if number is None else f"{found['sign']}{number}%"


def _chinese_number(words: str) -> str | None:
    """``二点五`` is 2.5, ``一百零五`` is 105; None if it is not a number below 1,000."""
    match = _CHINESE.fullmatch(words)
    if match is None or words.startswith("点"):
        return None
    whole = sum(
        scale * _DIGITS.get(match[group] or "", 1)
        for group, scale, sign in (("hundreds", 100, "百"), ("tens", 10, "十"))
        if sign in words
    ) + _DIGITS.get(match["ones"], 0)
    fraction = "".join(str(_DIGITS[digit]) for digit in match["fraction"] or "")
    return f"{whole}.{fraction}" if fraction else str(whole)


# ---------------------------------------------------------------- times

_DURATION = re.compile(
    rf"(?<![A-Za-z0-9.,_$-])(?P<number>{_INTEGER}|half an|"
    + "|".join(sorted((word for word in _WORDS if word.isascii()), key=len, reverse=True))
    + r"|[一两二三六]?十|[一两二三四五六七八九半])(?:\s*个)?(?:半)?[\s-]*"
    r"(?P<unit>seconds?\b|secs?\b|s\b|minutes?\b|mins?\b|hours?\b|hrs?\b|h\b|秒钟?|分钟|小时)",
    FLAGS,
)
_SECONDS: Mapping[str, int] = {"s": 1, "秒": 1, "m": 60, "分": 60, "h": 3600, "小": 3600}


class Duration(NamedTuple):
    """A time span that a text names, and its position."""

    seconds: int
    start: int
    end: int


def durations(text: str) -> tuple[Duration, ...]:
    """The time spans that a text names: ``5 minutes``, ``two hours``, ``30 分钟``, ``半小时``."""
    found: list[Duration] = []
    for match in _DURATION.finditer(text):
        number, unit = match["number"].lower(), _SECONDS[match["unit"][0].lower()]
        if "半" in match[0] or number == "half an":
            if number not in ("半", "half an"):
                continue  # one and a half; no page has it
            found.append(Duration(unit // 2, match.start(), match.end()))
        else:
            count = _WORDS[number] if number in _WORDS else int(number.replace(",", "")[:18])
            found.append(Duration(count * unit, match.start(), match.end()))
    return tuple(found)
