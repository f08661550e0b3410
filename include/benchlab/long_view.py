"""The long view: the campaigns of a report type chained, workload by workload.

A/A campaigns are in no chain; they tell the noise. Which campaigns are chained says
:mod:`benchlab.chain_selection`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchlab import change_points, drift, history, publishing
from benchlab.acknowledgements import Acknowledgement, Acknowledgements, covering, direction_of
from benchlab.chain import Chain, Point, Ratio, chain
from benchlab.chain_lines import NEWEST
from benchlab.chain_selection import Chained, LeftOut, Noise, Placed, select
from benchlab.change_points import ChangePoint
from benchlab.comparisons import Comparisons
from benchlab.drift import Drift
from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.results import Campaign
from benchlab.spec import SIDES
from benchlab.store import Store

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
        acknowledged: None: nobody has looked into it.
        addresses: where the reports are of the campaigns before and after it, by campaign; those
            that were published nowhere, or by another machine, have none.
    """

    place: ChangePoint
    acknowledged: Acknowledgement | None
    addresses: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class ChainView:
    """The chain of one workload in one setting and one line of versions.

    Attributes:
        line: its name: `newest`, or a series (:mod:`benchlab.chain_lines`).
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
    noise: Noise
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


def of(
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
    compared = {each.id: made.of(each) for each in campaigns if each.state == "complete"}
    selected = select(workload, campaigns, compared, made.release_days(report))
    known = Acknowledgements(store).of(workload)
    chains = (_chain_view(home, each, workload, known) for each in selected.chains)
    return LongView(report, workload, tuple(chains), selected.left_out)


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
    return {workload: of(home, store, report, workload, made) for workload in workloads}


def _of_two_sides(comparisons: Comparisons, report: str) -> list[Campaign]:
    return [each for each in comparisons.campaigns(report) if set(each.plan.sides) == set(SIDES)]


def acknowledge(
    home: Home, store: Store, workload: str, campaign: str, note: str
) -> Acknowledgement:
    """Keep that somebody has looked into the change point at a campaign.

    An acknowledgement that covered it before is gone then.

    Args:
        workload: its name, or sysbench's without its ``oltp_``.
        campaign: the first one after the change.

    Raises:
        SpecError: there is no change point, or the note is empty; names the change points there
            are.
        StoreError: there is no such campaign.
    """
    if not note.strip():
        raise SpecError("--note: is empty; say what was found, for whoever reads it later")
    record = store.campaign(campaign)
    name = _workload_of(record, workload)
    view = of(home, store, record.plan.report, name)
    changes = [each for made in view.chains for each in made.changes]
    for found in changes:
        if found.place.campaign == campaign:
            return _put_in_place(Acknowledgements(store), found, name, note)
    there = ", ".join(found.place.campaign for found in changes) or "there is none"
    raise SpecError(
        f"{campaign}: no change point of {name} is there; those of {view.report}: {there}"
    )


def _put_in_place(
    known: Acknowledgements, found: FoundChange, workload: str, note: str
) -> Acknowledgement:
    campaign, before = found.place.campaign, found.acknowledged
    made = known.add(campaign, workload, direction_of(found.place), note)
    if before is not None and before.campaign != campaign:  # the place has moved since
        known.take_back(before.campaign, workload)
    return made


def take_back(store: Store, workload: str, campaign: str) -> None:
    """Forget an acknowledgement.

    Raises:
        SpecError: there is none; names those that there are.
        StoreError: there is no such campaign.
    """
    name, known = _workload_of(store.campaign(campaign), workload), Acknowledgements(store)
    if not known.take_back(campaign, name):
        there = ", ".join(each.campaign for each in known.of(name)) or "none"
        raise SpecError(f"{campaign}: {name} has no acknowledgement there; there are: {there}")


def _workload_of(campaign: Campaign, named: str) -> str:
    there = list(dict.fromkeys(trial.workload for trial in campaign.plan.trials))
    name = history.full_name(named, there)
    if name is None:
        raise SpecError(
            f"{campaign.id}: has no workload {named!r}; it has: {', '.join(sorted(there))}"
        )
    return name


def _chain_view(
    home: Home, chained: Chained, workload: str, acknowledged: Sequence[Acknowledgement]
) -> ChainView:
    newest, noise = chained.members[0].compared, chained.noise
    made = chain([_ratio(each, workload) for each in chained.members])
    threshold = float(newest.campaign.spec["threshold_pct"])
    places = change_points.find(made, threshold, noise.sd)
    known = covering(acknowledged, made, places)
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
        changes=tuple(
            _change(home, place, covered) for place, covered in zip(places, known, strict=True)
        ),
        drift=drift.find(made, places, threshold, noise.sd),
        noise=noise,
        differs=chained.differs,
        threshold_pct=threshold,
        metric=newest.workload(workload).metric,
    )


def _change(home: Home, place: ChangePoint, acknowledged: Acknowledgement | None) -> FoundChange:
    return FoundChange(
        place,
        acknowledged,
        {
            campaign: tuple(
                publishing.Record(home.campaign(campaign) / "published").addresses().values()
            )
            for campaign in (place.before, place.campaign)
        },
    )


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
