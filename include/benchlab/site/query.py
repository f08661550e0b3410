"""Reading the filter of a list from the query of its address."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

Found = TypeVar("Found")
Choice = TypeVar("Choice", bound=str)


class Query:
    """The fields of a query: ``Query({"page": "2"}).page()`` is 2.

    Attributes:
        faults: invalid values, by field; what is read instead is the default.
    """

    def __init__(self, query: Mapping[str, str]) -> None:
        self._query = query
        self.faults: dict[str, str] = {}

    def field(self, name: str, convert: Callable[[str], Found], default: Found) -> Found:
        """A field; ``convert`` raises ValueError for an invalid value."""
        text = self._query.get(name, "").strip()
        try:
            return convert(text) if text else default
        except ValueError:
            self.faults[name] = text
            return default

    def text(self, name: str) -> str:
        """A field of any text."""
        return self.field(name, str, "")

    def page(self) -> int:
        """The number of a page of the list, from 1."""
        return self.field("page", _page, 1)


def one_of(known: Sequence[Choice]) -> Callable[[str], Choice]:
    """Converts to one of the known texts."""

    def convert(text: str) -> Choice:
        for one in known:
            if one == text:
                return one
        raise ValueError(text)

    return convert


def _page(text: str) -> int:
    page = int(text)
    if not 1 <= page <= 1_000_000:
        raise ValueError(text)
    return page
