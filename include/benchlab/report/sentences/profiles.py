"""Which functions changed, from the profiles of diagnosis trials, as every format says it.

Example:
    ``of(report)[0].told`` is ``"Insert: CPU profiles of TiDB, 4 of each side: planner.optimize
    +31 µs per query."``
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from benchlab.analysis.cause.profiles import LEVEL, NO_MODULE, Compared, Part, short
from benchlab.charts.flame import LEAST
from benchlab.language import Language, Message, Value, message
from benchlab.language.names import items, plain, service_of, title_of
from benchlab.language.numbers import MISSING, Numbers
from benchlab.report.model.report import Report
from benchlab.report.sentences import wording
from benchlab.results import diagnosis
from benchlab.results.diagnosis import Kind

# So many modules are shown; and so many functions where nothing is called a change.
MOST = 10
_LONGEST = 120
_LOOKS: dict[Kind, Message] = {
    "cpu": message("look-cpu"),
    "allocations": message("look-allocations"),
}


class Functions(NamedTuple):
    """What profiles of one kind of one component show of a workload.

    Attributes:
        told: what was found.
        functions, modules: rows of tables; see :func:`columns`.
        notes: what moved, and what limits this.
    """

    workload: str
    kind: Kind
    role: str
    found: Compared
    told: str
    functions: list[list[str]]
    modules: list[list[str]]
    notes: list[str]


def of(report: Report) -> list[Functions]:
    """All components' profiles that were compared, in the order of workloads and kinds."""
    return [
        _of(report, workload, kind, role, found)
        for workload, kinds in report.causes.profiles.items()
        for kind, roles in kinds.items()
        for role, found in roles.items()
        if isinstance(found, Compared)
    ]


def lacking(report: Report) -> list[str]:
    """What was not profiled, and why, each once."""
    known, said = diagnosis.found(report.campaign.environment), report.language
    told = [said.text(why) for why in (known.why_not(_LOOKS) if known else ())]
    for kinds in report.causes.profiles.values():
        for kind, roles in kinds.items():
            for role, found in roles.items():
                if not isinstance(found, Compared):
                    of: dict[str, Value] = {"kind": _LOOKS[kind], "role": component(role)}
                    told.append(said.say("functions-lacking", **of, why=found))
    return [plain(one) for one in dict.fromkeys(told)]


def in_short(report: Report, workload: str) -> str:
    """The function whose CPU changed most, or that none did; or why nothing is known.

    Empty where the workload was not to be looked at.
    """
    say, text = report.language.say, report.language.text
    by_role = report.causes.profiles.get(workload, {}).get("cpu", {})
    known = {role: one for role, one in by_role.items() if isinstance(one, Compared)}
    if not known:
        why = next((one for one in by_role.values() if not isinstance(one, Compared)), None)
        looked = diagnosis.found(report.campaign.environment)
        if why is None and looked is not None:
            why = next(iter(looked.why_not(["cpu"], workload)), None)
        return say("functions-not", why=plain(text(why))) if why else ""
    if not any(one.is_decided for one in known.values()):
        return say("functions-few")
    changed = [(role, part) for role, one in known.items() for part in one.changed]
    if not changed:
        return say("functions-none")
    role, part = max(changed, key=lambda one: abs(one[1].change))
    return say(
        "functions-first",
        role=component(role),
        function=name(part),
        change=cells(known[role], part, report.language)[2],
        unit="share" if known[role].per_transaction is None else "cost",
        pairs=known[role].pairs,
        more=len(changed) - 1,
    )


def columns(report: Report, heading: str) -> list[str]:
    """The headings of functions or of modules: ``column-function``, ``column-module``."""
    say, labels = report.language.say, wording.labels(report).values()
    more = ("difference", "interval", "found")
    return [say(heading), say("column-time"), *labels, *(say(f"column-{one}") for one in more)]


def component(role: str) -> str:
    """A component's name: ``tikv`` is TiKV."""
    return "MariaDB" if role == "mariadb" else service_of(role)


def name(part: Part) -> str:
    """A function's name, short enough for a table."""
    text = plain(part.name if part.kind == "module" else short(part.name))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def amount(found: Compared, value: float, language: Language) -> str:
    """A share, microseconds or bytes."""
    numbers = Numbers(language)
    if found.per_transaction is None:
        return numbers.share(value, 2)
    unit = language.say("unit-b" if found.sample_type.unit == "bytes" else "unit-us")
    return f"{numbers.digits(value, 3)} {unit}"


def cells(found: Compared, part: Part, language: Language) -> tuple[str, str, str, str]:
    """Both means, their difference and its interval."""

    def signed(value: float) -> str:
        return f"{'+' * (value > 0)}{amount(found, value, language)}"

    ends = part.difference.interval(1 - LEVEL) if part.difference else None
    low, high = map(signed, ends or (0.0, 0.0))
    unit = "" if found.per_transaction is None else f" {high.rpartition(' ')[2]}"
    interval = language.say("number-interval", low=low.removesuffix(unit), high=high)
    baseline, candidate = (amount(found, one, language) for one in (part.baseline, part.candidate))
    return baseline, candidate, signed(part.change), interval if ends else MISSING


def word(found: Compared, part: Part, language: Language) -> str:
    """What a part is called that changed: dearer, cheaper; of shares, larger or smaller."""
    of_what = "share" if found.per_transaction is None else "cost"
    way = "more" if part.change > 0 else "less"
    return language.say(f"profiles-{way}-{of_what}") if part.changed else ""


def notes(found: Compared, language: Language, whole: str = "profiles-cost") -> Iterator[str]:
    """What moved, and what limits this.

    Args:
        whole: the message that names what is split.
    """
    say, numbers = language.say, Numbers(language)
    for shift in found.moved:
        each = [f"{name(one)} ({cells(found, one, language)[2]})" for one in shift.parts]
        parts = items(each, language)
        yield say("profiles-moved", caller=short(shift.caller), parts=parts)
    if not found.is_decided:
        yield say("profiles-few")
    elif not found.changed:
        yield say("profiles-none", tested=len(found.functions) + len(found.modules))
    if found.per_transaction is None:
        yield say("profiles-shares", type=found.sample_type.name)
    else:
        *both, change, interval = cells(found, found.per_transaction, language)
        yield f"{say(whole)}: {' → '.join(both)}, {change} ({interval})"
    if max(found.nameless) >= LEAST:
        baseline, candidate = (numbers.share(one, 1) for one in found.nameless)
        yield say("profiles-nameless", baseline=baseline, candidate=candidate)


def _of(report: Report, workload: str, kind: Kind, role: str, found: Compared) -> Functions:
    language = report.language
    shown = found.changed if found.is_decided else found.functions[:MOST]

    def row(part: Part) -> list[str]:
        kind, told = language.say(f"profiles-{part.kind}"), word(found, part, language)
        return [name(part), kind, *cells(found, part, language), told]

    baseline, candidate = found.counts
    told = language.say(
        "functions-told",
        workload=title_of(workload),
        kind=_LOOKS[kind],
        role=component(role),
        baseline=baseline,
        candidate=candidate,
        changed=len(found.changed) if found.is_decided else "few",
    )
    return Functions(
        workload,
        kind,
        role,
        found,
        told,
        [*map(row, shown)],
        [*map(row, [one for one in found.modules if one.name != NO_MODULE][:MOST])],
        [plain(one) for one in notes(found, language, f"functions-cost-{kind}")],
    )
