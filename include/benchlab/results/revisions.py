"""The revisions of the store's schema: which one a database has, and its way to the newest.

A revision is a file ``migrations/versions/revision_<number>.py``, which Alembic runs; the newest is
what :mod:`benchlab.results.rows` describes. A new store is made as that at once.
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
"""Alembic's own table, of one row. It is made first and filled last: a store that has no row is
still being made."""


def known() -> list[str]:
    """The revisions that this Benchlab has, the first one first: ``["0001", "0002"]``."""
    files = (FOLDER / "versions").glob("revision_*.py")
    return sorted(file.stem.removeprefix("revision_") for file in files)


def of(connection: Connection) -> str | None:
    """The revision of a database; None where there is no store yet, or not all of it.

    Raises:
        StoreError: it has a table of a store, but no revision.
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
    """Make the tables of the newest revision; those that are there already stay."""
    CURRENT.create(connection, checkfirst=True)
    METADATA.create_all(connection)
    _record(connection, known()[-1])
    connection.execute(CURRENT.insert().values(version_num=known()[-1]))


def refuse_others(connection: Connection, revision: str) -> None:
    """Refuse a store that has another revision than the newest.

    Raises:
        StoreError: it is older, which an upgrade mends, or newer; names the Benchlab that made it.
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
    """Bring a store to the newest revision; does nothing where it has that, or there is none.

    A file of SQLite is copied first. There and in PostgreSQL all happens or nothing; MySQL and
    MariaDB keep the revisions that were reached, and the next attempt goes on from there.

    Args:
        say: is given each thing that happens, as a sentence.

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
            say(f"{_store(connection)}: copied to {_copied(connection, before)}")
        else:
            say(
                f"{_store(connection)}: make a backup of it first; a store on a server is not "
                "copied"
            )
    with _one_transaction(engine) as connection:
        _migrate(connection)
        say(f"{_store(connection)}: upgraded from revision {before} to {newest}")


def note(ctx: MigrationContext, step: MigrationInfo, *_: Any, **__: Any) -> None:
    """Note which Benchlab brought a store to a revision; Alembic calls it after each."""
    if ctx.connection is not None:  # as where a script is written instead
        for revision in step.up_revision_ids:
            _record(ctx.connection, revision)


def own_version() -> str:
    """The version of this Benchlab: ``0.1.0``."""
    return metadata.version("benchlab")


def shown(url: sa.URL) -> str:
    """A database's URL for people, without a password; its query may have others."""
    return url.set(query={}).render_as_string(hide_password=True)


def _store(connection: Connection) -> str:
    return f"results store {shown(connection.engine.url)}"


def _record(connection: Connection, revision: str) -> None:
    at = datetime.now(UTC).isoformat()
    row = {"revision": revision, "benchlab": own_version(), "at": at}
    connection.execute(REVISIONS.insert().values(row))


def _copied(connection: Connection, revision: str) -> Path:
    """A copy of SQLite's file, beside it; it has also what other connections have just written."""
    file = Path(connection.engine.url.database or "")
    copy = file.with_name(f"{file.name}.revision-{revision}")
    part = copy.with_name(f"{copy.name}.part")
    part.unlink(missing_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(part)) as target:
            driver = connection.connection.driver_connection
            driver.backup(target)  # type: ignore[union-attr]
        part.replace(copy)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(
            f"results store {file} was not changed: its copy {copy} cannot be written: {error}"
        ) from error
    return copy


@contextlib.contextmanager
def _one_transaction(engine: Engine) -> Iterator[Connection]:
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            # It changes a table by making another one in its place, which rows of others name.
            connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
            connection.exec_driver_sql("BEGIN IMMEDIATE")  # its driver begins none for such changes
        yield connection
        connection.commit()


def _migrate(connection: Connection) -> None:
    from alembic import command  # only an upgrade waits for it
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    command.upgrade(config, "head")
