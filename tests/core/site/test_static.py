"""The site as plain files: whole, linked, and written again only where something has changed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import jsonschema
import pytest

from benchlab.analysis.verdict.compare import verdicts_of
from benchlab.campaign.outcome import Comparer
from benchlab.hosts.access import Access
from benchlab.language import load
from benchlab.results.records import Remarks, StoredVerdict
from benchlab.site import campaign, campaigns, history, page, static
from benchlab.site.page import Site
from benchlab.site.static import Written, folder_at
from tests.builders import weekly
from tests.builders.weekly import POINT, REPORT, Weeks

NOW = datetime(2024, 6, 1, tzinfo=UTC)
CAMPAIGN = "campaigns/week-000/index.html"
SCHEMA = Path(__file__).parents[2] / "golden" / "site" / "schema.json"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three weeks and an A/A campaign with verdicts, one with a report; and their site."""
    path = tmp_path_factory.mktemp("made")
    with weekly.installation(path / "home") as opened:
        for _ in range(3):
            decide(opened, opened.add())
        decide(opened, opened.add_aa(0.002))
        report = opened.home.reports / "week-000"
        (report / "charts").mkdir(parents=True)
        (report / "report.html").write_text("<h1>The report</h1>")
        (report / "charts" / "overview.svg").write_text("<svg/>")
        write(opened, path / "site")
    return path


@pytest.fixture
def to(made: Path, tmp_path: Path) -> Path:
    """A copy of the written site."""
    return Path(shutil.copytree(made / "site", tmp_path / "site")).resolve()


@pytest.fixture
def weeks(made: Path, tmp_path: Path) -> Iterator[Weeks]:
    """A copy of what was measured."""
    shutil.copytree(made / "home", tmp_path / "home")
    with weekly.installation(tmp_path / "home", measured=4) as opened:
        yield opened


def decide(weeks: Weeks, name: str) -> None:
    """Keep the verdicts of a campaign, as publishing it does."""
    outcome = Comparer(weeks.home, weeks.store).outcome(weeks.store.campaign(name))
    weeks.store.set_verdicts(name, verdicts_of(outcome.comparison))


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


def changed(to: Path, before: dict[str, int]) -> set[str]:
    """The files that were written or removed since ``before``, without the record of all."""
    after = times(to)
    names = before.keys() | after.keys()
    return {name for name in names if before.get(name) != after.get(name)} - {static.RECORD}


def test_every_link_leads_to_a_file_and_every_file_is_linked(to: Path) -> None:
    """A copy of the folder is the whole site."""
    assert broken(to) == []
    linked = {
        (path.parent / unquote(urlsplit(link).path)).resolve()
        for path in to.rglob("index.html")
        for link in Links(path.read_text("utf-8")).to
    }
    unreached = set(to.rglob("*")) - linked - {to / static.RECORD}
    assert [path for path in unreached if path.is_file()] == []


KINDS = {
    "": "Overview",
    "findings/": "Findings",
    "campaigns/": "Campaigns",
    "campaigns/[^/]+/": "OneCampaign",
    "campaigns/[^/]+/trials/[^/]+/": "Trial",
    "history/": "Workloads",
    "history/[^/]+/[^/]+/": "History",
}


def test_beside_each_page_lies_its_document(to: Path) -> None:
    """By the schema that programs rely on, as a server answers it."""
    schemas, seen = json.loads(SCHEMA.read_text()), set[str]()
    for path in to.rglob("index.html"):
        document = json.loads(path.with_name("index.json").read_text("utf-8"))
        place = "".join(f"{part}/" for part in path.parent.relative_to(to).parts)
        (kind,) = [name for form, name in KINDS.items() if re.fullmatch(form, place)]
        jsonschema.validate(document, schemas[kind])
        assert (document["place"], document["format"]) == (place, schemas["format"])
        seen.add(kind)
    assert seen == {*KINDS.values()}


def test_it_has_overview_campaigns_trials_reports_and_histories(weeks: Weeks, to: Path) -> None:
    """Everything that a team without accounts asks for."""
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
    } <= times(to).keys()


def test_what_has_not_changed_is_neither_made_nor_written_again(
    weeks: Weeks, to: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site of a thousand campaigns is renewed by the few files that differ."""
    made: list[str] = []
    monkeypatch.setattr(campaign, "campaign", lambda site, name: made.append(name))
    monkeypatch.setattr(history, "history", lambda site, *names: made.append(names[0]))
    before = times(to)
    assert write(weeks, to) == Written(0, len(before) - 1, 0)
    assert (made, changed(to, before)) == ([], set())


def test_a_new_campaign_changes_the_lists_and_not_the_earlier_campaigns(
    weeks: Weeks, to: Path
) -> None:
    """Its own page, the lists and the history are new."""
    before = times(to)
    decide(weeks, new := weeks.add())
    write(weeks, to)
    found = changed(to, before)
    assert {"index.html", "campaigns/index.html", f"history/{REPORT}/{POINT}/index.html"} < found
    assert {name.split("/")[1] for name in found if name.startswith("campaigns/week-")} == {new}


def test_a_new_aa_campaign_renews_the_pages_whose_intervals_it_changes(
    weeks: Weeks, to: Path
) -> None:
    """What a page rests on is more than its own campaign."""
    before = times(to)
    decide(weeks, weeks.add_aa(0.02))
    write(weeks, to)
    assert CAMPAIGN in changed(to, before)


def test_a_note_on_a_campaign_is_on_its_page(weeks: Weeks, to: Path) -> None:
    """Hostile text stays text."""
    weeks.store.set_remarks("week-000", Remarks(note="<script>alert(1)</script>"))
    write(weeks, to)
    text = (to / CAMPAIGN).read_text("utf-8")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<script>alert" not in text


def test_what_people_say_of_a_change_is_on_the_pages_of_its_campaigns(
    weeks: Weeks, to: Path
) -> None:
    """Said after they were written; other campaigns' pages stay."""
    slower = StoredVerdict(POINT, "tps", "regression", -10.0, -11.0, -9.0, 0.001, rule=6)
    weeks.store.set_verdicts("week-000", [slower])
    write(weeks, to)
    before = times(to)
    (found,) = weeks.store.findings.found()
    weeks.store.findings.mark(found.id, "known", "ann", "a new default")
    write(weeks, to)
    assert "a new default" in (to / CAMPAIGN).read_text("utf-8")
    document = json.loads((to / CAMPAIGN).with_name("index.json").read_text("utf-8"))
    assert document["findings"][0]["history"][0]["note"] == "a new default"
    pages = {name for name in changed(to, before) if name.startswith("campaigns/week-")}
    assert {name.split("/")[1] for name in pages} == {"week-000"}


def test_another_language_is_written_anew(weeks: Weeks, to: Path) -> None:
    """Nothing of the earlier one stays."""
    write(weeks, to, "zh")
    pages = [path.read_text("utf-8") for path in to.rglob("index.html")]
    assert all('<html lang="zh' in text for text in pages)
    assert broken(to) == []


def test_lost_files_are_written_again(weeks: Weeks, to: Path) -> None:
    """The record of what was written does not stand in for a file."""
    (to / CAMPAIGN).unlink()
    assert write(weeks, to).written == 1
    assert (to / CAMPAIGN).is_file()


def test_a_damaged_record_costs_time_and_no_page(weeks: Weeks, to: Path) -> None:
    """All is written again."""
    count = len(times(to)) - 1
    (to / static.RECORD).write_text("[1,")
    assert write(weeks, to) == Written(count, 0, 0)


def test_pages_of_a_deleted_campaign_are_removed_and_strange_files_are_not(
    weeks: Weeks, to: Path
) -> None:
    """Only what an earlier run wrote is removed."""
    strange = to / "campaigns" / "week-000" / "mine.txt"
    strange.write_text("mine")
    weeks.store.delete_campaign("week-000")
    write(weeks, to)
    assert [path for path in strange.parent.rglob("*") if path != strange] == []
    assert strange.read_text() == "mine"


def test_trials_of_large_campaigns_have_no_pages(
    weeks: Weeks, to: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The campaign's page has their figures and no link."""
    monkeypatch.setattr(page, "MOST_TRIAL_PAGES", 3)
    (to / static.RECORD).unlink()
    shutil.rmtree(to / "campaigns")
    write(weeks, to)
    assert not list(to.rglob("trials/*"))
    assert broken(to) == []


def test_long_lists_have_several_pages(
    weeks: Weeks, to: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each leads to the next."""
    monkeypatch.setattr(campaigns, "_LENGTH_AS_FILE", 3)
    write(weeks, to)
    assert 'href="../campaigns/_2/index.html"' in (to / "campaigns" / "index.html").read_text()
    assert broken(to) == []


def test_an_empty_store_is_a_site_that_says_what_to_do(tmp_path: Path) -> None:
    """And has no dead link."""
    to = (tmp_path / "site").resolve()
    with weekly.installation(tmp_path / "home") as empty:
        write(empty, to)
    assert "benchlab run sysbench_local" in (to / "index.html").read_text("utf-8")
    assert broken(to) == []


def test_only_chosen_report_types_are_written(weeks: Weeks, to: Path) -> None:
    """A public site can have one of several."""
    decide(weeks, other := weeks.add(report="sysbench_secret"))
    chosen = replace(site(weeks), reports=frozenset({REPORT}))
    static.write(chosen, folder_at(str(to), "", Access()))
    texts = [path.read_text("utf-8") for path in to.rglob("*.html")]
    assert not any("sysbench_secret" in text or other in text for text in texts)
