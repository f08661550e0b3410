"""The trials of a campaign, executed in the plan's order, each once, whoever asks and after
whatever crash.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchlab import catalog, compare, quality, trial
from benchlab.errors import BenchlabError, NotMeasuredError
from benchlab.home import Home
from benchlab.lock import fence
from benchlab.plan import PlannedTrial
from benchlab.progress import ProgressLog, Step
from benchlab.results import Campaign, TrialResult
from benchlab.spec import ReportSpec
from benchlab.store import Store

# A repeated task waits this long beyond a trial's own time for the process it repeats.
FENCE_SLACK_S = 600.0
# Of one trial, before it counts as one that cannot be executed; and of trials in a row that
# cannot, before the campaign is given up.
TRIES = 3


class TrialSequence:
    """The trials of one campaign.

    Args:
        home, store: the installation and its results store.
        campaign: its record.
        deployment: the target on which the sides are deployed.
        keep: renews the lease of the machine's lock, or raises LockHeldError.
        progress: told every phase.
    """

    def __init__(
        self,
        home: Home,
        store: Store,
        campaign: Campaign,
        deployment: trial.Deployment,
        keep: Callable[[], object],
        progress: ProgressLog,
    ) -> None:
        self.home, self.store, self.campaign = home, store, campaign
        self.deployment, self.keep, self.progress = deployment, keep, progress
        self.spec, self.plan = ReportSpec.model_validate(campaign.spec), campaign.plan
        self.directory: Path = home.campaign(campaign.id)

    def measure_next(self, attempt: int = 1) -> TrialResult | None:
        """Execute the next trial of the plan that has no result yet, and store it, once.

        Which trial is next is decided here and not by the caller, so that the plan's order
        holds whoever calls, in whatever order, and after whatever crash. A process of an
        earlier try that is still at work is waited for; a client that it left is adopted.

        Args:
            attempt: 1 for the plan; 2, 3, ... for the pairs of blocks measured again.

        Returns:
            What was found; None where nothing is left to do. A trial that could not be
            executed in ``TRIES`` tries is stored as invalid, with the error as its reason.

        Raises:
            NotMeasuredError: trial after trial cannot be executed; nothing more is tried.
            BenchlabError: this try failed; call again.
        """
        limit_s = self.spec.seconds + self.spec.warmup_seconds + FENCE_SLACK_S
        with fence(self.directory / "trial.fence", limit_s):
            results = self.store.trials(self.campaign.id)
            self._refuse_to_go_on_in_vain(results)
            planned = self._next(results, attempt)
            if planned is None:
                return None
            self.keep()
            tries = self._begin(planned, attempt)
            try:
                return self._keep(self._execute(planned, attempt, repeated=tries > 1))
            except BenchlabError as error:
                self._note_failure(planned, tries, error)
                if tries < TRIES:
                    raise
                return self._give_up(planned, attempt, error)

    def measure_all(self) -> None:
        """All trials, then the invalid pairs again, up to the report type's limit."""
        for attempt in range(1, self.spec.repeat_limit + 2):
            while True:
                try:
                    if self.measure_next(attempt) is None:
                        break
                except NotMeasuredError:
                    raise
                except BenchlabError:
                    continue  # noted; the next call tries it again, a bounded number of times

    def repeats(self, attempt: int) -> list[PlannedTrial]:
        """The trials that ``attempt`` (2, 3, ...) has to measure again, in plan order."""
        earlier = [r for r in self.store.trials(self.campaign.id) if r.attempt < attempt]
        pairs = set(compare.invalid_pairs(self.plan, earlier))
        return [planned for planned in self.plan.trials if planned.pair in pairs]

    def abandon_cut_pairs(self) -> None:
        """Before a side is deployed anew: pairs of blocks that were cut count as invalid.

        Their two blocks would otherwise come from two deployments.
        """
        results = [r for r in self.store.trials(self.campaign.id) if r.valid]
        whole = {
            (pair, attempt)
            for pair, attempt in {(r.trial.pair, r.attempt) for r in results}
            if sum(r.trial.pair == pair and r.attempt == attempt for r in results)
            == sum(planned.pair == pair for planned in self.plan.trials)
        }
        for result in results:
            if (result.trial.pair, result.attempt) not in whole:
                reason = "its pair of blocks was cut by an interruption"
                self.store.invalidate(self.campaign.id, result.trial.id, result.attempt, reason)

    def _next(self, results: Sequence[TrialResult], attempt: int) -> PlannedTrial | None:
        wanted = self.plan.trials if attempt == 1 else self.repeats(attempt)
        done = {result.trial.id for result in results if result.attempt == attempt}
        return next((planned for planned in wanted if planned.id not in done), None)

    def _begin(self, planned: PlannedTrial, attempt: int) -> int:
        """Note that a try begins; how many there have been, this one included."""
        path = self.directory / "begun" / f"{planned.id}-a{attempt}"
        path.parent.mkdir(exist_ok=True)
        with path.open("a+", encoding="utf-8") as file:
            file.write(f"{datetime.now(UTC).isoformat()}\n")
            file.seek(0)
            return len(file.readlines())

    def _execute(self, planned: PlannedTrial, attempt: int, *, repeated: bool) -> trial.Collected:
        return trial.measure(
            self._setting(planned),
            planned,
            attempt,
            check_dataset=self._is_first_of_side(planned),
            force_restore=repeated,
            on_phase=lambda phase: self._note_trial(planned, attempt, phase),
        )

    def _give_up(self, planned: PlannedTrial, attempt: int, error: BenchlabError) -> TrialResult:
        now = datetime.now(UTC)
        result = TrialResult(
            trial=planned,
            attempt=attempt,
            valid=False,
            reasons=(f"not executed in {TRIES} tries: {error}",),
            samples=(),
            gates=(),
            started_at=now,
            ended_at=now,
        )
        self.store.add_trial(self.campaign.id, result)
        return result

    def _refuse_to_go_on_in_vain(self, results: Sequence[TrialResult]) -> None:
        latest = sorted(results, key=lambda result: result.ended_at)[-TRIES:]
        if len(latest) == TRIES and not any(result.executed for result in latest):
            raise NotMeasuredError(
                f"the last {TRIES} trials could not be executed, so no more are tried; the last "
                f"error: {'; '.join(latest[-1].reasons)}"
            )

    def _setting(self, planned: PlannedTrial) -> trial.Setting:
        return trial.Setting(
            deployment=self.deployment,
            workload=catalog.workloads()[planned.workload],
            dataset=self.spec.dataset,
            warmup_seconds=self.spec.warmup_seconds,
            directory=self.directory,
            password=self.home.password(self.campaign.id),
            gates=quality.load(self.home.configs / "quality" / "validity.yaml"),
            facts=self.store.campaign(self.campaign.id).facts,
        )

    def _keep(self, collected: trial.Collected) -> TrialResult:
        result = collected.result
        name = f"{self.campaign.id}/{result.trial.id}-a{result.attempt}"
        result = dataclasses.replace(
            result,
            raw=self.store.write_object(f"{name}.txt", collected.raw),
            series=self.store.write_object(f"{name}.csv", collected.series_csv),
        )
        self.store.add_trial(self.campaign.id, result)
        return result

    def _is_first_of_side(self, planned: PlannedTrial) -> bool:
        first = next(t for t in self.plan.trials if t.side == planned.side)
        return planned == first

    def _note_trial(self, planned: PlannedTrial, attempt: int, phase: str) -> None:
        total = len(self.plan.trials)
        self.progress.write(
            Step(
                at=time.time(),
                stage="trial",
                phase=phase,
                done=planned.index if attempt == 1 else total - 1,
                total=total,
                trial=planned.title,
                note="" if attempt == 1 else f"measured again, {attempt - 1}",
            )
        )

    def _note_failure(self, planned: PlannedTrial, tries: int, error: BenchlabError) -> None:
        note = f"{planned.title}, try {tries} of {TRIES}: {error}"
        self.progress.write(Step(time.time(), "trial", "failed", note=note))
