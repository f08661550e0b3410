"""The columns of a trial that its gates look at: what the client printed, what servers, hosts and
the campaign tell. None where it cannot be told.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from benchlab import quality, symptoms, variables
from benchlab.database import BackgroundJobs, Database
from benchlab.dataset import AnyDataset
from benchlab.deployment import Setting
from benchlab.errors import CommandError, EngineError
from benchlab.executor import JobStatus
from benchlab.loadbalancer import haproxy
from benchlab.plan import PlannedTrial
from benchlab.spec import Side

# What the first half of a trial notes for the second; no gate looks at it.
BACKGROUND_ENDED = "background_jobs_ended_before"


def dataset_differs(setting: Setting, side: Side) -> float | None:
    """Whether the dataset, read as a whole, is another one than the snapshot's: 1 or 0."""
    wanted = setting.facts[side].dataset_checksum if side in setting.facts else None
    if wanted is None:
        return None
    tables = list(setting.workload.tables(setting.dataset))
    found = setting.deployment.engine(side).checksum(tables)
    return 0.0 if found == wanted else 1.0


def before_run(setting: Setting, side: Side) -> dict[str, float | None]:
    """What is noted just before the client starts, for :func:`of_servers` to compare with."""
    background = _background_jobs(setting, side)
    return {BACKGROUND_ENDED: None if background is None else float(background.ended)}


def of_client(
    setting: Setting, trial: PlannedTrial, output: Any, status: JobStatus
) -> dict[str, float | None]:
    """From what the client printed, and how it ended."""
    return {
        **of_output(
            setting.workload,
            trial,
            output,
            dataset=setting.dataset,
            interval_s=setting.client.report_interval,
            expected_errors=setting.deployment.engine(trial.side).retryable_errors,
        ),
        "client_exit_code": status.exit_code,
    }


def of_output(
    workload: ModuleType,
    trial: PlannedTrial,
    output: Any,
    *,
    dataset: AnyDataset,
    interval_s: float,
    expected_errors: Sequence[int],
) -> dict[str, float | None]:
    """From what the client printed, and nothing else.

    Args:
        workload: the module that has the trial's workload, and read the output.
        dataset: what was loaded.
        interval_s: length of an interval of the series, as it was asked for.
        expected_errors: the server's error numbers that a client may survive.
    """
    return {
        **quality.client_columns(output, trial.threads, trial.seconds, dataset, expected_errors),
        **symptoms.trial_columns(
            output,
            seconds=trial.seconds,
            interval_s=interval_s,
            read_only=trial.workload in workload.READ_ONLY,
        ),
    }


def of_servers(
    setting: Setting, side: Side, noted: Mapping[str, float | None]
) -> dict[str, float | None]:
    """What the servers and the load balancer tell after the run; one that is gone tells by that.

    Args:
        noted: by :func:`before_run`; an adopted client has what its first try noted.
    """
    engine, balancer = setting.deployment.engine(side), setting.deployment.balancer(side)
    columns: dict[str, float | None] = {"ended_servers": 1.0}
    columns["background_jobs"] = _background_work(setting, side, noted.get(BACKGROUND_ENDED))
    with contextlib.suppress(CommandError):
        backends = balancer.statistics()
        columns["backends_down"] = float(sum(not backend.up for backend in backends))
        columns["connection_spread"] = haproxy.connection_spread(backends)
    # One that is there and cannot say what it is has not run to the end of the trial, either.
    with contextlib.suppress(EngineError):
        if engine.running():
            columns["ended_servers"] = 0.0
            with contextlib.suppress(CommandError):
                columns |= _told(engine)
    return columns


def of_setting(setting: Setting, side: Side) -> dict[str, float | None]:
    """What was found before the first trial and holds for all of them."""
    loaded = setting.facts[side].consistency.get("load") if side in setting.facts else None
    return {
        **quality.dataset_columns(loaded),
        **quality.fleet_columns(setting.environment),
        **variables.columns(setting.facts, setting.sides),
    }


def _told(engine: Database) -> dict[str, float | None]:
    try:
        return dict(engine.columns())
    except EngineError:
        return {"ended_servers": 1.0}


def _background_jobs(setting: Setting, side: Side) -> BackgroundJobs | None:
    """None also where the question is refused: no trial is lost for what a gate wants to know."""
    with contextlib.suppress(CommandError, EngineError):
        return setting.deployment.engine(side).background_jobs()
    return None


def _background_work(setting: Setting, side: Side, ended_before: float | None) -> float | None:
    """How many background jobs were at work in the run; None where either end is not known."""
    now = _background_jobs(setting, side)
    if ended_before is None or now is None or now.begun < ended_before:
        return None  # counters that fell are those of another server
    return now.begun - ended_before
