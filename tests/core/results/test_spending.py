"""What campaigns may cost and have cost is kept by month; of two that ask at once, one is first."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from benchlab.errors import LockHeldError
from benchlab.results.spending import Month, Record, month_of, vcpus_by_region
from benchlab.results.store import Store
from tests.builders import campaigns
from tests.builders.installation import Here

AT = datetime(2026, 11, 28, 22, tzinfo=UTC)


@pytest.fixture
def store(here: Here) -> Iterator[Store]:
    """An empty store."""
    with Store(here.home.store_url, here.home.objects) as opened:
        yield opened


def record(name: str, dollars: float = 60.0, at: datetime = AT) -> Record:
    """A campaign of four hours that may cost so much."""
    return Record(
        id=name,
        report="sysbench_ec2",
        month=month_of(at),
        begun_at=at,
        until=at + timedelta(hours=4),
        committed=dollars,
        region="us-west-2",
        vcpus=72,
        quotas={"L-1216C47A": 72},
    )


def lets(_: Sequence[Record]) -> None:
    """Lets every campaign begin."""


def test_a_campaign_holds_its_limit_until_it_ends_and_then_its_cost(store: Store) -> None:
    """In the month in which it began, also if it ends in the next one."""
    store.spending.begin(record("c1"), lets)
    store.spending.keep("c1", 12.5, "eu-central-1")
    held = Month("2026-11", store.spending.of_month("2026-11"))
    assert (held.spent, held.committed) == (12.5, 47.5)
    assert vcpus_by_region(store.spending.open()) == {"eu-central-1": 72}
    store.spending.end("c1", 33.25)
    store.spending.end("c1", 1.0)
    store.spending.keep("c1", 2.0, None)
    ended = Month("2026-11", store.spending.of_month("2026-11"))
    assert (ended.spent, ended.committed, ended.open) == (33.25, 0, ())
    assert store.spending.of_month("2026-12") == ()
    assert store.spending.open() == ()


def test_what_is_not_known_in_the_end_is_what_was_noted_last(store: Store) -> None:
    """The campaign's directory is lost; a campaign without a record is left alone."""
    store.spending.begin(record("c1"), lets)
    store.spending.keep("c1", 12.5, None)
    store.spending.end("c1")
    store.spending.end("local")
    (one,) = store.spending.of_month("2026-11")
    assert (one.spent, one.region) == (12.5, "us-west-2")


def test_a_campaign_that_registers_again_keeps_its_month_and_what_it_spent(store: Store) -> None:
    """It asks nobody for what it holds, and for what it wants beyond."""

    def refuses(_: Sequence[Record]) -> None:
        raise LockHeldError("full")

    store.spending.begin(record("c1"), lets)
    store.spending.keep("c1", 12.5, None)
    later = AT + timedelta(days=3)
    store.spending.begin(record("c1", at=later), refuses)
    (one,) = store.spending.open()
    assert (one.month, one.begun_at, one.spent) == ("2026-11", AT, 12.5)
    with pytest.raises(LockHeldError):
        store.spending.begin(record("c1", 61.0, at=later), refuses)
    assert store.spending.open() == (one,), "a refusal changes nothing"
    store.spending.end("c1")
    with pytest.raises(LockHeldError):
        store.spending.begin(record("c1", at=later), refuses)


def test_of_many_that_begin_at_once_as_many_do_as_fit(here: Here) -> None:
    """Each with its own connection, as processes have."""
    barrier = threading.Barrier(6)

    def begin(name: str) -> bool:
        def fits(others: Sequence[Record]) -> None:
            if sum(one.held for one in others) + 60 > 200:
                raise LockHeldError("full")

        with Store(here.home.store_url, here.home.objects) as own:
            barrier.wait()
            try:
                own.spending.begin(record(name), fits)
            except LockHeldError:
                return False
        return True

    Store(here.home.store_url, here.home.objects).close()
    with ThreadPoolExecutor(6) as pool:
        begun = list(pool.map(begin, (f"c{number}" for number in range(6))))
    assert sum(begun) == 3


def test_a_deleted_campaign_has_been_paid_nevertheless(store: Store) -> None:
    """Its row has no foreign key; the month stays as dear as it was."""
    store.add_campaign(campaigns.campaign())
    store.spending.begin(record("c1"), lets)
    store.spending.end("c1", 20.0)
    store.delete_campaign("c1")
    assert Month("2026-11", store.spending.of_month("2026-11")).spent == 20.0
