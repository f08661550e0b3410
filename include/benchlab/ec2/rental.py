"""What is to be rented for a campaign, and until when.

Nothing here may differ between two calls for one campaign: the second one would ask AWS for
something else under the same ClientToken, which AWS refuses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from benchlab.fleet import Role
from benchlab.topology import Ec2Topology


@dataclass(frozen=True)
class Rental:
    """A campaign's fleet.

    Attributes:
        campaign: its id.
        topology: hosts, image and network.
        directory: the campaign's; the private key is kept there.
        created_at: when the campaign began to rent, with a time zone; to be kept with the
            campaign, so that a repeated call has the same.
        lifetime: counted from ``created_at`` for the reaper, from its boot for a host that shuts
            itself down.
        packages: Debian packages that the hosts of a role need.
    """

    campaign: str
    topology: Ec2Topology
    directory: Path
    created_at: datetime
    lifetime: timedelta
    packages: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)

    @property
    def expires_at(self) -> datetime:
        """When the reaper may end it."""
        return self.created_at + self.lifetime
