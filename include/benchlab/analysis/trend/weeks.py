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

from benchlab.analysis.trend.watch import RULE, Evidence, Rule, Watch
from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison
from benchlab.analysis.verdict.decision import Decision, Verdict
from benchlab.analysis.verdict.rounds import Rounds
from benchlab.analysis.verdict.variances import (
    PRIOR_VARIANCE,
    Estimate,
    percent,
    percents,
    round_variance,
)
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
_NOTHING = Screening()
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
        screening: what it showed; None until that is known.
        doubted: the workloads whose figures cannot be trusted, so that they are no evidence.
    """

    build: str
    rounds: Sequence[Rounds]
    screening_rounds: int | None
    confirming_rounds: int = 0
    screening: Screening | None = None
    doubted: frozenset[str] = frozenset()

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
    plan, known = campaign.plan, campaign.screening or _NOTHING
    return Week(
        build=plan.sides["candidate"].label,
        rounds=rounds,
        screening_rounds=plan.screening_rounds,
        confirming_rounds=plan.confirming_rounds,
        screening=campaign.screening,
        doubted=frozenset((*known.doubted, *unstable)),
    )


def alike(found: Sequence[Rounds], threads: Mapping[str, Sequence[int]]) -> list[Rounds]:
    """The figures of workloads that were measured with the thread counts of another campaign."""
    return [one for one in found if sorted(one.threads) == sorted(threads.get(one.workload, ()))]


def _gains(rounds: Rounds, kind: str, chosen: Sequence[bool]) -> list[float]:
    means = rounds.by_round(kind)
    sign = -1 if of_kind(rounds.metrics, kind).less_is_better else 1
    return [sign * float(one) for one in means[np.asarray(chosen) & np.isfinite(means)]]


def watches(weeks: Sequence[Week], threshold_pct: float) -> dict[Key, Watch]:
    """The watch of every figure, after these weeks; the earliest comes first."""
    found: dict[Key, Watch] = {}
    for week in weeks:
        _take(found, week, threshold_pct)
    return found


def flagged(week: Week, before: Mapping[Key, Watch], threshold_pct: float) -> list[Flagged]:
    """What a week flags after those before it, the strongest evidence first.

    Args:
        before: from :func:`watches`; the week is added to it.
    """
    known = dict(before)
    found = [
        Flagged(*key, seen.flag, seen.weeks, percent(_sign(metric) * seen.change), seen.p)
        for key, metric, seen in _take(known, week, threshold_pct)
        if seen.flag is not None
    ]
    return sorted(found, key=lambda one: one.p)


def _take(
    known: dict[Key, Watch], week: Week, threshold_pct: float
) -> list[tuple[Key, Metric, Evidence]]:
    """Add a week to the watches; returns what each figure that it measured shows."""
    seen = []
    screening = week.screening or _NOTHING
    for rounds in week.rounds:
        for kind in rounds.kinds if rounds.workload not in week.doubted else ():
            gains, metric = week.screened(rounds, kind), of_kind(rounds.metrics, kind)
            if not gains:
                continue
            key = rounds.workload, kind
            watch = known.setdefault(key, Watch(_rule(rounds, metric, threshold_pct)))
            if week.screening_rounds is None:
                watch.bridge(gains)
                continue
            seen.append((key, metric, watch.add(gains, week.build)))
            if rounds.workload in screening.confirming and (fresh := week.fresh(rounds, kind)):
                watch.confirm(fresh, flagged=screening.flag_of(*key) is not None)
    return seen


def _rule(rounds: Rounds, metric: Metric, threshold_pct: float) -> Rule:
    several = sum(of_kind(rounds.metrics, kind).family == metric.family for kind in rounds.kinds)
    share = _SHARES.get(metric.family, _SHARES[COUNT]) / several
    of_rounds = 0.0 if metric.family == COUNT else round_variance(len(rounds.threads))
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
    sizes = _LARGE * least, _SMALL * least
    large, small = (-math.log1p(size / 100) for size in sizes)
    told = ((1, large), (2, large), (_SOME_WEEKS, small))
    return Chances(
        *(float(f"{size:.6g}") for size in sizes),
        *(100 * watch.told_within(*one, deployments, fresh) for one in told),
    )


def least_chances(plan: Plan, threshold_pct: float, known: Mapping[Key, Watch]) -> Chances:
    """How likely a plan tells a loss of throughput, in the workload where it is least likely.

    Args:
        known: the watches of earlier campaigns; what is missing there is assumed.
    """
    screening, fresh = plan.screening_rounds or 0, plan.confirming_rounds
    each = []
    for name in plan.workloads:
        prior = PRIOR_VARIANCE + round_variance(len(plan.threads_in_order(name)))
        rule = replace(RULE, least=math.log1p(threshold_pct / 100), prior=prior)
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
    week = replace(week, doubted=week.doubted | unstable)
    known = watches(before, threshold_pct)
    by_name = {rounds.workload: rounds for rounds in week.rounds}
    return replace(
        comparison,
        courses=tuple(_courses(week, before, threshold_pct)),
        workloads=tuple(
            _decided(workload, by_name[workload.name], week, known, threshold_pct)
            for workload in comparison.workloads
        ),
    )


def _courses(week: Week, before: Sequence[Week], threshold_pct: float) -> Iterator[Course]:
    """The throughput of every workload that was measured, over the last weeks of this anchor."""
    bridges = [n for n, one in enumerate(before, 1) if one.screening_rounds is None]
    last = [*before[max(bridges, default=0) :], week][-RULE.longest :]
    known, unscreened = watches(before, threshold_pct), replace(week, screening=None)
    for (workload, kind), _, seen in _take(known, unscreened, threshold_pct):
        if kind == THROUGHPUT:
            changes = tuple(
                (one.build, percent(math.fsum(gains) / len(gains)))
                for one in last
                for rounds in one.rounds
                if rounds.workload == workload and (gains := one.screened(rounds, kind))
            )
            yield Course(workload, changes, seen.weeks, percent(seen.change), seen.p)


def _decided(
    workload: WorkloadComparison,
    rounds: Rounds,
    week: Week,
    known: dict[Key, Watch],
    threshold_pct: float,
) -> WorkloadComparison:
    first, *others = rounds.kinds

    def of(kind: str, found: Decision) -> Decision:
        metric = of_kind(rounds.metrics, kind)
        watch = known.get((rounds.workload, kind)) or Watch(_rule(rounds, metric, threshold_pct))
        gains = week.screened(rounds, kind)
        if not gains:
            return found
        if found.verdict == "unstable":
            return _unsure(found, metric, week.fresh(rounds, kind) or gains)
        return _Figure(metric, watch, week, rounds).decision(gains, found)

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
        estimate_pct=percent(_sign(metric) * math.fsum(gains) / len(gains)),
        ci95_pct=None,
        rounds_ci95_pct=None,
        p_adjusted=None,
    )


@dataclass(frozen=True)
class _Figure:
    """A metric of a workload, in a week that is judged."""

    metric: Metric
    watch: Watch
    week: Week
    rounds: Rounds

    def decision(self, gains: Sequence[float], found: Decision) -> Decision:
        key = self.rounds.workload, self.metric.kind
        screening = self.week.screening or _NOTHING
        self.watch.add(gains, self.week.build)
        level = self.watch.level
        fresh = self.week.fresh(self.rounds, self.metric.kind)
        kept = tuple(self._of_level())
        flag = screening.flag_of(*key)
        if not (self.rounds.workload in screening.confirming and fresh):
            noise = self.watch.week(len(gains))
            change = Estimate(
                math.fsum(gains) / len(gains) - level.value,
                replace(noise, value=noise.value + level.variance),
            )
            why = self._nothing_seen(len(gains), flag)
            estimate, ends = change.mean, change.interval(0.95)
            return self._made((estimate, *ends), found, "inconclusive", (why, *kept), len(gains))
        nothing = self._nothing_seen(len(gains), None)
        seen = self.watch.confirm(fresh, flagged=flag is not None)
        verdicts: dict[str | None, Verdict] = {"worse": "regression", "better": "improvement"}
        verdict = verdicts.get(seen.verdict, "inconclusive")
        which = "reason-not-confirmed" if seen.verdict is None else "reason-confirmed"
        why = message(which, deployments=len(fresh), **self._of_flag(flag))
        if flag is None:
            beside = message("reason-confirmed-beside", deployments=len(fresh))
            why = nothing if seen.verdict is None else beside
        made = self._made(
            (seen.change, seen.low, seen.high), found, verdict, (why, *kept), len(fresh)
        )
        before = math.fsum(fresh) / len(fresh) - seen.change
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

    def _nothing_seen(self, deployments: int, flag: Flagged | None) -> Message:
        """What was not flagged: how likely a change would have been told."""
        if flag is not None:
            confirming = self.week.screening.confirming if self.week.screening else ()
            why = "missing" if self.rounds.workload in confirming else "budget"
            return message("reason-flagged", why=why, **self._of_flag(flag))
        told = chances(self.watch, deployments, self.week.confirming_rounds)
        return message("reason-nothing-seen", chances=told.said)

    def _of_level(self) -> Iterator[Message]:
        """What differs from the anchor and is known already."""
        level = self.watch.level
        if level.build:
            change = percent(_sign(self.metric) * level.value)
            yield message(
                "reason-known",
                change=f"{change:+.1f}",
                build=level.build,
                lasts="yes" if level.lasts else "no",
            )

    @staticmethod
    def _of_flag(flag: Flagged | None) -> dict[str, str | int]:
        return {} if flag is None else {"change": f"{flag.change_pct:+.1f}", "weeks": flag.weeks}
