"""What the hosts did while a trial's client ran: CPU, steal, memory, disk and network.

On every host a detached job, the sampler, prints the kernel's counters once a second for as long as
the client should run, and then ends by itself. It needs a POSIX shell, grep, sed and coreutils, and
uses about 8 ms of CPU per second. Any process can collect its output, not only the one that started
it. A host without usable samples has a reason instead of figures; no trial fails because of it.

Example:
    ``start(executors, sampler_job(client_job), 60, "client-1", watched)`` while the client runs,
    then ``stop_and_collect(...).columns()["cpu_steal_ratio"]``.
"""

from __future__ import annotations

import csv
import io
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchlab.errors import BenchlabError, CommandError
from benchlab.hosts.executor import Executor
from benchlab.hosts.fleet import try_on_all
from benchlab.hosts.samples import METRICS, HostFigures, HostSeries, figures, parse
from benchlab.language import Message, Said, message

STOP_LIMIT_S = 5.0
# A trial is too short to be judged if one tick is a larger share of its CPU time than this.
COARSEST_STEAL, COARSEST_OTHER = 0.003, 0.03
_TICKS_PER_S = 100
# How often a host's clock is read; each answer narrows its offset down.
ASK_CLOCK = 8
# The largest uncertainty of a clock's offset that is still useful.
COARSEST_CLOCK_S = 0.005

# Arguments: seconds, then the jobs whose processes are watched. A job's directory is beside the
# sampler's, and its `pid` is the program's own (executor.py). One sed reads and filters everything.
# The campaign's own processes are those in the sessions of its jobs, which include a client's
# children, and on a fleet those of the servers that systemd started. These are recognized by
# command lines that name the campaign's directory; a shell over SSH may name it too, but is no
# child of process 1. The services of `make up` are one session; all its processes carry their tag,
# and so do the jobs that their tasks start. Kernel threads are children of process 2; those that
# used less than 0.1 s are left out. On SIGTERM a last sample is taken, so that everything until
# then is known; `wait` is used because signals interrupt it, unlike `sleep`. Times are centiseconds
# of uptime, which clock changes do not affect, and each second is counted from the first, so that
# the sampler does not drift. On a full disk it cannot print. So it remembers the least free space,
# and reserves some space, which it frees for its last sample. A job's directory is on the data
# directory's file system.
_SAMPLER = r"""
echo "cores $(grep -c '^cpu[0-9]' /proc/stat)"
echo "ticks $(getconf CLK_TCK)"
echo "sampler $$"
limit=$(($1 * 100)); shift
for job; do pid=$(cat "../$job/pid") && echo "process $job $pid"; done
sessions() {
    sed -n "s/.*) [A-Z] $1 [0-9]* \([0-9]*\) .*/\1/p" "$2" 2>/dev/null
}
own=$(
    sessions '[0-9]*' /proc/$$/stat
    case $PWD in */jobs/*) ;; *) exit ;; esac
    for file in ../*/pid; do
        [ -e "${file%pid}exit_code" ] || sessions '[0-9]*' "/proc/$(cat "$file")/stat"
    done
    campaign=${PWD%/jobs/*}
    for file in $(grep -lsF -e "/${campaign##*/}/" /proc/[0-9]*/cmdline); do
        sessions 1 "${file%cmdline}stat"
    done
)
services=$(
    for file in $(grep -lsF -e BENCHLAB_SERVICES= /proc/[0-9]*/environ); do
        sessions '[0-9]*' "${file%environ}stat"
    done | sort -u
)
filters=$(
    for session in $own; do echo "/^[0-9]* (.*) [A-Z] [0-9]* [0-9]* $session /p"; done | sort -u
    rest='\( -*[0-9]*\)\{7\} \([0-9]* [0-9]* [0-9]* [0-9]*\) .*/service \1 \3/p'
    for session in $services; do
        case " $(echo $own) " in *" $session "*) continue ;; esac
        printf '%s\n' "s/^\([0-9]*\) (.*) [A-Z] [0-9]* [0-9]* $session$rest"
    done
)
kernel='s/^\([0-9]*\) (\(.*\)) [A-Z] 2\( -*[0-9]*\)\{10\} \([0-9]\{2,\}\) .*/kernel \1 \4 \2/p'
sample() {
    sed -n -e '/^[0-9.]\{1,\} [0-9.]\{1,\}$/p' -e '/^cpu /p' \
        -e '/^MemTotal:/p' -e '/^MemAvailable:/p' \
        -e '/^ *[17]  *[0-9]\{1,\} /d' -e '/^ *[0-9]\{1,\}  *[0-9]\{1,\} [a-z]/p' \
        -e '/^ *[^ ]*: *[0-9]\{1,\}\( \{1,\}[0-9]\{1,\}\)\{15\} *$/p' \
        -e "$filters" -e "$kernel" \
        /proc/uptime /proc/stat /proc/meminfo /proc/diskstats /proc/net/dev \
        /proc/[0-9]*/stat 2>/dev/null
    set -- $(stat -f -c '%a %b %S' . 2>/dev/null)
    [ $# != 3 ] || { [ "${least:-$1}" -lt "$1" ] || least=$1; echo "space $least $2 $3"; }
    echo end
}
last() { rm -f spare; sample; }
clock() { read -r now rest < /proc/uptime; now=${now%.*}${now#*.}; }
case $PWD in */jobs/*) head -c 65536 /dev/zero > spare ;; esac
trap '[ -z "$nap" ] || kill "$nap" 2>/dev/null; last; exit 0' TERM
nap() { sleep "$1" & nap=$!; wait "$nap"; nap=; }
clock; next=$now; last=$((now + limit))
while sample; [ "$next" -lt "$last" ]; do
    next=$((next + 100)); clock; left=$((next - now))
    case $left in
        -*|0) next=$now ;;
        ?) nap "0.0$left" ;;
        ??) nap "0.$left" ;;
        *) nap 1 ;;
    esac
done
last
"""


@dataclass(frozen=True)
class Watched:
    """A process on the client's host that must not be the bottleneck of a trial.

    Attributes:
        name: ``client`` or ``load balancer``.
        job: the id of its job.
        threads: how many threads it has, which is the most cores that it can use.
    """

    name: str
    job: str
    threads: int


@dataclass(frozen=True)
class HostMetrics:
    """What all hosts did in one trial: ``found.columns()["harness_cpu_ratio"]``.

    Attributes:
        hosts: one entry per host, including hosts without figures.
        series: by host, only hosts with figures.
        client: name of the client's host.
        watched: names of the processes that should have been watched.
        client_alone: whether only client and load balancer run on the client's host.
    """

    hosts: tuple[HostFigures, ...]
    series: Mapping[str, HostSeries]
    client: str
    watched: tuple[str, ...]
    client_alone: bool

    def to_csv(self) -> str:
        """One row per host and interval; names tell units, and a missing value is empty."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["host", "t", "seconds", *METRICS])
        for host, series in self.series.items():
            for interval in series.intervals:
                values = (_written(metric, getattr(interval, metric)) for metric in METRICS)
                writer.writerow([host, interval.t, interval.seconds, *values])
        return text.getvalue()

    def columns(self) -> dict[str, float | None]:
        """Columns for the gates, as fractions; None if a part of one is missing."""
        return {
            "harness_cpu_ratio": self._harness_cpu(),
            "cpu_steal_ratio": self._worst("cpu_steal", COARSEST_STEAL),
            "other_work_ratio": self._worst("cpu_other", COARSEST_OTHER),
        }

    def space_ratio(self, needed: Callable[[str, float], float]) -> float | None:
        """The least free space of a data directory, as a multiple of what its servers need free.

        Args:
            needed: returns the bytes needed, from a host's name and the size of its file system.

        Returns:
            The smallest of all hosts; None if it is unknown for one.
        """
        found = [(host.host, self.series.get(host.host)) for host in self.hosts]
        known = [
            series.space[0] / needed(host, series.space[1])
            for host, series in found
            if series is not None and series.space is not None
        ]
        return min(known) if known and len(known) == len(found) else None

    def _harness_cpu(self) -> float | None:
        """The largest share that client or load balancer used of the CPU available to it.

        One core per thread is available to a process, at most all cores of the host. If nothing
        else runs there, both share the cores, so the busy share of the whole host counts as well.
        On a host shared with a server, busy cores say nothing about the client.
        """
        found = next((host for host in self.hosts if host.host == self.client), None)
        if found is None or not all(name in found.processes for name in self.watched):
            return None
        used = list(found.processes.values())
        if self.client_alone:
            if "cpu_busy" not in found.figures:
                return None
            used.append(found.figures["cpu_busy"].mean)
        return max(used, default=None)

    def _worst(self, metric: str, coarsest: float) -> float | None:
        """The worst host's mean; None if a host lacks it, or if the trial was too short for it."""
        shares = []
        for host in self.hosts:
            series = self.series.get(host.host)
            if series is None or metric not in host.figures:
                return None
            if (host.cores or 0) * series.seconds * _TICKS_PER_S * coarsest < 1:
                return None
            shares.append(host.figures[metric].mean)
        return max(shares, default=None)


def sampler_job(client_job: str) -> str:
    """The id of the job in which the samplers of a client's trial run, one on each host."""
    return f"hosts-{client_job}"


def start(
    executors: Mapping[str, Executor],
    job: str,
    seconds: int,
    client: str,
    watched: Sequence[Watched],
) -> dict[str, Said]:
    """Start a sampler on every host, just after a trial's new client was started.

    A sampler that an interrupted try left in this job is ended first. Do not call this for an
    adopted client: its samplers are still running.

    Args:
        executors: of every host, by its name.
        job: the samplers' job, from :func:`sampler_job`.
        seconds: how long the client should run, and the samplers with it.
        client: name of the host where the watched processes run.
        watched: client and load balancer, already started.

    Returns:
        Why there is no sampler on a host, by host; empty if every host has one.
    """

    def begin(executor: Executor) -> Message | None:
        executor.stop_job(job, timeout_s=STOP_LIMIT_S)
        executor.forget_job(job)
        here = executor is executors.get(client)
        jobs = [process.job for process in watched] if here else []
        try:
            executor.start_job(job, ["sh", "-c", _SAMPLER, "hosts", str(seconds), *jobs])
        except CommandError as error:  # its message contains the whole sampler
            said = _shortened(error.output)
            return message("hosts-sampler-refused", said=said)
        return None

    begun, failed = try_on_all(executors, begin)
    return {**failed, **{host: why for host, why in begun.items() if why is not None}}


def stop_and_collect(
    executors: Mapping[str, Executor],
    job: str,
    client: str,
    watched: Sequence[Watched],
    *,
    unsampled: Mapping[str, Said],
    client_alone: bool,
) -> HostMetrics:
    """End the samplers and read what they printed. Repeatable: nothing is removed.

    Args:
        executors, job, client, watched: as given to :func:`start`.
        unsampled: what :func:`start` returned; its reasons take precedence for hosts that failed.
        client_alone: whether only client and load balancer run on the client's host.
    """

    def end(executor: Executor) -> Said:
        absent = executor.job_status(job).state == "absent"
        executor.stop_job(job, timeout_s=STOP_LIMIT_S)
        return message("hosts-sampler-absent") if absent else executor.job_output(job)

    printed, failed = try_on_all(executors, end)
    reasons: dict[str, Said] = {**failed}
    series = {}
    for host, output in printed.items():
        if isinstance(output, Message):
            reasons[host] = output
        elif (found := parse(output)).intervals:
            series[host] = found
        else:
            said = _shortened(output)
            reasons[host] = message("hosts-sampler-silent", said=said)
    reasons |= {host: why for host, why in unsampled.items() if host in reasons}
    return HostMetrics(
        hosts=tuple(
            HostFigures(host, reason=reasons[host])
            if host not in series
            else HostFigures(
                host,
                cores=series[host].cores,
                figures=figures(series[host]),
                processes=_shares(series[host], watched if host == client else ()),
            )
            for host in executors
        ),
        series={host: series[host] for host in executors if host in series},
        client=client,
        watched=tuple(process.name for process in watched),
        client_alone=client_alone,
    )


def other_work(executors: Mapping[str, Executor]) -> dict[str, float | None]:
    """The background load of each host within one second, as a share of its CPU, by host.

    To be called between trials: processes of the campaign count too. None if a host does not
    report it.

    Example:
        ``other_work({"localhost": executor})`` is ``{"localhost": 0.03}`` on a calm machine.
    """

    def look(executor: Executor) -> float | None:
        printed = executor.run(["sh", "-c", _SAMPLER, "hosts", "1"]).stdout
        found = figures(parse(printed)).get("cpu_other")
        return None if found is None else found.mean

    shares, _ = try_on_all(executors, look)
    return {host: shares.get(host) for host in executors}


def clock_offset_ms(executors: Mapping[str, Executor]) -> float | None:
    """The largest difference between the clocks of two hosts, in milliseconds.

    A host reads its clock between question and answer, which bounds its offset (Cristian,
    Probabilistic clock synchronization, Distributed Computing 3, 1989). The intervals of several
    questions are intersected, and the middle is taken. With at most 5 ms of uncertainty per host,
    clocks that agree never appear more than 10 ms apart.

    Makes several round trips to every host, so call it once per campaign, not per trial.

    Returns:
        None if there is only one host, a host does not answer, or its offset is too uncertain.
    """
    if len(executors) < 2:
        return None
    offsets, reasons = try_on_all(executors, _clock_offset)
    if reasons or any(uncertainty > COARSEST_CLOCK_S for _, uncertainty in offsets.values()):
        return None
    ahead = [offset for offset, _ in offsets.values()]
    return (max(ahead) - min(ahead)) * 1000


def _clock_offset(executor: Executor) -> tuple[float, float]:
    """How far a host's clock is ahead of this machine's, and the uncertainty, in seconds."""
    least, most = -math.inf, math.inf
    for _ in range(ASK_CLOCK):
        asked, begin = time.time(), time.monotonic()
        said = executor.run(["date", "+%s.%N"], timeout_s=STOP_LIMIT_S).stdout.strip()
        answered = asked + time.monotonic() - begin
        try:
            read = float(said)
        except ValueError as error:
            raise _NoFiguresError(f"its clock says {said!r}") from error
        least, most = max(least, read - answered), min(most, read - asked)
    if least > most:
        raise _NoFiguresError("its clock, or this machine's, was set meanwhile")
    return (least + most) / 2, (most - least) / 2


class _NoFiguresError(BenchlabError):
    """A host's clock cannot be read reliably; caught within this module."""


def _shortened(output: str) -> str:
    """The end of a command's output, as one line."""
    return " ".join(output.split())[-200:] or "nothing"


def _shares(series: HostSeries, watched: Sequence[Watched]) -> dict[str, float]:
    if series.cores is None:
        return {}
    return {
        process.name: series.processes[process.job] / max(1, min(process.threads, series.cores))
        for process in watched
        if process.job in series.processes
    }


def _written(metric: str, value: float | None) -> str:
    """A value for the CSV: bytes as a whole number, fractions with four decimals."""
    if value is None:
        return ""
    return f"{value:.0f}" if "bytes" in metric else f"{value:.4f}"
