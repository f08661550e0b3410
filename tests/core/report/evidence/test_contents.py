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
    named,
)


def test_a_bundle_holds_and_everything_in_it_is_recomputed(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Each trial from its raw output, and each file of the report from the trials."""
    found = verified(good)
    assert found.differences == []
    assert (found.outcome, found.campaign) == ("holds", ID)
    files = files_of(good)
    published = [name for name in files if name.startswith("report/")]
    assert found.checked["files"] == len(files) - 1
    assert found.checked["report files"] == len(published)
    assert found.checked["raw outputs"] == found.checked["trials"] == 6
    assert found.checked["samples"] == 6 * 9
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
    modes = {stat.S_IFMT(entry.external_attr >> 16) for entry in entries}
    assert modes <= {0, stat.S_IFREG}


def test_a_report_in_several_languages_is_rendered_again_in_each(
    tmp_path: Path, verified: Callable[..., Verification]
) -> None:
    """Those of its report type, the main page's first; a changed word in any is found."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as opened:
        add_campaign(opened, languages=["zh", "en"])
        content = bundle_of(opened)
    assert verified(content).differences == []
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


@pytest.mark.parametrize(
    ("end", "lacks"),
    [("-a1.txt", "raw output"), ("-a1.hosts.csv", "host samples"), ("-a1.csv", None)],
)
def test_what_the_store_has_lost_is_not_verified(
    tmp_path: Path, verified: Callable[..., Verification], end: str, lacks: str | None
) -> None:
    """Nothing differs; a series alone follows from the raw output."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as opened:
        add_campaign(opened)
        gone = f"{ID}/r1-baseline-oltp_read_write-t4{end}"
        (tmp_path / "objects" / gone).unlink()
        found = verified(bundle_of(opened))
    assert found.differences == []
    trial = "r1-baseline-oltp_read_write-t4 (attempt 1)"
    expected = [f"{trial}: without its {lacks} (raw/{gone})"] if lacks else []
    assert found.unverified == expected
    assert found.outcome == ("not verified" if lacks else "holds")
    assert found.checked["raw outputs"] == (5 if lacks == "raw output" else 6)


def test_a_campaign_that_is_not_there_is_an_error(store: Store) -> None:
    """No bundle is made of nothing."""
    with pytest.raises(StoreError, match="no campaign"):
        evidence.make(store, "nobody", {}, gates=GATES)
