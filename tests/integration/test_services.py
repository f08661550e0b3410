"""`make up` and `make down` for real: four Airflow services on a project with two small DAGs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from benchlab_airflow.local.airflow_home import AirflowHome
from benchlab_airflow.local.services import TAG
from tests.ports import free_port

PROJECT = Path(__file__).parents[2]
# Of a machine that does other work, too.
PATIENCE_S = 300

DAGS = '''
"""DAGs of airflow for the tests of the services."""

import subprocess

from airflow.sdk import DAG, task

with DAG("greet", schedule=None):

    @task
    def hello():
        print("hello from a task")

    hello()

with DAG("paused", schedule=None, is_paused_upon_creation=True):

    @task
    def never():
        raise AssertionError("nobody has unpaused it")

    never()

with DAG("detach", schedule=None):

    @task
    def start():
        null = subprocess.DEVNULL
        subprocess.Popen(
            ["sleep", "86399"], stdin=null, stdout=null, stderr=null, start_new_session=True
        )

    start()
'''


@dataclass
class Group:
    """The services of a project that exists for these tests only."""

    project: Path
    home: Path
    port: int

    def command(self, *arguments: str) -> list[str]:
        """The command line that `make` runs."""
        return [sys.executable, "-m", "benchlab_airflow.local.services", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a user of this project."""
        return os.environ | {
            "BENCHLAB_PROJECT": str(self.project),
            "BENCHLAB_HOME": str(self.home),
            "PORT": str(self.port),
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        return subprocess.run(
            self.command(*arguments),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )

    def processes(self) -> list[psutil.Process]:
        """Every process of the group, found in another way than by the code under test."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                entries = path.read_bytes().split(b"\0")
            except OSError:
                continue
            if f"{TAG}={self.home}".encode() in entries:
                found.append(psutil.Process(int(path.parent.name)))
        return found

    def service(self, name: str) -> psutil.Process:
        """The main process of one service."""
        for process in self.processes():
            if process.environ().get("SUPERVISOR_PROCESS_NAME") == name:
                parent = process.parent()
                if parent and "supervisor.supervisord" in parent.cmdline():
                    return process
        raise AssertionError(f"{name} does not run")

    def call(self, method: str, path: str, body: Any = None, token: str = "") -> Any:
        """Ask the REST API."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {token}"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def login(self) -> str:
        """Log in with what `up` prints."""
        printed = self.run("up").stdout
        user, password = (
            re.search(rf"^{label}: +(\S+)$", printed, re.MULTILINE)
            for label in ("User", "Password")
        )
        assert user is not None
        assert password is not None
        body = {"username": user[1], "password": password[1]}
        return str(self.call("POST", "/auth/token", body)["access_token"])

    def trigger(self, dag_id: str) -> str:
        """Run a DAG through the REST API to its end; returns the run's state."""
        token = self.login()
        runs = f"/api/v2/dags/{dag_id}/dagRuns"
        until(lambda: self.knows(dag_id, token))
        run = self.call("POST", runs, {"logical_date": None}, token)["dag_run_id"]
        path = f"{runs}/{urllib.parse.quote(run)}"
        until(lambda: self.call("GET", path, token=token)["state"] in {"success", "failed"})
        return str(self.call("GET", path, token=token)["state"])

    def knows(self, dag_id: str, token: str) -> bool:
        """Whether the DAG was parsed."""
        known = self.call("GET", "/api/v2/dags", token=token)["dags"]
        return dag_id in [dag["dag_id"] for dag in known]


def until(happened: Callable[[], Any]) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s"
        time.sleep(0.3)


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    """A project, and a home too deep in the tree for a Unix socket."""
    project = tmp_path_factory.mktemp("project")
    (project / "plugins").mkdir()
    shutil.copy(PROJECT / "plugins" / "benchlab_plugin.py", project / "plugins")
    (project / "dags").mkdir()
    (project / "dags" / "small.py").write_text(DAGS)
    home = tmp_path_factory.mktemp("home") / "/".join(["deep in the tree"] * 7)
    group = Group(project, home, free_port())
    yield group
    group.run("down")


@pytest.fixture
def running(group: Group) -> Group:
    """The group, up."""
    if not group.processes():
        done = group.run("up")
        assert done.returncode == 0, done.stdout + done.stderr
    return group


def test_a_run_that_is_triggered_through_the_api_succeeds(running: Group) -> None:
    """`up` prints a login with which a campaign can be started, and the scheduler runs it."""
    assert running.trigger("greet") == "success"


def test_who_writes_at_once_is_answered(running: Group) -> None:
    """Nobody waits for SQLite's lock until it is given up, a minute later and with an error.

    A request to trigger a DAG holds that lock between two turns of the API server's event loop, as
    requests of tasks do; the audit log of another request waits for it in that event loop.
    """
    token = running.login()
    until(lambda: running.knows("paused", token))

    def trigger(turn: int) -> str:
        body = {"logical_date": None, "dag_run_id": f"run-{turn}"}
        return str(running.call("POST", "/api/v2/dags/paused/dagRuns", body, token)["state"])

    with ThreadPoolExecutor(8) as people:
        assert list(people.map(trigger, range(80))) == ["queued"] * 80


def test_nobody_else_can_connect(running: Group) -> None:
    """Every listener of the group is on loopback, and the API server is the only one."""
    ours = {process.pid for process in running.processes()}
    listeners = [
        connection.laddr
        for connection in psutil.net_connections("inet")
        if connection.pid in ours and connection.status == psutil.CONN_LISTEN
    ]
    assert set(listeners) == {("127.0.0.1", running.port)}


def test_secrets_stay_secret(running: Group) -> None:
    """No log, command line or environment holds the password or a key."""
    airflow = AirflowHome(running.home)
    secrets = [
        airflow.password(),
        *re.findall(
            r"(?:fernet_key|secret_key|jwt_secret) = (\S+)", airflow.config_file.read_text()
        ),
    ]
    assert len(secrets) == 4
    places = {str(path): path.read_text(errors="replace") for path in running.home.rglob("*.log")}
    assert any("api-server" in place for place in places)
    for process in running.processes():
        shown = [*process.cmdline(), *process.environ().values()]
        places[f"process {process.pid}"] = "\n".join(shown)
    assert [place for place, text in places.items() if any(s in text for s in secrets)] == []


def test_up_twice_changes_nothing(running: Group) -> None:
    """The second `up` says that the services run, shows the login again and starts nothing."""
    before = {process.pid for process in running.processes()}
    done = running.run("up")
    assert done.returncode == 0
    assert f"Already started, on port {running.port}." in done.stdout
    assert f"http://127.0.0.1:{running.port}" in done.stdout
    assert AirflowHome(running.home).password() in done.stdout
    assert {process.pid for process in running.processes()} == before


def test_status_shows_every_service(running: Group) -> None:
    """All four are named, running and healthy."""
    done = running.run("status")
    assert done.returncode == 0
    states = re.findall(r"^(\S+) +RUNNING +healthy$", done.stdout, re.MULTILINE)
    assert sorted(states) == ["api-server", "dag-processor", "scheduler", "triggerer"]


def test_whoever_watches_from_outside_hears_what_is_dead(running: Group) -> None:
    """One program without a login asks for all of them, and fails where none answers."""
    probe = [str(PROJECT / "bin" / "health"), "all"]
    address = f"http://127.0.0.1:{running.port}"
    done = subprocess.run([*probe, address], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count(": healthy\n")) == (0, 4)
    done = subprocess.run([*probe, f"{address}0"], capture_output=True, text=True, check=False)
    assert (done.returncode, "does not answer" in done.stdout) == (1, True)


def test_a_port_that_another_project_uses_is_refused(running: Group, tmp_path: Path) -> None:
    """The error names the port and who has it; the other project starts nothing."""
    other = Group(running.project, tmp_path, running.port)
    done = other.run("up")
    assert done.returncode == 1
    assert f"Port {running.port} is in use by airflow api_ser" in done.stderr
    assert f"make up PORT={running.port + 1}" in done.stderr
    assert "Traceback" not in done.stderr
    assert other.processes() == []


@pytest.mark.fault("the scheduler is killed", promise="another one takes over", of="airflow")
def test_a_killed_scheduler_is_started_again(running: Group) -> None:
    """After SIGKILL another scheduler takes over and runs what is triggered."""
    killed = running.service("scheduler")
    killed.kill()
    until(lambda: not killed.is_running())
    until(lambda: running.service("scheduler").pid != killed.pid)
    assert running.trigger("greet") == "success"


def test_down_ends_everything(running: Group) -> None:
    """Services, workers and what a task left behind detached are gone; once more is no error."""
    assert running.trigger("detach") == "success"
    detached = [p for p in running.processes() if p.cmdline() == ["sleep", "86399"]]
    assert len(detached) == 1
    control = re.search(
        r"^file=(.+)$", (running.home / "services/supervisord.conf").read_text(), re.M
    )
    assert control is not None
    assert Path(control[1]).exists()

    done = running.run("down")
    assert done.returncode == 0
    assert re.search(r"^Stopped: \d+ processes ended", done.stdout, re.MULTILINE)
    assert running.processes() == []
    assert not Path(control[1]).parent.exists()

    again = running.run("down")
    assert again.returncode == 0
    assert again.stdout == "Not running: nothing to stop.\n"


@pytest.mark.fault(
    "the supervisor of the services is killed",
    promise="`make down` and the next `make up` end what it left",
    of="airflow",
)
@pytest.mark.long  # starts all services twice; tests/airflow has what ends a group
def test_orphans_of_a_killed_supervisor_are_ended(running: Group) -> None:
    """Nothing of a group whose supervisor was killed survives `down`, nor the next `up`."""
    supervisor = running.service("scheduler").parent()
    assert supervisor is not None
    supervisor.kill()
    until(lambda: not supervisor.is_running())
    orphans = running.processes()
    assert len(orphans) >= 4
    status = running.run("status")
    assert status.returncode == 1
    assert "left behind" in status.stdout

    done = running.run("up")
    assert done.returncode == 0, done.stdout + done.stderr
    # How many is not promised: some orphans run short processes of their own, which come and go.
    ended = re.search(r"Ending (\d+) processes that an earlier group left behind", done.stdout)
    assert ended is not None, done.stdout
    assert int(ended[1]) >= 4
    assert not [orphan for orphan in orphans if orphan.is_running()]


def test_an_interrupted_up_leaves_nothing_behind(group: Group) -> None:
    """Ctrl-C while the services start stops those that started."""
    group.run("down")
    with subprocess.Popen(
        group.command("up"), env=group.environment, stdout=subprocess.PIPE, text=True
    ) as up:
        until(lambda: len(group.processes()) >= 4)
        up.send_signal(signal.SIGINT)
        assert up.wait(PATIENCE_S) == 130
    assert group.processes() == []


def test_a_service_that_is_not_healthy_in_time_is_named(group: Group) -> None:
    """The error names the service and shows the end of its log; nothing is left running."""
    group.run("down")
    done = group.run("up", "--timeout", "0.5")
    assert done.returncode == 1
    assert re.search(r"^error: api-server is not healthy after \d+ s\.$", done.stderr, re.MULTILINE)
    assert str(group.home / "services" / "api-server.log") in done.stderr
    assert group.processes() == []
