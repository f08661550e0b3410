"""A campaign with real outputs, its evidence bundle, and forgeries of it."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.analysis.gates import gates
from benchlab.analysis.verdict.compare import Comparison
from benchlab.campaign import trial
from benchlab.campaign.deployment import TrialSetup
from benchlab.campaign.outcome import Comparer
from benchlab.home import Home
from benchlab.hosts.executor import JobStatus
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import SIDES
from benchlab.report import bundle as report_bundle
from benchlab.report import evidence, gate_files
from benchlab.report.evidence import Verification, contents
from benchlab.results.records import Campaign, TrialResult
from benchlab.results.store import Store
from benchlab.workloads import workload_of
from tests.builders import campaigns, splits
from tests.builders.fakes import FakeDeployment, FakeExecutor

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
GATES = ROOT / "configs" / "quality"
PRINTED = (GOLDEN / "sysbench" / "sysbench_read_write_t4.txt").read_text()
SAMPLED = (GOLDEN / "hosts" / "read_write_t4.txt").read_text()
SPEC: dict[str, Any] = {"workloads": ["oltp_read_write"], "threads": [4], "seconds": 5, "rounds": 3}
ID = "evident"
SECRET = "replicator:s3cr3t-of-the-server"
Files = dict[str, bytes]


def printed(planned: PlannedTrial) -> str:
    """A recorded output whose throughput is another one in each trial, all else alike."""
    count = 2576 + 40 * planned.round + (300 if planned.side == "candidate" else 0)
    line = f"    transactions:                        {count}   ({count / 5.0085:.2f} per sec.)"
    text, lines = re.subn(r"(?m)^    transactions:.*$", line, PRINTED)
    assert lines == 1
    return text


def measured(
    made: Campaign, planned: PlannedTrial, client: Callable[[PlannedTrial], str] = printed
) -> trial.Collected:
    """One trial as it is measured, by samplers that print what was recorded.

    Args:
        client: what the client prints; by default what was recorded as well.
    """

    def program(job: str, command: Sequence[str]) -> tuple[JobStatus, str]:
        if job.startswith("client"):
            return JobStatus("complete", 0), client(planned)
        return JobStatus("running"), SAMPLED if job.startswith("hosts") else ""

    executor = FakeExecutor(program=program)
    setup = TrialSetup(
        FakeDeployment(made.plan, executor),
        made,
        workload_of(made.report_type),
        "",
        gates.of_table(gate_files.load_all(GATES), "trials"),
    )
    begun = trial.begin(
        setup,
        planned,
        1,
        earlier=None,
        restore=True,
        check_dataset=False,
        repeated=False,
        on_new=lambda: None,
        on_phase=lambda phase: None,
    )
    return trial.collect(setup, planned, begun, on_phase=lambda phase: None)


def keep(store: Store, campaign: str, collected: trial.Collected) -> TrialResult:
    """Store a trial as a campaign at work does."""
    name = f"{campaign}/{collected.result.trial.id}-a1"
    result = dataclasses.replace(
        collected.result,
        raw=store.write_bytes(f"{name}.txt", collected.raw.encode()),
        series=store.write_bytes(f"{name}.csv", collected.series_csv.encode()),
        hosts=store.write_bytes(f"{name}.hosts.csv", collected.hosts_csv.encode()),
    )
    if collected.counts_csv:
        kept = store.write_bytes(f"{name}.counts.csv", collected.counts_csv.encode())
        result = dataclasses.replace(result, counts=kept)
    store.add_trial(campaign, result)
    return result


def add_campaign(store: Store, **fields: Any) -> Campaign:
    """The campaign, and five A/A campaigns that show how its deployments differ."""
    variables = {"wsrep_sst_auth": SECRET, "strict_password_validation": "ON", "autocommit": "ON"}
    facts = {
        side: campaigns.side_facts(version, variables={**variables, "version": version})
        for side, version in zip(SIDES, ("10.2.11", "10.11.5"), strict=True)
    }
    made = campaigns.campaign(id=ID, facts=facts, **SPEC | fields)
    store.add_campaign(made)
    for planned in made.plan.trials:
        keep(store, ID, measured(made, planned))
    for number in range(5):
        same = campaigns.campaign(id=f"aa{number}", sides="same", **SPEC)
        store.add_campaign(same)
        noise = campaigns.known_change({"oltp_read_write": 0.002 * number}, noise=0.004)
        for result in campaigns.results_of(same.plan, noise):
            store.add_trial(same.id, result)
    return made


def report(store: Store) -> tuple[Files, Comparison]:
    """The published files of the campaign, and its comparison."""
    made, trials = store.campaign(ID), store.trials(ID)
    languages = made.report_type.languages
    outcome = Comparer(Home(ROOT, ROOT), store).outcome(made).comparison
    published = report_bundle.make(made, outcome, trials, languages, read_object=store.read_bytes)
    return published, outcome


def bundle_of(store: Store, **options: Any) -> bytes:
    """The evidence bundle of the campaign."""
    published, comparison = report(store)
    return evidence.make(store, ID, published, gates=GATES, comparison=comparison, **options)


def counted_bundle(folder: Path) -> bytes:
    """The bundle of a campaign whose trials have counts: 90 % of the server's CPU in each."""
    made = campaigns.campaign(id=ID, **SPEC)
    _, rows = splits.busy_with(made.plan, lambda _: {"server_cpu": 90.0}, lambda trial: trial.round)
    with Store(f"sqlite:///{folder}/results.db", UPath(folder / "objects")) as store:
        store.add_campaign(made)
        for planned, content in zip(made.plan.trials, rows.values(), strict=True):
            counted = dataclasses.replace(measured(made, planned), counts_csv=content.decode())
            keep(store, ID, counted)
        return bundle_of(store)


def files_of(content: bytes) -> Files:
    """The files of a bundle."""
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def forged(content: bytes, changes: Mapping[str, bytes | None]) -> bytes:
    """A bundle with other files, whose manifest and hashes are those of the changed files."""
    files: dict[str, bytes | None] = {**files_of(content), **changes}
    kept = {name: written for name, written in files.items() if written is not None}
    said = json.loads(kept.pop(contents.MANIFEST))
    return contents.packed(said["campaign"], kept, said["redacted"])


def named(found: Verification) -> set[str]:
    """The files that differ."""
    return {difference.file for difference in found.differences}


def the_trial(files: Files, **wanted: Any) -> tuple[list[Any], Any]:
    """All trials as they are written, and the first of them that is meant."""
    trials = json.loads(files["trials.json"])
    return trials, next(t for t in trials if all(t["trial"][k] == v for k, v in wanted.items()))


def by_another(content: bytes, changes: Mapping[str, bytes | None], **made_with: str) -> bytes:
    """A forged bundle whose manifest says that it was made with something else."""
    other = {**contents.made_with(), **(made_with or {"source_sha256": "0" * 64})}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contents, "made_with", lambda: other)
        return forged(content, changes)


def as_json(document: Any) -> bytes:
    """A document as bytes."""
    return json.dumps(document, indent=1, ensure_ascii=False).encode()
