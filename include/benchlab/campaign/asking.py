"""Resolves requests in the background, a few at a time, for pages that must not wait for mirrors.

Example:
    ``Asking().resolved(Resolver(home, asks=Asks.MIRRORS), request)`` is None at first.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date

from benchlab.campaign.resolving import Resolver
from benchlab.errors import StoreError, TargetError
from benchlab.hosts.lock import MachineLock
from benchlab.plan.resolved import Request, Resolved

AT_ONCE = 2
# A page asks at every change of its form; requests beyond this many waiting ones are dropped.
MOST_WAITING = 8
# How long an answer is kept.
KEPT_S = 300.0


class Asking:
    """The requests being resolved, and the answers kept."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="asking")
        self._turn = threading.Lock()
        self._asked: dict[tuple[str, date], tuple[float, Future[Resolved | None]]] = {}

    def resolved(self, resolver: Resolver, request: Request) -> Resolved | None:
        """What a request resolves to; None while that is in progress. Call it again for the answer.

        Nothing is begun while a campaign holds this machine, which it would disturb.

        Raises:
            BenchlabError: see :meth:`Resolver.resolve`; raised until the answer expires, except
                that after a StoreError the next call tries again.
        """
        # As text, because a report type has mappings and is not hashable.
        key = request.spec.model_dump_json(), request.on
        with self._turn:
            oldest = time.monotonic() - KEPT_S
            for one, (at, answer) in [*self._asked.items()]:
                if answer.done() and at < oldest:
                    del self._asked[one]
            if key not in self._asked:
                waiting = sum(not answer.done() for _, answer in self._asked.values())
                if waiting >= MOST_WAITING or _is_taken():
                    return None
                answer = self._threads.submit(_resolve, resolver, request)
                self._asked[key] = time.monotonic(), answer
            _, answer = self._asked[key]
            if not answer.done():
                return None
            error = answer.exception()
            if isinstance(error, StoreError) or (error is None and answer.result() is None):
                del self._asked[key]
        return answer.result()


def _resolve(resolver: Resolver, request: Request) -> Resolved | None:
    """Resolve a request; None if a campaign has taken this machine meanwhile."""
    return None if _is_taken() else resolver.resolve(request)


def _is_taken() -> bool:
    try:
        return MachineLock().holder() is not None
    except TargetError:  # no campaign can run with a lock that cannot be opened
        return False
