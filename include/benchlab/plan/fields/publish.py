"""Where a report is published."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from benchlab.plan.documents import Name, Scalar

# The publisher of every report.
FILES = "files"


class Destination(BaseModel):
    """One place to which the report is published.

    Attributes:
        to: its publisher.
        options: the publisher's own fields, written beside ``to``; campaign/fit checks them.
    """

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)

    __pydantic_extra__: dict[str, Scalar | None] = Field(init=False)

    to: Name

    @property
    def options(self) -> dict[str, Any]:
        return dict(self.__pydantic_extra__)
