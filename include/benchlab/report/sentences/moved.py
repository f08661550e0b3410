"""What changed with the workloads that changed, as every format says it.

Example:
    ``workloads(report)[0].sentence`` is ``"Insert: of 27 counts, 3 moved with it; the clearest:
    rows read per query (+100.00%)."``
"""

from __future__ import annotations

from typing import NamedTuple

from benchlab.analysis.cause.ranked import CountChange, Ranked
from benchlab.language.names import title_of
from benchlab.report.model import counts
from benchlab.report.model.report import Report
from benchlab.report.sentences import wording

MOST_CLUSTERS = 10


class Moved(NamedTuple):
    """A workload's sentence, the rows of its table, and how many more there are."""

    sentence: str
    rows: list[list[str]]
    more: str


def workloads(report: Report) -> list[Moved]:
    """A part for each workload that changed and whose servers' counters were read."""
    return [
        _of(report, title_of(name), found) for name, found in report.causes.ranked.items() if found
    ]


def about(report: Report) -> list[str]:
    """What the tables are, or that there are none; and what could not be read.

    Empty where no workload changed.
    """
    if not report.causes.ranked:
        return []
    which = "moved-about" if any(report.causes.ranked.values()) else "moved-uncounted"
    return [report.language.say(which), *unread(report, *report.causes.unread)]


def unread(report: Report, *workloads: str) -> list[str]:
    """Of how many trials of these workloads the counts could not be read, if of any."""
    found = [report.causes.unread[name] for name in workloads if name in report.causes.unread]
    if not found:
        return []
    lost, trials = map(sum, zip(*found, strict=True))
    return [report.language.say("moved-unread", unread=lost, trials=trials)]


def columns(report: Report) -> list[str]:
    """The headings: count, each side's version, change, what moved along."""
    say = report.language.say
    return [
        say("column-count-of-query"),
        *(side.label for side in report.sides.values()),
        *(say(f"column-{name}") for name in ("change", "with-it")),
    ]


def _of(report: Report, workload: str, found: Ranked) -> Moved:
    say, clusters = report.language.say, found.clusters[:MOST_CLUSTERS]
    more = len(found.clusters) - len(clusters)
    rows = [
        [
            _title(report, cluster.leading),
            *(
                counts.shown(report, value, cluster.leading.metric)
                for value in (cluster.leading.before, cluster.leading.after)
            ),
            _change(report, cluster.leading),
            wording.few(
                [f"{_name(report, one)} {_change(report, one)}" for one in cluster.others],
                report.language,
            ),
        ]
        for cluster in clusters
    ]
    return Moved(
        _sentence(report, workload, found), rows, say("moved-more", more=more) if more else ""
    )


def in_short(report: Report, found: Ranked) -> str:
    """How many counts moved with a workload, and the clearest of them."""
    first = found.clusters[0].leading
    return report.language.say(
        "moved-in-short",
        counts=found.counts,
        moved=found.moved,
        count=_name(report, first),
        change=_change(report, first),
        load="yes" if first.metric.of_load else "no",
    )


def _sentence(report: Report, workload: str, found: Ranked) -> str:
    say = report.language.say
    if not found.clusters:
        which = "none" if found.counts else "few"
        return say(f"moved-{which}", workload=workload, counts=found.counts)
    first = found.clusters[0].leading
    return say(
        "moved-by-load" if first.metric.of_load else "moved-some",
        workload=workload,
        counts=found.counts,
        moved=found.moved,
        count=_name(report, first),
        change=_change(report, first),
    )


def _title(report: Report, one: CountChange) -> str:
    name = _name(report, one)
    return report.language.say("moved-of-load", count=name) if one.metric.of_load else name


def _name(report: Report, one: CountChange) -> str:
    return report.language.text(one.metric.said)


def _change(report: Report, one: CountChange) -> str:
    if one.pct is None:
        return report.language.say("moved-appeared" if one.change > 0 else "moved-vanished")
    return report.numbers.change(one.pct)
