"""Renting on EC2: nothing twice and nothing of others, whatever fails on the way."""

from __future__ import annotations

import dataclasses
import json
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from benchlab.errors import TargetError
from benchlab.hosts.access import Access
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.targets.ec2 import tags
from benchlab.targets.ec2.boot import provision, wait_until_running
from benchlab.targets.ec2.calls import AwsError, Limits
from benchlab.targets.ec2.instances import launch
from benchlab.targets.ec2.inventory import give_back
from tests.hosts.cloud import NOTHING, Cloud
from tests.hosts.ec2_fleet import MARK, NAMES, NOW, SOON, ZONES, living, rental, topology, zones

ROOT = Path(__file__).parents[2]


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
    ended = f"{len(fleet.hosts)} instances terminated, 1 key pair and 1 security group deleted"
    assert give_back(cloud.client("ec2"), "c1", MARK, limits=SOON) == ended
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
    assert len({request["NetworkInterface.1.SubnetId"] for request in requests}) == 1


def tags_of(request: dict[str, str], number: int) -> dict[str, str]:
    """The tags that a request gives to one kind of what it makes."""
    at = f"TagSpecification.{number}.Tag."
    keys = {name.removesuffix(".Key"): key for name, key in request.items() if name.endswith("Key")}
    return {key: request[f"{name}.Value"] for name, key in keys.items() if name.startswith(at)}


def test_a_persons_own_tags_are_on_everything_beside_benchlabs(
    cloud: Cloud, tmp_path: Path
) -> None:
    """Instances, volumes, interfaces, the key pair and the group."""
    own = {"CostCenter": "4711", "team": "storage & query"}
    wanted = rental(tmp_path, tags=own)
    launch(cloud.access(), wanted, limits=SOON)
    for request in cloud.requests("RunInstances"):
        kinds = [request[f"TagSpecification.{n}.ResourceType"] for n in (1, 2, 3)]
        assert kinds == ["instance", "volume", "network-interface"]
        for number in (1, 2, 3):
            assert (own | wanted.own).items() <= tags_of(request, number).items()
    for action in ("ImportKeyPair", "CreateSecurityGroup"):
        (made,) = cloud.requests(action)
        assert (own | wanted.own).items() <= tags_of(made, 1).items()
    give_back(cloud.client("ec2"), "c1", MARK, limits=SOON)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("TagPolicyViolation", "The tag policy does not allow the value for CostCenter."),
        ("UnauthorizedOperation", "with an explicit deny in a service control policy."),
    ],
    ids=["tag-policy", "service-control-policy"],
)
def test_an_account_that_demands_tags_is_answered_in_plain_words(
    cloud: Cloud, tmp_path: Path, code: str, said: str
) -> None:
    """With the field of the topology that they belong into."""
    cloud.fault("RunInstances", code, message=said)
    with pytest.raises(TargetError, match="under `tags` in the topology") as caught:
        launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert said in str(caught.value)
    give_back(cloud.client("ec2"), "c1", MARK, limits=SOON)
    assert cloud.holdings() == NOTHING


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


@pytest.mark.fault(
    "a process is killed while it rents hosts",
    promise="the next call rents those that are missing, and none twice",
    of="processes",
)
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


@pytest.mark.fault(
    "AWS launches an instance and its answer is lost",
    promise="the instance is found, and no second one is paid for",
    of="cloud",
)
@pytest.mark.parametrize("code", ["lost", "InternalError"])
def test_an_instance_whose_answer_was_lost_is_not_launched_again(
    cloud: Cloud, tmp_path: Path, code: str
) -> None:
    """RunInstances took effect and nobody heard of it: the ClientToken finds it."""
    cloud.fault("RunInstances", code, match="tikv-1", times=1, after_success=True)
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert len(cloud.holdings()["instances"]) == len(NAMES)
    assert len(cloud.requests("RunInstances")) == len(NAMES) + 1


@pytest.mark.fault("EC2 lists new instances late", promise="none is launched twice", of="cloud")
def test_instances_that_are_not_listed_yet_are_not_launched_again(
    cloud: Cloud, tmp_path: Path
) -> None:
    """EC2's listing lags behind its launches; the ClientToken does not."""
    first = launch(cloud.access(), rental(tmp_path), limits=SOON)
    cloud.fault("DescribeInstances", "empty", times=1)
    assert launch(cloud.access(), rental(tmp_path), limits=SOON) == first
    assert len(cloud.holdings()["instances"]) == len(NAMES)


@pytest.mark.fault(
    "a rented host died before the fleet was complete",
    promise="another one is rented in its place",
    of="hosts",
)
def test_a_dead_host_is_replaced_by_a_new_one(cloud: Cloud, tmp_path: Path) -> None:
    """Its token would only return the dead one, so the token of the next generation is used."""
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
        labels = {**tags.of_campaign("c1"), tags.MARK: MARK, tags.NAME: name}
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


def test_every_launch_is_known_by_the_mark(cloud: Cloud, tmp_path: Path) -> None:
    """The token of another home, of the same id in the same second, is another one."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    tokens = [request["ClientToken"] for request in cloud.requests("RunInstances")]
    assert len(set(tokens)) == len(NAMES)
    assert all(token.startswith(f"benchlab-{MARK}-") and len(token) <= 64 for token in tokens)


def test_another_size_of_the_same_fleet_is_refused(cloud: Cloud, tmp_path: Path) -> None:
    """A campaign whose topology was edited meanwhile would measure a mixed fleet."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    roles = {
        **topology().model_dump()["roles"],
        "pd": {"instance_type": "m5.2xlarge", "count": 1},
    }
    with pytest.raises(TargetError, match=r"pd-1 is a m5\.xlarge, not a m5\.2xlarge"):
        launch(cloud.access(), rental(tmp_path, roles=roles), limits=SOON)


def test_a_call_that_asks_for_something_else_is_refused(cloud: Cloud, tmp_path: Path) -> None:
    """The same token with another expiry: EC2 says no, and Benchlab what to do."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    other = dataclasses.replace(rental(tmp_path), lifetime=timedelta(hours=9))
    cloud.fault("DescribeInstances", "empty", times=1)
    with pytest.raises(TargetError, match="requested before with another image"):
        launch(cloud.access(), other, limits=SOON)


def test_another_key_of_the_same_name_is_refused(cloud: Cloud, tmp_path: Path) -> None:
    """A campaign directory that was lost took the private key with it."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    (tmp_path / "c1/ssh_key").unlink()
    with pytest.raises(TargetError, match="EC2 knows another key"):
        launch(cloud.access(), rental(tmp_path), limits=SOON)


def test_a_foreign_group_of_the_same_name_is_neither_used_nor_opened(
    cloud: Cloud, tmp_path: Path
) -> None:
    """Without the campaign's tags it belongs to somebody: its rules stay as they are."""
    client = cloud.client("ec2")
    vpc = client.describe_subnets()["Subnets"][0]["VpcId"]
    name = f"benchlab-c1-{MARK}"
    client.create_security_group(GroupName=name, Description="of others", VpcId=vpc)
    with pytest.raises(TargetError, match=rf"{name} \(sg-.*not Benchlab's"):
        launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert cloud.requests("AuthorizeSecurityGroupIngress") == []


def test_a_group_that_exists_but_is_not_listed_yet_is_waited_for(
    cloud: Cloud, tmp_path: Path
) -> None:
    """A call that crashed after creating it is followed by one that sees it late, or never."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    cloud.fault("DescribeSecurityGroups", "empty", times=3)
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    cloud.fault("DescribeSecurityGroups", "empty")
    soon = dataclasses.replace(SOON, known_s=0)
    with pytest.raises(TargetError, match="says that it exists"):
        launch(cloud.access(), rental(tmp_path), limits=soon)


def test_an_images_further_volumes_end_with_their_instances(cloud: Cloud, tmp_path: Path) -> None:
    """Whatever the image's own mapping says: kept ones would cost money for ever."""
    cloud.image_volume("/dev/sdf", 100)
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    give_back(cloud.client("ec2"), "c1", MARK, limits=SOON)
    assert cloud.holdings() == NOTHING


def test_only_tikv_hosts_offer_imdsv1_and_only_where_asked(cloud: Cloud, tmp_path: Path) -> None:
    """The first version of the metadata service hands permissions out without a token."""
    old = dataclasses.replace(rental(tmp_path), old_metadata=frozenset({"tikv"}))
    launch(cloud.access(), old, limits=SOON)
    asked = [request["MetadataOptions.HttpTokens"] for request in cloud.requests("RunInstances")]
    assert asked == ["optional" if name.startswith("tikv") else "required" for name in NAMES]


# ---------------------------------------------------------------- capacity, quota, throttling


@pytest.mark.fault(
    "zones run out of capacity half-way",
    promise="all hosts are rented in a zone that has some, and none is left in the others",
    of="cloud",
)
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
    give_back(cloud.client("ec2"), "c1", MARK, limits=SOON)
    assert cloud.holdings() == NOTHING


@pytest.mark.fault("AWS throttles calls", promise="they are tried again", of="cloud")
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
    """Nobody waits five seconds for something that took one, and EC2 is not asked all the time."""
    polls = Limits(poll_s=5).polls()
    assert [next(polls) for _ in range(7)] == [0.25, 0.5, 1, 2, 4, 5, 5]
    assert next(Limits(poll_s=0.02).polls()) == 0.02


@pytest.mark.fault(
    "a rented host never boots",
    promise="the wait ends, and everything is given back",
    of="hosts",
)
def test_a_host_that_never_boots_leaves_nothing_behind(cloud: Cloud, tmp_path: Path) -> None:
    """RunInstances succeeds and the wait fails: giving back ends everything back."""
    cloud.boots("tikv-2", never=True)
    with pytest.raises(TargetError, match=r"(?s)not ready after 0 s.*tikv-2 .*pending"):
        provision(cloud.access(), rental(tmp_path), limits=dataclasses.replace(SOON, ready_s=0))
    assert len(cloud.holdings()["instances"]) == len(NAMES)
    give_back(cloud.client("ec2"), "c1", MARK, limits=SOON)
    assert cloud.holdings() == NOTHING


@pytest.mark.fault(
    "a rented host dies while it boots",
    promise="EC2's reason and the end of its console are reported",
    of="hosts",
)
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


def test_a_proxy_that_answers_instead_of_aws_is_named(cloud: Cloud, tmp_path: Path) -> None:
    """Its page is neither shown nor a reason for a traceback."""
    cloud.fault("DescribeInstances", "html")
    with pytest.raises(AwsError, match="what answers is not AWS; is it a proxy"):
        launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert cloud.holdings() == NOTHING
