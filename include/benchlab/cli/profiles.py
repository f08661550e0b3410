"""The command that compares profiles of servers: profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from benchlab.analysis.cause.profiles import compare
from benchlab.charts.picture import write
from benchlab.cli import profiles_text
from benchlab.cli.options import Json, show
from benchlab.plan.documents import write_text
from benchlab.results.pprof import read

app = typer.Typer()
_SEVERAL = ("--baseline", "--candidate", "--cpu-us-per-transaction")


class _SeveralValues(TyperCommand):
    """Lets several values follow an option, as the shell writes them for ``before/*.pb.gz``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread, option = list[str](), ""
        for arg in args:
            if arg.startswith("--"):
                option = arg if arg in _SEVERAL else ""
            spread += [option, arg] if option and arg != option else [arg] * (not option)
        return super().parse_args(ctx, spread)


@app.command(cls=_SeveralValues)
def profiles(
    baseline: Annotated[
        list[Path], typer.Option(metavar="FILE...", help="three or more profiles of one side")
    ],
    candidate: Annotated[list[Path], typer.Option(metavar="FILE...", help="of the other side")],
    sample_type: Annotated[
        str, typer.Option("--type", help="cpu, alloc_space, ...; default: what pprof shows")
    ] = "",
    cpu_us_per_transaction: Annotated[
        list[float],
        typer.Option(
            metavar="US...",
            help="the server's CPU per transaction during each profile, in microseconds, the "
            "baseline's first; without it, shares are compared",
        ),
    ] = [],  # noqa: B006
    paired: Annotated[
        bool, typer.Option("--paired", help="the profiles belong together, in their order")
    ] = False,
    as_json: Json = False,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="draw a differential flame graph, as .svg"),
    ] = None,
    speedscope: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="write both sides as JSON for speedscope.app"),
    ] = None,
) -> None:
    """Show which functions became dearer, from profiles of each side.

    The files are what Go's servers and TiKV answer under /debug/pprof/, gzipped or not.

    Example: benchlab profiles --baseline old/*.pb.gz --candidate new/*.pb.gz --picture diff.svg
    """
    found = compare(
        [*map(read, baseline)],
        [*map(read, candidate)],
        sample_type=sample_type,
        per_transaction=cpu_us_per_transaction,
        paired=paired,
    )
    if picture is not None:
        write(picture, profiles_text.picture(found))
    if speedscope is not None:
        write_text(speedscope, profiles_text.for_speedscope(found))
    show(found, as_json, profiles_text.to_json, profiles_text.render)
