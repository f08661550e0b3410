"""Finds effective variables that differ between the sides though nobody asked for it.

A default that changed between two versions matters as much as a parameter: v5.2.0 of TiDB turned on
``security.auto-tls`` and lost 4 % by it. So the variables that the two sides' servers report are
compared by name, without those that differ between any two servers. A cluster also reports its
configuration items, by component: ``tikv.raftstore.store-pool-size``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from benchlab.hosts.answers import from_json
from benchlab.plan import quantities
from benchlab.plan.fields.engines import SideSpec
from benchlab.plan.report_type import SIDES, Side
from benchlab.results.records import SideFacts

# The component of a cluster to which a parameter without a component's name belongs.
SQL_SERVER = "tidb"

# What differs between any two servers on one machine: identity, addresses, places and clocks.
_TRIVIAL = re.compile(
    r"^version|(^|[_.])(innodb_version|port|socket|hostname|host|server_?id|server_uuid|uuid|uid"
    r"|pid_file|datadir|basedir|tmpdir|report_host|advertise_address|timestamp|current_ts"
    r"|password|pseudo_thread_id|last_\w+(\.\w+)*|rand_seed\d|error_count|warning_count"
    r"|gtid_\w*pos|gtid_\w*state|txn_start_ts|tso|status_port|path|cluster_version)$"
    r"|_(port|path|dir|uuid|hostname|password)$"
)
_PLACE = re.compile(r"^(\.{0,2}/|[A-Za-z]:\\)")
_SWITCHES = {"true": "on", "1": "on", "false": "off", "0": "off"}
_UUID = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", re.I)


@dataclass(frozen=True)
class Difference:
    """One variable with its two effective values.

    Attributes:
        asked: whether the report type sets it; for a variable among ``changed``, to the same value
            on both sides.
    """

    name: str
    baseline: str
    candidate: str
    asked: bool


@dataclass(frozen=True)
class Differences:
    """What differs between the effective variables of the two sides.

    Attributes:
        known: whether both sides' variables were read; if not, nothing is known.
        compared: how many variables both sides have.
        changed: those of them that differ, without declared and trivial differences.
        declared: those that the report type asks to be different, and that are.
        only: by side, the names that the other side does not have.
        trivial: how many were left out because they differ between any two servers.
    """

    known: bool
    compared: int
    changed: tuple[Difference, ...]
    only: dict[str, tuple[str, ...]]
    trivial: int
    declared: tuple[Difference, ...] = ()


def differences(facts: Mapping[Side, SideFacts], sides: Mapping[Side, SideSpec]) -> Differences:
    """Compare the sides' effective variables, with the differences asked for set apart.

    Example:
        ``differences(campaign.facts, campaign.plan.sides).changed[0].name``
    """
    if any(side not in facts or not facts[side].variables for side in SIDES):
        return Differences(False, 0, (), dict.fromkeys(SIDES, ()), 0)
    baseline, candidate = (dict(_flat(facts[side].variables)) for side in SIDES)
    asked = [_asked(sides[side]) for side in SIDES]
    changed, declared, trivial = [], [], 0
    common = sorted(baseline.keys() & candidate.keys())
    for name in common:
        values = baseline[name], candidate[name]
        ours = [parameters.get(_key(name)) for parameters in asked]
        if values[0] == values[1]:
            continue
        if ours[0] != ours[1]:
            declared.append(Difference(name, *values, asked=True))
        elif _is_trivial(name, *values):
            trivial += 1
        else:
            changed.append(Difference(name, *values, asked=ours[0] is not None))
    return Differences(
        known=True,
        compared=len(common),
        changed=tuple(changed),
        only={
            "baseline": tuple(sorted(baseline.keys() - common)),
            "candidate": tuple(sorted(candidate.keys() - common)),
        },
        trivial=trivial,
        declared=tuple(declared),
    )


def undeclared(facts: Mapping[Side, SideFacts], sides: Mapping[Side, SideSpec]) -> float | None:
    """How many variables differ though nobody asked for it; arguments as for :func:`differences`.

    Two versions may have different defaults, and may write a value differently. So between two
    versions a variable counts only if the report type sets it to one value on both sides.

    Returns:
        None where a side is missing, or its variables are not known.
    """
    found = differences(facts, sides)
    if not found.known:
        return None
    same_version = sides["baseline"].label == sides["candidate"].label
    return float(
        sum(
            same_version or (change.asked and not _same_value(change.baseline, change.candidate))
            for change in found.changed
        )
    )


def _same_value(one: str, other: str) -> bool:
    """Whether two servers mean the same value: ``ON`` and ``1``, ``60s`` and ``1m``."""
    texts = [_SWITCHES.get(text.strip().lower(), text.strip().lower()) for text in (one, other)]
    return texts[0] == texts[1] or quantities.same(one, other)


def _asked(side: SideSpec) -> dict[str, object]:
    items: dict[str, object] = {_key(name): value for name, value in side.parameters.items()}
    for component, own in side.components.items():
        items |= {_key(f"{component}.{name}"): value for name, value in own.items()}
    return items


def _flat(variables: dict[str, str]) -> Iterator[tuple[str, str]]:
    """The variables, with one that holds a whole configuration (``tidb_config``) item by item."""
    # A cluster's servers report their configuration themselves, without addresses and paths.
    by_component = any(name.startswith(f"{SQL_SERVER}.") for name in variables)
    for name, value in variables.items():
        if name == "tidb_config" and by_component:
            continue
        try:
            # The mysql client prints newlines and tabs within a value as \n and \t.
            tree = from_json(value.replace("\\n", "\n").replace("\\t", "\t"))
        except ValueError:
            tree = None
        yield from _leaves(name, tree if isinstance(tree, dict) else value)


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}", inner)
    else:
        yield name, value if isinstance(value, str) else json.dumps(value)


def _key(name: str) -> str:
    """A name as it is compared: ``innodb-log-file-size`` is ``innodb_log_file_size``.

    A parameter without a component's name is the SQL server's.
    """
    bare = name.removeprefix("tidb_config.").removeprefix(f"{SQL_SERVER}.")
    return bare.replace("-", "_").lower()


def _is_trivial(name: str, *values: str) -> bool:
    same_kind = any(all(map(pattern.match, values)) for pattern in (_PLACE, _UUID))
    return same_kind or _TRIVIAL.search(_key(name)) is not None
