"""What a campaign rents, and the tags by which it is found; Benchlab touches nothing without them.

=====================  ==========================================================
``benchlab:project``   ``benchlab``, on everything
``benchlab:campaign``  the campaign's id
``benchlab:mark``      the mark of its rental, unique to it, across homes
``benchlab:created_at``  when the campaign began to rent, UTC, ISO 8601
``benchlab:expires_at``  when the reaper may take it, UTC, ISO 8601
``benchlab:name``      a host's name in the fleet: ``tikv-1``; what a launch makes only
``benchlab:role``      its role; what a launch makes only
``Name``               for people, in the console
=====================  ==========================================================

Beside them everything has the ``tags`` of its topology, which are a person's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchlab.hosts.fleet import Role
from benchlab.plan.topology import Ec2Topology

PROJECT = "benchlab:project"
PROJECT_NAME = "benchlab"
CAMPAIGN = "benchlab:campaign"
MARK = "benchlab:mark"
NAME = "benchlab:name"
ROLE = "benchlab:role"
CREATED_AT = "benchlab:created_at"
EXPIRES_AT = "benchlab:expires_at"
FOR_PEOPLE = "Name"


@dataclass(frozen=True)
class Rental:
    """What is to be rented for a campaign, and until when.

    It must not differ between two calls for one campaign: the second would send another request
    under the same ClientToken, which AWS refuses.

    Attributes:
        campaign: its id.
        mark: tells the rental from others of that id; from its file.
        topology: hosts, image and network.
        directory: the campaign's; the private key is kept there.
        created_at: when the campaign began to rent, with a time zone; stored with the campaign,
            so that a repeated call has the same.
        lifetime: counted from ``created_at``, by the reaper and by a host, which shuts itself down.
        packages: Debian packages that hosts need, by role.
        old_metadata: the roles whose hosts may ask for their permissions by the instance metadata
            service's first version (IMDSv1), which needs no token.
    """

    campaign: str
    mark: str
    topology: Ec2Topology
    directory: Path
    created_at: datetime
    lifetime: timedelta
    packages: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    old_metadata: frozenset[Role] = frozenset()

    @property
    def name(self) -> str:
        """The name of its key pair and of its security group."""
        return f"benchlab-{self.campaign}-{self.mark}"

    @property
    def expires_at(self) -> datetime:
        """The time from which the reaper may end it."""
        return self.created_at + self.lifetime

    @property
    def own(self) -> dict[str, str]:
        """The tags by which the rental's own things are known."""
        return {**of_campaign(self.campaign), MARK: self.mark}

    @property
    def tags(self) -> dict[str, str]:
        """The tags of the campaign's key pair and security group."""
        return {
            **self.topology.tags,
            **self.own,
            CREATED_AT: written(self.created_at),
            EXPIRES_AT: written(self.expires_at),
            FOR_PEOPLE: f"benchlab {self.campaign}",
        }

    def host_tags(self, name: str, role: Role) -> dict[str, str]:
        """The tags of one host's instance, its volumes and its network interface."""
        people = f"benchlab {self.campaign} {name}"
        return {**self.tags, NAME: name, ROLE: role, FOR_PEOPLE: people}


def of_campaign(campaign: str) -> dict[str, str]:
    """The tags that everything of a campaign carries and is found by, whatever its mark."""
    return {PROJECT: PROJECT_NAME, CAMPAIGN: campaign}


def of_project() -> dict[str, str]:
    """The tag that everything that Benchlab rents carries."""
    return {PROJECT: PROJECT_NAME}


def specifications(values: Mapping[str, str], *kinds: str) -> list[dict[str, Any]]:
    """``TagSpecifications`` for a call that creates these kinds of resource."""
    listed = [{"Key": key, "Value": value} for key, value in values.items()]
    return [{"ResourceType": kind, "Tags": listed} for kind in kinds]


def read(resource: Mapping[str, Any]) -> dict[str, str]:
    """The tags of a described resource."""
    listed: Iterable[Mapping[str, str]] = resource.get("Tags") or ()
    return {tag["Key"]: tag["Value"] for tag in listed}


def written(moment: datetime) -> str:
    """A moment as a tag's value: UTC, to the second, as ``2026-01-31T12:00:00Z``.

    Raises:
        ValueError: the moment has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"{moment}: a moment without a time zone")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str | None) -> datetime | None:
    """A tag's value as a moment in UTC; None if it is missing, unreadable or has no time zone."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else None
