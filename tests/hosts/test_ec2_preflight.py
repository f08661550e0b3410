"""What is asked of an AWS account before anything is rented, and the permissions it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchlab.errors import TargetError
from benchlab.home import find
from benchlab.hosts import own_address
from benchlab.plan.topology import on_ec2
from benchlab.plan.topology import valid as load_all
from benchlab.targets.ec2 import account, preflight, tags
from benchlab.targets.ec2.boot import provision
from benchlab.targets.ec2.instances import launch
from benchlab.targets.ec2.inventory import give_back
from benchlab.targets.ec2.reaper import reap
from tests.hosts import iam
from tests.hosts.cloud import NOTHING, REGION, Cloud
from tests.hosts.ec2_fleet import GRANTED, HERE, LATER, MARK, SOON, ZONES, rental, topology

ROOT = Path(__file__).parents[2]
PD_SMALL = {"instance_type": "m5.xlarge", "count": 1, "root_gib": 8}


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
    preflight.check(cloud.access(), topology(), campaign="c1", mark=MARK)
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


def actions(statement: dict[str, Any]) -> set[str]:
    """A statement's actions."""
    listed = statement["Action"]
    return {listed} if isinstance(listed, str) else set(listed)


def test_the_policy_grants_what_is_called_and_no_more(
    cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every action of a life with its troubles, as recorded, is in the policy; and no other."""
    monkeypatch.setattr(own_address, "public", lambda: HERE)
    cloud.client("iam").create_instance_profile(InstanceProfileName="benchlab-host")
    access, wanted = (
        cloud.access(),
        rental(tmp_path, instance_profile="benchlab-host", roles=GRANTED),
    )
    role = "arn:aws:sts::123456789012:assumed-role/benchlab/me"
    cloud.client("iam").create_role(RoleName="benchlab", AssumeRolePolicyDocument="{}")
    cloud.caller(role)
    assert all(found.good for found in account.examine(find(), access, wanted.topology))
    preflight.check(access, wanted.topology)
    cloud.fault("RunInstances", "InsufficientInstanceCapacity", zone=ZONES[0], match="tidb-1")
    launch(access, wanted, limits=SOON)
    provision(access, wanted, limits=SOON)
    give_back(access.aws("ec2", REGION), "c1", MARK, limits=SOON)
    access.aws("ec2", REGION).create_volume(
        AvailabilityZone=ZONES[0],
        Size=1,
        TagSpecifications=tags.specifications(tags.of_campaign("c1"), "volume"),
    )
    cloud.recorded.remove("ec2:CreateVolume")
    reap(access, [REGION], now=LATER, limits=SOON)
    granted = {action for statement in iam.statements() for action in actions(statement)}
    assert cloud.recorded == granted - {account.PRICES}


OURS = {
    "aws:RequestedRegion": REGION,
    "aws:RequestTag/benchlab:project": "benchlab",
    "aws:ResourceTag/benchlab:project": "benchlab",
    "ec2:CreateAction": "RunInstances",
    "iam:PassedToService": "ec2.amazonaws.com",
    "iam:AssociatedResourceArn": f"arn:aws:ec2:{REGION}:{iam.ACCOUNT}:instance/one",
}
# Belong to the account or to Debian, and are only referred to: there is no tag of ours on them.
REFERRED_TO = ("image", "parameter", "role", "subnet", "vpc")
ASKED = [(action, kind) for action, kinds in iam.ASKED.items() for kind in kinds]


@pytest.mark.parametrize(("action", "kind"), ASKED)
def test_the_policy_allows_ours_and_denies_foreign_ones(action: str, kind: str) -> None:
    """Of the shipped topologies; another region, tag, project, type or role is refused."""
    topologies = load_all(ROOT / "configs/topologies").values()
    shipped = [rented for one in topologies if (rented := on_ec2(one)) is not None]
    types = {name for one in shipped for _, _, name in one.host_types()}
    mine = iam.arn(kind, REGION)
    assert {one.region for one in shipped} == {REGION}
    assert all(iam.allows(action, mine, {**OURS, "ec2:InstanceType": name}) for name in types)
    ours = {**OURS, "ec2:InstanceType": min(types)}
    foreign: list[dict[str, str]] = [{**ours, "aws:RequestedRegion": "us-east-1"}]
    if kind == "role":
        foreign = [{**ours, "iam:PassedToService": "lambda.amazonaws.com"}]
        other = OURS["iam:AssociatedResourceArn"].replace(REGION, "us-east-1")
        foreign.append({**ours, "iam:AssociatedResourceArn": other})
        assert not iam.allows(action, mine.replace("hosts", "admin"), ours)
    elif kind not in REFERRED_TO:
        tags_of = [key for key in ours if "benchlab:project" in key]
        foreign.append({**ours, **dict.fromkeys(tags_of, "another")})
        foreign.append({key: value for key, value in ours.items() if key not in tags_of})
    if (action, kind) == ("ec2:RunInstances", "instance"):
        foreign.append({**ours, "ec2:InstanceType": "p5.48xlarge"})
    if action == "ec2:CreateTags":
        foreign.append({**ours, "ec2:CreateAction": "CreateVolume"})
    if kind == "key-pair":
        assert not iam.allows(action, mine.replace("benchlab-c1", "of-c1"), ours)
    assert not any(iam.allows(action, mine, context) for context in foreign)


def test_only_looking_is_allowed_on_everything() -> None:
    """What changes something names its resources; each of its kinds is tried above."""
    for statement in iam.statements():
        assert statement["Effect"] == "Allow"
        listed = actions(statement)
        if statement["Resource"] == ["*"]:
            assert all(one.split(":")[1].startswith(("Describe", "Get")) for one in listed)
        else:
            assert listed <= iam.ASKED.keys() | iam.SIMULATES


@pytest.mark.parametrize("action", sorted(iam.SIMULATES))
def test_the_policy_lets_only_ours_be_simulated(action: str) -> None:
    """What others of the account may do is not asked."""
    for kind in ("role", "user"):
        assert iam.allows(action, f"arn:aws:iam::{iam.ACCOUNT}:{kind}/benchlab", {})
        assert not iam.allows(action, f"arn:aws:iam::{iam.ACCOUNT}:{kind}/admin", {})


def test_the_doctor_asks_about_every_permission_of_the_policy() -> None:
    """An account's own identity, prices and the simulation itself need no question."""
    granted = {action for statement in iam.statements() for action in actions(statement)}
    asked = {
        account.PRICES,
        *account.LOOKS,
        *account.ASKED,
        *iam.SIMULATES,
        "sts:GetCallerIdentity",
    }
    assert granted == asked


def test_a_root_volume_smaller_than_the_images_is_found_before(cloud: Cloud) -> None:
    """EC2 would refuse it when key and group have been made."""
    roles = {**topology().model_dump()["roles"], "pd": PD_SMALL}
    with pytest.raises(TargetError, match=r"roles\.pd\.root_gib: 8; .* has 15 GiB"):
        preflight.check(cloud.access(), topology(roles=roles))
