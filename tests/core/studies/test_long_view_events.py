"""Which findings of a long view become events, and with what beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from benchlab.analysis.trend.drift import Drift
from benchlab.analysis.trend.suspects import Suspect
from benchlab.report.notifications.events import Event
from benchlab.studies.comparisons import Comparisons
from benchlab.studies.long_view.view import ChainView, LongView, change_events, long_view
from tests.builders import weekly
from tests.builders.weekly import POINT, REPORT


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


def found(*chains: ChainView) -> tuple[Event, ...]:
    """The events of a workload with these chains."""
    return change_events(REPORT, "week-012", {POINT: LongView(REPORT, POINT, chains, {})})


def reported(*chains: ChainView) -> list[tuple[str, str | None]]:
    """The first campaigns after the reported change points, and until which these last."""
    changes = [part.change for event in found(*chains) for part in event.parts]
    return [
        (change.found.campaign, change.until)
        for change in changes
        if change and not isinstance(change.found, Drift)
    ]


def test_a_loss_that_was_taken_back_lasts_until_then(chain: ChainView) -> None:
    """Both changes are in one event, each with the campaigns beside it."""
    assert reported(chain) == [("week-003", "week-009"), ("week-009", None)]
    (event,) = found(chain)
    assert (event.kind, event.report, event.campaign) == ("change_point", REPORT, "week-012")
    beside = [list(part.change.addresses) for part in event.parts if part.change]
    assert beside == [["week-002", "week-003"], ["week-008", "week-009"]]


def test_changes_of_long_ago_are_not_reported(chain: ChainView) -> None:
    """A new notifier does not begin with years of history."""
    one_more = dataclasses.replace(chain, links=(*chain.links, chain.links[-1]))
    assert reported(one_more) == [("week-009", None)]


def test_only_changes_of_the_newest_setting_are_reported(chain: ChainView) -> None:
    """What an older fleet had found was reported then."""
    older = dataclasses.replace(chain, differs={"cores": ("16", "64")})
    assert reported(dataclasses.replace(chain, changes=()), older) == []
    assert reported() == []


def test_every_line_of_the_newest_setting_is_reported(chain: ChainView) -> None:
    """Including a change in an older series."""
    newest = dataclasses.replace(chain, changes=())
    assert reported(newest, dataclasses.replace(chain, line="10.11")) == reported(chain) != []


def test_what_a_level_rests_on_is_named_where_it_is_beside_the_change(chain: ChainView) -> None:
    """A bridged baseline and an outlier between the two changes are of both of them."""
    first, second = chain.changes
    outliers = ("week-004", "week-010")
    links = list(chain.links)
    links[5] = dataclasses.replace(
        links[5], point=dataclasses.replace(links[5].point, bridged_from="10.2.10")
    )
    (event,) = found(
        dataclasses.replace(
            chain,
            links=tuple(links),
            changes=(
                dataclasses.replace(first, outliers=outliers),
                second,
            ),
        )
    )
    down, up = (part.change for part in event.parts)
    assert down
    assert up
    assert down.bridged == up.bridged == (("10.2.11", "10.2.10"),)
    assert down.outliers == ("week-004",)
    assert up.outliers == outliers


def test_a_recent_suspect_is_reported_with_the_campaign_that_tells_it_apart(
    chain: ChainView,
) -> None:
    """Of long ago it is not."""
    places = ("week-003", "10.11.6", "week-002", "10.11.5", "10.2.12", "10.2.11", "10.2.11")
    recent, old = (Suspect(at, -0.1, (-0.12, -0.08), *places) for at in (3, 2))
    (event,) = found(dataclasses.replace(chain, changes=(), suspects=(old, recent)))
    (part,) = event.parts
    assert (event.kind, part.change and part.change.found) == ("change_point", recent)
    assert part.change
    assert part.change.told_apart_by == (
        f"benchlab run {REPORT} --set baseline=10.2.11 --set candidate=10.11.6"
    )


def test_a_drift_is_an_event_of_its_own(chain: ChainView) -> None:
    """Reported beside change points, or where there are none."""
    drift = Drift(0, 12, "10.11.5", "10.11.7", -0.05, (-0.06, -0.04), 4, 0.001)
    both = found(dataclasses.replace(chain, drift=drift))
    assert [event.kind for event in both] == ["change_point", "drift"]
    (alone,) = found(dataclasses.replace(chain, drift=drift, changes=()))
    assert [part.change.found for part in alone.parts if part.change] == [drift]
