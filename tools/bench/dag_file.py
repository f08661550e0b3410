"""Parsing the DAG file: against one with an empty DAG."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from benchlab.errors import BenchlabError
from benchlab.home import Home
from benchlab_airflow.local.airflow_home import AirflowHome
from tools.bench.row import Row, ratio

TARGET = 1.5
INSIDE_TARGET_MS = 300.0
REPEATS = 9
QUICK_REPEATS = 7

EMPTY = """\
from airflow.sdk import DAG

dag = DAG("empty", schedule=None)
"""
# As the DAG processor parses: Airflow is there already, what the file imports is not.
PARSE = """\
import sys, time
from airflow.dag_processing.dagbag import DagBag

began = time.process_time()
bag = DagBag(sys.argv[1])
seconds = time.process_time() - began
assert bag.dags and not bag.import_errors, bag.import_errors
print(seconds)
"""


def measure(home: Home, work: Path, quick: bool) -> list[Row]:
    """Parse both files in turns, as whole processes and inside Airflow."""
    airflow = AirflowHome(home.root)
    airflow.ensure()
    env = airflow.environment()
    empty = work / "empty_dag.py"
    empty.write_text(EMPTY)
    files = {"version_comparison.py": home.project / "dags" / "version_comparison.py"}
    files["an empty DAG file"] = empty
    whole: dict[str, list[float]] = {name: [] for name in files}
    inside: dict[str, list[float]] = {name: [] for name in files}
    for number in range(1 + (QUICK_REPEATS if quick else REPEATS)):
        for name, path in files.items():
            times = _process(path, env), _inside_airflow(path, env)
            if number:  # the first time also compiles what is imported
                whole[name].append(times[0])
                inside[name].append(times[1])
    ours, other = files
    return [
        ratio("DAG file, whole process", (ours, whole[ours]), (other, whole[other]), TARGET),
        Row(
            name="DAG file, inside Airflow",
            compared=f"{ours}; {other}: {1000 * statistics.median(inside[other]):.0f} ms",
            figure=1000 * statistics.median(inside[ours]),
            unit="ms",
            target=INSIDE_TARGET_MS,
            seconds=inside,
        ),
    ]


def _process(path: Path, env: Mapping[str, str]) -> float:
    began = time.monotonic()
    _run([sys.executable, str(path)], env)
    return time.monotonic() - began


def _inside_airflow(path: Path, env: Mapping[str, str]) -> float:
    printed = _run([sys.executable, "-c", PARSE, str(path)], env)
    return float(printed.splitlines()[-1])


def _run(command: list[str], env: Mapping[str, str]) -> str:
    """What a command printed.

    Raises:
        BenchlabError: it failed; quotes what it complained of.
    """
    done = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
    if done.returncode:
        raise BenchlabError(f"{command[-1]}: exit code {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout
