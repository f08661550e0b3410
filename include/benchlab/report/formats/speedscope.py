"""Compared profiles as a file for speedscope.app, which shows one side at a time.

Example:
    ``to_json(compare(baseline, candidate), "r1", ("v8.1.0", "v8.5.0"))["profiles"][1]["name"]`` is
    ``"v8.5.0"``.

The format is speedscope's own, of type "sampled" (``src/lib/file-format-spec.ts`` there).
"""

from __future__ import annotations

from typing import Any

from benchlab.analysis.cause.profiles import Compared


def to_json(found: Compared, title: str, sides: tuple[str, str]) -> dict[str, Any]:
    """Both sides as profiles, the candidate shown first.

    Each stack weighs what it took on average of the side's profiles: microseconds per transaction,
    or percent of the side where that is not known.

    Args:
        title: what is above the graphs.
        sides: the names of baseline and candidate.
    """
    frames: dict[str, int] = {}
    numbers = {
        stack: [frames.setdefault(name, len(frames)) for name in stack] for stack in found.stacks
    }
    unit, scale = ("none", 100.0) if found.per_transaction is None else ("microseconds", 1.0)
    profiles = []
    for side, name in enumerate(sides):
        weights = {stack: scale * both[side] for stack, both in found.stacks.items() if both[side]}
        profiles.append(
            {
                "type": "sampled",
                "name": name,
                "unit": unit,
                "startValue": 0,
                "endValue": sum(weights.values()),
                "samples": [numbers[stack] for stack in weights],
                "weights": [*weights.values()],
            }
        )
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": profiles,
        "name": title,
        "activeProfileIndex": 1,
        "exporter": "benchlab",
    }
