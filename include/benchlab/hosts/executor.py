"""The one port through which Benchlab touches a host: commands, detached jobs, files.

A *job* is a process that outlives the task that started it: a database server, the load
balancer, a benchmark client. Its directory ``jobs/<id>/`` holds ``pid``, ``output`` and, once it
has ended, ``exit_code``. Creating that directory is atomic: of two tasks that want to start the
same job, one does, and the other finds it there and adopts it.

Every process started here carries ``BENCHLAB_CAMPAIGN`` in its environment. What a campaign left
running is found by that tag, never by a record of what was started. Another home on the machine may
have a campaign of the same id: on this machine ``BENCHLAB_DIRECTORY`` tells the two apart.

Example:
    ``LocalExecutor(directory, "c1").run(["nproc"]).stdout`` is the number of cores, as text.
"""

from __future__ import annotations

import contextlib
import io
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal, Protocol

from benchlab.errors import (
    CommandError,
    CommandTimeout,
    TargetError,
    TooMuchOutputError,
    meaning_of,
)

TAG = "BENCHLAB_CAMPAIGN"
DIRECTORY_TAG = "BENCHLAB_DIRECTORY"
_ANY_DIRECTORY = f"{DIRECTORY_TAG}="
JOB_TAG = "BENCHLAB_JOB"
FILLER = "BENCHLAB_FILLER"
PAGE = 4096
POLL_S = 0.05
START_LIMIT_S = 10.0
PIPE_LIMIT_S = 2.0
# What a command may print. The longest answer is PD's list of regions: this is 80,000 of them.
ANSWER_LIMIT_BYTES = 64 * 1024**2
# What is read of a job's output. go-tpc prints megabytes a second once its server is gone; a normal
# run of a day stays below this.
JOB_LIMIT_BYTES = 256 * 1024**2
_PIECE = 1 << 16

# The inner shell becomes the program, so `pid` is the program's own; the outer one waits for it.
JOB_WRAPPER = (
    """sh -c 'echo $$ > pid.part && mv pid.part pid && exec "$@"' job "$@" > output 2>&1 """
    """< /dev/null; echo $? > exit_code.part; mv exit_code.part exit_code"""
)


@dataclass(frozen=True)
class Completed:
    """A command that ended."""

    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class JobStatus:
    """``absent``: never started. ``lost``: died with its wrapper, so the exit code is unknown."""

    state: Literal["absent", "running", "complete", "lost"]
    exit_code: int | None = None


class Executor(Protocol):
    """Runs things on one host. Paths are the host's."""

    host: str

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float = 60,
        check: bool = True,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run a command to its end.

        Args:
            check: raise where its exit code is not 0.
            stdin: the text that it reads.
            env: variables to add to its environment.

        Raises:
            CommandError: it cannot be started, or failed and ``check`` is set.
            CommandTimeout: it was ended after ``timeout_s`` seconds, with its children.
            TooMuchOutputError: it was ended after :data:`ANSWER_LIMIT_BYTES`, with its children.
        """

    def start_job(
        self, job: str, command: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> bool:
        """Start a detached job; False where a job of this id is already there (adopt it).

        Raises:
            CommandError: it did not begin in time.
        """

    def job_status(self, job: str) -> JobStatus:
        """Whether a job runs, and how it ended."""

    def job_output(self, job: str) -> str:
        """What a job has printed so far, or the end of it (:data:`JOB_LIMIT_BYTES`); empty where it
        is absent.
        """

    def ask_job_to_end(self, job: str) -> None:
        """Send a running job SIGTERM and return at once; :meth:`stop_job` waits for its end."""

    def stop_job(self, job: str, *, timeout_s: float = 60) -> None:
        """End a job: SIGTERM, after ``timeout_s`` SIGKILL. Nothing happens where it has ended."""

    def forget_job(self, job: str) -> None:
        """Remove a job that has ended, so that its id can be started again.

        Raises:
            TargetError: it is still running.
        """

    def put(self, path: Path, text: str, *, private: bool = False) -> None:
        """Write a file; ``private``: readable by its owner only, from its first byte."""

    def upload(self, source: Path, path: Path) -> None:
        """Copy a file of this machine to the host, whole or not at all."""

    def end_processes(self) -> int:
        """End every process that carries this campaign's tag; returns how many there were."""


class LocalExecutor:
    """This machine.

    Args:
        directory: where jobs are kept.
        campaign: the tag that every process carries.
    """

    host = "localhost"

    def __init__(self, directory: Path, campaign: str) -> None:
        self._directory = directory.resolve()
        self._jobs = directory / "jobs"
        self._campaign = campaign

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float = 60,
        check: bool = True,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        shown = shlex.join(command)
        try:
            with _in_memory(stdin.encode()) as given:
                process = subprocess.Popen(
                    command,
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                    env=self._environment(env),
                )
        except OSError as error:
            raise CommandError(self.host, shown, 127, meaning_of(error)) from error
        out, err = bytearray(), bytearray()
        with process:
            try:
                has_ended = _follow(process, out, err, timeout_s)
                if not has_ended:
                    _kill_group(process.pid)
                    # Not for ever: daemons may still hold its pipes.
                    _follow(process, out, err, PIPE_LIMIT_S)
            except BaseException:  # Ctrl-C included: leave nothing behind
                _kill_group(process.pid)
                process.wait()
                raise
        if len(out) + len(err) > ANSWER_LIMIT_BYTES:
            raise TooMuchOutputError(self.host, shown, ANSWER_LIMIT_BYTES)
        stdout, stderr = as_text(out), as_text(err)
        if not has_ended:
            raise CommandTimeout(self.host, shown, timeout_s, stdout + stderr)
        if check and process.returncode != 0:
            raise CommandError(self.host, shown, process.returncode, stdout + stderr)
        return Completed(process.returncode, stdout, stderr)

    def start_job(
        self, job: str, command: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> bool:
        self._jobs.mkdir(parents=True, exist_ok=True)
        directory = self._jobs / job
        try:
            directory.mkdir()
        except FileExistsError:
            return False
        (directory / "command").write_text(shlex.join(command) + "\n")
        # setsid --fork: the job belongs to no task's process group and has no parent to reap it.
        subprocess.run(
            ["setsid", "--fork", "sh", "-c", JOB_WRAPPER, "job", *command],
            cwd=directory,
            env=_filled(
                command, {**self._environment(env), JOB_TAG: job, "PWD": str(directory.resolve())}
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        deadline = time.monotonic() + START_LIMIT_S
        while not (directory / "pid").exists() and not (directory / "exit_code").exists():
            if time.monotonic() > deadline:
                raise CommandTimeout(self.host, shlex.join(command), START_LIMIT_S)
            time.sleep(0.005)
        return True

    def job_status(self, job: str) -> JobStatus:
        directory = self._jobs / job
        if not directory.exists():
            return JobStatus("absent")
        running = self._pid_of(job) is not None
        if (code := _number_in(directory / "exit_code")) is not None:
            return JobStatus("complete", code)
        # Without a program it has just ended, and its wrapper has not yet written the exit code.
        if running or self._tagged_with_job(job):
            return JobStatus("running")
        code = _number_in(directory / "exit_code")
        return JobStatus("lost" if code is None else "complete", code)

    def job_output(self, job: str) -> str:
        try:
            with (self._jobs / job / "output").open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - JOB_LIMIT_BYTES))
                return as_text(file.read(JOB_LIMIT_BYTES))
        except FileNotFoundError:
            return ""

    def ask_job_to_end(self, job: str) -> None:
        if (pid := self._pid_of(job)) is not None:
            _ask_to_end([pid])

    def stop_job(self, job: str, *, timeout_s: float = 60) -> None:
        asked = False
        deadline = time.monotonic() + timeout_s
        # By its status, not its pid: during execve a process has for a moment no environment by
        # which it could be recognized.
        while self.job_status(job).state == "running":
            pid = self._pid_of(job)
            if time.monotonic() > deadline:
                # Only the program, so that its wrapper can still write the exit code.
                _signal_all([pid] if pid else self._tagged_with_job(job), signal.SIGKILL)
            elif pid is not None and not asked:
                _ask_to_end([pid])
                asked = True
            time.sleep(0.01)

    def forget_job(self, job: str) -> None:
        if self.job_status(job).state == "running":
            raise TargetError(f"on {self.host}: job {job} is still running; stop it first")
        shutil.rmtree(self._jobs / job, ignore_errors=True)

    def put(self, path: Path, text: str, *, private: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.unlink(missing_ok=True)
        descriptor = os.open(
            part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o644
        )
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)

    def upload(self, source: Path, path: Path) -> None:
        part = path.with_name(path.name + ".part")
        shutil.copyfile(source, part)
        part.replace(path)

    def end_processes(self) -> int:
        return end_tagged(f"{TAG}={self._campaign}", self._directory)

    def _environment(self, env: Mapping[str, str] | None) -> dict[str, str]:
        tags = {TAG: self._campaign, DIRECTORY_TAG: str(self._directory)}
        return {**os.environ, **(env or {}), **tags}

    def _pid_of(self, job: str) -> int | None:
        """The pid of a running job; a later process with the same pid lacks the tag."""
        pid = _number_in(self._jobs / job / "pid")
        return pid if pid is not None and self._carries(pid, job) else None

    def _tagged_with_job(self, job: str) -> list[int]:
        mine = tagged(f"{TAG}={self._campaign}", self._directory)
        return [pid for pid in mine if self._carries(pid, job)]

    def _carries(self, pid: int, job: str) -> bool:
        tags = _environ(pid)
        return f"{JOB_TAG}={job}".encode() in tags and f"{TAG}={self._campaign}".encode() in tags


def _filled(command: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """An environment that takes, with the arguments and the program's path, whole pages of memory.

    They lie at the upper end of a program's stack, and how far they shift what is below can change
    its speed by itself (Mytkowicz, Diwan, Hauswirth and Sweeney 2009, "Producing wrong data without
    doing anything obviously wrong!"): a side's name would, or the number of a task.
    """
    words = [*command, command[0], f"{FILLER}=", *(f"{name}={env[name]}" for name in env)]
    used = sum(len(os.fsencode(word)) + 1 for word in words)
    return {**env, FILLER: "." * (-used % PAGE)}


def tagged(tag: str, directory: Path | None = None) -> Iterator[int]:
    """Pids of the other processes of this account whose environment has ``NAME=value``.

    Root could read those of others: they are no campaign of root's.

    Args:
        tag: ``NAME=`` is any value.
        directory: leave out the processes that were started for another campaign's directory.
    """
    own = None if directory is None else os.fsencode(f"{DIRECTORY_TAG}={directory.resolve()}")
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid() and _is_own(entry):
            tags = _environ(int(entry.name))
            if _has(tag, tags) and (own is None or own in tags or not _has(_ANY_DIRECTORY, tags)):
                yield int(entry.name)


def _has(tag: str, tags: Iterable[bytes]) -> bool:
    wanted = tag.encode()
    return any(one == wanted or (tag.endswith("=") and one.startswith(wanted)) for one in tags)


def end_tagged(tag: str, directory: Path | None = None, *, grace_s: float = 10) -> int:
    """SIGTERM every process with this tag, SIGKILL what remains after ``grace_s`` seconds.

    Args:
        tag, directory: see :func:`tagged`.

    Returns:
        How many processes there were, including those started meanwhile.
    """
    asked: set[int] = set()
    deadline = time.monotonic() + grace_s
    while left := set(tagged(tag, directory)):
        if time.monotonic() < deadline:
            _ask_to_end(left - asked)
        else:
            _signal_all(left, signal.SIGKILL)
        asked |= left
        time.sleep(POLL_S)
    return len(asked)


def end_process(pid: int, *, grace_s: float = 20) -> int:
    """SIGTERM one process and wait; SIGKILL after ``grace_s`` seconds.

    Returns:
        How many processes were ended: 1, or 0 where there is none of this pid.

    Raises:
        TargetError: it belongs to another user.
    """
    with contextlib.suppress(ProcessLookupError):
        try:
            os.kill(pid, signal.SIGTERM)
        except PermissionError as error:
            raise TargetError(
                f"process {pid} belongs to another user; ask that user, or do it as root"
            ) from error
        deadline = time.monotonic() + grace_s
        while any(_environ(pid)):  # empty for a zombie
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
            time.sleep(POLL_S)
        return 1
    return 0


def _number_in(path: Path) -> int | None:
    """The number that a file of a job holds; None where it is missing or not yet whole."""
    try:
        return int(path.read_text())
    except (FileNotFoundError, ValueError):
        return None


def _ask_to_end(pids: Iterable[int]) -> None:
    """SIGTERM, then SIGCONT: a stopped process (engines/slowdown.py) handles no other signal."""
    for pid in pids:
        _signal_all([pid], signal.SIGTERM)
        _signal_all([pid], signal.SIGCONT)


def _signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _is_own(process: Path) -> bool:
    try:
        return process.stat().st_uid == os.geteuid()
    except FileNotFoundError:  # it has ended
        return False


def _environ(pid: int) -> list[bytes]:
    """A process's environment; empty for zombies, ended processes and those of other users."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def as_text(raw: bytes | bytearray) -> str:
    """Text as Python reads a file: any bytes are accepted, and every line ends in a newline."""
    return io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8", errors="replace").read()


@contextlib.contextmanager
def _in_memory(content: bytes) -> Iterator[IO[bytes]]:
    """An open file that is on no disk: what a command reads may contain a password."""
    with os.fdopen(os.memfd_create("stdin"), "w+b") as file:
        file.write(content)
        file.seek(0)
        yield file


def _follow(
    process: subprocess.Popen[bytes], out: bytearray, err: bytearray, limit_s: float
) -> bool:
    """Keep what a command prints until it has ended.

    Returns:
        Whether it has; otherwise the time is up, or it has printed too much.
    """
    deadline = time.monotonic() + limit_s
    with selectors.DefaultSelector() as pipes:
        for pipe, kept in ((process.stdout, out), (process.stderr, err)):
            if pipe is not None and not pipe.closed:
                pipes.register(pipe, selectors.EVENT_READ, (pipe, kept))
        while pipes.get_map():
            left_s = deadline - time.monotonic()
            if left_s < 0 or len(out) + len(err) > ANSWER_LIMIT_BYTES:
                return False
            for key, _ in pipes.select(left_s):
                pipe, kept = key.data
                if piece := os.read(key.fd, _PIECE):
                    kept.extend(piece)
                else:
                    pipes.unregister(pipe)
                    pipe.close()
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
