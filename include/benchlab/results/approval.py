"""Who was asked to approve a campaign's cost, who did, and when, as the store has it.

Example:
    ``found(campaign.environment).by`` is ``ada``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

KEY = "approval"
"""The key of a campaign's environment that has it, as JSON."""


@dataclass(frozen=True)
class Approval:
    """A person's consent, or the wait for it.

    Attributes:
        asked_at: when people were asked; None where the one who started it approved it at once.
        by: a login name; empty: nobody has answered yet.
        at: when it was approved.
    """

    asked_at: datetime | None = None
    by: str = ""
    at: datetime | None = None

    @property
    def waits_since(self) -> datetime | None:
        """Since when people have been asked; None once one has approved it."""
        return self.asked_at if self.at is None else None


_FORM = TypeAdapter(Approval)


def found(environment: Mapping[str, str]) -> Approval | None:
    """A campaign's approval; None if it needed none."""
    text = environment.get(KEY)
    return None if text is None else _FORM.validate_json(text)


def as_text(approval: Approval) -> str:
    """The value of :data:`KEY` in a campaign's environment."""
    return _FORM.dump_json(approval).decode()
