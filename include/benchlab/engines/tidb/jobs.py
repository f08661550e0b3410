"""What a TiDB does besides serving its clients: DDL and ANALYZE jobs, automatic ones included.

Of backups only those by SQL would show, and they are looked at nowhere: BR is a program of its own.
"""

from __future__ import annotations

from collections.abc import Callable

from benchlab.engines.database import BackgroundJobs
from benchlab.plan import versions

# From then on the ANALYZE jobs of all servers are in a table; before, each server remembers some.
ANALYZE_JOBS_SINCE = (6, 1, 0)

# The history of DDL jobs has all of them, by the cluster's own clock.
_DDL = (
    "SELECT COUNT(*), COALESCE(SUM(state NOT IN ('synced', 'cancelled', 'rollback done')), 0) "
    "FROM information_schema.ddl_jobs"
)
# A running job renews its row every few seconds; one that a server's end has cut keeps its state.
_ANALYZE = (
    "SELECT COUNT(start_time), COALESCE(SUM(state = 'running' AND end_time IS NULL "
    "AND update_time > NOW() - INTERVAL 1 MINUTE), 0) FROM mysql.analyze_jobs"
)


def counted(sql: Callable[[str], list[list[str]]], version: str) -> BackgroundJobs | None:
    """Its jobs so far; None of a version that does not tell all of its ANALYZE jobs.

    Args:
        sql: asks one of its servers.
        version: as it was asked for.

    Raises:
        CommandError: the server does not answer, or refuses the question.
    """
    if versions.parse(version).numbers < ANALYZE_JOBS_SINCE:
        return None
    begun = running = 0
    for found, at_work in sql(f"{_DDL}; {_ANALYZE}"):
        begun += int(found)
        running += int(float(at_work))
    return BackgroundJobs(begun, begun - running)
