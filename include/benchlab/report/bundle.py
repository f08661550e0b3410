"""Renders all files of a report, as bytes by relative path, for a publisher to store."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence

from benchlab.analysis.cause.causes import NO_CAUSES, Causes
from benchlab.analysis.verdict.compare import Comparison
from benchlab.language import REFERENCE, load
from benchlab.report import charts
from benchlab.report.formats import csv_text, json_text, pages
from benchlab.report.model import causes, series
from benchlab.report.model import report as model
from benchlab.report.model.series import ReadObject
from benchlab.report.model.validation import NAME as VALIDATION
from benchlab.report.model.validation import Validation
from benchlab.results.records import Campaign, TrialResult

PAGES = ("report.html", "report.md", "evidence.zip")
"""The files of a report that people open or keep."""


def make(
    campaign: Campaign,
    comparison: Comparison,
    results: Sequence[TrialResult],
    languages: Sequence[str] = (REFERENCE,),
    *,
    read_object: ReadObject | None = None,
    validation: Validation | None = None,
) -> dict[str, bytes]:
    """Render a campaign in every format. The same arguments give the same bytes.

    Args:
        languages: one or more codes. Pages and charts in the first language are at the top, those
            in another in a folder with its code; CSV and JSON exist once, in English.
        read_object: reads the trials' series and counts from the store; None: none are shown.
        validation: the outcome of validating these figures; None: left out.

    Example:
        ``make(campaign, comparison, store.trials(campaign.id))["report.md"].decode()``

    Raises:
        LanguageError: there is no locale file for one of the languages.
    """
    known = causes.read(campaign, comparison, results, read_object) if read_object else NO_CAUSES
    texts = figures(campaign, comparison, results, known)
    if validation is not None:
        texts[VALIDATION] = validation.to_json()
    build = functools.partial(
        model.build,
        campaign,
        comparison,
        results,
        series=series.read(results, campaign.plan.throughput.name, read_object)
        if read_object
        else {},
        validation=validation,
        causes=known,
    )
    made: dict[str, bytes] = {}
    for code, page in pages.of_languages(languages).items():
        language = load(code)
        report = build(language=language)
        made |= {
            f"{page.folder}report.md": pages.markdown(report, page).encode(),
            f"{page.folder}report.html": pages.html(report, page).encode(),
            **{f"{page.folder}{name}": drawn for name, drawn in charts.files(report).items()},
        }
        if not page.folder:
            made |= texts
    return made


def figures(
    campaign: Campaign,
    comparison: Comparison,
    results: Sequence[TrialResult],
    known: Causes = NO_CAUSES,
) -> dict[str, bytes]:
    """Render the files that machines read: ``report.json``, ``comparison.csv``, ``trials.csv``."""
    document = json_text.to_json(campaign, comparison, results, known)
    texts = {
        "report.json": json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        "comparison.csv": csv_text.comparison_csv(comparison),
        "trials.csv": csv_text.trials_csv(campaign.plan, results, comparison),
    }
    return {name: text.encode() for name, text in texts.items()}
