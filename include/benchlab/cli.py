"""The command line: everything a campaign does, without Airflow."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer

from benchlab import (
    aa_selection,
    aa_sensitivity,
    backfill_plan,
    catalog,
    cli_bisect,
    cli_calendar,
    cli_campaign,
    cli_history,
    cli_reports,
    doctor,
    elsewhere,
    notifiers,
    plan,
    plan_commands,
    plan_sensitivity,
    plan_view,
    topology,
)
from benchlab import campaign as campaigns
from benchlab.access import Access
from benchlab.cli_options import CampaignId, Json, day, open_store, width
from benchlab.ec2 import reaper
from benchlab.errors import BenchlabError, SpecError, StoreError
from benchlab.home import Home, find
from benchlab.report import backfill_view, machine, model, power_chart, sensitivity, terminal
from benchlab.spec import SIDES, ReportSpec

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Is version B faster or slower than version A, by how much, can it be trusted?",
)

Report = Annotated[str, typer.Argument(help="a report type: its name, or the path of its YAML")]
Set = Annotated[
    list[str],
    typer.Option("--set", help="change a field: rounds=2, threads=2,8, candidate=11.4.5"),
]
OnDay = Annotated[
    date | None,
    typer.Option(
        "--on", parser=day, metavar="DAY", help="version rules as of this day; else today"
    ),
]
app.add_typer(cli_reports.app)
app.add_typer(cli_calendar.app)
app.add_typer(cli_bisect.app)
app.add_typer(cli_history.app)


def main() -> NoReturn:
    """Entry point: errors raised on purpose become one message and exit code 1."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What a terminal has no letters for is written by its number, and no command fails by it.
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


@app.command()
def validate(reports: Annotated[list[Path], typer.Argument(help="YAML files")]) -> None:
    """Check report types, and notifications.yaml; every fault of every file is named."""
    faults = []
    for path in reports:
        try:
            if path.name == notifiers.FILE and path.is_file():
                notifiers.load(path, {each.stem for each in catalog.report_files(find())})
            else:
                catalog.load(path)
            print(f"{path}: good")
        except BenchlabError as error:
            faults.append(str(error))
    if faults:
        raise BenchlabError("\n".join(faults))


@app.command("plan")
def show_plan(
    report: Report,
    overrides: Set = [],  # noqa: B006
    on: OnDay = None,
    as_json: Json = False,
    commands: Annotated[
        bool, typer.Option("--commands", help="print every command that a campaign would run")
    ] = False,
    backfill: Annotated[
        tuple[date, date] | None,
        typer.Option(
            parser=day,
            metavar="FROM TO",
            help="instead: every campaign that a backfill over these days would run",
        ),
    ] = None,
) -> None:
    """Show what a campaign would do: steps, minutes, hosts, dollars, trials. Starts nothing."""
    home = find()
    if backfill is not None:
        if commands or on is not None:
            raise SpecError("plan: --backfill goes with --set and --json only")
        _show_backfill(home, _report_type(home, report, overrides), backfill, as_json=as_json)
        return
    spec = _spec(home, report, overrides, on)
    engine, reason = catalog.choose_engine(spec, home, to_run=False)
    planned = catalog.plan(home, spec, engine, spec.report)
    if as_json:
        found = _sensitivity(home, spec, planned)
        document = {**planned.to_json(), "sensitivity": found.to_json() if found else None}
        print(json.dumps(document, indent=2))
    elif commands:
        print(plan_commands.render(plan_commands.of(home, spec, planned)), end="")
    else:
        not_runnable = catalog.PLANNED_TARGETS.get(spec.target)
        lines = sensitivity.of_plan(_sensitivity(home, spec, planned), spec.report)
        print(plan_view.render(spec, planned, reason, not_runnable=not_runnable, sensitivity=lines))


@app.command()
def run(
    report: Report,
    overrides: Set = [],  # noqa: B006
    on: OnDay = None,
    campaign: Annotated[
        str, typer.Option(help="id of the new campaign, or of one to go on with")
    ] = "",
    approve: Annotated[
        bool, typer.Option("--approve", help="rent also what costs more than budget.approve_above")
    ] = False,
) -> None:
    """Run a campaign, here or on the hosts of its topology, and print the comparison."""
    home = find()
    spec = _spec(home, report, overrides, on)
    if not approve:
        _refuse_unapproved(home, spec)
    name = campaign or campaigns.new_id(spec.report)
    with open_store(home) as store:
        work, paths = cli_campaign.drive(home, store, spec, name, "benchlab run", planned_for=on)
        record = store.campaign(work.campaign.id)
        report_model = model.build(record, work.compare(), store.trials(record.id))
    print(terminal.render(report_model, width(), sys.stdout.isatty()))
    for path in paths:
        print(path)
    work.verdict()


@app.command()
def compare(
    campaign: Annotated[
        str, typer.Argument(help="a campaign's id; `benchlab campaigns` lists them")
    ] = "",
    trials: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="instead: trials that were measured elsewhere, with the columns workload, "
            "threads, round, side, any of tps, qps, tpmc, p95_ms, errors, and maybe campaign",
        ),
    ] = None,
    calibration: Annotated[
        Path | None,
        typer.Option(
            metavar="AA.csv",
            help="with --trials: A/A campaigns, each deployed on its own, in the same columns",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="with --trials: the smallest change that is called one, in %; 2 if not given"
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the sides of a campaign from what the store has, or of trials in a file."""
    home = find()
    if trials is not None:
        if campaign:
            raise SpecError("compare: give a campaign or --trials, not both")
        found = elsewhere.compare(home, trials, calibration, threshold)
        print(found.to_json() if as_json else found.to_text(width(), sys.stdout.isatty()), end="")
        return
    if not campaign:
        raise SpecError("compare: give a campaign (`benchlab campaigns` lists them) or --trials")
    if calibration is not None or threshold is not None:
        raise SpecError(
            "--calibration and --threshold go with --trials; a campaign of the store has its own "
            "threshold, and A/A campaigns of its report type are taken"
        )
    with open_store(home) as store:
        work = campaigns.CampaignRun.open(home, store, campaign)
        outcome = work.compare()
        if as_json:
            document = machine.to_json(work.campaign, outcome, store.trials(campaign))
            print(json.dumps(document, indent=2, ensure_ascii=False))
        else:
            built = model.build(work.campaign, outcome, store.trials(campaign))
            print(terminal.render(built, width(), sys.stdout.isatty()))


@app.command()
def calibrate(
    named: Annotated[
        list[str],
        typer.Argument(metavar="CAMPAIGN", help="A/A campaigns; none: lists those there are"),
    ] = [],  # noqa: B006
    detect: Annotated[
        float | None,
        typer.Option(metavar="PCT", help="the slowdown that is to be found; else 1.5 thresholds"),
    ] = None,
    as_json: Json = False,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="draw how often each slowdown is found: .svg or .png"),
    ] = None,
) -> None:
    """Say by A/A campaigns how often a verdict errs, how small a change is found, what finds more.

    They are made by `benchlab run REPORT --set sides=same`. Five or more, each deployed and loaded
    on its own, tell what one deployment happens to be.
    """
    home = find()
    with open_store(home) as store:
        if not named:
            if as_json:
                raise SpecError("--json goes with campaigns; `benchlab calibrate` lists them")
            print(sensitivity.render_kin(aa_selection.kin(store)), end="")
            return
        findings = aa_sensitivity.calibrate(home, store, named, detect)
    if picture is not None:
        power_chart.write(findings, picture)
    if as_json:
        print(json.dumps(sensitivity.to_json(findings), indent=2, ensure_ascii=False))
    else:
        print(sensitivity.render(findings, width(), sys.stdout.isatty()), end="")


@app.command("campaigns")
def list_campaigns() -> None:
    """List the campaigns in the store, the latest first."""
    with open_store(find()) as store:
        for campaign in store.campaign_ids():
            record = store.campaign(campaign)
            sides = " vs. ".join(side.version for side in record.plan.sides.values())
            print(f"{campaign}  {record.state:8}  {record.plan.engine} {sides}  ({record.origin})")


@app.command()
def parse(
    tool: Annotated[
        Literal["sysbench", "go-tpc"], typer.Argument(help="the client that printed the file")
    ],
    file: Annotated[Path, typer.Argument(help="its output")],
    as_json: Json = False,
) -> None:
    """Read a client's output, good or broken."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BenchlabError(f"{file}: cannot be read: {error.strerror}") from error
    output = catalog.parsers()[tool](text)
    document: dict[str, Any] = output.to_json()
    if as_json:
        print(json.dumps(document, indent=2))
        return
    series = document.pop("series")
    for key, value in document.items():
        print(f"{key}: {json.dumps(value) if isinstance(value, dict | list) else value}")
    print(f"series: {len(series)} intervals")


@app.command()
def install(report: Report, overrides: Set = [], on: OnDay = None) -> None:  # noqa: B006
    """Fetch the database servers of a report type, so that a campaign finds them here."""
    home = find()
    spec = _spec(home, report, overrides, on)
    engine, reason = catalog.choose_engine(spec, home)
    print(f"engine {engine}: {reason}")
    for version in sorted({spec.side(engine, side).version for side in SIDES}):
        catalog.install(engine, version, home)
        print(f"{engine} {version}: installed")


@app.command("doctor")
def examine() -> None:
    """Say what is missing on this machine and how to get it.

    Exit code 1 if a campaign could not run.
    """
    findings = doctor.examine(find())
    for finding in findings:
        print(finding)
    if any(finding.blocks for finding in findings):
        raise typer.Exit(1)


@app.command()
def release(campaign: CampaignId) -> None:
    """End a campaign wherever it runs: its processes, data and hosts; give the machine back."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", campaign):
        raise BenchlabError(f"{campaign!r} is no campaign's id; `benchlab campaigns` lists them")
    released = cli_campaign.release(find(), campaign, Access())
    print(f"{campaign}: {released}; it does not hold the machine")


@app.command()
def reap(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="only say what would be ended")
    ] = False,
) -> None:
    """End EC2 fleets that are past their expiry, in the regions of all topologies."""
    regions = topology.regions(find().configs / "topologies")
    reaped = reaper.reap(Access(), regions, dry_run=dry_run)
    for found in reaped:
        print(found)
    if not reaped:
        print(f"nothing to end in {', '.join(regions)}")


def _report_type(home: Home, report: str, overrides: list[str]) -> ReportSpec:
    spec = catalog.load(catalog.find_report(home, report))
    return catalog.override(spec, catalog.parse_assignments(overrides)) if overrides else spec


def _spec(home: Home, report: str, overrides: list[str], on: date | None) -> ReportSpec:
    """A report type as of a day; what its version rules name is said on standard error."""
    as_of = on or datetime.now(UTC).date()
    found = catalog.resolve(home, _report_type(home, report, overrides), as_of)
    for note in found.notes:
        print(note, file=sys.stderr)
    return found.spec


def _show_backfill(home: Home, spec: ReportSpec, span: tuple[date, date], *, as_json: bool) -> None:
    with open_store(home) as store:
        planned = backfill_plan.of(home, spec, *span, store)
    if as_json:
        print(json.dumps(backfill_view.to_json(planned), indent=2))
    else:
        print(backfill_view.render(planned, width(), sys.stdout.isatty()), end="")


def _sensitivity(
    home: Home, spec: ReportSpec, planned: plan.Plan
) -> plan_sensitivity.PlanSensitivity | None:
    try:
        return plan_sensitivity.of(home, spec, planned)
    except StoreError as error:  # a plan needs no store
        print(f"sensitivity: not known: {error}", file=sys.stderr)
        return None


def _refuse_unapproved(home: Home, spec: ReportSpec) -> None:
    engine, _ = catalog.choose_engine(spec, home)
    planned = catalog.plan(home, spec, engine, spec.report)
    if plan.needs_approval(planned, spec.budget):
        limit = spec.budget.approve_above if spec.budget else 0
        raise SpecError(
            f"{spec.report}: about {planned.dollars:.2f} dollars in {planned.minutes / 60:.1f} "
            f"hours, more than may be rented unasked ({limit:g}); see `benchlab plan`, then give "
            "--approve"
        )


if __name__ == "__main__":
    main()
