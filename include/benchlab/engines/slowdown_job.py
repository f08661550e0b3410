"""The job that slows one server down while it is measured, on whatever host the server runs.

Its program is :mod:`benchlab.engines.slowdown`, which is sent there. It runs as the account that
the server runs as, which is enough to stop and resume it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from benchlab.engines import slowdown
from benchlab.errors import EngineError, UnavailableError
from benchlab.hosts.executor import Executor

BEGIN_LIMIT_S = 10.0
_ANY_PYTHON = "python3"
# Fails where Python or the kernel cannot hold a process by a file descriptor.
_PROBE = "import os, signal; signal.pidfd_send_signal(os.pidfd_open(os.getpid()), 0)"


@dataclass(frozen=True)
class SlowdownJob:
    """The slowdown of one server.

    Example:
        ``SlowdownJob(executor, "slowdown", program, "cat ../server-candidate/pid", 10.0).begin()``

    Attributes:
        executor: the server's host.
        program: where the program is put.
        find: the command, words without quotes, that prints the server's pid. A server may be
            started anew between trials, so that each beginning asks again.
        percent: for how much of the time it is stopped.
        python: runs the program on the host.
    """

    executor: Executor
    job: str
    program: Path
    find: str
    percent: float
    python: str = _ANY_PYTHON

    @property
    def command(self) -> list[str]:
        """The command of the job."""
        script = 'exec "$0" "$1" "$($2)" "$3"'
        return ["sh", "-c", script, self.python, str(self.program), self.find, f"{self.percent:g}"]

    def begin(self) -> None:
        """Start it, unless it is at work, and wait until the server has been stopped once.

        Raises:
            EngineError: it did not begin; quotes its output.
        """
        self.executor.put(self.program, Path(slowdown.__file__).read_text(encoding="utf-8"))
        self.executor.start_job(self.job, self.command)
        deadline = time.monotonic() + BEGIN_LIMIT_S
        while slowdown.AT_WORK not in self.executor.job_output(self.job):
            late = time.monotonic() > deadline
            if late or self.executor.job_status(self.job).state != "running":
                raise EngineError(self._failed("did not begin"))
            time.sleep(0.01)

    def has_ended(self) -> bool:
        """Whether it ended by itself; if it was killed, the server may be stopped."""
        return self.executor.job_status(self.job).state in ("complete", "lost")

    def check(self) -> None:
        """Check after a trial that it is still at work; EngineError if not, with its output."""
        if self.executor.job_status(self.job).state != "running":
            raise EngineError(self._failed("ended in the trial"))

    def end(self) -> None:
        """End it, which resumes the server; before the server is asked to end."""
        self.executor.stop_job(self.job)
        self.executor.forget_job(self.job)

    def _failed(self, how: str) -> str:
        output = self.executor.job_output(self.job).strip()
        where = f"{self.job} on {self.executor.host}"
        return f"{where}: the slowdown of {self.percent:g} % {how}; its output:\n{output}"


def check_host(executor: Executor) -> None:
    """Check, before anything is loaded, that servers of a host can be slowed down.

    Raises:
        UnavailableError: its Python or its kernel is too old; names the host.
    """
    done = executor.run([_ANY_PYTHON, "-c", _PROBE], check=False)
    if done.exit_code != 0:
        said = (done.stderr.strip().splitlines() or [f"exit code {done.exit_code}"])[-1]
        raise UnavailableError(
            f"{executor.host}: python3 cannot slow a server down on purpose ({said}): it takes "
            "Python 3.9 or later and Linux 5.3 or later; on Debian: `apt-get install python3`"
        )
