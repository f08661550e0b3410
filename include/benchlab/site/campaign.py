"""The page of a campaign: the answer first, then everything that it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchlab.analysis.verdict.usable_trials import Exclusion
from benchlab.campaign.overrides import resuming
from benchlab.language import Language
from benchlab.language.names import plain
from benchlab.language.numbers import Numbers
from benchlab.plan.order import PlannedTrial
from benchlab.report.formats.pages import TOP, values
from benchlab.report.model import validation
from benchlab.report.model.report import Report, build
from benchlab.report.sentences import opening, wording
from benchlab.results.findings import Sought
from benchlab.results.listing import Chosen
from benchlab.results.records import Campaign, TrialFigures, TrialKey, TrialResult
from benchlab.site import files
from benchlab.site.at_work import at_work
from benchlab.site.page import Page, Row, Site, failed_stage
from benchlab.site.trial import campaign_of, language_of, titled

# How many other campaigns of the report type are offered for a comparison.
_MOST_OTHERS = 50
# The files of a report that people open; they are listed first, in this order.
_FIRST = (
    *("report.html", "report.md", "evidence.zip", "comparison.csv", "trials.csv", "report.json"),
)


def place_of(campaign: str) -> str:
    """The place of a campaign's page: ``campaigns/c1/``."""
    return f"campaigns/{campaign}/"


def campaign(site: Site, campaign: str) -> Page:
    """The page of a campaign, whether it is running, complete or failed.

    Raises:
        NoSuchPage: it does not exist, or the reader may not see it.
        StoreError, SpecError: the campaign or the gates cannot be read.
    """
    record = campaign_of(site, campaign)
    values: dict[str, object] = {
        "campaign": record,
        "diagnosed": [] if site.as_files else [*files.left_of_diagnosis(site, record)],
        "remarks": site.store.remarks().get(record.id),
        "folds": True,
        "findings": site.store.findings.found(Sought(campaign=record.id, reports=site.reports)),
        **_downloads(site, record.id),
        "others": _others(site, record),
        "has_trial_pages": site.has_trial_pages(len(record.wanted.trials)),
        "failure": _failure(site, record),
    }
    found = site.comparisons.outcome(record)
    report = build(
        record,
        found.comparison,
        found.trials,
        language=site.language,
        validation=validation.read(site.home.campaign(record.id) / validation.NAME),
        causes=found.causes(site.store),
    )
    trials = _measured(record, found.trials, found.comparison.excluded, report.language)
    values |= {
        **_of_report(report),
        "later": opening.later(report, site.comparisons.later(found)),
        "trials": trials,
        "rejected": [row for row in trials if row["reasons"]],
        "has_results": any(section.rounds_used for section in report.sections),
        "resumed_by": resuming(site.home, record) if found.comparison.missing else "",
        **_live(site, record),
    }
    title = wording.title(report)
    return Page(
        place_of(record.id),
        "campaigns/",
        title,
        "campaign.html.j2",
        values,
        form=report.language.form,
    )


def progress(site: Site, campaign: str) -> Page:
    """The part of the page that an open page keeps requesting while the campaign runs.

    It takes only two small queries, for the campaign and its trials' figures.

    Raises:
        NoSuchPage: as :func:`campaign`.
    """
    record = campaign_of(site, campaign)
    title = site.language.say("site-how-far")
    values = {"campaign": record, "has_trial_pages": True, **_live(site, record)}
    return Page(place_of(record.id), "campaigns/", title, "progress.html.j2", values)


def _failure(site: Site, record: Campaign) -> Row | None:
    """The last failure that was not made good since; None if there is none."""
    found = site.store.failure(record.id)
    if found is None:
        return None
    first, *more = language_of(site, record).texts(found.lines)
    of = failed_stage(found.stage, site.language) if found.stage else ""
    return {"of": of, "first": first, "more": more}


def _of_report(report: Report) -> Mapping[str, object]:
    """The variables of the report's templates, except ``page``: this page has its own links."""
    return {name: value for name, value in values(report, TOP).items() if name != "page"}


def _live(site: Site, record: Campaign) -> Mapping[str, object]:
    """The progress and trials so far of a running campaign; ``work`` is None once it has ended."""
    if record.state != "running":
        return {"work": None}
    work, so_far = at_work(site, record), _so_far(site, record)
    title = work.step.trial if work.step else None
    now = (titled(one, site.language) for one in record.plan.trials if one.title == title)
    return {
        "work": work,
        "measured_now": next(now, None),
        "so_far": so_far,
        "done": len({row["id"] for row in so_far}),
    }


def _so_far(site: Site, record: Campaign) -> list[Row]:
    """The measured trials, the latest first."""
    wanted = {record.plan.throughput.name, record.plan.latency.name}
    found = site.store.figures(record.id, wanted)
    planned = {one.id: one for one in record.plan.trials}
    language = language_of(site, record)
    return [
        _row(
            record,
            planned[key[0]],
            key,
            figures,
            language.texts(figures.reasons),
            language,
        )
        for key, figures in reversed(found.items())
        if key[0] in planned
    ]


def _measured(
    record: Campaign,
    results: Iterable[TrialResult],
    excluded: Iterable[Exclusion],
    language: Language,
) -> list[Row]:
    """A row for each measurement of each planned trial, in the plan's order; one if unmeasured."""
    why = {(one.trial, one.attempt): language.texts(one.reasons) for one in excluded}
    by_trial: dict[str, list[TrialResult]] = {}
    for result in results:
        by_trial.setdefault(result.trial.id, []).append(result)
    rows = []
    for planned in record.wanted.trials:
        for result in by_trial.get(planned.id, ()):
            key = (planned.id, result.attempt)
            figures = TrialFigures(result.valid, result.reasons, result.figures)
            rows.append(_row(record, planned, key, figures, why.get(key, ()), language))
        if planned.id not in by_trial:
            rows.append(_row(record, planned, None, None, (), language))
    return rows


def _row(
    record: Campaign,
    planned: PlannedTrial,
    key: TrialKey | None,
    figures: TrialFigures | None,
    reasons: Sequence[str],
    language: Language,
) -> Row:
    plan, numbers = record.plan, Numbers(language)
    values = figures.values if figures else {}
    return {
        "id": planned.id,
        "number": planned.index + 1,
        "name": titled(planned, language),
        "attempt": key[1] if key else None,
        "throughput": numbers.rate(values.get(plan.throughput.name), 1),
        "latency": numbers.milliseconds(values.get(plan.latency.name)),
        "reasons": tuple(map(plain, reasons)),
    }


def _downloads(site: Site, campaign: str) -> dict[str, list[files.FileOnSite]]:
    """The report's files: those that people open, and the rest, which these refer to."""
    found = files.of_report(site, campaign)
    first = [one for name in _FIRST for one in found if one.name == name]
    return {"downloads": first, "inner": [one for one in found if one not in first]}


def _others(site: Site, record: Campaign) -> list[tuple[str, str]]:
    """The newest other campaigns of the report type, each with its versions."""
    newest = site.store.listing.summaries(Chosen(report=record.plan.report), limit=_MOST_OTHERS + 1)
    return [(one.id, one.compared) for one in newest if one.id != record.id][:_MOST_OTHERS]
