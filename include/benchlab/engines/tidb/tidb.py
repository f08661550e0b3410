"""What one TiDB server and a cluster have in common: accounts, variables, background jobs."""

from __future__ import annotations

import re
from typing import ClassVar

from benchlab.engines.counts import Count, Counters
from benchlab.engines.database import USER, BackgroundJobs, Database, sql_value
from benchlab.engines.tidb.counts import CHANGES, COUNTS, QUERIES, read
from benchlab.engines.tidb.topology import is_config
from benchlab.errors import CommandError
from benchlab.plan import versions
from benchlab.plan.steps import IDLE_S

# From this version on a table has the ANALYZE jobs of all servers; before, each remembers some.
ANALYZE_JOBS_SINCE = (6, 1, 0)

# What a server says of how it was built; its version and commit are apart.
ABOUT = ("Edition", "Git Branch", "UTC Build Time")

# The history of DDL jobs has all of them, by the cluster's own clock.
_DDL = (
    "SELECT COUNT(*), COALESCE(SUM(state NOT IN ('synced', 'cancelled', 'rollback done')), 0) "
    "FROM information_schema.ddl_jobs"
)
# A running job updates its row every few seconds; a job whose server ended keeps its state.
_ANALYZE = (
    "SELECT COUNT(start_time), COALESCE(SUM(state = 'running' AND end_time IS NULL "
    "AND update_time > NOW() - INTERVAL 1 MINUTE), 0) FROM mysql.analyze_jobs"
)


class TiDB(Database):
    """TiDB, however it is deployed."""

    name = "tidb"
    title = "TiDB"
    # MySQL's and TiDB's: write conflicts, schema changes and failed commits.
    retryable_errors = (1213, 1020, 1205, 9007, 8002, 8005, 8028, 8022)
    counts: ClassVar[tuple[Count, ...]] = COUNTS
    queries: ClassVar[Count | None] = QUERIES
    changes: ClassVar[tuple[Count, ...]] = CHANGES
    idle_s = IDLE_S

    def secure(self) -> None:
        """Create the client's account, give root a password, and set the requested variables."""
        self.wait_until_ready(user="root")
        self.make_accounts()

    def make_accounts(self) -> None:
        """Do what :meth:`secure` does, without waiting; configuration items are not set by SQL."""
        parameters, password = self.instance.parameters, self.instance.password
        variables = "".join(
            f"SET GLOBAL {key} = {sql_value(value)};"
            for key, value in parameters.items()
            if not is_config(key)
        )
        self.sql(
            f"CREATE USER '{USER}'@'%' IDENTIFIED BY '{password}';"
            f"GRANT ALL ON *.* TO '{USER}'@'%' WITH GRANT OPTION;"
            f"{variables}"
            f"ALTER USER 'root'@'%' IDENTIFIED BY '{password}';",
            user="root",
        )

    def git_hash(self) -> str | None:
        """See :class:`Database`; from ``tidb_version()``."""
        text = "\n".join(cell for row in self.sql("SELECT tidb_version()") for cell in row)
        match = re.search(r"Git Commit Hash: ([0-9a-f]{40})", text)
        return match[1] if match else None

    def about(self) -> dict[str, str]:
        """See :class:`Database`; from ``tidb_version()``, one ``Name: value`` a line."""
        try:
            rows = self.sql("SELECT tidb_version()")
        except CommandError:  # nothing depends on it
            return {}
        # The client writes a line feed in a value as \n.
        text = "\n".join(cell for row in rows for cell in row)
        lines = (line.partition(": ") for line in text.replace("\\n", "\n").splitlines())
        return {name: value.strip() for name, _, value in lines if name in ABOUT}

    def background_jobs(self) -> BackgroundJobs | None:
        """DDL and ANALYZE jobs, including automatic ones; None before v6.1.

        A ``CREATE INDEX`` is one DDL job even if several servers share it (a distributed task, by
        default from v8.1 on): it is `running` until the last of them has ingested its part.
        Backups by SQL are not counted: Benchlab's are taken by BR, a separate program.
        """
        if versions.parse(self.instance.version).numbers < ANALYZE_JOBS_SINCE:
            return None
        begun = running = 0
        statement = f"{_DDL}; {_ANALYZE}"
        for row in self.sql(statement):
            if len(row) != 2:
                raise self.unreadable(statement)
            begun += self.whole(statement, row[0])
            running += self.whole(statement, row[1])
        return BackgroundJobs(begun, begun - running)

    @classmethod
    def read_counters(cls, role: str, answer: str) -> Counters:
        """See :class:`Database`; from the lines of a server's ``/metrics``."""
        return read(role, answer)
