"""What a report says on where the time of a workload went whose throughput changed.

``sentence(report, found)`` is ``"Where the time went: the change of waiting is within the noise
(CPUs busy +0.3%, -0.9% to +1.5%); a query takes 9.1% more CPU (+7.9% to +10.3%)."``
"""

from __future__ import annotations

from benchlab.analysis.cause.split import Part, Split
from benchlab.analysis.verdict.decision import ALPHA
from benchlab.analysis.verdict.variances import percent, percents
from benchlab.language import Message, message
from benchlab.language.names import items
from benchlab.report.model.causes import CONFIDENCE
from benchlab.report.model.report import Report, Section
from benchlab.report.sentences import moved, wording

# From this difference on, the throughput of the trials that have counts is not the verdict's.
_APART_PCT = 1.0


def of(report: Report, section: Section) -> Split | None:
    """A workload's split; None where there is none."""
    found = report.causes.splits.get(section.figures.name)
    return found if isinstance(found, Split) else None


def lacking(report: Report, section: Section) -> list[str]:
    """Why workloads have no split, said once for all of them, at the first."""
    why = report.causes.splits.get(section.figures.name)
    if not isinstance(why, Message):
        return []
    alike = [
        one.title for one in report.sections if report.causes.splits.get(one.figures.name) == why
    ]
    if section.title != alike[0]:
        return []
    each = wording.few(alike, report.language)
    return [report.language.say("split-lacking", workloads=each, why=why)]


def sentence(report: Report, found: Split) -> str:
    """What changed: waiting, CPU, or neither beyond the noise; and the part that did most."""
    waits, cpu = terms(report, found)
    is_clear = bool(way(found.waits) or way(found.cpu) or _seen(found))
    return report.language.say("split-told" if is_clear else "split-unclear", waits=waits, cpu=cpu)


def terms(report: Report, found: Split) -> list[str]:
    """What changed of waiting, and of a query's CPU with the part that did most."""
    seen = _seen(found)
    return [
        report.language.text(_told(report, "split-waits", found.waits, 1)),
        report.language.text(_told(report, "split-cpu", found.cpu, -1))
        + (report.language.text(_part(report, found, seen)) if seen else ""),
    ]


def _seen(found: Split) -> Part | None:
    """The part that did most, if that is no chance of many."""
    largest = max(found.parts, key=lambda one: abs(one.effect.mean))
    is_seen = largest.effect.p_value * len(found.parts) < ALPHA
    return largest if len(found.parts) > 1 and is_seen else None


def way(part: Part) -> str:
    """Whether it makes a workload ``slower`` or ``faster``; empty where that may be noise."""
    low, high = part.effect.interval(CONFIDENCE)
    return "slower" if high < 0 else "faster" if low > 0 else ""


def effect(report: Report, part: Part) -> str:
    """What a part does to throughput, with its interval: ``-9.1% (-10.3% to -8.0%)``."""
    return report.language.say("change-with-interval", **_figures(report, part, 1))


def rows(report: Report, found: Split) -> list[list[str]]:
    """Waiting, the CPU of a query, and its parts: of each side, and what it does to throughput."""
    made = []
    for part in (found.waits, found.cpu, *found.parts):
        which = "split-busy" if part is found.waits else "split-of-query"
        both = (report.numbers.digits(one, 3) for one in (part.baseline, part.candidate))
        of_sides = (report.language.say(which, figure=one) for one in both)
        made.append([title(report, part), *of_sides, effect(report, part)])
    return made


def columns(report: Report) -> list[str]:
    """The headings of :func:`rows`."""
    say, labels = report.language.say, wording.labels(report).values()
    return [say("column-part"), *labels, say("column-effect")]


def title(report: Report, part: Part) -> str:
    """A part's name: ``TiKV: scheduler``."""
    return report.language.text(_named(part))


def notes(report: Report, section: Section, found: Split) -> list[str]:
    """Where it rests on fewer trials than the verdict, or on another change of throughput."""
    say, said = report.language.say, list[str]()
    ours, theirs = (
        items(map(str, threads), report.language)
        for threads in (found.threads, found.verdict_threads)
    )
    if (found.rounds, ours) != (found.verdict_rounds, theirs):
        threads = "all" if ours == theirs else ours
        values = {"rounds": found.rounds, "of": found.verdict_rounds}
        said.append(say("split-fewer", threads=threads, **values))
    verdict = section.figures.estimate_pct
    own = percent(found.throughput.mean)
    if verdict is not None and abs(own - verdict) >= _APART_PCT:
        change = report.numbers.change
        said.append(say("split-apart", own=change(own), verdict=change(verdict)))
    return said + moved.unread(report, section.figures.name)


def _told(report: Report, which: str, part: Part, sign: int) -> Message:
    """A term in words; ``sign``: -1 where more of it makes a workload slower."""
    how = {"slower": "more", "faster": "less"}.get(way(part), "same")
    return message(which, how=how, **_figures(report, part, sign))


def _part(report: Report, found: Split, part: Part) -> Message:
    """The part that did most: how much of the whole, and microseconds."""
    more = part.candidate - part.baseline
    whole = found.cpu.candidate - found.cpu.baseline
    share = "apart"
    if way(found.cpu) == way(part):
        share = "most" if abs(more) > abs(whole) / 2 else "some"
    sized = f"{'+' if more > 0 else ''}{report.numbers.digits(more, 3)}"
    size = message("split-of-query", figure=sized)
    return message("split-part", share=share, part=_named(part), size=size)


def _named(part: Part) -> Message:
    return message(f"part-{part.name.replace('_', '-')}")


def _figures(report: Report, part: Part, sign: int) -> dict[str, str]:
    """Change, its size and its interval; of what grows where throughput falls, with sign -1."""
    low, high = sorted(sign * end for end in part.effect.interval(CONFIDENCE))
    interval = percents((low, high))
    change = percent(sign * part.effect.mean)
    numbers = report.numbers
    return {
        "change": numbers.estimate(change, 0, interval),
        "size": numbers.size(change, 0, interval),
        "interval": numbers.interval(interval, 0),
    }
