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

# A build or an update of packages is over by then; whatever lasts longer may last for ever.
LONGEST_S = 300.0
ASK_AGAIN_S = 2.0

log = logging.getLogger(__name__)


def wait(
    executors: Mapping[str, Executor],
    most: float | None,
    planned_s: float,
    say: Callable[[str, str], None],
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
            _say(say, "warning", f"{busy}; trials are measured anyway, and may be invalid")
            return
        if not waited:
            _say(say, "wait for calm", f"{busy}; waiting until they end, at most {limit_s:.0f} s")
            waited = True
        time.sleep(ASK_AGAIN_S)
    if waited:
        _say(say, "calm", f"after {time.monotonic() - begin:.0f} s")


def _say(say: Callable[[str, str], None], phase: str, text: str) -> None:
    log.info("%s: %s", phase, text)  # a task's log in Airflow has nothing of the progress
    say(phase, text)


def _busy(executors: Mapping[str, Executor], most: float) -> str:
    """What keeps the hosts from being calm, for people; empty where they are."""
    found = metrics.other_work(executors)
    shares = {host: share for host, share in found.items() if share is not None and share > most}
    return ", ".join(
        f"other programs use {share:.0%} of the CPU of {host} ({most:.0%} is allowed)"
        for host, share in shares.items()
    )
