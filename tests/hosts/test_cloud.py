"""The stand-in for AWS does what EC2 does where Benchlab relies on it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchlab.plan.topology import Ec2Topology
from benchlab.targets.ec2.boot import provision
from benchlab.targets.ec2.calls import Limits
from benchlab.targets.ec2.inventory import give_back
from benchlab.targets.ec2.tags import Rental
from tests.hosts import first_boot, namespaces
from tests.hosts.cloud import NOTHING, REGION, Cloud
from tests.hosts.ec2_fleet import MARK

SOON = Limits(ready_s=60, gone_s=60, poll_s=0.02)
KEY = b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHlbv0QUGMJSz0nYHlDJ8cWJ7gMFEnmiqXWmDwFCWKzS c1"
WHO = "import boto3; print(boto3.client('sts').get_caller_identity()['Account'])"


def run(cloud: Cloud, **fields: Any) -> str:
    """Launch one instance; returns its id."""
    request = {
        "ImageId": cloud.image,
        "InstanceType": "m5.large",
        "MinCount": 1,
        "MaxCount": 1,
        **fields,
    }
    answer = cloud.client("ec2").run_instances(**request)
    return str(answer["Instances"][0]["InstanceId"])


def code_of(caught: pytest.ExceptionInfo[Exception]) -> str:
    """AWS's error code."""
    return str(caught.value.response["Error"]["Code"])  # type: ignore[attr-defined]


def test_the_same_token_launches_once(cloud: Cloud) -> None:
    """And with other parameters it is refused."""
    from botocore.exceptions import ClientError

    assert run(cloud, ClientToken="t1") == run(cloud, ClientToken="t1")
    assert run(cloud, ClientToken="t2") != run(cloud, ClientToken="t1")
    assert len(cloud.holdings()["instances"]) == 2
    with pytest.raises(ClientError) as caught:
        run(cloud, ClientToken="t1", InstanceType="m5.xlarge")
    assert code_of(caught) == "IdempotentParameterMismatch"
    cloud.kill(run(cloud, ClientToken="t2"))
    with pytest.raises(ClientError) as caught:
        run(cloud, ClientToken="t2")
    assert code_of(caught) == "IdempotentInstanceTerminated"


def test_what_was_made_a_moment_ago_is_not_known_at_once(cloud: Cloud) -> None:
    """Neither a key pair nor a group; to the second call they are."""
    from botocore.exceptions import ClientError

    client = cloud.client("ec2")
    client.import_key_pair(KeyName="k", PublicKeyMaterial=KEY)
    subnet = client.describe_subnets()["Subnets"][0]
    made = client.create_security_group(GroupName="g", Description="g", VpcId=subnet["VpcId"])
    fields = {"KeyName": "k", "SubnetId": subnet["SubnetId"], "SecurityGroupIds": [made["GroupId"]]}
    for code in ("InvalidKeyPair.NotFound", "InvalidGroup.NotFound"):
        with pytest.raises(ClientError) as caught:
            run(cloud, **fields)
        assert code_of(caught) == code
    run(cloud, **fields)


def test_a_root_volume_smaller_than_the_images_is_refused(cloud: Cloud) -> None:
    """moto alone would make one."""
    from botocore.exceptions import ClientError

    with pytest.raises(ClientError) as caught:
        run(cloud, BlockDeviceMappings=[{"DeviceName": "/dev/sda1", "Ebs": {"VolumeSize": 8}}])
    assert code_of(caught) == "InvalidBlockDeviceMapping"


def test_an_unknown_image_is_refused(cloud: Cloud) -> None:
    """moto alone would launch it."""
    from botocore.exceptions import ClientError

    with pytest.raises(ClientError) as caught:
        run(cloud, ImageId="ami-0123456789abcdef0")
    assert code_of(caught) == "InvalidAMIID.NotFound"
    assert cloud.holdings() == NOTHING


def test_a_group_in_use_is_kept(cloud: Cloud) -> None:
    """Until the instance that has it is terminated."""
    from botocore.exceptions import ClientError

    client = cloud.client("ec2")
    subnet = client.describe_subnets()["Subnets"][0]
    group = client.create_security_group(GroupName="g", Description="g", VpcId=subnet["VpcId"])[
        "GroupId"
    ]
    with pytest.raises(ClientError, match=r"InvalidGroup\.NotFound"):  # not known yet
        run(cloud, SubnetId=subnet["SubnetId"], SecurityGroupIds=[group])
    instance = run(cloud, SubnetId=subnet["SubnetId"], SecurityGroupIds=[group])
    with pytest.raises(ClientError) as caught:
        client.delete_security_group(GroupId=group)
    assert code_of(caught) == "DependencyViolation"
    client.terminate_instances(InstanceIds=[instance])
    client.get_waiter("instance_terminated").wait(InstanceIds=[instance], WaiterConfig={"Delay": 1})
    client.delete_security_group(GroupId=group)
    assert cloud.holdings() == NOTHING


@pytest.mark.parametrize(("after", "left"), [(False, 0), (True, 1)])
def test_a_fault_strikes_before_or_after_the_call_took_effect(
    cloud: Cloud, after: bool, left: int
) -> None:
    """As often as was asked for, and in its zone only."""
    from botocore.exceptions import ClientError

    cloud.fault("RunInstances", "InsufficientInstanceCapacity", times=1, after_success=after)
    with pytest.raises(ClientError) as caught:
        run(cloud)
    assert code_of(caught) == "InsufficientInstanceCapacity"
    assert len(cloud.holdings()["instances"]) == left
    run(cloud)
    subnets = cloud.client("ec2").describe_subnets()["Subnets"]
    zones = {subnet["AvailabilityZone"]: subnet["SubnetId"] for subnet in subnets}
    cloud.fault("RunInstances", "InsufficientInstanceCapacity", zone=f"{REGION}a")
    run(cloud, SubnetId=zones[f"{REGION}b"])
    with pytest.raises(ClientError):
        run(cloud, SubnetId=zones[f"{REGION}a"])


def test_another_process_reaches_it(cloud: Cloud) -> None:
    """By its environment alone, as a scheduler's tasks do."""
    done = subprocess.run(
        [sys.executable, "-c", WHO],
        env={**first_boot.inherited(), **cloud.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "123456789012"


@pytest.mark.skipif(os.geteuid() != 0, reason="hosts in network namespaces need root")
def test_instances_are_hosts_that_answer_by_the_key_they_showed(tmp_path: Path) -> None:
    """SSH with the campaign's own key; a terminated and a killed instance are gone."""
    roles = {
        "pd": {"instance_type": "m5.large", "count": 1},
        "tikv": {"instance_type": "m5.large", "count": 1},
        "tidb": {"instance_type": "m5.large", "count": 1},
        "client": {"instance_type": "m5.large", "count": 1},
    }
    with (
        namespaces.unused(tmp_path / "network") as network,
        Cloud(tmp_path / "cloud", network) as cloud,
    ):
        topology = Ec2Topology.model_validate(
            {
                "kind": "ec2",
                "region": REGION,
                "image": {"id": cloud.image},
                "user": "admin",
                "ssh_from": f"{network.gateway}/32",
                "tiup": "image",
                "roles": roles,
            }
        )
        rental = Rental(
            "c1",
            MARK,
            topology,
            tmp_path / "c1",
            created_at=datetime.now(UTC).replace(microsecond=0),
            lifetime=timedelta(hours=1),
        )
        fleet = provision(cloud.access(), rental, limits=SOON)
        assert sorted(network.addresses) == sorted(host.address for host in fleet.hosts)
        for host in fleet.hosts:
            known = tmp_path / "known_hosts"
            known.write_text(f"{host.ssh_address} {host.host_key}\n")
            done = subprocess.run(
                [
                    *("ssh", "-F", "none", "-i", str(tmp_path / "c1/ssh_key")),
                    *("-o", "StrictHostKeyChecking=yes", "-o", f"UserKnownHostsFile={known}"),
                    *("-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes"),
                    f"{host.user}@{host.ssh_address}",
                    f"touch {host.data}/mine && sudo -n cat /var/lib/benchlab/status",
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert done.stdout.splitlines()[-1] == "BENCHLAB-READY"
        dead = fleet.hosts[1]
        cloud.kill(str(dead.instance))
        assert dead.address not in network.addresses
        with socket.socket() as probe:
            probe.settimeout(5)
            with pytest.raises(OSError, match=r"timed out|No route|refused"):
                probe.connect((dead.address, 22))
        give_back(cloud.client("ec2"), "c1", MARK, limits=SOON)
        assert cloud.holdings() == NOTHING
        assert network.addresses == ()
