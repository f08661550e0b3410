"""Comparisons as JSON, for ``report.json`` and, in documents, ``benchlab compare --json``.

The keys are a contract: ``to_json(...)["workloads"][0]["estimate_pct"]`` is ``-4.2``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from benchlab.analysis.cause.causes import NO_CAUSES, Causes
from benchlab.analysis.elsewhere.compare import ComparedFile, ComparedFileCampaign
from benchlab.analysis.verdict.compare import CellComparison, Comparison, WorkloadComparison
from benchlab.analysis.verdict.decision import RULE, Decision
from benchlab.analysis.verdict.estimates import Calibration
from benchlab.analysis.verdict.variances import deployment_variance, percent, together
from benchlab.language import english
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.report_type import SIDES
from benchlab.report.model import causes, cost, document_tables, hardware, hosts, quality
from benchlab.results import redaction
from benchlab.results.records import Campaign, GateResult, InstanceFacts, SideFacts, TrialResult


def to_json(
    campaign: Campaign,
    comparison: Comparison,
    results: Sequence[TrialResult],
    known: Causes = NO_CAUSES,
) -> dict[str, Any]:
    """The comparison as a JSON document, without secrets; missing values are None.

    ``client`` and ``consistency`` are present only if the campaign recorded them.

    Args:
        results: all executed trials, including invalid ones.
        known: why workloads changed.
    """
    campaign = redaction.of_campaign(campaign)
    fleet = hardware.fleet_hardware(campaign)
    return {
        "campaign": campaign.id,
        "report": campaign.plan.report,
        "aa": campaign.is_aa,
        "sides": {
            side: {
                "version": spec.version,
                "git_hash": campaign.facts[side].git_hash if side in campaign.facts else None,
                "parameters": spec.parameters,
                "components": spec.components,
                "servers": [
                    _server_json(one)
                    for one in (campaign.facts[side].instances if side in campaign.facts else ())
                ],
                **_build_json(spec, campaign.facts.get(side)),
            }
            for side, spec in campaign.plan.sides.items()
        },
        "rounds": campaign.plan.rounds,
        "deployments": campaign.plan.deployments,
        "seed": campaign.plan.seed,
        "target": campaign.plan.target,
        "placement": campaign.plan.placement,
        "engine": campaign.plan.engine,
        "engine_reason": str(campaign.engine_reason),
        "rule": RULE,
        "threshold_pct": campaign.report_type.threshold_pct,
        "workloads": [
            (_workload_json if comparison.has_verdicts else _alone_json)(workload)
            | causes.to_json(known, workload.name)
            for workload in comparison.workloads
        ],
        "gates": _gates_json(comparison.all_gates),
        "calibration": _calibration_json(comparison.calibration),
        "excluded": [
            {
                "trial": e.trial,
                "attempt": e.attempt,
                "reasons": [str(reason) for reason in e.reasons],
            }
            for e in comparison.excluded
        ],
        "repeated_pairs": comparison.repeated_pairs,
        "missing": list(comparison.missing),
        "hosts": hosts.to_json(
            hosts.host_tables(comparison, results, fleet.role_of if fleet else {})
        ),
        **cost.to_json(campaign, comparison),
        **_recorded(campaign),
        **_watched(campaign, comparison),
        **({"looks": [asdict(one) for one in campaign.looks]} if campaign.looks else {}),
    }


def trials_to_json(outcome: ComparedFile) -> Any:
    """The document that ``benchlab compare --trials FILE --json`` prints.

    Returns:
        One document; a list of them if the file has a column ``campaign``.
    """
    documents = [_compared_json(compared, outcome) for compared in outcome.campaigns]
    return documents if outcome.several else documents[0]


def _compared_json(compared: ComparedFileCampaign, outcome: ComparedFile) -> dict[str, Any]:
    """One campaign measured elsewhere, compared from its file of trials."""
    measured, workloads, cells = compared.measured, compared.workloads, compared.cells
    return {
        "campaign": measured.campaign,
        "sides": {side: {"version": None} for side in SIDES},
        "rounds": measured.rounds,
        "rule": RULE,
        "threshold_pct": outcome.threshold_pct,
        "workloads": [_workload_json(workload) for workload in workloads],
        "gates": _gates_json(gate for cell in cells for gate in cell.gates),
        "calibration": _calibration_json(outcome.calibration),
        "excluded": [asdict(row) for row in measured.excluded],
        "missing": list(measured.missing),
        "notes": list(measured.notes),
    }


def _gates_json(gates: Iterable[GateResult]) -> list[dict[str, Any]]:
    return [vars(tally) for tally in quality.tally_gates(gates, english())]


def _calibration_json(calibration: Calibration) -> dict[str, Any] | None:
    """The A/A campaigns and the deployment variance they show, and the earlier campaigns.

    None if there are neither.
    """
    if not (calibration.found or calibration.earlier):
        return None
    return {
        "campaigns": list(calibration.campaigns),
        "earlier": list(calibration.earlier),
        "deployment": [
            {
                "workload": key[0],
                "metric": key[1],
                "threads": sorted(key[2]),
                "campaigns": len(found),
                "standard_deviation_pct": percent(math.sqrt(deployment_variance(together(found)))),
            }
            for key, found in calibration.found.items()
        ],
    }


def _recorded(campaign: Campaign) -> dict[str, Any]:
    """The keys that only some campaigns have: ``client`` and ``consistency``."""
    program = campaign.environment.get("client_program")
    version = campaign.environment.get("client_version")
    checked = {
        side: {
            moment: [asdict(one) for one in found] for moment, found in facts.consistency.items()
        }
        for side, facts in campaign.facts.items()
        if facts.consistency
    }
    return {
        **({"client": {"program": program, "version": version}} if program else {}),
        **({"consistency": checked} if checked else {}),
    }


def _watched(campaign: Campaign, comparison: Comparison) -> dict[str, Any]:
    """What the screening showed, and the campaigns by which it is judged; empty if fixed."""
    if (found := campaign.screening) is None:
        return {}
    shown = {**asdict(found), "left_out": found.left_out, "campaigns_before": comparison.weeks}
    return {"screening": {**shown, "courses": [asdict(one) for one in comparison.courses]}}


def _workload_json(workload: WorkloadComparison) -> dict[str, Any]:
    return {
        "name": workload.name,
        "metric": workload.metric,
        "basis": workload.basis,
        **_decision_json(workload),
        "arithmetic_mean_pct": workload.arithmetic_mean_pct,
        "geometric_mean_pct": workload.estimate_pct,
        "heterogeneous_threads": [moved.threads for moved in workload.heterogeneous],
        "heterogeneity": [asdict(moved) for moved in workload.heterogeneous],
        **{
            metric.kind: {"metric": metric.name, **_decision_json(found)}
            for metric, found in workload.decided[1:]
        },
        "cells": [
            {
                "threads": cell.threads,
                **_means(cell),
                "improvement_pct": cell.improvement_pct,
                **{
                    f"{name}_improvement_pct": document_tables.improvement(cell, name)
                    for name in document_tables.beside_throughput(workload.metrics)
                },
            }
            for cell in workload.cells
        ],
    }


def _alone_json(workload: WorkloadComparison) -> dict[str, Any]:
    """A workload of one version: its figures, without a decision."""
    return {
        "name": workload.name,
        "metric": workload.metric,
        "cells": [{"threads": cell.threads, **_means(cell)} for cell in workload.cells],
    }


def _means(cell: CellComparison) -> dict[str, Any]:
    return {side: found.means for side, found in cell.sides.items()}


def _server_json(server: InstanceFacts) -> dict[str, Any]:
    found = asdict(server)
    if server.built_at is None:  # the same document as before this was recorded
        del found["built_at"]
    return found


def _build_json(side: SideSpec, facts: SideFacts | None) -> dict[str, Any]:
    """A side's builds and what its server reports about its own build, as far as there are any."""
    builds = {name: build.model_dump(mode="json") for name, build in side.builds.items()}
    about = facts.about if facts else {}
    return {**({"builds": builds} if builds else {}), **({"about": about} if about else {})}


def _decision_json(decision: Decision | WorkloadComparison) -> dict[str, Any]:
    return {
        "rounds_used": decision.rounds_used,
        "estimate_pct": decision.estimate_pct,
        "ci95_pct": list(decision.ci95_pct) if decision.ci95_pct else None,
        "rounds_ci95_pct": list(decision.rounds_ci95_pct) if decision.rounds_ci95_pct else None,
        "p_adjusted": decision.p_adjusted,
        "verdict": decision.verdict,
        "reasons": [str(reason) for reason in decision.reasons],
        **({} if decision.known_pct is None else {"known_pct": decision.known_pct}),
    }
