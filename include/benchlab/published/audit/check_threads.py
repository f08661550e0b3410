"""Planned thread counts, and latencies, against what the tables allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchlab.published.audit import latency, recompute
from benchlab.published.audit.finding import Finding
from benchlab.published.reading.model import PublishedReport, ThreadList, Workload

_WHICH = "which of them was measured"


def check(report: PublishedReport) -> Iterator[Finding]:
    """``thread_plan_mismatch``, ``implausible_latency``."""
    for workload in report.workloads:
        by_default = not latency.changed_queries(report.setting, workload.name)
        yield from _plan(workload, report.setting.thread_lists, by_default=by_default)
        yield from _latencies(workload, by_default=by_default)


def _plan(
    workload: Workload, lists: Sequence[ThreadList], *, by_default: bool
) -> Iterator[Finding]:
    measured = tuple(dict.fromkeys(row.threads for row in workload.rows))
    planned = [each for each in lists if workload.name in each.workloads]
    planned = planned or [each for each in lists if not each.workloads]
    # One count that was measured, too, may be an example, or one of several that steps name apart.
    planned = [each for each in planned if len(each.threads) > 1 or each.threads[0] not in measured]
    if not measured or not planned or any(set(each.threads) == set(measured) for each in planned):
        return
    first = planned[0]
    told = {
        threads: _possible(workload, threads, by_default=by_default)
        for threads in (first.threads, measured)
    }
    allowed = [_listed(threads) for threads, possible in told.items() if possible]
    refused = [_listed(threads) for threads, possible in told.items() if possible is False]
    line = min(row.line for row in workload.rows)
    yield Finding(
        "thread_plan_mismatch",
        f"line {first.line}, plan; line {line}, table of {workload.heading}",
        first.line,
        f"planned {_listed(first.threads)}; in the table {_listed(measured)}",
        allowed[0] if allowed and refused else None,
        _law(allowed, refused),
    )


def _law(allowed: Sequence[str], refused: Sequence[str]) -> str:
    if not allowed and not refused:
        return f"without TPS and p95 Little's law cannot tell {_WHICH}"
    if not refused:
        return f"Little's law does not refuse {' or '.join(allowed)}: it cannot be told {_WHICH}"
    of_them = f"allows {allowed[0]} threads and refuses" if allowed else "refuses"
    why = "threads / TPS would be above the p95"
    rest = "" if allowed else f"; it cannot be told {_WHICH}"
    return f"Little's law {of_them} {' and '.join(refused)}: {why}{rest}"


def _possible(workload: Workload, threads: Sequence[int], *, by_default: bool) -> bool | None:
    """Whether the rows can be of these thread counts, in their order; None: it cannot be told."""
    if len(threads) != len(workload.rows):
        return None
    rows = sorted(workload.rows, key=lambda row: row.threads)
    found = [
        latency.allows(row, count, workload.name, by_default=by_default)
        for row, count in zip(rows, sorted(threads), strict=True)
    ]
    told = [each for each in found if each is not None]
    return all(told) if told else None


def _latencies(workload: Workload, *, by_default: bool) -> Iterator[Finding]:
    for row in workload.rows:
        for version, side in row.sides.items():
            printed = side.get("p95_ms")
            if printed is None:
                continue
            where = f"line {row.line}, {workload.heading}, {row.threads} threads, {version}"
            most = latency.most_p95(side)
            mean = latency.least_mean(side, row.threads, workload.name, by_default=by_default)
            if printed.value <= 0:
                yield Finding(
                    "implausible_latency", where, row.line, printed.value, None,
                    "a latency is above zero",
                )  # fmt: skip
            elif mean is not None and most is not None and most < mean:
                shown = recompute.rounded_to(mean, recompute.decimals(printed) + 1)
                yield Finding(
                    "implausible_latency", where, row.line, printed.value, shown,
                    "the p95 is below the mean that Little's law gives, threads / TPS, in ms",
                )  # fmt: skip


def _listed(threads: Sequence[int]) -> str:
    return ", ".join(str(count) for count in threads)
