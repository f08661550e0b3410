"""Clients and their workloads. Each module in this package with ``NAMES`` is a ``Workload``.

To add your own workload, put such a module into ``configs/workloads``.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import cache

from benchlab import home
from benchlab.discovery import members
from benchlab.plan import open_loop
from benchlab.plan.fields.client import Client
from benchlab.plan.report_type import ReportSpec
from benchlab.workloads.output import Output
from benchlab.workloads.workload import DEFAULTS, Workload

__path__.append(str(home.find().configs / "workloads"))


@cache
def by_name() -> dict[str, Workload]:
    """The workload modules, by workload name; a module with several names appears under each.

    Example:
        ``by_name()["tpcc"].TOOL`` is ``"go-tpc"``.
    """
    found: list[Workload] = [*members("benchlab.workloads", "NAMES").values()]
    for workload in found:
        for name, value in DEFAULTS.items():
            vars(workload).setdefault(name, value)
    return {name: workload for workload in found for name in workload.NAMES}


def module_of(workload: str) -> Workload | None:
    """The module of a workload, also of one at a rate; None if there is none.

    Example:
        ``module_of("oltp_insert_at_60pct").TOOL`` is ``"sysbench"``.
    """
    return by_name().get(open_loop.saturated(workload))


def workload_of(spec: ReportSpec) -> Workload:
    """The module of a report type's workloads: one module has them all."""
    return by_name()[spec.workloads[0]]


def parsers() -> dict[str, Callable[[str], Output]]:
    """The functions that parse a client's output, by the client's name.

    Example:
        ``parsers()["sysbench"](text).tps``
    """
    return {workload.TOOL: workload.parse for workload in by_name().values()}


def read_only() -> frozenset[str]:
    """The workloads that leave the data as they found it.

    Example:
        ``"oltp_read_write" in read_only()`` is False.
    """
    return frozenset(name for name, workload in by_name().items() if name in workload.READ_ONLY)


def queries_of(workload: str, client: Client) -> int | None:
    """How many queries one transaction of a workload sends.

    Returns:
        None if the module's ``QUERIES`` lacks the workload, or ``client.options`` may change it.

    Example:
        ``queries_of("oltp_read_write", Client())`` is 20.
    """
    known: dict[str, int] = getattr(module_of(workload), "QUERIES", {})
    return None if client.options else known.get(open_loop.saturated(workload))


def full_name(workload: str, known: Container[str]) -> str | None:
    """Complete a workload name that may lack sysbench's ``oltp_``; None if it is not ``known``.

    Example:
        ``full_name("point_select", by_name())`` is ``"oltp_point_select"``.
    """
    names = (workload, f"oltp_{workload}")
    return next((name for name in names if name in known), None)
