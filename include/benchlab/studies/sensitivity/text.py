"""Shows calibration and sensitivity in a terminal, as JSON and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from benchlab.analysis.error_rates.resampling import POWER
from benchlab.analysis.verdict.variances import PRIOR_SIDE_SD
from benchlab.charts import picture
from benchlab.charts.charts import path
from benchlab.charts.picture import SERIES, Picture, Scale
from benchlab.language import english
from benchlab.language.names import plain, title_of
from benchlab.language.numbers import MISSING
from benchlab.plan.plan import Plan
from benchlab.report.formats.console import console_for, print_table, table_of, text_of
from benchlab.report.formats.plan_text import duration, priced_minutes
from benchlab.studies.sensitivity.findings import ErrorRates, Findings
from benchlab.studies.sensitivity.proposals import PlanSensitivity, Proposal
from benchlab.studies.sensitivity.selection import HOW_TO_MAKE, AAGroup


def to_json(findings: Findings) -> dict[str, Any]:
    """What ``benchlab calibrate --json`` prints; rates are shares, from 0 to 1."""
    spec = findings.spec
    return {
        "campaigns": findings.campaigns,
        "report": spec.report,
        "engine": findings.engine,
        "rounds": spec.rounds,
        "seconds": spec.seconds,
        "threshold_pct": spec.threshold_pct,
        "detect_pct": findings.detect_pct,
        "notes": findings.notes,
        "workloads": [
            {
                "name": name,
                **_rates_json(rates["throughput"]),
                "latency": _rates_json(rates["latency"]),
            }
            for name, rates in findings.workloads.items()
        ],
        "family_wise_false_positive_rate": findings.family_wise["throughput"],
        "family_wise_false_positive_rate_latency": findings.family_wise["latency"],
        "proposals": [vars(proposal) for proposal in findings.proposals],
    }


def _rates_json(rates: ErrorRates) -> dict[str, Any]:
    return {name: value for name, value in vars(rates).items() if name != "power"}


def render(findings: Findings, width: int, colour: bool) -> str:
    """The findings as text for people; ``colour`` asks for ANSI codes."""
    console, spec = console_for(width, colour), findings.spec
    head = f"{spec.report} with {findings.engine}, by {_campaigns(findings.campaigns)}"
    console.print(Text(head, style="bold"))
    console.print(Text(", ".join(findings.campaigns)))
    console.print(
        Text(
            f"campaigns of {spec.rounds} round{'s' * (spec.rounds != 1)} with trials of "
            f"{spec.seconds} s, threshold {spec.threshold_pct:g}%; resampled from these"
        )
    )
    console.print()
    print_table(console, _table(findings))
    for lines in (_below(findings), _proposed(findings)):
        console.print()
        for line in lines:
            console.print(Text(line))
    console.print()
    for note in findings.notes:
        console.print(Text(f"note: {plain(note)}", style="dim"))
    return text_of(console)


def render_groups(groups: Sequence[AAGroup]) -> str:
    """The A/A campaigns of the store for a terminal, with what they lack."""
    if not groups:
        return f"no A/A campaign in the store; `{HOW_TO_MAKE.format(report='REPORT')}` makes one\n"
    lines = []
    for group in groups:
        if group.campaigns:
            lines.append(f"{group.report}: {_campaigns(group.campaigns)}")
            lines.append(f"  benchlab calibrate {' '.join(group.campaigns)}")
        else:
            lines.append(f"{group.report}: A/A campaigns that do not count")
        lines += [f"  {sentence}" for sentence in group.missing]
    return "\n".join(lines) + "\n"


def offer(proposal: Proposal) -> str:
    """A proposal in words: ``detect 3.0% for 12.50 dollars in 2.0 h: 9 rounds of 60 s``."""
    cost = "" if proposal.dollars is None else f" for {proposal.dollars:.2f} dollars"
    several = proposal.deployments > 1
    deployments = f", {proposal.deployments} deployments of each side" if several else ""
    return (
        f"detect {proposal.detects_pct:.1f}%{cost} in {duration(60 * proposal.hours)}: "
        f"{proposal.rounds} rounds of {proposal.seconds} s{deployments}"
    )


def plan_lines(found: PlanSensitivity | None, planned: Plan) -> list[str]:
    """The lines about sensitivity in the text of a plan."""
    if found is None:
        return [
            "sensitivity: with one side or fewer than three rounds, nothing is ever called a change"
        ]
    if found.told is not None:
        known = len(found.campaigns)
        by = f"by the noise of {known} campaign{'s' * (known != 1)}" if known else "as assumed"
        return [f"sensitivity, {by}: {english().text(found.told.said)}"]
    head = f"sensitivity, {_rests_on(found, planned)}: "
    if found.detects_pct is None:
        head += "not even a slowdown of 50% is found in 4 of 5 campaigns"
    else:
        head += f"a slowdown of {found.detects_pct:.1f}% is found in 4 of 5 campaigns"
    cheapest = offer(found.cheapest) if found.cheapest else found.why_none
    wanted = f"to find {found.wanted_pct:g}% at least cost: {cheapest}"
    offers = [f"  {line}" for line in (*map(offer, found.offers), wanted)]
    by_looks = [f"  {line}" for line in _by_looks(found)]
    return [head, *offers, *by_looks, *_of_counts(found), *_mean(found, planned)]


def _by_looks(found: PlanSensitivity) -> list[str]:
    """The same with ``design: release``, which takes less where it is decided early."""
    if found.by_looks is None:
        return []
    most, mean = found.by_looks
    each, hours = most.rounds // most.deployments, mean / 60
    plural = "s" * (each != 1)
    of_mean = None if most.dollars is None else most.dollars * hours / most.hours
    said = (
        f"or with design: release, up to {most.deployments} deployments of {each} round{plural}: "
        f"{_cost(hours, of_mean)} on average while nothing differs, at most "
        f"{_cost(most.hours, most.dollars)}"
    )
    return [said]


def _cost(hours: float, dollars: float | None) -> str:
    took = duration(60 * hours)
    return took if dollars is None else f"{dollars:.2f} dollars in {took}"


def _mean(found: PlanSensitivity, planned: Plan) -> list[str]:
    """What a campaign with ``design: release`` takes on average."""
    if found.mean_minutes is None:
        return []
    return [f"  while nothing differs it takes {priced_minutes(planned, found.mean_minutes)}"]


def _of_counts(found: PlanSensitivity) -> list[str]:
    """``what a transaction takes: rows read 1.0%, server CPU 6.2%``; nothing where not known."""
    each = (f"{english().text(metric.said)} {pct:.1f}%" for metric, pct in found.counts)
    return [f"  what a transaction takes: {', '.join(each)}"] if found.counts else []


def _rests_on(found: PlanSensitivity, planned: Plan) -> str:
    """``by the rounds of 3 campaigns (the latest c3) and their 5 deployments of each side``."""
    # Existing servers are not deployed twice, so they can have no A/A campaign.
    how = f" (an A/A campaign shows it: `{HOW_TO_MAKE.format(report=planned.report)}`)"
    how *= planned.can.deploys
    if not found.campaigns:
        return f"with noise as assumed{how}"
    count, deployments = len(found.campaigns), found.deployments
    latest = found.campaigns[-1]
    rounds = f"by the rounds of {count} campaign{'s' * (count != 1)} (the latest {latest})"
    if not deployments:
        return f"{rounds}, with deployments as assumed, {100 * PRIOR_SIDE_SD:g}% a side{how}"
    return f"{rounds} and their {deployments} deployment{'s' * (deployments != 1)} of each side"


def _campaigns(ids: Sequence[str]) -> str:
    return f"{len(ids)} A/A campaign{'s' * (len(ids) != 1)}"


def _table(findings: Findings) -> Table:
    table = table_of("workload", "metric", "false alarms", "deployments", "smallest slowdown")
    for workload, rates in findings.workloads.items():
        for kind, found in rates.items():
            sd_pct = found.deployment_sd_pct
            table.add_row(
                title_of(workload) if kind == "throughput" else "",
                found.metric,
                _alarms(found),
                "not known" if sd_pct is None else f"±{sd_pct:.2f}%",
                _smallest(found),
            )
    return table


def _alarms(finding: ErrorRates) -> str:
    if finding.false_positive_rate is None or finding.false_positive_ci95 is None:
        return MISSING
    low, high = finding.false_positive_ci95
    return f"{finding.false_positive_rate:.1%} ({low:.1%} to {high:.1%})"


def _smallest(finding: ErrorRates) -> str:
    if finding.smallest_change_pct is not None:
        return f"{finding.smallest_change_pct:.1f}%"
    return MISSING if finding.false_positive_rate is None else "above 50%"


def _below(findings: Findings) -> Iterator[str]:
    """Sentences about the meaning of the columns, and about missing evidence."""
    family = findings.family_wise
    if family["throughput"] is not None and family["latency"] is not None:
        yield (
            f"false alarms: share of campaigns that call it a change; in any workload: throughput "
            f"{family['throughput']:.1%}, latency {family['latency']:.1%} "
            "(promised together: at most 5%)"
        )
    yield "deployments: standard deviation of the difference between two deployments of one version"
    yield "smallest slowdown: found in 4 of 5 campaigns; so much less throughput or more latency"
    missing = (
        found.deployment_missing
        for rates in findings.workloads.values()
        for found in rates.values()
    )
    yield from (f"deployments: {sentence}" for sentence in dict.fromkeys(missing) if sentence)


def _proposed(findings: Findings) -> Iterator[str]:
    wanted = (
        f"to find a slowdown of {findings.detect_pct:g}% in every workload, in 4 of 5 campaigns"
    )
    if not findings.proposals:
        yield f"{wanted}: no proposal; see below"
        return
    yield f"{wanted}, the cheapest first:"
    yield from (f"  {offer(proposal)}" for proposal in findings.proposals)


def write_picture(findings: Findings, to: Path) -> None:
    """Draw the power curves of all workloads' throughput into an SVG file.

    Raises:
        SpecError: its name does not end in .svg, or it cannot be written.
    """
    left, right, top, bottom = 56.0, 760.0, 26.0, 320.0
    drawn = {
        name: rates["throughput"]
        for name, rates in findings.workloads.items()
        if rates["throughput"].power
    }
    across = Scale(0, findings.slowdowns_pct[-1], left, right)
    up = Scale(0, 1, bottom, top)
    made = Picture(right + 20, bottom + 50)
    made.rows([(up(share), f"{share:.0%}") for share in up.ticks(5)], left, right)
    made.columns([(across(value), f"{value:g}%") for value in across.ticks(10)], bottom)
    made.text("tick middle", (left + right) / 2, bottom + 42, "slowdown of the throughput")
    made.line("mean", left, up(POWER), right, up(POWER))
    threshold = across(findings.spec.threshold_pct)
    made.line("zero", threshold, top, threshold, bottom)
    said = f"threshold {findings.spec.threshold_pct:g}%"
    made.text("tick middle", threshold, top - 8, said)
    legend = []
    for number, (name, found) in enumerate(drawn.items()):
        series = SERIES[number % len(SERIES)]
        points = [*zip(map(across, findings.slowdowns_pct), found.power, strict=True)]
        made.path(f"line {series}", path(points, up))
        for x, share in points[3 * number % 14 :: 14]:
            made.marker(series, x, up(share))
        smallest = found.smallest_change_pct
        if smallest is not None:
            made.line(f"line thin {series}", across(smallest), up(POWER), across(smallest), bottom)
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
