"""The software table of a report: what ran on each side, and with which tools it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchlab.report.names import plain, service_of
from benchlab.results import Campaign, InstanceFacts
from benchlab.spec import SIDES, Side


@dataclass(frozen=True)
class Servers:
    """Servers of one component on one side that are the same version of the same source.

    Attributes:
        hosts: those that they are on.
        all_of_them: the side has no others of this component.
        asked: the version that was asked for.
        reported: what they say themselves.
    """

    component: str
    side: Side
    hosts: tuple[str, ...]
    all_of_them: bool
    asked: str
    reported: str
    git_hash: str | None

    @property
    def title(self) -> str:
        """Component, side and number, or the hosts where their peers are others."""
        count = len(self.hosts)
        what = f"{count} server{'s' * (count != 1)}"
        where = what if self.all_of_them else f"{what} on {', '.join(self.hosts)}"
        return f"{service_of(self.component)} ({self.side}, {where})"

    @property
    def version(self) -> str:
        """The version asked for, and what the servers say where they write it otherwise."""
        if self.reported.removeprefix("v") == self.asked.removeprefix("v"):
            return self.asked
        return f"{self.asked} (server: {self.reported})"


def servers(campaign: Campaign) -> tuple[Servers, ...]:
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
        )
    )


def configured(campaign: Campaign) -> str | None:
    """Whether the servers of a component are configured alike, as a sentence; None: not known."""
    odd, untold = [], []
    instances = [(side, one) for side in SIDES if side in campaign.facts
                 for one in campaign.facts[side].instances]  # fmt: skip
    if not instances:
        return None
    for side, component in dict.fromkeys((side, one.component) for side, one in instances):
        peers = [one for at, one in instances if (at, one.component) == (side, component)]
        digests = {one.config_digest for one in peers}
        name = f"{service_of(component)} ({side})"
        if digests == {None}:
            untold.append(name)
        elif len(digests) > 1:
            odd.append(name)
    said = (
        f"Servers of one component are not all configured alike: {', '.join(odd)}."
        if odd
        else "On each side, the servers of a component are configured alike: the digests of their "
        "effective configurations agree."
    )
    return f"{said} Not told by: {', '.join(untold)}." if untold else said


def _alike(side: Side, asked: str, peers: Sequence[InstanceFacts]) -> Iterator[Servers]:
    groups: dict[tuple[str, str | None], list[str]] = {}
    for one in peers:
        groups.setdefault((one.version, one.git_hash), []).append(plain(one.host))
    for (version, git_hash), hosts in groups.items():
        yield Servers(
            component=plain(peers[0].component),
            side=side,
            hosts=tuple(hosts),
            all_of_them=len(groups) == 1,
            asked=asked,
            reported=plain(version),
            git_hash=plain(git_hash) if git_hash else None,
        )
