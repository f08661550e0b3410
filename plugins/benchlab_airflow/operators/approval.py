"""A person approves what a campaign will cost, where it costs more than its report type allows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.exceptions import HITLRejectException, HITLTimeoutError
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowFailException

from benchlab.plan.report_type import APPROVAL_DAYS


class CampaignApproval(ApprovalOperator):
    """Waits for a person's approval above ``budget.approve_above``; below it goes on at once.

    Rejected, or without an answer for three days, the task and the campaign fail, and nothing is
    rented. While it waits it holds no worker's slot.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(
            subject="Approve the cost of this campaign",
            fail_on_reject=True,
            response_timeout=timedelta(days=APPROVAL_DAYS),
            **kwargs,
        )

    def execute(self, context: Context) -> Any:
        """Ask, with the plan's estimate in the text."""
        from benchlab_airflow.dags import stages

        question = stages.question()
        if question is None:
            self.log.info("the plan costs less than has to be approved")
            return None
        self.body = question
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Go on where it was approved.

        Raises:
            AirflowFailException: it was rejected, or nobody has answered; the campaign is failed.
        """
        from benchlab_airflow.dags import stages

        try:
            return super().execute_complete(context, event)
        except HITLRejectException as error:
            who = (event.get("responded_by_user") or {}).get("name", "somebody")
            reason = f"rejected by {who}; nothing was rented"
            stages.give_up(reason)
            raise AirflowFailException(reason) from error
        except HITLTimeoutError as error:
            reason = f"nobody has approved it within {APPROVAL_DAYS} days; nothing was rented"
            stages.give_up(reason)
            raise AirflowFailException(reason) from error
