"""Ending what is rented on EC2: all of a campaign, nothing of others, and all that has expired."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path

import pytest

from benchlab.errors import TargetError
from benchlab.targets.ec2 import tags
from benchlab.targets.ec2.boot import provision
from benchlab.targets.ec2.calls import AwsError
from benchlab.targets.ec2.instances import launch
from benchlab.targets.ec2.inventory import give_back
from benchlab.targets.ec2.reaper import reap
from tests.hosts.cloud import NOTHING, REGION, Cloud
from tests.hosts.ec2_fleet import LATER, MARK, NAMES, NOW, SOON, living, mark_of, rental

ROOT = Path(__file__).parents[2]


# ---------------------------------------------------------------- giving back


@pytest.mark.fault(
    "giving back is interrupted, or called before anything is there",
    promise="it can be called again at any moment, and leaves nothing",
    of="processes",
)
def test_give_back_may_be_called_at_any_moment(cloud: Cloud, tmp_path: Path) -> None:
    """Before anything is there, with half of it, and again."""
    nothing = "0 instances terminated, 0 key pairs and 0 security groups deleted"
    client = cloud.client("ec2")
    assert give_back(client, "c1", MARK, limits=SOON) == nothing
    cloud.fault("RunInstances", "UnauthorizedOperation", match="tikv-2", times=1)
    with pytest.raises(AwsError):
        launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert give_back(client, "c1", MARK, limits=SOON).startswith(
        "2 instances terminated, 1 key pair and"
    )
    assert give_back(client, "c1", MARK, limits=SOON) == nothing
    assert cloud.holdings() == NOTHING


def test_campaigns_do_not_touch_each_other(cloud: Cloud, tmp_path: Path) -> None:
    """Two at once in one account: each has and gives back its own."""
    one = provision(cloud.access(), rental(tmp_path, "c1"), limits=SOON)
    two = provision(cloud.access(), rental(tmp_path, "c2"), limits=SOON)
    assert not {host.instance for host in one.hosts} & {host.instance for host in two.hosts}
    give_back(cloud.client("ec2"), "c1", MARK, limits=SOON)
    assert cloud.holdings()["instances"] == sorted(str(host.instance) for host in two.hosts)
    assert cloud.holdings()["keys"] == [f"benchlab-c2-{mark_of('c2')}"]
    assert provision(cloud.access(), rental(tmp_path, "c2"), limits=SOON) == two


@pytest.mark.fault(
    "AWS throttles the ending of instances",
    promise="it is asked again; where that is not enough it says so, and a second call ends them",
    of="cloud",
)
def test_a_throttled_end_is_asked_for_again(cloud: Cloud, tmp_path: Path) -> None:
    """A few times by boto3; if AWS goes on, nothing is said to be given back that is not."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    cloud.fault("TerminateInstances", "RequestLimitExceeded", times=2)
    assert f"{len(NAMES)} instances terminated" in give_back(
        cloud.client("ec2"), "c1", MARK, limits=SOON
    )
    launched = launch(cloud.access(), rental(tmp_path, "c2"), limits=SOON)
    cloud.fault("TerminateInstances", "RequestLimitExceeded")
    with pytest.raises(TargetError, match="RequestLimitExceeded"):
        give_back(
            cloud.client("ec2"), "c2", mark_of("c2"), limits=dataclasses.replace(SOON, gone_s=0)
        )
    assert len(cloud.holdings()["instances"]) == len(launched)
    cloud.heal()
    give_back(cloud.client("ec2"), "c2", mark_of("c2"), limits=SOON)
    assert cloud.holdings() == NOTHING


@pytest.mark.fault(
    "AWS refuses to end one instance and to delete the key",
    promise="all else is given back, both are named, and a second call ends them",
    of="cloud",
)
def test_what_cannot_be_given_back_keeps_nothing_else(cloud: Cloud, tmp_path: Path) -> None:
    """One instance and the key are refused: the others go, both are named, a second call ends."""
    launched = launch(cloud.access(), rental(tmp_path), limits=SOON)
    spared = launched[0].instance
    cloud.fault("TerminateInstances", "UnauthorizedOperation", match=spared)
    cloud.fault("DeleteKeyPair", "UnauthorizedOperation")
    with pytest.raises(TargetError, match=r"(?s)terminate_instances.*delete_key_pair"):
        give_back(cloud.client("ec2"), "c1", MARK, limits=dataclasses.replace(SOON, gone_s=0))
    assert list(living(cloud).values()) == [spared]
    cloud.heal()
    give_back(cloud.client("ec2"), "c1", MARK, limits=SOON)
    assert cloud.holdings() == NOTHING


def test_an_instance_that_is_listed_late_is_ended_while_the_group_is_waited_for(
    cloud: Cloud, tmp_path: Path
) -> None:
    """It holds the group; without another look the group would never be free."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    cloud.fault("DescribeInstances", "empty", times=2)
    give_back(cloud.client("ec2"), "c1", MARK, limits=SOON)
    assert cloud.holdings() == NOTHING


def test_rules_revoked_a_moment_ago_do_not_stop_giving_back(cloud: Cloud, tmp_path: Path) -> None:
    """EC2 may list them still, and then refuse to revoke them again."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    cloud.fault("RevokeSecurityGroupIngress", "InvalidPermission.NotFound", times=1)
    give_back(cloud.client("ec2"), "c1", MARK, limits=SOON)
    assert cloud.holdings() == NOTHING


@pytest.mark.parametrize("by_reaper", [False, True])
def test_volumes_that_outlived_their_instances_are_deleted(cloud: Cloud, by_reaper: bool) -> None:
    """Those with the rental's tags; others are not touched."""
    client = cloud.client("ec2")
    for labels in (tags.of_campaign("c1") | {tags.MARK: MARK}, {"benchlab:project": "another"}):
        client.create_volume(
            AvailabilityZone=f"{REGION}a",
            Size=1,
            TagSpecifications=tags.specifications(labels, "volume"),
        )
    if by_reaper:
        [done] = reap(cloud.access(), [REGION], now=NOW, limits=SOON)
        assert done.kind == "volume"
    else:
        assert "1 volume deleted" in give_back(client, "c1", MARK, limits=SOON)
    assert len(cloud.holdings()["volumes"]) == 1


# ---------------------------------------------------------------- the reaper


def test_the_reaper_leaves_a_healthy_campaign_alone(cloud: Cloud, tmp_path: Path) -> None:
    """While it provisions, while it runs, and until its last second."""
    launch(cloud.access(), rental(tmp_path), limits=SOON)
    before = cloud.holdings()
    for hours in (0, 2, 5):
        assert reap(cloud.access(), [REGION], now=NOW + timedelta(hours=hours), limits=SOON) == []
    assert cloud.holdings() == before


@pytest.mark.fault(
    "a fleet was forgotten",
    promise="it is ended at its expiry, and a healthy one beside it is left alone",
    of="cloud",
)
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
    assert cloud.holdings()["keys"] == [f"benchlab-young-{mark_of('young')}"]
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


def test_a_key_and_group_without_instances_are_deleted_when_they_expire(
    cloud: Cloud, tmp_path: Path
) -> None:
    """A campaign that crashed before its first instance; another home's that goes on to rent, or
    whose spot hosts were taken away, keeps what it needs.
    """
    cloud.fault("RunInstances", "UnauthorizedOperation")
    with pytest.raises(AwsError):
        launch(cloud.access(), rental(tmp_path), limits=SOON)
    assert reap(cloud.access(), [REGION], now=NOW + timedelta(hours=5), limits=SOON) == []
    reaped = reap(cloud.access(), [REGION], now=LATER, limits=SOON)
    assert [one.kind for one in reaped] == ["key pair", "security group"]
    assert cloud.holdings() == NOTHING


@pytest.mark.parametrize("created", [None, "yesterday", "2026-01-01T00:00:00"])
def test_a_key_and_group_of_unknown_age_are_deleted_unless_their_campaign_lives(
    cloud: Cloud, tmp_path: Path, created: str | None
) -> None:
    """Nobody can say when their hour is over, and nothing else would ever delete them."""
    launch(cloud.access(), rental(tmp_path, "young"), limits=SOON)
    client = cloud.client("ec2")
    for campaign in ("dead", "young"):
        labels = tags.of_campaign(campaign) | {tags.MARK: mark_of(campaign)}
        labels |= {tags.CREATED_AT: created} if created else {}
        client.create_key_pair(
            KeyName=f"of-{campaign}", TagSpecifications=tags.specifications(labels, "key-pair")
        )
        client.create_security_group(
            GroupName=f"of-{campaign}",
            Description="made by hand",
            TagSpecifications=tags.specifications(labels, "security-group"),
        )
    reaped = reap(cloud.access(), [REGION], now=NOW, limits=SOON)
    assert [(one.kind, one.campaign) for one in reaped] == [
        ("key pair", "dead"),
        ("security group", "dead"),
    ]
    assert all(
        "it has no valid benchlab:expires_at or benchlab:created_at" in str(one) for one in reaped
    )
    assert cloud.holdings()["keys"] == [f"benchlab-young-{mark_of('young')}", "of-young"]
    assert len(cloud.holdings()["groups"]) == 2


@pytest.mark.fault(
    "one instance cannot be ended, and one region does not answer",
    promise="all else that has expired is ended, and both are named",
    of="cloud",
)
def test_a_failure_does_not_keep_the_reaper_from_the_rest(cloud: Cloud, tmp_path: Path) -> None:
    """One instance and one region fail: all else is ended, both are named at the end."""
    launched = launch(cloud.access(), rental(tmp_path), limits=SOON)
    spared = launched[2].instance
    cloud.fault("TerminateInstances", "UnauthorizedOperation", match=spared)
    cloud.fault("DescribeInstances", "UnauthorizedOperation", region="us-east-1")
    with pytest.raises(TargetError, match=rf"(?s)us-east-1.*{spared}"):
        reap(cloud.access(), ["us-east-1", REGION], now=LATER, limits=SOON)
    assert cloud.holdings()["instances"] == [spared]
