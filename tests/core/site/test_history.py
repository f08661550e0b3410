"""The history of a workload as a page: what changed first, and the way to every campaign."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from benchlab.analysis.trend.change_points import Suspect
from benchlab.language import load
from benchlab.results.records import StoredVerdict
from benchlab.site import history, two_versions
from benchlab.site.page import NoSuchPage, Site, render
from benchlab.studies.long_view.view import long_view
from tests.builders import weekly
from tests.builders.weekly import POINT, REPORT, Weeks

NOW = datetime(2024, 6, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def regressed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weeks]:
    """Fourteen weeks, from the eighth on 10 % slower."""
    with weekly.installation(tmp_path_factory.mktemp("regressed")) as opened:
        weekly.regression(opened)
        yield opened


@pytest.fixture
def weeks(tmp_path: Path) -> Iterator[Weeks]:
    """An empty store."""
    with weekly.installation(tmp_path) as opened:
        yield opened


def site(weeks: Weeks, code: str = "en", **fields: Any) -> Site:
    """The site as its reader sees it."""
    return Site(weeks.home, weeks.store, load(code), NOW, **fields)


def shown(reader: Site, *versions: str) -> str:
    """The page's HTML."""
    return render(reader, history.history(reader, REPORT, POINT, *versions))


def text(html: str) -> str:
    """What a person reads of it, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_the_page_begins_with_what_changed(regressed: Weeks) -> None:
    """Which release made it slower, by how much, since when; before the chart and any table."""
    read = text(shown(site(regressed)))
    said = "11.4.5 made Point Select slower: -10.1% throughput (95% interval -1"
    assert re.search(
        re.escape(said) + r"[\d.]+% to -[\d.]+%\) against 10.11.5, first seen on 20", read
    )
    assert read.index(said) < read.index("Level against 10.2.11")


def test_each_point_of_the_chart_leads_to_its_campaign(regressed: Weeks) -> None:
    """By a relative address, from the page of a report type's workload."""
    page = shown(site(regressed))
    for number in range(14):
        assert f'<a href="../../../campaigns/week-{number:03}/"><title>' in page


def test_any_version_is_compared_with_any_other_by_the_chain(regressed: Weeks) -> None:
    """With its interval; the versions that were chosen stay chosen."""
    page = shown(site(regressed), "10.2.11", "11.4.5")
    said = r"11\.4\.5 against 10\.2\.11: -10[\d.]*% \(95% interval -1[\d.]+% to -[\d.]+%\), chained"
    assert re.search(said, text(page))
    assert "<option selected>11.4.5</option>" in page
    unknown = text(shown(site(regressed), "10.2.11", "9.9.9"))
    assert "Nothing connects 10.2.11 and 9.9.9" in unknown


def test_two_versions_are_compared_over_all_workloads(regressed: Weeks) -> None:
    """A row for each figure, with what it rests on; the reader chooses among what there is."""
    reader = site(regressed)
    page = render(reader, two_versions.two_versions(reader, REPORT, "10.2.11", "11.4.5"))
    row = r"Point Select Throughput -10[.\d]*% -1[.\d]+% to -[\d.]+% \d+ "
    assert re.search(row, text(page))
    assert "where nothing changed, one row in twenty" in text(page)
    assert '<option value="11.4.5"></option>' in page
    found = two_versions.two_versions(reader, "", "10.2.11", "11.4.5")
    assert render(reader, found) == page, "nobody has to know its report type"
    empty = text(render(reader, two_versions.two_versions(reader)))
    assert REPORT in empty
    assert "Throughput" not in empty
    unknown = text(render(reader, two_versions.two_versions(reader, REPORT, "10.2.11", "9.9.9")))
    assert "Point Select Throughput n/a n/a n/a Nothing connects 10.2.11 and 9.9.9" in unknown


def test_two_versions_of_a_report_type_that_the_reader_may_not_see(regressed: Weeks) -> None:
    """It does not exist for them, and is not offered."""
    reader = site(regressed, reports=())
    assert REPORT not in text(render(reader, two_versions.two_versions(reader)))
    with pytest.raises(NoSuchPage, match=REPORT):
        two_versions.two_versions(reader, REPORT, "10.2.11", "11.4.5")


def test_a_step_that_nobody_measured_is_named_and_has_no_interval(weeks: Weeks) -> None:
    """A baseline that was never a candidate counts as unchanged, which is no measurement."""
    weeks.add("10.6.20", "10.11.5")
    weeks.add("10.11.7", "11.4.5")
    read = text(shown(site(weeks), "10.6.20", "11.4.5"))
    assert "if 10.11.7 did not change anything. No campaign has measured that step" in read


def test_too_few_campaigns_are_not_called_unchanged(weeks: Weeks) -> None:
    """How many there are, and how many are needed; so too where all are left out."""
    weeks.add(unstable=True)
    assert "lasting changes: 0 of 10." in text(shown(site(weeks)))
    weeks.add()
    read = text(shown(site(weeks)))
    assert "Too few campaigns to look for lasting changes: 1 of 10." in read
    assert "No lasting change" not in read


def test_the_newest_regression_comes_first_until_somebody_has_judged_it(weeks: Weeks) -> None:
    """By name and amount, with its campaign; of too few campaigns for a lasting change as well."""
    found = weeks.add(candidate="11.4.5"), weeks.add()
    for campaign, verdict in zip(found, ("regression", "equivalent"), strict=True):
        decided = StoredVerdict(POINT, "tps", verdict, -10.06, -11.2, -8.9, 0.001, rule=3)
        weeks.store.set_verdicts(campaign, [decided])
    page = render(site(weeks), history.workloads(site(weeks)))
    said = "Throughput -10.1% (-11.2% to -8.9%), 11.4.5 vs. 10.2.11"
    first, _, table = text(page).partition("chained")
    assert f"Newest regression that nobody has judged: Point Select , {said}" in first
    assert f"lasting changes: 2 of 10. = equivalent -10.1% {said}" in table
    assert f'<a href="../campaigns/{found[0]}/">11.4.5 vs. 10.2.11</a>' in page
    assert f"has judged: {said}" in text(shown(site(weeks)))
    weeks.store.findings.mark(1, "known", "ann")
    assert said not in text(render(site(weeks), history.workloads(site(weeks))))
    assert said not in text(shown(site(weeks)))


def test_a_proposed_campaign_has_its_time_and_price(
    regressed: Weeks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the command that tells a suspect's two versions apart; where nothing is rented, no
    price.
    """
    names = dict.fromkeys(("campaign", "before"), "week-007") | dict.fromkeys(
        ("candidate", "previous", "baseline", "bridged_from", "linking"), "11.4.5"
    )
    suspect = Suspect(index=7, change=-0.05, ci95=(-0.06, -0.04), **names)
    view = long_view(site(regressed).comparisons, REPORT, POINT)

    def with_suspect(dollars: float | None) -> str:
        chain = dataclasses.replace(
            view.chains[0], suspects=(suspect,), minutes=90, dollars=dollars
        )
        shows = dataclasses.replace(view, chains=(chain,))
        monkeypatch.setattr(history, "long_view", lambda *asked: shows)
        return text(shown(site(regressed)))

    command = "benchlab run sysbench_test --set baseline=11.4.5 --set candidate=11.4.5"
    assert f"{command} It takes about 1 h 30 min and costs about 12.50 dollars." in with_suspect(
        12.5
    )
    assert f"{command} It takes about 1 h 30 min." in with_suspect(None)


def test_what_people_say_of_a_change_is_shown_beside_it(weeks: Weeks) -> None:
    """Who may change it has a form with the guard, others have none; no text is HTML."""
    weekly.regression(weeks)
    changing = site(weeks, may_change=True, guard="secret")
    assert "no verdict of that campaign shows it" in text(shown(changing))
    decided = StoredVerdict(POINT, "tps", "regression", -10.06, -11.2, -8.9, 0.001, rule=3)
    weeks.store.set_verdicts("week-007", [decided])
    assert '<form method="post"' not in shown(site(weeks))
    page = shown(changing)
    assert 'action="../../../actions/judge"' in page
    assert 'name="guard" value="secret"' in page
    assert "Take back" not in page
    weeks.store.findings.mark(1, "fixed", "ann", "<b>issue 7</b>", 'https://example.org/"7')
    page = shown(changing)
    assert "fixed by ann" in text(page)
    assert "&lt;b&gt;issue 7&lt;/b&gt;" in page
    assert 'href="https://example.org/&#34;7" target="_blank" rel="noopener noreferrer"' in page
    assert "Take back" in page


def test_a_report_type_that_the_reader_may_not_see_does_not_exist(regressed: Weeks) -> None:
    """Neither in the list of workloads nor by its address."""
    reader = site(regressed, reports=frozenset())
    assert REPORT not in render(reader, history.workloads(reader))
    with pytest.raises(NoSuchPage, match=f"{REPORT}: there is no such report type"):
        history.history(reader, REPORT, POINT)
    with pytest.raises(NoSuchPage, match="oltp_insert: nothing is known"):
        history.history(site(regressed), REPORT, "oltp_insert")


def test_names_from_outside_are_text(weeks: Weeks) -> None:
    """A version is typed by somebody, and so may be anything."""
    weeks.add()
    hostile = "<img src=x onerror=alert(1)>"
    page = shown(site(weeks), hostile, hostile)
    assert hostile not in page
    assert "&lt;img src=x" in page


@pytest.mark.parametrize("code", ["en", "zh"])
def test_both_languages_have_every_sentence(regressed: Weeks, code: str) -> None:
    """The page renders in each, with the same figures."""
    page = shown(site(regressed, code), "10.2.11", "11.4.5")
    assert f'lang="{code}"' in page
    assert "-10.1%" in page


def test_an_empty_store_says_what_to_do_next(weeks: Weeks) -> None:
    """No campaign: how there will be some."""
    reader = site(weeks)
    assert "A report type with a schedule" in render(reader, history.workloads(reader))
