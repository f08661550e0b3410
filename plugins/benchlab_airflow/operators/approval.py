"""Asks a person to approve the cost of a campaign above its report type's ``approve_above``."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.exceptions import HITLRejectException, HITLTimeoutError
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

from benchlab.language import message
from benchlab.plan.fields.budget import APPROVAL_DAYS


class CampaignApproval(ApprovalOperator):
    """Waits for a person's approval above ``budget.approve_above``; below, it succeeds at once.

    If it is rejected or not answered within three days, the task and the campaign fail, and nothing
    is rented. While it waits, it holds no worker slot.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            subject="Approve the cost of this campaign",
            fail_on_reject=True,
            response_timeout=timedelta(days=APPROVAL_DAYS),
            **kwargs,
        )

    def execute(self, context: Context) -> Any:
        """Ask, showing the plan's estimate."""
        from benchlab_airflow.dags import stages

        question = stages.question()
        if question is None:
            self.log.info("the plan costs too little to need approval")
            stages.approved()
            return None
        self.body = question
        stages.note_waiting()
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Succeed if it was approved.

        Raises:
            AirflowFailException: it was rejected or nobody answered; the campaign is failed.
        """
        from benchlab_airflow.dags import stages

        try:
            answer = super().execute_complete(context, event)
        except (HITLRejectException, HITLTimeoutError) as error:
            who = (event.get("responded_by_user") or {}).get("name", "somebody")
            reason = message("failure-rejected", who=str(who))
            if isinstance(error, HITLTimeoutError):
                reason = message("failure-not-approved", days=str(APPROVAL_DAYS))
            stages.give_up(reason)
            raise AirflowFailException(str(reason)) from error
        stages.approved()
        return answer
