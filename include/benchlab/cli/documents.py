"""The pages of the site as a person at the command line sees them: all, and nothing to change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from benchlab.home import find
from benchlab.language import english
from benchlab.results.store import open_store
from benchlab.site import documents
from benchlab.site.page import Page, Site


@contextmanager
def opened() -> Iterator[Site]:
    """The site over this installation's store.

    Example:
        ``with opened() as site: print_document(site, history(site, "tpcc_ec2", "tpcc"))``
    """
    home = find()
    with open_store(home) as store:
        yield Site(home, store, english(), datetime.now(UTC))


def print_document(site: Site, page: Page) -> None:
    """Print a page as ``?format=json`` has it."""
    print(documents.text(site, page))
