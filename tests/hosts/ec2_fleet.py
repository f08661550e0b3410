"""A small fleet to rent from the AWS of these tests, and what is left of it."""

from __future__ import annotations

import zlib
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchlab.plan.topology import Ec2Topology
from benchlab.targets.ec2 import inventory
from benchlab.targets.ec2.calls import Limits
from benchlab.targets.ec2.tags import Rental
from tests.hosts.cloud import PARAMETER, REGION, Cloud

NOW = datetime.now(UTC).replace(microsecond=0)
SOON = Limits(ready_s=60, gone_s=60, poll_s=0.02)
NAMES = ["pd-1", "tikv-1", "tikv-2", "tidb-1", "client-1"]
ZONES = [f"{REGION}{letter}" for letter in "abcd"]
# The address of this machine on the internet, and what `ssh_from` lets in.
HERE = "203.0.113.7"
# With instance types that docs/iam-policy.json grants.
GRANTED: dict[str, dict[str, object]] = {
    "pd": {"instance_type": "m5.xlarge", "count": 1},
    "tikv": {"instance_type": "i3.4xlarge", "count": 2},
    "tidb": {"instance_type": "c5.4xlarge", "count": 1},
    "client": {"instance_type": "c5.9xlarge", "count": 1},
}
LATER = NOW + timedelta(hours=6)


def topology(**fields: object) -> Ec2Topology:
    """Five hosts by Debian's parameter; ``fields`` replace what is made up."""
    raw: dict[str, object] = {
        "kind": "ec2",
        "region": REGION,
        "image": {"ssm_parameter": PARAMETER},
        "user": "admin",
        "ssh_from": f"{HERE}/32",
        "ssh_by": "public",
        "tiup": "image",
        "roles": {
            "pd": {"instance_type": "m5.xlarge", "count": 1},
            "tikv": {"instance_type": "i3.xlarge", "count": 2, "root_gib": 60},
            "tidb": {"instance_type": "c5.xlarge", "count": 1},
            "client": {"instance_type": "c5.2xlarge", "count": 1},
        },
    }
    return Ec2Topology.model_validate({**raw, **fields})


def rental(folder: Path, campaign: str = "c1", **fields: object) -> Rental:
    """A campaign's fleet for five hours from now."""
    return Rental(
        campaign,
        mark_of(campaign),
        topology(**fields),
        folder / campaign,
        created_at=NOW,
        lifetime=timedelta(hours=5),
        packages={"client": ("sysbench", "haproxy"), "tikv": ("rsync",)},
    )


def mark_of(campaign: str) -> str:
    """The mark of its rental: another one for each."""
    return f"0123abcd-{zlib.crc32(campaign.encode()):08x}"


MARK = mark_of("c1")


def living(cloud: Cloud, campaign: str = "c1") -> dict[str, str]:
    """Instance ids of a campaign's living hosts, by name."""
    listed = inventory.of_campaign(cloud.client("ec2"), campaign)
    return {instance.name: instance.id for instance in listed if instance.living}


def zones(cloud: Cloud) -> set[str]:
    """Where the living instances are."""
    listed = cloud.client("ec2").describe_instances()["Reservations"]
    return {
        instance["Placement"]["AvailabilityZone"]
        for reservation in listed
        for instance in reservation["Instances"]
        if instance["State"]["Name"] in inventory.LIVING
    }
