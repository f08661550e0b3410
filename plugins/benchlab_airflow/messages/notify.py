"""Sends events with Airflow's notifiers, from task callbacks and from the task ``long_view``.

Pass :func:`of_verdict`, :func:`of_failure` or :func:`of_reaper` to tasks, as keyword arguments::

    task(stages.verdict, **notify.of_verdict())

Callbacks run after the task's state is decided and do not change it. A message that cannot be sent
is an error in the task's log and a note in the campaign's progress.

Airflow ends callbacks after ``[core] task_success_overtime`` seconds, so what may take longer is a
task of its own, :func:`long_view`.
"""

from __future__ import annotations

import contextlib
import logging
import pkgutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from airflow.sdk import BaseNotifier, conf, get_current_context
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from benchlab import home
from benchlab.errors import BenchlabError
from benchlab.language import load
from benchlab.plan.fields.budget import APPROVAL_DAYS
from benchlab.plan.fields.publish import FILES
from benchlab.plan.report_type import SIDES
from benchlab_airflow.dags import stages
from benchlab_airflow.page.navigation import campaign_page
from benchlab_airflow.private_names import redact

if TYPE_CHECKING:
    from pathlib import Path

    from airflow.sdk import Context

    from benchlab.campaign.stored import StoredCampaign
    from benchlab.home import Home
    from benchlab.report.model.report import Report
    from benchlab.report.notifications.events import Event, Links
    from benchlab.report.notifications.notifiers import Notifier
    from benchlab.results.store import Store

    Say = Callable[[str, str], None]

T = TypeVar("T")
log = logging.getLogger(__name__)

MOST_EARLIER_FAILURES = 3
# Texts of these errors are written for people; those of others may contain anything.
_FORESEEN = (BenchlabError, AirflowException)


def of_verdict() -> dict[str, Any]:
    """Callbacks for the task ``verdict``: they report verdicts, and its failure."""
    return {
        "on_success_callback": CampaignNotifier(judged=True, failed=False),
        "on_failure_callback": CampaignNotifier(judged=True, failed=True),
    }


def of_failure() -> dict[str, Any]:
    """Callback for other tasks that may fail before ``verdict`` or beside it."""
    return {"on_failure_callback": CampaignNotifier(judged=False, failed=True)}


def of_reaper() -> dict[str, Any]:
    """Callbacks for a reaper's task: after each try they report what it ended."""
    return {f"on_{when}_callback": ReaperNotifier() for when in ("success", "retry", "failure")}


def of_check() -> dict[str, Any]:
    """Callback for tasks outside of campaigns that end nothing: it reports that one failed."""
    return {"on_failure_callback": ReaperNotifier()}


class CampaignNotifier(BaseNotifier):
    """Reports on a campaign.

    Args:
        judged: whether to report its verdicts, as far as it was measured.
        failed: whether to report that this task failed, and why.
    """

    def __init__(self, *, judged: bool, failed: bool) -> None:
        super().__init__()
        self.judged, self.failed = judged, failed

    def notify(self, context: Context) -> None:
        """Send the campaign's events, and note in its progress whether that succeeded."""
        from benchlab.report.notifications import events
        from benchlab.results.findings import Sought

        here, campaign = home.find(), stages.campaign_id(context)
        say, task = _noting(here.campaign(campaign)), context["ti"].task_id

        def find(store: Store | None) -> Iterator[Event]:
            # A failure is reported even if no links or other failures can be found.
            work = _made(say, lambda: _stored(here, store, campaign))
            links = [*(_made(say, lambda: _report(work)) or ()), _run(context)]
            if self.failed:
                why = _words(context.get("exception"))
                earlier = _made(say, lambda: _earlier(work, task)) or []
                own = {"report": context["dag"].dag_id, "campaign": campaign}
                yield events.of_failure(task, [why, *earlier], datetime.now(UTC), links, **own)
            if self.judged and work and set(work.plan.sides) == set(SIDES):
                shown = _made(say, lambda: work.store.findings.found(Sought(campaign=campaign)))
                made = _built(work)
                yield from events.of_verdicts(made, links, failed=self.failed, findings=shown or ())

        _send_all(here, find, say)


class ReaperNotifier(BaseNotifier):
    """Reports what the reaper ended, and its failure."""

    def notify(self, context: Context) -> None:
        """Send both events, if there are any."""
        from benchlab.report.notifications import events
        from benchlab.targets.ec2.reaper import ReaperError

        task, error, links = context["ti"], context.get("exception"), [_run(context)]
        partly = error.reaped if isinstance(error, ReaperError) else ()
        ended = partly if error else task.xcom_pull(task_ids=task.task_id) or ()
        found = [*events.of_reaped([str(reaped) for reaped in ended], links)]
        if error:
            now = datetime.now(UTC)
            found.append(events.of_failure(task.task_id, [_words(error)], now, links))
        if found:
            _send_all(home.find(), lambda _: iter(found), _log)


def long_view() -> str:
    """The task `long_view`: extend the long view by the campaign; report change points and drift.

    What the long view needs of each campaign is kept in the store, so that whoever looks at it
    later finds it there. Returns what was found, in one sentence.
    """
    from benchlab.studies.comparisons import Comparisons
    from benchlab.studies.long_view import news, view
    from benchlab_airflow.connections import open_store

    context, here = get_current_context(), home.find()
    campaign = stages.campaign_id(context)
    with open_store(here) as store:
        work = _stored(here, store, campaign)
        if work is None or work.campaign.state != "complete" or set(work.plan.sides) != set(SIDES):
            raise AirflowSkipException(
                f"{campaign}: the long view has complete campaigns of two versions only"
            )
        views = view.long_views(Comparisons(here, store), work.plan.report)
        found: tuple[Event, ...] = ()
        if not work.campaign.is_aa:
            language, links = load(work.spec.languages[0]), [*_report(work), _run(context)]
            found = news.events(work.plan.report, views, language, links)
    _send_all(here, lambda _: iter(found), _noting(here.campaign(campaign)))
    chains = [chain for one in views.values() for chain in one.chains]
    points, drifts = sum(len(chain.changes) for chain in chains), [one.drift for one in chains]
    said = (
        f"{len(views)} workloads in {len(chains)} chains: {points} change points, "
        f"{sum(drift is not None for drift in drifts)} slow drifts"
    )
    log.info("long view of %s: %s", work.plan.report, said)
    return said


def of_waiting(campaign: str) -> None:
    """Report that a campaign waits for approval: when it begins to, and again after a day."""
    from benchlab.report.notifications import events
    from benchlab.results import approval
    from benchlab_airflow.calendar.calendar_runs import ORIGIN
    from benchlab_airflow.operators import deleted_runs

    here = home.find()

    def find(store: Store | None) -> Iterator[Event]:
        work = _stored(here, store, campaign)
        asked = approval.found(work.campaign.environment) if work else None
        if work and asked and (since := asked.waits_since):
            dag, run = work.plan.report, work.campaign.origin.removeprefix(ORIGIN)
            for newest in deleted_runs.runs_of(here.campaign(campaign))[-1:]:
                dag, run = newest
            name, address = _run_of(dag, run)
            links = [*_report(work), (name, f"{address}/tasks/approve/required_actions")]
            now, dollars = datetime.now(UTC), work.plan.dollars
            yield events.of_approval(dag, campaign, dollars, since, now, links)

    _send_all(here, find, _noting(here.campaign(campaign)))


def remind_of_approvals() -> None:
    """The task `remind`: report again what has been waiting for approval for a day."""
    from benchlab.results import approval
    from benchlab_airflow.connections import open_store

    now = datetime.now(UTC)
    with open_store(home.find()) as store:
        recent = store.environments(now.date() - timedelta(days=APPROVAL_DAYS + 1))
        waiting = [
            campaign
            for campaign, found in recent.items()
            if (asked := approval.found(found.environment)) and (since := asked.waits_since)
            if now - since >= timedelta(days=1)
            if store.target_and_state(campaign)[1] == "running"
        ]
    for campaign in waiting:
        of_waiting(campaign)


def _noting(directory: Path) -> Say:
    """A function that notes things in the task's log and the campaign's progress."""
    from benchlab.campaign.progress import ProgressLog

    def say(phase: str, note: str) -> None:
        note = str(redact(note))
        _log(phase, note)
        if directory.is_dir():  # a campaign that could not be planned has none
            try:
                ProgressLog(directory / "progress.jsonl").note("notify", phase, note)
            except OSError as error:  # a full disk may be what is to be reported
                log.error("not noted in the campaign's progress: %s", error)

    return say


def _send_all(here: Home, find: Callable[[Store | None], Iterator[Event]], say: Say) -> None:
    """Send each event with every configured notifier that wants it and has not sent it yet."""
    from benchlab.campaign import report_types
    from benchlab.report.notifications import notifiers
    from benchlab_airflow.connections import open_store

    def send() -> None:
        reports = {path.stem for path in report_types.report_files(here)}
        if configured := notifiers.load(here.notifications, reports):
            with contextlib.ExitStack() as stack:
                # None if the store cannot be reached, which may be the failure to report.
                store = _made(say, lambda: stack.enter_context(open_store(here)))
                for event in find(store):
                    notifiers.tell(store, configured, event, _send, say)

    _made(say, send)


def _made(say: Say, make: Callable[[], T]) -> T | None:
    """Return what ``make`` returns; if it fails, say why and return None."""
    try:
        return make()
    except Exception as error:  # it is noted, and does not affect the task
        if not isinstance(error, _FORESEEN):
            log.error("an error that nobody foresaw", exc_info=error)
        say("failed", _words(error))
        return None


def _send(notifier: Notifier, event: Event) -> None:
    """Send one message with Airflow's notifier.

    Raises:
        NotificationError: it was not sent; the text contains no secrets of the Connection.
    """
    from benchlab.language.names import plain
    from benchlab.report.notifications.notifiers import NotificationError

    try:
        made = pkgutil.resolve_name(notifier.notifier)(**notifier.saying(event.subject, event.text))
        made.notify({})  # calling `made` itself would render the text as a template
    except Exception as error:
        why = plain(str(redact(str(error))))
        raise NotificationError(f"{type(error).__name__}: {why}") from error


def _stored(here: Home, store: Store | None, campaign: str) -> StoredCampaign | None:
    from benchlab.campaign.stored import StoredCampaign

    if store is None or campaign not in store.campaign_ids():
        return None
    return StoredCampaign(here, store, store.campaign(campaign))


def _built(work: StoredCampaign) -> Report:
    """The campaign's report, in its first language."""
    made = work.outcome()
    return made.report(made.causes(work.store), load(work.spec.languages[0]))


def _words(error: object) -> str:
    """Why a task failed, without secrets; only the type of an unforeseen error."""
    if error is None:
        return "its process was ended from outside; the log of the task may say more"
    if isinstance(error, _FORESEEN):
        return str(redact(str(error)))
    return f"{type(error).__name__}; the log of the task has the rest"


def _earlier(work: StoredCampaign | None, task: str) -> list[str]:
    """Why other tasks failed, the latest first; that is often the cause of this failure."""
    steps = work.progress.read()[0] if work else ()
    failed = [step for step in steps if step.stage == "failed" and step.phase != task]
    latest = {step.phase: step for step in failed}.values()
    in_order = sorted(latest, key=lambda step: step.at, reverse=True)
    return [f"{s.phase}: {redact(s.note)}" for s in in_order[:MOST_EARLIER_FAILURES]]


def _report(work: StoredCampaign | None) -> Links:
    """Links to the campaign's page, if Airflow knows its own address, and to the report.

    The report's links are those outside this home or, if there are none, its file.
    """
    at = work.published() if work else {}
    elsewhere = [address for place, address in at.items() if place != FILES]
    report = [("Report", address) for address in elsewhere or at.values()]
    base = conf.get("api", "base_url", fallback="")
    page = campaign_page(base, work.campaign.id) if work else None
    return [("Campaign", page), *report] if page else report


def _run(context: Context) -> tuple[str, str]:
    """The link to the Airflow run, or its name if Airflow does not know its own address."""
    return _run_of(context["dag"].dag_id, context["run_id"])


def _run_of(dag: str, run: str) -> tuple[str, str]:
    base = conf.get("api", "base_url", fallback="")
    address = f"{base.rstrip('/')}/dags/{quote(dag)}/runs/{quote(run)}" if base else f"{dag} {run}"
    return ("Airflow run", address)


def _log(phase: str, note: str) -> None:
    log.log(logging.ERROR if phase == "failed" else logging.INFO, "%s: %s", phase, note)
