"""The page of findings: each change once, what people say of it, and how far to trust them."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from upath import UPath

from benchlab.home import Home
from benchlab.language import load
from benchlab.results.store import Store
from benchlab.site import feed, findings
from benchlab.site.page import Site, render
from tests.builders.findings import WORSE, add

ROOT = Path(__file__).parents[3]
POINT, INDEX = "oltp_point_select", "oltp_update_index"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """The site of an empty store."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        yield Site(Home(ROOT, tmp_path), store, load("en"), datetime.now(UTC))


def shown(site: Site, **query: Any) -> str:
    """The page's HTML."""
    return render(site, findings.findings(site, **query))


def read(site: Site, **query: Any) -> str:
    """What a person reads of it, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", shown(site, **query))).split())


def judge(site: Site, states: list[str]) -> None:
    """A finding of its own for each of these states."""
    for number, state in enumerate(states, 1):
        add(site.store, f"c{number}", WORSE, report=f"report_{number}")
        if state != "new":
            site.store.findings.mark(number, state, "ann")  # type: ignore[arg-type]


def test_a_finding_has_one_row_with_all_its_metrics(site: Site) -> None:
    """Since when, in how many campaigns, and by how much as the newest shows it."""
    add(site.store, "first", WORSE, days=-9)
    add(site.store, "second", {POINT: ("regression", "regression")}, ("10.2.11", "11.4.5"))
    page = read(site)
    changes = "▼ -8.2% Throughput (-9.9% to -6.4%) ▼ -8.2% p95 latency (-9.9% to -6.4%)"
    assert f"1 Point Select sysbench_test {changes} 10.11.5 vs. 10.2.11 20" in page
    assert "UTC 2 campaigns, the newest new" in page
    assert page.count("Point Select") == 1


def test_findings_are_filtered_by_the_address(site: Site) -> None:
    """By state, report type and workload; what matches nothing leads on."""
    add(site.store, "c1", WORSE)
    add(site.store, "c2", {INDEX: ("improvement", "equivalent")}, report="another")
    site.store.findings.mark(2, "wanted", "ann")

    def numbers(**query: Any) -> list[str]:
        return re.findall(r'<tr id="finding-(\d+)">', shown(site, **query))

    assert sorted(numbers()) == ["1", "2"]
    assert numbers(state="new") == numbers(workload=POINT) == numbers(report="sysbench_test")
    assert numbers(state="wanted") == numbers(report="another") == ["2"]
    assert numbers(state="noise") == []
    assert "0 of 0 that match, of 2 findings. All findings" in read(site, state="noise")
    hidden = dataclasses.replace(site, reports={"another"})
    assert "sysbench_test" not in shown(hidden)


def test_a_long_list_says_what_it_leaves_out(site: Site) -> None:
    """The newest are shown; as a file, which has no filter, all."""
    judge(site, ["new"] * 202)
    assert shown(site).count("<tr id=") == 200
    assert "200 of 202 that match, of 202 findings." in read(site)
    as_file = shown(dataclasses.replace(site, as_files=True))
    assert as_file.count("<tr id=") == 202
    assert "<form" not in as_file


def test_what_people_said_is_there_with_its_history(site: Site) -> None:
    """And the form leads back to the list as it was filtered."""
    add(site.store, "c1", WORSE)
    kept = site.store.findings
    kept.mark(1, "fixed", "ann", "reverted", "https://example.org/7")
    add(site.store, "again", WORSE, days=1)
    page = read(site)
    assert re.search(r"new shown again , 20\S+ \S+ UTC History \(2\) fixed by ann, 20", page)
    assert "reverted https://example.org/7" in page
    allowed = shown(dataclasses.replace(site, may_change=True, guard="g-1"), report="sysbench_test")
    assert 'name="place" value="findings/?report=sysbench_test"' in allowed
    assert '<button name="state" value="back" formnovalidate>Take back' in allowed
    assert "<form" not in shown(site).replace('<form method="get"', "")


def test_what_a_campaign_closed_names_it(site: Site) -> None:
    """On the page and in the feed; whether it was right nobody has said."""
    add(site.store, "c1", WORSE, days=-2)
    add(site.store, "c2", {POINT: ("equivalent", "equivalent")}, ("10.2.11", "11.4.5"))
    page = read(site)
    assert "fixed closed by c2 , 20" in page
    assert "Nobody has judged a finding yet" in page
    assert "fixed, closed by c2" in json.loads(feed.feed(site, "json"))["items"][0]["content_text"]


NOBODY = "Nobody has judged a finding yet, so it is not known how many are right. Not judged: 3."
SOME = "3 of 4 judged findings are right: 75% (95% interval 19% to 99%). Not judged: 1."
ONE = "1 of 1 judged findings are right: 100% (95% interval 2% to 100%). Not judged: 0."
NONE = "0 of 6 judged findings are right: 0% (95% interval 0% to 46%). Not judged: 0."
BIAS = (
    "6 of 6 false findings are regressions; without a bias about 3.0 would be (p = 0.031): "
    "something favours the baseline, unless improvements are judged less often (not judged: 0). "
    "An A/A campaign would show it."
)


@pytest.mark.parametrize(
    ("states", "right", "even"),
    [
        (["new"] * 3, NOBODY, "Marked as noise: 0, too few to show"),
        (["known", "wanted", "fixed", "noise", "new"], SOME, "Marked as noise: 1, too few"),
        (["known"], ONE, "Marked as noise: 0, too few"),
        (["noise"] * 6, NONE, BIAS),
    ],
)
def test_trust_is_said_as_far_as_people_have_judged(
    site: Site, states: list[str], right: str, even: str
) -> None:
    """With an exact interval, and no more than the numbers say."""
    judge(site, states)
    page = read(site)
    assert right in page
    assert even in page


def test_a_bias_need_not_be_one_where_the_others_were_not_judged(site: Site) -> None:
    """Whoever judges regressions alone finds regressions alone false."""
    judge(site, ["noise"] * 6)
    add(site.store, "better", {POINT: ("improvement", "equivalent")})
    assert "unless improvements are judged less often (not judged: 1)" in read(site)


@pytest.mark.parametrize(("code", "said"), [("en", "No campaign has shown a change"),
                                            ("zh", "还没有测试活动显示出变化")])  # fmt: skip
def test_an_empty_page_says_so(site: Site, code: str, said: str) -> None:
    """In either language, without claims of trust."""
    page = shown(dataclasses.replace(site, language=load(code)))
    assert said in page
    assert 'class="answer"' not in page


@pytest.mark.parametrize("as_files", [False, True], ids=["server", "files"])
def test_a_feed_has_each_finding_once_the_one_that_changed_last_first(
    site: Site, as_files: bool
) -> None:
    """By what changed, with its state and a way to it; the same in both forms."""
    add(site.store, "first", WORSE, days=-9)
    add(site.store, "other", {INDEX: ("regression", "equivalent")}, report="other_report")
    site.store.findings.mark(1, "known", "ann", "a <new> default")
    site = dataclasses.replace(site, as_files=as_files)
    names = {"a": "http://www.w3.org/2005/Atom"}
    atom = ElementTree.fromstring(feed.feed(site, "atom"))  # noqa: S314 - our own
    entries = atom.findall("a:entry", names)
    titles = [one.findtext("a:title", "", names) for one in entries]
    assert titles == [
        "Point Select: Throughput -8.2% (-9.9% to -6.4%), 10.11.5 vs. 10.2.11, sysbench_test",
        "Update Index: Throughput -8.2% (-9.9% to -6.4%), 10.11.5 vs. 10.2.11, other_report",
    ]
    assert "known, by ann, a <new> default" in entries[0].findtext("a:content", "", names)
    link = entries[0].find("a:link", names)
    assert link is not None
    page = "../findings/index.html" if as_files else "../findings/"
    assert link.get("href") == f"{page}#finding-1"
    assert len({one.findtext("a:id", "", names) for one in (atom, *entries)}) == 3
    items = json.loads(feed.feed(site, "json"))["items"]
    assert [(one["title"], one["url"]) for one in items] == [
        (title, f"{page}#finding-{number}") for number, title in enumerate(titles, 1)
    ]


def test_a_feed_has_what_its_reader_may_see_and_asked_for(site: Site) -> None:
    """A feed without any finding is one all the same."""
    add(site.store, "first", WORSE)
    assert json.loads(feed.feed(site, "json", "sysbench_test", POINT))["items"]
    assert not json.loads(feed.feed(site, "json", "sysbench_test", INDEX))["items"]
    stranger = dataclasses.replace(site, reports=())
    assert not json.loads(feed.feed(stranger, "json"))["items"]
    ElementTree.fromstring(feed.feed(stranger, "atom"))  # noqa: S314
