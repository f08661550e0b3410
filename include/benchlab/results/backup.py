"""Copies a results store with its objects and reports, and puts them into an empty home.

>>> make(home, Path("/mnt/monday"), (), print)
>>> restore(home, Path("/mnt/monday"), print)

The database is copied first: an object is written before the row that names it, so the copy has the
objects of all its rows, even if a campaign runs meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import pydantic
import sqlalchemy as sa
from sqlalchemy.engine import Connection, make_url
from upath import UPath

from benchlab.errors import StoreError, meaning_of
from benchlab.home import Home
from benchlab.plan.documents import Frozen, faults
from benchlab.results import revisions
from benchlab.results.journal import FOLDER
from benchlab.results.objects import SEALED, Objects
from benchlab.results.rows import METADATA, TRIALS
from benchlab.results.store import is_there, open_store

# What a backup consists of. The manifest is written last: without it, a backup is incomplete.
MANIFEST = "backup.json"
_DATABASE, _DUMP, _OBJECTS, _HOME = "results.db", "results.dump", "objects", "home"
_REPORTS = "reports"
_NAMED = ("raw", "series", "hosts", "counts")
_HEAD = b"SQLite format 3\0"
_Ignore = Callable[[str, list[str]], set[str]]
_Short = pydantic.Field(max_length=200)
# What SQLite keeps beside a database while it is open.
_BESIDE = ("-wal", "-shm", "-journal")


def _named_in_home(name: str) -> str:
    """The name of a directory in a backup; one that leads elsewhere is none."""
    folder, _, own = name.rpartition("/")
    if name != _OBJECTS and (folder != _HOME or own in ("", ".", "..") or not own.isprintable()):
        raise ValueError(f"{_OBJECTS!r} or {_HOME + '/...'!r} is expected")
    return name


class Manifest(Frozen):
    """What is in a backup, by which its restore is checked.

    Attributes:
        rows: of each table; empty for a dump of a database server.
        files: in each directory of the backup.
        missing: objects that rows name and the backup does not have; they were missing before.
    """

    benchlab: str
    revision: str
    at: str
    rows: dict[str, int]
    files: dict[Annotated[str, pydantic.AfterValidator(_named_in_home), _Short], int]
    missing: int


def make(home: Home, to: Path, also: Sequence[str], say: Callable[[str], None]) -> None:
    """Copy store, objects and reports into a new directory, which only this account can read.

    A store on a server is not copied: its dump must be there already.

    Args:
        also: names of other directories of the home to copy, such as ``builds``.
        say: receives a line for each thing copied, and for what is not.

    Raises:
        StoreError: there is no store, the directory cannot be used, or its dump is not in it; then
            names the command that makes it.
    """
    others = _others(home)
    if unknown := sorted(set(also) - others.keys()):
        raise StoreError(
            f"{home.root} has no directory {unknown[0]!r} to copy; it has: "
            f"{', '.join(others) or 'none'}"
        )
    if not is_there(home):
        raise StoreError(f"there is no results store in {home.root}: nothing to copy")
    url = make_url(home.store_url)
    own = url.get_backend_name() == "sqlite"
    _take(home, to, dump=None if own else _dump_command(url, to / _DUMP))
    if own:
        with open_store(home) as store, store.transaction() as connection:
            revisions.copied(connection, to / _DATABASE)
        url = sa.URL.create("sqlite", database=str(to / _DATABASE))
    files = {}
    if (objects := _local(home.objects)) is not None:
        _copy_tree(objects, to / _OBJECTS)
        _copy_sealed(objects, to / _OBJECTS)
        files[_OBJECTS] = _count(to / _OBJECTS)
    for name in (_REPORTS, FOLDER, *also):
        files[f"{_HOME}/{name}"] = _copy_tree(home.root / name, to / _HOME / name)
    with _reading(url) as connection:
        made = Manifest(
            benchlab=revisions.own_version(),
            revision=revisions.of(connection) or "",
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            rows=_rows(connection) if own else {},
            files=files,
            missing=0 if objects is None else _missing(connection, to / _OBJECTS),
        )
    (to / MANIFEST).write_text(made.model_dump_json(indent=1), encoding="utf-8")
    _say(made, say)
    if objects is None:
        say(f"not copied: the objects in {home.objects}; use that storage's own tools")
    for name in sorted(others.keys() - set(also)):
        say(f"not copied: {others[name]}; --with {name} copies it too")


def restore(home: Home, source: Path, say: Callable[[str], None]) -> None:
    """Put a backup into an empty home, and check that all of it is there; all or nothing.

    A dump must have been loaded into the database that ``BENCHLAB_STORE_URL`` names.

    Raises:
        StoreError: the home is not empty, the backup is incomplete or of a newer Benchlab, or the
            dump is not loaded; then names the command that loads it.
    """
    made = _manifest(source)
    targets = {source / name: _target(home, name) for name in made.files}
    url = make_url(home.store_url)
    kept = source / (_DATABASE if made.rows else _DUMP)
    if not kept.exists():
        raise StoreError(f"{kept} is missing: {source} is not a complete backup")
    if bool(made.rows) != (url.get_backend_name() == "sqlite"):
        kind = "a file of SQLite" if made.rows else "a dump of a database server"
        raise StoreError(
            f"{kept} is {kind}, and the results store is {revisions.shown(url)}: name one of the "
            "same kind in BENCHLAB_STORE_URL"
        )
    if made.rows:
        targets[kept] = Path(url.database or "")
    for begin, target in targets.items():
        _refuse(source, begin, target)
    opened = sa.URL.create("sqlite", database=str(kept)) if made.rows else url
    with _reading(opened, _load_command(url, kept)) as connection:
        revision = revisions.of(connection) or ""
        if revision not in revisions.known():
            revisions.refuse_others(connection, revision)
    with contextlib.ExitStack() as undo:
        for begin, target in targets.items():
            undo.callback(_remove, target)
            if begin.is_file():
                _copy_file(begin, target)
            else:
                _copy_tree(begin, target, partial(_leading_out, begin.resolve()))
        _prove(home, made, url)
        undo.pop_all()
    _say(made, say)
    if revision != revisions.known()[-1]:
        say(f"the store has revision {revision}: `benchlab store upgrade` makes it this Benchlab's")


def _refuse(source: Path, begin: Path, target: Path) -> None:
    """Refuse to copy what is no part of a backup, or to where something is."""
    if not begin.resolve().is_relative_to(source.resolve()):
        raise StoreError(f"{begin} leads out of the backup: nothing was put back")
    if target.is_file() or (target.is_dir() and any(target.iterdir())):
        raise StoreError(
            f"{target} is there already: a backup is put into an empty home only; name another "
            "one in BENCHLAB_HOME, or move this one away"
        )


def _prove(home: Home, made: Manifest, url: sa.URL) -> None:
    """Refuse what was put back unless it has the rows and files that were backed up."""
    there = {name: _count(_target(home, name)) for name in made.files}
    objects = _local(home.objects)
    with _reading(url) as connection:
        rows = _rows(connection) if made.rows else {}
        lost = 0 if objects is None else _missing(connection, objects)
    found = {**there, **rows, "objects that are missing": max(lost, made.missing)}
    backed_up = {**made.files, **made.rows, "objects that are missing": made.missing}
    for name in {**backed_up, **found}:
        if found.get(name) != backed_up.get(name):
            raise StoreError(
                f"the backup is damaged, and nothing was put back: {name}: {found.get(name, 0)}, "
                f"and {backed_up.get(name, 0)} when it was made"
            )


def _say(made: Manifest, say: Callable[[str], None]) -> None:
    if made.rows:
        say(
            f"results store of revision {made.revision}: {made.rows['campaigns']} campaigns, "
            f"{made.rows['trials']} trials"
        )
    for name, count in made.files.items():
        say(f"{name.removeprefix(f'{_HOME}/')}: {count} files")
    if made.missing:
        say(f"missing before the backup: {made.missing} objects that the store names")


def _others(home: Home) -> dict[str, str]:
    """What else is in the home, by directory, each with its size and how much of it is secret."""
    objects, found = _local(home.objects), {}
    for folder in sorted(home.root.iterdir() if home.root.is_dir() else ()):
        if not folder.is_dir() or folder.name in (_REPORTS, FOLDER) or folder == objects:
            continue
        states = [path.lstat() for path in folder.rglob("*") if path.is_file()]
        secret = sum(not state.st_mode & 0o077 for state in states)
        told = f"; files that only this account can read: {secret}" * bool(secret)
        size = sum(state.st_size for state in states) / 1e6
        found[folder.name] = f"{folder.name} ({size:.0f} MB{told})"
    return found


def _take(home: Home, to: Path, dump: str | None) -> None:
    """Make the directory of a backup, or refuse one that is in use or inside the home."""
    if home.root in (to.resolve(), *to.resolve().parents):
        raise StoreError(f"{to} is inside {home.root}, which it is to replace: name another place")
    try:
        to.mkdir(mode=0o700, parents=True, exist_ok=True)
        there = {path.name for path in to.iterdir()}
        to.chmod(0o700)
    except OSError as error:
        raise StoreError(f"{to}: no backup can be made there: {meaning_of(error)}") from error
    if dump is not None and _DUMP not in there:
        raise StoreError(f"the results store is on a server: `{dump}`, then run this again")
    if there - {_DUMP}:
        raise StoreError(f"{to} is not empty: name a new directory for each backup")


def _manifest(source: Path) -> Manifest:
    try:
        return Manifest.model_validate_json((source / MANIFEST).read_bytes())
    except OSError as error:
        raise StoreError(
            f"{source / MANIFEST}: {meaning_of(error)}; {source} is not a complete backup"
        ) from error
    except pydantic.ValidationError as error:
        why = "; ".join(map(str, faults(error)))
        raise StoreError(f"{source / MANIFEST} cannot be read: {why}") from None


def _target(home: Home, name: str) -> Path:
    """Where a directory of a backup belongs."""
    if name != _OBJECTS:
        return home.root / Path(name).name
    if (objects := _local(home.objects)) is None:
        raise StoreError(
            f"BENCHLAB_OBJECTS is {home.objects}: name a directory, to which the objects are copied"
        )
    return objects


def _local(objects: UPath) -> Path | None:
    return Path(objects.path) if objects.protocol in ("", "file", "local") else None


@contextlib.contextmanager
def _reading(url: sa.URL, load: str = "") -> Iterator[Connection]:
    """A connection to a store of any known revision.

    Raises:
        StoreError: it cannot be read, or there is none.
    """
    engine = sa.create_engine(url)
    try:
        with engine.connect() as connection:
            if revisions.of(connection) is None:
                raise StoreError(f"{revisions.shown(url)} has no results store: `{load}` loads it")
            yield connection
    except sa.exc.SQLAlchemyError as error:
        why = getattr(error, "orig", None) or error
        raise StoreError(f"results store {revisions.shown(url)} cannot be read: {why}") from error
    finally:
        engine.dispose()


def _rows(connection: Connection) -> dict[str, int]:
    there = set(sa.inspect(connection).get_table_names())
    counted = (table for name, table in METADATA.tables.items() if name in there)
    count = sa.select(sa.func.count())
    return {table.name: connection.scalar(count.select_from(table)) or 0 for table in counted}


def _missing(connection: Connection, objects: Path) -> int:
    """How many objects are missing of those that trials name."""
    there = {column["name"] for column in sa.inspect(connection).get_columns(TRIALS.name)}
    columns = [TRIALS.c[name] for name in _NAMED if name in there]
    named = {name for row in connection.execute(sa.select(*columns)) for name in row if name}
    loose = {name for name in named if (objects / name).is_file()}
    with contextlib.closing(Objects(UPath(objects))) as kept:
        return sum(not kept.has(name) for name in sorted(named - loose))


def _copy_tree(source: Path, target: Path, left_out: _Ignore | None = None) -> int:
    """Copy a directory with its permissions, if it exists; returns the number of files copied."""
    if source.is_dir():
        leave = left_out or _left_out
        try:
            shutil.copytree(source, target, True, leave, _copy_file, dirs_exist_ok=True)
        except OSError as error:
            raise StoreError(f"{source}: cannot be copied to {target}: {error}") from error
    return _count(target)


def _copy_sealed(source: Path, target: Path) -> None:
    """Copy the archives of campaigns that were sealed after their directory was listed.

    The files in them may have gone before they were copied; an archive never goes.
    """
    for archive in sorted(source.glob(f"*/{SEALED}*.zip")):
        copy = target / archive.relative_to(source)
        if not copy.exists():
            _copy_file(archive, copy)


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Sockets and pipes, a report that is just being written, and what SQLite has beside a file."""
    found = {f"{name}{end}" for name in names for end in _BESIDE}
    if Path(folder).name == _REPORTS:
        found |= {name for name in names if name.startswith(".")}
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            kind = stat.S_IFMT(os.lstat(f"{folder}/{name}").st_mode)
            if kind not in (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK):
                found.add(name)
    return found


def _leading_out(top: Path, folder: str, names: list[str]) -> set[str]:
    """What is left out of a backup that somebody may have changed: links by which a later write
    would reach a file outside.
    """
    links = (name for name in names if Path(folder, name).is_symlink())
    out = {name for name in links if not Path(folder, name).resolve().is_relative_to(top)}
    return out | _left_out(folder, names)


def _copy_file(source: str | Path, target: str | Path) -> None:
    """Copy a file that may be written or removed meanwhile; at no time may others read a secret."""
    source, target = Path(source), Path(target)
    try:
        with contextlib.ExitStack() as opened:
            try:
                file = opened.enter_context(source.open("rb"))
            except FileNotFoundError:
                return  # removed meanwhile, as by `campaigns delete`
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            copy = opened.enter_context(os.fdopen(descriptor, "wb"))
            is_database = file.read(len(_HEAD)) == _HEAD
            file.seek(0)
            if not is_database:
                shutil.copyfileobj(file, copy)
            state = os.fstat(file.fileno())
            os.fchmod(copy.fileno(), stat.S_IMODE(state.st_mode))
        if is_database:
            _copy_database(source, target)
        os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
    except (OSError, sqlite3.Error) as error:
        why = meaning_of(error)
        raise StoreError(f"{source}: cannot be copied to {target}: {why}") from error


def _copy_database(source: Path, target: Path) -> None:
    opened = map(partial(sqlite3.connect, timeout=30), (source, target))
    with contextlib.ExitStack() as stack:
        of, to = (stack.enter_context(contextlib.closing(one)) for one in opened)
        of.backup(to)


def _count(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def _remove(path: Path) -> None:
    """Remove what a failed restore has copied."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _dump_command(url: sa.URL, file: Path) -> str:
    """The command that dumps a database, without its password, which the program asks for."""
    if url.get_backend_name() == "postgresql":
        return _command("pg_dump", url, "username", ["--format=custom", f"--file={file}"])
    own = ["--password", "--single-transaction", f"--result-file={file}"]
    return _command("mysqldump", url, "user", own)


def _load_command(url: sa.URL, file: Path) -> str:
    if url.get_backend_name() == "postgresql":
        database = ["--no-owner", f"--dbname={url.database}", str(file)]
        return _command("pg_restore", url.set(database=""), "username", database)
    return f"{_command('mysql', url, 'user', ['--password'])} < {shlex.quote(str(file))}"


def _command(program: str, url: sa.URL, user: str, options: Sequence[str]) -> str:
    reached = {"host": url.host, "port": url.port, user: url.username}
    words = [f"--{name}={value}" for name, value in reached.items() if value]
    return shlex.join([program, *words, *options, *([url.database] if url.database else [])])
