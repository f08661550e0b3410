"""What Benchlab adds to Airflow itself: its timetables, and an order among requests that write.

Airflow stores the name of a DAG's timetable, and loads only those that a plugin registers.
"""

from airflow.plugins_manager import AirflowPlugin

from benchlab_airflow.calendar.timetables import ReleaseTimetable, WeeklyTimetable
from benchlab_airflow.local import one_write


class BenchlabPlugin(AirflowPlugin):
    """Registers both timetables and, for SQLite, the middleware."""

    name = "benchlab"
    timetables = [ReleaseTimetable, WeeklyTimetable]  # noqa: RUF012 - as Airflow declares it
    fastapi_root_middlewares = one_write.middlewares()
