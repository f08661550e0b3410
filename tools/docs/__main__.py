"""Writes the pages that follow from the code: ``make docs``.

``python -m tools.docs`` writes ``docs/RELIABILITY.md``, and into ``build/docs`` the pages
``PUBLISHED_PLANS.md`` and, with Airflow installed, ``DAGS.md``. With ``--check``, as in
``bin/check``, a page in ``docs`` is not written: it fails where one is not what it should be.
"""

from __future__ import annotations

import sys

from benchlab import home
from benchlab.errors import BenchlabError, SpecError
from benchlab.home import Home
from tools.docs import dags, published_plans, reliability

# The DAGs last: their page changes this process's environment.
PAGES = {
    reliability.PLACE: reliability.page,
    "build/docs/PUBLISHED_PLANS.md": published_plans.page,
    "build/docs/DAGS.md": dags.page,
}


def main(arguments: list[str]) -> int:
    """Write all pages and return the exit code; a page that cannot be written stays as it was."""
    here = home.find()
    try:
        for name in PAGES:
            _write(here, name, check="--check" in arguments)
    except BenchlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _write(here: Home, name: str, *, check: bool) -> None:
    path, text = here.project / name, PAGES[name](here)
    if check and name.startswith("docs/"):
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            raise SpecError(f"{name} is not what the code says: run make docs")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"{name} written")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
