"""What the hosts did while the clients ran, over the trials whose figures are used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from benchlab.compare import Comparison
from benchlab.fleet import ROLES
from benchlab.host_samples import METRICS, Figure, HostFigures
from benchlab.report import numbers
from benchlab.report.names import plain
from benchlab.results import TrialResult
from benchlab.spec import SIDES, Side

# Heading, metric, what a printed unit is of the metric's own.
_COLUMNS = (
    ("CPU", "cpu_busy", 0.01),
    ("CPU steal", "cpu_steal", 0.01),
    ("Waiting for disk", "cpu_iowait", 0.01),
    ("Memory (GiB)", "memory_used_bytes", 2.0**30),
    ("Disk busy", "disk_busy", 0.01),
    ("Disk read (MB/s)", "disk_read_bytes_per_s", 1e6),
    ("Disk write (MB/s)", "disk_write_bytes_per_s", 1e6),
    ("Network in (MB/s)", "net_rx_bytes_per_s", 1e6),
    ("Network out (MB/s)", "net_tx_bytes_per_s", 1e6),
)


@dataclass(frozen=True)
class HostGroup:
    """The hosts of one role while one side was measured.

    Attributes:
        name: the role, ``tidb+pd`` of several; of a host without one its own name.
        hosts: their names.
        trials: in which any of them has figures.
        figures: by metric, mean over hosts and trials (each trial weighs alike) and the largest
            value of any second.
    """

    side: Side
    name: str
    hosts: tuple[str, ...]
    trials: int
    figures: dict[str, Figure]


@dataclass(frozen=True)
class ProcessShare:
    """CPU that client or load balancer used, as a fraction of what was granted to it."""

    name: str
    mean: float
    max: float


@dataclass(frozen=True)
class Hosts:
    """What is known of the hosts.

    Attributes:
        groups: by role, the two sides below each other.
        each: the same for every single host; empty where no role has several.
        used: trials whose figures are used.
        sampled: those of them in which at least one host has figures.
        processes: client and load balancer; the largest is over trials.
        gaps: hosts without figures in some trials, with how many and the first reason.
    """

    used: int
    sampled: int
    groups: tuple[HostGroup, ...]
    processes: tuple[ProcessShare, ...]
    gaps: tuple[str, ...]
    each: tuple[HostGroup, ...] = ()


def of(
    comparison: Comparison, results: Sequence[TrialResult], roles: Mapping[str, str] | None = None
) -> Hosts:
    """Gather it from the trials whose figures are used; ``roles`` are by the host's name."""
    excluded = {(each.trial, each.attempt) for each in comparison.excluded}
    used = [r for r in results if (r.trial.id, r.attempt) not in excluded]
    groups = _groups(used, roles or {})
    crowded = any(len(group.hosts) > 1 for group in groups)
    return Hosts(
        used=len(used),
        sampled=sum(any(host.figures for host in result.host_figures) for result in used),
        groups=groups,
        processes=_processes(used),
        gaps=_gaps(used),
        each=_groups(used, None) if crowded else (),
    )


def header() -> list[str]:
    """The column headings of :func:`rows`."""
    return ["Side", "Hosts", "Trials", *(heading for heading, _, _ in _COLUMNS)]


def rows(groups: Iterable[HostGroup]) -> list[list[str]]:
    """A row per group; ``mean / largest`` in each cell."""
    return [
        [
            group.side,
            _titled(group),
            str(group.trials),
            *(_cell(group.figures.get(metric), unit) for _, metric, unit in _COLUMNS),
        ]
        for group in groups
    ]


def sentences(found: Hosts) -> list[str]:
    """What the table is of, what limits it, and how hard client and load balancer worked."""
    if not found.sampled:
        why = f" ({'; '.join(found.gaps)})" if found.gaps else ""
        return [f"What the hosts did during the trials was not recorded{why}."]
    table = (
        "Every host was sampled once a second while the client ran. A cell is the mean / the "
        f"largest second{' of any host' * bool(found.each)}, over the {found.sampled} of "
        f"{found.used} used trials that have figures; loopback traffic is not counted as network."
    )
    said = [table]
    if found.processes:
        each = ", ".join(
            f"{process.name} {process.mean:.0%} on average and {process.max:.0%} in its busiest "
            "trial"
            for process in found.processes
        )
        said.append(f"Of the CPU granted to them (a core per thread, at most all) used: {each}.")
    said += [f"Without figures: {gap}." for gap in found.gaps]
    return said


def to_json(found: Hosts) -> dict[str, Any]:
    """For machines, in the metrics' own units: fractions, bytes, bytes a second."""
    raw = asdict(found)
    return {
        "used_trials": raw["used"],
        "sampled_trials": raw["sampled"],
        "groups": [{**group, "hosts": list(group["hosts"])} for group in raw["groups"]],
        "processes": list(raw["processes"]),
        "without_figures": list(raw["gaps"]),
        "each": [{**group, "hosts": list(group["hosts"])} for group in raw["each"]],
    }


def _groups(used: Iterable[TrialResult], roles: Mapping[str, str] | None) -> tuple[HostGroup, ...]:
    """By role, or host by host where ``roles`` is None."""
    members: dict[str, dict[Side, list[tuple[str, HostFigures]]]] = {}
    for result in used:
        for host in result.host_figures:
            if host.figures:
                name = host.host if roles is None else roles.get(host.host) or _role(host.host)
                sides = members.setdefault(name, {})
                sides.setdefault(result.trial.side, []).append((result.trial.id, host))
    return tuple(
        HostGroup(
            side=side,
            name=plain(name),
            hosts=tuple(sorted({plain(host.host) for _, host in sides[side]})),
            trials=len({trial for trial, _ in sides[side]}),
            figures=_summed_up([host for _, host in sides[side]]),
        )
        for name, sides in members.items()
        for side in SIDES
        if side in sides
    )


def _summed_up(hosts: Sequence[HostFigures]) -> dict[str, Figure]:
    told = {metric: [h.figures[metric] for h in hosts if metric in h.figures] for metric in METRICS}
    return {
        metric: Figure(fmean(f.mean for f in found), max(f.max for f in found))
        for metric, found in told.items()
        if found
    }


def _processes(used: Iterable[TrialResult]) -> tuple[ProcessShare, ...]:
    shares: dict[str, list[float]] = {}
    for result in used:
        for host in result.host_figures:
            for name, share in host.processes.items():
                shares.setdefault(plain(name), []).append(share)
    return tuple(ProcessShare(name, fmean(found), max(found)) for name, found in shares.items())


def _gaps(used: Iterable[TrialResult]) -> tuple[str, ...]:
    reasons: dict[str, list[str]] = {}
    for result in used:
        for host in result.host_figures:
            if host.reason is not None:
                reasons.setdefault(plain(host.host), []).append(plain(host.reason))
    return tuple(
        f"{host} in {len(found)} trial{'s' * (len(found) != 1)}, {found[0]}".rstrip(". ")
        for host, found in reasons.items()
    )


def _role(host: str) -> str:
    """Of ``tikv-2``: ``tikv``. Other names stand for themselves."""
    match = re.fullmatch(rf"({'|'.join(ROLES)})-[0-9]+", host)
    return match[1] if match else host


def _titled(group: HostGroup) -> str:
    return group.name if len(group.hosts) == 1 else f"{group.name} ({len(group.hosts)} hosts)"


def _cell(figure: Figure | None, unit: float) -> str:
    if figure is None:
        return numbers.MISSING
    sign = "%" if unit == 0.01 else ""
    return " / ".join(f"{value / unit:,.1f}{sign}" for value in (figure.mean, figure.max))
