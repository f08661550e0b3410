"""The button on a task's page that opens the campaign of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.sdk import BaseOperatorLink, XComArg

from benchlab_airflow.page.navigation import campaign_tab

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey


class CampaignLink(BaseOperatorLink):
    """To the run's tab with its campaign.

    Airflow asks for it where the task has run, and keeps the answer as an XCom.
    """

    name = "Campaign"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """See :func:`campaign_tab`."""
        return campaign_tab(ti_key.dag_id, ti_key.run_id)


def linked(made: XComArg) -> XComArg:
    """The same task, with the button."""
    made.operator.operator_extra_links = (CampaignLink(),)
    return made
