"""Passwords in the commands of a published page: they are not kept.

A placeholder is none, and neither is the word ``password``. A number that can be a port stays: the
page may have mixed up the two options, which an audit has to find.
"""

from __future__ import annotations

import re
from dataclasses import replace

from benchlab.published.commands import SUBCOMMANDS
from benchlab.published.model import Setting

PLACEHOLDER = "${PASSWORD}"

_PORTS = range(1024, 65536)
_IS_PLACEHOLDER = re.compile(
    r"\$\w+|\$\{\w+\}|\{\{?[\s\w.-]*\}?\}|<[^<>]*>|\*+|[xX]{2,}|password|", re.ASCII
)
# One word of a shell, or a placeholder with blanks in it.
_VALUE = (
    r"(?P<value>\{\{[^{}\n]*\}\}|<[^<>\n]*>"
    r"|(?:\\.|\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'|[^\s\\;|&)`，。；、）])+)"
)
_NAME = r"(?:[\w.-]*[_-])?passw(?:or)?d"
_LONG = re.compile(
    rf"(?P<before>(?<![\w-])--{_NAME}(?:=|[ \t]+(?!-))){_VALUE}", re.IGNORECASE | re.ASCII
)
_VARIABLE = re.compile(
    rf"(?P<before>(?<![\w$-])(?:\w*PASSWORD|\w+_PWD)=){_VALUE}", re.ASCII
)  # the shell's own PWD is a directory
_SSHPASS = re.compile(rf"(?P<before>(?<![\w.=-])sshpass\s+-p[ \t]*){_VALUE}", re.ASCII)
_ADDRESS = re.compile(r"(?P<before>://[^\s/:@]*:)(?P<value>[^\s/@]+)(?=@)")
# As a file of options has it: ``mysql-password = secret``.
_LINE = re.compile(
    rf"(?P<before>^[ \t]*[\"']?{_NAME}[\"']?[ \t]*[=:][ \t]*){_VALUE}",
    re.IGNORECASE | re.MULTILINE | re.ASCII,
)
# What -p is depends on the program: of ssh it is a port. MySQL's asks where nothing is attached.
_MYSQL = re.compile(r"(?<![\w.=-])(?:mysql|mariadb)\w*\s", re.ASCII)
_GO_TPC = re.compile(r"(?<![\w.=-])(?:go-tpc|tiup\s+bench(?::\S+)?)\s", re.ASCII)
_ATTACHED = re.compile(rf"(?P<before>(?<![\w-])-p){_VALUE}", re.ASCII)
_APART = re.compile(rf"(?P<before>(?<![\w-])-p(?:=|[ \t]+(?!-))?){_VALUE}", re.ASCII)


def without(text: str) -> str:
    """A command, or a text with commands in it, with ``${PASSWORD}`` for each password."""
    for pattern in (_LONG, _VARIABLE, _SSHPASS, _ADDRESS):
        text = pattern.sub(_hidden, text)
    for client, short in ((_GO_TPC, _APART), (_MYSQL, _ATTACHED)):
        if found := client.search(text):
            begin = found.end()
            text = text[:begin] + short.sub(_hidden, text[begin:])
    return text


def without_any(setting: Setting) -> Setting:
    """What a page says of how it was measured, its commands, steps and files without passwords."""
    return replace(
        setting,
        commands=tuple(replace(each, text=without(each.text)) for each in setting.commands),
        steps=tuple(replace(each, text=without(each.text)) for each in setting.steps),
        parameters=tuple(
            replace(each, text=_LINE.sub(_hidden, without(each.text)))
            for each in setting.parameters
        ),
    )


def _hidden(found: re.Match[str]) -> str:
    bare = found["value"].strip("\"'").rstrip(".,:")  # a sentence may end there
    harmless = _IS_PLACEHOLDER.fullmatch(bare) or bare in SUBCOMMANDS or _can_be_port(bare)
    return found[0] if harmless else found["before"] + PLACEHOLDER


def _can_be_port(text: str) -> bool:
    return re.fullmatch("[0-9]{4,5}", text) is not None and int(text) in _PORTS
