"""The objects of a store: files of a campaign, and once it has ended, archives of them.

A campaign leaves four small files for each trial. When it has ended they are sealed: written into a
ZIP archive beside them, ``<campaign>/sealed-<hash>.zip``, whose members have the names that the
files had and are read one by one. An archive never changes; a campaign that was resumed has one for
each of its ends. Files go only after the archive is there, so a process that is killed loses none.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from io import BufferedRandom
from pathlib import Path
from zipfile import ZipFile, ZipInfo

from upath import UPath

from benchlab.errors import AwayError, StoreError, meaning_of

SEALED, _EMPTY_BYTES = "sealed-", 22
# What reading raises, also of an archive that is damaged.
_UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, EOFError)
# How storage fails while it is away: a network's, or a file server's.
_AWAY = (ConnectionError, TimeoutError)
# Names of botocore's classes, which need not be installed.
_AWAY_IN_S3 = frozenset({"HTTPClientError", "ConnectionError"})
_AWAY_NUMBERS = frozenset(
    getattr(errno, name)
    for name in ("EAGAIN", "EBUSY", "EHOSTUNREACH", "ENETDOWN", "ENETUNREACH", "ESTALE")
)


class Objects:
    """Files below a directory, or any URL that fsspec reads: ``Objects(home.objects).read(name)``.

    Example:
        ``objects.write("c1/r1.txt", b"x"); objects.seal("c1", ["c1/r1.txt"])``
    """

    def __init__(self, root: UPath) -> None:
        self.root = root
        # The archives of the campaign that was read last, by the names in them. A page reads
        # hundreds of objects of one campaign, in whatever thread.
        self._sealed: dict[str, ZipFile] = {}
        self._opened = contextlib.ExitStack()
        self._turn = threading.Lock()

    def close(self) -> None:
        """Close the archives that were read."""
        with self._turn:
            self._forget()

    def write(self, name: str, content: bytes) -> None:
        """Write an object.

        Raises:
            StoreError: it cannot be written.
        """
        path = self.root / name
        with _named(path, "written"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def read(self, name: str) -> bytes:
        """Read an object, sealed or not.

        Raises:
            StoreError: it is missing or cannot be read.
        """
        if "\0" in name:  # of a store that is damaged
            raise StoreError(f"{self.root}: {name!r} is not the name of an object")
        path = self.root / name
        with _named(path, "read"):
            with self._turn:
                if (archive := self._sealed.get(name)) is not None:
                    return archive.read(name)
            try:
                return path.read_bytes()
            except FileNotFoundError:
                # Perhaps sealed just now. Only then is the file gone, so this comes second.
                with self._turn:
                    self._open(name.partition("/")[0])
                    if (archive := self._sealed.get(name)) is None:
                        raise
                    return archive.read(name)

    def seal(self, campaign: str, names: Collection[str]) -> None:
        """Seal objects of a campaign that will not be written again; sealed ones stay as they are.

        Repeatable, and harmless while another process does the same.

        Raises:
            StoreError: they cannot be sealed; they can still be read.
        """
        folder = self.root / campaign
        with _named(folder, "sealed"):
            there = {f"{campaign}/{path.name}" for path in _files(folder)}
            with self._turn, tempfile.TemporaryFile() as made:
                self._open(campaign)
                sealed = self._pack(sorted(there.intersection(names)), made)
                self._forget()
                if made.seek(0, os.SEEK_END) > _EMPTY_BYTES:
                    _place(folder, made)
            for name in sealed:
                (self.root / name).unlink(missing_ok=True)

    def has(self, name: str) -> bool:
        """Whether an object is there, sealed or not."""
        try:
            self.read(name)
        except StoreError:
            return False
        return True

    def below(self, folder: str) -> dict[str, int]:
        """The sizes in bytes of the files below a folder, by name; empty if there are none.

        Raises:
            StoreError: they cannot be listed.
        """
        path, root = self.root / folder, str(self.root.path).rstrip("/")
        with _named(path, "listed"):
            found = path.fs.find(path.path, detail=True) if path.exists() else {}
        return {name.removeprefix(f"{root}/"): int(of["size"]) for name, of in found.items()}

    def remove(self, names: Iterable[str]) -> None:
        """Remove files; those that are gone already do not matter.

        Raises:
            StoreError: one cannot be removed.
        """
        for path in (self.root / name for name in names):
            with _named(path, "removed"):
                path.unlink(missing_ok=True)

    def remove_all(self, campaign: str) -> None:
        """Remove all objects of a campaign; repeatable.

        Raises:
            StoreError: they cannot be removed.
        """
        path = self.root / campaign
        self.close()
        with _named(path, "removed"):
            if path.exists():
                path.fs.rm(path.path, recursive=True)

    def _pack(self, names: Collection[str], made: BufferedRandom) -> list[str]:
        """Write an archive of what is in none yet; returns the names of all that is in one.

        A process that was killed, and one that does the same, have left some to be removed alone.
        The same objects give the same bytes, so that two processes do not leave two archives.
        """
        sealed = []
        with ZipFile(made, "w") as archive:
            for name in names:
                with contextlib.suppress(FileNotFoundError):  # another process has sealed it
                    content, before = (self.root / name).read_bytes(), self._sealed.get(name)
                    if before is None or before.read(name) != content:
                        archive.writestr(ZipInfo(name), content, zipfile.ZIP_DEFLATED, 9)
                    sealed.append(name)
        return sealed

    def _open(self, campaign: str) -> None:
        self._forget()
        for path in sorted(_files(self.root / campaign), key=str):
            if path.name.startswith(SEALED):
                archive = ZipFile(self._opened.enter_context(path.open("rb")))
                self._sealed |= dict.fromkeys(archive.namelist(), archive)

    def _forget(self) -> None:
        self._sealed = {}
        self._opened.close()


@contextlib.contextmanager
def _named(path: UPath, done: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        is_of_s3 = type(error).__module__.startswith("botocore.")  # without s3fs there is none
        if not (isinstance(error, _UNREADABLE) or is_of_s3):
            raise
        is_away = isinstance(error, _AWAY) or getattr(error, "errno", None) in _AWAY_NUMBERS
        # s3fs passes on what botocore says of the connection, and of credentials that are missing.
        names = {kind.__name__ for kind in type(error).__mro__}
        is_away = is_away or (is_of_s3 and not names.isdisjoint(_AWAY_IN_S3))
        kind = AwayError if is_away else StoreError
        raise kind(f"{path}: cannot be {done}: {meaning_of(error)}") from error


def _files(folder: UPath) -> list[UPath]:
    folder.fs.invalidate_cache(folder.path)  # what another process has sealed
    return list(folder.iterdir()) if folder.exists() else []


def _place(folder: UPath, made: BufferedRandom) -> None:
    """Let an archive appear as a whole; an object store does so by itself."""
    made.seek(0)
    place = folder / f"{SEALED}{hashlib.file_digest(made, 'sha256').hexdigest()[:16]}.zip"
    made.seek(0)
    if "file" not in place.fs.protocol:
        with place.open("wb") as target:
            shutil.copyfileobj(made, target)
        return
    at = Path(place.path)
    part = at.with_name(f".{at.name}.{secrets.token_hex(6)}")
    with part.open("wb") as file:
        shutil.copyfileobj(made, file)
        file.flush()
        os.fsync(file.fileno())  # the files go next
    part.replace(at)
