"""Giving back and the reaper depend on no file that a person writes."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from botocore.exceptions import NoCredentialsError
from upath import UPath

from benchlab import targets
from benchlab.cli import run
from benchlab.errors import TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.fleet import Fleet, FleetHost
from benchlab.results.store import Store
from benchlab.targets.ec2.calls import AwsError
from benchlab.targets.ec2.ending import NothingFoundError
from benchlab.targets.ec2.regions import known_regions
from tests.builders import campaigns

BROKEN = {
    "number": f"rounds: 0x{'f' * 9000}\n",
    "date": "note: 2024-13-45\n",
    "tag": "x: !!int x\n",
    "brackets": "[" * 3000,
    "cycle": "a: &a [*a]\nkind: ec2\nregion: *a\n",
    "bytes": "\udcff",
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """An installation of which every file that a person writes is broken, each in another way."""
    for folder in ("reports", "published", "topologies", "quality", "parameters"):
        for name, text in BROKEN.items():
            path = tmp_path / "configs" / folder / f"{name}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))
    for name in ("notifications.yaml", "releases.csv", "prices.csv"):
        (tmp_path / "configs" / name).write_bytes(b"\xff[")
    return Home(tmp_path, tmp_path / "home")


def rented(home: Home, campaign: str, region: str) -> None:
    """A campaign's directory as it is while it rents."""
    state = home.campaign(campaign)
    state.mkdir(parents=True)
    (state / "target").write_text("ec2")
    kept = {
        "mark": "0123abcd-4567cdef",
        "region": region,
        "created_at": datetime.now(UTC).isoformat(),
        "lifetime_minutes": 60,
        "account": "123456789012",
        "instances": ["i-1"],
    }
    (state / "rental.json").write_text(json.dumps(kept))


def without_credentials(asked: list[str]) -> Access:
    """Clients that note their region and have no credentials."""

    def client(service: str, region: str) -> Any:
        def ask(**_: object) -> NoReturn:
            asked.append(region)
            raise NoCredentialsError

        return SimpleNamespace(meta=SimpleNamespace(region_name=region), get_caller_identity=ask)

    return Access(aws=client)


def fleet_of(instances: list[str]) -> list[dict[str, Any]]:
    """What the fleet's file has of a fleet of these instances."""
    host = FleetHost("kv-1", ("tikv",), "10.0.0.1", "", "admin", "", Path("/data"))
    hosts = [dataclasses.replace(host, instance=instance) for instance in instances]
    return Fleet(tuple(hosts)).to_json()


def open_store(home: Home) -> Store:
    """The results store of the installation."""
    home.root.mkdir(parents=True, exist_ok=True)
    return Store(home.store_url, UPath(home.root / "objects"))


def test_the_reaper_looks_where_was_rented_whatever_files_are_broken(home: Home) -> None:
    """By the rental files and the store; each file that may name further regions is said."""
    rented(home, "c1", "eu-central-1")
    (home.campaign("c2") / "rental.json").mkdir(parents=True)
    made = campaigns.campaign(id="c3")
    with open_store(home) as store:
        plan = dataclasses.replace(made.plan, region="ap-south-1")
        store.add_campaign(dataclasses.replace(made, plan=plan))
    found = known_regions(home, open_store)
    assert found.names == ("ap-south-1", "eu-central-1")
    for name in (*(f"topologies/{name}.yaml" for name in BROKEN), "c2/rental.json"):
        assert [why for why in found.skipped if name in why], name
    assert len(found.skipped) == len(BROKEN) + 1


def test_a_fleet_is_given_back_whatever_files_are_broken(home: Home) -> None:
    """In the region of its own file, and in no other."""
    rented(home, "c1", "eu-central-1")
    rented(home, "c2", "us-west-2")
    asked: list[str] = []
    with pytest.raises(AwsError) as raised:
        targets.give_back(home, "c1", without_credentials(asked))
    assert raised.value.no_credentials
    assert set(asked) == {"eu-central-1"}


def test_the_command_gives_back_whatever_files_are_broken(home: Home) -> None:
    """A campaign of this machine, whose report type has no file any more, is ended."""
    made = dataclasses.replace(campaigns.campaign(id="c1"), state="running", ended_at=None)
    with open_store(home) as store:
        store.add_campaign(made)
    home.campaign("c1").mkdir(parents=True)
    assert run.end_campaign(home, "c1", Access())
    with open_store(home) as store:
        assert store.target_and_state("c1") == ("local", "failed")


@pytest.mark.parametrize("instances", [["i-1", "i-2"], []])
def test_hosts_of_which_no_region_is_known_are_named_with_what_to_do(
    home: Home, instances: list[str]
) -> None:
    """The rental file is lost and no topology can be read, so EC2 is not asked."""
    state = home.campaign("c1")
    state.mkdir(parents=True)
    (state / "target").write_text("ec2")
    (state / "fleet.json").write_text(json.dumps(fleet_of(instances)))
    asked: list[str] = []
    with pytest.raises(TargetError, match="no region is known in which it rented") as raised:
        targets.give_back(home, "c1", without_credentials(asked), by_person=True)
    assert asked == []
    said = str(raised.value)
    assert all(instance in said for instance in instances)
    assert f"write its region into a topology in {home.configs / 'topologies'}" in said
    assert (state / "fleet.json").exists(), "which alone names them"
    # With a name, `benchlab give-back` never takes the campaign for given back.
    assert isinstance(raised.value, NothingFoundError) == (not instances)
