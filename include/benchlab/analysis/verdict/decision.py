"""The decision rule: log ratios, one per round, become an estimate, an interval and a verdict.

Per workload and metric: in each round r, d_r is the mean over thread counts of
ln(candidate / baseline). The two blocks of a round are adjacent in time, so what disturbs both
alike cancels in the ratio. d_1 .. d_R are then one sample of a paired t test:

* estimate = mean(d), variance = s^2 / R, R - 1 degrees of freedom (Student 1908; any textbook on
  paired comparisons);
* the effect of one deployment does not vary within a campaign, so the rounds cannot show it. Where
  A/A campaigns have shown its variance (:mod:`benchlab.analysis.verdict.calibration`), that is
  added, with degrees of freedom after Satterthwaite (1946);
* 95 % interval = estimate +- t(0.975, df) * standard error;
* p values are adjusted by Holm (1979) over the workloads, separately for each metric, which holds
  the chance of any false alarm in a campaign on that metric at 5 %;
* `equivalent` is the two one-sided tests procedure (Schuirmann 1987): the 90 % interval lies
  inside the threshold on both sides. Something may forbid it, such as a thread count that moved
  against the rest: equal on average is not equal.

Ratios are averaged as logarithms, so that +100 % and -50 % are the same distance (Fleming and
Wallace 1986: the geometric mean is the right average of ratios). Percentages are printed as
100 * (exp(d) - 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchlab.analysis.verdict.paired import Estimate, holm, percent, percents
from benchlab.language import Message, Said, message

Verdict = Literal["regression", "improvement", "equivalent", "inconclusive", "unstable"]
MetricKind = Literal["throughput", "p95"]
"""What is decided on: more throughput is better, and less p95 latency."""
KINDS: tuple[MetricKind, MetricKind] = ("throughput", "p95")
ALPHA = 0.05


@dataclass(frozen=True)
class Decision:
    """One metric of one workload, decided.

    Attributes:
        rounds_used: rounds in which every thread count has a figure on both sides.
        estimate_pct: geometric mean of the ratios over rounds and threads, as a percentage.
        p_adjusted: two-sided p value, adjusted by Holm over the campaign's workloads.
        reasons: why the verdict is what it is.
    """

    rounds_used: int
    estimate_pct: float | None
    ci95_pct: tuple[float, float] | None
    p_adjusted: float | None
    verdict: Verdict
    reasons: tuple[Said, ...]


@dataclass(frozen=True)
class Measurement:
    """What one metric of one workload is decided by.

    Attributes:
        mean: of the log ratios; None where there is no complete round.
        estimate: None with fewer than two complete rounds.
        rounds: how many are complete.
        notes: what a reader should know, whatever the verdict.
        doubts: why no change can be concluded: the verdict is then `unstable`.
        not_equivalent: why it cannot be `equivalent`, however narrow its interval is.
    """

    kind: MetricKind
    mean: float | None
    estimate: Estimate | None
    rounds: int
    notes: tuple[Said, ...] = ()
    doubts: tuple[Said, ...] = ()
    not_equivalent: tuple[Said, ...] = ()


def decide(measured: Mapping[str, Measurement], threshold_pct: float) -> dict[str, Decision]:
    """Decide one metric of all workloads of a campaign, by workload.

    Example:
        ``decide({"oltp_insert": measurement}, 2.0)["oltp_insert"].verdict``

    Args:
        measured: by workload, all of the same metric.
        threshold_pct: the smallest change that is called one, in percent.
    """
    adjusted = holm({name: m.estimate.p_value for name, m in measured.items() if m.estimate})
    return {name: _decide(m, adjusted.get(name), threshold_pct) for name, m in measured.items()}


def _decide(measured: Measurement, p_adjusted: float | None, threshold_pct: float) -> Decision:
    found = measured.estimate
    verdict, reasons = _verdict(measured, p_adjusted, threshold_pct)
    return Decision(
        rounds_used=measured.rounds,
        estimate_pct=None if measured.mean is None else percent(measured.mean),
        ci95_pct=percents(found.interval(0.95)) if found else None,
        p_adjusted=p_adjusted,
        verdict=verdict,
        reasons=(*measured.notes, *reasons),
    )


def _verdict(
    measured: Measurement, p_adjusted: float | None, threshold_pct: float
) -> tuple[Verdict, Sequence[Said]]:
    if measured.doubts:
        return "unstable", measured.doubts
    found = measured.estimate
    if found is None or p_adjusted is None:
        return "inconclusive", (message("reason-rounds", rounds=measured.rounds),)
    change = percent(found.mean)
    if p_adjusted < ALPHA and abs(change) >= threshold_pct:
        return ("improvement" if is_better(measured.kind, change) else "regression"), ()
    low, high = percents(found.interval(0.90))
    if low > -threshold_pct and high < threshold_pct:
        if measured.not_equivalent:
            return "inconclusive", measured.not_equivalent
        return "equivalent", ()
    return "inconclusive", (_why_inconclusive(found, p_adjusted, threshold_pct),)


def is_better(kind: MetricKind, change_pct: float) -> bool:
    """Whether a change is for the better: more throughput, or less latency."""
    return change_pct < 0 if kind == "p95" else change_pct > 0


def _why_inconclusive(found: Estimate, p_adjusted: float, threshold_pct: float) -> Message:
    """The sentence that does not seem to contradict the interval beside it."""
    if p_adjusted < ALPHA:
        return message("reason-small", p=f"{p_adjusted:.2g}", limit=f"{threshold_pct:g}")
    low, high = found.interval(0.95)
    if low > 0 or high < 0:
        return message("reason-holm", p=f"{p_adjusted:.2g}")
    return message("reason-noise", limit=f"{threshold_pct:g}")
