"""Versions of servers that exist: the version rule ``running``, resolved by asking them.

Example:
    ``with_running(spec, Access())[0].engines["tidb"].baseline.version`` is ``v6.5.0``.
"""

from __future__ import annotations

from typing import Any

from benchlab import engines
from benchlab.engines import given
from benchlab.errors import SpecError
from benchlab.hosts.access import Access
from benchlab.language import Message, message, side_name
from benchlab.plan.report_type import ReportSpec
from benchlab.plan.versions import RUNNING
from benchlab.targets import existing


def with_running(spec: ReportSpec, access: Access) -> tuple[ReportSpec, tuple[Message, ...]]:
    """A report type with what its servers say in place of `running` and of `engine: auto`.

    Returns:
        The report type, as it is where nobody is to be asked; and what each server said.

    Raises:
        TargetError: a server cannot be asked; says what to do.
        SpecError: the servers are not of the engine that is asked for.
    """
    sides = [
        getattr(spec.engines[name], side)
        for name in spec.deployable_engines
        for side in spec.measured_sides
    ]
    known = spec.engine != "auto" and all(side.version != RUNNING for side in sides)
    if known or not spec.connections:
        return spec, ()
    reported = existing.asked(spec, access)
    engine = _engine(spec, set(reported.values()))
    changes: dict[str, Any] = {"engine": engine}
    notes = []
    for side, text in reported.items():
        if getattr(spec.engines[engine], side).version == RUNNING:
            changes[f"engines.{engine}.{side}.version"] = version = given.version_of(text)
            said = message(
                "rule-running", rule=RUNNING, label=version, connection=spec.connections[side]
            )
            notes.append(message("rule-of-side", side=side_name(side), named=said))
    return spec.with_overrides(changes), tuple(notes)


def _engine(spec: ReportSpec, reported: set[str]) -> str:
    found = {given.engine_of(text) for text in reported}
    said = " and ".join(sorted(reported))
    if len(found) > 1:
        raise SpecError(f"connections: the servers are {said}; write a report type for each engine")
    (engine,) = found
    if engine not in spec.deployable_engines:
        raise SpecError(
            f"engine: {spec.engine}: the server calls itself {said}: write {engine}, as which "
            f"{engines.by_name()[engine].title} is measured, with an entry under `engines`"
        )
    return engine
