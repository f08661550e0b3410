"""Waits until a campaign's hosts are calm, because trials with background load are discarded.

Example:
    ``wait(target.executors(), 0.1, 300, print)`` returns at once if other programs use at most
    10 % of every host's CPU.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

from benchlab.hosts import metrics
from benchlab.hosts.executor import Executor
from benchlab.language import Message, Said, joined, message

# Builds and package updates have ended by then; whatever lasts longer may last forever.
LONGEST_S = 300.0
ASK_AGAIN_S = 2.0

log = logging.getLogger(__name__)


def wait(
    executors: Mapping[str, Executor],
    most: float | None,
    planned_s: float,
    say: Callable[[str, Said], None],
) -> None:
    """Wait until the background load is at most ``most`` of every host's CPU.

    Gives up after 300 s, or after ``planned_s`` if that is shorter. A host whose load is unknown
    counts as calm.

    Args:
        executors: of every host, by its name.
        most: the limit of the gate that judges the trials, as a fraction; None or 1 for no wait.
        planned_s: the seconds that the campaign should take.
        say: receives a phase and a text when waiting begins and when it ends.
    """
    if most is None or most >= 1:
        return
    limit_s = min(LONGEST_S, planned_s)
    begin = time.monotonic()
    waited = False
    while busy := _busy(executors, most):
        if time.monotonic() - begin >= limit_s:
            _say(say, "warning", message("calm-anyway", busy=busy))
            return
        if not waited:
            _say(say, "wait for calm", message("calm-waits", busy=busy, most=f"{limit_s:.0f}"))
            waited = True
        time.sleep(ASK_AGAIN_S)
    if waited:
        _say(say, "calm", message("calm-after", seconds=f"{time.monotonic() - begin:.0f}"))


def _say(say: Callable[[str, Said], None], phase: str, text: Message) -> None:
    log.info("%s: %s", phase, text)  # Airflow's task log does not show the progress file
    say(phase, text)


def _busy(executors: Mapping[str, Executor], most: float) -> Said:
    """Which hosts are not calm, with their load; empty if all are."""
    found = metrics.other_work(executors)
    shares = {host: share for host, share in found.items() if share is not None and share > most}
    busy = [
        message("calm-busy", host=host, share=f"{share:.0%}", most=f"{most:.0%}")
        for host, share in shares.items()
    ]
    return joined(busy) if busy else ""
