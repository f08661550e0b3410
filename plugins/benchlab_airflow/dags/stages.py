"""The functions that tasks run: each opens its campaign, performs one stage, closes the store.

Heavy imports are inside the functions, so that parsing the DAG file stays fast.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

from airflow.sdk import get_current_context
from airflow.sdk.bases.sensor import PokeReturnValue
from airflow.sdk.exceptions import (
    AirflowFailException,
    AirflowSkipException,
    AirflowTaskTimeout,
)

from benchlab.errors import (
    AwayError,
    BenchlabError,
    ElsewhereError,
    FetchError,
    LockHeldError,
    NothingToMeasureError,
    NotMeasuredError,
    SpecError,
    StoreError,
    TargetError,
    UnavailableError,
    UnreachableError,
    UnsoundReportError,
)
from benchlab.home import ID, PROOF
from benchlab.hosts import place
from benchlab.language import REFERENCE, Language, Said, message, sayings
from benchlab.language import load as language_of
from benchlab.results.records import GIVE_BACK, TrialResult
from benchlab_airflow.page.navigation import campaign_page, campaign_tab

if TYPE_CHECKING:
    from pathlib import Path

    from airflow.sdk import Context

    from benchlab.campaign.stages import CampaignRun
    from benchlab.campaign.state import Begun
    from benchlab.home import Home
    from benchlab.plan.order import PlannedTrial
    from benchlab.plan.report_type import Side
    from benchlab.plan.steps import Preparation
    from benchlab.results.records import Condition

log = logging.getLogger(__name__)

Place = Literal["first", "second"]
PLACES: tuple[Place, ...] = get_args(Place)
# The longest line of a log, in characters, that Airflow's UI shows without cutting it off.
SHOWN = 100
ANSWER = "answer"
"""The XCom of ``compare`` with the campaign's answer in two sentences."""
NOTE = "note"
"""The XCom of ``compare`` with the note of the run: sentence, table, link to the campaign."""
LONGEST_NOTE = 1000
"""Airflow's limit of a note, in characters."""
FAILURE = "failure"
"""The XCom of a failed task: why, in the report's language, and a link to the campaign."""
NO_CAMPAIGN = "no_campaign"
"""The XCom of ``plan`` with the note of a run that measures nothing: why, and a link to its tab."""
SEEN = "seen"
"""The XCom of ``plan`` by which later tasks see whether they have the same directories."""
APPROVED = "approved"
"""The XCom of ``approve`` with the id of the campaign that is approved or needs no approval."""
# Outside of trials, retries do not help with these.
_UNFIT = (SpecError, UnavailableError, TargetError, NotMeasuredError)
# Their causes may pass: what does not answer now may answer later.
_PASSING = (AwayError, FetchError, UnreachableError)


def campaign_id(context: Context) -> str:
    """The id of a run's campaign: the one in the form, or one made from report type and run id.

    A run that is cleared keeps its id; a run of the same moment in another home has another.
    """
    if named := context["params"].get("campaign"):
        if not re.fullmatch(ID, str(named)):
            raise AirflowFailException(f"campaign: {named!r} is not a campaign's id")
        return str(named)
    from benchlab import home
    from benchlab_airflow.calendar import calendar_runs

    here, run = home.find(), f"{context['dag'].dag_id}-{context['run_id']}"
    # A hash of the whole: long run ids may differ only in what is cut off or replaced below.
    own = hashlib.sha256(f"{here.mark}-{run}".encode()).hexdigest()[:6]
    began = f"{re.sub('[^A-Za-z0-9_.-]+', '-', run).strip('-')[:130]}-{own}"
    return calendar_runs.newest(here, began)


def _is_cleared_as_a_whole(context: Context) -> bool:
    """Whether all of the run was cleared: `plan` is cleared together with any later task."""
    from benchlab_airflow.private_names import RuntimeTaskInstance

    dag_id, run_id = context["dag"].dag_id, context["run_id"]
    asked = RuntimeTaskInstance.get_task_states(dag_id, task_ids=["provision"], run_ids=[run_id])
    return asked.get(run_id, {}).get("provision") is None


def plan(report_file: str) -> list[str]:
    """Plan the campaign from report type and form; return the titles of its trials, to map over.

    Version rules apply as of the run's day. A run with nothing to measure is skipped, with the
    reason in the log and in the XCom `no_campaign`; if its campaign is complete, the report is
    first published where it is missing. A failed campaign that cannot be resumed is replaced by a
    new one of the same versions if the whole run is cleared.
    """
    from pathlib import Path

    from airflow.sdk import conf

    from benchlab import home
    from benchlab.campaign import report_types
    from benchlab.campaign.resolving import Resolver
    from benchlab.campaign.stages import CampaignRun
    from benchlab.campaign.stored import StoredCampaign
    from benchlab.engines import builds
    from benchlab.targets.target import driving_process
    from benchlab_airflow.calendar import calendar_runs
    from benchlab_airflow.connections import access, open_store
    from benchlab_airflow.dags import trigger_form
    from benchlab_airflow.local.airflow_home import refuse_unmappable
    from benchlab_airflow.operators import deleted_runs

    context = get_current_context()
    run, campaign = context["dag_run"], campaign_id(context)
    named, file = context["params"].get("campaign"), Path(report_file)
    titled = functools.partial(trigger_form.titled, file)
    with (
        _final_errors(*_UNFIT, titled=titled),
        _saying(file, titled),
        _skipped_without_campaign(context),
    ):
        if named and calendar_runs.by_calendar(run):
            raise SpecError(
                f"campaign: {campaign}: each run of a backfill has a campaign of its own; leave it "
                "out"
            )
        report_type = report_types.load(file)
        spec = trigger_form.chosen(
            report_type, context["params"], own_command=driving_process() is not None
        )
        refuse_unmappable(spec, conf.getint("core", "max_map_length"))
        here = home.find()
        with open_store(here, waits=True) as store:
            begun = calendar_runs.begun(here, store, campaign)
            if begun is None:
                # Builds are identified by hash: version rules and the search for a measured pair
                # compare hashes.
                spec = builds.pinned(here, spec, access())
            resolver = Resolver(here, store, access())
            try:
                found = calendar_runs.versions(resolver, spec, run, begun)
            except NothingToMeasureError as error:
                # A task may have been cleared because the report is missing somewhere.
                stored = StoredCampaign(here, store, store.campaign(error.campaign), access())
                done = stored.publish_where_lacking(spec.publish)
                at = f"its report is now at {', '.join(stored.published().values())}; " * done
                raise calendar_runs.NoCampaignError(f"{at}{error}") from error
            if begun is None:
                calendar_runs.refuse_measured(here, store, found, run)
            elif begun.id == campaign and not named:
                before = CampaignRun.open(here, store, campaign, access())
                if before.is_over and _is_cleared_as_a_whole(context):
                    # Now, as no task finds it once the run has a new campaign.
                    before.give_back()
                    before.overcome(*GIVE_BACK)
                    campaign = calendar_runs.follow(here, store, begun)
            work = CampaignRun.create(
                here,
                store,
                resolver.complete(found),
                campaign,
                calendar_runs.ORIGIN + context["run_id"],
                access(),
                # Only version rules tie a campaign to a day.
                planned_for=(begun.planned_for if begun else run.logical_date)
                if found.notes
                else None,
            )
            seen = {"campaign": campaign, "proof": here.proof(campaign), "on": place.here().name}
            context["ti"].xcom_push(key=SEEN, value=seen)
            deleted_runs.note(work.directory, context["dag"].dag_id, context["run_id"])
            report_types.keep_planned(here, file)
            for note in found.notes:
                log.info("%s", note)
                work.note("plan", "versions", note=str(note))
    # With `design: watch` it is known later which trials confirm: see :func:`screen`.
    titles = [_title(work, trial) for trial in work.plan.confirming(()).trials]
    dollars = f", {work.plan.dollars:.2f} dollars" if work.plan.dollars is not None else ""
    log.info("%s: %s trials, about %s minutes%s", campaign, len(titles), work.plan.minutes, dollars)
    return titles


def question() -> str | None:
    """The text of the approval request in Markdown; None if the plan needs no approval."""
    from benchlab.plan.fields import budget
    from benchlab.plan.plan import needs_approval
    from benchlab.report.formats import plan_text
    from benchlab.report.sentences.spending import sentence
    from benchlab.results.spending import Month, month_of

    with _campaign() as work:
        if not needs_approval(work.plan, work.spec.budget):
            return None
        month = month_of(datetime.now(UTC))
        found = Month(month, work.store.spending.of_month(month))
        said = sentence(found, budget.shared(work.home.budget).month)
        return plan_text.question(work.spec, work.plan, said)


def approved(by: str = "") -> None:
    """Record that the cost of the run's campaign is approved; see :func:`register`.

    Args:
        by: the person; empty if nobody had to be asked.
    """
    from benchlab.results import approval

    context = get_current_context()
    if by:
        with _campaign() as work:
            asked = approval.found(work.campaign.environment) or approval.Approval()
            answered = replace(asked, by=by, at=datetime.now(UTC))
            text = approval.as_text(answered)
            work.store.add_to_environment(work.campaign.id, approval.KEY, text)
    context["ti"].xcom_push(key=APPROVED, value=campaign_id(context))


def note_waiting() -> None:
    """Note in the store and in the campaign's progress that it waits for approval."""
    from benchlab.results import approval

    with _campaign() as work:
        asked = approval.as_text(approval.Approval(asked_at=datetime.now(UTC)))
        work.store.add_to_environment(work.campaign.id, approval.KEY, asked)
        dollars = f"{work.plan.dollars or 0:.2f}"
        work.note("approve", "wait for approval", message("approval-waits", dollars=dollars))


def give_up(reason: Said) -> None:
    """Record that the campaign failed before it used any resources."""
    with contextlib.suppress(NotMeasuredError), _campaign() as work:
        work.store.finish(work.campaign.id, "failed")
        raise NotMeasuredError(reason)  # recorded like any other failure


def register() -> PokeReturnValue:
    """Take the machine; while another campaign holds it, name that campaign and wait.

    A task that a person marks as success has done nothing: only `approve` itself says that the cost
    is approved.
    """
    from benchlab.plan.plan import needs_approval

    with _final_errors(*_UNFIT), _campaign() as work:
        if needs_approval(work.plan, work.spec.budget):
            ti = get_current_context()["ti"]
            if ti.xcom_pull(task_ids="approve", key=APPROVED) != work.campaign.id:
                raise NotMeasuredError(
                    "nobody has approved the cost of this campaign, so nothing was rented: clear "
                    "the task approve with all after it, and answer it in Required Actions"
                )
        try:
            work.register()
        except ElsewhereError:
            raise  # waiting would not help
        except LockHeldError as error:
            log.info("waiting: %s", error)
            work.note_waiting(error)
            return PokeReturnValue(is_done=False)
    return PokeReturnValue(is_done=True)


def on_side(stage: Preparation, place: Place) -> Side | None:
    """Run one preparation of the side that is prepared first or second; return that side.

    It is drawn for each campaign which side is the first. The stages are deploy, load, analyze,
    check and back up; ``check`` verifies that the loaded dataset meets the workload's consistency
    conditions. The campaign itself prepares its later deployments, before their first trial.
    """
    with _final_errors(*_UNFIT), _campaign() as work:
        side = dict(zip(PLACES, work.deployments.in_order, strict=False)).get(place)
        if side is None:
            log.info("nothing to do: this campaign measures one version")
            return None
        log.info("%s: the %s side", side, place)
        if stage == "check":
            _log_conditions(side, work.deployments.check(side, "load"))
        else:
            getattr(work.deployments, stage.replace(" ", "_"))(side)
    return side


def load() -> None:
    """Load the dataset of all sides: from a dataset snapshot, else by the client."""
    with _final_errors(*_UNFIT), _campaign() as work:
        work.deployments.load(*work.deployments.in_order)


def check_consistency() -> None:
    """Check whether each side's data, as the last trial left it, still meets the conditions."""
    with _final_errors(*_UNFIT), _campaign() as work:
        checked = work.check_after_trials()
        for side in work.target.sides:
            _log_conditions(side, checked.get(side))


def diagnose() -> None:
    """Look closer at what changed, in trials that decide nothing; usually there are none."""
    with _final_errors(*_UNFIT), _campaign() as work:
        found = work.diagnose()
    if found is None:
        log.error("it could not be looked at; the campaign's progress says why")
        return
    log.info("%s diagnosis trials", len(found.trials))
    for lack in found.lacking:
        of = ", ".join(filter(None, (lack.workload, lack.kind)))
        log.warning("not looked at: %s%s", f"{of}: " if of else "", lack.why)


def _log_conditions(side: Side, conditions: Sequence[Condition] | None) -> None:
    if conditions is None:
        log.error("%s: it could not be asked; the campaign's progress says why", side)
    for found in conditions or ():
        say = log.warning if found.violations else log.info
        say("%s: %s %s: %s violations", side, found.clause, found.sentence, found.violations)


def provision() -> None:
    """Get hosts, servers and the client ready, for both sides."""
    with _final_errors(*_UNFIT), _campaign() as work:
        work.provision()


def measure(attempt: int) -> dict[str, Any] | None:
    """Measure the campaign's next trial; return its outcome for the XCom, or None if none is left.

    The outcome has the trial's id, title and validity, and throughput and latency if measured, such
    as ``tps`` and ``p95_ms``.
    """
    # Other errors are retried: the campaign itself counts a trial's tries.
    with _final_errors(NotMeasuredError), _campaign() as work:
        return _told(work, work.sequence.measure_next(attempt))


def begin(attempt: int) -> Begun | dict[str, Any] | None:
    """Like :func:`measure`, but only up to the start of the client; :func:`collect` does the rest.

    Returns the outcome if no client was started, or None if no trial is left.
    """
    with _final_errors(NotMeasuredError), _campaign() as work:
        begun = work.sequence.begin_next(attempt)
        if work.sequence.money.spent is not None:
            log.info("spent on the hosts: %s", work.sequence.money.spent)
        return _told(work, begun) if begun is None or isinstance(begun, TrialResult) else begun


def collect(begun: Begun) -> dict[str, Any] | None:
    """Complete a trial that :func:`begin` started; None if another task has stored it already."""
    with _final_errors(NotMeasuredError), _campaign() as work:
        stored = work.store.trials(work.campaign.id)
        if (begun.trial, begun.attempt) in {(found.trial.id, found.attempt) for found in stored}:
            return None
        return _told(work, work.sequence.collect(begun))


def _told(work: CampaignRun, result: TrialResult | None) -> dict[str, Any] | None:
    if result is None:
        if stopped := work.sequence.money.stopped():
            why = {"lost": "hosts were lost", "deployment": "the sides could not be deployed again"}
            otherwise = f"another trial would pass the {stopped} of the hosts"
            log.warning("not measured: %s", why.get(stopped, otherwise))
        elif work.store.campaign(work.campaign.id).looks:
            log.info("nothing left to do: every workload is decided, or measured by another task")
        else:
            log.info("nothing left to do: an earlier try of another task has measured this trial")
        return None
    log.info("%s; phases (s): %s", result.trial.title, result.phases)
    if not result.valid:
        reasons = "; ".join(map(str, result.reasons))
        log.warning("invalid, its block is measured again: %s", reasons)
    shown = (work.plan.throughput.name, work.plan.latency.name)
    values = {metric: result.value(metric) for metric in shown}
    log.info("%s", _figures(work, result))
    return {
        "trial": result.trial.id,
        "title": _title(work, result.trial),
        "valid": result.valid,
        **{metric: value for metric, value in values.items() if value is not None},
    }


def _title(work: CampaignRun, trial: PlannedTrial) -> str:
    """A trial's title with the version of its side, for the grid of a run."""
    return f"{trial.title} · {work.plan.sides[trial.side].label}"


def _figures(work: CampaignRun, result: TrialResult) -> str:
    """A line such as ``1,204.30 1/s (tps), 5.12 ms (p95_ms); 14 gates passed``."""
    shown = [
        f"{value:,.2f} {metric.unit} ({metric.name})"
        for metric in (work.plan.throughput, work.plan.latency)
        if (value := result.value(metric.name)) is not None
    ]
    by_status = {
        status: [gate.gate for gate in result.gates if gate.status == status]
        for status in ("pass", "fail", "not evaluated")
    }
    failed = by_status["fail"]
    gates = [
        f"{len(by_status['pass'])} gates passed",
        *([f"{len(failed)} failed ({', '.join(failed)})"] if failed else []),
        *([f"{len(idle)} not evaluated"] if (idle := by_status["not evaluated"]) else []),
    ]
    return f"{', '.join(shown) or 'no figures'}; {', '.join(gates)}"


def screen() -> list[str]:
    """Titles of the trials that confirm what the screening flagged, to map over; usually none."""
    with _final_errors(NotMeasuredError), _campaign() as work:
        titles = [_title(work, trial) for trial in work.sequence.screen()]
        if (found := work.sequence.remaining.screening) is not None:
            for one in found.flagged:
                log.info("flagged: %s, %s: %+.1f %%", one.workload, one.kind, one.change_pct)
            for name in found.left_out:
                log.warning("not confirmed, as the budget does not suffice: %s", name)
    if not titles:
        log.info("nothing is measured again")
    return titles


def repeats(attempt: int) -> list[str]:
    """Titles of the trials to measure again, to map over; usually none."""
    with _campaign() as work:
        return [_title(work, trial) for trial in work.sequence.repeats(attempt)]


def validate() -> dict[str, Any]:
    """Validate the report; name gates of the whole campaign that failed, and what is missing,
    repeated, excluded.

    A report that does not follow from its trials is kept as a draft: the task fails, and nothing is
    published.
    """
    with _final_errors(UnsoundReportError), _campaign() as work:
        made = work.outcome()
        outcome = made.comparison
        for sentence in work.validate(made):
            log.warning("%s", sentence)
    for excluded in outcome.excluded:
        why = "; ".join(map(str, excluded.reasons))
        log.info("excluded: %s, attempt %s: %s", excluded.trial, excluded.attempt, why)
    if outcome.not_evaluated:
        log.info("gates not evaluated on this target: %s", ", ".join(outcome.not_evaluated))
    return {
        "missing": list(outcome.missing),
        "repeated_pairs": outcome.repeated_pairs,
        "excluded": len(outcome.excluded),
    }


def compare() -> dict[str, str]:
    """The verdict of each workload, by name, if two sides were compared; the table is in the log.

    Its answer in two sentences is the XCom :data:`ANSWER`, the note of the run :data:`NOTE`.
    """
    from benchlab.report.formats import pages, terminal
    from benchlab.report.sentences import opening

    with _campaign() as work:
        made = work.outcome()
        known = made.causes(work.store)
    language = language_of(work.spec.languages[0])
    report, own = made.report(known), made.report(known, language)
    ti = get_current_context()["ti"]
    log.info("\n%s", terminal.render(report, 120, False))
    link = _link(ti, language)
    note = pages.note(own, LONGEST_NOTE - len(link)) + link
    ti.xcom_push(key=ANSWER, value=opening.text(report))
    ti.xcom_push(key=NOTE, value=note)
    if not made.comparison.has_verdicts:
        return {}
    return {workload.name: workload.verdict for workload in made.comparison.workloads}


def publish() -> list[str]:
    """Publish the report; return the paths of its pages and its addresses elsewhere.

    It leads to the campaign's page, where Airflow knows its own address. If a destination fails,
    the task is retried; what is published already is left alone.
    """
    from airflow.sdk import conf

    from benchlab.plan.fields.publish import FILES
    from benchlab.report.bundle import PAGES
    from benchlab.results.records import PAGE

    with _final_errors(*_UNFIT), _campaign() as work:
        if page := campaign_page(conf.get("api", "base_url", fallback=""), work.campaign.id):
            work.store.add_to_environment(work.campaign.id, PAGE, page)
        paths = [str(path) for path in work.publish() if path.name in PAGES]
        found = [*paths, *(at for to, at in work.published().items() if to != FILES)]
    for address in found:
        log.info("%s", address)
    return found


def verdict() -> str | None:
    """Fail the run if something could not be measured; a finding is not a failure.

    Returns the answer in one sentence; None where nothing was compared.
    """
    with _final_errors(BenchlabError), _campaign() as work:
        try:
            work.verdict()
        except NotMeasuredError:
            # If the run was marked failed before `register`, `give_back` is skipped.
            if work.campaign.state == "running":
                work.store.finish(work.campaign.id, "failed")
            raise
    said: str | None = get_current_context()["ti"].xcom_pull(task_ids="compare", key=ANSWER)
    for line in textwrap.wrap(said or "nothing was compared", SHOWN):
        log.info("%s", line)
    return said


def give_back(target: str) -> str:
    """End every process of the campaign and give its hosts back, whatever happened.

    This comes first and does not need the results store, which may be what failed.
    """
    from benchlab import targets
    from benchlab_airflow.connections import access

    context = get_current_context()
    try:
        here = _home(context)
        given_back = targets.give_back(here, campaign_id(context), access(), target=target)
    except (Exception, AirflowTaskTimeout) as error:
        _tell(_ended(error), REFERENCE)
        with contextlib.suppress(StoreError), _campaign(waits=False):
            raise  # recorded like any other failure, if the store can be opened
        raise
    log.info("given back: %s", given_back)
    with _campaign() as work:
        work.note_given_back(given_back)
        if work.campaign.state == "running":
            work.finish()
    return given_back


@contextlib.contextmanager
def _campaign(*, waits: bool = True) -> Iterator[CampaignRun]:
    from benchlab.campaign.stages import CampaignRun
    from benchlab_airflow.connections import access, open_store

    context = get_current_context()
    here = _home(context)
    with open_store(here, waits=waits) as store:
        work = CampaignRun.open(here, store, campaign_id(context), access())
        try:
            yield work
        except (Exception, AirflowTaskTimeout) as raised:
            error = _ended(raised)
            work.fail(context["ti"].task_id, error)
            _tell(error, work.spec.languages[0])
            raise
        work.overcome(context["ti"].task_id)


def _home(context: Context) -> Home:
    """The home, if it is the one in which ``plan`` has begun the run's campaign.

    Raises:
        ElsewhereError: it is another machine's; names both. Nothing of the campaign is here.
    """
    from benchlab import home

    here = home.find()
    seen = context["ti"].xcom_pull(task_ids="plan", key=SEEN, map_indexes=-1)
    if seen is None:  # it ended before it had begun one
        return here
    file = here.campaign(seen["campaign"]) / PROOF
    if not file.is_file() or file.read_text(encoding="utf-8") != seen["proof"]:
        error = ElsewhereError(
            f"{file.parent} on {place.here().name} is not the directory in which campaign "
            f"{seen['campaign']} was begun on {seen['on']}: nothing was done. All workers, the "
            "scheduler and the triggerer need the same BENCHLAB_HOME, shared (NFS, EFS) or on one "
            "machine. If the home was restored from a backup, or the directory was removed, use "
            "the commands that docs/guide/operate.md names, such as `benchlab publish`"
        )
        _tell(error, REFERENCE)
        raise error
    return here


def _ended(error: BaseException) -> BaseException:
    """The error; a readable one if Airflow ended the task at its time limit."""
    if isinstance(error, AirflowTaskTimeout):
        return NotMeasuredError(message("failure-too-long"))
    return error


@contextlib.contextmanager
def _saying(report_file: Path, titled: Callable[[str], str]) -> Iterator[None]:
    """Record why there is no plan, in the report type's language if its file can be read."""
    from benchlab.campaign import report_types

    try:
        yield
    except (BenchlabError, AirflowTaskTimeout) as error:
        language = REFERENCE
        with contextlib.suppress(SpecError):  # then the file is at fault
            language = report_types.load(report_file).languages[0]
        _tell(_ended(error), language, titled)
        raise


def _tell(error: BaseException, code: str, titled: Callable[[str], str] = str) -> None:
    """Push why the task failed as an XCom, for the note and the tab of the run."""
    language, ti = language_of(code), get_current_context()["ti"]
    said = titled("\n".join(language.texts(sayings(error))))
    ti.xcom_push(key=FAILURE, value={"said": said, "link": _link(ti, language)})


def _link(ti: Any, language: Language) -> str:
    return f"\n\n[{language.say('answer-page')}]({campaign_tab(ti.dag_id, ti.run_id)})"


@contextlib.contextmanager
def _skipped_without_campaign(context: Context) -> Iterator[None]:
    """Skip the whole run if it turns out to have nothing to measure."""
    from benchlab_airflow.calendar.calendar_runs import NoCampaignError

    try:
        yield
    except NoCampaignError as reason:
        log.warning("no campaign: %s", reason)
        link = _link(context["ti"], language_of(REFERENCE))
        note = str(reason)[: LONGEST_NOTE - len(link)] + link
        context["ti"].xcom_push(key=NO_CAMPAIGN, value=note)
        raise AirflowSkipException(str(reason)) from reason


@contextlib.contextmanager
def _final_errors(
    *kinds: type[BenchlabError], titled: Callable[[str], str] = str
) -> Iterator[None]:
    """Fail the task at once for errors that a retry would not cure, and log them in short lines.

    Retries remain for lost links and mirrors that do not answer. The lines are for Airflow's UI,
    which shows an exception in one line, cut off, above its traceback.
    """
    try:
        yield
    except BenchlabError as error:
        if isinstance(error, kinds) and not isinstance(error, _PASSING):
            said = titled(str(error))
            for line in said.splitlines():
                for shown in textwrap.wrap(line, SHOWN):
                    log.error("%s", shown)
            raise AirflowFailException(said) from None
        raise
