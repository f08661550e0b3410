"""Consoles and tables of Rich for terminal output: no markup, and colours only on request.

>>> console = console_for(80, colour=False)
>>> print_table(console, table_of("campaign", "verdict"))
>>> text_of(console).splitlines()[0]
'campaign   verdict'
"""

from __future__ import annotations

import io

from rich import box
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

_WHOLE = {"versions", "compared", "verdict", "campaign", "report"}
# Up to this many times as wide as the terminal, a table is printed as such, with wrapped cells.
_WRAPPED = 1.5
_UNBOUNDED = 10_000  # columns


def console_for(width: int, colour: bool) -> Console:
    """A console that collects output for :func:`text_of`; ``colour``: with ANSI codes.

    Text is printed literally: no markup, emoji codes or highlighting.
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
    """An empty table for :func:`print_table`; cells that do not fit are wrapped, never cut.

    Columns that people copy into a command, such as ids, are not wrapped either.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading in _WHOLE)
    return table


def print_table(console: Console, table: Table) -> None:
    """Print a table, or, where the console is too narrow for it, each row as lines of its own."""
    unbounded = console.options.update(max_width=_UNBOUNDED)
    sizes = [_size(console, unbounded, column) for column in table.columns]
    # Measured without rows: measuring a long table again takes as long as printing it.
    bare = table_of(*(str(column.header) for column in table.columns))
    headings = sum(_size(console, unbounded, column)[1] for column in bare.columns)
    between = console.measure(bare, options=unbounded).maximum - headings
    spare = console.width - between - sum(least for least, _ in sizes)
    whole = between + sum(most for _, most in sizes)
    if spare < 0 or whole > _WRAPPED * console.width:
        _print_rows(console, table)
        return
    # Rich itself would break words of some columns while others have room. Figures come first: they
    # need the least to stay whole.
    needs = sorted(zip(table.columns, sizes, strict=True), key=lambda one: one[1][1] - one[1][0])
    for column, (least, most) in needs:
        column.width = least + min(most - least, spare)
        spare -= column.width - least
    console.print(table)


def _print_rows(console: Console, table: Table) -> None:
    """Print each row as its first cell, and below it the others, each with its heading."""
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        lines: list[Text] = []
        for column, cell in zip(table.columns, cells, strict=True):
            text = cell if isinstance(cell, Text) else Text(str(cell))
            if not text:
                continue
            is_first = column is table.columns[0]
            said = text if is_first else Text(f"{column.header} ").append_text(text)
            if len(lines) > 1 and lines[-1].cell_len + said.cell_len + 5 <= console.width:
                lines[-1].append(" · ").append_text(said)
            else:
                lines.append(said)
        for line in lines[:1]:
            console.print(line, style="bold")
        for line in lines[1:]:
            console.print(Padding(line, (0, 0, 0, 2)))


def _size(console: Console, unbounded: ConsoleOptions, column: Column) -> tuple[int, int]:
    """The width of a column in characters: wrapped between words, and not wrapped."""
    cells = (column.header, *column.cells)
    sizes = [Measurement.get(console, unbounded, cell) for cell in cells]
    most = max(size.maximum for size in sizes)
    return most if column.no_wrap else max(size.minimum for size in sizes), most


def text_of(printed: Console) -> str:
    """The collected output, without trailing blanks on its lines."""
    assert isinstance(printed.file, io.StringIO)  # noqa: S101 - as made above
    lines = printed.file.getvalue().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"
