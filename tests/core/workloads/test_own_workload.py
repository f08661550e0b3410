"""A workload with a dataset and a metric of its own is one file in `configs/workloads`."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest
from upath import UPath

from benchlab import workloads
from benchlab.campaign.outcome import Comparer
from benchlab.home import Home
from benchlab.language import load
from benchlab.plan.fields import dataset
from benchlab.plan.order import PlannedTrial
from benchlab.report import bundle
from benchlab.report.model import report as model
from benchlab.report.validation import run as run_validation
from benchlab.report.validation import tables
from benchlab.results.store import Store
from benchlab.site import page as site_page
from benchlab.site import trial as trial_page
from tests.builders import campaigns, plans
from tests.builders.evidence import keep, measured
from tests.machine import PROJECT

NAME = "read_documents"
WORKLOAD = '''
"""Reads documents by their number."""

from dataclasses import dataclass
import re
from typing import Annotated, ClassVar

from pydantic import Field

from benchlab.plan.fields.dataset import Dataset
from benchlab.plan.metric import LATENCY, THROUGHPUT, Metric
from benchlab.workloads.client import Program
from benchlab.workloads.output import Interval, Output


class Documents(Dataset):
    documents: Annotated[int, Field(ge=1, le=1_000_000, title="Documents")]
    ROW_BYTES: ClassVar = 9_000

    @property
    def rows_by_table(self):
        return {"document": self.documents}

    @property
    def said(self):
        return f"{self.documents:,} documents"


@dataclass(frozen=True, slots=True)
class Second(Interval):
    docs: float | None = None


@dataclass(frozen=True, kw_only=True)
class Reads(Output):
    SERIES: ClassVar = ("t", "docs")
    docs: float | None = None
    p90_ms: float | None = None

    def samples(self):
        return {"docs": self.docs, "p90_ms": self.p90_ms, "cache_pct": 97.0}

    def columns(self, threads, dataset):
        return {}

    def unexpected_errors(self, expected):
        return 0.0

    def summary_json(self):
        return self.samples()


NAMES = ("read_documents",)
READ_ONLY = frozenset(NAMES)
DATASET = Documents
DATABASE = "library"
TOOL = "reader"
METRICS = (
    Metric("docs", "1/s", "documents", THROUGHPUT, "table"),
    Metric("p90_ms", "ms", "p90 wait", LATENCY, "table", less_is_better=True, step=0.001),
    Metric("cache_pct", "%", "cache hits"),
)
PROGRAMS = (Program("reader", ("reader",), ("--version",), r"reader (.+)", "reader {}"),)


def prepare_command(session):
    return ["reader", "load", str(session.dataset.documents)]


def run_command(workload, session, *, seconds, ignore_errors=()):
    return ["reader", "read", str(seconds)]


def parse(text):
    found = re.search(r"documents/s: (\\S+), p90: (\\S+) ms", text)
    if found is None:
        return Reads(status="failed", reasons=("no summary",))
    docs, p90 = map(float, found.groups())
    series = [Second(t=float(t), tps=docs, errors_per_s=0.0, docs=docs) for t in range(1, 5)]
    return Reads(status="complete", reasons=(), docs=docs, p90_ms=p90, tps=docs, duration_s=4.0,
                 transactions=int(4 * docs), errors=0, series=series)
'''
REPORT = f"""
report: documents
title: Documents
target: local
engine: mariadb
engines: {{mariadb: {{baseline: {{version: 10.2.11}}, candidate: {{version: 10.11.5}}}}}}
dataset: {{documents: 4000}}
workloads: [{NAME}]
threads: [4]
rounds: 3
seconds: 4
warmup_seconds: 1
restore: never
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An installation with the workload, and a report type that names it."""
    shutil.copytree(PROJECT / "configs", tmp_path / "configs")
    (tmp_path / "configs" / "workloads").mkdir()
    (tmp_path / "configs" / "workloads" / "documents.py").write_text(WORKLOAD)
    (tmp_path / "configs" / "reports" / "documents.yaml").write_text(REPORT)
    return tmp_path


@pytest.fixture
def module(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module, found as in a process that was started for this installation."""
    folder = str(project / "configs" / "workloads")
    monkeypatch.setattr(workloads, "__path__", [*workloads.__path__, folder])
    for known in (workloads.by_name, dataset.kinds):
        known.cache_clear()
    yield sys.modules[workloads.by_name()[NAME].__name__]
    for known in (workloads.by_name, dataset.kinds):
        known.cache_clear()
    del sys.modules["benchlab.workloads.documents"]


def run(project: Path, *command: str) -> str:
    """What a process of this installation prints."""
    environment = os.environ | {
        "BENCHLAB_PROJECT": str(project),
        "BENCHLAB_HOME": str(project / "state"),
        "AIRFLOW_HOME": str(project / "airflow"),
        "PYTHONPATH": os.pathsep.join(str(PROJECT / name) for name in ("include", "plugins")),
    }
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_is_planned_and_has_a_form(project: Path) -> None:
    """Its dataset's field is in both, by the name and with the bounds that the file says."""
    planned = run(project, "-m", "benchlab.cli.main", "plan", "documents", "--json")
    plan = json.loads(planned)
    assert [metric["name"] for metric in plan["metrics"]] == ["docs", "p90_ms", "cache_pct"]
    assert "4,000 documents" in plan["steps"][0]["what"]
    form = (
        "from benchlab import home; from benchlab.plan import report_type;"
        "from benchlab_airflow.dags import trigger_form as form;"
        "spec = report_type.load(home.find().configs / 'reports/documents.yaml');"
        "print(form.form(spec)['documents'].schema['title'],"
        "form.chosen(spec, {'documents': 70}).dataset)"
    )
    assert run(project, "-c", form).splitlines()[-1] == "Documents 70 documents"
    too_many = form.replace("70", "7_000_000")
    with pytest.raises(AssertionError, match="7000000; allowed: a whole number"):
        run(project, "-c", too_many)


def printed(planned: PlannedTrial) -> str:
    """What a client prints that reads a third more from the candidate."""
    docs = (300 if planned.side == "baseline" else 400) + planned.round
    return f"documents/s: {docs}, p90: {1200 / docs} ms"


def test_it_is_measured_judged_and_reported(module: ModuleType, project: Path) -> None:
    """Figures from its output, gates, a verdict for each family, and its names in every format."""
    here = Home(project, project / "state")
    here.root.mkdir()
    store = Store(f"sqlite:///{here.root}/results.db", UPath(here.root / "objects"))
    spec = plans.spec(workloads=[NAME], dataset={"documents": 4000}, threads=[4], seconds=4)
    made = campaigns.campaign(spec, id="read")
    assert type(made.report_type.dataset) is module.Documents
    store.add_campaign(made)
    for planned in made.plan.trials:
        keep(store, made.id, measured(made, planned, printed))
    trials = store.trials(made.id)
    assert [sample.unit for sample in trials[0].samples] == ["1/s", "ms", "%"]
    assert all(result.valid for result in trials), trials[0].reasons
    assert {"pass"} <= {gate.status for gate in trials[0].gates}
    comparison = Comparer(here, store).outcome(store.campaign(made.id)).comparison
    (found,) = comparison.workloads
    assert [(metric.name, one.verdict) for metric, one in found.decided] == [
        ("docs", "improvement"),
        ("p90_ms", "improvement"),
    ]
    files = bundle.make(made, comparison, trials, ("en", "zh"), read_object=store.read_bytes)
    built = model.build(made, comparison, trials)
    assert run_validation.check(tables.of_report(built, files)).failures == ()
    document = json.loads(files["report.json"])
    assert document["workloads"][0]["metric"] == "docs"
    assert document["workloads"][0]["latency"]["metric"] == "p90_ms"
    rows = [*csv.DictReader(io.StringIO(files["comparison.csv"].decode()))]
    assert float(rows[0]["candidate_docs"]) > float(rows[0]["baseline_docs"]) > 300
    assert rows[0]["latency_verdict"] == "improvement"
    assert "cache_pct" in files["trials.csv"].decode().splitlines()[0]
    for name in ("report.md", "report.html", "zh/report.md"):
        text = files[name].decode()
        assert "documents" in text, name
        assert "p90 wait (ms)" in text, name
    assert "Load 4,000 documents into each side." in files["report.md"].decode()
    site = site_page.Site(here, store, load("en"), datetime(2024, 2, 1, tzinfo=UTC))
    shown = trial_page.trial(site, made.id, trials[0].trial.id)
    assert [name for name, _ in shown.values["figures"]] == [
        "docs (1/s)",
        "p90_ms (ms)",
        "cache_pct (%)",
    ]
    assert shown.values["client"] is not None, "its series is drawn"
