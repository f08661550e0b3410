"""Which findings of a long view become events, by what they are known again, and what is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from benchlab.analysis.trend.change_points import Drift, Suspect
from benchlab.language import english, load
from benchlab.report.notifications.events import Event
from benchlab.studies.comparisons import Comparisons
from benchlab.studies.long_view import news
from benchlab.studies.long_view.view import ChainView, LongView, long_view
from tests.builders import weekly
from tests.builders.weekly import POINT, REPORT

PLACES = ("week-003", "10.11.6", "week-002", "10.11.5", "10.2.12", "10.2.11", "10.2.11")
LINKS = (("Airflow run", "dag run__1"),)


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ChainView]:
    """A loss of 10 % after three weeks; taken back after six more."""
    with weekly.installation(tmp_path_factory.mktemp("weeks")) as weeks:
        for candidate, change, count in (
            ("10.11.5", 0.0, 3),
            ("10.11.6", -0.1, 6),
            ("10.11.7", 0.0, 4),
        ):
            for _ in range(count):
                weeks.add(candidate=candidate, change=change)
        view = long_view(Comparisons(weeks.home, weeks.store), REPORT, POINT)
        (newest,) = view.chains
        yield newest


def found(*chains: ChainView, workload: str = POINT, report: str = REPORT) -> tuple[Event, ...]:
    """The events of a workload with these chains."""
    views = {workload: LongView(report, workload, chains, {})}
    return news.events(report, views, english(), LINKS)


def drift(oldest: str = "10.11.5", newest: str = "10.11.7", change: float = -0.05) -> Drift:
    """A drift over four releases."""
    return Drift(0, 12, oldest, newest, change, (change - 0.01, change + 0.01), 4, 0.001)


def marks(*chains: ChainView, **more: Any) -> set[str]:
    """By which the findings of these chains are known again."""
    return {mark for event in found(*chains, **more) for part in event.parts for mark in part.marks}


def test_a_change_point_is_told_with_its_size_and_where_the_reports_beside_it_are(
    chain: ChainView,
) -> None:
    """All of a report type are one event: here a loss, and that it was taken back."""
    places = {**chain.addresses, "week-002": ("/r/w2", "s3://r/w2"), "week-003": ("/r/w3",)}
    (event,) = found(dataclasses.replace(chain, addresses=places))
    assert (event.kind, event.report) == ("change_point", REPORT)
    assert event.subject == f"Change point: {REPORT}: Point Select"
    _, down, up, *links = event.text.splitlines()
    assert down.startswith("• 10.11.6 made Point Select slower: -10.4")
    assert "% throughput (95% interval " in down
    assert up.startswith("• 10.11.7 made Point Select faster: +1")
    reports = ["Report of week-002: s3://r/w2", "Report of week-003: /r/w3"]
    assert links == ["Airflow run: dag run__1", *reports]


def test_it_is_told_in_the_language_of_the_report(chain: ChainView) -> None:
    """As the page says it."""
    views = {POINT: LongView(REPORT, POINT, (chain,), {})}
    (event,) = news.events(REPORT, views, load("zh"))
    assert event.subject == f"变化点: {REPORT}: Point Select"
    assert "10.11.6 使 Point Select 变慢" in event.text


def test_a_change_point_is_known_again_between_the_neighbouring_campaigns(
    chain: ChainView,
) -> None:
    """More campaigns move its place a little; another direction or workload is another change."""
    first = chain.changes[0]

    def of(**fields: Any) -> ChainView:
        return dataclasses.replace(chain, changes=(dataclasses.replace(first, **fields),))

    of_first = marks(of())
    assert of_first & marks(of(before=first.campaign, campaign="week-008", change=-0.04))
    assert not of_first & marks(of(before="week-008", campaign="week-009"))
    assert not of_first & marks(of(change=0.05))
    assert not of_first & marks(of(), workload="oltp_insert")
    assert not of_first & marks(of(), report="nightly")


def test_changes_of_long_ago_are_not_reported(chain: ChainView) -> None:
    """A new notifier does not begin with years of history."""
    one_more = dataclasses.replace(chain, links=(*chain.links, chain.links[-1]))
    assert marks(one_more) == {f"{REPORT}/{POINT}/up/week-00{number}" for number in (8, 9)}


def test_only_changes_of_the_newest_setting_are_reported(chain: ChainView) -> None:
    """What an older fleet had found was reported then."""
    older = dataclasses.replace(chain, differs={"cores": ("16", "64")})
    assert found(dataclasses.replace(chain, changes=()), older) == ()
    assert found() == ()


def test_every_line_of_the_newest_setting_is_reported(chain: ChainView) -> None:
    """Including a change in an older series."""
    newest = dataclasses.replace(chain, changes=())
    assert marks(newest, dataclasses.replace(chain, line="10.11")) == marks(chain) != set()


def test_a_recent_suspect_is_reported_with_the_campaign_that_tells_it_apart(
    chain: ChainView,
) -> None:
    """Of long ago it is not; once it is a change point, that is news again."""
    recent, old = (Suspect(at, -0.1, (-0.12, -0.08), *PLACES) for at in (3, 2))
    suspected = dataclasses.replace(chain, changes=(), suspects=(old, recent))
    (event,) = found(suspected)
    assert event.kind == "change_point"
    assert event.subject == f"Suspected change: {REPORT}: Point Select"
    _, said, *_ = event.text.splitlines()
    assert "Point Select: Suspected, but not separable: 10.11.6 against 10.11.5 is -9.5" in said
    command = f"benchlab run {REPORT} --set baseline=10.2.11 --set candidate=10.11.6"
    assert said.endswith(f"This campaign would separate them: {command}")
    assert not marks(suspected) & marks(chain)


def test_a_drift_is_an_event_of_its_own(chain: ChainView) -> None:
    """Reported beside change points, or where there are none."""
    both = found(dataclasses.replace(chain, drift=drift()))
    assert [event.kind for event in both] == ["change_point", "drift"]
    (alone,) = found(dataclasses.replace(chain, drift=drift(), changes=()))
    assert alone.subject == f"Slow drift: {REPORT}: Point Select"
    _, said, *_ = alone.text.splitlines()
    assert "over 4 releases, from 10.11.5 to 10.11.7" in said


def test_a_drift_is_known_again_by_the_version_that_it_began_with(chain: ChainView) -> None:
    """It grows with every release; after the next change point another one begins."""

    def of(oldest: str, newest: str, change: float = -0.05) -> set[str]:
        found = drift(oldest, newest, change)
        return marks(dataclasses.replace(chain, changes=(), drift=found))

    assert of("v1", "v6") == of("v1", "v7", change=-0.06)
    assert not of("v1", "v6") & of("v2", "v7")
    assert not of("v1", "v6") & of("v1", "v6", change=0.05)
