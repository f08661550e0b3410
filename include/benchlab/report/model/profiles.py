"""Compared profiles as diagnosis keeps them of a workload: by component, or why there are none.

Example:
    ``read(campaign, store.read_bytes)["oltp_insert"]["cpu"]["tidb"].changed[0].name``
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, get_args

from pydantic import TypeAdapter

from benchlab.analysis.cause.causes import Profiles
from benchlab.analysis.cause.profiles import LEVEL, Compared, Part
from benchlab.errors import BenchlabError
from benchlab.language import Said
from benchlab.report.model.series import ReadObject
from benchlab.results import diagnosis
from benchlab.results.diagnosis import Kind
from benchlab.results.pprof import Stack
from benchlab.results.records import Campaign

log = logging.getLogger(__name__)

SHOWN = 0.002
"""Of stacks, what is narrower is kept as a part of what called it: of the mean of both sides."""
_FORM: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])
_PROFILES: TypeAdapter[dict[str, Compared | Said]] = TypeAdapter(dict[str, Compared | Said])


def read(campaign: Campaign, read_object: ReadObject) -> dict[str, dict[Kind, Profiles]]:
    """The profiles of every workload that was diagnosed, by kind; without those that are lost."""
    known = diagnosis.found(campaign.environment)
    found: dict[str, dict[Kind, Profiles]] = {}
    for workload, files in (known.found if known else {}).items():
        for kind in get_args(Kind):
            if (name := files.get(file_name(kind))) is None:
                continue
            try:
                found.setdefault(workload, {})[kind] = from_json(read_object(name))
            except (BenchlabError, ValueError) as error:
                log.warning("profiles of %s are not shown: %s", workload, error)
    return found


def file_name(kind: Kind) -> str:
    """The file that has the compared profiles of a kind."""
    return f"profiles-{kind}.json"


def to_json(found: Profiles) -> bytes:
    """What is kept; without the shares in each profile, which can be computed again from them."""
    plain = {
        role: _without_shares(one) if isinstance(one, Compared) else one
        for role, one in found.items()
    }
    document: dict[str, Any] = _PROFILES.dump_python(plain)
    for role, one in found.items():
        if isinstance(one, Compared):
            document[role]["stacks"] = _to_lists(pruned(one.stacks))
    return _FORM.dump_json(document)


def from_json(content: bytes) -> dict[str, Compared | Said]:
    """Read what was kept.

    Raises:
        ValueError: it is something else.
    """
    document = _FORM.validate_json(content)
    for one in document.values():
        if isinstance(one, dict) and "stacks" in one:
            one["stacks"] = _from_lists(**one["stacks"])
    return _PROFILES.validate_python(document)


def figures(found: Compared, per: str = "query") -> dict[str, Any]:
    """As JSON for people and programs: shares of one, or microseconds or bytes of a query.

    Args:
        per: what costs are of, for the names of fields.
    """
    cost = found.per_transaction
    unit = "bytes" if found.sample_type.unit == "bytes" else "us"
    return {
        "sample_type": found.sample_type.name,
        "unit": "share" if cost is None else f"{unit}_per_{per}",
        "profiles": found.counts,
        "decided": found.is_decided,
        f"{'bytes' if unit == 'bytes' else 'cpu_us'}_per_{per}": cost and _part(cost),
        "changed": [*map(_part, found.changed)],
        "moved": [{"caller": one.caller, "parts": [*map(_part, one.parts)]} for one in found.moved],
        "functions": [*map(_part, found.functions)],
        "modules": [*map(_part, found.modules)],
        "nameless": found.nameless,
    }


def _part(part: Part) -> dict[str, Any]:
    fields = ("name", "kind", "baseline", "candidate", "q_value", "changed")
    ci95 = part.difference and part.difference.interval(1 - LEVEL)
    return {**{name: getattr(part, name) for name in fields}, "ci95": ci95}


def pruned(stacks: Mapping[Stack, tuple[float, float]]) -> dict[Stack, tuple[float, float]]:
    """Stacks without their narrow ends, so that a picture of them stays small."""
    widths = defaultdict[Stack, float](float)
    for stack, both in stacks.items():
        for depth in range(1, len(stack) + 1):
            widths[stack[:depth]] += sum(both)
    least = SHOWN * sum(sum(both) for both in stacks.values())
    found: dict[Stack, tuple[float, float]] = {}
    for stack, both in stacks.items():
        depth = next((n for n in range(len(stack)) if widths[stack[: n + 1]] < least), len(stack))
        before = found.get(stack[:depth], (0.0, 0.0))
        found[stack[:depth]] = (before[0] + both[0], before[1] + both[1])
    return found


def _without_shares(found: Compared) -> Compared:
    def plain(parts: Iterable[Part]) -> tuple[Part, ...]:
        return tuple(replace(one, shares=()) for one in parts)  # type: ignore[arg-type]

    (cost,) = plain([found.per_transaction]) if found.per_transaction else (None,)
    return replace(
        found,
        per_transaction=cost,
        functions=plain(found.functions),
        modules=plain(found.modules),
        changed=plain(found.changed),
        moved=tuple(replace(one, parts=plain(one.parts)) for one in found.moved),
        stacks={},
    )


def _to_lists(stacks: Mapping[Stack, tuple[float, float]]) -> dict[str, Any]:
    numbers: dict[str, int] = {}
    rows = [
        [[numbers.setdefault(name, len(numbers)) for name in stack], *both]
        for stack, both in stacks.items()
    ]
    return {"frames": [*numbers], "rows": rows}


def _from_lists(frames: list[str], rows: list[list[Any]]) -> dict[Stack, tuple[float, float]]:
    return {
        tuple(frames[number] for number in stack): (baseline, candidate)
        for stack, baseline, candidate in rows
    }
