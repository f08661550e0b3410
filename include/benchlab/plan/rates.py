"""Learns how long a plan's steps will take from what they took in earlier campaigns.

A rate is the median over campaigns, so that one odd campaign among them does not decide.

Example:
    ``learned(store.step_times("ec2_published", "tidb"), sizes)["load"].seconds``
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchlab.plan.report_type import Side

TimedStep = Literal[
    "provision",
    "deploy",
    "load",
    "restore dataset",
    "analyze",
    "check",
    "back up",
    "restore",
    "restart",
    "trial",
]
"""Steps whose time is recorded: stages; ``restore dataset``, the stage ``load`` from S3; and parts
of a trial: stopping, restoring and starting a side (``restore``), the same without restoring
(``restart``), and all the rest except warm-up and run (``trial``).
"""
Unit = Literal["rows", "bytes", "hosts"]

# With two, an odd one would count as much as the other.
MIN_CAMPAIGNS = 3
# So that a rate follows a change of the hosts or of the programs within weeks.
LATEST_CAMPAIGNS = 9
# Fixed parts make a small step's rate a bad estimate of a large one, and the other way round.
MOST_TIMES_AS_LARGE = 2.0


@dataclass(frozen=True)
class Size:
    """How large a step is: ``Size(16_000_000, "rows")``."""

    number: float
    unit: Unit


@dataclass(frozen=True)
class StepTime:
    """How long one step of a campaign took.

    Attributes:
        side: None where it concerns no single side.
    """

    step: TimedStep
    side: Side | None
    seconds: float
    size: Size


@dataclass(frozen=True)
class Learned:
    """How long a step of a plan should take, by earlier campaigns.

    Attributes:
        seconds: for one side, or for one trial.
        campaigns: how many it rests on.
    """

    seconds: float
    campaigns: int


def learned(times: Iterable[tuple[str, StepTime]], sizes: Mapping[str, Size]) -> dict[str, Learned]:
    """How long the steps of a plan should take, for those that enough campaigns have had.

    Args:
        times: campaign and step, of one topology and engine, the latest campaign first.
        sizes: of the plan's steps. Steps of another unit, or of less than half or more than twice
            the size, do not count.
    """
    found: dict[str, dict[str, list[StepTime]]] = defaultdict(lambda: defaultdict(list))
    for campaign, time in times:
        wanted = sizes.get(time.step)
        if wanted is not None and _is_like(time.size, wanted):
            found[time.step][campaign].append(time)
    return {
        step: _learned(list(campaigns.values())[:LATEST_CAMPAIGNS], sizes[step])
        for step, campaigns in found.items()
        if len(campaigns) >= MIN_CAMPAIGNS
    }


def _is_like(size: Size, wanted: Size) -> bool:
    least, most = sorted((size.number, wanted.number))
    return size.unit == wanted.unit and most <= MOST_TIMES_AS_LARGE * least


def _learned(campaigns: Sequence[Sequence[StepTime]], size: Size) -> Learned:
    rate = statistics.median(
        sum(time.seconds for time in sides) / sum(time.size.number for time in sides)
        for sides in campaigns
    )
    return Learned(round(rate * size.number, 2), len(campaigns))
