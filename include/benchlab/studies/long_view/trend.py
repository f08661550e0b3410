"""What is found in a chain: change points, suspects and slow drift, kept until the chain changes.

The search takes seconds in a chain of a thousand campaigns, and each new campaign changes one
chain of each workload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from benchlab.analysis.trend import change_points
from benchlab.analysis.trend import drift as drift_module
from benchlab.analysis.trend import suspects as suspects_module
from benchlab.analysis.trend.chain import Chain
from benchlab.analysis.trend.change_points import ChangePoint
from benchlab.analysis.trend.drift import Drift
from benchlab.analysis.trend.suspects import Suspect
from benchlab.results.kept import Kept, key_of

T = TypeVar("T")
_PART = "trend"
# Raised whenever the same chain is searched, or what is found in it written, in another way.
_FORM = 1


@dataclass(frozen=True)
class Trend:
    """What is found in a chain."""

    changes: tuple[ChangePoint, ...]
    suspects: tuple[Suspect, ...]
    drift: Drift | None


def find(made: Chain, threshold_pct: float, noise_sd: float | None) -> Trend:
    """Search a chain: ``find(chain(ratios), 2.0, None).changes``.

    Args:
        threshold_pct: the smallest change that is called one, in percent.
        noise_sd: standard deviation of A/A campaigns' log ratios; None where there are none.
    """
    changes = change_points.find(made, threshold_pct, noise_sd)
    return Trend(
        changes,
        suspects_module.find(made, changes, threshold_pct, noise_sd),
        drift_module.find(made, changes, threshold_pct, noise_sd),
    )


def kept_or_found(
    kept: Kept, made: Chain, workload: str, threshold_pct: float, noise_sd: float | None
) -> Trend:
    """As :func:`find`; what was found before in the very same chain is read."""
    ratios = [point.ratio for point in made.points]
    name = key_of(workload, ratios[0].campaign)
    key = key_of(_FORM, threshold_pct, noise_sd, *ratios)
    if (raw := kept.read(_PART, {name: key}).get(name)) is not None:
        return _from_json(raw)
    found = find(made, threshold_pct, noise_sd)
    kept.write(_PART, {name: (key, asdict(found))})
    return found


def _from_json(raw: Mapping[str, Any]) -> Trend:
    return Trend(
        tuple(_made(ChangePoint, one) for one in raw["changes"]),
        tuple(_made(Suspect, one) for one in raw["suspects"]),
        raw["drift"] and _made(Drift, raw["drift"]),
    )


def _made(kind: type[T], raw: Mapping[str, Any]) -> T:
    fields = {name: tuple(one) if isinstance(one, list) else one for name, one in raw.items()}
    return kind(**fields)
