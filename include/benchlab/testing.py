"""Builders for tests: campaigns, plans and results with known figures.

Everything here is deterministic, and every builder takes what a test is about as an argument and
fills in the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from benchlab import plan as planning
from benchlab.executor import tagged
from benchlab.plan import Plan, PlannedTrial
from benchlab.results import Campaign, GateResult, Sample, SideFacts, TrialResult
from benchlab.spec import ReportSpec, Side

START = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
READ_ONLY = ("oltp_point_select",)
QUERIES_PER_TRANSACTION = {"oltp_read_write": 20}


def spec(**fields: Any) -> ReportSpec:
    """A small valid report type; ``fields`` replace its own."""
    return ReportSpec.model_validate(
        {
            "report": "sysbench_test",
            "title": "Two releases compared",
            "target": "local",
            "engine": "mariadb",
            "engines": {
                "mariadb": {
                    "baseline": {"version": "10.2.11"},
                    "candidate": {"version": "10.11.5"},
                }
            },
            "dataset": {"tables": 4, "table_size": 10_000},
            "workloads": ["oltp_point_select", "oltp_update_index"],
            "threads": [4, 8],
            "rounds": 3,
            "seconds": 4,
            "warmup_seconds": 1,
            "restore": "every_trial",
            "seed": 1,
            **fields,
        }
    )


def plan(report_type: ReportSpec | None = None, campaign_id: str = "c1", **fields: Any) -> Plan:
    """The plan of a report type, or of :func:`spec` with ``fields``."""
    report_type = report_type or spec(**fields)
    engine = next(iter(report_type.engines)) if report_type.engine == "auto" else report_type.engine
    return planning.make(report_type, engine, campaign_id, READ_ONLY)


def campaign(
    report_type: ReportSpec | None = None,
    *,
    id: str = "c1",  # noqa: A002 - the field's name
    facts: dict[Side, SideFacts] | None = None,
    environment: dict[str, str] | None = None,
    **fields: Any,
) -> Campaign:
    """A complete campaign of a report type, or of :func:`spec` with ``fields``."""
    report_type = report_type or spec(**fields)
    made = plan(report_type, id)
    return Campaign(
        id=id,
        plan=made,
        spec=report_type.model_dump(mode="json"),
        engine_reason="the report type names it",
        origin="benchlab run",
        state="complete",
        started_at=START,
        ended_at=START + timedelta(minutes=9, seconds=30),
        environment={"cores": "2", "memory": "8 GiB", "kernel": "6.1.0", "sysbench": "1.0.20"}
        if environment is None
        else environment,
        facts={side: side_facts(each.version) for side, each in made.sides.items()}
        if facts is None
        else facts,
    )


def side_facts(version: str, **fields: Any) -> SideFacts:
    """The facts of one side; ``fields`` replace what is made up."""
    made: dict[str, Any] = {
        "version": version,
        "git_hash": None,
        "variables": {"version": version, "port": "13410", "autocommit": "ON"},
        "dataset_checksum": "40000-5eed",
        "rows": {f"sbtest{n}": 10_000 for n in range(1, 5)},
    }
    return SideFacts(**{**made, **fields})


def gate(name: str = "summary", status: str = "pass", sentence: str = "") -> GateResult:
    """One gate's result."""
    observed = None if status == "not evaluated" else 1.0
    return GateResult(name, status, observed, sentence or f"The {name} is as it should be")  # type: ignore[arg-type]


def trial_result(
    trial: PlannedTrial,
    *,
    attempt: int = 1,
    reasons: Sequence[str] = (),
    gates: Sequence[GateResult] | None = None,
    **metrics: float | None,
) -> TrialResult:
    """One executed trial with ``metrics``; invalid where there are ``reasons``.

    Without metrics it has 1,000 transactions per second and a p95 latency of 2 ms. QPS follows
    from the workload unless given.
    """
    values: dict[str, float | None] = {"tps": 1000.0, "p95_ms": 2.0, **metrics}
    tps, factor = values["tps"], QUERIES_PER_TRANSACTION.get(trial.workload, 1)
    values = {
        "qps": None if tps is None else tps * factor,
        "duration_s": float(trial.seconds),
        "errors": 0.0,
        "reconnects": 0.0,
        **values,
    }
    started = START + timedelta(minutes=20 * (attempt - 1), seconds=10 * trial.index)
    name = f"{trial.id}-a{attempt}"
    return TrialResult(
        trial=trial,
        attempt=attempt,
        valid=not reasons,
        reasons=tuple(reasons),
        samples=tuple(Sample(metric, value) for metric, value in values.items()),
        gates=tuple(gates) if gates is not None else (gate(),),
        started_at=started,
        ended_at=started + timedelta(seconds=8),
        phases={"restore": 0.4, "run": float(trial.seconds)},
        raw=f"c1/{name}/client.txt",
        series=f"c1/{name}/series.json",
    )


def results_of(
    plan: Plan,
    tps: Callable[[PlannedTrial], float | None] = lambda trial: 1000.0,
    p95_ms: Callable[[PlannedTrial], float | None] = lambda trial: 2.0,
) -> list[TrialResult]:
    """One valid result of every planned trial."""
    return [trial_result(t, tps=tps(t), p95_ms=p95_ms(t)) for t in plan.trials]


def known_change(
    changes: Mapping[str, float], noise: float = 0.0, base: float = 1000.0
) -> Callable[[PlannedTrial], float]:
    """Throughputs in which the candidate's ratio to the baseline is known by workload.

    Args:
        changes: the candidate's change, as a fraction: -0.1 is 10 % slower.
        noise: how far rounds scatter, as a fraction; balanced, so that it cancels over an
            even number of rounds.
        base: the baseline's throughput at one thread.
    """

    def tps(trial: PlannedTrial) -> float:
        value = base * math.sqrt(trial.threads)
        if trial.side == "candidate":
            swing = (1 if trial.round % 2 else -1) * noise
            value *= (1 + changes.get(trial.workload, 0.0)) * (1 + swing)
        return value

    return tps


def processes_with(variable: str) -> list[int]:
    """Pids whose environment has ``NAME=value``: what a test must find gone."""
    return list(tagged(variable))
