"""Whole campaigns on two real MariaDB releases, HAProxy and sysbench; without Airflow."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchlab.campaign.progress import ProgressLog
from benchlab.workloads import sysbench
from tests.machine import LIMIT_S, PROJECT, Machine


def test_a_campaign_compares_two_real_releases(machine: Machine) -> None:
    """One command: every planned trial once, the report on disk, the machine as it was."""
    settings = machine.settings(rounds=2, workloads="oltp_point_select,oltp_update_index")
    output = machine.run(
        "benchlab.cli.main", "run", "sysbench_local", "--campaign", "two-releases", *settings
    )
    campaign, trials = machine.outcome("two-releases")
    assert campaign.state == "complete"
    assert sorted(result.trial.id for result in trials) == sorted(
        planned.id for planned in campaign.plan.trials
    )
    assert [result.trial.index for result in trials] == list(range(8)), "in the plan's order"
    assert all(result.valid for result in trials), [result.reasons for result in trials]
    assert campaign.facts["baseline"].version.startswith("10.2.11")
    assert campaign.facts["candidate"].version.startswith("10.11.5")
    assert campaign.facts["candidate"].git_hash
    assert "Update Index" in output
    reports = machine.here.reports / "two-releases"
    pages = ("report.md", "report.html", "evidence.zip")
    for name in (*pages, "comparison.csv", "report.json", "trials.csv"):
        assert (str(reports / name) in output) == (name in pages), (
            "the pages, not a list of all files"
        )
        assert (reports / name).stat().st_size > 100
    found = machine.verified("two-releases")
    assert found.outcome == "holds", found.lines()
    assert found.checked["raw outputs"] == len(trials)
    assert machine.left_running("two-releases") == []
    assert machine.holder() is None
    for side in ("baseline", "candidate"):
        assert not (machine.here.campaign("two-releases") / side / "data").exists()
    # A person is left with a report, an archive, and how it went.
    folders = (reports, machine.here.campaign("two-releases"), machine.here.root / "objects")
    left = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert len(left) <= 20, left
    assert sum(path.stat().st_size for path in left) < 1_000_000
    evidence = (reports / "evidence.zip").read_bytes()
    machine.run("benchlab.cli.main", "publish", "two-releases")
    assert (reports / "evidence.zip").read_bytes() == evidence, "made of the sealed outputs"


def test_a_campaign_of_one_version_measures_it_and_has_no_verdict(machine: Machine) -> None:
    """The report type that ships: every trial, a report without a verdict, evidence that holds."""
    command = ("benchlab.cli.main", "run", "sysbench_local_single", "--campaign", "one-version")
    output = machine.run(
        *command, *machine.settings(rounds=1, workloads="oltp_point_select", threads="1,2")
    )
    campaign, trials = machine.outcome("one-version")
    assert campaign.state == "complete"
    assert [result.trial.id for result in trials] == [one.id for one in campaign.plan.trials]
    assert [result.reasons for result in trials] == [()] * 2
    assert list(campaign.facts) == ["baseline"]
    assert "it was measured alone, so there is no verdict" in " ".join(output.split())
    page = (machine.here.reports / "one-version" / "report.html").read_text()
    assert "candidate" not in re.sub("<style>.*</style>", "", page, flags=re.DOTALL)
    with machine.store() as store:
        (listed,) = store.listing.summaries()
    assert (listed.id, listed.verdicts) == ("one-version", ())
    found = machine.verified("one-version")
    assert found.outcome == "holds", found.lines()
    judge = ("benchlab.cli.main", "compare", "one-version", "--fail-on", "regression")
    assert "measures one version (sides: single)" in machine.run(*judge, code=1)
    assert machine.left_running("one-version") == []
    assert machine.holder() is None


@pytest.mark.fault(
    "a campaign dies between two deployments",
    promise="it goes on with the next one, and no round is measured on another one's data",
    of="processes",
)
def test_a_campaign_that_dies_between_two_deployments_goes_on(machine: Machine) -> None:
    """No round is measured on the data of another deployment, and none is measured twice."""
    settings = machine.settings(rounds=2, deployments=2)
    command = ("benchlab.cli.main", "run", "sysbench_local", "--campaign", "deployed", *settings)
    run = machine.start(*command)
    first = ""
    while "deployment 2 of 2" not in first:
        assert run.poll() is None, run.communicate()
        notes = ProgressLog(machine.here.campaign("deployed") / "progress.jsonl").read()[0]
        first = next((n.note for n in notes[::-1] if n.phase.startswith("load ")), "")
        time.sleep(0.02)
    run.kill()
    run.communicate()
    _, before = machine.outcome("deployed")
    assert [result.trial.round for result in before] == [1, 1]
    machine.run(*command)
    campaign, trials = machine.outcome("deployed")
    assert campaign.state == "complete"
    assert [result.trial.id for result in trials] == [t.id for t in campaign.plan.trials]
    assert trials[:2] == before
    assert all(result.valid for result in trials), [result.reasons for result in trials]
    assert ["check dataset" in result.phases for result in trials] == [True] * 4, "on new data"
    assert machine.comparison("deployed")["deployments"] == 2
    assert "2 deployments of each side" in rendered(machine, "deployed", "md")
    assert machine.left_running("deployed") == []


def test_both_sides_run_in_the_same_place_and_are_reached_directly(machine: Machine) -> None:
    """Same port, same paths, as much on the stack; without a load balancer there is no HAProxy."""
    run = machine.start(
        *("benchlab.cli.main", "run", "sysbench_local", "--campaign", "direct"),
        *machine.settings(load_balancer="none", seconds=3),
    )
    places, port = {}, machine.ports["server"]
    for number in range(2):
        step = machine.wait_for("direct", "run", after=number)
        side = "candidate" if "candidate" in str(step.trial) else "baseline"
        process = Path("/proc") / str(machine.pid_of("direct", f"server-{side}"))
        there = [process.joinpath(name).read_bytes() for name in ("cmdline", "environ")]
        size = len(b"".join(there)) + len(str(process.joinpath("exe").resolve())) + 1
        place = next(w for w in there[0].decode().split("\0") if w.startswith("--defaults-file="))
        places[side] = (place, size % os.sysconf("SC_PAGE_SIZE"))
    jobs = list(machine.here.campaign("direct").glob("jobs/*"))
    commands = [job.joinpath("command").read_text() for job in jobs]
    output, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0, output
    assert places["baseline"] == places["candidate"]
    campaign, trials = machine.outcome("direct")
    assert all(result.valid for result in trials), [result.reasons for result in trials]
    assert "haproxy" not in campaign.environment
    page = rendered(machine, "direct", "md")
    clients = [command for command in commands if " --mysql-port=" in command]
    assert clients
    assert all(f"--mysql-port={port} " in command for command in clients)
    assert not [job.name for job in jobs if "haproxy" in job.name]
    assert "then run the client for 3 s" in page
    assert "HAProxy" not in page
    assert {facts.variables["datadir"] for facts in campaign.facts.values()} == {
        f"{machine.here.campaign('direct')}/server/data/"
    }
    assert not machine.here.campaign("direct").joinpath("server").is_symlink()


def test_every_figure_comes_from_a_kept_raw_output(machine: Machine) -> None:
    """What the report prints of a trial is what sysbench printed, and the text is kept.

    With another restore policy than the report type's, which restores just where the plan says.
    """
    settings = machine.settings(restore="after_writes", threads="1,2")
    machine.run("benchlab.cli.main", "run", "sysbench_local", "--campaign", "figures", *settings)
    campaign, trials = machine.outcome("figures")
    assert campaign.state == "complete"
    table = csv.DictReader(io.StringIO(rendered(machine, "figures", "csv")))
    rows = {int(row["threads"]): row for row in table}
    with machine.store() as store:
        for result in trials:
            assert ("restore" in result.phases) == result.trial.restore
            assert result.raw is not None
            raw = store.read_bytes(result.raw).decode()
            output = sysbench.parse(raw)
            assert result.value("tps") == output.tps
            assert f"({output.tps:.2f} per sec.)" in raw
            row = rows[result.trial.threads]
            assert float(row[f"{result.trial.side}_tps"]) == pytest.approx(output.tps)
    assert any(result.trial.restore for result in trials)
    comparison = machine.comparison("figures")
    (workload,) = comparison["workloads"]
    assert workload["verdict"] == "inconclusive", "one round proves nothing"


def rendered(machine: Machine, campaign: str, form: str) -> str:
    """`benchlab render`."""
    return machine.run("benchlab.cli.main", "render", campaign, "--format", form)


@pytest.mark.fault(
    "a server is killed in a trial",
    promise="the trial is invalid, its block is measured again, and its figures are excluded",
    of="servers",
)
def test_a_killed_server_never_reaches_the_report(machine: Machine) -> None:
    """The trial is invalid, its block is measured again, its figures are excluded."""
    run = machine.start(
        *("benchlab.cli.main", "run", "sysbench_local", "--campaign", "killed-server"),
        *machine.settings(seconds=3),
    )
    step = machine.wait_for("killed-server", "run", after=1)
    side = "candidate" if "candidate" in str(step.trial) else "baseline"
    os.kill(machine.pid_of("killed-server", f"server-{side}"), signal.SIGKILL)
    output, _ = run.communicate(timeout=LIMIT_S)
    assert run.returncode == 0, output
    campaign, trials = machine.outcome("killed-server")
    assert campaign.state == "complete"
    (broken,) = [result for result in trials if not result.valid]
    assert any("summary" in str(reason) for reason in broken.reasons)
    assert {result.attempt for result in trials if result.valid} == {1, 2}
    comparison = machine.comparison("killed-server")
    assert comparison["repeated_pairs"] == 1
    assert {(e["trial"], e["attempt"]) for e in comparison["excluded"]} == {
        (result.trial.id, 1) for result in trials if result.attempt == 1
    }
    measured_again = next(r for r in trials if r.attempt == 2 and r.trial.side == "candidate")
    (cell,) = comparison["workloads"][0]["cells"]
    assert cell["candidate"]["tps"] == pytest.approx(measured_again.value("tps"))
    assert broken.trial.id in rendered(machine, "killed-server", "md")


DRIVE = """
import sys
from pathlib import Path
from benchlab import home
from benchlab.campaign.stages import CampaignRun
from benchlab.results.store import Store
here = home.find()
with Store(here.store_url, here.objects) as store:
    work = CampaignRun.open(here, store, sys.argv[1])
    result = work.sequence.measure_next()
    print(result.trial.id if result else None, result.adopted if result else None)
"""

PREPARE = """
import sys
from pathlib import Path
from benchlab import home
from benchlab.campaign import overrides, report_types
from benchlab.plan.report_type import SIDES
from benchlab.results.store import Store
from tests.builders import campaigns
here = home.find()
spec = report_types.load(report_types.find_report(here, "sysbench_local"))
spec = overrides.override(spec, overrides.parse_assignments(sys.argv[2:]))
with Store(here.store_url, here.objects) as store:
    work = campaigns.begin(here, store, spec, sys.argv[1])
    work.register()
    work.provision()
    sides = work.deployments
    for side in SIDES:
        for stage in (sides.deploy, sides.load, sides.analyze, sides.back_up):
            stage(side)
"""


def python(machine: Machine, code: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python process of this home."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env=machine.environment,
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    machine.processes.append(process)
    return process


def prepared(machine: Machine, campaign: str, **changed: object) -> None:
    """A campaign whose sides are loaded and backed up, and which has measured nothing yet."""
    settings = [part for part in machine.settings(**changed) if part != "--set"]
    process = python(machine, PREPARE, campaign, *settings)
    output, _ = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, output


@pytest.mark.fault(
    "a task is killed while its client runs",
    promise="the next try adopts the client: no trial is lost, and no two clients run at once",
    of="processes",
)
def test_a_killed_task_loses_no_trial_and_starts_no_second_client(machine: Machine) -> None:
    """SIGKILL in the middle of a run: the retry adopts the client that is still running."""
    prepared(machine, "killed-task", seconds=4)
    first = python(machine, DRIVE, "killed-task")
    machine.wait_for("killed-task", "run")
    with machine.store() as store:
        planned = store.campaign("killed-task").plan.trials[0]
    client = machine.pid_of("killed-task", f"client-{planned.id}-a1")
    os.killpg(first.pid, signal.SIGKILL)
    output, _ = python(machine, DRIVE, "killed-task").communicate(timeout=LIMIT_S)
    assert output.split() == [planned.id, "True"], output
    assert machine.pid_of("killed-task", f"client-{planned.id}-a1") == client
    _, trials = machine.outcome("killed-task")
    assert [(r.trial.id, r.valid) for r in trials] == [(planned.id, True)], trials[0].reasons


@pytest.mark.fault(
    "a task that is started again outlived its worker",
    promise="both measure in turn, in the plan's order, never at once",
    of="processes",
)
def test_a_process_that_outlived_its_worker_is_waited_for(machine: Machine) -> None:
    """Two processes at the same campaign: one trial each, in the plan's order, never at once."""
    prepared(machine, "fenced", seconds=2)
    both = [python(machine, DRIVE, "fenced") for _ in range(2)]
    outputs = sorted(process.communicate(timeout=LIMIT_S)[0].split()[0] for process in both)
    campaign, trials = machine.outcome("fenced")
    assert outputs == sorted(planned.id for planned in campaign.plan.trials)
    first, second = trials
    assert first.trial.index < second.trial.index
    assert first.ended_at <= second.started_at
    assert first.valid
    assert second.valid


@pytest.mark.fault(
    "Ctrl-C in a trial",
    promise="no process stays, and the machine is free",
    of="processes",
)
def test_an_interrupted_campaign_leaves_nothing_running(machine: Machine) -> None:
    """Ctrl-C in a trial: no process stays, the machine is free, the campaign is `failed`."""
    run = machine.start(
        *("benchlab.cli.main", "run", "sysbench_local", "--campaign", "ctrl-c"),
        *machine.settings(seconds=30),
    )
    machine.wait_for("ctrl-c", "run")
    os.kill(run.pid, signal.SIGINT)
    run.communicate(timeout=LIMIT_S)
    assert run.returncode != 0
    assert machine.left_running("ctrl-c") == []
    assert machine.holder() is None
    assert machine.outcome("ctrl-c")[0].state == "failed"


def test_a_second_campaign_is_refused_and_told_who_holds_the_machine(machine: Machine) -> None:
    """Two at once would measure each other; what the second one says helps."""
    first = machine.start(
        *("benchlab.cli.main", "run", "sysbench_local", "--campaign", "first"),
        *machine.settings(seconds=20),
    )
    machine.wait_for("first", "deploy baseline")
    refused = machine.run(
        *("benchlab.cli.main", "run", "sysbench_local", "--campaign", "second"),
        *machine.settings(),
        code=1,
    )
    assert "held by campaign first (benchlab run, since " in refused
    assert "benchlab give-back first" in refused
    assert first.poll() is None, "the first goes on"
    assert "second" not in machine.run("benchlab.cli.main", "campaigns"), "it leaves nothing"
    machine.run("benchlab.cli.main", "give-back", "first")
    assert machine.holder() is None
    first.communicate(timeout=LIMIT_S)
    assert first.returncode != 0
    assert machine.left_running("first") == []


@pytest.mark.fault(
    "`benchlab run` is killed",
    promise="the next campaign ends what it left, and says so",
    of="processes",
)
def test_after_a_killed_campaign_the_next_one_cleans_up_and_says_so(machine: Machine) -> None:
    """SIGKILL of `benchlab run` frees nothing; the next campaign ends what it left."""
    first = machine.start(
        *("benchlab.cli.main", "run", "sysbench_local", "--campaign", "dead"),
        *machine.settings(seconds=30),
    )
    machine.wait_for("dead", "run")
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate(timeout=LIMIT_S)
    assert machine.left_running("dead"), "servers and client run on"
    output = machine.run(
        "benchlab.cli.main", "run", "sysbench_local", "--campaign", "next", *machine.settings()
    )
    assert "cleaned up after campaign dead" in output
    assert machine.left_running("dead") == []
    assert not (machine.here.campaign("dead") / "baseline" / "data").exists()
    assert machine.outcome("next")[0].state == "complete"


@pytest.mark.fault(
    "`benchlab run` is killed in one stage after the other, and run again each time",
    promise="it comes to its end with every trial, and nothing stays",
    of="processes",
)
@pytest.mark.long  # test_killed does it at every change of the state, without servers
def test_a_campaign_that_is_killed_in_each_stage_comes_to_its_end(machine: Machine) -> None:
    """SIGKILL of the process with its group; servers and clients go on until the next run."""
    log = ProgressLog(machine.here.campaign("stages") / "progress.jsonl")
    command = ("benchlab.cli.main", "run", "sysbench_local", "--campaign", "stages")
    first = "deploy", "load", "analyze", "back up"
    kills = ["check the machine", "local", *(f"{stage} baseline" for stage in first), "run"]
    for phase in (*kills, "report"):
        _, offset = log.read()
        run = machine.start(*command, *machine.settings())
        while not any(step.phase == phase for step in log.read(offset)[0]):
            assert run.poll() is None, run.communicate()[0]
            time.sleep(0.02)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate(timeout=LIMIT_S)
    machine.run(*command, *machine.settings())
    campaign, results = machine.outcome("stages")
    assert campaign.state == "complete"
    valid = [result.trial.id for result in results if result.valid]
    assert {*valid} == {trial.id for trial in campaign.plan.trials}
    assert machine.left_running("stages") == []
    assert machine.holder() is None
    assert machine.verified("stages").outcome == "holds"


@pytest.mark.fault(
    "`benchlab run` is killed within a pair of blocks, and run again",
    promise="the pair is measured again as a whole; no stored trial is measured twice",
    of="processes",
)
def test_a_killed_campaign_is_gone_on_with_and_no_pair_mixes_two_deployments(
    machine: Machine,
) -> None:
    """With its id it goes on: the pair of blocks that was cut is measured again as a whole."""
    settings = machine.settings(threads="1,2", workloads="oltp_update_index,oltp_point_select")
    command = ("benchlab.cli.main", "run", "sysbench_local", "--campaign", "cut", *settings)
    first = machine.start(*command)
    machine.wait_for("cut", "run", after=6)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate(timeout=LIMIT_S)
    machine.run(*command)
    campaign, trials = machine.outcome("cut")
    assert campaign.state == "complete"
    whole, cut = dict.fromkeys(planned.pair for planned in campaign.plan.trials)
    assert [r.attempt for r in trials if r.trial.pair == whole] == [1] * 4, "not measured twice"
    assert {r.attempt for r in trials if r.trial.pair == cut and r.valid} == {1, 2}
    abandoned = [
        r.trial.id for r in trials if "cut by an interruption" in "".join(map(str, r.reasons))
    ]
    comparison = machine.comparison("cut")
    assert comparison["repeated_pairs"] == 1
    assert comparison["missing"] == []
    assert abandoned
    assert set(abandoned) <= {e["trial"] for e in comparison["excluded"]}
    report = machine.here.reports / "cut" / "report.md"
    assert "Measuring was interrupted; trials measured by then: " in report.read_text()
    written = report.stat().st_mtime_ns
    assert "nothing to measure: campaign cut is complete" in machine.run(*command)
    assert machine.outcome("cut")[0] == campaign
    assert report.stat().st_mtime_ns == written


def test_a_busy_port_is_refused_before_anything_starts(machine: Machine) -> None:
    """The message names the field, the port and what to do; the machine is free afterwards."""
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        port = squatter.getsockname()[1]
        output = machine.run(
            *("benchlab.cli.main", "run", "sysbench_local", "--campaign", "busy"),
            *machine.settings(ports__server=port),
            code=1,
        )
    assert f"ports.server: port {port} on 127.0.0.1 is busy" in output
    assert "--set ports.server=" in output
    assert machine.holder() is None
    assert not (machine.here.campaign("busy") / "baseline").exists()


@pytest.mark.fault(
    "data and snapshots would not fit on the disk",
    promise="the campaign is refused with both figures before anything is deployed",
    of="disks",
)
def test_too_little_disk_is_refused_before_anything_starts(machine: Machine) -> None:
    """Data and snapshots of both sides must fit; the message says how much is missing."""
    output = machine.run(
        *("benchlab.cli.main", "run", "sysbench_local", "--campaign", "disk"),
        *machine.settings(dataset__tables=1024, dataset__table_size=1_000_000_000),
        code=1,
    )
    assert "data and snapshots of both sides need about" in output
    assert machine.holder() is None


def test_a_version_that_does_not_exist_is_an_error_that_says_so(machine: Machine) -> None:
    """Nothing is deployed for a release that Maven Central does not have."""
    output = machine.run(
        *("benchlab.cli.main", "run", "sysbench_local", "--campaign", "no-version"),
        *machine.settings(candidate="10.99.1"),
        code=1,
    )
    assert "candidate: 10.99.1: there is no MariaDB 10.99.1 on Maven Central" in output
    assert machine.holder() is None
    assert not (machine.here.campaign("no-version") / "baseline").exists()


@pytest.mark.fault(
    "a server refuses a parameter and does not start",
    promise="its log is quoted, and nothing stays",
    of="servers",
)
def test_a_server_that_cannot_start_ends_the_campaign_with_its_own_words(machine: Machine) -> None:
    """A parameter the server refuses: its log is quoted, nothing stays."""
    settings = machine.settings(engines__mariadb__parameters=json.dumps({"no_such_option": 1}))
    output = machine.run(
        "benchlab.cli.main", "run", "sysbench_local", "--campaign", "refused", *settings, code=1
    )
    assert "no_such_option" in output
    assert "the server ended while starting" in output
    assert machine.left_running("refused") == []
    assert machine.holder() is None
    assert machine.outcome("refused")[0].state == "failed"


def test_what_a_transaction_takes_is_counted_and_decided(machine: Machine) -> None:
    """Each query of a point select reads one row in both releases, however busy the machine is."""
    settings = machine.settings(
        rounds=3, seconds=2, workloads="oltp_point_select,oltp_update_index"
    )
    output = machine.run(
        "benchlab.cli.main", "run", "sysbench_local", "--campaign", "counted", *settings
    )
    _, trials = machine.outcome("counted")
    reads = [one.value("rows_read") for one in trials if one.trial.workload == "oltp_point_select"]
    assert reads == pytest.approx([1.0] * 6, rel=0.01)
    assert all(one.value("server_cpu") for one in trials)
    compared = machine.comparison("counted")["workloads"]
    decided = {workload["name"]: workload for workload in compared}
    for found in decided.values():
        assert found["rows_read"]["verdict"] == "equivalent"
        assert "redo_bytes" not in found, "it depends on the load"
    assert "What a transaction takes" in " ".join(output.split())
    assert machine.verified("counted").outcome == "holds"


def test_both_versions_are_sent_the_same_at_a_rate(machine: Machine) -> None:
    """A share of the slower one's best; latencies decide, and the report says what was sent.

    A small share, with which a busy machine keeps up as well.
    """
    settings = machine.settings(rounds=3, seconds=2, workloads="oltp_point_select", rate="10 %")
    output = machine.run(
        "benchlab.cli.main", "run", "sysbench_local", "--campaign", "at-rate", *settings
    )
    _, trials = machine.outcome("at-rate")
    at_rate = [one for one in trials if one.trial.workload == "oltp_point_select_at_10pct"]
    (sent,) = {one.value("rate") for one in at_rate}
    fastest: dict[str, float] = {}
    for one in trials:
        if one.trial.workload == "oltp_point_select" and one.trial.round == 1 and one.attempt == 1:
            fastest[one.trial.side] = one.value("tps") or 0.0
    assert sent == pytest.approx(0.1 * min(fastest.values()), abs=1)
    assert all(one.value("tps") == pytest.approx(sent, rel=0.2) for one in at_rate)
    assert all(one.value("p99_ms") for one in trials)
    workloads = {one["name"]: one for one in machine.comparison("at-rate")["workloads"]}
    decided = workloads["oltp_point_select_at_10pct"]
    assert decided["metric"] == "p95_ms"
    assert decided["arithmetic_mean_pct"] is None
    assert {"p50_ms", "p99_ms", "rows_read", "server_cpu"} <= decided.keys()
    assert "server_cpu" not in workloads["oltp_point_select"]
    assert "Point Select at 10 % p99 latency" in " ".join(output.split())
    assert machine.verified("at-rate").outcome == "holds"
