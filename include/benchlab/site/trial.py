"""The page of a trial: whether it counts and why, its series beside the other side's, its gates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.charts.charts import Strip, strips
from benchlab.charts.picture import Picture
from benchlab.engines.counts import Row as CountRow
from benchlab.errors import BenchlabError, StoreError
from benchlab.hosts.samples import METRICS
from benchlab.language import FORM_OF_ONE, Language, load, message, side_name
from benchlab.language.names import plain, title_of
from benchlab.language.numbers import MISSING, Numbers
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import Side
from benchlab.report.model import counts, hosts, software
from benchlab.report.model.series import CLIENT, Series, table
from benchlab.results import redaction
from benchlab.results.listing import Chosen
from benchlab.results.records import Campaign, TrialResult
from benchlab.site import files
from benchlab.site.page import NoSuchPage, Page, Row, Site

Found = TypeVar("Found")
# Metrics of hosts that are fractions: drawn on an axis up to 100 %.
_SHARES = {metric for metric, unit in hosts.COLUMNS if unit is None}


@dataclass(frozen=True)
class Attempt:
    """One measurement of a trial.

    Attributes:
        reasons: why its figures are not used; empty if they are.
        metrics: the names of the metrics that it has samples of.
    """

    result: TrialResult
    reasons: tuple[str, ...]
    metrics: tuple[str, ...]


def place_of(campaign: str, trial: str) -> str:
    """The place of a trial's page, below that of its campaign."""
    return f"campaigns/{campaign}/trials/{trial}/"


def trial(site: Site, campaign: str, trial: str, attempt: int | None = None) -> Page:
    """The page of a planned trial.

    Args:
        attempt: which measurement to show; None: the one whose figures are used, or the last.

    Raises:
        NoSuchPage: the campaign has no such trial or attempt, or the reader may not see it.
    """
    record = campaign_of(site, campaign)
    planned = next((one for one in record.plan.trials if one.id == trial), None)
    if planned is None:
        raise NoSuchPage(message("site-no-trial", campaign=campaign, trial=trial))
    no_attempt = message("site-no-attempt", trial=trial, attempt=str(attempt))
    results = [one for one in site.store.trials(campaign) if one.trial.pair == planned.pair]
    language = language_of(site, record)
    attempts = _attempts(record, results, trial, language)
    values = {
        "campaign": record,
        "planned": planned,
        "label": _label(record, planned.side, language),
        "attempts": attempts,
        "one": None,
    }
    if attempts:
        one = _chosen(attempts, attempt)
        if one is None:
            raise NoSuchPage(no_attempt)
        values |= {"one": one, **_details(site, record, one, results)}
    elif attempt is not None:
        raise NoSuchPage(no_attempt)
    title = site.language.say(
        "site-trial-title",
        number=str(planned.index + 1),
        trials=str(len(record.wanted.trials)),
        title=titled(planned, language),
    )
    query = {} if attempt is None else {"attempt": str(attempt)}
    return Page(
        place_of(campaign, trial),
        "campaigns/",
        title,
        "trial.html.j2",
        values,
        query,
        language.form,
    )


def campaign_of(site: Site, campaign: str) -> Campaign:
    """Read a campaign, without secrets.

    Raises:
        NoSuchPage: it does not exist, or the reader may not see it; both look the same.
        StoreError: it cannot be read.
    """
    try:
        record = site.store.campaign(campaign)
    except StoreError:
        if campaign in {
            one.id for one in site.store.listing.summaries(Chosen(reports=site.reports))
        }:
            raise
        raise NoSuchPage(message("site-no-campaign", campaign=campaign)) from None
    if not site.shows(record.plan.report):
        raise NoSuchPage(message("site-no-campaign", campaign=campaign))
    return redaction.of_campaign(record)


def language_of(site: Site, campaign: Campaign) -> Language:
    """The reader's language, in the form for one version if the campaign has one side."""
    return load(site.language.code, FORM_OF_ONE if len(campaign.plan.sides) == 1 else "")


def titled(planned: PlannedTrial, language: Language) -> str:
    """A trial's name for people: workload, threads, round and side."""
    return language.say(
        "site-trial-name",
        workload=title_of(planned.workload),
        threads=str(planned.threads),
        round=str(planned.round),
        side=language.text(side_name(planned.side)),
    )


def _label(campaign: Campaign, side: Side, language: Language) -> str:
    return f"{campaign.plan.sides[side].label} ({language.text(side_name(side))})"


def _attempts(
    campaign: Campaign, results: Sequence[TrialResult], trial: str, language: Language
) -> list[Attempt]:
    _, excluded = usable_trials(campaign.plan, results)
    why = {(one.trial, one.attempt): one.reasons for one in excluded}
    return [
        Attempt(
            result,
            tuple(map(plain, language.texts(why.get((trial, result.attempt), ())))),
            tuple(sample.metric for sample in result.samples),
        )
        for result in results
        if result.trial.id == trial
    ]


def _chosen(attempts: Sequence[Attempt], attempt: int | None) -> Attempt | None:
    if attempt is not None:
        return next((one for one in attempts if one.result.attempt == attempt), None)
    return next((one for one in attempts if not one.reasons), attempts[-1])


def _details(
    site: Site, campaign: Campaign, one: Attempt, results: Sequence[TrialResult]
) -> dict[str, object]:
    ours = one.result
    partner = next(
        (
            other
            for other in results
            if other.attempt == ours.attempt
            and other.trial.threads == ours.trial.threads
            and other.trial.side != ours.trial.side
        ),
        None,
    )
    sides = {result.trial.side: result for result in (ours, partner) if result is not None}
    ordered = {side: sides[side] for side in campaign.plan.sides if side in sides}
    language = language_of(site, campaign)
    client, client_gaps = _read(site, ordered, "series", table)
    of_hosts, host_gaps = _read(site, ordered, "hosts", table)
    counted, count_gaps = _read(site, ordered, "counts", counts.read)
    return {
        "partner": partner,
        "sides": [(side, _label(campaign, side, language)) for side in ordered],
        "figures": _figures(campaign.plan, ordered, Numbers(site.language)),
        "client": _of_client(campaign, client, ours.trial.seconds, language),
        "hosts_of_trial": _of_hosts(campaign, of_hosts, ours.trial.seconds, language),
        "counts": _counts(counted, Numbers(site.language)),
        "gaps": [*client_gaps, *host_gaps, *count_gaps],
        "gates": _gates(site, ours),
        "commands_of_trial": software.commands_of(campaign, site.language)[1:],
        "downloads": files.of_trial(ours),
        "without_hosts": [
            (plain(host.host), plain(site.language.text(host.reason)))
            for host in ours.host_figures
            if host.reason
        ],
    }


def _read(
    site: Site, sides: Mapping[Side, TrialResult], kind: str, read: Callable[[bytes], Found]
) -> tuple[dict[Side, Found], list[str]]:
    """The series of both sides, and sentences on those that are recorded but cannot be read."""
    found: dict[Side, Found] = {}
    gaps = []
    for side, result in sides.items():
        name = getattr(result, kind)
        if name is None:
            continue
        try:
            found[side] = read(site.store.read_bytes(name))
        except BenchlabError as fault:
            gaps.append(
                site.language.say(
                    f"site-gone-{kind}",
                    side=site.language.text(side_name(side)),
                    object=plain(name),
                    # The store's error names a path on the server, which readers must not see.
                    why="" if isinstance(fault, StoreError) else plain(str(fault)),
                )
            )
    return found, gaps


def _of_client(
    campaign: Campaign, found: Mapping[Side, Series], seconds: float, language: Language
) -> Picture | None:
    labels = {side: _label(campaign, side, language) for side in found}
    shown = [metric for metric in campaign.plan.metrics if metric.family or metric.shown == "table"]
    titles = {one.name: f"{language.text(one.said)} ({one.unit})" for one in shown}
    titles["errors_per_s"] = language.say("site-series-errors-per-s")
    metrics = []
    for name, title in titles.items():
        lines = {
            side: series[CLIENT][name]
            for side, series in found.items()
            if name in series.get(CLIENT, {})
        }
        is_quiet = all(not value for line in lines.values() for _, value in line)
        if lines and not (name == "errors_per_s" and is_quiet):
            metrics.append(Strip(title, lines, labels))
    return _strips(metrics, seconds, language, tall=150)


def _of_hosts(
    campaign: Campaign, found: Mapping[Side, Series], seconds: float, language: Language
) -> list[Row]:
    """Every host, with a chart of its metrics on both sides."""
    labels = {side: _label(campaign, side, language) for side in found}
    names = dict.fromkeys(host for series in found.values() for host in series)
    made: list[Row] = []
    for host in names:
        metrics = []
        for metric, unit in hosts.COLUMNS:
            factor = 100.0 if unit is None else 1 / unit
            lines = {
                side: [
                    (t, None if value is None else factor * value)
                    for t, value in series[host][metric]
                ]
                for side, series in found.items()
                if metric in METRICS and metric in series.get(host, {})
            }
            heading = language.say(f"hosts-{metric.replace('_', '-')}")
            title = f"{heading} (%)" if metric in _SHARES else heading
            metrics.append(Strip(title, lines, labels, 100.0 if metric in _SHARES else None))
        made.append(
            {
                "name": plain(host),
                "chart": _strips(metrics, seconds, language, tall=60),
            }
        )
    return made


def _strips(
    metrics: Sequence[Strip], seconds: float, language: Language, *, tall: int
) -> Picture | None:
    return strips(metrics, seconds, Numbers(language), language.say("site-seconds"), tall=tall)


def _figures(
    plan: Plan, sides: Mapping[Side, TrialResult], numbers: Numbers
) -> list[tuple[str, list[str]]]:
    """The metrics that a client printed, each with its unit and the value on each side."""
    printed = {one.metric for result in sides.values() for one in result.samples}
    return [
        (
            metric.name if metric.unit == "1" else f"{metric.name} ({metric.unit})",
            [
                MISSING if (value := result.value(metric.name)) is None else numbers.rate(value, 2)
                for result in sides.values()
            ],
        )
        for metric in plan.metrics
        if metric.name in printed
    ]


def _counts(
    found: Mapping[Side, Sequence[CountRow]], numbers: Numbers
) -> list[tuple[str, list[str]]]:
    """Each count with its role and unit, and what a query took of it on each side."""
    of_sides = [
        {(row.role, row.count, row.unit): row.per_query for row in rows} for rows in found.values()
    ]
    return [
        (
            f"{role}: {count}" if unit == "1" else f"{role}: {count} ({unit})",
            [numbers.digits(one.get((role, count, unit)), 4) for one in of_sides],
        )
        for role, count, unit in dict.fromkeys(key for one in of_sides for key in one)
    ]


def _gates(site: Site, result: TrialResult) -> list[Row]:
    """The gates of a trial, failed ones first."""
    order, text = ("fail", "pass", "not evaluated"), site.language.text
    return [
        {
            "result": found,
            "sentence": plain(text(found.sentence)),
            "observed": MISSING if found.observed is None else text(found.found),
            "bounds": text(found.bounds),
        }
        for found in sorted(result.gates, key=lambda gate: order.index(gate.status))
    ]
