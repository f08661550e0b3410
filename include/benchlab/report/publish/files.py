"""Publishes reports in Benchlab's home, in a directory per campaign.

Every report is published here first, whatever other destinations it has.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from benchlab.errors import StoreError, meaning_of
from benchlab.plan.fields.publish import FILES
from benchlab.report.publish.publisher import MAIN_PAGE, BasePublisher, Options, Publication


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
        write(publication.files, directory)
        for name in publication.lacks:
            _remove(directory / name)
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
    for name in bundle:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise StoreError(f"report file {name!r}: not a path within the report's directory")
    directory = directory.absolute()
    beside = directory.parent / f".{directory.name}.{secrets.token_hex(6)}"
    try:
        beside.mkdir(parents=True)
        for name, content in bundle.items():
            (beside / name).parent.mkdir(parents=True, exist_ok=True)
            (beside / name).write_bytes(content)
        if not _appear(beside, directory):
            for name in bundle:
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                (beside / name).replace(directory / name)
    except OSError as error:
        raise StoreError(
            f"{directory}: the report cannot be written: {meaning_of(error)}"
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return [directory / name for name in bundle]


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


def _remove(path: Path) -> None:
    """Remove a file or directory that an earlier report left, if it exists."""
    try:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(
            f"{path}: it is an earlier report's and cannot be removed: {meaning_of(error)}"
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
