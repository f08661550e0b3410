"""Two years of weekly campaigns of one workload in which the truth is known.

All changes and noise are logarithms, where 0.01 is about 1 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from benchlab.analysis.trend.chain import Ratio

WEEKS = 104
RELEASES = 25
AA_CAMPAIGNS = WEEKS // 4
NOISE = (0.007, 0.015)
_ROUNDS_DF = 5
_START = datetime(2024, 1, 1, tzinfo=UTC)
# A change has so many points before and after it, and so many between it and the next one.
_FROM_ENDS, _APART = 5, 8


@dataclass(frozen=True)
class Scene:
    """What happens in two years.

    Attributes:
        changes: how many; one alone is a loss, several go up or down.
        size_pct: of each of them.
        drift_pct: of every release.
        outlier: one campaign is off by 8 %.
        small_sd: what each release changes by, and each patch of a baseline that is not measured.
        patch_sd: what such a patch changes by in addition.
        patch_pct: by so much it goes up or down.
        patch_with_change: the baseline becomes such a patch in the week of each change.
        by_release: one campaign for each release, against the release before, instead of weekly.
    """

    name: str
    changes: int = 0
    size_pct: float = 0.0
    drift_pct: float = 0.0
    outlier: bool = False
    small_sd: float = 0.0
    patch_sd: float = 0.0
    patch_pct: float = 0.0
    patch_with_change: bool = False
    by_release: bool = False


NOTHING = Scene("nothing")
SINGLE = tuple(Scene(f"one loss of {size} %", 1, size) for size in (3, 5, 10))
SCENES = (
    NOTHING,
    Scene("one outlier of 8 %", outlier=True),
    Scene("small changes, sd 0.3 %", small_sd=0.003),
    *SINGLE,
    Scene("three changes of 5 %", 3, 5),
    Scene("drift of -0.5 % a release", drift_pct=-0.5),
    Scene("drift, and a loss of 5 %", 1, 5, drift_pct=-0.5),
    Scene("by release: nothing", by_release=True),
    Scene("by release: one loss of 5 %", 1, 5, by_release=True),
    Scene("by release: drift of -0.5 %", drift_pct=-0.5, by_release=True),
    Scene("unmeasured patches, sd 1 %", patch_sd=0.01),
    Scene("unmeasured patches, sd 2 %", patch_sd=0.02),
    Scene("unmeasured patches of ±3 %", patch_pct=3),
    Scene("unmeasured patches of ±5 %", patch_pct=5),
    Scene("three changes of 5 %, patches of ±3 %", 3, 5, patch_pct=3),
    Scene("three changes of 5 %, patches of ±5 %", 3, 5, patch_pct=5),
    Scene("one loss of 5 %, a new patch with it", 1, 5, patch_pct=3, patch_with_change=True),
)


@dataclass(frozen=True)
class Years:
    """What was measured, and the truth.

    Attributes:
        changes: the points at which the level changes, each with its change.
        noise_sd: what A/A campaigns, one every fourth week, say of the noise.
    """

    ratios: tuple[Ratio, ...]
    changes: dict[int, float]
    noise_sd: float


def draw(scene: Scene, noise_sd: float, rng: np.random.Generator) -> Years:
    """Two years, or :data:`RELEASES` releases.

    The noise of a campaign is half its rounds', which its standard error tells by five degrees of
    freedom, and half its deployments', which only A/A campaigns tell.
    """
    pairs = _by_release() if scene.by_release else _weekly(rng)
    candidates = list(dict.fromkeys(candidate for _, candidate in pairs))
    by_week = [candidate for _, candidate in pairs]
    first = [by_week.index(candidate) for candidate in candidates]
    steps = _changes(scene, first, len(pairs), rng)
    if scene.patch_with_change:
        for place in steps:
            pairs = _patched(pairs, place)
    own = np.array([steps.get(point, 0.0) for point in first])
    small = rng.normal(0, scene.small_sd, len(candidates))
    drift = np.log1p(scene.drift_pct / 100) * np.arange(len(candidates))
    levels = dict(zip(candidates, np.cumsum(own + small) + drift, strict=True))
    true = np.array([levels[c] - _baseline(b, levels, scene, rng) for b, c in pairs])
    measured = true + rng.normal(0, noise_sd, len(pairs))
    if scene.outlier:
        measured[rng.integers(_FROM_ENDS, len(pairs) - _FROM_ENDS)] += rng.choice([-1, 1]) * 0.08
    of_rounds = rng.chisquare(_ROUNDS_DF, len(pairs)) / _ROUNDS_DF
    errors = noise_sd * np.sqrt(of_rounds / 2)
    return Years(
        ratios=tuple(
            Ratio(f"week-{n:03d}", _START + timedelta(weeks=n), *pairs[n], ratio, error)
            for n, (ratio, error) in enumerate(zip(measured.tolist(), errors.tolist(), strict=True))
        ),
        changes=steps,
        noise_sd=float(np.sqrt(np.mean(rng.normal(0, noise_sd, AA_CAMPAIGNS) ** 2))),
    )


def _weekly(rng: np.random.Generator) -> list[tuple[str, str]]:
    """Baseline and candidate of each week: the newest patch of the previous series, the newest.

    A new version comes every one to eight weeks, one in three begins a series; the previous
    series gets a patch every ten weeks.
    """
    series, patches, pairs = 1, {0: 0, 1: 0}, []
    following = rng.integers(1, 9)
    for week in range(WEEKS):
        if week == following:
            following += rng.integers(1, 9)
            series += int(rng.random() < 1 / 3)
            patches[series] = patches.get(series, -1) + 1
        patches[series - 1] += int(rng.random() < 1 / 10)
        before = series - 1
        pairs.append((f"v7.{before}.{patches[before]}", f"v7.{series}.{patches[series]}"))
    return pairs


def _patched(pairs: Sequence[tuple[str, str]], place: int) -> list[tuple[str, str]]:
    """From there on the baselines of that series are one patch further."""
    series = pairs[place][0].rpartition(".")[0]
    found = list(pairs)
    for week in range(place, len(pairs)):
        baseline, candidate = pairs[week]
        head, _, patch = baseline.rpartition(".")
        if head == series:
            found[week] = f"{head}.{int(patch) + 1}", candidate
    return found


def _by_release() -> list[tuple[str, str]]:
    return [(f"v7.{n}.0", f"v7.{n + 1}.0") for n in range(RELEASES)]


def _changes(
    scene: Scene, first: Sequence[int], points: int, rng: np.random.Generator
) -> dict[int, float]:
    """At the first points of some candidates."""
    chosen: list[int] = []
    possible = [point for point in first if _FROM_ENDS <= point <= points - _FROM_ENDS]
    for point in rng.permutation(possible).tolist():
        if len(chosen) < scene.changes and all(abs(point - c) >= _APART for c in chosen):
            chosen.append(point)
    signs = rng.choice([-1, 1], len(chosen)) if scene.changes > 1 else [-1] * len(chosen)
    return {
        point: float(np.log1p(sign * scene.size_pct / 100))
        for point, sign in zip(sorted(chosen), signs, strict=True)
    }


def _baseline(
    version: str, levels: dict[str, float], scene: Scene, rng: np.random.Generator
) -> float:
    """A patch that never was a candidate changes from the one before as the scene says."""
    if version not in levels:
        head, _, patch = version.rpartition(".")
        before = f"{head}.{int(patch) - 1}"
        known = _baseline(before, levels, scene, rng) if int(patch) else 0.0
        levels[version] = known + float(rng.normal(0, scene.small_sd))
        if int(patch) and (scene.patch_sd or scene.patch_pct):
            either = rng.choice([-1, 1]) * scene.patch_pct / 100
            levels[version] += float(np.log1p(either) + rng.normal(0, scene.patch_sd))
    return levels[version]
