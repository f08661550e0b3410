"""Parses a sampler's output from a host: turns kernel counters into rates, means and maxima.

The lines are those of Linux's ``/proc/uptime``, ``/proc/stat``, ``/proc/meminfo``,
``/proc/diskstats``, ``/proc/net/dev`` and ``/proc/<pid>/stat``, as described in proc(5) and the
kernel's ``Documentation/admin-guide/iostats.rst``. Every sample begins with the uptime and ends
with ``end``. Lines of ``/proc/<pid>/stat`` are of the campaign's own processes; for kernel threads
and Airflow's services the sampler prints lines of its own. A value that is missing or cannot be
derived is None.

Example:
    ``figures(parse(executor.job_output(job)))["cpu_steal"].mean`` is a fraction of all cores' time.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from itertools import pairwise

from benchlab.language import Said

SECTOR_BYTES = 512  # whatever the disk's own sectors are
# A 32-bit counter wraps here. A decrease counts as a wrap only if the increase that it implies is
# below the limit, else as a restart.
WRAP = 2**32
WRAP_LIMIT = 2**28
# Samples closer than this (such as the last one, taken on SIGTERM) form no interval of their own:
# the kernel counts in hundredths of a second.
SHORTEST_S = 0.5

_DIGITS = "[0-9]{1,20}"
_UPTIME = re.compile(r"([0-9]{1,12}\.[0-9]{1,6}) +[0-9.]+")
_HEADER = re.compile(r"(cores|ticks|sampler) ([0-9]{1,9})")
_PROCESS = re.compile(r"process (\S+) ([0-9]{1,9})")
_CPU = re.compile(rf"cpu((?: +{_DIGITS}){{8,12}})")
_MEMORY = re.compile(rf"(MemTotal|MemAvailable): +({_DIGITS}) kB")
_DISK = re.compile(rf" *[0-9]+ +[0-9]+ (\S+)((?: +{_DIGITS}){{11,30}})")
_NET = re.compile(rf" *([^\s:]+):( *{_DIGITS}(?: +{_DIGITS}){{15}})")
_STAT = re.compile(r"([0-9]{1,9}) \(.*\) \S((?: +-?[0-9]{1,20}){20,60})")
_SERVICE = re.compile(rf"service [0-9]{{1,9}}((?: {_DIGITS}){{4}})")
_SPACE = re.compile(rf"space ({_DIGITS}) ({_DIGITS}) ({_DIGITS})")
_KERNEL = re.compile(rf"kernel ([0-9]{{1,9}}) ({_DIGITS}) (.*)")

# Virtual devices on top of others: counting them too would count the same traffic twice.
_STACKED_DISK = re.compile(r"loop|ram|zram|sr\d|fd\d|dm-|md\d|nvme\d+c\d+n")
_STACKED_NET = re.compile(r"lo$|docker|br-|virbr|veth|ifb|dummy|bond|team|tun|tap|cni|cali|.*\.")


@dataclass(frozen=True)
class Interval:
    """What a host did between two samples.

    Attributes:
        t: its end, in seconds since the sampler's start.
        seconds: its length.
        cpu_user, cpu_system, cpu_iowait, cpu_steal, cpu_idle: fractions of all cores' time; nice
            counts as user, interrupts as system.
        cpu_busy: fraction of time neither idle nor waiting for disks.
        cpu_other: background load, as a fraction of all cores' time: that of programs other than
            the campaign's client, load balancer, servers and sampler. Kernel threads, which work
            for whoever reads and writes, and the services of `make up`, which load both sides
            alike, are left out. None if a process of the campaign ended, whose time is then
            unknown.
        memory_used_bytes: at its end; memory that is not available without swapping.
        disk_read_bytes_per_s, disk_write_bytes_per_s: over all disks.
        disk_busy: fraction of time in which the busiest disk had requests.
        net_rx_bytes_per_s, net_tx_bytes_per_s: over all network cards, without loopback.
        disk_used: the largest fraction of the data directory's file system in use since the
            sampler's start; so a full disk, on which it cannot print, still shows afterwards.
    """

    t: float
    seconds: float
    cpu_user: float | None = None
    cpu_system: float | None = None
    cpu_iowait: float | None = None
    cpu_steal: float | None = None
    cpu_idle: float | None = None
    cpu_busy: float | None = None
    cpu_other: float | None = None
    memory_used_bytes: float | None = None
    disk_read_bytes_per_s: float | None = None
    disk_write_bytes_per_s: float | None = None
    disk_busy: float | None = None
    net_rx_bytes_per_s: float | None = None
    net_tx_bytes_per_s: float | None = None
    disk_used: float | None = None


METRICS = tuple(column.name for column in fields(Interval))[2:]  # without t and seconds


@dataclass(frozen=True)
class HostSeries:
    """One host during one trial.

    Attributes:
        cores: the host's number of cores; None if unknown.
        intervals: in order of time, without gaps unless the host was down.
        processes: average CPU use of each watched job's process, in cores, by job.
        space: the least free space of the data directory's file system, and its size, in bytes;
            None if unknown.
    """

    cores: int | None
    intervals: tuple[Interval, ...]
    processes: Mapping[str, float]
    space: tuple[int, int] | None = None

    @property
    def seconds(self) -> float:
        """The length of all intervals together."""
        return sum(interval.seconds for interval in self.intervals)


@dataclass(frozen=True)
class Figure:
    """One metric of one host in one trial: mean over time, and maximum over the intervals."""

    mean: float
    max: float


@dataclass(frozen=True)
class HostFigures:
    """The summary of one host in one trial.

    Attributes:
        host: its name.
        cores: None if unknown.
        figures: by metric (:data:`METRICS`), without metrics that it did not report.
        processes: CPU used by client and load balancer as a fraction of what was available to
            each, by name; only on the host where they run.
        reason: why there are no figures; None if there are.
    """

    host: str
    cores: int | None = None
    figures: Mapping[str, Figure] = field(default_factory=dict)
    processes: Mapping[str, float] = field(default_factory=dict)
    reason: Said | None = None


@dataclass(frozen=True)
class _Process:
    """A process of the campaign: CPU ticks used by it, and by its children that have ended."""

    parent: int
    started: int
    ticks: int
    ended_children: int


@dataclass
class _Sample:
    """The counters of one moment, as printed."""

    at: float
    cpu: list[int] | None = None
    memory: dict[str, int] = field(default_factory=dict)
    disks: dict[str, list[int]] = field(default_factory=dict)
    nets: dict[str, list[int]] = field(default_factory=dict)
    # The least free space so far, and the size, in bytes.
    space: tuple[int, int] | None = None
    processes: dict[int, _Process] = field(default_factory=dict)
    # pid -> name, CPU ticks used
    kernel: dict[int, tuple[str, int]] = field(default_factory=dict)
    # Ticks of all services, including those of their children that have ended.
    services: int = 0


def parse(output: str) -> HostSeries:
    """Parse a sampler's output; skips other lines and incomplete samples."""
    header: dict[str, int] = {}
    jobs: dict[str, int] = {}
    samples: list[_Sample] = []
    current: _Sample | None = None
    for line in output.split("\n"):
        if match := _UPTIME.fullmatch(line):
            current = _Sample(float(match[1]))
        elif current is None:
            if match := _HEADER.fullmatch(line):
                header[match[1]] = int(match[2])
            elif match := _PROCESS.fullmatch(line):
                jobs[match[1]] = int(match[2])
        elif line == "end":
            samples.append(current)
            current = None
        else:
            _read(line, current)
    samples = _spaced(samples)
    return HostSeries(
        cores=header.get("cores") or None,
        intervals=tuple(_intervals(samples, header.get("sampler"))),
        processes=_process_use(samples, jobs, header.get("ticks")),
        space=next((found.space for found in reversed(samples) if found.space), None),
    )


def figures(series: HostSeries) -> dict[str, Figure]:
    """Mean over time and maximum, by metric, without metrics that have no values."""
    found = {}
    for metric in METRICS:
        known = [one for one in series.intervals if getattr(one, metric) is not None]
        if known:
            values = [getattr(interval, metric) for interval in known]
            mean = statistics.fmean(values, [interval.seconds for interval in known])
            found[metric] = Figure(mean, max(values))
    return found


def _read(line: str, sample: _Sample) -> None:
    """Add one line to a sample; tries network cards last, because their names may be anything."""
    if match := _CPU.fullmatch(line):
        sample.cpu = _numbers(match[1])
    elif match := _MEMORY.fullmatch(line):
        sample.memory[match[1]] = int(match[2]) * 1024
    elif match := _DISK.fullmatch(line):
        sample.disks[match[1]] = _numbers(match[2])
    elif match := _STAT.fullmatch(line):
        numbers = _numbers(match[2])  # the first one is field 4 in proc(5), the parent
        sample.processes[int(match[1])] = _Process(
            numbers[0], numbers[18], numbers[10] + numbers[11], numbers[12] + numbers[13]
        )
    elif match := _KERNEL.fullmatch(line):
        sample.kernel[int(match[1])] = (match[3], int(match[2]))
    elif match := _SPACE.fullmatch(line):
        free, size, block = (int(number) for number in match.groups())
        sample.space = (free * block, size * block) if 0 < size >= free else None
    elif match := _SERVICE.fullmatch(line):
        sample.services += sum(_numbers(match[1]))
    elif match := _NET.fullmatch(line):
        sample.nets[match[1]] = _numbers(match[2])


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split()]


def _spaced(samples: Iterable[_Sample]) -> list[_Sample]:
    """Drop each sample that the next one follows too closely, except the first."""
    kept: list[_Sample] = []
    for sample in samples:
        if len(kept) > 1 and 0 <= sample.at - kept[-1].at < SHORTEST_S:
            kept.pop()
        kept.append(sample)
    return kept


def _intervals(samples: list[_Sample], sampler: int | None) -> Iterator[Interval]:
    for before, after in pairwise(samples):
        seconds = after.at - before.at
        if seconds <= 0:
            continue  # the host was rebooted, and its counters restarted
        yield Interval(
            t=round(after.at - samples[0].at, 3),
            seconds=round(seconds, 3),
            **_cpu(before, after, sampler),
            memory_used_bytes=_memory_used(after.memory),
            **_disk(before, after, seconds),
            **_net(before, after, seconds),
            disk_used=None if after.space is None else 1 - after.space[0] / after.space[1],
        )


def _cpu(before: _Sample, after: _Sample, sampler: int | None) -> dict[str, float | None]:
    if before.cpu is None or after.cpu is None or len(before.cpu) != len(after.cpu):
        return {}
    # The columns after these eight are guests' time, already included in user.
    spent = [now - then for then, now in zip(before.cpu, after.cpu, strict=True)][:8]
    for decreasing in (3, 4):  # proc(5): iowait "is not reliable", and idle suffers with it
        spent[decreasing] = max(spent[decreasing], 0)
    total = sum(spent)
    if min(spent) < 0 or total <= 0:
        return {}
    user, nice, system, idle, iowait, irq, softirq, steal = spent
    return {
        "cpu_user": (user + nice) / total,
        "cpu_system": (system + irq + softirq) / total,
        "cpu_iowait": iowait / total,
        "cpu_steal": steal / total,
        "cpu_idle": idle / total,
        "cpu_busy": (total - idle - iowait) / total,
        "cpu_other": _other(before, after, spent, sampler),
    }


def _other(before: _Sample, after: _Sample, spent: list[int], sampler: int | None) -> float | None:
    """The share of CPU that was neither the campaign's nor the kernel's; see :class:`Interval`.

    What counts as a process's time depends on how the kernel was built (kernel/sched/cputime.c,
    ``irqtime_account_process_tick``). With IRQ_TIME_ACCOUNTING, interrupts are counted separately.
    Without it, they are part of the time of the process that they interrupt, although /proc/stat
    shows soft interrupts separately; such a kernel is recognized by having no hard interrupts at
    all. Clients and servers on one machine communicate through soft interrupts, which were seen to
    take 13 % of two cores. Soft interrupts of an idle core are no process's time; their share is
    assumed to be that of idle time.
    """
    own = _own_ticks(before, after, sampler)
    if own is None or after.cpu is None:
        return None
    user, nice, system, idle, iowait, _, softirq, _ = spent
    apart = after.cpu[5] > 0
    programs: float = user + nice + system
    if not apart and programs:
        programs += softirq * programs / (programs + idle + iowait)
    kernel = sum(
        max(ticks - before.kernel[pid][1], 0)
        for pid, (name, ticks) in after.kernel.items()
        # /proc/stat always counts ksoftirqd as soft interrupts.
        if pid in before.kernel and not (apart and name.startswith("ksoftirqd/"))
    )
    # The ticks of a service that has ended are in its parent's figure.
    services = max(after.services - before.services, 0)
    # Processes are timed, /proc/stat is sampled: they may differ by some ticks.
    return min(max((programs - own - kernel - services) / sum(spent), 0.0), 1.0)


def _own_ticks(before: _Sample, after: _Sample, sampler: int | None) -> int | None:
    """CPU ticks used by the campaign's processes; None if one ended, or if they are unknown.

    The sampler's own children are short-lived, and count once the sampler has reaped them.
    """
    if sampler is None or sampler not in after.processes:
        return None
    used = 0
    for pid, process in before.processes.items():
        same = after.processes.get(pid)
        if process.parent != sampler and (same is None or same.started != process.started):
            return None
    for pid, process in after.processes.items():
        if process.parent != sampler:
            earlier = before.processes.get(pid)
            used += process.ticks - (earlier.ticks if earlier else 0)
            if pid == sampler:
                used += process.ended_children - (earlier.ended_children if earlier else 0)
    return used


def _memory_used(memory: Mapping[str, int]) -> float | None:
    total, available = memory.get("MemTotal"), memory.get("MemAvailable")
    if total is None or available is None or available > total:
        return None
    return float(total - available)


def _disk(before: _Sample, after: _Sample, seconds: float) -> dict[str, float | None]:
    names = [name for name in whole_disks(after.disks) if name in before.disks]
    pairs = [(before.disks[name], after.disks[name]) for name in names]
    busy = [_increase(then[9], now[9]) for then, now in pairs]
    shares = [None if spent is None else spent / 1000 / seconds for spent in busy]
    # The kernel counts in timer ticks and may be one ahead.
    known = [min(share, 1.0) for share in shares if share is not None and share < 1.1]
    return {
        "disk_read_bytes_per_s": _rate(((a[2], b[2]) for a, b in pairs), seconds, SECTOR_BYTES),
        "disk_write_bytes_per_s": _rate(((a[6], b[6]) for a, b in pairs), seconds, SECTOR_BYTES),
        "disk_busy": max(known) if known and len(known) == len(shares) else None,
    }


def whole_disks(names: Iterable[str]) -> list[str]:
    """Leave out partitions and devices on top of other disks: ``sda1``, ``dm-0``, ``md0``."""
    own = [name for name in names if not _STACKED_DISK.match(name)]
    disks = set(own)

    def is_partition(name: str) -> bool:
        parent = name.rstrip("0123456789")
        return parent != name and (parent in disks or (parent[-1:] == "p" and parent[:-1] in disks))

    return [name for name in own if not is_partition(name)]


def _net(before: _Sample, after: _Sample, seconds: float) -> dict[str, float | None]:
    names = [n for n in after.nets if n in before.nets and not _STACKED_NET.match(n)]
    pairs = [(before.nets[name], after.nets[name]) for name in names]
    return {
        "net_rx_bytes_per_s": _rate(((a[0], b[0]) for a, b in pairs), seconds),
        "net_tx_bytes_per_s": _rate(((a[8], b[8]) for a, b in pairs), seconds),
    }


def _rate(pairs: Iterable[tuple[int, int]], seconds: float, factor: int = 1) -> float | None:
    """The sum of all increases per second; None if there are none, or one is unknown."""
    increases = [_increase(then, now) for then, now in pairs]
    known = [increase for increase in increases if increase is not None]
    return sum(known) * factor / seconds if known and len(known) == len(increases) else None


def _increase(then: int, now: int) -> int | None:
    """How much a counter grew; None if it restarted."""
    if now >= then:
        return now - then
    wrapped = now + WRAP - then
    return wrapped if 0 <= wrapped < WRAP_LIMIT else None


def _process_use(
    samples: Iterable[_Sample], jobs: Mapping[str, int], ticks: int | None
) -> dict[str, float]:
    """Average CPU in cores by job, from its first to its last sample."""
    if not ticks:
        return {}
    found = {}
    kept = list(samples)
    for job, pid in jobs.items():
        seen = [(sample.at, sample.processes[pid]) for sample in kept if pid in sample.processes]
        if not seen:
            continue
        (begin, before), (end, after) = seen[0], seen[-1]
        # Another start time means another process with the same pid.
        same = before.started == after.started
        if same and end - begin >= SHORTEST_S and after.ticks >= before.ticks:
            found[job] = (after.ticks - before.ticks) / ticks / (end - begin)
    return found
