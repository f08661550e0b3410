"""The long view: the campaigns of a report type chained, workload by workload.

A/A campaigns are in no chain; they tell the noise. Which campaigns are chained says
:mod:`benchlab.studies.long_view.selection`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchlab.analysis.trend import change_points
from benchlab.analysis.trend import drift as drift_module
from benchlab.analysis.trend.chain import Chain, Point, Ratio, chain
from benchlab.analysis.trend.change_points import ChangePoint
from benchlab.analysis.trend.drift import Drift
from benchlab.analysis.trend.lines import NEWEST
from benchlab.home import Home
from benchlab.plan.report_type import SIDES
from benchlab.report.publish.destinations import PublicationRecord
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from benchlab.studies.comparisons import Comparisons
from benchlab.studies.long_view.selection import (
    Chained,
    LeftOut,
    NoiseOfCampaigns,
    Placed,
    select_chain,
)

# Of a normal distribution: 95 % lie within so many standard errors.
_WITHIN_95 = 1.959964


@dataclass(frozen=True)
class Link:
    """One campaign in a chain.

    Attributes:
        ci95_pct: of its change, as its report has it.
        level_ci95: of the level, as logarithms; None where a standard error is not known, or the
            level contains a step that was not measured.
        bridged: whether it does: by the campaign's own baseline, or by one that it is chained to.
    """

    point: Point
    ci95_pct: tuple[float, float] | None
    level_ci95: tuple[float, float] | None
    bridged: bool


@dataclass(frozen=True)
class FoundChange:
    """A change point, with what leads on from it.

    Attributes:
        addresses: where the reports of the campaigns before and after it are, by campaign; a report
            that was not published from this machine has none.
    """

    place: ChangePoint
    addresses: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class ChainView:
    """The chain of one workload in one setting and one line of versions.

    Attributes:
        line: its name: `newest`, or a series (:mod:`benchlab.analysis.trend.lines`).
        differs: in what its setting is not that of the next newer chain, as (here, there) by
            name; empty in the newest setting.
        threshold_pct: of its newest campaign.
        metric: of the throughput.
    """

    line: str
    chain: Chain
    links: tuple[Link, ...]
    changes: tuple[FoundChange, ...]
    drift: Drift | None
    noise: NoiseOfCampaigns
    differs: Mapping[str, tuple[Any, Any]]
    threshold_pct: float
    metric: str

    @property
    def outliers(self) -> tuple[str, ...]:
        """The campaigns that did not count when its change points were looked for."""
        return tuple(dict.fromkeys(each for found in self.changes for each in found.place.outliers))

    @property
    def lacks_points(self) -> int:
        """How many more campaigns change points need; 0: they are looked for."""
        return max(0, change_points.MIN_POINTS - len(self.links))


@dataclass(frozen=True)
class LongView:
    """One workload of a report type over the versions.

    Attributes:
        chains: the newest setting first; of one setting one for each line of versions, `newest`
            first.
        left_out: campaigns that have the workload and are in no chain, by time.
    """

    report: str
    workload: str
    chains: tuple[ChainView, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def has_lines(self) -> bool:
        """Whether there is another line of versions than `newest`."""
        return any(each.line != NEWEST for each in self.chains)


def long_view(
    home: Home,
    store: Store,
    report: str,
    workload: str,
    comparisons: Comparisons | None = None,
) -> LongView:
    """The long view of one workload; without chains where no campaign has it.

    Args:
        comparisons: of the same store, where the caller has made some already.
    """
    made = comparisons or Comparisons(home, store)
    campaigns = _of_two_sides(made, report)
    compared = {each.id: made.compared(each) for each in campaigns if each.state == "complete"}
    selected = select_chain(workload, campaigns, compared, made.release_days(report))
    chains = tuple(_chain_view(home, chained, workload) for chained in selected.chains)
    return LongView(report, workload, chains, selected.left_out)


def of_report(
    home: Home, store: Store, report: str, comparisons: Comparisons | None = None
) -> dict[str, LongView]:
    """The long view of every workload of a report type; empty where there is no campaign.

    Args:
        comparisons: of the same store, where the caller has made some already.
    """
    made = comparisons or Comparisons(home, store)
    campaigns = _of_two_sides(made, report)
    workloads = dict.fromkeys(t.workload for each in campaigns for t in each.plan.trials)
    return {workload: long_view(home, store, report, workload, made) for workload in workloads}


def _of_two_sides(comparisons: Comparisons, report: str) -> list[Campaign]:
    return [each for each in comparisons.campaigns(report) if set(each.plan.sides) == set(SIDES)]


def _chain_view(home: Home, chained: Chained, workload: str) -> ChainView:
    newest, noise = chained.members[0].compared, chained.noise
    made = chain([_ratio(each, workload) for each in chained.members])
    threshold = newest.campaign.report_type.threshold_pct
    places = change_points.find(made, threshold, noise.sd)
    by_id = {each.compared.campaign.id: each.compared for each in chained.members}
    return ChainView(
        line=chained.line,
        chain=made,
        links=tuple(
            Link(
                point,
                by_id[point.ratio.campaign].workload(workload).ci95_pct,
                None if bridged else interval,
                bridged,
            )
            for point, interval, bridged in zip(
                made.points, _level_intervals(made, noise.sd), _bridged(made), strict=True
            )
        ),
        changes=tuple(_found_change(home, place) for place in places),
        drift=drift_module.find(made, places, threshold, noise.sd),
        noise=noise,
        differs=chained.differs,
        threshold_pct=threshold,
        metric=newest.workload(workload).metric,
    )


def _found_change(home: Home, place: ChangePoint) -> FoundChange:
    records = {
        campaign: PublicationRecord(home.campaign(campaign) / "published")
        for campaign in (place.before, place.campaign)
    }
    addresses = {campaign: tuple(r.addresses().values()) for campaign, r in records.items()}
    return FoundChange(place, addresses)


def _ratio(placed: Placed, workload: str) -> Ratio:
    found = placed.compared
    estimate_pct = found.workload(workload).estimate_pct
    assert estimate_pct is not None  # noqa: S101 - those without are left out
    baseline, candidate = placed.versions
    return Ratio(
        campaign=found.campaign.id,
        at=placed.at,
        baseline=baseline,
        candidate=candidate,
        log_ratio=math.log1p(estimate_pct / 100),
        standard_error=found.standard_error(workload),
    )


def _bridged(made: Chain) -> list[bool]:
    """Whether each level contains a step that was not measured."""
    bridged: list[bool] = []
    for point, before in zip(made.points, made.links, strict=True):
        bridged.append(point.bridged_from is not None or any(bridged[index] for index in before))
    return bridged


def _level_intervals(made: Chain, noise_sd: float | None) -> list[tuple[float, float] | None]:
    """Of every level, from the errors of all ratios that it is made of."""
    import numpy as np

    errors = [point.ratio.standard_error for point in made.points]
    known = [max(error or 0.0, noise_sd or 0.0) if error or noise_sd else None for error in errors]
    # What is not known makes every level unknown that has it, as NaN.
    squares = np.array([math.nan if error is None else error**2 for error in known])
    weights = made.weights()
    variances = np.where(weights == 0, 0.0, weights**2 * squares).sum(axis=1)
    halves = (_WITHIN_95 * np.sqrt(variances)).tolist()
    return [
        None if math.isnan(half) else (point.level - half, point.level + half)
        for point, half in zip(made.points, halves, strict=True)
    ]
