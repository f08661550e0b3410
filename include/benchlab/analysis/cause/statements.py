"""Which statements became dearer, from what servers keep of them in pairs of diagnosis trials.

Times add up: what the statements of a transaction take together is all of the servers' time that
its client waits for. So each statement has a share of the change. Nothing is tested, as there are
two pairs of trials or so: a figure *stands out* where the sides are farther apart than the trials
of either side are from each other, in every pair. That is a hint.

Example:
    ``compared([Observed("baseline", some, 900), Observed("candidate", others, 850)]).changes[0]``
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import NamedTuple

from pydantic import TypeAdapter

from benchlab.engines.statements import Executed, Plan, PlanLine, Statements
from benchlab.plan.report_type import SIDES, Side

FILE = "statements.json"
LEAST = 0.01
"""The smallest change, as a fraction, that stands out."""
OTHER_PLANS = 0.1
"""Of the executions of a statement, so many by other plans are a change of its plan."""
TIME, EXECUTIONS = "seconds", "executions"
_PLACES = re.compile(r"\b(?:table|index|partition):[^,\s]*|\brange:\S*")


class Observed(NamedTuple):
    """What one diagnosis trial saw.

    Attributes:
        transactions: of its client; None where that did not say.
    """

    side: Side
    seen: Statements
    transactions: int | None


@dataclass(frozen=True)
class Figure:
    """A figure of one statement: ``seconds`` or another one of an execution, or ``executions`` of a
    transaction.

    Attributes:
        sides: the mean over the trials of each side.
        stands_out: whether the sides are farther apart than their trials.
    """

    name: str
    sides: Mapping[Side, float]
    stands_out: bool

    @property
    def pct(self) -> float | None:
        """The change in percent; None from zero."""
        before, after = (self.sides[side] for side in SIDES)
        return 100 * (after / before - 1) if before else None


@dataclass(frozen=True)
class PlanChange:
    """Another plan than before.

    Attributes:
        share: of the candidate's executions less the baseline's, those by the new plan.
        lines: the plan that became rarer and the one that became more frequent, as a difference:
            each line begins with ``-``, ``+`` or a space.
        gone, new: operators of one plan that the other does not have.
    """

    share: float
    lines: tuple[str, ...]
    gone: tuple[str, ...]
    new: tuple[str, ...]


@dataclass(frozen=True)
class StatementChange:
    """One statement on both sides.

    Attributes:
        text: without literals.
        seconds: what it took of a transaction, the mean over the trials of each side; a side that
            did not execute it is missing.
        figures: the time of an execution first, then its executions in a transaction.
        plan: None where the plans are the same, or were not kept.
        replayers: names of objects in the store, by side.
    """

    text: str
    seconds: Mapping[Side, float]
    figures: tuple[Figure, ...] = ()
    plan: PlanChange | None = None
    replayers: Mapping[Side, str] = field(default_factory=dict)

    @property
    def more_s(self) -> float:
        """By how much more of a transaction it takes on the candidate's side; negative: less."""
        before, after = (self.seconds.get(side, 0.0) for side in SIDES)
        return after - before

    def figure(self, name: str) -> Figure | None:
        """The figure of this name; None where it is not known on both sides."""
        return next((one for one in self.figures if one.name == name), None)


@dataclass(frozen=True)
class Compared:
    """The statements of a workload on both sides.

    Attributes:
        changes: those that took most of the change first.
        seconds: what all of them took of a transaction, by side.
        trials: of each side.
        has_plans: whether servers kept plans.
        untold: how many executions servers did not tell apart, by side.
        otherwise: whether servers and client were called otherwise than in the campaign's trials.
    """

    changes: tuple[StatementChange, ...]
    seconds: Mapping[Side, float]
    trials: int
    has_plans: bool
    untold: Mapping[Side, float]
    otherwise: bool = False

    @property
    def plans(self) -> tuple[StatementChange, ...]:
        """The statements with another plan."""
        return tuple(one for one in self.changes if one.plan is not None)

    def with_replayers(self, known: Mapping[str, Mapping[Side, str]]) -> Compared:
        """The same with names of objects, by text of the statement and side."""
        changes = (replace(one, replayers=known.get(one.text, {})) for one in self.changes)
        return replace(self, changes=tuple(changes))


FORM: TypeAdapter[Compared] = TypeAdapter(Compared)
"""How it is stored, in the file :data:`FILE`."""


def compared(
    looks: Sequence[Observed], *, has_plans: bool = True, otherwise: bool = False
) -> Compared | None:
    """Compare the statements of both sides; None where a side was not looked at.

    Where a client does not say how many transactions there were, all executions are one.
    """
    sides = {side: [look for look in looks if look.side == side] for side in SIDES}
    if not all(sides.values()):
        return None
    texts = dict.fromkeys(one.text for look in looks for one in look.seen.statements)
    changes = [_change(text, sides) for text in texts]
    return Compared(
        tuple(sorted(changes, key=lambda one: -abs(one.more_s))),
        {side: fmean(_total(look) for look in of_side) for side, of_side in sides.items()},
        min(map(len, sides.values())),
        has_plans,
        {side: sum(look.seen.untold for look in of_side) for side, of_side in sides.items()},
        otherwise,
    )


def _total(look: Observed) -> float:
    return sum(one.seconds for one in look.seen.statements) / _transactions(look)


def _transactions(look: Observed) -> float:
    return look.transactions or sum(one.executions for one in look.seen.statements) or 1.0


def _change(text: str, sides: Mapping[Side, Sequence[Observed]]) -> StatementChange:
    found = {
        side: [(look, one) for look in of_side for one in look.seen.statements if one.text == text]
        for side, of_side in sides.items()
    }
    seconds = {
        side: sum(one.seconds / _transactions(look) for look, one in of_side) / len(sides[side])
        for side, of_side in found.items()
        if of_side
    }
    if len(seconds) < len(SIDES):
        return StatementChange(text, seconds)
    executed = {side: [one for _, one in of_side] for side, of_side in found.items()}
    names = set.intersection(*(set(one.figures) for ones in executed.values() for one in ones))
    times = {
        side: [one.seconds / one.executions for one in ones] for side, ones in executed.items()
    }
    often = {
        side: [one.executions / _transactions(look) for look, one in of_side]
        for side, of_side in found.items()
    }
    taken = {
        name: {
            side: [one.figures[name] / one.executions for one in ones]
            for side, ones in executed.items()
        }
        for name in sorted(names)
    }
    figures = (_figure(*pair) for pair in {TIME: times, EXECUTIONS: often, **taken}.items())
    return StatementChange(text, seconds, tuple(figures), _other_plan(executed))


def _figure(name: str, values: Mapping[Side, Sequence[float]]) -> Figure:
    means = {side: fmean(of_side) for side, of_side in values.items()}
    return Figure(name, means, _stands_out(*(values[side] for side in SIDES)))


def _stands_out(baseline: Sequence[float], candidate: Sequence[float]) -> bool:
    """Whether the sides are farther apart than the trials of either; needs two of each."""
    if min(len(baseline), len(candidate)) < 2:
        return False
    apart = max(min(candidate) - max(baseline), min(baseline) - max(candidate))
    spread = max(max(one) - min(one) for one in (baseline, candidate))
    change = abs(fmean(candidate) - fmean(baseline))
    return apart > spread and change >= LEAST * fmean(baseline)


def _other_plan(executed: Mapping[Side, Sequence[Executed]]) -> PlanChange | None:
    """The change of a statement's plan; None where there is none, or a side has no plan.

    A new number of an operator, another estimate and another order of conditions are none.
    """
    shares = {side: [_shares(one) for one in ones] for side, ones in executed.items()}
    if not all(own for of_side in shares.values() for own in of_side):
        return None
    plans = {
        _form(plan): plan for ones in executed.values() for one in ones for plan, _ in one.plans
    }
    before, after = (
        {form: [own.get(form, 0.0) for own in shares[side]] for form in plans} for side in SIDES
    )
    more = {form: fmean(after[form]) - fmean(before[form]) for form in plans}
    new, old = max(plans, key=more.__getitem__), min(plans, key=more.__getitem__)
    if min(after[new]) - max(before[new]) < OTHER_PLANS:
        return None
    gone, added = (_operators(plans[one]) for one in (old, new))
    return PlanChange(
        more[new],
        _difference(plans[old], plans[new]),
        tuple(name for name in gone if name not in added),
        tuple(name for name in added if name not in gone),
    )


_Form = tuple[tuple[str, ...], ...]


def _form(plan: Plan) -> _Form:
    """What makes a plan another one: its operators, where they run, and what they read."""
    return tuple((line.operator, line.task, *_PLACES.findall(line.info)) for line in plan)


def _shares(one: Executed) -> dict[_Form, float]:
    whole = sum(executions for _, executions in one.plans)
    found: dict[_Form, float] = {}
    for plan, executions in one.plans:
        found[_form(plan)] = found.get(_form(plan), 0.0) + executions / whole
    return found


def _operators(plan: Plan) -> list[str]:
    """The names of a plan's operators, each once: ``TableRangeScan``."""
    return [*dict.fromkeys(re.sub(r"^\W+|\(.*", "", line.operator) for line in plan)]


def _difference(old: Plan, new: Plan) -> tuple[str, ...]:
    ours, theirs = ([_written(line) for line in plan] for plan in (old, new))
    lines = difflib.unified_diff(ours, theirs, n=len(ours), lineterm="")
    _, _, _, *shown = lines  # behind the names of files and places in them
    return tuple(f"{line[0]} {line[1:]}" for line in shown)


def _written(line: PlanLine) -> str:
    return " ".join(part for part in line if part)
