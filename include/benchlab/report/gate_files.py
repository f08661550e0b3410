"""Reads the definitions of gates, ``configs/quality/*.yaml``."""

from __future__ import annotations

from pathlib import Path

from benchlab.analysis.gates import gates
from benchlab.analysis.gates.gates import Gate
from benchlab.bounded import read_text
from benchlab.errors import SpecError
from benchlab.plan.documents import from_yaml


def load(path: Path) -> tuple[Gate, ...]:
    """Read one file of gates.

    Raises:
        SpecError: the file cannot be read or has an invalid gate; names file and gate.
    """
    return gates.parse(from_yaml(read_text(path), str(path)), str(path))


def load_all(directory: Path) -> tuple[Gate, ...]:
    """Read all gates of a directory, in the order of the file names.

    Example:
        >>> load_all(Path("configs/quality"))[0].id
        'rejected_by_side'

    Raises:
        SpecError: as for :func:`load`; or there is no file, or two files define the same id.
    """
    files = {str(path): load(path) for path in sorted(directory.glob("*.yaml"))}
    if not files:
        raise SpecError(f"{directory}: no *.yaml with gates in it, and no trial is valid unjudged")
    return gates.joined(files)
