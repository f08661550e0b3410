"""What this installation offers: report types, engines, workloads and targets.

Engines, workloads and targets are found by presence: a module in ``engines/``, ``workloads/`` or
``targets/`` is one, without a list to edit.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

import benchlab.engines
import benchlab.targets
import benchlab.workloads
from benchlab import spec as spec_module
from benchlab.engine import BaseEngine
from benchlab.errors import SpecError, UnavailableError
from benchlab.executor import Executor, LocalExecutor
from benchlab.home import Home
from benchlab.lock import fence
from benchlab.spec import SIDES, ReportSpec

INSTALL_LIMIT_S = 3600.0


@cache
def engines() -> dict[str, type[BaseEngine]]:
    """Engine classes by name."""
    return {name: module.Engine for name, module in _modules(benchlab.engines).items()}


@cache
def targets() -> dict[str, Any]:
    """Target classes by name."""
    return {name: module.Target for name, module in _modules(benchlab.targets).items()}


@cache
def workloads() -> dict[str, ModuleType]:
    """Workload modules by the name of the workload; a module may have several."""
    return {
        name: module
        for module in _modules(benchlab.workloads).values()
        for name in getattr(module, "NAMES", ())
    }


def parser(tool: str) -> Callable[[str], Any]:
    """The function that reads a client's output, by the name of the client's module."""
    parse: Callable[[str], Any] = _modules(benchlab.workloads)[tool].parse
    return parse


def install(engine: str, version: str, home: Home, executor: Executor | None = None) -> None:
    """Fetch one version of an engine, if it is not here; one process at a time does.

    Raises:
        UnavailableError: it cannot be had.
    """
    with fence(home.servers / f"{engine}.fence", INSTALL_LIMIT_S):
        engines()[engine].install(
            executor or LocalExecutor(home.root, "install"), version, home.servers
        )


def read_only_workloads() -> frozenset[str]:
    """Workloads that leave the data as they found it."""
    return frozenset(name for name, module in workloads().items() if name in module.READ_ONLY)


def report_files(home: Home) -> list[Path]:
    """The YAML files of all report types, good or bad."""
    return sorted((home.configs / "reports").glob("*.yaml"))


def find_report(home: Home, name: str) -> Path:
    """The file of a report type, by its name or by the path of any YAML file.

    Raises:
        SpecError: there is none; names those that are.
    """
    for path in (Path(name), home.configs / "reports" / f"{name}.yaml"):
        if path.is_file():
            return path
    known = ", ".join(path.stem for path in report_files(home)) or "none"
    raise SpecError(f"{name}: no such file and no such report type; report types: {known}")


def load(path: Path) -> ReportSpec:
    """Read a report type and check its names against what is there.

    Raises:
        SpecError: it does not validate, or names an engine, workload or target that is not there.
    """
    return check(spec_module.load(path), where=str(path))


def override(spec: ReportSpec, overrides: Mapping[str, Any]) -> ReportSpec:
    """Change fields of a report type, as the trigger form and the command line do.

    Keys as in :meth:`ReportSpec.with_overrides`; besides, ``baseline`` and ``candidate`` are
    versions and go to the engine that owns them.

    Raises:
        SpecError: an unknown key or a bad value.
    """
    dotted = {key: value for key, value in overrides.items() if key not in SIDES}
    for key in SIDES:
        if key not in overrides:
            continue
        version = str(overrides[key])
        engine = _owner(spec, key, version)
        wanted = dotted.get("engine", spec.engine)
        if wanted not in ("auto", engine):
            raise SpecError(
                f"{key}: {version!r} is a version of {engine}, and the engine of this campaign is "
                f"{wanted}: both sides have to be of one engine"
            )
        dotted["engine"] = engine
        dotted[f"engines.{engine}.{key}.version"] = version
    return check(spec.with_overrides(dotted), where="override")


def parse_assignments(assignments: list[str]) -> dict[str, Any]:
    """``key=value`` from a command line, the value as YAML: ``threads=[2,8]``, ``rounds=2``.

    A list may be written without brackets (``threads=2,8``).

    Raises:
        SpecError: one is not of this form.
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
        as_list = key in ("threads", "workloads") and not text.startswith("[")
        try:
            overrides[key] = yaml.safe_load(f"[{text}]" if as_list else text)
        except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError) as error:
            # PyYAML's own for values that their tag does not fit: a 45th of a month, `!!int x`.
            raise SpecError(f"--set {assignment}: not YAML: {error}") from error
    return overrides


def check(spec: ReportSpec, where: str) -> ReportSpec:
    """Check the names in a report type against what is there.

    Raises:
        SpecError: one is unknown; names those that are there.
    """
    faults = [
        _unknown("target", [spec.target], targets()),
        _unknown("engine", [spec.engine], [*engines(), "auto"]),
        _unknown("engines", spec.engines, engines()),
        _unknown("workloads", spec.workloads, workloads()),
    ]
    for name, entry in spec.engines.items():
        for side in SIDES:
            version = getattr(entry, side).version
            if name in engines() and not engines()[name].owns(version):
                faults.append(
                    f"engines.{name}.{side}.version: {version!r} is not a version of {name}"
                )
    faults += [
        f"engines.{name}: parameter {key} is set by Benchlab itself and cannot be chosen"
        for name, entry in spec.engines.items()
        if name in engines()
        for key in (*entry.parameters, *entry.baseline.parameters, *entry.candidate.parameters)
        if key.replace("-", "_") in engines()[name].reserved
    ]
    if found := [fault for fault in faults if fault]:
        raise SpecError("\n".join(f"{where}: {fault}" for fault in found))
    return spec


def choose_engine(spec: ReportSpec, home: Home) -> tuple[str, str]:
    """The engine to deploy, and the sentence that says why.

    Raises:
        UnavailableError: a version of it cannot be had here; says how to get it.
    """
    candidates = [spec.engine] if spec.engine != "auto" else list(spec.engines)
    reasons: list[str] = []
    for name in candidates:
        missing = _missing(spec, name, home)
        if missing is None:
            if spec.engine != "auto":
                return name, "the report type names it"
            return name, "; ".join([*reasons, f"{name} can be had on this machine"])
        reasons.append(f"{name} cannot be had: {missing}")
    raise UnavailableError(f"engine: {spec.engine}: " + "; ".join(reasons))


def _missing(spec: ReportSpec, engine: str, home: Home) -> str | None:
    for side in SIDES:
        version = spec.side(engine, side).version
        availability = engines()[engine].availability(version, home.servers)
        if not availability.available:
            return availability.how
    return None


def _owner(spec: ReportSpec, side: str, version: str) -> str:
    for name in spec.engines:
        if name in engines() and engines()[name].owns(version):
            return name
    raise SpecError(
        f"{side}: {version!r} is not a version of any engine of this report type "
        f"({', '.join(spec.engines)}); TiDB's are written v6.5.0, MariaDB's 10.11.5"
    )


def _unknown(field: str, names: Any, known: Any) -> str | None:
    unknown = [name for name in names if name not in known]
    if not unknown:
        return None
    return f"{field}: unknown: {', '.join(unknown)}; there are: {', '.join(known)}"


def _modules(package: ModuleType) -> dict[str, ModuleType]:
    return {
        found.name: importlib.import_module(f"{package.__name__}.{found.name}")
        for found in pkgutil.iter_modules(package.__path__)
    }
