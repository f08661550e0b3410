"""A page in ``docs/`` that is written from what it describes, and checked against it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchlab import home
from benchlab.errors import BenchlabError


def main(
    module: str,
    about: str,
    name: str,
    source: str,
    text_of: Callable[[Path], str],
    arguments: Sequence[str] | None = None,
) -> int:
    """Write a page, or with ``--check`` compare it; return the exit code, 1 if out of date.

    Args:
        module: the module that is run with ``python -m``.
        about: its docstring, whose first line is the help.
        name: of the page below the checkout, such as ``docs/DAGS.md``.
        source: what it describes, for people: ``the DAGs``.
        text_of: gives the page's text for a checkout; a ``BenchlabError`` is printed.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=about.split("\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit code 1 if it is out of date"
    )
    options = parser.parse_args(arguments)
    project = home.find().project
    page = project / name
    try:
        text = text_of(project)
    except BenchlabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if page.exists() and page.read_text(encoding="utf-8") == text:
        return 0
    if options.check:
        command = f".venv/bin/python -m {module}"
        print(f"{name} is not what {source} say; write it anew: {command}", file=sys.stderr)
        return 1
    page.write_text(text, encoding="utf-8")
    print(f"{name} written")
    return 0
