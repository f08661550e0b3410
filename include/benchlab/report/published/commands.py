"""The commands of a published page's plan, written anew from what the page records of it.

A page's own command may have an option that its client does not have, or an address that its plan
does not name; here every option is one that the client has, and the entry point a placeholder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from benchlab.published.commands import options
from benchlab.published.model import Command, PublishedReport

Action = Literal["prepare", "run"]
ACTIONS: tuple[Action, ...] = ("prepare", "run")
TOOLS = ("sysbench", "tiup bench tpcc", "go-tpc tpcc", "go-tpc")
# Options that decide what a run measures or prints, with a value that needs no quoting; they are
# known to the clients (:mod:`benchlab.published.client_options`).
_KEPT: Mapping[str, tuple[str, ...]] = {
    "sysbench": (
        *("rand-type", "report-interval", "percentile", "auto-inc", "skip-trx", "range-size"),
        *("mysql-ignore-errors", "db-ps-mode", "secondary"),
    ),
    "go-tpc": ("ignore-error", "no-check", "wait", "interval"),
}
_VALUE = re.compile(r"[\w.,]+", re.ASCII)


@dataclass(frozen=True)
class Rebuilt:
    """A command and what it does."""

    action: Action
    text: str


def rebuilt(report: PublishedReport) -> tuple[Rebuilt, ...]:
    """The commands that load and that run, where the page prints one and records its values."""
    found = []
    for action in ACTIONS:
        recorded = next((c for c in report.setting.commands if _does(c, action)), None)
        if recorded is None:
            continue
        of = _sysbench if recorded.tool == "sysbench" else _go_tpc
        words = tuple(of(report, recorded, action))
        if words:
            found.append(Rebuilt(action, " \\\n    ".join(words)))
    return tuple(found)


def _does(command: Command, action: Action) -> bool:
    return command.tool in TOOLS and action in command.text.split()


def _sysbench(report: PublishedReport, recorded: Command, action: Action) -> Iterator[str]:
    setting = report.setting
    seconds = setting.seconds or setting.stated_seconds
    if setting.tables is None or setting.table_size is None or (action == "run" and not seconds):
        return
    yield f"sysbench {'oltp_common' if action == 'prepare' else '${WORKLOAD}'}"
    yield "--db-driver=mysql"
    yield "--mysql-host=${HOST}"
    yield "--mysql-port=${PORT}"
    yield "--mysql-user=${USER}"
    yield "--mysql-password=${PASSWORD}"
    yield "--mysql-db=sbtest"
    yield f"--tables={setting.tables}"
    yield f"--table-size={setting.table_size}"
    yield f"--threads={_load_threads(recorded, action)}"
    yield from _kept(recorded, "sysbench")
    if action == "run":
        yield f"--time={seconds}"
    yield action


def _go_tpc(report: PublishedReport, recorded: Command, action: Action) -> Iterator[str]:
    setting = report.setting
    seconds = setting.seconds or setting.stated_seconds
    if setting.warehouses is None or (action == "run" and not seconds):
        return
    program = "tiup bench" if recorded.tool.startswith("tiup") else "go-tpc"
    yield f"{program} tpcc {action}"
    yield "--host ${HOST}"
    yield "--port ${PORT}"
    yield "--user ${USER}"
    yield "--password ${PASSWORD}"
    yield "--db tpcc"
    yield f"--warehouses {setting.warehouses}"
    yield f"--threads {_load_threads(recorded, action)}"
    yield from _kept(recorded, "go-tpc")
    if action == "run":
        yield f"--time {seconds}s"


def _load_threads(recorded: Command, action: Action) -> str:
    """How many threads load, where a number is printed; those of a run differ from run to run."""
    printed = _options(recorded).get("threads") or ""
    return printed if action == "prepare" and printed.isdecimal() else "${THREADS}"


def _kept(recorded: Command, client: str) -> Iterator[str]:
    printed = _options(recorded)
    for name in _KEPT[client]:
        value = printed.get(name)
        if name in printed and (value is None or _VALUE.fullmatch(value)):
            yield f"--{name}" if value is None else f"--{name}={value}"


def _options(command: Command) -> dict[str, str | None]:
    """Long options by name; None: one without a value."""
    return {name[2:]: value for name, value in options(command.text) if name.startswith("--")}
