"""The comparisons of many campaigns of one store: what they share is read once.

Each is what ``benchlab compare`` says of it. That reads the A/A campaigns of the campaign's setting
with all their trials, which many campaigns have in common.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from benchlab import engines as engines_module
from benchlab.analysis.gates import gates
from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.verdict import compare
from benchlab.analysis.verdict.aa_campaigns import can_calibrate, figures_of, is_alike
from benchlab.analysis.verdict.calibration import Calibration, calibrate
from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison
from benchlab.analysis.verdict.paired import Estimate, estimate
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.campaign import report_types
from benchlab.home import Home
from benchlab.plan import versions
from benchlab.plan.releases import Calendar
from benchlab.results.records import Campaign, inconsistencies
from benchlab.results.store import Store

ReleaseDays = Mapping[object, date]
"""The day of each release that is known, by the age of its version."""


@dataclass(frozen=True)
class ComparedCampaign:
    """A campaign with its comparison.

    Attributes:
        estimates: by workload, of its throughput, as a logarithm; workloads with fewer than two
            complete rounds have none.
        threads: by workload, the thread counts that were planned.
    """

    campaign: Campaign
    comparison: Comparison
    estimates: Mapping[str, Estimate]
    threads: Mapping[str, frozenset[int]]

    def workload(self, name: str) -> WorkloadComparison:
        """One workload's comparison; the campaign has planned it."""
        return next(each for each in self.comparison.workloads if each.name == name)

    def standard_error(self, workload: str) -> float | None:
        """Of a workload's mean log ratio; None where it is not known."""
        found = self.estimates.get(workload)
        return found.error if found and math.isfinite(found.error) else None


class Comparisons:
    """Compares campaigns, each once.

    Args:
        home: the installation, for its gates.
        store: the results store; what is written to it later is not seen.
    """

    def __init__(self, home: Home, store: Store) -> None:
        self._home, self._store = home, store
        self._compared: dict[str, ComparedCampaign] = {}
        self._campaigns: dict[str, list[Campaign]] = {}
        self._figures: dict[str, list[Rounds]] = {}
        self._calibrations: dict[tuple[str, ...], Calibration] = {}

    def campaigns(self, report: str) -> list[Campaign]:
        """All campaigns of a report type, the earliest first."""
        if report not in self._campaigns:
            self._campaigns[report] = self._store.campaigns(report)
        return self._campaigns[report]

    def release_days(self, report: str) -> ReleaseDays:
        """Of the engines that a report type was measured with.

        Raises:
            SpecError: the release calendar does not validate.
        """
        engines = {each.plan.engine for each in self.campaigns(report)}
        return {
            versions.order(release.version.text): release.day
            for engine in sorted(engines)
            for release in self._calendar.owned(engines_module.by_name()[engine].owns)
        }

    def compared(self, campaign: Campaign) -> ComparedCampaign:
        """A campaign's comparison.

        Raises:
            SpecError: the gates cannot be read.
            StoreError: the store cannot be read.
        """
        if campaign.id not in self._compared:
            self._compared[campaign.id] = self._compare(campaign)
        return self._compared[campaign.id]

    def _compare(self, campaign: Campaign) -> ComparedCampaign:
        trials, calibration = self._store.trials(campaign.id), self._calibration(campaign)
        comparison = compare.compare(
            campaign.plan,
            trials,
            campaign.report_type.threshold_pct,
            inconsistencies(campaign.facts),
            gates=self._gates,
            calibration=calibration,
        )
        rounds = compare.rounds_of(campaign.plan, usable_trials(campaign.plan, trials)[0])
        estimates = {
            each.workload: estimate(
                each.log_ratios("throughput").mean(axis=1), calibration.unseen(each, "throughput")
            )
            for each in rounds
        }
        return ComparedCampaign(
            campaign,
            comparison,
            {name: found for name, found in estimates.items() if found is not None},
            {each.workload: frozenset(each.threads) for each in rounds},
        )

    @functools.cached_property
    def _calendar(self) -> Calendar:
        return report_types.calendar(self._home)

    @functools.cached_property
    def _gates(self) -> tuple[Gate, ...]:
        return gates.load_all(self._home.configs / "quality")

    def _calibration(self, campaign: Campaign) -> Calibration:
        """As :func:`benchlab.analysis.verdict.aa_campaigns.calibration_for`."""
        known = tuple(
            other.id
            for other in self.campaigns(campaign.plan.report)
            if other.id != campaign.id and can_calibrate(other) and is_alike(campaign, other)
        )
        if known not in self._calibrations:
            for each in self.campaigns(campaign.plan.report):
                if each.id in known and each.id not in self._figures:
                    self._figures[each.id] = figures_of(self._store, each)
            self._calibrations[known] = calibrate({each: self._figures[each] for each in known})
        return self._calibrations[known]
