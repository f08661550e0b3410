"""The picture of how small a slowdown is found: power over slowdown, a line for each workload."""

from __future__ import annotations

from pathlib import Path

from benchlab.analysis.error_rates.rates import POWER
from benchlab.charts import picture
from benchlab.charts.charts import path
from benchlab.charts.picture import SERIES, Picture
from benchlab.charts.scales import Scale
from benchlab.language.names import title_of
from benchlab.studies.sensitivity.findings import Findings

_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 760.0, 26.0, 320.0


def write(findings: Findings, to: Path) -> None:
    """Draw the throughput of all workloads into a file.

    Raises:
        SpecError: its name does not end in .svg, or it cannot be written.
    """
    drawn = {
        name: rates["throughput"]
        for name, rates in findings.workloads.items()
        if rates["throughput"].power
    }
    across = Scale(0, findings.slowdowns_pct[-1], _LEFT, _RIGHT)
    up = Scale(0, 1, _BOTTOM, _TOP)
    made = Picture(_RIGHT + 20, _BOTTOM + 50)
    made.rows([(up(share), f"{share:.0%}") for share in up.ticks(5)], _LEFT, _RIGHT)
    made.columns([(across(value), f"{value:g}%") for value in across.ticks(10)], _BOTTOM)
    made.text("tick middle", (_LEFT + _RIGHT) / 2, _BOTTOM + 42, "slowdown of the throughput")
    made.line("mean", _LEFT, up(POWER), _RIGHT, up(POWER))
    threshold = across(findings.spec.threshold_pct)
    made.line("zero", threshold, _TOP, threshold, _BOTTOM)
    said = f"threshold {findings.spec.threshold_pct:g}%"
    made.text("tick middle", threshold, _TOP - 8, said)
    legend = []
    for number, (name, found) in enumerate(drawn.items()):
        series = SERIES[number % len(SERIES)]
        points = [*zip(map(across, findings.slowdowns_pct), found.power, strict=True)]
        made.path(f"line {series}", path(points, up))
        for x, share in points[3 * number % 14 :: 14]:
            made.marker(series, x, up(share))
        smallest = found.smallest_change_pct
        if smallest is not None:
            made.line(f"line thin {series}", across(smallest), up(POWER), across(smallest), _BOTTOM)
        size = "above 50%" if smallest is None else f"from {smallest:.1f}%"
        legend.append((series, f"{title_of(name)}: {size}"))
    spec = findings.spec
    rounds = f"{spec.rounds} round{'s' * (spec.rounds != 1)} of {spec.seconds} s"
    picture.write(
        to,
        picture.sheet(
            "Share of campaigns that call it a regression",
            [[("the legend says from which slowdown on 80% of campaigns find it", made)]],
            remark=f"{spec.report}, {rounds}; {len(findings.campaigns)} A/A campaigns",
            legend=legend,
        ),
    )
