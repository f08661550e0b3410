"""Shows the long view of a workload in a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchlab.analysis.trend.chain import NEWEST
from benchlab.analysis.trend.change_points import MIN_POINTS, ChangePoint, Suspect
from benchlab.analysis.verdict.variances import percent, percents
from benchlab.language import Language, english
from benchlab.language.names import clauses, first_of, items, plain
from benchlab.language.numbers import Numbers
from benchlab.plan.versions import is_same
from benchlab.report.formats.console import print_table, table_of
from benchlab.report.formats.plan_text import duration
from benchlab.studies.long_view.selection import MIN_CAMPAIGNS, Differences, NoiseOfCampaigns
from benchlab.studies.long_view.view import ChainView, Link, LongView, linking

_ABOUT = (
    "change: of the campaign, candidate against baseline. level: these changes chained, against "
    "{first}, the first baseline."
)
# Marks of levels that contain an unmeasured step.
_BRIDGED, _BEGINS = "*", "**"
_COLOUR = {True: "green", False: "red"}


def to_json(view: LongView) -> dict[str, Any]:
    """The long view as JSON: changes and levels in percent, times in ISO 8601."""
    return {
        "report": view.report,
        "workload": view.workload,
        "chains": [_chain_json(view.report, chain) for chain in view.chains],
        "left_out": [{"campaign": name, "why": str(why)} for name, why in view.left_out.items()],
        "counts": {one.count.name: to_json(one) for one in view.counts if one.count},
    }


def _chain_json(report: str, view: ChainView) -> dict[str, Any]:
    return {
        "line": view.line,
        "differs": {
            name: {"here": here, "newer": newer} for name, (here, newer) in view.differs.items()
        },
        "metric": view.metric,
        "threshold_pct": view.threshold_pct,
        "noise": {
            "sd_pct": None if view.noise.sd is None else percent(view.noise.sd),
            "aa_campaigns": [
                {"campaign": found.campaign, "at": found.at.isoformat(),
                 "change_pct": percent(found.log_ratio)}
                for found in view.noise.figures
            ],
        },
        "points": [_link_json(link) for link in view.links],
        "points_needed": MIN_POINTS,
        "change_points": [_change_json(view, found) for found in view.changes],
        "suspects": [_suspect_json(report, view, found) for found in view.suspects],
        "outliers": view.outliers,
        "drift": (drift := view.drift) and {
            "oldest": drift.oldest,
            "newest": drift.newest,
            "releases": drift.links,
            "change_pct": percent(drift.change),
            "ci99_pct": percents(drift.ci99),
            "p": drift.p,
        },
    }  # fmt: skip


def _link_json(link: Link) -> dict[str, Any]:
    ratio = link.point.ratio
    return {
        "campaign": ratio.campaign,
        "at": ratio.at.isoformat(),
        "baseline": ratio.baseline,
        "candidate": ratio.candidate,
        "change_pct": percent(ratio.log_ratio),
        "ci95_pct": link.ci95_pct,
        "level_pct": percent(link.point.level),
        "level_ci95_pct": link.level_ci95 and percents(link.level_ci95),
        "bridged_from": link.point.bridged_from,
        "contains_bridge": link.bridged,
    }


def _change_json(view: ChainView, found: ChangePoint) -> dict[str, Any]:
    beside = (found.before, found.campaign)
    return {
        **{name: getattr(found, name) for name in ("before", "campaign", "previous", "candidate")},
        "change_pct": percent(found.change),
        "ci95_pct": percents(found.ci95),
        "p": found.p,
        "reports": {campaign: view.addresses[campaign] for campaign in beside},
    }


def _suspect_json(report: str, view: ChainView, found: Suspect) -> dict[str, Any]:
    names = ("before", "campaign", "previous", "candidate", "baseline", "bridged_from")
    return {
        **{name: getattr(found, name) for name in names},
        "change_pct": percent(found.change),
        "ci95_pct": percents(found.ci95),
        "told_apart_by": {
            "baseline": found.linking,
            "candidate": found.candidate,
            "command": linking(report, found),
            "minutes": view.minutes,
            "dollars": view.dollars,
        },
    }


def write(console: Console, view: LongView) -> None:
    """Print a long view for people."""
    console.print(Text(f"Long view of {view.report}", style="bold"))
    for chain in view.chains:
        if chain.differs:
            differs = differences(chain.differs, english())
            console.print(Text(f"In another setting: {differs}"))
        if view.has_lines:
            about = "no candidate is older than one before it"
            if chain.line != NEWEST:
                about = "candidates of this series that are out of line newest"
            console.print(Text(f"Line {chain.line}: {about}", style="bold"))
        console.print(Text(_ABOUT.format(first=plain(chain.first_baseline))))
        print_table(console, _table(chain))
        for line in _below(view.report, chain):
            console.print(line)
        console.print()
    for count in view.counts:
        _write_count(console, count)
    _write_left_out(console, view)


def _write_left_out(console: Console, view: LongView) -> None:
    by_reason: dict[str, list[str]] = {}
    for campaign, why in view.left_out.items():
        by_reason.setdefault(str(why), []).append(campaign)
    for reason, campaigns in by_reason.items():
        console.print(Text(f"Left out: {first_of(campaigns)}: {plain(reason)}", style="dim"))


def _write_count(console: Console, view: LongView) -> None:
    """What was found of a count in the newest setting; JSON has its points."""
    console.print(Text(view.title(english()), style="bold"))
    for chain in view.chains:
        if not chain.differs:
            level = Numbers(english()).change(percent(chain.links[-1].point.level))
            console.print(Text(f"Line {chain.line}: {level} against {plain(chain.first_baseline)}"))
            console.print(*_below(view.report, chain), sep="\n")
    _write_left_out(console, view)


def differences(found: Differences, language: Language) -> str:
    """How an older setting differs from the next newer one: ``topology small, later large``."""
    return clauses(
        (
            language.say(
                "setting-differs", name=name, here=_value(here, language),
                newer=_value(newer, language),
            )
            for name, (here, newer) in found.items()
        ),
        language,
    )  # fmt: skip


def _value(found: object, language: Language) -> str:
    if isinstance(found, Mapping):
        each = (f"{key}={_value(value, language)}" for key, value in found.items())
        return items(each, language)
    if isinstance(found, Sequence) and not isinstance(found, str):
        return items((_value(value, language) for value in found), language)
    return language.say("site-none") if found is None else plain(str(found))


def _table(view: ChainView) -> Table:
    numbers = Numbers(english())
    table = table_of("day", "versions", "change", "95% interval", "level")
    for link in view.links:
        ratio = link.point.ratio
        mark = _BRIDGED if link.point.bridged_from else _BEGINS if _begins(view, link) else ""
        table.add_row(
            f"{ratio.at:%Y-%m-%d}",
            f"{plain(ratio.candidate)} vs. {plain(ratio.baseline)}",
            numbers.estimate(percent(ratio.log_ratio), view.threshold_pct, link.ci95_pct),
            numbers.interval(link.ci95_pct, view.threshold_pct),
            f"{numbers.change(percent(link.point.level))} {mark}".rstrip(),
        )
    return table


def _begins(view: ChainView, link: Link) -> bool:
    """Whether a level is relative to another baseline than the first one of the chain."""
    begins = not link.point.before and link.point.bridged_from is None
    return begins and not is_same(link.point.ratio.baseline, view.first_baseline)


def _below(report: str, view: ChainView) -> Iterator[Text]:
    yield from _marks(view)
    yield Text(noise(view.noise))
    if view.lacks_points:
        count = len(view.links)
        there = f"there {'is' if count == 1 else 'are'} {count}"
        yield Text(f"Change points need {MIN_POINTS} campaigns; {there}.")
    elif not view.changes:
        yield Text("No change point.")
    for found in view.changes:
        yield from _change(view, found)
    for suspect in view.suspects:
        yield from _suspect(report, view, suspect)
    if view.outliers:
        yield Text(f"Outliers, which did not count: {', '.join(view.outliers)}")
    if drift := view.drift:
        change = _sized(drift.change, "99%", drift.ci99, view.threshold_pct)
        yield Text(
            f"Slow drift: {change} over {drift.links} releases, {plain(drift.oldest)} -> "
            f"{plain(drift.newest)}; no change point explains it.",
            style=_COLOUR[view.is_better(drift.change)],
        )


def _marks(view: ChainView) -> Iterator[Text]:
    """Sentences about the meaning of the marks next to levels."""
    bridges = dict.fromkeys(
        f"{plain(link.point.ratio.baseline)} from {plain(link.point.bridged_from)}"
        for link in view.links
        if link.point.bridged_from is not None
    )
    if bridges:
        yield Text(
            f"{_BRIDGED} The baseline had not been a candidate; its level is that of an older "
            f"version, as if nothing had changed in between: {', '.join(bridges)}. How far that is "
            "wrong is not known, so that levels with such a step have no interval.",
            style="dim",
        )
    if any(_begins(view, link) for link in view.links):
        text = f"{_BEGINS} Against its own baseline: nothing older had been measured."
        yield Text(text, style="dim")


def noise(found: NoiseOfCampaigns) -> str:
    """A sentence about how far the A/A campaigns scatter."""
    count = len(found.figures)
    if found.sd is None:
        return f"A/A campaigns: {count}; from {MIN_CAMPAIGNS} on they show the noise."
    sd = Numbers(english()).rate(percent(found.sd), 2)
    return f"A/A campaigns: {count}; they scatter by {sd}% (standard deviation)."


def _change(view: ChainView, found: ChangePoint) -> Iterator[Text]:
    change = _sized(found.change, "95%", found.ci95, view.threshold_pct)
    yield Text(
        f"Change point: {change}, {plain(found.previous)} -> {plain(found.candidate)}",
        style=_COLOUR[view.is_better(found.change)],
    )
    for when, campaign in (("last before", found.before), ("first after", found.campaign)):
        at = view.addresses[campaign] or (f"`benchlab render {campaign}`",)
        yield Text("  ".join([f"  {when}", campaign, *map(plain, at)]))


def _suspect(report: str, view: ChainView, found: Suspect) -> Iterator[Text]:
    change = _sized(found.change, "95%", found.ci95, view.threshold_pct)
    yield Text(
        f"Suspected, not separable: {change}, {plain(found.previous)} -> {plain(found.candidate)}, "
        f"if the baseline {plain(found.baseline)} does not differ from {plain(found.bridged_from)}"
        f". It came with {plain(found.candidate)}, and no campaign has measured it: the change may "
        "be its own."
    )
    cost = f"about {duration(view.minutes)}"
    if view.dollars is not None:
        cost += f" and {view.dollars:.2f} dollars"
    yield Text(f"  told apart by  {linking(report, found)}  ({cost})")


def _sized(
    change: float, confidence: str, interval: tuple[float, float], threshold_pct: float
) -> str:
    """A log ratio in percent: ``-3.92% (99% interval -5.82% to -1.98%)``."""
    numbers = Numbers(english())
    within = numbers.interval(percents(interval), threshold_pct)
    estimate = numbers.estimate(percent(change), threshold_pct, percents(interval))
    return f"{estimate} ({confidence} interval {within})"
