"""What a campaign brings: trials with their samples, gates and reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from benchlab.hosts.samples import HostFigures
from benchlab.language import Message, message
from benchlab.plan.order import PlannedTrial
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import Client, RecordedSpec, Side

ID = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,149}"
"""What the id of a campaign, or of a published report, looks like."""
GateStatus = Literal["pass", "fail", "not evaluated"]
GateKind = Literal["validity", "symptom"]
"""Of a gate: whether a failure makes its trial invalid, or is kept and shown."""

# Unit of every metric that a sample can have.
UNITS = {
    "tps": "1/s",
    "qps": "1/s",
    "tpmc": "1/min",
    "p95_ms": "ms",
    "avg_ms": "ms",
    "min_ms": "ms",
    "max_ms": "ms",
    "duration_s": "s",
    "errors": "1",
    "reconnects": "1",
    "tpm_total": "1/min",
    "efficiency_pct": "%",
    "new_order_p50_ms": "ms",
    "new_order_p90_ms": "ms",
    "new_order_p95_ms": "ms",
    "new_order_p99_ms": "ms",
}


@dataclass(frozen=True)
class Sample:
    """One metric of one trial; ``value`` is None where the client printed none."""

    metric: str
    value: float | None

    @property
    def unit(self) -> str:
        """The unit of the metric."""
        return UNITS[self.metric]


@dataclass(frozen=True)
class GateResult:
    """What one gate found; ``observed`` is None where it was not evaluated, or is no number."""

    gate: str
    status: GateStatus
    observed: float | None
    sentence: str
    kind: GateKind = "validity"


@dataclass(frozen=True)
class TrialResult:
    """One executed trial.

    Attributes:
        attempt: 1 for the first measurement of its pair of blocks, 2 for the next, ...
        valid: every gate of validity that could be evaluated passed.
        reasons: why it is invalid, as sentences; empty where it is valid.
        phases: seconds spent in each phase (restore, start, ready, warm-up, run, collect).
        adopted: its client was started by a task that died, and taken over.
        raw, series: where the client's output and the per-interval values are kept, relative
            to the root of the object store; None where no client ran.
        hosts: where what the hosts did during the run is kept, second by second; None where it
            was not sampled.
        host_figures: the same, summed up; an entry per host.
    """

    trial: PlannedTrial
    attempt: int
    valid: bool
    reasons: tuple[str, ...]
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

    @property
    def executed(self) -> bool:
        """Its client ran; False where the side could not even be brought to run."""
        return self.raw is not None

    @property
    def figures(self) -> dict[str, float | None]:
        """The values by metric; None where the client printed none."""
        return {sample.metric: sample.value for sample in self.samples}

    def value(self, metric: str) -> float | None:
        """The value of one metric; None where it is missing."""
        return self.figures.get(metric)


@dataclass(frozen=True)
class InstanceFacts:
    """One server of a side that has several.

    Attributes:
        host: name of its host in the fleet.
        component: what it is: ``pd``, ``tikv`` or ``tidb``.
        version: as it writes it itself.
        git_hash: of its source; None where it does not report it.
        config_digest: of its effective configuration, the same for servers that are configured
            alike; None where it does not report it.
    """

    host: str
    component: str
    version: str
    git_hash: str | None = None
    config_digest: str | None = None


Moment = Literal["load", "last trial"]
"""When a dataset's consistency was checked: after it."""


@dataclass(frozen=True)
class Condition:
    """One condition that a consistent dataset meets, as it was found.

    Attributes:
        clause: of the benchmark's standard, as ``3.3.2.1``.
        sentence: what holds where it is met.
        violations: rows or groups of rows for which it does not hold.
    """

    clause: str
    sentence: str
    violations: int

    @property
    def fault(self) -> Message:
        """What is wrong where it does not hold, as a part of a sentence."""
        return message(
            "condition-fault",
            clause=self.clause,
            sentence=self.sentence,
            violations=self.violations,
        )


@dataclass(frozen=True)
class SideFacts:
    """What was found on a deployed side, before its first trial.

    Attributes:
        version: what the server says of itself.
        git_hash: of its source; None where the server does not report it.
        variables: its effective variables.
        dataset_checksum: of the loaded tables, taken before the snapshot.
        rows: row counts by table.
        instances: its servers, where it is a cluster.
        consistency: the conditions of its dataset, by when they were checked; empty where the
            workload has none.
    """

    version: str
    git_hash: str | None
    variables: dict[str, str]
    dataset_checksum: str | None = None
    rows: dict[str, int] = field(default_factory=dict)
    instances: tuple[InstanceFacts, ...] = ()
    consistency: dict[Moment, tuple[Condition, ...]] = field(default_factory=dict)


def inconsistencies(facts: Mapping[Side, SideFacts]) -> dict[Side, tuple[Message, ...]]:
    """Why a side's figures cannot be trusted: conditions that its dataset lost while measured.

    A sentence for each condition that was found violated after the last trial; a side without
    any is left out, be it that all hold or that they were not checked.
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
class Campaign:
    """One campaign as the store knows it.

    Attributes:
        state: ``running``, ``complete`` or ``failed``.
        report_type: as it was run, overrides applied; stored and bundled under the name ``spec``.
        engine_reason: why this engine was taken.
        origin: how it was started: ``benchlab run`` or the Airflow run.
        environment: facts of the machine: cores, memory, kernel, tool versions; of a fleet a
            line per role instead (``tikv_hosts``), the ``zone`` if known, and where the
            ``dataset`` came from; the ``client_program`` that was chosen and what it calls itself
            (``client_version``). And, where the target knows them, of the engine: ``engine_title``,
            ``engine_caveat`` (a sentence) and ``ignored_errors`` (numbers, comma-separated).
        planned_for: the moment whose versions it compares, with a time zone: of a backfill that
            moment, long before it was run. None: when it was run.
    """

    id: str
    plan: Plan
    report_type: Annotated[RecordedSpec, Field(alias="spec")]
    engine_reason: str
    origin: str
    state: Literal["running", "complete", "failed"]
    started_at: datetime
    ended_at: datetime | None
    environment: dict[str, str]
    facts: dict[Side, SideFacts]
    planned_for: datetime | None = None

    @property
    def at(self) -> datetime:
        """Its place in the order of the versions."""
        return self.planned_for or self.started_at

    @property
    def client(self) -> Client:
        """How the client is called; its program as it was chosen, where it has been."""
        chosen = self.environment.get("client_program", self.report_type.client.program)
        return self.report_type.client.model_copy(update={"program": chosen})

    @property
    def client_path(self) -> str | None:
        """What is started as the client; None: what its command says."""
        return self.environment.get("client_path")

    @property
    def is_aa(self) -> bool:
        """Both sides are the same, and neither is slowed down: the campaign measures noise.

        Only such a campaign calibrates: what another one finds is no false alarm.
        """
        return self.report_type.sides == "same" and not self.plan.slowdown_pct
