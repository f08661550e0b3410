"""Imports what only the end of a campaign needs, while its sides are prepared.

Scipy takes a second to import. While a side is deployed and loaded, this
process has nothing to do but wait, and nothing is measured. Only the process that drives a whole
campaign profits (`benchlab run`, `make demo`); elsewhere each stage has a process of its own.

Example:
    ``begin()`` before a side is prepared, ``wait()`` before a trial.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading

_threads: list[threading.Thread] = []


def begin() -> None:
    """Begin to import in the background, once, if this process drives the campaign."""
    if not _threads and os.environ.get("BENCHLAB_DRIVER") == str(os.getpid()):
        _threads.append(threading.Thread(target=_load, daemon=True))
        _threads[0].start()


def wait() -> None:
    """Wait until nothing is being imported: it would take CPU from a trial."""
    for thread in _threads:
        thread.join()


def _load() -> None:
    # Whoever needs what cannot be imported meets the fault again, and says so.
    with contextlib.suppress(Exception):
        importlib.import_module("scipy.special")
