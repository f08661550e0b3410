"""Builds of a side: binaries that replace those of its version, by component.

The rules and parameters of the side's version still hold. A build is known by the hash of its file
and, once it is fetched, by the commit that the binary reports. A plan has both, so that two builds
of one name stay distinct.

Example:
    ``Build(source="builds/tidb-server", git_hash="5c91a2b").short`` is ``5c91a2b``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Self
from urllib.parse import urlsplit

import pydantic
from pydantic import Field

from benchlab.language import Said
from benchlab.plan.documents import Frozen

COMMIT = "{commit}"
OUTPUT = "{output}"
Line = Annotated[str, Field(pattern=r"^[^\x00-\x1f\x7f]+$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{7,40}$")]


class Build(Frozen):
    """One component's build.

    Attributes:
        source: a path on this machine (relative to the checkout), ``s3://`` or ``https://``;
            ``{commit}`` in it stands for the commit. None: made by a command, or kept already.
        command: the words of a command that builds a commit on this machine; ``{commit}`` and
            ``{output}``, the file it has to write, are replaced in them.
        commit: the git commit that is wanted, for ``source`` or ``command``.
        sha256: of the file at ``source``; without ``source`` it names a build that is kept.
        git_hash: the commit that the server has to report.
        released: the day a nightly came out, as ``2026-11-20``.
    """

    source: Line | None = None
    command: Annotated[tuple[Line, ...], Field(strict=False, min_length=1)] | None = None
    commit: Commit | None = None
    sha256: Sha256 | None = None
    git_hash: Commit | None = None
    released: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\d$")] | None = None

    @pydantic.model_validator(mode="after")
    def _is_one_build(self) -> Self:
        if self.source is not None and self.command is not None:
            raise ValueError("has both a source and a command; write the one that makes the build")
        if self.source is None and self.command is None and self.sha256 is None:
            raise ValueError("names no build: write source, command, or the sha256 of a kept one")
        wants_commit = self.command is not None or COMMIT in (self.source or "")
        if wants_commit != (self.commit is not None):
            raise ValueError(
                f"commit: missing; {'its command' if self.command else 'its source'} needs one"
                if wants_commit
                else f"commit: nothing uses it; write {COMMIT} into the source, or use git_hash, "
                "which the server must report"
            )
        if self.command is not None and not any(OUTPUT in word for word in self.command):
            raise ValueError(f"command: {OUTPUT} is missing, the file that the command must write")
        if self.source is not None:
            self._check_address(urlsplit(self.source))
        return self

    def _check_address(self, address: Any) -> None:
        if "://" not in (self.source or ""):
            return
        if address.scheme not in ("s3", "https", "http"):
            raise ValueError(f"source: {address.scheme}:// is not known; a path, s3://, https://")
        if address.username or address.password or address.query:
            # The report type is published with the report.
            raise ValueError("source: contains a login or a query, which would be published")
        if self.sha256 is None and not (address.scheme == "s3" or self._is_by_commit_over_https()):
            raise ValueError("sha256: missing; what is downloaded is verified by it")

    def _is_by_commit_over_https(self) -> bool:
        # An attacker's file would have to be a server that reports this commit.
        return COMMIT in (self.source or "") and (self.source or "").startswith("https:")

    @pydantic.model_serializer(mode="wrap")
    def _without_none(self, dump: pydantic.SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in dump(self).items() if value is not None}

    @property
    def address(self) -> str | None:
        """Its source with the commit filled in."""
        return self.source and self.source.replace(COMMIT, self.commit or "")

    @property
    def is_remote(self) -> bool:
        """Whether it is fetched from elsewhere."""
        return "://" in (self.source or "")

    @property
    def identity(self) -> str:
        """What two equal builds have in common, whether they have been fetched yet or not."""
        return self.commit or self.sha256 or self.git_hash or self.source or ""

    @property
    def expected(self) -> str | None:
        """The commit, or its beginning, that the server has to report; None: not known."""
        return self.git_hash or self.commit

    @property
    def short(self) -> str:
        """A short name that tells it apart: seven letters of its commit, ``5c91a2b``.

        While that is unknown, of its file, ``sha256-1f0c3aa``, or of its source, if that is not
        fetched yet: ``source-77b1e02``.
        """
        if self.expected:
            return self.expected[:7]
        if self.sha256:
            return f"sha256-{self.sha256[:7]}"
        return f"source-{_digest(self.identity)[:7]}"


Builds = Mapping[str, Build]


@dataclass(frozen=True)
class Nightly:
    """TiUP's nightly as it is now.

    Attributes:
        version: its real name, such as ``v9.0.0-beta.2.pre-nightly``.
        day: on which it came out.
        builds: by component, known by the hash of the package.
        stands_in: why another version stands in for it, only to plan a campaign; None: it is the
            nightly.
    """

    version: str
    day: date
    builds: dict[str, Build]
    stands_in: Said | None = None


def label(version: str, builds: Builds) -> str:
    """A version with what tells its builds apart: ``v8.5.7@5c91a2b``.

    A nightly also has its day, which puts nightlies of one name in order:
    ``v9.0.0-beta.2.pre-nightly@2026-11-20-5c91a2b``. Several builds also have a digest of all.
    """
    if not builds:
        return version
    first = next(iter(builds.values()))
    parts = [*filter(None, [first.released]), first.short]
    if len(builds) > 1:
        parts.append(_digest("\n".join(f"{k} {builds[k].identity}" for k in sorted(builds)))[:4])
    return f"{version}@{'-'.join(parts)}"


def is_nightly(version: str) -> bool:
    """Whether this is the real name of a nightly: ``v9.0.0-beta.2.pre-nightly``.

    As TiUP decides it (``IsNightly`` in its ``pkg/utils/semver.go``).
    """
    return "nightly" in version


def has_commit(version: str) -> str | None:
    """The commit in the name of a version made between releases: ``v8.5.7-20260101-abcdef0``."""
    found = re.fullmatch(r"v?[0-9.]+-\d{8}-([0-9a-f]{7,40})", version)
    return found[1] if found else None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
