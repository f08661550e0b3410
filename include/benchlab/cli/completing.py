"""What a shell completes: report types, campaigns, workloads and versions that there are.

``benchlab --install-completion`` tells the shell. Where something cannot be read, nothing is
offered: a command that is run says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from benchlab.errors import BenchlabError

if TYPE_CHECKING:
    from benchlab.results.listing import Listing

Complete = Callable[[str], list[str]]
_MOST = 200


def _quiet(names: Callable[[], Iterable[str]]) -> Complete:
    def complete(incomplete: str) -> list[str]:
        try:
            return [name for name in names() if name.startswith(incomplete)]
        except BenchlabError:
            return []

    # Typer looks at the signature: `functools.wraps` would show it another one.
    complete.__doc__ = names.__doc__
    return complete


@_quiet
def report_types() -> Iterable[str]:
    """The names of the report types of this installation."""
    from benchlab.campaign.report_types import report_files
    from benchlab.home import find

    return [path.stem for path in report_files(find())]


@_quiet
def campaigns() -> Iterable[str]:
    """The ids of campaigns, the latest first."""
    return _of_store(lambda known: [one.id for one in known.summaries(limit=_MOST)])


@_quiet
def workloads() -> Iterable[str]:
    """The workloads that have been measured."""
    return _of_store(
        lambda known: dict.fromkeys(name for one in known.reports() for name in one.workloads)
    )


@_quiet
def versions() -> Iterable[str]:
    """The labels of all sides that have been measured."""
    return _of_store(lambda known: known.versions())


def _of_store(names: Callable[[Listing], Iterable[str]]) -> Iterable[str]:
    """Names from the store; none, and no store is made, where there is none."""
    from benchlab.home import find
    from benchlab.results.store import is_there, open_store

    if not is_there(home := find()):
        return ()
    with open_store(home) as store:
        return names(store.listing)
