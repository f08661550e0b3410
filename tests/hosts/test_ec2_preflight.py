"""What is asked of an AWS account before anything is rented, and the permissions it takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchlab.errors import TargetError
from benchlab.targets.ec2 import preflight
from benchlab.targets.ec2.boot import provision
from benchlab.targets.ec2.instances import launch
from benchlab.targets.ec2.inventory import give_back
from benchlab.targets.ec2.reaper import reap
from tests.hosts.cloud import NOTHING, REGION, Cloud
from tests.hosts.ec2_fleet import LATER, SOON, ZONES, rental, topology

ROOT = Path(__file__).parents[2]


# ---------------------------------------------------------------- before anything starts


def test_preflight_finds_a_fleet_that_can_be_rented(cloud: Cloud) -> None:
    """Image by parameter, subnets by zone, vCPUs of all hosts; and it rents nothing."""
    cloud.quota(4 + 2 * 4 + 4 + 8)
    assert preflight.check(cloud.access(), topology()) == []
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
    [note] = preflight.check(cloud.access(), topology())
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
