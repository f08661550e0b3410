"""What a hostile bundle can take: no more than a few hundred megabytes, whatever it says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchlab.errors import EvidenceError
from benchlab.report.evidence import Verification, contents
from tests.builders.evidence import ID, as_json, files_of, forged

# Prints what was found, and the most memory that was taken, in MiB.
MEASURED = """
import re, sys
from pathlib import Path
from benchlab.report import evidence
for difference in evidence.verify(Path(sys.argv[1])).differences:
    print(difference)
print(int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""
MOST_MIB = 500
HEAD = b'{"format":1,"campaign":"c","made_with":{},'


def many(kind: bytes, size: int) -> bytes:
    """A JSON list of this many bytes."""
    return b"[" + kind + (b"," + kind) * ((size - 2) // (len(kind) + 1) - 1) + b"]"


def keys(size: int) -> bytes:
    """As many keys as fit into so many bytes, without the braces."""
    return b",".join(b'"%06x":0' % number for number in range(size // 11))


def manifests() -> dict[str, bytes]:
    """Texts of four and a half megabytes that have millions of faults, by what they are."""
    size = 4_600_000
    return {
        "lists": HEAD + b'"redacted":' + many(b"{}", size) + b',"files":{}}',
        "keys": HEAD + keys(size) + b"}",
        "files": HEAD + b'"redacted":[],"files":{' + keys(size) + b"}}",
    }


def taken(content: bytes, path: Path) -> tuple[str, int]:
    """What a process of its own finds in a bundle, and the most memory that it took, in MiB."""
    path.write_bytes(content)
    command = [sys.executable, "-c", MEASURED, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    found, _, most = done.stdout.rstrip().rpartition("\n")
    return found, int(most)


@pytest.mark.parametrize("kind", manifests())
def test_a_manifest_of_millions_of_faults_takes_little_memory(kind: str, tmp_path: Path) -> None:
    """It took 2.8 GB; the first fault is named, or their number."""
    found, most = taken(
        contents.zipped({"manifest.json": manifests()[kind]}), tmp_path / "bundle.zip"
    )
    assert found.startswith("manifest.json: ")
    assert "\n" not in found
    assert most < MOST_MIB


@pytest.mark.parametrize("place", ["trials", "steps", "spec"])
def test_a_campaign_of_millions_of_faults_takes_little_memory(
    place: str, good: bytes, tmp_path: Path
) -> None:
    """Anywhere in it; the first one is named."""
    made = json.loads(files_of(good)["campaign.json"])
    (made if place == "spec" else made["plan"])[place] = "@"
    hostile = as_json(made).replace(b'"@"', many(b"{}", 8_000_000))
    found, most = taken(forged(good, {"campaign.json": hostile}), tmp_path / "bundle.zip")
    expected = {"trials": "plan.trials.0.", "steps": "plan.steps.0.", "spec": "spec: "}[place]
    assert found.startswith(f"campaign.json: {expected}")
    assert "\n" not in found
    assert most < MOST_MIB


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("manifest.json", "*"),
        ("campaign.json", "*"),
        ("report/report.json", "*"),
        (f"raw/{ID}/r1-baseline-oltp_read_write-t4-a1.txt", "raw/*.txt"),
        ("gates/validity.yaml", "gates/*"),
    ],
)
def test_a_file_that_is_larger_than_any_is_not_read(
    name: str,
    limit: str,
    good: bytes,
    verified: Callable[..., Verification],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error names it, its size and the limit: where one is made, and where it is verified."""
    files = {**files_of(good), name: b" " * 3_000_001}
    most = 3_000_000 if limit == "*" else 4_000_000
    monkeypatch.setattr(contents, "LIMITS", {limit: 3_000_000, "*": most})
    told = "3000001 bytes; at most 3000000 are read"
    with pytest.raises(EvidenceError, match=f"^evidence bundle: {name}: {told}$"):
        contents.zipped(files)
    with monkeypatch.context() as patch:
        patch.setattr(contents, "LIMITS", {"*": 4_000_000})
        packed = contents.zipped(files)
    assert f"{name}: {told}" in map(str, verified(packed).differences)


@pytest.mark.parametrize("name", ["campaign.json", "trials.json", "calibration/aa0.json"])
def test_a_key_that_is_there_twice_is_refused(
    name: str, good: bytes, verified: Callable[..., Verification]
) -> None:
    """Whoever reads the document otherwise would see another value than was verified."""
    text = files_of(good)[name]
    at = text.index(b"{") + 1
    twice = text[:at] + b'"id": "other", "id": "other",' + text[at:]
    difference, *_ = verified(forged(good, {name: twice})).differences
    assert str(difference) == f"{name}: no JSON: a key occurs twice"
