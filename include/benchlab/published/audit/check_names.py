"""Versions and tools that a page names and does not use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from benchlab.published.audit.finding import Finding
from benchlab.published.reading.model import Claim, PublishedReport, Workload
from benchlab.published.reading.stated import place
from benchlab.published.reading.version_names import same_version

_OTHER_TOOL = re.compile(r"BenchmarkSQL", re.IGNORECASE)
_SYSBENCH = re.compile(r"sysbench\s+(?:version\s+)?v?(\d+(?:\.\d+)+)", re.IGNORECASE)


def check(report: PublishedReport) -> Iterator[Finding]:
    """``version_mismatch``, ``tool_mismatch``."""
    own = report.exact_versions or report.versions
    for claim in report.claims:
        yield from _sentence(claim, None, [*own, *_in_tables(report.workloads)], own)
    for workload in report.workloads:
        yield from _table(workload, own)
        for claim in workload.claims:
            yield from _sentence(claim, workload, [*own, *workload.versions], own)
    yield from _benchmarksql(report)
    yield from _sysbench(report)


def _sentence(
    claim: Claim, workload: Workload | None, versions: Sequence[str], own: Sequence[str]
) -> Iterator[Finding]:
    """One that names another version in the place of one of the page's, and not beside them."""
    own_ones = all(_among(each, claim.versions) for each in own)
    if own_ones or all(_among(version, versions) for version in claim.versions):
        return
    yield Finding(
        "version_mismatch",
        place(claim, workload),
        claim.line,
        ", ".join(claim.versions),
        ", ".join(own),
    )


def _table(workload: Workload, own: Sequence[str]) -> Iterator[Finding]:
    """A table of as many versions as the page has, and not all are the page's."""
    if len(workload.versions) != len(own):
        return
    if all(_among(version, own) for version in workload.versions):
        return
    line = min((row.line for row in workload.rows), default=workload.line)
    yield Finding(
        "version_mismatch",
        f"line {line}, table of {workload.heading}",
        line,
        ", ".join(workload.versions),
        ", ".join(own),
    )


def _benchmarksql(report: PublishedReport) -> Iterator[Finding]:
    """A step that names it, on a page whose commands are all another client's."""
    commands = report.setting.commands
    used = sorted({command.tool for command in commands if _of_go_tpc(command.tool)})
    if not used or any(_OTHER_TOOL.search(each.tool) for each in commands):
        return
    for step in report.setting.steps:
        found = _OTHER_TOOL.search(step.text)
        if found:
            yield Finding(
                "tool_mismatch", f"line {step.line}, plan", step.line, found[0], ", ".join(used)
            )


def _sysbench(report: PublishedReport) -> Iterator[Finding]:
    """A step that names another sysbench than the table of software."""
    software = report.setting.sysbench_version or ""
    used = re.search(r"\d+(?:\.\d+)+", software)
    if used is None:
        return
    for step in report.setting.steps:
        for found in _SYSBENCH.finditer(step.text):
            if not same_version(found[1], used[0]):
                yield Finding(
                    "tool_mismatch", f"line {step.line}, plan", step.line, found[0], software
                )


def _of_go_tpc(tool: str) -> bool:
    return bool(re.match(r"tiup\s+bench|go-tpc", tool))


def _in_tables(workloads: Sequence[Workload]) -> list[str]:
    return [version for workload in workloads for version in workload.versions]


def _among(version: str, versions: Sequence[str]) -> bool:
    return any(same_version(version, each) for each in versions)
