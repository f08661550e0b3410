"""The published document whose plan a report type is, and where the plan differs from it."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from benchlab.plan.document_tables import DocumentTables
from benchlab.plan.documents import Frozen

Line = Literal[
    "versions",
    "hosts",
    "parameters",
    "data",
    "workloads",
    "steps",
    "client",
    "user",
    "load_balancer",
    "results",
]
LINES: tuple[Line, ...] = get_args(Line)
"""What a document says of how it was measured, line by line."""


class Published(Frozen):
    """The published document whose plan this is.

    Attributes:
        document: its title.
        client: the client it names, where Benchlab uses another version.
        differences: sentences that say where this plan differs from the document, and why, by what
            they are about.
        describes: the optional steps that the document includes.
        tables: its tables of results; None where it has none.
    """

    document: Annotated[str, Field(min_length=1)]
    client: str | None = None
    differences: dict[Line, Annotated[tuple[str, ...], Field(strict=False)]] = Field(default={})
    describes: Annotated[tuple[Literal["analyze", "restore"], ...], Field(strict=False)] = ()
    tables: DocumentTables | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """All differences, in order."""
        return tuple(sentence for about in self.differences.values() for sentence in about)
