"""Statements that diagnosis trials looked at, as a report has them.

Example:
    ``read(campaign, store.read_bytes)["oltp_insert"].changes[0].text``
"""

from __future__ import annotations

import logging
from typing import Any

from benchlab.analysis.cause.statements import FILE, FORM, Compared, Figure, StatementChange
from benchlab.errors import BenchlabError
from benchlab.report.model.series import ReadObject
from benchlab.results import diagnosis
from benchlab.results.records import Campaign

log = logging.getLogger(__name__)


def read(campaign: Campaign, read_object: ReadObject) -> dict[str, Compared]:
    """The statements of every workload that was diagnosed; without those that are lost."""
    known, found = diagnosis.found(campaign.environment), dict[str, Compared]()
    for workload, files in (known.found if known else {}).items():
        if (name := files.get(FILE)) is None:
            continue
        try:
            found[workload] = FORM.validate_json(read_object(name))
        except (BenchlabError, ValueError) as error:
            log.warning("statements of %s are not shown: %s", workload, error)
    return found


def to_json(found: Compared) -> dict[str, Any]:
    """Those of one workload, for ``report.json``."""
    return {
        "trials": found.trials,
        "seconds_per_transaction": dict(found.seconds),
        "has_plans": found.has_plans,
        "untold_executions": dict(found.untold),
        "measured_otherwise": found.otherwise,
        "changes": [_change_json(one) for one in found.changes],
    }


def _change_json(one: StatementChange) -> dict[str, Any]:
    plan = one.plan
    return {
        "statement": one.text,
        "seconds_per_transaction": dict(one.seconds),
        "figures": [_figure_json(figure) for figure in one.figures],
        "plan": None
        if plan is None
        else {
            "share": plan.share,
            "gone": [*plan.gone],
            "new": [*plan.new],
            "lines": [*plan.lines],
        },
        "replayers": dict(one.replayers),
    }


def _figure_json(one: Figure) -> dict[str, Any]:
    return {
        "name": one.name,
        **{str(side): value for side, value in one.sides.items()},
        "change_pct": one.pct,
        "stands_out": one.stands_out,
    }
