"""No file of a bundle changes unnoticed, and no archive does harm."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchlab.errors import EvidenceError
from benchlab.report import evidence
from benchlab.report.evidence import Verification
from benchlab.report.evidence.contents import zipped
from tests.builders.evidence import as_json, files_of, named


@settings(max_examples=60)
@given(data=st.data())
def test_no_byte_of_a_file_changes_unnoticed(
    good: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """As the archive has it, packed: the file is named."""
    at = data.draw(st.integers(0, len(good) - 1))
    flipped = bytearray(good)
    flipped[at] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.mktemp("flip", numbered=True) / "evidence.zip"
    path.write_bytes(flipped)
    found = evidence.verify(path)
    with zipfile.ZipFile(io.BytesIO(good)) as opened:
        for entry in opened.infolist():
            start = entry.header_offset + 30 + len(entry.filename.encode())
            # The last byte of a packed file has bits that unpacking does not read.
            if start <= at < start + entry.compress_size - 1:
                assert named(found) == {entry.filename}
    path.unlink()


@pytest.mark.parametrize("change", ["cut", "empty"])
def test_a_part_of_an_archive_is_none(
    good: bytes, change: str, verified: Callable[..., Verification]
) -> None:
    """Cut, or nothing at all."""
    content = {"cut": good[:-100], "empty": b""}
    assert named(verified(content[change])) == {"evidence.zip"}


@pytest.mark.parametrize(
    "name",
    ["campaign.json", "trials.json", "report/report.md", "gates/validity.yaml"],
)
def test_a_file_that_was_changed_and_packed_anew_is_named(
    good: bytes, name: str, verified: Callable[..., Verification]
) -> None:
    """Whichever byte it is; nothing is recomputed."""
    files = files_of(good)
    for at in (0, len(files[name]) // 2, len(files[name]) - 1):
        flipped = bytearray(files[name])
        flipped[at] ^= 1
        found = verified(zipped({**files, name: bytes(flipped)}))
        assert named(found) == {name}, at
        assert found.checked.keys() == {"files"}


def test_files_that_were_added_or_taken_away_are_named(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """No file more, none less."""
    files = files_of(good)
    assert named(verified(zipped({**files, "more.txt": b"x"}))) == {"more.txt"}
    del files["report/report.md"]
    assert named(verified(zipped(files))) == {"report/report.md"}


def test_an_archive_that_any_program_packed_anew_holds(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Its files are as they were."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as opened:
        for name, content in reversed(files_of(good).items()):
            opened.writestr(name, content)
    assert verified(buffer.getvalue()).outcome == "holds"


def entries(*files: tuple[str, bytes]) -> bytes:
    """An archive of whatever entries."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in files:
            opened.writestr(name, content)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a//x", "a\\x", "a/", "a\nb"])
def test_a_name_that_leads_out_is_a_difference(
    name: str, good: bytes, tmp_path: Path, verified: Callable[..., Verification]
) -> None:
    """Nothing is unpacked to it."""
    before = set(tmp_path.parent.rglob("*"))
    assert named(verified(entries(*files_of(good).items(), (name, b"x")))) == {name}
    assert set(tmp_path.parent.rglob("*")) - before == {tmp_path / "evidence.zip"}


def test_names_that_are_there_twice_are_differences(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """A reader may take either."""
    files = files_of(good)
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = entries(*files.items(), ("trials.json", files["trials.json"]))
    assert named(verified(content)) == {"trials.json"}


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x05\x06" + bytes(18), b"PK" * 5000])
def test_what_is_not_a_bundle_is_reported_as_such(
    content: bytes, verified: Callable[..., Verification]
) -> None:
    """An empty file, a text, an archive without files."""
    assert verified(content).outcome != "holds"


def test_a_bundle_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """It says what to give."""
    for path in (tmp_path / "nothing.zip", tmp_path):
        with pytest.raises(EvidenceError, match=r"give the evidence\.zip"):
            evidence.verify(path)


def test_a_broken_manifest_is_named(good: bytes, verified: Callable[..., Verification]) -> None:
    """Malformed, of a later format, of another campaign, or none."""
    files = files_of(good)
    said = json.loads(files["manifest.json"])
    for broken, told in (
        (b"[" * 100_000, "no JSON"),
        (b"{}", "campaign: "),
        (as_json({**said, "format": 99}), "format: "),
    ):
        (difference,) = verified(zipped({**files, "manifest.json": broken})).differences
        assert difference.file == "manifest.json"
        assert told in difference.found
    (difference,) = verified(
        zipped({**files, "manifest.json": as_json({**said, "campaign": "other"})})
    ).differences
    assert str(difference) == "campaign.json: id: evident; recomputed: other"
    del files["manifest.json"]
    assert named(verified(zipped(files))) == {"manifest.json"}
