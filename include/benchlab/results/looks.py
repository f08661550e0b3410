"""What the looks of a campaign with ``design: release`` decided, as the store has it.

After a deployment it is looked at what all of them show. A workload that is decided, or that the
planned deployments will hardly decide, is left out of the later ones.

Example:
    ``left(found(campaign.environment))`` is ``{"oltp_update_index": 3}``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

KEY = "looks"
"""The key of a campaign's environment that has them, as JSON."""
Why = Literal["regression", "improvement", "equivalent", "out of reach"]
"""Why a workload is not measured on: its verdict, or that it would hardly get one."""


@dataclass(frozen=True)
class Look:
    """What one look decided.

    Attributes:
        after: the deployment that had been measured, from 1.
        left: the workloads that are not measured on, and why.
    """

    after: int
    left: Mapping[str, Why]


_FORM: TypeAdapter[tuple[Look, ...]] = TypeAdapter(tuple[Look, ...])


def found(environment: Mapping[str, str]) -> tuple[Look, ...]:
    """The looks of a campaign, the earliest first; none with another design."""
    text = environment.get(KEY)
    return () if text is None else _FORM.validate_json(text)


def as_text(looks: Sequence[Look]) -> str:
    """The value of :data:`KEY` in a campaign's environment."""
    return _FORM.dump_json(tuple(looks)).decode()


def left(looks: Iterable[Look]) -> dict[str, int]:
    """The last deployment of each workload that was left out of later ones."""
    return {workload: look.after for look in looks for workload in look.left}
