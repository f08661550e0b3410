"""Makes Airflow's API server refuse a faulty trigger form at once, in the form's own words.

Airflow itself checks a form against its JSON schema, one field at a time, and answers in terms of
the schema, such as a regular expression. This middleware checks a form first, as the task ``plan``
would, and answers with all faults at once, while the user is still at the form and nothing is
stored. ``plan`` checks again: backfills and `airflow dags trigger` do not pass through here, and a
body of more than 64 KiB is left to Airflow. See docs/adr/0028.

Every process of Airflow loads this module with the plugin, so imports are where they are needed.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MOST_BYTES = 64 * 1024
_TRIGGER = re.compile(r"/api/v2/dags/(?P<dag_id>[A-Za-z0-9_.-]+)/dagRuns/?$")


class RefuseFaultyForms:
    """ASGI middleware: answers 400 to a trigger whose form ``plan`` would refuse."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        from starlette.requests import Request
        from starlette.responses import JSONResponse

        asked = _TRIGGER.search(scope["path"]) if scope["type"] == "http" else None
        request = Request(scope, receive) if asked and scope["method"] == "POST" else None
        # Users who may not trigger the DAG are left to Airflow, which says what they lack.
        if asked is None or request is None or not await _may_trigger(request, asked["dag_id"]):
            await self._app(scope, receive, send)
            return
        read = await _beginning(receive)
        body = b"".join(message.get("body", b"") for message in read)
        fault = None
        if len(body) <= _MOST_BYTES:
            fault = await asyncio.to_thread(refusal, asked["dag_id"], body)
        if fault is None:
            await self._app(scope, _again(read, receive), send)
        else:
            await JSONResponse({"detail": fault}, status_code=400)(scope, receive, send)


def refusal(dag_id: str, body: bytes) -> str | None:
    """Why ``plan`` would refuse the form in a request, a line for each fault; None: it would not.

    Also None if it is not a form of a report type, which is left to Airflow.

    Example:
        ``refusal("sysbench_local", b'{"conf": {"rounds": 0}}')`` names the field and its limits.
    """
    from benchlab import home
    from benchlab.campaign import planning, report_types
    from benchlab.errors import SpecError
    from benchlab_airflow import connections
    from benchlab_airflow.dags import trigger_form

    here = home.find()
    path = here.configs / "reports" / f"{dag_id}.yaml"
    if not path.is_file() or (params := _params(body)) is None:
        return None
    try:
        report_type = report_types.load(path)
        asked = trigger_form.chosen(report_type, params)
        planning.refuse_undecided(here, asked, connections.access())
    except SpecError as fault:
        return trigger_form.titled(path, str(fault))
    return None


def _params(body: bytes) -> Mapping[str, Any] | None:
    """The form in a request's body; None if there is none."""
    try:
        conf = json.loads(body)["conf"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    return conf if isinstance(conf, dict) else None


async def _may_trigger(request: Request, dag_id: str) -> bool:
    """Whether Airflow knows the user and lets them trigger this DAG."""
    from fastapi import HTTPException

    from benchlab_airflow.private_names import (
        DagAccessEntity,
        bearer_scheme,
        get_user,
        requires_access_dag,
    )

    may = requires_access_dag("POST", DagAccessEntity.RUN, dag_id)
    try:
        user = await get_user(request, None, await bearer_scheme(request))
        await asyncio.to_thread(may, request, user)
    except HTTPException:
        return False
    return True


async def _beginning(receive: Receive) -> list[Message]:
    """Read a request's body, up to the message that passes the limit of bytes."""
    read: list[Message] = []
    size, more = 0, True
    while more and size <= _MOST_BYTES:
        read.append(message := await receive())
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    return read


def _again(read: list[Message], receive: Receive) -> Receive:
    """A ``receive`` that repeats the messages read so far, then goes on with the request."""
    unread = iter(read)

    async def once_more() -> Message:
        return next(unread, None) or await receive()

    return once_more


def middlewares() -> list[dict[str, Any]]:
    """The value of a plugin's ``fastapi_root_middlewares``."""
    return [{"name": "Refuse faulty forms", "middleware": RefuseFaultyForms}]
