"""The answer as Markdown for GitHub: a comment on a pull request, or the summary of a job.

>>> render(build(campaign, comparison, results)).splitlines()[0]
'### TiDB Sysbench Performance Test Report – v6.5.0 vs. v6.1.0'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchlab.report.formats.markdown import escape
from benchlab.report.model.report import Report
from benchlab.report.sentences import answer, method, trust, wording


def render(report: Report) -> str:
    """Sentence and table of the answer; the reasons are folded below them."""
    say = report.language.say
    columns: Sequence[str] = answer.COLUMNS
    rows: list[Sequence[str]] = [
        (*line[:-2], f"{answer.SIGNS[line.found]} {line.verdict}") for line in answer.lines(report)
    ]
    judged = report.sections
    if not report.has_verdicts:
        columns, rows, judged = answer.HIGHEST, [*answer.highest(report)], ()
    headings = [say(f"column-{name}") for name in columns]
    reasons = [
        *(wording.outcome(report, section) for section in judged),
        *(trust.latency(report, section) for section in judged),
        trust.deployments(report),
        *wording.quality(report),
    ]
    return "\n".join(
        [
            f"### {escape(wording.title(report))}",
            "",
            f"**{escape(answer.summary(report))}**",
            "",
            _row(headings),
            "|---" * len(headings) + "|",
            *map(_row, rows),
            "",
            f"<details><summary>{escape(say('answer-reasons'))}</summary>",
            "",
            *(f"- {escape(reason)}" for reason in reasons),
            "",
            "</details>",
            "",
            f"<sub>{escape(method.about(report))}</sub>",
            "",
        ]
    )


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(escape, cells))} |"
