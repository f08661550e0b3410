"""Questions to the store in SQL: answered by its database, and without a way to change it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchlab.campaign.stored import StoredCampaign
from benchlab.plan.rates import Size, StepTime
from benchlab.results.rows import METADATA
from benchlab.results.store import Store
from tests.builders.installation import Here

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "operate.md"
QUESTIONS = re.findall(r"-- (.+)\n((?:[A-Z ].+\n)+)", GUIDE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("query", [q for _, q in QUESTIONS], ids=[name for name, _ in QUESTIONS])
def test_the_questions_of_the_guide_have_answers(stored: Here, query: str) -> None:
    """A published campaign with a regression, whose steps were timed, answers each of them."""
    with Store(stored.home.store_url, stored.home.objects) as store:
        store.set_step_time("c1", "local", "mariadb", StepTime("load", None, 61.5, Size(1, "rows")))
        StoredCampaign(stored.home, store, store.campaign("c1")).publish()
    (row, *_) = json.loads(stored.run("sql", query, "--json").stdout)
    assert None not in row.values()


def test_the_guide_has_five_questions() -> None:
    """Each with a headline."""
    assert len(QUESTIONS) == 5


def test_an_answer_is_a_table_csv_or_json(stored: Here) -> None:
    """A missing value is missing in each; texts are one line in a table."""
    query = "SELECT id, 1 = 2 AS equal, NULL AS missing, 'a\nb' AS \"text\" FROM campaigns;"
    table = stored.run("sql", query).stdout.splitlines()
    assert table[0].split() == ["id", "equal", "missing", "text"]
    assert table[2].split() == ["c1", "0", "n/a", "a", "b"]
    assert stored.run("sql", query, "--csv").stdout == 'id,equal,missing,text\nc1,0,,"a\nb"\n'
    assert json.loads(stored.run("sql", query, "--json").stdout) == [
        {"id": "c1", "equal": 0, "missing": None, "text": "a\nb"}
    ]
    percent = "SELECT COUNT(*) AS n FROM campaigns WHERE id LIKE 'c%' AND ':x' <> '%s'"
    assert json.loads(stored.run("sql", percent, "--json").stdout) == [{"n": 1}]


def test_without_a_question_the_tables_are_listed(stored: Here) -> None:
    """With their columns, to write one."""
    listed = {
        row["table"]: row["columns"] for row in json.loads(stored.run("sql", "--json").stdout)
    }
    assert listed.keys() == METADATA.tables.keys()
    assert listed["samples"] == "campaign, trial, attempt, metric, position, value, unit"


REFUSED = {
    "a deletion": ("DELETE FROM campaigns", "begins with SELECT or WITH, not 'DELETE"),
    "a pragma": ("PRAGMA query_only=OFF", "begins with SELECT or WITH"),
    "another database": ("ATTACH 'x.db' AS x", "begins with SELECT or WITH"),
    "two statements": ("SELECT 1; DROP TABLE samples", "takes one statement"),
    "a deletion behind a name": (
        "WITH a AS (SELECT 1) DELETE FROM kept",
        "only reads, and this would change the store",
    ),
    "a file on MySQL's server": ("SELECT 1 INTO  OUTFILE '/tmp/x'", "only reads"),
    "no SQL": ("SELECT FROM WHERE", "syntax error"),
    "no table": ("SELECT * FROM campaign", "no such table: campaign"),
    "a name twice": ("SELECT id, id FROM campaigns", "two columns are called id"),
}


@pytest.mark.parametrize(("query", "sentence"), REFUSED.values(), ids=REFUSED)
def test_nothing_but_one_question_is_taken(stored: Here, query: str, sentence: str) -> None:
    """In one sentence, and the store is as it was."""
    assert sentence in stored.refused("sql", query)
    assert json.loads(stored.run("sql", "SELECT id FROM campaigns", "--json").stdout)


def test_where_there_is_no_store_none_is_made(here: Here) -> None:
    """A question must not leave a file."""
    assert "there is no results store" in here.refused("sql", "SELECT 1")
    assert not (here.home.root / "results.db").exists()
