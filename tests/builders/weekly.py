"""Campaigns of many weeks in a results store, each of few trials."""

from __future__ import annotations

import dataclasses
import functools
import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from upath import UPath

from benchlab.home import Home
from benchlab.plan.open_loop import rate_of
from benchlab.plan.order import PlannedTrial
from benchlab.results.records import Campaign, GateResult
from benchlab.results.store import Store
from tests.builders import campaigns, plans

ROOT = Path(__file__).parents[2]
REPORT = "sysbench_test"
POINT = "oltp_point_select"
# What one campaign finds apart from the versions: some deployments are a little faster.
NOISE = 0.003


@contextmanager
def installation(path: Path, measured: int = 0) -> Iterator[Weeks]:
    """An installation of a test's own, with the house's gates; its store is empty unless
    ``measured`` weeks are there already.
    """
    home = Home(ROOT, path)
    with Store(f"sqlite:///{path}/results.db", UPath(path / "objects")) as store:
        yield Weeks(home, store, measured)


class Weeks:
    """Adds campaigns to a store, one a week.

    Args:
        home: the installation.
        store: its results store.
        measured: how many weeks it has.
    """

    def __init__(self, home: Home, store: Store, measured: int = 0) -> None:
        self.home, self.store = home, store
        self._random = random.Random(1)
        self._count = measured

    def add(
        self,
        baseline: str = "10.2.11",
        candidate: str = "10.11.5",
        change: float = 0.0,
        *,
        noise: float = NOISE,
        environment: dict[str, str] | None = None,
        state: Literal["complete", "failed"] = "complete",
        unstable: bool = False,
        planned_for: datetime | None = None,
        by_hand: bool = False,
        origin: str = "benchlab run",
        counts: dict[str, float] | None = None,
        **fields: Any,
    ) -> str:
        """One campaign; its id.

        Args:
            change: the candidate's true one, as a share.
            noise: standard deviation of what it finds besides.
            unstable: the candidate's trials have a symptom.
            planned_for: None: its week.
            by_hand: it was planned for no moment.
            counts: by how much more the candidate takes of each, as a share; ``inf``: from none.
            fields: of the report type.
        """
        number, self._count = self._count, self._count + 1
        sides = {"baseline": {"version": baseline}, "candidate": {"version": candidate}}
        fields = {"rounds": 3, "threads": [4], "workloads": [POINT],
                  "engines": {"mariadb": sides}, **fields}  # fmt: skip
        made = campaigns.campaign(id=f"week-{number:03}", **fields)
        made = campaigns.counting(made, *(counts or {}))
        told = {**made.environment, **(environment or {})}
        started = plans.START + timedelta(weeks=number)
        made = dataclasses.replace(
            made, started_at=started, state=state, environment=told, origin=origin,
            planned_for=None if by_hand else planned_for or started,
        )  # fmt: skip
        self.store.add_campaign(made)
        ratio = math.log1p(change) + self._random.gauss(0, noise)
        self._trials(made, ratio, unstable, counts or {})
        return made.id

    def add_aa(self, ratio: float, **fields: Any) -> str:
        """An A/A campaign that finds this ratio of its sides, as a logarithm."""
        return self.add(change=math.expm1(ratio), noise=0.0, sides="same", **fields)

    def _trials(
        self, campaign: Campaign, ratio: float, unstable: bool, counts: dict[str, float]
    ) -> None:
        symptom = GateResult("stalls", "fail", 1.0, "no interval is empty", "symptom")
        for trial in campaign.plan.trials:
            found = (symptom,) if unstable and trial.side == "candidate" else ()
            at_rate: dict[str, Any] = {"p50_ms": 1.0, "p99_ms": 3.0}
            at_rate = at_rate if rate_of(trial.workload) else {}
            result = campaigns.trial_result(trial, tps=_tps(trial, ratio), gates=found, **at_rate)
            own = {name: functools.partial(_taken, more=more) for name, more in counts.items()}
            self.store.add_trial(campaign.id, *campaigns.taking([result], **own))


def _taken(trial: PlannedTrial, more: float) -> float:
    """About a thousand in every trial of a side, some of them 0.2 % apart."""
    if math.isinf(more):
        return 1000.0 if trial.side == "candidate" else 0.0
    return (1000.0 + 2 * (trial.index % 2)) * (1 + more * (trial.side == "candidate"))


def _tps(trial: PlannedTrial, ratio: float) -> float:
    """Each three rounds scatter by 0.1 % about the campaign's ratio."""
    if trial.side == "baseline":
        return 1000.0
    return 1000.0 * math.exp(ratio + 0.001 * (1 - trial.round % 3))


def regression(weeks: Weeks, **fields: Any) -> list[str]:
    """Fourteen weeks, the candidate of the last seven 10 % slower; their ids.

    Args:
        fields: of the report type.
    """
    ids = [weeks.add(**fields) for _ in range(7)]
    return ids + [weeks.add(candidate="11.4.5", change=-0.1, **fields) for _ in range(7)]
