"""`benchlab findings`: each change once, and what people say of it."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator

import pytest

from benchlab.campaign.stored import StoredCampaign
from benchlab.results.store import Store
from tests.builders import campaigns, plans
from tests.builders.findings import WORSE, add
from tests.builders.installation import Here

POINT, INDEX = "oltp_point_select", "oltp_update_index"


@pytest.fixture
def store(here: Here) -> Iterator[Store]:
    """Its store."""
    with Store(here.home.store_url, here.home.objects) as opened:
        yield opened


def test_what_is_published_is_found(here: Here, store: Store) -> None:
    """Once, with its size as the report has it; publishing again adds nothing."""
    assert "No campaign has shown such a change yet." in here.run("findings").stdout
    spec = plans.spec(workloads=[POINT, INDEX], rounds=4, deployments=4)
    made = campaigns.campaign(spec, id="slower")
    store.add_campaign(made)
    for result in campaigns.results_of(made.plan, campaigns.known_change({INDEX: -0.2}, 0.002)):
        store.add_trial("slower", result)
    for _ in range(2):
        StoredCampaign(here.home, store, store.campaign("slower")).publish()
    said = here.run("findings").stdout
    assert said.startswith("1  sysbench_test, Update Index\n    Throughput -20.00% (")
    assert "10.11.5 vs. 10.2.11: slower\n" in said
    assert "Marked as noise: 0, too few to show whether false findings favour a side." in said
    assert "Nobody has judged a finding yet" in said
    assert said.count("Update Index") == 1


def test_what_is_said_of_a_finding_is_kept_and_taken_back(here: Here, store: Store) -> None:
    """In the name of who is logged in; the list has it no more, unless all are asked for."""
    add(store, "c1", WORSE)
    add(store, "c2", {INDEX: ("improvement", "equivalent")}, report="another")
    link = "https://example.org/7"
    done = here.run("findings", "mark", 1, "known", "--note", "a  new default", "--link", link)
    assert done.stdout == "finding 1, sysbench_test, Point Select: known\n"
    left = here.run("findings").stdout
    assert "Point Select" not in left
    assert "1 in other states; `--all` lists all." in left
    every = here.run("findings", "--all").stdout
    assert f"    known, by {getpass.getuser()}, 20" in every
    assert f"; a new default; {link}\n" in every
    assert "Point Select" in here.run("findings", "--state", "known").stdout
    assert "Point Select" not in here.run("findings", "--all", "--workload", INDEX).stdout
    assert "Point Select" not in here.run("findings", "--all", "--report", "another").stdout
    document = json.loads(here.run("findings", "--state", "known", "--json").stdout)
    (found,) = document["findings"]
    assert (found["id"], found["first"]["id"], found["newest"]["id"]) == (1, "c1", "c1")
    assert [one["metric"] for one in found["changes"]] == ["tps"]
    assert found["history"][0]["note"] == "a new default"
    assert document["trust"][0].startswith("1 of 1 judged findings are right: 100%")
    assert here.run("findings", "undo", 1).stdout.endswith("Point Select: new\n")


def test_what_a_campaign_closed_is_said_to_be(here: Here, store: Store) -> None:
    """With the campaign."""
    add(store, "c1", WORSE, days=-2)
    add(store, "c2", {POINT: ("equivalent", "equivalent")}, ("10.2.11", "11.4.5"))
    assert "    fixed, closed by c2, 20" in here.run("findings", "--all").stdout


def test_what_cannot_be_said_is_refused(here: Here, store: Store) -> None:
    """An unknown finding or state, a link that is none, nothing to take back."""
    add(store, "c1", WORSE)
    for arguments, why in (
        (("mark", 7, "known"), "no campaign shows a finding 7; see `benchlab findings --all`"),
        (("mark", 1, "known", "--link", "TICKET-7"), "link 'TICKET-7'...: write an address with"),
        (("undo", 1), "finding 1: nobody has judged it; nothing to take back"),
        (("mark", 1, "odd"), "'odd' is not one of"),
    ):
        done = here.run("findings", *arguments)
        assert done.returncode != 0
        assert why in done.stderr
