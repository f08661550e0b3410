"""What servers count of their own work, read twice or more while a trial's client runs.

A detached job on the client's host reads all servers at the same moments, and prints what each of
them answered. Any process can collect it, not only the one that started it. It needs a POSIX shell,
coreutils and what the sources' commands need. Profiles are taken by such a job as well, which waits
longer for an answer.

Example:
    ``start(executor, "counters-client-t1-a1", sources, (1.0, 5.0))`` while the client runs, then
    ``collect(executor, "counters-client-t1-a1")[-1].answers["tidb-1"]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchlab.hosts.executor import Executor

STOP_LIMIT_S = 5.0
# So long a server may take to answer.
ANSWER_LIMIT_S = 10
# Arguments: how long an answer may take, the commands of the sources, `--`, then the moments in
# centiseconds after the start. Servers are read at once, each into a file, so that none of them
# waits for another's answer. Times are of the uptime, which clock changes do not affect. On SIGTERM
# a reading under way is lost.
_READER = r"""
clock() { read -r now rest < /proc/uptime; now=${now%.*}${now#*.}; }
clock; began=$now; count=0; limit=$1; shift
while [ "$1" != -- ]; do
    count=$((count + 1)); printf '%s\n' "$1" > "source-$count"; shift
done
shift
for moment; do
    clock; left=$((began + moment - now))
    [ "$left" -le 0 ] || sleep "$((left / 100)).$((left % 100 / 10))$((left % 10))"
    clock; echo "reading $now"
    number=0
    while [ "$number" -lt "$count" ]; do
        number=$((number + 1))
        timeout "$limit" sh "source-$number" > "answer-$number" 2> /dev/null &
    done
    wait
    number=0
    while [ "$number" -lt "$count" ]; do
        number=$((number + 1)); echo "answer $number"; cat "answer-$number"; echo
    done
    echo "read $now"
done
"""
_READING = re.compile(r"^reading (\d+)\n(.*?)^read \1$", re.MULTILINE | re.DOTALL)
_ANSWER = re.compile(r"^answer \d+\n", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A server that counts.

    Attributes:
        server: its name in the fleet, or ``server`` where it is the only one.
        role: its component: ``tidb``, ``tikv``, ``pd``, ``mariadb``.
        command: a shell's command line that prints them; what is not text, in base64.
    """

    server: str
    role: str
    command: str


@dataclass(frozen=True)
class Reading:
    """What all servers answered at one moment.

    Attributes:
        at: seconds, of the uptime of the host that asked.
        answers: by the name of the server; empty where it did not answer.
    """

    at: float
    answers: Mapping[str, str]


def counters_job(client_job: str) -> str:
    """The job that reads the counters of a client's trial."""
    return f"counters-{client_job}"


def start(
    executor: Executor,
    job: str,
    sources: Sequence[Source],
    moments: Sequence[float],
    limit_s: int = ANSWER_LIMIT_S,
) -> None:
    """Start reading; what an interrupted try left under this job is ended first.

    Args:
        moments: in seconds from now, rising.
        limit_s: how long an answer may take.

    Raises:
        CommandError: it cannot be started.
    """
    executor.stop_job(job, timeout_s=STOP_LIMIT_S)
    executor.forget_job(job)
    commands = [source.command for source in sources]
    at = [str(round(100 * moment)) for moment in moments]
    executor.start_job(job, ["sh", "-c", _READER, "counters", str(limit_s), *commands, "--", *at])


def collect(executor: Executor, job: str, sources: Sequence[Source]) -> list[Reading]:
    """The whole readings of a job, in order of time. Repeatable: nothing is removed.

    Args:
        sources: as given to :func:`start`.

    Raises:
        CommandError: the host cannot be asked.
    """
    return parse(executor.job_output(job), [source.server for source in sources])


def parse(output: str, servers: Sequence[str]) -> list[Reading]:
    """Read what the job printed; a reading that was cut is left out."""
    found = []
    for match in _READING.finditer(output):
        _, *answers = _ANSWER.split(match[2])
        if len(answers) == len(servers):
            found.append(Reading(int(match[1]) / 100, dict(zip(servers, answers, strict=True))))
    return found
