"""AWS's time, by which expiries are set and judged: the clock of this machine may be wrong.

Every answer of AWS has it in the header ``Date`` (RFC 9110, section 6.6.1), refusals included.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

# A difference that is worth a word. AWS refuses requests that were signed more than 15 minutes from
# its own time (RequestExpired; Amazon EC2 API Reference, "Common errors").
TOLERATED = timedelta(minutes=3)


def time_of(answer: Mapping[str, Any]) -> datetime | None:
    """The moment at which AWS gave an answer, as boto3 returns it; None without a readable date.

    Example:
        ``time_of(client.describe_regions())``
    """
    return moment(answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date", ""))


def moment(date: str) -> datetime | None:
    """The moment that a header ``Date`` names; None: it cannot be read."""
    try:
        found = parsedate_to_datetime(date)
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else None


def difference(at_aws: datetime | None) -> str | None:
    """How far this machine's clock is from AWS's, for people; None: within :data:`TOLERATED`."""
    if at_aws is None:
        return None
    ahead = datetime.now(UTC) - at_aws
    if abs(ahead) <= TOLERATED:
        return None
    hours, minutes = divmod(round(abs(ahead).total_seconds() / 60), 60)
    apart = f"{hours} h {minutes} min" if hours else f"{minutes} min"
    where = "ahead of" if ahead > timedelta(0) else "behind"
    return f"this machine's clock is {apart} {where} AWS's; set it (`timedatectl set-ntp true`)"
