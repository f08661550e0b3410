"""Which stored campaigns calibrate a given campaign: A/A campaigns, and some others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchlab.analysis.verdict.compare import rounds_of
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.plan.report_type import SIDES
from benchlab.results.records import Campaign
from benchlab.results.store import Store

Differences = dict[str, tuple[Any, Any]]

# What two campaigns must have in common for their deployments to be alike.
# Versions, rounds and seconds may differ: they change no deployment.
ALIKE = ("target", "topology", "dataset", "placement", "leaders", "load_balancer")
# Facts of the machine where there is no fleet. One that a campaign did not record does not count as
# a difference.
MACHINE = ("cpu", "cores", "memory")


def figures_of(store: Store, campaign: Campaign) -> list[Rounds]:
    """A campaign's figures by workload, from the trials that count."""
    used, _ = usable_trials(campaign.wanted, store.trials(campaign.id))
    return rounds_of(campaign.wanted, used)


def can_calibrate(campaign: Campaign) -> bool:
    """Whether it is a complete A/A campaign with two sides that were loaded separately.

    Sides that were restored from one dataset snapshot have the same data layout, which hides part
    of how deployments differ.
    """
    return campaign.is_aa and campaign.state == "complete" and not campaign.restored_dataset


def shows_deployments(campaign: Campaign) -> bool:
    """Whether it shows how deployments differ though it is no A/A campaign.

    It deployed each side several times, and all that was planned was measured; what its versions
    differ by is in all of these deployments.
    """
    plan = campaign.plan
    is_whole = campaign.state == "complete" and set(plan.sides) == set(SIDES)
    is_fixed = plan.screening_rounds is None and not plan.slowdown_pct
    return is_whole and is_fixed and plan.deployments > 1 and not can_calibrate(campaign)


def is_alike(one: Campaign, other: Campaign) -> bool:
    """Whether both have the same report type, engine, setting, machine and client."""
    return not differences(one, other)


def differences(one: Campaign, other: Campaign) -> Differences:
    """What keeps one campaign from calibrating the other: both values, by name."""
    return unlike(setting_of(one), setting_of(other))


def setting_of(campaign: Campaign) -> dict[str, Any]:
    """What two campaigns must have in common for their deployments to be alike, by name."""
    environment = campaign.environment
    return {
        "report type": campaign.plan.report,
        "engine": campaign.plan.engine,
        **{field: getattr(campaign.report_type, field) for field in ALIKE},
        "client": environment.get("client_program"),
        **{field: environment[field] for field in MACHINE if field in environment},
    }


def unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> Differences:
    """The differences between two settings: both values, by name."""
    return {
        name: (ours, other.get(name))
        for name, ours in one.items()
        if not (name in MACHINE and name not in other) and ours != other.get(name)
    }
