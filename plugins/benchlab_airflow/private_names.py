"""All names of Airflow that Benchlab uses although they are not in its public interface.

Airflow may change them in any release; its page *Public Interface for Airflow 3.0+* says what is
stable. Each has a comment on why nothing public will do, and no other module imports one from
Airflow; ``tests/airflow/test_private_names.py`` checks both for the release in
``requirements.txt``. A name is imported on first use: every process of Airflow loads the plugin,
but few need these.

Example:
    ``from benchlab_airflow.private_names import DagRun``
"""

from __future__ import annotations

import importlib
from typing import Any

# name -> module
PRIVATE_NAMES = {
    # The site, inside the API server: who the user is, and what they may see and do. A plugin's app
    # gets no authentication from Airflow, and the public auth manager class is for writing one.
    "get_auth_manager": "airflow.api_fastapi.app",
    "GetUserDep": "airflow.api_fastapi.core_api.security",
    "requires_access_view": "airflow.api_fastapi.core_api.security",
    "AccessView": "airflow.api_fastapi.auth.managers.models.resource_details",
    "DagAccessEntity": "airflow.api_fastapi.auth.managers.models.resource_details",
    "DagDetails": "airflow.api_fastapi.auth.managers.models.resource_details",
    "BaseUser": "airflow.api_fastapi.auth.managers.models.base_user",
    # The middleware that refuses faulty forms runs before Airflow's routes, so it has to
    # authenticate the user itself.
    "bearer_scheme": "airflow.api_fastapi.core_api.security",
    "get_user": "airflow.api_fastapi.core_api.security",
    "requires_access_dag": "airflow.api_fastapi.core_api.security",
    # Links from the site to runs, whether a DAG is paused, its team: the REST API needs a token of
    # the user, but the site has a cookie.
    "DagModel": "airflow.models.dag",
    "DagRun": "airflow.models.dagrun",
    "create_session": "airflow.utils.session",
    # The note of a run is written by a listener, with the run's database session; a task's answer
    # is an XCom, which the public class reads in tasks only.
    "Session": "airflow.settings",
    "XComModel": "airflow.models.xcom",
    # A trigger asks whether another run has ended; the public `ti` exists in tasks only.
    "RuntimeTaskInstance": "airflow.sdk.execution_time.task_runner",
    # Messages must not contain secrets of Connections, which only Airflow knows.
    "redact": "airflow.sdk.log",
}

# A killed run of `airflow dags test` stays in the state running, and a scheduler would resume it.
# Airflow has no command to end it, and no API server is up. In SQLite's dialect, as in `make up`.
FAIL_KILLED_RUNS = """
UPDATE task_instance SET state = 'failed', end_date = datetime('now')
WHERE state NOT IN ('success', 'failed', 'skipped', 'upstream_failed', 'removed')
AND (dag_id, run_id) IN
    (SELECT dag_id, run_id FROM dag_run WHERE state = 'running' AND triggered_by = 'TEST');
UPDATE dag_run SET state = 'failed', end_date = datetime('now')
WHERE state = 'running' AND triggered_by = 'TEST';
"""


def __getattr__(name: str) -> Any:
    if name not in PRIVATE_NAMES:
        raise AttributeError(name)
    return getattr(importlib.import_module(PRIVATE_NAMES[name]), name)
