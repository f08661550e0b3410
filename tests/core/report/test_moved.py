"""What changed with a workload: read from its trials, said in every format, or unknown."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from benchlab.analysis.gates import gates
from benchlab.analysis.verdict.compare import compare
from benchlab.engines import mariadb_counts
from benchlab.engines.counts import Row, to_csv
from benchlab.engines.tidb import counts as tidb_counts
from benchlab.errors import StoreError
from benchlab.language import load
from benchlab.plan.order import PlannedTrial
from benchlab.report import bundle, gate_files
from tests.builders import campaigns

GATES = gate_files.load_all(Path(__file__).parents[3] / "configs" / "quality")
Counts = Callable[[PlannedTrial], Mapping[str, float | None]]
CHANGED, STEADY = "oltp_insert", "oltp_point_select"


def counts(trial: PlannedTrial) -> Mapping[str, float | None]:
    """Twice the rows and a third more CPU on the candidate; everything else is alike."""
    more = trial.side == "candidate"
    scatter = 1 + 0.002 * ((3 * trial.index) % 4)
    return {
        "rows_read": 2.0 if more else 1.0,
        "server_cpu": 100 * scatter * (1.3 if more else 1),
        "bytes_sent": 300 * (1 + 0.003 * ((5 * trial.index) % 7)),
        "full_scans": 0.5 if more else 0.0,
        "sorted_rows": None,
    }


def files(
    of: Counts | None = counts, *, changed: float = -20.0, marked: str = ""
) -> dict[str, str]:
    """The report of two workloads, of which one changed.

    Args:
        of: what a query took; None: no counters were read.
        marked: a column of which all trials of the candidate have 1.
    """
    made = campaigns.campaign(
        workloads=[CHANGED, STEADY], rounds=4, threads=[4, 8], deployments=4, languages=["en", "zh"]
    )
    results, objects = [], {}
    for one in campaigns.results_of(
        made.plan, campaigns.known_change({CHANGED: changed / 100}, 0.002)
    ):
        if of is not None:
            name = f"{one.trial.id}.counts.csv"
            rows = [
                Row(count, "mariadb", "1", value, None, None)
                for count, value in of(one.trial).items()
            ]
            objects[name] = to_csv(rows).encode()
            one = dataclasses.replace(one, counts=name)
        if marked and one.trial.side == "candidate":
            found = gates.evaluate([gate for gate in GATES if gate.column == marked], {marked: 1.0})
            one = dataclasses.replace(one, gates=(*one.gates, *found))
        results.append(one)

    def read(name: str) -> bytes:
        if name not in objects:
            raise StoreError(f"there is no object {name}")
        return objects[name]

    comparison = compare(made.plan, results, 2.0, gates=GATES)
    made_files = bundle.make(made, comparison, results, ("en", "zh"), read_object=read)
    return {name: content.decode() for name, content in made_files.items()}


def section(page: str, heading: str = "## What else changed") -> str:
    """That part of a page in Markdown."""
    return page.partition(heading)[2].partition("\n## ")[0].replace("\\", "")


def test_a_report_says_what_changed_with_a_workload() -> None:
    """What appeared comes first, then the rows; CPU is last, and marked."""
    made = files()
    said = section(made["report.md"])
    assert "Insert: of 4 counts, 3 moved with it; the clearest: full table scans per query" in said
    assert "appeared" in said
    lines = [line for line in said.splitlines() if line.startswith("| ")][1:]
    assert [line.split(" | ")[0] for line in lines] == [
        "| full table scans",
        "| rows read",
        "| server CPU (depends on the load)",
    ]
    assert "| 1 | 2 | +100.00% |" in lines[1]
    assert "Point Select" not in said
    assert "What else changed" in made["report.html"]
    assert section(made["zh/report.md"], "## 同时发生的变化")


def test_programs_get_the_same() -> None:
    """In ``report.json``; a side that has none has no change in percent."""
    document = json.loads(files()["report.json"])
    (found,) = (one["moved"] for one in document["workloads"] if "moved" in one)
    assert (found["counts"], found["moved"]) == (4, 3)
    first, second, third = found["clusters"]
    assert (first["count"], first["baseline"], first["change_pct"]) == ("full_scans", 0, None)
    assert (second["count"], second["candidate"]) == ("rows_read", 2)
    assert second["change_pct"] == pytest.approx(100)
    assert [one["depends_on_load"] for one in (first, second, third)] == [False, False, True]


def test_where_nothing_moved_it_is_said_of_how_many_counts() -> None:
    """A slower workload that takes as much as before is a finding too."""
    said = section(files(lambda trial: {"rows_read": 1.0, "rows_sent": 7.0})["report.md"])
    assert "Insert: none of 2 counts moved with it beyond the noise." in said
    assert "\n| " not in said


def test_without_a_change_nothing_is_shown() -> None:
    """Equal workloads have no cause."""
    made = files(changed=0.0)
    assert not section(made["report.md"])
    assert not any("moved" in one for one in json.loads(made["report.json"])["workloads"])


def test_where_no_counters_were_read_it_is_said_once() -> None:
    """As on servers that somebody else runs; nothing is made up of what is missing."""
    made = files(None)
    said = section(made["report.md"])
    assert said.count("there are no counts of the servers") == 1
    assert not any("moved" in one for one in json.loads(made["report.json"])["workloads"])


def test_counts_that_a_gate_leaves_out_are_left_out_here_as_well() -> None:
    """An ANALYZE in each of the candidate's trials: nothing can be compared, and it is said."""
    said = section(files(marked="auto_analyses")["report.md"])
    assert "no count has three complete rounds" in said


@pytest.mark.parametrize("code", ["en", "zh"])
def test_every_count_has_a_title(code: str) -> None:
    """A reader sees no name of a counter."""
    language = load(code)
    for count in (*mariadb_counts.COUNTS, *tidb_counts.COUNTS):
        assert language.has(count.metric().title), count.name
