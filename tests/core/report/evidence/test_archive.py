"""No byte of a bundle changes unnoticed, and no archive does harm."""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab.errors import EvidenceError
from benchlab.report import evidence
from benchlab.report.evidence import Verification, archive, manifest
from tests.builders.evidence import as_json, files_of, named, small


@settings(max_examples=60)
@given(data=st.data())
def test_no_byte_of_an_archive_changes_unnoticed(
    good: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Anywhere; within a file's content the file is named."""
    at = data.draw(st.integers(0, len(good) - 1))
    flipped = bytearray(good)
    flipped[at] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("flip", numbered=True) / "evidence.zip"
    path.write_bytes(flipped)
    found = evidence.verify(path)
    assert not found.holds
    assert "the figures" not in found.checked
    with zipfile.ZipFile(io.BytesIO(good)) as opened:
        for entry in opened.infolist():
            start = entry.header_offset + 30 + len(entry.filename.encode())
            # The last byte of a packed file has bits that unpacking does not read.
            if start <= at < start + entry.compress_size - 1:
                assert entry.filename in named(found)
    path.unlink()


@pytest.mark.parametrize("part", range(4))
def test_every_byte_of_a_small_archive_counts(
    part: int, verified: Callable[..., Verification]
) -> None:
    """Those of all headers, of the directory and its end included."""
    content = small()
    assert all(difference.file == "campaign.json" for difference in verified(content).differences)
    for at in range(part, len(content), 4):
        flipped = bytearray(content)
        flipped[at] ^= 1 << (at % 8)
        found = verified(bytes(flipped))
        assert found.differences, at
        assert "campaign.json" not in named(found), at


@pytest.mark.parametrize("change", ["cut", "longer", "before", "empty"])
def test_an_archive_of_another_length_is_found(
    good: bytes, change: str, verified: Callable[..., Verification]
) -> None:
    """Cut, with bytes behind or before it, or nothing at all."""
    content = {"cut": good[:-100], "longer": good + b"x", "before": b"x" + good, "empty": b""}
    assert not verified(content[change]).holds


def test_a_change_in_a_header_is_found(good: bytes, verified: Callable[..., Verification]) -> None:
    """The date of an entry, though no content differs."""
    with zipfile.ZipFile(io.BytesIO(good)) as opened:
        entry = opened.getinfo("trials.json")
    flipped = bytearray(good)
    flipped[entry.header_offset + 12] ^= 1
    (difference,) = verified(bytes(flipped)).differences
    assert difference.file == "evidence.zip"
    assert "in a header or its comment, not in a file's content" in difference.found


@pytest.mark.parametrize(
    "name",
    ["manifest.json", "campaign.json", "trials.json", "report/report.md", "gates/validity.yaml"],
)
def test_a_changed_file_of_an_unpacked_bundle_is_named(
    good: bytes, name: str, tmp_path: Path
) -> None:
    """Whichever byte it is, even one of the manifest."""
    with zipfile.ZipFile(io.BytesIO(good)) as opened:
        opened.extractall(tmp_path / "unpacked")
    content = (tmp_path / "unpacked" / name).read_bytes()
    for at in (0, len(content) // 3, len(content) // 2, len(content) - 1):
        flipped = bytearray(content)
        flipped[at] ^= 1
        (tmp_path / "unpacked" / name).write_bytes(flipped)
        assert name in named(evidence.verify(tmp_path / "unpacked")), at


def test_every_byte_of_an_unpacked_manifest_counts(tmp_path: Path) -> None:
    """It has no archive around it then."""
    files = files_of(small())
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    said = files[manifest.NAME]
    for at in range(len(said)):
        flipped = bytearray(said)
        flipped[at] ^= 1 << (at % 8)
        (tmp_path / manifest.NAME).write_bytes(flipped)
        found = evidence.verify(tmp_path)
        assert found.differences, at
        assert "campaign.json" not in named(found), at


def test_files_that_were_added_or_taken_away_are_named(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """No file more, none less."""
    files = files_of(good)
    assert named(verified(archive.pack({**files, "more.txt": b"x"}))) == {"more.txt"}
    del files["report/report.md"]
    assert named(verified(archive.pack(files))) == {"report/report.md"}


def test_an_archive_that_was_packed_anew_says_what_to_do(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Its files may be as they were; verified as a directory it holds."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as opened:
        for name, content in files_of(good).items():
            opened.writestr(name, content)
    (difference,) = verified(buffer.getvalue()).differences
    assert "unpack it and verify the directory" in difference.found


def test_a_signature_of_ones_own_may_lie_beside_the_manifest(good: bytes, tmp_path: Path) -> None:
    """`ssh-keygen -Y sign manifest.json` writes it there."""
    for name, content in {**files_of(good), manifest.SIGNATURE: b"mine"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    found = evidence.verify(tmp_path)
    assert found.holds
    assert [note for note in found.not_recomputed if "signature" in note]


def entries(*files: tuple[zipfile.ZipInfo | str, bytes]) -> bytes:
    """An archive of whatever entries."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files:
            opened.writestr(name, content)
    return buffer.getvalue()


def link(name: str) -> zipfile.ZipInfo:
    """An entry that is a symbolic link."""
    made = zipfile.ZipInfo(name)
    made.create_system, made.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return made


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../x", "../../x"),
        ("/etc/x", "/etc/x"),
        ("a/../x", "a/../x"),
        ("a//x", "a//x"),
        ("a\\x", "a\\x"),
        ("a/", "a/"),
        ("a\nb", "a\\nb"),
    ],
)
def test_a_name_that_leads_out_is_refused(
    name: str, shown: str, verified: Callable[..., Verification]
) -> None:
    """And named, so that it can be printed."""
    assert named(verified(entries((name, b"x")))) == {shown}


def test_links_and_names_that_are_there_twice_are_refused(
    verified: Callable[..., Verification],
) -> None:
    """Named, and nothing is read any further."""
    assert named(verified(entries((link("manifest.json"), b"/etc/passwd")))) == {"manifest.json"}
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = entries(("a", b"1"), ("a", b"2"))
    assert named(verified(content)) == {"a"}


def test_an_archive_that_unpacks_to_too_much_is_refused(
    verified: Callable[..., Verification], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything of it is unpacked: one file, all of them, and their number."""
    monkeypatch.setattr(archive, "MAX_FILE_BYTES", 1000)
    monkeypatch.setattr(archive, "MAX_BYTES", 3000)
    monkeypatch.setattr(archive, "MAX_FILES", 5)
    assert named(verified(entries(("a", bytes(1001))))) == {"a"}
    for content in (
        entries(*((f"{n}", bytes(1000)) for n in range(4))),
        entries(*((f"{n}", b"") for n in range(6))),
    ):
        (difference,) = verified(content).differences
        assert "too large" in difference.found


def test_a_directory_with_links_and_pipes_is_refused(good: bytes, tmp_path: Path) -> None:
    """Neither is followed or waited for."""
    with zipfile.ZipFile(io.BytesIO(good)) as opened:
        opened.extractall(tmp_path / "unpacked")
    report_md = tmp_path / "unpacked" / "report" / "report.md"
    shutil.copy(report_md, tmp_path / "copy.md")
    report_md.unlink()
    report_md.symlink_to(tmp_path / "copy.md")
    os.mkfifo(tmp_path / "unpacked" / "pipe")
    (tmp_path / "unpacked" / "more").symlink_to(tmp_path)
    found = evidence.verify(tmp_path / "unpacked")
    assert named(found) == {"report/report.md", "pipe", "more"}


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x05\x06" + bytes(18), b"PK" * 5000])
def test_what_is_not_a_bundle_is_reported_as_such(
    content: bytes, verified: Callable[..., Verification]
) -> None:
    """An empty file, a text, an archive without files."""
    assert not verified(content).holds


def test_a_bundle_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """It says what to give."""
    with pytest.raises(EvidenceError, match=r"give the evidence\.zip"):
        evidence.verify(tmp_path / "nothing.zip")


def test_a_broken_manifest_is_named(good: bytes, verified: Callable[..., Verification]) -> None:
    """Malformed, of a later format, not canonical, or with a wrong hash of itself."""
    files = files_of(good)
    said = json.loads(files["manifest.json"])
    for broken, told in (
        (b"[" * 100_000, "no JSON"),
        (b"{}", "not a manifest"),
        (as_json({**said, "format": 99}), "which Benchlab 0.1.0 wrote; this one reads"),
        (as_json({**said, "campaign": "other"}), "changed"),
        (
            files["manifest.json"].replace(b'"campaign": "evident"', b'"campaign": "evidenu"'),
            "SHA-256",
        ),
    ):
        (first, *_) = verified(archive.pack({**files, "manifest.json": broken})).differences
        assert first.file == "manifest.json"
        assert told in first.found
