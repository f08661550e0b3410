"""What a transaction takes: the counters of a trial's servers, read while its client runs.

They are read when a fifth of the run is over, and at its end: what happens before is not steady
yet. Both readings have the queries as well, so that neither has to be at an exact moment. Counters
that follow the work by seconds are read before the warm-up and after a rest, of trials that are
long enough for one. What changes the state that queries meet is looked for from before the warm-up
to the last reading.

A trial whose counters could not be read, or whose servers were started again meanwhile, has no
counts; nothing else of it is lost.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benchlab.campaign.deployment import TrialSetup
from benchlab.engines.counts import Counted, Row, happened, idle_rates, rows
from benchlab.engines.database import Database
from benchlab.errors import CommandError
from benchlab.hosts import counters
from benchlab.hosts.counters import counters_job
from benchlab.hosts.executor import Executor
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import Side
from benchlab.plan.steps import idle_watch_s

# Of the run, what is not counted.
UNSTEADY = 0.2
# After a run, until counters that follow the work have all of it: TiKV's threads flush theirs after
# up to 10 s.
REST_S = 12.0
# The times into which the watch of idle servers is cut.
IDLE_PARTS = 4
POLL_S = 0.05


class Counting(NamedTuple):
    """What a trial's servers counted.

    Attributes:
        rows: what a query took; the first row is of the queries themselves. Empty: not known.
        changes: what changed the state that queries meet, as columns for gates.
    """

    rows: list[Row]
    changes: dict[str, float | None]


def before(setup: TrialSetup, trial: PlannedTrial, job: str) -> None:
    """Read the servers before the warm-up, while they rest; see :func:`collect`."""
    if setup.engine(trial).changes or _rests(setup, trial):
        _start(setup, trial, _before_job(job), (0.0,))


def start(setup: TrialSetup, trial: PlannedTrial, job: str) -> None:
    """Begin to read the counters, just after a trial's client was started; see :func:`collect`."""
    moments = (UNSTEADY * trial.seconds, float(trial.seconds))
    rested = (trial.seconds + REST_S,) if _rests(setup, trial) else ()
    _start(setup, trial, counters_job(job), (*moments, *rested))


def collect(setup: TrialSetup, trial: PlannedTrial, job: str) -> Counting:
    """What the trial's servers counted, once its client has ended.

    Of a trial after which its storage servers rest, it takes until then.
    """
    engine, executor = setup.engine(trial), setup.deployment.executor
    read = _read(engine, executor, counters_job(job), REST_S + counters.ANSWER_LIMIT_S)
    if len(read) < 2 or engine.queries is None:
        return Counting([], {})
    early = _read(engine, executor, _before_job(job), counters.ANSWER_LIMIT_S)
    whole = [*early, *read[2:]]
    facts = setup.campaign.facts.get(trial.side)
    found = rows(
        engine.counts,
        engine.queries,
        (read[0], read[1]),
        rested=(whole[0], whole[1]) if len(whole) == 2 else None,
        idle=facts.idle if facts else {},
    )
    return Counting(found, happened(engine.changes, (early or read)[0], read[-1]))


def idle(engine: Database, executor: Executor, side: Side, trial_s: float) -> dict[str, float]:
    """What the servers of a side count in a second without any query, by count.

    Takes :attr:`Database.idle_s`, but at most two trials; nothing where that is zero, or the
    servers cannot be read.
    """
    seconds = idle_watch_s(trial_s, engine.idle_s)
    sources, job = engine.counter_sources(), counters_job(f"idle-{side}")
    if not (sources and seconds):
        return {}
    moments = tuple(seconds * part / IDLE_PARTS for part in range(IDLE_PARTS + 1))
    with contextlib.suppress(CommandError):
        counters.start(executor, job, sources, moments)
    read = _read(engine, executor, job, seconds + counters.ANSWER_LIMIT_S)
    return idle_rates(engine.counts, read) if len(read) == len(moments) else {}


def _rests(setup: TrialSetup, trial: PlannedTrial) -> bool:
    """Whether servers rest after the trial, so that counters that follow the work are complete.

    Only after trials so long that the rest takes a tenth of their time at most.
    """
    late = any(count.late for count in setup.engine(trial).counts)
    return late and trial.seconds >= 10 * REST_S


def _before_job(job: str) -> str:
    return counters_job(f"before-{job}")


def _start(setup: TrialSetup, trial: PlannedTrial, job: str, moments: Sequence[float]) -> None:
    if sources := setup.engine(trial).counter_sources():
        with contextlib.suppress(CommandError):  # then there are no counts
            counters.start(setup.deployment.executor, job, sources, moments)


def _read(engine: Database, executor: Executor, job: str, limit_s: float) -> list[Counted]:
    """The readings of a job, once it has ended; none if it was never started."""
    sources = engine.counter_sources()
    deadline = time.monotonic() + limit_s
    with contextlib.suppress(CommandError):
        while executor.job_status(job).state == "running" and time.monotonic() < deadline:
            time.sleep(POLL_S)
        executor.stop_job(job, timeout_s=counters.STOP_LIMIT_S)
        found = counters.collect(executor, job, sources)
        return [_counted(engine, sources, one) for one in found]
    return []


def _counted(
    engine: Database, sources: Sequence[counters.Source], reading: counters.Reading
) -> Counted:
    servers: dict[str, dict[str, Mapping[str, float]]] = {}
    for source in sources:
        found = engine.read_counters(source.role, reading.answers[source.server])
        servers.setdefault(source.role, {})[source.server] = found
    return Counted(reading.at, servers)
