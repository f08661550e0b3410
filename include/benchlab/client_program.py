"""Which program runs a campaign's workloads: decided on the client's host, once for all trials."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from benchlab.errors import CommandError, TargetError, UnavailableError
from benchlab.executor import Executor
from benchlab.workloads.client import Program, program_of

# `tiup bench` fetches its component when it is first asked.
ASK_LIMIT_S = 600.0


def choose(executor: Executor, workload: ModuleType, wanted: str | None) -> tuple[Program, str]:
    """The program to use, and what it calls itself.

    Args:
        executor: the client's host.
        workload: the module whose workloads it has to run.
        wanted: as the report type names it; None: the first of them that is there.

    Raises:
        UnavailableError: none can be used; says what each of them answered.
    """
    programs: tuple[Program, ...] = workload.PROGRAMS
    found: list[str] = []
    for program in programs if wanted is None else (program_of(wanted, programs),):
        asked = " ".join(program.version_command)
        try:
            completed = executor.run(program.version_command, timeout_s=ASK_LIMIT_S)
        except CommandError as error:
            found.append(f"{program.name}: `{asked}` failed: {error}")
            continue
        return program, program.called(completed.stdout + completed.stderr)
    raise UnavailableError(
        f"client.program: {wanted or 'none'} on {executor.host} can run "
        f"{', '.join(workload.NAMES)}; " + "; ".join(found)
    )


def install(
    executor: Executor,
    directory: Path,
    workload: ModuleType,
    wanted: str | None,
    *,
    measured_with: str | None,
) -> dict[str, str]:
    """Choose the program and bring it what it needs.

    Args:
        directory: of the campaign on the client's host.
        measured_with: the program of the trials that this campaign has already; None: there are
            none.

    Returns:
        The facts ``client_program`` and ``client_version``.

    Raises:
        UnavailableError: see :func:`choose`.
        TargetError: it is another one than has measured.
    """
    program, called = choose(executor, workload, wanted)
    if measured_with not in (None, program.name):
        raise TargetError(
            f"client.program: {program.name} is the first that is on the client's host now, and "
            f"{measured_with} has measured trials of this campaign; figures of different clients "
            "are not compared: bring it back or start a campaign of another id"
        )
    for name, file in program.files.items():
        executor.put(directory / name, file.read_text(encoding="utf-8"))
    return {"client_program": program.name, "client_version": called}
