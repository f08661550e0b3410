"""Waits until a campaign's hosts are calm: trials beside other work are measured in vain.

Example:
    ``wait(target.executors(), 0.1, 300, lambda phase, note: print(phase, note))`` returns at once
    where other programs use less than 10 % of the CPU.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping

from benchlab.hosts import metrics
from benchlab.hosts.executor import Executor
from benchlab.language import Message, Said, joined, message

# A build or an update of packages is over by then; whatever lasts longer may last for ever.
LONGEST_S = 300.0
ASK_AGAIN_S = 2.0

log = logging.getLogger(__name__)


def wait(
    executors: Mapping[str, Executor],
    most: float | None,
    planned_s: float,
    say: Callable[[str, Said], None],
) -> None:
    """Wait until programs that are not the campaign's use at most ``most`` of every host's CPU.

    After 300 s, or as long as the campaign itself would take, it returns nevertheless. A host that
    does not say how busy it is, is not waited for.

    Args:
        executors: every host, by its name.
        most: the limit of the gate that judges the trials; None, or 1: nothing to wait for.
        planned_s: the seconds that the campaign should take.
        say: takes a phase and a text, when it begins to wait and when it ends.
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
    log.info("%s: %s", phase, text)  # a task's log in Airflow has nothing of the progress
    say(phase, text)


def _busy(executors: Mapping[str, Executor], most: float) -> Said:
    """What keeps the hosts from being calm; empty where they are."""
    found = metrics.other_work(executors)
    shares = {host: share for host, share in found.items() if share is not None and share > most}
    busy = [
        message("calm-busy", host=host, share=f"{share:.0%}", most=f"{most:.0%}")
        for host, share in shares.items()
    ]
    return joined(busy) if busy else ""
