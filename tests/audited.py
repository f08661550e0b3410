"""Published pages as data, for tests of what reads them: small, and in our own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Literal

from benchlab.plan.fields.published import Metric
from benchlab.published import recompute
from benchlab.published.model import (
    Claim,
    Place,
    Printed,
    Procedure,
    PublishedReport,
    Row,
    StatedChange,
    Workload,
)
from benchlab.published.procedure import parse

OLD, NEW = "v5.1.1", "v5.2.0"
POINT, INDEX, MIXED = "oltp_point_select", "oltp_update_index", "oltp_read_write"


def change(
    pct: str,
    direction: Literal[-1, 1] = 1,
    workload: str | None = None,
    threads: int | None = None,
) -> StatedChange:
    """A claimed change."""
    return StatedChange(workload, threads, Printed(pct), direction)


def claim(
    *changes: StatedChange,
    place: Place = "section",
    versions: Sequence[str] = (OLD, NEW),
    line: int = 90,
) -> Claim:
    """A sentence; only its changes and versions are looked at."""
    return Claim("The new one moved.", line, place, tuple(versions), changes)


def row(
    threads: int,
    old: Mapping[Metric, str],
    new: Mapping[Metric, str] | None = None,
    improvement: str | None = None,
    versions: Sequence[str] = (OLD, NEW),
    line: int = 80,
) -> Row:
    """Printed figures of one thread count."""
    sides = [old] if new is None else [old, new]
    return Row(
        threads,
        {
            version: {metric: Printed(text) for metric, text in side.items()}
            for version, side in zip(versions, sides, strict=False)
        },
        Printed(improvement) if improvement else None,
        line,
    )


def workload(
    rows: Sequence[Row],
    *claims: Claim,
    name: str = POINT,
    metric: Metric | None = "tps",
    versions: Sequence[str] = (OLD, NEW),
) -> Workload:
    """A section with its table; without rows one with sentences only."""
    return Workload(
        name=name,
        heading=f"Results of {name}",
        metric=metric if rows else None,
        versions=tuple(versions) if rows else (),
        rows=tuple(rows),
        claims=claims,
        line=70,
    )


def table(*figures: tuple[int, str, str], printed: bool = True) -> list[Row]:
    """Rows of TPS (threads, old, new) with the improvement that they give."""
    plain = [row(threads, {"tps": old}, {"tps": new}) for threads, old, new in figures]
    whole = workload(plain)
    found = [recompute.improvement(plain_row, whole) for plain_row in plain]
    return [
        row(
            threads,
            {"tps": old},
            {"tps": new},
            str(recompute.rounded_to(improved.exact, 2)) if printed and improved else None,
            line=80 + at,
        )
        for at, ((threads, old, new), improved) in enumerate(zip(figures, found, strict=True))
    ]


def procedure(
    *commands: str,
    balancers: Sequence[str] = (),
    ports: Sequence[int] = (),
    threads: Sequence[Sequence[int]] = (),
    tools: Sequence[str] = (),
) -> Procedure:
    """What a page says of how it was measured; its thread counts are planned in line 55."""
    parsed = (parse(text, 60) for text in commands)
    return Procedure(
        commands=tuple(command for command in parsed if command),
        balancers=tuple(balancers),
        entry_ports=tuple(ports),
        threads=tuple((55, tuple(counts)) for counts in threads),
        other_tools=tuple((60, tool) for tool in tools),
    )


def page(
    *workloads: Workload,
    claims: Sequence[Claim] = (),
    versions: Sequence[str] = (OLD, NEW),
    exact: Sequence[str] = (),
    language: str = "en",
    source: str = "page.md",
    procedure: Procedure | None = None,
) -> PublishedReport:
    """A page with these results."""
    return PublishedReport(
        id="-vs-".join(reversed(versions)),
        source=source,
        sha256="0" * 64,
        title="Results of two releases",
        kind="tpcc" if workloads and workloads[0].name == "tpcc" else "sysbench",
        language=language,
        versions=tuple(versions),
        exact_versions=tuple(exact),
        workloads=workloads,
        claims=tuple(claims),
        procedure=procedure or Procedure(),
        unread=(),
    )


def headline_of(rows: Sequence[Row]) -> Decimal:
    """What the rows give, to two decimals."""
    found = recompute.headline(workload(rows))
    if found is None:
        raise ValueError("the rows give no headline")
    return recompute.rounded_to(found.exact, 2)
