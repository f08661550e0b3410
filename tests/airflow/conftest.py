"""A metadata database of its own for the tests of the Airflow glue, made once a session."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchlab_airflow.local.airflow_home import AirflowHome
from tests.airflow import warm

PROJECT = Path(__file__).parents[2]
# This checkout, also where another one is installed.
PATH = (PROJECT / "dags", PROJECT, PROJECT / "include", PROJECT / "plugins")
# A test module that imports Airflow itself would make an Airflow home in the user's own.
os.environ.setdefault("AIRFLOW_HOME", str(PROJECT / ".benchlab" / "airflow-tests"))


@pytest.fixture(scope="session")
def airflow_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of any `airflow` command of these tests."""
    airflow = AirflowHome(tmp_path_factory.mktemp("benchlab-home"))
    airflow.ensure()
    env = {**airflow.environment(), "PYTHONPATH": os.pathsep.join(map(str, PATH))}
    warm.start(env)
    return env


def run_python(code: str, env: dict[str, str], **more: str) -> str:
    """What a Python process prints that sees this Airflow; fails with its errors."""
    ended = (_cold if warm.READ_AT_IMPORT & more.keys() else warm.run)(code, {**env, **more})
    assert ended.code == 0, ended.stderr[-4000:]
    return ended.stdout


def _cold(code: str, env: dict[str, str]) -> warm.Ended:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=env,
        capture_output=True,
        text=True,
        timeout=warm.TIME_LIMIT_S,
        check=False,
    )
    return warm.Ended(done.returncode, done.stdout, done.stderr)


def told(code: str, env: dict[str, str], **more: str) -> list[str]:
    """The lines that the code says with `say`; log lines, which are on stdout too, are left out."""
    text = run_python(f'say = lambda *words: print("SAID", *words)\n{code}', env, **more)
    return [line.removeprefix("SAID ") for line in text.splitlines() if line.startswith("SAID ")]


# Code with which a test runs a DAG of its own folder as `make demo` does.
ONE_RUN = """
import os, subprocess, sys
def one_run(dag, folder):
    command = [sys.executable, "-m", "airflow", "dags", "test", dag, "2026-01-01"]
    env = {**os.environ, "AIRFLOW__CORE__DAGS_FOLDER": folder}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)
"""
