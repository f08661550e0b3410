"""Answers questions that a person puts to the store in SQL, and changes nothing.

>>> select(home, "SELECT id FROM campaigns").rows
[('c1',)]

The store's own database answers, with its indices, so nothing is copied or installed for it: DuckDB
would read SQLite only with an extension that it downloads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from benchlab.errors import SpecError, StoreError
from benchlab.home import Home
from benchlab.results.rows import METADATA
from benchlab.results.store import is_there, open_store

# Per database, what makes a transaction read only. SQLite has no such transaction, but connections.
_READ_ONLY = {
    "sqlite": "PRAGMA query_only=ON",
    "postgresql": "SET TRANSACTION READ ONLY",
    "mysql": "START TRANSACTION READ ONLY",
    "mariadb": "START TRANSACTION READ ONLY",
}
# MySQL writes files on its server even then.
_INTO_FILE = re.compile(r"\b(outfile|dumpfile)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Answer:
    """The rows of a query below the names of its columns; NULL is None."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def select(home: Home, query: str) -> Answer:
    """Put one SELECT to the results store.

    Raises:
        SpecError: it is anything else, or two of its columns have the same name.
        StoreError: there is no store, or its database does not understand the query.
    """
    text = query.strip().removesuffix(";").rstrip()
    if not re.match(r"(select|with)\b", text, re.IGNORECASE) or _INTO_FILE.search(text):
        raise SpecError(
            f"sql: only reads: write one statement that begins with SELECT or WITH, not {text!r}"
        )
    if ";" in text:
        raise SpecError(
            "sql: takes one statement: put another one into a command of its own (within a text, "
            "write char(59) for a semicolon)"
        )
    if not is_there(home):
        raise StoreError(f"there is no results store in {home.root}: nothing was measured yet")
    with open_store(home) as store, store.transaction() as connection:
        connection.exec_driver_sql(_READ_ONLY[connection.dialect.name])
        # Without parameters, drivers leave a % as it is.
        plainly = connection.execution_options(no_parameters=True)
        try:
            found = plainly.exec_driver_sql(text)
        except sa.exc.OperationalError as error:
            if "readonly database" in str(error.orig):
                raise SpecError("sql: only reads, and this would change the store") from error
            raise
        columns = tuple(found.keys())
        if twice := sorted({name for name in columns if columns.count(name) > 1}):
            raise SpecError(f"sql: two columns are called {twice[0]}: name one of them with AS")
        return Answer(columns, [tuple(map(_plain, row)) for row in found])


def _plain(cell: Any) -> Any:
    # Sums and means of MariaDB and PostgreSQL.
    return float(cell) if isinstance(cell, Decimal) else cell


def tables() -> Answer:
    """The store's tables with their columns."""
    rows = [(table.name, ", ".join(table.c.keys())) for table in METADATA.sorted_tables]
    return Answer(("table", "columns"), sorted(rows))
