"""Where Airflow's UI shows the benchmark site, as its plugin declares it.

Imports nothing that is slow: every process of Airflow loads the plugin.
"""

from __future__ import annotations

from typing import Any

PREFIX = "/benchmarks"


class _OnDemand:
    """The app, made when it is first asked."""

    def __init__(self) -> None:
        self._app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if self._app is None:
            from benchlab_airflow.page.app import make

            self._app = make()
        await self._app(scope, receive, send)


def apps() -> list[dict[str, Any]]:
    """The value of a plugin's ``fastapi_apps``."""
    return [{"app": _OnDemand(), "url_prefix": PREFIX, "name": "Benchmarks"}]


def views() -> list[dict[str, Any]]:
    """The value of a plugin's ``external_views``."""
    return [
        {
            "name": "Benchmarks",
            "href": f"{PREFIX}/",
            "destination": "nav",
            "url_route": "benchmarks",
            "nav_top_level": True,
        }
    ]
