"""Registers with Airflow: timetables, the benchmark site, what writes the notes of runs
and keeps the logs of the demo's tasks.

Beside them middlewares of its API server: one refuses faulty forms, one serializes SQLite's writes.

Airflow stores the name of a DAG's timetable, and loads only timetables that a plugin registers.
"""

from airflow.plugins_manager import AirflowPlugin

from benchlab_airflow.calendar.timetables import ReleaseTimetable, WeeklyTimetable
from benchlab_airflow.dags import form_refusal
from benchlab_airflow.local import one_write, task_logs
from benchlab_airflow.messages import run_note
from benchlab_airflow.page import navigation


class BenchlabPlugin(AirflowPlugin):
    """The timetables, the site, and the middlewares that this installation needs."""

    name = "benchlab"
    listeners = [run_note, *task_logs.listeners()]  # noqa: RUF012 - as Airflow declares it
    timetables = [ReleaseTimetable, WeeklyTimetable]  # noqa: RUF012 - as Airflow declares it
    fastapi_apps = navigation.apps()
    external_views = navigation.views()
    # A request comes to the last one first: a form is read before it waits for its turn to write.
    fastapi_root_middlewares = [  # noqa: RUF012 - as Airflow declares it
        *one_write.middlewares(),
        *form_refusal.middlewares(),
    ]
