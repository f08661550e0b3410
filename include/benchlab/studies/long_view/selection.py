"""Which campaigns of a report type are chained, which show the noise, and which do neither.

The campaigns of one chain have one setting, so that only versions differ between them: what must
be equal for deployments to be alike (:mod:`benchlab.analysis.verdict.aa_campaigns`), and what is
measured on them. Parameters by version belong to the versions, as long as a version has the same
ones everywhere in a chain: the report type of its newest campaign has to give every version the
parameters that it had in the plan of an earlier one. A new setting begins a new chain, so that its
effect is not taken for a change of version. Within a setting each line of versions
(:mod:`benchlab.analysis.trend.lines`) has a chain of its own.

A campaign stands in its chain at the moment that it was planned for. One that a person started was
planned for none, and stands at the day from which its versions could be measured: an older pair
that is measured today says nothing new about today.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchlab.analysis.trend.chain import Age, Ratio
from benchlab.analysis.trend.lines import lines
from benchlab.analysis.verdict import aa_campaigns
from benchlab.language import english
from benchlab.plan import schedule
from benchlab.plan.report_type import SIDES, Side, SideSpec
from benchlab.plan.versions import order
from benchlab.results.records import Campaign
from benchlab.studies.bisection import run
from benchlab.studies.comparisons import ComparedCampaign, ReleaseDays

# Compared beside thread counts and the parameters of both sides.
_MEASURED = ("restore", "seconds", "warmup_seconds")

MIN_CAMPAIGNS = 5
"""So many A/A campaigns show how far campaigns scatter."""

Differences = Mapping[str, tuple[Any, Any]]
"""How two settings differ: by name, the value of the one and of the other."""


@dataclass(frozen=True)
class AaFigure:
    """What an A/A campaign found: a ratio whose true logarithm is 0."""

    campaign: str
    at: datetime
    log_ratio: float


@dataclass(frozen=True)
class NoiseOfCampaigns:
    """What the A/A campaigns of a setting found in a workload, by time."""

    figures: tuple[AaFigure, ...]

    @property
    def sd(self) -> float | None:
        """How far they scatter, as a standard deviation of logarithms; None with fewer than five.

        About zero, not about their mean: zero is what they should have found.
        """
        if len(self.figures) < MIN_CAMPAIGNS:
            return None
        squares = math.fsum(figure.log_ratio**2 for figure in self.figures)
        return math.sqrt(squares / len(self.figures))


@dataclass(frozen=True)
class Chained:
    """The campaigns of one chain: of one workload, one setting and one line of versions.

    Attributes:
        line: its name.
        ratios: of the campaigns, by time; at least one.
        differs: how the setting differs from the next newer one; empty for the newest.
    """

    line: str
    ratios: tuple[Ratio, ...]
    noise: NoiseOfCampaigns
    differs: Differences


def select_chains(
    workload: str,
    campaigns: Iterable[Campaign],
    compared: Mapping[str, ComparedCampaign],
    days: ReleaseDays,
) -> tuple[list[Chained], dict[str, str]]:
    """Sort the campaigns of a report type that have a workload.

    Args:
        campaigns: of two sides.
        compared: by id, all of them that are complete.
        days: of the engine's releases.

    Returns:
        The chains, the newest setting first and in each setting the line `newest` first; and by id,
        in order of time, why other campaigns are in no chain and show no noise.
    """
    of_workload = sorted(
        (
            campaign
            for campaign in campaigns
            if any(trial.workload == workload for trial in campaign.plan.trials)
        ),
        key=lambda campaign: (campaign.at, campaign.id),
    )
    reasons: dict[str, str] = {}
    ratios = []
    for campaign in of_workload:
        found = compared.get(campaign.id)
        if (why := _why_left_out(campaign, found, workload, days)) is not None:
            reasons[campaign.id] = why
        elif found is not None and not campaign.is_aa:
            ratios.append(_ratio(found, workload, days))
    ratios.sort(key=lambda ratio: ratio.order, reverse=True)
    chains: list[Chained] = []
    newer: ComparedCampaign | None = None
    for group in _by_setting(ratios, compared, workload):
        newest = compared[group[0].campaign]
        differs = _differences(newest, newer, workload) if newer else {}
        noise = _noise(newest, compared.values(), workload)
        found_lines, why_not = lines(group)
        reasons.update(why_not)
        chains += [Chained(*line, noise, differs) for line in found_lines.items()]
        newer = newest
    in_order = (campaign.id for campaign in of_workload)
    return chains, {campaign: reasons[campaign] for campaign in in_order if campaign in reasons}


def _versions(campaign: Campaign) -> tuple[str, str]:
    baseline, candidate = (campaign.plan.sides[side].label for side in SIDES)
    return baseline, candidate


def _ratio(found: ComparedCampaign, workload: str, days: ReleaseDays) -> Ratio:
    campaign = found.campaign
    estimate_pct = found.workload(workload).estimate_pct
    assert estimate_pct is not None  # noqa: S101 - those without are left out
    baseline, candidate = _versions(campaign)
    return Ratio(
        campaign=campaign.id,
        at=_place(campaign, days),
        baseline=baseline,
        candidate=candidate,
        log_ratio=math.log1p(estimate_pct / 100),
        standard_error=found.standard_error(workload),
        is_planned=campaign.planned_for is not None,
    )


def _place(campaign: Campaign, days: ReleaseDays) -> datetime:
    if campaign.planned_for is not None:
        return campaign.planned_for
    baseline, candidate = (days.get(order(version)) for version in _versions(campaign))
    if candidate is None:
        return campaign.started_at
    return min(schedule.midnight(max(candidate, baseline or candidate)), campaign.started_at)


def _why_left_out(
    campaign: Campaign, found: ComparedCampaign | None, workload: str, days: ReleaseDays
) -> str | None:
    """Why a campaign neither is in a chain nor shows the noise; None: it does."""
    slowdown_pct = campaign.plan.slowdown_pct
    if found is None:
        return f"{campaign.state}, not complete"
    if slowdown_pct:
        return f"its candidate was slowed down by {slowdown_pct:g}% on purpose"
    if campaign.is_aa:
        if not aa_campaigns.can_calibrate(campaign):
            return "an A/A campaign restored from a dataset snapshot: deployments do not differ"
        return None if workload in found.estimates else "an A/A campaign without two whole rounds"
    if why := _why_no_versions(campaign, workload, days):
        return why
    figures = found.workload(workload)
    if figures.estimate_pct is None:
        return "no complete round"
    if campaign.plan.rounds == 1:
        return "it has one round, which cannot tell a change from noise"
    if figures.verdict == "unstable":
        return f"unstable: {'; '.join(english().texts(figures.reasons))}"
    return None


def _why_no_versions(campaign: Campaign, workload: str, days: ReleaseDays) -> str | None:
    """Why it does not show what a newer version has changed."""
    baseline, candidate = map(order, _versions(campaign))
    if campaign.origin == run.ORIGIN and not (campaign.planned_for or candidate in days):
        return "measured by a bisection, and the calendar has no day of its candidate"
    if baseline == candidate:
        return "compares a version with itself"
    if candidate < baseline and not _came_later(candidate, baseline, days):
        return "its candidate is older than its baseline"
    ours, theirs = (_parameters(campaign, side, workload) for side in SIDES)
    if unlike := _unlike(ours, theirs):
        return f"its sides differ in more than their versions: {', '.join(unlike)}"
    return None


def _came_later(version: Age, other: Age, days: ReleaseDays) -> bool:
    """Whether it is known to be later, like a patch of an old series after a new one began."""
    return version in days and other in days and days[version] > days[other]


def _by_setting(
    ratios: Iterable[Ratio], compared: Mapping[str, ComparedCampaign], workload: str
) -> list[list[Ratio]]:
    groups: dict[str, list[Ratio]] = {}
    for ratio in ratios:
        own = compared[ratio.campaign]
        alike = (name for name in groups if not _differences(own, compared[name], workload))
        groups.setdefault(next(alike, ratio.campaign), []).append(ratio)
    return list(groups.values())


def _noise(
    newest: ComparedCampaign, compared: Iterable[ComparedCampaign], workload: str
) -> NoiseOfCampaigns:
    figures = [
        AaFigure(other.campaign.id, other.campaign.at, other.estimates[workload].mean)
        for other in compared
        if aa_campaigns.can_calibrate(other.campaign)
        and workload in other.estimates
        and not _differences(other, newest, workload)
    ]
    return NoiseOfCampaigns(tuple(sorted(figures, key=lambda found: (found.at, found.campaign))))


def _differences(one: ComparedCampaign, newer: ComparedCampaign, workload: str) -> Differences:
    """How the setting of a campaign differs from that of a newer one."""
    return {
        **aa_campaigns.differences(one.campaign, newer.campaign),
        **_unlike(_measured(one, workload), _measured(newer, workload)),
        **_otherwise_given(one.campaign, newer.campaign, workload),
    }


def _measured(found: ComparedCampaign, workload: str) -> dict[str, Any]:
    campaign = found.campaign
    return {
        "threads": sorted({t.threads for t in campaign.plan.trials if t.workload == workload}),
        **{field: getattr(campaign.report_type, field) for field in _MEASURED},
        "auto_inc": campaign.client.auto_inc,
    }


def _otherwise_given(one: Campaign, newer: Campaign, workload: str) -> Differences:
    """The parameters of a plan that the newer report type would give its versions otherwise.

    By name, with the version where not both versions have another value.
    """
    unlike = {}
    for side in SIDES:
        planned = one.plan.sides[side]
        given = newer.report_type.side(newer.plan.engine, side, version=planned.version)
        unlike[planned.label] = _unlike(
            _named(planned, one, workload), _named(given, newer, workload)
        )
    first, *others = unlike.values()
    if all(first == other for other in others):
        return first
    return {
        f"{name} of {version}": values
        for version, found in unlike.items()
        for name, values in found.items()
    }


def _parameters(campaign: Campaign, side: Side, workload: str) -> dict[str, Any]:
    """The parameters of one side by name, without those by version."""
    effective = campaign.report_type.side(campaign.plan.engine, side, by_version=False)
    return _named(effective, campaign, workload)


def _named(side: SideSpec, campaign: Campaign, workload: str) -> dict[str, Any]:
    """The parameters of a side of a campaign, and those of the workload, by name."""
    by_workload = campaign.report_type.engines[campaign.plan.engine].by_workload.get(workload, {})
    return side.parameters | {
        f"{component} {name}": value
        for components in (side.components, by_workload)
        for component, items in components.items()
        for name, value in items.items()
    }


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> Differences:
    found = {name: (one.get(name), other.get(name)) for name in {**one, **other}}
    return {name: (ours, theirs) for name, (ours, theirs) in found.items() if ours != theirs}
