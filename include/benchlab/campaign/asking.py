"""Asks mirrors and servers in the background, a few at a time, for pages that wait for nobody.

Example:
    ``Asking().resolved(Resolver(home, asks=Asks.MIRRORS), request)`` is None at first.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date

from benchlab.campaign.resolving import Resolver
from benchlab.errors import TargetError
from benchlab.hosts.lock import MachineLock
from benchlab.plan.resolved import Request, Resolved

AT_ONCE = 2
# A page that is filled in asks at every change; what comes when so many wait is not asked.
MOST_WAITING = 8
# So long an answer stands.
KEPT_S = 300.0


class Asking:
    """What was asked, and is being asked."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="asking")
        self._turn = threading.Lock()
        self._asked: dict[tuple[str, date], tuple[float, Future[Resolved]]] = {}

    def resolved(self, resolver: Resolver, request: Request) -> Resolved | None:
        """What a request resolves to; None as long as it is being asked.

        Nobody is asked while this machine is a campaign's: it would be disturbed.

        Raises:
            BenchlabError: see :meth:`Resolver.resolve`.
        """
        # As text: a report type has mappings.
        key = request.spec.model_dump_json(), request.on
        with self._turn:
            oldest = time.monotonic() - KEPT_S
            for old in [one for one, (at, _) in self._asked.items() if at < oldest]:
                del self._asked[old]
            if key not in self._asked:
                waiting = sum(not answer.done() for _, answer in self._asked.values())
                if waiting >= MOST_WAITING or _is_taken():
                    return None
                answer = self._threads.submit(resolver.resolve, request)
                self._asked[key] = time.monotonic(), answer
            _, answer = self._asked[key]
        return answer.result() if answer.done() else None


def _is_taken() -> bool:
    try:
        return MachineLock().holder() is not None
    except TargetError:  # nobody measures by a lock that cannot be opened
        return False
