"""A campaign waits for a busy machine, says so, and never for ever."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from benchlab.campaign import calm
from benchlab.hosts import metrics
from tests.builders.fakes import FakeExecutor

Said = list[tuple[str, str]]


def waited(
    monkeypatch: pytest.MonkeyPatch,
    *shares: float | None,
    most: float | None = 0.1,
    planned_s: float = 3600,
) -> tuple[Said, float]:
    """What is said, and for how many seconds, while the machine's other work is this.

    The last share stays; time passes only while it is waited.
    """
    now, left = [0.0], list(shares)
    clock = SimpleNamespace(
        monotonic=lambda: now[0], sleep=lambda s: now.__setitem__(0, now[0] + s)
    )
    monkeypatch.setattr(calm, "time", clock)

    def look(executors: dict[str, FakeExecutor]) -> dict[str, float | None]:
        return {"this": 0.0, "localhost": left.pop(0) if len(left) > 1 else left[0]}

    monkeypatch.setattr(metrics, "other_work", look)
    said: Said = []
    hosts = {"localhost": FakeExecutor()}
    calm.wait(hosts, most, planned_s, lambda phase, text: said.append((phase, str(text))))
    return said, now[0]


@pytest.mark.parametrize("share", [0.1, None])
def test_a_calm_machine_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, share: float | None
) -> None:
    """At the limit it is calm; one that does not say how busy it is would never be."""
    assert waited(monkeypatch, share) == ([], 0)


def test_a_busy_machine_is_waited_for_until_it_is_calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it says what keeps it, with the host and the limit, and once that it is over."""
    (begin, end), seconds = waited(monkeypatch, 0.48, 0.3, 0.02)
    assert begin[0] == "wait for calm"
    assert "48% of the CPU of localhost (10% is allowed)" in begin[1]
    assert "at most 300 s" in begin[1]
    assert end == ("calm", f"after {seconds:.0f} s")


@pytest.mark.parametrize(("planned_s", "limit_s"), [(3600, 300), (60, 60)])
def test_a_machine_that_stays_busy_is_measured_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, planned_s: float, limit_s: float
) -> None:
    """After five minutes, or as long as the campaign should take; it never hangs."""
    (_, warning), seconds = waited(monkeypatch, 0.48, planned_s=planned_s)
    assert limit_s <= seconds < limit_s + 2 * calm.ASK_AGAIN_S
    assert warning[0] == "warning"
    assert "may be invalid" in warning[1]


@pytest.mark.parametrize("most", [None, 1.0])
def test_without_a_limit_nothing_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, most: float | None
) -> None:
    """Whoever shares a machine on purpose says so in the gate, and in no second place."""
    assert waited(monkeypatch, 0.99, most=most) == ([], 0)
