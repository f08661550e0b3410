"""One trial: whether it counts and why, its series beside those of its partner, its gates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from benchlab.campaign.outcome import Outcome
from benchlab.language import gate_sentence
from benchlab.language.names import plain
from benchlab.language.numbers import Numbers
from benchlab.plan.report_type import SIDES
from benchlab.report.formats import series_svg
from benchlab.report.model import report as model
from benchlab.report.model import series
from benchlab.results.records import GateResult, TrialResult
from benchlab.site import files
from benchlab.site.campaign import place_of, recorded, trial_rows
from benchlab.site.page import NoSuchPage, Page, Site


def trial(site: Site, campaign: str, trial: str, attempt: int | None = None) -> Page:
    """The page of one attempt of a trial.

    Args:
        attempt: None: the last one.

    Raises:
        NoSuchPage: there is none, or the reader may not see the campaign.
    """
    record = recorded(site, campaign)
    outcome = site.comparisons.outcome(record)
    attempts = {one.attempt: one for one in outcome.trials if one.trial.id == trial}
    result = attempts.get(max(attempts, default=0) if attempt is None else attempt)
    if result is None:
        asked = "" if attempt is None else f", attempt {attempt}"
        raise NoSuchPage(f"{campaign}: it has no trial {plain(trial)}{asked}")
    partner = _partner(result, outcome.trials)
    row = next(
        one
        for one in trial_rows(site.language, outcome)
        if (one.id, one.attempt) == (trial, result.attempt)
    )
    values = {
        "record": record,
        "result": result,
        "row": row,
        "partner": partner,
        "attempts": sorted(attempts),
        "picture": _picture(site, outcome, [result, *([partner] if partner else [])]),
        "gates": [GateRow.of(site, gate) for gate in result.gates],
        "samples": [
            (sample.metric, Numbers(site.language).rate(sample.value, 2), sample.unit)
            for sample in result.samples
        ],
        "phases": [(name, Numbers(site.language).rate(s, 1)) for name, s in result.phases.items()],
        "files": files.of_trial(result),
        "planned": len(record.plan.trials),
        "back": place_of(campaign),
    }
    place = f"{place_of(campaign)}trials/{trial}/"
    return Page(place, "campaigns/", result.trial.title, "trial.html.j2", values)


@dataclass(frozen=True)
class GateRow:
    """One gate as the page shows it."""

    gate: str
    kind: str
    status: str
    observed: str
    sentence: str

    @classmethod
    def of(cls, site: Site, found: GateResult) -> GateRow:
        """In the reader's language."""
        observed = Numbers(site.language).rate(found.observed, 3)
        sentence = site.language.text(gate_sentence(found.gate, found.sentence))
        return cls(found.gate, found.kind, found.status, observed, sentence)


def _partner(result: TrialResult, others: Sequence[TrialResult]) -> TrialResult | None:
    """The other side's trial of the same round, workload and threads, and the same attempt."""
    wanted = (result.trial.round, result.trial.workload, result.trial.threads, result.attempt)
    for other in others:
        own = other.trial
        same = (own.round, own.workload, own.threads, other.attempt) == wanted
        if same and own.side != result.trial.side:
            return other
    return None


def _picture(site: Site, outcome: Outcome, results: Sequence[TrialResult]) -> Markup | None:
    """The series of both trials above each other; None where none was kept."""
    metrics = {results[0].trial.workload: outcome.campaign.plan.metric(results[0].trial.workload)}
    found = series.read(results, metrics, site.store.read_bytes)
    pairs = found.get(results[0].trial.workload, ())
    if not pairs or set(outcome.campaign.plan.sides) != set(SIDES):
        return None
    report = model.build(
        outcome.campaign, outcome.comparison, outcome.trials, language=site.language
    )
    return series_svg.draw(report, next(iter(metrics.values())), pairs[0])
