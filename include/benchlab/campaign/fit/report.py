"""Whether its schedule can be kept, and its report written and published."""

from __future__ import annotations

from collections.abc import Iterator

import pydantic

from benchlab import language
from benchlab.plan import documents
from benchlab.plan.report_type import ReportSpec
from benchlab.report import publish


def faults(spec: ReportSpec) -> Iterator[str]:
    """What keeps its report from being made; see :mod:`benchlab.campaign.fit`."""
    yield from _schedule(spec)
    yield from _languages(spec)
    yield from _publishing(spec)


def _schedule(spec: ReportSpec) -> Iterator[str]:
    """A schedule compares two versions, and takes them from the releases of one engine."""
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
