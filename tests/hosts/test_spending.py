"""Several campaigns on EC2 at once keep within the month's budget and the account's quota."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from benchlab.campaign.stages import CampaignRun
from benchlab.errors import BenchlabError, LockHeldError
from benchlab.home import Home
from benchlab.plan.fields.budget import Budget
from benchlab.results.spending import month_of, vcpus_by_region
from benchlab.results.store import Store, open_store
from tests.builders import campaigns
from tests.hosts.cloud import NOTHING, REGION, Cloud
from tests.hosts.ec2_fleet import GRANTED, living, topology

ROLES = {role: machines | {"count": 1} for role, machines in GRANTED.items()}
# 4 + 16 + 16 + 36, of the types in ROLES.
VCPUS = 72
LIMIT = 60.0
MONTH = month_of(datetime.now(UTC))


class Team:
    """A home whose campaigns all rent the same fleet, each for 60 dollars at most."""

    def __init__(self, folder: Path, cloud: Cloud) -> None:
        self.home, self.cloud = Home(folder, folder / "state"), cloud
        self.write("topologies/fleet.yaml", topology(roles=ROLES).model_dump(mode="json"))

    def write(self, name: str, content: object) -> None:
        """One of the files in its configs."""
        file = self.home.configs / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(content))

    def planned(self, store: Store, name: str, limit: float = LIMIT) -> CampaignRun:
        """A campaign that has been planned."""
        made = campaigns.fleet_campaign(id=name, topology=topology(roles=ROLES), environment={})
        changes = {"topology": "fleet", "budget": Budget(approve_above=0, limit=limit)}
        spec = made.report_type.model_copy(update=changes)
        plan = dataclasses.replace(made.plan, most_dollars=limit)  # on the dearest hosts
        made = dataclasses.replace(
            made, state="running", ended_at=None, report_type=spec, plan=plan
        )
        if name not in store.campaign_ids():
            store.add_campaign(made)
        run = CampaignRun(self.home, store, made, self.cloud.access())
        run.directory.mkdir(parents=True, exist_ok=True)
        (run.directory / "target").write_text("ec2")
        return run

    def register(self, name: str, limit: float = LIMIT, *, wait: bool = False) -> str:
        """Register a campaign as a process of its own does; returns why it could not."""
        with open_store(self.home) as store:
            try:
                self.planned(store, name, limit).register(wait=wait)
            except BenchlabError as error:
                return f"{type(error).__name__}: {error}"
            return ""

    def rent(self, name: str) -> None:
        """Rent a registered campaign's hosts."""
        with open_store(self.home) as store:
            target = self.planned(store, name).target
            target.keep(target.hosts(lambda _: None))  # type: ignore[attr-defined]

    def give_back(self, name: str) -> None:
        """Give a campaign's hosts back."""
        with open_store(self.home) as store:
            self.planned(store, name).give_back()


@pytest.fixture
def team(cloud: Cloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A team without campaigns."""
    monkeypatch.setenv("BENCHLAB_LOCK", str(tmp_path / "lock"))
    monkeypatch.delenv("BENCHLAB_STORE_URL", raising=False)
    return Team(tmp_path, cloud)


def at_once(*works: Callable[[], str]) -> list[str]:
    """What these return that begin at the same moment."""
    barrier = threading.Barrier(len(works))

    def begin(work: Callable[[], str]) -> str:
        barrier.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(begin, works))


def test_three_campaigns_at_once_one_waits_one_is_refused_and_nothing_is_left(team: Team) -> None:
    """Of 200 dollars a month three of 60 are committed: a fourth waits, one of 201 never fits."""
    team.write("budget.yaml", {"month": 200})
    team.cloud.quota(4 * VCPUS)
    said = at_once(*(lambda name=name: team.register(name) for name in ("c1", "c2", "c3")))
    assert said == ["", "", ""]
    for name in ("c1", "c2", "c3"):
        team.rent(name)
        assert len(living(team.cloud, name)) == 4
    with open_store(team.home) as store:
        assert vcpus_by_region(store.spending.open()) == {REGION: 3 * VCPUS}
    waits = team.register("c4")
    held = re.findall(r"campaign (c\d) holds 60.00 dollars until about ", waits)
    assert sorted(held) == ["c1", "c2", "c3"]
    assert waits.startswith(f"LockHeldError: campaign {held[0]} holds")
    assert "of 200.00 dollars in" in waits
    refused = team.register("c5", limit=201, wait=True)
    assert refused.startswith("SpecError: this campaign may cost up to 201.00 dollars, and of ")
    assert "no waiting helps" in refused
    team.give_back("c2")
    assert team.register("c4", wait=True) == ""
    for name in ("c1", "c3", "c4"):
        team.give_back(name)
    assert team.cloud.holdings() == NOTHING
    with open_store(team.home) as store:
        found = store.spending.of_month(MONTH)
        assert [one.id for one in found if one.is_open] == []
        assert all(0 <= one.spent < 1 for one in found)


def test_of_two_that_begin_at_once_one_waits_for_the_quota(team: Team) -> None:
    """Neither has launched anything yet, so that EC2 alone would let both begin."""
    team.cloud.quota(VCPUS + 10)
    first, second = sorted(at_once(lambda: team.register("c1"), lambda: team.register("c2")))
    assert first == ""
    assert "holds 72 vCPUs until about" in second
    assert f"needs {VCPUS} of the {VCPUS + 10} vCPUs that quota L-1216C47A allows" in second
    holder = "c1" if "campaign c1 holds" in second else "c2"
    team.give_back(holder)
    assert team.register("c2" if holder == "c1" else "c1") == ""


def test_what_others_run_in_the_account_is_not_waited_for(team: Team) -> None:
    """Nobody here knows when that ends."""
    other = Team(team.home.root / "other", team.cloud)
    assert other.register("foreign") == ""
    other.rent("foreign")
    team.cloud.quota(VCPUS + 10)
    said = team.register("c1")
    assert said.startswith("TargetError: this campaign needs 72 of the 82 vCPUs")
    assert "72 are used by what this installation does not know" in said
    other.give_back("foreign")


def test_one_that_waits_begins_when_the_other_has_ended(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the command line with `--wait`; it says why it waits, once."""
    monkeypatch.setattr("benchlab.campaign.stages.FREE_PAUSE_S", 0.05)
    team.write("budget.yaml", {"month": 100})
    assert team.register("c1") == ""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(team.register, "c2", wait=True)
        with open_store(team.home) as store:
            progress = team.planned(store, "c2").progress
            while not (said := [one.note for one in progress.read()[0] if "wait" in one.phase]):
                assert not waiting.done(), waiting.result()
        team.give_back("c1")
        assert waiting.result() == ""
    assert len(said) == 1
    assert str(said[0]).startswith("campaign c1 holds 60.00 dollars until about")


def test_a_campaign_that_is_resumed_keeps_what_it_holds(team: Team) -> None:
    """Registering again takes nothing from it, and one that failed to begin holds nothing."""
    team.write("budget.yaml", {"month": 100})
    assert team.register("c1") == ""
    assert team.register("c1") == ""
    team.cloud.fault("DescribeImages", "UnauthorizedOperation")
    team.give_back("c1")
    assert "the fleet cannot be rented" in team.register("c2")
    team.cloud.heal()
    assert team.register("c3") == "", "c2 has begun nothing"
    with pytest.raises(LockHeldError), open_store(team.home) as store:
        team.planned(store, "c4").register()
    team.give_back("c3")
