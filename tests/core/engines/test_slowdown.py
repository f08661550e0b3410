"""A slowed-down server is stopped for as long as was asked for, and is never left stopped."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchlab import home
from benchlab.campaign import report_types
from benchlab.campaign.fit.target import faults
from benchlab.cli.main import app
from benchlab.engines import slowdown
from benchlab.engines.server import Instance
from benchlab.engines.slowdown import (
    DEBT_LIMIT_S,
    LONGEST_STOP_S,
    PERIOD_S,
    SHORTEST_RUN_S,
    SlowdownError,
    owed_s,
)
from benchlab.engines.slowdown_job import SlowdownJob, check_host
from benchlab.errors import EngineError, SpecError, UnavailableError
from benchlab.home import Home
from benchlab.hosts.access import Access
from benchlab.hosts.executor import TAG, LocalExecutor, end_tagged
from benchlab.plan.fields.schedule import Weekly
from benchlab.plan.plan import Plan
from benchlab.plan.report_type import SIDES
from benchlab.targets import local
from tests.builders import campaigns, fakes
from tests.builders import plans as plans_module

LIMIT_S = 120.0
# Processes are ended by it, also those of another run of these tests.
CAMPAIGN = f"slowed-{os.getpid()}"
# Ends on SIGTERM in its own way, as servers do.
SERVER = """
import signal, threading
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
for _ in range(3):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
print("ready", flush=True)
signal.sigwait({signal.SIGTERM})
print("ended in peace")
"""


# ---------------------------------------------------------------- what is asked for


@pytest.mark.parametrize("sides", ["same", "different"])
def test_the_candidate_is_slowed_down_and_the_plan_says_so(sides: str) -> None:
    """By default neither side is; campaigns with different slowdowns have different plans."""
    assert plans_module.spec(sides=sides).slowdown_pct == 0
    plans = [plans_module.plan(sides=sides, slowdown_pct=percent) for percent in (0, 30, 30.5)]
    assert [plan.slowdown_pct for plan in plans] == [0, 30, 30.5]
    assert len({json.dumps(plan.to_json()) for plan in plans}) == 3
    assert [Plan.from_json(json.loads(json.dumps(plan.to_json()))) for plan in plans] == plans


@pytest.mark.parametrize("percent", [-1, 90.1, 100, math.nan, "fast"])
def test_a_slowdown_that_is_none_is_refused(percent: object) -> None:
    """Nine tenths of the time are the most; the field is named."""
    with pytest.raises(SpecError, match="slowdown_pct: must be"):
        plans_module.spec().with_overrides({"slowdown_pct": percent})


def test_one_version_alone_has_no_candidate_to_slow_down() -> None:
    """`sides: single` has a baseline only."""
    single = plans_module.spec(
        sides="single", engines={"mariadb": {"baseline": {"version": "10.2.11"}}}
    )
    with pytest.raises(SpecError, match=r"slowdown_pct: 30: .*`sides: single` has none"):
        single.with_overrides({"slowdown_pct": 30})


def test_servers_of_somebody_else_are_not_slowed_down() -> None:
    """Neither by a person nor by a schedule; the targets on which that is possible are named."""
    spec = report_types.load(report_types.find_report(home.find(), "sysbench_existing"))
    schedule = Weekly(runs="weekly", cron="0 2 * * 1", canary_every=8)
    slowed = spec.model_copy(update={"slowdown_pct": 30.0, "schedule": schedule})
    by_person, by_schedule = [said for said in faults(slowed) if "slow a side down" in said]
    assert by_person.startswith("slowdown_pct: 30: the target existing cannot")
    assert by_schedule.startswith("schedule.canary_every: 8: the target existing cannot")
    assert by_person.endswith("local or hosts or ec2 can; leave it out")


def test_a_host_without_a_new_enough_python_is_named(tmp_path: Path) -> None:
    """Before anything is loaded on it, with the program and what to do."""
    executor = LocalExecutor(tmp_path, CAMPAIGN)
    check_host(executor)
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\necho "AttributeError: no pidfd_open" >&2; exit 1\n')
    old.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(tmp_path), prepend=":")
        with pytest.raises(UnavailableError, match=r"localhost: python3 .*no pidfd_open.*3\.9"):
            check_host(executor)


def test_a_slowed_down_candidate_is_no_aa_campaign() -> None:
    """What it finds is no false alarm, and it may not calibrate the others."""
    assert campaigns.campaign(sides="same").is_aa
    assert not campaigns.campaign(sides="same", slowdown_pct=30).is_aa


def test_the_plan_for_people_says_it_before_anything_is_started() -> None:
    """One line of `benchlab plan`, and the command among those of `--commands`."""
    slow = ["sysbench_local", "--set", "engine=mariadb", "--set", "slowdown_pct=12.5"]
    done = CliRunner().invoke(app, ["plan", *slow], catch_exceptions=False)
    assert "the candidate is slowed down by 12.5% on purpose" in done.stdout
    done = CliRunner().invoke(app, ["plan", *slow, "--commands"], catch_exceptions=False)
    assert "candidate/slowdown.py 'cat ../server-candidate/pid' 12.5" in done.stdout
    done = CliRunner().invoke(app, ["plan", *slow[:3], "--commands"], catch_exceptions=False)
    assert "slow" not in done.stdout


def test_only_the_candidates_server_is_slowed_down(tmp_path: Path) -> None:
    """On this machine, by what the plan says."""
    campaign = campaigns.campaign(sides="same", slowdown_pct=30)
    spec = campaign.report_type
    here = Home(home.find().project, tmp_path)
    target = local.Target(here, campaign.id, campaign.plan, spec, Access())
    slowed_down = {side: target.engine(side).instance.slowdown_pct for side in SIDES}
    assert slowed_down == {"baseline": 0, "candidate": 30}


# ---------------------------------------------------------------- the books


@given(
    share=st.floats(0.01, 0.7),
    late=st.lists(st.tuples(st.floats(0, 0.015), st.floats(0, 0.015)), min_size=1, max_size=50),
)
@example(share=0.1, late=[(0.015, 0.0)])
@example(share=0.7, late=[(0.0, 0.015)])
def test_the_share_is_exact_in_the_long_run_however_late_the_signals_are(
    share: float, late: list[tuple[float, float]]
) -> None:
    """What one period misses, because other processes had the CPU, the next ones make up for."""
    now = stopped = 0.0
    for number in range(2000):
        stop_late, run_late = late[number % len(late)]
        stop = owed_s(share, now, stopped)
        assert 0 <= stop <= LONGEST_STOP_S
        stop += stop_late * (stop > 0)
        stopped += stop
        now += stop + max(PERIOD_S - stop, SHORTEST_RUN_S) + run_late
    assert abs(stopped - share * now) < 0.1, f"of {now} s"


def test_a_share_that_can_no_longer_be_reached_is_an_error() -> None:
    """The machine stood still for seconds: the trial must not count as one that was slowed."""
    assert owed_s(0.3, 10.0, 3.0) == pytest.approx(0.3 * PERIOD_S)
    for elapsed_s, stopped_s in (
        (20.0, 6.0 - 1.1 * DEBT_LIMIT_S),
        (20.0, 6.0 + 1.1 * DEBT_LIMIT_S),
    ):
        with pytest.raises(SlowdownError, match=r"6\.00 s were requested"):
            owed_s(0.3, elapsed_s, stopped_s)


# ---------------------------------------------------------------- a process that is slowed down


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    """A process with four threads, which belongs to no campaign."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


def slowed(pid: int, percent: float = 50) -> subprocess.Popen[str]:
    """Its slowdown, at work, where nothing of Benchlab is installed."""
    process = subprocess.Popen(
        [sys.executable, "-I", slowdown.__file__, str(pid), str(percent)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"{slowdown.AT_WORK}\n"
    return process


def states(pid: int) -> set[str]:
    """The state of each of its threads, as proc(5) has it."""
    return {
        (task / "stat").read_text().rpartition(")")[2].split()[0]
        for task in Path(f"/proc/{pid}/task").iterdir()
    }


def wait_until(holds: Callable[[], bool]) -> None:
    """Fails where it does not come to hold."""
    deadline = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def freeze_in_a_stop(slowing: int, server: int) -> None:
    """Stop the slowdown itself at a moment at which the server is stopped."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        os.kill(slowing, signal.SIGSTOP)
        wait_until(lambda: states(slowing) == {"T"})
        if states(server) == {"T"}:
            return
        assert time.monotonic() < deadline, "it never stopped the server"
        os.kill(slowing, signal.SIGCONT)
        time.sleep(0.001)


def children(pid: int) -> list[int]:
    """Its child processes."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_all_threads_stop_and_run_again(server: subprocess.Popen[str]) -> None:
    """In turn, until the slowdown ends; on SIGTERM it leaves them running."""
    slowing = slowed(server.pid)
    for _ in range(3):
        wait_until(lambda: states(server.pid) == {"T"})
        wait_until(lambda: "T" not in states(server.pid))
    slowing.terminate()
    output, _ = slowing.communicate(timeout=LIMIT_S)
    assert slowing.returncode == 0
    assert output.startswith("stopped for ")
    assert "T" not in states(server.pid)


def test_it_ends_by_itself_when_the_server_has_gone(server: subprocess.Popen[str]) -> None:
    """Also where the server is killed while it is stopped."""
    slowing = slowed(server.pid, 90)
    server.kill()
    output, _ = slowing.communicate(timeout=LIMIT_S)
    assert (slowing.returncode, output[:12]) == (0, "stopped for ")


def test_a_server_that_is_not_there_is_an_error(server: subprocess.Popen[str]) -> None:
    """It says so and ends."""
    server.kill()
    server.wait()
    done = subprocess.run(
        [sys.executable, "-m", "benchlab.engines.slowdown", str(server.pid), "30"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 1
    assert f"process {server.pid} is not slowed down by 30 %" in done.stdout


def test_killed_in_a_stop_it_leaves_no_server_stopped(server: subprocess.Popen[str]) -> None:
    """SIGKILL at the worst moment: its child resumes the server, and then ends."""
    slowing = slowed(server.pid, 90)
    freeze_in_a_stop(slowing.pid, server.pid)
    (guard,) = children(slowing.pid)
    slowing.kill()
    slowing.communicate(timeout=LIMIT_S)
    wait_until(lambda: "T" not in states(server.pid))
    wait_until(lambda: not Path(f"/proc/{guard}").exists())


# ---------------------------------------------------------------- a side that is slowed down


class Engine(fakes.FakeEngine):
    """A server that is a real process, and does nothing."""

    def server_command(self) -> tuple[list[str], dict[str, str]]:
        """See `SERVER`."""
        return [sys.executable, "-c", SERVER], {}

    def wait_until_ready(self, *, user: str = "") -> None:
        """It has said so."""
        wait_until(lambda: "ready" in self.executor.job_output(self.job))


class Side:
    """One side on this machine, and the processes of its jobs."""

    def __init__(self, directory: Path, slowdown_pct: float) -> None:
        self.directory = directory
        self.executor = LocalExecutor(directory, CAMPAIGN)
        instance = Instance(
            side="candidate",
            version="10.11.5",
            parameters={},
            directory=directory / "candidate",
            host="127.0.0.1",
            port=1,
            status_port=2,
            max_connections=1,
            database="sbtest",
            password="",
            slowdown_pct=slowdown_pct,
        )
        self.engine = Engine(self.executor, instance)  # type: ignore[arg-type]

    def pid(self, job: str) -> int:
        """The process of a job."""
        return int((self.directory / "jobs" / job / "pid").read_text())

    def status(self, job: str) -> str:
        """The state of a job."""
        return self.executor.job_status(job).state

    @property
    def ended_in_peace(self) -> bool:
        """Whether the server has ended, and was not killed."""
        ended = self.status("server-candidate") != "running"
        return ended and "ended in peace" in self.executor.job_output("server-candidate")

    def kill_the_slowdown_in_a_stop(self) -> None:
        """Together with its child, so that the server is left stopped."""
        slowing, server = self.pid("slowdown-candidate"), self.pid("server-candidate")
        freeze_in_a_stop(slowing, server)
        for process in (*children(slowing), slowing):
            os.kill(process, signal.SIGKILL)
        wait_until(lambda: self.status("slowdown-candidate") != "running")
        assert states(server) == {"T"}


@pytest.fixture
def side(tmp_path: Path) -> Iterator[Side]:
    """The candidate, to be slowed down by 80 % where it is measured."""
    made = Side(tmp_path, 80.0)
    yield made
    end_tagged(f"{TAG}={CAMPAIGN}", grace_s=1)


def test_a_side_is_slowed_down_in_trials_only(side: Side) -> None:
    """Not while it is loaded; in a trial until the server stops."""
    side.engine.start()
    assert side.status("slowdown-candidate") == "absent"
    side.engine.start_for_trial()
    assert side.status("slowdown-candidate") == "running"
    server = side.pid("server-candidate")
    wait_until(lambda: states(server) == {"T"})
    side.engine.start_for_trial()
    assert side.pid("server-candidate") == server, "the next trial finds it as it is"
    assert side.engine.columns()["wrong_version_servers"] == 0
    side.engine.stop()
    assert side.status("slowdown-candidate") == side.status("server-candidate") == "absent"


def test_a_side_without_a_slowdown_has_no_such_job(tmp_path: Path) -> None:
    """Nothing stops the server of a campaign that did not ask for it."""
    side = Side(tmp_path, 0.0)
    try:
        side.engine.start_for_trial()
        assert side.status("slowdown-candidate") == "absent"
        assert side.engine.columns()["wrong_version_servers"] == 0
    finally:
        side.engine.stop()


def test_a_server_left_stopped_ends_cleanly(side: Side) -> None:
    """A stopped process does not handle SIGTERM: it is resumed, and ends as it should."""
    side.engine.start_for_trial()
    side.kill_the_slowdown_in_a_stop()
    side.executor.stop_job("server-candidate", timeout_s=LIMIT_S)
    assert side.ended_in_peace
    side.engine.stop()


def test_a_campaign_whose_server_is_left_stopped_ends_cleanly(side: Side) -> None:
    """Interrupting and giving back do the same."""
    side.engine.start_for_trial()
    side.kill_the_slowdown_in_a_stop()
    end_tagged(f"{TAG}={CAMPAIGN}", grace_s=LIMIT_S)
    assert side.ended_in_peace


def test_a_release_ends_the_slowdown_with_the_server(side: Side) -> None:
    """It carries the campaign's tag, and neither keeps the other from ending."""
    side.engine.start_for_trial()
    side.executor.end_processes()
    assert side.ended_in_peace
    assert side.status("slowdown-candidate") != "running"


def test_a_trial_in_which_the_slowdown_ended_is_an_error(side: Side) -> None:
    """It is raised before the gates are evaluated; the next trial has a fresh server."""
    side.engine.start_for_trial()
    before = side.pid("server-candidate")
    side.kill_the_slowdown_in_a_stop()
    with pytest.raises(EngineError, match=r"candidate .*slowdown of 80 % ended in the trial"):
        side.engine.columns()
    side.engine.start_for_trial()
    assert side.pid("server-candidate") != before
    assert side.status("slowdown-candidate") == "running"


def test_a_slowdown_that_does_not_begin_is_an_error(
    side: Side, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that was not slowed down is not measured; the message quotes the slowdown."""
    monkeypatch.setattr(SlowdownJob, "command", ["sh", "-c", "echo no; exit 1"])
    with pytest.raises(EngineError, match=r"slowdown of 80 % did not begin; its output:\nno"):
        side.engine.start_for_trial()
