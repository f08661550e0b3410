"""Dataset snapshots: what is kept, what is restored, and what may not end a campaign.

S3 is moto's; the clusters save as BR does: only to an empty place.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.exceptions import ProfileNotFound
from botocore.stub import Stubber
from moto import mock_aws
from upath import UPath

from benchlab.campaign.stages import CampaignRun
from benchlab.errors import EngineError, TargetError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.fleet import Fleet
from benchlab.plan.report_type import Side
from benchlab.results.store import Store
from benchlab.targets.dataset_snapshots import DatasetSnapshot
from benchlab.targets.fleet import FleetTarget
from benchlab.targets.target import Say
from tests.builders import campaigns, plans

REGION = "eu-west-1"
SIDES: tuple[Side, ...] = ("baseline", "candidate")
SYSBENCH: Mapping[str, Any] = {}
TPCC = {"dataset": {"warehouses": 10}, "workloads": ["tpcc"]}


class Br:
    """A cluster that only copies its dataset.

    Attributes:
        cut_off: whether the next copy is interrupted.
        restored: the URL and region of each restore.
    """

    def __init__(self, s3: Any) -> None:
        self.s3, self.cut_off = s3, False
        self.saved: list[str] = []
        self.restored: list[tuple[str, str]] = []

    def save_dataset(self, url: str, region: str) -> None:
        """See :class:`benchlab.engines.tidb.Cluster`."""
        place = urlsplit(url)
        prefix = place.path.strip("/") + "/"
        if self.s3.list_objects_v2(Bucket=place.netloc, Prefix=prefix)["KeyCount"]:
            raise EngineError(f"BR's backup failed: {url} is not empty")
        self.s3.put_object(Bucket=place.netloc, Key=prefix + "backup.lock", Body=b"")
        if self.cut_off:
            raise EngineError("BR's backup failed: connection reset")
        self.s3.put_object(Bucket=place.netloc, Key=prefix + "backupmeta", Body=b"rows")
        self.saved.append(url)

    def load_dataset(self, url: str, region: str) -> None:
        """See :class:`benchlab.engines.tidb.Cluster`."""
        place = urlsplit(url)
        self.s3.get_object(Bucket=place.netloc, Key=place.path.strip("/") + "/backupmeta")
        self.restored.append((url, region))


class Rented(FleetTarget):
    """A fleet without hosts."""

    name = "ec2"
    br: Br

    def preflight(self) -> None:
        """Nothing to refuse."""

    def hosts(self, say: Say) -> Fleet:
        """No hosts."""
        return Fleet(())

    @property
    def region(self) -> str:
        """The bucket's region."""
        return REGION

    @classmethod
    def return_hosts(
        cls, home: Home, state: Path, access: Access, regions: Sequence[str] = ()
    ) -> str:
        """Nothing was rented."""
        return ""

    def _cluster(self, side: Side) -> Any:
        return self.br


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """S3 with the bucket `datasets`."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        client = boto3.client("s3", region_name=REGION)
        where = {"LocationConstraint": REGION}
        client.create_bucket(Bucket="datasets", CreateBucketConfiguration=where)
        yield client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the campaigns' state."""
    return tmp_path


def target(
    folder: Path,
    s3: Any,
    campaign: str,
    *,
    client: str | None = None,
    fields: Mapping[str, Any] = SYSBENCH,
    **sides: str,
) -> Rented:
    """A campaign's target with a chosen client; ``sides`` replaces the versions."""
    versions = {"baseline": "v5.1.1", "candidate": "v5.2.0"} | sides
    spec = plans.fleet_spec(
        snapshots="s3://datasets/small",
        engines={"tidb": {side: {"version": version} for side, version in versions.items()}},
        **fields,
    )
    home = Home(folder, folder / "state")
    home.campaign(campaign).mkdir(parents=True, exist_ok=True)
    plan = plans.plan(plans.spec(engine="tidb", engines=spec.engines))
    made = Rented(home, campaign, plan, spec, Access(aws=lambda service, region: s3))
    made.br, made.client_program = Br(s3), client
    return made


def keys(s3: Any) -> list[str]:
    """Everything in the bucket."""
    return [one["Key"] for one in s3.list_objects_v2(Bucket="datasets").get("Contents", ())]


def test_what_one_campaign_keeps_the_next_one_restores(folder: Path, s3: Any) -> None:
    """From the note's URL, in the fleet's region; a later campaign keeps nothing."""
    first = target(folder, s3, "c1")
    assert first.dataset_source() == "load"
    assert [first.keep_dataset(side, "t:1:1") for side in SIDES] == [None, None]
    second = target(folder, s3, "c2")
    assert second.dataset_source() == "snapshot"
    for side in SIDES:
        second.load_dataset(side)
        assert second.keep_dataset(side, "t:1:1") is None
    assert second.br.restored == [(url, REGION) for url in first.br.saved]
    assert second.br.saved == []
    assert all("/c1/" in url for url in first.br.saved)


def kept_by(folder: Path, s3: Any, client: str, fields: Mapping[str, Any]) -> Rented:
    """A campaign that loaded both sides with this client, and kept them."""
    made = target(folder, s3, f"kept-by-{client}", client=client, fields=fields)
    assert made.dataset_source() == "load"
    assert [made.keep_dataset(side, "t:1:1") for side in SIDES] == [None, None]
    return made


@pytest.mark.parametrize(
    ("client", "source"), [("tiup", "snapshot"), ("go-tpc", "load"), ("embedded", "load")]
)
def test_what_another_client_loaded_is_not_restored(
    folder: Path, s3: Any, client: str, source: str
) -> None:
    """Each client generates different rows; what this one loads is kept as well."""
    first = kept_by(folder, s3, "tiup", TPCC)
    note = first._dataset("baseline").read_note()
    assert note is not None
    assert note["client_program"] == "tiup"
    second = target(folder, s3, "c2", client=client, fields=TPCC)
    assert second.dataset_source() == source
    assert [second.keep_dataset(side, "t:1:1") for side in SIDES] == [None, None]
    assert len(second.br.saved) == (0 if source == "snapshot" else 2)
    assert target(folder, s3, "c3", client=client, fields=TPCC).dataset_source() == "snapshot"


def test_reading_the_notes_before_the_client_is_known_decides_nothing(
    folder: Path, s3: Any
) -> None:
    """Before hosts are rented the workload's first client is assumed; it may be another one."""
    kept_by(folder, s3, "tiup", TPCC)
    made = target(folder, s3, "c2", fields=TPCC)
    assert made.datasets_are_kept()
    made.client_program = "embedded"
    assert made.dataset_source() == "load"


def test_every_process_of_a_campaign_knows_which_client_was_chosen(tmp_path: Path) -> None:
    """The target reads it from the campaign's record."""
    record = campaigns.tpcc_campaign(environment={"client_program": "embedded"})
    with Store(f"sqlite:///{tmp_path / 'results.db'}", UPath(tmp_path / "objects")) as store:
        store.add_campaign(record)
        work = CampaignRun.open(Home(tmp_path, tmp_path / "state"), store, record.id)
    assert work.target.client_program == "embedded"


# The places of these datasets in earlier releases, which did not know the client.
@pytest.mark.parametrize(
    ("fields", "client", "place", "source"),
    [
        (SYSBENCH, "sysbench", "sysbench/{}-3d32fa187ce4", "snapshot"),
        (TPCC, "tiup", "tpcc/{}-b5e83aae94a4", "load"),
    ],
)
def test_a_note_without_a_client_is_used_only_if_there_is_one_client(
    folder: Path, s3: Any, fields: Mapping[str, Any], client: str, place: str, source: str
) -> None:
    """With sysbench there is no other; with TPC-C the rows of such a dataset are not known."""
    for version in ("v5.1.1", "v5.2.0"):
        note = json.dumps({"url": "s3://datasets/old", "checksum": "t:1:1"}).encode()
        s3.put_object(Bucket="datasets", Key=f"small/{place.format(version)}.json", Body=note)
    assert target(folder, s3, "c1", client=client, fields=fields).dataset_source() == source


def test_an_interrupted_save_does_not_hinder_later_ones(folder: Path, s3: Any) -> None:
    """BR refuses its place from then on: every later save has a place of its own."""
    first = target(folder, s3, "c1")
    first.br.cut_off = True
    said = first.keep_dataset("baseline", "t:1:1")
    assert said is not None
    assert "baseline: the dataset is not kept" in said
    assert "connection reset" in said
    assert [key for key in keys(s3) if key.endswith(".json")] == []
    first.br.cut_off = False
    assert first.keep_dataset("baseline", "t:1:1") is None
    assert len(first.br.saved) == 1
    assert target(folder, s3, "c2").keep_dataset("candidate", "t:1:1") is None


def test_a_bucket_that_is_gone_does_not_end_a_campaign_that_loads(folder: Path, s3: Any) -> None:
    """It has loaded its data; only the next campaign loses time."""
    made = target(folder, s3, "c1")
    assert made.dataset_source() == "load"
    s3.delete_bucket(Bucket="datasets")
    said = made.keep_dataset("baseline", "t:1:1")
    assert said is not None
    assert "NoSuchBucket" in said


def test_a_client_that_cannot_be_made_is_an_error_that_names_the_note() -> None:
    """Wrong settings of boto3 do not end a campaign either: keeping fails as S3 itself may."""

    def missing(service: str, region: str) -> Any:
        raise ProfileNotFound(profile="bench")

    place = DatasetSnapshot("s3://datasets/small", Access(aws=missing), REGION)
    for use in (place.read_note, lambda: place.write_note({})):
        with pytest.raises(TargetError, match=rf"{place.note} cannot be .*profile \(bench\)"):
            use()


def test_a_bucket_that_refuses_is_told_with_the_permissions_it_needs(s3: Any) -> None:
    """They are the bucket's, and not in the policy for EC2."""
    place = DatasetSnapshot("s3://datasets/small", Access(aws=lambda service, region: s3), REGION)
    with Stubber(s3) as answers:
        answers.add_client_error("put_object", "AccessDenied")
        with pytest.raises(TargetError, match=r"AccessDenied.*GUIDE\.md \(Dataset snapshots\)"):
            place.write_note({})


def test_a_version_without_br_is_loaded_and_not_kept(folder: Path, s3: Any) -> None:
    """Even if there is a note; the other side's dataset is kept."""
    made = target(folder, s3, "c1", baseline="v3.0.20")
    for side in SIDES:
        made._dataset(side).write_note({"url": "s3://datasets/x", "checksum": "t:1:1"})
    assert made.dataset_source() == "load"
    s3.delete_object(Bucket="datasets", Key=urlsplit(made._dataset("candidate").note).path[1:])
    assert [made.keep_dataset(side, "t:1:1") for side in SIDES] == [None, None]
    assert ["v5.2.0" in url for url in made.br.saved] == [True]


def test_a_restored_dataset_that_differs_ends_the_campaign(folder: Path, s3: Any) -> None:
    """The error names both places that have to be deleted."""
    first = target(folder, s3, "c1")
    for side in SIDES:
        first.keep_dataset(side, "t:1:1")
    second = target(folder, s3, "c2")
    with pytest.raises(TargetError) as caught:
        second.keep_dataset("candidate", "t:1:2")
    assert f"restored from {first.br.saved[1]} " in str(caught.value)
    assert second._dataset("candidate").note in str(caught.value)


def test_a_snapshot_that_vanished_since_is_named(folder: Path, s3: Any) -> None:
    """Restoring had been decided: one side alone is not loaded silently."""
    for side in SIDES:
        target(folder, s3, "c1").keep_dataset(side, "t:1:1")
    second = target(folder, s3, "c2")
    assert second.dataset_source() == "snapshot"
    note = second._dataset("baseline").note
    s3.delete_object(Bucket="datasets", Key=urlsplit(note).path[1:])
    with pytest.raises(TargetError, match=r"baseline: s3://.*\.json was there .* and is gone"):
        second.load_dataset("baseline")


@pytest.mark.parametrize("text", ["[]", json.dumps({"checksum": "t:1:1"})])
def test_a_note_without_a_place_is_refused(folder: Path, s3: Any, text: str) -> None:
    """Before anything is rented; the error names the note and says what to do."""
    made = target(folder, s3, "c1")
    key = urlsplit(made._dataset("baseline").note).path[1:]
    s3.put_object(Bucket="datasets", Key=key, Body=text.encode())
    with pytest.raises(TargetError, match=r"does not say where the dataset is.*delete it"):
        made.dataset_source()
