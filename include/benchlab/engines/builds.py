"""Builds on this machine: fetched or made, checked, and kept by the hash of their file.

Each is in ``builds/<sha256>/`` of the home: ``note.json`` and ``files/``, laid out by its engine.
The directory appears there complete. A kept build can be deployed again after its source is gone: a
mirror overwrites each nightly with the next.

Example:
    ``pinned(home, spec, Access())`` is the report type with a hash for each of its builds.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol, cast
from urllib.parse import urlsplit

from benchlab import engines
from benchlab.engines.server import BaseEngine
from benchlab.errors import CommandError, FetchError, SpecError, UnavailableError, meaning_of
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.executor import LocalExecutor
from benchlab.hosts.lock import fence
from benchlab.plan.fields.builds import COMMIT, OUTPUT, Build
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.report_type import SIDES, ReportSpec

FETCH_LIMIT_S = 60.0
BUILD_LIMIT_S = 6 * 3600.0
BLOCK = 1 << 20
# A package of TiDB with its symbols has 2 GB; an endless answer would fill the disk.
MOST_BYTES = 8 << 30
LOG_LINES = 20
# Runs in the checkout, wherever Benchlab was started; the log can be followed.
_COMMAND = 'cd "$1" && log=$2 && shift 2 && exec "$@" > "$log" 2>&1 < /dev/null'


@dataclass(frozen=True)
class Kept:
    """A build that is kept on this machine.

    Attributes:
        sha256: of the file as it was fetched or made; also names the build's directory.
        version: that of the side for which it was kept.
        source: where it came from, for people.
        git_hash: the commit that its program reports; None if it reports none or cannot run here.
    """

    sha256: str
    engine: str
    component: str
    version: str
    source: str
    git_hash: str | None
    kept_at: str


class _Answer(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def pinned(home: Home, spec: ReportSpec, access: Access, *, fetch: bool = True) -> ReportSpec:
    """The report type with a hash for each of its builds, which are now kept here.

    Args:
        fetch: whether to fetch or make those that are not kept yet. If not, only files on this
            machine are checked.

    Raises:
        SpecError: a file is missing, is not what it should be, or has another hash.
        FetchError: an address or S3 does not answer; trying again may help.
        UnavailableError: a build is not there, its command fails, or it is not kept any more.
    """
    changes: dict[str, Any] = {}
    for name in spec.deployable_engines:
        # Of an A/A campaign the candidate is the baseline again.
        for side in SIDES[:1] if spec.sides == "same" else spec.measured_sides:
            chosen: SideSpec = getattr(spec.engines[name], side)
            where, found = f"engines.{name}.{side}.builds", {}
            for component, build in chosen.builds.items():
                try:
                    wanted = _Wanted(home, name, component, chosen.version, build, access)
                    found[component] = wanted.pinned(fetch=fetch)
                except (SpecError, UnavailableError) as error:
                    raise type(error)(f"{where}.{component}: {error}") from error
            if found != chosen.builds:
                changes[where] = {key: one.model_dump() for key, one in found.items()}
    return spec.with_overrides(changes) if changes else spec


def why_not_deployable(home: Home, side: SideSpec) -> str | None:
    """Why a side that was measured cannot be deployed again; None if it can.

    Looks at builds only. Whether a mirror still has a release shows when it is fetched.
    """
    gone = [
        f"{component} {one.short}"
        for component, one in side.builds.items()
        if one.sha256 is None or _note(home, one.sha256) is None
    ]
    if not gone:
        return None
    return f"{side.label}: not kept on this machine any more: {', '.join(gone)}"


def files(home: Home, build: Build) -> Path:
    """The directory of a build, as its engine laid it out; it exists if the build is kept."""
    return home.builds / (build.sha256 or "not-known") / "files"


def package(home: Home, component: str, build: Build) -> Path:
    """A kept build as ``tiup cluster patch`` takes it: a ``.tar.gz`` with the server at its root.

    TiUP looks for the component's entry there, a regular file that can be executed
    (``checkPackage`` in its ``pkg/cluster/manager/patch.go``). Made once, on the first call.

    Example:
        ``package(home, "tikv", build)`` is ``builds/<sha256>/tikv-<sha256>.tar.gz`` in the home.

    Raises:
        UnavailableError: the build is not kept here.
    """
    program = files(home, build) / f"{component}-server"
    if not program.exists():
        raise UnavailableError(
            f"build {build.short} of {component} is not kept in {home.builds}; run the campaign on "
            "the machine that has it"
        )
    made = program.parent.with_name(f"{component}-{build.sha256}.tar.gz")
    if not made.exists():
        part = made.with_name(f"{made.name}.{os.getpid()}.part")
        with tarfile.open(part, "w:gz", compresslevel=1) as tar:
            tar.add(program, program.name)
        part.replace(made)
    return made


def all_kept(home: Home) -> list[Kept]:
    """Every build that is kept here, the newest first."""
    found = (_note(home, path.name) for path in home.builds.glob("*") if len(path.name) == 64)
    return sorted(filter(None, found), key=lambda one: one.kept_at, reverse=True)


def is_kept(home: Home, sha256: str) -> bool:
    """Whether a build of this hash is kept here."""
    return _note(home, sha256) is not None


def _note(home: Home, sha256: str) -> Kept | None:
    with contextlib.suppress(OSError):
        return Kept(**json.loads((home.builds / sha256 / "note.json").read_text("utf-8")))
    return None


@dataclass(frozen=True)
class _Wanted:
    """One build of a side, to be found here, or fetched or made."""

    home: Home
    engine: str
    component: str
    version: str
    build: Build
    access: Access

    def pinned(self, *, fetch: bool) -> Build:
        sha256 = self._known_hash()
        there = _note(self.home, sha256) if sha256 else None
        if there is None and fetch:
            with fence(self.home.builds / f"{self._key}.fence", BUILD_LIMIT_S):
                sha256 = self._known_hash()
                there = (_note(self.home, sha256) if sha256 else None) or self._keep()
        if there is None:
            if self._path is not None:
                self._check_path(self._path)
            elif not self.build.is_remote and self.build.command is None:
                raise UnavailableError(self._gone)
            return self.build.model_copy(update={"sha256": sha256})
        if (there.engine, there.component) != (self.engine, self.component):
            raise SpecError(f"{there.sha256} is a build of {there.engine}'s {there.component}")
        expected = self.build.expected
        if there.git_hash and expected and not there.git_hash.startswith(expected):
            raise SpecError(f"it is built from {there.git_hash}, not from {expected}")
        git_hash = there.git_hash or self.build.git_hash
        return self.build.model_copy(update={"sha256": there.sha256, "git_hash": git_hash})

    @property
    def _owner(self) -> type[BaseEngine]:
        return engines.by_name()[self.engine]

    @property
    def _path(self) -> Path | None:
        if self.build.address is None or self.build.is_remote:
            return None
        return self.home.project / Path(self.build.address).expanduser()

    @property
    def _key(self) -> str:
        """A name for what it is made of, under which the build of a commit is found again."""
        made_of = [self.engine, self.component, self.build.source, self.build.command]
        text = json.dumps([*made_of, self.build.commit or self.build.sha256])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def _gone(self) -> str:
        return (
            f"build {self.build.short} is not kept in {self.home.builds}, and nothing says where "
            "it is; `benchlab builds` lists those that are kept"
        )

    def _known_hash(self) -> str | None:
        if self.build.sha256 is not None:
            return self.build.sha256
        if self.build.commit is None and self._path is not None:
            return self._hash_of(self._path)
        with contextlib.suppress(OSError):
            return (self.home.builds / f"{self._key}.built").read_text("utf-8").strip()
        return None

    def _hash_of(self, path: Path) -> str:
        if not path.exists():
            raise SpecError(f"source: there is no {path}")
        try:
            program = self._owner.program_in(path)
            if program.is_char_device() or program.is_fifo():  # it may never end
                raise SpecError(f"source: {path} is no file")
            with program.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise SpecError(f"source: {path} cannot be read: {meaning_of(error)}") from error

    def _check_path(self, path: Path) -> str:
        found = self._hash_of(path)
        if self.build.sha256 not in (None, found):
            raise SpecError(f"source: {path} has the sha256 {found}, not {self.build.sha256}")
        self._owner.check_build(self.component, path)
        return found

    def _keep(self) -> Kept:
        self.home.builds.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.home.builds, prefix="part-") as scratch:
            work = Path(scratch)
            file = self._obtained(work)
            sha256 = self._check_path(file)
            laid_out = work / "kept" / "files"
            laid_out.mkdir(parents=True)
            self._owner.keep_build(self.component, file, laid_out)
            git_hash = self._owner.build_hash(self.component, laid_out)
            expected = self.build.expected
            if git_hash and expected and not git_hash.startswith(expected):
                raise SpecError(f"it is built from {git_hash}, not from {expected}")
            now = datetime.now(UTC).isoformat(timespec="seconds")
            source = self.build.address or f"command for {self.build.commit}"
            of = (self.engine, self.component, self.version)
            kept = Kept(sha256, *of, source, git_hash, now)
            (work / "kept" / "note.json").write_text(json.dumps(asdict(kept), indent=1), "utf-8")
            with contextlib.suppress(OSError):  # another process was quicker
                (work / "kept").rename(self.home.builds / sha256)
        if self.build.commit is not None:
            (self.home.builds / f"{self._key}.built").write_text(sha256, "utf-8")
        return kept

    def _obtained(self, work: Path) -> Path:
        """The build's file, fetched or made in ``work``; a local path stays where it is."""
        if self._path is not None:
            return self._path
        file = work / f"{self.component}.download"
        if self.build.command is not None:
            self._make(file)
            return file
        address = self.build.address
        if address is None:
            raise UnavailableError(self._gone)
        wanted = self.build.sha256 or self._hash_beside(address)
        with self._opened(address) as answer, file.open("wb") as out:
            while block := answer.read(BLOCK):
                if out.tell() > MOST_BYTES:
                    raise UnavailableError(f"{address}: it is larger than {MOST_BYTES >> 30} GB")
                out.write(block)
            # urllib ends an answer that was cut off without an error.
            if missing := getattr(answer, "length", None):
                raise FetchError(f"{address}: its last {missing} bytes are missing")
        found = self._hash_of(file)
        if wanted not in (None, found):
            raise UnavailableError(f"{address}: it has the sha256 {found}, not {wanted}")
        return file

    def _hash_beside(self, address: str) -> str | None:
        """The hash in ``<address>.sha256``, as ``sha256sum`` writes it, if there is that file."""
        with contextlib.suppress(UnavailableError), self._opened(f"{address}.sha256") as answer:
            found = answer.read(64).decode("ascii", "replace").lower()
            return found if re.fullmatch("[0-9a-f]{64}", found) else None
        return None

    @contextlib.contextmanager
    def _opened(self, address: str) -> Iterator[_Answer]:
        try:
            if address.startswith("s3://"):
                yield self._object(address)
                return
            with urllib.request.urlopen(address, timeout=FETCH_LIMIT_S) as answer:
                if address.startswith("https:") and not answer.url.startswith("https:"):
                    raise UnavailableError(f"{address}: redirects to {answer.url}, without TLS")
                yield answer
        except OSError as error:
            refused = isinstance(error, urllib.error.HTTPError) and _is_refusal(error.code)
            kind = UnavailableError if refused else FetchError
            raise kind(f"{address}: cannot be fetched: {meaning_of(error)}") from error

    def _object(self, address: str) -> _Answer:
        from botocore import exceptions

        place = urlsplit(address)
        # The bucket may be in another region: S3 says in which, and boto3 asks there.
        s3 = self.access.aws("s3", os.environ.get("AWS_DEFAULT_REGION") or "us-east-1")
        try:
            found = s3.get_object(Bucket=place.netloc, Key=place.path.lstrip("/"))
            return cast(_Answer, found["Body"])
        except (exceptions.BotoCoreError, exceptions.ClientError) as error:
            if isinstance(error, exceptions.ClientError):
                silent = not _is_refusal(error.response["ResponseMetadata"]["HTTPStatusCode"])
            else:  # others, such as missing credentials, stay
                silent = isinstance(error, (exceptions.ConnectionError, exceptions.HTTPClientError))
            kind = FetchError if silent else UnavailableError
            raise kind(f"{address}: cannot be fetched: {meaning_of(error)}") from error

    def _make(self, file: Path) -> None:
        """Run its command; the log stays beside the builds."""
        log = self.home.builds / f"{self._key}.log"
        words = [
            word.replace(COMMIT, self.build.commit or "").replace(OUTPUT, str(file))
            for word in self.build.command or ()
        ]
        shell = ["sh", "-c", _COMMAND, "sh", str(self.home.project), str(log), *words]
        try:
            LocalExecutor(self.home.root, "build").run(shell, timeout_s=BUILD_LIMIT_S)
        except CommandError as error:
            said = log.read_text("utf-8", "replace") if log.exists() else ""
            last = "\n".join(said.splitlines()[-LOG_LINES:])
            raise UnavailableError(
                f"command: {' '.join(words)} failed (exit code {error.exit_code}); {log} ends:\n"
                f"{last}"
            ) from error
        if not file.exists():
            raise UnavailableError(f"command: {' '.join(words)} wrote no {OUTPUT}; see {log}")


def _is_refusal(status: int) -> bool:
    """Whether an HTTP status is final, unlike those of a timeout or of too many requests."""
    return 400 <= status < 500 and status not in (408, 429)


def check(home: Home, spec: ReportSpec) -> None:
    """Check the files on this machine that a report type names as builds.

    Raises:
        SpecError, UnavailableError: as :func:`pinned`.
    """
    pinned(home, spec, Access(), fetch=False)
