"""Registers with Airflow: timetables, the benchmark site, and for SQLite serialized writes.

Airflow stores the name of a DAG's timetable, and loads only timetables that a plugin registers.
"""

from airflow.plugins_manager import AirflowPlugin

from benchlab_airflow.calendar.timetables import ReleaseTimetable, WeeklyTimetable
from benchlab_airflow.local import one_write
from benchlab_airflow.page import navigation


class BenchlabPlugin(AirflowPlugin):
    """Both timetables, the site and, if Airflow's database is SQLite, the middleware."""

    name = "benchlab"
    timetables = [ReleaseTimetable, WeeklyTimetable]  # noqa: RUF012 - as Airflow declares it
    fastapi_root_middlewares = one_write.middlewares()
    fastapi_apps = navigation.apps()
    external_views = navigation.views()
