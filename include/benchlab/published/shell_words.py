"""The words of a published command, as a shell divides them: from its program on, up to its end."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

_PLACEHOLDER = re.compile(r"\{\{[^{}]*\}\}|\$\{[^{}]*\}|<[^<>|;&]*>")
_END_OF_COMMAND = re.compile(r"^(\d?>|[|;&<])")
_ASSIGNMENT = re.compile(r"\w+=.*", re.ASCII | re.DOTALL)
_LOOP = re.compile(r"(?:for|while|do)\b")
_WITHIN_LOOP = re.compile(
    r"(?:\A|[\s;&|(])(?=(?:[^\s;&|()]*/)?(?:sysbench|go-tpc|tiup\s+bench(?::\S+)?)\s[^;]*(?<=\s)--?[a-z])",
    re.ASCII,
)
# Programs that start the one behind them: their letters that take a value, and how many words of
# their own stand before it.
_STARTERS: Mapping[str, tuple[str, int]] = {
    "sudo": ("CDRTUghprtu", 0),
    "env": ("Cu", 0),
    "exec": ("a", 0),
    "ionice": ("cn", 0),
    "nice": ("n", 0),
    "nohup": ("", 0),
    "numactl": ("CNipmP", 0),
    "stdbuf": ("eio", 0),
    "taskset": ("", 1),
    "time": ("fo", 0),
    "timeout": ("ks", 1),
}


def words(text: str) -> tuple[str, ...]:
    """The program without its folder, then its words; a placeholder is one word without blanks.

    What only starts the program is left out: ``sudo -u tidb``, ``nohup``, assignments, a loop.
    """
    found = as_written(text)
    return (found[0].rpartition("/")[2], *found[1:]) if found else ()


def as_written(text: str) -> tuple[str, ...]:
    """The words of :func:`words`, the program with its folder."""
    inner = _WITHIN_LOOP.search(text) if _LOOP.match(text) else None
    return tuple(_started(_divided(text[inner.end() :] if inner else text)))


def _divided(text: str) -> Sequence[str]:
    whole = _PLACEHOLDER.sub(lambda found: re.sub(r"\s", "", found[0]).replace("'", ""), text)
    # A placeholder in angle brackets is no redirection.
    whole = re.sub(r"<([^<>|;&]*)>", r"{\1}", whole)
    try:
        divided = shlex.split(whole)
    except ValueError:  # a quotation mark without its partner
        divided = whole.split()
    found: list[str] = []
    for word in divided:
        if _END_OF_COMMAND.match(word):
            break
        found.append(word.removesuffix(";"))
        if word.endswith(";"):
            break
    return found


def _started(divided: Sequence[str]) -> Sequence[str]:
    """From the program on that is started in the end."""
    at = 0
    while at < len(divided):
        if _ASSIGNMENT.fullmatch(divided[at]):
            at += 1
            continue
        starter = _STARTERS.get(divided[at].rpartition("/")[2])
        if starter is None:
            break
        at = _behind(divided, at + 1, *starter)
    return divided[at:]


def _behind(divided: Sequence[str], at: int, valued: str, own_words: int) -> int:
    """Where the words of a program that starts another one end."""
    while at < len(divided) and divided[at].startswith("-"):
        word = divided[at]
        takes_next = len(word) > 1 and word[1] != "-" and word[-1] in valued
        at += 2 if takes_next else 1
    return at + own_words
