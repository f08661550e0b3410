"""Messages about servers that ended by themselves, as stored.

A gate's reason says only how many ended. Reports show these messages beside it, and beside the
stages that prepare the sides.

Example:
    ``ended("tikv", "kv-2", by_exit_code(137), ["panic"])`` says that it was ended by SIGKILL.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence

from pydantic import TypeAdapter

from benchlab.language import Message, Said, message, side_name
from benchlab.results import redaction

# The line of a campaign's environment: JSON, a message of :func:`in_stage` for each.
KEY = "ended_servers"
# How many lines of its log are quoted, and how many characters of each.
LINES, _LENGTH = 3, 200
_NOTED: TypeAdapter[list[Message]] = TypeAdapter(list[Message])


def ended(
    server: str, host: str, how: Message, log: Sequence[str], secrets: Iterable[str] = ()
) -> Message:
    """Say that a server ended, how, and what it logged last.

    Args:
        server: what it is, such as ``tikv``.
        how: a message ``ended-...``.
        log: the end of its log.
        secrets: texts that must not be quoted from it.
    """
    clean = [redaction.line(line, secrets) for line in log[-LINES:]]
    shown = [f"{line[:_LENGTH]}{'...' * (len(line) > _LENGTH)}" for line in clean]
    said = " | ".join(shown) or message("ended-no-log")
    return message("ended-server", server=server, host=host, how=how, log=said)


def is_one(said: Said) -> bool:
    """Whether it is a message of :func:`ended`."""
    return isinstance(said, Message) and said.id == "ended-server"


def by_exit_code(code: int | None) -> Message:
    """How a program of this machine ended; ``code`` is None if its exit code is lost."""
    if code is None:
        return message("ended-unknown")
    if code - 128 in signal.valid_signals():  # as a shell reports it
        return message("ended-signal", signal=signal.Signals(code - 128).name)
    return message("ended-code", code=str(code))


def in_stage(phase: str, side: str, said: Message) -> Message:
    """Add to :func:`ended`'s message the side, and the stage that went on: ``check after load``."""
    name = message(f"phase-{phase.replace(' ', '-')}")
    return message("ended-in-stage", phase=name, side=side_name(side), said=said)


def noted(environment: Mapping[str, str]) -> list[Message]:
    """The messages of :func:`in_stage` in a campaign's environment."""
    return _NOTED.validate_json(environment.get(KEY, "[]"))


def with_noted(environment: Mapping[str, str], said: Message) -> str:
    """The new value of :data:`KEY` in a campaign's environment, with one message more."""
    return _NOTED.dump_json([*noted(environment), said]).decode()
