"""What all clients share: where they connect, and what their arguments must be."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

D = TypeVar("D", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the client connects: one host and port, usually the load balancer's."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str


@dataclass(frozen=True, slots=True)
class Program:
    """A program that can run a module's workloads.

    Attributes:
        name: as ``client.program`` of a report type names it.
        words: how its commands begin.
        locate: a shell script that prints the path of what is started in place of ``words``, and
            ends with 127 where it is not on the host; None: ``words`` are found as they are.
        version_arguments: by which it prints its version; None: that is in its path.
        version_pattern: finds the version there, as its first group.
        title: for people, ``{}`` in the place of the version.
        takes_password: it can read a password from a file. Where it cannot, the account that it
            uses has none, and the endpoint's password must be empty.
        files: what it needs beside its option file on the client's host, by name.
    """

    name: str
    words: tuple[str, ...]
    version_arguments: tuple[str, ...] | None
    version_pattern: str
    title: str
    takes_password: bool = True
    locate: str | None = None
    files: Mapping[str, Path] = field(default_factory=dict)

    def called(self, printed: str) -> str:
        """The program with its version, for people, from where the pattern finds it."""
        found = re.search(self.version_pattern, printed)
        return self.title.format(found[1] if found else "of an unknown version")

    def started(self, command: Sequence[str], path: str | None) -> list[str]:
        """A command as it is started where the program was found; see ``locate``."""
        words = [path] if path else list(self.words)
        return [*words, *command[len(self.words) :]]


def program_of(wanted: str | None, programs: tuple[Program, ...]) -> Program:
    """The program of this name; the first where none has been chosen yet.

    Raises:
        ValueError: there is none; names those that there are.
    """
    if wanted is None:
        return programs[0]
    for program in programs:
        if program.name == wanted:
            return program
    known = ", ".join(program.name for program in programs)
    raise ValueError(f"client.program: {wanted!r} is not one of {known}")


def at_least(name: str, value: int, least: int) -> None:
    """Check an argument of a command: 0 means ``without limit`` to more than one client.

    Raises:
        ValueError: it is not a whole number, or less.
    """
    if type(value) is not int or value < least:
        raise ValueError(f"{name}: {value!r} is not a whole number of at least {least}")


def is_workload(workload: str, names: tuple[str, ...]) -> None:
    """Check the name of a workload.

    Raises:
        ValueError: it is none of ``names``.
    """
    if workload not in names:
        raise ValueError(f"workload: {workload!r} is not one of {', '.join(names)}")


def fitting(dataset: object, needed: type[D], client: str) -> D:
    """The dataset, if it is of the class that the client can load.

    Raises:
        ValueError: it is of another; says what to write.
    """
    if not isinstance(dataset, needed):
        fields = ", ".join(f"{name}: ..." for name in needed.model_fields)
        raise ValueError(f"dataset: {client} loads `{{{fields}}}`, found {dataset}")
    return dataset
