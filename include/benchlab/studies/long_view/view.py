"""The long view: the campaigns of a report type, chained for each workload.

A/A campaigns are in no chain; they show the noise. :mod:`benchlab.studies.long_view.selection`
selects the campaigns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from benchlab.analysis.trend.chain import NEWEST, Chain, Point, chain
from benchlab.analysis.trend.change_points import (
    MIN_POINTS,
    ChangePoint,
    Drift,
    Suspect,
    find,
    find_drift,
    find_suspects,
)
from benchlab.analysis.verdict.decision import is_better
from benchlab.analysis.verdict.variances import percent, percents
from benchlab.arrays import Array, np, special
from benchlab.campaign.outline import Outline
from benchlab.language import Language, Message
from benchlab.language.names import plain, title_of
from benchlab.plan.metric import Metric
from benchlab.report.publish.destinations import PublicationRecord
from benchlab.results.kept import Kept, key_of
from benchlab.studies.comparisons import ComparedCampaign, Comparisons
from benchlab.studies.long_view.selection import (
    Chained,
    Differences,
    NoiseOfCampaigns,
    select_chains,
)

# Smaller weights are floating-point errors.
_NOTHING = 1e-9
_PART = "trend"
# Raised whenever the search, or the form of its stored result, changes.
_FORM = 1
T = TypeVar("T")


@dataclass(frozen=True)
class Link:
    """One campaign in a chain.

    Attributes:
        level_ci95: of the level, as logarithms; None if a standard error is unknown, or the level
            contains a step that was not measured.
        bridged: whether the level contains such a step: at the campaign's own baseline, or in a
            level that it is chained to.
    """

    point: Point
    ci95_pct: tuple[float, float] | None
    level_ci95: tuple[float, float] | None
    bridged: bool


@dataclass(frozen=True)
class ChainView:
    """The chain of one workload in one setting and one line of versions.

    Attributes:
        line: its name: ``newest``, or a series (:mod:`benchlab.analysis.trend.chain`).
        suspects: changes that may be the candidate's or its unmeasured baseline's.
        addresses: by campaign, the addresses of the reports before and after each change; empty for
            a report that was not published from this machine.
        differs: how its setting differs from the next newer one; empty for the newest.
        minutes, dollars: the estimate in its newest campaign's plan, also for another campaign like
            it. None: not priced.
        count: what is followed; None: the throughput.
    """

    line: str
    links: tuple[Link, ...]
    changes: tuple[ChangePoint, ...]
    suspects: tuple[Suspect, ...]
    addresses: Mapping[str, tuple[str, ...]]
    drift: Drift | None
    noise: NoiseOfCampaigns
    differs: Differences
    threshold_pct: float
    metric: str
    minutes: float
    dollars: float | None
    count: Metric | None = None

    def is_better(self, change: float) -> bool:
        """Whether a change of this sign is for the better: more throughput, or less of a count."""
        return is_better(self.count, change) if self.count else change > 0

    @property
    def first_baseline(self) -> str:
        """The version whose level is 0."""
        return self.links[0].point.ratio.baseline

    @property
    def outliers(self) -> tuple[str, ...]:
        """The campaigns that did not count in the search for change points."""
        return tuple(dict.fromkeys(name for found in self.changes for name in found.outliers))

    @property
    def lacks_points(self) -> int:
        """How many more campaigns the search for change points needs; 0: it has enough."""
        return max(0, MIN_POINTS - len(self.links))


@dataclass(frozen=True)
class LongView:
    """The performance of one workload of a report type over the versions.

    Attributes:
        chains: the newest setting first; in each setting one per line of versions, ``newest``
            first.
        left_out: by id, in order of time, why campaigns with the workload are neither in a chain
            nor show the noise.
        count: what is followed; None: the throughput.
        counts: the same of each count that any campaign decided on, if this is the throughput.
    """

    report: str
    workload: str
    chains: tuple[ChainView, ...]
    left_out: Mapping[str, Message]
    count: Metric | None = None
    counts: tuple[LongView, ...] = ()

    def title(self, language: Language) -> str:
        """The workload and, of a count, its name: ``Insert: redo log``."""
        of = [f": {language.text(self.count.said)}"] if self.count else []
        return "".join([title_of(self.workload), *of])

    @property
    def has_lines(self) -> bool:
        """Whether there is a line of versions other than ``newest``."""
        return any(view.line != NEWEST for view in self.chains)


def long_view(comparisons: Comparisons, report: str, workload: str) -> LongView:
    """The long view of one workload and its counts; without chains if no campaign measured it.

    Example:
        ``long_view(Comparisons(home, store), "sysbench_ec2", "oltp_insert").chains``
    """
    campaigns = _of_two_sides(comparisons, report)
    compared = comparisons.all_compared([one for one in campaigns if one.state == "complete"])
    counts = {
        name: metric
        for one in compared.values()
        for name, (metric, _) in one.counts.items()
        if workload in one.verdicts and name in one.verdicts[workload].beside
    }
    days = comparisons.release_days(report)

    def view(
        found: Mapping[str, ComparedCampaign],
        count: Metric | None = None,
        beside: tuple[LongView, ...] = (),
    ) -> LongView:
        chains, left_out = select_chains(
            workload,
            campaigns,
            found,
            days,
            lambda name: comparisons.store.campaign(name).report_type,
        )
        views = (_chain_view(comparisons, chained, found, workload, count) for chained in chains)
        return LongView(report, workload, tuple(views), left_out, count, beside)

    of_counts = (
        view({name: one.of_count(count.name) for name, one in compared.items()}, count)
        for count in counts.values()
    )
    return view(compared, beside=tuple(of_counts))


def long_views(comparisons: Comparisons, report: str) -> dict[str, LongView]:
    """The long view of every workload of a report type; empty without campaigns."""
    campaigns = _of_two_sides(comparisons, report)
    workloads = dict.fromkeys(name for one in campaigns for name in one.threads)
    return {workload: long_view(comparisons, report, workload) for workload in workloads}


@dataclass(frozen=True)
class Between:
    """One version against another, by the campaigns that chain them.

    Attributes:
        change_pct: the change of the throughput from the first version to the second.
        ci95_pct: its interval; None if a step between them was not measured, or a standard error is
            unknown.
        unmeasured: the versions whose step was not measured and counts as no change.
        campaigns: how many campaigns the change rests on.
    """

    first: str
    second: str
    change_pct: float
    ci95_pct: tuple[float, float] | None
    unmeasured: tuple[str, ...]
    campaigns: int


def between(view: ChainView, first: str, second: str) -> Between | None:
    """Compare any two versions of a chain; None if the chain does not connect them.

    Example:
        ``between(long_view(made, "sysbench_ec2", "tpcc").chains[0], "v7.5.0", "v8.5.1")``
    """
    made = Chain(tuple(link.point for link in view.links))
    way = made.way(first, second)
    if way is None:
        return None
    ratios = [point.ratio.log_ratio for point in made.points]
    change = math.fsum(w * ratio for w, ratio in zip(way.weights.tolist(), ratios, strict=True))
    half = float(_half_widths(made, view.noise.sd, way.weights))
    unknown = way.unmeasured or math.isnan(half)
    return Between(
        first=first,
        second=second,
        change_pct=percent(change),
        ci95_pct=None if unknown else percents((change - half, change + half)),
        unmeasured=way.unmeasured,
        campaigns=int((abs(way.weights) > _NOTHING).sum()),
    )


def _of_two_sides(comparisons: Comparisons, report: str) -> list[Outline]:
    return [campaign for campaign in comparisons.outlines(report) if campaign.has_both_sides]


def _chain_view(
    comparisons: Comparisons,
    chained: Chained,
    compared: Mapping[str, ComparedCampaign],
    workload: str,
    count: Metric | None,
) -> ChainView:
    made, noise = chain(chained.ratios), chained.noise
    newest = compared[chained.ratios[-1].campaign]
    threshold = (count and count.threshold_pct) or newest.campaign.threshold_pct
    followed = f"{workload}/{count.name}" if count else workload
    found = _kept_or_found(comparisons.store.kept, made, followed, threshold, noise.sd)
    beside = [campaign for change in found.changes for campaign in (change.before, change.campaign)]
    home = comparisons.home
    records = {name: PublicationRecord(home.campaign(name) / "published") for name in beside}
    intervals = {
        ratio.campaign: compared[ratio.campaign].workload(workload).ci95_pct
        for ratio in chained.ratios
    }
    return ChainView(
        line=chained.line,
        links=_links(made, intervals, noise.sd),
        changes=found.changes,
        suspects=found.suspects,
        addresses={name: tuple(record.addresses().values()) for name, record in records.items()},
        drift=found.drift,
        noise=noise,
        differs=chained.differs,
        threshold_pct=threshold,
        metric=newest.workload(workload).metric,
        minutes=newest.campaign.minutes,
        dollars=newest.campaign.dollars,
        count=count,
    )


@dataclass(frozen=True)
class _Trend:
    """The changes found in a chain."""

    changes: tuple[ChangePoint, ...]
    suspects: tuple[Suspect, ...]
    drift: Drift | None


def _kept_or_found(
    kept: Kept, made: Chain, followed: str, threshold_pct: float, noise_sd: float | None
) -> _Trend:
    """The changes found in a chain, kept until the chain changes.

    The search takes seconds in a chain of a thousand campaigns, and each new campaign changes one
    chain of each workload.
    """
    ratios = [point.ratio for point in made.points]
    name = key_of(followed, ratios[0].campaign)
    key = key_of(_FORM, threshold_pct, noise_sd, *ratios)
    if (raw := kept.read(_PART, {name: key}).get(name)) is not None:
        return _Trend(
            tuple(_read(ChangePoint, one) for one in raw["changes"]),
            tuple(_read(Suspect, one) for one in raw["suspects"]),
            raw["drift"] and _read(Drift, raw["drift"]),
        )
    changes = find(made, threshold_pct, noise_sd)
    found = _Trend(
        changes,
        find_suspects(made, changes, threshold_pct, noise_sd),
        find_drift(made, changes, threshold_pct, noise_sd),
    )
    kept.write(_PART, {name: (key, asdict(found))})
    return found


def _read(kind: type[T], raw: Mapping[str, Any]) -> T:
    fields = {name: tuple(one) if isinstance(one, list) else one for name, one in raw.items()}
    return kind(**fields)


def _links(
    made: Chain, intervals: Mapping[str, tuple[float, float] | None], noise_sd: float | None
) -> tuple[Link, ...]:
    """Every campaign's link, with the interval of its level from the errors of all its ratios."""
    halves = _half_widths(made, noise_sd, made.weights())
    links: list[Link] = []
    for point, half in zip(made.points, halves.tolist(), strict=True):
        bridged = point.bridged_from is not None or any(links[at].bridged for at in point.before)
        interval = point.level - half, point.level + half
        is_known = not (bridged or math.isnan(half))
        campaign = point.ratio.campaign
        links.append(Link(point, intervals[campaign], interval if is_known else None, bridged))
    return tuple(links)


def _half_widths(made: Chain, noise_sd: float | None, weights: Array) -> Array:
    """Half the widths of 95 % intervals of weighted sums of ratios, one per row of weights.

    Each ratio has Student's t interval; their half-widths add in quadrature, like standard errors,
    so that no sum has a narrower interval than a ratio in it. NaN: an error is unknown.
    """
    ratios = [point.ratio for point in made.points]
    errors = np.array([max(one.standard_error or 0.0, noise_sd or 0.0) for one in ratios])
    halves = special.stdtrit([one.df for one in ratios], 0.975) * np.where(errors, errors, np.nan)
    sums = np.where(weights == 0, 0.0, (weights * halves) ** 2).sum(axis=-1)
    return np.asarray(np.sqrt(sums))


def linking(report: str, found: Suspect) -> str:
    """The command that runs the linking campaign, which tells a suspect's two versions apart.

    Example:
        ``benchlab run sysbench_ec2 --set baseline=v7.5.0 --set candidate=v8.1.0``
    """
    versions = {"baseline": found.linking, "candidate": found.candidate}
    words = [f"--set {side}={plain(version)}" for side, version in versions.items()]
    return " ".join(["benchlab run", report, *words])
