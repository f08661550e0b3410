"""A change is one finding, however many campaigns and metrics show it, and people judge it once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.errors import SpecError, StoreError
from benchlab.results.findings import FindingState, Sought
from benchlab.results.store import Store
from tests.builders import campaigns
from tests.builders.findings import SIZE, WORSE, Verdicts, add, publish, publish_at_once

POINT, INDEX = "oltp_point_select", "oltp_update_index"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as opened:
        yield opened


def shown(store: Store) -> dict[int, tuple[str, str, tuple[str, ...], str]]:
    """What is recorded, by number: workload, direction, campaigns and state."""
    return {
        one.id: (one.workload, one.direction, one.campaigns, one.state)
        for one in sorted(store.findings.found(), key=lambda one: one.id)
    }


def test_a_change_that_lasts_is_one_finding(store: Store) -> None:
    """Week after week against one baseline, in two metrics; known or wanted, it stays quiet."""
    add(store, "w1", WORSE)
    add(store, "w2", {POINT: ("regression", "regression")}, ("10.2.11", "11.4.5"), days=1)
    assert shown(store) == {1: (POINT, "worse", ("w1", "w2"), "new")}
    (found,) = store.findings.found()
    assert (found.first.id, found.newest.id) == ("w1", "w2")
    assert [one.metric for one in found.changes] == ["tps", "p95_ms"]
    for number, state in enumerate(("known", "wanted"), 3):
        store.findings.mark(1, state, "ann")  # type: ignore[arg-type]
        add(store, f"w{number}", WORSE, ("10.2.11", f"11.5.{number}"), days=number)
        assert shown(store)[1][3] == state
    assert len(store.findings.judgements()) == 1


def test_another_workload_direction_baseline_or_report_type_is_another_finding(
    store: Store,
) -> None:
    """Nothing that has another cause is taken for the same."""
    add(store, "c1", WORSE)
    add(store, "c2", {INDEX: ("regression", "equivalent")})
    add(store, "c3", {POINT: ("improvement", "equivalent")})
    add(store, "c4", WORSE, ("10.6.20", "10.11.5"))
    add(store, "c5", WORSE, report="another")
    assert [one[2] for one in shown(store).values()] == [(f"c{n}",) for n in range(1, 6)]


def test_another_parameter_is_another_finding(store: Store) -> None:
    """Versions of one label with other parameters are compared for another reason."""
    for number, value in enumerate((1, 0, 1)):
        side = {"version": "10.11.5", "parameters": {"innodb_flush_log_at_trx_commit": value}}
        engines = {"mariadb": {"baseline": {"version": "10.11.5", "parameters": {"x": value}},
                               "candidate": side}}  # fmt: skip
        add(store, f"c{number}", WORSE, days=number, engines=engines)
        if not number:
            store.findings.mark(1, "known", "ann", "it flushes")
    assert {number: one[2:] for number, one in shown(store).items()} == {
        1: (("c0", "c2"), "known"), 2: (("c1",), "new"),
    }  # fmt: skip


def test_a_known_change_that_became_larger_is_new_again(store: Store) -> None:
    """If its interval lies beyond the one before; a little more or less is no news."""
    add(store, "c1", WORSE)
    store.findings.mark(1, "known", "ann")
    add(store, "c2", WORSE, ("10.2.11", "11.4.5"), days=1, size=(-12.0, -14.0, -9.0))
    assert shown(store)[1][3] == "known"
    add(store, "c3", WORSE, ("10.2.11", "11.5.2"), days=2, size=(-45.0, -50.0, -40.0))
    last = store.findings.finding(1).history[-1]
    assert (last.state, last.campaign) == ("new", "c3")


def test_the_throughput_says_which_way_a_workload_went(store: Store) -> None:
    """The latency does where the throughput did not change."""
    add(store, "c1", {POINT: ("improvement", "regression"), INDEX: ("equivalent", "regression")})
    assert {one[:2] for one in shown(store).values()} == {(POINT, "better"), (INDEX, "worse")}


def test_noise_and_slowdowns_are_no_findings(store: Store) -> None:
    """Nor is what is not a change."""
    add(store, "aa", WORSE, sides="same")
    add(store, "slowed", WORSE, slowdown_pct=20)
    add(store, "same", {POINT: ("equivalent", "unstable")})
    assert store.findings.found() == []


def test_with_a_watch_each_confirmed_change_is_a_finding(store: Store) -> None:
    """Unless the same two versions are measured again."""
    watch: dict[str, Any] = {"design": "watch", "rounds": 6, "deployments": 6,
                             "screening_rounds": 2}  # fmt: skip
    add(store, "w1", WORSE, **watch)
    add(store, "w2", WORSE, ("10.2.11", "11.4.5"), **watch)
    add(store, "again", WORSE, ("10.2.11", "11.4.5"), days=1, **watch)
    assert [one[2] for one in shown(store).values()] == [("w1",), ("w2", "again")]
    assert {one.design for one in store.findings.judgements()} == {"watch"}


def test_publishing_again_changes_nothing_but_what_changed(store: Store) -> None:
    """What a campaign no longer shows it takes back; shown again, it has its number again."""
    add(store, "c1", {POINT: ("regression", "equivalent"), INDEX: ("improvement", "equivalent")})
    store.findings.mark(1, "known", "ann", "a new default")
    before = shown(store)
    publish(store, "c1", {POINT: ("regression", "equivalent"),
                          INDEX: ("improvement", "equivalent")})  # fmt: skip
    assert shown(store) == before
    publish(store, "c1", {POINT: ("inconclusive", "equivalent"),
                          INDEX: ("regression", "equivalent")})  # fmt: skip
    assert shown(store) == {3: (INDEX, "worse", ("c1",), "new")}
    publish(store, "c1", WORSE)
    assert shown(store) == {1: before[1]}
    assert store.findings.finding(1).history[-1].note == "a new default"


def test_what_was_fixed_and_is_shown_again_is_new_again(store: Store) -> None:
    """By itself, with the campaign; one from before it was fixed shows nothing again."""
    add(store, "c1", WORSE)
    store.findings.mark(1, "fixed", "ann", "reverted", "https://example.org/7")
    add(store, "late", WORSE, days=-0.5)
    assert shown(store)[1][2:] == (("c1", "late"), "fixed")
    add(store, "again", WORSE, ("10.2.11", "11.4.5"), days=1)
    last = store.findings.finding(1).history[-1]
    assert (last.state, last.by, last.campaign) == ("new", "", "again")
    store.findings.mark(1, "fixed", "bob")
    publish(store, "again", WORSE)
    assert shown(store)[1][3] == "fixed"
    store.findings.take_back(1, "bob")
    store.delete_campaign("again")
    assert shown(store)[1][2] == ("c1", "late")


GONE: Verdicts = {POINT: ("equivalent", "inconclusive")}


@pytest.mark.parametrize("state", ["new", "known"])
def test_a_campaign_that_shows_it_gone_closes_it(store: Store, state: FindingState) -> None:
    """Until one shows it again; a person takes that back like what a person said."""
    add(store, "c1", WORSE, days=-5)
    if state != "new":
        store.findings.mark(1, state, "ann", "a new default")
    add(store, "gone", GONE, ("10.2.11", "11.4.5"), days=1)
    publish(store, "gone", GONE)  # says nothing again
    (*_, last) = store.findings.finding(1).history
    assert (last.state, last.by, last.campaign) == ("fixed", "", "gone")
    assert len(store.findings.finding(1).history) == (1 if state == "new" else 2)
    assert [one.state for one in store.findings.judgements()] == [state], "nobody judged it"
    add(store, "again", WORSE, ("10.2.11", "11.5.2"), days=2)
    last = store.findings.finding(1).history[-1]
    assert (last.state, last.campaign) == ("new", "again")
    store.delete_campaign("again")
    assert store.findings.finding(1).state == "fixed"
    assert store.findings.take_back(1, "bob").state == state
    publish(store, "gone", GONE)
    assert store.findings.finding(1).state == state, "what a person took back stays"


@pytest.mark.parametrize("verdicts", [WORSE, {POINT: ("unstable", "equivalent")}, {}],
                         ids=["shown", "unstable", "unmeasured"])  # fmt: skip
def test_what_a_campaign_closed_is_open_where_it_no_longer_shows_it_gone(
    store: Store, verdicts: Verdicts
) -> None:
    """Resumed and published again, or deleted."""
    add(store, "c1", WORSE, days=-5)
    add(store, "gone", {POINT: ("improvement", "equivalent")}, ("10.2.11", "11.4.5"), days=-1)
    assert shown(store)[1][2:] == (("c1",), "fixed")
    publish(store, "gone", verdicts)
    assert shown(store)[1][3] == "new"
    publish(store, "gone", GONE)
    assert shown(store)[1][2:] == (("c1",), "fixed")
    store.delete_campaign("gone")
    assert shown(store)[1][3] == "new"


def test_what_does_not_show_it_gone_closes_nothing(store: Store) -> None:
    """Not knowing, noise, other versions, an earlier campaign, part of its metrics; the same
    candidate again or an older one, or one that is set up otherwise.
    """
    later = ("10.2.11", "11.4.5")
    add(store, "c1", {POINT: ("regression", "regression")}, days=-5)
    add(store, "unknown", {POINT: ("inconclusive", "unstable")}, later)
    add(store, "part", GONE, later)
    add(store, "latency", {POINT: ("equivalent", "regression")}, days=-3)
    none = {POINT: ("equivalent", "equivalent")}
    add(store, "aa", none, sides="same")
    add(store, "slowed", none, slowdown_pct=20)
    made, now = campaigns.campaign(id="reproduced"), datetime.now(UTC)
    again = {"origin": "benchlab reproduce c1", "started_at": now}
    store.add_campaign(dataclasses.replace(made, **again))  # type: ignore[arg-type]
    publish(store, "reproduced", none)
    add(store, "others", none, ("10.6.20", "10.11.5"))
    add(store, "elsewhere", none, later, report="another")
    add(store, "earlier", none, later, days=-9)
    add(store, "between", none, later, days=-4)
    add(store, "same", none)
    add(store, "older", none, ("10.2.11", "10.6.20"))
    otherwise: dict[str, Any] = {"baseline": {"version": "10.2.11"}}
    otherwise["candidate"] = {"version": "11.4.5", "parameters": {"sync_binlog": 0}}
    add(store, "otherwise", none, later, engines={"mariadb": otherwise})
    assert shown(store) == {1: (POINT, "worse", ("c1", "latency"), "new")}
    for number, state in enumerate(("wanted", "noise"), 1):
        store.findings.mark(1, state, "ann")  # type: ignore[arg-type]
        add(store, f"gone{number}", none, later, days=number)
        assert shown(store)[1][3] == state


def test_a_campaign_of_one_version_finds_and_closes_nothing(store: Store) -> None:
    """It has no second side that anything could be compared with."""
    add(store, "c1", WORSE)
    one = {"mariadb": {"baseline": {"version": "10.2.11"}}}
    add(store, "alone", {}, days=1, sides="single", engines=one)
    assert shown(store) == {1: (POINT, "worse", ("c1",), "new")}


def test_with_a_watch_what_takes_the_last_change_back_closes_it(store: Store) -> None:
    """Equal to the level after the change is not gone, nor is a part of the way back."""
    watch: dict[str, Any] = {"design": "watch", "rounds": 6, "deployments": 6,
                             "screening_rounds": 2}  # fmt: skip
    back = {POINT: ("improvement", "inconclusive")}
    for number, (verdicts, size) in enumerate(
        [(WORSE, SIZE), (WORSE, SIZE), (GONE, (0.1, -0.5, 0.6)), (back, (4.0, 2.0, 6.0)),
         (back, (8.8, 7.0, 10.6))]
    ):  # fmt: skip
        versions = ("10.2.11", f"11.4.{number}")
        add(store, f"w{number}", verdicts, versions, number - 9, size, **watch)
        if number == 1:
            bridge = {POINT: ("improvement", "equivalent")}
            add(store, "bridge", bridge, ("10.2.11", "12.0.2"), -7.5, (9.0, 8.0, 10.0))
            assert {one[3] for one in shown(store).values()} == {"new"}, "of a bridge"
            store.delete_campaign("bridge")
    assert [one[3] for one in shown(store).values()] == ["new", "fixed", "new", "new"]
    assert store.findings.finding(2).history[-1].campaign == "w4"


def test_noise_is_doubted_where_the_same_versions_show_it_again(store: Store) -> None:
    """With another candidate it is another finding."""
    add(store, "c1", WORSE)
    store.findings.mark(1, "noise", "ann")
    add(store, "other", WORSE, ("10.2.11", "11.4.5"), days=1)
    add(store, "again", WORSE, days=2)
    assert {number: one[2:] for number, one in shown(store).items()} == {
        1: (("c1", "again"), "new"), 2: (("other",), "new"),
    }  # fmt: skip


def test_what_people_say_is_kept_and_can_be_taken_back(store: Store) -> None:
    """With who, when, note and link; nothing of it is ever overwritten."""
    add(store, "c1", WORSE)
    with pytest.raises(SpecError, match="nothing to take back"):
        store.findings.take_back(1, "ann")
    store.findings.mark(1, "known", "ann", "a new default", "https://example.org/7")
    store.findings.mark(1, "noise", "bob")
    found = store.findings.take_back(1, "eve")
    assert [(one.state, one.by, one.note) for one in found.history] == [
        ("known", "ann", "a new default"), ("noise", "bob", ""), ("known", "eve", "a new default"),
    ]  # fmt: skip
    assert found.history[-1].link == "https://example.org/7"
    assert all(one.at.tzinfo for one in found.history)
    for number in (2, -1, 2**40):
        with pytest.raises(StoreError, match=f"no campaign shows a finding {number};"):
            store.findings.mark(number, "known", "ann")


@pytest.mark.parametrize(
    "link",
    ["TICKET-7", "javascript:alert(1)", "//example.org/7", "https://", "http://[", "https://a b",
     "https://example.org/\n7", "https://ann:secret@example.org/7", "https://a/" + "7" * 500],
)  # fmt: skip
def test_a_link_leads_to_a_page_of_the_web(store: Store, link: str) -> None:
    """A script, a login or a bare number is refused, and nothing is recorded."""
    add(store, "c1", WORSE)
    with pytest.raises(SpecError, match=r"^link .*: write an address"):
        store.findings.mark(1, "known", "ann", link=link)
    assert store.findings.finding(1).history == ()


def test_findings_are_chosen_by_the_store(store: Store) -> None:
    """By report type, workload and state, those that were shown last first."""
    add(store, "c1", WORSE, days=-3)
    add(store, "c2", {INDEX: ("regression", "equivalent")}, days=-2)
    add(store, "c3", {INDEX: ("improvement", "equivalent")}, days=-4, report="another")
    store.findings.mark(2, "wanted", "ann")

    def ids(**fields: Any) -> list[int]:
        sought = Sought(**fields)
        assert len(store.findings.judgements(sought)) == len(store.findings.found(sought))
        return [one.id for one in store.findings.found(Sought(**fields))]

    assert ids() == [2, 1, 3]
    assert ids(workload=INDEX) == [2, 3]
    assert ids(states=("new",)) == [1, 3]
    assert ids(states=("wanted", "noise")) == [2]
    assert ids(report="another") == ids(reports={"another"}) == [3]
    assert ids(reports=()) == []
    assert [one.id for one in store.findings.found(limit=1)] == [2]
    assert sorted(one.state for one in store.findings.judgements()) == ["new", "new", "wanted"]


def test_two_who_publish_at_once_record_one_finding(store: Store) -> None:
    """Campaigns of one pair, and of one baseline; nobody's verdicts are lost."""
    names = [f"c{number}" for number in range(8)]
    for name in names:
        add(store, name, {POINT: ("equivalent", "equivalent")}, ("10.2.11", f"11.4.{name[1]}"))
    publish_at_once(store.database.shown_url, names, WORSE)
    assert [set(one[2]) for one in shown(store).values()] == [set(names)]
