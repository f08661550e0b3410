"""Simulates the decision rule and others: ``python -m tests.study``, or ``make study``.

Writes the tables of docs/statistics.md and the picture docs/statistics.svg. The seed is fixed: the
same rule gives the same bytes.
"""

from __future__ import annotations

import sys
import time

from benchlab import home
from benchlab.errors import BenchlabError
from tests.study import page, picture
from tests.study.figures import study


def main() -> int:
    """Simulate and write; returns the exit code."""
    docs = home.find().project / "docs"
    began = time.monotonic()
    try:
        page.parts((docs / "statistics.md").read_text())  # a fault of it is found before the work
        shares = study()
        # Read again: somebody may have written in it meanwhile.
        text = page.with_figures((docs / "statistics.md").read_text(), shares)
        (docs / "statistics.md").write_text(text)
        (docs / "statistics.svg").write_bytes(picture.draw(shares))
    except (BenchlabError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"docs/statistics.md and docs/statistics.svg written in {time.monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
