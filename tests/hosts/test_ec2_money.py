"""What could leave hosts running, or end healthy ones: other accounts, lost files, wrong clocks."""

from __future__ import annotations

import base64
import dataclasses
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from benchlab import targets
from benchlab.cli.main import app
from benchlab.cli.run import end_campaign
from benchlab.errors import SpecError, StoreError, TargetError
from benchlab.home import Home
from benchlab.hosts import own_address
from benchlab.hosts.access import Access
from benchlab.plan import plan as planning
from benchlab.plan import pricing
from benchlab.plan.fields.budget import Budget
from benchlab.plan.plan import needs_approval
from benchlab.results.records import Campaign
from benchlab.results.store import open_store
from benchlab.targets.ec2 import inventory, rental_file
from benchlab.targets.ec2.calls import AwsError
from benchlab.targets.ec2.instances import launch
from benchlab.targets.ec2.reaper import reap
from benchlab.targets.ec2.regions import known_regions
from benchlab.targets.ec2.rental_file import RentalFile
from tests.builders import campaigns, plans
from tests.hosts.cloud import NOTHING, REGION, Cloud
from tests.hosts.ec2_fleet import GRANTED, HERE, NOW, SOON, living, rental, topology

FOREIGN = "999988887777"
ELSEWHERE = "eu-central-1"
# Every type in the price list of the builders.
ROLES = {role: machines | {"count": 1} for role, machines in GRANTED.items()}


@dataclasses.dataclass
class Renter:
    """A home with one topology, and a campaign that rents by it."""

    home: Home
    cloud: Cloud
    campaign: Campaign

    @property
    def state(self) -> Path:
        """The campaign's directory."""
        return self.home.campaign(self.campaign.id)

    def write_topology(self, **changed: object) -> None:
        """The topology's file, with changes."""
        made = topology(roles=ROLES).model_dump(mode="json") | changed
        file = self.home.configs / "topologies/fleet.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(made))

    def rent(self, access: Access | None = None) -> list[str]:
        """Rent the fleet; returns what was said."""
        said: list[str] = []
        target = self.target(access)
        self.state.mkdir(parents=True, exist_ok=True)
        (self.state / "target").write_text("ec2")
        target.keep(target.hosts(said.append))
        return said

    def target(self, access: Access | None = None) -> Any:
        """The target as each process of the campaign makes it anew."""
        return targets.by_name()["ec2"](
            self.home,
            self.campaign.id,
            self.campaign.plan,
            self.campaign.report_type,
            access or self.cloud.access(),
        )

    def limit(self, dollars: float) -> None:
        """What the campaign may spend."""
        budget = {"budget": Budget(approve_above=0, limit=dollars)}
        made = self.campaign.report_type.model_copy(update=budget)
        self.campaign = dataclasses.replace(self.campaign, report_type=made)

    def rental(self) -> RentalFile:
        """Its rental file."""
        kept = rental_file.read(self.state)
        assert kept is not None
        return kept

    def began_earlier(self, minutes: float) -> None:
        """As if it had rented that much earlier."""
        kept, ago = self.rental(), timedelta(minutes=minutes)
        earlier = {"created_at": kept.created_at - ago}
        if kept.priced_since is not None:
            earlier["priced_since"] = kept.priced_since - ago
        rental_file.write(self.state, kept.model_copy(update=earlier))

    def end(self, access: Access | None = None) -> str:
        """`benchlab give-back`."""
        return end_campaign(self.home, self.campaign.id, access or self.cloud.access())

    def in_store(self) -> str:
        """The campaign's state in the store."""
        with open_store(self.home) as store:
            return store.target_and_state(self.campaign.id)[1]


@pytest.fixture
def renter(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Renter:
    """A campaign that is planned and in the store."""
    monkeypatch.setenv("BENCHLAB_LOCK", str(tmp_path / "lock"))
    monkeypatch.delenv("BENCHLAB_STORE_URL", raising=False)
    made = campaigns.fleet_campaign(id="c1", topology=topology(roles=ROLES), environment={})
    made = dataclasses.replace(made, state="running", ended_at=None)
    made = dataclasses.replace(
        made, report_type=made.report_type.model_copy(update={"topology": "fleet"})
    )
    found = Renter(Home(tmp_path, tmp_path / "state"), cloud, made)
    found.write_topology()
    with open_store(found.home) as store:
        store.add_campaign(made)
    return found


# ---------------------------------------------------------------- the account


def test_credentials_of_another_account_neither_forget_a_fleet_nor_rent_another(
    renter: Renter,
) -> None:
    """Both accounts, every instance and what to do are named; the right ones then end it all."""
    renter.rent()
    fleet = sorted(living(renter.cloud).values())
    foreign = renter.cloud.access(FOREIGN)
    asked = len(renter.cloud.requests("RunInstances"))
    for work in (renter.end, renter.rent):
        with pytest.raises(TargetError) as refused:
            work(foreign)
        said = str(refused.value)
        assert all(instance in said for instance in fleet)
        assert "account 123456789012 rents for it" in said
        assert f"these credentials are of account {FOREIGN}" in said
        assert "use credentials of account 123456789012" in said
    assert len(renter.cloud.requests("RunInstances")) == asked
    assert renter.cloud.holdings()["instances"] == fleet
    assert renter.in_store() == "running"
    assert "4 instances terminated" in renter.end()
    assert renter.cloud.holdings() == NOTHING
    assert renter.in_store() == "failed"


def test_none_terminated_of_four_known_is_an_error_until_ec2_may_have_forgotten_them(
    renter: Renter,
) -> None:
    """EC2 lists ended instances for an hour; afterwards a fleet that ended itself is no fault."""
    renter.rent()
    fleet = living(renter.cloud).values()
    renter.cloud.reset()  # EC2 knows nothing of them
    with pytest.raises(TargetError, match="does not know 4 of its 4 instances") as refused:
        renter.end()
    assert all(instance in str(refused.value) for instance in fleet)
    assert renter.in_store() == "running"
    renter.began_earlier(120)
    assert "EC2 has forgotten" in renter.end()
    assert not rental_file.path(renter.state).exists()


@pytest.mark.fault(
    "somebody removes the tags of an instance",
    promise="it is ended by its id",
    of="cloud",
)
def test_an_instance_without_its_tags_is_ended_by_its_id(renter: Renter) -> None:
    """Somebody removed them in the console; the tags of an ended one vanish by themselves."""
    renter.rent()
    stripped = living(renter.cloud)["tikv-1"]
    client = renter.cloud.client("ec2")
    client.delete_tags(Resources=[stripped], Tags=[{"Key": "benchlab:campaign"}])
    assert stripped not in living(renter.cloud).values()
    renter.end()
    assert renter.cloud.holdings() == NOTHING


def test_instances_ended_by_id_alone_are_counted(renter: Renter) -> None:
    """The rental file and every tag are lost; the fleet's file has the ids."""
    renter.rent()
    rental_file.path(renter.state).unlink()
    client, labels = renter.cloud.client("ec2"), [{"Key": "benchlab:campaign"}]
    groups = client.describe_security_groups()["SecurityGroups"]
    pairs = client.describe_key_pairs()["KeyPairs"]
    tagged = [*living(renter.cloud).values()]
    tagged += [one["GroupId"] for one in groups] + [one["KeyPairId"] for one in pairs]
    client.delete_tags(Resources=tagged, Tags=labels)
    assert renter.end() == "4 instances terminated"


def test_permissions_by_tag_do_not_keep_a_fleet_that_ended_from_being_given_back(
    renter: Renter,
) -> None:
    """An ended instance loses its tags, then EC2 forgets it; both are refused by a condition."""
    renter.rent()
    stripped = living(renter.cloud)["tikv-1"]
    client = renter.cloud.client("ec2")
    refusal = {"match": stripped, "times": -1}
    renter.cloud.fault("TerminateInstances", "UnauthorizedOperation", **refusal)
    client.delete_tags(Resources=[stripped], Tags=[{"Key": "benchlab:campaign"}])
    renter.cloud.kill(stripped)
    kept = rental_file.path(renter.state).read_bytes()
    renter.end()
    renter.cloud.reset()
    rental_file.path(renter.state).write_bytes(kept)
    renter.began_earlier(120)
    renter.cloud.fault("TerminateInstances", "UnauthorizedOperation", times=-1)
    assert "EC2 has forgotten" in renter.end()


# ---------------------------------------------------------------- regions


def test_the_reaper_looks_wherever_anything_was_rented(renter: Renter) -> None:
    """The topology moved on; the region is known by the rental, then by the store alone."""
    renter.rent()
    renter.write_topology(region=ELSEWHERE)
    assert known_regions(renter.home).names == (ELSEWHERE, REGION)
    rental_file.path(renter.state).unlink()
    found = known_regions(renter.home, open_store)
    assert found.names == (ELSEWHERE, REGION)
    assert found.skipped == ()
    late = NOW + timedelta(days=30)
    reap(renter.cloud.access(), found.names, now=late, limits=SOON)
    assert renter.cloud.holdings() == NOTHING


def test_what_may_name_further_regions_and_cannot_be_read_is_said(
    renter: Renter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with its reason: a topology, a rental file, the store; the rest is looked at."""
    (renter.home.configs / "topologies/broken.yaml").write_text("kind: [")
    renter.state.mkdir(parents=True)
    rental_file.path(renter.state).write_text("")
    monkeypatch.setenv("BENCHLAB_STORE_URL", f"sqlite:///{renter.home.configs}/topologies")
    found = known_regions(renter.home, open_store)
    assert found.names == (REGION,)
    topology_, file, store = found.skipped
    assert re.search(r"topology .*broken\.yaml", topology_)
    assert "rental.json: empty or damaged; `benchlab give-back c1`" in file
    assert "results store" in store
    monkeypatch.setattr("benchlab.cli.run.find", lambda: renter.home)
    monkeypatch.setattr("benchlab.cli.run.Access", renter.cloud.access)
    done = CliRunner().invoke(app, ["reap"])
    assert done.stdout == f"nothing to end in {REGION}\n"
    assert done.stderr == "".join(f"not looked at: {why}\n" for why in found.skipped)


@pytest.mark.parametrize("rented", [False, True])
def test_a_topology_edited_since_the_plan_or_the_first_try_is_refused(
    renter: Renter, rented: bool
) -> None:
    """Every field is named, nothing is rented elsewhere, the fleet is given back where it is."""
    if rented:
        renter.rent()
    asked = len(renter.cloud.requests("RunInstances"))
    bigger = {**ROLES, "tikv": {"instance_type": "i3.16xlarge", "count": 1}}
    renter.write_topology(region=ELSEWHERE, roles=bigger)
    for work in (renter.rent, renter.target().preflight):
        with pytest.raises(TargetError) as refused:
            work()
        assert "topology fleet was edited" in str(refused.value)
        assert f"region: {REGION}, now {ELSEWHERE}" in str(refused.value)
        assert re.search(r"tikv\S*: i3.4xlarge, now i3.16xlarge", str(refused.value))
    assert len(renter.cloud.requests("RunInstances")) == asked
    renter.end()
    assert renter.cloud.holdings() == NOTHING


# ---------------------------------------------------------------- who may log in


def test_the_address_at_the_beginning_is_let_in_and_not_decided_again(
    renter: Renter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the security group and in every host's file; the topology does not count as edited."""
    renter.rent()
    assert {host.let_in for host in renter.target().fleet.hosts} == {None}, "it may come by NAT"
    renter.end()
    renter.write_topology(ssh_from="auto")
    monkeypatch.setattr(own_address, "public", lambda: HERE)
    renter.rent()
    monkeypatch.setattr(own_address, "public", lambda: "198.51.100.9")
    renter.target().preflight()
    renter.rent()
    kept = renter.rental().topology
    assert kept is not None
    assert kept.ssh_from == f"{HERE}/32"
    (group,) = renter.cloud.client("ec2").describe_security_groups(
        Filters=[{"Name": "tag:benchlab:campaign", "Values": ["c1"]}]
    )["SecurityGroups"]
    opened = [one["CidrIp"] for rule in group["IpPermissions"] for one in rule["IpRanges"]]
    assert opened == [f"{HERE}/32"]
    assert {host.let_in for host in renter.target().fleet.hosts} == {f"{HERE}/32"}
    renter.end()
    renter.rent()
    kept = renter.rental().topology
    assert kept is not None
    assert kept.ssh_from == "198.51.100.9/32", "another fleet lets in the address of today"


def test_an_address_that_cannot_be_found_out_is_refused_before_anything_is_rented(
    renter: Renter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the campaign registers."""

    def silent() -> str:
        raise OSError

    monkeypatch.setattr(own_address, "public", silent)
    renter.write_topology(ssh_from="auto")
    with pytest.raises(TargetError, match="does not report this machine's address"):
        renter.target().preflight()
    assert renter.cloud.holdings() == NOTHING


# ---------------------------------------------------------------- what is lost


def lose_directory(renter: Renter) -> None:
    """The campaign's directory."""
    shutil.rmtree(renter.state)


def lose_all(renter: Renter) -> None:
    """Directory and store."""
    lose_directory(renter)
    (renter.home.root / "results.db").unlink()


def lose_store_and_mark(renter: Renter) -> None:
    """The store, and the file that says which target it is."""
    (renter.home.root / "results.db").unlink()
    (renter.state / "target").unlink()


def empty_files(renter: Renter) -> None:
    """All files of the directory are there and empty, as after a power cut."""
    for file in renter.state.iterdir():
        file.write_text("")


def cut_rental(renter: Renter) -> None:
    """The rental file ends in the middle."""
    file = rental_file.path(renter.state)
    file.write_text(file.read_text()[:20])


@pytest.mark.fault(
    "files of a campaign are lost on this machine",
    promise="its fleet is found and given back all the same",
    of="cloud",
)
@pytest.mark.parametrize(
    "lose", [lose_directory, lose_all, lose_store_and_mark, empty_files, cut_rental]
)
def test_a_fleet_is_given_back_whatever_is_lost_here(
    renter: Renter, lose: Callable[[Renter], None]
) -> None:
    """By region from the store, else by tag in every known region; never `0 processes ended`."""
    renter.rent()
    lose(renter)
    if lose is not lose_all:  # then only the topology knows a region
        renter.write_topology(region=ELSEWHERE)
    if lose in (lose_store_and_mark, empty_files, cut_rental):
        assert renter.state.is_dir()
    assert "4 instances terminated" in renter.end()
    assert renter.cloud.holdings() == NOTHING


@pytest.mark.parametrize("lose", [lose_directory, cut_rental])
def test_finding_nothing_of_a_running_campaign_is_no_success(
    renter: Renter, lose: Callable[[Renter], None]
) -> None:
    """With credentials of another account, of which no file says that they are wrong."""
    renter.rent()
    lose(renter)
    (renter.state / "fleet.json").unlink(missing_ok=True)
    with pytest.raises(TargetError, match=f"account {FOREIGN}, and .*credentials of another acco"):
        renter.end(renter.cloud.access(FOREIGN))
    assert renter.in_store() == "running"
    renter.end()
    assert renter.cloud.holdings() == NOTHING
    assert "0 processes" not in renter.end(), "may be repeated"


def test_a_damaged_rental_file_is_not_rented_beside(renter: Renter) -> None:
    """Nobody knows what was rented already; the message says what to do."""
    renter.rent()
    cut_rental(renter)
    with pytest.raises(TargetError, match=r"rental.json is empty or damaged.*give-back c1"):
        renter.rent()
    assert len(living(renter.cloud)) == 4


def test_nothing_known_anywhere_is_said_plainly(renter: Renter) -> None:
    """An id that neither store, machine nor EC2 knows: where it was looked, and nothing ended."""
    with pytest.raises(StoreError, match="no campaign 'never-was'") as refused:
        end_campaign(renter.home, "never-was", renter.cloud.access())
    assert "Nothing was ended" in str(refused.value)
    assert f"{REGION}: no instance, key pair or security group" in str(refused.value)
    assert renter.cloud.holdings() == NOTHING


# ---------------------------------------------------------------- two homes of one id


@pytest.fixture
def other(renter: Renter) -> Renter:
    """A second installation in the account: its campaign has the same id, and nothing yet."""
    found = Renter(
        Home(renter.home.project, renter.home.root / "other"), renter.cloud, renter.campaign
    )
    found.state.mkdir(parents=True)
    (found.state / "target").write_text("ec2")
    with open_store(found.home) as store:
        store.add_campaign(renter.campaign)
    return found


def tear_down(renter: Renter) -> str:
    """What the DAG and `benchlab run` do at the end, whatever failed before."""
    return targets.give_back(renter.home, "c1", renter.cloud.access(), target="ec2")


def test_a_second_home_is_refused_and_what_it_gives_back_is_its_own(
    renter: Renter, other: Renter
) -> None:
    """Before it rents, where the instances were listed late, and once more; by a person, too.

    Each refusal names the mark, and the command of a person who knows that nobody uses them.
    """
    renter.rent()
    before, whose = renter.cloud.holdings(), rf"c1: {REGION}: 4 instances under this id "
    how = f"`benchlab give-back c1 --rental '{renter.rental().mark}'`"
    with pytest.raises(TargetError, match=whose) as refused:
        other.target().preflight()
    assert how in str(refused.value)
    assert tear_down(other) == "nothing of it is rented"
    with pytest.raises(TargetError, match=whose) as refused:
        other.rent()
    assert how in str(refused.value)
    assert "0 instances terminated, 0 key pairs and 0 security groups" in tear_down(other)
    assert "nothing of it is rented" in (said := other.end())
    assert how in said
    assert renter.cloud.holdings() == before
    assert "4 instances terminated" in tear_down(renter)
    other.rent()
    assert "4 instances terminated" in other.end()
    assert renter.cloud.holdings() == NOTHING


def test_two_homes_that_rent_at_once_have_each_their_own(renter: Renter, other: Renter) -> None:
    """Neither saw the other's instances; no token, key or group is shared."""
    renter.rent()
    own = living(renter.cloud)
    renter.cloud.fault("DescribeInstances", "empty", times=1)
    other.rent()
    assert len(renter.cloud.holdings()["instances"]) == 8
    with pytest.raises(TargetError, match="4 instances under this id"):
        other.rent()  # resumed: it still has its own, and rents no more
    assert "4 instances terminated, 1 key pair and 1 security group" in tear_down(other)
    assert renter.cloud.holdings()["instances"] == sorted(own.values())
    renter.rent()
    assert living(renter.cloud) == own


def test_a_person_who_knows_nothing_here_has_to_say_which_of_two_is_meant(
    renter: Renter, other: Renter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a third machine. Nothing is ended by the id alone; one by its mark, then the last one."""
    renter.rent()
    renter.cloud.fault("DescribeInstances", "empty", times=1)
    other.rent()
    third = dataclasses.replace(renter, home=Home(renter.home.project, tmp_path / "third"))
    with pytest.raises(TargetError, match="more than one home rents under this id") as refused:
        third.end()
    mark = other.rental().mark
    for one in (mark, renter.rental().mark):
        assert f"`benchlab give-back c1 --rental '{one}'` ends 4 instances" in str(refused.value)
    assert len(renter.cloud.holdings()["instances"]) == 8
    for name, value in {
        **renter.cloud.environment,
        "BENCHLAB_PROJECT": str(third.home.project),
        "BENCHLAB_HOME": str(third.home.root),
    }.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(app, ["give-back", "c1", "--rental", mark])
    assert "4 instances terminated" in done.stdout, done.output
    assert renter.cloud.holdings()["instances"] == sorted(living(renter.cloud).values())
    assert len(living(renter.cloud)) == 4
    for named, said in ((mark, "0 instances terminated"), ("0-0", "benchlab:mark=0-0")):
        again = CliRunner().invoke(app, ["give-back", "c1", "--rental", named])
        assert said in f"{again.output}{again.exception}"
        assert again.exit_code == (named != mark)
    assert "4 instances terminated" in third.end(), "one is left, and it was named"
    assert renter.cloud.holdings() == NOTHING


@pytest.mark.parametrize("lose", [lose_directory, empty_files, cut_rental])
def test_a_home_that_lost_its_files_ends_its_own_alone(
    renter: Renter, other: Renter, lose: Callable[[Renter], None]
) -> None:
    """Without a person, by the home's mark."""
    renter.rent()
    renter.cloud.fault("DescribeInstances", "empty", times=1)
    other.rent()
    lose(other)
    assert "4 instances terminated" in tear_down(other)
    assert len(living(renter.cloud)) == 4
    shutil.rmtree(other.state, ignore_errors=True)
    lose_mark(other)
    with pytest.raises(TargetError, match="has the mark of another home"):
        tear_down(other)
    assert len(living(renter.cloud)) == 4


def lose_mark(renter: Renter) -> None:
    """The mark of the home: it makes another one."""
    (renter.home.root / "mark").unlink()


def test_a_fleet_whose_rental_file_and_homes_mark_are_lost_is_known_by_its_instances(
    renter: Renter,
) -> None:
    """The fleet's file has their ids; key and group are found by what the instances carry."""
    renter.rent()
    rental_file.path(renter.state).unlink()
    lose_mark(renter)
    assert "4 instances terminated, 1 key pair and 1 security group" in tear_down(renter)
    assert renter.cloud.holdings() == NOTHING


def test_a_crash_between_the_mark_and_the_first_request_is_gone_on_with(
    renter: Renter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The resumed campaign has the same mark, until everything has been given back."""

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("benchlab.targets.ec2.boot.provision", killed)
        with pytest.raises(KeyboardInterrupt):
            renter.rent()
    mark = renter.rental().mark
    assert mark.startswith(f"{renter.home.mark}-")
    renter.rent()
    assert renter.rental().mark == mark
    assert len(renter.cloud.requests("RunInstances")) == 4
    tear_down(renter)
    assert renter.cloud.holdings() == NOTHING
    renter.rent()
    assert renter.rental().mark != mark


# ---------------------------------------------------------------- clocks


@pytest.mark.parametrize("ahead", [timedelta(minutes=10), timedelta(minutes=-10)])
def test_expiries_are_set_and_judged_by_the_clock_of_aws(renter: Renter, ahead: timedelta) -> None:
    """As far as AWS still takes signatures of this machine; and the difference is said."""
    renter.cloud.clock(ahead)
    at_aws = datetime.now(UTC) + ahead
    (said,) = [text for text in renter.rent() if "clock" in text]
    assert re.match(r"this machine's clock is 10 min (ahead of|behind) AWS's", said)
    assert abs(renter.rental().created_at - at_aws) < timedelta(minutes=5)
    # One that expires between the two clocks, as any fleet does at some time.
    between = dataclasses.replace(
        rental(renter.home.root, "c2"), created_at=at_aws - ahead / 2 - timedelta(hours=5)
    )
    launch(renter.cloud.access(), between, limits=SOON)
    heard: list[str] = []
    reaped = reap(renter.cloud.access(), [REGION], limits=SOON, say=heard.append)
    assert {one.campaign for one in reaped} == ({"c2"} if ahead > timedelta(0) else set())
    assert "clock" in heard[0]
    assert len(living(renter.cloud)) == 4


@pytest.mark.fault(
    "this machine's clock is hours off",
    promise="nothing is rented and nothing is ended, and the message says why",
    of="cloud",
)
@pytest.mark.parametrize("ahead", [timedelta(hours=7), timedelta(hours=-7)])
def test_a_machine_hours_off_rents_nothing_and_ends_nothing(
    renter: Renter, ahead: timedelta
) -> None:
    """AWS refuses what it signs; the message says that the clock is why, and by how much."""
    launch(renter.cloud.access(), rental(renter.home.root, "healthy"), limits=SOON)
    before = renter.cloud.holdings()
    renter.cloud.clock(ahead)
    off = r"this machine's clock is 7 h 0 min (ahead of|behind) AWS's; set it"
    with pytest.raises(AwsError, match=off):
        renter.rent()
    assert not rental_file.path(renter.state).exists()
    with pytest.raises(TargetError, match=off):
        reap(renter.cloud.access(), [REGION], limits=SOON)
    assert renter.cloud.holdings() == before


# ---------------------------------------------------------------- what is spent


def ends_of(cloud: Cloud) -> set[datetime]:
    """When the reaper may take the instances, and when each ends itself."""
    listed = cloud.client("ec2").describe_instances()["Reservations"]
    instances = [instance for group in listed for instance in group["Instances"]]
    by_tag = {inventory.described(instance).expires_at for instance in instances}
    scripts = [
        base64.b64decode(request["UserData"]).decode() for request in cloud.requests("RunInstances")
    ]
    armed = [re.search(r"^end='(.*) UTC'$", script, re.MULTILINE) for script in scripts]
    by_themselves = {datetime.fromisoformat(f"{found[1]}+00:00") for found in armed if found}
    assert by_tag == by_themselves
    return by_themselves


@pytest.mark.parametrize("spare", [0.0, 1.0])
def test_the_hosts_end_before_they_cost_more_than_the_limit(renter: Renter, spare: float) -> None:
    """Neither before the plan is over; reaper and hosts are told the same moment."""
    plan = renter.campaign.plan
    assert plan.dollars is not None
    renter.limit(plan.dollars + spare)
    renter.rent()
    (end,) = ends_of(renter.cloud)
    minutes = (end - renter.rental().created_at) / timedelta(minutes=1)
    assert plan.minutes - 1 / 60 <= minutes < 2 * plan.minutes
    assert plan.dollars * minutes / plan.minutes <= plan.dollars + spare


def test_a_generous_limit_does_not_keep_hosts_for_days(renter: Renter) -> None:
    """Then it is the plan, its repeats and two hours, as what is forgotten costs less."""
    renter.limit(10_000)
    renter.rent()
    (end,) = ends_of(renter.cloud)
    lifetime = (end - renter.rental().created_at) / timedelta(minutes=1)
    plan = renter.campaign.plan
    longest = plan.minutes + max(plan.minutes, plan.repeat_minutes)
    assert lifetime == pytest.approx(longest + 120, abs=1 / 60)
    assert not renter.target().spending().ends_by_limit


def test_spending_counts_from_the_first_call_by_the_clock_of_aws(renter: Renter) -> None:
    """In every process, after a restart, and if this machine's clock is off."""
    assert renter.target().spending() is None
    renter.rent()
    rate = renter.campaign.plan.usd_per_minute
    assert rate is not None
    assert renter.target().spending().dollars < 2 * rate
    renter.began_earlier(30)
    renter.rent()
    assert 30 * rate <= renter.target().spending().dollars < 32 * rate
    renter.cloud.clock(timedelta(minutes=10))
    assert 40 * rate <= renter.target().spending().dollars < 42 * rate


@pytest.mark.fault(
    "credentials for AWS expire while a campaign measures",
    promise="its trials go on and count",
    of="cloud",
)
def test_expired_credentials_do_not_end_a_campaign_that_measures(renter: Renter) -> None:
    """Its trials need none: they count by this machine's clock."""
    renter.rent()
    renter.began_earlier(30)
    renter.cloud.fault("GetCallerIdentity", "ExpiredToken")
    rate = renter.campaign.plan.usd_per_minute
    assert rate is not None
    assert 30 * rate <= renter.target().spending().dollars < 32 * rate


def test_a_campaign_whose_time_is_over_rents_nothing_more(renter: Renter) -> None:
    """Hosts that began after their end would never end themselves."""
    renter.rent()
    renter.began_earlier(renter.rental().lifetime_minutes + 1)
    with pytest.raises(TargetError, match=r"the time for which it rents ended.*give-back c1"):
        renter.rent()
    assert len(living(renter.cloud)) == 4
    renter.end()
    assert living(renter.cloud) == {}


def test_time_is_known_where_no_client_of_aws_can_be_made(renter: Renter) -> None:
    """A profile's program that fails, a role that is not assumed."""

    def none(service: str, region: str) -> Any:
        raise TargetError(f"no client of {service} in {region}")

    renter.rent()
    rate = renter.campaign.plan.usd_per_minute
    assert rate is not None
    assert renter.target(Access(aws=none)).spending().dollars < 2 * rate


def test_what_was_given_back_was_paid_nevertheless(renter: Renter) -> None:
    """It is said, and a fleet that the campaign rents again has the rest of the budget."""
    plan = renter.campaign.plan
    assert plan.dollars is not None
    assert plan.usd_per_minute is not None
    renter.limit(2 * plan.dollars)
    renter.rent()
    renter.began_earlier(plan.minutes)
    spent = plan.dollars
    assert re.search(rf"has spent about {spent:.0f}\.\d\d of {2 * spent:.2f} dollars", renter.end())
    renter.rent()
    again = renter.target().spending()
    assert spent <= again.dollars < spent + 2 * plan.usd_per_minute
    assert again.minutes_left * plan.usd_per_minute <= spent
    renter.began_earlier(plan.minutes)
    renter.end()
    with pytest.raises(TargetError, match="the rest does not pay for another one") as refused:
        renter.rent()
    assert "budget.limit: campaign c1 has spent" in str(refused.value)
    assert living(renter.cloud) == {}


# ---------------------------------------------------------------- what was in fact rented

PRICES = {
    "m5.xlarge": (4, 0.192),
    "i3.4xlarge": (16, 1.248),
    "i3.2xlarge": (8, 0.624),
    "i4i.4xlarge": (16, 1.373),
    "c5.4xlarge": (16, 0.68),
    "c5.9xlarge": (36, 1.53),
    "gp3": ("", 0.00011),
}


def allow(renter: Renter, **changed: object) -> None:
    """Plan the campaign by a topology that allows more than one fleet."""
    lines = [
        f"{kind},{region},{vcpu},{round(dollars * factor, 7)},2025-01-15,x"
        for region, factor in ((REGION, 1.0), (ELSEWHERE, 1.2))
        for kind, (vcpu, dollars) in PRICES.items()
    ]
    header = "instance_type,region,vcpu,usd_per_hour,as_of,source"
    file = renter.home.configs / "prices.csv"
    file.write_text("\n".join([header, *lines, ""]))
    made = topology(**{"roles": ROLES, **changed})
    resolved = plans.resolved(
        renter.campaign.report_type, "tidb", topology=made, prices=pricing.load(file)
    )
    plan = planning.make(resolved, "c1")
    renter.campaign = dataclasses.replace(renter.campaign, plan=plan)
    renter.write_topology(**made.model_dump(mode="json", include={"roles", "elsewhere"}))


def hourly(renter: Renter, kind: str, factor: float = 1.0) -> float:
    """Dollars of the fleet with these TiKV hosts."""
    others = sum(PRICES[one][1] for one in ("m5.xlarge", "c5.4xlarge", "c5.9xlarge"))
    gib = sum(machines.root_gib for machines in topology(roles=ROLES).roles.values())
    return (others + PRICES[kind][1] + gib * PRICES["gp3"][1]) * factor


OTHERS = {**ROLES, "tikv": ROLES["tikv"] | {"or_types": ["i4i.4xlarge", "i3.2xlarge"]}}


@pytest.mark.parametrize("kind", ["i4i.4xlarge", "i3.2xlarge"])
def test_the_price_of_the_hosts_that_were_rented_counts(renter: Renter, kind: str) -> None:
    """A cheaper or a dearer type than planned; and the report has what was rented."""
    allow(renter, roles=OTHERS)
    for other in {"i3.4xlarge", "i4i.4xlarge"} - {kind}:
        renter.cloud.fault("RunInstances", "InsufficientInstanceCapacity", match=other)
    renter.rent()
    kept = renter.rental()
    assert kept.usd_per_minute == pytest.approx(hourly(renter, kind) / 60, rel=0.001)
    tikv = next(host for host in renter.target().fleet.hosts if host.name == "tikv-1")
    assert renter.target().instance_type(tikv) == kind
    renter.began_earlier(60)
    spent = renter.target().spending().dollars
    assert spent == pytest.approx(hourly(renter, kind), rel=0.05)
    asked = len(renter.cloud.requests("RunInstances"))
    renter.rent()
    assert len(renter.cloud.requests("RunInstances")) == asked
    assert renter.rental().rented == kept.rented


def test_the_dearest_hosts_end_before_they_cost_more_than_the_limit(renter: Renter) -> None:
    """A plan is refused by them, a person asked by them, and their end comes by them."""
    allow(renter, roles=OTHERS, elsewhere=[{"region": ELSEWHERE}])
    plan = renter.campaign.plan
    assert plan.dollars is not None
    assert plan.most_dollars is not None
    dearest = hourly(renter, "i4i.4xlarge", 1.2)
    assert plan.most_dollars == pytest.approx(dearest * plan.minutes / 60, abs=0.02)
    between = (plan.dollars + plan.most_dollars) / 2
    assert needs_approval(plan, Budget(approve_above=between, limit=1000))
    renter.limit(between)
    with pytest.raises(
        SpecError, match=rf"budget\.limit: the plan costs \${plan.most_dollars:.2f}"
    ):
        allow(renter, roles=OTHERS, elsewhere=[{"region": ELSEWHERE}])
    renter.limit(plan.most_dollars)
    renter.rent()
    (end,) = ends_of(renter.cloud)
    minutes = (end - renter.rental().created_at) / timedelta(minutes=1)
    assert plan.minutes - 1 / 60 <= minutes <= plan.minutes


def test_a_fleet_in_another_region_is_found_spent_and_given_back_there(renter: Renter) -> None:
    """Also if its rental file is lost; the topology may name the region no more."""
    allow(renter, elsewhere=[{"region": ELSEWHERE}])
    renter.cloud.fault(
        "RunInstances", "InsufficientInstanceCapacity", region=REGION, match="client-1"
    )
    renter.rent()
    kept = renter.rental()
    assert (kept.region, kept.regions) == (ELSEWHERE, (REGION, ELSEWHERE))
    assert kept.usd_per_minute == pytest.approx(hourly(renter, "i3.4xlarge", 1.2) / 60, rel=0.001)
    renter.write_topology()
    assert known_regions(renter.home).names == (ELSEWHERE, REGION)
    assert f"{ELSEWHERE}: 4 instances terminated" in renter.end()
    assert renter.cloud.holdings() == NOTHING


def test_prices_that_rose_since_the_plan_rent_nothing_beyond_it(renter: Renter) -> None:
    """The fleet's end was planned by the dearest hosts of the plan."""
    allow(renter, roles=OTHERS)
    file = renter.home.configs / "prices.csv"
    file.write_text(
        file.read_text().replace("i4i.4xlarge,us-west-2,16,1.373", "i4i.4xlarge,us-west-2,16,9")
    )
    renter.cloud.fault("RunInstances", "InsufficientInstanceCapacity", match="i3.4xlarge")
    with pytest.raises(
        TargetError, match=r"prices\.csv: .*cost more than when campaign c1 was plan"
    ):
        renter.rent()
    assert living(renter.cloud) == {}


@pytest.mark.fault(
    "EC2 takes a spot host away",
    promise="it is replaced by a spot host, and then by one on demand",
    of="cloud",
)
def test_a_lost_spot_host_is_replaced_by_one_and_then_on_demand(renter: Renter) -> None:
    """What EC2 says of it is known; a host that only does not answer is not lost."""
    spot = {**ROLES, "tikv": ROLES["tikv"] | {"capacity": "spot"}}
    allow(renter, roles=spot)
    renter.rent()
    assert renter.target().lost() == {}
    for again, market in ((1, "spot"), (2, "on demand")):
        renter.cloud.take_away(living(renter.cloud)["tikv-1"])
        lost = renter.target().lost()
        assert list(lost) == ["tikv-1"]
        assert "Server.SpotInstanceTermination" in lost["tikv-1"]
        renter.target().before_replacing()
        renter.rent()
        assert renter.rental().replacements == again
        listed = inventory.of_campaign(renter.cloud.client("ec2"), "c1")
        (tikv,) = [one for one in listed if one.living and one.name == "tikv-1"]
        assert tikv.spot == (market == "spot")
    renter.cloud.fault("DescribeInstances", "UnauthorizedOperation")
    assert renter.target().lost() == {}, "nobody knows"
    renter.cloud.heal()
    renter.cloud.fault("DescribeInstances", "empty")
    assert renter.target().lost() == {}, "EC2 has not forgotten a whole fleet at once"
    renter.cloud.heal()
    renter.end()
    assert renter.cloud.holdings() == NOTHING


@pytest.mark.fault(
    "AWS stops a host for its scheduled retirement",
    promise="it counts as lost, is ended and replaced, and is not waited for",
    of="cloud",
)
def test_a_host_that_aws_stops_to_retire_it_is_replaced(renter: Renter) -> None:
    """It would not come back by itself, and is not paid for beside the other one."""
    renter.rent()
    retired = living(renter.cloud)["tikv-1"]
    renter.cloud.client("ec2").stop_instances(InstanceIds=[retired])
    assert [*renter.target().lost()] == ["tikv-1"]
    renter.target().before_replacing()
    renter.rent()
    assert renter.target().lost() == {}
    assert living(renter.cloud)["tikv-1"] != retired
    assert retired not in renter.cloud.holdings()["instances"]
    renter.end()
    assert renter.cloud.holdings() == NOTHING
