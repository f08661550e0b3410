"""The charts of a campaign: changes of its workloads, and each one's figures by thread count.

Example:
    ``files(report)["charts/overview.svg"]`` is an SVG file; pages include the same charts inline.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from benchlab.analysis.cause.profiles import Compared
from benchlab.analysis.cause.split import Part, Split
from benchlab.analysis.verdict.compare import WorkloadComparison
from benchlab.analysis.verdict.decision import Decision
from benchlab.charts import flame as flames
from benchlab.charts.charts import Curve, Row, Step, Strip, curves, forest, sparklines, waterfall
from benchlab.charts.flame import Labels
from benchlab.charts.picture import Picture, sheet
from benchlab.language import Language, message
from benchlab.language.numbers import Numbers
from benchlab.plan.metric import COUNT, LATENCY, THROUGHPUT, Metric
from benchlab.plan.report_type import Side
from benchlab.report.model import counts, figures
from benchlab.report.model.causes import CONFIDENCE
from benchlab.report.model.report import Report, Section
from benchlab.report.model.series import PairSeries
from benchlab.report.sentences import answer, profiles, wording
from benchlab.report.sentences import split as split_sentences
from benchlab.report.sentences.profiles import Functions

# The scale of counts ends at so many times what is called a change: one that doubled would
# otherwise press all others flat.
_MOST_LIMITS = 10


def files(report: Report) -> dict[str, bytes]:
    """Every chart as a file: those of workloads and, if two versions are compared, ``overview``."""
    say = report.language.say
    drawn = {}
    if report.has_verdicts:
        found = changes(report)
        panels = [[found[kind]] for kind in (THROUGHPUT, COUNT) if kind in found]
        drawn["overview"] = sheet(_versions(report), panels)
    for section in report.sections:
        if has_curves(section):
            drawn[file_stem(section)] = sheet(
                section.title,
                [of_workload(report, section)],
                remark=say("chart-marks"),
                legend=legend(report),
            )
        if (whole := split_sentences.of(report, section)) is not None:
            caption, picture = split(report, whole)
            drawn[split_stem(section)] = sheet(section.title, [[("", picture)]], remark=caption)
    drawn |= {flame_stem(one): flame(report, one)[1] for one in profiles.of(report)}
    return {f"charts/{name}.svg": picture.file() for name, picture in drawn.items()}


def has_curves(section: Section) -> bool:
    """Whether a workload has more than one thread count, so that there is a line to draw."""
    return len(section.figures.cells) > 1


def file_stem(section: Section) -> str:
    """The name of a workload's chart file, without its suffix."""
    return _stem(section.figures.name)


def _stem(workload: str) -> str:
    return re.sub(r"[^a-z0-9_-]", "_", workload.lower())


def split_stem(section: Section) -> str:
    """The name of the chart file of where a workload's time went, without its suffix."""
    return f"{file_stem(section)}-split"


def flame_stem(one: Functions) -> str:
    """The name of the file of a flame graph, without its suffix."""
    return f"{_stem(one.workload)}-flame-{one.kind}-{one.role}"


def legend(report: Report) -> list[tuple[str, str]]:
    """The sides, each with its label."""
    return [(side.side, side.label) for side in report.sides.values()]


def changes(report: Report) -> dict[str, tuple[str, Picture]]:
    """Charts of all changes, with their captions: ``throughput``, ``latency`` and ``count``.

    The last one only where counts were decided on.
    """
    return changes_of([(section.title, report, section.figures) for section in report.sections])


def changes_of(
    rows: Sequence[tuple[str, Report, WorkloadComparison]],
) -> dict[str, tuple[str, Picture]]:
    """The same charts for workloads of several campaigns.

    Args:
        rows: a label, the campaign's report and the workload; at least one.
    """
    report = rows[0][1]
    threshold = max(one.spec.threshold_pct for _, one, _ in rows)

    def drawn(
        family: str, ends: Sequence[str], limit: float = threshold, most: float = math.inf
    ) -> tuple[str, Picture]:
        shown = [
            _change(label, one, metric, found)
            for label, one, workload in rows
            for metric, found in workload.decided
            if metric.family == family
        ]
        texts = [report.language.say(end) for end in ends]
        caption = report.language.say(f"site-forest-{family}", limit=report.numbers.limit(limit))
        return caption, forest(shown, report.numbers, threshold_pct=limit, ends=texts, most=most)

    made = {
        THROUGHPUT: drawn(THROUGHPUT, ("chart-slower", "chart-faster")),
        LATENCY: drawn(LATENCY, ("site-shorter", "site-longer")),
    }
    if any(metric.family == COUNT for _, _, one in rows for metric, _ in one.decided):
        limit = counts.THRESHOLD_PCT
        made[COUNT] = drawn(COUNT, ("chart-cheaper", "chart-dearer"), limit, _MOST_LIMITS * limit)
    return made


def _change(label: str, report: Report, metric: Metric, found: Decision) -> Row:
    """A row of a forest; of a count in one line, for there are many."""
    is_count, estimate = metric.family == COUNT, found.estimate_pct
    if metric.kind != metric.family:
        label = f"{label}: {report.language.text(metric.said)}"
    word = (answer.taken_word if is_count else wording.verdict_word)(report, found.verdict)
    word = f"{answer.SIGNS[found.verdict]} {word}"
    if estimate is None and found.verdict in answer.CHANGES:  # a count from none, or to none
        is_more = (found.verdict == "regression") == metric.less_is_better
        estimate = math.inf if is_more else -math.inf
    told = answer.with_interval(report, found, counts.limit(report, metric))
    return Row(
        label=label,
        kind="aa" if report.campaign.is_aa else found.verdict,
        estimate=estimate,
        interval=found.ci95_pct,
        word="" if is_count else word,
        told=f"{word} {told}" if is_count else told,
    )


def of_workload(report: Report, section: Section) -> list[tuple[str, Picture]]:
    """Charts of throughput and latency by thread count, each with its caption."""
    say, shown = report.language.say, figures.display(section, report.language)
    throughput = say("chart-throughput", metric=shown.name, unit=shown.throughput.unit)
    return [
        (throughput, _curves(report, section, shown.throughput.name)),
        (
            say("chart-latency", latency=shown.latency_name),
            _curves(report, section, shown.latency.name),
        ),
    ]


def _curves(report: Report, section: Section, metric: str) -> Picture:
    cells = sorted(section.figures.cells, key=lambda cell: cell.threads)
    say, numbers = report.language.say, report.numbers
    threads = [numbers.whole(cell.threads) for cell in cells]

    def curve(side: Side) -> Curve:
        sides = [cell.sides[side] for cell in cells]
        means = [one.means[metric] for one in sides]
        rounds = [one.by_round(metric).values() for one in sides]
        label = report.sides[side].label
        said = [
            say(
                "chart-mean",
                label=label,
                threads=count,
                mean=numbers.digits(mean, 4),
                low=numbers.digits(min(of_round, default=None), 4),
                high=numbers.digits(max(of_round, default=None), 4),
            )
            for count, mean, of_round in zip(threads, means, rounds, strict=True)
        ]
        return Curve(side, means, rounds, said)

    lines = [curve(side) for side in report.sides]
    return curves(lines, threads, numbers, say("chart-threads"), say("chart-no-trial"))


def split(report: Report, found: Split) -> tuple[str, Picture]:
    """A waterfall from the baseline's throughput to the candidate's, with its caption."""

    def step(part: Part, label: str) -> Step:
        kinds = {"slower": "regression", "faster": "improvement"}
        kind = "aa" if report.campaign.is_aa else kinds.get(split_sentences.way(part), "")
        told = split_sentences.effect(report, part)
        return Step(label, kind, told, part.effect.mean, part.effect.interval(CONFIDENCE))

    steps = [
        step(part, split_sentences.title(report, part)) for part in (found.waits, *found.parts)
    ]
    labels = wording.labels(report)
    whole = step(replace(found.cpu, effect=found.throughput), labels["candidate"])
    caption = report.language.say("chart-split", **labels)
    return caption, waterfall(labels["baseline"], steps, whole, report.numbers)


def flame(report: Report, one: Functions) -> tuple[str, Picture]:
    """A differential flame graph of a component's profiles, with its caption."""
    language, found = report.language, one.found
    kind = message(f"look-{one.kind}")
    caption = language.say("functions-picture", kind=kind, role=profiles.component(one.role))
    labels = flame_labels(language, found, one.told)
    return caption, flames.flame(found.stacks, labels, {part.name for part in found.changed})


def flame_labels(language: Language, found: Compared, title: str) -> Labels:
    """The words of a flame graph of compared profiles."""
    say = language.say

    def sides(baseline: float, candidate: float) -> str:
        which = "both" if baseline and candidate else "gone" if baseline else "new"
        both = {"baseline": baseline, "candidate": candidate}
        amounts = {side: profiles.amount(found, one, language) for side, one in both.items()}
        return say("flame-sides", which=which, **amounts)

    return Labels(
        title,
        say("flame-remark", least=Numbers(language).share(flames.LEAST, 1)),
        tuple(say(f"flame-step-{n}") for n in range(1, 7)),
        say("flame-everything"),
        sides,
        lambda count: say("flame-merged", count=count),
        say("flame-find"),
        say("flame-found", count="{count}", baseline="{baseline}", candidate="{candidate}"),
    )


def series(report: Report, metric: str, pair: PairSeries) -> Picture:
    """Chart throughput, and the busiest host's CPU and disk, over the time of a pair of trials.

    Args:
        metric: the throughput's name, which becomes its title.
    """
    say = report.language.say
    strips = [
        Strip(
            title,
            {side: [*enumerate(getattr(one, name))] for side, one in sorted(pair.sides.items())},
            dict(legend(report)),
            most,
        )
        for name, title, most in (
            ("throughput", metric, None),
            ("cpu", say("series-cpu"), 1.0),
            ("disk", say("series-disk"), 1.0),
        )
    ]
    return sparklines(strips, report.numbers)


def _versions(report: Report) -> str:
    baseline, candidate = report.sides["baseline"], report.sides["candidate"]
    say, engine = report.language.say, report.engine_title
    if report.campaign.is_aa:
        return say("chart-title-aa", engine=engine, version=baseline.version)
    return say("chart-title", engine=engine, candidate=candidate.label, baseline=baseline.label)
