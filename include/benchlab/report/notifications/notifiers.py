"""Who is notified of which events: ``configs/notifications.yaml``.

>>> [notifier.place for notifier in load(home.notifications, reports=["sysbench_ec2"])]
['slack slack_api_default #performance']
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from benchlab.errors import SpecError
from benchlab.plan import documents
from benchlab.plan.documents import Name
from benchlab.report.notifications.events import KINDS, Event, EventKind

# Sent by default: an improvement calls for no action, and an inconclusive verdict is frequent.
TOLD: tuple[EventKind, ...] = tuple(
    kind for kind in KINDS if kind not in ("improvement", "inconclusive")
)

_Connection = Annotated[str, Field(pattern=r"^[A-Za-z0-9_#!()\-.:/\\]+$", max_length=250)]
_Address = Annotated[str, Field(pattern=r"^[^@\s,;<>]+@[^@\s,;<>]+$")]


class _Notifier(BaseModel):
    """What all notifiers have. Each also has a ``place``: where it sends to, for people."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    connection: _Connection
    events: Annotated[tuple[EventKind, ...], Field(min_length=1)] = TOLD
    reports: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None

    def wants(self, event: Event) -> bool:
        """Whether it sends an event; one without a report type goes to all notifiers."""
        ours = self.reports is None or event.report is None or event.report in self.reports
        return ours and event.kind in self.events


class Slack(_Notifier):
    """Sends into a channel by Slack's API; the Connection is of type ``slack``."""

    by: Literal["slack"]
    channel: Annotated[str, Field(pattern=r"^\S+$", max_length=80)]

    @property
    def place(self) -> str:
        """Connection and channel."""
        return f"slack {self.connection} {self.channel}"


class SlackWebhook(_Notifier):
    """Sends into the channel of an incoming webhook; the Connection is of type ``slackwebhook``."""

    by: Literal["slack_webhook"]

    @property
    def place(self) -> str:
        """The Connection, which has the channel."""
        return f"slack_webhook {self.connection}"


class Smtp(_Notifier):
    """Sends by mail; the Connection is of type ``smtp``.

    Attributes:
        sender: ``from`` in the file; None: as the Connection's extra field ``from_email`` says.
    """

    by: Literal["smtp"]
    to: Annotated[tuple[_Address, ...], Field(min_length=1)]
    sender: _Address | None = Field(default=None, alias="from")

    @property
    def place(self) -> str:
        """Connection and addressees."""
        return f"smtp {self.connection} {', '.join(self.to)}"


Notifier = Slack | SlackWebhook | Smtp


class Notifications(BaseModel):
    """The file as a whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    notifiers: tuple[Annotated[Notifier, Field(discriminator="by")], ...] = ()


def load(path: Path, reports: Collection[str]) -> tuple[Notifier, ...]:
    """The notifiers of an installation; none if there is no such file.

    Args:
        reports: the names of all report types.

    Raises:
        SpecError: it cannot be read, does not validate, or names a report type that is not there;
            names the file and each field.
    """
    if not path.exists():
        return ()
    raw = documents.from_yaml(documents.read_text(path), str(path))
    found = documents.validated(Notifications, {} if raw is None else raw, str(path)).notifiers
    for number, notifier in enumerate(found):
        if unknown := [name for name in notifier.reports or () if name not in reports]:
            raise SpecError(
                f"{path}: notifiers.{number}.reports: unknown: {', '.join(unknown)}; report types: "
                f"{', '.join(sorted(reports)) or 'none'}"
            )
    return found
