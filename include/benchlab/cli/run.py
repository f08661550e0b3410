"""The commands that start and end campaigns: run, give-back, reap."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
from datetime import UTC, date, datetime
from typing import Annotated, NoReturn

import typer

from benchlab import targets
from benchlab.campaign import money, stages
from benchlab.campaign.resolving import Resolver
from benchlab.campaign.stages import CampaignRun
from benchlab.campaign.state import StateFile
from benchlab.campaign.stored import StoredCampaign
from benchlab.cli import completing
from benchlab.cli.options import CampaignId, FailOn, fail_on, refuse_without_verdicts, width
from benchlab.cli.progress_view import ProgressView
from benchlab.cli.report_argument import (
    Assignments,
    OnDay,
    ReportType,
    request_on,
    say_notes,
)
from benchlab.errors import NothingToMeasureError, SpecError, StoreError, TargetError, noting
from benchlab.home import ID, Home, find
from benchlab.hosts.access import Access
from benchlab.hosts.executor import TAG, tagged
from benchlab.hosts.lock import MachineLock
from benchlab.language import message
from benchlab.patience import LIMIT_S
from benchlab.plan import plan
from benchlab.plan.fields.schedule import midnight
from benchlab.plan.resolved import Resolved
from benchlab.report.bundle import PAGES
from benchlab.report.formats import plan_text, terminal
from benchlab.results import approval, journal
from benchlab.results.records import GIVE_BACK, Failure
from benchlab.results.store import Store, open_store
from benchlab.targets import fleet_files
from benchlab.targets.cloud import reaper as clusters
from benchlab.targets.ec2 import ending, reaper, rental_file
from benchlab.targets.ec2.calls import AwsError
from benchlab.targets.ec2.ending import NothingFoundError
from benchlab.targets.ec2.regions import known_regions, never_rented

app = typer.Typer()

_NOT_HERE = (
    "this machine has neither a directory nor a process of it, and it does not hold the lock. "
    "Nothing was ended; is the id misspelt? `benchlab campaigns` lists all. Whatever that campaign "
    "rented ends at its expiry, and `benchlab reap` ends what is past it"
)


def drive(
    home: Home,
    store: Store,
    resolved: Resolved,
    campaign: str,
    origin: str,
    planned_for: date | None = None,
    *,
    again: str,
    wait: bool = False,
    approve: bool = False,
) -> CampaignRun:
    """Run a campaign in this process, with its progress on standard error.

    SIGTERM, SIGHUP and Ctrl-C end the campaign before the process. Once the process has ended, the
    lock is free.

    Args:
        campaign: its id; a campaign that is in the store is resumed.
        origin: the command that started it, kept in the store.
        planned_for: the day whose versions it compares; None: now.
        again: the command that resumes it, shown if it is interrupted.
        wait: whether to wait while another campaign uses its machine or hosts, or holds its budget.
        approve: whether the person who runs the command approves its cost, if somebody has to.

    Raises:
        BenchlabError: see :meth:`CampaignRun.create` and :func:`stages.run`.
    """
    os.environ["BENCHLAB_DRIVER"] = str(os.getpid())
    store.patience.limit_s = LIMIT_S
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    at = midnight(planned_for) if planned_for else None
    work = CampaignRun.create(home, store, resolved, campaign, origin, planned_for=at)
    if approve and plan.needs_approval(work.plan, work.spec.budget):
        consent = approval.Approval(by=journal.person(), at=datetime.now(UTC))
        store.add_to_environment(campaign, approval.KEY, approval.as_text(consent))
    about = f"{plan_text.compared(work.plan)}, about {plan_text.duration(work.plan.minutes)}"
    print(f"{campaign}: {work.plan.engine} {about}", file=sys.stderr)
    try:
        with ProgressView(work.progress, work.plan.minutes * 60, sys.stderr):
            stages.run(work, wait=wait)
    except KeyboardInterrupt as error:  # typer prints no notes of it
        for note in getattr(error, "__notes__", ()):
            print(f"error: {note}", file=sys.stderr)
        print(f"{campaign}: interrupted; {_resuming(work, again)}", file=sys.stderr)
        raise
    return work


def _resuming(work: CampaignRun, again: str) -> str:
    """How to continue an interrupted campaign; one that has rented hosts cannot be resumed."""
    if work.target.can.rents and not fleet_files.rented_nothing(work.directory):
        return "hosts are not rented for it again: start another campaign"
    return f"{again} resumes it, and measures no stored trial again"


def end_campaign(home: Home, campaign: str, access: Access) -> str:
    """End a campaign at a person's request, wherever it runs, and record that in the store.

    Returns:
        What was given back, for people.

    Raises:
        StoreError: neither this machine nor the store knows the campaign, and nothing was ended;
            or the store could not record the end.
        TargetError: something could not be given back; names it.
    """
    state, target, regions, lost = None, None, set[str](), None
    try:
        with open_store(home) as store:
            target, state = store.target_and_state(campaign)
            regions = store.regions(campaign)
    except StoreError as error:
        lost = error
    if lost is not None and not _is_here(home, campaign):
        return _search(home, campaign, access, lost)
    said = (home.campaign(campaign) / "target").exists()
    try:
        given_back = targets.give_back(
            home,
            campaign,
            access,
            target=None if said else target,
            ask_driver=True,
            regions=sorted(regions),
            by_person=True,
        )
    except NothingFoundError as error:
        if state == "running":
            raise
        given_back = str(error)  # it has ended, so finding nothing is fine
    if home.campaign(campaign).is_dir():
        StateFile(home.campaign(campaign)).give_back()
    with open_store(home) as store:
        if campaign not in store.campaign_ids():
            return given_back
        money.close(home, store, campaign)
        store.overcome(campaign, *GIVE_BACK)
        if store.target_and_state(campaign)[1] == "running":
            store.fail(campaign, Failure("", (message("failure-given-back"),)))
            store.finish(campaign, "failed")
    return given_back


def _is_here(home: Home, campaign: str) -> bool:
    """Whether this machine knows a campaign: by directory, process or lock."""
    if home.campaign(campaign).is_dir() or any(
        tagged(f"{TAG}={campaign}", home.campaign(campaign))
    ):
        return True
    holder = MachineLock().holder()
    return holder is not None and holder.campaign == campaign


def _search(home: Home, campaign: str, access: Access, unknown: StoreError) -> str:
    """Find by their tags, and give back, the EC2 hosts of a campaign that is not known here."""
    regions = known_regions(home, open_store).names
    asked = "EC2 was not asked, because no region is known in which anything was rented"
    try:
        if regions:
            return targets.give_back(
                home, campaign, access, target="ec2", regions=regions, by_person=True
            )
    except NothingFoundError as error:
        asked = str(error)
    except AwsError as error:
        if not error.no_credentials:
            raise
        asked = "EC2 was not asked, because there are no AWS credentials"
    raise StoreError(f"{unknown}; {_NOT_HERE}. {asked}") from unknown


def _interrupt(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


@app.command()
def run(
    report: ReportType,
    overrides: Assignments = [],  # noqa: B006
    on: OnDay = None,
    campaign: Annotated[
        str,
        typer.Option(
            help="id of a new campaign, or of one to resume", autocompletion=completing.campaigns
        ),
    ] = "",
    approve: Annotated[
        bool, typer.Option("--approve", help="rent even if it costs more than budget.approve_above")
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait", help="wait while another campaign is running there, instead of refusing"
        ),
    ] = False,
    failing: FailOn = [],  # noqa: B006
) -> None:
    """Run a campaign, here or on its hosts, and print the comparison.

    Exit code 0 whatever the verdicts are; 3 with --fail-on if one of them is asked for; 1 if not
    everything could be measured. Of a complete campaign it says where the report is.

    Example: benchlab run sysbench_local --set rounds=6 --fail-on regression
    """
    home = find()
    request = request_on(home, report, overrides, on)
    with open_store(home) as store:
        resolver = Resolver(home, store, Access.for_a_person())
        begun = store.campaign(campaign) if campaign in store.campaign_ids() else None
        try:
            found = resolver.as_begun(request.spec, begun) if begun else resolver.versions(request)
        except NothingToMeasureError as error:
            done = StoredCampaign(home, store, store.campaign(error.campaign))
            print(error, file=sys.stderr)
            say_where_the_report_is(done)
            done.verdict()
            fail_on(done.outcome(), failing)
            return
        say_notes(found)
        if failing:
            refuse_without_verdicts(found.spec)
        resolved = resolver.complete(found)
        if not approve:
            refuse_unapproved(resolved)
        name = campaign or stages.new_id(found.spec.report)
        again = _command(report, overrides, on, name, approve)
        work = drive(
            home,
            store,
            resolved,
            name,
            "benchlab run",
            on,
            again=again,
            wait=wait,
            approve=approve,
        )
        made = work.outcome()
        report_model = made.report(made.causes(store))
    print(terminal.render(report_model, width(), sys.stdout.isatty()))
    say_where_the_report_is(work)
    work.verdict()
    fail_on(made, failing)


def say_where_the_report_is(work: StoredCampaign) -> None:
    """Print the paths and addresses of a campaign's published report."""
    for name in PAGES:
        if (page := work.home.reports / work.campaign.id / name).is_file():
            print(page)
    for address in work.published().values():
        if "://" in address:
            print(address)


@app.command("give-back")
def give_back(
    campaign: CampaignId,
    rental: Annotated[
        str | None,
        typer.Option(
            help="end only the hosts on EC2 with this `benchlab:mark`, whatever home rents them"
        ),
    ] = None,
) -> None:
    """End a campaign, remove its data, give back hosts and machine.

    Example: benchlab give-back CAMPAIGN
    """
    if not re.fullmatch(ID, campaign):
        raise SpecError(f"{campaign!r} is not a campaign's id; `benchlab campaigns` lists them")
    home, access = find(), Access()
    journal.write(home, "give-back", campaign)
    if rental is not None and not _is_own(home, campaign, rental):
        regions = known_regions(home, open_store).names
        print(f"{campaign}: {ending.end_rental(access, campaign, rental, regions)}")
        return
    print(f"{campaign}: {end_campaign(home, campaign, access)}; it does not hold the machine")


def _is_own(home: Home, campaign: str, mark: str) -> bool:
    kept = rental_file.read(home.campaign(campaign))
    return kept is not None and kept.mark == mark


@app.command()
def reap(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="only list what would be ended")
    ] = False,
) -> None:
    """End EC2 fleets and TiDB Cloud clusters past their expiry.

    Example: benchlab reap --dry-run
    """
    home, faults = find(), list[str]()
    for work in (_reap_fleets, _reap_clusters):
        with noting(faults):  # neither depends on the other
            work(home, dry_run=dry_run)
    if faults:
        raise TargetError("\n".join(faults))


def _reap_fleets(home: Home, *, dry_run: bool) -> None:
    regions = known_regions(home, open_store)
    for why in regions.skipped:
        print(f"not looked at: {why}", file=sys.stderr)
    try:
        ended = reaper.reap(Access(), regions.names, dry_run=dry_run, say=print)
    except reaper.ReaperError as error:
        if not (error.no_credentials and never_rented(home, open_store)):
            raise
        print(
            "nothing to look at: there are no AWS credentials here, and no campaign in the results "
            "store has rented hosts"
        )
        return
    if not ended:
        print(f"nothing to end in {', '.join(regions.names)}")


def _reap_clusters(home: Home, *, dry_run: bool) -> None:
    clusters.reap(home, Access(), dry_run=dry_run, say=print)


def _command(
    report: str, assignments: list[str], on: date | None, campaign: str, approve: bool
) -> str:
    """The command that resumes a campaign."""
    words = ["benchlab", "run", report]
    for assignment in assignments:
        words += ["--set", assignment]
    words += ["--on", on.isoformat()] if on else []
    words += ["--approve"] if approve else []
    return f"`{shlex.join([*words, '--campaign', campaign])}`"


def refuse_unapproved(resolved: Resolved) -> None:
    """Refuse a plan that a person has to approve; the message has its dollars and hours.

    Raises:
        SpecError: it costs more than ``budget.approve_above``, or than is known.
    """
    spec = resolved.spec
    planned = plan.make(resolved, spec.report)
    if plan.needs_approval(planned, spec.budget):
        limit = spec.budget.approve_above if spec.budget else 0
        raise SpecError(
            f"{spec.report}: about {planned.dollars:.2f} dollars in {planned.minutes / 60:.1f} "
            f"hours, more than is allowed without approval ({limit:g}); see `benchlab plan`, "
            "then give --approve"
        )
