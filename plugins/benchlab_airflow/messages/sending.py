"""Sends messages by Airflow's notifiers of Slack and SMTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk.log import redact

if TYPE_CHECKING:
    from airflow.sdk import BaseNotifier

    from benchlab.report.notifications.notifiers import Notifier
    from benchlab.report.notifications.text import Message

# So that a callback is done before Airflow ends it. SMTP's is in its Connection.
SLACK_TIMEOUT_S = 10


def send(notifier: Notifier, message: Message) -> None:
    """Send one message by Airflow's notifier.

    Raises:
        NotificationError: it did not go out; the text has no secret of the Connection.
    """
    from benchlab.language.names import plain
    from benchlab.report.notifications.notices import NotificationError

    try:
        # Not by calling it: that would take the text for a template and render it.
        _airflows(notifier, message).notify({})
    except Exception as error:
        told = plain(str(redact(str(error))))
        raise NotificationError(f"{type(error).__name__}: {told}") from error


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
        slack_conn_id=notifier.connection, channel=notifier.channel, username="Benchlab", **shared
    )
