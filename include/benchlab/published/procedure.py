"""Reads a page's test procedure: commands, entry point, thread counts and clients.

sysbench's options are in :mod:`benchlab.workloads.sysbench_options`. sysbench refuses an unknown
one as "invalid option".

go-tpc's options are from cmd/go-tpc/main.go and cmd/go-tpc/tpcc.go of pingcap/go-tpc. ``tiup bench
tpcc`` is the same client (components/bench of pingcap/tiup, and go-tpc itself from TiUP 1.9 on).
go-tpc refuses an unknown option as "unknown flag", and accepts no abbreviations.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from benchlab.published.document import Element
from benchlab.published.model import Command, Procedure
from benchlab.workloads.sysbench_options import SYSBENCH_1_1, SYSBENCH_SCRIPTS

# "Perform stress tests on TiDB via HAProxy", and the translations
_BALANCED = re.compile(
    r"(?:\bvia |\bBy using |\bWith the |\bthrough |通过 |经过 )(?:AWS )?(HAProxy|NLB)\b"
)
_BOUND = re.compile(r"^\s*bind\s+[^\s#]*:(\d{1,5})\b", re.MULTILINE)
# "three tests with the `${THREAD}` value of `100`, `200`, and `400`", and its translation
_PLANNED = re.compile(
    r"(?:\$\{THREADS?\} (?:value of|(?:的)?值(?:分别)?[为取]|分别[为取]))"
    r"\s*(?P<list>\d[\d,]*(?:(?:, and |, | and |、|和| 和 )\d[\d,]*)+)"
)
_OTHER_TOOL = re.compile("BenchmarkSQL")


def procedure(elements: Sequence[Element]) -> Procedure:
    """Read the test procedure from a page's sentences and code blocks.

    >>> code = Element("code", 4, "go-tpc tpcc run -T 8 -P 4000", language="bash")
    >>> procedure([code]).commands[0].client
    'go-tpc tpcc'
    """
    texts = [(one.line, one.text) for one in elements if one.kind == "text"]
    blocks = [one.text for one in elements if one.kind == "code" and one.language not in _SHELLS]
    balancers = (name for _, text in texts for name in _BALANCED.findall(text))
    ports = (int(port) for block in blocks for port in _BOUND.findall(block))
    commands = tuple(_commands(elements))
    steps = {command.line for command in commands}
    return Procedure(
        commands=commands,
        balancers=tuple(dict.fromkeys(balancers)),
        entry_ports=tuple(dict.fromkeys(ports)),
        threads=tuple(
            (line, tuple(map(int, re.findall(r"\d+", planned["list"]))))
            for line, text in texts
            for planned in _PLANNED.finditer(text)
        ),
        other_tools=tuple(
            (line, tool[0])
            for line, text in texts
            if line in steps and (tool := _OTHER_TOOL.search(text))
        ),
    )


# ---------------------------------------------------------------- commands

_SHELLS = frozenset({"bash", "sh", "shell", "shell-regular", "shell-root", "console", "zsh"})
_CLIENT = re.compile(r"(?:\$ )?((?:sysbench|go-tpc|tiup bench(?::\S+)?)\s.*)", re.DOTALL)
_ACTIONS = frozenset({"prepare", "run", "cleanup", "check", "warmup", "prewarm", "help"})


def _commands(elements: Sequence[Element]) -> Iterator[Command]:
    """The calls of a client: in shell code blocks, and in inline code that has an option."""
    for element in elements:
        for line, text in _lines(element):
            match = _CLIENT.fullmatch(text.strip())
            if match and (command := parse(match[1], element.line + line)):
                yield command


def _lines(element: Element) -> Iterator[tuple[int, str]]:
    """Each possible command with its line, relative to the element's.

    A backslash continues a line of a code block.
    """
    if element.kind == "code" and element.language in _SHELLS:
        for match in re.finditer(r"(?:\\[ \t]*\n|[^\n])+", element.text):
            yield element.text.count("\n", 0, match.start()), re.sub(r"\\[ \t]*\n", " ", match[0])
    elif element.kind == "text":
        yield from ((0, span) for span in element.code_spans if " -" in span)


def parse(text: str, line: int) -> Command | None:
    """A call of sysbench or of go-tpc's TPC-C, parsed as they do; None if it is neither.

    >>> parse("tiup bench tpcc run -T 8 --warehouse 5 -p 4000", 1)  # doctest: +NORMALIZE_WHITESPACE
    Command(line=1, client='tiup bench tpcc', action='run', host='127.0.0.1', port='4000',
            unknown=('--warehouse',), port_as_password='4000')
    """
    try:
        words = shlex.split(text)
    except ValueError:  # a quotation mark is missing
        return None
    if words[0] == "sysbench":
        return _sysbench(words[1:], line)
    return _go_tpc(words, line) if "tpcc" in words else None


def _sysbench(words: Sequence[str], line: int) -> Command:
    """Parse a call of sysbench: ``_`` counts as ``-``; a custom script may have any option."""
    positional = [word for word in words if not word.startswith("-")]
    script = next((word for word in positional if word not in _ACTIONS), "")
    has_own_options = "$" not in script and "{" not in script and script not in SYSBENCH_SCRIPTS
    written = [word[2:].partition("=") for word in words if word.startswith("--")]
    options = {name.replace("_", "-"): value for name, _, value in written}
    unknown = [name for name, *_ in written if name.replace("_", "-") not in SYSBENCH_1_1]
    return Command(
        line,
        "sysbench",
        _action(positional),
        host=options.get("mysql-host", ""),
        port=options.get("mysql-port", ""),
        unknown=() if has_own_options else tuple(f"--{name}" for name in unknown),
    )


def _action(words: Sequence[str]) -> str:
    return next((word for word in words if word in _ACTIONS), "")


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# The long name of each short option.
_GO_TPC_LETTERS = {
    "D": "db", "H": "host", "U": "user", "p": "password", "P": "port", "S": "statusPort",
    "T": "threads", "t": "acThreads", "d": "driver", "h": "help",
}  # fmt: skip
_GO_TPC_VALUES = _names(
    "max-procs pprof metrics-addr db host user password port statusPort threads acThreads driver"
    " time count interval isolation conn-params output targets ssl-ca ssl-cert ssl-key parts"
    " partition-type warehouses output-type output-dir tables retry-count retry-interval"
    " max-measure-latency weight conn-refresh-interval"
)
_GO_TPC_SWITCHES = _names(
    "dropdata ignore-error silence check-all help no-check use-fk use-clustered-index wait"
)
_PORTS = range(1024, 65536)


def _go_tpc(words: Sequence[str], line: int) -> Command:
    options: dict[str, str] = {}
    unknown: list[str] = []
    positional: list[str] = []
    left = list(reversed(words))
    while left:
        word = left.pop()
        if not word.startswith("-"):
            positional.append(word)
            continue
        written, name, value = _go_tpc_option(word)
        if name in _GO_TPC_SWITCHES:
            continue
        if name not in _GO_TPC_VALUES:
            unknown.append(written)
        is_followed = left and left[-1][:1] != "-" and left[-1] not in _ACTIONS
        if not value and left and (name in _GO_TPC_VALUES or is_followed):
            value = left.pop()
        options[name] = value
    password = options.get("password", "")
    is_port = re.fullmatch("[0-9]{4,5}", password) is not None and int(password) in _PORTS
    return Command(
        line,
        "tiup bench tpcc" if words[0] == "tiup" else "go-tpc tpcc",
        _action(positional),
        host=options.get("host", "127.0.0.1"),
        port=options.get("port", "4000"),
        unknown=tuple(unknown),
        port_as_password=password if is_port and "port" not in options else "",
    )


def _go_tpc_option(word: str) -> tuple[str, str, str]:
    """An option as written, its long name, and its value if it is in the same word, else ""."""
    if word.startswith("--"):
        written, _, value = word.partition("=")
        return written, written[2:], value
    return word[:2], _GO_TPC_LETTERS.get(word[1:2], word[1:2]), word[2:].removeprefix("=")
