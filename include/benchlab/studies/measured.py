"""Which campaign of the store has measured a plan already."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from benchlab.campaign import planning
from benchlab.home import Home
from benchlab.plan.plan import Host
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from benchlab.targets import local

# What two report types must have alike, so that their campaigns measure the same in the same way.
# Everything else names, publishes, pays for or orders a campaign, or is about a side, which is
# compared as it is deployed.
_MEASURED = (
    *("target", "topology", "sides", "dataset", "threads", "rounds", "seconds", "warmup_seconds"),
    *("restore", "placement", "client", "threshold_pct", "slowdown_pct", "repeat_limit"),
)


@dataclass(frozen=True)
class Hardware:
    """On what a campaign would be run now.

    Attributes:
        hosts: of its plan.
        machine: facts of this machine, by name; empty where the campaign has a fleet.
    """

    hosts: tuple[Host, ...]
    machine: Mapping[str, str]

    def is_that_of(self, campaign: Campaign) -> bool:
        """Whether a campaign was run on the same; a fact that it did not record is none."""
        return self.hosts == campaign.plan.hosts and all(
            campaign.environment.get(name, fact) == fact for name, fact in self.machine.items()
        )


def hardware(home: Home, spec: ReportSpec) -> Hardware:
    """What a report type would be run on now: a topology may have changed and kept its name.

    Raises:
        SpecError: the topology or the price list does not validate.
    """
    hosts = planning.hosts(home, spec)
    machine = local.machine() if spec.topology is None else {}
    return Hardware(hosts, machine)


def find(
    store: Store,
    spec: ReportSpec,
    engine: str,
    workload: str | None = None,
    *,
    on: Hardware | None = None,
) -> Campaign | None:
    """The latest complete campaign with the same plan, versions and parameters.

    Args:
        spec: with a version on each side.
        engine: the one that would be deployed.
        workload: the only one that is looked for, whatever others the campaign has measured;
            None: all of the report type.
        on: what it has to have been run on; None: on anything.
    """
    workloads = spec.workloads if workload is None else (workload,)
    wanted = _plan(spec, engine, workloads)
    for campaign in reversed(store.campaigns(spec.report)):
        if campaign.state != "complete" or campaign.plan.engine != engine:
            continue
        measured = campaign.report_type
        if _plan(measured, engine, workloads) != wanted:
            continue
        if on is not None and not on.is_that_of(campaign):
            continue
        if _has(measured, spec, workload):
            return campaign
    return None


def _has(measured: ReportSpec, wanted: ReportSpec, workload: str | None) -> bool:
    if workload is not None:
        return workload in measured.workloads
    return set(measured.workloads) == set(wanted.workloads)


def _plan(spec: ReportSpec, engine: str, workloads: Collection[str]) -> dict[str, Any]:
    raw = spec.model_dump(mode="json")
    sides = {side: spec.side(engine, side).model_dump(mode="json") for side in SIDES}
    by_workload = {
        name: components
        for name, components in spec.engines[engine].by_workload.items()
        if name in workloads
    }
    return {
        **{field: raw[field] for field in _MEASURED},
        "engine": sides,
        "by_workload": by_workload,
    }
