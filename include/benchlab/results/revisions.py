"""The revisions of the store's schema: finds a database's, and upgrades it to the newest.

A revision is a file ``migrations/versions/revision_<number>.py``, which Alembic runs. The newest is
the schema in :mod:`benchlab.results.rows`; a new store is created with it directly.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from benchlab.errors import StoreError
from benchlab.results.rows import METADATA, REVISIONS

if TYPE_CHECKING:
    from alembic.runtime.migration import MigrationContext, MigrationInfo

FOLDER = Path(__file__).parent / "migrations"
CURRENT = sa.Table(
    "benchlab_revision", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True)
)
"""Alembic's own table, of one row. It is created first and filled last: without a row, the store is
still being created."""


def known() -> list[str]:
    """The revisions that this Benchlab knows, in order: ``["0001", "0002"]``."""
    files = (FOLDER / "versions").glob("revision_*.py")
    return sorted(file.stem.removeprefix("revision_") for file in files)


def of(connection: Connection) -> str | None:
    """The revision of a database; None if its store does not exist yet or is incomplete.

    Raises:
        StoreError: it has a table named like a store's, but none with a revision.
    """
    tables = set(sa.inspect(connection).get_table_names())
    if CURRENT.name in tables:
        return connection.scalar(sa.select(CURRENT.c.version_num))
    if taken := sorted(tables & METADATA.tables.keys()):
        raise StoreError(
            f"{_store(connection)} has a table {taken[0]} that no release of Benchlab made: name "
            "another database in BENCHLAB_STORE_URL, or move its file away"
        )
    return None


def create(connection: Connection) -> None:
    """Create the tables of the newest revision; existing ones stay."""
    CURRENT.create(connection, checkfirst=True)
    METADATA.create_all(connection)
    _record(connection, known()[-1])
    connection.execute(CURRENT.insert().values(version_num=known()[-1]))


def refuse_others(connection: Connection, revision: str) -> None:
    """Refuse a store whose revision is not the newest.

    Raises:
        StoreError: it is older and needs an upgrade, or newer; then names the Benchlab needed.
    """
    newest = known()[-1]
    if revision in known()[:-1]:
        raise StoreError(
            f"{_store(connection)} has revision {revision}, this Benchlab needs {newest}: stop "
            "everything that writes to it, then run `benchlab store upgrade`"
        )
    if revision != newest:
        made_by = connection.scalar(sa.select(REVISIONS.c.benchlab).filter_by(revision=revision))
        raise StoreError(
            f"{_store(connection)} has revision {revision} of Benchlab {made_by}; this is Benchlab "
            f"{own_version()}, which knows {newest}: use Benchlab {made_by} or a newer one"
        )


def upgrade(engine: Engine, say: Callable[[str], None]) -> None:
    """Upgrade a store to the newest revision; does nothing if it has that, or does not exist.

    An SQLite file is copied first. In SQLite and PostgreSQL the upgrade is one transaction; MySQL
    and MariaDB keep the revisions reached, and the next attempt continues from there.

    Args:
        say: receives a sentence for each thing done.

    Raises:
        StoreError: a newer Benchlab made it, or its copy cannot be written.
        sqlalchemy.exc.SQLAlchemyError: the database refuses a statement.
    """
    newest = known()[-1]
    with engine.connect() as connection:
        before = of(connection)
        if before in (None, newest):
            return
        if before not in known():
            refuse_others(connection, before)
        if engine.dialect.name == "sqlite":
            file = Path(engine.url.database or "")
            copy = file.with_name(f"{file.name}.revision-{before}")
            copied(connection, copy)
            say(f"{_store(connection)}: copied to {copy}")
        else:
            say(
                f"{_store(connection)}: make a backup of it first; a store on a server is not "
                "copied"
            )
    with _one_transaction(engine) as connection:
        _migrate(connection)
        say(f"{_store(connection)}: upgraded from revision {before} to {newest}")


def note(ctx: MigrationContext, step: MigrationInfo, *_: Any, **__: Any) -> None:
    """Record this Benchlab as the one that reached a revision; Alembic calls it after each."""
    if ctx.connection is not None:  # None where Alembic only writes an SQL script
        for revision in step.up_revision_ids:
            _record(ctx.connection, revision)


def copied(connection: Connection, copy: Path) -> None:
    """Copy an SQLite file, with what other connections have committed to its WAL.

    Others may write into it meanwhile; the copy is the file as it was at one moment.

    Raises:
        StoreError: the copy cannot be written.
    """
    part = copy.with_name(f"{copy.name}.part")
    part.unlink(missing_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(part)) as target:
            driver = connection.connection.driver_connection
            driver.backup(target)  # type: ignore[union-attr]
            # Without a WAL it can be read where nothing can be written.
            target.execute("PRAGMA journal_mode=DELETE")
        part.replace(copy)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"{_store(connection)} was not changed: its copy {copy} cannot be written: {error}"
        ) from error


def own_version() -> str:
    """The version of this Benchlab: ``1.0.0``."""
    return metadata.version("benchlab")


def shown(url: sa.URL) -> str:
    """A database's URL for messages, without password and query, which may both be secret."""
    return url.set(query={}).render_as_string(hide_password=True)


def _store(connection: Connection) -> str:
    return f"results store {shown(connection.engine.url)}"


def _record(connection: Connection, revision: str) -> None:
    at = datetime.now(UTC).isoformat()
    row = {"revision": revision, "benchlab": own_version(), "at": at}
    connection.execute(REVISIONS.insert().values(row))


@contextlib.contextmanager
def _one_transaction(engine: Engine) -> Iterator[Connection]:
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            # SQLite changes a table by replacing it, while rows of other tables refer to it.
            connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # its driver begins none before DDL
        yield connection
        connection.commit()


def _migrate(connection: Connection) -> None:
    from alembic import command  # only an upgrade waits for it
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    command.upgrade(config, "head")
