"""Acknowledgements: kept with note, time and account, and which change points they cover."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from upath import UPath

from benchlab import testing
from benchlab.acknowledgements import Acknowledgement, Acknowledgements, covering
from benchlab.chain import Chain, Ratio, chain
from benchlab.change_points import ChangePoint
from benchlab.errors import StoreError
from benchlab.store import Store

POINT = "oltp_point_select"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A results store with one campaign."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as opened:
        opened.add_campaign(testing.campaign(rounds=1, threads=[4], workloads=[POINT]))
        yield opened


def a_chain(points: int = 12) -> Chain:
    """Campaigns c0, c1, ... of one pair of versions."""
    return chain(
        [
            Ratio(f"c{n}", testing.START + timedelta(days=n), "v1.0.0", "v1.1.0", 0.0, 0.001)
            for n in range(points)
        ]
    )


def at(index: int, change: float = -0.1) -> ChangePoint:
    """A change point between c(index - 1) and c(index)."""
    return ChangePoint(
        index, change, (change, change), 0.0, f"c{index}", f"c{index - 1}", "v1.1.0", "v1.1.0"
    )


def noted(campaign: str, direction: str = "down") -> Acknowledgement:
    """That somebody looked into it."""
    return Acknowledgement(campaign, POINT, direction, "known", "kim", testing.START)  # type: ignore[arg-type]


def test_what_was_written_is_read_back(store: Store) -> None:
    """With the account and the time; what is written later takes its place."""
    known = Acknowledgements(store)
    before = datetime.now(UTC)
    known.add("c1", POINT, "down", "a note\nof two lines")
    (found,) = known.of(POINT)
    assert found.note == "a note\nof two lines"
    assert found.who
    assert before <= found.at <= datetime.now(UTC)
    again = known.add("c1", POINT, "up", "another one")
    assert known.of(POINT) == (again,)
    assert known.of("tpcc") == ()


def test_it_can_be_taken_back_once(store: Store) -> None:
    """The second time there is nothing to take back."""
    known = Acknowledgements(store)
    known.add("c1", POINT, "down", "known")
    assert known.take_back("c1", POINT)
    assert known.of(POINT) == ()
    assert not known.take_back("c1", POINT)


def test_a_campaign_that_is_not_there_is_named(store: Store) -> None:
    """With those that are."""
    with pytest.raises(StoreError, match=r"no campaign 'c9'.*c1"):
        Acknowledgements(store).add("c9", POINT, "down", "known")


@pytest.mark.parametrize("moved", [-2, -1, 0, 1, 2])
def test_it_covers_a_place_that_moved_by_two_points(moved: int) -> None:
    """More campaigns may find the same change a point or two away."""
    assert covering([noted("c5")], a_chain(), [at(5 + moved)]) == [noted("c5")]


def test_it_covers_nothing_else() -> None:
    """Neither further away, nor the other direction, nor by a campaign that is in no chain."""
    made = a_chain()
    for place in (at(8), at(2), at(5, +0.1)):
        assert covering([noted("c5")], made, [place]) == [None]
    assert covering([noted("elsewhere")], made, [at(5)]) == [None]


@pytest.mark.parametrize("place", ["c5", "c7"])
def test_one_note_says_nothing_of_a_second_loss(place: str) -> None:
    """Of two change points within its reach it covers the one at its campaign."""
    covered = covering([noted(place)], a_chain(), [at(5), at(7)])
    assert covered == [noted(place) if each == place else None for each in ("c5", "c7")]


def test_two_notes_cover_two_losses_that_moved() -> None:
    """Neither takes the other's: the one at its place stays, the other has the one that is left."""
    known = [noted("c5"), noted("c6")]
    assert covering(known, a_chain(), [at(6), at(7)]) == [noted("c6"), noted("c5")]


def test_the_nearest_note_is_shown() -> None:
    """Where two could cover one change point."""
    far, near = noted("c3"), dataclasses.replace(noted("c6"), note="nearer")
    assert covering([far, near], a_chain(), [at(5)]) == [near]
