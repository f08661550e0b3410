"""The machine while something is measured on it: nobody else, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchlab.errors import BenchlabError, LockHeldError
from benchlab.home import Home
from benchlab.hosts.executor import TAG, end_tagged
from benchlab.hosts.lock import MachineLock
from benchlab.targets.this_machine import remove_data

NAME = "make-bench"
STOP_LIMIT_S = 60.0
TAIL_LINES = 15


@contextlib.contextmanager
def alone(home: Home) -> Iterator[None]:
    """Hold the machine's lock as a campaign does; another campaign on it is waited for."""
    lock = MachineLock()
    _acquire(lock, home)
    try:
        yield
    finally:
        lock.release(NAME)


def _acquire(lock: MachineLock, home: Home) -> None:
    said = ""
    while True:
        try:
            displaced = lock.acquire(NAME, "make bench", home.root, os.getpid())
        except LockHeldError as error:
            if str(error) != said:
                said = str(error)
                print(f"waiting: {said}", flush=True)
            time.sleep(0.5)
            continue
        if displaced is not None:
            end_tagged(f"{TAG}={displaced.campaign}")
            remove_data(Home(home.project, Path(displaced.home)), displaced.campaign)
        return


def timed(command: Sequence[str], env: Mapping[str, str], log: Path) -> float:
    """Run a command, its output to ``log``; the seconds it took.

    Raises:
        BenchlabError: it failed; quotes the end of its output.
    """
    with log.open("wb") as output:
        began = time.monotonic()
        process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait()
        except BaseException:  # Ctrl-C included
            _end(process)
            raise
        seconds = time.monotonic() - began
    if code:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-TAIL_LINES:])
        raise BenchlabError(f"{command[0]} ended with exit code {code}; the end of {log}:\n{tail}")
    return seconds


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let the command clean up after itself; end it the hard way where it takes too long."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_LIMIT_S)
            return
