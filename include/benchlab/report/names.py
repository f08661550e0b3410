"""How a report names things, and how it takes text from elsewhere."""

from __future__ import annotations

# Names that no rule makes from the identifier.
_TITLES = {"oltp_update_non_index": "Update Non-index", "tpcc": "TPC-C"}


def title_of(workload: str) -> str:
    """A workload's name as headings have it: ``oltp_point_select`` is Point Select."""
    name = plain(workload)
    return _TITLES.get(name) or name.removeprefix("oltp_").replace("_", " ").title()


def plain(text: str) -> str:
    """One line without control characters: what servers and clients say is not trusted."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
