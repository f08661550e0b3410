"""Removes passwords, keys and tokens from the commands of a published page.

Placeholders and the word ``password`` are kept. So is a number after go-tpc's ``-p`` that can be a
port, if there is no ``-P``: the page may have confused the two, which an audit has to find.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

ACTIONS = frozenset({"prepare", "run", "cleanup", "check", "warmup", "prewarm", "help"})
"""What a client can be asked to do."""
PORTS = range(1024, 65536)
PLACEHOLDER = "${PASSWORD}"

_IS_PLACEHOLDER = re.compile(
    r"\$\w+|\$\{\w+\}|\{\{?[\s\w.-]*\}?\}|<[^<>]*>|\*+|[xX]{2,}|password|", re.ASCII
)
_QUOTED = r"\"(?:\\.|[^\"\\\n])*\"|'[^'\n]*'"
# One word of a shell, or a placeholder with blanks in it.
_VALUE = (
    r"(?P<value>\{\{[^{}\n]*\}\}|<[^<>\n]*>"
    rf"|(?:\\.|{_QUOTED}|[^\s\\;|&)`，。；、）])+)"
)
# One word of a file, where the shell's special characters have no meaning.
_WORD = rf"(?P<value>\{{\{{[^{{}}\n]*\}}\}}|<[^<>\n]*>|{_QUOTED}|[^\s`，。；、）]+)"
_NAME = r"(?:[\w.-]*[_-])?(?:passw(?:or)?d|secret[_-]?(?:access[_-])?key|(?:session|auth)[_-]token)"


def _pattern(before: str, value: str = _VALUE, flags: int = 0) -> re.Pattern[str]:
    return re.compile(f"(?P<before>{before}){value}", re.ASCII | flags)


_ANYWHERE = (
    _pattern(rf"(?<![\w-])--{_NAME}(?:=|[ \t]+(?!-))", flags=re.IGNORECASE),
    # the shell's own PWD is a directory, not a password
    _pattern(
        r"(?<![\w$-])(?:\w*(?:passw(?:or)?d|_token|secret|secret_key|secret_access_key)|\w+_pwd)=",
        flags=re.IGNORECASE,
    ),
    # an address with a key for its storage: s3://bucket?secret-access-key=...
    _pattern(rf"[?&]{_NAME}=", r"(?P<value>[^\s&\"'`，。；、）]+)", re.IGNORECASE),
    _pattern(r"\baws\s+configure\s+set\s+(?:\S+\.)?aws_(?:secret_access_key|session_token)\s+"),
    _pattern(r"(?<![\w.=-])sshpass\s+-p[ \t]*"),
    _pattern(r"://[^\s/:@]*:", r"(?P<value>[^\s/@]+)(?=@)"),
    _pattern(r"\bAuthorization:[ \t]*(?:Basic|Bearer)[ \t]+", r"(?P<value>[^\s\"'`]+)"),
    # HAProxy: its statistics page and its user lists
    _pattern(r"\bstats[ \t]+auth[ \t]+[^\s:]+:", _WORD),
    _pattern(r"\binsecure-password[ \t]+", _WORD),
    _pattern(
        r"^[ \t]*user[ \t]+\S+[ \t]+(?:groups[ \t]+\S+[ \t]+)?password[ \t]+",
        _WORD,
        re.MULTILINE,
    ),
)
# As in option files: ``mysql-password = secret``.
_LINE = _pattern(
    rf"^[ \t]*(?:-[ \t]+)?[\"']?{_NAME}[\"']?[ \t]*[=:][ \t]*",
    r"(?P<value>\S(?:[^\n]*?\S)??(?=[ \t]+#|[ \t]*,?[ \t]*$))",
    re.IGNORECASE | re.MULTILINE,
)

# What precedes a password in SQL (the first pattern: the old password in REPLACE), combined with
# each way to quote it: inside a shell's quotes, plain, and with typographic quotes.
_BEFORE_SQL = (
    rf"\bIDENTIFIED\s+BY\s+(?:{_QUOTED})\s+REPLACE\s+",
    (
        r"(?:\bIDENTIFIED\s+(?:(?:WITH|VIA)\s+[\"'`]?\w+[\"'`]?\s+)?(?:BY|AS|USING)\s*"
        r"(?:PASSWORD\s*\(?\s*)?|\bSET\s+PASSWORD\b[^;=\n]{0,200}=\s*|\bPASSWORD\s*\(\s*)"
    ),
)
_SQL = tuple(
    _pattern(before + opened, rf"(?P<value>{inside})", re.IGNORECASE)
    for before in _BEFORE_SQL
    for opened, inside in (
        (r"'\\''", r"[^'\n]*"),
        (r"\\\"", r"[^\"\\\n]*"),
        (r"'(?!\\'')", r"(?:\\.|''|[^'\\\n])*"),
        (r"\"", r"(?:\\.|\"\"|[^\"\\\n])*"),
        (r"[‘“]", r"[^’”\n]*"),
    )
)

# The meaning of -p depends on the program: for ssh it is a port. MySQL's asks for a password unless
# one is attached.
_MYSQL = re.compile(r"(?<![\w.=-])(?:mysql|mariadb)\w*\s", re.ASCII)
_GO_TPC = re.compile(r"(?<![\w.=-])(?:go-tpc|tiup\s+bench(?::\S+)?)\s", re.ASCII)
_LOGIN = re.compile(r"(?<![\w.=-])(?:docker|podman|nerdctl|registry)\s+login\s", re.ASCII)
_CURL = re.compile(r"(?<![\w.=-])curl\s", re.ASCII)
_ATTACHED = _pattern(r"(?<![\w-])-p")
_APART = _pattern(r"(?<![\w-])-p(?:=|[ \t]+(?!-))?")
_USER = r"(?<![\w-])(?:-[A-Za-z]*[uU][ \t=]*|--(?:proxy-)?user(?:=|[ \t]+))"
_OF_USER = tuple(
    _pattern(f"{_USER}{opened}[^\\s:\"']*:", rf"(?P<value>{inside})")
    for opened, inside in (
        ("'", r"[^'\n]*"),
        (r"\"", r"(?:\\.|[^\"\\\n])*"),
        (r"(?![\"'])", rf"(?:{_QUOTED}|\\.|[^\s\\`\"'，。；、）])+"),
    )
)
# Only after options, so that a sentence about mysqladmin is not mistaken for a command.
_NEW_PASSWORD = _pattern(
    r"(?<![\w.=-])mysqladmin(?:[ \t]+-\S+(?:[ \t]+(?!-|(?:old-)?password\b)\S+)?){0,20}"
    r"[ \t]+(?:old-)?password[ \t]+"
)
_OF_CLIENTS = (
    (_GO_TPC, (_APART,)),
    (_MYSQL, (_ATTACHED, _NEW_PASSWORD)),
    (_LOGIN, (_APART,)),
    (_CURL, _OF_USER),
)
# A host may be called mysql, so no command begins right after a one-letter option.
_COMMAND = re.compile(
    rf"(?<!-[A-Za-z] )(?:(?P<go_tpc>{_GO_TPC.pattern})|{_MYSQL.pattern})", re.ASCII
)
_PORT_GIVEN = re.compile(r"(?<![\w-])(?:-P|--port\b)", re.ASCII)


def without(text: str) -> str:
    """A command, or text with commands, in which ``${PASSWORD}`` replaces each password.

    >>> without("mysql -h 10.0.1.5 -pSecret99 test")
    'mysql -h 10.0.1.5 -p${PASSWORD} test'
    """
    for pattern in (*_ANYWHERE, *_SQL):
        text = pattern.sub(_hidden, text)
    for client, patterns in _OF_CLIENTS:
        if found := client.search(text):
            for pattern in patterns:
                text = _without_behind(found.start(), text, pattern)
    return text


def without_in_file(text: str) -> str:
    """Settings in which ``${PASSWORD}`` replaces each password, also those of option files."""
    return _LINE.sub(_hidden, without(text))


def _without_behind(begin: int, text: str, pattern: re.Pattern[str]) -> str:
    """The text with matches of a pattern hidden, from a position on, unless they are ports."""
    without_port = list(_without_port(text)) if pattern in (_APART, _ATTACHED) else []
    parts, end = [text[:begin]], begin
    for found in pattern.finditer(text, begin):
        bare = _bare(found)
        can_be_port = re.fullmatch("[0-9]{4,5}", bare) is not None and int(bare) in PORTS
        at = bisect_right(without_port, (found.start(), len(text))) - 1
        is_port = can_be_port and at >= 0 and found.start() < without_port[at][1]
        parts += [text[end : found.start()], found[0] if is_port else _hidden(found)]
        end = found.end()
    return "".join([*parts, text[end:]])


def _without_port(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each go-tpc command without a port, in order."""
    starts = list(_COMMAND.finditer(text))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    for start, end in zip(starts, ends, strict=False):
        if start["go_tpc"] and not _PORT_GIVEN.search(text, start.start(), end):
            yield start.start(), end


def _hidden(found: re.Match[str]) -> str:
    bare, before = _bare(found), found["before"]
    harmless = _IS_PLACEHOLDER.fullmatch(bare) or (
        before[-1:].isspace() and bare in (*ACTIONS, "tpcc")
    )
    return found[0] if harmless else before + PLACEHOLDER


def _bare(found: re.Match[str]) -> str:
    return found["value"].strip("\"'").rstrip(".,:")  # a sentence may end there
