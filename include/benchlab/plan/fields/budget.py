"""What a campaign may cost."""

from __future__ import annotations

from typing import Annotated, Self

import pydantic
from pydantic import Field

from benchlab.plan.documents import Frozen

# How long a plan waits for a person's approval.
APPROVAL_DAYS = 3


class Budget(Frozen):
    """How much one campaign may cost, in dollars.

    Attributes:
        approve_above: a more expensive plan must be approved by a person before anything is rented.
        limit: a more expensive plan is refused, and no campaign spends more.
    """

    approve_above: Annotated[float, Field(ge=0, strict=False)]
    limit: Annotated[float, Field(ge=0, strict=False)]

    @pydantic.model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.approve_above > self.limit:
            raise ValueError("approve_above is more than limit, so nobody would ever be asked")
        return self
