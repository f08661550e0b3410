"""``manifest.json``: what is in a bundle, what made it, and the SHA-256 of every file.

Its text is canonical, and its last entry is the SHA-256 of the others, so that a changed byte of
the manifest itself is found even without the archive around it.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

from pydantic import FailFast, Field

import benchlab
from benchlab.plan.documents import Frozen
from benchlab.report.evidence import document
from benchlab.report.evidence.archive import MAX_FILES, FaultyFileError

NAME = "manifest.json"
SIGNATURE = "manifest.json.sig"
"""What `ssh-keygen -Y sign manifest.json` writes beside it."""
FORMAT = 1

# What a report depends on, by the names in ``made_with``.
MADE_BY = ("source_sha256", "babel", "fluent.runtime", "jinja2")
_LIBRARIES = ("babel", "fluent.runtime", "jinja2", "numpy", "scipy")
_SOURCE = (".py", ".j2", ".ftl", ".yaml", ".lua", ".cfg", ".css")


# A hostile manifest ends at its first fault, and names no more than an archive may have.
_BOUNDED = (FailFast(), Field(max_length=MAX_FILES))


class Content(Frozen):
    """A file: its size in bytes, and its SHA-256 in hexadecimal digits."""

    size: int
    sha256: str


class Missing(Frozen):
    """A file that a row of the store names but that was not there, with the reason."""

    file: str
    reason: str


class Manifest(Frozen):
    """What a bundle says about itself.

    Attributes:
        format: of the bundle; another one is refused.
        made_with: versions of Benchlab and its libraries; ``source_sha256`` is of Benchlab's own
            files.
        missing: files that should be there and were gone.
        redacted: where a secret was replaced, as ``campaign.json: facts.baseline...``.
        files: every other file of the bundle, by name.
        sha256: of the manifest without this entry.
    """

    format: int
    campaign: str
    made_with: Annotated[dict[str, str], *_BOUNDED]
    missing: Annotated[list[Missing], *_BOUNDED]
    redacted: Annotated[list[str], *_BOUNDED]
    files: Annotated[dict[str, Content], *_BOUNDED]
    sha256: str

    def same(self, names: Iterable[str]) -> bool:
        """Whether this Benchlab has the same versions of these."""
        mine = made_with()
        return all(self.made_with.get(name) == mine[name] for name in names)


def make(
    campaign: str,
    files: Mapping[str, bytes],
    *,
    missing: Mapping[str, str],
    redacted: Iterable[str],
) -> bytes:
    """The text of a manifest of these files; ``missing``: by name, why a file is not there."""
    made: dict[str, Any] = {
        "format": FORMAT,
        "campaign": campaign,
        "made_with": made_with(),
        "missing": [{"file": name, "reason": why} for name, why in sorted(missing.items())],
        "redacted": sorted(redacted),
        "files": {
            name: {"size": len(files[name]), "sha256": hashlib.sha256(files[name]).hexdigest()}
            for name in sorted(files)
        },
    }
    return _text({**made, "sha256": _digest(made)})


def parse(content: bytes) -> Manifest:
    """Read a manifest.

    Raises:
        FaultyFileError: it is not a manifest, or was changed.
    """
    raw = document.parsed(NAME, content)
    format_ = raw.get("format") if isinstance(raw, dict) else None
    if isinstance(format_, int) and format_ != FORMAT:
        made_by = raw.get("made_with", {}).get("benchlab")
        raise FaultyFileError(
            NAME,
            f"of format {format_}, which Benchlab {made_by} wrote; this one reads {FORMAT}",
        )
    try:
        made: Manifest = document.validated(NAME, Manifest, raw)
    except FaultyFileError as error:
        raise FaultyFileError(NAME, f"not a manifest: {error.fault}") from error
    if _text(raw) != content:
        raise FaultyFileError(NAME, "changed: it is not written as Benchlab writes it")
    if _digest({key: value for key, value in raw.items() if key != "sha256"}) != made.sha256:
        raise FaultyFileError(NAME, "changed: it does not have the SHA-256 that it names")
    return made


@cache
def made_with() -> dict[str, str]:
    """What makes a report here: Benchlab, its libraries and the kind of processor."""
    return {
        "benchlab": metadata.version("benchlab"),
        "source_sha256": _source_digest(),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in _LIBRARIES},
        "processor": platform.machine(),
    }


def _digest(raw: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(raw)).hexdigest()


def _text(raw: Mapping[str, Any]) -> bytes:
    # Names may be anything that JSON can write, even a lone surrogate.
    text = json.dumps(raw, indent=2, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "surrogatepass")


def _source_digest() -> str:
    """The digest of Benchlab's own files: two builds may have one version number."""
    root, digest = Path(benchlab.__file__).parent, hashlib.sha256()
    for file in sorted(root.rglob("*")):
        if file.suffix in _SOURCE:
            digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
