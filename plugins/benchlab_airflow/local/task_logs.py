"""Keeps what each task of `make demo` writes where Airflow's UI looks for its log.

`airflow dags test` has it on its standard output only, which has to be a file here. Airflow calls
these functions when a task begins and ends, in the process that runs it.
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

# Where in the standard output each task began; one that was deferred begins several times.
_begun: dict[str, int] = {}


@hookimpl
def on_task_instance_running(task_instance: RuntimeTaskInstanceProtocol) -> None:
    """Note where its log begins."""
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
        return  # it failed before it began, and wrote nothing of its own
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
    """For a plugin's ``listeners``: this module where a person's own command drives the run."""
    return [sys.modules[__name__]] if os.environ.get("BENCHLAB_DRIVER") else []
