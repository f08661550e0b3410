"""What TiUP's mirror has, as `tiup` on this machine knows it: the nightly and its packages.

`tiup list COMPONENT` fetches the component's manifest, checks its signatures and keeps it as
`manifests/COMPONENT.json` (TiUP 1.16: `cmd/list.go`, `pkg/repository/v1manifest`):
`{"signed": {"nightly": "v9.0.0-beta.2.pre-nightly", "platforms": {"linux/amd64": {"v9.0.0-...":
{"url": "/tidb-v9.0.0-...tar.gz", "released": "2026-11-20T...", "hashes": {"sha256": "..."}}}}}}`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from benchlab.errors import CommandError, FetchError, UnavailableError
from benchlab.hosts.executor import LocalExecutor
from benchlab.plan.fields.builds import Build, Nightly
from benchlab.plan.versions import NIGHTLY

ASK_LIMIT_S = 60.0


def ask(tiup: str, home: Path, components: Sequence[str], platform: str) -> Nightly:
    """The nightly that the mirror has now, with its packages.

    The name is that of the first component; each one's package is known by its hash, because the
    mirror has one nightly under a name and overwrites it with the next.

    Args:
        home: TiUP's own directory.
        platform: such as ``linux/amd64``.

    Raises:
        FetchError: the mirror does not answer.
        UnavailableError: it has no nightly of a component.

    Example:
        ``ask("tiup", Path.home() / ".tiup", ["tidb"], "linux/amd64").version``
    """
    here = LocalExecutor(Path(), "tiup")
    try:
        mirror = here.run([tiup, "mirror", "show"], timeout_s=ASK_LIMIT_S).stdout.strip()
        for component in components:
            here.run([tiup, "list", component], timeout_s=ASK_LIMIT_S)
    except CommandError as error:
        # As TiUP 1.16 says it (`pkg/repository/v1_repository.go`); the mirror has answered then.
        kind = UnavailableError if "unknown component" in error.output else FetchError
        raise kind(f"{NIGHTLY}: TiUP's mirror cannot be asked: {error}") from error
    found: dict[str, Build] = {}
    versions = []
    for component in components:
        version, item = _item(home / "manifests" / f"{component}.json", platform)
        versions.append(version)
        found[component] = Build(
            source=mirror.rstrip("/") + item["url"],
            sha256=item["hashes"]["sha256"],
            released=str(item["released"])[:10],
        )
    day = max(date.fromisoformat(build.released or "") for build in found.values())
    return Nightly(versions[0], day, found)


def _item(manifest: Path, platform: str) -> tuple[str, Any]:
    """The name of a component's nightly, and what its manifest says of it."""
    try:
        signed = json.loads(manifest.read_text(encoding="utf-8"))["signed"]
        version = signed["nightly"]
        item = signed["platforms"][platform][version]
        if item.get("yanked") or not {"url", "released", "hashes"} <= item.keys():
            raise LookupError(f"{version} is not offered")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UnavailableError(
            f"{NIGHTLY}: {manifest} names none for {platform} ({error!r}); `tiup list "
            f"{manifest.stem}` shows what the mirror has"
        ) from error
    return version, item
