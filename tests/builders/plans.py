"""Report types, plans, topologies and prices for tests.

Every builder takes what a test is about as an argument and fills in the rest.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from benchlab import targets, workloads
from benchlab.campaign.resolving import EVERYDAY, Asks, Resolver
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan import plan as planning
from benchlab.plan.plan import Plan
from benchlab.plan.pricing import Price, PriceList
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request, Resolved, Versioned
from benchlab.plan.steps import NOTHING_KNOWN, Basis
from benchlab.plan.topology import Ec2Topology
from benchlab.results.store import Store

START = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)


READ_ONLY = ("oltp_point_select",)


ON_EC2 = {
    "pd": ("m5.xlarge", 3, "4 cores, 15.3 GiB, Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz"),
    "tikv": ("i3.4xlarge", 3, "16 cores, 120.0 GiB, Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz"),
    "tidb": ("c5.4xlarge", 3, "16 cores, 30.8 GiB, Intel(R) Xeon(R) Platinum 8275CL CPU @ 3.00GHz"),
    "client": ("c5.9xlarge", 1, "36 cores, 69.1 GiB, Intel(R) Xeon(R) Platinum 8275CL CPU"),
}


QUERIES_PER_TRANSACTION = {"oltp_read_write": 20}


def spec(**fields: Any) -> ReportSpec:
    """A small valid report type; ``fields`` replace its own."""
    return ReportSpec.model_validate(
        {
            "report": "sysbench_test",
            "title": "Two releases compared",
            "target": "local",
            "engine": "mariadb",
            "engines": {
                "mariadb": {
                    "baseline": {"version": "10.2.11"},
                    "candidate": {"version": "10.11.5"},
                }
            },
            "dataset": {"tables": 4, "table_size": 10_000},
            "workloads": ["oltp_point_select", "oltp_update_index"],
            "threads": [4, 8],
            "rounds": 3,
            "seconds": 4,
            "warmup_seconds": 1,
            "restore": "every_trial",
            "seed": 1,
            **fields,
        }
    )


def plan(report_type: ReportSpec | None = None, campaign_id: str = "c1", **fields: Any) -> Plan:
    """The plan of a report type, or of :func:`spec` with ``fields``."""
    report_type = report_type or spec(**fields)
    engine = next(iter(report_type.engines)) if report_type.engine == "auto" else report_type.engine
    return planning.make(resolved(report_type, engine), campaign_id)


def resolved(report_type: ReportSpec, engine: str, **found: Any) -> Resolved:
    """All that a plan follows from, without an installation: ``topology``, ``prices``, ``basis``"""
    return Resolved(
        report_type,
        START.date(),
        engine,
        "the report type names it",
        can=targets.by_name()[report_type.target].can,
        read_only=frozenset(READ_ONLY),
        metrics=workloads.workload_of(report_type).METRICS,
        **found,
    )


def resolved_in(
    home: Home, report_type: ReportSpec, engine: str, basis: Basis = NOTHING_KNOWN
) -> Resolved:
    """The same in an installation, with its topology and prices; nobody is asked."""
    versioned = Versioned(report_type, START.date(), engine, "the report type names it")
    return Resolver(home, asks=Asks.NOBODY).complete(versioned, basis)


def plan_in(
    home: Home, report_type: ReportSpec, engine: str, campaign: str, basis: Basis = NOTHING_KNOWN
) -> Plan:
    """The plan of a report type in an installation."""
    return planning.make(resolved_in(home, report_type, engine, basis), campaign)


def to_run(
    home: Home, store: Store, report_type: ReportSpec, access: Access = EVERYDAY
) -> Resolved:
    """As a campaign of today is resolved before it begins."""
    request = Request(report_type, datetime.now(UTC).date())
    return Resolver(home, store, access).resolve(request)


def fleet_spec(**fields: Any) -> ReportSpec:
    """A small valid report type on a rented fleet; ``fields`` replace its own."""
    return spec(
        **{
            "report": "sysbench_ec2",
            "target": "ec2",
            "topology": "ec2_published",
            "engine": "tidb",
            "engines": {
                "tidb": {"baseline": {"version": "v5.1.1"}, "candidate": {"version": "v5.2.0"}}
            },
            "dataset": {"tables": 16, "table_size": 10_000_000},
            "threads": [150, 600],
            "seconds": 300,
            "restore": "per_workload",
            "budget": {"approve_above": 20, "limit": 80},
            **fields,
        }
    )


def ec2_topology() -> Ec2Topology:
    """The ten hosts of the published pages."""
    return Ec2Topology.model_validate(
        {
            "kind": "ec2",
            "region": "us-west-2",
            "image": {"id": "ami-0123456789abcdef0"},
            "tiup": "image",
            "user": "admin",
            "ssh_from": "172.31.0.0/16",
            "roles": {
                role: {"instance_type": kind, "count": count}
                for role, (kind, count, _) in ON_EC2.items()
            },
        }
    )


def prices() -> PriceList:
    """A list price of every instance type of :func:`ec2_topology`."""
    dollars = {"m5.xlarge": "0.192", "i3.4xlarge": "1.248", "c5.4xlarge": "0.68",
               "c5.9xlarge": "1.53", "gp3": "0.0001096"}  # fmt: skip
    vcpus = {kind: int(line.split()[0]) for kind, _, line in ON_EC2.values()}
    return PriceList(
        Path("prices.csv"),
        {
            (kind, "us-west-2"): Price(
                kind, "us-west-2", vcpus.get(kind), Decimal(price), date(2024, 1, 1), "made up"
            )
            for kind, price in dollars.items()
        },
    )
