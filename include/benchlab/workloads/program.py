"""The choice of the program that runs a campaign's workloads, made once on the client's host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from benchlab.errors import CommandError, TargetError, UnavailableError
from benchlab.hosts.executor import Executor
from benchlab.plan.fields.client import Client
from benchlab.workloads.client import Program, program_of
from benchlab.workloads.workload import Workload

# `tiup bench` downloads its component when it is first used.
ASK_LIMIT_S = 600.0
# A shell's exit code for a program that does not exist.
NOT_FOUND = 127
# The fact that names the preferred programs that are missing, and why.
INSTEAD = "client_instead_of"
Facts = dict[str, str]


def choose(
    executor: Executor,
    workload: Workload,
    wanted: str | None,
    *,
    path: str | None = None,
    version: str | None = None,
    look: bool = False,
) -> tuple[Program, Facts]:
    """The program to use, and the facts that :func:`install` returns.

    A program that is missing, or lacks a part, is skipped. One that is installed but does not work,
    or is too old, is an error.

    Args:
        executor: the client's host.
        wanted: the name in the report type; None: the first program that is installed.
        path: the program's path on that host; None: where it is installed.
        version: the version that it must report; None: any.
        look: fetch nothing; the path may then not exist yet.

    Example:
        ``choose(executor, by_name()["tpcc"], "go-tpc", version="v1.0.12")``

    Raises:
        UnavailableError: none is installed, or an installed one cannot be used, is too old or has
            the wrong version; quotes the command and its output.
        ValueError: the workload has no program named ``wanted``.
    """
    programs = workload.PROGRAMS
    missing: list[str] = []
    for program in programs if wanted is None else (program_of(wanted, programs),):
        try:
            facts, found = _facts(executor, program, path, version, look=look)
        except CommandError as error:
            if error.exit_code != NOT_FOUND:
                # Falling back to another program would silently measure something else.
                raise UnavailableError(
                    f"client.program: {program.name} is on {executor.host} and cannot be used; "
                    f"fix it or name another client: {error}"
                ) from error
            lacks = error.output.strip().splitlines() if program.locate else []
            missing.append(" ".join([path or program.name, *(f"({why})" for why in lacks[-1:])]))
            continue
        if why := program.too_old(found):
            raise UnavailableError(
                f"client.program: on {executor.host}: {why}; install a later one there, or name "
                "another client"
            )
        if version is not None and not _is(found, version):
            raise UnavailableError(
                f"client.version: {path or program.name} on {executor.host} is "
                f"{facts['client_version']}, not {version}; install that version there and name it "
                "in client.path, or change client.version"
            )
        instead = f"no {', no '.join(missing)}" if missing else ""
        return program, {**facts, **({INSTEAD: instead} if instead else {})}
    raise UnavailableError(
        f"client.program: on {executor.host} there is no {' and no '.join(missing)} to run "
        f"{', '.join(workload.NAMES)}; install it there, or name another client"
    )


def told(facts: Facts) -> str:
    """The chosen program with its version, and which preferred ones are missing.

    Example:
        ``go-tpc v1.0.12; no tiup``
    """
    return "; ".join(filter(None, (facts["client_version"], facts.get(INSTEAD))))


def _facts(
    executor: Executor, program: Program, path: str | None, version: str | None, *, look: bool
) -> tuple[Facts, str | None]:
    """A program's facts, and the version that it reports, if any."""
    facts, printed = {"client_program": program.name}, path or ""
    if path is None and program.locate is not None:
        script = ["sh", "-c", program.locate, "sh", version or "", *(["look"] if look else [])]
        found = executor.run(script, timeout_s=ASK_LIMIT_S)
        path = printed = found.stdout.strip().splitlines()[-1]
    if path is not None:
        facts["client_path"] = path
    if program.version_arguments is not None:
        words = [*program.asked_by, *program.words, *program.version_arguments]
        asked = program.started(words, path)
        done = executor.run(asked, timeout_s=ASK_LIMIT_S)
        printed = done.stdout + done.stderr
    return {**facts, "client_version": program.called(printed)}, program.version_in(printed)


def _is(found: str | None, version: str) -> bool:
    """Whether a reported version is the wanted one; 1.1.0-ead2689 also counts as 1.1.0."""
    return found is not None and (found == version or found.startswith(f"{version}-"))


def install(
    executor: Executor,
    directory: Path,
    workload: Workload,
    client: Client,
    *,
    measured_with: str | None,
    files: Mapping[str, Path] = MappingProxyType({}),
) -> Facts:
    """Choose the program and put the files that it needs on the client's host.

    Args:
        directory: the campaign's directory on the client's host.
        client: the report type's ``client``.
        measured_with: the program that measured the campaign's earlier trials; None: there are
            none.
        files: what else to put into the directory, by name.

    Returns:
        The facts ``client_program`` and ``client_version``; ``client_path``, to be started in
        place of the program's first words, if the client names a path or the program has a
        ``locate`` script; and ``client_instead_of`` if preferred programs are missing.

    Raises:
        UnavailableError: see :func:`choose`.
        TargetError: the program is not the one that measured the campaign's earlier trials.
    """
    program, facts = choose(
        executor, workload, client.program, path=client.path, version=client.version
    )
    if measured_with not in (None, program.name):
        raise TargetError(
            f"client.program: {program.name} would be used now, but {measured_with} has measured "
            "trials of this campaign, and figures of different clients are not compared: "
            f"install {measured_with} again, or start a campaign with another id"
        )
    for name, file in {**program.files, **files}.items():
        executor.put(directory / name, file.read_text(encoding="utf-8"))
    return facts
