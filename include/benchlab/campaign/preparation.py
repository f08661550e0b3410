"""The stages that prepare both sides of a deployment: deploy, load, analyze, check, back up."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from benchlab.campaign import counting, resuming
from benchlab.campaign.deployment import client_config, endpoint
from benchlab.campaign.remaining import Remaining
from benchlab.campaign.state import StateFile
from benchlab.campaign.step_times import StepClock
from benchlab.campaign.stored import StoredCampaign
from benchlab.engines.database import OPEN_USER, Database
from benchlab.errors import BenchlabError, SpecError, TargetError, UnreachableError
from benchlab.hosts.fleet import at_once
from benchlab.hosts.lock import fence
from benchlab.plan.rates import TimedStep
from benchlab.plan.report_type import Side
from benchlab.plan.steps import minutes_with_end
from benchlab.results import ended_servers
from benchlab.results.records import RESUMED, Condition, Moment
from benchlab.targets.target import LOAD_THREADS, Balancer, BaseTarget, DeploysClusters
from benchlab.workloads.client import Endpoint, Session, program_of

LOAD_LIMIT_S = 24 * 3600.0
# How long a repeated load waits for the earlier process, whose work has been ended.
LEFT_BEHIND_S = 900.0


class Deployments:
    """Prepares the sides of one campaign; each stage can be repeated.

    Example:
        ``CampaignRun.open(home, store, "c1").deployments.deploy("baseline")``

    Args:
        target: where they are deployed.
        clock: stores how long the stages take.
    """

    def __init__(
        self,
        of: StoredCampaign,
        target: BaseTarget,
        state: StateFile,
        remaining: Remaining,
        clock: StepClock,
    ) -> None:
        self.home, self.store, self.campaign = of.home, of.store, of.campaign
        self.spec, self.plan, self.directory = of.spec, of.plan, of.directory
        self.workload, self.note = of.workload, of.note
        self.target, self.state, self.remaining, self._clock = target, state, remaining, clock

    @property
    def in_order(self) -> tuple[Side, ...]:
        """The sides in the order in which the current deployment prepares them."""
        return self.plan.in_order(self.remaining.current())

    def prepare(self) -> None:
        """Run all stages of one deployment on all sides, from :meth:`deploy` to :meth:`back_up`."""
        sides = self.in_order
        if self.plan.can.loads_together:
            for side in sides:
                self.deploy(side)
            self.load(*sides)
        for side in sides:
            if not self.plan.can.loads_together:
                self.deploy(side)
                self.load(side)
            self.analyze(side)
            self.check(side, "load")
            self.back_up(side)

    def deploy(self, side: Side) -> None:
        """Deploy an empty database of the side's version, and check that parameters took effect.

        Raises:
            EngineError: the server does not start.
            TargetError: a server does not have the requested version or build.
            SpecError: a parameter has no effect in this version.
        """
        self._begin("deploy", side, deployment=self.remaining.current())
        self.remaining.abandon_cut_pairs()
        for deployed in self.target.sides:
            self.target.balancer(deployed).stop()
            self.target.engine(deployed).stop()
        if isinstance(self.target, DeploysClusters):
            self.target.begin_deployment(self.remaining.current())
        engine = self.target.engine(side)
        engine.deploy()
        with self._watched("deploy", side):  # before data are loaded, which takes an hour
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

        If the snapshot does not exist yet, the client loads the side of the oldest version, which
        is saved as the snapshot, and then all sides are restored from it. If saving fails, the
        client loads all of them.

        Raises:
            CommandError: the client failed.
            TargetError: the load failed, a table has the wrong number of rows, or the dataset
                snapshot is gone.
        """
        for side in sides:
            self._begin("load", side)
        # When a failing earlier try cleans up, it would also end this one's work: wait for its end.
        with fence(self.directory / "load.fence", LEFT_BEHIND_S):
            self._load(sides)
        for side in sides:
            self.state.to("end load", side)

    def _load(self, sides: Sequence[Side]) -> None:
        datasets = self.target.datasets
        to_load = sides if datasets is None else datasets.sides_to_load()
        loaded = [side for side in sides if side in to_load]
        self._load_by_client(loaded)
        if datasets is None or datasets.source() == "load":
            self._all_loaded(sides, "load", together=self.plan.can.loads_together)
            return
        try:
            for side in loaded:
                self.note("prepare", f"keep the dataset of {side}")
                datasets.save(side)
        except UnreachableError:
            raise  # the link may come back, and the stage is tried again
        except BenchlabError as error:
            self.note("prepare", "load all sides", f"the dataset cannot be kept: {error}")
            datasets.load_instead()
            self.store.add_to_environment(self.campaign.id, "dataset", "load")
            self._load_by_client([side for side in sides if side not in loaded])
            return
        for side in sides:
            self.note("prepare", f"restore the dataset of {side}")
            with self._watched("load", side):
                if side not in loaded:  # else it is deployed anew for that
                    self._start(side, alone=not self.plan.can.loads_together)
                datasets.restore(side)
                # Its configuration is gone if the side was deployed anew.
                self.target.balancer(side).configure()
                self._open_account(side)
                self._loaded(side)
        if not loaded:
            self._all_loaded(sides, "restore dataset", together=True)

    def _load_by_client(self, sides: Sequence[Side]) -> None:
        """Load sides in parallel if the target allows that, else one after another."""
        together = len(sides) > 1 and self.plan.can.loads_together
        for batch in [sides] if together else [[side] for side in sides]:
            balancers = [self.target.balancer(side) for side in batch]
            for number, balancer in enumerate(balancers[1:], 1):
                balancers[number] = balancer.beside()
                balancers[number].configure()
            with self._watched("load", *batch):
                for side in batch:
                    engine = self._start(side, alone=not self.plan.can.loads_together)
                    engine.create_database()
                    self._open_account(side)
                threads = max(self.target.load_threads // len(batch), LOAD_THREADS)
                work = zip(batch, balancers, strict=True)
                self._at_once({side: partial(self._fill, side, by, threads) for side, by in work})

    def _fill(self, side: Side, balancer: Balancer, threads: int) -> None:
        """Load a side with the client, through this load balancer, and check the row counts."""
        balancer.start()
        command = self.prepare_command(side, balancer.entry_port, threads)
        done = self.target.executor.run(command, timeout_s=LOAD_LIMIT_S)
        balancer.stop()
        if faults := self.workload.load_faults(done.stdout + done.stderr):
            raise TargetError(f"{side}: the load failed: {'; '.join(faults)}")
        self._loaded(side)

    def _start(self, side: Side, *, alone: bool = True) -> Database:
        """Start a side; ``alone`` stops the other one first: both may need too much memory."""
        for other in self.target.sides:
            if alone and other != side:
                self.target.engine(other).stop()
        engine = self.target.engine(side)
        engine.start()
        return engine

    def _at_once(self, work: Mapping[Side, Callable[[], None]]) -> None:
        """Work on several sides in parallel; the first failure ends the others."""
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
        if self.endpoint(side).user == OPEN_USER:
            self.target.engine(side).open_account()

    def _loaded(self, side: Side) -> None:
        wanted = self.spec.dataset.rows_by_table
        for table, rows in self.target.engine(side).row_counts(list(wanted)).items():
            if wanted[table] not in (None, rows):
                raise TargetError(
                    f"{side}: {table} holds {rows} rows after the load, expected {wanted[table]}"
                )

    def analyze(self, side: Side) -> None:
        """ANALYZE every table, and store the side's facts with the dataset's checksum.

        Raises:
            TargetError: the servers of a resumed campaign differ from those that its trials had.
        """
        self._begin("analyze", side)
        tables = list(self.spec.dataset.rows_by_table)
        with self._watched("analyze", side):
            engine = self._start(side)
            engine.analyze(tables)
            checksum, rows = engine.checksum(tables), engine.row_counts(tables)
            found = engine.facts()
        stored = self.store.campaign(self.campaign.id)
        before = stored.facts.get(side)
        if before is not None and RESUMED in stored.environment:
            planned = self.plan.sides[side]
            resuming.refuse(stored.id, resuming.of_server(side, planned, before, found))
        checked = before.consistency if before else {}
        facts = dataclasses.replace(
            found,
            dataset_checksum=checksum,
            rows=rows,
            # The check after the last trial stays valid: only trials change its result.
            consistency={key: checked[key] for key in checked if key == "last trial"},
            idle=before.idle if before else {},
        )
        self.store.set_facts(self.campaign.id, side, facts)
        self._ended("analyze", side)

    def check(self, side: Side, moment: Moment) -> tuple[Condition, ...]:
        """Check whether a side's dataset meets the workload's consistency conditions, and store it.

        Nothing is restored: after the last trial, the data that it left are checked.

        Returns:
            Each condition with its violations; empty if the workload has none, or if the side's
            data are not what a finished trial left.

        Raises:
            TargetError: a condition does not hold after the load; names each such condition.
            EngineError, CommandError: the side cannot be started or asked; nothing is stored.
        """
        if (check := self.workload.CONSISTENCY) is None:
            return ()
        if moment == "last trial" and not self.state.read().side(side).measured:
            self.note(
                "prepare", f"check after {moment} {side}", "no trial has finished on its data"
            )
            return ()
        self._begin(f"check after {moment}", side)
        with self._watched(f"check after {moment}", side):
            found = check(self._start(side).query)
        facts = self.store.campaign(self.campaign.id).facts[side]
        facts = dataclasses.replace(facts, consistency={**facts.consistency, moment: found})
        self.store.set_facts(self.campaign.id, side, facts)
        if moment == "load":
            self._clock.ended("check after load", side, "check")
        if moment == "load" and (faults := [str(met.fault) for met in found if met.violations]):
            raise TargetError(
                f"{side}: the loaded dataset is not consistent: {'; '.join(faults)}; nothing can "
                "be measured on it: load it again; if that does not help, use another client"
            )
        return found

    def back_up(self, side: Side) -> None:
        """Keep the dataset for later campaigns, if the report type says so; take the snapshot.

        Before that, in the first deployment, idle servers that count something are watched.

        Raises:
            EngineError: the server did not stop cleanly.
            TargetError: a restored dataset has other rows than the one that was kept.
        """
        self._begin("back up", side)
        with self._watched("back up", side):  # then it is stopped
            engine = self._start(side)
            facts = self.store.campaign(self.campaign.id).facts[side]
            # Only after the check, because many campaigns restore a kept dataset.
            datasets = self.target.datasets
            if datasets and (kept := datasets.keep(side, facts.dataset_checksum or "")):
                self.note("prepare", f"back up {side}", note=kept)
            if not facts.idle:
                idle = counting.idle(engine, self.target.executor, side, self.spec.seconds)
                facts = dataclasses.replace(facts, idle=idle)
                self.store.set_facts(self.campaign.id, side, facts)
        engine.backup()
        self._ended("back up", side)

    def _ended(self, phase: TimedStep, side: Side) -> None:
        self.state.to(f"end {phase}", side)
        self._clock.ended(phase, side)

    def _begin(self, phase: str, side: Side, **facts: int) -> None:
        """Begin a stage of a side; ends what an earlier try that died left running."""
        spending, number = self.target.spending(), self.remaining.current()
        which = f"deployment {number} of {self.plan.deployments}" * (self.plan.deployments > 1)
        said = filter(None, (which, str(spending or "")))
        self.note("prepare", f"{phase} {side}", "; ".join(said))
        needed = minutes_with_end(self.plan.steps, phase, side, number)
        if spending is not None and not spending.allows(needed):
            raise TargetError(
                f"{phase} {side}: {spending} spent; with giving the hosts back it takes about "
                f"{needed:.0f} min, more than the {spending.minutes_left:.0f} min until "
                + ("budget.limit is reached" if spending.ends_by_limit else "they end themselves")
            )
        self.target.acquire(self.campaign.origin)
        if not self.state.begin(phase, side, **facts):
            self.target.interrupt()

    @contextlib.contextmanager
    def _watched(self, phase: str, *sides: Side) -> Iterator[None]:
        """Report servers that end by themselves while a stage works on these sides.

        If the stage fails, its error gets notes about them. If not, its own checks passed (row
        counts, analyses, consistency conditions): it waits until these servers run again, the
        campaign records it, and later plans do not learn from its time.
        """
        self._go_on(phase, sides)  # servers that ended since the last stage, before they restart
        try:
            yield
        except UnreachableError:
            raise  # the hosts cannot be asked
        except BenchlabError as error:
            for side in sides:
                with contextlib.suppress(BenchlabError):  # the original error matters more
                    for ended in self.target.engine(side).ended_servers():
                        error.add_note(f"{side}: {ended}")
            raise
        self._go_on(phase, sides)

    def _go_on(self, phase: str, sides: Sequence[Side]) -> None:
        """Record which servers of these sides ended by themselves, and wait until they run."""
        for side in sides:
            engine = self.target.engine(side)
            if not (found := [*engine.ended_servers()]):
                continue
            self.state.to("forget times", began=dict.fromkeys(self.state.read().began))
            try:
                engine.go_on()
            except BenchlabError as error:
                for ended in found:
                    error.add_note(f"{side}: {ended}")
                raise
            for ended in found:
                self.note("prepare", f"{phase} {side}", note=str(ended))
                environment = self.store.campaign(self.campaign.id).environment
                said = ended_servers.in_stage(phase, side, ended)
                line = ended_servers.with_noted(environment, said)
                self.store.add_to_environment(self.campaign.id, ended_servers.KEY, line)

    def _all_loaded(self, sides: Sequence[Side], step: TimedStep, *, together: bool) -> None:
        """Store how long it took to fill all sides, as one step or as one per side."""
        if (took := self.state.took("load", sides[0])) is None:
            return
        if together and len(sides) > 1:
            self._clock.keep((step, None, took))
        else:
            self._clock.keep(*((step, side, took / len(sides)) for side in sides))

    # What the stages are made of

    def prepare_command(
        self, side: Side, port: int | None = None, threads: int | None = None
    ) -> list[str]:
        """The command that loads the dataset, by default through the side's load balancer."""
        record, to = self.store.campaign(self.campaign.id), self.endpoint(side)
        session = Session(
            dataclasses.replace(to, port=port or to.port),
            str(client_config(self.target, side)),
            self.spec.dataset,
            threads or self.target.load_threads,
            record.client,
        )
        program = program_of(record.client.program, self.workload.PROGRAMS)
        return program.started(self.workload.prepare_command(session), record.client_path)

    def endpoint(self, side: Side) -> Endpoint:
        """A side's address and account for the client."""
        password = self.home.password(self.campaign.id)
        client = self.store.campaign(self.campaign.id).client
        return endpoint(self.target, side, self.workload, client, password)
