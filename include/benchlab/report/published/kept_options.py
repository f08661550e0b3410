"""Which options of a page's commands a command that is written anew has, and which it has not."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchlab.published import client_options as known
from benchlab.published import command_line
from benchlab.published.commands import options
from benchlab.published.model import Command, PublishedReport

Action = Literal["prepare", "run"]
# Written from the plan, or the placeholders of the entry point.
_FROM_PLAN: Mapping[str, frozenset[str]] = {
    "sysbench": frozenset(
        {"db-driver", "mysql-host", "mysql-port", "mysql-socket", "mysql-user", "mysql-password"}
        | {"mysql-db", "tables", "table-size", "threads", "num-threads", "time", "max-time"}
        | {"pgsql-host", "pgsql-port", "pgsql-user", "pgsql-db"}
    ),
    "go-tpc": frozenset(
        {"host", "port", "targets", "user", "password", "db", "warehouses", "threads", "time"}
    ),
}
# Files and addresses of the source's own hosts.
_ELSEWHERE = frozenset(("config-file", "luajit-cmd", "pprof", "metrics-addr", "statusPort"))
# No placeholder, no path, no address with a port, and nothing that may be secret.
_VALUE = re.compile(r"(?!.*(?:pass|pwd|secret|token))[\w.,=&%+-]+", re.ASCII | re.IGNORECASE)
_LONG_NAMES: Mapping[str, str] = {
    letter: name for name, letter in (known.GO_TPC_VALUES | known.GO_TPC_SWITCHES).items() if letter
}
_SCRIPT = re.compile(r"oltp_|[${<]|.*\.lua$")
_NAME = re.compile(r"[A-Za-z][\w-]*", re.ASCII)


@dataclass(frozen=True)
class Chosen:
    """Options by long name.

    Attributes:
        kept: those that the client has and that are written as they are, with their values; None:
            a switch. What is written from the plan, and the entry point, is not among them.
        left_out: all others.
    """

    kept: Mapping[str, str | None]
    left_out: tuple[str, ...]

    @property
    def written(self) -> tuple[str, ...]:
        """The kept ones, each as a word of a command."""
        return tuple(
            f"--{name}" if value is None else f"--{name}={shlex.quote(value)}"
            for name, value in self.kept.items()
        )


def client_of(command: Command) -> str:
    """``go-tpc``, which ``tiup bench tpcc`` is, too; or ``sysbench``."""
    return "sysbench" if command.tool == "sysbench" else "go-tpc"


def of(command: Command, action: Action, report: PublishedReport) -> Chosen:
    """The options of one command of a page."""
    client = client_of(command)
    has = _has(command, client, action, _sysbench_version(report)) - _ELSEWHERE
    kept: dict[str, str | None] = {}
    left_out = []
    for name, value in all_of(command).items():
        if name in _FROM_PLAN[client] or "password" in name:
            continue
        if name in has and (value is None or _VALUE.fullmatch(value)):
            kept[name] = value
        elif match := _NAME.match(name):
            left_out.append(match[0])
    return Chosen(kept, tuple(left_out))


def of_all(each: Sequence[Chosen]) -> Chosen:
    """Those of the first, without what another has with another value; all others are left out."""
    first = each[0].kept
    other = {n for chosen in each for n, v in chosen.kept.items() if first.get(n, "") != v}
    other.update(name for chosen in each for name in chosen.left_out)
    kept = {name: value for name, value in first.items() if name not in other}
    names = [name for chosen in each for name in (*chosen.left_out, *chosen.kept)]
    return Chosen(kept, tuple(name for name in dict.fromkeys(names) if name not in kept))


def _has(command: Command, client: str, action: Action, version: str | None) -> frozenset[str]:
    """The options that the client has, in the version that the page names."""
    if client == "go-tpc":
        values, switches = known.GO_TPC_ACTION_VALUES, known.GO_TPC_ACTION_SWITCHES
        return frozenset((*known.GO_TPC_VALUES, *known.GO_TPC_SWITCHES)).union(
            values[action], switches[action]
        )
    read = command_line.read(command, version)
    unknown = {name.lstrip("-").replace("_", "-") for name in read.unknown} if read else set()
    return known.SYSBENCH_1_1 - unknown


def _sysbench_version(report: PublishedReport) -> str | None:
    software = report.setting.software.items()
    return next((text for name, text in software if name.lower() == "sysbench"), None)


def all_of(command: Command) -> dict[str, str | None]:
    """Options by long name; None: one without a value.

    sysbench takes an underscore for a hyphen, and its script may stand behind a switch: that is no
    value of it.
    """
    of_go_tpc = client_of(command) == "go-tpc"
    found: dict[str, str | None] = {}
    for name, value in options(command.text):
        if of_go_tpc and name.startswith("--"):
            found[name[2:]] = value
        elif of_go_tpc and name[1:2] in _LONG_NAMES:
            found[_LONG_NAMES[name[1]]] = name[2:] or value
        elif name.startswith("--"):
            written = rf"{re.escape(name)}=".replace(r"\-", "[-_]")
            own = value is None or re.search(written, command.text) or not _SCRIPT.match(value)
            found[name[2:]] = value if own else None
    return found
