"""What is away for a while is waited for, and what is gone does not hold up the rest."""

from __future__ import annotations

import pytest

from benchlab.errors import AwayError, StoreError
from benchlab.patience import LIMIT_S, Patience


class Server:
    """Answers once some seconds have been waited; pauses are counted and not waited."""

    def __init__(self, back_after_s: float) -> None:
        self.back_after_s, self.calls = back_after_s, 0
        self.pauses = list[float]()

    def ask(self) -> str:
        """Its answer, if it is there."""
        self.calls += 1
        if sum(self.pauses) < self.back_after_s:
            raise AwayError("connection refused")
        return "here"


@pytest.mark.fault(
    "the database of results is away for ten minutes",
    promise="it is asked after 1, 2, 4 s and so on, and the campaign goes on",
    of="results",
)
@pytest.mark.parametrize("away_s", [0, 31, 600])
def test_a_server_that_comes_back_costs_nothing_but_time(away_s: int) -> None:
    """Ten minutes at least; asked soon at first, and every half a minute in the end."""
    server = Server(away_s)
    assert Patience(LIMIT_S, server.pauses.append).call(server.ask) == "here"
    assert server.pauses[:6] == [1, 2, 4, 8, 16, 30][: len(server.pauses)]
    assert set(server.pauses[6:]) <= {30}
    assert sum(server.pauses) < away_s + 31


@pytest.mark.fault(
    "the database of results is gone for good",
    promise="it is waited for once; hosts are then given back without waiting",
    of="results",
)
def test_a_server_that_is_gone_is_waited_for_once() -> None:
    """What follows fails at once, so that hosts are given back; until the server answers again."""
    server = Server(2 * LIMIT_S)
    patience = Patience(LIMIT_S, server.pauses.append)
    for _ in range(3):
        with pytest.raises(AwayError, match="refused"):
            patience.call(server.ask)
    assert LIMIT_S <= sum(server.pauses) < LIMIT_S + 30
    server.back_after_s = 0
    assert patience.call(server.ask) == "here"
    server.back_after_s = sum(server.pauses) + 1
    assert patience.call(server.ask) == "here"


def test_nothing_else_is_waited_for() -> None:
    """A refused statement does not get better, and a list on a terminal does not wait at all."""

    def refuse() -> None:
        raise StoreError("the disk is full")

    server = Server(1)
    with pytest.raises(StoreError, match="full"):
        Patience(LIMIT_S, server.pauses.append).call(refuse)
    with pytest.raises(AwayError):
        Patience().call(server.ask)
    assert server.pauses == []
