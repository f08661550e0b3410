"""The parameters of a cluster as they were asked for, in the form of the published pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from benchlab.analysis.gates.variables import SQL_SERVER
from benchlab.engines.database import sql_value
from benchlab.language import Language, Value, side_name
from benchlab.language.names import service_of, title_of
from benchlab.plan.fields.engines import Components, SideSpec
from benchlab.results.records import Campaign

# Stands for a component where parameters are global variables, not configuration items.
_VARIABLES = ""


@dataclass(frozen=True)
class Block:
    """Parameters of one component, or global variables, as text.

    Attributes:
        language: of the text: ``yaml`` or ``sql``.
    """

    heading: str
    language: str
    text: str


def blocks(campaign: Campaign, language: Language) -> tuple[Block, ...]:
    """The parameters that both sides share, then those of one side, then of one workload."""
    sides = {side: grouped(planned) for side, planned in campaign.plan.sides.items()}
    alike = reduce(_alike, sides.values())
    made = list(_blocks(alike, language))
    for side, own in sides.items():
        version, name = campaign.plan.sides[side].label, side_name(side)
        only = _without(own, alike)
        made += _blocks(only, language, "parameters-of-side", side=name, version=version)
    engine = campaign.report_type.engines[campaign.plan.engine]
    for workload, components in engine.by_workload.items():
        title = title_of(workload)
        made += _blocks(components, language, "parameters-of-workload", workload=title)
    return tuple(made)


def same(campaign: Campaign) -> bool:
    """Whether the sides are asked for the same parameters."""
    first, *others = map(grouped, campaign.plan.sides.values())
    return all(other == first for other in others)


def grouped(side: SideSpec) -> Components:
    """A side's configuration items by component, its global variables under the empty name."""
    items: Components = {name: dict(own) for name, own in side.components.items()}
    for key, value in side.parameters.items():
        # A configuration item has a dot or a hyphen in its name, a global variable does not.
        is_item = "." in key or "-" in key
        items.setdefault(SQL_SERVER if is_item else _VARIABLES, {})[key] = value
    order = {SQL_SERVER: 0, _VARIABLES: 2}
    return {
        name: items[name] for name in sorted(items, key=lambda name: order.get(name, 1))
        if items[name]
    }  # fmt: skip


def _alike(baseline: Components, candidate: Components) -> Components:
    return {
        name: {k: v for k, v in own.items() if (k, v) in candidate.get(name, {}).items()}
        for name, own in baseline.items()
    }


def _without(items: Components, common: Components) -> Components:
    return {
        name: {k: v for k, v in own.items() if k not in common.get(name, {})}
        for name, own in items.items()
    }


def _blocks(
    components: Components, language: Language, which: str = "", **of: Value
) -> Iterator[Block]:
    """A block for each component; ``which`` and ``of`` put its side or workload in the heading."""
    for name, items in components.items():
        if name == _VARIABLES:
            heading, form = language.say("parameters-variables"), "sql"
            lines = [f"SET GLOBAL {key} = {sql_value(v)};" for key, v in items.items()]
        else:
            heading, form = language.say("parameters-items", service=service_of(name)), "yaml"
            lines = [f"{key}: {json.dumps(v, ensure_ascii=False)}" for key, v in items.items()]
        if items:
            if which:
                heading = language.say(which, heading=heading, **of)
            yield Block(heading, form, "\n".join(lines))
