"""Parses a published command as its client does, and knows the client's options.

sysbench: its options are in :mod:`benchlab.workloads.sysbench_names`. It ends with "invalid option"
if an option is unknown.

go-tpc: cmd/go-tpc/main.go and cmd/go-tpc/tpcc.go of pingcap/go-tpc. ``tiup bench tpcc`` is the same
client (components/bench of pingcap/tiup, and go-tpc itself from TiUP 1.9 on); older ones have fewer
options. It ends with "unknown flag" if an option is unknown, and does not accept abbreviations.
"""

from __future__ import annotations

import re
import shlex
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchlab.published.reading.model import Command
from benchlab.workloads.sysbench_names import SYSBENCH_1_0, SYSBENCH_1_1, SYSBENCH_SCRIPTS


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# By letter: the long name.
_GO_TPC_LETTERS = {
    "D": "db", "H": "host", "U": "user", "p": "password", "P": "port", "S": "statusPort",
    "T": "threads", "t": "acThreads", "d": "driver", "h": "help",
}  # fmt: skip
_GO_TPC_VALUES = _names(
    "max-procs pprof metrics-addr db host user password port statusPort threads acThreads driver"
    " time count interval isolation conn-params output targets ssl-ca ssl-cert ssl-key parts"
    " partition-type warehouses"
)
_GO_TPC_SWITCHES = _names("dropdata ignore-error silence check-all help")
# Options of a single action: with a value, and without.
_GO_TPC_ACTIONS = {
    "prepare": (
        _names("output-type output-dir tables retry-count retry-interval"),
        _names("no-check use-fk use-clustered-index"),
    ),
    "run": (_names("max-measure-latency weight conn-refresh-interval"), _names("wait")),
}
# Where go-tpc connects unless the command says otherwise.
_GO_TPC_ADDRESS = {"host": "127.0.0.1", "port": "4000"}
ACTIONS = _names("prepare run cleanup check warmup prewarm help")
"""What a client can be asked to do."""

CLIENTS = frozenset({"sysbench", "tiup", "go-tpc"})
PROGRAMS = CLIENTS | _names(
    "mysql mysqladmin git curl wget haproxy make ssh scp ansible ansible-playbook tar java docker"
    " kubectl aws"
)
PORTS = range(1024, 65536)
NOT_MEASURED = ACTIONS - {"run"}
"""Actions that load, check or remove data; no figure of a page comes from them."""
# These start another program, which follows their own options.
_STARTERS = _names("do env exec ionice nice nohup numactl stdbuf sudo taskset time timeout")
_ENDS = ";|&<>"
_PLACEHOLDER = re.compile(r"\{\{[^{}]*\}\}|\$\{[^{}]*\}|<[^<>|;&]*>")
# Angle brackets would be redirections.
_AS_ONE_WORD = str.maketrans("<>", "{}", string.whitespace + "'")


@dataclass(frozen=True)
class CommandLine:
    """What a client is asked to do.

    Attributes:
        client: ``sysbench`` or ``go-tpc``; the latter includes ``tiup bench tpcc``.
        script: sysbench's script as written; None if there is none.
        action: one of :data:`ACTIONS`; None if there is none.
        options: values by long name, in the command's order; None for an option without a value.
        unknown: options that the client certainly does not have, as written, by long name.
    """

    client: str
    script: str | None
    action: str | None
    options: Mapping[str, str | None]
    unknown: Mapping[str, str]

    @property
    def address(self) -> tuple[str, str]:
        """The host and the port it connects to; "" for what is not certain."""
        prefix = "mysql-" if self.client == "sysbench" else ""
        options = self.options if prefix else {**_GO_TPC_ADDRESS, **self.options}
        return options.get(f"{prefix}host") or "", options.get(f"{prefix}port") or ""


def read(command: Command, sysbench_version: str | None = None) -> CommandLine | None:
    """Parse a command; None if it calls neither client.

    Args:
        sysbench_version: as the page prints it; it decides which options are known.

    >>> line = read(Command("go-tpc", "go-tpc tpcc run -T 8 --time=5m", 1, True))
    >>> line.action, dict(line.options)
    ('run', {'threads': '8', 'time': '5m'})
    """
    program, *rest = words(command.text) or ("",)
    if program == "sysbench":
        return _sysbench(rest, sysbench_version or "")
    if program == "tiup":  # a component may have a version: bench:v1.9.0
        bench = next((at for at, word in enumerate(rest) if word.split(":")[0] == "bench"), None)
        rest = rest[bench + 1 :] if bench is not None else []
    if program in CLIENTS and "tpcc" in rest:
        return _go_tpc([word for word in rest if word != "tpcc"])
    return None


def words(text: str) -> tuple[str, ...]:
    """The words of a command, beginning with its program; () if it starts no known program.

    Anything that merely starts the program is left out: ``sudo -u tidb``, assignments, a loop. A
    placeholder is one word, its blanks removed.

    >>> words("sudo -u tidb sysbench --threads=8 oltp_insert run")
    ('sysbench', '--threads=8', 'oltp_insert', 'run')
    """
    commands = _commands(_PLACEHOLDER.sub(lambda found: found[0].translate(_AS_ONE_WORD), text))
    is_loop = bool(commands) and commands[0][0] in ("for", "while")
    return next(filter(None, map(_from_program, commands if is_loop else commands[:1])), ())


def _commands(text: str) -> list[list[str]]:
    """The commands of a line, each as words; an unmatched quotation mark is a plain character."""
    found: list[list[str]] = [[]]
    try:
        tokens = list(_lexer(text))
    except ValueError:
        lexer = _lexer(text)
        lexer.quotes = lexer.escape = ""
        tokens = list(lexer)
    for token in tokens:
        if token and not token.strip(_ENDS):
            found.append([])
        else:
            found[-1].append(token)
    return [command for command in found if command]


def _lexer(text: str) -> shlex.shlex:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_ENDS)
    lexer.whitespace_split, lexer.commenters = True, ""
    return lexer


def _from_program(command: Sequence[str]) -> tuple[str, ...]:
    first = command[0]
    if _name(first) in _STARTERS or re.match(r"\w+=", first):
        behind = [at for at, word in enumerate(command) if at and _is_program(word)]
        # A user or host may be called mysql, but hardly sysbench.
        at = next((at for at in behind if _name(command[at]) in CLIENTS), (*behind, None)[0])
    else:
        at = 0 if _is_program(first) else None
    if at is None:
        return ()
    name = _name(command[at])
    return (name if name in PROGRAMS else command[at], *command[at + 1 :])


def _is_program(word: str) -> bool:
    """Whether a word is a known program or a script."""
    return "=" not in word and (
        _name(word) in PROGRAMS or word.startswith("./") or word.endswith(".sh")
    )


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _sysbench(words: Sequence[str], version: str) -> CommandLine:
    """Parse as sysbench does: ``_`` counts as ``-``; a script after a switch is not its value."""
    options: dict[str, str | None] = {}
    written: dict[str, str] = {}
    long_name = ""
    positional: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            long_name = name.replace("_", "-")
            options[long_name] = value if equals else None
            written[long_name] = f"--{name}"
        elif before.startswith("--") and "=" not in before and _is_value(word):
            options[long_name] = word
        elif not word.startswith("-"):
            positional.append(word)
    script = next((word for word in positional if word not in ACTIONS), "")
    of_its_own = "$" in script or "{" in script or script in SYSBENCH_SCRIPTS
    has = SYSBENCH_1_0 if re.search(r"(?<![\d.])1\.0(?!\d)", version) else SYSBENCH_1_1
    certain = of_its_own and (not version or re.search(r"(?<![\d.])1\.[01](?!\d)", version))
    unknown = {name: text for name, text in written.items() if certain and name not in has}
    return CommandLine("sysbench", script or None, _action(positional), options, unknown)


def _is_value(word: str) -> bool:
    return word not in ACTIONS and not re.match(r"-|oltp_|[${]|.*\.lua$", word)


def _action(words: Sequence[str]) -> str | None:
    return next((word for word in words if word in ACTIONS), None)


def _go_tpc(words: Sequence[str]) -> CommandLine:
    action = _action(words)
    valued, switches = _go_tpc_options(action)
    options: dict[str, str | None] = {}
    unknown: dict[str, str] = {}
    left = list(reversed(words))
    while left:
        word = left.pop()
        name, value = _option(word)
        if not name:
            continue
        if name not in valued | switches:
            unknown[name] = word.partition("=")[0] if word.startswith("--") else word[:2]
        if name in valued:
            value = value or (left.pop() if left else "")
        elif name in unknown and left and not (left[-1][:1] == "-" or left[-1] in ACTIONS):
            value = value or left.pop()
        options[name] = None if name in switches else value or None
    return CommandLine("go-tpc", None, action, options, unknown)


def _option(word: str) -> tuple[str, str]:
    """The option's long name and the value in the same word; ``("", "")`` if it is no option."""
    if word.startswith("--"):
        name, _, value = word[2:].partition("=")
        return name, value
    if word.startswith("-"):
        return _GO_TPC_LETTERS.get(word[1:2], word[1:2]), word[2:].removeprefix("=")
    return "", ""


def _go_tpc_options(action: str | None) -> tuple[frozenset[str], frozenset[str]]:
    """The options that take a value and those that do not, for an action; None: for all actions."""
    own = [options for name, options in _GO_TPC_ACTIONS.items() if action in (name, None)]
    return (
        _GO_TPC_VALUES.union(*(valued for valued, _ in own)),
        _GO_TPC_SWITCHES.union(*(switches for _, switches in own)),
    )
