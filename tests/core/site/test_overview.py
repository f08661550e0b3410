"""The first page: what nobody has judged, what is measured, what comes next, what it costs."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any, Literal

import pytest
from upath import UPath

from benchlab.home import Home
from benchlab.language import load
from benchlab.results.records import SPENT, Failure, StoredVerdict
from benchlab.results.spending import Record, month_of
from benchlab.results.store import Store
from benchlab.site import overview
from benchlab.site.page import RunOfDag, RunState, Site, render
from benchlab.targets.cloud import lease_file
from benchlab.targets.cloud.lease_file import LeaseFile
from benchlab.targets.ec2 import rental_file
from benchlab.targets.ec2.rental_file import RentalFile
from tests.builders import campaigns

ROOT = Path(__file__).parents[3]
# A Saturday.
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
POINT, INDEX = "oltp_point_select", "oltp_update_index"
CANARIES = {"runs": "weekly", "cron": "0 2 * * 1", "canary_every": 1, "aa_every": 0}
CANARIES |= {"release_every": 0}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """The site of an installation with the house's report types and an empty store."""
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    with Store(f"sqlite:///{tmp_path}/results.db", UPath(tmp_path / "objects")) as store:
        yield Site(Home(tmp_path, tmp_path), store, load("en"), NOW)


def add(
    site: Site,
    name: str,
    days: float,
    verdicts: dict[str, str] | None = None,
    *,
    versions: tuple[str, str] = ("10.2.11", "10.11.5"),
    environment: dict[str, str] | None = None,
    state: Literal["running", "complete", "failed"] = "complete",
    at: datetime | None = None,
    origin: str = "",
    **fields: Any,
) -> None:
    """A campaign that began so many days ago, with a verdict on the throughput of workloads."""
    baseline, candidate = ({"version": version} for version in versions)
    engines = {"mariadb": {"baseline": baseline, "candidate": candidate}}
    made = campaigns.campaign(id=name, **{"engines": engines, **fields})
    began = NOW - timedelta(days=days)
    site.store.add_campaign(
        dataclasses.replace(
            made,
            started_at=began,
            state=state,
            environment=environment or {},
            ended_at=began,
            planned_for=at,
            origin=origin or made.origin,
        )
    )
    found = verdicts or {}
    site.store.set_verdicts(
        name,
        [
            StoredVerdict(workload, metric, verdict, *figures, 0.001, rule=3)
            for workload, decided in found.items()
            for metric, verdict, figures in (
                ("tps", decided, (-8.2, -9.9, -6.4)),
                ("p95_ms", "inconclusive", (1.5, -2.0, 5.0)),
            )
        ],
    )


def shown(site: Site) -> str:
    """The page's HTML."""
    return render(site, overview.overview(site))


def text(html: str) -> str:
    """What a person reads of it, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_the_newest_verdict_of_each_workload_has_its_interval(site: Site) -> None:
    """An older campaign stands for a workload that the newest did not measure."""
    add(site, "old", 9, {POINT: "improvement", INDEX: "equivalent"})
    add(site, "new", 2, {POINT: "equivalent"})
    read = text(shown(site))
    assert "Point Select = equivalent -8.2% -9.9% to -6.4% ? inconclusive +1.5%" in read
    assert "Update Index = equivalent -8.2%" in read
    assert "▲ improvement" not in read


def test_a_false_alarm_is_no_verdict_on_versions(site: Site) -> None:
    """An A/A campaign is calibration, and only that."""
    add(site, "aa", 3, {POINT: "regression"}, sides="same")
    read = text(shown(site))
    assert "regression -" not in read
    assert "Findings that nobody has judged none" in read
    assert "3 days ago 1 A/A campaign" in read


def test_a_canary_is_no_verdict_and_is_said_to_be_found_or_missed(site: Site) -> None:
    """The newest one of a report type, beside its calibration; in both languages."""
    fields: dict[str, Any] = {"report": "a", "workloads": [INDEX], "schedule": CANARIES}
    moment = datetime(2026, 11, 9, 2, tzinfo=UTC)
    add(site, "found", 12, {INDEX: "regression"}, slowdown_pct=10, at=moment, **fields)
    read = text(shown(site))
    assert "canary found 12 days ago" in read
    assert "Findings that nobody has judged none" in read
    assert "Newest verdicts" not in read
    late = moment + timedelta(weeks=1)
    add(site, "missed", 5, {INDEX: "equivalent"}, slowdown_pct=10, at=late, **fields)
    assert "canary missed on 2026-11-16" in text(shown(site))
    zh = text(shown(dataclasses.replace(site, language=load("zh"))))
    assert "金丝雀未被发现，2026-11-16" in zh
    add(site, "person's", 4, {INDEX: "regression"}, slowdown_pct=10, **fields)
    assert "canary missed on 2026-11-16" in text(shown(site))


def test_a_change_waits_until_somebody_has_judged_it(site: Site) -> None:
    """Measured twice it is one; regressions come before improvements."""
    add(site, "better", 0.5, {POINT: "improvement"})
    add(site, "first", 9, {INDEX: "regression"})
    add(site, "second", 2, {INDEX: "regression"})
    add(site, "other", 1, {INDEX: "regression"}, versions=("10.11.5", "11.4.5"))
    read = text(shown(site))
    assert "Findings that nobody has judged ▼ 2 regressions ▲ 1 improvement" in read
    assert read.index("11.4.5 vs. 10.11.5") < read.index("▲ -8.2% Throughput")
    (found,) = (one for one in site.store.findings.found() if "first" in one.campaigns)
    site.store.findings.mark(found.id, "known", "ann", "a known issue")
    read = text(shown(site))
    assert "▼ 1 regression ▲ 1 improvement" in read
    site.store.findings.take_back(found.id, "ann")
    assert "▼ 2 regressions" in text(shown(site))


def test_only_so_many_are_shown_and_all_are_counted(site: Site) -> None:
    """The list of findings has them all."""
    for number in range(14):
        add(site, f"c{number}", 1, {INDEX: "regression"}, report=f"report_{number}")
    page = shown(site)
    assert "▼ 14 regressions" in text(page)
    assert page.count('<td class="changes">') == 12
    assert '<a href="findings/">All findings</a>' in page


def test_dearer_counts_of_a_workload_are_one_finding(site: Site) -> None:
    """Named by the one that changed most; what is cheaper beside it is named, too."""
    add(site, "dearer", 2, {INDEX: "equivalent", POINT: "regression"})
    counts = [("redo_bytes", 9.1), ("rows_read", None), ("server_cpu", 4.0)]
    kept = site.store.listing.summaries()[0].verdicts
    dearer = [
        StoredVerdict(INDEX, name, "regression", pct, pct and pct - 1, pct and pct + 1, 0.0, rule=5)
        for name, pct in counts
    ]
    cheaper = StoredVerdict(POINT, "rows_read", "improvement", -50.0, -51.0, -49.0, 0.0, rule=5)
    site.store.set_verdicts("dearer", [*kept, *dearer, cheaper])
    read = text(shown(site))
    assert "▼ 2 regressions" in read
    assert "▼ from none Dearer: rows read and 2 more 10.11.5" in read
    assert "▼ -8.2% Throughput (-9.9% to -6.4%) ▲ -50.0% Cheaper: rows read" in read
    assert "slower" not in read


def test_a_workload_at_equal_load_has_latencies_alone(site: Site) -> None:
    """Each that is longer is a change of one finding; its throughput was the same for both."""
    at_rate = f"{POINT}_at_60pct"
    add(site, "rate", 2, {POINT: "equivalent"}, workloads=[POINT], rate="60 %")
    kept = site.store.listing.summaries()[0].verdicts
    latencies = [("p95_ms", "equivalent"), ("p50_ms", "equivalent"), ("p99_ms", "regression")]
    longer = [
        StoredVerdict(at_rate, name, verdict, 9.0, 8.0, 10.0, 0.0, rule=5)
        for name, verdict in latencies
    ]
    site.store.set_verdicts("rate", [*kept, *longer])
    read = text(shown(site))
    assert "Point Select at 60 % sysbench_test ▼ +9.0% p99 latency (+8.0% to +10.0%)" in read
    assert "Point Select at 60 % the same for both sides = equivalent +9.0%" in read


def test_only_those_who_may_can_judge(site: Site) -> None:
    """With the guard that keeps other sites from doing it for them."""
    add(site, "c1", 2, {INDEX: "regression"})
    assert "<form" not in shown(site)
    allowed = shown(dataclasses.replace(site, may_change=True, guard="g-1"))
    assert '<form method="post" action="actions/judge" class="judge">' in allowed
    assert '<input type="hidden" name="guard" value="g-1">' in allowed


def test_a_campaign_at_work_shows_trial_phase_time_left_and_dollars(site: Site) -> None:
    """Ten minutes for five trials of 24: 38 for the others."""
    add(site, "now", 0.1, state="running")
    directory = site.home.campaign("now")
    directory.mkdir(parents=True)
    begin = (NOW - timedelta(minutes=10)).timestamp()
    notes = [
        {"at": begin + 120 * done, "stage": "trial", "phase": "run", "done": done, "total": 24}
        for done in range(6)
    ]
    (directory / "progress.jsonl").write_text("".join(json.dumps(note) + "\n" for note in notes))
    (directory / "spent").write_text("3.2100")
    read = text(shown(site))
    assert "now 10.11.5 vs. 10.2.11 trial 6 of 24 · run about 38 min 0 s left 3.21 dollars" in read
    assert "It has been silent for a long time" not in read
    later = dataclasses.replace(site, now=NOW + timedelta(hours=1))
    assert "trial 6 of 24 · run longer than estimated" in text(shown(later))


def test_a_campaign_that_says_nothing_for_hours_is_marked(site: Site) -> None:
    """With what to do about it."""
    add(site, "dead", 1, state="running")
    directory = site.home.campaign("dead")
    directory.mkdir(parents=True)
    note = {"at": (NOW - timedelta(hours=9)).timestamp(), "stage": "trial", "phase": "run"}
    (directory / "progress.jsonl").write_text(json.dumps(note) + "\n")
    assert 'end it with "benchlab give-back dead"' in text(shown(site))


def test_progress_on_another_machine_is_said_to_be_there(site: Site) -> None:
    """It is not called silent."""
    add(site, "elsewhere", 1, state="running")
    assert "Its progress is kept on the machine that measures it." in text(shown(site))


def test_an_open_page_asks_for_campaigns_at_work_again_while_there_are_any(site: Site) -> None:
    """The part that it gets has the same, so that it goes on; as a file nothing can be asked."""
    add(site, "now", 0.1, state="running")
    again = 'data-refresh="at-work"'
    assert again in shown(site)
    assert again in render(site, overview.at_work(site), fragment=True)
    assert again not in shown(dataclasses.replace(site, as_files=True))
    site.store.finish("now", "complete")
    assert again not in render(site, overview.at_work(site), fragment=True)


def test_the_next_runs_are_those_of_the_schedules(site: Site) -> None:
    """The weekly run on the next Monday at two; another waits for a release."""
    read = text(shown(site))
    assert "sysbench_ec2_weekly never measured 2026-11-23 02:00 UTC" in read
    assert "sysbench_local_releases never measured with the next release (patch)" in read
    zh = text(shown(dataclasses.replace(site, language=load("zh"))))
    assert "下一个版本发布时（GA、LTS、DMR、LTS 补丁版本）" in zh
    assert "paused in Airflow" not in read.partition("Report types")[0]


def test_a_schedule_that_is_switched_off_is_said(site: Site) -> None:
    """At the top as well, where none with a moment is on; with the way to switch it on."""
    dags = {name: f"../dags/{name}" for name in ("sysbench_ec2_weekly", "sysbench_ec2_watch")}
    paused = dataclasses.replace(site, paused_dag=lambda report: dags.get(report, ""))
    add(paused, "a", 3)
    html = shown(paused)
    assert html.count('href="../dags/sysbench_ec2_weekly" target="_top">will not run') == 2
    read = text(html)
    assert read.count("will not run: its DAG is paused in Airflow") == 3
    assert "2026-11-23 02:00 UTC sysbench_ec2_weekly will not run: its DAG is paused" in read


def test_the_cost_of_a_month_is_that_of_its_campaigns(site: Site) -> None:
    """What is not known is said, and what rented nothing is not counted."""
    rented = {"zone": "us-west-2a"}
    add(site, "a", 3, environment={**rented, SPENT: "20.40"})
    add(site, "b", 2, environment={**rented, SPENT: "1.25"})
    add(site, "lost", 2, environment=rented)
    add(site, "local", 1)
    add(site, "before", 30, environment={**rented, SPENT: "7.00"})
    read = text(shown(site))
    assert "21.65 dollars unknown for 1 campaign last month 7.00 dollars" in read


def test_what_is_committed_this_month_is_beside_its_cost(site: Site, tmp_path: Path) -> None:
    """With the limit of the month and the vCPUs that are held, of what the reader may see."""
    (tmp_path / "configs").unlink()
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "budget.yaml").write_text("month: 2000\n")
    add(site, "c1", 1)
    for name, report in (("c1", "sysbench_test"), ("s1", "secret")):
        of = Record(name, report, month_of(NOW), NOW, NOW, 90.0, region="us-west-2", vcpus=72)
        site.store.spending.begin(of, lambda _: None)
    site.store.spending.keep("c1", 12.5, None)
    read = text(shown(dataclasses.replace(site, reports=frozenset({"sysbench_test"}))))
    assert (
        "up to 77.50 dollars more committed budget of the month for all campaigns: 2,000.00 dollars"
        in read
    )
    assert "72 vCPUs held in us-west-2" in read
    (tmp_path / "configs" / "budget.yaml").write_text("month: much")
    assert "budget.yaml: month: " in text(shown(site))


@pytest.mark.parametrize("kind", ["fleet", "cluster"])
def test_what_could_not_be_given_back_costs_more_than_its_report_says(
    site: Site, kind: Literal["fleet", "cluster"]
) -> None:
    """Six dollars an hour until it ends itself; a smaller figure than the report's is none."""
    add(site, "left", 2, environment={"zone": "us-west-2a", SPENT: "3.00"})
    state = site.home.campaign("left")
    kept = RentalFile(
        mark="0123abcd-4567cdef",
        region="us-west-2",
        created_at=NOW - timedelta(hours=21),
        lifetime_minutes=6000,
        usd_per_minute=0.1,
        limit=600.0,
    )
    if kind == "fleet":
        rental_file.write(state, kept)
    else:
        lease_file.write(state, LeaseFile(name="benchlab-1", project=None, rental=kept))
    assert "126.00 dollars" in text(shown(site))
    early = dataclasses.replace(site, now=NOW - timedelta(hours=20, minutes=50))
    assert "3.00 dollars" in text(shown(early))


def test_a_report_type_that_the_reader_may_not_see_does_not_exist(site: Site) -> None:
    """Neither its campaigns nor its schedule, its cost, or that it is measured."""
    secret, rented = "sysbench_ec2_weekly", {"zone": "z", SPENT: "9.99"}
    add(site, "s1", 3, {INDEX: "regression"}, report=secret, environment=rented)
    add(site, "s2", 1, state="running", report=secret, environment=rented)
    add(site, "c1", 2, {POINT: "equivalent"})
    html = shown(dataclasses.replace(site, reports=frozenset({"sysbench_test"})))
    for hidden in ("sysbench_ec2_weekly", "s1", "s2", "9.99", "2026-11-23"):
        assert hidden not in text(html).split()
    assert "c1/" in html


def test_a_report_type_that_cannot_be_read_is_named(site: Site, tmp_path: Path) -> None:
    """The rest of the page is there."""
    (tmp_path / "configs").unlink()
    (tmp_path / "configs" / "reports").mkdir(parents=True)
    (tmp_path / "configs" / "reports" / "broken.yaml").write_text("report: [")
    add(site, "c1", 2, {POINT: "equivalent"})
    read = text(shown(site))
    assert "broken.yaml" in read
    assert "Point Select = equivalent" in read


def test_one_glance_says_whether_everything_is_all_right(site: Site) -> None:
    """Or what to look at; each report type's newest campaigns have a mark with the reason."""
    assert "All is well" not in text(shown(site)), "nothing was measured"
    add(site, "c1", 9, {POINT: "equivalent"})
    assert "All is well" in text(shown(site))
    add(site, "c2", 5, {POINT: "regression"})
    assert "Look at a regression that nobody has judged." in text(shown(site))
    site.store.findings.mark(1, "known", "ann")
    assert "All is well" in text(shown(site))
    add(site, "c3", 2, state="failed")
    site.store.fail("c3", Failure("provision", ("no host was to be had",)))
    page = shown(site)
    assert "Look at a report type whose newest campaign failed or did not begin." in text(page)
    said = [
        unescape(one) for one in re.findall(r'class="mark \w+"[^>]* aria-label="([^"]*)"', page)
    ]
    assert [one.partition(": ")[2] for one in said] == [
        "fine",
        "regression",
        "failed: no host was to be had",
    ]


def run_of(report: str, days: float, state: RunState) -> RunOfDag:
    """A run of a report type's DAG so many days ago."""
    run = f"scheduled__{days}"
    at = NOW - timedelta(days=days)
    return RunOfDag(report, run, f"Airflow run {run}", state, at, f"why {run}")


def test_a_run_that_failed_before_its_campaign_is_not_well(site: Site) -> None:
    """It is a tile and a mark with the reason, until a later run began a campaign or had none."""
    weekly = "sysbench_ec2_weekly"
    add(site, "c1", 9, {POINT: "equivalent"}, report=weekly)
    add(site, "c2", 3, report=weekly, origin="Airflow run scheduled__3")
    runs = [run_of(weekly, 3, "failed"), run_of(weekly, 6, "skipped"), run_of(weekly, 2, "failed")]
    runs += [run_of(weekly, 1, "waiting"), run_of("secret", 1, "failed")]
    asked = []

    def runs_of(reports: Collection[str]) -> list[RunOfDag]:
        asked.append(reports)
        return [one for one in runs if one.report in reports]

    with_runs = dataclasses.replace(site, runs_of=runs_of, reports=frozenset({weekly}))
    page = overview.overview(with_runs)
    assert page.values["is_well"] is False
    (row,) = (one for one in page.values["rows"] if one["report"] == weekly)
    assert [(one.campaign, one.run, one.kind) for one in row["marks"]] == [
        ("c1", None, "fine"),
        (None, "scheduled__6", "skipped"),
        ("c2", None, "fine"),
        (None, "scheduled__2", "failed"),
        (None, "scheduled__1", "waiting"),
    ]
    html = shown(with_runs)
    read = text(html)
    assert "Look at a report type whose newest campaign failed or did not begin." in read
    assert f"Waiting to begin {weekly}" in read
    assert f'href="runs/{weekly}/scheduled__2/" title="2026-11-19: failed before' in html
    assert "why scheduled__2" in html
    assert [*map(list, asked)] == [[weekly]] * 2, "of no DAG that the reader may not see"
    runs.append(run_of(weekly, 0.5, "skipped"))
    assert "All is well" in text(shown(with_runs))


def test_a_report_type_whose_first_run_failed_is_seen(site: Site) -> None:
    """Also in a store without campaigns; and in both languages."""
    runs = [run_of("sysbench_ec2_weekly", 2, "failed")]
    first = dataclasses.replace(site, runs_of=lambda reports: runs)
    assert "Look at a report type whose newest campaign failed or did not begin." in text(
        shown(first)
    )
    zh = shown(dataclasses.replace(first, language=load("zh")))
    assert "在测试活动开始前失败" in zh


def test_an_operator_reads_that_the_disk_fills_and_that_nobody_is_notified(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the first page of a server, and neither where both are well."""
    assert "Nobody is notified of anything: " in text(shown(site))
    assert "of its disk are free" not in text(shown(site))
    (tmp_path / "configs").unlink()
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "notifications.yaml").write_text(
        "notifiers: [{name: all, notifier: airflow.sdk.BaseNotifier, arguments: {text: '{text}'}}]"
    )
    full = shutil.disk_usage(tmp_path)._replace(free=10**9)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)
    read = text(shown(site))
    assert "Nobody is notified" not in read
    assert "less than 5 % or 5 GB of its disk are free" in read
    assert "of its disk" not in text(shown(dataclasses.replace(site, as_files=True)))


@pytest.mark.parametrize(
    ("code", "advice"), [("en", "Nothing has been measured yet."), ("zh", "尚未测量任何内容。")]
)
def test_an_empty_store_says_what_to_do_next(site: Site, code: str, advice: str) -> None:
    """In the reader's language."""
    read = text(shown(dataclasses.replace(site, language=load(code))))
    assert f"{advice} " in read
    assert "benchlab run sysbench_local" in read


def test_both_languages_have_every_sentence(site: Site) -> None:
    """Of a page with everything on it."""
    add(site, "c1", 2, {POINT: "improvement", INDEX: "regression"}, environment={SPENT: "1.00"})
    add(site, "now", 0.1, state="running")
    for code in ("en", "zh"):
        assert "Update Index" in shown(
            dataclasses.replace(site, language=load(code), may_change=True)
        )


def test_names_from_outside_are_text(site: Site) -> None:
    """A store may have been written by anybody."""
    add(site, "c1", 2, {"<img src=x onerror=alert(1)>": "regression"})
    html = shown(site)
    assert "&lt;Img Src=X" in html
    assert "<img" not in html.lower()
