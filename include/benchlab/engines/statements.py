"""What servers keep of statements: how often each was executed, how long it took, by which plan.

No value of a row is in it: texts are those of which the servers themselves have removed the
literals, and plans lose theirs here, before anything is stored. Tables that differ by a number
only, as sysbench's do, are one: their statements are added up.

Example:
    ``database.statements()`` is a :class:`StatementSummary`: ``begin()`` before a client is
    started, ``read().statements[0].text`` after it has ended, then ``end()``.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

from benchlab.language import Said
from benchlab.plan.documents import Scalar
from benchlab.plan.fields.engines import Components

_IN_QUOTES = re.compile(r"(?<=[^\W\d])\d+(?=`)")
# From the first quote to the last one, or to the end: a literal may have quotes in it.
_TEXT = re.compile(r'(["\']).*\1|["\'].*', re.DOTALL)
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|\d+(\.\d+)?([eE][+-]?\d+)?")
_MANY = re.compile(r"\?([ ,]+\?)+")
# What the batch mode of the client writes for a line feed, a tab, a NUL and a backslash.
_ESCAPES = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}


class PlanLine(NamedTuple):
    """One operator of a plan.

    Example:
        ``PlanLine("└─TableRangeScan", "cop[tikv]", "table:sbtest?, range:[?,?]")``.

    Attributes:
        operator: behind the lines that lead to it from the one above, without its number.
        task: where it runs.
        info: what it works on, without literals.
    """

    operator: str
    task: str
    info: str


Plan = tuple[PlanLine, ...]


@dataclass(frozen=True)
class Executed:
    """One statement.

    Attributes:
        text: without literals.
        executions: how often it was executed.
        seconds: all executions together.
        figures: what they took together, by name: ``rows_examined``; what a version does not keep
            is missing.
        plans: the executions by plan; empty where the server keeps none.
    """

    text: str
    executions: float
    seconds: float
    figures: Mapping[str, float]
    plans: tuple[tuple[Plan, float], ...] = ()


@dataclass(frozen=True)
class Statements:
    """All statements in the schema of the dataset.

    Attributes:
        untold: how many executions the server no longer tells apart, as it had too many statements.
    """

    statements: tuple[Executed, ...]
    untold: float


class StatementSummary(Protocol):
    """How one side's servers are asked what statements take.

    Attributes:
        items: what its servers have to be configured with meanwhile.
        client_options: what sysbench has to be called with meanwhile.
        keeps_plans: whether it has the plans of statements.
    """

    items: ClassVar[Components]
    client_options: ClassVar[Mapping[str, Scalar]]
    keeps_plans: ClassVar[bool]

    def lacking(self, client: str) -> Said | None:
        """Why there is none of this version, or of what this client sends; None if there is.

        Args:
            client: the first word of its command.
        """

    def begin(self) -> None:
        """Empty it, and let the servers keep all that follows.

        Raises:
            BenchlabError: they refuse, or do not answer.
        """

    def read(self) -> Statements:
        """What was executed since; of a cluster all servers together.

        Raises:
            BenchlabError: they do not answer.
        """

    def end(self) -> None:
        """Undo what :meth:`begin` set, also that of an earlier process; does nothing twice.

        Raises:
            BenchlabError: the servers do not answer.
        """

    def replayer(self, text: str) -> bytes | None:
        """What the developers of the server need to see a plan of a statement again: an archive.

        Args:
            text: of a statement that :meth:`read` has returned.

        Returns:
            None where there is none, for whatever reason: nothing depends on it.
        """


def shape(text: str) -> str:
    """A statement whose tables and columns have no numbers at the end.

    Example:
        ``shape("select `c` from `sbtest4` where `id` = ?")`` has `` `sbtest?` ``.
    """
    return _IN_QUOTES.sub("?", " ".join(text.split()))


def without_literals(info: str) -> str:
    """What an operator works on, with ``?`` for each number and text.

    Example:
        ``without_literals('range:[999,1098], eq(t.a, "x")')`` is ``range:[?], eq(t.a, ?)``.
    """
    return _MANY.sub("?", _NUMBER.sub("?", _TEXT.sub("?", info)))


def unescaped(cell: str) -> str:
    """A cell as the server sent it, before the client wrote it on one line."""
    return re.sub(r"\\([nt0\\])", lambda match: _ESCAPES[match[1]], cell)


def added_up(executed: Iterable[Executed]) -> tuple[Executed, ...]:
    """Statements of one shape as one, those that took longest first.

    A figure that one of them lacks is missing.
    """
    alike = defaultdict[str, list[Executed]](list)
    for one in executed:
        alike[shape(one.text)].append(one)
    found = []
    for text, ones in alike.items():
        plans = defaultdict[Plan, float](float)
        for plan, executions in (pair for one in ones for pair in one.plans):
            plans[plan] += executions
        known = set.intersection(*(set(one.figures) for one in ones))
        found.append(
            Executed(
                text,
                sum(one.executions for one in ones),
                sum(one.seconds for one in ones),
                {name: sum(one.figures[name] for one in ones) for name in sorted(known)},
                tuple(sorted(plans.items(), key=lambda pair: -pair[1])),
            )
        )
    return tuple(sorted(found, key=lambda one: -one.seconds))
