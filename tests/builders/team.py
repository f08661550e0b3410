"""What a team has after some months: TiDB's releases compared, a weekly run, a rejected trial.

All of it is made up but ends today, so that it is what pages show by themselves.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from benchlab.analysis.verdict.compare import verdicts_of
from benchlab.campaign.outcome import Comparer
from benchlab.home import Home
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import SIDES
from benchlab.results.findings import Sought
from benchlab.results.records import SPENT, Failure, GateResult, TrialResult
from benchlab.results.store import Store
from tests.builders import campaigns

RELEASES, WEEKLY = "sysbench_ec2", "sysbench_ec2_weekly"
WORKLOADS = (
    *("oltp_point_select", "oltp_read_write", "oltp_update_index", "oltp_update_non_index"),
)
# Every patch since the first one, and the one that made index updates slower.
VERSIONS = (
    *("v7.5.4", "v7.5.5", "v7.5.6", "v7.5.7", "v8.1.0", "v8.1.1", "v8.1.2", "v8.5.0"),
    *("v8.5.1", "v8.5.2", "v8.5.3", "v8.5.4", "v8.5.5", "v8.5.6", "v8.5.7"),
)
SLOWER, SLOWER_BY, SLOWER_WORKLOAD = "v8.5.3", 0.08, "oltp_update_index"
NEWEST = f"releases-{VERSIONS[-1]}"
# Who looked into it, and what they said.
WHO, WHY = "ann", "the new default of tidb_txn_mode"
# The trial of the newest one that was measured again.
REJECTED = "r1-baseline-oltp_update_index-t150"
WEEKS, FAILED_WEEK = 6, 2
_TPS: Mapping[str, float] = dict(zip(WORKLOADS, (92_000, 3_400, 21_000, 33_000), strict=True))
_NOISE = 0.004


def fill(home: Home, store: Store, now: datetime | None = None) -> None:
    """Fill a store with all of it: two report types of the house, the newest runs of today."""
    team = _Team(home, store, now or datetime.now(UTC))
    for number, (baseline, candidate) in enumerate(pairwise(VERSIONS), 2):
        change = {SLOWER_WORKLOAD: -SLOWER_BY} if candidate == SLOWER else {}
        ago = timedelta(weeks=4 * (len(VERSIONS) - number), hours=12)
        name = f"releases-{candidate}"
        team.add(name, RELEASES, (baseline, candidate), ago, change, spent=46.4)
    for week in range(WEEKS):
        ago = timedelta(weeks=WEEKS - 1 - week, hours=8)
        is_failed = week == FAILED_WEEK
        name, pair = f"weekly-{week + 1}", ("v8.5.4", "v8.5.7")
        spent = 0.8 if is_failed else 44.9
        team.add(name, WEEKLY, pair, ago, spent=spent, is_failed=is_failed)
    (slower,) = store.findings.found(Sought(RELEASES))
    store.findings.mark(slower.id, "known", WHO, WHY)


class _Team:
    def __init__(self, home: Home, store: Store, now: datetime) -> None:
        self._store, self._now = store, now
        self._comparer, self._dice = Comparer(home, store), random.Random(1)

    def add(
        self,
        name: str,
        report: str,
        versions: tuple[str, str],
        ago: timedelta,
        changes: Mapping[str, float] | None = None,
        *,
        spent: float,
        is_failed: bool = False,
    ) -> None:
        """A campaign that began so long ago."""
        sides = {side: {"version": v} for side, v in zip(SIDES, versions, strict=True)}
        told = {"zone": "us-west-2a", SPENT: f"{spent:.2f}"}
        made = campaigns.fleet_campaign(
            id=name, report=report, engines={"tidb": sides}, environment=told,
            workloads=list(WORKLOADS), threads=[150, 600], rounds=6, seconds=60,
            deployments=3,
        )  # fmt: skip
        # The newest ones count in this month, also on its first day.
        month = self._now.replace(day=1, hour=0, minute=0)
        began = max(self._now - ago, month) if ago < timedelta(days=1) else self._now - ago
        took = timedelta(minutes=8 if is_failed else made.plan.minutes)
        made = dataclasses.replace(
            made, started_at=began, ended_at=began + took, planned_for=began,
            state="failed" if is_failed else "complete", origin="Airflow",
        )  # fmt: skip
        self._store.add_campaign(made)
        if is_failed:
            full = "us-west-2a has no capacity for 3 x i3.4xlarge: try another zone, or later"
            self._store.fail(name, Failure("provision", (full,)))
            return
        drift = {one: self._dice.gauss(0, _NOISE) for one in WORKLOADS}
        for trial in made.plan.trials:
            ratio = drift[trial.workload] + math.log1p((changes or {}).get(trial.workload, 0.0))
            tps = _TPS[trial.workload] * math.sqrt(trial.threads / 150)
            tps *= math.exp(ratio * (trial.side == "candidate") + self._dice.gauss(0, _NOISE))
            # A rejected trial's whole block is measured again.
            is_repeated = name == NEWEST and (trial.workload, trial.round) == (SLOWER_WORKLOAD, 1)
            first = _disturbed if is_repeated and trial.id == REJECTED else _measured
            results = [first(trial, tps), *([_measured(trial, tps, 2)] * is_repeated)]
            for result in results:
                at = began + timedelta(minutes=12 + 2 * trial.index + 10 * (result.attempt - 1))
                times: dict[str, Any] = {"started_at": at, "ended_at": at + timedelta(seconds=60)}
                if name == NEWEST and trial.workload == SLOWER_WORKLOAD:
                    times |= self._series(name, result)
                self._store.add_trial(name, dataclasses.replace(result, **times))
        outcome = self._comparer.outcome(self._store.campaign(name))
        self._store.set_verdicts(name, verdicts_of(outcome.comparison))

    def _series(self, name: str, result: TrialResult) -> dict[str, str]:
        """The objects with a value of the client and the hosts for each second."""
        (tps,) = (one.value for one in result.samples if one.metric == "tps")
        own = f"{name}/{result.trial.id}-a{result.attempt}"
        client = ["t,threads,tps,qps,p95_ms,errors_per_s,reconnects_per_s"]
        hosts = ["host,t,seconds,cpu_busy,cpu_other,disk_busy,net_rx_bytes_per_s"]
        threads = result.trial.threads
        for second in range(1, result.trial.seconds + 1):
            is_hit = not result.valid and 24 <= second < 45
            at = (tps or 0) * (0.62 if is_hit else 1) * math.exp(self._dice.gauss(0, 0.02))
            p95 = 1.6 * 1000 * threads / at
            client.append(f"{second},{threads},{at:.1f},{at:.1f},{p95:.2f},0,0")
            for host, busy in (("client", 0.35), ("tidb-1", 0.7), ("tikv-1", 0.6)):
                other = 0.3 if is_hit and host == "tikv-1" else 0.01
                share = min(1.0, busy + other + self._dice.gauss(0, 0.01))
                hosts.append(f"{host},{second},1,{share:.3f},{other},{busy / 2:.3f},{at * 200:.0f}")
        return {
            "series": self._store.write_bytes(f"{own}.csv", "\n".join(client).encode()),
            "hosts": self._store.write_bytes(f"{own}.hosts.csv", "\n".join(hosts).encode()),
        }


def _measured(trial: PlannedTrial, tps: float, attempt: int = 1) -> TrialResult:
    p95 = 1.6 * 1000 * trial.threads / tps
    gate = GateResult("other_work", "pass", 0.01, most=0.05, unit="share")
    return campaigns.trial_result(trial, attempt=attempt, tps=tps, p95_ms=p95, gates=[gate])


def _disturbed(trial: PlannedTrial, tps: float) -> TrialResult:
    """The attempt beside other work, which is invalid."""
    gate = GateResult("other_work", "fail", 0.11, most=0.05, unit="share")
    made = _measured(trial, tps * 0.87)
    return dataclasses.replace(made, valid=False, reasons=(gate.why,), gates=(gate,))
