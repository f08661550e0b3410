"""The daily DAG that adds new releases to the release calendar."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.airflow.conftest import PROJECT, told
from tests.builders import tiup_list

RUN = """
import runpy
from benchlab import home
from benchlab.campaign import report_types
from benchlab_airflow.calendar.timetables import timetable_of

dag = runpy.run_path(str(DAGS / "update_release_calendar.py"))["dag"]
(task,) = dag.tasks
say(dag.schedule.total_seconds(), dag.catchup, dag.max_active_runs, task.retries)
try:
    for sentence in task.python_callable():
        say(sentence)
except Exception as error:
    say(type(error).__name__, error)
here = home.find()
spec = report_types.load(report_types.find_report(here, "sysbench_ec2"))
say(timetable_of(here, spec).release_days[-1])
"""


def run(env: dict[str, str], tmp_path: Path, bin_: Path) -> list[str]:
    """What the DAG's task says, and the last day on which `sysbench_ec2` then runs."""
    project = tmp_path / "project"
    if not project.exists():
        shutil.copytree(PROJECT / "configs", project / "configs")
    code = f"from pathlib import Path\nDAGS = Path({str(PROJECT / 'dags')!r})\n{RUN}"
    places = {"BENCHLAB_PROJECT": str(project), "TIUP_HOME": str(tmp_path), "PATH": str(bin_)}
    return told(code, env, **places)


def test_a_daily_dag_brings_the_calendar_up_to_date(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Once a day; the schedule of a report type by releases then has the new patch's day."""
    tiup_list.install(tmp_path / "bin", [("v8.5.99", "2026-11-20T02:10:01Z")])
    schedule, *said, last = run(airflow_env, tmp_path, tmp_path / "bin")
    assert schedule == "86400.0 False 1 2"
    assert said[0] == "added: v8.5.99 of 2026-11-20 (patch)"
    assert last == "2026-11-20"


def test_without_tiup_the_dag_is_green_and_says_so(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """With one whose mirror is out of reach, or a calendar that cannot be written, it is red."""
    _, said, _ = run(airflow_env, tmp_path, tmp_path / "none")
    assert said.startswith("`tiup` is neither on the PATH")
    tiup_list.install(tmp_path / "bin", [], "dial tcp: no such host")
    _, said, _ = run(airflow_env, tmp_path, tmp_path / "bin")
    assert said.startswith("UnavailableError `tiup list tidb` failed: ")
    tiup_list.install(tmp_path / "bin", [("v8.5.99", "2026-11-20T02:10:01Z")])
    (tmp_path / "project/configs/releases.csv.part").mkdir()
    _, said, _ = run(airflow_env, tmp_path, tmp_path / "bin")
    assert said.startswith(f"SpecError {tmp_path}/project/configs/releases.csv: cannot be written")
