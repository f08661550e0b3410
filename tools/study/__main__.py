"""Simulates what the decision rule and the long view promise: ``make study``.

``python -m tools.study PART`` simulates one of its parts. The tables go to ``build/study``. The
seed is fixed: the same rule gives the same bytes. It fails, naming them, where promises of the rule
do not hold.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence

from benchlab import home
from tools.study import (
    causes,
    families,
    for_dollars,
    long_view,
    looks,
    mondays,
    profiles,
    promises,
    seconds,
)
from tools.study.promises import Kept

PAGES: Mapping[str, Callable[[], str]] = {
    "shares": lambda: families.page(families.study()),
    "dollars": lambda: for_dollars.page(for_dollars.study()),
    "mondays": lambda: mondays.page(mondays.study()),
    "looks": lambda: looks.page(looks.study()),
    "causes": lambda: causes.page(causes.study()),
    "profiles": lambda: profiles.page(profiles.study()),
    "long-view": lambda: long_view.page(long_view.study()),
    "seconds": seconds.page,
}
PARTS = ("promises", *PAGES)


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
        else:
            text = PAGES[part]()
        page = folder / f"{part}.md"
        page.write_text(text, encoding="utf-8")
        print(f"{page} written, {time.monotonic() - began:.0f} s")
    for promise in broken:
        print(f"error: a promise of the rule is broken: {promise}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
