"""The project-local Airflow home and the group of services, without starting Airflow."""

from __future__ import annotations

import configparser
import contextlib
import os
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import psutil
import pytest
from airflow._shared.module_loading.file_discovery import find_path_from_directory

from benchlab_airflow.local import services
from benchlab_airflow.local.airflow_home import AirflowHome
from benchlab_airflow.local.services import TAG, Services, ServicesError
from tests.airflow.conftest import told

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AirflowHome:
    """An Airflow home whose database is not created, in a folder with a difficult name."""
    monkeypatch.setattr(AirflowHome, "_migrate", lambda self: None)
    monkeypatch.delenv("BENCHLAB_PROJECT", raising=False)
    return AirflowHome(tmp_path / "home with 100% é")


@pytest.fixture
def group(tmp_path: Path) -> tuple[Services, list[str]]:
    """The services of an empty home, and what they say."""
    said: list[str] = []
    return Services(tmp_path, say=said.append), said


def tagged(home: Path, program: str, *arguments: str) -> subprocess.Popen[str]:
    """A process that carries the tag of ``home``; returns once it runs."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"{program}; print('ready', flush=True); import time; time.sleep(600)",
            *arguments,
        ],
        env=os.environ | {TAG: str(home)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def mode(path: Path) -> int:
    """The permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def secrets_of(home: AirflowHome) -> list[str]:
    """Every secret of a home."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(home.config_file)
    keys = [("core", "fernet_key"), ("api", "secret_key"), ("api_auth", "jwt_secret")]
    return [home.password(), *(parser.get(*key) for key in keys)]


def test_secrets_are_readable_by_the_owner_only(home: AirflowHome) -> None:
    """Configuration and password are 0600, in a folder that is 0700."""
    home.ensure()
    assert (mode(home.root), mode(home.config_file), mode(home.password_file)) == (
        0o700,
        0o600,
        0o600,
    )


def test_secrets_are_not_in_the_environment(home: AirflowHome) -> None:
    """What `ps e` shows of a service holds no secret."""
    home.ensure()
    values = "\n".join(home.environment(port=8080).values())
    assert not [secret for secret in secrets_of(home) if secret in values]


def test_secrets_outlive_an_update_of_the_settings(home: AirflowHome) -> None:
    """A second `ensure` with other settings keeps logins and encrypted connections valid."""
    home.ensure()
    before = secrets_of(home)
    home.config_file.write_text(home.config_file.read_text().replace("parallelism", "other"))
    home.ensure()
    assert secrets_of(home) == before
    assert "other" not in home.config_file.read_text()
    assert len(set(before)) == len(before)


def test_two_at_once_make_one_home(home: AirflowHome) -> None:
    """Concurrent calls agree on one set of secrets."""
    threads = [threading.Thread(target=home.ensure) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(path.name for path in home.root.iterdir()) == [
        ".lock",
        "airflow.cfg",
        "passwords.json",
    ]
    assert len(set(secrets_of(home))) == 4


def test_airflow_reads_what_was_written(home: AirflowHome) -> None:
    """Airflow itself sees the settings, in a folder whose name holds a space and a %."""
    home.ensure()
    program = (
        "from airflow.configuration import conf as c; "
        "print(c.get('core', 'dags_folder'), c.get('database', 'sql_alchemy_conn'), "
        "c.get('core', 'executor'), c.getint('core', 'max_map_length'), "
        "c.getint('api', 'port'), c.get('api_auth', 'jwt_secret'), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=home.environment(port=8099),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        str(PROJECT / "dags"),
        f"sqlite:///{home.database}?timeout=60",
        "LocalExecutor",
        "4096",
        "8099",
        secrets_of(home)[3],
    ]


def test_another_airflow_stays_out(home: AirflowHome, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of an Airflow that the user has elsewhere are not inherited; connections are."""
    monkeypatch.setenv("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "postgresql://production/airflow")
    monkeypatch.setenv("AIRFLOW_HOME", "/elsewhere")
    monkeypatch.setenv("AIRFLOW_CONN_RESULTS", "mysql://results/benchlab")
    environment = home.environment()
    assert "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN" not in environment
    assert environment["AIRFLOW_HOME"] == str(home.root)
    assert environment["AIRFLOW_CONN_RESULTS"] == "mysql://results/benchlab"


def test_what_an_operator_adds_is_set_as_in_containers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Variables of services.env, such as another auth manager, and the address that people use."""
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "services.env").write_text(
        "# people\nAIRFLOW__CORE__AUTH_MANAGER=a.FabAuthManager\n\n"
        '#BENCHLAB_LOGIN_ISSUER=x\nBENCHLAB_LOGIN_ROLES={"a=b": ["User"]}\nBENCHLAB_URL=https://b\n'
    )
    monkeypatch.setenv("BENCHLAB_PROJECT", str(tmp_path))
    environment = AirflowHome(tmp_path / "home").environment(port=8099)
    assert environment["AIRFLOW__CORE__AUTH_MANAGER"] == "a.FabAuthManager"
    assert environment["BENCHLAB_LOGIN_ROLES"] == '{"a=b": ["User"]}'
    assert environment["AIRFLOW__API__BASE_URL"] == "https://b"
    assert environment["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"].startswith(
        "http://127.0.0.1:8099/"
    )
    assert "BENCHLAB_LOGIN_ISSUER" not in environment


def test_a_proxy_is_not_asked_for_loopback(
    home: AirflowHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tasks reach the API server on a machine whose HTTP traffic goes through a proxy."""
    monkeypatch.setenv("no_proxy", "intranet")
    environment = home.environment()
    assert environment["no_proxy"] == "intranet,127.0.0.1,localhost"
    assert "127.0.0.1" in environment["NO_PROXY"].split(",")


def test_airflow_makes_an_empty_database_once_for_all_homes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new home copies it; one that has a database, of an older Airflow, is migrated and kept."""
    migrated = []

    def migrate(self: AirflowHome) -> None:
        migrated.append(self.home.name)
        with contextlib.closing(sqlite3.connect(self.database)) as database, database:
            database.execute("CREATE TABLE IF NOT EXISTS dag (dag_id)")

    monkeypatch.setenv("BENCHLAB_HOME", str(tmp_path / "installation"))
    monkeypatch.setattr(AirflowHome, "_run_migrations", migrate)
    old = AirflowHome(tmp_path / "old")
    old.root.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(old.database)) as database, database:
        database.execute("CREATE TABLE dag (dag_id)")
        database.execute("INSERT INTO dag VALUES ('mine')")
    homes = [AirflowHome(tmp_path / name) for name in ("first", "second")]
    for one in (old, *homes, *homes):
        one.ensure()
    assert migrated == ["old", "first"]
    found = {}
    for one in (old, *homes):
        with contextlib.closing(sqlite3.connect(one.database)) as database:
            found[one.home.name] = database.execute("SELECT * FROM dag").fetchall()
    assert found == {"old": [("mine",)], "first": [], "second": []}


def test_a_demo_stays_away_from_the_database_of_a_live_scheduler(
    group: tuple[Services, list[str]],
) -> None:
    """Beside the services it has an Airflow of its own, and keeps nobody from ending them."""
    services_, _ = group
    supervisor = tagged(services_.home, "pass", str(services_.config))
    with supervisor, services_.for_one_run("sysbench_local-1") as (own, locks):
        services_.down()
    assert own.database.exists()
    assert not services_.airflow.database.exists()
    assert locks == ()


@pytest.mark.fault(
    "`make demo` is killed",
    promise="its run has failed, and no scheduler goes on with it",
    of="airflow",
)
def test_a_killed_demo_leaves_no_run_that_a_scheduler_would_take_over(
    group: tuple[Services, list[str]],
) -> None:
    """It has failed, with what was at work in it; a run of the services goes on."""
    home = group[0].airflow
    home.ensure()
    with contextlib.closing(sqlite3.connect(home.database)) as database, database:
        for run, by in (("demo", "TEST"), ("triggered", "UI")):
            database.execute(
                "INSERT INTO dag_run (dag_id, run_id, state, triggered_by, run_type, run_after)"
                " VALUES ('d', ?, 'running', ?, 'manual', datetime('now'))",
                [run, by],
            )
            for task, state in (("a", "success"), ("b", "running"), ("c", None)):
                database.execute(
                    "INSERT INTO task_instance (id, dag_id, run_id, task_id, state, try_number,"
                    " pool, pool_slots) VALUES (?, 'd', ?, ?, ?, 1, 'p', 1)",
                    [run + task, run, task, state],
                )
    with (
        group[0].for_one_run("next"),
        contextlib.closing(sqlite3.connect(home.database)) as database,
    ):
        runs = database.execute("SELECT run_id, state FROM dag_run ORDER BY id").fetchall()
        tasks = database.execute("SELECT id, state FROM task_instance ORDER BY id").fetchall()
    assert runs == [("demo", "failed"), ("triggered", "running")]
    assert [state for _, state in tasks] == ["success", "failed", None, "success", "running", None]


def test_up_is_refused_while_a_demo_is_at_work(group: tuple[Services, list[str]]) -> None:
    """Also where the demo was killed and its Airflow goes on; the error names the campaign."""
    with group[0].for_one_run("sysbench_local-1") as (_, locks):
        airflow = subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=locks)
    with airflow:
        with pytest.raises(ServicesError, match="campaign sysbench_local-1") as caught:
            group[0].up()
        assert "benchlab give-back sysbench_local-1" in str(caught.value)
    group[0].down()
    assert group[1] == ["Not running: nothing to stop."]


@pytest.mark.filterwarnings("ignore:GitWildMatchPattern")  # Airflow's own, of a library it uses
def test_plugins_of_the_package_are_not_run_as_modules() -> None:
    """Airflow runs every file under plugins/ on its own; the package's are left out."""
    found = find_path_from_directory(PROJECT / "plugins", ".airflowignore", "glob")
    assert [path for path in found if "benchlab_airflow" in str(path)] == []


def test_no_log_server_and_no_server_for_other_machines() -> None:
    """Scheduler and triggerer serve no logs, and supervisord is spoken to by a private socket."""
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(services.render(Path("/run/private/control")))
    commands = {
        name.removeprefix("program:"): parser[name]["command"]
        for name in parser.sections()
        if name.startswith("program:")
    }
    assert set(commands) == set(services.COMMANDS)
    assert all("--skip-serve-logs" in commands[name] for name in ("scheduler", "triggerer"))
    assert parser["unix_http_server"]["file"] == "/run/private/control"
    assert not parser.has_section("inet_http_server")


def test_a_busy_port_is_named_with_its_holder(group: tuple[Services, list[str]]) -> None:
    """The error tells who has the port and how to take another; nothing was started."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(ServicesError) as caught:
            group[0].up(port)
    assert f"Port {port} is in use by {psutil.Process().name()} (pid {os.getpid()})" in str(
        caught.value
    )
    assert f"make up PORT={port + 1}" in str(caught.value)
    assert not (group[0].home / "airflow").exists()


def test_down_with_nothing_running_says_so(group: tuple[Services, list[str]]) -> None:
    """Stopping twice is no error."""
    group[0].down()
    group[0].down()
    assert group[1] == ["Not running: nothing to stop."] * 2


def test_down_ends_whatever_carries_the_tag(group: tuple[Services, list[str]]) -> None:
    """Orphans end, also one that ignores SIGTERM and one that was started by the other."""
    services_, said = group
    polite = tagged(services_.home, "import subprocess; subprocess.Popen(['sleep', '600'])")
    child = psutil.Process(polite.pid).children()[0]
    stubborn = tagged(
        services_.home, "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    )
    with polite, stubborn:
        services_.down()
        polite.wait(60)
        stubborn.wait(60)
    assert not child.is_running()
    assert said[-1] == "Stopped: 3 processes ended, 1 of them by force."


def test_down_leaves_the_processes_of_another_home(
    group: tuple[Services, list[str]], tmp_path: Path
) -> None:
    """Two checkouts on one machine do not end each other's services."""
    other = tagged(tmp_path / "other", "pass")
    with other:
        group[0].down()
        alive = other.poll() is None
        other.kill()
    assert alive


def test_status_reports_orphans(group: tuple[Services, list[str]]) -> None:
    """What is left of a killed supervisor is seen, and how to end it is said."""
    orphan = tagged(group[0].home, "pass")
    with orphan:
        healthy = group[0].status()
        orphan.kill()
    assert not healthy
    assert group[1] == ["Not running, but processes are left behind (1). End them with: make down"]


def test_a_long_temporary_folder_does_not_lengthen_the_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The path of a Unix socket may have 107 bytes, however deep the temporary folder lies."""
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/" + "deep/" * 40)
    assert len(services._short_temp_dir()) < 60


@pytest.mark.parametrize("port", ["0", "65536", "http", "-1"])
def test_what_is_no_port_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong PORT is named before anything starts."""
    with pytest.raises(SystemExit):
        services.main(["up", f"--port={port}"])
    assert f"{port!r} is not a port" in capsys.readouterr().err


def test_a_task_imports_nothing_of_benchlab_again(airflow_env: dict[str, str]) -> None:
    """Its process has all that the scheduler imported, up to the campaign that it opens."""
    code = """
import sys
from benchlab_airflow.local import scheduler
scheduler.import_for_tasks()
known = set(sys.modules)
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(DAG_FILE)
assert bag.dag_ids, bag.import_errors
from benchlab import engines, home, targets, workloads
from benchlab.campaign.stages import CampaignRun
from benchlab_airflow.connections import open_store
for family in (engines, targets, workloads):
    family.by_name()
for name in set(sys.modules) - known:
    if name.startswith("benchlab"):
        say(name)
"""
    dag_file = str(PROJECT / "dags" / "version_comparison.py")
    assert told(code.replace("DAG_FILE", repr(dag_file)), airflow_env) == []
