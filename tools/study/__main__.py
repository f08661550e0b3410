"""Simulates what the decision rule and the long view promise: ``make study``.

``python -m tools.study promises``, ``shares``, ``dollars``, ``mondays``, ``looks``, ``profiles`` or
``long-view`` simulates one of them. The tables go to ``build/study``. The seed is fixed: the same
rule gives the same bytes. It fails, naming them, where promises of the rule do not hold.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

from benchlab import home
from tools.study import families, for_dollars, long_view, looks, mondays, profiles, promises
from tools.study.promises import Kept

PARTS = ("promises", "shares", "dollars", "mondays", "looks", "profiles", "long-view")


def main(arguments: Sequence[str]) -> int:
    """Simulate and write; returns the exit code."""
    if unknown := set(arguments) - set(PARTS):
        print(
            f"error: no such part: {min(unknown)}; there are: {', '.join(PARTS)}", file=sys.stderr
        )
        return 2
    folder = home.find().project / "build" / "study"
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    broken: list[Kept] = []
    for part in arguments or PARTS:
        if part == "promises":
            kept = promises.study()
            broken = promises.broken(kept)
            text = promises.page(kept)
        elif part == "shares":
            text = families.page(families.study())
        elif part == "dollars":
            text = for_dollars.page(for_dollars.study())
        elif part == "mondays":
            text = mondays.page(mondays.study())
        elif part == "looks":
            text = looks.page(looks.study())
        elif part == "profiles":
            text = profiles.page(profiles.study())
        else:
            text = long_view.page(long_view.study())
        page = folder / f"{part}.md"
        page.write_text(text, encoding="utf-8")
        print(f"{page} written, {time.monotonic() - began:.0f} s")
    for promise in broken:
        print(f"error: a promise of the rule is broken: {promise}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
