"""The page of the DAGs is what the DAGs say."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.airflow.conftest import PROJECT

TIME_LIMIT_S = 180
PAGE = Path("build/docs/DAGS.md")


def dag_docs(project: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a project."""
    return subprocess.run(
        [sys.executable, "-m", "tools.docs"],
        cwd=PROJECT,
        env={**os.environ, "BENCHLAB_PROJECT": str(project), **more},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the real DAG files and report types."""
    for folder in ("dags", "configs"):
        shutil.copytree(PROJECT / folder, tmp_path / folder)
    return tmp_path


def test_the_page_says_what_the_dags_say(project: Path) -> None:
    """A changed report type is on the page that is written next."""
    report = project / "configs" / "reports" / "sysbench_local.yaml"
    report.write_text(report.read_text().replace("rounds: 6", "rounds: 7"))

    done = dag_docs(project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "build/docs/DAGS.md written\n" in done.stdout
    lines = (project / PAGE).read_text().splitlines()
    assert "## sysbench_local" in lines
    assert [line for line in lines if "`rounds`" in line and "| `7` |" in line]


def test_the_page_is_the_same_in_every_process(project: Path) -> None:
    """The order of sets, which differs between processes, is not on the page."""
    pages = set()
    for seed in ("1", "2"):
        assert dag_docs(project, PYTHONHASHSEED=seed).returncode == 0
        pages.add((project / PAGE).read_text())
    assert len(pages) == 1


def test_another_airflow_on_this_machine_is_left_alone(project: Path, tmp_path: Path) -> None:
    """Neither its home is made or written, nor do its settings get in."""
    elsewhere = tmp_path / "elsewhere"
    done = dag_docs(
        project,
        AIRFLOW_HOME=str(elsewhere),
        AIRFLOW__DATABASE__SQL_ALCHEMY_CONN="postgresql://nobody@nowhere.invalid/airflow",
    )
    assert done.returncode == 0, done.stderr
    assert not elsewhere.exists()


def test_a_report_type_that_does_not_validate_gets_no_page(project: Path) -> None:
    """The error names its file, and nothing is written."""
    report = project / "configs" / "reports" / "sysbench_local.yaml"
    report.write_text(report.read_text().replace("rounds: 6", "rouns: 6"))
    done = dag_docs(project)
    assert done.returncode == 1
    assert "sysbench_local.yaml is not valid" in done.stderr
    assert not (project / PAGE).exists()
