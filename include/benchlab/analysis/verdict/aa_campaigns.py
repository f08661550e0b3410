"""Which stored A/A campaigns calibrate a given campaign."""

from __future__ import annotations

from typing import Any

from benchlab.analysis.verdict.compare import rounds_of
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.results.records import Campaign
from benchlab.results.store import Store

# What two campaigns must have in common for their deployments to be alike.
# Versions, rounds and seconds may differ: they change no deployment.
ALIKE = ("target", "topology", "dataset", "placement", "load_balancer")
# Facts of the machine where there is no fleet. One that a campaign did not record does not count as
# a difference.
MACHINE = ("cpu", "cores", "memory")


def figures_of(store: Store, campaign: Campaign) -> list[Rounds]:
    """A campaign's figures by workload, from the trials that count."""
    used, _ = usable_trials(campaign.plan, store.trials(campaign.id))
    return rounds_of(campaign.plan, used)


def can_calibrate(campaign: Campaign) -> bool:
    """Whether it is a complete A/A campaign whose two sides were each loaded on its own.

    Sides that were restored from one dataset snapshot have the same data layout, which hides part
    of how deployments differ.
    """
    return (
        campaign.is_aa
        and campaign.state == "complete"
        and not campaign.environment.get("dataset", "").startswith("restored")
    )


def is_alike(one: Campaign, other: Campaign) -> bool:
    """Whether both are of one report type, engine, setting, machine and client."""
    return not differences(one, other)


def differences(one: Campaign, other: Campaign) -> dict[str, tuple[Any, Any]]:
    """What keeps one campaign from calibrating the other: both values, by name."""
    named = {
        "report type": (one.plan.report, other.plan.report),
        "engine": (one.plan.engine, other.plan.engine),
        **{
            field: (getattr(one.report_type, field), getattr(other.report_type, field))
            for field in ALIKE
        },
        "client": (one.environment.get("client_program"), other.environment.get("client_program")),
        **{
            field: (one.environment[field], other.environment[field])
            for field in MACHINE
            if field in one.environment and field in other.environment
        },
    }
    return {name: (ours, theirs) for name, (ours, theirs) in named.items() if ours != theirs}
