"""Which worker takes a task, where Airflow has several (CeleryExecutor), and in which order.

With LocalExecutor queues have no effect, and all of this but the order is as if it were not there.

| queue | tasks | workers |
|---|---|---|
| ``fleet`` | of campaigns on a fleet; all others | as many as one likes, on any machine |
| ``release`` | what gives fleets back, and the reaper | their own, so that none waits for a trial |
| ``local:<machine>`` | of campaigns whose client runs beside the worker | one, one task at a time |
| ``release:<machine>`` | what ends these campaigns | one, beside that worker |

A queue is fixed when a DAG is parsed, so that the machine is a field of the report type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchlab import targets
from benchlab.plan.report_type import ReportSpec

FLEET, RELEASE = "fleet", "release"

# The scheduler queues by weight. By default a task's is the number of tasks after it, so that
# whatever gives hosts back, which is last, would come after the first task of every other run.
FIRST: Mapping[str, Any] = {"priority_weight": 10_000, "weight_rule": "absolute"}


def queues_of(spec: ReportSpec) -> tuple[str, str]:
    """The queue of a report type's tasks, and that of the task that gives back.

    Example:
        ``queues_of(load(Path("configs/reports/sysbench_local.yaml")))`` is
        ``("local:default", "release:default")``.
    """
    on_worker = not targets.by_name()[spec.target].can.deferrable
    if not on_worker or spec.client.connection is not None:
        return FLEET, RELEASE
    machine = spec.machine or "default"
    return f"local:{machine}", f"{RELEASE}:{machine}"
