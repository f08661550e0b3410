"""Makes Airflow's API server handle one writing request at a time if its database is SQLite.

The API server writes its audit log on the event loop, and commits a request's own transaction only
when the event loop continues. SQLite allows one writer. If two writing requests overlap, the audit
log of one waits for the transaction of the other, which waits for the event loop. For a minute
nobody gets a response, then SQLite gives up: error 500, ``database is locked``. It is enough that a
person triggers a DAG while a task reports (Airflow 3.3.2). Other databases allow many writers, so
nothing is held back there. See docs/adr/0018.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from airflow.sdk import conf

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_READS = frozenset({"GET", "HEAD", "OPTIONS"})


class OneWriteAtATime:
    """ASGI middleware: a request that may write waits until the one before is committed."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http" or scope["method"] in _READS:
            await self._app(scope, receive, send)
            return
        async with self._turn:
            await self._app(scope, receive, send)


def middlewares() -> list[dict[str, Any]]:
    """The value of a plugin's ``fastapi_root_middlewares``; empty unless the database is SQLite."""
    if not conf.get("database", "sql_alchemy_conn", fallback="").startswith("sqlite"):
        return []
    return [{"name": "One write at a time", "middleware": OneWriteAtATime}]
