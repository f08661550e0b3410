"""What a rental has cost, from its file and the time at AWS alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchlab.errors import TargetError
from benchlab.targets import fleet_files
from benchlab.targets.ec2 import rental_file
from benchlab.targets.ec2.rental_file import RentalFile

BEGAN = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


def kept(**fields: object) -> RentalFile:
    """A fleet of 6 dollars an hour, for at most four hours."""
    made = {
        "mark": "0123abcd-4567cdef",
        "region": "us-west-2",
        "created_at": BEGAN,
        "lifetime_minutes": 240.0,
        "usd_per_minute": 0.1,
        "limit": 30.0,
    }
    return RentalFile.model_validate({**made, **fields})


@pytest.mark.parametrize(
    ("minutes", "dollars", "left"),
    [
        (0, 0.0, 240),
        (90, 9.0, 150),
        (240, 24.0, 0),
        (1000, 24.0, 0),  # it has ended itself meanwhile
        (-5, 0.0, 240),  # this machine's clock, where AWS does not answer
    ],
)
def test_the_fleet_costs_its_price_for_as_long_as_it_is_there(
    minutes: int, dollars: float, left: float
) -> None:
    """From the first call to rent until its lifetime is over."""
    found = kept().spending(BEGAN + timedelta(minutes=minutes))
    assert found is not None
    assert found.dollars == pytest.approx(dollars)
    assert found.minutes_left == pytest.approx(left)
    assert (found.limit, found.usd_per_minute) == (30.0, 0.1)


def test_what_earlier_fleets_of_the_campaign_have_cost_counts() -> None:
    """A campaign that was given back and resumed has one budget."""
    found = kept(earlier=12.5).spending(BEGAN + timedelta(minutes=60))
    assert found is not None
    assert found.dollars == pytest.approx(18.5)


def test_another_price_counts_from_when_other_hosts_are_rented() -> None:
    """What was spent until then stays spent; the fleet's end is where it was."""
    changed = kept(earlier=1.0).priced(0.2, BEGAN + timedelta(minutes=60))
    again = changed.priced(0.05, BEGAN + timedelta(minutes=90))
    for minutes, dollars in ((90, 1 + 6 + 6), (150, 1 + 6 + 6 + 3), (1000, 13 + 150 * 0.05)):
        found = again.spending(BEGAN + timedelta(minutes=minutes))
        assert found is not None
        assert found.dollars == pytest.approx(dollars)
        assert found.minutes_left == max(240 - minutes, 0)
    assert again.priced(0.05, BEGAN + timedelta(minutes=100)) == again


@pytest.mark.parametrize("damaged", ["", "many", "\x00"])
def test_a_damaged_note_of_what_was_spent_is_no_zero(tmp_path: Path, damaged: str) -> None:
    """The file is named, and what to write into it."""
    assert rental_file.spent_before(tmp_path) == 0
    (tmp_path / fleet_files.SPENT_FILE).write_text(damaged)
    with pytest.raises(TargetError, match=rf"{fleet_files.SPENT_FILE}: .*for example 12\.50"):
        rental_file.spent_before(tmp_path)
