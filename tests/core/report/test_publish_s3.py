"""Publishing to S3: repeated, interrupted, refused. S3 is moto's, asked through boto3 as it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from benchlab.errors import PublishError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan.fields.publish import Destination
from benchlab.report.publish import publisher_of
from benchlab.report.publish.s3 import Bucket
from tests.builders.s3 import (
    BUCKET,
    FILES,
    OF_EVERY_KIND,
    ON_S3,
    PLACE,
    PROJECT,
    S3,
    no_pause,
    publication,
    publisher,
)


def test_a_report_is_under_a_key_that_its_content_names(s3: S3) -> None:
    """With all its files, and nothing beside it."""
    report = publication(files=OF_EVERY_KIND)
    address = publisher(s3).publish(report)
    folder = f"tidb/weekly/sysbench_test/c1/{report.edition}"
    assert address == f"s3://{BUCKET}/{folder}/report.html"
    assert s3.all() == {f"{folder}/{name}": text for name, text in OF_EVERY_KIND.items()}


def test_a_browser_is_told_what_each_file_is_and_how_long_it_keeps(s3: S3) -> None:
    """What is named by its content for ever."""
    report = publication(files=OF_EVERY_KIND)
    publisher(s3, prefix="").publish(report)
    told = {}
    for key in s3.all():
        head = s3.client.head_object(Bucket=BUCKET, Key=key)
        told[key.removeprefix(f"sysbench_test/c1/{report.edition}/")] = (
            head["ContentType"],
            head["CacheControl"],
        )
    kept = "max-age=31536000, immutable"
    assert told == {
        "report.md": ("text/markdown; charset=utf-8", kept),
        "report.html": ("text/html; charset=utf-8", kept),
        "report.json": ("application/json", kept),
        "trials.csv": ("text/csv; charset=utf-8", kept),
        "charts/overview.svg": ("image/svg+xml", kept),
        "evidence.zip": ("application/zip", kept),
        "strange.bin": ("application/octet-stream", kept),
    }


def test_the_main_page_comes_last(s3: S3) -> None:
    """If it is there, the whole edition is."""
    report = publication(files=OF_EVERY_KIND)
    publisher(s3, prefix="").publish(report)
    *files, page = s3.puts
    folder = f"sysbench_test/c1/{report.edition}"
    assert page == f"{folder}/report.html"
    assert set(files) == {f"{folder}/{name}" for name in OF_EVERY_KIND} - {page}


def test_no_rights_are_given_to_anybody(s3: S3) -> None:
    """Who may read a bucket is its owner's choice: no ACL is written."""
    headers: list[str] = []

    def keep(request: Any, **_: Any) -> None:
        headers.extend(map(str.lower, request.headers))

    s3.client.meta.events.register("before-send.s3", keep)
    publisher(s3).publish(publication())
    s3.client.meta.events.unregister("before-send.s3", keep)
    assert headers
    assert not [name for name in headers if "acl" in name or "grant" in name]


def test_publishing_again_writes_nothing(s3: S3) -> None:
    """The same report is the same objects."""
    address = publisher(s3).publish(publication())
    before = s3.all()
    assert len(s3.puts) == len(before)
    assert publisher(s3).publish(publication()) == address
    assert s3.puts == []
    assert s3.all() == before


def test_another_content_is_another_edition_beside_the_first(s3: S3) -> None:
    """The earlier one stays as it was."""
    first = publication()
    second = publication(files={**FILES, "report.html": b"<h1>Another</h1>"})
    assert first.edition != second.edition
    publisher(s3, prefix="").publish(first)
    before = s3.all()
    assert publisher(s3, prefix="").publish(second).endswith(f"/{second.edition}/report.html")
    assert before.items() < s3.all().items()
    s3.asked.clear()
    assert publisher(s3, prefix="").publish(first).endswith(f"/{first.edition}/report.html")
    assert s3.puts == []


def test_an_edition_is_named_by_all_of_its_names_and_bytes() -> None:
    """Whatever the order of the files; a byte that moves between name and content counts."""
    one = publication(files={"a": b"x", "b": b"y"})
    assert re.fullmatch("[0-9a-f]{12}", one.edition)
    assert publication(files={"b": b"y", "a": b"x"}).edition == one.edition
    others = [{"a": b"x"}, {"a": b"xb", "": b"y"}, {"ax": b"", "b": b"y"}, {"a": b"x", "b": b"z"}]
    assert len({one.edition, *(publication(files=other).edition for other in others)}) == 5


def test_a_bucket_that_is_missing_is_named(s3: S3) -> None:
    """With what S3 says, and what to do."""
    with pytest.raises(PublishError) as caught:
        publisher(s3, bucket="no-such-bucket").publish(publication())
    said = str(caught.value)
    assert said.startswith("listing s3://no-such-bucket/tidb/weekly/sysbench_test/c1/")
    assert ": NoSuch" in said
    assert "correct `bucket`: for this campaign with `benchlab publish CAMPAIGN --set" in said
    assert "for later ones in the report type's `publish`" in said


@pytest.mark.parametrize(
    ("status", "code", "advice"),
    [
        (403, "AccessDenied", "s3:PutObject"),
        (403, "InvalidAccessKeyId", "Connection benchlab_aws"),
        (403, "SignatureDoesNotMatch", "Connection benchlab_aws"),
        (400, "AuthorizationHeaderMalformed", "correct `region`"),
        (400, "Unheard", "said so"),
    ],
)
def test_a_refusal_is_reported_with_what_to_do(s3: S3, status: int, code: str, advice: str) -> None:
    """Key, S3's own words, advice; no credential."""
    s3.refuse = lambda operation, key: (status, code) if operation == "PutObject" else None
    with pytest.raises(PublishError) as caught:
        publisher(s3).publish(publication(files={"report.html": b""}))
    said = str(caught.value)
    assert said.startswith(f"writing s3://{BUCKET}/tidb/weekly/sysbench_test/c1/")
    assert f"{code}: said so" in said
    assert advice in said
    assert "s3cr3t" not in said
    assert "AKIA" not in said


def test_without_credentials_it_says_where_they_come_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In Airflow from its Connection, elsewhere as for any program of AWS."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    where = Destination(**ON_S3)
    with pytest.raises(PublishError, match=r"credentials.*Connection benchlab_aws"):
        publisher_of(where, Home(PROJECT, tmp_path), Access()).publish(publication())


def test_a_profile_that_is_missing_is_an_error_of_publishing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where no client can be made, the others are published to nevertheless."""
    monkeypatch.setenv("AWS_PROFILE", "nosuch")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)
    where = Destination(**ON_S3)
    with pytest.raises(PublishError, match=f"{PLACE}: no client for S3: .*nosuch"):
        publisher_of(where, Home(PROJECT, tmp_path), Access()).publish(publication())


def test_an_endpoint_that_is_no_url_is_an_error_of_publishing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What botocore raises for it is none of its own errors."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "foo")
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)
    where = Destination(**ON_S3)
    with pytest.raises(
        PublishError, match=f"{PLACE}: no client for S3: AWS settings: Invalid endpoint: foo; see"
    ):
        publisher_of(where, Home(PROJECT, tmp_path), Access()).publish(publication())


@pytest.mark.parametrize("code", ["SlowDown", "InternalError", "ServiceUnavailable"])
def test_what_passes_is_tried_again(s3: S3, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Throttling and errors of the server cost a try each, nothing else."""
    no_pause(monkeypatch)
    seen: set[str] = set()

    def once(operation: str, key: str) -> tuple[int, str] | None:
        if operation != "PutObject" or key in seen:
            return None
        seen.add(key)
        return 503, code

    s3.refuse = once
    publisher(s3).publish(publication(files={"report.html": b"", "report.md": b""}))
    assert len(seen) == 2
    assert len(s3.puts) == 4


@pytest.mark.parametrize("at", range(2))
def test_a_failure_in_the_middle_can_be_repeated(s3: S3, at: int) -> None:
    """Wherever it was cut off: what is there stays, what is missing is brought."""
    report = publication(files={"report.html": b"page", "report.md": b"text"})

    def cut(operation: str, key: str) -> tuple[int, str] | None:
        written = sum(operation == "PutObject" for operation, _ in s3.asked)
        return (403, "AccessDenied") if operation == "PutObject" and written > at else None

    s3.refuse = cut
    with pytest.raises(PublishError, match="AccessDenied"):
        publisher(s3, prefix="").publish(report)
    s3.refuse = lambda operation, key: None
    assert not any(key.endswith("report.html") for key in s3.all())
    s3.asked.clear()
    publisher(s3, prefix="").publish(report)
    assert len(s3.puts) == 2 - at
    assert len(s3.all()) == 2


def test_a_file_that_came_in_part_is_written_again(s3: S3) -> None:
    """S3 knows no parts of objects; but somebody may have cut one."""
    report = publication()
    publisher(s3, prefix="").publish(report)
    key = f"sysbench_test/c1/{report.edition}/report.md"
    s3.client.put_object(Bucket=BUCKET, Key=key, Body=b"#")
    s3.asked.clear()
    publisher(s3, prefix="").publish(report)
    assert s3.puts == [key]
    assert s3.read(key) == FILES["report.md"]


def test_more_objects_than_a_page_of_a_listing_has(s3: S3) -> None:
    """Every page is read."""

    def three(params: dict[str, Any], **_: Any) -> None:
        params["MaxKeys"] = 3

    for number in range(7):
        s3.client.put_object(Bucket=BUCKET, Key=f"many/{number}", Body=b"x")
    s3.asked.clear()
    s3.client.meta.events.register("before-parameter-build.s3.ListObjectsV2", three)
    assert len(Bucket(s3.client, BUCKET).listing("many/")) == 7
    s3.client.meta.events.unregister("before-parameter-build.s3.ListObjectsV2", three)
    assert len(s3.asked) == 3
