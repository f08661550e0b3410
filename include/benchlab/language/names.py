"""How a report names things, and how it writes text that comes from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchlab.language import Language

# Names that no rule makes from the identifier.
_TITLES = {"oltp_update_non_index": "Update Non-index", "tpcc": "TPC-C"}
_SERVICES = {"pd": "PD", "tikv": "TiKV", "tidb": "TiDB"}
_MOST_NAMED = 6


def title_of(workload: str) -> str:
    """A workload's name as headings have it: ``oltp_point_select`` is Point Select."""
    name = plain(workload)
    return _TITLES.get(name) or name.removeprefix("oltp_").replace("_", " ").title()


def service_of(component: str) -> str:
    """A component as published pages write it."""
    return _SERVICES.get(component, plain(component))


def items(texts: Iterable[str], language: Language) -> str:
    """Names one after the other, as a table or brackets have them: ``tikv-1, tikv-2``."""
    return language.say("separator-items").join(texts)


def clauses(texts: Iterable[str], language: Language) -> str:
    """Parts of a sentence that each stand alone, one after the other."""
    return language.say("separator-clauses").join(texts)


def first_of(names: Sequence[str]) -> str:
    """The first six of them and how many more there are, for a message in English."""
    text, more = ", ".join(names[:_MOST_NAMED]), len(names) - _MOST_NAMED
    return f"{text} and {more} more" if more > 0 else text


def plain(text: str) -> str:
    """One line without control characters: what servers and clients print is not trusted."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
