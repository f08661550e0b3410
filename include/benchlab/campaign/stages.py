"""The stages of a campaign as methods: Airflow calls one per task, `benchlab run` all in sequence.

State between stages is in the store and in the campaign's directory, never in the caller, so each
stage can run in another process, and again after a crash.
"""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from benchlab import targets
from benchlab.analysis.gates import columns
from benchlab.campaign import money, removal, resuming, room, step_times
from benchlab.campaign.deployment import client_config
from benchlab.campaign.diagnosing import OBSERVERS, Diagnosing
from benchlab.campaign.money import Money
from benchlab.campaign.outcome import Outcome
from benchlab.campaign.preparation import Deployments
from benchlab.campaign.recovery import Recovery
from benchlab.campaign.remaining import Remaining
from benchlab.campaign.sequence import TrialSequence
from benchlab.campaign.state import StateFile
from benchlab.campaign.step_times import StepClock
from benchlab.campaign.stored import StoredCampaign
from benchlab.engines import builds
from benchlab.errors import (
    AtWorkError,
    BenchlabError,
    LockHeldError,
    NothingToMeasureError,
    PublishError,
    SpecError,
    StoreError,
    UnsoundReportError,
    meaning_of,
)
from benchlab.home import ID, Home
from benchlab.hosts import metrics
from benchlab.hosts.access import Access
from benchlab.hosts.executor import LocalExecutor
from benchlab.language import joined, sayings
from benchlab.plan import plan
from benchlab.plan.fields.client import Client
from benchlab.plan.fields.publish import Destination
from benchlab.plan.report_type import SIDES, TAKEN_OVER, Side
from benchlab.plan.resolved import Resolved
from benchlab.plan.steps import minutes_after_trials
from benchlab.report import gate_files
from benchlab.results import approval, diagnosis, ended_servers, looks, screening
from benchlab.results.diagnosis import Diagnosis
from benchlab.results.records import GIVE_BACK, REPLACED, RESUMED, SPENT, Campaign, Condition
from benchlab.results.store import Store
from benchlab.targets import fleet_files
from benchlab.targets.target import BaseTarget, ReplacesHosts, ServersOfOthers, Taken
from benchlab.workloads import lua_script, sysbench_archive
from benchlab.workloads import program as client_program

Taking = TypeVar("Taking")
log = logging.getLogger(__name__)

EVERYDAY = Access()
# How often a waiting campaign checks whether the other one has ended.
FREE_PAUSE_S = 5


def new_id(report: str, now: datetime | None = None) -> str:
    """A new campaign id, unique across homes: ``tpcc_ec2-20261101T120000-3f9a1c``."""
    return f"{report}-{now or datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


class CampaignRun(StoredCampaign):
    """A campaign being run; ``access`` makes AWS clients and reads SSH keys, if needed.

    Example:
        ``run(CampaignRun.create(home, store, resolved, "c1", "benchlab run"))`` returns the files
        of its report.

    Args:
        target: where it runs; None for the one that its report type names.
        state: its progress; None for the file in its directory.

    Attributes:
        deployments: prepares its sides.
        sequence: measures its trials.
        diagnosing: looks closer at what changed.
        is_new: whether :meth:`create` found no campaign of this id in the store.
    """

    def __init__(
        self,
        home: Home,
        store: Store,
        campaign: Campaign,
        access: Access = EVERYDAY,
        target: BaseTarget | None = None,
        state: StateFile | None = None,
    ) -> None:
        super().__init__(home, store, campaign, access)
        self.is_new = False  # set by `create`
        self.target = target or targets.by_name()[self.spec.target](
            home, campaign.id, self.plan, self.spec, access
        )
        self.target.client_program = campaign.environment.get("client_program")
        self.target.client_path = campaign.client_path
        self.state = state or StateFile(self.directory)
        self._clock = StepClock(self, self.state)
        remaining, spending = Remaining(self), Money(self, self.target)
        self.deployments = Deployments(self, self.target, self.state, remaining, self._clock)
        hosts = self.target
        redo = partial(self.replace_lost, hosts) if isinstance(hosts, ReplacesHosts) else None
        self.sequence = TrialSequence(
            self,
            self.target,
            self.state,
            remaining,
            spending,
            Recovery(self, self.target, self.state, spending, redo),
            self.deployments.prepare,
        )
        self.diagnosing = Diagnosing(self, self.state, self.sequence, OBSERVERS)

    @classmethod
    def create(
        cls,
        home: Home,
        store: Store,
        resolved: Resolved,
        campaign: str,
        origin: str,
        access: Access = EVERYDAY,
        planned_for: datetime | None = None,
    ) -> CampaignRun:
        """Plan a campaign and write it to the store. Fetches builds, but starts nothing.

        A repeated call with the same id and plan resumes the campaign. It then takes over new
        values of fields that do not affect what is measured, such as the threshold.

        Args:
            origin: how it was started, for people: ``benchlab run``, ``Airflow run manual__...``.
            planned_for: the time as of which its versions were chosen; None for now.

        Raises:
            SpecError: the id, the client's archive or the gates are not valid, a person has to
                decide something first, or the campaign has failed and cannot be resumed.
            AnotherPlanError: the store has another campaign of this id.
            NothingToMeasureError: the campaign is complete.
            UnavailableError: a build is not available on this machine.
            StoreError: the store cannot be written.
        """
        if not re.fullmatch(ID, campaign):
            raise SpecError(
                f"campaign id {campaign!r}: letters, digits, `_`, `.` and `-` only, at most 150 "
                "of them, the first a letter or digit; it becomes a file name"
            )
        spec = lua_script.pinned(home.project, builds.pinned(home, resolved.spec, access))
        resolved = replace(resolved, spec=spec)
        sysbench_archive.check(home.project, spec.client)
        planned = plan.make(resolved, campaign)
        if resolved.undecided:
            raise SpecError(*resolved.undecided)
        gate_files.load_all(home.configs / "quality")  # not after hours of loading data
        record = Campaign(
            id=campaign,
            plan=planned,
            report_type=spec,
            engine_reason=resolved.reason,
            origin=origin,
            state="running",
            started_at=datetime.now(UTC),
            ended_at=None,
            environment={},
            facts={},
            planned_for=planned_for,
        )
        is_new = store.add_campaign(record)
        run = cls.open(home, store, campaign, access)
        run._refuse_if_ended()
        if taken_over := spec.judged_otherwise(run.spec):
            changes = {name: getattr(spec, name) for name in TAKEN_OVER}
            asked = run.spec.model_copy(update=changes)
            run = cls(home, store, replace(run.campaign, report_type=asked), access)
        run._refuse_if_nothing_is_left()
        if taken_over:
            store.take_over(campaign, run.spec)
        run.is_new = is_new
        run.directory.mkdir(parents=True, exist_ok=True)
        (run.directory / "target").write_text(spec.target, encoding="utf-8")
        lua_script.keep(home.project, spec, run.directory)
        run.note("plan", "planned", note=f"{len(planned.trials)} trials, {planned.minutes} min")
        if taken_over:
            run.note("plan", "warning", note=f"taken over: {'; '.join(taken_over)}")
        for warning in planned.warnings:
            run.note("plan", "warning", note=str(warning))
        return run

    @classmethod
    def open(
        cls, home: Home, store: Store, campaign: str, access: Access = EVERYDAY
    ) -> CampaignRun:
        """Open a campaign that is in the store.

        Raises:
            StoreError: the store does not have it.
        """
        return cls(home, store, store.campaign(campaign), access)

    # Stages, in order

    def register(self, *, wait: bool = False) -> None:
        """Take the target's lock and check that the target is fit for the campaign.

        A campaign that rents first takes its share of the month's budget and the account's quota.

        If it is interrupted after taking the lock, everything is given back; before that, the error
        gets a note with the command that does so.

        Args:
            wait: wait, for as long as it takes, until no other campaign is at work there, and
                until budget and quota suffice.

        Raises:
            AtWorkError: another process is working on this campaign; there is no waiting for it.
            LockHeldError: another campaign is at work, or holds what this one may cost.
            TargetError, UnavailableError, SpecError: the target is not fit; it was given back. Or
                budget or quota can never suffice.
            SpecError: the campaign is complete, or has failed and cannot be resumed.
        """
        self._refuse_if_ended()
        self._refuse_if_nothing_is_left()
        room.refuse_full(self.home, self.campaign.id)
        self._when_free(wait, lambda: money.reserve(self, self.target))
        acquired = False
        try:
            dead = self._when_free(wait, lambda: self.target.acquire(self.campaign.origin))
            acquired = True
            self.note("register", "check the machine")
            if dead is not None:
                self.note("register", f"cleaned up after {dead} ({dead.left_behind()})")
            self.target.interrupt()  # what an interrupted try of this campaign left
            self.target.preflight()
            self.state.register()
        except LockHeldError as error:
            # Of a campaign at work, its process holds the share.
            if self.target.can.rents and not isinstance(error, AtWorkError):
                with contextlib.suppress(StoreError):  # the next try takes it again
                    self.store.spending.end(self.campaign.id)
            raise  # nothing was taken
        except BaseException as error:
            if acquired or isinstance(error, Exception):
                # Its state stays, because Airflow retries the task.
                self._give_back_because_of(error)
            else:  # interrupted: another process of this campaign may be using what is there
                error.add_note(self.how_to_give_back)
            raise
        self.forget_publication()
        self.store.reopen(self.campaign.id)

    def _when_free(self, wait: bool, take: Callable[[], Taking]) -> Taking:
        """Take what another campaign may hold: the target's lock, or budget and quota."""
        while True:
            try:
                return take()
            except LockHeldError as error:
                if not wait or isinstance(error, AtWorkError):
                    raise
                self.note_waiting(error)
            time.sleep(FREE_PAUSE_S)

    def note_waiting(self, error: LockHeldError) -> None:
        """Note who holds what, and until when; once, though a task that waits asks anew."""
        why, steps = str(error).partition(". ")[0], self.progress.read()[0]
        if not steps or not steps[-1].is_wait or steps[-1].note != why:
            self.note("register", "wait until it is free", why)

    def provision(self, *, replacing: bool = False) -> None:
        """Get hosts and servers ready, choose the client, and store the facts of both.

        Args:
            replacing: lost hosts are being replaced in a running campaign; otherwise a campaign
                that has trials counts as resumed.

        Raises:
            TargetError: hosts or client differ from those of the campaign's earlier trials.
            UnavailableError: no client is installed.
            SpecError: the campaign is complete, or has failed and cannot rent hosts again.
        """
        self._refuse_if_ended()
        self.note("provision", self.spec.target)
        self.state.begin("provision")
        self.target.provision(lambda text: self.note("provision", "install", note=text))
        self.sequence.money.record()
        earlier = self.store.campaign(self.campaign.id).client.program
        facts = client_program.install(
            self.target.executor,
            self.target.directory,
            self.workload,
            self._client_built(),
            measured_with=earlier if self.store.trials(self.campaign.id) else None,
            files=lua_script.kept(self.spec, self.directory),
        )
        self.target.client_program = facts["client_program"]
        self.target.client_path = facts.get("client_path")
        if isinstance(self.target, ServersOfOthers):
            self.target.check_client()
        self.note("provision", "client", note=client_program.told(facts))
        facts.pop(client_program.INSTEAD, None)
        if (offset := metrics.clock_offset_ms(self.target.executors())) is not None:
            facts[columns.CLOCKS] = f"{offset:.3f}"
        before = self.store.campaign(self.campaign.id).environment
        of_parts = (approval, ended_servers, screening, looks, diagnosis)
        kept = (REPLACED, RESUMED, *(part.KEY for part in of_parts))
        facts |= {name: before[name] for name in kept if name in before}
        environment = {**self.target.environment(), **facts}
        if self.workload.TOOL in environment:  # else the one on the PATH would be reported
            environment[self.workload.TOOL] = facts["client_version"]
        if not replacing and (measured := len(self.store.trials(self.campaign.id))):
            resuming.refuse(self.campaign.id, resuming.of_hosts(before, environment))
            times = self.store.campaign(self.campaign.id).resumed_after
            environment[RESUMED] = ", ".join(dict.fromkeys([*times, str(measured)]))
        self.store.set_environment(self.campaign.id, environment)
        for side in self.target.sides:
            text = self.workload.config_file_text(self.deployments.endpoint(side))
            self.target.executor.put(client_config(self.target, side), text, private=True)
        self._clock.ended("provision")
        self.state.to("end provision")

    def _client_built(self) -> Client:
        """The report type's client, built if it is an archive.

        On this machine the home keeps the built client; on a fleet it is lost with the hosts.
        """
        executor, client = self.target.executor, self.spec.client
        if client.archive is not None:
            self.note("provision", "install", note=f"sysbench from {client.archive}")
        places = self.target.directory
        if isinstance(executor, LocalExecutor):
            places = self.home.clients
        return sysbench_archive.built(executor, places, self.home.project, client)

    def replace_lost(self, hosts: ReplacesHosts) -> set[str]:
        """Replace lost hosts and prepare both sides again; repeatable.

        Returns:
            The names of the hosts that were replaced.

        Raises:
            BenchlabError: a host cannot be rented, or a stage failed.
        """
        before = hosts.instances()
        kept = self.store.campaign(self.campaign.id).environment
        self.target.acquire(self.campaign.origin)
        hosts.before_replacing()
        self.provision(replacing=True)
        hosts.clear()
        now = {**kept, **self.store.campaign(self.campaign.id).environment}
        self.store.set_environment(self.campaign.id, now)
        self.deployments.prepare()
        after = hosts.instances()
        return {name for name in after if after[name] != before.get(name)}

    def check_after_trials(self) -> dict[Side, tuple[Condition, ...]]:
        """Check the consistency of every side after the last trial.

        A side that cannot be checked is left out. The report is published all the same, but
        :meth:`verdict` fails.
        """
        found: dict[Side, tuple[Condition, ...]] = {}
        for side in self.target.sides:
            try:
                found[side] = self.deployments.check(side, "last trial")
            except StoreError:
                raise  # says nothing of the side, and may pass
            except BenchlabError as error:
                self.note("failed", f"check after last trial {side}", str(error))
        return found

    def diagnose(self) -> Diagnosis | None:
        """Make the diagnosis trials; see :meth:`Diagnosing.run`.

        What fails here is noted, even a fault of Benchlab's own, and the campaign goes on to its
        report.

        Raises:
            LockHeldError: another process of the campaign is at work.
        """
        try:
            return self.diagnosing.run()
        except LockHeldError:  # another process is still measuring
            raise
        except Exception as error:
            log.exception("diagnosis failed")
            self.note("failed", "diagnose", joined(sayings(error)))
            return None

    def publish(
        self, only: str | None = None, destinations: Sequence[Destination] | None = None
    ) -> list[Path]:
        """See :meth:`StoredCampaign.publish`; first stores the hosts' cost, for the report."""
        if not self.state.read().resumed:
            self._clock.keep(*step_times.of_trials(self.store.trials(self.campaign.id)))
        # Only once, so that publishing again gives the same report.
        kept = SPENT in self.store.campaign(self.campaign.id).environment
        if not kept and (spending := self.target.spending()) is not None:
            dollars = spending.after(minutes_after_trials(self.plan.steps))
            self.store.add_to_environment(self.campaign.id, SPENT, f"{dollars:.2f}")
        return super().publish(only, destinations)

    def finish(self) -> Outcome:
        """See :meth:`StoredCampaign.finish`; afterwards a complete campaign cannot be resumed."""
        found = super().finish()
        if found.campaign.state == "complete":
            self.state.to("complete")
        return found

    def give_back(self) -> str:
        """End every process, remove data and snapshots, give the hosts back; repeatable.

        Returns:
            What was given back, for people.

        Raises:
            TargetError: names what could not be given back.
        """
        self.target.close()
        given_back = self.target.give_back(Taken(self.home, self.campaign.id, self.access))
        self.note_given_back(given_back)
        return given_back

    def note_given_back(self, given_back: str) -> None:
        """Record in the campaign's directory that it holds nothing of its target any more.

        Its objects are sealed. If it is complete, nothing of it runs again, and what is here of
        its jobs and sides goes.
        """
        self.state.give_back()
        self.note("give back", "done", note=given_back)
        for close in (
            partial(money.close, self.home, self.store, self.campaign.id),
            partial(self.store.seal, self.campaign.id),
        ):
            try:
                close()
            except StoreError as error:  # everything can still be read
                self.note("give back", "warning", str(error))
        if self.state.read().stage == "complete":
            for name in ("jobs", *SIDES):
                shutil.rmtree(self.directory / name, ignore_errors=True)
            for name in ("load.fence", "trial.fence"):
                (self.directory / name).unlink(missing_ok=True)

    def abandon(self, error: BaseException) -> None:
        """Record a failure that ends the campaign, and give everything back.

        If something could not be given back, the error gets a note with the command that does so.
        """
        ended = True
        if not isinstance(error, PublishError):
            ended = self.end_as_failed(error)
        else:  # everything has been measured
            self.fail("validate" if isinstance(error, UnsoundReportError) else "publish", error)
        self._give_back_because_of(error)
        if not ended:  # the disk may have been full of what was given back
            self.end_as_failed(error)

    def _give_back_because_of(self, error: BaseException) -> None:
        try:
            self.give_back()
        except (BenchlabError, OSError, KeyboardInterrupt) as another:
            why = meaning_of(another) or "giving back was interrupted"
            if why not in str(error):
                error.add_note(why)
            error.add_note(self.how_to_give_back)
            self.fail(GIVE_BACK[0], another)

    def fail(self, of: str, error: BaseException) -> None:
        """See :meth:`StoredCampaign.fail`; a disk that is full is told with the error."""
        room.tell_full(error, self.home, self.campaign.id, self.target)
        super().fail(of, error)

    def end_as_failed(self, error: BaseException) -> bool:
        """Record that the campaign failed; False, and a note of the error, where that failed."""
        self.fail("", error)
        try:
            self.store.finish(self.campaign.id, "failed")
        except (StoreError, KeyboardInterrupt) as another:
            if (why := str(another) or "interrupted again") not in getattr(error, "__notes__", ()):
                error.add_note(why)
            return False
        return True

    def leave_nothing(self, error: BaseException) -> None:
        """Remove what :meth:`create` wrote, so that the id is free again.

        For a new campaign whose target another campaign holds. If this one may hold something
        after all, it stays as failed, and the error gets a note.
        """
        self.end_as_failed(error)
        try:
            removal.refuse(self.home, self.store, self.campaign.id)
            removal.remove(self.home, self.store, self.campaign.id)
        except BenchlabError as another:
            error.add_note(str(another))

    def _refuse_if_ended(self) -> None:
        campaign, state = self.campaign.id, self.store.campaign(self.campaign.id).state
        if "complete" in (state, self.state.read().stage):
            raise NothingToMeasureError(campaign)
        if self._has_rented:
            raise SpecError(
                f"campaign {campaign} has ended ({state}), and hosts are not rented for it "
                f"again: start another one. `benchlab publish {campaign}` publishes its report "
                "again"
            )

    def _refuse_if_nothing_is_left(self) -> None:
        if self.is_over:
            raise SpecError(
                f"nothing to measure: campaign {self.campaign.id} has failed, and each of its "
                "trials has been measured as often as repeat_limit allows: allow more, or start "
                f"another campaign. `benchlab publish {self.campaign.id}` publishes what it has"
            )

    @property
    def is_over(self) -> bool:
        """Whether it has failed and cannot be resumed: it rented hosts, or has no trial left."""
        is_left = self.deployments.remaining.is_anything
        return self._has_failed and (self._has_rented or not is_left())

    @property
    def _has_failed(self) -> bool:
        return self.store.campaign(self.campaign.id).state == "failed"

    @property
    def _has_rented(self) -> bool:
        """Whether it has failed after renting hosts, which a campaign does only once.

        A campaign that was not approved, or was refused at registration for missing credentials or
        quota, has rented nothing.
        """
        rents = self.target.can.rents and not fleet_files.rented_nothing(self.directory)
        return self._has_failed and rents

    @property
    def how_to_give_back(self) -> str:
        """A sentence with the command that gives back what is left of the campaign."""
        return f"`benchlab give-back {self.campaign.id}` gives back what is left of it"


def run(work: CampaignRun, *, wait: bool = False) -> list[Path]:
    """Run a whole campaign in this process; once registered, it always gives its hosts back.

    Args:
        wait: see :meth:`CampaignRun.register`.

    Returns:
        The report's files, the Markdown first.

    Raises:
        LockHeldError: another campaign is at work; a new campaign leaves nothing behind.
        NotMeasuredError: several trials in a row could not be executed.
        UnsoundReportError: the report does not follow from its trials, and is a draft.
        PublishError: a destination does not have the report.
        BenchlabError: another stage failed.
    """
    try:
        work.register(wait=wait)
    except AtWorkError:
        raise  # the campaign belongs to the other process, even if this one wrote it to the store
    except LockHeldError as error:
        if work.is_new:
            work.leave_nothing(error)
        raise
    except BaseException as error:
        if work.is_new:
            work.end_as_failed(error)
        elif work.campaign.state != "complete":
            work.fail("register", error)
        raise
    try:
        work.provision()
        if work.sequence.is_left():
            work.deployments.prepare()
            work.sequence.measure_all()
        work.check_after_trials()
        work.diagnose()
        work.validate()
        paths = work.publish()
    except BaseException as error:
        work.abandon(error)
        raise
    try:
        work.give_back()
    except BaseException as error:
        error.add_note(work.how_to_give_back)
        work.fail(GIVE_BACK[0], error)
        raise
    return paths
