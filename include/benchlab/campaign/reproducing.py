"""The report type that measures one pair of trials of a stored campaign again.

Example:
    ``report_type(store.campaign("c1"), "oltp_insert", 64).engines["tidb"].candidate.builds``
"""

from __future__ import annotations

from benchlab.campaign import fit
from benchlab.campaign.resolving import Resolver
from benchlab.engines import builds
from benchlab.errors import SpecError
from benchlab.plan.documents import validated
from benchlab.plan.open_loop import rate_of, saturated
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Resolved, Versioned
from benchlab.results.records import Campaign

# What another report type can lend: where a campaign runs, and what that takes.
_PLACE = ("target", "topology", "budget", "snapshots", "ports", "load_balancer", "leaders")
_LONGEST_NAME = 64


def report_type(
    begun: Campaign, workload: str, threads: int, rounds: int = 1, on: ReportSpec | None = None
) -> ReportSpec:
    """A campaign's report type with one cell alone, and the versions and builds it had.

    It has a name of its own, so that its campaigns are none of the original's report type.

    Args:
        workload, threads: the cell. One at equal load needs the workload that it is of as well.
        on: whose target is used; None: the campaign's.

    Raises:
        SpecError: what was measured does not fit the target.
    """
    before, engine = begun.report_type, begun.plan.engine
    if on is not None and (before.connections or on.connections):
        raise SpecError(
            f"--on {on.report}: servers that exist already are measured where they are; leave it "
            "out"
        )
    raw, name = before.model_dump(mode="json"), saturated(workload)
    place = before if on is None else on
    raw |= place.model_dump(mode="json", include={*_PLACE})
    entry = raw["engines"][engine]
    items = {key: own for key, own in entry["by_workload"].items() if key == name}
    raw |= {
        "report": f"repro_{before.report}"[:_LONGEST_NAME],
        "title": f"A pair of trials of {begun.id}, measured again",
        "engine": engine,
        "engines": {engine: {**entry, "by_workload": items}},
        "workloads": [name],
        "rate": before.rate if rate_of(workload) else None,
        "threads": [threads],
        "threads_by_workload": {},
        "client": {**raw["client"], "program": begun.client.program},
        "rounds": rounds,
        "deployments": 1,
        "design": "fixed",
        "diagnose": "never",
        "published": None,
        "layout": "own",
        "publish": [],
        "schedule": None,
    }
    return fit.check(validated(ReportSpec, raw, where=""), where="")


def resolved(resolver: Resolver, begun: Campaign, spec: ReportSpec) -> Resolved:
    """Such a report type, resolved as of the campaign's day; no rule is applied again.

    Raises:
        UnavailableError: a version is not available on this machine, or a build is not kept.
        SpecError: a build has another hash by now; and as :meth:`Resolver.complete`.
    """
    spec = builds.pinned(resolver.home, resolver.hashed(spec), resolver.access, fetch=False)
    return resolver.complete(Versioned(spec, begun.at.date(), *resolver.engine(spec)))
