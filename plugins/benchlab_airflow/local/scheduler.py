"""The scheduler of `make up`, with the arguments of Airflow's command.

It imports what tasks need before Airflow forks its workers: each task is a process forked from one
of them, and would spend half a second of CPU on the imports, beside a trial of another campaign.
What only one task of a campaign needs is not worth the memory: scipy, Great Expectations.
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
    """Run Airflow's command; it ends the process."""
    import_for_tasks()
    runpy.run_module("airflow", run_name="__main__", alter_sys=True)


def import_for_tasks() -> None:
    """Import :data:`OF_TASKS` and the members of the families that tasks look through."""
    for module in OF_TASKS:
        importlib.import_module(module)
    for family in (engines, targets, workloads):
        family.by_name()


if __name__ == "__main__":
    main()
