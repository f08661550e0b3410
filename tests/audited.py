"""Published pages as data, for tests of what reads them: small, and in our own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal

from benchlab.plan.document_tables import Metric
from benchlab.published import recompute
from benchlab.published.model import (
    Block,
    Claim,
    Command,
    Place,
    Printed,
    PublishedReport,
    Row,
    Said,
    StatedChange,
    StatedSetting,
    Workload,
)

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
    """A section with its table; without rows one with a chart only."""
    return Workload(
        name=name,
        heading=f"Results of {name}",
        metric=metric if rows else None,
        shape="metrics_then_latencies" if rows else None,
        columns=(),
        versions=tuple(versions) if rows else (),
        rows=tuple(rows),
        claims=claims,
        charts=("chart.png",),
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


def command(text: str, line: int = 60) -> Command:
    """One of the plan."""
    return Command(text, line)


def step(text: str, line: int = 50) -> Said:
    """Of the plan."""
    return Said("plan", "Test plan", text, line)


def threads_planned(*threads: int) -> Said:
    """Thread counts of the plan."""
    counts = ", ".join(map(str, threads[:-1]))
    return step(f"Three tests with the ${{THREAD}} value of {counts}, and {threads[-1]}.", 55)


def balanced(names: Sequence[str], ports: Sequence[int]) -> StatedSetting:
    """The plan names load balancers, and a configuration their ports."""
    bound = "\n".join(f"   bind 0.0.0.0:{port}" for port in ports)
    return StatedSetting(
        said=tuple(step(f"Test TiDB via {name}.") for name in names),
        parameters=(Block("HAProxy configuration", "yaml", bound, 40),),
    )


def page(
    *workloads: Workload,
    claims: Sequence[Claim] = (),
    versions: Sequence[str] = (OLD, NEW),
    exact: Sequence[str] = (),
    language: str = "en",
    source: str = "page.md",
    setting: StatedSetting | None = None,
    **values: Any,
) -> PublishedReport:
    """A page; ``values`` are those of its setting."""
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
        setting=replace(setting or StatedSetting(), **values),
        unread=(),
    )


def headline_of(rows: Sequence[Row]) -> Decimal:
    """What the rows give, to two decimals."""
    found = recompute.headline(workload(rows))
    if found is None:
        raise ValueError("the rows give no headline")
    return recompute.rounded_to(found.exact, 2)
