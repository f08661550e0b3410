"""The software table of a report: what ran on each side, and with which tools it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchlab.language import Language, side_name
from benchlab.language.names import items, plain, service_of
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import Campaign, InstanceFacts


@dataclass(frozen=True)
class Servers:
    """Servers of one component on one side that are the same version of the same source.

    Attributes:
        title: component, side and number, or the hosts where their peers are others.
        asked: the version that was asked for.
        version: the same, and what the servers say where they write it otherwise.
    """

    component: str
    side: Side
    title: str
    asked: str
    version: str
    git_hash: str | None


def servers(campaign: Campaign, language: Language) -> tuple[Servers, ...]:
    """The servers by component, the two sides below each other; empty where none are recorded."""
    known = {
        side: campaign.facts[side].instances for side in SIDES if side in campaign.facts
    }  # fmt: skip
    components = dict.fromkeys(one.component for found in known.values() for one in found)
    return tuple(
        group
        for component in components
        for side, found in known.items()
        for group in _alike(
            side,
            campaign.plan.sides[side].version,
            [one for one in found if one.component == component],
            language,
        )
    )


def configured(campaign: Campaign, language: Language) -> str | None:
    """Whether the servers of a component are configured alike, as a sentence; None: not known."""
    odd, untold = [], []
    instances = [(side, one) for side in SIDES if side in campaign.facts
                 for one in campaign.facts[side].instances]  # fmt: skip
    if not instances:
        return None
    for side, component in dict.fromkeys((side, one.component) for side, one in instances):
        peers = [one for at, one in instances if (at, one.component) == (side, component)]
        digests = {one.config_digest for one in peers}
        name = language.say(
            "software-component", service=service_of(component), side=side_name(side)
        )
        if digests == {None}:
            untold.append(name)
        elif len(digests) > 1:
            odd.append(name)
    said = (
        language.say("software-odd", servers=items(odd, language))
        if odd
        else language.say("software-alike")
    )
    if not untold:
        return said
    return language.say("software-untold", said=said, servers=items(untold, language))


def _alike(
    side: Side, asked: str, peers: Sequence[InstanceFacts], language: Language
) -> Iterator[Servers]:
    groups: dict[tuple[str, str | None], list[str]] = {}
    for one in peers:
        groups.setdefault((one.version, one.git_hash), []).append(plain(one.host))
    for (version, git_hash), hosts in groups.items():
        component = plain(peers[0].component)
        yield Servers(
            component=component,
            side=side,
            title=language.say(
                "software-servers" if len(groups) == 1 else "software-servers-on",
                service=service_of(component),
                side=side_name(side),
                count=len(hosts),
                hosts=items(hosts, language),
            ),
            asked=asked,
            version=_version(asked, plain(version), language),
            git_hash=plain(git_hash) if git_hash else None,
        )


def _version(asked: str, reported: str, language: Language) -> str:
    if reported.removeprefix("v") == asked.removeprefix("v"):
        return asked
    return language.say("software-version", asked=asked, reported=reported)
