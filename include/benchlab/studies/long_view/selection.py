"""Selects the campaigns of a report type that are chained, and those that show the noise.

The campaigns of one chain have one setting, so that only versions differ between them. A setting is
what must be equal for deployments to be alike (:mod:`benchlab.analysis.verdict.aa_campaigns`), and
what is measured on them. Parameters by version belong to the version, provided that it has the same
ones everywhere in a chain: the report type of the newest campaign must give every version the
parameters that it had in an earlier campaign's plan. A new setting begins a new chain, so that its
effect is not taken for a change of version. Within a setting each line of versions
(:mod:`benchlab.analysis.trend.chain`) has its own chain.

A campaign's place in its chain is the moment that it was planned for. One that a person started has
no such moment, and is placed on the day from which its versions could be measured: an older pair
measured today says nothing new about today.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchlab.analysis.trend.chain import Age, Ratio, lines
from benchlab.analysis.verdict import aa_campaigns
from benchlab.analysis.verdict.estimates import LEAST_ROUNDS
from benchlab.campaign.outline import Outline, differences, parameters_of
from benchlab.language import Message, joined, message
from benchlab.plan.fields import schedule
from benchlab.plan.report_type import SIDES, ReportSpec, Side
from benchlab.plan.versions import order
from benchlab.studies.bisection import run
from benchlab.studies.comparisons import ComparedCampaign, ReleaseDays

MIN_CAMPAIGNS = 5
"""The fewest A/A campaigns that show how far campaigns scatter."""

ReportTypes = Callable[[str], ReportSpec]
"""Returns the report type that a campaign was run with, by the campaign's id."""
Differences = Mapping[str, tuple[Any, Any]]
"""How two settings differ: by name, the values in the first and in the second."""


@dataclass(frozen=True)
class AaFigure:
    """The log ratio that an A/A campaign found; its true value is 0."""

    campaign: str
    at: datetime
    log_ratio: float


@dataclass(frozen=True)
class NoiseOfCampaigns:
    """The A/A campaigns of a setting and what they found in one workload, by time."""

    figures: tuple[AaFigure, ...]

    @property
    def sd(self) -> float | None:
        """The standard deviation of the log ratios; None with fewer than five.

        It is about zero, not about their mean: zero is what they should have found.
        """
        if len(self.figures) < MIN_CAMPAIGNS:
            return None
        squares = math.fsum(figure.log_ratio**2 for figure in self.figures)
        return math.sqrt(squares / len(self.figures))


@dataclass(frozen=True)
class Chained:
    """The campaigns of one chain: of one workload, one setting and one line of versions.

    Attributes:
        ratios: of the campaigns, by time; at least one.
        differs: how the setting differs from the next newer one; empty for the newest.
    """

    line: str
    ratios: tuple[Ratio, ...]
    noise: NoiseOfCampaigns
    differs: Differences


def select_chains(
    workload: str,
    campaigns: Iterable[Outline],
    compared: Mapping[str, ComparedCampaign],
    days: ReleaseDays,
    report_types: ReportTypes,
) -> tuple[list[Chained], dict[str, Message]]:
    """Sort the campaigns of a report type that measured a workload into chains.

    Args:
        campaigns: those with two sides.
        compared: by id, all of them that are complete.
        days: the days of releases, for campaigns that a person started.
        report_types: called for the newest campaign of each setting.

    Returns:
        The chains, the newest setting first and in each setting the line ``newest`` first; and by
        id, in order of time, why other campaigns are in no chain and show no noise.
    """
    of_workload = sorted(
        (campaign for campaign in campaigns if workload in campaign.threads),
        key=lambda campaign: (campaign.at, campaign.id),
    )
    reasons: dict[str, Message] = {}
    ratios = []
    for campaign in of_workload:
        found = compared.get(campaign.id)
        if (why := _why_left_out(campaign, found, workload, days)) is not None:
            reasons[campaign.id] = why
        elif found is not None and not campaign.is_aa:
            ratios.append(_ratio(found, workload, days))
    ratios.sort(key=lambda ratio: ratio.order, reverse=True)
    chains: list[Chained] = []
    newer: _Newest | None = None
    for newest, group in _by_setting(ratios, compared, workload, report_types):
        differs = newer.differences(newest.campaign) if newer else {}
        noise = _noise(newest, compared.values(), workload)
        found_lines, why_not = lines(group)
        reasons.update(why_not)
        chains += [Chained(*line, noise, differs) for line in found_lines.items()]
        newer = newest
    in_order = (campaign.id for campaign in of_workload)
    return chains, {campaign: reasons[campaign] for campaign in in_order if campaign in reasons}


def _versions(campaign: Outline) -> tuple[str, str]:
    return campaign.labels["baseline"], campaign.labels["candidate"]


def _ratio(found: ComparedCampaign, workload: str, days: ReleaseDays) -> Ratio:
    campaign = found.campaign
    decided = found.workload(workload)
    estimate_pct, known_pct = decided.estimate_pct, decided.known_pct
    assert estimate_pct is not None  # noqa: S101 - those without are left out
    baseline, candidate = _versions(campaign)
    return Ratio(
        campaign=campaign.id,
        at=_place(campaign, days),
        baseline=baseline,
        candidate=candidate,
        # With `design: watch` the estimate is counted from what was known before.
        log_ratio=math.log1p(estimate_pct / 100) + math.log1p((known_pct or 0.0) / 100),
        standard_error=found.standard_error(workload),
        is_planned=campaign.planned_for is not None,
        df=found.estimates[workload].variance.df,
    )


def _place(campaign: Outline, days: ReleaseDays) -> datetime:
    if campaign.planned_for is not None:
        return campaign.planned_for
    baseline, candidate = (days.get(order(version)) for version in _versions(campaign))
    if candidate is None:
        return campaign.started_at
    return min(schedule.midnight(max(candidate, baseline or candidate)), campaign.started_at)


def _why_left_out(
    campaign: Outline, found: ComparedCampaign | None, workload: str, days: ReleaseDays
) -> Message | None:
    """Why a campaign is neither chained nor shows the noise; None if it does either."""
    slowdown_pct = campaign.slowdown_pct
    if found is None:
        return message("left-out-state", state=message(f"state-{campaign.state}"))
    if slowdown_pct:
        return message("left-out-slowed", pct=f"{slowdown_pct:g}")
    if campaign.is_aa:
        if not campaign.calibrates:
            return message("left-out-restored")
        return None if workload in found.estimates else message("left-out-aa-rounds")
    if why := _why_no_versions(campaign, workload, days):
        return why
    figures = found.verdicts.get(workload)
    if figures is None:
        return message("left-out-no-count")
    if figures.estimate_pct is None:
        is_change = figures.verdict in ("regression", "improvement")
        return message("left-out-from-none" if is_change else "left-out-no-round")
    if workload not in found.estimates:
        is_few = figures.rounds_used < LEAST_ROUNDS
        return message("left-out-few-rounds" if is_few else "left-out-at-rate")
    if figures.verdict == "unstable":
        return message("left-out-unstable", why=joined(figures.reasons))
    return None


def _why_no_versions(campaign: Outline, workload: str, days: ReleaseDays) -> Message | None:
    """Why a campaign does not show the change that a newer version brought."""
    baseline, candidate = map(order, _versions(campaign))
    if campaign.origin == run.ORIGIN and not (campaign.planned_for or candidate in days):
        return message("left-out-bisection")
    if baseline == candidate:
        return message("left-out-itself")
    if candidate < baseline and not _came_later(candidate, baseline, days):
        return message("left-out-older")
    if unlike := campaign.unlike.get(workload):
        return message("left-out-sides", names=", ".join(unlike))
    return None


def _came_later(version: Age, other: Age, days: ReleaseDays) -> bool:
    """Whether a version is known to be later, like a patch of an old series after a new one."""
    return version in days and other in days and days[version] > days[other]


class _Newest:
    """The newest campaign of a setting, and how older ones differ from it in one workload."""

    def __init__(self, found: ComparedCampaign, workload: str, report_types: ReportTypes) -> None:
        self.campaign, self._workload = found.campaign, workload
        self._spec = functools.cache(functools.partial(report_types, found.campaign.id))
        self._given = functools.cache(self._named)
        self._known: dict[str, Differences] = {}

    def differences(self, one: Outline) -> Differences:
        """How the setting of a campaign differs from the newest one's."""
        # Cached, since most campaigns have the setting of the one before them.
        own = (one.setting, one.measured, one.threads[self._workload], one.labels, one.versions)
        named = [one.named(side, self._workload) for side in SIDES]
        key = repr((own, named))
        if key not in self._known:
            self._known[key] = {
                **aa_campaigns.unlike(one.setting, self.campaign.setting),
                **differences(self._measured(one), self._measured(self.campaign)),
                **self._otherwise_given(one),
            }
        return self._known[key]

    def _measured(self, campaign: Outline) -> dict[str, Any]:
        return {"threads": list(campaign.threads[self._workload]), **campaign.measured}

    def _otherwise_given(self, one: Outline) -> Differences:
        """The parameters of a plan that this report type would give its versions differently.

        They are listed by name, with the version unless both versions differ in the same way.
        """
        unlike = {
            one.labels[side]: differences(
                one.named(side, self._workload), self._given(side, one.versions[side])
            )
            for side in SIDES
        }
        first, *others = unlike.values()
        if all(first == other for other in others):
            return first
        return {
            f"{name} ({version})": values
            for version, found in unlike.items()
            for name, values in found.items()
        }

    def _named(self, side: Side, version: str) -> dict[str, Any]:
        """The parameters that the report type would give a version, by name."""
        given = self._spec().side(self.campaign.engine, side, version=version)
        return {
            **parameters_of(given),
            **self.campaign.by_workload.get(self._workload, {}),
        }


def _by_setting(
    ratios: Iterable[Ratio],
    compared: Mapping[str, ComparedCampaign],
    workload: str,
    report_types: ReportTypes,
) -> list[tuple[_Newest, list[Ratio]]]:
    groups: list[tuple[_Newest, list[Ratio]]] = []
    for ratio in ratios:
        own = compared[ratio.campaign]
        alike = (group for newest, group in groups if not newest.differences(own.campaign))
        group = next(alike, None)
        if group is None:
            group = []
            groups.append((_Newest(own, workload, report_types), group))
        group.append(ratio)
    return groups


def _noise(
    newest: _Newest, compared: Iterable[ComparedCampaign], workload: str
) -> NoiseOfCampaigns:
    figures = [
        AaFigure(other.campaign.id, other.campaign.at, other.estimates[workload].mean)
        for other in compared
        if other.campaign.calibrates
        and workload in other.estimates
        and not newest.differences(other.campaign)
    ]
    return NoiseOfCampaigns(tuple(sorted(figures, key=lambda found: (found.at, found.campaign))))
