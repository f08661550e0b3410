"""What a million transactions cost: the servers' hosts by the hour, over throughput.

Example:
    At 6.36 dollars an hour, 1,000 transactions per second are 3.6 million an hour: 1.77 dollars.

Both versions stand on the same hosts and one runs at a time: each has all of them to itself, and
both cost what all hosts of the plan but the client's do. Both are priced at one thread count, the
saturated one, at which their throughputs add up to most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from operator import itemgetter
from statistics import fmean, stdev
from typing import Any

from benchlab.analysis.verdict.compare import Comparison, SideFigures, WorkloadComparison
from benchlab.arrays import special
from benchlab.language.names import items
from benchlab.language.numbers import MISSING
from benchlab.plan.open_loop import rate_of
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import Side
from benchlab.report.model import hardware
from benchlab.report.model.report import Report
from benchlab.results.records import Campaign

_PER_HOUR = {"1/s": 3600, "1/min": 60}
_FEWEST_ROUNDS = 3


@dataclass(frozen=True)
class Price:
    """Dollars per million with their 95 % interval, which fewer than three rounds do not have."""

    usd: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Priced:
    """One workload.

    Attributes:
        at_most: whether no more threads were measured, which might cost less.
        change_pct: of the price: -50.0 where throughput is twice as high.
    """

    name: str
    threads: int
    at_most: bool
    prices: Mapping[Side, Price]
    change_pct: float | None


def usd_per_hour(campaign: Campaign) -> float | None:
    """What the servers' hosts cost: 6.36; None where others were rented than the plan prices."""
    fleet = hardware.fleet_hardware(campaign)
    if fleet is None or fleet.wanted_region:
        return None
    others = any(role.wanted for role in fleet.roles if role.role != "client")
    return None if others else campaign.plan.serving_usd_per_hour


def of_campaign(campaign: Campaign, comparison: Comparison) -> list[Priced]:
    """The workloads of which a price is known: those with a throughput of every side.

    At a rate it is not what the servers could do.
    """
    if (hourly := usd_per_hour(campaign)) is None:
        return []
    found = (
        _priced(campaign.plan, workload, hourly)
        for workload in comparison.workloads
        if rate_of(workload.name) is None
    )
    return [one for one in found if one]


def to_json(campaign: Campaign, comparison: Comparison) -> dict[str, Any]:
    """The key ``usd_per_million`` of ``report.json``, where a price is known."""
    workloads = [asdict(one) for one in of_campaign(campaign, comparison)]
    about = {"usd_per_hour": usd_per_hour(campaign), "prices_as_of": campaign.plan.prices_as_of}
    return {"usd_per_million": {**about, "workloads": workloads}} if workloads else {}


def _priced(plan: Plan, workload: WorkloadComparison, hourly: float) -> Priced | None:
    metric = plan.throughput.name
    measured = [
        (sum(rates), cell)
        for cell in workload.cells
        if all(rates := [side.means[metric] or 0.0 for side in cell.sides.values()])
    ]
    if not measured:
        return None
    _, cell = max(measured, key=itemgetter(0))
    most = max(one.threads for _, one in measured)
    prices = {side: _price(plan, found, hourly) for side, found in cell.sides.items()}
    more = cell.improvement_pct
    change = None if more is None else -100 * more / (100 + more)
    return Priced(workload.name, cell.threads, cell.threads == most, prices, change)


def _price(plan: Plan, found: SideFigures, hourly: float) -> Price:
    metric = plan.throughput
    rate = found.means[metric.name] or math.nan  # at a saturated thread count there is one
    usd = 1e6 * hourly / (rate * _PER_HOUR[metric.unit])
    times = _times(plan, found.by_round(metric.name))
    return Price(usd, usd / times, usd * times) if times else Price(usd)


def _times(plan: Plan, rates: Mapping[int, float]) -> float | None:
    """By how much an end is off: Student's, of logarithms of rounds or of deployments' means."""
    logs: dict[int, list[float]] = {}
    for number, rate in rates.items():
        group = plan.deployment_of(number) if plan.deployments > 1 else number
        logs.setdefault(group, []).append(math.log(rate))
    if len(rates) < _FEWEST_ROUNDS or len(logs) == 1:
        return None
    quantile = float(special.stdtrit(len(logs) - 1, 0.975))
    return math.exp(quantile * stdev(map(fmean, logs.values())) / math.sqrt(len(logs)))


def columns(report: Report) -> list[str]:
    """The headings: workload, threads, each version with its interval, change."""
    say, sides = report.language.say, report.sides.values()
    prices = [heading for side in sides for heading in (side.label, say("column-interval"))]
    change = [say("column-change")] if report.has_verdicts else []
    return [say("column-workload"), say("figures-threads"), *prices, *change]


def rows(report: Report) -> list[list[str]]:
    """The cells below :func:`columns`; empty where no price is known."""
    found = {one.name: one for one in of_campaign(report.campaign, report.comparison)}
    made = []
    for section in report.sections:
        if one := found.get(section.figures.name):
            prices = [text for price in one.prices.values() for text in _texts(report, price)]
            change = [report.numbers.change(one.change_pct)] if report.has_verdicts else []
            made.append([section.title, str(one.threads), *prices, *change])
    return made


def sentences(report: Report) -> list[str]:
    """What is in a price, and where more threads may lower it."""
    say, hourly = report.language.say, report.numbers.rate(usd_per_hour(report.campaign), 2)
    about = say("cost-about", hourly=hourly, day=report.plan.prices_as_of or MISSING)
    found = {one.name for one in of_campaign(report.campaign, report.comparison) if one.at_most}
    most = [section.title for section in report.sections if section.figures.name in found]
    workloads = items(most, report.language)
    return [about, *([say("cost-at-most", workloads=workloads)] if most else [])]


def _texts(report: Report, price: Price) -> tuple[str, str]:
    """A price and its interval, with the three digits that have a meaning: ``1.61``."""
    usd, *ends = (
        report.numbers.rate(value, max(0, 2 - math.floor(math.log10(value))))
        for value in (price.usd, price.low, price.high)
        if value is not None
    )
    if not ends:
        return usd, MISSING
    return usd, report.language.say("number-interval", low=ends[0], high=ends[1])
