"""What a report says on the statements of a workload that diagnosis trials looked at.

Example:
    ``in_short(report, "oltp_update_index")`` is ``["no plan changed", "most of it in `update
    sbtest? set k = k + ? where id = ?` (of an execution, rows examined 1, then 600)"]``.
"""

from __future__ import annotations

from typing import NamedTuple

from benchlab.analysis.cause.statements import (
    EXECUTIONS,
    TIME,
    Compared,
    Figure,
    PlanChange,
    StatementChange,
)
from benchlab.language import Said
from benchlab.language.names import items, plain, title_of
from benchlab.plan.report_type import SIDES
from benchlab.report.model.report import Report
from benchlab.report.sentences import wording
from benchlab.results import diagnosis

MOST_STATEMENTS, MOST_FIGURES = 10, 4
_LONGEST, _LONGEST_IN_SHORT = 160, 60


class PlanTold(NamedTuple):
    """One plan that changed: the sentence, and its difference."""

    sentence: str
    difference: str


class Told(NamedTuple):
    """One workload: its sentence, the rows of its table, and what else there is to say."""

    sentence: str
    rows: list[list[str]]
    more: str
    plans: list[PlanTold]
    notes: list[str]


def workloads(report: Report) -> list[Told]:
    """A part for each workload whose statements were looked at."""
    return [_told(report, workload, found) for workload, found in report.causes.statements.items()]


def columns(report: Report) -> list[str]:
    """The headings of a table."""
    say = report.language.say
    labels = wording.labels(report).values()
    return [
        say("column-statement"),
        *(say("column-of-transaction", side=label) for label in labels),
        *(say(f"column-{name}") for name in ("execution-time", "executions", "stands-out")),
    ]


def lacking(report: Report) -> list[str]:
    """What was not looked at, and why, each once."""
    return [plain(report.language.text(why)) for why in _whys(report)]


def _whys(report: Report, workload: str | None = None) -> list[Said]:
    known = diagnosis.found(report.campaign.environment)
    return known.why_not(["statements"], workload) if known else []


def in_short(report: Report, workload: str) -> list[str]:
    """Whether a plan changed, and the statement that took most of the change, as clauses.

    Or why neither is known; empty where the workload was not to be looked at.
    """
    say, said = report.language.say, list[str]()
    if (found := report.causes.statements.get(workload)) is None:
        whys = _whys(report, workload)[:1]
        return [say("statements-not", why=plain(report.language.text(why))) for why in whys]
    if found.plans:
        first = found.plans[0].plan
        change = _operators(report, first) if first else ""
        said.append(say("statements-plans", count=len(found.plans), change=change))
    elif found.has_plans:
        said.append(say("statements-no-plan"))
    if (most := _most(found)) is not None:
        figures = [_figure(report, one) for one in most.figures[2:] if one.stands_out]
        taken = wording.few(figures, report.language, 2)
        named = _cut(most.text, _LONGEST_IN_SHORT)
        which = "statements-most-taken" if figures else "statements-most"
        said.append(say(which, statement=named, figures=taken))
    return said


def _told(report: Report, workload: str, found: Compared) -> Told:
    say = report.language.say
    before, after = (_time(report, found.seconds[side]) for side in SIDES)
    most = _most(found)
    shown = found.changes[:MOST_STATEMENTS]
    more = len(found.changes) - len(shown)
    return Told(
        say(
            "statements-told" if most else "statements-spread",
            workload=title_of(workload),
            before=before,
            after=after,
            statement=_cut(most.text, _LONGEST) if most else "",
            more=_time(report, most.more_s, signed=True) if most else "",
        ),
        [_row(report, one) for one in shown],
        say("statements-more", more=more) if more else "",
        [_plan(report, one, one.plan) for one in found.plans if one.plan],
        _notes(report, found),
    )


def _most(found: Compared) -> StatementChange | None:
    """The statement with most of the change, if it stands out; None if the change is spread."""
    if not found.changes:
        return None
    first, *others = found.changes
    figures = (first.figure(name) for name in (TIME, EXECUTIONS))
    is_clear = not first.figures or any(one and one.stands_out for one in figures)
    return first if is_clear and abs(first.more_s) > sum(abs(o.more_s) for o in others) else None


def _row(report: Report, one: StatementChange) -> list[str]:
    shown = (one.figure(name) for name in (TIME, EXECUTIONS))
    taken = [_figure(report, figure) for figure in one.figures[2:] if figure.stands_out]
    return [
        _cut(one.text, _LONGEST),
        *(_time(report, one.seconds.get(side)) for side in SIDES),
        *(_change(report, figure) for figure in shown),
        wording.few(taken, report.language, MOST_FIGURES),
    ]


def _change(report: Report, figure: Figure | None) -> str:
    """In brackets where the sides are no farther apart than their trials."""
    change = report.numbers.change(figure.pct if figure else None)
    if figure is None or figure.stands_out:
        return change
    return report.language.say("statements-unclear", change=change)


def _figure(report: Report, one: Figure) -> str:
    name = report.language.say(f"statement-{one.name.replace('_', '-')}")
    before, after = (report.numbers.digits(one.sides[side], 3) for side in SIDES)
    return report.language.say("statements-figure", figure=name, before=before, after=after)


def _plan(report: Report, one: StatementChange, plan: PlanChange) -> PlanTold:
    say = report.language.say
    return PlanTold(
        say(
            "statements-plan",
            statement=_cut(one.text, _LONGEST),
            share=report.numbers.share(plan.share, 0),
            change=_operators(report, plan),
        ),
        # What a server printed must not end the block of code.
        "\n".join(f"{line[:2]}{_aligned(line[2:])}" for line in plan.lines).replace("`", "'"),
    )


def _aligned(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    return " " * indent + plain(line)


def _operators(report: Report, plan: PlanChange) -> str:
    gone, new = (items(names, report.language) for names in (plan.gone, plan.new))
    if gone and new:
        return f"{gone} -> {new}"
    if gone or new:
        which = "statements-without" if gone else "statements-with"
        return report.language.say(which, operators=gone or new)
    return report.language.say("statements-same-operators")


def _notes(report: Report, found: Compared) -> list[str]:
    say, said = report.language.say, []
    if found.otherwise:
        said.append(say("statements-otherwise"))
    if not found.has_plans:
        said.append(say("statements-plans-unknown"))
    elif not found.plans:
        said.append(say("statements-no-plan-changed"))
    if files := [name for one in found.changes for name in one.replayers.values()]:
        names = items((f"raw/{name}" for name in files), report.language)
        said.append(say("statements-replayers", names=names))
    if any(found.untold.values()):
        both = (report.numbers.whole(found.untold[side]) for side in SIDES)
        said.append(say("statements-untold", before=next(both), after=next(both)))
    said.append(say("statements-trials", trials=found.trials))
    return said


def _time(report: Report, seconds: float | None, *, signed: bool = False) -> str:
    if seconds is None:
        return report.numbers.digits(None, 3)
    sign = "+" if signed and seconds > 0 else ""
    return report.language.say(
        "split-of-query", figure=f"{sign}{report.numbers.digits(seconds * 1e6, 3)}"
    )


def _cut(text: str, longest: int) -> str:
    """A statement on one line, without its quotes."""
    text = plain(text.replace("`", ""))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
