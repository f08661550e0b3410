"""Where Airflow's metadata database is SQLite: one request that writes at a time.

Airflow's API server writes its audit log from its event loop, and a request's own transaction is
committed only when that event loop goes on. SQLite has one writer. So where two requests that write
meet, the audit log of one waits for the transaction of the other, which waits for the event loop,
until SQLite gives up: nobody is answered for a minute, tasks neither, and then comes an error 500,
``database is locked``. A person who triggers a DAG while a task reports is enough (Airflow 3.3.2).
Other databases have many writers; nothing is held back there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from airflow.configuration import conf

_READS = frozenset({"GET", "HEAD", "OPTIONS"})

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class OneWriteAtATime:
    """ASGI middleware: a request that may write waits until the one before is committed."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] in _READS:
            await self._app(scope, receive, send)
            return
        async with self._turn:
            await self._app(scope, receive, send)


def middlewares() -> list[dict[str, Any]]:
    """For a plugin's ``fastapi_root_middlewares``: empty where the database is not SQLite."""
    if not conf.get("database", "sql_alchemy_conn", fallback="").startswith("sqlite"):
        return []
    return [{"name": "One write at a time", "middleware": OneWriteAtATime}]
