"""Evidence bundles: what is in them, and that no change of one goes unnoticed."""

from __future__ import annotations

import base64
import dataclasses
import io
import json
import os
import re
import shutil
import stat
import subprocess
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner
from upath import UPath

from benchlab import aa_campaigns, cli_reports, compare, evidence, quality, testing, trial
from benchlab.dataset import Dataset
from benchlab.deployment import Setting
from benchlab.errors import EvidenceError, StoreError
from benchlab.evidence import Difference, Verification, archive, manifest, signature
from benchlab.evidence.trials import Recomputation
from benchlab.executor import JobStatus
from benchlab.plan import PlannedTrial
from benchlab.report import bundle as report_bundle
from benchlab.report.model import Report
from benchlab.results import Campaign, TrialResult, inconsistencies
from benchlab.spec import Client
from benchlab.store import Store
from benchlab.testing import FakeDeployment, FakeExecutor
from benchlab.workloads import sysbench
from tests.core.installation import PROGRAM

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
GATES = ROOT / "configs" / "quality"
PRINTED = (GOLDEN / "sysbench" / "sysbench_read_write_t4.txt").read_text()
SAMPLED = (GOLDEN / "hosts" / "read_write_t4.txt").read_text()
SPEC = {"workloads": ["oltp_read_write"], "threads": [4], "seconds": 5, "rounds": 3}
ID = "evident"
SECRET = "replicator:s3cr3t-of-the-server"

Files = dict[str, bytes]


# ---------------------------------------------------------------- a campaign with real outputs


def printed(planned: PlannedTrial) -> str:
    """A recorded output whose throughput is another one in each trial, all else alike."""
    count = 2576 + 40 * planned.round + (300 if planned.side == "candidate" else 0)
    line = f"    transactions:                        {count}   ({count / 5.0085:.2f} per sec.)"
    text, lines = re.subn(r"(?m)^    transactions:.*$", line, PRINTED)
    assert lines == 1
    return text


def measured(made: Campaign, planned: PlannedTrial) -> trial.Collected:
    """One trial as it is measured, by a client and samplers that print what was recorded."""

    def program(job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
        if job.startswith("client"):
            return JobStatus("complete", 0), printed(planned)
        return JobStatus("running"), SAMPLED if job.startswith("hosts") else ""

    executor = FakeExecutor(program=program)
    setting = Setting(
        deployment=FakeDeployment(made.plan, executor),
        workload=sysbench,
        dataset=Dataset(tables=4, table_size=10_000),
        client=Client(),
        client_path=None,
        warmup_seconds=0,
        password="",
        gates=quality.of_table(quality.load_all(GATES), "trials"),
        facts=made.facts,
        sides=made.plan.sides,
        environment=made.environment,
    )
    begun = trial.begin(
        setting,
        planned,
        1,
        earlier=None,
        restore=True,
        check_dataset=False,
        repeated=False,
        on_new=lambda: None,
        on_phase=lambda phase: None,
    )
    return trial.collect(setting, planned, begun, on_phase=lambda phase: None)


def keep(store: Store, campaign: str, collected: trial.Collected) -> TrialResult:
    """Store a trial as a campaign at work does."""
    name = f"{campaign}/{collected.result.trial.id}-a1"
    result = dataclasses.replace(
        collected.result,
        raw=store.write_object(f"{name}.txt", collected.raw),
        series=store.write_object(f"{name}.csv", collected.series_csv),
        hosts=store.write_object(f"{name}.hosts.csv", collected.hosts_csv),
    )
    store.add_trial(campaign, result)
    return result


def add_campaign(store: Store, **fields: Any) -> Campaign:
    """The campaign, and five A/A campaigns that tell about its deployments."""
    variables = {"wsrep_sst_auth": SECRET, "strict_password_validation": "ON", "autocommit": "ON"}
    facts = {
        side: testing.side_facts(version, variables={**variables, "version": version})
        for side, version in (("baseline", "10.2.11"), ("candidate", "10.11.5"))
    }
    made = testing.campaign(id=ID, facts=facts, **SPEC, **fields)  # type: ignore[arg-type]
    store.add_campaign(made)
    for planned in made.plan.trials:
        keep(store, ID, measured(made, planned))
    for number in range(5):
        same = testing.campaign(id=f"aa{number}", sides="same", **SPEC)
        store.add_campaign(same)
        noise = testing.known_change({"oltp_read_write": 0.002 * number}, noise=0.004)
        for result in testing.results_of(same.plan, noise):
            store.add_trial(same.id, result)
    return made


def report(store: Store, data_docs: Mapping[str, bytes] | None = None) -> tuple[Files, list[str]]:
    """The published files of the campaign, and the A/A campaigns that calibrate it."""
    made, trials = store.campaign(ID), store.trials(ID)
    languages = made.spec["languages"]
    known = aa_campaigns.calibration_for(store, made)
    outcome = compare.compare(
        made.plan,
        trials,
        made.spec["threshold_pct"],
        inconsistencies(made.facts),
        gates=quality.load_all(GATES),
        calibration=known,
    )
    return report_bundle.make(made, outcome, trials, data_docs, languages), list(known.campaigns)


def bundle_of(store: Store, **options: Any) -> bytes:
    """The evidence bundle of the campaign."""
    published, calibration = report(store, {"index.html": b"<p>gates</p>"})
    return evidence.make(
        store, ID, published, gates=GATES, **{"calibration": calibration, **options}
    )


@pytest.fixture(scope="module", autouse=True)
def _drawn_once() -> Iterator[None]:
    """Charts of equal reports are drawn once in this module: drawing is most of the time."""
    drawn: dict[str, Mapping[str, bytes]] = {}
    draw = report_bundle.charts.draw

    def remembered(report: Report) -> Mapping[str, bytes]:
        points = [
            side.by_round("tps")
            for section in report.sections
            for cell in section.figures.cells
            for side in cell.sides.values()
        ]
        key = f"{report!r} {report.language.code} {points}"
        if key not in drawn:
            drawn[key] = draw(report)
        return drawn[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_bundle.charts, "draw", remembered)
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A store with the campaign in it."""
    home = tmp_path_factory.mktemp("store")
    with Store(f"sqlite:///{home}/results.db", UPath(home / "objects")) as opened:
        add_campaign(opened)
        yield opened


@pytest.fixture(scope="module")
def good(store: Store) -> bytes:
    """A bundle that holds."""
    return bundle_of(store)


@pytest.fixture
def verified(tmp_path: Path) -> Callable[..., Verification]:
    """Verifies the bytes of a bundle."""

    def verify(content: bytes, signers: Path | None = None) -> Verification:
        path = tmp_path / "evidence.zip"
        path.write_bytes(content)
        return evidence.verify(path, signers)

    return verify


def files_of(content: bytes) -> Files:
    """The files of a bundle."""
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def forged(content: bytes, changes: Mapping[str, bytes | None], **fields: Any) -> bytes:
    """A bundle with other files, whose manifest and hashes are those of the changed files."""
    files: dict[str, bytes | None] = {**files_of(content), **changes}
    kept = {name: each for name, each in files.items() if each is not None}
    said = json.loads(kept.pop(manifest.NAME))
    missing = {each["file"]: each["reason"] for each in said["missing"]}
    usual = {"missing": missing, "redacted": said["redacted"], "signed": False, **fields}
    return archive.pack({**kept, manifest.NAME: manifest.make(said["campaign"], kept, **usual)})


def named(found: Verification) -> set[str]:
    """The files that differ."""
    return {difference.file for difference in found.differences}


def the_trial(files: Files, **wanted: Any) -> tuple[list[Any], Any]:
    """All trials as they are written, and the first of them that is meant."""
    trials = json.loads(files["trials.json"])
    return trials, next(t for t in trials if all(t["trial"][k] == v for k, v in wanted.items()))


# ---------------------------------------------------------------- a bundle that holds


def test_a_bundle_holds_and_everything_in_it_is_recomputed(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Each trial from its raw output, and each file of the report from the trials."""
    found = verified(good)
    assert found.differences == ()
    assert (found.holds, found.campaign, found.signature) == (True, ID, "not signed")
    files = files_of(good)
    published = [name for name in files if name.startswith("report/") and "/quality/" not in name]
    assert found.checked["files"] == len(files) - 1
    assert found.checked["report files"] == len(published)
    assert found.checked["raw outputs"] == found.checked["series"] == found.checked["trials"] == 6
    assert found.checked["samples"] == 6 * 9
    assert found.checked["host figures"] == 6 * 12
    assert found.checked["A/A campaigns"] == 5
    assert found.lines()[-1] == "the bundle holds"
    json.dumps(found.to_json(), allow_nan=False)


def test_what_cannot_be_recomputed_is_said(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Data docs and the raw outputs of A/A campaigns; nothing else."""
    notes = verified(good).not_recomputed
    assert len(notes) == 2
    assert "data docs" in notes[0] + notes[1]
    assert "5 A/A campaigns" in notes[0] + notes[1]


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


def test_an_unpacked_bundle_holds_too(good: bytes, tmp_path: Path) -> None:
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


# ---------------------------------------------------------------- secrets


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
    from benchlab.redaction import Redacted

    clean = Redacted().document("x.json", {"origin": "run on mysql://lab:hunter22@db/x"})
    assert clean == {"origin": "run on mysql://lab:(redacted 1)@db/x"}


def test_a_bundle_with_a_secret_in_a_file_is_not_made(store: Store) -> None:
    """The error names the file, and not the secret."""
    with pytest.raises(EvidenceError, match=r"report/report\.md") as raised:
        evidence.make(
            store, ID, {"report.md": b"password: hunter22"}, gates=GATES, secrets=["hunter22"]
        )
    assert "hunter22" not in str(raised.value)


# ---------------------------------------------------------------- changed bytes


@settings(max_examples=60, deadline=None)
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
            if start <= at < start + entry.compress_size:
                assert entry.filename in named(found)
    path.unlink()


def small() -> bytes:
    """A bundle of few bytes, whose every one can be tried."""
    files = {"report/a.txt": b"", "raw/b.txt": b"aaaaaaaaaaaaaaaa"}
    said = manifest.make("c", files, missing={}, redacted=[], signed=False)
    return archive.pack({**files, manifest.NAME: said})


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


def test_a_change_in_a_header_is_told_where_it_is(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """The date of an entry: no content differs, and the entry's file is named."""
    with zipfile.ZipFile(io.BytesIO(good)) as opened:
        entry = opened.getinfo("trials.json")
    flipped = bytearray(good)
    flipped[entry.header_offset + 12] ^= 1
    (difference,) = verified(bytes(flipped)).differences
    assert difference.file == "trials.json"
    assert f"byte {entry.header_offset + 12} of evidence.zip" in difference.found


@pytest.mark.parametrize(
    "name",
    ["manifest.json", "campaign.json", "trials.json", "report/report.md", "gates/validity.yaml"],
)
def test_a_changed_file_of_an_unpacked_bundle_is_named(
    good: bytes, name: str, tmp_path: Path
) -> None:
    """Whichever byte of it; the manifest's own, too."""
    with zipfile.ZipFile(io.BytesIO(good)) as opened:
        opened.extractall(tmp_path / "unpacked")
    content = (tmp_path / "unpacked" / name).read_bytes()
    for at in (0, len(content) // 3, len(content) // 2, len(content) - 1):
        flipped = bytearray(content)
        flipped[at] ^= 1
        (tmp_path / "unpacked" / name).write_bytes(flipped)
        assert name in named(evidence.verify(tmp_path / "unpacked")), at


def test_every_byte_of_an_unpacked_manifest_counts(tmp_path: Path) -> None:
    """It has no archive around it then, and is not signed."""
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


# ---------------------------------------------------------------- changes with new hashes


def test_a_changed_sample_is_found_by_its_raw_output(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Trial, metric, what it says and what was recomputed are named."""
    trials, one = the_trial(files_of(good), side="candidate", round=2)
    sample = next(each for each in one["samples"] if each["metric"] == "tps")
    was, sample["value"] = sample["value"], sample["value"] + 0.01
    (difference,) = verified(forged(good, {"trials.json": as_json(trials)})).differences
    assert difference.file == "trials.json"
    assert difference.where == "r2-candidate-oltp_read_write-t4 (attempt 1): tps"
    assert (float(difference.found), float(difference.recomputed or 0)) == (was + 0.01, was)


def test_a_raw_output_that_was_changed_makes_all_that_follows_differ(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """The stored samples, and the report's figures that were made of them."""
    name = next(
        name for name in files_of(good) if name.endswith("r1-candidate-oltp_read_write-t4-a1.txt")
    )
    text = files_of(good)[name].decode()
    doubled = re.sub(r"transactions: .*", "transactions:     5152   (1028.65 per sec.)", text)
    found = verified(forged(good, {name: doubled.encode()}))
    assert {"trials.json", "report/report.json", "report/report.md"} <= named(found)


def test_changed_pages_are_found_by_rendering_them_again(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Byte by byte, where the same Benchlab wrote them; charts, too."""
    files = files_of(good)
    changes = {
        f"report/{name}": files[f"report/{name}"].replace(old, new, 1)
        for name, old, new in (
            ("report.md", b"improvement", b"improvemend"),
            ("report.html", b"improvement", b"improvemend"),
            ("trials.csv", b"r1-", b"r9-"),
            ("comparison.csv", b"improvement", b"equivalent"),
            ("charts/overview.svg", b"<g", b"<!-- --><g"),
        )
    }
    assert all(content != files[name] for name, content in changes.items())
    assert named(verified(forged(good, changes))) == set(changes)


def test_a_changed_figure_of_a_report_is_named_with_its_place(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """In report.json by key, in Markdown by line."""
    document = json.loads(files_of(good)["report/report.json"])
    document["workloads"][0]["estimate_pct"] *= 1.0001
    text = files_of(good)["report/report.md"].decode()
    figure = re.search(r"estimate \+(\d+\.\d\d)%", text)
    assert figure
    changes = {
        "report/report.json": as_json(document),
        "report/report.md": text.replace(figure[1], "99.99", 1).encode(),
    }
    differences = {each.file: each for each in verified(forged(good, changes)).differences}
    assert differences["report/report.json"].where == "workloads[oltp_read_write].estimate_pct"
    assert differences["report/report.md"].where.startswith("line ")
    assert "99.99" in differences["report/report.md"].found
    assert figure[1] in str(differences["report/report.md"].recomputed)


def test_a_last_digit_that_another_processor_rounds_otherwise_is_no_difference(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Figures at full precision agree to a relative 1e-9; more is a difference."""
    document = json.loads(files_of(good)["report/report.json"])
    document["workloads"][0]["estimate_pct"] *= 1 + 1e-13
    assert verified(forged(good, {"report/report.json": as_json(document)})).holds


def by_another(content: bytes, changes: Mapping[str, bytes | None], **made_with: str) -> bytes:
    """A forged bundle whose manifest says that it was made with something else."""
    other = {**manifest.made_with(), **(made_with or {"source_sha256": "0" * 64})}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest, "made_with", lambda: other)
        return forged(content, changes)


def kinds(found: Verification) -> set[str]:
    """Of what could not be verified."""
    return {each.what for each in found.unverified}


def test_pages_of_another_benchlab_are_not_verified_and_the_figures_are(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Nothing differs, and it does not hold: pages that cannot be compared may be anybody's."""
    text = files_of(good)["report/report.md"].replace(b"##", b"###")
    made_with = {"source_sha256": "0" * 64, "benchlab": "0.0.9"}
    found = verified(by_another(good, {"report/report.md": text}, **made_with))
    assert (found.outcome, found.holds, found.made_with) == ("not verified", False, "0.0.9")
    assert found.differences == ()
    assert found.lines()[-1] == (
        "the bundle is not verified as a whole: nothing differs, but not compared: "
        "pages of another Benchlab (1)"
    )
    assert found.to_json()["outcome"] == "not verified"


def test_what_another_benchlab_made_holds_where_it_is_the_same_byte_for_byte(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """A release that renders as the one before it."""
    assert verified(by_another(good, {})).outcome == "holds"


def test_tables_of_another_benchlab_are_compared_cell_by_cell(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """By the names of the columns, in whatever order; made-up tables and figures differ."""
    files = files_of(good)
    rows = [line.split(",") for line in files["report/comparison.csv"].decode().splitlines()]
    turned = "".join(",".join(row[::-1]) + "\n" for row in rows).encode()
    assert verified(by_another(good, {"report/comparison.csv": turned})).outcome == "holds"
    document = json.loads(files["report/report.json"])
    document["workloads"][0]["verdict"] = "regression"
    changes = {
        "report/report.md": b"All is well.",
        "report/comparison.csv": b"all,is,well\n",
        "report/trials.csv": files["report/trials.csv"].replace(b",true,", b",false,", 1),
        "report/report.json": as_json(document),
    }
    assert named(verified(by_another(good, changes))) == set(changes) - {"report/report.md"}
    assert named(verified(by_another(good, {"report/report.json": b"{}"}))) == {
        "report/report.json"
    }


def test_keys_and_columns_that_only_one_benchlab_writes_are_not_verified(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """More of them, or fewer than this one has; those that every one writes have to be there."""
    files = files_of(good)
    document = json.loads(files["report/report.json"])
    lines = files["report/comparison.csv"].decode().splitlines()
    for key, changed in (
        ("new_key", {**document, "new_key": 1}),
        ("seed", {key: value for key, value in document.items() if key != "seed"}),
    ):
        found = verified(by_another(good, {"report/report.json": as_json(changed)}))
        assert found.outcome == "not verified"
        assert [each for each in found.unverified if f"report.json: {key}: " in each.why]
        assert verified(forged(good, {"report/report.json": as_json(changed)})).differences
    more = "".join(f"{line},{'new' if n == 0 else 1}\n" for n, line in enumerate(lines)).encode()
    assert verified(by_another(good, {"report/comparison.csv": more})).outcome == "not verified"
    del document["workloads"][0]["cells"]
    found = verified(by_another(good, {"report/report.json": as_json(document)}))
    assert [each.where for each in found.differences] == ["workloads[oltp_read_write].cells"]


def test_a_report_of_another_benchlab_has_to_be_there(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Each of the files that every Benchlab writes; one more is not verified."""
    gone = dict.fromkeys(name for name in files_of(good) if name.startswith("report/"))
    wanted = {"report.json", "report.md", "report.html", "trials.csv", "comparison.csv"}
    assert named(verified(by_another(good, gone))) == {f"report/{name}" for name in wanted}
    more = verified(by_another(good, {"report/summary.html": b"All is well."}))
    assert (more.outcome, more.differences) == ("not verified", ())


def test_pictures_that_are_drawn_otherwise_here_are_not_verified(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """By another library: whatever is in them, within a page, too."""
    page = files_of(good)["report/report.html"].replace(b"</svg>", b"<text>well</text></svg>", 1)
    changes = {"report/charts/overview.svg": b"<svg>well</svg>", "report/report.html": page}
    found = verified(by_another(good, changes, matplotlib="0.1"))
    assert (found.outcome, found.differences) == ("not verified", ())
    assert found.lines()[-1].endswith("pictures that are drawn otherwise here (2)")
    wrong = page.replace(b"<h1", b"<h1>well</h1><h1", 1)
    assert named(verified(by_another(good, {"report/report.html": wrong}, matplotlib="0.1"))) == {
        "report/report.html"
    }


def test_a_key_that_is_there_twice_is_a_difference(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """A reader may take the first of its values, and Python takes the last."""
    text = files_of(good)["report/report.json"]
    twice = text.replace(b'"verdict":', b'"verdict": "regression", "verdict":', 1)
    assert twice != text
    for content in (forged(good, {"report/report.json": twice}),
                    by_another(good, {"report/report.json": twice})):  # fmt: skip
        (difference,) = verified(content).differences
        assert (difference.file, "twice" in difference.found) == ("report/report.json", True)


def test_a_table_that_is_no_csv_is_named(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """A quote without its end, in a table of the report and in host samples."""
    hosts = next(name for name in files_of(good) if name.endswith(".hosts.csv"))
    for name in ("report/comparison.csv", hosts):
        content = files_of(good)[name] + b'"x"y\n'
        assert named(verified(forged(good, {name: content}))) == {name}


def test_a_gate_that_the_definitions_do_not_have_is_not_verified(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Whoever words it otherwise takes it out of what is judged again."""
    trials, one = the_trial(files_of(good), side="baseline", round=1)
    one["gates"][0]["sentence"] += " Perhaps."
    found = verified(forged(good, {"trials.json": as_json(trials)}))
    assert "gates of trials that cannot be judged again" in kinds(found)
    assert not found.holds


def test_a_gate_that_was_turned_round_is_found(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """One by the output, and one by its bounds; a trial whose gate fails is not valid."""
    trials, one = the_trial(files_of(good), side="baseline", round=1)
    by_name = {gate["gate"]: gate for gate in one["gates"]}
    by_name["duration"]["observed"] = 0.5
    by_name["server_alive"]["observed"] = 1.0
    found = verified(forged(good, {"trials.json": as_json(trials)}))
    places = [each.where for each in found.differences if each.file == "trials.json"]
    name = "r1-baseline-oltp_read_write-t4 (attempt 1)"
    assert places == [f"{name}: gate duration", f"{name}: gate server_alive", name]


def test_a_trial_that_nobody_planned_is_found(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Another thread count, or one that is there twice."""
    trials, one = the_trial(files_of(good), side="baseline", round=1)
    twice = verified(forged(good, {"trials.json": as_json([*trials, one])}))
    assert "twice" in twice.differences[0].found
    one["trial"]["threads"] = 5
    found = verified(forged(good, {"trials.json": as_json(trials)}))
    assert "plan" in found.differences[0].found


def test_changed_series_and_host_samples_are_found(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """The series by the raw output; what the hosts did by the figures of it."""
    files = files_of(good)
    series = next(n for n in files if n.endswith("t4-a1.csv"))
    hosts = next(n for n in files if n.endswith("t4-a1.hosts.csv"))
    lines = files[hosts].decode().split("\n")
    lines[2] = lines[2].replace("0.", "1.", 3)
    changes = {series: files[series].replace(b".", b"1.", 1), hosts: "\n".join(lines).encode()}
    found = verified(forged(good, changes))
    assert [each.where for each in found.differences if each.file == series] == ["line 2"]
    assert any(": host fake: cpu_" in each.where for each in found.differences)


def test_an_a_a_campaign_that_was_left_out_changes_the_verdict(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """With four of five the deployments are not known, and report.json says that they are."""
    found = verified(forged(good, {"calibration/aa4.json": None}))
    assert "workloads[oltp_read_write].scope" in {each.where for each in found.differences}


def test_an_a_a_campaign_that_must_not_count_is_refused(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """One of another machine is named."""
    other = json.loads(files_of(good)["calibration/aa0.json"])
    other["campaign"]["environment"]["cores"] = "64"
    found = verified(forged(good, {"calibration/aa0.json": as_json(other)}))
    assert "calibration/aa0.json" in named(found)


# ---------------------------------------------------------------- what is missing


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
    assert missing["reason"] == "the object store does not have it: No such file or directory"
    found = verified(content)
    assert (found.outcome, found.differences) == ("not verified", ())
    assert found.checked["raw outputs"] == 5
    assert kinds(found) == {"trials without their raw output"}
    assert f"raw/{gone} is missing" in found.unverified[0].why


def test_what_the_manifest_says_is_missing_is_not_verified(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """All raw outputs and host samples; a series alone follows from the raw output."""
    gone = [name for name in files_of(good) if name.startswith("raw/")]
    for end, told in (
        (".txt", {"trials without their raw output"}),
        (".hosts.csv", {"trials without their host samples"}),
        ("-a1.csv", set()),
    ):
        missing = {name: "lost" for name in gone if name.endswith(end)}
        found = verified(forged(good, dict.fromkeys(missing), missing=missing))
        assert (kinds(found), len(found.unverified)) == (told, 6 if told else 0), end
        assert found.outcome == ("not verified" if told else "holds")


def test_figures_of_hosts_without_samples_are_not_verified(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """A row that names no samples cannot bring its figures."""
    trials, one = the_trial(files_of(good), side="baseline", round=1)
    name, one["hosts"] = one["hosts"], None
    found = verified(forged(good, {"trials.json": as_json(trials), f"raw/{name}": None}))
    assert "trials without their host samples" in kinds(found)


def test_files_that_nothing_names_are_differences(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """In any folder, though the manifest has them; and what is missing of nobody, or is there."""
    for name in ("raw/zzz", "more.txt", "gates/readme.txt"):
        assert named(verified(forged(good, {name: b"x"}))) == {name}
    assert named(verified(forged(good, {}, missing={"raw/zzz": "lost"}))) == {"raw/zzz"}
    there = next(name for name in files_of(good) if name.endswith("-a1.txt"))
    assert there in named(verified(forged(good, {}, missing={there: "lost"})))


def test_a_raw_output_that_was_taken_out_is_a_difference(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Where the manifest does not say that it was missing."""
    name = next(name for name in files_of(good) if name.endswith("-a1.txt"))
    assert name in named(verified(forged(good, {name: None})))


def test_a_campaign_that_is_not_there_is_an_error(store: Store) -> None:
    """No bundle is made of nothing."""
    with pytest.raises(StoreError, match="no campaign"):
        evidence.make(store, "nobody", {}, gates=GATES)


# ---------------------------------------------------------------- signatures


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two keys, and a file of allowed signers for each."""
    home = tmp_path_factory.mktemp("keys")
    for name in ("lab", "other"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(home / name)]
        subprocess.run(command, check=True, timeout=60)
        public = (home / f"{name}.pub").read_text()
        (home / f"{name}.signers").write_text(f"{name}@example.org {public}")
    return home


@pytest.fixture(scope="module")
def signed(store: Store, keys: Path) -> bytes:
    """A bundle that is signed."""
    return bundle_of(store, signing_key=keys / "lab")


def test_a_signed_bundle_names_its_signer(
    signed: bytes, keys: Path, verified: Callable[..., Verification]
) -> None:
    """By the file of allowed signers; without it the key is told and nobody's name."""
    found = verified(signed, keys / "lab.signers")
    assert (found.differences, found.signature) == ((), "signed by lab@example.org")
    unknown = verified(signed)
    assert unknown.holds
    assert "a key that was not looked up" in unknown.signature
    assert "who signed it: give the file of allowed signers" in unknown.not_recomputed


def test_a_bundle_by_somebody_else_or_by_nobody_fails(
    signed: bytes, good: bytes, keys: Path, verified: Callable[..., Verification]
) -> None:
    """Where signers are given it has to be one of them."""
    assert named(verified(signed, keys / "other.signers")) == {"manifest.json.sig"}
    found = verified(good, keys / "lab.signers")
    assert (named(found), found.signature) == ({"manifest.json.sig"}, "not signed")


def test_a_signature_of_another_manifest_fails(
    signed: bytes, keys: Path, verified: Callable[..., Verification]
) -> None:
    """Files that were changed with their manifest cannot keep the signature."""
    taken = files_of(signed)["manifest.json.sig"]
    changed = {**files_of(signed), "report/report.md": b"x"}
    said = changed.pop("manifest.json")
    del changed["manifest.json.sig"]
    again = manifest.make(ID, changed, missing={}, redacted=[], signed=True)
    assert again != said
    content = archive.pack({**changed, "manifest.json": again, "manifest.json.sig": taken})
    for signers in (None, keys / "lab.signers"):
        assert named(verified(content, signers)) == {"manifest.json.sig"}


def test_a_signature_that_was_taken_away_is_missed(
    signed: bytes, verified: Callable[..., Verification]
) -> None:
    """The manifest says that there is one."""
    files = files_of(signed)
    del files["manifest.json.sig"]
    assert named(verified(archive.pack(files))) == {"manifest.json.sig"}


def test_every_changed_byte_of_a_signature_is_found(keys: Path) -> None:
    """Those of its armor, too, that readers pass over."""
    made = signature.sign(b"manifest", keys / "lab")
    assert signature.check(b"manifest", made, None).fault is None
    for at in range(0, len(made), 9):
        flipped = bytearray(made)
        flipped[at] ^= 1
        assert signature.check(b"manifest", bytes(flipped), None).fault is not None, at
    assert signature.check(b"manifest", made + b"\n", None).fault is not None


def test_a_key_that_cannot_sign_is_an_error_that_says_so(store: Store, keys: Path) -> None:
    """One that is not there, and one with a passphrase that nobody is asked for."""
    locked = keys / "locked"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(locked)]
    subprocess.run(command, check=True, timeout=60)
    for key in (keys / "nobody", locked):
        with pytest.raises(EvidenceError, match=f"BENCHLAB_SIGNING_KEY: {key}"):
            signature.sign(b"manifest", key)


def test_without_ssh_keygen_the_error_says_how_to_get_it(
    signed: bytes, keys: Path, verified: Callable[..., Verification], monkeypatch: Any
) -> None:
    """A signer cannot be looked up; without signers the rest is verified and that is said."""
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EvidenceError, match="install OpenSSH's client"):
        verified(signed, keys / "lab.signers")
    found = verified(signed)
    assert found.holds
    assert [note for note in found.not_recomputed if "install OpenSSH's client" in note]


def test_the_key_is_named_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """None: a bundle is not signed."""
    monkeypatch.delenv("BENCHLAB_SIGNING_KEY", raising=False)
    assert evidence.key_of_environment() is None
    monkeypatch.setenv("BENCHLAB_SIGNING_KEY", "/keys/lab")
    assert evidence.key_of_environment() == Path("/keys/lab")


@pytest.fixture(scope="module")
def ecdsa(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key that signs otherwise each time."""
    key = tmp_path_factory.mktemp("ecdsa") / "key"
    command = ["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-C", "", "-f", str(key)]
    subprocess.run(command, check=True, timeout=60)
    return key


def test_a_key_that_signs_otherwise_each_time_is_refused(store: Store, ecdsa: Path) -> None:
    """Every publishing would be another edition; the error names the type and what to give."""
    with pytest.raises(EvidenceError, match=r"type ecdsa-sha2-nistp256 .*\n.*Ed25519 or RSA"):
        evidence.make(store, ID, {}, gates=GATES, signing_key=ecdsa)


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
def test_a_key_that_is_taken_signs_by_the_same_bytes(kind: str, tmp_path: Path) -> None:
    """Twice the same signature, and its type is told by it."""
    key = tmp_path / kind
    command = ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "", "-f", str(key)]
    subprocess.run(command, check=True, timeout=60)
    made = signature.sign(b"manifest", key)
    assert signature.sign(b"manifest", key) == made
    assert signature.key_type(made) == f"ssh-{kind}"


def test_a_key_on_a_token_is_refused(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It signs a counter, too; told by the header of what it signed."""
    kind = b"sk-ssh-ed25519@openssh.com"
    key = len(kind).to_bytes(4) + kind
    blob = b"SSHSIG" + (1).to_bytes(4) + len(key).to_bytes(4) + key
    begin, end = b"-----BEGIN SSH SIGNATURE-----\n", b"-----END SSH SIGNATURE-----\n"
    armored = begin + base64.b64encode(blob) + b"\n" + end
    done = subprocess.CompletedProcess([], 0, armored, b"")
    monkeypatch.setattr(signature, "_ssh_keygen", lambda *_, **__: done)
    with pytest.raises(EvidenceError, match=r"type sk-ssh-ed25519@openssh\.com"):
        signature.sign(b"manifest", keys / "lab")


@pytest.mark.parametrize("inner", [b"", b"SSHSIG", b"SSHSIH" + bytes(12), b"\xff" * 40])
def test_what_is_no_signature_has_no_type(inner: bytes) -> None:
    """Cut, or of another format: an error, and no traceback."""
    with pytest.raises(EvidenceError, match="no signature in the format of OpenSSH"):
        signature.key_type(base64.b64encode(inner))


# ---------------------------------------------------------------- what is printed


HOSTILE = "\x1b[2J\nthe bundle holds\r\u202e\x9b"


def test_what_a_bundle_says_cannot_reach_the_terminal(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Neither as an escape, nor as a line of its own, nor as half a character."""
    trials, one = the_trial(files_of(good), side="baseline", round=1)
    one["samples"][0]["metric"] = HOSTILE
    gone = [name for name in files_of(good) if name.endswith("-a1.txt")]
    for content in (
        forged(good, {"trials.json": as_json(trials)}),
        forged(good, {}, missing={f"raw/{HOSTILE}": HOSTILE}),
        forged(good, dict.fromkeys(gone), missing=dict.fromkeys(gone, HOSTILE)),
    ):
        lines = verified(content).lines()
        assert [line for line in lines if "\\u202e" in line]
        assert "the bundle holds" not in lines
        assert all(line.isprintable() for line in lines)


def test_half_a_character_is_printed_by_its_number(tmp_path: Path) -> None:
    """In a file's name that is no UTF-8, and in whatever a line is made of."""
    (tmp_path / manifest.NAME).write_bytes(files_of(small())[manifest.NAME])
    (tmp_path / os.fsdecode(b"a\xff")).write_bytes(b"")
    text = "\n".join(evidence.verify(tmp_path).lines())
    assert "a\\udcff" in text
    difference = Difference("\ud800", HOSTILE)
    found = Verification("\ud800", "\ud800", None, "\ud800", {}, (difference,), (), ("\ud800",))
    lines = found.lines()
    assert (len(lines), lines[-1]) == (5, "the bundle does not hold")
    assert all(line.isprintable() for line in lines)


def test_letters_that_a_terminal_does_not_have_are_written_by_their_numbers(
    tmp_path: Path,
) -> None:
    """Whatever it can show, the outcome is printed, and its exit code is given."""
    path = tmp_path / "测试.zip"
    path.write_bytes(small())
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(
        [PROGRAM, "verify", path], env=environment, capture_output=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (1, b"")
    assert rb"\u6d4b\u8bd5.zip: evidence of c" in done.stdout
    assert done.stdout.endswith(b"the bundle does not hold\n")
    as_document = CliRunner().invoke(cli_reports.app, ["verify", str(path), "--json"])
    assert as_document.stdout.isascii()
    document = json.loads(as_document.stdout)
    assert (document["bundle"], document["outcome"]) == (str(path), "differs")


def test_each_outcome_has_its_exit_code(good: bytes, tmp_path: Path) -> None:
    """0 holds, 1 differs, 2 not verified as a whole."""
    text = files_of(good)["report/report.md"] + b"\n"
    for code, content in (
        (0, good),
        (1, forged(good, {"report/report.md": text})),
        (2, by_another(good, {"report/report.md": text})),
    ):
        path = tmp_path / f"{code}.zip"
        path.write_bytes(content)
        assert CliRunner().invoke(cli_reports.app, ["verify", str(path)]).exit_code == code


# ---------------------------------------------------------------- wild bundles


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


def test_a_small_archive_of_much_is_not_packed_again_to_say_where_it_changed(
    good: bytes, verified: Callable[..., Verification], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it changed is said; memory has an end."""
    with zipfile.ZipFile(io.BytesIO(good)) as opened:
        entry = opened.getinfo("trials.json")
        unpacked = sum(each.file_size for each in opened.infolist())
    assert len(good) < unpacked
    flipped = bytearray(good)
    flipped[entry.header_offset + 12] ^= 1
    for limit, told in ((unpacked, "trials.json"), (unpacked - 1, "evidence.zip")):
        monkeypatch.setattr(archive, "MAX_LOCATED_BYTES", limit)
        assert named(verified(bytes(flipped))) == {told}


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
def test_what_is_no_bundle_is_told_so(
    content: bytes, verified: Callable[..., Verification]
) -> None:
    """An empty file, a text, an archive without files."""
    assert not verified(content).holds


def test_a_bundle_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """It says what to give."""
    with pytest.raises(EvidenceError, match=r"give the evidence\.zip"):
        evidence.verify(tmp_path / "nothing.zip")
    with pytest.raises(EvidenceError, match="no such file of allowed signers"):
        signature.check(b"", None, tmp_path / "nobody")


@pytest.mark.parametrize(
    "broken",
    [b"", b"{", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"value": NaN}', b'{"n": 1e999}'],
)
@pytest.mark.parametrize("name", ["campaign.json", "trials.json", "calibration/aa0.json"])
def test_a_broken_document_is_named(
    good: bytes, name: str, broken: bytes, verified: Callable[..., Verification]
) -> None:
    """No JSON, JSON of another shape, too deep: a difference, and no traceback."""
    if (name, broken) == ("trials.json", b"[]"):
        broken = b"[{}]"  # none at all is well-formed
    found = verified(forged(good, {name: broken}))
    assert [each.file for each in found.differences] == [name]
    assert name not in found.differences[0].found


def test_rows_without_sense_are_noted_at_their_file(
    good: bytes, verified: Callable[..., Verification], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is raised on a trial is its row's fault, and on an A/A campaign its file's."""

    def senseless(*_: object) -> None:
        raise ZeroDivisionError("of nothing")

    with monkeypatch.context() as patch:
        patch.setattr(aa_campaigns, "can_calibrate", senseless)
        assert {f"calibration/aa{n}.json" for n in range(5)} <= named(verified(good))
    monkeypatch.setattr(Recomputation, "trial", senseless)
    found = verified(good)
    of_rows = {each.where for each in found.differences if each.file == "trials.json"}
    assert of_rows == {
        f"r{number}-{side}-oltp_read_write-t4 (attempt 1)"
        for number in (1, 2, 3)
        for side in ("baseline", "candidate")
    }


def test_rounds_without_trials_are_refused(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """No memory is taken for what a plan has no trials for."""
    document = json.loads(files_of(good)["campaign.json"])
    document["plan"]["rounds"] = 10**12
    (difference,) = verified(forged(good, {"campaign.json": as_json(document)})).differences
    assert "rounds, with 6 trials" in difference.found


@pytest.mark.parametrize("broken", [b"\xff", b"- id: x", b"[" * 400, b"a: &a [*a]", b"- 1"])
def test_broken_definitions_of_gates_are_named(
    good: bytes, broken: bytes, verified: Callable[..., Verification]
) -> None:
    """Whatever YAML has."""
    found = verified(forged(good, {"gates/validity.yaml": broken}))
    assert named(found) == {"gates/validity.yaml"}
    assert "gates/validity.yaml" not in found.differences[0].found


def test_a_gate_of_two_files_is_noted_at_one_of_them(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Which of them judges nobody knows."""
    same = {"gates/zzz.yaml": files_of(good)["gates/validity.yaml"]}
    (difference,) = verified(forged(good, same)).differences
    assert (difference.file, "gates/validity.yaml, too" in difference.found) == (*same, True)


def test_a_broken_manifest_is_named(good: bytes, verified: Callable[..., Verification]) -> None:
    """Of no shape, of a later format, not canonical, or with another hash of itself."""
    files = files_of(good)
    said = json.loads(files["manifest.json"])
    for broken, told in (
        (b"[" * 100_000, "not a manifest"),
        (b"{}", "not a manifest"),
        (as_json({**said, "format": 99}), "update Benchlab"),
        (as_json({**said, "campaign": "other"}), "changed"),
        (
            files["manifest.json"].replace(b'"campaign": "evident"', b'"campaign": "evidenu"'),
            "SHA-256",
        ),
    ):
        (first, *_) = verified(archive.pack({**files, "manifest.json": broken})).differences
        assert first.file == "manifest.json"
        assert told in first.found


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_rows_that_make_no_sense_are_no_traceback(
    good: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any value of any row is another one, with new hashes: it is told, or is no matter."""
    name = data.draw(st.sampled_from(["campaign.json", "trials.json", "calibration/aa0.json"]))
    document = json.loads(files_of(good)[name])
    place: Any = document
    while True:
        key = data.draw(
            st.sampled_from(sorted(place))
            if isinstance(place, dict)
            else st.integers(0, len(place) - 1)
        )
        if not isinstance(place[key], dict | list) or not place[key]:
            break
        place = place[key]
    place[key] = data.draw(
        st.sampled_from([None, 0, -1, 10**30, 1e300, "", "x", "nan", [], {}, True, [1], {"a": 1}])
    )
    path = tmp_path_factory.mktemp("wild", numbered=True) / "evidence.zip"
    path.write_bytes(forged(good, {name: as_json(document)}))
    json.dumps(evidence.verify(path).to_json(), allow_nan=False)
    path.unlink()


def as_json(document: Any) -> bytes:
    """A document as bytes."""
    return json.dumps(document, indent=1, ensure_ascii=False).encode()
