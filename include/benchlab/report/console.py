"""What every text for a terminal shares: plain words, colours only where they are asked for."""

from __future__ import annotations

import io

from rich import box
from rich.console import Console
from rich.table import Table


def console_for(width: int, colour: bool) -> Console:
    """One that keeps what is printed, for :func:`text_of`; ``colour`` asks for ANSI codes.

    Nothing in a text is taken for markup, an emoji or something to highlight.
    """
    return Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
        emoji=False,
        markup=False,
        highlight=False,
    )


def table_of(*headings: str) -> Table:
    """An empty table; what does not fit is folded, for what is copied from it must not be cut."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == "versions")
    return table


def text_of(printed: Console) -> str:
    """What was printed, without blanks at the ends of lines."""
    assert isinstance(printed.file, io.StringIO)  # noqa: S101 - as made above
    lines = printed.file.getvalue().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"
