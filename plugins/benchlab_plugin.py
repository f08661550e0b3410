"""What Benchlab adds to Airflow itself: its timetables.

Airflow stores the name of a DAG's timetable, and loads only those that a plugin registers.
"""

from airflow.plugins_manager import AirflowPlugin

from benchlab_airflow.timetables import ReleaseTimetable, WeeklyTimetable


class BenchlabPlugin(AirflowPlugin):
    """Registers both timetables."""

    name = "benchlab"
    timetables = [ReleaseTimetable, WeeklyTimetable]  # noqa: RUF012 - as Airflow declares it
