"""The event loop of a process, on a thread of its own, for what has to go on between two calls.

It does not outlive a fork: Airflow forks its tasks, and in the child that thread does not run.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

INTERRUPT_LIMIT_S = 5.0

Result = TypeVar("Result")

_guard = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
# A parent's loops are kept: being collected, one would close descriptors the parent still watches.
_inherited: list[object] = []


def _after_fork() -> None:
    global _guard, _loop
    _inherited.append(_loop)
    _guard, _loop = threading.Lock(), None


os.register_at_fork(after_in_child=_after_fork)


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _guard:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="ssh", daemon=True).start()
        return _loop


def call(work: Coroutine[Any, Any, Result]) -> Result:
    """Do something in the loop and wait for it; what interrupts the waiting ends the work too."""
    ended = threading.Event()

    async def watched() -> Result:
        try:
            return await work
        finally:
            ended.set()

    future = asyncio.run_coroutine_threadsafe(watched(), _running_loop())
    try:
        return future.result()
    except BaseException:
        if not future.done():  # Ctrl-C, or a task that is told to end
            future.cancel()
            ended.wait(INTERRUPT_LIMIT_S)
        raise
