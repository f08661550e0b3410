"""Compared profiles in a terminal, as JSON, for speedscope and as a picture."""

from __future__ import annotations

import json
from typing import Any

from rich.text import Text

from benchlab.analysis.cause.profiles import Compared
from benchlab.charts.flame import flame
from benchlab.charts.picture import Picture
from benchlab.language import english
from benchlab.language.names import plain
from benchlab.report.charts import flame_labels
from benchlab.report.formats import speedscope
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.report.model.profiles import figures
from benchlab.report.sentences import profiles


def to_json(found: Compared) -> dict[str, Any]:
    """What ``benchlab profiles --json`` prints; figures are shares of one, or microseconds."""
    return figures(found, "transaction")


def render(found: Compared, width: int, colour: bool) -> str:
    """The functions that changed, the modules, what moved, and what limits all this."""
    console, said = console_for(width, colour), english()
    console.print(Text(_title(found), style="bold"))
    functions = found.changed if found.is_decided else found.functions[: profiles.MOST]
    for heading, parts in (("function", functions), ("module", found.modules[: profiles.MOST])):
        table = table_of(heading, "time", "baseline", "candidate", "difference", "95%", "found")
        for part in parts:
            kind, word = said.say(f"profiles-{part.kind}"), profiles.word(found, part, said)
            table.add_row(plain(part.name), kind, *profiles.cells(found, part, said), word)
        if parts:
            console.print()
            print_table(console, table)
    console.print()
    for line in profiles.notes(found, said):
        console.print(Text(plain(line)))
    return text_of(console)


def _title(found: Compared) -> str:
    baseline, candidate = found.counts
    name = found.sample_type.name
    return english().say("profiles-title", type=name, baseline=baseline, candidate=candidate)


def for_speedscope(found: Compared) -> str:
    """What ``--speedscope`` writes."""
    say = english().say
    sides = say("side-baseline"), say("side-candidate")
    return json.dumps(speedscope.to_json(found, _title(found), sides))


def picture(found: Compared) -> Picture:
    """The differential flame graph of ``--picture``."""
    labels = flame_labels(english(), found, _title(found))
    return flame(found.stacks, labels, {one.name for one in found.changed})
