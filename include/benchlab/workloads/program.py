"""Which program runs a campaign's workloads: chosen on the client's host, once for all trials."""

from __future__ import annotations

from pathlib import Path

from benchlab.errors import CommandError, TargetError, UnavailableError
from benchlab.hosts.executor import Executor
from benchlab.workloads.client import Program, program_of
from benchlab.workloads.workload import Workload

# `tiup bench` downloads its component when it is first used.
ASK_LIMIT_S = 600.0
# A shell's exit code for a program that does not exist.
NOT_FOUND = 127
Facts = dict[str, str]


def choose(executor: Executor, workload: Workload, wanted: str | None) -> tuple[Program, Facts]:
    """The program to use, and the facts that :func:`install` returns.

    Args:
        executor: the client's host.
        wanted: the name in the report type; None: the first program that is installed.

    Raises:
        UnavailableError: none is installed, or an installed one cannot be used; quotes the
            command and its output.
        ValueError: the workload has no program named ``wanted``.
    """
    programs = workload.PROGRAMS
    missing: list[str] = []
    for program in programs if wanted is None else (program_of(wanted, programs),):
        try:
            return program, _facts(executor, program)
        except CommandError as error:
            if error.exit_code != NOT_FOUND:
                # Falling back to another program would silently measure something else.
                raise UnavailableError(
                    f"client.program: {program.name} is on {executor.host} and cannot be used; "
                    f"fix it or name another client: {error}"
                ) from error
            missing.append(program.name)
    raise UnavailableError(
        f"client.program: on {executor.host} there is no {' and no '.join(missing)}, which could "
        f"run {', '.join(workload.NAMES)}; install it there, or name another client"
    )


def _facts(executor: Executor, program: Program) -> Facts:
    facts, path, printed = {"client_program": program.name}, None, ""
    if program.locate is not None:
        found = executor.run(["sh", "-c", program.locate], timeout_s=ASK_LIMIT_S)
        path = printed = facts["client_path"] = found.stdout.strip().splitlines()[-1]
    if program.version_arguments is not None:
        asked = program.started([*program.words, *program.version_arguments], path)
        done = executor.run(asked, timeout_s=ASK_LIMIT_S)
        printed = done.stdout + done.stderr
    return {**facts, "client_version": program.called(printed)}


def install(
    executor: Executor,
    directory: Path,
    workload: Workload,
    wanted: str | None,
    *,
    measured_with: str | None,
) -> Facts:
    """Choose the program and put the files that it needs on the client's host.

    Args:
        directory: the campaign's directory on the client's host.
        measured_with: the program of the trials that the campaign has already; None: it has none.

    Returns:
        The facts ``client_program``, ``client_version`` and, if the program has a ``locate``
        script, ``client_path``: what to start in place of the program's first words.

    Raises:
        UnavailableError: see :func:`choose`, also for the other arguments.
        TargetError: the program is not the one that measured the campaign's earlier trials.
    """
    program, facts = choose(executor, workload, wanted)
    if measured_with not in (None, program.name):
        raise TargetError(
            f"client.program: {program.name} is the first that is on the client's host now, and "
            f"{measured_with} has measured trials of this campaign; figures of different clients "
            "are not compared: bring it back or start a campaign of another id"
        )
    for name, file in program.files.items():
        executor.put(directory / name, file.read_text(encoding="utf-8"))
    return facts
