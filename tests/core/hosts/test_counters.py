"""The job that reads servers' counters, run here as a host runs it."""

from __future__ import annotations

import time
from pathlib import Path

from benchlab.hosts import counters
from benchlab.hosts.counters import Source
from benchlab.hosts.executor import LocalExecutor


def wait_for(executor: LocalExecutor, job: str) -> None:
    """Wait until a job has ended."""
    deadline = time.monotonic() + 60
    while executor.job_status(job).state == "running" and time.monotonic() < deadline:
        time.sleep(0.02)


def test_all_servers_are_read_at_the_moments_asked_for(tmp_path: Path) -> None:
    """Commands are shell text of their own; one that fails is silent."""
    executor = LocalExecutor(tmp_path, "c1")
    sources = [
        Source("a", "tidb", "echo 'it'\\''s a $HOME'; date +%s.%N"),
        Source("b", "tikv", "echo second; exit 3"),
        Source("c", "tikv", "no-such-program"),
    ]
    counters.start(executor, "counters-x", sources, (0.0, 0.5))
    wait_for(executor, "counters-x")
    first, last = counters.collect(executor, "counters-x", sources)
    assert last.at - first.at >= 0.4
    assert first.answers["a"].startswith("it's a $HOME")
    assert first.answers["b"].strip() == "second"
    assert not first.answers["c"].strip()


def test_a_later_try_begins_anew(tmp_path: Path) -> None:
    """What an interrupted try left is ended first."""
    executor = LocalExecutor(tmp_path, "c1")
    counters.start(executor, "counters-x", [Source("a", "r", "echo old")], (0.0, 99.0))
    counters.start(executor, "counters-x", [Source("a", "r", "echo new")], (0.0,))
    wait_for(executor, "counters-x")
    (found,) = counters.collect(executor, "counters-x", [Source("a", "r", "")])
    assert found.answers["a"].strip() == "new"


def test_a_reading_that_was_cut_is_left_out() -> None:
    """A job that was ended in the middle has printed a part."""
    whole = "reading 100\nanswer 1\nx\t1\n\nread 100\n"
    for end in range(len(whole) - 1):
        found = counters.parse(whole + whole.replace("100", "200")[:end], ["a"])
        assert [reading.at for reading in found] == [1.0]


def test_an_answer_of_a_server_less_is_no_reading() -> None:
    """It would be taken for another server's."""
    assert counters.parse("reading 100\nanswer 1\nx\t1\n\nread 100\n", ["a", "b"]) == []
