"""The comparisons of many campaigns of one store."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from benchlab import engines
from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison, rounds_of
from benchlab.analysis.verdict.estimates import estimates
from benchlab.analysis.verdict.paired import Estimate
from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.campaign import report_types
from benchlab.campaign.outcome import Comparer
from benchlab.home import Home
from benchlab.plan import versions
from benchlab.results.records import Campaign
from benchlab.results.store import Store

ReleaseDays = Mapping[object, date]
"""The day of each release that is known, by the age of its version."""


@dataclass(frozen=True)
class ComparedCampaign:
    """A campaign with its comparison.

    Attributes:
        estimates: by workload, of its throughput, as a logarithm; workloads with fewer than two
            complete rounds have none.
    """

    campaign: Campaign
    comparison: Comparison
    estimates: Mapping[str, Estimate]

    def workload(self, name: str) -> WorkloadComparison:
        """One workload's comparison; the campaign has planned it."""
        return next(found for found in self.comparison.workloads if found.name == name)

    def standard_error(self, workload: str) -> float | None:
        """The standard error of a workload's mean log ratio; None where it is not known."""
        found = self.estimates.get(workload)
        return found.error if found and math.isfinite(found.error) else None


class Comparisons(Comparer):
    """Compares campaigns, each once; what is written to the store later is not seen.

    Example:
        ``Comparisons(home, store).compared(campaign).workload("oltp_insert").verdict``
    """

    def __init__(self, home: Home, store: Store) -> None:
        super().__init__(home, store)
        self._compared: dict[str, ComparedCampaign] = {}

    def release_days(self, report: str) -> ReleaseDays:
        """The releases of the engines that a report type was measured with.

        Raises:
            SpecError: the release calendar does not validate.
        """
        calendar = report_types.calendar(self.home)
        return {
            versions.order(release.version.text): release.day
            for engine in sorted({made.plan.engine for made in self.campaigns(report)})
            for release in calendar.owned(engines.by_name()[engine].owns)
        }

    def compared(self, campaign: Campaign) -> ComparedCampaign:
        """A campaign's comparison. Raises as :meth:`outcome`."""
        if campaign.id not in self._compared:
            found = self.outcome(campaign)
            used, _ = usable_trials(campaign.plan, found.trials)
            calibration = found.comparison.calibration
            shown = estimates(rounds_of(campaign.plan, used), "throughput", calibration)
            versions = {workload: one.versions for workload, one in shown.items()}
            self._compared[campaign.id] = ComparedCampaign(campaign, found.comparison, versions)
        return self._compared[campaign.id]
