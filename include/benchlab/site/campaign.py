"""One campaign: its answer first, then what it rests on; live while it is measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from benchlab.analysis.verdict.usable_trials import usable_trials
from benchlab.campaign.outcome import Outcome
from benchlab.errors import StoreError
from benchlab.language import Language
from benchlab.language.names import plain, title_of
from benchlab.language.numbers import Numbers
from benchlab.plan.report_type import SIDES
from benchlab.report.model import commands, figures, hardware, hosts, probed, software
from benchlab.report.model import report as model
from benchlab.report.sentences import answer, method, setting, trust, wording
from benchlab.results.records import Campaign, TrialResult
from benchlab.site import charts, files
from benchlab.site.at_work import at_work
from benchlab.site.page import NoSuchPage, Page, Site

_PART = "campaigns/"
# Metrics of a trial's row, the first that it has counts as its throughput.
_THROUGHPUT = {"tps": "TPS", "tpmc": "tpmC"}


def place_of(campaign: str) -> str:
    """Where the page of a campaign lies."""
    return f"{_PART}{campaign}/"


def recorded(site: Site, campaign: str) -> Campaign:
    """A campaign's record.

    Raises:
        NoSuchPage: there is none, or the reader may not see it.
    """
    try:
        found = site.store.campaign(campaign)
    except StoreError as error:
        raise NoSuchPage(f"{campaign}: there is no such campaign") from error
    if not site.shows(found.plan.report):
        raise NoSuchPage(f"{campaign}: there is no such campaign")
    return found


def campaign(site: Site, campaign: str) -> Page:
    """The page of a campaign.

    Raises:
        NoSuchPage: there is none, or the reader may not see it.
    """
    record = recorded(site, campaign)
    outcome = site.comparisons.outcome(record)
    values: dict[str, object] = {
        "progress": at_work(site, record) if record.state == "running" else None,
        "trials": trial_rows(site.language, outcome),
        "files": files.of_report(site, campaign),
        "remarks": site.store.remarks().get(campaign),
        "looked": site.store.looked_into(),
        "compared": set(record.plan.sides) == set(SIDES),
        "record": record,
    }
    if set(record.plan.sides) == set(SIDES):
        values |= _compared(site, outcome)
    return Page(place_of(campaign), _PART, title_of_campaign(record), "campaign.html.j2", values)


def title_of_campaign(record: Campaign) -> str:
    """``v8.5.1 vs. v8.1.0 · sysbench_ec2``; the candidate first, as in titles of reports."""
    labels = [plain(record.plan.sides[s].label) for s in reversed(SIDES) if s in record.plan.sides]
    return f"{' vs. '.join(labels)} · {plain(record.plan.report)}"


def _compared(site: Site, outcome: Outcome) -> dict[str, object]:
    report = model.build(
        outcome.campaign, outcome.comparison, outcome.trials, language=site.language
    )
    return {
        "report": report,
        "answer": answer,
        "wording": wording,
        "trust": trust,
        "method": method,
        "setting": setting,
        "figures": figures,
        "hosts": hosts,
        "hardware": hardware,
        "probed": probed,
        "software": software,
        "commands": commands.of_campaign(report.campaign, site.language),
        "forest": charts.forest(report),
        "curves": {s.figures.name: charts.curves(report, s) for s in report.sections},
        "sides": [report.sides[side] for side in SIDES],
    }


def progress(site: Site, campaign: str) -> Page:
    """Only how far a campaign at work is, to be shown again and again: it reads no trial."""
    record = recorded(site, campaign)
    found = at_work(site, record) if record.state == "running" else None
    values = {"progress": found, "record": record}
    title = title_of_campaign(record)
    return Page(place_of(campaign), _PART, title, "campaign-progress.html.j2", values)


@dataclass(frozen=True)
class TrialRow:
    """One executed trial in the list of a campaign's trials.

    Attributes:
        number: its place in the plan, from 1.
        state: ``used``, ``invalid``, or ``unused`` where another attempt counts.
        reasons: why it is not used; empty where it is.
    """

    id: str
    attempt: int
    number: int
    round: int
    side: str
    workload: str
    threads: int
    throughput: str
    p95: str
    state: str
    reasons: tuple[str, ...]
    started_at: datetime


def trial_rows(language: Language, outcome: Outcome) -> list[TrialRow]:
    """All executed trials, in the order in which they were measured."""
    used, excluded = usable_trials(outcome.campaign.plan, outcome.trials)
    counted = {(result.trial.id, result.attempt) for result in used}
    why = {(one.trial, one.attempt): language.texts(one.reasons) for one in excluded}
    return [
        _row(language, result, (result.trial.id, result.attempt) in counted,
             why.get((result.trial.id, result.attempt), ()))
        for result in sorted(outcome.trials, key=lambda one: (one.started_at, one.trial.index))
    ]  # fmt: skip


def _row(
    language: Language, result: TrialResult, is_used: bool, reasons: Sequence[str]
) -> TrialRow:
    trial, numbers = result.trial, Numbers(language)
    return TrialRow(
        id=trial.id,
        attempt=result.attempt,
        number=trial.index + 1,
        round=trial.round,
        side=trial.side,
        workload=title_of(trial.workload),
        threads=trial.threads,
        throughput=throughput_of(result, numbers),
        p95=next(latencies(result, numbers), numbers.milliseconds(None)),
        state="used" if is_used else "unused" if result.valid else "invalid",
        reasons=tuple(reasons) or tuple(map(plain, result.reasons)),
        started_at=result.started_at,
    )


def throughput_of(result: TrialResult, numbers: Numbers) -> str:
    """``1,204.30 TPS``; n/a where the client printed none."""
    for metric, unit in _THROUGHPUT.items():
        if (value := result.value(metric)) is not None:
            return f"{numbers.rate(value, 2)} {unit}"
    return numbers.rate(None, 2)


def latencies(result: TrialResult, numbers: Numbers) -> Iterator[str]:
    """The trial's p95 latency: ``5.12 ms``."""
    for metric in ("p95_ms", "new_order_p95_ms"):
        if (value := result.value(metric)) is not None:
            yield f"{numbers.milliseconds(value)} ms"
