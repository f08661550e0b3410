"""The repro kit of a bundle: what measures a pair of trials again, and that it is checked, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.analysis.verdict.compare import Comparison, compare
from benchlab.plan.report_type import SIDES
from benchlab.report.evidence import Verification, kit
from benchlab.results import diagnosis
from benchlab.results.diagnosis import Diagnosis, Taken
from benchlab.results.records import Campaign
from benchlab.results.store import Store
from tests.builders import campaigns
from tests.builders.evidence import (
    ID,
    SECRET,
    add_campaign,
    bundle_of,
    counted_bundle,
    files_of,
    forged,
    named,
)

README, COUNTS = "reproduce/README.md", "reproduce/counts.csv"
POINT, INDEX = "oltp_point_select", "oltp_update_index"


def compared(made: Campaign, **changes: Any) -> Comparison:
    """What a campaign shows whose candidate changed by so much, by workload."""
    results = campaigns.results_of(made.plan, campaigns.known_change(changes, 0.002))
    return compare(made.plan, results, 2.0)


def test_the_kit_says_how_one_pair_was_measured(good: bytes) -> None:
    """Versions, dataset and commands, with the thread count as it was; no password, no address."""
    page = files_of(good)[README].decode()
    assert "# Reproduce: Read Write, 4 threads" in page
    assert "| version | 10.2.11 | 10.11.5 |" in page
    assert "skip-name-resolve" in page
    assert "4 tables of 10,000 rows" in page
    command = page[page.rindex("sysbench oltp_read_write") :]
    for option in ("--threads=4", "--time=5", "--mysql-host=$host", "--config-file=$config_file"):
        assert option in command
    assert f"raw/{ID}" not in page
    assert f"`{ID}/r1-baseline-oltp_read_write-t4-a1.txt`" in page
    assert f"benchlab reproduce {ID}" in page
    assert SECRET not in page


def test_builds_are_named_by_hash_and_by_where_they_came_from() -> None:
    """So that whoever has the kit knows what to look for."""
    build = {"source": "https://builds.example/{commit}/server", "commit": "5c91a2b"}
    side = {"version": "10.11.5", "builds": {"mariadb": {**build, "sha256": "a" * 64}}}
    engines = {"mariadb": {"baseline": {"version": "10.11.5"}, "candidate": side}}
    made = campaigns.campaign(engines=engines)
    results = campaigns.results_of(made.plan)
    files = kit.files(made, results, compared(made), lambda name: b"")
    page = files[kit.README].decode()
    came = f"sha256 {'a' * 64}, commit 5c91a2b, from https://builds.example/5c91a2b/server"
    assert f"| build of mariadb | n/a | {came} |" in page
    assert kit.COUNTS not in files


def test_what_diagnosis_kept_is_named_in_the_kit(
    tmp_path: Path, verified: Callable[..., Verification]
) -> None:
    """Each file once in the bundle; one that was removed since does not stop a publication."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        add_campaign(store)
        names = [f"{ID}/diagnosis/{name}" for name in ("r1/tidb-1.pb.gz", "statements.json")]
        store.write_bytes(names[0], b"profile")
        looks = dict(zip(("tidb-1.pb.gz", "statements.json"), names, strict=True))
        taken = Taken(POINT, "cpu", 1, "baseline", 4, 9.0, 10.0, looks)
        store.add_to_environment(ID, diagnosis.KEY, diagnosis.as_text(Diagnosis((taken,))))
        content = bundle_of(store)
    files = files_of(content)
    assert [name for name in files if name.endswith("tidb-1.pb.gz")] == [f"raw/{names[0]}"]
    assert f"- `../raw/{names[0]}`\n".encode() in files[README]
    assert verified(content).outcome == "holds", verified(content).lines()


def test_a_forged_kit_is_found(tmp_path: Path, verified: Callable[..., Verification]) -> None:
    """Another version, another command, another count: what is said is computed again."""
    good = counted_bundle(tmp_path)
    assert verified(good).outcome == "holds"
    files = files_of(good)
    assert files[COUNTS].decode().startswith(f"count,role,unit,{','.join(SIDES)}\n")
    assert "server_cpu" in files[COUNTS].decode()
    for name, old, new in ((README, b"10.11.5", b"10.11.6"), (COUNTS, b"90.0", b"91.0")):
        changed = {name: files[name].replace(old, new)}
        assert changed[name] != files[name]
        assert named(verified(forged(good, changed))) == {name}


def test_the_cell_is_that_of_the_strongest_change() -> None:
    """A change that a verdict calls one; of two, the larger; of what is asked for, that."""
    made = campaigns.campaign(rounds=4, deployments=4)
    found = kit.strongest(compared(made, **{POINT: -0.05, INDEX: 0.2}))
    assert found is not None
    assert (found.workload, found.metric.name) == (INDEX, "tps")
    only = kit.strongest(compared(made, **{POINT: -0.05, INDEX: 0.2}), POINT, 8)
    assert only is not None
    assert (only.workload, only.threads) == (POINT, 8)
    assert kit.strongest(compared(made), threads=5) is None


def test_of_a_workload_the_thread_count_that_moved_furthest_that_way() -> None:
    """One that moved the other way shows less of the change, however far it moved."""
    made = campaigns.campaign(rounds=4, deployments=4, threads=[4, 8, 16])
    factor = {4: 0.8, 8: 0.7, 16: 1.5}
    results = campaigns.results_of(
        made.plan,
        lambda trial: (
            1000.0 * (factor[trial.threads] if trial.side == "candidate" else 1.0)
            if trial.workload == INDEX
            else 1000.0
        ),
    )
    found = kit.strongest(compare(made.plan, results, 2.0), INDEX)
    assert found is not None
    assert found.threads == 8


@pytest.mark.parametrize("fields", [{"sides": "single"}, {}], ids=["one-version", "no-pair"])
def test_there_is_no_kit_without_a_pair(fields: dict[str, Any]) -> None:
    """Neither of a campaign of one version, nor of one without valid trials."""
    if fields:
        one = {"mariadb": {"baseline": {"version": "10.2.11"}}}
        fields = {**fields, "engines": one}
    made = campaigns.campaign(**fields)
    results = campaigns.results_of(made.plan) if fields else []
    comparison = compare(made.plan, results, 2.0)
    assert kit.files(made, results, comparison, lambda name: b"") == {}
