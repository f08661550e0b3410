"""What diagnosis trials show of each workload, as a report has it.

Example:
    ``read(campaign, store.read_bytes)["oltp_insert"].statements`` is a :class:`Compared`.
"""

from __future__ import annotations

import contextlib
from typing import Any, TypeVar

from pydantic import TypeAdapter

from benchlab.analysis.cause import statements
from benchlab.analysis.cause.causes import Looked
from benchlab.analysis.cause.statements import Compared, Figure, StatementChange
from benchlab.errors import BenchlabError
from benchlab.report.model.series import ReadObject
from benchlab.results import diagnosis
from benchlab.results.records import Campaign

Found = TypeVar("Found")


def read(campaign: Campaign, read_object: ReadObject) -> dict[str, Looked]:
    """What was found, by workload; what is lost or cannot be read is missing."""
    known = diagnosis.found(campaign.environment)
    return {
        workload: Looked(
            statements=_parsed(statements.FORM, files.get(statements.FILE), read_object)
        )
        for workload, files in (known.found if known else {}).items()
    }


def to_json(found: Looked) -> dict[str, Any]:
    """What was found of one workload, for ``report.json``; empty where nothing was."""
    return {"statements": _statements_json(found.statements)} if found.statements else {}


def _parsed(form: TypeAdapter[Found], name: str | None, read_object: ReadObject) -> Found | None:
    if name is not None:
        with contextlib.suppress(BenchlabError, ValueError):
            return form.validate_json(read_object(name))
    return None


def _statements_json(found: Compared) -> dict[str, Any]:
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
        **one.sides,
        "change_pct": one.pct,
        "stands_out": one.stands_out,
    }
