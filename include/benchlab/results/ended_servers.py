"""What is known of a server that ended by itself: a sentence that is recorded and read again.

A gate's reason says only how many ended. These sentences stand beside it, and beside the stages in
which the sides are prepared.

Example:
    ``read("tikv on kv-2 was ended by signal SIGKILL; the last lines of its log: nothing")`` is a
    message, which can be said in Chinese.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence

from benchlab.language import Message, Said, message, recorded, side_name
from benchlab.results import redaction

# The line of a campaign's environment: one sentence of :func:`in_stage` a line.
KEY = "ended_servers"
# How much of its log is quoted.
LINES, _LENGTH = 3, 200
_PARTS = (
    *("ended-server", "ended-again", "ended-waiting", "ended-stays", "ended-unseen"),
    *("ended-host-silent", "ended-code", "ended-signal", "ended-unknown", "ended-no-log"),
)
_PHASES = (
    *("phase-deploy", "phase-load", "phase-analyze", "phase-back-up"),
    *("phase-check-after-load", "phase-check-after-last-trial"),
    *("side-baseline", "side-candidate"),
)


def ended(
    server: str, host: str, how: Message, log: Sequence[str], secrets: Iterable[str] = ()
) -> Message:
    """A server that ended.

    Args:
        server: what it is, such as ``tikv``.
        how: a message ``ended-...``.
        log: what it wrote last.
        secrets: what must not be quoted of it.
    """
    clean = [redaction.line(line, secrets) for line in log[-LINES:]]
    shown = [f"{line[:_LENGTH]}{'...' * (len(line) > _LENGTH)}" for line in clean]
    said = " | ".join(shown) or message("ended-no-log")
    return message("ended-server", server=server, host=host, how=how, log=said)


def by_exit_code(code: int | None) -> Message:
    """How a program of this machine ended; None: its exit code is lost."""
    if code is None:
        return message("ended-unknown")
    if code - 128 in signal.valid_signals():  # as a shell reports it
        return message("ended-signal", signal=signal.Signals(code - 128).name)
    return message("ended-code", code=str(code))


def in_stage(phase: str, side: str, said: Message) -> Message:
    """The same, with the stage that went on in spite of it, such as ``check after load``."""
    name = message(f"phase-{phase.replace(' ', '-')}")
    return message("ended-in-stage", phase=name, side=side_name(side), said=said)


def read(text: str) -> Said:
    """A recorded sentence of this module as a message; any other text as it is."""
    return recorded(text, "ended-in-stage", *_PARTS, *_PHASES)
