"""What plans are estimated at: the weekly comparison, and a published one beside its page's way.

Nothing is measured here. The estimates rest on the assumptions of ``benchlab.plan.steps``; the
bounds are those that the report type is made for.
"""

from __future__ import annotations

from datetime import UTC, datetime

from benchlab.campaign import overrides as overrides_module
from benchlab.campaign import planning, report_types
from benchlab.home import Home
from benchlab.plan.plan import Plan
from benchlab.plan.steps import Basis
from tests.bench.row import Row

WEEKLY = "sysbench_ec2"
PUBLISHED = "sysbench_v520_vs_v511"
MOST_HOURS = 4.5
MOST_DOLLARS = 36.0
SNAPSHOTS = "s3://snapshots"


def measure(home: Home) -> list[Row]:
    """Hours and dollars of the weekly plan with snapshots; a published plan against its page."""
    weekly = _plan(home, WEEKLY, snapshots=SNAPSHOTS)
    assert weekly.dollars is not None
    whole = f"{WEEKLY}, {len(weekly.trials)} trials, datasets from snapshots"
    return [
        Row("weekly plan, time", f"{whole}; estimated", weekly.minutes / 60, "h", MOST_HOURS),
        Row(
            "weekly plan, cost",
            f"at list prices of {weekly.prices_as_of}; estimated",
            weekly.dollars,
            "dollars",
            MOST_DOLLARS,
        ),
        _beside_the_page("published plan", _plan(home, PUBLISHED)),
        _beside_the_page(
            "published plan, from snapshots", _plan(home, PUBLISHED, snapshots=SNAPSHOTS)
        ),
    ]


def _beside_the_page(name: str, plan: Plan) -> Row:
    """The plan's time over that of its page's steps, done one after another by hand."""
    assert plan.page_minutes is not None
    hours, by_hand = plan.minutes / 60, plan.page_minutes / 60
    return Row(
        name,
        f"{PUBLISHED} ({hours:.1f} h) / as on its page, by hand ({by_hand:.1f} h); estimated",
        plan.minutes / plan.page_minutes,
    )


def _plan(home: Home, report: str, **overrides: object) -> Plan:
    spec = report_types.load(report_types.find_report(home, report))
    if overrides:
        spec = overrides_module.override(spec, overrides)
    spec = report_types.resolve(home, spec, datetime.now(UTC).date()).spec
    kept = Basis(dataset="kept" if spec.snapshots else None)
    return planning.plan(home, spec, spec.engine, "bench", kept)
