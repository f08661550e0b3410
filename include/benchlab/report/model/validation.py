"""The outcome of a report's validation, as kept beside the report and shown in it.

Example:
    ``read(home.campaign("c1") / NAME)`` is None until the campaign is validated.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import pydantic
from pydantic import TypeAdapter

from benchlab.language import Message, message

NAME = "validation.json"


@dataclass(frozen=True)
class Failure:
    """A value that is not as expected: ``found`` is ``-3``, ``expected`` is ``≥ 0``.

    Where a table as a whole is wrong, ``row`` and ``column`` are ``*``.
    """

    table: str
    row: str
    column: str
    found: str
    expected: str

    @property
    def said(self) -> Message:
        """What is wrong, for people."""
        return message("validation-failure", **asdict(self))


@dataclass(frozen=True)
class TableResult:
    """How many rows a table has, and how many expectations were checked and failed."""

    table: str
    rows: int
    expectations: int
    failed: int


@dataclass(frozen=True)
class Validation:
    """The outcome of a report's validation.

    Attributes:
        key: a hash of the tables.
        made_with: Great Expectations and its version.
    """

    key: str
    made_with: str
    tables: tuple[TableResult, ...]
    failures: tuple[Failure, ...]

    @property
    def summary(self) -> Message:
        """One sentence: ``42 expectations of 7 tables hold.``"""
        count = sum(table.expectations for table in self.tables)
        failed = sum(table.failed for table in self.tables)
        which = "validation-failed" if failed else "validation-holds"
        return message(which, count=count, failed=failed, tables=len(self.tables))

    def to_json(self) -> bytes:
        """The contents of ``validation.json``."""
        return f"{json.dumps(asdict(self), indent=1, ensure_ascii=False)}\n".encode()


def read(path: Path) -> Validation | None:
    """Read the outcome of a campaign's last validation; None if there is none that can be read."""
    try:
        return _adapter().validate_json(path.read_bytes())
    except (OSError, pydantic.ValidationError):
        return None


@cache
def _adapter() -> TypeAdapter[Validation]:
    return TypeAdapter(Validation)
