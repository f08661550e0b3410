"""The command that checks what people write: validate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchlab.campaign import report_types
from benchlab.engines import builds
from benchlab.errors import BenchlabError
from benchlab.home import find

app = typer.Typer()


@app.command()
def validate(reports: Annotated[list[Path], typer.Argument(help="YAML files")]) -> None:
    """Check report types and notifications.yaml; names every fault of every file.

    Example: benchlab validate configs/reports/*.yaml
    """
    faults = []
    for path in reports:
        try:
            _check(path)
            print(f"{path}: good")
        except BenchlabError as error:
            faults.append(str(error))
    if faults:
        raise BenchlabError("\n".join(faults))


def _check(path: Path) -> None:
    here = find()
    if path.name != here.notifications.name or not path.is_file():
        report_types.check_every_day(here, path)
        builds.check(here, report_types.load(path))
        return
    from benchlab.report.notifications import notifiers

    notifiers.load(path, {file.stem for file in report_types.report_files(here)})
