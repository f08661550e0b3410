"""Python code in processes that have Airflow imported already.

Importing Airflow takes seconds of CPU. A fork server imports it once for all tests of a session;
each piece of code then runs in a process that is forked from it, so that none sees what another
changed.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import warnings
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

# Whatever Airflow's own processes import before a DAG file, and the slowest of what our glue does.
PRELOADED = [
    "tests.airflow.warm",
    "airflow.dag_processing.dagbag",
    "airflow.providers.amazon.aws.hooks.base_aws",
    "airflow.providers.standard.operators.hitl",
    "airflow.sdk",
    "airflow.sdk.execution_time.task_runner",
    "airflow.serialization.serialized_objects",
    "pandas",
    "sqlalchemy.orm",
]
TIME_LIMIT_S = 180
# What Airflow reads at its import, which is before any code of a test.
READ_AT_IMPORT = {"AIRFLOW__CORE__DAGS_FOLDER", "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"}


@dataclass(frozen=True)
class Ended:
    """How a piece of code ended, and what it printed."""

    code: int
    stdout: str
    stderr: str


def start(env: dict[str, str]) -> None:
    """Start the fork server; a process has one, so what Airflow reads at its import is as here."""
    with pytest.MonkeyPatch.context() as patch:
        for key in set(os.environ) - set(env):
            patch.delenv(key)
        for key, value in {**env, "PYTHONWARNINGS": "ignore"}.items():
            patch.setenv(key, value)
        _context().set_forkserver_preload(PRELOADED)
        forkserver.ensure_running()


def run(code: str, env: dict[str, str]) -> Ended:
    """Run code as a program with this environment; :func:`start` was called before."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "stdout"), Path(folder, "stderr")
        process = _context().Process(target=_run, args=(code, env, str(out), str(err)))
        process.start()
        process.join(TIME_LIMIT_S)
        if process.exitcode is None:
            process.kill()
            process.join()
        assert process.exitcode is not None
        return Ended(process.exitcode, out.read_text(), err.read_text())


def _context() -> ForkServerContext:
    return multiprocessing.get_context("forkserver")


def _run(code: str, env: dict[str, str], out: str, err: str) -> None:
    os.environ.clear()
    os.environ.update(env)
    sys.argv[:] = ["-c"]
    sys.path[:0] = env["PYTHONPATH"].split(os.pathsep)
    for path, descriptor in ((out, 1), (err, 2)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, descriptor)
        os.close(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "<the test's code>", "exec"), {"__name__": "__main__"})  # noqa: S102
