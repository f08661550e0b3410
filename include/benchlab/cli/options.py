"""Arguments, options and output that several commands share."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from benchlab.cli import completing
from benchlab.errors import SpecError

if TYPE_CHECKING:
    from benchlab.campaign.outcome import Outcome
    from benchlab.plan.report_type import ReportSpec

Found = TypeVar("Found")
Json = Annotated[bool, typer.Option("--json", help="print JSON")]
CHANGES = frozenset({"regression", "improvement"})
FAILING = ("regression", "improvement", "unstable", "inconclusive")
# Exit code of a command that found a verdict of --fail-on.
FOUND = 3
CampaignId = Annotated[
    str,
    typer.Argument(
        help="a campaign's id; `benchlab campaigns` lists them",
        autocompletion=completing.campaigns,
    ),
]


def day(text: str) -> date:
    """Parse the day of an option: ``day("2022-09-30")``.

    Raises:
        BadParameter: there is no such day, or it is written in another form.
    """
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise typer.BadParameter(
            f"{text!r}: there is no such day, or it is not written as YYYY-MM-DD"
        ) from None


def verdict(text: str) -> str:
    """Check a verdict of ``--fail-on``: ``verdict("regression")``.

    Raises:
        BadParameter: a command cannot fail on it.
    """
    if text not in FAILING:
        raise typer.BadParameter(f"{text!r}: must be one of {', '.join(FAILING)}")
    return text


FailOn = Annotated[
    list[str],
    typer.Option(
        "--fail-on",
        parser=verdict,
        metavar="VERDICT",
        help=f"exit with code 3 where a workload has this verdict: {', '.join(FAILING)}; may be "
        "given several times",
    ),
]


def width() -> int:
    """The width of the terminal in columns; 100 if there is none."""
    return shutil.get_terminal_size((100, 24)).columns


def show(
    found: Found,
    as_json: bool,
    to_json: Callable[[Found], Any],
    render: Callable[[Found, int, bool], str],
) -> None:
    """Print a result, as JSON or for the terminal.

    Args:
        render: makes the text from the result, the terminal's width in columns, and whether to use
            colour.

    Example:
        ``show(found, as_json, text.to_json, text.render)``
    """
    if as_json:
        print(json.dumps(to_json(found), indent=2, ensure_ascii=False))
    else:
        print(render(found, width(), sys.stdout.isatty()), end="")


def refuse_without_verdicts(spec: ReportSpec) -> None:
    """Refuse ``--fail-on`` if one version is measured: without a verdict it would never fail.

    Raises:
        SpecError: the report type measures one version.
    """
    if spec.sides == "single":
        raise SpecError(
            f"--fail-on: {spec.report} measures one version (sides: single), so there is no "
            "verdict; leave it out"
        )


def fail_on(made: Outcome, failing: Sequence[str]) -> None:
    """End with exit code 3 if a metric of any workload has one of these verdicts.

    A change in an A/A campaign is a false alarm, and does not count.

    Raises:
        Exit: one has; workload, metric and verdict go to standard error.
        SpecError: one version was measured, so there is no verdict.
    """
    from benchlab.report.sentences import answer

    if failing:
        refuse_without_verdicts(made.campaign.report_type)
    wanted = set(failing) - (CHANGES if made.campaign.is_aa else set())
    found = [
        f"{workload.name}, {metric.name}: {answer.named(metric, decided.verdict)}"
        for workload in made.comparison.workloads
        for metric, decided in workload.decided
        if decided.verdict in wanted
    ]
    if found:
        print(f"--fail-on: {'; '.join(found)}", file=sys.stderr)
        raise typer.Exit(FOUND)
