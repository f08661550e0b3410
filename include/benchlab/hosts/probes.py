"""Short probes of a fleet: how fast CPU and disk of each host are, and how far the client is.

What a host says of itself, such as its type and its model of CPU, does not show a CPU that is
throttled, a disk without burst credits, or a neighbour that takes its share. A probe needs
coreutils alone, which every Debian has, and ping for the round trips. It takes half a minute, all
hosts at once; for campaigns of short trials it is shorter.

Every measure is repeated, all of them in turns. Between two hosts, or two moments, only what lies
beyond the spread of the repeats counts: of the 49 ratios of a repeat here to a repeat there the
second smallest for hosts, the sixth smallest for moments. These are lower limits of the ratio, at
levels of 0.06 % and 0.6 % (Hodges and Lehmann; by the ranks of Mann and Whitney). Repeats that vary
much hide a difference, and :func:`noisy` names them.

Example:
    ``difference(to_text(probe(fleet, executor_of, directory_of, 1.0)))`` is 0.08 where another host
    of its role is 8 % faster than the slowest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
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
# and less than one a change of 10 %, even if synced writes vary by 20 % and other copying by 10 %
# between repeats (0.6 and 0.8 % of 20,000 simulated fleets, also if one repeat in ten is slower
# still).
REPEATS = 7
RANK_OF_DIFFERENCE, RANK_OF_CHANGE = 2, 6
# Repeats that vary by more hide a change that the gates would find in calm ones.
NOISY = 0.25
# A host that takes longer has no figures; its trials show how busy it is.
LIMIT_S = 60.0
LINES_PER_S = 600_000
# What is counted, and in which time: `600000 lines 412345678 ns`, `10485760 bytes (10 MB, 10 MiB)
# copied, 0.0051 s, 2.1 GB/s`.
_SPEED = re.compile(r"(\d+) (?:lines|bytes).* ([0-9.e-]+) n?s\b.*")
_UNITS = {"cpu_one": 1e-9, "cpu_all": 1e-9, "disk_sync": 4096}
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
        figures: one per repeat, by measure: ``cpu_one`` and ``cpu_all``, lines sorted a second by
            one thread and by one on each core; ``disk_write`` and ``disk_read``, bytes a second
            past the cache of files; ``disk_sync``, writes of 4 KiB a second, each on the disk
            before the next. The disk is the data directory's, of PD and TiKV hosts only. Also
            ``round_trip``, the mean of 20 pings from the client's host in milliseconds.
        failed: why something is missing, by measure; ``probe``: all but the round trip.
    """

    roles: tuple[str, ...]
    figures: dict[str, list[float]] = field(default_factory=dict)
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

    def look(host: FleetHost) -> HostProbe:
        disk = bool({"pd", "tikv"} & set(host.roles))
        size = (f"{seconds:.3f}", max(round(LINES_PER_S * seconds), 1), REPEATS, int(disk))
        printed = _run(executor_of(host), _PROBE, directory_of(host), *size)
        return _read(host.roles, printed, MEASURES if disk else MEASURES[:2])

    found, reasons = try_on_all({host.name: host for host in fleet.hosts}, look)
    client = fleet.client
    others = [host for host in fleet.hosts if host.name != client.name]
    pings, silent = try_on_all(
        {"pings": executor_of(client)}, lambda here: _run(here, _PING, *(h.address for h in others))
    )
    said = dict(_words(pings.get("pings", "")))
    for host in fleet.hosts:
        if host.name in reasons:
            found[host.name] = HostProbe(host.roles, failed={"probe": reasons[host.name]})
        if host in others:
            answer = said.get(host.address) or silent.get("pings") or "ping printed nothing"
            if match := _RTT.fullmatch(answer):
                found[host.name].figures[ROUND_TRIP] = [float(match[1])]
            else:
                found[host.name].failed[ROUND_TRIP] = answer
    return {host.name: found[host.name] for host in fleet.hosts}


def to_text(found: Mapping[str, HostProbe]) -> str:
    """As kept in a campaign's environment: JSON."""
    return json.dumps({name: asdict(host) for name, host in found.items()})


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
    alike = [[host for host in hosts if role in host.roles] for role in ROLES]
    return _largest(
        _gap(one, other, measure, RANK_OF_DIFFERENCE)
        for of_role in alike
        for measure in MEASURES
        if any(measure in host.figures for host in of_role)
        for one, other in combinations(of_role, 2)
    )


def change(first: str | None, again: str | None) -> float | None:
    """How much faster or slower a host has become between two probes; the host that changed most.

    Args:
        first, again: texts of :func:`to_text`.

    Returns:
        None where there are not two probes, or a figure of the first has none in the second.
    """
    later = from_text(again)
    return _largest(
        _gap(host, later[name], measure, RANK_OF_CHANGE)
        for name, host in from_text(first).items()
        if name in later
        for measure in MEASURES
        if measure in host.figures
    )


def noisy(found: Mapping[str, HostProbe]) -> list[tuple[str, str, float, float]]:
    """Measure, host, smallest and largest repeat, where repeats vary by more than a quarter."""
    return [
        (measure, name, min(figures), max(figures))
        for measure in MEASURES
        for name, host in found.items()
        if (figures := host.figures.get(measure)) and max(figures) > min(figures) * (1 + NOISY)
    ]


def _gap(one: HostProbe, other: HostProbe, measure: str, rank: int) -> float | None:
    if measure not in one.figures or measure not in other.figures:
        return None
    here, there = one.figures[measure], other.figures[measure]
    # Of fewer repeats an earlier one.
    last = max(len(here) * len(there) * rank // REPEATS**2, 1) - 1
    beyond = (
        sorted(left / right for left in lefts for right in rights)[last]
        for lefts, rights in ((here, there), (there, here))
    )
    return max(0.0, *(ratio - 1 for ratio in beyond))


def _largest(gaps: Iterable[float | None]) -> float | None:
    found = [*gaps]
    known = [gap for gap in found if gap is not None]
    return max(known) if known and len(known) == len(found) else None


def _run(executor: Executor, script: str, *arguments: object) -> str:
    command = ["sh", "-c", script, "probe", *map(str, arguments)]
    try:
        return executor.run(command, timeout_s=LIMIT_S).stdout
    except CommandError as error:  # whose message has the whole script in it
        raise TargetError(" ".join(error.output.split())[-200:] or "it took too long") from error


def _read(roles: tuple[str, ...], printed: str, wanted: Sequence[str]) -> HostProbe:
    figures: dict[str, list[float]] = {}
    failed = dict.fromkeys(wanted, "nothing was printed")
    for measure, said in _words(printed):
        match = _SPEED.fullmatch(said)
        if match is None or match[1] == "0":
            failed[measure] = said[-200:]
            continue
        speed = int(match[1]) / float(match[2]) / _UNITS.get(measure, 1)
        figures.setdefault(measure, []).append(float(f"{speed:.5g}"))
    enough = {measure: found for measure, found in figures.items() if 2 * len(found) > REPEATS}
    return HostProbe(roles, enough, {m: why for m, why in failed.items() if m not in enough})


def _words(printed: str) -> Iterator[tuple[str, str]]:
    """The first word of each line, and the rest."""
    for line in printed.splitlines():
        name, _, rest = line.partition(" ")
        yield name, rest
