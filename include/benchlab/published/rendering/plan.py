"""The commands of a published page, written again so that they work.

A command on a page may have an option that its client does not know, or an address that the plan
does not name. Here it has only options that the client knows, and placeholders as its entry point
and login. The options that were left out are named.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchlab.language import Language
from benchlab.language.names import items
from benchlab.published import commands
from benchlab.published.commands import CommandLine
from benchlab.published.model import StatedSetting
from benchlab.published.rendering.tables import Section

_ACTIONS = ("prepare", "run")
_LOGIN = {"host": "${HOST}", "port": "${PORT}", "user": "${USER}", "password": "${PASSWORD}"}
# Options with files and addresses of the original hosts.
_ELSEWHERE = frozenset(("config-file", "luajit-cmd", "pprof", "metrics-addr", "statusPort"))
# A value without path, address with port, or anything that may be secret.
_VALUE = re.compile(
    r"(?!.*(?:pass|pwd|secret|token))[\w.,=&%+-]+|\$\w+|\$\{\w+\}|\{\{ ?\w+ ?\}\}",
    re.ASCII | re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z][\w-]+", re.ASCII)


def threads(sections: Sequence[Section], language: Language) -> Iterator[str]:
    """A sentence for the workloads of each list of thread counts, which are those of the tables."""
    lists: dict[tuple[int, ...], list[str]] = {}
    for section in sections:
        if section.tables:
            counts = tuple(row.threads for row in section.workload.rows)
            lists.setdefault(counts, []).append(section.workload.name)
    for counts, names in lists.items():
        text = items(map(str, counts), language)
        if len(lists) == 1:
            yield language.say("published-threads-all", threads=text)
        else:
            yield language.say("published-threads-some", threads=text, names=items(names, language))


@dataclass(frozen=True)
class Rewritten:
    """A command, and what it does.

    Attributes:
        text: the command, on several lines.
        left_out: options of the page's command that it lacks, such as ``--config-file``.
    """

    action: str
    text: str
    left_out: tuple[str, ...]


def rewritten(setting: StatedSetting) -> tuple[Rewritten, ...]:
    """The commands that load and then those that run, each once.

    >>> [command.action for command in rewritten(report.setting)]  # doctest: +SKIP
    ['prepare', 'run']
    """
    lines = [commands.read(command, setting.sysbench_version) for command in setting.commands]
    by_action = (_rewritten(line) for action in _ACTIONS for line in lines if line.action == action)
    return tuple(dict.fromkeys(by_action))


def _rewritten(line: CommandLine) -> Rewritten:
    of_sysbench = line.client == "sysbench"
    prefix, equals = ("mysql-", "=") if of_sysbench else ("", " ")
    options = [f"--{prefix}{name}{equals}{value}" for name, value in _LOGIN.items()]
    left_out = []
    for name, value in line.options.items():
        if name.removeprefix(prefix) in (*_LOGIN, "socket"):
            continue
        if (
            name in line.unknown
            or name in _ELSEWHERE
            or not (value is None or _VALUE.fullmatch(value))
        ):
            left_out += [f"--{found[0]}" for found in [_NAME.match(name)] if found]
        elif value is None:
            options.append(f"--{name}")
        else:
            quoted = value if value[0] in "${" else shlex.quote(value)
            options.append(f"--{name}{equals}{quoted}")
    words = [f"sysbench {line.script}".strip(), *options, line.action]
    if not of_sysbench:
        words = [f"{line.client} {line.action}", *options]
    return Rewritten(line.action, " \\\n    ".join(words), tuple(dict.fromkeys(left_out)))
