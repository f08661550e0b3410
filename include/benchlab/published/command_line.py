"""A published command, read as its client reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchlab.published import client_options as known
from benchlab.published.commands import long_name
from benchlab.published.model import Command
from benchlab.published.shell_words import words

NOT_MEASURED = frozenset({"prepare", "prewarm", "warmup", "check", "cleanup", "help"})
"""Actions that load, check or remove data: no figure of a page is theirs."""
_GO_TPC = re.compile(r"bench(?::|$)|go-tpc$", re.ASCII)


@dataclass(frozen=True)
class CommandLine:
    """What a client is asked for.

    Attributes:
        client: ``sysbench`` or ``go-tpc``, which ``tiup bench tpcc`` is, too.
        script: of sysbench, as it is written; None where none is found.
        action: ``prepare``, ``run``, ...; None where none is found.
        options: values by long name, empty for a switch.
        unknown: options that the client does not have, as they are written. Empty, too, where it
            is not certain which it has.
    """

    client: str
    script: str | None
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
    found = words(command.text)
    if found[:1] == ("sysbench",):
        return _sysbench(found[1:], sysbench_version or "")
    if "tpcc" in found and found[0] in ("tiup", "go-tpc"):
        start = next((at for at, word in enumerate(found) if _GO_TPC.match(word)), None)
        if start is not None:
            return _go_tpc([word for word in found[start + 1 :] if word != "tpcc"])
    return None


def _sysbench(words: Sequence[str], version: str) -> CommandLine:
    options: dict[str, str] = {}
    written: dict[str, str] = {}
    rest: list[str] = []
    for word in words:
        if word.startswith("--"):
            name, _, value = word[2:].partition("=")
            known_as = long_name(name, "sysbench")
            options[known_as] = value
            written[known_as] = f"--{name}"
        elif not word.startswith("-"):
            rest.append(word)
    script = rest[0] if rest else ""
    of_its_own = "$" in script or "{" in script or script in known.SYSBENCH_SCRIPTS
    has = known.SYSBENCH_1_0 if re.search(r"(?<![\d.])1\.0(?!\d)", version) else known.SYSBENCH_1_1
    certain = of_its_own and (not version or re.search(r"(?<![\d.])1\.[01](?!\d)", version))
    return CommandLine(
        client="sysbench",
        script=script or None,
        action=rest[-1] if len(rest) > 1 else None,
        options=options,
        unknown=tuple(name for key, name in written.items() if key not in has) if certain else (),
    )


def _go_tpc(words: Sequence[str]) -> CommandLine:
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
    return CommandLine("go-tpc", None, action, options, tuple(unknown))


def _option(word: str, by_letter: Mapping[str, str]) -> tuple[str | None, str]:
    """Long name and value within the same word; None for a word that is no option."""
    if word.startswith("--") and len(word) > 2:
        name, _, value = word[2:].partition("=")
        return name, value
    if word.startswith("-") and len(word) > 1:
        return by_letter.get(word[1], word[1]), word[2:].removeprefix("=")
    return None, ""
