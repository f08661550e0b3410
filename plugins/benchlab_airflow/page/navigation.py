"""Where Airflow's UI shows the benchmark site: declarations for the plugin, and addresses.

It imports nothing slow, because every process of Airflow loads the plugin.

>>> campaign_page("http://localhost:8080", "c1")
'http://localhost:8080/benchmarks/campaigns/c1/'
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

PREFIX = "/benchmarks"
# The tab with the campaign, below the address of a run in the UI.
CAMPAIGN_TAB = "plugin/campaign"
# Three bars on a line, in the colour of the UI's own icons.
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" fill="none" stroke="{colour}" '
    'stroke-width="2" stroke-linecap="round"><path d="M4 20h16M8 16V9M13 16V5M18 16v-5"/></svg>'
)


class _OnDemand:
    """The app, built on its first request."""

    def __init__(self) -> None:
        self._app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle one request."""
        if self._app is None:
            from benchlab_airflow.page.app import make

            self._app = make()
        await self._app(scope, receive, send)


def apps() -> list[dict[str, Any]]:
    """The value of a plugin's ``fastapi_apps``."""
    return [{"app": _OnDemand(), "url_prefix": PREFIX, "name": "Benchmarks"}]


def views() -> list[dict[str, Any]]:
    """The value of a plugin's ``external_views``: the navigation, and tabs of DAGs and runs."""
    return [
        # The navigation has room for this name; it would cut off "Benchmarks".
        _view("Benchlab", "nav", "benchmarks", "", nav_top_level=True),
        _view("Campaigns", "dag", "campaigns", "dags/{DAG_ID}/"),
        _view("Campaign", "dag_run", CAMPAIGN_TAB.rpartition("/")[2], "runs/{DAG_ID}/{RUN_ID}/"),
    ]


def campaign_tab(dag: str, run: str) -> str:
    """The address of a run's tab with its campaign, relative to Airflow's UI.

    Only the browser knows the address of the UI for certain.
    """
    return f"dags/{quote(dag, safe='')}/runs/{quote(run, safe='')}/{CAMPAIGN_TAB}"


def plan_page(report: str) -> str:
    """The address of the page Plan in Airflow's UI, relative to it as :func:`campaign_tab` is."""
    return f"plugin/benchmarks{PREFIX}/plan/?report={quote(report, safe='')}"


def campaign_page(base: str, campaign: str) -> str | None:
    """The address of a campaign's page; None if Airflow does not know its own address.

    Args:
        base: Airflow's address, from its option ``[api] base_url``; may be empty.
    """
    return f"{base.rstrip('/')}{PREFIX}/campaigns/{quote(campaign)}/" if base else None


def _view(name: str, destination: str, route: str, place: str, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        # Relative to the address of Airflow's UI, which may have a path.
        "href": f"{PREFIX.lstrip('/')}/{place}",
        "destination": destination,
        "url_route": route,
        "icon": _icon("#3f3f46"),
        "icon_dark_mode": _icon("#e4e4e7"),
        **more,
    }


def _icon(colour: str) -> str:
    return f"data:image/svg+xml,{quote(_ICON.format(colour=colour))}"
