"""Checks that everything a report type names exists, that it can be scheduled and published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pydantic

from benchlab import engines, language, targets, workloads
from benchlab.plan import documents
from benchlab.plan.report_type import ReportSpec
from benchlab.report import publish


def faults(spec: ReportSpec) -> Iterator[str]:
    """Faults of names, schedule, languages and destinations; see :mod:`benchlab.campaign.fit`."""
    yield from _names(spec)
    yield from _schedule(spec)
    yield from _languages(spec)
    yield from _publishing(spec)


def _names(spec: ReportSpec) -> Iterator[str]:
    tables = spec.published.tables if spec.published else None
    known: tuple[tuple[str, Iterable[str], Iterable[str]], ...] = (
        ("target", [spec.target], [*targets.by_name()]),
        ("engine", [spec.engine], [*engines.by_name(), "auto"]),
        ("engines", spec.engines, engines.by_name()),
        ("workloads", spec.as_written, workloads.by_name()),
        ("threads_by_workload", spec.threads_by_workload, workloads.by_name()),
        ("published.tables.workloads", tables.workloads if tables else (), workloads.by_name()),
        *(
            (f"engines.{name}.by_workload", entry.by_workload, workloads.by_name())
            for name, entry in spec.engines.items()
        ),
    )
    for field, names, there in known:
        if unknown := [name for name in names if name not in there]:
            yield f"{field}: unknown: {', '.join(unknown)}; known: {', '.join(there)}"


def _schedule(spec: ReportSpec) -> Iterator[str]:
    """Faults of a schedule, which needs two versions from the releases of one engine."""
    if spec.schedule is not None and spec.sides == "single":
        yield (
            "schedule: `sides: single` measures one version, and a schedule compares two; leave "
            "it out"
        )
    if spec.schedule is not None and len(spec.deployable_engines) > 1:
        yield (
            f"schedule: engine: {spec.engine} does not say whose releases are meant; write one "
            f"engine: {' or '.join(spec.engines)}"
        )


def _languages(spec: ReportSpec) -> Iterator[str]:
    if unknown := [code for code in spec.languages if code not in language.codes()]:
        there = ", ".join(language.codes())
        yield f"languages: unknown: {', '.join(unknown)}; known: {there}"


def _publishing(spec: ReportSpec) -> Iterator[str]:
    places = set()
    for number, destination in enumerate(spec.publish):
        if destination.to not in publish.by_name():
            there = ", ".join(publish.by_name())
            yield f"publish.{number}.to: unknown: {destination.to}; known: {there}"
            continue
        try:
            found = publish.place(destination)
        except pydantic.ValidationError as error:
            yield from map(str, documents.faults(error, within=("publish", number)))
            continue
        if found in places:
            yield f"publish.{number}: {found} is named twice"
        places.add(found)
