"""The DAG of a campaign.

Its tasks are plan, approve, register, provision, prepare, trials, repeat, diagnose, compare,
validate, publish, verdict, give back, long view. If the workload has consistency conditions, as
TPC-C has, they are checked before the snapshot and after the last trial.

A run by the calendar waits in `plan` until earlier runs of its DAG have ended. If there is nothing
to measure, the whole run is skipped, and green.

`approve` exists only if the target rents its hosts; nothing before it costs money. `register` takes
the machine and `give_back`, its teardown, releases it: it ends every process of the campaign and
gives back its hosts, whatever failed in between, and even if somebody marks the run as failed.
`verdict` is a leaf beside it and decides the run's state: red if something could not be measured,
green whatever was found.

`long_view` comes after `verdict`: it extends the long view by the campaign and reports change
points and drift. The run's state does not depend on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, BaseOperatorLink, TaskGroup, TriggerRule, XComArg, chain, task

from benchlab import home, targets, workloads
from benchlab.campaign import state
from benchlab.plan.report_type import MAX_REPEATS, ReportSpec
from benchlab.plan.steps import Preparation
from benchlab.report.formats.plan_text import description
from benchlab_airflow.calendar import timetables
from benchlab_airflow.dags import queues, stages, trigger_form
from benchlab_airflow.dags.retrying import RETRIES, Again
from benchlab_airflow.messages import notify
from benchlab_airflow.operators.approval import CampaignApproval
from benchlab_airflow.operators.plan_operator import PlanOperator
from benchlab_airflow.operators.trial_operator import TrialOperator
from benchlab_airflow.page.navigation import campaign_tab

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey


# Limits for tasks that hang; the commands inside have tighter ones.
STAGE_LIMIT = timedelta(hours=26)
TRIAL_LIMIT = timedelta(hours=26)
# A task of a trial may fail once per try of the trial, of replacing lost hosts, and of deploying
# both sides again. The campaign gives up before Airflow does, so that what was measured is
# published.
TRIAL_RETRIES = (2 + state.MOST_RECOVERIES) * state.TRIES
LOCAL_RETRIES = 2 * (state.TRIES - 1)
# Usually seconds; but after gates are edited, years of campaigns are computed again.
LONG_VIEW_LIMIT = timedelta(hours=2)
WAIT_FOR_MACHINE = timedelta(hours=12)

# The logs of these tasks then end in what people look for, not in one long line of Python.
QUIET: Mapping[str, Any] = {"show_return_value_in_logs": False}

# A repetition with nothing to do is skipped; the tasks after it are not.
EVEN_IF_SKIPPED = TriggerRule.NONE_FAILED


def build(
    spec: ReportSpec,
    report_file: Path,
    doc_md: str,
    before_the_click: str,
    *,
    check_topology: bool = True,
) -> DAG:
    """Build the DAG of one report type.

    Example:
        ``build(spec, Path("configs/reports/sysbench_local.yaml"), "", "").dag_id``

    Args:
        spec: the report type.
        report_file: its file, which the task `plan` reads again.
        doc_md: the DAG's page in the UI, in Markdown.
        before_the_click: the text above the fields of its form, in Markdown.
        check_topology: whether its topology has to be readable.

    Raises:
        SpecError: it cannot be run: its topology is missing, or the calendar has no release for its
            schedule.
    """
    if check_topology:
        targets.load_topology(home.find(), spec)
    target = targets.by_name()[spec.target]
    queue, release = queues.queues_of(spec)
    has_conditions = workloads.workload_of(spec).CONSISTENCY is not None
    places = stages.PLACES[: trigger_form.most_sides(spec)]
    # As many as a form may ask for; those beyond the campaign's own limit have nothing to do.
    repeats = range(1, MAX_REPEATS + 1)
    check_again = task(stages.check_consistency, trigger_rule=EVEN_IF_SKIPPED)
    diagnosed = task(stages.diagnose, trigger_rule=EVEN_IF_SKIPPED)
    form = trigger_form.form(spec, before_the_click)
    with _dag(spec, doc_md, queue) as dag:
        planned = PlanOperator(
            task_id="plan",
            report_file=str(report_file),
            **notify.of_failure(),
        )
        approval = [CampaignApproval(task_id="approve", retries=0)] if target.can.rents else []
        with _shown_as("prepare", "Prepare both sides" if len(places) > 1 else "Prepare"):
            registered = _registered()
            prepared = [
                registered,
                task(stages.provision)(),
                *_prepare(
                    places, together=target.can.loads_together, has_conditions=has_conditions
                ),
            ]
        with _shown_as("measure", "Measure"):
            defers = target.can.deferrable
            measured = [
                _trials("trials", planned.output, attempt=1, deferrable=defers),
                *(_repeat(number, deferrable=defers) for number in repeats),
                *([_confirm(repeats, deferrable=defers)] if spec.design == "watch" else []),
                *([check_again()] if has_conditions else []),
                # Last: its trials change the data, and decide nothing.
                *([diagnosed()] if len(places) > 1 else []),
            ]
        with _shown_as("report", "Report"):
            reported = [
                linked(task(stages.compare, trigger_rule=EVEN_IF_SKIPPED, **QUIET)()),
                task(stages.validate)(),
                linked(task(stages.publish, **QUIET)()),
            ]
        judged = _judged(planned)
        chain(
            planned,
            *approval,
            *prepared,
            *measured,
            *reported,
            # Side by side, as only leaves decide the run's state: with verdict before give_back, a
            # failed verdict would still give a green run.
            [_given_back(spec.target, registered, release), judged],
        )
        judged >> _long_view(planned)
    # Last: a task that is created in a DAG with params copies them all, and Airflow validates each
    # copy whenever it serializes the task, which takes longer than everything else here.
    dag.params.update(form)
    return dag


def _dag(spec: ReportSpec, doc_md: str, queue: str) -> DAG:
    on_fleet = targets.by_name()[spec.target].can.topology is not None
    return DAG(
        dag_id=spec.report,
        # Airflow's search covers only this name.
        dag_display_name=f"{spec.report}: {spec.title}",
        description=description(spec),
        doc_md=doc_md,
        schedule=timetables.timetable_of(home.find(), spec),
        # The timetable decides which past moments are run; Airflow would run all of them.
        catchup=False,
        # Starting Airflow must not rent hosts.
        is_paused_upon_creation=True if spec.schedule else None,
        max_active_runs=1,
        tags=["benchlab", spec.target, *(["scheduled"] if spec.schedule else [])],
        default_args={
            "owner": "benchlab",
            "queue": queue,
            "execution_timeout": STAGE_LIMIT,
            **Again(_first_delay(on_fleet=on_fleet)).as_arguments(),
        },
    )


def _first_delay(*, on_fleet: bool) -> timedelta:
    # A link to a host that is down for half a minute costs a try, not the campaign.
    return timedelta(seconds=30 if on_fleet else 5)


def _shown_as(group_id: str, title: str) -> TaskGroup:
    """A group that can be collapsed in the graph; its tasks keep their ids."""
    return TaskGroup(group_id, group_display_name=title, prefix_group_id=False)


def _registered() -> XComArg:
    sensor = task.sensor(
        stages.register,
        mode="reschedule",
        poke_interval=30,
        timeout=WAIT_FOR_MACHINE.total_seconds(),
    )
    return sensor().as_setup()


def _judged(planned: PlanOperator) -> XComArg:
    # A teardown of the plan: when a run is marked failed, even while it waits for an approval,
    # everything else is skipped, and a skipped leaf would make the run green.
    verdict = linked(task(stages.verdict, **QUIET, **notify.of_verdict())())
    return verdict.as_teardown(setups=planned, on_failure_fail_dagrun=True)


def _long_view(planned: PlanOperator) -> XComArg:
    # A teardown that cannot fail the run: Airflow ignores it when it looks for the leaves that
    # decide the run's state, so that `verdict` decides as if nothing came after it.
    task_ = task(notify.long_view, execution_timeout=LONG_VIEW_LIMIT)
    return task_().as_teardown(setups=planned)


def _given_back(target: str, registered: XComArg, queue: str) -> XComArg:
    first = {**queues.FIRST, "queue": queue}
    # Whatever fails: hosts cost money until they are given back.
    again = Again(_first_delay(on_fleet=False), comes_back=(BaseException,)).as_arguments()
    given_back = task(stages.give_back, **again, **first, **notify.of_failure())(target)
    return given_back.as_teardown(setups=registered, on_failure_fail_dagrun=True)


def _prepare(places: Sequence[stages.Place], *, together: bool, has_conditions: bool) -> list[Any]:
    """The tasks and groups that prepare the sides, in order.

    Which side is the first is drawn in the campaign's plan.

    Args:
        together: whether one task loads all sides, once all are deployed. The tasks that deploy are
            then outside the groups: Airflow refuses groups that depend on each other.
    """
    # Checked before the snapshot: an inconsistent dataset is not worth a snapshot.
    check: list[Preparation] = ["check"] if has_conditions else []
    after: list[Preparation] = ["analyze", *check, "back up"]
    if not together:
        return [_group(place, ["deploy", "load", *after]) for place in places]
    deployed = [_on_side(f"deploy_{place}", "deploy", place) for place in places]
    return [*deployed, task(stages.load)(), *(_group(place, after) for place in places)]


def _on_side(task_id: str, stage: Preparation, place: stages.Place) -> XComArg:
    title = f"{stage.capitalize()}, {place} side"
    return task(stages.on_side, task_id=task_id, task_display_name=title)(stage, place)


def _group(place: stages.Place, on_side: list[Preparation]) -> TaskGroup:
    with TaskGroup(f"prepare_{place}", group_display_name=f"{place.capitalize()} side") as group:
        chain(*(_on_side(stage.replace(" ", "_"), stage, place) for stage in on_side))
    return group


def _trials(task_id: str, trials: XComArg, attempt: int, *, deferrable: bool) -> Any:
    """A task mapped over the planned trials, strictly one at a time.

    Airflow decides when a trial runs, and the campaign which one, so that the plan's order holds:
    Airflow runs a retried task after its successors, and `airflow dags test` runs mapped tasks in
    arbitrary order.
    """
    # The campaign itself limits a trial's tries; Airflow's limit must not be reached first.
    others = TRIAL_RETRIES if deferrable else LOCAL_RETRIES
    again = Again(_first_delay(on_fleet=deferrable), max(RETRIES, others), others)
    return TrialOperator.partial(
        task_id=task_id,
        attempt=attempt,
        deferrable=deferrable,
        max_active_tis_per_dagrun=1,
        **again.as_arguments(),
        execution_timeout=TRIAL_LIMIT,
        # Until it has ended, the title of the trial that the plan has in this place.
        map_index_template="{{ trial_title | default(task.planned) }}",
    ).expand(planned=trials)


def _repeat(number: int, *, deferrable: bool) -> TaskGroup:
    """The group that measures blocks with an invalid trial again; usually there are none."""
    with TaskGroup(f"repeat_{number}", group_display_name=f"Measure again ({number})") as group:
        invalid = task(stages.repeats, task_id="find_invalid", trigger_rule=EVEN_IF_SKIPPED)(
            number + 1
        )
        _trials("trials", invalid, attempt=number + 1, deferrable=deferrable)
    return group


def _confirm(repeats: Sequence[int], *, deferrable: bool) -> TaskGroup:
    """The group that measures again what the screening flagged; in most weeks there is nothing."""
    with TaskGroup("confirm", group_display_name="Confirm what is flagged") as group:
        screened = task(stages.screen, task_id="screen", trigger_rule=EVEN_IF_SKIPPED)()
        confirming = _trials("trials", screened, attempt=1, deferrable=deferrable)
        chain(confirming, *(_repeat(number, deferrable=deferrable) for number in repeats))
    return group


class CampaignLink(BaseOperatorLink):
    """A button on tasks that leads to the run's tab with its campaign.

    Airflow asks for the link where the task ran, and stores it as an XCom.
    """

    name = "Campaign"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """See :func:`campaign_tab`."""
        return campaign_tab(ti_key.dag_id, ti_key.run_id)


def linked(made: XComArg) -> XComArg:
    """Add the button :class:`CampaignLink` to a task, and return the task."""
    made.operator.operator_extra_links = (CampaignLink(),)
    return made
