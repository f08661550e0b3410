"""What the campaigns of one chain have alike, so that only versions differ between them.

That is what deployments have alike (:mod:`benchlab.analysis.verdict.aa_campaigns`), and what is
measured on them: thread counts, seconds, warm-up, restore policy, and the parameters and
components' items of both sides. Parameters by version go with the versions, and are no difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchlab.analysis.verdict import aa_campaigns
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import Campaign
from benchlab.studies.comparisons import ComparedCampaign

_MEASURED = ("restore", "seconds", "warmup_seconds")


def differences(
    one: ComparedCampaign, other: ComparedCampaign, workload: str
) -> dict[str, tuple[Any, Any]]:
    """In what two campaigns' settings of a workload differ: of one and of the other, by name."""
    return {
        **aa_campaigns.differences(one.campaign, other.campaign),
        **_unlike(_measured(one, workload), _measured(other, workload)),
    }


def one_sided_parameters(campaign: Campaign, workload: str) -> tuple[str, ...]:
    """The parameters and components' items that the sides do not have alike, by name.

    What such a campaign finds is not the version's alone.
    """
    baseline, candidate = (_parameters(campaign, side, workload) for side in SIDES)
    return tuple(_unlike(baseline, candidate))


def _measured(found: ComparedCampaign, workload: str) -> dict[str, Any]:
    campaign = found.campaign
    return {
        "threads": sorted(found.threads.get(workload, ())),
        **{field: getattr(campaign.report_type, field) for field in _MEASURED},
        "auto_inc": campaign.client.auto_inc,
        **_parameters(campaign, "baseline", workload),
    }


def _parameters(campaign: Campaign, side: Side, workload: str) -> dict[str, Any]:
    """Of one side, by name, without those by version."""
    report_type, engine = campaign.report_type, campaign.plan.engine
    effective = report_type.side(engine, side, by_version=False)
    by_workload = report_type.engines[engine].by_workload.get(workload, {})
    return {
        **effective.parameters,
        **dict(_items(effective.components)),
        **dict(_items(by_workload)),
    }


def _items(components: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    for component, items in components.items():
        for name, value in items.items():
            yield f"{component} {name}", value


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    names = dict.fromkeys((*one, *other))
    return {
        name: (one.get(name), other.get(name)) for name in names if one.get(name) != other.get(name)
    }
