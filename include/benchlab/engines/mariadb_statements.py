"""What a MariaDB server keeps of statements: its performance schema's digests.

It is off by default, and costs 2 to 13 % CPU, so that the server runs with it meanwhile only. It
misses statements that a client prepares, which sysbench does by default, and has no plans.

Example:
    ``database.statements().read().statements[0].figures["rows_examined"]``
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from benchlab.engines.database import Database, sql_value
from benchlab.engines.statements import Executed, Statements, added_up
from benchlab.language import Said, message
from benchlab.plan.documents import Scalar
from benchlab.plan.fields.engines import Components

TABLE = "performance_schema.events_statements_summary_by_digest"
# It stands still in 10.2.11, where it would seem to be zero.
EXAMINED = "rows_examined"
FIGURES = {
    EXAMINED: "sum_rows_examined",
    "rows_sent": "sum_rows_sent",
    "rows_affected": "sum_rows_affected",
    "without_index": "sum_no_index_used",
    "temporary_tables": "sum_created_tmp_tables",
    "temporary_disk_tables": "sum_created_tmp_disk_tables",
    "sorted_rows": "sum_sort_rows",
    "errors": "sum_errors",
}
_COLUMNS = ("digest", "digest_text", "count_star", "sum_timer_wait", *FIGURES.values())


class MariaDBStatements:
    """The digests of one side; see :class:`benchlab.engines.statements.StatementSummary`."""

    items: ClassVar[Components] = {"mariadb": {"performance_schema": True}}
    client_options: ClassVar[Mapping[str, Scalar]] = {"db-ps-mode": "disable"}
    keeps_plans: ClassVar[bool] = False

    def __init__(self, database: Database) -> None:
        self._database = database

    def lacking(self, client: str) -> Said | None:
        """See :class:`StatementSummary`."""
        return None if client == "sysbench" else message("statements-prepared", client=client)

    def begin(self) -> None:
        """See :class:`StatementSummary`."""
        self._database.sql(f"TRUNCATE TABLE {TABLE}")

    def read(self) -> Statements:
        """See :class:`StatementSummary`."""
        schema = sql_value(self._database.instance.database)
        chosen = f"FROM {TABLE} WHERE schema_name = {schema} OR digest IS NULL"
        named = self._database.select(_COLUMNS, chosen)
        told = [read_row(row) for row in named if row["digest"] != "NULL"]
        if not any(one.figures[EXAMINED] for one in told):
            told = [_without(one, EXAMINED) for one in told]
        return Statements(
            added_up(told),
            sum(float(row["count_star"]) for row in named if row["digest"] == "NULL"),
        )

    def end(self) -> None:
        """See :class:`StatementSummary`; the server's next start without the items is enough."""

    def replayer(self, text: str) -> bytes | None:
        """See :class:`StatementSummary`; there is none."""
        return None


def read_row(row: Mapping[str, str]) -> Executed:
    """One statement, from a row of the table by the names of its columns; times are picoseconds."""
    return Executed(
        row["digest_text"],
        float(row["count_star"]),
        float(row["sum_timer_wait"]) / 1e12,
        {name: float(row[column]) for name, column in FIGURES.items()},
    )


def _without(one: Executed, figure: str) -> Executed:
    left = {name: value for name, value in one.figures.items() if name != figure}
    return replace(one, figures=left)
