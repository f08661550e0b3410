"""The database of a results store: its connections, its tables, and its errors in plain words."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, make_url

from benchlab.errors import AwayError, StoreError, meaning_of
from benchlab.patience import Patience
from benchlab.results import revisions
from benchlab.results.rows import METADATA

# SQLite's messages about its file, and what a person can do.
_SQLITE = {
    "unable to open database file": "its file cannot be opened or created; give this account "
    "write permission for the file and its folder",
    "attempt to write a readonly database": "its file cannot be written; give this account "
    "write permission for the file and its folder",
    "database or disk is full": "the disk is full",
    "file is not a database": "its file is not an SQLite database",
    "database disk image is malformed": "its file is damaged; restore a backup",
}
# What drivers and servers say of a server that is stopped, starting or overloaded, or out of reach.
_AWAY = re.compile(
    r"can't connect|closed the connection|connection (refused|reset)|gone away|in recovery mode"
    r"|lost connection|name resolution|no route to host|shut(ting)? ?down|starting up|terminating"
    r" connection|timed out|too many (clients|connections)|unreachable|database is locked",
    re.IGNORECASE,
)


class StoreDatabase:
    """SQLite, or a database server; opening an empty one creates the tables.

    Args:
        url: SQLAlchemy's URL. Its password is never shown.
        say: if given, an older store is upgraded, and this receives a sentence for each thing done;
            without it, an older store is refused.
        patience: waits for the database at the beginning of a transaction if it is away.

    Attributes:
        shown_url: the URL without its password and its query, which may contain others.

    Raises:
        StoreError: the URL cannot be read, the database cannot be reached, or has another revision.

    Example:
        ``with StoreDatabase("sqlite:////path/results.db").transaction() as connection: ...``
    """

    def __init__(
        self,
        url: str,
        say: Callable[[str], None] | None = None,
        patience: Patience | None = None,
    ) -> None:
        self.patience = patience or Patience()
        try:
            parsed = make_url(url)
        except (sa.exc.ArgumentError, ValueError):
            raise StoreError(
                "results store: its URL (BENCHLAB_STORE_URL) cannot be read; write it as "
                "sqlite:////path/results.db, mysql+pymysql://user:password@host:3306/database or "
                "postgresql+psycopg2://user:password@host:5432/database"
            ) from None  # its text may contain the password
        self.shown_url = revisions.shown(parsed)
        try:
            if parsed.get_backend_name() == "sqlite" and parsed.database:
                _make_folder(Path(parsed.database).parent)
            if parsed.get_backend_name() in ("mysql", "mariadb"):
                parsed = parsed.update_query_dict({"charset": "utf8mb4"})
            self.engine = _connect(parsed)
        except (ImportError, sa.exc.ArgumentError) as error:
            raise StoreError(f"results store {self.shown_url}: {meaning_of(error)}") from error
        except (TypeError, ValueError):
            raise self._not_taken() from None
        try:
            if say is not None:
                with self._errors_named():
                    revisions.upgrade(self.engine, say)
            self._open()
        except StoreError:
            self.close()  # the caller has no store to close
            raise
        except (TypeError, ValueError):
            self.close()
            raise self._not_taken() from None  # its text may contain a password

    def _not_taken(self) -> StoreError:
        return StoreError(
            f"results store {self.shown_url}: its driver does not take the options after the ?"
        )

    def _open(self) -> None:
        # Another process may be creating the tables too: each failure means it created one more.
        for tries_left in reversed(range(len(METADATA.tables) + 2)):
            with self.transaction() as connection:
                if revision := revisions.of(connection):
                    revisions.refuse_others(connection, revision)
                    return
            try:
                with self.transaction() as connection:
                    revisions.create(connection)
            except (StoreError, sa.exc.IntegrityError):
                if not tries_left:
                    raise

    def close(self) -> None:
        """Close the database connections."""
        self.engine.dispose()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection whose statements take effect together or not at all.

        Raises:
            AwayError: the database cannot be reached, or was lost meanwhile.
            StoreError: it refuses a statement.
            sqlalchemy.exc.IntegrityError: a key exists already, or a foreign key does not.
        """
        with (
            self._errors_named(),
            self.patience.call(self._connected) as connection,
            connection.begin(),
        ):
            yield connection

    def _connected(self) -> Connection:
        with self._errors_named():
            return self.engine.connect()

    @contextlib.contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except sa.exc.IntegrityError:
            raise
        except sa.exc.SQLAlchemyError as error:
            cause = _cause(error)
            kind = AwayError if _AWAY.search(cause) else StoreError
            raise kind(f"results store {self.shown_url}: {cause}") from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"results store: its folder {folder} cannot be created: {meaning_of(error)}; "
            "BENCHLAB_HOME or BENCHLAB_STORE_URL names another"
        ) from error


def _connect(url: sa.URL) -> Engine:
    engine = sa.create_engine(url, pool_pre_ping=True)

    @sa.event.listens_for(engine, "handle_error")
    def _name(context: sa.engine.ExceptionContext) -> None:
        """Wrap errors that drivers raise themselves: an unknown option, a text with a NUL."""
        error = context.original_exception
        if context.sqlalchemy_exception is None and isinstance(
            error, ValueError | TypeError | OverflowError
        ):
            raise sa.exc.StatementError(str(error), None, None, error) from error

    if engine.dialect.name == "sqlite":

        @sa.event.listens_for(engine, "connect")
        def _configure(connection: Any, _: object) -> None:
            # Readers (progress, CLI) must not block the campaign that writes.
            connection.execute("PRAGMA busy_timeout=30000")
            _switch_to_wal(connection)
            connection.execute("PRAGMA foreign_keys=ON")

    return engine


def _switch_to_wal(connection: Any) -> None:
    """Retry the switch: if two processes try at once, SQLite refuses one without waiting."""
    deadline = time.monotonic() + 30
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _cause(error: sa.exc.SQLAlchemyError) -> str:
    """A database's own explanation, without error numbers of drivers and system."""
    cause = getattr(error, "orig", None) or error
    # PyMySQL raises pairs of a number and a text.
    text = cause.args[1] if len(getattr(cause, "args", ())) == 2 else str(cause)
    for said, meaning in _SQLITE.items():
        if str(text).startswith(said):
            return meaning
    return re.sub(r"\[Errno -?\d+\] ", "", str(text)).strip()
