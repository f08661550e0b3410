"""Why a campaign's workloads changed is computed once; again if anything it rests on changed."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from upath import UPath

from benchlab.analysis.cause.causes import Causes
from benchlab.analysis.cause.split import Split
from benchlab.campaign.outcome import Comparer, Outcome
from benchlab.home import Home
from benchlab.plan.order import PlannedTrial
from benchlab.report.formats import pages
from benchlab.results.store import Store
from tests.builders import campaigns, splits
from tests.builders.installation import ROOT
from tests.builders.splits import BUSY, CLUSTER, CPU, noise

INSERT = "oltp_insert"
Taken = Callable[[PlannedTrial], CPU]


def dearer(trial: PlannedTrial) -> CPU:
    """A fifth more of TiDB on the candidate, which has no PD any more."""
    factor = noise(trial)
    own = {name: (value or 0) * factor for name, value in CLUSTER.items()}
    if trial.side == "candidate":
        own |= {"tidb_cpu": 1.2 * own["tidb_cpu"], "pd_cpu": 0.0}
    return own


def without_tikv(trial: PlannedTrial) -> CPU:
    """The candidate's TiKV was not read, so that there is no split."""
    own = dict(dearer(trial))
    if trial.side == "candidate":
        own["tikv_cpu"] = None
    return own


class Stored:
    """A campaign in a store, with the counts of its trials beside it."""

    def __init__(self, path: Path, taken: Taken = dearer) -> None:
        self.home, self.objects = Home(ROOT, path), path / "objects"
        self.store = self.opened()
        made = campaigns.campaign(workloads=[INSERT], threads=[4], rounds=6)
        self.store.add_campaign(made)
        results, counts = splits.busy_with(made.plan, taken, lambda trial: BUSY)
        for name, content in counts.items():
            self.store.write_bytes(name, content)
        for result in results:
            self.store.add_trial("c1", result)
        self.store.finish("c1", "complete")

    def opened(self) -> Store:
        """The store, as another process opens it."""
        return Store(f"sqlite:///{self.home.root}/results.db", UPath(self.objects))

    def outcome(self, store: Store | None = None) -> Outcome:
        """What a page asks for."""
        store = store or self.store
        return Comparer(self.home, store).outcome(store.campaign("c1"))

    def causes(self) -> Causes:
        """Why it changed."""
        return self.outcome().causes(self.store)

    def lose(self, *names: str) -> None:
        """The counts of these trials, or of all of them."""
        for path in [*self.objects.rglob("*.counts.csv")]:
            if not names or any(name in path.name for name in names):
                path.rename(path.with_suffix(".lost"))

    def find(self) -> None:
        """What was lost."""
        for path in [*self.objects.rglob("*.lost")]:
            path.rename(path.with_suffix(".csv"))


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Stored]:
    """A campaign whose candidate is dearer."""
    made = Stored(tmp_path)
    with made.store:
        yield made


@pytest.mark.parametrize("taken", [dearer, without_tikv], ids=["split", "no-split"])
def test_counts_are_read_once(tmp_path: Path, taken: Taken) -> None:
    """What is kept says the same to the last digit, what appeared or vanished included."""
    made = Stored(tmp_path, taken)
    with made.store:
        first = made.causes()
        page = pages.html(made.outcome().report(first))
        shutil.rmtree(made.objects)
        assert made.causes() == first
        assert pages.html(made.outcome().report(made.causes())) == page
    assert first.ranked[INSERT]
    assert isinstance(first.splits[INSERT], Split) == (taken is dearer)


def test_a_trial_that_became_invalid_takes_no_part_any_more(stored: Stored) -> None:
    """What was kept is not shown."""
    stored.causes()
    one = stored.store.trials("c1")[0]
    stored.store.invalidate("c1", one.trial.id, one.attempt, "the disk was full")
    split = stored.causes().splits[INSERT]
    assert isinstance(split, Split)
    assert split.rounds == 5


def test_counts_that_cannot_be_read_are_told_and_read_again(stored: Stored) -> None:
    """By their number, in the split and in the list; once they are there, all is known."""
    stored.lose("r2-candidate", "r3-baseline")
    lost = stored.causes()
    assert lost.unread == {INSERT: (2, 12)}
    page = pages.markdown(stored.outcome().report(lost))
    assert page.count("The counts of 2 of 12 trials could not be read") == 2
    stored.find()
    found = stored.causes()
    assert not found.unread
    assert "could not be read" not in pages.markdown(stored.outcome().report(found))


def test_without_any_count_nothing_is_made_up(stored: Stored) -> None:
    """The split and the list say that there is none, and how many are lost."""
    stored.lose()
    lost = stored.causes()
    assert lost.ranked == {INSERT: None}
    page = pages.markdown(stored.outcome().report(lost), pages.TOP)
    assert page.count("there are no counts of the servers") == 2
    assert page.count("The counts of 12 of 12 trials could not be read") == 1


def test_two_processes_may_compute_at_once(stored: Stored) -> None:
    """Each gets the same, and one document is kept."""
    found: list[Causes] = []

    def page() -> None:
        with stored.opened() as store:
            found.append(stored.outcome(store).causes(store))

    asking = [threading.Thread(target=page) for _ in range(2)]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    assert found[0] == found[1] == stored.causes()
    with stored.store.transaction() as connection:
        kept = connection.exec_driver_sql("SELECT COUNT(*) FROM kept WHERE part = 'causes'")
        assert kept.scalar() == 1
