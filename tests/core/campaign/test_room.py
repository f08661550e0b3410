"""A disk without room is named, with its host, beside whatever failed because of it."""

from __future__ import annotations

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchlab.campaign import room
from benchlab.errors import EngineError, UnreachableError, naming
from benchlab.home import Home
from benchlab.hosts.executor import LocalExecutor, Space
from benchlab.language import load, sayings
from tests.builders import fakes, plans

FULL = "fake: only 0.12 GiB are free in /data/c1, but 0.25 GiB are needed: make room there"


@pytest.fixture
def deployment() -> fakes.FakeDeployment:
    """On a host whose disk is as good as full."""
    executor = fakes.FakeExecutor()
    executor.disk = Space("/data/c1", 2**27, 2**40)
    return fakes.FakeDeployment(plans.plan(), executor)


def test_a_full_disk_is_told_once_with_what_failed(
    deployment: fakes.FakeDeployment, tmp_path: Path
) -> None:
    """However many stages the error passes; in the reader's language."""
    error = EngineError("sbtest1 holds 43249 rows after the load, expected 100000")
    for _ in range(2):
        room.tell_full(error, Home(tmp_path, tmp_path), "c1", deployment)
    first, second = str(error).splitlines()
    assert first.startswith("sbtest1 holds")
    assert second.startswith(FULL)
    assert "/data/c1 只剩 0.12 GiB" in load("zh").texts(sayings(error))[1]


def test_an_error_of_the_system_has_its_path_and_the_disk(
    deployment: fakes.FakeDeployment, tmp_path: Path
) -> None:
    """The system itself names none where a file grows beyond the disk."""
    with pytest.raises(OSError, match="No space") as caught, naming(tmp_path / "state.json"):
        raise OSError(errno.ENOSPC, "No space left on device")
    room.tell_full(caught.value, Home(tmp_path, tmp_path), "c1", deployment)
    first, second = map(str, sayings(caught.value))
    assert first == f"{tmp_path}/state.json: the disk is full"
    assert second.startswith(FULL)


def test_what_has_room_or_does_not_answer_is_not_named(
    deployment: fakes.FakeDeployment, tmp_path: Path
) -> None:
    """Nor is a host asked whose link is down, which would take its time."""
    home, other = Home(tmp_path, tmp_path), EngineError("a parameter is refused")
    down = UnreachableError("fake cannot be reached")
    room.tell_full(down, home, "c1", deployment)
    assert str(down) == "fake cannot be reached"
    deployment.executor.disk = Space("/data/c1", 2**28, 2**40)
    room.tell_full(other, home, "c1", deployment)
    assert str(other) == "a parameter is refused"

    def silent() -> Any:
        raise UnreachableError("fake cannot be reached")

    vars(deployment.executor)["space"] = silent
    room.tell_full(other, home, "c1", deployment)
    assert str(other) == "a parameter is refused"


def test_one_disk_of_this_machine_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the campaign's directory, though the store is on it, too."""
    home = Home(tmp_path, tmp_path)
    home.campaign("c1").mkdir(parents=True)
    deployment = fakes.FakeDeployment(plans.plan(), fakes.FakeExecutor())
    deployment.executor = LocalExecutor(home.campaign("c1"), "c1")  # type: ignore[assignment]
    usage = SimpleNamespace(total=2**40, used=2**40, free=0)
    monkeypatch.setattr("benchlab.hosts.executor.shutil.disk_usage", lambda _: usage)
    error = EngineError("sbtest1 holds 43249 rows after the load, expected 100000")
    room.tell_full(error, home, "c1", deployment)
    _, only = str(error).splitlines()
    assert f"localhost: only 0.00 GiB are free in {home.campaign('c1')}, but" in only
