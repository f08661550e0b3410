"""The software table of a report: what ran on each side, and with which tools it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from benchlab.language import Language, side_name
from benchlab.language.names import items, plain, service_of
from benchlab.plan.fields.builds import label
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import Campaign, InstanceFacts

Row: TypeAlias = tuple[str, str, str | None]
"""A component and its side, its version, its git hash."""


def servers(campaign: Campaign, language: Language) -> tuple[Row, ...]:
    """The servers by component, the two sides below each other; empty where none are recorded.

    Servers that run the same version of the same source are in one row, such as
    ``("TiKV (baseline, 3 servers)", "v5.1.1", "1e2d3c")``.
    """
    return tuple(
        group
        for (side, component), peers in _peers(campaign).items()
        for group in _alike(side, _asked(campaign, side, component), peers, language)
    )


def configured(campaign: Campaign, language: Language) -> str | None:
    """Whether the servers of a component are configured alike, as a sentence; None: not known."""
    odd, unknown = [], []
    by_component = _peers(campaign)
    if not by_component:
        return None
    for (side, component), peers in by_component.items():
        digests = {server.config_digest for server in peers}
        service = service_of(component)
        name = language.say("software-component", service=service, side=side_name(side))
        if digests == {None}:
            unknown.append(name)
        elif len(digests) > 1:
            odd.append(name)
    said = language.say("software-alike")
    if odd:
        said = language.say("software-odd", servers=items(odd, language))
    if not unknown:
        return said
    return language.say("software-untold", said=said, servers=items(unknown, language))


def _asked(campaign: Campaign, side: Side, component: str) -> str:
    spec = campaign.plan.sides[side]
    own = {name: build for name, build in spec.builds.items() if name == component}
    return label(spec.version, own)


def _peers(campaign: Campaign) -> dict[tuple[Side, str], list[InstanceFacts]]:
    """The servers by side and component, the two sides of a component next to each other."""
    known = {side: campaign.facts[side].instances for side in SIDES if side in campaign.facts}
    components = dict.fromkeys(one.component for servers in known.values() for one in servers)
    return {
        (side, component): peers
        for component in components
        for side, servers in known.items()
        if (peers := [server for server in servers if server.component == component])
    }


def _alike(
    side: Side, asked: str, peers: Sequence[InstanceFacts], language: Language
) -> Iterator[Row]:
    groups: dict[tuple[str, str | None], list[str]] = {}
    for one in peers:
        groups.setdefault((one.version, one.git_hash), []).append(plain(one.host))
    for (version, git_hash), hosts in groups.items():
        reported = plain(version)
        as_asked = reported.removeprefix("v") == asked.removeprefix("v")
        title = language.say(
            "software-servers" if len(groups) == 1 else "software-servers-on",
            service=service_of(plain(peers[0].component)),
            side=side_name(side),
            count=len(hosts),
            hosts=items(hosts, language),
        )
        said = language.say("software-version", asked=asked, reported=reported)
        yield title, asked if as_asked else said, plain(git_hash) if git_hash else None
