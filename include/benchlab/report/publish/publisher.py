"""The publisher port: brings a campaign's report to a place where it is read.

A module or package beside this one whose ``Publisher`` derives from :class:`BasePublisher` is a
publisher; report types name it by its module's name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.report.publish.publication import Publication


class Options(BaseModel, ABC):
    """What a report type may say of one place beside ``to``; derived models add their fields.

    A field without a default has an example, with which the conformance tests try it. No secret is
    among them: they are stored with the campaign.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @property
    @abstractmethod
    def place(self) -> str:
        """Where that is, for people; two destinations of a campaign never have the same."""


class BasePublisher(ABC):
    """Brings reports to one place.

    Args:
        options: of :attr:`options_model`.
        home: the installation.
        access: to AWS.
    """

    #: Its module's name.
    name: ClassVar[str]
    options_model: ClassVar[type[Options]]

    def __init__(self, options: Any, home: Home, access: Access) -> None:
        self.options, self.home, self.access = options, home, access

    @property
    def place(self) -> str:
        """As :attr:`Options.place`."""
        place: str = self.options.place
        return place

    @abstractmethod
    def publish(self, publication: Publication) -> str:
        """Bring the report there; repeatable, and the same report twice changes nothing.

        Returns:
            The address of its main page.

        Raises:
            PublishError, StoreError: it is not there, or not all of it is; nothing that was there
                before is lost, and nothing leads to a file that is missing.
        """
