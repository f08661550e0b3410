"""The command that checks what people write: validate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from benchlab import targets
from benchlab.bounded import read_text
from benchlab.campaign import report_types
from benchlab.engines import builds
from benchlab.errors import BenchlabError, SpecError, noting
from benchlab.home import find
from benchlab.plan import topology as topologies
from benchlab.plan.documents import from_yaml
from benchlab.plan.fields import budget

app = typer.Typer()


@app.command()
def validate(reports: Annotated[list[Path], typer.Argument(help="YAML files")]) -> None:
    """Name every fault of report types, topologies and other settings.

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
    if path.name == here.notifications.name and path.is_file():
        from benchlab.report.notifications import notifiers

        notifiers.load(path, {file.stem for file in report_types.report_files(here)})
    elif path.name == here.budget.name and path.is_file():
        budget.shared(path)
    elif topologies.called(from_yaml(read_text(path), str(path))):
        topologies.load(path)
    else:
        spec = report_types.load(path)
        faults = list[str]()
        with noting(faults):
            report_types.check_every_day(here, path)
        with noting(faults):
            builds.check(here, spec)
        with noting(faults, f"{path}: "):
            targets.load_topology(here, spec)
        if faults:
            raise SpecError("\n".join(faults))
