"""What a hostile bundle can take: no more than a few hundred megabytes, whatever it says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchlab.errors import EvidenceError
from benchlab.report import evidence
from benchlab.report.evidence import Verification, archive, contents, trials
from tests.builders.evidence import as_json, files_of, forged, kinds

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
HEAD = b'{"format":1,"campaign":"c","made_with":{},"signed":false,'


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
        "lists": HEAD + b'"missing":' + many(b"{}", size) + b',"redacted":[],"files":{}}',
        "keys": HEAD + keys(size) + b"}",
        "files": HEAD + b'"missing":[],"redacted":[],"files":{' + keys(size) + b"}}",
        "a file": HEAD + b'"missing":[],"redacted":[],"files":{"a":{' + keys(size) + b"}}}",
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
    found, most = taken(archive.pack({"manifest.json": manifests()[kind]}), tmp_path / "bundle.zip")
    assert found.startswith("manifest.json: not a manifest: ")
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


@pytest.mark.parametrize("name", ["manifest.json", "campaign.json", "report/report.json"])
def test_a_file_that_is_larger_than_any_is_not_read(
    name: str,
    good: bytes,
    tmp_path: Path,
    verified: Callable[..., Verification],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error names it, its size and the limit: packed, unpacked, and where one is made."""
    start = name if name in archive.LIMITS else "report/"
    limit = archive.LIMITS[start]
    files = {**files_of(good), name: b" " * (limit + 1)}
    told = f"{limit + 1} bytes; at most {limit} are read"
    with pytest.raises(EvidenceError, match=f"^evidence bundle: {name}: {told}$"):
        archive.pack(files)
    with monkeypatch.context() as patch:
        patch.setitem(archive.LIMITS, start, limit + 1)
        packed = archive.pack(files)
    (difference,) = verified(packed).differences
    assert str(difference) == f"{name}: {told}"
    for file, content in files.items():
        (tmp_path / "unpacked" / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "unpacked" / file).write_bytes(content)
    found = evidence.verify(tmp_path / "unpacked").differences
    assert str(found[0]) == f"{name}: {told}"


def test_definitions_of_gates_that_are_longer_than_any_are_refused(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """All of them together: each could be small."""
    size = contents.MAX_GATES_BYTES // 2
    more = {f"gates/{number}.yaml": b"#" * size for number in range(2)}
    (difference,) = verified(forged(good, more)).differences
    assert (difference.file, "are read" in difference.found) == ("gates/", True)


@pytest.mark.parametrize("name", ["campaign.json", "trials.json", "calibration/aa0.json"])
def test_a_key_that_is_there_twice_is_refused(
    name: str, good: bytes, verified: Callable[..., Verification]
) -> None:
    """Whoever reads the document otherwise would see another value than was verified."""
    text = files_of(good)[name]
    at = text.index(b"{") + 1
    twice = text[:at] + b'"id": "other", "id": "other",' + text[at:]
    (difference,) = verified(forged(good, {name: twice})).differences
    assert str(difference) == f"{name}: no JSON: a key is there twice"


def test_host_samples_that_are_longer_than_any_are_not_verified(
    good: bytes, verified: Callable[..., Verification], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor read: a few kilobytes can unpack to half a gigabyte of them, which takes eight."""
    size = next(len(text) for name, text in files_of(good).items() if name.endswith(".hosts.csv"))
    monkeypatch.setattr(trials, "MAX_SAMPLES_BYTES", size - 1)
    found = verified(good)
    assert found.outcome == "not verified"
    assert kinds(found) == {"trials without their host samples"}
    assert f"{size} bytes; at most {size - 1} are read" in found.unverified[0].why
