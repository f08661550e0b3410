"""A bundle as a ZIP archive, or as the directory into which one was unpacked.

The same files always give the same archive. Its comment has the SHA-256 of everything before it, so
that no byte can change unnoticed, not even in a header. Nothing is ever unpacked: files are read in
place, and no name in an archive is used as a path.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import stat
import struct
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchlab.errors import EvidenceError, meaning_of

# The most that is read: of one file (more than a client may print, see campaign/trial.py), of all
# files together, and how many files.
MAX_FILE_BYTES = 512 * 1024**2
MAX_BYTES = 4 * 1024**3
MAX_FILES = 100_000
# The most that is read of files that are parsed as a whole, by how their names begin. A parsed text
# takes up to thirty times its size; a campaign of 7,000 trials on one machine, or of 3,000 on ten
# hosts, stays below these.
_MIB = 1024**2
LIMITS = {
    "manifest.json": 8 * _MIB,
    "campaign.json": 8 * _MIB,
    "trials.json": 64 * _MIB,
    "calibration/": 64 * _MIB,
    "report/": 8 * _MIB,
}

_CHUNK = 1 << 20
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a ZIP archive knows
_COMMENT = b"benchlab evidence, sha256 of all before: "
_COMMENT_LENGTH = len(_COMMENT) + 64
_NAME = re.compile(r"[^\\\x00-\x1f\x7f]{1,500}")
_DIRECTORY_ENTRY = re.compile(r"[^\\\x00-\x1f\x7f]{1,500}/")
# What zipfile raises for archives that are broken or were made to break their reader.
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError),
    *(RuntimeError, OverflowError, MemoryError),
)


class FaultyFileError(EvidenceError):
    """A file of a bundle cannot be read, or is not what it should be.

    Attributes:
        file: its name.
        fault: what is wrong with it, without its name.
    """

    def __init__(self, file: str, fault: str) -> None:
        super().__init__(f"{file}: {fault}")
        self.file, self.fault = file, fault


class Archive(ABC):
    """The files of a bundle.

    Attributes:
        names: of all files that can be read, sorted.
        faults: what is wrong with the bundle as a container, as (file, what was found); an archive
            whose directory cannot be read has no names.
    """

    names: tuple[str, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()

    @abstractmethod
    def chunks(self, name: str) -> Iterator[bytes]:
        """A file's content, piece by piece; raises :class:`FaultyFileError` if unreadable."""

    def altered(self) -> tuple[str, str] | None:
        """The part that was changed outside its files, and how; None: nothing was."""
        return None


def pack(files: Mapping[str, bytes]) -> bytes:
    """The archive of these files. The same files give the same bytes, with the same zlib.

    Raises:
        EvidenceError: a name or a size is one that would be refused when it is read.
    """
    for name, content in files.items():
        if (fault := name_fault(name)) is not None:
            raise EvidenceError(f"evidence bundle: {shown(name)}: {fault}")
        if (fault := _size_fault(name, len(content))) is not None:
            raise EvidenceError(f"evidence bundle: {name}: {fault}")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.create_system = 3  # Unix, whose modes the next line has
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name], compresslevel=6)
        archive.comment = _comment(b"")
    body = buffer.getvalue()[:-_COMMENT_LENGTH]
    return body + _comment(body)


@contextlib.contextmanager
def open_bundle(path: Path) -> Iterator[Archive]:
    """A bundle, open while it is read: an archive, or a directory.

    Raises:
        EvidenceError: there is nothing of this name, or it cannot be read at all.
    """
    with contextlib.ExitStack() as opened:
        try:
            if not path.is_dir() and not path.is_file():
                raise EvidenceError(
                    f"{path}: there is no such file; give the evidence.zip of a report, or the "
                    "directory into which it was unpacked"
                )
            found = _Directory(path) if path.is_dir() else _Zip(path, opened)
        except OSError as error:
            raise EvidenceError(f"{path}: cannot be read: {meaning_of(error)}") from error
        yield found


def read(archive: Archive, name: str) -> bytes:
    """A file's whole content; raises :class:`FaultyFileError` if it cannot be read."""
    return b"".join(archive.chunks(name))


def name_fault(name: str) -> str | None:
    """What is wrong with a file's name; None where it stays within the bundle."""
    if not _NAME.fullmatch(name) or any(part in ("", ".", "..") for part in name.split("/")):
        return "not a path within a bundle"
    return None


def shown(text: str, limit: int = 500) -> str:
    r"""A name or a sentence as one printable line of at most ``limit`` letters.

    >>> shown("a\nb")
    'a\\nb'
    """
    safe = text[:limit].encode("utf-8", "backslashreplace").decode("utf-8")
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in safe)[:limit]


class _Zip(Archive):
    """A ZIP archive, read in place; ``opened`` closes it."""

    def __init__(self, path: Path, opened: contextlib.ExitStack) -> None:
        self._path = path
        self._entries: dict[str, zipfile.ZipInfo] = {}
        file = opened.enter_context(path.open("rb"))
        try:
            self._archive = zipfile.ZipFile(file)
        except _UNREADABLE as error:
            self.faults = ((path.name, f"no ZIP archive, or its directory is damaged: {error}"),)
            return
        entries = self._archive.infolist()
        self.faults = tuple(_entry_faults(path.name, entries))
        if not self.faults:
            self._entries = {entry.filename: entry for entry in entries}
            self.names = tuple(sorted(self._entries))

    def chunks(self, name: str) -> Iterator[bytes]:
        try:
            with self._archive.open(self._entries[name]) as file:
                while chunk := file.read(_CHUNK):
                    yield chunk
        except _UNREADABLE as error:
            raise FaultyFileError(name, f"cannot be unpacked: {error}") from error

    def altered(self) -> tuple[str, str] | None:
        digest, comment = hashlib.sha256(), self._archive.comment
        left = self._path.stat().st_size - _COMMENT_LENGTH
        with self._path.open("rb") as file:
            while left > 0 and (chunk := file.read(min(left, _CHUNK))):
                digest.update(chunk)
                left -= len(chunk)
            end = file.read()
        expected = _COMMENT + digest.hexdigest().encode()
        if end == expected == comment:
            return None
        if not comment.startswith(_COMMENT) and not end.startswith(_COMMENT):
            sentence = (
                "not the archive that Benchlab wrote: its comment does not have its SHA-256; "
                "where it was packed anew, unpack it and verify the directory"
            )
            return self._path.name, sentence
        where = "in a header or its comment, not in a file's content"
        return self._path.name, f"changed since it was written: {where}"


class _Directory(Archive):
    """A directory into which an archive was unpacked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        found: list[str] = []
        faults: list[tuple[str, str]] = []
        size = 0
        for name, entry in _files(path):
            mode = entry.lstat()
            if (fault := name_fault(name)) is not None:
                faults.append((shown(name), fault))
            elif not stat.S_ISREG(mode.st_mode):
                faults.append((name, "not a file of its own: a link, a pipe or a device"))
            elif (fault := _size_fault(name, mode.st_size)) is not None:
                faults.append((name, fault))
            else:
                found.append(name)
                size += mode.st_size
            if size > MAX_BYTES or len(found) + len(faults) > MAX_FILES:
                faults.append((path.name, _too_much()))
                break
        self.names = tuple(sorted(found))
        self.faults = tuple(faults)

    def chunks(self, name: str) -> Iterator[bytes]:
        try:
            # Not through a link that was made since.
            handle = os.open(self._path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                left = _limit(name)
                while left > 0 and (chunk := file.read(min(_CHUNK, left))):
                    left -= len(chunk)
                    yield chunk
        except OSError as error:
            raise FaultyFileError(name, f"cannot be read: {meaning_of(error)}") from error


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """Everything in a directory except directories, by relative name; follows no links."""
    for directory, below, names in os.walk(root):
        links = [name for name in below if (Path(directory) / name).is_symlink()]
        for name in (*names, *links):
            path = Path(directory) / name
            yield path.relative_to(root).as_posix(), path


def _entry_faults(archive: str, entries: list[zipfile.ZipInfo]) -> Iterator[tuple[str, str]]:
    """Why an archive is not read any further, as (file, what was found)."""
    if len(entries) > MAX_FILES or sum(entry.file_size for entry in entries) > MAX_BYTES:
        yield archive, _too_much()
        return
    seen: set[str] = set()
    for entry in entries:
        # As written: zipfile cuts names at a NUL.
        name = entry.orig_filename
        mode = entry.external_attr >> 16
        if name in seen:
            yield shown(name), "is in the archive twice"
        elif name_fault(name) is not None:
            is_directory = _DIRECTORY_ENTRY.fullmatch(name) is not None
            yield shown(name), "a directory" if is_directory else "not a path within a bundle"
        elif stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            yield name, "not a file: a link, a pipe or a device"
        elif entry.compress_type not in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
            yield name, f"compressed by method {entry.compress_type}, which Benchlab does not write"
        elif (fault := _size_fault(name, entry.file_size)) is not None:
            yield name, fault
        seen.add(name)


def _limit(name: str) -> int:
    """The most bytes that are read of a file."""
    return next((most for begin, most in LIMITS.items() if name.startswith(begin)), MAX_FILE_BYTES)


def _size_fault(name: str, size: int) -> str | None:
    most = _limit(name)
    return f"{size} bytes; at most {most} are read" if size > most else None


def _too_much() -> str:
    return f"too large: at most {MAX_FILES} files and {MAX_BYTES} bytes are read"


def _comment(body: bytes) -> bytes:
    return _COMMENT + hashlib.sha256(body).hexdigest().encode()
