"""The calls of sysbench and go-tpc in a page, parsed as these clients do, without their passwords.

sysbench: its options are in :mod:`benchlab.workloads.sysbench_names`. It ends with "invalid option"
if an option is unknown.

go-tpc: cmd/go-tpc/main.go and cmd/go-tpc/tpcc.go of pingcap/go-tpc. ``tiup bench tpcc`` is the same
client (components/bench of pingcap/tiup, and go-tpc itself from TiUP 1.9 on); older ones have fewer
options. It ends with "unknown flag" if an option is unknown, and does not accept abbreviations.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchlab.published import passwords
from benchlab.published.document import Element
from benchlab.published.model import Command
from benchlab.published.passwords import ACTIONS
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


@dataclass(frozen=True)
class CommandLine:
    """What a client is asked to do.

    Attributes:
        client: as it is called: ``sysbench``, ``go-tpc tpcc`` or ``tiup bench tpcc``.
        script: sysbench's script as written; "" if there is none.
        action: such as ``prepare`` or ``run``; "" if there is none.
        options: values by long name, in the command's order; None for an option without a value.
        unknown: options that the client certainly does not have, as written, by long name.
    """

    client: str
    script: str
    action: str
    options: Mapping[str, str | None]
    unknown: Mapping[str, str]

    @property
    def measures(self) -> bool:
        """Whether figures can come from it: it does not load, check or remove data."""
        return self.action in ("", "run")

    @property
    def address(self) -> tuple[str, str]:
        """The host and the port it connects to; "" for what is not certain."""
        of_sysbench = self.client == "sysbench"
        options = self.options if of_sysbench else {**_GO_TPC_ADDRESS, **self.options}
        prefix = "mysql-" if of_sysbench else ""
        return options.get(f"{prefix}host") or "", options.get(f"{prefix}port") or ""


def read(command: Command, sysbench_version: str = "") -> CommandLine:
    """Parse a command.

    Args:
        sysbench_version: as the page prints it; it decides which options are known.

    >>> line = read(Command("go-tpc tpcc run -T 8 --time=5m", 1))
    >>> line.action, dict(line.options)
    ('run', {'threads': '8', 'time': '5m'})
    """
    words = shlex.split(command.text)
    if words[0] == "sysbench":
        return _sysbench(words[1:], sysbench_version)
    at = words.index("tpcc")
    program = "tiup bench tpcc" if words[0] == "tiup" else "go-tpc tpcc"
    return _go_tpc(program, [*words[1:at], *words[at + 1 :]])


def _sysbench(words: Sequence[str], version: str) -> CommandLine:
    """Parse as sysbench does: ``_`` counts as ``-``."""
    options: dict[str, str | None] = {}
    written: dict[str, str] = {}
    positional = [word for word in words if not word.startswith("-")]
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            options[name.replace("_", "-")] = value if equals else None
            written[name.replace("_", "-")] = f"--{name}"
    script = next((word for word in positional if word not in ACTIONS), "")
    own = "$" in script or "{" in script or script in SYSBENCH_SCRIPTS
    has = SYSBENCH_1_0 if re.search(r"(?<![\d.])1\.0(?!\d)", version) else SYSBENCH_1_1
    certain = own and (not version or re.search(r"(?<![\d.])1\.[01](?!\d)", version))
    unknown = {name: text for name, text in written.items() if certain and name not in has}
    return CommandLine("sysbench", script, _action(positional), options, unknown)


def _action(words: Sequence[str]) -> str:
    return next((word for word in words if word in ACTIONS), "")


def _go_tpc(client: str, words: Sequence[str]) -> CommandLine:
    action = _action(words)
    own = [options for name, options in _GO_TPC_ACTIONS.items() if action in (name, "")]
    valued = _GO_TPC_VALUES.union(*(values for values, _ in own))
    switches = _GO_TPC_SWITCHES.union(*(switches for _, switches in own))
    options: dict[str, str | None] = {}
    unknown: dict[str, str] = {}
    left = list(reversed(words))
    while left:
        word = left.pop()
        name, value = _go_tpc_option(word)
        if not name or word == client.split()[1]:
            continue
        if name not in valued | switches:
            unknown[name] = word.partition("=")[0] if word.startswith("--") else word[:2]
        takes = name in unknown and left and not (left[-1][:1] == "-" or left[-1] in ACTIONS)
        if not value and left and (name in valued or takes):
            value = left.pop()
        options[name] = None if name in switches else value or None
    return CommandLine(client, "", action, options, unknown)


def _go_tpc_option(word: str) -> tuple[str, str]:
    """The option's long name and the value in the same word; ``("", "")`` if it is no option."""
    if word.startswith("--"):
        name, _, value = word[2:].partition("=")
        return name, value
    if word.startswith("-"):
        return _GO_TPC_LETTERS.get(word[1:2], word[1:2]), word[2:].removeprefix("=")
    return "", ""


# ---------------------------------------------------------------- in a page

SHELLS = frozenset({"bash", "sh", "shell", "shell-regular", "shell-root", "console", "zsh"})
_CLIENT = re.compile(r"(?:\$ )?((?:sysbench|go-tpc|tiup bench(?::\S+)?)\s.*)", re.DOTALL)


def commands(elements: Sequence[Element]) -> Iterator[Command]:
    """The calls of a client in shell's code blocks, and as code with an option in sentences."""
    for element in elements:
        for line, text in _lines(element):
            if match := _CLIENT.fullmatch(text.strip()):
                command = Command(
                    passwords.without(" ".join(match[1].split())), element.line + line
                )
                if _can_be_parsed(command.text):
                    yield command


def _lines(element: Element) -> Iterator[tuple[int, str]]:
    """Each candidate with its line from the element's; a backslash continues a line of code."""
    if element.kind == "code" and element.language in SHELLS:
        for match in re.finditer(r"(?:\\[ \t]*\n|[^\n])+", element.text):
            yield element.text.count("\n", 0, match.start()), re.sub(r"\\[ \t]*\n", " ", match[0])
    elif element.kind in ("paragraph", "item"):
        yield from ((0, span) for span in element.code_spans if " -" in span)


def _can_be_parsed(text: str) -> bool:
    try:
        words = shlex.split(text)
    except ValueError:  # a quotation mark is missing
        return False
    return words[0] == "sysbench" or "tpcc" in words
