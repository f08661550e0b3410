"""The command that reads a client's output: parse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from benchlab import workloads
from benchlab.cli.options import Json
from benchlab.errors import BenchlabError

app = typer.Typer()


@app.command()
def parse(
    tool: Annotated[
        Literal["sysbench", "go-tpc"], typer.Argument(help="the client that printed the file")
    ],
    file: Annotated[Path, typer.Argument(help="its output")],
    as_json: Json = False,
) -> None:
    """Read a client's output, complete or not."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BenchlabError(f"{file}: cannot be read: {error.strerror}") from error
    output = workloads.parsers()[tool](text)
    document: dict[str, Any] = output.to_json()
    if as_json:
        print(json.dumps(document, indent=2))
        return
    series = document.pop("series")
    for key, value in document.items():
        print(f"{key}: {json.dumps(value) if isinstance(value, dict | list) else value}")
    print(f"series: {len(series)} intervals")
