"""Which functions changed, from profiles: said in every format, and what was not seen."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping

import pytest

from benchlab.analysis.cause.profiles import Compared
from benchlab.analysis.verdict.compare import compare as compared
from benchlab.language import Said, message
from benchlab.report import bundle
from benchlab.report.model import profiles
from benchlab.results import diagnosis
from benchlab.results.diagnosis import Diagnosis, Kind, Lack, Taken
from tests.builders import campaigns
from tests.builders.compared_profiles import GO, PLANNER, found
from tests.builders.splits import reading

CHANGED, STEADY = "oltp_insert", "oltp_point_select"


def files(
    kept: Mapping[Kind, Mapping[str, Compared | Said]] | None = None,
    lacking: tuple[Lack, ...] = (),
    trials: tuple[Taken, ...] = (),
) -> dict[str, str]:
    """The report of two workloads, of which one changed and was diagnosed."""
    made = campaigns.campaign(workloads=[CHANGED, STEADY], rounds=4, languages=["en", "zh"])
    objects = {
        f"c1/diagnosis/{CHANGED}/{profiles.file_name(kind)}": profiles.to_json(one)
        for kind, one in (kept or {}).items()
    }
    names = {CHANGED: {name.rpartition("/")[2]: name for name in objects}} if kept else {}
    known = diagnosis.as_text(Diagnosis(trials, names, lacking, ended=True))
    made = dataclasses.replace(made, environment={**made.environment, diagnosis.KEY: known})
    results = campaigns.results_of(made.plan, campaigns.known_change({CHANGED: -0.2}, 0.002))
    written = bundle.make(
        made,
        compared(made.plan, results, 2.0),
        results,
        ("en", "zh"),
        read_object=reading(objects),
    )
    return {name: content.decode() for name, content in written.items()}


def section(page: str, heading: str = "## Which functions") -> str:
    """That part of a page in Markdown."""
    return page.partition(heading)[2].partition("\n## ")[0].replace("\\", "")


def test_a_report_names_what_became_dearer() -> None:
    """In figures, in the line below the answer, in both languages, and as a picture."""
    made = files({"cpu": {"tidb": found()}})
    said = section(made["report.md"])
    assert (
        "Insert: CPU profiles of TiDB, 4 of the baseline and 4 of the candidate: 1 function" in said
    )
    (row,) = [line for line in said.splitlines() if line.startswith("| planner.optimize | own |")]
    assert row.endswith("| dearer |")
    assert "CPU per query: 502 µs → 521 µs, +19" in said
    assert f"| {GO}/planner | own |" in said
    stem = f"charts/{CHANGED}-flame-cpu-tidb.svg"
    assert stem in said
    assert PLANNER in made[stem]
    assert '<svg class="chart flame"' in made[stem]
    assert "in TiDB planner.optimize +19" in made["report.md"].partition("##")[2]
    assert "(in 4 of 4 profiles)" in made["report.md"]
    assert "<summary>Flame graph: CPU profiles of TiDB</summary>" in made["report.html"]
    assert PLANNER in made["report.html"]
    assert "planner.optimize" in section(made["zh/report.md"], "## 哪些函数")


def test_programs_get_the_same() -> None:
    """In ``report.json``, per query, without what is only drawn."""
    document = json.loads(files({"cpu": {"tidb": found(), "tikv": "it may crash"}})["report.json"])
    (functions,) = (one["functions"] for one in document["workloads"] if "functions" in one)
    tidb = functions["cpu"]["tidb"]
    assert (tidb["unit"], tidb["profiles"], tidb["decided"]) == ("us_per_query", [4, 4], True)
    assert [one["name"] for one in tidb["changed"]] == [PLANNER]
    assert tidb["cpu_us_per_query"]["baseline"] == pytest.approx(501.5)
    assert "stacks" not in tidb
    assert functions["cpu"]["tikv"] == {"lacking": "it may crash"}


def test_what_moved_is_no_change_in_cost() -> None:
    """A renamed function below the same caller."""
    said = section(files({"cpu": {"tidb": found(candidate=600, moved=True)}})["report.md"])
    assert "Moved, not dearer: below server.run the sum of these stayed" in said
    assert "no function changed beyond the noise" in said


def test_two_profiles_are_a_hint_and_no_finding() -> None:
    """Their largest functions are shown; nothing is called dearer, here or below the answer."""
    made = files({"cpu": {"tidb": found(2)}})
    said = section(made["report.md"])
    assert "differences may be chance." in said
    assert "| planner.optimize |" in said
    assert "| dearer |" not in said
    assert "there are too few profiles to name a function" in made["report.md"]


def test_where_no_function_changed_it_is_said() -> None:
    """A slower workload whose functions take what they took waits, or is dearer evenly."""
    made = files({"cpu": {"tidb": found(candidate=600)}})
    assert "no function's CPU changed beyond the noise of its profiles" in made["report.md"]


@pytest.mark.parametrize(
    ("lacking", "trials", "said"),
    [
        (
            (Lack(message("profiles-no-perf", why="No permission"), CHANGED, "cpu"),),
            (),
            "perf cannot record here",
        ),
        ((Lack(message("diagnosis-gone")),), (), "the sides were no longer deployed"),
        (
            (),
            (
                Taken(
                    *(CHANGED, "cpu", 1, "baseline", 4, 9.0, None, {}),
                    message("profiles-refused", server="pd pd-1", why="busy"),
                ),
            ),
            "pd pd-1 answered with no profile: busy",
        ),
    ],
    ids=["not allowed", "too late", "refused"],
)
def test_why_there_are_no_profiles_is_said(
    lacking: tuple[Lack, ...], trials: tuple[Taken, ...], said: str
) -> None:
    """Below the answer, and in the section where the reason is of more than one trial."""
    page = files(None, lacking, trials)["report.md"].replace("\\", "")
    assert "functions are not known: " in page
    assert said in page


def test_a_component_without_profiles_is_named_with_the_reason() -> None:
    """Beside those that have some."""
    why = message("profiles-tikv-old", version="v5.4.0", first="v6.1.0")
    said = section(files({"cpu": {"tidb": found(), "tikv": why}})["report.md"])
    assert "TiKV, CPU profiles: TiKV v5.4.0 may crash while its CPU is profiled" in said


def test_a_campaign_without_diagnosis_has_no_such_section() -> None:
    """Nor one in which reasons are of other looks."""
    why = message("diagnosis-late", workload="x", kind=message("look-statements"))
    page = files(None, (Lack(why, CHANGED, "statements"),))["report.md"]
    assert "Which functions" not in page
    assert "functions are not known" not in page


def test_what_is_kept_gives_the_same_report_again() -> None:
    """Only the narrow ends of stacks are cut, into what called them."""
    before = found()
    again = profiles.from_json(profiles.to_json({"tidb": before}))["tidb"]
    assert isinstance(again, Compared)
    documents = (json.loads(json.dumps(profiles.figures(one))) for one in (before, again))
    first, second = documents
    assert first == second
    assert sum(map(sum, again.stacks.values())) == pytest.approx(
        sum(map(sum, before.stacks.values()))
    )


def test_a_functions_name_is_never_markup() -> None:
    """It is read from a file that a server sent."""
    hostile = "<script>alert(1)</script>"
    one = found()
    renamed = dataclasses.replace(
        one,
        changed=tuple(dataclasses.replace(part, name=hostile) for part in one.changed),
        stacks={(hostile,): (1.0, 2.0)},
    )
    for name, page in files({"cpu": {"tidb": renamed}}).items():
        if name.endswith((".html", ".md", ".svg")):
            assert hostile not in page
            assert "alert(1)" in page or "flame" not in name
