"""Which releases the results store knows to be compared already, by campaigns of one plan."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from benchlab.studies import measured
from benchlab.studies.bisection.release_changes import PairComparison
from benchlab.studies.comparisons import Comparisons


def find(
    home: Home,
    store: Store,
    releases: Sequence[str],
    pinned: Callable[[str, str], ReportSpec],
    engine: str,
    workload: str,
) -> list[PairComparison]:
    """The comparisons of a workload whose releases are both among these, in their order.

    A campaign whose baseline is the later release is turned. Of several of one pair only one.

    Args:
        releases: in order, two or more.
        pinned: the report type with a baseline and a candidate; what it refuses with a SpecError
            has no campaign of the same plan.
    """
    compared = Comparisons(home, store)
    place = {version: at for at, version in enumerate(releases)}
    report = pinned(releases[0], releases[-1]).report
    known: dict[tuple[str, str], PairComparison] = {}
    for baseline, candidate in _pairs(compared.campaigns(report)):
        if baseline == candidate or not {baseline, candidate} <= place.keys():
            continue
        try:
            spec = pinned(baseline, candidate)
        except SpecError:
            continue  # what is refused today has not been measured with today's plan
        found = measured.find(store, spec, engine, workload, on=measured.hardware(home, spec))
        if found is not None:
            pair = _compared(compared, found, baseline, candidate, workload)
            pair = pair.turned() if place[baseline] > place[candidate] else pair
            known.setdefault((pair.baseline, pair.candidate), pair)
    return sorted(known.values(), key=lambda e: (place[e.baseline], place[e.candidate]))


def _compared(
    compared: Comparisons, campaign: Campaign, baseline: str, candidate: str, name: str
) -> PairComparison:
    found = compared.compared(campaign)
    workload = found.workload(name)
    return PairComparison(
        baseline,
        candidate,
        workload.verdict,
        found.estimates.get(name),
        campaign.id,
        tuple(map(str, workload.reasons)),
        workload.scope,
    )


def _pairs(campaigns: Collection[Campaign]) -> list[tuple[str, str]]:
    """Which versions were compared, baseline first, each pair once."""
    pairs = [
        tuple(each.plan.sides[side].version for side in SIDES)
        for each in campaigns
        if set(SIDES) <= each.plan.sides.keys()
    ]
    return list(dict.fromkeys((first, second) for first, second in pairs))
