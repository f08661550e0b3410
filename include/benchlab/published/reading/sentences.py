"""What the sentences of a published page say about changes.

A sentence is read clause by clause. A clause has percentages, words of direction and workloads, or
takes what it lacks from the clause before it: in "Point Select improved by 2%, Update Index by 3%"
both improved. What a sentence does not say is not guessed:

* Changes of latency, errors or CPU are not changes of throughput and are left out. If a clause has
  words for both, the nearest one before the figure decides; a label ("p95 latency: ...") applies
  to everything after it, until throughput is named again.
* A threshold, the ends of an interval and a denied figure ("no loss of 2% or more") do not count.
* "other scenarios" and "write-heavy workloads" name no workload: the change's workload is None.
* A direction alone is left out if the sentence gives figures for the same workload.
* The word decides the direction: "v1 is slower than v2" is a reduction, whichever is older.
* A range ("2% to 4%") gives two changes, its ends.
* "50 percent", ``５０％`` and ``百分之五十`` are 50 %.
* "2.5 times" is not a percentage: only the direction is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from benchlab.published.reading import version_names
from benchlab.published.reading.clauses import (
    DIRECTIONS,
    FIGURE,
    Clause,
    Direction,
    Token,
    clauses,
    tokens,
)
from benchlab.published.reading.document import Element
from benchlab.published.reading.model import Claim, Place, Printed, StatedChange
from benchlab.published.reading.wording import FLAGS, sentences, with_percent_signs

_WITH_SENTENCES = {False: ("paragraph", "item"), True: ("paragraph", "item", "heading")}


def claims(elements: Sequence[Element], place: Place, workload: str | None) -> tuple[Claim, ...]:
    """The sentences in a part of the page that state a change, in order.

    Args:
        elements: its elements; paragraphs, items and the title are read.
        workload: what the part is about; used for sentences that name none.
    """
    return tuple(
        Claim(text, element.line, place, version_names.in_sentence(text), changes)
        for element in elements
        if element.kind in _WITH_SENTENCES[place == "title"] and not element.commented
        for text in sentences(element.text)
        if (changes := changes_in(text, workload))
    )


_EXTREME = re.compile(
    r"highest|largest|biggest|at (?:the )?most|maximum|\bmax\b|peak|up to|lowest|smallest|minimum"
    r"|最高|最大|最多|高达|峰值|最低|最小",
    FLAGS,
)


def names_extreme(text: str) -> bool:
    """Whether the sentence is about a largest or smallest change, which is that of one row.

    >>> names_extreme("The throughput improves by up to 31%.")
    True
    """
    return _EXTREME.search(text) is not None


# ---------------------------------------------------------------- changes


def changes_in(text: str, workload: str | None) -> tuple[StatedChange, ...]:
    """The changes that one sentence states; ``workload`` is used where it names none.

    >>> changes_in("Point Select dropped by 4.3%.", None)[0].direction
    -1
    """
    text = with_percent_signs(text)
    words = tokens(text)
    if not any(token.kind in DIRECTIONS for token in words):
        return ()
    reader = _Reader(text, words, workload)
    for clause in clauses(text, words):
        reader.read(clause)
    with_figure = {change.workload for change in reader.figures}
    alone = [change for change in reader.directions if change.workload not in with_figure]
    return tuple(dict.fromkeys((*reader.figures, *alone)))


class _Reader:
    """Reads one clause after another, and remembers what the next one may leave out."""

    def __init__(self, text: str, words: Sequence[Token], workload: str | None) -> None:
        self.text = text
        self.threads = _threads(text, words)
        self.figures: list[StatedChange] = []
        self.directions: list[StatedChange] = []
        self.workloads: tuple[str | None, ...] = (workload,)
        self.direction: Direction | None = None
        self.of_throughput = True
        self.below_label = False

    def read(self, clause: Clause) -> None:
        """Collect the changes of one clause."""
        subjects = self._subjects(clause)
        said = clause.figures[-1] if clause.figures else clause.directions
        about = self._is_of_throughput(subjects, said)
        figures = [self._is_of_throughput(subjects, group) for group in clause.figures]
        self.of_throughput = about
        if clause.label and (subjects or clause.workloads):
            self.below_label = bool(subjects) and not about
            about = self.of_throughput = not self.below_label
        if not about and not any(figures):
            return
        if clause.workloads:
            self.workloads = tuple(dict.fromkeys(token.workload for token in clause.workloads))
        if clause.figures:
            self._read_figures(clause, figures)
        elif clause.directions:
            self._read_directions(clause)

    def _subjects(self, clause: Clause) -> Sequence[Token]:
        """The words that say what is meant; under a label, "performance" alone does not."""
        if not self.below_label:
            return clause.subjects
        named = [
            token
            for token in clause.subjects
            if token.kind == "elsewhat"
            or (token.kind == "throughput" and not _GENERAL.fullmatch(token.text))
        ]
        self.below_label = all(token.kind == "elsewhat" for token in named)
        return named

    def _is_of_throughput(self, subjects: Sequence[Token], said: Sequence[Token]) -> bool:
        """Whether figures or words of direction are about throughput.

        The word right after them decides ("9% higher latency"), or else the nearest before them, or
        the first one; without any, it is as in the clause before.
        """
        begin, end = (said[0].start, said[-1].end) if said else (len(self.text),) * 2
        before = [token for token in subjects if token.end <= begin]
        behind = [
            token
            for token in subjects
            if token.start >= end and _RIGHT_BEHIND.fullmatch(self.text, end, token.start)
        ]
        decisive = (*behind[:1], *before[-1:], *subjects[:1])
        return decisive[0].kind != "elsewhat" if decisive else self.of_throughput

    def _read_figures(self, clause: Clause, of_throughput: Sequence[bool]) -> None:
        flat = [token for group in clause.figures for token in group]
        of = iter(self._workloads_of(clause, flat))
        for at, group in enumerate(clause.figures):
            begin = clause.figures[at - 1][-1].end if at else 0
            last = at + 1 == len(clause.figures)
            end = len(self.text) if last else clause.figures[at + 1][0].start
            between = [t for t in clause.directions if begin <= t.start < end]
            word = self._word_of(group, between)
            self.direction = self.direction if word is None else self._said(word)
            denied = word is not None and self._is_negated(word)
            for token in group:
                workloads = next(of)
                stated = of_throughput[at] and (not denied or token.text[0] in "+-−")
                if stated and self.direction is not None:
                    self.figures.extend(self._changes(token, workloads, self.direction))

    def _workloads_of(
        self, clause: Clause, figures: Sequence[Token]
    ) -> Iterator[tuple[str | None, ...]]:
        """The workloads that each figure is about."""
        if len(clause.workloads) == len(figures):
            yield from ((token.workload,) for token in clause.workloads)
            return
        for figure in figures:
            before = [t.workload for t in clause.workloads if t.end <= figure.start]
            if len(figures) == 1 or len(self.workloads) == 1 or not before:
                yield self.workloads
            else:
                yield (before[-1],)

    def _word_of(self, group: Sequence[Token], near: Sequence[Token]) -> Token | None:
        """The word of direction for figures: right after them, else before, else after them."""
        behind = [token for token in near if token.start >= group[-1].end]
        before = [token for token in near if token.end <= group[0].start]
        if behind and _RIGHT_BEHIND.fullmatch(self.text, group[-1].end, behind[0].start):
            return behind[0]
        return next(iter((*before[-1:], *behind[:1])), None)

    def _said(self, token: Token) -> Direction:
        return 0 if self._is_negated(token) else DIRECTIONS[token.kind]

    def _is_negated(self, token: Token) -> bool:
        return _NEGATION.search(self.text[max(token.start - 30, 0) : token.start]) is not None

    def _changes(
        self, figure: Token, of: tuple[str | None, ...], direction: Direction
    ) -> Iterator[StatedChange]:
        match = _FIGURE.fullmatch(figure.text)
        assert match is not None  # noqa: S101 - it was found by the same pattern
        if match["sign"] in ("-", "−"):
            direction = -1
        for number in (match["low"], match["high"]):
            if number is not None:
                for workload in of:
                    threads = self.threads.get(figure.start)
                    yield StatedChange(workload, threads, Printed(number), direction)

    def _read_directions(self, clause: Clause) -> None:
        """A clause without figures: a claim if it is about performance, else only remembered."""
        said = {self._said(t) for t in clause.directions if t.kind != "differ"}
        self.direction = direction = said.pop() if len(said) == 1 else 0
        if all(token.kind == "differ" for token in clause.directions):
            return  # "changed" alone claims nothing
        if clause.kinds & {"throughput", "workload", "strong_up", "strong_down"}:
            self.directions.extend(
                StatedChange(name, None, None, direction) for name in self.workloads
            )


_GENERAL = re.compile("performance|性能", FLAGS)
_NEGATION = re.compile(
    r"(?:\b(?:not(?!\s+only\b)|no|without|never|neither|nor)\b|n't)\s*(?:\w+\s+){0,2}\Z"
    r"|(?:未|没有|无|并不|不)(?:明显|显著|出现|任何|有所|见|存在|发生)*\Z",
    FLAGS,
)
# "5% better", "5% QPS improvement", but not "5% at higher"
_RIGHT_BEHIND = re.compile(
    r"\s*的?(?:\s*(?!(?:at|in|for|under|with|on|by|when|as|to|than|and|or|but|from)\b)[a-z-]+)"
    r"{0,2}\s*",
    FLAGS,
)
_FIGURE = re.compile(FIGURE % "(?P<sign>[-+−])?", FLAGS)
_OVER_ALL = re.compile(r"\boverall\b|\baverage\b|\bmean\b|平均|整体|总体", FLAGS)


def _threads(text: str, words: Sequence[Token]) -> dict[int, int]:
    """The thread count of each percentage, by the position where the percentage begins.

    If the first thread count precedes the first percentage, each percentage belongs to the thread
    count before it; otherwise to the one after it and before the next percentage.
    """
    figures = [token for token in words if token.kind == "percent"]
    counts = [token for token in words if token.kind == "threads"]
    if not figures or not counts:
        return {}
    found: dict[int, int] = {}
    if counts[0].start < figures[0].start:
        for figure in figures:
            last = [token for token in counts if token.end <= figure.start][-1]
            if not _OVER_ALL.search(text, last.end, figure.start):
                found |= _thread_count(last, figure)
        return found
    ends = [token.start for token in figures[1:]] + [len(text)]
    for figure, end in zip(figures, ends, strict=True):
        between = [token for token in counts if figure.end <= token.start < end]
        if len(between) == 1:
            found |= _thread_count(between[0], figure)
    return found


def _thread_count(token: Token, figure: Token) -> dict[int, int]:
    """The single count; empty for several or a range: a change over all is not one at each."""
    numbers = re.findall(r"\d+", re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", token.text), re.ASCII)
    return {figure.start: int(numbers[0])} if len(numbers) == 1 else {}
