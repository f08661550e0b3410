"""Finds engines by name and installs them. A module in this package is one if it has ``Engine``.

``Engine`` derives from :class:`benchlab.engines.server.BaseEngine`, one server on one machine. Its
``cluster``, if any, is the :class:`benchlab.engines.cluster.BaseCluster` that a fleet gets instead.

Example:
    ``by_name()["mariadb"].title`` is ``MariaDB``.
"""

from __future__ import annotations

from functools import cache

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
    return {name: module.Engine for name, module in members("benchlab.engines", "Engine").items()}


def cluster_of(engine: str) -> type[BaseCluster]:
    """The class that deploys an engine as a cluster on a fleet.

    Example:
        ``cluster_of("tidb").not_deployable("v6.5.0")`` is None.

    Raises:
        SpecError: the engine runs on one machine only.
        KeyError: there is no such engine.
    """
    if (cluster := by_name()[engine].cluster) is None:
        raise SpecError(f"engine: {engine} runs on one machine only; take `target: local`")
    return cluster


def install(engine: str, version: str, home: Home, executor: Executor | None = None) -> None:
    """Fetch one version of an engine unless it is installed; one process at a time.

    Raises:
        UnavailableError: it cannot be fetched.
        LockHeldError: after an hour another process is still installing this engine.
    """
    with fence(home.servers / f"{engine}.fence", INSTALL_LIMIT_S):
        by_name()[engine].install(
            executor or LocalExecutor(home.root, "install"), version, home.servers
        )
