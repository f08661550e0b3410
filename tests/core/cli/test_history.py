"""The history of a workload: published pages and campaigns, kept apart; and the long view of it."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest

from benchlab.analysis.trend.chain import Ratio, chain
from benchlab.analysis.trend.change_points import ChangePoint, Drift
from benchlab.analysis.verdict.compare import compare
from benchlab.campaign.outline import outline_of
from benchlab.charts.picture import text_width
from benchlab.cli import history_text
from benchlab.cli.history_text import history_of
from benchlab.errors import SpecError
from benchlab.language import english
from benchlab.published.model import PublishedReport
from benchlab.results.records import Campaign, TrialResult
from benchlab.results.store import open_store
from benchlab.studies.comparisons import ComparedCampaign
from benchlab.studies.long_view import chart
from benchlab.studies.long_view import text as long_view_text
from benchlab.studies.long_view.selection import AaFigure, NoiseOfCampaigns
from benchlab.studies.long_view.view import ChainView, Link, LongView
from tests.builders import campaigns, plans, weekly
from tests.builders.installation import Here
from tests.builders.published_page import read
from tests.builders.weekly import Weeks

POINT = "oltp_point_select"


def published(
    candidate: str, baseline: str, *, chinese: bool = False, pct: str = ""
) -> PublishedReport:
    """A page with two rows, +10 % and +20 %."""
    versus, results = ("对比", "测试结果") if chinese else ("vs.", "Test results")
    name = "性能对比测试报告" if chinese else "Performance Test Report"
    said = (
        f"Compared with {baseline}, the Point Select performance is improved by {pct}%."
        if pct
        else ""
    )
    return read(
        f"""# TiDB Sysbench {name} -- {candidate} {versus} {baseline}

## {results}

### Point Select

| Threads | {baseline} QPS | {candidate} QPS | QPS improvement |
|:---|:---|:---|:---|
| 100 | 1000 | 1100 | 10.00% |
| 200 | 2000 | 2400 | 20.00% |

{said}
""",
        "page.md",
    )


def measured(change: float, campaign: str = "c1") -> ComparedCampaign:
    """A campaign that found this change, as a share."""
    made = campaigns.campaign(id=campaign, workloads=[POINT], threads=[4], rounds=4)
    results = campaigns.results_of(made.plan, campaigns.known_change({POINT: change}, 0.001))
    return compared(made, results)


def compared(made: Campaign, results: Sequence[TrialResult]) -> ComparedCampaign:
    """A campaign with the verdicts on these results."""
    found = {one.name: one for one in compare(made.plan, results, 2.0).workloads}
    return ComparedCampaign(outline_of(made), found, {})


def test_published_and_measured_are_kept_apart() -> None:
    """A printed figure has no verdict, and a measured one no printed figure."""
    found = history_of(POINT, [published("v7.1.0", "v7.0.0")], [measured(-0.1)])
    (printed,), own = found.published, found.measured[0].found
    assert printed.change_pct == 15
    assert printed.threads == (100, 200)
    assert printed.highest == {"v7.0.0": 2000, "v7.1.0": 2400}
    assert own.verdict == "regression"
    assert own.estimate_pct == pytest.approx(-10, abs=0.3)
    assert own.ci95_pct is not None


def test_published_changes_are_in_the_order_of_versions() -> None:
    """v5.10 comes after v5.9, however the pages are named or imported."""
    pages = [
        published("v5.10.0", "v5.9.0"),
        published("v5.9.0", "v5.8.0"),
        published("v4.0", "v3.0"),
    ]
    found = history_of("point_select", pages, [])
    assert [change.candidate for change in found.published] == ["v4.0", "v5.9.0", "v5.10.0"]


def test_a_page_in_two_languages_counts_once() -> None:
    """If both print the same figures; otherwise both are listed."""
    pages = [published("v7.1.0", "v7.0.0"), published("v7.1.0", "v7.0.0", chinese=True)]
    (once,) = history_of(POINT, pages, []).published
    assert once.reports == tuple(sorted(report.id for report in pages))
    other = published("v7.1.0", "v7.0.0", pct="15.3")
    assert len(history_of(POINT, [other, pages[1]], []).published) == 2


def test_pages_with_a_name_of_their_own_are_listed_by_it() -> None:
    """Languages are drawn together only where the id ends with one."""
    pages = [published("v7.1.0", "v7.0.0"), published("v7.1.0", "v7.0.0", chinese=True)]
    named = dataclasses.replace(pages[0], id="rerun-2024")
    text = history_text.render(history_of(POINT, [*pages, named], []), 200, colour=False)
    assert "sysbench-v7.1.0-vs-v7.0.0-{en,zh}" in text
    assert "rerun-2024" in text
    assert "{2024" not in text


def test_the_printed_headline_stands_beside_the_recomputed_one() -> None:
    """The discrepancies of the page's audit are counted."""
    (found,) = history_of(POINT, [published("v7.1.0", "v7.0.0", pct="18.0")], []).published
    assert (found.printed_pct, found.change_pct, found.discrepancies) == (18.0, 15.0, 1)


def test_a_workload_that_nothing_is_known_of_is_refused_with_those_that_are() -> None:
    """The message says what to ask for instead."""
    with pytest.raises(SpecError, match=f"'tpcc': nothing is known of it; known: {POINT}"):
        history_of("tpcc", [published("v7.1.0", "v7.0.0")], [])
    with pytest.raises(SpecError, match="no campaign and no published report"):
        history_of("tpcc", [], [])


def test_a_campaign_of_one_version_is_named_and_left_out() -> None:
    """It has found no change; the others are listed."""
    made = campaigns.campaign(
        id="alone", sides="single", engines={"mariadb": {"baseline": {"version": "10.2.11"}}},
        workloads=[POINT], threads=[4],
    )  # fmt: skip
    alone = compared(made, [])
    found = history_of(POINT, [], [measured(0.1), alone])
    assert [change.campaign.id for change in found.measured] == ["c1"]
    assert "Left out: alone: one version alone" in history_text.render(found, 160, colour=False)
    assert history_of(POINT, [], [alone]).measured == ()


def test_it_is_listed_with_what_forbids_comparing_throughputs() -> None:
    """No id is cut, and nothing suggests comparing the throughputs of two reports."""
    found = history_of(POINT, [published("v7.1.0", "v7.0.0")], [measured(0.1)])
    text = history_text.render(found, 160, colour=False)
    for said in ("sysbench-v7.1.0-vs-v7.0.0-en", "+15.00%", "improvement", "not comparable"):
        assert said in text
    assert "none imported" in history_text.render(
        history_of(POINT, [], [measured(0.1)]), 160, colour=False
    )


def test_it_is_drawn(tmp_path: Path) -> None:
    """The same history gives the same picture; another format is refused."""
    found = history_of(POINT, [published("v7.1.0", "v7.0.0")], [measured(0.1)])
    for name in ("a.svg", "b.svg"):
        history_text.write(found, tmp_path / name)
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn == (tmp_path / "b.svg").read_text()
    assert "+15.00%" in drawn
    assert "improvement" in drawn
    with pytest.raises(SpecError, match=r"must end in \.svg"):
        history_text.write(found, tmp_path / "a.gif")


# ---------------------------------------------------------------- the long view


@pytest.fixture
def weeks(here: Here) -> Iterator[Weeks]:
    """An installation, to add campaigns to its store."""
    with open_store(here.home) as store:
        yield Weeks(here.home, store)


def view_of(weeks: int, *changes: int, bridged: bool = False, why_not: str = "") -> LongView:
    """So many weeks, with a change point at each of these and a drift over the last ten.

    Args:
        bridged: the last baseline was never a candidate.
        why_not: in what the setting differs from a newer one.
    """
    ratios = [
        Ratio(
            campaign=f"week-{week}",
            at=plans.START + timedelta(weeks=week),
            baseline="v7.5.1" if bridged and week == weeks - 1 else "v7.5.0",
            candidate=f"v8.{week // 4}.0",
            log_ratio=-0.05 * sum(week >= change for change in changes),
            standard_error=0.005,
        )
        for week in range(weeks)
    ]
    made = chain(ratios)
    interval = (-0.06, -0.04)
    return LongView(
        "weekly",
        POINT,
        (
            ChainView(
                line="newest",
                links=tuple(
                    Link(point, (-1.0, 1.0), None if point.bridged_from else (-0.3, 0.1),
                         point.bridged_from is not None)
                    for point in made.points
                ),
                changes=tuple(
                    ChangePoint(week, -0.05, interval, 1e-9, f"week-{week}",
                                f"week-{week - 1}", "v8.1.0", "v8.2.0", ("week-3",))
                    for week in changes
                ),
                suspects=(),
                minutes=10.0,
                dollars=None,
                addresses={f"week-{week}": () for at in changes for week in (at - 1, at)},
                drift=Drift(weeks - 10, weeks - 1, "v8.1.0", "v8.9.0", -0.04, interval, 9, 1e-4)
                if changes
                else None,
                noise=NoiseOfCampaigns(
                    tuple(AaFigure("aa", plans.START + timedelta(weeks=week), 0.01)
                          for week in range(0, weeks, 4))
                ),
                differs={"topology": (why_not, "large")} if why_not else {},
                threshold_pct=2.0,
                metric="tps",
            ),
        ),
        {},
    )  # fmt: skip


def printed(*views: LongView) -> str:
    """As a terminal of 100 columns has it, its lines joined."""
    text = history_text.render(
        history_of(POINT, [], [measured(0.1)]), 100, colour=False, views=views
    )
    return " ".join(text.split())


def test_few_campaigns_are_chained_and_change_points_said_to_need_more(
    here: Here, weeks: Weeks
) -> None:
    """Each report type has its own chain; an option selects one."""
    weeks.add("10.2.11", "10.11.5", -0.2, noise=0.0)
    weeks.add("10.11.5", "11.4.5", +0.1, noise=0.0)
    weeks.add("10.11.5", "11.4.5", report="another")
    both = here.run("history", "point_select").stdout
    assert "Long view of another" in both
    assert "Throughputs of different reports are not" in both
    one = here.run("history", "point_select", "--report", "sysbench_test").stdout
    assert "another" not in one
    assert "Change points need 10 campaigns; there are 2." in one
    assert [line.split()[-1] for line in one.splitlines() if "11.4.5 vs." in line][-1] == "-12.00%"
    said = here.refused("history", "point_select", "--report", "nosuch")
    assert "known: another, sysbench_test" in said


def test_a_change_point_leads_to_its_campaigns(here: Here, weeks: Weeks) -> None:
    """The terminal and the JSON name the campaigns before and after it."""
    weekly.regression(weeks)
    listed = " ".join(here.run("history", "point_select").stdout.split())
    for said in ("10.11.5 -> 11.4.5", "last before week-006", "first after week-007"):
        assert said in listed
    document = json.loads(here.run("history", "point_select", "--json").stdout)
    (found,) = document["long_view"]["chains"][0]["change_points"]
    assert (found["before"], found["campaign"]) == ("week-006", "week-007")
    assert found["change_pct"] == pytest.approx(-10, abs=1)


@pytest.mark.parametrize("width", [40, 80])
def test_what_is_copied_is_not_broken_on_a_narrow_terminal(width: int) -> None:
    """Ids and verdicts stay whole; where no table has room for them, each row has lines."""
    made = measured(0.1, campaign="sysbench_local-20261122T104955")
    found = history_of(POINT, [published("v7.1.0", "v7.0.0")], [made])
    text = history_text.render(found, width, colour=False)
    names = made.campaign.id, "improvement", "10.11.5 vs. 10.2.11", "sysbench-v7.1.0-vs-v7.0.0-en"
    for whole in (*names, "discrepancies", "+15.00%", "2024-01-02"):
        assert whole in text
    assert "-20261122" not in text.replace(made.campaign.id, "")


def test_history_without_a_workload_names_those_that_there_are(here: Here, weeks: Weeks) -> None:
    """Only those of the requested report type are named."""
    weeks.add("10.2.11", "10.11.5", -0.2, noise=0.0)
    said = here.refused("history", "--report", "sysbench_test")
    assert f"name a workload of sysbench_test: {POINT}" in said
    assert f"name a workload: {POINT}" in here.refused("history")


def test_a_step_that_was_not_measured_has_a_mark() -> None:
    """And the version from which the level was taken is named; without such a step nothing is."""
    bridged = printed(view_of(3, bridged=True))
    assert "v8.0.0 vs. v7.5.1 0.0% -1.0% to +1.0% 0.00% * " in bridged
    assert "* The baseline had not been a candidate" in bridged
    assert "v7.5.1 from v7.5.0" in bridged
    assert "levels with such a step have no interval" in bridged
    assert " * " not in printed(view_of(3))


def test_drift_noise_and_another_setting_are_said() -> None:
    """Each is said in a sentence."""
    text = printed(view_of(20, 10, why_not="small\x1b[2J"))
    assert "In another setting: topology small [2J, later large" in text
    assert "Outliers, which did not count: week-3" in text
    assert "they scatter by 1.01% (standard deviation)" in text
    assert "Slow drift: -3.92% (99% interval -5.82% to -3.92%) over 9 releases" in text


def test_a_line_is_named_where_there_are_several() -> None:
    """In the text, the JSON and the picture; one alone needs no name."""
    alone = view_of(12, 8)
    apart = dataclasses.replace(alone.chains[0], line="6.5")
    both = dataclasses.replace(alone, chains=(*alone.chains, apart))
    said = "Line newest: no candidate is older", "Line 6.5: candidates of this series"
    assert all(sentence in printed(both) for sentence in said)
    assert "Line " not in printed(alone)
    assert [chain["line"] for chain in long_view_text.to_json(both)["chains"]] == ["newest", "6.5"]
    titles = [chart.title(both, chain) for chain in both.chains]
    assert [title.split(": ")[0] for title in titles] == [
        "Long view of weekly, line newest",
        "Long view of weekly, line 6.5",
    ]
    assert chart.title(alone, alone.chains[0]).startswith(
        "Long view of weekly: level against v7.5.0"
    )


def test_the_long_view_is_in_the_json() -> None:
    """Every point, in percent and with its day."""
    (found,) = json.loads(json.dumps(long_view_text.to_json(view_of(12, 8))))["chains"]
    assert len(found["points"]) == 12
    last = found["points"][-1]
    assert last["level_pct"] == pytest.approx(100 * math.expm1(-0.05))
    assert last["at"] == (plans.START + timedelta(weeks=11)).isoformat()
    assert found["change_points"][0]["before"] == "week-7"
    assert found["drift"]["releases"] == 9
    assert found["noise"]["aa_campaigns"][0]["change_pct"] == pytest.approx(1.005, abs=0.001)
    (bridged,) = long_view_text.to_json(view_of(3, bridged=True))["chains"]
    assert [
        (point["contains_bridge"], point["level_ci95_pct"]) for point in bridged["points"][-1:]
    ] == [(True, None)]


class Box(NamedTuple):
    """Where a text stands in a picture."""

    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def of(cls, text: ET.Element) -> Box:
        """By the width that no font is asked for."""
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        width, css = text_width(text.text or ""), text.attrib["class"]
        if "transform" in text.attrib:
            return cls(x - 10, y, x + 2, y + width)
        left = x - (width if "end" in css else width / 2 if "middle" in css else 0)
        return cls(left, y - 10, left + width, y + 2)

    def covers(self, other: Box) -> bool:
        """Whether two texts share a place."""
        return max(self.left, other.left) < min(self.right, other.right) and max(
            self.top, other.top
        ) < min(self.bottom, other.bottom)


@pytest.mark.parametrize("weeks", [1, 2, 150])
def test_the_picture_of_the_long_view_is_legible(weeks: int) -> None:
    """No text covers another one or leaves the picture, with few points and with many."""
    many = (40, 44, 47, 120, 148) if weeks > 10 else ()
    (chain,) = view_of(weeks, *many, bridged=weeks > 10).chains
    picture = chart.levels(chain, english())
    root = ET.fromstring(picture.inline(""))  # noqa: S314 - our own drawing
    texts = [text for text in root.iter("text") if text.text]
    assert any("v8" in str(text.text) for text in texts)
    for one, other in itertools.combinations(texts, 2):
        assert not Box.of(one).covers(Box.of(other)), (one.text, other.text)
    for text in texts:
        box = Box.of(text)
        assert box.left >= 0, text.text
        assert box.right <= picture.width, text.text
        assert box.top >= 0, text.text
        assert box.bottom <= picture.height, text.text


def test_the_picture_has_a_panel_for_each_long_view(tmp_path: Path) -> None:
    """The same data give the same bytes."""
    found = history_of(POINT, [], [measured(0.1)])
    for name in ("a.svg", "b.svg"):
        history_text.write(found, tmp_path / name, [view_of(12, 8)])
    drawn = (tmp_path / "a.svg").read_bytes()
    assert drawn == (tmp_path / "b.svg").read_bytes()
    history_text.write(found, tmp_path / "without.svg")
    assert len(drawn) > len((tmp_path / "without.svg").read_bytes())
