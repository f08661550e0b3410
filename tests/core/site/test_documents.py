"""Every page as JSON: what it shows, in a form that programs can rely on."""

from __future__ import annotations

import dataclasses
import inspect
import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest

from benchlab.language import load
from benchlab.results.records import Remarks, StoredVerdict
from benchlab.site import (
    campaign,
    campaigns,
    documents,
    findings,
    history,
    overview,
    plan,
    side_by_side,
    trial,
    two_versions,
)
from benchlab.site.documents import Document
from benchlab.site.page import NoSuchPage, Page, Site
from tests.builders import campaigns as stored
from tests.builders import weekly
from tests.builders.weekly import POINT, REPORT

Found = TypeVar("Found", bound=Document)
SCHEMA = Path(__file__).parents[2] / "golden" / "site" / "schema.json"
NEWEST = "week-013"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Fourteen weeks, from the eighth on 10 % slower, which the newest campaign has found."""
    with weekly.installation(tmp_path_factory.mktemp("documents")) as weeks:
        weekly.regression(weeks)
        slower = StoredVerdict(POINT, "tps", "regression", -10.0, -11.0, -9.0, 0.001, rule=6)
        weeks.store.set_verdicts(NEWEST, [slower])
        weeks.store.findings.mark(1, "known", "ann", "a new default")
        weeks.store.set_remarks(NEWEST, Remarks("slow disk", ("before",)))
        yield Site(weeks.home, weeks.store, load("en"), datetime(2024, 6, 1, tzinfo=UTC))


def read(site: Site, page: Page, kind: type[Found]) -> Found:
    """A page as a program reads it; nothing that the model does not promise is in it."""
    said = documents.text(site, page)
    found = kind.model_validate_json(said, strict=False)
    assert found.model_dump_json(indent=1) == said
    assert (found.format, found.place, found.title) == (1, page.place, page.title)
    return found


def test_each_page_is_a_document_of_its_kind(site: Site) -> None:
    """What a person sees there, with figures as numbers."""
    first = read(site, overview.overview(site), documents.Overview)
    assert (first.all_is_well, [one.id for one in first.failing]) == (True, [])
    assert first.not_judged == {"regression": 0, "improvement": 0}
    assert [one.dollars_this_month for one in first.reports if one.report == REPORT] == [0.0]
    assert "Nobody is notified" in first.notices[0]
    (finding,) = read(site, findings.findings(site), documents.Findings).findings
    assert (finding.state, finding.history[0].by) == ("known", "ann")
    assert finding.changes[0].ci95_pct == (-11.0, -9.0)
    asked = campaigns.Filter.asked({"verdict": "regression"})
    listed = read(site, campaigns.campaigns(site, asked), documents.Campaigns)
    assert [one.id for one in listed.campaigns] == [NEWEST]
    one = read(site, campaign.campaign(site, NEWEST), documents.OneCampaign)
    assert one.report["workloads"][0]["verdict"] == "regression"
    assert (one.findings, one.note, one.tags) == ((finding,), "slow disk", ("before",))
    planned = site.store.campaign(NEWEST).plan.trials[0]
    read_trial = read(site, trial.trial(site, NEWEST, planned.id), documents.Trial)
    (attempt,) = read_trial.attempts
    assert "tps" in {sample.metric for sample in attempt.samples}
    view = read(site, history.history(site, REPORT, POINT), documents.History)
    assert view.long_view["chains"][0]["change_points"]
    known = read(site, history.workloads(site), documents.Workloads)
    assert known.measured == {REPORT: (POINT,)}
    planning = read(site, plan.plan(site, {"report": ["sysbench_local"]}), documents.Plan)
    assert planning.command == "benchlab run sysbench_local"


def test_what_is_at_work_is_in_the_first_document(tmp_path: Path) -> None:
    """As far as it is known: a campaign that noted nothing has no step, and no time is invented."""
    with weekly.installation(tmp_path) as weeks:
        weeks.store.add_campaign(dataclasses.replace(stored.campaign(), state="running"))
        site = Site(weeks.home, weeks.store, load("en"), datetime(2024, 6, 1, tzinfo=UTC))
        (work,) = read(site, overview.overview(site), documents.Overview).at_work
    assert (work.campaign, work.done, work.step, work.dollars) == ("c1", 0, None, None)
    assert work.seconds_left is None or work.seconds_left > 0


def test_what_is_compared_is_a_document(site: Site) -> None:
    """Two campaigns, two versions; and neither, where nothing was asked for."""
    two = side_by_side.side_by_side(site, "week-006", NEWEST)
    beside = read(site, two, documents.TwoCampaigns)
    assert beside.campaigns == ("week-006", NEWEST)
    _, second = beside.rows[0].lines
    assert second
    assert second.found == "regression"
    page = two_versions.two_versions(site, REPORT, "10.2.11", "11.4.5")
    (row,) = read(site, page, documents.TwoVersions).rows
    assert (row.workload, row.metric, row.campaigns is not None) == (POINT, "throughput", True)
    empty = read(site, side_by_side.side_by_side(site), documents.TwoCampaigns)
    assert empty.rows == ()


def test_a_document_names_no_place_of_the_server(site: Site) -> None:
    """As pages do not: programs may be run by people who may not know them."""
    said = {
        f"{site.home.root}/objects": "$BENCHLAB_HOME/objects",
        'no "answer" of mysql+pymysql://ann:secret@db/one': 'no "answer" of BENCHLAB_STORE_URL',
    }
    for text, shown in said.items():
        page = Page("nowhere/", "", "Problem", "problem.html.j2", {"text": text})
        assert json.loads(documents.text(site, page))["text"] == shown


def test_a_part_of_a_page_has_no_document(site: Site) -> None:
    """It is asked for again by open pages alone."""
    with pytest.raises(NoSuchPage, match="format=json"):
        documents.text(dataclasses.replace(site, as_json=True), overview.at_work(site))


def test_the_form_of_documents_changes_with_its_number_alone() -> None:
    """Programs rely on it: who changes a model decides whether its readers have to be told."""
    kinds = [kind for _, kind in inspect.getmembers(documents, inspect.isclass)]
    schema = {
        kind.__name__: kind.model_json_schema()
        for kind in kinds
        if issubclass(kind, Document) and kind is not Document
    }
    said = json.dumps({"format": documents.FORMAT, **schema}, indent=1, sort_keys=True) + "\n"
    if os.environ.get("BENCHLAB_UPDATE_GOLDEN"):
        SCHEMA.parent.mkdir(exist_ok=True)
        SCHEMA.write_text(said)
    assert SCHEMA.read_text() == said
