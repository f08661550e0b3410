"""Asks TiUP's mirror, through `tiup` on this machine, for releases and the nightly.

``tiup list tidb --all`` (TiUP's ``cmd/list.go``) prints a heading, the columns ``Version``,
``Installed`` (``YES`` or empty), ``Release`` and ``Platforms``, a line of dashes, and the versions
in semantic order, without those that were withdrawn ("yanked"). The newest daily build comes first,
a second time, as ``nightly -> v9.0.0-beta.2.pre-nightly``. ``Release`` is RFC 3339: when the
version was published on the mirror, which for old versions is long after their release. ``--all``
is meant for components: with a component's name it changes nothing. Errors are on stderr, with exit
code 1.

The command fetches the component's manifest, checks its signatures and keeps it as
`manifests/COMPONENT.json` (TiUP 1.16: `pkg/repository/v1manifest`):
`{"signed": {"nightly": "v9.0.0-beta.2.pre-nightly", "platforms": {"linux/amd64": {"v9.0.0-...":
{"url": "/tidb-v9.0.0-...tar.gz", "released": "2026-11-20T...", "hashes": {"sha256": "..."}}}}}}`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from benchlab.engines.tidb.status import field
from benchlab.errors import CommandError, EngineError, FetchError, UnavailableError, meaning_of
from benchlab.hosts.answers import from_json
from benchlab.hosts.executor import LocalExecutor
from benchlab.plan import versions
from benchlab.plan.fields.builds import Build, Nightly
from benchlab.plan.versions import NIGHTLY, Version

ASK_LIMIT_S = 60.0
COLUMNS = ["Version", "Installed", "Release", "Platforms"]
# Not of a daily build (v9.0.0-alpha-nightly-20260101) nor of a fix for one user (v6.1.0-20221206).
_RELEASE = re.compile(r"v\d+\.\d+\.\d+(-(alpha|beta|rc)([.-]?\d+)?)?")
_DAY = re.compile(r"(\d{4}-\d\d-\d\d)T\S+")


@dataclass(frozen=True)
class Mirror:
    """The versions on TiUP's mirror.

    Attributes:
        releases: each with the day, in the publisher's time zone, on which the mirror got it.
        others: the names of builds that are not releases, and of versions without a day.
    """

    releases: tuple[tuple[Version, date], ...]
    others: tuple[str, ...]


def read(text: str) -> Mirror:
    """Read what ``tiup list tidb --all`` prints: ``read(text).releases[-1]`` is the newest release.

    Raises:
        UnavailableError: it is not that table; says how it begins.
    """
    lines = [line.split() for line in text.splitlines()]
    if COLUMNS not in lines:
        begin = text.strip().partition("\n")[0][:100] or "nothing"
        raise UnavailableError(
            f"`tiup list tidb --all` prints no table with the columns {', '.join(COLUMNS)}, but: "
            f"{begin}"
        )
    releases, others = list[tuple[Version, date]](), list[str]()
    for words in lines[lines.index(COLUMNS) + 1 :]:
        day = next(filter(None, map(_day_of, words)), None)
        if day is not None and _RELEASE.fullmatch(words[0]):
            releases.append((versions.parse(words[0]), day))
        elif words and words[0].strip("-"):  # not the line of dashes
            others.append(((words[1:2] == ["->"] and words[2:3]) or words)[0])
    return Mirror(tuple(releases), tuple(dict.fromkeys(others)))


def _day_of(word: str) -> date | None:
    try:
        return date.fromisoformat(match[1]) if (match := _DAY.fullmatch(word)) else None
    except ValueError:  # such as the 30th of February
        return None


def nightly(tiup: str, home: Path, components: Sequence[str], platform: str) -> Nightly:
    """The nightly that the mirror has now, with its packages.

    The name is that of the first component's nightly. Packages are known by hash, because the
    mirror overwrites each nightly with the next one under the same name.

    Args:
        home: TiUP's own directory.
        platform: such as ``linux/amd64``.

    Raises:
        FetchError: the mirror does not answer.
        UnavailableError: it has no nightly of a component.

    Example:
        ``nightly("tiup", Path.home() / ".tiup", ["tidb"], "linux/amd64").version`` may be
        ``"v9.0.0-beta.2.pre-nightly"``.
    """
    here = LocalExecutor(Path(), "tiup")
    try:
        mirror = here.run([tiup, "mirror", "show"], timeout_s=ASK_LIMIT_S).stdout.strip()
        for component in components:
            here.run([tiup, "list", component], timeout_s=ASK_LIMIT_S)
    except CommandError as error:
        # TiUP 1.16 says this when the mirror has answered (`pkg/repository/v1_repository.go`).
        kind = UnavailableError if "unknown component" in error.output else FetchError
        raise kind(f"{NIGHTLY}: TiUP's mirror cannot be asked: {error}") from error
    found: dict[str, Build] = {}
    versions = []
    for component in components:
        manifest = home / "manifests" / f"{component}.json"
        version, found[component] = _item(manifest, platform, mirror.rstrip("/"))
        versions.append(version)
    day = max(date.fromisoformat(build.released or "") for build in found.values())
    return Nightly(versions[0], day, found)


def _item(manifest: Path, platform: str, mirror: str) -> tuple[str, Build]:
    """The name of a component's nightly, and its package, from the component's manifest."""
    where, none = str(manifest), f"{NIGHTLY}: the manifest names none for {platform}"
    shows = f"`tiup list {manifest.stem}` shows what the mirror has"
    try:
        signed = field(from_json(manifest.read_bytes()), "signed", dict, where)
        version = field(signed, "nightly", str, where)
        of_platform = field(field(signed, "platforms", dict, where), platform, dict, where)
        item = field(of_platform, version, dict, where)
        if field(item, "yanked", bool, where, absent=False):
            raise EngineError(f"{where}: {version} is not offered any more")
        return version, Build(
            source=mirror + field(item, "url", str, where),
            sha256=field(field(item, "hashes", dict, where), "sha256", str, where),
            released=field(item, "released", str, where)[:10],
        )
    except EngineError as error:
        raise UnavailableError(f"{none}: {error}; {shows}") from error
    except (OSError, ValueError) as error:
        why = meaning_of(error) if isinstance(error, OSError) else "it is no manifest of TiUP 1.16"
        raise UnavailableError(f"{none}: {where}: {why}; {shows}") from error
