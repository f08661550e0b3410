"""The long view simulated: which changes are found, how late, and how many that are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import starmap

import numpy as np

from benchlab.analysis.trend import change_points
from benchlab.analysis.trend.chain import Chain, chain
from tools.study.bounds import PROCESSES, Share
from tools.study.weekly import NOISE, NOTHING, SCENES, SINGLE, WEEKS, Scene, Years, draw

# Not that of any series by which the rule's own numbers were chosen.
SEED = 20270105
SERIES = 50
LOOKED_AT = 20
LATE = 20
THRESHOLD_PCT = 2.0
# A place that is found is right within so many points, and in the right direction.
WITHIN = 2
# How many points after a change it is looked for, at most.
MOST_LATE = 12

OURS = "Benchlab"
WITHOUT_AA = "Benchlab without A/A campaigns"

Places = Mapping[int, float]
"""Index of the first point after the change, and the change."""


@dataclass(frozen=True)
class Score:
    """Of many series.

    Attributes:
        right: places that were found and are right.
        false: places that were found and are none.
        true: changes that there are.
        drifts: series in which a drift was found.
        suspects: changes that may be the candidate's or its unmeasured baseline's.
    """

    series: int = 0
    right: int = 0
    false: int = 0
    true: int = 0
    drifts: int = 0
    suspects: int = 0

    def __add__(self, other: Score) -> Score:
        return Score(*starmap(int.__add__, zip(_counts(self), _counts(other), strict=True)))

    @property
    def precision(self) -> Share | None:
        """Of what was found; None where nothing was, or nothing could be."""
        found = self.right + self.false
        return Share(self.right, found) if found and self.true else None

    @property
    def recall(self) -> Share | None:
        """Of what there is; None where there is nothing."""
        return Share(self.right, self.true) if self.true else None

    @property
    def false_alarms(self) -> float:
        """A series."""
        return self.false / self.series

    @property
    def suspected(self) -> float:
        """A series."""
        return self.suspects / self.series


def _counts(score: Score) -> tuple[int, ...]:
    return (
        *(score.series, score.right, score.false, score.true),
        *(score.drifts, score.suspects),
    )


@dataclass(frozen=True)
class LongViewFigures:
    """All figures.

    Attributes:
        scores: by scene, noise and rule.
        late: by scene and noise, how often a change was found first after so many points.
        looks: by noise, in how many series any look, after every second week, found something where
            nothing is.
    """

    scores: Mapping[tuple[str, float, str], Score]
    late: Mapping[tuple[str, float], Mapping[int, int]]
    looks: Mapping[float, Share]


def study() -> LongViewFigures:
    """Simulate; the same seed gives the same figures, however many processes there are."""
    scored = [(scene, noise) for noise in NOISE for scene in SCENES]
    single = [(scene, noise) for noise in NOISE for scene in SINGLE]
    with ProcessPoolExecutor(PROCESSES) as pool:
        run = partial(pool.map, chunksize=1)
        looks = run(_looks, NOISE)
        scores = run(_scores, *zip(*scored, strict=True))
        late = run(_late, *zip(*single, strict=True))
        return LongViewFigures(
            scores={
                (scene.name, noise, rule): score
                for (scene, noise), found in zip(scored, scores, strict=True)
                for rule, score in found.items()
            },
            late={
                (scene.name, noise): counts
                for (scene, noise), counts in zip(single, late, strict=True)
            },
            looks=dict(zip(NOISE, looks, strict=True)),
        )


def _ours(made: Chain, noise_sd: float | None) -> Places:
    """What :func:`benchlab.analysis.trend.change_points.find` finds."""
    found = change_points.find(made, THRESHOLD_PCT, noise_sd)
    return {place.index: place.change for place in found}


def _scored(found: Places, true: Places) -> Score:
    """How many of the places found are right; each change counts once."""
    right = {
        point
        for point, change in true.items()
        if any(abs(place - point) <= WITHIN and size * change > 0 for place, size in found.items())
    }
    return Score(1, len(right), len(found) - len(right), len(true))


def _scores(scene: Scene, noise: float) -> dict[str, Score]:
    totals: dict[str, Score] = {}
    for number in range(SERIES):
        years = draw(scene, noise, _rng_of(scene, noise, number))
        for rule, score in _by_rule(years).items():
            totals[rule] = totals.get(rule, Score()) + score
    return totals


def _by_rule(years: Years) -> dict[str, Score]:
    made = chain(years.ratios)
    scores: dict[str, Score] = {}
    for rule, known in ((OURS, years.noise_sd), (WITHOUT_AA, None)):
        places = change_points.find(made, THRESHOLD_PCT, known)
        has_drift = change_points.find_drift(made, places, THRESHOLD_PCT, known) is not None
        score = _scored({place.index: place.change for place in places}, years.changes)
        suspected = change_points.find_suspects(made, places, THRESHOLD_PCT, known)
        scores[rule] = score + Score(drifts=int(has_drift), suspects=len(suspected))
    return scores


def _late(scene: Scene, noise: float) -> Counter[int]:
    """How often a change is first found when it has so many points; 0: not by the last of them."""
    counts: Counter[int] = Counter()
    for number in range(LATE):
        years = draw(scene, noise, _rng_of(scene, noise, number))
        ((place, _),) = years.changes.items()
        counts[_first_found(years, place)] += 1
    return counts


def _first_found(years: Years, place: int) -> int:
    for points in range(1, MOST_LATE + 1):
        seen = years.ratios[: place + points]
        if _scored(_ours(chain(seen), years.noise_sd), years.changes).right:
            return points
    return 0


def _looks(noise: float) -> Share:
    """Somebody who looks every second week has many chances to see what is not there."""
    hits = 0
    for number in range(LOOKED_AT):
        years = draw(NOTHING, noise, _rng_of(NOTHING, noise, number))
        hits += any(
            _ours(chain(years.ratios[:weeks]), years.noise_sd)
            for weeks in range(change_points.MIN_POINTS, WEEKS + 1, 2)
        )
    return Share(hits, LOOKED_AT)


def _rng_of(scene: Scene, noise: float, number: int) -> np.random.Generator:
    """The random numbers of one series."""
    return np.random.default_rng([SEED, SCENES.index(scene), round(1e4 * noise), number])


def page(figures: LongViewFigures) -> str:
    """All tables in Markdown, each with what its figures are."""
    looks = " and ".join(f"{figures.looks[n].hits} (noise {100 * n:g} %)" for n in NOISE)
    return f"""\
Figures are percent, with the 95 % interval of the simulation itself in brackets where they are
shares; {SERIES} series each. A dash: there is nothing that could be found, or nothing was.
False: places that are no change, in the mean of a series. Drift: the share of series in which a
slow drift is reported. Suspected: changes that may be the candidate's or its unmeasured baseline's,
in the mean of a series.

{_score_table(figures)}
One loss, looked for after each campaign: in how many of {LATE} series it was first found when it
had so many points. Never: not by the {MOST_LATE}th.

{_late_table(figures)}
Looked for after every second week where nothing changes, a change point is seen at some time in
{looks} series of {LOOKED_AT} of two years.
"""


def _score_table(figures: LongViewFigures) -> str:
    heading = ["noise", "series", "rule", "precision", "recall", "false", "drift", "suspected"]
    lines = [heading, [*["---"] * 3, *["---:"] * 5]]
    for noise in NOISE:
        for scene in SCENES:
            for rule in (OURS, WITHOUT_AA):
                score = figures.scores[scene.name, noise, rule]
                shares = map(str, (score.precision or "–", score.recall or "–"))
                drifts = str(Share(score.drifts, score.series))
                counts = f"{score.false_alarms:.2f}", drifts, f"{score.suspected:.2f}"
                lines.append([f"{100 * noise:g} %", scene.name, rule, *shares, *counts])
    return _table(lines)


def _late_table(figures: LongViewFigures) -> str:
    columns = (1, 2, 3, 4)
    headings = ["noise", "change", *map(str, columns), f"5 to {MOST_LATE}", "never"]
    lines = [headings, ["---", "---", *["---:"] * (len(headings) - 2)]]
    for noise in NOISE:
        for scene in SINGLE:
            counts = figures.late[scene.name, noise]
            later = sum(counts.get(late, 0) for late in range(5, MOST_LATE + 1))
            found = [*(counts.get(late, 0) for late in columns), later, counts.get(0, 0)]
            lines.append([f"{100 * noise:g} %", scene.name, *map(str, found)])
    return _table(lines)


def _table(lines: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
