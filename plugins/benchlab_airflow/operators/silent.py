"""Which report types have stopped being run by their schedule, without anybody having said so."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from benchlab.campaign import report_types
from benchlab.errors import BenchlabError
from benchlab.home import Home
from benchlab.plan.fields import schedule

# A report type that did not run in this time has been given up; what has just begun may be late.
REMEMBERED, LATE = timedelta(days=120), timedelta(hours=1)
_PERIODS = 2
_BEGUN = ["running", "success", "failed"]


Count = Callable[..., int]
"""How many runs of a DAG there are, as ``RuntimeTaskInstance.get_dr_count``."""


def silent(here: Home, count: Count, now: datetime) -> list[str]:
    """A sentence for each report type that ran by its schedule, and missed its last two moments.

    Also for each whose file cannot be read, because it has no DAG that could run.

    Example:
        ``silent(home, ti.get_dr_count, datetime.now(UTC))``

    Args:
        now: with a time zone.
    """
    found = []
    for file in report_types.report_files(here):
        try:
            spec = report_types.load(file)
            releases = report_types.releases_of(here, spec)
        except BenchlabError as error:
            found.append(f"{file.stem}: it cannot be read, so that it is not run: {error}")
            continue
        if spec.schedule is None:
            continue
        known = [*schedule.moments(spec.schedule, releases, now - REMEMBERED, now - LATE)]
        before, last = known[:-_PERIODS], known[-_PERIODS:]
        ran = [
            bool(moments) and count(dag_id=spec.report, logical_dates=moments, states=_BEGUN) > 0
            for moments in (before, last)
        ]
        if ran == [True, False]:
            found.append(
                f"{spec.report}: it ran by its schedule, and has not for the last {_PERIODS} "
                f"moments, {' and '.join(map(_said, last))}: see whether its DAG is paused, "
                "whether a run waits for another one or for a worker, and whether the scheduler "
                "runs; to end it for good, delete `schedule` from its file"
            )
    return found


def _said(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
