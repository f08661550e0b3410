"""Shows a bisection in a terminal, and as JSON: the answer first, then its evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from benchlab.language import english
from benchlab.language.names import plain
from benchlab.language.numbers import Numbers
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.report.formats.plan_text import duration
from benchlab.studies.bisection.run import Bisection
from benchlab.studies.bisection.search import (
    BisectionOutcome,
    Brought,
    MeasuredStep,
    Named,
    Next,
    NothingToBisect,
    Undecided,
)

MORE_ROUNDS = (
    "More rounds may decide it: start it again with --set rounds=N, which measures every pair "
    "anew; `benchlab calibrate` says how many find a change."
)
DEPLOYMENTS = (
    "How much two deployments of one release differ was not measured: the intervals assume it, and "
    "several deployments, or A/A campaigns, would mostly make them narrower."
)
_UNCLEAR = "it is not clear whether there is anything to bisect"
_COLOUR = {"regression": "red", "improvement": "green", "unstable": "yellow"}


def to_json(found: Bisection) -> dict[str, Any]:
    """The bisection as JSON: changes in percent, with the campaigns that measured them."""
    comparisons = [
        {
            "baseline": pair.baseline,
            "candidate": pair.candidate,
            "verdict": pair.verdict,
            **_change_json(MeasuredStep({pair: 1}) if pair.estimate else None),
            "campaign": pair.campaign,
            "reasons": pair.reasons,
            "basis": pair.basis,
            "new": pair.campaign in found.measured,
        }
        for pair in found.comparisons
    ]
    return {
        **_reached_json(found.reached),
        "sentence": sentence(found),
        "said": list(_said(found)),
        "report": found.spec.report,
        "engine": found.spec.engine,
        "workload": found.workload,
        "way": found.way.releases,
        "left_out": found.way.left_out,
        "not_in_calendar": found.way.not_in_calendar,
        "undeployable": found.undeployable,
        "comparisons": comparisons,
        "most_minutes": found.minutes,
        "most_dollars": found.dollars,
    }


def _reached_json(reached: Next | BisectionOutcome) -> dict[str, Any]:
    match reached:
        case Next():
            return {
                "outcome": "open",
                "next": _pair_json(reached),
                "suspects": reached.suspects,
                "campaigns_if_clear": reached.if_clear,
                "campaigns_at_most": reached.at_most,
            }
        case Named():
            document = {
                "outcome": "named",
                **_brought_json(reached.brought),
                "whole": _change_json(reached.whole),
                "rest": _change_json(reached.rest) if reached.rest else None,
            }
        case Undecided():
            document = {
                "outcome": "undecided",
                "after": reached.after,
                "suspects": reached.suspects,
                "why": reached.why,
                "whole": _change_json(reached.whole),
                "next": _pair_json(reached.next) if reached.next else None,
            }
        case NothingToBisect():
            document = {"outcome": "nothing to bisect"}
    return {**document, "others": [_brought_json(other) for other in reached.others]}


def _pair_json(pair: Next) -> dict[str, str]:
    return {"baseline": pair.baseline, "candidate": pair.candidate}


def _brought_json(found: Brought) -> dict[str, Any]:
    return {**vars(found), "change": _change_json(found.change)}


def _change_json(change: MeasuredStep | None) -> dict[str, Any]:
    return {
        "estimate_pct": change.pct if change else None,
        "ci95_pct": change.ci95_pct if change else None,
        "campaigns": change.campaigns if change else [],
    }


def render(found: Bisection, width: int, colour: bool) -> str:
    """The answer, what else is known, and the comparisons; ``colour`` asks for ANSI codes."""
    console = console_for(width, colour)
    console.print(Text(sentence(found), style="bold"))
    for line in _said(found):
        console.print(Text(line))
    console.print()
    console.print(Text(f"on the way: {', '.join(found.way.releases)}"))
    for version, near in found.way.not_in_calendar.items():
        has = f"of its series it has {', '.join(near)}" if near else "nor is its series"
        console.print(Text(f"not in the calendar: {version}; {has}", style="yellow"))
    for version, why in found.way.left_out.items():
        console.print(Text(f"not on the way: {version}, {why}", style="dim"))
    for version, why in found.undeployable.items():
        console.print(Text(f"not compared: {version}: {plain(why)}", style="dim"))
    if found.comparisons:
        print_table(console, _table(found))
    else:
        console.print(Text("no comparison is stored"))
    if any(pair.basis == "prior" for pair in found.comparisons):
        console.print()
        console.print(Text(DEPLOYMENTS, style="dim"))
    return text_of(console)


def sentence(found: Bisection) -> str:
    """The answer in one sentence."""
    reached, ends = found.reached, f"{found.way.releases[-1]} against {found.way.releases[0]}"
    match reached:
        case Named(brought=brought):
            text = f"{brought.release} brought {_change(found, brought.change)}"
            text += f" against {brought.predecessor}, its predecessor on the way"
            text += f"; {_campaigns(brought.change)}"
        case NothingToBisect(comparison=pair):
            change = _change(found, MeasuredStep({pair: 1})) if pair.estimate else "no estimate"
            why = "nothing to bisect" if pair.verdict == "equivalent" else _UNCLEAR
            text = f"{why}: {ends} is {pair.verdict}, {change}; campaign {pair.campaign}"
        case Undecided():
            text = (
                f"undecided: the change of {_change(found, reached.whole)} came after "
                f"{reached.after}, with {' or '.join(reached.suspects)}"
            )
        case Next():
            text = (
                f"{reached.suspects} release{'s' * (reached.suspects != 1)} may have brought a "
                f"change of {ends}: {_cost(found, reached)}"
            )
    return f"{found.workload}: {text}"


def _said(found: Bisection) -> Iterator[str]:
    """Further sentences for the reader: reasons, the rest of the change, next steps."""
    reached = found.reached
    match reached:
        case Named():
            if reached.brought.untold:
                untold = ", ".join(reached.brought.untold)
                yield f"It may already have been {untold}, which cannot be deployed here."
            if reached.rest is not None:
                yield (
                    f"The whole change is {_change(found, reached.whole)}; the rest, "
                    f"{_change(found, reached.rest)}, came with other releases."
                )
        case NothingToBisect(comparison=pair):
            yield from (f"{reason[:1].upper()}{reason[1:]}." for reason in pair.reasons)
            if pair.verdict != "equivalent":
                yield MORE_ROUNDS
        case Undecided():
            yield f"Why: {reached.why}."
            if reached.next is None:
                yield MORE_ROUNDS
            else:
                yield f"Start it again to continue. {_next(reached.next)}"
        case Next():
            yield _next(reached)
            return
    for other in reached.others:
        yield (
            f"Also known: {other.release} brought {_change(found, other.change)} against "
            f"{other.predecessor}; {_campaigns(other.change)}."
        )


def _next(pair: Next) -> str:
    return f"Next: {pair.candidate} against {pair.baseline}, {pair.why}."


def _table(found: Bisection) -> Table:
    numbers = Numbers(english())
    table = table_of("versions", "change", "95% interval", "verdict", "campaign", "")
    for pair in found.comparisons:
        change = MeasuredStep({pair: 1}) if pair.estimate else None
        table.add_row(
            f"{pair.candidate} vs. {pair.baseline}",
            numbers.estimate(
                change.pct if change else None,
                found.spec.threshold_pct,
                change.ci95_pct if change else None,
            ),
            numbers.interval(change.ci95_pct if change else None, found.spec.threshold_pct),
            Text(pair.verdict, style=_COLOUR.get(pair.verdict, "")),
            pair.campaign,
            "measured now" if pair.campaign in found.measured else "stored",
        )
    return table


def _change(found: Bisection, change: MeasuredStep) -> str:
    numbers = Numbers(english())
    estimate = numbers.estimate(change.pct, found.spec.threshold_pct, change.ci95_pct)
    return (
        f"{estimate} (95% interval {numbers.interval(change.ci95_pct, found.spec.threshold_pct)})"
    )


def _campaigns(change: MeasuredStep) -> str:
    """The campaigns behind a change; several if the two releases were not compared directly."""
    if len(change.campaigns) == 1:
        return f"campaign {change.campaigns[0]}"
    return f"computed from the campaigns {', '.join(change.campaigns)}"


def _cost(found: Bisection, reached: Next) -> str:
    """The number, time and cost of the campaigns that are still needed."""
    clear, most = reached.if_clear, reached.at_most
    return (
        f"{clear} campaign{'s' * (clear != 1)} if every comparison is clear, {most} at most; "
        f"at most about {duration(found.minutes or 0.0)}, "
        + ("nothing is rented" if found.dollars is None else f"{found.dollars:,.2f} dollars")
    )
