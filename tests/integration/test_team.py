"""Airflow as a team runs it: PostgreSQL, Redis, workers; and each of them fails once."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from benchlab.hosts.executor import end_tagged
from benchlab.results.store import Store
from benchlab_airflow.local.airflow_home import AirflowHome
from benchlab_airflow.local.services import COMMANDS, TAG
from tests import postgresql
from tests.compose import celery_settings
from tests.machine import PROJECT, Machine, let_neighbours_be, machine_in, ports_of_target
from tests.ports import free_port
from tests.scheduler import Api, dag_ids, process_in_trial, wait

REPORT = "sysbench_local_single"
AWAY_S = 40.0
SMALL: dict[str, Any] = {
    "engine": "mariadb",
    "workloads": ["oltp_update_index"],
    "threads": [2],
    "rounds": 2,
    "deployments": 1,
    "seconds": 4,
    "warmup_seconds": 0,
    "dataset": {"tables": 1, "table_size": 1000},
    "restore": "never",
}
BROKER = shutil.which("redis-server")

pytestmark = [
    pytest.mark.skipif(postgresql.programs() is None, reason="there is no PostgreSQL"),
    pytest.mark.skipif(BROKER is None, reason="there is no Redis"),
    pytest.mark.skipif(
        importlib.util.find_spec("celery") is None, reason="bin/setup celery-requirements"
    ),
]


@dataclass
class Team:
    """A team's services on loopback; each is started again when it ends, as Docker does."""

    machine: Machine
    database: postgresql.Server
    environment: dict[str, str]
    broker_port: int
    services: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """For the services' logs."""
        return self.machine.here.root

    def start(self, name: str, *command: str, again: bool = True) -> None:
        """Start a service."""
        once = 'exec "$@"' if not again else 'while :; do "$@"; sleep 1; done'
        with (self.folder / f"{name}.log").open("a") as log:
            self.services[name] = subprocess.Popen(
                ["sh", "-c", once, name, *command],
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def start_broker(self) -> None:
        """Start Redis with what it has on disk, and wait until it answers."""
        port = str(self.broker_port)
        options = ("--port", port, "--bind", "127.0.0.1", "--appendonly", "yes", "--save", "")
        self.start("redis", str(BROKER), *options, "--dir", str(self.folder), again=False)
        ask = ["redis-cli", "-p", port, "ping"]
        wait("Redis", lambda: subprocess.run(ask, capture_output=True).stdout == b"PONG\n", 20, 0.1)

    def start_worker(self, name: str) -> None:
        """Start a worker of this machine."""
        self.start(
            name,
            *("python", "-m", "airflow", "celery", "worker", "--skip-serve-logs"),
            *("--queues", "local:default,release:default", "--concurrency", "1"),
            *("--celery-hostname", f"{name}@%h", "--without-gossip", "--without-mingle"),
        )

    def end(self, name: str) -> None:
        """SIGKILL a service and all that it has started; jobs are nobody's children."""
        started = self.services.pop(name)
        service = psutil.Process(started.pid)
        for process in (service, *service.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        started.wait(10)

    def ask_to_end(self, name: str) -> psutil.Process:
        """Send a service SIGTERM, as Docker does for an upgrade; returns its process."""
        (process,) = psutil.Process(self.services[name].pid).children()
        process.terminate()
        return process

    def worker_of(self, pid: int) -> str:
        """The name of the worker that started a process."""
        above = {process.pid for process in psutil.Process(pid).parents()}
        (found,) = (name for name, service in self.services.items() if service.pid in above)
        return found

    def store(self) -> Store:
        """The results store, which is in PostgreSQL, too."""
        return Store(self.environment["BENCHLAB_STORE_URL"], self.machine.here.objects)


@pytest.fixture
def team(tmp_path: Path, servers: Path) -> Iterator[Team]:
    """The services, with one report type of a few seconds."""
    bin_ = postgresql.programs()
    assert bin_ is not None
    project = _project(tmp_path / "project")
    with ExitStack() as stack:
        database = stack.enter_context(postgresql.server(bin_))
        machine = stack.enter_context(machine_in(tmp_path, servers, project))
        yield stack.enter_context(_running(machine, database))


@contextmanager
def _running(machine: Machine, database: postgresql.Server) -> Iterator[Team]:
    airflow, port, broker_port = AirflowHome(machine.here.root), free_port(), free_port()
    airflow.ensure()
    results = database.url.rpartition("/")[0] + "/template1"
    environment = {
        **machine.environment,
        **airflow.environment(port),
        **celery_settings(),
        "AIRFLOW__CORE__EXECUTOR": "CeleryExecutor",
        "AIRFLOW__CORE__PARALLELISM": "64",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": database.url,
        "AIRFLOW__CELERY__BROKER_URL": f"redis://127.0.0.1:{broker_port}/0",
        "BENCHLAB_STORE_URL": results,
        "C_FORCE_ROOT": "1",
        TAG: str(machine.here.root),
    }
    team = Team(machine, database, environment, broker_port)
    try:
        team.start_broker()
        migrate = ["python", "-m", "airflow", "db", "migrate"]
        subprocess.run(migrate, env=environment, check=True, capture_output=True)
        for name, command in COMMANDS.items():
            if name != "triggerer":  # nothing on this machine is deferred
                team.start(name, "python", "-m", *command.split())
        for name in ("one", "two"):
            team.start_worker(name)
        yield team
    finally:
        for name in list(team.services):
            team.end(name)
        end_tagged(f"{TAG}={machine.here.root}", grace_s=2)


def _project(project: Path) -> Path:
    (project / "configs" / "reports").mkdir(parents=True)
    (project / "dags").mkdir()
    for name in ("dags/version_comparison.py", "plugins"):
        (project / name).symlink_to(PROJECT / name)
    for path in (PROJECT / "configs").iterdir():
        if path.name not in ("reports", "quality"):
            (project / "configs" / path.name).symlink_to(path)
    shutil.copytree(PROJECT / "configs" / "quality", project / "configs" / "quality")
    let_neighbours_be(project / "configs")
    shipped = yaml.safe_load((PROJECT / f"configs/reports/{REPORT}.yaml").read_text())
    path = project / "configs" / "reports" / f"{REPORT}.yaml"
    path.write_text(yaml.safe_dump({**shipped, **SMALL, "ports": ports_of_target()}))
    return project


def test_a_campaign_outlives_a_worker_its_queue_and_its_database(team: Team) -> None:
    """A worker is upgraded in a trial, one is killed in the next, Redis restarted, PostgreSQL away.

    The run is green, every planned trial has a valid result, the first at its first try, and
    nothing is left.
    """
    login = AirflowHome(team.machine.here.root).password()
    port = int(team.environment["AIRFLOW__API__PORT"])

    def api() -> Api | None:
        try:
            return Api(port, login)
        except OSError:
            return None

    client: Api = wait("the API server", api)
    wait("the DAG", lambda: REPORT in dag_ids(client))
    runs = f"/api/v2/dags/{REPORT}/dagRuns"
    run = client.call("POST", runs, {"logical_date": None})["dag_run_id"]
    campaign = str(wait("a campaign", lambda: _campaigns(team))[0])
    fence = team.machine.here.campaign(campaign) / "trial.fence"
    team.machine.wait_for(campaign, "run")
    drained = team.ask_to_end(team.worker_of(process_in_trial(fence)))

    team.machine.wait_for(campaign, "run", after=1)
    drained.wait(60)  # it has finished its trial, and is started again
    killed = team.worker_of(process_in_trial(fence))
    team.end(killed)
    team.end("redis")
    team.start_broker()
    team.start_worker(killed)

    team.machine.wait_for(campaign, "collect", after=1)
    team.database.stop()
    time.sleep(AWAY_S)
    team.database.start()

    def ended() -> str | None:
        try:
            state = client.call("GET", f"{runs}/{run}")["state"]
        except OSError:
            return None
        return str(state) if state in ("success", "failed") else None

    state = wait("the end of the run", ended)
    tasks = client.call("GET", f"{runs}/{run}/taskInstances?limit=100")["task_instances"]
    assert state == "success", [(t["task_id"], t["state"], t["try_number"]) for t in tasks]
    with team.store() as store:
        found, trials = store.campaign(campaign), store.trials(campaign)
    assert found.state == "complete"
    tries = {t["map_index"]: t["try_number"] for t in tasks if t["task_id"] == "trials"}
    assert tries[0] == 1, "who is asked to end finishes its trial first"
    assert tries[1] > 1
    assert [one.trial.id for one in trials if one.valid] == [t.id for t in found.plan.trials]
    assert team.machine.left_running(campaign) == []
    assert team.machine.holder() is None
    assert {t["queue"] for t in tasks} == {"local:default", "release:default"}


def _campaigns(team: Team) -> list[str]:
    with team.store() as store:
        return list(store.campaign_ids())
