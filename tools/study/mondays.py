"""A year of Mondays: what weekly designs tell of one workload that changes, and what they cost.

Four workloads are compared once a week. In week 20 one of them changes and stays so, or it loses a
little every week, or nothing happens. Dollars are the planner's, with the dataset on S3.

* ``weekly plan``: two deployments of three rounds, judged by the rule for fixed campaigns; the
  baseline is the last build that was not called slower, as ``last good`` was before it asked for
  more, or it stays.
* ``watch``: :mod:`benchlab.analysis.trend.watch`, after as many quiet weeks as it has learned from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from benchlab.analysis.trend.watch import RULE, Rule, Watch
from benchlab.analysis.verdict.compare import judge
from tools.study.bounds import PROCESSES
from tools.study.promises import SEED
from tools.study.rules import THRESHOLD_PCT
from tools.study.worlds import BLOCK_SD, CELL_SD, as_rounds

WORKLOADS, WEEKS, CHANGED = 4, 52, 20
THREADS = 3
FRESH = 4
# A true change is at least so large, as a logarithm.
LEAST = -0.004
# Dollars of `sysbench_ec2_weekly` on the published fleet, by parts: what every campaign costs, a
# further deployment of both sides, and a round of one workload.
FIXED, DEPLOYMENT, ROUND = 1.6, 2.8, 1.2


@dataclass(frozen=True)
class World:
    """How weeks scatter; standard deviations of logarithms.

    Attributes:
        deployment_sd: of one side's deployment.
        build_sd: of a build, which keeps it for all its deployments.
        week_sd, stay: of a week, and how much of it the next week keeps.
        tails: degrees of freedom of Student's t; None: normal.
        noisier_from: the week from which all deployments and rounds scatter twice as much.
        alike: how much of its noise a workload shares with the others.
    """

    name: str
    deployment_sd: float = 0.007
    build_sd: float = 0.0
    week_sd: float = 0.0
    stay: float = 0.0
    tails: int | None = None
    noisier_from: int | None = None
    alike: float = 0.0
    unlike: Sequence[float] = (1.0,) * WORKLOADS


WORLDS = (
    World("noise of the published reports"),
    World("heavy tails", tails=3),
    World("deployments of 1.5 %", deployment_sd=0.015),
    World("builds of 0.5 %", build_sd=0.005),
    World("builds of 1 %", build_sd=0.01),
    World("weeks of 1 %, half of it stays", week_sd=0.01, stay=0.5),
    World("twice as noisy from week 10 on", noisier_from=10),
    World("half the noise is shared", alike=0.7),
    World("workloads of unlike noise", unlike=(1.0, 0.5, 1.0, 2.0)),
)


@dataclass(frozen=True)
class Course:
    """What truly happens to the first workload: a step, or so much in each week, in percent."""

    name: str
    step_pct: float = 0.0
    weekly_pct: float = 0.0

    def level(self, week: int) -> float:
        """The true log ratio to the anchor in a week of the year."""
        since = max(0, week - CHANGED + 1)
        return math.log1p(self.step_pct / 100) * (since > 0) + since * math.log1p(
            self.weekly_pct / 100
        )


COURSES = (
    Course("nothing"),
    Course("-5 %", -5.0),
    Course("-3 %", -3.0),
    Course("-0.5 % a week", weekly_pct=-0.5),
)


class Fleet:
    """Draws what deployments measure, week after week."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        self.world, self.rng = world, rng
        self.week = np.zeros(WORKLOADS)

    def next_week(self) -> None:
        """A new build, in a new week."""
        world = self.world
        fresh = math.sqrt(1 - world.stay**2) * world.week_sd
        self.week = world.stay * self.week + fresh * self.rng.standard_normal(WORKLOADS)
        self.build = world.build_sd * self.rng.standard_normal(WORKLOADS)

    def ratios(self, number: int, deployments: int, rounds: int = 1) -> NDArray[np.float64]:
        """Log ratios without any change, of shape (workloads, deployments, rounds, threads)."""
        world = self.world
        shape = (WORKLOADS, deployments, rounds, THREADS)
        noisier = 2.0 if world.noisier_from is not None and number >= world.noisier_from else 1.0
        noise = math.sqrt(2) * (
            world.deployment_sd * self._noise((*shape[:2], 1, 1))
            + BLOCK_SD * self._noise((*shape[:3], 1))
            + CELL_SD * self._noise(shape)
        )
        scale = noisier * np.array(world.unlike)[:, None, None, None]
        return noise * scale + (self.week + self.build)[:, None, None, None]

    def _noise(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        def draw(of: tuple[int, ...]) -> NDArray[np.float64]:
            tails = self.world.tails
            return self.rng.standard_t(tails, of) if tails else self.rng.standard_normal(of)

        alike = self.world.alike
        own = draw(shape)
        return alike * draw((1, *shape[1:])) + math.sqrt(1 - alike**2) * own if alike else own


@dataclass
class Year:
    """What one year told.

    Attributes:
        told: weeks after the change until it was told; None: not in this year.
        lasting: weeks after the change until it counted as lasting.
        false: how many changes were told that were none, or counted as lasting and did not last.
        of_builds: how many more were told that one build has, and the next one has not.
    """

    told: int | None = None
    lasting: int | None = None
    false: int = 0
    of_builds: int = 0
    dollars: float = 0.0
    dearest: float = 0.0


@dataclass(frozen=True)
class Design:
    """A way to spend a year."""

    name: str
    run: Callable[[World, Course, np.random.Generator], Year]


def watched(deployments: int, learned: int, rule: Rule = RULE) -> Design:
    """Few deployments of one round, evidence over weeks, fresh deployments for what is flagged."""

    def run(world: World, course: Course, rng: np.random.Generator) -> Year:
        fleet, year = Fleet(world, rng), Year()
        watches = [Watch(rule) for _ in range(WORKLOADS)]
        # What is confirmed and not known to last, with the level before it.
        pending: dict[int, float] = {}
        for number in range(-learned, WEEKS):
            fleet.next_week()
            level = np.array([course.level(number), *[0.0] * (WORKLOADS - 1)])
            measured = fleet.ratios(number, deployments).mean((2, 3)) + level[:, None]
            flagged = [
                place
                for place, (watch, ratios) in enumerate(zip(watches, measured, strict=True))
                if watch.add(ratios.tolist(), str(number)).flag
            ]
            for place, watch in enumerate(watches):
                _count_lasting(year, course, number, (place, level[place], watch, pending))
            dollars = FIXED + deployments * (DEPLOYMENT + WORKLOADS * ROUND)
            if flagged:
                fresh = fleet.ratios(number, FRESH).mean((2, 3)) + level[:, None]
                dollars += FRESH * (DEPLOYMENT + len(flagged) * ROUND)
            for place in flagged:
                known = watches[place].level.value
                if told := watches[place].confirm(fresh[place].tolist()).verdict:
                    pending[place] = known
                    of_build = level[place] + float(fleet.build[place]) - known
                    if number >= 0:
                        _tell(year, course, number, (told, place, level[place] - known), of_build)
            if number >= 0:
                year.dollars += dollars / WEEKS
                year.dearest = max(year.dearest, dollars)
        return year

    return Design(f"watch, {deployments} x 1, after {learned} weeks", run)


def _tell(
    year: Year, course: Course, number: int, told: tuple[str, int, float], of_build: float = 0.0
) -> None:
    """Count a change that was told of a workload: the one that happened, or a false one."""
    verdict, place, true = told
    is_true = place == 0 and number >= CHANGED and verdict == "worse" and true < LEAST
    if is_true and course.level(WEEKS):
        year.told = number - CHANGED if year.told is None else year.told
    elif (of_build < LEAST) if verdict == "worse" else (of_build > -LEAST):
        year.of_builds += 1
    else:
        year.false += 1


def _count_lasting(
    year: Year, course: Course, number: int, one: tuple[int, float, Watch, dict[int, float]]
) -> None:
    """Count what has turned out to last, and forget what is gone."""
    place, true, watch, pending = one
    if place not in pending or watch.level.before is not None:
        return
    before = pending.pop(place)
    if watch.level.lasts and number >= 0:
        is_true = (watch.level.value - before) * (true - before) > 0 and abs(true - before) > -LEAST
        if place == 0 and is_true and course.level(WEEKS):
            year.lasting = number - CHANGED if year.lasting is None else year.lasting
        elif not is_true:
            year.false += 1


def weekly(*, stays: bool) -> Design:
    """Today's weekly plan."""

    def run(world: World, course: Course, rng: np.random.Generator) -> Year:
        fleet, year = Fleet(world, rng), Year()
        base = np.zeros(WORKLOADS)
        before: set[int] = set()
        for number in range(WEEKS):
            fleet.next_week()
            level = np.array([course.level(number), *[0.0] * (WORKLOADS - 1)])
            ratios = fleet.ratios(number, 2, 3) + (level - base)[:, None, None, None]
            throughput = np.exp(ratios.reshape(WORKLOADS, 6, THREADS))
            both = np.stack([np.ones_like(throughput), throughput], axis=-1)
            found = judge(as_rounds(both, 2), THRESHOLD_PCT)
            slower = {n for n, one in enumerate(found) if one.verdict == "regression"}
            faster = {n for n, one in enumerate(found) if one.verdict == "improvement"}
            for place in slower - before if stays else slower:
                _tell(year, course, number, ("worse", place, level[place] - base[place]))
            for place in faster:
                _tell(year, course, number, ("better", place, level[place] - base[place]))
            before = slower
            if not stays and not slower:
                base = level
            dollars = FIXED + 2 * (DEPLOYMENT + 3 * WORKLOADS * ROUND)
            year.dollars += dollars / WEEKS
            year.dearest = max(year.dearest, dollars)
        return year

    return Design("weekly plan, baseline " + ("stays" if stays else "last good"), run)


DESIGNS = (
    weekly(stays=False),
    weekly(stays=True),
    watched(2, 26),
    watched(2, 4),
    watched(1, 26),
)
YEARS, PORTION = 200, 50


def _portion(design: int, world: World, course: Course, number: int) -> list[Year]:
    words = f"{DESIGNS[design].name}{world.name}{course.name}"
    rng = np.random.default_rng([SEED, crc32(words.encode()), number])
    return [DESIGNS[design].run(world, course, rng) for _ in range(PORTION)]


Key = tuple[str, str, str]
"""Names of design, world and course."""


def study(years: int = YEARS, worlds: Sequence[World] = WORLDS) -> dict[Key, list[Year]]:
    """So many years of each design, world and course; the weekly plan in the first world alone."""
    tasks = [
        (place, world, course, number)
        for place, design in enumerate(DESIGNS)
        for world in (worlds if design.name.startswith("watch") else worlds[:1])
        for course in COURSES
        for number in range(years // PORTION)
    ]
    found: dict[Key, list[Year]] = {}
    with ProcessPoolExecutor(PROCESSES) as pool:
        done = pool.map(_portion, *zip(*tasks, strict=True))
        for (place, world, course, _), made in zip(tasks, done, strict=True):
            found.setdefault((DESIGNS[place].name, world.name, course.name), []).extend(made)
    return found


HEADS = (
    *("design", "world", "mean quiet week", "dearest", "false a year", "of one build"),
    *("-5 % told in the same week / 1 / 4", "lasts by 1 / 4", "-3 %"),
    "-0.5 % a week, told by week 4 / 8",
)


def page(found: dict[Key, list[Year]]) -> str:
    """A table in Markdown."""
    lines = [
        f"| {' | '.join(HEADS)} |",
        "| --- | --- | ---: | ---: | ---: | ---: | --- | --- | --- | --- |",
    ]
    for design, world in dict.fromkeys(key[:2] for key in found):
        quiet, five, three, creep = (found[design, world, course.name] for course in COURSES)
        lines.append(
            f"| {design} | {world} | ${np.mean([one.dollars for one in quiet]):.1f} "
            f"| ${max(one.dearest for one in quiet):.0f} "
            f"| {np.mean([one.false for one in quiet]):.2f} "
            f"| {np.mean([one.of_builds for one in quiet]):.2f} "
            f"| {_told(five, 0, 1, 4)} | {_told(five, 1, 4, of='lasting')} "
            f"| {_told(three, 0, 1, 4)} | {_told(creep, 4, 8)} |"
        )
    return "\n".join([*lines, ""])


def _told(years: Sequence[Year], *weeks: int, of: str = "told") -> str:
    found = [getattr(one, of) for one in years]
    shares = (np.mean([week is not None and week <= most for week in found]) for most in weeks)
    return " / ".join(f"{100 * share:.0f}" for share in shares)
