"""Checks that a resumed campaign finds the hosts, client and servers that its trials had.

Example:
    ``resuming.refuse("c1", resuming.of_hosts(before, now))``
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchlab.analysis.gates import variables
from benchlab.errors import TargetError
from benchlab.plan.fields.engines import SideSpec
from benchlab.report.model.report import OF_A_RUN
from benchlab.results.records import HASH_OF, SCRIPT, SCRIPT_BEFORE, SPOT_HOSTS, SideFacts

# Facts that may change: of a single run, where a program was found, what deploys clusters, and
# where their rows came from.
_NOT_COMPARED = (
    *OF_A_RUN,
    *("client_path", "benchlab", "dataset", "zone", "tiup", "tiup_mirror"),
    *(SPOT_HOSTS, SCRIPT, SCRIPT_BEFORE, HASH_OF.format(SCRIPT)),
)


def of_hosts(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Differences between two environments: ``["kernel 6.1.0, not 6.5.0"]``, the earlier first."""
    names = dict.fromkeys((*before, *now))
    return [
        f"{name} {before.get(name, 'unknown')}, not {now.get(name, 'unknown')}"
        for name in names
        if name not in _NOT_COMPARED and before.get(name) != now.get(name)
    ]


def of_server(side: str, planned: SideSpec, before: SideFacts, now: SideFacts) -> list[str]:
    """Differences in what a side's servers report, without what always differs.

    Example:
        ``["baseline: version 8.0.11-TiDB-v8.5.6, not 8.0.11-TiDB-v8.5.7"]``
    """
    said = {
        "version": (before.version, now.version),
        "source": (before.git_hash, now.git_hash),
        **{name: (before.about.get(name), value) for name, value in now.about.items()},
    }
    found = variables.differences(
        {"baseline": before, "candidate": now}, {"baseline": planned, "candidate": planned}
    )
    said |= {one.name: (one.baseline, one.candidate) for one in found.changed}
    return [
        f"{side}: {name} {was}, not {by_now}"
        for name, (was, by_now) in said.items()
        if was != by_now
    ]


def refuse(campaign: str, differing: Sequence[str]) -> None:
    """Refuse to measure on hosts or servers that differ from those of the stored trials.

    Raises:
        TargetError: names each difference.
    """
    if differing:
        raise TargetError(
            f"campaign {campaign} has trials that were measured with {'; '.join(differing)}: more "
            "of them would not be comparable, so nothing is measured: restore them, or start "
            "another campaign"
        )
