"""The answer as Markdown for GitHub: a comment on a pull request, or the summary of a job.

>>> render(build(campaign, comparison, results)).splitlines()[0]
'### TiDB Sysbench Performance Test Report – v6.5.0 vs. v6.1.0'
"""

from __future__ import annotations

from benchlab.report.formats.markdown import answer_table, escape
from benchlab.report.model.report import Report
from benchlab.report.sentences import answer, method, trust, wording


def render(report: Report) -> str:
    """Sentence and table of the answer; the reasons are folded below them."""
    say = report.language.say
    judged = report.sections if report.has_verdicts else ()
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
            *answer_table(report),
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
