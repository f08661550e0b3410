"""The versions that a report type has measured, from the store: for version rules, and anchors.

The rules themselves are in plan/last_measured.py.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime

from benchlab.campaign.outcome import Comparer
from benchlab.engines import builds
from benchlab.home import Home
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.last_measured import Measured, MeasuredVersion
from benchlab.plan.metric import COUNT, THROUGHPUT
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Compared
from benchlab.plan.versions import MEASURED
from benchlab.results.records import Campaign
from benchlab.results.store import Store

# The loss that a good version may hide, in thresholds of its report type.
HIDDEN_PER_THRESHOLD = 1.5


def measured_by(home: Home, store: Store, report: str) -> Measured:
    """The candidates of a report type's complete campaigns, by engine, the latest first.

    A/A campaigns and campaigns of one version are left out, and so are candidates that were slowed
    down on purpose. The store is read only when a rule asks.

    Example:
        ``Request(spec, on, measured=measured_by(home, store, spec.report))``
    """
    comparer = Comparer(home, store)

    def measured(engine: str) -> Iterator[MeasuredVersion]:
        compared = [
            campaign
            for campaign in comparer.campaigns(report)
            if campaign.state == "complete"
            and campaign.plan.engine == engine
            and campaign.report_type.sides == "different"
            and not campaign.plan.slowdown_pct
        ]
        for campaign in sorted(compared, key=lambda campaign: campaign.at, reverse=True):
            side = campaign.plan.sides["candidate"]
            yield MeasuredVersion(
                version=side.version,
                builds=side.builds,
                by=campaign.id,
                on=campaign.at.astimezone(UTC).date(),
                is_good=functools.partial(_is_good, comparer, campaign),
                deployable=functools.partial(_is_deployable, home, side),
            )

    return measured


def anchor_before(
    home: Home,
    store: Store | None,
    spec: ReportSpec,
    engine: str,
    on: date,
    planned: Sequence[Compared] = (),
) -> SideSpec | None:
    """The anchor of a report type's latest week, if it is another one and no bridge leads from it.

    Args:
        spec: with the versions of its next campaign.
        on: the day as of which they were chosen; later weeks and bridges do not count.
        planned: campaigns that will have been measured, too.
    """
    outlines = Comparer(home, store).outlines(spec.report) if store else []
    known = [
        one
        for one in outlines
        if one.state == "complete"
        and one.engine == engine
        and one.has_both_sides
        and not one.slowdown_pct
        and one.at.astimezone(UTC).date() <= on
    ]
    weeks: list[tuple[datetime, str, SideSpec | str]] = [
        (one.at, one.labels["baseline"], one.id) for one in known if one.screening_rounds
    ]
    planned = [one for one in planned if one.engine == engine]
    weeks += [(one.at, one.baseline.label, one.baseline) for one in planned if not one.is_bridge]
    bridged = {
        (one.labels["baseline"], one.labels["candidate"])
        for one in known
        if one.screening_rounds is None
    }
    bridged |= {(one.baseline.label, one.candidate.label) for one in planned if one.is_bridge}
    if not weeks:
        return None
    _, old, latest = max(weeks, key=lambda week: week[0])
    new = spec.engines[engine].baseline.label
    if old == new or (old, new) in bridged:
        return None
    if isinstance(latest, SideSpec):
        return latest
    return store.campaign(latest).plan.sides["baseline"] if store else None


def asks(spec: ReportSpec) -> bool:
    """Whether a version rule of a report type names a version that was measured before."""
    return any(spec.engines[name].baseline.version in MEASURED for name in spec.deployable_engines)


def _is_deployable(home: Home, side: SideSpec) -> bool:
    return builds.why_not_deployable(home, side) is None


def _is_good(comparer: Comparer, campaign: Campaign) -> bool:
    """Whether nothing was called slower, and no workload may have lost much unseen.

    A campaign that cannot decide is no reason to measure from its candidate on: a loss that it
    missed once would never be seen again.
    """
    most = -HIDDEN_PER_THRESHOLD * campaign.report_type.threshold_pct
    return all(
        found.verdict != "regression"
        and (
            metric.family != THROUGHPUT or (found.ci95_pct is not None and found.ci95_pct[0] > most)
        )
        for workload in comparer.outcome(campaign).comparison.workloads
        for metric, found in workload.decided
        if metric.family != COUNT
    )
