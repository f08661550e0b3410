"""What a run of a DAG measures as of its day, and when it measures nothing."""

from __future__ import annotations

import json
from pathlib import Path

from tests.airflow.conftest import told

# A run of sysbench_local_releases or of a weekly report type as its first task sees it.
PLAN = """
import dataclasses
import warnings
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException, TaskDeferred
from benchlab import home
from benchlab.campaign import overrides, report_types
from benchlab.campaign.resolving import Resolver
from benchlab_airflow.calendar import calendar_runs
from benchlab_airflow.dags import stages
from benchlab_airflow.connections import open_store
from benchlab_airflow.operators.plan_operator import PlanOperator, RunEndedTrigger
from benchlab.campaign.progress import ProgressLog
from benchlab_airflow.page.navigation import campaign_tab
from tests.builders import fixed_weekly

here = home.find()
REPORTS = here.configs / "reports"
LATEST = datetime(2025, 2, 4, tzinfo=UTC)

def run(moment, run_type="backfill", started=None, cleared=0):
    return SimpleNamespace(
        run_type=run_type, logical_date=moment, start_date=started or moment, clear_number=cleared,
        run_id="own")

def plan(run, name="sysbench_local_releases", own=None, **params):
    # How many trials are planned, or why there are none; and what is left for the UI.
    left = {}
    ti = SimpleNamespace(task_id="plan", dag_id=name, run_id="r",
                         xcom_push=lambda key, value: left.update({key: value}))
    stages.get_current_context = lambda: {
        "params": params, "run_id": f"{run.run_type}__{own or run.logical_date}", "dag_run": run,
        "dag": SimpleNamespace(dag_id=name.rpartition("/")[2]), "ti": ti}
    try:
        return len(stages.plan(str(REPORTS / f"{name}.yaml")))
    except AirflowSkipException as skipped:
        # Its note is known by the link, and gives way to what the run says once it has measured.
        (noted,) = left.items()
        assert noted[0] == "no_campaign" and noted[1].startswith(str(skipped)[:500])
        assert noted[1].endswith(f"({campaign_tab(name, 'r')})") and len(noted[1]) <= 1000
        return f"skipped: {skipped}"

def refused(run, **params):
    # Why its plan fails.
    try:
        return plan(run, **params)
    except AirflowFailException as failed:
        return str(failed)

STORE = open_store(here)

def campaigns():
    with open_store(here) as store:
        return list(store.campaigns("sysbench_local_releases"))

def finish():
    # As if all that is planned had been measured.
    with open_store(here) as store:
        for campaign in campaigns():
            store.finish(campaign.id, "complete")

def resolve(spec, run, begun=None):
    return calendar_runs.versions(Resolver(here, STORE), spec, run, begun)

def versions(resolved):
    spec = resolved.spec
    return [spec.side(next(iter(spec.engines)), side).version for side in ("baseline", "candidate")]
"""


def planned(env: dict[str, str], tmp_path: Path, code: str) -> list[str]:
    """What code after the preamble says, in a home of its own."""
    return told(PLAN + code, env, BENCHLAB_HOME=str(tmp_path))


def test_versions_are_those_of_the_runs_day(airflow_env: dict[str, str], tmp_path: Path) -> None:
    """Of a logical date in UTC, of today where a run has none; and every run says which."""
    code = """
from benchlab_airflow.calendar.calendar_runs import as_of
from zoneinfo import ZoneInfo
weekly = fixed_weekly.load(here)
weekly = weekly.with_overrides({  # past nightlies cannot be had
    "engines.tidb.baseline.version": "previous series", "engines.tidb.candidate.version": "newest"})
# Already the next day there, and a release came out on it: v6.3.0 on 2022-09-30.
night = datetime(2022, 9, 30, 5, tzinfo=ZoneInfo("Asia/Shanghai"))
say(as_of(run(night)), *versions(resolve(weekly, run(night, "manual"))))
morning = night + timedelta(hours=3)
say(as_of(run(morning)), *versions(resolve(weekly, run(morning, "manual"))))
say(as_of(run(None)) == datetime.now(UTC).date())
say(plan(run(LATEST)))
(campaign,) = campaigns()
say(*(campaign.plan.sides[side].version for side in ("baseline", "candidate")))
say(campaign.planned_for == LATEST)
for step in ProgressLog(here.campaign(campaign.id) / "progress.jsonl").read()[0]:
    if step.phase == "versions":
        say(step.note)
"""
    night, morning, today, trials, sides, in_the_past, *notes = planned(airflow_env, tmp_path, code)
    assert night.split() == ["2022-09-29", "v6.1.1", "v6.2.0"]
    assert morning.split() == ["2022-09-30", "v6.2.0", "v6.3.0"]
    assert today == "True"
    assert (trials, sides) == ("12", "10.11.5 11.4.5")
    assert in_the_past == "True", "its place in the long view"
    assert notes == [
        "candidate: release of the day on 2025-02-04 is 11.4.5, released 2025-02-04",
        "baseline: previous series on 2025-02-04 is 10.11.5, released 2023-08-14",
    ]


def test_a_pair_is_measured_once_by_the_calendar(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Unless it is asked for; and who starts a run by hand gets a campaign."""
    code = """
first = run(LATEST)
say(plan(first, own="first"))
later = run(LATEST + timedelta(hours=1))
say(plan(later, own="not_yet_complete"))
finish()
say(plan(later, own="second"))
say(plan(run(LATEST, "scheduled"), own="second"))
say(plan(later, own="second", measure_again=True))
say(plan(later, own="fewer", rounds=1))
say(plan(run(LATEST, "manual"), campaign="by_hand"))
say(plan(run(None, "manual"), campaign="by_hand_today"))
# A run that is repeated carries its own campaign on.
say(plan(later, own="fewer", rounds=1))
"""
    first, incomplete, again, scheduled, asked, fewer, *by_hand, own = planned(
        airflow_env, tmp_path, code
    )
    assert first == incomplete == asked == "12"
    assert fewer == own == "4"
    assert by_hand == ["12", "12"]
    assert again == scheduled
    assert again.startswith(
        "skipped: 10.11.5 and 11.4.5 have been measured with this plan already: "
    )


def test_a_run_whose_campaign_is_complete_measures_nothing(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Whoever clears its tasks; another way to measure is refused, as where it has failed."""
    code = """
from benchlab.campaign.stored import StoredCampaign
published = []
StoredCampaign.publish_where_lacking = (
    lambda self, asked: bool(published.append(self.campaign.id)))
runs = run(LATEST), run(LATEST, "manual"), run(LATEST, "scheduled")
for one in runs:
    plan(one)
finish()
before = campaigns()
for one in runs:
    say(plan(one))
say(before == campaigns(), len(published))
say(refused(runs[1], warmup_seconds=60, table_size=100000))
with open_store(here) as store:
    for campaign in before:
        store.finish(campaign.id, "failed")
say(refused(runs[0], warmup_seconds=60, table_size=100000))
"""
    *skipped, kept, complete, failed = planned(airflow_env, tmp_path, code)
    assert len(skipped) == 3
    assert all("nothing to measure: campaign sysbench_local_releases-" in why for why in skipped)
    assert kept == "True 3"
    for said in (complete, failed):
        assert "with another plan: " in said
        assert "dataset.table_size 10000, not 100000" in said
        assert "warmup_seconds 1, not 60" in said


def test_a_failed_run_without_a_trial_left_is_repeated_as_another_campaign(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """It failed by noise, and `--reprocess-behavior failed` clears all of it."""
    code = """
from benchlab_airflow.private_names import RuntimeTaskInstance
from tests.builders.campaigns import trial_result
states = {}
RuntimeTaskInstance.get_task_states = lambda dag_id, task_ids, run_ids: {run_ids[0]: states}
def fail(attempts):
    with open_store(here) as store:
        for planned in campaigns()[-1].plan.trials:
            for attempt in attempts:
                noisy = trial_result(planned, reasons=["noise"])
                store.add_trial(campaigns()[-1].id, dataclasses.replace(noisy, attempt=attempt))
        store.finish(campaigns()[-1].id, "failed")
mine = run(LATEST)
plan(mine)
fail([1, 2])
say(plan(mine), len(campaigns()))
fail([3])
states = {"provision": "success"}
say(refused(mine))
states = {"provision": None}
calendar_runs.follow, follow = (lambda *which: follow(*which) and None), calendar_runs.follow
try:
    plan(mine)
except BaseException as killed:
    say(type(killed).__name__, len(campaigns()))
calendar_runs.follow = follow
candidate = campaigns()[0].plan.sides["candidate"].version
resolved = []
Resolver.versions = lambda *request: resolved.append(request)
say(plan(mine), *(campaign.planned_for == LATEST for campaign in campaigns()))
say(resolved, *(campaign.plan.sides["candidate"].version == candidate for campaign in campaigns()))
"""
    resumed, refused, killed, again, versions = planned(airflow_env, tmp_path, code)
    assert resumed == "12 1"
    assert "has failed, and each of its trials has been measured as often as" in refused
    assert killed == "TypeError 1", "before the other one was planned"
    assert again == "12 True True"
    assert versions == "[] True True", "those of the first, which are not resolved anew"


def test_a_campaign_in_the_form_of_a_backfill_is_refused(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """All its runs would be of that one campaign."""
    code = """
for kind in ("backfill", "scheduled", "manual"):
    say(refused(run(LATEST, kind), campaign="catch_up"))
say(*(campaign.id for campaign in campaigns()))
"""
    *by_calendar, by_hand, stored = planned(airflow_env, tmp_path, code)
    own = "each run of a backfill has a campaign of its own; leave it out"
    assert by_calendar == [f"Campaign id (campaign): catch_up: {own}"] * 2
    assert (by_hand, stored) == ("12", "catch_up")


def test_a_build_without_a_hash_is_measured_once_by_the_calendar(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """One of a path and one of S3, until there is another file under the same name."""
    code = """
import hashlib, io, yaml
from pathlib import Path
import boto3
from botocore.response import StreamingBody
from botocore.stub import Stubber
from benchlab.hosts.access import Access
from benchlab_airflow import connections
folder = here.root
folder.mkdir(exist_ok=True)
raw = yaml.safe_load((REPORTS / "sysbench_local_releases.yaml").read_text())
raw["engine"] = "tidb"
def side(source):
    return {"version": "v8.5.7", "builds": {"tidb": {"source": source}}}
raw["engines"] = {"tidb": {"baseline": side(str(folder / "own")), "candidate": side("s3://b/of")}}
(folder / "sysbench_local_releases.yaml").write_text(yaml.safe_dump(raw))
(folder / "own").write_bytes(b"\\x7fELF own")
s3 = boto3.client("s3", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
stub = Stubber(s3)
stub.activate()
connections.access = lambda: Access(aws=lambda service, region: s3)
def planned_with(content, campaign):
    stub.add_client_error("get_object", "NoSuchKey", http_status_code=404)
    body = StreamingBody(io.BytesIO(content), len(content))
    stub.add_response("get_object", {"Body": body})
    return plan(run(LATEST), str(folder / "sysbench_local_releases"), own=campaign)
say(planned_with(b"\\x7fELF one", "first"))
finish()
say(planned_with(b"\\x7fELF one", "second"))
say(planned_with(b"\\x7fELF two", "third"))
"""
    first, again, other = planned(airflow_env, tmp_path, code)
    assert first == other
    assert first.isdecimal()
    assert "already: sysbench_local_releases-backfill__first-" in again


def test_a_campaign_knows_every_run_that_has_planned_it(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """By these the reaper finds out whether any is left; a repeated run is the same."""
    code = """
for day in (LATEST, LATEST, LATEST + timedelta(days=1)):
    plan(run(day, "manual"), campaign="mine")
say((here.campaign("mine") / "airflow-runs.json").read_text())
"""
    (noted,) = planned(airflow_env, tmp_path, code)
    days = [f"2025-02-0{day} 00:00:00+00:00" for day in (4, 5)]
    assert json.loads(noted) == [["sysbench_local_releases", f"manual__{day}"] for day in days]


def test_a_run_that_is_repeated_compares_what_it_began_with(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """A release that somebody enters in between is for the runs that come."""
    code = """
spec = report_types.load(REPORTS / "sysbench_local_releases.yaml")
plan(run(LATEST), own="mine")
(begun,) = campaigns()
earlier = run(datetime(2024, 1, 1, tzinfo=UTC))
say(*versions(resolve(spec, earlier)))
say(*versions(resolve(spec, earlier, begun)))
alike = spec.with_overrides({
    "sides": "same", "engine": "mariadb",
    **{f"engines.mariadb.{side}.version": "11.4.5" for side in ("baseline", "candidate")}})
sides_ = {side: begun.plan.sides["candidate"] for side in ("baseline", "candidate")}
aa = dataclasses.replace(
    begun, report_type=alike, plan=dataclasses.replace(begun.plan, sides=sides_))
weekly = spec.with_overrides({"schedule": {"runs": "weekly", "cron": "0 2 * * 1"}})
say(resolve(weekly, earlier, aa).spec.sides)
build = {"mariadb": {"source": "of-then", "sha256": "a" * 64}}
sides = begun.plan.sides
kept = type(sides["candidate"]).model_validate({"version": "11.4.5", "builds": build})
built = dataclasses.replace(
    begun,
    plan=dataclasses.replace(begun.plan, sides={**sides, "candidate": kept}),
    report_type=begun.report_type.with_overrides({
        "engines.mariadb.candidate.builds": kept.model_dump()["builds"]}))
again = resolve(spec, earlier, built).spec
say(again.side("mariadb", "candidate").label)
"""
    anew, repeated, sides, label = planned(airflow_env, tmp_path, code)
    assert anew == "10.2.11 10.11.5"
    assert (repeated, sides) == ("10.11.5 11.4.5", "same")
    assert label == "11.4.5@sha256-aaaaaaa", (
        "with the builds of then, though another nightly is out"
    )


def test_a_schedule_that_names_no_candidate_fails(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Week after week it would be skipped, and nobody would know."""
    code = """
weekly = fixed_weekly.load(here)
weekly = weekly.with_overrides({  # past nightlies cannot be had
    "engines.tidb.baseline.version": "previous series", "engines.tidb.candidate.version": "newest"})
never = weekly.with_overrides({"engines.tidb.candidate.version": "newest 66.5"})
for kind in ("backfill", "scheduled"):
    try:
        resolve(never, run(datetime(2022, 10, 10, 2, tzinfo=UTC), kind))
    except Exception as error:
        say(type(error).__name__)
"""
    assert planned(airflow_env, tmp_path, code) == ["NoCampaignError", "NoReleaseError"]


def test_runs_whose_campaigns_are_at_work_are_known(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """A backfill of the past has to wait for a run of today, whose date is later."""
    code = """
plan(run(LATEST, "manual"), campaign="today")
def at_work():
    with open_store(here) as store:
        return calendar_runs.at_work(store, "sysbench_local_releases")
say(*at_work())
finish()
say(len(at_work()))
"""
    assert planned(airflow_env, tmp_path, code) == ["manual__2025-02-04 00:00:00+00:00", "0"]


JOINED = """
import shutil
shutil.copytree(here.configs, here.root / "configs")
here = dataclasses.replace(here, project=here.root)
home.find = lambda: here

def calendar(*names):
    # With these releases on that day, and the first one long before.
    lines = [f"{name},{LATEST.date()},patch" for name in names]
    here.releases.write_text("\\n".join(
        ["version,release_date,type", "10.2.11,2017-11-28,patch", *lines, ""]))

calendar("10.11.5")
minutes = [LATEST + timedelta(minutes=n) for n in range(3)]

def ran(moment, run_type="backfill", **params):
    # The candidate that a run measures, or why it measures none.
    before = {campaign.id for campaign in campaigns()}
    found = plan(run(moment, run_type), **params)
    new = [campaign for campaign in campaigns() if campaign.id not in before]
    finish()
    return new[0].plan.sides["candidate"].version if new else found
"""


def test_a_release_that_joins_a_day_that_has_run_is_measured(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """By the run that comes with it, though it is the highest version and would have been first.

    No run measures what another one of its day has, and one that is left without says so.
    """
    code = """
say(ran(minutes[0]))
calendar("10.11.5", "11.4.5")
say(ran(minutes[1]))
say(ran(minutes[2], measure_again=True))
say(ran(minutes[0], own="repeated", measure_again=True))
"""
    first, joined, none, again = planned(airflow_env, tmp_path, JOINED + code)
    assert (first, joined) == ("10.11.5", "11.4.5")
    assert none == (
        "skipped: nothing of 2025-02-04 is left to measure: 11.4.5 is the candidate of another "
        "run; 10.11.5 is the candidate of another run"
    )
    assert again == "10.11.5", "a moment that is run anew has what its own run had"


def test_releases_of_one_day_are_measured_in_any_order(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """As a backfill with `--run-backwards` comes to them."""
    code = """
calendar("10.11.5", "11.4.5")
say(ran(minutes[1]), ran(minutes[0]))
"""
    assert planned(airflow_env, tmp_path, JOINED + code) == ["10.11.5 11.4.5"]


def test_a_release_that_was_measured_by_hand_takes_no_other_ones_run(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """The run of its day that has nothing to measure leaves no campaign to go by."""
    code = """
say(ran(LATEST + timedelta(hours=9), "manual", campaign="by_hand"))
say(ran(minutes[0]))
calendar("10.11.5", "11.4.5")
say(ran(minutes[1]))
"""
    by_hand, skipped, joined = planned(airflow_env, tmp_path, JOINED + code)
    assert (by_hand, joined) == ("10.11.5", "11.4.5")
    assert "have been measured with this plan already: by_hand. " in skipped


def test_the_first_release_has_nothing_to_be_compared_with(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Skipped with its reason in a backfill; a person who asks for it is refused."""
    code = """
first = datetime(2017, 11, 28, tzinfo=UTC)
say(plan(run(first)))
try:
    plan(run(first, "manual"))
except Exception as error:
    say(type(error).__name__, error)
say(len(campaigns()))
"""
    skipped, refused, count = planned(airflow_env, tmp_path, code)
    reason = "engines.mariadb.baseline.version: previous series of 10.2.11 on 2017-11-28: there is"
    assert skipped.startswith(f"skipped: {reason}")
    assert refused.startswith("AirflowFailException Baseline version (")
    assert reason.replace(": previous", "): previous") in refused
    assert count == "0"


def test_every_fourth_week_is_an_aa_campaign(airflow_env: dict[str, str], tmp_path: Path) -> None:
    """By the calendar only; the candidate against itself, whatever has been measured."""
    code = """
weekly = fixed_weekly.load(here)
weekly = weekly.with_overrides({  # past nightlies cannot be had
    "engines.tidb.baseline.version": "previous series", "engines.tidb.candidate.version": "newest"})
monday = datetime(2022, 10, 3, 2, tzinfo=UTC)
mondays = [monday + timedelta(weeks=week) for week in range(8)]
found = [resolve(weekly, run(day, "scheduled")) for day in mondays]
aa = [resolved for resolved in found if resolved.spec.sides == "same"]
say(len(aa), found.index(aa[1]) - found.index(aa[0]), aa[0].spec.side("tidb", "baseline").version)
day = datetime.combine(aa[0].on, monday.timetz())
say(resolve(weekly, run(day, "manual")).spec.sides)
"""
    counted, by_hand = planned(airflow_env, tmp_path, code)
    assert counted == "2 4 v6.3.0"
    assert by_hand == "different"


def test_what_was_measured_last_is_the_baseline(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """By a rule, from the campaigns of the store; a run of an earlier day does not see it."""
    code = """
spec = report_types.load(REPORTS / "sysbench_local_releases.yaml")
spec = overrides.override(spec, {"engines.mariadb.baseline.version": "previous measured"})
say(plan(run(datetime(2023, 8, 14, tzinfo=UTC)), own="first"))
finish()
later = resolve(spec, run(LATEST))
say(*versions(later))
say(later.notes[-1])
earlier = resolve(spec, run(datetime(2023, 8, 14, tzinfo=UTC)))
say(earlier.notes[-1])
"""
    planned_, later, why, earlier = planned(airflow_env, tmp_path, code)
    assert planned_ == "12"
    assert later == "10.11.5 11.4.5"
    assert "is 10.11.5, measured by sysbench_local_releases-backfill__first-" in why
    assert earlier.endswith("nothing else was measured before")


def test_a_moment_that_came_up_while_airflow_was_down_is_not_run(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Airflow starts the moment that it has kept, however late; a backfill is meant."""
    code = """
day = timedelta(days=1)
say(plan(run(LATEST, "scheduled", LATEST + 21 * day), own="a"))
say(plan(run(LATEST, "scheduled", LATEST + day), own="b"))
say(plan(run(LATEST, "scheduled", LATEST + 21 * day, cleared=1), own="c"))
say(plan(run(LATEST, "backfill", LATEST + 21 * day), own="d"))
say(plan(run(LATEST, "scheduled", LATEST + 21 * day), own="e", overrides=[
    "schedule.catchup_days=30"]))
"""
    missed, *others = planned(airflow_env, tmp_path, code)
    assert missed == (
        "skipped: 2025-02-04 00:00 was 21 days past when this run started, and "
        "schedule.catchup_days is 4; a backfill runs it anyway"
    )
    assert others == ["12"] * 4


WAIT = """
import asyncio
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
from benchlab_airflow.operators import plan_operator

asked = []
def previous(state):
    asked.append(state)
    return earlier.pop(0)

def execute(run_type, event=None):
    ti = SimpleNamespace(get_previous_dagrun=previous)
    try:
        return task.execute({"dag_run": run(LATEST, run_type), "ti": ti}, event)
    except TaskDeferred as waiting:
        path, arguments = waiting.trigger.serialize()
        return waiting.method_name, path, *arguments.values()

stages.plan = lambda report_file: [report_file]
with DAG("d"):
    task = PlanOperator(task_id="plan", report_file="r.yaml")
"""


def test_runs_by_the_calendar_wait_for_earlier_ones(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """One after the other, by logical date, before it is decided whether to measure."""
    code = """
one, two = (SimpleNamespace(dag_id="d", run_id=name) for name in ("one", "two"))
earlier = [one, two, None]
say(*execute("backfill"))
say(*execute("backfill", {"ended": "one"}))
say(*execute("backfill", {"ended": "two"}))
say(*asked)
earlier = [one]
say(*execute("manual"))
# Campaigns at work: of a run of today, of one that has died, and of the run itself.
PlanOperator._at_work = lambda self: measuring
plan_operator._is_at_work = lambda dag_id, run_id: run_id == "today"
earlier, measuring = [None], ["dead", "today"]
say(*execute("backfill"))
earlier, measuring = [None], ["dead"]
say(*execute("backfill"))
earlier, measuring = [one], ["today", "own"]
say(*execute("backfill"))
"""
    first, second, third, asked, by_hand, *at_work = planned(airflow_env, tmp_path, WAIT + code)
    assert (
        at_work
        == ["execute benchlab_airflow.operators.plan_operator.RunEndedTrigger d today"]
        + ["r.yaml"] * 2
    )
    trigger = "benchlab_airflow.operators.plan_operator.RunEndedTrigger"
    assert [first, second] == [f"execute {trigger} d one", f"execute {trigger} d two"]
    assert third == by_hand == "r.yaml"
    assert asked == "running running running"


def test_a_run_that_has_ended_or_is_deleted_is_waited_for_no_longer(
    airflow_env: dict[str, str], tmp_path: Path
) -> None:
    """Asked until Airflow counts no active run of this id."""
    code = """
plan_operator.POLL_S = 0
counts = [1, 1, 0]
def count(dag_id, run_ids, states):
    say(dag_id, *run_ids, *states)
    return counts.pop(0)
RuntimeTaskInstance.get_dr_count = staticmethod(count)

async def events():
    return [event.payload async for event in RunEndedTrigger("d", "one").run()]
say(asyncio.run(events()), counts)
"""
    *asked, fired = planned(airflow_env, tmp_path, WAIT + code)
    assert asked == ["d one queued running"] * 3
    assert fired == "[{'ended': 'one'}] []"
