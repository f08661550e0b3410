"""Asks a person to approve a campaign's cost, if it is above ``budget.approve_above``."""

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
    """Waits for approval if the cost is above ``budget.approve_above``; else succeeds at once.

    If the request is rejected, or not answered within ``APPROVAL_DAYS``, task and campaign fail and
    nothing is rented. While it waits, it uses no worker slot.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            subject="Approve the cost of this campaign",
            fail_on_reject=True,
            response_timeout=timedelta(days=APPROVAL_DAYS),
            **kwargs,
        )

    def execute(self, context: Context) -> Any:
        """Ask for approval, showing the plan's estimate."""
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
        """Succeed if the request was approved.

        Raises:
            AirflowFailException: it was rejected or nobody answered; the campaign has failed.
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
