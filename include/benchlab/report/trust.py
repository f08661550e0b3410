"""The sentences on how far a verdict can be trusted, and on what stands beside it.

Plain text, as :mod:`benchlab.report.wording`'s: the scope of the verdicts, p95 latency, thread
counts that moved against the rest, symptoms.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchlab.calibration import MIN_CAMPAIGNS
from benchlab.compare import WorkloadComparison
from benchlab.decision import Decision, is_better
from benchlab.report import numbers
from benchlab.report.figures import display
from benchlab.report.model import Report, Section
from benchlab.report.numbers import MISSING
from benchlab.report.result_quality import Symptom


def scope(report: Report) -> str:
    """How far the verdicts reach; it belongs in a report once."""
    noun = "verdict holds" if len(report.sections) == 1 else "verdicts hold"
    known = [s.title for s in report.sections if s.figures.scope == "versions"]
    others = [s.title for s in report.sections if s.figures.scope != "versions"]
    filled = "filled from its dataset snapshot" if report.restored_dataset else "loaded"
    chance = (
        "how its data came to lie on the hosts"
        if report.fleet
        else "how its data came to lie, where it ran"
    )
    tail = _drift(report) + _single(report)
    if not others:
        return (
            f"The {noun} for the versions, and not for this deployment alone: each side was "
            f"deployed and {filled} once, but what one deployment happens to be ({chance}) is "
            f"known from {min(s.figures.aa_campaigns for s in report.sections)} A/A campaigns of "
            f"this report type, and every interval has it in it.{tail}"
        )
    whose = f" of {', '.join(others)}" if known else ""
    count = min(s.figures.aa_campaigns for s in report.sections if s.title in others)
    return (
        f"The {noun}{whose} for this deployment only: each side was deployed and {filled} once, "
        f"so what that one deployment happened to be ({chance}) cannot be told apart from its "
        f"version. To tell it apart takes {MIN_CAMPAIGNS} A/A campaigns of this report type, each "
        f"loaded on its own; {count} {'is' if count == 1 else 'are'} known.{tail}"
    )


def _drift(report: Report) -> str:
    if report.placement != "sequential":
        return ""
    return (
        " Nor can what changed between the measurements of the two sides: all of the baseline was "
        "measured before the candidate."
    )


def _single(report: Report) -> str:
    if report.rounds != 1:
        return ""
    return (
        " With one round there is nothing to tell a change from noise by, so that no verdict can "
        "go beyond inconclusive."
    )


def latency(report: Report, section: Section) -> str:
    """What the campaign shows of a workload's p95 latency."""
    found, threshold = section.figures.p95, report.threshold_pct
    name = f"The {section.title} {display(section).latency.heading}"
    if found.estimate_pct is None:
        because = f": {'; '.join(found.reasons)}" if found.reasons else ""
        return f"{name}: estimate {MISSING}{because}."
    estimate = numbers.estimate(found.estimate_pct, threshold)
    told = (
        f"95% interval {numbers.interval(found.ci95_pct, threshold)}, adjusted p "
        f"{numbers.p_value(found.p_adjusted)}"
    )
    baseline, candidate = (report.sides[side].label for side in ("baseline", "candidate"))
    if found.verdict in ("regression", "improvement"):
        how = "shorter" if is_better("p95", found.estimate_pct) else "longer"
        size = numbers.size(found.estimate_pct, threshold)
        alarm = " Both sides are the same version, so this is a false alarm." if report.aa else ""
        return (
            f"{name} of {candidate} is {how} by {size} than that of {baseline} "
            f"({found.verdict}; {told}).{alarm}"
        )
    because = f": {'; '.join(found.reasons)}" if found.reasons else ""
    return f"{name} is {found.verdict} (estimate {estimate}, {told}){because}."


def latency_in_short(report: Report, section: Section) -> str:
    """The verdict on p95 latency with its estimate, in a few words."""
    found = section.figures.p95
    if found.estimate_pct is None:
        return f"p95 latency: {MISSING}"
    alarm = " (false alarm)" if report.aa and _is_change(found) else ""
    estimate = numbers.estimate(found.estimate_pct, report.threshold_pct)
    return f"p95 latency: {found.verdict}{alarm}, {estimate}"


def moved(workload: WorkloadComparison) -> tuple[str, ...]:
    """A sentence for each thread count that moved against the rest of its workload."""
    return tuple(
        f"At {each.threads} threads throughput changed by {numbers.change(each.change_pct)}, "
        f"{numbers.change(each.against_rest_pct)} against the other thread counts: the mean "
        "over all of them does not show it."
        for each in workload.heterogeneous
    )


def symptoms(found: Sequence[Symptom]) -> tuple[str, ...]:
    """Where symptoms were seen, by gate and side."""
    return tuple(
        f"Symptom {each.gate}, where it is not so that {each.sentence}: "
        + "; ".join(
            f"{len(places)} on the {side} side ({_few(places)})"
            for side, places in each.places.items()
        )
        + "."
        for each in found
    )


def _few(places: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(places[:most])
    return shown if len(places) <= most else f"{shown} and {len(places) - most} more"


def _is_change(decision: Decision) -> bool:
    return decision.verdict in ("regression", "improvement")
