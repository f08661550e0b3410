"""What happened that somebody may want to know, as data.

An event is of one kind and has parts: the workloads with a verdict, the places of a change, the
task that failed, the things that were ended. They go into one message. Each part has marks, by
which it is recognized, so that nothing is sent twice::

    Event("regression", "weekly", "c1", (Part("oltp_insert", ("c1/oltp_insert",)),))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from benchlab.analysis.trend.change_points import ChangePoint
    from benchlab.analysis.trend.drift import Drift
    from benchlab.analysis.trend.suspects import Suspect
    from benchlab.analysis.verdict.compare import Comparison
    from benchlab.results.records import Campaign

EventKind = Literal[
    "regression", "improvement", "unstable", "inconclusive", "change_point", "drift", "failed",
    "fleet_reaped",
]  # fmt: skip
KINDS: tuple[EventKind, ...] = get_args(EventKind)


@dataclass(frozen=True)
class WorkloadChange:
    """A change of a workload's level over campaigns, and what readers have to know about it.

    Attributes:
        found: the change point, the slow drift, or what may be the candidate's change or its
            baseline's.
        until: the campaign of the next change point; None: it lasts.
        bridged: baselines beside it that were never a candidate, each with the version whose level
            it was given.
        outliers: campaigns that did not count.
        addresses: where the reports are of the campaigns before and after it, by campaign.
        told_apart_by: the command whose campaign says whose change it is; empty where that is
            known.
    """

    found: ChangePoint | Drift | Suspect
    until: str | None = None
    bridged: tuple[tuple[str, str], ...] = ()
    outliers: tuple[str, ...] = ()
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    told_apart_by: str = ""


@dataclass(frozen=True)
class Part:
    """One thing that an event is about.

    Attributes:
        name: of the workload or the task; empty for what was ended.
        marks: the part was sent before if one of them was.
        change: the change over campaigns; None for other kinds.
        reasons: why a task failed, or what was ended, in English.
    """

    name: str
    marks: tuple[str, ...]
    change: WorkloadChange | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Event:
    """What happened.

    Attributes:
        report: the report type; None if there is none, as for an ended fleet.
        campaign: in which it was found; None if in none.
        parts: at least one.
    """

    kind: EventKind
    report: str | None
    campaign: str | None
    parts: tuple[Part, ...]


def of_comparison(
    campaign: Campaign, comparison: Comparison, *, failed: bool = False
) -> tuple[Event, ...]:
    """An event for each verdict that is worth one, with all workloads that have it.

    The verdict on p95 latency counts like the one on throughput, except for ``inconclusive``, which
    it often is because clients print it in steps. A change in an A/A campaign is a false alarm,
    which calibration counts, and a change after a slowdown on purpose is no news: neither is an
    event.

    Args:
        campaign: of two sides.
        failed: whether it is also reported as failed, which says more than ``inconclusive`` does.
    """
    kinds: list[EventKind] = ["regression", "improvement", "unstable", "inconclusive"]
    if campaign.is_aa or campaign.plan.slowdown_pct:
        kinds = kinds[2:]
    if failed:
        kinds.remove("inconclusive")
    found = []
    for kind in kinds:
        parts = tuple(
            Part(workload.name, (f"{campaign.id}/{workload.name}",))
            for workload in comparison.workloads
            if kind == workload.verdict
            or (kind != "inconclusive" and kind == workload.latency.verdict)
        )
        if parts:
            found.append(Event(kind, campaign.plan.report, campaign.id, parts))
    return tuple(found)


def of_changes(
    report: str, campaign: str, found: Mapping[str, Sequence[WorkloadChange]]
) -> tuple[Event, ...]:
    """An event for the change points of a report type, with suspects, and one for its slow drifts.

    A later campaign may find the same change point between two neighbouring campaigns. It is
    recognized by its direction and by one campaign that both share. A suspect is recognized by its
    campaign, and is news again once it is a change point. A drift grows with every campaign; it is
    recognized by the version that it began with.

    Args:
        campaign: after which they were found.
        found: by workload.
    """
    from benchlab.analysis.trend.drift import Drift

    parts: dict[EventKind, list[Part]] = {"change_point": [], "drift": []}
    for workload, changes in found.items():
        for change in changes:
            beside = f"{report}/{workload}/{'up' if change.found.change > 0 else 'down'}"
            if isinstance(change.found, Drift):
                parts["drift"].append(Part(workload, (f"{beside}/{change.found.oldest}",), change))
            elif change.told_apart_by:
                mark = f"{beside}/suspected/{change.found.campaign}"
                parts["change_point"].append(Part(workload, (mark,), change))
            else:
                marks = f"{beside}/{change.found.before}", f"{beside}/{change.found.campaign}"
                parts["change_point"].append(Part(workload, marks, change))
    return tuple(Event(kind, report, campaign, tuple(of)) for kind, of in parts.items() if of)


def of_failure(
    task: str,
    reasons: Sequence[str],
    at: datetime,
    *,
    report: str | None = None,
    campaign: str | None = None,
) -> Event:
    """A task failed.

    Another failure of the same task for the same reason is the same event if it is in the same
    campaign or, outside campaigns, on the same day.

    Args:
        reasons: its own; then those of other tasks that failed before, where there are any.
        at: when, with a time zone; days are those of UTC.
        report, campaign: of the campaign that failed with it; None if there is none.
    """
    mark = f"{campaign or at.astimezone(UTC).date()}/{task}: {reasons[0]}"
    return Event("failed", report, campaign, (Part(task, (mark,), reasons=tuple(reasons)),))


def of_reaped(sentences: Sequence[str]) -> Event | None:
    """Fleets were ended past their expiry; None if none was.

    Args:
        sentences: what was ended, each with its id.
    """
    parts = tuple(Part("", (sentence,), reasons=(sentence,)) for sentence in sentences)
    return Event("fleet_reaped", None, None, parts) if parts else None
