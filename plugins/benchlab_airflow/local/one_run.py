"""Airflow running one DAG in one process: ``python -m benchlab_airflow.local.one_run DAG DATE``.

It is ``airflow dags test`` with the same arguments and takes less CPU to start. In such a run the
tasks call an API in their own process. Airflow makes one for each task, with an event loop in a
thread that ends when the garbage collector finds it; here all tasks share one. Airflow makes its
routes for every version that this API ever had; the tasks need those of the newest only. And where
nothing can be started, Airflow looks again after a second, which it does twice in a campaign
without repeats; here after a tenth of it. What a task writes is also kept where Airflow's UI reads
its log.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any, SupportsIndex

# Objects between two collections. Nearly all that Airflow makes at its start stay to the end, and
# with the default of 700 the collector takes a sixth of that time to look at them again and again.
COLLECT_AFTER = 100_000


def main() -> None:
    """Run Airflow's command; it ends the process."""
    gc.set_threshold(COLLECT_AFTER)
    keep_newest_version()
    share_api()
    look_again_sooner()
    if sys.stdout.seekable():
        keep_logs_of_tasks()
    from airflow.__main__ import main as airflow

    sys.argv[1:1] = ["dags", "test"]
    airflow()


def keep_newest_version() -> None:
    """Leave out all versions of the tasks' API but the newest, and the routes that it lacks."""
    from airflow.api_fastapi.execution_api import versions
    from airflow.api_fastapi.execution_api.routes import execution_api_router
    from cadwyn import HeadVersion, Version, VersionBundle
    from cadwyn.route_generation import _DELETED_ROUTE_TAG

    versions.bundle = VersionBundle(HeadVersion(), Version(versions.bundle.versions[0].value))
    execution_api_router.routes[:] = [
        route
        for route in execution_api_router.routes
        if _DELETED_ROUTE_TAG not in getattr(route, "tags", [])
    ]


def share_api() -> None:
    """Make the API that tasks call once."""
    from airflow.sdk.execution_time import supervisor

    supervisor.in_process_api_server = cache(supervisor.in_process_api_server)


def look_again_sooner() -> None:
    """Shorten the pauses of Airflow's loop over the run's tasks, and no others."""
    sleep = time.sleep

    def shorter(seconds: SupportsIndex | float) -> None:
        by_airflow = sys._getframe(1).f_globals.get("__name__") == "airflow.sdk.definitions.dag"
        sleep(float(seconds) / 10 if by_airflow else seconds)

    time.sleep = shorter


def keep_logs_of_tasks() -> None:
    """Copy what each task writes to the file in which Airflow's UI looks for its log.

    The standard output has to be a file.
    """
    from airflow.configuration import conf
    from airflow.sdk.definitions import dag

    run_task, folder = dag._run_task, Path(conf.get("logging", "base_log_folder"))

    def kept(*, ti: Any, **more: Any) -> Any:
        sys.stdout.flush()
        begun = os.lseek(1, 0, os.SEEK_CUR)
        try:
            return run_task(ti=ti, **more)
        finally:
            sys.stdout.flush()
            place = [f"{name}={getattr(ti, name)}" for name in ("dag_id", "run_id", "task_id")]
            if ti.map_index >= 0:
                place.append(f"map_index={ti.map_index}")
            log = folder.joinpath(*place, f"attempt={ti.try_number}.log")
            log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with Path("/proc/self/fd/1").open("rb") as written:
                written.seek(begun)
                log.write_bytes(written.read())

    dag._run_task = kept


if __name__ == "__main__":
    main()
