"""Waits for what is away for a while, such as a results store on a server that is restarted.

>>> Patience(LIMIT_S).call(lambda: urlopen(address))  # again after 1, 2, 4, ... s, at most 30
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from benchlab.errors import AwayError

if TYPE_CHECKING:
    import tenacity

log = logging.getLogger(__name__)
Result = TypeVar("Result")

LIMIT_S = 900.0
"""How long a campaign waits: a server's restart, a failover, an upgrade."""
_LONGEST_PAUSE_S = 30.0


class Patience:
    """Repeats a call that raises :class:`AwayError`, for a limited time.

    Once that time was in vain, later calls are tried only once until one succeeds: a campaign whose
    store is gone must give back its hosts now, not after waiting for each of its last words.

    Args:
        limit_s: for how many seconds; 0: never.
        sleep: waits for some seconds.
    """

    def __init__(self, limit_s: float = 0.0, sleep: Callable[[float], None] = time.sleep) -> None:
        self.limit_s, self._sleep = limit_s, sleep
        self._in_vain = False

    def call(self, attempt: Callable[[], Result]) -> Result:
        """Return what ``attempt`` returns; raises what it raises."""
        found = attempt() if self._in_vain or not self.limit_s else self._repeated(attempt)
        self._in_vain = False
        return found

    def _repeated(self, attempt: Callable[[], Result]) -> Result:
        import tenacity  # slow to import, and only campaigns wait

        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(AwayError),
            wait=tenacity.wait_exponential(max=_LONGEST_PAUSE_S),
            stop=self._is_over,
            sleep=self._sleep,
            before_sleep=self._say,
            reraise=True,
        )(attempt)

    def _is_over(self, state: tenacity.RetryCallState) -> bool:
        waited_s = max(state.idle_for, state.seconds_since_start or 0.0)
        self._in_vain = waited_s >= self.limit_s
        return self._in_vain

    def _say(self, state: tenacity.RetryCallState) -> None:
        if state.attempt_number == 1 and state.outcome is not None:
            why = state.outcome.exception()
            log.warning("%s; trying again for up to %.0f minutes", why, self.limit_s / 60)
