"""Which workloads a campaign with ``design: release`` measures on after a deployment.

Example:
    ``look(comparer, campaign, store.trials("c1"), after=3).left``
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from benchlab.analysis.verdict.decision import Decision
from benchlab.analysis.verdict.looks import LEAST_REACH
from benchlab.campaign.outcome import Comparer
from benchlab.results.looks import Look, Why
from benchlab.results.records import Campaign, TrialResult


def look(comparer: Comparer, campaign: Campaign, trials: Sequence[TrialResult], after: int) -> Look:
    """What all deployments so far show.

    A workload is decided by its throughput. One whose figures cannot be trusted is measured on.

    Args:
        after: the deployment that has been measured, from 1.

    Raises:
        StoreError: the store cannot be read.
    """
    plan = campaign.wanted.without(dict.fromkeys(campaign.plan.workloads, after))
    compared = comparer.outcome(replace(campaign, plan=plan), trials).comparison
    on = {
        trial.workload
        for trial in campaign.wanted.trials
        if plan.deployment_of(trial.round) > after
    }
    left = {
        one.name: why for one in compared.workloads if one.name in on and (why := why_left(one))
    }
    return Look(after, left)


def why_left(found: Decision) -> Why | None:
    """Why a workload is not measured on, by what the deployments so far show; None if it is."""
    if found.verdict in ("regression", "improvement", "equivalent"):
        return found.verdict
    is_lost = found.reach is not None and found.reach < LEAST_REACH
    return "out of reach" if is_lost and found.verdict == "inconclusive" else None
