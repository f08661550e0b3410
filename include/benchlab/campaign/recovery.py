"""Detects hosts lost while a campaign measures, replaces them, and prepares both sides again.

EC2 takes spot hosts away, and any host may die. Losses are recorded in the campaign's state, so
that another process can continue an interrupted recovery.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial

from benchlab.campaign import trial
from benchlab.campaign.money import Money
from benchlab.campaign.state import MOST_RECOVERIES, TRIES, Loss, StateFile
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import BenchlabError, StoreError, TryFailedError
from benchlab.language import message
from benchlab.plan.order import PlannedTrial
from benchlab.plan.steps import PlanStep, minutes_after_trials, trial_minutes
from benchlab.results.records import REPLACED, SPOT_HOSTS, TrialResult
from benchlab.targets.target import Deployment, ReplacesHosts

PREPARING = frozenset({"provision", "prepare", "deploy", "load", "analyze", "check", "back up"})


class Recovery:
    """Replaces the lost hosts of one campaign.

    Example:
        ``recovery.lose({"tikv-2": "spot instance reclaimed"}, after=5)``, then
        ``recovery.go_on(redo).hosts``

    Args:
        redo: replaces them, prepares both sides again, and returns the names of all replaced
            hosts; None if the target cannot replace hosts.
    """

    def __init__(
        self,
        of: StoredCampaign,
        deployment: Deployment,
        state: StateFile,
        money: Money,
        redo: Callable[[], Collection[str]] | None,
    ) -> None:
        self.store, self.campaign, self._note = of.store, of.campaign, of.note
        self.spec, self.plan = of.spec, of.plan
        self.deployment, self._state, self.money, self._redo = deployment, state, money, redo

    def is_whole(self, planned: PlannedTrial, attempt: int, results: Sequence[TrialResult]) -> bool:
        """Replace lost hosts, if there are any; False if that is impossible.

        EC2 is asked only if something went wrong before.
        """
        if self._redo is None or self.money.stopped() is not None:
            return True
        latest = max(results, key=lambda result: result.ended_at, default=None)
        state = self._state.read()
        wrong = latest is not None and not latest.valid
        if wrong or state.tried(planned.id, attempt).tries or self.pending:
            self.note_lost()
        if (pending := self.pending) is None:
            return True
        rest = trial_minutes(self.spec, planned) + minutes_after_trials(self.plan.steps)
        needed = minutes(self.plan.steps) + rest
        if not self.money.allows(f"replacing {', '.join(pending.hosts)}", needed):
            return False
        try:
            done = self.go_on(partial(self._replace, self._redo, planned, attempt))
        except TryFailedError as error:
            self._note("provision", "failed", str(error))
            raise
        if done is None:
            why = "; ".join(f"{name}: {reason}" for name, reason in pending.hosts.items())
            self.money.stop("lost", f"hosts were lost and are no longer replaced: {why}")
            return False
        self.store.add_to_environment(self.campaign.id, REPLACED, self.told())
        self._note("provision", "replaced", ", ".join(done.hosts))
        return True

    def _replace(
        self, redo: Callable[[], Collection[str]], planned: PlannedTrial, attempt: int
    ) -> Collection[str]:
        others = redo()
        # What its client has printed was measured on the earlier fleet.
        self.deployment.executor.forget_job(trial.client_job(planned, attempt))
        return others

    def whole(self, collected: trial.Collected) -> trial.Collected:
        """Mark what was collected as invalid if a host was lost meanwhile.

        Without spot hosts, EC2 is asked only if the trial is invalid, as asking takes half a
        second.
        """
        result = collected.result
        spot = self.store.campaign(self.campaign.id).environment.get(SPOT_HOSTS)
        lost = self.note_lost() if spot or not result.valid else {}
        if not lost or not result.valid:
            return collected
        why = tuple(message("reason-host-lost", host=host, why=lost[host]) for host in lost)
        return replace(collected, result=replace(result, valid=False, reasons=why))

    def note_lost(self) -> dict[str, str]:
        """Record the hosts that are lost now, to be replaced; returns the reason for each."""
        if self._redo is None or not isinstance(self.deployment, ReplacesHosts):
            return {}
        if not (lost := dict(self.deployment.lost())):
            return {}
        if (pending := self.pending) is None or lost.keys() - pending.hosts.keys():
            self.lose(lost, len(self.store.trials(self.campaign.id)))
            for name, reason in lost.items():
                self._note("trial", "lost", f"{name}: {reason}")
        return lost

    @property
    def all(self) -> Sequence[Loss]:
        """All losses, in order."""
        return self._state.read().losses

    @property
    def pending(self) -> Loss | None:
        """The loss that has not been made good yet; None if there is none."""
        return next((found for found in self.all if not found.done), None)

    def lose(self, hosts: Mapping[str, str], after: int) -> None:
        """Record that hosts were lost; losses during a replacement are added to that one."""
        state = self._state.read()
        *done, last = state.losses or [Loss({}, after, done=True)]
        if last.done:
            every = (*self.all, Loss(dict(hosts), after))
        else:
            every = (*done, replace(last, hosts={**last.hosts, **hosts}))
        # A started client counts as lost with them: it is neither waited for nor adopted.
        measured = state.trial and replace(state.trial, client=None)
        self._state.to("lose hosts", losses=every, trial=measured)

    def go_on(self, redo: Callable[[], Collection[str]]) -> Loss | None:
        """Try to replace the pending lost hosts.

        Args:
            redo: returns the names of all replaced hosts. These can be more than were lost: if a
                zone lacks capacity for one, the whole fleet is rented in another.

        Returns:
            The loss, now made good; None if it was tried too often, or there were too many losses.

        Raises:
            TryFailedError: this try failed; the next one may succeed.
        """
        *earlier, last = self.all
        if last.tries >= TRIES or len(earlier) >= MOST_RECOVERIES:
            return None
        last = replace(last, tries=last.tries + 1)
        self._state.to("replace hosts", losses=(*earlier, last))
        try:
            others = redo()
        except StoreError:  # no fault of the hosts
            self._state.to("replace hosts", losses=(*earlier, replace(last, tries=last.tries - 1)))
            raise
        except BenchlabError as error:
            lost = ", ".join(last.hosts)
            raise TryFailedError(
                f"{lost}: lost, and could not be replaced, try {last.tries} of {TRIES}: {error}"
            ) from error
        with_it = dict.fromkeys(others, "replaced with the others")
        last = replace(last, hosts={**with_it, **last.hosts}, done=True)
        # Observations of the earlier fleet say nothing about this one.
        self._state.to(
            "have replaced hosts",
            losses=(*earlier, last),
            registered_at=time.time(),
            calm=False,
        )
        return last

    def told(self) -> str:
        """The value of :data:`REPLACED`, for the report: ``5: pd-1, tikv-2; 9: tikv-2``."""
        done = (one for one in self.all if one.done)
        return "; ".join(f"{one.after}: {', '.join(sorted(one.hosts))}" for one in done)


def minutes(steps: tuple[PlanStep, ...]) -> float:
    """The planned minutes until both sides are ready on new hosts."""
    first = next((n for n, step in enumerate(steps) if step.stage == "measure"), len(steps))
    return sum(step.minutes for step in steps[:first] if step.stage in PREPARING)
