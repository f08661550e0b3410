"""What sends messages about events through Airflow's own notifiers: task callbacks, and a task.

Pass :func:`of_verdict`, :func:`of_failure` or :func:`of_reaper` to tasks, as keyword arguments::

    task(stages.verdict, **notify.of_verdict())

They run after the task's state is decided and do not change it. A message that cannot be sent is an
error in the task's log and a note in the campaign's progress.
:mod:`benchlab.report.notifications.notices` keeps track of what each notifier has sent.

Airflow ends callbacks after ``[core] task_success_overtime`` seconds. What may take longer is the
task :func:`long_view`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from airflow.sdk import BaseNotifier, conf, get_current_context
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from benchlab import home
from benchlab.errors import BenchlabError
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
    from benchlab.report.notifications.events import Event
    from benchlab.report.notifications.notifiers import Notifier
    from benchlab.report.notifications.text import Links, Message
    from benchlab.results.store import Store
    from benchlab.studies.long_view.view import LongView

    # An event, and a function that makes the message about those parts that have not been sent.
    Found = tuple[Event, Callable[[Event], Message]]
    Find = Callable[[Store | None], Iterator[Found]]
    Say = Callable[[str, str], None]

T = TypeVar("T")
log = logging.getLogger(__name__)

# Short, so that a callback finishes before Airflow ends it. SMTP's timeout is in its Connection.
SLACK_TIMEOUT_S = 10
MOST_EARLIER_FAILURES = 3
# The texts of these are written for people; those of other errors may contain anything.
_FORESEEN = (BenchlabError, AirflowException)


def of_verdict() -> dict[str, Any]:
    """Callbacks of the task `verdict`: they report the verdicts, and that the task failed."""
    return {
        "on_success_callback": CampaignNotifier(judged=True, failed=False),
        "on_failure_callback": CampaignNotifier(judged=True, failed=True),
    }


def of_failure() -> dict[str, Any]:
    """Callback of other tasks, which may fail before `verdict` or beside it."""
    return {"on_failure_callback": CampaignNotifier(judged=False, failed=True)}


def of_reaper() -> dict[str, Any]:
    """Callbacks of the reaper's task: they report what each of its tries has ended."""
    return {f"on_{when}_callback": ReaperNotifier() for when in ("success", "retry", "failure")}


class CampaignNotifier(BaseNotifier):
    """Reports a campaign.

    Args:
        judged: report its verdicts, as far as it has been measured.
        failed: report that this task failed, and why.
    """

    def __init__(self, *, judged: bool, failed: bool) -> None:
        super().__init__()
        self.judged, self.failed = judged, failed

    def notify(self, context: Context) -> None:
        """Send the campaign's events, and note in its progress whether that succeeded."""
        here, campaign = home.find(), stages.campaign_id(context)
        say = _noting(here.campaign(campaign))

        def find(store: Store | None) -> Iterator[Found]:
            # A failure is reported even if nothing can be added to it.
            work = _made(say, lambda: _stored(here, store, campaign))
            links = [*(_made(say, lambda: _report(work)) or ()), _run(context)]
            if self.failed:
                earlier = _made(say, lambda: _earlier(work, task)) or []
                yield _failure(context, campaign, earlier, links)
            if self.judged and work:
                yield from _judged(work, links, failed=self.failed)

        task = context["ti"].task_id
        _send_all(here, find, say)


class ReaperNotifier(BaseNotifier):
    """Reports what the reaper ended, and that it failed."""

    def notify(self, context: Context) -> None:
        """Send both events, if there are any."""
        from benchlab.report.notifications import events, text
        from benchlab.targets.ec2.reaper import ReaperError

        task, error = context["ti"], context.get("exception")
        if isinstance(error, ReaperError):
            ended = [str(reaped) for reaped in error.reaped]
        else:
            ended = [] if error else task.xcom_pull(task_ids=task.task_id) or []
        found = [events.of_reaped(ended)]
        if error:
            found.append(events.of_failure(task.task_id, [_words(error)], datetime.now(UTC)))
        links = [_run(context)]
        events_found = [(event, lambda e: text.of_reasons(e, links)) for event in found if event]
        if events_found:
            _send_all(home.find(), lambda _: iter(events_found), _log)


def long_view() -> str:
    """The task `long_view`: extend the long view by the campaign; report change points and drift.

    What the long view needs of each campaign is kept in the store, so that whoever looks at it
    later finds it there. Returns what was found, in one sentence.
    """
    from benchlab.studies.comparisons import Comparisons
    from benchlab.studies.long_view import view
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
        found = [] if work.campaign.is_aa else list(_changed(work, context, views))
    _send_all(here, lambda _: iter(found), _noting(here.campaign(campaign)))
    chains = [chain for one in views.values() for chain in one.chains]
    changes, drifts = sum(len(chain.changes) for chain in chains), [one.drift for one in chains]
    said = (
        f"{len(views)} workloads in {len(chains)} chains: {changes} change points, "
        f"{sum(drift is not None for drift in drifts)} slow drifts"
    )
    log.info("long view of %s: %s", work.plan.report, said)
    return said


def _changed(
    work: StoredCampaign, context: Context, views: Mapping[str, LongView]
) -> Iterator[Found]:
    """Change points and drift that are recent."""
    from benchlab.report.model import report as model
    from benchlab.report.notifications import text
    from benchlab.studies.long_view import view

    if events := view.change_events(work.plan.report, work.campaign.id, views):
        made, links = work.outcome(), [*_report(work), _run(context)]
        report = model.build(made.campaign, made.comparison, made.trials)
        for event in events:
            yield event, lambda parts: text.of_changes(parts, report, links)


def _noting(directory: Path) -> Say:
    """Says it in the task's log and in the campaign's progress."""
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


def _send_all(here: Home, find: Find, say: Say) -> None:
    """Send each event, in one message per notifier that wants it and has not sent it yet."""
    from benchlab.campaign import report_types
    from benchlab.report.notifications import notices as notifications
    from benchlab.report.notifications import notifiers as notifiers_module
    from benchlab_airflow.connections import open_store

    try:
        reports = {path.stem for path in report_types.report_files(here)}
        configured = notifiers_module.load(here.notifications, reports)
        if not configured:
            return
        with contextlib.ExitStack() as stack:
            # None if it cannot be reached, which may be the failure to report.
            store = _made(say, lambda: stack.enter_context(open_store(here)))
            notices = notifications.Notices(store) if store else None
            for event, message in find(store):
                notifications.tell(notices, configured, event, _sending(message), say)
    except Exception as error:  # noqa: BLE001 - it is said, and changes nothing of the task
        _say_why(error, say)


def _made(say: Say, make: Callable[[], T]) -> T | None:
    """Return what ``make`` returns; if it fails, say why and return None."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001 - it is said, and the rest is reported
        _say_why(error, say)
        return None


def _say_why(error: Exception, say: Say) -> None:
    if not isinstance(error, _FORESEEN):
        log.error("an error that nobody foresaw", exc_info=error)
    say("failed", _words(error))


def _sending(message: Callable[[Event], Message]) -> Callable[[Notifier, Event], None]:
    return lambda notifier, parts: send(notifier, message(parts))


def send(notifier: Notifier, message: Message) -> None:
    """Send one message with Airflow's notifier.

    Raises:
        NotificationError: it was not sent; the text contains no secret of the Connection.
    """
    from benchlab.language.names import plain
    from benchlab.report.notifications.notices import NotificationError

    try:
        # Not called itself: that would render the text as a template.
        _airflows(notifier, message).notify({})
    except Exception as error:
        why = plain(str(redact(str(error))))
        raise NotificationError(f"{type(error).__name__}: {why}") from error


def _airflows(notifier: Notifier, message: Message) -> BaseNotifier:
    from airflow.providers.slack.notifications.slack import SlackNotifier
    from airflow.providers.slack.notifications.slack_webhook import SlackWebhookNotifier
    from airflow.providers.smtp.notifications.smtp import SmtpNotifier

    from benchlab.report.notifications import text

    if notifier.by == "smtp":
        return SmtpNotifier(
            smtp_conn_id=notifier.connection,
            to=list(notifier.to),
            from_email=notifier.sender,
            subject=message.subject,
            html_content=text.html(message),
        )
    shared = {
        "text": text.mrkdwn(message),
        "timeout": SLACK_TIMEOUT_S,
        "unfurl_links": False,
        "unfurl_media": False,
    }
    if notifier.by == "slack_webhook":
        return SlackWebhookNotifier(slack_webhook_conn_id=notifier.connection, **shared)
    return SlackNotifier(
        slack_conn_id=notifier.connection,
        channel=notifier.channel,
        username="Benchlab",
        **shared,
    )


def _stored(here: Home, store: Store | None, campaign: str) -> StoredCampaign | None:
    from benchlab.campaign.stored import StoredCampaign

    if store is None or campaign not in store.campaign_ids():
        return None
    return StoredCampaign(here, store, store.campaign(campaign))


def _failure(context: Context, campaign: str, earlier: Sequence[str], links: Links) -> Found:
    from benchlab.report.notifications import events, text

    event = events.of_failure(
        context["ti"].task_id,
        [_words(context.get("exception")), *earlier],
        datetime.now(UTC),
        report=context["dag"].dag_id,
        campaign=campaign,
    )
    return event, lambda parts: text.of_reasons(parts, links)


def _judged(work: StoredCampaign, links: Links, *, failed: bool) -> Iterator[Found]:
    """The verdicts of a campaign."""
    from benchlab.report.model import report as model
    from benchlab.report.notifications import events, text

    made = work.outcome()
    record = made.campaign
    if set(record.plan.sides) != set(SIDES):
        return
    report = model.build(record, made.comparison, made.trials)
    for event in events.of_comparison(record, made.comparison, failed=failed):
        yield event, lambda parts: text.of_verdicts(parts, report, links)


def _words(error: object) -> str:
    """Why a task failed, without secrets; of an unforeseen error only the type."""
    if error is None:
        return "its process was ended from outside; the log of the task may say more"
    if isinstance(error, _FORESEEN):
        return str(redact(str(error)))
    return f"{type(error).__name__}; the log of the task has the rest"


def _earlier(work: StoredCampaign | None, task: str) -> list[str]:
    """Why other tasks failed, the latest first: usually that is why this one failed."""
    if work is None:
        return []
    steps, _ = work.progress.read()
    failed = [step for step in steps if step.stage == "failed" and step.phase != task]
    latest = {step.phase: step for step in failed}.values()
    in_order = sorted(latest, key=lambda step: step.at, reverse=True)
    return [f"{s.phase}: {redact(s.note)}" for s in in_order[:MOST_EARLIER_FAILURES]]


def _report(work: StoredCampaign | None) -> list[tuple[str, str]]:
    """Links to the campaign's page, where Airflow knows its own address, and to the report.

    The report is where it is published elsewhere, or else its file.
    """
    at = work.published() if work else {}
    elsewhere = [address for place, address in at.items() if place != FILES]
    report = [("Report", address) for address in elsewhere or at.values()]
    base = conf.get("api", "base_url", fallback="")
    page = campaign_page(base, work.campaign.id) if work else None
    return [("Campaign", page), *report] if page else report


def _run(context: Context) -> tuple[str, str]:
    """Link to the Airflow run, or its name if Airflow does not know its own address."""
    dag, run = context["dag"].dag_id, context["run_id"]
    base = conf.get("api", "base_url", fallback="")
    address = f"{base.rstrip('/')}/dags/{quote(dag)}/runs/{quote(run)}" if base else f"{dag} {run}"
    return ("Airflow run", address)


def _log(phase: str, note: str) -> None:
    if phase == "failed":
        log.error("not told: %s", note)
    else:
        log.info("%s: %s", phase, note)
