"""Which campaigns of a report type are chained, which tell the noise, and which do neither.

Where the setting of a report type was changed (:mod:`benchlab.studies.long_view.setting`), a chain
ends and
another one begins: a change of the setting is no change of the version. Within a setting each line
of versions (:mod:`benchlab.analysis.trend.lines`) has a chain of its own.

A campaign stands in its chain at the moment that it was planned for. One that was planned for none,
because a person started it, stands at the day from which its versions could be measured: an older
pair that is measured today is no news of today.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchlab.analysis.trend.lines import Age, Order, lines
from benchlab.analysis.verdict import aa_campaigns
from benchlab.analysis.verdict.calibration import MIN_CAMPAIGNS
from benchlab.language import english
from benchlab.plan import schedule
from benchlab.plan.report_type import SIDES
from benchlab.plan.versions import order
from benchlab.results.records import Campaign
from benchlab.studies.bisection import run
from benchlab.studies.comparisons import ComparedCampaign, ReleaseDays
from benchlab.studies.long_view.setting import differences, one_sided_parameters


@dataclass(frozen=True)
class LeftOut:
    """A campaign that is in no chain and tells no noise, and why."""

    campaign: str
    why: str


@dataclass(frozen=True)
class Placed:
    """A campaign with its place in a chain."""

    compared: ComparedCampaign
    at: datetime

    @property
    def versions(self) -> tuple[str, str]:
        """Of the baseline and of the candidate."""
        baseline, candidate = (self.compared.campaign.plan.sides[side].version for side in SIDES)
        return baseline, candidate

    @property
    def order(self) -> Order:
        """As :mod:`benchlab.analysis.trend.chain` orders its points."""
        baseline, candidate = map(order, self.versions)
        return self.at, candidate, baseline, self.compared.campaign.id

    @property
    def is_planned(self) -> bool:
        """For a moment; else a person started it."""
        return self.compared.campaign.planned_for is not None


@dataclass(frozen=True)
class AaFigure:
    """What an A/A campaign found: a ratio whose true logarithm is 0."""

    campaign: str
    at: datetime
    log_ratio: float


@dataclass(frozen=True)
class NoiseOfCampaigns:
    """What the A/A campaigns of a setting tell of a workload.

    Attributes:
        figures: by time.
        sd: how far campaigns scatter that compare a version with itself, as a standard deviation
            of logarithms; None with fewer than five.
    """

    figures: tuple[AaFigure, ...]
    sd: float | None


@dataclass(frozen=True)
class Chained:
    """The campaigns of one chain: of one workload, one setting and one line of versions.

    Attributes:
        line: its name.
        members: the newest first; at least one.
        differs: in what their setting is not the next newer one, as (here, there) by name; empty
            of the newest.
    """

    line: str
    members: tuple[Placed, ...]
    noise: NoiseOfCampaigns
    differs: Mapping[str, tuple[Any, Any]]


@dataclass(frozen=True)
class ChainSelection:
    """The campaigns of one workload.

    Attributes:
        chains: the newest setting first; of one setting the line `newest` first.
        left_out: by time.
    """

    chains: tuple[Chained, ...]
    left_out: tuple[LeftOut, ...]


def select_chain(
    workload: str,
    campaigns: Iterable[Campaign],
    compared: Mapping[str, ComparedCampaign],
    days: ReleaseDays,
) -> ChainSelection:
    """Sort the campaigns of a report type that have a workload.

    Args:
        campaigns: of two sides.
        compared: by id, all of them that are complete.
        days: of the engine's releases.
    """
    of_workload = [
        each for each in campaigns if workload in {trial.workload for trial in each.plan.trials}
    ]
    reasons: dict[str, str] = {}
    chained = []
    for campaign in of_workload:
        found = compared.get(campaign.id)
        if (why := _why_left_out(campaign, found, workload, days)) is not None:
            reasons[campaign.id] = why
        elif found is not None and not campaign.is_aa:
            chained.append(Placed(found, _place(campaign, days)))
    chained.sort(key=lambda each: each.order, reverse=True)
    chains: list[Chained] = []
    newer: ComparedCampaign | None = None
    for group in _by_setting(chained, workload):
        newest = group[0].compared
        differs = differences(newest, newer, workload) if newer else {}
        noise = _noise(newest, compared.values(), workload)
        found_lines, why_not = lines(group)
        reasons.update(why_not)
        chains += [Chained(each.name, each.members[::-1], noise, differs) for each in found_lines]
        newer = newest
    return ChainSelection(
        tuple(chains),
        tuple(
            LeftOut(each.id, reasons[each.id])
            for each in sorted(of_workload, key=lambda each: (each.at, each.id))
            if each.id in reasons
        ),
    )


def _place(campaign: Campaign, days: ReleaseDays) -> datetime:
    if campaign.planned_for is not None:
        return campaign.planned_for
    baseline, candidate = (days.get(order(campaign.plan.sides[side].version)) for side in SIDES)
    if candidate is None:
        return campaign.started_at
    return min(schedule.midnight(max(candidate, baseline or candidate)), campaign.started_at)


def _why_left_out(
    campaign: Campaign, found: ComparedCampaign | None, workload: str, days: ReleaseDays
) -> str | None:
    """Why a campaign neither is in a chain nor tells the noise; None: it does."""
    plan = campaign.plan
    if found is None:
        return f"{campaign.state}, not complete"
    if plan.slowdown_pct:
        return f"its candidate was slowed down by {plan.slowdown_pct:g}% on purpose"
    if campaign.is_aa:
        if not aa_campaigns.can_calibrate(campaign):
            return "an A/A campaign restored from a dataset snapshot: deployments do not differ"
        return None if workload in found.estimates else "an A/A campaign without two whole rounds"
    return _why_no_versions(campaign, workload, days) or _why_no_ratio(found, workload)


def _why_no_versions(campaign: Campaign, workload: str, days: ReleaseDays) -> str | None:
    """Why it does not tell what a newer version has changed."""
    baseline, candidate = (order(campaign.plan.sides[side].version) for side in SIDES)
    if campaign.origin == run.ORIGIN and not (campaign.planned_for or candidate in days):
        return "measured by a bisection, and the calendar has no day of its candidate"
    if baseline == candidate:
        return "compares a version with itself"
    if candidate < baseline and not _came_later(candidate, baseline, days):
        return "its candidate is older than its baseline"
    if unlike := one_sided_parameters(campaign, workload):
        return f"its sides differ in more than their versions: {', '.join(unlike)}"
    return None


def _why_no_ratio(found: ComparedCampaign, workload: str) -> str | None:
    figures = found.workload(workload)
    if figures.estimate_pct is None:
        return "no complete round"
    if figures.verdict == "unstable":
        return f"unstable: {'; '.join(english().texts(figures.reasons))}"
    return None


def _came_later(version: Age, other: Age, days: ReleaseDays) -> bool:
    """Whether it is known to, as the patch of an old series that came out after a new one."""
    return version in days and other in days and days[version] > days[other]


def _by_setting(chained: Iterable[Placed], workload: str) -> list[list[Placed]]:
    groups: list[list[Placed]] = []
    for each in chained:
        same = (
            group for group in groups if not differences(group[0].compared, each.compared, workload)
        )
        group = next(same, None)
        if group is None:
            groups.append([each])
        else:
            group.append(each)
    return groups


def _noise(
    newest: ComparedCampaign, compared: Iterable[ComparedCampaign], workload: str
) -> NoiseOfCampaigns:
    figures = [
        AaFigure(each.campaign.id, each.campaign.at, each.estimates[workload].mean)
        for each in compared
        if aa_campaigns.can_calibrate(each.campaign)
        and workload in each.estimates
        and not differences(newest, each, workload)
    ]
    figures.sort(key=lambda each: (each.at, each.campaign))
    return NoiseOfCampaigns(tuple(figures), _sd(figures))


def _sd(figures: Sequence[AaFigure]) -> float | None:
    """About zero, not about their mean: zero is what they should have found."""
    if len(figures) < MIN_CAMPAIGNS:
        return None
    return math.sqrt(math.fsum(each.log_ratio**2 for each in figures) / len(figures))
