"""The decision rule: log ratios, one per round, become an estimate, an interval and a verdict.

Per workload and metric: in each round, d is the mean over thread counts of
ln(candidate / baseline). The two blocks of a round are adjacent in time, so what disturbs both
alike cancels in the ratio.

* The estimate is the mean of the rounds' d (of the deployments' means, where there are several).
* Its variance covers rounds and deployments (:mod:`benchlab.analysis.verdict.variances`): the
  interval is about the versions, not about where one deployment happened to put its data. The
  interval of the rounds alone is given beside it.
* 95 % interval = estimate +- t(0.975, df) * standard error (Student 1908);
* p values are adjusted by Holm (1979) within each family of metrics, over its workloads and, of
  counts, over its metrics, and then divided by the family's share of the 5 % (:data:`SHARES`): so
  often at most a report has any false alarm, whichever family it is in;
* a count that does not vary at all is compared exactly (:mod:`benchlab.analysis.verdict.exact`);
* `equivalent` is decided by two one-sided tests (Schuirmann 1987): the 90 % interval lies inside
  the threshold on both sides. Something may forbid it, such as a thread count that moved against
  the rest: equal on average is not equal.
* with ``design: release``, where workloads may leave after any look, p values are those of all
  looks together, and the intervals hold at each of them (:mod:`benchlab.analysis.verdict.looks`).

Ratios are averaged as logarithms, so that +100 % and -50 % are the same distance (Fleming and
Wallace 1986: the geometric mean is the right average of ratios). Percentages are printed as
100 * (exp(d) - 1).

A mean over thread counts can hide that one of them lost 10 %. In each round the log ratio of a
thread count is set against the mean of the others'; over the rounds that is one sample of a paired
t test. The thread count furthest away, if that is significant, is named and removed, and the others
are tested again, so that it does not make them stand out as well: a stepwise search for outliers.
p values are multiplied by the number of cells of the campaign (Bonferroni), so that a campaign
without any such cell names one in 5 % of cases at most.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from benchlab.analysis.verdict.exact import FINEST, Exact
from benchlab.analysis.verdict.looks import LATE, LEAST_REACH, Looks
from benchlab.analysis.verdict.variances import LEAST_SD, Estimate, holm, percent, percents
from benchlab.arrays import Array, np, special
from benchlab.language import Message, Said, message
from benchlab.plan.metric import COUNT, LATENCY, THROUGHPUT, Metric

Key = TypeVar("Key", bound=Hashable)
Verdict = Literal["regression", "improvement", "equivalent", "inconclusive", "unstable"]
ALPHA = 0.05
UNDECIDABLE = "reason-undecidable"
"""The id of the message that says how many rounds or deployments would decide."""
TOO_COARSE = "reason-coarse"
"""The id of the message that more rounds would not help, as figures are printed too coarsely."""
SHARES = {THROUGHPUT: 0.8, LATENCY: 0.1, COUNT: 0.1}
"""What a family may err of the 5 %; one that a report lacks leaves its share to the others."""
RULE = 6
"""The version of the rule, raised whenever the same figures are decided otherwise. The first gave
intervals about one deployment's rounds, unless there were five A/A campaigns. The second assumed
deployments to differ by 0.7 % a side where nothing is known, and let other workloads narrow an
interval. The third decided on two rounds, and could be narrower than the rounds alone. The
fourth gave each family 5 % of its own. The fifth learned from A/A campaigns alone."""
_WORDS = dict.fromkeys((THROUGHPUT, LATENCY), ("slower", "faster"))
_WORDS[COUNT] = ("dearer", "cheaper")
# More rounds or deployments than this are no plan that anyone would run.
_MOST_NAMED = 100


@dataclass(frozen=True)
class Decision:
    """One metric of one workload, decided.

    Attributes:
        rounds_used: rounds in which every thread count has a figure on both sides.
        estimate_pct: geometric mean of the ratios over rounds and threads, as a percentage.
        ci95_pct: the interval about the versions, which covers rounds and deployments.
        rounds_ci95_pct: the narrower interval about the rounds of these deployments alone; None
            where each deployment has one round.
        p_adjusted: two-sided p value, adjusted by Holm within its family and for the family's
            share of the 5 %.
        known_pct: with ``design: watch``, by how much the sides were known to differ before: the
            estimate is the change from there.
        reach: with ``design: release``, the chance that the deployments that are left decide it,
            if what they show is like what was seen; None where it is not known.
    """

    rounds_used: int
    estimate_pct: float | None
    ci95_pct: tuple[float, float] | None
    rounds_ci95_pct: tuple[float, float] | None
    p_adjusted: float | None
    verdict: Verdict
    reasons: tuple[Said, ...]
    known_pct: float | None = field(default=None, kw_only=True)
    reach: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Measurement:
    """What the decision on one metric of one workload rests on.

    Attributes:
        mean: of the log ratios; None where there is no complete round.
        estimate: about the versions; None with too few complete rounds.
        of_rounds: about the rounds of these deployments alone.
        rounds, deployments: how many rounds are complete, and how many deployments they come from.
        deploys: whether there could be more deployments.
        coarseness: the part of the variance that coarsely printed figures add; no plan changes it.
        notes: what a reader should know, whatever the verdict.
        exact: a count that does not vary; its estimate is then not used.
        doubts: why no change can be concluded: the verdict is then `unstable`.
        not_equivalent: why it cannot be `equivalent`, however narrow its interval is.
        looks: what each look saw; None where all that is planned is measured.
    """

    metric: Metric
    mean: float | None
    estimate: Estimate | None
    rounds: int
    of_rounds: Estimate | None = None
    deployments: int = 1
    deploys: bool = True
    coarseness: float = 0.0
    exact: Exact | None = None
    notes: tuple[Said, ...] = ()
    doubts: tuple[Said, ...] = ()
    not_equivalent: tuple[Said, ...] = ()
    looks: Looks | None = None

    def interval(self, found: Estimate) -> tuple[float, float]:
        """The 95 % interval, as logarithms; it holds whichever look ended measuring."""
        return found.interval(1 - (self.looks.level(ALPHA) if self.looks else ALPHA))

    def interval_at_end(self, found: Estimate) -> tuple[float, float]:
        """What :meth:`interval_of_equal` would be of this estimate after all that is planned."""
        both = 2 * ALPHA
        return found.interval(1 - (self.looks.last_level(both, rho=LATE) if self.looks else both))

    def interval_of_equal(self, found: Estimate) -> tuple[float, float]:
        """The 90 % interval that has to be within the threshold for `equivalent`."""
        both = 2 * ALPHA
        return found.interval(1 - (self.looks.level(both, rho=LATE) if self.looks else both))


def decide(
    measured: Mapping[Key, Measurement], threshold_pct: float, share: float = 1.0
) -> dict[Key, Decision]:
    """Decide one family of metrics of a campaign.

    Example:
        ``decide({"oltp_insert": measurement}, 2.0)["oltp_insert"].verdict``

    Args:
        measured: by workload, or by whatever tells the measurements of a family apart.
        threshold_pct: the smallest change that is called one, of metrics without their own.
        share: of the 5 % that a report may err.
    """
    adjusted = holm({key: p for key, m in measured.items() if (p := _p_value(m)) is not None})
    shared = {key: min(p / share, 1.0) for key, p in adjusted.items()}
    return {
        key: _decide(m, shared.get(key), m.metric.threshold_pct or threshold_pct)
        for key, m in measured.items()
    }


def shares(families: Collection[str]) -> dict[str, float]:
    """What each family of a report may err of the 5 %; all together all of it."""
    own = {family: SHARES.get(family, SHARES[COUNT]) for family in families}
    return {family: share / sum(own.values()) for family, share in own.items()}


def level(metrics: Iterable[Metric], family: str = THROUGHPUT) -> float:
    """Below which a p value, adjusted within its family, is significant in a report of these."""
    return ALPHA * shares({metric.family for metric in metrics if metric.family})[family]


def _p_value(measured: Measurement) -> float | None:
    if measured.exact is not None:
        return 0.0 if measured.exact.differs else 1.0
    if measured.looks is not None:
        return measured.looks.p_value
    return measured.estimate.p_value if measured.estimate else None


def _decide(measured: Measurement, p_adjusted: float | None, threshold_pct: float) -> Decision:
    if measured.exact is not None and not measured.doubts:
        return _exactly(measured, measured.exact, p_adjusted, threshold_pct)
    found = measured.estimate
    verdict, reasons = _verdict(measured, p_adjusted, threshold_pct)
    return Decision(
        rounds_used=measured.rounds,
        estimate_pct=None if measured.mean is None else percent(measured.mean),
        ci95_pct=percents(measured.interval(found)) if found else None,
        rounds_ci95_pct=(
            percents(measured.interval(measured.of_rounds)) if measured.of_rounds else None
        ),
        p_adjusted=p_adjusted,
        verdict=verdict,
        reasons=tuple(dict.fromkeys((*measured.notes, *reasons))),
        reach=_reach(measured, threshold_pct),
    )


def _exactly(
    measured: Measurement, found: Exact, p_adjusted: float | None, threshold_pct: float
) -> Decision:
    """A count without noise, or that one side has none of, is equal or differs."""
    mean = found.change if measured.mean is None else measured.mean
    change = percent(mean) if math.isfinite(mean) else None
    is_change = found.differs and (change is None or abs(change) >= threshold_pct)
    better = is_better(measured.metric, found.change)
    values = {"before": f"{found.before:.4g}", "after": f"{found.after:.4g}"}
    why = message("reason-by-construction" if found.differs else "reason-the-same", **values)
    if math.isinf(found.change):
        why = message("reason-none-on-one-side", some=f"{max(found.before, found.after):.4g}")
    return Decision(
        rounds_used=found.rounds,
        estimate_pct=change,
        ci95_pct=None if change is None else percents((mean - FINEST, mean + FINEST)),
        rounds_ci95_pct=None,
        p_adjusted=p_adjusted,
        verdict=("improvement" if better else "regression") if is_change else "equivalent",
        reasons=(*measured.notes, why),
    )


def _verdict(
    measured: Measurement, p_adjusted: float | None, threshold_pct: float
) -> tuple[Verdict, Sequence[Said]]:
    if measured.doubts:
        return "unstable", measured.doubts
    found = measured.estimate
    if found is None or p_adjusted is None:
        return "inconclusive", (_too_little(measured),)
    change = percent(found.mean)
    if p_adjusted < ALPHA and abs(change) >= threshold_pct:
        verdict: Verdict = "improvement" if is_better(measured.metric, change) else "regression"
        return verdict, (*_looked(measured), *_winners_curse(measured, found, threshold_pct))
    low, high = percents(measured.interval_of_equal(found))
    if low > -threshold_pct and high < threshold_pct:
        if measured.not_equivalent:
            return "inconclusive", measured.not_equivalent
        return "equivalent", tuple(_certain(measured.metric, change, p_adjusted, threshold_pct))
    return "inconclusive", tuple(_why_inconclusive(measured, found, p_adjusted, threshold_pct))


def is_better(metric: Metric, change_pct: float) -> bool:
    """Whether a change is for the better: more throughput, or less latency."""
    return change_pct < 0 if metric.less_is_better else change_pct > 0


def _certain(
    metric: Metric, change: float, p_adjusted: float, threshold_pct: float
) -> Iterator[Message]:
    """Say of a change that is too small to matter that it is real."""
    if p_adjusted < ALPHA:
        words = _WORDS.get(metric.family, ("worse", "better"))
        how = words[is_better(metric, change)]
        yield message("reason-certain", how=how, p=f"{p_adjusted:.2g}", limit=f"{threshold_pct:g}")


def _too_little(measured: Measurement) -> Message:
    if (looks := measured.looks) is None:
        return message("reason-rounds", rounds=measured.rounds)
    counts = {"done": str(measured.deployments), "planned": str(looks.planned[-1])}
    return message("reason-before-look", first=str(looks.planned[0]), **counts)


def _reach(measured: Measurement, threshold_pct: float) -> float | None:
    if measured.looks is None:
        return None
    return measured.looks.reach(threshold_pct, ALPHA, equal=not measured.not_equivalent)


def _looked(measured: Measurement) -> Iterator[Message]:
    """How large a change is whose size decided when to end, which shows it too large."""
    looks = measured.looks
    if looks is not None and looks.decides and 1 < len(looks.seen) < len(looks.planned):
        counts = {"done": str(measured.deployments), "planned": str(looks.planned[-1])}
        change = f"{percent(looks.corrected(ALPHA)):+.1f}"
        yield message("reason-looked", change=change, **counts)


def _winners_curse(
    measured: Measurement, found: Estimate, threshold_pct: float
) -> Iterator[Message]:
    """Warn that the true change is probably smaller (Gelman and Carlin 2014, type M errors).

    That matters where the interval reaches below the threshold.
    """
    nearest = min(percents(measured.interval(found)), key=abs)
    if abs(nearest) < threshold_pct:
        yield message("reason-winners-curse", limit=f"{threshold_pct:g}")


def _why_inconclusive(
    measured: Measurement, found: Estimate, p_adjusted: float, threshold_pct: float
) -> Iterator[Message]:
    """Why nothing is concluded, in line with the interval beside it, and what would decide."""
    if p_adjusted < ALPHA:
        yield message("reason-small", p=f"{p_adjusted:.2g}", limit=f"{threshold_pct:g}")
        return
    if measured.looks is not None and (_reach(measured, threshold_pct) or 0.0) >= LEAST_REACH:
        counts = {"done": measured.deployments, "planned": measured.looks.planned[-1]}
        yield message("reason-not-yet", **{name: str(n) for name, n in counts.items()})
        return
    low, high = measured.interval(found)
    least, most = measured.interval_at_end(found)
    wide = (most - least) / 2 / math.log1p(threshold_pct / 100)
    if low > 0 or high < 0:
        yield message("reason-holm", p=f"{p_adjusted:.2g}")
    elif wide < 1:
        is_coarse = measured.coarseness > found.variance.value / 2
        yield message(TOO_COARSE if is_coarse else "reason-noise", limit=f"{threshold_pct:g}")
    if wide < 1:
        return
    # The variance that would decide, less the part that more rounds or deployments do not reduce.
    left = found.variance.value / wide**2 - measured.coarseness
    if left <= 0:
        yield message(TOO_COARSE, limit=f"{threshold_pct:g}")
        return
    times = (found.variance.value - measured.coarseness) / left
    of_rounds = measured.of_rounds
    by_rounds = of_rounds is not None and of_rounds.error**2 > found.error**2 / 2
    unit, count = (
        ("rounds", measured.rounds) if by_rounds else ("deployments", measured.deployments)
    )
    yield message(
        UNDECIDABLE,
        limit=f"{threshold_pct:g}",
        unit=unit if measured.deploys or by_rounds else "none",
        count=min(math.ceil(count * times) + 1, _MOST_NAMED),
        most="yes" if count * times >= _MOST_NAMED else "no",
    )


# Thread counts that moved against the rest


@dataclass(frozen=True)
class Moved:
    """A thread count that moved against the rest: by how much, and how much it changed itself."""

    threads: int
    against_rest_pct: float
    change_pct: float


def moved(
    threads: Sequence[int], ratios: Array, threshold_pct: float, tests: int
) -> tuple[Moved, ...]:
    """The thread counts that moved significantly against the others, by the threshold or more.

    Example:
        ``moved((1, 16, 64), ratios, 2.0, tests=3)[0].threads`` is 64, if only that one lost 10 %.

    Args:
        threads: of the columns of ``ratios``.
        ratios: ln(candidate / baseline), of shape (rounds, threads), complete.
        threshold_pct: smallest deviation that is named.
        tests: how many cells the campaign has.
    """
    left = list(range(len(threads)))
    named: list[Moved] = []
    while len(left) > 1 and (found := _furthest(ratios, threshold_pct, tests, left)):
        column, deviation = found
        change = percent(float(ratios[:, column].mean()))
        named.append(Moved(threads[column], percent(deviation), change))
        left.remove(column)
    return tuple(sorted(named, key=lambda found: threads.index(found.threads)))


def _furthest(
    ratios: Array, threshold_pct: float, tests: int, left: list[int]
) -> tuple[int, float] | None:
    """The column that deviates most, and significantly, from the mean of the others; how much."""
    rounds = len(ratios)
    if rounds < 2:
        return None
    own = ratios[:, left]
    others = (own.sum(axis=1, keepdims=True) - own) / (len(left) - 1)
    mean = (own - others).mean(axis=0)
    spread = np.maximum((own - others).std(axis=0, ddof=1), LEAST_SD)
    p = 2 * special.stdtr(rounds - 1, -abs(mean) * math.sqrt(rounds) / spread)
    named = np.flatnonzero((p * tests < ALPHA) & (abs(100 * np.expm1(mean)) >= threshold_pct))
    if not len(named):
        return None

    def distance(column: int) -> tuple[float, float]:
        # Two columns are equally far from each other: take the one that changed more itself.
        return round(abs(float(mean[column])), 9), abs(float(own[:, column].mean()))

    furthest = max(named.tolist(), key=distance)
    return left[furthest], float(mean[furthest])
