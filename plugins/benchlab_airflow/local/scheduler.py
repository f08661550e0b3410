"""The scheduler of ``make up``; it takes the arguments of Airflow's command.

It imports what tasks need before Airflow forks its workers. Each task is a process forked from a
worker, and would otherwise spend half a second of CPU on imports, perhaps during a trial. What only
one task of a campaign needs, scipy and Great Expectations, is not worth the memory.
"""

from __future__ import annotations

import importlib
import runpy

from benchlab import engines, targets, workloads

OF_TASKS = (
    "benchlab.campaign.stages",
    "benchlab.hosts.ssh.link",
    "benchlab_airflow.connections",
    "benchlab_airflow.dags.report_dags",
    "benchlab_airflow.operators.trial_operator",
)


def main() -> None:
    """Run Airflow's command, which ends the process."""
    import_for_tasks()
    runpy.run_module("airflow", run_name="__main__", alter_sys=True)


def import_for_tasks() -> None:
    """Import :data:`OF_TASKS`, and all engines, targets and workloads."""
    for module in OF_TASKS:
        importlib.import_module(module)
    for family in (engines, targets, workloads):
        family.by_name()


if __name__ == "__main__":
    main()
