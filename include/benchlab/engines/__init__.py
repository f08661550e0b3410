"""Engines: the database of one side. A module in this package with ``Engine`` is one.

``Engine`` derives from :class:`benchlab.engines.server.BaseEngine`, one server on one machine, and
may name a :class:`benchlab.engines.cluster.BaseCluster` as its ``cluster`` on a fleet.
"""

from __future__ import annotations

from functools import cache

import benchlab.engines
from benchlab.discovery import members
from benchlab.engines.cluster import BaseCluster
from benchlab.engines.server import BaseEngine
from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.hosts.executor import Executor, LocalExecutor
from benchlab.hosts.lock import fence

INSTALL_LIMIT_S = 3600.0


@cache
def by_name() -> dict[str, type[BaseEngine]]:
    """Engine classes by name, such as ``mariadb`` and ``tidb``."""
    return {name: module.Engine for name, module in members(benchlab.engines, "Engine").items()}


def cluster_of(engine: str) -> type[BaseCluster]:
    """The class of an engine's clusters on a fleet.

    Raises:
        SpecError: it has none.
    """
    if (cluster := by_name()[engine].cluster) is None:
        raise SpecError(f"engine: {engine} runs on one machine only; take `target: local`")
    return cluster


def install(engine: str, version: str, home: Home, executor: Executor | None = None) -> None:
    """Fetch one version of an engine, if it is not here; one process at a time does.

    Raises:
        UnavailableError: it cannot be had.
    """
    with fence(home.servers / f"{engine}.fence", INSTALL_LIMIT_S):
        by_name()[engine].install(
            executor or LocalExecutor(home.root, "install"), version, home.servers
        )
