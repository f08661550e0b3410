"""Checks that each engine has the versions, builds and parameters specified for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from benchlab import engines, home
from benchlab.campaign import planning
from benchlab.engines import forbidden
from benchlab.engines.server import BaseEngine
from benchlab.errors import SpecError
from benchlab.plan.fields.engines import Components, EngineSpec, SideSpec, VersionParameters
from benchlab.plan.report_type import ReportSpec

# Connections that Benchlab opens in addition to the client's.
OWN_SESSIONS = 10


def faults(spec: ReportSpec) -> Iterator[str]:
    """Faults of versions, builds and parameters; see :mod:`benchlab.campaign.fit`."""
    yield from _versions(spec)
    yield from _builds(spec)
    yield from _parameters(spec)


def _versions(spec: ReportSpec) -> Iterator[str]:
    for name, entry in spec.engines.items():
        for side in spec.measured_sides:
            chosen = getattr(entry, side)
            if chosen.is_resolved and name in engines.by_name():
                yield from _foreign(name, f"{side}.version", chosen.version)
        for number, written in enumerate(entry.by_version):
            for field, version in (("since", written.since), ("until", written.until)):
                if version and name in engines.by_name():
                    yield from _foreign(name, f"by_version.{number}.{field}", version)


def _foreign(engine: str, field: str, version: str) -> Iterator[str]:
    if not engines.by_name()[engine].owns(version):
        yield f"engines.{engine}.{field}: {version!r} is not a version of {engine}"


def _builds(spec: ReportSpec) -> Iterator[str]:
    for name, entry in spec.engines.items():
        if (engine := engines.by_name().get(name)) is None:
            continue
        # On one machine there is one server.
        there = engine.components if spec.topology is not None else engine.components[:1]
        for side in filter(None, (entry.baseline, entry.candidate)):
            for component in side.builds:
                if component not in there:
                    yield (
                        f"engines.{name}: builds.{component}: on the target {spec.target} a "
                        f"build is possible for: {', '.join(there) or 'nothing'}"
                    )


def _parameters(spec: ReportSpec) -> Iterator[str]:
    vcpu = _storage_vcpu(spec)
    for name, entry in spec.engines.items():
        if (engine := engines.by_name().get(name)) is None:
            continue
        written = [
            entry.parameters,
            *(versions.parameters for versions in entry.by_version),
            *(getattr(entry, side).parameters for side in spec.measured_sides),
        ]
        for key in dict.fromkeys(key for parameters in written for key in parameters):
            if key.replace("-", "_") in engine.reserved:
                yield (
                    f"engines.{name}: parameter {key} is set by Benchlab itself and cannot be "
                    "chosen"
                )
        yield from _forbidden(name, engine, entry)
        for side in spec.measured_sides:
            chosen = spec.side(name, side)
            if not chosen.is_resolved or not engine.owns(chosen.version):
                continue  # for a version rule, this is checked once the version is known
            sets: list[Components] = [chosen.components, *entry.by_workload.values()]
            refused = dict.fromkeys(
                fault
                for components in sets
                for fault in engine.parameter_faults(
                    chosen.version, chosen.parameters, components, storage_vcpu=vcpu
                )
            )
            yield from (f"engines.{name}.{side}: {fault}" for fault in refused)
            yield from (
                f"engines.{name}.{side}: {fault}" for fault in _connections(spec, engine, chosen)
            )


def _forbidden(name: str, engine: type[BaseEngine], entry: EngineSpec) -> Iterator[str]:
    """Parameters of any side, version, component or workload that reach beyond the server."""
    layers: list[EngineSpec | VersionParameters | SideSpec] = [entry, *entry.by_version]
    layers += filter(None, (entry.baseline, entry.candidate))
    sets = [layer.parameters for layer in layers]
    for components in (*(layer.components for layer in layers), *entry.by_workload.values()):
        sets += components.values()
    found = {
        key: reason
        for parameters in sets
        for key, value in parameters.items()
        if (reason := forbidden.why(key, value, short_names=engine.short_names))
    }
    for key, reason in found.items():
        yield f"engines.{name}: parameter {key} may not be set: it {reason}"


def _connections(spec: ReportSpec, engine: type[BaseEngine], side: SideSpec) -> Iterator[str]:
    """Connection limits that are too low for the client, which the first trial would exceed.

    Not checked on a fleet: there a load balancer spreads connections over servers unknown here.
    """
    if spec.topology is not None:
        return
    most = max(spec.thread_counts)
    needed = most + OWN_SESSIONS
    for key in sorted(engine.connection_limits & side.parameters.keys()):
        limit = side.parameters[key]
        if isinstance(limit, int) and 0 < limit < needed:
            yield (
                f"parameter {key} is {limit}; {most} threads need a connection each "
                f"and Benchlab {OWN_SESSIONS}: write {needed} or more, or leave it out"
            )


def _storage_vcpu(spec: ReportSpec) -> int | None:
    """vCPUs of the smallest TiKV host that the topology allows; None if unknown.

    Faults of the topology itself are reported by the plan.
    """
    if spec.topology is None:
        return None
    with contextlib.suppress(SpecError, KeyError):
        return min(planning.storage_vcpus(home.find(), spec), default=None)
    return None
