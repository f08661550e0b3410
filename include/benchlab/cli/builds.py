"""The command on kept builds: builds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import typer

from benchlab.cli.options import Json, show
from benchlab.engines import builds
from benchlab.engines.builds import Kept
from benchlab.home import find

app = typer.Typer()


@app.command("builds")
def list_builds(as_json: Json = False) -> None:
    """List the kept builds of this machine, the newest first.

    Example: benchlab builds --json
    """
    show(builds.all_kept(find()), as_json, _documents, lambda found, *_: _text(found))


def _documents(found: Sequence[Kept]) -> list[dict[str, Any]]:
    return [asdict(one) for one in found]


def _text(found: Sequence[Kept]) -> str:
    lines = [f"{len(found)} build{'s' * (len(found) != 1)} in {find().builds}"]
    for one in found:
        lines.append(f"  {one.sha256}  {one.engine} {one.component}  for {one.version}")
        commit = f", commit {one.git_hash}" if one.git_hash else ""
        lines.append(f"    kept {one.kept_at} from {one.source}{commit}")
    return "\n".join([*lines, ""])
