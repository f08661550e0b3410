"""Writes the pages that follow from the code into ``build/docs``: ``make docs``.

``python -m tools.docs`` writes ``PUBLISHED_PLANS.md`` and, with Airflow installed, ``DAGS.md``.
"""

from __future__ import annotations

import sys

from benchlab import home
from benchlab.errors import BenchlabError
from tools.docs import dags, published_plans


def main() -> int:
    """Write both pages and return the exit code; a page that cannot be written stays as it was."""
    here = home.find()
    folder = here.project / "build" / "docs"
    folder.mkdir(parents=True, exist_ok=True)
    # The DAGs last: their page changes this process's environment.
    for name, page in {"PUBLISHED_PLANS.md": published_plans.page, "DAGS.md": dags.page}.items():
        try:
            text = page(here)
        except BenchlabError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        (folder / name).write_text(text, encoding="utf-8")
        print(f"build/docs/{name} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
