"""The long view of what a transaction takes: by its own noise and limit, and told as dearer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest

from benchlab.cli import history_text
from benchlab.language import english, load
from benchlab.site import history
from benchlab.site.page import Site, render
from benchlab.studies.comparisons import Comparisons
from benchlab.studies.long_view import chart, news, text
from benchlab.studies.long_view.view import LongView, long_view, long_views
from tests.builders import weekly
from tests.builders.weekly import POINT, REPORT, Weeks

DEARER = 0.015
"""A change that throughput's noise of 0.3 % a campaign and its threshold of 2 % would hide."""


@pytest.fixture(scope="module")
def dearer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weeks]:
    """Fourteen weeks with two counts; from the eighth on one of them takes 1.5 % more."""
    with weekly.installation(tmp_path_factory.mktemp("dearer")) as weeks:
        for week in range(14):
            version = "10.11.5" if week < 7 else "10.11.6"
            more = 0.0 if week < 7 else DEARER
            weeks.add(candidate=version, counts={"rows_written": more, "rows_read": 0.0})
        yield weeks


@pytest.fixture
def weeks(tmp_path: Path) -> Iterator[Weeks]:
    """An empty store."""
    with weekly.installation(tmp_path) as opened:
        yield opened


def view_of(weeks: Weeks) -> LongView:
    """The long view of the one workload."""
    return long_view(Comparisons(weeks.home, weeks.store), REPORT, POINT)


def counts_of(weeks: Weeks) -> dict[str, LongView]:
    """Those of its counts, by name."""
    return {one.count.name: one for one in view_of(weeks).counts if one.count}


def test_a_count_has_the_change_point_that_the_throughput_does_not_show(dearer: Weeks) -> None:
    """With its own threshold; the release that brought it is named, as dearer and not slower."""
    view = view_of(dearer)
    assert not [chain.changes for chain in view.chains if chain.changes]
    (chain,) = counts_of(dearer)["rows_written"].chains
    (change,) = chain.changes
    assert (change.candidate, change.campaign) == ("10.11.6", "week-007")
    assert change.change == pytest.approx(math.log1p(DEARER), rel=0.01)
    assert (chain.threshold_pct, chain.metric) == (1.0, "rows_written")
    assert not chain.is_better(change.change)
    said = news.sentence(chain, POINT, change, english())
    assert re.match(
        r"10\.11\.6 made Point Select dearer: \+1\.50?% rows written per transaction \(", said
    )
    (quiet,) = counts_of(dearer)["rows_read"].chains
    assert quiet.changes == ()


def test_what_is_kept_of_a_chain_is_kept_by_count(dearer: Weeks) -> None:
    """A second reader finds what the first one found, of each count its own."""
    first, second = counts_of(dearer), counts_of(dearer)
    assert [chain.changes for view in first.values() for chain in view.chains] == [
        chain.changes for view in second.values() for chain in view.chains
    ]
    assert len(second["rows_written"].chains[0].changes) == 1


def test_less_of_a_count_is_cheaper(weeks: Weeks) -> None:
    """Direction is the metric's: down is the improvement."""
    for week in range(12):
        weeks.add(
            candidate="10.11.5" if week < 6 else "10.11.6",
            counts={"rows_written": 0.0 if week < 6 else -0.02},
        )
    (chain,) = counts_of(weeks)["rows_written"].chains
    assert "made Point Select cheaper: -2" in news.sentence(
        chain, POINT, chain.changes[0], english()
    )
    drawn = chart.levels(chain, english()).inline("levels")
    assert '<g class="improvement"' in drawn


def test_campaigns_without_the_count_are_missing_from_its_chain_alone(weeks: Weeks) -> None:
    """Not zero, not an end of the chain; each is named with the reason. Throughput has them all."""
    older = [weeks.add() for _ in range(2)]
    both = [weeks.add(counts={"rows_written": 0.01}), weeks.add(counts={"rows_written": 0.02})]
    none = weeks.add(counts={"rows_written": math.inf})
    lacking = weeks.add(counts={"rows_read": 0.0})
    view = counts_of(weeks)["rows_written"]
    (chain,) = view.chains
    assert [link.point.ratio.campaign for link in chain.links] == both
    assert {name: why.id for name, why in view.left_out.items()} == {
        **dict.fromkeys([*older, lacking], "left-out-no-count"),
        none: "left-out-from-none",
    }
    assert len(view_of(weeks).chains[0].links) == 6
    assert not view_of(weeks).left_out


def test_without_counts_there_is_no_view_of_any(weeks: Weeks) -> None:
    """Neither empty chains nor reasons."""
    weeks.add()
    assert view_of(weeks).counts == ()


def test_aa_campaigns_show_a_counts_own_noise(weeks: Weeks) -> None:
    """Not that of the throughput."""
    for found in (0.001, -0.001, 0.002, -0.002, 0.001):
        weeks.add_aa(0.05, counts={"rows_written": found})
    weeks.add(counts={"rows_written": 0.01})
    (chain,) = counts_of(weeks)["rows_written"].chains
    assert chain.noise.sd == pytest.approx(0.0015, rel=0.1)
    assert view_of(weeks).chains[0].noise.sd == pytest.approx(0.05)


def test_at_a_rate_counts_are_chained_and_the_throughput_is_not(weeks: Weeks) -> None:
    """It is what was sent; a change of latency is never shown as its level."""
    ids = [weeks.add(change=-0.1, rate="60 %", counts={"rows_written": 0.02}) for _ in range(2)]
    view = long_view(Comparisons(weeks.home, weeks.store), REPORT, f"{POINT}_at_60pct")
    assert not view.chains
    assert {name: why.id for name, why in view.left_out.items()} == dict.fromkeys(
        ids, "left-out-at-rate"
    )
    (count,) = view.counts
    (chain,) = count.chains
    assert [link.point.ratio.log_ratio for link in chain.links] == pytest.approx(
        [math.log1p(0.02)] * 2, rel=0.05
    )


# ---------------------------------------------------------------- where it is told


def test_a_change_point_of_a_count_is_an_event_of_its_own_part(dearer: Weeks) -> None:
    """Known again by the count; the same change of the throughput would be another part."""
    views = long_views(Comparisons(dearer.home, dearer.store), REPORT)
    (event,) = news.events(REPORT, views, english())
    assert event.subject == f"Change point: {REPORT}: Point Select: rows written"
    assert "10.11.6 made Point Select dearer: +1.5" in event.text
    (part,) = event.parts
    assert part.marks == tuple(
        f"{REPORT}/{POINT}/rows_written/up/{campaign}" for campaign in ("week-006", "week-007")
    )
    (chinese,) = news.events(REPORT, views, load("zh"))
    assert "10.11.6 使 Point Select 更费" in chinese.text


def test_the_page_has_counts_below_the_throughput(dearer: Weeks) -> None:
    """Each with its answer, chart and levels; whoever looks into a change does so once."""
    site = Site(dearer.home, dearer.store, english(), datetime(2024, 6, 1, tzinfo=UTC),
                may_change=True)  # fmt: skip
    page = render(site, history.history(site, REPORT, POINT))
    read = " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())
    throughput, taken = read.index("No lasting change"), read.index("What a transaction takes")
    assert throughput < taken < read.index("rows written: 10.11.6 made Point Select dearer: +1.5")
    assert "rows read: No lasting change was found since 10.2.11." in read
    assert page.count('class="chart levels"') == 3
    assert '<span class="regression"><span aria-hidden="true">▼</span> +1.5' in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_json_has_the_points_of_counts_and_the_terminal_what_was_found(dearer: Weeks) -> None:
    """In the throughput's view, by the name of the count."""
    view = view_of(dearer)
    of_count = text.to_json(view)["counts"]["rows_written"]
    assert len(of_count["chains"][0]["points"]) == 14
    (change,) = of_count["chains"][0]["change_points"]
    assert change["change_pct"] == pytest.approx(100 * DEARER, rel=0.02)
    assert of_count["chains"][0]["metric"] == "rows_written"
    known = Comparisons(dearer.home, dearer.store)
    compared = known.all_compared(known.outlines(REPORT)).values()
    found = history_text.history_of(POINT, [], compared)
    said = history_text.render(found, 100, colour=False, views=[view])
    assert re.search(
        r"Point Select: rows written\nLine newest: \+1\.4\d% against 10\.2\.11\n", said
    )
    assert re.search(r"Change point: \+1\.5\d*% \(95% interval .*\), 10\.11\.5 -> 10\.11\.6", said)
    assert "Point Select: rows read" in said


def test_the_picture_has_counts_that_changed(dearer: Weeks, tmp_path: Path) -> None:
    """The others would be a page of flat lines."""
    known = Comparisons(dearer.home, dearer.store)
    compared = known.all_compared(known.outlines(REPORT)).values()
    history_text.write(
        history_text.history_of(POINT, [], compared), tmp_path / "p.svg", [view_of(dearer)]
    )
    drawn = (tmp_path / "p.svg").read_text()
    assert f"Long view of {REPORT}, rows written: level against 10.2.11" in drawn
    assert "rows read" not in drawn
    assert "▼ 10.11.6 +1.5" in drawn
