"""The figures of a campaign, computed a second time from the rows of its trials.

Nothing here calls the analysis, so that a mistake there shows as a difference. Both compute what
docs/statistics.md says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pvariance, variance

from benchlab.arrays import special
from benchlab.plan.metric import COUNT
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import LEAST_CONFIRMING, SIDES, Side
from benchlab.results.records import TrialKey, TrialResult
from benchlab.results.screening import Screening

_NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class Change:
    """The change in one metric of one workload, as ln(candidate / baseline).

    Attributes:
        rounds: how many are complete.
        mean: the mean of the deployments' means; None without a complete round.
        of_rounds, of_deployments: lower bounds for the half width of a 95 % interval: 1.96 standard
            errors, from the variance of rounds within deployments and from that of deployments. A t
            quantile and the prior make it wider.
    """

    rounds: int = 0
    mean: float | None = None
    of_rounds: float = 0.0
    of_deployments: float = 0.0


class Recomputed:
    """A campaign's figures, from its trials alone.

    Example:
        ``Recomputed(plan, trials).mean("oltp_insert", 8, "baseline", "tps")`` is the mean TPS.

    Attributes:
        used: keys of the trials whose figures count.
        sides: those of the plan, the baseline first.
    """

    def __init__(
        self, plan: Plan, trials: Sequence[TrialResult], screening: Screening | None = None
    ) -> None:
        self.plan, self.used, self._screening = plan, _used(plan, trials), screening
        self._figures: dict[tuple[str, int, str, int], dict[str, float | None]] = {
            (one.trial.workload, one.trial.threads, one.trial.side, one.trial.round): one.figures
            for one in trials
            if (one.trial.id, one.attempt) in self.used
        }
        self._counts = {metric.name for metric in plan.metrics if metric.family == COUNT}
        self.sides = [side for side in SIDES if side in plan.sides]
        self._rounds = range(1, plan.rounds + 1)

    def _value(self, workload: str, threads: int, side: str, at: int, metric: str) -> float | None:
        found = self._figures.get((workload, threads, side, at), {}).get(metric)
        if found == 0 and metric in self._counts:
            return found
        return found if found is not None and 0 < found < math.inf else None

    def mean(self, workload: str, threads: int, side: str, metric: str) -> float | None:
        """A cell's geometric mean over rounds with a throughput on every side, or else over all.

        Of a count that is zero in one of them, the arithmetic mean.
        """
        rate = self.plan.throughput.name
        whole = [
            at
            for at in self._rounds
            if all(self._value(workload, threads, one, at, rate) for one in self.sides)
        ]
        found = [self._value(workload, threads, side, at, metric) for at in whole or self._rounds]
        known = [value for value in found if value is not None]
        if known and not all(known):
            return fmean(known)
        return math.exp(fmean(map(math.log, known))) if known else None

    def change_pct(self, workload: str, threads: int, metric: str) -> float | None:
        """The candidate's change against the baseline in a cell, in percent."""
        before, after = (self.mean(workload, threads, side, metric) for side in SIDES)
        return None if not before or after is None else 100 * (after / before - 1)

    def totals(self, workload: str) -> dict[int, float]:
        """The throughput of all sides together, at each thread count at which all have one."""
        rate, threads = self.plan.throughput.name, self.plan.threads_in_order(workload)
        means = {
            n: [self.mean(workload, n, one, rate) or 0.0 for one in self.sides] for n in threads
        }
        return {n: sum(of_sides) for n, of_sides in means.items() if all(of_sides)}

    def usd(self, workload: str, threads: int, side: Side, hourly: float) -> list[float | None]:
        """What a million of its throughput cost, and the 95 % interval: ``[1.61, 1.27, 2.04]``."""
        metric, logs = self.plan.throughput, dict[int, list[float]]()
        for at in self._rounds:
            rates = {s: self._value(workload, threads, s, at, metric.name) for s in self.sides}
            if all(rates.values()):
                of = self.plan.deployment_of(at) if self.plan.deployments > 1 else at
                logs.setdefault(of, []).append(math.log(rates[side] or math.nan))
        hours = 1 / 60 if metric.unit == "1/min" else 1 / 3600
        usd = hourly * hours * 1e6 / (self.mean(workload, threads, side, metric.name) or math.nan)
        if sum(map(len, logs.values())) < 3 or len(logs) == 1:
            return [usd, None, None]
        error = _change([*logs.values()]).of_deployments / _NORMAL_95
        times = math.exp(error * float(special.stdtrit(len(logs) - 1, 0.975)))
        return [usd, usd / times, usd * times]

    def change(self, workload: str, metric: str) -> Change:
        """The change that a workload's verdict on a metric rests on.

        Thread counts with a ratio in at most half of the rounds are left out, unless all are. With
        ``design: watch`` only the rounds that confirm count if they were measured, and else only
        those that screen.
        """
        threads, ratios = self.plan.threads_in_order(workload), {}
        rounds = {trial.round for trial in self.plan.trials if trial.workload == workload}
        for at in rounds:
            for count in threads:
                one, other = (self._value(workload, count, side, at, metric) for side in SIDES)
                if one and other:
                    ratios[at, count] = math.log(other / one)
        half = len(rounds) / 2
        most = [n for n in threads if sum((at, n) in ratios for at in rounds) > half]
        by_deployment: dict[int, list[float]] = {}
        whole = [at for at in sorted(rounds) if all((at, n) in ratios for n in most or threads)]
        if self._screening is not None:
            fresh = [at for at in whole if self.plan.confirms(at)]
            enough = len(fresh) >= LEAST_CONFIRMING
            whole = fresh if enough else [at for at in whole if not self.plan.confirms(at)]
        for at in whole:
            mean = fmean(ratios[at, count] for count in most or threads)
            by_deployment.setdefault(self.plan.deployment_of(at), []).append(mean)
        return _change([*by_deployment.values()])


def _change(deployments: Sequence[Sequence[float]]) -> Change:
    rounds, number = sum(map(len, deployments)), len(deployments)
    if not rounds:
        return Change()
    means = [fmean(one) for one in deployments]
    within = sum(pvariance(one) * len(one) for one in deployments) / max(rounds - number, 1)
    of_rounds = within * fmean(1 / len(one) for one in deployments)
    between = variance(means) if number > 1 else of_rounds
    widths = (_NORMAL_95 * math.sqrt(one / number) for one in (of_rounds, between))
    return Change(rounds, fmean(means), *widths)


def _used(plan: Plan, trials: Sequence[TrialResult]) -> set[TrialKey]:
    """The trials that count: each block's first valid attempt, else the valid ones of its last."""
    planned: dict[tuple[int, str], set[str]] = {}
    measured: dict[tuple[int, str], dict[int, set[str]]] = {}
    for trial in plan.trials:
        planned.setdefault(trial.pair, set()).add(trial.id)
    for one in trials:
        valid = measured.setdefault(one.trial.pair, {}).setdefault(one.attempt, set())
        valid |= {one.trial.id} if one.valid else set()
    used: set[TrialKey] = set()
    for pair, attempts in measured.items():
        whole = [number for number, ids in attempts.items() if ids == planned[pair]]
        chosen = min(whole) if whole else max(attempts)
        used |= {(name, chosen) for name in attempts[chosen]}
    return used
