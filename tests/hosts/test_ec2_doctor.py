"""`benchlab doctor --aws`: what it finds out about an account, and that it starts nothing."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import boto3
import pytest
import yaml

from benchlab import home
from benchlab.cli import doctor
from benchlab.hosts import own_address
from benchlab.hosts.access import Access
from benchlab.targets.ec2 import account
from benchlab.targets.ec2.account import principal
from benchlab.targets.ec2.preflight import Finding
from tests.builders.installation import Here
from tests.hosts.cloud import NOTHING, Cloud
from tests.hosts.ec2_fleet import GRANTED, HERE, topology

ROLE = "AWSReservedSSO_bench_0123"
SESSION = f"arn:aws:sts::123456789012:assumed-role/{ROLE}/me"


@pytest.fixture(autouse=True)
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody on the internet is asked anything."""
    monkeypatch.setattr(own_address, "public", lambda: HERE)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Here:
    """An installation with one topology."""
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # it keeps credentials
    made = Here(tmp_path)
    folder = made.home.configs / "topologies"
    for path in folder.glob("*.yaml"):
        path.unlink()
    (folder / "mine.yaml").write_text(
        yaml.safe_dump(topology(roles=GRANTED).model_dump(mode="json"))
    )
    return made


def asked(cloud: Cloud, **fields: object) -> dict[str, Finding]:
    """The worst finding about each matter."""
    found: dict[str, Finding] = {}
    wanted = topology(**({"roles": GRANTED} | fields))
    for one in account.examine(home.find(), cloud.access(), wanted):
        kept = found.get(one.what)
        if kept is None or kept.good or (kept.good is None and one.good is False):
            found[one.what] = one
    return found


def test_an_account_that_is_ready_is_said_to_be_so(cloud: Cloud, here: Here) -> None:
    """One line for each matter; exit code 0; and nothing was made, changed or even tried."""
    done = here.run("doctor", "--aws", "--topology", "mine", **cloud.environment)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split(": ")[0] for line in done.stdout.splitlines()]
    assert lines == [
        *("ok    topology", "ok    tiup", "ok    credentials", "ok    image", "ok    subnets"),
        *("ok    instance types", "ok    zones", "ok    quota", "ok    ssh"),
        *("ok    way out", "ok    policy"),
    ]
    assert cloud.holdings() == NOTHING
    assert all(name.startswith(("Get", "Describe", "Simulate")) for name in cloud.actions())


@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("ExpiredToken", "the credentials have expired: log in again"),
        ("InvalidClientTokenId", "or this region is not enabled in their account"),
    ],
)
def test_credentials_that_are_refused_are_the_only_thing_said(
    cloud: Cloud, code: str, part: str
) -> None:
    """AWS would say the same to every other question."""
    cloud.fault("GetCallerIdentity", code)
    found = asked(cloud)
    assert list(found) == ["tiup", "credentials"]
    assert not found["credentials"].good
    assert part in found["credentials"].detail


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"AWS_ACCESS_KEY_ID": ""}, "there are no credentials in the environment"),
        ({"AWS_PROFILE": "nosuch"}, "there is no profile 'nosuch'"),
        ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "does not answer; see whether this machine"),
    ],
)
def test_without_credentials_or_network_the_cause_is_named(
    cloud: Cloud, here: Here, changed: dict[str, str], part: str
) -> None:
    """In our words: boto3's name neither the cause nor what to do."""
    environment = {k: v for k, v in (cloud.environment | changed).items() if v}
    if "AWS_ACCESS_KEY_ID" not in environment:
        environment.pop("AWS_SECRET_ACCESS_KEY")
    done = here.run("doctor", "--aws", **environment)
    assert (done.returncode, done.stderr) == (1, "")
    [line] = [line for line in done.stdout.splitlines() if line.startswith("MISS")]
    assert line.startswith("MISS  credentials: ")
    assert part in line


def test_a_region_that_is_misspelt_is_named(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its address simply does not exist."""
    wrong = topology(region="us-wset-2").model_dump(mode="json")
    (here.home.configs / "topologies/mine.yaml").write_text(yaml.safe_dump(wrong))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    [said] = [
        check.detail
        for check in doctor.examine_aws(here.home, None, Access.for_a_person())
        if check.blocks
    ]
    assert "no region us-wset-2 is known; is it misspelt?" in said


def test_image_types_and_quota_are_asked_as_a_campaign_does(cloud: Cloud) -> None:
    """Each fault is one line, and none hides another."""
    cloud.quota(87)
    small = {"instance_type": "m5.xlarge", "count": 1, "root_gib": 8}
    found = asked(cloud, roles=GRANTED | {"pd": small})
    assert "the fleet needs 88, 0 of 87 are in use; ask for a higher" in found["quota"].detail
    assert "roles.pd.root_gib: 8" in found["image"].detail
    assert [what for what, one in found.items() if not one.good] == ["image", "quota"]


def test_ssh_from_is_compared_with_this_machines_address(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the hosts would see it: by the internet, or from within their network."""
    wrong = asked(cloud, ssh_from="198.51.100.0/24")["ssh"]
    assert wrong.good is False
    assert wrong.detail.startswith(f"this machine would log in from {HERE}, which `ssh_from: 198.")
    assert asked(cloud, ssh_from="0.0.0.0/0")["ssh"].good is None
    assert asked(cloud, ssh_from="auto")["ssh"].good
    monkeypatch.setattr(own_address, "towards", lambda host: "172.31.4.9")
    assert asked(cloud, ssh_by="private", ssh_from="auto")["ssh"].good
    assert asked(cloud, ssh_by="private", ssh_from="172.31.0.0/16")["ssh"].good
    found = asked(cloud, ssh_by="private")["ssh"]
    assert found.good is False
    assert "or `ssh_by: public` if this machine is not in vpc-" in found.detail
    monkeypatch.setattr(own_address, "towards", lambda host: "192.168.1.5")
    found = asked(cloud, ssh_by="private", ssh_from="auto")["ssh"]
    assert found.good is False
    assert "192.168.1.5, is in no subnet of vpc-" in found.detail
    assert "write `ssh_by: public`" in found.detail


def test_an_address_that_cannot_be_found_out_is_a_fault_only_where_it_is_needed(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the topology says instead is named."""

    def silent() -> str:
        raise OSError

    monkeypatch.setattr(own_address, "public", silent)
    found = asked(cloud, ssh_from="auto")["ssh"]
    assert found.good is False
    assert found.detail.endswith("write `ssh_from` into the topology, as 203.0.113.7/32")
    assert asked(cloud, ssh_from="198.51.100.0/24")["ssh"].good is None


def test_a_subnet_without_a_way_out_is_found(cloud: Cloud) -> None:
    """Its hosts could download nothing, which would show only after they boot."""
    ec2 = cloud.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.9.1.0/24")["Subnet"]["SubnetId"]
    assert "has no route to the internet" in asked(cloud, subnets=[subnet])["way out"].detail
    gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
    ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
    table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
    ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
    ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)
    assert asked(cloud, subnets=[subnet])["way out"].good
    found = asked(cloud, subnets=[subnet], ssh_by="private")["way out"]
    assert "no public address" in found.detail


def test_missing_permissions_are_named(cloud: Cloud) -> None:
    """Each action with the resource that it is missing on."""
    cloud.caller(denied=["ec2:TerminateInstances", "ec2:DescribeVolumes"])
    found = asked(cloud)["policy"]
    assert found.good is False
    assert "ec2:DescribeVolumes; ec2:TerminateInstances on arn:aws:ec2:us-west-2:" in found.detail


def test_an_instance_type_that_the_policy_leaves_out_is_named(cloud: Cloud) -> None:
    """The shipped policy lists those of the shipped topologies."""
    found = asked(cloud, roles=GRANTED | {"client": {"instance_type": "r5.large", "count": 1}})
    instances = "arn:aws:ec2:us-west-2:123456789012:instance/instance-of-a-campaign"
    assert f"lacks ec2:RunInstances on {instances} as r5.large. " in found["policy"].detail


def test_permissions_that_may_not_be_simulated_are_a_note(cloud: Cloud) -> None:
    """The permission for it is named."""
    cloud.fault("SimulatePrincipalPolicy", "AccessDenied")
    found = asked(cloud)["policy"]
    assert found.good is None
    assert "iam:SimulatePrincipalPolicy on arn:aws:iam::123456789012:user/benchlab" in found.detail


def test_a_session_of_a_role_is_simulated_by_the_role(cloud: Cloud) -> None:
    """Its name lacks the role's path, by which alone IAM finds it."""
    cloud.caller(SESSION)
    assert asked(cloud)["policy"].good is None
    cloud.client("iam").create_role(
        RoleName=ROLE, Path="/aws-reserved/sso.amazonaws.com/", AssumeRolePolicyDocument="{}"
    )
    assert asked(cloud)["policy"].good
    assert principal("arn:aws:iam::123456789012:root") is None


def test_a_clock_that_is_wrong_is_said(cloud: Cloud) -> None:
    """AWS refuses every request of a machine that is a quarter of an hour off."""
    cloud.clock(timedelta(minutes=9))
    assert "9 min behind AWS's" in asked(cloud)["clock"].detail


def test_an_install_script_that_does_not_answer_this_machine_is_a_note(cloud: Cloud) -> None:
    """The hosts may reach it nevertheless."""
    assert asked(cloud, tiup="https://127.0.0.1:9/install.sh")["tiup"].good is None


@pytest.mark.parametrize("arguments", [["--topology", "mine"], ["--aws", "--topology", "nosuch"]])
def test_a_topology_that_cannot_be_tried_is_refused(here: Here, arguments: list[str]) -> None:
    """Before anything is asked."""
    here.refused("doctor", *arguments)
