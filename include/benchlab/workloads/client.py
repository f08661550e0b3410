"""What all clients share: where they connect, what their arguments must be, how a run ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeVar

from pydantic import BaseModel

D = TypeVar("D", bound=BaseModel)

Status = Literal["complete", "incomplete", "failed"]
"""Of one run: a whole summary and nothing fatal; cut, so that no figure counts; failed."""

QUOTED_LENGTH = 300


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the client connects: one host and port, usually the load balancer's."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str


@dataclass(frozen=True, slots=True)
class Latency:
    """Of one transaction, in milliseconds; ``sum`` over all transactions of all threads."""

    min: float | None = None
    avg: float | None = None
    p95: float | None = None
    max: float | None = None
    sum: float | None = None


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


def quoted(client: str, line: str) -> str:
    """A line that the client printed, as a reason; a very long one is cut."""
    line = line.strip()
    if len(line) > QUOTED_LENGTH:
        line = line[:QUOTED_LENGTH] + "..."
    return f"{client} printed: {line}"
