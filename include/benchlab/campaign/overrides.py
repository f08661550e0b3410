"""Fields of a report type changed by the trigger form or the command line."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any

from benchlab import engines
from benchlab.campaign import fit, report_types
from benchlab.errors import SpecError
from benchlab.home import Home
from benchlab.language import Said, message, said_by
from benchlab.plan import versions
from benchlab.plan.documents import flat, from_yaml
from benchlab.plan.plan import needs_approval
from benchlab.plan.report_type import MEASURED, SIDES, ReportSpec
from benchlab.results.records import Campaign
from benchlab.results.redaction import Redacted
from benchlab.targets import fleet_files

# Fields that a resumed campaign keeps, even if its file has changed.
_IS_PINNED = re.compile(r"engines\.\w+\.(baseline|candidate)\.(version|builds)\b")
# Lists that may be written without brackets.
_LISTS = ("threads", "workloads", "languages")


def override(spec: ReportSpec, overrides: Mapping[str, Any]) -> ReportSpec:
    """Change fields of a report type, as the trigger form and the command line do.

    Args:
        overrides: values by key, as in :meth:`ReportSpec.with_overrides`. In addition,
            ``baseline`` and ``candidate`` take versions or version rules; a version also decides
            the engine.

    Returns:
        The changed report type, checked by :func:`fit.check`.

    Example:
        ``override(spec, {"rounds": 2, "baseline": "10.11.5"})``

    Raises:
        SpecError: an unknown key or a bad value.
    """
    if faults := version_faults(spec, overrides):
        raise SpecError(*faults.values())
    dotted = {key: value for key, value in overrides.items() if key not in SIDES}
    for key, version in _versions(overrides):
        dotted["engine"] = engine = _owner(spec, key, version, dotted.get("engine", spec.engine))
        dotted[f"engines.{engine}.{key}.version"] = version
        if (own := getattr(spec.engines[engine], key)) and own.version != version:
            dotted[f"engines.{engine}.{key}.builds"] = {}  # they are of the other version
    changed = spec.with_overrides(dotted)
    if _sources(changed) - _sources(spec):
        raise SpecError(
            "builds: source, command and sha256 can be changed in the report type's file only; "
            "here, a build's version and commit can be"
        )
    return fit.check(changed, where="")


def version_faults(spec: ReportSpec, overrides: Mapping[str, Any]) -> dict[str, Said]:
    """Why a side cannot have the version that it is given, by side.

    Example:
        ``version_faults(spec, {"candidate": "banana"})["candidate"]`` says how versions are written
    """
    found = dict[str, Said]()
    wanted = overrides.get("engine", spec.engine)
    for key, version in _versions(overrides):
        try:
            wanted = _owner(spec, key, version, wanted)
        except SpecError as fault:
            found[key] = said_by(fault)
    return found


def _versions(overrides: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The sides that are given a version; rules last, because only versions decide the engine."""
    sides = [(key, str(overrides[key])) for key in SIDES if key in overrides]
    return sorted(sides, key=lambda item: versions.is_rule(item[1]))


def _sources(spec: ReportSpec) -> set[tuple[object, ...]]:
    """What the builds of a report type would read, run or fetch, regardless of commits."""
    return {
        (build.source, build.command, None if build.commit else build.sha256)
        for entry in spec.engines.values()
        for side in filter(None, (entry.baseline, entry.candidate))
        for build in side.builds.values()
        if build.source or build.command
    }


def parse_assignments(assignments: list[str]) -> dict[str, Any]:
    """Read ``key=value`` from a command line: ``["rounds=2"]`` becomes ``{"rounds": 2}``.

    Values are YAML. ``threads``, ``workloads`` and ``languages`` may be written without brackets
    (``threads=2,8``).

    Raises:
        SpecError: one is not of this form, is not YAML, or is given twice.
    """
    overrides: dict[str, Any] = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key:
            raise SpecError(f"--set {assignment}: write it as field=value, such as rounds=2")
        if key in overrides:
            raise SpecError(f"--set {key}: given twice")
        if key in SIDES:
            overrides[key] = text
            continue
        as_list = key in _LISTS and not text.startswith("[")
        overrides[key] = from_yaml(f"[{text}]" if as_list else text, f"--set {key}")
    return overrides


def resuming(home: Home, campaign: Campaign) -> str:
    """The command that resumes a campaign, with all overrides of its report type's file.

    Empty if there is none: hosts are not rented again, the file is gone, or it has changed in a way
    that no command line can undo.

    Example:
        ``resuming(home, store.campaign("c1"))`` is
        ``benchlab run sysbench_local --set rounds=2 --campaign c1``.
    """
    rented = campaign.plan.can.rents and not fleet_files.rented_nothing(home.campaign(campaign.id))
    spec = None if rented else _file_of(home, campaign)
    if spec is None:
        return ""
    changed = _changed(spec, campaign)
    if _leaves_any(spec, changed, campaign):
        return ""
    approved = ["--approve"] if needs_approval(campaign.plan, spec.budget) else []
    return shlex.join([*running(spec.report, changed), *approved, "--campaign", campaign.id])


def as_measured(home: Home, campaign: Campaign) -> dict[str, Any] | None:
    """The fields with which its report type measures what a campaign measured, and its versions.

    Servers that exist already are measured as they are now. None if no fields do: the report type's
    file is gone, or has changed otherwise; or a side has builds, which no field can name.

    Example:
        ``override(report_type, as_measured(home, campaign) or {})``
    """
    plan, spec = campaign.plan, _file_of(home, campaign)
    if spec is None or any(side.builds for side in plan.sides.values()):
        return None
    changed = _changed(spec, campaign)
    sides = SIDES[:1] if campaign.report_type.sides == "same" else plan.sides
    entry = spec.engines.get(plan.engine)
    ours = {side: own for side in sides if (own := getattr(entry, side, None)) is not None}
    if plan.can.deploys and plan.can.chooses_version:
        named = {side: plan.sides[side].version for side in sides}
        changed |= {
            side: version
            for side, version in named.items()
            if side not in ours or version != ours[side].version
        }
    if any(own.builds for side, own in ours.items() if side not in changed):
        return None
    return None if _leaves_any(spec, changed, campaign) else changed


def running(report: str, changes: Mapping[str, Any]) -> list[str]:
    """The words of the command that runs a report type with changed fields.

    Example:
        ``running("tpcc_local", {"rounds": 8})`` is
        ``["benchlab", "run", "tpcc_local", "--set", "rounds=8"]``.
    """
    assigned = (f"{field}={_as_typed(field, value)}" for field, value in changes.items())
    return ["benchlab", "run", report, *(word for one in assigned for word in ("--set", one))]


def _as_typed(field: str, value: Any) -> str:
    if field in _LISTS:
        return ",".join(map(str, value))
    if isinstance(value, str):
        plain = field in SIDES or (re.fullmatch(r"\w+", value) and from_yaml(value, "") == value)
        return value if plain else json.dumps(value)
    return json.dumps(value)


def _file_of(home: Home, campaign: Campaign) -> ReportSpec | None:
    """A campaign's report type as its file has it now; None where it has none that is valid."""
    files = {path.stem: path for path in report_types.report_files(home)}
    try:
        return report_types.load(files[campaign.plan.report])
    except (KeyError, SpecError):  # `benchlab validate` says why
        return None


def _leaves_any(spec: ReportSpec, changes: Mapping[str, Any], campaign: Campaign) -> bool:
    """Whether a report type with changed fields still measures otherwise than a campaign did."""
    if any("(redacted " in str(value) for value in changes.values()):
        return True  # a secret, of which the campaign as people see it has no value
    try:
        changed = override(spec, changes)
    except SpecError:
        return True
    return bool(
        _changed(changed, campaign)
        or _fields(changed).keys() - _fields(campaign.report_type).keys()
    )


def _changed(spec: ReportSpec, campaign: Campaign) -> dict[str, Any]:
    """The fields that turn a report type into a campaign's, without what resuming keeps."""
    plan, wanted = campaign.plan, campaign.report_type
    ours = _fields(spec)
    found = {
        name: value
        for name, value in _fields(wanted).items()
        if not _is_same(name, ours.get(name), value)
    }
    named = spec.engines.get(plan.engine)
    for side, planned in plan.sides.items():
        own = getattr(named, side, None)
        if own and own.is_resolved and own.version != planned.version and wanted.sides != "same":
            found[side] = planned.version
    return found


def _fields(spec: ReportSpec) -> dict[str, Any]:
    """What decides how a report type measures, by path."""
    document = spec.model_dump(mode="json", include={*MEASURED, "sides", "engine", "engines"})
    return {name: at for name, at in flat(document).items() if not _IS_PINNED.match(name)}


def _is_same(name: str, ours: Any, theirs: Any) -> bool:
    """Whether a field is as in a campaign, of which people may see a secret's place only."""
    hidden = isinstance(theirs, str) and "(redacted " in theirs and ours is not None
    return ours == theirs or (hidden and Redacted().document("", ours, (name,)) != ours)


def _owner(spec: ReportSpec, side: str, version: str, wanted: str) -> str:
    """The engine that a version belongs to; ``wanted`` is the one chosen before, or ``auto``.

    Raises:
        SpecError: no engine of the report type has such a version, or another than ``wanted`` has.
    """
    if versions.is_rule(version):
        if wanted != "auto" or len(spec.engines) == 1:
            return wanted if wanted != "auto" else next(iter(spec.engines))
        named = {"side": side, "version": repr(version), "engines": ", ".join(spec.engines)}
        raise SpecError(message("fault-every-engine", **named))
    for name in spec.engines:
        if name in engines.by_name() and engines.by_name()[name].owns(version):
            if wanted in ("auto", name):
                return name
            two = {"side": side, "version": repr(version), "engine": name, "other": wanted}
            raise SpecError(message("fault-two-engines", **two))
    known = {"engines": ", ".join(spec.engines), "rules": ", ".join(versions.RULES)}
    raise SpecError(message("fault-no-version", side=side, version=repr(version), **known))
