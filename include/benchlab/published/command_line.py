"""A published command, read as its client reads it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchlab.published import client_options as known
from benchlab.published.model import Command

_PLACEHOLDER = re.compile(r"\{\{[^{}]*\}\}|\$\{[^{}]*\}|<[^<>|;&]*>")
_END_OF_COMMAND = re.compile(r"^(\d?>|[|;&<])")


@dataclass(frozen=True)
class CommandLine:
    """What a client is asked for.

    Attributes:
        client: ``sysbench`` or ``go-tpc``, which ``tiup bench tpcc`` is, too.
        action: ``prepare``, ``run``, ...; None where none is found.
        options: values by long name, empty for a switch.
        unknown: options that the client does not have, as they are written. Empty, too, where it
            is not certain which it has.
    """

    client: str
    action: str | None
    options: Mapping[str, str]
    unknown: tuple[str, ...]

    @property
    def host(self) -> str | None:
        """Where it connects; None where that is not certain."""
        if self.client == "sysbench":
            return self.options.get("mysql-host")
        return self.options.get("host", known.GO_TPC_HOST)

    @property
    def port(self) -> str | None:
        """None where that is not certain."""
        if self.client == "sysbench":
            return self.options.get("mysql-port")
        return self.options.get("port", known.GO_TPC_PORT)


def read(command: Command, sysbench_version: str | None = None) -> CommandLine | None:
    """Take a command apart; None where its client is not known.

    Args:
        sysbench_version: as the page prints it.
    """
    words = list(_words(command.text))
    if command.tool.startswith("sysbench"):
        return _sysbench(words, sysbench_version or "")
    if "tpcc" in words and re.match(r"tiup\s+bench|go-tpc", command.tool):
        start = next(
            (at for at, word in enumerate(words) if re.match(r"bench(:|$)|(.*/)?go-tpc$", word)), 0
        )
        return _go_tpc([word for word in words[start + 1 :] if word != "tpcc"])
    return None


def _words(text: str) -> Iterator[str]:
    whole = _PLACEHOLDER.sub(lambda found: re.sub(r"\s", "", found[0]).replace("'", ""), text)
    # A placeholder in angle brackets is no redirection.
    whole = re.sub(r"<([^<>|;&]*)>", r"{\1}", whole)
    try:
        words = shlex.split(whole)
    except ValueError:  # a quotation mark without its partner
        words = whole.split()
    for word in words:
        if _END_OF_COMMAND.match(word):
            return
        yield word


def _sysbench(words: list[str], version: str) -> CommandLine:
    options: dict[str, str] = {}
    written: dict[str, str] = {}
    rest: list[str] = []
    for word in words[1:]:
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            options[name.replace("_", "-")] = value
            written[name.replace("_", "-")] = f"--{name}"
        elif not word.startswith("-"):
            rest.append(word)
    script = rest[0] if rest else ""
    of_its_own = "$" in script or "{" in script or script in known.SYSBENCH_SCRIPTS
    has = known.SYSBENCH_1_0 if re.search(r"(?<![\d.])1\.0(?!\d)", version) else known.SYSBENCH_1_1
    certain = of_its_own and (not version or re.search(r"(?<![\d.])1\.[01](?!\d)", version))
    return CommandLine(
        client="sysbench",
        action=rest[-1] if len(rest) > 1 else None,
        options=options,
        unknown=tuple(name for key, name in written.items() if key not in has) if certain else (),
    )


def _go_tpc(words: list[str]) -> CommandLine:
    action = next((word for word in words if word in known.GO_TPC_ACTION_VALUES), None)
    of_actions = [action] if action else list(known.GO_TPC_ACTION_VALUES)
    valued = set(known.GO_TPC_VALUES).union(*(known.GO_TPC_ACTION_VALUES[a] for a in of_actions))
    switches = set(known.GO_TPC_SWITCHES).union(
        *(known.GO_TPC_ACTION_SWITCHES[a] for a in of_actions)
    )
    by_letter = {
        letter: name
        for name, letter in (known.GO_TPC_VALUES | known.GO_TPC_SWITCHES).items()
        if letter
    }
    options: dict[str, str] = {}
    unknown: list[str] = []
    left = iter(words)
    for word in left:
        name, value = _option(word, by_letter)
        if name is None:
            continue
        if name in switches:
            options[name] = ""
        elif name in valued:
            options[name] = value or next(left, "")
        else:
            unknown.append(word.partition("=")[0] if word.startswith("--") else word[:2])
    return CommandLine("go-tpc", action, options, tuple(unknown))


def _option(word: str, by_letter: Mapping[str, str]) -> tuple[str | None, str]:
    """Long name and value within the same word; None for a word that is no option."""
    if word.startswith("--") and len(word) > 2:
        name, _, value = word[2:].partition("=")
        return name, value
    if word.startswith("-") and len(word) > 1:
        return by_letter.get(word[1], word[1]), word[2:].removeprefix("=")
    return None, ""
