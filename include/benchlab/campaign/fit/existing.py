"""Checks that a report type names existing servers if, and only if, its target needs them."""

from __future__ import annotations

from collections.abc import Iterator

from benchlab import targets
from benchlab.campaign.fit import client
from benchlab.plan.fields.engines import EngineSpec
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.versions import RUNNING

# The Connection of the results store, which must not be measured.
RESULTS_CONNECTION = "benchlab_results"


def faults(spec: ReportSpec) -> Iterator[str]:
    """Faults of Connections, and of fields that existing servers rule out.

    See :mod:`benchlab.campaign.fit`.
    """
    if spec.target not in targets.by_name():
        return
    named = (*spec.choosable_connections, spec.client.connection or "")
    if RESULTS_CONNECTION in map(str.lower, named):  # environment variables have no case
        yield f"connections: {RESULTS_CONNECTION} is the store of results; name another Connection"
    if not targets.by_name()[spec.target].can.deploys:
        yield from _servers_that_exist(spec)
        return
    if spec.client.connection:
        yield (
            f"client.connection: the target {spec.target} has a client's host of its own; leave it "
            "out"
        )
    if spec.choosable_connections:
        yield f"connections: the target {spec.target} deploys its own servers; leave it out"
    for name, entry in spec.engines.items():
        for side in spec.measured_sides:
            if getattr(entry, side).version == RUNNING:
                yield (
                    f"engines.{name}.{side}.version: {RUNNING}: the target {spec.target} deploys "
                    "a server, which needs a version; name one"
                )


def _servers_that_exist(spec: ReportSpec) -> Iterator[str]:
    """Fields that existing servers rule out: they are not deployed, configured or chosen."""
    wanted = set(spec.measured_sides)
    if set(spec.connections) != wanted:
        yield (
            f"connections: {', '.join(spec.connections) or 'missing'}: name the Airflow Connection "
            f"of each side that is measured: {', '.join(spec.measured_sides)}"
        )
    elif len(set(spec.connections.values())) < len(wanted):
        yield (
            "connections: both sides are the same server; write `sides: single`, and compare two "
            "campaigns with `benchlab compare --before --after`"
        )
    if spec.sides == "same":
        yield "sides: same: an existing server is not deployed twice; write different or single"
    if spec.load_balancer != "none":
        yield (
            f"load_balancer: {spec.load_balancer}: the client connects to the address of the "
            "Connection, which may be a load balancer's; write none"
        )
    if spec.deployments > 1:
        yield f"deployments: {spec.deployments}: nothing is deployed; write 1, or leave it out"
    if spec.schedule is not None:
        yield "schedule: an existing server has no releases to follow; leave it out"
    yield from client.password_faults(spec)
    for name, entry in spec.engines.items():
        yield from _left_as_it_is(spec, name, entry)


def _left_as_it_is(spec: ReportSpec, name: str, entry: EngineSpec) -> Iterator[str]:
    for side in spec.measured_sides:
        written = getattr(entry, side)
        if not written.is_resolved and written.version != RUNNING:
            yield (
                f"engines.{name}.{side}.version: {written.version}: an existing server keeps its "
                f"version; write {RUNNING}"
            )
        for field in ("parameters", "components", "builds"):
            if getattr(written, field) or getattr(entry, field, None):
                yield (
                    f"engines.{name}.{field}: Benchlab does not configure an existing server; "
                    "configure it yourself, and leave this out"
                )
                break
