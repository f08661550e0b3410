"""An event as a message, in English: a subject, sentences, a table, links.

Parts of it come from elsewhere: names, and the words of servers and clients. Each format escapes
them, and none of them is ever taken for a template::

    mrkdwn(of_reasons(event, links=[("Report", "s3://reports/c1/report.html")]))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain

import jinja2

from benchlab.analysis.trend.drift import Drift
from benchlab.analysis.trend.suspects import Suspect
from benchlab.analysis.verdict.paired import percent
from benchlab.language import templates
from benchlab.language.names import first_of, plain, title_of
from benchlab.report.model.report import Report, Section
from benchlab.report.notifications.events import KINDS, Event, EventKind, WorkloadChange
from benchlab.report.sentences import answer, trust, wording

_HEADINGS: dict[EventKind, str] = {
    **{kind: kind.replace("_", " ").capitalize() for kind in KINDS},
    "drift": "Slow drift",
    "fleet_reaped": "Ended past its expiry",
}
_COLUMNS_OF_CHANGES = ("workload", "from", "to", "change", "interval")
Links = Sequence[tuple[str, str]]
"""What is where, as pairs: ``("Report", "s3://reports/c1/report.html")``."""

_LONGEST_SUBJECT = 200
_LONGEST_SENTENCE = 1000


@dataclass(frozen=True)
class Message:
    """What is sent; in the table, the headings come first; empty where there are no figures."""

    subject: str
    sentences: tuple[str, ...]
    table: tuple[tuple[str, ...], ...]
    links: tuple[tuple[str, str], ...]


def of_verdicts(event: Event, report: Report, links: Links) -> Message:
    """About workloads with a verdict, beside all verdicts of their campaign.

    Args:
        event: has the workloads that are to be reported.
        report: of its campaign.
        links: what else there is to see, and where.
    """
    names = {part.name for part in event.parts}
    sections = [section for section in report.sections if section.figures.name in names]
    baseline, candidate = (report.sides[side].label for side in ("baseline", "candidate"))
    titles = ", ".join(section.title for section in sections)
    outcomes = (_outcome(event.kind, report, section) for section in sections)
    headings = tuple(report.language.say(f"column-{name}") for name in answer.COLUMNS)
    return _message(
        f"{_HEADINGS[event.kind]}: {report.plan.report}, {candidate} against {baseline}: {titles}",
        [answer.sentence(report), *chain.from_iterable(outcomes), trust.deployments(report)],
        links,
        (headings, *(line[: len(headings)] for line in answer.lines(report))),
    )


def of_changes(event: Event, report: Report, links: Links) -> Message:
    """About change points, suspects or slow drifts, with links to the campaigns beside them.

    The arguments are those of :func:`of_verdicts`.
    """
    changes = [(title_of(part.name), part.change) for part in event.parts if part.change]
    titles = ", ".join(dict.fromkeys(title for title, _ in changes))
    notes = (note for title, change in changes for note in _notes(title, change))
    beside = (link for _, change in changes for link in _reports(change))
    suspected = all(change.told_apart_by for _, change in changes)
    heading = "Suspected change" if suspected else _HEADINGS[event.kind]
    return _message(
        f"{heading}: {report.plan.report}: {titles}",
        [*(_changed(report, *change) for change in changes), *dict.fromkeys(notes)],
        [*links, *dict.fromkeys(beside)],
        (_COLUMNS_OF_CHANGES, *(_change_row(report, *change) for change in changes)),
    )


def of_reasons(event: Event, links: Links) -> Message:
    """About what failed, or was ended; the arguments are those of :func:`of_verdicts`."""
    if event.kind == "failed":
        whose = f" of {event.campaign}" if event.campaign else ""
        what = ", ".join(f"{part.name}{whose}" for part in event.parts)
    else:
        count = len(event.parts)
        what = f"{count} rented resource{'s' * (count != 1)}"
    reasons = [reason for part in event.parts for reason in part.reasons]
    return _message(f"{_HEADINGS[event.kind]}: {what}", reasons, links)


def html(message: Message) -> str:
    """As the body of a mail; only addresses of the web become links."""
    return _template().render(message=message, is_web=lambda at: at.startswith(("http:", "https:")))


def mrkdwn(message: Message) -> str:
    """As Slack reads it; its control characters ``& < >`` are escaped, so that nobody is mentioned.

    https://docs.slack.dev/messaging/formatting-message-text/ has the format.
    """
    parts = [f"*{message.subject}*", *(f"• {sentence}" for sentence in message.sentences)]
    if message.table:
        parts.append(f"```\n{_aligned(message.table)}\n```")
    parts += [f"{what}: {address}" for what, address in message.links]
    text = "\n".join(parts)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _message(
    subject: str,
    sentences: Sequence[str],
    links: Links,
    table: Sequence[Sequence[str]] = (),
) -> Message:
    return Message(
        _cut(plain(subject), _LONGEST_SUBJECT),
        tuple(_cut(plain(sentence), _LONGEST_SENTENCE) for sentence in sentences),
        tuple(tuple(map(plain, row)) for row in table),
        tuple((plain(what), plain(address)) for what, address in links),
    )


def _outcome(kind: EventKind, report: Report, section: Section) -> list[str]:
    """What the report says of those metrics of a workload that have the verdict."""
    found, said = section.figures, []
    if found.verdict == kind:
        said.append(wording.outcome(report, section))
    if found.latency.verdict == kind and kind != "inconclusive":
        said.append(trust.latency(report, section))
    return said


def _changed(report: Report, title: str, change: WorkloadChange) -> str:
    _, oldest, newest, size, interval = _change_row(report, title, change)
    found, changed = change.found, f"{title}: throughput changed by {size} ({interval})"
    if isinstance(found, Drift):
        return (
            f"{changed} over {found.links} releases, from {oldest} to {newest}; no change point "
            "explains it."
        )
    if isinstance(found, Suspect):
        return (
            f"{changed} from {oldest} in campaign {found.before} to {newest} in campaign "
            f"{found.campaign} if its new baseline {found.baseline} is as fast as "
            f"{found.bridged_from}; suspected, not separable until this campaign has run: "
            f"{change.told_apart_by}"
        )
    lasted = f"until campaign {change.until}" if change.until else "and stayed there"
    return (
        f"{changed} from {oldest} in campaign {found.before} to {newest} in campaign "
        f"{found.campaign}, {lasted}."
    )


def _change_row(report: Report, title: str, change: WorkloadChange) -> tuple[str, ...]:
    """A change as a row under ``_COLUMNS_OF_CHANGES``."""
    found, numbers, limit = change.found, report.numbers, report.spec.threshold_pct
    if isinstance(found, Drift):
        oldest, newest, level, (low, high) = found.oldest, found.newest, 99, found.ci99
    else:
        oldest, newest, level, (low, high) = found.previous, found.candidate, 95, found.ci95
    within = percent(low), percent(high)
    interval = numbers.interval(within, limit)
    size = numbers.estimate(percent(found.change), limit, within)
    return title, oldest, newest, size, f"{level}% interval {interval}"


def _notes(title: str, change: WorkloadChange) -> Iterator[str]:
    """What readers have to know about the levels beside a change."""
    if change.bridged:
        pairs = first_of([f"{baseline} from {older}" for baseline, older in change.bridged])
        yield (
            f"{title}: a baseline that had not been a candidate has the level of an older version, "
            f"as if nothing had changed in between: {pairs}."
        )
    if change.outliers:
        yield f"{title}: outliers, which did not count: {first_of(change.outliers)}."


def _reports(change: WorkloadChange) -> Iterator[tuple[str, str]]:
    """Where the reports beside a change are: published elsewhere, else in their files."""
    for campaign, addresses in change.addresses.items():
        elsewhere = [address for address in addresses if "://" in address]
        for address in elsewhere or addresses:
            yield f"Report of {campaign}", address


def _aligned(table: Sequence[Sequence[str]]) -> str:
    """Aligned columns for a fixed-width block, without the backticks that would end it."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    text = "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    )
    return text.replace("`", "'")


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 4]} ..."


@cache
def _template() -> jinja2.Template:
    environment = templates.environment("benchlab.report.notifications")
    return environment.get_template("event.html.j2")
