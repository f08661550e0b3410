"""The Airflow home in Benchlab's own home: configuration, secrets and metadata database.

Benchlab's Airflow keeps everything in its own folder and is not affected by another Airflow of the
user. ``make up`` and ``make demo`` share it, so that the former shows the runs of the latter. But
``airflow dags test`` (``make demo``) must never write to the database of a live scheduler, so there
is a second home for it while the services are running::

    AirflowHome(root)                  <home>/airflow
    AirflowHome(root, "airflow-demo")  <home>/airflow-demo

Call :meth:`AirflowHome.ensure` first, then run any ``airflow`` command with
:meth:`AirflowHome.environment`; ``bin/airflow`` does both for the services' home. This module does
not import Airflow, so importing it is cheap.
"""

from __future__ import annotations

import base64
import configparser
import fcntl
import hashlib
import io
import json
import os
import secrets
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.metadata import distributions, version
from pathlib import Path
from typing import NoReturn

from benchlab import home as benchlab_home
from benchlab.errors import BenchlabError, SpecError
from benchlab.plan.report_type import ReportSpec
from benchlab_airflow.private_names import FAIL_KILLED_RUNS

USER = "admin"
LOOPBACK = "127.0.0.1"
PORT_VARIABLE = "AIRFLOW__API__PORT"
BASE_URL = "AIRFLOW__API__BASE_URL"
AUTH_MANAGER = "AIRFLOW__CORE__AUTH_MANAGER"

# Each value that differs from Airflow's default, and why. `_write_config` adds paths and secrets.
SETTINGS: dict[str, dict[str, str]] = {
    "core": {
        "executor": "LocalExecutor",
        # Workers are forked when the scheduler starts; a campaign needs two or three.
        "parallelism": "6",
        "load_examples": "False",
        # Otherwise a run triggered through API or CLI waits until its DAG is unpaused.
        "dags_are_paused_at_creation": "False",
        # A long plan is mapped over its trials; the default of 1,024 would refuse it.
        "max_map_length": "4096",
        # Longer than dag_file_processor_timeout: a timeout here is an import error, which removes
        # all DAGs of the file at once, whatever stale_dag_threshold says
        # (dag_processing/collection.py, _update_import_errors). Tasks import their DAG file too.
        "dagbag_import_timeout": "240",
        # No DNS lookup, which can stall, and whose answer changes when a laptop changes networks.
        "hostname_callable": "socket.gethostname",
        # Seconds for notifications after a task has ended; the default of 20 is too short for a
        # slow mail server, and for the change points of a hundred campaigns.
        "task_success_overtime": "300",
        "simple_auth_manager_users": f"{USER}:admin",
    },
    "api": {
        "host": LOOPBACK,
        "workers": "1",
    },
    "logging": {
        "colored_console_log": "False",
        # While trials wait for their turn, the scheduler logs it several times a second.
        "namespace_levels": "airflow.jobs.scheduler_job_runner.SchedulerJobRunner=WARNING",
        "file_task_handler_new_folder_permissions": "0o700",
        "file_task_handler_new_file_permissions": "0o600",
    },
    "scheduler": {
        # Most of the pause between two tasks is this sleep. But the scheduler also takes CPU from
        # the trials: 10 % of a core at 0.2 s, 5 % at 0.5 s, 3 % at 1 s.
        "scheduler_idle_sleep_time": "0.5",
        # A task whose worker was killed is retried after this time, instead of 5 minutes. With a
        # heartbeat every second, a busy machine still has half a minute of slack.
        "task_instance_heartbeat_timeout": "30",
        "task_instance_heartbeat_timeout_detection_interval": "5",
        # If a scheduler is killed, its tasks are taken over within this time.
        "orphaned_tasks_check_interval": "30",
    },
    "workers": {
        # The default of 5 s holds the slot of a finished task.
        "min_heartbeat_interval": "1",
        # With these retries, a task survives an API server that is down for up to a minute; the
        # defaults give up after about ten seconds.
        "execution_api_retries": "20",
        "execution_api_retry_wait_max": "5",
        # A killed task whose children still hold its output counts as running for this long.
        "socket_cleanup_timeout": "5",
    },
    "dag_processor": {
        # New and changed DAG files appear within seconds ...
        "refresh_interval": "10",
        # ... and changed report types within a minute; parsing costs CPU that a trial needs.
        "min_file_process_interval": "60",
        # Seconds of wall time for a parse that takes a few seconds of CPU: trials take the rest.
        "dag_file_processor_timeout": "180",
        # A DAG is removed if it was last parsed this long before the latest parse, and a killed
        # parse counts as one (dag_processing/manager.py). Two killed parses in a row, each after
        # its interval and the other file's killed parse, take 2 x (60 + 2 x 180) s.
        "stale_dag_threshold": "900",
        "parsing_processes": "1",
        "print_stats_interval": "600",
    },
}


class AirflowHomeError(BenchlabError):
    """The Airflow home could not be prepared; the message says what to do."""


def refuse_unmappable(spec: ReportSpec, limit: int) -> None:
    """Refuse a plan with more trials than Airflow can map a task over.

    Raises:
        SpecError: the message says how many trials there are and what to change.
    """
    if spec.trial_count > limit:
        raise SpecError(
            f"the plan has {spec.trial_count} trials, Airflow maps at most {limit} ([core] "
            "max_map_length): use fewer rounds, threads or workloads, or raise it"
        )


class AirflowHome:
    """An Airflow home below Benchlab's; the module's docstring names the two in use.

    Attributes:
        root: the value of ``AIRFLOW_HOME``.
        config_file: settings and secrets, readable by the owner only.
        database: Airflow's metadata, in SQLite.
        password_file: the login of the Airflow UI, as ``{user: password}``.
    """

    def __init__(self, home: Path, name: str = "airflow") -> None:
        self.home, self.root = home, home / name
        self.config_file = self.root / "airflow.cfg"
        self.database = self.root / "airflow.db"
        self.password_file = self.root / "passwords.json"

    def password(self) -> str:
        """The password of :data:`USER`; call :meth:`ensure` first."""
        return str(json.loads(self.password_file.read_text())[USER])

    def environment(self, port: int | None = None) -> dict[str, str]:
        """The complete environment for any ``airflow`` command, without secrets.

        Args:
            port: where the API server listens; None for commands that need no server.
        """
        environment = {
            # Settings of another Airflow would override ours, and `db migrate` could reach a
            # production database. Its Connections and variables (AIRFLOW_CONN_*, AIRFLOW_VAR_*)
            # are kept.
            **{key: value for key, value in os.environ.items() if not key.startswith("AIRFLOW__")},
            **_chosen(benchlab_home.find().configs / "services.env"),
            "AIRFLOW_HOME": str(self.root),
            "AIRFLOW_CONFIG": str(self.config_file),
            "BENCHLAB_HOME": str(self.home),
            "BENCHLAB_PROJECT": str(benchlab_home.find().project),
            "PATH": os.pathsep.join(
                [str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]
            ),
            # Airflow renames its processes. Without this, the new name overwrites
            # /proc/<pid>/environ, by which `make down` finds its processes.
            "SPT_NOENV": "1",
        }
        # Tasks speak HTTP to the API server on loopback, which no proxy can reach.
        for key in ("NO_PROXY", "no_proxy"):
            known = [host for host in os.environ.get(key, "").split(",") if host]
            environment[key] = ",".join(dict.fromkeys([*known, LOOPBACK, "localhost"]))
        if port is not None:
            address = f"http://{LOOPBACK}:{port}"
            environment[PORT_VARIABLE] = str(port)
            environment[BASE_URL] = environment.get("BENCHLAB_URL") or address
            environment["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] = f"{address}/execution/"
        return environment

    def ensure(self) -> None:
        """Create or update the home. Cheap if nothing changed; safe to call concurrently.

        Raises:
            AirflowHomeError: the database cannot be migrated.
        """
        for directory in (self.home, self.root):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.root.chmod(0o700)
        with (self.root / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self.password_file.exists():
                # Made here, because Airflow prints the one that it makes into a log.
                login = {USER: secrets.token_urlsafe(12)}
                _write_private(self.password_file, json.dumps(login) + "\n")
            self._write_config()
            self._migrate()

    def fail_killed_runs(self) -> None:
        """Mark killed runs of ``airflow dags test`` as failed.

        A scheduler would resume them. Call it only while neither it nor such a run is at work.
        """
        with closing(sqlite3.connect(self.database, timeout=60)) as database:
            database.executescript(FAIL_KILLED_RUNS)

    def _write_config(self) -> None:
        """Write ``airflow.cfg`` if its settings changed; its secrets are kept."""
        project = benchlab_home.find().project
        paths = {
            ("core", "dags_folder"): project / "dags",
            ("core", "plugins_folder"): project / "plugins",
            ("core", "simple_auth_manager_passwords_file"): self.password_file,
            ("fab", "config_file"): project / "plugins" / "benchlab_airflow" / "logins.py",
            # Five processes write to one SQLite file: wait for the lock rather than fail.
            ("database", "sql_alchemy_conn"): f"sqlite:///{self.database}?timeout=60",
            ("logging", "base_log_folder"): self.root / "logs",
        }
        config = configparser.ConfigParser(interpolation=None)
        config.read_dict(SETTINGS)
        for (section, key), value in {**paths, **self._secrets()}.items():
            # Airflow interpolates values, so a `%` is doubled.
            config.read_dict({section: {key: str(value).replace("%", "%%")}})
        text = io.StringIO()
        text.write(
            "# Written by Benchlab (benchlab_airflow/local/airflow_home.py); edits are replaced.\n"
        )
        config.write(text)
        if not self.config_file.exists() or self.config_file.read_text() != text.getvalue():
            _write_private(self.config_file, text.getvalue())

    def _secrets(self) -> dict[tuple[str, str], str]:
        """The secrets in ``airflow.cfg``; new ones where it has none."""
        known = configparser.ConfigParser(interpolation=None)
        known.read(self.config_file)
        made = {
            ("core", "fernet_key"): base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
            ("api", "secret_key"): secrets.token_urlsafe(32),
            ("api_auth", "jwt_secret"): secrets.token_urlsafe(48),
        }
        return {place: known.get(*place, fallback="") or secret for place, secret in made.items()}

    def _migrate(self) -> None:
        """Create or upgrade the database, once per version of Airflow and auth manager."""
        stamp = self.root / "schema-version"
        manager = self.environment().get(AUTH_MANAGER, "")  # has tables of its own
        wanted = f"{version('apache-airflow-core')} {manager}".strip()
        if self.database.exists() and stamp.exists() and stamp.read_text().strip() == wanted:
            return
        empty, is_new = _empty_database(manager), not self.database.exists()
        if is_new and empty.exists():
            part = self.database.with_name("airflow.db.new")
            shutil.copyfile(empty, part)
            part.replace(self.database)
        else:
            self._run_migrations()
        with closing(sqlite3.connect(self.database)) as connection:
            if is_new and not empty.exists():
                part = empty.with_name(f"{secrets.token_hex(8)}.part")
                connection.execute("VACUUM INTO ?", [str(part)])
                part.replace(empty)  # atomic, as others may do the same
            # So that readers do not block the writer; the mode is stored in the file.
            connection.execute("PRAGMA journal_mode=WAL")
        _write_private(stamp, wanted + "\n")

    def _run_migrations(self) -> None:
        log = self.root / "db-migrate.log"
        with log.open("w") as output:
            done = subprocess.run(
                [sys.executable, "-m", "airflow", "db", "migrate"],
                env=self.environment(),
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode:
            tail = "\n".join(log.read_text().splitlines()[-15:])
            raise AirflowHomeError(
                f"`airflow db migrate` failed with exit code {done.returncode} for {self.database}."
                f"\n{tail}\nThe whole output is in {log}. If this home is not needed, delete "
                f"{self.root} and try again."
            )


def _chosen(path: Path) -> dict[str, str]:
    """The variables of ``services.env``, which containers read as well; {} without the file."""
    if not path.exists():
        return {}
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    pairs = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _empty_database(manager: str) -> Path:
    """The path of an empty metadata database that the installation's Airflow homes copy.

    Airflow takes ten seconds to create one. Its tables depend on the installed Airflow packages and
    the auth manager, and so does the name.
    """
    packages = sorted(
        f"{package.name} {package.version}"
        for package in distributions()
        if package.name.startswith("apache-airflow")
    )
    folder = benchlab_home.find().root / "airflow-empty"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder / f"{hashlib.sha256(repr([*packages, manager]).encode()).hexdigest()[:16]}.db"


def _write_private(path: Path, text: str) -> None:
    """Write a file atomically; at no moment can others than its owner read it."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


def main() -> NoReturn:
    """Replace this process with Airflow's command line, in the services' Airflow home."""
    airflow = AirflowHome(benchlab_home.find().root)
    try:
        airflow.ensure()
    except BenchlabError as error:
        sys.exit(f"error: {error}")
    os.execvpe("airflow", ["airflow", *sys.argv[1:]], airflow.environment())


if __name__ == "__main__":
    main()
