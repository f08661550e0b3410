"""Host metrics while the clients ran, over the trials whose figures are used.

>>> found = host_tables(comparison, results, {"tikv-1": "tikv"})
>>> table = [header(language), *rows(found.groups, language)]
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from benchlab.analysis.verdict.compare import Comparison
from benchlab.hosts.fleet import ROLES
from benchlab.hosts.samples import METRICS, Figure, HostFigures
from benchlab.language import Language, Said, english, side_name
from benchlab.language.names import clauses, items, plain
from benchlab.language.numbers import MISSING, Numbers
from benchlab.plan.order import PlannedTrial
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import TrialResult

COLUMNS = (
    ("cpu_busy", None),
    ("cpu_steal", None),
    ("cpu_iowait", None),
    ("memory_used_bytes", 2.0**30),
    ("disk_busy", None),
    ("disk_read_bytes_per_s", 1e6),
    ("disk_write_bytes_per_s", 1e6),
    ("net_rx_bytes_per_s", 1e6),
    ("net_tx_bytes_per_s", 1e6),
)
"""Each metric with the divisor for its column; None: a fraction, printed in percent."""


@dataclass(frozen=True)
class HostGroup:
    """The hosts of one role while one side was measured.

    Attributes:
        name: the role, ``tidb+pd`` for several; for a host without a role, its own name.
        trials: how many of them have figures of at least one host.
        figures: by metric: the mean over hosts and trials, equally weighted, and the largest value
            of any interval.
    """

    side: Side
    name: str
    hosts: tuple[str, ...]
    trials: int
    figures: dict[str, Figure]


@dataclass(frozen=True)
class ProcessShare:
    """CPU that the client or load balancer used, as a fraction of what it was granted."""

    name: str
    mean: float
    max: float


@dataclass(frozen=True)
class Gap:
    """A host without figures in some trials, with the first recorded reason."""

    host: str
    trials: int
    reason: Said


@dataclass(frozen=True)
class Hosts:
    """What the hosts did in a campaign.

    Attributes:
        groups: by role, the two sides one after the other.
        each: the same for each host alone; empty where no role has several.
        used: how many trials' figures are used.
        sampled: in how many of these at least one host has figures.
        processes: client and load balancer; ``max`` is the largest mean of a trial.
    """

    used: int
    sampled: int
    groups: tuple[HostGroup, ...]
    processes: tuple[ProcessShare, ...]
    gaps: tuple[Gap, ...]
    each: tuple[HostGroup, ...] = ()


def host_tables(
    comparison: Comparison, results: Sequence[TrialResult], roles: Mapping[str, str] | None = None
) -> Hosts:
    """Sum up the host metrics of the trials whose figures are used; ``roles``: by host name."""
    excluded = {(trial.trial, trial.attempt) for trial in comparison.excluded}
    used = [r for r in results if (r.trial.id, r.attempt) not in excluded]
    hosts = [host for result in used for host in result.host_figures]
    groups = _groups(used, roles or {})
    crowded = any(len(group.hosts) > 1 for group in groups)
    return Hosts(
        used=len(used),
        sampled=sum(any(host.figures for host in result.host_figures) for result in used),
        groups=groups,
        processes=_processes(hosts),
        gaps=_gaps(hosts),
        each=_groups(used, None) if crowded else (),
    )


def header(language: Language) -> list[str]:
    """The column headings of :func:`rows`."""
    columns = ("side", "name", "trials", *(metric.replace("_", "-") for metric, _ in COLUMNS))
    return [language.say(f"hosts-{column}") for column in columns]


def rows(groups: Iterable[HostGroup], language: Language) -> list[list[str]]:
    """A row per group; ``mean / largest`` in each cell."""
    numbers = Numbers(language)
    return [
        [
            language.text(side_name(group.side)),
            _titled(group, language),
            str(group.trials),
            *(_cell(group.figures.get(metric), unit, numbers) for metric, unit in COLUMNS),
        ]
        for group in groups
    ]


def sentences(found: Hosts, language: Language) -> list[str]:
    """What the table covers and lacks, and how hard client and load balancer worked."""
    gaps = [_gap(gap, language) for gap in found.gaps]
    if not found.sampled:
        if not gaps:
            return [language.say("hosts-not-recorded")]
        return [language.say("hosts-not-recorded-because", gaps=clauses(gaps, language))]
    said = [language.say("hosts-table", sampled=found.sampled, used=found.used)]
    if found.processes:
        share = Numbers(language).share
        shares = (
            language.say(
                "hosts-process", name=one.name, mean=share(one.mean, 0), max=share(one.max, 0)
            )
            for one in found.processes
        )
        said.append(language.say("hosts-processes", each=items(shares, language)))
    return said + [language.say("hosts-without-figures", gap=gap) for gap in gaps]


def to_json(found: Hosts) -> dict[str, Any]:
    """The ``hosts`` of ``report.json``, in the metrics' own units: fractions, bytes, bytes/s."""
    return {
        "used_trials": found.used,
        "sampled_trials": found.sampled,
        "groups": [asdict(group) for group in found.groups],
        "processes": [asdict(process) for process in found.processes],
        "without_figures": [_gap(gap, english()) for gap in found.gaps],
        "each": [asdict(group) for group in found.each],
    }


def _groups(used: Iterable[TrialResult], roles: Mapping[str, str] | None) -> tuple[HostGroup, ...]:
    """The groups by role, or one per host if ``roles`` is None."""
    members: dict[str, list[tuple[PlannedTrial, HostFigures]]] = {}
    for result in used:
        for host in result.host_figures:
            if host.figures:
                name = host.host if roles is None else roles.get(host.host) or _role(host.host)
                members.setdefault(name, []).append((result.trial, host))
    return tuple(
        HostGroup(
            side=side,
            name=plain(name),
            hosts=tuple(sorted({plain(host.host) for _, host in found})),
            trials=len({trial.id for trial, _ in found}),
            figures=_summed_up([host for _, host in found]),
        )
        for name, of_name in members.items()
        for side in SIDES
        if (found := [(trial, host) for trial, host in of_name if trial.side == side])
    )


def _summed_up(hosts: Sequence[HostFigures]) -> dict[str, Figure]:
    return {
        metric: Figure(fmean(f.mean for f in found), max(f.max for f in found))
        for metric in METRICS
        if (found := [host.figures[metric] for host in hosts if metric in host.figures])
    }


def _processes(hosts: Iterable[HostFigures]) -> tuple[ProcessShare, ...]:
    shares = defaultdict[str, list[float]](list)
    for host in hosts:
        for name, share in host.processes.items():
            shares[plain(name)].append(share)
    return tuple(ProcessShare(name, fmean(found), max(found)) for name, found in shares.items())


def _gaps(hosts: Iterable[HostFigures]) -> tuple[Gap, ...]:
    reasons = defaultdict[str, list[Said]](list)
    for host in hosts:
        if host.reason is not None:
            reasons[plain(host.host)].append(host.reason)
    return tuple(Gap(host, len(found), found[0]) for host, found in reasons.items())


def _gap(gap: Gap, language: Language) -> str:
    why = plain(language.text(gap.reason)).rstrip(". ")
    return language.say("hosts-gap", host=gap.host, trials=gap.trials, reason=why)


def _role(host: str) -> str:
    """The role in a host's name: ``tikv`` for ``tikv-2``; any other name unchanged."""
    match = re.fullmatch(rf"({'|'.join(ROLES)})-[0-9]+", host)
    return match[1] if match else host


def _titled(group: HostGroup, language: Language) -> str:
    if len(group.hosts) == 1:
        return group.name
    return language.say("hosts-of-role", role=group.name, count=len(group.hosts))


def _cell(figure: Figure | None, unit: float | None, numbers: Numbers) -> str:
    if figure is None:
        return MISSING
    return " / ".join(
        numbers.share(value, 1) if unit is None else numbers.rate(value / unit, 1)
        for value in (figure.mean, figure.max)
    )
