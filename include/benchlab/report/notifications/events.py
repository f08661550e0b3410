"""What happened that somebody may want to know: data, and the text of the message about it.

An event is of one kind and has parts: the workloads with a verdict, the places of a change, the
task that failed, the things that were ended. They go into one message. Each part has marks, by
which it is recognized, so that nothing is sent twice::

    of_failure("plan", ["no route to host"], datetime.now(UTC), campaign="c1").subject
    'Failed: plan of c1'

Parts of a text come from elsewhere: names, and the words of servers and clients. None of them is
ever taken for a template.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from benchlab.language.names import plain
from benchlab.report.model.report import Report, Section
from benchlab.report.notifications.notifiers import EventKind
from benchlab.report.sentences import answer, wording

Links = Sequence[tuple[str, str]]
"""What is where, as pairs: ``("Report", "s3://reports/c1/report.html")``."""
_LONGEST = 1000


@dataclass(frozen=True)
class Part:
    """One thing that an event is about.

    Attributes:
        title: as the subject has it; equal ones are named once.
        marks: the part was sent before if one of them was.
        said: the sentences about it.
        links: what there is to see of it.
    """

    title: str
    marks: tuple[str, ...]
    said: tuple[str, ...]
    links: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Event:
    """What happened.

    Attributes:
        report: the report type; None if there is none, as for an ended fleet.
        heading: how its subject begins.
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
        """What happened, in one line."""
        titles = ", ".join(dict.fromkeys(part.title for part in self.parts))
        return _line(f"{self.heading}: {titles}", 200)

    @property
    def text(self) -> str:
        """The message: its subject, the sentences, and links."""
        of_parts = [sentence for part in self.parts for sentence in part.said]
        said = dict.fromkeys((*self.lead, *of_parts, *self.rest))
        links = dict.fromkeys((*self.links, *(link for part in self.parts for link in part.links)))
        shown = [f"• {_line(sentence)}" for sentence in said]
        return "\n".join([self.subject, *shown, *(_line(": ".join(link)) for link in links)])


def of_verdicts(report: Report, links: Links = (), *, failed: bool = False) -> tuple[Event, ...]:
    """An event for each verdict that is worth one, with all workloads that have it.

    The verdict on p95 latency counts like the one on throughput, except for ``inconclusive``, which
    it often is because clients print it in steps. A change in an A/A campaign is a false alarm,
    which calibration counts, and a change after a slowdown on purpose is no news: neither is an
    event.

    Args:
        report: of a campaign of two sides.
        failed: whether it is also reported as failed, which says more than ``inconclusive`` does.
    """
    kinds: list[EventKind] = ["regression", "improvement", "unstable", "inconclusive"]
    if report.campaign.is_aa or report.plan.slowdown_pct:
        kinds = kinds[2:]
    if failed:
        kinds.remove("inconclusive")
    name = report.plan.report
    say, sides = report.language.say, {side: of.label for side, of in report.sides.items()}
    lead, rest = (answer.sentence(report),), (wording.deployments(report),)
    found = []
    for kind in kinds:
        parts = tuple(
            Part(section.title, (f"{report.campaign.id}/{section.figures.name}",), said)
            for section in report.sections
            if (said := _outcome(kind, report, section))
        )
        heading = say(
            "news-verdict", report=name, verdict=say(f"verdict-{kind}").capitalize(), **sides
        )
        if parts:
            found.append(Event(kind, name, heading, parts, links, lead, rest))
    return tuple(found)


def of_failure(
    task: str,
    reasons: Sequence[str],
    at: datetime,
    links: Links = (),
    *,
    report: str | None = None,
    campaign: str | None = None,
) -> Event:
    """A task failed.

    Another failure of the same task for the same reason is the same event if it is in the same
    campaign or, outside campaigns, on the same day.

    Args:
        reasons: its own; then those of other tasks that failed before, where there are any.
        at: when, with a time zone; days are those of UTC.
        report, campaign: of the campaign that failed with it; None if there is none.
    """
    mark = f"{campaign or at.astimezone(UTC).date()}/{task}: {reasons[0]}"
    title = f"{task} of {campaign}" if campaign else task
    return Event("failed", report, "Failed", (Part(title, (mark,), tuple(reasons)),), links)


def of_reaped(sentences: Sequence[str], links: Links = ()) -> tuple[Event, ...]:
    """Fleets were ended past their expiry, or those of deleted runs; nothing if none was.

    Args:
        sentences: what was ended, each with its id.
    """
    parts = tuple(Part("rented resources", (sentence,), (sentence,)) for sentence in sentences)
    return (Event("fleet_reaped", None, "Ended by the reaper", parts, links),) if parts else ()


def _outcome(kind: EventKind, report: Report, section: Section) -> tuple[str, ...]:
    """What the report says of those metrics of a workload that have the verdict."""
    found, said = section.figures, list[str]()
    if found.verdict == kind:
        said.append(wording.outcome(report, section))
    if found.latency.verdict == kind and kind != "inconclusive":
        said.append(wording.latency(report, section))
    return tuple(said)


def _line(text: str, longest: int = _LONGEST) -> str:
    text = plain(text)
    return text if len(text) <= longest else f"{text[: longest - 4]} ..."
