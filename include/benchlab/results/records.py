"""The results of a campaign: its trials with their samples and gates, and what its sides are.

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
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import ReportSpec, Side

# Keys of Campaign.environment: about how many dollars the hosts cost until they were given back,
# why measuring ended before the plan did (a `Stop`), which hosts were spot hosts, which were
# lost and replaced after how many trials (`5: tikv-2, pd-1; 9: tikv-2`), after how many it was
# resumed (`5, 9`), and the address of the campaign's page on the benchmark site.
SPENT = "spent_usd"
STOPPED = "stopped_by"
SPOT_HOSTS = "spot_hosts"
REPLACED = "replaced_hosts"
RESUMED = "resumed_after"
PAGE = "campaign_page"
# Which script has installed TiUP on the client's host, its hash (`SCRIPT_sha256`), and if it was
# another one than before: the day and the hash of that one (`2026-11-20 5e88...`).
SCRIPT = "tiup_script"
SCRIPT_BEFORE = "tiup_script_before"
HASH_OF = "{}_sha256"
# Of two campaigns that are compared as one: `before, after`.
TWO_CAMPAIGNS = "two_campaigns"
Stop = Literal["limit", "lifetime", "lost", "deployment", "changed"]
"""The budget's limit, the time after which rented hosts end themselves, hosts that were lost, a
deployment that failed, or a server that exists and was upgraded."""

State = Literal["running", "complete", "failed"]
GateStatus = Literal["pass", "fail", "not evaluated"]
GateKind = Literal["validity", "symptom"]
"""Whether a gate's failure makes its trial invalid, or is kept and shown."""


@dataclass(frozen=True)
class Sample:
    """One metric of one trial; ``value`` is None where the client printed none."""

    metric: str
    value: float | None
    unit: str = field(default="", compare=False)


Unit = Literal["", "share", "%", "s", "ms"]


@dataclass(frozen=True)
class GateResult:
    """What one gate found, and what it allows.

    Example:
        ``GateResult("drift", "fail", 0.09, most=0.05, unit="share").why`` says in any language that
        9 % was found and at most 5 % is allowed.

    Attributes:
        observed: in its unit; None where it was not evaluated or is not a number.
        least, most: the bounds, both included; one that is None does not bind.
        own: what holds when it passes, of a gate that the locale files have no message for.
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
        """What holds when it passes."""
        limits = {"least": self.least, "most": self.most}
        figures = {name: self._figure(at) for name, at in limits.items() if at is not None}
        return self.own or message(f"gate-{self.gate.replace('_', '-')}", **figures)

    @property
    def found(self) -> Said:
        """What it found, where it failed or passed."""
        return message("no-number") if self.observed is None else self._figure(self.observed)

    @property
    def bounds(self) -> Message:
        """What it allows."""
        if self.least is None:
            return message("bounds-most", most=self._figure(self.most or 0.0))
        if self.most is None:
            return message("bounds-least", least=self._figure(self.least))
        both = {"least": self._figure(self.least), "most": self._figure(self.most)}
        return message("bounds-both", **both)

    @property
    def why(self) -> Message:
        """Why its trial is invalid."""
        said = {"sentence": self.sentence, "found": self.found, "bounds": self.bounds}
        return message("reason-invalid", gate=self.gate, **said)

    def _figure(self, value: float) -> str:
        if self.unit == "share":
            return f"{100 * value:.4g} %"
        return f"{value:.6g} {self.unit}".rstrip()


@dataclass(frozen=True)
class TrialResult:
    """One executed trial.

    Attributes:
        attempt: 1 for the first measurement of its pair of blocks, 2 for the next, ...
        valid: whether its client ran and every gate of validity that could be evaluated passed.
        reasons: why it is invalid; empty where it is valid.
        phases: seconds spent in each phase (restore, start, ready, warm-up, run, collect).
        adopted: whether its client had been started by a task that died, and was taken over.
        raw, series: where the client's output and the per-interval values are kept, relative
            to the root of the object store; None where no client ran.
        hosts: where the host metrics of the run are kept, second by second; None where they were
            not sampled.
        host_figures: the same metrics as means and maxima, one entry per host.
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
        """The values by metric; None where the client printed none."""
        return {sample.metric: sample.value for sample in self.samples}

    def value(self, metric: str) -> float | None:
        """The value of one metric, in its unit; None where it is missing."""
        return self.figures.get(metric)


TrialKey = tuple[str, int]
"""A trial's id and its attempt."""


@dataclass(frozen=True)
class TrialFigures:
    """Some figures of a trial by metric, and why it is invalid; None: the client printed none."""

    valid: bool
    reasons: tuple[Said, ...]
    values: dict[str, float | None]


@dataclass(frozen=True)
class InstanceFacts:
    """One server of a side that has several.

    Attributes:
        host: name of its host in the fleet.
        component: ``pd``, ``tikv`` or ``tidb``.
        version: as the server itself writes it.
        git_hash: of its source; None where it is not reported.
        config_digest: of its effective configuration, the same for servers that are configured
            alike; None where it is not reported.
        built_at: when it was built; None where it is not reported.
    """

    host: str
    component: str
    version: str
    git_hash: str | None = None
    config_digest: str | None = None
    built_at: str | None = None


Moment = Literal["load", "last trial"]
"""After what a dataset's consistency was checked."""


@dataclass(frozen=True)
class Condition:
    """The result of checking one consistency condition of a dataset.

    Attributes:
        clause: of the benchmark's standard, such as ``3.3.2.1``.
        sentence: what holds where it is met.
        violations: number of rows, or groups of rows, for which it does not hold.
    """

    clause: str
    sentence: str
    violations: int

    @property
    def fault(self) -> Message:
        """What is wrong where it does not hold, as part of a sentence."""
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
        git_hash: of its source; None where the server does not report it.
        variables: its effective settings.
        dataset_checksum: of the loaded tables, taken before the snapshot.
        rows: row counts by table.
        instances: its servers, where it is a cluster.
        consistency: the conditions of its dataset, by when they were checked; empty where the
            dataset has none.
        about: what else the server says of how it was built, by its own names: ``Edition``,
            ``Git Branch``, ``UTC Build Time``.
    """

    version: str
    git_hash: str | None
    variables: dict[str, str]
    dataset_checksum: str | None = None
    rows: dict[str, int] = field(default_factory=dict)
    instances: tuple[InstanceFacts, ...] = ()
    consistency: dict[Moment, tuple[Condition, ...]] = field(default_factory=dict)
    about: dict[str, str] = field(default_factory=dict)


def rows_of(checksum: str) -> str:
    """The part of a dataset's checksum that any cluster has that stores the same rows.

    Example:
        ``rows_of("sbtest1:20:4100+8873 sbtest2:20:4096+12")`` is
        ``"sbtest1:20:4100 sbtest2:20:4096"``.
    """
    return re.sub(r"\+\d+", "", checksum)


def inconsistencies(facts: Mapping[Side, SideFacts]) -> dict[Side, tuple[Message, ...]]:
    """Why a side's figures cannot be trusted: conditions that its dataset no longer meets.

    One sentence for each condition that was violated after the last trial. Sides without violations
    are omitted, whether checked or not.
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
        verdict: as the rule calls it, in an A/A campaign as well.
        estimate_pct, low_pct, high_pct: the change and its 95 % interval; None: not known.
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
        """Its interval, as a decision has it."""
        low, high = self.low_pct, self.high_pct
        return None if low is None or high is None else (low, high)


@dataclass(frozen=True)
class LookedInto:
    """What a person found when they looked into a change of a campaign's workload.

    Attributes:
        note: what it was, or where it is written down; may be empty.
    """

    campaign: str
    workload: str
    by: str
    at: datetime
    note: str


@dataclass(frozen=True)
class Failure:
    """Why a campaign failed, and why it could not be given back; at least one of them.

    Attributes:
        of: the task or the stage that failed: ``register``; empty: the campaign as a whole.
        said: the lines of its error, the most important first.
        held: likewise why it could not be given back, until it is.
    """

    of: str
    said: tuple[Said, ...]
    held: tuple[Said, ...] = ()

    @property
    def lines(self) -> tuple[Said, ...]:
        """All that there is to say; first what still holds hosts, which may cost."""
        return (*self.held, *self.said)

    @property
    def stage(self) -> str:
        """The task or the stage of the first line; empty: the campaign as a whole."""
        return GIVE_BACK[0] if self.held else self.of

    def followed_by(self, of: str, said: tuple[Said, ...]) -> Failure:
        """The same, once another stage has failed: giving back keeps why it has failed before."""
        return replace(self, held=said) if of in GIVE_BACK else replace(self, of=of, said=said)

    def overcome(self, stages: Collection[str]) -> Failure | None:
        """What is left of it once these stages have succeeded at last."""
        held = () if any(stage in GIVE_BACK for stage in stages) else self.held
        left = Failure("", (), held) if self.of in stages else replace(self, held=held)
        return left if left.lines else None


NO_FAILURE = Failure("", ())
GIVE_BACK = ("give back", "give_back")
"""The stage that gives a campaign back, and its task."""


class _Timed:
    """What begins, and has ended or not."""

    started_at: datetime
    ended_at: datetime | None

    @property
    def took(self) -> timedelta | None:
        """How long it took; None until it has ended, and where the clock was set back meanwhile."""
        if self.ended_at is None or self.ended_at < self.started_at:
            return None
        return self.ended_at - self.started_at


@dataclass(frozen=True)
class CampaignSummary(_Timed):
    """A campaign as a list has it, without its plan and its trials.

    Attributes:
        versions: by side, with what tells builds apart.
        measures_noise: whether it is an A/A campaign.
        workloads: that it has planned, in the order of its report type.
        verdicts: throughput before p95 latency; empty while no report was published.
        failure: what failed last, and was not made good since.
    """

    id: str
    report: str
    engine: str
    versions: dict[Side, str]
    measures_noise: bool
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
    """A report type as an overview has it.

    Attributes:
        workloads: that any of its campaigns has planned, those of the newest one first.
        campaigns: how many there are.
        newest: the campaign that was started last, whatever became of it.
        decided: by workload, the newest campaign with verdicts on it that is no A/A campaign.
    """

    report: str
    workloads: tuple[str, ...]
    campaigns: int
    newest: CampaignSummary
    decided: Mapping[str, CampaignSummary]


@dataclass(frozen=True)
class CampaignEnvironment:
    """What is known of where a campaign ran: :attr:`Campaign.environment`, without its plan."""

    report: str
    started_at: datetime
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Remarks:
    """What people say of a campaign; reports do not have it.

    Attributes:
        note: a text; empty: none.
        tags: words by which campaigns are found again, sorted.
    """

    note: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Campaign(_Timed):
    """One campaign as the store knows it.

    Attributes:
        state: ``running``, ``complete`` or ``failed``.
        report_type: as it was run, overrides applied; stored and bundled under the name ``spec``.
        engine_reason: why this engine was chosen.
        origin: how it was started: ``benchlab run`` or the Airflow run.
        environment: facts about the machine: cores, memory, kernel, tool versions. For a fleet
            instead a line per role (``tikv_hosts``), the ``zone`` if known, and where the
            ``dataset`` came from (``load``, ``snapshot`` or ``new snapshot``). The
            ``client_program`` that was chosen and the version it reports (``client_version``).
            Where the target knows them, facts about the engine: ``engine_title``,
            ``engine_caveat`` (a message's id) and ``ignored_errors`` (numbers, comma-separated). Of
            rented hosts also :data:`SPENT`, :data:`STOPPED`, :data:`SPOT_HOSTS` and
            :data:`REPLACED`. If it was resumed, :data:`RESUMED`. Where Airflow knows its own
            address, :data:`PAGE`.
        planned_for: the moment whose versions it compares, with a time zone; for a backfill that is
            long before the run. None: the time of the run.
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
        """The time as of which its versions were chosen, by which campaigns are ordered."""
        return self.planned_for or self.started_at

    @property
    def client(self) -> Client:
        """How the client is called, with the program that was chosen, if one has been."""
        chosen = self.environment.get("client_program", self.report_type.client.program)
        return self.report_type.client.model_copy(update={"program": chosen})

    @property
    def client_path(self) -> str | None:
        """The path of the client's program; None: as its command names it."""
        return self.environment.get("client_path", self.report_type.client.path)

    @property
    def resumed_after(self) -> tuple[str, ...]:
        """After how many trials it was resumed, each time."""
        return tuple(re.findall(r"[0-9]{1,6}", self.environment.get(RESUMED, "")))

    @property
    def restored_dataset(self) -> bool:
        """Whether its dataset came from a dataset snapshot, and was not loaded by the client."""
        return "snapshot" in self.environment.get("dataset", "")

    @property
    def is_aa(self) -> bool:
        """Whether both sides are the same and neither is slowed down: the campaign measures noise.

        Only such a campaign calibrates; a change that any other finds is not a false alarm.
        """
        return self.report_type.sides == "same" and not self.plan.slowdown_pct
