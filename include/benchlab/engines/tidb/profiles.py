"""Profiles of TiDB, PD and TiKV, as they answer under ``/debug/pprof`` on their status ports.

TiKV answers with pprof's format if the request has its content type. Until v6.0 it unwinds stacks
within a signal's handler by DWARF, which crashed it again and again (tikv#9765, #10308, #10131,
#11964); from v6.1.0 on it follows frame pointers, and looks whether it may read what they point at
(tikv#12480; its ``Makefile`` by tag). It does not take CPU and heap profiles at once before
tikv#15761: here, a trial has one kind.

Example:
    ``command("cpu", "tidb", "http://10.0.0.1:10080", 48)``
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from benchlab.engines.tidb.topology import Component
from benchlab.language import Said, message
from benchlab.plan import versions
from benchlab.results.diagnosis import Kind

FIRST_OF_TIKV = "v6.1.0"
FIRST_OF_ALLOCATIONS = "v5.1.0"
"""Built with Go 1.16, whose servers answer what was allocated within some seconds; before 1.15 all
since their start."""
CONNECT_LIMIT_S, SLACK_S = 3, 20
# Of profiles that are read; a message of curl is a line.
MOST_BYTES = 16 << 20
# Of Go's allocations, a server answers what was added in the meantime. They are counted when
# garbage is collected, so that is asked for before, and so long before the end.
BEFORE_END_S = 3
_PATHS: Mapping[Kind, Mapping[Component, str]] = {
    "cpu": {
        "tidb": "/debug/pprof/profile",
        "pd": "/pd/api/v1/debug/pprof/profile",
        "tikv": "/debug/pprof/profile",
    },
    "allocations": {"tidb": "/debug/pprof/allocs", "pd": "/pd/api/v1/debug/pprof/allocs"},
}


def lacking(kind: Kind, component: Component, version: str) -> Said | None:
    """Why a component of a version is not profiled; None if it is."""
    if component not in _PATHS[kind]:
        return message("profiles-tikv-without")
    number = versions.parse(version).numbers
    if component == "tikv" and number < versions.parse(FIRST_OF_TIKV).numbers:
        return message("profiles-tikv-old", version=version, first=FIRST_OF_TIKV)
    if kind == "allocations" and number < versions.parse(FIRST_OF_ALLOCATIONS).numbers:
        return message("profiles-allocations-old", version=version, first=FIRST_OF_ALLOCATIONS)
    return None


def command(kind: Kind, component: Component, server: str, seconds: int) -> str:
    """The shell's command line that prints a profile in base64, or what curl complained of.

    Args:
        server: its URL without a path.
    """
    limits = ["--connect-timeout", str(CONNECT_LIMIT_S), "--max-time", str(seconds + SLACK_S)]
    header = ["--header", "Content-Type: application/protobuf"]
    curl = ["curl", "--silent", "--show-error", "--fail", "--noproxy", "*", *limits]
    path = f"{server}{_PATHS[kind][component]}"
    ask = shlex.join([*curl, *header, f"{path}?seconds={seconds}"])
    taken = f"{ask} 2>&1 | head -c {MOST_BYTES} | base64 -w 0"
    if kind == "cpu":
        return taken
    collect = shlex.join([*curl, "--output", "/dev/null", f"{path.replace('allocs', 'heap')}?gc=1"])
    return f"{collect}; {{ sleep {max(seconds - BEFORE_END_S, 0)}; {collect}; }} & {taken}"
