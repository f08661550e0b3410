"""Executes the trials of a campaign, each once and in the plan's order, from any process."""

from __future__ import annotations

import contextlib
import dataclasses
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any

from benchlab import workloads
from benchlab.analysis.gates import gates
from benchlab.analysis.gates.gates import Gate
from benchlab.campaign import calm, equal_load, recovery, room, trial
from benchlab.campaign.deployment import TrialSetup
from benchlab.campaign.looking import look
from benchlab.campaign.money import Money
from benchlab.campaign.progress import ProgressNote
from benchlab.campaign.recovery import Recovery
from benchlab.campaign.remaining import Remaining
from benchlab.campaign.state import TRIES, Begun, StateFile
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import (
    BenchlabError,
    LockHeldError,
    NotMeasuredError,
    StoreError,
    TryFailedError,
)
from benchlab.hosts.lock import fence
from benchlab.language import message, names, said_by
from benchlab.plan.open_loop import saturated
from benchlab.plan.order import PlannedTrial
from benchlab.plan.steps import (
    SKIPPED_TASK_S,
    minutes_after_trials,
    preparing_minutes,
    trial_minutes,
)
from benchlab.report import gate_files
from benchlab.results import looks, screening
from benchlab.results.looks import Look
from benchlab.results.records import TrialResult
from benchlab.targets.target import Deployment, ServersOfOthers

# A repeated task waits for the earlier process for the length of a trial plus this.
FENCE_SLACK_S = 600.0


class TrialSequence:
    """Measures the trials of one campaign.

    Args:
        deployment: where the sides are deployed.
        prepare: deploys and prepares both sides for the current deployment.

    Example:
        ``CampaignRun.open(home, store, "c1").sequence.measure_next()``
    """

    def __init__(
        self,
        of: StoredCampaign,
        deployment: Deployment,
        state: StateFile,
        remaining: Remaining,
        money: Money,
        recovery: Recovery,
        prepare: Callable[[], object],
    ) -> None:
        self.home, self.store, self.campaign = of.home, of.store, of.campaign
        self.spec, self.plan, self.directory = of.spec, of.plan, of.directory
        self.progress, self._note = of.progress, of.note
        self._decide = of.comparer.watching.decide
        self._look_at: Callable[..., Look] = partial(look, of.comparer)
        self.deployment, self.state, self.remaining = deployment, state, remaining
        self.money, self.recovery, self.prepare = money, recovery, prepare

    def measure_next(self, attempt: int = 1) -> TrialResult | None:
        """Execute the first planned trial that has no result yet, and store its result.

        The trial is chosen here and not by the caller, so that the plan's order holds whichever
        task calls, and after a crash. If the process of an earlier try still runs, this waits for
        it; if it left a client, the client is adopted.

        Args:
            attempt: 1 for the plan; 2, 3, ... for repeats of invalid blocks.

        Returns:
            The trial's result; None if nothing is left to do, or measuring has stopped. A trial
            that could not be executed in ``TRIES`` tries is stored as invalid, with the error as
            its reason.

        Raises:
            NotMeasuredError: the last ``TRIES`` trials could not be executed; no more are tried.
            TryFailedError: this try failed and was counted; call again.
            LockHeldError, StoreError: nothing was tried; retrying at once would not help.
        """
        with self.fenced():
            self._end_deployment(attempt)
            return self._measure_next(attempt)

    def begin_next(self, attempt: int = 1) -> Begun | TrialResult | None:
        """The first half of :meth:`measure_next`: up to the start of the client.

        The caller need not wait while the client runs; :meth:`collect` is the second half.

        Returns:
            The trial that has begun; its result if it was given up; None as :meth:`measure_next`.

        Raises:
            NotMeasuredError, TryFailedError, LockHeldError, StoreError: as :meth:`measure_next`.
        """
        with self.fenced():
            self._end_deployment(attempt)
            return self._begin_next(attempt)

    def collect(self, begun: Begun) -> TrialResult:
        """The second half: wait until the client ends, read its output, store the result.

        Raises:
            TryFailedError: this try failed, for example because the client's host cannot be
                reached; :meth:`begin_next` adopts the client later.
        """
        with self.fenced(), self._not_counted_if_away(begun.trial, begun.attempt):
            if result := self.store.trial(self.campaign.id, begun.trial, begun.attempt):
                return result  # another process has come first
            self.deployment.acquire(self.campaign.origin)
            return self._collect(begun)

    def measure_all(self) -> None:
        """Measure all trials, then repeat invalid blocks, up to the report type's limit.

        Raises:
            NotMeasuredError, LockHeldError, StoreError: as :meth:`measure_next`.
        """
        for attempt in self.remaining.attempts:
            _until_none(partial(self.measure_next, attempt))

    def screen(self) -> list[PlannedTrial]:
        """Decide which workloads are confirmed, once all are measured; returns what is left.

        With ``design: watch``. What was decided once stays so.
        """
        with self.fenced():
            self._end_deployment(1)
            self._screen(self.store.trials(self.campaign.id))
            if self.money.stopped() is not None:
                return []
            return self.remaining.left(self.store.trials(self.campaign.id), 1)

    def is_left(self) -> bool:
        """Whether anything is left to measure, once what the last deployment shows is decided.

        For a campaign that was interrupted after a deployment: the next one is not prepared if
        nothing is left for it.
        """
        with self.fenced():
            results = self.store.trials(self.campaign.id)
            if self.remaining.current() > self.remaining.latest(results):
                self._screen(results)
                self._look(results)
            return self.remaining.is_anything()

    def _screen(self, results: Sequence[TrialResult]) -> None:
        if self.plan.screening_rounds is None:
            return
        left = self.remaining.left(results, 1)
        if not left or not self.plan.confirms(left[0].round) or self.remaining.screening:
            return
        campaign = self.store.campaign(self.campaign.id)
        found = self._decide(campaign, results, self._pays_for)
        self.store.add_to_environment(campaign.id, screening.KEY, screening.as_text(found))
        named = {
            "flagged": names.first_of(found.workloads),
            "confirming": names.first_of(found.confirming),
            "left_out": names.first_of(found.left_out),
        }
        which = "left-out" if found.left_out else "flagged" if found.flagged else "nothing"
        self._note("measure", "screen", message(f"screened-{which}", **named))

    def _look(self, results: Sequence[TrialResult]) -> None:
        """Decide after a deployment which workloads are measured on, with ``design: release``."""
        if not self.plan.looks:
            return
        left = self.remaining.left(results, 1)
        after = self.plan.deployment_of(left[0].round) - 1 if left else 0
        campaign = self.store.campaign(self.campaign.id)
        if after not in self.plan.looks or any(one.after == after for one in campaign.looks):
            return
        found = self._look_at(campaign, results, after)
        text = looks.as_text((*campaign.looks, found))
        self.store.add_to_environment(campaign.id, looks.KEY, text)
        which = "some" if found.left else "nothing"
        said = message(f"looked-{which}", after=after, left=names.first_of(tuple(found.left)))
        self._note("measure", "look", said)

    def _pays_for(self, workloads: Sequence[str]) -> bool:
        """Whether the hosts may be used until these workloads are confirmed."""
        needed = self.plan.minutes_to_confirm(workloads) + minutes_after_trials(self.plan.steps)
        return self.money.pays_for(needed)

    def repeats(self, attempt: int) -> list[PlannedTrial]:
        """See :meth:`Remaining.to_repeat`; empty if measuring has stopped."""
        if self.money.stopped() is not None:
            return []
        return self.remaining.to_repeat(self.store.trials(self.campaign.id), attempt)

    def _can_pay(self, left: Sequence[PlannedTrial], results: Sequence[TrialResult]) -> bool:
        """Whether the budget allows the next trial and all that must follow; else it stops."""
        if self.money.stopped() is not None:
            return False
        took_s = [(r.ended_at - r.started_at).total_seconds() for r in results if r.executed]
        needed = (
            max(trial_minutes(self.spec, left[0]), statistics.median(took_s or [0.0]) / 60)
            + minutes_after_trials(self.plan.steps)
            + len(left) * SKIPPED_TASK_S / 60
        )
        return self.money.allows("another trial, with giving the hosts back,", needed)

    # Deployments

    def _end_deployment(self, attempt: int) -> None:
        """Repeat invalid blocks while their deployment still exists.

        That is before the first trial of the next deployment. Repeats of the last deployment have
        tasks of their own.
        """
        results = self.store.trials(self.campaign.id)
        latest = self.remaining.latest(results)
        following = self.remaining.left(results, 1)[:1] if attempt == 1 else []
        if any(self.plan.deployment_of(trial.round) != latest for trial in following):
            for again in self.remaining.attempts[1:]:
                _until_none(partial(self._measure_next, again))

    def _has_its_deployment(self, planned: PlannedTrial) -> bool:
        """Deploy both sides for the trial's round, unless they are; False if that is impossible.

        Raises:
            TryFailedError: this try failed; the next one may succeed.
        """
        number = self.plan.deployment_of(planned.round)
        state = self.state.read()
        if self.money.stopped() is not None or state.is_ready(self.plan.sides, number):
            return True
        name = f"deployment {number} of {self.plan.deployments}"
        needed = preparing_minutes(self.plan.steps, number)
        needed += trial_minutes(self.spec, planned) + minutes_after_trials(self.plan.steps)
        if not self.money.allows(f"{name}, with a trial and the end,", needed):
            return False
        tries = state.failed_deployments + 1
        try:
            self.prepare()
        except (LockHeldError, StoreError, NotMeasuredError):
            raise
        except BenchlabError as error:
            room.tell_full(error, self.home, self.campaign.id, self.deployment)
            self._note("prepare", "failed", f"{name}, try {tries} of {TRIES}: {error}")
            # A loss of hosts is no failed try: their replacement prepares this deployment, too.
            if not self.recovery.note_lost():
                self.state.to("fail to deploy", failed_deployments=tries)
                if tries == TRIES:
                    self.money.stop("deployment", f"{name} failed {TRIES} times: {error}")
                    return False
            raise TryFailedError(f"{name}, try {tries} of {TRIES}: {error}") from error
        return True

    def fenced(self, more_s: float = 0.0) -> AbstractContextManager[float]:
        """Keep other processes of the campaign from measuring; waits until they have ended.

        Args:
            more_s: for how much longer than a trial they may be at work.

        Raises:
            LockHeldError: one is still at work.
        """
        limit_s = self.spec.seconds + self.spec.warmup_seconds + FENCE_SLACK_S + more_s
        if self.recovery.pending is not None:
            limit_s += 2 * 60 * recovery.minutes(self.plan.steps)
        if self.plan.deployments > 1:  # a call may also repeat blocks and prepare the next one
            limit_s += 2 * 60 * self.plan.most_minutes
        return fence(self.directory / "trial.fence", limit_s)

    def _measure_next(self, attempt: int) -> TrialResult | None:
        begun = self._begin_next(attempt)
        if not isinstance(begun, Begun):
            return begun
        with self._not_counted_if_away(begun.trial, attempt):
            return self._collect(begun)

    @contextlib.contextmanager
    def _not_counted_if_away(self, trial: str, attempt: int) -> Iterator[None]:
        """A store that is away is no fault of a trial: a try that it ends does not count."""
        try:
            yield
        except StoreError:
            tried = self.state.read().tried(trial, attempt)
            if tried.tries:
                self._to("try", self._planned(trial), attempt, tries=tried.tries - 1)
            raise

    def _planned(self, trial: str) -> PlannedTrial:
        return next(found for found in self.plan.trials if found.id == trial)

    def _begin_next(self, attempt: int) -> Begun | TrialResult | None:
        results = self.store.trials(self.campaign.id)
        self._refuse_if_none_can_be_executed(results)
        if attempt == 1:
            self._screen(results)
            self._look(results)
        left = self.remaining.left(results, attempt)
        if not left:
            return None
        planned = left[0]
        if not self.recovery.is_whole(planned, attempt, results):
            return None
        if not self._has_its_deployment(planned):
            return None
        # A client that was started is adopted, and has been allowed before.
        tried = self.state.read().tried(planned.id, attempt)
        begun = tried.client is not None
        if not begun and not self._can_pay(left, results):
            return None
        self.deployment.acquire(self.campaign.origin)
        of_others = self.deployment if isinstance(self.deployment, ServersOfOthers) else None
        if not begun and of_others and (why := of_others.changed(planned.side)) is not None:
            self.money.stop("changed", why)
            return None
        if not results:
            self._wait_for_calm()
        self._to("try", planned, attempt, tries=tried.tries + 1)
        with self._not_counted_if_away(planned.id, attempt):
            try:
                repeated = tried.stage != "untried"
                return self._begin_trial(planned, attempt, results, repeated=repeated)
            except (NotMeasuredError, StoreError):
                raise
            except BenchlabError as error:
                return self._failed(planned, attempt, error)

    def _collect(self, begun: Begun) -> TrialResult:
        planned = self._planned(begun.trial)
        try:
            collected = trial.collect(
                self.setup(planned),
                planned,
                begun,
                on_phase=lambda phase: self._note_trial(planned, begun.attempt, phase),
            )
            if any(g.gate == "dataset" and g.status == "pass" for g in collected.result.gates):
                self.state.to("compare dataset", planned.side, compared=True)
            self._to("measure", planned, begun.attempt)
            collected = self.recovery.whole(collected)
            result = self._keep(collected)
        except (NotMeasuredError, StoreError):
            raise
        except BenchlabError as error:
            return self._failed(planned, begun.attempt, error)
        if begun.attempt == 1:
            self._stop_soon(planned)
        return result

    def _stop_soon(self, measured: PlannedTrial) -> None:
        """Begin to stop the server while the next trial's task starts, if it must stop anyway."""
        following = [one for one in self.remaining.wanted if one.index > measured.index][:1]
        if any(after.restore or after.side != measured.side for after in following):
            with contextlib.suppress(BenchlabError):  # the next trial stops it, or fails
                self.deployment.engine(measured.side).stop_soon()

    def _wait_for_calm(self) -> None:
        """Wait, once per registration, until the background load is what its gate allows."""
        if self.state.read().calm:
            return
        calm.wait(
            self.deployment.executors(),
            gates.most(self._gates, "other_work_ratio", fleet=self.spec.topology is not None),
            60 * self.plan.minutes,
            lambda phase, note: self._note("trial", phase, note),
        )
        self.state.to("wait for calm", calm=True)

    def _to(self, transition: str, planned: PlannedTrial, attempt: int, **facts: Any) -> None:
        self.state.to(transition, planned.side, trial=planned.id, attempt=attempt, **facts)

    def _begin_trial(
        self,
        planned: PlannedTrial,
        attempt: int,
        results: Sequence[TrialResult],
        *,
        repeated: bool,
    ) -> Begun:
        deployment_of = self.plan.deployment_of
        of_side = [
            result
            for result in results
            if result.trial.side == planned.side
            and deployment_of(result.trial.round) == deployment_of(planned.round)
        ]
        # The plan's restores assume the plan's order, and that every earlier trial was executed.
        # Each deployment begins like the first one.
        out_of_plan = attempt > 1 or not of_side or not of_side[-1].executed
        restore = planned.restore or repeated or (out_of_plan and self.spec.restore != "never")
        state = self.state.read()
        begun = trial.begin(
            self.setup_at_rate(planned, results),
            planned,
            attempt,
            # What an earlier try recorded when it started its client.
            earlier=state.tried(planned.id, attempt).client,
            restore=restore,
            check_dataset=not state.side(planned.side).compared and (restore or not of_side),
            repeated=repeated,
            on_new=lambda: self._to("forget client", planned, attempt, client=None),
            on_phase=lambda phase: self._note_trial(planned, attempt, phase),
        )
        self._to("start client", planned, attempt, client=begun)
        return begun

    def _failed(self, planned: PlannedTrial, attempt: int, error: BenchlabError) -> TrialResult:
        """Store a trial as invalid if this was its last try; else raise TryFailedError."""
        tries = self.state.read().tried(planned.id, attempt).tries
        room.tell_full(error, self.home, self.campaign.id, self.deployment)
        note = f"{planned.title}, try {tries} of {TRIES}: {error}"
        self._note("trial", "failed", note)
        if tries < TRIES:
            raise TryFailedError(f"{planned.title}, try {tries}: {error}") from error
        now = datetime.now(UTC)
        result = TrialResult(
            trial=planned,
            attempt=attempt,
            valid=False,
            reasons=(message("reason-not-executed", tries=str(TRIES), why=said_by(error)),),
            samples=(),
            gates=(),
            started_at=now,
            ended_at=now,
        )
        self.store.add_trial(self.campaign.id, result)
        return result

    def _refuse_if_none_can_be_executed(self, results: Sequence[TrialResult]) -> None:
        since = self.state.read().registered_at
        latest = sorted(
            (result for result in results if result.ended_at.timestamp() > since),
            key=lambda result: result.ended_at,
        )[-TRIES:]
        if len(latest) == TRIES and not any(result.executed for result in latest):
            why = "; ".join(map(str, latest[-1].reasons))
            raise NotMeasuredError(
                f"the last {TRIES} trials could not be executed, so no more are tried: fix what "
                f"the last error names, then run the campaign again: {why}"
            )

    def setup(self, planned: PlannedTrial) -> TrialSetup:
        """What a trial needs to know about its campaign."""
        return TrialSetup(
            deployment=self.deployment,
            campaign=self.store.campaign(self.campaign.id),
            workload=workloads.by_name()[saturated(planned.workload)],
            password=self.home.password(self.campaign.id),
            gates=self._gates,
        )

    def setup_at_rate(
        self, planned: PlannedTrial, results: Sequence[TrialResult] | None = None
    ) -> TrialSetup:
        """The same with the rate at which its client sends, where the trial has one.

        Args:
            results: of the trials before it; None for all that the store has.
        """
        known = self.store.trials(self.campaign.id) if results is None else results
        rate = equal_load.rate(self.plan, planned, known)
        return dataclasses.replace(self.setup(planned), rate=rate)

    @cached_property
    def _gates(self) -> tuple[Gate, ...]:
        # Cached, because reading them takes longer than evaluating them.
        return gates.of_table(gate_files.load_all(self.home.configs / "quality"), "trials")

    def _keep(self, collected: trial.Collected) -> TrialResult:
        result = collected.result
        name = f"{self.campaign.id}/{result.trial.id}-a{result.attempt}"
        result = dataclasses.replace(
            result,
            raw=self.store.write_bytes(f"{name}.txt", collected.raw.encode()),
            series=self.store.write_bytes(f"{name}.csv", collected.series_csv.encode()),
            hosts=self.store.write_bytes(f"{name}.hosts.csv", collected.hosts_csv.encode()),
        )
        if collected.counts_csv:
            kept = self.store.write_bytes(f"{name}.counts.csv", collected.counts_csv.encode())
            result = dataclasses.replace(result, counts=kept)
        self.store.add_trial(self.campaign.id, result)
        return result

    def _note_trial(self, planned: PlannedTrial, attempt: int, phase: str) -> None:
        wanted = self.remaining.wanted
        places = {trial.id: place for place, trial in enumerate(wanted)}
        done, again = places[planned.id], []
        if attempt > 1:  # a repeat comes after all planned trials of its deployment
            number = self.plan.deployment_of(planned.round)
            of_it = (t for t in wanted if self.plan.deployment_of(t.round) == number)
            done, again = max(places[t.id] for t in of_it), [f"measured again, {attempt - 1}"]
        self.progress.write(
            ProgressNote(
                at=time.time(),
                stage="trial",
                phase=phase,
                done=done,
                total=len(wanted),
                trial=planned.title,
                note="; ".join([*again, *([str(self.money.spent)] if self.money.spent else [])]),
            )
        )


def _until_none(measure: Callable[[], TrialResult | None]) -> None:
    """Call ``measure`` until nothing is left; failed tries were counted, so call again."""
    while True:
        with contextlib.suppress(TryFailedError):
            if measure() is None:
                return
