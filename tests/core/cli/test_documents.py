"""``--json`` of a command has the document of the page that shows the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from benchlab.language import english
from benchlab.results.records import StoredVerdict
from benchlab.results.store import open_store
from benchlab.site import campaign, campaigns, documents, findings, history
from benchlab.site.page import Site
from tests.builders import weekly
from tests.builders.installation import Here
from tests.builders.weekly import POINT, REPORT, Weeks


@pytest.fixture
def site(here: Here) -> Iterator[Site]:
    """Fourteen weeks with a change, and a finding."""
    with open_store(here.home) as store:
        weekly.regression(Weeks(here.home, store))
        slower = StoredVerdict(POINT, "tps", "regression", -10.0, -11.0, -9.0, 0.001, rule=6)
        store.set_verdicts("week-013", [slower])
        yield Site(here.home, store, english(), datetime.now(UTC))


def test_a_command_and_its_page_have_one_document(here: Here, site: Site) -> None:
    """Who reads one can read the other: campaigns, a campaign, findings, a history."""
    listed = campaigns.Filter(verdict="regression")
    pages = {
        ("campaigns", "--verdict", "regression"): campaigns.campaigns(site, listed),
        ("compare", "week-013"): campaign.campaign(site, "week-013"),
        ("findings", "--all"): findings.findings(site),
        ("history", POINT, "--report", REPORT): history.history(site, REPORT, POINT),
    }
    for command, page in pages.items():
        done = here.run(*command, "--json")
        assert done.stdout == f"{documents.text(site, page)}\n", command


def test_a_list_is_whole_however_long(here: Here, site: Site) -> None:
    """A page has fifty; the command has all, or as many as were asked for."""
    assert len(json.loads(here.run("campaigns", "--json").stdout)["campaigns"]) == 14
    few = json.loads(here.run("campaigns", "--limit", "3", "--json").stdout)
    assert (len(few["campaigns"]), few["count"], few["pages"]) == (3, 14, 5)


def test_the_history_of_several_report_types_is_not_one_document(here: Here) -> None:
    """The command asks which of them is wanted."""
    with open_store(here.home) as store:
        weeks = Weeks(here.home, store)
        for report in ("one", "two"):
            weeks.add("10.2.11", "10.11.5", report=report)
    assert "--report, one of one, two" in here.refused("history", POINT, "--json")
