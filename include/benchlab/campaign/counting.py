"""What a transaction takes: the counters of a trial's servers, read while its client runs.

They are read when a fifth of the run is over, and at its end: what happens before is not steady
yet. Both readings have the queries as well, so that neither has to be at an exact moment.

A trial whose counters could not be read, or whose servers were started again meanwhile, has no
counts; nothing else of it is lost.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence

from benchlab.campaign.deployment import TrialSetup
from benchlab.engines.counts import Counted, Row, idle_rates, rows
from benchlab.engines.database import Database
from benchlab.errors import CommandError
from benchlab.hosts import counters
from benchlab.hosts.counters import counters_job
from benchlab.hosts.executor import Executor
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import Side

# Of the run, what is not counted.
UNSTEADY = 0.2
POLL_S = 0.05


def start(setup: TrialSetup, trial: PlannedTrial, job: str) -> None:
    """Begin to read the counters, just after a trial's client was started; see :func:`collect`."""
    if sources := setup.engine(trial).counter_sources():
        moments = (UNSTEADY * trial.seconds, float(trial.seconds))
        with contextlib.suppress(CommandError):
            counters.start(setup.deployment.executor, counters_job(job), sources, moments)


def collect(setup: TrialSetup, trial: PlannedTrial, job: str) -> list[Row]:
    """What the trial's servers counted, once its client has ended; empty where that is not known.

    The first row is of the queries themselves.
    """
    engine = setup.engine(trial)
    read = _read(engine, setup.deployment.executor, counters_job(job), counters.ANSWER_LIMIT_S)
    if read is None or engine.queries is None:
        return []
    facts = setup.campaign.facts.get(trial.side)
    return rows(engine.counts, engine.queries, *read, idle=facts.idle if facts else {})


def idle(engine: Database, executor: Executor, side: Side) -> dict[str, float]:
    """What the servers of a side count in a second without any query, by count.

    Takes :attr:`Database.idle_s`; nothing where that is zero, or the servers cannot be read.
    """
    sources, job = engine.counter_sources(), f"counters-idle-{side}"
    if not (sources and engine.idle_s):
        return {}
    with contextlib.suppress(CommandError):
        counters.start(executor, job, sources, (0.0, engine.idle_s))
        if read := _read(engine, executor, job, engine.idle_s + counters.ANSWER_LIMIT_S):
            return idle_rates(engine.counts, *read)
    return {}


def _read(
    engine: Database, executor: Executor, job: str, limit_s: float
) -> tuple[Counted, Counted] | None:
    """The first two readings of a job, once it has ended; None where it has not so many."""
    sources = engine.counter_sources()
    deadline = time.monotonic() + limit_s
    with contextlib.suppress(CommandError):
        while executor.job_status(job).state == "running" and time.monotonic() < deadline:
            time.sleep(POLL_S)
        executor.stop_job(job, timeout_s=counters.STOP_LIMIT_S)
        readings = counters.collect(executor, job, sources)
        if len(readings) > 1:
            first, last = (_counted(engine, sources, one) for one in readings[:2])
            return first, last
    return None


def _counted(
    engine: Database, sources: Sequence[counters.Source], reading: counters.Reading
) -> Counted:
    servers: dict[str, dict[str, Mapping[str, float]]] = {}
    for source in sources:
        found = engine.read_counters(source.role, reading.answers[source.server])
        servers.setdefault(source.role, {})[source.server] = found
    return Counted(reading.at, servers)
