"""The repro kit of a bundle: one pair of trials, and what it takes to measure such a pair again.

| file | contents |
|---|---|
| ``reproduce/README.md`` | versions, builds, options, dataset and commands of the pair |
| ``reproduce/counts.csv`` | what a query took of the servers in each of its trials |
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchlab import engines
from benchlab.analysis.verdict.compare import CellComparison, Comparison
from benchlab.analysis.verdict.decision import Decision
from benchlab.engines.counts import Row
from benchlab.errors import BenchlabError
from benchlab.language import english
from benchlab.language.names import plain, title_of
from benchlab.language.numbers import MISSING, Numbers
from benchlab.plan.metric import COUNT, LATENCY, THROUGHPUT, Metric
from benchlab.plan.report_type import SIDES, Side
from benchlab.report.model import counts, software
from benchlab.report.model.report import CHANGES
from benchlab.report.model.series import ReadObject
from benchlab.results import diagnosis
from benchlab.results.records import Campaign, SideFacts, TrialResult

OWN = README, COUNTS = "README.md", "counts.csv"
Pair = Mapping[Side, TrialResult]
_FAMILIES = (COUNT, LATENCY, THROUGHPUT)


@dataclass(frozen=True)
class Cell:
    """A workload with a number of client threads, and the metric that changed most there."""

    workload: str
    threads: int
    metric: Metric


def strongest(
    comparison: Comparison, workload: str | None = None, threads: int | None = None
) -> Cell | None:
    """The cell with the strongest change; None if none has figures of both sides.

    What a verdict calls a change comes before all else, throughput before latency and counts, and
    then the larger estimate; of the workload's thread counts the one that moved furthest that way.

    Args:
        workload, threads: only cells of this workload, or with so many threads.

    Example:
        ``strongest(outcome.comparison).workload`` is ``"oltp_update_index"``.
    """
    found = [
        (_strength(metric, decided, ratio), Cell(one.name, cell.threads, metric))
        for one in (comparison.workloads if comparison.has_verdicts else ())
        for metric, decided in one.decided
        for cell in one.cells
        if workload in (None, one.name) and threads in (None, cell.threads)
        if (ratio := log_ratio(cell, metric.name)) is not None
    ]
    return max(found, key=lambda one: one[0], default=(None, None))[1]


def log_ratio(cell: CellComparison, metric: str) -> float | None:
    """The logarithm of candidate / baseline; None where a side has no figure, or it is zero."""
    one, other = (cell.sides[side].means.get(metric) for side in SIDES)
    return math.log(other / one) if one and other else None


def _strength(metric: Metric, decided: Decision, ratio: float) -> tuple[float, ...]:
    estimate = math.log1p(max(decided.estimate_pct or 0.0, -99.99) / 100)
    family = _FAMILIES.index(metric.family)
    along = math.copysign(1.0, estimate) * ratio
    return decided.verdict in CHANGES, family, abs(estimate), along


def files(
    campaign: Campaign,
    trials: Sequence[TrialResult],
    comparison: Comparison,
    read_object: ReadObject,
) -> dict[str, bytes]:
    """What the kit says itself, by name; the same arguments, the same bytes.

    Empty if the campaign has no pair of valid trials.
    """
    cell = strongest(comparison)
    pair = _pair(trials, cell) if cell else None
    if cell is None or pair is None:
        return {}
    taken = _counts(pair, read_object)
    known = diagnosis.found(campaign.environment)
    kept = [f"../raw/{name}" for name in known.objects()] if known else []
    named = [*([COUNTS] if taken else []), *sorted(kept)]
    made = {README: "\n".join(_readme(campaign, cell, pair, named)).encode()}
    return made | ({COUNTS: taken} if taken else {})


def _pair(trials: Sequence[TrialResult], cell: Cell) -> Pair | None:
    """The first two trials of a cell that are of one block and valid."""
    found: dict[tuple[int, int], dict[Side, TrialResult]] = {}
    for result in trials:
        own = result.trial
        if result.valid and (own.workload, own.threads) == (cell.workload, cell.threads):
            found.setdefault((own.round, result.attempt), {})[own.side] = result
    return next((found[at] for at in sorted(found) if len(found[at]) == len(SIDES)), None)


def _counts(pair: Pair, read_object: ReadObject) -> bytes | None:
    """Both trials' counts side by side; None where a trial has none, or they are lost."""
    found: dict[Side, dict[str, Row]] = {}
    for side, result in pair.items():
        try:
            rows = counts.read(read_object(result.counts)) if result.counts else []
        except BenchlabError:
            return None
        found[side] = {row.count: row for row in rows}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("count", "role", "unit", *SIDES))
    for name, row in found["baseline"].items():
        if name in found["candidate"]:
            taken = (found[side][name].per_query for side in SIDES)
            writer.writerow((name, row.role, row.unit, *taken))
    return text.getvalue().encode() if found["baseline"] else None


def _readme(campaign: Campaign, cell: Cell, pair: Pair, named: Sequence[str]) -> Iterator[str]:
    trial, spec = pair["baseline"].trial, campaign.report_type
    yield f"# Reproduce: {title_of(cell.workload)}, {cell.threads} threads"
    yield ""
    yield f"One pair of trials (round {trial.round}) of campaign `{campaign.id}`, of the workload"
    yield f"and thread count with its strongest change. `benchlab reproduce {campaign.id}` measures"
    yield "such a pair again where the campaign is stored; by hand it takes what is below."
    yield ""
    yield from _table(campaign, pair)
    yield from ("", "## Servers", "")
    yield from _servers(campaign)
    yield from (f"## Dataset: {spec.dataset.said}", "")
    for command in software.commands_of(campaign, english())[:1]:
        yield from (f"{command.purpose}:", "", *_code("sh", command.text))
    yield from ("## Trial", "")
    before = "its snapshot was restored, then " if trial.restore else ""
    by = "through HAProxy" if spec.haproxy else "without a load balancer"
    known = map(campaign.environment.get, ("client_program", "client_version"))
    client = plain(" ".join(filter(None, known))) or MISSING
    yield f"On each side, {by}: {before}{spec.warmup_seconds} s of the same as warm-up, then"
    yield f"(client: {client}):"
    yield from ("", *_code("sh", software.command_of(campaign, pair["baseline"])))
    yield from ("## Files", "")
    yield f"- `../raw/`: {', '.join(f'`{result.raw}`' for result in pair.values())}"
    yield "- `../campaign.json`: all settings that the servers report (`facts`)"
    yield from (f"- `{name}`" for name in named)
    yield ""


def _table(campaign: Campaign, pair: Pair) -> Iterator[str]:
    sides, facts = campaign.plan.sides, campaign.facts
    yield f"| | {' | '.join(SIDES)} |"
    yield "|---|---|---|"
    yield _row("version", [sides[side].version for side in SIDES])
    components = dict.fromkeys(name for side in SIDES for name in sides[side].builds)
    for name in components:
        yield _row(f"build of {name}", [_build(campaign, side, name) for side in SIDES])
    found = [facts.get(side, SideFacts(MISSING, None, {})) for side in SIDES]
    yield _row("reported version", [one.version for one in found])
    yield _row("reported commit", [one.git_hash for one in found])
    yield _row("checksum of the dataset", [one.dataset_checksum for one in found])
    numbers = Numbers(english())
    for metric in (one for one in campaign.plan.metrics if one.family in (THROUGHPUT, LATENCY)):
        figures = [pair[side].value(metric.name) for side in SIDES]
        yield _row(f"{metric.said} ({metric.unit})", [numbers.digits(one, 6) for one in figures])


def _build(campaign: Campaign, side: Side, component: str) -> str | None:
    if (build := campaign.plan.sides[side].builds.get(component)) is None:
        return None
    came = build.address or (f"`{' '.join(build.command)}`" if build.command else "kept before")
    commit = f", commit {build.expected}" if build.expected else ""
    return f"sha256 {build.sha256}{commit}, from {came}"


def _row(name: str, values: Sequence[str | None]) -> str:
    cells = [plain(value or MISSING).replace("|", "\\|") for value in (name, *values)]
    return f"| {' | '.join(cells)} |"


def _servers(campaign: Campaign) -> Iterator[str]:
    """The options of the servers; what is in their configuration beside them, the facts say."""
    plan = campaign.plan
    if plan.slowdown_pct:
        yield from (f"The candidate was slowed down by {plan.slowdown_pct:g} % on purpose.", "")
    engine = engines.by_name().get(plan.engine)
    if engine and plan.can.administers and not plan.can.deploys_clusters and engine.own_options:
        yield from ("Options of every server:", "", *_code("", "\n".join(engine.own_options)))
    for block in software.blocks(campaign, english()):
        yield from (f"{block.heading}:", "", *_code(block.language, block.text))


def _code(language: str, text: str) -> tuple[str, ...]:
    return (f"```{language}", text, "```", "")
