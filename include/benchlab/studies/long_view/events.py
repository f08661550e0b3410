"""What the long views of a report type have to tell, as events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchlab.analysis.trend.change_points import ChangePoint
from benchlab.analysis.trend.drift import Drift
from benchlab.report.notifications import events
from benchlab.report.notifications.events import Event, WorkloadChange
from benchlab.studies.long_view.view import ChainView, LongView

LATEST = 10
"""A change point is told of while it is among so many latest campaigns of its chain.

Older ones are history: a notifier that is new does not begin with years of it.
"""


def find(report: str, campaign: str, views: Mapping[str, LongView]) -> tuple[Event, ...]:
    """Events for recent change points and for slow drifts.

    Args:
        campaign: after which the long views were made.
        views: by workload; of each the chains of the newest setting count, one of each line.
    """
    found = {
        workload: [change for each in view.chains if not each.differs for change in _changes(each)]
        for workload, view in views.items()
    }
    return events.of_changes(report, campaign, found)


def _changes(view: ChainView) -> Iterator[WorkloadChange]:
    places = [each.place for each in view.changes]
    begins = [0, *(place.index for place in places)]
    for number, each in enumerate(view.changes):
        if each.place.index >= len(view.links) - LATEST:
            later = places[number + 1] if number + 1 < len(places) else None
            end = later.index if later else len(view.links)
            until = later.campaign if later else None
            yield _change(view, each.place, begins[number], end, until, each.addresses)
    if view.drift is not None:
        yield _change(view, view.drift, view.drift.first, view.drift.last + 1)


def _change(
    view: ChainView,
    found: ChangePoint | Drift,
    begin: int,
    end: int,
    until: str | None = None,
    addresses: Mapping[str, tuple[str, ...]] | None = None,
) -> WorkloadChange:
    """With what has to be known of the points that its levels, or its slope, are made of."""
    points = [link.point for link in view.links[begin:end]]
    bridged = [
        (each.ratio.baseline, each.bridged_from) for each in points if each.bridged_from is not None
    ]
    here = {each.ratio.campaign for each in points}
    return WorkloadChange(
        found,
        until,
        tuple(dict.fromkeys(bridged)),
        tuple(each for each in view.outliers if each in here),
        addresses or {},
    )
