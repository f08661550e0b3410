"""A host on which nothing runs: it shows which commands would be run there.

Example:
    ``Rehearsal("client", keep, {}).run(["sync"])`` calls ``keep("client", "", "sync")``.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchlab.hosts.executor import Completed, JobStatus
from benchlab.hosts.metrics import sampler_job

# Words that a shell takes as they are, and placeholders in `<` and `>` for what is not known yet.
_PLAIN = re.compile(r"[\w@%+=:,./<>-]+")


@dataclass(frozen=True)
class Command:
    """One command, SQL text or file.

    Attributes:
        stage: the step of the plan to which it belongs.
        host: where it runs: ``this machine``, ``client``, ``each storage host``.
        purpose: what it is for; empty where the text says so.
        text: a command as a shell would read it, SQL, or the text of a file; never contains a
            secret.
    """

    stage: str
    host: str
    purpose: str
    text: str


class Rehearsal:
    """See :class:`benchlab.hosts.executor.Executor`; commands are recorded, not run.

    Every command succeeds without output, except probes (``check=False``), which fail and are not
    recorded unless a shell runs them. Jobs run until they are stopped; samplers are not recorded.

    Args:
        host: its name in the list of commands.
        keep: called with host, purpose and text of each command.
        answers: output by a string that the command or its SQL contains. Such a command only asks,
            so it is not recorded.
        job_output: what every job prints.
    """

    def __init__(
        self,
        host: str,
        keep: Callable[[str, str, str], None],
        answers: Mapping[str, str],
        job_output: str = "",
    ) -> None:
        self.host, self._keep, self._answers = host, keep, answers
        self._job_output = job_output
        self._jobs: dict[str, JobStatus] = {}

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float = 60,
        check: bool = True,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        text = _shown(command, env)
        for asked, answer in self._answers.items():
            if asked in text or asked in stdin:
                return Completed(0, answer, "")
        if check or command[0] == "sh":  # a warm-up may fail; it runs through a shell
            if command[0] == "mariadb":
                self._keep(self.host, "SQL", _statements(stdin))
            else:
                self._keep(self.host, "", f"{text} <<'END'\n{stdin}\nEND" if stdin else text)
        return Completed(0 if check else 1, "", "")

    def start_job(
        self, job: str, command: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> bool:
        self._jobs[job] = JobStatus("running")
        if not job.startswith(sampler_job("")):
            self._keep(self.host, "start, in the background", _shown(command, env))
        return True

    def job_status(self, job: str) -> JobStatus:
        return self._jobs.get(job, JobStatus("absent"))

    def job_output(self, job: str) -> str:
        return self._job_output

    def ask_job_to_end(self, job: str) -> None:
        pass  # it is stopped later, and a command is shown for neither

    def stop_job(self, job: str, *, timeout_s: float = 60) -> None:
        if job in self._jobs:
            self._jobs[job] = JobStatus("complete", 0)

    def forget_job(self, job: str) -> None:
        self._jobs.pop(job, None)

    def put(self, path: Path, text: str, *, private: bool = False) -> None:
        if path.name != ".reflink-probe":
            self._keep(self.host, f"write {path}", text)

    def upload(self, source: Path, path: Path) -> None:
        self._keep(self.host, f"copy {source.name} to {path}", "")

    @contextlib.contextmanager
    def reach(self, host: str, port: int) -> Iterator[tuple[str, int]]:
        yield host, port

    def end_processes(self) -> int:
        return 0


def shell(words: Iterable[str]) -> str:
    """A command line as a shell would read it; placeholders such as ``<tidb-1>`` stay unquoted."""
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)


def _shown(command: Sequence[str], env: Mapping[str, str] | None) -> str:
    variables = ["env", *(f"{key}={value}" for key, value in env.items())] if env else []
    return shell([*variables, *command])


def _statements(sql: str) -> str:
    """One statement per line, each with its semicolon."""
    return "".join(f"{statement.strip()};\n" for statement in sql.rstrip("; ").split(";"))
