"""Which rounds and trial length find a wanted slowdown, with what they cost."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchlab import catalog
from benchlab.aa_selection import Selection
from benchlab.errors import SpecError, StoreError
from benchlab.home import Home
from benchlab.proposals import (
    ROUNDS,
    Cell,
    RoundVariance,
    Search,
    Setting,
    explained,
    long_run_variance,
)
from benchlab.resampling import Noise
from benchlab.results import Campaign, TrialResult
from benchlab.selection import select
from benchlab.spec import ReportSpec
from benchlab.store import Store

MOST_PROPOSALS = 5
# Of a cell's trials on one side; more say little more about the noise within them.
_MOST_SERIES = 6


@dataclass(frozen=True)
class Proposal:
    """A setting with what it costs; ``dollars`` is None where nothing is rented."""

    rounds: int
    seconds: int
    hours: float
    dollars: float | None
    detects_pct: float


def propose(
    home: Home, store: Store, chosen: Selection, spec: ReportSpec, noise: Noise, wanted: float
) -> tuple[tuple[Proposal, ...], list[str]]:
    """What finds a slowdown, the cheapest first; and sentences about it.

    Args:
        home: the installation, for topologies and prices.
        chosen: the A/A campaigns, whose series lie in ``store``.
        spec: their report type; its rounds and seconds are changed.
        noise: of the throughput.
        wanted: the slowdown, in percent.
    """
    if not noise.workloads:
        return (), []
    if wanted <= spec.threshold_pct:
        why = (
            f"no number of rounds finds a slowdown of {wanted:g}% in 4 of 5 campaigns while the "
            f"threshold is {spec.threshold_pct:g}%: half of the estimates are below it; ask for "
            "more (--detect), or lower threshold_pct"
        )
        return (), [why]
    variances = _variances(store, chosen, noise)
    search = Search(noise, variances, spec.threshold_pct)
    notes = []
    if without := [n for n, v in zip(noise.workloads, variances, strict=True) if v.series is None]:
        notes.append(
            f"{', '.join(without)}: no series of four intervals or more for each cell, so that "
            "longer trials are taken not to help"
        )
    settings = search.settings(wanted)
    if not settings:
        return (), [*notes, *_why_none(search, wanted, spec)]
    priced, refused = _priced(home, spec, chosen.first.plan.engine, settings)
    return priced, [*notes, *refused]


def _priced(
    home: Home, spec: ReportSpec, engine: str, settings: Sequence[Setting]
) -> tuple[tuple[Proposal, ...], list[str]]:
    priced, refused = [], []
    for each in settings:
        try:
            changed = spec.with_overrides({"rounds": each.rounds, "seconds": each.seconds})
            plan = catalog.plan(home, changed, engine, spec.report)
        except SpecError as error:
            refused.append(
                f"{each.rounds} rounds of {each.seconds} s would find {each.detects_pct:.1f}%, but "
                f"cannot be planned: {error}"
            )
            continue
        hours = plan.minutes / 60
        priced.append(Proposal(each.rounds, each.seconds, hours, plan.dollars, each.detects_pct))
    priced.sort(key=lambda proposal: (proposal.dollars or 0.0, proposal.hours))
    return tuple(priced[:MOST_PROPOSALS]), refused


def _why_none(search: Search, wanted: float, spec: ReportSpec) -> Iterator[str]:
    best = search.best()
    yield (
        f"no setting of up to {ROUNDS[-1]} rounds finds a slowdown of {wanted:g}% in every workload"
        + (
            f"; {best.rounds} rounds of {best.seconds} s find {best.detects_pct:.1f}%"
            if best
            else ""
        )
    )
    if within := search.within_deployment().settings(wanted):
        yield (
            "what deployments differ by is too much for it, and shrinks neither with rounds nor "
            "with longer trials; more A/A campaigns would tell it better"
        )
        cheapest = min(within, key=lambda each: each.rounds * each.seconds)
        for rounds, seconds in (
            (spec.rounds, spec.seconds),
            (cheapest.rounds, cheapest.seconds),
        ):
            if count := search.campaigns_needed(wanted, rounds, seconds):
                yield (
                    f"the mean of about {count} campaigns of {rounds} rounds of {seconds} s, each "
                    "deployed and loaded on its own, would find it"
                )
                break
    else:
        yield "the rounds themselves scatter too much for it; a quieter machine would help most"


def _variances(store: Store, chosen: Selection, noise: Noise) -> list[RoundVariance]:
    """The variance of a round's log ratio by the length of its trials, for each workload."""
    threads = {each.workload: each.threads for each in chosen.alike[chosen.first.id]}
    series = _long_run_variances(store, chosen)
    return [
        RoundVariance(
            chosen.seconds, total, explained(series.get(name, {}), threads[name], chosen.seconds)
        )
        for name, total in zip(noise.workloads, noise.round_variances.tolist(), strict=True)
    ]


def _long_run_variances(store: Store, chosen: Selection) -> dict[str, dict[Cell, list[float]]]:
    """Of the trials' throughput, by workload and cell, as far as their series are there."""
    found: dict[str, dict[Cell, list[float]]] = {}
    for campaign in chosen.campaigns:
        if campaign.id not in chosen.alike:
            continue
        used, _ = select(campaign.plan, store.trials(campaign.id))
        for result in used:
            of_workload = found.setdefault(result.trial.workload, {})
            of_cell = of_workload.setdefault((result.trial.threads, result.trial.side), [])
            if len(of_cell) < _MOST_SERIES:
                value = _long_run_variance(store, campaign, result)
                of_cell += [] if value is None else [value]
    return found


def _long_run_variance(store: Store, campaign: Campaign, result: TrialResult) -> float | None:
    if result.series is None:
        return None
    try:
        text = store.read_object(result.series)
    except StoreError:
        return None
    metric = campaign.plan.metric(result.trial.workload)
    rows = [row for row in csv.DictReader(text.splitlines()) if row.get(metric) and row.get("t")]
    return long_run_variance(
        [float(row["t"]) for row in rows], [float(row[metric]) for row in rows]
    )
