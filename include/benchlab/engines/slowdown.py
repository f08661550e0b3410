"""Slows a server down on purpose, to see whether Benchlab detects it.

``python -m benchlab.engines.slowdown PID PERCENT`` stops the process for that part of the time and
lets it run for the rest, in periods of 20 ms or more, by SIGSTOP and SIGCONT. These do not need
root and stop all threads, whether they compute or write to a disk. If a stop was too long or too
short, because other processes had the CPU, later periods make up for it. Times are those of the
monotonic clock.

It ends on SIGTERM, or when the server has ended. However it ends, the server is not left stopped.

:mod:`benchlab.engines.slowdown_job` sends this file to the server's host, where nothing of Benchlab
is installed: it imports only what Python 3.9 has itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence

#: Printed when the server has been stopped for the first time.
AT_WORK = "at work"

PERIOD_S = 0.02
# No period is stopped for longer; later ones make up for the rest. So the server makes progress in
# between, and no query waits for long.
LONGEST_STOP_S = 0.05
SHORTEST_RUN_S = 0.001
# Time between looks at whether a stop has begun, which takes until the thread that handles the
# signal gets a CPU: mostly at once, on a busy machine up to 5 ms. Without looking, a server that
# should have been stopped for 30 % of the time was seen to be stopped for 23 %.
LOOK_AGAIN_S = 0.0001
STOP_LIMIT_S = PERIOD_S
# A larger difference than this counts as a failed slowdown.
DEBT_LIMIT_S = 1.0


class SlowdownError(Exception):
    """The server could not be stopped for as long as was asked for."""


def owed_s(share: float, elapsed_s: float, stopped_s: float) -> float:
    """For how many seconds the period that begins now should stop the server.

    At its end the server should have been stopped for ``share`` of the whole time. What exceeds
    :data:`LONGEST_STOP_S` is left to later periods.

    Example:
        ``owed_s(0.1, 1.0, 0.1)`` is 0.002: 10 % of the next 20 ms.

    Args:
        share: fraction of the time, 0 to 0.9.
        elapsed_s: seconds since the slowdown began.
        stopped_s: for how many of them the server was stopped.

    Raises:
        SlowdownError: that is off by more than :data:`DEBT_LIMIT_S`; says how far.
    """
    if abs(share * elapsed_s - stopped_s) > DEBT_LIMIT_S:
        raise SlowdownError(
            f"the server was stopped for {stopped_s:.2f} s of {elapsed_s:.2f} s, and "
            f"{share * elapsed_s:.2f} s were requested: the machine was too busy or stalled; end "
            "other programs and measure again"
        )
    owed = share * (elapsed_s + PERIOD_S) - stopped_s
    return min(max(owed, 0.0), LONGEST_STOP_S)


class Server:
    """The process that is slowed down.

    It is held by a file descriptor, so that a later process with the same pid is never touched.

    Raises:
        ProcessLookupError: there is no process with this pid.
    """

    def __init__(self, pid: int) -> None:
        self._process = os.pidfd_open(pid)
        try:
            self._stat = os.open(f"/proc/{pid}/task/{pid}/stat", os.O_RDONLY)
        except FileNotFoundError as error:
            raise ProcessLookupError(f"process {pid} has just ended") from error

    def stop_for(self, seconds: float) -> float:
        """Stop it and let it run again; returns for how many seconds it was seen stopped.

        Raises:
            ProcessLookupError: it has ended.
        """
        signal.pidfd_send_signal(self._process, signal.SIGSTOP)
        try:
            if not self._is_stopped():
                return 0.0
            since = time.monotonic()
            self.gone_within(seconds)
            # Read before it runs again, when its threads may take this process's CPU.
            return time.monotonic() - since
        finally:
            self.go_on()

    def go_on(self) -> None:
        """Let it run again.

        Raises:
            ProcessLookupError: it has ended.
        """
        signal.pidfd_send_signal(self._process, signal.SIGCONT)

    def gone_within(self, seconds: float) -> bool:
        """Wait until it has ended, for at most so many seconds; returns whether it has."""
        return bool(select.select([self._process], [], [], seconds)[0])

    def _is_stopped(self) -> bool:
        """Wait until its first thread is stopped, and the others with it; returns whether it is."""
        until = time.monotonic() + STOP_LIMIT_S
        # The state is one letter, described in proc(5).
        while os.pread(self._stat, 512, 0).rpartition(b") ")[2][:1] != b"T":
            if time.monotonic() > until:
                return False
            time.sleep(LOOK_AGAIN_S)
        return True


def slow_down(server: Server, share: float, on_first_stop: Callable[[], None]) -> str:
    """Stop a server for a share of the time, until it has ended or SIGTERM comes.

    Args:
        on_first_stop: called once, when the server has been stopped for the first time.

    Returns:
        What was done, for people.

    Raises:
        SlowdownError: see :func:`owed_s`.
    """
    asked_to_end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: asked_to_end.set())
    _guard(server)
    _go_first()
    begin = time.monotonic()
    stopped_s = 0.0
    with contextlib.suppress(ProcessLookupError):  # the server has ended
        while not asked_to_end.is_set():
            now = time.monotonic()
            first = stopped_s == 0
            if (owed := owed_s(share, now - begin, stopped_s)) > 0:
                stopped_s += server.stop_for(owed)
            if first and stopped_s > 0:
                on_first_stop()
            if server.gone_within(max(now + PERIOD_S - time.monotonic(), SHORTEST_RUN_S)):
                break
    elapsed_s = time.monotonic() - begin
    return f"stopped for {stopped_s:.3f} s of {elapsed_s:.3f} s ({stopped_s / elapsed_s:.2%})"


def main(arguments: Sequence[str]) -> int:
    """Slow down the process with the pid and by the percentage given; returns the exit code."""
    pid, percent = int(arguments[0]), float(arguments[1])
    try:
        done = slow_down(Server(pid), percent / 100, lambda: _say(AT_WORK))
    except (OSError, SlowdownError) as error:
        _say(f"process {pid} is not slowed down by {percent:g} %: {error}")
        return 1
    _say(done)
    return 0


def _guard(server: Server) -> None:
    """Start a child that resumes the server if this process is killed while it is stopped."""
    this = os.pidfd_open(os.getpid())
    if os.fork() == 0:
        try:
            select.select([this], [], [])
            server.go_on()
        finally:
            os._exit(0)
    os.close(this)


def _go_first() -> None:
    """Run before other processes if that is allowed; otherwise stops are less exact."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
