"""The command line: everything a campaign does, without Airflow.

The table :data:`COMMANDS` is enough for `benchlab --help`. The module of a command is imported when
the command is run or asked for its own help, so that no command waits for what only others need.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_group

from benchlab.errors import BenchlabError, told

# The modules of this package with their commands, each with the first line of its docstring, in the
# order of `benchlab --help`.
COMMANDS = {
    "doctor": {"doctor": "Name what is missing on this machine, and how to get it."},
    "validate": {
        "validate": "Check report types, topologies and notifications.yaml; names all faults.",
    },
    "plan": {
        "plan": "Show what a campaign would do: steps, minutes, hosts, dollars, trials. Starts "
        "nothing.",
        "install": "Install the database servers of a report type on this machine, ahead of a "
        "campaign.",
    },
    "run": {
        "run": "Run a campaign, here or on the hosts of its topology, and print the comparison.",
        "give-back": "End a campaign wherever it runs, remove its data, and give its hosts and the "
        "machine back.",
        "reap": "End EC2 fleets and TiDB Cloud clusters that are past their expiry.",
    },
    "campaigns": {"campaigns": "List the campaigns in the store, the latest first."},
    "open": {"open": "Open a campaign's report in the browser."},
    "compare": {
        "compare": "Compare the sides of a stored campaign, two campaigns of one version, or "
        "trials in a file.",
        "calibrate": "Show from A/A campaigns how often verdicts err, how small a change is found, "
        "what finds more.",
    },
    "history": {
        "history": "List what published reports and campaigns say about a workload, and chain the "
        "campaigns.",
    },
    "parse": {"parse": "Read a client's output, complete or not."},
    "reports": {
        "render": "Print a report in one format, rebuilt from the store, or write all its files.",
        "publish": "Render a campaign's report again and bring it to its destinations; repeatable.",
        "verify": "Compute every figure of a report again from its evidence, offline, and list "
        "what differs.",
    },
    "site": {"site": "Write the benchmark site as plain files, or renew those that have changed."},
    "pages": {
        "import": "Read published reports into the store; one that is refused does not stop the "
        "others.",
        "audit": "Recompute every figure of published pages and list what is wrong in them.",
    },
    "bisect": {
        "bisect": "Name the release that brought a change, with as few campaigns as possible.",
    },
    "store": {"store": "Upgrade the results store to the schema of this Benchlab."},
    "builds": {"builds": "List the builds that are kept on this machine, the newest first."},
    "calendar": {
        "releases": "List the releases of the calendar, and what the version rules name on a day.",
    },
    "prices": {
        "prices": "List the prices that plans are made with, and how old they are.",
    },
}
_MODULES = {name: module for module, commands in COMMANDS.items() for name in commands}


class _Commands(TyperGroup):
    """Knows of each command what the table says, and imports the one that is asked for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, known, rest = super().resolve_command(ctx, args)
        return name, commands_of(_MODULES[name])[name] if name else known, rest


def commands_of(module: str) -> dict[str, Any]:
    """The commands that a module of this package declares, by name: ``commands_of("run")``."""
    return dict(get_group(importlib.import_module(f"benchlab.cli.{module}").app).commands)


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
    """Never more than its options: a command follows."""


def _as_in_the_table() -> None:
    """Never run: :class:`_Commands` puts the command itself in its place."""


for _declared in COMMANDS.values():
    for _name, _line in _declared.items():
        app.command(_name, help=_line)(_as_in_the_table)


def main() -> NoReturn:
    """Entry point: a ``BenchlabError`` is printed without a traceback; exit code 1.

    So is what a disk, a file or the network refuses anywhere.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A character that the terminal's encoding lacks is written as an escape, without an error.
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
        print(f"error: {told(error)}", file=sys.stderr)
        sys.exit(1)
    sys.exit(0)


if __name__ == "__main__":
    main()
