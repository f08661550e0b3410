"""The plan of a published page: its steps in the order of a run, and its commands, rebuilt.

A command on a page may have an option that its client does not know, or an address that the plan
does not name. A rebuilt command has only options that the client knows, and a placeholder as its
entry point. The options that were left out are named.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from benchlab.language import Language
from benchlab.language.names import items
from benchlab.published.plan import command_line
from benchlab.published.plan.command_line import CommandLine
from benchlab.published.reading.model import Act, Command, PublishedReport, StatedSetting
from benchlab.published.rendering.tables import Section
from benchlab.workloads.sysbench_names import SYSBENCH_1_1, SYSBENCH_SCRIPTS

_BEFORE: dict[Act, str] = {"analyze": "published-analyze", "back_up": "published-back-up"}
_BENCHMARKSQL = "BenchmarkSQL"
_CLIENTS = ("sysbench", "tiup bench tpcc", "go-tpc tpcc", "go-tpc")


def steps(setting: StatedSetting, sections: Sequence[Section], language: Language) -> Iterator[str]:
    """Yield a sentence for each step; thread counts are those of the results."""
    say = language.say
    if setting.tables is not None and setting.table_size is not None:
        yield say("published-dataset", tables=setting.tables, rows=setting.table_size)
    if setting.warehouses is not None:
        yield say("published-warehouses", warehouses=setting.warehouses)
    yield from (say(_BEFORE[act]) for act in setting.acts if act in _BEFORE)
    if client := _client(setting):
        yield say("published-client", client=client)
    if setting.load_balancers:
        yield say("published-entry", names=items(setting.load_balancers, language))
    if setting.warmup_seconds is not None:
        yield say("published-warm-up", seconds=setting.warmup_seconds)
    by_command, stated = setting.seconds, setting.stated_seconds
    if by_command is not None and stated is not None and by_command != stated:
        yield say("published-duration-two", seconds=by_command, stated=stated)
    elif (seconds := by_command if by_command is not None else stated) is not None:
        yield say("published-duration", seconds=seconds)
    yield from _threads(sections, language)
    if "restore" in setting.acts:
        yield say("published-restore")


def _client(setting: StatedSetting) -> str:
    """The program that made the load, by the commands or else the steps; "" if unknown."""
    used = [command.tool for command in setting.commands if command.tool in _CLIENTS]
    if used:
        return used[0].removesuffix(" tpcc")
    named = any(_BENCHMARKSQL.lower() in step.text.lower() for step in setting.steps)
    return _BENCHMARKSQL if named else ""


def _threads(sections: Sequence[Section], language: Language) -> Iterator[str]:
    """One sentence for all workloads with the same thread counts."""
    lists: dict[tuple[int, ...], list[str]] = {}
    for section in sections:
        if section.tables:
            counts = tuple(row.threads for row in section.workload.rows)
            lists.setdefault(counts, []).append(section.workload.name)
    for counts, names in lists.items():
        threads = items(map(str, counts), language)
        if len(lists) == 1:
            yield language.say("published-threads-all", threads=threads)
        else:
            yield language.say(
                "published-threads-some", threads=threads, names=items(names, language)
            )


# ---------------------------------------------------------------- commands

Action = Literal["prepare", "run"]
# Options that are filled from the plan or with placeholders.
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
# Options with files and addresses of the original hosts.
_ELSEWHERE = frozenset(("config-file", "luajit-cmd", "pprof", "metrics-addr", "statusPort"))
# A value without placeholder, path, address with port, or anything that may be secret.
_VALUE = re.compile(r"(?!.*(?:pass|pwd|secret|token))[\w.,=&%+-]+", re.ASCII | re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z][\w-]+", re.ASCII)


@dataclass(frozen=True)
class Rebuilt:
    """A rebuilt command and what it does.

    Attributes:
        text: the command, on several lines.
        left_out: options of the page's commands that it lacks, such as ``--config-file``, except
            those that the plan or the entry point replaces.
    """

    action: Action
    text: str
    left_out: tuple[str, ...]


class _Recorded(NamedTuple):
    """A command of the page, its options that are copied, and those that are left out.

    Options that are filled from the plan or with placeholders are neither.
    """

    tool: str
    line: CommandLine
    kept: Mapping[str, str | None]
    left_out: tuple[str, ...]


def rebuilt(report: PublishedReport) -> tuple[Rebuilt, ...]:
    """The commands that load and that run, if the page prints them and records their values.

    >>> [command.action for command in rebuilt(report)]  # doctest: +SKIP
    ['prepare', 'run']
    """
    actions: tuple[Action, ...] = ("prepare", "run")
    recorded = [
        _recorded(command, line)
        for command in report.setting.commands
        if (line := command_line.read(command, report.setting.sysbench_version))
    ]
    return tuple(
        written
        for action in actions
        if (of_action := [one for one in recorded if one.line.action == action])
        for written in _written(report.setting, of_action, action)
    )


def _recorded(command: Command, line: CommandLine) -> _Recorded:
    kept: dict[str, str | None] = {}
    left_out = []
    for name, value in line.options.items():
        if name in _FROM_PLAN[line.client] or "password" in name:
            continue
        has = name not in line.unknown and name not in _ELSEWHERE
        if line.client == "sysbench":
            has = has and name in SYSBENCH_1_1
        if has and (value is None or _VALUE.fullmatch(value)):
            kept[name] = value
        elif match := _NAME.match(name):
            left_out.append(match[0])
    return _Recorded(command.tool, line, kept, tuple(left_out))


def _written(
    setting: StatedSetting, recorded: Sequence[_Recorded], action: Action
) -> Iterator[Rebuilt]:
    """One command for all workloads, or one for each if their options differ."""
    first = recorded[0]
    alike = [one for one in recorded if one.line.client == first.line.client]
    scripts = [one.line.script for one in alike if one.line.script in SYSBENCH_SCRIPTS]
    differ = any(one.kept != first.kept for one in alike)
    if action == "run" and len(set(scripts)) == len(alike) and differ:
        written = [(one, str(one.line.script), one.kept) for one in alike]
        left_out = [name for one in alike for name in one.left_out]
    else:
        # The first one's options, except those for which another command has a different value.
        other = {n for one in alike for n, v in one.kept.items() if first.kept.get(n, "") != v}
        other.update(name for one in alike for name in one.left_out)
        common = {name: value for name, value in first.kept.items() if name not in other}
        written = [(first, "${WORKLOAD}", common)]
        names = [name for one in alike for name in (*one.left_out, *one.kept)]
        left_out = [name for name in names if name not in common]
    lines = [_lines(setting, one, action, script, kept) for one, script, kept in written]
    if texts := [" \\\n    ".join(words) for words in lines if words]:
        options = tuple(f"--{name}" for name in dict.fromkeys(left_out))
        yield Rebuilt(action, "\n\n".join(texts), options)


def _lines(
    setting: StatedSetting,
    recorded: _Recorded,
    action: Action,
    script: str,
    kept: Mapping[str, str | None],
) -> tuple[str, ...]:
    """The lines of a command; empty if the page does not record what it needs."""
    seconds = setting.seconds or setting.stated_seconds
    if action == "run" and not seconds:
        return ()
    options = [
        f"--{name}" if value is None else f"--{name}={shlex.quote(value)}"
        for name, value in kept.items()
    ]
    # A load uses the printed thread count, if there is one; runs vary theirs.
    printed = recorded.line.options.get("threads") or ""
    threads = printed if action == "prepare" and printed.isdecimal() else "${THREADS}"
    if recorded.line.client == "sysbench":
        if setting.tables is None or setting.table_size is None:
            return ()
        time = [f"--time={seconds}"] if action == "run" else []
        return (
            f"sysbench {'oltp_common' if action == 'prepare' else script}",
            "--db-driver=mysql", "--mysql-host=${HOST}", "--mysql-port=${PORT}",
            "--mysql-user=${USER}", "--mysql-password=${PASSWORD}", "--mysql-db=sbtest",
            f"--tables={setting.tables}", f"--table-size={setting.table_size}",
            f"--threads={threads}", *options, *time, action,
        )  # fmt: skip
    if setting.warehouses is None:
        return ()
    time = [f"--time {seconds}s"] if action == "run" else []
    return (
        f"{'tiup bench' if recorded.tool.startswith('tiup') else 'go-tpc'} tpcc {action}",
        "--host ${HOST}", "--port ${PORT}", "--user ${USER}", "--password ${PASSWORD}",
        "--db tpcc", f"--warehouses {setting.warehouses}", f"--threads {threads}", *options, *time,
    )  # fmt: skip
