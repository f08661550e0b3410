"""`benchlab spending`: what a month has cost and may still cost; `configs/budget.yaml`."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime, timedelta

import pytest

from benchlab.results.spending import Record, month_of
from benchlab.results.store import Store
from tests.builders.installation import Here

AT = datetime(2026, 11, 2, 3, tzinfo=UTC)


def record(name: str, report: str, dollars: float, vcpus: int = 72) -> Record:
    """A campaign that may cost so much."""
    held = Record(name, report, month_of(AT), AT, AT + timedelta(hours=4), dollars)
    return dataclasses.replace(held, region="us-west-2", vcpus=vcpus)


@pytest.fixture
def spent(here: Here) -> Here:
    """An installation with two campaigns of one report type and one of another."""
    with Store(here.home.store_url, here.home.objects) as store:
        for one in (record("w1", "weekly", 90), record("w2", "weekly", 90), record("n1", "n", 30)):
            store.spending.begin(one, lambda _: None)
        store.spending.end("w1", 1029.5)
        store.spending.keep("w2", 12.25, None)
    return here


def test_a_month_is_shown_by_report_type_and_campaign(spent: Here) -> None:
    """Spent, committed, limit, and the vCPUs that are held now; a month without campaigns too."""
    (spent.home.configs / "budget.yaml").write_text("month: 2000\n")
    said = spent.run("spending", "--month", "2026-11").stdout
    first, *lines = said.splitlines()
    assert first == (
        "2026-11: 1,041.75 dollars are spent, and up to 107.75 more committed by 2 campaigns, of "
        "2,000.00"
    )
    assert lines[0] == "held now in us-west-2: 144 vCPUs"
    rows = [line.split() for line in lines]
    assert ["weekly", "2", "in", "all", "1,041.75", "77.75"] in rows
    assert ["w1", "1,029.50", "72", "us-west-2"] in rows
    assert ["w2", "12.25", "77.75", "72", "us-west-2"] in rows
    nothing = spent.run("spending", "--month", "2026-10").stdout
    assert nothing.startswith("2026-10: 0.00 dollars are spent, of 2,000.00\n")
    wrong = spent.run("spending", "--month", "2026-13")
    assert (wrong.returncode, "write a month as YYYY-MM" in wrong.stderr) == (2, True)


def test_it_is_there_as_json(spent: Here) -> None:
    """With no limit where none is written."""
    found = json.loads(spent.run("spending", "--month", "2026-11", "--json").stdout)
    assert (found["spent"], found["committed"], found["limit"]) == (1041.75, 107.75, None)
    assert found["vcpus"] == {"us-west-2": 144}
    assert [one["id"] for one in found["campaigns"]] == ["n1", "w1", "w2"]
    assert [one["ended_at"] is None for one in found["campaigns"]] == [True, False, True]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("month: -1", "month"),
        ("monthly: 10", "monthly"),
        ("approve_own: false\napprovers: {ada: '1'}", "name at least two `approvers`"),
    ],
    ids=["negative", "unknown", "nobody-left"],
)
def test_a_faulty_budget_is_named(here: Here, text: str, fault: str) -> None:
    """By the command that checks it, and by the one that uses it."""
    file = here.home.configs / "budget.yaml"
    assert here.run("validate", file).returncode == 0, "as it is shipped"
    file.write_text(text)
    for command in (("validate", file), ("spending",)):
        refused = here.refused(*command)
        assert "budget.yaml" in refused
        assert fault in refused
