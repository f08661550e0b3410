"""The site as plain files: whole, linked, and written again only where something has changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from benchlab.analysis.verdict.compare import verdicts_of
from benchlab.campaign.outcome import Comparer
from benchlab.hosts.access import Access
from benchlab.language import load
from benchlab.results.records import Remarks
from benchlab.site import page, static
from benchlab.site.folder import folder_at
from benchlab.site.page import Site
from benchlab.site.static import Written
from tests.builders import weekly
from tests.builders.weekly import POINT, REPORT, Weeks

NOW = datetime(2024, 6, 1, tzinfo=UTC)
CAMPAIGN = "campaigns/week-000/index.html"


@pytest.fixture
def weeks(tmp_path: Path) -> Iterator[Weeks]:
    """Three weeks and an A/A campaign, with verdicts; of one there is a report with a chart."""
    with weekly.installation(tmp_path / "home") as opened:
        for _ in range(3):
            decide(opened, opened.add())
        decide(opened, opened.add_aa(0.002))
        report = opened.home.reports / "week-000"
        (report / "charts").mkdir(parents=True)
        (report / "report.html").write_text("<h1>The report</h1>")
        (report / "charts" / "overview.svg").write_text("<svg/>")
        yield opened


def decide(weeks: Weeks, campaign: str) -> None:
    """Keep the verdicts of a campaign, as publishing it does."""
    outcome = Comparer(weeks.home, weeks.store).outcome(weeks.store.campaign(campaign))
    weeks.store.set_verdicts(campaign, verdicts_of(outcome.comparison))


def site(weeks: Weeks, code: str = "en") -> Site:
    """The site as the command has it."""
    return Site(weeks.home, weeks.store, load(code), NOW)


def write(weeks: Weeks, to: Path, code: str = "en") -> Written:
    """Write the site into a directory."""
    return static.write(site(weeks, code), folder_at(str(to), "", Access()))


def times(folder: Path) -> dict[str, int]:
    """When each file was written, by name."""
    return {
        path.relative_to(folder).as_posix(): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file()
    }


class Links(HTMLParser):
    """What a page leads to, and the places within it that can be led to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.to: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.to += [found[name] for name in ("href", "src", "action") if name in found]
        self.ids |= {found["id"]} if "id" in found else set()


def broken(folder: Path) -> list[str]:
    """The links of all pages that lead to no file, to no place in it, or out of the folder."""
    pages = {path: Links(path.read_text("utf-8")) for path in folder.rglob("index.html")}
    found = []
    for path, links in pages.items():
        for link in links.to:
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            inside = not parts.scheme and target.is_relative_to(folder) and target.is_file()
            there = inside and (not parts.fragment or parts.fragment in pages[target].ids)
            if not there or parts.query:
                found.append(f"{path.relative_to(folder)}: {link}")
    return found


@pytest.mark.parametrize("code", ["en", "zh"])
def test_every_link_leads_to_a_file_and_every_page_is_reached(
    weeks: Weeks, tmp_path: Path, code: str
) -> None:
    """A copy of the folder is the whole site, in either language."""
    write(weeks, tmp_path / "site", code)
    folder = (tmp_path / "site").resolve()
    assert broken(folder) == []
    linked = {
        (path.parent / unquote(urlsplit(link).path)).resolve()
        for path in folder.rglob("index.html")
        for link in Links(path.read_text("utf-8")).to
    }
    unreached = set(folder.rglob("*")) - linked - {folder / static.RECORD}
    assert [path for path in unreached if path.is_file()] == []


def test_it_has_overview_campaigns_trials_reports_and_histories(
    weeks: Weeks, tmp_path: Path
) -> None:
    """Everything that a team without accounts asks for."""
    write(weeks, tmp_path / "site")
    names = set(times(tmp_path / "site"))
    trial = weeks.store.trial_ids("week-000")[0]
    assert {
        "index.html",
        "campaigns/index.html",
        CAMPAIGN,
        f"campaigns/week-000/trials/{trial}/index.html",
        "campaigns/week-000/files/charts/overview.svg",
        "campaigns/week-003/index.html",
        "history/index.html",
        f"history/{REPORT}/{POINT}/index.html",
        "assets/site.css",
    } <= names


def test_what_has_not_changed_is_not_written_again(weeks: Weeks, tmp_path: Path) -> None:
    """A site of a thousand campaigns is renewed by the few files that differ."""
    first = write(weeks, tmp_path)
    before = times(tmp_path)
    again = write(weeks, tmp_path)
    assert again == Written(0, first.written, 0)
    after = times(tmp_path)
    assert {name for name in before if before[name] != after[name]} == {static.RECORD}


def test_pages_of_ended_campaigns_are_not_made_again(
    weeks: Weeks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take the time, so they are known not to have changed without being made."""
    write(weeks, tmp_path)
    made = []
    monkeypatch.setattr(
        static.campaign, "campaign", lambda site, campaign: made.append(campaign) or ""
    )
    assert write(weeks, tmp_path).written == 0
    assert made == []


def test_a_new_campaign_changes_the_lists_and_not_the_earlier_campaigns(
    weeks: Weeks, tmp_path: Path
) -> None:
    """Its own page, the lists and the history are new."""
    write(weeks, tmp_path)
    before = times(tmp_path)
    decide(weeks, new := weeks.add())
    write(weeks, tmp_path)
    after = times(tmp_path)
    changed = {name for name in after if after[name] != before.get(name)}
    assert {"index.html", "campaigns/index.html", f"history/{REPORT}/{POINT}/index.html"} < changed
    assert {name for name in changed if name.startswith("campaigns/week-")} == {
        name for name in after if name.startswith(f"campaigns/{new}/")
    }


def test_a_new_aa_campaign_renews_the_pages_whose_intervals_it_changes(
    weeks: Weeks, tmp_path: Path
) -> None:
    """What a page rests on is more than its own campaign."""
    write(weeks, tmp_path)
    before = times(tmp_path)
    decide(weeks, weeks.add_aa(0.02))
    write(weeks, tmp_path)
    assert times(tmp_path)[CAMPAIGN] != before[CAMPAIGN]


def test_a_note_on_a_campaign_is_on_its_page(weeks: Weeks, tmp_path: Path) -> None:
    """Hostile text stays text."""
    write(weeks, tmp_path)
    weeks.store.set_remarks("week-000", Remarks(note="<script>alert(1)</script>"))
    write(weeks, tmp_path)
    text = (tmp_path / CAMPAIGN).read_text("utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script>alert" not in text


def test_another_language_is_written_anew(weeks: Weeks, tmp_path: Path) -> None:
    """Nothing of the earlier one stays."""
    write(weeks, tmp_path)
    write(weeks, tmp_path, "zh")
    assert '<html lang="zh' in (tmp_path / CAMPAIGN).read_text("utf-8")


def test_a_lost_file_is_written_again(weeks: Weeks, tmp_path: Path) -> None:
    """The record of what was written does not stand in for the file."""
    write(weeks, tmp_path)
    (tmp_path / CAMPAIGN).unlink()
    assert write(weeks, tmp_path).written == 1
    assert (tmp_path / CAMPAIGN).is_file()


def test_a_damaged_record_costs_time_and_no_page(weeks: Weeks, tmp_path: Path) -> None:
    """All is written again."""
    first = write(weeks, tmp_path)
    (tmp_path / static.RECORD).write_text("[1,")
    assert write(weeks, tmp_path).written == first.written


def test_pages_of_a_deleted_campaign_are_removed_and_strange_files_are_not(
    weeks: Weeks, tmp_path: Path
) -> None:
    """Only what an earlier run wrote is removed."""
    write(weeks, tmp_path)
    strange = tmp_path / "campaigns" / "week-000" / "mine.txt"
    strange.write_text("mine")
    weeks.store.delete_campaign("week-000")
    found = write(weeks, tmp_path)
    assert found.removed > 2
    assert not (tmp_path / CAMPAIGN).exists()
    assert strange.read_text() == "mine"
    assert not (tmp_path / "campaigns" / "week-000" / "trials").exists()


def test_trials_of_large_campaigns_have_no_pages(
    weeks: Weeks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The campaign's page has their figures and no link."""
    monkeypatch.setattr(page, "MOST_TRIAL_PAGES", 3)
    write(weeks, tmp_path / "site")
    assert not list((tmp_path / "site").rglob("trials/*"))
    assert broken((tmp_path / "site").resolve()) == []


def test_long_lists_have_several_pages(
    weeks: Weeks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each leads to the next."""
    monkeypatch.setattr(static.campaigns, "_LENGTH_AS_FILE", 3)
    write(weeks, tmp_path / "site")
    assert 'href="../campaigns/_2/index.html"' in (
        tmp_path / "site" / "campaigns" / "index.html"
    ).read_text("utf-8")
    assert broken((tmp_path / "site").resolve()) == []


def test_an_empty_store_is_a_site_that_says_what_to_do(tmp_path: Path) -> None:
    """And has no dead link."""
    with weekly.installation(tmp_path / "home") as empty:
        write(empty, tmp_path / "site")
    assert "benchlab run sysbench_local" in (tmp_path / "site" / "index.html").read_text("utf-8")
    assert broken((tmp_path / "site").resolve()) == []


def test_only_chosen_report_types_are_written(weeks: Weeks, tmp_path: Path) -> None:
    """A public site can have one of several."""
    decide(weeks, other := weeks.add(report="sysbench_secret"))
    chosen = replace(site(weeks), reports=frozenset({REPORT}))
    static.write(chosen, folder_at(str(tmp_path / "site"), "", Access()))
    texts = [path.read_text("utf-8") for path in (tmp_path / "site").rglob("*.html")]
    assert not any("sysbench_secret" in text or other in text for text in texts)
