"""Reads the weeks of report types with ``design: watch`` from the store, and screens by them.

A week belongs to the evidence if it was measured alike and against the same anchor, with the
parameters that the report type gives its versions now. What was measured against an earlier anchor
belongs to it as well, where a *bridge* leads there: a campaign of the same report type whose
candidate is the later anchor and whose baseline is the earlier one.

Example:
    ``Watching(comparer).decide(campaign, trials, pays_for).confirming``
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchlab.analysis.trend import weeks
from benchlab.analysis.trend.weeks import Chances, Week
from benchlab.analysis.verdict import aa_campaigns
from benchlab.analysis.verdict.compare import Comparison, rounds_of
from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.campaign.outline import Outline, outline_of, parameters_of
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES, ReportSpec, Side
from benchlab.results import screening
from benchlab.results.records import Campaign, TrialResult
from benchlab.results.screening import Screening

if TYPE_CHECKING:
    from benchlab.campaign.outcome import Comparer

# What two weeks must have in common, beside their setting and the parameters of their versions.
_ALIKE = ("measured", "by_workload")


class Watching:
    """The weeks of one store; ``comparer`` reads their figures."""

    def __init__(self, comparer: Comparer) -> None:
        self._comparer = comparer

    def before(self, campaign: Campaign | Outline) -> list[Outline]:
        """The weeks and bridges that a campaign's evidence begins with, the earliest first.

        Only those that had ended when it began, so that it is judged by the same ones ever after.
        """
        own = outline_of(campaign)
        anchor, found = own.labels["baseline"], list[Outline]()
        known = [
            other
            for other in self._comparer.outlines(own.report)
            if other.state == "complete"
            and other.ended_at is not None
            and other.ended_at <= own.started_at
            and other.at < own.at
            and other.has_both_sides
            and not (other.is_aa or other.slowdown_pct)
            and not aa_campaigns.unlike(own.setting, other.setting)
            and all(getattr(own, name) == getattr(other, name) for name in _ALIKE)
        ]

        @functools.cache
        def report_type() -> ReportSpec:  # read only where parameters differ
            if isinstance(campaign, Outline):
                return self._comparer.store.campaign(campaign.id).report_type
            return campaign.report_type

        @functools.cache
        def given(side: Side, version: str) -> dict[str, Any]:
            return parameters_of(report_type().side(own.engine, side, version=version))

        for other in sorted(known, key=lambda one: one.at, reverse=True):
            is_bridge = other.screening_rounds is None
            if other.labels["candidate" if is_bridge else "baseline"] != anchor:
                continue
            # A bridge has two baselines.
            sides: Mapping[Side, Side] = {"baseline": "baseline", "candidate": "candidate"}
            if is_bridge:
                sides = dict.fromkeys(SIDES, "baseline")
            if any(
                other.parameters[n] != own.parameters[sides[n]]
                and other.parameters[n] != given(sides[n], other.versions[n])
                for n in SIDES
            ):
                continue
            found.append(other)
            if is_bridge:
                anchor = other.labels["baseline"]
        return found[::-1]

    def weeks(self, campaigns: Sequence[Outline], like: Outline) -> list[Week]:
        """Their figures, as far as they have the thread counts of another campaign."""
        figures, doubts = self._comparer.figures(campaigns), self._comparer.doubts(campaigns)
        return [
            Week(
                build=one.labels["candidate"],
                rounds=weeks.alike(figures[one.id], like.threads),
                screening_rounds=one.screening_rounds,
                confirming_rounds=one.confirming_rounds,
                screening=one.screening or Screening(),
                unstable=frozenset(name for name, reasons in doubts[one.id][0].items() if reasons),
            )
            for one in campaigns
        ]

    def chances(self, planned: Plan, spec: ReportSpec) -> tuple[tuple[str, ...], Chances]:
        """How likely a plan tells a loss of throughput, in the workload where it is least likely.

        Returns:
            Also the campaigns by which that is known: those of its report type up to the latest
            that was measured alike; empty if it is assumed.
        """
        threads = {
            name: tuple(sorted(planned.threads_in_order(name))) for name in planned.workloads
        }
        watched = [
            one
            for one in self._comparer.outlines(planned.report)
            if one.state == "complete"
            and one.screening_rounds == planned.screening_rounds
            and not one.slowdown_pct
            and threads.items() <= one.threads.items()
        ]
        if not watched:
            return (), weeks.least_chances(planned, spec.threshold_pct, {})
        latest = max(watched, key=lambda one: one.at)
        used = [*self.before(latest), latest]
        known = weeks.watches(self.weeks(used, latest), spec.threshold_pct)
        told = weeks.least_chances(planned, spec.threshold_pct, known)
        return tuple(one.id for one in used), told

    def judged(
        self, campaign: Campaign, comparison: Comparison, trials: Sequence[TrialResult]
    ) -> Comparison:
        """A comparison, decided by the weeks where the campaign is one of them."""
        if campaign.plan.screening_rounds is None:
            return comparison
        before = self.before(campaign)
        made = weeks.judged(
            comparison,
            _week(campaign, trials),
            self.weeks(before, outline_of(campaign)),
            campaign.report_type.threshold_pct,
        )
        return replace(made, weeks=tuple(one.id for one in before))

    def decide(
        self,
        campaign: Campaign,
        trials: Sequence[TrialResult],
        pays_for: Callable[[Sequence[str]], bool],
    ) -> Screening:
        """What the screening of a campaign shows, once all workloads are measured.

        Args:
            pays_for: whether these workloads can be confirmed; others are left out, those of the
                weakest evidence first.
        """
        screened = _with_screening(campaign, Screening())
        compared = self._comparer.outcome(screened, trials).comparison
        doubted = tuple(one.name for one in compared.workloads if one.verdict == "unstable")
        screened = _with_screening(campaign, Screening(doubted=doubted))
        limit, own = campaign.report_type.threshold_pct, outline_of(campaign)
        before = self.weeks(self.before(campaign), own)
        flagged = tuple(weeks.flagged(_week(screened, trials), before, limit))
        found, confirming = Screening(flagged, doubted=doubted), list[str]()
        for name in found.workloads:
            if pays_for([*confirming, name]):
                confirming.append(name)
        return replace(found, confirming=tuple(confirming))


def _week(campaign: Campaign, trials: Sequence[TrialResult]) -> Week:
    """A campaign's own part of the evidence."""
    used, _ = usable_trials(campaign.wanted, trials)
    return weeks.week_of(campaign, rounds_of(campaign.wanted, used))


def _with_screening(campaign: Campaign, found: Screening) -> Campaign:
    """A campaign as it is once its screening has shown this."""
    text = screening.as_text(found)
    return replace(campaign, environment={**campaign.environment, screening.KEY: text})
