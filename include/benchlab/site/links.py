"""Addresses of the site's pages, relative to the page that has the link.

A page lies at a *place* such as ``campaigns/c1/``, the overview at ``""``. Relative addresses hold
behind a proxy, below any path, and in a folder of files.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urlencode

INDEX = "index.html"
_STEP = re.compile(r"[^/]+/")


@dataclass(frozen=True)
class Links:
    """The addresses that one page uses.

    Attributes:
        here: the place of the page.
        as_files: whether the site is a folder of files, in which a place is a folder with a page.

    Example:
        ``Links("campaigns/c1/").to("history/", workload="tpcc")`` is
        ``../../history/?workload=tpcc``.
    """

    here: str
    as_files: bool = False

    def to(self, place: str, **query: str | int | None) -> str:
        """The address of a place, or of a file; a query of None is left out."""
        is_page = place == "" or place.endswith("/")
        path = "../" * len(_STEP.findall(self.here)) + quote(place)
        if self.as_files:
            return f"{path}{INDEX}" if is_page else path
        given = urlencode({name: value for name, value in query.items() if value is not None})
        return (path or "./") + (f"?{given}" if given else "")
