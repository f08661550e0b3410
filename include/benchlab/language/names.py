"""How a report names things, and how it writes text that comes from elsewhere.

Example:
    ``title_of("oltp_point_select")`` is ``Point Select``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from benchlab.language import Language

# Names that cannot be derived from the identifier.
_TITLES = {
    "oltp_update_non_index": "Update Non-index",
    "tpcc": "TPC-C",
    **{f"ycsb_{letter}": f"YCSB {letter.upper()}" for letter in "abcdef"},
    **{f"tpch_q{number}": f"TPC-H Q{number}" for number in range(1, 23)},
}
_SERVICES = {"pd": "PD", "tikv": "TiKV", "tidb": "TiDB"}
_MOST_NAMED = 6
AT_RATE = re.compile(r"(.+)_at_([1-9][0-9]*)(pct|tps)")
"""The name of a workload at equal load: of the workload, its rate and the unit."""
_FIELD = re.compile(r"(?:engines\.\w+\.)?([\w.]+?)(?:\.version)?(?=: |：)")
_RATES = {"pct": " %", "tps": "/s"}


def title_of(workload: str) -> str:
    """A workload's name for headings: ``tpcc`` is TPC-C, ``tpcc_at_60pct`` TPC-C at 60 %."""
    name = plain(workload)
    if found := AT_RATE.fullmatch(name):
        workload, rate, unit = found.groups()
        return f"{title_of(workload)} at {rate}{_RATES[unit]}"
    return _TITLES.get(name) or name.removeprefix("oltp_").replace("_", " ").title()


def service_of(component: str) -> str:
    """A component's name as published pages write it: ``tikv`` is TiKV."""
    return _SERVICES.get(component, plain(component))


def items(texts: Iterable[str], language: Language) -> str:
    """Names as a list in a table or in brackets: ``tikv-1, tikv-2``."""
    return language.say("separator-items").join(texts)


def clauses(texts: Iterable[str], language: Language) -> str:
    """Independent clauses joined by the language's separator: ``restored; not warmed up``."""
    return language.say("separator-clauses").join(texts)


def first_of(names: Sequence[str]) -> str:
    """The first six names and how many more there are, in English: ``a, b, ... and 2 more``."""
    text, more = ", ".join(names[:_MOST_NAMED]), len(names) - _MOST_NAMED
    return f"{text} and {more} more" if more > 0 else text


def with_title(fault: str, titles: Mapping[str, str]) -> str:
    """A fault that begins with a field's key, with the title by which people know the field.

    Example:
        ``with_title("rounds: must be at least 1", {"rounds": "Rounds"})`` is
        ``Rounds (rounds): must be at least 1``.
    """
    found = _FIELD.match(fault)
    if found is None or found[1] not in titles:
        return fault
    key = f"（{found[0]}）" if fault[found.end()] == "：" else f" ({found[0]})"
    return f"{titles[found[1]]}{key}{fault[found.end() :]}"


def plain(text: str) -> str:
    """Text as one line without control characters: output of servers and clients is not trusted."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
