"""Registers Benchlab's timetables with Airflow, and for SQLite a middleware that serializes writes.

Airflow stores the name of a DAG's timetable, and loads only timetables that a plugin registers.
"""

from airflow.plugins_manager import AirflowPlugin

from benchlab_airflow.calendar.timetables import ReleaseTimetable, WeeklyTimetable
from benchlab_airflow.local import one_write


class BenchlabPlugin(AirflowPlugin):
    """Both timetables and, if Airflow's database is SQLite, the middleware."""

    name = "benchlab"
    timetables = [ReleaseTimetable, WeeklyTimetable]  # noqa: RUF012 - as Airflow declares it
    fastapi_root_middlewares = one_write.middlewares()
