"""The results of a campaign: its trials with samples and gates, and the facts of its sides.

Example:
    ``trial_result.value("tps")`` is a throughput in transactions per second, or None.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from benchlab.hosts.samples import HostFigures
from benchlab.language import Message, Said, message
from benchlab.plan.fields.client import Client
from benchlab.plan.fields.schedule import turn
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec, Side
from benchlab.results import looks, screening
from benchlab.results.looks import Look
from benchlab.results.screening import Screening

# Keys of Campaign.environment, in this order: about how many dollars the hosts cost until they were
# given back; why measuring ended before the plan did (a `Stop`); spot hosts; hosts replaced, by how
# many trials were measured before (`5: tikv-2, pd-1; 9: tikv-2`); how many were measured
# before each resumption (`5, 9`); the address of the campaign's page on the benchmark site.
SPENT = "spent_usd"
STOPPED = "stopped_by"
SPOT_HOSTS = "spot_hosts"
REPLACED = "replaced_hosts"
RESUMED = "resumed_after"
PAGE = "campaign_page"
# The script that installed TiUP on the client's host, its hash (key `tiup_script_sha256`), and if
# it differs from the one before: that one's day and hash (`2026-11-20 5e88...`).
SCRIPT = "tiup_script"
SCRIPT_BEFORE = "tiup_script_before"
HASH_OF = "{}_sha256"
# Before the id of the campaign of which another one measures a pair of trials again: its origin.
REPRODUCES = "benchlab reproduce "
# The ids of two campaigns that are compared as one: `before, after`.
TWO_CAMPAIGNS = "two_campaigns"
Stop = Literal["limit", "lifetime", "lost", "deployment", "changed"]
"""Why measuring stopped early: the budget's limit, the rented hosts' expiry, lost hosts, a failed
deployment, or an existing server that was upgraded."""

State = Literal["running", "complete", "failed"]
GateStatus = Literal["pass", "fail", "not evaluated"]
GateKind = Literal["validity", "symptom"]
"""A failed gate of validity makes its trial invalid; a failed symptom is kept and shown."""


@dataclass(frozen=True)
class Sample:
    """One metric of one trial; ``value`` is None where the client printed none."""

    metric: str
    value: float | None
    unit: str = field(default="", compare=False)


Unit = Literal["", "share", "%", "s", "ms", "d", "σ", "×"]


@dataclass(frozen=True)
class GateResult:
    """What one gate found, and what it allows.

    Example:
        ``GateResult("drift", "fail", 0.09, most=0.05, unit="share").why`` says in any language that
        9 % was found and at most 5 % is allowed.

    Attributes:
        observed: in ``unit``; None if the gate was not evaluated or found no number.
        least, most: inclusive bounds; None for no bound on that side.
        own: the sentence that holds when it passes, for a gate without a message in the locale
            files.
    """

    gate: str
    status: GateStatus
    observed: float | None
    own: str = ""
    kind: GateKind = "validity"
    least: float | None = None
    most: float | None = None
    unit: Unit = ""

    @property
    def sentence(self) -> Said:
        """The sentence that holds when it passes."""
        return self.own or message(f"gate-{self.gate.replace('_', '-')}", **self._limits)

    @property
    def found(self) -> Said:
        """The observed value with its unit; "no number" where there is none."""
        return message("no-number") if self.observed is None else self._figure(self.observed)

    @property
    def bounds(self) -> Message:
        """The allowed range, with units; "unknown" where the store has no bound."""
        limits = self._limits
        which = "both" if len(limits) == 2 else next(iter(limits), "unknown")
        return message(f"bounds-{which}", **limits)

    @property
    def why(self) -> Message:
        """Why its trial is invalid: the gate with what it found and allows."""
        said = {"sentence": self.sentence, "found": self.found, "bounds": self.bounds}
        return message("reason-invalid", gate=self.gate, **said)

    @property
    def _limits(self) -> dict[str, str]:
        limits = {"least": self.least, "most": self.most}
        return {name: self._figure(at) for name, at in limits.items() if at is not None}

    def _figure(self, value: float) -> str:
        if self.unit == "share":
            return f"{100 * value:.4g} %"
        return f"{value:.6g} {self.unit}".rstrip()


@dataclass(frozen=True)
class TrialResult:
    """One attempt of a trial, with its samples and gates.

    Attributes:
        attempt: 1 for the first measurement of its block, 2 and 3 for repeats.
        valid: whether its client ran and every gate of validity that could be evaluated passed.
        reasons: why it is invalid; empty if it is valid.
        phases: seconds spent in each phase (restore, start, ready, warm-up, run, collect).
        adopted: whether a task that died had started its client, which was then taken over.
        raw, series: names of the client's output and of its per-interval values under the object
            root; None if no client ran.
        hosts: likewise of the host metrics, second by second; None if they were not sampled.
        host_figures: the host metrics as means and maxima, one entry per host.
        counts: where what a query took of the servers is kept; None where that is not known.
    """

    trial: PlannedTrial
    attempt: int
    valid: bool
    reasons: tuple[Said, ...]
    samples: tuple[Sample, ...]
    gates: tuple[GateResult, ...]
    started_at: datetime
    ended_at: datetime
    phases: dict[str, float] = field(default_factory=dict)
    adopted: bool = False
    raw: str | None = None
    series: str | None = None
    hosts: str | None = None
    host_figures: tuple[HostFigures, ...] = ()
    counts: str | None = None

    @property
    def executed(self) -> bool:
        """Whether its client ran; False where, for instance, the side could not be started."""
        return self.raw is not None

    @property
    def figures(self) -> dict[str, float | None]:
        """Values by metric; None where the client printed none."""
        return {sample.metric: sample.value for sample in self.samples}

    def value(self, metric: str) -> float | None:
        """The value of one metric, in its sample's unit; None if it is missing."""
        return self.figures.get(metric)


TrialKey = tuple[str, int]
"""A trial's id and its attempt."""


@dataclass(frozen=True)
class TrialFigures:
    """Some metrics of a trial, and why it is invalid; None where the client printed no value."""

    valid: bool
    reasons: tuple[Said, ...]
    values: dict[str, float | None]


@dataclass(frozen=True)
class InstanceFacts:
    """One server of a side that has several.

    Attributes:
        host: name of its host in the fleet.
        component: ``pd``, ``tikv`` or ``tidb``.
        version: as the server reports it.
        git_hash: of its source; None if the server does not report it, as for the others below.
        config_digest: digest of its effective configuration, equal for servers configured alike.
        built_at: when it was built.
    """

    host: str
    component: str
    version: str
    git_hash: str | None = None
    config_digest: str | None = None
    built_at: str | None = None


Moment = Literal["load", "last trial"]
"""The event after which a dataset's consistency was checked."""


@dataclass(frozen=True)
class Condition:
    """The result of checking one consistency condition of a dataset.

    Attributes:
        clause: of the benchmark's standard, such as ``3.3.2.1`` of TPC-C.
        sentence: what holds if the condition is met.
        violations: number of rows, or groups of rows, that violate it.
    """

    clause: str
    sentence: str
    violations: int

    @property
    def fault(self) -> Message:
        """The violation, as part of a sentence."""
        return message(
            "condition-fault",
            clause=self.clause,
            sentence=self.sentence,
            violations=self.violations,
        )


@dataclass(frozen=True)
class SideFacts:
    """What was found on a deployed side.

    Attributes:
        version: as the server reports it.
        git_hash: of its source; None if the server does not report it.
        variables: its effective settings.
        dataset_checksum: of the loaded tables, taken before the snapshot.
        rows: row counts by table.
        instances: its servers, if it is a cluster.
        consistency: the conditions of its dataset, by when they were checked; empty if the
            dataset has none.
        about: what else the server reports about its build, under its own names: ``Edition``,
            ``Git Branch``, ``UTC Build Time``.
        idle: what its servers count in a second without any query, by count; empty if that was not
            measured.
    """

    version: str
    git_hash: str | None
    variables: dict[str, str]
    dataset_checksum: str | None = None
    rows: dict[str, int] = field(default_factory=dict)
    instances: tuple[InstanceFacts, ...] = ()
    consistency: dict[Moment, tuple[Condition, ...]] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)
    idle: dict[str, float] = field(default_factory=dict)


def rows_of(checksum: str) -> str:
    """The part of a dataset's checksum that is equal on all clusters with the same rows.

    Example:
        ``rows_of("sbtest1:20:4100+8873 sbtest2:20:4096+12")`` is
        ``"sbtest1:20:4100 sbtest2:20:4096"``.
    """
    return re.sub(r"\+\d+", "", checksum)


def inconsistencies(facts: Mapping[Side, SideFacts]) -> dict[Side, tuple[Message, ...]]:
    """Why a side's figures cannot be trusted: its dataset lost its consistency.

    One sentence for each condition violated after the last trial. Sides without violations are
    omitted, whether they were checked or not.
    """
    lost = {
        side: tuple(
            message("reason-after-last-trial", fault=condition.fault)
            for condition in found.consistency.get("last trial", ())
            if condition.violations
        )
        for side, found in facts.items()
    }
    return {side: sentences for side, sentences in lost.items() if sentences}


@dataclass(frozen=True)
class StoredVerdict:
    """What was decided on one metric of one workload when its report was last published.

    Attributes:
        verdict: the decision rule's, also in an A/A campaign.
        estimate_pct, low_pct, high_pct: the change and its 95 % interval; None if unknown.
        rule: the number of the decision rule (``analysis.verdict.decision.RULE``).
    """

    workload: str
    metric: str
    verdict: Annotated[
        str, Field(pattern="^(regression|improvement|equivalent|inconclusive|unstable)$")
    ]
    estimate_pct: float | None
    low_pct: float | None
    high_pct: float | None
    p_adjusted: float | None
    rule: int

    @property
    def ci95_pct(self) -> tuple[float, float] | None:
        """The 95 % interval in percent; None if a bound is unknown."""
        low, high = self.low_pct, self.high_pct
        return None if low is None or high is None else (low, high)


@dataclass(frozen=True)
class Failure:
    """Why a campaign failed, why it could not be given back, or both.

    Example:
        ``Failure("register", ("port 4000 is taken",)).overcome(["register"])`` is None.

    Attributes:
        of: the task or stage that failed, such as ``register``; empty for the whole campaign.
        said: the lines of its error, the most important first.
        held: the lines of the error of giving back; empty once that has succeeded.
    """

    of: str
    said: tuple[Said, ...]
    held: tuple[Said, ...] = ()

    @property
    def lines(self) -> tuple[Said, ...]:
        """All lines; those about hosts not given back come first, because hosts may cost money."""
        return (*self.held, *self.said)

    @property
    def stage(self) -> str:
        """The task or stage of the first line; empty for the whole campaign."""
        return GIVE_BACK[0] if self.held else self.of

    def followed_by(self, of: str, said: tuple[Said, ...]) -> Failure:
        """This failure after another one; a failure to give back does not replace the first."""
        return replace(self, held=said) if of in GIVE_BACK else replace(self, of=of, said=said)

    def overcome(self, stages: Collection[str]) -> Failure | None:
        """What is left of this failure once these stages have succeeded; None if nothing is."""
        held = () if any(stage in GIVE_BACK for stage in stages) else self.held
        left = Failure("", (), held) if self.of in stages else replace(self, held=held)
        return left if left.lines else None


NO_FAILURE = Failure("", ())
GIVE_BACK = ("give back", "give_back")
"""The stage that gives a campaign back, and its task."""


class _Timed:
    """Something with a start and, once it has ended, an end."""

    started_at: datetime
    ended_at: datetime | None

    @property
    def took(self) -> timedelta | None:
        """How long it took; None until it has ended, or if the clock was set back meanwhile."""
        if self.ended_at is None or self.ended_at < self.started_at:
            return None
        return self.ended_at - self.started_at


@dataclass(frozen=True)
class CampaignSummary(_Timed):
    """A campaign as lists show it, without its plan and its trials.

    Attributes:
        versions: labels by side.
        measures_noise: whether it is an A/A campaign.
        canary_pct: the slowdown that its schedule planted; None: it is no canary.
        workloads: those planned, in the order of its report type.
        verdicts: throughput before p95 latency; empty until a report is published.
        failure: as :meth:`benchlab.results.store.Store.failure`.
    """

    id: str
    report: str
    engine: str
    versions: dict[Side, str]
    measures_noise: bool
    canary_pct: float | None
    workloads: tuple[str, ...]
    state: State
    origin: str
    started_at: datetime
    ended_at: datetime | None
    verdicts: tuple[StoredVerdict, ...]
    failure: Failure | None = None

    @property
    def compared(self) -> str:
        """Its versions, the candidate first as in titles: ``v6.5.0 vs. v6.1.0``."""
        return " vs. ".join(reversed(self.versions.values()))


@dataclass(frozen=True)
class ReportSummary:
    """A report type as overviews show it.

    Attributes:
        workloads: all that its campaigns planned, those of the newest campaign first.
        campaigns: how many there are.
        newest: the campaign started last, whatever its state.
        decided: by workload, the newest campaign with a verdict on it, neither A/A nor a canary nor
            a reproduction.
    """

    report: str
    workloads: tuple[str, ...]
    campaigns: int
    newest: CampaignSummary
    decided: Mapping[str, CampaignSummary]


@dataclass(frozen=True)
class CampaignEnvironment:
    """A campaign's :attr:`Campaign.environment`, read without its plan."""

    report: str
    started_at: datetime
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Remarks:
    """What people noted on a campaign, such as ``Remarks("slow disk", ("before-upgrade",))``.

    Reports do not contain it.

    Attributes:
        note: free text; may be empty.
        tags: sorted words by which campaigns can be found.
    """

    note: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Campaign(_Timed):
    """One campaign as stored.

    Attributes:
        report_type: as it was run, overrides applied; stored and bundled under the name ``spec``.
        engine_reason: why this engine was chosen.
        origin: how it was started: ``benchlab run`` or the Airflow run.
        environment: facts about the machine: cores, memory, kernel, tool versions. For a fleet
            instead a line per role (``tikv_hosts``), the ``zone`` if known, and where the
            ``dataset`` came from (``load``, ``snapshot`` or ``new snapshot``). The
            ``client_program`` that was chosen and the version it reports (``client_version``).
            If the target knows them, facts about the engine: ``engine_title``, ``engine_caveat``
            (a message's id) and ``ignored_errors`` (numbers, comma-separated). For rented hosts
            also :data:`SPENT`, :data:`STOPPED`, :data:`SPOT_HOSTS` and :data:`REPLACED`; if the
            campaign was resumed, :data:`RESUMED`; if Airflow knows its own address, :data:`PAGE`.
        planned_for: the time as of which its versions were chosen, with a time zone; for a backfill
            long before the run. None for the time of the run.
    """

    id: str
    plan: Plan
    report_type: Annotated[ReportSpec, Field(alias="spec")]
    engine_reason: Said
    origin: str
    state: State
    started_at: datetime
    ended_at: datetime | None
    environment: dict[str, str]
    facts: dict[Side, SideFacts]
    planned_for: datetime | None = None

    @property
    def at(self) -> datetime:
        """The time as of which its versions were chosen; campaigns are ordered by it."""
        return self.planned_for or self.started_at

    @property
    def screening(self) -> Screening | None:
        """What its screening showed; None before it has ended, and with another design."""
        return screening.found(self.environment)

    @property
    def looks(self) -> tuple[Look, ...]:
        """What its looks decided so far; none with another design than ``release``."""
        return looks.found(self.environment)

    @property
    def wanted(self) -> Plan:
        """Its plan without what it is not known to need, and what it no longer needs."""
        known = self.screening
        screened = self.plan.confirming(() if known is None else known.confirming)
        return screened.without(looks.left(self.looks))

    @property
    def is_unscreened(self) -> bool:
        """Whether it is not decided yet what is confirmed."""
        return self.plan.screening_rounds is not None and self.screening is None

    @property
    def client(self) -> Client:
        """The report type's client, with the program chosen for this campaign, if any."""
        chosen = self.environment.get("client_program", self.report_type.client.program)
        return self.report_type.client.model_copy(update={"program": chosen})

    @property
    def client_path(self) -> str | None:
        """The path of the client's program; None to use its command's own name."""
        return self.environment.get("client_path", self.report_type.client.path)

    @property
    def resumed_after(self) -> tuple[str, ...]:
        """How many trials were measured before each resumption, as text: ``("5", "9")``."""
        return tuple(re.findall(r"[0-9]{1,6}", self.environment.get(RESUMED, "")))

    @property
    def restored_dataset(self) -> bool:
        """Whether its sides were restored from a dataset snapshot, its own or an earlier one."""
        return "snapshot" in self.environment.get("dataset", "")

    @property
    def is_aa(self) -> bool:
        """Whether both sides are the same and neither is slowed down, so only noise is measured.

        Only such campaigns calibrate: a change found by any other is no false alarm.
        """
        return self.report_type.sides == "same" and not self.plan.slowdown_pct

    @property
    def is_reproduction(self) -> bool:
        """Whether it measures a pair of another campaign again, and counts for nothing else."""
        return self.origin.startswith(REPRODUCES)

    @property
    def is_canary(self) -> bool:
        """Whether its schedule, and no person, wanted its candidate slowed down."""
        if not self.plan.slowdown_pct or self.planned_for is None:
            return False
        wanted = turn(self.report_type.schedule, self.planned_for).canary
        return wanted is not None and wanted.pct == self.plan.slowdown_pct
