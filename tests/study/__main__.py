"""Simulates the decision rule, its promises, other rules and the long view: ``make study``.

``python -m tests.study promises``, ``reach``, ``rules`` or ``long-view`` simulates a part alone.

Writes the tables of docs/statistics.md and the pictures docs/statistics.svg and
docs/long_view.svg. The seed is fixed: the same rule gives the same bytes. It fails, naming them,
where promises of the rule do not hold.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchlab import home
from benchlab.errors import BenchlabError
from tests.study import long_view, long_view_page, page, picture, promises, reach
from tests.study.figures import study
from tests.study.promises import Kept


def main(arguments: Sequence[str]) -> int:
    """Simulate and write; returns the exit code."""
    parts = {
        "promises": _promises,
        "reach": _reach,
        "rules": _rules,
        "long-view": _long_view,
    }
    if unknown := set(arguments) - set(parts):
        print(
            f"error: no such part: {min(unknown)}; there are: {', '.join(parts)}", file=sys.stderr
        )
        return 2
    docs = home.find().project / "docs"
    began = time.monotonic()
    broken: list[Kept] = []
    try:
        for name, part in parts.items():
            if not arguments or name in arguments:
                broken += part(docs)
    except (BenchlabError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"docs/statistics.md and its pictures written in {time.monotonic() - began:.0f} s")
    for promise in broken:
        print(f"error: a promise of the rule is broken: {promise}", file=sys.stderr)
    return 1 if broken else 0


def _promises(docs: Path) -> list[Kept]:
    text, between = docs / "statistics.md", (page.BEGIN_PROMISES, page.END_PROMISES)
    page.parts(text.read_text(), *between)  # a fault of it is found before the work
    found = promises.study()
    # Read again: somebody may have written in it meanwhile.
    text.write_text(page.replaced(text.read_text(), page.promises(found), *between))
    return promises.broken(found)


def _reach(docs: Path) -> list[Kept]:
    text = docs / "statistics.md"
    for what, simulate, between in (
        ("rule", reach.sharing, (page.BEGIN_SHARING, page.END_SHARING)),
        ("prior, a side", reach.priors, (page.BEGIN_PRIORS, page.END_PRIORS)),
    ):
        page.parts(text.read_text(), *between)
        table = page.reached(simulate(), what)
        text.write_text(page.replaced(text.read_text(), table, *between))
    return []


def _rules(docs: Path) -> list[Kept]:
    text = docs / "statistics.md"
    page.parts(text.read_text())
    shares = study()
    text.write_text(page.with_figures(text.read_text(), shares))
    (docs / "statistics.svg").write_bytes(picture.draw(shares))
    return []


def _long_view(docs: Path) -> list[Kept]:
    text, between = docs / "statistics.md", (long_view_page.BEGIN, long_view_page.END)
    page.parts(text.read_text(), *between)
    tables = long_view_page.tables(long_view.study())
    text.write_text(page.replaced(text.read_text(), tables, *between))
    (docs / "long_view.svg").write_bytes(long_view_page.picture())
    return []


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
