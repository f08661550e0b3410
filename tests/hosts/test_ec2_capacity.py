"""Where a fleet is rented that has no capacity: other zones, types, regions; spot, on demand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchlab.errors import TargetError
from benchlab.plan.topology import Ec2Topology
from benchlab.targets.ec2 import inventory, preflight
from benchlab.targets.ec2.boot import provision
from benchlab.targets.ec2.instances import Course, launch
from tests.hosts.cloud import NOTHING, PARAMETER, REGION, Cloud
from tests.hosts.ec2_fleet import MARK, NAMES, SOON, ZONES, living, rental, topology, zones

ELSEWHERE = "eu-central-1"
SPOT = '"InstanceMarketOptions.MarketType": "spot"'
NO_CAPACITY = "InsufficientInstanceCapacity"


def roles(**changed: dict[str, object]) -> dict[str, object]:
    """The roles of the small fleet with changes to some."""
    made: dict[str, dict[str, object]] = {
        "pd": {"instance_type": "m5.xlarge", "count": 1},
        "tikv": {"instance_type": "i3.xlarge", "count": 2},
        "tidb": {"instance_type": "c5.xlarge", "count": 1},
        "client": {"instance_type": "c5.2xlarge", "count": 1},
    }
    return {role: machines | changed.get(role, {}) for role, machines in made.items()}


OTHER_TIKV = roles(tikv={"or_types": ["i3en.xlarge", "i4i.xlarge"]})
SPOT_TIKV = roles(tikv={"capacity": "spot"})


def asked(cloud: Cloud) -> list[tuple[str, str]]:
    """Zone and type of each launch of a TiKV host that was asked for, in order."""
    subnets = cloud.client("ec2").describe_subnets()["Subnets"]
    zone = {subnet["SubnetId"]: subnet["AvailabilityZone"] for subnet in subnets}
    return [
        (zone.get(request["NetworkInterface.1.SubnetId"], ELSEWHERE), request["InstanceType"])
        for request in cloud.requests("RunInstances")
        if "tikv-1" in request.values()
    ]


def markets(cloud: Cloud) -> dict[str, str]:
    """How each living host was bought, by its name."""
    listed = inventory.of_campaign(cloud.client("ec2"), "c1")
    return {one.name: "spot" if one.spot else "on demand" for one in listed if one.living}


# ---------------------------------------------------------------- types and regions


def test_the_preferred_types_are_tried_in_every_zone_before_the_next_types(
    cloud: Cloud, tmp_path: Path
) -> None:
    """Each type once in each zone; the fleet is whole, in one zone, and nothing else is left."""
    cloud.fault("RunInstances", NO_CAPACITY, match="i3.xlarge")
    cloud.fault("RunInstances", NO_CAPACITY, match="i3en.xlarge")
    cloud.fault("RunInstances", NO_CAPACITY, match="i4i.xlarge", zone=ZONES[0])
    course = Course()
    wanted = rental(tmp_path, roles=OTHER_TIKV)
    launched = launch(cloud.access(), wanted, limits=SOON, course=course)
    everywhere = [(zone, kind) for kind in ("i3.xlarge", "i3en.xlarge") for zone in ZONES]
    assert asked(cloud) == [*everywhere, (ZONES[0], "i4i.xlarge"), (ZONES[1], "i4i.xlarge")]
    assert course.choice is not None
    assert course.choice.roles["tikv"].instance_type == "i4i.xlarge"
    assert zones(cloud) == {ZONES[1]}
    assert sorted(living(cloud).values()) == sorted(one.instance for one in launched)
    assert len(cloud.holdings()["instances"]) == len(NAMES)


def test_the_next_region_comes_after_all_types_of_the_one_before(
    cloud: Cloud, tmp_path: Path
) -> None:
    """Nothing stays in the first: no instance, key or group; each decision is kept before."""
    cloud.fault("RunInstances", NO_CAPACITY, region=REGION, match="tikv-1")
    kept: list[tuple[str, str]] = []

    def keep(course: Course) -> None:
        assert course.choice is not None
        kept.append((course.choice.region, course.choice.roles["tikv"].instance_type))

    wanted = rental(tmp_path, roles=OTHER_TIKV, elsewhere=[{"region": ELSEWHERE}])
    course = Course(keep=keep)
    fleet = provision(cloud.access(), wanted, limits=SOON, course=course)
    assert [host.name for host in fleet.hosts] == NAMES
    first = ["i3.xlarge", "i3en.xlarge", "i4i.xlarge"]
    assert kept == [*((REGION, kind) for kind in first), (ELSEWHERE, "i3.xlarge")]
    here, there = cloud.client("ec2"), cloud.client("ec2", ELSEWHERE)
    assert not [one for one in inventory.of_campaign(here, "c1") if one.state != "terminated"]
    assert here.describe_key_pairs()["KeyPairs"] == []
    assert len(inventory.of_campaign(there, "c1")) == len(NAMES)
    # A repeated call goes on where the fleet is, and rents nothing.
    count = len(cloud.requests("RunInstances"))
    again = provision(cloud.access(), wanted, limits=SOON, course=Course(course.choice))
    assert again == fleet
    assert len(cloud.requests("RunInstances")) == count
    inventory.give_back(there, "c1", MARK, limits=SOON)
    assert cloud.holdings() == NOTHING


@pytest.mark.fault(
    "a region's quota is too small",
    promise="the fleet is rented in the next region",
    of="cloud",
)
def test_a_quota_that_is_too_small_leads_to_the_next_region(cloud: Cloud, tmp_path: Path) -> None:
    """It is the same in every zone, and for every size of a type, but not in every region."""
    cloud.fault("RunInstances", "VcpuLimitExceeded", region=REGION, match="tikv-1")
    wanted = rental(tmp_path, roles=OTHER_TIKV, elsewhere=[{"region": ELSEWHERE}])
    course = Course()
    launch(cloud.access(), wanted, limits=SOON, course=course)
    assert course.choice is not None
    assert course.choice.region == ELSEWHERE
    assert asked(cloud) == [(ZONES[0], "i3.xlarge"), (ELSEWHERE, "i3.xlarge")]
    assert living(cloud) == {}


@pytest.mark.fault(
    "no zone has capacity",
    promise="every type and region that was tried is named, and nothing stays rented",
    of="cloud",
)
def test_without_capacity_anywhere_every_type_and_region_is_named(
    cloud: Cloud, tmp_path: Path
) -> None:
    """And nothing stays rented."""
    cloud.fault("RunInstances", NO_CAPACITY, match="tikv-1")
    wanted = rental(tmp_path, roles=OTHER_TIKV, elsewhere=[{"region": ELSEWHERE}])
    with pytest.raises(TargetError) as refused:
        launch(cloud.access(), wanted, limits=SOON)
    said = str(refused.value)
    assert said.startswith(f"{REGION}, {ELSEWHERE}: no zone has the capacity")
    assert all(f"{kind}: {NO_CAPACITY}" in said for kind in ("i3.xlarge", "i4i.xlarge"))
    assert all(zone in said for zone in (*ZONES, f"{ELSEWHERE}a"))
    assert cloud.holdings()["instances"] == []


# ---------------------------------------------------------------- spot


def test_spot_hosts_are_asked_for_as_they_must_be(cloud: Cloud, tmp_path: Path) -> None:
    """Only those of the role that says so; taken away, they end and do not come back."""
    launch(cloud.access(), rental(tmp_path, roles=SPOT_TIKV), limits=SOON)
    spot = [one for one in cloud.requests("RunInstances") if SPOT in json.dumps(one)]
    assert [set(NAMES) & set(one.values()) for one in spot] == [{"tikv-1"}, {"tikv-2"}]
    for request in spot:
        options = "InstanceMarketOptions.SpotOptions."
        assert request[f"{options}SpotInstanceType"] == "one-time"
        assert request[f"{options}InstanceInterruptionBehavior"] == "terminate"
        assert f"{options}MaxPrice" not in request, "at most the price on demand, as in the plan"
        assert request["InstanceInitiatedShutdownBehavior"] == "terminate"
    found = markets(cloud)
    assert {name for name, market in found.items() if market == "spot"} == {"tikv-1", "tikv-2"}


@pytest.mark.parametrize(
    "code", [NO_CAPACITY, "SpotMaxPriceTooLow", "MaxSpotInstanceCountExceeded", "Unsupported"]
)
def test_without_spot_capacity_a_host_is_rented_on_demand_in_its_place(
    cloud: Cloud, tmp_path: Path, code: str
) -> None:
    """Asked once: neither zones nor other hosts are changed, and it is said why."""
    cloud.fault("RunInstances", code, match=SPOT, times=1)
    heard: list[str] = []
    course = Course()
    wanted = rental(tmp_path, roles=SPOT_TIKV)
    launch(cloud.access(), wanted, limits=SOON, course=course, say=heard.append)
    assert markets(cloud)["tikv-1"] == "on demand"
    assert markets(cloud)["tikv-2"] == "spot"
    assert zones(cloud) == {ZONES[0]}
    assert course.on_demand == {"tikv-1"}
    assert any("tikv-1: no spot host" in line and code in line for line in heard)


def test_the_quota_of_spot_vcpus_is_its_own(cloud: Cloud, tmp_path: Path) -> None:
    """One host of four vCPUs fits into it; the other one is rented on demand."""
    cloud.quota(256, spot=4)
    launch(cloud.access(), rental(tmp_path, roles=SPOT_TIKV), limits=SOON)
    assert list(markets(cloud).values()).count("spot") == 1


def test_a_host_that_was_asked_for_on_demand_is_not_asked_for_as_spot_again(
    cloud: Cloud, tmp_path: Path
) -> None:
    """Its answer was lost, and EC2 does not list it yet: still there is one of it."""
    cloud.fault("RunInstances", NO_CAPACITY, match=SPOT, times=1)
    course, wanted = Course(), rental(tmp_path, roles=SPOT_TIKV)
    launch(cloud.access(), wanted, limits=SOON, course=course)
    cloud.fault("DescribeInstances", "empty", times=1)
    again = Course(course.choice, course.on_demand)
    launch(cloud.access(), wanted, limits=SOON, course=again)
    assert len(cloud.holdings()["instances"]) == len(NAMES)


def test_without_any_capacity_in_a_zone_spot_hosts_move_on_as_others(
    cloud: Cloud, tmp_path: Path
) -> None:
    """Neither spot nor on demand: the next zone has the whole fleet."""
    cloud.fault("RunInstances", NO_CAPACITY, match="tikv-1", zone=ZONES[0])
    launch(cloud.access(), rental(tmp_path, roles=SPOT_TIKV), limits=SOON)
    assert zones(cloud) == {ZONES[1]}
    assert len(cloud.holdings()["instances"]) == len(NAMES)


# ---------------------------------------------------------------- before anything is rented


def test_every_type_and_region_is_checked_before_anything_is_rented(cloud: Cloud) -> None:
    """A misspelt type and a foreign image are faults, wherever they would be used."""
    unknown = roles(tikv={"or_types": ["i9.xlarge"]})
    with pytest.raises(TargetError, match=r"instance type i9\.xlarge is not known there"):
        preflight.check(cloud.access(), topology(roles=unknown))
    foreign = [{"region": ELSEWHERE, "image": {"id": "ami-0000000000000dead"}}]
    with pytest.raises(TargetError, match=rf"{ELSEWHERE}: image\.id: ami-0000000000000dead"):
        preflight.check(cloud.access(), topology(elsewhere=foreign))
    fits = topology(roles=OTHER_TIKV, elsewhere=[{"region": ELSEWHERE}])
    assert preflight.check(cloud.access(), fits) == []


@pytest.mark.parametrize(
    ("on_demand", "spot", "notes"),
    [
        (24, 8, 0),
        (24, 4, 1),  # rented on demand instead
        (16, 8, 1),  # could not be, if there were none
    ],
)
def test_quotas_are_checked_for_spot_hosts_and_for_having_none(
    cloud: Cloud, on_demand: int, spot: int, notes: int
) -> None:
    """16 vCPUs on demand and 8 of spot hosts: one of both quotas may be too small for those 8."""
    cloud.quota(on_demand, spot=spot)
    found = preflight.check(cloud.access(), topology(roles=SPOT_TIKV))
    assert len(found) == notes


def test_spot_hosts_that_no_quota_allows_are_refused(cloud: Cloud) -> None:
    """Neither as spot hosts nor on demand."""
    cloud.quota(16, spot=4)
    with pytest.raises(TargetError, match=r"L-34B43A08 .*needs 8, 0 of 4 are in use"):
        preflight.check(cloud.access(), topology(roles=SPOT_TIKV))


def test_another_choice_beyond_the_quota_is_a_note(cloud: Cloud) -> None:
    """It would be passed over: larger hosts of the same role."""
    cloud.quota(24)
    larger = roles(tikv={"or_types": ["i3.2xlarge"]})
    [note] = preflight.check(cloud.access(), topology(roles=larger))
    assert "needs 32" in note


def test_a_place_has_what_the_topology_has_unless_it_says_otherwise() -> None:
    """Its image by the parameter, which is known in every region."""
    made = topology(subnets=["subnet-1"], elsewhere=[{"region": ELSEWHERE, "ssh_by": "private"}])
    first, second = made.places()
    assert isinstance(first, Ec2Topology)
    assert (first.region, first.subnets, first.ssh_by) == (REGION, ("subnet-1",), "public")
    assert (second.region, second.subnets, second.ssh_by) == (ELSEWHERE, (), "private")
    assert second.image.ssm_parameter == PARAMETER
