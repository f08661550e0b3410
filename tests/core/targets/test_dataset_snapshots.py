"""Dataset snapshots: what is kept, what is restored, and what may not end a campaign.

S3 is moto's; the clusters copy as BR does: only to an empty place, and from no newer version.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
from benchlab.plan import versions
from benchlab.plan.report_type import Side
from benchlab.results.store import Store
from benchlab.targets.dataset_snapshots import DatasetSnapshot, KeptDatasets
from benchlab.targets.fleet import FleetTarget
from benchlab.targets.target import Say, Taken
from tests.builders import campaigns, plans

REGION = "eu-west-1"
SIDES: tuple[Side, ...] = ("baseline", "candidate")
SYSBENCH: Mapping[str, Any] = {}
TPCC = {"dataset": {"warehouses": 10}, "workloads": ["tpcc"]}


class Br:
    """A cluster that only copies its dataset.

    Attributes:
        cut_off: whether the next backup is interrupted.
        log: what all clusters did, in order: ``deploy baseline``, ``save baseline``, ...
        urls: where they saved and from where they restored, in order.
    """

    def __init__(self, s3: Any, side: Side, version: str, log: list[str], urls: list[str]) -> None:
        self.s3, self.side, self.version, self.log, self.urls = s3, side, version, log, urls
        self.cut_off = False

    def deploy(self) -> None:
        """See :class:`benchlab.engines.database.Database`."""
        self.log.append(f"deploy {self.side}")

    def save_dataset(self, url: str, region: str) -> None:
        """See :class:`benchlab.engines.tidb.Cluster`."""
        assert region == REGION
        place = urlsplit(url)
        prefix = place.path.strip("/") + "/"
        if self.s3.list_objects_v2(Bucket=place.netloc, Prefix=prefix)["KeyCount"]:
            raise EngineError(f"BR's backup failed: {url} is not empty")
        self.s3.put_object(Bucket=place.netloc, Key=prefix + "backup.lock", Body=b"")
        if self.cut_off:
            raise EngineError("BR's backup failed: connection reset")
        body = self.version.encode()
        self.s3.put_object(Bucket=place.netloc, Key=prefix + "backupmeta", Body=body)
        self.log.append(f"save {self.side}")
        self.urls.append(url)

    def load_dataset(self, url: str, region: str) -> None:
        """See :class:`benchlab.engines.tidb.Cluster`."""
        assert region == REGION
        place = urlsplit(url)
        key = place.path.strip("/") + "/backupmeta"
        taken = self.s3.get_object(Bucket=place.netloc, Key=key)["Body"].read().decode()
        if versions.order(taken) > versions.order(self.version):
            raise EngineError(f"BR's restore failed: {taken} is newer than {self.version}")
        self.log.append(f"restore {self.side}")
        self.urls.append(url)


class Rented(FleetTarget):
    """A fleet without hosts."""

    name = "ec2"
    brs: dict[Side, Br]

    @property
    def log(self) -> list[str]:
        """What the clusters did."""
        return self.brs["baseline"].log

    @property
    def urls(self) -> list[str]:
        """From and to where."""
        return self.brs["baseline"].urls

    def preflight(self) -> None:
        """Nothing to refuse."""

    def hosts(self, say: Say) -> Fleet:
        """No hosts."""
        return Fleet(())

    @property
    def datasets(self) -> KeptDatasets:
        """In the bucket."""
        return KeptDatasets(
            self.spec,
            self.plan,
            self.state,
            self.access,
            REGION,
            self.client_program,
            self._cluster,
        )

    @classmethod
    def return_hosts(cls, taken: Taken) -> str:
        """Nothing was rented."""
        return ""

    def _cluster(self, side: Side) -> Any:
        return self.brs[side]


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
    parameters: Mapping[str, Any] = SYSBENCH,
    **sides: str,
) -> Rented:
    """A campaign's target with a chosen client.

    Args:
        parameters: by side; those of both sides under an empty name.
        sides: replaces the versions.
    """
    versions_of: dict[Side, str] = {"baseline": "v5.1.1", "candidate": "v5.2.0"}
    versions_of |= sides  # type: ignore[arg-type]  # keywords are texts
    spec = plans.fleet_spec(
        snapshots="s3://datasets/small",
        engines={
            "tidb": {
                "parameters": parameters.get("", {}),
                **{
                    side: {"version": version, "parameters": parameters.get(side, {})}
                    for side, version in versions_of.items()
                },
            }
        },
        **fields,
    )
    home = Home(folder, folder / "state")
    home.campaign(campaign).mkdir(parents=True, exist_ok=True)
    plan = plans.plan(plans.spec(engine="tidb", engines=spec.engines))
    made = Rented(home, campaign, plan, spec, Access(aws=lambda service, region: s3))
    log: list[str] = []
    urls: list[str] = []
    made.brs = {side: Br(s3, side, version, log, urls) for side, version in versions_of.items()}
    made.client_program = client
    return made


def prepare(made: Rented, *checksums: str) -> list[str | None]:
    """What the stages of a campaign ask a target to do, in their order; what keeping said."""
    if made.datasets.source() != "load":
        for side in made.datasets.sides_to_load():
            made.datasets.save(side)
        for side in made.sides:
            made.datasets.restore(side)
    both = checksums or ("t:1:1+5", "t:1:1+6")
    return [made.datasets.keep(side, text) for side, text in zip(made.sides, both, strict=True)]


def keys(s3: Any) -> list[str]:
    """Everything in the bucket."""
    return [one["Key"] for one in s3.list_objects_v2(Bucket="datasets").get("Contents", ())]


def test_one_dataset_serves_both_versions_and_all_later_campaigns(folder: Path, s3: Any) -> None:
    """The older side takes it, is deployed anew, and both are restored; then nobody loads again."""
    first = target(folder, s3, "c1")
    assert first.datasets.source() == "new snapshot"
    assert first.datasets.sides_to_load() == ["baseline"]
    assert prepare(first) == [None, None]
    assert first.log == [
        "save baseline",
        "deploy baseline",
        "restore baseline",
        "restore candidate",
    ]
    (note,) = [key for key in keys(s3) if key.endswith(".json")]
    second = target(folder, s3, "c2", baseline="v5.2.0", candidate="v5.4.0")
    assert second.datasets.source() == "snapshot"
    assert second.datasets.are_kept()
    assert second.datasets.sides_to_load() == []
    assert prepare(second) == [None, None]
    assert second.log == ["restore baseline", "restore candidate"]
    assert len({*first.urls, *second.urls}) == 1
    assert [key for key in keys(s3) if key.endswith(".json")] == [note]
    assert "/c1/" in first.urls[0]


def test_the_older_side_takes_the_dataset_whichever_side_it_is(folder: Path, s3: Any) -> None:
    """Also where the candidate is the older version; v5.10 is newer than v5.9."""
    made = target(folder, s3, "c1", baseline="v5.10.0", candidate="v5.9.3")
    assert made.datasets.sides_to_load() == ["candidate"]
    prepare(made)
    assert made.log[:2] == ["save candidate", "restore baseline"]
    assert made.log[2:] == ["deploy candidate", "restore candidate"]


def test_a_snapshot_of_a_newer_version_is_replaced_and_never_restored(
    folder: Path, s3: Any
) -> None:
    """BR fills newer clusters only; the next campaigns then use the older one."""
    prepare(target(folder, s3, "c1", baseline="v5.3.0", candidate="v5.4.0"))
    older = target(folder, s3, "c2", baseline="v5.2.4", candidate="v5.4.0")
    assert not older.datasets.are_kept()
    assert older.datasets.source() == "new snapshot"
    prepare(older)
    third = target(folder, s3, "c3", baseline="v5.3.0", candidate="v5.4.0")
    prepare(third)
    assert third.log == ["restore baseline", "restore candidate"]
    assert "/c2/" in third.urls[0]


@pytest.mark.parametrize(
    ("sides", "parameters"),
    [
        ({"baseline": "v5.4.0", "candidate": "v6.1.0"}, {}),
        ({}, {"candidate": {"tidb_enable_clustered_index": "OFF"}}),
    ],
)
def test_sides_that_store_rows_in_another_form_have_a_dataset_each(
    folder: Path, s3: Any, sides: Any, parameters: Any
) -> None:
    """New collations from v6.0 on, other clustered indexes: BR would refuse them, or break them."""
    made = target(folder, s3, "c1", parameters=parameters, **sides)
    assert made.datasets.sides_to_load() == ["baseline", "candidate"]
    prepare(made, "t:1:1+5", "t:2:2+5")
    assert len(set(made.urls)) == 2
    assert len([key for key in keys(s3) if key.endswith(".json")]) == 2


def test_settings_that_do_not_change_stored_rows_share_a_dataset(folder: Path, s3: Any) -> None:
    """A week with other parameters does not load again; `1` and `ON` are the same."""
    prepare(target(folder, s3, "c1", parameters={"": {"tidb_enable_clustered_index": 1}}))
    same = {"tidb_enable_clustered_index": "ON", "log.level": "error", "tidb_enable_1pc": 1}
    again = target(folder, s3, "c2", parameters={"": same})
    assert again.datasets.source() == "snapshot"


def kept_by(folder: Path, s3: Any, client: str, fields: Mapping[str, Any]) -> Rented:
    """A campaign that loaded with this client, and kept what it loaded."""
    made = target(folder, s3, f"kept-by-{client}", client=client, fields=fields)
    assert made.datasets.source() == "new snapshot"
    assert prepare(made) == [None, None]
    return made


@pytest.mark.parametrize(
    ("client", "source"),
    [("tiup", "snapshot"), ("go-tpc", "new snapshot"), ("embedded", "new snapshot")],
)
def test_what_another_client_loaded_is_not_restored(
    folder: Path, s3: Any, client: str, source: str
) -> None:
    """Each client generates different rows; what this one loads is kept as well."""
    first = kept_by(folder, s3, "tiup", TPCC)
    note = first.datasets.place("baseline").read_note()
    assert note is not None
    assert (note["client_program"], note["version"]) == ("tiup", "v5.1.1")
    second = target(folder, s3, "c2", client=client, fields=TPCC)
    assert second.datasets.source() == source
    assert prepare(second) == [None, None]
    assert target(folder, s3, "c3", client=client, fields=TPCC).datasets.source() == "snapshot"


def test_rows_of_another_distribution_are_not_restored(folder: Path, s3: Any) -> None:
    """The indexed column is filled by the distribution that a report type chooses."""
    kept_by(folder, s3, "sysbench", {})
    chosen = {"client": {"rand_type": "special"}}
    assert target(folder, s3, "c2", fields={}).datasets.source() == "snapshot"
    assert target(folder, s3, "c3", fields=chosen).datasets.source() == "new snapshot"


def test_reading_the_notes_before_the_client_is_known_decides_nothing(
    folder: Path, s3: Any
) -> None:
    """Before hosts are rented the workload's first client is assumed; it may be another one."""
    kept_by(folder, s3, "tiup", TPCC)
    made = target(folder, s3, "c2", fields=TPCC)
    assert made.datasets.are_kept()
    made.client_program = "embedded"
    assert made.datasets.source() == "new snapshot"


def test_every_process_of_a_campaign_knows_which_client_was_chosen(tmp_path: Path) -> None:
    """The target reads it from the campaign's record."""
    record = campaigns.tpcc_campaign(environment={"client_program": "embedded"})
    with Store(f"sqlite:///{tmp_path / 'results.db'}", UPath(tmp_path / "objects")) as store:
        store.add_campaign(record)
        work = CampaignRun.open(Home(tmp_path, tmp_path / "state"), store, record.id)
    assert work.target.client_program == "embedded"


def test_notes_of_earlier_releases_are_not_read(folder: Path, s3: Any) -> None:
    """They had a place for each version, and would be restored on one side only."""
    for version in ("v5.1.1", "v5.2.0"):
        note = json.dumps({"url": "s3://datasets/old", "checksum": "t:1:1"}).encode()
        s3.put_object(
            Bucket="datasets", Key=f"small/sysbench/{version}-3d32fa187ce4.json", Body=note
        )
    assert target(folder, s3, "c1").datasets.source() == "new snapshot"


def test_an_interrupted_save_does_not_hinder_later_ones(folder: Path, s3: Any) -> None:
    """BR refuses its place from then on: every later save has a place of its own."""
    first = target(folder, s3, "c1")
    assert first.datasets.source() == "new snapshot"
    first.brs["baseline"].cut_off = True
    with pytest.raises(EngineError, match="connection reset"):
        first.datasets.save("baseline")
    assert [key for key in keys(s3) if key.endswith(".json")] == []
    assert first.datasets.sides_to_load() == ["baseline"]
    first.brs["baseline"].cut_off = False
    assert prepare(first) == [None, None]
    assert target(folder, s3, "c2").datasets.source() == "snapshot"


def test_a_dataset_that_cannot_be_saved_is_loaded_on_all_sides(folder: Path, s3: Any) -> None:
    """The decision is kept for every process of the campaign, and nothing is compared."""
    first = target(folder, s3, "c1")
    assert first.datasets.source() == "new snapshot"
    first.datasets.load_instead()
    again = target(folder, s3, "c1")
    assert again.datasets.source() == "load"
    assert again.datasets.sides_to_load() == again.sides
    assert prepare(again) == [None, None]
    assert keys(s3) == []


def test_a_bucket_that_is_gone_does_not_end_a_campaign_that_restored(folder: Path, s3: Any) -> None:
    """Both sides hold the rows; only the next campaign loses time. They are still compared."""
    made = target(folder, s3, "c1")
    made.datasets.source()
    made.datasets.save("baseline")
    for key in keys(s3):
        s3.delete_object(Bucket="datasets", Key=key)
    s3.delete_bucket(Bucket="datasets")
    said = made.datasets.keep("baseline", "t:1:1+5")
    assert said is not None
    assert "NoSuchBucket" in said
    with pytest.raises(TargetError, match="t has 1:2 instead of 1:1"):
        made.datasets.keep("candidate", "t:1:2+5")


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
        with pytest.raises(TargetError, match=r"AccessDenied.*ec2\.md \(Dataset snapshots\)"):
            place.write_note({})


def test_a_campaign_with_a_version_without_br_loads_and_keeps_nothing(
    folder: Path, s3: Any
) -> None:
    """Both sides then have the same layout, that of a load."""
    made = target(folder, s3, "c1", baseline="v3.0.20")
    assert made.datasets.source() == "load"
    assert prepare(made) == [None, None]
    assert (made.log, keys(s3)) == ([], [])


def test_a_restored_dataset_that_differs_ends_the_campaign(folder: Path, s3: Any) -> None:
    """The error names the side, the table, and both places that have to be deleted."""
    first = target(folder, s3, "c1")
    prepare(first, "a:1:1+5 t:1:1+5", "a:1:1+6 t:1:1+6")
    second = target(folder, s3, "c2")
    with pytest.raises(TargetError) as caught:
        prepare(second, "a:1:1+7 t:1:1+7", "a:1:1+8 t:1:2+8")
    said = str(caught.value)
    assert said.startswith(f"candidate: what was restored from {first.urls[0]} ")
    assert second.datasets.place("candidate").note in said
    assert "t has 1:2 instead of 1:1;" in said


def test_sides_of_a_new_snapshot_are_compared_with_each_other(folder: Path, s3: Any) -> None:
    """The first side's checksum goes into the note, and the second one has to agree."""
    with pytest.raises(TargetError, match=r"candidate: .* t has 1:2 instead of 1:1"):
        prepare(target(folder, s3, "c1"), "t:1:1+5", "t:1:2+5")


def test_a_note_of_another_home_under_the_same_id_is_another_campaigns(
    folder: Path, s3: Any
) -> None:
    """Nothing is deployed anew for it, and it does not replace the note that came after it."""
    prepare(target(folder, s3, "c1"))
    made = target(folder / "other", s3, "c1")
    assert made.datasets.source() == "snapshot"
    prepare(target(folder, s3, "c3", baseline="v5.0.0"))
    (note,) = [key for key in keys(s3) if key.endswith(".json")]
    newest = s3.get_object(Bucket="datasets", Key=note)["Body"].read()
    assert prepare(made) == [None, None]
    assert made.log == ["restore baseline", "restore candidate"]
    assert s3.get_object(Bucket="datasets", Key=note)["Body"].read() == newest
    assert json.loads(newest).keys() >= {"url", "campaign"}
    assert "own" not in json.loads(newest)


def test_all_sides_use_the_note_that_was_there_when_it_was_decided(folder: Path, s3: Any) -> None:
    """A campaign that replaces it meanwhile changes nothing."""
    prepare(target(folder, s3, "c1"))
    made = target(folder, s3, "c2")
    made.datasets.source()
    made.datasets.restore("baseline")
    other = target(folder, s3, "c3", baseline="v5.0.0")
    prepare(other, "t:9:9+1", "t:9:9+2")
    made.datasets.restore("candidate")
    assert len(set(made.urls)) == 1
    assert made.datasets.keep("candidate", "t:1:1+9") is None


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        json.dumps({"url": "s3://x", "checksum": "t:1:1"}),
        json.dumps({"url": "s3://x", "checksum": None, "version": "v5.0.0"}),
    ],
)
def test_a_note_without_a_place_or_version_is_refused(folder: Path, s3: Any, text: str) -> None:
    """Before anything is rented; the error names the note and says what to do."""
    made = target(folder, s3, "c1")
    key = urlsplit(made.datasets.place("baseline").note).path[1:]
    s3.put_object(Bucket="datasets", Key=key, Body=text.encode())
    with pytest.raises(TargetError, match=r"does not say where the dataset is.*delete it"):
        made.datasets.source()
