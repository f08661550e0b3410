"""The trigger form: builds it from a report type, and reads one that was filled in.

>>> form(report_type)["rounds"].value
3
>>> chosen(report_type, {"rounds": 5, "candidate": "v8.5.1"}).rounds
5
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from airflow.sdk import Param
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from benchlab import home, language, targets, workloads
from benchlab.campaign import overrides as overrides_module
from benchlab.campaign import report_types
from benchlab.errors import SpecError
from benchlab.home import ID
from benchlab.language.names import with_title
from benchlab.plan import versions
from benchlab.plan.fields import dataset
from benchlab.plan.fields.budget import Budget
from benchlab.plan.report_type import SIDES, ReportSpec, Side

OWN_PLAN = "none"
ANY_CLIENT = "auto"

# Lists for which the form shows a text area, one item per line: it does so if the items have no
# `type` of their own, and otherwise shows a JSON editor. Typed items arrive as strings; the REST
# API may also send numbers and an object.
_THREADS = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": 10_000},
        {"type": "string", "pattern": "^([1-9][0-9]{0,4})?$"},
    ]
}
_RATE = r"^ *([1-9][0-9]{0,6}|[1-9][0-9]? ?%)? *$"
_MOST_ITEMS = 200


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a list that Airflow validates item by item only if it is not too long.

    Validation delays the request. `uniqueItems` would compare all pairs of items, which can take
    minutes, so :func:`_fault` checks that instead.
    """
    few = {"maxItems": _MOST_ITEMS}
    return {"type": "array", **few, "if": few, "then": {"items": items}}


_ASSIGNMENTS = [
    _list({"type": "string", "pattern": "^([a-z][a-z0-9_.]*=.*)?$"}),
    {"type": "object", "maxProperties": _MOST_ITEMS},
    {"type": "null"},
]
# At most this many faults are named.
_MOST_FAULTS = 20
# Airflow's form silently changes a number beyond `minimum` or `maximum`. Under `allOf` it does not
# see these limits, so that such a number is refused instead.
_LIMITS = ("minimum", "exclusiveMinimum", "maximum", "multipleOf")
# How many series to suggest the newest release of.
_SUGGESTED_SERIES = 15

# Fields whose place in a report type has another name, and fields that are not part of one.
_NESTED = {
    **{name: f"dataset.{name}" for kind in dataset.kinds() for name in kind.model_fields},
    **{f"{side}_connection": f"connections.{side}" for side in SIDES},
    "client": "client.program",
    "measure_again": "schedule.measure_again",
}
_NO_OVERRIDE = ("campaign", "overrides", "published")

_IN_THE_FILE = "cannot be changed in the form; change it in the report type's file"

# Further fields that may be sent. All others are reserved to the authors of the report type's file,
# as they decide where it runs and who sees it, which must not depend on who starts a run.
_OTHERS = re.compile(
    r"(title|sides|engine|target|repeat_limit|seed|placement|interleave|workloads|threads|rounds"
    r"|deployments|seconds|warmup_seconds|restore|threshold_pct|slowdown_pct|languages|baseline|candidate"
    r"|(dataset|ports|client|budget|threads_by_workload|connections)(\..*)?|schedule\.(measure_again|catchup_days)"
    r"|engines\.[a-z][a-z0-9_]*\.(parameters|components|by_version|by_workload"
    r"|(baseline|candidate)\.(version|parameters|components))(\..*)?)"
)

# Fields of ``client`` that may be changed; the others decide which program runs.
_OF_CLIENT = ("program", "version", "report_interval", "auto_inc", "rand_type", "options")
# Options have to be plain words, because some become part of SQL (`mysql-storage-engine`) or name
# files (`mysql-ssl-ca`).
_WORD = re.compile(r"[A-Za-z0-9_.,:+-]*")
_NO_WORD = f"other values than numbers, true, false and a plain word {_IN_THE_FILE[:-1]}"


def form(spec: ReportSpec, before: str = "") -> dict[str, Param]:
    """Build the trigger form of a report type; its defaults are the report type's own values.

    The fields that most campaigns change come first; the rest is in collapsed sections. Fields that
    leave no choice are omitted.

    Args:
        before: Markdown for the top of the form. It becomes part of the first field's description,
            as Airflow has no other place for it.
    """
    compares = spec.sides != "single"
    fields: dict[str, Param | None] = {
        "published": _published(spec),
        **_connections(spec),
        **{side: _version(spec, side) for side in spec.measured_sides},
        "engine": _engine(spec),
        "workloads": _several(
            spec.as_written,
            _workloads(spec),
            "Workloads",
            "Each gets a verdict of its own." if compares else "Each gets a table of its own.",
        ),
        "threads": Param(
            list(spec.threads),
            title="Client threads",
            description="Whole numbers, one a line. Every workload is measured with each of them.",
            minItems=1,
            **_list(_THREADS),
        ),
        "rate": Param(
            None if spec.rate is None else str(spec.rate),
            title="Equal load",
            description="Measures every workload also at this rate, the same for both versions: "
            "transactions a second, or a share of the slower version's throughput, such as 60 %. "
            "Empty: not.",
            type=["null", "string"],
            pattern=_RATE,
        )
        if workloads.workload_of(spec).TAKES_RATE
        else None,
        "rounds": _own(
            spec,
            "rounds",
            "Rounds",
            "How often everything is measured on both sides. More find smaller differences; one "
            "alone is always inconclusive."
            if compares
            else "How often everything is measured.",
        ),
        "deployments": _own(
            spec,
            "deployments",
            "Deployments",
            "How often each side is deployed and loaded; the rounds are spread over them. Two "
            "deployments of one version differ as well.",
        )
        if compares and targets.by_name()[spec.target].can.deploys
        else None,
        "seconds": _own(
            spec, "seconds", "Seconds per trial", "What is measured; the warm-up comes before."
        ),
        **_folded("Dataset", _dataset(spec)),
        **_folded("Fleet", _fleet(spec)),
        **_folded("Method", _method(spec)),
        **_folded("Campaign and other fields", _campaign(spec)),
    }
    found = {name: param for name, param in fields.items() if param is not None}
    first = next(iter(found.values())).schema
    first["description_md"] = "\n\n".join(filter(None, (before, first["description_md"])))
    return found


def chosen(
    report_type: ReportSpec, params: Mapping[str, Any], *, own_command: bool = False
) -> ReportSpec:
    """Read a filled-in form: the report type or a published plan, with the changed fields.

    Everything is checked again, as API, backfill or command may send anything.

    Args:
        own_command: whether the form comes from a command line on this machine. Such a user could
            edit the report type's file as well, so every field can be changed.

    Raises:
        SpecError: values are invalid or do not fit each other; a field cannot be changed here; the
            budget is higher than in the file of the report type or plan; or another DAG would have
            to run it. Names at most twenty faults, with their fields.
    """
    try:
        return _chosen(report_type, params, own_command=own_command)
    except SpecError as error:
        rest = len(error.args) - _MOST_FAULTS
        more = [f"and {rest:,} more faults"] if rest > 0 else []
        raise SpecError(*error.args[:_MOST_FAULTS], *more) from error
    except RecursionError as error:
        raise SpecError("overrides: nested too deeply to be read") from error


def _chosen(report_type: ReportSpec, params: Mapping[str, Any], *, own_command: bool) -> ReportSpec:
    if faults := [*_faults(report_type, params, own_command=own_command)]:
        raise SpecError(*faults)
    changes = overrides(report_type, params)
    name = params.get("published") or OWN_PLAN
    plan = report_type
    if name != OWN_PLAN:
        found = report_types.published_plans(home.find(), report_type.report)
        plan = next(offered for path, offered in found.items() if path.stem == name)
    made = overrides_module.override(plan, changes)
    if not own_command:
        _refuse_raised(plan.budget, made.budget)
        _refuse_reaching_elsewhere(report_type, plan, made)
    _refuse_another_dag(report_type, made)
    return made


def titled(report_file: Path, said: str) -> str:
    """Faults, a line each, with the title that the form has for the field before its key.

    Example:
        ``titled(report_file, "deployments: 9 of each side ...")`` begins with ``Deployments (``.
    """
    try:
        fields = form(report_types.load(report_file))
    except SpecError:  # the file is at fault
        return said
    names = {key: name for name in fields for key in (name, _NESTED.get(name, name))}
    titles = {key: fields[name].schema["title"] for key, name in names.items()}
    return "\n".join(with_title(line, titles) for line in said.splitlines())


def most_sides(report_type: ReportSpec) -> int:
    """The most versions that a run of the DAG may measure, including runs of published plans."""
    own = len(report_type.measured_sides)
    if own == len(SIDES):
        return own
    plans = report_types.published_plans(home.find(), report_type.report).values()
    return max([own, *(len(plan.measured_sides) for plan in plans)])


def allowed(schema: Mapping[str, Any]) -> str:
    """The values that a field's schema allows, for people.

    >>> allowed({"type": "integer", "minimum": 1, "maximum": 1000})
    'a whole number from 1 to 1,000'
    """
    if "allowed" in schema:
        return str(schema["allowed"])
    if "enum" in schema:
        return ", ".join("empty" if value is None else f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "boolean":
        return "`true`, `false`"
    if "anyOf" in schema:
        return allowed(schema["anyOf"][0])
    if schema.get("type") == "array":
        items = schema["then"]["items"]
        return allowed(items) if "enum" in items else f"a list; each {allowed(items)}"
    limits = _limits(schema)
    low = limits.get("minimum", limits.get("exclusiveMinimum"))
    if low is not None:
        number = "a whole number" if schema["type"] == "integer" else "a number"
        above = "above" if "exclusiveMinimum" in limits else "from"
        return f"{number} {above} {low:,} to {limits['maximum']:,}"
    return "text" if "type" in schema else "any"


def _limits(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return next(iter(schema.get("allOf", ())), schema)


def _faults(spec: ReportSpec, params: Mapping[str, Any], *, own_command: bool) -> Iterator[str]:
    """The faults of a form, one per field, each with the field's title."""
    offered = form(spec)
    right = dict(params)
    for name, param in offered.items():
        if name in params and (fault := _fault(param.schema, params[name])):
            yield f"{param.schema['title']} ({name}): {fault}"
            del right[name]
    for name in ("published", "campaign", "topology", "snapshots"):
        if params.get(name) and name not in offered:
            yield f"{name}: the form of {spec.report} has no such field"
    try:
        changes = overrides(spec, right)
    except SpecError as error:
        yield f"{offered['overrides'].schema['title']} (overrides): {error}"
        return
    known = {_NESTED.get(name, name) for name in offered if name not in _NO_OVERRIDE}
    for name in () if own_command else changes:
        if name not in known and not _OTHERS.fullmatch(name):
            yield f"{name}: unknown key, or one that {_IN_THE_FILE}"
    for side, said in overrides_module.version_faults(spec, changes).items():
        yield f"{offered[side].schema['title']} ({side}): {str(said).removeprefix(f'{side}: ')}"


def _fault(schema: Mapping[str, Any], value: Any) -> str | None:
    """Why a field does not accept a value, in the form's own words; None if it does."""
    is_list = schema.get("type") == "array" and isinstance(value, list)
    if is_list and not any(str(item).strip() for item in value):
        return "nothing is chosen; at least one is needed"
    if isinstance(value, list | dict) and len(value) > _MOST_ITEMS:
        return f"has {len(value):,} entries; at most {_MOST_ITEMS} are taken"
    if Draft202012Validator(schema).is_valid(value):
        if is_list and len(set(map(repr, value))) < len(value):
            return f"{value}: has an entry twice"
        return None
    wrong, each = [value], schema
    if is_list:
        each = schema["then"]["items"]
        takes = Draft202012Validator(each).is_valid
        wrong = [item for item in value if not takes(item)]
    shown = ["nothing" if item is None else repr(item)[:80] for item in wrong[:_MOST_FAULTS]]
    more = f" and {len(wrong) - _MOST_FAULTS:,} more" if wrong[_MOST_FAULTS:] else ""
    return f"found {', '.join(shown)}{more}; allowed: {allowed(each)}"


def _refuse_another_dag(own: ReportSpec, asked: ReportSpec) -> None:
    if asked.target != own.target:
        raise SpecError(
            f"target: the DAG of {own.report} releases what the target {own.target} uses; for "
            f"{asked.target} use another report type"
        )
    if len(asked.measured_sides) > most_sides(own):
        raise SpecError(
            f"sides: the DAG of {own.report} prepares one version; for two use another report type"
        )
    if asked.design == "watch" != own.design:
        raise SpecError(
            f"design: the DAG of {own.report} has no tasks that confirm what is flagged; for watch "
            "use another report type"
        )
    if workloads.workload_of(asked) is not workloads.workload_of(own):
        raise SpecError(
            f"workloads: the DAG of {own.report} has the tasks of {', '.join(own.workloads)}; "
            f"for {', '.join(asked.workloads)} use another report type"
        )


def _refuse_raised(own: Budget | None, asked: Budget | None) -> None:
    if own is None:
        return
    for name in ("limit", "approve_above"):
        limit, wanted = getattr(own, name), getattr(asked, name, math.inf)
        if wanted > limit:
            raise SpecError(
                f"budget.{name}: {wanted:g} dollars is more than the {limit:g} in the report "
                "type's file; a form can only lower a budget, so raise it in the file"
            )


def _refuse_reaching_elsewhere(own: ReportSpec, plan: ReportSpec, asked: ReportSpec) -> None:
    """Refuse another program, file, account or dataset: only the report type's file may name them.

    This applies whether it was sent by its dotted name or inside an object.
    """
    for name in type(asked.client).model_fields:
        if name not in _OF_CLIENT and getattr(asked.client, name) != getattr(plan.client, name):
            raise SpecError(f"client.{name}: {_IN_THE_FILE}")
    for name, value in asked.client.options.items():
        if plan.client.options.get(name) != value and not _WORD.fullmatch(str(value)):
            raise SpecError(f"client.options.{name}: {value}: {_NO_WORD}")
    if asked.snapshots not in (own.snapshots, plan.snapshots, None):
        raise SpecError(f"snapshots: {_IN_THE_FILE}")
    offered = dict.fromkeys((*own.choosable_connections, *plan.choosable_connections))
    for side, name in asked.connections.items():
        if name not in offered:
            raise SpecError(
                f"connections.{side}: {name}: the report type's file offers {', '.join(offered)}; "
                "add it there to `offered_connections`"
            )


def overrides(spec: ReportSpec, params: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of the report type that a form changes; unchanged ones are left out.

    The REST API may send fields that the form does not have. *Other fields* are typed one per line,
    as after `--set`, or sent as an object.

    Raises:
        SpecError: one of the *Other fields* is given twice, or its value is not YAML.

    >>> overrides(report_type, {"rounds": 5, "overrides": ["ports.entry=23390"]})
    {'rounds': 5, 'ports.entry': 23390}
    """
    fields = form(spec)
    found = {
        key: value for key, value in params.items() if key not in fields and key not in _NO_OVERRIDE
    }
    for key, param in fields.items():
        value = params.get(key, param.value)
        if key == "threads":  # typed, with empty lines, or sent as numbers
            value = [int(line) for line in value if str(line).strip()]
        if key in _NO_OVERRIDE or value == param.value:
            continue
        if key in SIDES:
            if value and value.strip():
                found[key] = value.strip()
        elif key == "rate":
            typed = (value or "").strip()
            found[key] = int(typed) if typed.isdecimal() else typed or None
        elif key == "aa":
            found["sides"] = "same" if value else "different"
        elif key == "client":
            found[_NESTED[key]] = None if value == ANY_CLIENT else value
        else:
            found[_NESTED.get(key, key)] = value
    others = params.get("overrides") or {}
    if isinstance(others, list):
        others = overrides_module.parse_assignments([line for line in others if line.strip()])
    return found | others


def _folded(section: str, fields: Mapping[str, Param | None]) -> Mapping[str, Param | None]:
    """Put fields into a section, which is collapsed at first."""
    for param in filter(None, fields.values()):
        param.schema["section"] = section
    return fields


def _own(
    model: BaseModel, name: str, title: str, description: str | None = None, **schema: Any
) -> Param:
    """A form field for a field of a model, with the model's limits."""
    known = _properties(type(model))[name]
    limits = {key: known[key] for key in _LIMITS if key in known}
    kinds = {key: known[key] for key in ("type", "enum") if key in known}
    within = {"allOf": [limits]} if limits else {}
    return Param(
        getattr(model, name), title=title, description=description, **kinds, **within, **schema
    )


@cache
def _properties(model: type[BaseModel]) -> Any:
    return model.model_json_schema()["properties"]


def _choice(
    value: str | None, shown: Mapping[str, str], title: str, description: str | None
) -> Param:
    """A field for one of the keys of ``shown``, whose values are what the form shows."""
    return Param(
        value,
        title=title,
        description=description,
        type="string",
        enum=list(shown),
        values_display=dict(shown),
    )


def _several(value: Sequence[str], known: Sequence[str], title: str, description: str) -> Param:
    """A field for one or more of the known names."""
    return Param(
        list(value),
        title=title,
        description=description,
        examples=list(known),
        minItems=1,
        **_list({"type": "string", "enum": list(known)}),
    )


def _workloads(spec: ReportSpec) -> list[str]:
    """The workloads with the same client as the report type's: a campaign has only one."""
    known = workloads.by_name()
    return [name for name, client in known.items() if client is known[spec.workloads[0]]]


def _version(spec: ReportSpec, side: Side) -> Param:
    """The field for a side's version; its default is empty if the engine depends on the machine."""
    sides = {name: getattr(spec.engines[name], side) for name in spec.deployable_engines}
    own = ", ".join(f"{found.label} ({name})" for name, found in sides.items() if found)
    value = next(iter(sides.values())) if len(sides) == 1 else None
    return Param(
        value and value.version,
        title=f"{side.capitalize()} version" if spec.sides != "single" else "Version",
        description_md=(
            "A version, or a version rule, which names the one of the run's day. Empty: as in the "
            f"report type, {own}. Type to see suggestions."
        ),
        type=["null", "string"],
        examples=_suggested(spec, side),
    )


def _connections(spec: ReportSpec) -> dict[str, Param | None]:
    """The fields for Connections to existing servers; empty if the target deploys its own."""
    offered = {name: name for name in spec.choosable_connections}
    fields: dict[str, Param | None] = {}
    for side, name in spec.connections.items():
        title = f"{side.capitalize()} connection" if spec.sides != "single" else "Connection"
        fields[f"{side}_connection"] = field = _choice(name, offered, title, None)
        field.schema["description_md"] = (
            "The Connection of type MySQL by which its server is reached: one that the report "
            "type's file names, also below `offered_connections`."
        )
    return fields


def _suggested(spec: ReportSpec, side: Side) -> list[str]:
    """Versions and version rules for the form's drop-down; other text can be typed as well.

    Versions are the newest release of each series, for an LTS series its newest patch.
    """
    rules = [rule for rule in versions.RULES if side == "baseline" or rule not in versions.RELATIVE]
    with contextlib.suppress(SpecError):  # with a faulty calendar there is still a form
        newest = versions.newest_of_series(report_types.releases_of(home.find(), spec))
        released = [release.version.text for release in newest[:_SUGGESTED_SERIES]]
        return [*released, *(rules if len(spec.deployable_engines) == 1 else ())]
    return rules


def _published(spec: ReportSpec) -> Param | None:
    """The field for choosing a published plan; None if the report type has none."""
    found = report_types.published_plans(home.find(), spec.report)
    plans = {path.stem: plan for path, plan in found.items() if plan.published is not None}
    if not plans:
        return None
    titles = {name: plan.published.document for name, plan in plans.items() if plan.published}
    param = _choice(
        OWN_PLAN,
        {OWN_PLAN: "none: the report type's own plan", **titles},
        "Published plan",
        None,
    )
    param.schema["description_md"] = (
        "Use a published document's plan as it was. Airflow cannot fill in the fields below: a "
        "field that you leave as it is has the document's value, one that you change is changed "
        "in its plan.\n\n" + "\n".join(f"- {_values(plan)}" for plan in plans.values())
    )
    return param


def _values(plan: ReportSpec) -> str:
    """The values of a published plan, for people: ``v5.1.1 against v5.2.0: tpcc; threads ...``."""
    entry = plan.engines[plan.deployable_engines[0]]
    sides = " against ".join(side.label for side in (entry.baseline, entry.candidate) if side)
    threads = ", ".join(map(str, plan.thread_counts))
    return (
        f"**{sides}**: {', '.join(plan.workloads)}; threads {threads}; "
        f"rounds {plan.rounds}; {plan.seconds} s a trial, {plan.warmup_seconds} s warm-up; "
        f"{plan.dataset}; {plan.placement}"
    )


def _engine(spec: ReportSpec) -> Param | None:
    if spec.engine != "auto" and list(spec.engines) == [spec.engine]:
        return None
    first = f"auto: the first of {', '.join(spec.engines)} that is available here"
    return _choice(
        spec.engine,
        {"auto": first, **{name: name for name in spec.engines}},
        "Engine",
        "What is measured. With auto, a version above says which engine is meant.",
    )


def _client(spec: ReportSpec) -> Param | None:
    programs = [program.name for program in workloads.workload_of(spec).PROGRAMS]
    if len(programs) == 1:
        return None
    first = f"auto: the first of {', '.join(programs)} on the client's host"
    return _choice(
        spec.client.program or ANY_CLIENT,
        {ANY_CLIENT: first, **{name: name for name in programs}},
        "Client",
        "The program that makes the load. Figures of different clients are never compared.",
    )


def _dataset(spec: ReportSpec) -> dict[str, Param]:
    fields = type(spec.dataset).model_fields
    return {name: _own(spec.dataset, name, field.title or name) for name, field in fields.items()}


def _fleet(spec: ReportSpec) -> dict[str, Param | None]:
    """The fields for fleets, as far as the target supports them."""
    target = targets.by_name()[spec.target]
    if target.can.topology is None:
        return {}
    return {
        "topology": _choice(
            spec.topology,
            {name: name for name in report_types.topology_names(home.find(), target.can.topology)},
            "Topology",
            "The hosts: a file in configs/topologies.",
        ),
        "placement": None
        if spec.sides == "single"
        else _own(
            spec,
            "placement",
            "Placement",
            values_display={
                "interleaved": "interleaved: the sides in turn, on the same hosts",
                "sequential": "sequential: all of the baseline, then all of the candidate",
            },
        ),
        "leaders": _own(
            spec,
            "leaders",
            "Leaders of TiKV's regions",
            "Elected anew at every start; a TiKV server with more of them has more work.",
            values_display={
                "level": "level: moved before each trial until all servers have equally many",
                "as_placed": "as_placed: as PD leaves them, up to ten apart",
            },
        )
        if target.can.deploys_clusters
        else None,
        "snapshots": Param(
            spec.snapshots,
            title="Dataset snapshots",
            description="A dataset that is kept there is restored instead of loaded. Empty: always "
            "loaded.",
            type=["null", "string"],
            enum=[spec.snapshots, None],
        )
        if target.can.keeps_datasets and spec.snapshots
        else None,
    }


def _method(spec: ReportSpec) -> dict[str, Param | None]:
    """The fields on how to measure, as far as there is a choice."""
    fields: dict[str, Param | None] = {
        "warmup_seconds": _own(
            spec,
            "warmup_seconds",
            "Warm-up seconds",
            "Not measured; before a block and after a restart.",
        ),
        "client": _client(spec),
        "restore": _own(
            spec,
            "restore",
            "Restore",
            "When the freshly loaded data is restored.",
            values_display={
                "every_trial": "every_trial: before each trial",
                "after_writes": "after_writes: before a trial, if one before it wrote",
                "per_workload": "per_workload: before each workload's thread counts, once",
                "never": "never: each trial runs on what the trials before it left",
            },
        ),
    }
    if spec.sides != "single":
        fields["threshold_pct"] = _own(
            spec,
            "threshold_pct",
            "Threshold (%)",
            "The smallest change that is called a regression or an improvement.",
        )
        if targets.by_name()[spec.target].can.administers:
            fields["diagnose"] = _own(
                spec,
                "diagnose",
                "Diagnosis",
                "A few more trials that look closer at the servers and decide nothing.",
                values_display={
                    "on_change": "on_change: where a workload changed",
                    "always": "always",
                    "never": "never",
                },
            )
        fields["aa"] = Param(
            spec.sides == "same",
            title="A/A campaign",
            description="The baseline against itself: shows how large the noise is. The "
            "candidate's version is not used.",
            type="boolean",
        )
    if spec.sides != "single" and spec.placement == "interleaved":
        fields["interleave"] = _own(
            spec,
            "interleave",
            "The sides take turns by",
            "By trials, noise that comes and goes within minutes meets both sides alike, but "
            "servers start more often; the plan says how often, and how long that takes.",
            values_display={
                "blocks": "blocks: all thread counts of a side, then those of the other",
                "trials": "trials: thread count by thread count, as A B B A",
            },
        )
    if targets.by_name()[spec.target].can.slows_down and spec.sides != "single":
        fields["slowdown_pct"] = _own(
            spec,
            "slowdown_pct",
            "Slow the candidate down (%)",
            "On purpose, to see whether Benchlab finds it; best in an A/A campaign. Each SQL "
            "server is stopped for this share of the time.",
        )
    if spec.schedule is not None:  # runs by the calendar skip what has been measured
        fields["measure_again"] = _own(
            spec.schedule,
            "measure_again",
            "Measure again",
            "Of a backfill: also a pair that has been measured with this plan. A run that somebody "
            "starts by hand always measures.",
        )
    return fields


def _campaign(spec: ReportSpec) -> dict[str, Param]:
    return {
        "languages": _several(
            spec.languages,
            language.codes(),
            "Languages",
            "Of the report; its main page is in the first.",
        ),
        "campaign": Param(
            None,
            title="Campaign id",
            description="Empty: made from the run's id. A campaign of this id that was not "
            "finished is resumed.",
            type=["null", "string"],
            pattern=f"^{ID}$",
            allowed="letters, digits, `_`, `.` and `-`, the first a letter or digit",
        ),
        "overrides": Param(
            [],
            title="Other fields",
            description="Any other field of the report type, one a line: ports.entry=23390",
            anyOf=_ASSIGNMENTS,
            allowed="one `field=value` a line",
        ),
    }
