"""All files of a report, as bytes by relative path; a publisher puts them somewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from benchlab.compare import Comparison
from benchlab.report import charts, machine, markdown, model, tables
from benchlab.report.html import render as render_html
from benchlab.results import Campaign, TrialResult

# The directory of the gates' data docs beside the report.
DATA_DOCS = "quality"


def make(
    campaign: Campaign,
    comparison: Comparison,
    results: Sequence[TrialResult],
    data_docs: Mapping[str, bytes] | None = None,
) -> dict[str, bytes]:
    """Render a campaign in every format. The same arguments give the same bytes.

    Args:
        campaign, comparison, results: those of :func:`benchlab.report.model.build`.
        data_docs: the gates' data docs by relative path, which go under ``quality/``; None or
            none: there are none.
    """
    report = model.build(campaign, comparison, results, data_docs=bool(data_docs))
    pictures = charts.draw(report)
    document = machine.to_json(campaign, comparison, results)
    texts = {
        "report.md": markdown.render(report),
        "report.html": render_html(report, pictures),
        "report.json": json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n",
        "comparison.csv": tables.comparison_csv(comparison),
        "trials.csv": tables.trials_csv(results, comparison),
    }
    return {
        **{name: text.encode() for name, text in texts.items()},
        **{f"{DATA_DOCS}/{name}": page for name, page in (data_docs or {}).items()},
        **{f"charts/{name}": picture for name, picture in sorted(pictures.items())},
    }
