"""Where a site's files are kept: a directory, or a prefix of a bucket."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchlab.errors import PublishError, SpecError
from benchlab.hosts.access import Access
from benchlab.language import load
from benchlab.site import static
from benchlab.site.page import Site
from benchlab.site.static import Folder, folder_at
from tests.builders import weekly
from tests.builders.s3 import BUCKET, REGION, S3, moto, s3
from tests.builders.weekly import Weeks

__all__ = ["moto", "s3"]

NOW = datetime(2024, 6, 1, tzinfo=UTC)


def in_bucket(s3: S3, to: str = f"s3://{BUCKET}/tidb") -> Folder:
    """A folder in the test's S3."""
    return folder_at(to, REGION, s3.access)


def site(weeks: Weeks) -> Site:
    """The site as the command has it."""
    return Site(weeks.home, weeks.store, load("en"), NOW)


def test_a_bucket_has_the_site_and_is_renewed_as_a_directory_is(tmp_path: Path, s3: S3) -> None:
    """With the types by which a browser shows files; what has not changed is not put again."""
    with weekly.installation(tmp_path / "home") as weeks:
        first, second = weeks.add(), weeks.add()
        written = static.write(site(weeks), in_bucket(s3))
        assert "tidb/index.html" in s3.puts
        assert static.write(site(weeks), in_bucket(s3)).written == 0
        assert s3.puts == [f"tidb/{static.RECORD}"]
        weeks.store.delete_campaign(first)
        renewed = static.write(site(weeks), in_bucket(s3))
    names = in_bucket(s3).names()
    assert renewed.written < written.written
    assert f"campaigns/{second}/index.html" in names
    assert not any(name.startswith(f"campaigns/{first}/") for name in names)
    script = s3.client.get_object(Bucket=BUCKET, Key="tidb/assets/site.js")
    assert script["ContentType"] == "text/javascript; charset=utf-8"


def test_a_missing_bucket_is_said_with_what_to_do(s3: S3) -> None:
    """In the words of the command that was given."""
    with pytest.raises(PublishError, match="make the bucket, or correct `--to s3://bucket/prefix`"):
        in_bucket(s3, "s3://no-such-bucket/x").names()


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """With what is in its way."""
    (tmp_path / "taken").write_text("a file")
    folder = folder_at(str(tmp_path / "taken"), "", Access())
    with pytest.raises(PublishError, match=r"writing .*taken/index.html: "):
        folder.write("index.html", b"")


def test_no_reader_finds_half_a_file(tmp_path: Path) -> None:
    """A file is replaced as a whole, and nothing is left beside it."""
    folder = folder_at(str(tmp_path), "", Access())
    folder.write("a/b.html", b"old")
    before = (tmp_path / "a" / "b.html").stat().st_ino
    folder.write("a/b.html", b"new")
    assert (tmp_path / "a" / "b.html").stat().st_ino != before
    assert folder.names() == {"a/b.html"}


def test_a_record_cannot_name_a_file_outside(tmp_path: Path) -> None:
    """Whoever can write into the folder cannot have files elsewhere removed."""
    folder = folder_at(str(tmp_path / "site"), "", Access())
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(PublishError, match="not a path within"):
        folder.remove("../mine.txt")
    assert (tmp_path / "mine.txt").exists()


def test_other_addresses_are_refused() -> None:
    """Instead of making a directory called `http:`."""
    with pytest.raises(SpecError, match="name a directory, or s3://bucket/prefix"):
        folder_at("http://example.com/site", "", Access())
