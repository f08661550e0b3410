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
from benchlab.targets import fleet_files

# Fields that a resumed campaign keeps, even if its file has changed.
_IS_PINNED = re.compile(r"engines\.\w+\.(baseline|candidate)\.(version|builds)\b")


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
        as_list = key in ("threads", "workloads", "languages") and not text.startswith("[")
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
    files = {path.stem: path for path in report_types.report_files(home)}
    if rented or campaign.plan.report not in files:
        return ""
    try:
        spec = report_types.load(files[campaign.plan.report])
        changed = _changed(spec, campaign)
        again = override(spec, parse_assignments(changed))
    except SpecError:  # `benchlab validate` says why; it cannot be resumed with this file
        return ""
    if _changed(again, campaign):
        return ""
    words = ["benchlab", "run", spec.report, *(w for one in changed for w in ("--set", one))]
    words += ["--approve"] if needs_approval(campaign.plan, spec.budget) else []
    return shlex.join([*words, "--campaign", campaign.id])


def _changed(spec: ReportSpec, campaign: Campaign) -> list[str]:
    """The assignments that turn a report type into a campaign's, without what resuming keeps."""
    plan, wanted = campaign.plan, campaign.report_type
    ours, theirs = (
        flat(one.model_dump(mode="json", include={*MEASURED, "sides", "engine", "engines"}))
        for one in (spec, wanted)
    )
    found = [
        f"{name}={json.dumps(value)}"
        for name, value in theirs.items()
        if ours.get(name) != value and not _IS_PINNED.match(name)
    ]
    named = spec.engines.get(plan.engine)
    for side, planned in plan.sides.items():
        own = getattr(named, side, None)
        if own and own.is_resolved and own.version != planned.version and wanted.sides != "same":
            found.append(f"{side}={planned.version}")
    return found


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
