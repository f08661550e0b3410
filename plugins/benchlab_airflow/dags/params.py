"""A filled-in trigger form becomes a report type's overrides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchlab import home
from benchlab.campaign import overrides as overrides_module
from benchlab.campaign import report_types
from benchlab.plan.report_type import SIDES, ReportSpec
from benchlab_airflow.dags.trigger_form import ANY_CLIENT, MEASURE_AGAIN, OWN_PLAN, form

_NESTED = {
    **{name: f"dataset.{name}" for name in ("tables", "table_size", "warehouses")},
    "client": "client.program",
    MEASURE_AGAIN: "schedule.measure_again",
}
# Fields of the form about the run, not about the plan.
_NO_OVERRIDE = ("campaign", "overrides", "published")


def chosen(report_type: ReportSpec, params: Mapping[str, Any]) -> ReportSpec:
    """The plan of a filled-in form: the report type's or a published one, with what was changed.

    Raises:
        SpecError: a bad value, or one that does not go with the others.
    """
    plan = report_type
    name = params.get("published") or OWN_PLAN
    if name != OWN_PLAN:
        plan = report_types.load(report_types.find_report(home.find(), name))
    return overrides_module.override(plan, overrides(report_type, params))


def overrides(spec: ReportSpec, params: Mapping[str, Any]) -> dict[str, Any]:
    """What a filled-in form changes: fields left at the report type's value change nothing.

    A field that the form does not have, as the REST API may send it, is one of the report type's.

    Raises:
        SpecError: see :func:`_assignments`.
    """
    fields = form(spec)
    found = {key: value for key, value in params.items() if key not in fields}
    for key, param in fields.items():
        value = params.get(key, param.value)
        if key == "threads":
            value = _numbers(value)
        if key in _NO_OVERRIDE or value == param.value:
            continue
        if key in SIDES:
            if value and value.strip():
                found[key] = value.strip()
        elif key == "aa":
            found["sides"] = "same" if value else "different"
        elif key == "client":
            found[_NESTED[key]] = None if value == ANY_CLIENT else value
        else:
            found[_NESTED.get(key, key)] = value
    return found | _assignments(params.get("overrides") or [])


def _numbers(lines: list[int | str]) -> list[int]:
    """The numbers of a list that was typed, without the empty lines, or sent as numbers."""
    return [int(line) for line in lines if str(line).strip()]


def _assignments(fields: list[str] | dict[str, Any]) -> dict[str, Any]:
    """Field by name, typed one a line as after `--set`, or sent as an object.

    Raises:
        SpecError: a field is given twice, or its value is not YAML.
    """
    if isinstance(fields, dict):
        return fields
    return overrides_module.parse_assignments([line for line in fields if line.strip()])
