"""A campaign's stages, each a method: what an Airflow task calls, and what `benchlab run` calls
one after the other.

State between stages is in the store and in the campaign's directory, never in the caller: every
stage can be called in another process, and again after a crash.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchlab import catalog, compare, plan, quality, trial
from benchlab.engine import DATABASE, USER, BaseEngine
from benchlab.errors import BenchlabError, NotMeasuredError, SpecError, TargetError
from benchlab.home import Home
from benchlab.lock import fence
from benchlab.plan import PlannedTrial
from benchlab.progress import ProgressLog, Step
from benchlab.publishers import files
from benchlab.report import bundle
from benchlab.results import Campaign, TrialResult
from benchlab.spec import SIDES, ReportSpec, Side
from benchlab.store import Store

LOAD_LIMIT_S = 24 * 3600.0
MAX_LOAD_THREADS = 16
# A repeated task waits this long beyond a trial's own time for the process it repeats.
FENCE_SLACK_S = 600.0
# Of one trial, before it counts as one that cannot be executed; and of trials in a row that
# cannot, before the campaign is given up.
TRIES = 3


def new_id(report: str, now: datetime | None = None) -> str:
    """An id for a campaign that starts now: the report type and the time in UTC."""
    return f"{report}-{(now or datetime.now(UTC)).strftime('%Y%m%dT%H%M%S')}"


class CampaignRun:
    """One campaign at work.

    Args:
        home: the installation.
        store: the results store.
        campaign: its record, as read from the store.
    """

    def __init__(self, home: Home, store: Store, campaign: Campaign) -> None:
        self.home, self.store, self.campaign = home, store, campaign
        self.spec = ReportSpec.model_validate(campaign.spec)
        self.plan = campaign.plan
        self.directory = home.campaign(campaign.id)
        self.progress = ProgressLog(self.directory / "progress.jsonl")
        self.target = catalog.targets()[self.spec.target](
            home, campaign.id, self.plan, self.spec.ports
        )

    @classmethod
    def create(
        cls, home: Home, store: Store, spec: ReportSpec, campaign: str, origin: str
    ) -> CampaignRun:
        """Plan a campaign, check that the machine is fit for it, and write it to the store.

        Called again with the same id and plan, it carries the campaign on.

        Raises:
            SpecError, UnavailableError: before anything is started.
        """
        engine, reason = catalog.choose_engine(spec, home)
        planned = plan.make(spec, engine, campaign, catalog.read_only_workloads())
        record = Campaign(
            id=campaign,
            plan=planned,
            spec=spec.model_dump(mode="json"),
            engine_reason=reason,
            origin=origin,
            state="running",
            started_at=datetime.now(UTC),
            ended_at=None,
            environment={},
            facts={},
        )
        run = cls(home, store, record)
        store.add_campaign(record)
        run.note("plan", "planned", note=f"{len(planned.trials)} trials, {planned.minutes} min")
        return run

    @classmethod
    def open(cls, home: Home, store: Store, campaign: str) -> CampaignRun:
        """A campaign that is in the store.

        Raises:
            StoreError: it is not there.
        """
        return cls(home, store, store.campaign(campaign))

    # Stages, in order

    def register(self) -> None:
        """Take the machine, and refuse what could not be measured on it.

        Raises:
            LockHeldError: another campaign is at work.
            TargetError, UnavailableError: the machine is not fit; nothing has been started.
        """
        self.note("register", "check the machine")
        driver = os.environ.get("BENCHLAB_DRIVER")
        dead = self.target.acquire(self.campaign.origin, int(driver) if driver else None)
        if dead is not None:
            self.note("register", f"cleaned up after {dead} ({dead.left_behind()})")
        self.target.executor.release()  # what an interrupted try of this campaign left
        try:
            self.target.preflight()
        except Exception:
            self.target.release()
            self.store.finish(self.campaign.id, "failed")
            raise
        self.store.reopen(self.campaign.id)

    def provision(self) -> None:
        """Fetch the servers, write the client's option file, note the machine's facts."""
        for side in SIDES:
            version = self.plan.sides[side].version
            self.note("provision", "install", note=f"{self.plan.engine} {version}")
            self._engine(side).install(self.target.executor, version, self.home.servers)
        text = self._client_config_text()
        self.target.executor.put(self.directory / "sysbench.cnf", text, private=True)
        self.store.set_environment(self.campaign.id, self.target.environment())

    def deploy(self, side: Side) -> None:
        """A running, empty server of the side's version, with its parameters in effect.

        Raises:
            EngineError: it is another version, or ignores a parameter.
        """
        self.note("prepare", f"deploy {side}")
        self._stop_all()
        engine = self._engine(side)
        engine.deploy()
        reported = engine.version()
        if not engine.is_requested_version(reported):
            raise TargetError(
                f"{side}: asked for {engine.instance.version}, the server says {reported}"
            )
        if ignored := engine.ineffective(engine.variables()):
            raise SpecError(
                f"{side}: parameters without effect in {reported}: "
                + ", ".join(f"{key} (is {value})" for key, value in ignored.items())
            )
        self.target.balancer(side).configure()

    def load(self, side: Side) -> None:
        """Fill the dataset's tables through the side's own port.

        Raises:
            CommandError: the client failed.
            TargetError: a table does not hold the rows it should.
        """
        self.note("prepare", f"load {side}")
        engine = self._engine(side)
        engine.start()
        engine.sql(f"DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE}")
        self.target.executor.run(self.prepare_command(side), timeout_s=LOAD_LIMIT_S)
        for table in self._tables():
            ((rows,),) = engine.sql(f"SELECT COUNT(*) FROM {DATABASE}.{table}")
            if int(rows) != self.spec.dataset.table_size:
                raise TargetError(
                    f"{side}: {table} holds {rows} rows after the load, "
                    f"{self.spec.dataset.table_size} were asked for"
                )

    def analyze(self, side: Side) -> None:
        """ANALYZE every table; note the facts and the dataset's checksum."""
        self.note("prepare", f"analyze {side}")
        engine = self._engine(side)
        engine.start()
        engine.analyze(self._tables())
        facts = dataclasses.replace(
            engine.facts(), dataset_checksum=engine.checksum(self._tables())
        )
        self.store.set_facts(self.campaign.id, side, facts)

    def back_up(self, side: Side) -> None:
        """Stop the server and take the snapshot."""
        self.note("prepare", f"back up {side}")
        self._engine(side).backup()

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
            self.target.lock.renew(self.campaign.id)
            tries = self._begin(planned, attempt)
            try:
                return self._keep(self._execute(planned, attempt, repeated=tries > 1))
            except BenchlabError as error:
                self.note("trial", "failed", f"{planned.title}, try {tries}: {error}")
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

    def compare(self) -> compare.Comparison:
        """The verdicts from what the store has now."""
        return compare.compare(
            self.plan, self.store.trials(self.campaign.id), self.spec.threshold_pct
        )

    def publish(self) -> list[Path]:
        """Write the report from the store; returns its files, the Markdown first."""
        self.note("publish", "report")
        self.finish()
        record = self.store.campaign(self.campaign.id)
        contents = bundle.make(record, self.compare(), self.store.trials(self.campaign.id))
        return files.publish(contents, self.home.reports / self.campaign.id)

    def finish(self) -> None:
        """Set the final state: complete, or failed where a planned trial has no valid result."""
        state = "failed" if self.compare().missing else "complete"
        self.store.finish(self.campaign.id, state)  # type: ignore[arg-type]

    def verdict(self) -> None:
        """Fail where something could not be measured; a finding is not a failure.

        Raises:
            NotMeasuredError: names the trials without a valid result and why.
        """
        outcome = self.compare()
        if not outcome.missing:
            self.note("verdict", ", ".join(f"{w.name}: {w.verdict}" for w in outcome.workloads))
            return
        why = [
            f"{e.trial}: {'; '.join(e.reasons)}"
            for e in outcome.excluded
            if e.trial in outcome.missing
        ]
        raise NotMeasuredError(
            f"{len(outcome.missing)} of {len(self.plan.trials)} trials have no valid result: "
            f"{', '.join(outcome.missing)}\n" + "\n".join(why)
        )

    def release(self) -> int:
        """End every process, remove data and snapshots, give the machine back; repeatable."""
        ended = self.target.release()
        self.note("release", "done", note=f"{ended} processes ended")
        return int(ended)

    # What the stages are made of

    def prepare_command(self, side: Side) -> list[str]:
        """The command that loads the dataset."""
        workload = catalog.workloads()[self.spec.workloads[0]]
        engine = self._engine(side)
        command: list[str] = workload.prepare_command(
            workload.Endpoint(
                engine.instance.host, engine.instance.port, USER, engine.instance.password, DATABASE
            ),
            str(self.directory / "sysbench.cnf"),
            tables=self.spec.dataset.tables,
            table_size=self.spec.dataset.table_size,
            threads=min(self.spec.dataset.tables, MAX_LOAD_THREADS),
        )
        return command

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
            deployment=self.target,
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

    def _engine(self, side: Side) -> BaseEngine:
        engine: BaseEngine = self.target.engine(side)
        return engine

    def _stop_all(self) -> None:
        for side in SIDES:
            self.target.balancer(side).stop()
            self._engine(side).stop()

    def _client_config_text(self) -> str:
        workload = catalog.workloads()[self.spec.workloads[0]]
        balancer = self.target.balancer("baseline")
        text: str = workload.config_file_text(
            workload.Endpoint(
                balancer.host,
                balancer.entry_port,
                USER,
                self.home.password(self.campaign.id),
                DATABASE,
            )
        )
        return text

    def _tables(self) -> list[str]:
        return trial.table_names(self.spec.dataset)

    def note(self, stage: str, phase: str, note: str = "") -> None:
        """Write a step to the campaign's progress."""
        self.progress.write(Step(time.time(), stage, phase, note=note))

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


def run(work: CampaignRun) -> list[Path]:
    """A whole campaign in this process; the machine is given back however it ends.

    Returns:
        The report's files.
    """
    work.register()
    try:
        work.provision()
        for side in SIDES:
            work.deploy(side)
            work.load(side)
            work.analyze(side)
            work.back_up(side)
        work.measure_all()
        return work.publish()
    except BaseException:
        work.store.finish(work.campaign.id, "failed")
        raise
    finally:
        work.release()
