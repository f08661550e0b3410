"""A command of a campaign, to be shown and not run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

# What a shell takes as it stands, and `<` and `>` around what is not known yet: <tidb-1>.
_PLAIN = re.compile(r"[\w@%+=:,./<>-]+")


@dataclass(frozen=True)
class Command:
    """One command, SQL text or file.

    Attributes:
        stage: the step of the plan to which it belongs.
        host: where it runs: a host's name, ``each storage host``, ...
        purpose: what it is for.
        text: as a shell would read it; SQL, or the text of a file. Never with a secret in it.
    """

    stage: str
    host: str
    purpose: str
    text: str


def shell(words: Iterable[str]) -> str:
    """A command line as a shell would read it; ``<names>`` are left readable."""
    return " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)
