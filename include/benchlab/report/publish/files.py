"""Publishes reports in Benchlab's home, in a directory per campaign.

Every report is published here first, whatever other destinations it has.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from benchlab.errors import StoreError, meaning_of
from benchlab.plan.fields.publish import FILES
from benchlab.report.publish.publisher import MAIN_PAGE, BasePublisher, Options, Publication

# Of fcntl.h and linux/fs.h: names are relative to the working directory; exchange two names.
_HERE, _RENAME_EXCHANGE = -100, 2


class FilesOptions(Options):
    """No options: the home decides the place."""

    @property
    def place(self) -> str:
        return FILES


class Publisher(BasePublisher):
    """The directory of published reports in Benchlab's home."""

    options_model = FilesOptions

    def publish(self, publication: Publication) -> str:
        """See :meth:`BasePublisher.publish`; the address is the path of the main page."""
        directory = self.home.reports / publication.campaign
        replace(publication.files, directory, publication.lacks)
        return str(directory / MAIN_PAGE)


def write(bundle: Mapping[str, bytes], directory: Path) -> list[Path]:
    """Write the files of ``bundle`` into ``directory`` and return their paths.

    >>> write({"report.md": b"...", "charts/tps.svg": b"..."}, Path("/reports/c1"))
    [PosixPath('/reports/c1/report.md'), PosixPath('/reports/c1/charts/tps.svg')]

    A new directory appears as a whole. In an existing one, files are replaced one by one, so that
    nobody reads half a file; other files in it are left alone.

    Raises:
        StoreError: it cannot be written, or a name leads out of the directory.
    """
    with _beside(bundle, directory) as beside:
        _fill(beside, bundle)
        if not _appear(beside, directory):
            for name in bundle:
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                (beside / name).replace(directory / name)
    return [directory.absolute() / name for name in bundle]


def replace(bundle: Mapping[str, bytes], directory: Path, lacks: Iterable[str] = ()) -> None:
    """Like :func:`write`, but an existing directory is replaced at once.

    Whoever reads it finds the old report or the new one, and no mixture. Other files in it stay,
    except those that ``lacks`` names.

    Raises:
        StoreError: as :func:`write`; the directory is then as it was.
    """
    with _beside(bundle, directory) as beside:
        if directory.is_dir():
            shutil.copytree(directory, beside, symlinks=True, dirs_exist_ok=True)
        for name in lacks:
            _remove(beside / name, directory / name)
        _fill(beside, bundle)
        if not _appear(beside, directory):
            _exchange(beside, directory)


@contextlib.contextmanager
def _beside(bundle: Mapping[str, bytes], directory: Path) -> Iterator[Path]:
    """A new directory beside another one, which is removed afterwards if it still exists."""
    for name in bundle:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise StoreError(f"report file {name!r}: not a path within the report's directory")
    directory = directory.absolute()
    beside = directory.parent / f".{directory.name}.{secrets.token_hex(6)}"
    try:
        beside.mkdir(parents=True)
        yield beside
    except OSError as error:
        raise StoreError(
            f"{directory}: the report cannot be written: {meaning_of(error)}"
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _fill(folder: Path, bundle: Mapping[str, bytes]) -> None:
    for name, content in bundle.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).unlink(missing_ok=True)  # if it is a link, it leads elsewhere
        (folder / name).write_bytes(content)


def read(directory: Path) -> dict[str, bytes]:
    """Read the files below a directory, by relative path; empty if it does not exist.

    Raises:
        StoreError: a file cannot be read.
    """
    try:
        return {
            path.relative_to(directory).as_posix(): path.read_bytes()
            for path in sorted(directory.rglob("*"))
            if path.is_file()
        }
    except OSError as error:
        raise StoreError(f"{directory}: cannot be read: {meaning_of(error)}") from error


def _remove(path: Path, shown: Path) -> None:
    """Remove a file or directory that an earlier report left, if it exists."""
    try:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"{shown}: it is an earlier report's and cannot be removed: {meaning_of(error)}"
        ) from error


def _appear(beside: Path, directory: Path) -> bool:
    """Rename ``beside`` to ``directory``; False if that exists already."""
    try:
        if not directory.is_dir():
            beside.rename(directory)
            return True
    except OSError:
        if not directory.is_dir():  # else somebody has just made it
            raise
    return False


def _exchange(beside: Path, directory: Path) -> None:
    """Give each of two directories the other one's name, at once (renameat2(2))."""
    names = os.fsencode(beside), os.fsencode(directory.absolute())
    if ctypes.CDLL(None).renameat2(_HERE, names[0], _HERE, names[1], _RENAME_EXCHANGE) == 0:
        return
    # NFS, for instance, cannot do that: for an instant there is no report.
    old = beside.with_name(f"{beside.name}.old")
    directory.rename(old)
    try:
        beside.rename(directory)
    except OSError:
        old.rename(directory)
        raise
    shutil.rmtree(old)
