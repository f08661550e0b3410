"""Events that people may want to be notified of, and the text of the message about each.

An event has a kind and parts, which share one message: workloads with a verdict, places of a
change, the failed task, what the reaper ended. A part has marks by which it is recognized, so that
nothing is sent twice:

>>> of_failure("plan", ["no route to host"], datetime.now(UTC), campaign="c1").subject
'Failed: plan of c1'

Texts may contain names and output of servers and clients; they are never used as templates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from benchlab.language.names import plain
from benchlab.plan.fields.budget import APPROVAL_DAYS
from benchlab.report.model import canary
from benchlab.report.model.report import Report, Section
from benchlab.report.notifications.notifiers import EventKind
from benchlab.report.sentences import answer, opening, why, wording
from benchlab.results.findings import DIRECTIONS, QUIET, Finding

Links = Sequence[tuple[str, str]]
"""Pairs of a name and an address: ``("Report", "s3://reports/c1/report.html")``."""
_LONGEST, _MOST_LINES = 1000, 20
_WAYS = {**DIRECTIONS, **{answer.TAKEN[kind]: way for kind, way in DIRECTIONS.items()}}


@dataclass(frozen=True)
class Part:
    """One thing that an event is about.

    Attributes:
        title: in the subject; equal titles are named once.
        marks: the part counts as sent if one of them was sent before.
        said: sentences about it.
        links: to pages about it.
    """

    title: str
    marks: tuple[str, ...]
    said: tuple[str, ...]
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Event:
    """Something to notify people of.

    Attributes:
        report: the report type; None if there is none, as for an ended fleet.
        heading: the beginning of the subject.
        parts: at least one.
        lead, rest: sentences before and after those of the parts.
    """

    kind: EventKind
    report: str | None
    heading: str
    parts: tuple[Part, ...]
    links: Links = ()
    lead: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The event in one line of at most 200 characters."""
        titles = ", ".join(dict.fromkeys(part.title for part in self.parts))
        return _line(f"{self.heading}: {titles}", 200)

    @property
    def text(self) -> str:
        """The message: subject, sentences and links, a line each."""
        of_parts = [sentence for part in self.parts for sentence in part.said]
        said = dict.fromkeys((*self.lead, *of_parts, *self.rest))
        links = dict.fromkeys((*self.links, *(link for part in self.parts for link in part.links)))
        shown = [f"• {_line(sentence)}" for sentence in said][:_MOST_LINES]
        if (more := len(said) - len(shown)) > 0:
            shown.append(f"• ... (+{more})")
        return "\n".join([self.subject, *shown, *(_line(": ".join(link)) for link in links)])


def of_verdicts(
    report: Report, links: Links = (), *, failed: bool = False, findings: Sequence[Finding] = ()
) -> tuple[Event, ...]:
    """One event for each kind of verdict found except ``equivalent``, with all its workloads.

    Verdicts on p95 latency count like those on throughput, except ``inconclusive``, which is
    frequent there because clients print latency in steps. Changes of counts are events of their
    own: what is dearer need not be slower. Changes are no events in an A/A campaign,
    where they are false alarms, nor with a slowdown on purpose. Of a canary the only event is that
    it was missed.

    Args:
        report: of a campaign with two sides.
        failed: whether a failure is reported as well, which makes ``inconclusive`` redundant.
        findings: those that the campaign shows; of known and wanted ones nothing is said, the
            others are named.
    """
    if report.campaign.is_canary:
        return _of_canary(report, links)
    kinds: list[EventKind] = ["unstable", "inconclusive"]
    if not (report.campaign.is_aa or report.plan.slowdown_pct):
        kinds = ["regression", "improvement", "dearer", "cheaper", *kinds]
    if failed:
        kinds.remove("inconclusive")
    name = report.plan.report
    say, sides = report.language.say, {side: of.label for side, of in report.sides.items()}
    lead = (*opening.sentences(report), *why.lines(report))
    found = []
    for kind in kinds:
        parts = tuple(
            Part(section.title, (f"{report.campaign.id}/{section.figures.name}",), said)
            for section in report.sections
            if (said := _told(kind, report, section, findings))
        )
        heading = say(
            "news-verdict", report=name, verdict=say(f"verdict-{kind}").capitalize(), **sides
        )
        if parts:
            rest = () if kind in answer.TAKEN.values() else (wording.deployments(report),)
            found.append(Event(kind, name, heading, parts, links, lead, rest))
    return tuple(found)


def _of_canary(report: Report, links: Links) -> tuple[Event, ...]:
    planted, name = canary.planted_in(report), report.plan.report
    if planted is None or canary.is_found_in(planted, report):
        return ()
    said = *opening.sentences(report), wording.outcome(report, planted)
    part = Part(planted.title, (f"{report.campaign.id}/canary",), said)
    heading = report.language.say("news-canary-missed", report=name)
    return (Event("canary_missed", name, heading, (part,), links),)


def of_failure(
    task: str,
    reasons: Sequence[str],
    at: datetime,
    links: Links = (),
    *,
    report: str | None = None,
    campaign: str | None = None,
) -> Event:
    """The event of a failed task.

    The same task failing for the same reason is the same event within a campaign or, outside
    campaigns, within a day (UTC).

    Args:
        reasons: the task's own, then those of tasks that failed before it.
        at: when it failed, with a time zone.
        report, campaign: those of the failed campaign; None outside campaigns.
    """
    mark = f"{campaign or at.astimezone(UTC).date()}/{task}: {reasons[0]}"
    title = f"{task} of {campaign}" if campaign else task
    return Event("failed", report, "Failed", (Part(title, (mark,), tuple(reasons)),), links)


def of_approval(
    report: str,
    campaign: str,
    dollars: float | None,
    asked_at: datetime,
    at: datetime,
    links: Links = (),
) -> Event:
    """The event that a campaign waits for a person to approve its cost: when it begins to, and
    once more after a day.

    Args:
        dollars: about what it costs.
        asked_at, at: since when it waits, and now, with time zones.
    """
    again = at - asked_at >= timedelta(days=1)
    ends = asked_at + timedelta(days=APPROVAL_DAYS)
    costs = "its cost is not known" if dollars is None else f"it costs about {dollars:.2f} dollars"
    asked, ended = (f"{one.astimezone(UTC):%Y-%m-%d %H:%M} UTC" for one in (asked_at, ends))
    said = (
        f"{costs}; nothing is rented before a person has approved it",
        f"asked at {asked}; without an answer it fails at {ended}",
    )
    mark = f"{campaign}/approval/{asked_at.isoformat()}/{'again' if again else 'first'}"
    heading = "Still waits for approval" if again else "Waits for approval"
    return Event("approval", report, heading, (Part(campaign, (mark,), said),), links)


def of_reaped(sentences: Sequence[str], links: Links = ()) -> tuple[Event, ...]:
    """The event that the reaper ended rented resources; empty if it ended none.

    Args:
        sentences: one for each resource, with its id.
    """
    parts = tuple(Part("rented resources", (sentence,), (sentence,)) for sentence in sentences)
    return (Event("fleet_reaped", None, "Ended by the reaper", parts, links),) if parts else ()


def _outcome(kind: EventKind, report: Report, section: Section) -> tuple[str, ...]:
    """The report's sentences on the metrics of a workload that have this verdict."""
    found, said = section.figures, list(answer.changes_of_counts(report, section, kind))
    if found.verdict == kind:
        said.append(wording.outcome(report, section))
    if any(one.verdict == kind for _, one in found.latencies) and kind != "inconclusive":
        said.append(wording.latency(report, section))
    return tuple(said)


def _told(
    kind: EventKind, report: Report, section: Section, findings: Sequence[Finding]
) -> tuple[str, ...]:
    """The outcome with the number of its finding; nothing where that is to stay quiet."""
    said, key = _outcome(kind, report, section), (section.figures.name, _WAYS.get(kind))
    found = next((one for one in findings if (one.workload, one.direction) == key), None)
    if not said or found is None:
        return said
    if found.state in QUIET:
        return ()
    how, own = "first", report.campaign.id
    if any(entry.campaign == own for entry in found.history[-1:]):
        was_quiet = any(entry.state in QUIET for entry in found.history[-2:-1])
        how = "larger" if was_quiet else "again"
    named = {"workload": section.title, "number": str(found.id)}
    return (*said, report.language.say("news-finding", how=how, **named))


def _line(text: str, longest: int = _LONGEST) -> str:
    text = plain(text)
    return text if len(text) <= longest else f"{text[: longest - 4]} ..."
