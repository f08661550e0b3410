"""Every name of Airflow that Benchlab uses and that Airflow's public interface does not have.

Airflow may change them in any release; what it keeps is on its page *Public Interface for Airflow
3.0+*. Each is here with the reason why nothing public will do, and no other module imports one;
``tests/airflow/test_private_names.py`` holds both, for the release in ``requirements.txt``. A name
is imported when it is asked for: every process of Airflow loads the plugin, few need these.

Example:
    ``from benchlab_airflow.private_names import DagRun``
"""

from __future__ import annotations

import importlib
from typing import Any

# name -> where it is
PRIVATE_NAMES = {
    # The site, inside the API server: who asks, and what they may see and do. A plugin's app gets
    # no authentication from Airflow, and the auth manager's public class only says how one is made.
    "get_auth_manager": "airflow.api_fastapi.app",
    "GetUserDep": "airflow.api_fastapi.core_api.security",
    "requires_access_view": "airflow.api_fastapi.core_api.security",
    "AccessView": "airflow.api_fastapi.auth.managers.models.resource_details",
    "DagAccessEntity": "airflow.api_fastapi.auth.managers.models.resource_details",
    "DagDetails": "airflow.api_fastapi.auth.managers.models.resource_details",
    "BaseUser": "airflow.api_fastapi.auth.managers.models.base_user",
    # A middleware refuses a faulty form before Airflow's routes are reached, so it cannot depend on
    # what those say about the person.
    "bearer_scheme": "airflow.api_fastapi.core_api.security",
    "get_user": "airflow.api_fastapi.core_api.security",
    "requires_access_dag": "airflow.api_fastapi.core_api.security",
    # Links from the site to runs, whether a DAG is paused, its team: the REST API would want a
    # token of the person, the site has a cookie.
    "DagModel": "airflow.models.dag",
    "DagRun": "airflow.models.dagrun",
    "create_session": "airflow.utils.session",
    # The note of a run is written by a listener, with the run's database session; a task's answer
    # is an XCom, which the public class reads in tasks only.
    "Session": "airflow.settings",
    "XComModel": "airflow.models.xcom",
    # A trigger asks whether another run has ended; the public way, `ti`, is a task's.
    "RuntimeTaskInstance": "airflow.sdk.execution_time.task_runner",
    # A message to people must not contain a Connection's secret, which only Airflow knows.
    "redact": "airflow.sdk.log",
}

# A run of `airflow dags test` that was killed stays running, and a scheduler would go on with it.
# There is no command for it, and no API server is up. SQLite's dialect, as in `make up`.
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
