"""Which program makes the load: the first that is there, or the one that is asked for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchlab import client_program, testing
from benchlab.errors import CommandError, UnavailableError
from benchlab.workloads import sysbench, tpcc

SAID = {
    "tiup": "Git Commit Hash: none\nRelease version: v1.12.0\n",
    "go-tpc": "Git Commit Hash: 4f1a\nRelease version: v1.0.12\n",
    "sysbench": "sysbench 1.0.20\n",
}


def host(*there: str) -> testing.FakeExecutor:
    """One on which these programs are installed."""

    def answer(command: Sequence[str], stdin: str) -> str:
        if command[0] not in there:
            raise CommandError("client-1", " ".join(command), 127, "no such program")
        return SAID[command[0]]

    return testing.FakeExecutor(answer)


@pytest.mark.parametrize(
    ("there", "name", "called"),
    [
        (("tiup", "go-tpc", "sysbench"), "tiup", "tiup bench v1.12.0"),
        (("go-tpc", "sysbench"), "go-tpc", "go-tpc v1.0.12"),
        (("sysbench",), "embedded", "Benchlab's tpcc.lua on sysbench 1.0.20"),
    ],
)
def test_the_first_that_is_there_is_taken(there: tuple[str, ...], name: str, called: str) -> None:
    """What PingCAP publishes with comes first; the report says which it was, and its version."""
    program, found = client_program.choose(host(*there), tpcc, None)
    assert (program.name, found) == (name, called)


def test_what_is_asked_for_is_taken_though_another_would_come_first() -> None:
    """A report type names its client where its figures are to be compared with others'."""
    program, _ = client_program.choose(host("tiup", "go-tpc", "sysbench"), tpcc, "embedded")
    assert program.name == "embedded"


def test_what_is_asked_for_and_not_there_is_no_other() -> None:
    """The error says what was asked on which host, and what it answered."""
    with pytest.raises(UnavailableError) as caught:
        client_program.choose(host("tiup", "sysbench"), tpcc, "go-tpc")
    for part in ("client.program: go-tpc", "fake", "`go-tpc version`", "no such program"):
        assert part in str(caught.value)


def test_where_none_is_there_each_is_named() -> None:
    """An operator sees all that could be installed."""
    with pytest.raises(UnavailableError) as caught:
        client_program.choose(host(), tpcc, None)
    for part in ("tiup bench version", "go-tpc version", "sysbench --version"):
        assert part in str(caught.value)


def test_sysbench_workloads_have_sysbench() -> None:
    """And nothing to choose."""
    program, called = client_program.choose(host("sysbench"), sysbench, None)
    assert (program.name, called) == ("sysbench", "sysbench 1.0.20")
