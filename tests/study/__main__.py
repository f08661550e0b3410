"""Simulates the decision rule, the long view and others: ``make study``.

``python -m tests.study long-view`` simulates the long view alone, which is quicker.

Writes the tables of docs/statistics.md and the pictures docs/statistics.svg and
docs/long_view.svg. The seed is fixed: the same rule gives the same bytes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchlab import home
from benchlab.errors import BenchlabError
from tests.study import long_view, long_view_page, page, picture
from tests.study.figures import study


def main(arguments: Sequence[str]) -> int:
    """Simulate and write; returns the exit code."""
    docs = home.find().project / "docs"
    began = time.monotonic()
    parts = (_long_view,) if list(arguments) == ["long-view"] else (_rule, _long_view)
    try:
        for part in parts:
            part(docs)
    except (BenchlabError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"docs/statistics.md and its pictures written in {time.monotonic() - began:.0f} s")
    return 0


def _rule(docs: Path) -> None:
    text = docs / "statistics.md"
    page.parts(text.read_text())  # a fault of it is found before the work
    shares = study()
    # Read again: somebody may have written in it meanwhile.
    text.write_text(page.with_figures(text.read_text(), shares))
    (docs / "statistics.svg").write_bytes(picture.draw(shares))


def _long_view(docs: Path) -> None:
    text, between = docs / "statistics.md", (long_view_page.BEGIN, long_view_page.END)
    page.parts(text.read_text(), *between)
    tables = long_view_page.tables(long_view.study())
    text.write_text(page.replaced(text.read_text(), tables, *between))
    (docs / "long_view.svg").write_bytes(long_view_page.picture())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
