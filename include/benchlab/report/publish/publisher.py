"""The contract of publishers, which bring a report to where people read it.

A module or package beside this one is a publisher if it has a class ``Publisher`` derived from
:class:`BasePublisher`; report types name it by its module's name::

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
"""A report's first page, in its first language."""


@dataclass(frozen=True)
class Publication:
    """A campaign's report.

    Attributes:
        report: the report type.
        files: by relative path.
        lacks: files or directories that this report does not have; a publisher removes those that
            an earlier one left.
    """

    campaign: str
    report: str
    files: Mapping[str, bytes]
    lacks: tuple[str, ...] = ()

    @functools.cached_property
    def edition(self) -> str:
        """Identifies the files: twelve hexadecimal digits of a SHA-256 of names and contents.

        >>> Publication("c1", "sysbench_local", {"report.html": b"<p>"}).edition
        '0652d32d5be0'
        """
        digest = hashlib.sha256()
        for name in sorted(self.files):
            digest.update(hashlib.sha256(name.encode()).digest())
            digest.update(hashlib.sha256(self.files[name]).digest())
        return digest.hexdigest()[:12]


class Options(Frozen, ABC):
    """The options of a destination, beside ``to``, in a report type; subclasses add fields.

    A field without a default needs an example, which the conformance tests use. Options are stored
    with the campaign, so none of them may be a secret.
    """

    @property
    @abstractmethod
    def place(self) -> str:
        """The place, for people; no two destinations of a campaign have the same."""


class BasePublisher(ABC):
    """Publishes reports to one place, given by its options.

    Attributes:
        options_model: the class of the options.
    """

    options_model: ClassVar[type[Options]]

    def __init__(self, options: Any, home: Home, access: Access) -> None:
        self.options, self.home, self.access = options, home, access

    @property
    def place(self) -> str:
        """The place of its options."""
        place: str = self.options.place
        return place

    @abstractmethod
    def publish(self, publication: Publication) -> str:
        """Publish the report; publishing the same one again changes nothing.

        Returns:
            The address of the main page.

        Raises:
            PublishError, StoreError: not all files were published; earlier reports must be intact
                and no link may lead to a missing file.
        """
