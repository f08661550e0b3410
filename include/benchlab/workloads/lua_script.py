"""Custom workloads: the user's own Lua script, which sysbench runs on its tables.

The workload's name says whether the script writes, which decides when a snapshot is restored and
how errors count. The script must accept the options ``tables`` and ``table_size``: by
``require("oltp_common")``, or among its own. A campaign keeps the script's text and hash, so a
changed script is another workload.

Example:
    ``workloads: [lua_reads]`` and ``client: {script: {path: configs/scripts/counting.lua}}``
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from benchlab.bounded import read_text
from benchlab.errors import SpecError
from benchlab.plan.fields.client import Script
from benchlab.plan.report_type import ReportSpec
from benchlab.workloads import sysbench
from benchlab.workloads.client import Session, at_least, fitting, is_workload

# `x as x`: part of the `Workload` protocol, used only by its callers.
from benchlab.workloads.sysbench import PROGRAMS as PROGRAMS
from benchlab.workloads.sysbench import parse as parse
from benchlab.workloads.sysbench import prepare_command as prepare_command
from benchlab.workloads.sysbench_options import at_rate, chosen, connection, measured
from benchlab.workloads.sysbench_options import config_file_text as config_file_text

NAMES = ("lua_reads", "lua_writes")
READ_ONLY = frozenset({"lua_reads"})
DATASET = sysbench.Tables
DATABASE = sysbench.DATABASE
TOOL = sysbench.TOOL
METRICS = sysbench.METRICS

# The script's name in the campaign's directory, and beside the option file on the client's host.
FILE = "script.lua"


def faults(spec: ReportSpec) -> Iterator[str]:
    """Say why the report type's script cannot be run; nothing if it can."""
    named = [name for name in spec.workloads if name in NAMES]
    if named and spec.client.script is None:
        yield f"client.script: missing; {named[0]} runs the file that its `path` names"
    if spec.client.script is not None and not named:
        yield f"client.script: no workload runs it; write {' or '.join(NAMES)}, or leave it out"
    if len(named) > 1:
        yield (
            f"workloads: {' and '.join(named)} are the same script, which either writes or "
            "does not; write one"
        )


def pinned(project: Path, spec: ReportSpec) -> ReportSpec:
    """The report type with the hash of its script filled in.

    Args:
        project: the checkout, to which a relative path refers.

    Raises:
        SpecError: the file cannot be read, or has another hash than the report type says.
    """
    script = spec.client.script
    if script is None:
        return spec
    sha256 = _hash(_text(project, script))
    return spec.with_overrides({"client.script": {"path": script.path, "sha256": sha256}})


def keep(project: Path, spec: ReportSpec, directory: Path) -> None:
    """Copy the script into the campaign's directory, unless it is there.

    Raises:
        SpecError: the file cannot be read, or its hash differs from the plan's.
    """
    if spec.client.script is not None and not (directory / FILE).exists():
        text = _text(project, spec.client.script)
        (directory / FILE).write_text(text, encoding="utf-8")


def kept(spec: ReportSpec, directory: Path) -> dict[str, Path]:
    """The files that :func:`keep` left for the client's host, by name; empty without a script."""
    return {FILE: directory / FILE} if spec.client.script is not None else {}


def run_command(
    workload: str,
    session: Session,
    *,
    seconds: int,
    ignore_errors: Sequence[int] = sysbench.MYSQL_IGNORED_ERRORS,
) -> list[str]:
    """The command that runs the script for ``seconds`` seconds; see ``sysbench.run_command``."""
    is_workload(workload, NAMES)
    # To sysbench, 0 means no limit.
    at_least("seconds", seconds, 1)
    size = fitting(session.dataset, sysbench.Tables, "sysbench")
    return [
        "sysbench",
        str(PurePosixPath(session.config_path).with_name(FILE)),
        *connection(session),
        f"--tables={size.tables}",
        f"--table-size={size.table_size}",
        f"--threads={session.threads}",
        *chosen(session.client, None),
        *at_rate(session),
        *measured(seconds, session.client, ignore_errors),
    ]


def _text(project: Path, script: Script) -> str:
    try:
        text = read_text(project / script.path)
    except SpecError as error:
        raise SpecError(f"client.script.path: {error}") from error
    if script.sha256 not in (None, _hash(text)):
        raise SpecError(
            f"client.script.sha256: {script.path} has {_hash(text)}, not {script.sha256}: it was "
            "changed, which makes it another workload; leave the hash out, or restore the file"
        )
    return text


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
