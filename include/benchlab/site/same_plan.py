"""Campaigns of one version beside earlier ones with the same setting.

``same_plan(site, outcome).rows[0]`` is
``("sysbench_one-20240102T030405", "10.11.5", "2024-01-02 03:04 UTC", "31,204.5")``: the newest one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchlab.analysis.verdict.rounds import Rounds
from benchlab.arrays import np
from benchlab.campaign.outcome import Outcome
from benchlab.campaign.outline import Outline, outline_of
from benchlab.language.names import title_of
from benchlab.language.numbers import Numbers
from benchlab.plan.report_type import SIDES
from benchlab.site.page import Site

# So many campaigns are shown at most.
_MOST = 20


class SamePlan(NamedTuple):
    """A table; without rows where no earlier campaign has the setting."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def same_plan(site: Site, outcome: Outcome) -> SamePlan:
    """The campaign and the earlier ones of one version with its setting, the newest first."""
    own = outline_of(outcome.campaign)
    known = site.comparisons.outlines(own.report)
    alike = [other for other in known if _alike(own, other)][-_MOST:]
    if all(other.id == own.id for other in alike):
        return SamePlan((), ())
    say, workloads = site.language.say, tuple(own.threads)
    figures = site.comparisons.figures(alike)
    header = (say("provenance-campaign"), say("column-version"), say("provenance-started"))
    rows = (
        (
            other.id,
            *other.labels.values(),
            f"{other.started_at:%Y-%m-%d %H:%M} UTC",
            *(_level(figures[other.id], name, Numbers(site.language)) for name in workloads),
        )
        for other in reversed(alike)
    )
    return SamePlan((*header, *map(title_of, workloads)), tuple(rows))


def _alike(own: Outline, other: Outline) -> bool:
    return (
        # Earlier ones only: a page of an ended campaign stays as it is.
        other.started_at <= own.started_at
        and not other.has_both_sides
        and other.threads == own.threads
        and other.setting == own.setting
        and other.measured == own.measured
        and other.parameters == own.parameters
    )


def _level(figures: Sequence[Rounds], workload: str, numbers: Numbers) -> str:
    """A workload's throughput over all thread counts and rounds; missing if one count has none."""
    for rounds in figures:
        if rounds.workload == workload:
            logs = np.log(rounds.values[rounds.metric][:, :, SIDES.index("baseline")])
            measured = np.isfinite(logs)
            if measured.any(axis=0).all():
                means = np.where(measured, logs, 0).sum(axis=0) / measured.sum(axis=0)
                return numbers.rate(float(np.exp(means.mean())), 1)
    return numbers.rate(None, 1)
