"""Copies the output of each task of ``make demo`` to where Airflow's UI looks for its log.

``airflow dags test`` writes it to standard output only, which has to be a file here. Airflow calls
these listeners when a task begins and ends, in the process that runs it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from airflow.listeners import hookimpl
from airflow.sdk import conf

if TYPE_CHECKING:
    from airflow.sdk.types import RuntimeTaskInstanceProtocol

# The position in standard output at which each task first began; a deferred one begins repeatedly.
_begun: dict[str, int] = {}


@hookimpl
def on_task_instance_running(task_instance: RuntimeTaskInstanceProtocol) -> None:
    """Note where the task's log begins."""
    sys.stdout.flush()
    _begun.setdefault(str(task_instance.id), os.lseek(1, 0, os.SEEK_CUR))


@hookimpl
def on_task_instance_success(task_instance: RuntimeTaskInstanceProtocol) -> None:
    """Keep the log."""
    _keep(task_instance)


@hookimpl
def on_task_instance_failed(task_instance: RuntimeTaskInstanceProtocol) -> None:
    """Keep the log."""
    _keep(task_instance)


@hookimpl
def on_task_instance_skipped(task_instance: RuntimeTaskInstanceProtocol) -> None:
    """Keep the log."""
    _keep(task_instance)


def _keep(task: RuntimeTaskInstanceProtocol) -> None:
    if (begun := _begun.pop(str(task.id), None)) is None:
        return  # it failed before it began, so it has no output
    place = [f"{name}={getattr(task, name)}" for name in ("dag_id", "run_id", "task_id")]
    if task.map_index is not None and task.map_index >= 0:
        place.append(f"map_index={task.map_index}")
    folder = Path(conf.get_mandatory_value("logging", "base_log_folder"))
    log = folder.joinpath(*place, f"attempt={task.try_number}.log")
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    sys.stdout.flush()
    with Path("/proc/self/fd/1").open("rb") as written:
        written.seek(begun)
        log.write_bytes(written.read())


def listeners() -> list[ModuleType]:
    """The value of a plugin's ``listeners``: this module if a person's command drives the run."""
    return [sys.modules[__name__]] if os.environ.get("BENCHLAB_DRIVER") else []
