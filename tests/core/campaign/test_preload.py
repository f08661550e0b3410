"""What is imported while the sides of a campaign are prepared."""

from __future__ import annotations

import os
import threading
from types import SimpleNamespace

import pytest

from benchlab.campaign import preload


@pytest.fixture
def may_end() -> threading.Event:
    """Until it is set no import ends."""
    return threading.Event()


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch, may_end: threading.Event) -> list[str]:
    """The names of the threads that have imported; none has begun yet."""
    names: list[str] = []

    def slowly() -> None:
        may_end.wait()
        names.append(threading.current_thread().name)

    monkeypatch.setattr(preload, "importlib", SimpleNamespace(import_module=lambda _: slowly()))
    monkeypatch.setattr(preload, "_threads", [])
    return names


def test_a_trial_waits_until_nothing_is_imported(
    loaded: list[str], may_end: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, in the background, in the process that drives the whole campaign."""
    monkeypatch.setenv("BENCHLAB_DRIVER", str(os.getpid()))
    preload.begin()
    preload.begin()
    assert loaded == []
    may_end.set()
    preload.wait()
    assert len(set(loaded)) == 1
    assert loaded != [threading.current_thread().name]


def test_a_process_of_a_single_stage_imports_nothing_ahead(
    loaded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under a scheduler each task has a process of its own, which the import would only delay."""
    monkeypatch.setenv("BENCHLAB_DRIVER", str(os.getppid()))
    preload.begin()
    preload.wait()
    assert loaded == []


def test_what_cannot_be_imported_ends_nothing(
    loaded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stage that needs it says what is missing."""

    def missing() -> None:
        raise ImportError("no module named matplotlib")

    monkeypatch.setattr(preload, "importlib", SimpleNamespace(import_module=lambda _: missing()))
    monkeypatch.setenv("BENCHLAB_DRIVER", str(os.getpid()))
    preload.begin()
    preload.wait()
