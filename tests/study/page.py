"""The part of docs/statistics.md that the study writes: its tables, between two comments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchlab.errors import SpecError
from tests.study.figures import (
    CAMPAIGNS,
    CELL_CAMPAIGNS,
    CELL_CHANGE,
    CELL_WORLDS,
    CHANGES,
    OURS,
    POWER_CAMPAIGNS,
    POWER_WORLDS,
    RULES,
    Key,
    Share,
)
from tests.study.promises import Kept
from tests.study.worlds import WORKLOADS, WORLDS

BEGIN = "<!-- written by `make study`; edits are replaced -->"
END = "<!-- end of what `make study` writes -->"
BEGIN_PROMISES = "<!-- promises, written by `make study`; edits are replaced -->"
END_PROMISES = "<!-- end of the promises that `make study` writes -->"
BEGIN_SHARING = "<!-- sharing, written by `make study`; edits are replaced -->"
END_SHARING = "<!-- end of sharing that `make study` writes -->"
BEGIN_PRIORS = "<!-- priors, written by `make study`; edits are replaced -->"
END_PRIORS = "<!-- end of priors that `make study` writes -->"


def with_figures(page: str, shares: Mapping[Key, Share]) -> str:
    """The page with the study's part replaced.

    Raises:
        SpecError: as :func:`parts` says.
    """
    return replaced(page, tables(shares), BEGIN, END)


def replaced(page: str, text: str, begin: str, end: str) -> str:
    """The page with a part of it replaced: what is between two comments.

    Raises:
        SpecError: as :func:`parts` says.
    """
    head, tail = parts(page, begin, end)
    return f"{head}{begin}\n\n{text}\n{end}{tail}"


def parts(page: str, begin: str = BEGIN, end: str = END) -> tuple[str, str]:
    """What is before and after a part that the study writes.

    Raises:
        SpecError: the page lacks one of the two comments, or they are not in order.
    """
    head, has_begin, rest = page.partition(begin)
    _, has_end, tail = rest.partition(end)
    if not (has_begin and has_end):
        raise SpecError(f"docs/statistics.md: must have {begin!r} and, below it, {end!r}")
    return head, tail


def promises(found: Sequence[Kept]) -> str:
    """What the rule promises, as a table: before, now, and what it has to keep."""
    head = ("campaigns", "what is counted", "before", "now", "bound")
    lines = [f"| {' | '.join(head)} |\n", "| --- | --- | ---: | ---: | ---: |\n"]
    for one in found:
        row = one.row
        before = "–" if row.before is None else f"{row.before:.1f}"
        bound = f"{'≤' if row.at_most else '≥'} {row.bound:g}{_standing(one)}"
        cells = (row.world, row.counted, before, _cell(one.share), bound)
        lines.append(f"| {' | '.join(cells)} |\n")
    return f"{''.join(lines)}\n{_short(found)}"


def _standing(one: Kept) -> str:
    """What a reader should know of a bound beside its number."""
    if not one.holds:
        return " **broken**"
    wanted = f" (wanted: {one.row.wanted:g})" if one.row.wanted is not None else ""
    return f"{wanted}{' within its error' if one.row.is_beyond(one.share) else ''}"


def _short(found: Sequence[Kept]) -> str:
    """The promises that fall short of what was wanted, each with the reason."""
    lines = [
        "**Wanted, and not promised.** The bounds that fall short of what was wanted, and why:\n\n"
    ]
    for one in found:
        row = one.row
        if row.wanted is not None:
            lines.append(
                f"- {row.world}: {row.counted} in {_cell(one.share)}, where "
                f"{row.wanted:g} were wanted: {row.why}.\n"
            )
    return "".join(lines)


def reached(shares: Mapping[Key, Share], what: str) -> str:
    """A table of :mod:`tests.study.reach`: a line for each rule, a column for what is counted."""
    names, columns = (list(dict.fromkeys(key[place] for key in shares)) for place in (0, 1))
    return _table(what, columns, {name: (name,) for name in names}, shares)


def tables(shares: Mapping[Key, Share]) -> str:
    """All tables, each with what its figures are."""
    worlds = [world.name for world in WORLDS]
    alone = _table("rule", worlds, {rule: ("alone", rule) for rule in RULES}, shares)
    counted = _table("rule", worlds, {rule: ("counted", rule) for rule in RULES}, shares)
    called = _table("rule", worlds, {rule: ("called", rule) for rule in RULES}, shares)
    covered = _table("rule", worlds, {rule: ("covered", rule) for rule in OURS}, shares)
    power = "\n".join(_power(world.name, shares) for world in POWER_WORLDS)
    cells = _table(
        "what is found",
        [world.name for world in CELL_WORLDS],
        {
            "the thread count is named": ("cell named",),
            "it is, and no other in the campaign": ("cell alone named",),
            "the workload is called a change": ("cell called",),
        },
        shares,
    )
    named = _table(
        "nothing changed", worlds, {"a campaign names a thread count": ("named",)}, shares
    )
    return f"""\
All figures are percent, with the 95 % interval of the simulation itself in brackets: {CAMPAIGNS:,}
campaigns of {len(WORKLOADS)} workloads for each false alarm. A dash: not
simulated; *mean of threads* has no p value.

**False alarms, p < 0.05.** The share of workloads without any change for which p is below 0.05,
each taken alone. It should be 5.

{alone}
**False alarms in a campaign, p < 0.05.** The share of campaigns without any change in which at
least one workload has p below 0.05. Benchlab adjusts p by Holm; the others, as they are used, do
not adjust it.

{counted}
**False alarms in a campaign, called a change.** As above, and the estimate is 2 % or more. This is
what a reader of the report sees: a false `improvement` or `regression`.

{called}
**The interval.** The share of the 95 % intervals that contain the truth.

{covered}
**Power.** The share of real changes that are called, and with the right sign: p < 0.05 as the rule
takes it and an estimate of 2 % or more. One workload of five has changed; {POWER_CAMPAIGNS}
campaigns for each size. A rule with many false alarms finds much for the same reason.

{power}
**One thread count.** One workload has changed by {CELL_CHANGE:g} % at one of its six thread counts;
{CELL_CAMPAIGNS} campaigns, no calibration.

{cells}
{named}"""


def _power(world: str, shares: Mapping[Key, Share]) -> str:
    changes = {f"{change:g}": f"{change:g} %" for change in CHANGES}
    rules = {rule: ("power", rule, world) for rule in RULES}
    return f"In the world *{world}*:\n\n{_table('rule', changes, rules, shares)}"


def _table(
    what: str,
    columns: Mapping[str, str] | Sequence[str],
    rows: Mapping[str, Key],
    shares: Mapping[Key, Share],
) -> str:
    """A table in Markdown; rows without any figure are left out.

    Args:
        columns: the ends of the keys, with their headings where these differ.
        rows: by name, the beginnings of the keys.
    """
    headings = list(columns.values()) if isinstance(columns, Mapping) else list(columns)
    lines = [[what, *headings], ["---", *["---:"] * len(headings)]]
    for name, key in rows.items():
        found = [shares.get((*key, column)) for column in columns]
        if any(found):
            lines.append([name, *map(_cell, found)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(share: Share | None) -> str:
    if share is None:
        return "–"
    low, high = share.interval
    return f"{100 * share.value:.1f} ({100 * low:.1f}–{100 * high:.1f})"
