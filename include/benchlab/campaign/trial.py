"""One trial: restore, start, wait until ready, warm up if the side was started, run, collect.

A trial has two halves, which may run in different processes: :func:`begin` ends when the client has
been started, :func:`collect` reads what it printed. A repeated try restores first, unless the
client of the earlier try still runs or has ended. Then it adopts that client, so that no trial is
measured twice and no two clients run at once.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from benchlab.analysis.gates import gates as quality
from benchlab.campaign import counting, room, trial_columns
from benchlab.campaign.deployment import TrialSetup, client_config, endpoint
from benchlab.campaign.state import Begun
from benchlab.engines.counts import samples, to_csv
from benchlab.errors import UnreachableError
from benchlab.hosts import metrics
from benchlab.hosts.executor import JOB_LIMIT_BYTES, Executor, JobStatus
from benchlab.hosts.metrics import HostMetrics, Watched
from benchlab.language import Message, Said
from benchlab.plan.open_loop import saturated
from benchlab.plan.order import PlannedTrial
from benchlab.results.records import TrialResult
from benchlab.targets import haproxy
from benchlab.targets.haproxy import Direct
from benchlab.workloads.client import Session, program_of
from benchlab.workloads.output import client_reasons, samples_of, series_csv

# Time that a client may take, in addition to its run, to connect and to print its summary.
CLIENT_SLACK_S = 60.0
# How often to ask whether the client runs, before its planned end and after it. Over SSH each
# question is background load on the client's host.
SELDOM_S, POLL_S = 2.0, 0.05
BOUNDED = ("prlimit", f"--fsize={JOB_LIMIT_BYTES}")
# Discards the output of a warm-up, which would otherwise be kept in memory.
UNHEARD = ("sh", "-c", 'exec "$@" > /dev/null 2>&1', "warm-up")
ASK_AGAIN_S = 1.0

Phase = Callable[[str], None]


@dataclass
class Collected:
    """A trial's result with the texts that are stored with it.

    Attributes:
        raw: what the client printed.
        series_csv: the series of the client's metrics.
        hosts_csv: the series of the host metrics.
        counts_csv: what a query took of the servers; empty where that is not known.
    """

    result: TrialResult
    raw: str
    series_csv: str
    hosts_csv: str
    counts_csv: str


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


def begin(
    setup: TrialSetup,
    trial: PlannedTrial,
    attempt: int,
    *,
    earlier: Begun | None,
    restore: bool,
    check_dataset: bool,
    repeated: bool,
    on_new: Callable[[], None],
    on_phase: Phase,
    on_run: Callable[[], None] = lambda: None,
) -> Begun:
    """The first half of a trial: everything up to the start of its client.

    Args:
        earlier: what an earlier try of this trial returned, if it started its client.
        restore: restore the side's snapshot first.
        check_dataset: compare the dataset with the snapshot's before the run.
        repeated: an earlier try failed; what it left running is ended, except a client to adopt.
        on_new: called before a new client is prepared, because ``earlier`` is then out of date.
        on_run: called after the warm-up, just before the client is started.

    Raises:
        EngineError, TargetError, CommandError: the side could not be started; nothing was
            measured.
    """
    clock = _Clock(on_phase)
    started_at = datetime.now(UTC)
    job = client_job(trial, attempt)
    adopted = setup.deployment.executor.job_status(job).state in ("running", "complete")
    if adopted and earlier is not None:
        return replace(earlier, adopted=True)
    columns: dict[str, float | None] = {}
    unsampled: dict[str, Said] = {}
    if not adopted:
        if repeated:
            setup.deployment.interrupt()  # including a copy that is still under way
        setup.deployment.executor.forget_job(job)
        on_new()
        started = _make_ready(setup, trial, clock, restore=restore)
        if check_dataset:
            with clock.phase("check dataset"):
                columns["dataset_differs"] = trial_columns.dataset_differs(setup, trial.side)
        # Also if unplanned: the server may have ended since the last trial.
        warm_up = setup.campaign.report_type.warmup_seconds if trial.warm_up or started else 0
        found, unsampled = _start_client(setup, trial, job, clock, warm_up, on_run)
        columns |= found
    on_phase("run")
    now = time.time()
    return Begun(
        trial=trial.id,
        attempt=attempt,
        job=job,
        started_at=started_at.isoformat(),
        running_since=now,
        until=now + trial.seconds + CLIENT_SLACK_S,
        phases=clock.seconds,
        columns=columns,
        adopted=adopted,
        unsampled=unsampled,
    )


def collect(setup: TrialSetup, trial: PlannedTrial, begun: Begun, on_phase: Phase) -> Collected:
    """The second half of a trial: wait until its client ends, and read what it printed.

    A failed run does not raise; it makes the trial invalid.

    Raises:
        UnreachableError: the client's host could not be reached in time.
    """
    executor = setup.deployment.executor
    clock = _Clock(on_phase, dict(begun.phases))
    status = _wait(executor, begun.job, begun.until)
    client_ended = time.monotonic()
    clock.seconds["run"] = max(time.time() - begun.running_since, 0.0)
    with clock.phase("collect"):
        raw = executor.job_output(begun.job)
        output = setup.workload.parse(raw)
        columns = begun.columns | trial_columns.of_client(setup, trial, output, status)
        columns |= trial_columns.of_servers(setup, trial, begun.columns)
        hosts = _watched_hosts(setup, trial, begun)
        columns |= hosts.columns()
        columns["free_space_ratio"] = hosts.space_ratio(
            setup.deployment.engine(trial.side).least_free
        )
        columns |= trial_columns.of_setup(setup, trial.side)
        ended: tuple[Message, ...] = ()
        if counted := columns["ended_servers"]:
            ended = trial_columns.how_servers_ended(setup, trial)
            columns["ended_servers"] = max(counted, float(len(ended)))
        # Last, because it may have to wait.
        columns |= trial_columns.of_storage(setup, trial, begun.columns, client_ended)
        counts, changes = counting.collect(setup, trial, begun.job)
        columns |= changes
        gates = quality.of_campaign(
            setup.gates,
            setup.campaign.plan.throughput.name,
            fleet=setup.campaign.report_type.topology is not None,
        )
        results = quality.evaluate(gates, columns)
        valid = quality.is_valid(results)
        compared = [row for row in counts if not quality.leaving_out(gates, results, row.count)]
        reasons: tuple[Said, ...] = (
            *quality.reasons(results),
            *_full_disks(setup, columns["free_space_ratio"]),
            *ended,
            *client_reasons(output, status.exit_code),
        )
    result = TrialResult(
        trial=trial,
        attempt=begun.attempt,
        valid=valid,
        reasons=() if valid else reasons,
        samples=(
            *samples_of(output, setup.workload.METRICS),
            *samples(compared, setup.campaign.plan.metrics, output.queries_per_transaction),
        ),
        gates=results,
        started_at=datetime.fromisoformat(begun.started_at),
        ended_at=datetime.now(UTC),
        phases={name: round(seconds, 3) for name, seconds in clock.seconds.items()},
        adopted=begun.adopted,
        host_figures=hosts.hosts,
    )
    return Collected(
        result, raw, series_csv(output), hosts.to_csv(), to_csv(counts) if counts else ""
    )


def _full_disks(setup: TrialSetup, ratio: float | None) -> list[Message]:
    """Which disks were too full in a trial, as far as they still are."""
    if ratio is None or ratio >= 1:
        return []
    return room.full(setup.deployment.executors(), setup.deployment)


def client_job(trial: PlannedTrial, attempt: int) -> str:
    """The id of a trial's client job, such as ``client-r1-baseline-tpcc-t8-a1``.

    It is always the same, so that no second client can run.
    """
    return f"client-{trial.id}-a{attempt}"


def _make_ready(setup: TrialSetup, trial: PlannedTrial, clock: _Clock, *, restore: bool) -> bool:
    """Start the side, restored if ``restore``; returns whether its server was started now."""
    deployment = setup.deployment
    engine, balancer = setup.engine(trial), deployment.balancer(trial.side)
    configure = not engine.configured()
    fresh = restore or configure or not engine.running()
    with clock.phase("stop"):
        balancer.stop()
        for side in deployment.sides:
            if side != trial.side or fresh:
                deployment.engine(side).stop()
    if restore:
        with clock.phase("restore"):
            engine.restore()
    if configure:
        with clock.phase("configure"):
            engine.configure()
    with clock.phase("start"):
        engine.start_for_trial()
    with clock.phase("ready"):
        balancer.start()
    return fresh


def _start_client(
    setup: TrialSetup,
    trial: PlannedTrial,
    job: str,
    clock: _Clock,
    warm_up_s: int,
    on_run: Callable[[], None],
) -> tuple[dict[str, float | None], dict[str, Said]]:
    """Warm up, start the client, and sample all hosts while it runs.

    Args:
        warm_up_s: seconds; 0 for no warm-up.

    Returns:
        Columns for the gates, and why a host is not sampled, by host.
    """
    deployment, executor = setup.deployment, setup.deployment.executor
    counting.before(setup, trial, job)
    if warm_up_s:
        with clock.phase("warm-up"):
            warm_up = [*UNHEARD, *run_command(setup, trial, warm_up_s)]
            executor.run(warm_up, timeout_s=warm_up_s + CLIENT_SLACK_S, check=False)
    columns = trial_columns.before_run(setup, trial.side)
    on_run()
    executor.start_job(job, [*BOUNDED, *run_command(setup, trial, trial.seconds)])
    unsampled = metrics.start(
        deployment.executors(),
        metrics.sampler_job(job),
        trial.seconds,
        deployment.client_host,
        _harness(setup, trial, job),
    )
    counting.start(setup, trial, job)
    return columns, unsampled


def _watched_hosts(setup: TrialSetup, trial: PlannedTrial, begun: Begun) -> HostMetrics:
    deployment = setup.deployment
    return metrics.stop_and_collect(
        deployment.executors(),
        metrics.sampler_job(begun.job),
        deployment.client_host,
        _harness(setup, trial, begun.job),
        unsampled=begun.unsampled,
        client_alone=deployment.client_alone,
    )


def _harness(setup: TrialSetup, trial: PlannedTrial, job: str) -> tuple[Watched, ...]:
    client = Watched("client", job, trial.threads)
    balancer = setup.deployment.balancer(trial.side)
    if isinstance(balancer, Direct):
        return (client,)
    return (client, Watched("load balancer", haproxy.JOB, balancer.threads))


def run_command(setup: TrialSetup, trial: PlannedTrial, seconds: int) -> list[str]:
    """The client's command for a run of this many seconds."""
    deployment, client = setup.deployment, setup.campaign.client
    session = Session(
        endpoint(deployment, trial.side, setup.workload, client, setup.password),
        str(client_config(deployment, trial.side)),
        setup.campaign.report_type.dataset,
        trial.threads,
        client,
        setup.rate,
    )
    command = setup.workload.run_command(
        saturated(trial.workload),
        session,
        seconds=seconds,
        ignore_errors=deployment.engine(trial.side).retryable_errors,
    )
    program = program_of(client.program, setup.workload.PROGRAMS)
    return program.started(command, setup.campaign.client_path)


def _wait(executor: Executor, job: str, until: float) -> JobStatus:
    """Wait for the client, and stop it after ``until`` (seconds since the epoch).

    If its host cannot be reached, the client keeps running there, and the host is asked again.

    Raises:
        UnreachableError: the host could not be reached in time.
    """
    while True:
        late = time.time() > until
        try:
            status = executor.job_status(job)
        except UnreachableError:
            if late:
                raise
            time.sleep(ASK_AGAIN_S)
            continue
        if status.state != "running":
            return status
        if late:
            executor.stop_job(job, timeout_s=5)
            return executor.job_status(job)
        left = until - CLIENT_SLACK_S - time.time()
        time.sleep(min(max(left, POLL_S), SELDOM_S))
