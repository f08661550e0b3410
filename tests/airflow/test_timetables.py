"""At which moments DAGs run by themselves, and that nothing of the past is among them."""

from __future__ import annotations

import csv
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any

import yaml

from tests.airflow.conftest import PROJECT, told
from tests.airflow.test_flow import describe
from tests.builders import fixed_weekly

ON_DAYS = ("sysbench_ec2_watch", "sysbench_ec2_weekly")
SCHEDULED = {"sysbench_ec2", *ON_DAYS, "sysbench_local_releases"}
# A timetable as Airflow asks it, at a time of the test's.
ASK = """
from bisect import bisect_left
from datetime import UTC, date, datetime, timedelta
import pendulum
from airflow.timetables.base import DataInterval, TimeRestriction
from hypothesis import given, settings, strategies as st
from benchlab.plan.fields import schedule
from benchlab.plan.fields.schedule import Weekly
from benchlab_airflow.calendar import timetables
from benchlab_airflow.calendar.timetables import UNSEEN, ReleaseTimetable, WeeklyTimetable

def at(year, month, day, hour=0, minute=0, second=0):
    return pendulum.datetime(year, month, day, hour, minute, second)

def interval(moment):
    return None if moment is None else DataInterval.exact(pendulum.instance(moment))

def next_of(table, now, last=None, earliest=None, latest=None, catchup=False):
    timetables.timezone.utcnow = lambda: pendulum.instance(now)
    found = table.next_dagrun_info(
        last_automated_data_interval=interval(last),
        restriction=TimeRestriction(
            earliest and pendulum.instance(earliest), latest and pendulum.instance(latest), catchup
        ),
    )
    return found and found.logical_date

def all_of(table, first, last):
    # As SerializedDAG.iter_dagrun_infos_between does for a backfill.
    found, moment = [], None
    while (moment := next_of(table, last, moment, first, last, catchup=True)) is not None:
        found.append(moment)
    return found

days = st.dates(date(2015, 1, 1), date(2030, 1, 1))
calendars = st.lists(days, max_size=30, unique=True).map(
    lambda found: ReleaseTimetable([day.isoformat() for day in sorted(found)], ["GA"], 0))
crons = st.builds("{} {} * * {}".format, st.integers(0, 59), st.integers(0, 23), st.integers(0, 6))
weeks = crons.map(lambda cron: WeeklyTimetable(cron, 4, 0))
times = st.datetimes(datetime(2015, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))
catchups = st.integers(0, 400)
"""


def asked(env: dict[str, str], code: str) -> list[str]:
    """What code after the preamble says."""
    return told(ASK + code, env)


def test_a_backfill_has_every_moment_of_its_range_once(airflow_env: dict[str, str]) -> None:
    """Both ends included; the same moments that `benchlab plan --backfill` shows."""
    code = """
@settings(max_examples=60, deadline=None)
@given(calendars, times, times)
def releases(table, one, other):
    first, last = sorted((one, other))
    expected = [moment for moment in table._moments if first <= moment <= last]
    assert all_of(table, first, last) == expected

@settings(max_examples=30, deadline=None)
@given(weeks, times, st.timedeltas(timedelta(0), timedelta(days=70)))
def weekly(table, first, length):
    rule = Weekly(runs="weekly", cron=table.cron)
    assert all_of(table, first, first + length) == list(
        schedule.moments(rule, (), first, first + length))

releases()
weekly()
edge = ReleaseTimetable(["2021-04-07", "2021-06-24"], ["GA"])
say(*(m.date() for m in all_of(edge, at(2021, 4, 7), at(2021, 6, 24))))
two = ReleaseTimetable(["2021-12-03", "2021-12-03"], ["LTS patch"])
say(*(f"{m:%d %H:%M}" for m in all_of(two, at(2021, 12, 3), at(2021, 12, 4))))
again = WeeklyTimetable.deserialize({"cron": "0 2 * * 1", "aa_every": 4, "catchup_days": 0})
say(again.release_every, WeeklyTimetable("0 2 * * 1", 4, 0, 4).description)
"""
    assert asked(airflow_env, code) == [
        "2021-04-07 2021-06-24",
        "03 00:00 03 00:01",
        (
            "0 At the times (UTC) of the cron expression 0 2 * * 1; every 4 weeks an A/A campaign; "
            "every 4 weeks against the newest release"
        ),
    ]


def test_of_the_past_nothing_runs_by_itself(airflow_env: dict[str, str]) -> None:
    """Whatever ran last and however late it is asked: nothing before what catchup_days allows."""
    code = """
@settings(max_examples=150, deadline=None)
@given(calendars | weeks, times, st.none() | times, catchups)
def never_past(table, now, last, catchup_days):
    table.catchup_days = catchup_days
    found = next_of(table, now, last)
    if found is None:
        return
    assert last is None or found > last
    oldest = now - timedelta(days=catchup_days)
    if isinstance(table, ReleaseTimetable):
        assert found.date() >= oldest.date(), "a release has its day"
    else:
        assert found >= oldest - UNSEEN

never_past()
releases = ReleaseTimetable(["2021-04-07", "2026-03-03"], ["GA"], 0)
weekly = WeeklyTimetable("0 2 * * 1", 4, 0)
say(next_of(releases, at(2026, 3, 4)))
say(next_of(releases, at(2026, 3, 3, 23, 59)))
# The daily DAG enters a release after its day, and a schedule's default allows for that.
releases.catchup_days = schedule.OnRelease(runs="on_release").catchup_days
say(next_of(releases, at(2026, 3, 4, 0, 0, 30)))
say(next_of(weekly, at(2026, 11, 22, 10)))
# The previous slot is a Monday at two: not when it is unpaused an hour later ...
say(next_of(weekly, at(2026, 11, 23, 3)))
# ... but a slot that the scheduler has not come to within some seconds is not lost.
say(next_of(weekly, at(2026, 11, 23, 2, 0, 30)))
say(next_of(weekly, at(2026, 11, 23, 2, 0, 30), last=at(2026, 11, 23, 2)))
weekly.catchup_days = 7
say(next_of(weekly, at(2026, 11, 22, 10)))
"""
    assert asked(airflow_env, code) == [
        "None",
        "2026-03-03 00:00:00+00:00",
        "2026-03-03 00:00:00+00:00",
        "2026-11-23 02:00:00+00:00",
        "2026-11-30 02:00:00+00:00",
        "2026-11-23 02:00:00+00:00",
        "2026-11-30 02:00:00+00:00",
        "2026-11-16 02:00:00+00:00",
    ]


def test_an_unpaused_dag_runs_each_moment_once_in_order(airflow_env: dict[str, str]) -> None:
    """Day by day, asked again and again: every moment from the first day on, whatever the rest."""
    code = """
@settings(max_examples=25, deadline=None)
@given(calendars | weeks, times, st.integers(0, 20))
def each_once(table, start, catchup_days):
    table.catchup_days = catchup_days
    ran, last, begin = [], None, table.earliest_by_itself(start)
    for hour in range(0, 24 * 21, 6):
        now = start + timedelta(hours=hour)
        # More of the past than an everyday delay would have to be asked for.
        while (moment := next_of(table, now, last)) is not None and moment <= now:
            ran.append(moment)
            last = moment
    expected = all_of(table, begin, now)
    if catchup_days or isinstance(table, ReleaseTimetable):
        assert ran == expected
    else:
        assert set(ran) <= set(expected) and ran == sorted(set(ran))

each_once()
say("done")
"""
    assert asked(airflow_env, code) == ["done"]


SERIALIZED = """
import json
from datetime import UTC, datetime
import version_comparison as file
from airflow.models.backfill import _get_info_list
from airflow.serialization.serialized_objects import DagSerialization

def serialized(name):
    data = json.loads(json.dumps(DagSerialization.to_dict(getattr(file, name))))
    return DagSerialization.from_dict(data)

def backfill(name, first, last, reverse=False):
    dag = serialized(name)
    infos = _get_info_list(from_date=first, to_date=last, reverse=reverse, dag=dag)
    return [info.logical_date.date().isoformat() for info in infos]
"""


def test_airflows_database_alone_has_every_moment(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """The published years' nine new series, v5.0.0 to v6.3.0, and the patches of LTS series.

    As Airflow's own backfill finds them. Two patches of one day are two runs.

    From the DAG as it is stored, so that a scheduler reads no file.
    """
    code = """
days = datetime(2021, 4, 1, tzinfo=UTC), datetime(2022, 9, 30, tzinfo=UTC)
say(*backfill("sysbench_ec2", *days))
say(backfill("sysbench_ec2", *days, reverse=True) == backfill("sysbench_ec2", *days)[::-1])
say(*backfill("sysbench_local_releases", datetime(2017, 11, 1, tzinfo=UTC),
              datetime(2025, 3, 1, tzinfo=UTC)))
for name in ("sysbench_ec2", "sysbench_ec2_weekly"):
    written, read = getattr(file, name).schedule, serialized(name).timetable
    say(written.serialize() == read.serialize(), read.summary, "|", read.description)
by_hand = read.infer_manual_data_interval(run_after=datetime(2026, 1, 2, tzinfo=UTC))
say(*by_hand)
"""
    project = _project(tmp_path)
    fixed_weekly.write(project / "configs")
    found, reverse, local, on_release, weekly, by_hand = told(
        SERIALIZED + code, airflow_env, BENCHLAB_PROJECT=str(project)
    )
    nine = {
        *("2021-04-07", "2021-06-24", "2021-08-27", "2021-11-30", "2022-02-15"),
        *("2022-04-07", "2022-06-13", "2022-08-23", "2022-09-30"),
    }
    assert nine < set(found.split())
    assert found.split().count("2021-12-03") == 2
    assert reverse == "True"
    assert local.split() == ["2017-11-28", "2023-08-14", "2025-02-04"]
    assert on_release == (
        "True on release | The beginning (UTC) of each day with a release in the calendar: "
        "GA, LTS, DMR, LTS patch"
    )
    assert weekly == (
        "True 0 2 * * 1 | At the times (UTC) of the cron expression 0 2 * * 1; every 4 weeks an "
        "A/A campaign; every 4 weeks against the newest release"
    )
    assert by_hand == "2026-01-02 00:00:00+00:00 2026-01-02 00:00:00+00:00"


UNPAUSED = """
from pathlib import Path
from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
from airflow.jobs.job import Job
from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
from airflow.models import DagModel, DagRun
from airflow.utils.session import create_session
from airflow.utils.sqlalchemy import prohibit_commit
from sqlalchemy import select, update

def parse():
    found = BundleDagBag(FOLDER, bundle_path=Path(FOLDER), bundle_name="dags-folder")
    sync_bag_to_db(found, "dags-folder", None)

def loop():
    # A scheduler's loop, as far as it makes runs; until it makes no more.
    job = SchedulerJobRunner(Job())
    for _ in range(10):
        with create_session() as session, prohibit_commit(session) as guard:
            job._create_dagruns_for_dags(guard, session)

DagBundlesManager().sync_bundles_to_db()
parse()
with create_session() as session:
    before = set(session.scalars(select(DagRun.id)))  # of other tests, in the database's copy
    say(*sorted(session.scalars(select(DagModel.dag_id).where(DagModel.is_paused))))
    session.execute(update(DagModel).values(is_paused=False))
loop()
parse()
loop()
with create_session() as session:
    housekeeping = (
        *("reap_expired_fleets", "update_release_calendar", "check_operation", "maintain"),
        "remind_approvals",
    )
    for run in session.scalars(select(DagRun).where(DagRun.dag_id.not_in(housekeeping))):
        if run.id not in before:
            say(run.dag_id, run.run_type, run.logical_date)
"""


def test_unpausing_starts_no_historical_fleet(airflow_env: dict[str, str], tmp_path: Path) -> None:
    """Airflow's own scheduler code, on its database, with every DAG unpaused.

    There are dozens of release days and of Mondays in the past. Only the DAG whose schedule allows
    a week has a run, of the one slot of that week.
    """
    project = _project(tmp_path / "project")
    slot = datetime.combine(datetime.now(UTC).date() - timedelta(days=3), time(2), tzinfo=UTC)
    reports = project / "configs" / "reports"
    weekly = yaml.safe_load((reports / "sysbench_ec2_weekly.yaml").read_text())
    weekly["schedule"]["cron"] = f"0 2 * * {slot.isoweekday() % 7}"
    (reports / "sysbench_ec2_weekly.yaml").write_text(yaml.safe_dump(weekly))
    caught_up = {**weekly, "report": "a_week_late"}
    caught_up["schedule"] = {**weekly["schedule"], "catchup_days": 7}
    (reports / "a_week_late.yaml").write_text(yaml.safe_dump(caught_up))
    database = tmp_path / "airflow.db"
    with (
        closing(sqlite3.connect(f"{airflow_env['AIRFLOW_HOME']}/airflow.db")) as made,
        closing(sqlite3.connect(database)) as own,
    ):
        made.backup(own)
    paused, *runs = told(
        UNPAUSED.replace("FOLDER", repr(str(PROJECT / "dags"))),
        airflow_env,
        BENCHLAB_PROJECT=str(project),
        AIRFLOW__DATABASE__SQL_ALCHEMY_CONN=f"sqlite:///{database}",
    )
    begin_paused = {"a_week_late", "maintain", "sysbench_ec2", *ON_DAYS, "sysbench_local_releases"}
    assert set(paused.split()) == begin_paused
    assert runs == [f"a_week_late scheduled {slot}"]


def _project(folder: Path) -> Path:
    """The repository's configurations, with a calendar that has nothing of the last weeks."""
    shutil.copytree(PROJECT / "configs", folder / "configs")
    path = folder / "configs" / "releases.csv"
    last = (datetime.now(UTC).date() - timedelta(days=30)).isoformat()
    with path.open(newline="") as file:
        columns, *rows = csv.reader(file)
    rows = [columns, *(row for row in rows if row[1] < last)]
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    return folder


def test_a_broken_calendar_takes_only_scheduled_dags_with_it(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Each shows the file and the line; what is started by hand stays."""
    project = _project(tmp_path)
    with (project / "configs" / "releases.csv").open("a") as file:
        file.write("v9.0.0,someday,LTS\n")
    dags = describe(airflow_env, BENCHLAB_PROJECT=str(project))
    broken = {name: dag for name, dag in dags.items() if name.startswith("invalid_spec_")}
    assert set(broken) == {f"invalid_spec_{name}" for name in SCHEDULED}
    assert all("releases.csv: line" in dag["doc"] for dag in broken.values())
    assert "sysbench_local" in dags


EMPTY = """
from benchlab import home
from benchlab.campaign import overrides, report_types
from benchlab_airflow.calendar import timetables
here = home.find()
for name in ("sysbench_local_releases", "sysbench_ec2_weekly", "sysbench_local"):
    try:
        spec = report_types.load(here.configs / "reports" / f"{name}.yaml")
        say(timetables.timetable_of(here, spec))
    except Exception as error:
        say(type(error).__name__, str(error).partition("releases.csv ")[2])
"""


def test_a_calendar_without_releases_of_the_engine_is_said(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Such a DAG would never run, and nobody would be told why."""
    project = _project(tmp_path)
    (project / "configs" / "releases.csv").write_text("version,release_date,type\n")
    local, weekly, by_hand = told(EMPTY, airflow_env, BENCHLAB_PROJECT=str(project))
    assert local == (
        "SpecError has no release of mariadb of the types patch; add releases with `benchlab "
        "releases update`"
    )
    assert weekly.startswith("SpecError has no release of tidb, and a version rule names one")
    assert by_hand == "None"


def test_scheduled_dags_begin_paused_and_never_catch_up_as_airflow_does(
    airflow_env: dict[str, str],
) -> None:
    """Who starts Airflow rents nothing; `catchup` would run every release there ever was."""
    dags: dict[str, Any] = describe(airflow_env)
    scheduled = {name: dag for name, dag in dags.items() if dag["schedule"] is not None}
    assert set(scheduled) == SCHEDULED
    for dag in scheduled.values():
        assert dag["paused"] is True
        assert dag["catchup"] is False
        assert dag["max_active_runs"] == 1
        assert "scheduled" in dag["tags"]
    assert len(scheduled["sysbench_ec2"]["schedule"]["release_days"]) > 30
    assert {dags[name]["paused"] for name in set(dags) - SCHEDULED} == {None}
