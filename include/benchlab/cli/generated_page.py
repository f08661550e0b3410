"""A page that is written from what it describes, into a folder that git ignores."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from benchlab import home
from benchlab.errors import BenchlabError

FOLDER = Path("build/docs")


def main(name: str, text_of: Callable[[Path], str]) -> int:
    """Write a page below ``build/docs`` of the checkout and return the exit code.

    Example: ``generated_page.main("DAGS.md", lambda project: "# DAGs")``

    Args:
        name: the page's file name.
        text_of: gives its text for a checkout. A ``BenchlabError`` is printed; nothing is written.
    """
    project = home.find().project
    try:
        text = text_of(project)
    except BenchlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    page = project / FOLDER / name
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    print(f"{FOLDER / name} written")
    return 0
