"""Which campaign of the store has measured a plan already."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from benchlab.campaign import planning
from benchlab.home import Home
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.report_type import MEASURED, SIDES, ReportSpec
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from benchlab.targets import local

# What two report types must have in common for their campaigns to measure and judge the same, the
# same way. Workloads and threads are compared one by one, and sides as they are deployed.
_MEASURED = {*MEASURED, "sides", "threshold_pct", "repeat_limit"} - {
    *("workloads", "threads", "threads_by_workload")
}


def find(
    home: Home, store: Store, spec: ReportSpec, engine: str, workload: str | None = None
) -> Campaign | None:
    """The latest complete campaign with the same plan, versions, parameters and hardware.

    A topology may have changed and kept its name, so hosts are compared one by one. A fact of this
    machine that a campaign did not record is no difference.

    Args:
        spec: with a version on each side.
        workload: the only one that is looked for, whatever others the campaign has measured;
            None: all of the report type.

    Raises:
        SpecError: the topology or the price list does not validate.

    Example:
        ``find(home, store, spec, "tidb", "oltp_insert")`` also finds a campaign that measured all
        workloads of the report type.
    """
    workloads = spec.workloads if workload is None else (workload,)
    wanted = _plan(spec, engine, workloads)
    hosts = planning.hosts(home, spec)
    machine = local.machine() if spec.topology is None else {}
    for campaign in reversed(store.campaigns(spec.report)):
        measured = campaign.report_type
        if (
            campaign.state == "complete"
            and campaign.plan.engine == engine
            and (workload in measured.workloads or set(measured.workloads) == set(workloads))
            and _plan(measured, engine, workloads) == wanted
            and campaign.plan.hosts == hosts
            and all(campaign.environment.get(name, fact) == fact for name, fact in machine.items())
        ):
            return campaign
    return None


def _deployed(side: SideSpec) -> dict[str, Any]:
    """A side with what identifies its builds, wherever they were fetched from."""
    builds = {component: build.identity for component, build in side.builds.items()}
    return {**side.model_dump(mode="json", exclude={"builds"}), "builds": builds}


def _plan(spec: ReportSpec, engine: str, workloads: Collection[str]) -> dict[str, Any]:
    by_workload = spec.engines[engine].by_workload
    return {
        **spec.model_dump(mode="json", include=_MEASURED),
        "threads": {name: spec.threads_of(name) for name in workloads},
        "engine": {side: _deployed(spec.side(engine, side)) for side in SIDES},
        "by_workload": {name: by_workload[name] for name in workloads if name in by_workload},
    }
