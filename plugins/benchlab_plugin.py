"""Benchlab's plugin for Airflow: timetables, the benchmark site, listeners and middlewares.

One listener writes the notes of runs, another keeps the logs of the demo's tasks. One middleware of
the API server refuses faulty forms, another serializes writes to SQLite.

Airflow loads only timetables that a plugin registers.
"""

from airflow.plugins_manager import AirflowPlugin

from benchlab_airflow.calendar.timetables import ReleaseTimetable, WeeklyTimetable
from benchlab_airflow.dags import form_refusal
from benchlab_airflow.local import one_write, task_logs
from benchlab_airflow.messages import run_note
from benchlab_airflow.page import navigation


class BenchlabPlugin(AirflowPlugin):
    """What Airflow finds in the plugins folder and registers."""

    name = "benchlab"
    listeners = [run_note, *task_logs.listeners()]  # noqa: RUF012 - as Airflow declares it
    timetables = [ReleaseTimetable, WeeklyTimetable]  # noqa: RUF012 - as Airflow declares it
    fastapi_apps = navigation.apps()
    external_views = navigation.views()
    # The last one gets a request first: a form is checked before it waits for its turn to write.
    fastapi_root_middlewares = [  # noqa: RUF012 - as Airflow declares it
        *one_write.middlewares(),
        *form_refusal.middlewares(),
    ]
