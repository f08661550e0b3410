"""The tags by which everything rented is found again, and nothing else is touched.

=====================  ==========================================================
``benchlab:project``   ``benchlab``, on everything
``benchlab:campaign``  the campaign's id
``benchlab:created_at``  when the campaign began to rent, UTC, ISO 8601
``benchlab:expires_at``  when the reaper may take it, UTC, ISO 8601
``benchlab:name``      a host's name in the fleet: ``tikv-1``; instances and volumes only
``benchlab:role``      its role; instances and volumes only
``Name``               for people, in the console
=====================  ==========================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from benchlab.fleet import Role

PROJECT = "benchlab:project"
PROJECT_NAME = "benchlab"
CAMPAIGN = "benchlab:campaign"
NAME = "benchlab:name"
ROLE = "benchlab:role"
CREATED_AT = "benchlab:created_at"
EXPIRES_AT = "benchlab:expires_at"
FOR_PEOPLE = "Name"


def of_campaign(campaign: str) -> dict[str, str]:
    """What everything of a campaign carries, and is found by."""
    return {PROJECT: PROJECT_NAME, CAMPAIGN: campaign}


def of_project() -> dict[str, str]:
    """What everything that Benchlab ever rents carries."""
    return {PROJECT: PROJECT_NAME}


def for_campaign(campaign: str, created_at: datetime, expires_at: datetime) -> dict[str, str]:
    """The tags of a campaign's key pair and security group."""
    return {
        **of_campaign(campaign),
        CREATED_AT: written(created_at),
        EXPIRES_AT: written(expires_at),
        FOR_PEOPLE: f"benchlab {campaign}",
    }


def for_host(
    campaign: str, created_at: datetime, expires_at: datetime, name: str, role: Role
) -> dict[str, str]:
    """The tags of an instance and its volumes."""
    return {
        **for_campaign(campaign, created_at, expires_at),
        NAME: name,
        ROLE: role,
        FOR_PEOPLE: f"benchlab {campaign} {name}",
    }


def specifications(values: Mapping[str, str], *kinds: str) -> list[dict[str, Any]]:
    """``TagSpecifications`` of a creating call, for these kinds of resource."""
    listed = [{"Key": key, "Value": value} for key, value in values.items()]
    return [{"ResourceType": kind, "Tags": listed} for kind in kinds]


def read(resource: Mapping[str, Any]) -> dict[str, str]:
    """The tags of a described resource."""
    listed: Iterable[Mapping[str, str]] = resource.get("Tags") or ()
    return {tag["Key"]: tag["Value"] for tag in listed}


def written(moment: datetime) -> str:
    """A moment as a tag's value: UTC, to the second.

    Raises:
        ValueError: the moment has no time zone.
    """
    if moment.tzinfo is None:
        raise ValueError(f"{moment}: a moment without a time zone")
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: str | None) -> datetime | None:
    """A tag's value as a moment; None where it is missing, or is none in a known time zone."""
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else None
