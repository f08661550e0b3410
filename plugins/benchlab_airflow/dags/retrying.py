"""When a task of a campaign is tried again: one policy for all of them.

What may come back by itself (a host, a mirror) is asked again after 5 s, 10 s, 20 s and so on,
for at least ten minutes. A results store is waited for inside of each try, by
:mod:`benchlab.patience`. A task whose process was killed has no error to judge by: it follows the
same delays.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import RetryDecision, RetryPolicy

from benchlab.errors import FetchError, UnreachableError

RETRIES = 7
LONGEST = timedelta(minutes=5)
_COMES_BACK: tuple[type[BaseException], ...] = (FetchError, UnreachableError)


class Again(RetryPolicy):
    """Tells what comes back from what another try would hardly mend.

    Args:
        first: the first delay, which doubles from try to try up to :data:`LONGEST`.
        retries: how often the task may be tried again at all.
        others: how often after an error that is not one of ``comes_back``, without longer delays.

    Example:
        ``Again(timedelta(seconds=5)).evaluate(UnreachableError("tikv-1"), 3, 7).retry_delay`` is
        20 seconds.
    """

    def __init__(
        self,
        first: timedelta,
        retries: int = RETRIES,
        others: int = 1,
        comes_back: tuple[type[BaseException], ...] = _COMES_BACK,
    ) -> None:
        self.first, self.retries, self.others = first, retries, others
        self.comes_back = comes_back

    def as_arguments(self) -> dict[str, Any]:
        """The arguments of a task that follows it."""
        return {
            "retries": self.retries,
            "retry_policy": self,
            "retry_delay": self.first,
            "retry_exponential_backoff": 2,
            "max_retry_delay": LONGEST,
        }

    def evaluate(
        self, exception: BaseException, try_number: int, max_tries: int, context: Any = None
    ) -> RetryDecision:
        """See :class:`RetryPolicy`; tries before the task was cleared do not count."""
        failed = self.retries - max_tries + try_number
        if isinstance(exception, self.comes_back):
            delay = min(self.first * 2 ** (failed - 1), LONGEST)
            return RetryDecision.retry(delay, f"{type(exception).__name__}: it may come back")
        if failed > self.others:
            return RetryDecision.fail("another try would hardly mend it")
        return RetryDecision.retry(self.first)
