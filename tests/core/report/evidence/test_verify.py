"""A bundle forged with new hashes: rows, raw outputs, gates, A/A campaigns."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from upath import UPath

from benchlab.analysis.verdict import aa_campaigns
from benchlab.report import evidence
from benchlab.report.evidence import Verification
from benchlab.report.evidence.verify import Recomputation
from benchlab.report.model import profiles
from benchlab.results import diagnosis, ended_servers
from benchlab.results.diagnosis import Diagnosis, Taken
from benchlab.results.records import GateResult
from benchlab.results.store import Store
from tests.builders import campaigns
from tests.builders.compared_profiles import found as found_profiles
from tests.builders.evidence import (
    ID,
    SPEC,
    add_campaign,
    as_json,
    bundle_of,
    counted_bundle,
    files_of,
    forged,
    named,
    the_trial,
)


def test_a_changed_sample_is_found_by_its_raw_output(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Trial, metric, what it says and what was recomputed are named."""
    trials, one = the_trial(files_of(good), side="candidate", round=2)
    sample = next(each for each in one["samples"] if each["metric"] == "tps")
    was, sample["value"] = sample["value"], sample["value"] + 0.01
    (difference,) = verified(forged(good, {"trials.json": as_json(trials)})).differences
    assert difference.file == "trials.json"
    assert difference.where == "r2-candidate-oltp_read_write-t4 (attempt 1).samples[tps].value"
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


def test_a_gate_that_the_definitions_do_not_have_is_not_verified(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """Whoever words it otherwise takes it out of what is judged again."""
    trials, one = the_trial(files_of(good), side="baseline", round=1)
    one["gates"][0]["own"] = "it is so, perhaps"
    found = verified(forged(good, {"trials.json": as_json(trials)}))
    assert any("as gates/ defines it" in why for why in found.unverified)
    assert found.outcome != "holds"


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
    assert places == [
        f"{name}.valid",
        f"{name}.reasons",
        f"{name}.gates[duration].observed",
        f"{name}.gates[server_alive].status",
    ]


def test_what_only_a_host_knew_of_an_invalid_trial_is_no_difference(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """How a server ended."""
    trials, one = the_trial(files_of(good), side="baseline", round=1)
    by_name = {gate["gate"]: gate for gate in one["gates"]}
    by_name["server_alive"] |= {"observed": 1.0, "status": "fail"}
    by_name["clock"] |= {"observed": 12.0, "status": "fail"}
    failed = (GateResult(**by_name[name]).why for name in ("server_alive", "clock"))
    killed = ended_servers.ended("tikv", "kv-1", ended_servers.by_exit_code(137), [])
    one["valid"] = False
    one["reasons"] = [dataclasses.asdict(why) for why in (*failed, killed)]

    def differing() -> list[str | None]:
        found = verified(forged(good, {"trials.json": as_json(trials)}))
        return [each.where for each in found.differences if each.file == "trials.json"]

    assert differing() == []
    one["reasons"][-1] = "the server was tired"
    assert differing() == ["r1-baseline-oltp_read_write-t4 (attempt 1).reasons"]


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
    assert [each.where for each in found.differences if each.file == series] == ["row 2.t"]
    assert any(".host_figures[fake].figures.cpu_" in each.where for each in found.differences)


def test_an_a_a_campaign_that_was_left_out_changes_the_verdict(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """With four of five the interval is another one."""
    found = verified(forged(good, {"calibration/aa4.json": None}))
    assert "workloads[oltp_read_write].ci95_pct[0]" in {each.where for each in found.differences}


def test_an_a_a_campaign_that_must_not_count_is_refused(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """One of another machine is named."""
    other = json.loads(files_of(good)["calibration/aa0.json"])
    other["campaign"]["environment"]["cores"] = "64"
    found = verified(forged(good, {"calibration/aa0.json": as_json(other)}))
    assert "calibration/aa0.json" in named(found)


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bundle of a campaign of two deployments, after four others of two versions."""
    home = tmp_path_factory.mktemp("taught")
    with Store(f"sqlite:///{home}/results.db", UPath(home / "objects")) as store:
        add_campaign(store, rounds=4, deployments=2)
        for number in range(4):
            other = campaigns.campaign(id=f"e{number}", **SPEC | {"rounds": 4, "deployments": 2})
            began = other.started_at - timedelta(days=7 * (number + 1))
            ended = began + timedelta(hours=1)
            store.add_campaign(dataclasses.replace(other, started_at=began, ended_at=ended))
            change = campaigns.known_change({"oltp_read_write": 0.05 * number}, noise=0.004)
            for result in campaigns.results_of(other.plan, change):
                store.add_trial(other.id, result)
        return bundle_of(store)


def test_campaigns_that_taught_a_verdict_are_in_its_bundle(
    taught: bytes, verified: Callable[..., Verification]
) -> None:
    """The verdict is computed again by them; without one of them it is another one."""
    found = verified(taught)
    assert (found.outcome, found.checked["campaigns before"]) == ("holds", 4)
    less = verified(forged(taught, {"calibration/e3.json": None}))
    assert "workloads[oltp_read_write].ci95_pct[0]" in {each.where for each in less.differences}


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"ended_at": "2031-01-01T00:00:00+00:00"}, "had not ended when this one began"),
        ({"environment": {"dataset": "new snapshot"}}, "restored its data from a dataset snapshot"),
        ({"state": "failed"}, "it does not show how deployments differ"),
    ],
)
def test_a_campaign_that_must_not_teach_is_refused(
    taught: bytes, verified: Callable[..., Verification], changed: dict[str, Any], why: str
) -> None:
    """It is named, with the reason."""
    other = json.loads(files_of(taught)["calibration/e0.json"])
    other["campaign"] |= changed
    found = verified(forged(taught, {"calibration/e0.json": as_json(other)}))
    (said,) = [str(each) for each in found.differences if each.file == "calibration/e0.json"]
    assert why in said


def test_figures_of_hosts_without_samples_are_not_verified(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """A row that names no samples cannot bring its figures."""
    trials, one = the_trial(files_of(good), side="baseline", round=1)
    name, one["hosts"] = one["hosts"], None
    found = verified(forged(good, {"trials.json": as_json(trials), f"raw/{name}": None}))
    trial = "r1-baseline-oltp_read_write-t4 (attempt 1)"
    assert f"{trial}: without its host samples" in found.unverified


def test_files_that_nothing_names_are_differences(
    good: bytes, verified: Callable[..., Verification]
) -> None:
    """In any folder, though the manifest has them."""
    for name in ("raw/zzz", "more.txt", "gates/readme.txt"):
        assert named(verified(forged(good, {name: b"x"}))) == {name}


@pytest.mark.parametrize(
    "broken",
    [b"", b"{", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"value": NaN}', b'{"n": 1e999}'],
)
@pytest.mark.parametrize("name", ["campaign.json", "trials.json", "calibration/aa0.json"])
def test_a_broken_document_is_named(
    good: bytes, name: str, broken: bytes, verified: Callable[..., Verification]
) -> None:
    """No JSON, JSON of another shape, JSON too deep: a difference, and no traceback."""
    if (name, broken) == ("trials.json", b"[]"):
        broken = b"[{}]"  # none at all is well-formed
    found = verified(forged(good, {name: broken}))
    assert name in named(found)
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
    assert (difference.file, "also in gates/validity.yaml" in difference.found) == (*same, True)


@settings(max_examples=15)
@given(data=st.data())
def test_rows_that_make_no_sense_are_no_traceback(
    good: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any value of any row is another one, with new hashes: it is reported, or does not matter."""
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


def test_where_the_time_went_is_computed_again_from_the_counts(
    tmp_path: Path, verified: Callable[..., Verification]
) -> None:
    """A bundle holds with its counts, and no longer with others: the report's split differs."""
    first = campaigns.campaign(id=ID, **SPEC).plan.trials[0]
    name = f"raw/{ID}/{first.id}-a1.counts.csv"
    good = counted_bundle(tmp_path)
    assert verified(good).outcome == "holds"
    files = files_of(good)
    (workload,) = json.loads(files["report/report.json"])["workloads"]
    assert workload["split"]["rounds"] == 3
    found = verified(forged(good, {name: files[name].replace(b"90.0", b"91.0")}))
    assert "report/report.json" in named(found)
    assert any("split" in difference.where for difference in found.differences)


def test_what_diagnosis_found_is_in_the_bundle_and_makes_the_same_pages(
    tmp_path: Path, verified: Callable[..., Verification]
) -> None:
    """Raw profiles as well; a changed one is found, for its hash is another."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        add_campaign(store)
        where = f"{ID}/diagnosis/oltp_read_write"
        raw = store.write_bytes(f"{where}/cpu-1-baseline/tidb-server.pb.gz", b"raw")
        kept = profiles.to_json({"tidb": found_profiles()})
        names = {profiles.file_name("cpu"): store.write_bytes(f"{where}/profiles-cpu.json", kept)}
        taken = Taken(
            *("oltp_read_write", "cpu", 1, "baseline", 4, 9.0, 1.0), {"tidb-server.pb.gz": raw}
        )
        known = Diagnosis((taken,), {"oltp_read_write": names}, ended=True)
        store.add_to_environment(ID, diagnosis.KEY, diagnosis.as_text(known))
        content = bundle_of(store)
    files = files_of(content)
    assert files[f"raw/{raw}"] == b"raw"
    assert b"Which functions" in files["report/report.md"]
    found = verified(content)
    assert found.outcome == "holds", found.lines()
    assert "not checked: what diagnosis trials found: no verdict rests on it" in found.lines()
    other = profiles.to_json({"tidb": "lost"})
    changed = verified(forged(content, {f"raw/{where}/profiles-cpu.json": other}))
    assert "report/report.json" in named(changed)
