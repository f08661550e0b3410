"""What is in an evidence bundle, and that everything in it is recomputed."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from upath import UPath

from benchlab.errors import EvidenceError, StoreError
from benchlab.report import evidence
from benchlab.report.evidence import Verification
from benchlab.results.store import Store
from tests.builders.evidence import (
    GATES,
    ID,
    SECRET,
    add_campaign,
    bundle_of,
    files_of,
    forged,
    kinds,
    named,
)


def test_a_bundle_holds_and_everything_in_it_is_recomputed(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Each trial from its raw output, and each file of the report from the trials."""
    found = verified(good)
    assert found.differences == ()
    assert (found.holds, found.campaign) == (True, ID)
    files = files_of(good)
    published = [name for name in files if name.startswith("report/") and "/quality/" not in name]
    assert found.checked["files"] == len(files) - 1
    assert found.checked["report files"] == len(published)
    assert found.checked["raw outputs"] == found.checked["series"] == found.checked["trials"] == 6
    assert found.checked["samples"] == 6 * 9
    assert found.checked["host figures"] == 6 * 14
    assert found.checked["A/A campaigns"] == 5
    assert found.lines()[-1] == "the bundle holds"
    json.dumps(found.to_json(), allow_nan=False)


def test_what_cannot_be_recomputed_is_said(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """The raw outputs of A/A campaigns; nothing else."""
    (note,) = verified(good).not_recomputed
    assert "5 A/A campaigns" in note


def test_the_same_campaign_gives_the_same_bytes(store: Store, good: bytes) -> None:
    """A bundle has no date and no order of chance."""
    assert bundle_of(store) == good


def test_a_bundle_has_all_that_the_report_rests_on(good: bytes) -> None:
    """Report, plan, facts, rows, raw outputs, gates, A/A campaigns; readable without Benchlab."""
    files = files_of(good)
    made = json.loads(files["campaign.json"])
    assert made["facts"]["baseline"]["variables"]["autocommit"] == "ON"
    assert len(made["plan"]["trials"]) == len(json.loads(files["trials.json"])) == 6
    assert {"report/report.md", "report/report.json", "gates/validity.yaml"} <= set(files)
    assert len([name for name in files if name.startswith("raw/")]) == 18
    assert {f"calibration/aa{number}.json" for number in range(5)} <= set(files)
    said = json.loads(files["manifest.json"])
    assert set(said["files"]) == set(files) - {"manifest.json"}


def test_no_date_of_the_machine_and_no_way_out_is_in_the_archive(good: bytes) -> None:
    """Names are sorted, dates fixed, and each entry is an ordinary file."""
    with zipfile.ZipFile(io.BytesIO(good)) as opened:
        entries = opened.infolist()
    assert [entry.filename for entry in entries] == sorted(entry.filename for entry in entries)
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert {stat.S_IFMT(entry.external_attr >> 16) for entry in entries} == {stat.S_IFREG}


def test_an_unpacked_bundle_holds_as_well(good: bytes, tmp_path: Path) -> None:
    """As a directory, unpacked by any program."""
    with zipfile.ZipFile(io.BytesIO(good)) as opened:
        opened.extractall(tmp_path / "unpacked")
    assert evidence.verify(tmp_path / "unpacked").differences == ()


def test_a_report_in_several_languages_is_rendered_again_in_each(
    tmp_path: Path, verified: Callable[..., Verification]
) -> None:
    """Those of its report type, the main page's first; a changed word in any is found."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as opened:
        add_campaign(opened, languages=["zh", "en"])
        content = bundle_of(opened)
    assert verified(content).differences == ()
    page = files_of(content)["report/en/report.md"]
    changed = {"report/en/report.md": page.replace(b"improvement", b"regression", 1)}
    assert named(verified(forged(content, changed))) == set(changed)


def test_verification_writes_nothing(good: bytes, tmp_path: Path) -> None:
    """Neither beside the bundle nor in the directory where one works."""
    path = tmp_path / "evidence.zip"
    path.write_bytes(good)
    evidence.verify(path)
    assert [each.name for each in tmp_path.iterdir()] == ["evidence.zip"]


def test_no_secret_is_in_a_bundle_and_the_manifest_says_what_was_taken_out(good: bytes) -> None:
    """A server's variable that is a secret; a policy that only has the word in its name stays."""
    files = files_of(good)
    assert not [name for name, content in files.items() if SECRET.encode() in content]
    assert json.loads(files["manifest.json"])["redacted"] == [
        f"campaign.json: facts.{side}.variables.wsrep_sst_auth"
        for side in ("baseline", "candidate")
    ]
    assert b'"strict_password_validation": "ON"' in files["campaign.json"]


def test_a_password_within_an_address_is_taken_out() -> None:
    """Who connects where may stay."""
    from benchlab.results.redaction import Redacted

    clean = Redacted().document("x.json", {"origin": "run on mysql://lab:hunter22@db/x"})
    assert clean == {"origin": "run on mysql://lab:(redacted 1)@db/x"}


def test_a_bundle_with_a_secret_in_a_file_is_not_made(store: Store) -> None:
    """The error names the file, and not the secret."""
    with pytest.raises(EvidenceError, match=r"report/report\.md") as raised:
        evidence.make(
            store, ID, {"report.md": b"password: hunter22"}, gates=GATES, secrets=["hunter22"]
        )
    assert "hunter22" not in str(raised.value)


def test_a_raw_output_that_is_gone_is_said_with_the_reason(
    tmp_path: Path, verified: Callable[..., Verification]
) -> None:
    """In the manifest and by the verification; nothing differs, and it is not verified."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as opened:
        add_campaign(opened)
        gone = f"{ID}/r1-baseline-oltp_read_write-t4-a1.txt"
        (tmp_path / "objects" / gone).unlink()
        content = bundle_of(opened)
    said = json.loads(files_of(content)["manifest.json"])
    (missing,) = said["missing"]
    assert missing["file"] == f"raw/{gone}"
    assert missing["reason"] == "the object store does not have it: it does not exist"
    found = verified(content)
    assert (found.outcome, found.differences) == ("not verified", ())
    assert found.checked["raw outputs"] == 5
    assert kinds(found) == {"trials without their raw output"}
    assert f"raw/{gone} is missing" in found.unverified[0].why


def test_a_campaign_that_is_not_there_is_an_error(store: Store) -> None:
    """No bundle is made of nothing."""
    with pytest.raises(StoreError, match="no campaign"):
        evidence.make(store, "nobody", {}, gates=GATES)
