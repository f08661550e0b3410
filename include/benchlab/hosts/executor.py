"""The only interface through which Benchlab uses a host: commands, detached jobs, files.

A *job* is a process that outlives the task that started it: a database server, the load
balancer, a benchmark client. Its directory ``jobs/<id>/`` holds ``pid``, ``output`` and, once it
has ended, ``exit_code``. Creating that directory is atomic: if two tasks try to start the same job,
one succeeds, and the other finds it and adopts it.

Every process started here has ``BENCHLAB_CAMPAIGN`` in its environment. Processes that a campaign
left running are found by that tag, never by a record of what was started. Another home on this
machine may have a campaign of the same id; ``BENCHLAB_DIRECTORY`` tells the two apart.

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
    naming,
)
from benchlab.hosts import place

TAG = "BENCHLAB_CAMPAIGN"
DIRECTORY_TAG = "BENCHLAB_DIRECTORY"
_ANY_DIRECTORY = f"{DIRECTORY_TAG}="
JOB_TAG = "BENCHLAB_JOB"
FILLER = "BENCHLAB_FILLER"
PAGE = 4096
POLL_S = 0.05
START_LIMIT_S = 10.0
PIPE_LIMIT_S = 2.0
# How much a command may print. The longest answer is PD's list of regions: room for 80,000.
ANSWER_LIMIT_BYTES = 64 * 1024**2
# How much of a job's output is read. A normal run of a day stays below this, but go-tpc prints
# megabytes per second once its server is gone.
JOB_LIMIT_BYTES = 256 * 1024**2
_PIECE = 1 << 16

# The inner shell execs the program, so `pid` is the program's own; the outer one waits for it.
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
    """A job's state, with the exit code once it is ``complete``.

    ``absent``: never started. ``lost``: died together with its wrapper; the exit code is unknown.
    """

    state: Literal["absent", "running", "complete", "lost"]
    exit_code: int | None = None


@dataclass(frozen=True)
class Space:
    """The file system on which a campaign's directory is: ``/data`` has 2**30 of 2**40 bytes free.

    Attributes:
        free, size: in bytes.
    """

    path: str
    free: int
    size: int


class Executor(Protocol):
    """Runs commands and jobs on one host and writes files there. Paths are the host's."""

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
        """Run a command and wait for it.

        Args:
            check: raise if its exit code is not 0.
            stdin: the text on its standard input.
            env: variables to add to its environment.

        Raises:
            CommandError: it cannot be started, or failed and ``check`` is set.
            CommandTimeout: it was killed after ``timeout_s`` seconds, with its children.
            TooMuchOutputError: it was killed after printing more than :data:`ANSWER_LIMIT_BYTES`,
                with its children.
        """

    def start_job(
        self, job: str, command: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> bool:
        """Start a detached job; False if a job of this id exists, which the caller can adopt.

        Example:
            ``executor.start_job("server-baseline", ["mariadbd", "--no-defaults"])``

        Raises:
            CommandError: it did not begin in time.
        """

    def job_status(self, job: str) -> JobStatus:
        """Whether a job runs, or how it ended.

        Raises:
            ElsewhereError: it runs where it cannot be seen from here.
        """

    def job_output(self, job: str) -> str:
        """A job's output so far, or its last :data:`JOB_LIMIT_BYTES`; empty if it is absent."""

    def ask_job_to_end(self, job: str) -> None:
        """Send a running job SIGTERM and return at once; :meth:`stop_job` waits for its end."""

    def stop_job(self, job: str, *, timeout_s: float = 60) -> None:
        """End a job: SIGTERM, after ``timeout_s`` SIGKILL. Does nothing if it has ended."""

    def forget_job(self, job: str) -> None:
        """Remove a job that has ended, so that its id can be used again.

        Raises:
            TargetError: it is still running.
        """

    def put(self, path: Path, text: str, *, private: bool = False) -> None:
        """Write a file; with ``private``, only its owner can ever read it."""

    def upload(self, source: Path, path: Path) -> None:
        """Copy a file from this machine to the host, as a whole or not at all."""

    def space(self) -> Space:
        """How full the disk of the campaign's directory is.

        Raises:
            CommandError, OSError: the directory does not exist.
        """

    def end_processes(self) -> int:
        """End every process with this campaign's tag; returns how many there were.

        Raises:
            ElsewhereError: there is one that cannot be seen from here; none was ended.
        """


class LocalExecutor:
    """The executor of this machine. See :class:`Executor`.

    Args:
        directory: the campaign's, with its ``jobs``.
        campaign: the value of the tag that every process carries.
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
                    # With a time limit: daemons may still hold its pipes open.
                    _follow(process, out, err, PIPE_LIMIT_S)
            except BaseException:  # also on Ctrl-C: leave nothing behind
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
        tags = {**self._environment(env), JOB_TAG: job, "PWD": str(directory.resolve())}
        with (directory / place.HELD).open("w", encoding="utf-8") as held:
            place.lock(held)
            # setsid --fork: the job belongs to no task's process group and has no parent to reap
            # it.
            subprocess.run(
                ["setsid", "--fork", "sh", "-c", JOB_WRAPPER, "job", *command],
                cwd=directory,
                env=_filled(command, tags),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(held.fileno(),),
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
        # If only the wrapper is left, it has yet to write the exit code.
        if running or self._tagged_with_job(job):
            return JobStatus("running")
        code = _number_in(directory / "exit_code")
        if code is None:
            place.refuse_unseen(self._directory, job)
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
        # By its status, not its pid: during execve a process briefly has no environment to
        # recognize it by.
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
        with naming(path), os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)

    def upload(self, source: Path, path: Path) -> None:
        part = path.with_name(path.name + ".part")
        shutil.copyfile(source, part)
        part.replace(path)

    def space(self) -> Space:
        found = shutil.disk_usage(self._directory)
        return Space(str(self._directory), found.free, found.total)

    def end_processes(self) -> int:
        place.refuse_unseen(self._directory)
        return end_tagged(f"{TAG}={self._campaign}", self._directory)

    def _environment(self, env: Mapping[str, str] | None) -> dict[str, str]:
        tags = {TAG: self._campaign, DIRECTORY_TAG: str(self._directory)}
        return {**os.environ, **(env or {}), **tags}

    def _pid_of(self, job: str) -> int | None:
        """The pid of a running job; the tags rule out a later process with the same pid."""
        pid = _number_in(self._jobs / job / "pid")
        return pid if pid is not None and self._carries(pid, job) else None

    def _tagged_with_job(self, job: str) -> list[int]:
        mine = tagged(f"{TAG}={self._campaign}", self._directory)
        return [pid for pid in mine if self._carries(pid, job)]

    def _carries(self, pid: int, job: str) -> bool:
        tags = _environ(pid)
        return f"{JOB_TAG}={job}".encode() in tags and f"{TAG}={self._campaign}".encode() in tags


def _filled(command: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """Pad an environment so that it fills whole pages together with arguments and program path.

    They lie at the upper end of a program's stack. How far they shift the stack can alone change
    the program's speed (Mytkowicz, Diwan, Hauswirth and Sweeney 2009, "Producing wrong data without
    doing anything obviously wrong!"), so the length of a side's name or a task's number could.
    """
    words = [*command, command[0], f"{FILLER}=", *(f"{name}={env[name]}" for name in env)]
    used = sum(len(os.fsencode(word)) + 1 for word in words)
    return {**env, FILLER: "." * (-used % PAGE)}


def tagged(tag: str, directory: Path | None = None) -> Iterator[int]:
    """Pids of this account's other processes whose environment contains ``tag``.

    Root can read other accounts' environments too, but their campaigns are not root's.

    Args:
        tag: ``NAME=value``, or ``NAME=`` for any value.
        directory: leave out processes that were started for another campaign's directory.

    Example:
        ``list(tagged("BENCHLAB_CAMPAIGN=c1"))`` is ``[4711, 4712]``.
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
    """Send SIGTERM to every process with this tag, and SIGKILL to those left after ``grace_s``.

    Args:
        tag, directory: see :func:`tagged`.

    Returns:
        How many processes there were, including any started meanwhile.
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
    """Send SIGTERM to one process, SIGKILL after ``grace_s`` seconds, and wait for its end.

    Returns:
        How many processes were ended: 1, or 0 if there is none with this pid.

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
    """The number in a job's file; None if the file is missing or incomplete."""
    try:
        return int(path.read_text())
    except (FileNotFoundError, ValueError):
        return None


def _ask_to_end(pids: Iterable[int]) -> None:
    """Send SIGTERM, then SIGCONT: a stopped process (engines/slowdown.py) handles no SIGTERM."""
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
    """Decode UTF-8, replacing invalid bytes, and turn every kind of line end into a newline."""
    return io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8", errors="replace").read()


@contextlib.contextmanager
def _in_memory(content: bytes) -> Iterator[IO[bytes]]:
    """An open file in memory only, because a command's input may contain a password."""
    with os.fdopen(os.memfd_create("stdin"), "w+b") as file:
        file.write(content)
        file.seek(0)
        yield file


def _follow(
    process: subprocess.Popen[bytes], out: bytearray, err: bytearray, limit_s: float
) -> bool:
    """Collect a command's output until it ends.

    Returns:
        True once it has ended; False if the time is up or it printed too much.
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
