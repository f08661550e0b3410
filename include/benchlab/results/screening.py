"""What the first rounds of a campaign with ``design: watch`` showed, as the store has it.

These rounds screen: they measure every workload. What they flag is measured again in the later
rounds, which confirm it or do not.

Example:
    ``found(campaign.environment).confirming`` is ``("oltp_update_index",)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import TypeAdapter

KEY = "screening"
"""The key of a campaign's environment that has it, as JSON."""


@dataclass(frozen=True)
class Flagged:
    """A figure that may have become worse or better.

    Attributes:
        kind: of the metric (:attr:`benchlab.plan.metric.Metric.kind`).
        weeks: for how long, this week included.
        change_pct: by how much it differs from what was known before, on average of these weeks.
        p: the chance of weeks as extreme if nothing changed, one-sided.
    """

    workload: str
    kind: str
    flag: Literal["worse", "better"]
    weeks: int
    change_pct: float
    p: float


@dataclass(frozen=True)
class Course:
    """How the throughput of a workload ran over the campaigns since it is known.

    Attributes:
        changes: of each build against the anchor, in percent, the earliest first.
        weeks, change_pct, p: the strongest evidence, as of :class:`Flagged`.
    """

    workload: str
    changes: tuple[tuple[str, float], ...]
    weeks: int
    change_pct: float
    p: float


@dataclass(frozen=True)
class Screening:
    """What was flagged, and what followed from it.

    Attributes:
        flagged: the strongest evidence first.
        confirming: the workloads that are measured again.
        doubted: the workloads whose figures cannot be trusted, so that they are no evidence.
    """

    flagged: tuple[Flagged, ...] = ()
    confirming: tuple[str, ...] = ()
    doubted: tuple[str, ...] = ()

    def flag_of(self, workload: str, kind: str) -> Flagged | None:
        """What was flagged of a figure; None: nothing."""
        own = (one for one in self.flagged if (one.workload, one.kind) == (workload, kind))
        return next(own, None)

    @property
    def workloads(self) -> tuple[str, ...]:
        """The workloads that were flagged, the strongest evidence first."""
        return tuple(dict.fromkeys(one.workload for one in self.flagged))

    @property
    def left_out(self) -> tuple[str, ...]:
        """Those of them that are not measured again."""
        return tuple(name for name in self.workloads if name not in self.confirming)


_FORM: TypeAdapter[Screening] = TypeAdapter(Screening)


def found(environment: Mapping[str, str]) -> Screening | None:
    """What a campaign's screening showed; None where it has not ended, or there is none."""
    text = environment.get(KEY)
    return None if text is None else _FORM.validate_json(text)


def as_text(screening: Screening) -> str:
    """The value of :data:`KEY` in a campaign's environment."""
    return _FORM.dump_json(screening).decode()
