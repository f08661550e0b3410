"""What a report says, decided once for all formats, and not yet formatted.

:func:`build` takes a campaign, its comparison and its trials, and decides everything that is
printed. Markdown, HTML, terminal and charts only format it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from benchlab.analysis.gates.columns import CLOCKS
from benchlab.analysis.gates.variables import Differences, differences
from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison
from benchlab.hosts.fleet import ROLES
from benchlab.language import Language, Message, english, side_name
from benchlab.language.names import items, plain, title_of
from benchlab.language.numbers import MISSING, Numbers
from benchlab.plan.dataset import AnyDataset, Warehouses
from benchlab.plan.report_type import SIDES, Published, Side
from benchlab.report.model import consistency as consistency_module
from benchlab.report.model import hardware
from benchlab.report.model import hosts as hosts_module
from benchlab.report.model import parameters as parameters_module
from benchlab.report.model import quality as result_quality
from benchlab.report.model import software as software_module
from benchlab.report.model.commands import Command, of_campaign
from benchlab.report.model.software import Servers
from benchlab.results import redaction
from benchlab.results.records import Campaign, GateKind, TrialResult

Value = str | int | float | bool

_MACHINE = ("host", "hostname", "os", "kernel", "cpu", "cores", "memory", "disk", "filesystem")
# What the environment tells that is said elsewhere than among machine and software.
_ELSEWHERE = (
    *("benchlab", "engine_title", "engine_caveat", "ignored_errors", "dataset", "zone"),
    *("client_program", "client_version", "client_path", CLOCKS),
    *(f"{role}_hosts" for role in ROLES),
)


@dataclass(frozen=True)
class ReportSide:
    """One side as the report names it.

    Attributes:
        label: its version, with the name of the side where both have the same version, and with
            how much it was slowed down on purpose.
        server: what the server says of itself; None where it was not asked.
        parameters: those that the other side does not have alike.
        rows: rows loaded, over all tables.
    """

    side: Side
    label: str
    version: str
    server: str | None
    git_hash: str | None
    parameters: dict[str, Value]
    dataset_checksum: str | None
    rows: int | None


@dataclass(frozen=True)
class Section:
    """One workload's part of the report; ``figures`` are the comparison as it was decided."""

    title: str
    figures: WorkloadComparison


@dataclass(frozen=True)
class Report:
    """Everything that any format prints. None is missing, and is printed as n/a.

    Attributes:
        language: in which it says it.
        fleet: its hosts; None where it ran on one machine.
        servers: of a cluster, with their versions; empty where none are recorded.
        parameter_blocks: a cluster's parameters by component; of one machine the other two are.
        dataset: what was loaded, as ``16 tables of 10,000,000 rows``.
        restored_dataset: the dataset came from a dataset snapshot and was not loaded.
        entry_port: the load balancer's.
        published: the document whose plan this is; None where it is nobody's.
        estimate: what the plan said it would take and cost; None where nothing is rented.
        client: the benchmark, as titles have it.
        slowdown_pct: by how much the candidate was slowed down on purpose.
        client_program, client_version: what ran it; None where that is not recorded.
        consistency: of the dataset, where the workload has conditions for it.
        calibration: the A/A campaigns by which deployments are known.
        data_docs: the gates' data docs are published with it.
    """

    language: Language
    campaign: str
    report: str
    spec_title: str
    origin: str
    state: str
    aa: bool
    slowdown_pct: float
    engine: str
    engine_title: str
    engine_caveat: str | None
    engine_reason: str
    target: str
    client: str | None
    client_program: str | None
    client_version: str | None
    sides: dict[Side, ReportSide]
    common_parameters: dict[str, Value]
    machine: dict[str, str]
    software: dict[str, str]
    variables: Differences
    fleet: hardware.FleetHardware | None
    servers: tuple[Servers, ...]
    servers_configured: str | None
    parameter_blocks: tuple[parameters_module.Block, ...]
    same_parameters: bool
    dataset: str
    restored_dataset: bool
    placement: str
    topology: str | None
    entry_port: int
    published: Published | None
    estimate: str | None
    threads: tuple[int, ...]
    rounds: int
    seconds: tuple[int, ...]
    warmup_seconds: int
    restore: str
    repeat_limit: int
    threshold_pct: float
    seed: int
    commands: tuple[Command, ...]
    sections: tuple[Section, ...]
    quality: result_quality.Quality
    consistency: consistency_module.Consistency | None
    hosts: hosts_module.Hosts
    started_at: datetime
    ended_at: datetime | None
    benchlab: str | None
    raw_outputs: int
    calibration: tuple[str, ...]
    data_docs: bool

    @functools.cached_property
    def numbers(self) -> Numbers:
        """Numbers as its language writes them."""
        return Numbers(self.language)

    def gates(self, kind: GateKind) -> list[result_quality.GateTally]:
        """The gates of a class."""
        return [gate for gate in self.quality.gates if gate.kind == kind]


def build(
    campaign: Campaign,
    comparison: Comparison,
    results: Sequence[TrialResult],
    *,
    data_docs: bool = False,
    language: Language | None = None,
) -> Report:
    """Decide what the report says.

    Args:
        campaign: what was measured.
        comparison: its outcome.
        results: all executed trials, the invalid ones too.
        data_docs: the gates' data docs are published with it.
        language: in which it says it; None: English.
    """
    language = language or english()
    campaign = redaction.of_campaign(campaign)
    plan, spec = campaign.plan, campaign.report_type
    environment = {plain(k): plain(v) for k, v in campaign.environment.items()}
    names = [workload.name for workload in comparison.workloads]
    return Report(
        language=language,
        campaign=plain(campaign.id),
        report=plain(plan.report),
        spec_title=plain(spec.title),
        origin=plain(campaign.origin),
        state=campaign.state,
        aa=campaign.is_aa,
        slowdown_pct=plan.slowdown_pct,
        engine=plain(plan.engine),
        engine_title=environment.get("engine_title") or plain(plan.engine),
        engine_caveat=_caveat(environment.get("engine_caveat"), plan.engine, language),
        engine_reason=plain(campaign.engine_reason),
        target=plain(plan.target),
        client=_client(names),
        client_program=environment.get("client_program"),
        client_version=environment.get("client_version"),
        sides={side: _side(campaign, side, language) for side in SIDES},
        common_parameters=_common(campaign),
        machine={k: v for k, v in environment.items() if k.startswith(_MACHINE)},
        software=_software(environment, _client(names)),
        variables=differences(campaign.facts, campaign.plan.sides),
        fleet=hardware.fleet_hardware(campaign),
        servers=software_module.servers(campaign, language),
        servers_configured=software_module.configured(campaign, language),
        parameter_blocks=parameters_module.blocks(campaign, language),
        same_parameters=parameters_module.same(campaign),
        dataset=_dataset(spec.dataset, language),
        restored_dataset=environment.get("dataset", "").startswith("restored"),
        placement=plan.placement,
        topology=plan.topology,
        entry_port=spec.ports.entry,
        published=spec.published,
        estimate=_estimate(campaign, language),
        threads=tuple(dict.fromkeys(trial.threads for trial in plan.trials)),
        rounds=plan.rounds,
        seconds=tuple(sorted({trial.seconds for trial in plan.trials})),
        warmup_seconds=spec.warmup_seconds,
        restore=spec.restore,
        repeat_limit=spec.repeat_limit,
        threshold_pct=spec.threshold_pct,
        seed=plan.seed,
        commands=of_campaign(campaign, language),
        sections=tuple(_section(workload) for workload in comparison.workloads),
        quality=result_quality.quality_of(campaign, comparison, results, language),
        consistency=consistency_module.consistency_of(campaign, language),
        hosts=hosts_module.host_tables(comparison, results, hardware.roles(campaign)),
        started_at=campaign.started_at,
        ended_at=campaign.ended_at,
        benchlab=environment.get("benchlab"),
        raw_outputs=sum(result.raw is not None for result in results),
        calibration=(
            tuple(plain(each) for each in comparison.calibration.campaigns)
            if any(workload.scope == "versions" for workload in comparison.workloads)
            else ()
        ),
        data_docs=data_docs,
    )


def _software(environment: Mapping[str, str], client: str | None) -> dict[str, str]:
    """What the hosts tell of their programs; of TPC-C's clients the one that ran it."""
    told = {
        k: v for k, v in environment.items() if not k.startswith(_MACHINE) and k not in _ELSEWHERE
    }
    if client != "TPC-C" or "client_version" not in environment:
        return told
    others = {name: version for name, version in told.items() if name != "sysbench"}
    return {"client": environment["client_version"], **others}


def _client(workloads: Sequence[str]) -> str | None:
    if all(name.startswith("oltp_") for name in workloads):
        return "Sysbench"
    return "TPC-C" if set(workloads) == {"tpcc"} else None


def _caveat(told: str | None, engine: str, language: Language) -> str | None:
    """What limits an engine's figures, as it was recorded where the language has no other words."""
    return language.text(Message(f"caveat-{engine}", fallback=told)) if told else None


def _dataset(loaded: AnyDataset, language: Language) -> str:
    """What was loaded."""
    whole = Numbers(language).whole
    if isinstance(loaded, Warehouses):
        return language.say("dataset-warehouses", warehouses=whole(loaded.warehouses))
    tables, rows = whole(loaded.tables), whole(loaded.table_size)
    return language.say("dataset-tables", tables=tables, rows=rows)


def _estimate(campaign: Campaign, language: Language) -> str | None:
    plan, numbers = campaign.plan, Numbers(language)
    if plan.dollars is None:
        return None
    return language.say(
        "provenance-estimate-value",
        duration=numbers.duration(timedelta(minutes=plan.minutes)),
        dollars=numbers.rate(plan.dollars, 2),
        day=plan.prices_as_of or MISSING,
    )


def _side(campaign: Campaign, side: Side, language: Language) -> ReportSide:
    spec, facts = campaign.plan.sides[side], campaign.facts.get(side)
    common = _common(campaign)
    return ReportSide(
        side=side,
        label=_label(campaign, side, language),
        version=spec.version,
        server=plain(facts.version) if facts else None,
        git_hash=plain(facts.git_hash) if facts and facts.git_hash else None,
        parameters={k: v for k, v in spec.parameters.items() if k not in common},
        dataset_checksum=facts.dataset_checksum if facts else None,
        rows=sum(facts.rows.values()) if facts and facts.rows else None,
    )


def _label(campaign: Campaign, side: Side, language: Language) -> str:
    sides = campaign.plan.sides
    slowed = campaign.plan.slowdown_pct if side == "candidate" else 0
    apart = []
    if len({each.version for each in sides.values()}) == 1:
        apart.append(language.text(side_name(side)))
    if slowed:
        apart.append(language.say("label-slowdown", limit=Numbers(language).limit(slowed)))
    version = sides[side].version
    if not apart:
        return version
    return language.say("label-apart", version=version, apart=items(apart, language))


def _common(campaign: Campaign) -> dict[str, Value]:
    baseline, candidate = (campaign.plan.sides[side].parameters for side in SIDES)
    return {k: v for k, v in baseline.items() if k in candidate and candidate[k] == v}


def _section(workload: WorkloadComparison) -> Section:
    return Section(title_of(workload.name), workload)
