"""What one TiDB server and a cluster have in common: the first SQL, and jobs in the background."""

from __future__ import annotations

from benchlab.engines.database import USER, BackgroundJobs, Database, sql_value
from benchlab.engines.tidb.topology import is_config
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


class TiDB(Database):
    """TiDB, however it is deployed."""

    name = "tidb"
    title = "TiDB"
    # MySQL's own and TiDB's: write conflicts, schema changes and failed commits.
    retryable_errors = (1213, 1020, 1205, 9007, 8002, 8005, 8028, 8022)

    def secure(self) -> None:
        """One account for the client, a password for root, and the requested variables."""
        self.wait_until_ready(user="root")
        self.make_accounts()

    def make_accounts(self) -> None:
        """The statements of :meth:`secure`; configuration items are none of SQL's."""
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

    def background_jobs(self) -> BackgroundJobs | None:
        """DDL and ANALYZE jobs so far, automatic ones included; None from old versions.

        Backups by SQL are not counted: BR, which takes them here, is a program of its own.
        """
        if versions.parse(self.instance.version).numbers < ANALYZE_JOBS_SINCE:
            return None
        begun = running = 0
        for found, at_work in self.sql(f"{_DDL}; {_ANALYZE}"):
            begun += int(found)
            running += int(float(at_work))
        return BackgroundJobs(begun, begun - running)
