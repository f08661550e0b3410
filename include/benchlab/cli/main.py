"""The command line: everything a campaign does, without Airflow.

A command's module is imported only when the command is run or asked for its help, so that no
command waits for the imports of others. ``benchlab --help`` reads the first lines of the commands'
docstrings from the modules' source.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_group

from benchlab.errors import BenchlabError

_MEASURE, _READ, _PUBLISH, _KEEP = "Measure", "Read the answers", "Publish", "Keep it running"
# The modules of this package with their commands, each in the order of declaration, and the part of
# `benchlab --help` where each is listed; the modules in the order of that list.
COMMANDS = {
    "report_types": {"reports": _MEASURE},
    "plan": {"plan": _MEASURE, "install": _MEASURE},
    "run": {"run": _MEASURE, "give-back": _MEASURE, "reap": _MEASURE},
    "reproduce": {"reproduce": _MEASURE},
    "bisect": {"bisect": _MEASURE},
    "campaigns": {"campaigns": _READ},
    "compare": {"compare": _READ, "calibrate": _READ},
    "open": {"open": _READ},
    "history": {"history": _READ},
    "findings": {"findings": _READ},
    "profiles": {"profiles": _READ},
    "mcp": {"mcp": _READ},
    "parse": {"parse": _READ},
    "reports": {"render": _PUBLISH, "publish": _PUBLISH, "verify": _PUBLISH},
    "site": {"site": _PUBLISH},
    "pages": {"import": _PUBLISH, "audit": _PUBLISH},
    "doctor": {"doctor": _KEEP},
    "validate": {"validate": _KEEP},
    "spending": {"spending": _KEEP},
    "prices": {"prices": _KEEP},
    "calendar": {"releases": _KEEP},
    "store": dict.fromkeys(("builds", "backup", "restore", "sql", "store"), _KEEP),
    "prune": {"prune": _KEEP},
    "journal": {"journal": _KEEP},
}
_MODULES = {name: module for module, commands in COMMANDS.items() for name in commands}
# The first line of the docstring of a command, or of a group of commands.
_HEADLINE = re.compile(
    r'^@(?:app\.command|_\w+\.callback)\(.*?^    """(.+?)(?:""")?$', re.MULTILINE | re.DOTALL
)


class _Commands(TyperGroup):
    """Reads each command's headline from its source, and imports only the command that is run."""

    def get_command(self, ctx: Any, name: str) -> Any:
        if (command := super().get_command(ctx, name)) is not None:
            source = Path(__file__).with_name(f"{_MODULES[name]}.py").read_text(encoding="utf-8")
            lines = zip(COMMANDS[_MODULES[name]], _HEADLINE.findall(source), strict=True)
            command.help = dict(lines)[name]
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, commands_of(_MODULES[name])[name] if name else command, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            # Typer lets pydantic check values, and passes its prefix on.
            error.message = error.message.removeprefix("Value error, ")
            raise


def commands_of(module: str) -> dict[str, Any]:
    """The commands that a module of this package declares, by name: ``commands_of("run")``."""
    found = dict(get_group(importlib.import_module(f"benchlab.cli.{module}").app).commands)
    for command in found.values():
        for one in (command, *getattr(command, "commands", {}).values()):
            # Rich would keep the lines of a docstring, whatever the width of the terminal.
            one.help = re.sub(r"(?<!\n)\n(?!\n)", " ", one.help or "")
    return found


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Is version B faster or slower than version A, by how much, and can it be trusted?",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # only this option waits for it

        print(f"benchlab {version('benchlab')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="print the version"),
    ] = False,
) -> None:
    """Take the options that precede a command."""


def _named_only() -> None:
    """A placeholder that is never run: :class:`_Commands` replaces it by the command itself."""


for _commands in COMMANDS.values():
    for _name, _part in _commands.items():
        app.command(_name, rich_help_panel=_part)(_named_only)


def main() -> NoReturn:
    """Run the command line. A ``BenchlabError`` is printed without a traceback; exit code 1.

    So is an ``OSError``: a disk, a file or the network that fails.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal's encoding lacks is written as an escape.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="benchlab", standalone_mode=True)
    except BenchlabError as error:
        for text in (str(error), *getattr(error, "__notes__", ())):
            print(f"error: {text}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        from benchlab.language import sayings  # only a failure waits for it

        for text in (*sayings(error), *getattr(error, "__notes__", ())):
            print(f"error: {text}", file=sys.stderr)
        sys.exit(1)
    sys.exit(0)


if __name__ == "__main__":
    main()
