"""What the seconds of a trial buy, by the series that this installation's campaigns have stored.

A mean over more seconds varies less by what happens within a trial, not by what differs from trial
to trial, from round to round and from deployment to deployment. Which of these is the largest says
whether seconds, rounds or deployments are worth their time. ``BENCHLAB_HOME`` names another store.

Example:
    ``python -m tools.study seconds`` writes a section for each complete campaign of two sides.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

import numpy as np
from numpy.typing import NDArray

from benchlab import home
from benchlab.analysis.error_rates.deployments import long_run_variance
from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.analysis.verdict.variances import Squares, squares
from benchlab.errors import BenchlabError
from benchlab.report.model import series
from benchlab.results.records import Campaign
from benchlab.results.store import Store, is_there, open_store
from benchlab.studies.sensitivity import findings, text

SECONDS = (1, 2, 3, 6, 9, 12, 18, 24, 36, 60, 120)
WINDOWS = ((0, 1), (1, 2), (2, 4), (4, 8), (8, 12), (12, 18))
WARM = 6
HEADS = (
    *("within a trial, %", "by the long-run variance, %", "rounds, %", "deployments, %"),
    f"rounds without the first {WARM} s, %",
)
# Slowdowns to be found, in percent.
WANTED = (3.0, 5.0, 10.0)
SETTLED = 0.5
"""The last part of a trial, with which its first seconds are compared."""


@dataclass(frozen=True)
class Run:
    """The throughput of one trial, second by second.

    Attributes:
        ends: of the intervals, in seconds since the client began to count.
    """

    workload: str
    threads: int
    side: str
    round: int
    deployment: int
    ends: NDArray[np.float64]
    values: NDArray[np.float64]

    def mean(self, first: float, last: float) -> float:
        """Over the intervals that end after ``first`` and by ``last``; NaN where there is none."""
        chosen = self.values[(self.ends > first) & (self.ends <= last)]
        return float(chosen.mean()) if len(chosen) else math.nan

    @property
    def interval(self) -> float:
        """Its length in seconds."""
        return float(self.ends[-1] - self.ends[0]) / (len(self.ends) - 1)


def runs_of(store: Store, campaign: Campaign) -> Iterator[Run]:
    """The trials of a campaign that count and whose series is stored."""
    metric = campaign.plan.throughput.name
    for result in usable_trials(campaign.plan, store.trials(campaign.id))[0]:
        if result.series is None:
            continue
        try:
            line = series.table(store.read_bytes(result.series), [metric])[series.CLIENT][metric]
        except (BenchlabError, KeyError):
            continue  # the page says how many trials have a series
        points = np.array([(at, value) for at, value in line if value is not None])
        if len(points) > 2:
            one, of = result.trial, campaign.plan.deployment_of
            place = (one.workload, one.threads, one.side, one.round, of(one.round))
            yield Run(*place, points[:, 0], points[:, 1])


def within(runs: Sequence[Run], seconds: float) -> float | None:
    """The standard deviation of means over so many seconds of one trial, relative to its mean."""
    found = []
    for run in runs:
        size = round(seconds / run.interval)
        if size and (count := len(run.values) // size) > 1:
            batches = run.values[-count * size :].reshape(count, size).mean(1)
            found.append(float(batches.var(ddof=1)) / float(batches.mean()) ** 2)
    return math.sqrt(fmean(found)) if found else None


def explained(runs: Sequence[Run], seconds: float) -> float | None:
    """The same by the trials' long-run variance, which also reaches beyond half a trial."""
    found = [long_run_variance(run.ends.tolist(), run.values.tolist()) for run in runs]
    known = [variance for variance in found if variance is not None]
    return math.sqrt(fmean(known) / seconds) if known else None


def together(runs: Sequence[Run]) -> float:
    """The correlation of neighbouring intervals of a trial, after its first half."""
    found = []
    for run in runs:
        half = run.values[len(run.values) // 2 :] - run.values[len(run.values) // 2 :].mean()
        found.append(float((half[1:] * half[:-1]).sum() / max((half**2).sum(), 1e-12)))
    return fmean(found)


def transient(runs: Sequence[Run], first: float, last: float) -> tuple[float, float]:
    """By how much trials run faster in these seconds than in the end, and its standard error."""
    found = [run.mean(first, last) / run.mean(SETTLED * run.ends[-1], math.inf) - 1 for run in runs]
    known = [one for one in found if math.isfinite(one)] or [math.nan]
    return fmean(known), stdev(known) / math.sqrt(len(known)) if len(known) > 1 else math.nan


def scatter(runs: Sequence[Run], seconds: float, left_out: float = 0) -> Squares | None:
    """How the log ratios of a workload's rounds scatter, by so many seconds of each trial."""
    logs: dict[tuple[int, int, int], dict[str, float]] = defaultdict(dict)
    for run in runs:
        mean, last = run.mean(left_out, left_out + seconds), run.ends[-1] + run.interval / 2
        if last > left_out + seconds and mean > 0:
            logs[run.deployment, run.round, run.threads][run.side] = math.log(mean)
    ratios: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (deployment, number, _), of in logs.items():
        if len(of) > 1:
            ratios[deployment][number].append(of["candidate"] - of["baseline"])
    found = [np.array([*map(fmean, rounds.values())]) for rounds in ratios.values()]
    return squares(found) if sum(map(len, found)) > len(found) else None


def deviations(found: Squares) -> tuple[float, float]:
    """Standard deviations: of rounds within a deployment, and of deployments beyond that."""
    of_rounds = float(found.within / found.within_df)
    if not found.between_df:
        return math.sqrt(of_rounds), math.nan
    beyond = float(found.between / found.between_df - of_rounds * found.inverse_rounds)
    return math.sqrt(of_rounds), math.sqrt(max(0.0, beyond))


def section(store: Store, here: home.Home, campaign: Campaign) -> Iterator[str]:
    """What one campaign shows, in Markdown."""
    runs, results = [*runs_of(store, campaign)], store.trials(campaign.id)
    others = [sum(one.phases.values()) - one.phases.get("run", 0.0) for one in results if one.raw]
    if not runs:
        return
    yield (
        f"## {campaign.id}\n\n{len(runs)} series of {len(results)} trials, which take "
        f"{median(others):.1f} s besides their runs; {campaign.plan.deployments} deployments, "
        f"{campaign.plan.rounds} rounds\n"
    )
    for workload in dict.fromkeys(run.workload for run in runs):
        own = [run for run in runs if run.workload == workload]
        faster = (transient(own, *window) for window in WINDOWS)
        each = (f"{100 * by:+.1f} ± {100 * error:.1f} %" for by, error in faster)
        first = (f"{a} to {b} s: {by}" for (a, b), by in zip(WINDOWS, each, strict=True))
        yield (
            f"{workload}: neighbouring seconds correlate by {together(own):.2f}. Faster than the "
            f"last half of the trial: {', '.join(first)}\n"
        )
        yield "| mean over, s | " + " | ".join(HEADS) + " |\n| ---: |" + " ---: |" * len(HEADS)
        for seconds in SECONDS:
            if (whole := scatter(own, seconds)) is not None:
                warm = scatter(own, seconds, WARM)
                found = (within(own, seconds), explained(own, seconds), *deviations(whole))
                cells = (*found, deviations(warm)[0] if warm else None)
                yield f"| {seconds} | {' | '.join(map(_pct, cells))} |"
        yield ""
    for wanted in WANTED if campaign.is_aa and campaign.state == "complete" else ():
        offered = findings.calibrate(here, store, [campaign.id], wanted).proposals[:3]
        said = "; ".join(map(text.offer, offered)) or "no plan does"
        yield f"To find {wanted:g} %, the cheapest first: {said}\n"


def _pct(value: float | None) -> str:
    return "" if value is None or math.isnan(value) else f"{100 * value:.2f}"


def page() -> str:
    """Every campaign of this installation that has two sides and series."""
    here = home.find()
    if not is_there(here):
        return "This installation has no store.\n"
    with open_store(here) as store:
        several = [one for one in store.campaigns() if one.report_type.sides != "single"]
        return "\n".join(line for one in several for line in section(store, here, one)) + "\n"
