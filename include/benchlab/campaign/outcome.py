"""What a campaign shows so far: its record, its trials and the comparison of its sides."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchlab.analysis.gates import gates
from benchlab.analysis.gates.gates import Gate
from benchlab.analysis.verdict import compare
from benchlab.analysis.verdict.aa_campaigns import can_calibrate, figures_of, is_alike
from benchlab.analysis.verdict.calibration import Calibration, calibrate
from benchlab.analysis.verdict.calibration_checks import calibration_checks
from benchlab.analysis.verdict.compare import Comparison
from benchlab.analysis.verdict.decision import MetricKind
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.home import Home
from benchlab.results.records import Campaign, GateResult, TrialResult, inconsistencies
from benchlab.results.store import Store


@dataclass(frozen=True)
class Outcome:
    """A campaign as the store had it at one moment, and the comparison computed from it."""

    campaign: Campaign
    trials: Sequence[TrialResult]
    comparison: Comparison


class Comparer:
    """Compares campaigns of one store; reads gates and A/A campaigns, which they share, once.

    Example:
        ``Comparer(home, store).outcome(store.campaign("c1")).comparison.workloads``

    Attributes:
        campaigns: all campaigns of a report type, the earliest first, as of the first call; later
            ones are not seen.
    """

    def __init__(self, home: Home, store: Store) -> None:
        self.home, self.store = home, store
        self.campaigns = functools.cache(store.campaigns)
        self._figures: dict[str, list[Rounds]] = {}
        self._calibrations: dict[tuple[str, ...], Calibration] = {}

    def outcome(self, campaign: Campaign) -> Outcome:
        """The comparison of a campaign, from the trials that the store has now.

        Raises:
            SpecError: the gates cannot be read.
            StoreError: the store cannot be read.
        """
        trials = self.store.trials(campaign.id)
        comparison = compare.compare(
            campaign.plan,
            trials,
            campaign.report_type.threshold_pct,
            inconsistencies(campaign.facts),
            gates=self.gates,
            calibration=self.calibration(campaign),
        )
        return Outcome(campaign, trials, comparison)

    def calibration(self, campaign: Campaign) -> Calibration:
        """What other A/A campaigns of the same report type and setting show."""
        known = tuple(other.id for other in self.calibrating(campaign))
        if known not in self._calibrations:
            self._calibrations[known] = calibrate({name: self._figures[name] for name in known})
        return self._calibrations[known]

    def calibrating(self, campaign: Campaign) -> list[Campaign]:
        """The A/A campaigns by which a campaign is calibrated; their figures are then known."""
        alike = [
            other
            for other in self.campaigns(campaign.plan.report)
            if other.id != campaign.id and can_calibrate(other) and is_alike(campaign, other)
        ]
        for other in alike:
            if other.id not in self._figures:
                self._figures[other.id] = figures_of(self.store, other)
        return alike

    def calibration_gates(
        self, found: Outcome
    ) -> Iterator[tuple[str, MetricKind, tuple[GateResult, ...]]]:
        """What the gates of the table ``calibration`` find, by workload and kind of metric."""
        others = self.calibrating(found.campaign)
        rows = calibration_checks(
            figures_of(self.store, found.campaign),
            found.campaign.started_at,
            {other.started_at: self._figures[other.id] for other in others},
        )
        chosen = gates.of_table(self.gates, "calibration")
        for workload, kind, columns in rows:
            yield workload, kind, gates.evaluate(chosen, columns)

    @functools.cached_property
    def gates(self) -> tuple[Gate, ...]:
        """The definitions of all gates."""
        return gates.load_all(self.home.configs / "quality")
