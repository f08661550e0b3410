"""The page of the published plans: what each measures as its document does, and what otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from benchlab import targets
from benchlab.campaign import report_types
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.home import Home
from benchlab.plan.capabilities import Capabilities
from benchlab.plan.fields.published import LINES, Line, Published
from benchlab.plan.plan import Plan, make
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request

HEAD = """\
# Published plans

Written by `make docs` from `configs/published/`.

Line by line, how each document is measured again, and where that differs from the document, with
the reason. An empty last column means: as in the document. The tests run each plan on simulated
servers, with less data and shorter trials.
"""
_ROW = "| {} | {} | {} |"
_RESTORE = {
    "every_trial": "the snapshot is restored before each trial",
    "after_writes": "the snapshot is restored after writes",
    "per_workload": "the snapshot is restored before each workload",
    "never": "nothing is restored",
}


def page(here: Home) -> str:
    """The whole page.

    Raises:
        SpecError: a published plan does not validate.
    """
    return "\n".join([HEAD, *(_section(here, path) for path in report_types.published_files(here))])


def _section(here: Home, path: Path) -> str:
    spec = report_types.load(path)
    assert spec.published is not None
    request = Request(spec, datetime.now(UTC).date())
    plan = make(Resolver(here, asks=Asks.NOBODY).resolve(request), path.stem)
    measured = _measured(spec, plan, spec.published)
    rows = (
        (line.replace("_", " "), measured[line], " ".join(spec.published.differences.get(line, ())))
        for line in LINES
    )
    return "\n".join(
        [
            f"## {spec.published.document}\n\n`benchlab plan {path.stem}`\n",
            _ROW.format("line", "measured", "difference and reason"),
            "|---|---|---|",
            *(_ROW.format(*(cell.replace("|", "\\|") for cell in row)) for row in rows),
            "",
        ]
    )


def _measured(spec: ReportSpec, plan: Plan, published: Published) -> Mapping[Line, str]:
    order = "one version" if spec.sides == "single" else plan.placement
    hosts = Counter((host.instance_type, host.role) for host in plan.hosts)
    return {
        "versions": " and ".join(side.version for side in plan.sides.values()),
        "hosts": ", ".join(
            f"{count} x {kind or 'own host'} ({role})" for (kind, role), count in hosts.items()
        )
        if not spec.connections
        else f"yours, by the Connections {' and '.join(spec.connections.values())}",
        "parameters": "; ".join(_parameters(spec, plan)),
        "data": str(spec.dataset),
        "workloads": "; ".join(_workloads(plan)),
        "steps": f"rounds: {spec.rounds}; {order}, {spec.seconds} s each; {_RESTORE[spec.restore]}",
        "client": (
            f"{spec.client.program or 'sysbench'}, a line every {spec.client.report_interval} s; "
            f"the document names {published.client}"
        ),
        "user": _user(spec),
        "load_balancer": _balancer(spec),
        "results": _results(published),
    }


def _workloads(plan: Plan) -> Iterator[str]:
    """Workloads with the same thread counts together."""
    for counts, group in groupby(plan.workloads_in_order, plan.threads_in_order):
        yield f"{', '.join(group)}: {', '.join(map(str, counts))} threads"


def _parameters(spec: ReportSpec, plan: Plan) -> Iterator[str]:
    """How many there are of each component, alike on both sides."""
    if spec.connections:
        yield "those of the servers"
        return
    side = plan.sides["baseline"]
    yield f"{len(side.parameters) or 'none'} of TiDB"
    for component, items in side.components.items():
        yield f"{len(items)} of {component}"
    for workload, components in spec.engines[plan.engine].by_workload.items():
        for component, items in components.items():
            chosen = ", ".join(f"`{name}` {value}".lower() for name, value in items.items())
            yield f"{workload}: {component} {chosen}"


def _results(published: Published) -> str:
    own = "throughput and p95 latency by threads, with intervals"
    if published.tables is None:
        return f"{own}; tables as other documents have them"
    return f"{own}; tables as in the document: {', '.join(published.tables.figures)}"


def _can(spec: ReportSpec) -> Capabilities:
    return targets.by_name()[spec.target].can


def _user(spec: ReportSpec) -> str:
    if spec.connections:
        return "those of the Connections"
    if not _can(spec).administers:
        return "root, with a password of the campaign's own"
    return "one of the campaign's own"


def _balancer(spec: ReportSpec) -> str:
    if not _can(spec).administers:
        return "none of Benchlab's"
    if spec.haproxy is None:
        return "none"
    chosen = ", ".join(spec.haproxy.directives())
    return f"HAProxy at port {spec.ports.entry}, roundrobin, {chosen}"
