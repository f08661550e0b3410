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
        from benchlab_airflow.messages import notify

        question = stages.question()
        if question is None:
            self.log.info("the plan costs too little to need approval")
            stages.approved()
            return None
        self.body = question
        if (people := _approvers(context)) is not None:
            self.assigned_users = [{"id": id_, "name": name} for name, id_ in people.items()]
        stages.note_waiting()
        notify.of_waiting(stages.campaign_id(context))
        return super().execute(context)

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:
        """Succeed if the request was approved.

        Raises:
            AirflowFailException: it was rejected or nobody answered; the campaign has failed.
        """
        from benchlab_airflow.dags import stages

        who = str((event.get("responded_by_user") or {}).get("name", "somebody"))
        people = _approvers(context)
        try:
            answer = super().execute_complete(context, event)
        except (HITLRejectException, HITLTimeoutError) as error:
            reason = message("failure-rejected", who=who)
            if isinstance(error, HITLTimeoutError):
                reason = message("failure-not-approved", days=str(APPROVAL_DAYS))
            stages.give_up(reason)
            raise AirflowFailException(str(reason)) from error
        if people is not None and who not in people:
            # Airflow asks nobody else, but where its auth manager takes everybody for an admin.
            reason = message("failure-approved-by-other", who=who)
            stages.give_up(reason)
            raise AirflowFailException(str(reason))
        stages.approved(who)
        return answer


def _approvers(context: Context) -> dict[str, str] | None:
    """Who may approve this run's campaign, as names with ids; None: whoever may edit it."""
    from benchlab import home
    from benchlab.plan.fields import budget

    shared = budget.shared(home.find().budget)
    if not shared.approvers:
        return None
    starter = None if shared.approve_own else context["dag_run"].triggering_user_name
    return {name: id_ for name, id_ in shared.approvers.items() if name != starter}
