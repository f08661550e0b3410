"""Pages of a campaign, of its trials, and of two campaigns: what they say, and where they lead."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from upath import UPath

from benchlab.campaign import report_types
from benchlab.campaign.overrides import override, parse_assignments, resuming
from benchlab.campaign.progress import ProgressLog, ProgressNote
from benchlab.campaign.stored import StoredCampaign
from benchlab.errors import NotMeasuredError, SpecError, TargetError, UnavailableError
from benchlab.home import Home
from benchlab.language import codes, load, message
from benchlab.plan.order import PlannedTrial
from benchlab.report.model import profiles
from benchlab.results import diagnosis
from benchlab.results.diagnosis import Diagnosis, Taken
from benchlab.results.records import Campaign, GateResult, Remarks, Sample
from benchlab.results.store import Store
from benchlab.site import campaign, documents, files, overview, side_by_side, trial
from benchlab.site import campaigns as campaigns_page
from benchlab.site.campaigns import Filter
from benchlab.site.page import NoSuchPage, Page, Site, render
from tests.builders import campaigns, plans
from tests.builders.compared_profiles import found as found_profiles
from tests.builders.installation import ROOT, Here
from tests.builders.plans import START

SLOW = campaigns.known_change({"oltp_update_index": -0.2}, noise=0.001)
HOSTILE = "<script>alert(1)</script>"
REJECTION = "gate client_exit failed: found 137, allowed 0 to 0 (the client ended by itself)"
SERIES = """t,threads,tps,qps,p95_ms,errors_per_s,reconnects_per_s
1,4,900.5,900.5,2.1,0,0
2,4,950,950,,0,0
"""
HOSTS = """host,t,seconds,cpu_busy,disk_busy,net_rx_bytes_per_s
host-1,1,1,0.5,0.1,2000000
host-1,2,1,0.75,,1000000
"""


class Made:
    """An installation with a store that a test fills."""

    def __init__(self, path: Path) -> None:
        self.home = Home(ROOT, path)
        self.store = Store(f"sqlite:///{path}/results.db", UPath(path / "objects"))

    def site(self, code: str = "en", **fields: Any) -> Site:
        """The site as its reader sees it."""
        return Site(self.home, self.store, load(code), datetime(2024, 2, 1, tzinfo=UTC), **fields)

    def add(
        self,
        id: str = "c1",  # noqa: A002 - the field's name
        *,
        tps: Callable[[PlannedTrial], float] = SLOW,
        rejected: tuple[int, ...] = (),
        measured: int | None = None,
        state: Any = "complete",
        **fields: Any,
    ) -> Campaign:
        """A campaign; ``rejected``: numbers of trials; ``measured``: how many have a result."""
        made = dataclasses.replace(campaigns.campaign(id=id, **fields), state=state)
        self.store.add_campaign(made)
        for planned in made.plan.trials[:measured]:
            number, name = planned.index + 1, f"{id}/{planned.id}"
            gates = (
                GateResult(
                    "client_exit", "fail", 137.0, "the client ended by itself and without an error"
                ),
            )
            result = campaigns.trial_result(
                planned,
                tps=tps(planned),
                reasons=[REJECTION, HOSTILE] if number in rejected else [],
                gates=gates if number in rejected else None,
            )
            kept: dict[str, Any] = {
                "raw": f"{name}.txt",
                "series": f"{name}.csv",
                "hosts": f"{name}.hosts.csv",
            }
            self.store.write_bytes(kept["series"], SERIES.encode())
            self.store.write_bytes(kept["hosts"], HOSTS.encode())
            self.store.add_trial(id, dataclasses.replace(result, **kept))
        return made


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    """An empty installation."""
    opened = Made(tmp_path)
    with opened.store:
        yield opened


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """A campaign that found a regression, its trial 17 rejected; and another one beside it."""
    opened = Made(tmp_path_factory.mktemp("measured"))
    with opened.store:
        opened.add(rounds=4, rejected=(17,), environment={"cores": "2", "kernel": HOSTILE})
        opened.add(
            "c2", tps=campaigns.known_change({"oltp_update_index": -0.1}, noise=0.001), seconds=9
        )
        yield opened


def text(html: str) -> str:
    """What a person reads of it, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def shown(site: Site, page: Page) -> str:
    """The page's HTML."""
    return render(site, page)


def all_pages(site: Site) -> Iterator[Page]:
    """Every kind of page of the first campaign."""
    record = site.store.campaign("c1")
    yield campaign.campaign(site, "c1")
    yield trial.trial(site, "c1", record.plan.trials[0].id)
    yield trial.trial(site, "c1", record.plan.trials[16].id)
    yield side_by_side.side_by_side(site, "c1", "c2")
    yield side_by_side.side_by_side(site)


def test_the_answer_comes_first(measured: Made) -> None:
    """The sentences, charts, a table with intervals, then everything else, folded and linked."""
    site = measured.site()
    read = text(shown(site, campaign.campaign(site, "c1")))
    opened = "10.11.5 is slower at Update Index (-20.0"
    first = [read.index(said) for said in (opened, "Change of throughput", "Adjusted p")]
    # Links to these sections stand above them.
    later = [read.rindex(said) for said in ("Update Index performance", "Trials", "Provenance")]
    places = [*first, *later]
    assert places == sorted(places)


def test_charts_are_described_and_sides_differ_by_more_than_colour(measured: Made) -> None:
    """A description for screen readers; round and square marks; a unit on every axis."""
    site = measured.site()
    page = shown(site, campaign.campaign(site, "c1"))
    assert all(re.findall(r"<svg[^>]* aria-label=\"([^\"]*)\"", page))
    for kind, count in (("forest", 2), ("curves", 4), ("key", 4)):
        assert page.count(f'<svg class="chart {kind}"') == count
    shapes = re.findall(r'class="mark (\w+)" d="M[\d.]+ [\d.]+([a-z])', page)
    assert set(shapes) == {("baseline", "a"), ("candidate", "v")}
    # A point for every round, thread count and side of both metrics: less the rejected pair's.
    assert page.count(' round"') == 2 * 2 * 2 * 4 * 2 - 2 * 2
    assert "TPS (1/s), higher is better" in page


def test_why_a_trial_was_rejected_is_one_click_away(measured: Made) -> None:
    """The campaign's page names trial 17 with the reason in full, and leads to the trial's page."""
    site, planned = measured.site(), measured.store.campaign("c1").plan.trials[16]
    page = shown(site, campaign.campaign(site, "c1"))
    rejected = page[page.index('id="rejected"') :]
    row = rejected[: rejected.index("</tr>", rejected.index("<td"))]
    assert '<td class="number">17</td>' in row
    assert REJECTION in text(row)
    link = re.search(r'href="([^"]+)"', row)
    assert link is not None
    assert link[1] == f"../../campaigns/c1/trials/{planned.id}/?attempt=1"


def test_a_rejected_trial_says_why_with_what_was_observed_and_allowed(measured: Made) -> None:
    """The reason first; then its gate with the observed value, the bounds and the sentence."""
    site, planned = measured.site(), measured.store.campaign("c1").plan.trials[16]
    read = text(shown(site, trial.trial(site, "c1", planned.id)))
    assert read.index("Rejected: the figures of this trial are not used.") < read.index(REJECTION)
    assert read.index(REJECTION) < read.index("Second by second")
    assert "client_exit ✗ failed makes the trial invalid 137 unknown the client ended" in read
    assert "the client ended by itself and without an error" in read


def test_a_trial_is_shown_beside_its_partner_on_one_axis_of_time(measured: Made) -> None:
    """Both sides in each picture, of the client and of each host; what is missing is left out."""
    site, planned = measured.site(), measured.store.campaign("c1").plan.trials[0]
    page = shown(site, trial.trial(site, "c1", planned.id))
    pictures = re.findall(r'<svg class="chart strips".*?</svg>', page, re.DOTALL)
    assert len(pictures) == 2
    for picture in pictures:
        lines = re.findall(r'class="line thin (\w+)"', picture)
        assert lines == ["baseline", "candidate"] * (len(lines) // 2)
    assert "TPS (1/s)" in pictures[0]
    assert "p95 latency (ms)" in pictures[0]
    assert "CPU (%)" in pictures[1]
    assert "Network in (MB/s)" in pictures[1]
    assert "Memory" not in pictures[1]  # the host did not report it
    assert 'class="line thin baseline" d="M' in pictures[0]


def test_deleted_series_are_said_and_lose_no_page(made: Made) -> None:
    """What is gone is named with its object, and the trial's figures and gates are there."""
    record = made.add(measured=4)
    planned = record.plan.trials[0]
    (made.home.root / "objects" / "c1" / f"{planned.id}.csv").unlink()
    (made.home.root / "objects" / "c1" / f"{planned.id}.hosts.csv").write_text("no,table\n1,2\n")
    site = made.site()
    read = text(shown(site, trial.trial(site, "c1", planned.id)))
    assert f"(c1/{planned.id}.csv) is recorded but cannot be read any more" in read
    assert f"(c1/{planned.id}.hosts.csv) are recorded but cannot be read any more" in read
    assert "tps (1/s)" in read


def test_stored_text_is_never_markup(measured: Made) -> None:
    """Reasons, environment and notes that contain HTML are shown as text, on every page."""
    measured.store.set_remarks("c1", Remarks(HOSTILE, (HOSTILE,)))
    for code in codes():
        site = measured.site(code)
        for page in all_pages(site):
            html = shown(site, page)
            assert HOSTILE not in html
            assert "style=" not in html
    site = measured.site()
    assert text(shown(site, campaign.campaign(site, "c1"))).count(HOSTILE) >= 3


def test_links_lead_to_pages_and_files_that_there_are(measured: Made) -> None:
    """Every trial that a campaign's page links to has a page; every file can be had."""
    site = measured.site()
    reports = measured.home.reports / "c1"
    (reports / "charts").mkdir(parents=True, exist_ok=True)
    (reports / "report.html").write_text("x")
    (reports / "charts" / "overview.svg").write_text("x")
    page = shown(site, campaign.campaign(site, "c1"))
    trials = set(re.findall(r'href="../../campaigns/c1/trials/([^/]+)/\?attempt=1"', page))
    assert trials == {one.id for one in measured.store.campaign("c1").plan.trials}
    for one in trials:
        trial.trial(site, "c1", one, 1)
    found = re.findall(r'href="../../campaigns/c1/files/([^"]+)"', page)
    assert found == ["report.html", "charts/overview.svg"]


def test_what_diagnosis_found_is_on_the_page_and_can_be_had(measured: Made) -> None:
    """Each trial's profile, and nothing else of the store; a static site has no such files."""
    where = "c1/diagnosis/oltp_update_index"
    raw = measured.store.write_bytes(f"{where}/cpu-1-baseline/tidb-server.pb.gz", b"raw")
    kept = profiles.to_json({"tidb": found_profiles()})
    names = {"profiles-cpu.json": measured.store.write_bytes(f"{where}/profiles-cpu.json", kept)}
    objects = {"tidb-server.pb.gz": raw}
    taken = Taken("oltp_update_index", "cpu", 1, "baseline", 4, 9.0, 1.0, objects)
    known = Diagnosis((taken,), {"oltp_update_index": names}, ended=True)
    measured.store.add_to_environment("c1", diagnosis.KEY, diagnosis.as_text(known))
    site = measured.site()
    page = shown(site, campaign.campaign(site, "c1"))
    assert "Which functions" in page
    assert "planner.optimize" in text(page)
    (name,) = re.findall(r'href="../../campaigns/c1/files/([^"]+pb\.gz)"', page)
    assert files.read(site, "c1", name) == b"raw"
    for other in ("diagnosis/../results.db", "diagnosis/oltp_update_index/other.pb.gz"):
        with pytest.raises(NoSuchPage):
            files.read(site, "c1", other)
    static = measured.site(as_files=True)
    assert "tidb-server.pb.gz" not in shown(static, campaign.campaign(static, "c1"))


def test_as_files_nothing_is_offered_that_only_a_server_can_do(measured: Made) -> None:
    """No comparison, nothing that is asked for again; addresses are those of files."""
    site = measured.site(as_files=True)
    page = shown(site, campaign.campaign(site, "c1"))
    assert "<form" not in page
    assert "data-refresh" not in page
    assert "compare/" not in page
    planned = measured.store.campaign("c1").plan.trials[0]
    assert f'href="../../campaigns/c1/trials/{planned.id}/index.html"' in page


def test_a_running_campaign_shows_how_far_it_is_and_what_it_has_found(made: Made) -> None:
    """Trial k of n, phase, time left, and the figures so far; asked for again until it ends."""
    record = made.add(state="running", measured=9, rejected=(2,))
    log = ProgressLog(made.home.campaign("c1") / "progress.jsonl")
    at = datetime(2024, 2, 1, tzinfo=UTC).timestamp()
    log.write(ProgressNote(at - 180, "measure", "run", 0, 24, record.plan.trials[0].title))
    log.write(ProgressNote(at, "measure", "restore", 9, 24, record.plan.trials[9].title))
    site = made.site()
    part = render(site, campaign.progress(site, "c1"), fragment=True)
    assert part.strip().startswith('<div data-refresh="../../campaigns/c1/progress"')
    read = text(part)
    assert "10 of 24" in read
    assert "measure · restore" in read
    assert "Time left, about 5 min" in read  # 20 s a trial, 15 left
    assert "9 measured so far; the latest:" in read
    assert REJECTION in read
    assert part in shown(site, campaign.campaign(site, "c1"))
    made.store.finish("c1", "complete")
    ended = render(made.site(), campaign.progress(made.site(), "c1"), fragment=True)
    assert "data-refresh" not in ended
    assert "<div data-reload>" in ended, "so that the whole page says that it has ended"
    assert "Show the answer" in text(ended)


def test_after_the_last_trial_all_trials_are_measured(made: Made) -> None:
    """Not none of them, where the step that follows says nothing of trials."""
    record = made.add(state="running")
    planned = len(record.plan.trials)
    log = ProgressLog(made.home.campaign("c1") / "progress.jsonl")
    at = datetime(2024, 2, 1, tzinfo=UTC).timestamp()
    last = record.plan.trials[-1].title
    log.write(ProgressNote(at - 9, "trial", "collect", planned - 1, planned, last))
    site = made.site()
    for stage in ("validate", "publish", "give back"):
        log.write(ProgressNote(at, stage, "report"))
        part = render(site, campaign.progress(site, "c1"), fragment=True)
        assert f"{planned} of {planned}" in text(part)
        assert f'max="{planned}" value="{planned}"' in part
        work = render(site, overview.at_work(site), fragment=True)
        assert f'<progress value="{planned}" max="{planned}"' in work


def test_why_a_campaign_waits_is_said_in_the_readers_language(made: Made) -> None:
    """For a calm machine; for a person or other campaigns, which is no silence for days."""
    made.add(state="running", measured=0)
    log = ProgressLog(made.home.campaign("c1") / "progress.jsonl")
    busy = message("calm-busy", host="tikv-1", share="93%", most="10%")
    log.note("trial", "wait for calm", message("calm-waits", busy=busy, most="300"))

    def read(code: str, days: float = 0.0) -> str:
        now = datetime.now(UTC) + timedelta(days=days)
        site = dataclasses.replace(made.site(code), now=now)
        whole = shown(site, campaign.campaign(site, "c1"))
        return text(whole + render(site, overview.at_work(site), fragment=True))

    assert "other programs use 93% of the CPU of tikv-1 (10% is allowed); waiting" in read("en")
    assert "其他程序占用 tikv-1 的 93% CPU" in read("zh")
    log.note("approve", "wait for approval", message("approval-waits", dollars="61.20"))
    said = "waiting for a person to approve about 61.20 dollars"
    assert read("en").count(said) == 2
    assert "等待有人批准约 61.20 美元" in read("zh")
    assert "silent for a long time" not in read("en", days=2.9)
    assert "silent for a long time" in read("en", days=3.1)
    said = "campaign c0 holds 90.00 dollars until about 14:10 UTC"
    log.note("register", "wait until it is free", said)
    assert read("en").count(said) == 2
    assert "min left" not in read("en"), "nobody knows how long it waits"
    assert "silent for a long time" not in read("en", days=0.4)
    site = made.site()
    listed = text(shown(site, campaigns_page.campaigns(site, Filter())))
    assert "in progress" in listed
    assert "being measured" not in listed


def test_a_verdict_stays_and_what_is_known_later_is_a_second_line(here: Here) -> None:
    """Page, two campaigns beside each other, list, overview and command say the same verdict.

    The A/A campaigns that end later say how much deployments differ: with them the change is none.
    """
    with Store(here.home.store_url, here.home.objects) as store:
        spec = plans.spec(rounds=4, deployments=4, workloads=["oltp_update_index"], threads=[4])
        slower = campaigns.known_change({"oltp_update_index": -0.03}, noise=0.001)
        one = campaigns.campaign(spec, id="c1")
        store.add_campaign(one)
        for result in campaigns.results_of(one.plan, slower):
            store.add_trial("c1", result)
        work = StoredCampaign(here.home, store, store.campaign("c1"))
        work.publish()

        def verdicts() -> list[bool]:
            site = Site(here.home, store, load("en"), datetime(2024, 2, 1, tzinfo=UTC))
            pages = [
                campaign.campaign(site, "c1"),
                campaigns_page.campaigns(site, Filter()),
                overview.overview(site),
                side_by_side.side_by_side(site, "c1", "c1"),
            ]
            said = [text(shown(site, page)).partition("Known only later")[0] for page in pages]
            said.append(here.run("compare", "c1").stdout.partition("Known only later")[0])
            return ["▼" in one or "is slower at" in one for one in said]

        before, document = verdicts(), work.outcome().comparison
        assert before == [True] * 5
        for number, noise in enumerate((0.2, -0.2, 0.15, -0.15, 0.25, -0.25)):
            aa = campaigns.campaign(
                id=f"aa{number}", rounds=4, deployments=4, threads=[4], sides="same",
                workloads=["oltp_update_index"],
            )  # fmt: skip
            ended = one.ended_at and one.ended_at + timedelta(days=number + 1)
            store.add_campaign(dataclasses.replace(aa, ended_at=ended))
            noisy = campaigns.known_change({"oltp_update_index": noise}, noise=0.001)
            for result in campaigns.results_of(aa.plan, noisy):
                store.add_trial(aa.id, result)
        again = StoredCampaign(here.home, store, store.campaign("c1"))
        assert again.outcome().comparison == document, "it has the calibration of its own time"
        assert verdicts() == before
        again.publish()
        assert verdicts() == before, "published again it stays, too"
        line = "Known only later: with the 6 A/A campaigns that ended after this campaign"
        site = Site(here.home, store, load("en"), datetime(2024, 2, 1, tzinfo=UTC))
        assert line in text(shown(site, campaign.campaign(site, "c1")))
        assert line in text(shown(site, side_by_side.side_by_side(site, "c1", "aa0")))
        assert line in " ".join(here.run("compare", "c1").stdout.split())
        assert line in json.loads(here.run("compare", "c1", "--json").stdout)["later"]
        assert json.loads(here.run("compare", "aa5", "--json").stdout)["later"] == ""


def test_a_live_page_costs_two_small_queries_each_time(made: Made) -> None:
    """However many trials there are; Airflow's own check of the login is a third, every 15 s."""
    made.add(state="running", measured=9)
    site, asked = made.site(), []
    engine = made.store.database.engine
    sa.event.listen(engine, "before_cursor_execute", lambda *event: asked.append(event[2]))
    part = render(site, campaign.progress(site, "c1"), fragment=True)
    assert len(asked) == 2, asked
    assert 'data-seconds="15"' in part


@pytest.mark.parametrize(
    ("state", "count", "said"),
    [
        ("running", 0, "No round is complete yet"),
        ("failed", 0, "The campaign failed. What was measured is shown."),
        ("failed", 1, "No round is complete: no verdict is possible."),
    ],
)
def test_a_campaign_without_results_says_so_and_what_to_do(
    made: Made, state: str, count: int, said: str
) -> None:
    """No table of n/a in place of an answer."""
    record = made.add(state=state, measured=count)
    for code in codes():
        shown(made.site(code), campaign.campaign(made.site(code), "c1"))
    site = made.site()
    read = text(shown(site, campaign.campaign(site, "c1")))
    assert said in read
    assert "Adjusted p" not in read.split("How to read this")[0]
    later = text(shown(site, trial.trial(site, "c1", record.plan.trials[-1].id)))
    assert ("has not been measured yet" if state == "running" else "never measured") in later


@pytest.mark.parametrize(
    ("error", "first"),
    [
        (UnavailableError("no MariaDB 9.9.9\nit is not published"), "no MariaDB 9.9.9"),
        (TargetError("port 13306 of this machine is taken by mysqld"), "port 13306 of this"),
        (SpecError(message("failure-rejected", who="ada")), "rejected by ada; nothing was"),
        (KeyboardInterrupt(), "it was interrupted"),
        (KeyError("a secret"), "an unexpected error (KeyError)"),
    ],
)
def test_what_failed_last_is_said_first_on_the_page_and_in_the_list(
    made: Made, error: BaseException, first: str
) -> None:
    """Its own sentence, in the reader's language; a text that nobody wrote for people is not."""
    record = made.add(state="running", measured=0)
    work = StoredCampaign(made.home, made.store, record)
    work.fail("register", TargetError("an earlier one"))
    work.fail("provision", error)
    work.fail("verdict", NotMeasuredError("none of the trials was measured"))  # follows from it
    made.store.finish("c1", "failed")
    site = made.site()
    problem = shown(site, campaign.campaign(site, "c1")).partition('class="problem">')[2]
    said = text(problem.partition("</div>")[0])
    assert said.startswith(first)
    assert "The stage that failed: provision." in said
    assert first in text(shown(site, campaigns_page.campaigns(site, Filter())))
    zh = made.site("zh")
    read = text(shown(zh, campaign.campaign(zh, "c1")))
    assert ("an earlier one" in read, "a secret" in read) == (False, False)
    translated = not isinstance(error, (UnavailableError, TargetError))
    assert (first in read) is not translated
    assert "失败的阶段：准备主机。" in read


def test_what_succeeded_at_last_has_not_failed(made: Made) -> None:
    """A try that failed is no reason once its stage went well; another stage's success is no cure.

    A campaign that is resumed begins with a clean slate.
    """
    work = StoredCampaign(made.home, made.store, made.add(state="running", measured=0))
    work.fail("provision", TargetError("no link"))
    work.overcome("register")
    assert made.store.failure("c1") is not None
    work.overcome("provision")
    assert made.store.failure("c1") is None
    work.fail("give_back", TargetError("i-1 could not be ended"))
    made.store.reopen("c1")
    assert made.store.failure("c1") is None


def test_where_no_stage_failed_the_last_trials_reason_is_the_campaigns(made: Made) -> None:
    """It is kept when the campaign ends, and said in the list, too."""
    record = made.add(state="running", rejected=(16, 17))
    StoredCampaign(made.home, made.store, record).finish()
    last = record.plan.trials[16].id
    site = made.site()
    read = text(shown(site, campaign.campaign(site, "c1")))
    assert f"{last}: {REJECTION}" in read.partition("How to read")[0]
    assert f"{last}: {REJECTION}" in text(shown(site, campaigns_page.campaigns(site, Filter())))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"rounds": 2, "threads": [4, 2], "threshold_pct": 3.5},
        {"candidate": "10.11.5", "warmup_seconds": 7, "seconds": 9},
        {"sides": "same"},
        {
            "baseline": "10.11.5",
            "candidate": "10.2.11",
            "engines.mariadb.parameters.innodb_buffer_pool_size": 1073741824,
        },
        {"workloads": ["oltp_update_index"], "dataset.table_size": 777},
    ],
)
def test_the_command_that_resumes_is_whole(
    here: Here, changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read as the command line reads it, it plans the same campaign: with it the store has one."""
    monkeypatch.setenv("BENCHLAB_LOCK", str(here.path / "lock"))
    file = report_types.load(report_types.find_report(here.home, "sysbench_local"))
    with Store(here.home.store_url, here.home.objects) as store:
        begun = campaigns.begin(here.home, store, override(file, changes))
        store.finish("c1", "failed")
        command = shlex.split(resuming(here.home, begun.campaign))
        assert command[:3] == ["benchlab", "run", "sysbench_local"]
        assert command[-2:] == ["--campaign", "c1"]
        assert set(command[3:-2:2]) <= {"--set"}
        again = override(file, parse_assignments(command[4:-2:2]))
        assert campaigns.begin(here.home, store, again).is_new is False
        assert len(store.campaign_ids()) == 1
        site = Site(here.home, store, load("en"), datetime(2024, 2, 1, tzinfo=UTC))
        assert shlex.join(command) in text(shown(site, campaign.campaign(site, "c1")))


def test_no_command_is_offered_that_would_be_refused(here: Here) -> None:
    """Where its file is gone, or faulty by now."""
    file = report_types.find_report(here.home, "sysbench_local")
    with Store(here.home.store_url, here.home.objects) as store:
        begun = campaigns.begin(here.home, store, report_types.load(file)).campaign
        file.write_text("report: sysbench_local\nrounds: many\n")
        assert resuming(here.home, begun) == ""
        file.unlink()
        assert resuming(here.home, begun) == ""
        store.finish("c1", "failed")
        site = Site(here.home, store, load("en"), datetime(2024, 2, 1, tzinfo=UTC))
        assert "start another campaign" in text(shown(site, campaign.campaign(site, "c1")))


ONE_VERSION: dict[str, Any] = {
    "sides": "single",
    "engines": {"mariadb": {"baseline": {"version": "10.2.11"}}},
    "deployments": 1,
}


@pytest.mark.parametrize("code", codes())
def test_a_campaign_of_one_version_has_a_page_without_a_verdict(made: Made, code: str) -> None:
    """Its curves and tables, no change and no other side; its trials have pages."""
    made.add(**ONE_VERSION)
    page = shown(made.site(code), campaign.campaign(made.site(code), "c1"))
    read = text(page)
    assert load(code).say("trust-seconds", seconds="4") in read
    words = ("candidate", "Adjusted p", "regression", "inconclusive", "候选", "校正")
    assert [word for word in words if word in read] == []
    assert page.count('<svg class="chart curves"') == 4, "two of each workload"
    assert "forest" not in page


def test_a_trial_of_one_version_has_a_page_without_another_side(made: Made) -> None:
    """Nothing stands there for what was not measured."""
    record = made.add(**ONE_VERSION)
    site = made.site()
    page = text(shown(site, trial.trial(site, "c1", record.plan.trials[0].id)))
    assert "round 1, measured version" in page
    assert [word for word in ("other side", "candidate") if word in page] == []


def beside_one_version(made: Made, *, days: int = 1, **fields: Any) -> documents.TwoCampaigns:
    """A campaign of 10.2.11 and, days later, another campaign a tenth slower: their document."""
    made.add(rounds=4, tps=lambda _: 1000.0, **ONE_VERSION)
    day = timedelta(days=days)
    other = made.add("c2", rounds=4, tps=lambda _: 900.0, **fields)
    assert other.ended_at
    later = dataclasses.replace(
        other, id="c3", started_at=other.started_at + day, ended_at=other.ended_at + day
    )
    made.store.add_campaign(later)
    for result in made.store.trials("c2"):
        made.store.add_trial("c3", result)
    site = made.site()
    page = side_by_side.side_by_side(site, "c3", "c1")
    assert load("en").say("site-two-campaigns") in text(shown(site, page))
    return documents.TwoCampaigns.model_validate_json(documents.text(site, page))


def test_two_campaigns_of_one_version_are_before_and_after(made: Made) -> None:
    """The earlier one is before, in whatever order they were asked for; with their figures."""
    after = {"mariadb": {"baseline": {"version": "10.11.5"}}}
    found = beside_one_version(made, **{**ONE_VERSION, "engines": after})
    (pair,) = found.pairs
    assert pair.labels == ("2: 10.2.11", "1: 10.11.5")
    assert {(line.change, line.found) for line in pair.lines if line.metric == "TPS"} == {
        ("-10.0%", "regression")
    }
    assert (found.sides, found.conditions) == (("1: 10.11.5", "2: 10.2.11"), ())
    tps = [one.figures for one in found.figures if one.metric == "tps"]
    assert tps == [pytest.approx((900.0, 1000.0))] * len(tps) != []


def test_one_version_is_compared_with_each_side_of_another_campaign(made: Made) -> None:
    """That was measured alike; the other campaign's own change stays on its page."""
    found = beside_one_version(made)
    assert [pair.labels for pair in found.pairs] == [
        ("2: 10.2.11", "1: 10.2.11"),
        ("2: 10.2.11", "1: 10.11.5"),
    ]
    assert len(found.sides) == 3


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"seconds": 9}, "seconds"),
        ({"environment": {"cpu": "another"}}, "cpu"),
        ({"days": 0}, "They were measured at the same time."),
    ],
    ids=["plan", "machine", "time"],
)
def test_what_was_not_measured_alike_has_figures_and_no_verdict(
    made: Made, fields: dict[str, Any], why: str
) -> None:
    """And the page says what differs."""
    found = beside_one_version(made, **ONE_VERSION, **fields)
    assert found.pairs == ()
    assert why in [*(one.name for one in found.conditions), *found.why_not]
    assert found.figures


@pytest.mark.parametrize(
    ("sides", "changes"),
    [({}, True), (ONE_VERSION, False)],
    ids=["two", "one"],
)
def test_what_can_be_compared_is_said_where_there_is_something(
    made: Made, sides: dict[str, Any], changes: bool
) -> None:
    """A campaign that failed before its candidate was prepared has no pair with any other."""
    failed = made.add(measured=0, state="failed")
    facts: Any = {"baseline": failed.facts["baseline"]}
    made.store.add_campaign(dataclasses.replace(failed, id="c0", facts=facts))
    made.add("c2", **sides)
    site = made.site()
    half = side_by_side.side_by_side(site, "c0", "c2")
    assert half.values["pairs"] == []
    assert ("c0 has not ended" in " ".join(half.values["why_not"])) == bool(sides)
    assert ("What can be compared are" in text(shown(site, half))) == changes


def test_two_campaigns_of_a_list_are_compared_the_earlier_first(made: Made) -> None:
    """Where one or three are ticked, it is said that two are compared."""
    made.add()
    made.add("c2")
    site = made.site()
    later = dataclasses.replace(made.store.campaign("c2"), id="c3", started_at=site.now)
    made.store.add_campaign(later)
    for ticked in (("c3", "c1"), ("c1", "c3")):
        chosen = side_by_side.side_by_side(site, chosen=ticked)
        assert chosen.query == {"first": "c1", "second": "c3"}
    for some in (["c1"], ["c1", "c2", "c3"]):
        page = text(shown(site, side_by_side.side_by_side(site, chosen=some)))
        assert "ticked: tick two." in page


def test_every_attempt_of_a_trial_has_a_page(made: Made) -> None:
    """The page opens at the attempt that counts, and links to the others."""
    record = made.add(measured=0)
    planned = record.plan.trials[0]
    pair = [one for one in record.plan.trials if one.pair == planned.pair]
    for attempt in (1, 2):
        for one in pair:
            reasons = [REJECTION] if attempt == 1 else []
            made.store.add_trial(
                "c1", campaigns.trial_result(one, attempt=attempt, reasons=reasons)
            )
    site = made.site()
    page = shown(site, trial.trial(site, "c1", planned.id))
    assert "Valid: the figures of this trial are used." in page
    assert f'href="../../../../campaigns/c1/trials/{planned.id}/?attempt=1"' in page
    first = text(shown(site, trial.trial(site, "c1", planned.id, 1)))
    assert "Rejected: the figures of this trial are not used." in first
    with pytest.raises(NoSuchPage, match="no attempt 3"):
        trial.trial(site, "c1", planned.id, 3)


def test_two_campaigns_are_warned_of_and_compared_by_their_changes(measured: Made) -> None:
    """Each change with its interval; no throughput of one beside the other's; what differs."""
    site = measured.site()
    page = shown(site, side_by_side.side_by_side(site, "c1", "c2"))
    read = text(page)
    assert read.index("These are two campaigns.") < read.index("Update Index TPS -20.0")
    assert re.search(r"Update Index TPS -20\.\S+ -2\S+ to -1\S+ ▼ regression -10\.", read)
    assert "-14% to +6%" in read
    assert "seconds 4 9" in read
    assert "kernel" in read
    assert "1,600" not in read  # a baseline's throughput
    swapped = text(shown(site, side_by_side.side_by_side(site, "c2", "c1")))
    assert "seconds 9 4" in swapped


def test_two_campaigns_are_compared_by_their_counts_too(made: Made) -> None:
    """In words of counts, and with a chart; the campaign without the count has not measured it."""
    for name, counts in (("c1", {"redo_bytes": 1.12}), ("c2", {})):
        record = campaigns.counting(campaigns.campaign(id=name, rounds=4), *counts)
        made.store.add_campaign(record)
        results = campaigns.results_of(record.plan, SLOW)
        for result in campaigns.taking(
            results, **{c: lambda t: 1120.0 if t.side == "candidate" else 1000.0 for c in counts}
        ):
            made.store.add_trial(name, result)
    site = made.site()
    page = shown(site, side_by_side.side_by_side(site, "c1", "c2"))
    said = r"Update Index redo log \+12\.\S+ \S+ to \S+ ▼ dearer not measured"
    assert re.search(said, text(page))
    assert "Change of what a transaction takes" in page
    assert "Update Index · 1: redo log" in page
    assert "Update Index · 2: redo log" not in page
    own = shown(site, campaign.campaign(site, "c1"))
    assert own.count('class="chart forest fine"') == 1


def test_what_a_reader_may_not_see_does_not_exist(measured: Made) -> None:
    """Hidden and missing campaigns are the same to them, on every page."""
    hidden = measured.site(reports=frozenset({"other"}))
    planned = measured.store.campaign("c1").plan.trials[0].id
    for site, name in ((hidden, "c1"), (measured.site(), "c9")):
        for ask, arguments in (
            (campaign.campaign, (name,)),
            (campaign.progress, (name,)),
            (trial.trial, (name, planned)),
            (side_by_side.side_by_side, (name,)),
            (side_by_side.side_by_side, (name, name)),
        ):
            with pytest.raises(NoSuchPage, match="there is no such campaign"):
                ask(site, *arguments)
    with pytest.raises(NoSuchPage, match="its plan has no trial"):
        trial.trial(measured.site(), "c1", "r9-baseline-nothing-t1")
    assert not re.search(r">c[12] ", shown(hidden, side_by_side.side_by_side(hidden)))


def test_long_series_are_thinned_to_what_can_be_seen(made: Made) -> None:
    """Half an hour keeps its mean, in a few hundred points."""
    record = made.add(measured=2)
    planned = record.plan.trials[0]
    rows = "".join(f"{second},4,{1000 + second % 2},,,,\n" for second in range(1, 1801))
    made.store.write_bytes(
        f"c1/{planned.id}.csv", (SERIES.partition("\n")[0] + "\n" + rows).encode()
    )
    site = made.site()
    page = shown(site, trial.trial(site, "c1", planned.id))
    line = re.search(rf'class="line thin {planned.side}" d="([^"]+)"', page)
    assert line is not None
    assert 400 <= line[1].count("L") <= 450


def test_figures_of_a_campaign_are_read_at_once(made: Made) -> None:
    """By trial and attempt; a trial without figures is there, and what is missing stays so."""
    record = made.add(measured=0)
    first, second = record.plan.trials[:2]
    lost = dataclasses.replace(
        campaigns.trial_result(first, reasons=["r"]), samples=(Sample("tps", None),)
    )
    none = dataclasses.replace(campaigns.trial_result(second), samples=(), started_at=START)
    made.store.add_trial("c1", lost)
    made.store.add_trial("c1", none)
    found = made.store.figures("c1", {"tps"})
    assert found[first.id, 1].values == {"tps": None}
    assert found[first.id, 1].reasons == ("r",)
    assert found[second.id, 1].values == {}
