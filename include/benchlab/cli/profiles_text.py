"""Compared profiles in a terminal, as JSON, for speedscope and as a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from benchlab.analysis.cause.profiles import LEVEL, Compared, Part
from benchlab.charts.flame import LEAST, Labels, flame
from benchlab.charts.picture import Picture
from benchlab.language import english
from benchlab.language.names import plain
from benchlab.language.numbers import MISSING, Numbers
from benchlab.report.formats import speedscope
from benchlab.report.formats.console import console_for, print_table, table_of, text_of

# So many modules are shown; and so many functions where nothing is called a change.
_MOST = 10


def to_json(found: Compared) -> dict[str, Any]:
    """What ``benchlab profiles --json`` prints; figures are shares of one, or microseconds."""
    cost = found.per_transaction
    return {
        "sample_type": found.sample_type.name,
        "unit": "share" if cost is None else "us_per_transaction",
        "profiles": found.counts,
        "decided": found.is_decided,
        "cpu_us_per_transaction": cost and _part_json(cost),
        "changed": [*map(_part_json, found.changed)],
        "moved": [
            {"caller": one.caller, "parts": [*map(_part_json, one.parts)]} for one in found.moved
        ],
        "functions": [*map(_part_json, found.functions)],
        "modules": [*map(_part_json, found.modules)],
        "nameless": found.nameless,
    }


def _part_json(part: Part) -> dict[str, Any]:
    fields = ("name", "kind", "baseline", "candidate", "q_value", "changed")
    ci95 = part.difference and part.difference.interval(1 - LEVEL)
    return {**{name: getattr(part, name) for name in fields}, "ci95": ci95}


def render(found: Compared, width: int, colour: bool) -> str:
    """The functions that changed, the modules, what moved, and what limits all this."""
    console = console_for(width, colour)
    console.print(Text(_title(found), style="bold"))
    functions = found.changed if found.is_decided else found.functions[:_MOST]
    for heading, parts in (("function", functions), ("module", found.modules[:_MOST])):
        table = table_of(heading, "time", "baseline", "candidate", "difference", "95%", "found")
        for part in parts:
            kind, word = english().say(f"profiles-{part.kind}"), _word(found, part)
            table.add_row(plain(part.name), kind, *_cells(found, part), word)
        if parts:
            console.print()
            print_table(console, table)
    console.print()
    for line in _sentences(found):
        console.print(Text(plain(line)))
    return text_of(console)


def _title(found: Compared) -> str:
    baseline, candidate = found.counts
    name = found.sample_type.name
    return english().say("profiles-title", type=name, baseline=baseline, candidate=candidate)


def _amount(found: Compared, value: float) -> str:
    if found.per_transaction is None:
        return Numbers(english()).share(value, 2)
    return f"{Numbers(english()).digits(value, 3)} µs"


def _cells(found: Compared, part: Part) -> tuple[str, str, str, str]:
    """Both means, their difference and its interval."""

    def signed(value: float) -> str:
        return f"{'+' * (value > 0)}{_amount(found, value)}"

    ends = part.difference.interval(1 - LEVEL) if part.difference else None
    low, high = map(signed, ends or (0.0, 0.0))
    interval = english().say("number-interval", low=low.removesuffix(" µs"), high=high)
    both = _amount(found, part.baseline), _amount(found, part.candidate)
    return *both, signed(part.change), interval if ends else MISSING


def _word(found: Compared, part: Part) -> str:
    of_what = "share" if found.per_transaction is None else "cost"
    way = "more" if part.change > 0 else "less"
    return english().say(f"profiles-{way}-{of_what}") if part.changed else ""


def _sentences(found: Compared) -> Iterator[str]:
    say, numbers = english().say, Numbers(english())
    for shift in found.moved:
        parts = ", ".join(f"{one.name} ({_cells(found, one)[2]})" for one in shift.parts)
        yield say("profiles-moved", caller=shift.caller, parts=parts)
    if not found.is_decided:
        yield say("profiles-few")
    elif not found.changed:
        yield say("profiles-none", tested=len(found.functions) + len(found.modules))
    if found.per_transaction is None:
        yield say("profiles-shares", type=found.sample_type.name)
    else:
        *both, change, interval = _cells(found, found.per_transaction)
        yield f"{say('profiles-cost')}: {' → '.join(both)}, {change} ({interval})"
    if max(found.nameless) >= LEAST:
        baseline, candidate = (numbers.share(one, 1) for one in found.nameless)
        yield say("profiles-nameless", baseline=baseline, candidate=candidate)


def for_speedscope(found: Compared) -> str:
    """What ``--speedscope`` writes."""
    say = english().say
    sides = say("side-baseline"), say("side-candidate")
    return json.dumps(speedscope.to_json(found, _title(found), sides))


def picture(found: Compared) -> Picture:
    """The differential flame graph of ``--picture``."""
    say = english().say

    def sides(baseline: float, candidate: float) -> str:
        which = "both" if baseline and candidate else "gone" if baseline else "new"
        amounts = {"baseline": _amount(found, baseline), "candidate": _amount(found, candidate)}
        return say("flame-sides", which=which, **amounts)

    labels = Labels(
        _title(found),
        say("flame-remark", least=Numbers(english()).share(LEAST, 1)),
        tuple(say(f"flame-step-{n}") for n in range(1, 7)),
        say("flame-everything"),
        sides,
        lambda count: say("flame-merged", count=count),
        say("flame-find"),
        say("flame-found", count="{count}", baseline="{baseline}", candidate="{candidate}"),
    )
    return flame(found.stacks, labels, {one.name for one in found.changed})
