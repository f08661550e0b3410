"""Mirrors and servers are asked in the background, a few at a time, and never during a campaign."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from benchlab.campaign import asking
from benchlab.campaign.asking import AT_ONCE, MOST_WAITING, Asking
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.errors import SpecError, StoreError
from benchlab.hosts.lock import MachineLock
from benchlab.plan.resolved import Request
from tests.builders import plans
from tests.builders.installation import Here

DAY = date(2024, 6, 1)


class Slow:
    """Resolves only when it is let; counts how many are being asked at once, and at most were."""

    def __init__(self) -> None:
        self.free, self.answered = threading.Event(), threading.Semaphore(0)
        self.turn = threading.Lock()
        self.at_work = self.most = self.asked = 0

    def resolve(self, request: Request) -> Any:
        with self.turn:
            self.at_work, self.asked = self.at_work + 1, self.asked + 1
            self.most = max(self.most, self.at_work)
        assert self.free.wait(30)
        with self.turn:
            self.at_work -= 1
        self.answered.release()
        if error := {3: SpecError("no"), 30: StoreError("mysql://me@db")}.get(request.spec.rounds):
            raise error
        return request.spec.rounds


@pytest.fixture
def slow() -> Iterator[Slow]:
    """Let at the end, so that its threads end."""
    slow = Slow()
    yield slow
    slow.free.set()


def request(rounds: int) -> Request:
    """One of many."""
    return Request(plans.spec(rounds=rounds), DAY)


def test_an_answer_comes_later_to_who_asks_again(slow: Slow) -> None:
    """One question is asked once, a refusal is an answer, and what is too much is not asked."""
    asks: Any = Asking()
    assert [asks.resolved(slow, request(rounds)) for rounds in (*range(1, 30), 1)] == [None] * 30
    slow.free.set()
    for _ in range(MOST_WAITING):
        assert slow.answered.acquire(timeout=30)
    assert slow.asked == MOST_WAITING
    assert slow.most <= AT_ONCE
    found = _answers(asks, slow)
    assert found[:3] == [1, 2, "no"]
    assert slow.asked == MOST_WAITING


def _answers(asks: Any, slow: Slow) -> list[Any]:
    asks._threads.shutdown(wait=True)  # of all that were begun
    found: list[Any] = []
    for rounds in (1, 2, 3):
        try:
            found.append(asks.resolved(slow, request(rounds)))
        except SpecError as error:
            found.append(str(error))
    return found


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MachineLock:
    """The machine's, of this test alone."""
    lock = MachineLock(tmp_path / "lock")
    monkeypatch.setattr(asking, "MachineLock", lambda: lock)
    return lock


def test_nobody_is_asked_while_a_campaign_is_measured_here(
    slow: Slow, lock: MachineLock, tmp_path: Path
) -> None:
    """Maven takes seconds of CPU."""
    asks: Any = Asking()
    lock.acquire("c1", "test", tmp_path, None)
    assert asks.resolved(slow, request(1)) is None
    lock.release("c1", str(tmp_path))
    assert asks.resolved(slow, request(1)) is None
    slow.free.set()
    assert slow.answered.acquire(timeout=30)
    assert slow.asked == 1


def test_who_waits_is_not_asked_once_a_campaign_is_measured_here(
    slow: Slow, lock: MachineLock, tmp_path: Path
) -> None:
    """It may have begun while the questions before were answered; later they are asked again."""
    asks: Any = Asking()
    more = range(1, AT_ONCE + 2)
    for rounds in more:
        asks.resolved(slow, request(rounds))
    while slow.asked < AT_ONCE:
        time.sleep(0.01)
    lock.acquire("c1", "test", tmp_path, None)
    slow.free.set()
    _wait(asks)
    assert slow.asked == AT_ONCE
    assert asks.resolved(slow, request(more[-1])) is None
    lock.release("c1", str(tmp_path))
    assert asks.resolved(slow, request(more[-1])) is None
    _wait(asks)
    assert slow.asked == AT_ONCE + 1


def test_what_is_still_being_asked_is_not_asked_twice(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes: it still counts as waiting."""
    monkeypatch.setattr(asking, "KEPT_S", -1.0)
    asks: Any = Asking()
    for _ in range(3):
        assert [asks.resolved(slow, request(rounds)) for rounds in (1, 2)] == [None, None]
    slow.free.set()
    _wait(asks)
    assert slow.asked == 2


def test_a_store_that_failed_is_asked_again(slow: Slow) -> None:
    """It is opened anew for the next page; what it said is no answer that stands."""
    asks: Any = Asking()
    slow.free.set()
    for _ in range(2):
        assert asks.resolved(slow, request(30)) is None
        _wait(asks)
        with pytest.raises(StoreError):
            asks.resolved(slow, request(30))
    assert slow.asked == 2


def _wait(asks: Any) -> None:
    """Until all that is asked has an answer."""
    concurrent.futures.wait([answer for _, answer in asks._asked.values()], 30)


def test_what_is_asked_is_what_a_run_would_be_told(here: Here) -> None:
    """The same as without the background."""
    resolver = Resolver(here.home, asks=Asks.MIRRORS)
    wanted = request(2)
    asks = Asking()
    asks.resolved(resolver, wanted)
    asks._threads.shutdown(wait=True)
    assert asks.resolved(resolver, wanted) == resolver.resolve(wanted)
