"""One service of `make up`: ``python -m benchlab_airflow.local.service scheduler``.

It is the command of Airflow with the same arguments, and takes less CPU. The API server makes its
routes for tasks in the newest version only, which is the one that tasks of the same installation
speak. The scheduler imports what tasks need: each task is a process forked from one of its workers,
and would import it again, which takes longer than most tasks do.
"""

from __future__ import annotations

import gc
import importlib
import sys

from benchlab_airflow.local.one_run import COLLECT_AFTER, keep_newest_version

# What every task of a campaign imports, and what it needs to reach the hosts of a fleet. What only
# one task of a campaign needs is not worth the memory: scipy, Great Expectations.
OF_TASKS = (
    "airflow.sdk.execution_time.supervisor",
    "airflow.sdk.execution_time.task_runner",
    "benchlab.campaign.stages",
    "benchlab.hosts.ssh.link",
    "benchlab_airflow.connections",
    "benchlab_airflow.dags.report_dags",
    "benchlab_airflow.operators.trial_operator",
)


def main() -> None:
    """Run Airflow's command; it ends the process."""
    gc.set_threshold(COLLECT_AFTER)
    if sys.argv[1] == "api-server":
        keep_newest_version()
    elif sys.argv[1] == "scheduler":
        import_for_tasks()
    from airflow.__main__ import main as airflow

    airflow()


def import_for_tasks() -> None:
    """Import :data:`OF_TASKS` and the members of the families that tasks look through."""
    for module in OF_TASKS:
        importlib.import_module(module)
    from benchlab import engines, targets, workloads

    for family in (engines, targets, workloads):
        family.by_name()


if __name__ == "__main__":
    main()
