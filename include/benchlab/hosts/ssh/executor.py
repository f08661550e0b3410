"""Commands, detached jobs and files on a host of a fleet, over SSH.

The host needs a POSIX shell, GNU coreutils, grep and util-linux, and ``sudo`` without a password
for what belongs to other users; it needs no Python. Every step is one small shell script and one
round trip, so that a broken link leaves a step done or not begun, and every script has a time limit
on the host itself.

Example:
    ``SSHExecutor(host, key, "c1", directory).run(["nproc"]).stdout`` is its number of cores.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from benchlab.errors import (
    CommandError,
    CommandTimeout,
    TargetError,
    TooMuchOutputError,
    UnreachableError,
    first_line,
)
from benchlab.hosts.executor import (
    ANSWER_LIMIT_BYTES,
    JOB_LIMIT_BYTES,
    JOB_TAG,
    JOB_WRAPPER,
    START_LIMIT_S,
    TAG,
    Completed,
    JobStatus,
    Space,
    as_text,
)
from benchlab.hosts.fleet import MIRRORS, FleetHost
from benchlab.hosts.own_address import shut_out
from benchlab.hosts.ssh import scripts

if TYPE_CHECKING:
    from benchlab.hosts.ssh.link import Limits, Link

SCRIPT_LIMIT_S = 60.0
OUTPUT_LIMIT_S = 600.0
GRACE_S = 10.0
KILLED = 137
# A file is sent in pieces of this many bytes; one at a time is in memory.
PIECE = 1 << 25
# On Debian a login account's PATH lacks sbin, where HAProxy is.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class SSHExecutor(contextlib.AbstractContextManager["SSHExecutor"]):
    """The executor of a host of a fleet. See :class:`benchlab.hosts.executor.Executor`.

    All threads share one connection, opened on first use, and again after it was lost. A forked
    process opens its own.

    Args:
        host: how to reach it, and its expected host key.
        key: the text of the private SSH key.
        campaign: the value of the tag that every process carries.
        directory: the campaign's on the host, with its ``jobs``.
        limits: how long to wait for a host that does not answer.

    Raises:
        TargetError: from every method, if the host shows another key than expected, or the
            private key cannot be read.
        UnreachableError: from every method, if the connection cannot be opened or was lost.
    """

    def __init__(
        self,
        host: FleetHost,
        key: str,
        campaign: str,
        directory: Path,
        *,
        limits: Limits | None = None,
    ) -> None:
        self.host = f"{host.name} ({host.ssh_address})"
        self._to, self._key, self._limits = host, key, limits
        self._campaign = campaign
        self._own = {"PATH": PATH} | ({MIRRORS: host.tiup_mirror} if host.tiup_mirror else {})
        self._jobs = directory / "jobs"
        self._links: dict[int, Link] = {}

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close this process's connection; the next call opens a new one."""
        if link := self._links.pop(os.getpid(), None):
            link.close()

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float = 60,
        check: bool = True,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """See :class:`benchlab.hosts.executor.Executor`; ``sudo`` keeps ``env`` and the tag."""
        return self._run(
            shlex.join(command),
            command,
            {**self._own, **(env or {}), TAG: self._campaign},
            stdin=stdin,
            timeout_s=timeout_s,
            check=check,
        )

    def start_job(
        self, job: str, command: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> bool:
        shown = shlex.join(command)
        variables = {**self._own, **(env or {}), TAG: self._campaign, JOB_TAG: job}
        arguments = (str(self._jobs), job, f"{START_LIMIT_S:.0f}", JOB_WRAPPER, shown)
        done = self._run(
            shown,
            ["sh", "-c", scripts.START, "start", *arguments, *_tagged_sudo(command, variables)],
            variables,
        )
        return done.stdout.strip() == "started"

    def job_status(self, job: str) -> JobStatus:
        done = self._script(f"status of job {job}", scripts.JOB + "state", *self._job(job))
        state, _, code = done.stdout.strip().partition(" ")
        if state not in ("absent", "running", "complete", "lost"):
            raise CommandError(self.host, f"status of job {job}", 0, done.stdout + done.stderr)
        known = cast(Literal["absent", "running", "complete", "lost"], state)
        return JobStatus(known, int(code) if code else None)

    def job_output(self, job: str) -> str:
        script = '[ ! -e "$1" ] || exec tail -c "$2" "$1"'
        done = self._script(
            f"output of job {job}",
            script,
            str(self._jobs / job / "output"),
            str(JOB_LIMIT_BYTES),
            timeout_s=OUTPUT_LIMIT_S,
            most=2 * JOB_LIMIT_BYTES,  # the output may grow meanwhile
        )
        return done.stdout

    def ask_job_to_end(self, job: str) -> None:
        self._script(f"ask job {job} to end", scripts.ASK_TO_END, *self._job(job))

    def stop_job(self, job: str, *, timeout_s: float = 60) -> None:
        arguments = (*self._job(job), f"{timeout_s * 100:.0f}")
        limit_s = timeout_s + SCRIPT_LIMIT_S
        self._script(f"stop job {job}", scripts.STOP, *arguments, timeout_s=limit_s)

    def forget_job(self, job: str) -> None:
        done = self._script(f"forget job {job}", scripts.FORGET, *self._job(job))
        if done.stdout.strip() == "running":
            raise TargetError(f"on {self.host}: job {job} is still running; stop it first")

    def put(self, path: Path, text: str, *, private: bool = False) -> None:
        size = len(text.encode())
        arguments = (str(path), "077" if private else "022", str(size))
        self._script(f"write {path}", scripts.PUT, *arguments, stdin=text, timeout_s=OUTPUT_LIMIT_S)

    def upload(self, source: Path, path: Path) -> None:
        size = source.stat().st_size
        with source.open("rb") as file:
            sent = 0
            while sent < size:
                piece = file.read(PIECE)
                arguments = (str(path), str(sent), str(len(piece)), str(size))
                self._script(
                    f"copy {source.name} to {path}",
                    scripts.APPEND,
                    *arguments,
                    stdin=piece,
                    timeout_s=OUTPUT_LIMIT_S,
                )
                sent += len(piece)

    def space(self) -> Space:
        asked = ["df", "--output=avail,size", "-B1", str(self._jobs.parent)]
        free, size = self.run(asked).stdout.split()[-2:]
        return Space(str(self._jobs.parent), int(free), int(size))

    def end_processes(self) -> int:
        """See :class:`benchlab.hosts.executor.Executor`; runs as root, to reach all users."""
        script = (
            'script=$1; shift; [ "$(id -u)" = 0 ] || exec sudo -n sh -c "$script" release "$@"\n'
            'exec sh -c "$script" release "$@"'
        )
        tag = f"{TAG}={self._campaign}"
        arguments = (scripts.RELEASE, tag, f"{GRACE_S * 100:.0f}")
        return int(self._script(f"end all of {tag}", script, *arguments).stdout)

    def _job(self, job: str) -> tuple[str, str, str]:
        return str(self._jobs / job), f"{TAG}={self._campaign}", f"{JOB_TAG}={job}"

    def _script(
        self,
        shown: str,
        script: str,
        *arguments: str,
        stdin: str | bytes = "",
        timeout_s: float = SCRIPT_LIMIT_S,
        most: int = ANSWER_LIMIT_BYTES,
    ) -> Completed:
        """Run a script without the campaign's tag; errors show it as ``shown``."""
        command = ["sh", "-c", script, "benchlab", *arguments]
        return self._run(shown, command, {}, stdin=stdin, timeout_s=timeout_s, most=most)

    def _run(
        self,
        shown: str,
        command: Sequence[str],
        variables: Mapping[str, str],
        *,
        stdin: str | bytes = "",
        timeout_s: float = SCRIPT_LIMIT_S,
        check: bool = True,
        most: int = ANSWER_LIMIT_BYTES,
    ) -> Completed:
        program = scripts.RUN.format(
            exports="".join(f"export {shlex.quote(f'{k}={v}')}; " for k, v in variables.items()),
            limit=f"{max(timeout_s, 0.001):.3f}",  # for `timeout`, 0 means no limit
            command=shlex.join(_tagged_sudo(command, variables)),
        )
        try:
            sent = stdin.encode() if isinstance(stdin, str) else stdin
            ended = self._link().execute(program, sent, timeout_s, most)
        except UnreachableError as error:
            why = shut_out(self._to, self._campaign)
            raise UnreachableError(f"{error}{why}\nwhile running `{first_line(shown)}`") from error
        except TimeoutError as error:
            raise CommandTimeout(self.host, shown, timeout_s) from error
        except BufferError as error:
            raise TooMuchOutputError(self.host, shown, most) from error
        stdout, stderr = as_text(ended.stdout), as_text(ended.stderr)
        if ended.timed_out or (ended.exit_code == KILLED and ended.seconds >= timeout_s):
            raise CommandTimeout(self.host, shown, timeout_s, stdout + stderr)
        # This is how `timeout` reports a program that does not exist or cannot be run.
        no_program = ended.exit_code in (126, 127) and stderr.startswith("timeout: ")
        if no_program or (check and ended.exit_code != 0):
            raise CommandError(self.host, shown, ended.exit_code, stdout + stderr)
        return Completed(ended.exit_code, stdout, stderr)

    def _link(self) -> Link:
        # Slow to import, and not needed to read a topology or a DAG file.
        from benchlab.hosts.ssh.link import Limits, Link

        # One per process: a connection that was open before a fork belongs to the parent.
        return self._links.setdefault(
            os.getpid(), Link(self._to, self.host, self._key, self._limits or Limits())
        )


def _tagged_sudo(command: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    """A command; ``sudo``, which clears the environment, is told to keep ``variables``."""
    if command[0] == "sudo" and variables:
        return ["sudo", f"--preserve-env={','.join(variables)}", *command[1:]]
    return list(command)
