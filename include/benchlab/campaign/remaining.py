"""Which trials a campaign has left, and in which deployment, as follows from what is stored.

Example:
    ``Remaining(campaign).left(store.trials("c1"), attempt=1)``
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from benchlab.analysis.verdict import usable_trials
from benchlab.campaign.stored import StoredCampaign
from benchlab.language import message
from benchlab.plan.order import PlannedTrial
from benchlab.results.records import TrialResult
from benchlab.results.screening import Screening


class Remaining:
    """The trials of one campaign that are left."""

    def __init__(self, of: StoredCampaign) -> None:
        self.store, self.campaign, self.spec, self.plan = of.store, of.campaign, of.spec, of.plan

    @property
    def screening(self) -> Screening | None:
        """What the screening showed; None before it has ended, and with another design."""
        if self.plan.screening_rounds is None:
            return None
        return self.store.campaign(self.campaign.id).screening

    @property
    def wanted(self) -> Sequence[PlannedTrial]:
        """The trials of the plan that are to be measured, as far as that is known."""
        if self.plan.looks:
            return self.store.campaign(self.campaign.id).wanted.trials
        # Before the screening has ended, any trial that confirms may be needed.
        known = self.screening
        return (self.plan if known is None else self.plan.confirming(known.confirming)).trials

    def current(self) -> int:
        """The number of the deployment that is measured now, from 1.

        It is that of the latest stored round, or the next one if nothing is left of that.
        """
        if self.plan.deployments == 1:
            return 1
        results = self.store.trials(self.campaign.id)
        latest = self.latest(results)
        left = (trial for attempt in self.attempts for trial in self.left(results, attempt))
        if any(self.plan.deployment_of(trial.round) == latest for trial in left):
            return latest
        return min(latest + 1, self.plan.deployments)

    def abandon_cut_pairs(self) -> None:
        """Invalidate interrupted blocks, before a side is deployed again.

        Otherwise such a block would span two deployments.
        """
        size = Counter(planned.pair for planned in self.plan.trials)
        measured: dict[tuple[tuple[int, str], int], list[TrialResult]] = {}
        for result in self.store.trials(self.campaign.id):
            measured.setdefault((result.trial.pair, result.attempt), []).append(result)
        for (pair, attempt), members in measured.items():
            if len(members) == size[pair] or not all(member.valid for member in members):
                continue  # complete, or invalid already
            for member in members:
                reason = message("reason-cut")
                self.store.invalidate(self.campaign.id, member.trial.id, attempt, reason)

    @property
    def attempts(self) -> range:
        """All attempts: 1 for the plan, then one for each repeat that the report type allows."""
        return range(1, self.spec.repeat_limit + 2)

    def latest(self, results: Sequence[TrialResult]) -> int:
        """The deployment that was measured last, from 1."""
        return self.plan.deployment_of(max((r.trial.round for r in results), default=1))

    def to_repeat(self, results: Sequence[TrialResult], attempt: int) -> list[PlannedTrial]:
        """The trials that ``attempt`` (2, 3, ...) has to repeat, in plan order.

        They belong to the deployment that was measured last. What an earlier one lacks stays
        missing: its data are gone, and blocks of another deployment do not replace its own.
        """
        if attempt not in self.attempts:
            return []
        earlier = [result for result in results if result.attempt < attempt]
        pairs = set(usable_trials.invalid_pairs(self.plan, earlier))
        there = self.latest(results)
        return [
            planned
            for planned in self.wanted
            if planned.pair in pairs and self.plan.deployment_of(planned.round) == there
        ]

    def is_anything(self) -> bool:
        """Whether any trial is left, planned or to be repeated."""
        results = self.store.trials(self.campaign.id)
        return any(self.left(results, attempt) for attempt in self.attempts)

    def left(self, results: Sequence[TrialResult], attempt: int) -> list[PlannedTrial]:
        """The trials that an attempt has not measured yet, in plan order."""
        wanted = self.wanted if attempt == 1 else self.to_repeat(results, attempt)
        done = {result.trial.id for result in results if result.attempt == attempt}
        return [planned for planned in wanted if planned.id not in done]
