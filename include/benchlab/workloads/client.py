"""What all clients share: programs, endpoints, sessions, and checks of arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from benchlab.hosts.server_login import Tls
from benchlab.plan.fields.client import Client
from benchlab.plan.fields.dataset import Dataset

_NUMBERS = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
D = TypeVar("D", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the client connects: one host and port, usually the load balancer's.

    Example:
        ``Endpoint("127.0.0.1", 4000, "bench", "", "sbtest")``

    Attributes:
        database: the schema.
        tls: None: the connection is not encrypted.
    """

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    tls: Tls | None = None


@dataclass(frozen=True)
class Session:
    """What every command of a client needs.

    Example:
        ``Session(endpoint, "client.cnf", Warehouses(warehouses=10), 8, Client())``

    Attributes:
        config_path: the option file on the client's host, with the text of the module's
            ``config_file_text``.
        threads: the number of connections.
        rate: how many transactions a second are sent; None: as many as are answered. A word in
            commands that are only shown, before it is known.

    Raises:
        ValueError: ``threads`` is not a number of at least 1.
    """

    endpoint: Endpoint
    config_path: str
    dataset: Dataset
    threads: int
    client: Client
    rate: int | str | None = None

    def __post_init__(self) -> None:
        at_least("threads", self.threads, 1)


@dataclass(frozen=True, slots=True)
class Program:
    """A program that can run a module's workloads.

    Example:
        ``tpcc.PROGRAMS[1].title`` is ``"go-tpc {}"``.

    Attributes:
        name: its name in ``client.program`` of a report type.
        words: how commands call it: their first words, unless something precedes it.
        asked_by: words put before it to ask for its version, such as a shell script's.
        version_arguments: make it print its version; None: its path contains the version.
        version_pattern: a regular expression that finds the version there, as its first group.
        title: its name for people, with ``{}`` in place of the version.
        takes_password: whether it can read a password from a file. If not, it uses an account
            without a password, and the endpoint's password must be empty.
        locate: a shell script that prints the path of the program to start in place of ``words``.
            It exits with 127 if the host does not have it; if only a part is missing, its last line
            says which. Its first argument is the version to start, empty for any; the second is
            ``look`` if nothing may be fetched. None: ``words`` are on the PATH.
        files: files to put beside its option file on the client's host, by name.
        least: the oldest version whose output Benchlab can parse; None: any.
    """

    name: str
    words: tuple[str, ...]
    version_arguments: tuple[str, ...] | None
    version_pattern: str
    title: str
    takes_password: bool = True
    asked_by: tuple[str, ...] = ()
    locate: str | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    least: str | None = None

    def called(self, printed: str) -> str:
        """The program with its version, for people.

        Example:
            For go-tpc, ``called("Release Version: v1.0.12")`` is ``"go-tpc v1.0.12"``.
        """
        return self.title.format(self.version_in(printed) or "of an unknown version")

    def version_in(self, printed: str) -> str | None:
        """The version in what it printed; None if there is none."""
        found = re.search(self.version_pattern, printed)
        return found[1] if found else None

    def too_old(self, version: str | None) -> str | None:
        """Why this version is too old; None if it is new enough or unknown.

        Example:
            If ``least`` is ``v1.0.9``, ``too_old("v1.0.12")`` is None.
        """
        asked, least = (_NUMBERS.match(text or "") for text in (version, self.least))
        if asked is None or least is None or _numbers(asked) >= _numbers(least):
            return None
        return f"{self.title.format(version)}: Benchlab reads the output of {self.least} and later"

    def started(self, command: Sequence[str], path: str | None) -> list[str]:
        """A command with the program's words replaced by ``path``, if there is one.

        Example:
            If ``words`` is ``("go-tpc",)``, ``started(["sh", "go-tpc", "tpch"], "/bin/tpc")`` is
            ``["sh", "/bin/tpc", "tpch"]``.
        """
        before, own = self.split(command)
        return [*before, path, *own[len(self.words) :]] if path else list(command)

    def split(self, command: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """Split a command before the program's words.

        Example:
            If ``words`` is ``("go-tpc",)``, ``split(["sh", "go-tpc", "tpch"])`` is
            ``(["sh"], ["go-tpc", "tpch"])``.
        """
        size = len(self.words)
        at = next(n for n in range(len(command)) if tuple(command[n : n + size]) == self.words)
        return command[:at], command[at:]


def _numbers(found: re.Match[str]) -> tuple[int, ...]:
    return tuple(map(int, found.groups()))


def program_of(wanted: str | None, programs: tuple[Program, ...]) -> Program:
    """The program of this name; the first one if ``wanted`` is None.

    Raises:
        ValueError: no program has this name; lists the known ones.
    """
    known = {program.name: program for program in programs}
    if wanted is not None and wanted not in known:
        raise ValueError(f"client.program: {wanted!r} is not one of {', '.join(known)}")
    return programs[0] if wanted is None else known[wanted]


def at_least(name: str, value: int, least: int) -> None:
    """Check a number in a command; to several clients 0 means "no limit".

    Raises:
        ValueError: it is not a whole number, or is less than ``least``.
    """
    if type(value) is not int or value < least:
        raise ValueError(f"{name}: {value!r} is not a whole number of at least {least}")


def is_workload(workload: str, names: tuple[str, ...]) -> None:
    """Check the name of a workload.

    Raises:
        ValueError: it is not one of ``names``.
    """
    if workload not in names:
        raise ValueError(f"workload: {workload!r} is not one of {', '.join(names)}")


def fitting(dataset: object, needed: type[D], client: str) -> D:
    """Return the dataset if it has the class that the client can load.

    Raises:
        ValueError: it has another class; says what to write.
    """
    if not isinstance(dataset, needed):
        fields = ", ".join(f"{name}: ..." for name in needed.model_fields)
        raise ValueError(f"dataset: {client} loads `{{{fields}}}`, found {dataset}")
    return dataset
