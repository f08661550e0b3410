"""The list of campaigns: what was asked for, in that order, a page at a time."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path

import pytest
from upath import UPath

from benchlab.analysis.verdict.compare import compare
from benchlab.home import Home
from benchlab.language import load
from benchlab.report.model import report as model
from benchlab.report.sentences import method
from benchlab.results.records import SPENT, Remarks, StoredVerdict
from benchlab.results.store import Store
from benchlab.site import campaigns as listing
from benchlab.site import documents, files
from benchlab.site.campaigns import Filter
from benchlab.site.page import NoSuchPage, Page, Site, render
from tests.builders import campaigns

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
POINT, INDEX = "oltp_point_select", "oltp_update_index"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Sixty days with a campaign each; every tenth is a regression, the last is measured now."""
    path = tmp_path_factory.mktemp("home")
    made = campaigns.campaign()
    with Store(f"sqlite:///{path}/results.db", UPath(path / "objects")) as store:
        for day in range(60):
            began = NOW - timedelta(days=60 - day)
            is_last = day == 59
            one = dataclasses.replace(
                made,
                id=f"day-{day:02}",
                started_at=began,
                ended_at=None if is_last else began + timedelta(minutes=72),
                state="running" if is_last else "complete",
            )
            store.add_campaign(one)
            verdict = "regression" if day % 10 == 3 else "equivalent"
            found = [
                StoredVerdict(workload, metric, verdict, -8.2, -9.9, -6.4, 0.001, rule=3)
                for workload in (POINT, INDEX)
                for metric in ("tps", "p95_ms")
            ]
            store.set_verdicts(one.id, [] if is_last else found)
        yield Site(Home(path, path), store, load("en"), NOW)


def test_a_clock_that_was_set_back_makes_no_negative_duration(tmp_path: Path) -> None:
    """It is not known how long such a campaign took, neither here nor in its report."""
    began = NOW - timedelta(days=1)
    back = dataclasses.replace(
        campaigns.campaign(), started_at=began, ended_at=began - timedelta(hours=1)
    )
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        store.add_campaign(back)
        html = shown(Site(Home(tmp_path, tmp_path), store, load("en"), NOW))
    assert back.took is None
    assert '<td class="number">n/a</td>' in html
    report = model.build(back, compare(back.plan, [], 2.0), [])
    assert dict(method.provenance(report))["Duration"] == "n/a"
    assert "-" not in method.about(report).split(" · ")[2]


def shown(site: Site, **asked: str) -> str:
    """The page's HTML."""
    return render(site, listing.campaigns(site, Filter.asked(asked)))


def ids(html: str) -> list[str]:
    """The campaigns that the list has, in order."""
    return re.findall(r'<th scope="row"><a href="[^"]*">([^<]+)</a>', html)


def text(html: str) -> str:
    """What a person reads of it, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_the_latest_come_first_and_the_others_are_on_further_pages(site: Site) -> None:
    """Each campaign is on one page."""
    first, second = shown(site), shown(site, page="2")
    assert ids(first) + ids(second) == [f"day-{day:02}" for day in reversed(range(60))]
    assert "1–50 of 60 campaigns" in text(first)
    assert 'rel="next" href="../campaigns/?page=2"' in first
    assert 'rel="prev" href="../campaigns/"' in second


def test_a_campaign_whose_counts_changed_does_not_look_unchanged(tmp_path: Path) -> None:
    """In a column of their own, with the largest named; the list without any has none."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        site = Site(Home(tmp_path, tmp_path), store, load("en"), NOW)
        store.add_campaign(campaigns.campaign())
        found: list[tuple[str, str, float | None]] = [
            *(("tps", "equivalent", 0.1), ("p95_ms", "equivalent", 0.2)),
        ]
        store.set_verdicts("c1", _verdicts(found))
        assert "Counts" not in text(shown(site))
        found += [
            *(("rows_read", "regression", None), ("redo_bytes", "regression", 9.1)),
            *(("server_cpu", "improvement", -4.0), ("rows_written", "equivalent", 0.0)),
        ]
        store.set_verdicts("c1", _verdicts(found))
        read = text(shown(site))
        assert ids(shown(site, verdict="regression")) == ["c1"]
        aa = dataclasses.replace(campaigns.campaign(id="aa", sides="same"), started_at=NOW)
        store.add_campaign(aa)
        store.set_verdicts("aa", _verdicts(found))
        noise = text(shown(site))
    assert "Throughput p95 latency Counts Took" in read
    assert (
        "= 1 equivalent = 1 equivalent ▼ 2 dearer (Point Select rows read from none and 1 more) "
        "▲ 1 cheaper (Point Select server CPU -4.00%) = 1 equivalent" in read
    )
    assert "▼ 2 false alarms (Point Select rows read from none and 1 more)" in noise


def _verdicts(found: list[tuple[str, str, float | None]]) -> list[StoredVerdict]:
    return [
        StoredVerdict(POINT, metric, verdict, change, change and change - 0.5,
                      change and change + 0.5, 0.001, rule=5)
        for metric, verdict, change in found
    ]  # fmt: skip


def test_a_page_beyond_the_end_is_the_last_one(site: Site) -> None:
    """A link may be older than the campaigns that were deleted."""
    assert ids(shown(site, page="99")) == ids(shown(site, page="2"))


def test_each_campaign_has_its_answer_in_one_line(site: Site) -> None:
    """What changed by how much, how long it took; or that it is being measured."""
    read = text(shown(site))
    said = "▼ 2 regressions (Point Select -8.2%, Update Index -8.2%)"
    assert f"10.11.5 vs. 10.2.11 {said} {said} 1 h 12 min complete" in read
    assert '<td class="number" data-sort="4320.0">1 h 12 min</td>' in shown(site)
    assert "no verdict yet no verdict yet n/a in progress" in read


def test_filters_choose_and_stay_in_every_link(site: Site) -> None:
    """The next page and the other order of what was chosen, not of everything."""
    html = shown(site, verdict="regression", since="2026-10-01")
    assert ids(html) == ["day-53", "day-43", "day-33", "day-23", "day-13"]
    assert "verdict=regression&amp;since=2026-10-01&amp;order=id" in html
    assert '<option value="regression" selected>' in html
    assert 'href="../campaigns/?verdict=regression&amp;since=2026-10-01&amp;language=zh"' in html


def test_state_version_and_days_choose(site: Site) -> None:
    """Each on its own."""
    assert ids(shown(site, state="running")) == ["day-59"]
    assert len(ids(shown(site, version="10.11.5"))) == 50
    assert ids(shown(site, version="9.9.9")) == []
    assert ids(shown(site, since="2026-09-25", until="2026-09-26")) == ["day-04", "day-03"]


def test_a_column_sorts_one_way_and_the_other(site: Site) -> None:
    """And says so to a screen reader."""
    html = shown(site, order="id")
    assert ids(html)[0] == "day-00"
    assert 'aria-sort="ascending"><a href="../campaigns/?order=-id">' in html
    assert ids(shown(site, order="-id"))[0] == "day-59"


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [
        ("since", "2026-02-30", "Started since"),
        ("verdict", "<script>", "Verdict"),
        ("order", "plan", "order"),
        ("page", "-1", "page"),
        ("page", "1e9", "page"),
        ("state", "x", "State"),
    ],
)
def test_what_cannot_be_used_is_said_and_ignored(
    site: Site, field: str, value: str, name: str
) -> None:
    """An address that somebody typed never ends in an error; a field has the form's name."""
    html = shown(site, **{field: value})
    assert f'{name}: "{value}" cannot be used here and was ignored' in text(html)
    assert len(ids(html)) == 50
    assert "<script>" not in html


def test_nothing_chosen_leads_back_to_all(site: Site) -> None:
    """The list was not empty before."""
    assert "None of the 60 campaigns matches all of that. all campaigns" in text(
        shown(site, version="9.9.9")
    )


def test_a_report_type_that_the_reader_may_not_see_has_no_campaigns(site: Site) -> None:
    """They are not counted either."""
    reader = dataclasses.replace(site, reports=frozenset({"another"}))
    assert "Nothing has been measured yet." in text(shown(reader))
    assert "sysbench_test" not in shown(reader)


def test_as_files_the_list_is_searched_in_the_browser(site: Site) -> None:
    """Nobody answers a query there."""
    html = shown(dataclasses.replace(site, as_files=True))
    assert len(ids(html)) == 60
    assert "?" not in "".join(re.findall(r'href="([^"]*)"', html))
    assert '<table id="campaigns" data-whole>' in html, "so a script sorts and searches it"


def test_a_campaign_has_its_report_type_cost_and_note(tmp_path: Path) -> None:
    """Each campaign that rented hosts; where the cost is not known, it is no zero."""
    made = campaigns.campaign()
    rented = {"zone": "us-west-2a"}
    environments = {"local": {}, "known": {**rented, SPENT: "3.50"}, "lost": rented}
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        for name, environment in environments.items():
            store.add_campaign(dataclasses.replace(made, id=name, environment=environment))
        store.set_remarks("lost", Remarks("the zone was full", ("aws",)))
        site = Site(Home(tmp_path, tmp_path), store, load("en"), NOW)
        page = listing.campaigns(site, Filter())
        read = text(render(site, page))
        cost = {one.id: (one.has_rented, one.dollars) for one in _document(site, page).campaigns}
        tagged = render(site, listing.campaigns(site, Filter.asked({"tag": "aws"})))
    assert ids(tagged) == ["lost"]
    assert '<input name="tag" value="aws"' in tagged, "so that Show keeps it"
    assert cost == {"local": (False, None), "known": (True, 3.5), "lost": (True, None)}
    assert f"{made.plan.report} " in read
    assert re.search(r"known .* 3\.50 complete", read)
    assert re.search(r"lost .* n/a .* the zone was full aws", read)


def _document(site: Site, page: Page) -> documents.Campaigns:
    return documents.Campaigns.model_validate_json(documents.text(site, page))


def test_both_languages_have_every_sentence(site: Site) -> None:
    """Of a filtered page, an empty one, and one with a fault."""
    reader = dataclasses.replace(site, language=load("zh"))
    assert "性能退化" in shown(reader, verdict="regression")
    assert "60 个测试活动中没有符合全部条件的。" in text(shown(reader, version="9.9.9", since="x"))


@pytest.mark.parametrize("day", ["9999-12-31", "0001-01-01"])
def test_any_day_of_the_calendar_bounds_the_list(site: Site, day: str) -> None:
    """Also the last one, after which there is no day."""
    for field in ("since", "until"):
        page = render(site, listing.campaigns(site, Filter.asked({field: day})))
        assert ("day-58" in page) == ((field, day[0]) in (("since", "0"), ("until", "9")))


@pytest.mark.parametrize("attempt", ["²", "9" * 20, "9" * 5000, "", "-1", "1.0"])
def test_a_file_of_no_attempt_is_none(site: Site, attempt: str) -> None:
    """Whatever is a digit to Unicode, or no number to a database."""
    with pytest.raises(NoSuchPage):
        files.read(site, "day-01", f"raw/x.{attempt}.txt")
