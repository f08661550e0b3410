"""Collects the columns of a trial from client, servers, load balancer and campaign.

:mod:`benchlab.analysis.gates.columns` lists the columns.

Example:
    ``of_client(setup, trial, output, status)["client_exit_code"]`` is 0 after a good run.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from benchlab.analysis.gates.columns import (
    configuration_columns,
    dataset_columns,
    fleet_columns,
    output_columns,
)
from benchlab.campaign.deployment import TrialSetup
from benchlab.engines.database import BackgroundJobs, Regions
from benchlab.errors import CommandError, EngineError
from benchlab.hosts.executor import JobStatus
from benchlab.language import Message
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import Side
from benchlab.targets import haproxy

# Passed from the first half of a trial to the second; no gate uses them. Names that end in a space
# are prefixes of a storage server's host.
BACKGROUND_ENDED = "background_jobs_ended_before"
STALLS_BEFORE = "write_stalls_before "
OF_REGIONS = ("leaders_beyond", "unsettled_regions")


def dataset_differs(setup: TrialSetup, side: Side) -> float | None:
    """1 if the dataset's checksum differs from the snapshot's, else 0; None if unknown."""
    facts = setup.campaign.facts.get(side)
    if facts is None or facts.dataset_checksum is None:
        return None
    tables = list(setup.campaign.report_type.dataset.rows_by_table)
    found = setup.deployment.engine(side).checksum(tables)
    return 0.0 if found == facts.dataset_checksum else 1.0


def before_run(setup: TrialSetup, side: Side) -> dict[str, float | None]:
    """Counts just before the client starts, for :func:`of_servers` and :func:`of_storage`."""
    background, regions = _background_jobs(setup, side), _regions(setup, side)
    return {
        BACKGROUND_ENDED: None if background is None else float(background.ended),
        **{f"{STALLS_BEFORE}{host}": known for host, known in _write_stalls(setup, side).items()},
        **{f"{name}_before": value for name, value in _gated(regions).items()},
    }


def of_client(
    setup: TrialSetup, trial: PlannedTrial, output: Any, status: JobStatus
) -> dict[str, float | None]:
    """Columns from what the client printed, and from how it ended."""
    return {
        **output_columns(
            setup.workload,
            trial,
            output,
            dataset=setup.campaign.report_type.dataset,
            interval_s=setup.campaign.client.report_interval,
            expected_errors=setup.deployment.engine(trial.side).retryable_errors,
        ),
        "client_exit_code": status.exit_code,
    }


def of_servers(
    setup: TrialSetup, trial: PlannedTrial, noted: Mapping[str, float | None]
) -> dict[str, float | None]:
    """Columns from what the servers and the load balancer report after the run.

    Args:
        noted: the result of :func:`before_run`, for an adopted client from its first try.
    """
    side, engine, balancer = trial.side, setup.engine(trial), setup.deployment.balancer(trial.side)
    columns: dict[str, float | None] = {"ended_servers": 1.0}
    columns["background_jobs"] = _background_work(setup, side, noted.get(BACKGROUND_ENDED))
    regions = _regions(setup, side)
    for name, after in _gated(regions).items():
        before = noted.get(f"{name}_before")
        columns[name] = None if before is None or after is None else max(before, after)
    if setup.campaign.report_type.leaders == "as_placed":
        # PD does not move leaders of busy regions, however unbalanced they are: only the figure
        # from before the run is used.
        columns["leaders_beyond"] = noted.get("leaders_beyond_before")
    with contextlib.suppress(CommandError):
        backends = balancer.statistics()
        if backends:  # without a load balancer there is nothing to count
            columns["backends_down"] = float(sum(not backend.up for backend in backends))
        columns["connection_spread"] = haproxy.connection_spread(backends)
    try:
        if engine.running():
            columns["ended_servers"] = 0.0
            with contextlib.suppress(CommandError):
                columns |= engine.columns()
    except EngineError:  # a server that does not answer counts as ended
        columns["ended_servers"] = 1.0
    return columns


def of_storage(
    setup: TrialSetup, trial: PlannedTrial, noted: Mapping[str, float | None], ended: float
) -> dict[str, float | None]:
    """The column ``write_stalls``, once storage servers have counted what happened in the run.

    Args:
        noted: as for :func:`of_servers`.
        ended: when the client ended, by the monotonic clock.
    """
    if trial.workload not in setup.workload.READ_ONLY:
        # Both sides wait equally long, or one would begin its next trial more rested.
        sides = [replace(trial, side=side) for side in setup.deployment.sides]
        lag_s = max(setup.engine(of_side).stall_lag_s() for of_side in sides)
        time.sleep(max(ended + lag_s - time.monotonic(), 0.0))
    return {"write_stalls": _stalled(_write_stalls(setup, trial.side), noted)}


def how_servers_ended(setup: TrialSetup, trial: PlannedTrial) -> tuple[Message, ...]:
    """How servers ended during the run, as reasons; none if the side cannot be asked."""
    with contextlib.suppress(CommandError, EngineError):
        return tuple(setup.engine(trial).ended_servers())
    return ()


def of_setup(setup: TrialSetup, side: Side) -> dict[str, float | None]:
    """Columns determined before the first trial, which hold for all trials."""
    campaign = setup.campaign
    facts = campaign.facts.get(side)
    return {
        **dataset_columns(facts.consistency.get("load") if facts else None),
        **fleet_columns(campaign.environment),
        **configuration_columns(campaign),
    }


def _background_jobs(setup: TrialSetup, side: Side) -> BackgroundJobs | None:
    """The counts of background jobs; None if the server refuses: no trial may fail for that."""
    with contextlib.suppress(CommandError, EngineError):
        return setup.deployment.engine(side).background_jobs()
    return None


def _write_stalls(setup: TrialSetup, side: Side) -> Mapping[str, float | None]:
    with contextlib.suppress(CommandError, EngineError):
        return setup.deployment.engine(side).write_stalls()
    return {}


def _regions(setup: TrialSetup, side: Side) -> Regions | None:
    with contextlib.suppress(CommandError, EngineError):
        return setup.deployment.engine(side).regions()
    return None


def _gated(regions: Regions | None) -> dict[str, float | None]:
    found = (regions.beyond, float(regions.unsettled)) if regions else (None, None)
    return dict(zip(OF_REGIONS, found, strict=True))


def _stalled(after: Mapping[str, float | None], noted: Mapping[str, float | None]) -> float | None:
    """How many storage servers had write stalls during the run; None if one is unknown."""
    pairs = [(noted.get(f"{STALLS_BEFORE}{host}"), now) for host, now in after.items()]
    grown = [now - before for before, now in pairs if before is not None and now is not None]
    if not pairs or len(grown) < len(pairs) or min(grown) < 0:
        return None  # a counter that fell belongs to a server that was restarted
    return float(sum(more > 0 for more in grown))


def _background_work(setup: TrialSetup, side: Side, ended_before: float | None) -> float | None:
    """How many background jobs were active during the run; None if a count is missing."""
    now = _background_jobs(setup, side)
    if ended_before is None or now is None or now.begun < ended_before:
        return None  # counters that fell belong to a server that was restarted
    of_client = setup.workload.CREATES if now.of_statements else setup.workload.VIEWS
    return max(now.begun - ended_before - of_client, 0.0)
