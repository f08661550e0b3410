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
from benchlab.engines.counts import Counted, Row, rows
from benchlab.engines.database import Database
from benchlab.errors import CommandError
from benchlab.hosts import counters
from benchlab.hosts.counters import counters_job
from benchlab.plan.order import PlannedTrial

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
    sources = engine.counter_sources()
    if not sources or engine.queries is None:
        return []
    executor, name = setup.deployment.executor, counters_job(job)
    deadline = time.monotonic() + counters.ANSWER_LIMIT_S
    with contextlib.suppress(CommandError):
        while executor.job_status(name).state == "running" and time.monotonic() < deadline:
            time.sleep(POLL_S)
        executor.stop_job(name, timeout_s=counters.STOP_LIMIT_S)
        readings = counters.collect(executor, name, sources)
        if len(readings) > 1:
            first, last = (_counted(engine, sources, one) for one in readings[:2])
            return rows(engine.counts, engine.queries, first, last)
    return []


def _counted(
    engine: Database, sources: Sequence[counters.Source], reading: counters.Reading
) -> Counted:
    servers: dict[str, dict[str, Mapping[str, float]]] = {}
    for source in sources:
        found = engine.read_counters(source.role, reading.answers[source.server])
        servers.setdefault(source.role, {})[source.server] = found
    return Counted(reading.at, servers)
