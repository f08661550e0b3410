"""What a campaign may cost, and all campaigns of an installation together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

import pydantic
from pydantic import Field

from benchlab.bounded import read_text
from benchlab.plan.documents import Frozen, from_yaml, validated

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


class SharedBudget(Frozen):
    """``configs/budget.yaml``: what all campaigns of an installation share.

    Attributes:
        month: dollars that all of them together may cost in a calendar month (UTC); None: no limit.
        approvers: who may approve a campaign, as login names with the ids that Airflow's auth
            manager gives them; empty: everybody who may edit its runs.
        approve_own: whether whoever started a campaign may approve it.
    """

    month: Annotated[float, Field(gt=0, strict=False)] | None = None
    approvers: dict[str, str] = Field(default_factory=dict)
    approve_own: bool = True

    @pydantic.model_validator(mode="after")
    def _approvable(self) -> Self:
        if not self.approve_own and len(self.approvers) < 2:
            raise ValueError("approve_own: if it is false, name at least two `approvers`")
        return self


def shared(path: Path) -> SharedBudget:
    """Read ``configs/budget.yaml``; without the file nothing is limited.

    Example:
        ``shared(home.budget).month`` is 1000.

    Raises:
        SpecError: it cannot be read, or a field is wrong; names file and field.
    """
    if not path.exists():
        return SharedBudget()
    raw = from_yaml(read_text(path), str(path))
    return validated(SharedBudget, {} if raw is None else raw, str(path))
