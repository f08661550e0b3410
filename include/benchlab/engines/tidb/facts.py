"""Version, source and configuration of every server of a cluster, and which ones do not fit.

Example:
    ``misfits(census.instances(), "v6.5.0", {})`` is empty if every server is as requested.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from benchlab.engines.database import identity_fault
from benchlab.engines.tidb.topology import COMPONENTS, Component
from benchlab.plan.fields.builds import has_commit

# Items sized by the host's memory, which differs by a few pages between hosts of one kind.
SIZED_BY_MEMORY = re.compile(
    r"storage\.block-cache\.capacity|memory-usage-limit|raft-engine\.memory-limit"
    r"|(rocksdb|raftdb)\.\w+\.block-cache-size"
)


@dataclass(frozen=True)
class InstanceFacts:
    """One server of a cluster.

    Attributes:
        host: name of its host in the fleet.
        version: as the server itself writes it: ``5.7.25-TiDB-v6.5.0``, ``v6.5.0``, ``6.5.0``.
        git_hash: the commit of its source; None if it is not reported.
        config: effective configuration items by dotted name, without addresses, directories and
            ports; None if it is not reported.
        identity: changes whenever the server starts; None if it is not reported.
        built_at: when it was built; None if it is not reported.
    """

    host: str
    component: Component
    version: str
    git_hash: str | None
    config: Mapping[str, str] | None = field(repr=False)
    identity: str | None
    built_at: str | None = None

    @property
    def digest(self) -> str | None:
        """A hash of the configuration without items sized by memory, to compare peers by."""
        if self.config is None:
            return None
        items = {key: value for key, value in self.config.items() if not sized_by_memory(key)}
        return hashlib.sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()[:16]


def sized_by_memory(key: str) -> bool:
    """Whether a configuration item's default depends on how much memory the host has."""
    return SIZED_BY_MEMORY.fullmatch(key) is not None


def without_places(
    config: Mapping[str, str], addresses: Iterable[str], root: str, ports: Iterable[int]
) -> dict[str, str]:
    """A configuration without items that contain addresses, directories or ports.

    The rest is the same on all servers of a component and on both sides, unless it was configured
    otherwise.

    Example:
        With ``["10.0.0.1"]``, ``"/data"`` and ``[4000]``, of ``{"host": "10.0.0.1", "port": "4000",
        "log.level": "info"}`` only ``log.level`` is left.
    """
    hosts = "|".join(re.escape(address) for address in addresses)
    numbers = "|".join(map(str, ports))
    place = re.compile(rf"(?<![\w.])({hosts})(?![\w.])|{re.escape(root)}|(^|:)({numbers})(?!\d)")
    return {key: value for key, value in config.items() if not place.search(value)}


def misfits(
    instances: Sequence[InstanceFacts], wanted: str, hashes: Mapping[str, str | None]
) -> list[str]:
    """What is wrong with a cluster, as sentences that name the server; empty if nothing is.

    A server must be what was asked for, and be built and configured like most of its peers. If the
    version's name has a commit, at least one component must be built from it.

    Args:
        hashes: the commits of the side's builds, see :func:`identity_fault`.
    """
    faults = [
        f"{one.component} on {one.host} {fault}"
        for one in instances
        if (fault := identity_fault(one.component, wanted, hashes, one.version, one.git_hash))
    ]
    commit, built_from = has_commit(wanted), [one.git_hash for one in instances if one.git_hash]
    if commit and built_from and not any(found.startswith(commit) for found in built_from):
        faults.append(f"no server is built from {commit}, as the name {wanted} says")
    for component in COMPONENTS:
        peers = [one for one in instances if one.component == component]
        usual_hash = _most_common(one.git_hash for one in peers)
        faults += [
            f"{component} on {one.host} is built from {one.git_hash}, its peers from {usual_hash}"
            for one in peers
            if one.git_hash != usual_hash
        ]
        usual_digest = _most_common(one.digest for one in peers)
        model = next((one for one in peers if one.digest == usual_digest), None)
        faults += [
            f"{component} on {one.host} is configured unlike its peers: {differing(one, model)}"
            for one in peers
            if model is not None and one.digest != usual_digest
        ]
    return faults


def differing(one: InstanceFacts, other: InstanceFacts) -> str:
    """The configuration items in which two servers differ: ``log.level = info, not error``."""
    if one.config is None or other.config is None:
        return "it does not report its own" if one.config is None else "it alone reports its own"
    keys = sorted(
        key
        for key in {*one.config, *other.config}
        if not sized_by_memory(key) and one.config.get(key) != other.config.get(key)
    )
    return "; ".join(
        f"{key} = {one.config.get(key, 'missing')}, not {other.config.get(key, 'missing')}"
        for key in keys
    )


def _most_common(values: Iterable[str | None]) -> str | None:
    counted = Counter(values)
    return counted.most_common(1)[0][0] if counted else None
