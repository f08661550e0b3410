"""A campaign's stages, each a method: Airflow calls one per task, `benchlab run` one after another.

State between stages is in the store and in the campaign's directory, never in the caller: each
stage can run in another process, and again after a crash.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import cast

from benchlab import targets
from benchlab.analysis.gates import columns, gates
from benchlab.analysis.gates.data_docs import DataDocsError
from benchlab.campaign import planning, preload, step_times
from benchlab.campaign.deployment import client_config, endpoint
from benchlab.campaign.sequence import TrialSequence
from benchlab.campaign.stored import StoredCampaign
from benchlab.engines import builds
from benchlab.engines.database import OPEN_USER, Database
from benchlab.errors import (
    BenchlabError,
    LockHeldError,
    PublishError,
    SpecError,
    StoreError,
    TargetError,
    UnreachableError,
    meaning_of,
)
from benchlab.home import ID, Home
from benchlab.hosts import metrics, probes
from benchlab.hosts.access import Access
from benchlab.hosts.executor import LocalExecutor
from benchlab.hosts.fleet import at_once
from benchlab.hosts.lock import Holder, fence
from benchlab.plan.rates import StepTime, TimedStep
from benchlab.plan.report_type import Client, Destination, ReportSpec, Side
from benchlab.plan.steps import minutes_after_trials, minutes_with_end, sizes
from benchlab.results.records import REPLACED, SPENT, Campaign, Condition, Moment
from benchlab.results.store import Store
from benchlab.targets.fleet import LOADED
from benchlab.targets.target import LOAD_THREADS, Balancer
from benchlab.workloads import lua_script, sysbench_archive
from benchlab.workloads import program as client_program
from benchlab.workloads.client import Endpoint, Session, program_of
from benchlab.workloads.workload import Query

EVERYDAY = Access()
LOAD_LIMIT_S = ASK_LIMIT_S = 24 * 3600.0
# In a campaign's directory: it was interrupted, so that its steps took longer or less than they do.
RESUMED = "resumed"
# How long a repeated load waits for the process that it repeats, whose work has been ended.
LEFT_BEHIND_S = 900.0
# How often a campaign that waits for another one looks whether it has ended.
FREE_PAUSE_S = 5
# Steps that a campaign has once for each deployment.
_OF_DEPLOYMENTS = frozenset({"deploy", "load", "restore dataset", "analyze", "check", "back up"})
QueryOn = Callable[[Database], Query | None]
"""Gives what runs one statement on a side; None: the mariadb client."""


def by_client(engine: Database) -> Query | None:
    """Statements are run by the mariadb client: a :data:`QueryOn`."""
    return None


_ID = re.compile(ID)


def new_id(report: str, now: datetime | None = None) -> str:
    """An id for a campaign that starts now: the report type and the time in UTC."""
    return f"{report}-{(now or datetime.now(UTC)).strftime('%Y%m%dT%H%M%S')}"


class CampaignRun(StoredCampaign):
    """One campaign that runs; ``access`` makes AWS clients and reads SSH keys, if need be.

    Example:
        ``run(CampaignRun.create(home, store, spec, "c1", "benchlab run"))`` returns the files of
        its report.

    Attributes:
        is_new: whether :meth:`create` found no campaign of this id in the store.
        target: where it runs.
        sequence: its trials.
    """

    def __init__(
        self, home: Home, store: Store, campaign: Campaign, access: Access = EVERYDAY
    ) -> None:
        super().__init__(home, store, campaign, access)
        self.is_new = False  # set by `create`
        self.target = targets.by_name()[self.spec.target](
            home, campaign.id, self.plan, self.spec, access
        )
        self.target.client_program = campaign.environment.get("client_program")
        self.sequence = TrialSequence(home, store, campaign, self.target)
        self.sequence.lay_out = self.prepare
        if self.target.rents:
            self.sequence.redo = self.replace_lost

    @classmethod
    def create(
        cls,
        home: Home,
        store: Store,
        spec: ReportSpec,
        campaign: str,
        origin: str,
        access: Access = EVERYDAY,
        planned_for: datetime | None = None,
        chosen: tuple[str, str] | None = None,
    ) -> CampaignRun:
        """Plan a campaign and write it to the store; nothing is started, but builds are fetched.

        A repeated call with the same id and plan resumes the campaign.

        Args:
            origin: how it was started, for people: ``benchlab run``, ``Airflow run manual__...``.
            planned_for: the moment whose versions it compares; None: now.
            chosen: the result of :func:`planning.choose_engine`; None: calls it.

        Raises:
            SpecError: the id, the topology or the gates are not valid, a version does not exist,
                or the campaign has ended and its target rents hosts.
            UnavailableError: a version or a build cannot be had on this machine.
            StoreError: the store has another campaign of this id, or cannot be written.
        """
        if not re.fullmatch(ID, campaign):
            raise SpecError(
                f"campaign id {campaign!r}: letters, digits, `_`, `.` and `-` only, at most 150 of "
                "them, the first a letter or digit: it names files"
            )
        engine, reason = chosen or planning.choose_engine(spec, home)
        planning.refuse_unpublished(home, spec, engine)
        spec = lua_script.pinned(home.project, builds.pinned(home, spec, access))
        sysbench_archive.check(home.project, spec.client)
        basis = planning.known(home, spec, engine, store, access)
        planned = planning.plan(home, spec, engine, campaign, basis)
        planning.refuse_undecided(home, spec)
        gates.load_all(home.configs / "quality")  # not after hours of loading data
        record = Campaign(
            id=campaign,
            plan=planned,
            report_type=spec,
            engine_reason=reason,
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
        run.is_new = is_new
        run._refuse_to_rent_again()
        run.directory.mkdir(parents=True, exist_ok=True)
        (run.directory / "target").write_text(spec.target, encoding="utf-8")
        lua_script.keep(home.project, spec, run.directory)
        run.note("plan", "planned", note=f"{len(planned.trials)} trials, {planned.minutes} min")
        for warning in planned.warnings:
            run.note("plan", "warning", note=warning)
        return run

    @classmethod
    def open(
        cls, home: Home, store: Store, campaign: str, access: Access = EVERYDAY
    ) -> CampaignRun:
        """A campaign from the store.

        Raises:
            StoreError: the store does not have it.
        """
        return cls(home, store, store.campaign(campaign), access)

    # Stages, in order

    def register(self, *, wait: bool = False) -> None:
        """Take the target's lock and check that the target is fit for the campaign.

        An interruption gives everything back once the lock is taken; before, the error has a note
        with the command that does it.

        Args:
            wait: until no other campaign is at work there, however long that takes.

        Raises:
            LockHeldError: another campaign is at work.
            TargetError, UnavailableError, SpecError: the target is not fit; it was given back.
            SpecError: the campaign has ended, and its target rents hosts.
        """
        self._refuse_to_rent_again()
        self.note("register", "check the machine")
        acquired = False
        try:
            dead = self._acquire(wait)
            acquired = True
            if dead is not None:
                self.note("register", f"cleaned up after {dead} ({dead.left_behind()})")
            self.target.interrupt()  # what an interrupted try of this campaign left
            self.sequence.start_anew()
            self.sequence.recoveries.settle()
            for mark in self.directory.glob("*.begun"):
                mark.unlink()
                (self.directory / RESUMED).touch()
            self.target.preflight()
        except LockHeldError:
            raise  # nothing was taken
        except BaseException as error:
            if acquired or isinstance(error, Exception):
                # Its state stays: a task that registers is tried again.
                self._give_back_because_of(error)
            else:  # interrupted: what is there may be in use by another process of this campaign
                error.add_note(self.how_to_give_back)
            raise
        self.forget_publication()
        self.store.reopen(self.campaign.id)

    def _acquire(self, wait: bool) -> Holder | None:
        """Take the target's lock; its earlier holder, if that was left behind."""
        said = None
        while True:
            try:
                return self.target.acquire(self.campaign.origin)
            except LockHeldError as error:
                if not wait:
                    raise
                if (why := str(error).partition(". ")[0]) != said:
                    self.note("register", "wait until it is free", said := why)
            time.sleep(FREE_PAUSE_S)

    def provision(self, *, probe: bool = True) -> None:
        """Get hosts and servers ready, choose the client, store the facts of both.

        Args:
            probe: whether to probe the hosts; not while servers are at work on them. A campaign
                that is resumed keeps its first figures.

        Raises:
            UnavailableError: no client is installed.
            TargetError: the client is not the one that measured the campaign's earlier trials.
            SpecError: the campaign has ended, and its target rents hosts.
        """
        self._refuse_to_rent_again()
        self.note("provision", self.spec.target)
        self._starts("provision")
        self.target.provision(lambda text: self.note("provision", "install", note=text))
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
        self.note("provision", "client", note=facts["client_version"])
        if (offset := metrics.clock_offset_ms(self.target.executors())) is not None:
            facts[columns.CLOCKS] = f"{offset:.3f}"
        self._ended("provision")
        before = self.store.campaign(self.campaign.id).environment
        kept = (probes.FIRST, probes.AGAIN, REPLACED)
        facts |= {name: before[name] for name in kept if name in before}
        environment = {**self.target.environment(), **facts}
        if self.workload.TOOL in environment:  # else the one on the PATH would be reported
            environment[self.workload.TOOL] = facts["client_version"]
        self.store.set_environment(self.campaign.id, environment)
        if probe and not (self.directory / RESUMED).exists():
            self._probe()
        for side in self.target.sides:
            text = self.workload.config_file_text(self._endpoint(side))
            self.target.executor.put(client_config(self.target, side), text, private=True)

    def _client_built(self) -> Client:
        """The report type's client; one that is built here is kept, on a fleet it goes with it."""
        executor, client = self.target.executor, self.spec.client
        if client.archive is not None:
            self.note("provision", "install", note=f"sysbench from {client.archive}")
        places = self.target.directory
        if isinstance(executor, LocalExecutor):
            places = self.home.clients
        return sysbench_archive.built(executor, places, self.home.project, client)

    def _probe(self) -> None:
        """Probe all hosts, on which nothing is at work."""
        if self.spec.topology is not None:
            self.note("provision", "probe the hosts")
        if (found := self.target.probe_hosts()) is not None:
            self.store.add_to_environment(self.campaign.id, probes.FIRST, found)

    @property
    def in_order(self) -> tuple[Side, ...]:
        """The sides of the current deployment, the one that is prepared first before the other."""
        return self.plan.in_order(self.sequence.current())

    def prepare(self, query_on: QueryOn = by_client) -> None:
        """All stages of all sides from :meth:`deploy` to :meth:`back_up`, of one deployment."""
        sides = self.in_order
        if self.target.loads_together:
            for side in sides:
                self.deploy(side)
            self.load(*sides)
        for side in sides:
            if not self.target.loads_together:
                self.deploy(side)
                self.load(side)
            self.analyze(side)
            self.check(side, "load", query_on(self.target.engine(side)))
            self.back_up(side)

    def replace_lost(self) -> set[str]:
        """Replace hosts that are lost, and prepare both sides again; repeatable.

        Returns:
            The names of the hosts that are others than before.

        Raises:
            BenchlabError: a host cannot be had, or a stage failed.
        """
        before = self.target.instances()
        kept = self.store.campaign(self.campaign.id).environment
        self.target.acquire(self.campaign.origin)
        self.target.before_replacing()
        self.provision(probe=False)
        self.target.clear()
        now = {**kept, **self.store.campaign(self.campaign.id).environment}
        # What the hosts were before the last round says nothing of other hosts.
        now.pop(probes.AGAIN, None)
        self.store.set_environment(self.campaign.id, now)
        self._probe()
        self.prepare()
        after = self.target.instances()
        return {name for name in after if after[name] != before.get(name)}

    def deploy(self, side: Side) -> None:
        """Deploy an empty database of the side's version; its parameters must take effect.

        Raises:
            EngineError: the server does not start.
            TargetError: a server is not of the version, or not the build, that was asked for.
            SpecError: a parameter has no effect in this version.
        """
        engine = self._begin("deploy", side)
        self.sequence.abandon_cut_pairs()
        self.sequence.deployed(side)
        for deployed in self.target.sides:
            self.target.balancer(deployed).stop()
            self.target.engine(deployed).stop()
        engine.deploy()
        # Before data are loaded, which takes an hour.
        if misfits := engine.misfits():
            raise TargetError("\n".join(f"{side}: {misfit}" for misfit in misfits))
        reported = engine.version()
        if ignored := engine.ineffective(engine.variables()):
            raise SpecError(
                f"{side}: parameters without effect in {reported}: "
                + ", ".join(f"{key} (is {value})" for key, value in ignored.items())
            )
        self.target.balancer(side).configure()
        self._ended("deploy", side)

    def load(self, *sides: Side) -> None:
        """Fill the dataset's tables: from a dataset snapshot, else through the load balancer.

        A snapshot that is not there yet is taken from what the client loads on the oldest side, and
        then all sides are restored from it. Where that fails, the client loads all of them.

        Raises:
            CommandError: the client failed.
            TargetError: the load failed, a table has the wrong number of rows, or the dataset
                snapshot is gone.
        """
        for side in sides:
            self._begin("load", side)
        # Work that an earlier try left ends what it finds at work when it fails: it is waited for.
        with fence(self.directory / "load.fence", LEFT_BEHIND_S):
            self._load(sides)

    def _load(self, sides: Sequence[Side]) -> None:
        to_load = self.target.sides_to_load()
        loaded = [side for side in sides if side in to_load]
        self._load_by_client(loaded)
        if self.target.dataset_source() == "load":
            self._all_loaded(sides, "load", together=self.target.loads_at_once)
            return
        try:
            for side in loaded:
                self.note("prepare", f"keep the dataset of {side}")
                self.target.save_dataset(side)
        except UnreachableError:
            raise  # the link may come back, and the stage is tried again
        except BenchlabError as error:
            self.note("prepare", "load all sides", f"the dataset cannot be kept: {error}")
            self.target.load_instead()
            self.store.add_to_environment(self.campaign.id, "dataset", LOADED)
            self._load_by_client([side for side in sides if side not in loaded])
            return
        for side in sides:
            self.note("prepare", f"restore the dataset of {side}")
            self.target.engine(side).start()
            self.target.load_dataset(side)
            # Gone where the side had to be deployed anew.
            self.target.balancer(side).configure()
            self._open_account(side)
            self._loaded(side)
        if not loaded:
            self._all_loaded(sides, "restore dataset", together=True)

    def _load_by_client(self, sides: Sequence[Side]) -> None:
        """Load sides at the same time if the hosts allow it, else one after another."""
        together = len(sides) > 1 and self.target.loads_at_once
        for batch in [sides] if together else [[side] for side in sides]:
            balancers = [self.target.balancer(side) for side in batch]
            for number, balancer in enumerate(balancers[1:], 1):
                balancers[number] = balancer.beside()
                balancers[number].configure()
            for other in self.target.sides:
                if other not in batch and not self.target.loads_at_once:
                    self.target.engine(other).stop()  # two may need more memory than there is
            for side in batch:
                engine = self.target.engine(side)
                engine.start()
                engine.create_database()
                self._open_account(side)
            threads = max(self.target.load_threads // len(batch), LOAD_THREADS)
            work = zip(batch, balancers, strict=True)
            self._at_once({side: partial(self._fill, side, by, threads) for side, by in work})

    def _fill(self, side: Side, balancer: Balancer, threads: int) -> None:
        """Run the client that loads a side, through this load balancer, and count the rows."""
        balancer.start()
        command = self.prepare_command(side, balancer.entry_port, threads)
        done = self.target.executor.run(command, timeout_s=LOAD_LIMIT_S)
        balancer.stop()
        if faults := self.workload.load_faults(done.stdout + done.stderr):
            raise TargetError(f"{side}: the load failed: {'; '.join(faults)}")
        self._loaded(side)

    def _at_once(self, work: Mapping[Side, Callable[[], None]]) -> None:
        """Do something for several sides at the same time; the first failure ends the others."""
        failed: list[BaseException] = []

        def until_one_fails(do: Callable[[], None]) -> None:
            try:
                do()
            except BaseException as error:
                failed.append(error)
                if len(work) > 1:
                    self.target.interrupt()
                raise

        at_once({side: partial(until_one_fails, do) for side, do in work.items()})
        if failed:
            raise failed[0]

    def _open_account(self, side: Side) -> None:
        if self._endpoint(side).user == OPEN_USER:
            self.target.engine(side).open_account()

    def _loaded(self, side: Side) -> None:
        wanted = self.workload.tables(self.spec.dataset)
        for table, rows in self.target.engine(side).row_counts(list(wanted)).items():
            if wanted[table] not in (None, rows):
                raise TargetError(
                    f"{side}: {table} holds {rows} rows after the load, {wanted[table]} were asked "
                    "for"
                )

    def analyze(self, side: Side) -> None:
        """ANALYZE every table; store the side's facts, with the dataset's checksum."""
        engine = self._begin("analyze", side)
        engine.start()
        tables = list(self.workload.tables(self.spec.dataset))
        engine.analyze(tables)
        before = self.store.campaign(self.campaign.id).facts.get(side)
        checked = before.consistency if before else {}
        facts = dataclasses.replace(
            engine.facts(),
            dataset_checksum=engine.checksum(tables),
            rows=engine.row_counts(tables),
            # Only trials can change what was found after the last trial.
            consistency={key: checked[key] for key in checked if key == "last trial"},
        )
        self.store.set_facts(self.campaign.id, side, facts)
        self._ended("analyze", side)

    def check(
        self,
        side: Side,
        moment: Moment,
        query: Query | None = None,
    ) -> tuple[Condition, ...]:
        """Check and store whether a side's dataset meets the workload's consistency conditions.

        Nothing is restored: after the last trial the data are what that trial left.

        Args:
            query: runs one statement in the schema of the dataset; by default the mariadb client.

        Returns:
            Each condition with its violations; empty if the workload has none, or if the side's
            data are not what a finished trial left.

        Raises:
            TargetError: a condition does not hold after the load; names each such condition.
            EngineError, CommandError: the side cannot be started or asked; nothing is stored.
        """
        if (check := self.workload.CONSISTENCY) is None:
            return ()
        if moment == "last trial" and not self.sequence.has_measured(side):
            self.note("prepare", f"check after {moment} {side}", "its data are of no trial")
            return ()
        engine = self._begin(f"check after {moment}", side)
        for other in self.target.sides:
            if other != side:
                self.target.engine(other).stop()
        engine.start()
        database = engine.instance.database
        found = check(
            query or (lambda sql: engine.sql(f"USE {database}; {sql}", timeout_s=ASK_LIMIT_S))
        )
        if (facts := self.store.campaign(self.campaign.id).facts.get(side)) is None:
            raise TargetError(f"{side}: it has not been analyzed; do that first")
        facts = dataclasses.replace(facts, consistency={**facts.consistency, moment: found})
        self.store.set_facts(self.campaign.id, side, facts)
        if moment == "load":
            self._ended("check after load", side, "check")
        if moment == "load" and (faults := [str(met.fault) for met in found if met.violations]):
            raise TargetError(
                f"{side}: the loaded dataset is not consistent: {'; '.join(faults)}; nothing can "
                "be measured on it: load it again, and if it is so again, with another client"
            )
        return found

    def check_after_trials(
        self, query_on: QueryOn = by_client
    ) -> dict[Side, tuple[Condition, ...]]:
        """Check every side after the last trials; a side that cannot be asked is left out.

        Its consistency is then not known. That must not keep the report from being published;
        :meth:`verdict` fails because of it.

        Args:
            query_on: returns what runs a statement on a side.
        """
        found: dict[Side, tuple[Condition, ...]] = {}
        for side in self.target.sides:
            try:
                found[side] = self.check(side, "last trial", query_on(self.target.engine(side)))
            except BenchlabError as error:
                self.note("failed", f"check after last trial {side}", str(error))
        return found

    def back_up(self, side: Side) -> None:
        """Keep the dataset for later campaigns, if the report type says so; take the snapshot.

        Raises:
            EngineError: the server did not stop cleanly.
            TargetError: a restored dataset has other rows than the one that was kept.
        """
        engine = self._begin("back up", side)
        engine.start()
        facts = self.store.campaign(self.campaign.id).facts[side]
        # Only after the check: a dataset that is kept is restored by many campaigns.
        if kept := self.target.keep_dataset(side, facts.dataset_checksum or ""):
            self.note("prepare", f"back up {side}", note=kept)
        engine.backup()
        self.sequence.backed_up(side)
        self._ended("back up", side)

    def publish(
        self, only: str | None = None, destinations: Sequence[Destination] | None = None
    ) -> list[Path]:
        """See :class:`StoredCampaign`; first keeps what the hosts have cost, for the report."""
        if not (self.directory / RESUMED).exists():
            self._keep_times(*step_times.of_trials(self.store.trials(self.campaign.id)))
        # Once: a report that is published again is the same.
        kept = SPENT in self.store.campaign(self.campaign.id).environment
        if not kept and (spending := self.target.spending()) is not None:
            dollars = spending.after(minutes_after_trials(self.plan.steps))
            self.store.add_to_environment(self.campaign.id, SPENT, f"{dollars:.2f}")
        return super().publish(only, destinations)

    def give_back(self) -> str:
        """End every process, remove data and snapshots, give the hosts back; repeatable.

        Returns:
            What was given back, for people.

        Raises:
            TargetError: names what could not be given back.
        """
        self.target.close()
        given_back = self.target.give_back(self.home, self.campaign.id, self.access)
        self.note("give back", "done", note=given_back)
        return given_back

    def abandon(self, error: BaseException) -> None:
        """Give everything back because of an error; also records that the campaign failed.

        What could not be given back becomes a note of the error, with the command that does it.
        """
        if not isinstance(error, PublishError):  # then everything has been measured
            self.end_as_failed(error)
        self._give_back_because_of(error)

    def _give_back_because_of(self, error: BaseException) -> None:
        try:
            self.give_back()
        except (BenchlabError, OSError, KeyboardInterrupt) as another:
            error.add_note(meaning_of(another) or "giving back was interrupted")
            error.add_note(self.how_to_give_back)

    def end_as_failed(self, error: BaseException) -> None:
        """Record that the campaign failed; why it cannot be recorded is a note of the error."""
        try:
            self.store.finish(self.campaign.id, "failed")
        except (StoreError, KeyboardInterrupt) as another:
            error.add_note(str(another) or "interrupted again")

    def _refuse_to_rent_again(self) -> None:
        state = self.store.campaign(self.campaign.id).state
        if self.target.rents and state != "running":
            raise SpecError(
                f"campaign {self.campaign.id} has ended ({state}), and hosts are not rented for it "
                "again: start another one. "
                f"`benchlab publish {self.campaign.id}` publishes its report anew"
            )

    @property
    def how_to_give_back(self) -> str:
        """For people: the command that gives back what is left of the campaign."""
        return f"`benchlab give-back {self.campaign.id}` gives back what is left of it"

    def _begin(self, phase: str, side: Side) -> Database:
        """Begin a stage of a side; first ends what an earlier try that died left running."""
        spending, number = self.target.spending(), self.sequence.current()
        which = f"deployment {number} of {self.plan.deployments}" * (self.plan.deployments > 1)
        said = filter(None, (which, str(spending or "")))
        self.note("prepare", f"{phase} {side}", "; ".join(said))
        needed = minutes_with_end(self.plan.steps, phase, side, number)
        if spending is not None and not spending.allows(needed):
            raise TargetError(
                f"{phase} {side}: {spending} are spent, and with giving the hosts back it takes "
                f"about {needed:.0f} min, more than the {spending.minutes_left:.0f} min until "
                + ("budget.limit is reached" if spending.ends_by_limit else "they end themselves")
            )
        preload.begin()
        self.target.acquire(self.campaign.origin)
        if not self._starts(phase, side):
            self.target.interrupt()
        return self.target.engine(side)

    def _all_loaded(self, sides: Sequence[Side], step: TimedStep, *, together: bool) -> None:
        """Keep what it took to fill all sides: as one step, or as one for each of them."""
        if (took := self._took("load", sides[0])) is None:
            return
        if together and len(sides) > 1:
            self._keep_times((step, None, took))
        else:
            self._keep_times(*((step, side, took / len(sides)) for side in sides))

    def _starts(self, phase: str, side: Side | None = None) -> bool:
        """Note when a stage begins; False if an earlier try of it had begun."""
        mark = self._mark(phase, side)
        is_first = not mark.exists()
        counts = is_first and not (self.directory / RESUMED).exists()
        mark.write_text(f"{time.time()}" if counts else "", encoding="ascii")
        return is_first

    def _ended(self, phase: str, side: Side | None = None, step: TimedStep | None = None) -> None:
        """Keep what a stage took, for later plans."""
        if (took := self._took(phase, side)) is not None:
            self._keep_times((step or cast(TimedStep, phase), side, took))

    def _took(self, phase: str, side: Side | None) -> float | None:
        """Seconds since a stage began; None if it was begun more than once."""
        begun = self._mark(phase, side).read_text(encoding="ascii")
        return max(time.time() - float(begun), 0.0) if begun else None

    def _keep_times(self, *times: tuple[TimedStep, Side | None, float]) -> None:
        where = self.spec.topology or self.spec.target
        try:
            large = sizes(self.spec, targets.load_topology(self.home, self.spec))
            for step, side, seconds in times:
                took = StepTime(step, side, round(seconds, 3), large[step])
                of_deployment = self.sequence.current() if step in _OF_DEPLOYMENTS else 1
                self.store.set_step_time(
                    self.campaign.id, where, self.plan.engine, took, of_deployment
                )
        except BenchlabError as error:  # no campaign fails for the estimates of later ones
            self.note("plan", "warning", f"what steps took is not kept: {error}")

    def _mark(self, phase: str, side: Side | None) -> Path:
        name = phase.replace(" ", "-") + (f"-{side}" if side else "")
        if side and (number := self.sequence.current()) > 1:
            name += f"-{number}"
        return self.directory / f"{name}.begun"

    # What the stages are made of

    def prepare_command(
        self, side: Side, port: int | None = None, threads: int | None = None
    ) -> list[str]:
        """The command that loads the dataset, by default through the side's own load balancer."""
        record, to = self.store.campaign(self.campaign.id), self._endpoint(side)
        session = Session(
            dataclasses.replace(to, port=port or to.port),
            str(client_config(self.target, side)),
            self.spec.dataset,
            threads or self.target.load_threads,
            record.client,
        )
        program = program_of(record.client.program, self.workload.PROGRAMS)
        return program.started(self.workload.prepare_command(session), record.client_path)

    def _endpoint(self, side: Side) -> Endpoint:
        password = self.home.password(self.campaign.id)
        client = self.store.campaign(self.campaign.id).client
        return endpoint(self.target, side, self.workload, client, password)


def run(work: CampaignRun, *, wait: bool = False) -> list[Path]:
    """Run a whole campaign in this process; once registered, it gives its hosts back in any case.

    Args:
        wait: see :meth:`CampaignRun.register`.

    Returns:
        The report's files, the Markdown first.

    Raises:
        LockHeldError: another campaign is at work.
        NotMeasuredError: several trials in a row could not be executed.
        PublishError: a destination does not have the report.
        BenchlabError: another stage failed.
    """
    try:
        work.register(wait=wait)
    except BaseException as error:
        if work.is_new:
            work.end_as_failed(error)
        raise
    try:
        work.provision()
        work.prepare()
        work.sequence.measure_all()
        work.check_after_trials()
        with contextlib.suppress(DataDocsError):  # noted; the report does not depend on them
            work.validate()
        paths = work.publish()
    except BaseException as error:
        work.abandon(error)
        raise
    try:
        work.give_back()
    except KeyboardInterrupt as error:
        error.add_note(work.how_to_give_back)
        raise
    return paths
