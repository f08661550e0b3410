"""The outline of a campaign: what questions over many campaigns need, without plan and trials.

A plan has hundreds of trials, and a store may have a thousand plans. What is compared between
campaigns fits in a few lines, which are read instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel

from benchlab.analysis.verdict import aa_campaigns
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.report_type import SIDES, ReportSpec, Side
from benchlab.results.records import Campaign
from benchlab.results.screening import Screening

# Compared beside thread counts and the parameters of both sides.
_MEASURED = ("restore", "seconds", "warmup_seconds")


@dataclass(frozen=True)
class Outline:
    """One campaign; fields named like those of campaign, plan or report type mean the same.

    Attributes:
        is_aa, calibrates: whether it is an A/A campaign, and whether it calibrates others.
        shows_deployments: see :func:`aa_campaigns.shows_deployments`.
        restored: whether its data came from a dataset snapshot.
        labels, versions: of its sides, with and without what distinguishes builds.
        threads: the thread counts of each workload, in ascending order; the workloads are in the
            order of the report type.
        setting: what is equal in campaigns whose deployments are comparable.
        measured: how it was measured, as far as chained campaigns must agree on it.
        parameters: of each side by name, as planned, without those of a workload.
        by_workload: parameters that apply to one workload only.
        unlike: by workload, the parameters in which its sides differ regardless of version.
        screening_rounds, confirming_rounds: with ``design: watch``.
        looks: with ``design: release``, after which deployments.
    """

    id: str
    report: str
    engine: str
    target: str
    state: str
    origin: str
    started_at: datetime
    ended_at: datetime | None
    planned_for: datetime | None
    is_aa: bool
    calibrates: bool
    slowdown_pct: float
    threshold_pct: float
    minutes: float
    dollars: float | None
    labels: Mapping[Side, str]
    versions: Mapping[Side, str]
    threads: Mapping[str, tuple[int, ...]]
    setting: Mapping[str, Any]
    measured: Mapping[str, Any]
    parameters: Mapping[Side, Mapping[str, Any]]
    by_workload: Mapping[str, Mapping[str, Any]]
    unlike: Mapping[str, tuple[str, ...]]
    screening_rounds: int | None = None
    confirming_rounds: int = 0
    screening: Screening | None = None
    looks: tuple[int, ...] = ()
    shows_deployments: bool = False
    restored: bool = False

    @property
    def at(self) -> datetime:
        """The time as of which its versions were chosen; campaigns are ordered by it."""
        return self.planned_for or self.started_at

    @property
    def has_both_sides(self) -> bool:
        """Whether it has a baseline and a candidate."""
        return set(self.labels) == set(SIDES)

    def named(self, side: Side, workload: str) -> dict[str, Any]:
        """The parameters of a side and those of a workload, by name."""
        return {**self.parameters[side], **self.by_workload.get(workload, {})}


def outline_of(campaign: Campaign | Outline) -> Outline:
    """The outline of a campaign: ``outline_of(store.campaign("c1")).threads["oltp_insert"]``."""
    if isinstance(campaign, Outline):
        return campaign
    plan, spec = campaign.plan, campaign.report_type
    workloads = plan.workloads_in_order
    by_workload = {
        name: _items(components)
        for name, components in spec.engines[plan.engine].by_workload.items()
    }
    parameters = {side: parameters_of(planned) for side, planned in plan.sides.items()}
    return Outline(
        id=campaign.id,
        report=plan.report,
        engine=plan.engine,
        target=plan.target,
        state=campaign.state,
        origin=campaign.origin,
        started_at=campaign.started_at,
        ended_at=campaign.ended_at,
        planned_for=campaign.planned_for,
        is_aa=campaign.is_aa,
        calibrates=aa_campaigns.can_calibrate(campaign),
        slowdown_pct=plan.slowdown_pct,
        threshold_pct=spec.threshold_pct,
        minutes=plan.minutes,
        dollars=plan.dollars,
        labels={side: planned.label for side, planned in plan.sides.items()},
        versions={side: planned.version for side, planned in plan.sides.items()},
        threads={name: tuple(sorted(plan.threads_in_order(name))) for name in workloads},
        setting=_plain(aa_campaigns.setting_of(campaign)),
        measured={
            **{field: getattr(spec, field) for field in _MEASURED},
            "auto_inc": campaign.client.auto_inc,
            "client options": campaign.client.choices or None,
        },
        parameters=parameters,
        by_workload=by_workload,
        unlike=_sides_apart(spec, campaign, by_workload),
        screening_rounds=plan.screening_rounds,
        confirming_rounds=plan.confirming_rounds,
        screening=campaign.screening,
        looks=plan.looks,
        shows_deployments=aa_campaigns.shows_deployments(campaign),
        restored=campaign.restored_dataset,
    )


def parameters_of(side: SideSpec) -> dict[str, Any]:
    """The parameters of a side by name; a component's are prefixed: ``tikv storage.block-size``."""
    return {**side.parameters, **_items(side.components)}


def _items(components: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {
        f"{component} {name}": value
        for component, items in components.items()
        for name, value in items.items()
    }


def _plain(setting: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: value.model_dump(mode="json") if isinstance(value, BaseModel) else value
        for name, value in setting.items()
    }


def _sides_apart(
    spec: ReportSpec, campaign: Campaign, by_workload: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[str, ...]]:
    """Names of parameters in which the sides differ, by workload; workloads with none left out."""
    if set(campaign.plan.sides) != set(SIDES):
        return {}
    ours, theirs = (
        parameters_of(spec.side(campaign.plan.engine, side, by_version=False)) for side in SIDES
    )
    found = {}
    for workload in campaign.plan.workloads_in_order:
        own = by_workload.get(workload, {})
        if apart := tuple(differences({**ours, **own}, {**theirs, **own})):
            found[workload] = apart
    return found


def differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Items in which two mappings differ, with both values; None if one lacks the item.

    Example:
        ``differences({"a": 1, "b": 2}, {"a": 1, "c": 3})`` is ``{"b": (2, None), "c": (None, 3)}``.
    """
    found = {name: (one.get(name), other.get(name)) for name in {**one, **other}}
    return {name: (ours, theirs) for name, (ours, theirs) in found.items() if ours != theirs}
