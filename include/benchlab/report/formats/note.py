"""The answer as a short text in Markdown, for a place that holds few characters.

>>> render(build(campaign, comparison, results), 1000).splitlines()[0]
'1 workload: 1 improvement (Point Select +5%). p95 latency: 1 equivalent.'
"""

from __future__ import annotations

from benchlab.report.formats import markdown
from benchlab.report.model.report import Report
from benchlab.report.sentences import answer

_HEAD = 2


def render(report: Report, room: int) -> str:
    """The sentence, then as many rows of the table as there is room for; the others are counted.

    Args:
        room: how many characters it may have; a sentence that has more is cut.
    """
    said, table = markdown.escape(answer.sentence(report)), markdown.answer_table(report)
    for end in range(len(table), _HEAD, -1):
        more = len(table) - end
        rest = ["", report.language.say("answer-more", more=more)] if more else []
        if len(made := "\n".join([said, "", *table[:end], *rest])) <= room:
            return made
    return said[:room]
