"""A host that runs nothing, on which an engine's acts show what they would run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchlab.command import Command, shell
from benchlab.errors import EngineError, UnavailableError
from benchlab.executor import Completed, JobStatus


class Rehearsal:
    """A host that runs nothing: an engine acts on it, and what it would have run is kept.

    Every command succeeds with no output, except those that only look whether something can be
    done (``check=False``); jobs run until they are stopped.
    """

    host = "this machine"

    def __init__(self) -> None:
        self._kept: list[tuple[str, str]] = []
        self._jobs: dict[str, JobStatus] = {}

    def of(self, stage: str, act: Callable[[], None]) -> list[Command]:
        """What an act would run; where the server has not been fetched yet, why that is unknown."""
        self._kept.clear()
        try:
            act()
        except (EngineError, UnavailableError) as error:
            return [Command(stage, self.host, "known once the server is here", f"# {error}")]
        return [Command(stage, self.host, purpose, text) for purpose, text in self._kept]

    def run(
        self,
        command: Sequence[str],
        *,
        timeout_s: float = 60,
        check: bool = True,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """See :class:`benchlab.executor.Executor`."""
        text = shell([*_environment(env), *command])
        if list(command) == ["id", "-u"]:
            return Completed(0, str(os.geteuid()), "")
        if check:
            self._kept.append(
                ("SQL" if stdin else "run", f"{text} <<< {stdin!r}" if stdin else text)
            )
        return Completed(0 if check else 1, "", "")

    def start_job(
        self, job: str, command: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> bool:
        """See :class:`benchlab.executor.Executor`."""
        self._jobs[job] = JobStatus("running")
        self._kept.append(("start, in the background", shell([*_environment(env), *command])))
        return True

    def job_status(self, job: str) -> JobStatus:
        """See :class:`benchlab.executor.Executor`."""
        return self._jobs.get(job, JobStatus("absent"))

    def job_output(self, job: str) -> str:
        """See :class:`benchlab.executor.Executor`."""
        return ""

    def stop_job(self, job: str, *, timeout_s: float = 60) -> None:
        """See :class:`benchlab.executor.Executor`."""
        if job in self._jobs:
            self._jobs[job] = JobStatus("complete", 0)

    def forget_job(self, job: str) -> None:
        """See :class:`benchlab.executor.Executor`."""
        self._jobs.pop(job, None)

    def put(self, path: Path, text: str, *, private: bool = False) -> None:
        """See :class:`benchlab.executor.Executor`."""
        if path.name != ".reflink-probe":
            self._kept.append((f"write {path}", text))

    @contextlib.contextmanager
    def reach(self, host: str, port: int) -> Iterator[tuple[str, int]]:
        """See :class:`benchlab.executor.Executor`."""
        yield host, port

    def release(self) -> int:
        """See :class:`benchlab.executor.Executor`."""
        return 0


def _environment(env: Mapping[str, str] | None) -> list[str]:
    return ["env", *(f"{key}={value}" for key, value in env.items())] if env else []
