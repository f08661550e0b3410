"""Statements that diagnosis trials looked at: in every format, or why there are none."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import pytest

from benchlab.analysis.cause.statements import FILE, FORM, Observed, compared
from benchlab.analysis.verdict.compare import compare
from benchlab.engines.statements import Executed, Plan, PlanLine, Statements
from benchlab.errors import StoreError
from benchlab.language import message
from benchlab.plan.report_type import SIDES, Side
from benchlab.report import bundle
from benchlab.report.model import causes
from benchlab.report.model import report as model
from benchlab.report.sentences import why
from benchlab.results import diagnosis
from benchlab.results.diagnosis import Diagnosis, Lack
from tests.builders import campaigns

WORKLOAD = "oltp_read_write"
BY_KEY: Plan = (PlanLine("IndexLookUp", "root", "table:sbtest?, index:k_?(k)"),)
WHOLE: Plan = (PlanLine("TableFullScan", "cop[tikv]", "table:sbtest?, `x` <b>```"),)
SELECT = "select `c` from `sbtest?` where `k` = ? and <i>*x*"


def look(side: Side, seconds: float, plans: Sequence[tuple[Plan, float]], rows: float) -> Observed:
    """Trials of 100 transactions with a select, which may change, and a commit, which does not."""
    select = Executed(SELECT, 1000, seconds, {"rows_examined": 1000 * rows}, tuple(plans))
    commit = Executed("commit", 100, 0.5, {})
    return Observed(side, Statements((select, commit), 7.0 if side == "candidate" else 0.0), 100)


def files(
    *,
    plans: bool = True,
    changed: bool = True,
    found: bool = True,
    before: Plan = BY_KEY,
    **fields: Any,
) -> dict[str, str]:
    """The report of a slower candidate.

    Args:
        before: the baseline's plan.
        plans: whether servers keep plans.
        changed: whether the select did.
        found: whether statements were looked at.
    """
    other = changed and plans
    sides = {
        "baseline": ([(before, 1000)], 1.0, 2.0),
        "candidate": ([(WHOLE if other else BY_KEY, 1000)], 50.0, 9.0 if changed else 2.0),
    }
    looks = [
        look(side, seconds * again, sides[side][0] * plans, sides[side][1] if changed else 1.0)
        for again in (1.0, 1.02)
        for side in SIDES
        for seconds in (sides[side][2],)
    ]
    seen = compared(looks, has_plans=plans, otherwise=not plans)
    assert seen is not None
    seen = seen.with_replayers({SELECT: {"baseline": "c1/diagnosis/a.zip"}})
    known = Diagnosis(
        found={WORKLOAD: {FILE: "c1/diagnosis/found.json"}} if found else {},
        lacking=(Lack(message("statements-too-old", version="v3.0.0"), kind="statements"),)
        if not found
        else (),
        ended=True,
    )
    objects = {"c1/diagnosis/found.json": FORM.dump_json(seen)}
    made = campaigns.campaign(workloads=[WORKLOAD], rounds=4, languages=["en", "zh"], **fields)
    made = dataclasses.replace(
        made, environment={**made.environment, diagnosis.KEY: diagnosis.as_text(known)}
    )
    results = campaigns.results_of(made.plan, campaigns.known_change({WORKLOAD: -0.2}, 0.002))
    comparison = compare(made.plan, results, 2.0)

    def read(name: str) -> bytes:
        if name not in objects:
            raise StoreError(f"{name}: gone")
        return objects[name]

    contents = bundle.make(made, comparison, results, ("en", "zh"), read_object=read)
    texts = {name: content.decode() for name, content in contents.items()}
    known_causes = causes.read(made, comparison, results, read)
    report = model.build(made, comparison, results, causes=known_causes)
    return {**texts, "why": "\n".join(why.lines(report))}


def test_an_operator_that_is_gone_is_named_alone() -> None:
    """Where nothing took its place, nothing is made up for it."""
    filtered: Plan = (PlanLine("Selection", "cop[tikv]", ""), *WHOLE)
    assert "the plan of 1 statement changed: without Selection" in files(before=filtered)["why"]


def test_the_statement_that_took_the_change_is_told_with_its_plan() -> None:
    """In the answer's line, in a section of each page and language, and as figures."""
    made = files()
    assert "the plan of 1 statement changed: IndexLookUp -> TableFullScan" in made["why"]
    assert "rows examined 1, then 50" in made["why"]
    for name in ("report.md", "report.html"):
        text = made[name].replace("\\", "")
        assert "## Statements" in text or ">Statements</h2>" in text
        assert "20,200 µs" in text
        assert "PLAN REPLAYER of what changed most: raw/c1/diagnosis/a.zip" in text
        assert "0 executions with the baseline and 14 with the candidate are in no row" in text
    assert "- IndexLookUp root" in made["report.md"]
    assert "## 语句" in made["zh/report.md"]
    (workload,) = json.loads(made["report.json"])["workloads"]
    assert workload["statements"]["trials"] == 2
    first = workload["statements"]["changes"][0]
    assert first["plan"]["new"] == ["TableFullScan"]
    assert first["replayers"] == {"baseline": "c1/diagnosis/a.zip"}


def test_what_a_server_wrote_stands_for_itself() -> None:
    """No text of a statement or a plan is read as markup, nor ends the block that it is in."""
    made = files()
    assert "<i>" not in made["report.html"]
    assert "<b>" not in made["report.html"]
    assert r"\*x\*" in made["report.md"]
    block = made["report.md"].partition("```diff\n")[2]
    assert "'x' <b>'''" in block.partition("```")[0]


def test_a_server_without_plans_says_so() -> None:
    """And that servers and client were called otherwise."""
    made = files(plans=False)
    assert "plan" not in made["why"]
    assert "most of the difference is in select c from sbtest? where k = ?" in made["why"]
    assert "MariaDB keeps no plans" in made["report.md"]
    assert "compare their figures with each other only" in made["report.md"]


def test_that_no_plan_changed_is_said_where_plans_are_kept() -> None:
    """With no statement that has most of the difference."""
    made = files(changed=False)
    assert "no plan changed" in made["why"]
    assert "most of the difference" not in made["why"]
    assert "No plan changed." in made["report.md"]


def test_what_was_not_looked_at_is_said_with_the_reason() -> None:
    """In the answer and in the section."""
    made = files(found=False)
    reason = "TiDB v3.0.0 keeps no summary of statements; it does from v4.0.0 on"
    assert f"statements are not known: {reason}" in made["why"]
    assert reason in made["report.md"]
    assert "statements" not in json.loads(made["report.json"])["workloads"][0]


@pytest.mark.parametrize("content", [b"{", b"[]", None], ids=["cut", "other", "gone"])
def test_a_look_that_cannot_be_read_is_missing(content: bytes | None) -> None:
    """The rest of the report does not depend on it."""
    known = Diagnosis(found={WORKLOAD: {FILE: "name"}}, ended=True)
    made = campaigns.campaign(workloads=[WORKLOAD], rounds=4)
    made = dataclasses.replace(made, environment={diagnosis.KEY: diagnosis.as_text(known)})
    results = campaigns.results_of(made.plan)

    def read(name: str) -> bytes:
        if content is None:
            raise StoreError(f"{name}: gone")
        return content

    comparison = compare(made.plan, results, 2.0)
    found = causes.read(made, comparison, results, read)
    assert found.statements == {}
    assert (
        "## Statements"
        not in bundle.make(made, comparison, results, read_object=read)["report.md"].decode()
    )
