"""News in a long view: sentences about changes, and events for notifications.

Example:
    ``sentence(chain, "tpcc", chain.changes[-1], load("en"))`` begins with ``v7.1.0 made TPC-C
    slower: -4.88% throughput``.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchlab.analysis.trend.change_points import ChangePoint, Drift, Suspect
from benchlab.analysis.verdict.variances import percent, percents
from benchlab.language import Language
from benchlab.language.names import plain, title_of
from benchlab.language.numbers import Numbers
from benchlab.report.notifications.events import Event, Links, Part
from benchlab.studies.long_view.view import ChainView, LongView, linking

Found = ChangePoint | Suspect | Drift
# Only changes among the latest campaigns of a chain are events, so that a new notifier does not
# begin with years of history.
LATEST = 10


def sentence(view: ChainView, workload: str, found: Found, language: Language) -> str:
    """A sentence about one change in a chain."""
    numbers, say = Numbers(language), language.say
    interval = percents(found.ci99 if isinstance(found, Drift) else found.ci95)
    size = {
        "change": numbers.estimate(percent(found.change), view.threshold_pct, interval),
        "interval": numbers.interval(interval, view.threshold_pct),
    }
    what = language.text(view.count.said) if view.count else say("site-metric-throughput")
    if isinstance(found, Drift):
        ends = {"oldest": plain(found.oldest), "newest": plain(found.newest)}
        return say("site-drift", what=what, releases=found.links, **ends, **size)
    size |= {"candidate": plain(found.candidate), "previous": plain(found.previous)}
    if isinstance(found, Suspect):
        baseline, bridged = plain(found.baseline), plain(found.bridged_from)
        return say("site-suspect", baseline=baseline, bridged=bridged, **size)
    words = ("dearer", "cheaper") if view.count else ("slower", "faster")
    name = f"site-change-point-{words[view.is_better(found.change)]}"
    day = f"{view.links[found.index].point.ratio.at:%Y-%m-%d}"
    return say(name, workload=title_of(workload), what=what, day=day, **size)


def events(
    report: str, views: Mapping[str, LongView], language: Language, links: Links = ()
) -> tuple[Event, ...]:
    """An event for recent change points, one for recent suspects, and one for slow drifts.

    Args:
        report: the report type.
        views: by workload; only chains of the newest setting count.
    """
    parts: dict[str, list[Part]] = {}
    for view in [one for both in views.values() for one in (both, *both.counts)]:
        for chain in view.chains:
            for one in () if chain.differs else _recent(chain):
                kind = {ChangePoint: "change-point", Suspect: "suspect", Drift: "drift"}[type(one)]
                parts.setdefault(kind, []).append(_part(view, chain, one, language))
    return tuple(
        Event(
            "drift" if kind == "drift" else "change_point",
            report,
            f"{language.say(f'news-{kind}')}: {report}",
            tuple(of_kind),
            links,
        )
        for kind, of_kind in parts.items()
    )


def _recent(chain: ChainView) -> list[Found]:
    places: tuple[ChangePoint | Suspect, ...] = (*chain.changes, *chain.suspects)
    recent = [place for place in places if place.index >= len(chain.links) - LATEST]
    return [*recent, *([chain.drift] if chain.drift else [])]


def _part(of: LongView, view: ChainView, found: Found, language: Language) -> Part:
    """The part of an event about one change, with marks that identify the change.

    A later campaign may move a change point to a neighbouring pair of campaigns. It is recognized
    by its direction and by the campaign that both pairs share. A suspect is recognized by its
    campaign, and is news again once it is a change point. A drift grows with every campaign; it is
    recognized by the version that it began with.
    """
    report, title = of.report, of.title(language)
    said = sentence(view, of.workload, found, language)
    followed = f"{of.workload}/{of.count.name}" if of.count else of.workload
    beside = f"{report}/{followed}/{'up' if found.change > 0 else 'down'}"
    if isinstance(found, Drift):
        return Part(title, (f"{beside}/{found.oldest}",), (f"{title}: {said}",))
    if isinstance(found, Suspect):
        marks = (f"{beside}/suspected/{found.campaign}",)
        return Part(title, marks, (f"{title}: {said} {linking(report, found)}",))
    campaigns = (found.before, found.campaign)
    reports = tuple(
        (f"Report of {campaign}", address)
        for campaign in campaigns
        for address in _elsewhere(view.addresses[campaign])
    )
    return Part(title, tuple(f"{beside}/{one}" for one in campaigns), (said,), reports)


def _elsewhere(addresses: tuple[str, ...]) -> list[str]:
    """The addresses of a report: the published ones, else its files."""
    return [address for address in addresses if "://" in address] or list(addresses)
