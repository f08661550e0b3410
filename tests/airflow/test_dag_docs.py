"""docs/DAGS.md is what the DAGs say, and who changes a DAG is told to write it anew."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.airflow.conftest import PROJECT

TIME_LIMIT_S = 180


def dag_docs(project: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a project."""
    return subprocess.run(
        [sys.executable, "-m", "benchlab_airflow.dags.dag_docs", *arguments],
        env={**os.environ, "BENCHLAB_PROJECT": str(project), **more},
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the real DAG files, report types and page."""
    for folder in ("dags", "configs"):
        shutil.copytree(PROJECT / folder, tmp_path / folder)
    (tmp_path / "docs").mkdir()
    shutil.copy(PROJECT / "docs" / "DAGS.md", tmp_path / "docs" / "DAGS.md")
    return tmp_path


def test_the_page_is_up_to_date_and_the_check_is_quiet() -> None:
    """`make check` prints nothing about a page that is as the DAGs say."""
    done = dag_docs(PROJECT, "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_stale_page_is_named_with_the_command_that_writes_it(project: Path) -> None:
    """A changed report type changes its page; the check says what to run, and that mends it."""
    report = project / "configs" / "reports" / "sysbench_local.yaml"
    report.write_text(report.read_text().replace("rounds: 6", "rounds: 7"))
    before = (project / "docs" / "DAGS.md").read_text()

    stale = dag_docs(project, "--check")
    assert stale.returncode == 1
    assert "docs/DAGS.md" in stale.stderr
    assert "python -m benchlab_airflow.dags.dag_docs" in stale.stderr
    assert (project / "docs" / "DAGS.md").read_text() == before, "a check writes nothing"

    assert dag_docs(project).returncode == 0
    after = (project / "docs" / "DAGS.md").read_text()
    assert [line for line in after.splitlines() if "`rounds`" in line and "| `7` |" in line]
    assert dag_docs(project, "--check").returncode == 0


def test_the_page_is_the_same_in_every_process(project: Path) -> None:
    """The order of sets, which differs between processes, is not on the page."""
    pages = set()
    for seed in ("1", "2"):
        assert dag_docs(project, PYTHONHASHSEED=seed).returncode == 0
        pages.add((project / "docs" / "DAGS.md").read_text())
    assert len(pages) == 1


def test_another_airflow_on_this_machine_is_left_alone(project: Path, tmp_path: Path) -> None:
    """Neither its home is made or written, nor do its settings get in."""
    elsewhere = tmp_path / "elsewhere"
    done = dag_docs(
        project,
        "--check",
        AIRFLOW_HOME=str(elsewhere),
        AIRFLOW__DATABASE__SQL_ALCHEMY_CONN="postgresql://nobody@nowhere.invalid/airflow",
    )
    assert done.returncode == 0, done.stderr
    assert not elsewhere.exists()


def test_a_report_type_that_does_not_validate_gets_no_page(project: Path) -> None:
    """The error names its file; the page stays as it was."""
    report = project / "configs" / "reports" / "sysbench_local.yaml"
    report.write_text(report.read_text().replace("rounds: 6", "rouns: 6"))
    done = dag_docs(project)
    assert done.returncode == 1
    assert "sysbench_local.yaml does not validate" in done.stderr
    assert (project / "docs" / "DAGS.md").read_text() == (PROJECT / "docs" / "DAGS.md").read_text()
