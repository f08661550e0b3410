"""The plan as a page: what is typed is planned, and what cannot be is refused field by field."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest

from benchlab import engines
from benchlab.campaign import planning, report_types
from benchlab.campaign.resolving import Asks, Resolver
from benchlab.engines.server import Availability
from benchlab.errors import StoreError
from benchlab.hosts.executor import LocalExecutor
from benchlab.language import load, message
from benchlab.site import plan
from benchlab.site.page import Site, render
from benchlab.targets import local
from tests.builders import campaigns, weekly

NOW = datetime(2024, 6, 1, tzinfo=UTC)
MARIADB = {"baseline": ["10.2.11"], "candidate": ["10.11.5"]}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The house's report types, and an empty store; mirrors are asked while the page waits."""
    with weekly.installation(tmp_path_factory.mktemp("plan")) as opened:
        ask = Resolver(opened.home, opened.store, asks=Asks.MIRRORS).resolve
        yield Site(opened.home, opened.store, load("en"), NOW, ask=ask)


def figures(site: Site, **asked: Sequence[str]) -> str:
    """What the page says of a plan, as a person reads it."""
    html = render(site, plan.figures(site, asked), fragment=True)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def changing(site: Site) -> Site:
    """As somebody sees it who may start runs."""
    starts_at = "../api/v2/dags/{report}/dagRuns"
    return dataclasses.replace(site, may_change=True, starts_at=starts_at)


def found(pattern: str, text: str) -> float:
    """A number in a text."""
    match = re.search(pattern, text)
    assert match, text
    return float(match[1].replace(",", ""))


def test_hours_dollars_and_what_it_finds_are_shown(site: Site) -> None:
    """Of a rented fleet; more rounds take longer, cost more and find smaller changes."""
    few = figures(site, report=["tpcc_ec2"], rounds=["3"])
    many = figures(site, report=["tpcc_ec2"], rounds=["9"])
    assert found(r"Takes about ([\d.]+) h", many) > found(r"Takes about ([\d.]+) h", few)
    assert found(r"about ([\d.,]+) dollars", many) > found(r"about ([\d.,]+) dollars", few)
    assert found(r"a change of ([\d.]+)%", many) < found(r"a change of ([\d.]+)%", few)
    assert "a person has to approve it" in many
    assert "benchlab run tpcc_ec2 --set rounds=9" in many


def test_a_design_that_ends_early_says_when_and_for_how_much(site: Site, tmp_path: Path) -> None:
    """A watch whose week passes is the cheapest; of a release design the whole is the dearest."""
    watch = figures(site, report=["sysbench_ec2_watch"], candidate=["v8.0.0"])
    passes, quiet, all_of_it = (
        found(rf"{before} (?:[^$]*?)about ([\d.,]+) dollars", watch)
        for before in ("Costs", "On average, if nothing differs", "With every workload confirmed")
    )
    assert passes < quiet < all_of_it
    shutil.copytree(site.home.configs, tmp_path / "configs")
    here = dataclasses.replace(site.home, project=tmp_path)
    path = here.configs / "reports" / "looked.yaml"
    own = (here.configs / "reports" / "sysbench_ec2.yaml").read_text()
    own = own.replace("report: sysbench_ec2\n", "report: looked\ndesign: release\n")
    own = own.replace("rounds: 6\n", "rounds: 5\ndeployments: 5\n")
    path.write_text(own.replace("limit: 60}", "limit: 120}"))
    ask = Resolver(here, site.store, asks=Asks.MIRRORS).resolve
    looked = figures(dataclasses.replace(site, home=here, ask=ask), report=["looked"])
    whole, mean, least = (
        found(rf"{before} (?:[^$]*?)about ([\d.,]+) dollars", looked)
        for before in ("Costs", "On average, if nothing differs", "At the earliest")
    )
    assert least < mean < whole


def test_what_it_finds_rests_on_what_was_measured_here(tmp_path: Path) -> None:
    """How many campaigns and deployments of this setting; else on an assumption."""
    with weekly.installation(tmp_path) as opened:
        site = Site(opened.home, opened.store, load("en"), NOW)
        asked = {"report": ["sysbench_local"], **MARIADB}
        assert "with noise as assumed: no campaign of this setting" in figures(site, **asked)
        house = report_types.load(opened.home.configs / "reports" / "sysbench_local.yaml")
        made = campaigns.campaign(house.with_overrides({"engine": "mariadb"}))
        here = {**made.environment, **local.machine()}
        opened.store.add_campaign(dataclasses.replace(made, environment=here))
        for trial in made.plan.trials:
            off = 1 + 0.2 * (trial.round % 2) * (trial.side == "candidate")
            opened.store.add_trial("c1", campaigns.trial_result(trial, tps=1000 * off))
        read = figures(site, **asked)
        assert "by the rounds of 1 campaign (the latest c1) and their 6 deployments of each" in read
        assert found(r"a change of ([\d.]+)%", read) > 10
        zh = dataclasses.replace(site, language=load("zh"))
        assert "依据 1 个测试活动（最近一个为 c1）的轮次及其每一方 6 次部署" in figures(zh, **asked)


def test_all_faults_are_named_at_once(site: Site) -> None:
    """Each with its field's title and what was found, and nothing of a library."""
    asked = {"rounds": ["0"], "seconds": ["-5"], "threads": ["4, abc"], "candidate": ["banana"]}
    read = figures(site, report=["sysbench_local"], **asked)
    for fault in (
        "Rounds (rounds): 0 is less than 1",
        "Seconds per trial (seconds): -5 is less than 1",
        "Client threads (threads): 'abc' is not a whole number",
        "Candidate version (candidate): 'banana' is not a version of any engine",
    ):
        assert fault in read
    assert "Takes about" not in read


def test_numbers_are_refused_in_the_reader_s_language(site: Site) -> None:
    """With the field as the form has it, and as files and commands do."""
    zh = dataclasses.replace(site, language=load("zh"))
    read = figures(zh, report=["sysbench_local"], rounds=["x"], seconds=["0"])
    assert "轮数（rounds）：'x' 不是整数" in read
    assert "每次试验秒数（seconds）：0 小于 1" in read


def test_why_a_form_is_refused_is_in_the_reader_s_language(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever its fields can be refused for; names and versions stay as they are typed."""
    monkeypatch.setattr(
        engines.by_name()["mariadb"],
        "not_published",
        staticmethod(lambda version, servers: message("not-on-maven", version=version)),
    )
    tidb = Availability(False, message("engine-without-tiup", version="v6.1.0", path="/x"))
    monkeypatch.setattr(
        engines.by_name()["tidb"], "availability", staticmethod(lambda *_, **__: tidb)
    )
    zh = dataclasses.replace(site, language=load("zh"))
    for asked, said in (
        ({"candidate": ["banana"]}, "候选版本（candidate）：'banana' 不是此报告类型任何引擎"),
        (
            {"candidate": ["v6.5.0"], "baseline": ["10.11.5"]},
            "的版本，而本次测试活动的引擎是 mariadb",
        ),
        ({"candidate": ["newest"], "baseline": ["previous"]}, "'newest' 对每个引擎"),
        ({"candidate": ["99.9.9"], "baseline": ["10.11.5"]}, "Maven Central 上没有 MariaDB 99.9.9"),
        ({"candidate": ["v6.5.0"], "baseline": ["v6.1.0"]}, "tidb 不可用：/x 处没有 TiDB v6.1.0"),
        (
            {"candidate": ["newest 9.9"], "baseline": ["10.11.5"]},
            "发布日历中没有；届时其中最新的版本是",
        ),
        ({"candidate": ["10.11.5"], "baseline": ["10.11.5"]}, "候选与基线相同（10.11.5）"),
        ({"threads": ["4,4"]}, "线程数（threads）：[4, 4] 中有重复"),
        ({"threads": ["99999"]}, "threads.0：最多为 10000，实际为 99999"),
        (
            {"rounds": ["1"], "deployments": ["4"]},
            "每一方 4 次部署，每次至少需要一轮，而 rounds 为 1",
        ),
        (
            {"rounds": ["1000"], "threads": [" ".join(map(str, range(1, 99)))]},
            "次试验，超过 100000 次",
        ),
        (
            {"report": ["sysbench_existing"], "deployments": ["2"]},
            "部署次数（deployments）：2：两方成对部署",
        ),
        ({"report": ["sysbench_cloud"]}, "topology tidb_cloud_first：usd_per_hour：未知"),
        ({"report": ["none"]}, "report：'none'：没有此报告类型"),
    ):
        assert said in figures(zh, **{"report": ["sysbench_local"], **asked})


def test_what_a_run_would_refuse_is_not_planned(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the words of the run: a version that nobody has, and one that TiUP cannot deploy."""
    nobody_has = staticmethod(lambda version, servers: f"there is no {version}")
    monkeypatch.setattr(engines.by_name()["mariadb"], "not_published", nobody_has)
    read = figures(site, report=["sysbench_local"], candidate=["99.9.9"], baseline=["10.11.5"])
    said = "Candidate version (candidate): 99.9.9: there is no 99.9.9; the newest in the release"
    assert said in read
    assert "Takes about" not in read
    read = figures(site, report=["sysbench_ec2"], candidate=["v6.5.0"], baseline=["v2.1.0"])
    assert "Baseline version (engines.tidb.baseline.version): " in read
    assert "Takes about" not in read


def test_a_page_asks_nobody_itself(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """No program is started, whatever is planned; who may have others asked is told so."""
    monkeypatch.setattr(LocalExecutor, "run", None)
    monkeypatch.setattr(subprocess, "Popen", None)
    for program in ("mvn", "tiup"):
        (tmp_path / program).touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    reader = dataclasses.replace(site, ask=None, now=datetime.now(UTC))
    asking = dataclasses.replace(reader, ask=lambda request: None)
    for asked, unasked in (
        ({"report": ["sysbench_local"], **MARIADB}, None),
        (
            {"report": ["sysbench_local"], "baseline": ["10.11.5"], "candidate": ["99.9.9"]},
            "candidate: version 99.9.9 is not in the release calendar, and it was not checked",
        ),
        ({"report": ["sysbench_local"], "candidate": ["v99.0.0"]}, "version v99.0.0 is not in"),
        (
            {"report": ["sysbench_ec2"], "candidate": ["nightly"]},
            "it was not checked which version",
        ),
        ({"report": ["sysbench_existing"]}, "as if the servers ran the newest release"),
    ):
        read = figures(reader, **asked)
        assert "Takes about" in read
        assert "Mirrors and servers are being asked" not in read
        assert ("was not checked" in read or "were not asked" in read) == (unasked is not None)
        assert (unasked or "") in read
        assert ("Mirrors and servers are being asked" in figures(asking, **asked)) == (
            unasked is not None
        )


def test_a_store_that_cannot_be_read_is_no_fault_of_the_form(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says has its address, which is not for every reader."""

    def down(*_: object) -> None:
        raise StoreError("results store mysql://me@db.example.com/x: no answer")

    monkeypatch.setattr(plan, "plan_sensitivity", down)
    with pytest.raises(StoreError):
        figures(site, report=["sysbench_local"], **MARIADB)


def test_what_is_undecided_is_planned_and_cannot_be_started(site: Site) -> None:
    """So that its hours are known before somebody decides it; a command says it alike."""
    reader = changing(site)
    read = figures(reader, report=["sysbench_hosts"])
    spec = report_types.load(report_types.find_report(site.home, "sysbench_hosts"))
    (left_open,) = planning.undecided(site.home, spec)
    assert f"This cannot be run yet: {left_open}" in read
    assert "Takes about" in read
    assert "Start this campaign" not in read
    assert "cannot be run yet" not in figures(reader, report=["tpcc_local"])


def test_whoever_starts_a_run_is_told_that_its_dag_is_paused(site: Site) -> None:
    """Before they do: it would wait. Who cannot start one is not told."""
    dags = {"tpcc_local": "../dags/tpcc_local"}
    paused = dataclasses.replace(changing(site), paused_dag=lambda report: dags.get(report, ""))
    html = render(paused, plan.figures(paused, {"report": ["tpcc_local"]}))
    assert "The DAG is paused in Airflow: what you start here waits" in html
    assert '<a href="../../dags/tpcc_local" target="_top">Its DAG in Airflow</a>' in html
    assert "is paused" not in figures(paused, report=["sysbench_local"])
    reader = dataclasses.replace(paused, may_change=False)
    assert "is paused" not in figures(reader, report=["tpcc_local"])


def test_a_published_plan_fills_the_form_and_is_what_is_run(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the DAG of its report type, with the values of its document but for those changed."""
    name = "tpcc_v520_vs_v511"
    asked = {"report": [name], "threads": ["50, 100, 200, 400"], "rounds": ["3"]}
    spec, changes = plan.chosen(site, asked)
    assert (spec.report, changes) == ("tpcc_ec2", {"rounds": 3})
    assert plan.report_of(site, asked) == "tpcc_ec2"
    page = plan.plan(changing(site), asked).values
    assert (page["form"]["own"], page["form"]["text"]["seconds"]) == (
        {"baseline": "v5.1.1", "candidate": "v5.2.0"}, "300",
    )  # fmt: skip
    found = page["figures"]
    assert found.command == f"benchlab run {name} --set rounds=3"
    assert found.start == "../api/v2/dags/tpcc_ec2/dagRuns"
    assert json.loads(found.conf) == {"published": name, "overrides": {"rounds": 3}}
    assert found.versions == "v5.2.0 vs. v5.1.1"
    assert f'<option value="{name}" selected>' in render(site, plan.plan(site, asked))


def test_a_report_type_that_the_reader_may_not_see_is_unknown(site: Site) -> None:
    """And it is not offered."""
    reader = Site(site.home, site.store, site.language, NOW, reports=frozenset({"tpcc_ec2"}))
    page = render(reader, plan.plan(reader, {"report": ["sysbench_ec2"]}))
    assert "report: &#39;sysbench_ec2&#39;: there is none; known: tpcc_ec2" in page
    assert "<option>sysbench_ec2" not in page


def test_what_is_as_in_the_report_type_is_no_change(site: Site) -> None:
    """So the command and the run that starts from it name only what somebody changed."""
    spec, changes = plan.chosen(site, {"report": ["sysbench_local"], "rounds": ["6"]})
    assert (spec.report, changes) == ("sysbench_local", {})
    asked = {"report": ["sysbench_local"], "rounds": ["7"], "threads": ["2 8"]}
    assert plan.chosen(site, asked)[1] == {"rounds": 7, "threads": [2, 8]}


def test_the_form_keeps_what_was_typed_and_starts_only_for_those_who_may(site: Site) -> None:
    """As text; without the right there is no button."""
    page = render(site, plan.plan(site, {"report": ["tpcc_ec2"], "candidate": ['"><script>']}))
    assert "<script>" not in page
    assert "&#34;&gt;&lt;script&gt;" in page
    assert "data-start" not in page
    reader = changing(site)
    page = render(reader, plan.plan(reader, {"report": ["tpcc_local"], "rounds": ["7"]}))
    assert 'data-start="../../api/v2/dags/tpcc_local/dagRuns"' in page
    assert 'data-conf="{&#34;rounds&#34;: 7}"' in page


@pytest.mark.parametrize("report", ["sysbench_ec2", "tpcc_local", "sysbench_cloud"])
def test_the_steps_of_a_plan_are_in_the_reader_s_language(site: Site, report: str) -> None:
    """As in English, but for names."""
    zh = dataclasses.replace(site, language=load("zh"))
    english, chinese = (
        [step for step, _ in plan.plan(one, {"report": [report]}).values["figures"].steps]
        for one in (site, zh)
    )
    assert len(english) == len(chinese) > 3
    words = re.compile(r"\b(?:load|deploy|round|trials|restores?|report|hosts|tables|rows)\b")
    assert words.search(" ".join(english))
    assert [step for step in chinese if words.search(step)] == []


@pytest.mark.parametrize(
    ("asked", "notes"),
    [
        ({"report": ["sysbench_ec2"]}, 3),
        ({"report": ["tpcc_ec2"], "threads": ["5000"]}, 2),
        ({"report": ["sysbench_local"], "workloads": ["oltp_delete"], **MARIADB}, 2),
        ({"report": ["sysbench_cloud"]}, 1),
    ],
)
def test_the_notes_on_a_plan_are_in_the_reader_s_language(
    site: Site, asked: dict[str, list[str]], notes: int
) -> None:
    """What rules have named, why this engine, and warnings; but for names and commands."""
    zh = dataclasses.replace(site, language=load("zh"))
    english, chinese = (
        [re.sub("`.*?`|“.*?”", "", note) for note in plan.plan(one, asked).values["figures"].notes]
        for one in (site, zh)
    )
    assert len(english) == len(chinese) == notes
    words = re.compile(r"[A-Za-z]+ [a-z]+ [a-z]+")
    assert any(map(words.search, english))
    assert [note for note in chinese if words.search(note)] == []


def test_the_form_of_one_version_asks_for_one(site: Site) -> None:
    """There is no candidate to be filled in."""
    page = render(site, plan.plan(site, {"report": ["sysbench_local_single"]}))
    assert 'name="baseline"' in page
    assert 'name="candidate"' not in page


def test_a_reader_without_any_report_type_is_told_where_to_look(site: Site) -> None:
    """In the reader's language."""
    reader = Site(site.home, site.store, load("zh"), NOW, reports=frozenset())
    assert "benchlab validate" in render(reader, plan.plan(reader, {}))
