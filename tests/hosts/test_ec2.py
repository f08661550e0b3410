"""Renting on EC2: nothing twice, nothing left, nothing of others; whatever fails on the way."""

from __future__ import annotations

import dataclasses
import json
import stat
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.plan.topology import Ec2Topology
from benchlab.targets.ec2 import inventory, preflight, tags
from benchlab.targets.ec2.boot import provision, wait_until_running
from benchlab.targets.ec2.calls import CALLS, AwsError, Limits
from benchlab.targets.ec2.instances import launch
from benchlab.targets.ec2.inventory import give_back
from benchlab.targets.ec2.reaper import reap
from benchlab.targets.ec2.tags import Rental
from tests.hosts.cloud import NOTHING, PARAMETER, REGION, Cloud

ROOT = Path(__file__).parents[2]
NOW = datetime.now(UTC).replace(microsecond=0)
SOON = Limits(ready_s=60, gone_s=60, poll_s=0.02)
NAMES = ["pd-1", "tikv-1", "tikv-2", "tidb-1", "client-1"]
ZONES = [f"{REGION}{letter}" for letter in "abcd"]


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """One process for all tests of this file."""
    with Cloud(tmp_path_factory.mktemp("cloud")) as made:
        yield made


@pytest.fixture
def cloud(process: Cloud) -> Cloud:
    """AWS with nothing in it."""
    process.reset()
    return process


def topology(**fields: object) -> Ec2Topology:
    """Five hosts by Debian's parameter; ``fields`` replace what is made up."""
    raw: dict[str, object] = {
        "kind": "ec2",
        "region": REGION,
        "image": {"ssm_parameter": PARAMETER},
        "user": "admin",
        "ssh_from": "203.0.113.7/32",
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
        topology(**fields),
        folder / campaign,
        created_at=NOW,
        lifetime=timedelta(hours=5),
        packages={"client": ("sysbench", "haproxy"), "tikv": ("rsync",)},
    )


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


# ---------------------------------------------------------------- a fleet, from first to last


def test_a_fleet_is_rented_and_given_back(cloud: Cloud, tmp_path: Path) -> None:
    """Every host of the topology comes up with the key it shows; afterwards nothing is left."""
    wanted = rental(tmp_path)
    fleet = provision(cloud.access(), wanted, limits=SOON)
    assert [host.name for host in fleet.hosts] == NAMES
    assert len({host.address for host in fleet.hosts}) == len(NAMES)
    for host in fleet.hosts:
        key = cloud.folder / str(host.instance) / "root/etc/ssh/ssh_host_ed25519_key.pub"
        assert key.read_text().startswith(host.host_key)
        assert (host.user, host.data) == ("admin", Path("/data"))
    assert Fleet.from_json(json.loads(json.dumps(fleet.to_json()))) == fleet
    given_back = give_back(cloud.client("ec2"), "c1", limits=SOON)
    assert sorted(given_back.instances) == sorted(str(host.instance) for host in fleet.hosts)
    assert (len(given_back.keys), len(given_back.groups)) == (1, 1)
    assert cloud.holdings() == NOTHING


def test_instances_are_asked_for_as_they_must_be(cloud: Cloud, tmp_path: Path) -> None:
    """They end when they shut down, with their disks; their tags are there from the start."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    requests = cloud.requests("RunInstances")
    assert len(requests) == len(NAMES)
    for request, name in zip(requests, NAMES, strict=True):
        assert request["InstanceInitiatedShutdownBehavior"] == "terminate"
        assert request["MetadataOptions.HttpTokens"] == "required"
        assert request["BlockDeviceMapping.1.Ebs.VolumeType"] == "gp3"
        assert request["BlockDeviceMapping.1.Ebs.DeleteOnTermination"] == "true"
        assert request["BlockDeviceMapping.1.Ebs.VolumeSize"] == ("60" if "tikv" in name else "50")
        assert request["TagSpecification.1.ResourceType"] == "instance"
        assert request["TagSpecification.2.ResourceType"] == "volume"
        assert name in request.values()
        assert tags.written(NOW + timedelta(hours=5)) in request.values()
    assert len({request["SubnetId"] for request in requests}) == 1


def test_the_private_key_stays_in_the_campaign_directory(cloud: Cloud, tmp_path: Path) -> None:
    """Readable by its owner only; EC2 learns the public half."""
    wanted = rental(tmp_path)
    launch(cloud.access(), wanted, limits=SOON)
    key = wanted.directory / "ssh_key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    secret = key.read_text().splitlines()[2]
    assert not any(secret in json.dumps(request) for request in cloud.requests("ImportKeyPair"))


def test_the_group_lets_in_ssh_and_the_fleet_only(cloud: Cloud, tmp_path: Path) -> None:
    """Port 22 from the topology's addresses, everything from the group itself."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    [group] = cloud.holdings()["groups"]
    found = cloud.client("ec2").describe_security_groups(GroupIds=[group])["SecurityGroups"][0]
    rules = found["IpPermissions"]
    assert len(rules) == 2
    [ssh] = [rule for rule in rules if rule["IpProtocol"] == "tcp"]
    assert (ssh["FromPort"], ssh["ToPort"]) == (22, 22)
    assert [one["CidrIp"] for one in ssh["IpRanges"]] == ["203.0.113.7/32"]
    [own] = [rule for rule in rules if rule["IpProtocol"] == "-1"]
    assert [pair["GroupId"] for pair in own["UserIdGroupPairs"]] == [group]
    assert own["IpRanges"] == []


def test_a_public_address_is_used_where_the_topology_says_so(cloud: Cloud, tmp_path: Path) -> None:
    """Benchlab logs in by it; the fleet still talks by private addresses."""
    fleet = provision(cloud.access(), rental(tmp_path, ssh_by="public"), limits=SOON)
    assert all(host.ssh_address != host.address for host in fleet.hosts)
    assert all(
        request["NetworkInterface.1.AssociatePublicIpAddress"] == "true"
        for request in cloud.requests("RunInstances")
    )


# ---------------------------------------------------------------- nothing twice


def test_a_repeated_call_launches_nothing(cloud: Cloud, tmp_path: Path) -> None:
    """What is there is the fleet."""
    first = provision(cloud.access(), rental(tmp_path), limits=SOON)
    assert provision(cloud.access(), rental(tmp_path), limits=SOON) == first
    assert len(cloud.requests("RunInstances")) == len(NAMES)


def test_a_call_that_crashed_half_way_is_gone_on_with(cloud: Cloud, tmp_path: Path) -> None:
    """The second call launches the hosts that the first one did not come to."""
    cloud.fault("RunInstances", "UnauthorizedOperation", match="tidb-1", times=1)
    with pytest.raises(AwsError, match="iam-policy"):
        launch(cloud.access(), rental(tmp_path), limits=SOON)
    before = living(cloud)
    assert list(before) == ["pd-1", "tikv-1", "tikv-2"]
    fleet = provision(cloud.access(), rental(tmp_path), limits=SOON)
    after = {host.name: host.instance for host in fleet.hosts}
    assert {name: after[name] for name in before} == before
    assert len(cloud.holdings()["instances"]) == len(NAMES)


@pytest.mark.parametrize("code", ["lost", "InternalError"])
def test_an_instance_whose_answer_was_lost_is_not_launched_again(
    cloud: Cloud, tmp_path: Path, code: str
) -> None:
    """RunInstances took effect and nobody heard of it: the ClientToken finds it."""
    cloud.fault("RunInstances", code, match="tikv-1", times=1, after_success=True)
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert len(cloud.holdings()["instances"]) == len(NAMES)
    assert len(cloud.requests("RunInstances")) == len(NAMES) + 1


def test_instances_that_are_not_listed_yet_are_not_launched_again(
    cloud: Cloud, tmp_path: Path
) -> None:
    """EC2's listing lags behind its launches; the ClientToken does not."""
    first = launch(cloud.access(), rental(tmp_path), limits=SOON)
    cloud.fault("DescribeInstances", "empty", times=1)
    assert launch(cloud.access(), rental(tmp_path), limits=SOON) == first
    assert len(cloud.holdings()["instances"]) == len(NAMES)


def test_a_dead_host_is_replaced_by_a_new_one(cloud: Cloud, tmp_path: Path) -> None:
    """Its token would only give back the dead one, so that of the next generation is used."""
    first = provision(cloud.access(), rental(tmp_path), limits=SOON)
    cloud.kill(str(first.hosts[1].instance))
    second = provision(cloud.access(), rental(tmp_path), limits=SOON)
    changed = [a.name for a, b in zip(first.hosts, second.hosts, strict=True) if a != b]
    assert changed == ["tikv-1"]
    assert len(cloud.holdings()["instances"]) == len(NAMES)


def test_a_dead_host_that_is_not_listed_any_more_is_replaced_too(
    cloud: Cloud, tmp_path: Path
) -> None:
    """EC2 forgets a terminated instance after an hour, and its token only after a day."""
    first = launch(cloud.access(), rental(tmp_path), limits=SOON)
    for host in first:
        cloud.kill(host.instance)
    cloud.fault("DescribeInstances", "empty", times=1)
    second = launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert not {host.instance for host in first} & {host.instance for host in second}
    assert len(cloud.holdings()["instances"]) == len(NAMES)


def test_more_than_wanted_is_refused(cloud: Cloud, tmp_path: Path) -> None:
    """A second instance of a name, or a foreign one, is not silently used or ended."""
    client = cloud.client("ec2")
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    for name in ("tikv-1", "stranger-1"):
        labels = {**tags.of_campaign("c1"), tags.NAME: name}
        client.run_instances(
            ImageId=cloud.image,
            InstanceType="i3.xlarge",
            MinCount=1,
            MaxCount=1,
            TagSpecifications=tags.specifications(labels, "instance"),
        )
    with pytest.raises(TargetError, match=r"(?s)stranger-1.*2 instances are tikv-1"):
        launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert len(cloud.holdings()["instances"]) == len(NAMES) + 2


def test_another_size_of_the_same_fleet_is_refused(cloud: Cloud, tmp_path: Path) -> None:
    """A campaign whose topology was edited meanwhile would measure a mixed fleet."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    roles = {
        **topology().model_dump()["roles"],
        "pd": {"instance_type": "m5.2xlarge", "count": 1},
    }
    with pytest.raises(TargetError, match=r"pd-1 is a m5\.xlarge, wanted is m5\.2xlarge"):
        launch(cloud.access(), rental(tmp_path, roles=roles), limits=SOON)


def test_a_call_that_asks_for_something_else_is_refused(cloud: Cloud, tmp_path: Path) -> None:
    """The same token with another expiry: EC2 says no, and Benchlab what to do."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    other = dataclasses.replace(rental(tmp_path), lifetime=timedelta(hours=9))
    cloud.fault("DescribeInstances", "empty", times=1)
    with pytest.raises(TargetError, match="asked for before, but otherwise"):
        launch(cloud.access(), other, limits=SOON)


def test_another_key_of_the_same_name_is_refused(cloud: Cloud, tmp_path: Path) -> None:
    """A campaign directory that was lost took the private key with it."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    (tmp_path / "c1/ssh_key").unlink()
    with pytest.raises(TargetError, match="EC2 knows another key"):
        launch(cloud.access(), rental(tmp_path), limits=SOON)


# ---------------------------------------------------------------- capacity, quota, throttling


def test_the_fleet_moves_to_a_zone_that_has_capacity(cloud: Cloud, tmp_path: Path) -> None:
    """Two zones of three run out half-way: all hosts are in the third, none in the others."""
    for zone in ZONES[:2]:
        cloud.fault("RunInstances", "InsufficientInstanceCapacity", zone=zone, match="tidb-1")
    heard: list[str] = []
    launched = launch(cloud.access(), rental(tmp_path), limits=SOON, say=heard.append)
    assert zones(cloud) == {ZONES[2]}
    assert sorted(living(cloud).values()) == sorted(host.instance for host in launched)
    assert len(cloud.holdings()["instances"]) == len(NAMES)
    assert any(ZONES[0] in line and "no capacity" in line for line in heard)


def test_subnets_are_tried_in_the_topologys_order(cloud: Cloud, tmp_path: Path) -> None:
    """Only those that it names, the first first."""
    listed = cloud.client("ec2").describe_subnets()["Subnets"]
    by_zone = {subnet["AvailabilityZone"]: subnet["SubnetId"] for subnet in listed}
    subnets = [by_zone[ZONES[2]], by_zone[ZONES[0]]]
    cloud.fault("RunInstances", "InsufficientInstanceCapacity", zone=ZONES[2])
    launch(cloud.access(), rental(tmp_path, subnets=subnets), limits=SOON)
    assert zones(cloud) == {ZONES[0]}


def test_without_capacity_anywhere_every_zone_is_named(cloud: Cloud, tmp_path: Path) -> None:
    """With its own reason; and nothing stays rented."""
    for zone in ZONES:
        cloud.fault(
            "RunInstances",
            "InsufficientInstanceCapacity",
            zone=zone,
            match="client-1",
            message=f"no c5 in {zone}",
        )
    with pytest.raises(TargetError) as caught:
        launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert all(f"no c5 in {zone}" in str(caught.value) for zone in ZONES)
    assert cloud.holdings()["instances"] == []


def test_a_quota_is_explained_and_no_other_zone_tried(cloud: Cloud, tmp_path: Path) -> None:
    """It is the account's, and so the same everywhere."""
    cloud.fault("RunInstances", "VcpuLimitExceeded", match="tikv-1")
    with pytest.raises(TargetError, match="ask for a higher quota of vCPUs"):
        launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert zones(cloud) == {ZONES[0]}
    give_back(cloud.client("ec2"), "c1", limits=SOON)
    assert cloud.holdings() == NOTHING


@pytest.mark.parametrize("action", ["RunInstances", "DescribeInstances"])
def test_throttled_calls_are_tried_again(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    """With the clients that Benchlab makes by itself from the environment."""
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    cloud.fault(action, "RequestLimitExceeded", times=2)
    launch(Access(), rental(tmp_path), limits=SOON)
    assert len(living(cloud)) == len(NAMES)


# ---------------------------------------------------------------- waiting


def test_the_first_looks_follow_soon_and_later_ones_are_rare() -> None:
    """Nobody waits five seconds for what took one, and EC2 is not asked all the time."""
    polls = Limits(poll_s=5).polls()
    assert [next(polls) for _ in range(7)] == [0.25, 0.5, 1, 2, 4, 5, 5]
    assert next(Limits(poll_s=0.02).polls()) == 0.02


def test_a_host_that_never_boots_leaves_nothing_behind(cloud: Cloud, tmp_path: Path) -> None:
    """RunInstances succeeds and the wait fails: giving back ends everything back."""
    cloud.boots("tikv-2", never=True)
    with pytest.raises(TargetError, match=r"(?s)not ready after 0 s.*tikv-2 .*pending"):
        provision(cloud.access(), rental(tmp_path), limits=dataclasses.replace(SOON, ready_s=0))
    assert len(cloud.holdings()["instances"]) == len(NAMES)
    give_back(cloud.client("ec2"), "c1", limits=SOON)
    assert cloud.holdings() == NOTHING


def test_an_instance_that_dies_while_provisioning_is_told(cloud: Cloud, tmp_path: Path) -> None:
    """With EC2's own reason and the end of its console."""
    cloud.boots("tidb-1", never=True)
    wanted = rental(tmp_path)
    launched = launch(cloud.access(), wanted, limits=SOON)
    cloud.kill(launched[3].instance, "Client.VolumeLimitExceeded: Volume limit exceeded")
    with pytest.raises(TargetError, match=r"(?s)tidb-1 .*Volume limit exceeded.*Linux version"):
        wait_until_running(cloud.client("ec2"), wanted, launched, limits=SOON)


def test_failed_user_data_is_told_at_once(cloud: Cloud, tmp_path: Path) -> None:
    """The host, what failed and the end of the log; nobody waits for the time limit."""
    cloud.boots("tikv-1", fail=["mkfs.xfs"])
    with pytest.raises(TargetError, match=r"(?s)tikv-1 .*user data failed: making a file system"):
        provision(cloud.access(), rental(tmp_path), limits=SOON)


def test_a_host_whose_console_says_no_more_is_asked_itself(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Xen types post their console once: with its key known, its status file is read over SSH."""
    from benchlab.targets.ec2 import boot

    def posted_early(client: Any, instance: str) -> str:
        text = real(client, instance)
        return text.partition("BENCHLAB-SET")[0]

    real = boot.output
    monkeypatch.setattr(boot, "output", posted_early)
    asked: list[str] = []

    def probe(host: FleetHost) -> str | None:
        asked.append(host.name)
        status = cloud.folder / str(host.instance) / "root/var/lib/benchlab/status"
        return status.read_text()

    fleet = provision(cloud.access(), rental(tmp_path), limits=SOON, probe=probe)
    assert set(asked) == {host.name for host in fleet.hosts}


# ---------------------------------------------------------------- giving back


def test_give_back_may_be_called_at_any_moment(cloud: Cloud, tmp_path: Path) -> None:
    """Before anything is there, with half of it, and again."""
    client = cloud.client("ec2")
    assert give_back(client, "c1", limits=SOON).instances == ()
    cloud.fault("RunInstances", "UnauthorizedOperation", match="tikv-2", times=1)
    with pytest.raises(AwsError):
        launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert len(give_back(client, "c1", limits=SOON).instances) == 2
    again = give_back(client, "c1", limits=SOON)
    assert (again.instances, again.keys, again.groups) == ((), (), ())
    assert cloud.holdings() == NOTHING


def test_campaigns_do_not_touch_each_other(cloud: Cloud, tmp_path: Path) -> None:
    """Two at once in one account: each has and gives back its own."""
    one = provision(cloud.access(), rental(tmp_path, "c1"), limits=SOON)
    two = provision(cloud.access(), rental(tmp_path, "c2"), limits=SOON)
    assert not {host.instance for host in one.hosts} & {host.instance for host in two.hosts}
    give_back(cloud.client("ec2"), "c1", limits=SOON)
    assert cloud.holdings()["instances"] == sorted(str(host.instance) for host in two.hosts)
    assert cloud.holdings()["keys"] == ["benchlab-c2"]
    assert provision(cloud.access(), rental(tmp_path, "c2"), limits=SOON) == two


def test_what_cannot_be_given_back_keeps_nothing_else(cloud: Cloud, tmp_path: Path) -> None:
    """One instance and the key are refused: the others go, both are named, a second call ends."""
    launched = launch(cloud.access(), rental(tmp_path), limits=SOON)
    spared = launched[0].instance
    cloud.fault("TerminateInstances", "UnauthorizedOperation", match=spared)
    cloud.fault("DeleteKeyPair", "UnauthorizedOperation")
    with pytest.raises(TargetError, match=r"(?s)terminate_instances.*delete_key_pair"):
        give_back(cloud.client("ec2"), "c1", limits=dataclasses.replace(SOON, gone_s=0))
    assert list(living(cloud).values()) == [spared]
    cloud.heal()
    give_back(cloud.client("ec2"), "c1", limits=SOON)
    assert cloud.holdings() == NOTHING


# ---------------------------------------------------------------- the reaper


LATER = NOW + timedelta(hours=6)


def test_the_reaper_leaves_a_healthy_campaign_alone(cloud: Cloud, tmp_path: Path) -> None:
    """While it provisions, while it runs, and until its last second."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    before = cloud.holdings()
    for hours in (0, 2, 5):
        assert reap(cloud.access(), [REGION], now=NOW + timedelta(hours=hours), limits=SOON) == []
    assert cloud.holdings() == before


def test_the_reaper_ends_what_has_expired(cloud: Cloud, tmp_path: Path) -> None:
    """Instances, then key and group; a campaign that goes on beside it keeps all of its own."""
    launch(cloud.access(), rental(tmp_path, "old"), limits=SOON)
    young = dataclasses.replace(rental(tmp_path, "young"), lifetime=timedelta(days=1))
    launch(cloud.access(), young, limits=SOON)
    kept = sorted(living(cloud, "young").values())
    heard: list[str] = []
    reaped = reap(cloud.access(), [REGION], now=LATER, limits=SOON, say=heard.append)
    assert {one.campaign for one in reaped} == {"old"}
    kinds = [one.kind for one in reaped]
    assert kinds == ["instance"] * len(NAMES) + ["key pair", "security group"]
    assert heard == [str(one) for one in reaped]
    assert "of campaign old terminated: expired at" in heard[0]
    assert cloud.holdings()["instances"] == kept
    assert cloud.holdings()["keys"] == ["benchlab-young"]
    assert len(cloud.holdings()["groups"]) == 1


def test_a_dry_run_touches_nothing(cloud: Cloud, tmp_path: Path) -> None:
    """It says the same as the real one, in the conditional."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    before = cloud.holdings()
    told = reap(cloud.access(), [REGION], now=LATER, dry_run=True, limits=SOON)
    assert cloud.holdings() == before
    assert all("would be" in str(one) for one in told)
    done = reap(cloud.access(), [REGION], now=LATER, limits=SOON)
    assert [(one.kind, one.id) for one in told] == [(one.kind, one.id) for one in done]


@pytest.mark.parametrize("value", [None, "tomorrow", "2026-01-01T00:00:00"])
def test_what_nobody_can_say_the_end_of_is_ended_after_an_hour(
    cloud: Cloud, value: str | None
) -> None:
    """An expiry that is missing, no date, or without a time zone; and never what is not ours."""
    client = cloud.client("ec2")
    labels = tags.of_campaign("c9") | ({tags.EXPIRES_AT: value} if value else {})
    for tagged in (labels, {"benchlab:project": "another"}, {tags.EXPIRES_AT: "2020-01-01"}):
        client.run_instances(
            ImageId=cloud.image,
            InstanceType="m5.large",
            MinCount=1,
            MaxCount=1,
            TagSpecifications=tags.specifications(tagged, "instance"),
        )
    soon, late = NOW + timedelta(minutes=30), NOW + timedelta(hours=2)
    assert reap(cloud.access(), [REGION], now=soon, limits=SOON) == []
    [reaped] = reap(cloud.access(), [REGION], now=late, limits=SOON)
    assert "without a valid benchlab:expires_at" in str(reaped)
    assert len(cloud.holdings()["instances"]) == 2


def test_a_key_and_group_without_instances_are_deleted_after_an_hour(
    cloud: Cloud, tmp_path: Path
) -> None:
    """A campaign that crashed before its first instance; one that has just begun is spared."""
    cloud.fault("RunInstances", "UnauthorizedOperation")
    with pytest.raises(AwsError):
        launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert reap(cloud.access(), [REGION], now=NOW + timedelta(minutes=59), limits=SOON) == []
    reaped = reap(cloud.access(), [REGION], now=NOW + timedelta(minutes=61), limits=SOON)
    assert [one.kind for one in reaped] == ["key pair", "security group"]
    assert cloud.holdings() == NOTHING


def test_a_failure_does_not_keep_the_reaper_from_the_rest(cloud: Cloud, tmp_path: Path) -> None:
    """One instance and one region fail: all else is ended, both are named at the end."""
    launched = launch(cloud.access(), rental(tmp_path), limits=SOON)
    spared = launched[2].instance
    cloud.fault("TerminateInstances", "UnauthorizedOperation", match=spared)
    cloud.fault("DescribeInstances", "UnauthorizedOperation", region="us-east-1")
    with pytest.raises(TargetError, match=rf"(?s)us-east-1.*{spared}"):
        reap(cloud.access(), ["us-east-1", REGION], now=LATER, limits=SOON)
    assert cloud.holdings()["instances"] == [spared]


# ---------------------------------------------------------------- before anything starts


def test_preflight_finds_a_fleet_that_can_be_rented(cloud: Cloud) -> None:
    """Image by parameter, subnets by zone, vCPUs of all hosts; and it rents nothing."""
    found = preflight.check(cloud.access(), topology())
    assert found.image.id == cloud.image
    assert [subnet.zone for subnet in found.subnets][:3] == ZONES[:3]
    assert found.vcpus == 4 + 2 * 4 + 4 + 8
    assert cloud.holdings() == NOTHING


def test_preflight_names_all_faults_at_once(cloud: Cloud) -> None:
    """Image, subnet and instance type are wrong: one message, three lines."""
    roles = {
        **topology().model_dump()["roles"],
        "pd": {"instance_type": "m99.huge", "count": 1},
    }
    wrong = topology(
        image={"id": "ami-0123456789abcdef0"}, subnets=["subnet-0123456789abcdef0"], roles=roles
    )
    with pytest.raises(TargetError) as caught:
        preflight.check(cloud.access(), wrong)
    for name in ("ami-0123456789abcdef0", "subnet-0123456789abcdef0", "m99.huge"):
        assert name in str(caught.value)


def test_a_quota_that_is_too_small_is_found_before(cloud: Cloud, tmp_path: Path) -> None:
    """What other campaigns run counts; what this one runs already is part of the fleet."""
    cloud.quota(24)
    preflight.check(cloud.access(), topology())
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    preflight.check(cloud.access(), topology(), campaign="c1")
    with pytest.raises(TargetError, match="the fleet needs 24, 24 of 24 are in use"):
        preflight.check(cloud.access(), topology(), campaign="c2")


def test_a_quota_that_may_not_be_read_is_said_and_not_fatal(cloud: Cloud) -> None:
    """The permission is missing in many accounts."""
    cloud.fault("GetServiceQuota", "AccessDeniedException")
    [note] = preflight.check(cloud.access(), topology()).notes
    assert "not checked" in note


def test_wrong_credentials_are_the_only_fault_told(cloud: Cloud) -> None:
    """Every other check would say the same."""
    cloud.fault("GetCallerIdentity", "InvalidClientTokenId")
    with pytest.raises(TargetError, match="credentials are not accepted"):
        preflight.check(cloud.access(), topology())


def test_each_class_of_instances_has_its_quota() -> None:
    """Families by their letters; an unknown class is no standard one."""
    standard = {preflight.quota_of(kind) for kind in ("m5.xlarge", "i3.4xlarge", "im4gn.large")}
    assert standard == {preflight.STANDARD}
    assert preflight.quota_of("inf1.xlarge") != preflight.STANDARD
    assert preflight.quota_of("u-6tb1.metal") is None


# ---------------------------------------------------------------- permissions


def policy() -> list[dict[str, Any]]:
    """The statements of docs/iam-policy.json."""
    loaded = json.loads((ROOT / "docs/iam-policy.json").read_text())
    statements: list[dict[str, Any]] = loaded["Statement"]
    return statements


def actions(statement: dict[str, Any]) -> set[str]:
    """A statement's actions."""
    listed = statement["Action"]
    return {listed} if isinstance(listed, str) else set(listed)


def test_the_policy_grants_what_is_called_and_no_more(cloud: Cloud, tmp_path: Path) -> None:
    """Every action of a life with its troubles, as recorded, is in the policy; and no other."""
    iam = cloud.client("iam")
    iam.create_instance_profile(InstanceProfileName="benchlab-host")
    access, wanted = cloud.access(), rental(tmp_path, instance_profile="benchlab-host")
    preflight.check(access, wanted.topology)
    cloud.fault("RunInstances", "InsufficientInstanceCapacity", zone=ZONES[0], match="tidb-1")
    launch(access, wanted, limits=SOON)
    provision(access, wanted, limits=SOON)
    give_back(access.aws("ec2", REGION), "c1", limits=SOON)
    reap(access, [REGION], now=LATER, limits=SOON)
    granted = {action for statement in policy() for action in actions(statement)}
    assert cloud.recorded == granted
    assert granted == CALLS


def test_the_policy_touches_only_what_carries_the_tag() -> None:
    """Whatever creates, changes or ends something is bound to the project's tag."""
    reading = ("Describe", "Get")
    for statement in policy():
        assert statement["Effect"] == "Allow"
        changing = {one for one in actions(statement) if not one.split(":")[1].startswith(reading)}
        if not changing:
            continue
        conditions = json.dumps(statement.get("Condition", {}))
        if "benchlab:project" in conditions or "ec2:CreateAction" in conditions:
            continue
        # What is only referred to: it belongs to the account, and nothing happens to it.
        assert changing <= {"ec2:RunInstances", "ec2:CreateSecurityGroup", "iam:PassRole"}
        kinds = {one.split(":")[5].split("/")[0] for one in statement["Resource"]}
        assert kinds <= {"image", "subnet", "network-interface", "vpc", "role"}, statement
