"""Short probes of a fleet: how fast CPU and disk of each host are, and how far the client is.

What a host says of itself, such as its type and its model of CPU, does not show a CPU that is
throttled, a disk without burst credits, or a neighbour that takes its share. A probe needs
coreutils alone, which every Debian has, and ping for the round trips. It takes half a minute, all
hosts at once; for campaigns of short trials it is shorter.

Every measure is repeated, all of them in turns. Between two hosts, or two moments, only what lies
beyond the spread of the repeats counts: the slowest repeat of the faster one against the fastest
repeat of the slower one. Where repeats overlap, the difference is 0.

Example:
    ``difference(to_text(probe(fleet, executor_of, directory_of, 1.0)))`` is 0.08 where another host
    of its role is 8 % faster than the slowest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path

from benchlab.errors import CommandError, TargetError
from benchlab.hosts.executor import Executor
from benchlab.hosts.fleet import ROLES, Fleet, FleetHost, try_on_all

# Lines of a campaign's environment: the probe after provisioning, and that before the last round.
FIRST, AGAIN = "probe_first", "probe_again"
MEASURES = ("cpu_one", "cpu_all", "disk_write", "disk_read", "disk_sync")
ROUND_TRIP = "round_trip"
# Of 100 fleets of three hosts a role, all alike, by chance less than one has a difference of 3 %,
# even if synced writes vary by 20 % and other copying by 10 % between repeats; with five repeats 7.
REPEATS = 7
# A host that takes longer has no figures; its trials show how busy it is.
LIMIT_S = 60.0
LINES_PER_S = 600_000
SYNC_BYTES = 4096
_CPU = re.compile(r"(\d+) lines (\d+) ns")
_DD = re.compile(r"(\d+) bytes .*copied, ([0-9.e-]+) s\b.*")
_RTT = re.compile(r"rtt min/avg/max/mdev = [0-9.]+/([0-9.]+)/.*")

# Arguments: directory, seconds of a measure, lines to sort, repeats, 1 where the disk matters.
# Sorting compares keys all over more memory than the caches hold, as a database does, and sorts on
# all cores share what hosts share with their neighbours: memory, last cache, hyper-threads. The
# lines are the same on every host. On SIGINT `dd` prints how far it came; what a shell started in
# the background ignores that signal, hence `env`.
_PROBE = r"""
export LC_ALL=C
seconds=$2 lines=$3 left=$4 disk=$5
cd "$1" || exit 1
trap 'rm -f probe.lines probe.disk' EXIT
order() { sort --parallel=1 probe.lines; }
sorts() {
    n=$2 begin=$(date +%s%N)
    while [ "$n" -gt 0 ]; do order > /dev/null & n=$((n - 1)); done
    wait
    echo "$1 $(($2 * lines)) lines $(($(date +%s%N) - begin)) ns"
}
copy() {
    measure=$1; shift
    said=$(timeout -s INT "$seconds" env --default-signal=INT dd "$@" 2>&1 | tail -n 1)
    echo "$measure $said"
}
cores=$(nproc)
why=$({
    seq "$lines" > probe.disk && shuf --random-source=probe.disk probe.disk > probe.lines && order
} 2>&1 > /dev/null) || { echo "cpu_one $why"; echo "cpu_all $why"; cores=0; }
while [ "$left" -gt 0 ]; do
    left=$((left - 1))
    [ "$cores" = 0 ] || { sorts cpu_one 1; sorts cpu_all "$cores"; }
    [ "$disk" = 1 ] || continue
    copy disk_write if=/dev/zero of=probe.disk bs=1M count=4096 oflag=direct conv=notrunc
    copy disk_read if=probe.disk of=/dev/null bs=1M iflag=direct
    copy disk_sync if=/dev/zero of=probe.disk bs=4k oflag=dsync conv=notrunc
done
"""
# Arguments: addresses. A user may send a ping every 0.2 s, whatever the version of ping.
_PING = r"""
for address; do
    (said=$(LC_ALL=C ping -q -n -c 20 -i 0.2 -w 8 "$address" 2>&1 | tail -n 1)
    echo "$address $said") &
done
wait
"""


@dataclass(frozen=True)
class HostProbe:
    """What the probe of one host found.

    Attributes:
        roles: of the host.
        speeds: a figure per repeat, by measure: ``cpu_one`` and ``cpu_all``, lines sorted a second
            by one thread and by one on each core; ``disk_write`` and ``disk_read``, bytes a second
            past the cache of files; ``disk_sync``, writes of 4 KiB a second, each on the disk
            before the next. The disk is the data directory's, of PD and TiKV hosts only.
        round_trip_ms: the mean of 20 pings from the client's host.
        failed: why something is missing, by measure.
    """

    roles: tuple[str, ...]
    speeds: dict[str, list[float]] = field(default_factory=dict)
    round_trip_ms: float | None = None
    failed: dict[str, str] = field(default_factory=dict)


def probe(
    fleet: Fleet,
    executor_of: Callable[[FleetHost], Executor],
    directory_of: Callable[[FleetHost], Path],
    seconds: float,
) -> dict[str, HostProbe]:
    """Probe all hosts at once, while nothing else is at work on them; what fails is only missing.

    Args:
        directory_of: a directory of the campaign on the data directory's file system.
        seconds: about how long each repeat of a measure takes.
    """
    hosts = {host.name: host for host in fleet.hosts}

    def look(host: FleetHost) -> HostProbe:
        disk = bool({"pd", "tikv"} & set(host.roles))
        size = (f"{seconds:.3f}", max(round(LINES_PER_S * seconds), 1), REPEATS, int(disk))
        said = _run(executor_of(host), _PROBE, directory_of(host), *size)
        return _read(host.roles, said, MEASURES if disk else MEASURES[:2])

    found, reasons = try_on_all(hosts, look)
    found |= {
        name: HostProbe(hosts[name].roles, failed={"probe": reasons[name]}) for name in reasons
    }
    client = fleet.client
    away = {host.name: host.address for host in fleet.hosts if host.name != client.name}
    pings, silent = try_on_all(
        {client.name: executor_of(client)}, lambda here: _run(here, _PING, *away.values())
    )
    said = dict(_words(pings.get(client.name, "")))
    for name, address in away.items():
        answer = said.get(address) or silent.get(client.name) or "ping printed nothing"
        if match := _RTT.fullmatch(answer):
            found[name] = replace(found[name], round_trip_ms=float(match[1]))
        else:
            found[name] = replace(found[name], failed={**found[name].failed, ROUND_TRIP: answer})
    return {name: found[name] for name in hosts}


def to_text(found: Mapping[str, HostProbe]) -> str:
    """As kept in a campaign's environment: JSON, with figures of five digits."""
    rounded = {
        name: replace(
            host, speeds={m: [float(f"{v:.5g}") for v in all_] for m, all_ in host.speeds.items()}
        )
        for name, host in found.items()
    }
    return json.dumps({name: asdict(host) for name, host in rounded.items()}, sort_keys=True)


def from_text(text: str | None) -> dict[str, HostProbe]:
    """The inverse of :func:`to_text`; of None nothing."""
    return {name: HostProbe(**host) for name, host in json.loads(text or "{}").items()}


def difference(first: str | None) -> float | None:
    """How much faster the fastest host of a role is than the slowest, less 1, over all measures.

    Args:
        first: a text of :func:`to_text`.

    Returns:
        None where no role has two hosts, or a host has no figure that another one of its role has.
    """
    hosts = from_text(first).values()
    found: list[float | None] = []
    for role in ROLES:
        alike = [host for host in hosts if role in host.roles]
        for measure in {measure for host in alike for measure in host.speeds}:
            found += (
                _gap(one.speeds.get(measure), other.speeds.get(measure))
                for one, other in combinations(alike, 2)
            )
    return _largest(found)


def change(first: str | None, again: str | None) -> float | None:
    """How much faster or slower a host has become between two probes; the host that changed most.

    Args:
        first, again: texts of :func:`to_text`.

    Returns:
        None where there are not two probes, or a figure of the first has none in the second.
    """
    later = from_text(again)
    return _largest(
        [
            _gap(speeds, later[name].speeds.get(measure))
            for name, host in from_text(first).items()
            if name in later
            for measure, speeds in host.speeds.items()
        ]
    )


def _gap(one: Sequence[float] | None, other: Sequence[float] | None) -> float | None:
    if not one or not other:
        return None
    return max(0.0, min(one) / max(other) - 1, min(other) / max(one) - 1)


def _largest(found: Sequence[float | None]) -> float | None:
    known = [value for value in found if value is not None]
    return max(known) if known and len(known) == len(found) else None


def _run(executor: Executor, script: str, *arguments: object) -> str:
    command = ["sh", "-c", script, "probe", *map(str, arguments)]
    try:
        return executor.run(command, timeout_s=LIMIT_S).stdout
    except CommandError as error:  # whose message has the whole script in it
        raise TargetError(" ".join(error.output.split())[-200:] or "it took too long") from error


def _read(roles: tuple[str, ...], printed: str, wanted: Sequence[str]) -> HostProbe:
    speeds: dict[str, list[float]] = {}
    failed: dict[str, str] = {}
    for measure, said in _words(printed):
        cpu, disk = _CPU.fullmatch(said), _DD.fullmatch(said)
        if cpu is not None:
            speed = int(cpu[1]) / int(cpu[2]) * 1e9
        elif disk is not None:
            speed = int(disk[1]) / float(disk[2])
        else:
            speed = 0.0
        if speed > 0:
            unit = SYNC_BYTES if measure == "disk_sync" else 1
            speeds.setdefault(measure, []).append(speed / unit)
        else:
            failed[measure] = said[-200:] or "nothing was printed"
    enough = {measure: values for measure, values in speeds.items() if 2 * len(values) > REPEATS}
    missing = [measure for measure in wanted if measure not in enough]
    return HostProbe(
        roles, enough, None, {m: failed.get(m, "nothing was printed") for m in missing}
    )


def _words(printed: str) -> Iterator[tuple[str, str]]:
    """The first word of each line, and the rest."""
    for line in printed.splitlines():
        name, _, rest = line.partition(" ")
        yield name, rest
