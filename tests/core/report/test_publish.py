"""Publishing a campaign: into files first, to the others beside; and the record of it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.campaign import overrides
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import NotMeasuredError, PublishError, SpecError, StoreError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan import report_type
from benchlab.plan.fields.publish import Destination
from benchlab.plan.report_type import ReportSpec
from benchlab.report import bundle
from benchlab.report.publish import files, place, publisher_of
from benchlab.report.publish.destinations import PublicationRecord, publish_everywhere, unpublished
from benchlab.report.publish.publisher import BasePublisher, Publication
from benchlab.results.store import Store
from tests.builders import campaigns, plans
from tests.builders.s3 import (
    BUCKET,
    FILES,
    ON_S3,
    PLACE,
    PROJECT,
    REGION,
    S3,
    publication,
)


def test_a_report_goes_into_files_first_named_or_not() -> None:
    """A report must never be lost."""
    for written in ([], [ON_S3], [ON_S3, {"to": "files"}]):
        destinations = plans.spec(publish=written).destinations
        assert [destination.to for destination in destinations] == ["files", "s3"][
            : 1 + (ON_S3 in written)
        ]


BAD = {
    "no publisher": ([{"bucket": "b"}], "publish.0.to: missing"),
    "an unknown publisher": ([{"to": "ftp"}], "publish.0.to: unknown: ftp; known: files, s3"),
    "a misspelt key": ([{**ON_S3, "bukket": "b"}], "publish.0.bukket: unknown key"),
    "no bucket": ([{"to": "s3", "region": REGION}], "publish.0.bucket: missing"),
    "no region": ([{"to": "s3", "bucket": BUCKET}], "publish.0.region: missing"),
    "a URL": ([{**ON_S3, "bucket": "s3://b"}], "publish.0.bucket: "),
    "a prefix upwards": ([{**ON_S3, "prefix": "a/../b"}], "publish.0.prefix: "),
    "a prefix with a slash": ([{**ON_S3, "prefix": "/a/"}], "publish.0.prefix: "),
    "files elsewhere": ([{"to": "files", "path": "/srv"}], "publish.0.path: unknown key"),
    "one place twice": ([ON_S3, {**ON_S3, "region": "us-west-2"}], f"{PLACE} is named twice"),
    "files twice": ([{"to": "files"}] * 2, "publish.1: files is named twice"),
    "a list within": ([{**ON_S3, "prefix": ["a"]}], "publish.0.prefix"),
}


@pytest.mark.parametrize(("written", "sentence"), BAD.values(), ids=BAD)
def test_what_nobody_can_publish_to_is_refused(written: list[Any], sentence: str) -> None:
    """Before a campaign starts, by the field."""
    with pytest.raises(SpecError) as caught:
        overrides.override(plans.spec(), {"publish": written})
    assert f"override: {sentence}" in str(caught.value) or sentence in str(caught.value)


def test_destinations_and_languages_can_be_set_on_a_command_line() -> None:
    """As any other field."""
    text = f"publish=[{{to: s3, bucket: {BUCKET}, region: {REGION}}}]"
    found = overrides.override(plans.spec(), overrides.parse_assignments([text, "languages=zh,en"]))
    assert list(map(place, found.destinations)) == ["files", f"s3://{BUCKET}"]
    assert found.languages == ("zh", "en")


@pytest.mark.parametrize("codes", [["en", "en"], [], ["xx"], ["../en"], "en"])
def test_a_report_is_in_languages_that_are_there(codes: Any) -> None:
    """Once in each, and in one at least."""
    with pytest.raises(SpecError, match="languages"):
        overrides.override(plans.spec(), {"languages": codes})


def test_a_campaign_of_a_release_without_these_fields_is_read() -> None:
    """It is published into files, in English."""
    old = plans.spec().model_dump(mode="json", exclude={"publish", "languages"})
    found = ReportSpec.model_validate(old)
    assert (found.languages, [destination.to for destination in found.destinations]) == (
        ("en",),
        ["files"],
    )


def test_a_report_type_with_destinations_survives_being_written() -> None:
    """As the store keeps it."""
    found = plans.spec(publish=[ON_S3], languages=["en", "zh"])
    assert ReportSpec.model_validate(found.model_dump(mode="json")) == found
    assert report_type.ReportSpec.model_validate_json(found.model_dump_json()) == found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(f"sqlite:///{tmp_path / 'results.db'}", UPath(tmp_path / "objects")) as found:
        yield found


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds, drawing the charts, is left out."""
    monkeypatch.setattr(bundle, "make", lambda *_, **__: dict(FILES))


def measured(s3: S3, store: Store, tmp_path: Path, **fields: Any) -> StoredCampaign:
    """A campaign that has been measured, and is to be published."""
    record = campaigns.campaign(plans.spec(rounds=2, **fields))
    store.add_campaign(record)
    for result in campaigns.results_of(record.plan, lambda _: 100.0):
        store.add_trial(record.id, result)
    return StoredCampaign(Home(PROJECT, tmp_path), store, record, s3.access)


def test_a_campaign_is_published_everywhere_and_again(s3: S3, store: Store, tmp_path: Path) -> None:
    """Repeated, it is the same report; its verdict says nothing of it."""
    small = {"workloads": ["oltp_point_select"], "threads": [4]}
    work = measured(s3, store, tmp_path, publish=[ON_S3], languages=["en", "zh"], **small)
    paths = work.publish()
    assert paths[0] == tmp_path / "reports" / "c1" / "report.md"
    (edition,) = {key.split("/")[4] for key in s3.all()}
    assert work.published() == {
        "files": str(tmp_path / "reports" / "c1" / "report.html"),
        PLACE: f"{PLACE}/sysbench_test/c1/{edition}/report.html",
    }
    assert f"tidb/weekly/sysbench_test/c1/{edition}/zh/report.html" in s3.all()
    for path in paths:
        name = path.relative_to(tmp_path / "reports" / "c1")
        assert s3.read(f"tidb/weekly/sysbench_test/c1/{edition}/{name}") == path.read_bytes()
    ended = store.campaign("c1").ended_at
    s3.asked.clear()
    assert work.publish() == paths
    assert s3.puts == []
    assert store.campaign("c1").ended_at == ended
    work.verdict()


@pytest.mark.fault(
    "a destination of the report fails",
    promise="the others have it, and one command repeats what failed",
    of="results",
)
@pytest.mark.usefixtures("rendered")
def test_a_destination_that_fails_loses_nothing_and_stops_no_other(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """The report is in files and in the other bucket; the error names the one, and the repeat."""
    missing = {**ON_S3, "bucket": "not-there-yet"}
    work = measured(s3, store, tmp_path, publish=[missing, ON_S3])
    for _ in range(2):
        with pytest.raises(PublishError) as caught:
            work.publish()
        said = str(caught.value)
        assert "not published to s3://not-there-yet/tidb/weekly: listing " in said
        assert f"not published to {PLACE}" not in said
        assert str(tmp_path / "reports" / "c1" / "report.html") in said
        assert "`benchlab publish c1`" in said
        assert (tmp_path / "reports" / "c1" / "report.md").exists()
        assert set(work.published()) == {"files", PLACE}
        notes = [(step.stage, step.phase) for step in work.progress.read()[0]]
    assert ("publish", "failed") in notes
    assert ("publish", "published") in notes
    with pytest.raises(PublishError, match=r"s3://not-there-yet/tidb/weekly: listing .*NoSuch"):
        work.verdict()
    assert "verdict" in [step.stage for step in work.progress.read()[0]], "it is told all the same"
    assert store.campaign("c1").state == "complete"
    where = {"LocationConstraint": REGION}
    s3.client.create_bucket(Bucket="not-there-yet", CreateBucketConfiguration=where)
    work.publish(only="s3")
    assert set(work.published()) == {"files", PLACE, "s3://not-there-yet/tidb/weekly"}
    work.verdict()


@pytest.mark.usefixtures("rendered")
def test_one_publisher_alone_can_be_repeated(s3: S3, store: Store, tmp_path: Path) -> None:
    """Even then files come first; the others keep what they have."""
    work = measured(s3, store, tmp_path, publish=[ON_S3])
    work.publish(only="files")
    assert s3.asked == []
    with pytest.raises(PublishError, match=f"{PLACE}: it has not been tried"):
        work.verdict()
    with pytest.raises(SpecError, match="'ftp', but to: files, s3"):
        work.publish(only="ftp")
    work.publish(only="s3")
    work.publish(only="files")
    assert set(work.published()) == {"files", PLACE}


@pytest.mark.usefixtures("rendered")
def test_a_campaign_can_be_published_elsewhere_than_planned(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """Its bucket may have been misspelt, or nobody may have thought of one."""
    work = measured(s3, store, tmp_path)
    work.publish(destinations=[Destination(**ON_S3)])
    assert set(work.published()) == {"files", PLACE}
    work.verdict()


@pytest.mark.usefixtures("rendered")
def test_a_misspelt_bucket_is_corrected_for_one_campaign(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """The verdict asks for the other destinations then; the report type's, once they are meant."""
    work = measured(s3, store, tmp_path, publish=[{**ON_S3, "bucket": "misspelt"}])
    misspelt = "not published to s3://misspelt/tidb/weekly: listing "
    with pytest.raises(PublishError, match=misspelt):
        work.publish()
    work.publish(destinations=[Destination(**ON_S3)])
    work.verdict()
    with pytest.raises(PublishError, match=misspelt):
        work.publish()
    with pytest.raises(PublishError, match=misspelt):
        work.verdict()
    work.publish(destinations=[])
    work.verdict()


@pytest.mark.usefixtures("rendered")
@pytest.mark.parametrize("only", [None, "s3"])
def test_the_command_that_an_error_names_repeats_what_failed(
    s3: S3, store: Store, tmp_path: Path, only: str | None
) -> None:
    """To the same destinations, whatever the report type says; the verdict names it as well."""
    work = measured(s3, store, tmp_path)
    missing = Destination(**{**ON_S3, "bucket": "not-there-yet", "prefix": "on"})
    with pytest.raises(PublishError) as caught:
        work.publish(only, destinations=[missing])
    with pytest.raises(PublishError) as judged:
        work.verdict()
    said = [str(error.value).rpartition("; `")[2] for error in (caught, judged)]
    for sentence, option in zip(said, (only and ["--to", only], None), strict=True):
        *words, assignment = shlex.split(sentence.removesuffix("` repeats what failed"))
        assert words == ["benchlab", "publish", "c1", *(option or []), "--set"]
        values = overrides.parse_assignments([assignment])
        assert overrides.override(work.spec, values).publish == (missing,)
    s3.create("not-there-yet")
    work.publish(only, destinations=[missing])
    work.verdict()


@pytest.mark.usefixtures("rendered")
def test_a_fault_where_the_report_is_not_to_be_any_more_is_forgotten(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """One where it is to be stays, though only another publisher is repeated."""
    work = measured(s3, store, tmp_path)
    record = PublicationRecord(work.directory / "published")
    missing = Destination(**{**ON_S3, "bucket": "not-there"})
    with pytest.raises(PublishError):
        work.publish(destinations=[missing])
    work.publish("files", destinations=[missing])
    assert set(record.faults()) == {"s3://not-there/tidb/weekly"}
    work.publish()
    assert record.faults() == {}
    work.verdict()


@pytest.mark.usefixtures("rendered")
def test_a_place_that_has_the_report_is_not_said_to_be_without(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """S3 is out of reach after it was published there: it could not be renewed."""
    work = measured(s3, store, tmp_path, publish=[ON_S3])
    work.publish()
    s3.refuse = lambda operation, key: (403, "AccessDenied")
    with pytest.raises(PublishError) as caught:
        work.publish()
    first, last = str(caught.value).splitlines()
    assert first.startswith(
        f"the report could not be renewed at {PLACE}, where the same edition was: listing "
    )
    page = tmp_path / "reports" / "c1" / "report.html"
    assert last == f"it is at {page}; `benchlab publish c1` repeats what failed"


def test_where_a_report_is_is_said_only_where_that_is_known() -> None:
    """Not of a place that failed just now; nor that it is nowhere, where it was before."""
    assert unpublished({"files": "/a"}, {"files": "no"}, "again") == (
        "the report could not be renewed at files, where the same edition was: no\n"
        "`again` repeats what failed"
    )
    assert unpublished({}, {"files": "no"}, "again") == (
        "the report is not published to files: no\nit is nowhere yet; `again` repeats what failed"
    )


@pytest.mark.usefixtures("rendered")
def test_neither_fault_hides_the_other(s3: S3, store: Store, tmp_path: Path) -> None:
    """No evidence, and no bucket: an earlier report's evidence is not beside this one."""
    work = measured(s3, store, tmp_path, publish=[{**ON_S3, "bucket": "not-there"}])
    with pytest.raises(PublishError, match="NoSuchBucket"):
        work.publish()
    evidence = tmp_path / "reports" / "c1" / "evidence.zip"
    assert evidence.exists()
    password = work.directory / "password"
    password.write_text("baseline")  # which every bundle has in it
    for tell in (work.publish, work.verdict):
        with pytest.raises(PublishError) as caught:
            tell()
        said = str(caught.value)
        assert re.search(
            r"^the report is without evidence\.zip: .*has a password", said, re.MULTILINE
        )
        assert "not published to s3://not-there/tidb/weekly: listing " in said
        assert said.count("`benchlab publish c1` repeats what failed") == 1
    assert not evidence.exists()
    assert (tmp_path / "reports" / "c1" / "report.md").exists()
    password.unlink()
    s3.create("not-there")
    work.publish()
    work.verdict()
    assert evidence.exists()


@pytest.mark.usefixtures("rendered")
def test_an_earlier_report_keeps_its_evidence_where_no_other_can_be_written(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """Old files are removed after the new report is there; both faults are reported."""
    work = measured(s3, store, tmp_path)
    work.publish()
    (work.directory / "password").write_text("baseline")  # which every bundle has in it
    (tmp_path / "reports").rename(tmp_path / "kept")
    (tmp_path / "reports").write_text("in the way")
    with pytest.raises(PublishError) as caught:
        work.publish()
    assert "the report is without evidence.zip: " in str(caught.value)
    assert "the report is not published to files: " in str(caught.value)
    assert "it is nowhere yet" in str(caught.value)
    assert (tmp_path / "kept" / "c1" / "evidence.zip").exists()


@pytest.mark.usefixtures("rendered")
def test_where_files_cannot_be_written_the_others_are_tried(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """The report is somewhere then; the verdict says that the publication is not whole."""
    (tmp_path / "reports").write_text("in the way")
    work = measured(s3, store, tmp_path, publish=[ON_S3])
    with pytest.raises(PublishError, match=r"not published to files: .*cannot be written"):
        work.publish()
    assert set(work.published()) == {PLACE}
    with pytest.raises(NotMeasuredError, match=r"not published; `benchlab publish c1`"):
        work.verdict()


@pytest.mark.usefixtures("rendered")
def test_what_was_published_before_is_not_what_is_measured_now(
    s3: S3, store: Store, tmp_path: Path
) -> None:
    """A campaign that is gone on with has no report until it is published again."""
    work = measured(s3, store, tmp_path)
    work.publish()
    work.forget_publication()
    assert work.published() == {}
    with pytest.raises(NotMeasuredError, match="the report was not published"):
        work.verdict()


def test_a_record_is_of_one_edition(tmp_path: Path) -> None:
    """Where an earlier edition is, the present one is not."""
    record = PublicationRecord(tmp_path / "published")
    assert record.addresses() == record.faults() == {}
    places = ("files", "s3")
    record.begin("one", places)
    record.add("files", "/a")
    record.fail("s3", "no")
    record.begin("one", places)
    assert (record.addresses(), record.faults()) == ({"files": "/a"}, {"s3": "no"})
    record.add("s3", "s3://b")
    assert (record.addresses(), record.faults()) == ({"files": "/a", "s3": "s3://b"}, {})
    record.begin("two", places)
    assert record.addresses() == {}
    (tmp_path / "published").write_text("")  # as an earlier release left it
    assert record.addresses() == {}
    record.begin("three", places)
    record.add("files", "/a")
    assert record.addresses() == {"files": "/a"}


def test_a_record_knows_whether_other_places_are_meant(tmp_path: Path) -> None:
    """None at all is other than those of the report type."""
    record = PublicationRecord(tmp_path / "published")
    assert record.instead() is None
    for instead in ((Destination(**ON_S3), Destination(to="files")), (), None):
        record.begin("one", (), instead)
        assert record.instead() == instead


def test_what_is_no_fault_of_publishing_is_not_hidden(tmp_path: Path) -> None:
    """Only errors that are raised on purpose are collected."""

    class Broken(BasePublisher):
        name = "broken"
        place = "nowhere"

        def publish(self, publication: Publication) -> str:
            raise KeyError("a bug")

    broken = Broken(None, Home(PROJECT, tmp_path), Access())
    record = PublicationRecord(tmp_path / "r")
    with pytest.raises(KeyError):
        publish_everywhere(publication(), [broken], record, lambda *_: None, "again")


def test_the_publisher_of_files_says_what_hinders_it(s3: S3, tmp_path: Path) -> None:
    """As :mod:`benchlab.report.publish.files` alone does."""
    (tmp_path / "reports").write_text("in the way")
    files = publisher_of(Destination(to="files"), Home(PROJECT, tmp_path), s3.access)
    with pytest.raises(StoreError, match="cannot be written"):
        files.publish(publication())


@pytest.mark.fault(
    "publishing is cut off while an earlier edition is there",
    promise="a reader finds one edition or the other, and no mixture",
    of="results",
)
@pytest.mark.parametrize("flag", [files._RENAME_EXCHANGE, 1 << 20], ids=["at once", "on NFS"])
def test_a_report_is_replaced_as_a_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: int
) -> None:
    """Whoever has the earlier one open reads it on; one that cannot be written changes nothing."""
    monkeypatch.setattr(files, "_RENAME_EXCHANGE", flag)
    directory = tmp_path / "c1"
    old, new = {"report.html": b"old", "charts/a.svg": b"old"}, {"report.html": b"new"}
    files.replace(old, directory)
    (directory / "note.txt").write_text("mine")
    opened = os.open(directory, os.O_RDONLY)
    with pytest.raises(StoreError, match="cannot be written"):
        files.replace({**new, "x" * 300: b""}, directory, ("charts",))
    assert files.read(directory) == {**old, "note.txt": b"mine"}
    files.replace(new, directory, ("charts",))
    assert files.read(directory) == {**new, "note.txt": b"mine"}
    assert os.fstat(opened).st_ino != directory.stat().st_ino
    os.close(opened)
    assert [path.name for path in tmp_path.iterdir()] == ["c1"]


@pytest.mark.fault(
    "two processes publish two editions of a report at once",
    promise="one of them is there as a whole, and nothing of the other",
    of="results",
)
def test_of_two_editions_that_are_published_at_once_one_is_there(tmp_path: Path) -> None:
    """Whoever comes last, again and again; no half edition is left beside it."""
    directory, names = tmp_path / "c1", [f"{number}.csv" for number in range(20)]

    def publish(edition: bytes) -> None:
        for _ in range(20):
            files.replace(dict.fromkeys(names, edition), directory)

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(publish, edition) for edition in (b"one", b"two")]:
            done.result()
    found = files.read(directory)
    assert [*found] == sorted(names)
    assert set(found.values()) in ({b"one"}, {b"two"})
    assert [path.name for path in tmp_path.iterdir()] == ["c1"]


def test_what_an_earlier_report_had_is_not_beside_the_next(s3: S3, tmp_path: Path) -> None:
    """A file or a directory; what is not the report's stays; an obstacle is reported."""
    files = publisher_of(Destination(to="files"), Home(PROJECT, tmp_path), s3.access)
    files.publish(publication(files={**FILES, "evidence.zip": b"PK", "docs/a.html": b"a"}))
    directory = tmp_path / "reports" / "c1"
    (directory / "note.txt").write_text("mine")
    files.publish(publication(lacks=("docs", "evidence.zip", "nothing")))
    assert {path.name for path in directory.iterdir()} == {*FILES, "note.txt"}
    (directory / "note.txt").rename(directory / "note")
    with pytest.raises(StoreError, match=r"note/docs: it is an earlier report's and cannot be"):
        files.publish(publication(lacks=("note/docs",)))
