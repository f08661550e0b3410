"""The command that parses a client's output: parse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from benchlab import workloads
from benchlab.bounded import read_bytes
from benchlab.cli.options import Json
from benchlab.errors import BenchlabError
from benchlab.language.numbers import MISSING
from benchlab.plan.documents import is_utf16

app = typer.Typer()


@app.command()
def parse(
    tool: Annotated[
        str,
        typer.Argument(help="the client that printed it: sysbench, go-tpc, go-tpc-tpch or go-ycsb"),
    ],
    file: Annotated[Path, typer.Argument(help="its output")],
    as_json: Json = False,
) -> None:
    """Read a client's output, complete or not.

    Exit code 1 if it is not the whole output of a run, so that it has no result.

    Example: benchlab parse sysbench client.txt
    """
    parsers = workloads.parsers()
    if tool not in parsers:
        raise BenchlabError(f"tool: {tool!r}: not one of {', '.join(sorted(parsers))}")
    printed = read_bytes(file)
    output = parsers[tool](printed.decode("utf-16" if is_utf16(printed) else "utf-8", "replace"))
    document: dict[str, Any] = output.to_json()
    print(json.dumps(document, indent=2) if as_json else _text(document))
    if output.status != "complete":
        raise typer.Exit(1)


def _text(document: dict[str, Any]) -> str:
    """One line per figure; of an incomplete run only the known ones."""
    whole = document["status"] == "complete"
    lines = [f"status: {document['status']}", *(f"  {why}" for why in document["reasons"])]
    for key, value in document.items():
        if key in ("status", "reasons", "series") or not (whole or _known(value)):
            continue
        if isinstance(value, dict) and any(isinstance(part, dict) for part in value.values()):
            lines += [f"{name}: {_shown(part)}" for name, part in value.items()]
        else:
            lines.append(f"{key}: {_shown(value)}")
    return "\n".join([*lines, f"series: {len(document['series'])} intervals"])


def _known(value: Any) -> bool:
    return any(map(_known, value.values())) if isinstance(value, dict) else value is not None


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(part)}" for name, part in value.items())
    return MISSING if value is None else str(value)
