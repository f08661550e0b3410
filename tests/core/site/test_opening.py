"""The two sentences that everything about a campaign opens with."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from upath import UPath

from benchlab.campaign.outcome import Comparer
from benchlab.home import Home
from benchlab.language import codes, load
from benchlab.report.formats import pages, terminal
from benchlab.report.model.report import Report, build
from benchlab.report.notifications import events
from benchlab.report.sentences import opening
from benchlab.results.records import STOPPED
from benchlab.results.store import Store
from benchlab.site import campaign as campaign_page
from benchlab.site import documents
from benchlab.site.page import Site, render
from tests.builders import campaigns, plans
from tests.builders.installation import ROOT

SINGLE = {"sides": "single", "engines": {"mariadb": {"baseline": {"version": "10.2.11"}}}}
POINT, INDEX = "oltp_point_select", "oltp_update_index"
# Changes of throughput, fields of the campaign, and the beginning of the answer.
CASES: dict[str, tuple[dict[str, float], dict[str, Any], str]] = {
    "faster and slower": (
        {INDEX: 0.2, POINT: -0.1},
        {"rounds": 4},
        "10.11.5 is slower at Point Select (-10.0%); faster at Update Index (+20.0%).",
    ),
    "no answer": ({}, {"rounds": 2}, "No answer for the two workloads."),
    "one without": (
        {INDEX: 0.2},
        {"rounds": 4},
        "10.11.5 is faster at Update Index (+20.0%); no answer for Point Select.",
    ),
    "equivalent": (
        {},
        {"rounds": 8, "deployments": 8},
        "10.11.5 is equivalent at Point Select and Update Index.",
    ),
    "slowed down": (
        {INDEX: -0.3},
        {"rounds": 4, "slowdown_pct": 30},
        "10.11.5 (slowed down by 30% on purpose) is slower at Update Index (-30.0%); no",
    ),
    "A/A": (
        {INDEX: -0.3},
        {"rounds": 4, "sides": "same"},
        "A/A campaign of 10.2.11: 1 false alarm, Update Index TPS (-30.0%); no answer for Point",
    ),
    "one version": (
        {},
        SINGLE,
        "10.2.11 reaches 2,828.4 TPS at Point Select (8 threads) and 2,828.4 TPS at Update Index",
    ),
}


@pytest.fixture
def store(tmp_path: Path) -> Any:
    """An empty store."""
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as opened:
        yield opened


def site_of(store: Store, root: Path, code: str = "en", **fields: Any) -> Site:
    """The site over a store."""
    return Site(Home(ROOT, root), store, load(code), plans.START, **fields)


def add(
    store: Store,
    changes: dict[str, float],
    measured: int | None = None,
    state: Any = "complete",
    environment: dict[str, str] | None = None,
    **fields: Any,
) -> str:
    """A campaign in the store, of whose trials so many are measured."""
    made = campaigns.campaign(**fields)
    made.environment.update(environment or {})
    store.add_campaign(made)
    tps = campaigns.known_change(changes, noise=0.0005)
    for result in campaigns.results_of(made.plan, tps)[:measured]:
        store.add_trial(made.id, result)
    if state == "running":
        store.reopen(made.id)
    elif state == "failed":
        store.finish(made.id, state)
    return made.id


def report_of(site: Site, campaign: str) -> Report:
    """The report on a stored campaign, in the site's language."""
    found = Comparer(site.home, site.store).outcome(site.store.campaign(campaign))
    return build(found.campaign, found.comparison, found.trials, language=site.language)


def plain(text: str) -> str:
    """Without the marks of HTML and Markdown, on one line."""
    text = unescape(re.sub(r"<[^>]+>", " ", text))
    return " ".join(text.replace("\\", "").replace("**", "").split())


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("code", codes())
def test_everything_opens_with_the_same_two_sentences(
    store: Store, tmp_path: Path, case: str, code: str
) -> None:
    """Word for word: pages of site and report, Markdown, comment, note, message, terminal, JSON."""
    changes, fields, begins = CASES[case]
    name = add(store, changes, **fields)
    site = site_of(store, tmp_path, code)
    report = report_of(site, name)
    first, second = opening.sentences(report)
    said = f"{first} {second}" if code == "en" else f"{first}{second}"
    assert opening.text(report) == said
    if code == "en":
        assert first.startswith(begins)
    both = f"{first} {second}"
    for as_files in (False, True):
        page = campaign_page.campaign(site_of(store, tmp_path, code, as_files=as_files), name)
        shown = render(site, page)
        answer = re.search(r'<p class="answer"[^>]*>.*?</p>', shown, re.DOTALL)
        assert answer is not None
        assert plain(answer[0]) == both
        assert not re.search("<svg|<table", shown[: answer.start()])
    html, markdown = pages.html(report), pages.markdown(report)
    assert both in plain(html[: re.search("<svg|<table", html).start()])  # type: ignore[union-attr]
    assert both in plain(markdown.partition("\n|")[0])
    assert both in plain(pages.comment(report).partition("\n|")[0])
    assert plain(pages.note(report, 10_000)).startswith(plain(said))
    assert json.loads(documents.text(site, campaign_page.campaign(site, name)))["answer"] == said
    for event in events.of_verdicts(report) if report.has_verdicts else ():
        assert event.lead[:2] == (first, second)
    if code == "en":
        printed = " ".join(terminal.render(report, 100, colour=False).split())
        assert printed.partition("Test Report")[2].partition(both)[0].count(" ") < 12


def test_a_campaign_that_runs_or_stopped_says_so(store: Store, tmp_path: Path) -> None:
    """How many trials there are so far; once it has ended its answer is no answer so far."""
    site = site_of(store, tmp_path)
    running = report_of(site, add(store, {}, 8, "running", id="c1", rounds=4))
    assert opening.sentence(running).startswith("So far: ")
    assert "8 of 32 trials valid so far, with more to come" in opening.trust(running)
    told: dict[str, Any] = {"state": "failed", "environment": {STOPPED: "limit"}}
    ended = report_of(site, add(store, {}, 8, id="c2", rounds=4, **told))
    assert "So far" not in opening.text(ended)
    assert "8 of 32 trials valid, and measuring stopped early" in opening.trust(ended)


def test_how_far_an_answer_can_be_trusted_is_in_figures(store: Store, tmp_path: Path) -> None:
    """Trials that were measured again, machine, length, deployments, and what can be noise."""
    made = campaigns.campaign(rounds=4, deployments=4)
    store.add_campaign(made)
    for result in campaigns.results_of(made.plan, campaigns.known_change({}, noise=0.02)):
        store.add_trial(made.id, result)
    again = [one for one in made.plan.trials if one.pair == made.plan.trials[0].pair]
    for trial in again:
        store.add_trial(made.id, campaigns.trial_result(trial, attempt=2))
    said = opening.trust(report_of(site_of(store, tmp_path), made.id))
    start = f"32 of 32 trials valid, {len(again)} measured again; 2 shared cores, trials of 4 s, "
    assert re.fullmatch(
        re.escape(start) + r"4 deployments per side: changes of up to [\d.]+%( to [\d.]+%, by "
        r"workload,)? can be noise\.",
        said,
    )
