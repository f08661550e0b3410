"""Which pages print the same results: one report in several languages."""

from __future__ import annotations

from decimal import Decimal

from benchlab.plan import versions
from benchlab.published.reading.model import PublishedReport, Workload


def is_about_cloud(title: str) -> bool:
    """Whether a page is about TiDB Cloud: another one than of the same version on own hosts."""
    return "cloud" in title.lower()


def figures(workload: Workload) -> tuple[tuple[int, int, str, Decimal], ...]:
    """All printed figures: threads, place of the version (the baseline's is 0), metric, number.

    How a language writes versions and numbers does not matter.
    """
    return tuple(
        sorted(
            (row.threads, place, metric, printed.value)
            for row in workload.rows
            for place, version in enumerate(workload.versions)
            for metric, printed in row.sides.get(version, {}).items()
        )
    )


def identity_of(report: PublishedReport, workload: Workload) -> tuple[object, ...]:
    """What the results of a workload are told by: the same on a page and on its translation."""
    return (
        is_about_cloud(report.title),
        tuple(map(versions.order, report.versions)),
        workload.name,
        figures(workload),
    )
