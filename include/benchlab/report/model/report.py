"""A report's contents, decided once for all formats and not yet formatted.

:func:`build` takes a campaign, its comparison and its trials. Markdown, HTML, terminal and charts
only format what the :class:`Report` decides::

    report = build(campaign, comparison, store.trials(campaign.id), language=load("zh"))
    report.sides["candidate"].label      # "v6.5.0"
    report.plan.rounds                   # 6
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from benchlab.analysis.cause.causes import NO_CAUSES, Causes
from benchlab.analysis.gates.columns import CLOCKS
from benchlab.analysis.gates.variables import Differences, differences
from benchlab.analysis.verdict.compare import Comparison, WorkloadComparison
from benchlab.analysis.verdict.decision import Decision
from benchlab.hosts.fleet import ROLES
from benchlab.language import FORM_OF_ONE, FORM_OF_WATCH, Language, english, load, side_name
from benchlab.language.names import items, plain, title_of
from benchlab.language.numbers import Numbers
from benchlab.plan.open_loop import rate_of
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES, ReportSpec, Side
from benchlab.report.model import hardware
from benchlab.report.model import hosts as hosts_module
from benchlab.report.model import quality as result_quality
from benchlab.report.model import software as software_module
from benchlab.report.model.series import PairSeries
from benchlab.report.model.validation import Validation
from benchlab.results import diagnosis, ended_servers, looks, redaction, screening
from benchlab.results.records import (
    HASH_OF,
    PAGE,
    REPLACED,
    RESUMED,
    SCRIPT,
    SCRIPT_BEFORE,
    SPENT,
    SPOT_HOSTS,
    STOPPED,
    Campaign,
    GateKind,
    TrialResult,
)

Value = str | int | float | bool
CHANGES = ("regression", "improvement")
ORDER = (*CHANGES, "unstable", "inconclusive", "equivalent")
"""The verdicts in the order of what readers look for."""

# Without what could end a link in HTML or Markdown.
_ADDRESS = re.compile(r"https?://[^\s<>()\"'\\]+")
_MACHINE = ("host", "hostname", "os", "kernel", "cpu", "cores", "memory", "disk", "filesystem")
OF_A_RUN = (
    PAGE,
    SPENT,
    STOPPED,
    REPLACED,
    RESUMED,
    ended_servers.KEY,
    screening.KEY,
    looks.KEY,
    diagnosis.KEY,
    CLOCKS,
)
"""Keys of a campaign's environment that concern its run, not its hosts and programs."""
# Recorded facts that are not among machine and software, because the report states them elsewhere.
_ELSEWHERE = (
    *OF_A_RUN,
    *("benchlab", "engine_title", "engine_caveat", "ignored_errors", "dataset", "zone"),
    *("client_program", "client_version", "client_path"),
    *(SPOT_HOSTS, HASH_OF.format(SCRIPT), SCRIPT_BEFORE),
    *(f"{role}_hosts" for role in ROLES),
)


@dataclass(frozen=True)
class ReportSide:
    """One side as the report shows it.

    Attributes:
        label: its version; with the side's name if both sides have the same one, and with the
            slowdown if there is one.
        server: the version that the server reports; None if it was not asked.
        parameters: those that the other side lacks or sets to another value.
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
    """One workload's part of the report; ``figures`` is its comparison, with its verdicts."""

    title: str
    figures: WorkloadComparison

    @property
    def at_rate(self) -> bool:
        """Whether it is at equal load, and so decided by latencies alone."""
        return rate_of(self.figures.name) is not None

    @property
    def leading(self) -> Decision:
        """What its heading says: the decision on throughput; at a rate on what changed first."""
        if not self.at_rate:
            return self.figures
        return min(
            (found for _, found in self.figures.latencies), key=lambda one: ORDER.index(one.verdict)
        )

    @property
    def rounds_used(self) -> int:
        """How many rounds are complete, on all sides."""
        cells = self.figures.cells
        if any(len(cell.sides) == len(SIDES) for cell in cells):
            return self.figures.rounds_used
        measured = [
            side.by_round(self.figures.metric).keys()
            for cell in cells
            for side in cell.sides.values()
        ]
        return len(set.intersection(*map(set, measured))) if measured else 0


@dataclass(frozen=True)
class Report:
    """Everything that any format prints; a figure that is None is missing, printed as n/a.

    Attributes:
        campaign: what was measured, without secrets.
        results: all executed trials, including invalid ones.
        series: throughput, CPU and disk within trials, by workload; empty: not shown.
        validation: the outcome of the report's validation; None: not shown.
        causes: why workloads changed.
    """

    language: Language
    campaign: Campaign
    comparison: Comparison
    results: Sequence[TrialResult]
    series: Mapping[str, tuple[PairSeries, ...]] = field(default_factory=dict)
    validation: Validation | None = None
    causes: Causes = NO_CAUSES

    @cached_property
    def plan(self) -> Plan:
        return self.campaign.wanted

    @property
    def spec(self) -> ReportSpec:
        return self.campaign.report_type

    @cached_property
    def numbers(self) -> Numbers:
        """Formats numbers in the report's language."""
        return Numbers(self.language)

    # ---------------------------------------------------------------- what was compared

    @cached_property
    def engine_title(self) -> str:
        return self.environment.get("engine_title") or plain(self.plan.engine)

    @cached_property
    def client(self) -> str | None:
        """The benchmark's name for titles, such as ``Sysbench``; None for others or a mixture."""
        names = {workload.name for workload in self.comparison.workloads}
        if all(name.startswith("oltp_") for name in names):
            return "Sysbench"
        if all(name.startswith("ycsb_") for name in names):
            return "YCSB"
        if all(name.startswith("tpch_") for name in names):
            return "TPC-H"
        return "TPC-C" if names == {"tpcc"} else None

    @cached_property
    def common_parameters(self) -> dict[str, Value]:
        first, *others = (self.plan.sides[side].parameters for side in self.comparison.sides)
        return dict(
            item for item in first.items() if all(item in other.items() for other in others)
        )

    @cached_property
    def sides(self) -> dict[Side, ReportSide]:
        return {side: self._side(side) for side in self.comparison.sides}

    @property
    def has_verdicts(self) -> bool:
        """Whether two sides were compared; a campaign of one version has figures only."""
        return self.comparison.has_verdicts

    def _side(self, side: Side) -> ReportSide:
        spec, facts = self.plan.sides[side], self.campaign.facts.get(side)
        return ReportSide(
            side=side,
            label=self._label(side),
            version=spec.label,
            server=plain(facts.version) if facts else None,
            git_hash=plain(facts.git_hash) if facts and facts.git_hash else None,
            parameters={
                k: v for k, v in spec.parameters.items() if k not in self.common_parameters
            },
            dataset_checksum=facts.dataset_checksum if facts else None,
            rows=sum(facts.rows.values()) if facts and facts.rows else None,
        )

    def _label(self, side: Side) -> str:
        apart, version = [], self.plan.sides[side].label
        if self.has_verdicts and len({spec.label for spec in self.plan.sides.values()}) == 1:
            apart.append(self.language.text(side_name(side)))
        if side == "candidate" and self.plan.slowdown_pct:
            limit = self.numbers.limit(self.plan.slowdown_pct)
            apart.append(self.language.say("label-slowdown", limit=limit))
        if not apart:
            return version
        return self.language.say("label-apart", version=version, apart=items(apart, self.language))

    # ---------------------------------------------------------------- where it was measured

    @cached_property
    def environment(self) -> dict[str, str]:
        """The recorded facts about run, hosts and programs, each value on one line."""
        return {plain(k): plain(v) for k, v in self.campaign.environment.items()}

    @cached_property
    def page(self) -> str | None:
        """The address of the campaign's page on the benchmark site; None if it was not recorded."""
        recorded = self.environment.get(PAGE, "")
        return recorded if _ADDRESS.fullmatch(recorded) else None

    @cached_property
    def engine_caveat(self) -> str | None:
        """What to bear in mind with this engine's figures; None if there is nothing."""
        caveat = self.environment.get("engine_caveat")
        return self.language.say(caveat) if caveat else None

    @cached_property
    def machine(self) -> dict[str, str]:
        return {k: v for k, v in self.environment.items() if k.startswith(_MACHINE)}

    @cached_property
    def software(self) -> dict[str, str]:
        """The versions of programs on the hosts; for TPC-C, ``client`` replaces ``sysbench``."""
        versions = {
            k: v
            for k, v in self.environment.items()
            if not k.startswith(_MACHINE) and k not in _ELSEWHERE
        }
        if self.client != "TPC-C" or "client_version" not in self.environment:
            return versions
        versions.pop("sysbench", None)
        return {"client": self.environment["client_version"], **versions}

    @cached_property
    def fleet(self) -> hardware.FleetHardware | None:
        """The fleet's hosts; None if the campaign ran on one machine."""
        return hardware.fleet_hardware(self.campaign)

    @cached_property
    def servers(self) -> tuple[software_module.Row, ...]:
        """A cluster's servers with their versions; empty if none are recorded."""
        return software_module.servers(self.campaign, self.language)

    @cached_property
    def parameter_blocks(self) -> tuple[software_module.Block, ...]:
        """A cluster's parameters by component."""
        return software_module.blocks(self.campaign, self.language)

    @cached_property
    def variables(self) -> Differences:
        return differences(self.campaign.facts, self.plan.sides)

    @property
    def restored_dataset(self) -> bool:
        """Whether the dataset came from a dataset snapshot and was not loaded."""
        return self.campaign.restored_dataset

    @property
    def dataset_saved_by(self) -> str:
        """Which campaign saved the dataset snapshot: ``this`` or an ``earlier`` one."""
        return "this" if self.environment.get("dataset") == "new snapshot" else "earlier"

    # ---------------------------------------------------------------- what came out

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The workloads, in the plan's order or that of the document whose layout is used."""
        found = [Section(title_of(w.name), w) for w in self.comparison.workloads]
        document = self.spec.published if self.spec.layout == "published" else None
        order = document.tables.workloads if document and document.tables else ()
        places = {name: place for place, name in enumerate(order)}
        return tuple(sorted(found, key=lambda one: places.get(one.figures.name, len(places))))

    @cached_property
    def quality(self) -> result_quality.Quality:
        return result_quality.quality_of(
            self.campaign, self.comparison, self.results, self.language
        )

    def gates(self, kind: GateKind) -> list[result_quality.GateTally]:
        """The gates of a class."""
        return [gate for gate in self.quality.gates if gate.kind == kind]

    @cached_property
    def consistency(self) -> result_quality.Consistency | None:
        """Whether the datasets met their consistency conditions; None where there are none."""
        return result_quality.consistency_of(self.campaign, self.language)

    @cached_property
    def hosts(self) -> hosts_module.Hosts:
        roles = self.fleet.role_of if self.fleet else {}
        return hosts_module.host_tables(self.comparison, self.results, roles)

    @cached_property
    def calibration(self) -> tuple[str, ...]:
        """The ids of the A/A campaigns used for the deployment variance; empty if none are used."""
        if all(section.figures.aa_campaigns == 0 for section in self.sections):
            return ()
        return tuple(plain(campaign) for campaign in self.comparison.calibration.campaigns)

    @cached_property
    def earlier(self) -> tuple[str, ...]:
        """The ids of the campaigns with two versions used for it; empty if none are used."""
        if all(section.figures.earlier_campaigns == 0 for section in self.sections):
            return ()
        return tuple(plain(campaign) for campaign in self.comparison.calibration.earlier)

    @property
    def is_calibrated(self) -> bool:
        """Whether other campaigns show how deployments differ."""
        return bool(self.calibration or self.earlier)


def build(
    campaign: Campaign,
    comparison: Comparison,
    results: Sequence[TrialResult],
    *,
    language: Language | None = None,
    series: Mapping[str, tuple[PairSeries, ...]] | None = None,
    validation: Validation | None = None,
    causes: Causes = NO_CAUSES,
) -> Report:
    """Build the report of a campaign, without secrets; in English if ``language`` is None.

    For a campaign of one version, the message ``<id>-single`` replaces ``<id>`` where it exists;
    with ``design: watch``, the message ``<id>-watch``.
    """
    said = language or english()
    if not comparison.has_verdicts:
        said = load(said.code, FORM_OF_ONE)
    elif campaign.plan.screening_rounds is not None:
        said = load(said.code, FORM_OF_WATCH)
    campaign = redaction.of_campaign(campaign)
    campaign = dataclasses.replace(
        campaign,
        id=plain(campaign.id),
        origin=plain(campaign.origin),
    )
    return Report(said, campaign, comparison, results, series or {}, validation, causes)
