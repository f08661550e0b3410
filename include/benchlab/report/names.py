"""How a report names things, and how it takes text from elsewhere."""

from __future__ import annotations

# Names that no rule makes from the identifier.
_TITLES = {"oltp_update_non_index": "Update Non-index", "tpcc": "TPC-C"}
_SERVICES = {"pd": "PD", "tikv": "TiKV", "tidb": "TiDB"}


def title_of(workload: str) -> str:
    """A workload's name as headings have it: ``oltp_point_select`` is Point Select."""
    name = plain(workload)
    return _TITLES.get(name) or name.removeprefix("oltp_").replace("_", " ").title()


def service_of(role: str, client: str | None = None) -> str:
    """A role or component as published pages write it; the client's with what runs there."""
    if role == "client":
        return f"{client or 'Client'}, HAProxy"
    return _SERVICES.get(role, plain(role))


def plain(text: str) -> str:
    """One line without control characters: what servers and clients say is not trusted."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
