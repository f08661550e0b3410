"""Airflow's REST API as the UI uses it, and the processes of its tasks."""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchlab_airflow.local.airflow_home import USER
from tests.machine import LOOK_AGAIN_S

RUN_LIMIT_S = 1200.0
# An answer costs the API server CPU, which the run that is waited for wants.
ASK_AGAIN_S = 0.7


class Api:
    """Airflow's REST API, as the UI uses it."""

    def __init__(self, port: int, password: str) -> None:
        self._base = f"http://127.0.0.1:{port}"
        self._token = ""
        login = {"username": USER, "password": password}
        self._token = self.call("POST", "/auth/token", login)["access_token"]

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """One request; the answer's JSON."""
        request = urllib.request.Request(
            self._base + path,
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={
                "Content-Type": "application/json",
                **({"Authorization": f"Bearer {self._token}"} if self._token else {}),
            },
        )
        with urllib.request.urlopen(request, timeout=120) as answer:
            found: dict[str, Any] = json.loads(answer.read())
            return found


def wait(
    what: str,
    ready: Callable[[], Any],
    limit_s: float = RUN_LIMIT_S,
    every_s: float = ASK_AGAIN_S,
) -> Any:
    """What ``ready`` gives, once it gives something."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if found := ready():
            return found
        time.sleep(every_s)
    raise AssertionError(f"{what}: not within {limit_s:g} s")


def dag_ids(api: Api) -> set[str]:
    """The DAGs that Airflow has parsed so far."""
    return {dag["dag_id"] for dag in api.call("GET", "/api/v2/dags")["dags"]}


def process_in_trial(fence: Path) -> int:
    """The process that holds the campaign's fence: the one that measures."""

    def holder() -> int | None:
        for directory in Path("/proc").glob("[0-9]*/fd"):
            try:
                if any(entry.readlink() == fence for entry in directory.iterdir()):
                    return int(directory.parent.name)
            except OSError:
                continue
        return None

    # A trial that was set aside has one again only when its client has ended.
    found: int = wait("a process in a trial", holder, 60, LOOK_AGAIN_S)
    return found


def parent_of(pid: int) -> int:
    """The parent of a process (proc(5))."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
