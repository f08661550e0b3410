"""Diagnosis trials: a few more trials of what changed, which look closer and decide nothing.

They come after the verdict, while the hosts are there: of each changed workload, the strongest
evidence first, each kind of look in rounds with the sides in turn, restored and warmed up as
always. They take at most a quarter of the planned time, and only what the budget has left. Each is
recorded once it has ended, so that a repeated call goes on after the last one. Nothing that goes
wrong here fails the campaign: what could not be looked at is recorded with the reason. Where a
server ends in a trial, the look itself is suspected: the trial is not tried again.

Example:
    ``Diagnosing(campaign, state, sequence, OBSERVERS).run().trials``
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison
from benchlab.campaign import trial as trials
from benchlab.campaign import trial_columns
from benchlab.campaign.deployment import TrialSetup
from benchlab.campaign.profiling import Allocations, Cpu
from benchlab.campaign.sequence import TrialSequence
from benchlab.campaign.state import TRIES, StateFile
from benchlab.campaign.statements import StatementObserver
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import BenchlabError, EngineError, LockHeldError, StoreError
from benchlab.language import Message, Said, message, said_by
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import SIDES, Side
from benchlab.plan.steps import diagnosis_minutes, minutes_after_trials, trial_minutes
from benchlab.report.model.report import CHANGES
from benchlab.results import diagnosis
from benchlab.results.diagnosis import Diagnosis, Kind, Taken

MOST_TRIALS = 24
"""Of a workload."""
LONGEST_S = 60
"""Of a trial's measured time: a look needs less of it than a figure."""


class Observer(Protocol):
    """Looks at the servers while a diagnosis trial runs."""

    @property
    def kind(self) -> Kind:
        """What it looks at."""

    @property
    def rounds(self) -> int:
        """How many pairs of trials it has of a workload."""

    def lacking(self, setup: TrialSetup, side: Side) -> Said | None:
        """Why it cannot look at the servers of a side; None if it can."""

    def setup(self, setup: TrialSetup) -> TrialSetup:
        """The setup of its trials, where the servers or the client have to run otherwise."""

    def watch(self, setup: TrialSetup, trial: PlannedTrial, job: str) -> None:
        """Begin to look; called after the warm-up, just before the client is started.

        Raises:
            BenchlabError: it cannot; the trial is then tried again.
        """

    def collect(self, setup: TrialSetup, trial: PlannedTrial, job: str) -> Mapping[str, bytes]:
        """What was found, by name of a file; called once the client has ended.

        Raises:
            BenchlabError: nothing was found; the trial is then tried again.
        """

    def put_back(self, setup: TrialSetup, trial: PlannedTrial) -> None:
        """Undo what it did to the servers; called after each try, also after one that failed."""

    def conclude(
        self, workload: str, taken: Sequence[Taken], read: Callable[[str], bytes]
    ) -> Mapping[str, bytes]:
        """What all trials of a workload show together, by name of a file; for report and page.

        Args:
            taken: those in which something was found, one at least.
            read: returns the content of an object by its name.

        Raises:
            BenchlabError: nothing can be concluded.
        """


class _EndedError(BenchlabError):
    """Servers ended while a trial looked at them: a message on each."""

    def __init__(self, kind: Kind, servers: Sequence[Message]) -> None:
        self.servers = tuple(dict.fromkeys(str(dict(one.values)["server"]) for one in servers))
        what = message(f"look-{kind}")
        super().__init__(message("diagnosis-ended", kind=what, said=servers[0]))


class _Wanted(NamedTuple):
    """A diagnosis trial that is to be made."""

    observer: Observer
    round: int
    trial: PlannedTrial


OBSERVERS: tuple[Observer, ...] = (StatementObserver(), Cpu(), Allocations())
"""All of them, in the order in which they look."""


class Diagnosing:
    """Makes the diagnosis trials of one campaign.

    Args:
        state: of the campaign.
        sequence: measured its trials.
        observers: in the order in which they look.
    """

    def __init__(
        self,
        of: StoredCampaign,
        state: StateFile,
        sequence: TrialSequence,
        observers: Sequence[Observer],
    ) -> None:
        self.store, self.campaign, self.plan, self.spec = of.store, of.campaign, of.plan, of.spec
        self._outcome, self._note = of.outcome, of.note
        self.state, self.sequence, self.observers = state, sequence, observers
        # Until then, an interrupted call may have left processes.
        self._is_under_way = False

    def run(self) -> Diagnosis:
        """Make the trials that are left; repeatable.

        Raises:
            LockHeldError, StoreError: nothing is known of what was made; call again.
        """
        with self.sequence.fenced(more_s=60 * diagnosis_minutes(self.plan.minutes)):
            known = self._known()
            if known.ended or self.spec.diagnose == "never" or len(self.plan.sides) < len(SIDES):
                return known
            changed = self._workloads(self._outcome().comparison)
            if changed and (why := self._impossible()) is not None:
                known = known.without(why)
                changed = []
            for workload in changed:
                known = self._of_workload(workload.name, known)
            return self._keep(replace(known, ended=True))

    def _known(self) -> Diagnosis:
        environment = self.store.campaign(self.campaign.id).environment
        return diagnosis.found(environment) or Diagnosis()

    def _keep(self, known: Diagnosis) -> Diagnosis:
        self.store.add_to_environment(self.campaign.id, diagnosis.KEY, diagnosis.as_text(known))
        return known

    def _workloads(self, comparison: Comparison) -> list[WorkloadComparison]:
        """The workloads that are looked at, the strongest evidence first."""
        found = [*comparison.workloads]
        if self.spec.diagnose == "on_change":
            # The cause of a planted slowdown is known, and an A/A campaign has none.
            if self.campaign.is_aa or self.plan.slowdown_pct:
                return []
            found = [one for one in found if one.verdict in CHANGES]
        return sorted(found, key=_evidence)

    def _impossible(self) -> Said | None:
        """Why nothing can be looked at now; None if it can."""
        if not self.plan.can.administers:
            return message("diagnosis-foreign")
        if self.sequence.money.stopped() is not None:
            return message("diagnosis-stopped")
        # With `design: release` or `watch`, the last one that was needed.
        latest = self.sequence.remaining.latest(self.store.trials(self.campaign.id))
        if not self.state.read().is_ready(self.plan.sides, latest):
            return message("diagnosis-gone")
        return None

    def _of_workload(self, workload: str, known: Diagnosis) -> Diagnosis:
        for wanted in self._wanted(workload):
            observer, number, planned = wanted
            if known.has(workload, observer.kind, number, planned.side):
                continue
            if (why := self._refused(wanted, known)) is not None:
                known = known.without(why, workload, observer.kind)
                continue
            known = self._keep(known.with_trial(self._taken(wanted)))
        return self._concluded(workload, known)

    def _concluded(self, workload: str, known: Diagnosis) -> Diagnosis:
        """The record with what each kind of look shows of a workload."""
        where, files = f"{diagnosis.folder(self.campaign.id)}/{workload}", dict[str, str]()
        for observer in self.observers:
            if not (taken := known.of(workload, observer.kind)):
                continue
            try:
                concluded = observer.conclude(workload, taken, self.store.read_bytes)
            except BenchlabError as error:
                known = known.without(said_by(error), workload, observer.kind)
                continue
            files |= self._stored(where, concluded)
        return self._keep(replace(known, found={**known.found, workload: files}))

    def _stored(self, where: str, files: Mapping[str, bytes]) -> dict[str, str]:
        """Store files as objects; returns the objects' names by name of the file."""
        return {name: self.store.write_bytes(f"{where}/{name}", it) for name, it in files.items()}

    def _wanted(self, workload: str) -> Iterator[_Wanted]:
        """The trials of a workload in their order: A B, B A, ... of each kind."""
        template = next(one for one in self.plan.trials if one.workload == workload)
        number, left = 0, MOST_TRIALS // len(SIDES)
        for observer in self.observers:
            for of_kind in range(1, min(observer.rounds, left) + 1):
                number += 1
                left -= 1
                for side in SIDES if of_kind % 2 else SIDES[::-1]:
                    yield _Wanted(
                        observer,
                        of_kind,
                        PlannedTrial(
                            index=len(self.plan.trials),
                            # None of the plan's has its name.
                            round=self.plan.rounds + number,
                            side=side,
                            workload=workload,
                            threads=max(self.plan.threads_in_order(workload)),
                            restore=self.spec.restore != "never",
                            seconds=min(template.seconds, LONGEST_S),
                            configure=template.configure,
                        ),
                    )

    def _refused(self, wanted: _Wanted, known: Diagnosis) -> Said | None:
        """Why a trial is not made; None if it is."""
        observer, _, planned = wanted
        kind = observer.kind
        for one in known.trials:
            # It would only fail again; of servers that ended, others may be left.
            if one.kind == kind and one.why_not is not None and not one.ended:
                return one.why_not
        if (why := observer.lacking(self.sequence.setup(planned), planned.side)) is not None:
            return why
        seconds = [one.seconds for one in known.trials]
        # Before the first one, as planned for hosts, which need longer than this machine.
        needed = max(seconds, default=0.0) / 60
        pays = self._pays_for(planned, needed)
        if pays and sum(seconds) / 60 + needed <= diagnosis_minutes(self.plan.minutes):
            return None
        which = "diagnosis-late" if pays else "diagnosis-dear"
        return message(which, workload=planned.workload, kind=message(f"look-{kind}"))

    def _pays_for(self, planned: PlannedTrial, longest_min: float) -> bool:
        """Whether the budget has a trial as long as any so far, and all that must follow."""
        needed = max(trial_minutes(self.spec, planned), longest_min)
        return self.sequence.money.pays_for(needed + minutes_after_trials(self.plan.steps))

    def _taken(self, wanted: _Wanted) -> Taken:
        """Make a trial, in several tries."""
        observer, number, planned = wanted
        began, failures, ended = time.monotonic(), list[Said](), tuple[str, ...]()
        of_it = (planned.workload, observer.kind, number, planned.side, planned.threads)
        for attempt in range(1, TRIES + 1):
            try:
                tps, objects = self._tried(wanted, attempt)
                return Taken(*of_it, time.monotonic() - began, tps, objects)
            except (LockHeldError, StoreError):
                raise
            except BenchlabError as error:
                failures.append(said_by(error))
                self._note("diagnose", "failed", f"{planned.title}, try {attempt}: {error}")
                if isinstance(error, _EndedError):
                    ended = error.servers
                    break
                if not self._pays_for(planned, (time.monotonic() - began) / 60):
                    break
        return Taken(*of_it, time.monotonic() - began, None, {}, failures[-1], ended)

    def _tried(self, wanted: _Wanted, attempt: int) -> tuple[float, dict[str, str]]:
        observer, number, planned = wanted
        deployment = self.sequence.deployment
        setup = observer.setup(self.sequence.setup_at_rate(planned))
        job = trials.client_job(planned, attempt)
        deployment.acquire(self.campaign.origin)
        self._note("diagnose", observer.kind, f"{planned.workload}, {planned.side}, {number}")
        # An interrupted try may have left its client.
        deployment.executor.stop_job(job, timeout_s=5)
        deployment.executor.forget_job(job)
        try:
            begun = trials.begin(
                setup,
                planned,
                attempt,
                earlier=None,
                restore=planned.restore,
                check_dataset=False,
                repeated=attempt > 1 or not self._is_under_way,
                on_new=lambda: None,
                on_phase=lambda phase: None,
                on_run=lambda: observer.watch(setup, planned, job),
            )
            self._is_under_way = True
            collected = trials.collect(setup, planned, begun, lambda phase: None)
            if ended := trial_columns.how_servers_ended(setup, planned):
                raise _EndedError(observer.kind, ended)
            tps = collected.result.value(self.plan.throughput.name)
            if tps is None:  # what was seen is not of its work
                reasons = map(str, collected.result.reasons)
                raise EngineError("; ".join(reasons) or "the client measured no throughput")
            found = {**observer.collect(setup, planned, job)}
        finally:
            self._put_back(observer, setup, planned)
        if collected.counts_csv:
            found[diagnosis.COUNTS] = collected.counts_csv.encode()
        where = f"{diagnosis.folder(self.campaign.id)}/{planned.workload}"
        where = f"{where}/{observer.kind}-{number}-{planned.side}"
        return tps, self._stored(where, found)

    def _put_back(self, observer: Observer, setup: TrialSetup, planned: PlannedTrial) -> None:
        try:
            observer.put_back(setup, planned)
        except BenchlabError as error:  # such as of a server that ended, which says more
            self._note("diagnose", "warning", f"{planned.title}: not put back: {error}")


def _evidence(workload: WorkloadComparison) -> tuple[float, float]:
    p_value = 1.0 if workload.p_adjusted is None else workload.p_adjusted
    return (p_value, -abs(workload.estimate_pct or 0.0))
