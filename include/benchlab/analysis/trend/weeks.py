"""The weeks of a report type with ``design: watch``: what they flag, and what fresh rounds say.

:mod:`benchlab.analysis.trend.watch` has the rule, for one figure. Here every figure of every
workload has a watch of its own, which is the same function of the stored weeks each time.

Example:
    ``judged(comparison, week, before).workloads[0].verdict``
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from benchlab.analysis.trend.watch import RULE, Rule, Watch
from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison
from benchlab.analysis.verdict.decision import Decision, Verdict
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import Estimate, percent, percents, round_variance
from benchlab.arrays import np
from benchlab.language import Message, message
from benchlab.plan.metric import COUNT, LATENCY, THROUGHPUT, Metric, of_kind
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import LEAST_CONFIRMING
from benchlab.results.records import Campaign
from benchlab.results.screening import Course, Flagged, Screening

Key = tuple[str, str]
"""A workload, and the kind of a metric."""
# How rarely a figure may be flagged by chance, compared with a throughput: counts and latencies are
# many, and a flag costs a confirmation.
_SHARES = {THROUGHPUT: 1.0, LATENCY: 0.1, COUNT: 0.1}
# The chance that is stated of what was not flagged: of changes so many thresholds large, after so
# many weeks.
_LARGE, _SMALL, _SOME_WEEKS = 2.5, 1.5, 5


@dataclass(frozen=True)
class Week:
    """A campaign's part of the evidence.

    Attributes:
        build: its candidate.
        screening_rounds: None for a bridge, which measures a new anchor against the one before.
        confirming_rounds: how many there can be.
        screening: what it showed; empty until that is known.
        unstable: the workloads of which no change can be concluded in the end.
    """

    build: str
    rounds: Sequence[Rounds]
    screening_rounds: int | None
    confirming_rounds: int
    screening: Screening
    unstable: frozenset[str] = frozenset()

    @property
    def doubted(self) -> set[str]:
        """The workloads whose figures cannot be trusted, so that they are no evidence."""
        return {*self.screening.doubted, *self.unstable}

    def screened(self, rounds: Rounds, kind: str) -> list[float]:
        """The gains of the rounds that screen, of a bridge those of all rounds."""
        last = self.screening_rounds
        return _gains(rounds, kind, [last is None or number <= last for number in rounds.rounds])

    def fresh(self, rounds: Rounds, kind: str) -> list[float]:
        """The gains of the rounds that confirm; empty if too few have any."""
        last = self.screening_rounds or 0
        found = _gains(rounds, kind, [number > last for number in rounds.rounds])
        return found if len(found) >= LEAST_CONFIRMING else []


def week_of(campaign: Campaign, rounds: Sequence[Rounds], unstable: Iterable[str] = ()) -> Week:
    """A campaign's part of the evidence, with its figures.

    Args:
        unstable: the workloads of which no change can be concluded.
    """
    plan = campaign.plan
    return Week(
        build=plan.sides["candidate"].label,
        rounds=rounds,
        screening_rounds=plan.screening_rounds,
        confirming_rounds=plan.confirming_rounds,
        screening=campaign.screening or Screening(),
        unstable=frozenset(unstable),
    )


def alike(found: Sequence[Rounds], threads: Mapping[str, Sequence[int]]) -> list[Rounds]:
    """The figures of workloads that were measured with the thread counts of another campaign."""
    return [one for one in found if sorted(one.threads) == sorted(threads.get(one.workload, ()))]


def _gains(rounds: Rounds, kind: str, chosen: Sequence[bool]) -> list[float]:
    means = rounds.by_round(kind)
    sign = _sign(of_kind(rounds.metrics, kind))
    return [sign * float(one) for one in means[np.asarray(chosen) & np.isfinite(means)]]


def watches(weeks: Sequence[Week], threshold_pct: float) -> dict[Key, Watch]:
    """The watch of every figure, after these weeks; the earliest comes first."""
    found: dict[Key, Watch] = {}
    for week in weeks:
        _take(found, week, threshold_pct)
    return found


def flagged(week: Week, before: Sequence[Week], threshold_pct: float) -> list[Flagged]:
    """What a week flags after those before it, the strongest evidence first."""
    known = watches(before, threshold_pct)
    found = []
    for key, metric in _take(known, week, threshold_pct):
        seen = known[key].evidence()
        if seen.flag is not None:
            change_pct = percent(_sign(metric) * seen.change)
            found.append(Flagged(*key, seen.flag, seen.weeks, change_pct, seen.p))
    return sorted(found, key=lambda one: one.p)


def _take(known: dict[Key, Watch], week: Week, threshold_pct: float) -> list[tuple[Key, Metric]]:
    """Add a week to the watches; returns the figures that it measured."""
    taken = []
    for rounds in week.rounds:
        for kind in rounds.kinds if rounds.workload not in week.doubted else ():
            gains, metric = week.screened(rounds, kind), of_kind(rounds.metrics, kind)
            if not gains:
                continue
            key = rounds.workload, kind
            if key not in known:
                known[key] = Watch(_rule_in(rounds, metric, threshold_pct))
            watch = known[key]
            if week.screening_rounds is None:
                watch.bridge(gains)
                continue
            watch.take(gains, week.build)
            taken.append((key, metric))
            if rounds.workload in week.screening.confirming and (fresh := week.fresh(rounds, kind)):
                watch.confirm(fresh, flagged=week.screening.flag_of(*key) is not None)
    return taken


def _rule_in(rounds: Rounds, metric: Metric, threshold_pct: float) -> Rule:
    several = sum(of_kind(rounds.metrics, kind).family == metric.family for kind in rounds.kinds)
    return _rule(metric, several, len(rounds.threads), threshold_pct)


def _rule(metric: Metric, several: int, thread_counts: int, threshold_pct: float) -> Rule:
    """The rule of one of ``several`` metrics of its family."""
    share = _SHARES.get(metric.family, _SHARES[COUNT]) / several
    of_rounds = 0.0 if metric.family == COUNT else round_variance(thread_counts)
    return replace(
        RULE,
        worse=share * RULE.worse,
        better=share * RULE.better,
        beside=share * RULE.confirmed,
        least=math.log1p((metric.threshold_pct or threshold_pct) / 100),
        prior=2 * metric.side_sd**2 + of_rounds,
    )


@dataclass(frozen=True)
class Chances:
    """How likely a loss is told, at least; changes and chances in percent.

    Attributes:
        large, small: two changes.
        now, soon: that the large one is told by the campaign in which it begins, by the next one.
        later: that the small one is told within some campaigns.
    """

    large: float
    small: float
    now: float
    soon: float
    later: float

    @property
    def said(self) -> Message:
        """As a clause."""
        told = {name: f"{value:.0f}" for name, value in vars(self).items()}
        sizes = {"large": f"{self.large:g}", "small": f"{self.small:g}"}
        return message("watch-chances", **{**told, **sizes}, weeks=_SOME_WEEKS)


def chances(watch: Watch, deployments: int, fresh: int) -> Chances:
    """How likely a loss of a figure is told from now on.

    Args:
        deployments, fresh: that screen, and that confirm.
    """
    least = 100 * math.expm1(watch.rule.least)
    large, small = (round(times * least, 6) for times in (_LARGE, _SMALL))

    def told(weeks: int, size: float) -> float:
        return 100 * watch.told_within(weeks, -math.log1p(size / 100), deployments, fresh)

    return Chances(large, small, told(1, large), told(2, large), told(_SOME_WEEKS, small))


def least_chances(plan: Plan, threshold_pct: float, known: Mapping[Key, Watch]) -> Chances:
    """How likely a plan tells a loss of throughput, in the workload where it is least likely.

    Args:
        known: the watches of earlier campaigns; what is missing there is assumed.
    """
    screening, fresh = plan.screening_rounds or 0, plan.confirming_rounds
    each = []
    for name in plan.workloads:
        rule = _rule(plan.throughput, 1, len(plan.threads_in_order(name)), threshold_pct)
        each.append(chances(known.get((name, THROUGHPUT)) or Watch(rule), screening, fresh))
    return min(each, key=lambda one: one.now)


def _sign(metric: Metric) -> int:
    return -1 if metric.less_is_better else 1


# Verdicts


def judged(
    comparison: Comparison, week: Week, before: Sequence[Week], threshold_pct: float
) -> Comparison:
    """A campaign's comparison, decided by what its report type's weeks show.

    What is `unstable` stays so. All else is `inconclusive`, with the chance that a change would
    have been told, unless fresh rounds confirm what was flagged.
    """
    unstable = {one.name for one in comparison.workloads if one.verdict == "unstable"}
    doubted = week.doubted | unstable
    known = watches(before, threshold_pct)
    # The week itself, of all workloads, and before it is asked what confirms.
    taken = _take(known, replace(week, screening=Screening(), unstable=frozenset()), threshold_pct)
    last = _of_this_anchor([*before, week])[-RULE.longest :]
    courses = [
        _course(workload, known[workload, THROUGHPUT], last)
        for (workload, kind), _ in taken
        if kind == THROUGHPUT and workload not in doubted
    ]
    by_name = {rounds.workload: rounds for rounds in week.rounds}
    return replace(
        comparison,
        courses=tuple(courses),
        workloads=tuple(
            _decided(workload, by_name[workload.name], week, known)
            for workload in comparison.workloads
        ),
    )


def _of_this_anchor(weeks: Sequence[Week]) -> Sequence[Week]:
    bridges = [number for number, one in enumerate(weeks, 1) if one.screening_rounds is None]
    return weeks[max(bridges, default=0) :]


def _course(workload: str, watch: Watch, last: Sequence[Week]) -> Course:
    """The throughput of a workload over the last weeks, and what it is evidence of."""
    seen = watch.evidence()
    changes = tuple(
        (one.build, percent(fmean(gains)))
        for one in last
        for rounds in one.rounds
        if rounds.workload == workload and (gains := one.screened(rounds, THROUGHPUT))
    )
    return Course(workload, changes, seen.weeks, percent(seen.change), seen.p)


def _decided(
    workload: WorkloadComparison, rounds: Rounds, week: Week, known: Mapping[Key, Watch]
) -> WorkloadComparison:
    first, *others = rounds.kinds

    def of(kind: str, found: Decision) -> Decision:
        metric = of_kind(rounds.metrics, kind)
        gains = week.screened(rounds, kind)
        if not gains:
            return found
        if found.verdict == "unstable":
            return _unsure(found, metric, week.fresh(rounds, kind) or gains)
        return _Figure(metric, known[rounds.workload, kind], week, rounds).decision(gains, found)

    own = of(first, workload)
    decided = {name: getattr(own, name) for name in Decision.__dataclass_fields__}
    return replace(
        workload,
        **decided,
        beside={kind: of(kind, workload.beside[kind]) for kind in others},
        basis="weeks",
    )


def _unsure(found: Decision, metric: Metric, gains: Sequence[float]) -> Decision:
    """A decision that is `unstable`, with the mean of the rounds that would have decided."""
    return replace(
        found,
        rounds_used=len(gains),
        estimate_pct=percent(_sign(metric) * fmean(gains)),
        ci95_pct=None,
        rounds_ci95_pct=None,
        p_adjusted=None,
    )


@dataclass(frozen=True)
class _Figure:
    """A metric of a workload, in a week that is judged; its watch has taken that week."""

    metric: Metric
    watch: Watch
    week: Week
    rounds: Rounds

    def decision(self, gains: Sequence[float], found: Decision) -> Decision:
        screening, level = self.week.screening, self.watch.level
        fresh = self.week.fresh(self.rounds, self.metric.kind)
        flag = screening.flag_of(self.rounds.workload, self.metric.kind)
        kept = tuple(self._of_level())
        if not (self.rounds.workload in screening.confirming and fresh):
            noise = self.watch.week(len(gains))
            error = replace(noise, value=noise.value + level.variance)
            change = Estimate(fmean(gains) - level.value, error)
            why = self._nothing_seen(len(gains)) if flag is None else self._only_flagged(flag)
            gain = change.mean, *change.interval(0.95)
            return self._made(gain, found, "inconclusive", (why, *kept), len(gains))
        why = self._nothing_seen(len(gains))  # before what is confirmed becomes the level
        seen = self.watch.confirm(fresh, flagged=flag is not None)
        verdict: Verdict = "inconclusive"
        if seen.verdict is not None:
            verdict = "regression" if seen.verdict == "worse" else "improvement"
        which = "reason-not-confirmed" if seen.verdict is None else "reason-confirmed"
        if flag is not None:
            told = _of_flag(flag) | ({} if seen.verdict else {"goes_on": _yes(seen.goes_on)})
            why = message(which, deployments=len(fresh), **told)
        elif seen.verdict is not None:
            why = message("reason-confirmed-beside", deployments=len(fresh))
        gain = seen.change, seen.low, seen.high
        made = self._made(gain, found, verdict, (why, *kept), len(fresh))
        before = fmean(fresh) - seen.change
        return replace(made, p_adjusted=seen.p, known_pct=percent(_sign(self.metric) * before))

    def _made(
        self,
        gain: tuple[float, float, float],
        found: Decision,
        verdict: Verdict,
        reasons: tuple[Message, ...],
        rounds: int,
    ) -> Decision:
        """A decision in the metric's own direction."""
        change, *ends = (_sign(self.metric) * one for one in gain)
        low, high = sorted(ends)
        return replace(
            found,
            rounds_used=rounds,
            estimate_pct=percent(change),
            ci95_pct=percents((low, high)),
            rounds_ci95_pct=None,
            p_adjusted=None,
            verdict=verdict,
            reasons=reasons,
            known_pct=percent(_sign(self.metric) * self.watch.level.value),
        )

    def _nothing_seen(self, deployments: int) -> Message:
        """What was not flagged: how likely a change would have been told."""
        told = chances(self.watch, deployments, self.week.confirming_rounds)
        return message("reason-nothing-seen", chances=told.said)

    def _only_flagged(self, flag: Flagged) -> Message:
        """What was flagged, and why nothing confirms it."""
        is_missing = self.rounds.workload in self.week.screening.confirming
        why = "missing" if is_missing else "budget"
        return message("reason-flagged", why=why, **_of_flag(flag))

    def _of_level(self) -> Iterator[Message]:
        """What differs from the anchor and is known already."""
        level = self.watch.level
        if level.build:
            change = percent(_sign(self.metric) * level.value)
            yield message(
                "reason-known",
                change=f"{change:+.1f}",
                build=level.build,
                lasts=_yes(level.lasts),
            )


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _of_flag(flag: Flagged) -> dict[str, str | int]:
    return {"change": f"{flag.change_pct:+.1f}", "weeks": flag.weeks}
