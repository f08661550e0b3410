"""Builds sysbench on the client's host from an archive of its source.

The steps are those of its README: ``autogen.sh``, ``configure``, ``make``, ``make install``. It is
installed in a directory named by the archive's hash, where later campaigns find it.

Example:
    ``{archive: sysbench.tar.gz, sha256: 0f3c..., version: 1.1.0-ead2689}`` as ``client``
"""

from __future__ import annotations

import hashlib
import tarfile
from pathlib import Path

from benchlab.bounded import read_bytes
from benchlab.errors import CommandError, SpecError, UnavailableError, meaning_of
from benchlab.hosts.executor import Executor
from benchlab.plan.fields.client import Client

# Program -> the Debian package that has it.
TOOLS = {
    "aclocal": "automake",
    "cc": "gcc",
    "flock": "util-linux",
    "libtoolize": "libtool",
    "make": "make",
    "mysql_config": "libmariadb-dev-compat",
    "pkg-config": "pkg-config",
}
BUILD_LIMIT_S = 1800.0
PROGRAM = Path("bin", "sysbench")
_MISSING = 'for tool; do command -v "$tool" > /dev/null || echo "$tool"; done'
# The program appears at its place only when it is whole. `configure` puts the commit of the
# surrounding repository into its version: if the archive has none, that must not be a repository
# that surrounds Benchlab's directory.
_BUILD = r"""
set -eu
place=$1 archive=$2 sha256=$3
work=$place.part
trap 'rm -rf "$work" "$archive"' EXIT
exec 9> "$place.lock"
flock 9
if [ -x "$place/bin/sysbench" ]; then exit; fi
rm -rf "$work"
mkdir -p "$work/source"
echo "$sha256  $archive" | sha256sum --check --quiet
tar -xf "$archive" -C "$work/source" --no-same-owner
found=$(find "$work/source" -maxdepth 2 -name configure.ac)
[ -n "$found" ] || { echo "it has no configure.ac, which sysbench's source has"; exit 1; }
cd "${found%/*}"
export GIT_CEILING_DIRECTORIES="$work"
{
    { [ -x configure ] || ./autogen.sh; } && ./configure --prefix="$place" &&
        make -j"$(nproc)" && make install DESTDIR="$work/root"
} > "$work/log" 2>&1 < /dev/null || { tail -n 20 "$work/log"; exit 1; }
mv -T "$work/root$place" "$place"
"""


def check(project: Path, client: Client) -> None:
    """Check the archive, if there is one, before anything is rented.

    Args:
        project: the checkout, to which a relative path refers.

    Raises:
        SpecError: it cannot be read, is no tar archive, or has another hash than the report type
            says.
    """
    if client.archive is None:
        return
    try:
        found = hashlib.sha256(read_bytes(project / client.archive)).hexdigest()
        _commit(project, client.archive)
    except SpecError as error:
        raise SpecError(f"client.archive: {error}") from error
    except (OSError, tarfile.TarError) as error:
        why = meaning_of(error) if isinstance(error, OSError) else f"is no tar archive: {error}"
        raise SpecError(f"client.archive: {client.archive}: {why}") from error
    if found != client.sha256:
        raise SpecError(
            f"client.sha256: {client.archive} has {found}, not {client.sha256}; restore the "
            "archive, or write the hash of this one"
        )


def built(executor: Executor, places: Path, project: Path, client: Client) -> Client:
    """The client with the path of its program, which is built if it is not there yet.

    An archive made by ``git archive``, as GitHub's are, holds no repository, so ``configure``
    cannot know the commit with which a version such as 1.1.0-ead2689 ends. If the archive itself
    records that commit, the program only has to report the number before it.

    Args:
        executor: the client's host.
        places: a directory there, with one directory per archive.
        project: the checkout, to which a relative path refers.

    Raises:
        SpecError: see :func:`check`.
        UnavailableError: a build tool is missing, or the build fails; names the packages, or quotes
            the last lines.
    """
    if client.archive is None or client.sha256 is None:
        return client
    check(project, client)
    place, version = places / f"sysbench-{client.sha256}", client.version or ""
    if executor.run(["test", "-x", str(place / PROGRAM)], check=False).exit_code != 0:
        _build(executor, place, project / client.archive, client.sha256)
    number, _, commit = version.partition("-")
    if commit and (_commit(project, client.archive) or "").startswith(commit):
        version = number
    return client.model_copy(update={"path": str(place / PROGRAM), "version": version})


def _build(executor: Executor, place: Path, archive: Path, sha256: str) -> None:
    missing = executor.run(["sh", "-c", _MISSING, "sh", *TOOLS]).stdout.split()
    if missing:
        raise UnavailableError(
            f"client.archive: to build sysbench, {executor.host} lacks {', '.join(missing)}; on "
            f"Debian: `apt-get install {' '.join(TOOLS[tool] for tool in missing)}`"
        )
    there = place.with_suffix(".archive")
    executor.run(["mkdir", "-p", str(place.parent)])
    executor.upload(archive, there)
    script = ["sh", "-c", _BUILD, "sh", str(place), str(there), sha256]
    try:
        executor.run(script, timeout_s=BUILD_LIMIT_S)
    except CommandError as error:
        raise UnavailableError(
            f"client.archive: sysbench cannot be built from {archive} on {executor.host}:\n"
            f"{error.output}"
        ) from error


def _commit(project: Path, archive: str) -> str | None:
    """The commit that ``git archive`` recorded in an archive (git-archive(1)); else None."""
    with tarfile.open(project / archive) as tar:
        return tar.pax_headers.get("comment")
