"""Campaigns that are published with verdicts, so that there are findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

from upath import UPath

from benchlab.results.records import StoredVerdict
from benchlab.results.store import Store
from tests.builders import campaigns

# By workload, the verdicts on throughput and latency.
Verdicts = Mapping[str, tuple[str, str]]
# Estimate and interval, in percent.
SIZE = (-8.2, -9.9, -6.4)
WORSE: Verdicts = {"oltp_point_select": ("regression", "inconclusive")}


def add(
    store: Store,
    name: str,
    verdicts: Verdicts = WORSE,
    versions: tuple[str, str] = ("10.2.11", "10.11.5"),
    days: float = -1,
    size: tuple[float, float, float] = SIZE,
    **fields: Any,
) -> None:
    """A campaign of so many days from now that is published, with verdicts on TPS and latency."""
    baseline, candidate = ({"version": version} for version in versions)
    engines = {"mariadb": {"baseline": baseline, "candidate": candidate}}
    made = campaigns.campaign(id=name, **{"engines": engines, **fields})
    store.add_campaign(
        dataclasses.replace(made, started_at=datetime.now(UTC) + timedelta(days=days))
    )
    publish(store, name, verdicts, size)


def publish(
    store: Store, name: str, verdicts: Verdicts, size: tuple[float, float, float] = SIZE
) -> None:
    """Publish a campaign again, with other verdicts."""
    store.set_verdicts(
        name,
        [
            StoredVerdict(workload, metric, verdict, *size, 0.001, rule=3)
            for workload, decided in verdicts.items()
            for metric, verdict in zip(("tps", "p95_ms"), decided, strict=True)
        ],
    )


def publish_at_once(url: str, names: Sequence[str], verdicts: Verdicts) -> None:
    """Publish each of these campaigns twice, all at the same time, as processes of their own do."""

    def write(name: str) -> None:
        with Store(url, UPath("memory://x")) as own:
            publish(own, name, verdicts)

    with ThreadPoolExecutor(2 * len(names)) as pool:
        list(pool.map(write, [*names, *names]))
