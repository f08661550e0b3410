"""Where the site's files are kept: a directory, or a prefix of a bucket of S3."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from benchlab.errors import PublishError, SpecError, TargetError, meaning_of
from benchlab.hosts.access import Access
from benchlab.report.publish.s3.bucket import Bucket

_CORRECT = "correct `--to s3://bucket/prefix` and `--region`"


class Folder(ABC):
    """Files by name, such as ``campaigns/c1/index.html``; every call raises PublishError."""

    @abstractmethod
    def names(self) -> set[str]:
        """All files that are there, whoever wrote them."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """A file's content; None where there is none."""

    @abstractmethod
    def write(self, name: str, content: bytes) -> None:
        """Write a file, so that a reader finds the old one or the new one."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove a file; harmless where there is none."""


def folder_at(to: str, region: str, access: Access) -> Folder:
    """The folder of an address: ``folder_at("s3://bucket/benchmarks", "eu-west-1", Access())``.

    Raises:
        SpecError: it is another kind of address.
        PublishError: there is no client for S3.
    """
    parts = urlsplit(to)
    if parts.scheme == "s3" and parts.netloc:
        return _Objects(to, parts.netloc, parts.path.strip("/"), region, access)
    if "://" in to:
        raise SpecError(f"--to {to!r}: name a directory, or s3://bucket/prefix")
    return _Directory(Path(to))


class _Directory(Folder):
    def __init__(self, path: Path) -> None:
        self._path = path.absolute()

    def names(self) -> set[str]:
        with self._errors("listing", self._path):
            return {
                path.relative_to(self._path).as_posix()
                for path in self._path.rglob("*")
                if path.is_file()
            }

    def read(self, name: str) -> bytes | None:
        path = self._place(name)
        with self._errors("reading", path):
            return path.read_bytes() if path.is_file() else None

    def write(self, name: str, content: bytes) -> None:
        path = self._place(name)
        part = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        with self._errors("writing", path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                part.write_bytes(content)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        path = self._place(name)
        with self._errors("removing", path):
            path.unlink(missing_ok=True)
            for parent in path.relative_to(self._path).parents:
                folder = self._path / parent
                if folder == self._path or any(folder.iterdir()):
                    break
                folder.rmdir()

    def _place(self, name: str) -> Path:
        parts = PurePosixPath(name)
        if parts.is_absolute() or ".." in parts.parts or not parts.parts:
            raise PublishError(f"site file {name!r}: not a path within {self._path}")
        return self._path / parts

    @contextmanager
    def _errors(self, doing: str, path: Path) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise PublishError(f"{doing} {path}: {meaning_of(error)}") from error


class _Objects(Folder):
    def __init__(self, to: str, bucket: str, prefix: str, region: str, access: Access) -> None:
        from botocore.exceptions import BotoCoreError

        try:
            client = access.aws("s3", region)
        except (TargetError, BotoCoreError, ValueError) as error:  # no such profile; not a URL
            raise PublishError(f"--to {to}: no client for S3: {error}") from error
        self._bucket = Bucket(client, bucket, correct=_CORRECT)
        self._prefix = f"{prefix}/" if prefix else ""

    def names(self) -> set[str]:
        found = self._bucket.listing(self._prefix)
        return {key.removeprefix(self._prefix) for key in found}

    def read(self, name: str) -> bytes | None:
        return self._bucket.read(self._prefix + name)

    def write(self, name: str, content: bytes) -> None:
        self._bucket.put(self._prefix + name, content, changes=True)

    def remove(self, name: str) -> None:
        self._bucket.remove(self._prefix + name)
