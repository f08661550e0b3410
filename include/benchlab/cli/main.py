"""The command line: everything a campaign does, without Airflow."""

from __future__ import annotations

import io
import os
import sys
from typing import NoReturn

import typer

from benchlab.cli import bisect, calendar, compare, doctor, plan, reports, run
from benchlab.errors import BenchlabError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Is version B faster or slower than version A, by how much, and can it be trusted?",
)
for group in (doctor, plan, run, compare, reports, bisect, calendar):
    app.add_typer(group.app)


def main() -> NoReturn:
    """Entry point: a ``BenchlabError`` is printed without a traceback; exit code 1."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal's encoding lacks is written as an escape, without an error.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(standalone_mode=True)
    except BenchlabError as error:
        for text in (str(error), *getattr(error, "__notes__", ())):
            print(f"error: {text}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    sys.exit(0)


if __name__ == "__main__":
    main()
