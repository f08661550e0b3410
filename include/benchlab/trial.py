"""One trial: restore, start, wait until ready, warm up, run, collect.

A trial is one unit. Whoever repeats it after a crash restores first, except where the client of
the first try is still running or has just ended: then that client is adopted, so that no trial is
measured twice and no two clients run at once.
"""

from __future__ import annotations

import contextlib
import csv
import io
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from benchlab import quality
from benchlab.engine import DATABASE, USER, BaseEngine
from benchlab.errors import CommandError, EngineError
from benchlab.executor import Executor, JobStatus
from benchlab.loadbalancer.haproxy import HAProxy
from benchlab.plan import PlannedTrial
from benchlab.quality import Gate
from benchlab.results import Sample, SideFacts, TrialResult
from benchlab.spec import SIDES, Dataset, Side

# Beyond its own time a client may need this long to connect and to print its summary.
CLIENT_SLACK_S = 60.0
POLL_S = 0.05

Phase = Callable[[str], None]


class Deployment(Protocol):
    """What a trial needs of its target."""

    executor: Executor

    def engine(self, side: Side) -> BaseEngine: ...

    def balancer(self, side: Side) -> HAProxy: ...


@dataclass(frozen=True)
class Setting:
    """What is the same for every trial of a campaign.

    Attributes:
        workload: the module that has the trial's workload.
        password_file: the client's option file with the password.
        facts: of each deployed side, for the gates; its dataset is checked where
            ``check_dataset`` is set.
    """

    deployment: Deployment
    workload: ModuleType
    dataset: Dataset
    warmup_seconds: int
    directory: Path
    password: str = field(repr=False)
    gates: Sequence[Gate]
    facts: dict[Side, SideFacts]


@dataclass
class Collected:
    """A trial's outcome with the texts that are kept beside it."""

    result: TrialResult
    raw: str
    series_csv: str


@dataclass
class _Clock:
    """Seconds spent in each phase."""

    on_phase: Phase
    seconds: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self.on_phase(name)
        begin = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0) + time.monotonic() - begin


def measure(
    setting: Setting,
    trial: PlannedTrial,
    attempt: int,
    *,
    restore: bool,
    check_dataset: bool,
    repeated: bool,
    on_phase: Phase,
) -> Collected:
    """Execute one trial.

    Args:
        attempt: number of the measurement of its pair of blocks.
        check_dataset: compare the dataset with the snapshot's before the run.
        restore: lay the snapshot back first.
        repeated: an earlier try died; what it left running is ended, unless it is the client,
            which is adopted.
        on_phase: told the name of each phase as it begins.

    Raises:
        EngineError, TargetError, CommandError: the side could not be brought to run, and so
            nothing was measured. A run that went wrong is no error: it is an invalid trial.
    """
    clock = _Clock(on_phase)
    started_at = datetime.now(UTC)
    job = client_job(trial, attempt)
    executor = setting.deployment.executor
    columns: dict[str, float | None] = {}
    adopted = executor.job_status(job).state in ("running", "complete")
    if not adopted:
        if repeated:
            executor.release()  # also a copy that is still under way
        executor.forget_job(job)
        _make_ready(setting, trial, clock, restore=restore)
        if check_dataset:
            with clock.phase("check dataset"):
                columns["dataset_differs"] = _dataset_differs(setting, trial.side)
        _warm_up(setting, trial, clock)
        _start_client(setting, trial, job)
    with clock.phase("run"):
        status = _wait(executor, job, trial.seconds + CLIENT_SLACK_S)
    with clock.phase("collect"):
        raw = executor.job_output(job)
        output = setting.workload.parse(raw)
        columns |= quality.client_columns(
            output.to_json(), {"transactions": output.transactions}, trial.threads, trial.seconds
        )
        columns["client_exit_code"] = status.exit_code
        columns |= _server_columns(setting, trial.side)
        results = quality.evaluate(setting.gates, columns)
        reasons = [*quality.reasons(setting.gates, results), *_client_reasons(output, status)]
    result = TrialResult(
        trial=trial,
        attempt=attempt,
        valid=all(gate.status != "fail" for gate in results),
        reasons=tuple(reasons) if any(gate.status == "fail" for gate in results) else (),
        samples=_samples(output),
        gates=results,
        started_at=started_at,
        ended_at=datetime.now(UTC),
        phases={name: round(seconds, 3) for name, seconds in clock.seconds.items()},
        adopted=adopted,
    )
    return Collected(result, raw, _series_csv(output))


def client_job(trial: PlannedTrial, attempt: int) -> str:
    """The job under which a trial's client runs; its name is the fence against a second one."""
    return f"client-{trial.id}-a{attempt}"


def _make_ready(setting: Setting, trial: PlannedTrial, clock: _Clock, *, restore: bool) -> None:
    deployment = setting.deployment
    engine, balancer = deployment.engine(trial.side), deployment.balancer(trial.side)
    fresh = restore or not engine.running()
    with clock.phase("stop"):
        balancer.stop()
        for side in SIDES:
            if side != trial.side or fresh:
                deployment.engine(side).stop()
    if restore:
        with clock.phase("restore"):
            engine.restore()
    with clock.phase("start"):
        engine.start()
    with clock.phase("ready"):
        balancer.start()


def _warm_up(setting: Setting, trial: PlannedTrial, clock: _Clock) -> None:
    if not setting.warmup_seconds:
        return
    with clock.phase("warm-up"):
        command = _run_command(setting, trial, setting.warmup_seconds)
        setting.deployment.executor.run(
            command, timeout_s=setting.warmup_seconds + CLIENT_SLACK_S, check=False
        )


def _start_client(setting: Setting, trial: PlannedTrial, job: str) -> None:
    command = _run_command(setting, trial, trial.seconds)
    setting.deployment.executor.start_job(job, command)


def _run_command(setting: Setting, trial: PlannedTrial, seconds: int) -> list[str]:
    balancer, engine = (
        setting.deployment.balancer(trial.side),
        setting.deployment.engine(trial.side),
    )
    endpoint = setting.workload.Endpoint(
        balancer.host, balancer.entry_port, USER, setting.password, DATABASE
    )
    command: list[str] = setting.workload.run_command(
        trial.workload,
        endpoint,
        str(setting.directory / "sysbench.cnf"),
        threads=trial.threads,
        seconds=seconds,
        tables=setting.dataset.tables,
        table_size=setting.dataset.table_size,
        ignore_errors=engine.retryable_errors,
    )
    return command


def _wait(executor: Executor, job: str, limit_s: float) -> JobStatus:
    """Wait for the client; one that outstays its limit is ended and judged by what it printed."""
    deadline = time.monotonic() + limit_s
    while (status := executor.job_status(job)).state == "running":
        if time.monotonic() > deadline:
            executor.stop_job(job, timeout_s=5)
            return executor.job_status(job)
        time.sleep(POLL_S)
    return status


def _dataset_differs(setting: Setting, side: Side) -> float | None:
    wanted = setting.facts[side].dataset_checksum if side in setting.facts else None
    if wanted is None:
        return None
    found = setting.deployment.engine(side).checksum(table_names(setting.dataset))
    return 0.0 if found == wanted else 1.0


def _server_columns(setting: Setting, side: Side) -> dict[str, float | None]:
    """What the servers tell after the run; a server that is gone tells by that."""
    engine, balancer = setting.deployment.engine(side), setting.deployment.balancer(side)
    columns: dict[str, float | None] = {"ended_servers": 0.0 if engine.running() else 1.0}
    with contextlib.suppress(CommandError):
        columns["backends_down"] = float(sum(not b.up for b in balancer.statistics()))
    if engine.running():
        with contextlib.suppress(CommandError, EngineError):
            as_requested = engine.is_requested_version(engine.version())
            columns["wrong_version_servers"] = float(not as_requested)
            columns["ineffective_parameters"] = float(len(engine.ineffective(engine.variables())))
    return columns


def _client_reasons(output: Any, status: JobStatus) -> tuple[str, ...]:
    said = tuple(f"client: {reason}" for reason in output.reasons)
    if status.exit_code == 0:
        return said
    ended = "unknown" if status.exit_code is None else status.exit_code
    return (*said, f"client: exit code {ended}")


def _samples(output: Any) -> tuple[Sample, ...]:
    latency = output.latency_ms
    return (
        Sample("tps", output.tps),
        Sample("qps", output.qps),
        Sample("p95_ms", latency.p95),
        Sample("avg_ms", latency.avg),
        Sample("min_ms", latency.min),
        Sample("max_ms", latency.max),
        Sample("duration_s", output.duration_s),
        Sample("errors", output.errors),
        Sample("reconnects", output.reconnects),
    )


def _series_csv(output: Any) -> str:
    columns = ("t", "threads", "tps", "qps", "p95_ms", "errors_per_s", "reconnects_per_s")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for interval in output.series:
        values = (getattr(interval, column) for column in columns)
        writer.writerow(["" if value is None else value for value in values])
    return text.getvalue()


def table_names(dataset: Dataset) -> list[str]:
    """sysbench's tables."""
    return [f"sbtest{number}" for number in range(1, dataset.tables + 1)]
