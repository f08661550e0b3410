"""What the validation of a report found, as it is kept beside the report and shown in it.

Example:
    ``read(home.campaign("c1") / NAME)`` is None until the campaign was validated.
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
    """What a table says in one row and column, and what is expected there: ``≥ 0``.

    ``*``: what is wrong is the table as a whole.
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
    """How many rows a table has, how much is expected of it, and how much of that fails."""

    table: str
    rows: int
    expectations: int
    failed: int


@dataclass(frozen=True)
class Validation:
    """What was expected of a report, and what of that does not hold.

    Attributes:
        key: a hash of the tables.
        made_with: Great Expectations, with its version.
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
        """The file beside the report."""
        return f"{json.dumps(asdict(self), indent=1, ensure_ascii=False)}\n".encode()


def read(path: Path) -> Validation | None:
    """What a campaign's last validation found; None if there was none, or it cannot be read."""
    try:
        return _adapter().validate_json(path.read_bytes())
    except (OSError, pydantic.ValidationError):
        return None


@cache
def _adapter() -> TypeAdapter[Validation]:
    return TypeAdapter(Validation)
