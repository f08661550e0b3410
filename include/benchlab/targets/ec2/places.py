"""Finds the image from which a fleet is launched, and the subnets to try."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.plan.topology import Ec2Topology, Image
from benchlab.targets.ec2.calls import AwsError, call, filters, pages


@dataclass(frozen=True)
class FoundImage:
    """An AMI.

    Attributes:
        root_device: the name under which its root volume is mapped.
        root_gib: the smallest root volume that it fits on.
        volumes: further EBS volumes of the image, as ``BlockDeviceMappings`` that end them with
            their instance: an image's own mapping may keep them, and they would cost money.
    """

    id: str
    root_device: str
    architecture: str
    root_gib: int
    volumes: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Subnet:
    """A subnet, in one availability zone.

    Attributes:
        network: its addresses (CIDR).
        public: whether instances get a public address without asking for one.
    """

    id: str
    zone: str
    vpc: str
    network: str
    public: bool

    def __str__(self) -> str:
        return f"{self.zone} ({self.id})"


def find_image(access: Access, client: Any, image: Image) -> FoundImage:
    """The image that a topology names by id or SSM parameter, in the client's region.

    Raises:
        TargetError: the parameter or the image does not exist, or is not available.
    """
    region = client.meta.region_name
    found_id, source = image.id, "image.id"
    if image.ssm_parameter is not None:
        source = f"image.ssm_parameter {image.ssm_parameter}"
        try:
            answer = call(access.aws("ssm", region), "get_parameter", Name=image.ssm_parameter)
        except AwsError as error:
            if error.code == "ParameterNotFound":
                raise TargetError(
                    f"{source}: not known in {region}; name one that is, or an image.id"
                ) from error
            raise
        found_id = str(answer["Parameter"]["Value"])
    try:
        images = call(client, "describe_images", ImageIds=[found_id])["Images"]
    except AwsError as error:
        if not error.code.startswith("InvalidAMIID"):
            raise
        images = []
    ready = [found for found in images if found.get("State") == "available"]
    if not ready:
        raise TargetError(f"{source}: {found_id} is not available in {region}")
    root_device = str(ready[0]["RootDeviceName"])
    # The instance's own disks have no `Ebs`; they end with it in any case.
    mapped = {
        str(device["DeviceName"]): device["Ebs"]
        for device in ready[0].get("BlockDeviceMappings", ())
        if "Ebs" in device
    }
    return FoundImage(
        str(found_id),
        root_device,
        ready[0].get("Architecture", "x86_64"),
        int(mapped.pop(root_device, {}).get("VolumeSize", 0)),
        tuple(
            {"DeviceName": name, "Ebs": {**_asked_for(ebs), "DeleteOnTermination": True}}
            for name, ebs in sorted(mapped.items())
        ),
    )


def _asked_for(ebs: dict[str, Any]) -> dict[str, Any]:
    """What a launch repeats of an image's volume; EC2 refuses ``Encrypted`` beside a snapshot."""
    kept = ("SnapshotId", "VolumeSize", "VolumeType", "Iops", "Throughput")
    return {key: ebs[key] for key in kept if key in ebs}


def find_subnets(client: Any, topology: Ec2Topology) -> tuple[Subnet, ...]:
    """The topology's subnets in its order, or the region's default subnets by zone.

    Raises:
        TargetError: a subnet does not exist, there is none, or they belong to several VPCs.
    """
    wanted = topology.subnets
    chosen = filters(subnet_id=list(wanted)) if wanted else filters(default_for_az="true")
    described = pages(client, "describe_subnets", "Subnets", Filters=chosen)
    found = {
        subnet["SubnetId"]: Subnet(
            subnet["SubnetId"],
            subnet["AvailabilityZone"],
            subnet["VpcId"],
            subnet["CidrBlock"],
            bool(subnet.get("MapPublicIpOnLaunch")),
        )
        for subnet in described
    }
    if missing := [subnet for subnet in wanted if subnet not in found]:
        raise TargetError(f"subnets: {', '.join(missing)}: not in {topology.region}")
    if not found:
        raise TargetError(
            f"{topology.region} has no default subnets; name some under `subnets` in the topology"
        )
    ordered = (
        tuple(found[subnet] for subnet in dict.fromkeys(wanted))
        if wanted
        else tuple(sorted(found.values(), key=lambda subnet: (subnet.zone, subnet.id)))
    )
    if len(vpcs := sorted({subnet.vpc for subnet in ordered})) > 1:
        raise TargetError(
            f"subnets: they belong to {len(vpcs)} VPCs ({', '.join(vpcs)}); a fleet has one"
        )
    return ordered
