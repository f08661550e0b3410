"""Texts about a report type in Airflow's UI: for its DAG's list, page and trigger form."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from benchlab import home, targets
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.errors import SpecError
from benchlab.plan.fields.schedule import OnRelease
from benchlab.plan.plan import make
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.resolved import Request
from benchlab.report.formats.plan_text import description, duration
from benchlab_airflow.page.navigation import plan_page

_WHAT_TO_DO = (
    "**To start it**: *Trigger*, look over the form, *Trigger* again. The log of **verdict** ends "
    "in the answer, the log of **publish** in the links of the report. **To end it early**: mark "
    "the run as failed; **give_back** still runs. `docs/guide` explains fields and rules."
)


def before_the_click(spec: ReportSpec) -> tuple[str, str]:
    """What to know before triggering a run, as lists in Markdown: for the DAG's page, and the form.

    The page says what a run takes that changes no field. Airflow's form cannot follow what is
    filled in, so it leads to the page Plan instead.
    """
    takes, *more = _time_and_price(spec)
    leads = f"What your values take, and what they find: [Plan]({plan_page(spec.report)})"
    rest = (*more, *_schedule(spec))
    page, form = ("\n".join(f"- {said}" for said in (one, *rest)) for one in (takes, leads))
    return page, form


def page(spec: ReportSpec, before_the_click: str) -> str:
    """The top of the DAG's page in Markdown: what it measures, what that takes, how to start it."""
    return "\n\n".join(
        (
            f"# {spec.title}",
            f"It measures {description(spec)}.",
            before_the_click,
            _WHAT_TO_DO,
        )
    )


def _time_and_price(spec: ReportSpec) -> Iterator[str]:
    """What a run with the form's defaults takes, then what else there is to know."""
    try:
        today = datetime.now(UTC).date()
        resolved = Resolver(home.find(), asks=Asks.NOBODY).resolve(Request(spec, today))
        plan = make(resolved, spec.report)
    except SpecError as error:  # its DAG still serves campaigns it began; `plan` refuses others
        yield "How long a run takes is not known."
        yield f"**It cannot be planned**: {error}"
        return
    price = f" and **{plan.dollars:.0f} dollars**" if plan.dollars else ""
    yield f"With the form's defaults, a run takes about **{duration(plan.minutes)}**{price}."
    if resolved.undecided:
        left_open = "; ".join(map(str, resolved.undecided))
        yield f"**It cannot be run yet**, and **plan** refuses it: {left_open}"
    if spec.budget is not None and targets.by_name()[spec.target].can.rents:
        yield (
            f"Above {spec.budget.approve_above:g} dollars it waits for a person's approval in "
            f"**approve**, before anything is rented; above {spec.budget.limit:g} it is refused. "
            "The log of **plan** has the figures of the form that was filled in."
        )


def _schedule(spec: ReportSpec) -> Iterator[str]:
    if spec.schedule is None:
        return
    when = (
        f"on the day of each new release ({', '.join(spec.schedule.types)})"
        if isinstance(spec.schedule, OnRelease)
        else f"by the cron expression `{spec.schedule.cron}` (UTC)"
    )
    rents = ", and rents hosts each time" if targets.by_name()[spec.target].can.rents else ""
    yield (
        "**This DAG has a schedule.** While it is not paused, it also runs by itself "
        f"{when}{rents}. A run that you trigger waits while the DAG is paused. So *Unpause ... on "
        "trigger* starts your run **and arms the schedule**: pause the DAG again when your run has "
        "ended, if you want that run only."
    )
