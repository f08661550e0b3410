"""The publisher port: brings a campaign's report to a place where it is read.

A module or package beside this one whose ``Publisher`` derives from :class:`BasePublisher` is a
publisher; report types name it by its module's name::

    class PrinterOptions(Options):
        queue: str

        @property
        def place(self) -> str:
            return f"printer {self.queue}"


    class Publisher(BasePublisher):
        options_model = PrinterOptions

        def publish(self, publication: Publication) -> str:
            subprocess.run(["lp", "-d", self.options.queue], input=..., check=True)
            return self.place
"""

from __future__ import annotations

import functools
import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.plan.documents import Frozen

MAIN_PAGE = "report.html"
"""The page of a report to begin with, in its first language."""


@dataclass(frozen=True)
class Publication:
    """A campaign's report.

    Attributes:
        lacks: files or directories that other reports have and this one does not; a publisher
            removes those that an earlier report left.
    """

    campaign: str
    report: str
    files: Mapping[str, bytes]
    lacks: tuple[str, ...] = ()

    @functools.cached_property
    def edition(self) -> str:
        """Identifies these files: twelve hexadecimal digits of a hash of names and contents."""
        digest = hashlib.sha256()
        for name in sorted(self.files):
            digest.update(hashlib.sha256(name.encode()).digest())
            digest.update(hashlib.sha256(self.files[name]).digest())
        return digest.hexdigest()[:12]


class Options(Frozen, ABC):
    """What a report type may say of one place beside ``to``; derived models add their fields.

    A field without a default has to have an example, which the conformance tests use. Options are
    stored with the campaign, so none of them may be a secret.
    """

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, for people; two destinations of a campaign never have the same."""


class BasePublisher(ABC):
    """Brings reports to one place, which its options name: an :attr:`options_model`."""

    options_model: ClassVar[type[Options]]

    def __init__(self, options: Any, home: Home, access: Access) -> None:
        self.options, self.home, self.access = options, home, access

    @property
    def place(self) -> str:
        """Where it brings them: :attr:`Options.place`."""
        place: str = self.options.place
        return place

    @abstractmethod
    def publish(self, publication: Publication) -> str:
        """Bring the report there; repeatable, and the same report twice changes nothing.

        Returns:
            The address of its main page.

        Raises:
            PublishError, StoreError: not all of it is there; nothing that was there before is
                lost, and nothing leads to a file that is missing.
        """
